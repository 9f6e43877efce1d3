//! Fields of JSON documents as sources of numbers.

use super::run::{Run, list};
use coretalk_model::quantity::Unit;
use coretalk_model::{CpuId, CpuSet};
use coretalk_report::blocks::value::{DisplayUnit, DisplayValue, Number, Operation, Source};
use serde_json::Value;

/// Returns a document or a cell, and the pointer of a field in it; a source run has fields that the document lacks.
fn located<'a>(run: &'a Run, source: &'a Source) -> Option<(&'a Value, &'a str)> {
    Some(match source {
        Source::Field(path) => {
            let mut all = std::iter::once(&run.document).chain(&run.sources);
            (all.find(|document| document.pointer(path).is_some())?, path.as_str())
        }
        Source::Pair { kernel, pair, field } => {
            let of_kernel = |matrix: &&Value| matrix["kernel"] == **kernel;
            let matrix = list(&run.document["matrices"]).iter().find(of_kernel)?;
            let is_pair = |cell: &&Value| {
                let ends = [&cell["from"], &cell["to"]].map(|cpu| cpu.as_u64().map(|cpu| CpuId(cpu as u32)));
                let [a, b] = pair.map(Some);
                ends == [a, b] || matrix["symmetric"] == true && ends == [b, a]
            };
            (list(&matrix["cells"]).iter().find(is_pair)?, *field)
        }
        _ => return None,
    })
}

pub fn raw<'a>(run: &'a Run, source: &'a Source) -> Option<&'a Value> {
    let (base, path) = located(run, source)?;
    base.pointer(path)
}

/// Converts a field to a number: a list or a CPU set to its length, a percentage to a share.
fn number(field: &Value, path: &str) -> Option<f64> {
    let scale = if is_in_percent(path) { 0.01 } else { 1.0 };
    let cpus = || field.as_str().and_then(|cpus| cpus.parse::<CpuSet>().ok()).map(|cpus| cpus.len());
    let length = || field.as_array().map(Vec::len).or_else(cpus).map(|length| length as f64);
    field.as_f64().map(|number| scale * number).or_else(length)
}

pub fn field_of(run: &Run, source: &Source) -> Option<f64> {
    let (base, path) = located(run, source)?;
    number(base.pointer(path)?, path)
}

/// The interval of a field: `ci` of the same object, or the entry in `intervals` of a distribution.
pub fn interval_of(run: &Run, source: &Source) -> Option<[Option<f64>; 2]> {
    let (base, path) = located(run, source)?;
    let (object, key) = path.rsplit_once('/')?;
    let of_series = |list: &str| object.strip_suffix(list).filter(|series| series.starts_with("/series/"));
    let interval = match (of_series("/percentiles"), of_series("/values")) {
        (Some(series), _) if key == "50" => format!("{series}/intervals/median_ns"),
        (_, Some(series)) => format!("{series}/intervals/{key}"),
        _ => format!("{object}/ci"),
    };
    let interval = base.pointer(&interval).unwrap_or(&Value::Null);
    Some([0, 1].map(|end| number(&interval[end], path)))
}

/// The numbers at a pointer in which `*` stands for every index; `None` if any number is missing or null.
pub fn numbers_at(value: &Value, path: &str) -> Option<Vec<f64>> {
    match path.split_once("/*") {
        None => Some(vec![value.pointer(path)?.as_f64()?]),
        Some((start, rest)) => {
            let items = list(value.pointer(start)?).iter().map(|item| numbers_at(item, rest));
            items.collect::<Option<Vec<_>>>().map(|all| all.concat())
        }
    }
}

pub fn is_in_percent(path: &str) -> bool {
    path.contains("_percent") || path.starts_with("/differences/") && path.contains("/ci/")
}

/// Whether a difference is the rounding error of a field times its factor.
pub fn is_scaled(source: &Source, difference: f64) -> bool {
    matches!(source, Source::Computed(Operation::Product, parts)
        if matches!(parts[..], [Source::Constant(factor), Source::Field(_)] if difference.abs() <= 0.51e-4 * factor))
}

/// Whether the path of a field determines its unit on a screen. Spin times are shown in microseconds.
pub fn has_own_unit(run: &Run, path: &str) -> bool {
    let is_below = |list: &str| path.starts_with(list);
    is_below("/advice") && run.document["advice"][0]["kind"] != "spin"
        || ["/compared", "/differences", "/overview"].into_iter().any(is_below)
}

/// Whether a number is shown in the unit that the path of its field determines.
pub fn is_in_own_unit(run: &Run, path: &str, value: &DisplayValue) -> bool {
    let is_difference = matches!(value.number, Number::Difference(_) | Number::Shift(_));
    let is_share = is_difference || value.unit == DisplayUnit::Own(Unit::Share);
    let is_scaled = matches!(value.unit, DisplayUnit::OfColumn(divisor) if divisor != 1.0);
    if is_in_percent(path) { is_share } else { !has_own_unit(run, path) || !is_share && !is_scaled }
}

/// The path of a field, or of the field whose relative difference is reversed.
pub fn path_of(source: &Source) -> Option<&str> {
    match source {
        Source::Field(path) => Some(path),
        Source::Computed(Operation::Reversed, parts) => path_of(&parts[0]),
        _ => None,
    }
}

pub fn unit_of_topology(run: &Run, headings: &[String], value: &DisplayValue) -> Option<String> {
    let path = path_of(&value.source)?.strip_prefix("/topology/")?;
    let is_share = path.ends_with("scatter") || path.ends_with("repeats") || path.contains("_kept/");
    let is_right = match value.unit {
        DisplayUnit::Own(unit) => unit == Unit::Share && is_share || unit == Unit::Bytes,
        DisplayUnit::Decimals(_) => path.ends_with("ratio"),
        unit => unit == DisplayUnit::OfColumn(1.0) && !is_share,
    };
    let unit = run.document["topology"]["inferred"]["levels"][0]["unit"].as_str();
    let is_other = |heading: &String| {
        heading.strip_prefix("inside, ").zip(unit).is_some_and(|(of_column, unit)| of_column != unit)
    };
    (!is_right || headings.iter().any(is_other)).then(|| format!("the unit of {value:?} below {headings:?}"))
}
