//! Destinations of results: standard output, or files that are opened before the measurement.

use crate::exit::Failure;
use crate::resolve::output::{self, OutputOptions, Verbosity, print_notice};
use crate::run::signals;
use crate::store::StoreError;
use coretalk_measure::Stop;
use coretalk_measure::probes::imitation::{Imitation, render};
use coretalk_measure::streams;
use coretalk_model::latency::{Counts, Imitated};
use coretalk_model::run::RunReport;
use coretalk_report::export::{self, Export, ExportError, Format};
use coretalk_report::harmless::{Harmless, Replacement};
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

/// Poll interval for signals while a pipe is being opened. The cost is negligible and the delay unnoticeable.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Destination of one result.
#[derive(Debug)]
pub struct Out {
    path: Option<PathBuf>,
    destination: Destination,
}

#[derive(Debug)]
enum Destination {
    Stdout,
    /// Regular file, replaced only by a complete result. After a failure, the old file is unchanged or still absent.
    Replaced(PathBuf),
    /// Pipe or device, or a file that would lose its owner or its other hard links if replaced.
    Opened(File),
    /// File truncated and being written.
    Begun(BufWriter<File>),
}

impl Out {
    /// Opens a file, or standard output. Detects before the measurement that a file is not writable.
    pub fn open(path: Option<&Path>) -> Result<Out, Failure> {
        Out::open_unless(path, None)
    }

    /// As [`Out::open`], where signals do not end the process. Waits for the reader of a pipe until `stop` is raised,
    /// which gives [`Failure::Interrupted`].
    pub fn open_unless(path: Option<&Path>, stop: Option<&Stop>) -> Result<Out, Failure> {
        let Some(path) = path else {
            streams::stdout().map_err(|source| Failure::Write { to: None, source })?;
            return Ok(Out { path: None, destination: Destination::Stdout });
        };
        let failed = |source| Failure::Write { to: Some(path.to_owned()), source };
        let (file, is_new) = match open_now(path, true) {
            Ok(file) => (file, true),
            Err(_) => match stop {
                Some(stop) if !path.is_file() => (open_interruptibly(path, stop)?, false),
                _ => (open_now(path, false).map_err(failed)?, false),
            },
        };
        // A symbolic link stays; its target is replaced.
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

    /// Writes the whole result as text without control characters. After an error, a regular file is unchanged.
    pub fn write(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> Result<(), ExportError>,
    ) -> Result<(), Failure> {
        self.write_whole(|out| harmless(out, write))
    }

    /// Writes the whole result as unchanged bytes: a page, a picture, or the path that `runs path` prints.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.write_whole(|out| Ok(out.write_all(bytes)?))
    }

    fn write_whole(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> Result<(), ExportError>,
    ) -> Result<(), Failure> {
        let Destination::Replaced(target) = &self.destination else { return self.write_in_place(write) };
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

    /// Appends text and flushes it.
    pub fn stream(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> Result<(), ExportError>,
    ) -> Result<(), Failure> {
        self.write_in_place(|out| harmless(out, write))
    }

    fn write_in_place(
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

    /// Writes the whole result from a string.
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
        if file.metadata()?.is_file() {
            file.set_len(0)?;
        }
        self.destination = Destination::Begun(BufWriter::new(file));
        Ok(())
    }

    fn failure(&self, error: ExportError) -> Failure {
        match error {
            ExportError::Source(error) => match error.downcast::<StoreError>() {
                Ok(error) => Failure::Store(*error),
                Err(error) => Failure::Internal(error.to_string()),
            },
            ExportError::Io(source) => Failure::Write { to: self.path.clone(), source },
            other => Failure::Usage(format!("failed to {other}")),
        }
    }
}

fn harmless(
    out: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let mut out = Harmless::new(out, Replacement::Mark);
    write(&mut out)?;
    Ok(out.finish()?)
}

/// Opens a file without truncating it. A result replaces the contents later.
fn open_now(path: &Path, is_new: bool) -> io::Result<File> {
    File::options().create_new(is_new).create(true).write(true).truncate(false).open(path)
}

/// Opens a pipe, which blocks until the pipe has a reader. Signals with a handler do not end that wait, so a separate
/// thread waits. After an interruption, the thread stays until the process ends.
fn open_interruptibly(path: &Path, stop: &Stop) -> Result<File, Failure> {
    let failed = |source| Failure::Write { to: Some(path.to_owned()), source };
    let (sender, opened) = mpsc::channel();
    let waiting = path.to_owned();
    let open = move || {
        // After an interruption, there is no receiver.
        let _ = sender.send(open_now(&waiting, false));
    };
    thread::Builder::new().name("open".into()).spawn(open).map_err(failed)?;
    loop {
        match opened.recv_timeout(POLL_INTERVAL) {
            Ok(file) => return file.map_err(failed),
            Err(_) if stop.is_raised() => {
                return Err(Failure::Interrupted(format!(
                    "interrupted; nothing was measured, because no program reads from {}",
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

/// Collects a run and the options of its output. `name` is the name of a saved run.
pub fn whole<'a>(report: &'a RunReport, name: Option<&'a str>, options: &OutputOptions) -> Export<'a> {
    Export {
        report,
        trials: None,
        protocol: None,
        probe: None,
        identity: options.identity,
        name: name.unwrap_or("unsaved"),
        style: output::style(options),
        order: options.order,
        ladder: false,
    }
}

/// Writes a run in a format. Fails if the output is not writable or the format cannot hold the run.
pub fn write_run(out: &mut Out, format: Format, what: &Export<'_>) -> Result<(), Failure> {
    if format == Format::Text && !what.report.imitated().is_empty() {
        let cpu_model = what.report.environment.cpu_model.as_deref();
        let counts = what.report.latency.as_ref().map_or(Counts::Adaptive, |latency| latency.settings.counts);
        let render = |imitated: &Imitated| {
            render(&Imitation::for_tool(imitated.tool).counting(counts), cpu_model, &imitated.cells)
        };
        return out.write(|out| export::write_imitations(what.report, what.order, &render, out));
    }
    if format == Format::C2cCsv {
        // The format has no place for comments.
        for gap in export::imitation_gaps(what.report) {
            print_notice(Verbosity::Normal, Verbosity::Normal, &gap);
        }
    }
    out.write(|out| export::export(format, what, out))
}

/// Paths of unfinished temporary files, removed if the process ends without running destructors.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Temporary file that replaces its target in [`Part::finish`]. A drop before `finish` removes it.
#[derive(Debug)]
pub(super) struct Part {
    target: PathBuf,
    path: PathBuf,
    file: BufWriter<InterruptibleFile>,
    finished: bool,
}

/// File that refuses writes after an interruption.
#[derive(Debug)]
struct InterruptibleFile {
    file: File,
    stop: Option<Stop>,
}

impl Part {
    /// Creates the temporary file, with the permissions of the target if the target exists.
    pub fn begin(target: &Path) -> io::Result<Part> {
        let mut part = Part::create(target)?;
        if let Ok(old) = fs::metadata(target) {
            fs::set_permissions(&part.path, old.permissions())?;
        }
        part.file.get_mut().stop = signals::stop().ok();
        Ok(part)
    }

    fn create(target: &Path) -> io::Result<Part> {
        let mut name = OsString::from(".");
        name.push(target.file_name().unwrap_or_default());
        name.push(format!(".{}.part", std::process::id()));
        let path = target.with_file_name(name);
        let file = File::options().create_new(true).write(true).open(&path)?;
        change_unfinished(|all| all.push(path.clone()));
        let file = BufWriter::new(InterruptibleFile { file, stop: None });
        Ok(Part { target: target.to_owned(), path, file, finished: false })
    }

    /// Whether a replacement changes only the content of a file. The directory must allow a temporary file of the same
    /// owner. The file must have no other hard links.
    pub fn may_replace(target: &Path) -> bool {
        let replaceable = |part: &Part| {
            let (new, old) = (part.file.get_ref().file.metadata()?, fs::metadata(target)?);
            io::Result::Ok(old.is_file() && keeps_owner_and_links(&new, &old))
        };
        Part::create(target).is_ok_and(|part| replaceable(&part).unwrap_or(false))
    }

    pub fn is_interrupted(&self) -> bool {
        self.file.get_ref().stop.as_ref().is_some_and(Stop::is_raised)
    }

    /// Replaces the target. After an error, the target is unchanged.
    pub fn finish(&mut self) -> io::Result<()> {
        self.file.flush()?;
        fs::rename(&self.path, &self.target)?;
        self.finished = true;
        change_unfinished(|all| all.retain(|path| *path != self.path));
        Ok(())
    }

    /// Removes all temporary files of this process before an exit without destructors.
    pub fn remove_all() {
        change_unfinished(|all| {
            for path in all.drain(..) {
                let _ = fs::remove_file(path);
            }
        });
    }
}

impl Write for Part {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.finished {
            let _ = fs::remove_file(&self.path);
            change_unfinished(|all| all.retain(|path| *path != self.path));
        }
    }
}

impl Write for InterruptibleFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.stop.as_ref().is_some_and(Stop::is_raised) {
            true => Err(io::Error::other("interrupted")),
            false => self.file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn change_unfinished(change: impl FnOnce(&mut Vec<PathBuf>)) {
    // The list stays valid if a thread panics while it holds the lock.
    change(&mut UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner));
}

#[cfg(unix)]
fn keeps_owner_and_links(new: &Metadata, old: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    old.nlink() == 1 && (new.uid(), new.gid()) == (old.uid(), old.gid())
}

#[cfg(not(unix))]
fn keeps_owner_and_links(_: &Metadata, _: &Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        entries.map(|name| name.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_part_replaces_a_file_completely_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out.json");
        fs::write(&target, "old").unwrap();
        let mut part = Part::begin(&target).unwrap();
        part.write_all(b"half").unwrap();
        part.flush().unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "old");
        drop(part);
        assert_eq!(names(folder.path()), ["out.json"]);
        let mut part = Part::begin(&target).unwrap();
        part.write_all(b"new").unwrap();
        part.finish().unwrap();
        drop(part);
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        assert_eq!(names(folder.path()), ["out.json"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_with_a_second_hard_link_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
        fs::write(&one, "old").unwrap();
        assert!(Part::may_replace(&one));
        fs::hard_link(&one, &two).unwrap();
        assert!(!Part::may_replace(&one));
        assert_eq!(names(folder.path()).len(), 2);
    }
}
