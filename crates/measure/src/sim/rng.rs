//! Counter-based randomness. Every value is a hash of keys, and does not depend on order or threads.

/// The increment of SplitMix64: the golden ratio in 64 bits.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
#[inline]
pub fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[inline]
pub fn hash<const N: usize>(keys: [u64; N]) -> u64 {
    keys.into_iter().fold(GOLDEN, hash_on)
}

#[inline]
pub fn hash_on(hash: u64, key: u64) -> u64 {
    mix((hash ^ key).wrapping_add(GOLDEN))
}

/// Prevents the compiler from vectorizing a loop over hashes. Most CPUs have no vector product of 64 bits, and its
/// emulation makes the loop a third slower.
#[inline]
pub fn one_by_one() {
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
}

#[inline]
pub fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// An approximately standard normal value from the low 48 bits: the sum of four uniforms (Irwin–Hall), limited to
/// ±3.47. It is symmetric, so its exponential has median 1.
#[inline]
pub fn normal(bits: u64) -> f64 {
    const MASK: u64 = 0xFFF;
    let sum = (bits & MASK) + (bits >> 12 & MASK) + (bits >> 24 & MASK) + (bits >> 36 & MASK);
    // The variance of one uniform over 0..=4095 is (4096² − 1) / 12. The standard deviation of four is 4096 / √3.
    (f64::from(sum as u32) - 8190.0) * (1.732_050_8 / 4096.0)
}

/// e to a small power. The error stays below 1 % up to ±1, and below 10⁻⁵ within ±0.2, the range of noise.
#[inline]
pub fn exp(x: f64) -> f64 {
    1.0 + x * (1.0 + x * (0.5 + x * (1.0 / 6.0 + x * (1.0 / 24.0))))
}

#[derive(Debug, Clone)]
pub struct Stream {
    state: u64,
}

impl Stream {
    pub fn from_key(key: u64) -> Stream {
        Stream { state: key }
    }

    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    pub fn unit(&mut self) -> f64 {
        unit(self.bits())
    }

    pub fn exponential(&mut self, mean: f64) -> f64 {
        -(1.0 - self.unit()).ln() * mean
    }

    /// The next number between two positive bounds, uniform in its logarithm.
    pub fn between(&mut self, [low, high]: [f64; 2]) -> f64 {
        low * (high / low).powf(self.unit())
    }
}

/// A value with mean 0 and deviation 1 that varies over about one period. Normal values on a grid are interpolated, and
/// scaled to keep the variance.
#[derive(Debug, Clone)]
pub struct Wander {
    key: u64,
    period_ps: u64,
    /// The start of the last used grid interval, and the values at its ends.
    known: Option<(u64, [f64; 2])>,
}

impl Wander {
    pub fn new(key: u64, period_ps: u64) -> Wander {
        Wander { key, period_ps, known: None }
    }

    pub fn at(&mut self, at_ps: u64) -> f64 {
        let (start_ps, [from, to]) = match self.known {
            // The usual case inside a trial, without a division.
            Some(known) if at_ps.wrapping_sub(known.0) < self.period_ps => known,
            _ => {
                let cell = at_ps / self.period_ps;
                let end = |point: u64| normal(hash([self.key, point]));
                *self.known.insert((cell * self.period_ps, [end(cell), end(cell + 1)]))
            }
        };
        let right = (at_ps - start_ps) as f64 / self.period_ps as f64;
        let left = 1.0 - right;
        (left * from + right * to) / (left * left + right * right).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_has_mean_zero_and_deviation_one() {
        let mut stream = Stream::from_key(7);
        let values: Vec<f64> = (0..100_000).map(|_| normal(stream.bits())).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let sd = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt();
        assert!(mean.abs() < 0.01 && (sd - 1.0).abs() < 0.01, "mean {mean}, sd {sd}");
    }

    #[test]
    fn the_exponential_series_is_accurate_in_the_range_of_noise() {
        for x in [-0.2f64, -0.05, 0.0, 0.1, 0.2] {
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-5, "{x}");
        }
    }

    #[test]
    fn wandering_keeps_its_variance_between_grid_points() {
        let period = 1_000_000;
        for phase in [0, 250_000, 500_000] {
            let mut wander = Wander::new(3, period);
            let square: f64 =
                (0..20_000).map(|cell| wander.at(2 * cell * period + phase).powi(2)).sum::<f64>();
            assert!((square / 20_000.0 - 1.0).abs() < 0.05, "phase {phase}: {square}");
        }
    }

    #[test]
    fn hashes_depend_on_every_key_and_their_order() {
        assert_ne!(hash([1, 2]), hash([2, 1]));
        assert_ne!(hash([0, 0]), hash([0]));
    }
}
