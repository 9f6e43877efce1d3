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
    /// Half a round trip of CAS without pause between the [ends](super::TrialSpec::ends) of the trial just before and just
    /// after the pass, in nanoseconds: which state the machine was in. `None` where the trial has one CPU, in files of
    /// older versions, and where the visit said nothing.
    pub sentinel_ns: Option<[f32; 2]>,
}
