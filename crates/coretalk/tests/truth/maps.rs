//! Numbers of maps, recomputed from the pairs of a document.

use super::run::{Run, cpus, ends_of, list};
use super::sources::{ROUNDED, entries, entries_of, parameters_of, wrong};
use coretalk_model::stats::{WIDEST_STATED, median};
use coretalk_model::{CpuId, Flag};
use coretalk_report::blocks::DrawnNumber;
use coretalk_report::blocks::value::{MapSource, MatrixNumber, Source, Statistic, WideNumber};
use serde_json::Value;

/// `(from, to, ns)` of every cell with a value.
pub fn cells(matrix: &Value) -> Vec<(u32, u32, f64)> {
    let cell = |cell: &Value| {
        let cpu = |name: &str| cell[name].as_u64().map(|cpu| cpu as u32);
        Some((cpu("from")?, cpu("to")?, cell["median"].as_f64()?))
    };
    list(&matrix["cells"]).iter().filter_map(cell).filter(|(from, to, _)| from != to).collect()
}

pub fn has_flag(entry: &Value, flags: &[&str]) -> bool {
    list(&entry["flags"]).iter().any(|flag| flags.iter().any(|name| flag == name))
}

/// Flags of two threads on one CPU whose rate is determined by scheduler quanta.
const SHARED: [&str; 2] = ["shared-spin", "unclaimed"];

pub fn is_doubtful(entry: &Value) -> bool {
    Flag::ALL.iter().any(|flag| flag.may_be_wrong() && has_flag(entry, &[flag.name()]))
}

/// Half of the interval of a cell as a share of its value.
fn relative_reach(cell: &Value) -> Option<f64> {
    let [low, point, high] = [&cell["ci"][0], &cell["median"], &cell["ci"][1]].map(Value::as_f64);
    Some((high? - point?).max(point? - low?) / point?)
}

fn matrix_of<'a>(run: &'a Run, kernel: &str) -> Option<&'a Value> {
    list(&run.document["matrices"]).iter().find(|matrix| matrix["kernel"] == kernel)
}

pub struct MapPair<'a> {
    pub cpus: [CpuId; 2],
    /// The value of the pair in `entry`, which is an entry of the document.
    number: Option<f64>,
    entry: &'a Value,
}

impl MapPair<'_> {
    /// The value or an end of its interval; `None` for a queue whose rate is determined by scheduler quanta.
    pub fn number(&self, statistic: Statistic) -> Option<f64> {
        match statistic {
            _ if !self.entry["from"].is_null() && has_flag(self.entry, &SHARED) => None,
            Statistic::Low => self.entry["ci"][0].as_f64(),
            Statistic::High => self.entry["ci"][1].as_f64(),
            _ => self.number,
        }
    }
}

/// The pairs of a map; a symmetric map has one direction of each.
pub fn pairs_recomputed<'a>(run: &'a Run, source: &MapSource) -> Vec<MapPair<'a>> {
    let of_cell =
        |entry: &'a Value| MapPair { cpus: ends_of(entry), number: entry["median"].as_f64(), entry };
    match source {
        MapSource::Unfinished | MapSource::Queues => Vec::new(),
        MapSource::Kernel(kernel) => {
            let cells = matrix_of(run, kernel).into_iter().flat_map(|matrix| list(&matrix["cells"]));
            cells.map(of_cell).filter(|pair| pair.number.is_some()).collect()
        }
        MapSource::Queue { queue, payload, capacity } => {
            let is_of = |[matrix, cell]: &[&Value; 2]| {
                let all = &matrix["parameters"];
                let is_shape = all["queue"] == **queue && all["payload"] == **payload;
                let is_capacity = all["capacity"].as_f64() == Some(*capacity as f64);
                !cell["from"].is_null() && is_shape && is_capacity
            };
            entries(&run.document).filter(is_of).map(|[_, cell]| of_cell(cell)).collect()
        }
        MapSource::Trials { probe, parameters, quantity } => {
            let pair = |entry: &'a Value| {
                let [from, to] = cpus(&entry["placement"])[..] else { return None };
                let number = match entry["parameters"]["view"] == **quantity {
                    true => &entry["percentiles"]["50"],
                    false => &entry["values"][quantity],
                };
                let is_of = entry["probe"] == **probe
                    && parameters_of(entry) == *parameters
                    && !has_flag(entry, &[Flag::Saturated.name()]);
                is_of.then_some(MapPair { cpus: [from, to], number: Some(number.as_f64()?), entry })
            };
            list(&run.document["series"]).iter().filter_map(pair).collect()
        }
    }
}

/// Recomputes a number from all cells of a matrix; [`MatrixNumber::Some`] gives the value nearest to `found`.
pub fn of_matrix(run: &Run, kernel: &str, number: &MatrixNumber, found: f64) -> Option<f64> {
    let matrix = matrix_of(run, kernel)?;
    let pairs = cells(matrix);
    let values: Vec<f64> = pairs.iter().map(|(_, _, value)| *value).collect();
    let value_of_pair = |pair: &[CpuId; 2], value: f64| {
        let [a, b] = pair.map(|cpu| cpu.0);
        let is_pair =
            |(from, to)| (from, to) == (a, b) || matrix["symmetric"] == true && (from, to) == (b, a);
        pairs.iter().any(|(from, to, ns)| is_pair((*from, *to)) && *ns == value).then_some(value)
    };
    let cells = list(&matrix["cells"]).iter().filter(|cell| cell["from"] != cell["to"]);
    let count = |is_counted: &dyn Fn(&Value) -> bool| cells.filter(|cell| is_counted(cell)).count() as f64;
    let has_value = |cell: &Value| !cell["median"].is_null();
    match number {
        MatrixNumber::Pairs => Some(values.len() as f64),
        MatrixNumber::Moved => Some(count(&|cell| list(&cell["states"]).len() > 1)),
        MatrixNumber::Doubtful => Some(count(&|cell| has_value(cell) && is_doubtful(cell))),
        MatrixNumber::Flagged(flag) => Some(count(&|cell| has_value(cell) && has_flag(cell, &[flag]))),
        MatrixNumber::Missing(why) => Some(count(&|cell| !has_value(cell) && cell["reason"] == **why)),
        MatrixNumber::Least(pair) => value_of_pair(pair, values.iter().copied().reduce(f64::min)?),
        MatrixNumber::Most(pair) => value_of_pair(pair, values.iter().copied().reduce(f64::max)?),
        MatrixNumber::Median => median(&values),
        MatrixNumber::Some => {
            values.into_iter().min_by(|a, b| (a - found).abs().total_cmp(&(b - found).abs()))
        }
        MatrixNumber::IdCorrelation => {
            let points = || pairs.iter().map(|(from, to, ns)| [f64::from(from.abs_diff(*to)), *ns]);
            let sum = |of: &dyn Fn([f64; 2]) -> f64| points().map(of).sum::<f64>();
            let means = [0, 1].map(|axis| sum(&|point| point[axis]) / pairs.len() as f64);
            let products = |x: usize, y: usize| sum(&|point| (point[x] - means[x]) * (point[y] - means[y]));
            Some(products(0, 1) / (products(0, 0) * products(1, 1)).sqrt())
        }
        MatrixNumber::Between([low, high]) => {
            let is_inside = |value: &&f64| **value >= low - ROUNDED && **value <= high + ROUNDED;
            Some(values.iter().filter(is_inside).count() as f64)
        }
    }
}

/// The value of a cell of a map, from its pairs, and whether it may be wrong.
pub fn of_cell(run: &Run, source: &Source) -> Option<(f64, bool)> {
    let Source::Cell { map, row, column, own } = source else { return None };
    let is_single_pair = row.len() == 1 && column.len() == 1;
    let is_symmetric =
        matches!(map, MapSource::Kernel(kernel) if matrix_of(run, kernel)?["symmetric"] == true);
    let is_inside = |pair: &MapPair<'_>| {
        let [from, to] = pair.cpus;
        let is_in_cell = |from, to| row.contains(&from) && column.contains(&to);
        let is_own = from == to && !is_single_pair;
        (is_in_cell(from, to) || is_symmetric && is_in_cell(to, from)) && is_own == *own
    };
    let pairs: Vec<_> = pairs_recomputed(run, map).into_iter().filter(is_inside).collect();
    let numbers: Vec<f64> = pairs.iter().filter_map(|pair| pair.number).collect();
    Some((median(&numbers)?, pairs.iter().any(|pair| is_doubtful(pair.entry))))
}

/// An error in a number of a drawing or in its mark.
pub fn wrong_in_map(run: &Run, unit: &str, shown: &DrawnNumber) -> Option<String> {
    let is_doubtful = match &shown.value.source {
        Source::Cell { .. } => of_cell(run, &shown.value.source).map(|(_, doubtful)| doubtful),
        Source::OfTrial { trial, .. } | Source::Trial { trial, .. } => {
            // Trials that measure scheduler quanta are marked as doubtful; cells have a separate sign for them.
            let is_sliced = |one: &Value| one["from"].is_null() && has_flag(one, &["shared-spin"]);
            entries_of(run, *trial).next().map(|one| is_doubtful(one) || is_sliced(one))
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
    let is_sound = |cell: &&Value| {
        let is_pair = cell["from"] != cell["to"] || *map == MapSource::Queues;
        is_pair && !cell["median"].is_null() && !is_doubtful(cell) && !has_flag(cell, &SHARED)
    };
    let matrices = list(&run.document["matrices"]).iter().filter(is_of);
    let sound: Vec<&Value> = matrices.flat_map(|matrix| list(&matrix["cells"])).filter(is_sound).collect();
    let wide = sound.iter().filter(|cell| has_flag(cell, &["wide-ci"]));
    let reaches = wide.filter_map(|cell| relative_reach(cell));
    let (stated, unstated): (Vec<f64>, Vec<f64>) = reaches.partition(|reach| *reach < WIDEST_STATED);
    match number {
        WideNumber::Sound => Some(sound.len() as f64),
        WideNumber::Stated => Some(stated.len() as f64),
        WideNumber::Widest => stated.into_iter().reduce(f64::max),
        WideNumber::Unstated => Some(unstated.len() as f64),
    }
}
