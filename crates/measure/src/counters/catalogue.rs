//! The methods of `contend` by name: how each keeps others out, and how it waits.

use crate::series::RequestError;

/// How a thread waits for its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// It never waits for another thread.
    Never,
    /// It looks again and again.
    Awake,
    /// It sleeps, at once or after a while.
    Asleep,
}

/// The methods: each has a row in [`METHODS`], a loop and a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MethodKind {
    /// `fetch-add`
    FetchAdd,
    /// `cas-loop`
    CasLoop,
    /// `cas-backoff`
    CasBackoff,
    /// `std-mutex`
    StdMutex,
    /// `parking-lot-mutex`
    ParkingLotMutex,
    /// `pthread-mutex`
    PthreadMutex,
    /// `tas`
    Tas,
    /// `ttas`
    Ttas,
    /// `ticket`
    Ticket,
    /// `mcs`
    Mcs,
    /// `flag-wait`
    FlagWait,
    /// `flag-wait-always`
    FlagWaitAlways,
    /// `atomic-16`
    Wide,
    /// `rwlock`
    ReadersWriter,
    /// `per-thread`
    PerThread,
    /// `racy`
    Racy,
}

/// One way to add one to a shared number.
#[derive(Debug, PartialEq, Eq)]
pub struct Method {
    /// Which it is.
    pub kind: MethodKind,
    /// Its name.
    pub id: &'static str,
    /// How a thread waits.
    pub waits: Waits,
    /// Whether the critical section is inside: others are kept out while it lasts.
    pub locks: bool,
    /// What it does, in words.
    pub how: &'static str,
}

const fn method(kind: MethodKind, id: &'static str, waits: Waits, locks: bool, how: &'static str) -> Method {
    Method { kind, id, waits, locks, how }
}

/// Every method, in the order of reports.
pub const METHODS: [Method; 16] = [
    method(MethodKind::FetchAdd, "fetch-add", Waits::Never, false, "one atomic addition"),
    method(
        MethodKind::CasLoop,
        "cas-loop",
        Waits::Never,
        false,
        "compare-exchange, retried at once until it succeeds",
    ),
    method(
        MethodKind::CasBackoff,
        "cas-backoff",
        Waits::Never,
        false,
        "the same with 1, 2, 4 … 64 wait hints after each failure",
    ),
    method(
        MethodKind::StdMutex,
        "std-mutex",
        Waits::Asleep,
        true,
        "std's futex mutex: spins 100 times with a hint, then sleeps",
    ),
    method(
        MethodKind::ParkingLotMutex,
        "parking-lot-mutex",
        Waits::Asleep,
        true,
        "spins and yields about 10 times, then parks; handed over fairly every half millisecond",
    ),
    method(
        MethodKind::PthreadMutex,
        "pthread-mutex",
        Waits::Asleep,
        true,
        "the C library's plain mutex: sleeps at once on a futex",
    ),
    method(MethodKind::Tas, "tas", Waits::Awake, true, "exchange until it is free"),
    method(MethodKind::Ttas, "ttas", Waits::Awake, true, "polls until it is free, then exchanges"),
    method(
        MethodKind::Ticket,
        "ticket",
        Waits::Awake,
        true,
        "first come, first served; all waiters poll one cache line",
    ),
    method(
        MethodKind::Mcs,
        "mcs",
        Waits::Awake,
        true,
        "first come, first served; each waiter polls its own cache line",
    ),
    method(
        MethodKind::FlagWait,
        "flag-wait",
        Waits::Asleep,
        true,
        "a flag, exchanged until it is clear; polls 16 times, then sleeps; counts waiters like libstdc++",
    ),
    method(
        MethodKind::FlagWaitAlways,
        "flag-wait-always",
        Waits::Asleep,
        true,
        "the same flag; sleeps at once, and every release makes a system call",
    ),
    method(
        MethodKind::Wide,
        "atomic-16",
        Waits::Never,
        false,
        "16 bytes: cmpxchg16b, retried until it succeeds",
    ),
    method(MethodKind::ReadersWriter, "rwlock", Waits::Asleep, true, "std's futex readers-writer lock"),
    method(
        MethodKind::PerThread,
        "per-thread",
        Waits::Never,
        false,
        "one counter per thread, summed at the end: the upper bound",
    ),
    method(
        MethodKind::Racy,
        "racy",
        Waits::Never,
        false,
        "plain load and store: a data race whose lost updates are counted",
    ),
];

/// What `atomic-16` does where the CPU cannot do it in one instruction.
pub const REPLACED_WIDE: &str = "16 bytes: this CPU has no such instruction, so a ttas lock replaces it";

/// The method of a name.
///
/// # Errors
/// [`RequestError::Unknown`].
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
