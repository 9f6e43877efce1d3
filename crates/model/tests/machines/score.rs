//! What was found against what is true.

use coretalk_model::CpuSet;
use coretalk_model::infer::Structure;

/// A level of a machine.
#[derive(Debug, Clone)]
pub struct TrueLevel {
    pub name: &'static str,
    pub groups: Vec<CpuSet>,
    /// Whether the latencies show it clearly, so that it has to be found.
    pub clear: bool,
}

/// What is true of a machine.
#[derive(Debug, Clone, Default)]
pub struct Truth {
    pub levels: Vec<TrueLevel>,
    /// Whether no level at all may be found.
    pub without_structure: bool,
}

/// What was found against what is true.
#[derive(Debug, Clone, Default)]
pub struct Judgement {
    /// Clear levels, and those found exactly.
    pub clear: usize,
    pub found: usize,
    pub missed: Vec<&'static str>,
    /// Groups that cut across a true one.
    pub wrong: usize,
    /// More levels than the machine has plus one, or one where there is none.
    pub too_many: bool,
}

impl Judgement {
    pub fn passed(&self) -> bool {
        self.found == self.clear && self.wrong == 0 && !self.too_many
    }
}

pub fn levels_of(structure: &Structure) -> Vec<Vec<CpuSet>> {
    structure.levels.iter().map(|level| level.groups.clone()).collect()
}

pub fn judge(levels: &[Vec<CpuSet>], truth: &Truth) -> Judgement {
    let mut judgement = Judgement::default();
    for level in truth.levels.iter().filter(|level| level.clear) {
        judgement.clear += 1;
        if levels.iter().any(|groups| same(groups, &level.groups)) {
            judgement.found += 1;
        } else {
            judgement.missed.push(level.name);
        }
    }
    let cuts = |group: &CpuSet, whole: &CpuSet| {
        let common = group.intersection(whole).len();
        common > 0 && common < group.len() && common < whole.len()
    };
    let mut every = levels.iter().flatten();
    judgement.wrong = every
        .by_ref()
        .filter(|group| truth.levels.iter().any(|level| level.groups.iter().any(|whole| cuts(group, whole))))
        .count();
    let most = if truth.without_structure { 0 } else { truth.levels.len() + 1 };
    judgement.too_many = levels.len() > most;
    judgement
}

fn same(a: &[CpuSet], b: &[CpuSet]) -> bool {
    a.len() == b.len() && a.iter().all(|group| b.contains(group))
}

/// Sums over many machines.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    pub machines: usize,
    pub passed: usize,
    pub clear: usize,
    pub found: usize,
    pub wrong: usize,
    pub invented: usize,
}

impl Tally {
    pub fn add(&mut self, judgement: &Judgement) {
        self.machines += 1;
        self.passed += usize::from(judgement.passed());
        self.clear += judgement.clear;
        self.found += judgement.found;
        self.wrong += usize::from(judgement.wrong > 0);
        self.invented += usize::from(judgement.too_many);
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:>4}/{:<4} passed  {:>5}/{:<5} levels  {:>3} wrong  {:>3} invented",
            self.passed, self.machines, self.found, self.clear, self.wrong, self.invented
        )
    }
}
