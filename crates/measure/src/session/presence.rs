//! [`Presence`]: which CPUs of a run are still there.

use super::{Decision, Event, Observer, Sink, SinkError};
use crate::machine::Machine;
use coretalk_model::{CpuId, CpuSet, Departure, Picos};

/// How often the system is asked where nothing looks wrong.
const EVERY: Picos = Picos::from_ms(100);

/// Watches over the CPUs of a segment: one that went away does not come back into it, so that its numbers are of one
/// piece; the next segment begins with those that are there then.
#[derive(Debug)]
pub struct Presence {
    /// Those that are there.
    here: CpuSet,
    gone: CpuSet,
    /// Those that an earlier part of the segment has told of.
    told: Vec<Departure>,
    segment: u32,
    began: Picos,
    looked: Option<Picos>,
}

/// The part of a segment that was made before: a map, which trials follow.
#[derive(Debug, Clone)]
pub struct Earlier {
    /// When it began.
    pub began: Picos,
    /// The CPUs that went away in it.
    pub departed: Vec<Departure>,
}

/// Whether a trial gave reason to ask the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suspicion {
    /// Nothing looks wrong: ask now and then.
    None,
    /// A thread was moved, or refused: ask at once.
    Strong,
}

impl Presence {
    /// Of a segment that begins now.
    pub fn new(cpus: CpuSet, segment: u32, began: Picos) -> Presence {
        Presence { here: cpus, gone: CpuSet::new(), told: Vec::new(), segment, began, looked: None }
    }

    /// The same where the segment began with another part: a CPU that it has told of is not told of again.
    pub fn after(self, earlier: Earlier) -> Presence {
        Presence { told: earlier.departed, began: earlier.began, ..self }
    }

    /// Asks the system, where it is time to; gives the CPUs that went away since it was asked last, once the run file and
    /// the observer know of them.
    ///
    /// # Errors
    /// [`SinkError`] where a departure cannot be kept.
    pub fn look<S: Sink + ?Sized>(
        &mut self,
        machine: &dyn Machine,
        suspicion: Suspicion,
        sink: &mut S,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Departure>, SinkError> {
        let now = machine.now();
        let is_due = self.looked.is_none_or(|looked| now.saturating_sub(looked) >= EVERY);
        if suspicion == Suspicion::None && !is_due {
            return Ok(Vec::new());
        }
        self.looked = Some(now);
        let mut departures = Vec::new();
        for (cpu, why) in machine.absent(&self.here) {
            if let Some(told) = self.told.iter().find(|told| told.cpu == cpu) {
                self.gone.insert(cpu);
                departures.push(*told);
                continue;
            }
            let missed = machine.missed_since(cpu).unwrap_or(now);
            let departure = Departure { cpu, after: missed.saturating_sub(self.began), why };
            let (key, value) = departure.to_decision(self.segment);
            sink.decide(&Decision { key, value })?;
            observer.event(Event::Departed { departure });
            self.gone.insert(cpu);
            departures.push(departure);
        }
        self.here = self.here.difference(&self.gone);
        Ok(departures)
    }

    /// The CPUs that went away.
    pub fn gone(&self) -> &CpuSet {
        &self.gone
    }

    /// One of these CPUs that went away.
    pub fn gone_of(&self, cpus: &[CpuId]) -> Option<CpuId> {
        if self.gone.is_empty() {
            return None;
        }
        cpus.iter().copied().find(|&cpu| self.gone.contains(cpu))
    }
}
