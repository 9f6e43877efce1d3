//! Selection of the directory and of the run.

use super::*;
use crate::store::{Directory, DirectorySources, FailureClass, Names, find};
use std::path::PathBuf;

const OLD: &str = "0193a5b2-0000-7000-8000-00000000aaaa";
const MIDDLE: &str = "0193a5b2-1111-7000-8000-0000000baaaa";
const NEW: &str = "0193a5c0-0000-7000-8000-00000000cccc";

/// A store of three runs and one file that is not a run.
fn store() -> (TempDir, Directory) {
    let folder = tempdir().unwrap();
    for id in [OLD, MIDDLE, NEW] {
        sample(id).create(folder.path()).close().unwrap();
    }
    std::fs::write(path_of(&folder, "0193a5b9-broken"), "no run").unwrap();
    std::fs::write(folder.path().join("notes.txt"), "").unwrap();
    std::fs::write(folder.path().join(".half.coretalk-new"), "").unwrap();
    let directory = Directory::at(folder.path());
    (folder, directory)
}

fn path_of(folder: &TempDir, id: &str) -> PathBuf {
    folder.path().join(format!("{id}.coretalk"))
}

#[test]
fn runs_are_listed_newest_first_and_a_broken_file_hides_none() {
    let (_place, directory) = store();
    let listed: Vec<Option<String>> =
        directory.list().unwrap().into_iter().map(|run| run.run.ok().map(|run| run.header.id)).collect();
    assert_eq!(listed, [Some(NEW.into()), None, Some(MIDDLE.into()), Some(OLD.into())]);
    assert!(Directory::at("/nowhere/at/all").list().unwrap().is_empty());
}

#[test]
fn a_run_is_found_by_what_users_type() {
    let (folder, directory) = store();
    // These tags are older than the run whose id they begin; the command would refuse them now.
    let old = RunFile::open(&path_of(&folder, OLD)).unwrap();
    old.db.execute_batch("INSERT INTO tags VALUES ('0193a5c', ''), ('0193', '')").unwrap();
    let path = path_of(&folder, MIDDLE);
    for (selector, id) in [
        ("latest", NEW),
        ("latest~0", NEW),
        ("latest~2", MIDDLE),
        ("latest~3", OLD),
        // Priority: a prefix of a single id, a tag, a prefix of several ids.
        ("0193a5c", NEW),
        ("0193", OLD),
        ("0193a5c0", NEW),
        ("0193A5B2-1", MIDDLE),
        ("cccc", NEW),
        ("baaaa", MIDDLE),
        (path.to_str().unwrap(), MIDDLE),
    ] {
        assert_eq!(find(&directory, selector).unwrap().path, path_of(&folder, id), "{selector}");
    }
}

#[test]
fn an_unknown_run_is_a_usage_error_that_names_existing_runs() {
    let (_place, directory) = store();
    for (selector, word) in [
        ("latest~9", "4 runs"),
        ("latest~x", "latest~1"),
        ("0193a5b2", "2 runs match"),
        ("aaaa", "2 runs match"),
        ("nonsense", "the newest is 0193a5c0"),
        ("", "runs list"),
    ] {
        let error = find(&directory, selector).unwrap_err();
        assert_eq!(error.class(), FailureClass::Usage, "{error}");
        assert!(error.to_string().contains(word), "{selector}: {error}");
    }
    assert!(matches!(find(&directory, "./none.coretalk"), Err(StoreError::Missing { .. })));
    assert!(matches!(find(&directory, "/"), Err(StoreError::Foreign { .. })), "a directory is there");
    let empty = tempdir().unwrap();
    let error = find(&Directory::at(empty.path()), "latest").unwrap_err();
    assert!(error.to_string().contains("no runs"), "{error}");
}

#[test]
fn the_names_that_output_gives_runs_find_them() {
    let folder = tempdir().unwrap();
    // The first two ids have the same end. The end of the third id is the beginning of all three.
    let ids = [OLD, "0193a5b2-1111-7000-8000-00000001aaaa", "0193a5b2-2222-7000-8000-000000000193"];
    for id in ids {
        sample(id).create(folder.path()).close().unwrap();
    }
    let directory = Directory::at(folder.path());
    let known = Names::from_ids(ids.map(String::from));
    let names = ids.map(|id| known.short(id));
    assert_eq!(names, ["0aaaa", "1aaaa", "00193"]);
    for (id, name) in ids.into_iter().zip(names) {
        assert_eq!(find(&directory, name).unwrap().path, path_of(&folder, id));
    }
    let StoreError::AmbiguousRun { fitting, .. } = find(&directory, "aaaa").unwrap_err() else {
        panic!("two runs end with it")
    };
    assert_eq!(fitting, [ids[1], ids[0]]);
    // `0193` ends the last id and begins all of them.
    assert!(matches!(find(&directory, "0193"), Err(StoreError::AmbiguousRun { .. })));
}

#[test]
fn an_id_is_found_by_file_names_only_and_a_tag_by_tags_only() {
    let folder = tempdir().unwrap();
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/coretalk/src/store/tests/versions/3.sqlite");
    for id in [OLD, MIDDLE, NEW] {
        // Not `fs::copy`: the original may be read-only.
        std::fs::write(path_of(&folder, id), std::fs::read(&old).unwrap()).unwrap();
    }
    let directory = Directory::at(folder.path());
    // Opening migrates a file to the newest schema, which leaves a trace.
    let opened = || {
        let schema = |path: &PathBuf| std::fs::read(path).unwrap()[63];
        directory.files().unwrap().iter().filter(|path| schema(path) != 3).count()
    };
    for selector in ["latest", "latest~1", "0193a5c0", "baaaa", MIDDLE, "/nowhere/at.all"] {
        let _ = find(&directory, selector);
        assert_eq!(opened(), 0, "{selector}");
    }
    // A search by tag reads only the tags of each file.
    assert!(find(&directory, "of-version-3").unwrap().notice.is_some());
    assert_eq!(opened(), 0);
}

#[test]
fn a_tag_is_found_in_a_file_that_is_being_written() {
    let (folder, directory) = store();
    let path = path_of(&folder, OLD);
    let writer = rusqlite::Connection::open(&path).unwrap();
    writer.execute_batch("BEGIN EXCLUSIVE; INSERT INTO tags VALUES ('late', '')").unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(50));
            writer.execute_batch("COMMIT").unwrap();
        });
        assert_eq!(find(&directory, "late").unwrap().path, path);
    });
}

#[test]
fn names_are_the_shortest_distinct_suffixes() {
    let ids: Vec<String> = (0..400).map(|number| format!("{:06x}", number * number * 7919 % 4099)).collect();
    let names = Names::from_ids(ids.clone());
    for id in &ids {
        let others = || ids.iter().filter(|other| *other != id);
        let is_alone = |end: &str| !others().any(|other| other.ends_with(end) || other.starts_with(end));
        let shortest = (4..id.len()).map(|length| &id[id.len() - length..]).find(|end| is_alone(end));
        assert_eq!(names.short(id), shortest.unwrap_or(id));
    }
}

#[cfg(unix)]
#[test]
fn devices_are_refused_without_being_opened() {
    let directory = Directory::at(tempdir().unwrap().path());
    for path in ["/dev/zero", "/dev/null"] {
        let Err(StoreError::Foreign { what, .. }) = find(&directory, path) else {
            panic!("{path} was taken")
        };
        assert!(what.contains("device"), "{what}");
    }
}

#[test]
fn the_newest_of_equal_tags_wins_with_a_notice() {
    let (folder, directory) = store();
    let tag = |id: &str| {
        RunFile::open(&path_of(&folder, id)).unwrap().tag("base").unwrap();
        // Times of tags have a resolution of one millisecond.
        std::thread::sleep(std::time::Duration::from_millis(3));
    };
    tag(NEW);
    assert_eq!(find(&directory, "base").unwrap().notice, None);
    tag(OLD);
    let found = find(&directory, "base").unwrap();
    assert_eq!(found.path, path_of(&folder, OLD));
    assert!(found.notice.unwrap().contains("2 runs have the tag `base`"));
}

#[test]
fn ambiguous_and_invalid_tags_are_refused() {
    let (folder, _) = store();
    let file = RunFile::open(&path_of(&folder, OLD)).unwrap();
    for tag in ["", "latest", "latest~1", "a/b", "a b", "-x", "tab\t", "0193a5c", "CCCC", &"x".repeat(101)] {
        assert!(matches!(file.tag(tag), Err(StoreError::BadTag { .. })), "{tag:?}");
    }
    file.tag("straße-1.2").unwrap();
    assert_eq!(file.header().unwrap().tags, ["first", "straße-1.2"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_that_a_process_has_open_is_not_removed_and_later_leaves_nothing() {
    let (folder, directory) = store();
    let path = find(&directory, "cccc").unwrap().path;
    let mut holder = std::process::Command::new("sleep")
        .arg("60")
        .stdin(std::fs::File::open(&path).unwrap())
        .spawn()
        .unwrap();
    let refused = Directory::remove(&path);
    holder.kill().unwrap();
    holder.wait().unwrap();
    let expected = format!("process {} has it open", holder.id());
    assert!(refused.is_err_and(|error| error.to_string().contains(&expected)));
    Directory::remove(&path).unwrap();
    assert!(!names(folder.path()).iter().any(|name| name.contains(NEW)));
    assert!(find(&directory, "cccc").is_err());
}

#[test]
fn the_first_known_directory_source_wins() {
    let tree = tempdir().unwrap();
    let below = tree.path().join("a/b");
    std::fs::create_dir_all(&below).unwrap();
    std::fs::create_dir(tree.path().join(".coretalk")).unwrap();
    let all = DirectorySources {
        option: Some("/option".into()),
        variable: Some("/variable".into()),
        working_directory: Some(below),
        data_home: Some("/data".into()),
    };
    let check = |from: &DirectorySources, expected: PathBuf| {
        assert_eq!(Directory::resolve(from).unwrap().path(), expected, "{from:?}");
    };
    check(&all, "/option".into());
    let all = DirectorySources { option: None, ..all };
    check(&all, "/variable".into());
    let all = DirectorySources { variable: Some("".into()), ..all };
    check(&all, tree.path().join(".coretalk"));
    let all = DirectorySources { working_directory: Some("/".into()), ..all };
    check(&all, "/data/coretalk/runs".into());
    let error = Directory::resolve(&DirectorySources { data_home: None, ..all }).unwrap_err();
    assert_eq!(error.class(), FailureClass::Store);
}
