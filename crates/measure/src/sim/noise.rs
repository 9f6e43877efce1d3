//! [`BatchNoise`]: noise of single samples. [`Contamination`]: disturbances of whole trials.

use super::rng::{Stream, exp, hash, mix, normal, unit};
use super::spec::NoiseSpec;

/// The noise of one span: log-normal with median 1, spikes, and a component that is correlated between samples.
#[derive(Debug)]
pub struct BatchNoise {
    sd: f64,
    /// Threshold for a spike in the top 16 bits of a sample.
    spike_below: u64,
    spike_factor: [f64; 2],
    ar_rho: f64,
    ar_step: f64,
    ar_now: f64,
}

impl BatchNoise {
    pub fn new(noise: &NoiseSpec, sd: f64, key: u64) -> BatchNoise {
        let [ar_step, ar_now] = match noise.ar_sd {
            0.0 => [0.0; 2],
            sd => [sd * (1.0 - noise.ar_rho * noise.ar_rho).sqrt(), sd * normal(hash([key, 0xA5]))],
        };
        BatchNoise {
            sd,
            spike_below: (noise.spike_share * 65_536.0) as u64,
            spike_factor: noise.spike_factor,
            ar_rho: noise.ar_rho,
            ar_step,
            ar_now,
        }
    }

    #[inline]
    pub fn factor(&mut self, bits: u64) -> f64 {
        let mut power = self.sd * normal(bits);
        if self.ar_step > 0.0 {
            self.ar_now = self.ar_rho * self.ar_now + self.ar_step * normal(mix(bits ^ 0xA5A5));
            power += self.ar_now;
        }
        let factor = exp(power);
        if bits >> 48 < self.spike_below { factor * self.spike(bits) } else { factor }
    }

    pub fn is_independent(&self) -> bool {
        self.ar_step == 0.0
    }

    /// [`factor`](BatchNoise::factor) for many independent samples, in short loops that a CPU executes in parallel.
    pub fn factors<const N: usize>(&self, bits: &[u64; N]) -> [f64; N] {
        let mut factors = [0.0; N];
        for (factor, &bits) in factors.iter_mut().zip(bits) {
            *factor = exp(self.sd * normal(bits));
        }
        for (factor, &bits) in factors.iter_mut().zip(bits) {
            if bits >> 48 < self.spike_below {
                *factor *= self.spike(bits);
            }
        }
        factors
    }

    #[cold]
    fn spike(&self, bits: u64) -> f64 {
        Stream::from_key(bits).between(self.spike_factor)
    }
}

/// A temporary slowdown of a trial, on all its lines or on one run of 16 of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contamination {
    /// The slowdown.
    pub factor: f64,
    /// The affected run of 16 lines, in every span; `None` for all lines.
    pub run: Option<u32>,
}

impl Contamination {
    /// The contamination of the trial with this key, if any. `runs` is the number of runs of its shortest span.
    pub(super) fn of_trial(noise: &NoiseSpec, key: u64, runs: u32) -> Option<Contamination> {
        let bits = hash([key, 0xBAD]);
        if unit(bits) >= noise.bad_share {
            return None;
        }
        let mut stream = Stream::from_key(bits);
        let factor = stream.between(noise.bad_factor);
        let whole = stream.bits() & 1 == 0 || runs < 2;
        Some(Contamination { factor, run: (!whole).then(|| (stream.bits() % u64::from(runs)) as u32) })
    }

    pub(super) fn on_line(self, line: u32) -> f64 {
        if self.run.is_none_or(|run| run == line / 16) { self.factor } else { 1.0 }
    }
}
