//! The ladder: everything that one CPU can do to reach another, per relation, on representative pairs. Where cores
//! are of several kinds, per relation and combination of kinds: no median mixes them.

use super::record::SlotId;
use super::{Kinds, LadderRow, LatencyMap, Purpose, Record, SpanSummary, watch};
use crate::stats::{self, Estimate, Look, passes_interval};
use crate::{CpuId, KernelId, Relation, Topology};
use std::collections::BTreeMap;

/// Passes of one pair under one kernel, half round trips in nanoseconds in time order, the better home of each visit.
type Values = BTreeMap<(Rung, KernelId), BTreeMap<usize, Vec<f64>>>;

/// Pairs that are alike: what they share, and the kinds of their cores.
type Rung = (Relation, Option<Kinds>);

/// Rows by relation from the nearest, then by kinds of cores, kernels in the order they were measured.
pub fn ladder(
    topology: &Topology,
    record: &Record,
    pairs: &[[CpuId; 2]],
    maps: &[LatencyMap],
) -> Vec<LadderRow> {
    let mut values: Values = BTreeMap::new();
    let mut order: Vec<KernelId> = Vec::new();
    let mut see = |cell: usize, kernel: &KernelId, ns: f64| {
        if !order.contains(kernel) {
            order.push(kernel.clone());
        }
        let rung = (topology.relation(pairs[cell][0], pairs[cell][1]), Kinds::of(topology, pairs[cell]));
        values.entry((rung, kernel.clone())).or_default().entry(cell).or_default().push(ns);
    };
    for entry in record.others(Purpose::Ladder) {
        let Ok(visit) = &entry.outcome else { continue };
        let mut best: Vec<(&KernelId, f64)> = Vec::new();
        for span in &visit.spans {
            let ns = shown_ns(span);
            match best.iter_mut().find(|(kernel, _)| *kernel == &span.kernel) {
                Some((_, lowest)) => *lowest = lowest.min(ns),
                None => best.push((&span.kernel, ns)),
            }
        }
        for (kernel, ns) in best {
            see(entry.cell as usize, kernel, ns);
        }
    }
    // A tiny machine climbs the whole ladder in every pass of its map; what it said in its most frequent state counts.
    if record.slots().len() > 2 && pairs.len() <= TINY_CELLS {
        for cell in 0..pairs.len() {
            let Some(passes) = record.passes(cell) else { continue };
            let main = watch::main_state(record, passes);
            for (slot, SlotId { kernel, .. }) in
                record.slots().iter().enumerate().filter(|(_, slot)| slot.home == 0)
            {
                for value in main.iter().filter_map(|&pass| passes.slot(pass, slot)) {
                    see(cell, kernel, f64::from(value.location_ns));
                }
            }
        }
    }
    rows(values, &order, maps, pairs)
}

/// What the ladder shows of a span: its location, or what the tool that it imitates would print (c2clat the minimum
/// in whole nanoseconds).
fn shown_ns(span: &SpanSummary) -> f64 {
    if span.kernel.as_str().starts_with("as:c2clat") {
        f64::from(span.floor_ns).floor()
    } else {
        f64::from(span.location_ns)
    }
}

/// Up to this many cells the whole ladder is climbed in every pass: four CPUs.
pub const TINY_CELLS: usize = 6;

fn rows(values: Values, order: &[KernelId], maps: &[LatencyMap], pairs: &[[CpuId; 2]]) -> Vec<LadderRow> {
    let mut rows: Vec<(Rung, LadderRow)> = values
        .into_iter()
        .filter_map(|((rung, kernel), by_pair)| {
            let mut points: Vec<f64> = by_pair.values().filter_map(|passes| stats::median(passes)).collect();
            points.sort_by(f64::total_cmp);
            // A pair alone on its rung is its cell: the same passes have one interval, wherever it is printed.
            let only = (by_pair.len() == 1).then(|| by_pair.keys().next().map(|&cell| pairs[cell])).flatten();
            let of_map = only.and_then(|pair| of_cell(maps, &kernel, pair));
            let latency_ns = of_map.or_else(|| across(&by_pair))?;
            let row = LadderRow {
                relation: rung.0,
                classes: rung.1.as_ref().map(|kinds| kinds.names().clone()),
                step: step(&kernel),
                pairs: points.len() as u32,
                range_ns: [*points.first()?, *points.last()?],
                kernel,
                latency_ns,
            };
            Some((rung, row))
        })
        .collect();
    let rank = |kernel: &KernelId| {
        let shown = maps.iter().any(|map| map.kernel == *kernel);
        (!shown, order.iter().position(|known| known == kernel))
    };
    rows.sort_by_cached_key(|(rung, row)| (rung.clone(), rank(&row.kernel)));
    rows.into_iter().map(|(_, row)| row).collect()
}

/// The value of a pair in the map of a kernel; `None` where that has no map, or no value there.
fn of_cell(maps: &[LatencyMap], kernel: &KernelId, [a, b]: [CpuId; 2]) -> Option<Estimate> {
    let map = maps.iter().find(|map| map.kernel == *kernel)?;
    let (row, column) = (map.cells.position(a)?, map.cells.position(b)?);
    Some(map.cells.get(row, column)?.value()?.latency_ns)
}

/// The protocol of a kernel, or the tool that it imitates.
fn step(kernel: &KernelId) -> String {
    kernel.as_str().split('+').next().unwrap_or(kernel.as_str()).to_owned()
}

/// Location over pairs: median of the pairs' medians; interval over passes, each pass represented by the median over
/// pairs, so that what moves all pairs together is in it.
fn across(by_pair: &BTreeMap<usize, Vec<f64>>) -> Option<Estimate> {
    let passes = by_pair.values().map(Vec::len).min()?;
    let by_pass: Vec<f64> = (0..passes)
        .filter_map(|pass| stats::median(&by_pair.values().map(|values| values[pass]).collect::<Vec<_>>()))
        .collect();
    passes_interval(&by_pass, Look::at(by_pass.len()), 1.0, super::cell::FLOOR)
}
