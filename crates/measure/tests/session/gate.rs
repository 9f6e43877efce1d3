//! Parallel measurement is believed where the equivalence gate has shown that it changes nothing.

use crate::vocabulary::{Run, run, toml};
use coretalk_measure::session::latency::Ended;
use coretalk_model::latency::{Counts, GateOutcome, Parallel, Regime};
use coretalk_model::{Flag, Picos, Relation};

/// 32 single-threaded cores on four dies, 16 pairs at a time, slowed by each other by so much in all.
fn in_parallel(bias: f64, budget_ms: u64) -> Run {
    let scenario = toml(&format!(
        "based_on = 'chiplet-16'\n[structure]\nkind = 'tree'\n\
         levels = [{{ level = 'package', count = 1 }}, {{ level = 'l3', count = 4 }}, {{ level = 'core', count = 8 }}]\n\
         [noise]\nparallel_bias = {}",
        bias / 15.0
    ));
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
fn no_bias_passes_the_gate() {
    let run = in_parallel(0.0, 60_000);
    assert_eq!(run.ended, Ended::Complete);
    assert!(
        outcomes(&run).iter().all(|o| o.equivalent && o.pairs == 16 && o.cells == 64),
        "{:?}",
        outcomes(&run)
    );
    assert!(run.values().iter().all(|(_, value)| !value.flags.contains(Flag::ParBias)));
}

#[test]
fn a_bias_of_two_percent_is_refused_and_measured_again_with_fewer_pairs() {
    let run = in_parallel(0.02, 60_000);
    assert_eq!(run.ended, Ended::Complete);
    assert_eq!(outcomes(&run).len(), 2);
    for outcome in outcomes(&run) {
        assert!(outcome.pairs <= 8, "{outcome:?}");
        assert!(outcome.equivalent, "{outcome:?}");
    }
    assert_eq!(run.values().len(), run.pairs().len(), "cells lost their values when the gate refused");
    for (pair, value) in run.values() {
        assert!(value.passes >= 8, "{pair:?}: {} passes count", value.passes);
        assert!(!value.flags.contains(Flag::ParBias));
    }
    for (relation, ratio) in run.relations() {
        assert!((ratio - 1.0).abs() < 0.02, "{relation:?}: {ratio}");
    }
}

#[test]
fn a_bias_that_the_budget_cannot_cure_is_said_on_every_cell_of_the_relation() {
    let run = in_parallel(0.3, 1_100);
    let refused: Vec<Relation> =
        outcomes(&run).iter().filter(|o| !o.equivalent).map(|o| o.relation).collect();
    assert!(refused.contains(&Relation::Package), "{:?}", outcomes(&run));
    let package = outcomes(&run).iter().find(|o| o.relation == Relation::Package).unwrap();
    assert!((package.bias.point - 0.26).abs() < 0.05, "ln 1.3 is 0.26: {:?}", package.bias);
    for (pair, value) in run.values() {
        let relation = coretalk_measure::Machine::topology(&run.machine).relation(pair[0], pair[1]);
        assert_eq!(value.flags.contains(Flag::ParBias), refused.contains(&relation), "{pair:?}");
    }
}

#[test]
fn fixed_counts_in_parallel_go_through_the_gate_as_well() {
    let run = run(toml("based_on = 'chiplet-16-smt'"), 3, |settings| {
        settings.parallel = Parallel::AtMost(16);
        settings.counts = Counts::Fixed { samples: 200, iterations: 100 };
    });
    assert_eq!(outcomes(&run).len(), 3);
    assert!(run.values().iter().all(|(_, value)| value.batches + value.dropped == 200));
}
