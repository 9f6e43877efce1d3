//! [`RunLoop`]: the common part of every run: a budget, CPUs that may be lost, commits, and an end.

use super::sink::{Commit, Decision, Event, Kept, Observer, PartEnd, Sink, SinkError};
use crate::machine::{Machine, MachineError};
use crate::series::TrialOrder;
use crate::stop::Stop;
use coretalk_model::latency::{Purpose, Record};
use coretalk_model::{CpuId, CpuLoss, CpuSet, LossReason, Picos};

/// Interval of commits. They are at most half a second apart, unless a single run of a comparison takes longer.
pub const SLOT: Picos = Picos::from_ms(350);
const CHECK_INTERVAL: Picos = Picos::from_ms(100);
/// Time for repeated queries about a CPU that is not offline yet. Linux refuses threads on a CPU that it takes down,
/// then removes the CPU from cpusets, and lists it as offline last. A quarter of the budget is the upper limit.
const MAX_SETTLING: Picos = Picos::from_ms(500);
/// Time for later queries whether the CPU is offline. If few CPUs emulate many (seen with 64), the system lists it only
/// after `MAX_SETTLING`.
const LATE_LISTING: Picos = Picos::from_ms(5_000);
const QUERY_INTERVAL: Picos = Picos::from_ms(20);

/// Time by which work may exceed the budget before it is aborted: the budget over a divisor, plus a constant.
const OVERRUN: (u64, Picos) = (20, Picos::from_ms(100));

/// The reason why a run could not continue.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The machine as a whole failed.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// Measurements could not be stored.
    #[error("save the measurements")]
    Sink(#[from] SinkError),
    /// The settings request something that this machine does not have.
    #[error("{0}")]
    Settings(String),
    /// The user stopped the run. The sink has kept everything, so the result can be derived in seconds.
    #[error("continue: interrupted")]
    Interrupted,
}

/// The end of a run or of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All planned work was done.
    Complete,
    /// The budget ended. Remaining wide intervals are reported.
    Budget,
    /// The user stopped the run or phase. At the end of a run the sink keeps nothing, so the returned result is the
    /// only one.
    Interrupted,
}

/// The earlier segments of the run that a segment resumes. The default has none.
#[derive(Debug, Clone, Default)]
pub struct ResumedState<R = Record> {
    /// Measurements of the earlier segments.
    pub record: R,
    /// Number of earlier segments. It is the index of the new segment.
    pub segments: u32,
    /// The preceding part of the same segment, if there is one.
    pub earlier: Option<Earlier>,
}

/// The preceding part of a segment. For example, trials follow a map.
#[derive(Debug, Clone)]
pub struct Earlier {
    /// Start time.
    pub began: Picos,
    /// The CPUs lost in that part.
    pub departed: Vec<CpuLoss>,
}

/// Whether a trial gave reason to check for lost CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suspicion {
    /// No suspicion. CPUs are checked at intervals.
    None,
    /// A thread may have been moved. CPUs are checked at once.
    Moved,
    /// A CPU refused a thread or was lost. CPUs are checked at once, until the system reports a CPU as offline. A named
    /// CPU was certainly absent, and counts as lost even if it is back.
    Missed(Option<CpuId>),
}

/// The common part of one segment. Its driver decides what to measure next and when to end. A lost CPU does not return
/// to the segment, so the segment's numbers stay consistent. The next segment begins with the CPUs that are present
/// then.
pub struct RunLoop<'a> {
    pub machine: &'a mut dyn Machine,
    /// For entries that only one kind of run stores. Measurements go through [`commit`](RunLoop::commit).
    pub sink: &'a mut dyn Sink,
    pub stop: &'a Stop,
    observer: &'a mut dyn Observer,
    segment: u32,
    budget: Picos,
    abort_at: Picos,
    began: Picos,
    last_commit: Picos,
    present: CpuSet,
    lost: CpuSet,
    earlier: Earlier,
    unsure: Vec<CpuLoss>,
    last_check: Option<Picos>,
}

impl<'a> RunLoop<'a> {
    pub fn new<R>(
        machine: &'a mut dyn Machine,
        cpus: CpuSet,
        budget: Picos,
        resumed: &ResumedState<R>,
        sink: &'a mut dyn Sink,
        observer: &'a mut dyn Observer,
        stop: &'a Stop,
    ) -> RunLoop<'a> {
        let began = machine.now();
        let (divisor, constant) = OVERRUN;
        let abort_at = began + budget + Picos(budget.0 / divisor) + constant;
        machine.end_by(Some(abort_at));
        let earlier = resumed.earlier.clone().unwrap_or(Earlier { began, departed: Vec::new() });
        RunLoop {
            segment: resumed.segments,
            budget,
            abort_at,
            began,
            last_commit: began,
            present: cpus,
            lost: CpuSet::new(),
            unsure: earlier.departed.iter().copied().filter(|it| it.why != LossReason::Offline).collect(),
            earlier,
            last_check: None,
            machine,
            sink,
            stop,
            observer,
        }
    }

    pub fn now(&self) -> Picos {
        self.machine.now()
    }

    pub fn elapsed(&self) -> Picos {
        self.now() - self.began
    }

    pub fn left(&self) -> Picos {
        self.began + self.budget - self.now()
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.is_raised()
    }

    pub fn has_time(&self) -> bool {
        !self.is_stopped() && self.left() > Picos::ZERO
    }

    /// Aborts work that is still running after this time. With `None` only the budget limits it.
    pub fn limit(&mut self, span: Option<Picos>) {
        let until = span.map_or(self.abort_at, |span| self.abort_at.min(self.now() + span));
        self.machine.end_by(Some(until));
    }

    /// The end of a run whose work was aborted by the user or by the budget.
    pub fn ended_early(&self) -> Ended {
        if self.is_stopped() { Ended::Interrupted } else { Ended::Budget }
    }

    pub fn warm_up(&mut self, orders: &[TrialOrder<'_>], most: Picos) {
        let observer = &mut *self.observer;
        self.machine.warm_up(orders, most, &mut |text| observer.event(Event::Notice { text }), self.stop);
    }

    pub fn phase(&mut self, purpose: Purpose) {
        self.observer.event(Event::Phase { purpose });
    }

    pub fn notice(&mut self, text: String) {
        self.observer.event(Event::Notice { text });
    }

    /// Checks at intervals whether every CPU is present. Stores, reports and returns the CPUs lost since the last
    /// check. Fails if a loss cannot be stored.
    pub fn look_for_cpus(&mut self, suspicion: Suspicion) -> Result<Vec<CpuLoss>, RunError> {
        let now = self.now();
        let is_due = self.last_check.is_none_or(|last| now - last >= CHECK_INTERVAL);
        if suspicion == Suspicion::None && !is_due {
            return Ok(Vec::new());
        }
        self.last_check = Some(now);
        self.look_again()?;
        let mut departures = Vec::new();
        let mut absent = self.absent_once_settled(suspicion);
        if let Suspicion::Missed(Some(cpu)) = suspicion
            && absent.is_empty()
            && self.present.contains(cpu)
        {
            let had_worker = self.machine.has_worker(cpu);
            absent.push((cpu, if had_worker { LossReason::Offline } else { LossReason::PinRefused }));
        }
        for (cpu, why) in absent {
            self.lost.insert(cpu);
            // A CPU reported by an earlier part of the segment is not reported again.
            if let Some(reported) = self.earlier.departed.iter().find(|reported| reported.cpu == cpu) {
                departures.push(*reported);
                continue;
            }
            let missed = self.machine.missed_since(cpu).unwrap_or(now);
            let departure = CpuLoss { cpu, after: missed - self.earlier.began, why };
            self.report(departure, false)?;
            self.unsure.extend(Some(departure).filter(|departure| departure.why != LossReason::Offline));
            departures.push(departure);
        }
        self.present = self.present.difference(&self.lost);
        Ok(departures)
    }

    fn look_again(&mut self) -> Result<(), RunError> {
        let cpus: CpuSet = self.unsure.iter().map(|departure| departure.cpu).collect();
        if cpus.is_empty() {
            return Ok(());
        }
        let absent = self.machine.absent(&cpus);
        let is_offline = |departure: &mut CpuLoss| absent.contains(&(departure.cpu, LossReason::Offline));
        let found: Vec<CpuLoss> = self.unsure.extract_if(.., is_offline).collect();
        for departure in found {
            self.report(CpuLoss { why: LossReason::Offline, ..departure }, true)?;
        }
        // Entries expire only after this check, since a driver of long runs checks rarely.
        let since = self.now() - self.earlier.began;
        self.unsure.retain(|departure| since <= departure.after + LATE_LISTING);
        Ok(())
    }

    /// Stores and reports the loss of a CPU. A later report of the same CPU replaces an earlier one.
    fn report(&mut self, departure: CpuLoss, again: bool) -> Result<(), RunError> {
        let (key, value) = departure.to_decision(self.segment);
        self.sink.decide(&Decision { key, value })?;
        self.observer.event(Event::Departed { departure, again });
        Ok(())
    }

    /// The absent CPUs, after the system's answer has become stable.
    fn absent_once_settled(&mut self, suspicion: Suspicion) -> Vec<(CpuId, LossReason)> {
        let until = self.now() + MAX_SETTLING.min(Picos(self.budget.0 / 4));
        loop {
            let absent = self.machine.absent(&self.present);
            let is_settled = match suspicion {
                Suspicion::Missed(_) if absent.is_empty() => false,
                _ => absent.iter().all(|&(_, why)| why == LossReason::Offline),
            };
            if is_settled || self.now() >= until || self.is_stopped() {
                return absent;
            }
            self.machine.pause(QUERY_INTERVAL, self.stop);
        }
    }

    pub fn is_whole(&self) -> bool {
        self.lost.is_empty()
    }

    pub fn misses_one_of(&self, cpus: &[CpuId]) -> bool {
        !self.lost.is_empty() && cpus.iter().any(|&cpu| self.lost.contains(cpu))
    }

    /// Whether a commit is due before work of this length.
    pub fn is_commit_due(&self, before: Picos) -> bool {
        self.now() + before - self.last_commit >= SLOT
    }

    /// Makes a commit durable unless it is empty. Called between trials. `expected` is the machine time of the whole
    /// run.
    pub fn commit(&mut self, slot: &Commit, expected: Picos) -> Result<(), RunError> {
        self.last_commit = self.now();
        if slot.rounds.is_empty() && slot.passes.is_empty() {
            return Ok(());
        }
        self.sink.commit(slot)?;
        let elapsed = self.elapsed();
        let expected = expected.max(elapsed);
        let progress = (elapsed.secs() / expected.secs().max(1e-9)).min(1.0);
        self.observer.event(Event::Committed { slot, progress, left: expected - elapsed });
        Ok(())
    }

    /// Stores known conditions of the segment: CPU use of other programs, and CPU quotas.
    pub fn note_surroundings(&mut self) -> Result<(), RunError> {
        self.look_again()?;
        let environment = self.machine.environment();
        let others = environment.others_share.map(|share| share.to_string());
        let throttled = environment.throttled.map(|throttled| throttled.to_json());
        for (key, value) in [("others-share", others), ("throttled", throttled)] {
            if let Some(value) = value {
                self.sink.decide(&Decision { key: format!("{key}:{}", self.segment), value })?;
            }
        }
        Ok(())
    }

    /// Records that the user stopped the run. Returns whether everything is kept.
    pub fn is_kept(&mut self) -> Result<bool, RunError> {
        Ok(self.sink.interrupt()? == Kept::Everything)
    }

    pub fn end(&self, ended: Ended) -> PartEnd {
        PartEnd {
            complete: ended != Ended::Interrupted && self.is_whole(),
            budget_ended: ended == Ended::Budget,
        }
    }
}

impl Drop for RunLoop<'_> {
    fn drop(&mut self) {
        self.machine.end_by(None);
    }
}
