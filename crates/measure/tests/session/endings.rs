//! However a run ends, what was measured is kept, said honestly, and can be gone on with.

use crate::vocabulary::{Kept, Run, builtin, defaults, measure, open, run, toml};
use coretalk_measure::Stop;
use coretalk_measure::session::latency::{Ended, ResumedState, RunError};
use coretalk_measure::session::{self, Decision, Sink, SinkError, Slot};
use coretalk_model::latency::{Cell, Counts, LatencyResult, LatencySettings, Parallel, Purpose};
use coretalk_model::{Flag, Picos};

#[test]
fn a_budget_that_ends_leaves_a_complete_run_with_its_doubts() {
    // Enough for a few passes, and for less than one.
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
                Cell::Measured(value) if value.passes < 6 => {
                    assert!(value.flags.contains(Flag::FewPasses), "{row},{column}: {:?}", value.flags);
                }
                Cell::Measured(_) => {}
                Cell::Missing { reason } => {
                    assert_eq!(reason, "the run ended before this pair was measured");
                }
            }
        }
    }
}

#[test]
fn a_budget_too_short_for_the_precision_says_which_intervals_are_wide() {
    let run = run(toml("based_on = 'chiplet-16'\n[noise]\nbatch_sd = 0.15"), 3, |settings| {
        settings.precision = 0.004;
        settings.budget = Picos::from_ms(2_500);
    });
    assert_eq!(run.ended, Ended::Budget);
    let values = run.values();
    let wide = values.iter().filter(|(_, value)| value.flags.contains(Flag::WideCi)).count();
    assert!(2 * wide > values.len(), "{wide} of {} are wide", values.len());
    assert!(values.iter().all(|(_, value)| {
        value.flags.contains(Flag::WideCi) == (coretalk_model::latency::cell::width(value) > 0.004 + 1e-9)
    }));
}

fn stopped(base: &str, at_ms: u32, change: impl Fn(&mut LatencySettings)) -> Run {
    run(toml(&format!("based_on = '{base}'\n[failures]\nstop_at_ms = {at_ms}")), 3, change)
}

/// Goes on with a run on a machine that nobody stops.
fn resume(base: &str, seed: u64, settings: &LatencySettings, segments: &[&Kept]) -> Run {
    measure(open(builtin(base), seed), settings.clone(), Kept::resumed(segments))
}

/// Trials of several segments together: none of the finished ones may be made again.
fn check_nothing_is_made_twice(segments: &[&Kept]) {
    let mut all = std::collections::BTreeMap::new();
    for kept in segments {
        for (visit, count) in kept.visits() {
            *all.entry(visit).or_insert(0) += count;
        }
    }
    let twice: Vec<_> = all.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "made again: {:?}", &twice[..twice.len().min(5)]);
}

#[test]
fn a_stopped_run_goes_on_where_it_broke_off() {
    for at_ms in [0, 3, 40, 200, 333, 600, 900, 1_100] {
        let first = stopped("chiplet-16", at_ms, |_| ());
        assert_eq!(first.ended, Ended::Interrupted, "{at_ms} ms");
        assert!(!first.result.complete);
        let second = resume("chiplet-16", 4, &first.settings, &[&first.kept]);
        assert_eq!(second.ended, Ended::Complete, "{at_ms} ms");
        check_nothing_is_made_twice(&[&first.kept, &second.kept]);
        let whole = run(builtin("chiplet-16"), 3, |_| ());
        let trials = |purpose| first.kept.trials(purpose) + second.kept.trials(purpose);
        for purpose in [Purpose::Pilot, Purpose::Ladder] {
            assert_eq!(trials(purpose), whole.kept.trials(purpose), "{purpose:?} after {at_ms} ms");
        }
        assert!(second.values().iter().all(|(_, value)| value.passes == 8 || value.passes == 24));
        assert_eq!(second.values().len(), whole.values().len());
        for (relation, ratio) in second.relations() {
            assert!((ratio - 1.0).abs() < 0.02, "{at_ms} ms, {relation:?}: {ratio}");
        }
    }
}

#[test]
fn a_run_of_fixed_counts_stays_exact_over_three_sittings() {
    let exact = |settings: &mut LatencySettings| {
        settings.counts = Counts::Fixed { samples: 400, iterations: 50 };
    };
    let first = stopped("laptop-smt", 300, exact);
    let scenario = toml("based_on = 'laptop-smt'\n[failures]\nstop_at_ms = 450");
    let second = measure(open(scenario, 4), first.settings.clone(), Kept::resumed(&[&first.kept]));
    assert_eq!(second.ended, Ended::Interrupted);
    let third = resume("laptop-smt", 5, &first.settings, &[&first.kept, &second.kept]);
    assert_eq!(third.ended, Ended::Complete);
    check_nothing_is_made_twice(&[&first.kept, &second.kept, &third.kept]);
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
        assert_eq!(first.ended, Ended::Interrupted);
        let second = resume("chiplet-16-smt", 4, &first.settings, &[&first.kept]);
        assert_eq!(second.ended, Ended::Complete);
        assert_eq!(second.result.maps[0].regime.name(), "parallel");
        assert!(second.values().iter().all(|(_, value)| value.passes >= 8));
        // Nothing is left to do, gate included.
        let third = resume("chiplet-16-smt", 6, &first.settings, &[&first.kept, &second.kept]);
        assert_eq!(third.kept.trials(Purpose::Map) + third.kept.trials(Purpose::Gate), 0, "{at_ms} ms");
        assert_eq!(third.result.maps, second.result.maps);
    }
}

#[test]
fn a_complete_run_that_goes_on_makes_no_trial_and_says_the_same() {
    let first = run(builtin("laptop-smt"), 3, |settings| settings.cpus.truncate(4));
    let mut machine = open(builtin("laptop-smt"), 4);
    let settings = first.settings.clone();
    let mut kept = Kept::default();
    let resumed: ResumedState = Kept::resumed(&[&first.kept]);
    let (result, ended) = coretalk_measure::session::latency::run(
        &mut machine,
        &settings,
        resumed,
        &mut kept,
        &mut (),
        &coretalk_measure::Stop::new(),
    )
    .unwrap();
    assert_eq!((ended, kept.rounds.len()), (Ended::Complete, 0));
    assert_eq!(result, first.result);
}

#[test]
fn nothing_to_measure_is_refused_in_words() {
    let mut machine = open(builtin("chiplet-16"), 1);
    let mut settings = defaults(&machine, 1);
    settings.pairs = coretalk_model::latency::PairChoice::Siblings;
    let ended = coretalk_measure::session::latency::run(
        &mut machine,
        &settings,
        ResumedState::default(),
        &mut Kept::default(),
        &mut (),
        &coretalk_measure::Stop::new(),
    );
    assert_eq!(
        ended.map(|_| ()).unwrap_err().to_string(),
        "measure: the selected CPUs and pairs leave no pair to measure"
    );
}

/// A sink under which somebody wishes to end when everything is measured: before the analysis, or while the result is
/// being kept.
struct Impatient {
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

impl Sink for Impatient {
    fn commit(&mut self, slot: &Slot) -> Result<(), SinkError> {
        self.kept.commit(slot)
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
fn whoever_wishes_to_end_waits_for_nothing_that_can_be_had_later() {
    for (during, keeps) in [
        (During::Analysis, session::Kept::Everything),
        (During::Finish, session::Kept::Everything),
        (During::Analysis, session::Kept::Nothing),
        (During::Finish, session::Kept::Nothing),
    ] {
        let mut machine = open(builtin("laptop-smt"), 3);
        let settings = defaults(&machine, 3);
        let stop = Stop::new();
        let (kept, interrupts) = (Kept::default(), 0);
        let mut sink = Impatient { kept, stop: stop.clone(), during, keeps, interrupts };
        let resumed = ResumedState::default();
        let ended = session::latency::run(&mut machine, &settings, resumed, &mut sink, &mut (), &stop);
        assert_eq!(sink.interrupts, 1);
        let said_complete = sink.kept.decisions.iter().rfind(|decision| decision.key == "complete");
        let said_complete = said_complete.map(|decision| decision.value.as_str());
        match (during, keeps) {
            (_, session::Kept::Everything) => {
                assert!(matches!(ended, Err(RunError::Interrupted)), "{ended:?}");
                assert_eq!(said_complete, Some("false"));
                // Everything measured is there: going on makes no trial.
                let second = resume("laptop-smt", 4, &settings, &[&sink.kept]);
                assert_eq!((second.ended, second.kept.rounds.len()), (Ended::Complete, 0));
                assert_eq!(second.result.maps, run(builtin("laptop-smt"), 3, |_| ()).result.maps);
            }
            (During::Analysis, session::Kept::Nothing) => {
                let (result, ended) = ended.unwrap();
                assert_eq!((ended, result.maps.len()), (Ended::Complete, 1), "it is all that is left");
            }
            (During::Finish, session::Kept::Nothing) => {
                assert!(matches!(ended, Err(RunError::Sink(_))), "{ended:?}");
            }
        }
    }
}
