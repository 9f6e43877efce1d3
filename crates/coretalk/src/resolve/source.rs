//! [`Source`]: a run, or a file of another tool, named on the command line.

use crate::args::options::Global;
use crate::args::value::split_once;
use crate::exit::Failure;
use crate::resolve::files;
use crate::run::saved;
use crate::store::{RunFile, StoreError};
use coretalk_model::CpuSet;
use coretalk_model::compare::Side;
use coretalk_model::compare::of_import;
use coretalk_model::compare::of_latency;
use coretalk_model::compare::of_places;
use coretalk_model::compare::of_series;
use coretalk_model::formats::ImportedMatrix;
use coretalk_model::run::RunReport;
use coretalk_model::series::Gathering;
use coretalk_report::plain;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

/// Data of a named input.
#[derive(Debug)]
pub enum Source {
    /// A saved run and its short name.
    Run(Box<RunReport>, String),
    /// The matrices of a file and its name.
    File(Vec<ImportedMatrix>, FileName),
}

/// Name of a file in output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileName {
    /// Given name, or the file name with as many folders as are needed to distinguish equal names.
    pub text: String,
    /// Whether the user gave the name. A given name is public.
    pub is_given: bool,
}

/// Maximum length of a given name.
const MAX_CHARACTERS: usize = 60;

/// Checks that every page and terminal can show a given name.
fn checked_name<'a>(name: &'a str, file: &OsStr) -> Result<&'a str, Failure> {
    let is_fit = !name.is_empty() && name.chars().count() <= MAX_CHARACTERS && plain(name) == name;
    match (is_fit, file.is_empty()) {
        (true, false) => Ok(name),
        (true, true) => {
            Err(Failure::Usage(format!("`{name}=` needs a file after it, such as {name}=matrix.csv")))
        }
        (false, _) => Err(Failure::Usage(format!(
            "a name before `=` must have 1 to {MAX_CHARACTERS} printable characters and no space at either end; {name:?} does not"
        ))),
    }
}

/// Opened input, before a run is read.
#[derive(Debug)]
pub enum SourceFile {
    /// File of a run.
    Run(RunFile),
    /// The matrices of another file and its name.
    File(Vec<ImportedMatrix>, FileName),
}

impl SourceFile {
    fn is_file_without_name(&self) -> bool {
        matches!(self, SourceFile::File(_, name) if !name.is_given)
    }
}

/// Returns distinct names for these paths: the file name after as few folders as necessary.
fn distinct_names(paths: &[&Path]) -> Vec<String> {
    let parts = |path: &&Path| -> Vec<String> {
        let components = path.components().filter(|part| *part != Component::CurDir);
        components.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
    };
    fn end<T>(parts: &[T], most: usize) -> &[T] {
        &parts[parts.len().saturating_sub(most)..]
    }
    let paths: Vec<Vec<String>> = paths.iter().map(parts).collect();
    let name = |path: &Vec<String>| {
        let is_unique =
            |&most: &usize| paths.iter().filter(|other| end(other, most) == end(path, most)).count() == 1;
        // Equal paths have no unique suffix.
        let most = (1..=path.len() + 1).find(is_unique).unwrap_or(1);
        end(path, most).iter().collect::<PathBuf>().display().to_string()
    };
    paths.iter().map(name).collect()
}

impl Source {
    /// Opens a run by tag, id or path, or a matrix file by path. Fails if neither exists, or if it cannot be read.
    pub fn open(global: &Global, word: impl AsRef<OsStr>) -> Result<Source, Failure> {
        Source::read(Source::find(global, word)?)
    }

    /// Opens the source of each word; `NAME=FILE` gives a file a name. Fails as [`Source::find_all`] does.
    pub fn open_all(global: &Global, words: &[OsString]) -> Result<Vec<Source>, Failure> {
        Source::find_all(global, words)?.into_iter().map(Source::read).collect()
    }

    fn read(found: SourceFile) -> Result<Source, Failure> {
        Ok(match found {
            SourceFile::Run(file) => {
                let report = file.report()?;
                let name = saved::name_of(&report.header.id, file.path());
                Source::Run(Box::new(report), name)
            }
            SourceFile::File(matrices, name) => Source::File(matrices, name),
        })
    }

    /// Splits words of the form `NAME=FILE`. Fails if a name cannot be shown, or is given twice.
    pub fn named<'a>(
        global: &Global,
        words: &'a [OsString],
    ) -> Result<Vec<(Option<&'a str>, &'a OsStr)>, Failure> {
        // A path or a tag may contain `=`.
        let is_whole = |word: &OsStr| Path::new(word).exists() || saved::open(global, word).is_ok();
        let mut named: Vec<(Option<&str>, &OsStr)> = Vec::new();
        for word in words {
            let Some((name, file)) = split_once(word, '=').filter(|_| !is_whole(word)) else {
                named.push((None, word));
                continue;
            };
            let name = checked_name(name, file)?;
            if named.iter().any(|(known, _)| *known == Some(name)) {
                return Err(Failure::Usage(format!("two files are named `{name}`")));
            }
            named.push((Some(name), file));
        }
        Ok(named)
    }

    /// Finds a run or a file for each word, which may have the form `NAME=FILE`. Fails as [`Source::find`] and
    /// [`Source::named`] do, or if a run is given a name.
    pub fn find_all(global: &Global, words: &[OsString]) -> Result<Vec<SourceFile>, Failure> {
        let mut all = Vec::new();
        for (name, file) in Source::named(global, words)? {
            let Some(name) = name else {
                all.push(Source::find(global, file)?);
                continue;
            };
            match Source::find(global, file)? {
                SourceFile::Run(_) => {
                    return Err(Failure::Usage(format!(
                        "`{name}=` names files of other tools, and {} is a run; `coretalk runs tag` names runs",
                        plain(&file.to_string_lossy())
                    )));
                }
                SourceFile::File(matrices, _) => {
                    all.push(SourceFile::File(matrices, FileName { text: name.to_owned(), is_given: true }));
                }
            }
        }
        let files = || all.iter().zip(words).filter(|(found, _)| found.is_file_without_name());
        let names = distinct_names(&files().map(|(_, word)| Path::new(word)).collect::<Vec<_>>());
        let unnamed = all.iter_mut().filter(|found| found.is_file_without_name());
        for (found, name) in unnamed.zip(names) {
            if let SourceFile::File(_, known) = found {
                known.text = name;
            }
        }
        Ok(all)
    }

    /// Finds a run or a file. Fails as [`Source::open`] does.
    pub fn find(global: &Global, word: impl AsRef<OsStr>) -> Result<SourceFile, Failure> {
        let path = Path::new(&word);
        match saved::open(global, path) {
            Ok(file) => Ok(SourceFile::Run(file)),
            // A file that is not a run may be a matrix.
            Err(Failure::Store(StoreError::Foreign { .. })) => {
                let matrices = files::matrices(path)?;
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
                Ok(SourceFile::File(matrices, FileName { text: name, is_given: false }))
            }
            // Selectors of runs have no file extension, so the user meant a file.
            Err(Failure::Store(StoreError::UnknownRun { .. })) if path.extension().is_some() => {
                Err(Failure::Input(format!("failed to read {}: no such file or run", path.display())))
            }
            Err(failure) => Err(failure),
        }
    }

    /// Converts the data for a comparison.
    pub fn side(&self) -> Side {
        match self {
            Source::Run(report, _) => {
                let (environment, topology) = (&report.environment, &report.topology);
                let latency = report.latency.as_ref();
                let of_map = latency.map(|it| of_latency(environment, topology, &it.settings, &it.result));
                let of_trials = report.series.as_ref().map(|it| {
                    let mut side = of_series(environment, topology, &it.settings, &it.result);
                    if it.settings.gathering() == Some(Gathering::QuickLook) {
                        // The trials of a quick look are too short for a comparison.
                        side.datasets.clear();
                    }
                    side
                });
                let place = report.place.as_ref();
                let of_placements =
                    place.map(|it| of_places(environment, topology, &it.settings, &it.result));
                let parts = of_map.into_iter().chain(of_trials).chain(of_placements);
                let join = |mut side: Side, more: Side| {
                    side.datasets.extend(more.datasets);
                    side.saturated += more.saturated;
                    side
                };
                parts.reduce(join).unwrap_or_default()
            }
            Source::File(matrices, _) => of_import(matrices),
        }
    }

    /// Returns the CPUs with data.
    pub fn cpus(&self) -> CpuSet {
        match self {
            Source::Run(report, _) => {
                let latency = report.latency.iter().flat_map(|latency| &latency.settings.cpus);
                let series = report.series.iter().flat_map(|series| &series.settings.cpus);
                let placements = report.place.iter().flat_map(|place| &place.settings.placements);
                let placed = placements.flat_map(|placement| &placement.cpus);
                latency.chain(series).chain(placed).copied().collect()
            }
            Source::File(matrices, _) => {
                matrices.iter().flat_map(|imported| imported.matrix.cpus().iter().copied()).collect()
            }
        }
    }

    /// Name in output: the short name of a run, or the name of a file.
    pub fn name(&self) -> String {
        match self {
            Source::Run(_, name) => name.clone(),
            Source::File(_, name) => name.text.clone(),
        }
    }

    /// Whether the name is public.
    pub fn is_public(&self) -> bool {
        match self {
            Source::Run(..) => true,
            Source::File(_, name) => name.is_given,
        }
    }

    /// Describes the machine of a run by label, scenario or CPU. A file is described by its format.
    pub fn machine(&self) -> String {
        match self {
            Source::Run(report, _) => {
                let environment = &report.environment;
                let simulated = environment.simulated.as_ref().map(|name| format!("SIMULATED {name}"));
                let known = environment.label.clone().or(simulated).or(environment.cpu_model.clone());
                known.unwrap_or_else(|| "unknown CPU".to_owned())
            }
            Source::File(matrices, _) => {
                let format = matrices.first().map_or("no matrix", |matrix| matrix.format.name());
                format!("a file ({format})")
            }
        }
    }

    /// Returns the start time of the run (RFC 3339, UTC); `None` for a file.
    pub fn started(&self) -> Option<String> {
        match self {
            Source::Run(report, _) => Some(report.header.started.clone()),
            Source::File(..) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_file_names_are_distinguished_by_the_shortest_path_suffix() {
        for (paths, names) in [
            (&["x/a/m.csv", "n.csv"][..], &["m.csv", "n.csv"][..]),
            (&["x/a/m.csv", "x/b/m.csv"], &["a/m.csv", "b/m.csv"]),
            (&["x/a/m.csv", "./y/a/m.csv", "m.csv"], &["x/a/m.csv", "y/a/m.csv", "m.csv"]),
            (&["/x/m.csv", "m.csv"], &["x/m.csv", "m.csv"]),
            (&["/m.csv", "m.csv"], &["/m.csv", "m.csv"]),
            (&["x/m.csv", "./x/m.csv"], &["m.csv", "m.csv"]),
        ] {
            assert_eq!(distinct_names(&paths.iter().map(Path::new).collect::<Vec<_>>()), names);
        }
    }
}
