//! Every scenario completes close to its truth, and the same seed gives the same result.

use crate::vocabulary::{Kept, builtin, changed, defaults, measure, open, run};
use coretalk_measure::session::latency::{Ended, ResumedState};
use coretalk_measure::{Machine, Scenario};
use coretalk_model::Flag;
use coretalk_model::latency::{PairChoice, Parallel, Purpose, analyse, cell::width};
use coretalk_model::stats::median;

#[test]
fn every_scenario_completes_with_its_relations_within_two_percent_of_the_truth() {
    for name in Scenario::names() {
        let run = run(builtin(name), 5, |settings| {
            if settings.cpus.len() > 64 {
                settings.pairs = PairChoice::Representatives;
            }
        });
        assert_eq!(run.ended, Ended::Complete, "{name}");
        assert!(run.result.complete && !run.result.budget_ended, "{name}");
        // On a guest moved by its host, an interval is close to the truth of its state only: see `evidence`.
        let bound = if *name == "noisy-vm" { 0.06 } else { 0.02 };
        run.check_relations(bound, name);
        assert_eq!(run.values().len(), run.pairs().len(), "{name}: a cell without a value");
        assert_eq!(run.kept.finished, std::slice::from_ref(&run.result), "{name}");
    }
}

#[test]
fn intervals_contain_the_truth_at_two_and_at_one_percent() {
    // 1,532 intervals: with true 95 % intervals, fewer than 93 % contain the truth with a probability below 1e-3.
    for precision in [0.02, 0.01] {
        let (mut contained, mut all, mut widths) = (0, 0, Vec::new());
        for (name, seed) in [("chiplet-16-smt", 2), ("hybrid", 3), ("arm-coarse-clock", 4), ("chiplet-16", 5)]
        {
            let run = run(builtin(name), seed, |settings| settings.precision = precision);
            for (pair, value) in run.values() {
                contained += usize::from(value.latency_ns.contains(run.true_ns(pair, value)));
                all += 1;
                widths.push(value.latency_ns.half_width() / value.latency_ns.point);
            }
        }
        let share = contained as f64 / all as f64;
        assert!(share >= 0.93, "± {precision}: {share} of {all} intervals hold the truth");
        let width = median(&widths).unwrap();
        assert!(width <= 1.5 * precision, "± {precision}: median half-width {width}");
    }
}

#[test]
fn cells_not_flagged_as_wide_meet_the_requested_precision() {
    let run = run(builtin("hybrid"), 3, |settings| settings.precision = 0.01);
    for (pair, value) in run.values() {
        let is_wide = value.flags.contains(Flag::WideCi);
        assert_eq!(is_wide, width(value) > 0.01 + 1e-9, "{pair:?}: {}", width(value));
        assert!(value.passes >= 24 || !is_wide, "{pair:?} was given up at 8 passes");
    }
}

#[test]
fn the_number_of_simulation_threads_changes_no_byte_of_the_result() {
    let run_with = |threads: usize, seed: u64| {
        let scenario = changed("chiplet-16-smt", "[noise]\nbatch_sd = 0.06");
        let machine = open(scenario, seed).with_threads(threads);
        let mut settings = defaults(&machine, seed);
        // In parallel, so that several threads have work.
        settings.parallel = Parallel::AtMost(16);
        measure(machine, settings, ResumedState::default())
    };
    let one = run_with(1, 7);
    for threads in [4, 16] {
        let parallel = run_with(threads, 7);
        assert_eq!((parallel.result, parallel.took), (one.result.clone(), one.took), "{threads} threads");
        assert_eq!(parallel.kept.rounds, one.kept.rounds, "{threads} threads");
    }
    assert_ne!(run_with(1, 8).result, one.result, "the seed changes nothing");
}

#[test]
fn the_result_does_not_depend_on_the_order_of_cells() {
    let run = run(builtin("chiplet-16"), 9, |_| ());
    let analysed = |kept: &Kept| {
        let record = Kept::resumed(&[kept]).record;
        analyse(run.machine.topology(), &run.settings, run.machine.rate(), &record)
    };
    assert_eq!(analysed(&run.kept), run.result);
    // The order of cells within a pass may change; the order of passes may not, since they are a time series.
    let mut reordered = run.kept.clone();
    reordered.rounds.reverse();
    reordered.rounds.sort_by_key(|round| (round.purpose, round.pass));
    assert_eq!(analysed(&reordered), run.result);
}

#[test]
fn every_trial_is_committed_once_within_half_a_second() {
    let run = run(builtin("chiplet-16-smt"), 4, |_| ());
    assert!(run.kept.visits().values().all(|&count| count == 1));
    let trials: usize = Purpose::ALL.iter().map(|&purpose| run.kept.trials(purpose)).sum();
    assert_eq!(trials, run.kept.rounds.iter().map(|round| round.trials.len()).sum::<usize>());
    assert_eq!(run.kept.slots.last(), Some(&run.kept.rounds.len()), "something was never committed");
    let mut since = run.kept.rounds[0].started;
    for &end in &run.kept.slots {
        let last = &run.kept.rounds[end - 1];
        let span = (last.started + last.elapsed - since).secs();
        assert!(span <= 0.55, "the rounds up to {end} waited for {span} s");
        since = last.started + last.elapsed;
    }
    assert!(Kept::resumed(&[&run.kept]).record.watched() >= run.result.watched, "times of passes are lost");
}
