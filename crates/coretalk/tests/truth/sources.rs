//! What is wrong with a typed number: its source in the JSON document of the same run says something else, its text reads
//! as another number, or no heading states its unit.

use super::fields::{
    contradicted_share, field_of, is_in_own_unit, is_in_percent, is_scaled, path_of, raw, share_of,
};
use super::maps::{of_cell, of_matrix, of_widths, pairs_recomputed};
use super::place;
use super::run::{Run, list};
use super::texts::{misread, unstated};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coretalk::blocks::value::{
    DisplayUnit, DisplayValue, MapSource, ModePart, Number, SeriesNumber, Source, Statistic, TailNumber,
    WatchNumber,
};
use coretalk_model::CpuId;
use coretalk_model::histogram::Histogram;
use coretalk_model::place::MIN_EFFECT;
use coretalk_model::quantity::Unit;
use coretalk_model::series::summary::modes;
use coretalk_model::series::{Parameters, TrialId, TrialSpec};
use coretalk_model::stats::{Estimate, median};
use hdrhistogram::serialization::Deserializer;
use serde_json::Value;
use std::collections::BTreeSet;

/// Documents round to four decimals.
pub const ROUNDED: f64 = 1e-4;

pub fn parameters_of(series: &Value) -> Parameters {
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
pub fn cells_of_queues(run: &Run) -> Vec<(TrialId, &Value, &Value)> {
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

fn is_symmetric(run: &Run, kernel: &str) -> bool {
    list(&run.document["matrices"]).iter().any(|of| of["kernel"] == kernel && of["symmetric"] == true)
}

/// The distribution of a series.
fn histogram(series: &Value) -> Option<Histogram> {
    let bytes = STANDARD.decode(series["histogram_v2_base64"].as_str()?).ok()?;
    let read: hdrhistogram::Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).ok()?;
    let mut histogram = Histogram::new();
    read.iter_recorded().for_each(|step| histogram.record(step.value_iterated_to(), step.count_at_value()));
    Some(histogram)
}

/// The number of a source, from the document alone: of a map from the cells of its matrix and the topology.
pub fn recomputed(run: &Run, source: &Source) -> Option<f64> {
    let all = || list(&run.document["series"]).iter();
    match source {
        Source::Ratio(one, other) => Some(recomputed(run, one)? / recomputed(run, other)?),
        Source::Product(one, other) => Some(recomputed(run, one)? * recomputed(run, other)?),
        Source::Less(one, other) => Some(recomputed(run, one)? - recomputed(run, other)?),
        Source::Constant(factor) => Some(*factor),
        Source::Placement { cpus, number } => place::number(run, raw(run, cpus)?, number),
        Source::Option(option) => {
            let asked = run.words.iter().skip_while(|word| word.trim_start_matches("--") != *option).nth(1);
            match (asked, *option) {
                (None, "min-effect") => Some(MIN_EFFECT),
                (asked, _) => asked?.trim_end_matches('s').parse().ok(),
            }
        }
        Source::Differing { matrix, key, value } => {
            let is_one = |row: &&Value| {
                let is_of = matrix.as_ref().is_none_or(|matrix| row["matrix"] == **matrix);
                is_of && row["cell"].is_array() && row[key].to_string().trim_matches('"') == *value
            };
            Some(list(&run.document["differences"]).iter().filter(is_one).count() as f64)
        }
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
        Source::Pairs { map, relation, classes, statistic } => {
            let class = |cpu| run.reported.class_of(CpuId(cpu)).map(|class| class.name.clone());
            let is_inside = |([from, to], ..): &([u32; 2], f64, bool)| {
                let kinds = [class(*from), class(*to)];
                let is_kind = |[one, other]: &[String; 2]| {
                    let [one, other] = [Some(one.clone()), Some(other.clone())];
                    kinds == [one.clone(), other.clone()] || kinds == [other, one]
                };
                run.reported.relation(CpuId(*from), CpuId(*to)) == *relation
                    && classes.as_ref().is_none_or(is_kind)
            };
            let pairs = pairs_recomputed(run, map).into_iter().filter(is_inside);
            // A symmetric map has each pair in both directions.
            let is_once = |([from, to], ..): &([u32; 2], f64, bool)| match map {
                MapSource::Kernel(kernel) => from < to || from != to && !is_symmetric(run, kernel),
                _ => true,
            };
            let mut values: Vec<f64> = pairs.filter(is_once).map(|(_, number, _)| number).collect();
            values.sort_by(f64::total_cmp);
            match *statistic {
                Statistic::Count => Some(values.len() as f64),
                Statistic::Percentile(0.0) => values.first().copied(),
                Statistic::Percentile(1.0) => values.last().copied(),
                _ => median(&values),
            }
        }
        Source::Wide { map, number } => of_widths(run, map, *number),
        Source::AllTrials => {
            let of_series = all().map(trial_of);
            let of_queues = cells_of_queues(run).into_iter().map(|(trial, ..)| trial);
            Some(of_series.chain(of_queues).collect::<BTreeSet<_>>().len() as f64)
        }
        Source::Width(trial) => {
            let cells = cells_of_queues(run).into_iter().map(|(of, _, cell)| (of, cell));
            let mut every = all().map(|one| (trial_of(one), one)).chain(cells);
            let reason =
                every.find(|(of, one)| of == trial && one["reason"].is_string())?.1["reason"].as_str()?;
            // Reasons have three digits; an interval that is wider than its value has no number there.
            reason.strip_prefix("± ").map_or(Some(f64::INFINITY), |text| text.split(' ').next()?.parse().ok())
        }
        Source::Mode { trial, view, index, part } => {
            let of = all().find(|one| trial_of(one) == *trial && one["parameters"]["view"] == **view)?;
            let mode = modes(&histogram(of)?).get(*index).copied()?;
            Some(if *part == ModePart::Share { mode.share } else { mode.median_ns })
        }
        Source::MeanOf(paths) => {
            let lists = paths.iter().map(|path| list(run.document.pointer(path).unwrap_or(&Value::Null)));
            let shares: Option<Vec<f64>> = lists.flatten().map(Value::as_f64).collect();
            let shares = shares?;
            Some(shares.iter().sum::<f64>() / shares.len() as f64)
        }
        Source::Entered { gap_ns, kept_out, state } => {
            let is_of = |one: &&Value| {
                one["parameters"]["gap_ns"].as_f64() == Some(*gap_ns as f64)
                    && one["parameters"]["idle_states"].is_string() == *kept_out
            };
            let sum =
                |name: &str| all().filter(is_of).filter_map(|one| one["counts"][name].as_f64()).sum::<f64>();
            Some(sum(&format!("idle_{state}")) / sum("samples"))
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
        Source::Field(_) => field_of(run, source)?.0,
        Source::Matching { list: of, key, value } => {
            let items = list(run.document.pointer(of)?).iter();
            Some(items.filter(|item| item[*key] == *value).count() as f64)
        }
        Source::Groups(level, least) => {
            let measured = run.measured();
            let groups = run.reported.level(*level).into_iter();
            let here = groups.filter(|group| group.cpus.intersection(&measured).len() >= *least);
            Some(here.count() as f64)
        }
        Source::ReportedCpus => Some(run.reported.cpus().len() as f64),
        _ => None,
    }
}

/// What is wrong with a number, if its document says something else.
fn contradiction(run: &Run, value: &DisplayValue) -> Option<String> {
    let document = &run.document;
    let all = list(&document["series"]);
    let number = |found: &Value| found.as_f64();
    if let Some(share) = share_of(run, &value.source) {
        return contradicted_share(share, value);
    }
    let (expected, found) = match (value.source.clone(), value.number) {
        (Source::Listed | Source::Method | Source::Unrecorded, _) => return None,
        // The budget of a map is a part of that of the run, and a run may measure fewer pairs at once than it may.
        (Source::Option(name @ ("budget" | "parallel")), Number::Count(_) | Number::Duration(_)) => {
            let found = match value.number {
                Number::Count(count) => count as f64,
                Number::Duration(seconds) => seconds,
                _ => f64::NAN,
            };
            let most = match name {
                "parallel" => {
                    let pairs = list(&document["matrices"]).iter();
                    pairs.filter_map(|of| of["parameters"]["parallel_pairs"].as_str()?.parse().ok()).next()
                }
                _ => recomputed(run, &value.source),
            };
            return most
                .filter(|most: &f64| found > *most)
                .map(|most| format!("at most {most} was asked for"));
        }
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
            | Source::Sum(_)
            | Source::Spin { .. }
            | Source::State { .. }
            | Source::Wide { .. }
            | Source::Width(_)
            | Source::Mode { .. }
            | Source::MeanOf(_)
            | Source::Entered { .. }
            | Source::Option(_)
            | Source::Precision),
            Number::Short(found) | Number::Point(found) | Number::Coarse(found) | Number::Duration(found),
        ) => (recomputed(run, &source), found),
        (source @ Source::Ratio(..), Number::Change(found) | Number::Relative(found)) => {
            (recomputed(run, &source).map(|ratio| ratio - 1.0), found)
        }
        (
            source @ (Source::Tail { .. }
            | Source::Pairs { .. }
            | Source::Watch(_)
            | Source::Rates { .. }
            | Source::QueueCell { .. }
            | Source::Sum(_)
            | Source::Differing { .. }
            | Source::Trials { .. }
            | Source::AllTrials
            | Source::Wide { .. }
            | Source::Matching { .. }
            | Source::Groups(..)
            | Source::ReportedCpus
            | Source::Option(_)
            | Source::Placement { .. }
            | Source::Less(..)),
            Number::Count(found) | Number::Part { number: found, .. },
        ) => (recomputed(run, &source), found as f64),
        (source @ (Source::Field(_) | Source::Pair { .. }), shown) => {
            let Some((field, ends)) = field_of(run, &source) else {
                return Some("no such field".to_owned());
            };
            if path_of(&source).is_some_and(|path| !is_in_own_unit(path, value)) {
                return Some("a number in another unit".to_owned());
            }
            let found = match shown {
                Number::Count(count) => count as f64,
                Number::Point(number)
                | Number::Short(number)
                | Number::Figure(number)
                | Number::Difference(number)
                | Number::Probability(number)
                | Number::Duration(number) => number,
                // An endless interval is none.
                Number::Shift(of) if !of.reach().is_finite() && ends == [None, None] => of.point,
                Number::PlusMinus(of) | Number::Shift(of) | Number::Reach(of) | Number::Ends(of) => {
                    if !matches!(ends, [Some(low), Some(high)] if is_near(low, of.low) && is_near(high, of.high))
                    {
                        return Some(format!("the interval is {ends:?}"));
                    }
                    of.point
                }
                _ => return Some("a number of another kind than its source".to_owned()),
            };
            // No more than all is kept.
            let is_kept = path_of(&source).is_some_and(|path| path.contains("_kept/1"));
            (field.map(|field| if is_kept { field.min(1.0) } else { field }), found)
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
            let of_cells = cells_of_queues(run).into_iter().filter(|(of, ..)| Some(*of) == trial);
            let maps = list(&document["matrices"]).iter().filter(|_| trial.is_none());
            let mut maps = maps.chain(of_cells.map(|(_, matrix, _)| matrix));
            // A verdict needs more runs than there are.
            let is_missing = |arm: &Value| (list(&arm["runs"]).len() as f64) < found;
            let mut compared = list(&document["comparisons"]).iter().flat_map(|one| list(&one["placements"]));
            let is_there =
                of_trial.any(has) || maps.any(has) || name == "least_repetitions" && compared.any(is_missing);
            return (!is_there).then(|| format!("no such {name}"));
        }
        (Source::Trial { placements: 2.., .. }, _) => return None,
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
            Number::HalfWidth { of, .. } | Number::Reach(of) | Number::Estimate(of) | Number::WithEnds(of),
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
    if let Source::Width(_) = value.source {
        let is_same = expected.is_some_and(|width| match width.is_finite() {
            true => (width - found).abs() <= 5e-3 * width,
            false => found > 100.0,
        });
        return (!is_same).then(|| format!("{expected:?}, not {found}"));
    }
    let is_same = |expected: f64| match value.number {
        Number::Count(_) | Number::Part { .. } => expected == found,
        // Of distributions documents have the median of all events, and a map shows that of passes.
        _ if matches!(
            value.source,
            Source::Cell { map: MapSource::Trials { .. }, .. }
                | Source::Pairs { map: MapSource::Trials { .. }, .. }
                | Source::Mode { .. }
        ) =>
        {
            (expected - found).abs() <= 0.01 * expected
        }
        // Fields are rounded to four decimals; other small numbers have significant digits instead, and quotients those of
        // two.
        _ if matches!(value.source, Source::Field(_)) && value.unit == DisplayUnit::Own(Unit::Share) => {
            let is_in_percent = path_of(&value.source).is_some_and(is_in_percent);
            (expected - found).abs() <= if is_in_percent { 0.51e-6 } else { 0.51e-4 }
        }
        Number::Change(_) | Number::Difference(_) => is_near(expected, found),
        _ if value.unit == DisplayUnit::Own(Unit::Share) || expected.abs() < 0.1 => {
            (expected - found).abs() <= 2e-3 * f64::abs(expected)
        }
        // A factor scales what documents round.
        _ => is_near(expected, found) || is_scaled(&value.source, expected - found),
    };
    (!expected.filter(|number| number.is_finite()).is_some_and(is_same))
        .then(|| format!("{expected:?}, not {found}"))
}

/// What is wrong with a shown number, if anything.
pub fn wrong(run: &Run, (headings, value): &Shown) -> Option<String> {
    contradiction(run, value).or_else(|| misread(value)).or_else(|| unstated(headings, value))
}

/// A number below the headings of its table, on a page below that of its column; in a sentence without any.
pub type Shown = (Vec<String>, DisplayValue);
