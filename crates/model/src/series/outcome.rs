//! [`PassOutcome`]: what one pass of one trial said.

use crate::{Flags, Histogram, Picos};
use std::collections::BTreeMap;

/// What a probe saw in one pass.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observed {
    /// Quantities of the pass as a whole, by name with the unit last (`loop_ns`, `ops_per_s`). Over passes the median
    /// counts. What could not be told is left out.
    pub values: BTreeMap<String, f64>,
    /// Distributions of single events, by name. Over passes they are added up.
    pub histograms: BTreeMap<String, Histogram>,
    /// How often something happened, by name. Over passes the sum counts.
    pub counts: BTreeMap<String, u64>,
    /// Doubts and remarks that the probe itself has.
    pub flags: Flags,
}

impl Observed {
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

/// What stands between a name and the number of the role that it is of: `gaps@3`.
const OF_ROLE: char = '@';

/// A name without its role, and the number of that role; `None` where it is of all.
pub(super) fn role_of(name: &str) -> (&str, Option<usize>) {
    match name.split_once(OF_ROLE) {
        Some((stem, role)) => (stem, role.parse().ok()),
        None => (name, None),
    }
}

/// The name with the number of the role that it stands for among `roles`.
fn of_other_role(name: String, roles: &[usize]) -> String {
    match role_of(&name) {
        (stem, Some(role)) => roles.get(role).map_or(name.clone(), |role| format!("{stem}{OF_ROLE}{role}")),
        (_, None) => name,
    }
}

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
    pub company: u32,
    /// Other programs took more than a tenth of the CPUs around it.
    pub others_busy: bool,
    /// The quota of the control group stopped the process meanwhile.
    pub quota: bool,
    /// Half a round trip of CAS without pause between the [ends](super::TrialSpec::ends) of the trial just before and just
    /// after the pass, in nanoseconds: which state the machine was in. `None` where the trial has one CPU, in files of
    /// older versions, and where the visit said nothing.
    pub sentinel_ns: Option<[f32; 2]>,
}

impl PassOutcome {
    /// Whether it says something under a name of its own of this role.
    pub fn tells_of(&self, role: usize) -> bool {
        let Observed { values, histograms, counts, .. } = &self.observed;
        let of_role = |name: &String| role_of(name).1 == Some(role);
        values.keys().chain(histograms.keys()).chain(counts.keys()).any(of_role)
    }

    /// What a pass that only some roles of a trial played says of the trial: `roles` are their numbers, rising, among
    /// `all`. Of the others nothing is said.
    ///
    /// ```
    /// use coretalk_model::series::PassOutcome;
    ///
    /// let mut pass = PassOutcome::default();
    /// pass.observed.value("lost_share@1", 0.02);
    /// let whole = pass.of_roles(&[0, 2], 3);
    /// assert_eq!((whole.observed.values["lost_share@2"], whole.roles.len()), (0.02, 3));
    /// ```
    pub fn of_roles(self, roles: &[usize], all: usize) -> PassOutcome {
        fn renamed<T>(by_name: BTreeMap<String, T>, roles: &[usize]) -> BTreeMap<String, T> {
            by_name.into_iter().map(|(name, value)| (of_other_role(name, roles), value)).collect()
        }
        let Observed { values, histograms, counts, flags } = self.observed;
        let observed = Observed {
            values: renamed(values, roles),
            histograms: renamed(histograms, roles),
            counts: renamed(counts, roles),
            flags,
        };
        let mut evidence = vec![RoleEvidence::default(); all];
        for (&role, said) in roles.iter().zip(self.roles) {
            evidence[role] = said;
        }
        PassOutcome { observed, roles: evidence, ..self }
    }
}
