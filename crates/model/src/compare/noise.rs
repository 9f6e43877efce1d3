//! What the values of a level show of chance.

use crate::stats::normal;
use crate::stats::{MadScale, mad, student};

/// From so many values on, the spread between them is known well enough to judge by it.
pub(super) const VALUES_THAT_TELL: usize = 20;
/// From so many on it is known as far as Student's t allows for (1908); a spread of five is itself off by a third.
const FEWEST_VALUES: usize = 6;
/// Two runs on one idle host repeat the median of a level within 1 %: the difference has a deviation of 0.7 %.
const SHARED_BY_A_RUN: f64 = 0.007;
/// Files say nothing of their conditions: 1.5 % is what even careful runs differ by across reboots.
const SHARED_BY_A_FILE: f64 = 0.015;
/// The probability at which a t of few degrees of freedom is held against a normal deviation: that of level verdicts.
const FAR_OUT: f64 = 0.9995;

/// The deviation of one value among others, as logarithms, from their spread where they are many, else from what their
/// intervals claim if that is more; `claimed` is shorter than `values` where some have none. Of few without intervals the
/// spread is made as much wider as a t of as few is than a normal variable; of fewer nothing is known.
pub(super) fn scatter(values: &[f64], claimed: &[f64]) -> Option<f64> {
    let spread = mad(values, MadScale::Normal);
    let n = values.len();
    if n >= VALUES_THAT_TELL {
        return spread;
    }
    if n > 0 && claimed.len() == n {
        let squares: f64 = claimed.iter().map(|deviation| deviation * deviation).sum();
        return Some((squares / n as f64).sqrt().max(spread.unwrap_or(0.0)));
    }
    (n >= FEWEST_VALUES).then(|| {
        let mean = values.iter().sum::<f64>() / n as f64;
        let freedom = (n - 1) as f64;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / freedom;
        variance.sqrt() * student(FAR_OUT, freedom) / normal::quantile(FAR_OUT)
    })
}

/// What all pairs of a run share, which no number of pairs averages away.
pub(super) fn shared(all_have_intervals: bool) -> f64 {
    if all_have_intervals { SHARED_BY_A_RUN } else { SHARED_BY_A_FILE }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Key;

    #[test]
    fn few_values_without_intervals_are_wide_and_fewer_say_nothing() {
        let values: Vec<f64> = (0..40).map(|index| 0.1 * Key::of(&[1]).normal(index)).collect();
        assert_eq!(scatter(&values[..5], &[]), None);
        assert_eq!(scatter(&[], &[]), None);
        let [six, many] = [&values[..6], &values[..]].map(|values| scatter(values, &[]).unwrap());
        assert!(six > 0.12 && (0.07..0.14).contains(&many), "{six} {many}");
        // Intervals say it of one.
        assert_eq!(scatter(&values[..1], &[0.02]), Some(0.02));
    }

    #[test]
    fn a_difference_of_six_pairs_is_called_by_chance_as_rarely_as_one_of_many() {
        let trials = 20_000;
        let wrong = (0..trials).filter(|&trial| {
            let shifts: Vec<f64> = (0..6).map(|pair| Key::of(&[trial]).normal(pair)).collect();
            let mean = shifts.iter().sum::<f64>() / 6.0;
            mean.abs() > normal::quantile(FAR_OUT) * scatter(&shifts, &[]).unwrap() / 6f64.sqrt()
        });
        // 0.1 % of 20,000 are 20.
        let wrong = wrong.count();
        assert!((5..40).contains(&wrong), "{wrong} of {trials}");
    }
}
