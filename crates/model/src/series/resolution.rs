//! [`half_step_of`]: how finely the clock has read the events that a median, or a value made of one, rests on.

use crate::Histogram;
use crate::quantity::Quantities;
use std::borrow::Borrow;

/// Values that are read so often are steps of a clock; a fine one reads hardly any value twice, unless all are alike to a
/// thousandth: then the values beside them are read, too.
const FEWEST: u64 = 8;
/// The value beside, as a share of the one in the middle: fewer are strays between two steps.
const BESIDE_SHARE: f64 = 0.01;

/// What half a step of the clock moves the number `name` of a probe by, in nanoseconds: the median of the distribution of
/// that name, or a value that is declared to be taken from the median of another. `None` where no steps are seen, and for
/// what rests on no distribution.
pub(super) fn half_step_of<H: Borrow<Histogram>>(
    quantities: &Quantities,
    probe: &str,
    name: &str,
    distribution: impl Fn(&str) -> Option<H>,
) -> Option<f64> {
    let of_median = quantities.of(probe, name).and_then(|quantity| quantity.of_median);
    let (of, factor) = of_median.unwrap_or((name, 1.0));
    Some(half_step_ns(distribution(of)?.borrow())? * factor)
}

/// Half the distance from the median to the nearest other value that was read often, in nanoseconds: a median of events
/// that are read in steps is known no better. `None` where the distribution does not look read in steps.
///
/// Sound for differences of two readings: of a duration of k + f steps a share f is read as k + 1 and the rest as k, so
/// that their median is k or k + 1, whichever is nearer, where events begin anywhere between two steps.
fn half_step_ns(histogram: &Histogram) -> Option<f64> {
    let middle = histogram.count().div_ceil(2);
    let read: Vec<(u64, u64)> = histogram.iter().collect();
    let mut seen = 0;
    let at = read.iter().position(|(_, count)| {
        seen += count;
        seen >= middle
    })?;
    let (median, count) = read[at];
    if count < FEWEST {
        return None;
    }
    let often = |(_, other): &&(u64, u64)| *other as f64 >= BESIDE_SHARE * count as f64;
    let below = read[..at].iter().rev().find(often).map(|(units, _)| median - units);
    let above = read[at + 1..].iter().find(often).map(|(units, _)| units - median);
    let step = below.into_iter().chain(above).min()?;
    Some(step as f64 * Histogram::UNIT_PS as f64 / 1e3 / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[(f64, u64)]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|&(ns, count)| histogram.record_ns(ns, count));
        histogram
    }

    #[test]
    fn steps_of_a_coarse_clock_are_seen_through_strays() {
        let coarse = of(&[(41.67, 30), (83.33, 60), (125.0, 10), (130.0, 1)]);
        let half = half_step_ns(&coarse).unwrap();
        assert!((half - 20.83).abs() < 0.1, "{half}");
        let with_stray = of(&[(120.0, 4_000), (124.0, 20), (130.0, 5_000), (140.0, 900)]);
        assert!((half_step_ns(&with_stray).unwrap() - 5.0).abs() < 0.1);
    }

    #[test]
    fn few_events_of_a_fine_clock_are_no_steps() {
        let sparse: Vec<(f64, u64)> = (0..20).map(|at| (20_000.0 + 1_100.0 * f64::from(at), 1)).collect();
        assert_eq!(half_step_ns(&of(&sparse)), None);
        assert_eq!(half_step_ns(&of(&[(60.0, 1_000)])), None, "one value alone does not say");
        assert_eq!(half_step_ns(&Histogram::new()), None);
    }

    #[test]
    fn neighbouring_values_are_fine() {
        let fine: Vec<(f64, u64)> = (0..5).map(|at| (60.0 + 0.1 * f64::from(at), 100)).collect();
        assert!(half_step_ns(&of(&fine)).unwrap() < 0.06);
    }
}
