//! Threads that communicate constantly: barrier, ring, all-to-all, pipeline, shared counter.

use super::threads::{spin_until, together};
use super::{Job, Numbers, WorkError};
use crate::trial_context::CachePadded;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// Work of a thread between two barriers, and between two operations on a shared counter, in loop steps.
const PHASE_WORK: u64 = 2_000;
const COUNTER_WORK: u64 = 50;
const SLOTS: u64 = 64;
/// Rounds between two readings of the clock.
const CHUNK: u64 = 64;

fn work(steps: u64) {
    for step in 0..steps {
        std::hint::black_box(step);
    }
}

pub fn barrier(job: &Job) -> Result<Numbers, WorkError> {
    let threads = job.threads as u64;
    let (arrived, phase, last) =
        (CachePadded(AtomicU64::new(0)), CachePadded(AtomicU64::new(0)), AtomicU64::new(u64::MAX));
    let (elapsed, done) = together(job, |role, begun| {
        let mut passed = 0u64;
        // Relaxed: only role 0 writes the end, before it arrives. A thread that sees the phase opened by that arrival
        // sees the end too.
        while passed < last.load(Relaxed) {
            work(PHASE_WORK);
            if role == 0 && passed.is_multiple_of(CHUNK) && begun.elapsed() >= job.span {
                last.store(passed + 1, Relaxed);
            }
            passed += 1;
            // AcqRel: the last thread to arrive has seen all earlier writes of the others, and publishes them with the
            // phase.
            if arrived.fetch_add(1, AcqRel) + 1 == threads * passed {
                phase.store(passed, Release);
            } else {
                // Acquire pairs with the Release of the thread that arrived last.
                spin_until(|| phase.load(Acquire) >= passed);
            }
        }
        passed
    })?;
    let phases = done.first().copied().unwrap_or(0);
    if done.iter().any(|other| *other != phases) || arrived.load(Acquire) != threads * phases {
        return Err(WorkError::Barriers);
    }
    Ok(vec![("phases_per_s", phases as f64 / elapsed.as_secs_f64())])
}

/// A token that circulates. Each thread increments it.
pub fn ring(job: &Job) -> Result<Numbers, WorkError> {
    let threads = job.threads as u64;
    let token = CachePadded(AtomicU64::new(0));
    const END: u64 = 1 << 63;
    let (elapsed, done) = together(job, |role, begun| {
        let role = role as u64;
        let mut hops = 0u64;
        loop {
            let mut seen = 0;
            // Acquire pairs with the Release of the previous thread, so its hop is over.
            spin_until(|| {
                seen = token.load(Acquire);
                (seen & !END) % threads == role || seen & END != 0
            });
            if seen & END != 0 {
                return hops;
            }
            hops += 1;
            let over = role == 0 && hops.is_multiple_of(CHUNK) && begun.elapsed() >= job.span;
            // Release: a thread that sees the token sees that it was passed on. The end flag keeps the count.
            token.store((seen + 1) | if over { END } else { 0 }, Release);
            if over {
                return hops;
            }
        }
    })?;
    let hops: u64 = done.iter().sum();
    if token.load(Acquire) & !END != hops {
        return Err(WorkError::Hops);
    }
    Ok(vec![("hops_per_s", hops as f64 / elapsed.as_secs_f64())])
}

/// In each phase every thread writes a line for every other thread, and reads the lines written for it.
pub fn all_to_all(job: &Job) -> Result<Numbers, WorkError> {
    let threads = job.threads;
    let lines: Vec<CachePadded<AtomicU64>> =
        (0..threads * threads).map(|_| CachePadded(AtomicU64::new(0))).collect();
    let last = AtomicU64::new(u64::MAX);
    let (elapsed, done) = together(job, |role, begun| {
        let mut phase = 0u64;
        // Relaxed: role 0 writes the end before its messages of that phase. A thread that got a message sees the end.
        while phase < last.load(Relaxed) {
            if role == 0 && phase.is_multiple_of(CHUNK) && begun.elapsed() >= job.span {
                last.store(phase + 1, Relaxed);
            }
            phase += 1;
            let others = || (0..threads).filter(|other| *other != role);
            // Release pairs with the Acquire of the receiver.
            others().for_each(|other| lines[role * threads + other].store(phase, Release));
            for other in others() {
                // Acquire pairs with the Release of the sender, which may already be a phase ahead.
                spin_until(|| lines[other * threads + role].load(Acquire) >= phase);
            }
        }
        phase
    })?;
    let phases = done.first().copied().unwrap_or(0);
    if done.iter().any(|other| *other != phases) {
        return Err(WorkError::Phases);
    }
    let messages = (threads * (threads - 1)) as f64 * phases as f64;
    Ok(vec![("messages_per_s", messages / elapsed.as_secs_f64())])
}

#[derive(Default)]
struct Queue {
    written: CachePadded<AtomicU64>,
    read: CachePadded<AtomicU64>,
    items: Vec<AtomicU64>,
}

impl Queue {
    fn new() -> Queue {
        Queue { items: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(), ..Queue::default() }
    }

    fn push(&self, position: u64, item: u64) {
        // Acquire pairs with the Release in `pop`, so the reader is done with the slot.
        spin_until(|| position - self.read.load(Acquire) < SLOTS);
        self.items[(position % SLOTS) as usize].store(item, Relaxed);
        // Release: a thread that sees the position sees the item.
        self.written.store(position + 1, Release);
    }

    fn pop(&self, position: u64) -> u64 {
        // Acquire pairs with the Release in `push`.
        spin_until(|| self.written.load(Acquire) > position);
        let item = self.items[(position % SLOTS) as usize].load(Relaxed);
        // Release: the writer may reuse the slot after it sees the position.
        self.read.store(position + 1, Release);
        item
    }
}

/// Stages connected by queues. Each stage increments every item, and the last checks order and value.
pub fn pipeline(job: &Job) -> Result<Numbers, WorkError> {
    const END: u64 = u64::MAX;
    let stages = job.threads;
    let queues: Vec<Queue> = (1..stages).map(|_| Queue::new()).collect();
    let (elapsed, done) = together(job, |role, begun| {
        let mut position = 0u64;
        loop {
            let item = match role {
                0 if position.is_multiple_of(CHUNK) && begun.elapsed() >= job.span => END,
                0 => position,
                _ => queues[role - 1].pop(position),
            };
            if role + 1 < stages {
                queues[role].push(position, if item == END { END } else { item + 1 });
            }
            if item == END {
                return Ok(position);
            }
            if role + 1 == stages && item != position + role as u64 {
                return Err(WorkError::Item { position, item });
            }
            position += 1;
        }
    })?;
    let counts: Vec<u64> = done.into_iter().collect::<Result<_, WorkError>>()?;
    let items = counts.first().copied().unwrap_or(0);
    if counts.iter().any(|other| *other != items) {
        return Err(WorkError::Items);
    }
    Ok(vec![("items_per_s", items as f64 / elapsed.as_secs_f64())])
}

/// All threads add to one counter, with a little work in between.
pub fn shared_counter(job: &Job) -> Result<Numbers, WorkError> {
    let counter = CachePadded(AtomicU64::new(0));
    let (elapsed, done) = together(job, |_, begun| {
        let mut additions = 0u64;
        while !additions.is_multiple_of(CHUNK) || begun.elapsed() < job.span {
            work(COUNTER_WORK);
            // Relaxed: the sum is read after all threads were joined.
            counter.fetch_add(1, Relaxed);
            additions += 1;
        }
        additions
    })?;
    let expected: u64 = done.into_iter().sum();
    let found = counter.load(Relaxed);
    if found != expected {
        return Err(WorkError::Additions { expected, found });
    }
    Ok(vec![("ops_per_s", found as f64 / elapsed.as_secs_f64())])
}
