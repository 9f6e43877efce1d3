//! Compares placements: repetitions in balanced order, until the differences are known or the budget ends.

use super::run_loop::{Ended, RunError, RunLoop, Suspicion};
use super::series::SeriesResumedState;
use super::{Commit, Kept, Observer, Sink};
use crate::machine::Machine;
use crate::stop::Stop;
use crate::work::{Work, WorkOrder};
use coretalk_model::place::{PlaceResult, PlaceSettings, analyse_places, least_repetitions, repetitions_due};
use coretalk_model::series::{PassOutcome, SeriesEntry, SeriesRecord};
use coretalk_model::stats::{Key, latin};
use coretalk_model::{CpuSet, Picos, TrialFailure};
use std::collections::BTreeMap;

/// Pause between runs, so that caches are written back and threads of the last run have ended.
const COOL_DOWN: Picos = Picos::from_ms(20);
/// Attempts at a run whose CPUs come and go.
const ATTEMPTS: u32 = 3;

/// A comparison to run.
#[derive(Debug, Clone, Copy)]
pub struct PlaceJob<'a> {
    /// The settings.
    pub settings: &'a PlaceSettings,
    /// The workloads, in the order of the settings.
    pub works: &'a [Work],
}

/// How a comparison ended.
#[derive(Debug, Clone, PartialEq)]
pub enum PlaceEnded {
    /// All planned repetitions were run.
    Complete,
    /// The budget ended; remaining wide intervals are reported.
    Budget {
        /// The run that it aborted.
        unfinished: Option<Unfinished>,
    },
    /// The budget ended before some placement had a valid run.
    TooShort {
        /// The minimum time of the comparison, as far as runs have shown.
        needed: Picos,
        /// The run that the budget aborted.
        unfinished: Option<Unfinished>,
    },
    /// The user stopped the run.
    Interrupted(Kept),
    /// A run failed, so the comparison failed: the remaining results would describe other work.
    Failed {
        /// The placement of the run.
        placement: String,
        /// The failure.
        failure: TrialFailure,
    },
}

/// A run aborted at the end of the budget: it hung, or took longer than the last complete one of its kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Unfinished {
    /// The workload.
    pub work: String,
    /// The placement.
    pub placement: String,
    /// Time after which it was aborted.
    pub after: Picos,
    /// Duration of the last complete run of this workload and placement; `None` if there is none.
    pub before: Option<Picos>,
}

/// Runs every workload on every placement. `()` serves as a sink and an observer without effect:
///
/// ```
/// # use coretalk_measure::{Machine, Scenario, SimMachine, Stop, Work};
/// # use coretalk_measure::session::place::{PlaceEnded, PlaceJob, run};
/// # use coretalk_model::place::{Outcome, PlaceSettings, Preset, Workload, derive};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut machine = SimMachine::open(Scenario::builtin("chiplet-16").ok_or("no such scenario")?, 1);
/// let [near, far] = [Preset::OneL3, Preset::AcrossL3].map(|preset| derive(preset, machine.topology(), 4));
/// let ring: Workload = "ring".parse()?;
/// let settings = PlaceSettings::usual(&[ring], 4, vec![near?, far?], 1);
/// let job = PlaceJob { settings: &settings, works: &[Work::Workload(ring)] };
/// let (result, ended) = run(&mut machine, job, &mut (), &mut (), &Stop::new())?;
/// assert_eq!(ended, PlaceEnded::Complete);
/// assert!(matches!(result.comparisons[0].outcome, Outcome::Winner { winner: 0, .. }));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`RunError`]; earlier commits remain.
pub fn run(
    machine: &mut dyn Machine,
    job: PlaceJob<'_>,
    sink: &mut dyn Sink,
    observer: &mut dyn Observer,
    stop: &Stop,
) -> Result<(PlaceResult, PlaceEnded), RunError> {
    go_on(machine, job, SeriesResumedState::default(), sink, observer, stop)
}

/// Continues a [`run`] after earlier segments: complete repetitions are kept, and an interrupted one starts anew, since
/// only runs of the same repetition are compared.
///
/// # Errors
/// As [`run`].
pub fn go_on(
    machine: &mut dyn Machine,
    job: PlaceJob<'_>,
    resumed: SeriesResumedState,
    sink: &mut dyn Sink,
    observer: &mut dyn Observer,
    stop: &Stop,
) -> Result<(PlaceResult, PlaceEnded), RunError> {
    let around: CpuSet =
        job.settings.placements.iter().flat_map(|placement| placement.cpus.iter().copied()).collect();
    let mut driver = Driver {
        run: RunLoop::new(machine, around.clone(), job.settings.budget, &resumed, sink, observer, stop),
        job,
        around,
        known: BTreeMap::new(),
        due: Vec::new(),
        record: resumed.record,
        segment: resumed.segments,
        pending: Commit::default(),
    };
    driver.due = (0..job.works.len()).map(|work| driver.due(work)).collect();
    let ended = match driver.repetitions()? {
        PlaceEnded::Budget { unfinished } if driver.lacks_runs() => {
            PlaceEnded::TooShort { needed: driver.needed(unfinished.as_ref()), unfinished }
        }
        ended => ended,
    };
    driver.finish(ended)
}

struct Driver<'a> {
    run: RunLoop<'a>,
    job: PlaceJob<'a>,
    around: CpuSet,
    record: SeriesRecord,
    /// Duration of the last run of each trial.
    known: BTreeMap<usize, Picos>,
    /// Approximate repetitions that each workload still needs, computed before the latest repetition of all workloads.
    due: Vec<u32>,
    segment: u32,
    pending: Commit,
}

/// Repetition number of the warm-up runs, which are not recorded.
const WARM_UP: u32 = u32::MAX;

impl Driver<'_> {
    fn repetitions(&mut self) -> Result<PlaceEnded, RunError> {
        let works = self.job.works.len();
        self.run.look_for_cpus(Suspicion::None)?;
        // One warm-up run of everything: files are cached, and failures show early.
        for work in 0..works {
            if let Some(ended) = self.repetition(work, WARM_UP)? {
                return Ok(ended);
            }
        }
        let first: Vec<u32> = (0..works).map(|work| self.begun(work)).collect();
        for number in 0.. {
            self.due = (0..works).map(|work| self.due(work)).collect();
            let open: Vec<usize> = (0..works).filter(|&work| self.due[work] > 0).collect();
            if open.is_empty() {
                break;
            }
            for work in open {
                if let Some(ended) = self.repetition(work, first[work] + number)? {
                    return Ok(ended);
                }
                self.due[work] -= 1;
            }
        }
        Ok(PlaceEnded::Complete)
    }

    /// Repetitions of a workload begun by earlier segments.
    fn begun(&self, work: usize) -> u32 {
        let trials =
            (0..self.job.settings.placements.len()).map(|placement| self.job.settings.trial(work, placement));
        let passes = trials.flat_map(|trial| self.record.passes(trial)).map(|entry| entry.pass + 1);
        passes.max().unwrap_or(0)
    }

    /// Approximate repetitions that a workload still needs.
    fn due(&self, work: usize) -> u32 {
        match self.here() {
            here if here.len() > 1 => repetitions_due(self.job.settings, &self.record, work, &here),
            _ => 0,
        }
    }

    /// The placements without absent CPUs.
    fn here(&self) -> Vec<usize> {
        let placements = self.job.settings.placements.iter().enumerate();
        let here = placements.filter(|(_, placement)| !self.run.misses_one_of(&placement.cpus));
        here.map(|(placement, _)| placement).collect()
    }

    fn repetition(&mut self, work: usize, repetition: u32) -> Result<Option<PlaceEnded>, RunError> {
        let placements = self.job.settings.placements.len();
        let key = Key::of(&[self.job.settings.seed, work as u64]);
        // A repetition that would exceed the budget is not begun: a part compares nothing. Warm-up times are unknown.
        if repetition != WARM_UP && self.run.left() < self.expected_of_all(work) {
            return Ok(Some(PlaceEnded::Budget { unfinished: None }));
        }
        for placement in latin::turn(placements, repetition, key) {
            if self.run.misses_one_of(&self.job.settings.placements[placement].cpus) {
                continue;
            }
            if self.run.is_stopped() {
                return Ok(Some(PlaceEnded::Interrupted(Kept::Nothing)));
            }
            if self.run.left() < self.expected(work, placement) {
                return Ok(Some(PlaceEnded::Budget { unfinished: None }));
            }
            if let Some(ended) = self.once(work, placement, repetition)? {
                return Ok(Some(ended));
            }
            self.run.machine.pause(COOL_DOWN, self.run.stop);
        }
        Ok(None)
    }

    fn attempt(
        &mut self,
        work: usize,
        placement: usize,
        repetition: u32,
    ) -> Result<PassOutcome, TrialFailure> {
        let settings = self.job.settings;
        let order = WorkOrder {
            work: &self.job.works[work],
            placement: &settings.placements[placement],
            around: &self.around,
            threads: settings.threads.unwrap_or(1),
            limit: self.run.left(),
            key: Key::of(&[settings.seed, u64::from(repetition)])
                .bits(settings.trial(work, placement) as u64),
        };
        self.run.machine.perform_work(&order, self.run.stop)
    }

    fn once(
        &mut self,
        work: usize,
        placement: usize,
        repetition: u32,
    ) -> Result<Option<PlaceEnded>, RunError> {
        let settings = self.job.settings;
        let trial = settings.trial(work, placement);
        let mut attempts = 0;
        let outcome = loop {
            let outcome = self.attempt(work, placement, repetition);
            let missed = outcome.as_ref().is_err_and(TrialFailure::missed_a_cpu);
            // Checked after every run, so that work that ends because its CPU is gone is not taken for work that fails.
            self.run.look_for_cpus(if missed { Suspicion::Missed(None) } else { Suspicion::Moved })?;
            if self.run.misses_one_of(&settings.placements[placement].cpus) {
                // It ran on fewer or on other CPUs, so it is no run of this placement.
                return Ok(None);
            }
            attempts += 1;
            if !missed || attempts == ATTEMPTS {
                break outcome;
            }
        };
        if outcome == Err(TrialFailure::Interrupted) {
            return Ok(Some(PlaceEnded::Interrupted(Kept::Nothing)));
        }
        let failure = outcome.as_ref().err().cloned();
        if let Some(TrialFailure::TimedOut { limit }) = failure {
            // A run aborted by the budget is no failure of the work.
            let unfinished = Unfinished {
                work: settings.works[work].name.clone(),
                placement: settings.placements[placement].name.clone(),
                after: limit,
                before: self.known.get(&trial).copied(),
            };
            return Ok(Some(PlaceEnded::Budget { unfinished: Some(unfinished) }));
        }
        if let Ok(outcome) = &outcome {
            self.known.insert(trial, outcome.elapsed);
        }
        if repetition == WARM_UP && failure.is_none() {
            return Ok(None);
        }
        let pass = if repetition == WARM_UP { 0 } else { repetition };
        let entry = SeriesEntry { segment: self.segment, pass, trial: trial as u32, outcome };
        self.record.push(entry.clone());
        self.pending.passes.push(entry);
        if self.run.is_commit_due(Picos::ZERO) {
            self.commit()?;
        }
        Ok(failure.map(|failure| {
            let placement = settings.placements[placement].name.clone();
            PlaceEnded::Failed { placement, failure }
        }))
    }

    fn lacks_runs(&self) -> bool {
        let settings = self.job.settings;
        let trials = settings.works.len() * settings.placements.len();
        (0..trials).any(|trial| self.record.outcomes(trial).next().is_none())
    }

    fn expected(&self, work: usize, placement: usize) -> Picos {
        self.known.get(&self.job.settings.trial(work, placement)).copied().unwrap_or(Picos(1))
    }

    /// Duration of a run on every placement, including pauses.
    fn expected_of_all(&self, work: usize) -> Picos {
        let placements = 0..self.job.settings.placements.len();
        placements.fold(Picos::ZERO, |sum, placement| sum + self.expected(work, placement) + COOL_DOWN)
    }

    /// The necessary budget, as far as known, of a comparison that ended early. Missing runs count as the longest.
    fn needed(&self, unfinished: Option<&Unfinished>) -> Picos {
        let settings = self.job.settings;
        let longest = self.known.values().copied().chain(unfinished.map(|run| run.after)).max();
        let longest = longest.unwrap_or(Picos(1));
        let runs = |work| u64::from(1 + least_repetitions(settings, work)) * settings.placements.len() as u64;
        let runs: u64 = (0..self.job.works.len()).map(runs).sum();
        Picos((longest + COOL_DOWN).0.saturating_mul(runs))
    }

    /// Makes everything pending durable; only between runs.
    fn commit(&mut self) -> Result<(), RunError> {
        let expected = self.total().min(self.job.settings.budget);
        self.run.commit(&std::mem::take(&mut self.pending), expected)
    }

    /// Expected machine time of all repetitions. Work without runs counts as the mean of the others, plus a warm-up.
    fn total(&self) -> Picos {
        let settings = self.job.settings;
        let known: Picos = self.known.values().fold(Picos::ZERO, |sum, &run| sum + run);
        let typical = Picos(known.0 / self.known.len().max(1) as u64);
        let mut left = Picos::ZERO;
        for work in 0..self.job.works.len() {
            let due = self.due[work];
            for placement in self.here().into_iter().filter(|_| due > 0) {
                let trial = settings.trial(work, placement);
                let is_cold = !self.known.contains_key(&trial);
                let run = self.known.get(&trial).copied().unwrap_or(typical) + COOL_DOWN;
                left += Picos(run.0 * u64::from(due + u32::from(is_cold)));
            }
        }
        self.run.elapsed() + left
    }

    fn finish(mut self, ended: PlaceEnded) -> Result<(PlaceResult, PlaceEnded), RunError> {
        self.commit()?;
        self.run.note_surroundings()?;
        let end = self.run.end(match ended {
            PlaceEnded::Complete => Ended::Complete,
            PlaceEnded::Budget { .. } | PlaceEnded::TooShort { .. } => Ended::Budget,
            PlaceEnded::Interrupted(_) | PlaceEnded::Failed { .. } => Ended::Interrupted,
        });
        (self.record.complete, self.record.budget_ended) = (end.complete, end.budget_ended);
        let result = analyse_places(self.job.settings, &self.record);
        let ended = match ended {
            PlaceEnded::Interrupted(_) => PlaceEnded::Interrupted(self.run.sink.interrupt()?),
            ended => {
                self.run.sink.finish_trials(end)?;
                ended
            }
        };
        Ok((result, ended))
    }
}
