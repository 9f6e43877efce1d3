//! Two sets of results against each other: what differs, what is the same, and what cannot be told.
//!
//! A [`Side`] is a run, or a file of another tool, as [`Sheet`]s of [`Reading`]s: one sheet per matrix or set of
//! series, whatever probe it comes from. [`compare`](fn@compare) joins equal sheets and judges first by level, then by
//! cell; [`mismatches`] says which conditions differ, so that nobody compares what cannot be compared.
//!
//! A probe joins by a function that makes its sheets (see [`of_latency`](mod@of_latency), [`of_series`](mod@of_series), [`of_places`](mod@of_places) and [`of_import`]); nothing
//! else here knows one probe from another.

mod conditions;
mod effect;
mod judge;
mod levels;
pub mod of_import;
pub mod of_latency;
pub mod of_places;
pub mod of_series;
mod overview;
mod sheet;
mod shown;

pub use conditions::{Fact, Mismatch, Weight, mismatches};
pub use effect::{LeastEffect, Outcome, Verdict};
pub use judge::{
    Basis, CellDifference, Comparison, Difference, LevelDifference, SheetComparison, Unmatched, compare,
};
pub use levels::Levels;
pub use overview::{GroupMedian, Overview, OverviewRow, overview};
pub use sheet::{Better, Reading, Sheet, Side, Subject, Value};
