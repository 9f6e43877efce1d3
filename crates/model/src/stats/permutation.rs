//! Exact permutation test of paired differences.
//!
//! If the treatment has no effect, each difference has either sign with the same probability. The p-value is the share
//! of all 2ⁿ sign assignments whose statistic is at least as extreme as the observed one. The statistic is the sum of
//! the ranks of the positive differences (Wilcoxon 1945), because a disturbed run would dominate a mean. Ties have mean
//! ranks, so the distribution is exact also with ties (Pratt and Gibbons 1981, 4.2).

/// Two-sided p-value of "the differences are symmetric about zero". Differences of zero have no sign and are left out.
/// If no difference is left, p is 1. `None` if a difference is NaN.
///
/// Ten pairs with the same sign have p = 2/2¹⁰:
///
/// ```
/// # use coretalk_model::stats::permutation::signed_rank_p;
/// let differences: Vec<f64> = (1..=10).map(f64::from).collect();
/// assert_eq!(signed_rank_p(&differences), Some(2.0 / 1024.0));
/// ```
pub fn signed_rank_p(differences: &[f64]) -> Option<f64> {
    if differences.iter().any(|difference| difference.is_nan()) {
        return None;
    }
    let mut signed: Vec<f64> = differences.iter().copied().filter(|&difference| difference != 0.0).collect();
    signed.sort_unstable_by(|a, b| a.abs().total_cmp(&b.abs()));
    let ranks = doubled_ranks(&signed);
    let all: usize = ranks.iter().sum();
    let positive: usize =
        ranks.iter().zip(&signed).filter(|(_, value)| **value > 0.0).map(|(rank, _)| rank).sum();
    // The distribution is symmetric, so the nearer tail counts twice.
    Some((2.0 * lower_tail(&ranks, positive.min(all - positive))).min(1.0))
}

/// Minimum number of pairs for a p-value. Pairs with equal signs have 2/2ⁿ.
///
/// ```
/// # use coretalk_model::stats::permutation::fewest_pairs;
/// assert_eq!(fewest_pairs(0.05), 6);
/// assert_eq!(fewest_pairs(0.01), 8);
/// ```
pub fn fewest_pairs(p: f64) -> u32 {
    (1..64).find(|&pairs| 2.0 / 2f64.powi(pairs) <= p).unwrap_or(64) as u32
}

/// Twice the rank of each value by size, so that mean ranks of ties are whole numbers. The input is sorted by size.
fn doubled_ranks(sorted: &[f64]) -> Vec<usize> {
    let mut ranks = Vec::with_capacity(sorted.len());
    let mut start = 0;
    while start < sorted.len() {
        let ties = sorted[start..].iter().take_while(|value| value.abs() == sorted[start].abs()).count();
        ranks.extend(std::iter::repeat_n(2 * start + 1 + ties, ties));
        start += ties;
    }
    ranks
}

fn lower_tail(ranks: &[usize], end: usize) -> f64 {
    // Sums beyond the end do not contribute to those below. The loops vectorise with two buffers, but not with one.
    let mut shares = vec![0.0; end + 1];
    shares[0] = 1.0;
    let mut next = shares.clone();
    for &rank in ranks {
        let (without, with) = next.split_at_mut(rank.min(end + 1));
        without.iter_mut().zip(&shares).for_each(|(next, share)| *next = share / 2.0);
        let counted = shares[without.len()..].iter().zip(&shares);
        with.iter_mut().zip(counted).for_each(|(next, (share, lower))| *next = (share + lower) / 2.0);
        std::mem::swap(&mut shares, &mut next);
    }
    shares.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Key;
    use proptest::prelude::*;

    /// The p-value over all sign assignments, one by one.
    fn by_enumeration(differences: &[f64]) -> f64 {
        let mut signed: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
        signed.sort_unstable_by(|a, b| a.abs().total_cmp(&b.abs()));
        let ranks = doubled_ranks(&signed);
        let most: usize = ranks.iter().sum();
        let out = |sum: usize| (2 * sum).abs_diff(most);
        let seen: usize = ranks.iter().zip(&signed).filter(|(_, d)| **d > 0.0).map(|(r, _)| r).sum();
        let sum_of = |signs: u32| (0..ranks.len()).filter(|i| signs >> i & 1 == 1).map(|i| ranks[i]).sum();
        let far = (0..1u32 << ranks.len()).filter(|&signs| out(sum_of(signs)) >= out(seen)).count();
        far as f64 / f64::from(1u32 << ranks.len())
    }

    #[test]
    fn p_values_are_those_of_r() {
        // wilcox.test(c(1.1, -0.4, 2.0, 0.7, 3.1, -0.2), exact = TRUE): V = 18, p = 0.15625
        let p = signed_rank_p(&[1.1, -0.4, 2.0, 0.7, 3.1, -0.2]).unwrap();
        assert!((p - 0.15625).abs() < 1e-12, "{p}");
        assert_eq!(signed_rank_p(&[1.0; 5]), Some(0.0625));
        assert_eq!(signed_rank_p(&[-1.0; 6]), Some(0.03125));
    }

    #[test]
    fn nothing_and_not_a_number_are_defined() {
        assert_eq!(signed_rank_p(&[]), Some(1.0));
        assert_eq!(signed_rank_p(&[0.0, 0.0]), Some(1.0));
        assert_eq!(signed_rank_p(&[1.0, f64::NAN]), None);
        assert!(signed_rank_p(&vec![1.0; 400]).unwrap() < 1e-100);
    }

    #[test]
    fn without_an_effect_p_is_below_a_hundredth_once_in_a_hundred() {
        let is_small = |&sample: &u64| {
            let differences: Vec<f64> = (0..12).map(|i| Key::from_words(&[7, sample]).normal(i)).collect();
            signed_rank_p(&differences).unwrap() <= 0.01
        };
        let small = (0..20_000).filter(is_small).count();
        // 0.0093 is the largest attainable level below 1 %; five standard errors are 0.0035.
        assert!((110..=270).contains(&small), "{small}");
    }

    proptest! {
        #[test]
        fn counting_and_enumerating_agree(differences in proptest::collection::vec(-4i8..5, 0..11)) {
            let differences: Vec<f64> = differences.into_iter().map(f64::from).collect();
            let p = signed_rank_p(&differences).unwrap();
            prop_assert!((p - by_enumeration(&differences)).abs() < 1e-9, "{p}");
            let turned: Vec<f64> = differences.iter().map(|d| -d).collect();
            prop_assert!((p - signed_rank_p(&turned).unwrap()).abs() < 1e-12);
        }
    }
}
