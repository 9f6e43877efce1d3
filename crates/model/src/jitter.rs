//! Jitter of each CPU: names of the numbers of a pass, and summaries for reports.

use crate::CpuId;
use crate::series::{TrialId, TrialResult};

/// Names of the numbers of a `jitter` pass, per CPU.
pub mod names {
    /// The probe.
    pub const PROBE: &str = "jitter";
    /// Gaps: times in which the CPU did not run the thread, each above a minimum.
    pub const GAPS: &str = "gaps";
    /// Share of time that a CPU lost in gaps.
    pub const LOST: &str = "lost_share";
    /// Share lost to context switches, voluntary or not.
    pub const SWITCH: &str = "switch_share";
    /// Share lost to the quota of the control group.
    pub const QUOTA: &str = "quota_share";
    /// Share lost to the timer tick.
    pub const TICK: &str = "tick_share";
    /// Share lost to other interrupts.
    pub const INTERRUPT: &str = "interrupt_share";
    /// Share lost to the hypervisor, as counted by the system.
    pub const STEAL: &str = "steal_share";
    /// Share lost to unknown causes.
    pub const UNEXPLAINED: &str = "unexplained_share";
    /// The causes in the order of reports, with their display names.
    pub const CAUSES: [(&str, &str); 6] = [
        (SWITCH, "switch"),
        (QUOTA, "quota"),
        (TICK, "tick"),
        (INTERRUPT, "interrupt"),
        (STEAL, "steal"),
        (UNEXPLAINED, "unexplained"),
    ];
    /// Gaps per second.
    pub const RATE: &str = "gaps_per_s";
    /// Nanoseconds between two polls of the counter outside gaps: the resolution.
    pub const LOOK_NS: &str = "look_ns";
    /// Milliseconds of observation of a CPU.
    pub const WATCHED: &str = "watched_ms";
    /// Milliseconds of observation of all CPUs at once.
    pub const SAMPLES: &str = "samples";
    /// Share of the passes in which all CPUs were observed.
    pub const WATCHED_SHARE: &str = "watched_share";
}

/// Lost time of one CPU of a run of `jitter`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quietness {
    /// The CPU.
    pub cpu: CpuId,
    /// The trial of the CPU.
    pub trial: TrialId,
    /// Share of time that the CPU lost.
    pub lost: f64,
    /// Half width of `lost`, if it has an interval.
    pub lost_reach: Option<f64>,
    /// Longest gap in nanoseconds; 0 without gaps.
    pub longest_ns: f64,
    /// Share of time lost in all gaps except the longest, which may be a single event.
    pub lost_besides: f64,
}

impl Quietness {
    /// Whether the lost time is below the limit for quiet CPUs.
    pub fn is_quiet(&self) -> bool {
        self.lost <= QUIET
    }

    /// Compares the points if one CPU has no interval.
    fn surely_loses_more_than(&self, other: &Quietness) -> bool {
        let reach = |cpu: &Quietness| cpu.lost_reach.unwrap_or(0.0);
        self.lost - reach(self) > other.lost + reach(other)
    }
}

/// The CPUs of a run, by lost time and then by longest gap, the quietest first.
pub fn by_quietness<'a>(trials: impl IntoIterator<Item = &'a TrialResult>) -> Vec<Quietness> {
    let quietness = |trial: &TrialResult| {
        let longest_ns = trial.histogram(names::GAPS).and_then(|gaps| gaps.percentile_ns(1.0)).unwrap_or(0.0);
        let share = trial.values.get(names::LOST)?;
        let lost = share.point;
        let watched_ns = trial.counts.get(names::WATCHED).map_or(f64::INFINITY, |ms| *ms as f64 * 1e6);
        Some(Quietness {
            cpu: *trial.spec.placement.first()?,
            trial: trial.spec.id(),
            lost,
            lost_reach: share.is_sure().then(|| share.reach()),
            longest_ns,
            lost_besides: (lost - longest_ns / watched_ns).max(0.0),
        })
    };
    let mut all: Vec<Quietness> =
        trials.into_iter().filter(|trial| trial.spec.probe == names::PROBE).filter_map(quietness).collect();
    all.sort_by(|a, b| a.lost.total_cmp(&b.lost).then(a.longest_ns.total_cmp(&b.longest_ns)));
    all
}

const APART: f64 = 1.5;

/// If the CPUs are not alike and [`extremes`] is empty, a longer measurement may separate them.
fn are_alike(sorted: &[Quietness]) -> bool {
    sorted.first().zip(sorted.last()).is_none_or(|(first, last)| last.lost <= first.lost * APART)
}

const DISTURBED: f64 = 0.02;
/// Largest lost share of a quiet CPU. Chosen below guest CPUs that lost 1.4 to 1.8 % and had gaps of 2.6 ms.
const QUIET: f64 = 0.005;
/// Longer gaps come from another program, the host or firmware, not from interrupts. Chosen, not measured.
const LONG_NS: f64 = 50_000.0;
/// Minimum ratio of an outstanding longest gap to that of the median CPU. Chosen, not measured.
const FAR_LONGER: f64 = 30.0;

/// Conclusion from the gaps of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Noise {
    /// Some CPUs lose significantly more than others: the CPUs to use, and the CPUs to avoid, noisiest first.
    Lossy([Vec<Quietness>; 2]),
    /// Some CPUs had a far longer gap than all others: the CPUs to use, and the CPUs to avoid, longest gap first.
    Stalled([Vec<Quietness>; 2]),
    /// All CPUs lost much.
    Disturbed,
    /// All CPUs lost little, without an outstanding gap.
    Quiet,
    /// All CPUs lost about the same.
    Alike,
    /// The CPUs differ, but not beyond their intervals.
    Unknown,
}

/// The conclusion for CPUs sorted by quietness.
pub fn noise(sorted: &[Quietness]) -> Noise {
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else { return Noise::Unknown };
    let stalled = stalled(sorted);
    let is_stalled = |cpu: &Quietness| stalled.iter().any(|other| other.cpu == cpu.cpu);
    let [quiet, noisy] = extremes(sorted, sorted.len());
    let without_stalled = |mut quiet: Vec<Quietness>| {
        quiet.retain(|cpu| !is_stalled(cpu));
        quiet
    };
    match without_stalled(quiet) {
        _ if first.lost > DISTURBED => Noise::Disturbed,
        quiet if !quiet.is_empty() => Noise::Lossy([quiet, noisy]),
        _ if !stalled.is_empty() => Noise::Stalled([without_stalled(sorted.to_vec()), stalled.clone()]),
        _ if !are_alike(sorted) => Noise::Unknown,
        _ if last.is_quiet() => Noise::Quiet,
        _ => Noise::Alike,
    }
}

fn stalled(sorted: &[Quietness]) -> Vec<Quietness> {
    let mut by_gap = sorted.to_vec();
    by_gap.sort_by(|a, b| b.longest_ns.total_cmp(&a.longest_ns));
    let Some(usual) = by_gap.get(by_gap.len() / 2) else { return Vec::new() };
    let least_ns = LONG_NS.max(FAR_LONGER * usual.longest_ns);
    by_gap.into_iter().filter(|cpu| cpu.longest_ns > least_ns).collect()
}

fn extremes(sorted: &[Quietness], most: usize) -> [Vec<Quietness>; 2] {
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else { return Default::default() };
    if are_alike(sorted) {
        return Default::default();
    }
    // With many CPUs, chance alone separates the extremes, so a noisy CPU is compared with the median.
    let middle = &sorted[(sorted.len() - 1) / 2];
    let quiet = sorted.iter().filter(|cpu| cpu.lost <= first.lost * APART && cpu.lost * APART <= last.lost);
    let is_noisy = |cpu: &&Quietness| cpu.lost > first.lost * APART && cpu.surely_loses_more_than(middle);
    let noisy: Vec<Quietness> = sorted.iter().rev().filter(is_noisy).take(most).copied().collect();
    if noisy.is_empty() {
        return Default::default();
    }
    [quiet.take(most).copied().collect(), noisy]
}

/// A CPU that loses less disturbs at most one message in a thousand and is not worth avoiding.
const MIN_LOST_BESIDES: f64 = 0.001;
/// A CPU that loses less than this many times the share of a quiet CPU is not worth avoiding.
const BEYOND_QUIET: f64 = 2.0;

/// The CPUs worth avoiding, the noisiest first. In gaps other than the longest, they lose at least 0.1 % of their time,
/// and more than twice the share of the CPU at the quieter quartile.
pub fn worth_avoiding(sorted: &[Quietness]) -> Vec<Quietness> {
    let Some(quiet) = sorted.get(sorted.len() / 4) else { return Vec::new() };
    let is_noisy = |cpu: &&Quietness| {
        cpu.lost_besides >= MIN_LOST_BESIDES
            && cpu.lost_besides > BEYOND_QUIET * quiet.lost
            && cpu.surely_loses_more_than(quiet)
    };
    sorted.iter().rev().filter(is_noisy).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{around, spec};

    fn ids(cpus: &[Quietness]) -> Vec<u32> {
        cpus.iter().map(|cpu| cpu.cpu.0).collect()
    }

    fn cpus(lost: &[f64]) -> Vec<Quietness> {
        let quietness = |(cpu, &lost): (usize, &f64)| Quietness {
            cpu: CpuId(cpu as u32),
            trial: TrialId(cpu as u64),
            lost,
            lost_reach: None,
            longest_ns: 9e3,
            lost_besides: lost,
        };
        let mut all: Vec<Quietness> = lost.iter().enumerate().map(quietness).collect();
        all.sort_by(|a, b| a.lost.total_cmp(&b.lost));
        all
    }

    #[test]
    fn outstanding_cpus_are_noisy_and_equal_cpus_are_not() {
        let [quiet, noisy] = extremes(&cpus(&[0.0031, 0.0004, 0.0005, 0.0004]), 4);
        assert_eq!((ids(&noisy), quiet.len()), (vec![0], 3));
        assert_eq!(extremes(&cpus(&[0.001, 0.0011, 0.0012]), 4), [vec![], vec![]]);
        assert_eq!(extremes(&[], 4), [vec![], vec![]]);
    }

    #[test]
    fn a_cpu_without_a_gap_is_the_quietest() {
        let trial = |cpu, lost: f64| TrialResult {
            values: [(names::LOST.to_owned(), around(lost, 0.0))].into(),
            ..TrialResult::empty(spec(names::PROBE, Default::default(), &[cpu]))
        };
        let sorted = by_quietness(&[trial(0, 0.01), trial(1, 0.0)]);
        assert_eq!(ids(&sorted), [1, 0]);
        assert!(sorted.iter().all(|cpu| cpu.longest_ns == 0.0));
    }

    #[test]
    fn cpus_whose_interval_includes_the_quietest_are_not_noisy() {
        let mut all = cpus(&[0.002, 0.006]);
        all[1].lost_reach = Some(0.003);
        assert_eq!(extremes(&all, 4)[1].len(), 1);
        all[1].lost_reach = Some(0.005);
        assert_eq!(extremes(&all, 4), [vec![], vec![]]);
        assert!(!are_alike(&all) && are_alike(&cpus(&[0.002, 0.0029])), "unknown is not alike");
    }

    #[test]
    fn a_far_longer_gap_is_reported_although_all_lost_little() {
        let conclusion = |gaps_us: &[f64], lost: f64| {
            let mut all = cpus(&vec![lost; gaps_us.len()]);
            for (cpu, gap) in all.iter_mut().zip(gaps_us) {
                cpu.longest_ns = gap * 1e3;
            }
            noise(&all)
        };
        for (gaps_us, quiet, noisy) in
            [(&[3.0, 483.0, 2.8, 3.1][..], &[0, 2, 3][..], &[1][..]), (&[3.0, 483.0], &[0], &[1])]
        {
            let Noise::Stalled([found, avoided]) = conclusion(gaps_us, 0.0004) else { panic!("{gaps_us:?}") };
            assert_eq!((ids(&found), ids(&avoided)), (quiet.to_vec(), noisy.to_vec()));
        }
        assert_eq!(conclusion(&[3.0, 9.0, 2.8, 3.1], 0.0004), Noise::Quiet);
        assert_eq!(conclusion(&[300.0, 2_000.0, 800.0, 600.0], 0.004), Noise::Quiet, "alike, but for chance");
        assert_eq!(conclusion(&[1.0, 40.0], 0.0004), Noise::Quiet, "a long interrupt");
        assert_eq!(conclusion(&[3.0, 4.0], 0.015), Noise::Alike);
        assert_eq!(conclusion(&[900.0, 40_000.0], 0.5), Noise::Disturbed);
        assert_eq!(noise(&cpus(&[0.094, 0.41])), Noise::Disturbed, "the better of two is not quiet");
        let Noise::Lossy([best, _]) = noise(&cpus(&[0.008, 0.41])) else { panic!() };
        assert!(!best[0].is_quiet() && cpus(&[QUIET])[0].is_quiet());
        assert_eq!(noise(&cpus(&[0.0004, 0.001])), Noise::Lossy(extremes(&cpus(&[0.0004, 0.001]), 4)));
        let mut unsure = cpus(&[0.0004, 0.001]);
        unsure[1].lost_reach = Some(0.0009);
        assert_eq!(noise(&unsure), Noise::Unknown);
        let mut all = cpus(&[0.0004, 0.0005, 0.02]);
        all[1].longest_ns = 483e3;
        let Noise::Lossy([quiet, noisy]) = noise(&all) else { panic!() };
        assert_eq!([ids(&quiet), ids(&noisy)], [[0], [2]], "a CPU with such a gap is not recommended");
    }

    #[test]
    fn cpus_are_avoided_that_lose_much_and_more_than_quiet_ones() {
        let avoided = |lost: &[f64]| ids(&worth_avoiding(&cpus(lost)));
        assert_eq!(avoided(&[0.0002, 0.004, 0.0003, 0.02]), [3, 1]);
        assert!(avoided(&[0.0001, 0.0009, 0.0001, 0.0001]).is_empty(), "below what matters");
        assert!(avoided(&[0.010, 0.012, 0.015, 0.011]).is_empty(), "all alike");
        assert!(avoided(&[]).is_empty());
        let mut once = cpus(&[0.0002, 0.0002, 0.0002, 0.02]);
        once[3].lost_besides = 0.0002;
        assert!(worth_avoiding(&once).is_empty(), "a single long gap");
    }
}
