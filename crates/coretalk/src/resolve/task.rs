//! [`Task`]: the resolved settings of a measurement.

use crate::args::words::FailOnWord;
use coretalk_measure::{Hooks, Work};
use coretalk_model::latency::LatencySettings;
use coretalk_model::place::PlaceSettings;
use coretalk_model::run::RunSettings;
use coretalk_model::series::SeriesSettings;
use coretalk_model::{CpuId, Topology};

/// A measurement to perform.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "there is one per run")]
pub enum Task {
    /// Probes: a latency map, trials, or both. One CPU has no pairs and no map.
    Probes {
        /// Settings of the map.
        latency: Option<LatencySettings>,
        /// Settings of the trials.
        series: Option<SeriesSettings>,
    },
    /// A comparison of placements or commands.
    Comparison {
        /// Settings of the comparison.
        settings: PlaceSettings,
        /// Workloads or command of `place`, or the command of each arm of `versus`.
        works: Vec<Work>,
        /// Commands before, between and after the runs.
        hooks: Hooks,
        /// `--fail-on`.
        fail_on: Option<FailOnWord>,
    },
}

impl Task {
    /// Returns the settings.
    pub fn settings(&self) -> RunSettings<'_> {
        match self {
            Task::Probes { latency, series } => {
                RunSettings { latency: latency.as_ref(), series: series.as_ref(), place: None }
            }
            Task::Comparison { settings, .. } => {
                RunSettings { place: Some(settings), ..RunSettings::default() }
            }
        }
    }

    /// Returns the CPUs of the workers; `None` if the measured programs start their own threads.
    pub fn workers(&self, topology: &Topology) -> Option<Vec<CpuId>> {
        match self {
            Task::Probes { latency: Some(settings), .. } => Some(settings.cpus.clone()),
            Task::Probes { series: Some(settings), .. } if settings.gathering().is_some() => {
                Some(settings.cpus.clone())
            }
            // CPUs without a trial need no worker.
            Task::Probes { series, .. } => {
                let trials = series.iter().flat_map(|series| &series.trials);
                let used = trials.flat_map(|trial| trial.placement.iter().copied()).collect();
                Some(topology.order(&used))
            }
            Task::Comparison { .. } => None,
        }
    }
}
