//! What idle gaps and loads cost on a simulated machine, and what a pass says.

use super::{Load, names};
use crate::pricing::Pricing;
use crate::series::TrialOrder;
use crate::tally::Tally;
use coretalk_model::series::Observed;
use coretalk_model::{Relation, TickRate};

/// Messages of a pass that are simulated one by one; what follows is more of the same.
const SIMULATED: u64 = 400;

/// One pass after an idle gap: a transfer each way, and a simulated machine forgets nothing while both sides are awake.
pub fn gap(stage: &mut dyn Pricing<'_>, order: &TrialOrder<'_>) -> Observed {
    let gap_ns = order.spec.parameters.number(names::GAP_NS).unwrap_or(0.0);
    let [from, to] = [stage.placement()[0], stage.placement()[1]];
    let bare_ns = stage.transfer_ns(from, to) + stage.transfer_ns(to, from);
    let mut trips = Tally::new();
    while (stage.elapsed() < order.span && trips.len() < SIMULATED) || trips.len() < 2 {
        stage.pass(gap_ns);
        let trip_ns = stage.event(bare_ns);
        let held_ns = stage.pass(trip_ns);
        let clock_ns = stage.clock_ns();
        trips.count(stage.ticks(trip_ns + held_ns + clock_ns));
    }
    finish(stage, order);
    let clock_ns = stage.clock_ns();
    observe(&trips, stage.rate(), clock_ns)
}

/// What a pass after idle gaps says.
pub fn observe(trips: &Tally, rate: TickRate, clock_ns: f64) -> Observed {
    let mut observed = Observed::default();
    let histogram = trips.histogram(rate);
    if let Some(median) = histogram.percentile_ns(0.5) {
        // Signed: a clock that costs more than a trip is said, and not hidden.
        observed.value(names::HALF_NET_NS, (median - clock_ns) / 2.0);
    }
    observed.value("clock_ns", clock_ns);
    observed.count("samples", trips.len());
    observed.histogram(names::ROUND_TRIP, histogram);
    observed
}

/// Half a round trip while neighbours are idle and while they are busy, without noise. A busy sibling slows its core
/// down; what talks elsewhere costs as much as the scenario says of pairs at the same time.
pub fn price_load(load: Load, stage: &dyn Pricing<'_>) -> [f64; 2] {
    let [a, b] = [stage.placement()[0], stage.placement()[1]];
    let neighbours = &stage.placement()[2..];
    let idle = stage.transfer_ns(a, b);
    let near = |pair| neighbours.iter().any(|&other| stage.topology().relation(pair, other) == Relation::Smt);
    let [low, high] = stage.sibling_factor();
    if load == Load::Nothing {
        return [idle; 2];
    }
    let mut factor = if near(a) || near(b) { (low + high) / 2.0 } else { 1.0 };
    if load == Load::PingPong {
        factor *= 1.0 + stage.parallel_bias() * (neighbours.len() / 2) as f64;
    }
    [idle, idle * factor]
}

/// One pass of a pair whose neighbours are idle and busy in turn.
pub fn load(load: Load, stage: &mut dyn Pricing<'_>, order: &TrialOrder<'_>) -> Observed {
    let [idle, loaded] = price_load(load, stage);
    let half_ns = [stage.batch(idle), stage.batch(loaded)];
    finish(stage, order);
    let mut observed = observe_load(half_ns);
    observed.count("samples", (order.span.ns() / (idle + loaded)) as u64);
    observed
}

/// What a pass with a load says, from half round trips: idle, loaded.
pub fn observe_load([idle, loaded]: [f64; 2]) -> Observed {
    let mut observed = Observed::default();
    observed.value(names::IDLE_NS, idle);
    observed.value(names::LOADED_NS, loaded);
    observed.value(names::RATIO, loaded / idle);
    observed
}

/// Lets the rest of a pass go by.
fn finish(stage: &mut dyn Pricing<'_>, order: &TrialOrder<'_>) {
    let rest = order.span.ns() - stage.elapsed().ns();
    if rest > 0.0 {
        stage.pass(rest);
    }
    for role in 0..stage.placement().len() {
        let spent = stage.elapsed().ns();
        stage.spend(role, spent, 0);
    }
}
