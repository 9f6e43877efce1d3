//! Arithmetic: a fixed mix of integer and string operations in each thread, and the n queens problem by backtracking
//! over bit masks. A task of n queens is a position of the first two queens. Threads take tasks dynamically.

use super::threads::together;
use super::{Job, Numbers, WorkError};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// Rounds between two readings of the clock: about a millisecond.
const ROUNDS: u64 = 2_000;

pub fn integer(job: &Job) -> Result<Numbers, WorkError> {
    let expected = mix(ROUNDS);
    let (elapsed, done) = together(job, |_, begun| {
        let mut done = 0u64;
        while begun.elapsed() < job.span {
            let answer = mix(std::hint::black_box(ROUNDS));
            if answer != expected {
                return Err(WorkError::Mix { answer, expected });
            }
            done += ROUNDS;
        }
        Ok(done)
    })?;
    let loops: u64 = done.into_iter().sum::<Result<u64, WorkError>>()?;
    Ok(vec![("loops_per_s", loops as f64 / elapsed.as_secs_f64())])
}

/// Multiplications, divisions, branches, a small table, and strings that are built and compared.
fn mix(rounds: u64) -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut table = [0u64; 64];
    let mut text = String::with_capacity(32);
    for round in 0..rounds {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let slot = (state >> 58) as usize;
        table[slot] = table[slot].wrapping_add(state / (round + 7)) ^ state.rotate_left(13);
        text.clear();
        for digit in 0..8 {
            text.push(char::from(b'a' + (state >> (8 * digit)) as u8 % 26));
        }
        let other: u64 = if text.as_str() < "mmmmmmmm" { 3 } else { text.bytes().map(u64::from).sum() };
        state ^= table[(slot + 1) % 64].wrapping_add(other);
    }
    table.iter().fold(state, |sum, value| sum.rotate_left(5) ^ value)
}

/// Solutions for boards of 0 to 18 (OEIS A000170).
const KNOWN: [u64; 19] = [
    1,
    1,
    0,
    0,
    2,
    10,
    4,
    40,
    92,
    352,
    724,
    2_680,
    14_200,
    73_712,
    365_596,
    2_279_184,
    14_772_512,
    95_815_104,
    666_090_624,
];

pub fn queens(job: &Job) -> Result<Numbers, WorkError> {
    let size = job.workload.size.unwrap_or(14);
    let known = *KNOWN.get(size as usize).ok_or(WorkError::UnknownBoard)?;
    let tasks: Vec<[u32; 2]> = (0..size).flat_map(|a| (0..size).map(move |b| [a, b])).collect();
    let next = AtomicUsize::new(0);
    let (elapsed, found) = together(job, |_, _| {
        let mut found = 0;
        // Relaxed: the counter only distributes indices and publishes no data.
        while let Some(&[first, second]) = tasks.get(next.fetch_add(1, Relaxed)) {
            found += solutions_below(size, first, second);
        }
        found
    })?;
    let found: u64 = found.into_iter().sum();
    if found != known {
        return Err(WorkError::Solutions { size, known, found });
    }
    Ok(vec![("solutions_per_s", found as f64 / elapsed.as_secs_f64())])
}

fn solutions_below(size: u32, first: u32, second: u32) -> u64 {
    let all = (1u32 << size) - 1;
    let (a, b) = (1u32 << first, 1u32 << second);
    if b & (a | a << 1 | a >> 1) != 0 {
        return 0;
    }
    solutions(all, a | b, ((a << 1) | b) << 1, ((a >> 1) | b) >> 1)
}

/// Number of completions, given occupied columns and the diagonals that reach this row from left and right.
fn solutions(all: u32, columns: u32, left: u32, right: u32) -> u64 {
    if columns == all {
        return 1;
    }
    let mut free = all & !(columns | left | right);
    let mut found = 0;
    while free != 0 {
        let queen = free & free.wrapping_neg();
        free ^= queen;
        found += solutions(all, columns | queen, (left | queen) << 1, (right | queen) >> 1);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_changes_the_answer() {
        assert_ne!(mix(100), mix(101));
    }

    #[test]
    fn small_boards_have_the_known_number_of_solutions() {
        for size in 4..=10u32 {
            let found: u64 =
                (0..size).flat_map(|a| (0..size).map(move |b| solutions_below(size, a, b))).sum();
            assert_eq!(found, KNOWN[size as usize], "{size}");
        }
        assert_eq!(KNOWN[17], 95_815_104);
    }
}
