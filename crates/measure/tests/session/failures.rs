//! A CPU that hangs, dies, goes away, refuses or miscounts costs its own cells and no others.

use crate::vocabulary::{Kept, Run, builtin, defaults, measure, run, toml};
use coretalk_measure::session::latency::{Ended, ResumedState};
use coretalk_measure::{Machine, SimMachine, WorkerSettings};
use coretalk_model::CpuId;
use coretalk_model::latency::{Cell, Purpose};

/// Every cell of the CPU says why it has no value, and every other has one close to the truth.
fn check(run: &Run, cpu: u32, reason: &str) {
    assert_eq!(run.ended, Ended::Complete, "{reason}");
    let map = &run.result.maps[0].cells;
    for (row, column, cell) in map.iter() {
        let pair = [map.cpus()[column], map.cpus()[row]];
        match cell {
            Cell::Missing { reason: told } => {
                assert!(pair.contains(&CpuId(cpu)), "{pair:?} misses: {told}");
                assert!(told.contains(reason), "{pair:?}: {told}");
            }
            Cell::Measured(value) => {
                assert!(!pair.contains(&CpuId(cpu)), "{pair:?} has a value in spite of: {reason}");
                let ratio = value.latency_ns.point / run.true_ns(pair, value);
                assert!((ratio - 1.0).abs() < 0.04, "{pair:?}: {ratio}");
            }
        }
    }
}

fn failing(what: &str) -> Run {
    run(toml(&format!("based_on = 'laptop-smt'\n[failures]\n{what}")), 3, |_| ())
}

#[test]
fn cells_of_a_cpu_that_fails_are_missing_with_their_reason() {
    check(&failing("hang = '3'\nhang_limit_ms = 200"), 3, "did not finish within");
    check(&failing("die = '3'"), 3, "stopped responding");
    check(&failing("miscount = '3'"), 3, "the two sides counted 1000 and 999");
    check(&failing("departures = [{ cpu = 3, at_ms = 0 }]"), 3, "was taken away during the run");
}

#[test]
fn a_cpu_outside_the_crew_refuses_its_cells_only() {
    let mut machine = SimMachine::open(builtin("laptop-smt"), 3);
    let cpus: Vec<CpuId> = machine.topology().cpus().iter().filter(|&cpu| cpu != CpuId(5)).collect();
    machine.engage(&WorkerSettings { cpus, ..WorkerSettings::default() }).unwrap();
    let settings = defaults(&machine, 3);
    check(&measure(machine, settings, ResumedState::default()), 5, "could not be pinned");
}

#[test]
fn a_cell_that_hangs_is_tried_three_times_by_the_map_and_by_nothing_after_it() {
    let run = failing("hang = '3'\nhang_limit_ms = 200");
    let pairs = run.pairs();
    for round in &run.kept.rounds {
        let of_hanging = round.trials.iter().filter(|trial| pairs[trial.cell as usize].contains(&CpuId(3)));
        let tried = of_hanging.count();
        assert!(tried == 0 || matches!(round.purpose, Purpose::Pilot | Purpose::Map), "{:?}", round.purpose);
    }
    let hung = run.kept.visits().into_iter().filter(|((purpose, cell, _), _)| {
        *purpose == Purpose::Map && pairs[*cell as usize].contains(&CpuId(3))
    });
    assert_eq!(hung.map(|(_, count)| count).sum::<u32>(), 3 * 7);
}

#[test]
fn a_cpu_taken_away_in_the_middle_keeps_what_it_said_before() {
    let run = failing("departures = [{ cpu = 3, at_ms = 350 }]");
    assert_eq!(run.ended, Ended::Complete);
    let fewer = run.values().into_iter().filter(|(pair, _)| pair.contains(&CpuId(3)));
    let passes: Vec<u32> = fewer.map(|(_, value)| value.passes).collect();
    assert!(passes.len() == 7 && passes.iter().all(|&passes| (1..8).contains(&passes)), "{passes:?}");
    // It is gone: nothing is asked of it again.
    let failures = run.kept.rounds.iter().flat_map(|round| &round.trials).filter(|t| t.outcome.is_err());
    assert_eq!(failures.count(), 7);
}

#[test]
fn a_jump_of_the_clock_does_not_move_a_value() {
    let run = failing("clock_step = { at_ms = 200, by_us = 4000 }");
    for (pair, value) in run.values() {
        let ratio = value.latency_ns.point / run.true_ns(pair, value);
        assert!((ratio - 1.0).abs() < 0.03, "{pair:?}: {ratio}");
    }
}

#[test]
fn a_failing_cell_is_not_tried_again_by_a_resumed_run() {
    let first = failing("die = '3'\nstop_at_ms = 300");
    assert_eq!(first.ended, Ended::Interrupted);
    let scenario = toml("based_on = 'laptop-smt'\n[failures]\ndie = '3'");
    let resumed = Kept::resumed(&[&first.kept]);
    let second = measure(crate::vocabulary::open(scenario, 4), first.settings.clone(), resumed);
    check(&second, 3, "stopped responding");
    assert!(second.kept.rounds.iter().flat_map(|round| &round.trials).all(|trial| trial.outcome.is_ok()));
}
