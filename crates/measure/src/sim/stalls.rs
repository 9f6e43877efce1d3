//! [`Stalls`]: interruptions of the CPUs of one trial, and the evidence that they leave.

use super::rng::{Stream, hash, unit};
use super::spec::{ClockStep, Rhythm, Stall, StallEvidence};
use crate::pricing::HeldAs;
use coretalk_model::{CpuId, Disturbance, Picos};

/// The stalls of one trial. Times are relative to its start.
#[derive(Debug)]
pub struct Stalls<'a> {
    sources: Vec<StallSource<'a>>,
    next_ns: f64,
    /// Time and size of the next jump of the counter.
    jump: Option<(f64, f64)>,
    switches: u32,
    steal_ns: f64,
    quota: bool,
}

#[derive(Debug)]
struct StallSource<'a> {
    stall: &'a Stall,
    stream: Stream,
    next_ns: f64,
}

impl<'a> Stalls<'a> {
    pub fn of_trial(
        stalls: &'a [Stall],
        step: Option<ClockStep>,
        key: u64,
        cpus: &[CpuId],
        started: Picos,
    ) -> Stalls<'a> {
        let mut sources = Vec::with_capacity(stalls.len() * cpus.len());
        for (index, stall) in stalls.iter().enumerate() {
            let begins = stall.from_ms.map_or(Picos::ZERO, |ms| Picos::from_ms(u64::from(ms)));
            let concerns = |cpu: &&CpuId| stall.cpus.as_ref().is_none_or(|affected| affected.contains(**cpu));
            for &cpu in cpus.iter().filter(concerns) {
                let mut stream = Stream::from_key(hash([key, 0x57A11, index as u64, u64::from(cpu.0)]));
                let mean_ns = 1e9 / stall.per_second;
                let next_ns = match stall.rhythm {
                    Rhythm::Random => stream.exponential(mean_ns),
                    // Ticks follow the machine's clock, with a phase for each CPU.
                    Rhythm::Periodic => {
                        let phase = unit(hash([index as u64, u64::from(cpu.0)]));
                        let into = (started.ns() / mean_ns + phase).fract();
                        (1.0 - into) * mean_ns
                    }
                };
                // A source that starts during the trial stalls it only from then on.
                let wait_ns = begins.saturating_sub(started).ns();
                sources.push(StallSource { stall, stream, next_ns: wait_ns + next_ns });
            }
        }
        let jump = step
            .map(|step| (Picos::from_ms(u64::from(step.at_ms)), f64::from(step.by_us) * 1e3))
            .filter(|(at, _)| *at >= started)
            .map(|(at, by_ns)| ((at - started).ns(), by_ns));
        let mut all = Stalls { sources, next_ns: 0.0, jump, switches: 0, steal_ns: 0.0, quota: false };
        all.next_ns = all.soonest();
        all
    }

    /// Time of the next stall, in ns since the trial began.
    pub fn next_ns(&self) -> f64 {
        self.next_ns
    }

    /// Removes the stalls up to this time. Returns their total duration and the jump of the counter.
    pub fn take(&mut self, elapsed_ns: f64) -> StallEffect {
        let mut effect = StallEffect { ns: 0.0, jump_ns: 0.0 };
        if let Some((_, by_ns)) = self.jump.take_if(|(at_ns, _)| *at_ns <= elapsed_ns) {
            effect.jump_ns = by_ns;
        }
        for source in &mut self.sources {
            while source.next_ns <= elapsed_ns + effect.ns {
                let lasted_ns = source.stream.between(source.stall.us) * 1e3;
                effect.ns += lasted_ns;
                match source.stall.seen_as {
                    StallEvidence::Switch => self.switches += 1,
                    StallEvidence::Steal => self.steal_ns += lasted_ns,
                    StallEvidence::Quota => self.quota = true,
                    StallEvidence::Nothing => {}
                }
                let mean_ns = 1e9 / source.stall.per_second;
                source.next_ns += match source.stall.rhythm {
                    Rhythm::Random => lasted_ns + source.stream.exponential(mean_ns),
                    Rhythm::Periodic => mean_ns,
                };
            }
        }
        self.next_ns = self.soonest();
        effect
    }

    /// Removes the stalls up to this time. Returns the duration and evidence of each, grouped by source.
    pub fn each(&mut self, until_ns: f64) -> Vec<(f64, HeldAs)> {
        let mut each = Vec::new();
        for source in &mut self.sources {
            while source.next_ns <= until_ns {
                let lasted_ns = source.stream.between(source.stall.us) * 1e3;
                let cause = match (source.stall.seen_as, source.stall.rhythm) {
                    (StallEvidence::Switch, _) => HeldAs::Switch,
                    (StallEvidence::Steal, _) => HeldAs::Steal,
                    (StallEvidence::Nothing, Rhythm::Periodic) => HeldAs::Tick,
                    (StallEvidence::Quota, _) => HeldAs::Quota,
                    (StallEvidence::Nothing, _) => HeldAs::Nothing,
                };
                each.push((lasted_ns, cause));
                let mean_ns = 1e9 / source.stall.per_second;
                source.next_ns += match source.stall.rhythm {
                    Rhythm::Random => lasted_ns + source.stream.exponential(mean_ns),
                    Rhythm::Periodic => mean_ns,
                };
            }
        }
        self.next_ns = self.soonest();
        each
    }

    pub fn evidence(&self) -> Disturbance {
        Disturbance {
            involuntary_switches: Some(self.switches),
            voluntary_switches: Some(0),
            steal_ms: Some((self.steal_ns / 1e6) as f32),
            quota: self.quota,
            ..Disturbance::default()
        }
    }

    fn soonest(&self) -> f64 {
        let stalls = self.sources.iter().map(|source| source.next_ns);
        stalls.chain(self.jump.map(|(at_ns, _)| at_ns)).fold(f64::INFINITY, f64::min)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StallEffect {
    pub ns: f64,
    pub jump_ns: f64,
}
