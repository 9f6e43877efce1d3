//! [`SeriesRecord`]: the outcomes of all passes of a run. [`PassOutcome`]: the outcome of one pass of one trial.

use crate::{Flags, Histogram, Picos, TrialFailure};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// One pass of one trial as a run stores it.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesEntry {
    /// The segment.
    pub segment: u32,
    /// Number of the pass, from 0, counted over all segments.
    pub pass: u32,
    /// Position of the trial in the plan.
    pub trial: u32,
    /// The outcome, or the failure of the pass.
    pub outcome: Result<PassOutcome, TrialFailure>,
}

/// The outcomes of all passes of a run, and how the run ended.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SeriesRecord {
    trials: Vec<Vec<SeriesEntry>>,
    last_segment: u32,
    /// Whether every planned trial has its passes, or the budget ended.
    pub complete: bool,
    /// Whether the budget ended before the precision was reached everywhere.
    pub budget_ended: bool,
}

impl SeriesRecord {
    /// A record without passes.
    pub fn new() -> SeriesRecord {
        SeriesRecord::default()
    }

    /// Adds one pass.
    pub fn push(&mut self, entry: SeriesEntry) {
        let trial = entry.trial as usize;
        self.last_segment = self.last_segment.max(entry.segment);
        if self.trials.len() <= trial {
            self.trials.resize_with(trial + 1, Vec::new);
        }
        self.trials[trial].push(entry);
    }

    /// Number of the last segment, counted from 0.
    pub fn last_segment(&self) -> u32 {
        self.last_segment
    }

    /// The record with only the passes that `keeps` accepts.
    pub fn filtered(&self, keeps: impl Fn(&SeriesEntry) -> bool) -> SeriesRecord {
        let mut filtered = self.clone();
        filtered.trials.iter_mut().for_each(|passes| passes.retain(&keeps));
        filtered
    }

    /// The passes of a trial, in the order of execution.
    pub fn passes(&self, trial: usize) -> &[SeriesEntry] {
        self.trials.get(trial).map_or(&[], Vec::as_slice)
    }

    /// The outcomes of the passes of a trial that did not fail.
    pub fn outcomes(&self, trial: usize) -> impl Iterator<Item = &PassOutcome> {
        self.passes(trial).iter().filter_map(|entry| entry.outcome.as_ref().ok())
    }

    /// The last failure of a trial. A missing CPU no longer counts after a successful last pass or a later segment.
    pub fn failure(&self, trial: usize) -> Option<&TrialFailure> {
        let entries = self.passes(trial);
        let is_over =
            entries.last().is_some_and(|last| last.outcome.is_ok() || last.segment < self.last_segment);
        let mut failures = entries.iter().rev().filter_map(|entry| entry.outcome.as_ref().err());
        failures.find(|failure| !(is_over && failure.missed_a_cpu()))
    }

    /// All failures of a trial except those with an external cause.
    pub fn failures(&self, trial: usize) -> impl Iterator<Item = &TrialFailure> {
        let failures = self.passes(trial).iter().filter_map(|entry| entry.outcome.as_ref().err());
        failures.filter(|failure| !failure.came_from_outside())
    }

    /// Whether there is no pass.
    pub fn is_empty(&self) -> bool {
        self.trials.iter().all(Vec::is_empty)
    }
}

/// Numbers by name. Their probe [declares](crate::quantity::Quantity) the units and how passes are aggregated.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Numbers {
    /// Values of the pass as a whole. Unknown values are absent.
    pub values: BTreeMap<String, f64>,
    /// Distributions of single events.
    pub histograms: BTreeMap<String, Histogram>,
    /// Counts of events.
    pub counts: BTreeMap<String, u64>,
}

/// Maximum absolute value in a pass, in the unit of its quantity: 32 years in nanoseconds.
pub const MAX_VALUE: f64 = 1e18;

/// The observations of a probe in one pass.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observed {
    /// Numbers of all roles together.
    pub numbers: Numbers,
    /// Numbers of single roles, by the number of the role.
    pub by_role: BTreeMap<usize, Numbers>,
    /// Flags that the probe itself sets.
    pub flags: Flags,
}

impl Observed {
    /// Records a value. A value that is not finite is unknown and is skipped.
    pub fn value(&mut self, name: &str, value: f64) {
        self.numbers.value(name, value);
    }

    /// Records a count.
    pub fn count(&mut self, name: &str, count: u64) {
        self.numbers.count(name, count);
    }

    /// Records a distribution, even if it is empty: no events is a result.
    pub fn histogram(&mut self, name: &str, histogram: Histogram) {
        self.numbers.histogram(name, histogram);
    }

    /// All numbers under their names in files. `lost_share@3` is the value of role 3.
    pub fn flat(&self) -> Cow<'_, Numbers> {
        if self.by_role.is_empty() {
            return Cow::Borrowed(&self.numbers);
        }
        let mut flat = self.numbers.clone();
        for (role, Numbers { values, histograms, counts }) in &self.by_role {
            let role_name = |name: &String| format!("{name}{OF_ROLE}{role}");
            flat.values.extend(values.iter().map(|(name, value)| (role_name(name), *value)));
            flat.histograms.extend(histograms.iter().map(|(name, events)| (role_name(name), events.clone())));
            flat.counts.extend(counts.iter().map(|(name, count)| (role_name(name), *count)));
        }
        Cow::Owned(flat)
    }

    /// The inverse of [`flat`](Observed::flat).
    pub fn of_flat(flat: Numbers, flags: Flags) -> Observed {
        let mut names = flat.values.keys().chain(flat.histograms.keys()).chain(flat.counts.keys());
        if !names.any(|name| name.contains(OF_ROLE)) {
            return Observed { numbers: flat, by_role: BTreeMap::new(), flags };
        }
        let mut observed = Observed { flags, ..Observed::default() };
        for (name, value) in flat.values {
            let (numbers, name) = observed.numbers_for(name);
            numbers.values.insert(name, value);
        }
        for (name, histogram) in flat.histograms {
            let (numbers, name) = observed.numbers_for(name);
            numbers.histograms.insert(name, histogram);
        }
        for (name, count) in flat.counts {
            let (numbers, name) = observed.numbers_for(name);
            numbers.counts.insert(name, count);
        }
        observed
    }

    fn numbers_for(&mut self, name: String) -> (&mut Numbers, String) {
        let of_role =
            name.split_once(OF_ROLE).and_then(|(id, role)| Some((id.to_owned(), role.parse().ok()?)));
        match of_role {
            Some((id, role)) => (self.by_role.entry(role).or_default(), id),
            None => (&mut self.numbers, name),
        }
    }
}

impl Numbers {
    /// Records a value. A value that is not finite is unknown and is skipped.
    pub fn value(&mut self, name: &str, value: f64) {
        if value.is_finite() {
            self.values.insert(name.to_owned(), value);
        }
    }

    /// Records a count.
    pub fn count(&mut self, name: &str, count: u64) {
        self.counts.insert(name.to_owned(), count);
    }

    /// Records a distribution, even if it is empty: no events is a result.
    pub fn histogram(&mut self, name: &str, histogram: Histogram) {
        self.histograms.insert(name.to_owned(), histogram);
    }
}

const OF_ROLE: char = '@';

/// What the operating system reports about one role in one pass.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RoleEvidence {
    /// CPU time of the thread, in nanoseconds.
    pub cpu_ns: Option<u64>,
    /// Voluntary context switches (the thread slept).
    pub voluntary: Option<u32>,
    /// Involuntary context switches.
    pub involuntary: Option<u32>,
    /// Core clock before and after, in GHz.
    pub core_ghz: Option<[f32; 2]>,
    /// Whether the thread was found on another CPU than its own.
    pub migrated: bool,
}

/// The outcome of one pass of one trial.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PassOutcome {
    /// Start time within the segment.
    pub started: Picos,
    /// Duration, including start and end of threads.
    pub elapsed: Picos,
    /// What the probe observed.
    pub observed: Observed,
    /// What the system reports, by role.
    pub roles: Vec<RoleEvidence>,
    /// Time that the hypervisor or interrupts took on the CPUs of the trial, in milliseconds.
    pub steal_ms: Option<f32>,
    /// Whether the coordinating thread had to share a measured CPU.
    pub coordinator_shared: bool,
    /// Number of trials on other cores at the same time; 0 if alone.
    pub concurrent: u32,
    /// Whether other programs used more than a tenth of the CPUs around the time of the pass.
    pub others_busy: bool,
    /// Whether the quota of the control group throttled the process during the pass.
    pub quota: bool,
    /// Half a round trip of CAS without pause, in nanoseconds, just before and just after the pass. It identifies the
    /// machine state. Averaged over neighbours among the [watched](super::TrialSpec::watched) CPUs.
    pub sentinel_ns: Option<[f32; 2]>,
    /// Number of the runtime process that made the pass, unique in the run; `None` for passes of this program.
    pub process: Option<u32>,
}

impl PassOutcome {
    /// Maps a pass in which only some roles took part to all roles of the trial. `roles` are the numbers of these
    /// roles, ascending, out of `all`. The other roles stay empty.
    ///
    /// ```
    /// use coretalk_model::series::PassOutcome;
    ///
    /// let mut pass = PassOutcome::default();
    /// pass.observed.by_role.entry(1).or_default().value("lost_share", 0.02);
    /// let whole = pass.of_roles(&[0, 2], 3);
    /// assert_eq!((whole.observed.by_role[&2].values["lost_share"], whole.roles.len()), (0.02, 3));
    /// ```
    pub fn of_roles(self, roles: &[usize], all: usize) -> PassOutcome {
        let by_role = self.observed.by_role.into_iter();
        let by_role =
            by_role.map(|(role, numbers)| (roles.get(role).copied().unwrap_or(role), numbers)).collect();
        let observed = Observed { by_role, ..self.observed };
        let mut evidence = vec![RoleEvidence::default(); all];
        for (&role, reported) in roles.iter().zip(self.roles) {
            evidence[role] = reported;
        }
        PassOutcome { observed, roles: evidence, ..self }
    }
}
