//! The interval of a cell over its passes.
//!
//! Passes share a machine that drifts, so textbook intervals are too narrow. In 74 runs of 24 passes of 60 ms on one
//! pair, intervals of nominally 95 % contained the truth in 59 % of the runs (t interval) and in 70 % (order
//! statistic). The hull of the order statistic and six block medians with a floor of ± 2 % contained it in 92 %.

use super::elementary::{exp, ln};
use super::estimate::Estimate;
use super::location::{mean, median};
use super::normal;
use super::order_statistic::{exact_median_interval, interpolated_median_interval};
use super::stopping::Analysis;
use std::f64::consts::PI;

/// The adaptive interval of `passes` in time order at an analysis. `floor_relative` is the minimum half width for this
/// machine, relative to the point (0.02 is ± 2 %). `None` without passes.
///
/// The interval is the hull of the block medians and of the exact order statistic at the share of the error for this
/// analysis, widened to the floor. With a `design_effect` above 1 (see [`super::Correlation`]), the hull includes the
/// 95 % interval of independent passes, stretched by the root of the design effect. The confidence is 95 % over both
/// analyses together, and lower below six passes.
pub fn passes_interval(
    passes: &[f64],
    analysis: Analysis,
    design_effect: f64,
    floor_relative: f64,
) -> Option<Estimate> {
    let order = exact_median_interval(passes, analysis.alpha())?;
    let (mut low, mut high) = medians_of_blocks(passes, BLOCKS)
        .fold((order.low, order.high), |(low, high), block| (low.min(block), high.max(block)));
    if design_effect > 1.0 {
        let plain = fixed_interval(passes)?;
        let stretch = |end: f64| plain.point + (end - plain.point) * design_effect.sqrt();
        (low, high) = (low.min(stretch(plain.low)), high.max(stretch(plain.high)));
    }
    let confidence = order.confidence.min(0.95);
    let effective_n = order.effective_n.min(passes.len() as f64 / design_effect.max(1.0)).max(1.0);
    Some(Estimate { low, high, confidence, effective_n, ..order }.widened_to(floor_relative))
}

/// Six blocks of four passes cover the truth as often as eight, with an interval a fifth narrower (measured).
const BLOCKS: usize = 6;

/// The interval of a fixed number of *independent* passes: about 95 % at every n ≥ 6 (interpolated order statistic).
/// For passes of a machine that drifts see [`super::drift_interval`].
pub fn fixed_interval(passes: &[f64]) -> Option<Estimate> {
    interpolated_median_interval(passes, 0.05)
}

/// Medians of up to `blocks` blocks of consecutive passes, of nearly equal length and at least three passes each (batch
/// means, Conway 1963, with medians). Slow drift moves whole blocks. Empty for fewer than three passes.
pub fn block_medians(passes: &[f64], blocks: usize) -> Vec<f64> {
    medians_of_blocks(passes, blocks).collect()
}

fn medians_of_blocks(passes: &[f64], blocks: usize) -> impl Iterator<Item = f64> {
    let blocks = blocks.min(passes.len() / 3);
    let edge = move |block: usize| block * passes.len() / blocks;
    (0..blocks).filter_map(move |block| median(&passes[edge(block)..edge(block + 1)]))
}

/// The mean of passes of equal length with its 95 % interval by Student's t. The interval does not extend below zero
/// unless a pass is negative. A median ignores the rare events that dominate lost time: with five passes that lost
/// nothing and one that lost 9 ms, it is zero. `None` without passes. A single pass has no interval and a confidence of
/// 0.
///
/// ```
/// # use coretalk_model::stats::mean_interval;
/// let lost = mean_interval(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.036]).unwrap();
/// assert!((lost.point - 0.006).abs() < 1e-12 && lost.low == 0.0 && lost.high > 0.02);
/// ```
pub fn mean_interval(passes: &[f64]) -> Option<Estimate> {
    let point = mean(passes)?;
    let n = passes.len() as f64;
    if passes.len() < 2 {
        return Some(Estimate { point, low: point, high: point, confidence: 0.0, effective_n: n });
    }
    let variance = passes.iter().map(|pass| (pass - point).powi(2)).sum::<f64>() / (n - 1.0);
    let reach = student(0.975, n - 1.0) * (variance / n).sqrt();
    let least = if passes.iter().all(|pass| *pass >= 0.0) { 0.0 } else { f64::NEG_INFINITY };
    let low = (point - reach).max(least);
    Some(Estimate { point, low, high: point + reach, confidence: 0.95, effective_n: n })
}

/// The mean of shares of passes with its 95 % interval, as [`mean_interval`]. If all passes are 0, or all are 1, the
/// interval extends to the share of other passes that may be absent by chance (Clopper and Pearson 1934).
///
/// ```
/// # use coretalk_model::stats::share_interval;
/// let never = share_interval(&[0.0; 10]).unwrap();
/// assert!(never.low == 0.0 && (never.high - 0.308).abs() < 1e-3);
/// ```
pub fn share_interval(passes: &[f64]) -> Option<Estimate> {
    let estimate = mean_interval(passes)?;
    let unseen = 1.0 - exp(ln(0.025) / passes.len() as f64);
    let all = |share: f64| passes.len() > 1 && passes.iter().all(|pass| *pass == share);
    Some(match () {
        () if all(0.0) => Estimate { high: unseen, ..estimate },
        () if all(1.0) => Estimate { low: 1.0 - unseen, ..estimate },
        () => estimate,
    })
}

/// The quantile of Student's t, for `p` above one half. Exact for one to three degrees of freedom, otherwise derived
/// from the normal quantile, to 1 % (Abramowitz and Stegun, 26.7.5).
pub(crate) fn student(p: f64, freedom: f64) -> f64 {
    match freedom {
        1.0 => return (PI * (p - 0.5)).tan(),
        2.0 => return (2.0 * p - 1.0) / (2.0 * p * (1.0 - p)).sqrt(),
        3.0 => return student_of_three(p),
        _ => {}
    }
    let z = normal::quantile(p);
    let terms = [
        z,
        (z.powi(3) + z) / 4.0,
        (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0,
        (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0,
    ];
    terms.iter().rev().fold(0.0, |sum, term| sum / freedom + term)
}

/// Three degrees of freedom, by bisection. The distribution has a closed form, but its inverse has none.
fn student_of_three(p: f64) -> f64 {
    let below = |t: f64| {
        let x = t / 3.0_f64.sqrt();
        0.5 + (x / (1.0 + x * x) + x.atan()) / PI
    };
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        if below(middle) < p { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PASSES: [f64; 8] = [22.0, 22.4, 21.7, 22.1, 22.2, 21.9, 22.3, 22.05];

    #[test]
    fn eight_passes_reach_from_minimum_to_maximum() {
        let found = passes_interval(&PASSES, Analysis::FIRST, 1.0, 0.0).unwrap();
        assert_eq!((found.low, found.high, found.confidence), (21.7, 22.4, 0.95));
        assert!((found.point - 22.075).abs() < 1e-12);
        let floored = passes_interval(&PASSES, Analysis::FIRST, 1.0, 0.02).unwrap();
        assert!((floored.relative_reach() - 0.02).abs() < 2e-3 && floored.low <= 21.7);
    }

    #[test]
    fn drift_widens_the_interval_beyond_the_order_statistic() {
        let ramp: Vec<f64> = (0..24).map(|i| 20.0 + f64::from(i) / 10.0).collect();
        let found = passes_interval(&ramp, Analysis::SECOND, 1.0, 0.0).unwrap();
        // Ranks 6 and 19 would be 20.5 and 21.8; the first and the last block of four are 20.15 and 22.15.
        assert!((found.low - 20.15).abs() < 1e-9 && (found.high - 22.15).abs() < 1e-9, "{found:?}");
        assert!(found.effective_n < 3.0);
    }

    #[test]
    fn passes_that_resemble_each_other_are_worth_fewer() {
        let of_effect = |effect| passes_interval(&PASSES, Analysis::FIRST, effect, 0.0).unwrap();
        let (plain, wider) = (fixed_interval(&PASSES).unwrap(), of_effect(9.0));
        assert!((wider.half_width() - 3.0 * plain.half_width()).abs() < 1e-9 && wider.effective_n <= 1.0);
        assert_eq!((wider.point, of_effect(0.5)), (of_effect(1.0).point, of_effect(1.0)));
    }

    #[test]
    fn blocks_are_even_and_hold_at_least_three_passes() {
        for (n, blocks) in [(0, 0), (2, 0), (3, 1), (8, 2), (17, 5), (18, 6), (24, 6), (100, 6)] {
            let passes: Vec<f64> = (0..n).map(f64::from).collect();
            assert_eq!(block_medians(&passes, 6).len(), blocks, "{n} passes");
        }
        assert_eq!(block_medians(&[1.0, 2.0, 3.0, 9.0, 8.0, 7.0, 7.0], 2), [2.0, 7.5]);
    }

    #[test]
    fn fewer_than_six_passes_state_a_lower_confidence() {
        let found = passes_interval(&[1.0, 2.0, 3.0, 2.5], Analysis::FIRST, 1.0, 0.0).unwrap();
        assert_eq!((found.low, found.high, found.confidence), (1.0, 3.0, 0.875));
        assert!(found.effective_n <= 4.0);
        assert_eq!(passes_interval(&[], Analysis::FIRST, 1.0, 0.02), None);
        assert_eq!(passes_interval(&[5.0], Analysis::FIRST, 1.0, 0.02).map(|e| e.confidence), Some(0.0));
    }

    proptest! {
        #[test]
        fn the_adaptive_interval_holds_the_fixed_one_and_scales(
            passes in proptest::collection::vec(1.0f64..100.0, 1..40), factor in 0.01f64..100.0,
        ) {
            let analysis = Analysis::at(passes.len(), 2);
            let adaptive = passes_interval(&passes, analysis, 1.0, 0.02).unwrap();
            let fixed = fixed_interval(&passes).unwrap();
            prop_assert!(adaptive.low <= fixed.low && fixed.high <= adaptive.high);
            prop_assert!(adaptive.contains(adaptive.point));
            let scaled: Vec<f64> = passes.iter().map(|pass| pass * factor).collect();
            let of_scaled = passes_interval(&scaled, analysis, 1.0, 0.02).unwrap();
            let expected = adaptive.scaled(factor);
            prop_assert!((of_scaled.low - expected.low).abs() <= 1e-9 * expected.low.abs());
            prop_assert!((of_scaled.high - expected.high).abs() <= 1e-9 * expected.high.abs());
        }
    }

    #[test]
    fn quantiles_are_those_of_tables() {
        for (freedom, expected) in [
            (1.0, 12.706),
            (2.0, 4.303),
            (3.0, 3.182),
            (4.0, 2.776),
            (5.0, 2.571),
            (7.0, 2.365),
            (23.0, 2.069),
            (1e6, 1.960),
        ] {
            let found = student(0.975, freedom);
            assert!((found / expected - 1.0).abs() < 0.005, "{freedom}: {found} for {expected}");
        }
    }

    #[test]
    fn one_pass_has_no_interval_and_none_no_mean() {
        assert!(mean_interval(&[]).is_none());
        let one = mean_interval(&[0.3]).unwrap();
        assert!(!one.is_sure() && one.point == 0.3);
        let signed = mean_interval(&[-1.0, 1.0]).unwrap();
        assert!(signed.low < -1.0, "what can be negative has no floor");
    }
}
