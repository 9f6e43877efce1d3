//! The session: drives one run on a machine, hands every round to a [`Sink`] and tells an [`Observer`] what happens.

pub mod latency;
pub mod place;
mod run_loop;
pub mod series;
pub mod sink;

pub use run_loop::{Earlier, Ended, ResumedState, RunError};
pub use sink::{Decision, Event, Kept, Observer, RecordedRound, RecordedTrial, Sink, SinkError, Slot};

use coretalk_model::Picos;

/// Passes over one cell or trial begin at least so far apart: closer ones add little, their autocorrelation is 0.43 at
/// 20 ms and 0.24 at 100 (measured; docs/evidence.md, "Machine and effects").
const PASS_GAP: Picos = Picos::from_ms(60);
