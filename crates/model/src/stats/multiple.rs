//! Multiple tests: adjusted p-values, to compare with the permitted error of the whole family.
//!
//! Adjusted values keep the order of the input. NaN counts as a p-value of 1.

/// Controls the family-wise error (Holm 1979). With rejection at adjusted values ≤ α, the probability of *any* false
/// rejection is ≤ α, whatever the dependence between the tests.
///
/// ```
/// # use coretalk_model::stats::multiple::holm;
/// assert_eq!(holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
/// ```
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let m = p_values.len();
    let mut adjusted = vec![1.0; m];
    let mut largest = 0.0f64;
    for (rank, index) in ascending(p_values).into_iter().enumerate() {
        largest = largest.max(((m - rank) as f64 * or_one(p_values[index])).min(1.0));
        adjusted[index] = largest;
    }
    adjusted
}

/// Controls the false discovery rate (Benjamini and Hochberg 1995). Of the rejections at adjusted values ≤ q, an
/// expected share ≤ q is false, for independent or positively dependent tests.
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let m = p_values.len();
    let mut adjusted = vec![1.0; m];
    let mut smallest = 1.0f64;
    for (rank, index) in ascending(p_values).into_iter().enumerate().rev() {
        smallest = smallest.min(or_one(p_values[index]) * m as f64 / (rank + 1) as f64);
        adjusted[index] = smallest;
    }
    adjusted
}

fn or_one(p: f64) -> f64 {
    if p.is_nan() { 1.0 } else { p.clamp(0.0, 1.0) }
}

fn ascending(p_values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| or_one(p_values[a]).total_cmp(&or_one(p_values[b])));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn adjusted_values_are_those_of_r() {
        // p.adjust(p, "holm") and p.adjust(p, "BH")
        let p = [0.01, 0.02, 0.03, 0.04, 0.05];
        let near =
            |found: &[f64], expected: &[f64]| found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near(&holm(&p), &[0.05, 0.08, 0.09, 0.09, 0.09]));
        assert!(near(&benjamini_hochberg(&p), &[0.05; 5]));
        let p = [0.0001, 0.8, 0.012, 0.021];
        assert!(near(&holm(&p), &[0.0004, 0.8, 0.036, 0.042]));
        assert!(near(&benjamini_hochberg(&p), &[0.0004, 0.8, 0.024, 0.028]));
    }

    #[test]
    fn nothing_and_not_a_number_are_defined() {
        assert!(holm(&[]).is_empty() && benjamini_hochberg(&[]).is_empty());
        assert_eq!(holm(&[f64::NAN, 0.02]), [1.0, 0.04]);
        assert_eq!(benjamini_hochberg(&[f64::NAN, 0.02]), [1.0, 0.04]);
    }

    proptest! {
        #[test]
        fn adjustment_never_helps_keeps_the_order_and_holm_is_the_stricter(
            p in proptest::collection::vec(0.0f64..1.0, 1..40),
        ) {
            let (strict, lenient) = (holm(&p), benjamini_hochberg(&p));
            for i in 0..p.len() {
                prop_assert!(strict[i] >= lenient[i] - 1e-12 && lenient[i] >= p[i] - 1e-12 && strict[i] <= 1.0);
                for j in 0..p.len() {
                    prop_assert!(p[i] > p[j] || (strict[i] <= strict[j] && lenient[i] <= lenient[j]));
                }
            }
        }
    }
}
