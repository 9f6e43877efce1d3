//! Order statistics of counted values: `(value, how often)` by rising value.

/// How many values there are.
pub fn counts_total(counts: &[(u64, u64)]) -> u64 {
    counts.iter().map(|(_, count)| count).sum()
}

/// The smallest value that at least `share` (0 to 1) of the values do not exceed; `None` for an empty list.
///
/// ```
/// # use coretalk_model::latency::summary::counts_percentile;
/// let half_round_trips_ps = [(20_000, 98), (21_000, 1), (90_000, 1)];
/// assert_eq!(counts_percentile(&half_round_trips_ps, 0.5), Some(20_000));
/// assert_eq!(counts_percentile(&half_round_trips_ps, 0.99), Some(21_000));
/// assert_eq!(counts_percentile(&half_round_trips_ps, 1.0), Some(90_000));
/// ```
pub fn counts_percentile(counts: &[(u64, u64)], share: f64) -> Option<u64> {
    // A hair is taken off, so that 0.99 of 100 is the 99th value although 0.99 × 100 rounds above 99.
    let rank = (share * counts_total(counts) as f64 * (1.0 - 1e-12)).ceil().max(1.0) as u64;
    let mut seen = 0;
    for &(value, count) in counts {
        seen += count;
        if count > 0 && seen >= rank {
            return Some(value);
        }
    }
    None
}

/// Arithmetic mean; `None` for an empty list.
pub fn counts_mean(counts: &[(u64, u64)]) -> Option<f64> {
    let total = counts_total(counts);
    let sum: f64 = counts.iter().map(|&(value, count)| value as f64 * count as f64).sum();
    (total > 0).then(|| sum / total as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_has_no_percentile_and_no_mean() {
        for empty in [&[][..], &[(7, 0)]] {
            assert_eq!((counts_percentile(empty, 0.5), counts_mean(empty)), (None, None));
        }
    }

    #[test]
    fn ranks_are_those_of_the_written_out_list() {
        let counts = [(3, 2), (5, 1), (9, 4)];
        let list = [3, 3, 5, 9, 9, 9, 9];
        for rank in 1..=7 {
            assert_eq!(counts_percentile(&counts, f64::from(rank) / 7.0), Some(list[rank as usize - 1]));
        }
        assert_eq!(counts_mean(&counts), Some(47.0 / 7.0));
    }
}
