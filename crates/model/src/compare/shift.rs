//! The shift of a level or a cell from one side to the other, and how sure it is: of pairs against themselves, and of medians
//! of levels whose pairs are not the same pairs.
//!
//! A CPU that is slow is so in all of its pairs, so that the pairs of a level are not as many witnesses as they are many:
//! at most half as many as it has CPUs share none. Where pairs are not the same, the spread between them, which holds what
//! the machine differs by from pair to pair as well as chance, is divided by these alone: small differences between two
//! machines cannot be told.

use super::verdict::{Case, Judged, Margin};
use super::{Basis, Dataset, Reading, ReadingKey, Value};
use crate::CpuSet;
use crate::stats::compare::paired_location;
use crate::stats::{MadScale, mad, median, normal, student};

/// What a median of Walsh averages makes of normal errors, against their mean (Hodges and Lehmann 1963).
const EFFICIENCY: f64 = 0.955;

/// A subject that both sides have.
pub(super) struct Joined<'a> {
    pub key: &'a ReadingKey,
    pub a: Reading,
    pub b: Reading,
    /// ln(B ÷ A) in the basis, and its deviation where both sides know theirs.
    shift: f64,
    deviation: Option<f64>,
    /// Whether everything that both sides have is equal.
    in_equal_datasets: bool,
}

impl Joined<'_> {
    pub fn steady(&self) -> bool {
        self.a.steady && self.b.steady
    }

    /// Equal values need no interval. One that has an interval may coincide by chance, on the steps of a clock, unless all
    /// others are equal, too.
    fn identical(&self) -> bool {
        let is_equal = self.shift == 0.0 && self.a.value.point == self.b.value.point;
        is_equal && (self.in_equal_datasets || self.deviation.is_none())
    }
}

/// Whether a value can be divided by.
pub(super) fn has_ratio(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

/// Core cycles where every reading is known in them, else the unit as read.
pub(super) fn basis<'a>(readings: impl Iterator<Item = &'a Reading>) -> Basis {
    let clocked = |reading: &Reading| reading.cycles.is_some_and(|cycles| has_ratio(cycles.point));
    let mut readings = readings.peekable();
    if readings.peek().is_some() && readings.all(clocked) { Basis::Cycles } else { Basis::AsRead }
}

/// A reading in a basis.
pub(super) fn in_basis(reading: &Reading, basis: Basis) -> Value {
    match basis {
        Basis::Cycles => reading.cycles.unwrap_or(reading.value),
        Basis::AsRead => reading.value,
    }
}

/// What both sides have, in core cycles where every one of them is known in cycles on both.
pub(super) fn join<'a>(a: &'a Dataset, b: &'a Dataset) -> (Vec<Joined<'a>>, Basis) {
    let both = |(key, left): (&'a ReadingKey, &'a Reading)| {
        let right = b.readings.get(key)?;
        let comparable = has_ratio(left.value.point) && has_ratio(right.value.point);
        comparable.then_some((key, *left, *right))
    };
    let common: Vec<(&ReadingKey, Reading, Reading)> = a.readings.iter().filter_map(both).collect();
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

/// What a level's pairs show of chance.
pub(super) struct Noise {
    /// Deviation of the shift of one pair; `None` where nothing is known.
    cell: Option<f64>,
    /// Median over the pairs of what their intervals say, where the spread between pairs decides.
    typical: Option<f64>,
    /// Deviation that all pairs share.
    shared: f64,
}

impl Noise {
    pub fn of(members: &[&Joined<'_>]) -> Noise {
        let shifts: Vec<f64> = steady(members).map(|joined| joined.shift).collect();
        let known: Vec<f64> = steady(members).filter_map(|joined| joined.deviation).collect();
        let all_known = known.len() == shifts.len();
        let spread_decides = shifts.len() >= VALUES_THAT_TELL && all_known;
        let typical = median(&known).filter(|_| spread_decides);
        Noise { cell: scatter(&shifts, &known), typical, shared: shared(all_known) }
    }

    /// Deviation of the shift of this pair: that of its level, wider where its own intervals are; in a small level its
    /// own intervals alone.
    fn of_cell(&self, joined: &Joined<'_>) -> Option<f64> {
        let own = match (self.typical, joined.deviation) {
            (Some(typical), Some(own)) => self.cell? * (own / typical).max(1.0),
            (None, Some(own)) => own,
            (_, None) => self.cell?,
        };
        Some(own.hypot(self.shared))
    }
}

pub(super) fn judge_level(
    members: &[&Joined<'_>],
    noise: &Noise,
    margin: &impl Fn(f64) -> Margin,
    guest: bool,
) -> Judged {
    let still: Vec<&Joined<'_>> = steady(members).collect();
    let told: &[&Joined<'_>] = if still.is_empty() { members } else { &still };
    let middle = |side: fn(&Joined<'_>) -> f64| {
        median(&told.iter().map(|joined| side(joined)).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    };
    let (a, b) = (middle(|joined| joined.a.value.point), middle(|joined| joined.b.value.point));
    let shifts: Vec<f64> = told.iter().map(|joined| joined.shift).collect();
    let pairs = told.len() as f64;
    Judged::of(Case {
        a,
        b,
        shift: paired_location(&shifts).unwrap_or(f64::NAN),
        deviation: noise.cell.map(|cell| (cell * cell / (EFFICIENCY * pairs)).sqrt().hypot(noise.shared)),
        margin: margin(a.min(b)),
        moved: 2 * still.len() < members.len(),
        guest,
        identical: members.iter().all(|joined| joined.identical()),
    })
}

pub(super) fn judge_cell(
    joined: &Joined<'_>,
    noise: &Noise,
    margin: &impl Fn(f64) -> Margin,
    guest: bool,
) -> Judged {
    let (a, b) = (joined.a.value.point, joined.b.value.point);
    Judged::of(Case {
        a,
        b,
        shift: joined.shift,
        deviation: noise.of_cell(joined),
        margin: margin(a.min(b)),
        moved: !joined.steady(),
        guest,
        identical: joined.identical(),
    })
}

/// How much wider a median of normal values is than their mean: π ÷ 2, as a variance.
const OF_A_MEDIAN: f64 = std::f64::consts::FRAC_PI_2;

/// The readings of one level of one side.
pub(super) type Members<'a> = Vec<(&'a ReadingKey, &'a Reading)>;

/// A level of one side in numbers.
struct LevelSummary {
    /// As read.
    median: f64,
    /// In the basis.
    location: f64,
    /// Deviation of the logarithm of `location`.
    deviation: Option<f64>,
    /// Whether every pair has an interval.
    all_known: bool,
    /// Pairs that changed their state during a run.
    moved: usize,
    /// The values in both units, in order of size.
    values: Vec<[f64; 2]>,
}

impl LevelSummary {
    fn of(members: &Members<'_>, basis: Basis) -> LevelSummary {
        let still: Members<'_> = members.iter().copied().filter(|(_, reading)| reading.steady).collect();
        let counted = if still.is_empty() { members } else { &still };
        let middle = |of: &dyn Fn(&Reading) -> f64| {
            median(&counted.iter().map(|(_, reading)| of(reading)).collect::<Vec<f64>>()).unwrap_or(f64::NAN)
        };
        let logarithms: Vec<f64> =
            counted.iter().map(|(_, reading)| in_basis(reading, basis).point.ln()).collect();
        let known: Vec<f64> =
            counted.iter().filter_map(|(_, reading)| in_basis(reading, basis).deviation).collect();
        let cpus: CpuSet = counted.iter().flat_map(|(key, _)| key.cpus()).collect();
        // One or two values have no other middle than their mean.
        let witnesses = counted.len().min((cpus.len() / 2).max(1)) as f64;
        let widening = if counted.len() > 2 { OF_A_MEDIAN } else { 1.0 };
        let mut values: Vec<[f64; 2]> = members
            .iter()
            .map(|(_, reading)| [reading.value.point, in_basis(reading, basis).point])
            .collect();
        values.sort_unstable_by(|x, y| x[0].total_cmp(&y[0]).then(x[1].total_cmp(&y[1])));
        LevelSummary {
            median: middle(&|reading| reading.value.point),
            location: middle(&|reading| in_basis(reading, basis).point),
            deviation: scatter(&logarithms, &known).map(|cell| cell * (widening / witnesses).sqrt()),
            all_known: known.len() == counted.len(),
            moved: members.len() - still.len(),
            values,
        }
    }
}

/// What comes out of a level, with how many of its pairs moved, and B ÷ A − 1 as read.
pub(super) struct Apart {
    pub judged: Judged,
    pub moved: usize,
    pub as_read: f64,
}

/// Holds the level of one side against that of the other.
pub(super) fn judge_apart(
    a: &Members<'_>,
    b: &Members<'_>,
    basis: Basis,
    margin: &impl Fn(f64) -> Margin,
    guest: bool,
) -> Apart {
    let [x, y] = [a, b].map(|members| LevelSummary::of(members, basis));
    let own = x.deviation.zip(y.deviation).map(|(x, y)| x.hypot(y));
    let judged = Judged::of(Case {
        a: x.median,
        b: y.median,
        shift: (y.location / x.location).ln(),
        deviation: own.map(|own| own.hypot(shared(x.all_known && y.all_known))),
        margin: margin(x.median.min(y.median)),
        moved: 2 * x.moved > a.len() || 2 * y.moved > b.len(),
        guest,
        identical: x.values == y.values,
    });
    Apart { judged, moved: x.moved + y.moved, as_read: y.median / x.median - 1.0 }
}

/// The readings that have a ratio.
pub(super) fn comparable<'a>(readings: impl Iterator<Item = (&'a ReadingKey, &'a Reading)>) -> Members<'a> {
    readings.filter(|(_, reading)| has_ratio(reading.value.point)).collect()
}

/// From so many values on, the spread between them is known well enough to judge by it.
pub(super) const VALUES_THAT_TELL: usize = 20;
/// From so many on it is known as far as Student's t allows for (1908); a spread of five is itself off by a third.
const FEWEST_VALUES: usize = 6;
/// Two runs on one idle host repeat the median of a level within 1 %: the difference has a deviation of 0.7 %.
const SHARED_BY_A_RUN: f64 = 0.007;
/// Files say nothing of their conditions: 1.5 % is what even careful runs differ by across reboots.
const SHARED_BY_A_FILE: f64 = 0.015;
/// The probability at which a t of few degrees of freedom is held against a normal deviation: that of level verdicts.
const FAR_OUT: f64 = 0.9995;

/// The deviation of one value among others, as logarithms, from their spread where they are many, else from what their
/// intervals claim if that is more; `claimed` is shorter than `values` where some have none. Of few without intervals the
/// spread is made as much wider as a t of as few is than a normal variable; of fewer nothing is known.
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
    (n >= FEWEST_VALUES).then(|| {
        let mean = values.iter().sum::<f64>() / n as f64;
        let freedom = (n - 1) as f64;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / freedom;
        variance.sqrt() * student(FAR_OUT, freedom) / normal::quantile(FAR_OUT)
    })
}

/// What all pairs of a run share, which no number of pairs averages away.
pub(super) fn shared(all_have_intervals: bool) -> f64 {
    if all_have_intervals { SHARED_BY_A_RUN } else { SHARED_BY_A_FILE }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Key;

    #[test]
    fn few_values_without_intervals_are_wide_and_fewer_say_nothing() {
        let values: Vec<f64> = (0..40).map(|index| 0.1 * Key::of(&[1]).normal(index)).collect();
        assert_eq!(scatter(&values[..5], &[]), None);
        assert_eq!(scatter(&[], &[]), None);
        let [six, many] = [&values[..6], &values[..]].map(|values| scatter(values, &[]).unwrap());
        assert!(six > 0.12 && (0.07..0.14).contains(&many), "{six} {many}");
        // Intervals say it of one.
        assert_eq!(scatter(&values[..1], &[0.02]), Some(0.02));
    }

    #[test]
    fn a_difference_of_six_pairs_is_called_by_chance_as_rarely_as_one_of_many() {
        let trials = 20_000;
        let wrong = (0..trials).filter(|&trial| {
            let shifts: Vec<f64> = (0..6).map(|pair| Key::of(&[trial]).normal(pair)).collect();
            let mean = shifts.iter().sum::<f64>() / 6.0;
            mean.abs() > normal::quantile(FAR_OUT) * scatter(&shifts, &[]).unwrap() / 6f64.sqrt()
        });
        // 0.1 % of 20,000 are 20.
        let wrong = wrong.count();
        assert!((5..40).contains(&wrong), "{wrong} of {trials}");
    }
}
