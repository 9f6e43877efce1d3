//! [`Sink`] and [`Observer`]: receivers of a run's results and events.

use coretalk_model::latency::{LatencyResult, Purpose, RecordedRound};
use coretalk_model::series::SeriesEntry;
use coretalk_model::{CpuLoss, Picos};

/// Stores a run. Called only between rounds and passes, with every worker parked.
pub trait Sink {
    /// Makes a commit durable before it returns. After an error the session ends.
    fn commit(&mut self, commit: &Commit) -> Result<(), SinkError>;

    /// Stores a choice that later analysis needs, such as the hint or the parallelism that the gate allowed.
    fn decide(&mut self, decision: &Decision) -> Result<(), SinkError>;

    /// Stores the end of a map and its result. A sink that keeps everything need not finish derived data when the user
    /// stops the run. [`interrupt`](Sink::interrupt) is called next.
    fn finish(&mut self, _: &LatencyResult) -> Result<(), SinkError> {
        Ok(())
    }

    /// Stores the end of trials, or of a comparison of placements.
    fn finish_trials(&mut self, _: PartEnd) -> Result<(), SinkError> {
        Ok(())
    }

    /// Records that the user stopped the run. Returns whether the measurements can be read back. The user waits for
    /// this call, so a sink that keeps everything does nothing else. A sink that keeps nothing then gets the result.
    fn interrupt(&mut self) -> Result<Kept, SinkError> {
        Ok(Kept::Nothing)
    }
}

/// How a part of a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartEnd {
    /// All requested work was done or the budget ended, and no CPU was lost.
    pub complete: bool,
    /// The budget ended the part.
    pub budget_ended: bool,
}

/// What a sink has kept of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Every commit and decision. The result can be derived from these at any time.
    Everything,
    /// Nothing that can be read back.
    Nothing,
}

/// The error of a run that could not be stored.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct SinkError(pub Box<dyn std::error::Error + Send + Sync>);

/// Measurements since the last commit, in order of execution.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Commit {
    /// Rounds of a map.
    pub rounds: Vec<RecordedRound>,
    /// Passes of trials.
    pub passes: Vec<SeriesEntry>,
}

/// A choice that later analysis needs. New choices need no migration, as the key is text and the value is JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// Key in kebab-case, such as `hint`, `hint-reason`, `kernels`, `gate`.
    pub key: String,
    /// The value as JSON.
    pub value: String,
}

/// An event for an observer. No round is running, so the observer may draw.
#[derive(Debug)]
pub enum Event<'a> {
    /// A phase begins: `pilot`, `map`, `gate`, `again`, `ladder`, `tails`, `imitation`.
    Phase {
        /// The purpose of the following rounds.
        purpose: Purpose,
    },
    /// A commit was made durable.
    Committed {
        /// The commit.
        slot: &'a Commit,
        /// Elapsed share of the expected machine time, 0 to 1.
        progress: f64,
        /// Expected remaining machine time.
        left: Picos,
    },
    /// A CPU was lost, and the run continues without it.
    Departed {
        /// The CPU, with time and reason.
        departure: CpuLoss,
        /// Whether the loss was reported before, with another reason.
        again: bool,
    },
    /// A notice for the user.
    Notice {
        /// One sentence.
        text: String,
    },
}

/// Receives the events of a run.
pub trait Observer {
    /// Handles an event.
    fn event(&mut self, event: Event<'_>);
}

/// Keeps nothing.
impl Sink for () {
    fn commit(&mut self, _: &Commit) -> Result<(), SinkError> {
        Ok(())
    }
    fn decide(&mut self, _: &Decision) -> Result<(), SinkError> {
        Ok(())
    }
}

/// Ignores all events.
impl Observer for () {
    fn event(&mut self, _: Event<'_>) {}
}
