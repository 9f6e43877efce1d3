//! Runs on one simulated machine against each other: with another seed nothing may differ, and what was changed must
//! be found.

// Helpers of tests are not inside `#[test]` functions, where alone clippy allows it.
#![allow(clippy::unwrap_used, dead_code, reason = "each test uses its part, and fails with it")]

#[path = "../session/vocabulary.rs"]
mod vocabulary;

mod oracle;

use oracle::{Tally, alike, changed_cells, shifted_level};

/// The whole of it takes minutes: in release, with `--features acceptance`. Otherwise a tenth or less, with bounds that
/// chance passes.
const WHOLE: bool = cfg!(feature = "acceptance");

fn pairs(whole: u64, reduced: u64) -> u64 {
    if WHOLE { whole } else { reduced }
}

#[test]
fn two_runs_on_one_machine_are_not_different() {
    println!(
        "\n{:16} {:>6} {:>8} {:>10} {:>10} {:>6} {:>6}",
        "scenario", "pairs", "levels", "different", "any cell", "same", "?"
    );
    let mut missed = Vec::new();
    for (name, whole, reduced) in [
        ("chiplet-16", 1_000, 12),
        ("noisy-vm", 1_000, 20),
        ("laptop-smt", 1_000, 15),
        ("chiplet-16-smt", 100, 0),
    ] {
        let Tally { pairs, levels, different, with_any, same, cannot_tell } =
            alike(name, pairs(whole, reduced));
        println!("{name:16} {pairs:6} {levels:8} {different:10} {with_any:10} {same:6} {cannot_tell:6}");
        // One in a thousand levels, one in a hundred pairs; of a few, none.
        if different > levels / 1_000 || with_any > pairs / 100 {
            missed.push(format!("{name}: {different} of {levels} levels, {with_any} of {pairs} pairs"));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn a_shift_of_five_percent_is_found_at_every_level() {
    println!("\n{:16} {:10} {:>6} {:>6} {:>6}", "scenario", "level", "pairs", "found", "others");
    let mut missed = Vec::new();
    for name in ["chiplet-16", "chiplet-16-smt", "hybrid", "arm-coarse-clock", "epyc-2s-192"] {
        let many = name == "epyc-2s-192";
        let runs = if many { pairs(20, 0) } else { pairs(200, 3) };
        for (level, found, others) in shifted_level(name, 1.05, runs) {
            println!("{name:16} {level:10} {runs:6} {found:6} {others:6}");
            let found = found as f64 / runs.max(1) as f64;
            if runs > 0 && found < 0.95 || others as f64 > 0.01 * runs as f64 {
                missed.push(format!("{name} {level}: {found} of {runs}, {others} others"));
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn of_the_cells_called_different_few_are_not() {
    println!(
        "\n{:16} {:>6} {:>8} {:>8} {:>8} {:>8}",
        "scenario", "pairs", "changed", "found", "false", "FDR"
    );
    for (name, whole, reduced) in [("mesh-64", 40, 1), ("chiplet-16", 300, 5)] {
        let runs = pairs(whole, reduced);
        let (changed, found, wrong) = changed_cells(name, 0.02, 1.05, runs);
        let rate = wrong as f64 / (found + wrong).max(1) as f64;
        println!("{name:16} {runs:6} {changed:8} {found:8} {wrong:8} {rate:8.4}");
        assert!(rate <= if WHOLE { 0.06 } else { 0.15 }, "{name}: {wrong} of {} are wrong", found + wrong);
        assert!(3 * found >= changed, "{name}: {found} of {changed} changed cells were found");
    }
}
