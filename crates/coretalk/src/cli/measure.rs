//! The commands that measure: the quick look and `latency`.

use super::args::FormatWord;
use super::output::{self, Out};
use super::parse::Invocation;
use super::resolve::{self, Keeping, Measuring, Request, Strictness, Talk, Wish};
use super::watcher::{Watcher, line_outputs};
use super::{machine, resume, runs, signals};
use crate::exit::{ExitCode, Failure};
use crate::export::Export;
use crate::report::{Saved, Screen, latency_screen};
use crate::store::{NewRun, RunWriter};
use crate::{RunHeader, RunReport};
use coretalk_measure::session::latency::{self, Ended, Past, RunError};
use coretalk_measure::session::{Decision, Kept, SeriesSink, Sink, SinkError, Slot};
use coretalk_measure::{Machine, Stop};
use coretalk_model::latency::{Imitated, LatencyMap, LatencyResult, LatencySettings, cells};
use coretalk_model::series::{SeriesEntry, SeriesResult};
use coretalk_model::{CpuId, Environment, Finding, Grade, Topology};
use std::path::{Path, PathBuf};

/// Measures, or goes on with a run.
///
/// # Errors
/// [`Failure`]; what was measured until then is saved.
pub fn act(invocation: &Invocation, measuring: Measuring<'_>) -> Result<ExitCode, Failure> {
    let global = &invocation.cli.global;
    let stop = signals::stop()?;
    if let Some(run) = &global.resume {
        return resume::act(invocation, measuring, run, &stop);
    }
    let seed = global.seed.unwrap_or_else(machine::fresh_seed);
    let mut machine = machine::open(global.machine.as_ref(), seed)?;
    let request = resolve::request(&*machine, global, measuring, seed)?;
    if request.wish.format == FormatWord::Hgrm {
        return Err(Failure::Usage(
            "`hgrm` holds a distribution, and this measures a map; after a run with --tails: `coretalk export latest \
             --format hgrm -o DIR`"
                .into(),
        ));
    }
    let outputs = Outputs::open(&request.wish)?;
    let findings = machine.examine();
    let granted = machine.engage(&request.crew)?;
    let mut environment = machine.environment().clone();
    environment.priority = Some(granted.priority);
    environment.label = request.remarks.label.clone();
    environment.notes.extend(request.remarks.notes.clone());
    let topology = machine.topology().clone();
    let header = header(invocation, &request, &environment);
    let (sink, path) = open_sink(&*machine, &request, &header, &environment, &findings)?;
    let sitting = Sitting {
        header,
        environment,
        findings,
        topology,
        settings: request.settings,
        past: Past::default(),
        sink,
        path,
    };
    sit(&mut *machine, sitting, &request.wish, request.strictness, outputs, &stop)
}

/// One sitting of a run, ready to begin.
pub struct Sitting {
    /// What the run is called.
    pub header: RunHeader,
    /// What it is measured under, as its first sitting says.
    pub environment: Environment,
    /// What `doctor` said.
    pub findings: Vec<Finding>,
    /// What the machine reports.
    pub topology: Topology,
    /// What is asked.
    pub settings: LatencySettings,
    /// What earlier sittings said.
    pub past: Past,
    /// Where rounds go.
    pub sink: Keeper,
    /// The run file, where there is one.
    pub path: Option<PathBuf>,
}

/// Where the results go, opened before anything is measured.
pub struct Outputs {
    pub(super) result: Out,
    pub(super) exports: Vec<(FormatWord, Out)>,
}

impl Outputs {
    /// Opens them.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn open(wish: &Wish) -> Result<Outputs, Failure> {
        let result = Out::open(wish.output.as_deref())?;
        let open = |(format, path): &(FormatWord, PathBuf)| Ok((*format, Out::open(Some(path))?));
        let exports = wish.exports.iter().map(open).collect::<Result<_, Failure>>()?;
        Ok(Outputs { result, exports })
    }
}

/// A run file, or nothing.
pub enum Keeper {
    /// A file.
    File(Box<RunWriter>),
    /// `--no-save`.
    Nothing,
}

impl Sink for Keeper {
    fn commit(&mut self, slot: &Slot) -> Result<(), SinkError> {
        match self {
            Keeper::File(writer) => writer.commit(slot),
            Keeper::Nothing => Ok(()),
        }
    }
    fn decide(&mut self, decision: &Decision) -> Result<(), SinkError> {
        match self {
            Keeper::File(writer) => writer.decide(decision),
            Keeper::Nothing => Ok(()),
        }
    }
    fn finish(&mut self, result: &LatencyResult) -> Result<(), SinkError> {
        match self {
            Keeper::File(writer) => writer.finish(result),
            Keeper::Nothing => Ok(()),
        }
    }
    fn interrupt(&mut self) -> Result<Kept, SinkError> {
        match self {
            Keeper::File(writer) => writer.interrupt(),
            Keeper::Nothing => Ok(Kept::Nothing),
        }
    }
}

impl SeriesSink for Keeper {
    fn commit_passes(&mut self, passes: &[SeriesEntry]) -> Result<(), SinkError> {
        match self {
            Keeper::File(writer) => writer.commit_passes(passes),
            Keeper::Nothing => Ok(()),
        }
    }
    fn finish_series(&mut self, result: &SeriesResult) -> Result<(), SinkError> {
        match self {
            Keeper::File(writer) => writer.finish_series(result),
            Keeper::Nothing => Ok(()),
        }
    }
}

/// Performs a sitting and writes what came out.
///
/// # Errors
/// [`Failure`]; what was measured until then is saved.
pub fn sit(
    machine: &mut dyn Machine,
    sitting: Sitting,
    wish: &Wish,
    strictness: Strictness,
    mut outputs: Outputs,
    stop: &Stop,
) -> Result<ExitCode, Failure> {
    let Sitting { mut header, environment, findings, topology, settings, past, mut sink, path } = sitting;
    announce(&settings, wish, path.as_deref());
    let lines = line_outputs(wish, &mut outputs.result, &mut outputs.exports);
    let mut watcher = Watcher::new(wish, &topology, &settings, past.segments, lines, stop);
    let measured = latency::run(machine, &settings, past, &mut sink, &mut watcher, stop);
    let told = watcher.end();
    let path = match sink {
        Keeper::File(writer) => Some(writer.close()?),
        Keeper::Nothing => None,
    };
    let name = path.as_ref().map(|path| runs::name_of(&header.id, path));
    // Whatever fails from here on, what was measured is not lost, and nobody should have to look for it.
    let say_where = |failure: &Failure| {
        // A closed pipe ends quietly.
        if let (Some(name), true) = (&name, failure.code() != ExitCode::Done) {
            let text = format!("what was measured until the failure is saved as {name}");
            output::remark(wish.talk, Talk::Normal, &text);
        }
    };
    let (result, ended) = match (measured, &name) {
        (Err(RunError::Interrupted), Some(name)) => {
            // An output that failed is what ended the run then.
            told.inspect_err(say_where)?;
            return Err(Failure::Interrupted(format!(
                "interrupted; what was measured is saved as {name}: go on with `coretalk --resume {name}`, or see it \
                 with `coretalk runs show {name}`"
            )));
        }
        (measured, _) => measured.map_err(Failure::from).inspect_err(say_where)?,
    };
    told.inspect_err(say_where)?;
    header.complete = result.complete;
    let interrupted = ended == Ended::Interrupted;
    let report =
        RunReport { header, environment, findings, topology, settings, result, series: None, place: None };
    write(&report, name.as_deref(), wish, &mut outputs).inspect_err(say_where)?;
    if interrupted {
        return Err(Failure::Interrupted("interrupted; nothing was saved, as --no-save asks".into()));
    }
    Ok(trust(&report, strictness))
}

fn header(invocation: &Invocation, request: &Request, environment: &Environment) -> RunHeader {
    let tags = match &request.keeping {
        Keeping::Store { tag, .. } => tag.iter().cloned().collect(),
        Keeping::Nowhere => Vec::new(),
    };
    let simulated = environment.simulated.is_some();
    RunHeader { simulated, tags, ..RunHeader::new(invocation.words.clone(), request.settings.seed) }
}

fn open_sink(
    machine: &dyn Machine,
    request: &Request,
    header: &RunHeader,
    environment: &Environment,
    findings: &[Finding],
) -> Result<(Keeper, Option<PathBuf>), Failure> {
    let Keeping::Store { directory, .. } = &request.keeping else { return Ok((Keeper::Nothing, None)) };
    let directory = runs::directory(directory.as_ref())?;
    let new = NewRun {
        header,
        environment,
        findings,
        topology: machine.topology(),
        settings: &request.settings,
        series: None,
        allowed: &machine.allowance().cpuset,
    };
    let writer = RunWriter::create(directory.path(), &new)?;
    if let Some(notice) = writer.notice() {
        output::remark(request.wish.talk, Talk::Normal, &notice);
    }
    let path = writer.path().to_owned();
    Ok((Keeper::File(Box::new(writer)), Some(path)))
}

fn announce(settings: &LatencySettings, wish: &Wish, path: Option<&Path>) {
    let text = format!(
        "measuring {} CPUs for at most {}, seed {}",
        settings.cpus.len(),
        settings.budget,
        settings.seed
    );
    output::remark(wish.talk, Talk::Normal, &text);
    if let Some(path) = path {
        output::remark(wish.talk, Talk::Verbose, &format!("writing {}", path.display()));
    }
    output::remark(wish.talk, Talk::Verbose, &format!("settings: {settings:?}"));
}

fn write(report: &RunReport, name: Option<&str>, wish: &Wish, outputs: &mut Outputs) -> Result<(), Failure> {
    let look = output::look(wish);
    let identity = output::identity_of(wish.identity);
    let what = Export { report, file: None, protocol: None, identity, name: name.unwrap_or("unsaved"), look };
    // JSON lines were written while the trials were made.
    for (format, out) in outputs.exports.iter_mut().filter(|(format, _)| *format != FormatWord::Jsonl) {
        output::write_run(out, *format, &what)?;
    }
    match wish.format {
        FormatWord::Jsonl => Ok(()),
        FormatWord::Text if report.result.imitated.is_empty() => {
            let saved = name.map_or(Saved::Not, Saved::As);
            outputs.result.text(&latency_screen(report, Screen::Measured(saved), &look))
        }
        format => output::write_run(&mut outputs.result, format, &what),
    }
}

/// Whether every cell that was asked for can be trusted, where that matters.
fn trust(report: &RunReport, strictness: Strictness) -> ExitCode {
    if strictness == Strictness::Lenient {
        return ExitCode::Done;
    }
    let doubted = doubted(report);
    if doubted == 0 {
        return ExitCode::Done;
    }
    let text = format!(
        "{doubted} cells cannot be trusted (grade C or D, or not measured), which --strict makes a failure"
    );
    output::remark(Talk::Normal, Talk::Normal, &text);
    ExitCode::Found
}

fn doubted(report: &RunReport) -> usize {
    let pairs = cells(&report.topology, &report.settings);
    let of_map = |map: &LatencyMap| {
        let place = |cpu| map.cells.position(cpu);
        let cell = |[a, b]: [CpuId; 2]| map.cells.get(place(b)?, place(a)?)?.value();
        pairs.iter().filter(|&&pair| cell(pair).is_none_or(|value| value.grade >= Grade::C)).count()
    };
    let of_tool = |imitated: &Imitated| {
        let place = |cpu| imitated.cells.position(cpu);
        let cell = |[a, b]: [CpuId; 2]| *imitated.cells.get(place(b)?, place(a)?)?;
        pairs.iter().filter(|&&pair| cell(pair).is_none()).count()
    };
    report.result.maps.iter().map(of_map).sum::<usize>()
        + report.result.imitated.iter().map(of_tool).sum::<usize>()
}
