//! What a page leads with: the answer in a sentence and three numbers, and what each probe found in one line.

use super::escape::escaped;
use crate::SeriesReport;
use crate::blocks::Block;
use crate::report::answer::{Answer, Number};
use crate::report::figure::key_numbers::{answer_of, key_numbers, main_map, said_of, written};
use crate::report::input::{Map, ReportInput};
use crate::report::ladder::relation_words;
use crate::report::parameters::telling;
use crate::report::place;
use crate::report::text::{count, ns, percent, plain, short_ns};
use crate::report::trial_words::{half_width, placement_words, question};
use coretalk_measure::probes;
use coretalk_model::Flag;
use coretalk_model::latency::summary::{by_relation, class_pairs};
use coretalk_model::quantity::{Aggregate, Better, Quantity, Unit};
use coretalk_model::series::{Gathering, TrialResult, Value, displayed_value};
use std::fmt::Write;

/// Kinds of trials that a line names; the tables have all.
const MOST_NAMED: usize = 3;
/// Longer meanings stand with the tables.
const SHORT: usize = 50;
/// The same of a page of one probe, large.
const MOST_LARGE: usize = 3;

/// A number with what it is of, as it stands large.
struct Tile {
    value: String,
    unit: String,
    /// How sure it is, or what it stands for.
    range: String,
    words: String,
}

/// The lead of a page, or of one of several runs on it; empty where the run holds nothing.
pub(super) fn lead(input: &ReportInput<'_>) -> String {
    let mut html = String::new();
    let map = main_map(input);
    let answer = map.and_then(|map| answer_of(input, map));
    let run = input.run();
    let said = answer.as_ref().map(Answer::sentence);
    let said = said.or_else(|| said_of(run.filter(|report| report.place.is_none())?));
    if let Some(said) = said {
        let _ = writeln!(html, "<p class=\"lede\">{}</p>", escaped(&said));
    }
    let is_of_map = answer.is_some() || input.file().is_some();
    if let Some(map) = map.filter(|_| is_of_map) {
        html.push_str(&tiles(&of_map(input, map, answer.as_ref())));
    }
    let of_series = run.and_then(|report| report.series.as_ref());
    let is_beside = |series: &&SeriesReport| series.settings.gathering() == Some(Gathering::QuickLook);
    if let Some(series) = of_series.filter(|series| !is_beside(series)) {
        html.push_str(&of_probes(input, series));
    }
    if let Some((report, place)) = run.and_then(|report| Some((report, report.place.as_ref()?))) {
        let of_work = place::headlines(place).map(|(_, headline)| {
            (escaped(&headline.work), escaped(&place::sentence(report, place, headline)))
        });
        html.push_str(&answers(of_work));
    }
    html
}

fn tiles(tiles: &[Tile]) -> String {
    let tile = |Tile { value, unit, range, words }: &Tile| {
        format!(
            "<div><dt>{}</dt><dd>{} <small>{}</small></dd><dd class=\"range\">{}</dd></div>",
            escaped(words),
            escaped(value),
            escaped(unit),
            escaped(range)
        )
    };
    match tiles {
        [] => String::new(),
        some => format!("<dl class=\"tiles\">{}</dl>\n", some.iter().map(tile).collect::<String>()),
    }
}

fn answers(found: impl Iterator<Item = (String, String)>) -> String {
    let rows: String = found.map(|(asked, found)| format!("<dt>{asked}</dt><dd>{found}</dd>")).collect();
    if rows.is_empty() { rows } else { format!("<dl class=\"answers\">{rows}</dl>\n") }
}

/// The numbers of the answer, each with the range of the pairs that it stands for.
fn of_map(input: &ReportInput<'_>, map: &Map, answer: Option<&Answer>) -> Vec<Tile> {
    let latencies = map.index.and_then(|index| input.latencies().get(index));
    // The answer takes its numbers from these.
    let rows = latencies.map_or_else(Vec::new, |map| {
        let kinds = class_pairs(map, input.topology());
        let kinds = kinds.into_iter().map(|of| (of.median_ns, of.range_ns, of.pairs));
        let relations = by_relation(map, input.topology());
        kinds.chain(relations.into_iter().map(|of| (of.median_ns, of.range_ns, of.pairs))).collect()
    });
    let numbers = key_numbers(input, map, answer);
    let range = |ns: f64| {
        let (_, range, pairs) = *rows.iter().find(|(median, _, pairs)| *median == ns && *pairs > 1)?;
        let [low, high] = range.map(short_ns);
        let pairs = count(pairs, "pair");
        Some(if low == high { pairs } else { format!("{low} to {high} over {pairs}") })
    };
    let tile = |number: &Number| Tile {
        value: written(number.ns),
        unit: map.unit.clone(),
        range: range(number.ns).unwrap_or_default(),
        words: number.words.clone(),
    };
    numbers.iter().map(tile).collect()
}

/// The best number of each kind of trial of a probe.
struct Best<'a> {
    kind: String,
    value: f64,
    trial: &'a TrialResult,
    words: String,
}

/// A line for each probe; of a lone one its best kinds as large numbers.
fn of_probes(input: &ReportInput<'_>, series: &SeriesReport) -> String {
    let probes = &series.settings.probes;
    let found: Vec<_> =
        probes.iter().filter_map(|name| Some((name, best_of(input, series, name)?))).collect();
    if let ([(_, (quantity, best))], [_]) = (&found[..], &probes[..]) {
        let tile = |best: &Best<'_>| {
            let said = value_words(best.value, quantity.unit);
            let (value, unit) = said.rsplit_once(' ').unwrap_or((&said, ""));
            Tile {
                value: value.to_owned(),
                unit: unit.to_owned(),
                range: uncertainty(best, quantity),
                words: format!("{}{}", best.kind, best.words),
            }
        };
        let shown: Vec<Tile> = best.iter().take(MOST_LARGE).map(tile).collect();
        return tiles(&shown) + &format!("<p class=\"note\">{}</p>\n", escaped(&caption(quantity, best)));
    }
    answers(found.iter().map(|(name, (quantity, best))| {
        let asked = probes::series_by_id(name).map(question);
        let asked = match asked {
            Some(Block::Question(text)) => text,
            _ => plain(name),
        };
        let named = &best[..best.len().min(MOST_NAMED)];
        // What all of them share is said once.
        let shared = named[0].words.as_str();
        let shared = if named.iter().all(|best| best.words == shared) { shared } else { "" };
        let one = |best: &Best<'_>| {
            let value = value_words(best.value, quantity.unit);
            let words = if shared.is_empty() { best.words.as_str() } else { "" };
            format!(
                "<strong>{}</strong> {} {}",
                escaped(&value),
                escaped(&uncertainty(best, quantity)),
                escaped(&format!("{}{words}", best.kind))
            )
        };
        let mut found = named.iter().map(one).collect::<Vec<_>>().join(" · ");
        let _ = write!(found, " {}", escaped(shared));
        if best.len() > MOST_NAMED {
            let _ = write!(found, " · {} more", best.len() - MOST_NAMED);
        }
        let _ = write!(found, " <span class=\"note\">({})</span>", escaped(&caption(quantity, best)));
        (format!("<a href=\"#found-{}\">{}</a>", escaped(name), escaped(&asked)), found)
    }))
}

/// What the numbers are, and how they are ordered.
fn caption(quantity: &Quantity, best: &[Best<'_>]) -> String {
    let title = match quantity.aggregate {
        Aggregate::Events => format!("{}, median", quantity.title),
        // Each number has its unit.
        _ => quantity.title.split(' ').filter(|word| *word != "ns").collect::<Vec<_>>().join(" "),
    };
    let meaning = quantity.meaning.filter(|meaning| meaning.len() <= SHORT);
    let meaning = meaning.map_or(String::new(), |meaning| format!(": {meaning}"));
    let order = match (best, quantity.better) {
        ([_], _) => "",
        (_, Some(Better::Higher)) => "; highest first",
        _ => "; lowest first",
    };
    format!("{title}{meaning}{order}")
}

/// The best number of each kind, best first, and what it is; `None` where the probe has no number.
fn best_of<'a>(
    input: &ReportInput<'_>,
    series: &'a SeriesReport,
    probe: &str,
) -> Option<(&'static Quantity, Vec<Best<'a>>)> {
    let report = input.run()?;
    let known = series.result.trials.iter().filter(|trial| {
        // What looks instead of sleeping on one CPU measures time slices.
        trial.spec.probe == probe && !trial.flags.contains(Flag::SharedSpin)
    });
    let numbers = known.filter_map(|trial| {
        let name = displayed_value(&series.settings, trial)?;
        Some((name, trial.number_of(name)?, trial))
    });
    let numbers: Vec<(&str, f64, &TrialResult)> = numbers.collect();
    // Numbers of one kind can be put in order: those that most trials have.
    // A ratio says less than what it is of.
    let of = |name: &str| {
        let is_ratio = probes::quantity(probe, name).is_some_and(|quantity| quantity.unit == Unit::Ratio);
        (!is_ratio, numbers.iter().filter(|(other, ..)| *other == name).count())
    };
    let name = numbers.iter().map(|(name, ..)| *name).rev().max_by_key(|name| of(name))?;
    let quantity = probes::quantity(probe, name)?;
    let alike: Vec<_> = numbers.into_iter().filter(|(other, ..)| *other == name).collect();
    let first = alike.first()?.2;
    let differs = |of: &str| {
        alike.iter().any(|(_, _, trial)| trial.spec.parameters.0.get(of) != first.spec.parameters.0.get(of))
    };
    let told = |trial: &TrialResult, is_kind: bool| {
        let told = trial
            .spec
            .parameters
            .iter()
            .filter(|(name, value)| matches!(value, Value::Text(_)) == is_kind && differs(name));
        told.map(|(name, value)| plain(&telling(name, value))).collect::<Vec<_>>()
    };
    let is_moved = alike.iter().any(|(_, _, trial)| trial.spec.placement != first.spec.placement);
    let mut best: Vec<Best<'_>> = Vec::new();
    let rank = |best: &Best<'_>| {
        let value = if quantity.better == Some(Better::Higher) { -best.value } else { best.value };
        (best.trial.flags.has_doubt(), value)
    };
    for &(_, value, trial) in &alike {
        let mut words = told(trial, false);
        words.extend(is_moved.then(|| match trial.spec.placement[..] {
            [from, to] => relation_words(report.topology.relation(from, to), &report.topology),
            _ => placement_words(report, &trial.spec.placement),
        }));
        let mut kind = told(trial, true).join(" ");
        if kind.is_empty() {
            // Trials that differ in their place alone are told by it.
            kind = words.join(", ");
            words.clear();
        }
        let words = if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) };
        let one = Best { kind, value, trial, words };
        match best.iter_mut().find(|known| known.kind == one.kind) {
            Some(known) if before(rank(&one), rank(known)) => *known = one,
            Some(_) => {}
            None => best.push(one),
        }
    }
    best.sort_by(|a, b| match before(rank(a), rank(b)) {
        true => std::cmp::Ordering::Less,
        false if before(rank(b), rank(a)) => std::cmp::Ordering::Greater,
        false => std::cmp::Ordering::Equal,
    });
    (!best.is_empty()).then_some((quantity, best))
}

/// What can be trusted stands before what cannot.
fn before((doubt, value): (bool, f64), (other_doubt, other): (bool, f64)) -> bool {
    (doubt, value) != (other_doubt, other) && if doubt == other_doubt { value < other } else { other_doubt }
}

/// ` ±2 %`, and a mark where the number is doubted.
fn uncertainty(best: &Best<'_>, quantity: &Quantity) -> String {
    let TrialResult { medians_ns, values, flags, .. } = best.trial;
    let estimate = medians_ns.get(quantity.id).or_else(|| values.get(quantity.id));
    let width = estimate.map_or(String::new(), |estimate| match half_width(estimate) {
        unknown if unknown == "?" => " (no interval)".to_owned(),
        width => format!(" ±{width}"),
    });
    if flags.has_doubt() { format!("{width} !") } else { width }
}

/// Three significant digits, in the unit that reads best.
fn value_words(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Ns if value < 1e3 => format!("{} ns", ns(value)),
        Unit::Ns if value < 1e6 => format!("{} µs", ns(value / 1e3)),
        Unit::Ns => format!("{} ms", ns(value / 1e6)),
        Unit::Share => percent(value),
        Unit::Ratio => format!("{} ×", ns(value)),
        Unit::PerSecond(_) => format!("{} {}", written(value), unit.symbol()),
        _ => format!("{} {}", ns(value), unit.symbol()).trim_end().to_owned(),
    }
}
