//! [`Pass`]: what one pass of an adapter says, once everything that can be checked of it was checked.

use coretalk_model::runtime::names;
use coretalk_model::series::Observed;
use coretalk_model::{Flag, Flags, Histogram};
use std::time::Duration;

/// What one pass says.
#[derive(Debug, Clone, PartialEq)]
pub struct Pass {
    /// Which process of its pool performed it, from 0.
    pub fork: usize,
    /// Operations.
    pub count: u64,
    /// How long they took together, in nanoseconds, by the clock of the runtime.
    pub ns: u64,
    /// How long single operations took; `None` where nobody asked.
    pub events: Option<Histogram>,
    /// What the system says of each role.
    pub roles: [RoleAccount; 2],
    /// The share of CPU time, 0 to 1, that was used by other threads than the roles; `None` where the system does not
    /// say, or all threads together used too little to tell.
    pub outside: Option<f64>,
    /// The share of CPU time, 0 to 1, that was used by threads that began during the pass; `None` as above.
    pub late: Option<f64>,
    /// [`Cold`](coretalk_model::Flag::Cold), [`WorkedElsewhere`](coretalk_model::Flag::WorkedElsewhere) and
    /// [`Unclaimed`](coretalk_model::Flag::Unclaimed), where they apply.
    pub flags: Flags,
    /// What the adapter says beside, in its own words and order.
    pub notes: Vec<Note>,
    /// How long it took from the request to `done`.
    pub elapsed: Duration,
}

/// The remark that counts collections of garbage.
const COLLECTIONS: &str = "gc";
/// The remark that says what one read of the clock costs, which is no count.
const CLOCK: &str = "clock_ns";
/// What stands before the name of every other remark that is a number, among the counts of a pass.
const NOTE: &str = "note_";

/// What the system says of one role, over its pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RoleAccount {
    /// CPU time in nanoseconds; `None` where the system does not say.
    pub cpu_ns: Option<u64>,
    /// How long it was ready and had no CPU, in nanoseconds: the mark of a disturbed pass, unless both roles share a CPU.
    pub run_delay_ns: Option<u64>,
    /// Voluntary and involuntary switches.
    pub switches: Option<[u64; 2]>,
}

/// A remark of an adapter: `gc 0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Its first word.
    pub name: String,
    /// The rest.
    pub text: String,
}

impl Note {
    /// Its text as a number, where it is one.
    pub fn number(&self) -> Option<f64> {
        self.text.parse().ok().filter(|number: &f64| number.is_finite())
    }
}

impl Pass {
    /// Nanoseconds of one operation, on average.
    pub fn ns_per_operation(&self) -> f64 {
        self.ns as f64 / self.count as f64
    }

    /// What every pass of a runtime says, whatever it measures. How much was done by other threads is judged over all
    /// passes of a trial, and not for each.
    pub fn observed(&self) -> Observed {
        let mut observed = Observed::default();
        if self.flags.contains(Flag::Cold) {
            observed.flags.set(Flag::Cold);
        }
        if let Some(outside) = self.outside {
            observed.value(names::OUTSIDE, outside);
        }
        for note in self.notes.iter().filter(|note| note.name != CLOCK) {
            let Some(count) = note.number().filter(|count| *count >= 0.0) else { continue };
            match note.name.as_str() {
                COLLECTIONS => observed.count(names::COLLECTIONS, count as u64),
                name => observed.count(&format!("{NOTE}{name}"), count as u64),
            }
        }
        observed
    }

    /// What one read of the clock of the runtime costs in nanoseconds, where it says so.
    pub fn clock_ns(&self) -> Option<f64> {
        self.note(CLOCK)?.number()
    }

    /// The remark of a name.
    pub fn note(&self, name: &str) -> Option<&Note> {
        self.notes.iter().find(|note| note.name == name)
    }
}
