//! Runs series: interleaved passes over all trials, until they are precise or the budget ends.

mod concurrency;
mod plan;
mod sentinel;
mod spans;

pub use plan::{least_span, plan};

use self::concurrency::Concurrency;
use self::plan::{MAX_PASS, MESSAGES, MIN_PASS, Shares, gap, most_settling, orders, settling};
use self::sentinel::Sentinel;
pub use super::run_loop::Earlier;
use super::run_loop::{Ended, ResumedState, RunError, RunLoop, Suspicion};
use super::{Commit, Event, Observer, Sink, jittered};
use crate::machine::Machine;
use crate::probes;
use crate::series::{SeriesProbe, TrialOrder};
use crate::stop::Stop;
use coretalk_model::external::forks;
use coretalk_model::series::{
    ConcurrencyGate, Gathering, PassOutcome, SentinelWatch, SeriesEntry, SeriesRecord, SeriesResult,
    SeriesSettings, TrialSpec, analyse_series, is_done,
};
use coretalk_model::stats::{ANALYSES, Key};
use coretalk_model::{CpuId, CpuLoss, Picos, Topology, TrialFailure};
use std::borrow::Cow;
use std::cell::Cell;

const MAX_FAILURES: u32 = 3;

/// The results of earlier segments of a run of series.
pub type SeriesResumedState = ResumedState<SeriesRecord>;

/// Measures the trials of the settings on a machine with engaged workers. Fails with [`RunError::Interrupted`] if the
/// user stopped the run and the sink has kept everything. After other errors earlier commits are kept.
pub fn run(
    machine: &mut dyn Machine,
    settings: &SeriesSettings,
    resumed: SeriesResumedState,
    sink: &mut dyn Sink,
    observer: &mut dyn Observer,
    stop: &Stop,
) -> Result<(SeriesResult, Ended), RunError> {
    let mut driver = Driver::new(machine, settings, resumed, sink, observer, stop)?;
    let ended = driver.passes()?;
    driver.finish(ended)
}

type Outcome = Result<PassOutcome, TrialFailure>;

fn suspicion(outcomes: &[Outcome]) -> Suspicion {
    let mut missed = outcomes.iter().filter_map(|it| it.as_ref().err()).filter(|it| it.missed_a_cpu());
    let moved = |pass: &PassOutcome| pass.roles.iter().any(|role| role.migrated);
    match missed.next() {
        Some(failure) => Suspicion::Missed(failure.lost_cpu()),
        None if outcomes.iter().flatten().any(moved) => Suspicion::Moved,
        None => Suspicion::None,
    }
}

fn roles_of(placement: &[CpuId], full_placement: &[CpuId]) -> Vec<usize> {
    let is_placed = |(_, cpu): &(usize, &CpuId)| placement.contains(cpu);
    full_placement.iter().enumerate().filter(is_placed).map(|(role, _)| role).collect()
}

/// The number of a process in the whole run. Each segment starts its own processes.
fn process_of_run(segment: u32, process: u32) -> u32 {
    segment << 16 | process & 0xFFFF
}

/// Failures of a trial in earlier segments. Failures due to absent CPUs do not count, since the CPUs are back.
fn earlier_failures(record: &SeriesRecord, trial: usize) -> u32 {
    record.failures(trial).filter(|failure| !failure.missed_a_cpu()).count() as u32
}

struct Driver<'a> {
    run: RunLoop<'a>,
    topology: Topology,
    settings: &'a SeriesSettings,
    shares: Shares,
    concurrency: Concurrency,
    gate: ConcurrencyGate,
    watch: SentinelWatch,
    sentinel: Sentinel,
    cpus: Vec<Vec<CpuId>>,
    probes: Vec<&'static dyn SeriesProbe>,
    record: SeriesRecord,
    failures: Vec<u32>,
    gave_up_for_time: bool,
    /// By trial: its passes at the last check, and whether it was done. Cached, since the check is slow.
    done: Vec<Cell<Option<(u32, bool)>>>,
    segment: u32,
    /// Processes of each runtime. They perform passes in turn.
    forks: u32,
    pending: Commit,
    mean_concurrency: f64,
}

impl<'a> Driver<'a> {
    fn new(
        machine: &'a mut dyn Machine,
        settings: &'a SeriesSettings,
        resumed: SeriesResumedState,
        sink: &'a mut dyn Sink,
        observer: &'a mut dyn Observer,
        stop: &'a Stop,
    ) -> Result<Driver<'a>, RunError> {
        let known = |name: &String| {
            let unknown = || RunError::Settings(format!("measure: this version has no probe `{name}`"));
            probes::series_by_id(name).ok_or_else(unknown)
        };
        let probes =
            settings.trials.iter().map(|trial| known(&trial.probe)).collect::<Result<Vec<_>, _>>()?;
        if settings.trials.is_empty() {
            return Err(RunError::Settings("measure: the selected CPUs leave nothing to measure".into()));
        }
        let needs = |(probe, trial): (&&'static dyn SeriesProbe, &TrialSpec)| probe.cpus(trial);
        let cpus: Vec<Vec<CpuId>> = probes.iter().zip(&settings.trials).map(needs).collect();
        let orders = orders(settings, &probes);
        let budget = settings.budget - machine.preparing();
        let mut shares = Shares::new(settings, budget - settling(machine, &orders, settings));
        let mut notice = |text| observer.event(Event::Notice { text });
        let concurrency = Concurrency::new(machine, settings, &probes, shares.shortest(), &mut notice);
        shares.divide_by(&concurrency);
        let topology = machine.topology().clone();
        let sentinel = Sentinel::for_machine(machine);
        let needed = cpus.iter().flatten().copied().collect();
        let mut run = RunLoop::new(machine, needed, budget, &resumed, sink, observer, stop);
        run.warm_up(&orders, most_settling(settings).min(budget));
        Ok(Driver {
            run,
            topology,
            settings,
            shares,
            concurrency,
            gate: ConcurrencyGate::default(),
            watch: SentinelWatch::default(),
            sentinel,
            cpus,
            probes,
            failures: (0..settings.trials.len())
                .map(|trial| earlier_failures(&resumed.record, trial))
                .collect(),
            gave_up_for_time: false,
            record: resumed.record,
            done: vec![Cell::new(None); settings.trials.len()],
            segment: resumed.segments,
            forks: forks(&settings.options),
            pending: Commit::default(),
            mean_concurrency: 1.0,
        })
    }

    fn passes(&mut self) -> Result<Ended, RunError> {
        let lost = self.run.look_for_cpus(Suspicion::None)?;
        self.give_up(&lost);
        loop {
            self.look_back();
            let open: Vec<usize> =
                (0..self.settings.trials.len()).filter(|&trial| self.is_open(trial)).collect();
            if open.is_empty() {
                return Ok(if self.gave_up_for_time { Ended::Budget } else { Ended::Complete });
            }
            // Trials with long passes come last. Within each analysis, trials with short passes are completed first.
            let first = open.iter().map(|&trial| self.precedence(trial)).min();
            let open: Vec<usize> =
                open.into_iter().filter(|&trial| Some(self.precedence(trial)) == first).collect();
            // Trials with the fewest passes come first, so that an interrupted sweep continues where it stopped.
            let fewest = open.iter().map(|&trial| self.counted_passes(trial)).min().unwrap_or(0);
            let due: Vec<usize> =
                open.iter().copied().filter(|&trial| self.counted_passes(trial) == fewest).collect();
            let key = Key::from_words(&[self.settings.seed, u64::from(fewest)]);
            let rounds = self.concurrency.rounds(&due, |trial| self.passes_made(trial), &self.gate, key);
            let mean_concurrency = due.len() as f64 / rounds.len() as f64;
            let span = self.span(&open, fewest, mean_concurrency);
            let began = self.run.now();
            for mut round in rounds {
                round.retain(|&trial| self.failures[trial] < MAX_FAILURES);
                if round.is_empty() {
                    continue;
                }
                if !self.run.has_time() || !self.round(&round, &span)? {
                    return Ok(self.run.ended_early());
                }
            }
            self.mean_concurrency = mean_concurrency;
            self.rest(began + jittered(gap(self.settings), key))?;
        }
    }

    fn look_back(&mut self) {
        let gate = ConcurrencyGate::from_record(&self.topology, self.settings, &self.record);
        let watch = SentinelWatch::from_record(self.settings, &self.record);
        if (&gate, &watch) != (&self.gate, &self.watch) {
            (self.gate, self.watch) = (gate, watch);
            self.done.fill(Cell::new(None));
        }
    }

    /// Rank of a trial: by analysis, then by the minimum length of a pass.
    fn precedence(&self, trial: usize) -> (bool, Picos) {
        let second = self.counted_passes(trial) as usize >= ANALYSES[0];
        (second, self.probes[trial].least_span(&self.settings.trials[trial]).max(MAX_PASS))
    }

    fn round(&mut self, trials: &[usize], span: &dyn Fn(&str) -> Picos) -> Result<bool, RunError> {
        let left = self.run.left().max(MIN_PASS);
        let counted = self.settings.options.number(MESSAGES).is_some();
        let specs: Vec<Cow<'_, TrialSpec>> =
            trials.iter().map(|&trial| self.spec_on_present_cpus(trial)).collect();
        let order = |(index, &trial): (usize, &usize)| {
            let spec: &TrialSpec = &specs[index];
            let pass = self.passes_made(trial);
            let key = Key::from_words(&[self.settings.seed, u64::from(self.segment), u64::from(pass)]);
            TrialOrder {
                probe: self.probes[trial],
                spec,
                options: &self.settings.options,
                span: if counted { self.share_of(left, pass) } else { span(&spec.probe).min(left) },
                key: key.bits(spec.id().0),
                process: pass % self.forks,
            }
        };
        let orders: Vec<TrialOrder<'_>> = trials.iter().enumerate().map(order).collect();
        let longest = orders.iter().map(|order| order.span).max().unwrap_or(MIN_PASS);
        if self.run.is_commit_due(longest) {
            self.commit()?;
        }
        // The machine state just before and just after the pass. A pass in which the state changes belongs to none.
        let before = self.sentinel.visit(self.run.machine, &orders, self.run.stop)?;
        let outcomes: Vec<Outcome> = match &orders[..] {
            [order] => vec![self.run.machine.perform_trial(order, self.run.stop)],
            orders => self.run.machine.perform_trials(orders, self.run.stop),
        };
        let after = self.sentinel.visit(self.run.machine, &orders, self.run.stop)?;
        let lost = self.run.look_for_cpus(suspicion(&outcomes))?;
        let mut all_finished = true;
        for (index, (&trial, outcome)) in trials.iter().zip(outcomes).enumerate() {
            let around = before[index].zip(after[index]).map(|(before, after)| [before, after]);
            let placement = &specs[index].placement;
            match outcome {
                Err(TrialFailure::Interrupted) if self.run.has_time() => {
                    self.failures[trial] = MAX_FAILURES;
                    self.gave_up_for_time = true;
                }
                Err(TrialFailure::Interrupted) => all_finished = false,
                // A thread that loses its CPU moves to the CPUs of other trials and disturbs them. Those trials are
                // repeated.
                _ if !lost.is_empty() && self.goes_on(trial, &lost) => {}
                // Part of the pass ran on other CPUs.
                Ok(pass) if self.lost_a_cpu(trial, placement, &pass) => {}
                Ok(pass) => {
                    let all = &self.settings.trials[trial].placement;
                    let pass = match placement.len() == all.len() {
                        true => pass,
                        false => pass.of_roles(&roles_of(placement, all), all.len()),
                    };
                    let process = pass.process.map(|process| process_of_run(self.segment, process));
                    self.keep(trial, Ok(PassOutcome { sentinel_ns: around, process, ..pass }));
                }
                Err(failure) => self.keep(trial, Err(failure)),
            }
        }
        self.give_up(&lost);
        if all_finished && self.run.is_commit_due(Picos::ZERO) {
            self.commit()?;
        }
        Ok(all_finished)
    }

    /// Whether a CPU of the pass, or another CPU of its trial, was absent during the pass.
    fn lost_a_cpu(&self, trial: usize, placement: &[CpuId], pass: &PassOutcome) -> bool {
        let was_moved = pass.roles.iter().any(|role| role.migrated);
        let others: Vec<CpuId> = self.cpus[trial]
            .iter()
            .copied()
            .filter(|cpu| !self.settings.trials[trial].placement.contains(cpu))
            .collect();
        (was_moved && self.run.misses_one_of(placement)) || self.run.misses_one_of(&others)
    }

    /// Gives up open trials that cannot continue without a lost CPU. Records the loss as their failure.
    fn give_up(&mut self, departures: &[CpuLoss]) {
        for departure in departures {
            for trial in 0..self.settings.trials.len() {
                let goes_on = self.goes_on(trial, std::slice::from_ref(departure));
                if !goes_on && self.is_open(trial) {
                    self.keep(trial, Err(departure.failure()));
                    self.failures[trial] = MAX_FAILURES;
                }
            }
        }
    }

    fn goes_on(&self, trial: usize, departures: &[CpuLoss]) -> bool {
        let needs = &self.cpus[trial];
        let is_present = |cpu: &CpuId| !self.run.misses_one_of(&[*cpu]);
        let needs_none = departures.iter().all(|departure| !needs.contains(&departure.cpu));
        needs_none || (self.probes[trial].watches_each_cpu() && needs.iter().any(is_present))
    }

    /// A trial restricted to its present CPUs, if each role describes only its own CPU.
    fn spec_on_present_cpus(&self, trial: usize) -> Cow<'a, TrialSpec> {
        let spec = &self.settings.trials[trial];
        if !self.probes[trial].watches_each_cpu() || !self.run.misses_one_of(&spec.placement) {
            return Cow::Borrowed(spec);
        }
        let is_present = |cpu: &CpuId| !self.run.misses_one_of(&[*cpu]);
        let placement = spec.placement.iter().copied().filter(is_present).collect();
        Cow::Owned(TrialSpec { placement, ..spec.clone() })
    }

    fn keep(&mut self, trial: usize, outcome: Result<PassOutcome, TrialFailure>) {
        self.failures[trial] += u32::from(outcome.is_err());
        let entry = SeriesEntry {
            segment: self.segment,
            pass: self.passes_made(trial),
            trial: trial as u32,
            outcome,
        };
        self.record.push(entry.clone());
        self.pending.passes.push(entry);
    }

    /// Whether concurrency was refused for a trial after its first analysis. That analysis is then repeated alone.
    fn is_repeated_alone(&self, trial: usize) -> bool {
        self.passes_made(trial) as usize >= ANALYSES[0] && self.gate.refuses(trial)
    }

    /// Passes of a trial. If concurrency was refused, concurrent passes do not count.
    fn counted_passes(&self, trial: usize) -> u32 {
        if !self.is_repeated_alone(trial) {
            return self.passes_made(trial);
        }
        let concurrent = |entry: &&SeriesEntry| entry.outcome.as_ref().is_ok_and(|pass| pass.concurrent > 0);
        self.passes_made(trial) - self.record.passes(trial).iter().filter(concurrent).count() as u32
    }

    fn passes_made(&self, trial: usize) -> u32 {
        self.record.passes(trial).len() as u32
    }

    fn is_open(&self, trial: usize) -> bool {
        if self.failures[trial] >= MAX_FAILURES {
            return false;
        }
        // A quick look has time for the first analysis only.
        if self.settings.gathering() == Some(Gathering::QuickLook)
            && self.passes_made(trial) as usize >= ANALYSES[0]
        {
            return false;
        }
        let ends = self.probes[trial].ends_with_samples();
        let enough = ends && self.passes_made(trial) as usize >= ANALYSES[0];
        if !enough && !self.is_done(trial) {
            return true;
        }
        // Requested samples are collected as far as the budget allows.
        let Some(wanted) = self.settings.options.number("samples") else { return false };
        let passes = self.record.outcomes(trial).filter(|pass| self.covers(trial, pass));
        let made: u64 = passes.filter_map(|pass| pass.observed.numbers.counts.get("samples")).sum();
        (made as f64) < wanted
    }

    fn is_done(&self, trial: usize) -> bool {
        let made = self.passes_made(trial);
        match self.done[trial].get() {
            Some((passes, done)) if passes == made => done,
            _ => {
                let done = is_done(self.settings, &self.gate, &self.watch, &self.record, trial);
                self.done[trial].set(Some((made, done)));
                done
            }
        }
    }

    /// Whether a pass covers every present CPU of the trial. A continued run lacks data of CPUs that were absent
    /// before.
    fn covers(&self, trial: usize, pass: &PassOutcome) -> bool {
        let roles = self.settings.trials[trial].placement.iter().enumerate();
        let mut present = roles.filter(|(_, cpu)| !self.run.misses_one_of(&[**cpu]));
        !self.probes[trial].watches_each_cpu()
            || present.all(|(role, _)| pass.observed.by_role.contains_key(&role))
    }

    fn rest(&mut self, until: Picos) -> Result<(), RunError> {
        let now = self.run.now();
        if now < until {
            self.run.machine.pause(until - now, self.run.stop);
        }
        if self.run.is_commit_due(Picos::ZERO) {
            self.commit()?;
        }
        Ok(())
    }

    /// Makes everything pending durable. Called only between passes.
    fn commit(&mut self) -> Result<(), RunError> {
        let expected = self.expected().min(self.settings.budget);
        self.run.commit(&std::mem::take(&mut self.pending), expected)
    }

    fn finish(mut self, ended: Ended) -> Result<(SeriesResult, Ended), RunError> {
        self.commit()?;
        self.run.note_surroundings()?;
        if ended == Ended::Interrupted && self.run.is_kept()? {
            return Err(RunError::Interrupted);
        }
        let end = self.run.end(ended);
        (self.record.complete, self.record.budget_ended) = (end.complete, end.budget_ended);
        self.run.sink.finish_trials(end)?;
        Ok((analyse_series(&self.topology, self.settings, &self.record), ended))
    }
}
