//! Faults in the numbers of the judged screens, planted one at a time: the recomputation has to find each.

use super::maps::wrong_in_map;
use super::run::{Run, list};
use super::sources::{Shown, is_of_passes, recomputed, trial_of, wrong};
use coretalk::blocks::DrawnNumber;
use coretalk::blocks::value::{
    DisplayUnit, DisplayValue, MapSource, Number, SeriesNumber, Source, Statistic,
};
use coretalk_model::quantity::Unit;
use coretalk_model::{CpuId, Relation};
use std::collections::BTreeMap;

/// Whether a number has no field to be recomputed from.
fn is_unheld(value: &DisplayValue) -> bool {
    match &value.source {
        Source::Listed | Source::Method | Source::Unrecorded | Source::Option("budget" | "parallel") => true,
        Source::Trial { placements, .. } => *placements > 1,
        // The reason of an interval that is wider than its value has no number.
        Source::Width(_) => matches!(value.number, Number::Point(percent) if percent > 100.0),
        _ => false,
    }
}

/// Another number of the same kind, or another interval.
fn changed(value: &DisplayValue) -> Number {
    let mut changed = value.number;
    match &mut changed {
        // A sentence may state what another trial has.
        Number::Count(count) if matches!(value.source, Source::Parameter { trial: None, .. }) => {
            *count += 1_000_007
        }
        Number::Count(number) | Number::Part { number, .. } => *number += 1,
        Number::Point(number)
        | Number::Setting(number)
        | Number::Short(number)
        | Number::Coarse(number)
        | Number::Duration(number)
        | Number::Relative(number)
        | Number::Figure(number)
        | Number::Probability(number)
        | Number::Difference(number)
        | Number::HalfWidth { stated: number, .. } => {
            let share = if is_of_passes(&value.source) { 0.02 } else { 0.01 };
            *number += share * *number + if number.abs() < 0.05 { 1e-3 } else { 0.0 };
        }
        _ => return with_interval(value),
    }
    changed
}

/// The number with another interval, where documents have one.
fn with_interval(value: &DisplayValue) -> Number {
    let mut changed = value.number;
    match &mut changed {
        Number::Estimate(of)
        | Number::Shift(of)
        | Number::Size(of)
        | Number::WithEnds(of)
        | Number::Ends(of)
        | Number::Reach(of)
        | Number::PlusMinus(of)
        | Number::HalfWidth { of, .. } => {
            let is_known =
                of.is_sure() && of.low.abs() > 0.02 && !matches!(value.source, Source::State { .. });
            of.low *= if is_known { 0.99 } else { 1.0 };
        }
        _ => {}
    }
    changed
}

fn negated(value: &DisplayValue) -> Number {
    match value.number {
        Number::Point(number) => Number::Point(-number),
        Number::Figure(number) => Number::Figure(-number),
        Number::Difference(number) => Number::Difference(-number),
        Number::Relative(number) => Number::Relative(-number),
        Number::Shift(mut of) => {
            of.point = -of.point;
            Number::Shift(of)
        }
        number => number,
    }
}

/// Fields whose path determines their unit.
const WITH_UNITS: [&str; 5] = ["/advice", "/compared", "/differences", "/overview", "/topology"];

/// Other units, where the path of a field or a heading determines the unit.
fn other_units((headings, value): &Shown) -> Vec<(&'static str, DisplayUnit)> {
    let is_difference = matches!(value.number, Number::Difference(_) | Number::Shift(_));
    match (&value.source, value.unit) {
        (Source::Field(path), _) if !is_difference && WITH_UNITS.iter().any(|of| path.starts_with(of)) => {
            vec![("unit", DisplayUnit::OfColumn(1e3)), ("share", DisplayUnit::Own(Unit::Share))]
        }
        (Source::Trial { .. }, DisplayUnit::OfColumn(divisor))
            if matches!(value.number, Number::Point(_)) =>
        {
            // Numbers below other headings of the table may be in microseconds.
            let is_open =
                headings.is_empty() || headings.iter().any(|it| it.split(' ').any(|word| word == "µs"));
            if is_open { Vec::new() } else { vec![("unit", DisplayUnit::OfColumn(1e3 * divisor))] }
        }
        _ => Vec::new(),
    }
}

/// Other sources of the same kind.
fn other_sources(run: &Run, source: &Source) -> Vec<(&'static str, Source)> {
    let mut other = source.clone();
    match &mut other {
        &mut Source::Trial { trial, quantity, statistic, placements } => {
            let of = |kind, trial, quantity, statistic| {
                (kind, Source::Trial { trial, quantity, statistic, placements })
            };
            let first_or_last = if quantity == "last" { "first" } else { "last" };
            let mut trials = list(&run.document["series"]).iter().map(trial_of);
            let another = trials.find(|other| *other != trial).unwrap_or(trial);
            return vec![
                of("quantity", trial, "of nothing", statistic),
                of("other quantity", trial, first_or_last, statistic),
                of("trial", another, quantity, statistic),
                of(
                    "statistic",
                    trial,
                    quantity,
                    match statistic {
                        Statistic::Percentile(_) => Statistic::Percentile(0.25),
                        other => other,
                    },
                ),
            ];
        }
        Source::Series { index, number } => {
            let (index, number) = (*index, number.clone());
            let p50 = |index: usize| &run.document["series"][index]["percentiles"]["50"];
            let another = (0..list(&run.document["series"]).len()).find(|other| p50(*other) != p50(index));
            let of = |kind, index, number| (kind, Source::Series { index, number });
            let slowest = match number {
                SeriesNumber::Percentile("90" | "99") => SeriesNumber::Percentile("100"),
                _ => number.clone(),
            };
            return vec![
                of("series", another.unwrap_or(index), number),
                of("number of a series", index, slowest),
            ];
        }
        Source::Pairs { map, relation, classes, statistic } => {
            let others = Relation::ALL.into_iter().filter(|other| other != relation);
            return others
                .map(|relation| {
                    let (map, classes) = (map.clone(), classes.clone());
                    ("group", Source::Pairs { map, relation, classes, statistic: *statistic })
                })
                .collect();
        }
        Source::Cell { map: MapSource::Kernel(_), row, column, own: false } => {
            let is_other = |cpu: &CpuId| !row.contains(cpu) && !column.contains(cpu);
            *column = run.measured().iter().find(is_other).map_or_else(|| column.clone(), |cpu| vec![cpu]);
        }
        Source::Field(path) => {
            let at = |one: &str, other: &str| {
                path.rfind(one).map(|at| format!("{}{other}{}", &path[..at], &path[at + one.len()..]))
            };
            let another = at("/0/", "/1/").or_else(|| at("/1/", "/0/"));
            *path = another.or_else(|| at("/compared/a", "/compared/z")).unwrap_or_else(|| path.clone());
        }
        Source::Placement { cpus, number } => {
            let of =
                |(kind, cpus)| (kind, Source::Placement { cpus: Box::new(cpus), number: number.clone() });
            return other_sources(run, cpus).into_iter().map(of).collect();
        }
        Source::Reversed(of) => return vec![("side", (**of).clone())],
        Source::Differing { value, .. } | Source::Matching { value, .. } => *value = "none",
        Source::QueueCell { key, .. } => *key = "n",
        Source::Rates { relation, .. } => *relation = Relation::Node,
        Source::Role { role, .. } => *role += 100,
        Source::Sum(parts) => parts.truncate(1),
        Source::Ratio(one, other) => std::mem::swap(one, other),
        Source::Less(one, other) | Source::Product(one, other) => *one = other.clone(),
        Source::Spin { key, .. } => *key = if *key == "spin_ns" { "later_ns" } else { "spin_ns" },
        Source::State { index, .. } => *index += 100,
        Source::Trials { probe, .. } => probe.clear(),
        Source::Parameter { name, .. } => name.push('_'),
        _ => {}
    }
    vec![("source", other)]
}

/// Another number, and one of all other faults, in turn.
fn faults(run: &Run, shown: &Shown, turn: usize) -> Vec<(&'static str, DisplayValue)> {
    let value = &shown.1;
    let whole = match value.number {
        Number::Part { number, of } => Number::Part { number, of: of + 1 },
        number => number,
    };
    let of_number = [("sign", negated(value)), ("interval", with_interval(value)), ("whole", whole)];
    let of_number = of_number.map(|(kind, number)| (kind, DisplayValue { number, ..value.clone() }));
    let units =
        other_units(shown).into_iter().map(|(kind, unit)| (kind, DisplayValue { unit, ..value.clone() }));
    let sources = other_sources(run, &value.source).into_iter();
    let sources = sources.map(|(kind, source)| (kind, DisplayValue { source, ..value.clone() }));
    let others = of_number.into_iter().chain(units).chain(sources);
    let mut others: Vec<_> = others.filter(|(_, fault)| fault != value).collect();
    let mut faults = vec![("number", DisplayValue { number: changed(value), ..value.clone() })];
    faults.retain(|(_, fault)| fault != value);
    if !others.is_empty() {
        faults.push(others.swap_remove(turn % others.len()));
    }
    faults
}

/// Whether two sources have the same number, or none.
fn is_alike(run: &Run, one: &Source, other: &Source) -> bool {
    match [one, other].map(|source| recomputed(run, source)) {
        [Some(one), Some(other)] => (one - other).abs() <= 0.01 * one.abs(),
        [one, other] => one == other,
    }
}

/// The numbers of a run in which faults are planted, evenly spread over it.
const MOST: usize = 1_000;

/// Planted faults by their kind and that of their source: how many were found, and those that were not.
pub fn planted(runs: &[Run]) -> BTreeMap<String, (usize, Vec<String>)> {
    let mut planted: BTreeMap<String, (usize, Vec<String>)> = BTreeMap::new();
    for run in runs {
        let mut note = |kind: &str, value: &DisplayValue, fault: &DisplayValue, is_found: bool| {
            let source = format!("{:?}", value.source);
            let source = source.split([' ', '(', '{']).next().unwrap_or_default();
            if is_found || fault.source == value.source || !is_alike(run, &fault.source, &value.source) {
                let (found, missed) = planted.entry(format!("{kind} of {source}")).or_default();
                *found += usize::from(is_found);
                missed.extend((!is_found).then(|| format!("{:?}: {kind}: {fault:?}", run.words)));
            }
        };
        let held = run.values.iter().filter(|(_, value)| !is_unheld(value)).enumerate();
        for (turn, shown) in held.step_by(1 + run.values.len() / MOST) {
            for (kind, fault) in faults(run, shown, turn) {
                let is_found = wrong(run, &(shown.0.clone(), fault.clone())).is_some();
                note(kind, &shown.1, &fault, is_found);
            }
        }
        for (turn, (unit, number)) in run.cells.iter().enumerate().step_by(1 + run.cells.len() / MOST) {
            let is_wrong = |value: &DisplayValue, doubtful| {
                wrong_in_map(run, unit, &DrawnNumber { value: value.clone(), doubtful }).is_some()
            };
            note("mark", &number.value, &number.value, is_wrong(&number.value, !number.doubtful));
            let shown = (vec![unit.clone()], number.value.clone());
            for (kind, fault) in faults(run, &shown, turn).into_iter().filter(|_| !is_unheld(&number.value)) {
                note(kind, &number.value, &fault, is_wrong(&fault, number.doubtful));
            }
        }
    }
    planted
}

/// A fault in a run: its name, the change, and words of the reason by which it is found.
pub type Fault = (&'static str, fn(&mut Run), &'static str);

/// Plants faults in runs, each where it changes something. All have to be found, in some run for their own reason.
pub fn plant(runs: &[Run], untrue: impl Fn(&Run) -> Vec<String>, faults: &[Fault]) {
    for run in runs {
        assert_eq!(untrue(run), Vec::<String>::new(), "{:?}", run.words);
    }
    for (kind, change, expected) in faults {
        let mut reasons = Vec::new();
        for run in runs {
            let mut changed = run.clone();
            change(&mut changed);
            if changed.said() != run.said() {
                let found = untrue(&changed);
                assert!(!found.is_empty(), "{kind}: {:?}: {}", run.words, changed.document);
                reasons.extend(found);
            }
        }
        assert!(reasons.iter().any(|why| why.contains(expected)), "{kind}: {reasons:#?}");
    }
}
