//! Memory: buffers that each thread reads or writes sequentially in blocks of 1 KiB, and the four STREAM kernels of
//! memory bandwidth over arrays larger than all caches (McCalpin 1995). The arrays have at least four times the size of
//! all last-level caches of the working CPUs. Each thread first touches its own share.

use super::threads::together;
use super::{Job, Numbers, WorkError};
use crate::host::affinity::current_mask;
use crate::room::{available_bytes, lacking};
use coretalk_model::place::WorkloadKind;
use coretalk_model::{CpuId, CpuSet};
use std::collections::BTreeMap;
use std::path::Path;

const BLOCK: usize = 128;
/// Minimum bytes between two readings of the clock, also for small buffers.
const BETWEEN_CLOCKS: usize = 1 << 20;

/// Fails if the buffers of all threads exceed the free memory, since the kernel would then kill a program.
fn ensure_buffers(job: &Job) -> Result<(), WorkError> {
    lacking((job.threads * job.workload.memory_bytes()) as u64)
        .map_or(Ok(()), |reason| Err(WorkError::Buffers(reason)))
}

pub(super) fn read(job: &Job) -> Result<Numbers, WorkError> {
    ensure_buffers(job)?;
    let size = job.workload.memory_bytes();
    let (_, bytes) = together(job, |_, _| {
        let words = size as u64 / 8;
        let buffer: Vec<u64> = (0..words).collect();
        let expected = words * (words - 1) / 2;
        let begun = std::time::Instant::now();
        let mut bytes = 0u64;
        while begun.elapsed() < job.span {
            for _ in 0..BETWEEN_CLOCKS.div_ceil(size) {
                let blocks = std::hint::black_box(&buffer).chunks_exact(BLOCK);
                let sum: u64 = blocks.map(|block| block.iter().sum::<u64>()).sum();
                if sum != expected {
                    return Err(WorkError::Sum { sum, expected });
                }
                bytes += size as u64;
            }
        }
        Ok(bytes as f64 / begun.elapsed().as_secs_f64())
    })?;
    per_second(bytes)
}

pub(super) fn write(job: &Job) -> Result<Numbers, WorkError> {
    ensure_buffers(job)?;
    let size = job.workload.memory_bytes();
    let (_, bytes) = together(job, |_, _| {
        let mut buffer = vec![0u64; size / 8];
        let begun = std::time::Instant::now();
        let (mut bytes, mut round) = (0u64, 0u64);
        while begun.elapsed() < job.span {
            for _ in 0..BETWEEN_CLOCKS.div_ceil(size) {
                round += 1;
                for block in std::hint::black_box(&mut buffer).chunks_exact_mut(BLOCK) {
                    block.fill(round);
                }
                bytes += size as u64;
            }
        }
        if buffer.iter().step_by(BLOCK / 2).any(|word| *word != round) {
            return Err(WorkError::Written);
        }
        Ok(bytes as f64 / begun.elapsed().as_secs_f64())
    })?;
    per_second(bytes)
}

fn per_second(rates: Vec<Result<f64, WorkError>>) -> Result<Numbers, WorkError> {
    let rate: f64 = rates.into_iter().sum::<Result<f64, WorkError>>()?;
    Ok(vec![("mb_per_s", rate / 1e6)])
}

/// Minimum size of an array, and its size if the caches are unknown. It is larger than most caches.
const MIN_ARRAY: u64 = 32 << 20;
const UNKNOWN_CACHES: u64 = 256 << 20;
/// Maximum share of the free memory for three arrays.
const ARRAYS_SHARE: f64 = 0.75;
const SCALAR: f64 = 3.0;

/// Size of an array for these CPUs in bytes. Fails if memory is too small, since smaller arrays would measure caches.
fn array_bytes(cpus: &CpuSet) -> Result<u64, WorkError> {
    let array_size = last_level_bytes(cpus).map_or(UNKNOWN_CACHES, |bytes| (4 * bytes).max(MIN_ARRAY));
    match available_bytes() {
        Some(free) if 3 * array_size > (ARRAYS_SHARE * free as f64) as u64 => Err(WorkError::Memory {
            cpus: cpus.clone(),
            needed_mib: (3 * array_size) >> 20,
            free_mib: free >> 20,
        }),
        _ => Ok(array_size),
    }
}

pub(super) fn stream(job: &Job) -> Result<Numbers, WorkError> {
    let cpus = match job.cpus.is_empty() {
        true => current_mask().map_err(WorkError::refused("its CPUs cannot be read"))?,
        false => job.cpus.iter().take(job.threads).copied().collect(),
    };
    let array_size = array_bytes(&cpus)? as usize;
    let words = array_size / 8 / job.threads;
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
        check_array(kind, [&a, &b, &c]).map(|()| rate)
    })?;
    let rate: f64 = rates.into_iter().sum::<Result<f64, WorkError>>()?;
    Ok(vec![("mb_per_s", rate / 1e6)])
}

type Arrays<'a> = (&'a mut Vec<f64>, &'a mut Vec<f64>, &'a mut Vec<f64>);

/// Runs one kernel. No pass writes the arrays that are its inputs, so all passes are equal.
fn pass(kind: WorkloadKind, (a, b, c): Arrays<'_>) {
    match kind {
        WorkloadKind::StreamCopy => c.copy_from_slice(a),
        WorkloadKind::StreamScale => b.iter_mut().zip(&*c).for_each(|(b, c)| *b = SCALAR * c),
        WorkloadKind::StreamAdd => c.iter_mut().zip(a.iter().zip(&*b)).for_each(|(c, (a, b))| *c = a + b),
        _ => a.iter_mut().zip(b.iter().zip(&*c)).for_each(|(a, (b, c))| *a = b + SCALAR * c),
    }
}

fn check_array(kind: WorkloadKind, [a, b, c]: [&[f64]; 3]) -> Result<(), WorkError> {
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

/// Total bytes of the last-level caches of these CPUs; `None` if unknown for a CPU.
pub fn last_level_bytes(cpus: &CpuSet) -> Option<u64> {
    last_level_bytes_in(Path::new("/sys/devices/system/cpu"), cpus)
}

fn last_level_bytes_in(root: &Path, cpus: &CpuSet) -> Option<u64> {
    let caches: Option<BTreeMap<String, u64>> = cpus.iter().map(|cpu| last_level(root, cpu)).collect();
    // One entry per cache. The CPUs that share a cache identify it.
    caches.filter(|caches| !caches.is_empty()).map(|caches| caches.values().sum())
}

/// CPUs that share the last-level cache of a CPU, and the size of that cache.
fn last_level(root: &Path, cpu: CpuId) -> Option<(String, u64)> {
    let folder = root.join(format!("cpu{cpu}/cache"));
    let caches = std::fs::read_dir(folder).ok()?.flatten().filter_map(|entry| {
        let read =
            |name: &str| Some(std::fs::read_to_string(entry.path().join(name)).ok()?.trim().to_owned());
        let level: u32 = read("level")?.parse().ok()?;
        Some((level, read("shared_cpu_list")?, parse_bytes(&read("size")?)?))
    });
    caches.max_by_key(|(level, ..)| *level).map(|(_, sharers, bytes)| (sharers, bytes))
}

fn parse_bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "" => 1,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stream_kernel_computes_its_result() {
        use WorkloadKind::{StreamAdd, StreamCopy, StreamScale, StreamTriad};
        for kind in [StreamCopy, StreamScale, StreamAdd, StreamTriad] {
            let (mut a, mut b, mut c) = (vec![1.0; 1000], vec![2.0; 1000], vec![0.5; 1000]);
            for _ in 0..2 {
                pass(kind, (&mut a, &mut b, &mut c));
                check_array(kind, [&a, &b, &c]).unwrap();
            }
            for array in [&mut a, &mut b, &mut c] {
                array[999] = 7.0;
            }
            assert!(check_array(kind, [&a, &b, &c]).is_err(), "{kind:?}");
        }
    }

    #[test]
    fn each_cache_counts_once_however_many_share_it() {
        let root = tempfile::tempdir().unwrap();
        for (cpu, index, level, sharers, size) in [
            (0, 0, "1", "0", "32K"),
            (0, 3, "3", "0-1", "32768K"),
            (1, 3, "3", "0-1", "32768K"),
            (2, 3, "3", "2-3", "16M"),
        ] {
            let folder = root.path().join(format!("cpu{cpu}/cache/index{index}"));
            std::fs::create_dir_all(&folder).unwrap();
            for (name, text) in [("level", level), ("shared_cpu_list", sharers), ("size", size)] {
                std::fs::write(folder.join(name), format!("{text}\n")).unwrap();
            }
        }
        let total = |list: &str| last_level_bytes_in(root.path(), &list.parse().unwrap());
        // The cache of CPU 3 is unknown, so the total is unknown.
        let totals = ["0-1", "0-2", "0-3", ""].map(total);
        assert_eq!(totals, [Some(32 << 20), Some(48 << 20), None, None]);
    }

    #[test]
    fn sizes_have_units() {
        let sizes = ["512", "8M", "1G", "8T", "M"].map(parse_bytes);
        assert_eq!(sizes, [Some(512), Some(8 << 20), Some(1 << 30), None, None]);
    }
}
