//! The data block of the heat maps: orders, groups, colours, and other data outside the documents.

use crate::difference::{DifferenceMap, Differing, PALE};
use crate::document::SeriesDoc;
use crate::figure::curves::chosen;
use crate::figure::heat_map::SLICES;
use crate::heat_map::{names_of_diagonal, ordered};
use crate::input::{Drawing, Map, ReportInput, ScaleChoice};
use crate::palette::{Colors, DIVERGING, Scale, VIRIDIS};
use crate::scope::relation_words;
use crate::{By, Order};
use coretalk_model::{CpuId, Flag, Level, Relation};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Serializes series one at a time, for pages of more than 64 CPUs. Only drawn series include their distribution.
pub(super) fn series(all: &[SeriesDoc<'_>]) -> serde_json::Result<String> {
    let drawn = chosen(all);
    let json = |one: &SeriesDoc<'_>| match drawn.iter().any(|drawn| std::ptr::eq(*drawn, one)) {
        true => serde_json::to_value(one),
        false => serde_json::to_value(SeriesDoc { histogram: None, ..one.clone() }),
    };
    let mut text = vec![b'['];
    for one in all {
        if text.len() > 1 {
            text.push(b',');
        }
        serde_json::to_writer(&mut text, &json(one)?)?;
    }
    text.push(b']');
    String::from_utf8(text).map_err(serde::ser::Error::custom)
}

/// The block as JSON.
///
/// # Errors
/// An error of the serializer, which does not occur for these types.
pub fn view(
    inputs: &[ReportInput<'_>],
    differing: Option<&Differing<'_>>,
    drawing: Drawing,
) -> serde_json::Result<String> {
    let doubts: Vec<&str> =
        Flag::ALL.iter().filter(|flag| flag.may_be_wrong()).map(|flag| flag.name()).collect();
    let head = json!({
        "palette": VIRIDIS,
        "diverging": DIVERGING,
        "pale": PALE,
        "usual": Colors::DIFFERENCE.ends()[1],
        "doubts": doubts,
        "slices": SLICES,
        "initial": initial(drawing),
    });
    let runs = inputs.iter().enumerate().map(|(index, input)| run(input, index));
    let runs: Vec<String> = runs.collect::<serde_json::Result<_>>()?;
    let first = inputs.first();
    let differences: Vec<String> = differing
        .map(Differing::maps)
        .unwrap_or_default()
        .iter()
        .filter_map(|difference| Some(difference_of(first?, difference)))
        .collect();
    let head = with_field(&head, "differences", &format!("[{}]", differences.join(",")));
    Ok(appended(head, "runs", &format!("[{}]", runs.join(","))))
}

fn initial(drawing: Drawing) -> Value {
    let order = match drawing.order {
        Order::Id => "id",
        Order::Topology => "reported",
        Order::Measured => "measured",
    };
    let by = match drawing.by {
        By::Core => "core",
        By::Thread => "thread",
    };
    let scale = match drawing.scale {
        ScaleChoice::Fixed => "fixed",
        ScaleChoice::Fit => "fit",
    };
    json!({ "order": order, "by": by, "scale": scale })
}

fn run(input: &ReportInput<'_>, index: usize) -> serde_json::Result<String> {
    let topology = input.arranged();
    let is_file = input.file().is_some();
    let words = |relation: Relation| match relation {
        // No system reports the levels of a file.
        Relation::Machine if is_file => "different groups".to_owned(),
        _ if is_file => "same group".to_owned(),
        relation => relation_words(relation, topology),
    };
    let level = |level: Level| {
        let groups = topology.level(level);
        let group_of_cpu: BTreeMap<u32, usize> = groups
            .iter()
            .enumerate()
            .flat_map(|(group, domain)| domain.cpus.iter().map(move |cpu| (cpu.0, group)))
            .collect();
        json!({ "name": level.name(), "words": words(Relation::from_level(level)), "of": group_of_cpu })
    };
    let levels = topology.levels().into_iter().filter(|level| !topology.level(*level).is_empty());
    let core: BTreeMap<u32, u32> =
        topology.cpus().iter().map(|cpu| (cpu.0, topology.siblings(cpu).first().unwrap_or(cpu).0)).collect();
    let exact = input.is_exact();
    let head = json!({
        "name": input.name,
        "machine": input.machine(),
        "marks": input.marks(),
        "data": format!("data-{index}"),
        "exact": exact,
        "smt": topology.has_smt(topology.cpus()),
        "core": core,
        "levels": levels.map(level).collect::<Vec<_>>(),
        "apart": words(Relation::Machine),
        "inferred": is_file,
        "alone": names_of_diagonal(topology),
        "passes_note": match exact {
            true => "This page does not have the passes of this pair.",
            false => "Above 64 CPUs this page has only the passes of representative, doubtful and extreme \
                      pairs.",
        },
    });
    let maps = input.maps.iter().enumerate().map(|(index, map)| map_of(input, map, index, exact));
    Ok(with_field(&head, "maps", &format!("[{}]", maps.collect::<Vec<_>>().join(","))))
}

fn map_of(input: &ReportInput<'_>, map: &Map, index: usize, exact: bool) -> String {
    let round = |value: f64| (value * 100.0).round() / 100.0;
    let passes: Vec<Value> = input
        .passes
        .iter()
        .filter(|passes| passes.map == index)
        .map(|passes| {
            let times: Vec<f64> = passes.values.iter().map(|(at, _)| round(*at)).collect();
            let values: Vec<f64> = passes.values.iter().map(|(_, value)| round(*value)).collect();
            json!([passes.cell, times, values])
        })
        .collect();
    let head = json!({
        "index": map.index,
        "label": map.label(),
        "question": map.question,
        "measure": map.quantity.replace('_', " "),
        "unit": map.unit,
        "kernel": map.kernel,
        "symmetric": map.columns.symmetric,
        "cpus": map.columns.cpus,
        "fixed": Scale::fixed(&map.unit).map(|scale| [scale.low, scale.high]),
        "orders": orders(input, map),
        "passes": passes,
        "slices": (0..map.columns.slices.len()).filter(|&cell| map.columns.slices[cell]).collect::<Vec<_>>(),
    });
    if exact && map.index.is_some() {
        return head.to_string();
    }
    let mut columns = String::new();
    map.columns.write_json(&mut columns);
    with_field(&head, "columns", &columns)
}

fn orders(input: &ReportInput<'_>, map: &Map) -> Value {
    let readings = map.readings();
    let positions: BTreeMap<u32, usize> = map.columns.cpus.iter().copied().zip(0..).collect();
    let order = |order: Order| -> Vec<usize> {
        let cpus: Vec<CpuId> = ordered(&readings, input.arranged(), order);
        cpus.iter().filter_map(|cpu| positions.get(&cpu.0).copied()).collect()
    };
    json!({ "reported": order(Order::Topology), "measured": order(Order::Measured) })
}

/// The difference of two maps, with the rows of map A. Each text is stored once; cells refer to it.
fn difference_of(a: &ReportInput<'_>, difference: &DifferenceMap<'_>) -> String {
    let mut words: Vec<&str> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    let verdicts: Vec<usize> = difference
        .verdicts
        .iter()
        .map(|verdict| {
            *known.entry(verdict).or_insert_with(|| {
                words.push(verdict);
                words.len() - 1
            })
        })
        .collect();
    let shown: Vec<u8> = difference.shown.iter().map(|&shown| u8::from(shown)).collect();
    let head = json!({
        "label": difference.of.label(),
        "question": difference.question,
        "measure": "difference",
        "unit": "%",
        "kernel": difference.of.kernel,
        "symmetric": difference.columns.symmetric,
        "cpus": difference.columns.cpus,
        "fixed": null,
        "orders": orders(a, difference.of),
        "passes": [],
        "slices": [],
        "words": words,
        "verdicts": verdicts,
        "shown": shown,
    });
    let mut columns = String::new();
    difference.columns.write_json(&mut columns);
    with_field(&head, "columns", &columns)
}

/// Adds a field as JSON text, so that large parts are not parsed and serialized again.
fn with_field(head: &Value, name: &str, json: &str) -> String {
    appended(head.to_string(), name, json)
}

fn appended(mut text: String, name: &str, json: &str) -> String {
    text.pop();
    text.push_str(&format!(",\"{name}\":{json}}}"));
    text
}
