//! [`Pass`]: what one pass of an adapter says, once everything that can be checked of it was checked.

use crate::external::is_word;
use coretalk_model::runtime::names;
use coretalk_model::series::Observed;
use coretalk_model::{CpuId, Flag, Flags, Histogram};
use std::collections::BTreeMap;
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
    /// The distributions with names, where an operation has several.
    pub events_of: BTreeMap<String, Histogram>,
    /// What the system says of each role.
    pub roles: Vec<RoleAccount>,
    /// The share of CPU time, 0 to 1, that was used by other threads than the roles; `None` where the system does not
    /// say, or all threads together used too little to tell.
    pub outside: Option<f64>,
    /// The share of CPU time, 0 to 1, that was used by threads that began during the pass; `None` as above.
    pub late: Option<f64>,
    /// [`Cold`](coretalk_model::Flag::Cold), [`WorkedElsewhere`](coretalk_model::Flag::WorkedElsewhere) and
    /// [`Unclaimed`](coretalk_model::Flag::Unclaimed), where they apply.
    pub flags: Flags,
    /// What each role did of contention; empty of all else.
    pub shares: Vec<RoleShare>,
    /// What the adapter says beside, in its own words and order.
    pub notes: Vec<Note>,
    /// How often both threads were looked for on their CPUs during the pass, where the system does not count their moves.
    pub placement_samples: Option<u64>,
    /// How long it took from the request to `done`.
    pub elapsed: Duration,
}

/// The remark that counts collections of garbage.
const COLLECTIONS: &str = "gc";
/// The remark that says what one read of the clock costs, which is no count.
pub(super) const CLOCK: &str = "clock_ns";
/// What stands before the name of every other remark that is a number, among the counts of a pass.
const NOTE: &str = "note_";

/// The largest count that is kept of a remark: a run of a million passes counts no more than a run file holds.
const MAX_COUNT: u64 = 1 << 40;

/// Characters of the name of a remark.
const MAX_NAME: usize = 64;

/// No slice of the system's scheduler is shorter; a thread that gives its CPU away by `yield` does so within microseconds.
const SLICE_NS: u64 = 1_000_000;
/// Threads that sleep hand over at least one operation in this many by a voluntary switch. On a loaded machine other
/// programs preempt them as well: the number of involuntary switches says nothing about how they wait.
const OPERATIONS_PER_SLEEP: u64 = 10;

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

/// What one role added to a number that all share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoleShare {
    /// Additions in its window.
    pub operations: u64,
    /// When its window began and ended, in nanoseconds from the start of the pass.
    pub window: [u64; 2],
    /// Additions in all, those before and after its window included.
    pub added: u64,
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

    /// Whether a remark may be called so: its name heads a column of what is written.
    pub fn may_be_called(name: &str) -> bool {
        name.len() <= MAX_NAME && is_word(&name.replace('_', "-"))
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
        if let Some(samples) = self.placement_samples {
            observed.count(names::PLACEMENT_SAMPLES, samples);
        }
        for note in self.notes.iter().filter(|note| note.name != CLOCK) {
            // Only whole numbers add up over passes; what else it remarks is shown where an adapter is checked.
            let Some(count) = note.text.parse().ok().filter(|count| *count <= MAX_COUNT) else { continue };
            match note.name.as_str() {
                COLLECTIONS => observed.count(names::COLLECTIONS, count),
                name => observed.count(&format!("{NOTE}{name}"), count),
            }
        }
        observed
    }

    /// Whether both roles shared a CPU and handed over at the end of time slices alone, as threads that poll without end do.
    /// The result is one of the scheduler. `per_switch` is how many operations a thread can do before it has to wait: the
    /// capacity of a queue. Fewer voluntary switches than sleeping needs for the operations of the pass are the sign.
    pub fn hangs_on_slices(&self, placement: &[CpuId], per_switch: u64) -> bool {
        let Some(switches) = self.switches() else { return false };
        let shared = placement.len() == 2 && placement[0] == placement[1];
        shared && slept_too_rarely(switches[0], self.count, per_switch) && are_of_slices(switches[1], self.ns)
    }

    /// Voluntary and involuntary switches of all roles; `None` where the system does not say.
    pub fn switches(&self) -> Option<[u64; 2]> {
        let add = |[a, b]: [u64; 2], [c, d]: [u64; 2]| [a + c, b + d];
        self.roles.iter().try_fold([0; 2], |sum, role| Some(add(sum, role.switches?)))
    }

    /// CPU time of all roles in nanoseconds; `None` where the system does not say.
    pub fn cpu_ns(&self) -> Option<u64> {
        self.roles.iter().map(|role| role.cpu_ns).sum()
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

/// Whether two threads gave their CPU away too rarely to have slept for so many operations, of which a thread can do
/// `per_switch` before it has to wait.
pub fn slept_too_rarely(voluntary: u64, operations: u64, per_switch: u64) -> bool {
    voluntary.saturating_mul(per_switch.max(1)).saturating_mul(OPERATIONS_PER_SLEEP) < operations
}

/// Whether CPUs were taken away no more often than time slices end in so many nanoseconds.
pub fn are_of_slices(involuntary: u64, ns: u64) -> bool {
    ns >= involuntary.max(1).saturating_mul(SLICE_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_poll_without_end_hang_on_time_slices_and_those_that_yield_or_sleep_do_not() {
        let [shared, apart] = [[CpuId(0), CpuId(0)], [CpuId(0), CpuId(1)]];
        let pass = |given: u64, taken: u64| Pass {
            fork: 0,
            count: 100,
            ns: 50_000_000,
            events: None,
            events_of: BTreeMap::new(),
            roles: vec![RoleAccount { switches: Some([given, taken]), ..RoleAccount::default() }; 2],
            outside: None,
            late: None,
            flags: Flags::NONE,
            shares: Vec::new(),
            notes: Vec::new(),
            placement_samples: None,
            elapsed: Duration::ZERO,
        };
        assert!(pass(0, 8).hangs_on_slices(&shared, 1), "a switch in 3 ms");
        assert!(!pass(0, 8).hangs_on_slices(&apart, 1));
        assert!(!pass(0, 5_000).hangs_on_slices(&shared, 1), "it yields");
        assert!(!pass(8, 0).hangs_on_slices(&shared, 1), "it sleeps, seldom");
        // A queue of 10,000 on a loaded machine: it slept once in each lap, and others preempted it more often.
        let loaded = Pass { count: 200_000, ..pass(10, 25) };
        assert!(!loaded.hangs_on_slices(&shared, 10_000));
        assert!(Pass { count: 200_000, ..pass(0, 25) }.hangs_on_slices(&shared, 10_000), "it never slept");
        let unknown = Pass { roles: vec![RoleAccount::default(); 2], ..pass(0, 8) };
        assert!(!unknown.hangs_on_slices(&shared, 1));
    }
}
