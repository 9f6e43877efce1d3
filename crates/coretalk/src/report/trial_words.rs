//! Words about trials that several tables share: the question of their probe, where one ran, how wide its interval is.

use super::fmt;
use super::ladder::relation_words;
use super::parameters::unbound;
use super::text::{capitalized, count, plain};
use crate::RunReport;
use crate::blocks::value::{Arg, DisplayUnit, DisplayValue, Number, Sentence, Source, Statistic};
use crate::blocks::{Block, Cell};
use coretalk_measure::series::{SeriesProbe, mask_of};
use coretalk_model::quantity::Unit;
use coretalk_model::series::{TrialResult, TrialSpec};
use coretalk_model::{CpuId, CpuSet, Relation, Scope, Topology};

/// The question that a probe answers.
pub fn question_text(probe: &dyn SeriesProbe) -> String {
    capitalized(probe.spec().question)
}

/// The question that a probe answers, as a heading.
pub fn question(probe: &dyn SeriesProbe) -> Block<'static> {
    Block::Question(question_text(probe).into())
}

/// What the probe has to say about these trials.
pub fn remarks(probe: &dyn SeriesProbe, trials: &[&TrialResult]) -> Vec<Block<'static>> {
    let specs: Vec<_> = trials.iter().map(|trial| &trial.spec).collect();
    probe.remarks(&specs).iter().map(|remark| Block::Remark(plain(remark).into())).collect()
}

/// The CPUs in role order, and what two of them share.
pub fn placement_words(report: &RunReport, placement: &[CpuId]) -> String {
    fmt::sentence(&placement_sentence(&report.topology, placement))
}

/// The same as a sentence.
pub(super) fn placement_sentence(topology: &Topology, placement: &[CpuId]) -> Sentence {
    let cpu = |cpu: &CpuId| Sentence::new("{cpu}").with("cpu", vec![*cpu]);
    let roles = |cpus: &[CpuId]| Arg::Parts(cpus.iter().map(cpu).collect(), " → ");
    let related = |template, pair: &[CpuId; 2]| {
        let relation = relation_sentence(topology.relation(pair[0], pair[1]), topology);
        Sentence::new(template).with("pair", roles(pair)).with("relation", relation)
    };
    match placement {
        [from, to] => related("CPUs {pair}, {relation}", &[*from, *to]),
        [from, to, others @ ..] if others.len() > 2 => {
            related("CPUs {pair}, {relation}, with {number} more", &[*from, *to])
                .with("number", DisplayValue::listed(others.len()))
        }
        [one] => Sentence::new("CPU {cpu}").with("cpu", vec![*one]),
        all => Sentence::new("CPUs {cpus}").with("cpus", roles(all)),
    }
}

/// What the CPUs of a pair share, which stands for its relation; any other placement as it is.
pub(super) fn place_sentence(topology: &Topology, placement: &[CpuId]) -> Sentence {
    match *placement {
        [from, to] => relation_sentence(topology.relation(from, to), topology),
        _ => placement_sentence(topology, placement),
    }
}

/// What the CPUs of a relation share.
pub(super) fn relation_sentence(relation: Relation, topology: &Topology) -> Sentence {
    Sentence::new("{relation}").with("relation", Arg::Shared(Scope::of(relation, topology)))
}

/// The same without the noun, for a column that has it.
pub fn cpus_words(report: &RunReport, placement: &[CpuId]) -> String {
    let relation =
        |from: &CpuId, to: &CpuId| relation_words(report.topology.relation(*from, *to), &report.topology);
    match placement {
        [from, to] => format!("{from} → {to}, {}", relation(from, to)),
        [from, to, others @ ..] if others.len() > 2 => {
            format!("{from} → {to}, {}, with {} more", relation(from, to), others.len())
        }
        _ => placement.iter().map(ToString::to_string).collect::<Vec<_>>().join(" → "),
    }
}

/// The CPUs of a trial: those on which its roles may run where they are not bound, else as [`placement_words`].
pub fn places_of(report: &RunReport, trial: &TrialResult) -> String {
    match mask_of(&trial.spec) {
        Some(mask) => unbound(&trial.spec.placement, mask),
        None => placement_words(report, &trial.spec.placement),
    }
}

/// The CPUs of several producers or consumers, and how many threads share them; `None` of any other trial.
pub fn sides_words(trial: &TrialResult) -> Option<String> {
    let TrialSpec { parameters, placement, .. } = &trial.spec;
    let threads = |side: &str| parameters.number(side).map(|threads| threads as usize);
    let (producers, consumers) = placement.split_at_checked(threads("producers")?)?;
    if consumers.len() != threads("consumers")? || placement.len() < 3 {
        return None;
    }
    let [producers, consumers] = [producers, consumers].map(|cpus| {
        let cpus: CpuSet = cpus.iter().copied().collect();
        format!("{} {cpus}", if cpus.len() == 1 { "CPU" } else { "CPUs" })
    });
    let cpus = placement.iter().copied().collect::<CpuSet>().len();
    let shared = match cpus < placement.len() {
        true => format!("; {} threads share {}", placement.len(), count(cpus as u64, "CPU")),
        false => String::new(),
    };
    Some(format!("producers on {producers}, consumers on {consumers}{shared}"))
}

/// Half the width of the interval of a median, next to the median of all events of its distribution.
pub fn median_width(trial: &TrialResult, quantity: &'static str) -> Cell {
    let stated = trial.histogram(quantity).and_then(|histogram| histogram.percentile_ns(0.5));
    let known = trial.medians_ns.get(quantity).zip(stated);
    Cell::number(known.map(|(of, stated)| DisplayValue {
        number: Number::HalfWidth { of: *of, stated },
        unit: DisplayUnit::Own(Unit::Share),
        source: Source::of_trial(trial, quantity, Statistic::Estimate),
    }))
}
