//! [`HostMachine`]: the `Machine` that this process runs on.

use super::affinity;
use super::arena::Arena;
use super::clock::offset::{CpuTracker, Limits, Offset};
use super::clock::{ClockReport, offset, sources};
use super::command::counters::hardware_refusal;
use super::command::watchdog::Watchdog;
use super::engine::{Engine, nodes_of};
use super::evidence::{self, Others, QuotaWatch};
use super::executor::TrialRunner;
use super::memory::{REGION_BYTES, Region, Residence};
use super::priority::Priority;
use super::surroundings;
use super::work::Runner;
use super::worker::Worker;
use super::workers::{CoordinatorMask, Workers};
use crate::adapters::catalogue::AdapterSpec;
use crate::adapters::pass::RoleAccount;
use crate::adapters::runtimes::{Preparation, PreparedAdapter, Runtimes};
use crate::machine::{
    Allowance, BUSY_SHARE, Granted, Machine, MachineError, Round, RoundOutcome, WorkerSettings,
};
use crate::room;
use crate::series::{SeriesProbe, TrialOrder};
use crate::stop::Stop;
use crate::work::WorkOrder;
use coretalk_model::environment::BuildFacts;
use coretalk_model::external::External;
use coretalk_model::selection::CpuUse;
use coretalk_model::series::{PassOutcome, RoleEvidence, TrialSpec};
use coretalk_model::{
    CpuId, CpuSet, DoctorFinding, Environment, Level, LossReason, Picos, Recording, TickRate, Topology,
    TrialFailure,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

const CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum time of an examination for comparing the counters of CPUs.
const MAX_EXAMINATION: Duration = Duration::from_secs(3);
/// Maximum share of the budget for the comparison of counters: one part in this many.
const MAX_EXAMINATION_SHARE: u64 = 20;

/// Maximum time for comparing counters, and for observing other programs, before a run with this budget.
pub(super) fn examined(budget: Option<Picos>) -> Duration {
    budget.map_or(MAX_EXAMINATION, |budget| {
        MAX_EXAMINATION.min(Picos(budget.0 / MAX_EXAMINATION_SHARE).duration())
    })
}

/// The real machine.
#[derive(Debug)]
pub struct HostMachine {
    topology: Topology,
    allowance: Allowance,
    environment: Environment,
    clock: ClockReport,
    opened: Picos,
    // Dropped in this order: workers, the memory that they write to, then the coordinator's mask.
    workers: Option<Workers>,
    arena: Arena,
    coordinator_mask: Option<CoordinatorMask>,
    /// Last settings of the workers. Threads of trials ask for the same priority.
    worker_settings: WorkerSettings,
    others: Others,
    quota: QuotaWatch,
    /// Kills leftover processes if this process is killed. It starts with the first program.
    watchdog: Option<Option<Watchdog>>,
    runtimes: Runtimes,
    preparing: Picos,
    deadline: Option<Instant>,
    /// CPUs that were offline while work ran, each with the time of its loss on the system clock.
    missed: BTreeMap<CpuId, Picos>,
}

impl HostMachine {
    /// Reads the system's description and calibrates the counter. Takes 50 to 200 ms. Fails if threads cannot be
    /// pinned, the counter is unusable or a system file is invalid.
    pub fn open() -> Result<HostMachine, MachineError> {
        let opened = sources::monotonic();
        let (topology, allowance) = surroundings::read()?;
        let clock = on_one_cpu(ClockReport::measure)?.map_err(|reason| MachineError::Clock { reason })?;
        let environment = Environment { clock: clock.facts(), ..surroundings::environment() };
        let arena = Arena::new(surroundings::line_bytes());
        Ok(HostMachine {
            topology,
            allowance,
            environment,
            clock,
            opened,
            workers: None,
            arena,
            coordinator_mask: None,
            worker_settings: WorkerSettings::default(),
            others: Others::default(),
            quota: QuotaWatch::begin(),
            watchdog: None,
            runtimes: Runtimes::default(),
            preparing: Picos::ZERO,
            deadline: None,
            missed: BTreeMap::new(),
        })
    }

    /// All checks of `doctor` that are possible although [`open`](HostMachine::open) failed with `error`.
    pub fn examine_closed(error: &MachineError) -> Vec<DoctorFinding> {
        match error {
            MachineError::NoPinning { reason } => {
                surroundings::examine(Err(reason), None, None, MAX_EXAMINATION)
            }
            MachineError::Clock { reason } => {
                surroundings::examine(Ok(()), Some(Err(&reason.to_string())), None, MAX_EXAMINATION)
            }
            _ => surroundings::examine(Ok(()), None, None, MAX_EXAMINATION),
        }
    }

    /// Topology and allowed CPUs as the system reports them. Works where [`open`](HostMachine::open) fails, but fails
    /// with [`MachineError::System`] for invalid system files.
    pub fn reported() -> Result<(Topology, Allowance), MachineError> {
        surroundings::read()
    }

    /// Adds the facts of the program's build to the environment.
    pub fn measured_by(mut self, build: BuildFacts) -> HostMachine {
        self.environment.build_facts = Some(build);
        self
    }

    /// Properties of the counter. [`measure_offsets`](HostMachine::measure_offsets) adds the offsets between CPUs.
    pub fn clock(&self) -> &ClockReport {
        &self.clock
    }

    /// Measures the counter offsets of CPU pairs, about a millisecond each, in order until `end`. Skips pairs with a
    /// CPU that refuses a thread or does not answer. Notes CPUs that go offline.
    ///
    /// Each pair has a share of the time. An emulated CPU would take half a second, a CPU shared with other programs
    /// many seconds.
    pub fn measure_offsets(&mut self, pairs: &[(CpuId, CpuId)], end: Instant, stop: &Stop) -> &ClockReport {
        // A reading is uncertain by one step of the counter. With steps of 1 µs most exchanges seem to take no time.
        let step = self.clock.step_ticks as f64;
        let blurred = |it: Offset| Offset { bound_ticks: it.bound_ticks + step, ..it };
        let requested: Vec<_> = pairs.iter().filter(|(from, to)| from != to).collect();
        let (began, mut tracker) = (Instant::now(), CpuTracker::default());
        let after = || Picos::from_secs(began.elapsed().as_secs_f64());
        let absence = |cpu| surroundings::Present::now().absence(cpu);
        self.clock.offsets.clear();
        for (number, &&(from, to)) in requested.iter().enumerate() {
            let now = Instant::now();
            if stop.is_raised() || now >= end {
                break;
            }
            if tracker.misses(&[from, to], after(), &absence) {
                continue;
            }
            let limits = Limits::of_next(requested.len() - number, now, end);
            let measured = offset::measure(from, to, limits);
            tracker.note([from, to], &measured, after(), &absence);
            self.clock.offsets.extend(measured.map(blurred).ok());
        }
        // CPUs lost during or after their last pair.
        let all: CpuSet = requested.iter().flat_map(|pair| [pair.0, pair.1]).collect();
        tracker.misses(&all.iter().collect::<Vec<_>>(), after(), &absence);
        self.clock.departed = tracker.end();
        &self.clock
    }

    /// Location of the measured memory by node; empty before [`engage`](Machine::engage).
    pub fn residence(&self) -> Vec<(u32, Residence)> {
        self.arena.regions().map(|region| (region.node(), region.residence())).collect()
    }

    /// Thread ids of the workers, for external tools.
    pub fn threads(&self) -> Vec<i32> {
        let Some(workers) = &self.workers else { return Vec::new() };
        workers.cpus().iter().filter_map(|cpu| workers.worker(cpu)).map(Worker::number).collect()
    }

    fn trial_runner(&self, trials: usize) -> TrialRunner<'_> {
        TrialRunner {
            topology: self.topology(),
            rate: self.clock.rate,
            clock_ns: self.clock.rate.ns(self.clock.cost_ticks as f64),
            // This priority was granted with the workers. If it is no longer valid, threads take the best available.
            priority: Priority::from_settings(&self.worker_settings, &self.usable())
                .unwrap_or(Priority::Best),
            guest: self.environment.hypervisor.is_some(),
            opened: self.opened,
            coordinator_shared: self.coordinator_mask.is_none(),
            others: trials.saturating_sub(1) as u32,
        }
    }

    fn perform_external(
        &mut self,
        external: &External,
        order: &TrialOrder<'_>,
        stop: &Stop,
    ) -> Result<PassOutcome, TrialFailure> {
        let before = evidence::cpu_times();
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let pass = self.runtimes.perform(external, order, left.unwrap_or(Duration::MAX), stop)?;
        let spent = before.and_then(|before| Some(evidence::cpu_times()?.since(&before)));
        let stolen = spent.and_then(|spent| spent.stolen_ms(&order.spec.placement.iter().copied().collect()));
        let elapsed = Picos::from_secs(pass.elapsed.as_secs_f64());
        let role = |account: &RoleAccount| RoleEvidence {
            cpu_ns: account.cpu_ns,
            voluntary: account.switches.map(|[voluntary, _]| voluntary as u32),
            involuntary: account.switches.map(|[_, involuntary]| involuntary as u32),
            core_ghz: None,
            migrated: false,
        };
        Ok(PassOutcome {
            started: self.now().saturating_sub(elapsed),
            elapsed,
            observed: order.probe.runtime_result(order.spec, &pass),
            roles: pass.roles.iter().map(role).collect(),
            steal_ms: stolen.map(|ms| ms as f32),
            coordinator_shared: self.coordinator_mask.is_none(),
            process: Some(pass.fork as u32),
            ..PassOutcome::default()
        })
    }

    fn adapters_cpu(&self) -> Picos {
        Picos::from_ns(self.runtimes.used_ns() as f64)
    }

    /// Samples other programs. Returns whether they disturbed the latest measurements.
    fn sample_others(&mut self) -> bool {
        let runtimes = &self.runtimes;
        self.others.sample(|| Picos::from_ns(runtimes.used_ns() as f64));
        self.environment.others_share = self.others.share().or(self.environment.others_share);
        self.others.disturb()
    }

    /// Samples the quota. Returns whether it throttled the latest measurements.
    fn sample_quota(&mut self) -> bool {
        let throttled = self.quota.sample();
        self.environment.throttled = self.quota.throttled();
        throttled
    }

    fn bounded(&self, stop: &Stop) -> Stop {
        self.deadline.map_or_else(|| stop.clone(), |deadline| stop.until(deadline))
    }

    fn usable(&self) -> CpuSet {
        self.allowance.cpuset.intersection(self.topology.cpus())
    }

    /// Allocates the memory that a node lacks for `runs` runs.
    fn provide(&mut self, node: u32, runs: usize) -> Result<(), MachineError> {
        for _ in 0..self.arena.missing(node, runs) {
            if let Some(reason) = room::lacking(REGION_BYTES as u64) {
                return Err(MachineError::Memory { node, reason });
            }
            let mut region = self.region(node)?;
            // The topology does not list a single node. Then no memory can be elsewhere.
            region.is_elsewhere = self.topology.level(Level::Node).len() > 1
                && matches!(region.residence(), Residence::Elsewhere { .. });
            let found = region.page_bytes();
            let known = self.environment.page_bytes;
            // The smallest page limits the known address bits.
            self.environment.page_bytes = if self.arena.regions().next().is_none() {
                found
            } else {
                found.zip(known).map(|(a, b)| a.min(b))
            };
            self.arena.add(region);
        }
        Ok(())
    }

    fn region(&self, node: u32) -> Result<Region, MachineError> {
        let failed = |reason: String| MachineError::Memory { node, reason };
        let region = Region::map(node).map_err(|error| failed(error.to_string()))?;
        let on_node = |&cpu: &CpuId| self.topology.node_of(cpu).unwrap_or(0) == node;
        let toucher = self.workers.as_ref().and_then(|workers| {
            let ready = |cpu: &CpuId| on_node(cpu) && workers.worker(*cpu).is_some_and(Worker::is_idle);
            Some((workers, workers.cpus().iter().find(ready)?))
        });
        match toucher {
            Some((workers, cpu)) => {
                let touch = move || {
                    region.touch();
                    region
                };
                let touched = workers.run_on(cpu, touch);
                touched.ok_or_else(|| failed(format!("the thread on CPU {cpu} does not respond")))
            }
            None => {
                region.touch();
                Ok(region)
            }
        }
    }
}

impl Machine for HostMachine {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn allowance(&self) -> &Allowance {
        &self.allowance
    }

    fn environment(&self) -> &Environment {
        &self.environment
    }

    fn examine(&mut self, cpus: &CpuSet, budget: Option<Picos>) -> Vec<DoctorFinding> {
        let most = examined(budget);
        if self.clock.offsets.is_empty() {
            // A comparison of one CPU with up to 64 others suffices to find an unusable clock.
            let usable = self.usable().intersection(cpus);
            let first = usable.first();
            let pairs: Vec<_> = usable.iter().skip(1).take(64).filter_map(|to| Some((first?, to))).collect();
            self.measure_offsets(&pairs, Instant::now() + most, &Stop::new());
        }
        surroundings::examine(Ok(()), Some(Ok(&self.environment.clock)), self.clock.spread(), most)
    }

    fn sample_use(&mut self, known: Option<CpuUse>) {
        let before = known.or(self.environment.cpu_use.take());
        self.environment.cpu_use = before.or_else(evidence::use_of_cpus);
    }

    fn rate(&self) -> TickRate {
        self.clock.rate
    }

    fn now(&self) -> Picos {
        sources::monotonic().saturating_sub(self.opened)
    }

    fn pause(&mut self, span: Picos, stop: &Stop) {
        let until = self.now() + span;
        while !stop.is_raised() {
            let left = until.saturating_sub(self.now()).duration();
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(CHECK_INTERVAL));
        }
    }

    fn engage(&mut self, settings: &WorkerSettings) -> Result<Granted, MachineError> {
        // The old workers are dropped first. Two threads on one CPU would disturb each other.
        (self.workers, self.coordinator_mask) = (None, None);
        let measured: CpuSet = settings
            .cpus
            .iter()
            .flat_map(|&cpu| self.topology.siblings(cpu).iter().collect::<Vec<_>>())
            .collect();
        let room = self.usable().difference(&measured);
        let workers = Workers::start(settings, &self.usable(), self.clock.rate)?;
        self.coordinator_mask = CoordinatorMask::move_within(&room);
        let granted = Granted {
            priority: workers.priority().to_owned(),
            coordinator_apart: self.coordinator_mask.is_some(),
        };
        self.environment.priority = Some(granted.priority.clone());
        self.workers = Some(workers);
        self.worker_settings = settings.clone();
        self.others = Others::watch(self.usable(), self.adapters_cpu());
        self.quota = QuotaWatch::begin();
        for node in nodes_of(&settings.cpus, &self.topology) {
            self.provide(node, 0)?;
        }
        Ok(granted)
    }

    fn perform_each(
        &mut self,
        batch: &[Round],
        stop: &Stop,
        take: &mut dyn FnMut(RoundOutcome) -> Vec<Recording>,
    ) -> Result<(), MachineError> {
        if self.workers.is_none() {
            self.engage(&WorkerSettings { cpus: cpus_of(batch), ..WorkerSettings::default() })?;
        }
        for (node, runs) in Engine::wanted_runs(batch, &self.topology) {
            self.provide(node, runs)?;
        }
        let Some(workers) = &self.workers else { return Ok(()) };
        let engine = Engine {
            workers,
            arena: &self.arena,
            topology: &self.topology,
            rate: self.clock.rate,
            opened: self.opened,
            coordinator_shared: self.coordinator_mask.is_none(),
        };
        // Outcomes are delivered after the last round, since nothing may disturb the rounds of a batch.
        let mut outcomes = engine.perform(batch, &self.bounded(stop))?;
        if self.sample_others() {
            let trials = outcomes.iter_mut().flat_map(|round| round.trials.iter_mut().flatten());
            trials.for_each(|recording| recording.disturbance.others_busy = true);
        }
        if self.sample_quota() {
            outcomes.iter_mut().for_each(blame_quota);
        }
        outcomes.into_iter().for_each(|outcome| drop(take(outcome)));
        Ok(())
    }

    fn absent(&self, of: &CpuSet) -> Vec<(CpuId, LossReason)> {
        let there = surroundings::Present::now();
        let requested: CpuSet = self.worker_settings.cpus.iter().copied().collect();
        let refuses = |cpu: &CpuId| {
            requested.contains(*cpu) && self.workers.as_ref().is_some_and(|workers| !workers.holds(*cpu))
        };
        let is_silent = |cpu| self.workers.as_ref().is_some_and(|workers| workers.is_silent(cpu));
        let why = |cpu| {
            let refusal = if is_silent(cpu) { LossReason::NotRun } else { LossReason::PinRefused };
            there.absence(cpu).or(Some(refusal).filter(|_| refuses(&cpu)))
        };
        of.iter().filter_map(|cpu| Some((cpu, why(cpu)?))).collect()
    }

    fn has_worker(&self, cpu: CpuId) -> bool {
        self.workers.as_ref().is_some_and(|workers| workers.worker(cpu).is_some())
    }

    fn missed_since(&self, cpu: CpuId) -> Option<Picos> {
        self.missed.get(&cpu).map(|missed| missed.saturating_sub(self.opened))
    }

    fn lacks(&self, probe: &dyn SeriesProbe, spec: &TrialSpec) -> Option<String> {
        match probe.external(spec) {
            Some(external) => self.runtimes.lacks(&external, probe, spec),
            None => probe.lacks(spec),
        }
    }

    fn prepare_runtime(
        &mut self,
        recipe: &AdapterSpec,
        preparation: &Preparation<'_>,
        building: &mut dyn FnMut(&AdapterSpec),
        stop: &Stop,
    ) -> Option<&PreparedAdapter> {
        let allowed = self.allowance.mask.intersection(&self.usable());
        let (began, mut was_built) = (self.now(), false);
        let mut building = |recipe: &AdapterSpec| {
            was_built = true;
            building(recipe);
        };
        let prepared = self.runtimes.prepare(recipe, preparation, &allowed, &mut building, stop);
        if !was_built {
            self.preparing += sources::monotonic().saturating_sub(self.opened).saturating_sub(began);
        }
        if let Ok(offered) = prepared {
            self.environment.runtimes.insert(recipe.name.clone(), offered.version());
        }
        Some(prepared)
    }

    fn longest_warm_up(&self, orders: &[TrialOrder<'_>], most: Picos) -> Picos {
        Picos::from_secs(self.runtimes.longest_warm_up(orders, most.duration()).as_secs_f64())
    }

    fn preparing(&self) -> Picos {
        self.preparing
    }

    fn end_by(&mut self, deadline: Option<Picos>) {
        self.deadline =
            deadline.map(|deadline| Instant::now() + deadline.saturating_sub(self.now()).duration());
    }

    fn warm_up(
        &mut self,
        orders: &[TrialOrder<'_>],
        most: Picos,
        notify: &mut dyn FnMut(String),
        stop: &Stop,
    ) {
        let stop = &self.bounded(stop);
        self.runtimes.warm_up(orders, most.duration(), notify, stop);
        self.others = Others::watch(self.usable(), self.adapters_cpu());
    }

    fn perform_trial(&mut self, order: &TrialOrder<'_>, stop: &Stop) -> Result<PassOutcome, TrialFailure> {
        let stop = &self.bounded(stop);
        let outcome = match order.probe.external(order.spec) {
            Some(external) => self.perform_external(&external, order, stop),
            None => self.trial_runner(1).perform(order, stop),
        };
        let (others_busy, quota) = (self.sample_others(), self.sample_quota());
        with_surroundings(outcome, others_busy, quota)
    }

    fn perform_trials(
        &mut self,
        orders: &[TrialOrder<'_>],
        stop: &Stop,
    ) -> Vec<Result<PassOutcome, TrialFailure>> {
        // Processes of runtimes die with the thread that starts them. So this thread performs all passes.
        if orders.iter().any(|order| order.probe.external(order.spec).is_some()) {
            return orders.iter().map(|order| self.perform_trial(order, stop)).collect();
        }
        let outcomes = self.trial_runner(orders.len()).perform_all(orders, &self.bounded(stop));
        let (others_busy, quota) = (self.sample_others(), self.sample_quota());
        outcomes.into_iter().map(|outcome| with_surroundings(outcome, others_busy, quota)).collect()
    }

    fn lacks_counters(&self) -> Option<io::Error> {
        hardware_refusal()
    }

    fn perform_work(&mut self, order: &WorkOrder<'_>, stop: &Stop) -> Result<PassOutcome, TrialFailure> {
        let started = self.now();
        let room = self.usable();
        let watchdog = self.watchdog.get_or_insert_with(Watchdog::start).as_ref();
        let missed = RefCell::new(std::mem::take(&mut self.missed));
        let (rate, topology) = (self.clock.rate, &self.topology);
        let runner = Runner { rate, usable: &room, topology, watchdog, missed: &missed };
        let done = runner.run(order, stop);
        self.missed = missed.into_inner();
        // A failure of work under a throttling quota is also attributed to the quota.
        let quota = self.sample_quota();
        Ok(PassOutcome { quota, started, elapsed: self.now().saturating_sub(started), ..done? })
    }

    fn is_busy(&self) -> Option<bool> {
        evidence::share_of_others(&self.usable()).map(|share| share > BUSY_SHARE)
    }
}

pub(super) fn blame_quota(round: &mut RoundOutcome) {
    for trial in &mut round.trials {
        match trial {
            Ok(recording) => recording.disturbance.quota = true,
            Err(failure) => *failure = failure.clone().under_quota(),
        }
    }
}

fn with_surroundings(
    outcome: Result<PassOutcome, TrialFailure>,
    others_busy: bool,
    quota: bool,
) -> Result<PassOutcome, TrialFailure> {
    match outcome {
        Ok(outcome) => Ok(PassOutcome { others_busy, quota, ..outcome }),
        Err(failure) if quota => Err(failure.under_quota()),
        Err(failure) => Err(failure),
    }
}

fn cpus_of(batch: &[Round]) -> Vec<CpuId> {
    let placements =
        batch.iter().flat_map(|round| &round.assignments).flat_map(|it| it.placement.iter().copied());
    placements.collect::<CpuSet>().iter().collect()
}

/// Runs `task` in a thread pinned to one CPU, since counters may differ between CPUs.
fn on_one_cpu<T: Send>(task: impl FnOnce() -> T + Send) -> Result<T, MachineError> {
    let no_pinning = |reason: String| MachineError::NoPinning { reason };
    let pinned = || {
        let cpu = affinity::current_cpu().map_err(|error| no_pinning(error.to_string()))?;
        affinity::pin_current_thread(cpu).map_err(|error| {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            no_pinning(format!("{error}{}", cause.unwrap_or_default()))
        })?;
        Ok(task())
    };
    let here = affinity::current_cpu().map_err(|error| no_pinning(error.to_string()))?;
    std::thread::scope(|scope| {
        // A limit on threads is a refusal by the environment, not a defect.
        let thread = std::thread::Builder::new()
            .spawn_scoped(scope, pinned)
            .map_err(|source| MachineError::Spawn { cpu: here, source })?;
        thread.join().unwrap_or_else(|_| Err(no_pinning("a thread exited at once".to_owned())))
    })
}
