//! Where the results of a run of series go, opened before anything is measured.

use crate::RunReport;
use crate::args::words::FormatWord;
use crate::exit::Failure;
use crate::export::{Export, ExportError, hgrm_files};
use crate::report::{Saved, Screen, screen};
use crate::resolve::map::Measuring;
use crate::resolve::output::{OutputOptions, in_files_of_their_own};
use crate::run::out::{self, Out};
use crate::run::outputs::{Outputs, Results};
use coretalk_measure::{Stop, probes};
use coretalk_model::series::SeriesSettings;
use std::path::{Path, PathBuf};

/// Where results go.
pub struct TrialOutputs {
    result: Place,
    exports: Vec<(FormatWord, Place)>,
}

enum Place {
    One(Out),
    /// A directory of percentile tables.
    Folder(PathBuf),
}

impl TrialOutputs {
    /// Opens them.
    ///
    /// # Errors
    /// A file or directory cannot be written, or a format cannot hold what is about to be measured.
    pub fn open(
        options: &OutputOptions,
        settings: &SeriesSettings,
        stop: &Stop,
    ) -> Result<TrialOutputs, Failure> {
        for format in options.exports.iter().map(|(format, _)| *format).chain([options.format]) {
            if format == FormatWord::C2cCsv && settings.gathering().is_none() {
                return Err(Failure::Usage(
                    "`c2c-csv` holds a latency map, and this measures series; use `csv`, `json` or `hgrm`"
                        .into(),
                ));
            }
        }
        let mut formats = options.exports.iter().map(|(format, _)| *format).chain([options.format]);
        if formats.any(|format| format == FormatWord::Hgrm) && views(settings) == 0 {
            return Err(Failure::Usage(ExportError::NoSeries.to_string()));
        }
        if options.format == FormatWord::Hgrm && options.output.is_none() && views(settings) > 1 {
            return Err(Failure::Usage(format!(
                "`hgrm` holds one distribution, and this measures up to {}; write them into a directory with -o DIR",
                views(settings)
            )));
        }
        in_files_of_their_own(options)?;
        let place = |format, path: Option<&Path>| -> Result<Place, Failure> {
            match path {
                Some(path) if format == FormatWord::Hgrm && is_folder(path) => {
                    std::fs::create_dir_all(path)
                        .map_err(|source| Failure::Write { to: Some(path.to_owned()), source })?;
                    Ok(Place::Folder(path.to_owned()))
                }
                path => Ok(Place::One(Out::open_unless(path, Some(stop))?)),
            }
        };
        let exports = options.exports.iter();
        Ok(TrialOutputs {
            result: place(options.format, options.output.as_deref())?,
            exports: exports
                .map(|(format, path)| Ok((*format, place(*format, Some(path))?)))
                .collect::<Result<_, Failure>>()?,
        })
    }
}

impl Results for TrialOutputs {
    fn lines(&mut self, options: &OutputOptions) -> Vec<&mut Out> {
        let streamed = self.exports.iter_mut().filter(|(format, _)| *format == FormatWord::Jsonl);
        let result = (options.format == FormatWord::Jsonl).then_some(&mut self.result);
        streamed
            .map(|(_, place)| place)
            .chain(result)
            .filter_map(|place| match place {
                Place::One(out) => Some(out),
                Place::Folder(_) => None,
            })
            .collect()
    }

    fn write(
        &mut self,
        report: &RunReport,
        name: Option<&str>,
        options: &OutputOptions,
    ) -> Result<(), Failure> {
        let what = out::measured(report, name, options);
        for (format, place) in self.exports.iter_mut().filter(|(format, _)| *format != FormatWord::Jsonl) {
            write_to(place, *format, &what)?;
        }
        match (&mut self.result, options.format) {
            (_, FormatWord::Jsonl) => Ok(()),
            (Place::One(out), FormatWord::Text) => {
                let saved = name.map_or(Saved::Not, Saved::As);
                out.text(&screen::of(report, Screen::Measured(saved), &what.style))
            }
            (place, format) => write_to(place, format, &what),
        }
    }
}

/// Whether percentile tables go into a directory of this name: everything but the name of one table.
pub fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.extension().is_none_or(|ending| ending != "hgrm")
}

/// Writes every distribution of a run into a directory.
///
/// # Errors
/// A file cannot be written.
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

fn write_to(place: &mut Place, format: FormatWord, what: &Export<'_>) -> Result<(), Failure> {
    match place {
        Place::One(out) => out::write_run(out, format, what),
        Place::Folder(folder) => write_folder(what.report, folder),
    }
}

/// The distributions that a trial of a probe can have.
fn views(settings: &SeriesSettings) -> usize {
    let of = |trial: &coretalk_model::series::TrialSpec| {
        probes::series_by_id(&trial.probe).map_or(0, |probe| probe.distributions(trial))
    };
    settings.trials.iter().map(of).sum()
}

/// Where results go: a suite has distributions, which a directory can hold, and a map has none.
///
/// # Errors
/// A file cannot be written, or a format cannot hold what is about to be measured.
pub fn outputs(
    measuring: Measuring<'_>,
    options: &OutputOptions,
    series: Option<&SeriesSettings>,
    stop: &Stop,
) -> Result<Box<dyn Results>, Failure> {
    if let (Measuring::Suite, Some(series)) = (measuring, series) {
        return Ok(Box::new(TrialOutputs::open(options, series, stop)?));
    }
    if options.format == FormatWord::Hgrm {
        return Err(Failure::Usage(
            "`hgrm` holds a distribution, and this measures a map; after a run with --tails: `coretalk export latest \
             --format hgrm -o DIR`"
                .into(),
        ));
    }
    if options.format == FormatWord::HyperfineJson {
        return Err(Failure::Usage(
            "`hyperfine-json` holds comparisons of a command, and this measures a map; use json, csv or markdown".into(),
        ));
    }
    Ok(Box::new(Outputs::open(options, stop)?))
}
