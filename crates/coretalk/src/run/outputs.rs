//! Where the results of a run go, opened before anything is measured.

use crate::RunReport;
use crate::args::words::FormatWord;
use crate::exit::Failure;
use crate::report::{Saved, Screen, screen};
use crate::resolve::output::{OutputOptions, in_files_of_their_own};
use crate::run::out::{self, Out};
use crate::run::watcher::line_outputs;
use coretalk_measure::Stop;
use std::path::PathBuf;

/// Where results go, opened before anything is measured.
pub trait Results {
    /// The outputs that get a line for each trial as it completes.
    fn lines(&mut self, options: &OutputOptions) -> Vec<&mut Out>;

    /// Writes what came out, but for what was streamed. `name` is what output calls the run.
    ///
    /// # Errors
    /// An output cannot be written, or its format cannot hold the run.
    fn write(
        &mut self,
        report: &RunReport,
        name: Option<&str>,
        options: &OutputOptions,
    ) -> Result<(), Failure>;
}

/// Where the results go, opened before anything is measured.
pub struct Outputs {
    pub(super) result: Out,
    pub(super) exports: Vec<(FormatWord, Out)>,
}

impl Outputs {
    /// Opens them.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn open(options: &OutputOptions, stop: &Stop) -> Result<Outputs, Failure> {
        in_files_of_their_own(options)?;
        let result = Out::open_unless(options.output.as_deref(), Some(stop))?;
        let open =
            |(format, path): &(FormatWord, PathBuf)| Ok((*format, Out::open_unless(Some(path), Some(stop))?));
        let exports = options.exports.iter().map(open).collect::<Result<_, Failure>>()?;
        Ok(Outputs { result, exports })
    }
}

impl Results for Outputs {
    fn lines(&mut self, options: &OutputOptions) -> Vec<&mut Out> {
        line_outputs(options, &mut self.result, &mut self.exports)
    }

    fn write(
        &mut self,
        report: &RunReport,
        name: Option<&str>,
        options: &OutputOptions,
    ) -> Result<(), Failure> {
        write(report, name, options, self)
    }
}

fn write(
    report: &RunReport,
    name: Option<&str>,
    options: &OutputOptions,
    outputs: &mut Outputs,
) -> Result<(), Failure> {
    let what = out::measured(report, name, options);
    // JSON lines were written while the trials were made.
    for (format, out) in outputs.exports.iter_mut().filter(|(format, _)| *format != FormatWord::Jsonl) {
        out::write_run(out, *format, &what)?;
    }
    match options.format {
        FormatWord::Jsonl => Ok(()),
        FormatWord::Text if report.result.imitated.is_empty() => {
            let saved = name.map_or(Saved::Not, Saved::As);
            outputs.result.text(&screen::of(report, Screen::Measured(saved), &what.style))
        }
        format => out::write_run(&mut outputs.result, format, &what),
    }
}
