//! Latency between pairs of CPUs: what was asked ([`settings`]), what a pass said about a cell ([`visit`]), and what
//! follows from all passes ([`result`]).

pub mod analyse;
pub mod record;
pub mod result;
pub mod settings;
pub mod summary;
pub mod visit;

pub use analyse::analyse;
pub use record::{Entry, Record, cells};
pub use result::{
    Cell, CellState, CellValue, GateOutcome, Imitated, ImitatedCell, LadderRow, LatencyMap, LatencyResult,
    Regime, StateWatch, TailSeries, WatchedState,
};
pub use settings::{Counts, HintChoice, HomeSetting, LatencySettings, PairChoice, Parallel, Spacing, Tails};
pub use visit::{Purpose, SpanSummary, Visit};
