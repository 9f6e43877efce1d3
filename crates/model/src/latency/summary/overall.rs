//! [`Overall`]: statistics of the whole map. Also an order of CPUs by latency, and statistics of counted values.

use super::table::PairReading;
use crate::latency::{CellValue, LatencyMap, MissingReason, PairOutcome};
use crate::stats::gaps::{GapRule, ValueGroup, shown_groups, value_groups};
use crate::stats::{Estimate, mean, median_of_sorted};
use crate::{CpuId, Flag, Matrix};
use std::collections::BTreeMap;

/// Statistics of the whole map, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overall {
    /// Number of cells with a value.
    pub measured: u64,
    /// The fastest pair.
    pub min: Option<Extreme>,
    /// The slowest pair.
    pub max: Option<Extreme>,
    /// Mean over cells.
    pub mean_ns: Option<f64>,
    /// Median over cells.
    pub median_ns: Option<f64>,
    /// Groups by value alone.
    pub by_value: ByValue,
    /// Number of cells whose error may exceed their interval.
    pub doubtful: u64,
    /// Relative reach of the intervals of the other cells that miss the requested precision.
    pub wide: Vec<f64>,
    /// Number of cells with each flag of doubt, most frequent first.
    pub doubts: Vec<(Flag, u64)>,
    /// Cells without a value by reason, most frequent first.
    pub missing: Vec<(MissingReason, u64)>,
}

/// The groups of a map by its values alone, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ByValue {
    /// Groups confirmed by intervals, ascending.
    pub shown: Vec<ValueGroup>,
    /// Whether there may be more groups. Some points are separate, but their intervals overlap or are missing.
    pub is_open: bool,
}

impl ByValue {
    /// Values whose error may exceed their interval confirm no group.
    fn from_values(values: &[&CellValue]) -> ByValue {
        let estimate = |value: &&CellValue| {
            let is_reliable = !value.flags.may_be_wrong();
            let confidence = if is_reliable { value.latency_ns.confidence } else { 0.0 };
            Estimate { confidence, ..value.latency_ns }
        };
        let values: Vec<Estimate> = values.iter().map(estimate).collect();
        let points: Vec<f64> = values.iter().map(|value| value.point).collect();
        let shown = shown_groups(&values, GapRule::LATENCY_NS);
        let is_open = value_groups(&points, GapRule::LATENCY_NS).len() > shown.len();
        ByValue { shown, is_open }
    }
}

/// A pair and its value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extreme {
    /// The pair.
    pub pair: [CpuId; 2],
    /// Half round trip in nanoseconds.
    pub ns: f64,
}

/// Computes all statistics in one pass over the cells, without the diagonal of a directed map.
pub fn overall(map: &LatencyMap) -> Overall {
    let mut all = Overall::default();
    let (mut doubts, mut missing) = (BTreeMap::<Flag, u64>::new(), BTreeMap::<MissingReason, u64>::new());
    let cpus = map.cells.cpus();
    let mut values: Vec<&CellValue> = Vec::new();
    for (row, column, cell) in map.cells.iter().filter(|(row, column, _)| row != column) {
        match cell {
            PairOutcome::Missing { reason } => *missing.entry(reason.clone()).or_default() += 1,
            PairOutcome::Measured(value) => {
                let ns = value.latency_ns.point;
                // The first CPU of a pair is the earlier CPU of a symmetric map and the row of a directed map.
                let pair = if map.cells.is_symmetric() { [column, row] } else { [row, column] };
                let extreme = Extreme { pair: pair.map(|position| cpus[position]), ns };
                if all.min.is_none_or(|min| ns < min.ns) {
                    all.min = Some(extreme);
                }
                if all.max.is_none_or(|max| ns > max.ns) {
                    all.max = Some(extreme);
                }
                values.push(value);
                let reading = PairReading { ns, doubtful: value.flags.may_be_wrong() };
                all.doubtful += u64::from(reading.doubtful);
                for flag in value.flags.iter().filter(|flag| flag.may_be_wrong()) {
                    *doubts.entry(flag).or_default() += 1;
                }
                if !reading.doubtful && value.flags.contains(Flag::WideCi) {
                    all.wide.push(value.latency_ns.relative_reach());
                }
            }
        }
    }
    let mut sorted_ns: Vec<f64> = values.iter().map(|value| value.latency_ns.point).collect();
    sorted_ns.sort_unstable_by(f64::total_cmp);
    all.measured = sorted_ns.len() as u64;
    all.mean_ns = mean(&sorted_ns);
    all.median_ns = median_of_sorted(&sorted_ns);
    all.by_value = ByValue::from_values(&values);
    all.doubts = by_count(doubts);
    all.missing = by_count(missing);
    all
}

fn by_count<K: Ord + Clone>(counts: BTreeMap<K, u64>) -> Vec<(K, u64)> {
    let mut counts: Vec<(K, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count)); // stable: equal counts keep the order of the keys
    counts
}

/// Total number of values.
pub fn counts_total(counts: &[(u64, u64)]) -> u64 {
    counts.iter().fold(0, |total, &(_, count)| total.saturating_add(count))
}

/// The smallest value that at least `share` (0 to 1) of the values do not exceed; `None` for an empty list.
///
/// ```
/// # use coretalk_model::latency::summary::counts_percentile;
/// let half_round_trips_ps = [(20_000, 98), (21_000, 1), (90_000, 1)];
/// assert_eq!(counts_percentile(&half_round_trips_ps, 0.5), Some(20_000));
/// assert_eq!(counts_percentile(&half_round_trips_ps, 0.99), Some(21_000));
/// assert_eq!(counts_percentile(&half_round_trips_ps, 1.0), Some(90_000));
/// ```
pub fn counts_percentile(counts: &[(u64, u64)], share: f64) -> Option<u64> {
    // The factor makes 0.99 of 100 the 99th value, although 0.99 × 100 rounds above 99.
    let rank = (share * counts_total(counts) as f64 * (1.0 - 1e-12)).ceil().max(1.0) as u64;
    let mut seen = 0u64;
    for &(value, count) in counts {
        seen = seen.saturating_add(count);
        if count > 0 && seen >= rank {
            return Some(value);
        }
    }
    None
}

/// Arithmetic mean; `None` for an empty list.
pub fn counts_mean(counts: &[(u64, u64)]) -> Option<f64> {
    let total = counts_total(counts);
    let sum: f64 = counts.iter().map(|&(value, count)| value as f64 * count as f64).sum();
    (total > 0).then(|| sum / total as f64)
}

/// A chain of nearest neighbours from the first CPU, which keeps groups together. CPUs without values come last.
pub fn measured_order(readings: &Matrix<Option<PairReading>>) -> Vec<CpuId> {
    let cpus = readings.cpus();
    let mut remaining: Vec<usize> = (0..cpus.len()).collect();
    let mut order = Vec::with_capacity(cpus.len());
    let mut last = None;
    while !remaining.is_empty() {
        let distance = |to: usize| {
            let reading = last.and_then(|from| *readings.get(from, to)?);
            reading.map_or(f64::INFINITY, |reading: PairReading| reading.ns)
        };
        let mut nearest = 0;
        for candidate in 1..remaining.len() {
            if distance(remaining[candidate]) < distance(remaining[nearest]) {
                nearest = candidate;
            }
        }
        let next = remaining.remove(nearest);
        order.push(cpus[next]);
        last = Some(next);
    }
    order
}

/// The parts of narrower classes would show noise.
const MIN_DIVIDED_RATIO: f64 = 1.1;

/// Divides the positive values into at most `max_classes` classes, given as minimum and maximum, ascending, none empty.
/// Values separated by a wide gap ([`GapRule::LATENCY_NS`]) share no class if there are enough classes. Spare classes
/// divide the widest class into equal ratios, so that a machine without gaps still shows its slope.
///
/// ```
/// # use coretalk_model::latency::summary::value_steps;
/// let levels = [20.0, 20.5, 60.0, 118.0, 121.0, 300.0];
/// let steps = value_steps(levels.into_iter(), 5);
/// assert_eq!(steps, [[20.0, 20.5], [60.0, 60.0], [118.0, 121.0], [300.0, 300.0]]);
/// ```
pub fn value_steps(values: impl Iterator<Item = f64>, max_classes: usize) -> Vec<[f64; 2]> {
    let mut sorted: Vec<f64> = values.filter(|value| value.is_finite() && *value > 0.0).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut groups: Vec<[f64; 2]> =
        value_groups(&sorted, GapRule::LATENCY_NS).iter().map(|group| [group.min, group.max]).collect();
    while groups.len() > max_classes.max(1) {
        let gap = |index: &usize| groups[index + 1][0] / groups[*index][1];
        let Some(nearest) = (0..groups.len() - 1).min_by(|a, b| gap(a).total_cmp(&gap(b))) else { break };
        groups[nearest][1] = groups.remove(nearest + 1)[1];
    }
    let mut parts = vec![1usize; groups.len()];
    while parts.iter().sum::<usize>() < max_classes {
        let ratio = |index: &usize| (groups[*index][1] / groups[*index][0]).powf(1.0 / parts[*index] as f64);
        let Some(widest) = (0..groups.len()).max_by(|a, b| ratio(a).total_cmp(&ratio(b))) else { break };
        if ratio(&widest) < MIN_DIVIDED_RATIO {
            break;
        }
        parts[widest] += 1;
    }
    groups.iter().zip(parts).flat_map(|(&group, parts)| divided(&sorted, group, parts)).collect()
}

fn divided(sorted: &[f64], [low, high]: [f64; 2], parts: usize) -> Vec<[f64; 2]> {
    let part = |value: f64| {
        let share = (value / low).ln() / (high / low).ln();
        if share.is_finite() { ((share * parts as f64) as usize).min(parts - 1) } else { 0 }
    };
    let from = sorted.partition_point(|&value| value < low);
    let to = sorted.partition_point(|&value| value <= high);
    sorted[from..to]
        .chunk_by(|&a, &b| part(a) == part(b))
        .filter_map(|chunk| Some([*chunk.first()?, *chunk.last()?]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn empty_counts_have_no_percentile_and_no_mean() {
        for empty in [&[][..], &[(7, 0)]] {
            assert_eq!((counts_percentile(empty, 0.5), counts_mean(empty)), (None, None));
        }
    }

    #[test]
    fn ranks_are_those_of_the_written_out_list() {
        let counts = [(3, 2), (5, 1), (9, 4)];
        let list = [3, 3, 5, 9, 9, 9, 9];
        for rank in 1..=7 {
            assert_eq!(counts_percentile(&counts, f64::from(rank) / 7.0), Some(list[rank as usize - 1]));
        }
        assert_eq!(counts_mean(&counts), Some(47.0 / 7.0));
    }

    #[test]
    fn interleaved_groups_come_out_together() {
        let cpus: Vec<CpuId> = (0..6).map(CpuId).collect();
        let even_and_odd = Matrix::symmetric(cpus, |row, column| {
            let ns = if (row + column) % 2 == 0 { 20.0 } else { 90.0 };
            Some(PairReading { ns, doubtful: false })
        });
        assert_eq!(measured_order(&even_and_odd), [0, 2, 4, 1, 3, 5].map(CpuId));
    }

    #[test]
    fn cpus_without_values_stay_in_the_order() {
        let cpus: Vec<CpuId> = (0..4).map(CpuId).collect();
        assert_eq!(measured_order(&Matrix::symmetric(cpus.clone(), |_, _| None)), cpus);
    }

    #[test]
    fn values_get_one_step_per_level_up_to_the_number_of_shades() {
        let steps = |values: &[f64]| value_steps(values.iter().copied(), 5);
        // Levels beyond the shades join with their nearest.
        let joined = [[6.0, 6.0], [20.0, 20.0], [60.0, 70.0], [120.0, 120.0], [300.0, 300.0]];
        assert_eq!(steps(&[6.0, 20.0, 60.0, 70.0, 120.0, 300.0]), joined);
        // A slope has no gaps.
        let slope = |to: u32| (300..to).map(|tenths| f64::from(tenths) / 10.0).collect::<Vec<f64>>();
        assert_eq!([600, 330].map(|to| steps(&slope(to)).len()), [5, 1]);
        assert!(steps(&[f64::NAN, 0.0, -1.0]).is_empty());
    }

    proptest! {
        #[test]
        fn every_value_lies_in_one_step(values in proptest::collection::vec(1.0f64..500.0, 1..80), most in 1usize..7) {
            let steps = value_steps(values.iter().copied(), most);
            prop_assert!(steps.len() <= most);
            prop_assert!(steps.windows(2).all(|pair| pair[0][1] < pair[1][0]), "{:?}", steps);
            for value in values {
                prop_assert!(steps.iter().any(|step| step[0] <= value && value <= step[1]));
            }
        }
    }
}
