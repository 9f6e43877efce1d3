//! Every way to put n queens on a board of n × n, by backtracking over bit masks; rows of the first two queens are the
//! tasks that threads take as they come.

use super::threads::together;
use super::{Job, Numbers, WorkError};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

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

pub fn run(job: &Job) -> Result<Numbers, WorkError> {
    let size = job.workload.size.unwrap_or(14);
    let known = *KNOWN.get(size as usize).ok_or(WorkError::UnknownBoard)?;
    let tasks: Vec<[u32; 2]> = (0..size).flat_map(|a| (0..size).map(move |b| [a, b])).collect();
    let next = AtomicUsize::new(0);
    let (elapsed, found) = together(job, |_, _| {
        let mut found = 0;
        // Relaxed: the counter gives out numbers and carries no data.
        while let Some(&[first, second]) = tasks.get(next.fetch_add(1, Relaxed)) {
            found += below(size, first, second);
        }
        found
    })?;
    let found: u64 = found.into_iter().sum();
    if found != known {
        return Err(WorkError::Solutions { size, known, found });
    }
    Ok(vec![("solutions_per_s", found as f64 / elapsed.as_secs_f64())])
}

/// Solutions whose first two queens stand there.
fn below(size: u32, first: u32, second: u32) -> u64 {
    let all = (1u32 << size) - 1;
    let (a, b) = (1u32 << first, 1u32 << second);
    if b & (a | a << 1 | a >> 1) != 0 {
        return 0;
    }
    solutions(all, a | b, ((a << 1) | b) << 1, ((a >> 1) | b) >> 1)
}

/// Columns that are taken, and diagonals that reach this row from the left and from the right.
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
    fn small_boards_have_as_many_solutions_as_is_known() {
        for size in 4..=10u32 {
            let found: u64 = (0..size).flat_map(|a| (0..size).map(move |b| below(size, a, b))).sum();
            assert_eq!(found, KNOWN[size as usize], "{size}");
        }
        assert_eq!(KNOWN[17], 95_815_104);
    }
}
