//! Pairs that contradict the rows of their CPUs, by what third CPUs show: nearer than they can be, or farther.

use super::STEPS_APART;
use crate::stats::elementary::{exp, ln};
use crate::stats::{median_in_place, quantile};
use std::collections::BTreeMap;

/// A pair (low, high) and the logarithm of its value.
pub(super) type SetAside = ((u32, u32), f64);

/// Rows are compared over at most so many columns: a matrix of 1,024 CPUs with holes everywhere would cost 10⁹ steps.
pub(super) const COLUMNS_COMPARED: usize = 128;
/// Beyond the sample of columns, rows are compared over this many more for each of the two CPUs: those that are nearest to
/// it, which the sample would miss where groups are small.
const NEAREST: usize = 16;
/// Two CPUs that are near to each other are about equally far from a third: a difference contradicts that is so many times
/// what rows differ by that are alike (see [`Columns::scatter`]; 2.9 deviations of normal values) …
const TIMES_SCATTER: f64 = 2.5;
/// … and at least this factor: of 84 published matrices some lose a right cell to a smaller one …
const MIN_CONTRADICTION: f64 = 1.25;
/// … but any by this factor. Noise of a quarter has that many smaller ones that they put groups where there are none.
const SURE_CONTRADICTION: f64 = 1.75;
/// So many of the CPUs nearest to one are compared with it, since the nearest may be a wrong pair …
const ALIKE_AMONG: usize = 3;
/// … over so many columns: those near to either.
const ALIKE_OVER: usize = 8;
/// So many CPUs contradict a cell that does not count, whatever the others: one cell in twenty may be disturbed, which
/// makes a tenth of the others contradict a pair that is near, and eight of the nearest twelve in one of 200,000 pairs.
const MIN_WITNESSES: usize = 8;
/// Groups of four or fewer CPUs have fewer witnesses. These are enough where they are those of all CPUs that are near to
/// either of the two, which this factor separates from the next, or this share of a difference that contradicts …
const FEW_WITNESSES: usize = 2;
const NEAR_RATIO: f64 = 1.5;
const NEXT_SHARE: f64 = 0.7;
/// … and so many where every CPU is near to either, or nearly all witnesses are near to the same one. The other may then be
/// slow to everybody, which the CPUs that are near to neither show.
const FEW_OF_ALL: usize = 3;
/// So many in a hundred of the CPUs that are nearest to either contradict. The others are near to both, or far from both.
const MIN_AGREEMENT: usize = 66;
/// Of the witnesses one in so many is near to the other CPU.
const MIN_BALANCE: usize = 8;

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
        columns.apart = apart.clamp(ln(MIN_CONTRADICTION), ln(SURE_CONTRADICTION));
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

    /// Whether enough columns may contradict that two CPUs are near. Few pairs pass, and all others need no closer look.
    /// The two CPUs themselves and columns that are both sampled and nearest may count as well.
    fn may_contradict(&self, log: &[f64], [low, high]: [usize; 2]) -> bool {
        let rows = [low, high].map(|cpu| &log[cpu * self.n..(cpu + 1) * self.n]);
        let value = rows[0][high];
        let contradicts = |&(one, other): &(f64, f64)| {
            (one - other).abs() >= self.apart && one.max(other) - value >= self.apart
        };
        let [sampled, others] = rows.map(|row| row.iter().copied().step_by(self.step()));
        let nearest = self.nearest[low].iter().chain(&self.nearest[high]);
        let nearest = nearest.map(|&column| (rows[0][column], rows[1][column]));
        sampled.zip(others).chain(nearest).filter(contradicts).count() >= FEW_WITNESSES
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
    if value.is_nan() || value <= floor || !columns.may_contradict(log, [low, high]) {
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
        let is_one_sided = seen[0].min(seen[1]) * MIN_BALANCE < witnesses;
        let is_slow = is_one_sided && (all[0] + all[1] - witnesses) * 2 >= beyond;
        let ends = thirds
            .get(at + 1)
            .is_none_or(|next| next.0 - nearer.max(value) >= ln(NEAR_RATIO).min(NEXT_SHARE * apart));
        let least = match (is_near && ends, beyond == 0 || is_one_sided && is_trusted.is_some()) {
            (false, _) => MIN_WITNESSES,
            (true, true) => FEW_OF_ALL,
            (true, false) => FEW_WITNESSES,
        };
        if witnesses >= least && witnesses * 100 >= (at + 1) * MIN_AGREEMENT && !is_slow {
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
pub(super) fn too_near(
    log: &[f64],
    n: usize,
    clock: [f64; 2],
    most: usize,
) -> (Vec<SetAside>, Vec<[usize; 2]>) {
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
pub(super) fn too_far(
    log: &[f64],
    n: usize,
    [floor, step]: [f64; 2],
    doubtful: &[[usize; 2]],
) -> Vec<SetAside> {
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
    let found: Vec<SetAside> = every.filter(|pair| !is_open(*pair)).filter_map(allowed).collect();
    if found.len() * 2 * TOO_FAR > n { Vec::new() } else { found }
}
