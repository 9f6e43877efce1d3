//! [`KINDS`]: a row per queue, with its name, code, properties and simulated cost.

#[cfg(all(target_os = "linux", not(miri)))]
use super::{
    bounded::Bounded,
    kernel_channels::{Pipe, Socketpair},
    kernel_semaphores::{Eventfd, SemT},
    libraries::{ArrayQueue, Crossbeam, Flume, Kanal, Rtrb, SyncChannel},
    mutex::Locked,
    registry::Code,
    semaphore::Semaphore,
    slim::SlimSemaphore,
    slot_queue::SlotQueue,
    spsc::Spsc,
};
use crate::series::{RequestError, nearest};
use crate::wait::WaitMode;
use coretalk_model::external::External;

/// The description of a queue.
#[derive(Debug, Clone, Copy)]
pub struct QueueKind {
    /// Stable name.
    pub id: &'static str,
    /// Short description.
    pub what: &'static str,
    /// Code of the queue.
    #[cfg(all(target_os = "linux", not(miri)))]
    pub code: Code,
    /// Version of the library, if the queue comes from a library.
    pub version: Option<&'static str>,
    /// How a blocked end waits.
    pub waits: WaitMode,
    /// Whether the queue distinguishes full and empty from other failures.
    pub tells: bool,
    /// Whether the queue allows several producers, and several consumers.
    pub several: [bool; 2],
    /// Support for batches.
    pub batches: Batches,
    /// The cost of a message, for simulated machines.
    pub cost: QueueCost,
}

/// Support of a queue for batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batches {
    /// No support. Messages are sent and received singly.
    None,
    /// Whole batches are sent, and at most a batch is received at once.
    Both,
    /// Messages are sent singly. The consumer takes up to a batch in one pass, one message at a time.
    Received,
    /// Messages are sent singly. The consumer takes all waiting messages at once, whatever the batch size.
    Drained,
}

/// The cost of a message in machine events. The figures are plausible for a desktop CPU at 4 GHz, but not measured.
#[derive(Debug, Clone, Copy)]
pub struct QueueCost {
    /// Instruction time of producer and consumer together.
    pub own_ns: f64,
    /// Line transfers that each side waits for per message, of a lock or a semaphore.
    pub lines: f64,
    /// System calls of each side per message.
    pub calls: f64,
    /// Whether an end reads the other's index only after its cached copy is used up.
    pub cached: bool,
    /// Polling time before a sleep, without the polls of `semaphore-spin:N`.
    pub spin_limit_ns: f64,
    /// Part of the instruction time that occurs once per batch, for publishing an index or for a lock.
    pub once_ns: f64,
    /// Part of the line transfers that occurs once per batch.
    pub once_lines: f64,
    /// Whether all ends take the same lock.
    pub one_lock: bool,
    /// Whether the queue waits like .NET's SemaphoreSlim, with pauses and yields, and for the lock of the other side's
    /// calls.
    pub slim: bool,
}

const COST: QueueCost = QueueCost {
    own_ns: 12.0,
    lines: 1.0,
    calls: 0.0,
    cached: false,
    spin_limit_ns: 0.0,
    once_ns: 0.0,
    once_lines: 0.0,
    one_lock: false,
    slim: false,
};
const RING: QueueCost = QueueCost { own_ns: 3.0, lines: 0.0, cached: true, once_ns: 2.0, ..COST };
const LOCK: QueueCost =
    QueueCost { own_ns: 25.0, lines: 1.5, spin_limit_ns: 2_000.0, one_lock: true, ..COST };
const FILE: QueueCost = QueueCost { own_ns: 150.0, calls: 1.0, one_lock: true, ..COST };

/// A row has a base, the code with its support for batches, name, description, and its differences from the base.
macro_rules! queues {
    (@code $code:ty, None) => { Code::for_queue::<$code>() };
    (@code $code:ty, $batches:ident) => { Code::with_batches::<$code>() };
    ($($base:ident($code:ty, $batches:ident) $id:literal $what:literal $({ $($more:tt)+ })?;)+) => {
        /// Every queue, in report order. A test compares the versions with the lock file.
        pub const KINDS: &[QueueKind] = &[$(QueueKind {
            id: $id,
            what: $what,
            #[cfg(all(target_os = "linux", not(miri)))]
            code: queues!(@code $code, $batches),
            batches: Batches::$batches,
            $($($more)+,)?
            ..$base
        },)+];
    };
}

const BLOCK: QueueKind = QueueKind {
    id: "",
    what: "",
    #[cfg(all(target_os = "linux", not(miri)))]
    code: Code::for_queue::<Bounded<Semaphore>>(),
    version: None,
    waits: WaitMode::Block,
    tells: true,
    several: [false, false],
    batches: Batches::None,
    cost: COST,
};
const SPIN: QueueKind = QueueKind { waits: WaitMode::Spin, ..BLOCK };

queues! {
    BLOCK(Bounded<Semaphore>, None) "semaphore" "a ring between two futex semaphores that sleep at once";
    BLOCK(Bounded<Semaphore>, None) "semaphore-spin"
        "a ring between two futex semaphores that poll N times before they sleep";
    // A message, with four uncontended calls, took 25 ns on one CPU of an AMD EPYC guest (3.2 GHz, capacity 10,000).
    // Between two CPUs, each call of a side moves the lock once and the counts twice. It may also poll a taken lock.
    BLOCK(Bounded<SlimSemaphore>, None) "semaphore-slim"
        "a ring between two semaphores like .NET's SemaphoreSlim: poll and yield up to 140 times, one lock per call"
        { cost: QueueCost { lines: 6.4, slim: true, ..COST } };
    BLOCK(Bounded<SemT>, None) "sem-t" "a ring between two semaphores of the C library";
    BLOCK(Locked, Both) "mutex" "std's mutex and two condition variables" {
        several: [true, true],
        cost: QueueCost { own_ns: 20.0, spin_limit_ns: 1_000.0, once_ns: 17.0, once_lines: 1.5, ..LOCK }
    };
    SPIN(Spsc, Both) "spsc" "coretalk's own lock-free ring, one producer and one consumer" { cost: RING };
    // No index, only message lines. Measured: 2.3 ns per message at 1,024 slots (docs/evidence.md, "Queues").
    SPIN(SlotQueue, Both) "slots"
        "coretalk's own lock-free ring whose places are the flags, one producer and one consumer"
        { cost: QueueCost { own_ns: 2.0, lines: 0.0, once_ns: 0.5, ..COST } };
    BLOCK(SyncChannel, None) "sync-channel" "std::sync::mpsc::sync_channel"
        { several: [true, false], cost: QueueCost { own_ns: 10.0, spin_limit_ns: 3_000.0, ..COST } };
    SPIN(ArrayQueue, None) "array-queue" "crossbeam's ArrayQueue"
        { version: Some("0.3.14"), several: [true, true], cost: QueueCost { own_ns: 10.0, ..COST } };
    BLOCK(Crossbeam, Received) "crossbeam" "crossbeam's bounded channel" {
        version: Some("0.5.17"),
        several: [true, true],
        cost: QueueCost { own_ns: 10.0, spin_limit_ns: 3_000.0, ..COST }
    };
    SPIN(Rtrb, Both) "rtrb" "rtrb's ring, one producer and one consumer"
        { version: Some("0.4.1"), cost: RING };
    BLOCK(Flume, None) "flume" "flume's bounded channel"
        { version: Some("0.12.0"), several: [true, true], cost: LOCK };
    BLOCK(Kanal, Drained) "kanal" "kanal's bounded channel" {
        version: Some("0.1.1"),
        several: [true, true],
        cost: QueueCost { once_ns: 22.0, once_lines: 1.5, ..LOCK }
    };
    BLOCK(Pipe, None) "pipe" "a pipe in packet mode" { several: [true, true], tells: false, cost: FILE };
    BLOCK(Socketpair, None) "socketpair" "a Unix socket pair that preserves message boundaries"
        { several: [true, true], cost: FILE };
    BLOCK(Bounded<Eventfd>, None) "eventfd" "a ring between two kernel event counters (eventfd)"
        { tells: false, cost: QueueCost { own_ns: 40.0, calls: 2.0, ..COST } };
}

/// Default polls before `semaphore-spin` sleeps. They take about 5 µs with wait hints of 10 to 20 ns, longer than a
/// hand-off between any two CPUs. `semaphore-slim` imitates .NET's SemaphoreSlim instead.
pub const DEFAULT_SPINS: u32 = 256;

/// Finds a queue by its name, with the number of polls in `semaphore-spin:N`. Fails if there is no such queue or the
/// number of polls is out of range.
pub fn kind(name: &str) -> Result<(&'static QueueKind, u32), RequestError> {
    let (id, spins) = match name.split_once(':') {
        Some(("semaphore-spin", polls)) => {
            let polls = polls.parse().ok().filter(|polls| (1..=1_000_000).contains(polls));
            let polls = polls.ok_or_else(|| {
                RequestError::out_of_range(format!("`{name}`"), "N is a number of polls from 1 to 1000000")
            })?;
            ("semaphore-spin", polls)
        }
        _ => (name, if name == "semaphore-spin" { DEFAULT_SPINS } else { 0 }),
    };
    let found = KINDS.iter().find(|kind| kind.id == id);
    found.map(|kind| (kind, spins)).ok_or_else(|| {
        let names: Vec<&'static str> = KINDS.iter().map(|kind| kind.id).collect();
        if let Some(external) = External::parse(name) {
            return RequestError::External(external);
        }
        let (typed, nearest) = (name.to_owned(), nearest(id, &names));
        RequestError::NoQueue { typed, known: names.join(", "), nearest }
    })
}
