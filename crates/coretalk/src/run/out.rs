//! Where results go: standard output or files that were opened before anything was measured.

use crate::RunReport;
use crate::args::words::FormatWord;
use crate::exit::Failure;
use crate::export::{self, Export, ExportError};
use crate::resolve::output::{self, OutputOptions};
use crate::run::part::Part;
use coretalk_measure::Stop;
use coretalk_measure::probes::imitation::{Imitation, render};
use coretalk_model::latency::Imitated;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Long enough to cost nothing, short enough that nobody notices.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A destination that a result is written to.
#[derive(Debug)]
pub struct Out {
    path: Option<PathBuf>,
    destination: Destination,
}

#[derive(Debug)]
enum Destination {
    Stdout,
    /// An ordinary file, which is another as soon as the result is whole: a failure leaves it as it was, or not there.
    Replaced(PathBuf),
    /// A pipe, a device, or a file whose owner or second name would be lost.
    Opened(File),
    /// Emptied, and written on.
    Begun(BufWriter<File>),
}

impl Out {
    /// Opens a file, or standard output.
    ///
    /// # Errors
    /// The file cannot be written: that is known before anything is measured.
    pub fn open(path: Option<&Path>) -> Result<Out, Failure> {
        Out::open_unless(path, None)
    }

    /// The same where signals do not end the process: a pipe without a reader is waited for until somebody wishes to end.
    ///
    /// # Errors
    /// As [`Out::open`], or [`Failure::Interrupted`].
    pub fn open_unless(path: Option<&Path>, stop: Option<&Stop>) -> Result<Out, Failure> {
        let Some(path) = path else { return Ok(Out { path: None, destination: Destination::Stdout }) };
        let failed = |source| Failure::Write { to: Some(path.to_owned()), source };
        let (file, is_new) = match open_now(path, true) {
            Ok(file) => (file, true),
            Err(_) => match stop {
                Some(stop) if !path.is_file() => (open_in_time(path, stop)?, false),
                _ => (open_now(path, false).map_err(failed)?, false),
            },
        };
        // A link stays one, and the file that it names is replaced.
        let target = path.canonicalize().map_err(failed)?;
        let destination = match file.metadata().is_ok_and(|it| it.is_file()) && Part::may_replace(&target) {
            true => Destination::Replaced(target),
            false => Destination::Opened(file),
        };
        if let (Destination::Replaced(target), true) = (&destination, is_new) {
            std::fs::remove_file(target).map_err(failed)?;
        }
        Ok(Out { path: Some(path.to_owned()), destination })
    }

    /// Writes the whole result.
    ///
    /// # Errors
    /// [`Failure::Write`], [`Failure::Interrupted`], or what `write` found wrong; an ordinary file is as it was before.
    pub fn write(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> Result<(), ExportError>,
    ) -> Result<(), Failure> {
        let Destination::Replaced(target) = &self.destination else { return self.stream(write) };
        let mut part = Part::begin(target).map_err(|error| self.failure(error.into()))?;
        let written = write(&mut part).and_then(|()| Ok(part.finish()?));
        written.map_err(|error| match part.is_interrupted() {
            true => Failure::Interrupted(format!(
                "interrupted while writing {}; it is unchanged",
                target.display()
            )),
            false => self.failure(error),
        })
    }

    /// Writes something more and hands it on at once.
    ///
    /// # Errors
    /// [`Failure::Write`], or what `write` found wrong.
    pub fn stream(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> Result<(), ExportError>,
    ) -> Result<(), Failure> {
        let outcome = self.begin().map_err(ExportError::Io).and_then(|()| match &mut self.destination {
            Destination::Begun(file) => {
                write(file)?;
                Ok(file.flush()?)
            }
            _ => {
                let mut stdout = BufWriter::new(io::stdout().lock());
                write(&mut stdout)?;
                Ok(stdout.flush()?)
            }
        });
        outcome.map_err(|error| self.failure(error))
    }

    /// Writes text as the whole result.
    ///
    /// # Errors
    /// As [`Out::write`].
    pub fn text(&mut self, text: &str) -> Result<(), Failure> {
        self.write(|out| Ok(out.write_all(text.as_bytes())?))
    }

    fn begin(&mut self) -> io::Result<()> {
        let file = match &self.destination {
            Destination::Stdout | Destination::Begun(_) => return Ok(()),
            Destination::Opened(file) => file.try_clone()?,
            Destination::Replaced(target) => {
                File::options().create(true).write(true).truncate(false).open(target)?
            }
        };
        // Devices and pipes have no length.
        if file.metadata()?.is_file() {
            file.set_len(0)?;
        }
        self.destination = Destination::Begun(BufWriter::new(file));
        Ok(())
    }

    fn failure(&self, error: ExportError) -> Failure {
        match error {
            ExportError::Store(error) => Failure::Store(error),
            ExportError::Io(source) => Failure::Write { to: self.path.clone(), source },
            other => Failure::Usage(format!("failed to {other}")),
        }
    }
}

/// Opened and not emptied: what was there stays until something takes its place.
fn open_now(path: &Path, is_new: bool) -> io::Result<File> {
    File::options().create_new(is_new).create(true).write(true).truncate(false).open(path)
}

/// Opens a pipe, which waits for its reader. A signal that has a handler would not end that: the thread that waits is left
/// behind, and ends with the process.
fn open_in_time(path: &Path, stop: &Stop) -> Result<File, Failure> {
    let failed = |source| Failure::Write { to: Some(path.to_owned()), source };
    let (sender, opened) = mpsc::channel();
    let waiting = path.to_owned();
    let open = move || {
        // Nobody listens any more where somebody wished to end.
        let _ = sender.send(open_now(&waiting, false));
    };
    thread::Builder::new().name("open".into()).spawn(open).map_err(failed)?;
    loop {
        match opened.recv_timeout(POLL_INTERVAL) {
            Ok(file) => return file.map_err(failed),
            Err(_) if stop.is_raised() => {
                return Err(Failure::Interrupted(format!(
                    "interrupted; nothing was measured: no program reads from {}",
                    path.display()
                )));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(failed(io::Error::other("the thread that opens it ended")));
            }
        }
    }
}

/// A run that was just measured, as formats take it. `name` is what output calls it.
pub fn measured<'a>(report: &'a RunReport, name: Option<&'a str>, options: &OutputOptions) -> Export<'a> {
    Export {
        report,
        file: None,
        protocol: None,
        probe: None,
        identity: output::identity_of(options.identity),
        name: name.unwrap_or("unsaved"),
        style: output::style(options),
        ladder: false,
    }
}

/// Writes a run in a format.
///
/// # Errors
/// The output cannot be written, or the format cannot hold the run.
pub fn write_run(out: &mut Out, format: FormatWord, what: &Export<'_>) -> Result<(), Failure> {
    if format == FormatWord::Text && !what.report.imitated().is_empty() {
        let cpu_model = what.report.environment.cpu_model.as_deref();
        let render = |imitated: &Imitated| as_the_tool_prints(imitated, cpu_model);
        return out.write(|out| export::write_imitations(what.report, &render, out));
    }
    out.write(|out| export::export(output::format_of(format), what, out))
}

fn as_the_tool_prints(imitated: &Imitated, cpu_model: Option<&str>) -> String {
    render(&Imitation::of(imitated.tool), cpu_model, &imitated.cells)
}
