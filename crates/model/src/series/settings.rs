//! [`SeriesSettings`]: what is meant by a run of series, beside the trials themselves.

use super::{Parameters, TrialSpec};
use crate::{CpuId, Picos};

/// What is meant by a run of series. The trials are the plan: they are settled before anything is measured.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SeriesSettings {
    /// The probes asked, in the order of reports.
    pub probes: Vec<String>,
    /// CPUs that take part, in matrix order.
    pub cpus: Vec<CpuId>,
    /// What was asked of the probes beside their trials (`samples`): a probe reads what concerns it.
    pub asked: Parameters,
    /// What is measured, in the order of reports.
    pub trials: Vec<TrialSpec>,
    /// Names of distributions and values by which trials are judged: the first of these that a trial has is its
    /// headline; a trial that has none is judged by the widest of all that it has.
    pub headlines: Vec<String>,
    /// Half-width of the intervals to reach, as a share.
    pub precision: f64,
    /// Upper bound of machine time.
    pub budget: Picos,
    /// Every random choice comes from it.
    pub seed: u64,
}
