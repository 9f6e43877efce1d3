//! Published matrices made worse: what an algorithm that knows the files by heart would fail at.

use super::published::Published;
use super::score::{TrueLevel, Truth};
use coretalk_model::infer::Observation;
use coretalk_model::stats::Key;
use coretalk_model::{CpuId, CpuSet, Matrix};

pub const KINDS: [&str; 8] =
    ["renumbered", "noise", "outliers", "missing", "removed", "offsets-5", "offsets-15", "coarse"];

/// One disturbed copy; `None` where the kind leaves nothing to test.
pub fn disturb(file: &Published, kind: &str, key: Key) -> Option<Published> {
    let n = file.observed.len();
    let cell = |a: usize, b: usize| -> Option<f64> {
        let seen = [file.observed.get(a, b), file.observed.get(b, a)]
            .map(|cell| cell.copied().flatten().map(|seen| seen.value));
        match seen {
            [Some(a), Some(b)] => Some((a + b) / 2.0),
            [one, other] => one.or(other),
        }
    };
    let mut order: Vec<usize> = (0..n).collect();
    key.with(1).shuffle(&mut order);
    if kind == "removed" {
        order.truncate((n * 3).div_ceil(4));
        order.sort_unstable();
    }
    let of_pair = |a: usize, b: usize| (a.max(b) * n + a.min(b)) as u64;
    let mut values: Vec<f64> =
        (0..n).flat_map(|a| (0..a).map(move |b| (a, b))).filter_map(|(a, b)| cell(a, b)).collect();
    values.sort_by(f64::total_cmp);
    // A clock whose step is a third of the fastest pairs.
    let step = values[values.len() / 50].max(1e-3) / 3.0;
    let change = |a: usize, b: usize, value: f64| -> Option<f64> {
        let at = of_pair(a, b);
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
        // What is left of a level may be too little to show: fewer than three groups of several CPUs, or less than
        // a quarter of the CPUs.
        let covered: usize = groups.iter().map(CpuSet::len).sum();
        let shows = groups.len() >= 2 && covered * 4 >= order.len();
        if groups.first().is_some_and(|first| first.len() < order.len()) {
            truth.levels.push(TrueLevel {
                name: level.name,
                groups,
                clear: level.clear && (kind != "removed" || shows),
            });
        }
    }
    (order.len() >= 3).then(|| Published { name: file.name.clone(), observed, truth })
}
