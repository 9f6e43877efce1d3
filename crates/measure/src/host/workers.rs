//! [`Workers`]: the workers of a run, one per CPU.

use super::priority::Priority;
use super::worker::{Unavailable, Worker};
use super::{affinity, core_clock};
use crate::machine::{MachineError, WorkerSettings};
use coretalk_model::{CpuId, CpuSet, TickRate};
use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Time limit of a small task before its worker counts as lost.
const PATIENCE: Duration = Duration::from_secs(20);

/// Time limit for all threads to start. A busy CPU takes 0.1 s; a CPU occupied by a real-time thread may take forever.
const START: Duration = Duration::from_secs(5);

/// One worker on each CPU that accepts a thread.
#[derive(Debug)]
pub struct Workers {
    workers: BTreeMap<CpuId, Worker>,
    silent: CpuSet,
    priority: String,
}

impl Workers {
    /// Starts a worker on every CPU that accepts one, and lets the cores ramp up their clocks. Fails with
    /// [`MachineError::Priority`] or [`MachineError::Spawn`] if any worker fails for that reason, and with
    /// [`MachineError::Pin`] or [`MachineError::Silent`] if no CPU accepts a worker. On error, all workers are stopped.
    pub fn start(
        settings: &WorkerSettings,
        usable: &CpuSet,
        rate: TickRate,
    ) -> Result<Workers, MachineError> {
        let priority = Priority::from_settings(settings, usable)?;
        let (workers, silent) = (BTreeMap::new(), CpuSet::new());
        let mut all = Workers { workers, silent, priority: "normal".to_owned() };
        let mut refused = None;
        let cpus: CpuSet = settings.cpus.iter().copied().collect();
        let starting: Vec<_> = cpus.iter().map(|cpu| (cpu, Worker::start(cpu, priority))).collect();
        let end = Instant::now() + START;
        for (cpu, starting) in starting {
            match starting.and_then(|starting| starting.ready(end)) {
                Ok((worker, granted)) => {
                    all.workers.insert(cpu, worker);
                    all.priority = granted;
                }
                // A refused CPU loses its own results but does not end the run.
                Err(Unavailable::Pin(reason)) => refused = refused.or(Some((cpu, reason))),
                Err(Unavailable::Silent) => all.silent = all.silent.union(&CpuSet::from_iter([cpu])),
                Err(Unavailable::Spawn(source)) => return Err(MachineError::Spawn { cpu, source }),
                Err(Unavailable::Priority(reason)) => {
                    return Err(MachineError::Priority {
                        priority: priority.to_string(),
                        reason: format!("{reason}; it needs CAP_SYS_NICE or a higher resource limit"),
                    });
                }
            }
        }
        if let (true, Some((cpu, reason))) = (all.workers.is_empty(), refused) {
            return Err(MachineError::Pin { cpu, allowed: usable.clone(), source: reason.into_io() });
        }
        if all.workers.is_empty() && !all.silent.is_empty() {
            return Err(MachineError::Silent { cpus: all.silent });
        }
        for worker in all.workers.values() {
            // Cannot fail: a new worker is idle.
            let _ = worker.give(Box::new(move || core_clock::ramp_up(rate)));
        }
        for worker in all.workers.values() {
            worker.wait_idle(PATIENCE);
        }
        Ok(all)
    }

    /// Priority of the workers.
    pub fn priority(&self) -> &str {
        &self.priority
    }

    /// Worker on a CPU.
    pub fn worker(&self, cpu: CpuId) -> Option<&Worker> {
        self.workers.get(&cpu)
    }

    /// Whether the CPU did not run the thread started for it.
    pub fn is_silent(&self, cpu: CpuId) -> bool {
        self.silent.contains(cpu)
    }

    /// Whether a worker is pinned to the CPU.
    pub fn holds(&self, cpu: CpuId) -> bool {
        self.worker(cpu).is_some_and(Worker::is_held)
    }

    /// CPUs with a worker.
    pub fn cpus(&self) -> CpuSet {
        self.workers.keys().copied().collect()
    }

    /// Runs a small task on a CPU; `None` without an idle worker or an answer. The worker is idle afterwards.
    pub fn run_on<T: Send + 'static>(
        &self,
        cpu: CpuId,
        task: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let worker = self.worker(cpu)?;
        worker.wait_idle(PATIENCE);
        let (sender, receiver) = mpsc::sync_channel(1);
        // The receiver may have given up. Then the answer is not needed.
        worker.give(Box::new(move || drop(sender.send(task())))).ok()?;
        let answer = receiver.recv_timeout(PATIENCE).ok();
        // The answer arrives before the worker is idle. A trial given in between would be refused. That time can be
        // long if the host takes the CPU away just then.
        worker.wait_idle(PATIENCE);
        answer
    }
}

/// Keeps the coordinating thread off measured cores. Restores its affinity when dropped.
#[derive(Debug)]
pub struct CoordinatorMask {
    before: CpuSet,
}

impl CoordinatorMask {
    /// Restricts the calling thread to the CPUs of its affinity in `room`; `None` if there are none.
    pub fn move_within(room: &CpuSet) -> Option<CoordinatorMask> {
        let before = affinity::current_mask().ok()?;
        let room = before.intersection(room);
        if room.is_empty() {
            return None;
        }
        affinity::set_mask(&room).ok()?;
        Some(CoordinatorMask { before })
    }

    /// Moves the calling thread to `cpus`, even outside its affinity; `None` if refused.
    pub fn move_to(cpus: &CpuSet) -> Option<CoordinatorMask> {
        let before = affinity::current_mask().ok()?;
        affinity::set_mask(cpus).ok()?;
        Some(CoordinatorMask { before })
    }
}

impl Drop for CoordinatorMask {
    fn drop(&mut self) {
        // Fails only if all CPUs of the old mask are gone. Then nothing can be restored.
        let _ = affinity::set_mask(&self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretalk_model::TickRate;

    #[test]
    fn a_worker_that_has_answered_is_idle() {
        let here = affinity::current_mask().unwrap();
        let cpu = here.first().unwrap();
        let settings = WorkerSettings { cpus: vec![cpu], ..WorkerSettings::default() };
        let workers = Workers::start(&settings, &here, TickRate { hz: 1e9 }).unwrap();
        for number in 0..2_000 {
            assert_eq!(workers.run_on(cpu, move || number), Some(number));
            assert!(workers.worker(cpu).is_some_and(Worker::is_idle), "after {number} answers");
        }
    }
}
