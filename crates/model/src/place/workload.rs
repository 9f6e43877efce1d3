//! [`Workload`]: built-in work, by name.

use super::comparison::{Metric, Role, known};
use crate::CpuId;
use crate::quantity::Better;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Lower bound of the private cache of a core: L2 caches of the last ten years have at least 256 KiB.
const OWN_CACHE_BYTES: usize = 256 << 10;

const USUAL_MEMORY_KIB: u32 = 65_536;

named! {
    /// Kind of work. Every kind checks its own answer. A run with a wrong answer has no number.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum WorkloadKind {
        /// A program that repeatedly replaces itself with execl.
        Execl = "execl",
        /// Fork, exit, wait.
        Process = "process",
        /// Pairs of processes echo a counter through two pipes each.
        Pipe = "pipe",
        /// Concurrent shell pipelines.
        Shell = "shell",
        /// All solutions of the n-queens problem, shared dynamically.
        NQueens = "n-queens",
        /// A fixed mix of integer and string operations in each thread.
        Integer = "integer",
        /// Threads lock one of eight mutexes, yield and unlock.
        ThreadsYield = "threads-yield",
        /// 64 threads lock randomly chosen mutexes out of 4,096, with work in between.
        MutexArray = "mutex-array",
        /// Each thread sums up its own buffer, block by block.
        MemoryRead = "memory-read",
        /// Each thread fills its own buffer, block by block.
        MemoryWrite = "memory-write",
        /// c = a over arrays larger than any cache.
        StreamCopy = "stream-copy",
        /// b = q·c.
        StreamScale = "stream-scale",
        /// c = a + b.
        StreamAdd = "stream-add",
        /// a = b + q·c.
        StreamTriad = "stream-triad",
        /// Fixed work in each thread, then a barrier.
        Barrier = "barrier",
        /// A token circulates through all threads.
        Ring = "ring",
        /// Each thread sends to every other, in phases.
        AllToAll = "all-to-all",
        /// Stages connected by queues.
        Pipeline = "pipeline",
        /// All threads add to one counter, with work in between.
        SharedCounter = "shared-counter",
    }
}

use WorkloadKind::{
    AllToAll, Barrier, Execl, Integer, MemoryRead, MemoryWrite, MutexArray, NQueens, Pipe, Pipeline, Process,
    Ring, SharedCounter, Shell, StreamAdd, StreamCopy, StreamScale, StreamTriad, ThreadsYield,
};

const fn rate(name: &'static str, unit: &'static str) -> Metric {
    known(name, unit, unit, Better::Higher, Role::Judged)
}

const fn event(name: &'static str, title: &'static str, role: Role) -> Metric {
    known(name, title, "ms", Better::Lower, role)
}

static LOOPS: [Metric; 1] = [rate("loops_per_s", "loops/s")];
static LOOPS_A_MINUTE: [Metric; 1] = [rate("loops_per_min", "loops/min")];
static SOLUTIONS: [Metric; 1] = [rate("solutions_per_s", "solutions/s")];
static BYTES: [Metric; 1] = [rate("mb_per_s", "MB/s")];
static PHASES: [Metric; 1] = [rate("phases_per_s", "phases/s")];
static HOPS: [Metric; 1] = [rate("hops_per_s", "hops/s")];
static MESSAGES: [Metric; 1] = [rate("messages_per_s", "messages/s")];
static ITEMS: [Metric; 1] = [rate("items_per_s", "items/s")];
static OPERATIONS: [Metric; 1] = [rate("ops_per_s", "ops/s")];
/// Mean and extremes are not tested. The mean repeats the rate, and extremes are single events.
static EVENTS: [Metric; 5] = [
    rate("events_per_s", "events/s"),
    event("event_ms_p95", "event p95 ms", Role::Judged),
    event("event_ms_min", "event min ms", Role::Descriptive),
    event("event_ms_avg", "event avg ms", Role::Descriptive),
    event("event_ms_max", "event max ms", Role::Descriptive),
];
/// The rate is events ÷ time. Common benchmarks print both.
static TIMED_EVENTS: [Metric; 6] = [
    known("time_s", "time s", "s", Better::Lower, Role::Judged),
    known("events_per_s", "events/s", "events/s", Better::Higher, Role::Descriptive),
    event("event_ms_p95", "event p95 ms", Role::Judged),
    event("event_ms_min", "event min ms", Role::Descriptive),
    event("event_ms_avg", "event avg ms", Role::Descriptive),
    event("event_ms_max", "event max ms", Role::Descriptive),
];

impl WorkloadKind {
    /// The metrics of this kind, the most important one first.
    pub fn metrics(self) -> &'static [Metric] {
        match self {
            Execl | Process | Pipe | Integer => &LOOPS,
            Shell => &LOOPS_A_MINUTE,
            NQueens => &SOLUTIONS,
            ThreadsYield => &EVENTS,
            MutexArray => &TIMED_EVENTS,
            MemoryRead | MemoryWrite | StreamCopy | StreamScale | StreamAdd | StreamTriad => &BYTES,
            Barrier => &PHASES,
            Ring => &HOPS,
            AllToAll => &MESSAGES,
            Pipeline => &ITEMS,
            SharedCounter => &OPERATIONS,
        }
    }

    fn size(self) -> Option<(RangeInclusive<u32>, Option<u32>)> {
        match self {
            Shell => Some((1..=64, Some(1))),
            NQueens => Some((4..=18, Some(14))),
            MutexArray => Some((100..=50_000, None)),
            MemoryRead | MemoryWrite => Some((1..=USUAL_MEMORY_KIB, None)),
            _ => None,
        }
    }

    /// Number of roles, placed in turn on the first CPUs of a placement; `None` if the work may use all of them.
    pub fn roles(self, threads: usize) -> Option<usize> {
        match self {
            Execl | Process | Pipe | Shell => None,
            MutexArray => Some(64),
            _ => Some(threads),
        }
    }

    /// How the threads interact.
    pub fn behaviour(self, threads: usize) -> Behaviour {
        let roles = self.roles(threads);
        let communication = match self {
            Ring => Communication::Round,
            Pipeline => Communication::Along,
            AllToAll => Communication::Phases,
            Barrier | SharedCounter | ThreadsYield | MutexArray => Communication::All,
            NQueens | Integer | MemoryRead | MemoryWrite | StreamCopy | StreamScale | StreamAdd
            | StreamTriad | Execl | Process | Pipe | Shell => Communication::Nobody,
        };
        // Each thread of `process` or `pipe` has one process as partner. A `shell` pipeline has six processes.
        let parties = match self {
            Process | Pipe => 2 * threads,
            Shell => 6,
            _ => roles.unwrap_or(threads),
        };
        Behaviour {
            roles,
            several: parties > 1,
            communication,
            computes: !matches!(self, Ring | AllToAll),
            // With a shared counter or queues, computation overlaps communication and counts only if it takes longer.
            adds: !matches!(self, SharedCounter | Pipeline),
            streams: matches!(
                self,
                MemoryRead | MemoryWrite | StreamCopy | StreamScale | StreamAdd | StreamTriad
            ),
        }
    }

    /// Minimum number of threads.
    pub fn fewest_threads(self) -> usize {
        match self {
            Ring | AllToAll | Pipeline => 2,
            _ => 1,
        }
    }
}

/// How the threads of a piece of work interact, which determines the relevant properties of a placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behaviour {
    /// Number of roles, placed in turn on the CPUs of a placement; `None` if the work may use all of them.
    pub roles: Option<usize>,
    /// Whether several threads or processes run at a time, as far as known.
    pub several: bool,
    /// The communication pattern.
    pub communication: Communication,
    /// Whether the threads compute, which is slower next to a busy SMT sibling.
    pub computes: bool,
    /// Whether computation adds to communication. Otherwise the longer of the two counts.
    pub adds: bool,
    /// Whether the threads stream through more memory than caches hold.
    pub streams: bool,
}

impl Behaviour {
    /// Behaviour of a command, of which only the number of observed threads is known.
    pub fn of_command(several: bool) -> Behaviour {
        let (roles, communication) = (None, Communication::Nobody);
        Behaviour { roles, several, communication, computes: true, adds: true, streams: true }
    }
}

/// Communication pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Communication {
    /// No communication, or unknown communication.
    Nobody,
    /// Each role to the next and the last to the first, in sequence.
    Round,
    /// Each role to the next, all at the same time. The slowest link decides.
    Along,
    /// Any role to any other.
    All,
    /// Each role to every other. The slowest role decides.
    Phases,
}

impl Communication {
    /// Whether the assignment of roles to CPUs matters.
    pub fn has_order(self) -> bool {
        matches!(self, Communication::Round | Communication::Along)
    }

    /// The communicating pairs of CPUs, in lists. The slowest list decides.
    pub fn communicating_pairs(self, roles: &[CpuId]) -> Vec<Vec<(CpuId, CpuId)>> {
        let n = roles.len();
        let next = |count: usize| (0..count).map(|role| (roles[role], roles[(role + 1) % n])).collect();
        let others = |role: usize| (0..n).filter(move |other| *other != role).map(move |other| (role, other));
        let cpus_of = |(a, b): (usize, usize)| (roles[a], roles[b]);
        match self {
            Communication::Nobody => Vec::new(),
            Communication::Round => vec![next(n)],
            Communication::Along => vec![next(n.saturating_sub(1))],
            Communication::All => {
                let pairs = (0..n).flat_map(others).filter(|(a, b)| a < b);
                vec![pairs.map(cpus_of).collect()]
            }
            Communication::Phases => (0..n).map(|role| others(role).map(cpus_of).collect()).collect(),
        }
    }
}

/// A kind of work and its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Workload {
    /// The kind.
    pub kind: WorkloadKind,
    /// Copies of `shell`, board size of `n-queens`, locks per thread of `mutex-array`, or KiB per thread of
    /// `memory-read` and `memory-write`; `None` for the default.
    pub size: Option<u32>,
}

/// The reason why a name is not a workload, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WorkloadError(String);

impl Workload {
    /// The work of a kind in its default size.
    pub fn usual(kind: WorkloadKind) -> Workload {
        Workload { kind, size: kind.size().and_then(|(_, usual)| usual) }
    }

    /// How the threads interact. Buffers that fit into the private cache of a core do not stream from memory.
    pub fn behaviour(self, threads: usize) -> Behaviour {
        let usual = self.kind.behaviour(threads);
        Behaviour { streams: usual.streams && !self.fits_own_cache(), ..usual }
    }

    /// Whether the buffer of a thread fits into the private cache of a core.
    pub fn fits_own_cache(self) -> bool {
        matches!(self.kind, MemoryRead | MemoryWrite) && self.memory_bytes() <= OWN_CACHE_BYTES
    }

    /// Locks per thread of `mutex-array`, and empty loops before each: by default a tenth of sysbench's 50,000 and
    /// 10,000.
    pub fn mutex_rounds(self) -> [u64; 2] {
        let locks = u64::from(self.size.unwrap_or(5_000));
        [locks, locks / 5]
    }

    /// Bytes per thread of `memory-read` and `memory-write`. sysbench uses 1 KiB. The default exceeds private caches.
    pub fn memory_bytes(self) -> usize {
        self.size.unwrap_or(USUAL_MEMORY_KIB) as usize * 1_024
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.size {
            Some(size) => write!(f, "{}:{size}", self.kind.name()),
            None => f.write_str(self.kind.name()),
        }
    }
}

impl FromStr for Workload {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Workload, WorkloadError> {
        let (name, number) = match text.split_once(':') {
            Some((name, number)) => (name, Some(number)),
            None => (text, None),
        };
        let Some(kind) = WorkloadKind::named(name) else {
            let names = WorkloadKind::ALL.map(WorkloadKind::name).join(", ");
            return Err(WorkloadError(format!("unknown workload `{name}`; known are {names}")));
        };
        let Some(number) = number else { return Ok(Workload::usual(kind)) };
        let Some((range, _)) = kind.size() else {
            return Err(WorkloadError(format!("the workload `{name}` takes no number")));
        };
        match number.parse() {
            Ok(size) if range.contains(&size) => Ok(Workload { kind, size: Some(size) }),
            _ => {
                let [least, most] = [range.start(), range.end()];
                Err(WorkloadError(format!("the number of `{name}` must be between {least} and {most}")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workload_names_round_trip() {
        for kind in WorkloadKind::ALL {
            let usual = Workload::usual(kind);
            assert_eq!(usual.to_string().parse(), Ok(usual));
            assert_eq!(kind.name().parse(), Ok(usual));
            assert_eq!(kind.metrics()[0].role, Role::Judged, "{usual}");
        }
        assert_eq!("n-queens".parse::<Workload>().unwrap().to_string(), "n-queens:14");
        assert_eq!("shell:16".parse::<Workload>().unwrap().size, Some(16));
        assert_eq!("mutex-array:50000".parse::<Workload>().unwrap().mutex_rounds(), [50_000, 10_000]);
        let [block, usual] = ["memory-read:1", "memory-read"].map(|word| word.parse::<Workload>().unwrap());
        assert_eq!([block, usual].map(Workload::memory_bytes), [1 << 10, 64 << 20]);
        let large = "memory-read:32768".parse().unwrap();
        assert_eq!([block, usual, large].map(|work| work.behaviour(2).streams), [false, true, true]);
    }

    #[test]
    fn invalid_workloads_are_rejected_with_a_reason() {
        for (text, part) in [
            ("queens", "known are execl, process"),
            ("ring:4", "takes no number"),
            ("n-queens:19", "between 4 and 18"),
            ("memory-read:0", "between 1 and 65536"),
            ("shell:", "between 1 and 64"),
        ] {
            let refused = text.parse::<Workload>().unwrap_err().to_string();
            assert!(refused.contains(part), "{refused}");
        }
    }
}
