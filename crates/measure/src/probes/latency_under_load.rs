//! Trials of the latency probe: the same hand-off after an idle gap (`--gap`), and with busy neighbours (`--load`).

#[cfg(all(target_os = "linux", not(miri)))]
mod neighbour;
#[cfg(all(target_os = "linux", not(miri)))]
mod perform;
mod trials;
#[cfg(all(target_os = "linux", not(miri)))]
mod word;

use super::latency::{self, Latency};
use super::wake;
use crate::kernel::Kernel;
#[cfg(all(target_os = "linux", not(miri)))]
use crate::power::{self, Awake};
use crate::pricing::SimContext;
use crate::series::{RequestError, SeriesProbe, SeriesRequest, TrialOrder};
use crate::tick_histogram::TickHistogram;
#[cfg(all(target_os = "linux", not(miri)))]
use crate::trial_context::TrialContext;
pub use coretalk_model::idle_gaps::names;
use coretalk_model::probes::{LegendEntry, ProbeDeclaration, latency::DECLARATION};
use coretalk_model::series::{Observed, TrialSpec};
use coretalk_model::{Environment, Picos, TickRate, TrialFailure};
pub use trials::{Load, NeighbourCpus};

impl SeriesProbe for Latency {
    fn declaration(&self) -> &'static ProbeDeclaration {
        &DECLARATION
    }

    fn kernels(&self) -> &[&'static Kernel] {
        &latency::KERNELS
    }

    fn trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        trials::trials(request)
    }

    /// Three idle gaps, and all possible neighbours, on one pair of each relation.
    fn suite_trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        trials::suite_trials(request)
    }

    /// A pass lasts at least three idle gaps.
    fn least_span(&self, spec: &TrialSpec) -> Picos {
        spec.parameters.number(names::GAP_NS).map_or(Picos::ZERO, |gap_ns| Picos::from_ns(3.0 * gap_ns))
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn lacks(&self, spec: &TrialSpec) -> Option<String> {
        if !keeps_awake(spec) {
            return None;
        }
        let error = Awake::hold().err()?;
        Some(format!("--keep-awake cannot be measured: {}", power::refusal(&error)))
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn perform(&self, context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
        let _awake = if keeps_awake(order.spec) {
            Some(Awake::hold().map_err(|error| TrialFailure::from_reason(power::refusal(&error)))?)
        } else {
            None
        };
        match (Load::from_spec(order.spec), sleeps(order.spec)) {
            (Some(load), _) => perform::load(load, context, order),
            (None, true) => wake::perform(names::SLEEPS, context, order),
            (None, false) => perform::gap(context, order),
        }
    }

    fn simulate(
        &self,
        sim: &mut dyn SimContext<'_>,
        order: &TrialOrder<'_>,
    ) -> Result<Observed, TrialFailure> {
        if keeps_awake(order.spec) {
            sim.keep_awake();
        }
        Ok(match (Load::from_spec(order.spec), sleeps(order.spec)) {
            (Some(load), _) => simulate_load(load, sim, order),
            (None, true) => wake::simulate(names::SLEEPS, sim, order)?,
            (None, false) => simulate_gap(sim, order),
        })
    }

    fn legend(&self, trials: &[&TrialSpec], _environment: &Environment) -> Vec<LegendEntry> {
        type Applies = fn(&TrialSpec) -> bool;
        let entries: [(&str, &'static str, Applies); 4] = [
            (
                "looks",
                "both sides stay awake and poll; compare-exchange with 1 pause; half the median round trip of a pass, minus \
                 the cost of the clock; median over passes",
                |trial| trial.parameters.text(names::RECEIVER) == Some(names::LOOKS),
            ),
            (
                "semaphore",
                "the receiver sleeps on a futex; time until it runs again, proven sleeps only",
                sleeps,
            ),
            (
                "kept-out",
                "idle states that take time to leave are disabled, so only scheduler and interrupt costs remain; `·`: as the \
                 system decides",
                keeps_awake,
            ),
            (
                "",
                "idle and loaded alternate within each pass; the interval of the ratio is over passes",
                |trial| Load::from_spec(trial).is_some(),
            ),
        ];
        let applicable =
            entries.into_iter().filter(|(.., applies)| trials.iter().any(|trial| applies(trial)));
        applicable.map(|(name, words, _)| (name.to_owned(), words, None)).collect()
    }
}

fn keeps_awake(spec: &TrialSpec) -> bool {
    spec.parameters.text(names::IDLE_STATES).is_some()
}

fn sleeps(spec: &TrialSpec) -> bool {
    spec.parameters.text(names::RECEIVER) == Some(names::SLEEPS)
}

/// Maximum messages simulated one by one. The rest of the pass only takes time.
const SIMULATED: u64 = 400;

/// One pass with idle gaps: a transfer each way. The roles poll, so a gap costs nothing on a simulated machine.
fn simulate_gap(sim: &mut dyn SimContext<'_>, order: &TrialOrder<'_>) -> Observed {
    let gap_ns = order.spec.parameters.number(names::GAP_NS).unwrap_or(0.0);
    let [from, to] = [sim.placement()[0], sim.placement()[1]];
    let bare_ns = sim.transfer_ns(from, to) + sim.transfer_ns(to, from);
    let mut trips = TickHistogram::new();
    while (sim.elapsed() < order.span && trips.len() < SIMULATED) || trips.len() < 2 {
        sim.pass(gap_ns);
        let trip_ns = sim.event(bare_ns);
        let held_ns = sim.pass(trip_ns);
        let clock_ns = sim.clock_ns();
        trips.count(sim.ticks(trip_ns + held_ns + clock_ns));
    }
    finish(sim, order);
    let clock_ns = sim.clock_ns();
    observe(&trips, sim.rate(), clock_ns)
}

/// The results of a pass with idle gaps.
pub fn observe(trips: &TickHistogram, rate: TickRate, clock_ns: f64) -> Observed {
    let mut observed = Observed::default();
    let histogram = trips.histogram(rate);
    if let Some(median) = histogram.percentile_ns(0.5) {
        // Signed, so that a clock that costs more than a trip remains visible.
        observed.value(names::HALF_NET_NS, (median - clock_ns) / 2.0);
    }
    observed.value("clock_ns", clock_ns);
    observed.count("samples", trips.len());
    observed.histogram(names::ROUND_TRIP, histogram);
    observed
}

/// Half a round trip with idle and with busy neighbours, without noise. A busy sibling slows its core down. Ping-pong
/// neighbours also slow the pair down, as concurrent pairs of the scenario do.
pub fn price_load(load: Load, sim: &dyn SimContext<'_>) -> [f64; 2] {
    let [a, b] = [sim.placement()[0], sim.placement()[1]];
    let neighbours = &sim.placement()[2..];
    let idle = sim.transfer_ns(a, b);
    let has_sibling = |cpu| neighbours.iter().any(|&other| sim.topology().are_siblings(cpu, other));
    let [low, high] = sim.sibling_factor();
    if load == Load::Nothing {
        return [idle; 2];
    }
    let mut factor = if has_sibling(a) || has_sibling(b) { (low + high) / 2.0 } else { 1.0 };
    if load == Load::PingPong {
        factor *= 1.0 + sim.parallel_bias() * (neighbours.len() / 2) as f64;
    }
    [idle, idle * factor]
}

fn simulate_load(load: Load, sim: &mut dyn SimContext<'_>, order: &TrialOrder<'_>) -> Observed {
    let [idle, loaded] = price_load(load, sim);
    let half_ns = [sim.batch(idle), sim.batch(loaded)];
    finish(sim, order);
    let mut observed = observe_load(half_ns);
    observed.count("samples", (order.span.ns() / (idle + loaded)) as u64);
    observed
}

/// The results of a pass with a load, from the idle and the loaded half round trips.
pub fn observe_load([idle, loaded]: [f64; 2]) -> Observed {
    let mut observed = Observed::default();
    observed.value(names::IDLE_NS, idle);
    observed.value(names::LOADED_NS, loaded);
    observed.value(names::RATIO, loaded / idle);
    observed
}

fn finish(sim: &mut dyn SimContext<'_>, order: &TrialOrder<'_>) {
    let rest = order.span.ns() - sim.elapsed().ns();
    if rest > 0.0 {
        sim.pass(rest);
    }
    for role in 0..sim.placement().len() {
        let spent = sim.elapsed().ns();
        sim.spend(role, spent, 0);
    }
}
