//! [`TrialContext`]: pinned threads, one for each role of a trial, for one pass.
//!
//! A role is a closure that gets a [`RoleContext`]. It never pins, spawns or reads the time of day. It may sleep in the
//! primitive that it measures. Its *unblock* callback must then be able to wake it, so that every wait ends.

use crate::kernel_context::{Guard, Halt, wait_until};
use crate::sync::Ordering::{Acquire, Release};
use crate::sync::{AtomicU64, yield_now};
use crate::wait::{Pause, WaitAction};
use coretalk_model::series::RoleEvidence;
use coretalk_model::{CpuId, CpuSet, Picos, TickRate, Topology, TrialFailure};
use std::sync::{Mutex, PoisonError};

/// Runs roles on threads.
pub trait Executor: Sync {
    /// Runs the body once per CPU, each on its own pinned and verified thread. Returns when all have left. After the
    /// guard halts, `unblock` is called repeatedly to wake sleeping roles. Fails if a thread could not be pinned or was
    /// moved.
    fn run(&self, order: &RoleOrder<'_>) -> Result<Vec<RoleEvidence>, TrialFailure>;

    /// Voluntary and involuntary context switches of the calling thread so far; `None` if they are not counted.
    fn switches(&self) -> Option<[u32; 2]>;

    /// CPU time of the calling thread so far, in nanoseconds.
    fn cpu_ns(&self) -> Option<u64>;

    /// The CPU that the calling thread runs on; `None` if the system does not report it.
    fn current_cpu(&self) -> Option<CpuId>;

    /// Sets the affinity of the calling thread, or returns the error number of the system.
    fn set_mask(&self, cpus: &CpuSet) -> Result<(), i32>;
}

const POLL_INTERVAL: Picos = Picos::from_ms(20);
/// Polls of a barrier before a role first yields its CPU. Running roles need fewer.
const POLLS_BEFORE_YIELD: u32 = 1 << 12;

/// An order to an [`Executor`].
pub struct RoleOrder<'a> {
    /// CPU of each role. CPUs may repeat.
    pub cpus: &'a [CpuId],
    /// Time limit of the pass.
    pub limit: Picos,
    /// Body of each role. It returns by itself after its guard halts.
    pub body: &'a (dyn Fn(&RoleContext<'_>) + Sync),
    /// Wakes sleeping roles.
    pub unblock: &'a (dyn Fn() + Sync),
    /// Sleep of the coordinating thread between two polls for a stop request.
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

/// The view of one role.
pub struct RoleContext<'a> {
    /// Role number, from 0.
    pub number: usize,
    /// The role's CPU.
    pub cpu: CpuId,
    /// Bounds every wait.
    pub guard: &'a Guard<'a>,
    /// Whether another role has the same CPU.
    pub shared: bool,
    barrier: &'a SpinBarrier,
    executor: &'a dyn Executor,
}

/// A spinning barrier at which roles wait for each other before they begin.
#[derive(Debug)]
pub struct SpinBarrier {
    arrived: AtomicU64,
    roles: u64,
}

/// A value on its own cache lines, to avoid false sharing. 256 bytes cover two lines of any CPU: x86 prefetches pairs
/// of lines, and some Arm cores have lines of 128 bytes.
#[derive(Debug, Default)]
#[repr(align(256))]
pub struct CachePadded<T>(pub T);

impl<T> std::ops::Deref for CachePadded<T> {
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

    /// Sets whether a hypervisor runs the machine.
    #[must_use]
    pub fn in_guest(self, guest: bool) -> TrialContext<'a> {
        TrialContext { guest, ..self }
    }

    /// Sets the topology of the machine.
    #[must_use]
    pub fn with_topology(self, topology: &'a Topology) -> TrialContext<'a> {
        TrialContext { topology: Some(topology), ..self }
    }

    /// The reported topology of the machine, if known.
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

    /// Cost of a start-stop pair of counter reads, in nanoseconds.
    pub fn clock_ns(&self) -> f64 {
        self.clock_ns
    }

    /// Whether a hypervisor runs this machine.
    pub fn is_guest(&self) -> bool {
        self.guest
    }

    /// The core clock of a role in GHz, over everything run so far; `None` if it could not be probed.
    pub fn core_ghz(&self, role: usize) -> Option<f64> {
        let all = self.evidence.lock().unwrap_or_else(PoisonError::into_inner);
        let [before, after] = all.get(role)?.core_ghz?;
        Some(f64::from(before + after) / 2.0)
    }

    /// Runs a closure for all roles concurrently and returns the results in role order. Fails if a thread could not be
    /// placed, the limit passed, or a stop was requested.
    pub fn run<R: Send>(
        &self,
        limit: Picos,
        run_role: impl Fn(&RoleContext<'_>) -> Result<R, Halt> + Sync,
        unblock: impl Fn() + Sync,
    ) -> Result<Vec<R>, TrialFailure> {
        self.run_with_nap(limit, POLL_INTERVAL, run_role, unblock)
    }

    /// Like [`run`](TrialContext::run), but the coordinating thread sleeps throughout, so that it disturbs no role. A
    /// stop request takes effect when the roles have left.
    pub fn run_undisturbed<R: Send>(
        &self,
        limit: Picos,
        run_role: impl Fn(&RoleContext<'_>) -> Result<R, Halt> + Sync,
        unblock: impl Fn() + Sync,
    ) -> Result<Vec<R>, TrialFailure> {
        self.run_with_nap(limit, limit, run_role, unblock)
    }

    fn run_with_nap<R: Send>(
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
                // The other roles may wait for the role that has left.
                role.guard.give_up(halt);
            }
            *results[role.number].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        };
        let order = RoleOrder { cpus: self.cpus, limit, body: &body, unblock: &unblock, nap };
        let evidence = self.executor.run(&order)?;
        self.add_evidence(&evidence);
        let results: Vec<Option<Result<R, Halt>>> = results
            .into_iter()
            .map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect();
        // A role that halts because its partner left does not know the partner's reason.
        let any_halted_for =
            |reason: Halt| results.iter().any(|result| matches!(result, Some(Err(halt)) if *halt == reason));
        if any_halted_for(Halt::Stopped) {
            return Err(TrialFailure::Interrupted);
        }
        if any_halted_for(Halt::Deadline) {
            return Err(TrialFailure::TimedOut { limit });
        }
        let outcomes = results.into_iter().zip(self.cpus).map(|(result, &cpu)| match result {
            Some(Ok(result)) => Ok(result),
            _ => Err(TrialFailure::PartnerLost { cpu }),
        });
        outcomes.collect()
    }

    /// The system's evidence for each role, over everything that was run.
    pub fn evidence(self) -> Vec<RoleEvidence> {
        self.evidence.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn add_evidence(&self, fresh: &[RoleEvidence]) {
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
    /// The view of role `number`.
    pub fn new(
        number: usize,
        cpu: CpuId,
        guard: &'a Guard<'a>,
        shared: bool,
        barrier: &'a SpinBarrier,
        executor: &'a dyn Executor,
    ) -> RoleContext<'a> {
        RoleContext { number, cpu, guard, shared, barrier, executor }
    }

    /// Waits for all roles to arrive, or returns the reason to leave. Each role must call it once. It spins, because a
    /// sleeping barrier would give one role a wake-up. After many polls it yields between polls, as the others may wait
    /// for a CPU.
    pub fn wait_for_all(&self) -> Result<(), Halt> {
        self.barrier.arrive();
        let mut polls = 0_u32;
        self.wait_until(|| {
            polls = polls.wrapping_add(1);
            if polls.is_multiple_of(POLLS_BEFORE_YIELD) {
                yield_now();
            }
            self.barrier.is_full()
        })
    }

    /// Polls until `poll` returns true, or returns the reason to leave. Roles that share a CPU yield between polls.
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

    /// Yields if roles share a CPU.
    pub fn give_way(&self) {
        if self.shared {
            yield_now();
        }
    }

    /// Spins for this many ticks of the counter, or returns the reason to leave.
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

    /// Voluntary and involuntary context switches of this thread so far. Costs a system call.
    pub fn switches(&self) -> Option<[u32; 2]> {
        self.executor.switches()
    }

    /// The CPU that this thread runs on; `None` if the system does not report it.
    pub fn current_cpu(&self) -> Option<CpuId> {
        self.executor.current_cpu()
    }

    /// Runs a task with this thread's affinity set to `cpus`, then pins the thread to its own CPU again. Fails with the
    /// error number if the system refuses either change.
    pub fn unbound<T>(&self, cpus: &CpuSet, task: impl FnOnce() -> T) -> Result<T, i32> {
        self.executor.set_mask(cpus)?;
        let done = task();
        self.executor.set_mask(&CpuSet::from_iter([self.cpu]))?;
        Ok(done)
    }

    /// CPU time of this thread so far, in nanoseconds. Costs a system call.
    pub fn cpu_ns(&self) -> Option<u64> {
        self.executor.cpu_ns()
    }
}

impl SpinBarrier {
    /// A barrier for this many roles.
    pub fn new(roles: usize) -> SpinBarrier {
        SpinBarrier { arrived: AtomicU64::new(0), roles: roles as u64 }
    }

    fn arrive(&self) {
        // Release pairs with the Acquire in `is_full`: a role that sees the full count sees what this role prepared.
        self.arrived.fetch_add(1, Release);
    }

    fn is_full(&self) -> bool {
        // Acquire pairs with the Release in `arrive`.
        self.arrived.load(Acquire) >= self.roles
    }
}
