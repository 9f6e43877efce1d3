//! Published matrices with the known structure of their machines; disturbed copies that detect overfitting to these
//! files; and the scoring of inferred levels.

use coretalk_model::formats::read_matrices;
use coretalk_model::infer::{Observation, Structure};
use coretalk_model::stats::Key;
use coretalk_model::{CpuId, CpuSet, Matrix};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

pub struct Published {
    pub name: String,
    pub observed: Matrix<Option<Observation>>,
    pub truth: Truth,
}

/// Every published matrix; `None`, with a message, if the data is absent.
pub fn all(test: &str) -> Option<Vec<Published>> {
    let default = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("CORETALK_TEST_DATA").map_or_else(default, PathBuf::from);
    if !folder.is_dir() {
        let folder = folder.display();
        println!("skipped: {test}: no test data in {folder} (CORETALK_TEST_DATA names another folder)");
        return None;
    }
    let truth: Value = serde_json::from_slice(&fs::read(folder.join("ground-truth.json")).unwrap()).unwrap();
    let read_file = |(file, truth): (&String, &Value)| {
        let imported = read_matrices(&fs::read(folder.join(file)).unwrap()).unwrap().remove(0);
        let observed = imported.matrix.map(|cell| cell.map(Observation::bare));
        let truth = read_truth(truth, observed.cpus());
        Published { name: file.trim_start_matches("latency-matrices/").to_owned(), observed, truth }
    };
    Some(truth.as_object().unwrap().iter().map(read_file).collect())
}

/// The ground truth identifies CPUs by their row in the file, not by its labels.
fn read_truth(value: &Value, cpus: &[CpuId]) -> Truth {
    let mut levels = Vec::new();
    for name in ["smt_pairs", "smt_groups", "clusters", "nodes", "sockets"] {
        let signal = if name == "smt_pairs" { "smt" } else { name };
        let Some(groups) = value[name].as_array() else { continue };
        let group = |group: &Value| -> CpuSet {
            group.as_array().unwrap().iter().map(|row| cpus[row.as_u64().unwrap() as usize]).collect()
        };
        let mut groups: Vec<CpuSet> = groups.iter().map(group).collect();
        groups.retain(|group| group.len() > 1);
        // A single group of all CPUs, or no group of two, is no level.
        if groups.first().is_some_and(|first| first.len() < cpus.len()) {
            levels.push(TrueLevel { groups, clear: value["signal"][signal] == "clear" });
        }
    }
    let without_structure = value["signal"].as_object().is_none_or(|signal| signal.is_empty());
    Truth { levels, without_structure }
}

/// The mean of both directions, or the only one.
pub fn both_ways(observed: &Matrix<Option<Observation>>, a: usize, b: usize) -> Option<f64> {
    let value =
        |row, column| observed.get(row, column).copied().flatten().map(|observation| observation.value);
    match (value(a, b), value(b, a)) {
        (Some(there), Some(back)) => Some((there + back) / 2.0),
        (one, other) => one.or(other),
    }
}

pub const DISTURBANCES: [&str; 8] =
    ["renumbered", "noise", "outliers", "missing", "removed", "offsets-5", "offsets-15", "coarse"];

/// One disturbed copy; `None` if the kind leaves nothing to test.
pub fn disturb(file: &Published, kind: &str, key: Key) -> Option<Published> {
    let n = file.observed.len();
    let cell = |a: usize, b: usize| both_ways(&file.observed, a, b);
    let mut order: Vec<usize> = (0..n).collect();
    key.with(1).shuffle(&mut order);
    if kind == "removed" {
        order.truncate((n * 3).div_ceil(4));
        order.sort_unstable();
    }
    let counter_of_pair = |a: usize, b: usize| (a.max(b) * n + a.min(b)) as u64;
    let mut values: Vec<f64> =
        (0..n).flat_map(|a| (0..a).map(move |b| (a, b))).filter_map(|(a, b)| cell(a, b)).collect();
    values.sort_by(f64::total_cmp);
    // The step of a coarse clock: a third of the latency of the fastest pairs.
    let step = values[values.len() / 50].max(1e-3) / 3.0;
    let change = |a: usize, b: usize, value: f64| -> Option<f64> {
        let at = counter_of_pair(a, b);
        let noise = key.with(2).normal(at);
        Some(match kind {
            "noise" => value * (0.04 * noise).exp(),
            "outliers" if key.with(3).uniform(at) < 0.01 => value * (1.3 + 2.7 * key.with(4).uniform(at)),
            "missing" if key.with(5).uniform(at) < 0.02 => return None,
            "offsets-5" | "offsets-15" => {
                let size = if kind == "offsets-5" { 0.05 } else { 0.15 };
                let offset = |cpu: usize| key.with(6).uniform(cpu as u64) * size;
                value * (1.0 + offset(a)) * (1.0 + offset(b))
            }
            "coarse" => ((value / step).round().max(1.0)) * step,
            _ => value,
        })
    };
    let cpus: Vec<CpuId> = (0..order.len() as u32).map(CpuId).collect();
    let observed = Matrix::symmetric(cpus, |row, column| {
        let (a, b) = (order[row], order[column]);
        cell(a, b).and_then(|value| change(a, b, value)).map(Observation::bare)
    });
    let position = |row: usize| order.iter().position(|&old| old == row);
    let renamed = |set: &CpuSet| -> CpuSet {
        let rows = set.iter().filter_map(|cpu| file.observed.position(cpu)).filter_map(position);
        rows.map(|row| CpuId(row as u32)).collect()
    };
    let mut truth = Truth { levels: Vec::new(), without_structure: file.truth.without_structure };
    for level in &file.truth.levels {
        let mut groups: Vec<CpuSet> = level.groups.iter().map(renamed).collect();
        groups.retain(|group| group.len() > 1);
        // What remains of a level may be too small to detect: fewer than two groups of several CPUs, or less than a
        // quarter of the CPUs.
        let covered: usize = groups.iter().map(CpuSet::len).sum();
        let is_detectable = kind != "removed" || groups.len() >= 2 && covered * 4 >= order.len();
        if groups.first().is_some_and(|first| first.len() < order.len()) {
            truth.levels.push(TrueLevel { groups, clear: level.clear && is_detectable });
        }
    }
    (order.len() >= 3).then(|| Published { name: file.name.clone(), observed, truth })
}

#[derive(Debug, Clone)]
pub struct TrueLevel {
    pub groups: Vec<CpuSet>,
    /// Whether the latencies show it clearly, so that it must be found.
    pub clear: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Truth {
    pub levels: Vec<TrueLevel>,
    /// Whether no level may be found.
    pub without_structure: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Judgement {
    /// Number of clear levels; `found` is the number of those found exactly.
    pub clear: usize,
    pub found: usize,
    /// Number of groups that partially overlap a true group.
    pub wrong: usize,
    /// More than one surplus level, or any level on a machine without structure.
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
        judgement.found += usize::from(levels.iter().any(|groups| same(groups, &level.groups)));
    }
    let cuts = |group: &CpuSet, whole: &CpuSet| {
        let common = group.intersection(whole).len();
        common > 0 && common < group.len() && common < whole.len()
    };
    let is_wrong = |group: &&CpuSet| {
        let mut wholes = truth.levels.iter().flat_map(|level| &level.groups);
        wholes.any(|whole| cuts(group, whole))
    };
    judgement.wrong = levels.iter().flatten().filter(is_wrong).count();
    let max_levels = if truth.without_structure { 0 } else { truth.levels.len() + 1 };
    judgement.too_many = levels.len() > max_levels;
    judgement
}

fn same(a: &[CpuSet], b: &[CpuSet]) -> bool {
    a.len() == b.len() && a.iter().all(|group| b.contains(group))
}

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

impl std::fmt::Display for Judgement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let verdict = if self.passed() { "ok" } else { "FAILED" };
        write!(f, "{verdict:6} {}/{} clear, {} wrong", self.found, self.clear, self.wrong)
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Tally { machines, passed, clear, found, wrong, invented } = self;
        write!(f, "{passed:>4}/{machines:<4} passed  {found:>5}/{clear:<5} levels  ")?;
        write!(f, "{wrong:>3} wrong  {invented:>3} invented")
    }
}
