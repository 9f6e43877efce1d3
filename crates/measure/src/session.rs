//! The session: drives one run on a machine, hands every round to a [`Sink`] and tells an [`Observer`] what happens.

pub mod latency;
pub mod place;
mod presence;
pub mod series;
pub mod sink;

pub use series::SeriesSink;
pub use sink::{Decision, Event, Kept, Observer, RecordedRound, RecordedTrial, Sink, SinkError, Slot};
