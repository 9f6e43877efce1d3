//! Levels: sets of solid groups (clearly faster inside than to the outside, see `tree`), one set per level.
//! [`Partition`]: the disjoint groups of CPUs of a level.

use super::distances::Distances;
use super::tree::{Node, Separation, Tree};
use crate::CpuSet;
use crate::stats::elementary::ln;
use crate::stats::median_in_place;
use std::collections::BTreeSet;

/// Upper limit of a gap (a difference of logarithms, here ln 4.5) in the weight of a set. Without it, steps from
/// threads to sockets would outweigh all other groups.
const GAP_CAP: f64 = 1.5;
const MIN_COVERAGE: f64 = 0.25;
/// Threads of the fast cores of a hybrid machine reach this gap; random pairs do not.
const PARTIAL_RATIO: f64 = 1.5;
/// Minimum gap if at most as many CPUs are left out as the smallest group has. One slow CPU or cell may explain them.
const REST_RATIO: f64 = 1.25;
/// Minimum number of groups or pairs of a level for `REST_RATIO`. The nearest pairs of noise are fewer.
const MIN_GROUPS: usize = 3;
const MIN_PAIRS: usize = 8;
const MIN_SEPARATION: f64 = 0.98;

/// Selects levels from the solid groups, by descending weight. Returns the finest level first.
pub(super) fn choose(solid: &[Node], tree: &Tree, distances: &Distances) -> Vec<Partition> {
    let n = distances.len();
    let solid_groups = SolidGroups::new(solid, tree, n);
    let mut remaining: Vec<Node> = solid.to_vec();
    let mut levels: Vec<Partition> = Vec::new();
    let mut separation = Separation::new();
    let mut refused: BTreeSet<Vec<usize>> = BTreeSet::new();
    'next: loop {
        for candidate in candidates(&remaining) {
            let key: Vec<usize> = candidate.iter().map(|node| node.start * n + node.end).collect();
            if refused.contains(&key) {
                continue;
            }
            let partition = partition(&candidate, tree, n);
            let nests = levels.iter().all(|level| partition.is_within(level) || level.is_within(&partition));
            // A candidate that does not nest now will never nest. The same holds for coverage and separation.
            if !nests
                || !covers_enough(&candidate, &partition, distances)
                || !solid_groups.separates(&partition, distances, &mut separation)
            {
                refused.insert(key);
                continue;
            }
            remaining.retain(|node| {
                !candidate.iter().any(|taken| (taken.start, taken.end) == (node.start, node.end))
            });
            levels.push(partition);
            continue 'next;
        }
        break;
    }
    levels.sort_by_key(Partition::pairs);
    levels
}

fn partition(nodes: &[Node], tree: &Tree, n: usize) -> Partition {
    Partition::new(n, nodes.iter().map(|node| tree.members(node).to_vec()).collect())
}

fn covers_enough(nodes: &[Node], partition: &Partition, distances: &Distances) -> bool {
    if partition.covers_all() {
        return true;
    }
    let mut gaps: Vec<f64> = nodes.iter().map(|node| node.gap).collect();
    let least = if is_nearly_whole(partition, distances) { REST_RATIO } else { PARTIAL_RATIO };
    let stands_out = median_in_place(&mut gaps).is_some_and(|gap| gap >= ln(least));
    let cpus: usize = partition.covered();
    stands_out && cpus as f64 >= MIN_COVERAGE * partition.cpus() as f64
}

fn is_nearly_whole(partition: &Partition, distances: &Distances) -> bool {
    let is_doubtful = |cpu: usize| distances.doubtful.iter().flatten().any(|&doubtful| doubtful == cpu);
    let rest =
        (0..partition.cpus()).filter(|&cpu| partition.group_of(cpu) == ALONE && !is_doubtful(cpu)).count();
    let smallest = partition.groups().iter().map(Vec::len).min().unwrap_or(0);
    rest <= smallest && (partition.groups().len() >= MIN_GROUPS || partition.pairs() >= MIN_PAIRS)
}

/// Sets of solid groups that may form one level, by descending weight: all groups of one size, all groups that exist at
/// one height, and the latter with all other groups of the same sizes. Of nested groups in a set, the larger remains.
fn candidates(remaining: &[Node]) -> Vec<Vec<Node>> {
    let mut sets: Vec<Vec<Node>> = Vec::new();
    let sizes: BTreeSet<usize> = remaining.iter().map(Node::len).collect();
    for &size in &sizes {
        sets.push(remaining.iter().filter(|node| node.len() == size).copied().collect());
    }
    for reference in remaining {
        let height = reference.height;
        let existing: Vec<Node> = remaining
            .iter()
            .filter(|node| node.height <= height && height < node.height + node.gap)
            .copied()
            .collect();
        let sizes: BTreeSet<usize> = existing.iter().map(Node::len).collect();
        let mut with_equals = existing.clone();
        with_equals.extend(remaining.iter().filter(|node| {
            sizes.contains(&node.len())
                && !existing.iter().any(|known| known.start == node.start && known.end == node.end)
        }));
        sets.push(existing);
        sets.push(with_equals);
    }
    let mut sets: Vec<Vec<Node>> = sets.into_iter().map(outermost).collect();
    sets.sort_by_cached_key(|set| set.iter().map(|node| (node.start, node.end)).collect::<Vec<_>>());
    sets.dedup_by_key(|set| set.iter().map(|node| (node.start, node.end)).collect::<Vec<_>>());
    // A set with cores in one place and clusters in another mixes two levels: noise placed its height between them.
    let mixes = |set: &[Node]| {
        let sizes: BTreeSet<usize> = set.iter().map(Node::len).collect();
        set.iter().any(|node| sizes.range(..node.len()).any(|&size| is_tiled(node, size, remaining)))
    };
    let weight = |set: &[Node]| set.iter().map(|node| node.len() as f64 * node.gap.min(GAP_CAP)).sum::<f64>();
    let mut weighed: Vec<(bool, f64, Vec<Node>)> =
        sets.into_iter().map(|set| (mixes(&set), weight(&set), set)).collect();
    weighed.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    weighed.into_iter().map(|(_, _, set)| set).collect()
}

fn is_tiled(node: &Node, size: usize, solid: &[Node]) -> bool {
    let inside = solid
        .iter()
        .filter(|other| other.len() == size && node.start <= other.start && other.end <= node.end);
    inside.count() * size == node.len()
}

fn outermost(mut nodes: Vec<Node>) -> Vec<Node> {
    nodes.sort_by_key(|node| (node.start, std::cmp::Reverse(node.end)));
    let mut end = 0;
    nodes.retain(|node| {
        let outer = node.end > end;
        end = end.max(node.end);
        outer
    });
    nodes
}

struct SolidGroups {
    holding: Vec<Vec<(u32, u32)>>,
}

impl SolidGroups {
    fn new(solid: &[Node], tree: &Tree, n: usize) -> SolidGroups {
        let mut holding = vec![Vec::new(); n];
        for node in solid {
            for &cpu in tree.members(node) {
                holding[cpu].push((node.len() as u32, node.start as u32));
            }
        }
        SolidGroups { holding }
    }

    fn smallest_with(&self, a: usize, b: usize) -> Option<u32> {
        let theirs = &self.holding[b];
        self.holding[a].iter().find(|group| theirs.contains(group)).map(|group| group.0)
    }

    fn separates(&self, partition: &Partition, distances: &Distances, separation: &mut Separation) -> bool {
        separation.clear();
        let n = distances.len();
        for high in 0..n {
            for low in 0..high {
                if !partition.joins(high, low) {
                    if partition.group_of(high) != ALONE || partition.group_of(low) != ALONE {
                        separation.outside(distances.bin(high, low));
                    }
                    continue;
                }
                let size = partition.groups()[partition.group_of(high) as usize].len() as u32;
                if self.smallest_with(high, low).is_none_or(|smallest| smallest >= size) {
                    separation.inside(distances.bin(high, low));
                }
            }
        }
        separation.share().is_some_and(|share| share >= MIN_SEPARATION)
    }
}

pub(super) const ALONE: u32 = u32::MAX;

/// Disjoint groups of two or more CPUs, ordered by their lowest position, and CPUs in no group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Partition {
    groups: Vec<Vec<usize>>,
    group_of: Vec<u32>,
    /// Pairs without a value of their own, formed because no other partners were left.
    pub by_elimination: Vec<[usize; 2]>,
    /// CPUs whose groups were removed because the evidence is contradictory.
    pub open: Vec<usize>,
}

impl Partition {
    pub fn new(cpus: usize, mut groups: Vec<Vec<usize>>) -> Partition {
        groups.retain(|group| group.len() > 1);
        for group in &mut groups {
            group.sort_unstable();
        }
        groups.sort_unstable();
        let mut group_of = vec![ALONE; cpus];
        for (index, group) in groups.iter().enumerate() {
            for &cpu in group {
                group_of[cpu] = index as u32;
            }
        }
        Partition { groups, group_of, by_elimination: Vec::new(), open: Vec::new() }
    }

    pub fn groups(&self) -> &[Vec<usize>] {
        &self.groups
    }

    pub fn labelled(&self, distances: &Distances) -> Vec<CpuSet> {
        let label = |group: &Vec<usize>| group.iter().map(|&cpu| distances.cpus[cpu]).collect();
        let mut groups: Vec<CpuSet> = self.groups.iter().map(label).collect();
        groups.sort_by_key(CpuSet::first);
        groups
    }

    pub fn group_of(&self, cpu: usize) -> u32 {
        self.group_of[cpu]
    }

    pub fn joins(&self, a: usize, b: usize) -> bool {
        self.group_of[a] != ALONE && self.group_of[a] == self.group_of[b]
    }

    pub fn cpus(&self) -> usize {
        self.group_of.len()
    }

    pub fn covered(&self) -> usize {
        self.groups.iter().map(Vec::len).sum()
    }

    pub fn pairs(&self) -> usize {
        self.groups.iter().map(|group| group.len() * (group.len() - 1) / 2).sum()
    }

    /// The size of the groups, if all have the same size and contain every CPU, as in a whole machine.
    pub fn regular(&self) -> Option<usize> {
        let size = self.groups.first()?.len();
        (self.covers_all() && self.groups.iter().all(|group| group.len() == size)).then_some(size)
    }

    pub fn covers_all(&self) -> bool {
        self.covered() == self.group_of.len()
    }

    pub fn is_within(&self, coarser: &Partition) -> bool {
        self.groups.iter().all(|group| {
            let home = coarser.group_of[group[0]];
            group.iter().all(|&cpu| coarser.group_of[cpu] == home)
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::CpuId;
    use crate::infer::tests::groups;
    use crate::infer::{Structure, infer};
    use crate::stats::Key;
    use crate::tests::observed;

    fn with_wrong(
        cpus: u32,
        size: usize,
        ns: [f64; 2],
        wrong: impl Fn(usize, usize, f64) -> f64,
    ) -> Structure {
        let seen = observed(cpus, |row, column| {
            let noise = 1.0 + 0.01 * Key::from_words(&[24]).normal((row * 64 + column) as u64);
            noise * wrong(column, row, ns[usize::from(row / size != column / size)])
        });
        infer(&seen).unwrap()
    }

    #[test]
    fn cpus_whose_pairs_contradict_each_other_have_no_group_and_other_groups_are_kept() {
        let slow_pairs = [[(0, 1), (2, 3)], [(0, 2), (1, 3)], [(0, 3), (1, 2)]];
        let cases = slow_pairs.map(|slow| [[21.3, 33.7], [20.0, 30.0]].map(|ns| (ns, slow)));
        for (ns, slow) in cases.concat() {
            let slowed = |low: usize, high: usize, right_ns: f64| {
                if slow.contains(&(low, high)) { ns[1] } else { right_ns }
            };
            let structure = with_wrong(12, 4, ns, slowed);
            let case = format!("{ns:?} {slow:?}: {structure:?}");
            assert_eq!(groups(&structure), [["4-7", "8-11"]], "{case}");
            let level = &structure.levels[0];
            assert_eq!((level.open.to_string(), level.single.len()), ("0-3".to_owned(), 0), "{case}");
            assert_eq!((structure.contradictory, structure.unfit().count()), (4, 0), "{case}");
        }
        let ring = |low: usize, high: usize, right_ns: f64| {
            if [(4, 6), (5, 7), (8, 9), (10, 11)].contains(&(low, high)) { 30.0 } else { right_ns }
        };
        let structure = with_wrong(16, 4, [20.0, 30.0], ring);
        assert_eq!(groups(&structure), [["0-3", "12-15"]], "{structure:?}");
        assert_eq!((structure.levels[0].open.to_string(), structure.unfit().count()), ("4-11".to_owned(), 0));
    }

    #[test]
    fn a_slow_pair_or_cpu_hides_no_level_with_a_latency_ratio_of_1_5() {
        for cpus in [8, 12, 16] {
            let slow =
                |low: usize, high: usize, right_ns: f64| if (low, high) == (0, 1) { 30.0 } else { right_ns };
            let structure = with_wrong(cpus, 2, [20.0, 30.0], slow);
            let [level] = &structure.levels[..] else { panic!("{cpus}: {structure:?}") };
            assert_eq!(level.groups.len(), cpus as usize / 2 - 1, "{structure:?}");
            assert_eq!(level.single.to_string(), "0,1", "{structure:?}");
            assert_eq!(structure.unfit().count(), 0, "{structure:?}");
        }
        let slow_ones: [fn(f64) -> f64; 3] = [|_| 90.0, |ns| ns + 20.0, |ns| 3.0 * ns];
        let machines = [8, 12, 16]
            .into_iter()
            .flat_map(|cpus| slow_ones.into_iter().enumerate().map(move |(kind, slow)| (cpus, kind, slow)));
        for (cpus, kind, slow) in machines {
            let of_cpu = |low: usize, high: usize, right_ns: f64| {
                if [low, high].contains(&5) { slow(right_ns) } else { right_ns }
            };
            let structure = with_wrong(cpus, 4, [20.0, 30.0], of_cpu);
            let case = format!("{cpus} {kind}: {structure:?}");
            let [level] = &structure.levels[..] else { panic!("{case}") };
            assert_eq!(groups(&structure)[0][..2], ["0-3", "4,6,7"], "{case}");
            assert_eq!((level.groups.len(), level.single.len()), (cpus as usize / 4, 1), "{case}");
            assert_eq!((level.single.first(), structure.unfit().count()), (Some(CpuId(5)), 0), "{case}");
            // A CPU equally far from all others may be far away; otherwise its row identifies its group.
            let (lone_group, cpu) = structure.all_but_one().next().unwrap();
            let group = lone_group.slower_group.as_ref().map(ToString::to_string);
            assert_eq!((cpu, group), (CpuId(5), (kind > 0).then(|| "4,6,7".to_owned())), "{case}");
        }
    }
}
