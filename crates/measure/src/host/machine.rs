//! [`HostMachine`]: the machine that this process runs on, behind the boundary.

use super::affinity;
use super::arena::Arena;
use super::clock::offset::{Attendance, Limits, Offset};
use super::clock::{ClockReport, offset, sources};
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
use crate::adapters::catalogue::Recipe;
use crate::adapters::pass::RoleAccount;
use crate::adapters::runtimes::{Prepared, Runtimes, Shop};
use crate::external::External;
use crate::machine::{
    Allowance, BUSY_SHARE, Granted, Machine, MachineError, Round, RoundOutcome, WorkerSettings,
};
use crate::room;
use crate::series::{SeriesProbe, TrialOrder};
use crate::stop::Stop;
use crate::work::WorkOrder;
use coretalk_model::environment::BuildFacts;
use coretalk_model::series::{PassOutcome, RoleEvidence, TrialSpec};
use coretalk_model::{
    Absence, CpuId, CpuSet, DoctorFinding, Environment, Level, Picos, Recording, TickRate, Topology,
    TrialFailure,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The longest sleep before the request to stop is looked at again.
const NAP: Duration = Duration::from_millis(20);
/// How long an examination compares the counters of CPUs, at most, …
const EXAMINED: Duration = Duration::from_secs(3);
/// … and one part in so many of a budget.
const EXAMINED_SHARE: u64 = 20;

/// How long an examination before a run of this budget compares counters at most, and looks once more at what others take.
pub(super) fn examined(budget: Option<Picos>) -> Duration {
    budget.map_or(EXAMINED, |budget| EXAMINED.min(Picos(budget.0 / EXAMINED_SHARE).duration()))
}

/// The machine that this process runs on.
#[derive(Debug)]
pub struct HostMachine {
    topology: Topology,
    allowance: Allowance,
    environment: Environment,
    clock: ClockReport,
    opened: Picos,
    // Dropped in this order: workers first, then the memory that they write to, then the coordinator's old mask.
    workers: Option<Workers>,
    arena: Arena,
    coordinator_mask: Option<CoordinatorMask>,
    /// What the workers engaged last asked for: fresh threads ask for it too.
    worker_settings: WorkerSettings,
    /// What other programs take while something is measured.
    others: Others,
    /// What a CPU quota does meanwhile.
    quota: QuotaWatch,
    /// Who ends what programs leave, should this process be killed: asked for with the first program.
    watchdog: Option<Option<Watchdog>>,
    /// What performs trials of runtimes in other languages.
    runtimes: Runtimes,
    /// What making them ready has taken.
    preparing: Picos,
    /// When what is performed is broken off.
    deadline: Option<Instant>,
    /// CPUs that were away while work ran, and since when, on the clock of the system.
    missed: BTreeMap<CpuId, Picos>,
}

impl HostMachine {
    /// Reads what the machine says about itself and measures its counter; takes 50 to 200 ms.
    ///
    /// # Errors
    /// [`MachineError::NoPinning`] where threads cannot be bound to CPUs, [`MachineError::Clock`] where the counter
    /// cannot time anything, [`MachineError::System`] where the system's files make no sense.
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

    /// Every check of `doctor` that can be made where [`open`](HostMachine::open) refuses with this error.
    pub fn examine_closed(error: &MachineError) -> Vec<DoctorFinding> {
        match error {
            MachineError::NoPinning { reason } => surroundings::examine(Err(reason), None, None, EXAMINED),
            MachineError::Clock { reason } => {
                surroundings::examine(Ok(()), Some(Err(&reason.to_string())), None, EXAMINED)
            }
            _ => surroundings::examine(Ok(()), None, None, EXAMINED),
        }
    }

    /// What the system reports, where [`open`](HostMachine::open) refuses: which CPUs share what, and which may be used.
    ///
    /// # Errors
    /// [`MachineError::System`] where the system's files make no sense.
    pub fn reported() -> Result<(Topology, Allowance), MachineError> {
        surroundings::read()
    }

    /// The same machine, measured by a program that was built like this: what it says of its environment tells so.
    pub fn measured_by(mut self, build: BuildFacts) -> HostMachine {
        self.environment.build_facts = Some(build);
        self
    }

    /// What is known of the counter; [`measure_offsets`](HostMachine::measure_offsets) adds the offsets between CPUs.
    pub fn clock(&self) -> &ClockReport {
        &self.clock
    }

    /// Measures how far the counters of pairs of CPUs lie apart, about a millisecond each. Pairs of which a CPU refuses
    /// a thread or does not answer are left out; those that go away meanwhile are noted.
    ///
    /// Pairs come in their order until the time is over, and each gets its share of it: an emulated CPU would take half a
    /// second for each, and one that is shared with other programs many seconds.
    pub fn measure_offsets(&mut self, pairs: &[(CpuId, CpuId)], end: Instant, stop: &Stop) -> &ClockReport {
        // A stamp is as old as a step of the counter: of one that moves in microseconds most exchanges take no time at all.
        let step = self.clock.step_ticks as f64;
        let blurred = |it: Offset| Offset { bound_ticks: it.bound_ticks + step, ..it };
        let requested: Vec<_> = pairs.iter().filter(|(from, to)| from != to).collect();
        let (began, mut attendance) = (Instant::now(), Attendance::default());
        let after = || Picos::from_secs(began.elapsed().as_secs_f64());
        let absence = |cpu| surroundings::Present::now().absence(cpu);
        self.clock.offsets.clear();
        for (number, &&(from, to)) in requested.iter().enumerate() {
            let now = Instant::now();
            if stop.is_raised() || now >= end {
                break;
            }
            if attendance.misses(&[from, to], after(), &absence) {
                continue;
            }
            let limits = Limits::of_next(requested.len() - number, now, end);
            let measured = offset::measure(from, to, limits);
            attendance.note([from, to], &measured, after(), &absence);
            self.clock.offsets.extend(measured.map(blurred).ok());
        }
        // Those that went in the last pair, or after it was their turn.
        let all: CpuSet = requested.iter().flat_map(|pair| [pair.0, pair.1]).collect();
        attendance.misses(&all.iter().collect::<Vec<_>>(), after(), &absence);
        self.clock.departed = attendance.end();
        &self.clock
    }

    /// Where the measured lines lie, node by node; empty before [`engage`](Machine::engage).
    pub fn residence(&self) -> Vec<(u32, Residence)> {
        self.arena.regions().map(|region| (region.node(), region.residence())).collect()
    }

    /// The system's numbers of the workers' threads, for tools that look at them from outside.
    pub fn threads(&self) -> Vec<i32> {
        let Some(workers) = &self.workers else { return Vec::new() };
        workers.cpus().iter().filter_map(|cpu| workers.worker(cpu)).map(Worker::number).collect()
    }

    /// What performs so many trials at the same time.
    fn trial_runner(&self, trials: usize) -> TrialRunner<'_> {
        TrialRunner {
            topology: self.topology(),
            rate: self.clock.rate,
            clock_ns: self.clock.rate.ns(self.clock.cost_ticks as f64),
            // The priority was granted when the workers were engaged; if it makes no sense any more, threads take what they
            // get.
            priority: Priority::of(&self.worker_settings, &self.usable()).unwrap_or(Priority::Best),
            guest: self.environment.hypervisor.is_some(),
            opened: self.opened,
            coordinator_shared: self.coordinator_mask.is_none(),
            others: trials.saturating_sub(1) as u32,
        }
    }

    /// One pass of a trial that a runtime performs.
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

    /// CPU time of the processes of runtimes that are there.
    fn adapters_cpu(&self) -> Picos {
        Picos::from_ns(self.runtimes.used_ns() as f64)
    }

    /// Looks at what others take. Gives whether it disturbs what was just measured.
    fn look_at_others(&mut self) -> bool {
        let runtimes = &self.runtimes;
        self.others.sample(|| Picos::from_ns(runtimes.used_ns() as f64));
        self.environment.others_share = self.others.share().or(self.environment.others_share);
        self.others.disturb()
    }

    /// Looks at what a quota does. Gives whether it stopped what was just measured.
    fn look_at_quota(&mut self) -> bool {
        let stopped = self.quota.sample();
        self.environment.throttled = self.quota.throttled();
        stopped
    }

    /// A request to end that is raised at the deadline, too.
    fn bounded(&self, stop: &Stop) -> Stop {
        self.deadline.map_or_else(|| stop.clone(), |deadline| stop.until(deadline))
    }

    /// The CPUs that a thread may be sent to: the cpuset, as far as it is online.
    fn usable(&self) -> CpuSet {
        self.allowance.cpuset.intersection(self.topology.cpus())
    }

    /// Makes sure that every node has the memory that is wanted of it.
    fn provide(&mut self, node: u32, runs: usize) -> Result<(), MachineError> {
        for _ in 0..self.arena.missing(node, runs) {
            if let Some(reason) = room::lacking(REGION_BYTES as u64) {
                return Err(MachineError::Memory { node, reason });
            }
            let mut region = self.region(node)?;
            // Where there is one node only, its number is not part of the topology, and nothing can lie elsewhere.
            region.is_elsewhere = self.topology.level(Level::Node).len() > 1
                && matches!(region.residence(), Residence::Elsewhere { .. });
            let found = region.page_bytes();
            let known = self.environment.page_bytes;
            // The smallest page is the one that decides what is known about addresses.
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
            // One CPU against some of the others: enough to find a clock that is not to be compared.
            let usable = self.usable().intersection(cpus);
            let first = usable.first();
            let pairs: Vec<_> = usable.iter().skip(1).take(64).filter_map(|to| Some((first?, to))).collect();
            self.measure_offsets(&pairs, Instant::now() + most, &Stop::new());
        }
        surroundings::examine(Ok(()), Some(Ok(&self.environment.clock)), self.clock.spread(), most)
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
            std::thread::sleep(left.min(NAP));
        }
    }

    fn engage(&mut self, settings: &WorkerSettings) -> Result<Granted, MachineError> {
        // The old workers go first: two threads on one CPU would disturb each other.
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
        // Nothing may disturb the rounds of a batch, so all wait for the last.
        let mut outcomes = engine.perform(batch, &self.bounded(stop))?;
        if self.look_at_others() {
            let trials = outcomes.iter_mut().flat_map(|round| round.trials.iter_mut().flatten());
            trials.for_each(|recording| recording.disturbance.others_busy = true);
        }
        if self.look_at_quota() {
            outcomes.iter_mut().for_each(blame_quota);
        }
        outcomes.into_iter().for_each(|outcome| drop(take(outcome)));
        Ok(())
    }

    fn absent(&self, of: &CpuSet) -> Vec<(CpuId, Absence)> {
        let there = surroundings::Present::now();
        let requested: CpuSet = self.worker_settings.cpus.iter().copied().collect();
        let refuses = |cpu: &CpuId| {
            requested.contains(*cpu) && self.workers.as_ref().is_some_and(|workers| !workers.holds(*cpu))
        };
        let is_silent = |cpu| self.workers.as_ref().is_some_and(|workers| workers.is_silent(cpu));
        let why = |cpu| {
            let refusal = if is_silent(cpu) { Absence::NotRun } else { Absence::PinRefused };
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
        recipe: &Recipe,
        shop: &Shop<'_>,
        building: &mut dyn FnMut(&Recipe),
        stop: &Stop,
    ) -> Option<&Prepared> {
        let allowed = self.allowance.mask.intersection(&self.usable());
        let (began, mut was_built) = (self.now(), false);
        let mut building = |recipe: &Recipe| {
            was_built = true;
            building(recipe);
        };
        let prepared = self.runtimes.prepare(recipe, shop, &allowed, &mut building, stop);
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

    fn warm_up(&mut self, orders: &[TrialOrder<'_>], most: Picos, told: &mut dyn FnMut(String), stop: &Stop) {
        let stop = &self.bounded(stop);
        self.runtimes.warm_up(orders, most.duration(), told, stop);
        self.others = Others::watch(self.usable(), self.adapters_cpu());
    }

    fn perform_trial(&mut self, order: &TrialOrder<'_>, stop: &Stop) -> Result<PassOutcome, TrialFailure> {
        let stop = &self.bounded(stop);
        let outcome = match order.probe.external(order.spec) {
            Some(external) => self.perform_external(&external, order, stop),
            None => self.trial_runner(1).perform(order, stop),
        };
        let (others_busy, quota) = (self.look_at_others(), self.look_at_quota());
        with_surroundings(outcome, others_busy, quota)
    }

    fn perform_trials(
        &mut self,
        orders: &[TrialOrder<'_>],
        stop: &Stop,
    ) -> Vec<Result<PassOutcome, TrialFailure>> {
        // Processes of runtimes end with the thread that starts them: all of their passes are made by this one.
        if orders.iter().any(|order| order.probe.external(order.spec).is_some()) {
            return orders.iter().map(|order| self.perform_trial(order, stop)).collect();
        }
        let outcomes = self.trial_runner(orders.len()).perform_all(orders, &self.bounded(stop));
        let (others_busy, quota) = (self.look_at_others(), self.look_at_quota());
        outcomes.into_iter().map(|outcome| with_surroundings(outcome, others_busy, quota)).collect()
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
        // Work that a quota kept from its end was stopped by it, too.
        let quota = self.look_at_quota();
        Ok(PassOutcome { quota, started, elapsed: self.now().saturating_sub(started), ..done? })
    }

    fn is_busy(&self) -> Option<bool> {
        evidence::share_of_others(&self.usable()).map(|share| share > BUSY_SHARE)
    }
}

/// Says of every trial of a round that a quota stopped the process.
pub(super) fn blame_quota(round: &mut RoundOutcome) {
    for trial in &mut round.trials {
        match trial {
            Ok(recording) => recording.disturbance.quota = true,
            Err(failure) => *failure = failure.clone().under_quota(),
        }
    }
}

/// A pass with what went on around it.
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

/// Does something in a thread that stays on one CPU: a counter may differ from CPU to CPU.
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
        // A limit on threads is the environment's refusal, and no defect.
        let thread = std::thread::Builder::new()
            .spawn_scoped(scope, pinned)
            .map_err(|source| MachineError::Spawn { cpu: here, source })?;
        thread.join().unwrap_or_else(|_| Err(no_pinning("a thread exited at once".to_owned())))
    })
}
