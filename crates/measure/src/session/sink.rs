//! [`Sink`] and [`Observer`]: where a run goes while it is made.

use coretalk_model::latency::{LatencyResult, Purpose, Visit};
use coretalk_model::series::SeriesEntry;
use coretalk_model::{Departure, Picos, Recording, TrialFailure};

/// Where a run goes while it is made. Called between rounds and passes only, with every worker parked.
pub trait Sink {
    /// Makes a slot durable before it returns.
    ///
    /// # Errors
    /// [`SinkError`] where it cannot be kept; the session ends and says so.
    fn commit(&mut self, slot: &Slot) -> Result<(), SinkError>;

    /// Notes a choice that later analysis needs (the hint, the parallelism that the gate allowed …).
    ///
    /// # Errors
    /// As [`commit`](Sink::commit).
    fn decide(&mut self, decision: &Decision) -> Result<(), SinkError>;

    /// Notes how a map ended and what follows from it. A sink that keeps everything may give up what can be derived
    /// again when somebody wishes to end; it is told to [`interrupt`](Sink::interrupt) then.
    ///
    /// # Errors
    /// As [`commit`](Sink::commit).
    fn finish(&mut self, _: &LatencyResult) -> Result<(), SinkError> {
        Ok(())
    }

    /// Notes how trials ended, or a comparison of placements.
    ///
    /// # Errors
    /// As [`commit`](Sink::commit).
    fn finish_trials(&mut self, _: PartEnd) -> Result<(), SinkError> {
        Ok(())
    }

    /// Notes that somebody wished to end, and says whether what was measured can be read back. Somebody waits for this
    /// to return, so a sink that keeps everything notes no more than that; one that keeps nothing is told the result.
    ///
    /// # Errors
    /// As [`commit`](Sink::commit).
    fn interrupt(&mut self) -> Result<Kept, SinkError> {
        Ok(Kept::Nothing)
    }
}

/// How a part of a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartEnd {
    /// Everything that was asked for was done, or the budget ended, and every CPU was there until then.
    pub complete: bool,
    /// The budget ended it.
    pub budget_ended: bool,
}

/// What a sink has kept of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Every slot and decision: the result can be had from them at any time.
    Everything,
    /// Nothing that could be read back.
    Nothing,
}

/// A run could not be kept.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct SinkError(pub Box<dyn std::error::Error + Send + Sync>);

/// What was measured since the last commit, in the order performed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Slot {
    /// Rounds of a map.
    pub rounds: Vec<RecordedRound>,
    /// Passes of trials.
    pub passes: Vec<SeriesEntry>,
}

/// One round with what it said.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedRound {
    /// Why it was made.
    pub purpose: Purpose,
    /// Pass number within the purpose, from 0.
    pub pass: u32,
    /// When it began, on the machine's time line of this segment.
    pub started: Picos,
    /// How long it took.
    pub elapsed: Picos,
    /// One for each trial: the visit with, where raw ticks are kept, its recording; or why there is none.
    pub trials: Vec<RecordedTrial>,
}

/// One trial of a round.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedTrial {
    /// Position of the pair in the plan's list of cells.
    pub cell: u32,
    /// What it said.
    pub outcome: Result<Visit, TrialFailure>,
    /// What it said it from, where raw ticks are kept.
    pub raw: Option<Recording>,
}

/// A choice that later analysis needs: a key (kebab-case) and a value in JSON, so that new ones need no migration.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// For example `hint`, `hint-reason`, `kernels`, `gate`.
    pub key: String,
    /// JSON.
    pub value: String,
}

/// What an observer is told; drawing happens here, between rounds.
#[derive(Debug)]
pub enum Event<'a> {
    /// A phase begins: `pilot`, `map`, `gate`, `again`, `ladder`, `tails`, `imitation`.
    Phase {
        /// Why rounds are made from now on.
        purpose: Purpose,
    },
    /// A slot was made durable.
    Committed {
        /// What was in it.
        slot: &'a Slot,
        /// Share of the expected machine time that has passed, 0 to 1.
        progress: f64,
        /// Machine time that is expected to be left.
        left: Picos,
    },
    /// A CPU went away, and the run goes on without it.
    Departed {
        /// Which, when and why.
        departure: Departure,
        /// Whether it has been told of before, with another reason.
        again: bool,
    },
    /// Something that the user should know.
    Notice {
        /// One sentence.
        text: String,
    },
}

/// Is told what happens.
pub trait Observer {
    /// Something happened.
    fn event(&mut self, event: Event<'_>);
}

/// Keeps nothing.
impl Sink for () {
    fn commit(&mut self, _: &Slot) -> Result<(), SinkError> {
        Ok(())
    }
    fn decide(&mut self, _: &Decision) -> Result<(), SinkError> {
        Ok(())
    }
}

/// Tells nobody.
impl Observer for () {
    fn event(&mut self, _: Event<'_>) {}
}
