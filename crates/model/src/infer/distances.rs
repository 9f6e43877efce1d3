use super::contradictions::{COLUMNS_COMPARED, SetAside, set_value, too_far, too_near};
use super::{InferError, Observation};
use crate::stats::elementary::ln;
use crate::stats::{median, median_in_place};
use crate::time::is_measurable;
use crate::{CpuId, Matrix};
use std::borrow::Borrow;

/// Upper limit of a difference between rows, so that one disturbed cell does not hide their similarity.
const DIFFERENCE_CAP: f64 = 0.4;
const ALIKE: usize = 3;
/// Width of the bins for ranking: half a thousandth, below any interval. Values in one bin are ties.
const BIN: f64 = 0.0005;

/// Logarithms of the round trips in a square, symmetric, complete matrix. Ratios of latencies are differences here.
#[derive(Clone)]
pub(super) struct Distances {
    /// The CPUs with a row in the matrix. Positions refer to this list.
    pub cpus: Vec<CpuId>,
    pub left_out: Vec<CpuId>,
    /// Row by row; the diagonal is 0 and never used.
    log: Vec<f64>,
    bins: Vec<u16>,
    /// Half widths of the intervals as shares; empty if no cell has an interval.
    widths: Vec<f32>,
    missing: Vec<(u32, u32)>,
    /// Sorted pairs (low, high) whose value contradicts the rows of both CPUs, with its logarithm: see [`too_near`] and
    /// [`too_far`]. `log` holds a value derived from other rows.
    set_aside: Vec<SetAside>,
    /// Number of contradictory pairs, if there are too many to be set aside.
    pub contradictory: usize,
    /// Contradictory pairs (low, high) that are still used, because it is unknown which of them are wrong.
    pub doubtful: Vec<[usize; 2]>,
    /// The logarithm that replaces a 0, if any value is 0.
    floor: Option<f64>,
}

impl Distances {
    /// Converts values of a clock with this step; 0 if unknown.
    pub fn new(matrix: impl Borrow<Matrix<Option<Observation>>>, step: f64) -> Result<Distances, InferError> {
        let observed = matrix.borrow();
        refuse_impossible(observed)?;
        let n = observed.len();
        if n < 3 {
            return Err(InferError::TooFew { cpus: n });
        }
        let mut counts = vec![0; n];
        for (row, column, _) in observed.iter().filter(|(row, column, cell)| row != column && cell.is_some())
        {
            counts[row] += 1;
            counts[column] += 1;
        }
        let (kept, empty): (Vec<usize>, Vec<usize>) = (0..n).partition(|&row| counts[row] > 0);
        if kept.len() < 3 {
            return Err(InferError::TooFew { cpus: kept.len() });
        }
        let label = |rows: &[usize]| rows.iter().map(|&row| observed.cpus()[row]).collect();
        let labels = [label(&kept), label(&empty)];
        let distances = Distances::of_rows(matrix, step, &kept, labels);
        let all = n * (n - 1) / 2;
        let known = kept.len() * (kept.len() - 1) / 2 - distances.missing.len();
        if known * 2 < all { Err(InferError::TooSparse { known, of: all }) } else { Ok(distances) }
    }

    fn of_rows(
        matrix: impl Borrow<Matrix<Option<Observation>>>,
        step: f64,
        rows: &[usize],
        [cpus, left_out]: [Vec<CpuId>; 2],
    ) -> Distances {
        let (n, observed) = (rows.len(), matrix.borrow());
        let (mut smallest, mut any_width, mut any_zero) = (f64::INFINITY, false, false);
        for (_, _, seen) in observed.iter().filter(|(row, column, _)| row != column) {
            if let Some(seen) = seen {
                any_width |= seen.half_width > 0.0;
                any_zero |= seen.value == 0.0;
                smallest = if seen.value > 0.0 { smallest.min(seen.value) } else { smallest };
            }
        }
        // A reading of 0 means "below the step of the clock". If all readings are 0, all cells are equal.
        let floor = if smallest.is_finite() { smallest / 2.0 } else { 1.0 };
        let mut log = vec![0.0; n * n];
        let mut widths = if any_width { vec![0.0f32; n * n] } else { Vec::new() };
        let mut missing = Vec::new();
        for low in 0..n {
            for high in low + 1..n {
                let seen = both_ways(observed, rows[low], rows[high]);
                let value = seen.map_or(f64::NAN, |seen| ln(seen.value.max(floor)));
                log[low * n + high] = value;
                log[high * n + low] = value;
                if seen.is_none() {
                    missing.push((low as u32, high as u32));
                }
                if let (Some(seen), true) = (seen, any_width) {
                    widths[low * n + high] = seen.half_width as f32;
                    widths[high * n + low] = seen.half_width as f32;
                }
            }
        }
        // Frees the matrix of the caller: 13 MB for 1,024 CPUs.
        drop(matrix);
        let floor = any_zero.then(|| ln(floor));
        // If there are more contradictions than disturbance explains, the values do not form a tree, and all are used.
        let most = forgiven((n * (n - 1) / 2) as f64) as usize;
        let clock = [floor.unwrap_or(f64::NEG_INFINITY), step];
        let (mut set_aside, doubtful) = too_near(&mut log, n, clock, most);
        let mut contradictory = 0;
        if set_aside.len() > most {
            contradictory = set_aside.len();
            set_aside.drain(..).for_each(|(pair, value)| set_value(&mut log, n, pair, value));
        }
        for (pair, at_most) in too_far(&log, n, clock, &doubtful) {
            set_aside.push((pair, log[pair.0 as usize * n + pair.1 as usize]));
            set_value(&mut log, n, pair, at_most);
        }
        set_aside.sort_unstable_by_key(|(pair, _)| *pair);
        let pairs = missing.iter().copied().chain(set_aside.iter().map(|(pair, _)| *pair));
        let empty = pairs.filter(|&(low, high)| log[low as usize * n + high as usize].is_nan());
        let empty: Vec<(u32, u32)> = empty.collect();
        fill(&mut log, n, &empty);
        let bins = Vec::new();
        let mut distances = Distances {
            cpus,
            left_out,
            log,
            bins,
            widths,
            missing,
            set_aside,
            contradictory,
            doubtful,
            floor,
        };
        distances.rank();
        distances
    }

    fn rank(&mut self) {
        let n = self.len();
        let off_diagonal = (0..n).flat_map(|row| (0..row).map(move |column| row * n + column));
        let least = off_diagonal.map(|cell| self.log[cell]).fold(f64::INFINITY, f64::min);
        self.bins = self.log.iter().map(|log| ((log - least) / BIN) as u16).collect();
    }

    /// A copy in which the logarithm of every pair is moved by `step(low, high, width of its interval)`.
    pub fn moved(&self, step: impl Fn(usize, usize, f64) -> f64) -> Distances {
        let mut moved = self.clone();
        let n = self.len();
        for high in 0..n {
            for low in 0..high {
                let value = self.log[low * n + high] + step(low, high, self.width(low, high));
                moved.log[low * n + high] = value;
                moved.log[high * n + low] = value;
            }
        }
        moved.rank();
        moved
    }

    pub fn len(&self) -> usize {
        self.cpus.len()
    }

    pub fn at(&self, a: usize, b: usize) -> f64 {
        self.log[a * self.len() + b]
    }

    pub fn row(&self, row: usize) -> &[f64] {
        &self.log[row * self.len()..(row + 1) * self.len()]
    }

    pub fn bin(&self, a: usize, b: usize) -> u16 {
        self.bins[a * self.len() + b]
    }

    pub fn width(&self, a: usize, b: usize) -> f64 {
        self.widths.get(a * self.len() + b).map_or(0.0, |&width| f64::from(width))
    }

    pub fn floor(&self) -> Option<f64> {
        self.floor
    }

    pub fn is_above_floor(&self, a: usize, b: usize) -> bool {
        self.is_known(a, b) && self.floor.is_none_or(|floor| self.at(a, b) > floor)
    }

    pub fn has_widths(&self) -> bool {
        !self.widths.is_empty()
    }

    pub fn median_width(&self) -> f64 {
        let n = self.len();
        let cells = (0..n).flat_map(|row| (0..row).map(move |column| (row, column)));
        let mut widths: Vec<f64> = if self.has_widths() {
            cells.map(|(row, column)| self.width(row, column)).collect()
        } else {
            Vec::new()
        };
        median_in_place(&mut widths).unwrap_or(0.0)
    }

    pub fn inside(&self, group: &[usize]) -> Option<f64> {
        median_in_place(&mut pairs(group).map(|(a, b)| self.at(a, b)).collect::<Vec<f64>>())
    }

    pub fn is_missing(&self, a: usize, b: usize) -> bool {
        self.missing.binary_search(&(a.min(b) as u32, a.max(b) as u32)).is_ok()
    }

    pub fn set_aside(&self, a: usize, b: usize) -> Option<f64> {
        let pair = (a.min(b) as u32, a.max(b) as u32);
        self.set_aside.binary_search_by_key(&pair, |(pair, _)| *pair).ok().map(|at| self.set_aside[at].1)
    }

    pub fn is_known(&self, a: usize, b: usize) -> bool {
        !self.is_missing(a, b) && self.set_aside(a, b).is_none()
    }
}

pub(super) fn pairs(cpus: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    (0..cpus.len()).flat_map(move |high| (0..high).map(move |low| (cpus[low], cpus[high])))
}

fn refuse_impossible(observed: &Matrix<Option<Observation>>) -> Result<(), InferError> {
    for (row, column, cell) in observed.iter().filter(|(row, column, _)| row != column) {
        if let Some(seen) = cell
            && !is_measurable(seen.value)
        {
            let [from, to] = [row, column].map(|position| observed.cpus()[position]);
            return Err(InferError::Impossible { from, to, value: seen.value });
        }
    }
    Ok(())
}

/// The mean of both directions, which is half a round trip independent of clock offsets, or the only known direction.
pub(crate) fn both_ways(observed: &Matrix<Option<Observation>>, a: usize, b: usize) -> Option<Observation> {
    let there = observed.get(a, b).copied().flatten();
    if observed.is_symmetric() {
        return there;
    }
    match (there, observed.get(b, a).copied().flatten()) {
        (Some(there), Some(back)) => Some(Observation {
            value: (there.value + back.value) / 2.0,
            half_width: there.half_width.max(back.half_width),
        }),
        (one, other) => one.or(other),
    }
}

/// Share of cells that may be disturbed. Disturbance only slows down, so their values may be arbitrarily high.
const BAD_CELLS: f64 = 0.05;

/// Maximum number of disturbed cells at 95 % probability (binomial in normal approximation); 0 below five cells.
pub(super) fn forgiven(cells: f64) -> f64 {
    (BAD_CELLS * cells + 1.645 * (cells * BAD_CELLS * (1.0 - BAD_CELLS)).sqrt()).floor()
}

/// Fills each missing cell with the median of the same cells in the rows most similar to those of its CPUs.
fn fill(log: &mut [f64], n: usize, missing: &[(u32, u32)]) {
    if missing.is_empty() {
        return;
    }
    let known = log.to_vec();
    let step = n.div_ceil(COLUMNS_COMPARED);
    let mut similar_rows: Vec<Option<Vec<u32>>> = vec![None; n];
    let overall = {
        let mut all: Vec<f64> = known
            .iter()
            .enumerate()
            .filter(|(at, log)| at / n != at % n && !log.is_nan())
            .map(|(_, log)| *log)
            .collect();
        median_in_place(&mut all).unwrap_or(0.0)
    };
    for &(low, high) in missing {
        let pair = [low as usize, high as usize];
        let mut stand_ins = Vec::new();
        for (cpu, other) in [(pair[0], pair[1]), (pair[1], pair[0])] {
            let order = similar_rows[cpu].get_or_insert_with(|| most_alike(&known, n, cpu, step));
            let values = order
                .iter()
                .map(|&row| row as usize)
                .filter(|&row| row != other)
                .map(|row| known[row * n + other]);
            stand_ins.extend(values.filter(|log| !log.is_nan()).take(ALIKE));
        }
        let value = median(&stand_ins).unwrap_or(overall);
        log[pair[0] * n + pair[1]] = value;
        log[pair[1] * n + pair[0]] = value;
    }
}

fn most_alike(known: &[f64], n: usize, cpu: usize, step: usize) -> Vec<u32> {
    let mut rows: Vec<(f64, u32)> = (0..n)
        .filter(|&row| row != cpu)
        .map(|row| {
            let columns = (0..n).step_by(step).filter(|&column| column != cpu && column != row);
            let (mut sum, mut count) = (0.0, 0.0);
            for column in columns {
                let difference = (known[cpu * n + column] - known[row * n + column]).abs();
                if !difference.is_nan() {
                    sum += difference.min(DIFFERENCE_CAP);
                    count += 1.0;
                }
            }
            (if count > 0.0 { sum / count } else { f64::INFINITY }, row as u32)
        })
        .collect();
    rows.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    rows.into_iter().map(|(_, row)| row).collect()
}
