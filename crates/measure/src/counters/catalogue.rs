//! Methods of `contend` by name: mutual exclusion and waiting of each.

use crate::series::RequestError;

/// How a thread waits for its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// Never waits for another thread.
    Never,
    /// Polls.
    Awake,
    /// Sleeps, at once or after polling.
    Asleep,
}

/// Method to increment a shared counter.
#[derive(Debug, PartialEq, Eq)]
pub struct Method {
    /// Kind.
    pub kind: MethodKind,
    /// Name.
    pub id: &'static str,
    /// How a thread waits.
    pub waits: Waits,
    /// Whether the critical section is protected by mutual exclusion.
    pub locks: bool,
    /// Description.
    pub how: &'static str,
}

const LOCKS: bool = true;
const OPEN: bool = false;

macro_rules! methods {
    ($($kind:ident $id:literal $waits:ident $locks:ident $how:literal;)+) => {
        /// The methods; each has a row in [`METHODS`], a loop and a simulated cost.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum MethodKind {
            $(#[doc = concat!("`", $id, "`")] $kind,)+
        }

        /// All methods in the order of reports.
        pub const METHODS: &[Method] =
            &[$(Method { kind: MethodKind::$kind, id: $id, waits: Waits::$waits, locks: $locks, how: $how },)+];
    };
}

methods! {
    FetchAdd "fetch-add" Never OPEN "one atomic addition";
    CasLoop "cas-loop" Never OPEN "compare-exchange, retried at once until it succeeds";
    CasBackoff "cas-backoff" Never OPEN "the same with 1, 2, 4 … 64 wait hints after each failure";
    StdMutex "std-mutex" Asleep LOCKS "std's futex mutex: spins 100 times with a hint, then sleeps";
    ParkingLotMutex "parking-lot-mutex" Asleep LOCKS
        "spins and yields about 10 times, then parks; handed over fairly every half millisecond";
    PthreadMutex "pthread-mutex" Asleep LOCKS "the C library's plain mutex: sleeps at once on a futex";
    Tas "tas" Awake LOCKS "exchanges until it is free";
    Ttas "ttas" Awake LOCKS "polls until it is free, then exchanges";
    Ticket "ticket" Awake LOCKS "first come, first served; all waiters poll one cache line";
    Mcs "mcs" Awake LOCKS "first come, first served; each waiter polls its own cache line";
    FlagWait "flag-wait" Asleep LOCKS
        "a flag, exchanged until it is clear; polls 16 times, then sleeps; counts waiters like libstdc++";
    FlagWaitAlways "flag-wait-always" Asleep LOCKS
        "the same flag; sleeps at once, and every release makes a system call";
    Wide "atomic-16" Never OPEN "16 bytes: cmpxchg16b, retried until it succeeds";
    ReadersWriter "rwlock" Asleep LOCKS "std's futex readers-writer lock";
    PerThread "per-thread" Never OPEN "one counter per thread, summed at the end: the upper bound";
    Racy "racy" Never OPEN "plain load and store: a data race whose lost updates are counted";
}

/// Description of `atomic-16` on architectures for which Rust offers no such instruction.
pub const REPLACED_WIDE: &str =
    "16 bytes: a ttas lock, as coretalk has no such instruction for this architecture";

/// Finds a method by its name.
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
