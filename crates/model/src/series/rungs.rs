//! [`rungs`]: ladder columns from trials. The ladder lists every way in which one CPU can reach another.

use super::{SeriesResult, SeriesSettings, TrialResult, TrialSpec};
use crate::latency::ladder::{EmptyRung, is_of_state, value_of};
use crate::latency::{CellValue, Kinds, LadderRow, LatencyMap};
use crate::stats::Estimate;
use crate::{CpuId, KernelId, Relation, Topology};
use std::collections::BTreeMap;

type PairValue = ([CpuId; 2], Option<Estimate>);

/// A ladder column measured by trials instead of by a kernel of the map.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialRung {
    /// Name in the ladder.
    pub step: &'static str,
    /// The probe of the trials.
    pub probe: &'static str,
    /// The parameter that identifies the trials, and its value.
    pub parameter: (&'static str, &'static str),
    /// The distribution whose median the ladder shows.
    pub view: &'static str,
}

/// All such columns, in the order of the table. **A new column needs a line here**, and its trials in the quick look
/// (`suite::quick_look` of the measuring crate).
pub const RUNGS: &[TrialRung] = &[
    TrialRung { step: "futex", probe: "wake", parameter: ("primitive", "semaphore"), view: "slept" },
    TrialRung { step: "pipe", probe: "wake", parameter: ("primitive", "pipe"), view: "slept" },
];

impl TrialRung {
    fn includes(&self, spec: &TrialSpec) -> bool {
        let (name, value) = self.parameter;
        spec.probe == self.probe && spec.parameters.text(name) == Some(value) && spec.placement.len() == 2
    }
}

/// Rows of the ladder by column, then by relation: the typical estimate over the pairs of each relation. `map` gives
/// the machine state of the cell of each pair. A pair woken only in other states leaves its rung empty.
pub fn rungs(
    topology: &Topology,
    settings: &SeriesSettings,
    result: &SeriesResult,
    map: Option<&LatencyMap>,
) -> Vec<LadderRow> {
    let gap = gap_of_ladder(settings);
    let mut rows = Vec::new();
    for rung in RUNGS {
        let mut by_rung: BTreeMap<(Relation, Option<Kinds>), Vec<PairValue>> = BTreeMap::new();
        let is_of_column = |trial: &&TrialResult| {
            rung.includes(&trial.spec) && trial.spec.parameters.number("gap_ns") == gap
        };
        for trial in result.trials.iter().filter(is_of_column) {
            let ([from, to], Some(value)) = (&trial.spec.placement[..], trial.medians_ns.get(rung.view))
            else {
                continue;
            };
            let pair: [CpuId; 2] = [*from, *to];
            let value = estimate_in_state(trial, rung.view, value, value_of(map, pair));
            let key = (topology.relation(*from, *to), Kinds::new(topology, pair));
            by_rung.entry(key).or_default().push((pair, value));
        }
        rows.extend(by_rung.into_iter().map(|((relation, kinds), values)| {
            let without_value: Vec<[CpuId; 2]> =
                values.iter().filter(|(_, value)| value.is_none()).map(|(pair, _)| *pair).collect();
            let values: Vec<Estimate> = values.into_iter().filter_map(|(_, value)| value).collect();
            let points = || values.iter().map(|value| value.point);
            let latency_ns = Estimate::typical(&values).filter(|_| without_value.is_empty());
            LadderRow {
                relation,
                classes: kinds.map(|kinds| kinds.names().clone()),
                kernel: KernelId(rung.step.into()),
                range_ns: latency_ns
                    .map(|_| [points().fold(f64::INFINITY, f64::min), points().fold(0.0, f64::max)]),
                pairs: if latency_ns.is_some() { values.len() as u32 } else { 0 },
                reason: latency_ns.is_none().then(|| EmptyRung::new(without_value, map)),
                latency_ns,
            }
        }));
    }
    rows
}

/// The estimate of a trial in the machine state of the cell, identified by CAS without pause. `main` is the estimate in
/// the largest state. It counts in older files without CAS latencies if the cell has a single state.
fn estimate_in_state(
    trial: &TrialResult,
    view: &str,
    main: &Estimate,
    cell: Option<&CellValue>,
) -> Option<Estimate> {
    let Some(cell) = cell else { return Some(*main) };
    let Some(range) = cell.cas_range_ns().filter(|_| !trial.cas_ns.is_empty()) else {
        return Some(*main).filter(|_| cell.states().is_empty());
    };
    let fits = |cas_ns: &[f64]| cas_ns.iter().any(|&ns| is_of_state(ns, range));
    if fits(&trial.cas_ns) {
        return Some(*main);
    }
    trial.states.iter().find(|state| fits(&state.cas_ns))?.medians_ns.get(view).copied()
}

/// The shortest gap of at least a millisecond, which is longer than idle loops poll (KVM's `halt_poll_ns` is 200 µs).
fn gap_of_ladder(settings: &SeriesSettings) -> Option<f64> {
    let gaps = settings.trials.iter().filter_map(|trial| trial.parameters.number("gap_ns"));
    gaps.filter(|&gap_ns| gap_ns >= 1e6).min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Level;
    use crate::series::Parameters;
    use crate::tests::{between, spec, topology};

    fn trial(primitive: &str, gap_ns: f64, placement: [u32; 2], ns: f64) -> TrialResult {
        let estimate = between(ns, 0.9 * ns, 1.2 * ns);
        let parameters = Parameters::default().with("primitive", primitive).with("gap_ns", gap_ns);
        TrialResult {
            passes: 8,
            medians_ns: BTreeMap::from([("slept".to_owned(), estimate)]),
            ..TrialResult::empty(spec("wake", parameters, &placement))
        }
    }

    #[test]
    fn a_column_is_the_median_over_the_pairs_of_a_relation_after_one_gap() {
        let topology = topology("0-3", &[(Level::L3, &["0-1", "2-3"])]);
        let mut silent = trial("pipe", 1e6, [0, 2], 9.0);
        silent.medians_ns.clear();
        let trials = vec![
            trial("semaphore", 2e4, [0, 1], 1.0),
            trial("semaphore", 1e6, [0, 1], 100.0),
            trial("semaphore", 1e6, [2, 3], 300.0),
            trial("semaphore", 1e6, [0, 2], 700.0),
            trial("park", 1e6, [0, 1], 5.0),
            silent,
        ];
        let specs = trials.iter().map(|it| it.spec.clone()).collect();
        let settings = SeriesSettings { trials: specs, ..SeriesSettings::default() };
        let result = SeriesResult { trials, ..SeriesResult::default() };
        let rows = rungs(&topology, &settings, &result, None);
        let shown: Vec<_> = rows
            .iter()
            .map(|row| (row.kernel.as_str(), row.relation, row.latency_ns.unwrap().point, row.pairs))
            .collect();
        assert_eq!(shown, [("futex", Relation::L3, 200.0, 2), ("futex", Relation::Machine, 700.0, 1)]);
        assert_eq!((rows[0].range_ns, rows[0].latency_ns.unwrap().low), (Some([100.0, 300.0]), 180.0));
    }
}
