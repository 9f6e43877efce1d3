use crate::infer::{Observation, Suspect, both_ways};
use crate::stats::{MadScale, mad, median};
use crate::{CpuId, CpuSet, Matrix, Topology};
use std::collections::BTreeMap;

/// The available CPUs, and the cost of communication between them.
#[derive(Debug, Clone)]
pub struct CpuDistances {
    cpus: Vec<CpuId>,
    ns: Vec<f64>,
    ends: Vec<[f64; 2]>,
    levels: Vec<Vec<Vec<usize>>>,
    group_of: Vec<Vec<u32>>,
    near: Vec<Vec<u32>>,
    filled: usize,
}

const NEAR: usize = 16;
/// Minimum relative half width of an interval: careful runs differ by 1.5 % across reboots.
const MIN_WIDTH: f64 = 0.03;
/// With fewer cells between two groups, the scatter of the level is used.
const MIN_CELLS: usize = 6;
/// Maximum relative half width, so that no interval contains zero.
const MAX_WIDTH: f64 = 0.9;
/// Half width of a 95 % interval, in standard deviations.
const REACH: f64 = 1.96;

/// A pair with an implausibly low value. As the nearest pair of all, it would attract as many threads as possible.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TooNear {
    /// The pair.
    pub pair: [CpuId; 2],
    /// The value, in the unit of the matrix.
    pub value: f64,
    /// The value that replaces it, as suggested by other pairs.
    pub counted: f64,
}

/// Replaces implausibly low values of suspect pairs, which would attract threads. Also returns these pairs.
pub fn without_too_near(
    observed: &Matrix<Option<Observation>>,
    unfit: &[Suspect],
) -> (Matrix<Option<Observation>>, Vec<TooNear>) {
    let mut counted = observed.clone();
    let mut found = Vec::new();
    for suspect in unfit {
        let [a, b] = suspect.pair.map(|cpu| observed.position(cpu));
        let (Some(a), Some(b), Some(ratio)) = (a, b, suspect.ratio.filter(|ratio| *ratio < 1.0)) else {
            continue;
        };
        let Some(seen) = both_ways(observed, a, b) else { continue };
        let too_near = TooNear { pair: suspect.pair, value: seen.value, counted: seen.value / ratio };
        for (row, column) in [(a, b), (b, a)] {
            if let Some(cell) = counted.get_mut(row, column) {
                *cell = Some(Observation { value: too_near.counted, ..seen });
            }
        }
        found.push(too_near);
    }
    (counted, found)
}

impl CpuDistances {
    /// Distances of CPUs. `ns` returns the exact cost of a pair. An unknown pair costs the larger median of the rows of
    /// its CPUs. `groups` are sets of CPUs, largest level first. Other CPUs belong to no group.
    pub fn new(
        cpus: Vec<CpuId>,
        ns: impl Fn(CpuId, CpuId) -> Option<f64>,
        groups: &[Vec<CpuSet>],
    ) -> CpuDistances {
        let n = cpus.len();
        let mut costs = vec![f64::NAN; n * n];
        for a in 0..n {
            for b in 0..a {
                let known_cost = ns(cpus[a], cpus[b]).filter(|ns| ns.is_finite() && *ns > 0.0);
                let cost = known_cost.unwrap_or(f64::NAN);
                costs[a * n + b] = cost;
                costs[b * n + a] = cost;
            }
        }
        let (filled, ends) = fill(&mut costs, n);
        for cpu in 0..n {
            costs[cpu * n + cpu] = 0.0;
        }
        let position = |cpu: CpuId| cpus.iter().position(|&known| known == cpu);
        let levels: Vec<Vec<Vec<usize>>> = groups
            .iter()
            .map(|level| {
                let level = level.iter().map(|set| set.iter().filter_map(position).collect::<Vec<usize>>());
                with_single_cpus(level.filter(|group| !group.is_empty()).collect::<Vec<_>>(), n)
            })
            .filter(|level| level.len() > 1 && level.len() < n)
            .collect();
        let near = (0..n).map(|cpu| nearest(&costs[cpu * n..(cpu + 1) * n], cpu)).collect();
        let group_of = levels
            .iter()
            .map(|level| {
                let mut index_of = vec![0; n];
                for (index, group) in level.iter().enumerate() {
                    group.iter().for_each(|&cpu| index_of[cpu] = index as u32);
                }
                index_of
            })
            .collect();
        CpuDistances { cpus, ns: costs, ends, levels, group_of, near, filled }
    }

    /// Distances of measured pairs. Cells without an interval get the scatter between the same groups.
    pub fn of_observations(
        cpus: Vec<CpuId>,
        observed: &Matrix<Option<Observation>>,
        groups: &[Vec<CpuSet>],
    ) -> CpuDistances {
        let row_of: BTreeMap<CpuId, usize> =
            observed.cpus().iter().enumerate().map(|(row, &cpu)| (cpu, row)).collect();
        let seen = |a: CpuId, b: CpuId| {
            let found = both_ways(observed, *row_of.get(&a)?, *row_of.get(&b)?)?;
            (found.value.is_finite() && found.value > 0.0).then_some(found)
        };
        let mut distances = CpuDistances::new(cpus, |a, b| Some(seen(a, b)?.value), groups);
        let n = distances.len();
        let depth = |distances: &CpuDistances, a: usize, b: usize| {
            (0..distances.levels.len())
                .rev()
                .find(|&level| distances.group_of(level, a) == distances.group_of(level, b))
        };
        // Groups of one level may have different distances, so cells are pooled by the groups of the next finer level.
        let block = |distances: &CpuDistances, a: usize, b: usize| {
            let depth = depth(distances, a, b);
            let level = depth.map_or(0, |depth| (depth + 1).min(distances.levels.len().saturating_sub(1)));
            let groups = [a, b].map(|cpu| distances.group_of.get(level).map_or(0, |group_of| group_of[cpu]));
            (depth, groups[0].max(groups[1]), groups[0].min(groups[1]))
        };
        let mut bare: BTreeMap<(Option<usize>, u32, u32), Vec<f64>> = BTreeMap::new();
        for a in 0..n {
            for b in 0..a {
                if seen(distances.cpus[a], distances.cpus[b]).is_some_and(|cell| cell.half_width <= 0.0) {
                    bare.entry(block(&distances, a, b)).or_default().push(distances.ns(a, b).ln());
                }
            }
        }
        let mut by_level: BTreeMap<Option<usize>, Vec<f64>> = BTreeMap::new();
        for ((level, ..), logs) in &bare {
            by_level.entry(*level).or_default().extend(logs);
        }
        let scatter_of = |logs: &[f64]| REACH * mad(logs, MadScale::Normal).unwrap_or(0.0);
        let scatter_by_level: BTreeMap<Option<usize>, f64> =
            by_level.iter().map(|(level, logs)| (*level, scatter_of(logs))).collect();
        let scatter_by_block: BTreeMap<(Option<usize>, u32, u32), f64> = bare
            .iter()
            .filter(|(_, logs)| logs.len() >= MIN_CELLS)
            .map(|(block, logs)| (*block, scatter_of(logs)))
            .collect();
        for a in 0..n {
            for b in 0..a {
                let Some(cell) = seen(distances.cpus[a], distances.cpus[b]) else { continue };
                let width = if cell.half_width > 0.0 {
                    cell.half_width
                } else {
                    let block = block(&distances, a, b);
                    let scatter = scatter_by_block.get(&block).or_else(|| scatter_by_level.get(&block.0));
                    scatter.copied().unwrap_or(0.0).max(MIN_WIDTH)
                };
                let width = width.min(MAX_WIDTH);
                let ends = [cell.value * (1.0 - width), cell.value * (1.0 + width)];
                distances.ends[a * n + b] = ends;
                distances.ends[b * n + a] = ends;
            }
        }
        distances
    }

    /// Widens the intervals of distances that are multiples of `step`. Each distance may be off by half a step.
    #[must_use]
    pub fn of_steps(mut self, step: f64) -> CpuDistances {
        for (ends, &ns) in self.ends.iter_mut().zip(&self.ns) {
            let least = (ns - step / 2.0).max(ns * (1.0 - MAX_WIDTH));
            *ends = [ends[0].min(least), ends[1].max(ns + step / 2.0)];
        }
        self
    }

    /// The levels that the system reports, from the largest to the smallest, without repetitions.
    pub fn groups_of(topology: &Topology) -> Vec<Vec<CpuSet>> {
        let mut groups: Vec<Vec<CpuSet>> = Vec::new();
        for level in topology.levels().into_iter().rev() {
            let of_level: Vec<CpuSet> =
                topology.level(level).iter().map(|domain| domain.cpus.clone()).collect();
            if !of_level.is_empty() && !groups.contains(&of_level) {
                groups.push(of_level);
            }
        }
        groups
    }

    /// The CPUs, in the order of their positions.
    pub fn cpus(&self) -> &[CpuId] {
        &self.cpus
    }

    /// Number of CPUs.
    pub fn len(&self) -> usize {
        self.cpus.len()
    }

    /// Whether there are no CPUs.
    pub fn is_empty(&self) -> bool {
        self.cpus.is_empty()
    }

    /// Cost of a pair, by position.
    #[inline]
    pub fn ns(&self, a: usize, b: usize) -> f64 {
        self.ns[a * self.cpus.len() + b]
    }

    /// Lower bound of the cost of a pair, by position.
    #[inline]
    pub fn low(&self, a: usize, b: usize) -> f64 {
        self.ends[a * self.cpus.len() + b][0]
    }

    /// Upper bound of the cost of a pair, by position.
    #[inline]
    pub fn high(&self, a: usize, b: usize) -> f64 {
        self.ends[a * self.cpus.len() + b][1]
    }

    /// Whether there are groups of CPUs among which threads can be spread.
    pub fn has_groups(&self) -> bool {
        !self.levels.is_empty()
    }

    pub(super) fn levels(&self) -> &[Vec<Vec<usize>>] {
        &self.levels
    }

    #[inline]
    pub(super) fn group_of(&self, level: usize, cpu: usize) -> u32 {
        self.group_of[level][cpu]
    }

    pub(super) fn near(&self, cpu: usize) -> &[u32] {
        &self.near[cpu]
    }

    /// Number of pairs with an assumed cost, because they were not measured.
    pub fn filled(&self) -> usize {
        self.filled
    }

    pub(super) fn compact(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.len()).collect();
        let keys: Vec<Vec<usize>> = order
            .iter()
            .map(|&cpu| {
                let of_level = |level: usize| self.levels[level][self.group_of(level, cpu) as usize][0];
                (0..self.levels.len()).map(of_level).collect()
            })
            .collect();
        order.sort_by(|&a, &b| keys[a].cmp(&keys[b]).then(a.cmp(&b)));
        order
    }

    /// CPU positions in an order whose neighbours share least: dealt from the groups of each level in turn.
    pub(super) fn spread(&self) -> Vec<usize> {
        let mut order = self.compact();
        for (index, level) in self.levels.iter().enumerate().rev() {
            let mut dealt = Vec::with_capacity(order.len());
            let mut hands: Vec<Vec<usize>> = vec![Vec::new(); level.len()];
            for &cpu in &order {
                hands[self.group_of(index, cpu) as usize].push(cpu);
            }
            hands.iter_mut().for_each(|hand| hand.reverse());
            while hands.iter().any(|hand| !hand.is_empty()) {
                dealt.extend(hands.iter_mut().filter_map(Vec::pop));
            }
            order = dealt;
        }
        order
    }
}

fn with_single_cpus(mut groups: Vec<Vec<usize>>, n: usize) -> Vec<Vec<usize>> {
    let mut is_grouped = vec![false; n];
    groups.iter().flatten().for_each(|&cpu| is_grouped[cpu] = true);
    if !groups.is_empty() {
        groups.extend((0..n).filter(|&cpu| !is_grouped[cpu]).map(|cpu| vec![cpu]));
    }
    groups
}

/// Sets unknown pairs to the larger median of their two rows, and counts them. Their intervals extend over all known
/// values. A row without values has the median of all rows.
fn fill(costs: &mut [f64], n: usize) -> (usize, Vec<[f64; 2]>) {
    let known = |row: &[f64]| row.iter().copied().filter(|cost| cost.is_finite()).collect::<Vec<f64>>();
    let rows: Vec<Option<f64>> = (0..n).map(|row| median(&known(&costs[row * n..(row + 1) * n]))).collect();
    let all = median(&rows.iter().flatten().copied().collect::<Vec<f64>>()).unwrap_or(1.0);
    let seen = known(costs);
    let full_range = if seen.is_empty() {
        [f64::MIN_POSITIVE, f64::INFINITY]
    } else {
        [seen.iter().copied().fold(f64::INFINITY, f64::min), seen.iter().copied().fold(0.0, f64::max)]
    };
    let mut ends: Vec<[f64; 2]> = costs.iter().map(|&cost| [cost, cost]).collect();
    let mut filled = 0;
    for a in 0..n {
        ends[a * n + a] = [0.0; 2];
        for b in 0..a {
            if costs[a * n + b].is_nan() {
                let guess = rows[a].unwrap_or(all).max(rows[b].unwrap_or(all));
                costs[a * n + b] = guess;
                costs[b * n + a] = guess;
                ends[a * n + b] = full_range;
                ends[b * n + a] = full_range;
                filled += 1;
            }
        }
    }
    (filled, ends)
}

fn nearest(row: &[f64], cpu: usize) -> Vec<u32> {
    let mut others: Vec<u32> = (0..row.len() as u32).filter(|&other| other as usize != cpu).collect();
    let nearer = |a: &u32, b: &u32| row[*a as usize].total_cmp(&row[*b as usize]);
    if others.len() > NEAR {
        others.select_nth_unstable_by(NEAR, nearer);
        others.truncate(NEAR);
    }
    others.sort_by(nearer);
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distances() -> CpuDistances {
        let cpus: Vec<CpuId> = (0..8).map(CpuId).collect();
        let groups = |lists: &[&str]| lists.iter().map(|list| list.parse().unwrap()).collect::<Vec<CpuSet>>();
        let levels = [groups(&["0,2,4,6", "1,3,5,7"]), groups(&["0,2", "4,6", "1,3", "5,7"])];
        CpuDistances::new(cpus, |a, b| (a.0 + b.0 != 3).then(|| f64::from(a.0 + b.0)), &levels)
    }

    #[test]
    fn compact_keeps_neighbours_together_and_spread_keeps_them_apart() {
        assert_eq!(distances().compact(), [0, 2, 4, 6, 1, 3, 5, 7]);
        assert_eq!(distances().spread(), [0, 1, 4, 5, 2, 3, 6, 7]);
    }

    #[test]
    fn unknown_pairs_are_guessed_and_counted() {
        let distances = distances();
        assert_eq!(distances.filled(), 2);
        assert!(distances.ns(0, 3) > 0.0 && distances.ns(1, 2) == distances.ns(2, 1));
        assert_eq!(distances.near(7)[0], 0);
        assert_eq!([distances.low(0, 3), distances.high(0, 3)], [1.0, 13.0], "an unknown pair could be any");
        assert_eq!([distances.low(0, 4), distances.high(0, 4)], [4.0, 4.0]);
    }

    #[test]
    fn cells_without_intervals_get_the_scatter_of_their_groups() {
        let cpus: Vec<CpuId> = (0..8).map(CpuId).collect();
        let halves = ["0-3", "4-7"].map(|list| list.parse().unwrap()).to_vec();
        let observed = Matrix::symmetric(cpus.clone(), |a, b| {
            let far = a / 4 != b / 4;
            let value = if far { 80.0 + 5.0 * ((a + b) % 4) as f64 } else { 20.0 };
            Some(if a + b == 1 { Observation { value, half_width: 0.1 } } else { Observation::bare(value) })
        });
        let distances = CpuDistances::of_observations(cpus, &observed, &[halves]);
        let width = |a, b| (distances.high(a, b) - distances.low(a, b)) / 2.0 / distances.ns(a, b);
        assert!((width(0, 1) - 0.1).abs() < 1e-9, "what has an interval keeps it");
        assert!((width(0, 2) - MIN_WIDTH).abs() < 1e-9, "alike cells are trusted most");
        assert!(width(0, 4) > 2.0 * MIN_WIDTH, "scattered ones less: {}", width(0, 4));
    }

    #[test]
    fn different_distances_of_groups_are_not_scatter() {
        let cpus: Vec<CpuId> = (0..32).map(CpuId).collect();
        let cores = (0..8).map(|core| (4 * core..4 * core + 4).map(CpuId).collect()).collect::<Vec<CpuSet>>();
        let observed = Matrix::symmetric(cpus.clone(), |a, b| {
            let (a, b) = (a / 4, b / 4);
            Some(Observation::bare(if a == b { 41.0 } else { 150.0 + 40.0 * ((a * 3 + b * 5) % 7) as f64 }))
        });
        let distances = CpuDistances::of_observations(cpus, &observed, &[cores]);
        let width = |a, b| (distances.high(a, b) - distances.low(a, b)) / 2.0 / distances.ns(a, b);
        assert!((width(0, 4) - MIN_WIDTH).abs() < 1e-9 && (width(0, 1) - MIN_WIDTH).abs() < 1e-9);
    }

    #[test]
    fn cpus_outside_every_group_stand_alone() {
        let cpus: Vec<CpuId> = (0..4).map(CpuId).collect();
        let distances = CpuDistances::new(cpus, |_, _| Some(1.0), &[vec!["0,1".parse().unwrap()]]);
        assert_eq!(distances.levels(), [[vec![0, 1], vec![2], vec![3]]]);
    }
}
