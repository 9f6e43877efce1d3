//! Finds saved runs by name, reads them, and writes them in a format.

use crate::args::options::Global;
use crate::exit::Failure;
use crate::resolve::output::{self, Verbosity, print_notice};
use crate::run::out::{self, Out};
use crate::run::outputs::{is_folder, write_folder};
use crate::store::{Directory, DirectorySources, RawTicks, RunFile, StoreError, find};
use coretalk_model::Protocol;
use coretalk_model::latency::cells;
use coretalk_model::run::RunReport;
use coretalk_report::document::{pass_line, trial_line};
use coretalk_report::export::{Export, ExportError, Format, RecordSource};
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Returns the directory of run files. Fails if no directory is known.
pub fn directory(option: Option<&PathBuf>) -> Result<Directory, Failure> {
    Ok(Directory::resolve(&DirectorySources::of_process(option.cloned()))?)
}

/// Finds the file of a run by its selector. Prints a note if several runs have the tag.
pub fn locate(global: &Global, run: impl AsRef<OsStr>) -> Result<PathBuf, Failure> {
    let found = find(&directory(global.store.as_ref())?, run)?;
    if let Some(notice) = found.notice {
        print_notice(output::options(global).verbosity, Verbosity::Normal, &notice);
    }
    Ok(found.path)
}

/// Opens a run by its selector. Fails if the run does not exist or its file cannot be read.
pub fn open(global: &Global, run: impl AsRef<OsStr>) -> Result<RunFile, Failure> {
    Ok(RunFile::open(&locate(global, run)?)?)
}

/// Returns the name of a run in output: the shortest suffix of its id that is unique in its directory.
pub fn name_of(id: &str, path: &Path) -> String {
    let names = path.parent().map(Directory::at).and_then(|directory| directory.names().ok());
    names.map_or(id, |names| names.short(id)).to_owned()
}

/// A saved run with all data for output.
#[derive(Debug)]
pub struct Saved {
    pub(super) report: RunReport,
    file: RunFile,
    name: String,
}

/// Reads a saved run by its selector. Fails as [`open`] does.
pub fn read(global: &Global, run: impl AsRef<OsStr>) -> Result<Saved, Failure> {
    let file = open(global, run)?;
    let mut report = file.report()?;
    if global.with_identity {
        report.reveal();
    }
    let name = name_of(&report.header.id, file.path());
    Ok(Saved { report, name, file })
}

/// Choice of contents for formats that cannot hold a whole run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Chosen<'a> {
    /// Only the map of this protocol.
    pub protocol: Option<Protocol>,
    /// Only the trials of this probe.
    pub probe: Option<&'a str>,
    /// All steps of the ladder, for text.
    pub ladder: bool,
}

/// Writes a saved run in a format. Fails if the format cannot hold the run, or if a choice would have no effect.
pub fn write(global: &Global, saved: &Saved, format: Format, chosen: Chosen<'_>) -> Result<(), Failure> {
    let has_ladder = saved.report.latencies().is_some_and(|result| !result.ladder.is_empty());
    if chosen.ladder && !has_ladder {
        let sentence = "--ladder has no effect here: this run has no ladder; leave it out";
        return Err(Failure::Usage(sentence.to_owned()));
    }
    if chosen.ladder && format != Format::Text {
        let sentence = "--ladder has no effect here: it changes text only; leave it out".to_owned();
        return Err(Failure::Format { format, sentence });
    }
    let options = output::options(global);
    if let (Format::Hgrm, Some(path)) = (format, options.output.as_deref())
        && is_folder(path)
    {
        return write_folder(&saved.report, path);
    }
    let mut out = Out::open(options.output.as_deref())?;
    let Chosen { protocol, probe, ladder } = chosen;
    let what = Export {
        trials: Some(&saved.file),
        protocol,
        probe,
        ladder,
        ..out::whole(&saved.report, Some(&saved.name), &options)
    };
    out::write_run(&mut out, format, &what)
}

/// Reads and writes round by round, so that four million trials need little memory.
impl RecordSource for RunFile {
    fn write_lines(&self, out: &mut dyn Write) -> Result<(), ExportError> {
        let source = |error: StoreError| ExportError::Source(Box::new(error));
        let topology = self.topology().map_err(source)?;
        let cells =
            self.settings().map_err(source)?.map_or_else(Vec::new, |settings| cells(&topology, &settings));
        let mut failed = None;
        let series = self.series_settings().map_err(source)?.unwrap_or_default();
        self.each_round(RawTicks::Leave, |segment, round| {
            for trial in &round.trials {
                let written =
                    trial_line(&round, trial, segment, &cells).and_then(|line| writeln!(out, "{line}"));
                if let (Err(error), None) = (written, &failed) {
                    failed = Some(error);
                }
            }
        })
        .map_err(source)?;
        self.each_pass(&series, |entry| {
            let written = pass_line(&entry, &series.trials).and_then(|line| writeln!(out, "{line}"));
            if let (Err(error), None) = (written, &failed) {
                failed = Some(error);
            }
        })
        .map_err(source)?;
        failed.map_or(Ok(()), |error| Err(error.into()))
    }
}
