//! The summary of a run, for the shared picture and the page: an answer in a sentence, and three numbers.

use crate::answer::{Answer, KeyNumber, answer};
use crate::blocks::Block;
use crate::input::{Map, ReportInput};
use crate::scope::distance_words;
use crate::{fmt, place, screen, states};
use coretalk_model::Relation;
use coretalk_model::latency::summary::readings_by_relation;
use coretalk_model::run::RunReport;

const NUMBERS: usize = 3;

/// The map that represents a run: the first one with values of several pairs.
pub(crate) fn main_map<'a>(input: &'a ReportInput<'_>) -> Option<&'a Map> {
    input.maps.iter().find(|map| map.columns.measured() > 0 && map.columns.cpus.len() > 2)
}

pub(crate) fn key_numbers(input: &ReportInput<'_>, map: &Map, answer: Option<&Answer>) -> Vec<KeyNumber> {
    three_numbers(answer.map_or_else(|| numbers_of(input, map), |answer| answer.numbers.clone()), map)
}

/// The statement of the first screen about one pair or about placements.
pub(crate) fn said_of(report: &RunReport) -> Option<String> {
    if let Some(map) = report.maps().first()
        && let Some((pair, value)) = screen::the_only_pair(map)
    {
        return Some(fmt::sentence(&states::headline(report, &map.kernel, pair, value)));
    }
    place::overview(report, report.place.as_ref()?).into_iter().find_map(|block| match block {
        Block::Answer(sentence)
        | Block::Headline(sentence)
        | Block::Prose(sentence)
        | Block::Conclusion(sentence) => Some(fmt::sentence(&sentence)),
        _ => None,
    })
}

pub(crate) fn answer_of(input: &ReportInput<'_>, map: &Map) -> Option<Answer> {
    answer(input.run()?, input.latencies().get(map.index?)?)
}

/// The numbers of a map without an answer, one for each relation.
fn numbers_of(input: &ReportInput<'_>, map: &Map) -> Vec<KeyNumber> {
    let topology = input.arranged();
    let rows = readings_by_relation(&map.readings(), topology);
    let in_groups = |relation| {
        let level = topology.levels().into_iter().find(|level| Relation::from_level(*level) == relation);
        let cpus = level.and_then(|level| Some(topology.level(level).first()?.cpus.len()));
        cpus.map_or_else(|| "between groups".to_owned(), |cpus| format!("inside a group of {cpus}"))
    };
    let words = |relation| match (&map.columns.cpus[..], rows.len(), input.file()) {
        ([from, to], ..) if relation != Relation::SameCpu => format!("CPU {from} ↔ CPU {to}"),
        (_, 1, _) => "median".to_owned(),
        (_, _, Some(_)) => in_groups(relation),
        (_, _, None) => distance_words(relation, topology),
    };
    rows.iter().map(|row| KeyNumber { ns: row.median_ns, words: words(row.relation) }).collect()
}

/// Of more than three numbers: minimum, middle and maximum. Fewer numbers are completed with the extremes of all pairs.
fn three_numbers(mut numbers: Vec<KeyNumber>, map: &Map) -> Vec<KeyNumber> {
    let values = map.columns.median.iter().copied().flatten();
    let [low, high] =
        values.fold([f64::INFINITY, 0.0], |[low, high]: [f64; 2], value| [low.min(value), high.max(value)]);
    let extreme = |ns: f64, which: &str| KeyNumber { ns, words: format!("{which} of all pairs") };
    match numbers.len() {
        0 | NUMBERS => {}
        1 if low == high => {}
        1 => numbers = vec![extreme(low, "min"), numbers.remove(0), extreme(high, "max")],
        2 => numbers.push(extreme(high, "max")),
        many => {
            numbers.sort_by(|a, b| a.ns.total_cmp(&b.ns));
            numbers = [0, many / 2, many - 1].map(|at| numbers[at].clone()).to_vec();
        }
    }
    numbers
}
