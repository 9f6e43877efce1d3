//! Numbers that are changed: every typed number of many screens, one at a time. The recomputation has to find each.

use super::cases;
use super::maps::wrong_in_map;
use super::run::Run;
use super::sources::wrong;
use super::values::changed;
use super::words::TEMPLATES;
use crate::cli::tool::Tool;
use coretalk::blocks::value::{DisplayValue, Source};
use std::collections::BTreeMap;

/// Whether a number has no field to be recomputed from.
fn is_unheld(value: &DisplayValue) -> bool {
    match &value.source {
        Source::Listed | Source::Method | Source::Unrecorded | Source::Option("budget" | "parallel") => true,
        Source::Trial { placements, .. } => *placements > 1,
        _ => false,
    }
}

/// The name of a kind of source.
fn kind(source: &Source) -> String {
    format!("{source:?}").split([' ', '(', '{']).next().unwrap_or_default().to_owned()
}

/// Changes each number of a run; counts those that are found and not found by their source.
fn plant(run: &Run, counts: &mut BTreeMap<String, [usize; 2]>, missed: &mut Vec<String>) {
    let mut note = |value: &DisplayValue, is_found: bool| {
        counts.entry(kind(&value.source)).or_default()[usize::from(!is_found)] += 1;
        if !is_found {
            missed.push(format!("{:?}: {value:?}", run.words));
        }
    };
    for (headings, value) in run.values.iter().filter(|(_, value)| !is_unheld(value)) {
        note(value, wrong(run, &(headings.clone(), changed(value))).is_some());
    }
    for (unit, number) in run.cells.iter().filter(|(_, number)| !is_unheld(&number.value)) {
        let mut fault = number.clone();
        fault.value = changed(&number.value);
        note(&number.value, wrong_in_map(run, unit, &fault).is_some());
    }
}

#[test]
fn a_number_that_is_changed_is_found() {
    let tool = Tool::new();
    let small = ["--cpus", "0,1,8,16"];
    let mut runs = cases::runs(
        &tool,
        "chiplet-16-smt",
        1,
        &[
            &["--cpus", "0-2,8,9", "--budget", "3s"],
            &["--cpus", "0,8", "--budget", "3s"],
            &["latency", "--protocol", "cas,store", "--cpus", "0-2,8,9", "--budget", "3s"],
            &[&["queue", "--budget", "2s"][..], &small].concat(),
            &[&["wait", "--budget", "2s"][..], &["--cpus", "0,16"]].concat(),
            &[&["contend", "--budget", "2s"][..], &["--cpus", "0,1"]].concat(),
            &[&["spawn", "--budget", "2s"][..], &["--cpus", "0,1"]].concat(),
            &["sharing", "--cpus", "0,1", "--budget", "2s"],
            &["jitter", "--cpus", "0-2"],
            &["place", "--workload", "ring,integer", "--threads", "4", "--budget", "300s"],
        ],
    );
    runs.extend(cases::runs(
        &tool,
        "noisy-vm",
        1,
        &[&["--budget", "3s"], &["--cpus", "0,1", "--budget", "3s"]],
    ));
    runs.extend(cases::runs(
        &tool,
        "hybrid",
        1,
        &[&["--cpus", "0-2,12,13", "--budget", "3s"], &["--cpus", "0-3,12", "--budget", "2s"]],
    ));
    let parallel = &["latency", "--cpus", "0-11", "--parallel", "4", "--budget", "2s"];
    runs.extend(cases::runs(&tool, "epyc-2s-192", 1, &[parallel]));
    let of_laptop: [&[&str]; 2] = [&["suite", "--cpus", "0,4", "--budget", "4s"], &["--budget", "3s"]];
    runs.extend(cases::runs(&tool, "laptop-smt", 1, &of_laptop));
    runs.extend(cases::comparisons(&tool).into_iter().take(2));
    runs.extend(cases::advice(&tool).into_iter().take(1));
    runs.extend(cases::structures(&tool).into_iter().take(2));
    for template in TEMPLATES {
        let is_there = runs.iter().any(|run| run.sentences.iter().any(|said| said.template == template));
        assert!(is_there, "no screen says `{template}`");
    }
    let (mut counts, mut missed) = (BTreeMap::new(), Vec::new());
    runs.iter().for_each(|run| plant(run, &mut counts, &mut missed));
    let all: usize = counts.values().flatten().sum();
    println!("{counts:#?}\n{}", missed.join("\n"));
    assert!(all > 1_000 && counts.len() >= 15, "{all} numbers of {} kinds", counts.len());
    assert!(missed.len() * 100 < all, "{} of {all} are not found:\n{}", missed.len(), missed.join("\n"));
}
