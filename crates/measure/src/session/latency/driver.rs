//! [`Driver`]: performs rounds, keeps the budget, hands everything to the sink, tells the observer.

use super::menu::Menu;
use super::{Ended, Past, RunError};
use crate::machine::{Assignment, Machine, Round, SpanOrder};
use crate::schedule::CellRound;
use crate::session::{Decision, Event, Kept, Observer, RecordedRound, RecordedTrial, Sink, Slot};
use crate::stop::Stop;
use coretalk_model::latency::{
    Choices, Counts, Entry, LatencyResult, LatencySettings, Purpose, Record, Scale, analyse, cells, reduce,
};
use coretalk_model::stats::{Key, LineScratch};
use coretalk_model::{CpuId, Picos, Relation, Topology, TrialFailure};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Whether to go on with the next phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    On,
    /// The machine time asked for is used up.
    BudgetEnded,
    /// Somebody wished to end.
    Stopped,
}

/// Commit slots lie at most half a second apart; batches are cut so that one ends in time.
const SLOT: Picos = Picos::from_ms(350);
/// Samples of one batch held in memory before they are reduced: 8 MB of ticks.
const BATCH_SAMPLES: u64 = 2 << 20;
/// Up to this many CPUs raw ticks are kept.
pub const RAW_CPUS: usize = 64;

/// Drives one run.
pub struct Driver<'a> {
    pub machine: &'a mut dyn Machine,
    pub settings: &'a LatencySettings,
    pub topology: Topology,
    /// The plan's list of cells.
    pub pairs: Vec<[CpuId; 2]>,
    /// The relation of each cell.
    pub relations: Vec<Relation>,
    pub record: Record,
    pub choices: Choices,
    /// What each visit executes.
    pub menu: Menu,
    pub budget_ended: bool,
    /// Cells that a look found narrow enough: not judged again at every pass.
    pub closed: Vec<bool>,
    /// How many trials of a cell gave nothing: in the map, and beside it.
    failures: BTreeMap<(Side, u32), u32>,
    sink: &'a mut dyn Sink,
    observer: &'a mut dyn Observer,
    stop: &'a Stop,
    segment: u32,
    scale: Scale,
    scratch: LineScratch,
    began: Picos,
    deadline: Picos,
    committed: Picos,
    pending: Slot,
    /// Mean time of a round by purpose and slowest relation in it, and how many it is the mean of.
    round_time: BTreeMap<(Purpose, Relation), (f64, u32)>,
    /// Machine time that the run is expected to need from its beginning, for progress.
    pub expected: Picos,
}

impl<'a> Driver<'a> {
    pub fn new(
        machine: &'a mut dyn Machine,
        settings: &'a LatencySettings,
        past: Past,
        sink: &'a mut dyn Sink,
        observer: &'a mut dyn Observer,
        stop: &'a Stop,
    ) -> Result<Driver<'a>, RunError> {
        let topology = machine.topology().clone();
        let pairs = cells(&topology, settings);
        if pairs.is_empty() {
            return Err(RunError::Settings(
                "measure: the choice of CPUs and pairs leaves no pair to measure".into(),
            ));
        }
        let relations = pairs.iter().map(|pair| topology.relation(pair[0], pair[1])).collect();
        let clock = &machine.environment().clock;
        let scale = Scale { rate: machine.rate(), step_ns: clock.step_ns };
        let menu = Menu::new(settings, &topology, &pairs, clock);
        let mut choices = Choices::of(&past.record);
        choices.guest = machine.environment().hypervisor.is_some();
        choices.clock_ns = clock.cost_ns;
        choices.complete = false;
        choices.budget_ended = false;
        let began = machine.now();
        Ok(Driver {
            failures: failures(&past.record, pairs.len()),
            topology,
            pairs,
            relations,
            record: past.record,
            choices,
            menu,
            budget_ended: false,
            closed: Vec::new(),
            segment: past.segments,
            scale,
            scratch: LineScratch::default(),
            began,
            deadline: began + settings.budget,
            committed: began,
            pending: Slot::default(),
            round_time: BTreeMap::new(),
            expected: settings.budget,
            machine,
            settings,
            sink,
            observer,
            stop,
        })
    }

    /// The stream of random choices for a purpose and a pass.
    pub fn key(&self, purpose: Purpose, pass: u32) -> Key {
        Key::of(&[self.settings.seed, purpose as u64, u64::from(pass)])
    }

    /// Says that a phase begins.
    pub fn phase(&mut self, purpose: Purpose) {
        self.observer.event(Event::Phase { purpose });
    }

    /// Says something that the user should know.
    pub fn notice(&mut self, text: String) {
        self.observer.event(Event::Notice { text });
    }

    /// Machine time left.
    pub fn left(&self) -> Picos {
        self.deadline - self.machine.now()
    }

    /// Machine time since the run began.
    pub fn elapsed(&self) -> Picos {
        self.machine.now() - self.began
    }

    /// Whether a cell gave nothing so often that nothing comes back to it beside the map: its CPU is gone, its partner
    /// hangs, and each hang costs its whole limit. A host that stalls must not cost a cell all its passes, though.
    pub fn has_failed(&self, cell: u32) -> bool {
        [Side::Map, Side::Beside].into_iter().any(|side| self.is_given_up(side, cell))
    }

    /// Whether the map has given a cell up. It tries every cell itself, so that each has its reason.
    pub fn has_failed_in_map(&self, cell: u32) -> bool {
        self.is_given_up(Side::Map, cell)
    }

    fn is_given_up(&self, side: Side, cell: u32) -> bool {
        self.failures.get(&(side, cell)).is_some_and(|&failures| failures >= PATIENCE)
    }

    /// Those of some cells that a pass has still to visit: a pass that broke off goes on where it did.
    pub fn due(&self, purpose: Purpose, pass: u32, cells: &[u32]) -> Vec<u32> {
        let of_pass = self.record.others(purpose).filter(|entry| entry.pass == pass);
        let made: BTreeSet<u32> = of_pass.map(|entry| entry.cell).collect();
        cells.iter().copied().filter(|&cell| !made.contains(&cell) && !self.has_failed(cell)).collect()
    }

    /// Whether somebody wishes to end.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_raised()
    }

    /// Performs rounds in order, batch by batch, until they, the budget or the patience of the user end.
    pub fn perform(
        &mut self,
        purpose: Purpose,
        pass: u32,
        rounds: &[CellRound],
        orders: &dyn Fn(&Menu, usize) -> Arc<[SpanOrder]>,
    ) -> Result<Flow, RunError> {
        let mut next = 0;
        while next < rounds.len() {
            if self.stop.is_raised() {
                return self.stopped();
            }
            if self.left() == Picos::ZERO {
                self.commit()?;
                return Ok(Flow::BudgetEnded);
            }
            let end = next + self.batch(purpose, &rounds[next..], orders);
            let batch: Vec<Round> =
                rounds[next..end].iter().map(|round| self.round(purpose, pass, round, orders)).collect();
            let outcomes = self.machine.perform(&batch, self.stop)?;
            for (round, outcome) in rounds[next..end].iter().zip(outcomes) {
                self.keep(purpose, pass, round, outcome);
                next += 1;
            }
            if self.machine.now() - self.committed >= SLOT {
                self.commit()?;
            }
            if next < end {
                return self.stopped();
            }
        }
        Ok(Flow::On)
    }

    fn stopped(&mut self) -> Result<Flow, RunError> {
        self.commit()?;
        Ok(Flow::Stopped)
    }

    /// How many rounds from here fit into one batch.
    fn batch(
        &self,
        purpose: Purpose,
        rounds: &[CellRound],
        orders: &dyn Fn(&Menu, usize) -> Arc<[SpanOrder]>,
    ) -> usize {
        let until = SLOT.min(self.left()).ns();
        let (mut time, mut samples, mut count) = (0.0, 0, 0);
        for round in rounds {
            time += self.expect(purpose, round).unwrap_or(until / 4.0);
            // Rounds are of one kind or nearly so: the first trial speaks for all, half a million times a pass.
            let of_first =
                |&cell: &u32| orders(&self.menu, cell as usize).iter().map(SpanOrder::samples).sum();
            samples += round.len() as u64 * round.first().map_or(0, of_first);
            if count > 0 && (time > until || samples > BATCH_SAMPLES) {
                break;
            }
            count += 1;
        }
        count
    }

    /// Expected time of a round in nanoseconds, from earlier ones of its kind.
    pub fn expect(&self, purpose: Purpose, round: &CellRound) -> Option<f64> {
        let slowest = round.iter().map(|&cell| self.relations[cell as usize]).max()?;
        self.round_time.get(&(purpose, slowest)).map(|time| time.0)
    }

    fn round(
        &self,
        purpose: Purpose,
        pass: u32,
        round: &CellRound,
        orders: &dyn Fn(&Menu, usize) -> Arc<[SpanOrder]>,
    ) -> Round {
        let key = self.key(purpose, pass).with(u64::from(self.segment));
        let assignments = round
            .iter()
            .map(|&cell| Assignment {
                placement: self.pairs[cell as usize].to_vec(),
                orders: orders(&self.menu, cell as usize),
                key: key.bits(u64::from(cell)),
            })
            .collect();
        Round { assignments }
    }

    fn keep(
        &mut self,
        purpose: Purpose,
        pass: u32,
        round: &CellRound,
        outcome: crate::machine::RoundOutcome,
    ) {
        if let Some(&slowest) = round.iter().map(|&cell| &self.relations[cell as usize]).max() {
            let (mean, count) = self.round_time.entry((purpose, slowest)).or_insert((0.0, 0));
            *count = (*count + 1).min(64);
            *mean += (outcome.elapsed.ns() - *mean) / f64::from(*count);
        }
        let single = matches!(purpose, Purpose::Tails | Purpose::Imitation);
        let keep_raw = single || self.settings.keep_raw || self.settings.cpus.len() <= RAW_CPUS;
        let mut trials = Vec::with_capacity(round.len());
        for (&cell, outcome) in round.iter().zip(outcome.trials) {
            let (outcome, raw) = match outcome {
                Ok(recording) => {
                    let mut visit = reduce(cell, &recording, self.scale, &mut self.scratch);
                    if self.settings.counts == Counts::Adaptive {
                        // Only the interval of a fixed count asks for it, and a map of 1,024 CPUs has 12 million.
                        visit.spans.iter_mut().for_each(|span| span.line_error_ns = None);
                    }
                    (Ok(visit), keep_raw.then_some(recording))
                }
                Err(failure) => (Err(failure), None),
            };
            if outcome == Err(TrialFailure::Interrupted) {
                continue;
            }
            if let Err(failure) = &outcome {
                let side = if purpose == Purpose::Map { Side::Map } else { Side::Beside };
                *self.failures.entry((side, cell)).or_default() += weight(failure);
            }
            if purpose == Purpose::Map {
                self.record.push_map(self.segment, pass, cell, &outcome);
            } else {
                let entry = Entry { segment: self.segment, purpose, pass, cell, outcome: outcome.clone() };
                self.record.push(entry, raw.as_ref());
            }
            trials.push(RecordedTrial { cell, outcome, raw });
        }
        let (started, elapsed) = (outcome.started, outcome.elapsed);
        self.pending.rounds.push(RecordedRound { purpose, pass, started, elapsed, trials });
    }

    /// Makes everything pending durable. Only between rounds.
    pub fn commit(&mut self) -> Result<(), RunError> {
        self.committed = self.machine.now();
        if self.pending.rounds.is_empty() {
            return Ok(());
        }
        let slot = std::mem::take(&mut self.pending);
        self.sink.commit(&slot)?;
        let expected = self.expected.max(self.elapsed());
        let progress = (self.elapsed().secs() / expected.secs()).min(1.0);
        self.observer.event(Event::Committed { slot: &slot, progress, left: expected - self.elapsed() });
        Ok(())
    }

    /// Lets the machine rest, committing first where a slot is due: the rest is the best place for it.
    pub fn pause(&mut self, span: Picos) -> Result<(), RunError> {
        if self.machine.now() + span - self.committed >= SLOT {
            self.commit()?;
        }
        let until = self.machine.now() + span;
        // A long rest is cut so that slots stay half a second apart.
        while self.machine.now() < until && !self.stop.is_raised() {
            self.machine.pause((until - self.machine.now()).min(SLOT), self.stop);
            if self.machine.now() - self.committed >= SLOT {
                self.commit()?;
            }
        }
        Ok(())
    }

    /// Notes every choice made so far.
    pub fn decide(&mut self) -> Result<(), RunError> {
        for (key, value) in self.choices.decisions() {
            if self.record.decision(&key) != Some(value.as_str()) {
                self.record.decide(&key, &value);
                self.sink.decide(&Decision { key, value })?;
            }
        }
        Ok(())
    }

    /// Ends the run: commits what is pending, notes how it ended, and says what follows from it.
    pub fn finish(mut self, flow: Flow) -> Result<(LatencyResult, Ended), RunError> {
        self.commit()?;
        let ended = match flow {
            Flow::On => Ended::Complete,
            Flow::BudgetEnded => Ended::Budget,
            Flow::Stopped => Ended::Interrupted,
        };
        self.choices.complete = ended != Ended::Interrupted;
        self.choices.budget_ended = ended == Ended::Budget;
        self.decide()?;
        if ended == Ended::Interrupted && self.sink.interrupt()? == Kept::Everything {
            return Err(RunError::Interrupted);
        }
        let result = analyse(&self.topology, self.settings, self.scale.rate, &self.record);
        self.sink.finish(&result)?;
        Ok((result, ended))
    }
}

/// Where a trial gave nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    /// In a pass of the map.
    Map,
    /// In the pilot, the gate, the ladder …
    Beside,
}

/// Trials of a cell that may give nothing before it is given up.
const PATIENCE: u32 = 3;

/// How much of the patience a failure costs: a CPU that is gone or refuses will not be there a moment later.
fn weight(failure: &TrialFailure) -> u32 {
    match failure {
        TrialFailure::NotPinned { .. } | TrialFailure::CpuLost { .. } => PATIENCE,
        _ => 1,
    }
}

/// What earlier sittings got nothing of is not tried again.
fn failures(record: &Record, cells: usize) -> BTreeMap<(Side, u32), u32> {
    let purposes = Purpose::ALL.into_iter().flat_map(|purpose| record.others(purpose));
    let beside = purposes.filter(|entry| entry.outcome.is_err()).map(|entry| (Side::Beside, entry.cell));
    let in_map = |cell: &u32| record.passes(*cell as usize).is_some_and(|passes| passes.failure.is_some());
    beside
        .chain((0..cells as u32).filter(in_map).map(|cell| (Side::Map, cell)))
        .map(|cell| (cell, PATIENCE))
        .collect()
}
