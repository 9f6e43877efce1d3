//! [`JitterAccount`]: the gaps of one CPU in one pass, and their causes.

use crate::interrupts::SystemCounts;
use crate::tick_histogram::TickHistogram;
use coretalk_model::TickRate;
use coretalk_model::jitter::names;
use coretalk_model::series::Observed;

/// Maximum duration of an interrupt, unless the machine was descheduled meanwhile.
const MAX_INTERRUPT_NS: f64 = 200_000.0;

#[derive(Debug)]
pub struct JitterAccount {
    gaps: TickHistogram,
    /// Ticks lost in gaps with a context switch.
    switched: u64,
    /// Lengths of the gaps with a context switch, in ticks.
    switches: Vec<u64>,
    others: Vec<u64>,
    /// Observed ticks, including counter reads.
    pub watched: u64,
    pub polls: u64,
    /// Ticks spent on recording. They are neither gaps nor observed time.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only a thread that is pinned counts"))]
    pub aside: u64,
}

/// Maximum gaps kept individually per pass: one every 5 µs of the longest pass. Later ones count as unexplained.
const MAX_KEPT: usize = 50_000;

/// Maximum kept gaps with a switch: ten times a scheduler's switches in the longest pass.
const MAX_SWITCHES: usize = 10_000;
/// Minimum length of a gap that is attributed to a CPU quota. Stops by a quota last milliseconds.
const MIN_STOP_NS: f64 = 1e6;

impl JitterAccount {
    pub fn new() -> JitterAccount {
        JitterAccount {
            gaps: TickHistogram::new(),
            switched: 0,
            switches: Vec::with_capacity(MAX_SWITCHES),
            others: Vec::with_capacity(MAX_KEPT),
            watched: 0,
            polls: 0,
            aside: 0,
        }
    }

    pub fn gap(&mut self, ticks: u64, switched: bool) {
        self.gaps.count(ticks);
        if switched {
            self.switched += ticks;
            if self.switches.len() < MAX_SWITCHES {
                self.switches.push(ticks);
            }
        } else if self.others.len() < MAX_KEPT {
            self.others.push(ticks);
        }
    }

    /// Records the results for the CPU of a role, with evident causes only. As many gaps without a switch as interrupts
    /// were counted, the shortest, are interrupts. They are split among the kinds of interrupts in proportion to the
    /// counts. The longest of the rest are attributed to the hypervisor, up to the reported steal time.
    pub fn observe(mut self, observed: &mut Observed, role: usize, rate: TickRate, evidence: &SystemCounts) {
        let watched_ns = rate.ns(self.watched as f64);
        let observed = observed.by_role.entry(role).or_default();
        let mut value = |name: &str, value: f64| observed.value(name, value);
        let gaps = self.gaps.len();
        let lost_ns = self.gaps.mean_ns(rate).unwrap_or(0.0) * gaps as f64;
        let share = |ns: f64| ns / watched_ns;
        value(names::LOST, share(lost_ns));
        value(names::RATE, gaps as f64 / watched_ns * 1e9);
        value(names::LOOK_NS, (watched_ns - lost_ns) / self.polls.max(1) as f64);
        let switched_ns = rate.ns(self.switched as f64);
        let mut stopped_ns = 0.0;
        if let Some(throttled_ms) = evidence.throttled_ms {
            self.switches.sort_unstable();
            let long = self.switches.iter().rev().map(|&ticks| rate.ns(ticks as f64));
            for gap_ns in long.take_while(|gap_ns| *gap_ns >= MIN_STOP_NS) {
                // The whole gap counts, even beyond the reported time. It includes the delay after the stop.
                if stopped_ns >= throttled_ms * 1e6 {
                    break;
                }
                stopped_ns += gap_ns;
            }
            value(names::QUOTA, share(stopped_ns));
        }
        value(names::SWITCH, share(switched_ns - stopped_ns));
        self.others.sort_unstable();
        let ns: Vec<f64> = self.others.iter().map(|&ticks| rate.ns(ticks as f64)).collect();
        let counted = evidence.ticks.zip(evidence.interrupts);
        let short = ns.iter().take_while(|ns| **ns <= MAX_INTERRUPT_NS).count();
        let interrupt_gaps = counted.map_or(0, |(ticks, others)| short.min((ticks + others) as usize));
        let interrupts_ns: f64 = ns[..interrupt_gaps].iter().sum();
        if let Some((ticks, others)) = counted {
            let tick_share = ticks as f64 / (ticks + others).max(1) as f64;
            value(names::TICK, share(interrupts_ns * tick_share));
            value(names::INTERRUPT, share(interrupts_ns * (1.0 - tick_share)));
        }
        let mut unattributed_steal_ns = evidence.stolen_ms.unwrap_or(0.0) * 1e6;
        let mut stolen_ns = 0.0;
        for &gap_ns in ns[interrupt_gaps..].iter().rev() {
            if gap_ns > unattributed_steal_ns {
                break;
            }
            unattributed_steal_ns -= gap_ns;
            stolen_ns += gap_ns;
        }
        if evidence.stolen_ms.is_some() {
            value(names::STEAL, share(stolen_ns));
        }
        value(names::UNEXPLAINED, share((lost_ns - switched_ns - interrupts_ns - stolen_ns).max(0.0)));
        observed.histogram(names::GAPS, self.gaps.histogram(rate));
        observed.count(names::WATCHED, (watched_ns / 1e6) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(evidence: &SystemCounts) -> Vec<Option<f64>> {
        let mut account = JitterAccount::new();
        account.watched = 1_000_000_000;
        for (ticks, switched) in
            [(2_000, false), (3_000, false), (400_000, false), (9_000_000, false), (5_000_000, true)]
        {
            account.gap(ticks, switched);
        }
        let mut observed = Observed::default();
        account.observe(&mut observed, 0, TickRate { hz: 1e9 }, evidence);
        let value = |name: &str| observed.by_role[&0].values.get(name).copied();
        let whole: f64 = names::CAUSES.iter().filter_map(|(name, _)| value(name)).sum();
        assert!((whole / value(names::LOST).unwrap() - 1.0).abs() < 1e-9, "causes add up");
        names::CAUSES.iter().map(|(name, _)| value(name)).collect()
    }

    #[test]
    fn only_gaps_with_evidence_have_a_cause() {
        let (ticks, interrupts) = (Some(1), Some(1));
        let known =
            shares(&SystemCounts { ticks, interrupts, stolen_ms: Some(10.0), throttled_ms: Some(0.0) });
        let expected = [0.005, 0.0, 0.000_002_5, 0.000_002_5, 0.009_4, 0.0];
        for (found, expected) in known.iter().zip(expected) {
            assert!((found.unwrap() - expected).abs() < 1e-9, "{known:?}");
        }
        let unknown = shares(&SystemCounts::default());
        assert_eq!(unknown[1..5], [None; 4]);
        assert!((unknown[5].unwrap() - 0.009_405).abs() < 1e-9, "{unknown:?}");
        let stopped = shares(&SystemCounts { throttled_ms: Some(4.0), ..SystemCounts::default() });
        assert_eq!((stopped[0], stopped[1]), (Some(0.0), Some(0.005)), "{stopped:?}");
    }
}
