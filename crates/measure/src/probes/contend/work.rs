//! Work of a known length: what a thread does inside and beside the critical section.

use crate::counter;
use std::hint::black_box;

/// Steps of one run of the calibration: tens of microseconds.
const STEPS: u32 = 20_000;
/// Runs of which the fastest counts: an interrupt lengthens one, never shortens it.
const RUNS: usize = 5;

/// Works so many steps. Each depends on the one before, so that their time adds up, and touches registers only.
#[inline(always)]
pub fn work(steps: u32) {
    if steps == 0 {
        return;
    }
    let mut value = black_box(1u64);
    for _ in 0..steps {
        // The multiplier of Knuth's MMIX generator: no compiler shortens the chain.
        value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    }
    black_box(value);
}

/// What one step takes here and now, in ticks.
pub fn step_ticks() -> f64 {
    let runs = (0..RUNS).map(|_| {
        let began = counter::start();
        work(STEPS);
        counter::stop() - began
    });
    runs.min().unwrap_or(0).max(1) as f64 / f64::from(STEPS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_time_and_a_step_has_a_length() {
        let step = step_ticks();
        assert!(step > 0.0 && step.is_finite());
        work(0);
    }
}
