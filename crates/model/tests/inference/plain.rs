//! Plain average linkage as a baseline: the tree is cut wherever the heights of successive merges differ by 18 %.

use super::published::both_ways;
use coretalk_model::infer::Observation;
use coretalk_model::{CpuSet, Matrix};

/// Each distinct cut is a level, finest first.
pub fn levels(observed: &Matrix<Option<Observation>>) -> Vec<Vec<CpuSet>> {
    let n = observed.len();
    let value = |a: usize, b: usize| both_ways(observed, a, b);
    let mut all: Vec<f64> = (0..n)
        .flat_map(|a| (0..a).map(move |b| (a, b)))
        .filter_map(|(a, b)| value(a, b))
        .filter(|&v| v > 0.0)
        .collect();
    all.sort_by(f64::total_cmp);
    let (Some(&least), Some(&middle)) = (all.first(), all.get(all.len() / 2)) else { return Vec::new() };
    // Missing cells get the median of the matrix.
    let mut mean: Vec<Vec<f64>> = (0..n)
        .map(|a| (0..n).map(|b| value(a, b).unwrap_or(middle).max(least / 2.0).ln()).collect())
        .collect();
    let mut clusters: Vec<Vec<usize>> = (0..n).map(|cpu| vec![cpu]).collect();
    let mut alive: Vec<usize> = (0..n).collect();
    let mut nearest: Vec<usize> = vec![0; n];
    let find = |mean: &[Vec<f64>], alive: &[usize], a: usize| {
        *alive.iter().filter(|&&b| b != a).min_by(|&&x, &&y| mean[a][x].total_cmp(&mean[a][y])).unwrap_or(&a)
    };
    for &a in &alive {
        nearest[a] = find(&mean, &alive, a);
    }
    let mut joins = Vec::new();
    while alive.len() > 1 {
        let &a = alive.iter().min_by(|&&x, &&y| mean[x][nearest[x]].total_cmp(&mean[y][nearest[y]])).unwrap();
        let b = nearest[a];
        let height = mean[a][b];
        let gone = std::mem::take(&mut clusters[b]);
        let (size_a, size_b) = (clusters[a].len() as f64, gone.len() as f64);
        clusters[a].extend(gone);
        alive.retain(|&row| row != b);
        for &other in alive.iter().filter(|&&other| other != a) {
            let joined = (size_a * mean[a][other] + size_b * mean[b][other]) / (size_a + size_b);
            mean[a][other] = joined;
            mean[other][a] = joined;
        }
        for at in 0..alive.len() {
            let row = alive[at];
            let is_stale =
                row == a || [a, b].contains(&nearest[row]) || mean[row][a] < mean[row][nearest[row]];
            if alive.len() > 1 && is_stale {
                nearest[row] = find(&mean, &alive, row);
            }
        }
        joins.push((height, clusters[a].clone()));
    }
    joins.sort_by(|a, b| a.0.total_cmp(&b.0));
    let cpus = observed.cpus();
    let is_cut = |at: &usize| joins[*at].0 - joins[at - 1].0 >= 1.18f64.ln();
    let level = |at: usize| -> Vec<CpuSet> {
        // The maximal clusters between the two heights.
        let below: Vec<&Vec<usize>> = joins[..at].iter().map(|join| &join.1).collect();
        let is_outer = |group: &&&Vec<usize>| {
            !below.iter().any(|larger| larger.len() > group.len() && larger.contains(&group[0]))
        };
        let outer = below.iter().filter(is_outer);
        outer.map(|group| group.iter().map(|&cpu| cpus[cpu]).collect()).collect()
    };
    (1..joins.len()).filter(is_cut).map(level).collect()
}
