//! Opening saved runs, and the `runs` commands.

use super::args::{FormatWord, Global, RunsCommand};
use super::output::{self, Out};
use super::resolve::{self, Talk};
use super::series;
use crate::RunReport;
use crate::exit::{ExitCode, Failure};
use crate::export::Export;
use crate::report::runs::{RunRow, Standing, runs};
use crate::store::{Directory, Listed, RunFile, Surroundings, find, short_name};
use coretalk_model::Protocol;
use std::path::{Path, PathBuf};

/// The directory of runs.
///
/// # Errors
/// There is no place for runs.
pub fn directory(option: Option<&PathBuf>) -> Result<Directory, Failure> {
    Ok(Directory::resolve(&Surroundings::of_process(option.cloned()))?)
}

/// The file of a run that was named; says so where the name is ambiguous.
///
/// # Errors
/// There is no such run.
pub fn locate(global: &Global, run: &str) -> Result<PathBuf, Failure> {
    let found = find(&directory(global.store.as_ref())?, run)?;
    if let Some(notice) = found.notice {
        output::remark(resolve::wish(global).talk, Talk::Normal, &notice);
    }
    Ok(found.path)
}

/// A run that was named, opened.
///
/// # Errors
/// There is no such run, or its file cannot be read.
pub fn open(global: &Global, run: &str) -> Result<RunFile, Failure> {
    Ok(RunFile::open(&locate(global, run)?)?)
}

/// What output calls a run: the shortest end of its id that no other run of its directory has.
pub fn name_of(id: &str, path: &Path) -> String {
    let beside = path.parent().map(Directory::at).and_then(|directory| directory.files().ok());
    let ids: Vec<String> = beside
        .unwrap_or_default()
        .iter()
        .filter_map(|file| Some(file.file_stem()?.to_string_lossy().into_owned()))
        .collect();
    short_name(id, ids.iter().map(String::as_str)).to_owned()
}

/// A saved run with everything that output needs.
#[derive(Debug)]
pub struct Saved {
    report: RunReport,
    file: RunFile,
    name: String,
}

/// Reads a saved run.
///
/// # Errors
/// As [`open`].
pub fn read(global: &Global, run: &str) -> Result<Saved, Failure> {
    let file = open(global, run)?;
    let report = file.report()?;
    let name = name_of(&report.header.id, file.path());
    Ok(Saved { report, name, file })
}

/// What of a run a format shows that cannot hold all of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Chosen<'a> {
    /// The map of this protocol.
    pub protocol: Option<Protocol>,
    /// The trials of this probe.
    pub probe: Option<&'a str>,
}

/// Writes a saved run in a format.
///
/// # Errors
/// The output cannot be written, or the format cannot hold the run.
pub fn write(global: &Global, saved: &Saved, format: FormatWord, chosen: Chosen<'_>) -> Result<(), Failure> {
    let wish = resolve::wish(global);
    if let (FormatWord::Hgrm, Some(path)) = (format, wish.output.as_deref())
        && series::is_folder(path)
    {
        return series::write_folder(&saved.report, path);
    }
    let mut out = Out::open(wish.output.as_deref())?;
    let what = Export {
        report: &saved.report,
        file: Some(&saved.file),
        protocol: chosen.protocol,
        probe: chosen.probe,
        identity: output::identity_of(wish.identity),
        name: &saved.name,
        look: output::look(&wish),
    };
    output::write_run(&mut out, format, &what)
}

/// `runs …`.
///
/// # Errors
/// There is no such run, or the store fails.
pub fn act(global: &Global, command: &RunsCommand) -> Result<ExitCode, Failure> {
    match command {
        RunsCommand::List => list(global)?,
        RunsCommand::Show { run } => {
            let saved = read(global, run)?;
            write(global, &saved, global.format.unwrap_or(FormatWord::Text), Chosen::default())?;
        }
        RunsCommand::Names => names(global)?,
        RunsCommand::Tag { run, tag } => open(global, run)?.tag(tag)?,
        RunsCommand::Rm { run } => Directory::remove(&locate(global, run)?)?,
        RunsCommand::Path { run } => {
            let path = locate(global, run)?;
            Out::open(global.output.as_deref())?.text(&format!("{}\n", path.display()))?;
        }
    }
    Ok(ExitCode::Done)
}

fn list(global: &Global) -> Result<(), Failure> {
    let listed = directory(global.store.as_ref())?.list()?;
    let rows: Vec<RunRow> = listed.iter().map(row).collect();
    let text = runs(&rows, output::width(global.output.as_deref()));
    Out::open(global.output.as_deref())?.text(&text)
}

/// What runs can be called by, newest first: `latest`, tags, and the shortest end of an id. A shell expands what completion
/// offers, so that a tag with a space or a dollar sign is left out: it has to be typed.
fn names(global: &Global) -> Result<(), Failure> {
    let listed = directory(global.store.as_ref())?.list()?;
    let latest = listed.first().map(|_| "latest".to_owned());
    let of_run = |run: &Listed| {
        let id = run.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let tags = run.tags.iter().map(|(tag, _)| tag.clone());
        tags.chain([name_of(&id, &run.path)]).collect::<Vec<_>>()
    };
    let is_word = |name: &String| name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
    let names = latest.into_iter().chain(listed.iter().flat_map(of_run)).filter(is_word);
    let lines: String = names.map(|name| name + "\n").collect();
    Out::open(global.output.as_deref())?.text(&lines)
}

fn row(listed: &Listed) -> RunRow {
    let bytes = std::fs::metadata(&listed.path).map_or(0, |metadata| metadata.len());
    let stem = listed.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let opened = RunFile::open(&listed.path).ok();
    let settings = opened.as_ref().and_then(|file| file.settings().ok());
    let environment = opened.and_then(|file| file.environment().ok());
    let machine = environment
        .and_then(|it| it.label.or(it.simulated.map(|name| format!("sim:{name}"))).or(it.cpu_model));
    match &listed.header {
        Ok(header) => RunRow {
            id: name_of(&header.id, &listed.path),
            started: header.started.clone(),
            tags: header.tags.clone(),
            command: if header.command.is_empty() { "quick look".into() } else { header.command.join(" ") },
            machine: machine.unwrap_or_else(|| "unknown machine".into()),
            cpus: settings.map(|settings| settings.cpus.len()),
            standing: if header.complete { Standing::Complete } else { Standing::Partial },
            bytes,
        },
        Err(error) => RunRow {
            id: name_of(&stem, &listed.path),
            started: String::new(),
            tags: Vec::new(),
            command: format!("failed to {error}"),
            machine: "unknown machine".into(),
            cpus: None,
            standing: Standing::Unreadable,
            bytes,
        },
    }
}
