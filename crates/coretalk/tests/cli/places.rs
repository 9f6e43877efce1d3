//! Unusable stores and invalid run files: one message with the file and a remedy, its exit code, and no lost
//! measurement.

use super::tool::{Said, Tool};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

const SIM: [&str; 5] = ["latency", "--machine", "sim:chiplet-16", "--seed", "1"];

fn assert_refused(output: &Said, code: i32, path: &str, words: &[&str]) {
    assert_eq!(output.code, code, "{}", output.err);
    let last = output.err.lines().last().unwrap_or_default();
    assert!(last.starts_with("coretalk: ") && last.contains(path), "{path}: {}", output.err);
    for word in words {
        assert!(last.contains(word), "`{word}`: {}", output.err);
    }
}

#[test]
fn a_store_that_is_a_file_is_refused_before_anything_is_measured() {
    let tool = Tool::new();
    tool.write("taken", "text");
    for store in ["taken", "taken/below"] {
        let output = tool.call(&[&SIM[..], &["--store", store, "-q"]].concat());
        assert_refused(&output, 6, store, &["a file is in the way of the directory", "--store DIR"]);
        assert_eq!((output.out.as_str(), output.err.lines().count()), ("", 1), "{}", output.err);
    }
    for words in [&["runs", "list"][..], &["runs", "show", "latest"], &["--resume", "latest"]] {
        let output = tool.call(&[words, &["--store", "taken"]].concat());
        assert_refused(&output, 6, "taken", &["a file is in the way of the directory", "--store DIR"]);
    }
    assert_eq!(std::fs::read(tool.path().join("taken")).unwrap(), b"text", "it is left alone");
}

fn run_bytes(tool: &Tool) -> Vec<u8> {
    tool.done(&[&SIM[..], &["--cpus", "0-3", "-q"]].concat());
    let path = tool.done(&["runs", "path", "latest"]).out;
    std::fs::read(path.trim()).unwrap()
}

fn create_foreign_database(path: &Path, application: u32) {
    let db = rusqlite::Connection::open(path).unwrap();
    db.execute_batch(&format!(
        "PRAGMA application_id = {application}; CREATE TABLE a (b); PRAGMA user_version = 3"
    ))
    .unwrap();
}

#[test]
fn invalid_run_files_are_refused_by_every_command() {
    let tool = Tool::new();
    let good = run_bytes(&tool);
    let mut newer = good.clone();
    newer[60..64].copy_from_slice(&77u32.to_be_bytes());
    let mut scrambled = good.clone();
    for (index, byte) in scrambled.iter_mut().enumerate().skip(4096) {
        *byte = ((index * 193) >> 3) as u8;
    }
    let folder = tool.path().join("files");
    std::fs::create_dir(&folder).unwrap();
    let write =
        |name: &str, bytes: &[u8]| std::fs::write(folder.join(format!("{name}.coretalk")), bytes).unwrap();
    write("newer", &newer);
    write("cut", &good[..good.len() / 2]);
    write(
        "noise",
        &(0..20_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect::<Vec<_>>(),
    );
    write("nothing", b"");
    write("scrambled", &scrambled);
    create_foreign_database(&folder.join("foreign.coretalk"), 0);
    create_foreign_database(&folder.join("other.coretalk"), 0x4669_7265);
    std::fs::create_dir(folder.join("folder.coretalk")).unwrap();
    let cases: [(&str, i32, &[&str]); 9] = [
        ("newer", 6, &["schema version 77", "newer"]),
        ("cut", 4, &["truncated", "copy it again"]),
        ("noise", 4, &["not an SQLite file", "coretalk import"]),
        ("nothing", 4, &["empty"]),
        ("scrambled", 4, &["damaged"]),
        ("foreign", 4, &["another program", "coretalk import"]),
        ("other", 4, &["another program", "coretalk import"]),
        ("folder", 4, &[]),
        ("absent", 4, &["no such file"]),
    ];
    for (name, code, words) in cases {
        let file = format!("files/{name}.coretalk");
        let before = std::fs::read(tool.path().join(&file)).ok();
        for command in [&["runs", "show"][..], &["export"], &["--resume"], &["runs", "tag"]] {
            let tag: &[&str] = if command == ["runs", "tag"] { &["name"] } else { &[] };
            let output = tool.call(&[command, &[file.as_str()], tag].concat());
            assert_refused(&output, code, &file, words);
            assert_eq!(
                (output.out.as_str(), output.err.lines().count()),
                ("", 1),
                "{command:?}: {}",
                output.err
            );
        }
        assert_eq!(std::fs::read(tool.path().join(&file)).ok(), before, "{file} is left alone");
    }
    // In a listing, invalid files appear as unreadable and hide no other run.
    std::fs::write(folder.join("0193-a.coretalk"), good).unwrap();
    let listed = tool.done(&["runs", "list", "--store", "files"]);
    assert!(listed.out.contains("complete") && listed.out.contains("unreadable"), "{}", listed.out);
    let saved = &tool.json(&["runs", "--store", "files", "--format", "json"])["saved"];
    let good = saved.as_array().unwrap().iter().find(|run| run["id"] == "0193-a").unwrap();
    assert_eq!((&good["state"], &good["reason"]), (&"complete".into(), &Value::Null), "{good}");
    let bad = saved.as_array().unwrap().iter().find(|run| run["state"] == "unreadable").unwrap();
    assert!(bad["reason"].is_string() && bad["started"].is_null() && bad["cpus"].is_null(), "{bad}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_without_room_ends_the_run_and_names_what_is_saved() {
    let tool = Tool::new();
    for format in ["jsonl", "text", "json"] {
        let output =
            tool.call(&[&SIM[..], &["--cpus", "0-3", "--format", format, "-o", "/dev/full"]].concat());
        assert_refused(&output, 6, "/dev/full", &["No space left"]);
        assert!(
            output.err.contains("measurements up to the failure are saved as "),
            "{format}: {}",
            output.err
        );
        tool.done(&["runs", "show", "latest"]);
    }
}

#[test]
fn a_full_disk_ends_the_run_and_keeps_what_was_printed() {
    let Some(small) = Mounted::tmpfs("size=400k") else { return };
    let tool = Tool::new();
    let words =
        ["latency", "--machine", "sim:epyc-2s-192", "--cpus", "0-31", "--seed", "1", "--format", "jsonl"];
    let output = tool.call(&[&words[..], &["--store", small.name()]].concat());
    assert_refused(&output, 6, small.name(), &["the disk is full", "--store DIR"]);
    assert!(output.err.contains("measurements up to the failure are saved as "), "{}", output.err);
    let kept = tool.done(&["export", "latest", "--store", small.name(), "--format", "jsonl"]).out;
    assert!(kept.starts_with(&output.out) && !output.out.is_empty(), "{} lines", output.out.lines().count());
    tool.done(&["runs", "show", "latest", "--store", small.name()]);
    let again = tool.call(&["--resume", "latest", "--store", small.name()]);
    assert_refused(&again, 6, small.name(), &["the disk is full"]);
    assert_eq!(tool.done(&["export", "latest", "--store", small.name(), "--format", "jsonl"]).out, kept);
    assert!(small.remount("size=64m"));
    tool.done(&["--resume", "latest", "--store", small.name(), "-q"]);
}

#[test]
fn a_full_disk_ends_a_comparison_and_keeps_its_runs() {
    let Some(small) = Mounted::tmpfs("size=400k") else { return };
    let tool = Tool::new();
    let placements = "--placement one-l3 --placement across-l3 --placement spread --placement smt-packed";
    let words = format!(
        "place --machine sim:chiplet-16-smt --seed 1 --threads 8 {placements} --repeat 200 --budget 24h --store {} \
         --workload ring,barrier,all-to-all,pipeline,shared-counter,integer,n-queens",
        small.name()
    );
    let output = tool.call(&words.split(' ').collect::<Vec<_>>());
    assert_refused(&output, 6, small.name(), &["the disk is full", "--store DIR"]);
    assert!(output.err.contains("measurements up to the failure are saved as "), "{}", output.err);
    let kept = tool.done(&["export", "latest", "--store", small.name(), "--format", "jsonl"]).out;
    assert!(kept.lines().count() > 100, "{} lines", kept.lines().count());
    assert!(tool.done(&["runs", "show", "latest", "--store", small.name()]).out.contains("Ended early"));
}

#[test]
fn a_read_only_store_shows_runs_and_refuses_new_ones() {
    let Some(place) = Mounted::tmpfs("size=16m") else { return };
    let tool = Tool::new();
    tool.done(&[&SIM[..], &["--cpus", "0-3", "-q", "--store", place.name()]].concat());
    assert!(place.remount("ro"));
    let output = tool.call(&[&SIM[..], &["-q", "--store", place.name()]].concat());
    assert_refused(&output, 6, place.name(), &["read-only", "--store DIR", "--no-save"]);
    assert_eq!((output.out.as_str(), output.err.lines().count()), ("", 1), "{}", output.err);
    tool.done(&["runs", "show", "latest", "--store", place.name()]);
    for words in [&["runs", "tag", "latest", "name"][..], &["runs", "rm", "latest"]] {
        assert_refused(
            &tool.call(&[words, &["--store", place.name()]].concat()),
            6,
            place.name(),
            &["read-only"],
        );
    }
}

/// A small file system of its own, if the tests may mount one.
struct Mounted(TempDir);

impl Mounted {
    fn tmpfs(options: &str) -> Option<Mounted> {
        let folder = TempDir::new().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(folder.path()).stderr(Stdio::null());
        if mount.status().is_ok_and(|status| status.success()) {
            return Some(Mounted(folder));
        }
        println!("skipped: this test may not mount a small file system");
        None
    }

    fn name(&self) -> &str {
        self.0.path().to_str().unwrap()
    }

    fn remount(&self, how: &str) -> bool {
        let options = format!("remount,{how}");
        let mut mount = Command::new("mount");
        mount.args(["-o", &options]).arg(self.0.path());
        mount.status().is_ok_and(|status| status.success())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}
