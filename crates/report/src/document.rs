//! [`Document`]: the JSON of docs/format/json.md. Fields are added and never renamed. Unknown is null, never 0.
//!
//! A document borrows its run and is written cell by cell, so that 523,776 cells are not copied.

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
pub use comparison::{
    ArmDoc, CommandDoc, ComparisonDoc, DroppedDoc, FailedDoc, PairDoc, RoundsDoc, VersusDoc,
};
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
use coretalk_model::CpuLoss;
use coretalk_model::compare::{Comparison, Overview};
use coretalk_model::external::forks;
use coretalk_model::run::{RunReport, SeriesReport};
use coretalk_model::stats::Estimate;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{BufWriter, IntoInnerError, Write};

/// Name and version of the document.
pub const SCHEMA: &str = "coretalk.run/1";

/// Whether private parts are included (`--with-identity`): host name, paths, commands, and output of adapters.
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
    /// Name and version of the schema: `coretalk.run/1`.
    schema: &'static str,
    /// Names and outcome of the run; null in documents about several runs or none.
    pub(crate) run: Option<RunDoc>,
    /// Conditions of the measurement; null without a machine.
    pub(crate) environment: Option<EnvironmentDoc>,
    /// Structure of the machine; null without a machine.
    topology: Option<TopologyDoc>,
    /// Median of each ladder step over representative pairs, by relation.
    ladder: Vec<LadderDoc>,
    /// One matrix per protocol, then per imitated tool, in the order requested, then per queue, payload and capacity.
    matrices: Vec<MatrixDoc<'a>>,
    /// Distributions and values of trials.
    #[serde(serialize_with = "series::written")]
    pub series: Vec<SeriesDoc<'a>>,
    /// Conclusions from each map and the trials of each probe, as in the first line of the screen.
    findings: Vec<RunFindingDoc>,
    /// Highest rate that each queue sustains; filled by `queue --rate-sweep`.
    knees: Vec<KneeDoc>,
    /// Gain of each queue from larger batches; filled by `queue --batch` without a rate.
    batches: Vec<BatchesDoc>,
    /// States of the machine over time; null with too few passes.
    watch: Option<WatchDoc<'a>>,
    /// Load that the measured threads put on each CPU over time; filled by `queue`.
    load: Option<LoadDoc>,
    /// Comparisons of placements and commands; filled by `place`, `versus` and `advise --prove`.
    comparisons: Vec<ComparisonDoc>,
    /// Arms and rounds of a comparison of commands; absent in other documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    versus: Option<VersusDoc>,
    /// The two sides of `differences`; null in other documents.
    compared: Option<Compared>,
    /// Differences between two runs, levels before cells; filled by `compare`.
    differences: Vec<DifferenceDoc>,
    /// Medians of several runs or files by group; filled by `compare` with more than two.
    overview: Vec<OverviewDoc>,
    /// Recommended placements, filled by `advise`; recommended polling times before sleeping, filled by `wait`.
    advice: Vec<AdviceEntry>,
    /// Available kernels; filled by `probes`.
    probes: Vec<ProbeDoc>,
    /// Planned measurement and its duration; filled by `plan`.
    plan: Option<PlanDoc>,
    /// Saved runs, newest first; filled by `runs list`, absent in other documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    saved: Option<&'a [SavedRunDoc]>,
    /// CPUs lost during `topology`, `advise` or `clock`, which save no run; absent if none was. For runs, see `run`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    departed: Vec<DepartedDoc>,
}

/// One piece of advice.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum AdviceEntry {
    /// A placement of threads.
    Placement(Box<AdviceDoc>),
    /// A polling time before sleeping.
    Spin(SpinDoc),
}

/// Names and outcome of a run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunDoc {
    /// UUID v7.
    id: String,
    /// RFC 3339, UTC.
    started: String,
    /// The command line without the program name; private parts are replaced unless identity was requested.
    pub(crate) command: Vec<String>,
    /// Seed of all random choices.
    seed: u64,
    /// Whether the machine was simulated.
    simulated: bool,
    /// Whether every planned trial has an outcome or the budget ended.
    complete: bool,
    /// Whether the budget ended before the precision was reached everywhere.
    budget_ended: bool,
    /// What was not measured because the budget ended.
    left_out: Vec<LeftOutDoc>,
    /// CPUs lost during the last segment, which continued without them; `--resume` measures them once they are back.
    departed: Vec<DepartedDoc>,
    /// Names given by the user.
    tags: Vec<String>,
    /// Number of segments.
    segments: u32,
    /// Version of coretalk that measured.
    tool_version: String,
    /// Requested processes per runtime of another language and segment (`--forks`, default 5); null if none took part.
    processes_asked: Option<u32>,
}

/// Work that was not done because the budget ended.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LeftOutDoc {
    /// `pairs`, `ladder`, `single-round-trips` or `trials`.
    what: &'static str,
    /// Number of items; for single round trips the number of pairs without any, for the ladder always 1.
    count: usize,
}

/// A CPU lost during the measurement.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DepartedDoc {
    /// CPU number.
    cpu: u32,
    /// Time of detection, in seconds since the start of the segment, or of the measurement without a saved run.
    at_s: f64,
    /// Cause: `offline`, `cpuset` (outside that of the process), `pin-refused`, `not-run` (a pinned thread does not
    /// run).
    why: &'static str,
}

impl DepartedDoc {
    fn all(departed: &[CpuLoss]) -> Vec<DepartedDoc> {
        let doc = |it: &CpuLoss| DepartedDoc { cpu: it.cpu.0, at_s: it.after.secs(), why: it.why.name() };
        departed.iter().map(doc).collect()
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
            run: Some(RunDoc::new(report, identity)),
            environment: Some(EnvironmentDoc::new(&report.environment, &report.doctor, identity)),
            topology: Some(TopologyDoc::of_run(report)),
            ladder: latency.flat_map(|latency| &latency.result.ladder).map(LadderDoc::new).collect(),
            matrices,
            series: series(report),
            findings: RunFindingDoc::all(report),
            knees: knees(report),
            batches: batches(report),
            comparisons: report.place.iter().flat_map(ComparisonDoc::of_all).collect(),
            versus: report.place.as_ref().and_then(VersusDoc::new),
            advice: trials::spins(report).into_iter().map(AdviceEntry::Spin).collect(),
            watch: report.watch().map(WatchDoc::new),
            load: load(report),
            ..Document::empty()
        }
    }

    fn empty() -> Document<'a> {
        Document { schema: SCHEMA, ..Document::default() }
    }

    /// Returns the matrices.
    pub fn matrices(&self) -> &[MatrixDoc<'a>] {
        &self.matrices
    }

    /// Empties the lists of cells and series, which are written separately.
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

    /// Creates the document of a table of runs or files. `side` describes the run or file at an index.
    pub fn of_overview(table: &Overview, side: impl Fn(usize) -> ComparedSideDoc) -> Document<'a> {
        Document { overview: OverviewDoc::of_all(table, side), ..Document::empty() }
    }

    /// Writes the document with a line end, cell by cell. The writer should be buffered.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write_to(&self, out: impl Write) -> std::io::Result<()> {
        write_json(self, out)
    }
}

/// Escapes characters that could control a terminal.
pub(crate) fn write_json(value: &impl Serialize, out: impl Write) -> std::io::Result<()> {
    // The serializer writes a few bytes at a time; a buffer lets the escaping work on large pieces.
    let mut out = BufWriter::new(Harmless::new(out, Replacement::JsonEscape));
    serde_json::to_writer(&mut out, value).map_err(std::io::Error::from)?;
    out.write_all(b"\n")?;
    out.into_inner().map_err(IntoInnerError::into_error)?.finish()
}

fn knees(report: &RunReport) -> Vec<KneeDoc> {
    let results = report.series.iter().map(|series| &series.result);
    results.flat_map(coretalk_model::queue::sweeps).map(|sweep| KneeDoc::new(&sweep)).collect()
}

fn batches(report: &RunReport) -> Vec<BatchesDoc> {
    let results = report.series.iter().map(|series| &series.result);
    let curves = results.flat_map(coretalk_model::queue::batch_curves);
    curves.filter(|curve| curve.rate_per_s.is_none()).filter_map(|curve| BatchesDoc::new(&curve)).collect()
}

fn load(report: &RunReport) -> Option<LoadDoc> {
    report.series.as_ref()?.load_of_queues().map(LoadDoc::new)
}

fn processes_asked(series: &SeriesReport) -> Option<u32> {
    let has_some = series.result.trials.iter().any(|trial| !trial.processes.is_empty());
    has_some.then(|| forks(&series.settings.options))
}

/// Lists tails, then the histograms of all trials in plan order, except trials in matrices of queues.
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
    fn new(report: &RunReport, identity: Identity) -> RunDoc {
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

/// Whether the value of an option (given without `=VALUE`) is a path.
fn names_a_path(option: &str) -> bool {
    ["-o", "--output", "--store"].contains(&option)
        || option.starts_with("--export-") && !option.contains('=')
}

const ADAPTER: &str = "--adapter";

/// Replaces private parts by placeholders: paths, commands of adapters, all arguments after `--`, and all words of
/// `versus` except the names of options.
pub fn without_private_parts(command: &[String]) -> Vec<String> {
    let is_path = |text: &str| {
        let machine = text.strip_prefix("sim:");
        let text = machine.unwrap_or(text);
        let is_machine_file = machine.is_some() && [".toml", ".csv"].iter().any(|end| text.ends_with(end));
        let looks_like_path =
            ["/", "./", "../", "~"].iter().any(|start| text.starts_with(start)) || text.contains(":\\");
        is_machine_file || looks_like_path || text.ends_with(".coretalk")
    };
    // `versus` takes its commands and most option values as single words.
    let is_versus = command.iter().any(|word| word == "versus");
    let mut shown: Vec<String> = Vec::new();
    let mut previous = "";
    for argument in command {
        if is_versus && argument != "versus" {
            let name = argument.split('=').next().filter(|name| name.starts_with('-'));
            shown.push(name.unwrap_or("…").to_owned());
            continue;
        }
        if argument == "--" {
            shown.push("--".to_owned());
            shown.push("…".to_owned());
            break;
        }
        shown.push(match argument.split_once('=') {
            Some((name, _)) if previous == ADAPTER => format!("{name}=COMMAND"),
            Some((ADAPTER, rest)) => {
                format!("{ADAPTER}={}=COMMAND", rest.split('=').next().unwrap_or_default())
            }
            _ if names_a_path(previous) || is_path(argument) => "PATH".to_owned(),
            Some((name, value)) if names_a_path(name) || is_path(value) => format!("{name}=PATH"),
            _ if argument.len() > 2 && argument.starts_with("-o") => "-oPATH".to_owned(),
            _ => argument.clone(),
        });
        previous = argument;
    }
    shown
}

/// The JSON schema, generated from these types and committed as `schema/coretalk.run.v1.json`.
pub fn schema() -> serde_json::Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<Document<'static>>().to_value()
}

pub(crate) type Ci = [f64; 2];

/// Rounds to 0.0001, finer than any interval, in a fifth of the bytes. Infinity and NaN become null in JSON.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// Rounds to four significant digits; for numbers far below 1, such as the seconds of a short command.
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

/// Returns the 95 % interval; `None` if it is infinite or of lower confidence, as with too few passes.
pub(crate) fn ci(estimate: &Estimate) -> Option<Ci> {
    if !estimate.is_sure() {
        return None;
    }
    Some([significant(estimate.low)?, significant(estimate.high)?])
}
