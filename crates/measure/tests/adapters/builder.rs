//! Adapters of a list: missing requirements are named, and builds happen once, and again after changes.

use super::faults::{adapter, start};
use coretalk_measure::Stop;
use coretalk_measure::adapters::builder::{AdapterBuilder, Ready, Unready};
use coretalk_measure::adapters::catalogue::{AdapterOrigin, AdapterSpec, Catalogue};
use coretalk_measure::adapters::found::find_all;
use coretalk_measure::host::affinity;
use coretalk_model::CpuSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// A list of one adapter, which is this program, with additional requirements.
fn spec(more: &str) -> AdapterSpec {
    let [program, word, fault] = &adapter("none").command[..] else { unreachable!("three words") };
    let [program, word, fault] = [program, word, fault].map(|word| word.to_string_lossy());
    let text =
        format!("[[adapter]]\nname = \"own\"\nrun = [\"{program}\", \"{word}\", \"{fault}\"]\n{more}\n");
    Catalogue::parse(&text, AdapterOrigin::Users).unwrap().specs()[0].clone()
}

/// Prepares an adapter; returns whether that took a build.
fn ready(spec: &AdapterSpec, folder: &Path, allowed: &CpuSet) -> (Result<Ready, Unready>, bool) {
    let (cache, users) = (folder.join("cache"), folder.join("users"));
    let builder = AdapterBuilder {
        cache: &cache,
        users: Some(&users),
        allowed,
        watchdog: None,
        patience: Duration::MAX,
    };
    let mut was_built = false;
    let ready = builder.ready(spec, &mut || was_built = true, &Stop::new());
    (ready, was_built)
}

pub fn builds_are_cached_until_an_input_changes() {
    let folder = tempfile::tempdir().unwrap();
    let (allowed, users) = (affinity::current_mask().unwrap(), folder.path().join("users"));
    fs::create_dir_all(&users).unwrap();
    let source = users.join("a.txt");
    let spec = spec(
        "needs = [\"sh\"]\nfiles = [\"a.txt\"]\nversion = [\"sh\", \"-c\", \"echo; echo maker 1.0\"]\n\
         build = [[\"cp\", \"{source}/a.txt\", \"{out}/b.txt\"]]\nenvironment = { WHERE = \"{out}/b.txt\" }",
    );
    for (text, builds) in [("one", true), ("one", false), ("two", true), ("one", false)] {
        fs::write(&source, text).unwrap();
        let (ready, was_built) = ready(&spec, folder.path(), &allowed);
        let ready = ready.unwrap();
        assert_eq!((ready.version.as_deref(), was_built), (Some("maker 1.0"), builds), "{text}");
        assert_eq!(fs::read_to_string(&ready.adapter.environment[0].1).unwrap(), text);
    }
    let kept = fs::read_dir(folder.path().join("cache")).unwrap().count();
    assert_eq!(kept, 2, "one for each content");
}

pub fn failures_name_the_cause_and_leave_no_build() {
    let folder = tempfile::tempdir().unwrap();
    let allowed = affinity::current_mask().unwrap();
    for (more, message) in [
        ("needs = [\"sh\", \"no-such-compiler\"]", "not installed: no-such-compiler"),
        ("version = [\"sh\", \"-c\", \"exit 3\"]", "`sh -c exit 3` ended with exit status 3"),
        (
            "build = [[\"sh\", \"-c\", \"echo no such header >&2; exit 1\"]]",
            "ended with exit status 1: no such header",
        ),
        ("build = [[\"no-such-compiler\"]]", "`no-such-compiler` could not be started"),
        ("files = [\"a.c\"]\nbuild = [[\"true\"]]", "failed to read "),
    ] {
        let (ready, _) = ready(&spec(more), folder.path(), &allowed);
        let error = ready.unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    let entries = fs::read_dir(folder.path().join("cache")).map_or(0, Iterator::count);
    assert_eq!(entries, 0, "a build that failed was left");
}

pub fn find_all_reports_offers_or_an_error_per_adapter() {
    let folder = tempfile::tempdir().unwrap();
    let start = start();
    let builder = AdapterBuilder {
        cache: folder.path(),
        users: None,
        allowed: &start.allowed,
        watchdog: None,
        patience: Duration::MAX,
    };
    let mut catalogue = Catalogue::default();
    let command: Vec<String> =
        adapter("none").command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    catalogue.type_in("double", &command).unwrap();
    catalogue.type_in("echo", &["echo".to_owned()]).unwrap();
    let found = find_all(&catalogue, &builder, &start, &mut |_| (), &Stop::new());
    let offered = found[0].outcome.as_ref().unwrap();
    assert_eq!(offered.description.offers.len(), 8);
    let lacking = found[1].outcome.as_ref().unwrap_err().to_string();
    assert!(lacking.starts_with("the first line of `describe` is \"describe\""), "{lacking}");
}
