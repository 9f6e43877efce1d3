//! Each typed number of a screen, recomputed from its source in the JSON document of the same run, and its text, read back
//! within its rounding.

use super::maps::wrong_in_map;
use super::run::{Run, report_of};
use super::sources::{Shown, is_near, recomputed, trial_of, wrong};
use crate::cli::tool::Tool;
use coretalk::blocks::value::{
    DisplayUnit, DisplayValue, MapSource, Number, SeriesNumber, Source, Statistic,
};
use coretalk::blocks::{Block, DrawnNumber, Table};
use coretalk::document::Identity;
use coretalk::report::input::ReportInput;
use coretalk::report::{Saved, Screen, fmt, html, screen, structure};
use coretalk_model::infer::Findings;
use coretalk_model::{CpuId, Relation};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};

/// A run on a simulated machine, and the typed numbers of its screen and of the tables of its page.
fn values_of(tool: &Tool, machine: &str, words: &[&str], name: &str) -> (Run, Vec<Shown>) {
    let run = Run::of(tool, machine, &[words, &["--seed", "1"]].concat(), name);
    let report = report_of(tool, name);
    let page = ReportInput::new(&report, name, Identity::Hidden);
    let on_page = html::series::tables(&page);
    let on_page = on_page.iter().flat_map(Table::values);
    let on_page = on_page.map(|(column, value)| (vec![fmt::sentence(&column.title)], value.clone()));
    let values = run.values.iter().cloned().chain(on_page).collect();
    (run, values)
}

#[test]
fn typed_numbers_are_those_of_their_sources() {
    let tool = Tool::new();
    let mut checked = 0;
    for (index, (words, least)) in [
        (&["broadcast", "--budget", "4s"][..], 80),
        (&["latency", "--gap", "1us,1ms", "--pairs", "0-1,0-8", "--budget", "4s"], 20),
        (&["wake", "--cpus", "0,1,8", "--budget", "4s"], 40),
        (&["wait", "--cpus", "0,1,8", "--budget", "4s"], 10),
        (&["contend", "--cpus", "0-3", "--budget", "4s"], 1),
        (&["sharing", "--cpus", "0,1,8", "--budget", "4s"], 5),
        (&["spawn", "--budget", "4s"], 2),
        (&["queue", "--cpus", "0,1", "--queue", "spsc", "--rate-sweep", "--budget", "6s"], 1),
        (&["place", "--workload", "ring,integer", "--threads", "4", "--budget", "300s"], 4),
    ]
    .into_iter()
    .enumerate()
    {
        let (run, values) = values_of(&tool, "chiplet-16", words, &format!("typed-{index}"));
        let of_trials = values.iter().filter(|(_, value)| {
            matches!(value.source, Source::Trial { placements: 1, .. } | Source::Field(_))
        });
        let of_trials = of_trials.count();
        assert!(of_trials >= least, "{words:?}: {of_trials}");
        for value in &values {
            assert_eq!(wrong(&run, value), None, "{words:?}: {value:?}");
            checked += 1;
        }
    }
    println!("{checked} numbers");
}

/// Machines whose maps have one number, several levels, kinds of cores, threads of a core, and levels that change.
const MAPS: [(&str, &[&str]); 7] = [
    ("chiplet-16", &["latency", "--cpus", "0,1,8", "--tails", "--budget", "3s"]),
    ("chiplet-16-smt", &["latency", "--cpus", "0,1,8,16,17", "--budget", "3s"]),
    ("hybrid", &["latency", "--budget", "8s"]),
    ("mesh-64", &["latency", "--cpus", "0-11", "--budget", "4s"]),
    ("noisy-vm", &["latency", "--budget", "5s"]),
    ("laptop-smt", &["latency", "--budget", "3s"]),
    ("chiplet-16", &["--cpus", "0-3,8", "--budget", "5s"]),
];

#[test]
fn the_first_line_of_a_map_is_what_its_cells_show() {
    let tool = Tool::new();
    let mut kinds = BTreeSet::new();
    for (index, (machine, words)) in MAPS.into_iter().enumerate() {
        let (run, values) = values_of(&tool, machine, words, &format!("map-{index}"));
        let shown: Vec<&Shown> = values
            .iter()
            .filter(|(_, value)| {
                !matches!(
                    value.source,
                    Source::Series { .. }
                        | Source::Trial { .. }
                        | Source::Parameter { .. }
                        | Source::Listed
                        | Source::Unrecorded
                )
            })
            .collect();
        assert!(!shown.is_empty(), "{machine}");
        for finding in
            run.document["findings"].as_array().unwrap().iter().filter(|one| one["kind"] == "levels")
        {
            let text = |text: &Value| text.as_str().unwrap_or_default().to_owned();
            for subject in finding["subjects"].as_array().unwrap() {
                let relation = Relation::ALL.into_iter().find(|one| subject["name"] == one.name()).unwrap();
                let classes = ["class", "other_class"].map(|key| text(&subject["parameters"][key]));
                let source = Source::Pairs {
                    map: MapSource::Kernel(text(&finding["condition"]["kernel"])),
                    relation,
                    classes: Some(classes).filter(|[one, _]| !one.is_empty()),
                    statistic: Statistic::Percentile(0.5),
                };
                let value = subject["value"].as_f64().unwrap();
                assert!(
                    recomputed(&run, &source).is_some_and(|ns| is_near(ns, value)),
                    "{machine}: {subject}"
                );
            }
        }
        for value in shown {
            assert_eq!(wrong(&run, value), None, "{machine}: {value:?}");
            // A value, a unit, a group of pairs and a statistic that are wrong.
            let (headings, value) = value.clone();
            let mut faults = vec![];
            if let Number::Short(number) | Number::Point(number) = value.number {
                faults
                    .push(("value", DisplayValue { number: Number::Short(1.02 * number), ..value.clone() }));
            }
            if let Number::Count(count) = value.number {
                faults.push(("count", DisplayValue { number: Number::Count(count + 1), ..value.clone() }));
            }
            if let Source::Pairs { map, relation, classes, statistic } = &value.source {
                let other = Relation::ALL.into_iter().filter(|other| other != relation);
                faults.extend(other.map(|relation| {
                    let (map, classes) = (map.clone(), classes.clone());
                    let source = Source::Pairs { map, relation, classes, statistic: *statistic };
                    ("group", DisplayValue { source, ..value.clone() })
                }));
            }
            for (kind, fault) in faults {
                assert!(wrong(&run, &(headings.clone(), fault)).is_some(), "{machine}: {kind} in {value:?}");
                kinds.insert(kind);
            }
        }
    }
    assert_eq!(kinds.len(), 3, "{kinds:?}");
}

/// Maps of pairs and of cores, of latencies and of trials; numbers, groups and marks that are wrong are found.
#[test]
fn each_number_of_a_map_is_that_of_its_pairs() {
    let tool = Tool::new();
    let mut kinds = BTreeSet::new();
    for (index, (machine, words, least)) in [
        (
            "chiplet-16-smt",
            &["latency", "--protocol", "cas,msg", "--cpus", "0-2,8,16", "--budget", "4s"][..],
            20,
        ),
        ("chiplet-16-smt", &["latency", "--cpus", "0,1,8,16", "--by", "thread", "--budget", "2s"], 9),
        ("noisy-vm", &["latency", "--protocol", "msg", "--budget", "5s"], 12),
        ("chiplet-16-smt", &["wake", "--cpus", "0,1,8,16", "--pairs", "all", "--budget", "4s"], 12),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("cells-{index}");
        let run = Run::of(&tool, machine, &[words, &["--seed", "1"]].concat(), &name);
        let mut checked = 0;
        for (unit, shown) in &run.cells {
            assert_eq!(wrong_in_map(&run, unit, shown), None, "{words:?}: {shown:?}");
            checked += 1;
            let mut faults = vec![("mark", DrawnNumber { doubtful: !shown.doubtful, ..shown.clone() })];
            let mut changed = shown.clone();
            if let Number::Short(number) = &mut changed.value.number {
                *number *= 1.02;
                faults.push(("value", changed));
            }
            let mut changed = shown.clone();
            if let Source::Cell { map: MapSource::Kernel(_), row, column, own: false } =
                &mut changed.value.source
            {
                let is_other = |cpu: &CpuId| !row.contains(cpu) && !column.contains(cpu);
                if let Some(cpu) = run.measured().iter().find(is_other) {
                    *column = vec![cpu];
                    faults.push(("group", changed));
                }
            }
            for (kind, fault) in faults {
                assert!(wrong_in_map(&run, unit, &fault).is_some(), "{words:?}: {kind} in {shown:?}");
                kinds.insert(kind);
            }
        }
        assert!(checked >= least, "{words:?}: {checked}");
    }
    assert_eq!(kinds.len(), 3, "{kinds:?}");
}

/// Whether each number of a finding is one of a trial with its parameters.
fn untrue_subjects(document: &Value, finding: &Value) -> Vec<Value> {
    let is_measured = |subject: &&Value| {
        let of_subject = |one: &&Value| {
            let mut own = subject["parameters"].as_object().unwrap().iter();
            one["probe"] == finding["probe"] && own.all(|(name, value)| one["parameters"][name] == *value)
        };
        let numbers = |one: &Value| {
            let of_values = one["values"][finding["quantity"].as_str().unwrap()].as_f64();
            [of_values, one["percentiles"]["50"].as_f64()].into_iter().flatten().collect::<Vec<f64>>()
        };
        let mut found = document["series"].as_array().unwrap().iter().filter(of_subject).flat_map(numbers);
        subject["value"].as_f64().is_some_and(|value| found.any(|number| is_near(number, value)))
    };
    let subjects = finding["subjects"].as_array().unwrap().iter();
    subjects.filter(|subject| !subject["value"].is_null() && !is_measured(subject)).cloned().collect()
}

/// The same value with another number.
pub fn changed(value: &DisplayValue) -> DisplayValue {
    let mut changed = value.clone();
    match &mut changed.number {
        Number::Count(count) => *count += 1,
        Number::Point(number)
        | Number::Setting(number)
        | Number::Short(number)
        | Number::Coarse(number)
        | Number::Duration(number)
        | Number::Relative(number)
        | Number::Figure(number)
        | Number::Probability(number) => *number = if *number == 0.0 { 1.0 } else { 1.01 * *number },
        Number::Part { number, .. } => *number += 1,
        Number::Change(share) | Number::Difference(share) => *share += 0.01,
        Number::Estimate(of)
        | Number::Shift(of)
        | Number::Size(of)
        | Number::WithEnds(of)
        | Number::Ends(of)
        | Number::Reach(of)
        | Number::PlusMinus(of) => of.low *= 0.99,
        Number::HalfWidth { stated, .. } => *stated *= 1.01,
    }
    changed
}

/// Ladders, classes of cores, states over time, and levels that the latencies show.
#[test]
fn numbers_of_tables_of_maps_are_those_of_their_fields() {
    let tool = Tool::new();
    for (index, (machine, words, least)) in [
        ("chiplet-16-smt", &["latency", "--cpus", "0,1,8,16", "--budget", "5s"][..], 30),
        ("hybrid", &["latency", "--cpus", "0-3,12-14", "--budget", "5s"], 30),
        ("noisy-vm", &["latency", "--cpus", "0,1", "--budget", "5s"], 8),
        ("chiplet-16", &["latency", "--budget", "5s"], 12),
        ("chiplet-16-smt", &["latency", "--pairs", "0-1,0-8,0-16", "--tails", "--budget", "2s"], 54),
        ("epyc-2s-192", &["latency", "--cpus", "0-11", "--parallel", "4", "--budget", "2s"], 8),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("tables-{index}");
        let (run, mut values) = values_of(&tool, machine, words, &name);
        let report = report_of(&tool, &name);
        let findings = Findings::of_run(report.latencies().unwrap(), &report.topology);
        let of_levels = findings.as_ref().map_or(Vec::new(), |findings| structure::blocks(findings, "ns"));
        values.extend(of_levels.iter().flat_map(Block::values).map(|value| (Vec::new(), value.clone())));
        let is_of_map = |source: &Source| {
            let is_field = matches!(source, Source::Field(_) | Source::Pair { .. } | Source::Pairs { .. });
            is_field || matches!(source, Source::Matrix { .. } | Source::Watch(_))
        };
        values.retain(|(_, value)| is_of_map(&value.source));
        assert!(values.len() >= least, "{machine}: {}", values.len());
        for (_, value) in values {
            assert_eq!(wrong(&run, &(Vec::new(), value.clone())), None, "{machine}: {value:?}");
            let is_found = wrong(&run, &(Vec::new(), changed(&value))).is_some();
            let is_rounded = matches!(value.number, Number::Point(number) if number < 0.01);
            assert!(is_found || is_rounded, "{machine}: {value:?}");
        }
    }
}

/// The first line of each kind of finding, which its document has too: its numbers, and that each fault in one is found.
#[test]
fn numbers_of_first_lines_are_those_of_their_sources() {
    let tool = Tool::new();
    for (index, (words, least, kind, verdict)) in [
        (&["sharing", "--cpus", "0,1,8", "--budget", "4s"][..], 5, "padding", "to"),
        (&["broadcast", "--budget", "4s"], 1, "ranking", "single"),
        (
            &["latency", "--gap", "1us,100us,1ms", "--pairs", "0-1,0-8", "--budget", "4s"],
            6,
            "idle-gaps",
            "alike",
        ),
        (&["jitter", "--cpus", "0-4"], 2, "noise", "quiet"),
        (
            &["queue", "--cpus", "0,1", "--queue", "spsc", "--batch", "1,8,64", "--budget", "4s"],
            4,
            "batches",
            "gain",
        ),
        (
            &["queue", "--cpus", "0,1", "--queue", "spsc", "--rate-sweep", "--budget", "6s"],
            1,
            "rate-limit",
            "not-reached",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let (run, _) = values_of(&tool, "chiplet-16", words, &format!("first-{index}"));
        let finding = &run.document["findings"][0];
        assert_eq!(
            (finding["kind"].as_str(), finding["verdict"].as_str()),
            (Some(kind), Some(verdict)),
            "{words:?}"
        );
        assert_eq!(untrue_subjects(&run.document, finding), Vec::<Value>::new(), "{words:?}");
        let report = report_of(&tool, &format!("first-{index}"));
        let blocks = screen::blocks(&report, Screen::Measured(Saved::Not));
        let first = blocks.iter().find(|block| matches!(block, Block::Answer(_))).unwrap();
        let values = first.values();
        assert!(values.len() >= least, "{words:?}: {values:?}");
        for value in values {
            assert_eq!(wrong(&run, &(Vec::new(), value.clone())), None, "{words:?}: {value:?}");
            let is_found = wrong(&run, &(Vec::new(), changed(value))).is_some();
            assert!(is_found || value.source == Source::Listed, "{words:?}: {value:?}");
        }
    }
}

/// Kinds of faults, each planted in every number that it applies to.
#[test]
fn a_typed_number_that_is_changed_is_found() {
    let tool = Tool::new();
    let (run, values) =
        values_of(&tool, "chiplet-16", &["broadcast", "--readers", "1,15", "--budget", "4s"], "planted");
    let other = trial_of(&run.document["series"].as_array().unwrap()[3]);
    type Plant<'a> = &'a dyn Fn(&mut DisplayValue) -> bool;
    let p50 = |index: usize| &run.document["series"][index]["percentiles"]["50"];
    let plants: [(&str, Plant<'_>); 10] = [
        ("value", &|value| match &mut value.number {
            Number::Count(count) => {
                *count += 1;
                true
            }
            Number::Point(number)
            | Number::Setting(number)
            | Number::Short(number)
            | Number::Probability(number) => {
                *number *= 1.01;
                true
            }
            _ => false,
        }),
        ("interval", &|value| match &mut value.number {
            Number::Estimate(of) | Number::HalfWidth { of, .. } => {
                of.low *= 0.99;
                true
            }
            _ => false,
        }),
        ("sign", &|value| match &mut value.number {
            Number::Point(number) => {
                *number = -*number;
                true
            }
            _ => false,
        }),
        ("statistic", &|value| match &mut value.source {
            Source::Trial { statistic: Statistic::Percentile(share), .. } => {
                *share = 0.25;
                true
            }
            _ => false,
        }),
        ("trial", &|value| match &mut value.source {
            Source::Trial { trial, statistic: Statistic::Mean, .. } if *trial != other => {
                *trial = other;
                true
            }
            _ => false,
        }),
        ("quantity", &|value| match &mut value.source {
            Source::Trial { quantity, .. } => {
                *quantity = "clock_ns";
                true
            }
            _ => false,
        }),
        // With one reader it is the first and the last.
        ("other quantity", &|value| match &mut value.source {
            Source::Trial { trial, quantity, statistic: Statistic::Mean, .. } if *trial == other => {
                *quantity = if *quantity == "last" { "first" } else { "last" };
                true
            }
            _ => false,
        }),
        ("series", &|value| match &mut value.source {
            Source::Series { index, number: SeriesNumber::Percentile("50") } => {
                let from = *index;
                *index = (0..).find(|other| p50(*other) != p50(from)).unwrap();
                true
            }
            _ => false,
        }),
        ("number of a series", &|value| match &mut value.source {
            Source::Series { number: number @ SeriesNumber::Percentile("90" | "99"), .. } => {
                *number = SeriesNumber::Percentile("100");
                true
            }
            _ => false,
        }),
        ("unit", &|value| match (value.number, &mut value.unit) {
            (Number::Point(_), DisplayUnit::OfColumn(divisor))
                if !matches!(value.source, Source::Series { .. }) =>
            {
                *divisor *= 1e3;
                true
            }
            _ => false,
        }),
    ];
    for (kind, plant) in plants {
        let mut planted = 0;
        for value in &values {
            let mut changed = value.clone();
            if matches!(value.1.source, Source::Listed) || !plant(&mut changed.1) {
                continue;
            }
            planted += 1;
            assert!(wrong(&run, &changed).is_some(), "{kind}: {changed:?}");
        }
        assert!(planted > 0, "{kind}");
    }
}

/// Another source of the same kind; `None` of a kind that the tables of trials do not have.
fn other_source(source: &Source) -> Option<Source> {
    let mut other = source.clone();
    match &mut other {
        Source::Trial { quantity, placements: 1, .. } => *quantity = "of nothing",
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
        _ => return None,
    }
    Some(other)
}

/// Numbers of the tables of trials, and that a fault in each is found: another number, and another source.
#[test]
fn numbers_of_tables_of_trials_are_those_of_their_sources() {
    let tool = Tool::new();
    let mut planted = HashMap::new();
    for (index, (machine, words, least)) in [
        ("chiplet-16-smt", &["queue", "--cpus", "0,1,8,16"][..], 100),
        (
            "chiplet-16",
            &["queue", "--cpus", "0-5", "--queue", "mutex", "--producers", "1,2", "--consumers", "1,2"],
            10,
        ),
        ("chiplet-16", &["queue", "--cpus", "0,1", "--queue", "spsc,mutex", "--rate-sweep"], 50),
        ("chiplet-16", &["queue", "--cpus", "0,1", "--queue", "spsc", "--batch", "1,8,64"], 10),
        (
            "chiplet-16",
            &["queue", "--cpus", "0,1", "--queue", "spsc", "--batch", "1,8", "--rate", "1000000"],
            10,
        ),
        ("chiplet-16-smt", &["wait", "--cpus", "0,16"], 50),
        ("chiplet-16", &["wait", "--cpus", "0,1", "--strategy", "pause", "--alternate"], 20),
        ("chiplet-16", &["contend", "--cpus", "0,1"], 50),
        ("chiplet-16", &["spawn", "--cpus", "0,1"], 50),
        ("noisy-vm", &["jitter"], 20),
        ("noisy-vm", &["suite"], 50),
        ("laptop-smt", &["suite", "--cpus", "0,4"], 20),
    ]
    .into_iter()
    .enumerate()
    {
        let budget: &[&str] = if words[0] == "jitter" { &[] } else { &["--budget", "4s"] };
        let (run, values) = values_of(&tool, machine, &[words, budget].concat(), &format!("table-{index}"));
        assert!(values.len() >= least, "{words:?}: {}", values.len());
        for (headings, value) in values {
            assert_eq!(wrong(&run, &(headings.clone(), value.clone())), None, "{words:?}: {value:?}");
            // Documents have no number of several placements.
            if value.source == Source::Listed || matches!(value.source, Source::Trial { placements: 2.., .. })
            {
                continue;
            }
            let mut changed = value.clone();
            let is_changed = match &mut changed.number {
                Number::Count(count) => {
                    // A sentence may state what another trial has.
                    let is_shared = matches!(value.source, Source::Parameter { trial: None, .. });
                    *count += if is_shared { 1_000_007 } else { 1 };
                    true
                }
                Number::Point(number)
                | Number::Coarse(number)
                | Number::Setting(number)
                | Number::Change(number) => {
                    let before = *number;
                    // A change of nothing, or of less than documents show, is none.
                    *number = 1.01 * before + if before.abs() < 0.05 { 1e-3 } else { 0.0 };
                    // The reason of an interval that is wider than its value has no number.
                    !(matches!(value.source, Source::Width(_)) && before > 100.0)
                }
                Number::Estimate(of) | Number::HalfWidth { of, .. } | Number::Reach(of) => {
                    of.low *= 0.99;
                    // Documents have no interval of a value in one state.
                    of.is_sure() && of.low.abs() > 0.02 && !matches!(value.source, Source::State { .. })
                }
                _ => false,
            };
            let mut faults = Vec::from_iter(is_changed.then_some(("number", changed)));
            let other = other_source(&value.source);
            faults.extend(other.map(|source| ("source", DisplayValue { source, ..value.clone() })));
            for (kind, fault) in faults {
                let is_found = wrong(&run, &(headings.clone(), fault.clone())).is_some();
                // Nothing of several is nothing of the first of them.
                let is_alike = recomputed(&run, &fault.source) == recomputed(&run, &value.source);
                assert!(is_found || kind == "source" && is_alike, "{words:?}: {kind}: {fault:?}");
                *planted.entry((kind, std::mem::discriminant(&value.source))).or_insert(0) += 1;
            }
        }
    }
    println!("{planted:?}");
    assert!(planted.len() >= 14, "{planted:?}");
}
