//! [`KINDS`]: every measured queue with its name and properties, and the payloads.

use crate::series::{RequestError, nearest};
use coretalk_model::external::External;

/// The queues; each has an entry in [`KINDS`], a constructor and a simulated price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueKind {
    /// `semaphore`
    Semaphore,
    /// `semaphore-spin`
    SemaphoreSpin,
    /// `semaphore-slim`
    SemaphoreSlim,
    /// `sem-t`
    SemT,
    /// `mutex`
    Mutex,
    /// `spsc`
    Spsc,
    /// `slots`
    Slots,
    /// `sync-channel`
    SyncChannel,
    /// `array-queue`
    ArrayQueue,
    /// `crossbeam`
    Crossbeam,
    /// `rtrb`
    Rtrb,
    /// `flume`
    Flume,
    /// `kanal`
    Kanal,
    /// `pipe`
    Pipe,
    /// `socketpair`
    Socketpair,
    /// `eventfd`
    Eventfd,
}

/// The description of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// The queue.
    pub queue: QueueKind,
    /// Stable name.
    pub id: &'static str,
    /// Short description.
    pub what: &'static str,
    /// Version of the library, if it comes from one.
    pub version: Option<&'static str>,
    /// How a blocked end waits.
    pub waits: Waits,
    /// Whether it distinguishes full and empty from other failures.
    pub tells: bool,
    /// Whether it allows several producers and several consumers.
    pub several: [bool; 2],
    /// Support for batches.
    pub batches: Batches,
}

/// Support of a queue for batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batches {
    /// None: messages are sent and received singly.
    None,
    /// Whole batches are sent, and up to a batch is received.
    Both,
    /// Messages are sent singly; the consumer takes up to a batch in one pass, one message at a time.
    Received,
    /// Messages are sent singly; the consumer takes all that are waiting at once, whatever the batch size.
    Drained,
}

/// How a blocked end waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// It gives up its CPU, at once or after some polls.
    Asleep,
    /// It spins: two ends on one CPU hand off once per quantum.
    Awake,
}

/// The type of the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// One word.
    U64,
    /// A plain block of this many bytes, one of [`BLOCKS`].
    Bytes(u32),
    /// Text on the heap.
    String,
}

/// Supported block sizes; fixed, because a size is compiled into the loop.
pub const BLOCKS: [u32; 4] = [16, 64, 256, 1024];

impl Payload {
    /// Parses `u64`, `bytes:64` or `string`.
    ///
    /// # Errors
    /// [`RequestError::OutOfRange`].
    pub fn parse(text: &str) -> Result<Payload, RequestError> {
        let sizes = BLOCKS.map(|bytes| bytes.to_string()).join(", ");
        let known =
            |bytes: &str| bytes.parse().ok().filter(|bytes| BLOCKS.contains(bytes)).map(Payload::Bytes);
        match (text, text.strip_prefix("bytes:")) {
            ("u64", _) => Ok(Payload::U64),
            ("string", _) => Ok(Payload::String),
            (_, Some(bytes)) => known(bytes).ok_or_else(|| {
                RequestError::out_of_range(format!("a message of `{bytes}` bytes"), format!("use {sizes}"))
            }),
            (_, None) => {
                let there_are = format!("use u64, string or bytes:N (N one of {sizes})");
                Err(RequestError::out_of_range(format!("unknown payload `{text}`"), there_are))
            }
        }
    }

    /// Bytes of one message in the queue.
    pub fn bytes(self) -> usize {
        match self {
            Payload::U64 => size_of::<u64>(),
            Payload::Bytes(bytes) => bytes as usize,
            Payload::String => size_of::<String>(),
        }
    }
}

impl std::fmt::Display for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Payload::U64 => f.write_str("u64"),
            Payload::Bytes(bytes) => write!(f, "bytes:{bytes}"),
            Payload::String => f.write_str("string"),
        }
    }
}

const fn asleep(queue: QueueKind, id: &'static str, what: &'static str) -> Kind {
    Kind {
        queue,
        id,
        what,
        version: None,
        waits: Waits::Asleep,
        tells: true,
        several: [false, false],
        batches: Batches::None,
    }
}

const fn awake(queue: QueueKind, id: &'static str, what: &'static str) -> Kind {
    Kind { waits: Waits::Awake, ..asleep(queue, id, what) }
}

impl Kind {
    const fn version(self, version: &'static str) -> Kind {
        Kind { version: Some(version), ..self }
    }

    const fn several(self, producers: bool, consumers: bool) -> Kind {
        Kind { several: [producers, consumers], ..self }
    }

    const fn batches(self, batches: Batches) -> Kind {
        Kind { batches, ..self }
    }

    const fn silent(self) -> Kind {
        Kind { tells: false, ..self }
    }
}

/// Every queue, in report order. A test compares the versions with the lock file.
pub const KINDS: &[Kind] = &[
    asleep(QueueKind::Semaphore, "semaphore", "a ring between two futex semaphores that sleep at once"),
    asleep(
        QueueKind::SemaphoreSpin,
        "semaphore-spin",
        "a ring between two futex semaphores that poll N times before they sleep",
    ),
    asleep(
        QueueKind::SemaphoreSlim,
        "semaphore-slim",
        "a ring between two semaphores like .NET's SemaphoreSlim: poll and yield up to 140 times, one lock per call",
    ),
    asleep(QueueKind::SemT, "sem-t", "a ring between two semaphores of the C library"),
    asleep(QueueKind::Mutex, "mutex", "std's mutex and two condition variables")
        .several(true, true)
        .batches(Batches::Both),
    awake(QueueKind::Spsc, "spsc", "coretalk's own lock-free ring, one producer and one consumer")
        .batches(Batches::Both),
    awake(
        QueueKind::Slots,
        "slots",
        "coretalk's own lock-free ring whose places are the flags, one producer and one consumer",
    )
    .batches(Batches::Both),
    asleep(QueueKind::SyncChannel, "sync-channel", "std::sync::mpsc::sync_channel").several(true, false),
    awake(QueueKind::ArrayQueue, "array-queue", "crossbeam's ArrayQueue")
        .version("0.3.14")
        .several(true, true),
    asleep(QueueKind::Crossbeam, "crossbeam", "crossbeam's bounded channel")
        .version("0.5.17")
        .several(true, true)
        .batches(Batches::Received),
    awake(QueueKind::Rtrb, "rtrb", "rtrb's ring, one producer and one consumer")
        .version("0.4.1")
        .batches(Batches::Both),
    asleep(QueueKind::Flume, "flume", "flume's bounded channel").version("0.12.0").several(true, true),
    asleep(QueueKind::Kanal, "kanal", "kanal's bounded channel")
        .version("0.1.1")
        .several(true, true)
        .batches(Batches::Drained),
    asleep(QueueKind::Pipe, "pipe", "a pipe in packet mode").several(true, true).silent(),
    asleep(QueueKind::Socketpair, "socketpair", "a Unix socket pair that preserves message boundaries")
        .several(true, true),
    asleep(QueueKind::Eventfd, "eventfd", "a ring between two kernel event counters (eventfd)").silent(),
];

/// Default polls before `semaphore-spin` sleeps: about 5 µs with wait hints of 10 to 20 ns, longer than a hand-off
/// between any two CPUs. `semaphore-slim` imitates .NET's SemaphoreSlim instead.
pub const DEFAULT_SPINS: u32 = 256;

/// Finds a queue by its name, with the number of polls in `semaphore-spin:N`.
///
/// # Errors
/// [`RequestError`]: no such queue, or the number of polls is out of range.
pub fn kind(name: &str) -> Result<(&'static Kind, u32), RequestError> {
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
