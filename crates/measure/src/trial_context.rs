//! [`TrialContext`]: pinned threads, one for each role of a trial, for one pass.
//!
//! A role is a closure that gets a [`RoleContext`]. It never pins, spawns or asks for the time of day; it may sleep in
//! the primitive that it measures, and then its *unblock* callback must be able to wake it: every wait ends.

use crate::stage::{Guard, Halt, wait_until};
use crate::sync::Ordering::{Acquire, Release};
use crate::sync::{AtomicU64, yield_now};
use crate::wait::{Pause, WaitAction};
use coretalk_model::series::RoleEvidence;
use coretalk_model::{CpuId, CpuSet, Picos, TickRate, Topology, TrialFailure};
use std::sync::{Mutex, PoisonError};

/// Runs roles on threads.
pub trait Executor: Sync {
    /// Runs the body once on a thread of its own for each CPU, pinned and proven to be there, and returns when all have
    /// left. Its `unblock` is called again and again once the guard says halt: it wakes whoever sleeps.
    ///
    /// # Errors
    /// [`TrialFailure`] where a thread could not take its place or did not stay there.
    fn run(&self, order: &RoleOrder<'_>) -> Result<Vec<RoleEvidence>, TrialFailure>;

    /// Voluntary and involuntary switches of the calling thread so far; `None` where nobody counts.
    fn switches(&self) -> Option<[u32; 2]>;

    /// CPU time of the calling thread so far, in nanoseconds.
    fn cpu_ns(&self) -> Option<u64>;

    /// The CPU that the calling thread runs on; `None` where the system does not say.
    fn current_cpu(&self) -> Option<CpuId>;

    /// Lets the calling thread run on these CPUs only.
    ///
    /// # Errors
    /// The error number of the system.
    fn set_mask(&self, cpus: &CpuSet) -> Result<(), i32>;
}

/// How often the coordinating thread looks at the request to stop while roles run.
const POLL_INTERVAL: Picos = Picos::from_ms(20);
/// Polls of a barrier before a role yields its CPU for the first time: longer than roles take that run already.
const POLLS_BEFORE_YIELD: u32 = 1 << 12;

/// What an [`Executor`] is asked to run.
pub struct RoleOrder<'a> {
    /// One CPU for each role; one may stand there twice.
    pub cpus: &'a [CpuId],
    /// When the pass is given up.
    pub limit: Picos,
    /// What each role does; it leaves by itself once its guard says halt.
    pub body: &'a (dyn Fn(&RoleContext<'_>) + Sync),
    /// Wakes whoever sleeps.
    pub unblock: &'a (dyn Fn() + Sync),
    /// How long the coordinating thread may sleep between two looks at the request to end.
    pub nap: Picos,
}

/// The threads of a trial, for one pass.
pub struct TrialContext<'a> {
    executor: &'a dyn Executor,
    cpus: &'a [CpuId],
    rate: TickRate,
    clock_ns: f64,
    guest: bool,
    topology: Option<&'a Topology>,
    evidence: Mutex<Vec<RoleEvidence>>,
}

/// What one role sees.
pub struct RoleContext<'a> {
    /// Its number, from 0.
    pub number: usize,
    /// Its CPU.
    pub cpu: CpuId,
    /// Keeps every wait finite.
    pub guard: &'a Guard<'a>,
    /// Whether another role has the same CPU.
    pub shared: bool,
    line: &'a StartLine,
    executor: &'a dyn Executor,
}

/// Where roles wait for each other before they begin.
#[derive(Debug)]
pub struct StartLine {
    arrived: AtomicU64,
    roles: u64,
}

/// Something on cache lines of its own, away from what other roles write: two pairs of lines on x86, two lines of
/// 128 bytes on some Arm cores.
#[derive(Debug, Default)]
#[repr(align(256))]
pub struct Apart<T>(pub T);

impl<T> std::ops::Deref for Apart<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<'a> TrialContext<'a> {
    /// The threads of `executor` on these CPUs.
    pub fn new(
        executor: &'a dyn Executor,
        cpus: &'a [CpuId],
        rate: TickRate,
        clock_ns: f64,
    ) -> TrialContext<'a> {
        let evidence = Mutex::new(Vec::new());
        TrialContext { executor, cpus, rate, clock_ns, guest: false, topology: None, evidence }
    }

    /// The same under a hypervisor, or not.
    #[must_use]
    pub fn in_guest(self, guest: bool) -> TrialContext<'a> {
        TrialContext { guest, ..self }
    }

    /// The same on a machine of this structure.
    #[must_use]
    pub fn with_topology(self, topology: &'a Topology) -> TrialContext<'a> {
        TrialContext { topology: Some(topology), ..self }
    }

    /// The structure of the machine as it reports it; `None` where nobody knows.
    pub fn topology(&self) -> Option<&'a Topology> {
        self.topology
    }

    /// The CPU of each role.
    pub fn cpus(&self) -> &[CpuId] {
        self.cpus
    }

    /// The rate of the counter.
    pub fn rate(&self) -> TickRate {
        self.rate
    }

    /// What a start-stop pair of reads of the counter costs, in nanoseconds.
    pub fn clock_ns(&self) -> f64 {
        self.clock_ns
    }

    /// Whether a hypervisor runs this machine.
    pub fn is_guest(&self) -> bool {
        self.guest
    }

    /// The core clock of a role in GHz, over everything run so far; `None` where it could not be probed.
    pub fn core_ghz(&self, role: usize) -> Option<f64> {
        let all = self.evidence.lock().unwrap_or_else(PoisonError::into_inner);
        let [before, after] = all.get(role)?.core_ghz?;
        Some(f64::from(before + after) / 2.0)
    }

    /// Runs a closure for each role at the same time and hands back what each returned, in role order.
    ///
    /// # Errors
    /// [`TrialFailure`]: a thread could not be placed, the limit passed, or somebody wished to end.
    pub fn run<R: Send>(
        &self,
        limit: Picos,
        run_role: impl Fn(&RoleContext<'_>) -> Result<R, Halt> + Sync,
        unblock: impl Fn() + Sync,
    ) -> Result<Vec<R>, TrialFailure> {
        self.run_looking(limit, POLL_INTERVAL, run_role, unblock)
    }

    /// The same while the coordinating thread sleeps all the time, so that it disturbs nobody: a request to end is seen
    /// when the roles have left.
    ///
    /// # Errors
    /// As [`run`](TrialContext::run).
    pub fn run_undisturbed<R: Send>(
        &self,
        limit: Picos,
        run_role: impl Fn(&RoleContext<'_>) -> Result<R, Halt> + Sync,
        unblock: impl Fn() + Sync,
    ) -> Result<Vec<R>, TrialFailure> {
        self.run_looking(limit, limit, run_role, unblock)
    }

    fn run_looking<R: Send>(
        &self,
        limit: Picos,
        nap: Picos,
        run_role: impl Fn(&RoleContext<'_>) -> Result<R, Halt> + Sync,
        unblock: impl Fn() + Sync,
    ) -> Result<Vec<R>, TrialFailure> {
        let results: Vec<Mutex<Option<Result<R, Halt>>>> =
            self.cpus.iter().map(|_| Mutex::new(None)).collect();
        let body = |role: &RoleContext<'_>| {
            let result = run_role(role);
            if let Err(halt) = result {
                // The others wait for somebody who has left.
                role.guard.give_up(halt);
            }
            *results[role.number].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        };
        let order = RoleOrder { cpus: self.cpus, limit, body: &body, unblock: &unblock, nap };
        let evidence = self.executor.run(&order)?;
        self.note(&evidence);
        let results: Vec<Option<Result<R, Halt>>> = results
            .into_iter()
            .map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect();
        // Whoever finds its partner gone does not know why that left.
        let left_for =
            |reason: Halt| results.iter().any(|result| matches!(result, Some(Err(halt)) if *halt == reason));
        if left_for(Halt::Stopped) {
            return Err(TrialFailure::Interrupted);
        }
        if left_for(Halt::Deadline) {
            return Err(TrialFailure::TimedOut { limit });
        }
        let said = results.into_iter().zip(self.cpus).map(|(result, &cpu)| match result {
            Some(Ok(result)) => Ok(result),
            _ => Err(TrialFailure::PartnerLost { cpu }),
        });
        said.collect()
    }

    /// What the system says of each role, over everything that was run.
    pub fn evidence(self) -> Vec<RoleEvidence> {
        self.evidence.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, fresh: &[RoleEvidence]) {
        let mut all = self.evidence.lock().unwrap_or_else(PoisonError::into_inner);
        if all.is_empty() {
            all.extend_from_slice(fresh);
            return;
        }
        for (known, fresh) in all.iter_mut().zip(fresh) {
            known.cpu_ns = known.cpu_ns.zip(fresh.cpu_ns).map(|(a, b)| a + b);
            known.voluntary = known.voluntary.zip(fresh.voluntary).map(|(a, b)| a + b);
            known.involuntary = known.involuntary.zip(fresh.involuntary).map(|(a, b)| a + b);
            known.core_ghz = known.core_ghz.zip(fresh.core_ghz).map(|(a, b)| [a[0], b[1]]);
            known.migrated |= fresh.migrated;
        }
    }
}

impl<'a> RoleContext<'a> {
    /// What this role sees.
    pub fn new(
        number: usize,
        cpu: CpuId,
        guard: &'a Guard<'a>,
        shared: bool,
        line: &'a StartLine,
        executor: &'a dyn Executor,
    ) -> RoleContext<'a> {
        RoleContext { number, cpu, guard, shared, line, executor }
    }

    /// Waits for every role to arrive, spinning: a barrier that sleeps would give one of them a wake-up. A role that waits
    /// for long yields between polls, as the others may wait for a CPU. To be called once by each role.
    ///
    /// # Errors
    /// The reason to leave.
    pub fn wait_for_all(&self) -> Result<(), Halt> {
        self.line.arrive();
        let mut polls = 0_u32;
        self.wait_until(|| {
            polls = polls.wrapping_add(1);
            if polls.is_multiple_of(POLLS_BEFORE_YIELD) {
                yield_now();
            }
            self.line.is_full()
        })
    }

    /// Looks until `poll` is content; where roles share a CPU the others get it in between.
    ///
    /// # Errors
    /// The reason to leave.
    pub fn wait_until(&self, mut poll: impl FnMut() -> bool) -> Result<(), Halt> {
        if !self.shared {
            return wait_until::<Pause>(self.guard, poll);
        }
        while !poll() {
            self.give_way();
            self.guard.check()?;
        }
        Ok(())
    }

    /// Lets the others run where roles share a CPU.
    pub fn give_way(&self) {
        if self.shared {
            yield_now();
        }
    }

    /// Lets ticks of the counter pass, awake.
    ///
    /// # Errors
    /// The reason to leave.
    pub fn spin_for(&self, ticks: u64) -> Result<(), Halt> {
        let until = (self.guard.now_ticks)() + ticks;
        loop {
            let now = (self.guard.now_ticks)();
            if now >= until {
                return Ok(());
            }
            self.guard.check_at(now)?;
            Pause::wait();
        }
    }

    /// Voluntary and involuntary switches of this thread so far; a system call.
    pub fn switches(&self) -> Option<[u32; 2]> {
        self.executor.switches()
    }

    /// The CPU that this thread runs on; `None` where the system does not say.
    pub fn current_cpu(&self) -> Option<CpuId> {
        self.executor.current_cpu()
    }

    /// Lets this thread run on these CPUs during a task, and binds it to its own again.
    ///
    /// # Errors
    /// The error number where the system refuses one of both.
    pub fn unbound<T>(&self, cpus: &CpuSet, task: impl FnOnce() -> T) -> Result<T, i32> {
        self.executor.set_mask(cpus)?;
        let done = task();
        self.executor.set_mask(&CpuSet::from_iter([self.cpu]))?;
        Ok(done)
    }

    /// CPU time of this thread so far, in nanoseconds; a system call.
    pub fn cpu_ns(&self) -> Option<u64> {
        self.executor.cpu_ns()
    }
}

impl StartLine {
    /// For so many roles.
    pub fn new(roles: usize) -> StartLine {
        StartLine { arrived: AtomicU64::new(0), roles: roles as u64 }
    }

    fn arrive(&self) {
        // Release, so that whoever sees the count complete also sees what this role prepared; pairs with the Acquire
        // in `is_full`.
        self.arrived.fetch_add(1, Release);
    }

    fn is_full(&self) -> bool {
        // Acquire pairs with the Release in `arrive`.
        self.arrived.load(Acquire) >= self.roles
    }
}
