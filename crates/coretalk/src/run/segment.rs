//! One segment of a run, whatever it measures: how it is opened and closed, and where its rounds go meanwhile.

use crate::args::parse::Invocation;
use crate::exit::{ExitCode, Failure};
use crate::resolve::output::{Verbosity, remark};
use crate::resolve::run_options::{RunOptions, SaveTarget};
use crate::run::out::Part;
use crate::run::saved;
use crate::store::{NewRun, RunWriter};
use crate::{RunHeader, RunSettings};
use coretalk_measure::session::Sink;
use coretalk_measure::session::latency::{Ended, RunError};
use coretalk_measure::{Machine, Stop};
use coretalk_model::{Departure, DoctorFinding, Environment, Topology};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::AcqRel;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What a new run needs to begin.
pub struct Opening<'a> {
    /// What was typed.
    pub invocation: &'a Invocation,
    /// How it is made and kept.
    pub options: &'a RunOptions,
    /// What it is to measure.
    pub settings: RunSettings<'a>,
    /// The request to end.
    pub stop: &'a Stop,
}

/// One segment of a run, ready to begin.
pub struct Segment {
    /// What the run is called.
    pub header: RunHeader,
    /// What it is measured under, as its first segment says.
    pub environment: Environment,
    /// What `doctor` said.
    pub findings: Vec<DoctorFinding>,
    /// What the machine reports.
    pub topology: Topology,
    /// Where rounds go.
    pub sink: SegmentSink,
    /// The run file, where there is one.
    pub path: Option<PathBuf>,
}

impl Opening<'_> {
    /// Examines and engages the machine, and makes the run file.
    ///
    /// # Errors
    /// [`Failure`]: the machine refuses the workers, or the file cannot be made.
    pub fn open(self, machine: &mut dyn Machine) -> Result<Segment, Failure> {
        let findings = machine.examine(&self.settings.cpus(), Some(self.settings.budget()));
        let RunOptions { workers, target, remarks, output, .. } = self.options;
        let granted = workers.as_ref().map(|workers| machine.engage(workers)).transpose()?;
        let mut environment = machine.environment().clone();
        environment.priority = granted.map(|granted| granted.priority).or(environment.priority);
        environment.label.clone_from(&remarks.label);
        environment.notes.extend(remarks.notes.clone());
        let topology = machine.topology().clone();
        let header = header(self.invocation, target, self.settings.seed(), &environment);
        let new = NewRun {
            header: &header,
            environment: &environment,
            findings: &findings,
            topology: &topology,
            settings: self.settings,
            allowed: &machine.allowance().cpuset,
        };
        let (sink, path) = keeper(&new, target, output.verbosity, self.stop)?;
        Ok(Segment { header, environment, findings, topology, sink, path })
    }
}

/// What a new run is called.
fn header(invocation: &Invocation, target: &SaveTarget, seed: u64, environment: &Environment) -> RunHeader {
    let tags = match target {
        SaveTarget::Store { tag, .. } => tag.iter().cloned().collect(),
        SaveTarget::Nowhere => Vec::new(),
    };
    let simulated = environment.simulated.is_some();
    RunHeader { simulated, tags, ..RunHeader::new(invocation.words.clone(), seed) }
}

/// Where a new run is kept, and its file.
fn keeper(
    new: &NewRun<'_>,
    target: &SaveTarget,
    verbosity: Verbosity,
    stop: &Stop,
) -> Result<(SegmentSink, Option<PathBuf>), Failure> {
    let SaveTarget::Store { directory, .. } = target else { return Ok((SegmentSink::Nothing(()), None)) };
    let mut writer = RunWriter::create(saved::directory(directory.as_ref())?.path(), new)?;
    writer.set_stop(stop);
    if let Some(notice) = writer.notice() {
        remark(verbosity, Verbosity::Normal, &notice);
    }
    let path = writer.path().to_owned();
    Ok((SegmentSink::File(Box::new(writer)), Some(path)))
}

/// A run file, or nothing.
pub enum SegmentSink {
    /// A file.
    File(Box<RunWriter>),
    /// `--no-save`.
    Nothing(()),
}

impl SegmentSink {
    /// What rounds are handed to.
    pub fn sink(&mut self) -> &mut dyn Sink {
        match self {
            SegmentSink::File(writer) => &mut **writer,
            SegmentSink::Nothing(nothing) => nothing,
        }
    }
}

/// A run that was measured, as far as it went.
pub struct Closed {
    /// What it is called; whether it is complete is for the result to say.
    pub header: RunHeader,
    /// What it was measured under.
    pub environment: Environment,
    /// What `doctor` said.
    pub findings: Vec<DoctorFinding>,
    /// What the machine reports.
    pub topology: Topology,
    /// What is left to do.
    pub end: End,
}

/// What is left to do once everything is measured and kept: to show it.
pub struct End {
    /// What output calls the run, where it is saved.
    name: Option<String>,
    ended: Ended,
    verbosity: Verbosity,
}

impl Segment {
    /// Ends the writing, and gives what came out. `told` is what became of the JSON lines.
    ///
    /// # Errors
    /// [`Failure`]: somebody wished to end, the machine or the store failed, or the lines could not be written.
    pub fn close<R>(
        self,
        measured: Result<(R, Ended), RunError>,
        told: Result<Vec<Departure>, Failure>,
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
                // An output that failed is what ended the run then.
                told.inspect_err(say_where)?;
                return Err(Failure::Interrupted(interrupted(name)));
            }
            (measured, _) => measured.map_err(Failure::from).inspect_err(say_where)?,
        };
        header.departed = told.inspect_err(say_where)?;
        end.ended = ended;
        Ok((Closed { header, environment, findings, topology, end }, result))
    }
}

impl End {
    /// Writes what came out; `write` is told what the run is called. Whoever wishes to end meanwhile need not wait: for a
    /// large machine the drawing takes seconds, and can be had again.
    ///
    /// # Errors
    /// [`Failure`]: an output cannot be written, or somebody wished to end.
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
        // What is not saved would be lost.
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

    /// What output calls the run, where it is saved.
    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Whatever fails once a run is measured, it is not lost, and nobody should have to look for it.
    pub(super) fn say_where(&self, failure: &Failure) {
        // A closed pipe ends quietly.
        let (Some(name), true) = (&self.name, failure.code() != ExitCode::Done) else { return };
        let saved = format!("measurements up to the failure are saved as {name}");
        let text = match failure {
            Failure::Command(_) => format!(
                "{saved}; `coretalk runs show {name}` prints them, and the output of the failed command"
            ),
            _ => saved,
        };
        remark(self.verbosity, Verbosity::Normal, &text);
    }
}

/// What is said of a run that somebody ended, and that is saved.
fn interrupted(name: &str) -> String {
    format!(
        "interrupted; measurements so far are saved as {name}: resume with `coretalk --resume {name}`, or see them with `coretalk runs show {name}`"
    )
}

/// Ends the process when somebody wishes so, while nothing is left to measure and nothing to save.
struct Guard {
    /// Taken by whoever comes first: the guard that ends the process, or the end of what it watches over.
    over: Arc<AtomicBool>,
    /// Hung up at the end.
    working: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Long enough to cost nothing, short enough that nobody notices.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

impl Guard {
    fn begin(stop: &Stop, last_words: Failure) -> Guard {
        let over = Arc::new(AtomicBool::new(false));
        let (working, ended) = mpsc::channel();
        let (seen, stop) = (Arc::clone(&over), stop.clone());
        let watch = move || {
            while ended.recv_timeout(POLL_INTERVAL) == Err(mpsc::RecvTimeoutError::Timeout) {
                // One swap of two sees false: that side goes on and the other does not. Nothing else is handed over.
                if stop.is_raised() && !seen.swap(true, AcqRel) {
                    last_words.tell();
                    Part::remove_all();
                    std::process::exit(last_words.code() as i32);
                }
            }
        };
        // Without a thread the request is heard at the end of the drawing.
        let thread = thread::Builder::new().name("guard".into()).spawn(watch).ok();
        Guard { over, working: Some(working), thread }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let is_ending = self.over.swap(true, AcqRel);
        self.working = None;
        if let (Some(thread), true) = (self.thread.take(), is_ending) {
            // The process ends in there.
            let _ = thread.join();
        }
    }
}
