//! Latency between pairs of CPUs: requests ([`settings`]), single passes ([`visit`]), and results ([`result`]).

pub mod analyse;
pub mod cell;
pub mod choices;
pub mod execution;
pub mod finding;
pub mod hint;
pub mod imitated;
mod interned;
pub mod ladder;
pub mod one_way;
mod pass_rows;
mod passes;
pub mod record;
pub mod reduce;
pub mod result;
pub mod settings;
pub mod summary;
pub mod tails;
pub mod visit;
pub mod watch;

/// The name of the probe in files, documents and commands.
pub const PROBE: &str = "latency";

pub use analyse::{analyse, analyse_while};
pub use choices::{Choices, ChosenHint, ChosenRegime};
pub use execution::{Execution, ExecutionTest};
pub use ladder::EmptyRung;
pub use record::{CellPasses, Entry, Kinds, Record, cells, representatives};
pub use reduce::{Reducer, Scale, reduce};
pub use result::{
    CellState, CellValue, GateOutcome, Imitated, ImitatedCell, LadderRow, LatencyMap, LatencyResult, LeftOut,
    MissingReason, PairOutcome, RareFacts, Regime, StateWatch, TailSeries, WatchedState,
};
pub use settings::{Counts, HintChoice, HomeSetting, LatencySettings, PairChoice, Parallel, Spacing, Tails};
pub use visit::{Purpose, RecordedRound, RecordedTrial, SpanSummary, Visit};
