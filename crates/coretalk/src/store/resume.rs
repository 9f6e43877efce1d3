//! Going on with a run: the same machine, the same tool, a new segment.

use super::error::{FailureClass, StoreError};
use super::run_file::RunFile;
use super::writer::{Budgets, NO_MAP, RunWriter, scale};
use crate::RunHeader;
use coretalk_model::latency::{Counts, LatencySettings, Record};
use coretalk_model::series::{SeriesRecord, SeriesSettings};
use coretalk_model::stats::MAX_ANALYSES;
use coretalk_model::{CpuSet, Environment, Picos, Topology};
use std::path::Path;

/// Under what a run is measured, or would be now.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditions {
    /// The machine.
    pub environment: Environment,
    /// Which CPUs the process may use.
    pub allowed: CpuSet,
}

/// Why a run cannot go on here: exit code 3.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("resume on this machine: the run was made with {what} {was}, but here it is {here}; start a new run")]
pub struct ResumeRefusal {
    /// What differs: `the CPU`, `the kernel` …
    pub what: &'static str,
    /// As the run says.
    pub was: String,
    /// As it is now.
    pub here: String,
}

/// Whether numbers measured in two segments belong into one run: CPU model, kernel, tool version and allowed CPUs must
/// agree, versions of runtimes too, and simulated machines go with themselves only.
///
/// # Errors
/// [`ResumeRefusal`] names the first difference.
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
    // Of runtimes: of one that is not here any more there are no new passes.
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

/// A run that goes on.
#[derive(Debug)]
pub struct ResumedRun {
    /// Writes the new segment.
    pub writer: RunWriter,
    /// What the run is called; its segments count the new one.
    pub header: RunHeader,
    /// What is asked of the latency between CPUs, with the new budget where one was given.
    pub settings: Option<LatencySettings>,
    /// What is asked of series, and what the segments before have said of it.
    pub series: Option<(SeriesSettings, SeriesRecord)>,
    /// What the machine reported of its structure when the run began: the numbers of cells rest on it.
    pub topology: Topology,
    /// What the run was measured under when it began; its clock rate is the one to analyse with.
    pub environment: Environment,
    /// What the segments before have said.
    pub record: Record,
}

/// Why a run could not be resumed.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// The file.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The machine.
    #[error(transparent)]
    Refused(#[from] ResumeRefusal),
}

impl ResumeError {
    /// Which exit code it leads to.
    pub fn class(&self) -> FailureClass {
        match self {
            ResumeError::Store(error) => error.class(),
            ResumeError::Refused(_) => FailureClass::Environment,
        }
    }
}

impl RunWriter {
    /// Opens a run to go on with it and begins a new segment. Whether there is anything left to do is for the caller
    /// to see first: [`RunFile::header`] says whether the run is complete.
    ///
    /// # Errors
    /// [`ResumeError`]; the file is then as it was.
    pub fn resume(path: &Path, here: &Conditions, budget: Option<Picos>) -> Result<ResumedRun, ResumeError> {
        let file = RunFile::open(path)?;
        let was = Conditions { environment: file.environment()?, allowed: file.allowed()? };
        compatible(&was, here)?;
        let mut settings = file.settings()?;
        let asked = file.series_settings()?;
        let [map, trials] =
            [settings.as_ref().map(|map| map.budget), asked.as_ref().map(|series| series.budget)];
        let budgets = budget.map(|whole| Budgets::shared(whole, map, trials));
        if let (Some(budgets), Some(settings)) = (budgets, &mut settings) {
            settings.budget = budgets.map;
            settings.analyses = MAX_ANALYSES;
        }
        let topology = file.topology()?;
        let record = file.record()?;
        let series = match asked {
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
