//! [`Site`]: the CPUs that threads may be placed on, and what talking costs between them.

use crate::stats::median;
use crate::{CpuId, CpuSet, Level, Topology};

/// The CPUs that threads may be placed on, and what talking costs between them.
#[derive(Debug, Clone)]
pub struct Site {
    cpus: Vec<CpuId>,
    /// Row by row.
    ns: Vec<f64>,
    /// Groups from the largest to the smallest, each level dividing the CPUs that it covers; positions.
    levels: Vec<Vec<Vec<usize>>>,
    /// The group of each CPU, by level.
    group_of: Vec<Vec<u32>>,
    /// For each CPU the others, nearest first, as many as are worth a look.
    near: Vec<Vec<u32>>,
    filled: usize,
}

/// CPUs near another that are looked at for a thread that talks there.
const NEAR: usize = 16;

impl Site {
    /// A site of CPUs. `ns` gives what a pair costs; pairs of which nothing is known cost the median of their rows, and
    /// are counted. `groups` are sets of CPUs by level, from the largest to the smallest.
    pub fn new(cpus: Vec<CpuId>, ns: impl Fn(CpuId, CpuId) -> Option<f64>, groups: &[Vec<CpuSet>]) -> Site {
        let n = cpus.len();
        let mut costs = vec![f64::NAN; n * n];
        for a in 0..n {
            for b in 0..a {
                let both = ns(cpus[a], cpus[b]).filter(|ns| ns.is_finite() && *ns > 0.0);
                let cost = both.unwrap_or(f64::NAN);
                costs[a * n + b] = cost;
                costs[b * n + a] = cost;
            }
        }
        let filled = fill(&mut costs, n);
        for cpu in 0..n {
            costs[cpu * n + cpu] = 0.0;
        }
        let position = |cpu: CpuId| cpus.iter().position(|&known| known == cpu);
        let levels: Vec<Vec<Vec<usize>>> = groups
            .iter()
            .map(|level| {
                let level = level.iter().map(|set| set.iter().filter_map(position).collect::<Vec<usize>>());
                level.filter(|group| !group.is_empty()).collect::<Vec<_>>()
            })
            .filter(|level| level.len() > 1 && level.iter().map(Vec::len).sum::<usize>() == n)
            .collect();
        let near = (0..n).map(|cpu| nearest(&costs[cpu * n..(cpu + 1) * n], cpu)).collect();
        let group_of = levels
            .iter()
            .map(|level| {
                let mut of = vec![0; n];
                for (index, group) in level.iter().enumerate() {
                    group.iter().for_each(|&cpu| of[cpu] = index as u32);
                }
                of
            })
            .collect();
        Site { cpus, ns: costs, levels, group_of, near, filled }
    }

    /// The levels that a system reports, from the largest to the smallest, each once.
    pub fn groups_of(topology: &Topology) -> Vec<Vec<CpuSet>> {
        let mut groups: Vec<Vec<CpuSet>> = Vec::new();
        for level in Level::ALL.into_iter().rev() {
            let of_level: Vec<CpuSet> =
                topology.level(level).iter().map(|domain| domain.cpus.clone()).collect();
            if !of_level.is_empty() && !groups.contains(&of_level) {
                groups.push(of_level);
            }
        }
        groups
    }

    /// The CPUs, by position.
    pub fn cpus(&self) -> &[CpuId] {
        &self.cpus
    }

    /// Number of CPUs.
    pub fn len(&self) -> usize {
        self.cpus.len()
    }

    /// Whether there is no CPU.
    pub fn is_empty(&self) -> bool {
        self.cpus.is_empty()
    }

    /// What a pair costs, by position.
    #[inline]
    pub fn ns(&self, a: usize, b: usize) -> f64 {
        self.ns[a * self.cpus.len() + b]
    }

    /// Groups by level, largest first, by position.
    pub(super) fn levels(&self) -> &[Vec<Vec<usize>>] {
        &self.levels
    }

    /// The group of a CPU in a level.
    #[inline]
    pub(super) fn group_of(&self, level: usize, cpu: usize) -> u32 {
        self.group_of[level][cpu]
    }

    /// CPUs near another, nearest first.
    pub(super) fn near(&self, cpu: usize) -> &[u32] {
        &self.near[cpu]
    }

    /// Pairs whose cost is a guess.
    pub fn filled(&self) -> usize {
        self.filled
    }

    /// The positions in the order of the structure: neighbours in the list share most.
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

    /// The positions one group after another, so that neighbours in the list share least: of a level's groups each gives
    /// one CPU before any gives a second.
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

/// Gives unknown pairs the median of what the two CPUs show, or of everything; counts them.
fn fill(costs: &mut [f64], n: usize) -> usize {
    let known = |row: &[f64]| row.iter().copied().filter(|cost| cost.is_finite()).collect::<Vec<f64>>();
    let rows: Vec<Option<f64>> = (0..n).map(|row| median(&known(&costs[row * n..(row + 1) * n]))).collect();
    let all = median(&rows.iter().flatten().copied().collect::<Vec<f64>>()).unwrap_or(1.0);
    let mut filled = 0;
    for a in 0..n {
        for b in 0..a {
            if costs[a * n + b].is_nan() {
                let guess = rows[a].unwrap_or(all).max(rows[b].unwrap_or(all));
                costs[a * n + b] = guess;
                costs[b * n + a] = guess;
                filled += 1;
            }
        }
    }
    filled
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

    fn site() -> Site {
        let cpus: Vec<CpuId> = (0..8).map(CpuId).collect();
        let groups = |lists: &[&str]| lists.iter().map(|list| list.parse().unwrap()).collect::<Vec<CpuSet>>();
        let levels = [groups(&["0,2,4,6", "1,3,5,7"]), groups(&["0,2", "4,6", "1,3", "5,7"])];
        Site::new(cpus, |a, b| (a.0 + b.0 != 3).then(|| f64::from(a.0 + b.0)), &levels)
    }

    #[test]
    fn compact_keeps_neighbours_together_and_spread_keeps_them_apart() {
        assert_eq!(site().compact(), [0, 2, 4, 6, 1, 3, 5, 7]);
        assert_eq!(site().spread(), [0, 1, 4, 5, 2, 3, 6, 7]);
    }

    #[test]
    fn unknown_pairs_are_guessed_and_counted() {
        let site = site();
        assert_eq!(site.filled(), 2);
        assert!(site.ns(0, 3) > 0.0 && site.ns(1, 2) == site.ns(2, 1));
        assert_eq!(site.near(7)[0], 0);
    }
}
