//! [`SeriesRecord`]: everything that the passes of a run said; [`PassOutcome`]: what one pass of one trial said.

use crate::{Flags, Histogram, Picos, TrialFailure};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// One pass of one trial as the run keeps it.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesEntry {
    /// The segment.
    pub segment: u32,
    /// Number of the pass, from 0, over all segments.
    pub pass: u32,
    /// Position of the trial in the plan.
    pub trial: u32,
    /// What it said, or why there is nothing.
    pub outcome: Result<PassOutcome, TrialFailure>,
}

/// Everything that the passes of a run said, and how the run ended.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SeriesRecord {
    /// Passes by trial, in the order made.
    trials: Vec<Vec<SeriesEntry>>,
    /// The last segment that said something.
    last_segment: u32,
    /// Every planned trial has its passes, or the budget ended.
    pub complete: bool,
    /// The budget ended before the precision was reached everywhere.
    pub budget_ended: bool,
}

impl SeriesRecord {
    /// Nothing said yet.
    pub fn new() -> SeriesRecord {
        SeriesRecord::default()
    }

    /// Keeps one pass.
    pub fn push(&mut self, entry: SeriesEntry) {
        let trial = entry.trial as usize;
        self.last_segment = self.last_segment.max(entry.segment);
        if self.trials.len() <= trial {
            self.trials.resize_with(trial + 1, Vec::new);
        }
        self.trials[trial].push(entry);
    }

    /// The passes of a trial, in the order made.
    pub fn passes(&self, trial: usize) -> &[SeriesEntry] {
        self.trials.get(trial).map_or(&[], Vec::as_slice)
    }

    /// The passes of a trial that said something.
    pub fn outcomes(&self, trial: usize) -> impl Iterator<Item = &PassOutcome> {
        self.passes(trial).iter().filter_map(|entry| entry.outcome.as_ref().ok())
    }

    /// Why a trial got nothing when it was tried last; `None` where nothing failed, and where that was for want of a CPU
    /// which a later pass of it, or a later segment, did not miss.
    pub fn failure(&self, trial: usize) -> Option<&TrialFailure> {
        let entries = self.passes(trial);
        let is_over =
            entries.last().is_some_and(|last| last.outcome.is_ok() || last.segment < self.last_segment);
        let mut failures = entries.iter().rev().filter_map(|entry| entry.outcome.as_ref().err());
        failures.find(|failure| !(is_over && failure.missed_a_cpu()))
    }

    /// Why passes of a trial gave nothing, but for what came from outside.
    pub fn failures(&self, trial: usize) -> impl Iterator<Item = &TrialFailure> {
        let failures = self.passes(trial).iter().filter_map(|entry| entry.outcome.as_ref().err());
        failures.filter(|failure| !failure.came_from_outside())
    }

    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        self.trials.iter().all(Vec::is_empty)
    }
}

/// Numbers by name. What they are counted in and how passes become one, their probe
/// [declares](crate::quantity::Quantity).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Numbers {
    /// What holds of the pass as a whole. What could not be told is left out.
    pub values: BTreeMap<String, f64>,
    /// Distributions of single events.
    pub histograms: BTreeMap<String, Histogram>,
    /// How often something happened.
    pub counts: BTreeMap<String, u64>,
}

/// What a probe saw in one pass.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observed {
    /// What all roles say together.
    pub numbers: Numbers,
    /// What single roles say of their CPUs, by the number of the role.
    pub by_role: BTreeMap<usize, Numbers>,
    /// Doubts and remarks that the probe itself has.
    pub flags: Flags,
}

impl Observed {
    /// Notes a value; what is not finite is unknown, and left out.
    pub fn value(&mut self, name: &str, value: f64) {
        self.numbers.value(name, value);
    }

    /// Notes a count.
    pub fn count(&mut self, name: &str, count: u64) {
        self.numbers.count(name, count);
    }

    /// Notes a distribution, an empty one too: nothing seen is a result.
    pub fn histogram(&mut self, name: &str, histogram: Histogram) {
        self.numbers.histogram(name, histogram);
    }

    /// All numbers by names as files hold them: `lost_share@3` is what role 3 says.
    pub fn flat(&self) -> Cow<'_, Numbers> {
        if self.by_role.is_empty() {
            return Cow::Borrowed(&self.numbers);
        }
        let mut flat = self.numbers.clone();
        for (role, Numbers { values, histograms, counts }) in &self.by_role {
            let named = |name: &String| format!("{name}{OF_ROLE}{role}");
            flat.values.extend(values.iter().map(|(name, value)| (named(name), *value)));
            flat.histograms.extend(histograms.iter().map(|(name, events)| (named(name), events.clone())));
            flat.counts.extend(counts.iter().map(|(name, count)| (named(name), *count)));
        }
        Cow::Owned(flat)
    }

    /// The same the other way about.
    pub fn of_flat(flat: Numbers, flags: Flags) -> Observed {
        let mut names = flat.values.keys().chain(flat.histograms.keys()).chain(flat.counts.keys());
        if !names.any(|name| name.contains(OF_ROLE)) {
            return Observed { numbers: flat, by_role: BTreeMap::new(), flags };
        }
        let mut observed = Observed { flags, ..Observed::default() };
        for (name, value) in flat.values {
            let (numbers, name) = observed.named(name);
            numbers.values.insert(name, value);
        }
        for (name, histogram) in flat.histograms {
            let (numbers, name) = observed.named(name);
            numbers.histograms.insert(name, histogram);
        }
        for (name, count) in flat.counts {
            let (numbers, name) = observed.named(name);
            numbers.counts.insert(name, count);
        }
        observed
    }

    /// Where a name of a file belongs, and its name there.
    fn named(&mut self, name: String) -> (&mut Numbers, String) {
        let of_role =
            name.split_once(OF_ROLE).and_then(|(id, role)| Some((id.to_owned(), role.parse().ok()?)));
        match of_role {
            Some((id, role)) => (self.by_role.entry(role).or_default(), id),
            None => (&mut self.numbers, name),
        }
    }
}

impl Numbers {
    /// Notes a value; what is not finite is unknown, and left out.
    pub fn value(&mut self, name: &str, value: f64) {
        if value.is_finite() {
            self.values.insert(name.to_owned(), value);
        }
    }

    /// Notes a count.
    pub fn count(&mut self, name: &str, count: u64) {
        self.counts.insert(name.to_owned(), count);
    }

    /// Notes a distribution, an empty one too: nothing seen is a result.
    pub fn histogram(&mut self, name: &str, histogram: Histogram) {
        self.histograms.insert(name.to_owned(), histogram);
    }
}

/// What stands in files between a name and the number of the role that says it.
const OF_ROLE: char = '@';

/// What the system says of one role of one pass.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RoleEvidence {
    /// CPU time that its thread took, in nanoseconds.
    pub cpu_ns: Option<u64>,
    /// How often it gave its CPU away (slept).
    pub voluntary: Option<u32>,
    /// How often its CPU was taken from it.
    pub involuntary: Option<u32>,
    /// Its core clock before and after, in GHz.
    pub core_ghz: Option<[f32; 2]>,
    /// Whether it was found on another CPU than its own.
    pub migrated: bool,
}

/// One pass of one trial.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PassOutcome {
    /// When it began, on the machine's time line.
    pub started: Picos,
    /// How long it took, start and end of threads included.
    pub elapsed: Picos,
    /// What the probe saw.
    pub observed: Observed,
    /// What the system says, role by role.
    pub roles: Vec<RoleEvidence>,
    /// Time that the hypervisor or interrupts took on the CPUs of the trial, in milliseconds.
    pub steal_ms: Option<f32>,
    /// The coordinating thread had to share a measured CPU.
    pub coordinator_shared: bool,
    /// Trials on other cores that were made at the same time; 0 is alone.
    pub concurrent: u32,
    /// Other programs took more than a tenth of the CPUs around it.
    pub others_busy: bool,
    /// The quota of the control group stopped the process meanwhile.
    pub quota: bool,
    /// Half a round trip of CAS without pause just before and just after the pass, in nanoseconds: which state the machine
    /// was in. The mean over neighbours of the CPUs that the trial [watches](super::TrialSpec::watched). `None` where it has
    /// one CPU, in files of older versions, and where the visit said nothing.
    pub sentinel_ns: Option<[f32; 2]>,
    /// Which process of a runtime made it, by a number that no other one of the run has; `None` where this program did.
    pub process: Option<u32>,
}

impl PassOutcome {
    /// What a pass that only some roles of a trial played says of the trial: `roles` are their numbers, rising, among
    /// `all`. Of the others nothing is said.
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
        let by_role = by_role.map(|(role, said)| (roles.get(role).copied().unwrap_or(role), said)).collect();
        let observed = Observed { by_role, ..self.observed };
        let mut evidence = vec![RoleEvidence::default(); all];
        for (&role, said) in roles.iter().zip(self.roles) {
            evidence[role] = said;
        }
        PassOutcome { observed, roles: evidence, ..self }
    }
}
