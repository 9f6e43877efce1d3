//! [`Doubt`]: whether levels that look alike are the same thing.
//!
//! Eight groups of two are threads of a core on one machine and cores of a cluster on the next. Where neither systems nor
//! tests nor the model of the CPU say what groups are, times have to: of the published matrices whose groups look alike,
//! every two that mean different things (dies and packages, threads and clusters) differ by 1.38 or more at some level. The
//! limit was chosen with these files in view.

use super::paired::has_ratio;
use super::seen::latency_dataset;
use super::{Fact, Levels, Side};
use crate::stats::median_in_place;
use std::collections::BTreeMap;

/// Levels whose times differ by no more are taken for the same thing.
const PLAUSIBLE: f64 = 4.0 / 3.0;

/// Levels that look alike and differ by more than the same thing would.
#[derive(Debug, Clone, PartialEq)]
pub struct Doubt {
    /// The level that differs most, by its name on both sides.
    pub level: String,
    /// Its median in A.
    pub a: f64,
    /// Its median in B.
    pub b: f64,
    /// Unit of both.
    pub unit: String,
}

impl Doubt {
    /// How many times as long the slower side takes.
    pub fn factor(&self) -> f64 {
        (self.a / self.b).max(self.b / self.a)
    }

    /// Of levels of the same names, where nothing but their times says what they are; `None` where these are plausible,
    /// or where the sides are known to be of one model.
    pub(super) fn between(a: &Side, b: &Side, levels: &[Levels; 2]) -> Option<Doubt> {
        let model = |side: &Side| side.facts.get(&Fact::CpuModel).cloned();
        if model(a).is_some() && model(a) == model(b) {
            return None;
        }
        let [left, right] = [(a, &levels[0]), (b, &levels[1])].map(|(side, levels)| medians(side, levels));
        let unit = latency_dataset(a)?.unit.clone();
        let doubts = left.into_iter().filter_map(|(level, a)| {
            let b = *right.get(&level)?;
            Some(Doubt { level, a, b, unit: unit.clone() })
        });
        doubts.max_by(|x, y| x.factor().total_cmp(&y.factor())).filter(|doubt| doubt.factor() > PLAUSIBLE)
    }
}

/// The median of each level of the latencies of a side, as read.
fn medians(side: &Side, levels: &Levels) -> BTreeMap<String, f64> {
    let mut by_level: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (key, reading) in latency_dataset(side).iter().flat_map(|dataset| &dataset.readings) {
        if reading.steady && has_ratio(reading.value.point) {
            by_level.entry(levels.of_key(key).1).or_default().push(reading.value.point);
        }
    }
    by_level
        .into_iter()
        .filter_map(|(level, mut values)| Some((level, median_in_place(&mut values)?)))
        .collect()
}
