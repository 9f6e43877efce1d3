use super::{ReadingKey, Verdict};
use crate::quantity::Better;
use crate::stats::Estimate;

/// The result of comparing two sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// One entry for each pair of corresponding datasets.
    pub datasets: Vec<DatasetComparison>,
    /// Datasets that only one side has.
    pub unmatched: Unmatched,
    /// Numbers of trials of A and of B that were left out because the queue did not keep up with the send rate.
    pub saturated: [usize; 2],
}

/// Names of datasets that only one side has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unmatched {
    /// Datasets of A.
    pub in_a: Vec<String>,
    /// Datasets of B.
    pub in_b: Vec<String>,
}

/// The unit in which the shifts of a dataset are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Core cycles, which are independent of the clock frequency.
    Cycles,
    /// The unit as read, because the core clock of a side is unknown.
    AsRead,
}

/// The comparison of two corresponding datasets.
#[derive(Debug, Clone, PartialEq)]
pub struct DatasetComparison {
    /// Name of the dataset.
    pub name: String,
    /// What was measured, without the quantity.
    pub subject: String,
    /// Name of the quantity.
    pub quantity: String,
    /// Unit of `a` and `b` in the differences.
    pub unit: String,
    /// Which direction is better.
    pub better: Better,
    /// The basis of the shifts.
    pub basis: Basis,
    /// Differences by level, nearest first.
    pub levels: Vec<LevelDifference>,
    /// The difference over all pairs, if there are several levels and all changed alike to within the margin. The
    /// levels then share one error and this verdict. `a` and `b` are medians.
    pub together: Option<Difference>,
    /// Levels of one side without a known counterpart: those of A, then those of B.
    pub alone: Vec<LevelAlone>,
    /// Differences by cell, in the order of subjects; empty if pairs are not compared one by one.
    pub cells: Vec<CellDifference>,
    /// Number of subjects with a value on one side only, if pairs are compared one by one.
    pub lonely: usize,
    /// Values without a meaningful ratio, which were left out: zero, negative, or beyond the measurable range.
    pub without_ratio: Vec<NoRatio>,
}

impl DatasetComparison {
    /// The words for a worse and a better B: slower and faster, or, for a variation, less stable and steadier.
    pub fn called(&self) -> [&'static str; 2] {
        match self.quantity.as_str() {
            "one_way_variation" => ["less stable", "steadier"],
            _ => ["slower", "faster"],
        }
    }

    /// The word for a positive shift.
    pub fn called_above(&self) -> &'static str {
        let [worse, better] = self.called();
        if self.better == Better::Lower { worse } else { better }
    }
}

/// A value without a meaningful ratio.
#[derive(Debug, Clone, PartialEq)]
pub struct NoRatio {
    /// The side with the value.
    pub of: Letter,
    /// The subject.
    pub key: ReadingKey,
    /// The value as read.
    pub value: f64,
}

/// A verdict with its numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Value of A in the unit as read; the median for a level.
    pub a: f64,
    /// Value of B in the unit as read; the median for a level.
    pub b: f64,
    /// B ÷ A − 1 in the basis of the dataset, with its 95 % interval, unbounded if the error is unknown.
    pub shift: Estimate,
    /// Corrected p-value of "no difference".
    pub q_value: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// Bound on the relative difference at 95 % confidence; `None` if the error is unknown.
    pub within: Option<f64>,
    /// Minimum relevant relative difference.
    pub least: f64,
    /// Why the comparison is undecided, if not for a large error; or why the sides are the same without an interval.
    pub reason: Option<&'static str>,
    /// Whether B may be better, and may be worse, by at least the margin (at 5 %).
    pub possible: Possible,
}

impl Difference {
    /// Precision of the shift: the larger side of its 95 % interval, as a share; `None` if the interval is unbounded.
    pub fn reach(&self) -> Option<f64> {
        let Estimate { point, low, high, .. } = self.shift;
        Some((high - point).max(point - low)).filter(|reach| reach.is_finite())
    }
}

/// Outcomes that are not ruled out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Possible {
    /// B may be better.
    pub faster: bool,
    /// B may be worse.
    pub slower: bool,
}

/// The comparison of one level.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelDifference {
    /// Name of the level: a relation, `group-1` and so on, `across`, `all`, or the name of a series.
    pub level: String,
    /// Numbers of pairs of A and of B. If pairs are compared one by one, only common pairs count.
    pub pairs: [usize; 2],
    /// Number of pairs that were left out because they changed state during a run.
    pub left_out: usize,
    /// The verdict with its numbers.
    pub difference: Difference,
    /// B ÷ A − 1 in the unit as read, if the basis is cycles.
    pub as_read: Option<f64>,
}

impl LevelDifference {
    /// Core clock of B ÷ that of A − 1, derived from the shifts as read and in cycles. `None` if a shift is unknown.
    /// Values are above −1, because no clock falls by 100 %.
    pub fn clock(&self) -> Option<f64> {
        let ratio = (1.0 + self.difference.shift.point) / (1.0 + self.as_read?);
        (ratio.is_finite() && ratio > 0.0).then_some(ratio - 1.0)
    }
}

/// A level without a counterpart.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelAlone {
    /// The side with the level.
    pub of: Letter,
    /// Name of the level on that side.
    pub level: String,
    /// Number of pairs.
    pub pairs: usize,
    /// Median of the pairs in the unit as read.
    pub median: f64,
}

/// One of two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Letter {
    /// The first side.
    A,
    /// The second side, to which `faster` and `slower` refer.
    B,
}

/// The comparison of one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CellDifference {
    /// The subject.
    pub key: ReadingKey,
    /// Index of the level in [`DatasetComparison::levels`].
    pub level: usize,
    /// The verdict with its numbers.
    pub difference: Difference,
    /// Whether the shift differs from that of the level, at a false discovery rate of 1 %.
    pub departs: bool,
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::tests::around;

    pub fn dataset(quantity: &str, better: Better, levels: Vec<LevelDifference>) -> DatasetComparison {
        DatasetComparison {
            name: "wait".into(),
            subject: "wait".into(),
            quantity: quantity.into(),
            unit: "ns".into(),
            better,
            basis: Basis::AsRead,
            levels,
            together: None,
            alone: Vec::new(),
            cells: Vec::new(),
            lonely: 0,
            without_ratio: Vec::new(),
        }
    }

    pub fn level(verdict: Verdict, [a, b]: [f64; 2], as_read: Option<f64>) -> LevelDifference {
        let difference = Difference {
            a,
            b,
            shift: around(b / a - 1.0, 0.001),
            q_value: 0.0,
            verdict,
            within: None,
            least: 0.03,
            reason: None,
            possible: Possible { faster: true, slower: true },
        };
        LevelDifference { level: "l3".into(), pairs: [1, 1], left_out: 0, difference, as_read }
    }

    #[test]
    fn variations_are_never_called_faster_and_higher_rates_are() {
        let dataset = |quantity: &str, better| dataset(quantity, better, Vec::new());
        assert_eq!(dataset("half_round_trip", Better::Lower).called_above(), "slower");
        assert_eq!(dataset("throughput", Better::Higher).called_above(), "faster");
        let variation = dataset("one_way_variation", Better::Lower);
        assert_eq!((variation.called_above(), variation.called()[1]), ("less stable", "steadier"));
    }

    #[test]
    fn twice_the_time_for_the_same_cycles_is_half_the_clock() {
        let level = |as_read| {
            let mut level = level(Verdict::Same, [10.0, 20.4], as_read);
            level.difference.shift = around(0.0, 0.0);
            level
        };
        let clock = level(Some(1.04)).clock().unwrap();
        assert!((clock + 1.04 / 2.04).abs() < 1e-12, "lower by 51 %, not by 104: {clock}");
        assert!((level(Some(-0.5)).clock().unwrap() - 1.0).abs() < 1e-12, "twice the clock");
        assert_eq!([None, Some(-1.0), Some(f64::NAN)].map(|as_read| level(as_read).clock()), [None; 3]);
    }
}
