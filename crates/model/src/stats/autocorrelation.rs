//! Serial correlation: the dependence of consecutive values of a sample.

use super::location::mean;

/// Autocorrelation at a lag, −1 to 1: the usual estimate about the common mean, with divisor n at every lag (Box and
/// Jenkins 1970). Biased towards −1/n, standard error about 1/√n. `None` for too few values or no variation.
pub fn lag(values: &[f64], lag: usize) -> Option<f64> {
    let center = mean(values)?;
    let power: f64 = values.iter().map(|value| (value - center) * (value - center)).sum();
    if lag >= values.len() || power <= 0.0 || !power.is_finite() {
        return None;
    }
    let product: f64 =
        values.iter().zip(&values[lag..]).map(|(early, late)| (early - center) * (late - center)).sum();
    Some(product / power)
}

/// Effective number of independent samples of `n` values with this lag-1 autocorrelation in a first-order
/// autoregression: n(1−ρ)/(1+ρ) (Bayley and Hammersley 1946), from 1 to `n`. A negative ρ counts as zero.
pub fn effective_n(n: usize, lag_1: f64) -> f64 {
    if n == 0 {
        return 0.0;
    }
    let rho = lag_1.clamp(0.0, 1.0);
    (n as f64 * (1.0 - rho) / (1.0 + rho)).max(1.0)
}

/// [`effective_n`] of values in time order, from their own lag-1 autocorrelation.
pub fn effective_n_of(values: &[f64]) -> f64 {
    effective_n(values.len(), lag(values, 1).unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Key;

    #[test]
    fn small_cases_are_exact() {
        assert_eq!(lag(&[1.0, 2.0, 3.0, 4.0], 0), Some(1.0));
        assert_eq!(lag(&[1.0, 2.0, 3.0, 4.0], 1), Some(0.25));
        assert_eq!(lag(&[1.0, -1.0, 1.0, -1.0], 1), Some(-0.75));
        for undefined in [&[][..], &[1.0], &[2.0, 2.0, 2.0], &[f64::NAN, 1.0]] {
            assert_eq!(lag(undefined, 1), None, "{undefined:?}");
        }
    }

    #[test]
    fn the_coefficient_of_an_autoregression_is_recovered() {
        let key = Key::from_words(&[1]);
        let mut state = 0.0;
        let values: Vec<f64> = (0..50_000)
            .map(|i| {
                state = 0.9 * state + key.normal(i);
                state
            })
            .collect();
        assert!((lag(&values, 1).unwrap() - 0.9).abs() < 0.01);
        assert!((lag(&values, 5).unwrap() - 0.9f64.powi(5)).abs() < 0.03);
        let worth = effective_n_of(&values);
        assert!((worth / 50_000.0 - 0.1 / 1.9).abs() < 0.006, "{worth}");
    }

    #[test]
    fn correlated_samples_are_never_worth_more_than_their_number() {
        for (n, rho, worth) in
            [(24, 0.0, 24.0), (24, -0.5, 24.0), (24, 0.5, 8.0), (24, 1.0, 1.0), (0, 0.3, 0.0)]
        {
            assert_eq!(effective_n(n, rho), worth, "{n} {rho}");
        }
    }
}
