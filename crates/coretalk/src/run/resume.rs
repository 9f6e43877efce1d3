//! `--resume RUN`: continues a run with its own settings.

pub mod placement;

use crate::args::options::{self, Global};
use crate::args::parse::{Invocation, TypedOption};
use crate::args::series::SeriesArgs;
use crate::args::value::MachineWord;
use crate::exit::{ExitCode, Failure};
use crate::resolve::map::{self, Measuring};
use crate::resolve::output::{Verbosity, remark};
use crate::resolve::run_options::RunOptions;
use crate::resolve::{machine, runtimes, trials};
use crate::run::measure::{RunPlan, perform};
use crate::run::outputs::{Measured, Outputs};
use crate::run::saved;
use crate::run::segment::{Segment, SegmentSink};
use crate::store::{Conditions, ResumedRun, RunFile, RunWriter};
use coretalk_measure::session::latency::ResumedState;
use coretalk_measure::session::series::SeriesResumedState;
use coretalk_measure::sim::Scenario;
use coretalk_measure::{Machine, Stop};
use coretalk_model::latency::LatencySettings;
use coretalk_model::place::PROBE;
use coretalk_model::run::{RunHeader, RunSettings};
use coretalk_model::series::{Gathering, SeriesSettings};
use coretalk_model::{CpuId, CpuSet, Picos};
use std::path::PathBuf;

/// Continues a run.
///
/// # Errors
/// [`Failure`]: a setting that differs, another machine, a file that cannot be used.
pub fn act(
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
            Measuring::QuickLook => act_on_trials(invocation, None, run, stop),
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
    same_settings(invocation, measuring, &*machine, settings.as_ref(), trials.as_ref())?;
    if found.needs_nothing(invocation, had)? {
        return Ok(ExitCode::Done);
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
    /// There is no such run, or its file cannot be used.
    pub fn open(invocation: &Invocation, run: &str) -> Result<ResumableRun, Failure> {
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
        let word = machine_word(invocation, self.file.environment()?.simulated.as_deref())?;
        machine::open(word.as_ref(), self.header.seed)
    }

    /// Shows a run that is complete, and returns whether it is. `budget` is its previous budget.
    ///
    /// # Errors
    /// The file cannot be read, or the output is not writable.
    pub fn needs_nothing(&self, invocation: &Invocation, budget: Picos) -> Result<bool, Failure> {
        let global = &invocation.cli.global;
        let by_budget =
            self.file.segments()?.last().is_some_and(|last| last.ended.as_deref() == Some("budget"));
        let more_time = global.budget.is_some_and(|more| more > budget);
        if !self.header.complete || (by_budget && more_time) {
            return Ok(false);
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
        let saved = saved::read(global, &self.path)?;
        saved::write(global, &saved, self.options.output.format, saved::Chosen::default())?;
        Ok(true)
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

/// Checks that settings typed again agree with the file, which determines them.
fn same_settings(
    invocation: &Invocation,
    measuring: Measuring<'_>,
    machine: &dyn Machine,
    was: Option<&LatencySettings>,
    trials: Option<&SeriesSettings>,
) -> Result<(), Failure> {
    let typed = |ids: &[&str]| ids.iter().find_map(|id| invocation.flag(id));
    let known = RunSettings { latency: was, series: trials, place: None };
    let seed = invocation.cli.global.seed.unwrap_or(known.seed());
    let settings = [
        "cpus",
        "smt",
        "pairs",
        "protocol",
        "hint",
        "home",
        "lines",
        "samples",
        "iterations",
        "tool_counts",
        "parallel",
        "precision",
        "seed",
        "tails",
        "rate",
        "imitate",
        "keep_raw",
    ];
    if typed(&settings).is_none() {
        return Ok(());
    }
    let now = map::request(machine, &invocation.cli.global, measuring, seed)?;
    let sorted = |cpus: &[CpuId]| cpus.iter().copied().collect::<CpuSet>();
    type Differing = Vec<(&'static [&'static str], bool)>;
    let of_latency = |now: &LatencySettings, was: &LatencySettings| -> Differing {
        vec![
            (&["cpus", "smt", "pairs"], sorted(&now.cpus) != sorted(&was.cpus) || now.pairs != was.pairs),
            (&["protocol"], now.protocols != was.protocols),
            (&["hint"], now.hint != was.hint),
            (&["home"], now.home != was.home),
            (&["lines"], now.lines != was.lines),
            (&["samples", "iterations", "tool_counts"], now.counts != was.counts),
            (&["parallel"], now.parallel != was.parallel),
            (&["precision"], now.precision != was.precision),
            (&["seed"], now.seed != was.seed),
            (&["tails", "rate"], now.tails != was.tails),
            (&["imitate"], now.imitate != was.imitate),
            (&["keep_raw"], now.keep_raw != was.keep_raw),
        ]
    };
    let of_trials = |now: &SeriesSettings, was: &SeriesSettings| -> Differing {
        vec![
            (&["cpus", "smt"], sorted(&now.cpus) != sorted(&was.cpus)),
            (&["precision"], now.precision != was.precision),
            (&["seed"], now.seed != was.seed),
            // Only maps have raw ticks.
            (&["keep_raw"], true),
        ]
    };
    let differs = match (&now.latency, was, now.series.as_ref().zip(trials)) {
        (Some(now), Some(was), _) => of_latency(now, was),
        // A run on one CPU has no pairs.
        (_, None, Some((now, was))) => of_trials(now, was),
        _ => vec![(&["cpus", "smt"] as &[&str], true)],
    };
    for (ids, differs) in differs {
        if let (Some(option), true) = (typed(ids), differs) {
            return Err(Failure::Usage(format!(
                "{option} differs from the run to resume; leave it out (only --budget may change), or start a new run"
            )));
        }
    }
    Ok(())
}

/// Continues a run of series. `args` is the command typed with it, if any.
///
/// # Errors
/// [`Failure`]: a setting that differs, another machine, a file that cannot be used.
pub fn act_on_trials(
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
            None => placement::act(invocation, None, run, stop),
            Some(_) => {
                Err(Failure::Usage("the run to resume compares placements; leave out the command".into()))
            }
        };
    }
    let mut machine = found.machine(invocation)?;
    same_trials(invocation, args, &mut *machine, &settings, stop)?;
    if found.needs_nothing(invocation, settings.budget)? {
        return Ok(ExitCode::Done);
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

/// Checks that settings typed again agree with the file, which determines them.
fn same_trials(
    invocation: &Invocation,
    args: Option<&dyn SeriesArgs>,
    machine: &mut dyn Machine,
    was: &SeriesSettings,
    stop: &Stop,
) -> Result<(), Failure> {
    let differs = |option: &str| {
        Err(Failure::Usage(format!(
            "{option} differs from the run to resume; leave it out (only --budget may change), or start a new run"
        )))
    };
    let global = &invocation.cli.global;
    if global.seed.is_some_and(|seed| seed != was.seed) {
        return differs("--seed");
    }
    if global.precision.is_some_and(|precision| precision != was.precision) {
        return differs("--precision");
    }
    let Some(args) = args else {
        return match ["cpus", "smt", "order"].iter().find_map(|id| invocation.flag(id)) {
            Some(option) => {
                Err(Failure::Usage(format!("{option} has no effect when resuming; leave it out")))
            }
            None => Ok(()),
        };
    };
    if was.probes != [args.probe()] {
        return Err(Failure::Usage(format!(
            "the run to resume was made by `{}`; leave out the command",
            was.probes.join(", ")
        )));
    }
    // The remaining options concern duration, destination and display, not the measurement.
    let shared = options::all();
    let is_shared = |id: &str| shared.iter().any(|arg| arg.get_id() == id);
    let chooses =
        |typed: &&TypedOption| ["cpus", "smt"].contains(&typed.id.as_str()) || !is_shared(&typed.id);
    let Some(option) = invocation.typed.iter().find(chooses) else { return Ok(()) };
    let mut is_same = |global: &Global| -> Result<bool, Failure> {
        let now = trials::request(machine, global, args, was.seed, stop)?.settings;
        Ok(now.trials == was.trials && now.options == was.options)
    };
    let unordered = Global { order: None, ..global.clone() };
    match is_same(global)? || is_same(&unordered)? {
        true => Ok(()),
        false => differs(&option.flag),
    }
}
