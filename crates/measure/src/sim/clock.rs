//! [`SimCounter`]: counter readings for spans of time. [`CoreClocks`]: the clocks of the cores.

use super::rng::{Wander, hash, unit};
use super::spec::{self, CoreClock};
use coretalk_model::{CpuId, Picos, TickRate};

const STEP_PS: u64 = 50_000_000_000;

/// Offset at which a float still resolves 1/8192 of a counter step.
const LIFT: f64 = (1u64 << 40) as f64;

#[derive(Debug, Clone, Copy)]
pub struct SimCounter {
    /// Counter steps per nanosecond.
    steps_per_ns: f64,
    step_ticks: i64,
    rate: TickRate,
    pub cost_ns: f64,
}

impl SimCounter {
    pub fn new(counter: &spec::CounterSpec) -> SimCounter {
        SimCounter {
            steps_per_ns: counter.hz / 1e9 / f64::from(counter.step_ticks),
            step_ticks: i64::from(counter.step_ticks),
            rate: TickRate { hz: counter.hz },
            cost_ns: counter.cost_ns,
        }
    }

    pub fn rate(&self) -> TickRate {
        self.rate
    }

    /// Ticks between two reads `ns` apart. `phase` in [0, 1) is the position of the first read between two steps. The
    /// phase makes the mean exact. The result is negative if the second clock lags.
    #[inline]
    pub fn ticks(&self, ns: f64, phase: f64) -> i64 {
        // The cast truncates towards zero. With an offset above zero it always rounds down. The upper bound keeps the
        // product inside 64 bits.
        let whole = (ns * self.steps_per_ns + phase + LIFT).clamp(0.0, 9e12) as i64 - LIFT as i64;
        whole * self.step_ticks
    }

    /// [`ticks`](SimCounter::ticks) of many reads, without casts, which a CPU executes one by one. `None` if a result
    /// is negative or may need more than 31 bits.
    #[inline]
    pub fn all_ticks<const N: usize>(&self, ns: &[f64; N], phases: &[f64; N]) -> Option<[u32; N]> {
        // Beyond 2⁵² a float has no fraction. So adding this number rounds to the nearest whole number, which is then
        // in the lowest bits of the float.
        const WHOLE: f64 = (1u64 << 52) as f64;
        let largest = f64::from(i32::MAX) / self.step_ticks as f64 - 2.0;
        let outside = ns
            .iter()
            .fold(false, |outside, &ns| outside | !(0.0..largest).contains(&(ns * self.steps_per_ns)));
        if outside {
            return None;
        }
        let step_ticks = self.step_ticks as u32;
        let mut ticks = [0; N];
        for ((ticks, ns), phase) in ticks.iter_mut().zip(ns).zip(phases) {
            let lifted = ns * self.steps_per_ns + phase + LIFT;
            let nearest = lifted + WHOLE - WHOLE;
            let whole = if nearest > lifted { nearest - 1.0 } else { nearest };
            *ticks = (whole - LIFT + WHOLE).to_bits() as u32 * step_ticks;
        }
        Some(ticks)
    }
}

/// The clock of each core. It depends on time and the seed of the run.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Short and long durations, at whole steps and between them, negative ones, and some with more than 31 bits.
        #[test]
        fn ticks_of_many_reads_are_those_of_each(
            reads in proptest::array::uniform16((-1.0..3e9f64, 0.0..1.0f64)),
            scale in prop_oneof![Just(1e-7), Just(1e-5), Just(1e-3), Just(1.0)],
            (is_whole, is_negative) in any::<(bool, bool)>(),
            counter in prop_oneof![Just((2.5e9, 1)), Just((1e8, 1)), Just((1e9, 40))],
        ) {
            let (hz, step_ticks) = counter;
            let counter = SimCounter {
                steps_per_ns: hz / 1e9 / f64::from(step_ticks),
                step_ticks: step_ticks.into(),
                rate: TickRate { hz },
                cost_ns: 0.0,
            };
            let ns = reads.map(|(ns, _)| {
                let ns = if is_negative { -ns.abs() } else { ns.abs() } * scale;
                if is_whole { (ns * counter.steps_per_ns).round() / counter.steps_per_ns } else { ns }
            });
            let phases = reads.map(|(_, phase)| if is_whole { 0.0 } else { phase });
            if let Some(all) = counter.all_ticks(&ns, &phases) {
                for ((ticks, ns), phase) in all.into_iter().zip(ns).zip(phases) {
                    prop_assert_eq!(i64::from(ticks), counter.ticks(ns, phase), "{} {}", ns, phase);
                }
            } else {
                prop_assert!(is_negative || scale == 1.0, "{:?}", ns);
            }
        }
    }
}
