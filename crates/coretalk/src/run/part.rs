//! [`Part`]: what is written beside a file and takes its place once it is whole.

use crate::run::signals;
use coretalk_measure::Stop;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Parts that are being written, for an end of the process that runs no destructor.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A file beside another that takes its place in [`Part::finish`]; dropped before that, it leaves nothing.
#[derive(Debug)]
pub struct Part {
    target: PathBuf,
    path: PathBuf,
    file: BufWriter<Watched>,
    finished: bool,
}

/// A file that refuses to be written on once somebody wishes to end.
#[derive(Debug)]
struct Watched {
    file: File,
    stop: Option<Stop>,
}

impl Part {
    /// Begins what is to take the place of a file, with its permissions where there is one.
    ///
    /// # Errors
    /// The folder lets nobody write.
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
        unfinished(|all| all.push(path.clone()));
        let file = BufWriter::new(Watched { file, stop: None });
        Ok(Part { target: target.to_owned(), path, file, finished: false })
    }

    /// Whether a file may be replaced, and nothing but its content is another afterwards: not where a part of it cannot
    /// be written beside it, would belong to somebody else, or where the file has a second name.
    pub fn may_replace(target: &Path) -> bool {
        let replaceable = |part: &Part| {
            let (new, old) = (part.file.get_ref().file.metadata()?, fs::metadata(target)?);
            io::Result::Ok(old.is_file() && is_like(&new, &old))
        };
        Part::create(target).is_ok_and(|part| replaceable(&part).unwrap_or(false))
    }

    /// Whether interrupted since it was begun.
    pub fn is_interrupted(&self) -> bool {
        self.file.get_ref().stop.as_ref().is_some_and(Stop::is_raised)
    }

    /// Takes the place of the file.
    ///
    /// # Errors
    /// Something could not be written; the file is as it was.
    pub fn finish(&mut self) -> io::Result<()> {
        self.file.flush()?;
        fs::rename(&self.path, &self.target)?;
        self.finished = true;
        unfinished(|all| all.retain(|path| *path != self.path));
        Ok(())
    }

    /// Removes every part of this process, before it ends without further ado.
    pub fn remove_all() {
        unfinished(|all| {
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
            unfinished(|all| all.retain(|path| *path != self.path));
        }
    }
}

impl Write for Watched {
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

fn unfinished(change: impl FnOnce(&mut Vec<PathBuf>)) {
    // A list of paths is whole whatever happened to whoever held it.
    change(&mut UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner));
}

#[cfg(unix)]
fn is_like(new: &Metadata, old: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    old.nlink() == 1 && (new.uid(), new.gid()) == (old.uid(), old.gid())
}

#[cfg(not(unix))]
fn is_like(_: &Metadata, _: &Metadata) -> bool {
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
    fn a_part_takes_the_place_of_a_file_whole_or_not_at_all() {
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
    fn a_file_with_a_second_name_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
        fs::write(&one, "old").unwrap();
        assert!(Part::may_replace(&one));
        fs::hard_link(&one, &two).unwrap();
        assert!(!Part::may_replace(&one));
        assert_eq!(names(folder.path()).len(), 2);
    }
}
