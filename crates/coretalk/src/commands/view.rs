//! `view`: shows percentile tables and interval logs of any tool in the terminal, as a page or as a picture.

use crate::args::ViewArgs;
use crate::args::options::Global;
use crate::args::words::ReportFormat;
use crate::commands::shape::say;
use crate::exit::{ExitCode, Failure};
use crate::resolve::files;
use crate::resolve::output::{self, Verbosity, print_notice};
use crate::run::out::Out;
use coretalk_model::formats::{ImportError, Spectrum, holds_percentiles, is_hlog, read_hgrm, read_hlog};
use coretalk_report::figure::spectra::picture_file;
use coretalk_report::html;
use coretalk_report::picture::Picture;
use coretalk_report::spectra::{SpectrumView, blocks};
use std::ffi::OsStr;
use std::path::Path;

/// Reads every file first, so that an error precedes all output.
pub fn execute(global: &Global, args: &ViewArgs) -> Result<ExitCode, Failure> {
    let files: Vec<(Option<&str>, &OsStr)> = args.files.iter().map(|file| (None, file.as_os_str())).collect();
    let views = views(&files, output::options(global).verbosity)?;
    let Some(kind) = global.output.as_deref().and_then(ReportFormat::of_file) else {
        return say(global, &blocks(&views));
    };
    let mut out = Out::open(global.output.as_deref())?;
    let bytes = kind.bytes(|| Ok(html::page_of_spectra(&views)), || picture(&views))?;
    out.bytes(&bytes)?;
    Ok(ExitCode::Done)
}

/// Reads the histograms of all files, each with an optional name; prints warnings.
pub(super) fn views(
    named: &[(Option<&str>, &OsStr)],
    verbosity: Verbosity,
) -> Result<Vec<SpectrumView>, Failure> {
    let mut views = Vec::new();
    for (given, file) in named {
        let file = Path::new(file);
        let name = file.display();
        let spectra = read(&files::bytes(file)?)
            .map_err(|error| Failure::Input(format!("{name}: failed to {error}")))?;
        for spectrum in spectra {
            let title = title(*given, file, &spectrum, named.len());
            for warning in &spectrum.warnings {
                print_notice(verbosity, Verbosity::Normal, &format!("{title}: {warning}"));
            }
            views.push(SpectrumView { title, spectrum });
        }
    }
    Ok(views)
}

/// Whether a file contains histograms, judged by its content.
pub(super) fn is_spectrum(file: &Path) -> bool {
    let text = file.is_file().then(|| files::bytes(file).ok()).flatten();
    let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
    text.is_some_and(|text| is_hlog(&text) || holds_percentiles(&text))
}

fn picture(views: &[SpectrumView]) -> Result<Picture, Failure> {
    let nothing = "these files contain nothing that can be drawn; write .html, or print to the terminal";
    picture_file(views).ok_or_else(|| Failure::Usage(nothing.into()))
}

/// Parses a file by its content, never by its name.
fn read(bytes: &[u8]) -> Result<Vec<Spectrum>, ImportError> {
    match std::str::from_utf8(bytes) {
        Ok(text) if is_hlog(text) => read_hlog(bytes),
        _ => read_hgrm(bytes),
    }
}

/// Returns the title of a spectrum: the given name or the file name without extension, then the name in the file. With
/// a single file, the name in the file suffices.
fn title(given: Option<&str>, file: &Path, spectrum: &Spectrum, files: usize) -> String {
    let stem = || file.file_stem().map_or_else(|| "-".to_owned(), |stem| stem.to_string_lossy().into_owned());
    let stem = given.map_or_else(stem, str::to_owned);
    match &spectrum.name {
        None => stem,
        Some(name) if files == 1 => name.clone(),
        Some(name) => format!("{stem} {name}"),
    }
}
