//! What a creation costs on a simulated machine.

use crate::creation::{Config, Kind, PARENT_MIB, Tallies, names};
use crate::pricing::Pricing;
use crate::series::TrialOrder;
use crate::sim::spawn::{SpawnCost, perform};
use coretalk_model::TrialFailure;
use coretalk_model::series::Observed;

/// Core cycles to mark one page of the parent in a fork.
const PAGE_CYCLES: f64 = 4.0;
const PAGES_PER_MIB: f64 = 256.0;

/// What a creation of a kind does, in events of the machine. About what a desktop part of 4 GHz needs; the tool holds
/// none of it against reality, it only has to be of the right kind.
pub fn cost(kind: Kind) -> SpawnCost {
    let thread =
        SpawnCost { calls: 3.0, cycles: 30_000.0, ready: 0.8, begin_cycles: 4_000.0, end_cycles: 8_000.0 };
    let fork = SpawnCost {
        calls: 2.0,
        cycles: 160_000.0 + PARENT_MIB * PAGES_PER_MIB * PAGE_CYCLES,
        ready: 0.95,
        begin_cycles: 12_000.0,
        end_cycles: 120_000.0,
    };
    match kind {
        Kind::Thread => thread,
        Kind::SmallStack => SpawnCost { cycles: 28_000.0, ..thread },
        Kind::AttrPinned => SpawnCost { calls: 5.0, cycles: 36_000.0, ..thread },
        Kind::SelfPinned => SpawnCost { begin_cycles: 14_000.0, ..thread },
        Kind::Pool => {
            SpawnCost { calls: 1.0, cycles: 1_200.0, ready: 0.5, begin_cycles: 300.0, end_cycles: 500.0 }
        }
        Kind::Fork => fork,
        // The parent's memory is lent and not copied; it waits until the program has begun.
        Kind::PosixSpawn => {
            SpawnCost { calls: 8.0, cycles: 220_000.0, ready: 1.0, begin_cycles: 8_000.0, ..fork }
        }
        Kind::ForkExec => SpawnCost { begin_cycles: 260_000.0, ..fork },
    }
}

/// Prices one pass.
pub fn simulate(stage: &mut dyn Pricing<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
    let config = Config::of(order.spec)?;
    let cost = cost(config.kind);
    let idle_ns = config.pause_ns;
    let mut tallies = Tallies::new();
    while stage.elapsed() < order.span || tallies.samples() < 3 {
        let event = perform(stage, &cost, idle_ns);
        let clock_ns = stage.clock_ns();
        let [returned, began, ended] =
            [event.cost_ns, event.latency_ns, event.join_ns].map(|ns| stage.ticks(ns + clock_ns));
        tallies.count([0, returned, began, ended.max(began)]);
    }
    let mut observed = tallies.observed(stage.rate());
    if config.kind.is_process() {
        observed.value(names::PARENT_MIB, PARENT_MIB);
    }
    Ok(observed)
}
