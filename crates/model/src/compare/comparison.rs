//! [`Comparison`]: what comes out when two sides are held against each other.

use super::{ReadingKey, Verdict};
use crate::quantity::Better;
use crate::stats::Estimate;

/// What two sides say when they are held against each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// One for each pair of equal datasets.
    pub datasets: Vec<DatasetComparison>,
    /// What only one side holds.
    pub unmatched: Unmatched,
    /// Trials of A and of B that are left out since the queue did not keep the send rate.
    pub saturated: [usize; 2],
}

/// Datasets that only one side holds, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unmatched {
    /// A.
    pub in_a: Vec<String>,
    /// B.
    pub in_b: Vec<String>,
}

/// In what the shifts of a dataset are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Core cycles: what outlasts a change of the clock.
    Cycles,
    /// The unit as read, because a side does not know its core clock.
    AsRead,
}

/// Two equal datasets against each other.
#[derive(Debug, Clone, PartialEq)]
pub struct DatasetComparison {
    /// Its name.
    pub name: String,
    /// Its quantity.
    pub quantity: String,
    /// Unit of `a` and `b` in its differences.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// In what shifts are measured.
    pub basis: Basis,
    /// By level, nearest first.
    pub levels: Vec<LevelDifference>,
    /// Of all pairs, where there are several levels and all of them are shown to have changed alike, to less than what
    /// counts: then levels have one error in common, and this is the verdict. Values of `a` and `b` are medians.
    pub together: Option<Difference>,
    /// Levels of one side to which none of the other is known to correspond: those of A, then those of B.
    pub alone: Vec<LevelAlone>,
    /// By cell, in the order of subjects; empty where no pair is held against a pair.
    pub cells: Vec<CellDifference>,
    /// Subjects with a value on one side only, where pairs are held against themselves.
    pub lonely: usize,
    /// Values that are left out because no ratio can be told of them: zero or less, or beyond what can be measured.
    pub without_ratio: Vec<NoRatio>,
}

impl DatasetComparison {
    /// What B is where a difference is shown, worse and better: of times and rates slower and faster; a variation says
    /// nothing of how long anything takes.
    pub fn called(&self) -> [&'static str; 2] {
        match self.quantity.as_str() {
            "one_way_variation" => ["less stable", "steadier"],
            _ => ["slower", "faster"],
        }
    }

    /// The word for a shift above zero.
    pub fn called_above(&self) -> &'static str {
        let [worse, better] = self.called();
        if self.better == Better::Lower { worse } else { better }
    }
}

/// A value of which no ratio can be told.
#[derive(Debug, Clone, PartialEq)]
pub struct NoRatio {
    /// Whose it is.
    pub of: Letter,
    /// Of what.
    pub key: ReadingKey,
    /// As read.
    pub value: f64,
}

/// A verdict with its numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Value of A in the unit as read: of a level the median.
    pub a: f64,
    /// Value of B.
    pub b: f64,
    /// B ÷ A − 1 in the basis of the dataset, with its 95 % interval; the interval is endless where the error is unknown.
    pub shift: Estimate,
    /// Corrected p-value of "no difference".
    pub q_value: f64,
    /// What is shown.
    pub verdict: Verdict,
    /// The difference is shown to stay within this share, at 95 %; `None` where the error is unknown.
    pub within: Option<f64>,
    /// The least share that counts here.
    pub least: f64,
    /// Why it cannot be told, where more is known than that the error is too large, or what shows that it is the same
    /// where no interval does.
    pub reason: Option<&'static str>,
    /// Whether it is possible, at 5 %, that B is better by what counts, and that it is worse.
    pub possible: Possible,
}

impl Difference {
    /// How well the shift is known: the larger side of its 95 % interval, as a share; `None` where that is endless.
    pub fn reach(&self) -> Option<f64> {
        let Estimate { point, low, high, .. } = self.shift;
        Some((high - point).max(point - low)).filter(|reach| reach.is_finite())
    }
}

/// What has not been shown to be otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Possible {
    /// B may be better.
    pub faster: bool,
    /// B may be worse.
    pub slower: bool,
}

/// A level.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelDifference {
    /// A relation, `group-1` and so on, `across`, `all`, or the name of a series.
    pub level: String,
    /// Pairs of A and of B: those that both have, unless no pair is held against a pair.
    pub pairs: [usize; 2],
    /// Pairs among them that are left out because they changed state during a run.
    pub left_out: usize,
    /// The verdict.
    pub difference: Difference,
    /// B ÷ A − 1 in the unit as read, where the basis is another.
    pub as_read: Option<f64>,
}

impl LevelDifference {
    /// Core clock of B ÷ that of A − 1, from what the shift as read makes of the shift in cycles: nanoseconds are cycles
    /// ÷ clock. `None` where one of them is not known.
    ///
    /// Never below −1: a clock falls by less than all of it, however much longer everything takes.
    pub fn clock(&self) -> Option<f64> {
        let ratio = (1.0 + self.difference.shift.point) / (1.0 + self.as_read?);
        (ratio.is_finite() && ratio > 0.0).then_some(ratio - 1.0)
    }
}

/// A level that has nothing to be held against.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelAlone {
    /// Of which side it is.
    pub of: Letter,
    /// Its name there.
    pub level: String,
    /// Its pairs.
    pub pairs: usize,
    /// Their median in the unit as read.
    pub median: f64,
}

/// One of two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Letter {
    /// The first.
    A,
    /// The second, of which `faster` and `slower` speak.
    B,
}

/// A cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CellDifference {
    /// Which.
    pub key: ReadingKey,
    /// Position of its level in [`DatasetComparison::levels`].
    pub level: usize,
    /// The verdict.
    pub difference: Difference,
    /// Whether it is shown to have changed by another factor than its level, at a false discovery rate of 1 %.
    pub departs: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::around;

    #[test]
    fn a_variation_is_never_called_fast_and_more_of_a_rate_is() {
        let dataset = |quantity: &str, better| DatasetComparison {
            name: String::new(),
            quantity: quantity.into(),
            unit: String::new(),
            better,
            basis: Basis::AsRead,
            levels: Vec::new(),
            together: None,
            alone: Vec::new(),
            cells: Vec::new(),
            lonely: 0,
            without_ratio: Vec::new(),
        };
        assert_eq!(dataset("half_round_trip", Better::Lower).called_above(), "slower");
        assert_eq!(dataset("throughput", Better::Higher).called_above(), "faster");
        let variation = dataset("one_way_variation", Better::Lower);
        assert_eq!((variation.called_above(), variation.called()[1]), ("less stable", "steadier"));
    }

    #[test]
    fn twice_the_time_for_the_same_cycles_is_half_the_clock() {
        let difference = Difference {
            a: 10.0,
            b: 20.4,
            shift: around(0.0, 0.0),
            q_value: 1.0,
            verdict: Verdict::Same,
            within: Some(0.01),
            least: 0.03,
            reason: None,
            possible: Possible { faster: false, slower: false },
        };
        let level = |as_read: Option<f64>| LevelDifference {
            level: "l3".into(),
            pairs: [8, 8],
            left_out: 0,
            difference: difference.clone(),
            as_read,
        };
        let clock = level(Some(1.04)).clock().unwrap();
        assert!((clock + 1.04 / 2.04).abs() < 1e-12, "lower by 51 %, not by 104: {clock}");
        assert!((level(Some(-0.5)).clock().unwrap() - 1.0).abs() < 1e-12, "twice the clock");
        assert_eq!(
            (level(None).clock(), level(Some(-1.0)).clock(), level(Some(f64::NAN)).clock()),
            (None, None, None)
        );
    }
}
