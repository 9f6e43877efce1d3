//! Errors in a typed number: the source in the JSON document has another number, the text reads as another number, or
//! the heading has another unit.

use super::fields::{
    field_of, interval_of, is_in_own_unit, is_in_percent, is_scaled, numbers_at, path_of, raw,
    unit_of_topology,
};
use super::maps::{MapPair, of_cell, of_matrix, of_widths, pairs_recomputed};
use super::place;
use super::run::{Run, cpus, list};
use super::texts::{misread, unstated};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coretalk_model::Domain;
use coretalk_model::histogram::Histogram;
use coretalk_model::place::MIN_EFFECT;
use coretalk_model::quantity::Unit;
use coretalk_model::series::summary::modes;
use coretalk_model::series::{Parameters, TrialId, TrialSpec};
use coretalk_model::stats::{Estimate, median};
use coretalk_report::blocks::value::{
    DisplayUnit, DisplayValue, MapSource, ModePart, Number, Operation, Source, Statistic, WideNumber,
};
use hdrhistogram::serialization::Deserializer;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Documents round to four decimals.
pub const ROUNDED: f64 = 1e-4;

pub fn parameters_of(series: &Value) -> Parameters {
    let all = &series["parameters"];
    // For alternating strategies, `phase` repeats the view.
    let is_of_trial = |name: &str| name != "view" && (name != "phase" || all["view"] != all["phase"]);
    let of_trial = all.as_object().into_iter().flatten().filter(|(name, _)| is_of_trial(name));
    of_trial.fold(Parameters::default(), |all, (name, value)| match value.as_f64() {
        Some(number) => all.with(name, number),
        None => all.with(name, value.as_str().unwrap()),
    })
}

/// Each distribution and each cell of a queue map in a document, preceded by the object with its probe and parameters.
pub fn entries(document: &Value) -> impl Iterator<Item = [&Value; 2]> {
    let queues = list(&document["matrices"]).iter().filter(|matrix| matrix["probe"] == "queue");
    let cells = queues.flat_map(|matrix| list(&matrix["cells"]).iter().map(move |cell| [matrix, cell]));
    list(&document["series"]).iter().map(|one| [one, one]).chain(cells)
}

pub fn trial_of([owner, entry]: [&Value; 2]) -> TrialId {
    let placement = match &entry["placement"] {
        Value::Null => cpus(&json!([entry["from"], entry["to"]])),
        placement => cpus(placement),
    };
    let probe = owner["probe"].as_str().unwrap().to_owned();
    TrialSpec { probe, parameters: parameters_of(owner), placement }.id()
}

pub fn entries_of(run: &Run, trial: TrialId) -> impl Iterator<Item = &Value> {
    run.entries().filter(move |(_, id)| *id == trial).map(|([_, entry], _)| entry)
}

pub fn is_near(one: f64, other: f64) -> bool {
    (one - other).abs() <= ROUNDED * one.abs().max(1.0)
}

/// Whether two shares are equal within the rounding of a field in percent; a reversed difference amplifies it.
fn is_near_percent(one: f64, other: f64) -> bool {
    (one - other).abs() <= 0.51e-6 * (1.0 + other.abs()).powi(2)
}

/// Whether an interval equals that in the document, which has none if there are too few passes.
fn is_interval(ends: [Option<f64>; 2], shown: &Estimate, path: &str) -> bool {
    let is_near = if is_in_percent(path) { is_near_percent } else { is_near };
    match ends {
        [Some(low), Some(high)] => is_near(low, shown.low) && is_near(high, shown.high),
        _ => !shown.is_sure() || !shown.reach().is_finite(),
    }
}

/// A field of a trial, preceded by the object that contains it.
fn of_trial<'a>(run: &'a Run, source: &Source) -> Option<[&'a Value; 2]> {
    let Source::OfTrial { trial, view, field } = source else { return None };
    let is_view = |entry: &&Value| view.as_ref().is_none_or(|view| entry["parameters"]["view"] == **view);
    entries_of(run, *trial).filter(is_view).find_map(|entry| {
        let object = entry.pointer(field.rsplit_once('/')?.0)?;
        Some([object, entry.pointer(field).filter(|field| !field.is_null())?])
    })
}

fn computed(operation: Operation, numbers: &[f64]) -> Option<f64> {
    let all = || numbers.iter().copied();
    match (operation, numbers) {
        (Operation::Sum, _) => Some(all().sum()),
        (Operation::Product, _) => Some(all().product()),
        (Operation::Least, _) => all().reduce(f64::min),
        (Operation::Most, _) => all().reduce(f64::max),
        (Operation::Mean, _) => Some(all().sum::<f64>() / numbers.len() as f64),
        (Operation::Less, [one, other]) => Some(one - other),
        (Operation::Ratio, [one, other]) => Some(one / other),
        (Operation::Whole, [one]) => Some(one.floor()),
        (Operation::Reversed, [one]) => Some(1.0 / (1.0 + one) - 1.0),
        _ => None,
    }
}

/// The numbers of a source: several for a pointer with `*`.
fn numbers(run: &Run, source: &Source) -> Option<Vec<f64>> {
    match source {
        Source::Field(path) if path.contains('*') => numbers_at(&run.document, path),
        _ => recomputed(run, source).map(|number| vec![number]),
    }
}

/// Whether a sum over trials covers every trial of the document that has the summed field and the same probe, idle gap
/// and idle states.
fn has_all_trials(run: &Run, parts: &[Source]) -> bool {
    let of_trial = |part: &Source| match part {
        Source::OfTrial { trial, field, .. } => Some((*trial, field.clone())),
        Source::Trial { trial, quantity, statistic: Statistic::Count, .. } => {
            Some((*trial, format!("/counts/{quantity}")))
        }
        _ => None,
    };
    let summed: BTreeSet<_> = parts.iter().filter_map(of_trial).collect();
    let Some((first, field)) = summed.first() else { return true };
    // A sum of several numbers of one trial is not a sum over trials.
    let is_once = summed.len() == parts.iter().filter_map(of_trial).count();
    if is_once && parts.len() > 1 && summed.last().is_some_and(|(last, _)| last == first) {
        return true;
    }
    let condition = |owner: &Value| {
        ["/probe", "/parameters/gap_ns", "/parameters/idle_states"].map(|name| owner.pointer(name).cloned())
    };
    let expected = run.entries().find(|(_, id)| id == first).map(|([owner, _], _)| condition(owner));
    let all = run.entries().filter(|([owner, entry], _)| {
        Some(condition(owner)) == expected && entry.pointer(field).is_some_and(|field| !field.is_null())
    });
    let all: BTreeSet<_> = all.map(|(_, trial)| (trial, field.clone())).collect();
    all == summed && summed.len() == parts.len()
}

fn histogram(series: &Value) -> Option<Histogram> {
    let bytes = STANDARD.decode(series["histogram_v2_base64"].as_str()?).ok()?;
    let read: hdrhistogram::Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).ok()?;
    let mut histogram = Histogram::new();
    read.iter_recorded().for_each(|step| histogram.record(step.value_iterated_to(), step.count_at_value()));
    Some(histogram)
}

/// The number of a source, from the document alone.
pub fn recomputed(run: &Run, source: &Source) -> Option<f64> {
    match source {
        Source::Computed(Operation::Sum, parts) if !has_all_trials(run, parts) => None,
        Source::Computed(operation, parts) => {
            let parts: Option<Vec<Vec<f64>>> = parts.iter().map(|part| numbers(run, part)).collect();
            computed(*operation, &parts?.concat())
        }
        Source::Constant(number) => Some(*number),
        Source::Placement { cpus, number } => place::number(run, raw(run, cpus)?, number),
        Source::Option(option) => match (run.option(option), *option) {
            (Some(text), _) => match text.strip_suffix('%') {
                Some(percent) => percent.parse().ok().map(|percent: f64| percent / 100.0),
                None => text.trim_end_matches('s').parse().ok(),
            },
            (None, "precision") => Some(0.02),
            (None, "min-effect") => Some(MIN_EFFECT),
            (None, _) => None,
        },
        Source::Count { list: path, matching } => {
            let has = |item: &Value, key: &str, value: &str| {
                let field = item.pointer(key).unwrap_or(&Value::Null);
                value == "*" && !field.is_null() || field.to_string().trim_matches('"') == value
            };
            let items = list(run.document.pointer(path)?).iter();
            let counted = items.filter(|item| matching.iter().all(|(key, value)| has(item, key, value)));
            Some(counted.count() as f64)
        }
        Source::OfTrial { .. } => match of_trial(run, source)?[1] {
            // The reason states no width if the interval is wider than the value.
            Value::String(reason) => {
                let width = reason.strip_prefix("± ");
                width.map_or(Some(f64::INFINITY), |text| text.split(' ').next()?.parse().ok())
            }
            Value::Array(all) => Some(all.len() as f64),
            number => number.as_f64(),
        },
        Source::Trials { probe, changed } => {
            let is_counted = |([owner, entry], _): &([&Value; 2], TrialId)| {
                probe.as_ref().is_none_or(|probe| owner["probe"] == **probe)
                    && (!changed || !list(&entry["states"]).is_empty())
            };
            let counted: BTreeSet<_> = run.entries().filter(is_counted).map(|(_, trial)| trial).collect();
            Some(counted.len() as f64)
        }
        // The rate of a cell of a map of queues.
        Source::Trial { trial, quantity: "messages_per_s", statistic, .. }
            if entries_of(run, *trial).all(|entry| !entry["from"].is_null()) =>
        {
            let cell = entries_of(run, *trial).next()?;
            match statistic {
                Statistic::Low => cell["ci"][0].as_f64(),
                Statistic::High => cell["ci"][1].as_f64(),
                _ => cell["median"].as_f64(),
            }
        }
        Source::Trial { trial, quantity, statistic, .. } => {
            let of_trial = || entries_of(run, *trial);
            let view = of_trial().find(|one| one["parameters"]["view"] == **quantity);
            // Only the first distribution of a trial contains the values, intervals and counts of the trial.
            let with = |key: &str| of_trial().map(|one| &one[key][*quantity]).find(|found| !found.is_null());
            let end = |at: usize| match view {
                Some(view) => view["intervals"]["median_ns"][at].as_f64(),
                None => with("intervals")?[at].as_f64(),
            };
            match (statistic, view) {
                (Statistic::Count, Some(view)) => view["count"].as_f64(),
                (Statistic::Count, None) => with("counts")?.as_f64(),
                (Statistic::Mean, view) => view?["mean"].as_f64(),
                (Statistic::Percentile(share), view) => {
                    view?["percentiles"][((share * 1e4).round() / 100.0).to_string()].as_f64()
                }
                (Statistic::Estimate, _) => with("values")?.as_f64(),
                (Statistic::Low, _) => end(0),
                (Statistic::High, _) => end(1),
            }
        }
        Source::Pairs { map, relation, classes, statistic } => {
            let is_inside = |pair: &MapPair<'_>| {
                let [from, to] = pair.cpus;
                let kinds = [from, to].map(|cpu| run.class(cpu));
                let is_kind = |[one, other]: &[String; 2]| kinds == [one, other] || kinds == [other, one];
                // Only maps of queues and of trials have pairs of a CPU with itself.
                (from != to || matches!(map, MapSource::Queue { .. } | MapSource::Trials { .. }))
                    && run.reported.relation(from, to) == *relation
                    && classes.as_ref().is_none_or(is_kind)
            };
            let pairs: Vec<_> = pairs_recomputed(run, map).into_iter().filter(is_inside).collect();
            let values: Vec<f64> = pairs.iter().filter_map(|pair| pair.number(*statistic)).collect();
            match *statistic {
                Statistic::Count => Some(pairs.len() as f64),
                Statistic::Percentile(0.0) => values.into_iter().reduce(f64::min),
                Statistic::Percentile(1.0) => values.into_iter().reduce(f64::max),
                _ => median(&values),
            }
        }
        Source::Wide { map, number } => of_widths(run, map, *number),
        Source::Mode { trial, view, index, part } => {
            let series = entries_of(run, *trial).find(|one| one["parameters"]["view"] == **view)?;
            let mode = modes(&histogram(series)?).get(*index).copied()?;
            Some(if *part == ModePart::Share { mode.share } else { mode.median_ns })
        }
        Source::Field(_) | Source::Pair { .. } => field_of(run, source),
        Source::Cell { .. } => of_cell(run, source).map(|(number, _)| number),
        Source::Groups(level, least) => {
            let is_measured = |group: &&Domain| group.cpus.intersection(&run.measured()).len() >= *least;
            Some(run.reported.level(*level).into_iter().filter(is_measured).count() as f64)
        }
        Source::ReportedCpus => Some(run.reported.cpus().len() as f64),
        _ => None,
    }
}

/// The mutable parts of a number.
pub enum Parts<'a> {
    Whole(&'a mut u64),
    /// A number, optionally with an interval around another number.
    Point(&'a mut f64, Option<&'a mut Estimate>),
    /// A number with its interval.
    Interval(&'a mut Estimate),
}

pub fn parts(number: &mut Number) -> Parts<'_> {
    match number {
        Number::Count(number) | Number::Part { number, .. } => Parts::Whole(number),
        Number::Point(number)
        | Number::Setting(number)
        | Number::Short(number)
        | Number::Coarse(number)
        | Number::Duration(number)
        | Number::Figure(number)
        | Number::Probability(number)
        | Number::Difference(number)
        | Number::Relative(number) => Parts::Point(number, None),
        Number::HalfWidth { of, stated } => Parts::Point(stated, Some(of)),
        Number::Estimate(interval)
        | Number::PlusMinus(interval)
        | Number::Reach(interval)
        | Number::WithEnds(interval)
        | Number::Ends(interval)
        | Number::Shift(interval)
        | Number::Size(interval) => Parts::Interval(interval),
    }
}

/// The shown number and its interval.
pub fn stated(mut number: Number) -> (f64, Option<Estimate>) {
    match parts(&mut number) {
        Parts::Whole(number) => (*number as f64, None),
        Parts::Point(number, interval) => (*number, interval.copied()),
        Parts::Interval(interval) => (interval.point, Some(*interval)),
    }
}

/// Whether the kind of a number matches its source: it is a count if and only if the source is a count, and it has an
/// interval only if the source has one.
fn is_of_kind(run: &Run, source: &Source, number: Number) -> bool {
    let is_whole = matches!(number, Number::Count(_) | Number::Part { .. });
    let counts = match source {
        Source::Trial { statistic, .. } | Source::Pairs { statistic, .. } => {
            Some(*statistic == Statistic::Count)
        }
        Source::Wide { number, .. } => Some(*number != WideNumber::Widest),
        Source::Trials { .. } | Source::Count { .. } | Source::Groups(..) => Some(true),
        Source::Placement { .. } | Source::ReportedCpus => Some(true),
        Source::Cell { .. } | Source::Mode { .. } => Some(false),
        Source::Field(_) | Source::Pair { .. } if is_whole => raw(run, source).map(|field| !field.is_f64()),
        _ => None,
    };
    let has_interval = match source {
        Source::Trial { statistic, .. } => *statistic == Statistic::Estimate,
        Source::Field(_) | Source::Pair { .. } | Source::OfTrial { .. } => true,
        Source::Computed(operation, _) => *operation == Operation::Reversed,
        _ => false,
    };
    counts.is_none_or(|counts| counts == is_whole) && (has_interval || stated(number).1.is_none())
}

/// The interval of a source; `None` if the document has none for this kind.
fn ends_of(run: &Run, source: &Source) -> Option<[Option<f64>; 2]> {
    Some(match source {
        Source::Field(_) | Source::Pair { .. } => interval_of(run, source)?,
        Source::OfTrial { .. } => {
            let ends = of_trial(run, source)?[0].get("ci")?;
            [ends[0].as_f64(), ends[1].as_f64()]
        }
        &Source::Trial { trial, quantity, .. } => [Statistic::Low, Statistic::High]
            .map(|statistic| recomputed(run, &Source::Trial { trial, quantity, statistic, placements: 1 })),
        Source::Computed(Operation::Reversed, parts) => {
            let [low, high] = ends_of(run, &parts[0])?;
            [high, low].map(|end| computed(Operation::Reversed, &[end?]))
        }
        _ => [None, None],
    })
}

fn is_parameter(run: &Run, trial: Option<TrialId>, name: &str, found: f64) -> bool {
    let document = &run.document;
    let has = |one: &Value| one["parameters"][name].as_f64() == Some(found);
    let mut of_trial = run.entries().filter(|(_, id)| trial.is_none_or(|trial| *id == trial));
    // A stated `least_repetitions` is correct if some placement has fewer runs.
    let is_missing = |arm: &Value| found.fract() == 0.0 && (list(&arm["runs"]).len() as f64) < found;
    let mut compared = list(&document["comparisons"]).iter().flat_map(|one| list(&one["placements"]));
    of_trial.any(|([owner, _], _)| has(owner))
        || trial.is_none() && list(&document["matrices"]).iter().any(has)
        || name == "least_repetitions" && compared.any(is_missing)
}

/// Whether a number is computed over passes, while the document states the number over all events.
pub fn is_of_passes(source: &Source) -> bool {
    let (Source::Cell { map, .. } | Source::Pairs { map, .. }) = source else {
        return matches!(source, Source::Mode { .. });
    };
    matches!(map, MapSource::Trials { .. })
}

fn contradiction(run: &Run, (headings, value): &Shown) -> Option<String> {
    let is_checked = !matches!(value.source, Source::Listed | Source::Method | Source::Unrecorded);
    if is_checked && !is_of_kind(run, &value.source, value.number) {
        return Some("a number of another kind than its source".to_owned());
    }
    let (found, interval) = stated(value.number);
    let mut expected = match &value.source {
        Source::Listed | Source::Method | Source::Unrecorded | Source::Trial { placements: 2.., .. } => {
            return None;
        }
        // A map has a part of the run's budget, and fewer pairs may be concurrent than allowed.
        Source::Option(name @ ("budget" | "parallel")) => {
            let pairs = |matrix: &Value| matrix["parameters"]["parallel_pairs"].as_str()?.parse().ok();
            let limit = match *name {
                "parallel" => list(&run.document["matrices"]).iter().find_map(pairs),
                _ => recomputed(run, &value.source),
            };
            return limit
                .filter(|limit| found > *limit)
                .map(|limit| format!("at most {limit} was asked for"));
        }
        Source::Parameter { trial, name } => {
            return (!is_parameter(run, *trial, name, found)).then(|| format!("no such {name}"));
        }
        Source::Matrix { kernel, number } => of_matrix(run, kernel, number, found),
        source => recomputed(run, source),
    };
    match (&value.source, value.number) {
        (Source::Computed(Operation::Ratio, _), Number::Relative(_)) => {
            expected = expected.map(|ratio| ratio - 1.0);
        }
        (&Source::Trial { trial, quantity, placements, .. }, Number::HalfWidth { .. }) => {
            let statistic = Statistic::Percentile(0.5);
            let median = Source::Trial { trial, quantity, statistic, placements };
            expected = recomputed(run, &median).or(expected);
        }
        // The document has only the interval of a median over passes.
        (Source::Trial { statistic: Statistic::Estimate, .. }, _) => {
            let is_inside = |interval: &Estimate| (interval.low..=interval.high).contains(&interval.point);
            expected = expected.or(interval.filter(is_inside).map(|interval| interval.point));
        }
        (Source::Placement { cpus, number }, Number::Part { of, .. })
            if !place::has_all(run, cpus, number, of) =>
        {
            return Some(format!("they are not {of}"));
        }
        _ => {}
    }
    let path = path_of(&value.source).unwrap_or_default();
    if !is_in_own_unit(run, path, value) {
        return Some("a number in another unit".to_owned());
    }
    expected = expected.map(|field| match value.number {
        // A kept share is at most 1.
        _ if path.contains("_kept/1") => field.min(1.0),
        // The sign of a difference is stated in words next to its absolute value.
        Number::Point(_) if path.starts_with("/comparisons/") && is_in_percent(path) => field.abs(),
        _ => field,
    });
    let ends = ends_of(run, &value.source);
    let is_of_page = headings.len() == 1 && path.starts_with("/series/");
    if let (true, None, Some([Some(_), Some(_)])) = (is_of_page, interval, ends) {
        return Some("a number without its interval".to_owned());
    }
    if interval.zip(ends).is_some_and(|(shown, ends)| !is_interval(ends, &shown, path)) {
        return Some(format!("the interval is {ends:?}"));
    }
    let is_reason = matches!(&value.source, Source::OfTrial { field, .. } if field == "/reason");
    let is_same = |expected: f64| match value.number {
        // The reason of an interval that is wider than its value has no width.
        _ if is_reason && expected.is_infinite() => found > 100.0,
        _ if is_reason => (expected - found).abs() <= 5e-3 * expected,
        _ if !expected.is_finite() => false,
        Number::Count(_) | Number::Part { .. } => expected == found,
        _ if is_of_passes(&value.source) => (expected - found).abs() <= 0.01 * expected,
        _ if is_in_percent(path) => is_near_percent(expected, found),
        // Fields are rounded to four decimals, other small numbers to significant digits.
        _ if !path.is_empty() && value.unit == DisplayUnit::Own(Unit::Share) => {
            (expected - found).abs() <= 0.51e-4
        }
        Number::Difference(_) | Number::Relative(_) => is_near(expected, found),
        _ if value.unit == DisplayUnit::Own(Unit::Share) || expected.abs() < 0.1 => {
            (expected - found).abs() <= 2e-3 * f64::abs(expected)
        }
        // A factor amplifies the rounding of a field.
        _ => is_near(expected, found) || is_scaled(&value.source, expected - found),
    };
    (!expected.is_some_and(is_same)).then(|| format!("{expected:?}, not {found}"))
}

pub fn wrong(run: &Run, shown @ (headings, value): &Shown) -> Option<String> {
    let unit = || unstated(headings, value).or_else(|| unit_of_topology(run, headings, value));
    contradiction(run, shown).or_else(|| misread(value)).or_else(unit)
}

/// A number with the headings of its table, or the heading of its column on a page; no headings in a sentence.
pub type Shown = (Vec<String>, DisplayValue);
