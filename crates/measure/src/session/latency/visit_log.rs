//! [`VisitLog`]: the results of a run's trials so far, also those that are not durable yet.

use crate::machine::RoundOutcome;
use crate::schedule::CellRound;
use crate::session::Commit;
use coretalk_model::latency::{
    Entry, LatencySettings, Purpose, Record, RecordedRound, RecordedTrial, Reducer, Scale,
};
use coretalk_model::{Picos, Recording, Relation, TrialFailure};
use std::collections::BTreeMap;

/// The results of a run's trials so far. A map of 1,024 CPUs has four million recordings. Each is reduced to a visit as
/// soon as it arrives, since a cached recording is read several times as fast.
pub struct VisitLog<'a> {
    pub record: Record,
    pub segment: u32,
    settings: &'a LatencySettings,
    reducer: Reducer,
    pending: Commit,
    trials: usize,
    held_back: Vec<HeldBack>,
    failures: BTreeMap<(Phases, u32), u32>,
    round_time: BTreeMap<(Purpose, Relation), (f64, u32)>,
}

struct HeldBack {
    round: usize,
    /// Index of the trial in the round. Failed trials count.
    place: usize,
    cell: u32,
    failure: TrialFailure,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phases {
    Map,
    /// All other phases: the pilot, the gate, the ladder …
    Others,
}

pub const RAW_CPUS: usize = 64;
/// Number of pending trials after which a batch is followed by a commit. A pending trial takes 300 bytes, and 512
/// concurrent pairs make 200 thousand between two regular commits.
const MAX_PENDING: usize = 1 << 14;
const MAX_FAILURES: u32 = 3;

impl<'a> VisitLog<'a> {
    pub fn new(
        settings: &'a LatencySettings,
        scale: Scale,
        mut record: Record,
        segment: u32,
        cells: usize,
    ) -> VisitLog<'a> {
        record.begin_segment(segment);
        VisitLog {
            failures: failures(&record, cells),
            record,
            segment,
            settings,
            reducer: Reducer::new(scale, settings.counts),
            pending: Commit::default(),
            trials: 0,
            held_back: Vec::new(),
            round_time: BTreeMap::new(),
        }
    }

    /// Logs the outcome of a round and returns recordings for reuse. `slowest` is the slowest relation in the round.
    /// Failed trials are held back until [`settle`](VisitLog::settle).
    pub fn take(
        &mut self,
        purpose: Purpose,
        pass: u32,
        round: &CellRound,
        slowest: Option<Relation>,
        outcome: RoundOutcome,
    ) -> Vec<Recording> {
        let RoundOutcome { started, elapsed, trials } = outcome;
        if let Some(slowest) = slowest {
            let (mean, count) = self.round_time.entry((purpose, slowest)).or_insert((0.0, 0));
            *count = (*count + 1).min(64);
            *mean += (elapsed.ns() - *mean) / f64::from(*count);
        }
        let keep_raw =
            purpose.keeps_recordings() || self.settings.keep_raw || self.settings.cpus.len() <= RAW_CPUS;
        let mut recorded = Vec::with_capacity(round.len());
        let mut spent = Vec::with_capacity(if keep_raw { 0 } else { trials.len() });
        let mut failed = 0;
        for (&cell, outcome) in round.iter().zip(trials) {
            let overrun = outcome.as_ref().ok().and_then(|recording| self.reducer.overrun(recording));
            let outcome = overrun.map_or(outcome, |limit| Err(TrialFailure::TimedOut { limit }));
            let (outcome, raw) = match outcome {
                Ok(recording) => {
                    let visit = self.reducer.visit(cell, &recording);
                    let raw = if keep_raw {
                        Some(Box::new(recording))
                    } else {
                        spent.push(recording);
                        None
                    };
                    (Ok(visit), raw)
                }
                Err(TrialFailure::Interrupted) => continue,
                Err(failure) => {
                    let place = recorded.len() + failed;
                    self.held_back.push(HeldBack { round: self.pending.rounds.len(), place, cell, failure });
                    failed += 1;
                    continue;
                }
            };
            recorded.push(RecordedTrial { cell, outcome, raw });
        }
        self.note(purpose, pass, &recorded);
        self.trials += recorded.len();
        self.pending.rounds.push(RecordedRound { purpose, pass, started, elapsed, trials: recorded });
        spent
    }

    /// Logs the failed trials. Failed trials of cells for which `is_due_again` holds are returned as rounds instead.
    pub fn settle(&mut self, is_due_again: impl Fn(u32) -> bool) -> Vec<CellRound> {
        let mut repeated: BTreeMap<usize, CellRound> = BTreeMap::new();
        for HeldBack { round, place, cell, failure } in std::mem::take(&mut self.held_back) {
            if is_due_again(cell) {
                repeated.entry(round).or_default().push(cell);
                continue;
            }
            let RecordedRound { purpose, pass, .. } = self.pending.rounds[round];
            self.note_failure(purpose, cell);
            let trial = RecordedTrial { cell, outcome: Err(failure), raw: None };
            self.note(purpose, pass, std::slice::from_ref(&trial));
            self.trials += 1;
            let trials = &mut self.pending.rounds[round].trials;
            trials.insert(place.min(trials.len()), trial);
        }
        self.pending.rounds.retain(|round| !round.trials.is_empty());
        repeated.into_values().collect()
    }

    fn note(&mut self, purpose: Purpose, pass: u32, trials: &[RecordedTrial]) {
        let segment = self.segment;
        if purpose == Purpose::Map {
            self.record.push_map(segment, pass, trials.iter().map(|trial| (trial.cell, &trial.outcome)));
            return;
        }
        for RecordedTrial { cell, outcome, raw } in trials {
            let entry = Entry { segment, purpose, pass, cell: *cell, outcome: outcome.clone() };
            self.record.push(entry, raw.as_deref());
        }
    }

    pub fn take_pending(&mut self) -> Commit {
        self.trials = 0;
        std::mem::take(&mut self.pending)
    }

    /// Whether pending results use so much memory that they should be committed early.
    pub fn is_full(&self) -> bool {
        self.trials >= MAX_PENDING
    }

    /// Forgets the expected times of a purpose when its rounds change their length.
    pub fn forget_times(&mut self, purpose: Purpose) {
        self.round_time.retain(|&(timed, _), _| timed != purpose);
    }

    pub fn expect(&self, purpose: Purpose, slowest: Relation) -> Option<f64> {
        self.round_time.get(&(purpose, slowest)).map(|time| time.0)
    }

    /// Whether a cell failed so often that no further phase visits it. Each hang costs the full time limit. A few
    /// failures are tolerated, since a stalling host must not cost a cell all its passes.
    pub fn has_failed(&self, cell: u32) -> bool {
        [Phases::Map, Phases::Others].into_iter().any(|phases| self.is_given_up(phases, cell))
    }

    /// Whether the map has given a cell up. Only failures in the map count, so that each such cell has a reason.
    pub fn has_failed_in_map(&self, cell: u32) -> bool {
        self.is_given_up(Phases::Map, cell)
    }

    fn is_given_up(&self, phases: Phases, cell: u32) -> bool {
        self.failures.get(&(phases, cell)).is_some_and(|&failures| failures >= MAX_FAILURES)
    }

    /// The failure of a held-back trial whose CPU refused a thread or was lost.
    pub fn missed_a_cpu(&self) -> Option<&TrialFailure> {
        self.held_back.iter().map(|held| &held.failure).find(|failure| failure.missed_a_cpu())
    }

    /// Gives up cells with a lost CPU and records the failure of those without a value.
    pub fn lose(&mut self, cells: impl Iterator<Item = u32>, failure: &TrialFailure, now: Picos) {
        let mut failed = Vec::new();
        for cell in cells {
            for phases in [Phases::Map, Phases::Others] {
                self.failures.insert((phases, cell), MAX_FAILURES);
            }
            if self.record.passes(cell as usize).is_some_and(|passes| passes.failure.is_some()) {
                continue;
            }
            failed.push(RecordedTrial { cell, outcome: Err(failure.clone()), raw: None });
        }
        if failed.is_empty() {
            return;
        }
        let (purpose, pass) = (Purpose::Map, 0);
        self.note(purpose, pass, &failed);
        self.pending.rounds.push(RecordedRound {
            purpose,
            pass,
            started: now,
            elapsed: Picos::ZERO,
            trials: failed,
        });
    }

    fn note_failure(&mut self, purpose: Purpose, cell: u32) {
        let phases = if purpose == Purpose::Map { Phases::Map } else { Phases::Others };
        *self.failures.entry((phases, cell)).or_default() += 1;
    }
}

/// Failures of earlier segments. They are not retried, unless a CPU was absent and may be back.
fn failures(record: &Record, cells: usize) -> BTreeMap<(Phases, u32), u32> {
    let purposes = Purpose::ALL.into_iter().flat_map(|purpose| record.others(purpose));
    let is_final = |failure: &TrialFailure| !failure.missed_a_cpu();
    let outside = purposes
        .filter(|entry| entry.outcome.as_ref().is_err_and(is_final))
        .map(|entry| (Phases::Others, entry.cell));
    let in_map =
        |cell: &u32| record.passes(*cell as usize).is_some_and(|passes| passes.failure.is_some_and(is_final));
    outside
        .chain((0..cells as u32).filter(in_map).map(|cell| (Phases::Map, cell)))
        .map(|cell| (cell, MAX_FAILURES))
        .collect()
}
