//! [`Comparison`]: what comes out when two sides are held against each other.

use super::{Better, Subject, Verdict};
use crate::stats::Estimate;

/// What two sides say when they are held against each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// One for each pair of equal sheets.
    pub sheets: Vec<SheetComparison>,
    /// What only one side holds.
    pub unmatched: Unmatched,
}

/// Sheets that only one side holds, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unmatched {
    /// A.
    pub in_a: Vec<String>,
    /// B.
    pub in_b: Vec<String>,
}

/// In what the shifts of a sheet are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Core cycles: what outlasts a change of the clock.
    Cycles,
    /// The unit as read, because a side does not know its core clock.
    AsRead,
}

/// Two equal sheets against each other.
#[derive(Debug, Clone, PartialEq)]
pub struct SheetComparison {
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
    /// Levels of one side to which none of the other is known to correspond: those of A, then those of B.
    pub alone: Vec<LevelAlone>,
    /// By cell, in the order of subjects; empty where no pair is held against a pair.
    pub cells: Vec<CellDifference>,
    /// Subjects with a value on one side only, where pairs are held against themselves.
    pub lonely: usize,
    /// Subjects that both sides have, of which one is zero or less.
    pub without_ratio: usize,
}

/// A verdict with its numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Value of A in the unit as read: of a level the median.
    pub a: f64,
    /// Value of B.
    pub b: f64,
    /// B ÷ A − 1 in the basis of the sheet, with its 95 % interval; the interval is endless where the error is unknown.
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
    /// Pairs among them that changed state during a run and were left out.
    pub moved: usize,
    /// The verdict.
    pub difference: Difference,
    /// B ÷ A − 1 in the unit as read, where the basis is another.
    pub as_read: Option<f64>,
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
    pub subject: Subject,
    /// Position of its level in [`SheetComparison::levels`].
    pub level: usize,
    /// The verdict.
    pub difference: Difference,
}
