//! Resumes a run in a new segment, on the same machine and with the same tool.

use super::error::{FailureClass, StoreError};
use super::run_file::RunFile;
use super::writer::{Budgets, NO_MAP, RunWriter, scale};
use coretalk_model::latency::{Counts, LatencySettings, Record};
use coretalk_model::run::RunHeader;
use coretalk_model::series::{SeriesRecord, SeriesSettings};
use coretalk_model::stats::MAX_ANALYSES;
use coretalk_model::{CpuSet, Environment, Picos, Topology};
use std::path::Path;

/// Conditions of a past or present measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditions {
    /// Facts about the machine.
    pub environment: Environment,
    /// CPUs that the process may use.
    pub allowed: CpuSet,
}

/// Difference between a run and this machine that prevents resuming. The exit code is 3.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("resume on this machine: the run was made with {what} {was}, but here it is {here}; start a new run")]
pub struct ResumeRefusal {
    /// Fact that differs: `the CPU`, `the kernel` …
    pub what: &'static str,
    /// Value in the run.
    pub was: String,
    /// Present value.
    pub here: String,
}

/// Checks that two segments may be combined in one run. CPU model, kernel, tool version, allowed CPUs and runtime
/// versions must agree. A simulated machine matches only itself. The error names the first difference.
pub fn compatible(was: &Conditions, here: &Conditions) -> Result<(), ResumeRefusal> {
    let unknown = || "unknown".to_owned();
    let facts = |conditions: &Conditions| {
        let environment = &conditions.environment;
        [
            (
                "the machine",
                environment.simulated.clone().map_or("real".into(), |name| format!("sim:{name}")),
            ),
            ("the CPU", environment.cpu_model.clone().unwrap_or_else(unknown)),
            ("the kernel", environment.kernel.clone().unwrap_or_else(unknown)),
            ("coretalk", environment.tool_version.clone()),
            ("the allowed CPUs", conditions.allowed.to_string()),
        ]
    };
    // A runtime that is no longer installed makes no new passes, so it cannot conflict.
    for (name, was) in &was.environment.runtimes {
        if let Some(here) = here.environment.runtimes.get(name).filter(|here| *here != was) {
            let named = |version: &str| format!("{name} {version}");
            return Err(ResumeRefusal { what: "the runtime", was: named(was), here: named(here) });
        }
    }
    for ((what, was), (_, here)) in facts(was).into_iter().zip(facts(here)) {
        if was != here {
            return Err(ResumeRefusal { what, was, here });
        }
    }
    Ok(())
}

/// A run opened to be continued.
#[derive(Debug)]
pub struct ResumedRun {
    /// Writer of the new segment.
    pub writer: RunWriter,
    /// Names and state of the run; `segments` includes the new one.
    pub header: RunHeader,
    /// Latency settings, with the new budget if one was given.
    pub settings: Option<LatencySettings>,
    /// Series settings and the passes of earlier segments.
    pub series: Option<(SeriesSettings, SeriesRecord)>,
    /// Topology reported when the run began. It defines the cell numbers.
    pub topology: Topology,
    /// Environment when the run began. Analysis uses its clock rate.
    pub environment: Environment,
    /// Visits of earlier segments.
    pub record: Record,
}

/// Reason why a run could not be resumed.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// The file prevents it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The machine prevents it.
    #[error(transparent)]
    Refused(#[from] ResumeRefusal),
}

impl ResumeError {
    /// Returns the class that decides the exit code.
    pub fn class(&self) -> FailureClass {
        match self {
            ResumeError::Store(error) => error.class(),
            ResumeError::Refused(_) => FailureClass::Environment,
        }
    }
}

impl RunWriter {
    /// Opens a run and begins a new segment. The caller first checks with [`RunFile::header`] whether the run is
    /// complete. After an error, the file is unchanged.
    pub fn resume(path: &Path, here: &Conditions, budget: Option<Picos>) -> Result<ResumedRun, ResumeError> {
        let file = RunFile::open(path)?;
        let was = Conditions { environment: file.environment()?, allowed: file.allowed()? };
        compatible(&was, here)?;
        let mut settings = file.settings()?;
        let stored_series = file.series_settings()?;
        let [map, trials] =
            [settings.as_ref().map(|map| map.budget), stored_series.as_ref().map(|series| series.budget)];
        let budgets = budget.map(|whole| Budgets::shared(whole, map, trials));
        if let (Some(budgets), Some(settings)) = (budgets, &mut settings) {
            settings.budget = budgets.map;
            settings.analyses = MAX_ANALYSES;
        }
        let topology = file.topology()?;
        let record = file.record()?;
        let series = match stored_series {
            Some(mut series) => {
                series.budget = budgets.map_or(series.budget, |budgets| budgets.trials);
                let record = file.series_record(&series)?;
                Some((series, record))
            }
            None => None,
        };
        let mut header = file.header()?;
        let counts = settings.as_ref().map_or(Counts::Adaptive, |settings| settings.counts);
        let mut writer = file.into_writer(header.segments, scale(&here.environment.clock), counts)?;
        writer.begin_segment(&here.environment.clock, budgets)?;
        writer.map_of_both = series.as_ref().map(|_| NO_MAP);
        header.segments += 1;
        header.complete = false;
        Ok(ResumedRun { writer, header, settings, series, topology, environment: was.environment, record })
    }
}
