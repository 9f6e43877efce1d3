//! Intervals for a median from order statistics, which assume only independence.
//!
//! The number of values below the median of a continuous distribution is Bin(n, ½). The interval from the l-th smallest
//! to the l-th largest value therefore misses the median with probability 2·P(Bin(n, ½) ≤ l−1) exactly.

use super::autocorrelation::effective_n_of;
use super::estimate::Estimate;
use super::location::{median_of_sorted, on_copy};

/// One-based ranks (l, n+1−l) of the exact interval: the largest l with P(Bin(n, ½) ≤ l−1) ≤ α/2 (Hoefler and Belli
/// 2015, after David and Nagaraja 2003). `None` if even the range from minimum to maximum misses the median more often
/// than `alpha`. For 5 %, this is below six values.
///
/// ```
/// # use coretalk_model::stats::median_ranks;
/// assert_eq!(median_ranks(20, 0.05), Some((6, 15)));
/// assert_eq!(median_ranks(5, 0.05), None);
/// ```
pub fn median_ranks(n: usize, alpha: f64) -> Option<(usize, usize)> {
    with_tails(n, |tails| ranks(tails, alpha))
}

fn ranks(tails: &[f64], alpha: f64) -> Option<(usize, usize)> {
    let n = tails.len() - 1;
    let rank = tails.iter().take_while(|tail| **tail <= alpha / 2.0).count();
    (rank >= 1).then(|| (rank.min(n.div_ceil(2)), n + 1 - rank.min(n.div_ceil(2))))
}

/// The exact interval at confidence 1 − `alpha` or a little more, with its true confidence. With too few values, the
/// interval is minimum to maximum with a confidence of 1 − 2¹⁻ⁿ. `values` in time order determine the effective sample
/// size; the interval itself ignores order. `None` without values.
pub fn exact_median_interval(values: &[f64], alpha: f64) -> Option<Estimate> {
    let n = values.len();
    let ((low, high), tail) = with_tails(n, |tails| {
        let ranks = ranks(tails, alpha).unwrap_or((1, n));
        (ranks, tails[ranks.0 - 1])
    });
    on_copy(values, |sorted| {
        sorted.sort_unstable_by(f64::total_cmp);
        Some(Estimate {
            point: median_of_sorted(sorted)?,
            low: sorted[low - 1],
            high: sorted[high - 1],
            confidence: (1.0 - 2.0 * tail).max(0.0),
            effective_n: effective_n_of(values),
        })
    })
}

/// The interval between two exact intervals, interpolated to a confidence close to 1 − `alpha` at every n
/// (Hettmansperger and Sheather 1986). For eight values the exact intervals have 99.2 % or 93.0 %, the interpolated
/// interval about 95 %. With too few values as [`exact_median_interval`]. `None` without values.
pub fn interpolated_median_interval(values: &[f64], alpha: f64) -> Option<Estimate> {
    let exact = exact_median_interval(values, alpha)?;
    let n = values.len();
    let Some((rank, _)) = median_ranks(n, alpha) else { return Some(exact) };
    if rank >= n.div_ceil(2) {
        return Some(exact); // The next interval is the median itself, so there is no interpolation.
    }
    let wanted = 1.0 - alpha;
    let (outer, inner) = with_tails(n, |tails| (1.0 - 2.0 * tails[rank - 1], 1.0 - 2.0 * tails[rank]));
    let excess = (outer - wanted) / (outer - inner);
    let (d, count) = (rank as f64, n as f64);
    let inward = (count - d) * excess / (d + (count - 2.0 * d) * excess);
    let between = |outer: f64, inner: f64| outer + (inner - outer) * inward;
    on_copy(values, |sorted| {
        sorted.sort_unstable_by(f64::total_cmp);
        Some(Estimate {
            low: between(sorted[rank - 1], sorted[rank]),
            high: between(sorted[n - rank], sorted[n - rank - 1]),
            confidence: wanted,
            ..exact
        })
    })
}

fn with_tails<T>(n: usize, work: impl FnOnce(&[f64]) -> T) -> T {
    let (mut few, mut many) = ([1.0; 33], Vec::new());
    let terms = match few.get_mut(..=n) {
        Some(few) => few,
        None => {
            many.resize(n + 1, 1.0);
            &mut many[..]
        }
    };
    // Relative to the middle term, because 2⁻ⁿ itself underflows beyond n = 1,074.
    let middle = n / 2;
    for k in (0..middle).rev() {
        terms[k] = terms[k + 1] * (k + 1) as f64 / (n - k) as f64;
    }
    for k in middle + 1..=n {
        terms[k] = terms[n - k];
    }
    let total: f64 = terms.iter().sum();
    let mut sum = 0.0;
    for term in &mut *terms {
        sum += *term;
        *term = sum / total;
    }
    work(terms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Key;
    use proptest::prelude::*;
    use statrs::distribution::{Binomial, DiscreteCDF};

    #[test]
    fn ranks_are_those_of_hoefler_and_belli() {
        for (n, ranks) in [
            (12, (3, 10)),
            (20, (6, 15)),
            (30, (10, 21)),
            (50, (18, 33)),
            (100, (40, 61)),
            (200, (86, 115)),
            (400, (180, 221)),
        ] {
            assert_eq!(median_ranks(n, 0.05), Some(ranks), "n = {n}");
        }
    }

    #[test]
    fn ranks_follow_the_definition_for_any_n_and_alpha() {
        for n in (0usize..80).chain([1000, 3000]) {
            for alpha in [0.2, 0.1, 0.05, 0.0304, 0.0076, 0.001] {
                let binomial = Binomial::new(0.5, n as u64).unwrap();
                let expected = (1..=n.div_ceil(2)).rev().find(|&l| binomial.cdf(l as u64 - 1) <= alpha / 2.0);
                assert_eq!(median_ranks(n, alpha).map(|ranks| ranks.0), expected, "n = {n}, alpha = {alpha}");
            }
        }
    }

    #[test]
    fn too_few_values_state_a_lower_confidence() {
        let three = interpolated_median_interval(&[3.0, 1.0, 2.0], 0.05).unwrap();
        assert_eq!((three.point, three.low, three.high, three.confidence), (2.0, 1.0, 3.0, 0.75));
        let one = exact_median_interval(&[5.0], 0.05).unwrap();
        assert_eq!((one.low, one.high, one.confidence), (5.0, 5.0, 0.0));
        assert_eq!(interpolated_median_interval(&[], 0.05), None);
    }

    #[test]
    fn the_interpolated_interval_is_the_published_one() {
        // n = 10: ranks 2 and 9 hold 97.85 %, 3 and 8 hold 89.06 %; I = 0.32444, λ = 8·I/(2 + 6·I) = 0.65766.
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let found = interpolated_median_interval(&values, 0.05).unwrap();
        assert!((found.low - 2.65766).abs() < 1e-5 && (found.high - 8.34234).abs() < 1e-5, "{found:?}");
    }

    #[test]
    fn interpolation_covers_95_percent_at_every_n_where_the_exact_interval_jumps() {
        // 20,000 samples: standard error 0.15 points. Skewed values: the median of an exponential is ln 2.
        const SAMPLES: u64 = 20_000;
        for n in [6, 7, 8, 9, 12, 16, 24, 25] {
            let mut hits = [0u64; 2];
            for sample in 0..SAMPLES {
                let key = Key::from_words(&[n, sample]);
                let normal: Vec<f64> = (0..n).map(|i| key.normal(i)).collect();
                let skewed: Vec<f64> = (0..n).map(|i| key.exponential(i)).collect();
                for (index, values, truth) in [(0, normal, 0.0), (1, skewed, std::f64::consts::LN_2)] {
                    let interval = interpolated_median_interval(&values, 0.05).unwrap();
                    hits[index] += u64::from(interval.contains(truth));
                }
            }
            for covered in hits.map(|hits| hits as f64 / SAMPLES as f64) {
                assert!((0.94..0.967).contains(&covered), "n = {n}: {covered}");
            }
        }
    }

    proptest! {
        #[test]
        fn intervals_nest_hold_the_point_and_ignore_order(values in proptest::collection::vec(-1e3f64..1e3, 1..80)) {
            let exact = exact_median_interval(&values, 0.05).unwrap();
            let interpolated = interpolated_median_interval(&values, 0.05).unwrap();
            prop_assert!(exact.low <= interpolated.low && interpolated.high <= exact.high);
            prop_assert!(interpolated.contains(interpolated.point));
            let reversed: Vec<f64> = values.iter().rev().copied().collect();
            let of_reversed = interpolated_median_interval(&reversed, 0.05).unwrap();
            prop_assert_eq!((of_reversed.low, of_reversed.high), (interpolated.low, interpolated.high));
        }
    }
}
