//! `--resume RUN`: continues a run with its own settings.

mod placement;

use crate::args::latency::LatencyArgs;
use crate::args::options::{self, Global};
use crate::args::parse::{Invocation, TypedOption};
use crate::args::series::SeriesArgs;
use crate::args::value::MachineWord;
use crate::args::{MapCommand, Subject};
use crate::exit::{ExitCode, Failure};
use crate::resolve::measure::Measure;
use crate::resolve::output::{self, Verbosity, print_notice, refuse_shared_files};
use crate::resolve::run_options::RunOptions;
use crate::resolve::task::Task;
use crate::resolve::{machine, runtimes};
use crate::run::measure::trust;
use crate::run::placement::fail_on_code;
use crate::run::saved;
use crate::run::segment::{Past, Segment, SegmentSink};
use crate::store::{Conditions, ResumedRun, RunFile, RunWriter};
use coretalk_measure::session::latency::ResumedState;
use coretalk_measure::session::series::SeriesResumedState;
use coretalk_measure::sim::Scenario;
use coretalk_measure::{Machine, Stop};
use coretalk_model::Picos;
use coretalk_model::place::{PROBE, PlaceSettings, VERSUS};
use coretalk_model::run::{RunHeader, RunSettings};
use coretalk_model::series::{Gathering, SeriesSettings};
use std::path::PathBuf;

/// A run to resume.
pub struct ResumableRun {
    file: RunFile,
    name: String,
    path: PathBuf,
    header: RunHeader,
    /// New budget, if given.
    budget: Option<Picos>,
}

impl ResumableRun {
    /// Opens the file of a run. Fails if it cannot be used, or if an option or a command would change its settings.
    pub fn open(invocation: &Invocation, subject: Subject<'_>, run: &str) -> Result<ResumableRun, Failure> {
        refuse_settings(invocation)?;
        let global = &invocation.cli.global;
        let path = saved::locate(global, run)?;
        let file = RunFile::open(&path)?;
        refuse_command(&file, subject)?;
        let header = file.header()?;
        let name = saved::name_of(&header.id, &path);
        Ok(ResumableRun { file, name, path, header, budget: global.budget })
    }

    /// Opens the machine of the run. Fails if it cannot measure. A simulated machine from a file must be given again.
    pub fn machine(&self, global: &Global) -> Result<Box<dyn Machine>, Failure> {
        let environment = self.file.environment()?;
        let word = machine_word(global, environment.simulated.as_deref())?;
        let mut machine = machine::open(word.as_ref(), self.header.seed)?;
        if environment.cpu_use.is_some() {
            // Quiet CPUs are chosen by the CPU use in the run file, so they stay the same.
            machine.sample_use(environment.cpu_use);
        }
        Ok(machine)
    }

    /// Shows a complete run; `None` for an incomplete one. Fails if the file cannot be read, an output is not writable,
    /// or its format cannot hold the run.
    pub fn show_if_complete(&self, global: &Global) -> Result<Option<ExitCode>, Failure> {
        let (latency, series) = (self.file.settings()?, self.file.series_settings()?);
        let settings = RunSettings { latency: latency.as_ref(), series: series.as_ref(), place: None };
        let budget = settings.budget();
        let by_budget =
            self.file.segments()?.last().is_some_and(|last| last.ended.as_deref() == Some("budget"));
        let more_time = global.budget.is_some_and(|more| more > budget);
        if !self.header.complete || (by_budget && more_time) {
            return Ok(None);
        }
        let name = &self.name;
        let text = if by_budget {
            format!(
                "run {name} is complete: it used its budget of {budget}; resume it with a longer --budget"
            )
        } else {
            format!("run {name} is complete: nothing is left to measure")
        };
        let options = RunOptions::from_global(global, None);
        print_notice(options.output.verbosity, Verbosity::Normal, &text);
        refuse_shared_files(&options.output)?;
        let saved = saved::read(global, &self.path)?;
        for (format, file) in global.exports() {
            let global = Global { output: Some(file), ..global.clone() };
            saved::write(&global, &saved, format, saved::Chosen::default())?;
        }
        saved::write(global, &saved, options.output.format, saved::Chosen::default())?;
        let place = saved.report.place.as_ref().zip(placement::fail_on(&self.header.command));
        Ok(Some(match place {
            Some((place, what)) => {
                fail_on_code(&place.result, &place.settings, what, options.output.verbosity)
            }
            None => trust(&saved.report, options.strictness),
        }))
    }

    /// Returns the measurement of the run, and prepares its runtimes. Fails if the file cannot be used, a placement or
    /// program of a comparison is gone, or a runtime cannot be prepared.
    pub fn measure(
        &self,
        machine: &mut dyn Machine,
        global: &Global,
        stop: &Stop,
    ) -> Result<Measure, Failure> {
        let (latency, series) = (self.file.settings()?, self.file.series_settings()?);
        let placements = series.as_ref().and_then(PlaceSettings::of_series);
        let (task, notices) = match (placements, &series) {
            (Some(settings), _) => {
                let RunHeader { command, seed, .. } = &self.header;
                (placement::again(machine, command, *seed, &settings, stop)?, Vec::new())
            }
            (None, Some(trials)) => {
                let budget = global.budget.unwrap_or(trials.budget);
                let verbosity = output::options(global).verbosity;
                let (specs, options) = (&trials.trials, &trials.options);
                let notices = runtimes::prepare(machine, specs, options, budget, verbosity, stop)?;
                (Task::Probes { latency, series }, notices)
            }
            (None, None) => (Task::Probes { latency, series }, Vec::new()),
        };
        Ok(Measure::new(global, task, notices, &self.file.topology()?))
    }

    /// Begins a new segment and gives its budget to the task. Fails on another machine, or if the workers cannot start.
    pub fn go_on(
        self,
        machine: &mut dyn Machine,
        options: &RunOptions,
        task: Task,
        stop: &Stop,
    ) -> Result<(Segment, Task, Past), Failure> {
        let ResumableRun { file, path, budget, .. } = self;
        let measured = file.cpus()?.into_iter().collect();
        drop(file);
        let findings = machine.examine(&measured, budget);
        let here = Conditions {
            environment: machine.environment().clone(),
            allowed: machine.allowance().cpuset.clone(),
        };
        let ResumedRun { mut writer, header, settings, series, topology, environment, record } =
            RunWriter::resume(&path, &here, budget)?;
        writer.set_stop(stop);
        if let Some(workers) = &options.workers {
            machine.engage(workers)?;
        }
        let earlier_segments = header.segments - 1;
        let sink = SegmentSink::File(Box::new(writer));
        let segment = Segment { header, environment, findings, topology, sink, path: Some(path) };
        let (series, trials) = series.unzip();
        let task = match task {
            Task::Probes { .. } => Task::Probes { latency: settings, series },
            Task::Comparison { settings, works, hooks, fail_on } => {
                let budget = series.map_or(settings.budget, |series| series.budget);
                Task::Comparison { settings: PlaceSettings { budget, ..settings }, works, hooks, fail_on }
            }
        };
        let past = Past {
            latency: ResumedState { record, segments: earlier_segments, earlier: None },
            series: SeriesResumedState {
                record: trials.unwrap_or_default(),
                segments: earlier_segments,
                earlier: None,
            },
        };
        Ok((segment, task, past))
    }
}

/// Refuses a command other than that of the run. Without a command, the subject is the quick look, which is accepted.
fn refuse_command(file: &RunFile, subject: Subject<'_>) -> Result<(), Failure> {
    let series = file.series_settings()?;
    let probes = series.as_ref().map_or(&[][..], |series| &series.probes);
    let gathering = series.as_ref().map(SeriesSettings::gathering);
    let is_same = match (subject, gathering) {
        (Subject::Map(MapCommand::QuickLook), _) => true,
        (Subject::Map(MapCommand::Latency(_)), None | Some(Some(Gathering::QuickLook))) => true,
        (Subject::Map(MapCommand::Suite), Some(Some(Gathering::Suite))) => true,
        // `latency --gap` and `--load`.
        (Subject::Map(MapCommand::Latency(args)), Some(None)) => probes == [args.probe()],
        (Subject::Trials(args), Some(None)) => probes == [args.probe()],
        (Subject::Placements(_), Some(None)) => probes == [PROBE],
        (Subject::Commands(_), Some(None)) => probes == [VERSUS],
        _ => false,
    };
    if is_same {
        return Ok(());
    }
    let command = match gathering {
        None => LatencyArgs::default().probe().to_owned(),
        Some(Some(Gathering::Suite)) => "suite".to_owned(),
        Some(Some(Gathering::QuickLook)) => "coretalk".to_owned(),
        Some(None) => probes.join(" "),
    };
    Err(Failure::Usage(format!("the run to resume was made by `{command}`; leave out the command")))
}

/// Returns the machine as typed, else from the file.
fn machine_word(global: &Global, simulated: Option<&str>) -> Result<Option<MachineWord>, Failure> {
    match (&global.machine, simulated) {
        (Some(word), _) => Ok(Some(word.clone())),
        (None, None) => Ok(None),
        (None, Some(name)) if Scenario::names().contains(&name) => Ok(Some(MachineWord::Sim(name.into()))),
        (None, Some(name)) => Err(Failure::Usage(format!(
            "the run was made on the simulated machine `{name}` from a file; give the file with --machine sim:FILE"
        ))),
    }
}

/// Refuses an option that would change what is measured, because a resumed run keeps its settings.
fn refuse_settings(invocation: &Invocation) -> Result<(), Failure> {
    let shared = options::all();
    let is_setting = |typed: &&TypedOption| {
        let is_shared = shared.iter().any(|arg| arg.get_id() == typed.id.as_str());
        !is_shared || options::SETTINGS.contains(&typed.id.as_str())
    };
    let Some(TypedOption { flag, .. }) = invocation.typed.iter().find(is_setting) else { return Ok(()) };
    Err(Failure::Usage(format!(
        "{flag} cannot be combined with --resume, as a resumed run keeps its settings: leave it out (only --budget, \
         --machine, --nice, --rt, --strict and options of output may be given), or start a new run"
    )))
}
