//! Whether latency follows the distance between CPU ids, as on a mesh.

use crate::latency::LatencyMap;
use crate::stats::Estimate;

const MIN_CPUS: usize = 8;

const NORMAL_95: f64 = 1.96;

/// Pearson's correlation over all pairs between latency and the absolute difference of the two CPU ids, with a 95 %
/// interval. `None` below eight CPUs, for values or distances without variation, and for other quantities than latency.
///
/// Pairs that share a CPU are not independent. The interval therefore comes from leaving out one CPU with all its pairs
/// at a time (the jackknife over nodes of Snijders and Borgatti 1999), on Fisher's scale. Their factor (n − 2) / 2n
/// halves the variance for independent pairs. CPUs do differ, so the factor is (n − 1) / n here.
pub fn id_distance_correlation(map: &LatencyMap) -> Option<Estimate> {
    let cpus = map.cells.cpus();
    if cpus.len() < MIN_CPUS || !map.protocol.is_latency() {
        return None;
    }
    let mut all = Sums::default();
    let mut of_cpu = vec![Sums::default(); cpus.len()];
    for (row, column, cell) in map.cells.iter().filter(|(row, column, _)| row != column) {
        let Some(value) = cell.value() else { continue };
        let distance = f64::from(cpus[row].0.abs_diff(cpus[column].0));
        for sums in [&mut all, &mut of_cpu[row]] {
            sums.add(distance, value.latency_ns.point);
        }
        of_cpu[column].add(distance, value.latency_ns.point);
    }
    let correlation = all.correlation()?;
    let z: Vec<f64> =
        of_cpu.iter().filter_map(|of_cpu| Some(fisher(all.without(of_cpu).correlation()?))).collect();
    let n = z.len() as f64;
    let mean = z.iter().sum::<f64>() / n;
    let variance = z.iter().map(|z| (z - mean).powi(2)).sum::<f64>() * (n - 1.0) / n;
    let reach = NORMAL_95 * variance.sqrt();
    let all_z = fisher(correlation);
    Some(Estimate {
        point: correlation,
        low: (all_z - reach).tanh().min(correlation),
        high: (all_z + reach).tanh().max(correlation),
        confidence: 0.95,
        effective_n: n,
    })
}

/// Fisher's transform, finite even for a perfect correlation.
fn fisher(correlation: f64) -> f64 {
    correlation.clamp(-1.0 + 1e-12, 1.0 - 1e-12).atanh()
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    n: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Sums {
    fn add(&mut self, x: f64, y: f64) {
        let one = Sums { n: 1.0, x, y, xx: x * x, xy: x * y, yy: y * y };
        *self = self.combined(&one, 1.0);
    }

    fn without(&self, other: &Sums) -> Sums {
        self.combined(other, -1.0)
    }

    fn combined(&self, other: &Sums, sign: f64) -> Sums {
        Sums {
            n: self.n + sign * other.n,
            x: self.x + sign * other.x,
            y: self.y + sign * other.y,
            xx: self.xx + sign * other.xx,
            xy: self.xy + sign * other.xy,
            yy: self.yy + sign * other.yy,
        }
    }

    fn correlation(&self) -> Option<f64> {
        let variance = |sum: f64, squares: f64| squares / self.n - (sum / self.n).powi(2);
        let (x_variance, y_variance) = (variance(self.x, self.xx), variance(self.y, self.yy));
        // A variance below this share of the squared mean is only rounding error.
        let varies = |variance: f64, sum: f64| variance > 1e-12 * (sum / self.n).powi(2);
        if self.n < 3.0 || !varies(x_variance, self.x) || !varies(y_variance, self.y) {
            return None;
        }
        let covariance = self.xy / self.n - self.x / self.n * (self.y / self.n);
        Some((covariance / (x_variance * y_variance).sqrt()).clamp(-1.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::contrast::tests::map;
    use super::*;
    use crate::stats::Key;

    #[test]
    fn a_line_of_cpus_follows_its_ids_and_a_bus_does_not() {
        let line = id_distance_correlation(&map(12, |a, b| 20.0 + f64::from(a.abs_diff(b)))).unwrap();
        assert!(line.point > 0.999_999 && line.low > 0.999, "{line:?}");
        assert_eq!(id_distance_correlation(&map(12, |_, _| 30.0)), None);
        assert_eq!(id_distance_correlation(&map(7, |a, b| f64::from(a + b))), None);
    }

    #[test]
    fn a_grid_follows_its_ids_in_part() {
        let grid = map(64, |a, b| f64::from((a % 8).abs_diff(b % 8) + (a / 8).abs_diff(b / 8)));
        let found = id_distance_correlation(&grid).unwrap();
        assert!((0.4..0.9).contains(&found.point) && found.low > 0.3 && found.high < 0.95, "{found:?}");
    }

    #[test]
    fn noise_is_rarely_taken_for_a_trend() {
        let is_miss = |&seed: &u64| {
            // Noise with a component for each pair, and one for each CPU, which pairs share.
            let unit = |a: u32, b: u32| Key::from_words(&[seed, u64::from(a)]).uniform(u64::from(b));
            let noise = map(16, |a, b| 30.0 + unit(a.min(b), a.max(b)) + unit(a, a) + unit(b, b));
            !id_distance_correlation(&noise).unwrap().contains(0.0)
        };
        let misses = (0..200).filter(is_miss).count();
        assert!(misses <= 20, "{misses} of 200");
    }
}
