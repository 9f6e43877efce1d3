//! [`AdapterPass`]: the verified result of one pass of an adapter.

use coretalk_model::external::is_word;
use coretalk_model::runtime::names;
use coretalk_model::series::Observed;
use coretalk_model::{CpuId, Flag, Flags, Histogram};
use std::collections::BTreeMap;
use std::time::Duration;

/// Result of one pass.
#[derive(Debug, Clone, PartialEq)]
pub struct AdapterPass {
    /// Index of the process in its pool, from 0.
    pub fork: usize,
    /// Operations.
    pub count: u64,
    /// Duration of all operations in nanoseconds, by the clock of the runtime.
    pub ns: u64,
    /// Durations of single operations; `None` if not requested.
    pub events: Option<Histogram>,
    /// Named distributions of operations that have several.
    pub events_of: BTreeMap<String, Histogram>,
    /// System statistics of each role.
    pub roles: Vec<RoleAccount>,
    /// Share of the CPU time, 0 to 1, used by threads other than the roles. `None` if the system does not report it, or
    /// if all threads together used too little.
    pub outside: Option<f64>,
    /// Share of the CPU time, 0 to 1, used by threads that began during the pass. `None` as for `outside`.
    pub late: Option<f64>,
    /// [`Cold`](coretalk_model::Flag::Cold), [`WorkedElsewhere`](coretalk_model::Flag::WorkedElsewhere) and
    /// [`Unclaimed`](coretalk_model::Flag::Unclaimed), where they apply.
    pub flags: Flags,
    /// Additions of each role under contention; empty for other operations.
    pub shares: Vec<RoleShare>,
    /// Notes of the adapter, in its own words.
    pub notes: Vec<Note>,
    /// Number of samples of the roles' CPUs. `None` if the system counts migrations.
    pub placement_samples: Option<u64>,
    /// Time from the request to `done`.
    pub elapsed: Duration,
}

const COLLECTIONS: &str = "gc";
/// Name of the note with the cost of one clock read. Its value is a duration, not a count.
pub(super) const CLOCK: &str = "clock_ns";
/// Prefix of the name under which any other numeric note is counted.
const NOTE: &str = "note_";

/// Maximum accepted count in a note. The sum over a million passes still fits into a run file.
const MAX_COUNT: u64 = 1 << 40;

const MAX_NAME: usize = 64;

/// Minimum quantum of the scheduler. A thread that calls `yield` gives up its CPU within microseconds.
const SLICE_NS: u64 = 1_000_000;
/// Threads that sleep make at least one voluntary switch per this many operations. Involuntary switches do not show how
/// a thread waits, since other programs cause them as well.
const OPERATIONS_PER_SLEEP: u64 = 10;

/// System statistics of one role during its pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RoleAccount {
    /// CPU time in nanoseconds; `None` if the system does not report it.
    pub cpu_ns: Option<u64>,
    /// Time runnable without a CPU, in nanoseconds. It shows a disturbed pass, unless both roles share a CPU.
    pub run_delay_ns: Option<u64>,
    /// Voluntary and involuntary context switches.
    pub switches: Option<[u64; 2]>,
}

/// Additions of one role to the shared number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoleShare {
    /// Additions in its window.
    pub operations: u64,
    /// Begin and end of its window, in nanoseconds since the start of the pass.
    pub window: [u64; 2],
    /// All additions, including those before and after its window.
    pub added: u64,
}

/// Note of an adapter: `gc 0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// First word.
    pub name: String,
    /// Remaining text.
    pub text: String,
}

impl Note {
    /// The text as a finite number.
    pub fn number(&self) -> Option<f64> {
        self.text.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// Whether `name` may name a note. It becomes the name of a column.
    pub fn may_be_called(name: &str) -> bool {
        name.len() <= MAX_NAME && is_word(&name.replace('_', "-"))
    }
}

impl AdapterPass {
    /// Mean duration of one operation in nanoseconds.
    pub fn ns_per_operation(&self) -> f64 {
        self.ns as f64 / self.count as f64
    }

    /// Values common to passes of all operations. The share of other threads is judged later, over all passes.
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
            // Only integers can be summed over passes. Other notes appear only in the check of an adapter.
            let Some(count) = note.text.parse().ok().filter(|count| *count <= MAX_COUNT) else { continue };
            match note.name.as_str() {
                COLLECTIONS => observed.count(names::COLLECTIONS, count),
                name => observed.count(&format!("{NOTE}{name}"), count),
            }
        }
        observed
    }

    /// Whether both roles shared a CPU and switched only at the end of a quantum, as threads that poll forever do. The
    /// result then measures the scheduler. `per_switch` is the capacity of a queue: the operations that a thread can
    /// perform before it waits. Threads that sleep would make more voluntary switches.
    pub fn waits_for_quanta(&self, placement: &[CpuId], per_switch: u64) -> bool {
        let Some(switches) = self.switches() else { return false };
        let shared = placement.len() == 2 && placement[0] == placement[1];
        shared
            && slept_too_rarely(switches[0], self.count, per_switch)
            && are_quantum_ends(switches[1], self.ns)
    }

    /// Sums of voluntary and involuntary context switches of all roles; `None` if the system does not report them.
    pub fn switches(&self) -> Option<[u64; 2]> {
        let add = |[a, b]: [u64; 2], [c, d]: [u64; 2]| [a + c, b + d];
        self.roles.iter().try_fold([0; 2], |sum, role| Some(add(sum, role.switches?)))
    }

    /// CPU time of all roles in nanoseconds; `None` if the system does not report it.
    pub fn cpu_ns(&self) -> Option<u64> {
        self.roles.iter().map(|role| role.cpu_ns).sum()
    }

    /// Cost of one read of the runtime's clock in nanoseconds, if the adapter reports it.
    pub fn clock_ns(&self) -> Option<f64> {
        self.note(CLOCK)?.number()
    }

    /// Returns the note called `name`.
    pub fn note(&self, name: &str) -> Option<&Note> {
        self.notes.iter().find(|note| note.name == name)
    }
}

/// Whether two threads made too few voluntary switches to have slept during `operations`. A thread can perform
/// `per_switch` operations before it has to wait.
pub fn slept_too_rarely(voluntary: u64, operations: u64, per_switch: u64) -> bool {
    voluntary.saturating_mul(per_switch.max(1)).saturating_mul(OPERATIONS_PER_SLEEP) < operations
}

/// Whether `ns` nanoseconds are enough for this many preemptions at the end of a quantum.
pub fn are_quantum_ends(involuntary: u64, ns: u64) -> bool {
    ns >= involuntary.max(1).saturating_mul(SLICE_NS)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn pass(count: u64, ns: u64) -> AdapterPass {
        AdapterPass {
            fork: 0,
            count,
            ns,
            events: None,
            events_of: BTreeMap::new(),
            roles: vec![RoleAccount::default(); 2],
            outside: None,
            late: None,
            flags: Flags::NONE,
            shares: Vec::new(),
            notes: Vec::new(),
            placement_samples: None,
            elapsed: Duration::ZERO,
        }
    }

    #[test]
    fn only_threads_that_never_yield_or_sleep_wait_for_quanta() {
        let [shared, apart] = [[CpuId(0), CpuId(0)], [CpuId(0), CpuId(1)]];
        let unknown = pass(100, 50_000_000);
        let pass = |voluntary: u64, involuntary: u64| {
            let role = RoleAccount { switches: Some([voluntary, involuntary]), ..RoleAccount::default() };
            AdapterPass { roles: vec![role; 2], ..unknown.clone() }
        };
        assert!(pass(0, 8).waits_for_quanta(&shared, 1), "a switch in 3 ms");
        assert!(!pass(0, 8).waits_for_quanta(&apart, 1));
        assert!(!pass(0, 5_000).waits_for_quanta(&shared, 1), "it yields");
        assert!(!pass(8, 0).waits_for_quanta(&shared, 1), "it sleeps, seldom");
        // 10,000 slots on a loaded machine: one sleep per filled queue, and more preemptions by other programs.
        let loaded = AdapterPass { count: 200_000, ..pass(10, 25) };
        assert!(!loaded.waits_for_quanta(&shared, 10_000));
        assert!(
            AdapterPass { count: 200_000, ..pass(0, 25) }.waits_for_quanta(&shared, 10_000),
            "it never slept"
        );
        assert!(!unknown.waits_for_quanta(&shared, 1));
    }
}
