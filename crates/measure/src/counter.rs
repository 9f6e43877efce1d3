//! Reading the counter that times everything: where fences stand, and what each read costs.
//!
//! All three functions read one and the same counter, so their values may be subtracted from each other on one CPU.
//! Across CPUs they may only be compared where the clock has been found synchronous.

// Miri executes no machine instructions: there the clock of the standard library must do.
#[cfg_attr(all(target_arch = "x86_64", not(miri)), path = "counter/x86_64.rs")]
#[cfg_attr(all(target_arch = "aarch64", not(miri)), path = "counter/aarch64.rs")]
#[cfg_attr(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))), path = "counter/instant.rs")]
mod imp;

/// What the ticks are ticks of: `tsc`, `cntvct`, or `instant` (nanoseconds of the standard library's clock).
pub const SOURCE: &str = imp::SOURCE;

/// The counter at the start of a timed span: everything before it has completed, nothing of the span has begun.
///
/// ```
/// use coretalk_measure::counter;
/// let begun = counter::start();
/// assert!(counter::stop() >= begun);
/// ```
#[inline(always)]
pub fn start() -> u64 {
    imp::start()
}

/// The counter at the end of a timed span: every load of the span has completed, nothing after the span has begun.
#[inline(always)]
pub fn stop() -> u64 {
    imp::stop()
}

/// The counter without a fence: cheap, good to a few tens of ticks, for deadlines and pacing.
pub fn now_ticks() -> u64 {
    imp::now_ticks()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_counter_moves_on_and_never_back() {
        let mut last = super::start();
        let first = last;
        for _ in 0..if cfg!(miri) { 10 } else { 1_000 } {
            for read in [super::start, super::now_ticks, super::stop] {
                let value = read();
                // Unfenced reads may be executed a little early, but never before a fenced one that precedes them.
                assert!(value >= last, "{value} after {last}");
                last = value;
            }
        }
        assert!(last > first, "the counter stands still at {first}");
    }
}
