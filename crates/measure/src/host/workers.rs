//! [`Workers`]: the workers of a run, one on each CPU.

use super::priority::Priority;
use super::worker::{Unavailable, Worker};
use super::{affinity, core_clock};
use crate::machine::{MachineError, WorkerSettings};
use coretalk_model::{CpuId, CpuSet, TickRate};
use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How long a small task (touching memory, one exchange of stamps) may take before its worker counts as lost.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long all threads together may take to be on their CPUs. A busy CPU lets a new thread run within a tenth of a second;
/// where one of real-time priority keeps it, a thread waits for ever.
const START: Duration = Duration::from_secs(5);

/// One worker for each CPU that takes one.
#[derive(Debug)]
pub struct Workers {
    workers: BTreeMap<CpuId, Worker>,
    /// CPUs that did not run the thread that was started for them.
    silent: CpuSet,
    priority: String,
}

impl Workers {
    /// Starts a worker on every CPU that takes one, and lets its core reach its frequency.
    ///
    /// # Errors
    /// [`MachineError::Priority`] or [`MachineError::Spawn`] for the first worker that could not take its place, or
    /// [`MachineError::Pin`] or [`MachineError::Silent`] where no CPU takes one; there are none then.
    pub fn start(
        settings: &WorkerSettings,
        usable: &CpuSet,
        rate: TickRate,
    ) -> Result<Workers, MachineError> {
        let priority = Priority::of(settings, usable)?;
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
                // It costs its own cells, and not the run.
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
            // A worker that has just started is idle, so it takes the task.
            let _ = worker.give(Box::new(move || core_clock::ramp_up(rate)));
        }
        for worker in all.workers.values() {
            worker.wait_idle(PATIENCE);
        }
        Ok(all)
    }

    /// What priority the workers have.
    pub fn priority(&self) -> &str {
        &self.priority
    }

    /// The worker on a CPU.
    pub fn worker(&self, cpu: CpuId) -> Option<&Worker> {
        self.workers.get(&cpu)
    }

    /// Whether the CPU did not run the thread that was started for it.
    pub fn is_silent(&self, cpu: CpuId) -> bool {
        self.silent.contains(cpu)
    }

    /// Whether a worker is held on a CPU.
    pub fn holds(&self, cpu: CpuId) -> bool {
        self.worker(cpu).is_some_and(Worker::is_held)
    }

    /// The CPUs that have a worker.
    pub fn cpus(&self) -> CpuSet {
        self.workers.keys().copied().collect()
    }

    /// Has a small task done on a CPU; `None` where there is no idle worker or no answer. Afterwards the worker is idle.
    pub fn run_on<T: Send + 'static>(
        &self,
        cpu: CpuId,
        task: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let worker = self.worker(cpu)?;
        worker.wait_idle(PATIENCE);
        let (tell, told) = mpsc::sync_channel(1);
        // Nobody may be listening any more; then the answer is of no interest.
        worker.give(Box::new(move || drop(tell.send(task())))).ok()?;
        let answer = told.recv_timeout(PATIENCE).ok();
        // The answer comes before the worker is idle again. Whoever gave it a trial in between would be refused,
        // and a host that takes the CPU away just then makes that moment as long as it likes.
        worker.wait_idle(PATIENCE);
        answer
    }
}

/// Keeps the coordinating thread away from measured cores while it lives, and puts its mask back afterwards.
#[derive(Debug)]
pub struct CoordinatorMask {
    before: CpuSet,
}

impl CoordinatorMask {
    /// Moves the calling thread to what `room` its own mask has; `None` where that is nothing, and the thread has to
    /// share.
    pub fn move_within(room: &CpuSet) -> Option<CoordinatorMask> {
        let before = affinity::current_mask().ok()?;
        let room = before.intersection(room);
        if room.is_empty() {
            return None;
        }
        affinity::set_mask(&room).ok()?;
        Some(CoordinatorMask { before })
    }

    /// Moves the calling thread to these CPUs, whether its own mask has them or not; `None` where it may not go there.
    pub fn move_to(cpus: &CpuSet) -> Option<CoordinatorMask> {
        let before = affinity::current_mask().ok()?;
        affinity::set_mask(cpus).ok()?;
        Some(CoordinatorMask { before })
    }
}

impl Drop for CoordinatorMask {
    fn drop(&mut self) {
        // Fails only where every CPU of the old mask has been taken away, and then nothing can be put back.
        let _ = affinity::set_mask(&self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretalk_model::TickRate;

    #[test]
    fn whoever_has_answered_can_be_given_the_next_task_at_once() {
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
