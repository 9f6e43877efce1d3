//! Threads that were not pinned: the cell says which names the threads had, not where they were.
//!
//! Where threads stay, a CPU's row resembles that of its neighbours, and whoever is near to two CPUs finds those near
//! to each other. Where the scheduler moves them, neither holds.

use super::View;
use super::finding::Doubt;
use crate::infer::{Shape, Structure};
use crate::stats::{mean, median, median_in_place};

const FEWEST_CPUS: usize = 6;
/// Beyond, so many CPUs are looked at: rows are compared in the third power of their number.
const MOST_CPUS: usize = 128;
/// Rows of so many similar CPUs predict a cell.
const SIMILAR: usize = 3;
/// Share of the variation that similar rows predict where CPUs mean something: 0.3 and more in published files with
/// twelve CPUs or more whose pairs are no cliques.
const PREDICTED: f64 = 0.25;
/// Values that differ less, without the twentieth that differs most, are one level with its noise: 2.2 % on a flat
/// machine of six cores, 3.3 % and more where threads wandered.
const SPREAD: f64 = 0.03;
const STRAYS: f64 = 0.05;
/// A pair is fast below this share of the median.
const FAST: f64 = 0.78;
/// Of the triples of CPUs with two fast pairs, the share whose third pair is not fast.
const OPEN: f64 = 0.5;
const FEWEST_FAST: usize = 3;

/// `structure` is what the same numbers show of groups: threads that wander leave none.
pub(super) fn check(view: &View<'_>, structure: Option<&Structure>) -> Option<Doubt> {
    let n = view.len();
    // Cells that are all alike have no structure that wandering could hide.
    let is_told = |structure: &Structure| matches!(structure.shape, Shape::Grouped | Shape::Uniform { .. });
    if n < FEWEST_CPUS || structure.is_some_and(is_told) {
        return None;
    }
    let stride = n.div_ceil(MOST_CPUS);
    let cpus: Vec<usize> = (0..n).step_by(stride).collect();
    let logs: Vec<Vec<f64>> =
        cpus.iter().map(|&a| cpus.iter().map(|&b| view.both[a][b].ln()).collect()).collect();
    let predicted = predicted(&logs)?;
    let mut deviations: Vec<f64> = view.sorted.iter().map(|ns| (ns / view.median).ln().powi(2)).collect();
    deviations.sort_by(f64::total_cmp);
    deviations.truncate(deviations.len() - (STRAYS * deviations.len() as f64).ceil() as usize);
    let spread = (deviations.iter().sum::<f64>() / deviations.len() as f64).sqrt();
    if predicted >= PREDICTED || spread < SPREAD {
        return None;
    }
    let fast = |a: usize, b: usize| view.both[a][b] < FAST * view.median;
    let fast_pairs: Vec<(usize, usize)> =
        view.pairs().map(|(a, b, _)| (a, b)).filter(|&(a, b)| fast(a, b)).collect();
    let (mut open, mut triples, mut opened) = (Vec::new(), 0usize, 0usize);
    for &(a, b) in &fast_pairs {
        let (mut here, mut broken) = (0, 0);
        for c in (0..n).filter(|&c| c != a && c != b) {
            let through = usize::from(fast(a, c)) + usize::from(fast(b, c));
            here += usize::from(through > 0);
            broken += usize::from(through == 1);
        }
        triples += here;
        opened += broken;
        if broken > 0 {
            open.push(view.pair(a, b));
        }
    }
    let no_cliques = fast_pairs.len() >= FEWEST_FAST && opened as f64 > OPEN * triples as f64;
    // What `topology` says of the same values.
    let spread = structure.and_then(Structure::scatter).unwrap_or(spread);
    (no_cliques || fast_pairs.is_empty()).then_some(Doubt::Unpinned { predicted, spread, open })
}

/// How much of the variation of the cells the rows of similar CPUs predict: 1 − Σ|x − predicted| ÷ Σ|x − median|.
fn predicted(logs: &[Vec<f64>]) -> Option<f64> {
    let n = logs.len();
    let similar: Vec<Vec<usize>> = (0..n).map(|cpu| by_similarity(logs, cpu)).collect();
    let guess = |from: usize, to: usize| {
        let others = similar[from].iter().filter(|&&other| other != to);
        let mut values: Vec<f64> =
            others.map(|&other| logs[other][to]).filter(|log| log.is_finite()).take(SIMILAR).collect();
        median_in_place(&mut values)
    };
    let cells: Vec<(f64, f64)> = (0..n)
        .flat_map(|row| (0..row).map(move |column| (row, column)))
        .filter_map(|(row, column)| {
            let value = logs[row][column];
            let guess = f64::midpoint(guess(row, column)?, guess(column, row)?);
            value.is_finite().then_some((value, guess))
        })
        .collect();
    let middle = median(&cells.iter().map(|(value, _)| *value).collect::<Vec<_>>())?;
    let left: f64 = cells.iter().map(|(value, guess)| (value - guess).abs()).sum();
    let all: f64 = cells.iter().map(|(value, _)| (value - middle).abs()).sum();
    (all > 0.0).then(|| 1.0 - left / all)
}

/// The other CPUs, those with the most similar rows first.
fn by_similarity(logs: &[Vec<f64>], cpu: usize) -> Vec<usize> {
    let mut others: Vec<(f64, usize)> = (0..logs.len())
        .filter(|&other| other != cpu)
        .map(|other| {
            // The mean: rows of another socket may coincide in most cells and differ in the telling ones.
            let apart: Vec<f64> = (0..logs.len())
                .filter(|&to| to != cpu && to != other)
                .map(|to| (logs[cpu][to] - logs[other][to]).abs())
                .filter(|difference| difference.is_finite())
                .collect();
            (mean(&apart).unwrap_or(f64::INFINITY), other)
        })
        .collect();
    others.sort_by(|x, y| x.0.total_cmp(&y.0));
    others.truncate(2 * SIMILAR);
    others.into_iter().map(|(_, other)| other).collect()
}
