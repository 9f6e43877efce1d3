//! [`SimMachine`]: a machine that prices kernels instead of running them. It replaces hardware that is unavailable, or
//! where the truth must be known for tests of statistics.
//!
//! Time is virtual, and nothing sleeps. Every random value is a hash of one of three: the hardware seed of the
//! scenario; the seed of the run with the key of the trial, its span, line and batch; a point of virtual time. Rounds
//! are computed one after another, because the state of the machine depends on when a round begins. The independent
//! trials of a round are spread over threads. Neither the number of threads nor the division of rounds into batches
//! changes a result.

mod builtin;
mod clock;
pub mod contend;
mod environment;
mod external;
mod names;
mod noise;
mod place;
mod rng;
mod scenario;
mod sim_state;
pub mod slim;
pub mod spawn;
mod spec;
mod stage;
mod stalls;
pub mod stream;
mod structure;
mod trial;
mod true_costs;
mod validate;
pub mod wait;
pub mod wake;

pub use noise::Contamination;
pub use scenario::{Scenario, ScenarioError};
pub use stage::SimPass;

use crate::kernel::{Cost, Kernel};
use crate::machine::{
    Allowance, Assignment, BUSY_SHARE, Granted, HomeChoice, Machine, MachineError, Round, RoundOutcome,
    WorkerSettings, fine_enough,
};
use crate::series::{SeriesProbe, TrialOrder};
use crate::stop::Stop;
use crate::work::{Work, WorkOrder};
use coretalk_model::place::{Binding, Workload, cores_first};
use coretalk_model::selection::CpuUse;
use coretalk_model::series::{PassOutcome, TrialSpec};
use coretalk_model::{
    CpuId, CpuSet, DoctorFinding, Environment, Home, LossReason, Picos, Recording, TickRate, Topology,
    TrialFailure,
};
use sim_state::SimState;
use std::io;
use std::num::NonZeroUsize;

/// Minimum samples per thread: about 200 µs of work. The start of a thread takes 20 to 50 µs.
const SAMPLES_PER_THREAD: u64 = 40_000;
/// Interval at which the simulated monitor of a program polls whether its CPUs are online.
const POLL_INTERVAL: Picos = Picos::from_ms(100);

/// A simulated machine.
///
/// ```
/// # use coretalk_measure::{Machine, sim::{Scenario, SimMachine}};
/// let machine = SimMachine::open(Scenario::builtin("chiplet-16").unwrap(), 1);
/// assert_eq!(machine.topology().cpus().len(), 16);
/// ```
#[derive(Debug)]
pub struct SimMachine {
    sim: SimState,
    reported: Topology,
    allowance: Allowance,
    environment: Environment,
    now: Picos,
    deadline: Option<Picos>,
    threads: usize,
    /// CPUs for which workers were requested, also those that refused.
    requested: CpuSet,
    spare: Vec<Recording>,
}

impl SimMachine {
    /// Opens the machine of a scenario. `seed` drives the run. The hardware has its own seed in the scenario.
    pub fn open(scenario: Scenario, seed: u64) -> SimMachine {
        let spec = scenario.spec;
        let topology = spec.structure.topology();
        let reported = spec.structure.reported(spec.reported);
        let cpus = topology.cpus().clone();
        let allowed = spec.allowance.clone().unwrap_or_default();
        let cpuset = allowed.cpuset.map_or_else(|| cpus.clone(), CpuSet::from);
        let is_off = |away: &&spec::Away| away.at_ms == 0 && away.why == LossReason::Offline;
        let offline = spec.failures.departures.iter().filter(is_off).map(|away| away.cpu).collect();
        let mask = allowed.mask.map_or_else(|| cpuset.difference(&allowed.isolated), CpuSet::from);
        let allowance = Allowance { mask: mask.difference(&offline), cpuset, offline };
        let environment = environment::environment(&spec);
        let sim = SimState {
            true_costs: true_costs::TrueCosts::new(&spec, topology, &reported),
            states: sim_state::StateLine::new(spec.states.clone(), seed),
            clocks: clock::CoreClocks::new(&spec.core_clock, seed),
            counter: clock::SimCounter::new(&spec.counter),
            workers: CpuSet::new(),
            seed,
            spec,
        };
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        SimMachine {
            sim,
            reported,
            allowance,
            environment,
            now: Picos::ZERO,
            deadline: None,
            threads,
            requested: CpuSet::new(),
            spare: Vec::new(),
        }
    }

    /// Sets the number of simulation threads (at least one). Results do not depend on it.
    pub fn with_threads(mut self, threads: usize) -> SimMachine {
        self.threads = threads.max(1);
        self
    }

    /// The true latency in ns: half a round trip, or one read, or one message, with the lines on this node. It is the
    /// mean over lines, at nominal clocks, without noise, in the initial state.
    ///
    /// # Panics
    /// If the machine has no such CPU.
    pub fn true_ns(&self, a: CpuId, b: CpuId, kernel: &Kernel, home: Home) -> f64 {
        self.true_ns_in(0, a, b, kernel, home)
    }

    /// The [`true_ns`](SimMachine::true_ns) in one of the [`states`](SimMachine::states).
    ///
    /// # Panics
    /// If the machine has no such CPU or state.
    pub fn true_ns_in(&self, state: usize, a: CpuId, b: CpuId, kernel: &Kernel, home: Home) -> f64 {
        let operation_ns = self.sim.operation_ns(&self.sim.true_costs.pair(a, b), kernel, home, state);
        match kernel.cost {
            Cost::PingPong { .. } => operation_ns / 2.0,
            Cost::Chase { .. } | Cost::Stamp { .. } => operation_ns,
        }
    }

    /// The true factors of the 16 slices of a pair and home, with mean 1. Estimators other than the mean aim at them.
    pub fn slices(&self, a: CpuId, b: CpuId, home: Home) -> [f64; 16] {
        self.sim.true_costs.slices(a, b, home, 1.0)
    }

    /// A stage for series trials whose prices are the true costs: no noise or stalls, nominal clocks, first state.
    pub fn bare_stage<'a>(&'a self, placement: &'a [CpuId]) -> SimPass<'a> {
        SimPass::bare(&self.sim, placement)
    }

    /// The true headline of a workload on these CPUs in role order, without noise, at nominal clocks, in the first
    /// state; `None` without a simulated pattern.
    pub fn true_headline(&self, workload: Workload, cpus: &[CpuId], threads: usize) -> Option<f64> {
        place::true_headline(&self.sim, workload, cpus, threads)
    }

    /// The names of the states between which the machine moves. Empty if there is only one.
    pub fn states(&self) -> Vec<&str> {
        self.sim.spec.states.iter().map(|state| state.name.as_str()).collect()
    }

    /// Whether other programs sometimes run on siblings and slow the CPUs down. This does not depend on the state.
    pub fn has_busy_neighbours(&self) -> bool {
        self.sim.spec.noise.sibling_share > 0.0
    }

    /// The state at a time, as an index into [`states`](SimMachine::states); 0 if there is only one.
    pub fn state_at(&self, time: Picos) -> usize {
        self.sim.states.at(time).state
    }

    /// The contamination of an assignment, if any. A repetition is clean. The detection of suspects has to find it.
    pub fn contamination(&self, assignment: &Assignment) -> Option<Contamination> {
        self.sim.contamination(assignment)
    }

    /// Advances time up to the deadline. Returns whether the whole time passed.
    fn advance(&mut self, elapsed: Picos) -> bool {
        let end = self.now + elapsed;
        let in_time = self.deadline.is_none_or(|deadline| end <= deadline);
        self.now = if in_time { end } else { self.now.max(self.deadline.unwrap_or(end)) };
        in_time
    }

    fn check(&self, round: &Round) -> Result<(), MachineError> {
        let fail = |reason| Err(MachineError::Scenario { scenario: self.sim.spec.name.clone(), reason });
        let mut used = CpuSet::new();
        for assignment in &round.assignments {
            if let Some(cpu) = assignment.placement.iter().find(|&&cpu| !used.insert(cpu)) {
                return fail(format!("CPU {cpu} is used twice in one round"));
            }
            for order in assignment.orders.iter() {
                if self.sim.home(order.home, &assignment.placement).is_none() {
                    let (node, reason) = match order.home {
                        HomeChoice::Node(home) => (home.0, "the machine has no such node".to_owned()),
                        HomeChoice::OfRole(role) => (0, format!("the trial has no role {role}")),
                    };
                    return Err(MachineError::Memory { node, reason });
                }
            }
        }
        Ok(())
    }

    fn perform_round(&self, round: &Round, stop: &Stop, spare: &mut Vec<Recording>) -> RoundOutcome {
        let active = round.assignments.len();
        let samples: u64 =
            round.assignments.iter().flat_map(|trial| trial.orders.iter()).map(|order| order.samples()).sum();
        let worth = usize::try_from(samples / SAMPLES_PER_THREAD).unwrap_or(usize::MAX);
        let threads = self.threads.min(worth).min(active).max(1);
        let perform = |part: &[Assignment], spare: &mut Vec<Recording>| {
            let mut elapsed = Picos::ZERO;
            let perform = |trial| {
                let performed = trial::perform(&self.sim, trial, self.now, active, stop, spare.pop());
                elapsed = elapsed.max(performed.elapsed);
                performed.outcome
            };
            let outcomes: Vec<Result<Recording, TrialFailure>> = part.iter().map(perform).collect();
            (outcomes, elapsed)
        };
        let (trials, elapsed) = if threads == 1 {
            perform(&round.assignments, spare)
        } else {
            let perform = |part: &[Assignment]| perform(part, &mut Vec::new());
            let parts = round.assignments.chunks(active.div_ceil(threads));
            std::thread::scope(|scope| {
                let spawn = |part| std::thread::Builder::new().spawn_scoped(scope, move || perform(part));
                let running: Vec<_> = parts.map(|part| spawn(part).map_err(|_| part)).collect();
                let join = |begun: Result<std::thread::ScopedJoinHandle<'_, _>, &[Assignment]>| match begun {
                    // A thread that cannot be started is no loss, since results do not depend on the number of threads.
                    Err(part) => perform(part),
                    Ok(thread) => match thread.join() {
                        Ok(performed) => performed,
                        Err(panic) => std::panic::resume_unwind(panic),
                    },
                };
                let (parts, elapsed): (Vec<_>, Vec<Picos>) = running.into_iter().map(join).unzip();
                (parts.into_iter().flatten().collect(), elapsed.into_iter().max().unwrap_or_default())
            })
        };
        RoundOutcome { started: self.now, elapsed, trials }
    }
}

impl Machine for SimMachine {
    fn topology(&self) -> &Topology {
        &self.reported
    }

    fn allowance(&self) -> &Allowance {
        &self.allowance
    }

    fn environment(&self) -> &Environment {
        &self.environment
    }

    fn examine(&mut self, _cpus: &CpuSet, _budget: Option<Picos>) -> Vec<DoctorFinding> {
        environment::findings(&self.sim.spec, &self.reported)
    }

    fn sample_use(&mut self, known: Option<CpuUse>) {
        let before = known.or(self.environment.cpu_use.take());
        let fresh = || environment::use_of_cpus(&self.sim.spec, self.reported.cpus());
        self.environment.cpu_use = Some(before.unwrap_or_else(fresh));
    }

    fn rate(&self) -> TickRate {
        self.sim.counter.rate()
    }

    fn now(&self) -> Picos {
        self.now
    }

    fn pause(&mut self, span: Picos, stop: &Stop) {
        if !stop.is_raised() {
            self.now += span;
        }
    }

    fn engage(&mut self, settings: &WorkerSettings) -> Result<Granted, MachineError> {
        let counter = &self.sim.spec.counter;
        let step_ns = f64::from(counter.step_ticks) / counter.hz * 1e9;
        fine_enough(step_ns).map_err(|reason| MachineError::Clock { reason })?;
        let failures = &self.sim.spec.failures;
        let takes = |cpu: &CpuId| {
            self.allowance.cpuset.contains(*cpu)
                && !failures.refuse_pin.contains(*cpu)
                && self.sim.away(*cpu, self.now).is_none()
        };
        let taken: CpuSet = settings.cpus.iter().copied().filter(takes).collect();
        if let (true, Some(&cpu)) = (taken.is_empty(), settings.cpus.first()) {
            let source = io::Error::from(io::ErrorKind::InvalidInput);
            return Err(MachineError::Pin { cpu, allowed: self.allowance.cpuset.clone(), source });
        }
        let priority = match (settings.realtime, settings.nice) {
            (Some(level), _) => format!("fifo {level}"),
            (None, nice) => format!("nice {}", nice.unwrap_or(-20)),
        };
        if failures.refuse_priority && (settings.realtime.is_some() || settings.nice.is_some()) {
            let reason = "the scenario refuses it, as a system without the right does".to_owned();
            return Err(MachineError::Priority { priority, reason });
        }
        let priority = if failures.refuse_priority { "normal".to_owned() } else { priority };
        self.sim.workers = taken;
        self.requested = settings.cpus.iter().copied().collect();
        self.environment.priority = Some(priority.clone());
        // The coordinating thread runs on the simulating computer, never on a simulated CPU.
        Ok(Granted { priority, coordinator_apart: true })
    }

    fn end_by(&mut self, deadline: Option<Picos>) {
        self.deadline = deadline;
    }

    fn perform_each(
        &mut self,
        batch: &[Round],
        stop: &Stop,
        take: &mut dyn FnMut(RoundOutcome) -> Vec<Recording>,
    ) -> Result<(), MachineError> {
        // Checked before anything runs, so that an invalid request does not cost the earlier rounds.
        batch.iter().try_for_each(|round| self.check(round))?;
        let mut spare = std::mem::take(&mut self.spare);
        for round in batch {
            let stop_at = self.sim.spec.failures.stop_at_ms.map(|ms| Picos::from_ms(u64::from(ms)));
            if stop_at.is_some_and(|at| self.now >= at) {
                stop.raise();
            }
            if stop.is_raised() {
                break;
            }
            let outcome = self.perform_round(round, stop, &mut spare);
            if !self.advance(outcome.elapsed) {
                break;
            }
            spare.extend(take(outcome));
        }
        self.spare = spare;
        self.environment.throttled = Some(self.sim.throttled(self.now));
        Ok(())
    }

    fn absent(&self, cpus: &CpuSet) -> Vec<(CpuId, LossReason)> {
        let refuses = |cpu| self.requested.contains(cpu) && !self.sim.workers.contains(cpu);
        let why = |cpu| {
            let away = self.sim.away(cpu, self.now);
            let outside = Some(LossReason::Cpuset).filter(|_| !self.allowance.cpuset.contains(cpu));
            away.or(outside).or(Some(LossReason::PinRefused).filter(|_| refuses(cpu)))
        };
        cpus.iter().filter_map(|cpu| Some((cpu, why(cpu)?))).collect()
    }

    fn has_worker(&self, cpu: CpuId) -> bool {
        self.sim.workers.contains(cpu)
    }

    fn lacks(&self, probe: &dyn SeriesProbe, spec: &TrialSpec) -> Option<String> {
        external::lack(probe, spec, self.sim.spec.arch)
    }

    fn perform_trial(&mut self, order: &TrialOrder<'_>, stop: &Stop) -> Result<PassOutcome, TrialFailure> {
        self.perform_trials(&[*order], stop).remove(0)
    }

    fn perform_trials(
        &mut self,
        orders: &[TrialOrder<'_>],
        stop: &Stop,
    ) -> Vec<Result<PassOutcome, TrialFailure>> {
        let stop_at = self.sim.spec.failures.stop_at_ms.map(|ms| Picos::from_ms(u64::from(ms)));
        if stop_at.is_some_and(|at| self.now >= at) {
            stop.raise();
        }
        if stop.is_raised() {
            return vec![Err(TrialFailure::Interrupted); orders.len()];
        }
        let perform = |order: &TrialOrder<'_>| stage::perform(&self.sim, order, self.now, orders.len());
        let performed: Vec<_> = orders.iter().map(perform).collect();
        let began = self.now;
        self.advance(performed.iter().map(|(_, elapsed)| *elapsed).max().unwrap_or_default());
        self.environment.throttled = Some(self.sim.throttled(self.now));
        let in_time = |elapsed: Picos| self.deadline.is_none_or(|deadline| began + elapsed <= deadline);
        let ended =
            |(outcome, elapsed)| if in_time(elapsed) { outcome } else { Err(TrialFailure::Interrupted) };
        performed.into_iter().map(ended).collect()
    }

    fn refuses(&self, work: &Work) -> Option<String> {
        let name = &self.sim.spec.name;
        match work {
            Work::Command(_) => Some(format!(
                "a simulated machine ({name}) cannot run a command; drop --machine to run it on this machine"
            )),
            Work::Workload(workload) if !place::has_pattern(workload.kind) => Some(format!(
                "the workload {workload} needs processes and files, which a simulated machine ({name}) does not model; it models every workload except execl, process and shell"
            )),
            Work::Workload(_) => None,
        }
    }

    fn perform_work(&mut self, order: &WorkOrder<'_>, stop: &Stop) -> Result<PassOutcome, TrialFailure> {
        let stop_at = self.sim.spec.failures.stop_at_ms.map(|ms| Picos::from_ms(u64::from(ms)));
        if stop_at.is_some_and(|at| self.now >= at) {
            stop.raise();
        }
        if stop.is_raised() {
            return Err(TrialFailure::Interrupted);
        }
        let started = self.now;
        // A scheduler that is free to choose fills idle cores before two threads share a core.
        let cpus = &match order.placement.binding {
            Binding::Bound => order.placement.cpus.clone(),
            Binding::Free => cores_first(self.topology(), &order.placement.set()),
        };
        let done = match order.work {
            Work::Command(_) => None,
            Work::Workload(workload) => {
                place::perform(&self.sim, *workload, cpus, order.threads, order.key, started)
            }
        };
        let Some((mut observed, elapsed)) = done else {
            let reason = self.refuses(order.work).unwrap_or_else(|| "it needs more threads".to_owned());
            return Err(TrialFailure::from_reason(reason));
        };
        if let Some((cpu, at)) = self.sim.first_away(cpus, started, started + elapsed) {
            // The monitor polls at intervals. The CPU may be back by then, but the result is invalid.
            self.now = (at + POLL_INTERVAL).min(started + elapsed);
            return Err(TrialFailure::CpuLost { cpu });
        }
        self.now += elapsed;
        self.environment.throttled = Some(self.sim.throttled(self.now));
        let quota = self.sim.is_stopped_between(started, self.now);
        if let Some(&cpu) = cpus.first() {
            let fast = self.sim.true_costs.is_fast(cpu);
            observed.value("core_ghz", f64::from(self.sim.clocks.probed_ghz(cpu, fast, self.now)));
        }
        Ok(PassOutcome { started, elapsed, observed, quota, ..PassOutcome::default() })
    }

    fn is_busy(&self) -> Option<bool> {
        let failures = &self.sim.spec.failures;
        Some(failures.busy || failures.others > BUSY_SHARE)
    }
}
