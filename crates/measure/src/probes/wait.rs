//! `wait`: the cost of strategies for waiting for another thread.

#[cfg(all(target_os = "linux", not(miri)))]
mod exchange;
#[cfg(all(target_os = "linux", not(miri)))]
mod perform;
mod runtime;
mod stand_ins;
#[cfg(all(target_os = "linux", not(miri)))]
mod tasks;
pub mod trials;

use crate::adapters::pass::AdapterPass;
use crate::adapters::protocol::RuntimeWork;
use crate::pricing::{Arch, SimContext};
use crate::series::{RequestError, SeriesProbe, SeriesRequest, TrialOrder, per_pass};
use crate::sim::wait::{self, WaitCost};
use crate::stand_in::SimStandIn;
use crate::strategies::catalogue::StrategyKind;
use crate::strategies::instructions::Instruction;
use crate::tick_histogram::TickHistogram;
#[cfg(all(target_os = "linux", not(miri)))]
use crate::trial_context::TrialContext;
use coretalk_model::probes::{LegendEntry, ProbeDeclaration, wait::DECLARATION};
use coretalk_model::series::{Observed, Parameters, TrialSpec};
use coretalk_model::wait::names;
use coretalk_model::{Environment, Flags, TrialFailure};
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) use perform::loops;
use trials::{Mode, WaitTrial};

/// The `wait` probe.
#[derive(Debug, Clone, Copy)]
pub struct Wait;

impl SeriesProbe for Wait {
    fn declaration(&self) -> &'static ProbeDeclaration {
        &DECLARATION
    }

    fn trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        trials::trials(request)
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn lacks(&self, spec: &TrialSpec) -> Option<String> {
        let lack = |strategy: StrategyKind| {
            let lack = crate::strategies::instructions::lack(strategy.instruction()?)?;
            Some(format!("`{strategy}` cannot be measured: {lack}"))
        };
        WaitTrial::from_spec(spec).ok()?.strategies().find_map(lack)
    }

    fn lacks_simulated(&self, spec: &TrialSpec, arch: Arch) -> Option<String> {
        let lack = |strategy: StrategyKind| {
            let instruction = strategy.instruction()?;
            let has_instruction = (instruction == Instruction::Wfe) == (arch == Arch::Arm);
            let [name, feature] = instruction.names();
            let lack = format!("`{strategy}` cannot be measured: the simulated CPU lacks {feature} ({name})");
            (!has_instruction).then_some(lack)
        };
        WaitTrial::from_spec(spec).ok()?.strategies().find_map(lack)
    }

    fn distributions(&self, spec: &TrialSpec) -> usize {
        match Mode::from_spec(spec) {
            Ok(Mode::Timed | Mode::Clock) => 1,
            Ok(Mode::Alternate) => 2,
            Ok(Mode::NoClock | Mode::Cost | Mode::Sibling) | Err(_) => 0,
        }
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn perform(&self, context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
        perform::perform(context, order)
    }

    fn simulate(
        &self,
        sim: &mut dyn SimContext<'_>,
        order: &TrialOrder<'_>,
    ) -> Result<Observed, TrialFailure> {
        simulate(sim, order)
    }

    fn variants(&self) -> Vec<(String, String)> {
        let runtime_strategies =
            ("RUNTIME:NAME".to_owned(), "a way of waiting of a runtime in another language".to_owned());
        crate::strategies::catalogue::every().into_iter().chain([runtime_strategies]).collect()
    }

    fn runtime_work(&self, spec: &TrialSpec, options: &Parameters) -> Result<RuntimeWork, RequestError> {
        runtime::work(spec, options)
    }

    fn runtime_result(&self, spec: &TrialSpec, pass: &AdapterPass) -> Observed {
        runtime::result(spec, pass)
    }

    fn stand_ins(&self) -> &'static [SimStandIn] {
        stand_ins::STAND_INS
    }

    fn legend(&self, trials: &[&TrialSpec], _environment: &Environment) -> Vec<LegendEntry> {
        let strategies = trials
            .iter()
            .filter_map(|spec| WaitTrial::from_spec(spec).ok())
            .flat_map(|trial| trial.strategies());
        strategies
            .map(|strategy| {
                let (words, number) = strategy.mechanism();
                (strategy.to_string(), words, number)
            })
            .collect()
    }
}

fn flags(trial: &WaitTrial, shared: bool, guest: bool) -> Flags {
    let mut flags = Flags::NONE;
    if shared && trial.strategies().any(StrategyKind::keeps_cpu) {
        flags.set(coretalk_model::Flag::SharedSpin);
    }
    if guest && trial.strategies().any(StrategyKind::hints) {
        flags.set(coretalk_model::Flag::PauseExits);
    }
    flags
}

/// Simulated round trips per pass. A real machine performs millions, which would add no information here.
const TRIPS: u64 = 4_000;
const MAX_TRIPS: u64 = 50_000;
/// Batches of calls, or pieces of work, per pass.
const BATCHES: f64 = 256.0;
/// Cost of counting in the loop, in addition to the trip and two pairs of clock reads.
pub const RECORDING_NS: f64 = 5.0;

/// Prices one pass.
pub fn simulate(sim: &mut dyn SimContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
    let trial = WaitTrial::from_spec(order.spec)?;
    let shared = matches!(sim.placement(), [a, b] if a == b);
    let cost = |strategy: Option<StrategyKind>| {
        strategy
            .map(StrategyKind::cost)
            .ok_or_else(|| TrialFailure::from_reason("a trial without a strategy"))
    };
    let mut observed = match trial.mode {
        Mode::Clock => clock(sim),
        Mode::Cost => call(sim, &cost(trial.sides[0])?),
        Mode::Sibling => sibling(sim, &cost(trial.sides[0])?),
        Mode::Timed | Mode::NoClock | Mode::Alternate => {
            let costs = [cost(trial.sides[0])?, cost(trial.sides[1])?];
            trips(sim, order, trial.mode, &costs)
        }
    };
    observed.flags = observed.flags.union(flags(&trial, shared, sim.is_guest()));
    Ok(observed)
}

fn trips(
    sim: &mut dyn SimContext<'_>,
    order: &TrialOrder<'_>,
    mode: Mode,
    costs: &[WaitCost; 2],
) -> Observed {
    let busy = StrategyKind::BUSY.cost();
    let strategy_trip = wait::expected_trip(sim, [&costs[0], &costs[1]]);
    // For `alternate`: the trip without the strategy on both sides.
    let busy_trip = wait::expected_trip(sim, [&busy, &busy]);
    let histogram_names: &[&str] = match mode {
        Mode::Alternate => &[names::HINT, names::PLAIN],
        Mode::NoClock => &[],
        _ => &[names::TRIP],
    };
    let mut tallies: Vec<TickHistogram> = histogram_names.iter().map(|_| TickHistogram::new()).collect();
    let most = per_pass(order.options, "samples", 1).unwrap_or(TRIPS).clamp(1, MAX_TRIPS);
    let (mut trips, mut all_ns, mut cpu_ns, mut slept, mut spins) = (0u64, 0.0, 0.0, 0.0, 0.0);
    while trips < most && sim.elapsed() < order.span {
        let trip = if mode == Mode::Alternate && trips % 2 == 1 { &busy_trip } else { &strategy_trip };
        let ns = wait::perform(sim, trip);
        let mut loop_ns = ns;
        if !tallies.is_empty() {
            let clock_ns = sim.clock_ns();
            let ticks = sim.ticks(ns + clock_ns);
            let view = trips as usize % tallies.len();
            tallies[view].count(ticks);
            // The second pair of reads, and the recording.
            loop_ns += 2.0 * clock_ns + RECORDING_NS;
            sim.pass(loop_ns - ns);
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
    let (rate, clock_ns) = (sim.rate(), sim.clock_ns());
    let mut every = TickHistogram::new();
    for (view, tally) in histogram_names.iter().zip(&tallies) {
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

fn clock(sim: &mut dyn SimContext<'_>) -> Observed {
    let mut tally = TickHistogram::new();
    for _ in 0..TRIPS {
        let clock_ns = sim.clock_ns();
        sim.pass(clock_ns);
        tally.count(sim.ticks(clock_ns));
    }
    let mut observed = Observed::default();
    observed.count(names::SAMPLES, tally.len());
    observed.histogram(names::CLOCK, tally.histogram(sim.rate()));
    if let Some(mean_ns) = tally.mean_ns(sim.rate()) {
        observed.value(names::MEAN_NS, mean_ns);
    }
    observed
}

fn mean(sim: &mut dyn SimContext<'_>, ns: f64) -> f64 {
    (0..BATCHES as u32).map(|_| sim.event(ns)).sum::<f64>() / BATCHES
}

fn call(sim: &mut dyn SimContext<'_>, cost: &WaitCost) -> Observed {
    let call_ns = wait::act_ns(sim, cost);
    let call_ns = mean(sim, call_ns);
    sim.pass(call_ns * TRIPS as f64);
    let mut observed = Observed::default();
    observed.value(names::CALL_NS, call_ns);
    observed.value(names::CALL_CYCLES, call_ns / sim.cycle_ns(sim.placement()[0]));
    observed.count(names::SAMPLES, TRIPS);
    observed
}

fn sibling(sim: &mut dyn SimContext<'_>, cost: &WaitCost) -> Observed {
    let slowdown = wait::slowdown(sim, cost);
    let work_ns = 30_000.0;
    let alone_ns = mean(sim, work_ns);
    let slowed_ns = mean(sim, work_ns * slowdown);
    sim.pass((alone_ns + slowed_ns) * BATCHES);
    let mut observed = Observed::default();
    observed.value(names::SLOWDOWN, slowed_ns / alone_ns);
    observed.count(names::SAMPLES, BATCHES as u64);
    observed
}
