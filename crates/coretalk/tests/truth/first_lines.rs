//! Checks of the words of the first line against the finding in the document: the named subjects, their order, and facts
//! of the simulated machine.

use super::plants::{Fault, plant};
use super::run::{Run, list};
use crate::cli::tool::Tool;
use serde_json::Value;

/// Contradictions between the first line of a run and its finding.
pub fn untrue(run: &Run) -> Vec<String> {
    let [finding] = list(&run.document["findings"]) else { return Vec::new() };
    let (line, verdict) = (&run.first_line, finding["verdict"].as_str().unwrap_or_default());
    let subjects = list(&finding["subjects"]);
    let standing = |of: &str| subjects.iter().filter(|one| one["standing"] == of).collect::<Vec<&Value>>();
    let place = |of: &str| {
        let name = standing(of).first().and_then(|one| one["name"].as_str())?;
        Some(line.find(&format!("{name} is ")))
    };
    let is_named = match (finding["kind"].as_str().unwrap_or_default(), verdict) {
        _ if line.is_empty() => return Vec::new(),
        ("ranking", "ordered") => match (place("best"), place("worst")) {
            (Some(best), Some(worst)) => best.is_some() && best < worst,
            (best, _) => best.flatten().is_some(),
        },
        ("ranking", "alike") => line.contains(" are alike within their intervals"),
        ("ranking", "cannot-tell") => line.contains("cannot tell"),
        ("noise", "lossy" | "stalled") => {
            let cpus =
                ["use", "avoid"].into_iter().flat_map(standing).map(|one| one["placement"][0].to_string());
            let words: Vec<&str> = line.split([' ', ',', ':']).collect();
            // Only the first of many CPUs are named.
            subjects.len() > 8 || cpus.into_iter().all(|cpu| words.contains(&cpu.as_str()))
        }
        _ => true,
    };
    let is_ranked = |one: &&Value| {
        let standing = one["standing"].as_str();
        standing.is_none_or(|standing| ["best", "worst"].iter().any(|end| standing.ends_with(end)))
    };
    let ranked = subjects.iter().filter(is_ranked);
    let values: Vec<f64> = ranked.filter_map(|one| one["value"].as_f64()).collect();
    let is_ordered = finding["kind"] != "ranking" || values.is_sorted() || values.iter().rev().is_sorted();
    let is_true = match verdict {
        // All CPUs of a built-in machine have the same interruptions, and its cache lines are of 64 bytes.
        "lossy" => run.words.iter().any(|word| word.ends_with(".toml")),
        "to" => finding["condition"]["distance_bytes"] == 64.0,
        _ => true,
    };
    let why = match (is_named, is_ordered, is_true) {
        (true, true, true) => return Vec::new(),
        (false, ..) => "it names other subjects than the finding of its document",
        (_, false, _) => "subjects are not in the order of their values",
        _ => "that is not true of the machine",
    };
    vec![format!("first line `{line}`: {why}: {finding}")]
}

#[test]
fn first_lines_that_name_other_subjects_are_found() {
    const ENDS: [&str; 2] = ["spsc is fastest", "semaphore-slim is slowest"];
    let words = "queue --cpus 0,1 --budget 4s --seed 1";
    let run = Run::of(&Tool::new(), "chiplet-16", words, "first");
    let swapped: Fault = (
        "subjects",
        |run| {
            run.first_line = run.first_line.replace(ENDS[0], "semaphore-slim is fastest");
            run.first_line = run.first_line.replace(ENDS[1], "spsc is slowest");
        },
        "names other subjects",
    );
    assert!(ENDS.iter().all(|end| run.first_line.contains(end)), "{}", run.first_line);
    plant(&[run], untrue, &[swapped]);
}
