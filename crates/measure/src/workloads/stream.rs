//! The four kernels of memory bandwidth, over arrays that no cache holds (McCalpin 1995): at least four times all
//! last-level caches of the CPUs that work, shared out among the threads, first touched by whoever works on them.

use super::caches::{available_bytes, last_level_bytes};
use super::threads::together;
use super::{Job, Numbers, WorkError};
use crate::host::affinity::current_mask;
use coretalk_model::CpuSet;
use coretalk_model::place::WorkloadKind;

/// What an array has at least, and where nothing is known of the caches: more than all but the largest of them.
const LEAST: u64 = 32 << 20;
const UNKNOWN: u64 = 256 << 20;
/// The share of the free memory that three arrays may take.
const SHARE: f64 = 0.75;
const SCALAR: f64 = 3.0;

/// Bytes of an array over these CPUs.
///
/// # Errors
/// There is not so much memory: smaller arrays would measure caches.
fn array_bytes(cpus: &CpuSet) -> Result<u64, WorkError> {
    let whole = last_level_bytes(cpus).map_or(UNKNOWN, |bytes| (4 * bytes).max(LEAST));
    match available_bytes() {
        Some(free) if 3 * whole > (SHARE * free as f64) as u64 => {
            Err(WorkError::Memory { cpus: cpus.clone(), needed_mib: (3 * whole) >> 20, free_mib: free >> 20 })
        }
        _ => Ok(whole),
    }
}

pub fn run(job: &Job) -> Result<Numbers, WorkError> {
    let cpus = match job.cpus.is_empty() {
        true => current_mask().map_err(WorkError::refused("its CPUs cannot be read"))?,
        false => job.cpus.iter().take(job.threads).copied().collect(),
    };
    let whole = array_bytes(&cpus)? as usize;
    let words = whole / 8 / job.threads;
    let kind = job.workload.kind;
    let per_element = match kind {
        WorkloadKind::StreamCopy | WorkloadKind::StreamScale => 16,
        _ => 24,
    };
    let (_, rates) = together(job, |_, _| {
        let (mut a, mut b, mut c) = (vec![1.0f64; words], vec![2.0f64; words], vec![0.5f64; words]);
        let begun = std::time::Instant::now();
        let mut passes = 0u64;
        while passes == 0 || begun.elapsed() < job.span {
            pass(kind, std::hint::black_box((&mut a, &mut b, &mut c)));
            passes += 1;
        }
        let rate = (passes as usize * words * per_element) as f64 / begun.elapsed().as_secs_f64();
        check(kind, [&a, &b, &c]).map(|()| rate)
    })?;
    let rate: f64 = rates.into_iter().sum::<Result<f64, WorkError>>()?;
    Ok(vec![("mb_per_s", rate / 1e6)])
}

type Arrays<'a> = (&'a mut Vec<f64>, &'a mut Vec<f64>, &'a mut Vec<f64>);

/// Reads are of arrays that no pass writes, so that every pass does the same.
fn pass(kind: WorkloadKind, (a, b, c): Arrays<'_>) {
    match kind {
        WorkloadKind::StreamCopy => c.copy_from_slice(a),
        WorkloadKind::StreamScale => b.iter_mut().zip(&*c).for_each(|(b, c)| *b = SCALAR * c),
        WorkloadKind::StreamAdd => c.iter_mut().zip(a.iter().zip(&*b)).for_each(|(c, (a, b))| *c = a + b),
        _ => a.iter_mut().zip(b.iter().zip(&*c)).for_each(|(a, (b, c))| *a = b + SCALAR * c),
    }
}

fn check(kind: WorkloadKind, [a, b, c]: [&[f64]; 3]) -> Result<(), WorkError> {
    let (found, expected) = match kind {
        WorkloadKind::StreamCopy => (c, 1.0),
        WorkloadKind::StreamScale => (b, SCALAR * 0.5),
        WorkloadKind::StreamAdd => (c, 1.0 + 2.0),
        _ => (a, 2.0 + SCALAR * 0.5),
    };
    match found.iter().find(|value| **value != expected) {
        Some(&value) => Err(WorkError::Array { value, expected }),
        None => Ok(()),
    }
}
