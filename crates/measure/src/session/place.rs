//! Compares placements or commands. Repetitions in balanced order end when the differences are known or the budget
//! ends.

use super::run_loop::{Ended, RunError, RunLoop, Suspicion};
use super::series::SeriesResumedState;
use super::{Commit, Kept, Observer, Sink};
use crate::machine::Machine;
use crate::stop::Stop;
use crate::work::{CommandLine, Hook, Hooks, Work, WorkOrder};
use coretalk_model::place::{
    Binding, PlaceResult, PlaceSettings, Placement, analyse_places, least_repetitions, repetitions_due,
};
use coretalk_model::series::{PassOutcome, SeriesEntry, SeriesRecord};
use coretalk_model::stats::{Key, latin};
use coretalk_model::{CpuSet, Picos, TrialFailure};
use std::collections::BTreeMap;

/// Pause between runs. Caches are written back, and threads of the last run end.
const COOL_DOWN: Picos = Picos::from_ms(20);
/// Pause between runs of commands. Their processes have already been reaped. A short pause leaves time for more
/// repetitions, and runs in close succession share the state of the machine.
const COMMAND_COOL_DOWN: Picos = Picos::from_ms(2);
/// Exclusive maximum of the padding of the environment: a page. The size of the environment shifts the stack, which
/// alone moves run times by several percent (Mytkowicz, Diwan, Hauswirth and Sweeney, 2009).
const MAX_PADDING: f64 = 4096.0;
const HOOK_LIMIT: Picos = Picos::from_ms(86_400_000);
/// Attempts at a run whose CPUs come and go.
const ATTEMPTS: u32 = 3;

/// A comparison to run.
#[derive(Debug, Clone, Copy)]
pub struct PlaceJob<'a> {
    /// The settings.
    pub settings: &'a PlaceSettings,
    /// The work items of the settings, or the command of each arm.
    pub works: &'a [Work],
    /// Commands around the runs. The caller runs [`Hook::Cleanup`].
    pub hooks: Option<&'a Hooks>,
}

/// How a comparison ended.
#[derive(Debug, Clone, PartialEq)]
pub enum PlaceEnded {
    /// All planned repetitions were run.
    Complete,
    /// The budget ended. Remaining wide intervals are reported.
    Budget {
        /// The run that the budget aborted.
        unfinished: Option<Unfinished>,
    },
    /// The budget ended before every placement had a valid run.
    TooShort {
        /// The minimum time of the comparison, estimated from the runs so far.
        needed: Picos,
        /// The run that the budget aborted.
        unfinished: Option<Unfinished>,
    },
    /// The user stopped the run.
    Interrupted(Kept),
    /// A run failed. The comparison failed too, since the remaining results would describe other work.
    Failed {
        /// The trial of the run.
        trial: usize,
        /// The failure.
        failure: TrialFailure,
    },
    /// A command around the runs failed.
    HookFailed {
        /// When the command ran.
        hook: Hook,
        /// The failure.
        failure: TrialFailure,
    },
}

/// A run aborted at the end of the budget. It hung, or took longer than the last complete run of its kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Unfinished {
    /// Name of the work.
    pub work: String,
    /// Name of the arm.
    pub arm: String,
    /// Time after which the run was aborted.
    pub after: Picos,
    /// Duration of the last complete run of this workload and placement; `None` if there is none.
    pub before: Option<Picos>,
}

/// Runs the work of every arm. `()` serves as a sink and an observer without effect:
///
/// ```
/// # use coretalk_measure::{Machine, Scenario, SimMachine, Stop, Work};
/// # use coretalk_measure::session::place::{PlaceEnded, PlaceJob, run};
/// # use coretalk_model::place::{PlaceOutcome, PlaceSettings, Preset, Workload, derive};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut machine = SimMachine::open(Scenario::builtin("chiplet-16").ok_or("no such scenario")?, 1);
/// let [near, far] = [Preset::OneL3, Preset::AcrossL3].map(|preset| derive(preset, machine.topology(), 4));
/// let ring: Workload = "ring".parse()?;
/// let settings = PlaceSettings::usual(&[ring], 4, vec![near?, far?], 1);
/// let job = PlaceJob { settings: &settings, works: &[Work::Workload(ring)], hooks: None };
/// let (result, ended) = run(&mut machine, job, &mut (), &mut (), &Stop::new())?;
/// assert_eq!(ended, PlaceEnded::Complete);
/// assert!(matches!(result.comparisons[0].outcome, PlaceOutcome::Winner { winner: 0, .. }));
/// # Ok(())
/// # }
/// ```
///
/// After a [`RunError`] earlier commits remain.
pub fn run(
    machine: &mut dyn Machine,
    job: PlaceJob<'_>,
    sink: &mut dyn Sink,
    observer: &mut dyn Observer,
    stop: &Stop,
) -> Result<(PlaceResult, PlaceEnded), RunError> {
    go_on(machine, job, SeriesResumedState::default(), sink, observer, stop)
}

/// Continues a [`run`] after earlier segments. Complete repetitions are kept. An interrupted repetition starts anew,
/// since only runs of the same repetition are compared.
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
        last_runs: BTreeMap::new(),
        due: Vec::new(),
        record: resumed.record,
        segment: resumed.segments,
        pending: Commit::default(),
        prepare_time: Picos::ZERO,
        between_time: Picos::ZERO,
    };
    driver.due = (0..job.settings.works.len()).map(|work| driver.due(work)).collect();
    let ended = match driver.run_repetitions()? {
        PlaceEnded::Budget { unfinished } if driver.lacks_runs() => {
            PlaceEnded::TooShort { needed: driver.needed_budget(unfinished.as_ref()), unfinished }
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
    last_runs: BTreeMap<usize, Picos>,
    /// Approximate repetitions that each workload still needs, as of before the latest repetition of all workloads.
    due: Vec<u32>,
    segment: u32,
    pending: Commit,
    prepare_time: Picos,
    between_time: Picos,
}

/// Runs a command around the runs, on any CPU, for at most a day. Its values are not recorded.
pub fn run_hook(machine: &mut dyn Machine, line: &CommandLine, stop: &Stop) -> Result<(), TrialFailure> {
    let usable = machine.allowance().cpuset.intersection(machine.topology().cpus());
    run_free(machine, line, &usable, HOOK_LIMIT, stop).map(|_| ())
}

/// Runs a command once, outside the comparison, on any of these CPUs.
pub fn run_free(
    machine: &mut dyn Machine,
    line: &CommandLine,
    cpus: &CpuSet,
    limit: Picos,
    stop: &Stop,
) -> Result<PassOutcome, TrialFailure> {
    let anywhere = Placement { name: String::new(), cpus: cpus.iter().collect(), binding: Binding::Free };
    let order = WorkOrder {
        work: &Work::Command(line.clone()),
        placement: &anywhere,
        around: cpus,
        threads: 1,
        limit,
        key: 0,
        padding: 0,
    };
    machine.perform_work(&order, stop)
}

/// Repetition number of the warm-up runs, which are not recorded.
const WARM_UP: u32 = u32::MAX;

impl Driver<'_> {
    fn run_repetitions(&mut self) -> Result<PlaceEnded, RunError> {
        let works = self.job.settings.works.len();
        self.run.look_for_cpus(Suspicion::None)?;
        match self.hook(Hook::Prepare) {
            Ok(took) => self.prepare_time = took,
            Err(ended) => return Ok(ended),
        }
        // One warm-up run of everything. Files are then cached, and failures show early.
        for work in 0..works {
            if let Some(ended) = self.run_repetition(work, WARM_UP)? {
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
                if let Some(ended) = self.run_repetition(work, first[work] + number)? {
                    return Ok(ended);
                }
                self.due[work] -= 1;
            }
        }
        Ok(PlaceEnded::Complete)
    }

    fn begun(&self, work: usize) -> u32 {
        let trials =
            (0..self.job.settings.placements.len()).map(|placement| self.job.settings.trial(work, placement));
        let passes = trials.flat_map(|trial| self.record.passes(trial)).map(|entry| entry.pass + 1);
        passes.max().unwrap_or(0)
    }

    fn due(&self, work: usize) -> u32 {
        match self.present_placements() {
            present if present.len() > 1 => repetitions_due(self.job.settings, &self.record, work, &present),
            _ => 0,
        }
    }

    fn present_placements(&self) -> Vec<usize> {
        let placements = self.job.settings.placements.iter().enumerate();
        let present = placements.filter(|(_, placement)| !self.run.misses_one_of(&placement.cpus));
        present.map(|(placement, _)| placement).collect()
    }

    fn run_repetition(&mut self, work: usize, repetition: u32) -> Result<Option<PlaceEnded>, RunError> {
        let placements = self.job.settings.placements.len();
        let key = Key::from_words(&[self.job.settings.seed, work as u64]);
        // A repetition that would exceed the budget is not begun, since a part cannot be compared. Warm-up times are
        // unknown.
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
            match self.hook(Hook::Between) {
                Ok(took) => self.between_time = took,
                Err(ended) => return Ok(Some(ended)),
            }
            if self.run.left() == Picos::ZERO {
                return Ok(Some(PlaceEnded::Budget { unfinished: None }));
            }
            if let Some(ended) = self.run_once(work, placement, repetition)? {
                return Ok(Some(ended));
            }
            self.run.machine.pause(self.cool_down(), self.run.stop);
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
            work: &self.job.works[if settings.versus.is_some() { placement } else { work }],
            placement: &settings.placements[placement],
            around: &self.around,
            threads: settings.threads.unwrap_or(1),
            limit: self.run.left(),
            key: Key::from_words(&[settings.seed, u64::from(repetition)])
                .bits(settings.trial(work, placement) as u64),
            // Equal within a repetition, whose runs are compared.
            padding: (Key::from_words(&[settings.seed, u64::from(repetition), 1]).uniform(0) * MAX_PADDING)
                as usize,
        };
        self.run.machine.perform_work(&order, self.run.stop)
    }

    fn run_once(
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
            // Checked after every run. Work that ends because its CPU is gone must not count as work that fails.
            self.run.look_for_cpus(if missed { Suspicion::Missed(None) } else { Suspicion::Moved })?;
            if self.run.misses_one_of(&settings.placements[placement].cpus) {
                // The work ran on fewer or on other CPUs. So this is no run of the placement.
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
                arm: settings.placements[placement].name.clone(),
                after: limit,
                before: self.last_runs.get(&trial).copied(),
            };
            return Ok(Some(PlaceEnded::Budget { unfinished: Some(unfinished) }));
        }
        if let Ok(outcome) = &outcome {
            self.last_runs.insert(trial, outcome.elapsed);
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
        Ok(failure.map(|failure| PlaceEnded::Failed { trial, failure }))
    }

    fn hook(&mut self, hook: Hook) -> Result<Picos, PlaceEnded> {
        let Some(line) = self.job.hooks.and_then(|hooks| hooks.get(&hook)) else { return Ok(Picos::ZERO) };
        let before = self.run.elapsed();
        match run_hook(self.run.machine, line, self.run.stop) {
            Ok(()) => Ok(self.run.elapsed().saturating_sub(before)),
            Err(TrialFailure::Interrupted) => Err(PlaceEnded::Interrupted(Kept::Nothing)),
            Err(failure) => Err(PlaceEnded::HookFailed { hook, failure }),
        }
    }

    fn lacks_runs(&self) -> bool {
        let settings = self.job.settings;
        let trials = settings.works.len() * settings.placements.len();
        (0..trials).any(|trial| self.record.outcomes(trial).next().is_none())
    }

    fn expected(&self, work: usize, placement: usize) -> Picos {
        self.last_runs.get(&self.job.settings.trial(work, placement)).copied().unwrap_or(Picos(1))
    }

    fn pause_time(&self) -> Picos {
        self.between_time + self.cool_down()
    }

    fn cool_down(&self) -> Picos {
        if self.job.settings.versus.is_some() { COMMAND_COOL_DOWN } else { COOL_DOWN }
    }

    fn expected_of_all(&self, work: usize) -> Picos {
        let placements = 0..self.job.settings.placements.len();
        placements
            .fold(Picos::ZERO, |sum, placement| sum + self.expected(work, placement) + self.pause_time())
    }

    /// The budget that a comparison needs if it ended early. Missing runs count with the longest known duration.
    fn needed_budget(&self, unfinished: Option<&Unfinished>) -> Picos {
        let settings = self.job.settings;
        let longest = self.last_runs.values().copied().chain(unfinished.map(|run| run.after)).max();
        let longest = longest.unwrap_or(Picos(1));
        let runs = |work| u64::from(1 + least_repetitions(settings, work)) * settings.placements.len() as u64;
        let runs: u64 = (0..settings.works.len()).map(runs).sum();
        Picos((longest + self.pause_time()).0.saturating_mul(runs)) + self.prepare_time
    }

    /// Makes everything pending durable. Called only between runs.
    fn commit(&mut self) -> Result<(), RunError> {
        let expected = self.expected_total().min(self.job.settings.budget);
        self.run.commit(&std::mem::take(&mut self.pending), expected)
    }

    /// Expected machine time of all repetitions. Work without runs counts as the mean of the others, plus a warm-up.
    fn expected_total(&self) -> Picos {
        let settings = self.job.settings;
        let sum: Picos = self.last_runs.values().fold(Picos::ZERO, |sum, &run| sum + run);
        let typical = Picos(sum.0 / self.last_runs.len().max(1) as u64);
        let mut left = Picos::ZERO;
        for work in 0..settings.works.len() {
            let due = self.due[work];
            for placement in self.present_placements().into_iter().filter(|_| due > 0) {
                let trial = settings.trial(work, placement);
                let is_cold = !self.last_runs.contains_key(&trial);
                let run = self.last_runs.get(&trial).copied().unwrap_or(typical) + self.pause_time();
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
            PlaceEnded::Interrupted(_) | PlaceEnded::Failed { .. } | PlaceEnded::HookFailed { .. } => {
                Ended::Interrupted
            }
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
