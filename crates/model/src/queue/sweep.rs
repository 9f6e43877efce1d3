//! [`Sweep`]: one queue between the same CPUs at rising rates, and the [`Knee`] beyond which it falls behind.

use super::names;
use crate::series::{SeriesResult, TrialResult};
use crate::stats::normal;
use crate::{CpuId, Flag};
use std::cmp::Ordering;

const MIN_RATES: usize = 3;
const MAX_P_VALUE: f64 = 0.05;

const MAX_EXACT_PASSES: u64 = 1_000;

/// Whether a queue kept a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Most passes kept the rate, by a sign test at 95 %.
    Yes,
    /// Most passes did not keep the rate, by the same test.
    No,
    /// Too few passes, or no significant majority.
    Unclear,
}

/// One rate of a sweep.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// Requested messages per second.
    pub rate_per_s: f64,
    /// The result.
    pub trial: &'a TrialResult,
}

/// One queue between the same CPUs at several rates.
#[derive(Debug, Clone)]
pub struct Sweep<'a> {
    /// Name of the queue.
    pub queue: &'a str,
    /// Type of the messages.
    pub payload: &'a str,
    /// Capacity in messages.
    pub capacity: u64,
    /// Producer and consumer.
    pub placement: &'a [CpuId],
    /// The rates, ascending.
    pub steps: Vec<Step<'a>>,
}

/// Range of rates in which a condition stops holding, in messages per second.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Knee {
    /// The highest rate with the condition, below all rates without it.
    pub holds_at: Option<f64>,
    /// The lowest rate without the condition, above all rates with it.
    pub ends_by: Option<f64>,
}

/// The highest rate that a queue keeps, in messages per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RateLimit {
    /// Both ends polled on one CPU, which measures the scheduler quantum.
    TimeSlices,
    /// The queue keeps the first rate but not the second.
    Between(f64, f64),
    /// The queue keeps this rate. At higher rates, some passes fell behind, without significance.
    Unclear(f64),
    /// The queue keeps this rate, and no pass fell behind at a higher rate.
    NotReached(f64),
    /// The queue does not keep this rate, and no lower rate is significantly kept.
    Below(f64),
    /// Too few passes agree.
    Unknown,
}

/// The sweeps of a run, in the order of the plan.
pub fn sweeps(result: &SeriesResult) -> Vec<Sweep<'_>> {
    let mut found: Vec<Sweep<'_>> = Vec::new();
    for trial in result.trials.iter().filter(|trial| trial.spec.probe == names::PROBE) {
        let parameters = &trial.spec.parameters;
        if parameters.number("batch").is_some() {
            continue;
        }
        let (queue, payload) = (parameters.text("queue"), parameters.text("payload"));
        let numbers = (parameters.number("capacity"), parameters.number("rate_per_s"));
        let (Some(queue), Some(payload), (Some(capacity), Some(rate_per_s))) = (queue, payload, numbers)
        else {
            continue;
        };
        let key = (queue, payload, capacity as u64, trial.spec.placement.as_slice());
        let step = Step { rate_per_s, trial };
        match found.iter_mut().find(|sweep| sweep.key() == key) {
            Some(sweep) => sweep.steps.push(step),
            None => {
                let (queue, payload, capacity, placement) = key;
                found.push(Sweep { queue, payload, capacity, placement, steps: vec![step] });
            }
        }
    }
    found.retain(|sweep| sweep.steps.len() >= MIN_RATES);
    for sweep in &mut found {
        sweep.steps.sort_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
    }
    found
}

impl<'a> Sweep<'a> {
    fn key(&self) -> (&'a str, &'a str, u64, &'a [CpuId]) {
        (self.queue, self.payload, self.capacity, self.placement)
    }

    /// Whether a trial belongs to the sweep.
    pub fn holds(&self, trial: &TrialResult) -> bool {
        self.steps.iter().any(|step| std::ptr::eq(step.trial, trial))
    }

    /// Whether both ends polled on one CPU, which measures the scheduler quantum.
    pub fn polls_on_one_cpu(&self) -> bool {
        self.steps.iter().any(|step| step.trial.flags.contains(Flag::SharedSpin))
    }

    /// The range in which the queue falls behind; empty if both ends polled on one CPU. It begins at the highest kept
    /// rate below all rates at which at least as many passes fell behind as kept up. It ends at the lowest rate not
    /// kept above all rates that most passes kept.
    pub fn knee(&self) -> Knee {
        if self.polls_on_one_cpu() {
            return Knee::default();
        }
        let steps = || self.steps.iter();
        let rate = |step: &Step<'_>| step.rate_per_s;
        let first_behind = steps().find(|step| step.kept_cmp_missed().is_le()).map_or(f64::INFINITY, rate);
        let last_keeping = steps().rfind(|step| step.kept_cmp_missed().is_gt()).map_or(0.0, rate);
        Knee {
            holds_at: steps()
                .rfind(|step| step.kept() == Kept::Yes && step.rate_per_s < first_behind)
                .map(rate),
            ends_by: steps().find(|step| step.kept() == Kept::No && step.rate_per_s > last_keeping).map(rate),
        }
    }

    /// Interpretation of the [knee](Sweep::knee).
    pub fn limit(&self) -> RateLimit {
        let fell_behind_above =
            |rate_per_s| self.steps.iter().any(|step| step.rate_per_s > rate_per_s && step.fell_behind());
        match self.knee() {
            _ if self.polls_on_one_cpu() => RateLimit::TimeSlices,
            Knee { holds_at: Some(holds), ends_by: Some(ends) } => RateLimit::Between(holds, ends),
            Knee { holds_at: Some(holds), ends_by: None } if fell_behind_above(holds) => {
                RateLimit::Unclear(holds)
            }
            Knee { holds_at: Some(holds), ends_by: None } => RateLimit::NotReached(holds),
            Knee { holds_at: None, ends_by: Some(ends) } => RateLimit::Below(ends),
            Knee { holds_at: None, ends_by: None } => RateLimit::Unknown,
        }
    }

    /// The rate with the smallest p99 of corrected delays, and that p99 in nanoseconds, from rates without late passes.
    pub fn least_p99(&self) -> Option<(f64, f64)> {
        if self.polls_on_one_cpu() {
            return None;
        }
        let steps = self.steps.iter().filter(|step| !step.fell_behind());
        let known = steps.filter_map(|step| Some((step.rate_per_s, step.percentile_ns(0.99)?)));
        known.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The range in which the p99 of corrected delays doubles. It begins at the highest rate up to which the p99 is at
    /// most twice its minimum. It ends at the lowest rate from which the p99 is always above or the queue falls behind.
    /// Lower rates than that of the minimum are ignored, because CPUs that wait long for a message sleep more deeply.
    pub fn doubling(&self) -> Knee {
        let Some((from, least)) = self.least_p99() else { return Knee::default() };
        let steps = || self.steps.iter().filter(|step| step.rate_per_s >= from);
        let p99 = |step: &Step<'_>| step.percentile_ns(0.99);
        let is_beyond =
            |step: &&Step<'_>| step.mostly_fell_behind() || p99(step).is_some_and(|p99| p99 > 2.0 * least);
        let is_within =
            |step: &&Step<'_>| !step.fell_behind() && p99(step).is_some_and(|p99| p99 <= 2.0 * least);
        let rate = |step: &Step<'_>| step.rate_per_s;
        Knee {
            holds_at: steps().take_while(is_within).last().map(rate),
            ends_by: steps().rev().take_while(is_beyond).last().map(rate),
        }
    }
}

impl Step<'_> {
    /// Numbers of passes that kept the rate and that did not.
    pub fn passes(&self) -> [u64; 2] {
        [names::KEPT, names::MISSED].map(|name| self.trial.counts.get(name).copied().unwrap_or(0))
    }

    /// Whether most passes kept the rate.
    pub fn kept(&self) -> Kept {
        match self.passes() {
            [kept, missed] if is_most(kept, missed) => Kept::Yes,
            [kept, missed] if is_most(missed, kept) => Kept::No,
            _ => Kept::Unclear,
        }
    }

    fn kept_cmp_missed(&self) -> Ordering {
        let [kept, missed] = self.passes();
        kept.cmp(&missed)
    }

    /// Whether more passes fell behind than kept the rate, which makes the delays of the others meaningless.
    pub fn mostly_fell_behind(&self) -> bool {
        self.kept_cmp_missed().is_lt()
    }

    /// Whether some passes did not keep the rate.
    pub fn fell_behind(&self) -> bool {
        let [_, missed] = self.passes();
        missed > 0
    }

    /// Percentile of the corrected delays over the passes that kept the rate, in nanoseconds.
    pub fn percentile_ns(&self, share: f64) -> Option<f64> {
        self.trial.histogram(names::CORRECTED)?.supported_percentile_ns(share)
    }
}

/// One-sided sign test at 95 %. The p-value is the probability of at least as many if both are equally likely.
fn is_most(of_this: u64, of_other: u64) -> bool {
    let passes = of_this.saturating_add(of_other);
    if passes > MAX_EXACT_PASSES {
        // Normal approximation with continuity correction. 2⁻ⁿ underflows from n = 1,075 on.
        let half = passes as f64 / 2.0;
        return of_other as f64 + 0.5 <= half + normal::quantile(MAX_P_VALUE) * (passes as f64).sqrt() / 2.0;
    }
    let (mut ways, mut p_value) = (0.5f64.powi(passes as i32), 0.0);
    for others in 0..=of_other.min(passes) {
        p_value += ways;
        ways *= (passes - others) as f64 / (others + 1) as f64;
    }
    passes > 0 && p_value <= MAX_P_VALUE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Histogram;
    use crate::series::Parameters;
    use crate::tests::spec;

    /// A trial at a rate, with the numbers of passes that kept it and that did not, and the delay of all messages.
    fn trial_at(rate: f64, kept: u64, missed: u64, ns: f64) -> TrialResult {
        let parameters = Parameters::default().with("queue", "spsc").with("payload", "u64");
        let parameters = parameters.with("capacity", 10.0).with("rate_per_s", rate);
        let mut delays = Histogram::new();
        delays.record_ns(ns, if kept > 0 { 1_000 } else { 0 });
        TrialResult {
            passes: (kept + missed) as u32,
            counts: [(names::KEPT.to_owned(), kept), (names::MISSED.to_owned(), missed)].into(),
            histograms: [(names::CORRECTED.to_owned(), delays)].into(),
            ..TrialResult::empty(spec(names::PROBE, parameters, &[0, 1]))
        }
    }

    fn result_of(trials: &[TrialResult]) -> SeriesResult {
        SeriesResult { trials: trials.to_vec(), ..SeriesResult::default() }
    }

    /// The only sweep of these trials.
    fn with_sweep(trials: &[TrialResult], check: impl Fn(&Sweep<'_>)) {
        let result = result_of(trials);
        let sweeps = sweeps(&result);
        assert_eq!(sweeps.len(), 1);
        check(&sweeps[0]);
    }

    /// Trials at 1, 2, 3, … million messages per second with these numbers of passes kept and missed.
    fn rates(passes: &[(u64, u64)]) -> Vec<TrialResult> {
        let rates = (1..).map(|rate| f64::from(rate) * 1e6);
        rates.zip(passes).map(|(rate, &(kept, missed))| trial_at(rate, kept, missed, 1.0)).collect()
    }

    fn knee(holds_at: f64, ends_by: impl Into<Option<f64>>) -> Knee {
        Knee { holds_at: Some(holds_at), ends_by: ends_by.into() }
    }

    #[test]
    fn the_knee_lies_between_kept_and_missed_rates() {
        let trials = [
            trial_at(4e6, 0, 8, 0.0),
            trial_at(1e6, 8, 0, 300.0),
            trial_at(5e5, 8, 0, 900.0),
            trial_at(2e6, 8, 0, 700.0),
            trial_at(3e6, 4, 4, 800.0),
        ];
        with_sweep(&trials, |sweep| {
            assert_eq!((sweep.steps.len(), sweep.knee()), (5, knee(2e6, 4e6)));
            assert_eq!(sweep.limit(), RateLimit::Between(2e6, 4e6));
            assert_eq!(sweep.doubling(), knee(1e6, 2e6), "longer waits below the best rate are no knee");
        });
    }

    #[test]
    fn the_p99_holds_only_up_to_the_first_doubtful_rate() {
        // Few passes, and far more in all of them.
        let few = [
            trial_at(1e6, 8, 0, 100.0),
            trial_at(2e6, 3, 0, 15_000.0),
            trial_at(3e6, 8, 0, 120.0),
            trial_at(4e6, 0, 8, 0.0),
        ];
        // Without passes that fell behind, delays cannot prove that the limit is kept, only that it is exceeded.
        let behind = [
            trial_at(1e6, 3, 0, 100.0),
            trial_at(2e6, 7, 1, 110.0),
            trial_at(3e6, 8, 0, 120.0),
            trial_at(4e6, 7, 1, 900.0),
        ];
        for trials in [few, behind] {
            with_sweep(&trials, |sweep| assert_eq!(sweep.doubling(), knee(1e6, 4e6)));
        }
    }

    #[test]
    fn rates_that_are_kept_above_others_that_are_not_widen_the_knee() {
        with_sweep(&rates(&[(8, 0), (0, 8), (8, 0), (0, 8)]), |sweep| {
            assert_eq!(sweep.knee(), knee(1e6, 4e6))
        });
        with_sweep(&rates(&[(8, 0); 3]), |sweep| assert_eq!(sweep.limit(), RateLimit::NotReached(3e6)));
        with_sweep(&rates(&[(0, 8); 3]), |sweep| assert_eq!(sweep.limit(), RateLimit::Below(1e6)));
        assert!(sweeps(&result_of(&rates(&[(8, 0), (0, 8)]))).is_empty(), "two rates are no sweep");
    }

    #[test]
    fn no_rate_is_kept_above_one_at_which_most_passes_fell_behind() {
        with_sweep(&rates(&[(8, 0), (9, 15), (8, 0), (9, 15)]), |sweep| {
            assert_eq!((sweep.knee(), sweep.limit()), (knee(1e6, None), RateLimit::Unclear(1e6)));
        });
    }

    #[test]
    fn passes_decide_by_a_sign_test() {
        // 1/16 is more than 1/20, 1/32 is less; 1/2⁸ + 8/2⁸ = 3.5 %, with one more of the others 14 %.
        for (this, other, expected) in [
            (4, 0, false),
            (5, 0, true),
            (7, 1, true),
            (6, 2, false),
            (0, 0, false),
            (17, 7, true),
            (16, 8, false),
            // 527 of 1,000 by the exact sum, 50,261 of 100,000 by the normal approximation.
            (526, 474, false),
            (527, 473, true),
            (50_261, 49_739, true),
            (50_259, 49_741, false),
            (1 << 53, 0, true),
            (1 << 53, 1 << 53, false),
            (u64::MAX, u64::MAX, false),
        ] {
            assert_eq!(is_most(this, other), expected, "{this} of {}", this + other);
        }
    }
}
