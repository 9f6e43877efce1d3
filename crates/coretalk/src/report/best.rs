//! What a probe found, in one sentence: its [`Ranking`] in words. Which subjects are compared, under which condition, and
//! what that shows is decided in the model.

use super::ladder::relation_words;
use super::parameters::telling;
use super::text::{capitalized, count, ns, percent, plain};
use super::trial_words::{half_width, placement_words};
use crate::{RunReport, SeriesReport};
use coretalk_measure::probes;
use coretalk_model::quantity::{Aggregate, Better, Quantity, Unit, Unranked};
use coretalk_model::series::{Ranking, Subject, Value, Verdict, ranking, rankings};

/// Names that stand in a list of those that are alike; more are counted.
const MOST_ALIKE: usize = 3;

/// The ranking of a probe; `None` where it has no number.
pub(super) fn of_probe<'a>(report: &RunReport, series: &'a SeriesReport, probe: &str) -> Option<Ranking<'a>> {
    let declared = probes::series_by_id(probe)?.parameters();
    ranking(&series.settings, &series.result, probe, declared, &report.topology)
}

/// The rankings of a probe under every condition.
pub(super) fn under_every_condition<'a>(
    report: &RunReport,
    series: &'a SeriesReport,
    probe: &str,
) -> Vec<Ranking<'a>> {
    let declared = probes::series_by_id(probe).map_or(&[][..], |probe| probe.parameters());
    rankings(&series.settings, &series.result, probe, declared, &report.topology)
}

/// ` (alike: ttas, mcs)`; empty for none.
pub(super) fn alike(ranking: &Ranking<'_>, like: &[usize]) -> String {
    match names(&like.iter().map(|&index| called(ranking, index)).collect::<Vec<_>>()) {
        names if names.is_empty() => names,
        names => format!(" (alike: {names})"),
    }
}

/// The name of a subject; one without a name, such as the clock of this program beside those of runtimes, is called by its
/// quantity.
fn called(ranking: &Ranking<'_>, subject: usize) -> String {
    match &ranking.subjects[subject].name {
        none if none.is_empty() => bare_title(ranking.quantity),
        name => plain(name),
    }
}

/// Under what the subjects are compared: `capacity 1000, same L3`; empty where all trials of the probe share it.
pub(super) fn condition(report: &RunReport, ranking: &Ranking<'_>) -> String {
    let parameters = &ranking.condition.parameters;
    let mut words: Vec<String> =
        parameters.iter().map(|(name, value)| plain(&telling(name, value))).collect();
    let has_number = parameters.iter().any(|(_, value)| matches!(value, Value::Number(_)));
    match ranking.condition.placement {
        Some(&[from, to]) => {
            words.push(relation_words(report.topology.relation(from, to), &report.topology));
        }
        // How many CPUs there are is shown by a number.
        Some(placement) if placement.len() < 2 || !has_number => {
            words.push(placement_words(report, placement))
        }
        _ => {}
    }
    words.join(", ")
}

/// `3.61` and `µs`, `74.2` and `M messages/s`.
pub(super) fn value_and_unit(quantity: &Quantity, subject: &Subject<'_>) -> [String; 2] {
    let (value, of) = amount(subject.value.point, quantity.unit);
    let symbol = if let Unit::PerSecond(_) = quantity.unit { quantity.unit.symbol() } else { "".into() };
    [value, format!("{of} {symbol}").trim().to_owned()]
}

/// ` ±2 % over 3 pairs`, and a mark where the value may be wrong by more than that.
pub(super) fn uncertainty(quantity: &Quantity, subject: &Subject<'_>) -> String {
    let end = |value: f64| {
        let (value, unit) = amount(value, quantity.unit);
        format!("{value} {unit}").trim_end().to_owned()
    };
    let width = match half_width(&subject.value) {
        // It reaches more than ten times the value.
        unknown if unknown == "?" => format!(" ({} to {})", end(subject.value.low), end(subject.value.high)),
        width => format!(" ±{width}"),
    };
    let pairs = match subject.placements {
        0 | 1 => String::new(),
        several => format!(" over {}", count(several as u64, "pair")),
    };
    let mark = if subject.may_be_wrong { " !" } else { "" };
    format!("{width}{pairs}{mark}")
}

/// `3.61 µs ±2 %`; of what a second holds without its name.
fn number(quantity: &Quantity, subject: &Subject<'_>) -> String {
    let (value, unit) = amount(subject.value.point, quantity.unit);
    format!("{}{}", format!("{value} {unit}").trim_end(), uncertainty(quantity, subject))
}

/// A ranking in one sentence; `None` where it has neither a value nor a reason why there is none.
pub(super) fn sentence(report: &RunReport, series: &SeriesReport, probe: &str) -> Option<String> {
    let ranking = of_probe(report, series, probe)?;
    let Ranking { quantity, subjects, verdict, .. } = &ranking;
    let number = |index: usize| number(quantity, &subjects[index]);
    let name = |index: usize| called(&ranking, index);
    let alike = |like: &[usize]| alike(&ranking, like);
    let [best, last] = ends(quantity);
    let found = match verdict {
        Verdict::CannotTell(_) if subjects.is_empty() && ranking.unranked.is_empty() => return None,
        Verdict::CannotTell(_) if subjects.is_empty() => "cannot tell".to_owned(),
        Verdict::CannotTell(rivals) => {
            let rivals: Vec<String> = rivals.iter().map(|name| plain(name)).collect();
            format!("cannot tell which of {} is {best}", names(&rivals))
        }
        Verdict::Single if subjects[0].name.is_empty() => number(0),
        Verdict::Single => format!("{}, {}", name(0), number(0)),
        Verdict::Alike => {
            let named = match subjects.len() {
                2 => format!("{} and {}", name(0), name(1)),
                several => format!("all {several}"),
            };
            let range = [number(0), number(subjects.len() - 1)];
            format!("{named} are alike within their intervals, {}", range.join(" to "))
        }
        Verdict::Ordered { like_best, worst, like_worst } => {
            let of_worst =
                |worst: usize| format!("; {} is {last}{}, {}", name(worst), alike(like_worst), number(worst));
            let of_worst = worst.map_or_else(String::new, of_worst);
            format!("{} is {best}{}, {}{of_worst}", name(0), alike(like_best), number(0))
        }
    };
    let condition = match condition(report, &ranking) {
        none if none.is_empty() => none,
        words => format!(" ({words})"),
    };
    let parts = [found, not_ranked(&ranking)];
    let found =
        parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ");
    Some(format!("{}{condition}: {found}", subject(quantity)))
}

/// `not ranked: per-thread (a bound), racy (a wrong answer)`.
pub(super) fn not_ranked(ranking: &Ranking<'_>) -> String {
    let mut reasons: Vec<(Unranked, Vec<String>)> = Vec::new();
    for (name, reason) in &ranking.unranked {
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, names)) => names.push(plain(name)),
            None => reasons.push((*reason, vec![plain(name)])),
        }
    }
    let words = reasons.iter().map(|(reason, of)| {
        let why = match reason {
            Unranked::Bound => "a bound",
            Unranked::WrongAnswer => "a wrong answer",
            Unranked::TimeSlices => "time slices of a shared CPU",
            Unranked::Unclaimed => "work of other threads",
            Unranked::TooFewPasses => "too few passes",
            Unranked::Elsewhere => "another state of the machine or other CPUs",
            Unranked::OtherQuantity => "another quantity",
            Unranked::NoResult => "no result",
        };
        format!("{} ({why})", names(of)).trim_start().to_owned()
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() { String::new() } else { format!("not ranked: {}", words.join(", ")) }
}

/// `ttas, mcs, tas, 2 others`.
fn names(of: &[String]) -> String {
    let more = of.len().saturating_sub(MOST_ALIKE);
    let named = of.iter().take(MOST_ALIKE).cloned();
    named.chain((more > 0).then(|| count(more as u64, "other"))).collect::<Vec<_>>().join(", ")
}

/// What the best number of a quantity is called, and the worst.
fn ends(quantity: &Quantity) -> [&'static str; 2] {
    match (quantity.unit, quantity.better) {
        (Unit::Ns | Unit::PerSecond(_), _) => ["fastest", "slowest"],
        (_, Some(Better::Higher)) => ["highest", "lowest"],
        _ => ["lowest", "highest"],
    }
}

/// What a quantity is, as a sentence begins: `Time until a sleeping thread runs again, median`.
fn subject(quantity: &Quantity) -> String {
    let words = match (quantity.unit, quantity.meaning) {
        (Unit::PerSecond(what), _) => format!("{what} per second"),
        // What follows a colon is the formula.
        (_, Some(meaning)) => meaning.split(':').next().unwrap_or(meaning).to_owned(),
        (_, None) => bare_title(quantity),
    };
    let words = if quantity.aggregate == Aggregate::Events { format!("{words}, median") } else { words };
    capitalized(&words)
}

/// The heading of a quantity without its unit, which stands with each number.
pub(super) fn bare_title(quantity: &Quantity) -> String {
    quantity.title.split(' ').filter(|word| *word != "ns").collect::<Vec<_>>().join(" ")
}

/// Three significant digits and the unit that reads best; of what happens in a second the letter of its size.
pub(super) fn amount(value: f64, unit: Unit) -> (String, &'static str) {
    match unit {
        Unit::Ns if value < 1e3 => (ns(value), "ns"),
        Unit::Ns if value < 1e6 => (ns(value / 1e3), "µs"),
        Unit::Ns => (ns(value / 1e6), "ms"),
        Unit::Share => (percent(value).trim_end_matches(" %").to_owned(), "%"),
        Unit::Ratio => (ns(value), "×"),
        Unit::PerSecond(_) if value >= 1e6 => (ns(value / 1e6), "M"),
        Unit::PerSecond(_) if value >= 1e4 => (ns(value / 1e3), "k"),
        Unit::Cycles => (ns(value), "cycles"),
        _ => (ns(value), ""),
    }
}
