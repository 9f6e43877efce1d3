//! `spawn` on simulated machines: document, screen, refusals.

use super::tool::Tool;
use serde_json::Value;

const SPAWN: [&str; 9] =
    ["spawn", "--machine", "sim:chiplet-16", "--seed", "1", "--kind", "thread,pool", "--samples", "100"];

fn spawn<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&SPAWN[..], more].concat()
}

#[test]
fn a_run_of_creations_reads_back_as_it_was() {
    let tool = Tool::new();
    let live = tool.done(&spawn(&["--format", "json", "-q", "--name", "first"]));
    assert_eq!(tool.done(&["export", "first", "--format", "json"]).out, live.out);
    let document: Value = serde_json::from_str(&live.out).unwrap();
    let series = document["series"].as_array().unwrap();
    // Two paces; a thread on its creator's CPU and anywhere, a pool on that and on a pair of each of two relations;
    // four distributions.
    assert_eq!(series.len(), 2 * (2 + 3) * 4);
    let signed = |one: &&Value| one["values"]["after_return_ns"].is_number();
    assert_eq!(series.iter().filter(signed).count(), 10, "once for each trial");
}

#[test]
fn the_screen_names_places_and_kinds_and_fits() {
    let tool = Tool::new();
    let screen = tool.done(&spawn(&["-q", "--no-save"])).out;
    for part in ["0 → any", "joined", "none", "pool: no creation"] {
        assert!(screen.contains(part), "{part} is not in\n{screen}");
    }
    assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
}

#[test]
fn what_makes_no_sense_is_refused_in_one_sentence() {
    let tool = Tool::new();
    for (words, code, part) in [
        (&["--kind", "forks"][..], 2, "a similar name exists: `fork`"),
        (&["--kind", "pool,pool"], 2, "lists pool twice"),
        (&["--samples", "0"], 2, "--samples"),
        (&["--pairs", "0-99"], 2, "CPU 99 does not exist"),
    ] {
        let said = tool.call(&[&["spawn", "--machine", "sim:chiplet-16", "-q"], words].concat());
        assert_eq!(said.code, code, "{words:?}: {}", said.err);
        assert!(said.err.contains(part) && said.err.lines().count() == 1, "{words:?}: {}", said.err);
    }
}
