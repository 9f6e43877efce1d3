//! `wake`: the time until a thread that waits in a primitive runs again.

mod catalogue;
#[cfg(all(target_os = "linux", not(miri)))]
mod crowd;
#[cfg(all(target_os = "linux", not(miri)))]
mod exchange;
mod runtime;
mod stand_ins;

use crate::adapters::pass::AdapterPass;
use crate::adapters::protocol::RuntimeWork;
#[cfg(all(target_os = "linux", not(miri)))]
use crate::power::IdleStates;
use crate::pricing::SimContext;
#[cfg(all(target_os = "linux", not(miri)))]
use crate::primitives::Primitive;
use crate::series::{MIN_ROUNDS, RequestError, SeriesProbe, SeriesRequest, TrialOrder};
use crate::sim::wake;
use crate::stand_in::SimStandIn;
use crate::tick_histogram::TickHistogram;
#[cfg(all(target_os = "linux", not(miri)))]
use crate::trial_context::TrialContext;
use coretalk_model::Picos;
pub use coretalk_model::probes::wake::names;
use coretalk_model::probes::wake::{DECLARATION, GAPS_NS, LADDER_GAP_NS};
use coretalk_model::probes::{LegendEntry, ProbeDeclaration};
use coretalk_model::series::TrialSpec;
use coretalk_model::series::{Observed, Parameters};
use coretalk_model::wake::RanOn;
use coretalk_model::{Environment, TrialFailure};

pub use catalogue::{PrimitiveKind, Variant, mechanism, needs_one_cpu, variant};
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) use exchange::loops;

/// The `wake` probe.
#[derive(Debug, Clone, Copy)]
pub struct Wake;

/// Relative variation of a gap, to avoid a fixed phase with periodic events.
const GAP_JITTER: f64 = 0.25;
/// Maximum share of wake-ups that seem to precede their sending. Above it, the other times are doubtful.
const NEGATIVE_SHARE: f64 = 0.01;
/// The gap of a map of pairs. It is short, so that the exit from an idle state does not hide the hand-off. That exit
/// takes the same time on every pair: 19 to 20 µs on a guest after 1 ms, with and without a shared cache.
pub const MAP_GAP_NS: f64 = GAPS_NS[0];
/// Maximum number of pairs measured after every gap. More pairs form a map, which has one gap.
const FEW_PAIRS: usize = 8;
const SLEEP: &str = "sleep-1ms";
const SLEEP_NS: u64 = 1_000_000;
/// Default samples of a trial, as far as the budget allows.
pub const SAMPLES: f64 = 50_000.0;

impl SeriesProbe for Wake {
    fn declaration(&self) -> &'static ProbeDeclaration {
        &DECLARATION
    }

    fn trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        catalogue::trials(request)
    }

    /// Without the longest gap. A gap within the polling of idle loops and a longer gap suffice.
    fn suite_trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        let mut trials = catalogue::trials(request)?;
        trials.retain(|trial| trial.parameters.number(names::GAP_NS) != Some(GAPS_NS[2]));
        Ok(trials)
    }

    fn least_span(&self, spec: &TrialSpec) -> Picos {
        let gap_ns = spec.parameters.number(names::GAP_NS);
        gap_ns.map_or(Picos::ZERO, |gap_ns| Picos::from_ns(MIN_ROUNDS as f64 * gap_ns))
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn perform(&self, context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
        let name = order.spec.parameters.text("primitive").unwrap_or_default();
        perform(name, context, order)
    }

    fn simulate(
        &self,
        sim: &mut dyn SimContext<'_>,
        order: &TrialOrder<'_>,
    ) -> Result<Observed, TrialFailure> {
        let name = order.spec.parameters.text("primitive").unwrap_or_default();
        simulate(name, sim, order)
    }

    fn legend(&self, trials: &[&TrialSpec], _environment: &Environment) -> Vec<LegendEntry> {
        let names = trials.iter().filter_map(|trial| trial.parameters.text("primitive"));
        names.filter_map(|name| Some((name.to_owned(), mechanism(name)?, None))).collect()
    }

    fn variants(&self) -> Vec<(String, String)> {
        let runtime_wakes =
            ("RUNTIME:NAME".to_owned(), "a wake-up of a runtime in another language".to_owned());
        catalogue::every().into_iter().chain([runtime_wakes]).collect()
    }

    fn runtime_work(&self, spec: &TrialSpec, options: &Parameters) -> Result<RuntimeWork, RequestError> {
        runtime::work(spec, options)
    }

    fn runtime_result(&self, _spec: &TrialSpec, pass: &AdapterPass) -> Observed {
        runtime::result(pass)
    }

    fn stand_ins(&self) -> &'static [SimStandIn] {
        stand_ins::STAND_INS
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
pub(super) fn perform(
    name: &str,
    context: &TrialContext<'_>,
    order: &TrialOrder<'_>,
) -> Result<Observed, TrialFailure> {
    // A slow wake-up includes the CPU's exit from an idle state. The kernel's counts show it.
    let before = IdleStates::now(context.cpus());
    let mut observed = exchange::perform(name, context, order)?;
    for (state, entries) in IdleStates::now(context.cpus()).since(&before) {
        observed.count(&format!("{}{state}", names::IDLE), entries);
    }
    Ok(observed)
}

#[cfg(all(target_os = "linux", not(miri)))]
fn make<P: Primitive>() -> Result<P, TrialFailure> {
    P::new().map_err(|error| {
        TrialFailure::refused("make what wakes a thread", error.raw_os_error().unwrap_or_default())
    })
}

pub(super) fn simulate(
    name: &str,
    sim: &mut dyn SimContext<'_>,
    order: &TrialOrder<'_>,
) -> Result<Observed, TrialFailure> {
    let gap_ns = order.spec.parameters.number(names::GAP_NS).unwrap_or(GAPS_NS[1]);
    Ok(match variant(name)? {
        Variant::Wake(kind) => priced_rounds(sim, order, &kind.cost(), gap_ns),
        Variant::Uncontended(kind) | Variant::NotifyIdle(kind) => {
            let mut observed = Observed::default();
            let alone_ns = wake::alone_ns(sim, &kind.cost());
            let alone_ns = sim.event(alone_ns);
            sim.pass(order.span.ns());
            observed.value(names::ALONE_NS, alone_ns);
            observed.count("samples", (order.span.ns() / alone_ns) as u64);
            observed
        }
        Variant::NotifyAll(_) => priced_crowd(sim, order, gap_ns),
        Variant::Sleep => priced_sleeps(sim, order),
    })
}

#[derive(Debug, Default)]
struct Tallies {
    slept: TickHistogram,
    hot: TickHistogram,
    waker: TickHistogram,
    first: TickHistogram,
    /// Number of wake-ups that seem to precede their sending, because the CPUs' counters differ.
    negative: u64,
    /// Positions of an unbound waiter relative to the waker, in the order of [`RanOn::ALL`].
    places: [u64; 4],
}

impl Tallies {
    fn count(&mut self, wake_ticks: u64, waker_ticks: u64, slept: bool, first: bool) {
        self.waker.count(waker_ticks);
        match (first, slept) {
            (true, _) => self.first.count(wake_ticks),
            (_, true) => self.slept.count(wake_ticks),
            (_, false) => self.hot.count(wake_ticks),
        }
    }

    fn place(&mut self, place: RanOn) {
        self.places[place as usize] += 1;
    }

    /// The results of the pass, with the shares of `possible` positions, in the order of [`RanOn::ALL`].
    fn observed(&self, rate: coretalk_model::TickRate, possible: [bool; 4]) -> Observed {
        let mut observed = Observed::default();
        observed.histogram(names::SLEPT, self.slept.histogram(rate));
        observed.histogram(names::HOT, self.hot.histogram(rate));
        observed.histogram(names::WAKER, self.waker.histogram(rate));
        observed.histogram(names::FIRST, self.first.histogram(rate));
        let counted = self.slept.len() + self.hot.len();
        observed.count("samples", counted);
        observed.count("negative", self.negative);
        // If many wake-ups seem negative, the offset of the counters is as large as the times and distorts all of them.
        if self.negative as f64 > NEGATIVE_SHARE * counted as f64 {
            observed.flags.set(coretalk_model::Flag::TscUnsync);
        }
        if counted > 0 {
            observed.value("hot_share", self.hot.len() as f64 / counted as f64);
        }
        let placed: u64 = self.places.iter().sum();
        if placed > 0 {
            let places = RanOn::ALL.iter().zip(&self.places).zip(possible).filter(|(_, possible)| *possible);
            for ((place, &count), _) in places {
                observed.value(place.share(), count as f64 / placed as f64);
            }
        }
        if let Some(mean) = self.slept.mean_ns(rate) {
            observed.value("slept_mean_ns", mean);
        }
        observed
    }
}

fn priced_rounds(
    sim: &mut dyn SimContext<'_>,
    order: &TrialOrder<'_>,
    cost: &wake::WakeCost,
    gap_ns: f64,
) -> Observed {
    let mut tallies = Tallies::default();
    let mut rounds = 0;
    let mask = order.spec.mask();
    let [waker, home] = [sim.placement()[0], sim.placement()[1]];
    while sim.elapsed() < order.span || rounds < MIN_ROUNDS {
        let gap_ns = gap_ns * (1.0 + GAP_JITTER * (2.0 * sim.unit() - 1.0));
        let waiter = mask.as_ref().map_or(home, |mask| wake::placed(sim, mask, waker));
        let event = wake::perform(sim, cost, gap_ns, [waker, waiter]);
        if mask.is_some() && rounds > 0 {
            tallies.place(RanOn::from_cpus(sim.topology(), waker, waiter));
        }
        let clock_ns = sim.clock_ns();
        let wake_ticks = sim.ticks(event.wake_ns + clock_ns);
        let waker_ticks = sim.ticks(event.waker_ns + clock_ns);
        tallies.count(wake_ticks, waker_ticks, event.slept, rounds == 0);
        rounds += 1;
    }
    let possible = mask.map_or([false; 4], |mask| RanOn::possible(sim.topology(), &mask));
    tallies.observed(sim.rate(), possible)
}

fn priced_crowd(sim: &mut dyn SimContext<'_>, order: &TrialOrder<'_>, gap_ns: f64) -> Observed {
    let [mut first, mut last, mut waker] = [TickHistogram::new(), TickHistogram::new(), TickHistogram::new()];
    while sim.elapsed() < order.span || last.is_empty() {
        sim.pass(gap_ns);
        let all_ns = wake::price_all(sim, &PrimitiveKind::CondvarAll.cost(), gap_ns);
        let clock_ns = sim.clock_ns();
        for (tally, ns) in [(&mut first, all_ns[0]), (&mut last, all_ns[1]), (&mut waker, all_ns[2])] {
            let event = sim.event(ns) + clock_ns;
            tally.count(sim.ticks(event));
        }
        sim.pass(all_ns[1]);
    }
    let mut observed = Observed::default();
    observed.count("samples", last.len());
    for (name, tally) in [(names::FIRST_OF_ALL, first), (names::LAST_OF_ALL, last), (names::WAKER, waker)] {
        observed.histogram(name, tally.histogram(sim.rate()));
    }
    observed
}

fn priced_sleeps(sim: &mut dyn SimContext<'_>, order: &TrialOrder<'_>) -> Observed {
    let mut tally = TickHistogram::new();
    while sim.elapsed() < order.span || tally.is_empty() {
        let late_ns = sim.costs().syscall_ns + sim.costs().wake_ns + sim.idle_exit_ns(SLEEP_NS as f64);
        let late_ns = sim.event(late_ns);
        let held_ns = sim.pass(SLEEP_NS as f64 + late_ns);
        let clock_ns = sim.clock_ns();
        tally.count(sim.ticks(late_ns + held_ns + clock_ns));
    }
    let mut observed = Observed::default();
    observed.count("samples", tally.len());
    observed.histogram(names::SLEPT, tally.histogram(sim.rate()));
    observed
}
