//! Trials over many pairs as maps: a description, and a text picture.

use super::heat_map::PairMap;
use super::parameters::{parameters, title_sentence};
use super::trial_words::relation_sentence;
use crate::blocks::Block;
use crate::blocks::value::{DisplayUnit, DisplayValue, MapSource, Number, Sentence, Source, Statistic};
use coretalk_model::latency::summary::PairReading;
use coretalk_model::probes::{self, ProbeDeclaration};
use coretalk_model::queue::QueueCell;
use coretalk_model::run::{RunReport, SeriesReport};
use coretalk_model::series::summary::{by_relation, headline};
use coretalk_model::series::{Alike, MapUnit, TrialResult, alike};
use coretalk_model::stats::Estimate;
use coretalk_model::{CpuId, Matrix, Relation, contend, jitter};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Kinds of trials for maps of pairs. Probes with tables of their own are left out.
pub fn maps(series: &SeriesReport) -> Vec<Alike<'_>> {
    let table_probes = [contend::names::PROBE, jitter::names::PROBE, probes::spawn::DECLARATION.id];
    let trials = series
        .result
        .trials
        .iter()
        .filter(|trial| !QueueCell::holds(trial) && !table_probes.contains(&trial.spec.probe.as_str()));
    alike(trials).into_iter().filter(Alike::is_map).collect()
}

pub fn map_words(series: &SeriesReport, kind: &Alike<'_>) -> Sentence {
    let spec = &kind.trials[0].spec;
    let roles = probes::declaration(&spec.probe).unwrap_or(&ProbeDeclaration::EMPTY).pair_roles;
    let is_value = |name: &&str| kind.trials.iter().any(|trial| trial.values.contains_key(*name));
    let value = kind.displayed_value(&series.settings).filter(is_value);
    let what = value.map_or(Sentence::new("median"), |name| title_sentence(&spec.probe, name));
    let unit = kind.unit(&series.settings).name;
    let unit = match unit.is_empty() {
        true => Sentence::new(""),
        false => Sentence::new(" in {unit}").with_name("unit", &unit),
    };
    Sentence::new("{parameters}: {what}{unit}, {roles}")
        .with("parameters", parameters(spec))
        .with("what", what)
        .with("unit", unit)
        .with("roles", roles)
}

pub fn number_of_map<'a>(
    series: &'a SeriesReport,
    unit: &MapUnit,
    trial: &'a TrialResult,
) -> Option<Estimate> {
    Some(headline(&series.settings, trial)?.scaled(1.0 / unit.divisor))
}

pub fn map<'a>(report: &'a RunReport, series: &'a SeriesReport, kind: &Alike<'a>) -> Vec<Block<'a>> {
    let unit = kind.unit(&series.settings);
    let measured: Vec<&TrialResult> = kind.with_value().collect();
    let of_pair: BTreeMap<&[CpuId], &TrialResult> =
        measured.iter().map(|trial| (trial.spec.placement.as_slice(), *trial)).collect();
    let readings = Matrix::directed(series.settings.cpus.clone(), |row, column| {
        let (from, to) = (series.settings.cpus[row], series.settings.cpus[column]);
        let trial = of_pair.get(&[from, to][..])?;
        let doubtful = trial.flags.may_be_wrong();
        Some(PairReading { ns: number_of_map(series, &unit, trial)?.point, doubtful })
    });
    let spec = &kind.trials[0].spec;
    let source = MapSource::Trials {
        probe: spec.probe.clone(),
        parameters: spec.parameters.clone(),
        quantity: kind.displayed_value(&series.settings).unwrap_or_default().to_owned(),
    };
    let relation = |(relation, value, pairs): (Relation, f64, usize)| {
        let pairs_source = |statistic| {
            let map = source.clone();
            Source::Pairs { map, relation, classes: None, statistic }
        };
        let number = Number::Point(value);
        let unit_of = DisplayUnit::OfColumn(unit.divisor);
        let value = DisplayValue { number, unit: unit_of, source: pairs_source(Statistic::Percentile(0.5)) };
        let pairs = Sentence::counted(pairs as u64, pairs_source(Statistic::Count), ["pair", "pairs"]);
        let sentence = match unit.name.is_empty() {
            true => Sentence::new("{relation} {value} ({pairs})"),
            false => Sentence::new("{relation} {value} {unit} ({pairs})").with_name("unit", &unit.name),
        };
        sentence
            .with("relation", relation_sentence(relation, &report.topology))
            .with("value", value)
            .with("pairs", pairs)
    };
    let relations = by_relation(&series.settings, &report.topology, &measured).into_iter().map(relation);
    let relations = Block::Prose(Sentence::joined(relations, ", "));
    let map = PairMap::new(Cow::Owned(readings), &report.topology, source.clone()).in_unit(unit.clone());
    vec![
        Block::Prose(map_words(series, kind)),
        Block::sketch(move |style| map.draw(style).0),
        relations,
        Block::Gap,
    ]
}
