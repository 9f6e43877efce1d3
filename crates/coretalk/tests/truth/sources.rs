//! What is wrong with a typed number: its source in the JSON document of the same run says something else, its text reads
//! as another number, or no heading states its unit.

use super::run::{Run, list};
use super::said::map;
use coretalk::blocks::value::{
    ComparisonPart, DisplayUnit, DisplayValue, Number, SeriesNumber, Source, Statistic, TailNumber,
    WatchNumber,
};
use coretalk::report::fmt;
use coretalk_model::CpuId;
use coretalk_model::quantity::Unit;
use coretalk_model::series::{Parameters, TimeUnit, TrialId, TrialSpec};
use coretalk_model::stats::Estimate;
use serde_json::Value;

/// Documents round to four decimals.
const ROUNDED: f64 = 1e-4;

/// The trial that a distribution of a document belongs to.
pub fn trial_of(series: &Value) -> TrialId {
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

pub fn is_near(one: f64, other: f64) -> bool {
    (one - other).abs() <= ROUNDED * one.abs().max(1.0)
}

/// A number of a map, from the cells of its matrix and the topology of the document.
pub fn of_map(run: &Run, source: &Source) -> Option<f64> {
    match source {
        Source::Ratio(one, other) => Some(of_map(run, one)? / of_map(run, other)?),
        Source::Pairs { kernel, relation, classes, statistic: Statistic::Percentile(share) } => {
            let all = run.document["matrices"].as_array()?;
            let matrix = all.iter().find(|matrix| matrix["kernel"] == **kernel)?;
            let class = |cpu| run.reported.class_of(CpuId(cpu)).map(|class| class.name.clone());
            let is_inside = |(from, to, _): &(u32, u32, f64)| {
                let kinds = [class(*from), class(*to)];
                let is_kind = |[one, other]: &[String; 2]| {
                    let [one, other] = [Some(one.clone()), Some(other.clone())];
                    kinds == [one.clone(), other.clone()] || kinds == [other, one]
                };
                run.reported.relation(CpuId(*from), CpuId(*to)) == *relation
                    && classes.as_ref().is_none_or(is_kind)
            };
            let cells = map::cells(matrix).into_iter().filter(is_inside);
            let mut values: Vec<f64> = cells.map(|(_, _, ns)| ns).collect();
            values.sort_by(f64::total_cmp);
            let middle = |at: usize| values.get(at).copied();
            match (*share, values.len()) {
                (_, 0) => None,
                (0.0, _) => middle(0),
                (1.0, many) => middle(many - 1),
                (_, many) => Some((middle((many - 1) / 2)? + middle(many / 2)?) / 2.0),
            }
        }
        Source::Tail { pair, number } => {
            let is_of_pair = |one: &&Value| {
                one["placement"] == serde_json::json!(pair.map(|cpu| cpu.0))
                    && one["parameters"]["view"] == "closed-loop"
            };
            let one = run.document["series"].as_array()?.iter().find(is_of_pair)?;
            let events = one["count"].as_f64()?;
            match number {
                TailNumber::Events => Some(events),
                TailNumber::Beyond => Some(events - (0.999 * events - 1e-6).ceil()),
                TailNumber::NetP999 => one["values"]["net_p99_9"].as_f64(),
                TailNumber::NetMax => one["values"]["net_max"].as_f64(),
            }
        }
        Source::Watch(number) => {
            let states = run.document["watch"]["states"].as_array()?;
            let levels = || states.iter().filter_map(|state| state["kernels"][0]["median"].as_f64());
            match number {
                WatchNumber::Usual => levels().next(),
                WatchNumber::Share => states[0]["share"].as_f64(),
                WatchNumber::Slowest => levels().max_by(f64::total_cmp),
                WatchNumber::Fastest => levels().min_by(f64::total_cmp),
            }
        }
        _ => None,
    }
}

/// What is wrong with a number, if its document says something else.
fn contradiction(run: &Run, value: &DisplayValue) -> Option<String> {
    let document = &run.document;
    let all = document["series"].as_array().unwrap();
    let number = |found: &Value| found.as_f64();
    if let Source::Comparison { index, part, key } = value.source {
        return contradicted_comparison(&document["comparisons"][index], part, key, value.number);
    }
    let (expected, found) = match (value.source.clone(), value.number) {
        (Source::Listed, Number::Count(_)) => return None,
        (
            source @ (Source::Pairs { .. } | Source::Tail { .. } | Source::Watch(_) | Source::Ratio(..)),
            Number::Short(found) | Number::Point(found),
        ) => (of_map(run, &source), found),
        (source @ Source::Tail { .. }, Number::Count(found)) => (of_map(run, &source), found as f64),
        (Source::Series { index, number: of }, shown) => {
            let one = &all[index];
            let (expected, interval) = match &of {
                SeriesNumber::Events => (&one["count"], &Value::Null),
                SeriesNumber::Percentile("50") => (&one["percentiles"]["50"], &one["intervals"]["median_ns"]),
                SeriesNumber::Percentile(name) => (&one["percentiles"][name], &Value::Null),
                SeriesNumber::Value(name) => (&one["values"][name], &one["intervals"][name]),
                SeriesNumber::Count(name) => (&one["counts"][name], &Value::Null),
                SeriesNumber::Parameter(name) => (&one["parameters"][name], &Value::Null),
            };
            let interval = number(&interval[0]).zip(number(&interval[1]));
            let (found, ends) = match shown {
                Number::Count(count) => (count as f64, None),
                Number::Point(point) | Number::Setting(point) => (point, None),
                Number::Estimate(Estimate { point, low, high, .. }) => (point, Some((low, high))),
                _ => {
                    return Some("a number of another kind".to_owned());
                }
            };
            if ends != interval {
                return Some(format!("the interval is {interval:?}"));
            }
            (number(expected), found)
        }
        (Source::Parameter { trial, name }, Number::Setting(_) | Number::Count(_)) => {
            let found = match value.number {
                Number::Count(count) => count as f64,
                Number::Setting(found) => found,
                _ => f64::NAN,
            };
            let mut of_trial = all.iter().filter(|one| trial.is_none_or(|trial| trial_of(one) == trial));
            let has = |one: &Value| number(&one["parameters"][&name]) == Some(found);
            let mut maps = list(&document["matrices"]).iter().filter(|_| trial.is_none());
            // A verdict needs more runs than there are.
            let is_missing = |arm: &Value| (list(&arm["runs"]).len() as f64) < found;
            let mut compared = list(&document["comparisons"]).iter().flat_map(|one| list(&one["placements"]));
            let is_there =
                of_trial.any(has) || maps.any(has) || name == "least_repetitions" && compared.any(is_missing);
            return (!is_there).then(|| format!("no such {name}"));
        }
        (Source::Trial { placements: 2.., .. }, _) => return None,
        (Source::Quotient { trial, by, quantity, statistic }, Number::Point(found)) => {
            let of = |trial, end: Option<usize>| {
                let one = all.iter().find(|one| trial_of(one) == trial)?;
                number(match end {
                    Some(end) => &one["intervals"][quantity][end],
                    None => &one["values"][quantity],
                })
            };
            let ends = match statistic {
                Statistic::Low => [Some(0), Some(1)],
                Statistic::High => [Some(1), Some(0)],
                _ => [None, None],
            };
            (of(trial, ends[0]).zip(of(by, ends[1])).map(|(one, other)| one / other), found)
        }
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
                (Statistic::Estimate, Number::Point(found)) => (with("values").and_then(number), found),
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
    let is_same = |expected: f64| match value.number {
        Number::Count(_) => expected == found,
        // Shares are far below 1, and have significant digits instead of decimals.
        _ if value.unit == DisplayUnit::Own(Unit::Share) => {
            (expected - found).abs() <= 1e-3 * f64::abs(expected)
        }
        _ => is_near(expected, found),
    };
    (!expected.is_some_and(is_same)).then(|| format!("{expected:?}, not {found}"))
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
        Number::Point(number) | Number::Short(number) | Number::Estimate(Estimate { point: number, .. }) => {
            match value.unit {
                DisplayUnit::OfColumn(divisor) => number / divisor,
                DisplayUnit::Own(_) | DisplayUnit::InSentence(_) => number,
            }
        }
    };
    let is_read = read_back(&text).is_some_and(|[read, step]| (read - written).abs() <= 1.01 * step);
    (!is_read).then(|| format!("`{text}` is not {written}"))
}

/// What is wrong with the unit of a column, if no heading of its table states it.
fn unstated(headings: &[String], value: &DisplayValue) -> Option<String> {
    if matches!(value.source, Source::Watch(_)) {
        return None;
    }
    if let Source::Series { number, .. } = &value.source {
        let expected = match number {
            SeriesNumber::Events => "count".to_owned(),
            SeriesNumber::Percentile("100") => "max ns".to_owned(),
            SeriesNumber::Percentile(name) => format!("p{name} ns"),
            SeriesNumber::Value(name) | SeriesNumber::Count(name) => name.replace('_', " "),
            SeriesNumber::Parameter(_) => "what".to_owned(),
        };
        return (headings != [expected]).then(|| format!("a number below {headings:?}"));
    }
    let (Number::Point(_), DisplayUnit::OfColumn(divisor)) = (value.number, value.unit) else { return None };
    let unit = [TimeUnit::NANOSECONDS, TimeUnit::MICROSECONDS].into_iter().find(|unit| unit.ns == divisor);
    let is_stated = unit.is_some_and(|unit| headings.iter().any(|heading| heading == unit.name));
    (!is_stated).then(|| format!("a number divided by {divisor} below {headings:?}"))
}

/// What is wrong with a shown number, if anything.
pub fn wrong(run: &Run, (headings, value): &Shown) -> Option<String> {
    contradiction(run, value).or_else(|| misread(value)).or_else(|| unstated(headings, value))
}

/// A number below the headings of its table, on a page below that of its column; in a sentence without any.
pub type Shown = (Vec<String>, DisplayValue);
