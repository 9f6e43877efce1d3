//! `ClockReport`: rate, read cost, resolution and trustworthiness of the counter.

use super::core_clock;
use super::spread::Spread;
use crate::counter;
use crate::machine::{ClockError, fine_enough};
use coretalk_model::{ClockFacts, CpuId, CpuLoss, TickRate};
use std::collections::BTreeMap;
use std::time::Duration;

pub mod offset;
pub mod sources;

pub use offset::Offset;

/// Span of the rate measurement. With brackets of 40 ns at both ends the error is below 2 ppm.
const SPAN: Duration = Duration::from_millis(50);
/// Longer span, if the error would exceed 10 ppm because the clock is read by a system call.
const LONG_SPAN: Duration = Duration::from_millis(200);

/// Properties of the counter.
#[derive(Debug, Clone, PartialEq)]
pub struct ClockReport {
    /// Name of the counter: `tsc`, `cntvct`, `instant`.
    pub source: &'static str,
    /// Measured rate, used to convert all ticks.
    pub rate: TickRate,
    /// Bound of the relative error of the rate, in parts per million.
    pub rate_error_ppm: f64,
    /// Histogram of the cost of a start-stop pair: ticks, and number of occurrences.
    pub costs: BTreeMap<u64, u64>,
    /// Median cost in ticks.
    pub cost_ticks: u64,
    /// Smallest observed step in ticks.
    pub step_ticks: u64,
    /// Greatest common divisor of all observed differences. One step may be several ticks.
    pub gcd_ticks: u64,
    /// Whether the rate is the same in every power state.
    pub invariant: Option<bool>,
    /// Clock source of the kernel.
    pub kernel_source: Option<String>,
    /// Cost of one spin hint in nanoseconds.
    pub hint_ns: f64,
    /// Cost of one spin hint in core cycles, where the core clock is known.
    pub hint_cycles: Option<f64>,
    /// Counter offsets of the measured CPU pairs.
    pub offsets: Vec<Offset>,
    /// CPUs that went offline during the measurement of offsets, with the time since the beginning.
    pub departed: Vec<CpuLoss>,
}

impl ClockReport {
    /// Measures the counter on the CPU of the calling thread, which should be pinned. Takes 50 to 200 ms.
    pub fn measure() -> Result<ClockReport, ClockError> {
        counter::check()?;
        let begin = anchor();
        let (costs, gcd_ticks) = costs();
        let cost_ticks = median(&costs);
        let step_ticks = step()?;
        let (rate, rate_error_ppm) = measured_rate(&begin)?;
        let step_ns = rate.ns(step_ticks as f64);
        fine_enough(step_ns)?;
        let hint_ns = rate.ns(hint_ticks());
        Ok(ClockReport {
            source: counter::SOURCE,
            rate,
            rate_error_ppm,
            costs,
            cost_ticks,
            step_ticks,
            gcd_ticks,
            invariant: sources::invariant(),
            kernel_source: sources::kernel_source(),
            hint_ns,
            hint_cycles: core_clock::probe(rate).map(|ghz| hint_ns * ghz),
            offsets: Vec::new(),
            departed: Vec::new(),
        })
    }

    /// Facts stored with every run.
    pub fn facts(&self) -> ClockFacts {
        ClockFacts {
            source: self.source.to_owned(),
            hz: self.rate.hz,
            hz_error_ppm: Some(self.rate_error_ppm),
            cost_ns: Some(self.rate.ns(self.cost_ticks as f64)),
            step_ns: Some(self.rate.ns(self.step_ticks as f64)),
            invariant: self.invariant,
            kernel_source: self.kernel_source.clone(),
            hint_ns: Some(self.hint_ns),
            hint_cycles: self.hint_cycles,
        }
    }

    /// Largest offset of the measured pairs; `None` if no pair was measured.
    pub fn spread(&self) -> Option<Spread> {
        let farthest_by = |distance: fn(&Offset) -> f64| {
            self.offsets.iter().max_by(|a, b| distance(a).total_cmp(&distance(b)))
        };
        // If no offset is proven, the pair with the largest error shows how well the counters agree.
        let proven = farthest_by(|pair| pair.ticks.abs() - pair.bound_ticks);
        let proven = proven.filter(|pair| pair.ticks.abs() > pair.bound_ticks);
        let pair = proven.or_else(|| farthest_by(|pair| pair.bound_ticks))?;
        Some(Spread {
            pairs: self.offsets.len(),
            largest_ns: self.rate.ns(pair.ticks.abs()),
            bound_ns: self.rate.ns(pair.bound_ticks),
        })
    }

    /// Offset of `to` from `from`, if measured.
    pub fn offset(&self, from: CpuId, to: CpuId) -> Option<Offset> {
        let straight = self.offsets.iter().find(|offset| (offset.from, offset.to) == (from, to)).copied();
        let reversed = self.offsets.iter().find(|offset| (offset.from, offset.to) == (to, from));
        straight.or_else(|| reversed.map(|offset| offset.reversed()))
    }
}

#[derive(Debug, Clone, Copy)]
struct Bracket {
    ticks: u64,
    ns: f64,
    /// Nanoseconds between the two readings. The error of `ns` is at most half of this width.
    width: f64,
}

/// The ten narrowest of 500 brackets. An interrupt can only widen a bracket.
fn anchor() -> Vec<Bracket> {
    let mut brackets: Vec<Bracket> = (0..500)
        .map(|_| {
            let before = sources::monotonic_raw_ns();
            let ticks = counter::start();
            let after = sources::monotonic_raw_ns();
            Bracket {
                ticks,
                ns: (before as f64 + after as f64) / 2.0,
                width: after.saturating_sub(before) as f64,
            }
        })
        .collect();
    brackets.sort_by(|a, b| a.width.total_cmp(&b.width));
    brackets.truncate(10);
    brackets
}

/// Rate from `begin` until about 50 ms later, with the bound of its error in parts per million.
fn measured_rate(begin: &[Bracket]) -> Result<(TickRate, f64), ClockError> {
    let rate_over = |span: Duration| {
        let remaining_ns = |now: u64| (begin[0].ns + span.as_nanos() as f64 - now as f64).max(0.0) as u64;
        std::thread::sleep(Duration::from_nanos(remaining_ns(sources::monotonic_raw_ns())));
        rate_between(begin, &anchor())
    };
    let (rate, error_ppm) = rate_over(SPAN)?;
    if error_ppm <= 10.0 { Ok((rate, error_ppm)) } else { rate_over(LONG_SPAN) }
}

fn rate_between(begin: &[Bracket], end: &[Bracket]) -> Result<(TickRate, f64), ClockError> {
    // Means over the narrowest brackets of each end. Differences from the first bracket keep all digits.
    let mean = |brackets: &[Bracket], value: &dyn Fn(&Bracket) -> f64| {
        brackets.iter().map(value).sum::<f64>() / brackets.len() as f64
    };
    let (first, last) = (begin[0], end[0]);
    let ticks_since = |bracket: &Bracket| bracket.ticks.wrapping_sub(first.ticks) as i64 as f64;
    let ticks = mean(end, &ticks_since) - mean(begin, &ticks_since);
    let ns = mean(end, &|b| b.ns - first.ns) - mean(begin, &|b| b.ns - first.ns);
    if ticks <= 0.0 || ns <= 0.0 || last.ticks <= first.ticks {
        return Err(ClockError::NoRate(first.ticks, last.ticks, ns));
    }
    // Each mean is within half a bracket of the true value. The resolution of the clock is a nanosecond.
    let error_ns = (mean(begin, &|b| b.width) + mean(end, &|b| b.width)) / 2.0 + 1.0;
    Ok((TickRate { hz: ticks * 1e9 / ns }, error_ns / ns * 1e6))
}

fn costs() -> (BTreeMap<u64, u64>, u64) {
    let mut counts = BTreeMap::new();
    let mut divisor = 0;
    let origin = counter::start();
    for _ in 0..10_000 {
        let begun = counter::start();
        let ended = counter::stop();
        *counts.entry(ended.saturating_sub(begun)).or_insert(0) += 1;
        divisor = gcd(gcd(divisor, ended.saturating_sub(begun)), begun - origin);
    }
    (counts, divisor)
}

fn step() -> Result<u64, ClockError> {
    let mut smallest = None;
    let mut last = counter::now_ticks();
    for _ in 0..100_000 {
        let now = counter::now_ticks();
        // Unfenced reads may be reordered by a few ticks. A real step backwards is larger.
        if now + 1000 < last {
            return Err(ClockError::Backwards(last, now));
        }
        if now > last {
            smallest = Some(smallest.map_or(now - last, |least: u64| least.min(now - last)));
        }
        last = now;
    }
    smallest.ok_or(ClockError::Still(last))
}

/// Ticks per spin hint in the fastest of eight loops of a thousand. The loop is included, so this is an upper bound.
fn hint_ticks() -> f64 {
    const HINTS: u32 = 1000;
    let loops = (0..8).map(|_| {
        let begun = counter::start();
        for _ in 0..HINTS {
            std::hint::spin_loop();
        }
        counter::stop() - begun
    });
    loops.min().unwrap_or(0) as f64 / f64::from(HINTS)
}

fn median(counts: &BTreeMap<u64, u64>) -> u64 {
    let half = counts.values().sum::<u64>() / 2;
    let mut seen = 0;
    for (&value, &count) in counts {
        seen += count;
        if seen > half {
            return value;
        }
    }
    0
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bracket(ticks: u64, ns: f64, width: f64) -> Bracket {
        Bracket { ticks, ns, width }
    }

    #[test]
    fn the_rate_follows_from_two_ends_and_its_error_from_their_widths() {
        let begin = [bracket(1_000, 500.0, 40.0), bracket(1_300, 600.0, 40.0)];
        let end = [bracket(150_001_000, 50_000_500.0, 60.0), bracket(150_001_300, 50_000_600.0, 60.0)];
        let (rate, error_ppm) = rate_between(&begin, &end).unwrap();
        assert!((rate.hz / 3e9 - 1.0).abs() < 1e-12, "{}", rate.hz);
        assert!((error_ppm - 51.0 / 50.0).abs() < 1e-9, "{error_ppm}");
    }

    #[test]
    fn a_counter_that_goes_back_has_no_rate() {
        let begin = [bracket(5_000, 500.0, 40.0)];
        assert!(rate_between(&begin, &[bracket(4_000, 50_000_500.0, 40.0)]).is_err());
    }

    #[test]
    fn this_machines_counter_can_be_measured() {
        let report = ClockReport::measure().unwrap();
        assert!(report.rate.hz > 1e6 && report.rate.hz < 1e11, "{report:?}");
        assert!(report.step_ticks >= 1 && report.costs.values().sum::<u64>() == 10_000, "{report:?}");
        assert!(report.rate_error_ppm.is_finite() && report.hint_ns >= 0.0, "{report:?}");
        eprintln!("{report:?}");
    }

    #[test]
    fn medians_and_divisors() {
        assert_eq!(median(&BTreeMap::from([(10, 1), (20, 5), (30, 2)])), 20);
        assert_eq!(median(&BTreeMap::new()), 0);
        assert_eq!(gcd(0, 12), 12);
        assert_eq!(gcd(18, 12), 6);
    }
}
