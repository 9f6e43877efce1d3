//! [`SeriesResult`]: the result of all passes, with the [`Reason`] for a missing or doubtful number. Derived by
//! [`analyse_series`](super::analyse_series), never stored.

use super::{LoadCurve, TrialSpec};
use crate::latency::Regime;
use crate::queue::names::MESSAGES;
use crate::runtime::names::TOTAL_NS;
use crate::stats::Estimate;
use crate::wait::names::{ALTERNATE, SAMPLES};
use crate::{CpuLoss, Flags, Grade, Histogram, Reason};
use std::collections::BTreeMap;

/// Names of the counts of operations in trials of a runtime: messages of a queue, round trips of a wait.
const OPERATIONS: [&str; 2] = [MESSAGES, SAMPLES];

/// The result of a run of series.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SeriesResult {
    /// The result of each trial, in the order of the plan.
    pub trials: Vec<TrialResult>,
    /// How busy the measured threads kept each CPU during the run.
    pub load: Option<LoadCurve>,
    /// Whether trials ran one at a time, or several at once, with the tested effect of concurrency.
    pub regime: Regime,
    /// Whether every planned trial has its passes, or the budget ended.
    pub complete: bool,
    /// Whether the budget ended before the precision was reached everywhere.
    pub budget_ended: bool,
}

impl SeriesResult {
    /// Number of trials for which the budget left no time; 0 if the budget did not end the run.
    pub fn left_out(&self) -> usize {
        if self.budget_ended { self.trials.iter().filter(|trial| trial.is_not_reached()).count() } else { 0 }
    }

    /// The reason of the first begun trial, if no trial has a result. `None` if CPUs were lost and the budget ended,
    /// because lost CPUs do not explain the trials that were not begun.
    pub fn reason_for_no_result(&self, departed: &[CpuLoss]) -> Option<&Reason> {
        if self.budget_ended && !departed.is_empty() {
            return None;
        }
        let any = self.trials.iter().any(|trial| trial.passes > 0);
        self.trials.iter().find(|trial| !any && !trial.is_not_reached())?.reason.as_ref()
    }
}

/// One state of a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialState {
    /// Share of the passes in this state, 0 to 1.
    pub share: f64,
    /// Number of passes in this state.
    pub passes: u32,
    /// The headline estimate in this state.
    pub value: Estimate,
    /// [`TrialResult::values`] in this state.
    pub values: BTreeMap<String, Estimate>,
    /// [`TrialResult::medians_ns`] in this state.
    pub medians_ns: BTreeMap<String, Estimate>,
    /// [`TrialResult::cas_ns`] in this state.
    pub cas_ns: Vec<f64>,
}

/// Result of one process of a runtime. Each process settles at its own speed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProcessResult {
    /// Number of passes that count.
    pub passes: u32,
    /// The median of the headline over the passes, in the unit of the headline.
    pub value: f64,
}

/// The result of one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialResult {
    /// Specification of the trial.
    pub spec: TrialSpec,
    /// Number of successful passes. All other numbers describe the largest state if the trial has several.
    pub passes: u32,
    /// Aggregates over passes, with their intervals over passes.
    pub values: BTreeMap<String, Estimate>,
    /// Distributions over all passes.
    pub histograms: BTreeMap<String, Histogram>,
    /// Median over passes of the median of each distribution. The interval shows the stability of the distribution.
    pub medians_ns: BTreeMap<String, Estimate>,
    /// Sums over all passes.
    pub counts: BTreeMap<String, u64>,
    /// Values of each role, for quantities with [`of_each_role`](crate::quantity::Quantity::of_each_role).
    pub of_roles: Vec<BTreeMap<String, Estimate>>,
    /// Share of one CPU that each role kept busy, over all passes.
    pub busy: Vec<Option<f64>>,
    /// Voluntary and involuntary context switches of all roles over all passes.
    pub switches: Option<[u64; 2]>,
    /// States by descending share, if the trial had several.
    pub states: Vec<TrialState>,
    /// Results of the processes of a runtime, in order of first pass; empty for measurements of this program.
    pub processes: Vec<ProcessResult>,
    /// CAS latency without pause between the [watched](TrialSpec::watched) CPUs around the passes that count, in ns.
    /// One median, or one per machine state if the values of the trial do not separate the states.
    pub cas_ns: Vec<f64>,
    /// Flags of the trial.
    pub flags: Flags,
    /// Confidence in the result; `None` without a result.
    pub grade: Option<Grade>,
    /// The gravest doubt, or the reason for a missing result.
    pub reason: Option<Reason>,
}

impl TrialResult {
    /// A trial without a result.
    pub fn empty(spec: TrialSpec) -> TrialResult {
        TrialResult {
            spec,
            passes: 0,
            values: BTreeMap::new(),
            histograms: BTreeMap::new(),
            medians_ns: BTreeMap::new(),
            counts: BTreeMap::new(),
            of_roles: Vec::new(),
            busy: Vec::new(),
            switches: None,
            states: Vec::new(),
            processes: Vec::new(),
            cas_ns: Vec::new(),
            flags: Flags::NONE,
            grade: None,
            reason: None,
        }
    }

    /// Whether the run ended before the first pass.
    pub fn is_not_reached(&self) -> bool {
        self.reason == Some(Reason::NotReached)
    }

    /// The number that represents a distribution (median of all events in ns) or a value (in its unit).
    pub fn number_of(&self, name: &str) -> Option<f64> {
        match self.histogram(name) {
            Some(histogram) => histogram.percentile_ns(0.5),
            None => self.medians_ns.get(name).or_else(|| self.values.get(name)).map(|value| value.point),
        }
    }

    /// The distribution with this name, unless it is empty.
    pub fn histogram(&self, name: &str) -> Option<&Histogram> {
        self.histograms.get(name).filter(|histogram| !histogram.is_empty())
    }

    /// Total time ÷ total operations in ns, which includes the rare pauses that medians hide. `None` if unknown, and
    /// for two alternating ways of waiting, whose total time cannot be split.
    pub fn overall_ns(&self) -> Option<f64> {
        if self.spec.parameters.text("mode") == Some(ALTERNATE) {
            return None;
        }
        let count = |name: &str| self.counts.get(name).copied();
        let operations = OPERATIONS.into_iter().find_map(count).filter(|operations| *operations > 0)?;
        Some(count(TOTAL_NS)? as f64 / operations as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Parameters;
    use crate::tests::spec;

    #[test]
    fn the_overall_mean_includes_rare_pauses() {
        let mut trial = TrialResult::empty(spec("queue", Default::default(), &[0, 1]));
        assert_eq!(trial.overall_ns(), None);
        trial.counts.insert(TOTAL_NS.into(), 25_000);
        trial.counts.insert("messages".into(), 100);
        assert_eq!(trial.overall_ns(), Some(250.0));
        trial.spec.parameters = Parameters::default().with("mode", ALTERNATE);
        assert_eq!(trial.overall_ns(), None, "two ways of waiting have no time in common");
        trial.spec.parameters = Parameters::default();
        trial.counts.insert("messages".into(), 0);
        assert_eq!(trial.overall_ns(), None, "no zero and no infinity for what is not known");
    }
}
