//! The work of a pair's neighbours: multiplication, streaming through memory, or ping-pong on a line of their own.

use super::Load;
use crate::counter;
use crate::kernel_context::Halt;
use crate::room::available_bytes;
use crate::sync::AtomicU64;
use crate::sync::Ordering::{AcqRel, Acquire};
use crate::trial_context::{CachePadded, RoleContext};
use crate::workloads::memory;
use coretalk_model::{CpuId, CpuSet};
use std::hint::black_box;

/// Size of the arrays relative to the last-level caches. Almost nothing of an array is cached when it is read again.
const TIMES_CACHE: u64 = 4;
/// Minimum memory of one neighbour, unless free memory is too small.
const MIN_BYTES: u64 = 4 << 20;
const MAX_BYTES: u64 = 256 << 20;
/// Assumed cache size where the system does not report it.
const UNKNOWN_CACHE_BYTES: u64 = 32 << 20;
/// Divisor of the free memory: the limit for all neighbours together.
const FREE_MEMORY_DIVISOR: u64 = 4;
/// Multiplications between two polls for the end: several microseconds.
const STEPS: u32 = 4096;
/// Words between two polls for the end: 32 KiB.
const WORDS: usize = 4096;

/// The ping-pong lines of the neighbours, and the array size of each.
#[derive(Debug)]
pub struct Field {
    words_each: usize,
    lines: Vec<CachePadded<AtomicU64>>,
    neighbours: usize,
}

impl Field {
    pub fn for_cpus(cpus: &[CpuId]) -> Field {
        let neighbours = cpus.len().saturating_sub(2).max(1);
        let set: CpuSet = cpus.iter().copied().collect();
        let cache = memory::last_level_bytes(&set).unwrap_or(UNKNOWN_CACHE_BYTES);
        let mut bytes = (TIMES_CACHE * cache / neighbours as u64).clamp(MIN_BYTES, MAX_BYTES);
        if let Some(free) = available_bytes() {
            bytes = bytes.min(free / FREE_MEMORY_DIVISOR / neighbours as u64);
        }
        let lines = (0..neighbours.div_ceil(2)).map(|_| CachePadded::default()).collect();
        Field { words_each: (bytes / 8) as usize, lines, neighbours }
    }
}

/// Works until `over`. Calls `begun` when the load is present.
pub fn work(
    role: &RoleContext<'_>,
    load: Load,
    number: usize,
    field: &Field,
    begun: impl Fn(),
    over: impl Fn() -> bool,
) -> Result<(), Halt> {
    // All memory is allocated and touched before any role begins.
    let mut array = if load == Load::Stream { vec![1u64; field.words_each.max(WORDS)] } else { Vec::new() };
    role.wait_for_all()?;
    begun();
    match load {
        Load::Nothing => Ok(()),
        Load::Compute => compute(role, over),
        Load::Stream => stream(role, &mut array, over),
        Load::PingPong => pass_on(role, number, field, over),
    }
}

fn compute(role: &RoleContext<'_>, over: impl Fn() -> bool) -> Result<(), Halt> {
    let mut value = 3u64;
    while !over() {
        for _ in 0..STEPS {
            value = black_box(value.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
        role.guard.check_at(counter::now_ticks())?;
        role.give_way();
    }
    black_box(value);
    Ok(())
}

fn stream(role: &RoleContext<'_>, array: &mut [u64], over: impl Fn() -> bool) -> Result<(), Halt> {
    loop {
        for chunk in array.chunks_mut(WORDS) {
            if over() {
                return Ok(());
            }
            for word in chunk.iter_mut() {
                *word = word.wrapping_mul(3);
            }
            black_box(&mut *chunk);
            role.guard.check_at(counter::now_ticks())?;
            role.give_way();
        }
    }
}

/// Two neighbours hand a line of their own to each other. A neighbour without a partner leaves.
fn pass_on(
    role: &RoleContext<'_>,
    number: usize,
    field: &Field,
    over: impl Fn() -> bool,
) -> Result<(), Halt> {
    if number ^ 1 >= field.neighbours {
        return Ok(());
    }
    let line = &field.lines[number / 2];
    let mine = (number % 2) as u64;
    loop {
        let mut is_over = false;
        role.wait_until(|| {
            is_over = over();
            // AcqRel: a turn passes on everything written before it. The word is the side whose turn it is.
            is_over || line.compare_exchange(mine, 1 - mine, AcqRel, Acquire).is_ok()
        })?;
        if is_over {
            return Ok(());
        }
        role.guard.check_at(counter::now_ticks())?;
    }
}
