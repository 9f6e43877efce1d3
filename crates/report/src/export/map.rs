//! Formats of latency maps: square CSV with metadata, bare triangle, Markdown tables, and the output of imitated tools.

use super::{Export, ExportError, Format, facts};
use crate::blocks::value::Sentence;
use crate::heat_map::ordered;
use crate::reasons::Worded;
use crate::{Order, fmt, plain, saved, words};
use coretalk_model::formats::{self, Unit};
use coretalk_model::latency::summary::PairReading;
use coretalk_model::latency::{self, Imitated, LatencyMap, MissingReason};
use coretalk_model::run::RunReport;
use coretalk_model::{CpuId, KernelId, Matrix, Protocol, Topology};
use std::io::Write;

struct Square {
    protocol: Option<Protocol>,
    /// Distinguishes the squares of a run.
    name: &'static str,
    /// Entries of the metadata block after the facts of the run.
    about: Vec<(&'static str, String)>,
    question: String,
    values: Matrix<Option<f64>>,
}

pub(super) fn write_csv(what: &Export<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let square = only_square(what, Format::Csv)?;
    let mut metadata = vec![("probe", latency::PROBE.to_owned())];
    metadata.extend(square.about);
    metadata.extend(facts(what.report));
    Ok(out.write_all(formats::write_csv(&square.values, Unit::Ns, &metadata).as_bytes())?)
}

pub(super) fn write_c2c_csv(what: &Export<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let square = only_square(what, Format::C2cCsv)?;
    Ok(out.write_all(formats::write_c2c_csv(&square.values).as_bytes())?)
}

pub(super) fn write_markdown(what: &Export<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    writeln!(out, "{}", escaped(&fmt::sentence(&Sentence::joined(words::title(what.report), " · "))))?;
    for square in squares(what) {
        writeln!(out, "\n{}\n", escaped(&square.question))?;
        out.write_all(formats::write_markdown(&square.values, Unit::Ns).as_bytes())?;
    }
    Ok(())
}

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

/// Writes the output of each imitated tool, in the order requested, with its CPUs in `order` if given. Comments list
/// lost CPUs and missing values, and mark the output of a simulated machine as not measured. `render` is a parameter
/// because the formats belong to the kernels of the tools.
///
/// # Errors
/// If the writer fails.
pub fn write_imitations(
    report: &RunReport,
    order: Option<Order>,
    render: &dyn Fn(&Imitated) -> String,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    if report.header.simulated {
        let machine = plain(report.environment.simulated.as_deref().unwrap_or("machine"));
        writeln!(out, "# SIMULATED {machine}: these numbers say nothing about this computer")?;
    }
    for gap in imitation_gaps(report) {
        writeln!(out, "# ! {gap}")?;
    }
    for imitated in report.imitated() {
        let cells = match in_order(order, &report.topology, &values(imitated)) {
            Some(cpus) => imitated.cells.in_order(&cpus),
            None => imitated.cells.clone(),
        };
        out.write_all(render(&Imitated { tool: imitated.tool, cells }).as_bytes())?;
    }
    Ok(())
}

/// Reasons for missing values: one clause for each lost CPU, unfinished tool, and tool with failed measurements.
pub fn imitation_gaps(report: &RunReport) -> Vec<String> {
    let mut gaps: Vec<String> = Vec::new();
    gaps.extend(
        report
            .header
            .departed
            .iter()
            .map(|gone| format!("{}: its pairs are incomplete", saved::departed_text(gone))),
    );
    let budget_ended = report.latencies().is_some_and(|result| result.budget_ended);
    let what = if budget_ended { "budget" } else { "run" };
    // Pairs that were not requested have empty cells, too.
    let requested =
        report.latency.as_ref().map(|latency| latency::cells(&report.topology, &latency.settings));
    let requested = requested.unwrap_or_default();
    for imitated in report.imitated() {
        let tool = imitated.tool;
        let which = match (requested.iter().filter(|pair| imitated.misses(**pair)).count(), requested.len()) {
            (0, _) => continue,
            (missed, all) if missed == all => format!("any of {all} pairs was"),
            (missed, all) => format!("{missed} of {all} pairs were"),
        };
        gaps.push(format!("the {what} ended before {which} measured like {tool}"));
    }
    for imitated in report.imitated() {
        let is_lost_cpu = |error: &&MissingReason| match error {
            MissingReason::Failed(failure) => failure.missed_a_cpu() && !report.header.departed.is_empty(),
            _ => false,
        };
        let failed = requested.iter().filter_map(|pair| imitated.failed(*pair));
        let failed: Vec<&MissingReason> = failed.filter(|error| !is_lost_cpu(error)).collect();
        if let Some(first) = failed.first() {
            let (number, all, tool) = (failed.len(), requested.len(), imitated.tool);
            gaps.push(format!("{number} of {all} pairs have no value like {tool}: {}", first.text()));
        }
    }
    gaps
}

fn in_order(order: Option<Order>, topology: &Topology, values: &Matrix<Option<f64>>) -> Option<Vec<CpuId>> {
    let readings = values.map(|cell| cell.map(|ns| PairReading { ns, doubtful: false }));
    order.map(|order| ordered(&readings, topology, order))
}

fn values(imitated: &Imitated) -> Matrix<Option<f64>> {
    imitated.cells.map(|cell| cell.as_ref().ok().map(|figure| figure.value_ns))
}

fn only_square(what: &Export<'_>, format: Format) -> Result<Square, ExportError> {
    let mut squares = squares(what);
    let any_protocol = Export { protocol: None, ..*what };
    let names = |found: &[Square]| match found {
        [] => "none".to_owned(),
        found => found.iter().map(|square| square.name).collect::<Vec<_>>().join(", "),
    };
    match (squares.pop(), what.protocol) {
        (Some(only), _) if squares.is_empty() => Ok(only),
        (Some(last), _) => {
            squares.push(last);
            let choice = match squares.iter().any(|square| square.protocol.is_some()) {
                true => "choose one with --protocol",
                false => "use `json` or `markdown`, which contain all of them",
            };
            Err(ExportError::SeveralMaps { format, kernels: names(&squares), choice })
        }
        (None, wanted) => {
            let wanted = wanted.map_or(latency::PROBE, Protocol::name).to_owned();
            Err(ExportError::NoMap { format, wanted, kernels: names(&self::squares(&any_protocol)) })
        }
    }
}

fn squares(what: &Export<'_>) -> Vec<Square> {
    let report = what.report;
    let of_map = |map: &LatencyMap| Square {
        protocol: Some(map.protocol),
        name: map.protocol.name(),
        about: vec![
            ("protocol", map.protocol.name().to_owned()),
            ("kernel", map.kernel.to_string()),
            ("regime", map.regime.name().to_owned()),
        ],
        question: fmt::sentence(&words::question(map)),
        values: map.cells.map(|cell| cell.value().map(|value| value.latency_ns.point)),
    };
    let of_tool = |imitated: &Imitated| Square {
        protocol: None,
        name: imitated.tool.name(),
        about: vec![
            ("as", imitated.tool.name().to_owned()),
            ("kernel", KernelId::imitating(imitated.tool).to_string()),
        ],
        question: format!("What {} would print: ns", imitated.tool),
        values: values(imitated),
    };
    let all = report.maps().iter().map(of_map).chain(report.imitated().iter().map(of_tool));
    let ordered = |square: Square| match in_order(what.order, &report.topology, &square.values) {
        Some(cpus) => Square { values: square.values.in_order(&cpus), ..square },
        None => square,
    };
    all.filter(|square| what.protocol.is_none_or(|wanted| square.protocol == Some(wanted)))
        .map(ordered)
        .collect()
}
