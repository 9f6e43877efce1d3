//! [`Worker`]: a thread pinned to one CPU, which sleeps until it gets a task.

use super::affinity::{self, Hold, PinError};
use super::futex;
use super::priority::{self, Priority};
use coretalk_model::{CpuId, CpuSet};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Maximum wait for an idle worker to end, and for a busy one to become idle.
const MAX_WAIT: Duration = Duration::from_millis(500);

/// Task of a worker.
pub type WorkerTask = Box<dyn FnOnce() + Send>;

/// A pinned thread, which ends when dropped. A thread whose task never returns cannot be ended and is left behind.
#[derive(Debug)]
pub struct Worker {
    cpu: CpuId,
    number: i32,
    mailbox: Arc<Mailbox>,
    thread: Option<JoinHandle<()>>,
}

/// Why a worker could not be started.
#[derive(Debug)]
pub enum Unavailable {
    /// The system refused to create a thread.
    Spawn(io::Error),
    /// The thread could not be pinned.
    Pin(PinError),
    /// The requested priority was refused.
    Priority(io::Error),
    /// The thread does not run, because a thread of real-time priority occupies the CPU.
    Silent,
}

/// A started thread that has not yet reported its state.
#[derive(Debug)]
pub struct Starting {
    worker: Worker,
    report: mpsc::Receiver<Result<(String, i32), Unavailable>>,
}

/// Tasks of a worker. The alignment keeps measured lines off the mailbox's pair of cache lines.
#[derive(Debug, Default)]
#[repr(align(256))]
struct Mailbox {
    /// Number of tasks given. The worker sleeps on it.
    given: AtomicU32,
    /// Number of tasks done. Only the worker writes it.
    done: AtomicU32,
    hold: Hold,
    order: Mutex<Option<WorkerOrder>>,
}

enum WorkerOrder {
    Do(WorkerTask),
    Leave,
}

impl std::fmt::Debug for WorkerOrder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            WorkerOrder::Do(_) => "Do",
            WorkerOrder::Leave => "Leave",
        })
    }
}

impl Worker {
    /// Starts a thread that pins itself to `cpu`. Fails with [`Unavailable::Spawn`].
    pub fn start(cpu: CpuId, priority: Priority) -> Result<Starting, Unavailable> {
        let mailbox = Arc::new(Mailbox::default());
        let (ready, report) = mpsc::sync_channel(1);
        let thread_mailbox = Arc::clone(&mailbox);
        let thread = std::thread::Builder::new()
            .name(format!("cpu {cpu}"))
            .spawn(move || {
                thread_mailbox.hold.begin();
                let granted = affinity::pin_current_thread(cpu)
                    .map_err(Unavailable::Pin)
                    .and_then(|()| priority::apply(priority).map_err(Unavailable::Priority));
                let failed = granted.is_err();
                let granted = granted.map(|granted| (granted, affinity::current_thread()));
                // The creator waits for this message. If the creator is gone, nothing is left to do.
                if ready.send(granted).is_ok() && !failed {
                    thread_mailbox.serve();
                }
                thread_mailbox.hold.end();
            })
            .map_err(Unavailable::Spawn)?;
        let worker = Worker { cpu, number: 0, mailbox, thread: Some(thread) };
        Ok(Starting { worker, report })
    }

    /// CPU of the worker.
    pub fn cpu(&self) -> CpuId {
        self.cpu
    }

    /// Thread id.
    pub fn number(&self) -> i32 {
        self.number
    }

    /// Whether the thread is pinned to its CPU. Tries to pin it again if it was moved.
    pub fn is_held(&self) -> bool {
        let only = CpuSet::from_iter([self.cpu]);
        self.is_bound() || (affinity::set_mask_of(self.number, &only).is_ok() && self.is_bound())
    }

    /// Whether the affinity is the worker's CPU alone. The kernel widens the affinity when the CPU is removed.
    pub fn is_bound(&self) -> bool {
        let only = CpuSet::from_iter([self.cpu]);
        affinity::mask_of(self.number).is_ok_and(|mask| mask == only)
    }

    /// Gives a task to an idle worker. Returns the task if the worker is busy.
    pub fn give(&self, task: WorkerTask) -> Result<(), WorkerTask> {
        if !self.is_idle() {
            return Err(task);
        }
        self.mailbox.put(WorkerOrder::Do(task));
        Ok(())
    }

    /// Whether all tasks are done.
    pub fn is_idle(&self) -> bool {
        // Acquire pairs with the Release in `serve`, so an idle worker's writes are visible.
        self.mailbox.done.load(Acquire) == self.mailbox.given.load(Acquire)
    }

    /// Sleeps until the worker is idle, at most for `patience`. Returns whether it is idle.
    pub fn wait_idle(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        loop {
            let done = self.mailbox.done.load(Acquire);
            if done == self.mailbox.given.load(Acquire) {
                return true;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            futex::wait(&self.mailbox.done, done, Some(left));
        }
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            // Panics of tasks are caught. So the result of the thread carries no information.
            let _ = thread.join();
        }
    }
}

impl Starting {
    /// Returns the pinned worker and its actual priority. Fails if the worker is not ready by `end`. A thread that does
    /// not run leaves its CPU and ends.
    pub fn ready(mut self, end: Instant) -> Result<(Worker, String), Unavailable> {
        let answer = self.report.recv_timeout(end.saturating_duration_since(Instant::now()));
        let refused = match answer {
            Ok(Ok((granted, number))) => {
                self.worker.number = number;
                return Ok((self.worker, granted));
            }
            Ok(Err(refused)) => refused,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                self.worker.mailbox.hold.release(self.worker.cpu);
                self.worker.thread = None;
                return Err(Unavailable::Silent);
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                Unavailable::Spawn(io::Error::other("the thread exited before it was ready"))
            }
        };
        self.worker.join();
        Err(refused)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if self.thread.is_none() {
            return;
        }
        if self.wait_idle(MAX_WAIT) {
            self.mailbox.put(WorkerOrder::Leave);
            if self.wait_idle(MAX_WAIT) {
                return self.join();
            }
        }
        // A thread that never runs on its CPU would keep the process from ending.
        self.mailbox.hold.release(self.cpu);
    }
}

impl Mailbox {
    fn put(&self, order: WorkerOrder) {
        *self.order.lock().unwrap_or_else(PoisonError::into_inner) = Some(order);
        // Release pairs with the Acquire in `serve`. Only the owner of the `Worker` writes this counter.
        self.given.fetch_add(1, Release);
        futex::wake_all(&self.given);
    }

    fn serve(&self) {
        let mut done = 0u32;
        loop {
            while self.given.load(Acquire) == done {
                futex::wait(&self.given, done, None);
            }
            let order = self.order.lock().unwrap_or_else(PoisonError::into_inner).take();
            match order {
                Some(WorkerOrder::Leave) => {
                    self.done.store(done.wrapping_add(1), Release);
                    futex::wake_all(&self.done);
                    return;
                }
                // Tasks report panics themselves. The worker continues.
                Some(WorkerOrder::Do(task)) => drop(catch_unwind(AssertUnwindSafe(task))),
                None => {}
            }
            done = done.wrapping_add(1);
            self.done.store(done, Release);
            futex::wake_all(&self.done);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> CpuId {
        affinity::current_mask().unwrap().first().unwrap()
    }

    fn started(cpu: CpuId) -> Result<(Worker, String), Unavailable> {
        Worker::start(cpu, Priority::Inherited)?.ready(Instant::now() + Duration::from_secs(60))
    }

    #[test]
    fn a_thread_that_does_not_run_is_given_up() {
        // The message is never sent, as when another thread occupies the CPU.
        let (silent, report) = mpsc::sync_channel(1);
        let (worker, _) = started(here()).unwrap();
        let starting = Starting { worker, report };
        assert!(matches!(starting.ready(Instant::now()), Err(Unavailable::Silent)));
        drop(silent);
    }

    #[test]
    fn a_worker_works_on_its_cpu_and_survives_a_panic() {
        let (worker, granted) = started(here()).unwrap();
        assert!(!granted.is_empty());
        let (sender, receiver) = mpsc::channel();
        worker.give(Box::new(|| panic!("on purpose"))).ok().unwrap();
        assert!(worker.wait_idle(Duration::from_secs(10)));
        worker.give(Box::new(move || sender.send(affinity::current_cpu().unwrap()).unwrap())).ok().unwrap();
        assert_eq!(receiver.recv().unwrap(), here());
    }

    #[test]
    fn a_busy_worker_takes_no_second_task() {
        let (worker, _) = started(here()).unwrap();
        let (finish, finished) = mpsc::channel::<()>();
        let task = move || {
            let _ = finished.recv();
        };
        worker.give(Box::new(task)).ok().unwrap();
        assert!(worker.give(Box::new(|| ())).is_err());
        assert!(!worker.wait_idle(Duration::from_millis(1)));
        drop(finish);
        assert!(worker.wait_idle(Duration::from_secs(10)));
    }
}
