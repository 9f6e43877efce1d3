//! [`Document`]: the JSON of docs/format/json.md. Wire types are separate from domain types: fields are added and never
//! renamed, and unknown is null, never 0.
//!
//! A document borrows its run and is written cell by cell, so 523,776 cells are not copied.

mod advice;
mod comparison;
mod difference;
mod environment;
mod facts;
mod findings;
mod latency;
pub mod line;
mod matrix;
mod runtime;
mod saved;
mod selftest;
mod series;
mod topology;
mod trials;

pub use advice::{AdviceDoc, AgainstDoc, BaselineDoc, ProofDoc, SnippetDoc};
pub use comparison::{ArmDoc, ComparisonDoc, FailedDoc, PairDoc};
pub use difference::{Compared, ComparedSideDoc, DifferenceDoc, GroupDoc, MismatchDoc, OverviewDoc};
pub use environment::{ClockDoc, EnvironmentDoc, FindingDoc};
pub use facts::{AsmDoc, PlanDoc, PlannedPairsDoc, ProbeDoc};
pub use findings::{RunFindingDoc, SubjectDoc};
pub use latency::{LadderDoc, WatchDoc, WatchedKernelDoc, WatchedStateDoc};
pub use line::{pass_line, trial_line};
pub use matrix::{CellDoc, CellList, Columns, CyclesDoc, MatrixDoc, StateDoc};
pub use saved::{SavedRunDoc, SavedRunState};
pub use selftest::{SelftestDoc, schema as selftest_schema};
pub(crate) use series::histogram_of;
pub use series::{PercentilesDoc, SeriesDoc, TrialStateDoc, ValueDoc};
pub use topology::{
    AgreementDoc, ClassDoc, EvidenceDoc, InferredDoc, InferredLevelDoc, LevelDoc, ReportedDoc, StructureView,
    SuspectDoc, TopologyDoc,
};
pub use trials::{BatchesDoc, CpuLoadDoc, GainDoc, KneeDoc, LoadDoc, QueueCellDoc, SpinDoc};

use crate::harmless::{Harmless, Replacement};
use crate::{RunReport, SeriesReport};
use coretalk_model::Departure;
use coretalk_model::compare::{Comparison, Overview};
use coretalk_model::external::forks;
use coretalk_model::stats::Estimate;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::Write;

/// Name and version of the document.
pub const SCHEMA: &str = "coretalk.run/1";

/// Whether private parts are included (`--with-identity`): the host name, paths and commands in the command line, and
/// output of adapters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Identity {
    /// Omitted.
    #[default]
    Hidden,
    /// Included on request.
    Included,
}

/// A run as one JSON document.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(title = "coretalk.run/1")]
pub struct Document<'a> {
    /// `coretalk.run/1`.
    schema: &'static str,
    /// What it is called and how it went; null in documents that are about several runs or none.
    pub(crate) run: Option<RunDoc>,
    /// What it was measured under; null where no machine is spoken of.
    pub(crate) environment: Option<EnvironmentDoc>,
    /// Reported structure; null where no machine is spoken of.
    topology: Option<TopologyDoc>,
    /// Every step on representative pairs, by relation.
    ladder: Vec<LadderDoc>,
    /// One for each protocol or imitated tool, in the order asked.
    matrices: Vec<MatrixDoc<'a>>,
    /// Distributions.
    #[serde(serialize_with = "series::written")]
    pub(crate) series: Vec<SeriesDoc<'a>>,
    /// What each map and the trials of each probe show, decided once: the first line of a screen says the same. Empty where
    /// there is neither.
    findings: Vec<RunFindingDoc>,
    /// Up to which rate each queue keeps up; filled by `queue --rate-sweep`.
    knees: Vec<KneeDoc>,
    /// What each queue gains by larger batches; filled by `queue --batch` without a rate.
    batches: Vec<BatchesDoc>,
    /// What the machine did while it was watched; null where too few passes were made to say.
    watch: Option<WatchDoc<'a>>,
    /// How busy the measured threads kept each CPU while the run went on; filled by `queue`.
    load: Option<LoadDoc>,
    /// Placements against each other; filled by `place`, and by `advise --prove`.
    comparisons: Vec<ComparisonDoc>,
    /// The two sides of `differences`; null elsewhere.
    compared: Option<Compared>,
    /// Two runs against each other, levels before cells; filled by `compare`.
    differences: Vec<DifferenceDoc>,
    /// Many runs or files side by side, group by group; filled by `compare` of more than two, or of one.
    overview: Vec<OverviewDoc>,
    /// Recommended placements, filled by `advise`; how long to look before sleeping, filled by `wait`.
    advice: Vec<AdviceEntry>,
    /// What can be measured; filled by `probes`.
    probes: Vec<ProbeDoc>,
    /// What would be measured; filled by `plan`.
    plan: Option<PlanDoc>,
    /// Saved runs, newest first; filled by `runs list`, absent elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    saved: Option<&'a [SavedRunDoc]>,
    /// CPUs that went away while `topology`, `advise` or `clock` measured, which save nothing; absent where none did. Of runs
    /// they stand in `run`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    departed: Vec<DepartedDoc>,
}

/// One piece of advice.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum AdviceEntry {
    /// Where threads should run.
    Placement(Box<AdviceDoc>),
    /// How long they should look before they sleep.
    Spin(SpinDoc),
}

/// What a run is called and how it went.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunDoc {
    /// UUID v7.
    id: String,
    /// RFC 3339, UTC.
    started: String,
    /// The command line without program name; private parts replaced unless identity was asked for.
    pub(crate) command: Vec<String>,
    /// Every random choice came from it.
    seed: u64,
    /// Whether the machine was simulated.
    simulated: bool,
    /// Every planned trial has an outcome, or the budget ended.
    complete: bool,
    /// The budget ended before the precision was reached everywhere.
    budget_ended: bool,
    /// What it left no time for.
    left_out: Vec<LeftOutDoc>,
    /// CPUs that went away while the last segment was measured: the run went on without them, and `--resume` goes on with
    /// them once they are back.
    departed: Vec<DepartedDoc>,
    /// Names given by the user.
    tags: Vec<String>,
    /// Segments.
    segments: u32,
    /// Version of the tool that measured.
    tool_version: String,
    /// Processes that were asked for of each runtime in another language (`--forks`, else five), in each segment; null where
    /// no such process made a pass.
    processes_asked: Option<u32>,
}

/// What the budget of a run left no time for.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LeftOutDoc {
    /// `pairs`, `ladder`, `single-round-trips` or `trials`.
    what: &'static str,
    /// How many: of single round trips the pairs that have none, of the ladder 1 for all of it.
    count: usize,
}

/// A CPU that went away while it was measured.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DepartedDoc {
    /// The CPU.
    cpu: u32,
    /// When it was missed, in seconds since the segment, or the measurement of a command that saves nothing, began.
    at_s: f64,
    /// `offline`, `cpuset` (outside the cpuset of the process), `pin-refused` or `not-run` (a thread pinned to it does not
    /// run).
    why: &'static str,
}

impl DepartedDoc {
    fn all(departed: &[Departure]) -> Vec<DepartedDoc> {
        let of = |it: &Departure| DepartedDoc { cpu: it.cpu.0, at_s: it.after.secs(), why: it.why.name() };
        departed.iter().map(of).collect()
    }
}

impl<'a> Document<'a> {
    /// Creates the document of a run.
    pub fn from_report(report: &'a RunReport, identity: Identity) -> Document<'a> {
        let mut matrices: Vec<MatrixDoc<'a>> = report.maps().iter().map(MatrixDoc::of_map).collect();
        matrices.extend(report.imitated().iter().map(MatrixDoc::of_imitation));
        if let Some(series) = &report.series {
            let queues = coretalk_model::queue::matrices(&series.result);
            let regime = &series.result.regime;
            matrices.extend(
                queues.into_iter().map(|matrix| MatrixDoc::of_queue(matrix, &series.settings.cpus, regime)),
            );
        }
        let latency = report.latency.iter();
        Document {
            run: Some(RunDoc::of(report, identity)),
            environment: Some(EnvironmentDoc::of(&report.environment, &report.doctor, identity)),
            topology: Some(TopologyDoc::of_run(report)),
            ladder: latency.flat_map(|latency| &latency.result.ladder).map(LadderDoc::of).collect(),
            matrices,
            series: series(report),
            findings: RunFindingDoc::all(report),
            knees: knees(report),
            batches: batches(report),
            comparisons: report.place.iter().flat_map(ComparisonDoc::of_all).collect(),
            advice: trials::spins(report).into_iter().map(AdviceEntry::Spin).collect(),
            watch: report.watch().map(WatchDoc::of),
            load: load(report),
            ..Document::empty()
        }
    }

    /// Creates a document about no single run, with every part empty.
    fn empty() -> Document<'a> {
        Document { schema: SCHEMA, ..Document::default() }
    }

    /// Returns the matrices.
    pub fn matrices(&self) -> &[MatrixDoc<'a>] {
        &self.matrices
    }

    /// Empties the lists of cells and series, which are written separately: a few kilobytes remain for any number of
    /// CPUs.
    pub fn without_cells(mut self) -> Document<'a> {
        self.matrices.iter_mut().for_each(MatrixDoc::leave_out_cells);
        self.series.iter_mut().for_each(|one| one.is_elsewhere = true);
        self
    }

    /// Creates the document of a comparison of two runs or files.
    pub fn of_comparison(compared: Compared, comparison: &Comparison) -> Document<'a> {
        let differences = comparison.datasets.iter().flat_map(DifferenceDoc::of_dataset).collect();
        Document { compared: Some(compared), differences, ..Document::empty() }
    }

    /// Creates the document of a table of many runs or files. `side` describes the one at a position.
    pub fn of_overview(table: &Overview, side: impl Fn(usize) -> ComparedSideDoc) -> Document<'a> {
        Document { overview: OverviewDoc::of_all(table, side), ..Document::empty() }
    }

    /// Writes the document with a line end, cell by cell. The writer should be buffered.
    ///
    /// # Errors
    /// The writer fails.
    pub fn write_to(&self, out: impl Write) -> std::io::Result<()> {
        write_json(self, out)
    }
}

/// Writes a value as JSON with a line end, and escapes characters that could control a terminal.
///
/// # Errors
/// The writer fails.
pub(crate) fn write_json(value: &impl Serialize, out: impl Write) -> std::io::Result<()> {
    let mut out = Harmless::new(out, Replacement::JsonEscape);
    serde_json::to_writer(&mut out, value).map_err(std::io::Error::from)?;
    out.write_all(b"\n")?;
    out.finish()
}

fn knees(report: &RunReport) -> Vec<KneeDoc> {
    let results = report.series.iter().map(|series| &series.result);
    results.flat_map(coretalk_model::queue::sweeps).map(|sweep| KneeDoc::of(&sweep)).collect()
}

fn batches(report: &RunReport) -> Vec<BatchesDoc> {
    let results = report.series.iter().map(|series| &series.result);
    let curves = results.flat_map(coretalk_model::queue::batch_curves);
    curves.filter(|curve| curve.rate_per_s.is_none()).filter_map(|curve| BatchesDoc::of(&curve)).collect()
}

fn load(report: &RunReport) -> Option<LoadDoc> {
    report.series.as_ref()?.load_of_queues().map(LoadDoc::of)
}

/// Returns the requested number of processes per runtime, if any made a pass.
fn processes_asked(series: &SeriesReport) -> Option<u32> {
    let has_some = series.result.trials.iter().any(|trial| !trial.processes.is_empty());
    has_some.then(|| forks(&series.settings.options))
}

/// Lists tails first, then the histograms of all trials in the order of the plan, except trials in matrices of queues.
fn series(report: &RunReport) -> Vec<SeriesDoc<'_>> {
    let latency = report.latency.iter();
    let tails = latency.flat_map(|latency| &latency.result.tails).flat_map(SeriesDoc::of_tails);
    let trials = report.series.iter().flat_map(|series| {
        let listed = series.result.trials.iter();
        let listed = listed.filter(|trial| !coretalk_model::queue::QueueCell::holds(trial));
        listed.flat_map(|trial| SeriesDoc::of_trial(&series.settings, trial))
    });
    tails.chain(trials).collect()
}

impl RunDoc {
    fn of(report: &RunReport, identity: Identity) -> RunDoc {
        let header = &report.header;
        RunDoc {
            id: header.id.clone(),
            started: header.started.clone(),
            command: match identity {
                Identity::Included => header.command.clone(),
                Identity::Hidden => without_private_parts(&header.command),
            },
            seed: header.seed,
            simulated: header.simulated,
            complete: header.complete,
            budget_ended: report.latency.as_ref().is_some_and(|latency| latency.result.budget_ended)
                || report.series.as_ref().is_some_and(|series| series.result.budget_ended)
                || report.place.as_ref().is_some_and(|place| place.result.budget_ended),
            left_out: report
                .left_out()
                .into_iter()
                .map(|left| {
                    let (what, count) = left.parts();
                    LeftOutDoc { what, count }
                })
                .collect(),
            departed: DepartedDoc::all(&header.departed),
            tags: header.tags.clone(),
            segments: header.segments,
            tool_version: header.tool_version.clone(),
            processes_asked: report.series.as_ref().and_then(processes_asked),
        }
    }
}

/// Whether the value of an option, typed without its value, is the name of a file or folder.
fn names_a_path(option: &str) -> bool {
    ["-o", "--output", "--store"].contains(&option)
        || option.starts_with("--export-") && !option.contains('=')
}

/// The option whose value is `NAME=COMMAND`.
const ADAPTER: &str = "--adapter";

/// Replaces paths, commands of adapters and everything after `--` in a command line by placeholders.
pub(crate) fn without_private_parts(command: &[String]) -> Vec<String> {
    let is_path = |text: &str| {
        let machine = text.strip_prefix("sim:");
        let text = machine.unwrap_or(text);
        let of_a_machine = machine.is_some() && [".toml", ".csv"].iter().any(|end| text.ends_with(end));
        let looks_so =
            ["/", "./", "../", "~"].iter().any(|start| text.starts_with(start)) || text.contains(":\\");
        of_a_machine || looks_so || text.ends_with(".coretalk")
    };
    let mut shown: Vec<String> = Vec::new();
    let mut before = "";
    for argument in command {
        if argument == "--" {
            shown.push("--".to_owned());
            shown.push("…".to_owned());
            break;
        }
        shown.push(match argument.split_once('=') {
            Some((name, _)) if before == ADAPTER => format!("{name}=COMMAND"),
            Some((ADAPTER, rest)) => {
                format!("{ADAPTER}={}=COMMAND", rest.split('=').next().unwrap_or_default())
            }
            _ if names_a_path(before) || is_path(argument) => "PATH".to_owned(),
            Some((name, value)) if names_a_path(name) || is_path(value) => format!("{name}=PATH"),
            _ if argument.len() > 2 && argument.starts_with("-o") => "-oPATH".to_owned(),
            _ => argument.clone(),
        });
        before = argument;
    }
    shown
}

/// The schema of the document, generated from these types; committed as `schema/coretalk.run.v1.json`.
pub fn schema() -> serde_json::Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<Document<'static>>().to_value()
}

/// Low and high end of an interval.
pub(crate) type Ci = [f64; 2];

/// Rounds to 0.0001: finer than any interval, and a fifth of the bytes of all digits. Infinity and NaN become null in
/// JSON.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// Rounds a number that may be far below 1, such as seconds of a short command, to four significant digits.
pub(crate) fn significant(value: f64) -> Option<f64> {
    let magnitude = value.abs();
    if magnitude == 0.0 || magnitude >= 0.1 || !value.is_finite() {
        return known(value);
    }
    let scale = 10f64.powi(3 - magnitude.log10().floor() as i32);
    Some((value * scale).round() / scale).filter(|value| value.is_finite())
}

pub(crate) fn known(value: f64) -> Option<f64> {
    value.is_finite().then(|| rounded(value))
}

/// Returns the 95 % interval; `None` if too few passes gave an infinite interval or one of lower confidence.
pub(crate) fn ci(estimate: &Estimate) -> Option<Ci> {
    if !estimate.is_sure() {
        return None;
    }
    Some([significant(estimate.low)?, significant(estimate.high)?])
}
