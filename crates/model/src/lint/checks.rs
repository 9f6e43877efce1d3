//! Checks of cells that cannot be: 0, faster than any hardware, far beyond all others, or not there; of two directions of a
//! pair that differ, where a round trip has none; of halves of a machine; and of odd CPUs.

use super::View;
use super::finding::Doubt;
use crate::CpuId;
use crate::formats::{Printed, Unit};
use crate::stats::{MadScale, mad, median, median_of_sorted, quantile_of_sorted};

/// No two CPUs hand a line over in less: the fastest published pair, two threads of one core, has 4.1 ns.
const FASTEST_NS: f64 = 2.0;
/// In one machine the slowest pair has less than a hundred times the median: 883 against 683 ns on the slowest file
/// known, 208 against 195 on the usual one.
const FAR_BEYOND: f64 = 20.0;

pub(super) fn cells(view: &View<'_>, unit: Unit) -> Vec<Doubt> {
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

/// A file that keeps both directions repeats within 1 % where its pairs were measured well.
const TYPICAL: f64 = 0.02;
/// A single pair that differs by half is no noise.
const SINGLE: f64 = 0.5;
/// Pairs that are named.
const NAMED: usize = 8;

pub(super) fn directions(view: &View<'_>, printed: Printed) -> Option<Doubt> {
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

/// Fewer CPUs do not make two halves with structure inside.
const FEWEST_CPUS_OF_HALVES: usize = 16;
/// What is seen of each CPU: in the half that is clean, two fifths of all others are near enough.
const LOW: f64 = 0.4;
/// Halves are separated by a gap in that. Files without taint have at most 1.09 at equal halves (86 files), tainted
/// ones 1.15 to 1.79.
const GAP: f64 = 1.12;
/// Sizes of the halves may differ by so much of all CPUs.
const UNEQUAL: f64 = 0.05;
/// Far pairs of the clean half, against pairs across: 0.53 to 0.81 where homes are tainted.
const CLEAN: f64 = 0.85;
/// Far pairs of the tainted half, against pairs across: 0.93 to 1.04.
const AS_ACROSS: std::ops::RangeInclusive<f64> = 0.9..=1.1;
/// Cores of two kinds are slow for another reason: their nearest CPUs differ too.
const ALIKE: f64 = 1.5;

pub(super) fn homes(view: &View<'_>) -> Option<Doubt> {
    let n = view.len();
    if n < FEWEST_CPUS_OF_HALVES {
        return None;
    }
    let low: Vec<f64> =
        (0..n).map(|cpu| quantile_of_sorted(&view.row(cpu), LOW).unwrap_or(f64::NAN)).collect();
    let mut order: Vec<usize> = (0..n).filter(|&cpu| low[cpu].is_finite()).collect();
    order.sort_by(|&a, &b| low[a].total_cmp(&low[b]));
    let half = order.len() as f64 / 2.0;
    let slack = UNEQUAL * order.len() as f64;
    let cuts = (half - slack).ceil() as usize..=(half + slack).floor() as usize;
    let gap = |cut: usize| low[order[cut]] / low[order[cut - 1]];
    let cut = cuts.filter(|&cut| cut > 0 && cut < order.len()).max_by(|&a, &b| gap(a).total_cmp(&gap(b)))?;
    if gap(cut) < GAP {
        return None;
    }
    let (clean, tainted) = order.split_at(cut);
    let inside = |cpus: &[usize]| {
        let mut values: Vec<f64> = cpus
            .iter()
            .enumerate()
            .flat_map(|(index, &a)| cpus[..index].iter().map(move |&b| view.both[a][b]))
            .filter(|ns| ns.is_finite())
            .collect();
        values.sort_unstable_by(f64::total_cmp);
        quantile_of_sorted(&values, 0.75)
    };
    let across: Vec<f64> = clean
        .iter()
        .flat_map(|&a| tainted.iter().map(move |&b| view.both[a][b]))
        .filter(|ns| ns.is_finite())
        .collect();
    let far = [inside(clean)?, inside(tainted)?, median(&across)?];
    let near = |cpus: &[usize]| {
        let nearest: Vec<f64> = cpus.iter().filter_map(|&cpu| Some(view.nearest(cpu)?.1)).collect();
        median(&nearest)
    };
    let (a, b) = (near(clean)?, near(tainted)?);
    let alike = a.max(b) <= ALIKE * a.min(b);
    let found = far[0] <= CLEAN * far[2] && AS_ACROSS.contains(&(far[1] / far[2])) && alike;
    let set = |cpus: &[usize]| cpus.iter().map(|&cpu| view.cpu(cpu)).collect();
    found.then(|| Doubt::TaintedHome { clean: set(clean), tainted: set(tainted), far })
}

const FEWEST_CPUS_OF_ROWS: usize = 6;
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
pub(super) fn first_cpu(view: &View<'_>, step: Option<f64>) -> Option<Doubt> {
    let n = view.len();
    let first = view.matrix.position(CpuId(0))?;
    if n < FEWEST_CPUS_OF_ROWS {
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
pub(super) fn odd_cpus(view: &View<'_>) -> Option<Doubt> {
    if view.len() < FEWEST_CPUS_OF_ROWS {
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
