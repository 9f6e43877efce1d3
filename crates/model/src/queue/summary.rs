//! Summaries of queues: rates by relation, one CPU compared with two, and whether measured pairs represent the others.

use super::{QueueCell, QueueMatrix};
use crate::series::{TrialId, TrialResult, side_by_side};
use crate::stats::Estimate;
use crate::{Flag, Relation, Topology};
use std::collections::BTreeMap;

/// Throughput of the pairs of one relation, with one queue and capacity.
#[derive(Debug, Clone, PartialEq)]
pub struct RelationRate {
    /// The relation.
    pub relation: Relation,
    /// Number of measured pairs.
    pub pairs: usize,
    /// Messages per second of the typical pair. `None` without measurements, if two polling threads share a CPU, or if
    /// other threads of a runtime did the work.
    pub per_s: Option<Estimate>,
    /// The slowest and the fastest pair.
    pub range: Option<[f64; 2]>,
    /// Whether two polling threads shared one CPU in all cells.
    pub shared_spin: bool,
    /// Whether threads of a runtime other than the two on the CPUs did most of the work in all cells.
    pub unclaimed: bool,
    /// Number of cells with a doubt.
    pub doubted: usize,
    /// Number of measured cells left out because the machine was not in the state of most passes of the pair.
    pub elsewhere: usize,
}

/// Rates of one queue and payload by capacity and relation.
#[derive(Debug, Clone, PartialEq)]
pub struct ShapeRates<'a> {
    /// Name of the queue.
    pub queue: &'a str,
    /// Type of the messages.
    pub payload: &'a str,
    /// For each capacity, the relations from the nearest to the farthest.
    pub rows: Vec<(u64, Vec<RelationRate>)>,
}

/// One CPU compared with two CPUs of a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Balance {
    /// One CPU is faster.
    One,
    /// Two CPUs are faster.
    Two,
    /// The interval of the ratio includes 1 or is unknown (too few passes).
    Unknown,
}

/// Check whether the representative pairs predict randomly drawn pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verification {
    /// Number of cells of randomly drawn pairs.
    pub cells: usize,
    /// Number of cells outside the prediction by the representatives of their relation.
    pub outside: usize,
    /// Upper bound (95 %) of the share of such cells among all.
    pub bound: f64,
}

/// Extension of the predicted range on both sides. Pairs differ by position on the die, and twelve miss the extremes.
const MARGIN: f64 = 0.1;

/// Rates by relation for each queue and payload.
pub fn rates<'a>(matrices: &[QueueMatrix<'a>], topology: &Topology) -> Vec<ShapeRates<'a>> {
    let mut shapes: Vec<ShapeRates<'a>> = Vec::new();
    let cells: Vec<&'a TrialResult> =
        matrices.iter().flat_map(|matrix| matrix.cells.iter().map(|cell| cell.trial)).collect();
    let selected = side_by_side(&cells);
    let rate = |trial: &TrialResult| QueueCell { trial }.claimed_rate().copied();
    let in_one_state: BTreeMap<TrialId, Option<Estimate>> = cells
        .iter()
        .zip(&selected)
        .map(|(cell, trial)| (cell.spec.id(), trial.as_deref().and_then(rate)))
        .collect();
    for matrix in matrices {
        let known = shapes.iter_mut().find(|one| (one.queue, one.payload) == (matrix.queue, matrix.payload));
        let row = (matrix.capacity, by_relation(matrix, topology, &in_one_state));
        match known {
            Some(shape) => shape.rows.push(row),
            None => shapes.push(ShapeRates { queue: matrix.queue, payload: matrix.payload, rows: vec![row] }),
        }
    }
    shapes
}

fn by_relation(
    matrix: &QueueMatrix<'_>,
    topology: &Topology,
    in_one_state: &BTreeMap<TrialId, Option<Estimate>>,
) -> Vec<RelationRate> {
    let relation_of = |[from, to]: [crate::CpuId; 2]| topology.relation(from, to);
    Relation::ALL
        .into_iter()
        .filter_map(|relation| {
            let cells: Vec<_> =
                matrix.cells.iter().filter(|cell| relation_of(cell.pair()) == relation).collect();
            if cells.is_empty() {
                return None;
            }
            let known = |cell: &&&QueueCell<'_>| in_one_state.get(&cell.trial.spec.id()).copied().flatten();
            let estimates: Vec<Estimate> = cells.iter().filter_map(|cell| known(&cell)).collect();
            let measured = cells.iter().filter(|cell| cell.claimed_rate().is_some()).count();
            let spins = |cell: &&&QueueCell<'_>| cell.trial.flags.contains(Flag::SharedSpin);
            Some(RelationRate {
                relation,
                pairs: cells.len(),
                per_s: typical(&estimates),
                range: range(estimates.iter().map(|estimate| estimate.point)),
                shared_spin: cells.iter().filter(spins).count() == cells.len(),
                unclaimed: cells.iter().all(|cell| cell.trial.flags.contains(Flag::Unclaimed)),
                doubted: cells.iter().filter(|cell| cell.trial.flags.may_be_wrong()).count(),
                elsewhere: measured.saturating_sub(estimates.len()),
            })
        })
        .collect()
}

fn typical(estimates: &[Estimate]) -> Option<Estimate> {
    let confidence = estimates.first()?.confidence;
    let effective_n = estimates.len() as f64;
    Some(Estimate { confidence, effective_n, ..Estimate::typical(estimates)? })
}

fn range(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    values.fold(None, |range, value| {
        let [low, high] = range.unwrap_or([value; 2]);
        Some([low.min(value), high.max(value)])
    })
}

impl ShapeRates<'_> {
    /// The rate of a relation at a capacity.
    pub fn at(&self, capacity: u64, relation: Relation) -> Option<&RelationRate> {
        let (_, row) = self.rows.iter().find(|(known, _)| *known == capacity)?;
        row.iter().find(|rate| rate.relation == relation)
    }

    /// Known rates over ascending capacity, from the nearest relation to the farthest, without unknown relations.
    pub fn curves(&self) -> Vec<(Relation, Vec<(u64, Estimate)>)> {
        let curve = |relation| {
            let known = self
                .rows
                .iter()
                .filter_map(|&(capacity, _)| Some((capacity, self.at(capacity, relation)?.per_s?)));
            let mut points: Vec<(u64, Estimate)> = known.collect();
            points.sort_by_key(|(capacity, _)| *capacity);
            (relation, points)
        };
        Relation::ALL.into_iter().map(curve).filter(|(_, points)| !points.is_empty()).collect()
    }

    /// Ratio of two CPUs of a relation to one, and which is faster; `None` if either rate is unknown.
    pub fn balance(&self, capacity: u64, relation: Relation) -> Option<(Estimate, Balance)> {
        let one = self.at(capacity, Relation::SameCpu)?.per_s?;
        let two = self.at(capacity, relation)?.per_s?;
        let ratio = two.over(&one);
        let balance = match ratio {
            ratio if !ratio.is_sure() || ratio.contains(1.0) => Balance::Unknown,
            ratio if ratio.point < 1.0 => Balance::One,
            _ => Balance::Two,
        };
        Some((ratio, balance))
    }
}

/// Whether the first `representatives` pairs of each relation predict the others, drawn at random, if any.
pub fn verification(
    matrices: &[QueueMatrix<'_>],
    topology: &Topology,
    representatives: usize,
) -> Option<Verification> {
    let (mut cells, mut outside) = (0, 0);
    for matrix in matrices {
        for relation in Relation::ALL {
            let of_relation = |pair: [crate::CpuId; 2]| topology.relation(pair[0], pair[1]) == relation;
            let measured: Vec<&Estimate> = matrix
                .cells
                .iter()
                .filter(|cell| of_relation(cell.pair()))
                .filter_map(super::QueueCell::rate_of_pair)
                .collect();
            let (first, drawn) = measured.split_at(measured.len().min(representatives));
            let low =
                first.iter().map(|estimate| estimate.low).fold(f64::INFINITY, f64::min) * (1.0 - MARGIN);
            let high = first.iter().map(|estimate| estimate.high).fold(0.0, f64::max) * (1.0 + MARGIN);
            cells += drawn.len();
            outside += drawn.iter().filter(|estimate| !(low..=high).contains(&estimate.point)).count();
        }
    }
    // Upper Poisson limit at 95 %: 3.0 for none (the rule of three), about x + 1.65 √x + 3 for x.
    let upper = outside as f64 + 1.645 * (outside as f64).sqrt() + 3.0;
    (cells > 0).then(|| Verification { cells, outside, bound: (upper / cells as f64).min(1.0) })
}

#[cfg(test)]
mod tests {
    use super::super::{matrices, names};
    use super::*;
    use crate::series::{Parameters, SeriesResult};
    use crate::tests::{self, around, spec};
    use crate::{CpuId, Flags, Level};

    fn trial(queue: &str, capacity: u64, pair: [u32; 2], per_s: f64, flags: Flags) -> TrialResult {
        let parameters = Parameters::default().with("queue", queue).with("payload", "u64");
        let parameters = parameters.with("capacity", capacity as f64);
        let counts = [("messages", 1_000), ("empty", 10), ("producer_cpu_ns", 50_000), ("full", 0)];
        TrialResult {
            passes: 8,
            values: [(names::RATE.to_owned(), around(per_s, 0.02))].into(),
            counts: counts.map(|(name, count)| (name.to_owned(), count)).into(),
            busy: vec![Some(1.0), None],
            flags,
            ..TrialResult::empty(spec(names::PROBE, parameters, &pair))
        }
    }

    fn result() -> SeriesResult {
        let spin = Flags::NONE.with(Flag::SharedSpin);
        let mut trials = Vec::new();
        for (queue, capacity, one, two, flags) in [
            ("semaphore", 1, 0.3e6, 0.05e6, Flags::NONE),
            ("semaphore", 100, 9e6, 9.1e6, Flags::NONE),
            ("spsc", 1, 500.0, 12e6, spin),
            ("spsc", 100, 5e4, 150e6, spin),
        ] {
            trials.push(trial(queue, capacity, [0, 0], one, flags));
            trials.push(trial(queue, capacity, [0, 1], two, Flags::NONE));
            trials.push(trial(queue, capacity, [1, 0], two * 1.01, Flags::NONE));
        }
        SeriesResult { trials, complete: true, ..SeriesResult::default() }
    }

    fn topology() -> Topology {
        tests::topology("0-1", &[(Level::L3, &["0-1"])])
    }

    #[test]
    fn cells_count_per_message_and_omit_unknown_values() {
        let result = result();
        let matrices = matrices(&result);
        assert_eq!(matrices.len(), 4);
        let cell = matrices[0].get(CpuId(0), CpuId(1)).unwrap();
        assert_eq!((cell.cpu_ns(), cell.cpu_load()), ([Some(50.0), None], None));
        let ratios = [cell.full_ratio(), cell.empty_ratio(), cell.mean_batch()];
        assert_eq!(ratios, [Some(0.0), Some(0.01), Some(100.0)]);
        assert_eq!(cell.voluntary(), [None, None]);
        assert!(matrices[0].get(CpuId(1), CpuId(1)).is_none());
    }

    #[test]
    fn one_cpu_is_compared_with_two_and_shared_spinning_is_excluded() {
        let (result, topology) = (result(), topology());
        let rates = rates(&matrices(&result), &topology);
        let (ratio, balance) = rates[0].balance(1, Relation::L3).unwrap();
        assert!((ratio.point - 0.05 * 1.005 / 0.3).abs() < 1e-3 && balance == Balance::One, "{ratio:?}");
        let (ratio, balance) = rates[0].balance(100, Relation::L3).unwrap();
        assert!(ratio.contains(1.0) && balance == Balance::Unknown, "{ratio:?} {balance:?}");
        assert_eq!(rates[1].balance(100, Relation::L3), None);
        let spins = rates[1].at(1, Relation::SameCpu).unwrap();
        assert_eq!((spins.shared_spin, spins.per_s), (true, None));
    }

    #[test]
    fn drawn_pairs_confirm_representatives_or_are_counted() {
        let topology = topology();
        let mut result = result();
        result.trials.retain(|trial| trial.spec.parameters.text("queue") == Some("semaphore"));
        let none = verification(&matrices(&result), &topology, 2);
        assert_eq!(none, None, "nothing was drawn in addition to two representatives");
        let confirmed = verification(&matrices(&result), &topology, 1).unwrap();
        assert_eq!((confirmed.cells, confirmed.outside), (2, 0));
        if let Some(estimate) = result.trials[2].values.get_mut(names::RATE) {
            *estimate = estimate.scaled(3.0);
        }
        assert_eq!(verification(&matrices(&result), &topology, 1).unwrap().outside, 1);
    }
}
