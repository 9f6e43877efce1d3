//! [`Outputs`]: destinations of the results of a run, opened before the measurement.

use crate::exit::Failure;
use crate::resolve::map::Measuring;
use crate::resolve::output::{OutputOptions, in_files_of_their_own};
use crate::run::out::{self, Out};
use coretalk_measure::{Stop, probes};
use coretalk_model::run::RunReport;
use coretalk_model::series::{SeriesSettings, TrialSpec};
use coretalk_report::export::{Export, ExportError, Format, hgrm_files};
use coretalk_report::{Saved, Screen, screen};
use std::path::{Path, PathBuf};

/// Kind of the measurement, as far as formats depend on it.
#[derive(Debug, Clone, Copy)]
pub enum Measured<'a> {
    /// A map, possibly with the trials of a quick look.
    Latency,
    /// Trials of one probe or of a suite.
    Trials(&'a SeriesSettings),
    /// Comparison of placements with the same work.
    Placements,
}

impl<'a> Measured<'a> {
    /// Kind of a measurement with a map: a suite has histograms, which a directory can hold; a map has none.
    pub fn of(measuring: Measuring<'_>, series: Option<&'a SeriesSettings>) -> Measured<'a> {
        match (measuring, series) {
            (Measuring::Suite, Some(series)) => Measured::Trials(series),
            _ => Measured::Latency,
        }
    }
}

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
    /// Opens all destinations.
    ///
    /// # Errors
    /// A format cannot hold this kind of measurement, or a file or directory is not writable.
    pub fn open(options: &OutputOptions, measured: Measured<'_>, stop: &Stop) -> Result<Outputs, Failure> {
        refuse_formats(options, measured)?;
        in_files_of_their_own(options)?;
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

    /// Returns the outputs for JSON lines, which get one line per completed trial.
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

    /// Writes the results, except JSON lines, which were written during the measurement. `name` is the name of the run.
    ///
    /// # Errors
    /// An output is not writable, or its format cannot hold the run.
    pub fn write(
        &mut self,
        report: &RunReport,
        name: Option<&str>,
        options: &OutputOptions,
    ) -> Result<(), Failure> {
        let what = out::whole(report, name, options);
        let whole = |(format, _): &&mut (Format, Destination)| *format != Format::Jsonl;
        for (format, destination) in self.exports.iter_mut().filter(whole) {
            destination.write(*format, &what)?;
        }
        match (&mut self.result, options.format) {
            (_, Format::Jsonl) => Ok(()),
            (Destination::One(out), Format::Text) if report.imitated().is_empty() => {
                let saved = name.map_or(Saved::Not, Saved::As);
                out.text(&screen::of(report, Screen::Measured(saved), &what.style))
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

/// Refuses formats that cannot hold the results, before the measurement.
fn refuse_formats(options: &OutputOptions, measured: Measured<'_>) -> Result<(), Failure> {
    let asked = || options.exports.iter().map(|(format, _)| *format).chain([options.format]);
    let refuse = |format, sentence: &str| Err(Failure::Format { format, sentence: sentence.to_owned() });
    match measured {
        Measured::Latency => match options.format {
            Format::Hgrm => refuse(
                Format::Hgrm,
                "`hgrm` is for distributions, and this measures a map; after a run with --tails use `coretalk export latest --format hgrm -o DIR`",
            ),
            _ => Ok(()),
        },
        Measured::Trials(settings) => {
            if asked().any(|format| format == Format::C2cCsv) && settings.gathering().is_none() {
                return refuse(
                    Format::C2cCsv,
                    "`c2c-csv` is for latency maps, and this measures series; use `csv`, `json` or `hgrm`",
                );
            }
            let views = distributions(settings);
            if asked().any(|format| format == Format::Hgrm) && views == 0 {
                return refuse(Format::Hgrm, &ExportError::NoSeries.to_string());
            }
            let result = (options.format, options.output.as_deref());
            let exports = options.exports.iter().map(|(format, path)| (*format, Some(path.as_path())));
            let is_one_table = |(format, path): (Format, Option<&Path>)| {
                format == Format::Hgrm && path.is_none_or(|path| !is_folder(path))
            };
            if views > 1 && exports.chain([result]).any(is_one_table) {
                let sentence = format!(
                    "`hgrm` can contain only one distribution, and this measures up to {views}; write them to a directory with --format hgrm -o DIR"
                );
                return refuse(Format::Hgrm, &sentence);
            }
            Ok(())
        }
        Measured::Placements => {
            for format in asked() {
                if !matches!(format, Format::Text | Format::Json | Format::Jsonl | Format::Markdown) {
                    let sentence = format!(
                        "`{format}` cannot show a comparison; use `text`, `json`, `jsonl` or `markdown`"
                    );
                    return refuse(format, &sentence);
                }
            }
            Ok(())
        }
    }
}

fn distributions(settings: &SeriesSettings) -> usize {
    let of =
        |trial: &TrialSpec| probes::series_by_id(&trial.probe).map_or(0, |probe| probe.distributions(trial));
    settings.trials.iter().map(of).sum()
}

/// Whether percentile tables go into a directory at this path: unless it has the file name of one table.
pub fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.extension().is_none_or(|ending| ending != "hgrm")
}

/// Writes all histograms of a run into a directory.
///
/// # Errors
/// A file is not writable.
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
