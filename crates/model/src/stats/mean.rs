//! The interval of a mean over passes, for what adds up over time: time lost, events in a second.

use super::estimate::Estimate;
use super::location::mean;
use super::normal;

/// The mean of passes of equal length with its 95 % interval by Student's t, never below zero where no pass is. A median
/// leaves out what is rare, and of time lost the rare is most: of five passes that lost nothing and one that lost 9 ms the
/// median lost nothing. Where few passes hold nearly everything the interval is wide, as it should be, and its lower end
/// says little. `None` for no passes; a single one has no interval, and its confidence is 0.
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

/// The quantile of Student's t, from that of the normal distribution (Abramowitz and Stegun, 26.7.5; to 1 % from four
/// degrees of freedom on, below them the interval is too narrow).
pub(crate) fn student(p: f64, freedom: f64) -> f64 {
    let z = normal::quantile(p);
    let terms = [
        z,
        (z.powi(3) + z) / 4.0,
        (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0,
        (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0,
    ];
    terms.iter().rev().fold(0.0, |sum, term| sum / freedom + term)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_tables() {
        for (freedom, expected) in [(5.0, 2.571), (7.0, 2.365), (23.0, 2.069), (1e6, 1.960)] {
            let found = student(0.975, freedom);
            assert!((found / expected - 1.0).abs() < 0.002, "{freedom}: {found} for {expected}");
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
