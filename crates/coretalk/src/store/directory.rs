//! [`Directory`]: the folder of run files. It has no other state, so users may copy, mail or delete run files.

use super::ENDING;
use super::error::{Operation, StoreError, io_error};
use super::names::Names;
use super::run_file::{RunFile, journal};
use coretalk_model::Environment;
use coretalk_model::run::RunHeader;
use etcetera::BaseStrategy;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Name of the folder that is searched for in the working directory and its parents.
const FOLDER: &str = ".coretalk";

/// A directory of run files; it need not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    path: PathBuf,
}

/// Sources of the directory path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DirectorySources {
    /// `--store`.
    pub option: Option<PathBuf>,
    /// `CORETALK_STORE`; empty counts as unset.
    pub variable: Option<OsString>,
    /// Working directory of the process.
    pub working_directory: Option<PathBuf>,
    /// `$XDG_DATA_HOME` or its default.
    pub data_home: Option<PathBuf>,
}

impl DirectorySources {
    /// Reads the sources from this process.
    pub fn of_process(option: Option<PathBuf>) -> DirectorySources {
        DirectorySources {
            option,
            variable: std::env::var_os("CORETALK_STORE"),
            working_directory: std::env::current_dir().ok(),
            data_home: etcetera::choose_base_strategy().ok().map(|strategy| strategy.data_dir()),
        }
    }
}

/// A run file in a listing.
#[derive(Debug)]
pub struct Listed {
    /// Path of the file.
    pub path: PathBuf,
    /// Run id, from the file name.
    pub id: String,
    /// Name of the run in output: the shortest unique suffix of its id.
    pub name: String,
    /// Contents for the listing, or why they cannot be read.
    pub run: Result<ListedRun, StoreError>,
}

/// Contents of a run file that a listing shows.
#[derive(Debug)]
pub struct ListedRun {
    /// Names and state of the run.
    pub header: RunHeader,
    /// Environment of the measurement.
    pub environment: Environment,
    /// Number of requested CPUs.
    pub cpus: usize,
}

impl Directory {
    /// Chooses the directory: the option, the variable, a `.coretalk` folder here or above, or the user's data folder.
    /// Fails with [`StoreError::NoPlace`] if none of them is known.
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

    /// Uses the directory at `path`.
    pub fn at(path: impl Into<PathBuf>) -> Directory {
        Directory { path: path.into() }
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the run files, newest first, without opening them. File names are ids, which sort by time. A missing
    /// directory is empty; an unreadable directory is an error.
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

    /// Returns the names of the runs in output. An unreadable directory is an error.
    pub fn names(&self) -> Result<Names, StoreError> {
        Ok(Names::from_ids(self.files()?.iter().map(|path| id_of(path))))
    }

    /// Lists the runs, newest first, and opens every file once. An unreadable directory is an error.
    pub fn list(&self) -> Result<Vec<Listed>, StoreError> {
        let files = self.files()?;
        let names = Names::from_ids(files.iter().map(|path| id_of(path)));
        let listed = |path: PathBuf| {
            let id = id_of(&path);
            Listed { name: names.short(&id).to_owned(), id, run: look_at(&path), path }
        };
        Ok(files.into_iter().map(listed).collect())
    }

    /// Removes a run file and its journal. Fails if another process has the file open, because it may be measuring.
    pub fn remove(path: &Path) -> Result<(), StoreError> {
        if let Some(process) = holder(path) {
            return Err(StoreError::InUse { operation: Operation::Remove, path: path.to_owned(), process });
        }
        std::fs::remove_file(path).map_err(io_error(Operation::Remove, path))?;
        // A journal is useless without its file.
        let _ = std::fs::remove_file(journal(path));
        Ok(())
    }
}

/// Returns another process that has the file open. Linux shows the open files of processes of the same user.
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

pub(super) fn id_of(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn look_at(path: &Path) -> Result<ListedRun, StoreError> {
    let file = RunFile::open(path)?;
    Ok(ListedRun { header: file.header()?, environment: file.environment()?, cpus: file.cpus()?.len() })
}
