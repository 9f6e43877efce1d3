//! Correlation of consecutive passes, estimated from many cells together.
//!
//! Eight passes of one cell cannot estimate their own correlation (standard error 0.35). The cells of a relation share
//! the schedule and the kind of drift, so their passes are pooled: a thousand series of eight estimate a lag-1
//! correlation to ± 0.01.

use super::elementary::exp;
use super::location::median;

/// Number of passes in a series. Cells with more passes provide several series.
const PASSES_PER_SERIES: usize = 8;
/// Number of fitted lags. Eight passes give few products at larger lags.
const LAGS: usize = 5;
const MIN_SERIES: usize = 64;
/// Maximum number of series. More series add no useful precision; a large machine has half a million.
const MAX_SERIES: usize = 12_500;
/// Minimum correlation, in standard errors. Chance alone reaches it in 1 of 700 relations.
const MIN_ERRORS: f64 = 3.0;

/// A collector for the series of many cells.
#[derive(Debug, Clone, Default)]
pub struct Pool {
    products: [f64; LAGS],
    series: usize,
}

/// Division of the variance of passes into an independent and a correlated part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Correlation {
    /// Correlated share of the variance, 0 to 1.
    pub share: f64,
    /// Correlation of the correlated part from one pass to the next, 0 to 1.
    pub next: f64,
}

impl Pool {
    /// Adds the logarithms of passes in time order. Skips series with a pass farther than `limit` from the median.
    pub fn add(&mut self, passes: &[f64], limit: f64) {
        for series in passes.chunks_exact(PASSES_PER_SERIES) {
            if self.series == MAX_SERIES {
                return;
            }
            let Some(median) = median(series) else { continue };
            if !series.iter().all(|pass| (pass - median).abs() <= limit) {
                continue;
            }
            let mean = series.iter().sum::<f64>() / PASSES_PER_SERIES as f64;
            for (lag, product) in self.products.iter_mut().enumerate() {
                let pairs = series.iter().zip(&series[lag..]);
                *product += pairs.map(|(early, late)| (early - mean) * (late - mean)).sum::<f64>();
            }
            self.series += 1;
        }
    }

    /// Whether more series would be ignored.
    pub fn is_full(&self) -> bool {
        self.series == MAX_SERIES
    }

    /// The best correlation, by least squares over an independent part and a part with exponential decay. `NONE` if
    /// chance explains the products as well, or with too few series.
    pub fn correlation(&self) -> Correlation {
        let none = Correlation::NONE;
        if self.series < MIN_SERIES || self.products[0] <= 0.0 {
            return none;
        }
        // Per product, in units of the variance about the mean of each series.
        let scale = self.products[0] / PASSES_PER_SERIES as f64;
        let observed: [f64; LAGS] =
            std::array::from_fn(|lag| self.products[lag] / ((PASSES_PER_SERIES - lag) as f64 * scale));
        let independent = expected(0.0);
        let error = 1.0 / ((self.series * (PASSES_PER_SERIES - 1)) as f64).sqrt();
        if observed[1] - independent[1] / independent[0] < MIN_ERRORS * error {
            return none;
        }
        let mut best = (f64::INFINITY, none);
        for step in 1..50 {
            let next = f64::from(step) * 0.02;
            if let Some((misfit, share)) = fit(&observed, &independent, &expected(next))
                && misfit < best.0
            {
                best = (misfit, Correlation { share, next });
            }
        }
        best.1
    }
}

impl Correlation {
    /// Independent passes.
    pub const NONE: Correlation = Correlation { share: 0.0, next: 0.0 };

    /// Factor by which correlation raises the variance of a mean of passes (design effect, Kish 1965); at least 1.
    pub fn design_effect(&self, passes: usize) -> f64 {
        let n = passes as f64;
        let (mut sum, mut power) = (0.0, 1.0);
        for lag in 1..passes {
            power *= self.next;
            sum += (1.0 - lag as f64 / n) * power;
        }
        1.0 + 2.0 * self.share * sum
    }
}

/// Expected mean product by lag, about the mean of each series, with unit variance and exponential correlation.
fn expected(next: f64) -> [f64; LAGS] {
    let rho = |distance: usize| match distance {
        0 => 1.0,
        _ if next <= 0.0 => 0.0,
        distance => exp(distance as f64 * super::elementary::ln(next)),
    };
    let row =
        |i: usize| (0..PASSES_PER_SERIES).map(|j| rho(i.abs_diff(j))).sum::<f64>() / PASSES_PER_SERIES as f64;
    let all = (0..PASSES_PER_SERIES).map(row).sum::<f64>() / PASSES_PER_SERIES as f64;
    std::array::from_fn(|lag| {
        let product = |i: usize| rho(lag) - row(i) - row(i + lag) + all;
        (0..PASSES_PER_SERIES - lag).map(product).sum::<f64>() / (PASSES_PER_SERIES - lag) as f64
    })
}

/// Least squares of `observed` on two shapes with positive weights. Returns the misfit and the second share.
fn fit(observed: &[f64; LAGS], first: &[f64; LAGS], second: &[f64; LAGS]) -> Option<(f64, f64)> {
    let dot = |a: &[f64; LAGS], b: &[f64; LAGS]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (aa, ab, bb) = (dot(first, first), dot(first, second), dot(second, second));
    let (ay, by) = (dot(first, observed), dot(second, observed));
    let determinant = aa * bb - ab * ab;
    let inside = (determinant > 1e-12)
        .then(|| ((ay * bb - by * ab) / determinant, (by * aa - ay * ab) / determinant))
        .filter(|&(white, wander)| white >= 0.0 && wander >= 0.0);
    // Otherwise, the best fit is on the edge: everything is correlated.
    let (white, wander) = inside.unwrap_or((0.0, by / bb));
    let misfit: f64 = (0..LAGS)
        .map(|lag| {
            let error = observed[lag] - white * first[lag] - wander * second[lag];
            error * error
        })
        .sum();
    (wander > 0.0).then(|| (misfit, wander / (white + wander)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Key;

    fn pool(cells: u64, share: f64, next: f64) -> Pool {
        let mut pool = Pool::default();
        for cell in 0..cells {
            let key = Key::from_words(&[9, cell]);
            let (noise, shocks) = (key.with(1), key.with(2));
            let mut wander = shocks.normal(u64::MAX);
            let passes: Vec<f64> = (0..8)
                .map(|i| {
                    wander = next * wander + (1.0 - next * next).sqrt() * shocks.normal(i);
                    0.01 * ((1.0 - share).sqrt() * noise.normal(i) + share.sqrt() * wander)
                })
                .collect();
            pool.add(&passes, 0.1);
        }
        pool
    }

    #[test]
    fn independent_passes_stay_independent() {
        for cells in [10, 64, 500, 5_000] {
            assert_eq!(pool(cells, 0.0, 0.5).correlation(), Correlation::NONE, "{cells}");
        }
    }

    #[test]
    fn the_design_effect_of_drift_is_recovered() {
        for (share, next) in [(0.7, 0.85), (1.0, 0.6), (0.3, 0.9), (0.5, 0.5)] {
            let truth = Correlation { share, next };
            let found = pool(8_000, share, next).correlation();
            for n in [8, 24] {
                let ratio = (found.design_effect(n) / truth.design_effect(n)).sqrt();
                assert!((0.85..1.18).contains(&ratio), "{share} {next}, {n} passes: {found:?}");
            }
        }
    }

    #[test]
    fn few_or_disturbed_series_give_no_correlation() {
        assert_eq!(pool(63, 1.0, 0.9).correlation(), Correlation::NONE);
        let mut pool = Pool::default();
        for _ in 0..1_000 {
            pool.add(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.3, 0.3, 0.3], 0.05);
            pool.add(&[0.0; 7], 0.05);
            pool.add(&[f64::NAN; 8], 0.05);
        }
        assert_eq!(pool.correlation(), Correlation::NONE);
    }

    #[test]
    fn the_design_effect_reaches_from_one_to_all() {
        assert_eq!(Correlation::NONE.design_effect(24), 1.0);
        let stuck = Correlation { share: 1.0, next: 1.0 };
        assert!((stuck.design_effect(8) - 8.0).abs() < 1e-9);
        assert_eq!(stuck.design_effect(0), 1.0);
    }
}
