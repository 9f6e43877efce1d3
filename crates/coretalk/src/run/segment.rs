//! Opens and closes one segment of any run, and stores its rounds.

use crate::args::parse::Invocation;
use crate::exit::{ExitCode, Failure};
use crate::resolve::output::{Verbosity, print_notice};
use crate::resolve::run_options::{RunOptions, SaveTarget};
use crate::run::out::Part;
use crate::run::saved;
use crate::store::{NewRun, RunWriter, stamp};
use coretalk_measure::session::Sink;
use coretalk_measure::session::latency::{Ended, ResumedState, RunError};
use coretalk_measure::session::series::SeriesResumedState;
use coretalk_measure::{Machine, Stop};
use coretalk_model::run::{RunHeader, RunSettings};
use coretalk_model::{CpuLoss, DoctorFinding, Environment, Topology};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::AcqRel;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A segment of a run, ready to begin.
pub struct Segment {
    /// Names and state of the run.
    pub header: RunHeader,
    /// Environment of the first segment.
    pub environment: Environment,
    /// Findings of `doctor`.
    pub findings: Vec<DoctorFinding>,
    /// Topology as reported in the first segment.
    pub topology: Topology,
    /// Receives the rounds.
    pub sink: SegmentSink,
    /// Path of the run file; `None` if the run is not saved.
    pub path: Option<PathBuf>,
}

/// Measurements of earlier segments; empty for a new run.
#[derive(Debug, Clone, Default)]
pub struct Past {
    /// Earlier measurements of the map.
    pub latency: ResumedState,
    /// Earlier measurements of the trials or the comparison.
    pub series: SeriesResumedState,
}

impl Segment {
    /// Examines the machine, starts its workers and creates the run file.
    pub fn open(
        machine: &mut dyn Machine,
        invocation: &Invocation,
        options: &RunOptions,
        settings: RunSettings<'_>,
        stop: &Stop,
    ) -> Result<Segment, Failure> {
        let findings = machine.examine(&settings.cpus(), Some(settings.budget()));
        let RunOptions { workers, target, remarks, output, .. } = options;
        let granted = workers.as_ref().map(|workers| machine.engage(workers)).transpose()?;
        let mut environment = machine.environment().clone();
        environment.priority = granted.map(|granted| granted.priority).or(environment.priority);
        environment.label.clone_from(&remarks.label);
        environment.notes.extend(remarks.notes.clone());
        let topology = machine.topology().clone();
        let header = header(invocation, target, settings.seed(), &environment);
        let new = NewRun {
            header: &header,
            environment: &environment,
            findings: &findings,
            topology: &topology,
            settings,
            allowed: &machine.allowance().cpuset,
        };
        let (sink, path) = open_sink(&new, target, output.verbosity, stop)?;
        Ok(Segment { header, environment, findings, topology, sink, path })
    }

    /// Closes the run file and returns the results. `streamed` is the result of `Watcher::end`. Fails after an
    /// interruption, after a failure of the machine or the store, or if the lines could not be written.
    pub fn close<R>(
        self,
        measured: Result<(R, Ended), RunError>,
        streamed: Result<Vec<CpuLoss>, Failure>,
        verbosity: Verbosity,
    ) -> Result<(Closed, R), Failure> {
        let Segment { mut header, environment, findings, topology, sink, path: _ } = self;
        let path = match sink {
            SegmentSink::File(writer) => Some(writer.close()?),
            SegmentSink::Nothing(()) => None,
        };
        let name = path.as_ref().map(|path| saved::name_of(&header.id, path));
        let mut end = End { name, ended: Ended::Complete, verbosity };
        let say_where = |failure: &Failure| end.say_where(failure);
        let (result, ended) = match (measured, &end.name) {
            (Err(RunError::Interrupted), Some(name)) => {
                // A failed output interrupts the run, so the output error is reported.
                streamed.inspect_err(say_where)?;
                return Err(Failure::Interrupted(interrupted(name)));
            }
            (measured, _) => measured.map_err(Failure::from).inspect_err(say_where)?,
        };
        header.departed = streamed.inspect_err(say_where)?;
        end.ended = ended;
        Ok((Closed { header, environment, findings, topology, end }, result))
    }
}

fn header(invocation: &Invocation, target: &SaveTarget, seed: u64, environment: &Environment) -> RunHeader {
    let tags = match target {
        SaveTarget::Store { tag, .. } => tag.iter().cloned().collect(),
        SaveTarget::Nowhere => Vec::new(),
    };
    let simulated = environment.simulated.is_some();
    RunHeader { simulated, tags, ..stamp::header(invocation.words.clone(), seed) }
}

fn open_sink(
    new: &NewRun<'_>,
    target: &SaveTarget,
    verbosity: Verbosity,
    stop: &Stop,
) -> Result<(SegmentSink, Option<PathBuf>), Failure> {
    let SaveTarget::Store { directory, .. } = target else { return Ok((SegmentSink::Nothing(()), None)) };
    let mut writer = RunWriter::create(saved::directory(directory.as_ref())?.path(), new)?;
    writer.set_stop(stop);
    if let Some(notice) = writer.notice() {
        print_notice(verbosity, Verbosity::Normal, &notice);
    }
    let path = writer.path().to_owned();
    Ok((SegmentSink::File(Box::new(writer)), Some(path)))
}

/// Sink of a run.
pub enum SegmentSink {
    /// Run file.
    File(Box<RunWriter>),
    /// Nothing is saved (`--no-save`).
    Nothing(()),
}

impl SegmentSink {
    /// Returns the sink for a session.
    pub fn sink(&mut self) -> &mut dyn Sink {
        match self {
            SegmentSink::File(writer) => &mut **writer,
            SegmentSink::Nothing(nothing) => nothing,
        }
    }
}

/// A measured segment, complete or not.
pub struct Closed {
    /// Names and state; the caller sets `complete` from the result.
    pub header: RunHeader,
    /// Environment of the first segment.
    pub environment: Environment,
    /// Findings of `doctor`.
    pub findings: Vec<DoctorFinding>,
    /// Topology as reported in the first segment.
    pub topology: Topology,
    /// Remaining work: writing the results.
    pub end: End,
}

/// Last step of a run: writing the results. Everything is measured and saved.
pub struct End {
    /// Name of a saved run.
    name: Option<String>,
    ended: Ended,
    verbosity: Verbosity,
}

impl End {
    /// Writes the results; `write` gets the name of the run. If the run is saved, an interruption ends the writing.
    /// Drawing a large machine takes seconds and can be repeated.
    pub fn write(
        &self,
        stop: &Stop,
        write: impl FnOnce(Option<&str>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let name = self.name.as_deref();
        let was_interrupted = self.ended == Ended::Interrupted;
        let sentence = || match name {
            Some(name) if was_interrupted => interrupted(name),
            Some(name) => format!(
                "interrupted; the run is complete and saved as {name}: see it with `coretalk runs show {name}`"
            ),
            None => "interrupted; nothing was saved because of --no-save".into(),
        };
        // A run that is not saved would be lost, so its results are always written.
        let guard =
            name.filter(|_| !was_interrupted).map(|_| Guard::begin(stop, Failure::Interrupted(sentence())));
        let written = write(name);
        drop(guard);
        written.inspect_err(|failure| self.say_where(failure))?;
        match was_interrupted || stop.is_raised() {
            true => Err(Failure::Interrupted(sentence())),
            false => Ok(()),
        }
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Prints the name of the saved run if a later step fails.
    pub(super) fn say_where(&self, failure: &Failure) {
        // A closed pipe is not an error.
        let (Some(name), true) = (&self.name, failure.code() != ExitCode::Done) else { return };
        let saved = format!("measurements up to the failure are saved as {name}");
        let text = match failure {
            Failure::Command(_) => format!(
                "{saved}; `coretalk runs show {name}` prints them, and the output of the failed command"
            ),
            _ => saved,
        };
        print_notice(self.verbosity, Verbosity::Normal, &text);
    }
}

fn interrupted(name: &str) -> String {
    format!(
        "interrupted; measurements so far are saved as {name}: resume with `coretalk --resume {name}`, or see them with `coretalk runs show {name}`"
    )
}

/// Thread that ends the process on interruption when nothing is left to measure or save.
struct Guard {
    /// Set once, either before the guard ends the process or at the end of the guarded work.
    over: Arc<AtomicBool>,
    /// Disconnected at the end of the guarded work.
    working: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Poll interval for the interruption. The cost is negligible and the delay unnoticeable.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

impl Guard {
    fn begin(stop: &Stop, last_words: Failure) -> Guard {
        let over = Arc::new(AtomicBool::new(false));
        let (working, ended) = mpsc::channel();
        let (is_over, stop) = (Arc::clone(&over), stop.clone());
        let watch = move || {
            while ended.recv_timeout(POLL_INTERVAL) == Err(mpsc::RecvTimeoutError::Timeout) {
                // Exactly one of the two swaps returns false, and its side proceeds. The flag publishes no other data.
                if stop.is_raised() && !is_over.swap(true, AcqRel) {
                    last_words.tell();
                    Part::remove_all();
                    std::process::exit(last_words.code() as i32);
                }
            }
        };
        // If the thread cannot be started, the interruption takes effect after the drawing.
        let thread = thread::Builder::new().name("guard".into()).spawn(watch).ok();
        Guard { over, working: Some(working), thread }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let is_ending = self.over.swap(true, AcqRel);
        self.working = None;
        if let (Some(thread), true) = (self.thread.take(), is_ending) {
            // `join` never returns, because the guard exits the process.
            let _ = thread.join();
        }
    }
}
