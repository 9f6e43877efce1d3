//! Threads of a workload, each on the CPU of its role.

use super::{Job, WorkError};
use crate::host::affinity;
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// Runs a closure in each of the job's threads, which begin together; says how long that took, and what each returned.
///
/// # Errors
/// A thread could not be started or placed.
pub fn together<R: Send>(
    job: &Job,
    role: impl Fn(usize, Instant) -> R + Sync,
) -> Result<(Duration, Vec<R>), WorkError> {
    together_by(job, job.threads, role)
}

/// [`together`] by another number of threads than the job says.
///
/// # Errors
/// As [`together`].
pub fn together_by<R: Send>(
    job: &Job,
    threads: usize,
    role: impl Fn(usize, Instant) -> R + Sync,
) -> Result<(Duration, Vec<R>), WorkError> {
    let start = Barrier::new(threads);
    let task = |number: usize| -> Result<(Instant, R, Instant), WorkError> {
        let placed = match job.cpus.is_empty() {
            true => Ok(()),
            false => affinity::pin_current_thread(job.cpus[number % job.cpus.len()]),
        };
        // Everybody comes to the start, or the others would wait for ever.
        start.wait();
        placed.map_err(WorkError::NotPinned)?;
        let begun = Instant::now();
        let result = role(number, begun);
        Ok((begun, result, Instant::now()))
    };
    std::thread::scope(|scope| {
        // All are spawned before the first can be refused: a limit on threads ends this process, whose parent says so.
        let running: Vec<_> = (0..threads)
            .map(|number| {
                scope.spawn({
                    let task = &task;
                    move || task(number)
                })
            })
            .collect();
        let mut done = Vec::with_capacity(threads);
        for thread in running {
            done.push(thread.join().map_err(|_| WorkError::ThreadEnded)??);
        }
        let begun = done.iter().map(|(begun, ..)| *begun).min();
        let ended = done.iter().map(|(.., ended)| *ended).max();
        let elapsed = begun.zip(ended).map_or(Duration::ZERO, |(begun, ended)| ended - begun);
        Ok((elapsed, done.into_iter().map(|(_, result, _)| result).collect()))
    })
}

/// Looks at something again and again; gives the CPU away after a while, since the one that it waits for may need it.
pub fn spin_until(mut done: impl FnMut() -> bool) {
    const POLLS: u32 = 200;
    let mut polls = 0;
    while !done() {
        polls += 1;
        if polls < POLLS {
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
}
