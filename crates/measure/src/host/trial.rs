//! [`Trial`]: one pair in one round, from the rendezvous of its roles to the recording.

use super::affinity;
use super::arena::Places;
use super::clock::sources;
use super::core_clock;
use super::evidence::Switches;
use super::memory::{self, Freshness};
use crate::counter;
use crate::kernel::Cost;
use crate::machine::{Sampling, SpanOrder, Walk};
use crate::stage::{Guard, Halt, Recorder, Stage};
use crate::trial_context::Apart;
use coretalk_model::{CpuId, Disturbance, Home, Picos, Recording, Samples, Span, TickRate, TrialFailure};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Single events of up to this many ticks are counted by value; about 6 µs at 2.6 GHz.
const BUCKETS: usize = 1 << 14;
/// Room for longer events, at most.
const MAX_BEYOND: u64 = 1 << 20;
/// Turns of a wait between two looks at the guard.
const TURNS: u32 = 1 << 12;

/// One trial, ready to run: nothing is allocated any more once it starts.
#[derive(Debug)]
pub struct Trial {
    placement: Vec<CpuId>,
    spans: Vec<Prepared>,
    limit: Picos,
    rate: TickRate,
    /// Why the roles should leave; see [`Guard::halt`].
    halt: Apart<AtomicU64>,
    /// How often a role has arrived at a gate: gate `k` is open when every role has arrived `k` times.
    arrivals: Apart<AtomicU32>,
    /// Each role locks its own log while it takes part, so that nobody ever waits.
    logs: Vec<Apart<Mutex<Log>>>,
}

/// One span with its lines.
#[derive(Debug)]
pub struct Prepared {
    /// What to do.
    pub order: SpanOrder,
    /// Whose memory the lines are.
    pub home: Home,
    /// The role that prepares them: the one whose CPU is on that node.
    pub home_role: usize,
    /// The lines.
    pub places: Places,
    /// How long to wait before it, so that periodic interrupts do not always meet the same part.
    pub phase_ns: f64,
}

/// What one role wrote down.
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
    /// Ticks of batches, or counts by ticks; empty on all but the recording role.
    numbers: Vec<u32>,
    beyond: Vec<u64>,
}

/// How the part of a role ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Finished,
    Halted(Halt),
    Panicked,
    CpuLost,
}

/// What is known of the surroundings of a trial, for its recording.
#[derive(Debug, Clone, Copy, Default)]
pub struct TrialConditions {
    /// Time that its CPUs lost to the host and to interrupts.
    pub lost_ms: Option<f32>,
    /// Whether the coordinating thread shares a CPU with it.
    pub coordinator_shared: bool,
    /// Whether something else ran on a sibling of its cores.
    pub sibling_busy: bool,
    /// Whether a quota stopped the process, or heat slowed one of its CPUs, in the batch.
    pub throttled: bool,
}

impl Trial {
    /// A trial with all the memory that it will write to.
    pub fn new(placement: Vec<CpuId>, spans: Vec<Prepared>, rate: TickRate) -> Trial {
        let limit = limit(spans.iter().map(|span| span.order.round_trips()).sum());
        let logs = (0..placement.len())
            .map(|role| {
                spans
                    .iter()
                    .map(|span| SpanLog::for_role(role, &span.order, rate.ticks(limit.ns())))
                    .collect()
            })
            .map(|spans| Apart(Mutex::new(Log { spans, ..Log::default() })))
            .collect();
        Trial { placement, spans, limit, rate, halt: Apart::default(), arrivals: Apart::default(), logs }
    }

    /// Which CPU each role runs on.
    pub fn placement(&self) -> &[CpuId] {
        &self.placement
    }

    /// How long it may take.
    pub fn limit(&self) -> Picos {
        self.limit
    }

    /// Tells every role to leave.
    pub fn give_up(&self, reason: Halt) {
        self.guard(0).give_up(reason);
    }

    /// Runs one role, on its CPU. Always returns if the role's own code does.
    pub fn take_part(&self, role: usize) {
        let mut log = lock(&self.logs[role].0);
        log.started = sources::monotonic();
        let cpu = self.placement[role];
        let ending = if at_home(cpu) { self.run_role(role, &mut log) } else { Ending::CpuLost };
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
        // A role that panics leaves its log as it is; the lock is not held by anyone who could see it half written.
        let spans = &mut log.spans;
        let ended = catch_unwind(AssertUnwindSafe(|| self.run_spans(role, &guard, spans)));
        log.core_ghz[1] = core_clock::probe(self.rate);
        log.switches = before.and_then(|before| Some(Switches::of_this_thread()?.since(before)));
        let cpu = self.placement[role];
        if affinity::current_cpu().ok() != Some(cpu) {
            log.migrated = true;
        }
        match ended {
            // The kernel widens the mask of a thread whose CPU it takes away (hot-unplug, a new cpuset).
            _ if !still_bound(cpu) => Ending::CpuLost,
            Err(_) => Ending::Panicked,
            Ok(Err(halt)) => Ending::Halted(halt),
            Ok(Ok(())) => Ending::Finished,
        }
    }

    fn run_spans(&self, role: usize, guard: &Guard<'_>, logs: &mut [SpanLog]) -> Result<(), Halt> {
        let mut gate = 0;
        for (span, log) in self.spans.iter().zip(logs) {
            gate += 1;
            self.meet(gate, guard)?;
            if role == span.home_role {
                wait_ticks(self.rate.ticks(span.phase_ns) as u64);
                memory::prepare(span.places.lines(), span.freshness());
            }
            gate += 1;
            self.meet(gate, guard)?;
            let mut stage = Stage {
                lines: span.places.lines(),
                warm_up: span.order.warm_up,
                recorder: log_recorder(&span.order, &mut log.numbers, &mut log.beyond),
                guard,
                verified: 0,
            };
            let ended = span.order.kernel.roles[role](&mut stage);
            log.verified = stage.verified;
            ended?;
            if log.verified < least_verified(&span.order) {
                // A role that says it is done before its time would leave the partner waiting for its answers.
                guard.give_up(Halt::Partner);
                return Err(Halt::Partner);
            }
        }
        Ok(())
    }

    /// Waits until every role has arrived at this gate.
    fn meet(&self, gate: u32, guard: &Guard<'_>) -> Result<(), Halt> {
        let everybody = gate * self.placement.len() as u32;
        // Release makes the writes of this role before the gate visible to every role that passes it; the Acquire load
        // below, and that of the last role to arrive, makes the writes of all others visible here.
        self.arrivals.0.fetch_add(1, AcqRel);
        loop {
            for _ in 0..TURNS {
                if self.arrivals.0.load(Acquire) >= everybody {
                    return Ok(());
                }
                std::hint::spin_loop();
            }
            // A role that has not arrived by now may be waiting for a CPU that this role occupies with polling.
            std::thread::yield_now();
            guard.check()?;
        }
    }

    fn guard(&self, deadline_ticks: u64) -> Guard<'_> {
        Guard { halt: &self.halt.0, deadline_ticks, now_ticks: counter::now_ticks }
    }

    /// The CPUs whose roles have not left.
    pub fn absent(&self) -> impl Iterator<Item = CpuId> {
        let left = |log: &Apart<Mutex<Log>>| match log.0.try_lock() {
            Ok(log) => log.ending.is_some(),
            Err(TryLockError::Poisoned(log)) => log.get_ref().ending.is_some(),
            Err(TryLockError::WouldBlock) => false,
        };
        self.placement.iter().zip(&self.logs).filter(move |(_, log)| !left(log)).map(|(&cpu, _)| cpu)
    }

    /// The recording, or why there is none, once every role has left or is given up.
    ///
    /// # Errors
    /// The reason, in the order in which one explains the other: a CPU that is gone, a thread that is, the deadline,
    /// the request to stop, counts that differ.
    pub fn outcome(&self, conditions: TrialConditions) -> Result<Recording, TrialFailure> {
        let mut logs = Vec::with_capacity(self.logs.len());
        for (role, log) in self.logs.iter().enumerate() {
            let cpu = self.placement[role];
            match log.0.try_lock() {
                Ok(log) if log.ending.is_some() => logs.push(log),
                Err(TryLockError::Poisoned(log)) if log.get_ref().ending.is_some() => {
                    logs.push(log.into_inner())
                }
                // Never begun, or not back although it was told to leave.
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
        let sum = |of: fn(&Switches) -> u32| switches.as_ref().map(|all| all.iter().map(of).sum());
        let disturbance = Disturbance {
            involuntary_switches: sum(|switches| switches.involuntary),
            voluntary_switches: sum(|switches| switches.voluntary),
            migrated: logs.iter().any(|log| log.migrated),
            steal_ms: conditions.lost_ms,
            coordinator_shared: conditions.coordinator_shared,
            sibling_busy: conditions.sibling_busy,
            throttled: conditions.throttled,
            lines_elsewhere: self.spans.iter().any(|span| span.places.is_elsewhere()),
            // Known once the window of the accounts ends that it lies in: see `HostMachine`.
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

    /// When it began and ended, as far as a role has written it down.
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
        // The initiator records.
        if role != 0 {
            return SpanLog::default();
        }
        match order.sampling {
            Sampling::Batches { .. } => {
                SpanLog { numbers: touched(order.samples() as usize), ..SpanLog::default() }
            }
            Sampling::Events { round_trips } => {
                // No more events of that length fit before the deadline.
                let longest = (limit_ticks / BUCKETS as f64) as u64 + 1;
                let mut beyond = touched(round_trips.min(longest).min(MAX_BEYOND) as usize);
                beyond.clear();
                SpanLog { numbers: touched(BUCKETS), beyond, ..SpanLog::default() }
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

/// Zeros whose pages exist: fresh memory from the allocator would fault inside the timed span.
fn touched<T: Copy + From<u8>>(length: usize) -> Vec<T> {
    let mut numbers = vec![T::from(1); length];
    std::hint::black_box(&mut numbers).fill(T::from(0));
    numbers
}

/// At least two seconds, and 10 µs for each round trip: ten times what the slowest known interconnect takes.
fn limit(round_trips: u64) -> Picos {
    Picos::from_ms(2000).max(Picos(round_trips.saturating_mul(10_000_000)))
}

fn log_recorder<'a>(order: &SpanOrder, numbers: &'a mut [u32], beyond: &'a mut Vec<u64>) -> Recorder<'a> {
    match (order.sampling, order.walk) {
        // A place that is visited again and again is one place with more visits, so that its protocol goes on
        // counting where it was.
        (Sampling::Batches { visits, round_trips }, Walk::OnePlace) => {
            Recorder::Batches { visits: visits.saturating_mul(order.lines), round_trips, ticks: numbers }
        }
        (Sampling::Batches { visits, round_trips }, Walk::FreshRuns) => {
            Recorder::Batches { visits, round_trips, ticks: numbers }
        }
        (Sampling::Events { round_trips }, _) => Recorder::Events { round_trips, buckets: numbers, beyond },
    }
}

/// Hand-overs that both sides must have counted at least; kernels add untimed ones of their own.
fn least_verified(order: &SpanOrder) -> u64 {
    match (order.kernel.cost, order.sampling) {
        (Cost::PingPong { .. } | Cost::Stamp { .. }, _) => order.round_trips(),
        // Its operations are reads, and a hand-over makes as many lines dirty as a batch needs.
        (Cost::Chase { .. }, Sampling::Batches { .. }) => order.samples(),
        (Cost::Chase { .. }, Sampling::Events { round_trips }) => round_trips.min(1),
    }
}

/// Whether the thread is on its CPU and bound to it; sends it back once if something moved it.
fn at_home(cpu: CpuId) -> bool {
    let there = still_bound(cpu) && affinity::current_cpu().ok() == Some(cpu);
    there || affinity::pin_current_thread(cpu).is_ok()
}

fn still_bound(cpu: CpuId) -> bool {
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
