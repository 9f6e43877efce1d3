//! What is wrong with a typed number: its source in the JSON document of the same run says something else, its text reads
//! as another number, or no heading states its unit.

use super::printed::Printed;
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
use coretalk_model::stats::{Estimate, median};
use serde_json::Value;
use std::collections::BTreeSet;

/// Documents round to four decimals.
const ROUNDED: f64 = 1e-4;

/// The trial that a distribution of a document belongs to.
pub fn trial_of(series: &Value) -> TrialId {
    let of = &series["parameters"];
    // Which of two alternating ways of waiting a distribution is of, is its view, too.
    let is_own = |name: &str| name != "view" && (name != "phase" || of["view"] != of["phase"]);
    let parameters = of.as_object().unwrap().iter().filter(|(name, _)| is_own(name));
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

/// Whether a document has these ends of an interval, or none where too few passes give none, which reads `?`.
fn is_interval(ends: [Option<f64>; 2], of: &Estimate) -> bool {
    match ends {
        [Some(low), Some(high)] => is_near(low, of.low) && is_near(high, of.high),
        _ => !of.is_sure(),
    }
}

/// The cells of the maps of queues, each with its trial.
fn cells_of_queues(run: &Run) -> Vec<(TrialId, &Value, &Value)> {
    let queues = list(&run.document["matrices"]).iter().filter(|matrix| matrix["probe"] == "queue");
    let with_trial = |matrix, cell: &'_ Value| {
        let of: &Value = matrix;
        let placement = serde_json::json!([cell["from"], cell["to"]]);
        trial_of(&serde_json::json!({
            "probe": "queue", "parameters": of["parameters"], "placement": placement
        }))
    };
    let cells = queues.flat_map(|matrix| list(&matrix["cells"]).iter().map(move |cell| (matrix, cell)));
    cells.map(|(matrix, cell)| (with_trial(matrix, cell), matrix, cell)).collect()
}

/// The number of a trial in one state, and the interval of what it is shown by.
fn state_of<'a>(run: &'a Run, source: &Source) -> Option<(Option<f64>, &'a Value)> {
    let Source::State { trial, index, of, quantity } = source else { return None };
    let series = list(&run.document["series"]).iter().filter(|one| trial_of(one) == *trial);
    let views = series.clone().filter(|one| one["parameters"]["view"] == **quantity);
    let cells = cells_of_queues(run).into_iter().filter(|(of, ..)| of == trial).map(|(.., cell)| cell);
    let state = views.chain(series).chain(cells).map(|one| (&one["states"][*index], one)).next()?;
    let (state, one) = state;
    if *of == "share" {
        return Some((state["share"].as_f64(), &Value::Null));
    }
    match (one["parameters"]["view"] == **quantity || one["from"].is_number(), &state["values"][quantity]) {
        (false, value) if value.is_number() => Some((value.as_f64(), &Value::Null)),
        _ => Some((state["median"].as_f64(), &state["ci"])),
    }
}

/// The number of a source, from the document alone: of a map from the cells of its matrix and the topology.
pub fn recomputed(run: &Run, source: &Source) -> Option<f64> {
    let all = || list(&run.document["series"]).iter();
    match source {
        Source::Ratio(one, other) => Some(recomputed(run, one)? / recomputed(run, other)?),
        Source::Product(one, other) => Some(recomputed(run, one)? * recomputed(run, other)?),
        Source::Less(one, other) => Some(recomputed(run, one)? - recomputed(run, other)?),
        Source::Constant(factor) => Some(*factor),
        Source::Precision => {
            let asked = run.words.iter().skip_while(|word| *word != "--precision").nth(1);
            asked.map_or(Some(0.02), |text| Some(text.trim_end_matches('%').parse::<f64>().ok()? / 100.0))
        }
        Source::Spin { placement, key, end } => {
            let cpus = serde_json::json!(placement.iter().map(|cpu| cpu.0).collect::<Vec<u32>>());
            let mut advice = list(&run.document["advice"]).iter();
            let found = advice.find(|one| one["kind"] == "spin" && one["placement"] == cpus)?;
            end.map_or(&found[*key], |end| &found[*key][end]).as_f64()
        }
        Source::State { .. } => state_of(run, source)?.0,
        Source::Trials { probe, changed } => {
            let series = all().filter(|one| one["probe"] == **probe).map(|one| (trial_of(one), one));
            let cells = cells_of_queues(run).into_iter().filter(|_| probe == "queue");
            let of_probe = series.chain(cells.map(|(trial, _, cell)| (trial, cell)));
            let counted = of_probe.filter(|(_, one)| !changed || !list(&one["states"]).is_empty());
            Some(counted.map(|(trial, _)| trial).collect::<BTreeSet<_>>().len() as f64)
        }
        Source::Sum(parts) => parts.iter().map(|part| recomputed(run, part)).sum(),
        // The rate of a cell of a map of queues.
        Source::Trial { trial, quantity: "messages_per_s", statistic, .. }
            if !all().any(|one| trial_of(one) == *trial) =>
        {
            let cells = cells_of_queues(run);
            let cell = cells.iter().find(|(of, ..)| of == trial)?.2;
            match statistic {
                Statistic::Low => cell["ci"][0].as_f64(),
                Statistic::High => cell["ci"][1].as_f64(),
                _ => cell["median"].as_f64(),
            }
        }
        Source::Trial { trial, quantity, statistic, .. } => {
            let of_trial = || all().filter(|one| trial_of(one) == *trial);
            let view = of_trial().find(|one| one["parameters"]["view"] == **quantity);
            // Numbers of a trial are with its first distribution.
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
        Source::Role { trial, role, quantity } => {
            let mut of_trial = all().filter(|one| trial_of(one) == *trial);
            of_trial.find_map(|one| one["of_roles"][*role]["values"][*quantity].as_f64())
        }
        Source::Cell { trial, key } => {
            let cells = cells_of_queues(run);
            let cell = cells.iter().find(|(of, ..)| of == trial)?.2;
            match key.split_once('.') {
                Some((list, index)) => cell[list][index.parse::<usize>().unwrap()].as_f64(),
                None => cell[*key].as_f64(),
            }
        }
        Source::Rates { queue, payload, capacity, relation, statistic } => {
            let is_one = |(_, matrix, cell): &&(TrialId, &Value, &Value)| {
                let of = &matrix["parameters"];
                let [from, to] = ["from", "to"].map(|end| CpuId(cell[end].as_u64().unwrap() as u32));
                of["queue"] == **queue
                    && of["payload"] == **payload
                    && of["capacity"].as_f64() == Some(*capacity as f64)
                    && run.reported.relation(from, to) == *relation
            };
            let cells = cells_of_queues(run);
            let cells: Vec<&Value> = cells.iter().filter(is_one).map(|(.., cell)| *cell).collect();
            let is_of_pair = |cell: &&&Value| {
                !list(&cell["flags"]).iter().any(|flag| flag == "shared-spin" || flag == "unclaimed")
            };
            let of_cells = |number: &dyn Fn(&Value) -> Option<f64>| -> Option<f64> {
                median(&cells.iter().filter(is_of_pair).filter_map(|cell| number(cell)).collect::<Vec<_>>())
            };
            match statistic {
                Statistic::Count => Some(cells.len() as f64),
                Statistic::Low => of_cells(&|cell| cell["ci"][0].as_f64()),
                Statistic::High => of_cells(&|cell| cell["ci"][1].as_f64()),
                _ => of_cells(&|cell| cell["median"].as_f64()),
            }
        }
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
            source @ (Source::Pairs { .. }
            | Source::Tail { .. }
            | Source::Watch(_)
            | Source::Ratio(..)
            | Source::Role { .. }
            | Source::Cell { .. }
            | Source::Rates { .. }
            | Source::Product(..)
            | Source::Spin { .. }
            | Source::State { .. }
            | Source::Precision),
            Number::Short(found) | Number::Point(found) | Number::Coarse(found),
        ) => (recomputed(run, &source), found),
        (source @ Source::Ratio(..), Number::Change(found)) => {
            (recomputed(run, &source).map(|ratio| ratio - 1.0), found)
        }
        (
            source @ (Source::Tail { .. }
            | Source::Rates { .. }
            | Source::Cell { .. }
            | Source::Sum(_)
            | Source::Trials { .. }
            | Source::Less(..)),
            Number::Count(found),
        ) => (recomputed(run, &source), found as f64),
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
        (source @ Source::Trial { .. }, Number::Count(found)) => (recomputed(run, &source), found as f64),
        (source @ Source::Trial { .. }, Number::Point(found) | Number::Coarse(found)) => {
            (recomputed(run, &source), found)
        }
        (source @ Source::State { .. }, Number::Reach(of)) => match state_of(run, &source) {
            // Of values documents hold no interval in each state.
            Some((Some(_), ci)) if ci.is_null() => return None,
            Some((point, ci)) => {
                (point.filter(|_| is_interval([number(&ci[0]), number(&ci[1])], &of)), of.point)
            }
            None => (None, of.point),
        },
        (Source::Cell { trial, key: "median" }, Number::HalfWidth { of, stated }) => {
            let cells = cells_of_queues(run);
            let cell = cells.iter().find(|(id, ..)| *id == trial)?.2;
            let is_same = is_interval([number(&cell["ci"][0]), number(&cell["ci"][1])], &of);
            (number(&cell["median"]).filter(|_| is_same), stated)
        }
        (
            source @ Source::Trial { trial, quantity, statistic: Statistic::Estimate, .. },
            Number::HalfWidth { of, .. } | Number::Reach(of) | Number::Estimate(of),
        ) => {
            let number =
                |statistic| recomputed(run, &Source::Trial { trial, quantity, statistic, placements: 1 });
            let ends = [number(Statistic::Low), number(Statistic::High)];
            if !is_interval(ends, &of) {
                return Some(format!("the interval is {ends:?}"));
            }
            let point = recomputed(run, &source);
            match value.number {
                Number::HalfWidth { stated, .. } => (number(Statistic::Percentile(0.5)).or(point), stated),
                // Of a median over passes documents have the interval.
                _ => (point.or((of.low..=of.high).contains(&of.point).then_some(of.point)), of.point),
            }
        }
        _ => return Some("a number of another kind than its source".to_owned()),
    };
    let is_same = |expected: f64| match value.number {
        Number::Count(_) => expected == found,
        Number::Change(_) => is_near(expected, found),
        // Small numbers have significant digits instead of decimals, and quotients those of two.
        _ if value.unit == DisplayUnit::Own(Unit::Share) || expected.abs() < 0.1 => {
            (expected - found).abs() <= 2e-3 * f64::abs(expected)
        }
        _ => is_near(expected, found),
    };
    (!expected.filter(|number| number.is_finite()).is_some_and(is_same))
        .then(|| format!("{expected:?}, not {found}"))
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
    if text.starts_with('<') {
        return Printed::read(text).map(|below| [below.value, below.half]);
    }
    let words: Vec<&str> = text.trim_start_matches('+').split(' ').collect();
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
        Number::Change(change) => change,
        Number::HalfWidth { .. } | Number::Reach(_) => {
            let reach = match (value.number, value.unit) {
                (Number::HalfWidth { of, stated }, _) => of.stated_reach(stated),
                (Number::Reach(of), DisplayUnit::OfColumn(divisor)) => Some(of.reach() / divisor),
                (Number::Reach(of), _) => of.is_sure().then(|| of.reach()),
                _ => None,
            };
            match reach {
                Some(reach) => reach,
                None => return (text != "?").then(|| format!("`{text}` of an unknown interval")),
            }
        }
        Number::Point(number)
        | Number::Short(number)
        | Number::Coarse(number)
        | Number::Estimate(Estimate { point: number, .. }) => match value.unit {
            DisplayUnit::OfColumn(divisor) => number / divisor,
            DisplayUnit::Millions => number / 1e6,
            DisplayUnit::Percents => 100.0 * number,
            _ => number,
        },
    };
    let read = match value.unit {
        DisplayUnit::Duration(seconds) => {
            Printed::time(&text).map(|time| [time.value / seconds, time.half / seconds])
        }
        // Whole thousands are cut, not rounded.
        DisplayUnit::Letter if text.ends_with('k') => {
            read_back(&text).map(|[read, step]| [read + step, step])
        }
        _ => read_back(&text),
    };
    let is_read = read.is_some_and(|[read, step]| {
        let step = match value.number {
            Number::Coarse(_) => f64::max(step, 0.05 * 10f64.powf(written.abs().log10().floor())),
            _ => step,
        };
        (read - written).abs() <= 1.01 * step
    });
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
    // A sentence states it itself.
    if headings.is_empty() {
        return None;
    }
    let [ns, us] = [TimeUnit::NANOSECONDS, TimeUnit::MICROSECONDS];
    let states =
        |unit: TimeUnit| headings.iter().any(|heading| heading.split(' ').any(|word| word == unit.name));
    // What is no time needs no unit, and sentences above a table state nanoseconds.
    let is_stated =
        divisor == us.ns && states(us) || divisor == ns.ns && !headings.iter().any(|it| it == us.name);
    (!is_stated).then(|| format!("a number divided by {divisor} below {headings:?}"))
}

/// What is wrong with a shown number, if anything.
pub fn wrong(run: &Run, (headings, value): &Shown) -> Option<String> {
    contradiction(run, value).or_else(|| misread(value)).or_else(|| unstated(headings, value))
}

/// A number below the headings of its table, on a page below that of its column; in a sentence without any.
pub type Shown = (Vec<String>, DisplayValue);
