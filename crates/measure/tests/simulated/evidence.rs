//! Results in addition to a map: states of a guest, tails, other tools' numbers, the ladder, bad cells, shared cores.

use crate::vocabulary::{Run, builtin, changed, detection, run};
use coretalk_measure::probes::kernel_by_id;
use coretalk_measure::{Machine, Scenario};
use coretalk_model::infer::{Findings, ValueShape, infer, observations};
use coretalk_model::latency::execution::{Execution, TestReason, verdicts};
use coretalk_model::latency::{
    Counts, EmptyRung, ExecutionTest, PairChoice, Parallel, Purpose, Spacing, Tails,
};
use coretalk_model::stats::median;
use coretalk_model::{
    CpuId, Flag, Flags, Grade, Home, KernelId, LadderStep, Picos, Protocol, Relation, Tool,
};

#[test]
fn states_of_a_moved_guest_are_reported_and_not_averaged() {
    let mut reported = 0;
    for seed in 0..6 {
        let run = run(builtin("noisy-vm"), seed, |settings| {
            settings.spacing = Spacing::Watch;
            settings.budget = Picos::from_ms(30_000);
        });
        let watch = run.result.watch.as_ref().unwrap();
        if watch.states.len() < 2 {
            continue;
        }
        reported += 1;
        assert!(watch.pair.is_some() && watch.cells_changed > 0.0, "seed {seed}");
        assert_eq!(watch.line.len() as u32, run.result.passes, "seed {seed}");
        for (pair, value) in run.values().iter().filter(|(_, value)| value.states().len() > 1) {
            assert!(value.flags.contains(Flag::Multimodal), "{pair:?}");
            let share: f64 = value.states().iter().map(|state| state.share).sum();
            assert!((share - 1.0).abs() < 1e-9);
            // The headline is the largest plateau: one of the machine's states, not a mean of states.
            let true_ns = |state| run.machine.true_ns_in(state, pair[0], pair[1], run.kernel(), value.home);
            let states = 0..run.machine.states().len();
            let off = states.map(|state| (value.latency_ns.point / true_ns(state) - 1.0).abs());
            let off = off.fold(1.0, f64::min);
            assert!(off < 0.1, "seed {seed} {pair:?}: {} is no state", value.latency_ns.point);
        }
    }
    assert!(reported >= 4, "states were told in {reported} of 6 runs");
}

#[test]
fn a_stable_machine_reports_no_change_of_state() {
    let run = run(builtin("chiplet-16"), 3, |_| ());
    let watch = run.result.watch.unwrap();
    assert_eq!((watch.pair, watch.cells_changed), (None, 0.0));
}

#[test]
fn tails_count_every_round_trip_and_the_delays_of_messages() {
    let run = run(builtin("chiplet-16"), 3, |settings| {
        settings.cpus.truncate(3);
        settings.budget = Picos::from_ms(3_000);
        settings.tails = Some(Tails { rate_per_s: 1e5 });
    });
    assert_eq!(run.result.tails.len(), 3);
    for series in &run.result.tails {
        let total: u64 = series.raw.iter().map(|&(_, count)| count).sum();
        assert!(total > 10_000, "{total}");
        assert!(series.raw.windows(2).all(|pair| pair[0].0 < pair[1].0), "values rise");
        assert!(series.observed >= Picos::from_ms(10) && series.observed < run.took);
        assert!(!series.at_rate.is_empty() && series.rate_per_s == 1e5);
        let mut below = 0;
        let median = series.raw.iter().find(|&&(_, count)| {
            below += count;
            2 * below >= total
        });
        let kernel = kernel_by_id(series.kernel.as_str()).unwrap();
        let truth = run.machine.true_ns(series.placement[0], series.placement[1], kernel, Home(0));
        // Half a round trip including half a clock read, on one line with a spread of 8 %.
        let expected = truth + series.clock_ns / 2.0;
        let off = median.unwrap().0 as f64 / 1000.0 / expected - 1.0;
        assert!(off.abs() < 0.3, "{:?}: {off}", series.placement);
    }
}

#[test]
fn another_tools_numbers_come_from_its_own_kernel() {
    let run = run(builtin("chiplet-16"), 3, |settings| {
        settings.cpus.truncate(4);
        settings.imitate = Tool::ALL.to_vec();
    });
    assert!(run.result.maps.is_empty());
    assert_eq!(run.kept.trials(Purpose::Imitation), 6 * Tool::ALL.len());
    assert_eq!(run.kept.trials(Purpose::ImitationBack), 6, "one tool measures both directions");
    let tools: Vec<Tool> = run.result.imitated.iter().map(|imitated| imitated.tool).collect();
    assert_eq!(tools, Tool::ALL);
    for imitated in &run.result.imitated {
        let kernel = kernel_by_id(KernelId::imitating(imitated.tool).as_str()).unwrap();
        assert_eq!(imitated.cells.is_symmetric(), imitated.tool != Tool::CoherencyLatency);
        for (row, column, cell) in imitated.cells.iter().filter(|(row, column, _)| row != column) {
            let pair = [imitated.cells.cpus()[column], imitated.cells.cpus()[row]];
            let truth = run.machine.true_ns(pair[0], pair[1], kernel, Home(0));
            let ratio = cell.as_ref().unwrap().value_ns / truth;
            // One line instead of many (8 % spread), minima, whole nanoseconds.
            assert!((0.6..1.4).contains(&ratio), "{:?} {pair:?}: {ratio}", imitated.tool);
        }
    }
}

#[test]
fn every_kernel_of_the_ladder_is_close_to_its_truth() {
    for name in ["chiplet-16", "laptop-smt"] {
        let run = run(builtin(name), 3, |_| ());
        assert!(run.result.ladder.len() >= 7 * run.relations().len(), "{name}");
        for row in &run.result.ladder {
            if matches!(row.kernel.step(), LadderStep::Imitated(_)) {
                continue;
            }
            let kernel = kernel_by_id(row.kernel.as_str()).unwrap();
            let pairs = run.pairs().into_iter().filter(|&pair| run.relation(pair) == row.relation);
            let truths: Vec<f64> = pairs.map(|[a, b]| run.machine.true_ns(a, b, kernel, Home(0))).collect();
            let ratio = row.latency_ns.unwrap().point / median(&truths).unwrap();
            assert!((ratio - 1.0).abs() < 0.08, "{name} {:?} {}: {ratio}", row.relation, row.kernel);
        }
    }
}

/// On a machine that moves between states, other tools' numbers belong to the state of the headline, or are missing.
#[test]
fn a_row_of_the_ladder_belongs_to_one_state_of_the_machine() {
    let (mut compared, mut empty) = (0, 0);
    for seed in 1..=12 {
        let run = run(builtin("noisy-vm"), seed, |settings| {
            settings.budget = Picos::from_ms(10_000);
            settings.pairs = PairChoice::Listed(vec![[CpuId(0), CpuId(1)]]);
        });
        let row = |kernel: &str| run.result.ladder.iter().find(|row| row.kernel.as_str() == kernel).unwrap();
        let cas = row("cas").latency_ns.unwrap().point;
        let tool = row("as:core-to-core-latency");
        match &tool.latency_ns {
            // The same kernel on one line instead of many, whose latencies differ by a third at most.
            Some(tool) => {
                compared += 1;
                let ratio = tool.point / cas;
                assert!((0.65..1.5).contains(&ratio), "seed {seed}: {ratio}");
            }
            None => {
                empty += 1;
                assert!(matches!(tool.reason, Some(EmptyRung::OtherState(_))), "{tool:?}");
            }
        }
    }
    assert!(compared >= 6, "{compared} told, {empty} empty");
}

#[test]
fn the_parallel_and_the_serial_map_agree() {
    let [serial, parallel] = [1, 16].map(|pairs| {
        run(builtin("chiplet-16-smt"), 3, |settings| settings.parallel = Parallel::AtMost(pairs))
    });
    assert!(parallel.took < serial.took);
    for ((pair, alone), (other, together)) in serial.values().into_iter().zip(parallel.values()) {
        assert_eq!(pair, other);
        let ratio = together.latency_ns.point / alone.latency_ns.point;
        assert!((ratio - 1.0).abs() < 0.04, "{pair:?}: {ratio}");
    }
}

#[test]
fn bad_cells_are_measured_again_and_good_ones_are_not() {
    let scenario = changed("mesh-64", "[noise]\nbad_share = 0.005");
    let run = run(scenario, 3, |settings| settings.parallel = Parallel::AtMost(32));
    let found = detection(&run);
    assert!(found.bad > 40 && found.recall >= 0.97 && found.precision >= 0.9, "{found:?}");
    run.check_relations(0.02, "");
}

/// Flags of every value of a machine of two CPUs with changes.
fn flags_of(changes: &str, protocol: Protocol) -> Vec<Flags> {
    let run = run(changed("chiplet-16", changes), 3, |settings| {
        settings.cpus.truncate(2);
        settings.protocols = vec![protocol];
    });
    assert!(!run.values().is_empty(), "{changes}");
    run.values().iter().map(|(_, value)| value.flags).collect()
}

#[test]
fn throttling_quotas_and_miscounts_are_flagged_only_where_they_occur() {
    let calm = flags_of("", Protocol::Cas);
    for flag in [Flag::Throttled, Flag::Quota, Flag::Invalid] {
        assert!(calm.iter().all(|flags| !flags.contains(flag)), "{}", flag.name());
    }
    for (changes, flag) in [
        (
            "stalls = [{ name = 'quota', per_second = 400.0, us = [5.0, 9.0], rhythm = 'random', seen_as = 'quota' }]",
            Flag::Quota,
        ),
        ("[core_clock]\nheld_back = { from_ms = 700, factor = 0.8 }", Flag::Throttled),
        ("[failures]\nmiscount = '1'\nmiscount_until_ms = 40", Flag::Invalid),
    ] {
        let flags = flags_of(changes, Protocol::Cas);
        assert!(flags.iter().all(|flags| flags.contains(flag)), "{changes}");
    }
}

#[test]
fn unsynchronised_clocks_are_flagged() {
    let calm = flags_of("[variation]\nasymmetry_sd = 0.0\n[counter]\noffset_sd_ns = 0.0", Protocol::OneWay);
    let has_none = |flags: &Flags| !flags.contains(Flag::TscUnsync) && !flags.contains(Flag::Asym);
    assert!(calm.iter().all(has_none), "{calm:?}");
    let apart = flags_of("[counter]\noffset_sd_ns = 500.0", Protocol::OneWay);
    assert!(apart.iter().all(|flags| flags.contains(Flag::TscUnsync)), "{apart:?}");
}

#[test]
fn a_single_pair_of_a_core_kind_is_no_outlier() {
    // One pair of fast cores among pairs of slow ones and mixed pairs.
    for seed in [1, 20] {
        let run = run(builtin("hybrid"), seed, |settings| {
            settings.cpus = [0, 5, 12, 14, 16, 17, 18].map(CpuId).to_vec();
        });
        assert_eq!(run.count_flagged(Flag::ModelOutlier), 0, "seed {seed}");
        // Five of 21 pairs have other core kinds: latencies must not be read as uniform with these as exceptions.
        let structure = infer(observations(&run.result.maps[0])).unwrap();
        let is_uniform = matches!(structure.shape, ValueShape::Uniform { .. });
        assert!(!is_uniform || structure.unfit().count() <= 2, "seed {seed}: {structure:?}");
    }
}

#[test]
fn reproducible_values_under_load_get_grade_c() {
    let loaded = changed("chiplet-16", "[failures]\nothers = 0.5");
    let run = run(loaded, 3, |settings| settings.cpus.truncate(6));
    assert!(!run.values().is_empty());
    for (pair, value) in run.values() {
        assert!(value.flags.contains(Flag::Load), "{pair:?}");
        assert_eq!(value.grade, Grade::C, "{pair:?}: {:?} {:?}", value.flags, value.latency_ns);
    }
}

fn tests_with_verdicts(run: &Run) -> impl Iterator<Item = (&ExecutionTest, Execution)> {
    run.result.execution.iter().zip(verdicts(&run.result.execution))
}

#[test]
fn nearest_pairs_that_share_a_core_are_identified_in_every_scenario() {
    const NOISY_OR_LARGE: [&str; 3] = ["noisy-vm", "huge-1024", "epyc-2s-192"];
    for name in Scenario::names().iter().filter(|name| !NOISY_OR_LARGE.contains(name)) {
        let run = run(builtin(name), 5, |_| ());
        let mut reasons = run.result.execution.iter().map(|test| test.reason);
        assert!(reasons.any(|reason| reason != TestReason::Control), "{name} tested nobody");
        for (test, verdict) in tests_with_verdicts(&run) {
            let is_shared = run.relation(test.pair) == Relation::Smt;
            let truth = if is_shared { Execution::Shared } else { Execution::Apart };
            assert_eq!(verdict, truth, "{name}: {test:?}");
        }
    }
}

#[test]
fn unreported_threads_of_a_core_are_found_and_their_level_is_named() {
    // By latency alone, pairs of cores with a common cache of their own look like siblings.
    let like_siblings = "[noise]\nsibling_factor = [1.0, 1.0]";
    for (scenario, changes, name, execution) in [
        ("laptop-smt", "", "smt", Execution::Shared),
        ("chiplet-16-smt", "", "smt", Execution::Shared),
        ("laptop-smt", like_siblings, "group-1", Execution::Apart),
    ] {
        let run = run(changed(scenario, &format!("reported = 'nothing'\n{changes}")), 3, |_| ());
        let structure = Findings::of_run(&run.result, run.machine.topology()).unwrap().structure.unwrap();
        let level = &structure.levels[0];
        assert_eq!((level.name.as_str(), level.execution), (name, Some(execution)), "{scenario} {changes}");
    }
}

#[test]
fn a_temporarily_shared_core_is_not_reported_as_shared() {
    let run = run(changed("noisy-vm", "reported = 'nothing'"), 2, |_| ());
    for (test, verdict) in tests_with_verdicts(&run) {
        assert_ne!(verdict, Execution::Shared, "{test:?}");
    }
}

#[test]
fn a_run_of_fixed_counts_makes_no_execution_test() {
    let fixed = run(builtin("chiplet-16"), 1, |settings| {
        settings.counts = Counts::Fixed { samples: 10, iterations: 10 };
    });
    assert!(fixed.result.execution.is_empty());
}
