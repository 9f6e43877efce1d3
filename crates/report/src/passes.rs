//! The passes of pairs, for the details of a report.

use super::input::{EVERY_PAIR_UP_TO, PairPasses, ReportInput};
use coretalk_model::latency::{CellPasses, Record, cells, representatives};
use coretalk_model::{CpuId, KernelId};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of doubtful pairs above [`EVERY_PAIR_UP_TO`] CPUs.
const MAX_DOUBTFUL: usize = 200;
/// Number of fastest and of slowest pairs above [`EVERY_PAIR_UP_TO`] CPUs.
const EXTREMES: usize = 20;
/// Maximum number of passes shown for one pair; more are thinned evenly for a drawing of a few hundred pixels.
const MAX_PASSES: usize = 400;

/// The passes of the pairs of every map of a run.
pub fn passes(input: &ReportInput<'_>, record: &Record) -> Vec<PairPasses> {
    let Some(report) = input.run() else { return Vec::new() };
    let Some(latency) = &report.latency else { return Vec::new() };
    let pairs = cells(&report.topology, &latency.settings);
    let numbers: BTreeMap<[CpuId; 2], usize> = pairs.iter().copied().zip(0..).collect();
    let mut found = Vec::new();
    for (map, latency) in latency.result.maps.iter().enumerate() {
        let Some(columns) = input.maps.get(map).map(|map| &map.columns) else { continue };
        let selected = selected_cells(input, map, &pairs);
        for (cell, &[row, column]) in columns.positions.iter().enumerate() {
            let [from, to] = if columns.symmetric { [column, row] } else { [row, column] };
            let pair = [from, to].map(|position| CpuId(columns.cpus[position as usize]));
            if selected.as_ref().is_some_and(|selected| !selected.contains(&cell)) {
                continue;
            }
            let cell_passes = numbers.get(&pair).and_then(|&number| record.passes(number));
            let has_second_home =
                match latency.cells.get(row as usize, column as usize).and_then(|cell| cell.value()) {
                    // In the record, column 0 of a kernel is for the node of `from`, column 1 for the other.
                    Some(value) => report.topology.node_of(pair[0]).is_some_and(|node| node != value.home.0),
                    None => continue,
                };
            let values = cell_passes
                .map(|cell_passes| values(cell_passes, record, &latency.kernel, has_second_home))
                .unwrap_or_default();
            if !values.is_empty() {
                found.push(PairPasses { map, cell, values });
            }
        }
    }
    found
}

fn values(
    cell_passes: CellPasses<'_>,
    record: &Record,
    kernel: &KernelId,
    has_second_home: bool,
) -> Vec<(f64, f64)> {
    let column = |home| record.column(kernel, home);
    let Some(column) = (if has_second_home { column(1).or_else(|| column(0)) } else { column(0) }) else {
        return Vec::new();
    };
    let step = cell_passes.len().div_ceil(MAX_PASSES).max(1);
    let passes = cell_passes.heads().enumerate().step_by(step);
    passes
        .filter_map(|(index, head)| {
            Some((head.started.secs(), f64::from(cell_passes.location(index, column)?)))
        })
        .collect()
}

/// Representatives, doubtful cells, and the fastest and slowest cells; `None` selects all.
fn selected_cells(input: &ReportInput<'_>, map: usize, pairs: &[[CpuId; 2]]) -> Option<BTreeSet<usize>> {
    let columns = &input.maps[map].columns;
    if columns.cpus.len() <= EVERY_PAIR_UP_TO {
        return None;
    }
    let representative_pairs: BTreeSet<[u32; 2]> = representatives(input.topology(), pairs.iter().copied())
        .into_iter()
        .map(|pair| pair.map(|cpu| cpu.0))
        .collect();
    let pair = |cell: usize| {
        let [row, column] = columns.positions[cell].map(|position| columns.cpus[position as usize]);
        if columns.symmetric { [column, row] } else { [row, column] }
    };
    let mut known: Vec<usize> =
        (0..columns.median.len()).filter(|&cell| columns.median[cell].is_some()).collect();
    let doubtful = known.iter().copied().filter(|&cell| columns.doubtful(cell)).take(MAX_DOUBTFUL);
    let mut selected: BTreeSet<usize> = doubtful.collect();
    selected.extend((0..columns.positions.len()).filter(|&cell| representative_pairs.contains(&pair(cell))));
    known.sort_by(|&a, &b| {
        columns.median[a].partial_cmp(&columns.median[b]).unwrap_or(std::cmp::Ordering::Equal)
    });
    selected.extend(known.iter().take(EXTREMES).chain(known.iter().rev().take(EXTREMES)));
    Some(selected)
}
