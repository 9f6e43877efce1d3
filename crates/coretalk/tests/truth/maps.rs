//! Numbers of maps, recomputed from the pairs of a document.

use super::run::{Run, list};
use super::sources::{ROUNDED, cells_of_queues, parameters_of, trial_of, wrong};
use coretalk::blocks::DrawnNumber;
use coretalk::blocks::value::{MapSource, MatrixNumber, Source, WideNumber};
use coretalk_model::stats::{WIDEST_STATED, median};
use coretalk_model::{CpuId, Flag};
use serde_json::Value;

/// How far a value may lie from the truth of its pair: the precision that is asked for, the clock read of a batch, and
/// the clock of the core.
pub const OFF: f64 = 0.05;

/// `(from, to, ns)` of every cell with a value.
pub fn cells(matrix: &Value) -> Vec<(u32, u32, f64)> {
    let cell = |cell: &Value| {
        let cpu = |name: &str| cell[name].as_u64().map(|cpu| cpu as u32);
        Some((cpu("from")?, cpu("to")?, cell["median"].as_f64()?))
    };
    list(&matrix["cells"]).iter().filter_map(cell).filter(|(from, to, _)| from != to).collect()
}

/// The state of a machine that a value comes from: the nearest.
pub fn nearest(states: &[f64], value: f64) -> f64 {
    let off = |ns: &f64| (ns / value).ln().abs();
    states.iter().copied().min_by(|a, b| off(a).total_cmp(&off(b))).unwrap_or(f64::NAN)
}

/// Whether what has these flags may be wrong.
pub fn is_doubtful(of: &Value) -> bool {
    let is_doubt = |flag: &Value| Flag::ALL.iter().any(|one| flag == one.name() && one.may_be_wrong());
    list(&of["flags"]).iter().any(is_doubt)
}

/// The pairs of a map with their numbers, and whether these may be wrong.
pub fn pairs_recomputed(run: &Run, source: &MapSource) -> Vec<([u32; 2], f64, bool)> {
    let cpu = |cpu: &Value| cpu.as_u64().map(|cpu| cpu as u32);
    match source {
        MapSource::Unfinished | MapSource::Queues => Vec::new(),
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
pub fn of_matrix(run: &Run, kernel: &str, number: &MatrixNumber, found: f64) -> Option<f64> {
    let matrix = list(&run.document["matrices"]).iter().find(|matrix| matrix["kernel"] == kernel)?;
    let pairs = cells(matrix);
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
        MatrixNumber::IdCorrelation => {
            let distances: Vec<f64> =
                pairs.iter().map(|(from, to, _)| f64::from(from.abs_diff(*to))).collect();
            let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
            let of = |one: &[f64], other: &[f64]| {
                let [a, b] = [one, other].map(mean);
                one.iter().zip(other).map(|(x, y)| (x - a) * (y - b)).sum::<f64>()
            };
            Some(of(&distances, &values) / (of(&distances, &distances) * of(&values, &values)).sqrt())
        }
        MatrixNumber::Between([low, high]) => {
            let is_inside = |value: &&f64| **value >= low - ROUNDED && **value <= high + ROUNDED;
            Some(values.iter().filter(is_inside).count() as f64)
        }
    }
}

/// A cell of a map and whether it may be wrong, from its pairs.
pub fn of_cell(run: &Run, source: &Source) -> Option<(f64, bool)> {
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

/// What is wrong with a number of a drawing or with its mark.
pub fn wrong_in_map(run: &Run, unit: &str, shown: &DrawnNumber) -> Option<String> {
    let is_doubtful = match &shown.value.source {
        Source::Cell { .. } => of_cell(run, &shown.value.source).map(|(_, doubtful)| doubtful),
        Source::QueueCell { trial, .. } => {
            cells_of_queues(run).iter().find(|(of, ..)| of == trial).map(|(.., cell)| is_doubtful(cell))
        }
        Source::Trial { trial, .. } => {
            let one = list(&run.document["series"]).iter().find(|one| trial_of(one) == *trial);
            one.map(|one| is_doubtful(one) || list(&one["flags"]).iter().any(|flag| flag == "shared-spin"))
        }
        _ => Some(false),
    };
    let mark = (is_doubtful != Some(shown.doubtful)).then(|| format!("doubt is {}", shown.doubtful));
    mark.or_else(|| wrong(run, &(vec![unit.to_owned()], shown.value.clone())))
}

/// A number of the intervals of a map that are wider than requested.
pub fn of_widths(run: &Run, map: &MapSource, number: WideNumber) -> Option<f64> {
    let is_of = |matrix: &&Value| match map {
        MapSource::Kernel(kernel) => matrix["kernel"] == **kernel,
        _ => matrix["probe"] == "queue",
    };
    let cells =
        list(&run.document["matrices"]).iter().filter(is_of).flat_map(|matrix| list(&matrix["cells"]));
    let excluded = |cell: &Value, flags: &[&str]| {
        list(&cell["flags"]).iter().any(|flag| flags.iter().any(|name| flag == name))
    };
    let sound: Vec<&Value> = cells
        .filter(|cell| !cell["median"].is_null() && (cell["from"] != cell["to"] || *map == MapSource::Queues))
        .filter(|cell| !is_doubtful(cell) && !excluded(cell, &["shared-spin", "unclaimed"]))
        .collect();
    let reach = |cell: &&&Value| {
        let [low, point, high] = [&cell["ci"][0], &cell["median"], &cell["ci"][1]].map(Value::as_f64);
        Some((high? - point?).max(point? - low?) / point?)
    };
    let wide = sound.iter().filter(|cell| excluded(cell, &["wide-ci"])).filter_map(|cell| reach(&cell));
    let (stated, unstated): (Vec<f64>, Vec<f64>) = wide.partition(|reach| *reach < WIDEST_STATED);
    match number {
        WideNumber::Sound => Some(sound.len() as f64),
        WideNumber::Stated => Some(stated.len() as f64),
        WideNumber::Widest => stated.into_iter().reduce(f64::max),
        WideNumber::Unstated => Some(unstated.len() as f64),
    }
}
