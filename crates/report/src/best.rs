//! The [`Ranking`] of a probe in one sentence. The model decides the subjects, the condition and the verdict.

use super::trial_words::place_sentence;
use super::{fmt, parameters};
use crate::blocks::value::{Arg, DisplayUnit, DisplayValue, Number, Sentence, Source, Statistic};
use coretalk_model::probes;
use coretalk_model::quantity::{Aggregate, Better, Quantity, Unit, Unranked};
use coretalk_model::run::{RunReport, SeriesReport};
use coretalk_model::series::{ParameterValue, Ranking, RankingVerdict, Subject, ranking, rankings};

const MAX_ALIKE: usize = 3;

pub(super) fn of_probe<'a>(report: &RunReport, series: &'a SeriesReport, probe: &str) -> Option<Ranking<'a>> {
    let declared = probes::declaration(probe)?.parameters;
    ranking(&series.settings, &series.result, probe, declared, &report.topology)
}

pub(super) fn under_every_condition<'a>(
    report: &RunReport,
    series: &'a SeriesReport,
    probe: &str,
) -> Vec<Ranking<'a>> {
    rankings(&series.settings, &series.result, probe, probes::parameters(probe), &report.topology)
}

pub(super) fn alike(ranking: &Ranking<'_>, like: &[usize]) -> Option<Sentence> {
    let names = names(like.iter().map(|&index| subject_name(ranking, index)));
    (!like.is_empty()).then(|| Sentence::new("(alike: {names})").with("names", names))
}

/// The name of a subject, or the title of the quantity if the subject has no name, such as coretalk's own clock.
fn subject_name(ranking: &Ranking<'_>, subject: usize) -> Sentence {
    match &ranking.subjects[subject].name {
        none if none.is_empty() => bare_title(ranking.quantity),
        name => Sentence::name(name),
    }
}

/// The condition of the comparison: `capacity 1000, same L3`; empty if all trials of the probe share it.
pub(super) fn condition(report: &RunReport, ranking: &Ranking<'_>) -> Vec<Sentence> {
    let parameters = &ranking.condition.parameters;
    let mut words: Vec<Sentence> =
        parameters.iter().map(|(name, value)| parameter_sentence(name, value)).collect();
    let has_number = parameters.iter().any(|(_, value)| matches!(value, ParameterValue::Number(_)));
    let place = match ranking.condition.placement {
        Some(placement) if placement.len() <= 2 || !has_number => {
            Some(place_sentence(&report.topology, placement))
        }
        _ => None,
    };
    words.extend(place);
    words
}

fn parameter_sentence(name: &str, value: &ParameterValue) -> Sentence {
    match value {
        ParameterValue::Number(_) => {
            parameters::sentence(name, value, Source::Parameter { trial: None, name: name.to_owned() })
        }
        ParameterValue::Text(text) => Sentence::name(text),
    }
}

pub(super) fn value_of(quantity: &Quantity, subject: &Subject<'_>) -> DisplayValue {
    let (trial, statistic) = (subject.trial.spec.id(), Statistic::Estimate);
    DisplayValue {
        number: Number::Estimate(subject.value),
        unit: DisplayUnit::Own(quantity.unit),
        source: Source::Trial { trial, quantity: quantity.id, statistic, placements: subject.placements },
    }
}

pub(super) fn qualifiers(subject: &Subject<'_>) -> Vec<Sentence> {
    let pairs = (subject.placements > 1).then(|| {
        Sentence::new("over {number} pairs").with("number", DisplayValue::listed(subject.placements))
    });
    pairs.into_iter().chain(subject.may_be_wrong.then(|| Sentence::new("!"))).collect()
}

fn number(quantity: &Quantity, subject: &Subject<'_>) -> Sentence {
    let value = Sentence::new("{value}").with("value", value_of(quantity, subject));
    joined(" ", [value].into_iter().chain(qualifiers(subject)))
}

pub(super) fn sentence(report: &RunReport, ranking: &Ranking<'_>) -> Sentence {
    let Ranking { quantity, subjects, verdict, .. } = ranking;
    let number = |index: usize| number(quantity, &subjects[index]);
    let name = |index: usize| subject_name(ranking, index);
    let ranked = |index: usize, end: &'static str, like: &[usize]| {
        let place = Sentence::new("{name} is {end}").with("name", name(index)).with("end", end);
        joined(" ", [place].into_iter().chain(alike(ranking, like)))
    };
    let valued = |index: usize, end: &'static str, like: &[usize]| {
        Sentence::new("{placed}, {value}")
            .with("placed", ranked(index, end, like))
            .with("value", number(index))
    };
    let [best, last] = extremes(quantity);
    let mut found: Vec<Sentence> = match verdict {
        RankingVerdict::CannotTell(_) if subjects.is_empty() => vec![Sentence::new("cannot tell")],
        RankingVerdict::CannotTell(rivals) => {
            let rivals = names(rivals.iter().map(|name| Sentence::name(name)));
            vec![
                Sentence::new("cannot tell which of {rivals} is {best}")
                    .with("rivals", rivals)
                    .with("best", best),
            ]
        }
        RankingVerdict::Single if subjects[0].name.is_empty() => {
            vec![number(0)]
        }
        RankingVerdict::Single => {
            vec![Sentence::new("{name}, {value}").with("name", name(0)).with("value", number(0))]
        }
        RankingVerdict::Alike => {
            let [best, worst] = [0, subjects.len() - 1].map(number);
            let range = match fmt::sentence(&best) == fmt::sentence(&worst) {
                true => best,
                false => Sentence::new("{best} to {worst}").with("best", best).with("worst", worst),
            };
            let named = match subjects.len() {
                2 => Sentence::new("{first} and {second}").with("first", name(0)).with("second", name(1)),
                several => Sentence::new("all {number}").with("number", DisplayValue::listed(several)),
            };
            vec![
                Sentence::new("{named} are alike within their intervals, {range}")
                    .with("named", named)
                    .with("range", range),
            ]
        }
        RankingVerdict::Ordered { like_best, worst, like_worst } => {
            let of_worst = worst.map(|worst| valued(worst, last, like_worst));
            [valued(0, best, like_best)].into_iter().chain(of_worst).collect()
        }
    };
    found.extend(not_ranked(ranking));
    let subject = subject(quantity);
    let found = Arg::Parts(found, "; ");
    match condition(report, ranking) {
        none if none.is_empty() => {
            Sentence::new("{quantity}: {found}").with("quantity", subject).with("found", found)
        }
        condition => Sentence::new("{quantity} ({condition}): {found}")
            .with("quantity", subject)
            .with("condition", Arg::Parts(condition, ", "))
            .with("found", found),
    }
}

/// Unranked subjects: `not ranked: per-thread (a bound), racy (a wrong answer)`; `None` if all subjects are ranked.
pub(super) fn not_ranked(ranking: &Ranking<'_>) -> Option<Sentence> {
    let mut reasons: Vec<(Unranked, Vec<&str>)> = Vec::new();
    for (name, reason) in &ranking.unranked {
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, names)) => names.push(name),
            None => reasons.push((*reason, vec![name])),
        }
    }
    let reason = |(reason, subjects): (Unranked, Vec<&str>)| {
        let why = match reason {
            Unranked::Bound => "a bound",
            Unranked::WrongAnswer => "a wrong answer",
            Unranked::TimeSlices => "time slices of a shared CPU",
            Unranked::Unclaimed => "work of other threads",
            Unranked::TooFewPasses => "too few passes",
            Unranked::WideInterval => "too wide an interval",
            Unranked::Elsewhere => "another state of the machine or other CPUs",
            Unranked::OtherQuantity => "another quantity",
            Unranked::NoResult => "no result",
        };
        match subjects[..] {
            // The probe has only one subject, which has no name.
            [""] => Sentence::new("{why}"),
            _ => {
                let names = names(subjects.into_iter().map(Sentence::name));
                Sentence::new("{names} ({why})").with("names", names)
            }
        }
        .with("why", why)
    };
    let reasons: Vec<Sentence> = reasons.into_iter().map(reason).collect();
    let has_any = !reasons.is_empty();
    has_any.then(|| Sentence::new("not ranked: {reasons}").with("reasons", Arg::Parts(reasons, ", ")))
}

fn names(all: impl Iterator<Item = Sentence>) -> Arg {
    let mut names: Vec<Sentence> = all.collect();
    let more = names.len().saturating_sub(MAX_ALIKE);
    names.truncate(MAX_ALIKE);
    names.extend(match more {
        0 => None,
        1 => Some(Sentence::new("1 other")),
        more => Some(Sentence::new("{number} others").with("number", DisplayValue::listed(more))),
    });
    Arg::Parts(names, ", ")
}

fn joined(between: &'static str, parts: impl Iterator<Item = Sentence>) -> Sentence {
    Sentence::new("{parts}").with("parts", Arg::Parts(parts.collect(), between))
}

fn extremes(quantity: &Quantity) -> [&'static str; 2] {
    match (quantity.unit, quantity.better) {
        (Unit::Ns | Unit::PerSecond(_), _) => ["fastest", "slowest"],
        (_, Some(Better::Higher)) => ["highest", "lowest"],
        _ => ["lowest", "highest"],
    }
}

fn subject(quantity: &Quantity) -> Sentence {
    let words = match (quantity.unit, quantity.meaning) {
        (Unit::PerSecond(what), _) => Sentence::new("{what} per second").with("what", what),
        (_, Some(meaning)) => meaning.into(),
        (_, None) => bare_title(quantity),
    };
    let median = if quantity.aggregate == Aggregate::Events { ", median" } else { "" };
    Sentence::new("{words}{median}").with("words", words).with("median", median).capitalized()
}

/// The heading of a quantity without its unit. Each number states the unit.
pub(super) fn bare_title(quantity: &Quantity) -> Sentence {
    Sentence::joined(quantity.title.split(' ').filter(|word| *word != "ns").map(Sentence::from), " ")
}
