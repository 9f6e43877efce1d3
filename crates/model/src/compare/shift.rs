//! The shift of a level or a cell from one side to the other and its uncertainty.
//!
//! A slow CPU is slow in all its pairs, so the pairs of a level are not independent. At most n ÷ 2 pairs of n CPUs have
//! no CPU in common. If the two sides have different pairs, the spread between pairs is divided by this smaller number.
//! That spread also contains differences of the machine, so small differences between machines cannot be decided.

use super::verdict::{Case, EQUIVALENCE_Z, Judged, Margin};
use super::{Basis, Dataset, LogEstimate, ReadingKey, SideReading};
use crate::CpuSet;
use crate::stats::compare::paired_location;
use crate::stats::{MadScale, mad, median, normal, student};

/// Efficiency of the median of Walsh averages relative to the mean for normal errors (Hodges and Lehmann 1963).
const EFFICIENCY: f64 = 0.955;

pub(super) struct Joined<'a> {
    pub key: &'a ReadingKey,
    pub a: SideReading,
    pub b: SideReading,
    /// ln(B ÷ A) in the basis, and its deviation if both sides have one.
    shift: f64,
    deviation: Option<f64>,
    in_equal_datasets: bool,
}

impl Joined<'_> {
    pub fn steady(&self) -> bool {
        self.a.steady && self.b.steady
    }

    /// Values with intervals may be equal by chance. They count only if all values are equal.
    fn identical(&self) -> bool {
        let is_equal = self.shift == 0.0 && self.a.value.point == self.b.value.point;
        is_equal && (self.in_equal_datasets || self.deviation.is_none())
    }
}

pub(super) fn basis<'a>(readings: impl Iterator<Item = &'a SideReading>) -> Basis {
    let clocked = |reading: &SideReading| reading.cycles.is_some_and(|cycles| cycles.point > 0.0);
    let mut readings = readings.peekable();
    if readings.peek().is_some() && readings.all(clocked) { Basis::Cycles } else { Basis::AsRead }
}

pub(super) fn in_basis(reading: &SideReading, basis: Basis) -> LogEstimate {
    match basis {
        Basis::Cycles => reading.cycles.unwrap_or(reading.value),
        Basis::AsRead => reading.value,
    }
}

/// Joins the subjects of both sides, in core cycles if every reading is known in cycles.
pub(super) fn join<'a>(a: &'a Dataset, b: &'a Dataset) -> (Vec<Joined<'a>>, Basis) {
    let both = |(key, left): (&'a ReadingKey, &'a SideReading)| {
        let right = b.readings.get(key)?;
        let comparable = a.has_ratio(left.value.point) && b.has_ratio(right.value.point);
        comparable.then_some((key, *left, *right))
    };
    let common: Vec<(&ReadingKey, SideReading, SideReading)> = a.readings.iter().filter_map(both).collect();
    let basis = basis(common.iter().flat_map(|(_, left, right)| [left, right]));
    let in_equal_datasets = common.iter().all(|(_, left, right)| left.value.point == right.value.point);
    let joined = common
        .into_iter()
        .map(|(key, left, right)| {
            let [x, y] = [left, right].map(|reading| in_basis(&reading, basis));
            let deviation = x.deviation.zip(y.deviation).map(|(x, y)| x.hypot(y));
            Joined { key, a: left, b: right, shift: (y.point / x.point).ln(), deviation, in_equal_datasets }
        })
        .collect();
    (joined, basis)
}

pub(super) fn steady<'m, 'a>(members: &'m [&'m Joined<'a>]) -> impl Iterator<Item = &'m Joined<'a>> {
    members.iter().copied().filter(|joined| joined.steady())
}

pub(super) struct ShiftNoise {
    cell: Option<f64>,
    typical: Option<f64>,
    shared: f64,
}

impl ShiftNoise {
    pub fn from_members(members: &[&Joined<'_>]) -> ShiftNoise {
        let shifts: Vec<f64> = steady(members).map(|joined| joined.shift).collect();
        let known: Vec<f64> = steady(members).filter_map(|joined| joined.deviation).collect();
        let all_known = known.len() == shifts.len();
        let spread_decides = shifts.len() >= VALUES_THAT_TELL && all_known;
        let typical = median(&known).filter(|_| spread_decides);
        ShiftNoise { cell: scatter(&shifts, &known), typical, shared: shared(all_known) }
    }

    fn of_cell(&self, joined: &Joined<'_>) -> Option<f64> {
        Some(match (self.typical, joined.deviation) {
            (Some(typical), Some(own_deviation)) => self.cell? * (own_deviation / typical).max(1.0),
            (None, Some(own_deviation)) => own_deviation,
            (_, None) => self.cell?,
        })
    }

    fn of_location(&self, pairs: usize) -> Option<f64> {
        self.cell.map(|cell| (cell * cell / (EFFICIENCY * pairs as f64)).sqrt())
    }
}

/// The pairs that determine the shift of a level: pairs in a stable state, or all if none is stable or all are equal.
pub(super) fn informative_members<'a>(members: &[&'a Joined<'a>]) -> Vec<&'a Joined<'a>> {
    let steady_members: Vec<&Joined<'_>> = members.iter().copied().filter(|joined| joined.steady()).collect();
    let use_all = steady_members.is_empty() || members.iter().all(|joined| joined.identical());
    if use_all { members.to_vec() } else { steady_members }
}

pub(super) fn location(informative: &[&Joined<'_>]) -> f64 {
    paired_location(&informative.iter().map(|joined| joined.shift).collect::<Vec<_>>()).unwrap_or(f64::NAN)
}

pub(super) fn judge_level(
    members: &[&Joined<'_>],
    noise: &ShiftNoise,
    margin: &impl Fn(f64) -> Margin,
    guest: bool,
) -> Judged {
    let informative = informative_members(members);
    let middle = |side: fn(&Joined<'_>) -> f64| {
        median(&informative.iter().map(|joined| side(joined)).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    };
    let (a, b) = (middle(|joined| joined.a.value.point), middle(|joined| joined.b.value.point));
    Judged::from_case(Case {
        a,
        b,
        shift: location(&informative),
        deviation: noise
            .of_location(informative.len())
            .map(|own_deviation| own_deviation.hypot(noise.shared)),
        margin: margin(a.min(b)),
        moved: 2 * steady(members).count() < members.len(),
        guest,
        identical: members.iter().all(|joined| joined.identical()),
    })
}

pub(super) fn judge_cell(
    joined: &Joined<'_>,
    noise: &ShiftNoise,
    margin: &impl Fn(f64) -> Margin,
    guest: bool,
) -> Judged {
    let case = case_of(joined, noise, margin, guest);
    Judged::from_case(Case {
        deviation: case.deviation.map(|own_deviation| own_deviation.hypot(noise.shared)),
        ..case
    })
}

/// Judges the difference between a cell and its level. The error common to all pairs cancels out.
pub(super) fn judge_departure(
    joined: &Joined<'_>,
    level: f64,
    noise: &ShiftNoise,
    margin: &impl Fn(f64) -> Margin,
    guest: bool,
) -> Judged {
    let case = case_of(joined, noise, margin, guest);
    Judged::from_case(Case { shift: case.shift - level, identical: false, ..case })
}

fn case_of(joined: &Joined<'_>, noise: &ShiftNoise, margin: &impl Fn(f64) -> Margin, guest: bool) -> Case {
    let (a, b) = (joined.a.value.point, joined.b.value.point);
    Case {
        a,
        b,
        shift: joined.shift,
        deviation: noise.of_cell(joined),
        margin: margin(a.min(b)),
        moved: !joined.steady(),
        guest,
        identical: joined.identical(),
    }
}

/// Judges all pairs of several levels in one test, if each level changed like all pairs, to within the margin.
pub(super) fn judge_together(
    levels: &[Vec<&Joined<'_>>],
    margin: &impl Fn(f64) -> Margin,
    guest: bool,
) -> Option<Judged> {
    let all: Vec<&Joined<'_>> = levels.iter().flatten().copied().collect();
    if levels.len() < 2 || steady(&all).count() < VALUES_THAT_TELL {
        return None;
    }
    let noise = ShiftNoise::from_members(&all);
    let judged = judge_level(&all, &noise, margin, guest);
    let (middle, least) = (location(&informative_members(&all)), judged.least());
    let is_alike = |members: &Vec<&Joined<'_>>| {
        let informative = informative_members(members);
        let own_deviation = ShiftNoise::from_members(members)
            .of_location(informative.len())
            .or(noise.of_location(informative.len()));
        own_deviation.is_some_and(|own_deviation| {
            (location(&informative) - middle).abs() + EQUIVALENCE_Z * own_deviation <= least
        })
    };
    levels.iter().all(is_alike).then_some(judged)
}

const MEDIAN_VARIANCE: f64 = std::f64::consts::FRAC_PI_2;

pub(super) type Members<'a> = Vec<(&'a ReadingKey, &'a SideReading)>;

struct LevelSummary {
    median: f64,
    location: f64,
    deviation: Option<f64>,
    all_known: bool,
    moved: usize,
    left_out: usize,
    values: Vec<[f64; 2]>,
}

impl LevelSummary {
    fn new(members: &Members<'_>, basis: Basis) -> LevelSummary {
        let steady_members: Members<'_> =
            members.iter().copied().filter(|(_, reading)| reading.steady).collect();
        let counted = if steady_members.is_empty() { members } else { &steady_members };
        let middle = |value: &dyn Fn(&SideReading) -> f64| {
            median(&counted.iter().map(|(_, reading)| value(reading)).collect::<Vec<f64>>())
                .unwrap_or(f64::NAN)
        };
        let logarithms: Vec<f64> =
            counted.iter().map(|(_, reading)| in_basis(reading, basis).point.ln()).collect();
        let known: Vec<f64> =
            counted.iter().filter_map(|(_, reading)| in_basis(reading, basis).deviation).collect();
        let cpus: CpuSet = counted.iter().flat_map(|(key, _)| key.cpus()).collect();
        let independent_pairs = counted.len().min((cpus.len() / 2).max(1)) as f64;
        let widening = if counted.len() > 2 { MEDIAN_VARIANCE } else { 1.0 };
        let mut values: Vec<[f64; 2]> = members
            .iter()
            .map(|(_, reading)| [reading.value.point, in_basis(reading, basis).point])
            .collect();
        values.sort_unstable_by(|x, y| x[0].total_cmp(&y[0]).then(x[1].total_cmp(&y[1])));
        LevelSummary {
            median: middle(&|reading| reading.value.point),
            location: middle(&|reading| in_basis(reading, basis).point),
            deviation: scatter(&logarithms, &known).map(|cell| cell * (widening / independent_pairs).sqrt()),
            all_known: known.len() == counted.len(),
            moved: members.len() - steady_members.len(),
            left_out: members.len() - counted.len(),
            values,
        }
    }
}

pub(super) struct LevelShift {
    pub judged: Judged,
    pub left_out: usize,
    pub as_read: f64,
}

pub(super) fn judge_apart(
    a: &Members<'_>,
    b: &Members<'_>,
    basis: Basis,
    margin: &impl Fn(f64) -> Margin,
    guest: bool,
) -> LevelShift {
    let [x, y] = [a, b].map(|members| LevelSummary::new(members, basis));
    let own_deviation = x.deviation.zip(y.deviation).map(|(x, y)| x.hypot(y));
    let identical = x.values == y.values;
    let judged = Judged::from_case(Case {
        a: x.median,
        b: y.median,
        shift: (y.location / x.location).ln(),
        deviation: own_deviation.map(|own_deviation| own_deviation.hypot(shared(x.all_known && y.all_known))),
        margin: margin(x.median.min(y.median)),
        moved: 2 * x.moved > a.len() || 2 * y.moved > b.len(),
        guest,
        identical,
    });
    let left_out = if identical { 0 } else { x.left_out + y.left_out };
    LevelShift { judged, left_out, as_read: y.median / x.median - 1.0 }
}

/// Minimum number of values for a sufficiently precise spread.
pub(super) const VALUES_THAT_TELL: usize = 20;
/// Minimum number of values for Student's t (1908): the spread of five values is itself off by a third.
const MIN_VALUES: usize = 6;
/// Values farther than this many deviations (1.48 MAD) from the median were disturbed and are left out.
const GROSS: f64 = 10.0;
/// Two runs on one idle host reproduce the median of a level within 1 %, so their difference has a deviation of 0.7 %.
const SHARED_BY_A_RUN: f64 = 0.007;
/// Even careful runs differ by 1.5 % across reboots. Files do not state their conditions.
const SHARED_BY_A_FILE: f64 = 0.015;
const COMPARED_QUANTILE: f64 = 0.995;

/// Estimates the deviation of one value among others, as logarithms. With many values the result is their spread. With
/// few values it is the larger of the spread and the claimed deviation, if all have one. Otherwise, the standard
/// deviation is widened by the ratio of the t quantile to the normal quantile. At least `MIN_VALUES` are necessary.
pub(super) fn scatter(values: &[f64], claimed: &[f64]) -> Option<f64> {
    let spread = mad(values, MadScale::Normal);
    let n = values.len();
    if n >= VALUES_THAT_TELL {
        return spread;
    }
    if n > 0 && claimed.len() == n {
        let squares: f64 = claimed.iter().map(|deviation| deviation * deviation).sum();
        return Some((squares / n as f64).sqrt().max(spread.unwrap_or(0.0)));
    }
    let (middle, spread) = (median(values)?, spread?);
    let is_gross = |value: &f64| spread > 0.0 && (value - middle).abs() > GROSS * spread;
    let others: Vec<f64> = values.iter().copied().filter(|value| !is_gross(value)).collect();
    let kept = if others.len() < MIN_VALUES { values } else { &others };
    (kept.len() >= MIN_VALUES).then(|| {
        let mean = kept.iter().sum::<f64>() / kept.len() as f64;
        let freedom = (kept.len() - 1) as f64;
        let variance = kept.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / freedom;
        variance.sqrt() * student(COMPARED_QUANTILE, freedom) / normal::quantile(COMPARED_QUANTILE)
    })
}

pub(super) fn shared(all_have_intervals: bool) -> f64 {
    if all_have_intervals { SHARED_BY_A_RUN } else { SHARED_BY_A_FILE }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Key;

    #[test]
    fn few_values_without_intervals_widen_the_scatter_and_fewer_have_none() {
        let values: Vec<f64> = (0..40).map(|index| 0.1 * Key::from_words(&[1]).normal(index)).collect();
        assert_eq!(scatter(&values[..5], &[]), None);
        assert_eq!(scatter(&[], &[]), None);
        let [six, many] = [&values[..6], &values[..]].map(|values| scatter(values, &[]).unwrap());
        let mean = values[..6].iter().sum::<f64>() / 6.0;
        let plain = (values[..6].iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 5.0).sqrt();
        assert!(six > 1.5 * plain && (0.07..0.14).contains(&many), "{six} {plain} {many}");
        assert_eq!(scatter(&values[..1], &[0.02]), Some(0.02));
    }

    #[test]
    fn six_pairs_have_no_more_false_positives_than_many() {
        let trials = 20_000;
        let wrong = (0..trials).filter(|&trial| {
            let shifts: Vec<f64> = (0..6).map(|pair| Key::from_words(&[trial]).normal(pair)).collect();
            let mean = shifts.iter().sum::<f64>() / 6.0;
            mean.abs() > normal::quantile(COMPARED_QUANTILE) * scatter(&shifts, &[]).unwrap() / 6f64.sqrt()
        });
        let wrong = wrong.count();
        assert!((150..250).contains(&wrong), "{wrong} of {trials}");
    }
}
