//! Methods of `contend`: a row per method, with its name, code, waiting and simulated cost.
//!
//! Comments give the measurements behind a cost (docs/evidence.md, "Contention"): ns per operation with one thread and
//! with two threads, then the length of runs of one thread. They are from two CPUs of an AMD EPYC guest (3.7 GHz, a hop
//! of 27.6 ns, nothing else running), without critical sections. A hop is a read and a write of a line, so fetching a
//! line directly for writing costs less than a hop. Costs of more than two threads were derived, not measured.

#[cfg(all(target_os = "linux", not(miri)))]
use super::{
    Counter,
    atomic::{CasLoop, FetchAdd, LockedWide, PerThread, Racy},
    flag::{FlagLock, FlagLockAlways},
    guarded::Guarded,
    mcs::McsLock,
    sleeping::{ReadersWriter, Sleeping},
};
#[cfg(all(target_os = "linux", not(miri)))]
use crate::primitives::{
    parking_lot::LotMutex,
    spin::{TasLock, TicketLock},
    standard::StdMutex,
    system::PlainMutex,
};
use crate::series::RequestError;
use crate::sim::contend::{ContendCost, Turn};
use crate::wait::WaitMode;

/// Method to increment a shared counter.
#[derive(Debug, PartialEq)]
pub struct Method {
    /// Kind.
    pub kind: MethodKind,
    /// Name.
    pub id: &'static str,
    /// How a thread waits.
    pub waits: WaitMode,
    /// Whether the critical section is protected by mutual exclusion.
    pub locks: bool,
    /// Description.
    pub how: &'static str,
    /// The cost of one operation, for simulated machines.
    pub cost: ContendCost,
}

/// Generic code for a counter that is named at run time.
#[cfg(all(target_os = "linux", not(miri)))]
pub trait CounterTask {
    /// Result of the task.
    type Output;

    /// Runs the task with this counter.
    fn with<C: Counter>(self) -> Self::Output;
}

/// A row is a base, the method with its code, name and description, and the cost where it differs from the base.
macro_rules! methods {
    ($($base:ident $kind:ident($code:ty) $id:literal $how:literal $({ $($cost:tt)+ })?;)+) => {
        /// The methods, each with a row in [`METHODS`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum MethodKind {
            $(#[doc = concat!("`", $id, "`")] $kind,)+
        }

        /// All methods in the order of reports.
        pub const METHODS: &[Method] = &[$(Method {
            kind: MethodKind::$kind,
            id: $id,
            how: $how,
            $(cost: ContendCost { $($cost)+, ..$base.cost },)?
            ..$base
        },)+];

        impl MethodKind {
            /// Runs a task with the counter of the method. The compiler builds separate loops for each method.
            #[cfg(all(target_os = "linux", not(miri)))]
            pub fn run<T: CounterTask>(self, task: T) -> T::Output {
                #[cfg(target_arch = "x86_64")]
                if self == MethodKind::Wide && super::atomic::is_native() {
                    return task.with::<super::atomic::Wide>();
                }
                match self {
                    $(MethodKind::$kind => task.with::<$code>(),)+
                }
            }
        }
    };
}

/// Methods without mutual exclusion. The cost is that of `fetch-add`: 1.95 and 10.4 ns, runs of 4.8. The owner of the
/// line continues while another thread's request is on its way.
const OPEN: Method = Method {
    kind: MethodKind::FetchAdd,
    id: "",
    waits: WaitMode::Never,
    locks: false,
    how: "",
    cost: ContendCost {
        transfers: 0.6,
        disturbed: 0.0,
        alone_cycles: 7.2,
        turn: Turn::Nearest(5),
        spin_limit_ns: f64::INFINITY,
        release_calls: 0.0,
        keeps_out: false,
    },
};

/// Locks whose waiters poll. The cost is that of `tas`: 2.77 and 23.5 ns, runs of 5.2. A waiting thread takes the line
/// for every attempt.
const SPIN: Method = Method {
    waits: WaitMode::Spin,
    locks: true,
    cost: ContendCost { transfers: 0.7, disturbed: 0.23, alone_cycles: 10.2, keeps_out: true, ..OPEN.cost },
    ..OPEN
};

/// Locks whose waiters sleep. The cost is that of `std-mutex`: 4.8 and 71 ns, runs of 3.9. A waiting thread reads the
/// word, so the owner has to fetch it back.
const BLOCK: Method = Method {
    waits: WaitMode::Block,
    cost: ContendCost {
        transfers: 1.5,
        disturbed: 1.0,
        alone_cycles: 17.5,
        turn: Turn::Nearest(4),
        spin_limit_ns: 1_000.0,
        ..SPIN.cost
    },
    ..SPIN
};

methods! {
    OPEN FetchAdd(FetchAdd) "fetch-add" "one atomic addition";
    // 2.8 and 26 ns, runs of 2.2. Failed attempts take the line as well.
    OPEN CasLoop(CasLoop<false>) "cas-loop" "compare-exchange, retried at once until it succeeds"
        { transfers: 0.75, alone_cycles: 10.3, turn: Turn::Nearest(2) };
    // 2.9 and 19.7 ns, runs of 10.
    OPEN CasBackoff(CasLoop<true>) "cas-backoff" "the same with 1, 2, 4 … 64 wait hints after each failure"
        { transfers: 2.5, alone_cycles: 10.7, turn: Turn::Nearest(10) };
    BLOCK StdMutex(Guarded<Sleeping<StdMutex>>) "std-mutex"
        "std's futex mutex: spins 100 times with a hint, then sleeps";
    // 5.2 and 24.9 ns, runs of 9.1. A waiting thread backs off and reads rarely.
    BLOCK ParkingLotMutex(Guarded<Sleeping<LotMutex>>) "parking-lot-mutex"
        "spins and yields about 10 times, then parks; handed over fairly every half millisecond"
        { disturbed: 0.1, spin_limit_ns: 1_500.0, alone_cycles: 19.2, turn: Turn::Nearest(9) };
    // 5.9 and 37 ns, runs of 15.5, one sleep in 200,000 operations. The word changes before the kernel checks it.
    BLOCK PthreadMutex(Guarded<PlainMutex>) "pthread-mutex"
        "the C library's plain mutex: sleeps at once on a futex"
        { disturbed: 0.38, spin_limit_ns: 500.0, alone_cycles: 21.5, turn: Turn::Nearest(15) };
    SPIN Tas(Guarded<TasLock<false>>) "tas" "exchanges until the lock is free";
    // 2.8 and 22 ns, runs of 5.1. A read, then an exchange.
    SPIN Ttas(Guarded<TasLock<true>>) "ttas" "polls until the lock is free, then exchanges"
        { transfers: 1.0, disturbed: 0.12 };
    // 2.8 and 65 ns, runs of 1. Both words are on one line.
    SPIN Ticket(Guarded<TicketLock>) "ticket" "first come, first served; all waiters poll one cache line"
        { transfers: 1.1, disturbed: 0.0, turn: Turn::Arrival };
    // 4.7 and 120 ns, runs of 1. A thread accesses the tail of the queue and the node of its predecessor.
    SPIN Mcs(Guarded<McsLock>) "mcs" "first come, first served; each waiter polls its own cache line"
        { transfers: 2.0, disturbed: 0.0, alone_cycles: 17.3, turn: Turn::Arrival };
    // 4.4 and 29.5 ns, runs of 3.4. 12 hints of about 10 ns and four yields of about 100 ns precede a sleep.
    BLOCK FlagWait(Guarded<FlagLock>) "flag-wait"
        "a flag, exchanged until it is clear; polls 16 times, then sleeps; counts waiters like libstdc++"
        { transfers: 1.1, disturbed: 0.0, alone_cycles: 16.1, turn: Turn::Nearest(3), spin_limit_ns: 500.0 };
    // 241 and 234 ns, runs of 1.1, no sleep. The flag is free again by the time the kernel checks it.
    BLOCK FlagWaitAlways(Guarded<FlagLockAlways>) "flag-wait-always"
        "the same flag; sleeps at once, and every release makes a system call"
        { spin_limit_ns: 500.0, release_calls: 1.0 };
    // 8.3 and 52 ns, runs of 1.7.
    OPEN Wide(LockedWide) "atomic-16" "16 bytes: cmpxchg16b, retried until it succeeds"
        { transfers: 1.3, alone_cycles: 30.5, turn: Turn::Nearest(2) };
    // 4.5 and 68 ns, runs of 4.2.
    BLOCK ReadersWriter(ReadersWriter) "rwlock" "std's futex readers-writer lock"
        { disturbed: 0.9, alone_cycles: 16.5 };
    // 0.29 and 0.31 ns. No line is shared, and independent additions overlap.
    OPEN PerThread(PerThread) "per-thread" "one counter per thread, summed at the end: the upper bound"
        { transfers: 0.0, alone_cycles: 1.1, turn: Turn::Apart };
    // 0.27 and 1.4 ns. A store that has waited for its line overwrites what was stored meanwhile.
    OPEN Racy(Racy) "racy" "plain load and store: a data race whose lost updates are counted"
        { transfers: 0.5, alone_cycles: 1.0, turn: Turn::Nearest(32) };
}

/// Description of `atomic-16` on architectures without a 16-byte compare-exchange in Rust.
pub const REPLACED_WIDE: &str =
    "16 bytes: a ttas lock, as coretalk has no such instruction for this architecture";

/// Finds a method by its name, or returns [`RequestError::Unknown`].
///
/// ```
/// # use coretalk_measure::counters::catalogue::method_by_id;
/// assert!(method_by_id("mcs").unwrap().locks);
/// assert!(method_by_id("fetch-ad").unwrap_err().to_string().ends_with("a similar name exists: `fetch-add`"));
/// ```
pub fn method_by_id(name: &str) -> Result<&'static Method, RequestError> {
    METHODS.iter().find(|method| method.id == name).ok_or_else(|| {
        let names: Vec<&'static str> = METHODS.iter().map(|method| method.id).collect();
        RequestError::unknown("method", name, &names)
    })
}
