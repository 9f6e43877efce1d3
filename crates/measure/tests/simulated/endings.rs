//! Runs keep, report and continue their measurements however they end; a failing CPU costs only its own cells.

use crate::vocabulary::{Kept, Run, builtin, changed, defaults, measure, open, plan, run};
use coretalk_measure::session::latency::{self, Ended, ResumedState, RunError};
use coretalk_measure::session::{Commit, Decision, Sink, SinkError};
use coretalk_measure::{Machine, SimMachine, Stop, WorkerSettings, session};
use coretalk_model::latency::{
    Counts, LatencyResult, LatencySettings, LeftOut, MissingReason, PairChoice, PairOutcome, Parallel,
    Purpose, Tails, cell::width,
};
use coretalk_model::{CpuId, Flag, Picos, Tool};
use std::collections::BTreeMap;

#[test]
fn an_exhausted_budget_leaves_a_complete_run_with_flags() {
    // Budgets for a few passes, and for less than one pass.
    for (budget_ms, fewest) in [(1_500, 1), (400, 0)] {
        let run = run(builtin("mesh-64"), 3, |settings| {
            settings.budget = Picos::from_ms(budget_ms);
            settings.parallel = Parallel::AtMost(1);
        });
        assert_eq!(run.ended, Ended::Budget);
        assert!(run.result.complete && run.result.budget_ended);
        assert!(run.took <= Picos::from_ms(budget_ms + 400), "took {} of {budget_ms} ms", run.took);
        assert!(run.result.passes >= fewest);
        for (row, column, cell) in run.result.maps[0].cells.iter() {
            match cell {
                PairOutcome::Measured(value) => assert!(
                    value.passes >= 6 || value.flags.contains(Flag::FewPasses),
                    "{row},{column}: {:?}",
                    value.flags
                ),
                PairOutcome::Missing { reason } => assert_eq!(*reason, MissingReason::NotReached),
            }
        }
    }
}

fn left_out(run: &Run) -> Vec<LeftOut> {
    run.result.left_out(&run.settings, &run.pairs())
}

#[test]
fn work_beyond_the_budget_is_aborted_and_reported_as_left_out() {
    // A visit of multichase takes most of a second.
    let cut = run(builtin("chiplet-16"), 3, |settings| {
        settings.cpus.truncate(4);
        (settings.imitate, settings.ladder) = (vec![Tool::Multichase], false);
        settings.budget = Picos::from_ms(2_000);
    });
    assert_eq!(cut.ended, Ended::Budget);
    // The maximum overrun is a twentieth of the budget plus 100 ms.
    assert!(cut.took <= Picos::from_ms(2_200), "took {}", cut.took);
    let made = cut.result.imitated[0].cells.iter().filter(|(_, _, cell)| cell.is_ok()).count();
    assert!((1..6).contains(&made), "{made} of 6 pairs");
    assert_eq!(left_out(&cut), [LeftOut::Pairs(6 - made)]);
    // The predicted minimum time of the run is within a tenth of the time of its first round.
    let mut machine = open(builtin("chiplet-16"), 3);
    let least = latency::least_time(&mut machine, &cut.settings, &Stop::new()).unwrap().unwrap();
    let ratio = least.secs() / cut.kept.rounds[0].elapsed.secs();
    assert!((ratio - 1.0).abs() < 0.1, "{ratio}");

    let short = run(builtin("chiplet-16"), 3, |settings| {
        settings.tails = Some(Tails { rate_per_s: 1e4 });
        settings.budget = Picos::from_ms(400);
    });
    assert!(short.took <= Picos::from_ms(520), "took {}", short.took);
    assert!(left_out(&short).contains(&LeftOut::SingleRoundTrips(120)), "{:?}", left_out(&short));
    let whole = run(builtin("chiplet-16"), 3, |settings| settings.cpus.truncate(4));
    assert_eq!(left_out(&whole), []);
}

#[test]
fn a_plan_of_an_imitation_predicts_its_visits() {
    let few = |settings: &mut LatencySettings| {
        settings.cpus.truncate(6);
        settings.imitate = vec![Tool::C2clat, Tool::CoherencyLatency];
    };
    let planned = plan(builtin("chiplet-16"), 3, few);
    let made = run(builtin("chiplet-16"), 3, few);
    let ratio = planned.machine_time.secs() / made.took.secs();
    assert!((ratio - 1.0).abs() < 0.15, "{} planned, {} taken", planned.machine_time, made.took);
    assert_eq!(planned.passes, [3; 2], "one of one tool, and one from each side of the other");
    assert_eq!(planned.kernels, ["as:c2clat", "as:coherency-latency"]);
}

/// Imitates CPUs that are emulated by fewer CPUs, where a hand-off takes a scheduler quantum.
#[test]
fn round_trips_of_a_millisecond_overrun_no_budget() {
    for hop_us in [20, 100, 500] {
        let label = format!("hops of {hop_us} µs");
        let slow = format!("latency_ns = {{ l3 = {hop_us}e3, package = {hop_us}e3 }}");
        let run = run(changed("chiplet-16", &slow), 3, |settings| {
            settings.cpus.truncate(4);
            settings.budget = Picos::from_ms(4_000);
        });
        assert!(run.took <= Picos::from_ms(4_300), "{label}: took {}", run.took);
        assert_eq!(run.kept.trials(Purpose::Pilot), 3 * 4, "{label}: the pilot was cut off");
        assert!(run.values().len() >= 2, "{label}: {} of 6 pairs have a value", run.values().len());
        run.check_values(0.2, &label);
    }
}

/// The first visit does not predict relations that are far slower than its own.
#[test]
fn a_fast_first_visit_does_not_lengthen_the_pilot() {
    let slow = "latency_ns = { l3 = 20.0, package = 100000.0 }";
    let pairs = [[0, 1], [0, 8], [2, 3], [2, 9]].map(|pair| pair.map(CpuId));
    for listed in [&pairs[..2], &pairs] {
        for seed in 0..4 {
            let run = run(changed("chiplet-16", slow), seed, |settings| {
                settings.pairs = PairChoice::Listed(listed.to_vec());
                settings.budget = Picos::from_ms(4_000);
            });
            let pilots = run.kept.rounds.iter().filter(|round| round.purpose == Purpose::Pilot);
            let took: f64 = pilots.map(|round| round.elapsed.secs()).sum();
            // The rest of the first pass may take a tenth of the budget; later visits are short.
            assert!(took < 0.6, "seed {seed} of {}: {took} s", listed.len());
            assert!(run.took <= Picos::from_ms(4_300), "{}", run.took);
            assert_eq!(run.values().len(), listed.len(), "seed {seed}");
        }
    }
}

#[test]
fn a_budget_too_short_for_the_precision_flags_wide_intervals() {
    let run = run(changed("chiplet-16", "[noise]\nbatch_sd = 0.15"), 3, |settings| {
        settings.precision = 0.004;
        settings.budget = Picos::from_ms(2_500);
    });
    assert_eq!(run.ended, Ended::Budget);
    let (wide, all) = (run.count_flagged(Flag::WideCi), run.values().len());
    assert!(2 * wide > all, "{wide} of {all} are wide");
    for (pair, value) in run.values() {
        assert_eq!(value.flags.contains(Flag::WideCi), width(value) > 0.004 + 1e-9, "{pair:?}");
    }
}

fn failing(base: &str, failures: &str, change: impl Fn(&mut LatencySettings)) -> Run {
    run(changed(base, &format!("[failures]\n{failures}")), 3, change)
}

fn stopped(base: &str, at_ms: u32, change: impl Fn(&mut LatencySettings)) -> Run {
    let run = failing(base, &format!("stop_at_ms = {at_ms}"), change);
    assert_eq!((run.ended, run.result.complete), (Ended::Interrupted, false), "{at_ms} ms");
    run
}

fn resume(base: &str, seed: u64, settings: &LatencySettings, segments: &[&Kept]) -> Run {
    let run = measure(open(builtin(base), seed), settings.clone(), Kept::resumed(segments));
    assert_eq!(run.ended, Ended::Complete);
    run
}

/// Checks over several segments that no finished trial is repeated.
fn check_no_trial_is_repeated(segments: &[&Kept]) {
    let mut all = BTreeMap::new();
    for (visit, count) in segments.iter().flat_map(|kept| kept.visits()) {
        *all.entry(visit).or_insert(0) += count;
    }
    let twice: Vec<_> = all.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "made again: {:?}", &twice[..twice.len().min(5)]);
}

#[test]
fn a_resumed_run_continues_where_it_stopped() {
    let whole = run(builtin("chiplet-16"), 3, |_| ());
    for at_ms in [0, 3, 40, 200, 333, 600, 900, 1_100] {
        let first = stopped("chiplet-16", at_ms, |_| ());
        let second = resume("chiplet-16", 4, &first.settings, &[&first.kept]);
        check_no_trial_is_repeated(&[&first.kept, &second.kept]);
        let trials = |purpose| first.kept.trials(purpose) + second.kept.trials(purpose);
        for purpose in [Purpose::Pilot, Purpose::Ladder] {
            assert_eq!(trials(purpose), whole.kept.trials(purpose), "{purpose:?} after {at_ms} ms");
        }
        assert!(second.values().iter().all(|(_, value)| value.passes == 8 || value.passes == 24));
        assert_eq!(second.values().len(), whole.values().len());
        second.check_relations(0.02, &format!("{at_ms} ms"));
    }
}

#[test]
fn a_run_of_fixed_counts_stays_exact_over_three_segments() {
    let counts = Counts::Fixed { samples: 400, iterations: 50 };
    let first = stopped("laptop-smt", 300, |settings| settings.counts = counts);
    let scenario = changed("laptop-smt", "[failures]\nstop_at_ms = 450");
    let second = measure(open(scenario, 4), first.settings.clone(), Kept::resumed(&[&first.kept]));
    assert_eq!(second.ended, Ended::Interrupted);
    let third = resume("laptop-smt", 5, &first.settings, &[&first.kept, &second.kept]);
    check_no_trial_is_repeated(&[&first.kept, &second.kept, &third.kept]);
    for (pair, value) in third.values() {
        assert_eq!((value.batches + value.dropped, value.passes), (400, 24), "{pair:?}");
    }
}

#[test]
fn a_stopped_parallel_run_keeps_its_gate() {
    let parallel = |settings: &mut LatencySettings| settings.parallel = Parallel::AtMost(8);
    let whole = run(builtin("chiplet-16-smt"), 3, parallel);
    assert!(whole.kept.trials(Purpose::Gate) > 0);
    for at_ms in [300, 700, 1_000] {
        let first = stopped("chiplet-16-smt", at_ms, parallel);
        let second = resume("chiplet-16-smt", 4, &first.settings, &[&first.kept]);
        assert_eq!(second.result.maps[0].regime.name(), "parallel");
        assert!(second.values().iter().all(|(_, value)| value.passes >= 8));
        // Nothing is left to do, including the gate.
        let third = resume("chiplet-16-smt", 6, &first.settings, &[&first.kept, &second.kept]);
        assert_eq!(third.kept.trials(Purpose::Map) + third.kept.trials(Purpose::Gate), 0, "{at_ms} ms");
        assert_eq!(third.result.maps, second.result.maps);
    }
}

#[test]
fn a_resumed_complete_run_makes_no_trial_and_keeps_its_result() {
    let first = run(builtin("laptop-smt"), 3, |settings| settings.cpus.truncate(4));
    let second = resume("laptop-smt", 4, &first.settings, &[&first.kept]);
    assert_eq!((second.kept.rounds.len(), second.result), (0, first.result));
}

#[test]
fn a_run_without_pairs_is_refused_with_a_reason() {
    let mut machine = open(builtin("chiplet-16"), 1);
    let settings = LatencySettings { pairs: PairChoice::Siblings, ..defaults(&machine, 1) };
    let resumed = ResumedState::default();
    let refused = latency::run(&mut machine, &settings, resumed, &mut (), &mut (), &Stop::new());
    let sentence = "measure: the selected CPUs and pairs leave no pair to measure";
    assert_eq!(refused.unwrap_err().to_string(), sentence);
}

/// A sink that stands for a user who stops the run: before the analysis, or while the result is stored.
struct StoppingSink {
    kept: Kept,
    stop: Stop,
    during: During,
    keeps: session::Kept,
    interrupts: u32,
}

#[derive(Clone, Copy, PartialEq)]
enum During {
    Analysis,
    Finish,
}

impl Sink for StoppingSink {
    fn commit(&mut self, commit: &Commit) -> Result<(), SinkError> {
        self.kept.commit(commit)
    }
    fn decide(&mut self, decision: &Decision) -> Result<(), SinkError> {
        if self.during == During::Analysis && decision.key == "complete" && decision.value == "true" {
            self.stop.raise();
        }
        self.kept.decide(decision)
    }
    fn finish(&mut self, result: &LatencyResult) -> Result<(), SinkError> {
        if self.during == During::Finish {
            self.stop.raise();
            return Err(SinkError("given up".into()));
        }
        self.kept.finish(result)
    }
    fn interrupt(&mut self) -> Result<session::Kept, SinkError> {
        self.interrupts += 1;
        Ok(self.keeps)
    }
}

#[test]
fn an_interrupted_run_skips_what_can_be_derived_later() {
    use session::Kept::{Everything, Nothing};
    for (during, keeps) in [
        (During::Analysis, Everything),
        (During::Finish, Everything),
        (During::Analysis, Nothing),
        (During::Finish, Nothing),
    ] {
        let mut machine = open(builtin("laptop-smt"), 3);
        let settings = defaults(&machine, 3);
        let (kept, stop) = (Kept::default(), Stop::new());
        let mut sink = StoppingSink { kept, stop: stop.clone(), during, keeps, interrupts: 0 };
        let resumed = ResumedState::default();
        let ended = latency::run(&mut machine, &settings, resumed, &mut sink, &mut (), &stop);
        assert_eq!(sink.interrupts, 1);
        let complete = sink.kept.decisions.iter().rfind(|decision| decision.key == "complete");
        let complete = complete.map(|decision| decision.value.as_str());
        match (during, keeps) {
            (_, Everything) => {
                assert!(matches!(ended, Err(RunError::Interrupted)), "{ended:?}");
                assert_eq!(complete, Some("false"));
                // All measurements exist: continuing makes no trial.
                let second = resume("laptop-smt", 4, &settings, &[&sink.kept]);
                assert_eq!(second.kept.rounds.len(), 0);
                assert_eq!(second.result.maps, run(builtin("laptop-smt"), 3, |_| ()).result.maps);
            }
            (During::Analysis, Nothing) => {
                let (result, ended) = ended.unwrap();
                assert_eq!((ended, result.maps.len()), (Ended::Complete, 1), "it is all that is left");
            }
            (During::Finish, Nothing) => assert!(matches!(ended, Err(RunError::Sink(_))), "{ended:?}"),
        }
    }
}

/// Checks that the missing cells are those of the CPU, with this reason, and that the others are close to the truth.
fn check(run: &Run, cpu: u32, expected: &str) {
    assert_eq!(run.ended, Ended::Complete, "{expected}");
    let map = &run.result.maps[0].cells;
    for (row, column, cell) in map.iter() {
        let pair = [map.cpus()[column], map.cpus()[row]];
        let reason = match cell {
            PairOutcome::Missing { reason: MissingReason::Failed(failure) } => failure.to_string(),
            other => format!("{other:?}"),
        };
        assert_eq!(pair.contains(&CpuId(cpu)), reason.contains(expected), "{pair:?}: {reason}");
        assert_eq!(pair.contains(&CpuId(cpu)), cell.value().is_none(), "{pair:?}: {reason}");
    }
    run.check_values(0.04, expected);
}

#[test]
fn cells_of_a_cpu_that_fails_are_missing_with_their_reason() {
    for (failures, reason) in [
        ("hang = '3'\nhang_limit_ms = 200", "did not finish within"),
        ("die = '3'", "stopped responding"),
        ("miscount = '3'", "the two sides counted 1000 and 999"),
        ("departures = [{ cpu = 3, at_ms = 0 }]", "was taken away during the run"),
    ] {
        check(&failing("laptop-smt", failures, |_| ()), 3, reason);
    }
}

#[test]
fn a_cpu_without_a_worker_fails_only_its_own_cells() {
    let mut machine = SimMachine::open(builtin("laptop-smt"), 3);
    let cpus: Vec<CpuId> = machine.topology().cpus().iter().filter(|&cpu| cpu != CpuId(5)).collect();
    machine.engage(&WorkerSettings { cpus, ..WorkerSettings::default() }).unwrap();
    let settings = defaults(&machine, 3);
    check(&measure(machine, settings, ResumedState::default()), 5, "could not be pinned");
}

#[test]
fn a_hanging_cell_is_tried_three_times_by_the_map_and_not_later() {
    let run = failing("laptop-smt", "hang = '3'\nhang_limit_ms = 200", |_| ());
    let pairs = run.pairs();
    let mut by_map = 0;
    for ((purpose, cell, _), count) in run.kept.visits() {
        if pairs[cell as usize].contains(&CpuId(3)) {
            assert!(matches!(purpose, Purpose::Pilot | Purpose::Map), "{purpose:?}");
            by_map += if purpose == Purpose::Map { count } else { 0 };
        }
    }
    assert_eq!(by_map, 3 * 7);
}

#[test]
fn a_cpu_lost_during_a_run_keeps_its_earlier_values() {
    let run = failing("laptop-smt", "departures = [{ cpu = 3, at_ms = 350 }]", |_| ());
    assert_eq!(run.ended, Ended::Complete);
    let fewer = run.values().into_iter().filter(|(pair, _)| pair.contains(&CpuId(3)));
    let passes: Vec<u32> = fewer.map(|(_, value)| value.passes).collect();
    assert!(passes.len() == 7 && passes.iter().all(|&passes| (1..8).contains(&passes)), "{passes:?}");
    // The lost CPU is not used again.
    let failures = run.kept.rounds.iter().flat_map(|round| &round.trials).filter(|t| t.outcome.is_err());
    assert_eq!(failures.count(), 7);
}

#[test]
fn a_jump_of_the_clock_does_not_move_a_value() {
    let run = failing("laptop-smt", "clock_step = { at_ms = 200, by_us = 4000 }", |_| ());
    run.check_values(0.03, "");
}

#[test]
fn a_failing_cell_is_not_tried_again_by_a_resumed_run() {
    let first = failing("laptop-smt", "die = '3'\nstop_at_ms = 300", |_| ());
    assert_eq!(first.ended, Ended::Interrupted);
    let machine = open(changed("laptop-smt", "[failures]\ndie = '3'"), 4);
    let second = measure(machine, first.settings.clone(), Kept::resumed(&[&first.kept]));
    check(&second, 3, "stopped responding");
    assert!(second.kept.rounds.iter().flat_map(|round| &round.trials).all(|trial| trial.outcome.is_ok()));
}
