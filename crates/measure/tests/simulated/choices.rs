//! Every setting has an effect, automatic choices are better, and the gate admits only harmless parallel measurement.

use crate::vocabulary::{Run, builtin, changed, defaults, dies, measure, open, run};
use coretalk_measure::session::latency::{Ended, ResumedState};
use coretalk_model::latency::{
    Counts, GateOutcome, HintChoice, HomeSetting, LatencySettings, PairChoice, Parallel, Purpose, Regime,
    Spacing, Tails,
};
use coretalk_model::stats::MAX_ANALYSES;
use coretalk_model::{Flag, Hint, Home, Picos, Protocol, Relation, Tool};

/// Twelve pairs of a large machine with two nodes, on which every setting has an effect.
fn base() -> LatencySettings {
    let base = defaults(&open(builtin("epyc-2s-192"), 3), 3);
    LatencySettings { pairs: PairChoice::Representatives, ladder: false, precision: 0.005, ..base }
}

fn measure_large(settings: &LatencySettings) -> Run {
    measure(open(builtin("epyc-2s-192"), 3), settings.clone(), ResumedState::default())
}

/// The settings with one field changed, for every field: a new field does not compile without a line here.
fn one_change_each(base: &LatencySettings) -> Vec<(&'static str, LatencySettings)> {
    let LatencySettings {
        cpus,
        pairs,
        protocols,
        hint,
        home,
        lines,
        counts,
        parallel,
        precision,
        analyses,
        budget,
        spacing,
        seed,
        tails,
        imitate,
        ladder,
        keep_raw,
    } = base.clone();
    assert_eq!((hint, home, counts), (HintChoice::Auto, HomeSetting::Auto, Counts::Adaptive));
    assert_eq!((parallel, spacing, tails), (Parallel::Auto, Spacing::Brief, None));
    assert!(lines.is_none() && imitate.is_empty() && pairs == PairChoice::Representatives);
    let with = |name, change: &dyn Fn(&mut LatencySettings)| {
        let mut settings = base.clone();
        change(&mut settings);
        (name, settings)
    };
    vec![
        with("cpus", &|s| s.cpus = cpus[..128].to_vec()),
        with("pairs", &|s| s.pairs = PairChoice::Listed(vec![[cpus[0], cpus[1]]])),
        with("protocols", &|s| s.protocols = [protocols.clone(), vec![Protocol::Store]].concat()),
        with("hint", &|s| s.hint = HintChoice::None),
        with("home", &|s| s.home = HomeSetting::Node(Home(1))),
        with("lines", &|s| s.lines = Some(48)),
        with("counts", &|s| s.counts = Counts::Fixed { samples: 10, iterations: 100 }),
        with("parallel", &|s| s.parallel = Parallel::AtMost(4)),
        with("precision", &|s| s.precision = precision / 10.0),
        with("analyses", &|s| s.analyses = analyses + 1),
        with("budget", &|s| s.budget = Picos(budget.0 / 200)),
        with("spacing", &|s| s.spacing = Spacing::Watch),
        with("seed", &|s| s.seed = seed + 1),
        with("tails", &|s| s.tails = Some(Tails { rate_per_s: 1e6 })),
        with("imitate", &|s| s.imitate = vec![Tool::C2clat]),
        with("ladder", &|s| s.ladder = !ladder),
        with("keep_raw", &|s| s.keep_raw = !keep_raw),
    ]
}

#[test]
fn every_setting_changes_what_is_performed() {
    let base = base();
    let reference = measure_large(&base);
    for (name, mut settings) in one_change_each(&base) {
        if name == "tails" {
            settings.budget = Picos::from_ms(2_000);
        }
        let changed = measure_large(&settings);
        assert_ne!(changed.kept.rounds, reference.kept.rounds, "`{name}` has no effect");
    }
}

#[test]
fn a_budget_is_spent_where_intervals_are_wide() {
    let with = |analyses, budget_ms| {
        run(builtin("chiplet-16"), 3, |settings| {
            settings.cpus.truncate(8);
            (settings.precision, settings.analyses, settings.ladder) = (0.003, analyses, false);
            settings.budget = Picos::from_ms(budget_ms);
        })
    };
    let wide = |run: &Run| run.count_flagged(Flag::WideCi);
    let max_passes = |run: &Run| run.values().iter().map(|(_, value)| value.passes).max().unwrap();
    let usual = with(2, 60_000);
    assert!(wide(&usual) > 0 && max_passes(&usual) == 24, "{} {}", wide(&usual), max_passes(&usual));
    let all = with(MAX_ANALYSES, 60_000);
    assert!(wide(&all) == 0 && max_passes(&all) > 24, "{} {}", wide(&all), max_passes(&all));
    assert!(!all.result.budget_ended && all.took < Picos::from_ms(60_000));
    // Passes that do not reach the next analysis are not begun, and the budget is given as the reason.
    let short = with(MAX_ANALYSES, 4_000);
    assert!(wide(&short) > 0 && short.result.budget_ended, "{} {}", wide(&short), max_passes(&short));
    assert!([24, 48].contains(&max_passes(&short)) && wide(&short) <= wide(&usual), "{}", max_passes(&short));
}

#[test]
fn the_rate_of_tails_changes_the_delays_of_messages() {
    let tails_at = |rate_per_s| {
        let run = run(builtin("laptop-smt"), 3, |settings| {
            settings.cpus.truncate(2);
            settings.budget = Picos::from_ms(2_000);
            settings.tails = Some(Tails { rate_per_s });
        });
        run.result.tails[0].clone()
    };
    let (slow, fast) = (tails_at(1e4), tails_at(1e7));
    assert_eq!(slow.raw, fast.raw);
    assert_ne!(slow.at_rate, fast.at_rate);
}

#[test]
fn the_hint_is_chosen_for_a_gain_unless_requested() {
    let gaining = || builtin("chiplet-16");
    let indifferent = || changed("chiplet-16", "[eager_penalty]\nl3 = 1.0\npackage = 1.0");
    for (scenario, choice, hint, reason) in [
        (gaining(), HintChoice::Auto, Hint::Pause, "a pause gains up to"),
        (gaining(), HintChoice::None, Hint::None, "requested"),
        (indifferent(), HintChoice::Auto, Hint::None, "a pause gains less than 5 %"),
        (indifferent(), HintChoice::Pause, Hint::Pause, "requested"),
    ] {
        let run = run(scenario, 3, |settings| settings.hint = choice);
        let map = &run.result.maps[0];
        assert_eq!(map.hint, hint, "{choice:?}");
        assert!(map.hint_reason.starts_with(reason), "{choice:?}: {}", map.hint_reason);
        let of_map = run.kept.rounds.iter().filter(|round| round.purpose == Purpose::Map);
        let visits = of_map.flat_map(|round| &round.trials).filter_map(|trial| trial.outcome.as_ref().ok());
        let mut spans = visits.flat_map(|visit| &visit.spans);
        assert!(spans.any(|span| span.kernel == map.kernel), "{choice:?}");
    }
}

#[test]
fn the_better_home_is_the_headline_and_the_worse_its_penalty() {
    let auto = measure_large(&base());
    let mut crossing = 0;
    for (pair, value) in auto.values() {
        let penalty = value.home_penalty.get();
        if auto.relation(pair) != Relation::Machine {
            assert_eq!(penalty, None, "{pair:?}");
            continue;
        }
        crossing += 1;
        let [near, far] =
            [0, 1].map(|node| auto.machine.true_ns(pair[0], pair[1], auto.kernel(), Home(node)));
        assert_eq!(value.home, Home(u32::from(far < near)), "{pair:?}");
        let ratio = penalty.unwrap() / (near.max(far) / near.min(far));
        assert!((ratio - 1.0).abs() < 0.02, "{pair:?}: {penalty:?}");
    }
    assert!(crossing >= 4);
    let fixed = measure_large(&LatencySettings { home: HomeSetting::Node(Home(1)), ..base() });
    for (pair, value) in fixed.values() {
        assert_eq!((value.home, value.home_penalty.get()), (Home(1), None), "{pair:?}");
    }
    fixed.check_values(0.03, "");
}

#[test]
fn fixed_counts_are_met_exactly() {
    // Passes consist of whole runs of 16 lines if the samples fill at least eight runs.
    for (samples, iterations, passes) in
        [(1, 100, 1), (10, 1000, 8), (24, 7, 8), (300, 100, 18), (301, 64, 18), (400, 64, 24)]
    {
        let run = run(builtin("laptop-smt"), 3, |settings| {
            settings.counts = Counts::Fixed { samples, iterations };
            settings.ladder = false;
        });
        for (pair, value) in run.values() {
            assert_eq!(value.batches + value.dropped, u64::from(samples), "{pair:?}");
            assert_eq!(value.passes, passes, "{samples}: {pair:?}");
        }
    }
}

#[test]
fn the_parallel_setting_determines_the_regime() {
    let regime = |parallel| {
        let run = run(builtin("chiplet-16"), 3, |settings| {
            settings.parallel = parallel;
            settings.ladder = false;
        });
        let most = run.kept.rounds.iter().map(|round| round.trials.len()).max().unwrap();
        (run.result.maps[0].regime.clone(), most)
    };
    assert_eq!(regime(Parallel::Auto), (Regime::Serial, 1), "fits into 15 s");
    assert_eq!(regime(Parallel::AtMost(1)), (Regime::Serial, 1));
    assert!(matches!(regime(Parallel::AtMost(3)), (Regime::Parallel { pairs: 3, .. }, 3)));
    assert!(matches!(regime(Parallel::AtMost(99)), (Regime::Parallel { pairs: 8, .. }, 8)));
}

#[test]
fn a_busy_machine_is_measured_one_pair_at_a_time() {
    let regime = |busy: bool| {
        let changes = format!("[costs]\nrendezvous_us = 900.0\n[failures]\nbusy = {busy}");
        let run = run(changed("mesh-64", &changes), 3, |settings| settings.ladder = false);
        run.result.maps[0].regime.clone()
    };
    assert!(matches!(regime(false), Regime::Parallel { pairs: 32, .. }));
    assert_eq!(regime(true), Regime::Serial);
}

/// 32 single-threaded cores on four dies, 16 concurrent pairs that slow each other down by `bias` in total.
fn in_parallel(bias: f64, budget_ms: u64) -> Run {
    let scenario = changed("chiplet-16", &dies(4, &format!("parallel_bias = {}", bias / 15.0)));
    run(scenario, 3, |settings| {
        settings.parallel = Parallel::AtMost(16);
        settings.budget = Picos::from_ms(budget_ms);
    })
}

fn outcomes(run: &Run) -> &[GateOutcome] {
    match &run.result.maps[0].regime {
        Regime::Serial => &[],
        Regime::Parallel { gate, .. } => gate,
    }
}

#[test]
fn a_machine_without_bias_passes_the_gate() {
    let run = in_parallel(0.0, 60_000);
    assert_eq!(run.ended, Ended::Complete);
    let is_whole = |gate: &GateOutcome| gate.equivalent && gate.pairs == 16 && gate.cells == 64;
    assert!(outcomes(&run).iter().all(is_whole), "{:?}", outcomes(&run));
    assert_eq!(run.count_flagged(Flag::ParBias), 0);
}

#[test]
fn a_bias_of_two_percent_is_refused_and_measured_again_with_fewer_pairs() {
    let run = in_parallel(0.02, 60_000);
    assert_eq!(run.ended, Ended::Complete);
    assert_eq!(outcomes(&run).len(), 2);
    assert!(outcomes(&run).iter().all(|gate| gate.equivalent && gate.pairs <= 8), "{:?}", outcomes(&run));
    assert_eq!(run.values().len(), run.pairs().len(), "cells lost their values when the gate refused");
    assert_eq!(run.count_flagged(Flag::ParBias), 0);
    for (pair, value) in run.values() {
        assert!(value.passes >= 8, "{pair:?}: {} passes count", value.passes);
    }
    run.check_relations(0.02, "");
}

#[test]
fn an_uncorrected_bias_is_flagged_on_every_cell_of_the_relation() {
    let run = in_parallel(0.3, 1_100);
    let gate = |relation| outcomes(&run).iter().find(|gate| gate.relation == relation).unwrap();
    let package = gate(Relation::Package);
    assert!(!package.equivalent && (package.bias.point - 0.26).abs() < 0.05, "ln 1.3 is 0.26: {package:?}");
    for (pair, value) in run.values() {
        assert_ne!(value.flags.contains(Flag::ParBias), gate(run.relation(pair)).equivalent, "{pair:?}");
    }
}

#[test]
fn fixed_counts_in_parallel_go_through_the_gate_as_well() {
    let run = run(builtin("chiplet-16-smt"), 3, |settings| {
        settings.parallel = Parallel::AtMost(16);
        settings.counts = Counts::Fixed { samples: 200, iterations: 100 };
    });
    assert_eq!(outcomes(&run).len(), 3);
    assert!(run.values().iter().all(|(_, value)| value.batches + value.dropped == 200));
}
