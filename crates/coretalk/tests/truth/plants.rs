//! Single faults in the numbers of the checked screens, each of which the recomputation must find.

use super::fields::has_own_unit;
use super::maps::wrong_in_map;
use super::run::Run;
use super::sources::{Parts, Shown, is_of_passes, parts, recomputed, wrong};
use coretalk_model::quantity::Unit;
use coretalk_model::stats::Estimate;
use coretalk_model::{CpuId, Relation};
use coretalk_report::blocks::DrawnNumber;
use coretalk_report::blocks::value::{
    DisplayUnit, DisplayValue, MapSource, Number, Operation, Source, Statistic,
};
use serde_json::Value;
use std::collections::BTreeMap;

/// Whether the document lacks a field for a number.
fn has_no_field(value: &DisplayValue) -> bool {
    match &value.source {
        Source::Listed | Source::Method | Source::Unrecorded | Source::Option("budget" | "parallel") => true,
        Source::Trial { placements, .. } => *placements > 1,
        // A reason has no number for an interval that is wider than its value.
        Source::OfTrial { field, .. } if field == "/reason" => {
            matches!(value.number, Number::Point(percent) if percent > 100.0)
        }
        _ => false,
    }
}

fn changed_number(value: &DisplayValue) -> Number {
    let mut number = value.number;
    match parts(&mut number) {
        // The parameter may be that of any trial, so the change must exceed all of them.
        Parts::Whole(count) if matches!(value.source, Source::Parameter { trial: None, .. }) => {
            *count += 1_000_007
        }
        Parts::Whole(count) => *count += 1,
        Parts::Point(number, _) => {
            let share = if is_of_passes(&value.source) { 0.02 } else { 0.01 };
            *number += share * *number + if number.abs() < 0.05 { 1e-3 } else { 0.0 };
        }
        Parts::Interval(_) => return with_other_interval(value),
    }
    number
}

/// The number with another interval, if the document has it.
fn with_other_interval(value: &DisplayValue) -> Number {
    let mut number = value.number;
    if let Parts::Point(_, Some(interval)) | Parts::Interval(interval) = parts(&mut number) {
        let is_of_state =
            matches!(&value.source, Source::OfTrial { field, .. } if field.contains("/states/"));
        if !is_of_state && interval.is_sure() && interval.low.abs() > 0.02 {
            interval.low *= 0.99;
        }
    }
    number
}

fn negated(value: &DisplayValue) -> Number {
    let mut number = value.number;
    match parts(&mut number) {
        Parts::Point(number, _) => *number = -*number,
        Parts::Interval(interval) => interval.point = -interval.point,
        Parts::Whole(_) => {}
    }
    number
}

fn of_other_kind(value: &DisplayValue) -> Number {
    let source = &value.source;
    let is_measured = matches!(source, Source::Trial { .. } | Source::Cell { .. } | Source::Field(_));
    let is_of_pairs = matches!(source, Source::Pairs { .. } | Source::Pair { .. });
    let is_counted = matches!(source, Source::Trial { .. } | Source::Trials { .. } | Source::Count { .. });
    match value.number {
        Number::Point(number) | Number::Short(number) | Number::Estimate(Estimate { point: number, .. })
            if is_measured || is_of_pairs =>
        {
            Number::Count(number.round() as u64)
        }
        Number::Count(number) if is_counted => Number::Point(number as f64),
        number => number,
    }
}

/// Other units, if the path of the field or a heading determines the unit.
fn other_units(run: &Run, (headings, value): &Shown) -> Vec<(&'static str, DisplayUnit)> {
    let is_difference = matches!(value.number, Number::Difference(_) | Number::Shift(_));
    // Numbers below other headings of the table may be in microseconds.
    let is_undetermined =
        headings.is_empty() || headings.iter().any(|it| it.split(' ').any(|word| word == "µs"));
    let is_point = matches!(value.number, Number::Point(_));
    match (&value.source, value.unit) {
        (Source::Field(path), _)
            if !is_difference && (has_own_unit(run, path) || path.starts_with("/topology")) =>
        {
            vec![("unit", DisplayUnit::OfColumn(1e3)), ("share", DisplayUnit::Own(Unit::Share))]
        }
        (Source::Trial { .. }, DisplayUnit::OfColumn(divisor)) if is_point && !is_undetermined => {
            vec![("unit", DisplayUnit::OfColumn(1e3 * divisor))]
        }
        _ => Vec::new(),
    }
}

/// Paths with other numbers: at another index of the list, and at another key of the object.
fn other_fields(run: &Run, path: &str) -> Vec<(&'static str, String)> {
    let steps: Vec<&str> = path.split('/').collect();
    let value = |path: &str| run.document.pointer(path).and_then(Value::as_f64);
    let differs = |other: &String| value(other).is_some() && value(other) != value(path);
    let with = |at: usize, step: &str| [&steps[..at], &[step], &steps[at + 1..]].concat().join("/");
    let index = steps.iter().rposition(|step| step.parse::<usize>().is_ok());
    let indexes = index.into_iter().flat_map(|at| (0..100).map(move |other| (at, other.to_string())));
    let other = indexes.map(|(at, other)| with(at, &other)).find(differs);
    let object = path.rsplit_once('/').and_then(|(object, _)| run.document.pointer(object)?.as_object());
    let keys = object.into_iter().flat_map(|object| object.keys());
    let sibling = keys.map(|key| with(steps.len() - 1, key)).find(differs);
    let side = path.contains("/compared/a").then(|| path.replace("/compared/a", "/compared/z"));
    let all = [("index", other), ("key", sibling), ("side", side)];
    all.into_iter().filter_map(|(kind, path)| Some((kind, path?))).collect()
}

fn other_sources(run: &Run, source: &Source) -> Vec<(&'static str, Source)> {
    let mut other = source.clone();
    match &mut other {
        &mut Source::Trial { trial, quantity, statistic, placements } => {
            let with = |kind, trial, quantity, statistic| {
                (kind, Source::Trial { trial, quantity, statistic, placements })
            };
            let first_or_last = if quantity == "last" { "first" } else { "last" };
            let another = run.trials.iter().find(|other| **other != trial).copied().unwrap_or(trial);
            let statistics = [Statistic::Mean, Statistic::Estimate, Statistic::Count, Statistic::Low];
            let percentiles = [0.25, 0.5, 0.99].map(Statistic::Percentile);
            let statistics = statistics.into_iter().chain(percentiles);
            let others = [
                with("quantity", trial, "of nothing", statistic),
                with("other quantity", trial, first_or_last, statistic),
                with("trial", another, quantity, statistic),
            ];
            return statistics.map(|other| with("statistic", trial, quantity, other)).chain(others).collect();
        }
        Source::Pairs { map, relation, classes, statistic } => {
            let (map, classes) = (&*map, &*classes);
            let with = |kind, relation, statistic| {
                (kind, Source::Pairs { map: map.clone(), relation, classes: classes.clone(), statistic })
            };
            let groups = Relation::ALL.into_iter().map(|other| with("group", other, *statistic));
            let statistics = [Statistic::Count, Statistic::Percentile(0.0), Statistic::Percentile(1.0)];
            return groups.chain(statistics.map(|other| with("statistic", *relation, other))).collect();
        }
        Source::Cell { map: MapSource::Kernel(_), row, column, own: false } => {
            let is_other = |cpu: &CpuId| !row.contains(cpu) && !column.contains(cpu);
            *column = run.measured().iter().find(is_other).map_or_else(|| column.clone(), |cpu| vec![cpu]);
        }
        Source::Field(path) => {
            let others = other_fields(run, path).into_iter();
            return others.map(|(kind, path)| (kind, Source::Field(path))).collect();
        }
        Source::Placement { cpus, number } => {
            let with = |cpus| Source::Placement { cpus: Box::new(cpus), number: number.clone() };
            return other_sources(run, cpus).into_iter().map(|(kind, cpus)| (kind, with(cpus))).collect();
        }
        Source::Computed(Operation::Reversed, parts) => return vec![("side", parts[0].clone())],
        Source::Computed(Operation::Sum, parts) => parts.truncate(1),
        Source::Computed(_, parts) => parts.reverse(),
        Source::Count { matching, .. } => matching[0].1 = "none".to_owned(),
        Source::OfTrial { field, .. } => *field = if field == "/n" { "/median" } else { "/n" }.to_owned(),
        Source::Trials { probe, .. } => *probe = Some(String::new()),
        Source::Parameter { name, .. } => name.push('_'),
        _ => {}
    }
    vec![("source", other)]
}

/// The faults of a number: another number, kind, sign, interval, whole, unit and source.
fn faults(run: &Run, shown: &Shown) -> Vec<(&'static str, DisplayValue)> {
    let value = &shown.1;
    let mut whole = value.number;
    if let Number::Part { of, .. } = &mut whole {
        *of += 1;
    }
    let numbers = [
        ("number", changed_number(value)),
        ("kind", of_other_kind(value)),
        ("sign", negated(value)),
        ("interval", with_other_interval(value)),
        ("whole", whole),
    ];
    let numbers = numbers.map(|(kind, number)| (kind, DisplayValue { number, ..value.clone() }));
    // A computed number has the unit of its column, too.
    let units = other_units(run, shown).into_iter().flat_map(|(kind, unit)| {
        let fault = DisplayValue { unit, ..value.clone() };
        let source = Source::Computed(Operation::Product, vec![value.source.clone()]);
        let computed = ("unit of an operation", DisplayValue { source, ..fault.clone() });
        let is_trial = matches!(value.source, Source::Trial { .. });
        [(kind, fault)].into_iter().chain(is_trial.then_some(computed))
    });
    let sources = other_sources(run, &value.source).into_iter();
    let sources = sources.map(|(kind, source)| (kind, DisplayValue { source, ..value.clone() }));
    numbers.into_iter().chain(units).chain(sources).filter(|(_, fault)| fault != value).collect()
}

/// Whether two sources have the same number, or none.
fn is_alike(run: &Run, one: &Source, other: &Source) -> bool {
    match [one, other].map(|source| recomputed(run, source)) {
        [Some(one), Some(other)] => (one - other).abs() <= 0.01 * one.abs(),
        [one, other] => one == other,
    }
}

/// The name of the kind of a source; fields are distinguished by their part of the document.
fn kind_of(source: &Source) -> String {
    if let Source::Field(path) = source {
        return format!("Field /{}", path.split('/').nth(1).unwrap_or_default());
    }
    let text = format!("{source:?}");
    text.split([',', ' ', '{', '"']).next().unwrap_or_default().trim_end_matches('(').to_owned()
}

/// Maximum number of values per run and kind of source in which faults are planted.
const MAX_SAMPLED: usize = 100;

/// Values of each kind of source, evenly spaced over the run.
fn sample<T>(all: &[T], value: impl Fn(&T) -> &DisplayValue) -> Vec<&T> {
    let mut kinds: BTreeMap<String, Vec<&T>> = BTreeMap::new();
    for one in all.iter().filter(|one| !has_no_field(value(one))) {
        kinds.entry(kind_of(&value(one).source)).or_default().push(one);
    }
    let step = |values: &Vec<&T>| values.len().div_ceil(MAX_SAMPLED);
    kinds.into_values().flat_map(|values| values.clone().into_iter().step_by(step(&values))).collect()
}

/// The number of found faults and the missed faults, by kind of fault and of source.
pub fn planted(runs: &[Run]) -> BTreeMap<String, (usize, Vec<String>)> {
    let mut planted: BTreeMap<String, (usize, Vec<String>)> = BTreeMap::new();
    for run in runs {
        let mut note = |kind: &str, value: &DisplayValue, fault: &DisplayValue, is_found: bool| {
            if is_found || fault.source == value.source || !is_alike(run, &fault.source, &value.source) {
                let name = format!("{kind} of {}", kind_of(&value.source));
                let (found, missed) = planted.entry(name).or_default();
                *found += usize::from(is_found);
                missed.extend((!is_found).then(|| format!("{:?}: {kind}: {fault:?}", run.words)));
            }
        };
        for shown in sample(&run.values, |(_, value)| value) {
            for (kind, fault) in faults(run, shown) {
                let is_found = wrong(run, &(shown.0.clone(), fault.clone())).is_some();
                note(kind, &shown.1, &fault, is_found);
            }
        }
        for (unit, number) in sample(&run.cells, |(_, number)| &number.value) {
            let is_wrong = |value: &DisplayValue, doubtful| {
                wrong_in_map(run, unit, &DrawnNumber { value: value.clone(), doubtful }).is_some()
            };
            note("mark", &number.value, &number.value, is_wrong(&number.value, !number.doubtful));
            for (kind, fault) in faults(run, &(vec![unit.clone()], number.value.clone())) {
                note(kind, &number.value, &fault, is_wrong(&fault, number.doubtful));
            }
        }
    }
    planted
}
