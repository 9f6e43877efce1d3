//! Two sets of results against each other: what differs, what is the same, and what cannot be told.
//!
//! A [`Side`] is a run, or a file of another tool, as [`Dataset`]s of [`Reading`]s: one dataset per matrix or set of
//! series, whatever probe it comes from. [`mismatches`] says which conditions differ, so that nobody compares what cannot be
//! compared; [`Alignment`] what of one side is held against what of the other; [`compare`](fn@compare) joins equal datasets
//! and judges first by level, then by cell.
//!
//! A probe joins by a function that makes its datasets (see [`of_latency`], [`of_series`], [`of_places`] and
//! [`of_import`]); nothing else here knows one probe from another.

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
pub use likeness::Doubt;
pub use of_matrix::{of_import, of_latency};
pub use of_trials::{of_places, of_series};
pub use overview::{GroupMedian, Overview, OverviewGroup, OverviewRow, overview};
pub use side::{Dataset, Fact, Mismatch, Reading, ReadingKey, Series, Side, Value, Weight, mismatches};
pub use verdict::{LeastEffect, Outcome, Verdict};
