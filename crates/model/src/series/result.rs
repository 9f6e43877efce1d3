//! [`SeriesResult`]: what follows from all passes, with the [`Reason`] why a trial says nothing or is doubted. Derived by
//! [`analyse_series`](super::analyse_series), never stored.

use super::{LoadCurve, TrialSpec};
use crate::latency::Regime;
use crate::queue::names::MESSAGES;
use crate::runtime::names::TOTAL_NS;
use crate::stats::Estimate;
use crate::wait::names::{ALTERNATE, SAMPLES};
use crate::{Departure, Flags, Grade, Histogram, Reason};
use std::collections::BTreeMap;

/// What counts the operations of a trial of a runtime: messages of a queue, round trips of a wait.
const OPERATIONS: [&str; 2] = [MESSAGES, SAMPLES];

/// Everything that a run of series found out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SeriesResult {
    /// One for each trial, in the order of the plan.
    pub trials: Vec<TrialResult>,
    /// How busy the measured threads kept each CPU while the run went on.
    pub load: Option<LoadCurve>,
    /// How they were made: one at a time, or several with proof of what that changes.
    pub regime: Regime,
    /// Every planned trial has its passes, or the budget ended.
    pub complete: bool,
    /// The budget ended before the precision was reached everywhere.
    pub budget_ended: bool,
}

impl SeriesResult {
    /// Trials that the budget left no time for; none where it did not end the run.
    pub fn left_out(&self) -> usize {
        if self.budget_ended { self.trials.iter().filter(|trial| trial.is_not_reached()).count() } else { 0 }
    }

    /// Why no trial says anything although some were begun: the reason of the first of them. `None` where one does, where
    /// the run ended before any, and where CPUs departed and the budget ended: what these took with them is no reason for
    /// the others, for which there was no time.
    pub fn reason_for_no_result(&self, departed: &[Departure]) -> Option<&Reason> {
        if self.budget_ended && !departed.is_empty() {
            return None;
        }
        let any = self.trials.iter().any(|trial| trial.passes > 0);
        self.trials.iter().find(|trial| !any && !trial.is_not_reached())?.reason.as_ref()
    }
}

/// One plateau of a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialState {
    /// Share of the passes that were made in one state, 0 to 1.
    pub share: f64,
    /// The passes themselves.
    pub passes: u32,
    /// What the trial is judged by, in this state.
    pub value: Estimate,
    /// As [`TrialResult::values`], …
    pub values: BTreeMap<String, Estimate>,
    /// … and [`TrialResult::medians_ns`], in this state.
    pub medians_ns: BTreeMap<String, Estimate>,
    /// What CAS without pause took then, as in [`TrialResult::cas_ns`].
    pub cas_ns: Vec<f64>,
}

/// What one process of a runtime says: each settles at a speed of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProcessResult {
    /// Its passes that count.
    pub passes: u32,
    /// What the trial is judged by: the median over its passes, in the unit of that.
    pub value: f64,
}

/// What follows for one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialResult {
    /// What was measured.
    pub spec: TrialSpec,
    /// Passes that said something. All other numbers are those of its largest state, where it has several.
    pub passes: u32,
    /// The median over passes, with its interval over passes.
    pub values: BTreeMap<String, Estimate>,
    /// Distributions over all passes.
    pub histograms: BTreeMap<String, Histogram>,
    /// Medians of each distribution by pass, with their interval over passes: how far a distribution holds still.
    pub medians_ns: BTreeMap<String, Estimate>,
    /// Sums over all passes.
    pub counts: BTreeMap<String, u64>,
    /// What each role has for itself of what its probe declares [so](crate::quantity::Quantity::of_each_role), as `values`;
    /// empty where it declares nothing.
    pub of_roles: Vec<BTreeMap<String, Estimate>>,
    /// Share of one CPU that each role kept busy, over all passes.
    pub busy: Vec<Option<f64>>,
    /// Voluntary and involuntary switches of all roles over all passes.
    pub switches: Option<[u64; 2]>,
    /// Plateaus by falling share, where the trial was not in one state all the time.
    pub states: Vec<TrialState>,
    /// What each process of a runtime says alone, in the order of their first passes; empty where this program measured.
    pub processes: Vec<ProcessResult>,
    /// What CAS without pause took between the CPUs that it [watches](TrialSpec::watched) beside the passes that count, in
    /// nanoseconds: the median of each state of the machine that the trial cannot tell apart, rising. Empty where it is not
    /// known.
    pub cas_ns: Vec<f64>,
    /// Doubts and remarks.
    pub flags: Flags,
    /// How far it may be trusted; `None` where nothing was said.
    pub grade: Option<Grade>,
    /// The gravest doubt in words, or why there is nothing.
    pub reason: Option<Reason>,
}

impl TrialResult {
    /// A trial of which nothing was said.
    pub fn of(spec: TrialSpec) -> TrialResult {
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

    /// Whether the run ended before its first pass.
    pub fn is_not_reached(&self) -> bool {
        self.reason == Some(Reason::NotReached)
    }

    /// The number by which a distribution or a value is given: the median of all its events in nanoseconds, or the
    /// value in its own unit.
    pub fn number_of(&self, name: &str) -> Option<f64> {
        match self.histogram(name) {
            Some(histogram) => histogram.percentile_ns(0.5),
            None => self.medians_ns.get(name).or_else(|| self.values.get(name)).map(|value| value.point),
        }
    }

    /// A distribution that holds something.
    pub fn histogram(&self, name: &str) -> Option<&Histogram> {
        self.histograms.get(name).filter(|histogram| !histogram.is_empty())
    }

    /// What one operation took in the mean of everything that was timed, in nanoseconds: total time ÷ total operations,
    /// which includes the rare pauses that no median of passes shows. `None` where the passes did not state both, and where
    /// two ways of waiting alternate, as their total time has no parts.
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
    fn rare_pauses_are_in_the_mean_of_everything() {
        let mut trial = TrialResult::of(spec("queue", Default::default(), &[0, 1]));
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
