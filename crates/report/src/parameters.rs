//! Parameters and quantities in words, for trials and for series of documents.

use super::fmt;
use crate::blocks::value::{Arg, DisplayUnit, DisplayValue, Number, PlainText, Sentence, Source, pointer};
use crate::document::{SeriesDoc, ValueDoc};
use coretalk_model::probes;
use coretalk_model::quantity::{Quantity, Unit};
use coretalk_model::series::MASK;
use coretalk_model::series::{self, NamePart, SeriesName, TrialSpec};
use coretalk_model::{CpuId, CpuSet};
use std::borrow::Cow;

/// The parameters of a series except the hidden ones: `kernel cas, view at-rate`, `gap 20 µs`.
pub fn words_of(series: &SeriesDoc, hidden: &[&str]) -> String {
    fmt::sentence(&sentence_of(series, 0, hidden))
}

/// Like [`words_of`], as a sentence; `index` is the position of the series in its document.
pub(super) fn sentence_of(series: &SeriesDoc, index: usize, hidden: &[&str]) -> Sentence {
    let shown = series.parameters.iter().filter(|(name, _)| !hidden.contains(&name.as_ref()));
    let part = |(name, value): (&Cow<'_, str>, &ValueDoc<'_>)| {
        sentence(name, &value.into(), Source::Field(pointer!("/series/{index}/parameters/{name}")))
    };
    Sentence::new("{parameters}").with("parameters", Arg::Parts(shown.map(part).collect(), ", "))
}

/// The CPUs of a series in role order, `0 → 1`; for unbound threads, the CPUs on which they may run.
pub fn places_of(series: &SeriesDoc) -> String {
    let cpus: Vec<CpuId> = series.placement.iter().copied().map(CpuId).collect();
    let words = mask_of(series).map(|mask| unbound(&cpus, mask));
    fmt::sentence(&words.unwrap_or_else(|| in_role_order(&cpus, " → ")))
}

/// The CPUs on which the threads of a series may run; `None` if they are bound.
pub fn mask_of(series: &SeriesDoc) -> Option<CpuSet> {
    series::ParameterValue::from(series.parameters.get(MASK)?).to_string().parse().ok()
}

/// The title of a distribution or value in the tables of a probe; without a column, its name.
pub(super) fn title_sentence(probe: &str, name: &str) -> Sentence {
    let readable = || Sentence::name(&name.replace(['_', '-'], " "));
    probes::quantity(probe, name).map_or_else(readable, |quantity| Sentence::new(quantity.title))
}

pub(super) fn explanation(quantity: &Quantity) -> Option<Sentence> {
    let meaning = Sentence::from(quantity.meaning?);
    Some(match quantity.formula {
        Some(formula) => {
            Sentence::new("{meaning}: {formula}").with("meaning", meaning).with("formula", formula)
        }
        None => meaning,
    })
}

/// The parameters of a trial: `gap 20 µs, primitive pipe`. The mask of unbound threads is left out; see [`unbound`].
pub fn parameters(spec: &TrialSpec) -> Sentence {
    let shown = spec.parameters.iter().filter(|(name, _)| *name != MASK);
    let part = |(name, value): (&str, &series::ParameterValue)| {
        sentence(name, value, Source::Parameter { trial: Some(spec.id()), name: name.to_owned() })
    };
    Sentence::joined(shown.map(part), ", ")
}

/// The place of unbound threads, `any of CPUs 0-15`; `CPU 0 → any` if only the creator is bound.
pub fn unbound(placement: &[CpuId], mask: CpuSet) -> Sentence {
    match placement {
        [creator] => Sentence::new("CPU {creator} → any").with("creator", *creator),
        _ => Sentence::new("any of CPUs {mask}").with("mask", mask),
    }
}

pub(super) fn in_role_order(cpus: &[CpuId], between: &'static str) -> Sentence {
    Sentence::joined(cpus.iter().map(|cpu| Sentence::new("{cpu}").with("cpu", *cpu)), between)
}

pub(super) fn parameter(name: &str, value: &series::ParameterValue) -> Sentence {
    sentence(name, value, Source::Parameter { trial: None, name: name.to_owned() })
}

pub(super) fn sentence(name: &str, value: &series::ParameterValue, source: Source) -> Sentence {
    let declared = probes::parameter(name);
    let words = declared
        .map_or_else(|| PlainText::untrusted(&name.replace('_', " ")), |parameter| parameter.words.into());
    let sentence = Sentence::new("{parameter} {value}").with("parameter", words);
    match value {
        series::ParameterValue::Text(text) => sentence.with_name("value", text),
        series::ParameterValue::Number(number) => {
            let unit = DisplayUnit::Own(declared.map_or(Unit::Number, |parameter| parameter.unit));
            sentence.with("value", DisplayValue { number: Number::Setting(*number), unit, source })
        }
    }
}

/// A series in a comparison: `gap 1 ms, CPUs 0-1` from `gap_ns=1000000 0-1`. A name without parameters stays as it is.
pub fn series_words(name: &str) -> Sentence {
    let Some(SeriesName(parts)) = SeriesName::parse(name) else { return Sentence::name(name) };
    let words = parts.iter().map(|part| match part {
        NamePart::Parameter(name, value) => parameter(name, value),
        NamePart::Cpus(cpus) => cpu_words(cpus),
        NamePart::Word(word) => Sentence::name(word),
    });
    Sentence::joined(words, ", ")
}

pub(super) fn cpu_words(cpus: &[CpuId]) -> Sentence {
    let template = if cpus.len() > 1 { "CPUs {cpus}" } else { "CPU {cpus}" };
    Sentence::new(template).with("cpus", in_role_order(cpus, "-"))
}

/// A parameter as the name of a row: text alone (`std-mutex`), a number with its noun (`capacity 10`).
pub fn parameter_text(name: &str, value: &series::ParameterValue) -> String {
    fmt::sentence(&parameter_sentence(name, value))
}

pub(super) fn parameter_sentence(name: &str, value: &series::ParameterValue) -> Sentence {
    match value {
        series::ParameterValue::Text(text) => Sentence::name(text),
        series::ParameterValue::Number(_) => parameter(name, value),
    }
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
            ("rate_per_s=63000 0-1", "rate 63 k/s, CPUs 0-1"),
            ("half a round trip", "half a round trip"),
        ] {
            assert_eq!(fmt::sentence(&series_words(name)), words);
        }
    }
}
