//! [`RunLoop`]: what every run has, whatever it measures: a budget, CPUs that may go away, slots, and an end.

use super::sink::{Decision, Event, Kept, Observer, PartEnd, Sink, SinkError, Slot};
use crate::machine::{Machine, MachineError};
use crate::series::TrialOrder;
use crate::stop::Stop;
use coretalk_model::latency::{Purpose, Record};
use coretalk_model::{Absence, CpuId, CpuSet, Departure, Picos};

/// Commit slots lie at most half a second apart, unless one run of a comparison of placements takes longer.
pub const SLOT: Picos = Picos::from_ms(350);
/// How often the system is asked for CPUs that went away where nothing looks wrong.
const EVERY: Picos = Picos::from_ms(100);
/// How long the system is asked again about a CPU of which it does not say yet that it is offline: Linux refuses threads
/// on a CPU that it takes down, then takes it out of cpusets, and lists it as offline last. At most a quarter of a budget.
const SETTLES: Picos = Picos::from_ms(500);
/// How long the system is asked afterwards whether it is offline after all: where many CPUs are emulated by few, taking one
/// down lasts longer than the half second above (seen on 64).
const LISTED_AFTER: Picos = Picos::from_ms(5_000);
/// Between two such questions.
const ASK_AGAIN: Picos = Picos::from_ms(20);

/// What began within a budget may go on this much longer, a share of the budget and a time, before it is broken off.
const OVERRUN: (u64, Picos) = (20, Picos::from_ms(100));

/// Why a run could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The machine as a whole failed.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// What was measured could not be kept.
    #[error("save the measurements")]
    Sink(#[from] SinkError),
    /// The settings ask for something that this machine does not have.
    #[error("{0}")]
    Settings(String),
    /// Somebody wished to end, and the sink has kept everything. The result would take seconds for a large machine,
    /// and whoever wants it reads the run back.
    #[error("continue: interrupted")]
    Interrupted,
}

/// How a run ended, or a phase of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Everything planned was done.
    Complete,
    /// The budget ended; wide intervals stay and are said.
    Budget,
    /// Somebody wished to end. As the end of a run: the sink keeps nothing, and this is all that is left of it.
    Interrupted,
}

/// What a resumed segment goes on from: the earlier segments of its run; a default is a run that begins.
#[derive(Debug, Clone, Default)]
pub struct ResumedState<R = Record> {
    /// What they measured.
    pub record: R,
    /// How many there were: the number of the new one.
    pub segments: u32,
    /// What the new one began with, where that was not this part of the run.
    pub earlier: Option<Earlier>,
}

/// The part of a segment that was made before: a map, which trials follow.
#[derive(Debug, Clone)]
pub struct Earlier {
    /// When it began.
    pub began: Picos,
    /// The CPUs that went away in it.
    pub departed: Vec<Departure>,
}

/// Whether a trial gave reason to ask the system for its CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suspicion {
    /// Nothing looks wrong: ask now and then.
    None,
    /// A thread may have been moved: ask at once.
    Moved,
    /// A CPU refused a thread, or lost one: ask at once, and again where the system knows nothing yet. The CPU is named where
    /// it was surely away: then it went, though it may be back by now.
    Missed(Option<CpuId>),
}

/// Holds one segment together. What is measured next, and when it is enough, is for whoever drives it to decide.
///
/// A CPU that went away does not come back into a segment, so that its numbers are of one piece; the next segment begins
/// with those that are there then.
pub struct RunLoop<'a> {
    pub machine: &'a mut dyn Machine,
    /// For what only one kind of run notes; slots go through [`commit`](RunLoop::commit).
    pub sink: &'a mut dyn Sink,
    pub stop: &'a Stop,
    observer: &'a mut dyn Observer,
    segment: u32,
    budget: Picos,
    /// When what the machine performs is broken off.
    until: Picos,
    began: Picos,
    committed: Picos,
    /// The CPUs that are there.
    here: CpuSet,
    gone: CpuSet,
    earlier: Earlier,
    /// Those that left and are not known to be offline.
    unsure: Vec<Departure>,
    looked: Option<Picos>,
}

impl<'a> RunLoop<'a> {
    /// A segment that begins now and needs these CPUs.
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
        let (share, least) = OVERRUN;
        let until = began + budget + Picos(budget.0 / share) + least;
        machine.end_by(Some(until));
        let earlier = resumed.earlier.clone().unwrap_or(Earlier { began, departed: Vec::new() });
        RunLoop {
            segment: resumed.segments,
            budget,
            until,
            began,
            committed: began,
            here: cpus,
            gone: CpuSet::new(),
            unsure: earlier.departed.iter().copied().filter(|it| it.why != Absence::Offline).collect(),
            earlier,
            looked: None,
            machine,
            sink,
            stop,
            observer,
        }
    }

    /// The time on the machine's own line.
    pub fn now(&self) -> Picos {
        self.machine.now()
    }

    /// Machine time since the run began.
    pub fn elapsed(&self) -> Picos {
        self.now() - self.began
    }

    /// Machine time left.
    pub fn left(&self) -> Picos {
        self.began + self.budget - self.now()
    }

    /// Whether somebody wishes to end.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_raised()
    }

    /// Whether there is time left, and nobody wishes to end.
    pub fn has_time(&self) -> bool {
        !self.is_stopped() && self.left() > Picos::ZERO
    }

    /// Breaks off what is performed from now on once it has taken so long; `None` leaves that to the budget.
    pub fn limit(&mut self, span: Option<Picos>) {
        let until = span.map_or(self.until, |span| self.until.min(self.now() + span));
        self.machine.end_by(Some(until));
    }

    /// How a run ended of which the machine broke off what it performed: somebody wished to end, or the budget did.
    pub fn broken_off(&self) -> Ended {
        if self.is_stopped() { Ended::Interrupted } else { Ended::Budget }
    }

    /// Lets everything settle that performs these trials, for `most` in all.
    pub fn warm_up(&mut self, orders: &[TrialOrder<'_>], most: Picos) {
        let observer = &mut *self.observer;
        self.machine.warm_up(orders, most, &mut |text| observer.event(Event::Notice { text }), self.stop);
    }

    /// Says that a phase begins.
    pub fn phase(&mut self, purpose: Purpose) {
        self.observer.event(Event::Phase { purpose });
    }

    /// Says something that the user should know.
    pub fn notice(&mut self, text: String) {
        self.observer.event(Event::Notice { text });
    }

    /// Asks the system, where it is time to, whether every CPU is still there; gives those that went away since it was
    /// asked last, once the run file and the observer know of them.
    ///
    /// # Errors
    /// [`RunError::Sink`] where a departure cannot be kept.
    pub fn look_for_cpus(&mut self, suspicion: Suspicion) -> Result<Vec<Departure>, RunError> {
        let now = self.now();
        let is_due = self.looked.is_none_or(|looked| now - looked >= EVERY);
        if suspicion == Suspicion::None && !is_due {
            return Ok(Vec::new());
        }
        self.looked = Some(now);
        self.look_again()?;
        let mut departures = Vec::new();
        let mut absent = self.settled(suspicion);
        if let Suspicion::Missed(Some(cpu)) = suspicion
            && absent.is_empty()
            && self.here.contains(cpu)
        {
            let was_held = self.machine.has_worker(cpu);
            absent.push((cpu, if was_held { Absence::Offline } else { Absence::PinRefused }));
        }
        for (cpu, why) in absent {
            self.gone.insert(cpu);
            // A CPU that an earlier part of the segment has told of is not told of again.
            if let Some(told) = self.earlier.departed.iter().find(|told| told.cpu == cpu) {
                departures.push(*told);
                continue;
            }
            let missed = self.machine.missed_since(cpu).unwrap_or(now);
            let departure = Departure { cpu, after: missed - self.earlier.began, why };
            self.tell(departure, false)?;
            self.unsure.extend(Some(departure).filter(|departure| departure.why != Absence::Offline));
            departures.push(departure);
        }
        self.here = self.here.difference(&self.gone);
        Ok(departures)
    }

    /// Says it of CPUs that left before the system listed them as offline.
    fn look_again(&mut self) -> Result<(), RunError> {
        let cpus: CpuSet = self.unsure.iter().map(|departure| departure.cpu).collect();
        if cpus.is_empty() {
            return Ok(());
        }
        let absent = self.machine.absent(&cpus);
        let is_offline = |departure: &mut Departure| absent.contains(&(departure.cpu, Absence::Offline));
        let found: Vec<Departure> = self.unsure.extract_if(.., is_offline).collect();
        for departure in found {
            self.tell(Departure { why: Absence::Offline, ..departure }, true)?;
        }
        // Only now: whoever performs a long run asks rarely.
        let since = self.now() - self.earlier.began;
        self.unsure.retain(|departure| since <= departure.after + LISTED_AFTER);
        Ok(())
    }

    /// Lets the run file and the observer know why a CPU left; what is said later of the same one counts.
    fn tell(&mut self, departure: Departure, again: bool) -> Result<(), RunError> {
        let (key, value) = departure.to_decision(self.segment);
        self.sink.decide(&Decision { key, value })?;
        self.observer.event(Event::Departed { departure, again });
        Ok(())
    }

    /// The CPUs that are not there, once the system says the same of them as it will say in a moment.
    fn settled(&mut self, suspicion: Suspicion) -> Vec<(CpuId, Absence)> {
        let until = self.now() + SETTLES.min(Picos(self.budget.0 / 4));
        loop {
            let absent = self.machine.absent(&self.here);
            let is_settled = match suspicion {
                Suspicion::Missed(_) if absent.is_empty() => false,
                _ => absent.iter().all(|&(_, why)| why == Absence::Offline),
            };
            if is_settled || self.now() >= until || self.is_stopped() {
                return absent;
            }
            self.machine.pause(ASK_AGAIN, self.stop);
        }
    }

    /// Whether every CPU is still there.
    pub fn is_whole(&self) -> bool {
        self.gone.is_empty()
    }

    /// Whether one of these CPUs went away.
    pub fn misses_one_of(&self, cpus: &[CpuId]) -> bool {
        !self.gone.is_empty() && cpus.iter().any(|&cpu| self.gone.contains(cpu))
    }

    /// Whether the slot has to be committed before something that takes so long.
    pub fn is_commit_due(&self, before: Picos) -> bool {
        self.now() + before - self.committed >= SLOT
    }

    /// Makes a slot durable, if anything is in it. Only while no trial is made. `expected` is the machine time that the
    /// run is expected to need from its beginning.
    ///
    /// # Errors
    /// [`RunError::Sink`] where it cannot be kept.
    pub fn commit(&mut self, slot: &Slot, expected: Picos) -> Result<(), RunError> {
        self.committed = self.now();
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

    /// Notes what went on around the segment: what other programs took of the CPUs, and what a quota did. Nothing of what
    /// the machine cannot tell.
    ///
    /// # Errors
    /// [`RunError::Sink`] where it cannot be kept.
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

    /// Notes that somebody wished to end; gives whether everything is kept.
    ///
    /// # Errors
    /// [`RunError::Sink`] where that cannot be noted.
    pub fn is_kept(&mut self) -> Result<bool, RunError> {
        Ok(self.sink.interrupt()? == Kept::Everything)
    }

    /// What such an end says of this part of the run.
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
