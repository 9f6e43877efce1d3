//! Formats of latency maps: a square with what is known of its run, a bare triangle, tables for pull requests, and what
//! imitated tools print.

use super::{Export, ExportError, facts};
use crate::RunReport;
use crate::args::words::FormatWord;
use crate::report::{plain, words};
use coretalk_model::Matrix;
use coretalk_model::formats::{self, Unit};
use coretalk_model::latency::{self, Imitated, LatencyMap};
use std::io::Write;

/// A metadata block, a header row with CPU ids, the full square.
pub(super) fn write_csv(what: &Export<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let map = the_map(what, FormatWord::Csv)?;
    let mut metadata = vec![
        ("probe", latency::PROBE.to_owned()),
        ("protocol", map.protocol.name().to_owned()),
        ("kernel", map.kernel.to_string()),
        ("regime", map.regime.name().to_owned()),
    ];
    metadata.extend(facts(what.report));
    Ok(out.write_all(formats::write_csv(&values(map), Unit::Ns, &metadata).as_bytes())?)
}

/// The bare matrix of core-to-core-latency.
pub(super) fn write_c2c_csv(what: &Export<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let map = the_map(what, FormatWord::C2cCsv)?;
    Ok(out.write_all(formats::write_c2c_csv(&values(map)).as_bytes())?)
}

/// Every map as a table under its title.
pub(super) fn write_markdown(what: &Export<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let report = what.report;
    let maps =
        || report.maps().iter().filter(|map| what.protocol.is_none_or(|wanted| map.protocol == wanted));
    writeln!(out, "{}", escaped(&words::title(report).join(" · ")))?;
    for map in maps() {
        writeln!(out, "\n{}\n", escaped(&words::question(map)))?;
        out.write_all(formats::write_markdown(&values(map), Unit::Ns).as_bytes())?;
    }
    Ok(())
}

/// Text from outside without a meaning in Markdown or HTML.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in plain(text).chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '!' => escaped.extend(['\\', c]),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Writes what each imitated tool would have printed, in the order asked. Of a simulated machine a line before it says
/// so: nobody should take it for what the tool printed somewhere. So does one of each CPU that went away. `render` knows
/// the formats of the tools and lives beside their kernels.
///
/// # Errors
/// Those of the writer.
pub fn write_imitations(
    report: &RunReport,
    render: &dyn Fn(&Imitated) -> String,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    if report.header.simulated {
        let machine = plain(report.environment.simulated.as_deref().unwrap_or("machine"));
        writeln!(out, "SIMULATED {machine}: these numbers say nothing about this computer")?;
    }
    for departure in &report.header.departed {
        writeln!(out, "! {departure}: its pairs are incomplete")?;
    }
    for imitated in report.imitated() {
        out.write_all(render(imitated).as_bytes())?;
    }
    Ok(())
}

/// The map that a format for one map shows.
fn the_map<'a>(what: &Export<'a>, format: FormatWord) -> Result<&'a LatencyMap, ExportError> {
    let maps = what.report.maps();
    let kernels = || match maps {
        [] => "none".to_owned(),
        maps => maps.iter().map(|map| map.protocol.name()).collect::<Vec<_>>().join(", "),
    };
    let missing = |wanted: &str| ExportError::NoMap { format, wanted: wanted.to_owned(), kernels: kernels() };
    match what.protocol {
        Some(wanted) => maps.iter().find(|map| map.protocol == wanted).ok_or_else(|| missing(wanted.name())),
        None if maps.len() > 1 => Err(ExportError::SeveralMaps { format, kernels: kernels() }),
        None => maps.first().ok_or_else(|| missing(latency::PROBE)),
    }
}

/// The values of a map in nanoseconds; `None` where not measured.
fn values(map: &LatencyMap) -> Matrix<Option<f64>> {
    map.cells.map(|cell| cell.value().map(|value| value.latency_ns.point))
}
