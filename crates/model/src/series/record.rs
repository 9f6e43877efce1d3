//! [`SeriesRecord`]: everything that the passes of a run said.

use super::PassOutcome;
use crate::TrialFailure;

/// One pass of one trial as the run keeps it.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesEntry {
    /// The segment.
    pub segment: u32,
    /// Number of the pass, from 0, over all segments.
    pub pass: u32,
    /// Position of the trial in the plan.
    pub trial: u32,
    /// What it said, or why there is nothing.
    pub outcome: Result<PassOutcome, TrialFailure>,
}

/// Everything that the passes of a run said, and how the run ended.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SeriesRecord {
    /// Passes by trial, in the order made.
    trials: Vec<Vec<SeriesEntry>>,
    /// The last segment that said something.
    last_segment: u32,
    /// Every planned trial has its passes, or the budget ended.
    pub complete: bool,
    /// The budget ended before the precision was reached everywhere.
    pub budget_ended: bool,
}

impl SeriesRecord {
    /// Nothing said yet.
    pub fn new() -> SeriesRecord {
        SeriesRecord::default()
    }

    /// Keeps one pass.
    pub fn push(&mut self, entry: SeriesEntry) {
        let trial = entry.trial as usize;
        self.last_segment = self.last_segment.max(entry.segment);
        if self.trials.len() <= trial {
            self.trials.resize_with(trial + 1, Vec::new);
        }
        self.trials[trial].push(entry);
    }

    /// The passes of a trial, in the order made.
    pub fn passes(&self, trial: usize) -> &[SeriesEntry] {
        self.trials.get(trial).map_or(&[], Vec::as_slice)
    }

    /// The passes of a trial that said something.
    pub fn outcomes(&self, trial: usize) -> impl Iterator<Item = &PassOutcome> {
        self.passes(trial).iter().filter_map(|entry| entry.outcome.as_ref().ok())
    }

    /// Why a trial got nothing when it was tried last; `None` where nothing failed, and where that was for want of a CPU
    /// which a later pass of it, or a later segment, did not miss.
    pub fn failure(&self, trial: usize) -> Option<&TrialFailure> {
        let entries = self.passes(trial);
        let is_over =
            entries.last().is_some_and(|last| last.outcome.is_ok() || last.segment < self.last_segment);
        let mut failures = entries.iter().rev().filter_map(|entry| entry.outcome.as_ref().err());
        failures.find(|failure| !(is_over && failure.missed_a_cpu()))
    }

    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        self.trials.iter().all(Vec::is_empty)
    }
}
