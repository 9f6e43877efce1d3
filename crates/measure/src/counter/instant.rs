//! Nanoseconds of the standard library's clock: where there is no counter that we know how to read.

use std::sync::OnceLock;
use std::time::Instant;

pub(super) const SOURCE: &str = "instant";

pub(super) fn start() -> u64 {
    now_ticks()
}

pub(super) fn stop() -> u64 {
    now_ticks()
}

pub(super) fn now_ticks() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    // 584 years of nanoseconds fit.
    Instant::now().duration_since(*ORIGIN.get_or_init(Instant::now)).as_nanos() as u64
}
