//! [`Driver`]: performs the rounds of a map's phases in batches and logs the results.

use super::visit_log::VisitLog;
use super::visit_plan::VisitPlan;
use super::{Ended, ResumedState, RunError};
use crate::machine::{Assignment, Machine, Round, SpanOrder};
use crate::schedule::CellRound;
use crate::series::TrialOrder;
use crate::session::run_loop::{RunLoop, SLOT, Suspicion};
use crate::session::{Decision, Observer, Sink};
use crate::stop::Stop;
use coretalk_model::latency::analyse::JudgedCells;
use coretalk_model::latency::{
    Choices, LatencyResult, LatencySettings, Purpose, Scale, analyse_while, cells, representatives,
};
use coretalk_model::series::Observed;
use coretalk_model::stats::Key;
use coretalk_model::{CpuId, Picos, Relation, Topology};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Samples of one batch held in memory before they are reduced: 8 MB of ticks.
const BATCH_SAMPLES: u64 = 2 << 20;

pub struct Driver<'a> {
    pub run: RunLoop<'a>,
    pub settings: &'a LatencySettings,
    pub topology: Topology,
    pub pairs: Vec<[CpuId; 2]>,
    pub relations: Vec<Relation>,
    /// Indices of a few cells of each relation.
    pub representatives: Vec<u32>,
    pub log: VisitLog<'a>,
    pub choices: Choices,
    pub visit_plan: VisitPlan,
    pub budget_ended: bool,
    /// Whether an analysis found the interval of a cell narrow enough. Such a cell is not judged again with every pass.
    pub closed: Vec<bool>,
    /// By cell: number of passes after which the last analysis expects the interval to be narrow enough.
    pub expected_passes: Vec<u32>,
    /// The cells of each map, judged when its passes are complete. Empty before.
    pub judged: Vec<JudgedCells>,
    scale: Scale,
    expected: Picos,
    later_phases: LaterPhases,
}

/// Machine time of the phases after a map and its ladder, by the time spent before. Only the caller knows the phases.
pub type LaterPhases = fn(&Driver<'_>, Picos) -> Picos;

impl<'a> Driver<'a> {
    pub fn new(
        machine: &'a mut dyn Machine,
        settings: &'a LatencySettings,
        resumed: ResumedState,
        sink: &'a mut dyn Sink,
        observer: &'a mut dyn Observer,
        stop: &'a Stop,
    ) -> Result<Driver<'a>, RunError> {
        let topology = machine.topology().clone();
        let pairs = cells(&topology, settings);
        if pairs.is_empty() {
            return Err(RunError::Settings(
                "measure: the selected CPUs and pairs leave no pair to measure".into(),
            ));
        }
        let chosen = representatives(&topology, pairs.iter().copied());
        let is_chosen = |cell: &u32| chosen.contains(&pairs[*cell as usize]);
        let representatives = (0..pairs.len() as u32).filter(is_chosen).collect();
        let relations = pairs.iter().map(|pair| topology.relation(pair[0], pair[1])).collect();
        let clock = &machine.environment().clock;
        let scale = Scale { rate: machine.rate(), step_ns: clock.step_ns };
        let visit_plan = VisitPlan::new(settings, &topology, &pairs, clock);
        let mut choices = Choices::from_record(&resumed.record);
        choices.guest = machine.environment().hypervisor.is_some();
        choices.clock_ns = clock.cost_ns;
        choices.complete = false;
        choices.budget_ended = false;
        let cpus = settings.cpus.iter().copied().collect();
        Ok(Driver {
            run: RunLoop::new(machine, cpus, settings.budget, &resumed, sink, observer, stop),
            log: VisitLog::new(settings, scale, resumed.record, resumed.segments, pairs.len()),
            topology,
            pairs,
            relations,
            representatives,
            choices,
            visit_plan,
            budget_ended: false,
            closed: Vec::new(),
            expected_passes: Vec::new(),
            judged: Vec::new(),
            scale,
            expected: settings.budget,
            later_phases: |_, _| Picos::ZERO,
            settings,
        })
    }

    pub fn then(self, later_phases: LaterPhases) -> Driver<'a> {
        Driver { later_phases, ..self }
    }

    pub fn key(&self, purpose: Purpose, pass: u32) -> Key {
        Key::from_words(&[self.settings.seed, purpose as u64, u64::from(pass)])
    }

    /// The cells that a pass still has to visit. An interrupted pass continues where it stopped.
    pub fn due(&self, purpose: Purpose, pass: u32, cells: &[u32]) -> Vec<u32> {
        let record = &self.log.record;
        let entries =
            record.others(purpose).filter(|entry| entry.pass == pass && !record.is_due_again(entry));
        let made: BTreeSet<u32> = entries.map(|entry| entry.cell).collect();
        cells.iter().copied().filter(|&cell| !made.contains(&cell) && !self.log.has_failed(cell)).collect()
    }

    /// Start of the last visit for a purpose in this segment.
    pub fn last_of(&self, purpose: Purpose) -> Option<Picos> {
        let entries = self.log.record.others(purpose).filter(|entry| entry.segment == self.log.segment);
        entries.filter_map(|entry| Some(entry.outcome.as_ref().ok()?.started)).max()
    }

    /// Checks for lost CPUs and gives up their cells. Returns whether a CPU was lost, and the rounds of other cells
    /// that failed meanwhile. A CPU that goes offline disturbs others.
    fn give_up_lost_cpus(&mut self, suspicion: Suspicion) -> Result<(bool, Vec<CellRound>), RunError> {
        let losses = self.run.look_for_cpus(suspicion)?;
        let Driver { run, log, pairs, .. } = self;
        let to_repeat = log.settle(|cell| !losses.is_empty() && !run.misses_one_of(&pairs[cell as usize]));
        for loss in &losses {
            let cells_of_cpu = (0u32..).zip(&self.pairs).filter(|(_, pair)| pair.contains(&loss.cpu));
            self.log.lose(cells_of_cpu.map(|(cell, _)| cell), &loss.failure(), self.run.now());
        }
        Ok((!losses.is_empty(), to_repeat))
    }

    fn possible<'r>(&self, rounds: &'r [CellRound]) -> Cow<'r, [CellRound]> {
        if self.run.is_whole() {
            return Cow::Borrowed(rounds);
        }
        let possible = |cell: &u32| !self.run.misses_one_of(&self.pairs[*cell as usize]);
        let rounds = rounds.iter().map(|round| round.iter().copied().filter(possible).collect::<CellRound>());
        Cow::Owned(rounds.filter(|round| !round.is_empty()).collect())
    }

    pub fn perform(
        &mut self,
        purpose: Purpose,
        pass: u32,
        rounds: &[CellRound],
        orders: &dyn Fn(&VisitPlan, usize) -> Arc<[SpanOrder]>,
    ) -> Result<Ended, RunError> {
        self.give_up_lost_cpus(Suspicion::None)?;
        let mut rounds = self.possible(rounds);
        let mut next = 0;
        while next < rounds.len() {
            if self.run.is_stopped() || self.run.left() == Picos::ZERO {
                return self.ended_early();
            }
            let end = next + self.batch(purpose, &rounds[next..], orders);
            let batch: Vec<Round> =
                rounds[next..end].iter().map(|round| self.round(purpose, pass, round, orders)).collect();
            let Driver { run, log, relations, .. } = self;
            let mut performed = 0;
            run.machine.perform_each(&batch, run.stop, &mut |outcome| {
                let round = &rounds[next + performed];
                performed += 1;
                log.take(purpose, pass, round, slowest(relations, round), outcome)
            })?;
            let missed = log.missed_a_cpu().map(|failure| Suspicion::Missed(failure.lost_cpu()));
            let suspicion = missed.unwrap_or(Suspicion::None);
            let (is_lost, mut to_repeat) = self.give_up_lost_cpus(suspicion)?;
            if self.run.is_commit_due(Picos::ZERO) || self.log.is_full() {
                self.commit()?;
            }
            next += performed;
            if next < end {
                return self.ended_early();
            }
            if is_lost {
                to_repeat.extend(self.possible(&rounds[next..]).into_owned());
                (rounds, next) = (Cow::Owned(to_repeat), 0);
            }
        }
        Ok(Ended::Complete)
    }

    /// Performs one pass of a trial outside the map; `None` if it failed or was interrupted.
    pub fn try_trial(&mut self, order: &TrialOrder<'_>) -> Option<Observed> {
        Some(self.run.machine.perform_trial(order, self.run.stop).ok()?.observed)
    }

    fn ended_early(&mut self) -> Result<Ended, RunError> {
        self.commit()?;
        Ok(self.run.ended_early())
    }

    fn batch(
        &self,
        purpose: Purpose,
        rounds: &[CellRound],
        orders: &dyn Fn(&VisitPlan, usize) -> Arc<[SpanOrder]>,
    ) -> usize {
        let max_ns = SLOT.min(self.run.left()).ns();
        let (mut time, mut samples, mut count) = (0.0, 0, 0);
        for round in rounds {
            // A round of unknown duration fills the batch. It may take seconds if a quota throttles its threads.
            time += self.expect(purpose, round).unwrap_or(max_ns);
            // Only the first cell is counted, as the cells of a round are alike. This runs half a million times per
            // pass.
            let of_first =
                |&cell: &u32| orders(&self.visit_plan, cell as usize).iter().map(SpanOrder::samples).sum();
            samples += round.len() as u64 * round.first().map_or(0, of_first);
            if count > 0 && (time > max_ns || samples > BATCH_SAMPLES) {
                break;
            }
            count += 1;
        }
        count
    }

    pub fn expect(&self, purpose: Purpose, round: &CellRound) -> Option<f64> {
        self.log.expect(purpose, slowest(&self.relations, round)?)
    }

    /// Expected time of these orders for a cell that runs alone, according to the pilot.
    pub fn serial_ns(&self, cell: usize, orders: &[SpanOrder]) -> f64 {
        let round_trips: u64 = orders.iter().map(SpanOrder::round_trips).sum();
        self.overhead_ns(cell) + round_trips as f64 * self.round_trip_ns(cell)
    }

    /// Cost of a round in addition to its round trips, for rendezvous, flushing and clock probes.
    pub fn overhead_ns(&self, cell: usize) -> f64 {
        let pilot: u64 = self.visit_plan.other("pilot", cell).iter().map(SpanOrder::round_trips).sum();
        let Some(round) = self.expect(Purpose::Pilot, &vec![cell as u32]) else { return 60_000.0 };
        (round - pilot as f64 * self.round_trip_ns(cell)).max(5_000.0)
    }

    fn round_trip_ns(&self, cell: usize) -> f64 {
        self.visit_plan.round_trip_ns(self.relations[cell]).unwrap_or(200.0)
    }

    fn round(
        &self,
        purpose: Purpose,
        pass: u32,
        round: &CellRound,
        orders: &dyn Fn(&VisitPlan, usize) -> Arc<[SpanOrder]>,
    ) -> Round {
        let key = self.key(purpose, pass).with(u64::from(self.log.segment));
        let assignments = round
            .iter()
            .map(|&cell| Assignment {
                placement: placement(self.pairs[cell as usize], purpose),
                orders: orders(&self.visit_plan, cell as usize),
                key: key.bits(u64::from(cell)),
            })
            .collect();
        Round { assignments }
    }

    /// Updates the expected time: `remaining` for the current phase, plus the later phases.
    pub fn foresee(&mut self, remaining: Picos) {
        let spent = self.run.elapsed() + remaining;
        self.expected = (spent + (self.later_phases)(self, spent)).min(self.settings.budget);
    }

    pub fn commit(&mut self) -> Result<(), RunError> {
        self.run.commit(&self.log.take_pending(), self.expected)
    }

    /// Pauses measurements. Commits first if a commit is due, since a commit disturbs nothing during the pause.
    pub fn pause(&mut self, span: Picos) -> Result<(), RunError> {
        if self.run.is_commit_due(span) {
            self.commit()?;
        }
        let until = self.run.now() + span;
        // A long pause is split, so that commits stay at most half a second apart.
        while self.run.now() < until && !self.run.is_stopped() {
            self.run.machine.pause((until - self.run.now()).min(SLOT), self.run.stop);
            if self.run.is_commit_due(Picos::ZERO) {
                self.commit()?;
            }
        }
        Ok(())
    }

    pub fn decide(&mut self) -> Result<(), RunError> {
        for (key, value) in self.choices.decisions() {
            if self.log.record.decision(&key) != Some(value.as_str()) {
                self.log.record.decide(&key, &value);
                self.run.sink.decide(&Decision { key, value })?;
            }
        }
        Ok(())
    }

    /// Ends the run: commits pending data, stores the end, and returns the result. For a large machine a result takes
    /// seconds. So it is not derived if the user stops the run and the sink has kept everything.
    pub fn finish(mut self, ended: Ended) -> Result<(LatencyResult, Ended), RunError> {
        self.commit()?;
        let end = self.run.end(ended);
        (self.choices.complete, self.choices.budget_ended) = (end.complete, end.budget_ended);
        self.decide()?;
        self.run.note_surroundings()?;
        let stop = self.run.stop;
        let go_on = || !stop.is_raised();
        let judged = std::mem::take(&mut self.judged);
        let result = match self.analysed(judged, &go_on) {
            Some(result) => result,
            None if self.is_kept()? => return Err(RunError::Interrupted),
            None => self.analysed(Vec::new(), &|| true).unwrap_or_default(),
        };
        match self.run.sink.finish(&result) {
            Ok(()) => Ok((result, ended)),
            Err(_) if stop.is_raised() && self.is_kept()? => Err(RunError::Interrupted),
            Err(error) => Err(error.into()),
        }
    }

    fn analysed(&self, judged: Vec<JudgedCells>, go_on: &dyn Fn() -> bool) -> Option<LatencyResult> {
        analyse_while(&self.topology, self.settings, self.scale.rate, &self.log.record, judged, go_on)
    }

    fn is_kept(&mut self) -> Result<bool, RunError> {
        if !self.run.is_kept()? {
            return Ok(false);
        }
        self.choices.complete = false;
        self.decide()?;
        Ok(true)
    }
}

fn slowest(relations: &[Relation], round: &CellRound) -> Option<Relation> {
    round.iter().map(|&cell| relations[cell as usize]).max()
}

fn placement([first, second]: [CpuId; 2], purpose: Purpose) -> [CpuId; 2] {
    if purpose == Purpose::ImitationBack { [second, first] } else { [first, second] }
}
