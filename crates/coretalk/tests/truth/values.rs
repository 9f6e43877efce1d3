//! Each typed number of a screen, recomputed from its source in the JSON document of the same run, and its text, read back
//! within its rounding.

use super::run::Run;
use crate::cli::tool::Tool;
use coretalk::blocks::Block;
use coretalk::blocks::value::{ComparisonPart, DisplayUnit, DisplayValue, Number, Source, Statistic};
use coretalk::report::{Saved, Screen, fmt, screen};
use coretalk::store::RunFile;
use coretalk_model::CpuId;
use coretalk_model::series::{Parameters, TimeUnit, TrialId, TrialSpec};
use coretalk_model::stats::Estimate;
use serde_json::Value;

/// Documents round to four decimals.
const ROUNDED: f64 = 1e-4;

/// The trial that a distribution of a document belongs to.
fn trial_of(series: &Value) -> TrialId {
    let parameters = series["parameters"].as_object().unwrap().iter().filter(|(name, _)| *name != "view");
    let parameters = parameters.fold(Parameters::default(), |all, (name, value)| match value.as_f64() {
        Some(number) => all.with(name, number),
        None => all.with(name, value.as_str().unwrap()),
    });
    let cpus = series["placement"].as_array().unwrap().iter();
    TrialSpec {
        probe: series["probe"].as_str().unwrap().to_owned(),
        parameters,
        placement: cpus.map(|cpu| CpuId(cpu.as_u64().unwrap() as u32)).collect(),
    }
    .id()
}

fn is_near(one: f64, other: f64) -> bool {
    (one - other).abs() <= ROUNDED * one.abs().max(1.0)
}

/// What is wrong with a number, if its document says something else.
fn contradiction(document: &Value, value: &DisplayValue) -> Option<String> {
    let all = document["series"].as_array().unwrap();
    let number = |found: &Value| found.as_f64();
    if let Source::Comparison { index, part, key } = value.source {
        return contradicted_comparison(&document["comparisons"][index], part, key, value.number);
    }
    let (expected, found) = match (value.source, value.number) {
        (Source::Listed, Number::Count(_)) => return None,
        (Source::Parameter { trial, name }, Number::Setting(found)) => {
            let mut of_trial = all.iter().filter(|one| trial.is_none_or(|trial| trial_of(one) == trial));
            let is_there = of_trial.any(|one| number(&one["parameters"][name]) == Some(found));
            return (!is_there).then(|| format!("no such {name}"));
        }
        (Source::Trial { placements: 2.., .. }, _) => return None,
        (Source::Trial { trial, quantity, statistic, .. }, found) => {
            let of_trial: Vec<&Value> = all.iter().filter(|one| trial_of(one) == trial).collect();
            let view = of_trial.iter().find(|one| one["parameters"]["view"] == quantity);
            // Numbers of a trial are with its first distribution.
            let with =
                |key: &str| of_trial.iter().map(|one| &one[key][quantity]).find(|found| !found.is_null());
            let interval = match view {
                Some(view) => Some(&view["intervals"]["median_ns"]),
                None => with("intervals"),
            };
            let interval = interval.and_then(|ends| Some([number(&ends[0])?, number(&ends[1])?]));
            match (statistic, found) {
                (Statistic::Count, Number::Count(found)) => {
                    let count = view.map(|view| &view["count"]).or_else(|| with("counts"));
                    (count.and_then(number), found as f64)
                }
                (Statistic::Mean, Number::Point(found)) => {
                    (view.and_then(|view| number(&view["mean"])), found)
                }
                (Statistic::Percentile(share), Number::Point(found)) => {
                    let name = ((share * 1e4).round() / 100.0).to_string();
                    (view.and_then(|view| number(&view["percentiles"][name])), found)
                }
                (Statistic::Estimate, Number::HalfWidth { of, stated }) => {
                    let median = view.and_then(|view| number(&view["percentiles"]["50"]));
                    if !median.is_some_and(|median| is_near(median, stated)) {
                        return Some(format!("the median is {median:?}"));
                    }
                    let is_same = |[low, high]: [f64; 2]| is_near(low, of.low) && is_near(high, of.high);
                    // Documents have none where too few passes give none, which reads `?`.
                    if !interval.map_or(of.stated_reach(stated).is_none(), is_same) {
                        return Some(format!("the interval is {interval:?}"));
                    }
                    (median, stated)
                }
                (Statistic::Estimate, Number::Estimate(Estimate { point, low, high, .. })) => {
                    // Of a few passes there is no interval in documents.
                    if !interval.is_none_or(|ends| is_near(ends[0], low) && is_near(ends[1], high)) {
                        return Some(format!("the interval is {interval:?}"));
                    }
                    let inside = (low..=high).contains(&point).then_some(point);
                    (with("values").and_then(number).or(inside), point)
                }
                _ => return Some("a number of another kind than its source".to_owned()),
            }
        }
        _ => return Some("a number of another kind than its source".to_owned()),
    };
    (!expected.is_some_and(|expected| is_near(expected, found))).then(|| format!("{expected:?}, not {found}"))
}

/// What is wrong with a number of a comparison of placements. Sizes of differences are shown, their signs are words.
fn contradicted_comparison(of: &Value, part: ComparisonPart, key: &str, found: Number) -> Option<String> {
    let holder = match part {
        ComparisonPart::Whole => of,
        ComparisonPart::Pair(pair) => &of["pairs"][pair],
        ComparisonPart::Placement(arm) => &of["placements"][arm],
    };
    let scale = if key.ends_with("_percent") { 100.0 } else { 1.0 };
    let expected = holder[key].as_f64().map(|number| (number / scale).abs());
    // The others against the winner: ends and point of their interval.
    let against_winner = |pair: &Value| -> Option<[f64; 3]> {
        let shares = [&pair["ci"][0], &pair["delta_percent"], &pair["ci"][1]];
        let sizes = match [&pair["a"], &pair["b"]].map(|end| *end == of["winner"]) {
            [true, _] => shares.map(|share| share.as_f64().map(|share| share / 100.0)),
            [_, true] => shares.map(|share| share.as_f64().map(|share| 1.0 / (1.0 + share / 100.0) - 1.0)),
            _ => return None,
        };
        let mut sizes = [sizes[0]?.abs(), sizes[1]?.abs(), sizes[2]?.abs()];
        sizes.sort_by(f64::total_cmp);
        Some(sizes)
    };
    let is_expected = |number| expected.is_some_and(|expected| is_near(expected, number));
    let is_so = match found {
        Number::Point(number) | Number::Probability(number) => is_expected(number),
        Number::Size(Estimate { point, low, high, .. }) => {
            let ends = |sizes: [f64; 3]| {
                is_near(sizes[0], low) && is_near(sizes[1], point) && is_near(sizes[2], high)
            };
            is_expected(point) && of["pairs"].as_array().unwrap().iter().filter_map(against_winner).any(ends)
        }
        _ => false,
    };
    (!is_so).then(|| format!("{expected:?}, not {found:?}"))
}

/// The number that a text begins with, in the base unit, and half a step of its last digit.
fn read_back(text: &str) -> Option<[f64; 2]> {
    let is_digit = |c: char| c.is_ascii_digit() || ".-e".contains(c);
    let words: Vec<&str> = text.split(' ').collect();
    let digits = words.iter().take_while(|word| !word.is_empty() && word.chars().all(is_digit)).count();
    let number = words[..digits].concat();
    let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len()) as i32;
    let scale = match words.get(digits).map(|unit| unit.trim_end_matches("/s")) {
        Some("µs" | "k") => 1e3,
        Some("ms" | "M") => 1e6,
        Some("s" | "G") => 1e9,
        Some("%") => 1e-2,
        _ => 1.0,
    };
    Some([number.parse::<f64>().ok()? * scale, 0.5 * 10f64.powi(-decimals) * scale])
}

/// What is wrong with the text of a number, if it reads as another one.
fn misread(value: &DisplayValue) -> Option<String> {
    let text = fmt::value(value);
    let written = match value.number {
        Number::Count(count) => count as f64,
        Number::Setting(number) => number,
        Number::Shift(of) | Number::Size(of) => of.point,
        Number::Probability(p) => {
            let read = text.strip_prefix("= ").and_then(|text| text.parse::<f64>().ok());
            let is_read = read.map_or(text == "< 0.0001" && p < 1e-4, |read| (read - p).abs() <= 0.5e-4);
            return (!is_read).then(|| format!("`{text}` is not {p}"));
        }
        Number::HalfWidth { of, stated } => match of.stated_reach(stated) {
            Some(reach) => reach,
            None => return (text != "?").then(|| format!("`{text}` of an unknown interval")),
        },
        Number::Point(number) | Number::Estimate(Estimate { point: number, .. }) => match value.unit {
            DisplayUnit::OfColumn(divisor) => number / divisor,
            DisplayUnit::Own(_) => number,
        },
    };
    let is_read = read_back(&text).is_some_and(|[read, step]| (read - written).abs() <= 1.01 * step);
    (!is_read).then(|| format!("`{text}` is not {written}"))
}

/// What is wrong with the unit of a column, if no heading of its table states it.
fn unstated(headings: &[String], value: &DisplayValue) -> Option<String> {
    let (Number::Point(_), DisplayUnit::OfColumn(divisor)) = (value.number, value.unit) else { return None };
    let unit = [TimeUnit::NANOSECONDS, TimeUnit::MICROSECONDS].into_iter().find(|unit| unit.ns == divisor);
    let is_stated = unit.is_some_and(|unit| headings.iter().any(|heading| heading == unit.name));
    (!is_stated).then(|| format!("a number divided by {divisor} below {headings:?}"))
}

fn wrong(document: &Value, (headings, value): &Shown) -> Option<String> {
    contradiction(document, value).or_else(|| misread(value)).or_else(|| unstated(headings, value))
}

/// A number below the headings of its table; in a sentence without any.
type Shown = (Vec<String>, DisplayValue);

/// A run on a simulated machine, and the typed numbers of its screen.
fn values_of(tool: &Tool, words: &[&str], name: &str) -> (Run, Vec<Shown>) {
    let run = Run::of(tool, "chiplet-16", words, name);
    let path = tool.done(&["runs", "path", name]).out;
    let report = RunFile::open(std::path::Path::new(path.trim())).unwrap().report().unwrap();
    let blocks = screen::blocks(&report, Screen::Measured(Saved::Not));
    let shown = |block: &Block<'_>| -> Vec<Shown> {
        let headings: Vec<String> = match block {
            Block::Table(table) => table.columns.iter().map(|column| column.title.clone()).collect(),
            _ => Vec::new(),
        };
        block.values().into_iter().map(|value| (headings.clone(), value.clone())).collect()
    };
    (run, blocks.iter().flat_map(shown).collect())
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
        let (run, values) = values_of(&tool, words, &format!("typed-{index}"));
        let of_trials = values.iter().filter(|(_, value)| {
            matches!(value.source, Source::Trial { placements: 1, .. } | Source::Comparison { .. })
        });
        let of_trials = of_trials.count();
        assert!(of_trials >= least, "{words:?}: {of_trials}");
        for value in &values {
            assert_eq!(wrong(&run.document, value), None, "{words:?}: {value:?}");
            checked += 1;
        }
    }
    println!("{checked} numbers");
}

/// Kinds of faults, each planted in every number that it applies to.
#[test]
fn a_typed_number_that_is_changed_is_found() {
    let tool = Tool::new();
    let (run, values) = values_of(&tool, &["broadcast", "--readers", "1,15", "--budget", "4s"], "planted");
    let other = trial_of(&run.document["series"].as_array().unwrap()[3]);
    type Plant<'a> = &'a dyn Fn(&mut DisplayValue) -> bool;
    let plants: [(&str, Plant<'_>); 8] = [
        ("value", &|value| match &mut value.number {
            Number::Count(count) => {
                *count += 1;
                true
            }
            Number::Point(number) | Number::Setting(number) | Number::Probability(number) => {
                *number *= 1.01;
                true
            }
            Number::Estimate(_) | Number::HalfWidth { .. } | Number::Shift(_) | Number::Size(_) => false,
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
        ("unit", &|value| match (value.number, &mut value.unit) {
            (Number::Point(_), DisplayUnit::OfColumn(divisor)) => {
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
            assert!(wrong(&run.document, &changed).is_some(), "{kind}: {changed:?}");
        }
        assert!(planted > 0, "{kind}");
    }
}
