//! Pairs that contradict the rows of their CPUs: third CPUs show that their value is too low or too high.

use super::STEPS_APART;
use crate::stats::elementary::{exp, ln};
use crate::stats::{median_in_place, quantile};
use std::collections::BTreeMap;

/// A pair (low, high) and the logarithm of its value.
pub(super) type SetAside = ((u32, u32), f64);

pub(super) fn set_value(log: &mut [f64], n: usize, (low, high): (u32, u32), value: f64) {
    log[low as usize * n + high as usize] = value;
    log[high as usize * n + low as usize] = value;
}

/// Maximum number of columns for the comparison of rows. 1,024 CPUs with missing cells everywhere would cost 10⁹ steps.
pub(super) const COLUMNS_COMPARED: usize = 128;
const NEAREST: usize = 16;
/// Minimum contradiction, as a multiple of the usual difference between similar rows (2.9 deviations of normal values,
/// see [`Columns::scatter`]). Two near CPUs are about equally far from a third CPU.
const TIMES_SCATTER: f64 = 2.5;
/// With a lower limit, some of 84 published files lose a correct cell.
const MIN_CONTRADICTION: f64 = 1.25;
/// Difference that is always a contradiction, as a factor. With a higher limit, noise of 25 % produces false groups.
const SURE_CONTRADICTION: f64 = 1.75;
/// Number of nearest CPUs for the comparison of a CPU, because the nearest CPU may be part of a wrong pair.
const ALIKE_AMONG: usize = 3;
const ALIKE_OVER: usize = 8;
/// Number of contradicting CPUs that always suffices to set a cell aside. One cell in twenty may be disturbed, so a
/// tenth of the other CPUs contradict a correct near pair. Eight of the nearest twelve do so for one of 200,000 pairs.
const MIN_WITNESSES: usize = 8;
/// Groups of four or fewer CPUs have fewer witnesses. Two are enough if the next CPU is clearly farther than the CPUs
/// near to either of the pair: by `NEAR_RATIO`, or by `NEXT_SHARE` of a contradiction.
const FEW_WITNESSES: usize = 2;
const NEAR_RATIO: f64 = 1.5;
const NEXT_SHARE: f64 = 0.7;
/// Number of necessary witnesses if every CPU is near to either of the pair, or if nearly all witnesses are near to the
/// same CPU. The other CPU may then be slow to all CPUs. Only CPUs near to neither would show this.
const FEW_OF_ALL: usize = 3;
/// Minimum percentage of the nearest CPUs that must contradict. The others are near to both, or far from both.
const MIN_AGREEMENT: usize = 66;
const MIN_BALANCE: usize = 8;

struct Columns {
    n: usize,
    /// The initial values of the sampled columns, row by row, for a check of half a million pairs without cache misses.
    sampled: Vec<f64>,
    nearest: Vec<Vec<usize>>,
    apart: f64,
}

impl Columns {
    fn new(log: &[f64], n: usize) -> Columns {
        let mut columns = Columns { n, sampled: Vec::new(), nearest: vec![Vec::new(); n], apart: 0.0 };
        columns.sampled = log.chunks(n).flat_map(|row| row.iter().copied().step_by(columns.step())).collect();
        if columns.step() > 1 {
            columns.nearest =
                (0..n).map(|cpu| columns.nearest_of(&log[cpu * n..(cpu + 1) * n], cpu)).collect();
        }
        let apart = columns.scatter(log).map_or(f64::INFINITY, |scatter| TIMES_SCATTER * scatter);
        columns.apart = apart.clamp(ln(MIN_CONTRADICTION), ln(SURE_CONTRADICTION));
        columns
    }

    /// Groups are not known yet, so each CPU is compared with the most similar row among its nearest CPUs. Some CPUs
    /// are measured worse than others, so the result is an upper quartile of upper quartiles.
    fn scatter(&self, log: &[f64]) -> Option<f64> {
        let n = self.n;
        let between = |cpu: usize, other: usize| {
            let values = self.compared([cpu.min(other), cpu.max(other)]).map(|third| {
                let (one, two) = (log[cpu * n + third], log[other * n + third]);
                (one.min(two), (one - two).abs())
            });
            let mut values: Vec<(f64, f64)> = values.filter(|(_, difference)| !difference.is_nan()).collect();
            values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            quantile(
                &values.iter().take(ALIKE_OVER).map(|(_, difference)| *difference).collect::<Vec<f64>>(),
                0.75,
            )
        };
        let least_difference = |cpu: usize| {
            let nearest = nearest(&log[cpu * n..(cpu + 1) * n], cpu, ALIKE_AMONG);
            nearest.into_iter().filter_map(|other| between(cpu, other)).min_by(f64::total_cmp)
        };
        quantile(&(0..n).filter_map(least_difference).collect::<Vec<f64>>(), 0.75)
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

    fn compared(&self, [low, high]: [usize; 2]) -> impl Iterator<Item = usize> + '_ {
        let first = &self.nearest[low];
        let second = self.nearest[high].iter().filter(|column| first.binary_search(column).is_err());
        let all = (0..self.n).step_by(self.step()).chain(first.iter().chain(second).copied());
        all.filter(move |&column| column != low && column != high)
    }

    /// A fast check. It may count the columns of the two CPUs and of pairs set aside, and some columns twice.
    fn may_contradict(&self, log: &[f64], [low, high]: [usize; 2]) -> bool {
        let rows = [low, high].map(|cpu| &log[cpu * self.n..(cpu + 1) * self.n]);
        let value = rows[0][high];
        let contradicts = |(one, other): (f64, f64)| {
            let far = if one > other { one } else { other };
            ((one - other).abs() >= self.apart) & (far - value >= self.apart)
        };
        let sampled = self.count_sampled([low, high], contradicts);
        let nearest = self.nearest[low].iter().chain(&self.nearest[high]);
        let nearest = nearest.map(|&column| (rows[0][column], rows[1][column]));
        sampled + nearest.filter(|&pair| contradicts(pair)).count() >= FEW_WITNESSES
    }

    fn differ_widely(&self, pair: [usize; 2]) -> bool {
        // Two of the columns may belong to the two CPUs.
        self.count_sampled(pair, |(one, other)| (one - other).abs() >= self.apart) > 2
    }

    /// Counts sampled columns without a branch, so that the processor can compare several columns at once.
    #[inline]
    fn count_sampled(&self, pair: [usize; 2], has: impl Fn((f64, f64)) -> bool) -> usize {
        let width = self.sampled.len() / self.n;
        let [one, other] = pair.map(|cpu| &self.sampled[cpu * width..(cpu + 1) * width]);
        one.iter().zip(other).map(|(&one, &other)| usize::from(has((one, other)))).sum()
    }
}

fn nearest(row: &[f64], cpu: usize, most: usize) -> Vec<usize> {
    let mut others: Vec<usize> =
        (0..row.len()).filter(|&other| other != cpu && !row[other].is_nan()).collect();
    if others.len() > most {
        others.select_nth_unstable_by(most, |&a, &b| row[a].total_cmp(&row[b]));
        others.truncate(most);
    }
    others
}

/// 0 means too few. With `is_trusted`, only witnesses with an accepted near pair count, and 0 keeps the pair.
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
    for third in columns.compared([low, high]) {
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
        let is_separated = thirds
            .get(at + 1)
            .is_none_or(|next| next.0 - nearer.max(value) >= ln(NEAR_RATIO).min(NEXT_SHARE * apart));
        let least = match (is_near && is_separated, beyond == 0 || is_one_sided && is_trusted.is_some()) {
            (false, _) => MIN_WITNESSES,
            (true, true) => FEW_OF_ALL,
            (true, false) => FEW_WITNESSES,
        };
        if witnesses >= least && witnesses * 100 >= (at + 1) * MIN_AGREEMENT && !is_slow {
            enough = witnesses;
        }
        is_near &= !is_separated;
    }
    enough
}

/// Finds pairs that are nearer than the rows of their CPUs allow, with their logarithms. Also finds doubtful pairs:
/// some are wrong, but it is unknown which. One such pair makes the tree join two groups too early. `clock` is the
/// logarithm up to which a value counts as zero, and the step. The search stops at more than `most` pairs. Found pairs
/// are NaN in `log` afterwards.
pub(super) fn too_near(
    log: &mut [f64],
    n: usize,
    clock: [f64; 2],
    most: usize,
) -> (Vec<SetAside>, Vec<[usize; 2]>) {
    let columns = Columns::new(log, n);
    let mut all_pairs = (0..n).flat_map(|low| (low + 1..n).map(move |high| [low, high]));
    let counts_of =
        |log: &[f64], pairs: &mut dyn Iterator<Item = [usize; 2]>| -> BTreeMap<[usize; 2], usize> {
            let counted = pairs.map(|pair| (pair, witnesses(log, &columns, clock, pair, None)));
            counted.filter(|(_, count)| *count > 0).collect()
        };
    let mut counts = counts_of(log, &mut all_pairs);
    let mut doubted: Vec<[usize; 2]>;
    let mut found: Vec<SetAside> = Vec::new();
    loop {
        // Strongest first: a wrong pair is a witness against correct pairs, unless as many CPUs contradict it.
        doubted = counts.keys().copied().collect();
        doubted.sort_by_key(|pair| std::cmp::Reverse(counts[pair]));
        let before = found.len();
        doubted.retain(|&[low, high]| {
            let count = counts[&[low, high]];
            let is_trusted =
                |[a, b]: [usize; 2]| counts.get(&[a.min(b), a.max(b)]).is_none_or(|&doubts| doubts < count);
            let is_open = witnesses(log, &columns, clock, [low, high], Some(&is_trusted)) == 0;
            if !is_open {
                found.push(((low as u32, high as u32), log[low * n + high]));
                set_value(log, n, (low as u32, high as u32), f64::NAN);
            }
            is_open
        });
        // Setting pairs aside may remove the doubt about others, which then become trusted.
        if found.len() == before || found.len() > most {
            break;
        }
        counts = counts_of(log, &mut doubted.iter().copied());
    }
    (found, doubted)
}

/// If more than one CPU in this number has a cell that is too far, none is set aside: modules may be slower inside.
const TOO_FAR: usize = 2;

/// Finds pairs with similar rows that are farther apart than each CPU is from a third CPU. Also returns the logarithm
/// that the nearest third CPU allows. In small groups one such cell hides the group and its level. Returns none if
/// there are many. Skips CPUs of a doubtful pair, whose third CPU may be falsely near.
pub(super) fn too_far(
    log: &[f64],
    n: usize,
    [floor, step]: [f64; 2],
    doubtful: &[[usize; 2]],
) -> Vec<SetAside> {
    let columns = Columns::new(log, n);
    let allowed = |[low, high]: [usize; 2]| {
        if columns.differ_widely([low, high]) {
            return None;
        }
        let value = log[low * n + high];
        let mut farther = Vec::new();
        for third in columns.compared([low, high]) {
            let (one, other) = (log[low * n + third], log[high * n + third]);
            if (one - other).abs() >= columns.apart {
                return None;
            }
            if !one.is_nan() && !other.is_nan() && one.max(other) > floor {
                farther.push(one.max(other));
            }
        }
        let least = farther.iter().copied().min_by(f64::total_cmp)?;
        if median_in_place(&mut farther)? - least < columns.apart {
            return None;
        }
        let is_far = value - least >= columns.apart && exp(value) - exp(least) >= STEPS_APART * step;
        is_far.then_some(((low as u32, high as u32), least))
    };
    let all_pairs = (0..n).flat_map(|low| (low + 1..n).map(move |high| [low, high]));
    let is_open = |[a, b]: [usize; 2]| doubtful.iter().flatten().any(|&cpu| cpu == a || cpu == b);
    let found: Vec<SetAside> = all_pairs.filter(|pair| !is_open(*pair)).filter_map(allowed).collect();
    if found.len() * 2 * TOO_FAR > n { Vec::new() } else { found }
}
