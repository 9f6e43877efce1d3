//! `--resume RUN`: continues a run with its own settings.

pub mod placement;

use crate::args::options::{self, Global};
use crate::args::parse::{Invocation, TypedOption};
use crate::args::series::SeriesArgs;
use crate::args::value::MachineWord;
use crate::exit::{ExitCode, Failure};
use crate::resolve::map::Measuring;
use crate::resolve::output::{Verbosity, in_files_of_their_own, remark};
use crate::resolve::run_options::RunOptions;
use crate::resolve::{machine, runtimes, trials};
use crate::run::measure::{RunPlan, perform, trust};
use crate::run::outputs::{Measured, Outputs};
use crate::run::saved;
use crate::run::segment::{Segment, SegmentSink};
use crate::store::{Conditions, ResumedRun, RunFile, RunWriter};
use coretalk_measure::session::latency::ResumedState;
use coretalk_measure::session::series::SeriesResumedState;
use coretalk_measure::sim::Scenario;
use coretalk_measure::{Machine, Stop};
use coretalk_model::place::PROBE;
use coretalk_model::run::RunHeader;
use coretalk_model::series::{Gathering, SeriesSettings};
use coretalk_model::{CpuId, Picos};
use std::path::PathBuf;

/// Continues a run.
///
/// # Errors
/// [`Failure`]: an option that would change its settings, another machine, a file that cannot be used.
pub fn execute(
    invocation: &Invocation,
    measuring: Measuring<'_>,
    run: &str,
    stop: &Stop,
) -> Result<ExitCode, Failure> {
    let found = ResumableRun::open(invocation, run)?;
    let trials = found.file.series_settings()?;
    let gathering = trials.as_ref().and_then(SeriesSettings::gathering);
    if trials.is_some() && gathering.is_none() {
        return match measuring {
            Measuring::QuickLook => execute_trials(invocation, None, run, stop),
            Measuring::Latency(_) | Measuring::Suite => Err(Failure::Usage(format!(
                "the run to resume was made by `{}`; leave out the command",
                trials.map_or_else(String::new, |trials| trials.probes.join(" "))
            ))),
        };
    }
    let measuring = match (gathering, measuring) {
        // Without a command, the run determines it.
        (Some(Gathering::Suite), Measuring::QuickLook | Measuring::Suite) => Measuring::Suite,
        (_, Measuring::QuickLook | Measuring::Latency(_)) if gathering != Some(Gathering::Suite) => measuring,
        _ => {
            return Err(Failure::Usage(
                "the run to resume was made by another command; leave out the command".into(),
            ));
        }
    };
    let settings = found.file.settings()?;
    let of_trials = trials.as_ref().map_or(Picos::ZERO, |trials| trials.budget);
    let had = settings.as_ref().map_or(Picos::ZERO, |settings| settings.budget) + of_trials;
    let mut machine = found.machine(invocation)?;
    if let Some(code) = found.needs_nothing(invocation, had)? {
        return Ok(code);
    }
    let outputs = Outputs::open(&found.options.output, Measured::of(measuring, trials.as_ref()), stop)?;
    let workers = Some(found.file.cpus()?);
    let (options, ResumedSegment { segment, plan }) =
        found.go_on(invocation, &mut *machine, workers, stop)?;
    perform(&mut *machine, segment, plan, outputs, &options, stop)
}

pub(super) struct ResumableRun {
    /// Options of the run, except what it measures.
    pub options: RunOptions,
    pub file: RunFile,
    /// Name of the run in output.
    pub name: String,
    pub path: PathBuf,
    /// Names and state of the run.
    pub header: RunHeader,
}

pub(super) struct ResumedSegment {
    /// The new segment.
    pub segment: Segment,
    /// What it measures, with the results of earlier segments.
    pub plan: RunPlan,
}

impl ResumableRun {
    /// Opens the file of a run.
    ///
    /// # Errors
    /// An option that would change its settings; there is no such run, or its file cannot be used.
    pub fn open(invocation: &Invocation, run: &str) -> Result<ResumableRun, Failure> {
        refuse_settings(invocation)?;
        let global = &invocation.cli.global;
        let path = saved::locate(global, run)?;
        let file = RunFile::open(&path)?;
        let header = file.header()?;
        let name = saved::name_of(&header.id, &path);
        Ok(ResumableRun { options: RunOptions::of(global, None), file, name, path, header })
    }

    /// Opens the machine of the run.
    ///
    /// # Errors
    /// The machine cannot measure, or the simulated machine came from a file that must be given again.
    pub fn machine(&self, invocation: &Invocation) -> Result<Box<dyn Machine>, Failure> {
        let environment = self.file.environment()?;
        let word = machine_word(invocation, environment.simulated.as_deref())?;
        let mut machine = machine::open(word.as_ref(), self.header.seed)?;
        if environment.cpu_use.is_some() {
            // Quiet CPUs stay those of the run.
            machine.sample_use(environment.cpu_use);
        }
        Ok(machine)
    }

    /// Shows a run that is complete; `None` if it is not. `budget` is its previous budget.
    ///
    /// # Errors
    /// The file cannot be read, an output is not writable, or its format cannot hold the run.
    pub fn needs_nothing(&self, invocation: &Invocation, budget: Picos) -> Result<Option<ExitCode>, Failure> {
        let global = &invocation.cli.global;
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
        remark(self.options.output.verbosity, Verbosity::Normal, &text);
        in_files_of_their_own(&self.options.output)?;
        let saved = saved::read(global, &self.path)?;
        for (format, file) in global.exports() {
            let global = Global { output: Some(file), ..global.clone() };
            saved::write(&global, &saved, format, saved::Chosen::default())?;
        }
        saved::write(global, &saved, self.options.output.format, saved::Chosen::default())?;
        Ok(Some(trust(&saved.report, self.options.strictness)))
    }

    /// Begins a new segment; the machine starts workers on `cpus`, if given.
    ///
    /// # Errors
    /// The machine differs from the one of the run, or cannot start the workers.
    pub fn go_on(
        self,
        invocation: &Invocation,
        machine: &mut dyn Machine,
        cpus: Option<Vec<CpuId>>,
        stop: &Stop,
    ) -> Result<(RunOptions, ResumedSegment), Failure> {
        let ResumableRun { file, path, .. } = self;
        let measured = file.cpus()?.into_iter().collect();
        drop(file);
        let global = &invocation.cli.global;
        let findings = machine.examine(&measured, global.budget);
        let here = Conditions {
            environment: machine.environment().clone(),
            allowed: machine.allowance().cpuset.clone(),
        };
        let ResumedRun { mut writer, header, settings, series, topology, environment, record } =
            RunWriter::resume(&path, &here, global.budget)?;
        writer.set_stop(stop);
        let options = RunOptions::of(global, cpus);
        if let Some(workers) = &options.workers {
            machine.engage(workers)?;
        }
        let segments = header.segments - 1;
        let sink = SegmentSink::File(Box::new(writer));
        let segment = Segment { header, environment, findings, topology, sink, path: Some(path) };
        let plan = RunPlan {
            latency: settings.map(|settings| (settings, ResumedState { record, segments, earlier: None })),
            series: series
                .map(|(series, record)| (series, SeriesResumedState { record, segments, earlier: None })),
        };
        Ok((options, ResumedSegment { segment, plan }))
    }
}

/// Returns the machine as typed, else as in the file.
fn machine_word(invocation: &Invocation, simulated: Option<&str>) -> Result<Option<MachineWord>, Failure> {
    match (&invocation.cli.global.machine, simulated) {
        (Some(word), _) => Ok(Some(word.clone())),
        (None, None) => Ok(None),
        (None, Some(name)) if Scenario::names().contains(&name) => Ok(Some(MachineWord::Sim(name.into()))),
        (None, Some(name)) => Err(Failure::Usage(format!(
            "the run was made on the simulated machine `{name}` from a file; give the file with --machine sim:FILE"
        ))),
    }
}

/// Refuses an option that would change what the run measures, which its file determines.
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

/// Continues a run of series. `args` is the command typed with it, if any.
///
/// # Errors
/// [`Failure`]: an option that would change its settings, another machine, a file that cannot be used.
pub fn execute_trials(
    invocation: &Invocation,
    args: Option<&dyn SeriesArgs>,
    run: &str,
    stop: &Stop,
) -> Result<ExitCode, Failure> {
    let found = ResumableRun::open(invocation, run)?;
    let Some(settings) = found.file.series_settings()? else {
        let name = &found.name;
        return Err(Failure::Usage(format!(
            "run {name} was made by `latency`; resume it with `coretalk latency --resume {name}`"
        )));
    };
    if settings.probes == [PROBE] {
        drop(found);
        return match args {
            None => placement::execute(invocation, run, stop),
            Some(_) => {
                Err(Failure::Usage("the run to resume compares placements; leave out the command".into()))
            }
        };
    }
    if let Some(args) = args
        && settings.probes != [args.probe()]
    {
        return Err(Failure::Usage(format!(
            "the run to resume was made by `{}`; leave out the command",
            settings.probes.join(", ")
        )));
    }
    let mut machine = found.machine(invocation)?;
    if let Some(code) = found.needs_nothing(invocation, settings.budget)? {
        return Ok(code);
    }
    let verbosity = found.options.output.verbosity;
    let budget = invocation.cli.global.budget.unwrap_or(settings.budget);
    let notices =
        runtimes::prepare(&mut *machine, &settings.trials, &settings.options, budget, verbosity, stop)?;
    let outputs = Outputs::open(&found.options.output, Measured::Trials(&settings), stop)?;
    for notice in &notices {
        remark(verbosity, Verbosity::Normal, notice);
    }
    let workers = Some(trials::workers(&settings, &found.file.topology()?));
    let (options, ResumedSegment { segment, plan }) =
        found.go_on(invocation, &mut *machine, workers, stop)?;
    perform(&mut *machine, segment, plan, outputs, &options, stop)
}
