//! [`Outputs`]: destinations of the results of a run, opened before the measurement.

use crate::exit::Failure;
use crate::resolve::output::{OutputOptions, refuse_shared_files};
use crate::run::out::{self, Out};
use coretalk_measure::{Stop, probes};
use coretalk_model::run::{RunReport, RunSettings};
use coretalk_model::series::{Gathering, SeriesSettings, TrialSpec};
use coretalk_report::export::{Export, ExportError, Format, hgrm_files};
use coretalk_report::{Saved, Screen, screen};
use std::path::{Path, PathBuf};

/// Destinations of the results of a run.
pub struct Outputs {
    result: Destination,
    exports: Vec<(Format, Destination)>,
}

enum Destination {
    One(Out),
    /// Directory of percentile tables.
    Folder(PathBuf),
}

impl Outputs {
    /// Opens all destinations. Fails if a file or directory is not writable, or is named twice.
    pub fn open(options: &OutputOptions, stop: &Stop) -> Result<Outputs, Failure> {
        refuse_shared_files(options)?;
        let destination = |format, path: Option<&Path>| match path {
            Some(path) if format == Format::Hgrm && is_folder(path) => {
                std::fs::create_dir_all(path)
                    .map_err(|source| Failure::Write { to: Some(path.to_owned()), source })?;
                Ok(Destination::Folder(path.to_owned()))
            }
            path => Ok::<_, Failure>(Destination::One(Out::open_unless(path, Some(stop))?)),
        };
        let result = destination(options.format, options.output.as_deref())?;
        let open = |(format, path): &(Format, PathBuf)| Ok((*format, destination(*format, Some(path))?));
        let exports = options.exports.iter().map(open).collect::<Result<_, Failure>>()?;
        Ok(Outputs { result, exports })
    }

    /// Returns the outputs for JSON lines. They get one line per completed trial.
    pub fn lines(&mut self, options: &OutputOptions) -> Vec<&mut Out> {
        let result = (options.format == Format::Jsonl).then_some(&mut self.result);
        let streamed = self.exports.iter_mut().filter(|(format, _)| *format == Format::Jsonl);
        let mut lines = Vec::new();
        for destination in streamed.map(|(_, destination)| destination).chain(result) {
            if let Destination::One(out) = destination {
                lines.push(out);
            }
        }
        lines
    }

    /// Writes the results. JSON lines were written during the measurement. `name` is the name of the run. Fails if an
    /// output is not writable or its format cannot hold the run.
    pub fn write(
        &mut self,
        report: &RunReport,
        name: Option<&str>,
        options: &OutputOptions,
    ) -> Result<(), Failure> {
        let what = out::whole(report, name, options);
        let is_not_streamed = |(format, _): &&mut (Format, Destination)| *format != Format::Jsonl;
        for (format, destination) in self.exports.iter_mut().filter(is_not_streamed) {
            destination.write(*format, &what)?;
        }
        match (&mut self.result, options.format) {
            (_, Format::Jsonl) => Ok(()),
            (Destination::One(out), Format::Text) if report.imitated().is_empty() => {
                let saved = name.map_or(Saved::Not, Saved::As);
                out.text(&screen::render(report, Screen::Measured(saved), &what.style))
            }
            (destination, format) => destination.write(format, &what),
        }
    }
}

impl Destination {
    fn write(&mut self, format: Format, what: &Export<'_>) -> Result<(), Failure> {
        match self {
            Destination::One(out) => out::write_run(out, format, what),
            Destination::Folder(folder) => write_folder(what.report, folder),
        }
    }
}

/// Refuses formats that cannot hold the results, before the measurement ([`Failure::Format`]).
pub fn refuse_formats(options: &OutputOptions, settings: RunSettings<'_>) -> Result<(), Failure> {
    let formats_asked = || options.exports.iter().map(|(format, _)| *format).chain([options.format]);
    let refuse = |format, sentence: &str| Err(Failure::Format { format, sentence: sentence.to_owned() });
    let requested_of = |formats: &[Format]| formats_asked().find(|format| formats.contains(format));
    if settings.place.is_some() {
        let shows = [Format::Text, Format::Json, Format::Jsonl, Format::Csv, Format::Markdown];
        return match formats_asked().find(|format| !shows.contains(format)) {
            Some(format) => refuse(
                format,
                &format!(
                    "`{format}` cannot show a comparison; use `text`, `json`, `jsonl`, `csv` or `markdown`"
                ),
            ),
            None => Ok(()),
        };
    }
    if let Some(latency) = settings.latency {
        let protocols = latency.protocols.iter().map(ToString::to_string);
        let maps: Vec<String> = protocols.chain(latency.imitate.iter().map(ToString::to_string)).collect();
        if let (Some(format), true) = (requested_of(&[Format::Csv, Format::C2cCsv]), maps.len() > 1) {
            let option = if latency.imitate.is_empty() { "protocol" } else { "as" };
            let sentence = format!(
                "`{format}` can contain only one map, and this run has {} by --{option} ({}); measure one, or use `json`",
                maps.len(),
                maps.join(", ")
            );
            return refuse(format, &sentence);
        }
    }
    // The result of a quick look is a map, so its trials restrict no format. With one CPU, there are only trials.
    let trials = settings.series.filter(|series| series.gathering() != Some(Gathering::QuickLook));
    let Some(series) = trials else {
        return match requested_of(&[Format::Hgrm]) {
            Some(format) => refuse(
                format,
                "`hgrm` is for distributions, and this measures a map; after a run with --tails use `coretalk export latest --format hgrm -o DIR`",
            ),
            None => Ok(()),
        };
    };
    if requested_of(&[Format::C2cCsv]).is_some() && series.gathering().is_none() {
        return refuse(
            Format::C2cCsv,
            "`c2c-csv` is for latency maps, and this measures series; use `csv`, `json` or `hgrm`",
        );
    }
    let distribution_count = distributions(series);
    if requested_of(&[Format::Hgrm]).is_some() && distribution_count == 0 {
        return refuse(Format::Hgrm, &ExportError::NoSeries.to_string());
    }
    let result = (options.format, options.output.as_deref());
    let exports = options.exports.iter().map(|(format, path)| (*format, Some(path.as_path())));
    let is_one_table = |(format, path): (Format, Option<&Path>)| {
        format == Format::Hgrm && path.is_none_or(|path| !is_folder(path))
    };
    if distribution_count > 1 && exports.chain([result]).any(is_one_table) {
        let sentence = format!(
            "`hgrm` can contain only one distribution, and this measures up to {distribution_count}; write them to a directory with --format hgrm -o DIR"
        );
        return refuse(Format::Hgrm, &sentence);
    }
    Ok(())
}

fn distributions(settings: &SeriesSettings) -> usize {
    let of_trial =
        |trial: &TrialSpec| probes::series_by_id(&trial.probe).map_or(0, |probe| probe.distributions(trial));
    settings.trials.iter().map(of_trial).sum()
}

/// Whether the path is a directory for percentile tables, not the file of a single table.
pub fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.extension().is_none_or(|ending| ending != "hgrm")
}

/// Writes all histograms of a run into a directory. Fails if a file is not writable.
pub fn write_folder(report: &RunReport, folder: &Path) -> Result<(), Failure> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| Failure::Write { to: Some(path), source }
    };
    std::fs::create_dir_all(folder).map_err(failed(folder))?;
    for (name, text) in hgrm_files(report) {
        let path = folder.join(name);
        Out::open(Some(&path))?.text(&text)?;
    }
    Ok(())
}
