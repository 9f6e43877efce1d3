//! [`Labels`]: names of the series of a comparison. Common parts are stated once; rows state the other parts.

use super::fmt;
use super::parameters::{cpu_words, parameter, parameter_sentence, series_words, unbound};
use super::text::columns;
use crate::blocks::value::Sentence;
use coretalk_model::CpuId;
use coretalk_model::series::MASK;
use coretalk_model::series::{NamePart, ParameterValue, SeriesName};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum width of a label, in columns. Beyond it, parameters move above the rows, so that the numbers have room.
const MAX_COLUMNS: usize = 34;
/// A parameter that labels leave out, because the kind of creation determines it. It is the same for every process.
const IMPLIED: &str = "parent_mib";
/// Maximum width of a list of CPUs, in columns, that is kept where rows are unique without it.
const SHORT_CPUS: usize = 11;

#[derive(Debug, Clone, Default)]
pub struct Labels {
    shared: Vec<Sentence>,
    rows: BTreeMap<String, Label>,
}

#[derive(Debug, Clone, Default)]
struct Label {
    section: Vec<Sentence>,
    row: Vec<Sentence>,
    rank: usize,
}

struct Parts {
    parameters: BTreeMap<String, ParameterValue>,
    cpus: Option<Sentence>,
}

impl Labels {
    pub fn from_names<'a>(names: impl Iterator<Item = &'a str>) -> Labels {
        let named: BTreeMap<&str, Parts> =
            names.filter_map(|name| Some((name, Parts::from_name(SeriesName::parse(name)?)))).collect();
        let (names, mut parts): (Vec<&str>, Vec<Parts>) = named.into_iter().unzip();
        let shared = if parts.len() > 1 { take_shared(&mut parts) } else { Vec::new() };
        leave_out_cpus(&mut parts);
        let above = above_rows(&parts);
        let mut ordered: Vec<(&str, Parts)> = names.into_iter().zip(parts).collect();
        ordered.sort_by_cached_key(|(_, parts)| parts.order());
        let rows = ordered.iter().enumerate().map(|(rank, (name, parts))| {
            let section = parts.words(|parameter| above.contains(parameter), value_words);
            let mut row = parts.words(|parameter| !above.contains(parameter), value_words);
            row.extend(parts.cpus.clone());
            ((*name).to_owned(), Label { section, row, rank })
        });
        Labels { shared, rows: rows.collect() }
    }

    pub fn shared(&self) -> Option<Sentence> {
        (!self.shared.is_empty()).then(|| joined(&self.shared))
    }

    pub fn section(&self, name: &str) -> Option<Sentence> {
        let section = &self.rows.get(name)?.section;
        (!section.is_empty()).then(|| joined(section))
    }

    pub fn row(&self, name: &str) -> Sentence {
        self.rows.get(name).map_or_else(|| series_words(name), |label| joined(&label.row))
    }

    /// The rank of a row. Names are sorted alphabetically, numbers by value.
    pub fn rank(&self, name: &str) -> usize {
        self.rows.get(name).map_or(0, |label| label.rank)
    }

    pub fn whole(&self, name: &str) -> Sentence {
        let parts = |label: &Label| joined(&[label.row.clone(), label.section.clone()].concat());
        self.rows.get(name).map_or_else(|| series_words(name), parts)
    }
}

fn joined(words: &[Sentence]) -> Sentence {
    Sentence::joined(words.iter().cloned(), ", ")
}

fn width(words: &[Sentence]) -> usize {
    columns(&fmt::sentence(&joined(words)))
}

impl Parts {
    fn from_name(name: SeriesName<'_>) -> Parts {
        let mut parts = Parts { parameters: BTreeMap::new(), cpus: None };
        let (mut mask, mut cpus) = (None, None);
        for part in name.0 {
            match part {
                NamePart::Parameter(IMPLIED, _) => {}
                NamePart::Parameter(MASK, value) => mask = value.to_string().parse().ok(),
                NamePart::Parameter(name, value) => {
                    parts.parameters.insert(name.to_owned(), value);
                }
                NamePart::Cpus(placement) => cpus = Some(placement),
                NamePart::Word(word) => parts.cpus = Some(Sentence::name(word)),
            }
        }
        let words = |cpus: Vec<CpuId>| mask.map_or_else(|| cpu_words(&cpus), |mask| unbound(&cpus, mask));
        parts.cpus = cpus.map(words).or(parts.cpus);
        parts
    }

    fn order(&self) -> (Vec<String>, Vec<u64>, Option<String>) {
        let names = self.parameters.values().filter_map(|value| match value {
            ParameterValue::Text(text) => Some(text.clone()),
            ParameterValue::Number(_) => None,
        });
        // Bits of non-negative numbers have the order of the numbers.
        let numbers = self.parameters.values().filter_map(|value| match value {
            ParameterValue::Number(number) => Some(number.max(0.0).to_bits()),
            ParameterValue::Text(_) => None,
        });
        (names.collect(), numbers.collect(), self.cpus.as_ref().map(fmt::sentence))
    }

    fn words(
        &self,
        which: impl Fn(&str) -> bool,
        word: impl Fn(&str, &ParameterValue) -> Sentence,
    ) -> Vec<Sentence> {
        let chosen = self.parameters.iter().filter(|(name, _)| which(name));
        let (names, numbers): (Vec<_>, Vec<_>) =
            chosen.partition(|(_, value)| matches!(value, ParameterValue::Text(_)));
        names.into_iter().chain(numbers).map(|(name, value)| word(name, value)).collect()
    }
}

fn take_shared(parts: &mut [Parts]) -> Vec<Sentence> {
    let Some(first) = parts.first() else { return Vec::new() };
    let in_all = |name: &String, value: &ParameterValue| {
        parts.iter().all(|other| other.parameters.get(name) == Some(value))
    };
    let shared: BTreeMap<String, ParameterValue> =
        first.parameters.clone().into_iter().filter(|(name, value)| in_all(name, value)).collect();
    let cpus = first.cpus.clone().filter(|_| parts.iter().all(|other| other.cpus == first.cpus));
    for part in parts.iter_mut() {
        part.parameters.retain(|name, _| !shared.contains_key(name));
        part.cpus.take_if(|_| cpus.is_some());
    }
    let words = Parts { parameters: shared, cpus: None }.words(|_| true, parameter);
    words.into_iter().chain(cpus).collect()
}

fn leave_out_cpus(parts: &mut [Parts]) {
    let longest = parts.iter().map(|part| width(part.cpus.as_slice())).max();
    let rows: BTreeSet<String> =
        parts.iter().map(|part| fmt::sentence(&joined(&part.words(|_| true, parameter)))).collect();
    if rows.len() == parts.len() && longest > Some(SHORT_CPUS) {
        parts.iter_mut().for_each(|part| part.cpus = None);
    }
}

/// The parameters above the rows. Parameters that divide the rows into the fewest sections come first.
fn above_rows(parts: &[Parts]) -> BTreeSet<String> {
    let mut above = BTreeSet::new();
    let mut remaining: BTreeSet<&String> = parts.iter().flat_map(|part| part.parameters.keys()).collect();
    let longest = |above: &BTreeSet<String>| {
        let row = |part: &Parts| {
            let words = part.words(|name| !above.contains(name), value_words);
            width(&words.into_iter().chain(part.cpus.clone()).collect::<Vec<_>>())
        };
        parts.iter().map(row).max().unwrap_or(0)
    };
    while remaining.len() > 1 && longest(&above) > MAX_COLUMNS {
        let priority = |name: &&&String| {
            let values: Vec<Option<&ParameterValue>> =
                parts.iter().map(|part| part.parameters.get(**name)).collect();
            let distinct: BTreeSet<Option<String>> =
                values.iter().map(|value| value.map(ToString::to_string)).collect();
            let is_name = values.iter().any(|value| matches!(value, Some(ParameterValue::Text(_))));
            (distinct.contains(&None), distinct.len(), is_name)
        };
        let Some(next) = remaining.iter().min_by_key(priority).copied() else { break };
        remaining.remove(next);
        above.insert(next.clone());
    }
    above
}

/// A parameter in words. The name of a text parameter is stated only if the text could be mistaken for a number.
fn value_words(name: &str, value: &ParameterValue) -> Sentence {
    match value {
        ParameterValue::Text(text) if text.starts_with(|c: char| c.is_ascii_digit()) => {
            parameter(name, value)
        }
        value => parameter_sentence(name, value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_parts_are_stated_once_and_rows_state_differences() {
        let mut names = Vec::new();
        for method in ["cas-backoff", "parking-lot-mutex"] {
            for (critical, parallel) in [(0, 0), (50, 500)] {
                for threads in ["threads=2 0-1", "threads=16 0-1-2-3"] {
                    names.push(format!(
                        "arrange=compact-core critical_ns={critical} method={method} parallel_ns={parallel} \
                         {threads}"
                    ));
                }
            }
        }
        let labels = Labels::from_names(names.iter().map(String::as_str));
        let last = names.last().unwrap();
        let [shared, section] =
            [labels.shared(), labels.section(last)].map(|sentence| fmt::sentence(&sentence.unwrap()));
        assert_eq!(shared, "arrange compact-core");
        assert_eq!(fmt::sentence(&labels.row(last)), "parking-lot-mutex, threads 16");
        assert_eq!(section, "critical 50 ns, parallel 500 ns");
        let whole = |name| fmt::sentence(&labels.whole(name));
        assert_eq!(whole(last), "parking-lot-mutex, threads 16, critical 50 ns, parallel 500 ns");
        assert!(labels.rank(last) > labels.rank(&names[names.len() - 2]));
        let distinct: BTreeSet<String> = names.iter().map(|name| whole(name)).collect();
        assert_eq!(distinct.len(), names.len());
    }

    #[test]
    fn a_single_series_is_named_in_full_and_other_levels_are_unchanged() {
        let labels = Labels::from_names(["gap_ns=1000000 receiver=looks 0-1"].into_iter());
        let whole = |name| fmt::sentence(&labels.whole(name));
        assert_eq!(whole("gap_ns=1000000 receiver=looks 0-1"), "looks, gap 1 ms, CPUs 0-1");
        assert_eq!(labels.shared(), None);
        assert_eq!(whole("all pairs"), "all pairs");
    }
}
