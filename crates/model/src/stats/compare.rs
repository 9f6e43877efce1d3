//! Distribution-free shift between samples with its interval (Hodges and Lehmann 1963).
//!
//! Logarithms give a relative shift (0.02 is about 2 %). The interval between two samples inverts the test of Mann and
//! Whitney (1947), that of pairs the test of Wilcoxon (1945). Null distributions are exact up to a size, then normal.

use super::elementary;
use super::estimate::Estimate;
use super::location::median_in_place;
use super::normal;

/// Shift of `after` relative to `before`: the median of all differences after − before, with an interval of confidence
/// 1 − `alpha` or a little more. With too few values, the interval is the whole range of differences, with its actual
/// confidence. `None` if a sample is empty. Time and memory grow with the product of the sizes.
///
/// ```
/// # use coretalk_model::stats::compare::shift;
/// let found = shift(&[10.0, 11.0, 12.0, 13.0], &[20.0, 21.0, 22.0, 23.0], 0.05).unwrap();
/// assert_eq!((found.point, found.low, found.high), (10.0, 7.0, 13.0));
/// ```
pub fn shift(before: &[f64], after: &[f64], alpha: f64) -> Option<Estimate> {
    let differences = after.iter().flat_map(|late| before.iter().map(move |early| late - early)).collect();
    let (m, n) = (before.len(), after.len());
    let cut = if m * n <= EXACT_DIFFERENCES {
        exact_cut(mann_whitney(m, n), alpha)
    } else {
        normal_cut(m * n, m as f64 * n as f64 * (m + n + 1) as f64 / 12.0, alpha)
    };
    // The effective size for a difference of two means: half the harmonic mean of the sizes.
    interval(differences, cut, m as f64 * n as f64 / (m + n) as f64)
}

/// Location of differences of pairs (or of any symmetric sample): the median of the Walsh averages, with an interval as
/// in [`shift`]. `None` without differences. Time and memory grow with the square of the size.
pub fn paired_shift(differences: &[f64], alpha: f64) -> Option<Estimate> {
    let n = differences.len();
    let averages: Vec<f64> = differences
        .iter()
        .enumerate()
        .flat_map(|(i, a)| differences[i..].iter().map(move |b| a / 2.0 + b / 2.0))
        .collect();
    let cut = if n <= EXACT_PAIRS {
        exact_cut(signed_ranks(n), alpha)
    } else {
        normal_cut(averages.len(), n as f64 * (n + 1) as f64 * (2 * n + 1) as f64 / 24.0, alpha)
    };
    interval(averages, cut, n as f64)
}

/// The point of [`paired_shift`] alone. Beyond 1,000 differences, 1,000 evenly spaced order statistics describe the
/// sample to a rank in a thousand. `None` without differences.
pub fn paired_location(differences: &[f64]) -> Option<f64> {
    let mut sorted = differences.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let kept = sorted.len().min(EXACT_LOCATION);
    let spaced: Vec<f64> = (0..kept).map(|rank| sorted[(2 * rank + 1) * sorted.len() / (2 * kept)]).collect();
    let mut averages: Vec<f64> = spaced
        .iter()
        .enumerate()
        .flat_map(|(i, a)| spaced[i..].iter().map(move |b| a / 2.0 + b / 2.0))
        .collect();
    median_in_place(&mut averages)
}

/// Half a million Walsh averages of this many values take ten milliseconds.
const EXACT_LOCATION: usize = 1_000;

/// Whether two quantities are equal according to the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Equivalence {
    /// Shown to differ by less than the margin.
    Equivalent,
    /// Shown to differ by more than the margin.
    Different,
    /// The interval crosses a margin.
    CannotTell,
}

/// Two one-sided tests at 5 % (Schuirmann 1987), by the position of the 90 % interval of the paired log ratios:
/// ```text
/// ------ -margin ------ 0 ------ +margin ------>
/// different |      equivalent      |  different      across a margin: cannot tell
/// ```
/// With fewer than five values there is no 90 % interval, which gives [`Equivalence::CannotTell`].
pub fn equivalence(log_ratios: &[f64], margin: f64) -> Equivalence {
    paired_shift(log_ratios, 0.1).map_or(Equivalence::CannotTell, |shift| verdict(&shift, margin))
}

/// [`equivalence`] of a known shift with its 90 % interval.
pub fn verdict(shift: &Estimate, margin: f64) -> Equivalence {
    if shift.confidence < 0.9 - 1e-9 {
        Equivalence::CannotTell
    } else if -margin <= shift.low && shift.high <= margin {
        Equivalence::Equivalent
    } else if shift.high < -margin || shift.low > margin {
        Equivalence::Different
    } else {
        Equivalence::CannotTell
    }
}

/// Whether two positive numbers are equal up to a factor above 1, according to their intervals.
/// [`Equivalence::CannotTell`] if either has no interval.
///
/// ```
/// # use coretalk_model::stats::{Estimate, compare::{Equivalence, within_factor}};
/// let ns = |point: f64| Estimate { point, low: point - 1.0, high: point + 1.0, confidence: 0.95, effective_n: 8.0 };
/// assert_eq!(within_factor(&ns(107.9), &ns(110.0), 1.08), Equivalence::Equivalent);
/// assert_eq!(within_factor(&ns(107.9), &ns(128.5), 1.08), Equivalence::Different);
/// ```
pub fn within_factor(a: &Estimate, b: &Estimate, factor: f64) -> Equivalence {
    let ln = elementary::ln;
    let shift = Estimate {
        point: ln(b.point / a.point),
        low: ln(b.low / a.high),
        high: ln(b.high / a.low),
        confidence: a.confidence.min(b.confidence),
        effective_n: a.effective_n.min(b.effective_n),
    };
    verdict(&shift, ln(factor))
}

/// The exact distribution of 200 pairs takes 4 million additions, that of 50 × 50 values 6 million. Beyond these sizes,
/// the normal approximation is off by less than one rank in a thousand.
const EXACT_PAIRS: usize = 200;
const EXACT_DIFFERENCES: usize = 2_500;

struct Cut {
    each_end: usize,
    confidence: f64,
}

fn exact_cut(probabilities: Vec<f64>, alpha: f64) -> Cut {
    let mut cut = Cut { each_end: 0, confidence: 1.0 - 2.0 * probabilities[0] };
    let mut tail = 0.0;
    for (statistic, probability) in probabilities.iter().enumerate() {
        tail += probability;
        if tail > alpha / 2.0 {
            break;
        }
        cut = Cut { each_end: statistic, confidence: 1.0 - 2.0 * tail };
    }
    cut
}

fn normal_cut(count: usize, variance: f64, alpha: f64) -> Cut {
    // P(W ≤ w) is taken at w + ½ (continuity correction).
    let w = count as f64 / 2.0 - 0.5 + normal::quantile(alpha / 2.0) * variance.sqrt();
    Cut { each_end: w.max(0.0) as usize, confidence: 1.0 - alpha }
}

fn interval(mut differences: Vec<f64>, cut: Cut, effective_n: f64) -> Option<Estimate> {
    let point = median_in_place(&mut differences)?;
    let last = differences.len() - 1;
    let each_end = cut.each_end.min(last / 2);
    let mut ranked = |rank: usize| *differences.select_nth_unstable_by(rank, f64::total_cmp).1;
    let (low, high) = (ranked(each_end), ranked(last - each_end));
    Some(Estimate { point, low, high, confidence: cut.confidence.max(0.0), effective_n })
}

/// Probabilities of the sums of positive ranks 0, 1, … n(n+1)/2. Each rank counts with probability ½.
fn signed_ranks(n: usize) -> Vec<f64> {
    let mut probabilities = vec![0.0; n * (n + 1) / 2 + 1];
    probabilities[0] = 1.0;
    for rank in 1..=n {
        for sum in (0..=rank * (rank + 1) / 2).rev() {
            let with_rank = if sum >= rank { probabilities[sum - rank] } else { 0.0 };
            probabilities[sum] = (probabilities[sum] + with_rank) / 2.0;
        }
    }
    probabilities
}

/// Probabilities of 0, 1, … m·n pairs in which the second sample is the smaller. The largest value is from the first
/// sample with probability m/(m+n), and then exceeds all n values of the second.
fn mann_whitney(m: usize, n: usize) -> Vec<f64> {
    let mut row: Vec<Vec<f64>> = (0..=n).map(|_| vec![1.0]).collect();
    for i in 1..=m {
        row[0] = vec![1.0];
        for j in 1..=n {
            let share = i as f64 / (i + j) as f64;
            let mut next = vec![0.0; i * j + 1];
            for (count, probability) in row[j].iter().enumerate() {
                next[count + j] += share * probability;
            }
            for (count, probability) in row[j - 1].iter().enumerate() {
                next[count] += (1.0 - share) * probability;
            }
            row[j] = next;
        }
    }
    row.pop().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Key;
    use crate::stats::location::median_of_sorted;
    use proptest::prelude::*;

    fn cumulative(probabilities: Vec<f64>, upto: usize) -> f64 {
        probabilities[..=upto].iter().sum()
    }

    #[test]
    fn null_distributions_are_those_of_the_tables() {
        // psignrank(8, 10) = 0.0244140625; psignrank(52, 20) = 0.0242 (critical value 52 at 5 %, two-sided).
        assert!((cumulative(signed_ranks(10), 8) - 25.0 / 1024.0).abs() < 1e-15);
        assert!(cumulative(signed_ranks(20), 52) < 0.025 && cumulative(signed_ranks(20), 53) > 0.025);
        // choose(7, 3) = 35 orders; 4 of them have at most 2 inversions: 1, 1, 2.
        assert!((cumulative(mann_whitney(3, 4), 2) - 4.0 / 35.0).abs() < 1e-15);
        // Critical values of the printed tables at 5 %, two-sided.
        for (m, n, critical) in [(10, 10, 23), (20, 20, 127), (10, 20, 55), (5, 8, 6)] {
            assert!(cumulative(mann_whitney(m, n), critical) <= 0.025, "{m} {n}");
            assert!(cumulative(mann_whitney(m, n), critical + 1) > 0.025, "{m} {n}");
        }
        for (m, n) in [(1, 1), (3, 9), (40, 40)] {
            assert!((mann_whitney(m, n).iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert_eq!(mann_whitney(m, n).len(), m * n + 1);
        }
    }

    #[test]
    fn the_interval_of_a_small_paired_sample_is_the_published_one() {
        // Hollander and Wolfe, depression data: wilcox.test gives −0.46, 95 % from −0.786 to −0.010 (n = 9).
        let differences = [-0.952, 0.147, -1.022, -0.43, -0.62, -0.59, -0.49, 0.08, -0.01];
        let found = paired_shift(&differences, 0.05).unwrap();
        assert!((found.point + 0.46).abs() < 1e-9, "{found:?}");
        assert!((found.low + 0.786).abs() < 1e-9 && (found.high + 0.010).abs() < 1e-9, "{found:?}");
        assert!((found.confidence - 0.9609375).abs() < 1e-12);
    }

    #[test]
    fn the_location_of_a_few_and_of_many_is_that_of_all_walsh_averages() {
        let few: Vec<f64> = (0..41).map(|i| Key::from_words(&[3]).normal(i)).collect();
        assert!((paired_location(&few).unwrap() - paired_shift(&few, 0.05).unwrap().point).abs() < 1e-12);
        // Skewed, so that a plain median differs.
        let many: Vec<f64> = (0..4_000).map(|i| Key::from_words(&[4]).exponential(i)).collect();
        let all = paired_shift(&many, 0.05).unwrap().point;
        assert!((paired_location(&many).unwrap() - all).abs() < 2e-3, "{all}");
        assert!((median_of_sorted(&[0.7]).unwrap() - all).abs() > 0.05, "the test needs skew");
        assert_eq!(paired_location(&[]), None);
    }

    #[test]
    fn intervals_cover_what_they_claim() {
        const TRIALS: u64 = 4_000;
        let mut hits = [0u32; 3];
        for trial in 0..TRIALS {
            let key = Key::from_words(&[6, trial]);
            let a: Vec<f64> = (0..12).map(|i| key.normal(i)).collect();
            let b: Vec<f64> = (100..115).map(|i| 0.7 + key.normal(i)).collect();
            hits[0] += u32::from(shift(&a, &b, 0.05).unwrap().contains(0.7));
            hits[1] += u32::from(paired_shift(&b, 0.05).unwrap().contains(0.7));
            let flat: Vec<f64> = (200..212).map(|i| key.uniform(i)).collect();
            hits[2] += u32::from(paired_shift(&flat, 0.1).unwrap().contains(0.5));
        }
        for (hits, nominal) in hits.iter().zip([0.95, 0.95, 0.90]) {
            let covered = f64::from(*hits) / TRIALS as f64;
            assert!((nominal - 0.015..nominal + 0.02).contains(&covered), "{covered} for {nominal}");
        }
    }

    #[test]
    fn exact_and_approximate_intervals_meet_where_the_method_changes() {
        let values: Vec<f64> = (0..EXACT_PAIRS as u64).map(|i| Key::from_words(&[7]).normal(i)).collect();
        let n = values.len() as f64;
        let exact = exact_cut(signed_ranks(values.len()), 0.05).each_end as f64;
        let pairs = values.len() * (values.len() + 1) / 2;
        let approximate = normal_cut(pairs, n * (n + 1.0) * (2.0 * n + 1.0) / 24.0, 0.05).each_end as f64;
        assert!((exact - approximate).abs() <= 0.002 * exact, "{exact} {approximate}");
        let exact = exact_cut(mann_whitney(50, 50), 0.05).each_end as f64;
        let approximate = normal_cut(2500, 2500.0 * 101.0 / 12.0, 0.05).each_end as f64;
        assert!((exact - approximate).abs() <= 3.0, "{exact} {approximate}");
    }

    #[test]
    fn the_verdict_follows_the_position_of_the_interval() {
        use Equivalence::{CannotTell, Different, Equivalent};
        for (low, high, confidence, expected) in [
            (-0.01, 0.01, 0.9, Equivalent),
            (0.011, 0.02, 0.9, Different),
            (-0.03, -0.02, 0.9, Different),
            (0.005, 0.015, 0.9, CannotTell),
            (-0.02, 0.02, 0.9, CannotTell),
            (0.0, 0.0, 0.5, CannotTell),
        ] {
            let shift = Estimate { point: 0.0, low, high, confidence, effective_n: 64.0 };
            assert_eq!(verdict(&shift, 0.01), expected, "{shift:?}");
        }
        for (count, expected) in [(0, CannotTell), (4, CannotTell), (5, Equivalent)] {
            assert_eq!(equivalence(&vec![0.0; count], 0.01), expected, "{count}");
        }
        assert_eq!(shift(&[], &[1.0], 0.05), None);
    }

    proptest! {
        #[test]
        fn a_shift_moves_the_interval_and_swapping_negates_it(
            a in proptest::collection::vec(-10.0f64..10.0, 1..25),
            b in proptest::collection::vec(-10.0f64..10.0, 1..25),
            by in -5.0f64..5.0,
        ) {
            let plain = shift(&a, &b, 0.05).unwrap();
            prop_assert!(plain.contains(plain.point));
            let moved: Vec<f64> = b.iter().map(|value| value + by).collect();
            prop_assert!((shift(&a, &moved, 0.05).unwrap().low - plain.low - by).abs() < 1e-9);
            let swapped = shift(&b, &a, 0.05).unwrap();
            prop_assert!((swapped.low + plain.high).abs() < 1e-9 && (swapped.point + plain.point).abs() < 1e-9);
        }
    }
}
