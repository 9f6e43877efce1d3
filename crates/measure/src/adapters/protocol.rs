//! [`Request`]: one pass requested from an adapter.

use coretalk_model::CpuId;
#[cfg(any(test, all(target_os = "linux", not(miri))))]
use coretalk_model::CpuSet;
use coretalk_model::probes::spawn::names;
use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

/// First lines of descriptions, one per protocol version. Each version includes the previous ones.
pub const VERSIONS: [&str; 2] = ["coretalk-adapter 1", "coretalk-adapter 2"];
/// Maximum operations of a pass. The sum of the numbers stays below 2⁵³, so it is exact in languages with only floats.
pub const MAX_OPERATIONS: u64 = 1 << 29;
/// Number of different numbers in messages. A table of them fits into an L1 cache.
const NUMBERS: u64 = 1024;

/// What an adapter performs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationKind {
    /// Messages through a bounded queue.
    Queue,
    /// Round trips over a shared variable with a wait strategy.
    Wait,
    /// Round trips that alternate with round trips that wait by `busy`.
    Alternate,
    /// Single polls of a wait strategy.
    Cost,
    /// Reads of the clock.
    Clock,
    /// Wake-ups of a thread that sleeps in a primitive.
    Wake,
    /// Additions of many threads to one number.
    Contend,
    /// Creations of threads, one after another.
    Spawn,
}

impl OperationKind {
    /// All kinds.
    pub const ALL: [OperationKind; 8] = [
        OperationKind::Queue,
        OperationKind::Wait,
        OperationKind::Alternate,
        OperationKind::Cost,
        OperationKind::Clock,
        OperationKind::Wake,
        OperationKind::Contend,
        OperationKind::Spawn,
    ];

    /// Keyword in the protocol.
    pub fn word(self) -> &'static str {
        match self {
            OperationKind::Queue => "queue",
            OperationKind::Wait => "wait",
            OperationKind::Alternate => "alternate",
            OperationKind::Cost => "cost",
            OperationKind::Clock => "clock",
            OperationKind::Wake => "wake",
            OperationKind::Contend => "contend",
            OperationKind::Spawn => "spawn",
        }
    }

    /// Index in [`VERSIONS`] of the first version that has this kind.
    pub(super) fn version(self) -> usize {
        match self {
            OperationKind::Queue | OperationKind::Wait | OperationKind::Wake => 0,
            OperationKind::Alternate
            | OperationKind::Cost
            | OperationKind::Clock
            | OperationKind::Contend
            | OperationKind::Spawn => 1,
        }
    }

    /// Text between a name and a runtime that does not offer it.
    pub fn lack(self) -> &'static str {
        match self {
            OperationKind::Queue => "is no queue of",
            OperationKind::Wait => "is no way of waiting of",
            OperationKind::Alternate => "cannot alternate with `busy` in",
            OperationKind::Cost => "cannot be called alone in",
            OperationKind::Clock => "is no clock of",
            OperationKind::Wake => "is no wake-up of",
            OperationKind::Contend => "is no method of contention of",
            OperationKind::Spawn => "is no kind of thread of",
        }
    }

    /// Noun for messages to the user.
    pub fn noun(self) -> &'static str {
        match self {
            OperationKind::Queue => "queue",
            OperationKind::Wait => "way of waiting",
            OperationKind::Alternate => "alternation (`alternate`)",
            OperationKind::Cost => "single call (`cost`)",
            OperationKind::Clock => "clock",
            OperationKind::Wake => "wake-up",
            OperationKind::Contend => "method of contention",
            OperationKind::Spawn => "kind of thread (`spawn`)",
        }
    }
}

/// What travels through a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Payload {
    /// A number as a value.
    U64,
    /// A number as decimal text.
    String,
}

impl Payload {
    /// All payloads.
    pub const ALL: [Payload; 2] = [Payload::U64, Payload::String];

    /// Keyword in the protocol and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Payload::U64 => "u64",
            Payload::String => "string",
        }
    }
}

/// Operation of a pass with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AdapterOperation {
    /// A message through a queue.
    Queue {
        /// Slots of the queue.
        capacity: u64,
        /// Type of the message.
        payload: Payload,
    },
    /// A round trip.
    Wait,
    /// A round trip. Even ones wait by the named strategy, odd ones by [`PLAIN`](AdapterOperation::PLAIN).
    Alternate,
    /// A failed poll, and the step of the wait strategy between two polls.
    Cost,
    /// Two consecutive reads of the clock.
    Clock,
    /// A wake-up.
    Wake {
        /// Approximate time in nanoseconds from the start of a wait to its wake-up.
        gap_ns: u64,
    },
    /// Additions to one shared number for a fixed time.
    Contend {
        /// Number of adding threads.
        threads: usize,
    },
    /// Creation of a thread. The thread runs, ends and is joined.
    Spawn {
        /// Approximate pause of the creator before each creation, in nanoseconds.
        gap_ns: u64,
    },
}

impl AdapterOperation {
    /// Wait strategy with which `AdapterOperation::Alternate` compares.
    pub const PLAIN: &str = "busy";

    /// Number of roles; each has its own thread.
    pub fn roles(self) -> usize {
        match self {
            AdapterOperation::Cost | AdapterOperation::Clock | AdapterOperation::Spawn { .. } => 1,
            AdapterOperation::Queue { .. }
            | AdapterOperation::Wait
            | AdapterOperation::Alternate
            | AdapterOperation::Wake { .. } => 2,
            AdapterOperation::Contend { threads } => threads,
        }
    }

    /// Kind of the operation.
    pub fn kind(self) -> OperationKind {
        match self {
            AdapterOperation::Queue { .. } => OperationKind::Queue,
            AdapterOperation::Wait => OperationKind::Wait,
            AdapterOperation::Alternate => OperationKind::Alternate,
            AdapterOperation::Cost => OperationKind::Cost,
            AdapterOperation::Clock => OperationKind::Clock,
            AdapterOperation::Wake { .. } => OperationKind::Wake,
            AdapterOperation::Contend { .. } => OperationKind::Contend,
            AdapterOperation::Spawn { .. } => OperationKind::Spawn,
        }
    }
}

/// Whether operations are timed individually.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Events {
    /// Only the whole pass is timed; the loop does not read the clock.
    Together,
    /// Each operation is timed with two reads of the runtime's clock.
    Each,
}

/// Work that a trial requests, independent of the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuntimeWork {
    /// Operation to perform.
    pub operation: AdapterOperation,
    /// Whether operations are timed individually.
    pub events: Events,
    /// Maximum operations of a pass.
    pub most: u64,
}

/// One pass requested from an adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Name without the runtime prefix: `semaphoreslim`.
    pub name: String,
    /// Operation to perform.
    pub operation: AdapterOperation,
    /// Whether operations are timed individually.
    pub events: Events,
    /// Number of operations, 1 to [`MAX_OPERATIONS`]. For a pool it is the maximum of a pass, for contention a time in
    /// nanoseconds.
    pub count: u64,
    /// Seed of the numbers in the messages.
    pub seed: u32,
    /// CPU of each role, producer or waker first. For thread creation: all CPUs of the creator and its threads.
    pub cpus: Vec<CpuId>,
    /// Time after which the adapter is killed.
    pub limit: Duration,
}

impl Request {
    /// Whether two roles, or a creator and its threads, may share a CPU.
    pub fn shares_a_cpu(&self) -> bool {
        matches!(self.operation, AdapterOperation::Spawn { .. })
            || self.cpus.iter().collect::<BTreeSet<_>>().len() < self.cpus.len()
    }

    #[cfg(any(test, all(target_os = "linux", not(miri))))]
    pub(super) fn places(&self) -> Vec<CpuSet> {
        match self.operation {
            AdapterOperation::Spawn { .. } => vec![self.cpus.iter().copied().collect()],
            _ => self.cpus.iter().map(|&cpu| CpuSet::from_iter([cpu])).collect(),
        }
    }

    #[cfg(any(test, all(target_os = "linux", not(miri))))]
    pub(super) fn line(&self, pass: u64) -> String {
        let Request { name, operation, count, seed, .. } = self;
        let mut line = format!("pass {pass} {}", operation.kind().word());
        if operation.kind() != OperationKind::Clock {
            line += &format!(" {name}");
        }
        match operation {
            AdapterOperation::Queue { capacity, payload } => {
                line += &format!(" capacity={capacity} payload={}", payload.word());
            }
            AdapterOperation::Wait
            | AdapterOperation::Alternate
            | AdapterOperation::Cost
            | AdapterOperation::Clock => {}
            AdapterOperation::Wake { gap_ns } | AdapterOperation::Spawn { gap_ns } => {
                line += &format!(" gap_ns={gap_ns}")
            }
            AdapterOperation::Contend { threads } => {
                return line + &format!(" threads={threads} duration_ns={count} seed={seed}");
            }
        }
        line += &format!(" count={count} seed={seed}");
        if self.events == Events::Each {
            line += " events=1";
        }
        line
    }

    /// Number of timed operations per distribution. The first distribution of most operations has an empty name.
    pub fn timed(&self) -> Vec<(&'static str, u64)> {
        match (self.events, self.operation) {
            (Events::Together, _) => Vec::new(),
            (Events::Each, AdapterOperation::Alternate) => {
                vec![("", self.count.div_ceil(2)), (AdapterOperation::PLAIN, self.count / 2)]
            }
            // The first creation is cold and has a distribution of its own.
            (Events::Each, AdapterOperation::Spawn { .. }) => {
                let later = self.count.saturating_sub(1);
                vec![(names::FIRST, 1), (names::COST, later), (names::LATENCY, later), (names::JOIN, later)]
            }
            (Events::Each, _) => vec![("", self.count)],
        }
    }

    /// Sum of the numbers in the operations; 0 if they carry none.
    pub fn sum(&self) -> u64 {
        if matches!(self.operation, AdapterOperation::Cost | AdapterOperation::Clock) {
            return 0;
        }
        let table = numbers(self.seed);
        let (rounds, rest) = (self.count / NUMBERS, self.count % NUMBERS);
        rounds * table.iter().sum::<u64>() + table[..rest as usize].iter().sum::<u64>()
    }

    /// Sum of all gaps in nanoseconds. The gap of operation `k` is `G × (0.75 + number / 2^25)`.
    pub fn gaps_ns(&self) -> u64 {
        match self.operation {
            AdapterOperation::Wake { gap_ns } | AdapterOperation::Spawn { gap_ns } => {
                (gap_ns as f64 * (0.75 * self.count as f64 + self.sum() as f64 / f64::from(1 << 25))) as u64
            }
            _ => 0,
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Request { name, operation, count, .. } = self;
        let kind = operation.kind().word();
        match operation {
            AdapterOperation::Queue { capacity, payload } => {
                write!(f, "{kind} {name}, capacity {capacity}, {}", payload.word())?;
            }
            AdapterOperation::Clock => write!(f, "{kind}")?,
            AdapterOperation::Contend { threads } => {
                return write!(f, "{kind} {name}, {threads} threads for {count} ns");
            }
            _ => write!(f, "{kind} {name}")?,
        }
        write!(f, ", {count} operations")
    }
}

/// The numbers that operations carry. They come from the linear congruential generator of Numerical Recipes (2nd
/// edition, 7.1), without the lowest eight bits. Each step is exact in a 64-bit float.
fn numbers(seed: u32) -> Vec<u64> {
    let mut state = u64::from(seed);
    let next = || {
        state = (1_664_525 * state + 1_013_904_223) % (1 << 32);
        state >> 8
    };
    std::iter::repeat_with(next).take(NUMBERS as usize).collect()
}

pub(super) fn cut(line: &str) -> String {
    const MOST: usize = 80;
    if line.chars().count() <= MOST {
        return line.to_owned();
    }
    let beginning: String = line.chars().take(MOST).collect();
    format!("{beginning}…")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn request(count: u64) -> Request {
        Request {
            name: "semaphoreslim".into(),
            operation: AdapterOperation::Queue { capacity: 10, payload: Payload::String },
            events: Events::Together,
            count,
            seed: 3,
            cpus: vec![CpuId(0), CpuId(1)],
            limit: Duration::from_secs(1),
        }
    }

    const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/adapters.md");

    fn wake(count: u64) -> Request {
        let operation = AdapterOperation::Wake { gap_ns: 20_000 };
        Request { operation, events: Events::Each, ..request(count) }
    }

    #[test]
    fn request_lines_match_the_document() {
        let queue = request(20_000).line(7);
        assert_eq!(queue, "pass 7 queue semaphoreslim capacity=10 payload=string count=20000 seed=3");
        assert_eq!(wake(9).line(8), "pass 8 wake semaphoreslim gap_ns=20000 count=9 seed=3 events=1");
        let operation = AdapterOperation::Spawn { gap_ns: 20_000 };
        let spawn = Request { name: "jthread".into(), operation, events: Events::Each, ..request(5) };
        let both = CpuSet::from_iter([CpuId(0), CpuId(1)]);
        assert_eq!(spawn.places(), [both], "its only role may run on both");
        let name = "mutex".into();
        let contend =
            Request { name, operation: AdapterOperation::Contend { threads: 3 }, ..request(20_000_000) };
        let document = std::fs::read_to_string(DOCUMENT).unwrap();
        for line in [queue, spawn.line(13), contend.line(10)] {
            assert!(document.contains(&format!("< {line}\n")), "{line}");
        }
    }

    #[test]
    fn sums_match_the_document() {
        let document = std::fs::read_to_string(DOCUMENT).unwrap();
        let first: Vec<String> = numbers(3)[..5].iter().map(u64::to_string).collect();
        assert!(document.contains(&first.join(", ")), "{first:?}");
        for count in [5, 20_000] {
            let sum = request(count).sum();
            assert!(document.contains(&sum.to_string()), "the sum of {count} is {sum}");
        }
        assert!(request(MAX_OPERATIONS).sum() < 1 << 53);
        let (gaps_ns, least) = (wake(20_000).gaps_ns(), 20_000 * 20_000 * 3 / 4);
        assert!(gaps_ns > least && gaps_ns < 2 * least, "{gaps_ns}");
        assert_eq!(request(20_000).gaps_ns(), 0);
        let one_by_one: u64 = numbers(3).iter().cycle().take(2_500).sum();
        assert_eq!(request(2_500).sum(), one_by_one);
    }
}
