//! Comparison of two sets of results: which values differ, which are the same, and which are undecided.
//!
//! A [`Side`] is a run or a file of another tool. It has one [`Dataset`] of [`SideReading`]s for each matrix or set of
//! series. [`mismatches`] lists differing conditions. [`Alignment`] determines which values are compared.
//! [`compare`](fn@compare) judges corresponding datasets by level, then by cell.

mod alignment;
mod answer;
mod comparison;
mod judge;
mod levels;
mod likeness;
mod of_matrix;
mod of_trials;
mod overview;
mod seen;
mod shift;
mod side;
mod verdict;

pub use alignment::{Alignment, Likeness, Obstacle, Pairing};
pub use answer::{Answer, Disjoint, Shown, ShownLevel};
pub use comparison::{
    Basis, CellDifference, Comparison, DatasetComparison, Difference, Letter, LevelAlone, LevelDifference,
    NoRatio, Possible, Unmatched,
};
pub use judge::compare;
pub use levels::{ALL, GroupLevel, Levels, ObservedLevel};
pub use likeness::LevelMismatch;
pub use of_matrix::{of_import, of_latency};
pub use of_trials::{of_places, of_series};
pub use overview::{GroupMedian, Overview, OverviewGroup, OverviewRow, overview};
pub use side::{
    Dataset, Fact, LogEstimate, Mismatch, ReadingKey, Series, Side, SideReading, Weight, mismatches,
};
pub use verdict::{LeastEffect, Verdict, VerdictInput};
