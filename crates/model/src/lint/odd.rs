//! CPUs that do not fit: CPU 0 with its nearest CPU, where the tool itself lived, and single CPUs slower to everybody.

use super::finding::Doubt;
use super::view::View;
use crate::CpuId;
use crate::stats::{MadScale, mad, median};

const FEWEST_CPUS: usize = 6;
/// CPU 0 and its nearest, against the nearest pairs of others: 1.48 to 2.57 where the tool's main thread disturbed it,
/// at most 1.31 otherwise, on a core of another kind.
const FIRST: f64 = 1.4;
/// Others' nearest pairs have to agree within this, in so many of a hundred, to be a measure.
const AGREEMENT: f64 = 0.2;
const AGREEING: f64 = 0.7;
/// A row this much slower than the median row …
const ODD: f64 = 1.35;
/// … and so many deviations of all rows away is odd …
const DEVIATIONS: f64 = 6.0;
/// … where no more than so many are: more are a kind of core.
const MOST_ODD: usize = 2;

/// CPU 0 with its nearest CPU. Values on a lattice are not taken apart by less than one and a half steps.
pub(super) fn first(view: &View<'_>, step: Option<f64>) -> Option<Doubt> {
    let n = view.len();
    let first = view.matrix.position(CpuId(0))?;
    if n < FEWEST_CPUS {
        return None;
    }
    let (sibling, value) = view.nearest(first)?;
    let others: Vec<f64> = (0..n)
        .filter(|&cpu| cpu != first && cpu != sibling)
        .filter_map(|cpu| Some(view.nearest(cpu)?.1))
        .collect();
    let usual = median(&others)?;
    let agreeing = others.iter().filter(|ns| (*ns / usual - 1.0).abs() <= AGREEMENT).count();
    let clear = value - usual > 1.5 * step.unwrap_or(0.0);
    // A CPU without a near one of its own is alone in its core or cluster, and no anomaly.
    let together = value < 0.75 * median(&view.row(first))?;
    let found =
        value >= FIRST * usual && clear && together && agreeing as f64 >= AGREEING * others.len() as f64;
    found.then(|| Doubt::FirstCpu { pair: view.pair(first, sibling), value, usual })
}

/// CPUs slower to everybody.
pub(super) fn rows(view: &View<'_>) -> Option<Doubt> {
    if view.len() < FEWEST_CPUS {
        return None;
    }
    let rows = view.row_medians();
    let known: Vec<f64> = rows.iter().copied().filter(|ns| ns.is_finite()).collect();
    let (usual, deviation) = (median(&known)?, mad(&known, MadScale::Normal)?);
    let odd: Vec<usize> = (0..rows.len())
        .filter(|&cpu| rows[cpu] >= ODD * usual && rows[cpu] - usual >= DEVIATIONS * deviation)
        .collect();
    if odd.is_empty() || odd.len() > MOST_ODD {
        return None;
    }
    let value = median(&odd.iter().map(|&cpu| rows[cpu]).collect::<Vec<_>>())?;
    Some(Doubt::OddCpu { cpus: odd.iter().map(|&cpu| view.cpu(cpu)).collect(), value, usual })
}
