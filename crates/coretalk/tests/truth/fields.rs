//! Fields of documents as the sources of numbers.

use super::run::{Run, list};
use coretalk::blocks::value::{DisplayUnit, DisplayValue, Number, Source};
use coretalk_model::quantity::Unit;
use coretalk_model::stats::Estimate;
use coretalk_model::{CpuId, CpuSet};
use serde_json::Value;

/// The field of a source, and where it lies. What a document does not have is in that of the run that the command reads.
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

/// A field as it is in the document.
pub fn raw<'a>(run: &'a Run, source: &'a Source) -> Option<&'a Value> {
    let (base, path) = located(run, source)?;
    base.pointer(path)
}

/// A field as a number, of a list or a set of CPUs its length, and the interval that stands with it.
pub fn field_of(run: &Run, source: &Source) -> Option<(Option<f64>, [Option<f64>; 2])> {
    let (base, path) = located(run, source)?;
    let scale = if is_in_percent(path) { 0.01 } else { 1.0 };
    let number = |field: &Value| {
        let cpus = || field.as_str().and_then(|cpus| cpus.parse::<CpuSet>().ok()).map(|cpus| cpus.len());
        let length = || field.as_array().map(Vec::len).or_else(cpus).map(|length| length as f64);
        field.as_f64().map(|number| scale * number).or_else(length)
    };
    let interval = base.pointer(&format!("{}/ci", path.rsplit_once('/')?.0)).unwrap_or(&Value::Null);
    Some((number(base.pointer(path)?), [0, 1].map(|end| number(&interval[end]))))
}

/// Whether a field is in percent, and its interval with it.
pub fn is_in_percent(path: &str) -> bool {
    path.contains("_percent") || path.starts_with("/differences/") && path.contains("/ci/")
}

/// Whether a difference is what rounding leaves of a field that a factor scales.
pub fn is_scaled(source: &Source, difference: f64) -> bool {
    matches!(source, Source::Product(factor, of) if matches!(**of, Source::Field(_))
        && matches!(**factor, Source::Constant(factor) if difference.abs() <= 0.51e-4 * factor))
}

/// Whether a field is written in the unit that its name states in documents of advice and comparisons.
pub fn is_in_own_unit(path: &str, value: &DisplayValue) -> bool {
    let is_difference = matches!(value.number, Number::Difference(_) | Number::Shift(_));
    let is_share = is_difference || value.unit == DisplayUnit::Own(Unit::Share);
    match is_in_percent(path) {
        true => is_share,
        false
            if ["/advice", "/compared", "/differences", "/overview"]
                .iter()
                .any(|of| path.starts_with(of)) =>
        {
            !is_share && !matches!(value.unit, DisplayUnit::OfColumn(divisor) if divisor != 1.0)
        }
        false => true,
    }
}

pub fn path_of(source: &Source) -> Option<&str> {
    if let Source::Field(path) = source { Some(path) } else { None }
}

/// The ends and the point of a relative difference that a document has in percent.
pub fn share_of(run: &Run, source: &Source) -> Option<[Option<f64>; 3]> {
    if let Source::Reversed(of) = source {
        let [low, point, high] = share_of(run, of)?;
        return Some([high, point, low].map(|share| share.map(|share| 1.0 / (1.0 + share) - 1.0)));
    }
    path_of(source).filter(|path| path.starts_with("/comparisons/") && path.ends_with("_percent"))?;
    let (point, [low, high]) = field_of(run, source)?;
    Some([low, point, high])
}

/// What is wrong with a relative difference. The size of one stands with a word for its sign.
pub fn contradicted_share([low, point, high]: [Option<f64>; 3], shown: &DisplayValue) -> Option<String> {
    let is_same = |one: Option<f64>, other: f64| {
        one.is_some_and(|one| (one - other).abs() <= 1e-6 * (1.0 + other.abs()).powi(2))
    };
    let is_interval =
        |of: &Estimate| is_same(low, of.low) && is_same(high, of.high) && is_same(point, of.point);
    let is_so = match shown.number {
        _ if shown.unit != DisplayUnit::Own(Unit::Share) => false,
        Number::Relative(share) => is_same(point, share),
        Number::Point(size) => is_same(point.map(f64::abs), size),
        Number::Reach(of) | Number::Size(of) => is_interval(&of),
        _ => false,
    };
    (!is_so).then(|| format!("{point:?} from {low:?} to {high:?}, not {shown:?}"))
}
