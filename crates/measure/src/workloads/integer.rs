//! A fixed mix of integer and string operations in each thread.

use super::threads::together;
use super::{Job, Numbers, WorkError};

/// Rounds between two looks at the clock: about a millisecond.
const ROUNDS: u64 = 2_000;

pub fn run(job: &Job) -> Result<Numbers, WorkError> {
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

/// Multiplications, divisions, branches, a small table and strings that are built and compared.
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

#[cfg(test)]
mod tests {
    #[test]
    fn a_round_more_is_another_answer() {
        assert_ne!(super::mix(100), super::mix(101));
    }
}
