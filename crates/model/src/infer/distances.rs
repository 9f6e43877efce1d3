//! [`Distances`]: the matrix that everything in this module works on.

use super::{InferError, Observation, STEPS_APART};
use crate::stats::elementary::{exp, ln};
use crate::stats::{median, median_in_place, quantile};
use crate::time::is_measurable;
use crate::{CpuId, Matrix};
use std::collections::BTreeMap;

/// Rows are compared over at most so many columns: a matrix of 1,024 CPUs with holes everywhere would cost 10⁹ steps.
const COLUMNS_COMPARED: usize = 128;
/// … and, where a pair is compared with third CPUs, over so many more for each of the two: those that are nearest to it, which
/// a sample of the columns would miss where groups are small.
const NEAREST: usize = 16;
/// Differences of rows count up to this: one disturbed cell must not hide that two rows are alike.
const DIFFERENCE_CAP: f64 = 0.4;
/// How many alike rows stand in for a missing cell, for each of its CPUs.
const ALIKE: usize = 3;
/// Width of the bins by which values are ranked: half a thousandth, below any interval. Values in one bin tie.
const BIN: f64 = 0.0005;

/// A pair (low, high) and the logarithm of its value.
type SetAside = ((u32, u32), f64);

/// Logarithms of the round trips: square, symmetric, complete. Ratios of latencies are differences here.
pub(super) struct Distances {
    /// The CPUs with a row in the matrix; positions below refer to this list.
    pub cpus: Vec<CpuId>,
    /// CPUs without a single value.
    pub left_out: Vec<CpuId>,
    /// Row by row; the diagonal is 0 and never used.
    log: Vec<f64>,
    /// `log` in bins, for ranking.
    bins: Vec<u16>,
    /// Half widths of the intervals as shares; empty where no cell has one.
    widths: Vec<f32>,
    /// Pairs (low, high) without a value of their own, sorted.
    missing: Vec<(u32, u32)>,
    /// Pairs (low, high) whose own value contradicts the rows of both CPUs, with its logarithm, sorted: see
    /// [`too_near`] and [`too_far`]. `log` has what similar rows suggest.
    set_aside: Vec<SetAside>,
    /// How many pairs contradict, where they are too many to be set aside.
    pub contradictory: usize,
    /// Pairs (low, high) that contradict and count all the same, since too little shows which of them are wrong.
    pub doubtful: Vec<[usize; 2]>,
    /// What a 0 counts as, where there is one.
    floor: Option<f64>,
}

impl Distances {
    /// Of values that a clock with this step has shown; 0 where none is known.
    pub fn new(observed: &Matrix<Option<Observation>>, step: f64) -> Result<Distances, InferError> {
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
        let distances = Distances::of_rows(observed, step, &kept, [label(&kept), label(&empty)]);
        let of = n * (n - 1) / 2;
        let known = kept.len() * (kept.len() - 1) / 2 - distances.missing.len();
        if known * 2 < of { Err(InferError::TooSparse { known, of }) } else { Ok(distances) }
    }

    /// The rows of a matrix that have values.
    fn of_rows(
        observed: &Matrix<Option<Observation>>,
        step: f64,
        rows: &[usize],
        [cpus, left_out]: [Vec<CpuId>; 2],
    ) -> Distances {
        let n = rows.len();
        let (mut smallest, mut any_width, mut any_zero) = (f64::INFINITY, false, false);
        for (_, _, seen) in observed.iter().filter(|(row, column, _)| row != column) {
            if let Some(seen) = seen {
                any_width |= seen.half_width > 0.0;
                any_zero |= seen.value == 0.0;
                smallest = if seen.value > 0.0 { smallest.min(seen.value) } else { smallest };
            }
        }
        // A clock that read 0 says "below its step". Where it read nothing else, all cells are alike.
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
        let floor = any_zero.then(|| ln(floor));
        // More than may be disturbed: values are not those of a tree, and all count.
        let most = forgiven((n * (n - 1) / 2) as f64) as usize;
        let clock = [floor.unwrap_or(f64::NEG_INFINITY), step];
        let (too_near, doubtful) = too_near(&log, n, clock, most);
        let is_odd = too_near.len() > most;
        let (mut set_aside, contradictory) =
            if is_odd { (Vec::new(), too_near.len()) } else { (too_near, 0) };
        set_aside.iter().for_each(|(pair, _)| set_value(&mut log, n, *pair, f64::NAN));
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

    /// Moves the logarithm of every pair by `step(low, high, width of its interval)`.
    pub fn shake(&mut self, mut step: impl FnMut(usize, usize, f64) -> f64) {
        let n = self.len();
        for high in 0..n {
            for low in 0..high {
                let to = self.log[low * n + high] + step(low, high, self.width(low, high));
                self.log[low * n + high] = to;
                self.log[high * n + low] = to;
            }
        }
        self.rank();
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

    /// The logarithm that a 0 counts as, which says "below the step of the clock"; `None` where there is no 0.
    pub fn floor(&self) -> Option<f64> {
        self.floor
    }

    /// Whether the value of a pair is known and more than "below the step of the clock", which is no time.
    pub fn is_above_floor(&self, a: usize, b: usize) -> bool {
        self.is_known(a, b) && self.floor.is_none_or(|floor| self.at(a, b) > floor)
    }

    pub fn has_widths(&self) -> bool {
        !self.widths.is_empty()
    }

    /// Median relative half width of the intervals; 0 where none is known.
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

    /// Median of the cells of a group; `None` for a single CPU.
    pub fn inside(&self, group: &[usize]) -> Option<f64> {
        median_in_place(&mut pairs(group).map(|(a, b)| self.at(a, b)).collect::<Vec<f64>>())
    }

    /// Whether the pair has no value in the matrix.
    pub fn is_missing(&self, a: usize, b: usize) -> bool {
        self.missing.binary_search(&(a.min(b) as u32, a.max(b) as u32)).is_ok()
    }

    /// The logarithm of the pair's own value, where that contradicts the rows of its CPUs and does not count.
    pub fn set_aside(&self, a: usize, b: usize) -> Option<f64> {
        let pair = (a.min(b) as u32, a.max(b) as u32);
        self.set_aside.binary_search_by_key(&pair, |(pair, _)| *pair).ok().map(|at| self.set_aside[at].1)
    }

    /// Whether the pair has a value of its own that counts.
    pub fn is_known(&self, a: usize, b: usize) -> bool {
        !self.is_missing(a, b) && self.set_aside(a, b).is_none()
    }
}

/// Every pair of some CPUs, once.
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

/// The mean of both directions, which is half a round trip whatever the clocks did; one where the other is missing.
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

/// Share of cells that may be disturbed. Disturbance only slows down, so that these may lie anywhere above.
const BAD_CELLS: f64 = 0.05;

/// So many of these cells may be disturbed, but for one time in twenty (normal approximation of the binomial); none of
/// fewer than five.
pub(super) fn forgiven(cells: f64) -> f64 {
    (BAD_CELLS * cells + 1.645 * (cells * BAD_CELLS * (1.0 - BAD_CELLS)).sqrt()).floor()
}

/// Two CPUs that are near to each other are about equally far from a third: a difference contradicts that is so many times
/// what rows differ by that are alike (see [`Columns::scatter`]; 2.9 deviations of normal values) …
const TIMES_SCATTER: f64 = 2.5;
/// … and at least this factor: of 84 published matrices some lose a right cell to a smaller one …
const LEAST_CONTRADICTION: f64 = 1.25;
/// … but any by this factor. Noise of a quarter has that many smaller ones that they put groups where there are none.
const SURE_CONTRADICTION: f64 = 1.75;
/// So many of the CPUs nearest to one are compared with it, since the nearest may be a wrong pair …
const ALIKE_AMONG: usize = 3;
/// … over so many columns: those near to either.
const ALIKE_OVER: usize = 8;
/// So many CPUs contradict a cell that does not count, whatever the others: one cell in twenty may be disturbed, which
/// makes a tenth of the others contradict a pair that is near, and eight of the nearest twelve in one of 200,000 pairs.
const LEAST_WITNESSES: usize = 8;
/// Groups of four or fewer CPUs have fewer witnesses. These are enough where they are those of all CPUs that are near to
/// either of the two, which this factor separates from the next, or this share of a difference that contradicts …
const FEW_WITNESSES: usize = 2;
const NEAR_RATIO: f64 = 1.5;
const NEXT_SHARE: f64 = 0.7;
/// … and so many where every CPU is near to either, or nearly all witnesses are near to the same one. The other may then be
/// slow to everybody, which the CPUs that are near to neither show.
const FEW_OF_ALL: usize = 3;
/// So many in a hundred of the CPUs that are nearest to either contradict. The others are near to both, or far from both.
const LEAST_AGREEMENT: usize = 66;
/// Of the witnesses one in so many is near to the other CPU.
const LEAST_BALANCE: usize = 8;

/// The columns over which the rows of two CPUs are compared.
struct Columns {
    n: usize,
    /// For each CPU the columns of its nearest that the sample leaves out, in order; empty where all are compared.
    nearest: Vec<Vec<usize>>,
    /// From which difference on, as a logarithm, a third CPU contradicts that two are near: see [`TIMES_SCATTER`].
    apart: f64,
}

impl Columns {
    fn new(log: &[f64], n: usize) -> Columns {
        let mut columns = Columns { n, nearest: vec![Vec::new(); n], apart: 0.0 };
        if columns.step() > 1 {
            columns.nearest =
                (0..n).map(|cpu| columns.nearest_of(&log[cpu * n..(cpu + 1) * n], cpu)).collect();
        }
        let apart = columns.scatter(log).map_or(f64::INFINITY, |scatter| TIMES_SCATTER * scatter);
        columns.apart = apart.clamp(ln(LEAST_CONTRADICTION), ln(SURE_CONTRADICTION));
        columns
    }

    /// How much the rows of two CPUs of one group differ, in logarithms: upper quartile over the CPUs, since some are
    /// measured worse than others, of that over the nearest columns, which contradict. Which CPUs are in one group is not
    /// known yet: each is compared with those nearest to it, and the row most like its own counts.
    fn scatter(&self, log: &[f64]) -> Option<f64> {
        let n = self.n;
        let between = |cpu: usize, other: usize| {
            let values = self.of([cpu.min(other), cpu.max(other)]).map(|third| {
                let (one, two) = (log[cpu * n + third], log[other * n + third]);
                (one.min(two), (one - two).abs())
            });
            let mut values: Vec<(f64, f64)> = values.filter(|(_, off)| !off.is_nan()).collect();
            values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            quantile(&values.iter().take(ALIKE_OVER).map(|(_, off)| *off).collect::<Vec<f64>>(), 0.75)
        };
        let alike = |cpu: usize| {
            let nearest = nearest(&log[cpu * n..(cpu + 1) * n], cpu, ALIKE_AMONG);
            nearest.into_iter().filter_map(|other| between(cpu, other)).min_by(f64::total_cmp)
        };
        quantile(&(0..n).filter_map(alike).collect::<Vec<f64>>(), 0.75)
    }

    fn step(&self) -> usize {
        self.n.div_ceil(COLUMNS_COMPARED)
    }

    fn nearest_of(&self, row: &[f64], cpu: usize) -> Vec<usize> {
        let mut others = nearest(row, cpu, NEAREST);
        others.retain(|other| other % self.step() != 0);
        others.sort_unstable();
        others
    }

    /// A sample of all, and the nearest of both.
    fn of(&self, [low, high]: [usize; 2]) -> impl Iterator<Item = usize> + '_ {
        let first = &self.nearest[low];
        let second = self.nearest[high].iter().filter(|column| first.binary_search(column).is_err());
        let all = (0..self.n).step_by(self.step()).chain(first.iter().chain(second).copied());
        all.filter(move |&column| column != low && column != high)
    }
}

/// The CPUs that are nearest to one, so many at most.
fn nearest(row: &[f64], cpu: usize, most: usize) -> Vec<usize> {
    let mut others: Vec<usize> =
        (0..row.len()).filter(|&other| other != cpu && !row[other].is_nan()).collect();
    if others.len() > most {
        others.select_nth_unstable_by(most, |&a, &b| row[a].total_cmp(&row[b]));
        others.truncate(most);
    }
    others
}

/// How many CPUs contradict a pair, since they are near to one of the two and far from the other; 0 where they are not
/// enough to doubt it, or, of those that `is_trusted` accepts, to set it aside. That is asked about the pair of such a CPU
/// and the one that it is near to.
fn witnesses(
    log: &[f64],
    columns: &Columns,
    [floor, step]: [f64; 2],
    [low, high]: [usize; 2],
    is_trusted: Option<&dyn Fn([usize; 2]) -> bool>,
) -> usize {
    let (apart, n) = (columns.apart, columns.n);
    let value = log[low * n + high];
    if value.is_nan() || value <= floor {
        return 0;
    }
    let mut thirds = Vec::new();
    let mut all = [0, 0];
    for third in columns.of([low, high]) {
        let (one, other) = (log[low * n + third], log[high * n + third]);
        if one.is_nan() || other.is_nan() {
            continue;
        }
        let side = usize::from(other <= one);
        let [far, near] = [one.max(other), one.min(other).max(value)];
        let contradicts = far - near >= apart
            && exp(far) - exp(near) >= STEPS_APART * step
            && is_trusted.is_none_or(|is_trusted| is_trusted([third, [low, high][side]]));
        all[side] += usize::from(contradicts);
        thirds.push((one.min(other), contradicts.then_some(side)));
    }
    if all[0] + all[1] < FEW_WITNESSES {
        return 0;
    }
    thirds.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut seen, mut enough, mut is_near) = ([0, 0], 0, true);
    for (at, &(nearer, contradicts)) in thirds.iter().enumerate() {
        if let Some(side) = contradicts {
            seen[side] += 1;
        }
        let witnesses = seen[0] + seen[1];
        let beyond = thirds.len() - (at + 1);
        let is_one_sided = seen[0].min(seen[1]) * LEAST_BALANCE < witnesses;
        let is_slow = is_one_sided && (all[0] + all[1] - witnesses) * 2 >= beyond;
        let ends = thirds
            .get(at + 1)
            .is_none_or(|next| next.0 - nearer.max(value) >= ln(NEAR_RATIO).min(NEXT_SHARE * apart));
        let least = match (is_near && ends, beyond == 0 || is_one_sided && is_trusted.is_some()) {
            (false, _) => LEAST_WITNESSES,
            (true, true) => FEW_OF_ALL,
            (true, false) => FEW_WITNESSES,
        };
        if witnesses >= least && witnesses * 100 >= (at + 1) * LEAST_AGREEMENT && !is_slow {
            enough = witnesses;
        }
        is_near &= !ends;
    }
    enough
}

/// Pairs that are nearer than the rows of their CPUs allow, with their logarithms, and others that stay doubtful because
/// too little shows which of them are wrong. One such pair makes the tree join two groups early, and what it is built from
/// then is a mix of both. Of the `clock` are known the logarithm up to which a value is none, and its step. The search ends
/// where there are more than `most`.
fn too_near(log: &[f64], n: usize, clock: [f64; 2], most: usize) -> (Vec<SetAside>, Vec<[usize; 2]>) {
    let (mut left, columns) = (log.to_vec(), Columns::new(log, n));
    let every = (0..n).flat_map(|low| (low + 1..n).map(move |high| [low, high]));
    let mut doubted: Vec<[usize; 2]> = every.collect();
    let mut found = Vec::new();
    loop {
        let counted = doubted.iter().map(|&pair| (pair, witnesses(&left, &columns, clock, pair, None)));
        let counts: BTreeMap<[usize; 2], usize> = counted.filter(|(_, count)| *count > 0).collect();
        // The strongest first: a wrong pair is a witness against right ones. One that is doubted as much is none.
        doubted = counts.keys().copied().collect();
        doubted.sort_by_key(|pair| std::cmp::Reverse(counts[pair]));
        let before = found.len();
        doubted.retain(|&[low, high]| {
            let count = counts[&[low, high]];
            let is_trusted =
                |[a, b]: [usize; 2]| counts.get(&[a.min(b), a.max(b)]).is_none_or(|&doubts| doubts < count);
            let is_open = witnesses(&left, &columns, clock, [low, high], Some(&is_trusted)) == 0;
            if !is_open {
                found.push(((low as u32, high as u32), log[low * n + high]));
                left[low * n + high] = f64::NAN;
                left[high * n + low] = f64::NAN;
            }
            is_open
        });
        // Without those that are set aside others may be doubted no more, and be trusted.
        if found.len() == before || found.len() > most {
            break;
        }
    }
    (found, doubted)
}

/// At most one CPU in so many has a cell that is too far. More are how the machine is built, as where modules are slower
/// inside.
const TOO_FAR: usize = 2;

/// Pairs that are farther apart than a third CPU is from either, although their rows are alike, with the logarithm that the
/// nearest third allows: where groups are small, one such cell hides its group, and with that the level. None where they are
/// many, or where a pair of one of its CPUs is doubtful and may be what makes the third near.
fn too_far(
    log: &[f64],
    n: usize,
    [floor, step]: [f64; 2],
    doubtful: &[[usize; 2]],
) -> Vec<((u32, u32), f64)> {
    let columns = Columns::new(log, n);
    let allowed = |[low, high]: [usize; 2]| {
        let value = log[low * n + high];
        let mut farther = Vec::new();
        for third in columns.of([low, high]) {
            let (one, other) = (log[low * n + third], log[high * n + third]);
            if (one - other).abs() >= columns.apart {
                return None;
            }
            if !one.is_nan() && !other.is_nan() && one.max(other) > floor {
                farther.push(one.max(other));
            }
        }
        let least = farther.iter().copied().min_by(f64::total_cmp)?;
        // Where nothing is nearer than the rest there is no group.
        if median_in_place(&mut farther)? - least < columns.apart {
            return None;
        }
        let is_far = value - least >= columns.apart && exp(value) - exp(least) >= STEPS_APART * step;
        is_far.then_some(((low as u32, high as u32), least))
    };
    let every = (0..n).flat_map(|low| (low + 1..n).map(move |high| [low, high]));
    let is_open = |[a, b]: [usize; 2]| doubtful.iter().flatten().any(|&cpu| cpu == a || cpu == b);
    let found: Vec<((u32, u32), f64)> = every.filter(|pair| !is_open(*pair)).filter_map(allowed).collect();
    if found.len() * 2 * TOO_FAR > n { Vec::new() } else { found }
}

fn set_value(log: &mut [f64], n: usize, (low, high): (u32, u32), value: f64) {
    log[low as usize * n + high as usize] = value;
    log[high as usize * n + low as usize] = value;
}

/// A missing cell takes the median of what the rows most alike those of its two CPUs show in its place.
fn fill(log: &mut [f64], n: usize, missing: &[(u32, u32)]) {
    if missing.is_empty() {
        return;
    }
    let known = log.to_vec();
    let step = n.div_ceil(COLUMNS_COMPARED);
    let mut alike: Vec<Option<Vec<u32>>> = vec![None; n];
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
            let order = alike[cpu].get_or_insert_with(|| most_alike(&known, n, cpu, step));
            let shown = order
                .iter()
                .map(|&row| row as usize)
                .filter(|&row| row != other)
                .map(|row| known[row * n + other]);
            stand_ins.extend(shown.filter(|log| !log.is_nan()).take(ALIKE));
        }
        let value = median(&stand_ins).unwrap_or(overall);
        log[pair[0] * n + pair[1]] = value;
        log[pair[1] * n + pair[0]] = value;
    }
}

/// The other rows, most alike first.
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
