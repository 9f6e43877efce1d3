//! Two directions of a pair that differ: a round trip has none.

use super::finding::Doubt;
use super::view::View;
use crate::CpuId;
use crate::formats::Printed;
use crate::stats::median_of_sorted;

/// A file that keeps both directions repeats within 1 % where its pairs were measured well.
const TYPICAL: f64 = 0.02;
/// A single pair that differs by half is no noise.
const SINGLE: f64 = 0.5;
/// Pairs that are named.
const NAMED: usize = 8;

pub(super) fn check(view: &View<'_>, printed: Printed) -> Option<Doubt> {
    if view.matrix.is_symmetric() {
        return None;
    }
    // Two roundings of whole numbers are no difference.
    let rounding = if printed == Printed::WholeNumbers { 1.0 } else { 0.0 };
    let mut ratios: Vec<(f64, [CpuId; 2])> = view
        .pairs()
        .filter_map(|(row, column, _)| {
            let there = (*view.matrix.get(row, column)?)?;
            let back = (*view.matrix.get(column, row)?)?;
            let (high, low) = (there.max(back), there.min(back));
            let ratio = if high - low <= rounding || low <= 0.0 { 0.0 } else { (high / low).ln() };
            Some((ratio, view.pair(row, column)))
        })
        .collect();
    ratios.sort_by(|x, y| y.0.total_cmp(&x.0));
    let rising: Vec<f64> = ratios.iter().rev().map(|(ratio, _)| *ratio).collect();
    let typical = median_of_sorted(&rising)?;
    let worst = ratios.first()?.0;
    let single = worst > SINGLE.ln_1p();
    if typical < TYPICAL && !single {
        return None;
    }
    let least = if typical < TYPICAL { SINGLE.ln_1p() } else { typical };
    let cells = ratios.iter().take_while(|(ratio, _)| *ratio >= least).take(NAMED).map(|(_, pair)| *pair);
    Some(Doubt::Asymmetry { typical: typical.exp(), cells: cells.collect(), worst: worst.exp() })
}
