//! Each thread reads or writes a buffer of its own, in blocks of 1 KiB, one after another.

use super::threads::together;
use super::{Job, Numbers, WorkError};

/// More than any cache that a core has to itself.
const WORDS: usize = 8 << 20;
const BLOCK: usize = 128;

pub fn read(job: &Job) -> Result<Numbers, WorkError> {
    let (_, bytes) = together(job, |_, _| {
        let buffer: Vec<u64> = (0..WORDS as u64).collect();
        let expected: u64 = WORDS as u64 * (WORDS as u64 - 1) / 2;
        let begun = std::time::Instant::now();
        let mut bytes = 0u64;
        while begun.elapsed() < job.span {
            let blocks = std::hint::black_box(&buffer).chunks_exact(BLOCK);
            let sum: u64 = blocks.map(|block| block.iter().sum::<u64>()).sum();
            if sum != expected {
                return Err(WorkError::Sum { sum, expected });
            }
            bytes += 8 * WORDS as u64;
        }
        Ok(bytes as f64 / begun.elapsed().as_secs_f64())
    })?;
    per_second(bytes)
}

pub fn write(job: &Job) -> Result<Numbers, WorkError> {
    let (_, bytes) = together(job, |_, _| {
        let mut buffer = vec![0u64; WORDS];
        let begun = std::time::Instant::now();
        let (mut bytes, mut round) = (0u64, 0u64);
        while begun.elapsed() < job.span {
            round += 1;
            for block in std::hint::black_box(&mut buffer).chunks_exact_mut(BLOCK) {
                block.fill(round);
            }
            bytes += 8 * WORDS as u64;
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
