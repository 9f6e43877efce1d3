//! Levels of two sides whose pairs are not the same pairs: median against median.
//!
//! A CPU that is slow is so in all of its pairs, so that the pairs of a level are not as many witnesses as they are many:
//! at most half as many as it has CPUs share none. The spread between them, which holds what the machine differs by from
//! pair to pair as well as chance, is divided by these alone: small differences between two machines cannot be told.

use super::effect::Margin;
use super::judged::{Case, Judged};
use super::noise::{scatter, shared};
use super::paired::{has_ratio, in_basis};
use super::{Basis, Reading, ReadingKey};
use crate::CpuSet;
use crate::stats::median;

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
