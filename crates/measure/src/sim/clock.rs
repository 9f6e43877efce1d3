//! [`Counter`]: counter readings for spans of time; and [`CoreClocks`]: the clocks of the cores.

use super::rng::{Wander, hash, unit};
use super::spec::{self, CoreClock};
use coretalk_model::{CpuId, Picos, TickRate};

const STEP_PS: u64 = 50_000_000_000;

#[derive(Debug, Clone, Copy)]
pub struct Counter {
    /// Counter steps per nanosecond.
    steps_per_ns: f64,
    step_ticks: i64,
    rate: TickRate,
    pub cost_ns: f64,
}

impl Counter {
    pub fn new(counter: &spec::Counter) -> Counter {
        Counter {
            steps_per_ns: counter.hz / 1e9 / f64::from(counter.step_ticks),
            step_ticks: i64::from(counter.step_ticks),
            rate: TickRate { hz: counter.hz },
            cost_ns: counter.cost_ns,
        }
    }

    pub fn rate(&self) -> TickRate {
        self.rate
    }

    /// Ticks between two reads `ns` apart. `phase` in [0, 1) is the position of the first read between two steps, so
    /// that the mean over phases is exact. Negative if the second clock lags.
    #[inline]
    pub fn ticks(&self, ns: f64, phase: f64) -> i64 {
        // The cast truncates towards zero; with an offset above zero it always rounds down. At 2⁴⁰ a float still
        // resolves 1/8192 of a step. The upper bound keeps the product inside 64 bits.
        const LIFT: f64 = (1u64 << 40) as f64;
        let whole = (ns * self.steps_per_ns + phase + LIFT).clamp(0.0, 9e12) as i64 - LIFT as i64;
        whole * self.step_ticks
    }
}

/// The clock of each core as a function of time and the seed of the run.
#[derive(Debug)]
pub struct CoreClocks {
    clock: CoreClock,
    drift_ps: u64,
    key: u64,
}

impl CoreClocks {
    pub fn new(clock: &CoreClock, seed: u64) -> CoreClocks {
        CoreClocks {
            clock: clock.clone(),
            drift_ps: Picos::from_ns(clock.drift_ms * 1e6).0,
            key: hash([seed, 0xC10C]),
        }
    }

    pub fn clock(&self, cpu: CpuId) -> CpuClock<'_> {
        let key = hash([self.key, u64::from(cpu.0)]);
        CpuClock { clocks: self, cpu, key, drift: Wander::new(key, self.drift_ps) }
    }

    pub fn relative(&self, cpu: CpuId, at: Picos) -> f64 {
        self.clock(cpu).relative(at)
    }

    pub fn probed_ghz(&self, cpu: CpuId, fast: bool, at: Picos) -> f32 {
        self.clock(cpu).probed_ghz(fast, at)
    }
}

#[derive(Debug)]
pub struct CpuClock<'a> {
    clocks: &'a CoreClocks,
    cpu: CpuId,
    key: u64,
    drift: Wander,
}

impl CpuClock<'_> {
    pub fn relative(&mut self, at: Picos) -> f64 {
        let clock = &self.clocks.clock;
        let mut relative = 1.0;
        if clock.drift_sd > 0.0 {
            relative += clock.drift_sd * self.drift.at(at.0);
        }
        if clock.step_share > 0.0 && unit(hash([self.key, 1, at.0 / STEP_PS])) < clock.step_share {
            relative *= clock.step_factor;
        }
        if let Some(throttling) = clock.held_back
            && at >= Picos::from_ms(u64::from(throttling.from_ms))
        {
            relative *= throttling.factor;
        }
        relative
    }

    /// The reading of a clock probe, with an error of up to 0.1 %.
    pub fn probed_ghz(&mut self, fast: bool, at: Picos) -> f32 {
        let CoreClocks { clock, key, .. } = self.clocks;
        let nominal = if fast { clock.ghz } else { clock.slow_class_ghz };
        let error = 1e-3 * (unit(hash([*key, 2, u64::from(self.cpu.0), at.0])) - 0.5);
        (nominal * self.relative(at) * (1.0 + error)) as f32
    }
}
