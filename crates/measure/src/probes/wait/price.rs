//! One pass of a trial on a simulated machine.

use super::flags;
use super::trials::{Mode, Trial};
use crate::pricing::Pricing;
use crate::series::TrialOrder;
use crate::sim::wait::{self, WaitCost};
use crate::strategies::catalogue::StrategyKind;
use crate::tally::Tally;
use coretalk_model::TrialFailure;
use coretalk_model::series::Observed;
use coretalk_model::wait::names;

/// Round trips of a pass: a host does millions in the same time, which would tell nothing more here.
const TRIPS: f64 = 4_000.0;
/// The most that a pass performs, where more are asked for.
const MOST_TRIPS: f64 = 50_000.0;
/// Batches of calls, or pieces of work, of a pass.
const BATCHES: f64 = 256.0;
/// What a loop does beside the trip and two pairs of reads: it counts.
pub const RECORDING_NS: f64 = 5.0;

/// Prices one pass.
pub fn simulate(stage: &mut dyn Pricing<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
    let trial = Trial::of(order.spec)?;
    let shared = matches!(stage.placement(), [a, b] if a == b);
    let cost = |of: Option<StrategyKind>| {
        of.map(StrategyKind::cost).ok_or_else(|| TrialFailure::of("a trial without a strategy"))
    };
    let mut observed = match trial.mode {
        Mode::Clock => clock(stage),
        Mode::Cost => call(stage, &cost(trial.sides[0])?),
        Mode::Sibling => beside(stage, &cost(trial.sides[0])?),
        Mode::Timed | Mode::NoClock | Mode::Alternate => {
            let costs = [cost(trial.sides[0])?, cost(trial.sides[1])?];
            trips(stage, order, trial.mode, &costs)
        }
    };
    observed.flags = observed.flags.union(flags(&trial, shared, stage.is_guest()));
    Ok(observed)
}

fn trips(stage: &mut dyn Pricing<'_>, order: &TrialOrder<'_>, mode: Mode, costs: &[WaitCost; 2]) -> Observed {
    let busy = StrategyKind::Busy.cost();
    let bare = wait::price(stage, [&costs[0], &costs[1]]);
    // Without the strategy on both sides, where it alternates.
    let plain = wait::price(stage, [&busy, &busy]);
    let views: &[&str] = match mode {
        Mode::Alternate => &[names::HINT, names::PLAIN],
        Mode::NoClock => &[],
        _ => &[names::TRIP],
    };
    let mut tallies: Vec<Tally> = views.iter().map(|_| Tally::new()).collect();
    let requested = order.options.number("samples").map(|samples| (samples / 8.0).ceil());
    let most = requested.unwrap_or(TRIPS).clamp(1.0, MOST_TRIPS) as u64;
    let (mut trips, mut all_ns, mut cpu_ns, mut slept, mut spins) = (0u64, 0.0, 0.0, 0.0, 0.0);
    while trips < most && stage.elapsed() < order.span {
        let trip = if mode == Mode::Alternate && trips % 2 == 1 { &plain } else { &bare };
        let ns = wait::perform(stage, trip);
        let mut loop_ns = ns;
        if !tallies.is_empty() {
            let clock_ns = stage.clock_ns();
            let ticks = stage.ticks(ns + clock_ns);
            let view = trips as usize % tallies.len();
            tallies[view].count(ticks);
            // The second pair of reads, and the recording.
            loop_ns += 2.0 * clock_ns + RECORDING_NS;
            stage.pass(loop_ns - ns);
        }
        all_ns += loop_ns;
        cpu_ns += trip.cpu_ns[0] + trip.cpu_ns[1];
        slept += trip.slept.iter().filter(|&&slept| slept).count() as f64;
        spins += trip.spins;
        trips += 1;
    }
    let count = trips as f64;
    let mut observed = Observed::default();
    observed.count(names::SAMPLES, trips);
    observed.value(names::LOOP_NS, all_ns / count);
    observed.value(names::SPINS, spins / count);
    observed.value(names::CPU_NS, cpu_ns / count);
    observed.value(names::SLEEPS, slept / count);
    observed.value(names::TAKEN, 0.0);
    if mode == Mode::NoClock {
        observed.value(names::TRIPS_PER_S, 1e9 * count / all_ns);
        observed.count(names::DURATION_US, (all_ns / 1e3) as u64);
        return observed;
    }
    let (rate, clock_ns) = (stage.rate(), stage.clock_ns());
    let mut every = Tally::new();
    for (view, tally) in views.iter().zip(&tallies) {
        observed.histogram(view, tally.histogram(rate));
        every.add(tally);
    }
    observed.value(names::CLOCK_NS, clock_ns);
    if let Some(mean_ns) = every.mean_ns(rate) {
        observed.value(names::MEAN_NS, mean_ns);
        observed.value(names::NET_NS, mean_ns - clock_ns);
    }
    observed.count(names::NEGATIVE, every.count_below(rate.ticks(clock_ns) as u64));
    observed
}

fn clock(stage: &mut dyn Pricing<'_>) -> Observed {
    let mut tally = Tally::new();
    for _ in 0..TRIPS as u64 {
        let clock_ns = stage.clock_ns();
        stage.pass(clock_ns);
        tally.count(stage.ticks(clock_ns));
    }
    let mut observed = Observed::default();
    observed.count(names::SAMPLES, tally.len());
    observed.histogram(names::CLOCK, tally.histogram(stage.rate()));
    if let Some(mean_ns) = tally.mean_ns(stage.rate()) {
        observed.value(names::MEAN_NS, mean_ns);
    }
    observed
}

/// The mean of some events of this length.
fn mean(stage: &mut dyn Pricing<'_>, ns: f64) -> f64 {
    (0..BATCHES as u32).map(|_| stage.event(ns)).sum::<f64>() / BATCHES
}

fn call(stage: &mut dyn Pricing<'_>, cost: &WaitCost) -> Observed {
    let call_ns = wait::act_ns(stage, cost);
    let call_ns = mean(stage, call_ns);
    stage.pass(call_ns * TRIPS);
    let mut observed = Observed::default();
    observed.value(names::CALL_NS, call_ns);
    observed.value(names::CALL_CYCLES, call_ns / stage.cycle_ns(stage.placement()[0]));
    observed.count(names::SAMPLES, TRIPS as u64);
    observed
}

fn beside(stage: &mut dyn Pricing<'_>, cost: &WaitCost) -> Observed {
    let slowdown = wait::slowdown(stage, cost);
    let work_ns = 30_000.0;
    let alone_ns = mean(stage, work_ns);
    let beside_ns = mean(stage, work_ns * slowdown);
    stage.pass((alone_ns + beside_ns) * BATCHES);
    let mut observed = Observed::default();
    observed.value(names::SLOWDOWN, beside_ns / alone_ns);
    observed.count(names::SAMPLES, BATCHES as u64);
    observed
}
