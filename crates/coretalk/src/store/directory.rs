//! [`Directory`]: the folder of run files. There is no other state: files may be copied, mailed or deleted freely.

use super::ENDING;
use super::error::{Operation, StoreError, io_error};
use super::names::Names;
use super::run_file::{RunFile, journal};
use crate::RunHeader;
use coretalk_model::Environment;
use etcetera::BaseStrategy;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The folder that is looked for upwards.
const FOLDER: &str = ".coretalk";

/// A directory of run files; it need not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    path: PathBuf,
}

/// What decides where runs are kept, handed in so that nothing here reaches for the process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DirectorySources {
    /// `--store`.
    pub option: Option<PathBuf>,
    /// `CORETALK_STORE`; an empty one counts as unset.
    pub variable: Option<OsString>,
    /// Where the process stands.
    pub working_directory: Option<PathBuf>,
    /// `$XDG_DATA_HOME` or what stands for it.
    pub data_home: Option<PathBuf>,
}

impl DirectorySources {
    /// Those of this process.
    pub fn of_process(option: Option<PathBuf>) -> DirectorySources {
        DirectorySources {
            option,
            variable: std::env::var_os("CORETALK_STORE"),
            working_directory: std::env::current_dir().ok(),
            data_home: etcetera::choose_base_strategy().ok().map(|strategy| strategy.data_dir()),
        }
    }
}

/// A file of the directory.
#[derive(Debug)]
pub struct Listed {
    /// Where it is.
    pub path: PathBuf,
    /// Its id, from the name of the file.
    pub id: String,
    /// What the run is called by output: the shortest end of its id that no other has.
    pub name: String,
    /// What is listed of it; or why that cannot be said. A broken file never hides the others.
    pub run: Result<ListedRun, StoreError>,
}

/// What is listed of a run.
#[derive(Debug)]
pub struct ListedRun {
    /// What it is called and how it went.
    pub header: RunHeader,
    /// What it was measured under.
    pub environment: Environment,
    /// The number of CPUs that were asked for.
    pub cpus: usize,
}

impl Directory {
    /// Where runs are kept: the option, the variable, a `.coretalk` folder here or above, the user's data folder.
    ///
    /// # Errors
    /// [`StoreError::NoPlace`] where none of them is known.
    pub fn resolve(from: &DirectorySources) -> Result<Directory, StoreError> {
        let given = from.option.clone();
        let variable = || from.variable.clone().filter(|value| !value.is_empty()).map(PathBuf::from);
        let above = || {
            let here = from.working_directory.as_deref()?;
            here.ancestors().map(|folder| folder.join(FOLDER)).find(|folder| folder.is_dir())
        };
        let home = || Some(from.data_home.as_ref()?.join("coretalk").join("runs"));
        let path =
            given.or_else(variable).or_else(above).or_else(home).ok_or_else(|| StoreError::NoPlace {
                why: "there is no home directory (HOME and XDG_DATA_HOME are unset)".into(),
            })?;
        Ok(Directory { path })
    }

    /// This one.
    pub fn at(path: impl Into<PathBuf>) -> Directory {
        Directory { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The run files by name, newest first (names are ids, which sort by time); a directory that does not exist is
    /// empty. Opens none of them.
    ///
    /// # Errors
    /// The directory is there and cannot be read.
    pub fn files(&self) -> Result<Vec<PathBuf>, StoreError> {
        let entries = match std::fs::read_dir(&self.path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(io_error(Operation::List, &self.path))?,
        };
        let mut files = Vec::new();
        for entry in entries {
            let path = entry.map_err(io_error(Operation::List, &self.path))?.path();
            let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
            if !hidden && path.extension().is_some_and(|ending| ending == ENDING) {
                files.push(path);
            }
        }
        files.sort_by(|a, b| b.file_name().cmp(&a.file_name()));
        Ok(files)
    }

    /// What output calls its runs.
    ///
    /// # Errors
    /// The directory is there and cannot be read.
    pub fn names(&self) -> Result<Names, StoreError> {
        Ok(Names::of(self.files()?.iter().map(|path| id_of(path))))
    }

    /// The runs, newest first, each with what is listed of it or with why that is nothing. Opens every file once.
    ///
    /// # Errors
    /// The directory is there and cannot be read.
    pub fn list(&self) -> Result<Vec<Listed>, StoreError> {
        let files = self.files()?;
        let names = Names::of(files.iter().map(|path| id_of(path)));
        let listed = |path: PathBuf| {
            let id = id_of(&path);
            Listed { name: names.short(&id).to_owned(), id, run: look_at(&path), path }
        };
        Ok(files.into_iter().map(listed).collect())
    }

    /// Removes a run file, and what a crash left beside it.
    ///
    /// # Errors
    /// The file could not be removed, or another process has it open: a run that is measured would be lost at its end.
    pub fn remove(path: &Path) -> Result<(), StoreError> {
        if let Some(process) = holder(path) {
            return Err(StoreError::InUse { operation: Operation::Remove, path: path.to_owned(), process });
        }
        std::fs::remove_file(path).map_err(io_error(Operation::Remove, path))?;
        // Without its file a journal says nothing.
        let _ = std::fs::remove_file(journal(path));
        Ok(())
    }
}

/// Another process that has a file open, as far as the system tells: Linux does of those of the same user.
fn holder(path: &Path) -> Option<u32> {
    let path = path.canonicalize().ok()?;
    let names_of = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut processes = names_of("/proc".into())
        .filter_map(|process| process.file_name().to_str()?.parse().ok())
        .filter(|&process: &u32| process != std::process::id());
    processes.find(|process| {
        names_of(format!("/proc/{process}/fd").into())
            .any(|open| std::fs::read_link(open.path()).is_ok_and(|target| target == path))
    })
}

/// The id that the name of a run file says.
pub(super) fn id_of(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn look_at(path: &Path) -> Result<ListedRun, StoreError> {
    let file = RunFile::open(path)?;
    Ok(ListedRun { header: file.header()?, environment: file.environment()?, cpus: file.cpus()?.len() })
}
