//! The short tables of `suite`, whose values are those of the document.

use super::super::page::Table;
use super::super::printed::Printed;
use super::super::reader::{Pattern, Reader, Said};
use super::super::run::list;
use super::super::run::relation_words;
use super::held;
use super::trials::reads_as;
use coretalk_model::CpuId;
use serde_json::Value;

pub const PATTERNS: &[Pattern] = &[
    held(
        "Intervals are ±{width%} at 95 % unless shown (±?: too few passes); ! marks a value that should not be used, with the reason.",
        precision,
    ),
    held(
        "Intervals are ±{width%} at 95 % unless shown (±?: too few passes); ! marks a value that should not be used, with the reason. Not marked because \
         most values share it: {rest}",
        precision,
    ),
];

/// Whether a part of a row's name is a parameter of a trial.
pub fn is_part(trial: &Value, part: &str) -> bool {
    let parameters = trial["parameters"].as_object();
    parameters.into_iter().flatten().any(|(name, value)| {
        let shown = reads_as(name, value);
        let first = name.split('_').next().unwrap_or_default();
        shown == part
            || part == format!("{shown} apart")
            || part == format!("{shown} bytes apart")
            || part.trim_end_matches('s') == format!("{shown} reader")
            || part == format!("{shown} inside")
            || part == format!("{shown} outside")
            || part == format!("{first} {shown}")
            || part == format!("{} {shown}", name.replace('_', " "))
    })
}

/// A cell without its interval and mark.
fn bare(cell: &str) -> &str {
    let value = cell.split(['±', '!']).next().unwrap_or_default().trim_end();
    // Time slices have a mark of their own.
    value.strip_suffix(" s").unwrap_or(value)
}

/// The interval that a cell shows.
fn wide(cell: &str) -> Option<Printed> {
    let (_, interval) = cell.split_once('±')?;
    Printed::read(&interval[..=interval.find('%')?])
}

/// The row, unit and value of a short table are those of a trial of that place.
pub fn table(reader: &mut Reader<'_>, table: &Table) {
    let heading = table.heading().to_vec();
    let run = reader.run;
    for row in &table.rows[1..] {
        let parts: Vec<String> = row[0].split(", ").map(str::to_owned).collect();
        for (place, cell) in heading.iter().zip(row).skip(1) {
            let text = bare(cell).trim_start_matches("× ");
            let (digits, scale) = match text.rsplit_once(' ') {
                Some((digits, "ns")) => (digits, 1.0),
                Some((digits, "µs")) => (digits, 1e3),
                Some((digits, "ms" | "M/s")) => (digits, 1e6),
                _ => (text, 1.0),
            };
            let Some(mut number) = Printed::read(digits) else { continue };
            if wide(cell).is_some_and(|width| width.value >= 0.0495) {
                // Two digits say all that is known.
                number.half = number.half.max(0.05 * 10f64.powf(number.value.log10().floor()));
            }
            let number = Printed { value: number.value * scale, half: number.half * scale };
            let here = |placement: &[CpuId]| -> bool {
                match placement {
                    _ if place.starts_with("on ")
                        || place.ends_with("threads")
                        || place.ends_with("thread") =>
                    {
                        true
                    }
                    _ if place == "last reader" || place == "anywhere" => true,
                    [from, to, ..] => {
                        relation_words(run.reported.relation(*from, *to), &run.reported) == *place
                    }
                    _ => place == "same CPU",
                }
            };
            let cpus = |trial: &Value| -> Vec<CpuId> {
                list(&trial["placement"]).iter().filter_map(|cpu| Some(CpuId(cpu.as_u64()? as u32))).collect()
            };
            let threads = place
                .split(' ')
                .next()
                .and_then(|text| text.parse::<f64>().ok())
                .filter(|_| place.contains("thread") && !place.contains("core"));
            let of_series = list(&run.document["series"]).iter().filter(|trial| {
                trial["probe"] == reader.probe.as_str()
                    && parts.iter().all(|part| is_part(trial, part) || part == "clock")
                    && here(&cpus(trial))
                    && threads.is_none_or(|threads| trial["parameters"]["threads"].as_f64() == Some(threads))
            });
            let of_series: Vec<&Value> = of_series.collect();
            let mut exact: Vec<f64> = of_series
                .iter()
                .flat_map(|trial| {
                    let values = trial["values"]
                        .as_object()
                        .into_iter()
                        .flatten()
                        .filter_map(|(_, value)| value.as_f64());
                    values.chain(trial["percentiles"]["50"].as_f64()).collect::<Vec<f64>>()
                })
                .collect();
            let intervals =
                of_series.iter().flat_map(|trial| trial["intervals"].as_object().into_iter().flatten());
            let mut widths: Vec<[f64; 2]> = intervals.filter_map(|(_, ends)| both_ends(ends)).collect();
            for matrix in list(&run.document["matrices"])
                .iter()
                .filter(|matrix| matrix["probe"] == reader.probe.as_str() && reader.probe == "queue")
            {
                if parts.iter().all(|part| is_part(matrix, part)) {
                    for cell in list(&matrix["cells"]) {
                        let pair = ["from", "to"].map(|name| CpuId(cell[name].as_u64().unwrap_or(0) as u32));
                        if here(&pair) {
                            exact.extend(cell["median"].as_f64());
                            widths.extend(both_ends(&cell["ci"]));
                        }
                    }
                }
            }
            reader.holds("suite", exact.iter().any(|exact| number.reads(*exact)), || {
                format!("{}, {place}: {} is none of {exact:?}", row[0], number.value)
            });
            if let Some(shown) = wide(cell) {
                // How far the interval reaches from the number that it stands beside.
                let stated = exact.iter().copied().filter(|exact| number.reads(*exact));
                let widths = stated.flat_map(|exact| {
                    widths.iter().map(move |[low, high]| (high - exact).max(exact - low) / exact)
                });
                let widths: Vec<f64> = widths.collect();
                // Both ends and the number are rounded in the document: of a ratio by up to 0.0001, of ±2 % a hundredth.
                let is_one = widths.iter().any(|width| shown.is_near(*width, 0.01));
                reader.holds("width", is_one, || {
                    format!("{}, {place}: ±{} is none of {widths:?}", row[0], shown.value)
                });
            }
        }
    }
}

/// Half of an interval as a share of its middle.
fn both_ends(ends: &Value) -> Option<[f64; 2]> {
    Some([ends[0].as_f64()?, ends[1].as_f64()?])
}

fn precision(reader: &mut Reader<'_>, said: &Said<'_>) {
    let asked = reader.run.words.iter().skip_while(|word| *word != "--precision").nth(1);
    let asked =
        asked.and_then(|text| text.trim_end_matches('%').parse().ok()).map_or(0.02, |p: f64| p / 100.0);
    reader.is("precision", said.share("width"), Some(asked), "the precision that was asked for");
}
