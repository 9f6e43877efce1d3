//! Words about trials that several tables share: the question of their probe, their CPUs, the width of their intervals.

use super::parameters::{in_role_order, unbound};
use crate::blocks::Block;
use crate::blocks::value::{Arg, DisplayValue, Number, Sentence, Source};
use coretalk_model::probes::ProbeDeclaration;
use coretalk_model::run::{RunReport, SeriesReport};
use coretalk_model::series::{TrialResult, TrialSpec};
use coretalk_model::{CpuId, CpuSet, Relation, Scope, Topology};
use std::collections::BTreeSet;

pub fn question_text(probe: &ProbeDeclaration) -> Sentence {
    Sentence::new(probe.question).capitalized()
}

pub fn question(probe: &ProbeDeclaration) -> Block<'static> {
    Block::Question(question_text(probe))
}

pub fn legend_of_trials(
    report: &RunReport,
    series: &SeriesReport,
    trials: &[&TrialResult],
) -> Vec<Block<'static>> {
    let specs: Vec<_> = trials.iter().map(|trial| &trial.spec).collect();
    let mut seen = BTreeSet::new();
    let entries = (series.glossary.legend)(&specs, &report.environment);
    let remarks =
        entries.into_iter().filter(|entry| seen.insert(entry.clone())).map(|(name, words, number)| {
            let number =
                number.map(|number| DisplayValue::bare(Number::Setting(number.into()), Source::Unrecorded));
            let words =
                number.into_iter().fold(Sentence::new(words), |words, number| words.with("number", number));
            let sentence = Sentence::new(if name.is_empty() { "{words}" } else { "{name}: {words}" });
            Block::Remark(sentence.with_name("name", &name).with("words", words))
        });
    remarks.collect()
}

pub(super) fn placement_sentence(topology: &Topology, placement: &[CpuId]) -> Sentence {
    let related = |template, pair: &[CpuId; 2]| {
        let relation = relation_sentence(topology.relation(pair[0], pair[1]), topology);
        Sentence::new(template).with("pair", role_sentence(pair)).with("relation", relation)
    };
    match placement {
        [from, to] => related("CPUs {pair}, {relation}", &[*from, *to]),
        [from, to, others @ ..] if others.len() > 2 => {
            related("CPUs {pair}, {relation}, with {number} more", &[*from, *to])
                .with("number", DisplayValue::listed(others.len()))
        }
        [one] => Sentence::new("CPU {cpu}").with("cpu", vec![*one]),
        all => Sentence::new("CPUs {cpus}").with("cpus", role_sentence(all)),
    }
}

pub(super) fn role_sentence(cpus: &[CpuId]) -> Sentence {
    in_role_order(cpus, " → ")
}

pub(super) fn place_sentence(topology: &Topology, placement: &[CpuId]) -> Sentence {
    match *placement {
        [from, to] => relation_sentence(topology.relation(from, to), topology),
        _ => placement_sentence(topology, placement),
    }
}

pub(super) fn relation_sentence(relation: Relation, topology: &Topology) -> Sentence {
    Sentence::new("{relation}").with("relation", Arg::Shared(Scope::from_relation(relation, topology)))
}

/// Like `placement_sentence`, without the noun, which the title of the column states.
pub(super) fn cpus_sentence(topology: &Topology, placement: &[CpuId]) -> Sentence {
    match placement {
        [from, to] => Sentence::new("{pair}, {relation}")
            .with("pair", role_sentence(placement))
            .with("relation", relation_sentence(topology.relation(*from, *to), topology)),
        _ => role_sentence(placement),
    }
}

pub(super) fn trial_place(topology: &Topology, trial: &TrialResult) -> Sentence {
    match trial.spec.mask() {
        Some(mask) => unbound(&trial.spec.placement, mask),
        None => placement_sentence(topology, &trial.spec.placement),
    }
}

/// The CPUs of several producers or consumers, and the number of threads that share them; `None` for other trials.
pub(super) fn sides_sentence(trial: &TrialResult) -> Option<Sentence> {
    let TrialSpec { parameters, placement, .. } = &trial.spec;
    let threads = |side: &str| parameters.number(side).map(|threads| threads as usize);
    let (producers, consumers) = placement.split_at_checked(threads("producers")?)?;
    if consumers.len() != threads("consumers")? || placement.len() < 3 {
        return None;
    }
    let side = |cpus: &[CpuId]| {
        let cpus: CpuSet = cpus.iter().copied().collect();
        Sentence::new(if cpus.len() == 1 { "CPU {cpus}" } else { "CPUs {cpus}" }).with("cpus", cpus)
    };
    let cpus = placement.iter().copied().collect::<CpuSet>().len();
    let shared = match cpus < placement.len() {
        true => Sentence::pluralized("; {threads} threads share {number} CPU{s}", DisplayValue::listed(cpus))
            .with("threads", DisplayValue::listed(placement.len())),
        false => Sentence::new(""),
    };
    Some(
        Sentence::new("producers on {producers}, consumers on {consumers}{shared}")
            .with("producers", side(producers))
            .with("consumers", side(consumers))
            .with("shared", shared),
    )
}
