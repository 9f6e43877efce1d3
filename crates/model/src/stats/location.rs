//! Location and scale of a sample: mean, median, quantile, trimmed mean, median absolute deviation.
//!
//! Results have the unit of the values. An empty sample has no location: `None`, never zero. Values are ordered by
//! [`f64::total_cmp`], so a NaN sorts to an end instead of panicking.

/// Scales the median absolute deviation of normal values to their standard deviation: 1 / Φ⁻¹(¾).
pub const NORMAL_MAD_SCALE: f64 = 1.4826;

/// Arithmetic mean.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Sample variance with divisor n − 1, in the squared unit; `None` for fewer than two values.
pub fn variance(values: &[f64]) -> Option<f64> {
    let center = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - center) * (value - center)).sum();
    (values.len() > 1).then(|| squares / (values.len() - 1) as f64)
}

/// Median. The mean of the two middle values if their number is even.
///
/// ```
/// # use coretalk_model::stats::median;
/// assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
/// assert_eq!(median(&[]), None);
/// ```
pub fn median(values: &[f64]) -> Option<f64> {
    on_copy(values, median_in_place)
}

/// 1,024 CPUs need several medians for each of half a million cells, so few values are copied to the stack.
pub(super) fn on_copy<T>(values: &[f64], work: impl FnOnce(&mut [f64]) -> T) -> T {
    const FEW: usize = 32;
    if values.len() > FEW {
        return work(&mut values.to_vec());
    }
    let mut few = [0.0; FEW];
    let copy = &mut few[..values.len()];
    copy.copy_from_slice(values);
    work(copy)
}

/// [`median`] without allocation. Reorders the values. Linear time by selection (Hoare 1961).
pub fn median_in_place(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let (middle, odd) = (values.len() / 2, values.len() % 2 == 1);
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if odd {
        return Some(upper);
    }
    let lower = below.iter().copied().max_by(f64::total_cmp)?;
    Some(midpoint(lower, upper))
}

/// Median of sorted values.
pub fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some(midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// The unit of spread that [`mad`] returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MadScale {
    /// The median absolute deviation itself.
    Raw,
    /// Times [`NORMAL_MAD_SCALE`], comparable with a standard deviation.
    Normal,
}

/// Median absolute deviation from the median (Hampel 1974).
pub fn mad(values: &[f64], scale: MadScale) -> Option<f64> {
    let mut work = values.to_vec();
    let center = median_in_place(&mut work)?;
    for value in &mut work {
        *value = (*value - center).abs();
    }
    let raw = median_in_place(&mut work)?;
    Some(match scale {
        MadScale::Raw => raw,
        MadScale::Normal => raw * NORMAL_MAD_SCALE,
    })
}

/// Quantile by linear interpolation (type 7 of Hyndman and Fan 1996, as in R and NumPy). `share` is clamped to 0..=1.
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    quantile_of_sorted(&sorted, share)
}

/// [`quantile`] of sorted values.
pub fn quantile_of_sorted(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = share.clamp(0.0, 1.0) * last as f64;
    let below = position.floor() as usize;
    let (low, high) = (sorted[below], sorted[(below + 1).min(last)]);
    let between = position - below as f64;
    Some(if between == 0.0 || low == high { low } else { low + (high - low) * between })
}

/// Mean without the `floor(share × n)` smallest and largest values (Tukey and McLaughlin 1963). The median from ½ on.
pub fn trimmed_mean(values: &[f64], share: f64) -> Option<f64> {
    let cut = (share.max(0.0) * values.len() as f64) as usize;
    if 2 * cut >= values.len() {
        return median(values);
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    mean(&sorted[cut..sorted.len() - cut])
}

fn midpoint(low: f64, high: f64) -> f64 {
    low / 2.0 + high / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use statrs::statistics::{Data, OrderStatistics, Statistics};

    type Location = fn(&[f64]) -> Option<f64>;
    const LOCATIONS: [(&str, Location); 5] = [
        ("mean", mean),
        ("median", median),
        ("first quartile", |values| quantile(values, 0.25)),
        ("p90", |values| quantile(values, 0.9)),
        ("trimmed mean", |values| trimmed_mean(values, 0.1)),
    ];

    #[test]
    fn an_empty_sample_has_no_location_and_one_value_is_its_own() {
        for (name, location) in LOCATIONS {
            assert_eq!(location(&[]), None, "{name}");
            assert_eq!(location(&[7.5]), Some(7.5), "{name}");
        }
        assert_eq!(mad(&[], MadScale::Raw), None);
        assert_eq!(variance(&[1.0]), None);
    }

    #[test]
    fn quantiles_agree_with_the_default_of_r() {
        // quantile(c(15, 20, 35, 40, 50), type = 7)
        for (share, expected) in
            [(0.0, 15.0), (0.05, 16.0), (0.3, 23.0), (0.4, 29.0), (0.5, 35.0), (1.0, 50.0)]
        {
            let found = quantile(&[50.0, 15.0, 40.0, 20.0, 35.0], share).unwrap();
            assert!((found - expected).abs() < 1e-12, "{share}: {found}");
        }
    }

    #[test]
    fn the_scaled_deviation_of_normal_quantiles_is_their_standard_deviation() {
        let values: Vec<f64> =
            (1..2000).map(|i| 5.0 + 3.0 * super::super::normal::quantile(f64::from(i) / 2000.0)).collect();
        assert!((mad(&values, MadScale::Normal).unwrap() - 3.0).abs() < 0.01);
    }

    #[test]
    fn trimming_removes_one_stall() {
        assert_eq!(trimmed_mean(&[1.0, 2.0, 3.0, 4.0, 4000.0], 0.2), Some(3.0));
        assert_eq!(trimmed_mean(&[1.0, 2.0, 9.0], 0.5), Some(2.0));
    }

    proptest! {
        #[test]
        fn locations_lie_within_the_sample_scale_with_it_and_ignore_order(
            values in proptest::collection::vec(0.001f64..1e9, 1..60), factor in 0.001f64..1e3,
        ) {
            let (low, high) = (Statistics::min(&values), Statistics::max(&values));
            let scaled: Vec<f64> = values.iter().map(|value| value * factor).collect();
            let reversed: Vec<f64> = values.iter().rev().copied().collect();
            for (name, location) in LOCATIONS {
                let found = location(&values).unwrap();
                prop_assert!(found >= low * (1.0 - 1e-12) && found <= high * (1.0 + 1e-12), "{} {}", name, found);
                prop_assert!((location(&scaled).unwrap() - found * factor).abs() <= found * factor * 1e-9, "{}", name);
                prop_assert!((location(&reversed).unwrap() - found).abs() <= found * 1e-12, "{}", name);
            }
        }

        #[test]
        fn mean_median_and_variance_agree_with_the_reference(values in proptest::collection::vec(-1e6f64..1e6, 2..60)) {
            let near = |found: f64, expected: f64| (found - expected).abs() <= 1e-9 * (1.0 + expected.abs());
            prop_assert!(near(mean(&values).unwrap(), Statistics::mean(&values)));
            prop_assert!(near(variance(&values).unwrap(), Statistics::variance(&values)));
            prop_assert!(near(median(&values).unwrap(), Data::new(values.clone()).median()));
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            prop_assert_eq!(median_of_sorted(&sorted), median(&values));
        }
    }
}
