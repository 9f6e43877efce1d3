//! [`View`]: the parts of a JSON document that reports draw from, whatever probe filled them. What a document leaves
//! out is empty here, so that a section appears as soon as there are data for it.

use super::text::{chosen_time, plain};
use coretalk_measure::probes;
use coretalk_model::quantity::Unit;
use coretalk_model::series::{self, TrialSpec};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A document without its cells.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct View {
    /// The environment block, as it stands.
    pub environment: Value,
    /// What each matrix is.
    pub matrices: Vec<MatrixView>,
    /// Distributions and values.
    pub series: Vec<SeriesView>,
    /// How it came to be.
    pub run: RunView,
}

impl View {
    /// Reads a document. Unknown is null there, and empty here.
    ///
    /// # Errors
    /// Never for a document of this version.
    pub fn of(mut document: Value) -> serde_json::Result<View> {
        leave_out_nulls(&mut document);
        serde_json::from_value(document)
    }
}

fn leave_out_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(leave_out_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(leave_out_nulls),
        _ => {}
    }
}

/// How a run came to be, without private parts.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct RunView {
    /// Words of the command line.
    pub command: Vec<String>,
}

/// What a matrix is.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct MatrixView {
    /// Who made it.
    pub probe: String,
    /// Null for another tool's numbers.
    pub protocol: Option<String>,
    /// The code.
    pub kernel: String,
    /// `serial` or `parallel`.
    pub regime: String,
    /// What tells it from others of its probe.
    pub parameters: BTreeMap<String, Value>,
    /// What a cell is.
    pub quantity: String,
    /// Its unit.
    pub unit: String,
}

/// A distribution, or values.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct SeriesView {
    /// Who made it.
    pub probe: String,
    /// What tells it from others of its probe.
    pub parameters: BTreeMap<String, Value>,
    /// CPUs in role order.
    pub placement: Vec<u32>,
    /// `event` or `batch-mean`.
    pub kind: String,
    /// Of values and percentiles.
    pub unit: String,
    /// What its trial is shown by: a view or the name of a value.
    pub headline: Option<String>,
    /// Events.
    pub count: u64,
    /// By percent.
    pub percentiles: BTreeMap<String, Option<f64>>,
    /// Where the values fit one.
    pub histogram_v2_base64: Option<String>,
    /// Picoseconds in a unit of it.
    pub histogram_unit_ps: u64,
    /// Further numbers by name.
    pub values: BTreeMap<String, Option<f64>>,
    /// Intervals of values, and of the median (`median_ns`).
    pub intervals: BTreeMap<String, [f64; 2]>,
    /// How often something happened.
    pub counts: BTreeMap<String, u64>,
    /// The gravest doubt, or why there is nothing.
    pub reason: Option<String>,
    /// `A` to `D`.
    pub grade: Option<String>,
    /// Doubts and remarks.
    pub flags: Vec<String>,
}

impl SeriesView {
    /// Its parameters as words: `kernel cas, view at-rate`, `gap 20 µs`.
    pub fn words(&self) -> String {
        self.words_without(&[])
    }

    /// Its parameters but for some.
    pub fn words_without(&self, names: &[&str]) -> String {
        let shown = self.parameters.iter().filter(|(name, _)| !names.contains(&name.as_str()));
        shown.map(|(name, value)| json_parameter(name, value)).collect::<Vec<_>>().join(", ")
    }

    /// Which of the distributions of its trial it is.
    pub fn view(&self) -> String {
        self.parameters.get("view").map(bare).unwrap_or_default()
    }

    /// Whether it is the distribution that its trial is shown by.
    pub fn is_headline(&self) -> bool {
        self.headline.as_ref().is_some_and(|headline| *headline == self.view())
    }

    /// Its parameters that are numbers.
    pub fn numbers(&self) -> Vec<(&str, f64)> {
        self.parameters.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_f64()?))).collect()
    }

    /// The median and its interval, where it has one.
    pub fn median(&self) -> Option<(f64, Option<[f64; 2]>)> {
        let point = (*self.percentiles.get("50")?)?;
        Some((point, self.intervals.get("median_ns").copied().filter(|_| self.unit == "ns")))
    }

    /// Its CPUs as words: `0 → 1`.
    pub fn cpus(&self) -> String {
        self.placement.iter().map(u32::to_string).collect::<Vec<_>>().join(" → ")
    }
}

/// What the tables of a probe call a distribution or a value; its own name in words where they have no column for it.
pub fn title_of(probe: &str, name: &str) -> String {
    let declared = probes::quantity(probe, name);
    declared.map_or_else(|| plain(&name.replace(['_', '-'], " ")), |quantity| quantity.title.to_owned())
}

/// The parameters of a trial as words: `gap 20 µs, primitive pipe`.
pub fn parameters(spec: &TrialSpec) -> String {
    let words: Vec<String> = spec.parameters.iter().map(|(name, value)| parameter(name, value)).collect();
    words.join(", ")
}

/// A parameter of a document as words.
pub fn json_parameter(name: &str, value: &Value) -> String {
    match value.as_f64() {
        Some(number) => parameter(name, &series::Value::Number(number)),
        None => parameter(name, &series::Value::Text(bare(value))),
    }
}

/// A parameter as words, as its probe declares it.
pub(super) fn parameter(name: &str, value: &series::Value) -> String {
    let declared = probes::parameter_by_id(name);
    let words = declared.map_or_else(|| name.replace('_', " "), |parameter| parameter.words.to_owned());
    match (declared.map(|parameter| parameter.unit), value) {
        (Some(Unit::Ns), series::Value::Number(ns)) => format!("{words} {}", chosen_time(*ns)),
        _ => format!("{words} {value}"),
    }
}

/// The name of a series in a comparison as words: `gap 1 ms, receiver looks, CPUs 0-1` from
/// `gap_ns=1000000 receiver=looks 0-1`. What holds no parameter stays as it is.
pub fn series_words(name: &str) -> String {
    if !name.contains('=') {
        return plain(name);
    }
    let words = name.split(' ').map(|word| {
        let is_places = !word.is_empty() && word.chars().all(|c| c.is_ascii_digit() || c == '-');
        match word.split_once('=') {
            Some((name, value)) => {
                let number = value.trim_end_matches(',').parse().ok();
                number.map_or_else(
                    || format!("{} {}", name.replace('_', " "), value.trim_end_matches(',')),
                    |number| parameter(name, &series::Value::Number(number)),
                )
            }
            None if is_places && word.contains('-') => format!("CPUs {word}"),
            None if is_places => format!("CPU {word}"),
            None => word.to_owned(),
        }
    });
    plain(&words.collect::<Vec<_>>().join(", "))
}

/// A parameter as it tells rows apart: a name alone (`std-mutex`), a number with what it is (`capacity 10`).
pub fn telling(name: &str, value: &series::Value) -> String {
    match value {
        series::Value::Text(text) => text.clone(),
        series::Value::Number(_) => parameter(name, value),
    }
}

/// A JSON value as a person writes it.
pub fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_named_in_words() {
        for (name, words) in [
            ("gap_ns=1000000 receiver=looks 0-1", "gap 1 ms, receiver looks, CPUs 0-1"),
            ("latency gap_ns=1500, half_net_ns", "latency, gap 1.5 µs, half_net_ns"),
            ("readers=4 7", "readers 4, CPU 7"),
            ("half a round trip", "half a round trip"),
        ] {
            assert_eq!(series_words(name), words);
        }
    }
}
