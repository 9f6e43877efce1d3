//! What is wrong with a typed number: its source in the JSON document of the same run says something else, its text reads
//! as another number, or no heading states its unit.

use super::run::{Run, list};
use super::said::map;
use super::texts::{misread, unstated};
use coretalk::blocks::MapCell;
use coretalk::blocks::value::{
    ComparisonPart, DisplayUnit, DisplayValue, MapSource, MatrixNumber, Number, SeriesNumber, Source,
    Statistic, TailNumber, WatchNumber,
};
use coretalk_model::quantity::Unit;
use coretalk_model::series::{Parameters, TrialId, TrialSpec};
use coretalk_model::stats::{Estimate, median};
use coretalk_model::{CpuId, Flag};
use serde_json::Value;
use std::collections::BTreeSet;

/// Documents round to four decimals.
const ROUNDED: f64 = 1e-4;

fn parameters_of(series: &Value) -> Parameters {
    let of = &series["parameters"];
    // Which of two alternating ways of waiting a distribution is of, is its view, too.
    let is_own = |name: &str| name != "view" && (name != "phase" || of["view"] != of["phase"]);
    let parameters = of.as_object().unwrap().iter().filter(|(name, _)| is_own(name));
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
        Source::QueueCell { trial, key } => {
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
fn pairs_recomputed(run: &Run, source: &MapSource) -> Vec<([u32; 2], f64, bool)> {
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
    let pairs: Vec<_> = pairs_recomputed(run, map).into_iter().filter(is_inside).collect();
    let numbers: Vec<f64> = pairs.iter().map(|(_, number, _)| *number).collect();
    Some((median(&numbers)?, pairs.iter().any(|(_, _, doubtful)| *doubtful)))
}

/// What is wrong with a number of a map or with its mark.
pub fn wrong_in_map(run: &Run, unit: &str, shown: &MapCell) -> Option<String> {
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
        (Source::Matrix { kernel, number }, Number::Count(found)) => {
            (of_matrix(run, &kernel, &number, found as f64), found as f64)
        }
        (Source::Matrix { kernel, number }, Number::Point(found) | Number::Short(found)) => {
            (of_matrix(run, &kernel, &number, found), found)
        }
        (
            source @ (Source::Pairs { .. }
            | Source::Tail { .. }
            | Source::Watch(_)
            | Source::Ratio(..)
            | Source::Role { .. }
            | Source::QueueCell { .. }
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
            | Source::Pairs { .. }
            | Source::Watch(_)
            | Source::Rates { .. }
            | Source::QueueCell { .. }
            | Source::Sum(_)
            | Source::Trials { .. }
            | Source::Less(..)),
            Number::Count(found),
        ) => (recomputed(run, &source), found as f64),
        (source @ (Source::Field(_) | Source::Pair { .. }), shown) => {
            let Some((field, ends)) = field_of(run, &source) else {
                return Some("no such field".to_owned());
            };
            let found = match shown {
                Number::Count(count) => count as f64,
                Number::Point(number)
                | Number::Short(number)
                | Number::Difference(number)
                | Number::Duration(number) => number,
                Number::PlusMinus(of) => {
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
        (Source::QueueCell { trial, key: "median" }, Number::HalfWidth { of, stated }) => {
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
        // Of distributions documents have the median of all events, and a map shows that of passes.
        _ if matches!(value.source, Source::Cell { map: MapSource::Trials { .. }, .. }) => {
            (expected - found).abs() <= 0.01 * expected
        }
        // Fields are rounded to four decimals; other small numbers have significant digits instead, and quotients those of
        // two.
        _ if matches!(value.source, Source::Field(_)) && value.unit == DisplayUnit::Own(Unit::Share) => {
            (expected - found).abs() <= 0.51e-4
        }
        Number::Change(_) | Number::Difference(_) => is_near(expected, found),
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

/// What is wrong with a shown number, if anything.
pub fn wrong(run: &Run, (headings, value): &Shown) -> Option<String> {
    contradiction(run, value).or_else(|| misread(value)).or_else(|| unstated(headings, value))
}

/// A number below the headings of its table, on a page below that of its column; in a sentence without any.
pub type Shown = (Vec<String>, DisplayValue);
