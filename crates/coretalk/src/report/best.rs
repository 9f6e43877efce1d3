//! [`Kind`]: trials of a probe that are the same thing in other places or under other numbers, best first; and what the
//! kinds of a probe say beside each other, in one sentence.

use super::ladder::relation_words;
use super::parameters::telling;
use super::text::{capitalized, count, ns, percent, plain};
use super::trial_words::{half_width, is_shown, placement_words};
use crate::{RunReport, SeriesReport};
use coretalk_measure::probes;
use coretalk_model::Flag;
use coretalk_model::quantity::{Aggregate, Better, Quantity, Unit};
use coretalk_model::series::{TrialResult, Value, displayed_value};
use coretalk_model::stats::Estimate;
use std::collections::BTreeSet;

/// Kinds that are named as alike; more are counted.
const MOST_ALIKE: usize = 3;

/// Trials that are the same thing: a primitive, a queue, a way of waiting.
pub(super) struct Kind<'a> {
    /// What it is; empty where all trials of a probe are the same thing.
    pub name: String,
    /// Its numbers, best first, those in doubt last.
    pub numbers: Vec<Number<'a>>,
}

/// The number by which a trial is shown.
pub(super) struct Number<'a> {
    pub value: f64,
    /// Where and under which numbers it was measured, as far as trials of the probe differ in that.
    pub words: String,
    pub trial: &'a TrialResult,
    quantity: &'static Quantity,
}

impl Number<'_> {
    /// Whether something speaks against it that the interval beside it does not show.
    fn is_doubtful(&self) -> bool {
        self.trial.flags.iter().any(|flag| flag.is_doubt() && !is_shown(flag))
    }

    fn estimate(&self) -> Option<&Estimate> {
        let TrialResult { medians_ns, values, .. } = self.trial;
        medians_ns.get(self.quantity.id).or_else(|| values.get(self.quantity.id))
    }

    /// `3.61` and `µs`, `74.2` and `M messages/s`.
    pub fn value_and_unit(&self) -> [String; 2] {
        let unit = self.quantity.unit;
        let (value, of) = amount(self.value, unit);
        let symbol = if let Unit::PerSecond(_) = unit { unit.symbol() } else { "".into() };
        [value, format!("{of} {symbol}").trim().to_owned()]
    }

    /// ` ±2 %`, and a mark where the number is doubted.
    pub fn uncertainty(&self) -> String {
        let width = self.estimate().map_or(String::new(), |estimate| match half_width(estimate) {
            unknown if unknown == "?" => " (no interval)".to_owned(),
            width => format!(" ±{width}"),
        });
        if self.is_doubtful() { format!("{width} !") } else { width }
    }

    /// `3.61 µs ±2 % (gap 20 µs, same L3)`; of what a second holds without it.
    fn said(&self) -> String {
        let words = if self.words.is_empty() { String::new() } else { format!(" ({})", self.words) };
        let (value, unit) = amount(self.value, self.quantity.unit);
        format!("{}{}{words}", format!("{value} {unit}").trim_end(), self.uncertainty())
    }

    /// By which numbers of a quantity are put in order: what can be trusted before what cannot.
    fn rank(&self) -> (bool, f64) {
        let is_higher_better = self.quantity.better == Some(Better::Higher);
        (self.is_doubtful(), if is_higher_better { -self.value } else { self.value })
    }
}

/// The quantity that most trials of a probe are shown by, and its numbers by kind, the best kind first; `None` where the
/// probe has no number.
pub(super) fn kinds<'a>(
    report: &RunReport,
    series: &'a SeriesReport,
    probe: &str,
) -> Option<(&'static Quantity, Vec<Kind<'a>>)> {
    let known = series.result.trials.iter().filter(|trial| {
        // What looks instead of sleeping on one CPU measures time slices.
        trial.spec.probe == probe && !trial.flags.contains(Flag::SharedSpin)
    });
    let shown = known.filter_map(|trial| {
        let name = displayed_value(&series.settings, trial)?;
        Some((name, trial.number_of(name)?, trial))
    });
    let shown: Vec<(&str, f64, &TrialResult)> = shown.collect();
    // Numbers of one quantity can be put in order: that of most trials. A ratio says less than what it is of.
    let of = |name: &str| {
        let is_ratio = probes::quantity(probe, name).is_some_and(|quantity| quantity.unit == Unit::Ratio);
        (!is_ratio, shown.iter().filter(|(other, ..)| *other == name).count())
    };
    let name = shown.iter().map(|(name, ..)| *name).rev().max_by_key(|name| of(name))?;
    let quantity = probes::quantity(probe, name)?;
    let alike: Vec<_> = shown.into_iter().filter(|(other, ..)| *other == name).collect();
    let first = alike.first()?.2;
    // What others are called tells what is shown from them, too, though they have no number of their own.
    let of_probe = || series.result.trials.iter().filter(|trial| trial.spec.probe == probe);
    let differs =
        |of: &str| of_probe().any(|trial| trial.spec.parameters.0.get(of) != first.spec.parameters.0.get(of));
    // Found once: a map of all pairs has thousands of trials, and asking anew for each is their square.
    let names: BTreeSet<&str> =
        alike.iter().flat_map(|(_, _, trial)| trial.spec.parameters.iter()).map(|(name, _)| name).collect();
    let differing: BTreeSet<&str> = names.into_iter().filter(|name| differs(name)).collect();
    let told = |trial: &TrialResult, is_kind: bool| {
        let told =
            trial.spec.parameters.iter().filter(|(name, value)| {
                matches!(value, Value::Text(_)) == is_kind && differing.contains(name)
            });
        told.map(|(name, value)| plain(&telling(name, value))).collect::<Vec<_>>()
    };
    let is_moved = alike.iter().any(|(_, _, trial)| trial.spec.placement != first.spec.placement);
    let mut kinds: Vec<Kind<'_>> = Vec::new();
    for &(_, value, trial) in &alike {
        let mut words = told(trial, false);
        match trial.spec.placement[..] {
            [from, to] if is_moved => {
                words.push(relation_words(report.topology.relation(from, to), &report.topology));
            }
            // How many CPUs there are is told by a number.
            _ if is_moved && words.is_empty() => words.push(placement_words(report, &trial.spec.placement)),
            _ => {}
        }
        let name = told(trial, true).join(" ");
        let number = Number { value, words: words.join(", "), trial, quantity };
        match kinds.iter_mut().find(|kind| kind.name == name) {
            Some(kind) => kind.numbers.push(number),
            None => kinds.push(Kind { name, numbers: vec![number] }),
        }
    }
    let by_rank = |one: &Number<'_>, other: &Number<'_>| {
        let ((doubt, value), (other_doubt, other)) = (one.rank(), other.rank());
        doubt.cmp(&other_doubt).then(value.total_cmp(&other))
    };
    kinds.iter_mut().for_each(|kind| kind.numbers.sort_by(by_rank));
    kinds.sort_by(|one, other| by_rank(&one.numbers[0], &other.numbers[0]));
    Some((quantity, kinds))
}

/// What a probe found, in one sentence: its best kind and its worst, each from its best number to its worst. What is in
/// doubt stands in it only where everything is; how much that leaves out is said.
pub(super) fn sentence(report: &RunReport, series: &SeriesReport, probe: &str) -> Option<String> {
    let (quantity, mut kinds) = kinds(report, series, probe)?;
    let all = kinds.iter().map(|kind| kind.numbers.len()).sum::<usize>();
    let doubtful = kinds.iter().flat_map(|kind| &kind.numbers).filter(|number| number.is_doubtful()).count();
    if doubtful == 0 || doubtful == all {
        return found(quantity, &kinds);
    }
    kinds.iter_mut().for_each(|kind| kind.numbers.retain(|number| !number.is_doubtful()));
    kinds.retain(|kind| !kind.numbers.is_empty());
    Some(format!("{}; {doubtful} of {all} results left out as doubtful", found(quantity, &kinds)?))
}

/// The sentence about the numbers of these kinds.
fn found(quantity: &Quantity, kinds: &[Kind<'_>]) -> Option<String> {
    let subject = subject(quantity);
    let [first, others @ ..] = kinds else { return None };
    if others.is_empty() {
        return Some(format!("{subject}: {}", from_to(first)));
    }
    // Which of several is best, numbers without an interval do not say.
    let best = Some(first.numbers[0].estimate().filter(|estimate| estimate.is_sure())?);
    // The clock, or the scatter of passes, does not tell these from the first.
    let is_alike = |kind: &&Kind<'_>| {
        best.zip(kind.numbers[0].estimate()).is_some_and(|(best, other)| best.overlaps(other))
    };
    // The worst is one that differs: a kind with a wide interval may lie behind it and be told from nothing.
    let Some(last) = others.iter().rev().find(|kind| !is_alike(kind)) else {
        let [best, worst] = [first, others.last()?].map(|kind| kind.numbers[0].said());
        let range = if best == worst { best } else { format!("{best} to {worst}") };
        let names = match others {
            [other] => format!("{} and {}", first.name, other.name),
            _ => format!("all {}", kinds.len()),
        };
        return Some(format!("{subject}: {names} are alike within their intervals, {range}"));
    };
    let mut alike: Vec<String> = others.iter().filter(is_alike).map(|kind| kind.name.clone()).collect();
    let more = alike.len().saturating_sub(MOST_ALIKE);
    alike.truncate(MOST_ALIKE);
    alike.extend((more > 0).then(|| count(more as u64, "other")));
    let alike = if alike.is_empty() { String::new() } else { format!(" (alike: {})", alike.join(", ")) };
    let [best, worst] = ends(quantity);
    Some(format!(
        "{subject}: {} is {best}{alike}, {}; {} is {worst}, {}",
        first.name,
        from_to(first),
        last.name,
        from_to(last)
    ))
}

/// `3.61 µs ±2 % (gap 20 µs) to 21.7 µs ±4 % (gap 1 ms)`.
fn from_to(kind: &Kind<'_>) -> String {
    match &kind.numbers[..] {
        [first, .., last] => format!("{} to {}", first.said(), last.said()),
        several => several.iter().map(Number::said).collect(),
    }
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
