//! Pinned threads of a workload, and the lock workloads `threads-yield` and `mutex-array`.

use super::{Job, Numbers, WorkError};
use crate::events;
use crate::host::affinity;
use coretalk_model::stats::Key;
use std::sync::{Barrier, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Runs `role` in all threads of the job, which begin together. Returns the elapsed time and all results.
pub fn together<R: Send>(
    job: &Job,
    role: impl Fn(usize, Instant) -> R + Sync,
) -> Result<(Duration, Vec<R>), WorkError> {
    together_by(job, job.threads, role)
}

/// Does the same as [`together`], with another number of threads than the job has.
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
        // Every thread reaches the barrier. Otherwise the others would wait forever.
        start.wait();
        placed.map_err(WorkError::NotPinned)?;
        let begun = Instant::now();
        let result = role(number, begun);
        Ok((begun, result, Instant::now()))
    };
    std::thread::scope(|scope| {
        // If a spawn fails, the process panics and its parent reports it.
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

/// Polls a condition. After 200 polls it yields the CPU, which the awaited thread may need.
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

/// Locks per event of `threads-yield`, and its number of mutexes.
const LOCKS: usize = 1_000;
const MUTEXES: usize = 8;

/// Threads and mutexes of `mutex-array`.
const CROWD: usize = 64;
const ARRAY: usize = 4_096;

pub fn threads_yield(job: &Job) -> Result<Numbers, WorkError> {
    let mutexes: Vec<Mutex<u64>> = (0..MUTEXES).map(|_| Mutex::new(0)).collect();
    let (elapsed, done) = together(job, |role, begun| {
        let mut events = Vec::new();
        while begun.elapsed() < job.span {
            let event = Instant::now();
            for lock in 0..LOCKS {
                let mut count =
                    mutexes[(role + lock) % MUTEXES].lock().unwrap_or_else(PoisonError::into_inner);
                std::thread::yield_now();
                *count += 1;
            }
            events.push(event.elapsed());
        }
        events
    })?;
    let all: Vec<_> = done.into_iter().flatten().collect();
    check_total(&mutexes, (all.len() * LOCKS) as u64)?;
    let rate = all.len() as f64 / elapsed.as_secs_f64();
    Ok([vec![("events_per_s", rate)], events::numbers(all)].concat())
}

pub fn mutex_array(job: &Job) -> Result<Numbers, WorkError> {
    let mutexes: Vec<Mutex<u64>> = (0..ARRAY).map(|_| Mutex::new(0)).collect();
    let [rounds, loops] = job.workload.mutex_rounds();
    let (elapsed, done) = together_by(job, CROWD, |role, begun| {
        let key = Key::from_words(&[role as u64]);
        for round in 0..rounds {
            for step in 0..loops {
                std::hint::black_box(step);
            }
            let mutex = &mutexes[key.below(round, ARRAY as u64) as usize];
            *mutex.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        }
        begun.elapsed()
    })?;
    check_total(&mutexes, CROWD as u64 * rounds)?;
    let time_s = elapsed.as_secs_f64();
    let rate = CROWD as f64 / time_s;
    Ok([vec![("time_s", time_s), ("events_per_s", rate)], events::numbers(done)].concat())
}

fn check_total(mutexes: &[Mutex<u64>], expected: u64) -> Result<(), WorkError> {
    let found: u64 = mutexes.iter().map(|mutex| *mutex.lock().unwrap_or_else(PoisonError::into_inner)).sum();
    if found == expected { Ok(()) } else { Err(WorkError::Locks { expected, found }) }
}
