//! Cells that cannot be: 0, faster than any hardware, far beyond all others, or not there.

use super::finding::Doubt;
use super::view::View;
use crate::CpuId;
use crate::formats::Unit;

/// No two CPUs hand a line over in less: the fastest published pair, two threads of one core, has 4.1 ns.
const FASTEST_NS: f64 = 2.0;
/// In one machine the slowest pair has less than a hundred times the median: 883 against 683 ns on the slowest file
/// known, 208 against 195 on the usual one.
const FAR_BEYOND: f64 = 20.0;

pub(super) fn check(view: &View<'_>, unit: Unit) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    let (mut zero, mut missing) = (Vec::new(), Vec::new());
    let n = view.len();
    for row in 0..n {
        for column in 0..row {
            let both = [view.matrix.get(row, column), view.matrix.get(column, row)];
            let known: Vec<f64> = both.into_iter().filter_map(|cell| *cell?).collect();
            if known.is_empty() {
                missing.push(view.pair(row, column));
            } else if known.iter().any(|ns| *ns <= 0.0) {
                zero.push(view.pair(row, column));
            }
        }
    }
    let chosen = |test: &dyn Fn(f64) -> bool| -> Vec<[CpuId; 2]> {
        view.pairs().filter(|(_, _, ns)| test(*ns)).map(|(a, b, _)| view.pair(a, b)).collect()
    };
    if !zero.is_empty() {
        doubts.push(Doubt::Zero { cells: zero });
    }
    if unit == Unit::Ns {
        let cells = chosen(&|ns| ns < FASTEST_NS);
        if let (false, Some(&least)) = (cells.is_empty(), view.sorted.first()) {
            doubts.push(Doubt::TooFast { cells, least });
        }
    }
    let cells = chosen(&|ns| ns > FAR_BEYOND * view.median);
    if let (false, Some(&most)) = (cells.is_empty(), view.sorted.last()) {
        doubts.push(Doubt::TooSlow { cells, most, median: view.median });
    }
    if !missing.is_empty() {
        doubts.push(Doubt::Missing { of: n * n.saturating_sub(1) / 2, cells: missing });
    }
    doubts
}
