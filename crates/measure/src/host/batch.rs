//! [`Batch`]: a sequence of rounds that the workers run without the coordinating thread.
//!
//! The whole schedule is published first. The last role that finishes a round releases the next round: it writes the
//! number of that round to each worker. The coordinating thread sleeps meanwhile. A waiting worker polls its own cache
//! line briefly and then sleeps. So an idle CPU, such as an SMT sibling, does not disturb the round.

use super::clock::sources;
use super::futex;
use super::trial::HostTrial;
use crate::kernel_context::Halt;
use crate::stop::Stop;
use crate::trial_context::CachePadded;
use coretalk_model::{CpuId, CpuSet, Picos, TrialFailure};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

/// Spin hints before a waiting worker sleeps: about 50 µs.
const HINTS: u32 = 2_000;

#[derive(Debug)]
pub struct Batch {
    rounds: Vec<RunningRound>,
    workers: BTreeMap<CpuId, WorkerState>,
    stop: Stop,
    completed: CachePadded<AtomicU32>,
    /// 1 once no further round will be released. The coordinating thread sleeps on it.
    over: CachePadded<AtomicU32>,
}

#[derive(Debug)]
struct RunningRound {
    trials: Vec<Result<HostTrial, TrialFailure>>,
    remaining: CachePadded<AtomicU32>,
    released_at: AtomicU64,
}

#[derive(Debug, Default)]
struct WorkerState {
    /// Round, trial and role.
    roles: Vec<(usize, usize, usize)>,
    wake: CachePadded<WakeWord>,
}

#[derive(Debug, Default)]
struct WakeWord {
    /// Number of the last released round of this worker, counted from 1. `u32::MAX` ends the batch.
    released: AtomicU32,
    asleep: AtomicU32,
}

impl Batch {
    pub fn new(rounds: Vec<Vec<Result<HostTrial, TrialFailure>>>, stop: Stop) -> Batch {
        let mut workers: BTreeMap<CpuId, WorkerState> = BTreeMap::new();
        let mut running = Vec::with_capacity(rounds.len());
        for (round, trials) in rounds.into_iter().enumerate() {
            let mut roles = 0;
            for (index, trial) in trials.iter().enumerate() {
                for (role, &cpu) in trial.iter().flat_map(HostTrial::placement).enumerate() {
                    workers.entry(cpu).or_default().roles.push((round, index, role));
                    roles += 1;
                }
            }
            running.push(RunningRound {
                trials,
                remaining: CachePadded(AtomicU32::new(roles)),
                released_at: AtomicU64::new(0),
            });
        }
        Batch {
            rounds: running,
            workers,
            stop,
            completed: CachePadded::default(),
            over: CachePadded::default(),
        }
    }

    pub fn cpus(&self) -> impl Iterator<Item = CpuId> {
        self.workers.keys().copied()
    }

    /// Releases the first round. Must be called after every worker got its task.
    pub fn begin(&self) {
        self.release(0);
    }

    pub fn take_part(&self, cpu: CpuId) {
        let Some(worker) = self.workers.get(&cpu) else { return };
        for &(round, trial, role) in &worker.roles {
            worker.wake.0.wait_for(round as u32 + 1);
            if self.is_over() {
                return;
            }
            let running = &self.rounds[round];
            if let Ok(trial) = &running.trials[trial] {
                trial.take_part(role);
            }
            // Release publishes this role's log. Acquire shows all logs to the role that finishes the round.
            if running.remaining.0.fetch_sub(1, AcqRel) == 1 {
                self.completed.0.store(round as u32 + 1, Release);
                self.release(round + 1);
            }
        }
    }

    /// Releases the first round from `next` on that has roles. Ends the batch if there is no such round.
    fn release(&self, next: usize) {
        let mut next = next;
        while self.rounds.get(next).is_some_and(|round| round.remaining.0.load(Relaxed) == 0) {
            next += 1;
            self.completed.0.store(next as u32, Release);
        }
        let Some(round) = self.rounds.get(next).filter(|_| !self.stop.is_raised()) else {
            return self.end();
        };
        round.released_at.store(sources::monotonic().0, Relaxed);
        for cpu in round.trials.iter().flatten().flat_map(HostTrial::placement) {
            if let Some(worker) = self.workers.get(cpu) {
                worker.wake.0.release(next as u32 + 1);
            }
        }
    }

    /// Ends the batch: no further round begins, and all waiting workers leave.
    pub fn end(&self) {
        // Release pairs with the Acquire in `is_over`.
        self.over.0.store(1, Release);
        self.workers.values().for_each(|worker| worker.wake.0.release(u32::MAX));
        futex::wake_all(&self.over.0);
    }

    pub fn is_over(&self) -> bool {
        self.over.0.load(Acquire) == 1
    }

    pub fn sleep(&self, timeout: Duration) {
        if !self.is_over() {
            futex::wait(&self.over.0, 0, Some(timeout));
        }
    }

    pub fn completed(&self) -> usize {
        self.completed.0.load(Acquire) as usize
    }

    pub fn give_up(&self, reason: Halt) {
        for round in &self.rounds {
            round.trials.iter().flatten().for_each(|trial| trial.give_up(reason));
        }
    }

    pub fn give_up_round(&self, round: usize, reason: Halt) {
        self.trials(round).iter().flatten().for_each(|trial| trial.give_up(reason));
    }

    /// Tells the roles of every trial with this CPU to leave.
    pub fn give_up_cpu(&self, cpu: CpuId, reason: Halt) {
        let trials = self.rounds.iter().flat_map(|round| round.trials.iter().flatten());
        trials.filter(|trial| trial.placement().contains(&cpu)).for_each(|trial| trial.give_up(reason));
    }

    /// Time by which the current round exceeds the limit of its slowest trial.
    pub fn overdue(&self) -> Option<Picos> {
        let limit = self.trials(self.completed()).iter().flatten().map(HostTrial::limit).max()?;
        let elapsed = self.elapsed()?;
        (elapsed > limit).then(|| elapsed.saturating_sub(limit))
    }

    pub fn elapsed(&self) -> Option<Picos> {
        let released_at = Picos(self.rounds.get(self.completed())?.released_at.load(Relaxed));
        (released_at > Picos::ZERO).then(|| sources::monotonic().saturating_sub(released_at))
    }

    pub fn absent(&self, round: usize) -> CpuSet {
        self.trials(round).iter().flatten().flat_map(HostTrial::absent).collect()
    }

    pub fn trials(&self, round: usize) -> &[Result<HostTrial, TrialFailure>] {
        self.rounds.get(round).map_or(&[], |round| &round.trials)
    }
}

impl WakeWord {
    fn wait_for(&self, round: u32) {
        for hint in 0..HINTS {
            // Every eighth hint only, which reduces the accesses to the line.
            if hint % 8 == 0 && self.released.load(Acquire) >= round {
                return;
            }
            std::hint::spin_loop();
        }
        // SeqCst orders four accesses: this store and the load in the loop, and the store and the load in `release`. So
        // this thread sees the number, or the releasing thread sees `asleep` and wakes this thread.
        self.asleep.store(1, SeqCst);
        loop {
            let released = self.released.load(SeqCst);
            if released >= round {
                break;
            }
            futex::wait(&self.released, released, None);
        }
        self.asleep.store(0, Relaxed);
    }

    fn release(&self, round: u32) {
        // The maximum keeps a release from overwriting the end of the batch (`u32::MAX`).
        self.released.fetch_max(round, SeqCst);
        if self.asleep.load(SeqCst) == 1 {
            futex::wake_all(&self.released);
        }
    }
}
