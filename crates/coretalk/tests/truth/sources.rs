//! What is wrong with a typed number: its source in the JSON document of the same run says something else, its text reads
//! as another number, or no heading states its unit.

use super::printed::Printed;
use super::run::{Run, list};
use super::said::map;
use coretalk::blocks::value::{
    ComparisonPart, DisplayUnit, DisplayValue, MapSource, MatrixNumber, Number, SeriesNumber, Source,
    Statistic, TailNumber, WatchNumber,
};
use coretalk::report::{fmt, heat_map};
use coretalk_model::quantity::Unit;
use coretalk_model::series::{Parameters, TimeUnit, TrialId, TrialSpec};
use coretalk_model::stats::{Estimate, median};
use coretalk_model::{CpuId, Flag};
use serde_json::Value;

/// Documents round to four decimals.
const ROUNDED: f64 = 1e-4;

fn parameters_of(series: &Value) -> Parameters {
    let parameters = series["parameters"].as_object().unwrap().iter().filter(|(name, _)| *name != "view");
    parameters.fold(Parameters::default(), |all, (name, value)| match value.as_f64() {
        Some(number) => all.with(name, number),
        None => all.with(name, value.as_str().unwrap()),
    })
}

/// The trial that a distribution of a document belongs to.
pub fn trial_of(series: &Value) -> TrialId {
    let cpus = series["placement"].as_array().unwrap().iter();
    TrialSpec {
        probe: series["probe"].as_str().unwrap().to_owned(),
        parameters: parameters_of(series),
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
        Source::Pairs { kernel, relation, classes, statistic } => {
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
            match *statistic {
                Statistic::Count => Some(values.len() as f64),
                Statistic::Percentile(0.0) => values.first().copied(),
                Statistic::Percentile(1.0) => values.last().copied(),
                _ => median(&values),
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
                WatchNumber::Changes => {
                    let visits = states.iter().filter_map(|state| state["visits"].as_f64());
                    Some(visits.sum::<f64>() - 1.0)
                }
                WatchNumber::Widest => {
                    let all = states.iter().flat_map(|state| list(&state["kernels"]));
                    let ratio = |of: &Value| {
                        let alike = all.clone().filter(|other| other["kernel"] == of["kernel"]);
                        let levels: Vec<f64> = alike.filter_map(|one| one["median"].as_f64()).collect();
                        let ends = [f64::max, f64::min].map(|end| levels.iter().copied().reduce(end));
                        Some(ends[0]? / ends[1]?)
                    };
                    list(&states[0]["kernels"]).iter().filter_map(ratio).max_by(f64::total_cmp)
                }
            }
        }
        _ => None,
    }
}

/// Whether what has these flags may be wrong.
fn is_doubtful(of: &Value) -> bool {
    let is_doubt = |flag: &Value| Flag::ALL.iter().any(|one| flag == one.name() && one.may_be_wrong());
    list(&of["flags"]).iter().any(is_doubt)
}

/// The pairs of a map with their numbers, and whether these may be wrong.
fn pairs_of_map(run: &Run, source: &MapSource) -> Vec<([u32; 2], f64, bool)> {
    let cpu = |cpu: &Value| cpu.as_u64().map(|cpu| cpu as u32);
    match source {
        MapSource::Unfinished => Vec::new(),
        MapSource::Kernel(kernel) => {
            let Some(matrix) =
                list(&run.document["matrices"]).iter().find(|matrix| matrix["kernel"] == **kernel)
            else {
                return Vec::new();
            };
            let pair = |cell: &Value| {
                let [from, to] = [cpu(&cell["from"])?, cpu(&cell["to"])?];
                let number = cell["median"].as_f64()?;
                let other = (matrix["symmetric"] == true).then_some(([to, from], number, is_doubtful(cell)));
                Some([Some(([from, to], number, is_doubtful(cell))), other])
            };
            list(&matrix["cells"]).iter().filter_map(pair).flatten().flatten().collect()
        }
        MapSource::Trials { probe, parameters, quantity } => {
            let pair = |series: &Value| {
                let [from, to] = list(&series["placement"]) else { return None };
                let number = match series["parameters"]["view"] == **quantity {
                    true => &series["percentiles"]["50"],
                    false => &series["values"][quantity],
                };
                let is_of = series["probe"] == **probe
                    && parameters_of(series) == *parameters
                    && !list(&series["flags"]).iter().any(|flag| flag == Flag::Saturated.name());
                is_of.then_some(([cpu(from)?, cpu(to)?], number.as_f64()?, is_doubtful(series)))
            };
            list(&run.document["series"]).iter().filter_map(pair).collect()
        }
    }
}

/// A number of all cells of a matrix; of an end of a group of values the value that is next to it.
fn of_matrix(run: &Run, kernel: &str, number: &MatrixNumber, found: f64) -> Option<f64> {
    let matrix = list(&run.document["matrices"]).iter().find(|matrix| matrix["kernel"] == kernel)?;
    let pairs = map::cells(matrix);
    let values: Vec<f64> = pairs.iter().map(|(_, _, value)| *value).collect();
    let is_of = |pair: &[CpuId; 2], value: f64| {
        let [a, b] = pair.map(|cpu| cpu.0);
        let is_pair =
            |(from, to)| (from, to) == (a, b) || matrix["symmetric"] == true && (from, to) == (b, a);
        pairs.iter().any(|(from, to, of)| is_pair((*from, *to)) && *of == value).then_some(value)
    };
    let cells = list(&matrix["cells"]).iter().filter(|cell| cell["from"] != cell["to"]);
    let count = |is_meant: &dyn Fn(&Value) -> bool| cells.filter(|cell| is_meant(cell)).count() as f64;
    let has_value = |cell: &Value| !cell["median"].is_null();
    let has_flag = |cell: &Value, flag: &str| list(&cell["flags"]).iter().any(|one| one == flag);
    match number {
        MatrixNumber::Pairs => Some(values.len() as f64),
        MatrixNumber::Moved => Some(count(&|cell| list(&cell["states"]).len() > 1)),
        MatrixNumber::Doubtful => Some(count(&|cell| has_value(cell) && is_doubtful(cell))),
        MatrixNumber::Flagged(flag) => Some(count(&|cell| has_value(cell) && has_flag(cell, flag))),
        MatrixNumber::Missing(why) => Some(count(&|cell| !has_value(cell) && cell["reason"] == **why)),
        MatrixNumber::Least(pair) => is_of(pair, values.iter().copied().reduce(f64::min)?),
        MatrixNumber::Most(pair) => is_of(pair, values.iter().copied().reduce(f64::max)?),
        MatrixNumber::Median => median(&values),
        MatrixNumber::Some => {
            values.into_iter().min_by(|a, b| (a - found).abs().total_cmp(&(b - found).abs()))
        }
        MatrixNumber::Between([low, high]) => {
            let is_inside = |value: &&f64| **value >= low - ROUNDED && **value <= high + ROUNDED;
            Some(values.iter().filter(is_inside).count() as f64)
        }
    }
}

/// A field and the interval that stands with it.
fn field_of<'a>(run: &'a Run, source: &Source) -> Option<(&'a Value, &'a Value)> {
    let (base, path) = match source {
        Source::Field(path) => (&run.document, path.as_str()),
        Source::Pair { kernel, pair, field } => {
            let of_kernel = |matrix: &&Value| matrix["kernel"] == **kernel;
            let matrix = list(&run.document["matrices"]).iter().find(of_kernel)?;
            let is_pair = |cell: &&Value| {
                let ends = [&cell["from"], &cell["to"]].map(|cpu| cpu.as_u64().map(|cpu| CpuId(cpu as u32)));
                let [a, b] = pair.map(Some);
                ends == [a, b] || matrix["symmetric"] == true && ends == [b, a]
            };
            (list(&matrix["cells"]).iter().find(is_pair)?, *field)
        }
        _ => return None,
    };
    let interval = base.pointer(&format!("{}/ci", path.rsplit_once('/')?.0));
    Some((base.pointer(path)?, interval.unwrap_or(&Value::Null)))
}

fn path_of(source: &Source) -> Option<&str> {
    if let Source::Field(path) = source { Some(path) } else { None }
}

/// A cell of a map and whether it may be wrong, from its pairs.
fn of_cell(run: &Run, source: &Source) -> Option<(f64, bool)> {
    let Source::Cell { map, row, column, own } = source else { return None };
    let is_alone = row.len() == 1 && column.len() == 1;
    let is_inside = |([from, to], _, _): &([u32; 2], f64, bool)| {
        let is_own = from == to && !is_alone;
        row.contains(&CpuId(*from)) && column.contains(&CpuId(*to)) && is_own == *own
    };
    let pairs: Vec<_> = pairs_of_map(run, map).into_iter().filter(is_inside).collect();
    let numbers: Vec<f64> = pairs.iter().map(|(_, number, _)| *number).collect();
    Some((median(&numbers)?, pairs.iter().any(|(_, _, doubtful)| *doubtful)))
}

/// What is wrong with a number of a map or with its mark.
pub fn wrong_in_map(run: &Run, unit: &str, shown: &heat_map::MapCell) -> Option<String> {
    let is_marked = of_cell(run, &shown.value.source).is_some_and(|(_, doubtful)| doubtful == shown.doubtful);
    let mark = (!is_marked).then(|| format!("doubt is {}", shown.doubtful));
    mark.or_else(|| wrong(run, &(vec![unit.to_owned()], shown.value.clone())))
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
        (Source::Listed, Number::Count(_)) | (Source::Method, _) => return None,
        (source @ Source::Watch(_), Number::Count(found)) => (of_map(run, &source), found as f64),
        (Source::Matrix { kernel, number }, Number::Count(found)) => {
            (of_matrix(run, &kernel, &number, found as f64), found as f64)
        }
        (Source::Matrix { kernel, number }, Number::Point(found) | Number::Short(found)) => {
            (of_matrix(run, &kernel, &number, found), found)
        }
        (
            source @ (Source::Pairs { .. } | Source::Tail { .. } | Source::Watch(_) | Source::Ratio(..)),
            Number::Short(found) | Number::Point(found),
        ) => (of_map(run, &source), found),
        (source @ Source::Pairs { .. }, Number::Count(found)) => (of_map(run, &source), found as f64),
        (source @ (Source::Field(_) | Source::Pair { .. }), shown) => {
            let Some((field, ends)) = field_of(run, &source) else {
                return Some("no such field".to_owned());
            };
            let found = match shown {
                Number::Count(count) => count as f64,
                Number::Point(number)
                | Number::Short(number)
                | Number::Change(number)
                | Number::Duration(number) => number,
                Number::Reach(of) => {
                    let is_end =
                        |end: usize, shown| ends[end].as_f64().is_some_and(|end| is_near(end, shown));
                    if !is_end(0, of.low) || !is_end(1, of.high) {
                        return Some(format!("the interval is {ends}"));
                    }
                    of.point
                }
                _ => return Some("a number of another kind than its source".to_owned()),
            };
            // Of a list it is the length. No more than all is kept.
            let field = &match (path_of(&source), field.as_f64()) {
                (Some(path), Some(kept)) if path.contains("_kept/1") => kept.min(1.0).into(),
                _ => field.clone(),
            };
            (number(field).or(field.as_array().map(|list| list.len() as f64)), found)
        }
        (source @ Source::Cell { .. }, Number::Short(found)) => {
            (of_cell(run, &source).map(|(number, _)| number), found)
        }
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
        (Source::Parameter { trial, name }, Number::Setting(_) | Number::Count(_) | Number::Duration(_)) => {
            let found = match value.number {
                Number::Count(count) => count as f64,
                Number::Setting(found) | Number::Duration(found) => found,
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
        // Of distributions documents have the median of all events, and a map shows that of passes.
        _ if matches!(value.source, Source::Cell { map: MapSource::Trials { .. }, .. }) => {
            (expected - found).abs() <= 0.01 * expected
        }
        // Fields are rounded to four decimals; other shares are far below 1, and have significant digits instead.
        _ if matches!(value.source, Source::Field(_)) && value.unit == DisplayUnit::Own(Unit::Share) => {
            (expected - found).abs() <= 0.51e-4
        }
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
        Number::Reach(of) => {
            let is_read = Printed::read(&text).is_some_and(|read| read.reads(of.reach()));
            return (!is_read).then(|| format!("`{text}` is not {}", of.reach()));
        }
        Number::Duration(number) => {
            let seconds = if value.unit == DisplayUnit::Own(Unit::Ns) { number * 1e-9 } else { number };
            let is_read = Printed::time(&text).is_some_and(|read| read.reads(seconds));
            return (!is_read).then(|| format!("`{text}` is not {seconds} s"));
        }
        Number::Change(share) => {
            let is_read = Printed::read(&text).is_some_and(|read| read.reads(share));
            return (!is_read).then(|| format!("`{text}` is not {share}"));
        }
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
    if matches!(
        value.source,
        Source::Watch(_)
            | Source::Field(_)
            | Source::Pair { .. }
            | Source::Pairs { .. }
            | Source::Matrix { .. }
            | Source::Ratio(..)
            | Source::Method
    ) {
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
    let is_of_map = matches!(value.source, Source::Cell { .. });
    let DisplayUnit::OfColumn(divisor) = value.unit else { return None };
    if !is_of_map && !matches!(value.number, Number::Point(_)) || is_of_map && headings == [""] {
        return None;
    }
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
