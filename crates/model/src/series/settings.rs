//! [`SeriesSettings`]: what is meant by a run of series, beside the trials themselves.

use super::{Headline, Parameters, TrialSpec, Value};
use crate::quantity::Quantities;
use crate::{CpuId, Picos};

/// What tells in [`SeriesSettings::options`] which command put several probes into one run.
const RUN: &str = "run";
/// How many pairs may be measured at the same time, of probes that can do so; `auto` where it is left out.
const PARALLEL: &str = "parallel";

/// What is meant by a run of series. The trials are the plan: they are settled before anything is measured.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SeriesSettings {
    /// The probes asked, in the order of reports.
    pub probes: Vec<String>,
    /// CPUs that take part, in matrix order.
    pub cpus: Vec<CpuId>,
    /// Options of the probes beside their trials (`samples`): a probe reads what concerns it.
    pub options: Parameters,
    /// What is measured, in the order of reports.
    pub trials: Vec<TrialSpec>,
    /// By what trials are judged: the first of these that a trial has is its headline; a trial that has none is judged by
    /// the widest of all that it has.
    pub headlines: Vec<Headline>,
    /// What the probes declare of their numbers. Files hold names alone: who reads one declares them anew.
    pub quantities: Quantities,
    /// Half-width of the intervals to reach, as a share.
    pub precision: f64,
    /// Upper bound of machine time.
    pub budget: Picos,
    /// Every random choice comes from it.
    pub seed: u64,
}

/// Why a run holds trials of several probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gathering {
    /// The quick look: the columns of the ladder that are trials, and how quiet CPUs are, beside a map.
    QuickLook,
    /// `suite`: everything.
    Suite,
}

impl Gathering {
    /// What [`SeriesSettings::options`] holds then.
    pub fn options(self) -> Parameters {
        Parameters::default().with(
            RUN,
            match self {
                Gathering::QuickLook => "quick-look",
                Gathering::Suite => "suite",
            },
        )
    }
}

impl Parameters {
    /// With so many pairs at the same time at most; left to the run where nothing is said.
    #[must_use]
    pub fn with_parallel(self, pairs: Option<u32>) -> Parameters {
        self.with_some(PARALLEL, pairs.map(f64::from))
    }

    /// Without that: proven harmless or left out, it makes no other experiment.
    pub fn without_parallel(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.iter().filter(|(name, _)| *name != PARALLEL)
    }
}

impl SeriesSettings {
    /// How many pairs may be measured at the same time; `None` leaves it to the run.
    pub fn parallel(&self) -> Option<u32> {
        self.options.number(PARALLEL).map(|pairs| pairs as u32)
    }

    /// Why it holds trials of several probes; `None` for a run of one.
    pub fn gathering(&self) -> Option<Gathering> {
        match self.options.text(RUN)? {
            "suite" => Some(Gathering::Suite),
            _ => Some(Gathering::QuickLook),
        }
    }
}
