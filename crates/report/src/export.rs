//! Exports runs as text for other programs, with one submodule per family of formats.

mod format;
mod hgrm;
mod map;
mod place;
mod queue;
mod series;

pub use format::Format;
pub use hgrm::{hgrm_files, hgrm_name};
pub use map::{imitation_gaps, write_imitations};

use crate::document::{Document, Identity};
use crate::{Order, Saved, Screen, Style, screen};
use coretalk_model::Protocol;
use coretalk_model::run::RunReport;
use coretalk_model::series::Gathering;
use std::io::Write;

/// What to export and how.
#[derive(Clone, Copy)]
pub struct Export<'a> {
    /// The run.
    pub report: &'a RunReport,
    /// Trials for `jsonl`; `None` if the run was not saved.
    pub trials: Option<&'a dyn RecordSource>,
    /// Protocol of the map for single-map formats; required if a run has several.
    pub protocol: Option<Protocol>,
    /// The only probe in tables of trials; `None` for a map and all trials.
    pub probe: Option<&'a str>,
    /// Whether private parts are included.
    pub identity: Identity,
    /// Name of the run, for `text`.
    pub name: &'a str,
    /// Style of `text`.
    pub style: Style,
    /// Order of rows and columns, if it differs from that of the run.
    pub order: Option<Order>,
    /// Whether `text` shows every step of the ladder.
    pub ladder: bool,
}

/// The trials of a run, which are too many to keep in memory.
pub trait RecordSource {
    /// Writes one line per trial, as printed during the measurement.
    ///
    /// # Errors
    /// [`ExportError`] if the trials cannot be read, or the writer fails.
    fn write_lines(&self, out: &mut dyn Write) -> Result<(), ExportError>;
}

/// Reason why a run cannot be written in a format.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The format holds one map, and the run has several.
    #[error("write `{format}`: it can contain only one map and the run has {kernels}; {choice}")]
    SeveralMaps {
        /// The format.
        format: Format,
        /// Kernels of the run.
        kernels: String,
        /// Advice for choosing one.
        choice: &'static str,
    },
    /// The run has no such map.
    #[error("write `{format}`: the run has no map of {wanted} (it has {kernels})")]
    NoMap {
        /// The format.
        format: Format,
        /// Requested protocol.
        wanted: String,
        /// Kernels of the run.
        kernels: String,
    },
    /// The run has no trial of the requested probe.
    #[error("write `{format}`: the run has no trials of `{wanted}` (it has {has})")]
    NoProbe {
        /// The format.
        format: Format,
        /// Requested probe.
        wanted: String,
        /// Probes of the run.
        has: String,
    },
    /// The format holds one histogram, and the run has several.
    #[error(
        "write `hgrm`: it can contain only one distribution and the run has {count}; write them to a directory with --format hgrm -o DIR"
    )]
    SeveralSeries {
        /// Number of histograms in the run.
        count: usize,
    },
    /// The run has no histogram.
    #[error("write `hgrm`: the run has no distribution of single events")]
    NoSeries,
    /// The run has no matrix.
    #[error(
        "write `{format}`: it needs a latency map and the run has only series; use `csv`, `json` or `hgrm`"
    )]
    NoMatrix {
        /// The format.
        format: Format,
    },
    /// The format cannot hold comparisons.
    #[error(
        "write `{format}`: the run compares placements or commands; use `json`, `jsonl`, `csv` or `markdown`"
    )]
    OfComparisons {
        /// The format.
        format: Format,
    },
    /// The trials are not available, because they are not kept in memory.
    #[error(
        "write `jsonl`: the run was not saved; drop --no-save, or print it with --format jsonl while measuring"
    )]
    NotSaved,
    /// The source of the trials could not be read.
    #[error(transparent)]
    Source(Box<dyn std::error::Error + Send + Sync>),
    /// The output could not be written.
    #[error("write the output")]
    Io(#[from] std::io::Error),
}

/// Writes a run in a format. The writer should be buffered.
///
/// # Errors
/// [`ExportError`] if the format cannot hold the run, or the writer fails.
pub fn export(format: Format, what: &Export<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let is_series = match (&what.report.series, what.probe) {
        (Some(series), Some(probe)) if series.settings.probes.iter().any(|known| known == probe) => true,
        (series, Some(probe)) => {
            let has = series.as_ref().map(|series| series.settings.probes.join(", "));
            let has = has.unwrap_or_else(|| "none".into());
            return Err(ExportError::NoProbe { format, wanted: probe.to_owned(), has });
        }
        (series, None) => series.is_some() && what.report.latency.is_none(),
    };
    // Tables of a suite contain its map and its trials, unless one of them was chosen. A quick look exports only its
    // map: readers of a matrix expect nothing after it.
    let includes_trials =
        !is_series && what.protocol.is_none() && what.report.gathering() == Some(Gathering::Suite);
    match (format, &what.report.place) {
        (Format::C2cCsv | Format::Hgrm, Some(_)) => {
            return Err(ExportError::OfComparisons { format });
        }
        (Format::Csv, Some(place)) => return place::write_csv(place, out),
        (Format::Markdown, Some(place)) => return place::write_markdown(place, out),
        _ => {}
    }
    match format {
        Format::C2cCsv if is_series => Err(ExportError::NoMatrix { format }),
        Format::Csv if is_series && queue::holds_squares(what) => queue::write_csv(what, out),
        Format::Markdown if is_series && queue::holds_squares(what) => queue::write_markdown(what, out),
        Format::Csv if is_series => series::write_csv(what, out),
        Format::Markdown if is_series => series::write_markdown(what, out),
        Format::Hgrm => hgrm::write(what, out),
        Format::Text => {
            let saved = Saved::As(what.name);
            let shown = if what.ladder { Screen::Whole(saved) } else { Screen::Shown(saved) };
            let screen = screen::render(what.report, shown, &what.style);
            Ok(out.write_all(screen.as_bytes())?)
        }
        Format::Json => Ok(Document::from_report(what.report, what.identity).write_to(out)?),
        Format::Jsonl => match what.trials {
            Some(trials) => trials.write_lines(out),
            None => Err(ExportError::NotSaved),
        },
        Format::Csv => {
            map::write_csv(what, out)?;
            if includes_trials { series::write_csv(what, after_a_blank_line(out)?) } else { Ok(()) }
        }
        Format::C2cCsv => map::write_c2c_csv(what, out),
        Format::Markdown => {
            map::write_markdown(what, out)?;
            if includes_trials { series::write_markdown(what, after_a_blank_line(out)?) } else { Ok(()) }
        }
    }
}

fn after_a_blank_line(out: &mut dyn Write) -> Result<&mut dyn Write, ExportError> {
    writeln!(out)?;
    Ok(out)
}

fn facts(report: &RunReport) -> Vec<(&'static str, String)> {
    let environment = &report.environment;
    let mut facts = vec![
        ("run", report.header.id.clone()),
        ("started", report.header.started.clone()),
        ("simulated", report.header.simulated.to_string()),
        ("tool", format!("coretalk {}", report.header.tool_version)),
    ];
    let known = [
        ("label", &environment.label),
        ("machine", &environment.simulated),
        ("cpu", &environment.cpu_model),
        ("hypervisor", &environment.hypervisor),
        ("os", &environment.kernel),
    ];
    facts.extend(known.into_iter().filter_map(|(key, value)| Some((key, value.clone()?))));
    facts
}

/// As in RFC 4180.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}
