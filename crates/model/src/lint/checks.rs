//! Checks of a matrix: impossible or missing cells, differing directions of a pair, halves of a machine, odd CPUs,
//! copies, and threads that were not pinned. Pinned threads give neighbouring CPUs similar rows, and two CPUs near a
//! third are near each other. Neither holds for threads that the scheduler moves.

use super::View;
use super::finding::LintFinding;
use crate::CpuId;
use crate::formats::{Printed, Unit};
use crate::infer::{Structure, ValueShape};
use crate::stats::{MadScale, mad, mean, median, median_in_place, median_of_sorted, quantile_of_sorted};
use std::collections::{BTreeMap, BTreeSet};

/// Minimum latency of any pair of CPUs. The fastest published pair, two threads of one core, has 4.1 ns.
const FASTEST_NS: f64 = 2.0;
/// Maximum ratio of a pair to the median of its machine. Known files have at most 883 ÷ 683 ns, usually 208 ÷ 195 ns.
const FAR_BEYOND: f64 = 20.0;

pub(super) fn cells(view: &View<'_>, unit: Unit) -> Vec<LintFinding> {
    let mut doubts = Vec::new();
    let (mut zero, mut missing) = (Vec::new(), Vec::new());
    let n = view.len();
    for row in 0..n {
        for column in 0..row {
            let directions = [view.matrix.get(row, column), view.matrix.get(column, row)];
            let known: Vec<f64> = directions.into_iter().filter_map(|cell| *cell?).collect();
            if known.is_empty() {
                missing.push(view.pair(row, column));
            } else if known.iter().any(|ns| *ns <= 0.0) {
                zero.push(view.pair(row, column));
            }
        }
    }
    let pairs_where = |test: &dyn Fn(f64) -> bool| -> Vec<[CpuId; 2]> {
        view.pairs().filter(|(_, _, ns)| test(*ns)).map(|(a, b, _)| view.pair(a, b)).collect()
    };
    if !zero.is_empty() {
        doubts.push(LintFinding::Zero { cells: zero });
    }
    if unit == Unit::Ns {
        let cells = pairs_where(&|ns| ns < FASTEST_NS);
        if let (false, Some(&least)) = (cells.is_empty(), view.sorted.first()) {
            doubts.push(LintFinding::TooFast { cells, least });
        }
    }
    let cells = pairs_where(&|ns| ns > FAR_BEYOND * view.median);
    if let (false, Some(&most)) = (cells.is_empty(), view.sorted.last()) {
        doubts.push(LintFinding::TooSlow { cells, most, median: view.median });
    }
    if !missing.is_empty() {
        doubts.push(LintFinding::Missing { of: n * n.saturating_sub(1) / 2, cells: missing });
    }
    doubts
}

/// Minimum median difference of the two directions. In well measured files they agree within 1 %.
const MIN_TYPICAL_DIFFERENCE: f64 = 0.02;
const MIN_SINGLE_DIFFERENCE: f64 = 0.5;
const MAX_NAMED_PAIRS: usize = 8;

pub(super) fn directions(view: &View<'_>, printed: Printed) -> Option<LintFinding> {
    if view.matrix.is_symmetric() {
        return None;
    }
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
    let has_extreme_pair = worst > MIN_SINGLE_DIFFERENCE.ln_1p();
    if typical < MIN_TYPICAL_DIFFERENCE && !has_extreme_pair {
        return None;
    }
    let least = if typical < MIN_TYPICAL_DIFFERENCE { MIN_SINGLE_DIFFERENCE.ln_1p() } else { typical };
    let cells =
        ratios.iter().take_while(|(ratio, _)| *ratio >= least).take(MAX_NAMED_PAIRS).map(|(_, pair)| *pair);
    Some(LintFinding::Asymmetry { typical: typical.exp(), cells: cells.collect(), worst: worst.exp() })
}

const MIN_CPUS_OF_HALVES: usize = 16;
/// Quantile that represents each CPU. For a CPU of the clean half, two fifths of all others are in its own half.
const LOW_QUANTILE: f64 = 0.4;
/// Minimum gap between the halves, as a ratio: at most 1.09 in 86 files without a tainted home, 1.15 to 1.79 with one.
const MIN_GAP: f64 = 1.12;
const MAX_SIZE_DIFFERENCE: f64 = 0.05;
/// Maximum ratio of far pairs of the clean half to pairs across: 0.53 to 0.81 with tainted homes.
const MAX_CLEAN_RATIO: f64 = 0.85;
/// Ratio of far pairs of the tainted half to pairs across: 0.93 to 1.04 with tainted homes.
const TAINTED_RATIO: std::ops::RangeInclusive<f64> = 0.9..=1.1;
/// Maximum ratio between the nearest pairs of the halves. Beyond it, the halves are two kinds of cores.
const MAX_NEAREST_RATIO: f64 = 1.5;

pub(super) fn homes(view: &View<'_>) -> Option<LintFinding> {
    let n = view.len();
    if n < MIN_CPUS_OF_HALVES {
        return None;
    }
    let low: Vec<f64> =
        (0..n).map(|cpu| quantile_of_sorted(&view.row(cpu), LOW_QUANTILE).unwrap_or(f64::NAN)).collect();
    let mut order: Vec<usize> = (0..n).filter(|&cpu| low[cpu].is_finite()).collect();
    order.sort_by(|&a, &b| low[a].total_cmp(&low[b]));
    let half = order.len() as f64 / 2.0;
    let slack = MAX_SIZE_DIFFERENCE * order.len() as f64;
    let cuts = (half - slack).ceil() as usize..=(half + slack).floor() as usize;
    let gap = |cut: usize| low[order[cut]] / low[order[cut - 1]];
    let cut = cuts.filter(|&cut| cut > 0 && cut < order.len()).max_by(|&a, &b| gap(a).total_cmp(&gap(b)))?;
    if gap(cut) < MIN_GAP {
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
    let alike = a.max(b) <= MAX_NEAREST_RATIO * a.min(b);
    let found = far[0] <= MAX_CLEAN_RATIO * far[2] && TAINTED_RATIO.contains(&(far[1] / far[2])) && alike;
    let set = |cpus: &[usize]| cpus.iter().map(|&cpu| view.cpu(cpu)).collect();
    found.then(|| LintFinding::TaintedHome { clean: set(clean), tainted: set(tainted), far })
}

const MIN_CPUS_OF_ROWS: usize = 6;
/// Minimum ratio of the nearest pair of CPU 0 to others: 1.48 to 2.57 if disturbed by a main thread, else at most 1.31.
const MIN_FIRST_RATIO: f64 = 1.4;
/// Other nearest pairs are a reference only if the share `MIN_AGREEING` of them agrees within this share.
const AGREEMENT_WITHIN: f64 = 0.2;
const MIN_AGREEING: f64 = 0.7;
const MIN_ODD_RATIO: f64 = 1.35;
const MIN_DEVIATIONS: f64 = 6.0;
/// Maximum number of odd rows. More odd rows are a kind of core.
pub(super) const MAX_ODD: usize = 2;

/// Checks CPU 0 and its nearest CPU. Values that are multiples of a clock step must differ by more than 1.5 steps.
pub(super) fn first_cpu(view: &View<'_>, step: Option<f64>) -> Option<LintFinding> {
    let n = view.len();
    let first = view.matrix.position(CpuId(0))?;
    if n < MIN_CPUS_OF_ROWS {
        return None;
    }
    let (sibling, value) = view.nearest(first)?;
    let others: Vec<f64> = (0..n)
        .filter(|&cpu| cpu != first && cpu != sibling)
        .filter_map(|cpu| Some(view.nearest(cpu)?.1))
        .collect();
    let usual = median(&others)?;
    let agreeing = others.iter().filter(|ns| (*ns / usual - 1.0).abs() <= AGREEMENT_WITHIN).count();
    let exceeds_step = value - usual > 1.5 * step.unwrap_or(0.0);
    // A CPU near no other is alone in its core or cluster, which is no anomaly.
    let has_near_cpu = value < 0.75 * median(&view.row(first))?;
    let found = value >= MIN_FIRST_RATIO * usual
        && exceeds_step
        && has_near_cpu
        && agreeing as f64 >= MIN_AGREEING * others.len() as f64;
    found.then(|| LintFinding::FirstCpu { pair: view.pair(first, sibling), value, usual })
}

/// Finds CPUs whose rows are slower at each quartile, so that no single cell decides. If all others are in one group, a
/// small cluster next to a large one looks the same, so CPUs that may form a group are not reported.
pub(super) fn odd_cpus(view: &View<'_>, structure: Option<&Structure>) -> Option<LintFinding> {
    if view.len() < MIN_CPUS_OF_ROWS {
        return None;
    }
    let rows: Vec<Vec<f64>> = (0..view.len()).map(|cpu| view.row(cpu)).collect();
    let mut odd: Vec<usize> = (0..rows.len()).collect();
    for quarters in [1, 2, 3] {
        let quantile =
            |row: &Vec<f64>| quantile_of_sorted(row, f64::from(quarters) / 4.0).unwrap_or(f64::NAN);
        let quantiles: Vec<f64> = rows.iter().map(quantile).collect();
        let known: Vec<f64> = quantiles.iter().copied().filter(|ns| ns.is_finite()).collect();
        let (usual, deviation) = (median(&known)?, mad(&known, MadScale::Normal)?);
        // From core to core, the outer quartiles vary more than the median.
        let least = if quarters == 2 { MIN_DEVIATIONS * deviation } else { 0.0 };
        odd.retain(|&cpu| quantiles[cpu] >= MIN_ODD_RATIO * usual && quantiles[cpu] - usual >= least);
    }
    if odd.is_empty() || odd.len() > MAX_ODD {
        return None;
    }
    let is_odd = |cpu: usize| odd.contains(&cpu);
    let is_together = |a: usize, b: usize| {
        let [a, b] = [a, b].map(|position| view.cpu(position));
        structure.is_some_and(|known| {
            let is_hint = known.hints.iter().any(|hint| hint.cpus.contains(a) && hint.cpus.contains(b));
            is_hint || known.nearest_level(a, b).is_some()
        })
    };
    // Two CPUs without a value for their pair may be a group.
    let may_be_a_group = odd.len() > 1 && (is_together(odd[0], odd[1]) || view.both[odd[0]][odd[1]].is_nan());
    let (odd_pairs, others): (Vec<_>, Vec<_>) = view
        .pairs()
        .filter(|&(row, column, _)| !is_odd(row) || !is_odd(column))
        .partition(|&(row, column, _)| is_odd(row) || is_odd(column));
    if may_be_a_group && others.iter().all(|&(row, column, _)| is_together(row, column)) {
        return None;
    }
    let median_of = |pairs: &[(usize, usize, f64)]| {
        median_in_place(&mut pairs.iter().map(|pair| pair.2).collect::<Vec<f64>>())
    };
    let cpus = odd.iter().map(|&cpu| view.cpu(cpu)).collect();
    Some(LintFinding::OddCpu { cpus, value: median_of(&odd_pairs)?, usual: median_of(&others)? })
}

const MIN_CPUS_OF_A_MESH: usize = 6;
/// Maximum number of examined CPUs, because the comparison of rows takes cubic time.
const MAX_CPUS: usize = 128;
const SIMILAR_ROWS: usize = 3;
/// Minimum share of the variation that similar rows predict for pinned threads: at least 0.3 in published files.
const MIN_PREDICTED: f64 = 0.25;
/// Minimum spread without the most deviating twentieth: 2.2 % on a flat machine, at least 3.3 % with moving threads.
const MIN_SPREAD: f64 = 0.03;
const STRAY_SHARE: f64 = 0.05;
const FAST_RATIO: f64 = 0.78;
/// Minimum share of triples of CPUs with two fast pairs whose third pair is not fast.
const MIN_OPEN_SHARE: f64 = 0.5;
const MIN_FAST: usize = 3;

/// Finds threads that were not pinned. Moving threads leave no groups in `structure`, inferred from the same numbers.
pub(super) fn unpinned(view: &View<'_>, structure: Option<&Structure>) -> Option<LintFinding> {
    let n = view.len();
    // Equal cells have no structure that moving threads could hide.
    let is_recognized =
        |structure: &Structure| matches!(structure.shape, ValueShape::Grouped | ValueShape::Uniform { .. });
    if n < MIN_CPUS_OF_A_MESH || structure.is_some_and(is_recognized) {
        return None;
    }
    let stride = n.div_ceil(MAX_CPUS);
    let cpus: Vec<usize> = (0..n).step_by(stride).collect();
    let logs: Vec<Vec<f64>> =
        cpus.iter().map(|&a| cpus.iter().map(|&b| view.both[a][b].ln()).collect()).collect();
    let predicted = predicted(&logs)?;
    let mut deviations: Vec<f64> = view.sorted.iter().map(|ns| (ns / view.median).ln().powi(2)).collect();
    deviations.sort_by(f64::total_cmp);
    deviations.truncate(deviations.len() - (STRAY_SHARE * deviations.len() as f64).ceil() as usize);
    let spread = (deviations.iter().sum::<f64>() / deviations.len() as f64).sqrt();
    if predicted >= MIN_PREDICTED || spread < MIN_SPREAD {
        return None;
    }
    let fast = |a: usize, b: usize| view.both[a][b] < FAST_RATIO * view.median;
    let fast_pairs: Vec<(usize, usize)> =
        view.pairs().map(|(a, b, _)| (a, b)).filter(|&(a, b)| fast(a, b)).collect();
    let (mut open, mut triples, mut open_triples) = (Vec::new(), 0usize, 0usize);
    for &(a, b) in &fast_pairs {
        let (mut triples_of_pair, mut open_of_pair) = (0, 0);
        for c in (0..n).filter(|&c| c != a && c != b) {
            let fast_links = usize::from(fast(a, c)) + usize::from(fast(b, c));
            triples_of_pair += usize::from(fast_links > 0);
            open_of_pair += usize::from(fast_links == 1);
        }
        triples += triples_of_pair;
        open_triples += open_of_pair;
        if open_of_pair > 0 {
            open.push(view.pair(a, b));
        }
    }
    let no_cliques = fast_pairs.len() >= MIN_FAST && open_triples as f64 > MIN_OPEN_SHARE * triples as f64;
    let spread = structure.and_then(Structure::scatter).unwrap_or(spread);
    (no_cliques || fast_pairs.is_empty()).then_some(LintFinding::Unpinned { predicted, spread, open })
}

/// Share of the variation of the cells that rows of similar CPUs predict: 1 − Σ|x − predicted| ÷ Σ|x − median|.
fn predicted(logs: &[Vec<f64>]) -> Option<f64> {
    let n = logs.len();
    let similar: Vec<Vec<usize>> = (0..n).map(|cpu| by_similarity(logs, cpu)).collect();
    let guess = |from: usize, to: usize| {
        let others = similar[from].iter().filter(|&&other| other != to);
        let mut values: Vec<f64> =
            others.map(|&other| logs[other][to]).filter(|log| log.is_finite()).take(SIMILAR_ROWS).collect();
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
    let residual: f64 = cells.iter().map(|(value, guess)| (value - guess).abs()).sum();
    let all: f64 = cells.iter().map(|(value, _)| (value - middle).abs()).sum();
    (all > 0.0).then(|| 1.0 - residual / all)
}

fn by_similarity(logs: &[Vec<f64>], cpu: usize) -> Vec<usize> {
    let mut others: Vec<(f64, usize)> = (0..logs.len())
        .filter(|&other| other != cpu)
        .map(|other| {
            // The mean, because rows of another socket may differ in a few significant cells only.
            let differences: Vec<f64> = (0..logs.len())
                .filter(|&to| to != cpu && to != other)
                .map(|to| (logs[cpu][to] - logs[other][to]).abs())
                .filter(|difference| difference.is_finite())
                .collect();
            (mean(&differences).unwrap_or(f64::INFINITY), other)
        })
        .collect();
    others.sort_by(|x, y| x.0.total_cmp(&y.0));
    others.truncate(2 * SIMILAR_ROWS);
    others.into_iter().map(|(_, other)| other).collect()
}

/// Minimum number of adjacent cells of a copy, which must also have the size of half a column.
const MIN_COPIED: usize = 6;
/// Maximum number of cells with one value. More frequent values do not show their origin.
const MAX_ALIKE: usize = 16;
const CLOSE_RATIO: f64 = 1.05;
/// Maximum share of pairs of close values with equal digits. More coincidences cannot be distinguished from copies.
const MAX_TIED: f64 = 0.05;
/// Required logarithm of the odds, beyond that of the number of possible places and directions of a copy.
const MIN_LOG_ODDS: f64 = 8.0;
/// More directions are coincidence. A column copied to two others has three directions, each mirrored.
const MAX_DIRECTIONS: usize = 6;

/// Finds rows, columns or blocks of cells that are copies, digit by digit, of cells at one offset. The number of close
/// cells with the same digits determines the probability of coincidence. Each direction of a pair is a separate value.
pub(super) fn copied(view: &View<'_>) -> Option<LintFinding> {
    let n = view.len();
    let is_directed = !view.matrix.is_symmetric();
    let value = |row: usize, column: usize| match view.matrix.get(row, column) {
        Some(Some(ns)) if is_directed && row != column && *ns > 0.0 => *ns,
        _ if is_directed => f64::NAN,
        _ => view.both[row][column],
    };
    let cells_with_value = |columns: fn(usize, usize) -> std::ops::Range<usize>| {
        let cells = (0..n).flat_map(move |row| columns(row, n).map(move |column| [row, column]));
        cells.filter(|&[row, column]| value(row, column).is_finite())
    };
    let distinct_cells =
        if is_directed { cells_with_value(|_, n| 0..n) } else { cells_with_value(|row, _| 0..row) };
    let mut sorted: Vec<f64> = distinct_cells.map(|[row, column]| value(row, column)).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let pairs_among = |cells: usize| (cells * cells.saturating_sub(1) / 2) as f64;
    let tied: f64 = sorted.chunk_by(|a, b| a == b).map(|run| pairs_among(run.len())).sum();
    // Only close values are compared, because cells of one level coincide more often.
    let close = sorted
        .iter()
        .enumerate()
        .map(|(at, &value)| sorted[at + 1..].partition_point(|&other| other <= CLOSE_RATIO * value) as f64);
    let chance = tied / close.sum::<f64>();
    if tied == 0.0 || chance > MAX_TIED {
        return None;
    }
    let evidence = -chance.ln();
    let least = ((4.0 * (n as f64).ln() + MIN_LOG_ODDS) / evidence).ceil() as usize;
    let least = least.max(MIN_COPIED).max(n / 2);
    let mut cells_by_value: BTreeMap<u64, Vec<[usize; 2]>> = BTreeMap::new();
    for [row, column] in cells_with_value(|_, n| 0..n) {
        cells_by_value.entry(value(row, column).to_bits()).or_default().push([row, column]);
    }
    let mut by_shift: BTreeMap<[usize; 2], BTreeSet<[usize; 2]>> = BTreeMap::new();
    // Counts first, because storing the cells of all shifts of a large matrix would take a gigabyte.
    let mut hits = vec![0u32; 4 * n * n];
    for is_counting in [true, false] {
        for cells in cells_by_value.values().filter(|cells| cells.len() <= MAX_ALIKE) {
            for (at, &[row, column]) in cells.iter().enumerate() {
                // A cell and its mirror image are one value.
                for to in cells[at + 1..].iter().filter(|to| **to != [column, row]) {
                    let place = (to[0] + n - row) * 2 * n + (to[1] + n - column);
                    if is_counting {
                        hits[place] += 1;
                    } else if hits[place] as usize >= least {
                        let shift = [to[0].wrapping_sub(row), to[1].wrapping_sub(column)];
                        by_shift.entry(shift).or_default().insert([row, column]);
                    }
                }
            }
        }
    }
    let patches: Vec<([usize; 2], Vec<[usize; 2]>)> = by_shift
        .into_iter()
        .map(|(shift, cells)| (shift, largest_patch(cells)))
        .filter(|(_, cells)| cells.len() >= least)
        .collect();
    if patches.len() > MAX_DIRECTIONS {
        return None;
    }
    let ([down, right], cells) = patches.into_iter().max_by_key(|(_, cells)| cells.len())?;
    let copies: BTreeSet<([CpuId; 2], [CpuId; 2])> = cells
        .iter()
        .map(|&[row, column]| {
            let copy = view.pair(row.wrapping_add(down), column.wrapping_add(right));
            (copy, view.pair(row, column))
        })
        .collect();
    let (cells, of) = copies.into_iter().unzip();
    Some(LintFinding::Copied { cells, of })
}

/// The largest connected patch of cells, by row and column. Gaps of one cell (the diagonal) do not separate a patch.
fn largest_patch(mut cells: BTreeSet<[usize; 2]>) -> Vec<[usize; 2]> {
    let mut largest = Vec::new();
    while let Some(first) = cells.pop_first() {
        let mut patch = vec![first];
        let mut at = 0;
        while let Some(&[row, column]) = patch.get(at) {
            at += 1;
            for reach in [1, 2] {
                let after = [[row + reach, column], [row, column + reach]];
                let before = [[row.wrapping_sub(reach), column], [row, column.wrapping_sub(reach)]];
                patch.extend(after.into_iter().chain(before).filter(|cell| cells.remove(cell)));
            }
        }
        if patch.len() > largest.len() {
            largest = patch;
        }
    }
    largest.sort_unstable();
    largest
}
