//! [`Partition`]: disjoint groups of CPUs that together are one level.

/// Belongs to no group.
pub(super) const ALONE: u32 = u32::MAX;

/// Disjoint groups of two or more CPUs, by their lowest position; CPUs outside all of them stand alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Partition {
    groups: Vec<Vec<usize>>,
    of: Vec<u32>,
    /// Pairs that were put together because nobody else was left, and whose own cell is missing.
    pub by_elimination: Vec<[usize; 2]>,
}

impl Partition {
    pub fn new(cpus: usize, mut groups: Vec<Vec<usize>>) -> Partition {
        groups.retain(|group| group.len() > 1);
        for group in &mut groups {
            group.sort_unstable();
        }
        groups.sort_unstable();
        let mut of = vec![ALONE; cpus];
        for (index, group) in groups.iter().enumerate() {
            for &cpu in group {
                of[cpu] = index as u32;
            }
        }
        Partition { groups, of, by_elimination: Vec::new() }
    }

    pub fn groups(&self) -> &[Vec<usize>] {
        &self.groups
    }

    /// The group of a CPU; [`ALONE`] for one without.
    pub fn of(&self, cpu: usize) -> u32 {
        self.of[cpu]
    }

    /// Whether two CPUs stand in one group.
    pub fn joins(&self, a: usize, b: usize) -> bool {
        self.of[a] != ALONE && self.of[a] == self.of[b]
    }

    /// CPUs, in groups or not.
    pub fn cpus(&self) -> usize {
        self.of.len()
    }

    /// CPUs in groups.
    pub fn covered(&self) -> usize {
        self.groups.iter().map(Vec::len).sum()
    }

    /// Pairs inside groups.
    pub fn pairs(&self) -> usize {
        self.groups.iter().map(|group| group.len() * (group.len() - 1) / 2).sum()
    }

    /// The size of all groups, where that is one and every CPU is in one: a whole machine, not what is left of one.
    pub fn regular(&self) -> Option<usize> {
        let size = self.groups.first()?.len();
        (self.covers_all() && self.groups.iter().all(|group| group.len() == size)).then_some(size)
    }

    /// Whether every CPU is in a group.
    pub fn covers_all(&self) -> bool {
        self.covered() == self.of.len()
    }

    /// Whether every group of this one lies inside a group of the other, or apart from all of them.
    pub fn is_within(&self, coarser: &Partition) -> bool {
        self.groups.iter().all(|group| {
            let home = coarser.of[group[0]];
            group.iter().all(|&cpu| coarser.of[cpu] == home)
        })
    }
}
