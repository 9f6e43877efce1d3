//! The ladder: all ways in which one CPU can reach another, per relation and kinds of cores, on representative pairs.
//! Each visit also times CAS without pause, and counts only if that time fits the machine state of the cell.

use super::record::SpanColumn;
use super::{CellValue, Kinds, LadderRow, LatencyMap, Purpose, Record, SpanSummary, Visit};
use crate::stats::{self, Analysis, Detector, Estimate, passes_interval};
use crate::{CpuId, Hint, Home, KernelId, LadderStep, Protocol, Relation, Tool, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// Half round trips of the visits in nanoseconds on the better home, in time order, by rung and kernel, then by cell.
/// Visits in other machine states than the cell are omitted.
type Values = BTreeMap<(Rung, KernelId), BTreeMap<usize, Vec<f64>>>;

type Rung = (Relation, Option<Kinds>);

/// Rows by relation from the nearest, then by kinds of cores, with kernels in the order of measurement.
pub fn ladder(
    topology: &Topology,
    record: &Record,
    pairs: &[[CpuId; 2]],
    maps: &[LatencyMap],
) -> Vec<LadderRow> {
    let mut values: Values = BTreeMap::new();
    let mut order: Vec<KernelId> = Vec::new();
    let rung =
        |cell: usize| (topology.relation(pairs[cell][0], pairs[cell][1]), Kinds::new(topology, pairs[cell]));
    let mut add_value = |cell: usize, kernel: &KernelId, ns: Option<f64>| {
        if !order.contains(kernel) {
            order.push(kernel.clone());
        }
        values.entry((rung(cell), kernel.clone())).or_default().entry(cell).or_default().extend(ns);
    };
    let headlines: Vec<Option<&CellValue>> = pairs.iter().map(|&pair| value_of(maps.first(), pair)).collect();
    let sentinel = KernelId::new(Protocol::Cas, Hint::None);
    // On a tiny machine, every pass of the map has the whole ladder, and CAS spans of imitations only show the state.
    let ladder_is_in_map = record.columns().len() > 2 && pairs.len() <= TINY_CELLS;
    for entry in record.others(Purpose::Ladder) {
        let Ok(visit) = &entry.outcome else { continue };
        let cell = entry.cell as usize;
        let counts = headlines[cell].is_none_or(|value| is_in_state(visit, value));
        for (kernel, ns) in on_better_home(visit) {
            if !(ladder_is_in_map && *kernel == sentinel) {
                add_value(cell, kernel, Some(ns).filter(|_| counts));
            }
        }
    }
    if ladder_is_in_map {
        let column_of_sentinel = record.column(&sentinel, 0);
        for (cell, headline) in headlines.iter().enumerate() {
            let Some(passes) = record.passes(cell) else { continue };
            let pass_counts = |pass: usize| {
                let ns = column_of_sentinel.and_then(|column| passes.location(pass, column)).map(f64::from);
                let range = headline.and_then(|value| value.cas_range_ns());
                ns.zip(range).is_none_or(|(ns, [low, high])| (low..=high).contains(&ns))
            };
            for (column, SpanColumn { kernel, .. }) in
                record.columns().iter().enumerate().filter(|(_, column)| column.home == 0)
            {
                for pass in 0..passes.len() {
                    if let Some(location_ns) = passes.location(pass, column) {
                        add_value(cell, kernel, Some(f64::from(location_ns)).filter(|_| pass_counts(pass)));
                    }
                }
            }
        }
    }
    rows(values, &order, maps, pairs)
}

fn on_better_home(visit: &Visit) -> Vec<(&KernelId, f64)> {
    let mut seen: BTreeSet<(&KernelId, Home)> = BTreeSet::new();
    let mut best: Vec<(&KernelId, f64)> = Vec::new();
    for span in visit.spans.iter().filter(|span| seen.insert((&span.kernel, span.home))) {
        let ns = shown_ns(span);
        match best.iter_mut().find(|(kernel, _)| *kernel == &span.kernel) {
            Some((_, lowest)) => *lowest = lowest.min(ns),
            None => best.push((&span.kernel, ns)),
        }
    }
    best
}

/// Whether a visit was made in the state of a cell, according to CAS without pause at its beginning and at its end.
/// Visits of older versions lack these times. They count if the cell had a single state.
fn is_in_state(visit: &Visit, value: &CellValue) -> bool {
    let sentinel = KernelId::new(Protocol::Cas, Hint::None);
    let mut spans = visit.spans.iter().filter(|span| span.kernel == sentinel);
    let Some((first, range)) = spans.next().zip(value.cas_range_ns()) else {
        return value.states().is_empty();
    };
    // A pair on two nodes has spans on either home. Only spans on the same home are compared.
    let last = spans.rfind(|span| span.home == first.home).unwrap_or(first);
    [first, last].into_iter().all(|span| is_of_state(f64::from(span.location_ns), range))
}

/// Whether the time of CAS without pause is in the range of a state, within the ratio that separates states.
pub fn is_of_state(cas_ns: f64, [low, high]: [f64; 2]) -> bool {
    (low / Detector::CAS.ratio..=high * Detector::CAS.ratio).contains(&cas_ns)
}

/// The output of the imitated tool (c2clat: the minimum in whole ns), otherwise the location.
fn shown_ns(span: &SpanSummary) -> f64 {
    match span.kernel.step() {
        LadderStep::Imitated(Tool::C2clat | Tool::C2clatW) => f64::from(span.floor_ns).floor(),
        _ => f64::from(span.location_ns),
    }
}

/// Maximum number of cells with the whole ladder in every pass: four CPUs.
pub const TINY_CELLS: usize = 6;

/// Why a rung is empty: some pairs have no visit that counts for their cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmptyRung {
    /// There is no pair.
    NotMeasured,
    /// The machine was observed in several states.
    OtherState(Vec<[CpuId; 2]>),
    /// The machine was observed in one state, and no visit fits that state.
    OtherTime(Vec<[CpuId; 2]>),
}

impl EmptyRung {
    /// The reason for these pairs, whose cells are in `map`.
    pub fn new(pairs: Vec<[CpuId; 2]>, map: Option<&LatencyMap>) -> EmptyRung {
        let has_states =
            |&pair: &[CpuId; 2]| value_of(map, pair).is_some_and(|value| !value.states().is_empty());
        if pairs.is_empty() {
            EmptyRung::NotMeasured
        } else if pairs.iter().any(has_states) {
            EmptyRung::OtherState(pairs)
        } else {
            EmptyRung::OtherTime(pairs)
        }
    }
}

fn rows(values: Values, order: &[KernelId], maps: &[LatencyMap], pairs: &[[CpuId; 2]]) -> Vec<LadderRow> {
    let mut rows: Vec<(Rung, LadderRow)> = values
        .into_iter()
        .map(|((rung, kernel), by_pair)| row(rung, kernel, &by_pair, maps, pairs))
        .collect();
    let rank = |kernel: &KernelId| {
        let has_map = maps.iter().any(|map| map.kernel == *kernel);
        (!has_map, order.iter().position(|known| known == kernel))
    };
    rows.sort_by_cached_key(|(rung, row)| (rung.clone(), rank(&row.kernel)));
    rows.into_iter().map(|(_, row)| row).collect()
}

fn row(
    rung: Rung,
    kernel: KernelId,
    by_pair: &BTreeMap<usize, Vec<f64>>,
    maps: &[LatencyMap],
    pairs: &[[CpuId; 2]],
) -> (Rung, LadderRow) {
    let estimate_in_map = |cell: &usize| cell_estimate(maps, &kernel, pairs[*cell]);
    let without_visits: Vec<[CpuId; 2]> =
        by_pair.iter().filter(|(_, visits)| visits.is_empty()).map(|(&cell, _)| pairs[cell]).collect();
    // A kernel with a map uses the intervals of its cells if the rung has a single pair or if a visit is missing.
    let cells: Option<Vec<Estimate>> = by_pair.keys().map(estimate_in_map).collect();
    let found = match cells.filter(|cells| cells.len() == 1 || !without_visits.is_empty()) {
        Some(cells) => Estimate::typical(&cells).map(|estimate| {
            let points = cells.iter().map(|cell| cell.point).collect();
            (estimate, points)
        }),
        None if !without_visits.is_empty() => None,
        None => {
            let points = by_pair.values().filter_map(|visits| stats::median(visits)).collect::<Vec<f64>>();
            across_passes(by_pair).map(|estimate| (estimate, points))
        }
    };
    let range = |points: &Vec<f64>| {
        [points.iter().copied().fold(f64::INFINITY, f64::min), points.iter().copied().fold(0.0, f64::max)]
    };
    let row = LadderRow {
        relation: rung.0,
        classes: rung.1.as_ref().map(|kinds| kinds.names().clone()),
        pairs: found.as_ref().map_or(0, |(_, points)| points.len() as u32),
        range_ns: found.as_ref().map(|(_, points)| range(points)),
        reason: found.is_none().then(|| EmptyRung::new(without_visits, maps.first())),
        latency_ns: found.map(|(estimate, _)| estimate),
        kernel,
    };
    (rung, row)
}

fn cell_estimate(maps: &[LatencyMap], kernel: &KernelId, pair: [CpuId; 2]) -> Option<Estimate> {
    Some(value_of(maps.iter().find(|map| map.kernel == *kernel), pair)?.latency_ns)
}

/// The value of the cell of a pair.
pub fn value_of(map: Option<&LatencyMap>, [a, b]: [CpuId; 2]) -> Option<&CellValue> {
    let map = map?;
    let (row, column) = (map.cells.position(a)?, map.cells.position(b)?);
    map.cells.get(row, column)?.value()
}

/// The interval is over passes, to include common changes of the pairs.
fn across_passes(by_pair: &BTreeMap<usize, Vec<f64>>) -> Option<Estimate> {
    let passes = by_pair.values().map(Vec::len).min()?;
    let by_pass: Vec<f64> = (0..passes)
        .filter_map(|pass| stats::median(&by_pair.values().map(|values| values[pass]).collect::<Vec<_>>()))
        .collect();
    passes_interval(
        &by_pass,
        Analysis::at(by_pass.len(), stats::ANALYSES.len() as u32),
        1.0,
        super::cell::FLOOR,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::summary::tests_map as map;
    use crate::latency::{CellState, PairOutcome};

    #[test]
    fn another_state_is_the_reason_only_if_several_were_observed() {
        let stable = map(3, |_, _| 20.0);
        let pairs = [[CpuId(0), CpuId(1)], [CpuId(0), CpuId(2)]];
        let found = EmptyRung::new(pairs.to_vec(), Some(&stable));
        assert_eq!(found, EmptyRung::OtherTime(pairs.to_vec()));
        let mut changing = stable.clone();
        if let Some(PairOutcome::Measured(value)) = changing.cells.get_mut(1, 0) {
            let states = [0.7, 0.3].map(|share| CellState { share, latency_ns: value.latency_ns });
            value.rare.get_or_insert_default().states = states.to_vec();
        }
        let first = pairs[..1].to_vec();
        assert_eq!(EmptyRung::new(first.clone(), Some(&changing)), EmptyRung::OtherState(first));
        assert_eq!(EmptyRung::new(Vec::new(), None), EmptyRung::NotMeasured);
    }
}
