//! Unusable stores and invalid run files: one message with the file and a remedy, its exit code, and no lost
//! measurement.

use super::tool::{Said, Tool, assert_contains, list, words};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

const LATENCY: &str = "latency --machine sim:chiplet-16 --seed 1 --cpus 0-3";

/// Calls the tool; the last message must have the exit code, the path and the words.
#[track_caller]
fn refused(tool: &Tool, line: &str, code: i32, path: &str, parts: &[&str]) -> Said {
    let output = tool.call(&words(line));
    assert_eq!(output.code, code, "{line}: {}", output.err);
    let last = output.err.lines().last().unwrap_or_default();
    assert!(last.starts_with("coretalk: ") && last.contains(path), "{line}: {}", output.err);
    assert_contains(last, parts);
    output
}

#[track_caller]
fn assert_only_message(output: &Said) {
    assert_eq!((output.out.as_str(), output.err.lines().count()), ("", 1), "{}", output.err);
}

#[test]
fn a_store_that_is_a_file_is_refused_before_anything_is_measured() {
    let tool = Tool::new();
    tool.write("taken", "text");
    let parts = ["a file is in the way of the directory", "--store DIR"];
    for store in ["taken", "taken/below"] {
        assert_only_message(&refused(&tool, &format!("{LATENCY} --store {store} -q"), 6, store, &parts));
    }
    for command in ["runs list", "runs show latest", "--resume latest"] {
        refused(&tool, &format!("{command} --store taken"), 6, "taken", &parts);
    }
    assert_eq!(tool.read("taken"), "text", "it is left alone");
}

fn create_foreign_database(path: &Path, application: u32) {
    let id = format!("PRAGMA application_id = {application}");
    let db = rusqlite::Connection::open(path).unwrap();
    db.execute_batch(&format!("{id}; CREATE TABLE a (b); PRAGMA user_version = 3")).unwrap();
}

#[test]
fn invalid_run_files_are_refused_by_every_command() {
    let tool = Tool::new();
    tool.out(&format!("{LATENCY} -q"));
    let good = std::fs::read(tool.out("runs path latest").trim()).unwrap();
    let mut newer = good.clone();
    newer[60..64].copy_from_slice(&77u32.to_be_bytes());
    let mut scrambled = good.clone();
    for (index, byte) in scrambled.iter_mut().enumerate().skip(4096) {
        *byte = ((index * 193) >> 3) as u8;
    }
    let noise: Vec<u8> = (0..20_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let folder = tool.path().join("files");
    std::fs::create_dir(&folder).unwrap();
    for (name, bytes) in [
        ("newer", &newer[..]),
        ("cut", &good[..good.len() / 2]),
        ("noise", &noise),
        ("nothing", b""),
        ("scrambled", &scrambled),
    ] {
        tool.write(format!("files/{name}.coretalk"), bytes);
    }
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
    for (name, code, parts) in cases {
        let file = format!("files/{name}.coretalk");
        let before = std::fs::read(tool.path().join(&file)).ok();
        for command in ["runs show FILE", "export FILE", "--resume FILE", "runs tag FILE name"] {
            let line = command.replace("FILE", &file);
            assert_only_message(&refused(&tool, &line, code, &file, parts));
        }
        assert_eq!(std::fs::read(tool.path().join(&file)).ok(), before, "{file} is left alone");
    }
    // In a listing, invalid files appear as unreadable and hide no other run.
    tool.write("files/0193-a.coretalk", good);
    assert_contains(&tool.out("runs list --store files"), &["complete", "unreadable"]);
    let saved = &tool.document("runs --store files --format json")["saved"];
    let good = list(saved).iter().find(|run| run["id"] == "0193-a").unwrap();
    assert_eq!((&good["state"], &good["reason"]), (&"complete".into(), &Value::Null), "{good}");
    let bad = list(saved).iter().find(|run| run["state"] == "unreadable").unwrap();
    assert!(bad["reason"].is_string() && bad["started"].is_null() && bad["cpus"].is_null(), "{bad}");
}

const SAVED: &str = "measurements up to the failure are saved as ";

#[cfg(target_os = "linux")]
#[test]
fn an_output_without_room_ends_the_run_and_names_what_is_saved() {
    let tool = Tool::new();
    for format in ["jsonl", "text", "json"] {
        let line = format!("{LATENCY} --format {format} -o /dev/full");
        let output = refused(&tool, &line, 6, "/dev/full", &["No space left"]);
        assert_contains(&output.err, &[SAVED]);
        tool.out("runs show latest");
    }
}

#[test]
fn a_full_disk_ends_the_run_and_keeps_what_was_printed() {
    let Some(small) = Mounted::tmpfs("size=400k") else { return };
    let (tool, store) = (Tool::new(), small.name());
    let line =
        format!("latency --machine sim:epyc-2s-192 --cpus 0-31 --seed 1 --format jsonl --store {store}");
    let output = refused(&tool, &line, 6, store, &["the disk is full", "--store DIR"]);
    assert_contains(&output.err, &[SAVED]);
    let kept = || tool.out(&format!("export latest --store {store} --format jsonl"));
    let before = kept();
    assert!(before.starts_with(&output.out) && !output.out.is_empty(), "{}", output.out.lines().count());
    tool.out(&format!("runs show latest --store {store}"));
    let resume = format!("--resume latest --store {store} -q");
    refused(&tool, &resume, 6, store, &["the disk is full"]);
    assert_eq!(kept(), before);
    assert!(small.remount("size=64m"));
    tool.out(&resume);
}

#[test]
fn a_full_disk_ends_a_comparison_and_keeps_its_runs() {
    let Some(small) = Mounted::tmpfs("size=400k") else { return };
    let (tool, store) = (Tool::new(), small.name());
    let placements = "--placement one-l3 --placement across-l3 --placement spread --placement smt-packed";
    let line = format!(
        "place --machine sim:chiplet-16-smt --seed 1 --threads 8 {placements} --repeat 200 --budget 24h --store {store} \
         --workload ring,barrier,all-to-all,pipeline,shared-counter,integer,n-queens"
    );
    let output = refused(&tool, &line, 6, store, &["the disk is full", "--store DIR"]);
    assert_contains(&output.err, &[SAVED]);
    let kept = tool.out(&format!("export latest --store {store} --format jsonl"));
    assert!(kept.lines().count() > 100, "{} lines", kept.lines().count());
    assert_contains(&tool.out(&format!("runs show latest --store {store}")), &["Ended early"]);
}

#[test]
fn a_read_only_store_shows_runs_and_refuses_new_ones() {
    let Some(place) = Mounted::tmpfs("size=16m") else { return };
    let (tool, store) = (Tool::new(), place.name());
    let latency = format!("{LATENCY} -q --store {store}");
    tool.out(&latency);
    assert!(place.remount("ro"));
    assert_only_message(&refused(&tool, &latency, 6, store, &["read-only", "--store DIR", "--no-save"]));
    tool.out(&format!("runs show latest --store {store}"));
    for command in ["runs tag latest name", "runs rm latest"] {
        refused(&tool, &format!("{command} --store {store}"), 6, store, &["read-only"]);
    }
}

fn mount(options: &[&str], folder: &Path) -> bool {
    let mut mount = Command::new("mount");
    mount.args(options).arg(folder).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// A small file system of its own, if the tests may mount one.
struct Mounted(TempDir);

impl Mounted {
    fn tmpfs(options: &str) -> Option<Mounted> {
        let folder = TempDir::new().unwrap();
        if mount(&["-t", "tmpfs", "-o", options, "tmpfs"], folder.path()) {
            return Some(Mounted(folder));
        }
        println!("skipped: this test may not mount a small file system");
        None
    }

    fn name(&self) -> &str {
        self.0.path().to_str().unwrap()
    }

    fn remount(&self, how: &str) -> bool {
        mount(&["-o", &format!("remount,{how}")], self.0.path())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}
