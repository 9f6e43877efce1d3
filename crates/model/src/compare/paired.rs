//! Pairs against themselves: what both sides have, by level and by cell.

use super::effect::Margin;
use super::judged::{Case, Judged};
use super::noise::{VALUES_THAT_TELL, scatter, shared};
use super::{Basis, Dataset, Reading, ReadingKey, Value};
use crate::stats::compare::paired_location;
use crate::stats::median;

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
