//! [`HostTrial`]: one pair in one round.

use super::affinity;
use super::arena::Places;
use super::clock::sources;
use super::core_clock;
use super::evidence::Switches;
use super::memory::{self, Freshness};
use crate::counter;
use crate::kernel::Cost;
use crate::kernel_context::{Guard, Halt, KernelContext, Recorder};
use crate::machine::{Sampling, SpanOrder, Walk};
use crate::trial_context::CachePadded;
use coretalk_model::{CpuId, Disturbance, Home, Picos, Recording, Samples, Span, TickRate, TrialFailure};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Number of buckets, one per tick. Events with fewer ticks than this (up to about 6 µs at 2.6 GHz) are counted by
/// duration.
const BUCKETS: usize = 1 << 14;
const MAX_BEYOND: u64 = 1 << 20;
const POLLS_PER_YIELD: u32 = 1 << 12;

/// A prepared trial. It allocates no memory after it starts.
#[derive(Debug)]
pub struct HostTrial {
    placement: Vec<CpuId>,
    spans: Vec<Prepared>,
    limit: Picos,
    rate: TickRate,
    halt: CachePadded<AtomicU64>,
    /// Arrivals of all roles at gates. Gate `k` opens when every role has arrived `k` times.
    arrivals: CachePadded<AtomicU32>,
    /// Log of each role. The role holds the lock during the trial, without contention.
    logs: Vec<CachePadded<Mutex<Log>>>,
}

#[derive(Debug)]
pub struct Prepared {
    pub order: SpanOrder,
    pub home: Home,
    /// Role that prepares the lines. Its CPU is on the home node.
    pub home_role: usize,
    pub places: Places,
    /// Delay before the span. It keeps periodic interrupts from always hitting the same part.
    pub phase_ns: f64,
}

#[derive(Debug, Default)]
struct Log {
    ending: Option<Ending>,
    started: Picos,
    ended: Picos,
    core_ghz: [Option<f64>; 2],
    switches: Option<Switches>,
    migrated: bool,
    spans: Vec<SpanLog>,
}

#[derive(Debug, Default)]
struct SpanLog {
    verified: u64,
    /// Ticks of batches, or event counts by ticks. Empty except for the recording role.
    numbers: Vec<u32>,
    beyond: Vec<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Finished,
    Halted(Halt),
    Panicked,
    CpuLost,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct TrialConditions {
    /// Time that the CPUs of the trial lost to the hypervisor and to interrupts.
    pub lost_ms: Option<f32>,
    pub coordinator_shared: bool,
    pub sibling_busy: bool,
    pub throttled: bool,
}

impl HostTrial {
    pub fn new(placement: Vec<CpuId>, spans: Vec<Prepared>, rate: TickRate) -> HostTrial {
        let limit = limit(spans.iter().map(|span| span.order.round_trips()).sum());
        let logs = (0..placement.len())
            .map(|role| {
                spans
                    .iter()
                    .map(|span| SpanLog::for_role(role, &span.order, rate.ticks(limit.ns())))
                    .collect()
            })
            .map(|spans| CachePadded(Mutex::new(Log { spans, ..Log::default() })))
            .collect();
        HostTrial {
            placement,
            spans,
            limit,
            rate,
            halt: CachePadded::default(),
            arrivals: CachePadded::default(),
            logs,
        }
    }

    pub fn placement(&self) -> &[CpuId] {
        &self.placement
    }

    pub fn limit(&self) -> Picos {
        self.limit
    }

    pub fn give_up(&self, reason: Halt) {
        self.guard(0).give_up(reason);
    }

    /// Runs one role on its CPU. Returns after the role's code has returned.
    pub fn take_part(&self, role: usize) {
        let mut log = lock(&self.logs[role].0);
        log.started = sources::monotonic();
        let cpu = self.placement[role];
        let ending = if ensure_pinned(cpu) { self.run_role(role, &mut log) } else { Ending::CpuLost };
        log.ending = Some(ending);
        if ending != Ending::Finished {
            self.give_up(Halt::Partner);
        }
        log.ended = sources::monotonic();
    }

    fn run_role(&self, role: usize, log: &mut Log) -> Ending {
        let guard = self.guard(counter::now_ticks().saturating_add(self.rate.ticks(self.limit.ns()) as u64));
        let before = Switches::of_this_thread();
        log.core_ghz[0] = core_clock::probe(self.rate);
        // A role that panics leaves its log as it is. No thread reads the log while the lock is held.
        let spans = &mut log.spans;
        let ended = catch_unwind(AssertUnwindSafe(|| self.run_spans(role, &guard, spans)));
        log.core_ghz[1] = core_clock::probe(self.rate);
        log.switches = before.and_then(|before| Some(Switches::of_this_thread()?.since(before)));
        let cpu = self.placement[role];
        if affinity::current_cpu().ok() != Some(cpu) {
            log.migrated = true;
        }
        match ended {
            // The kernel widens the affinity of a thread if its CPU is removed (hot-unplug, a new cpuset).
            _ if !is_pinned(cpu) => Ending::CpuLost,
            Err(_) => Ending::Panicked,
            Ok(Err(halt)) => Ending::Halted(halt),
            Ok(Ok(())) => Ending::Finished,
        }
    }

    fn run_spans(&self, role: usize, guard: &Guard<'_>, logs: &mut [SpanLog]) -> Result<(), Halt> {
        let mut gate = 0;
        for (span, log) in self.spans.iter().zip(logs) {
            gate += 1;
            self.wait_at_gate(gate, guard)?;
            if role == span.home_role {
                wait_ticks(self.rate.ticks(span.phase_ns) as u64);
                memory::prepare(span.places.lines(), span.freshness());
            }
            gate += 1;
            self.wait_at_gate(gate, guard)?;
            let mut context = KernelContext {
                lines: span.places.lines(),
                warm_up: span.order.warm_up,
                recorder: log_recorder(&span.order, &mut log.numbers, &mut log.beyond),
                guard,
                verified: 0,
            };
            let ended = span.order.kernel.roles[role](&mut context);
            log.verified = context.verified;
            ended?;
            if log.verified < least_verified(&span.order) {
                // Without this, the partner of a role that returns too early would wait forever.
                guard.give_up(Halt::Partner);
                return Err(Halt::Partner);
            }
        }
        Ok(())
    }

    fn wait_at_gate(&self, gate: u32, guard: &Guard<'_>) -> Result<(), Halt> {
        let all_arrived = gate * self.placement.len() as u32;
        // Release shows this role's writes before the gate to every role that passes the gate. The Acquire load below
        // makes the writes of all other roles before the gate visible to this role. For the last role to arrive, the
        // Acquire of its own increment does.
        self.arrivals.0.fetch_add(1, AcqRel);
        loop {
            for _ in 0..POLLS_PER_YIELD {
                if self.arrivals.0.load(Acquire) >= all_arrived {
                    return Ok(());
                }
                std::hint::spin_loop();
            }
            // A missing role may wait for the CPU on which this role polls.
            std::thread::yield_now();
            guard.check()?;
        }
    }

    fn guard(&self, deadline_ticks: u64) -> Guard<'_> {
        Guard { halt: &self.halt.0, deadline_ticks, now_ticks: counter::now_ticks }
    }

    pub fn absent(&self) -> impl Iterator<Item = CpuId> {
        let has_left = |log: &CachePadded<Mutex<Log>>| match log.0.try_lock() {
            Ok(log) => log.ending.is_some(),
            Err(TryLockError::Poisoned(log)) => log.get_ref().ending.is_some(),
            Err(TryLockError::WouldBlock) => false,
        };
        self.placement.iter().zip(&self.logs).filter(move |(_, log)| !has_left(log)).map(|(&cpu, _)| cpu)
    }

    /// The recording, after every role has left or was given up. Returns the first of these failures: lost CPU, lost
    /// thread, deadline, stop flag, differing counts. Each explains the later ones.
    pub fn outcome(&self, conditions: TrialConditions) -> Result<Recording, TrialFailure> {
        let mut logs = Vec::with_capacity(self.logs.len());
        for (role, log) in self.logs.iter().enumerate() {
            let cpu = self.placement[role];
            match log.0.try_lock() {
                Ok(log) if log.ending.is_some() => logs.push(log),
                Err(TryLockError::Poisoned(log)) if log.get_ref().ending.is_some() => {
                    logs.push(log.into_inner())
                }
                // The role never began, or did not leave when told to.
                _ => return Err(TrialFailure::PartnerLost { cpu }),
            }
        }
        let first = |wanted: Ending| logs.iter().position(|log| log.ending == Some(wanted));
        if let Some(role) = first(Ending::CpuLost) {
            return Err(TrialFailure::CpuLost { cpu: self.placement[role] });
        }
        if let Some(role) = first(Ending::Panicked) {
            return Err(TrialFailure::PartnerLost { cpu: self.placement[role] });
        }
        if first(Ending::Halted(Halt::Deadline)).is_some() {
            return Err(TrialFailure::TimedOut { limit: self.limit });
        }
        if first(Ending::Halted(Halt::Stopped)).is_some() {
            return Err(TrialFailure::Interrupted);
        }
        for (index, span) in self.spans.iter().enumerate() {
            let verified = |role: usize| logs[role].spans[index].verified;
            let least = least_verified(&span.order);
            if let Some(other) =
                (0..logs.len()).find(|&role| verified(role) != verified(0) || verified(role) < least)
            {
                let partner = if other == 0 { 1.min(logs.len() - 1) } else { other };
                return Err(TrialFailure::Unverified { sent: verified(0), received: verified(partner) });
            }
        }
        if let Some(role) = first(Ending::Halted(Halt::Partner)) {
            return Err(TrialFailure::PartnerLost { cpu: self.placement[role] });
        }
        Ok(self.recording(&mut logs, conditions))
    }

    fn recording(&self, logs: &mut [MutexGuard<'_, Log>], conditions: TrialConditions) -> Recording {
        let started = logs.iter().map(|log| log.started).min().unwrap_or_default();
        let ended = logs.iter().map(|log| log.ended).max().unwrap_or_default();
        let switches: Option<Vec<Switches>> = logs.iter().map(|log| log.switches).collect();
        let sum = |count: fn(&Switches) -> u32| switches.as_ref().map(|all| all.iter().map(count).sum());
        let disturbance = Disturbance {
            involuntary_switches: sum(|switches| switches.involuntary),
            voluntary_switches: sum(|switches| switches.voluntary),
            migrated: logs.iter().any(|log| log.migrated),
            steal_ms: conditions.lost_ms,
            coordinator_shared: conditions.coordinator_shared,
            sibling_busy: conditions.sibling_busy,
            throttled: conditions.throttled,
            lines_elsewhere: self.spans.iter().any(|span| span.places.is_elsewhere()),
            // `HostMachine` fills this in at the end of the accounting window.
            others_busy: false,
            quota: false,
        };
        let core_ghz =
            logs.iter().map(|log| Some([log.core_ghz[0]? as f32, log.core_ghz[1]? as f32])).collect();
        let recorder = &mut logs[0];
        let spans = self
            .spans
            .iter()
            .zip(&mut recorder.spans)
            .map(|(span, log)| Span {
                kernel: span.order.kernel.id.clone(),
                home: span.home,
                round_trips: match span.order.sampling {
                    Sampling::Batches { round_trips, .. } => round_trips,
                    Sampling::Events { .. } => 1,
                },
                samples: log.take_samples(&span.order),
            })
            .collect();
        Recording { started, elapsed: ended.saturating_sub(started), spans, core_ghz, disturbance }
    }

    pub fn times(&self) -> Option<(Picos, Picos)> {
        let logs: Vec<_> = self.logs.iter().filter_map(|log| log.0.try_lock().ok()).collect();
        let begun = logs.iter().filter(|log| log.ending.is_some());
        let started = begun.clone().map(|log| log.started).min()?;
        Some((started, begun.map(|log| log.ended).max()?))
    }
}

impl Prepared {
    fn freshness(&self) -> Freshness {
        match self.order.walk {
            Walk::FreshRuns => Freshness::Flushed,
            Walk::OnePlace => Freshness::Kept,
        }
    }
}

impl SpanLog {
    fn for_role(role: usize, order: &SpanOrder, limit_ticks: f64) -> SpanLog {
        if role != 0 {
            return SpanLog::default();
        }
        match order.sampling {
            Sampling::Batches { .. } => {
                SpanLog { numbers: resident_zeros(order.samples() as usize), ..SpanLog::default() }
            }
            Sampling::Events { round_trips } => {
                // Maximum number of events beyond the buckets before the deadline.
                let longest = (limit_ticks / BUCKETS as f64) as u64 + 1;
                let mut beyond = resident_zeros(round_trips.min(longest).min(MAX_BEYOND) as usize);
                beyond.clear();
                SpanLog { numbers: resident_zeros(BUCKETS), beyond, ..SpanLog::default() }
            }
        }
    }

    fn take_samples(&mut self, order: &SpanOrder) -> Samples {
        let numbers = std::mem::take(&mut self.numbers);
        match order.sampling {
            Sampling::Batches { visits, .. } => Samples::Batches { visits, ticks: numbers },
            Sampling::Events { .. } => {
                let mut counts: Vec<(u64, u64)> = numbers
                    .iter()
                    .enumerate()
                    .take(BUCKETS - 1)
                    .filter(|&(_, &count)| count > 0)
                    .map(|(ticks, &count)| (ticks as u64, u64::from(count)))
                    .collect();
                self.beyond.sort_unstable();
                counts.extend(self.beyond.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u64)));
                Samples::Counts { counts }
            }
        }
    }
}

/// Zeros in resident pages. New memory would cause page faults in the timed span.
fn resident_zeros<T: Copy + From<u8>>(length: usize) -> Vec<T> {
    let mut numbers = vec![T::from(1); length];
    std::hint::black_box(&mut numbers).fill(T::from(0));
    numbers
}

/// Time limit: at least two seconds, and 10 µs per round trip, ten times the slowest known interconnect.
fn limit(round_trips: u64) -> Picos {
    Picos::from_ms(2000).max(Picos(round_trips.saturating_mul(10_000_000)))
}

fn log_recorder<'a>(order: &SpanOrder, numbers: &'a mut [u32], beyond: &'a mut Vec<u64>) -> Recorder<'a> {
    match (order.sampling, order.walk) {
        // With one place, the lines of the order become additional visits. So the protocol's counter continues.
        (Sampling::Batches { visits, round_trips }, Walk::OnePlace) => {
            Recorder::Batches { visits: visits.saturating_mul(order.lines), round_trips, ticks: numbers }
        }
        (Sampling::Batches { visits, round_trips }, Walk::FreshRuns) => {
            Recorder::Batches { visits, round_trips, ticks: numbers }
        }
        (Sampling::Events { round_trips }, _) => Recorder::Events { round_trips, buckets: numbers, beyond },
    }
}

/// Minimum number of handoffs that each side must have counted. Kernels add untimed handoffs.
fn least_verified(order: &SpanOrder) -> u64 {
    match (order.kernel.cost, order.sampling) {
        (Cost::PingPong { .. } | Cost::Stamp { .. }, _) => order.round_trips(),
        // The operations of a chase are reads. One handoff dirties all lines of a batch.
        (Cost::Chase { .. }, Sampling::Batches { .. }) => order.samples(),
        (Cost::Chase { .. }, Sampling::Events { round_trips }) => round_trips.min(1),
    }
}

/// Pins the thread again if it was moved. Returns whether it is pinned to its CPU and runs there.
fn ensure_pinned(cpu: CpuId) -> bool {
    let there = is_pinned(cpu) && affinity::current_cpu().ok() == Some(cpu);
    there || affinity::pin_current_thread(cpu).is_ok()
}

fn is_pinned(cpu: CpuId) -> bool {
    affinity::current_mask().is_ok_and(|mask| mask.len() == 1 && mask.contains(cpu))
}

fn wait_ticks(ticks: u64) {
    let begun = counter::now_ticks();
    while counter::now_ticks().saturating_sub(begun) < ticks {
        std::hint::spin_loop();
    }
}

fn lock(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}
