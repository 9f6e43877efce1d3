//! [`Workload`]: work that the tool brings along, by name.

use super::comparison::{Metric, Role, known};
use crate::CpuId;
use crate::quantity::Better;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// The cache that a core has for itself has this size at least: L2 caches of the last ten years have 256 KiB and more.
const OWN_CACHE_BYTES: usize = 256 << 10;

/// KiB of each thread of `memory-read` and `memory-write` without a number.
const USUAL_MEMORY_KIB: u32 = 65_536;

named! {
    /// What is done. Every kind checks its own answer: a run whose answer is wrong has no number.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum WorkloadKind {
        /// A program that replaces itself by itself, again and again.
        Execl = "execl",
        /// Fork, exit, wait.
        Process = "process",
        /// Pairs of processes echo a counter through two pipes each.
        Pipe = "pipe",
        /// Shell pipelines side by side.
        Shell = "shell",
        /// Every solution of the n-queens problem, work shared as it comes.
        NQueens = "n-queens",
        /// A fixed mix of integer and string operations in each thread.
        Integer = "integer",
        /// Threads lock one of eight mutexes, yield and unlock.
        ThreadsYield = "threads-yield",
        /// 64 threads lock random ones of 4,096 mutexes, with work between.
        MutexArray = "mutex-array",
        /// Each thread sums up a buffer of its own, block by block.
        MemoryRead = "memory-read",
        /// Each thread fills a buffer of its own, block by block.
        MemoryWrite = "memory-write",
        /// c = a over arrays that no cache holds.
        StreamCopy = "stream-copy",
        /// b = q·c.
        StreamScale = "stream-scale",
        /// c = a + b.
        StreamAdd = "stream-add",
        /// a = b + q·c.
        StreamTriad = "stream-triad",
        /// Fixed work in each thread, then a barrier.
        Barrier = "barrier",
        /// A token through all threads.
        Ring = "ring",
        /// Each thread to each other, in phases.
        AllToAll = "all-to-all",
        /// Stages joined by queues.
        Pipeline = "pipeline",
        /// All threads add to one counter, with work between.
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
/// The mean says what the rate says, and extremes are single events: neither is tested.
static EVENTS: [Metric; 5] = [
    rate("events_per_s", "events/s"),
    event("event_ms_p95", "event p95 ms", Role::Judged),
    event("event_ms_min", "event min ms", Role::Descriptive),
    event("event_ms_avg", "event avg ms", Role::Descriptive),
    event("event_ms_max", "event max ms", Role::Descriptive),
];
/// The rate is the number of events over the time, as benchmarks of the field print both.
static TIMED_EVENTS: [Metric; 6] = [
    known("time_s", "time s", "s", Better::Lower, Role::Judged),
    known("events_per_s", "events/s", "events/s", Better::Higher, Role::Descriptive),
    event("event_ms_p95", "event p95 ms", Role::Judged),
    event("event_ms_min", "event min ms", Role::Descriptive),
    event("event_ms_avg", "event avg ms", Role::Descriptive),
    event("event_ms_max", "event max ms", Role::Descriptive),
];

impl WorkloadKind {
    /// Its numbers, the headline first.
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

    /// The number after the colon: its range, and the value that stands in the name where none is given.
    fn size(self) -> Option<(RangeInclusive<u32>, Option<u32>)> {
        match self {
            Shell => Some((1..=64, Some(1))),
            NQueens => Some((4..=18, Some(14))),
            MutexArray => Some((100..=50_000, None)),
            MemoryRead | MemoryWrite => Some((1..=USUAL_MEMORY_KIB, None)),
            _ => None,
        }
    }

    /// How many roles it has by so many threads: they stand on the first CPUs of a placement in turn. `None` where it may
    /// use the whole placement.
    pub fn roles(self, threads: usize) -> Option<usize> {
        match self {
            Execl | Process | Pipe | Shell => None,
            MutexArray => Some(64),
            _ => Some(threads),
        }
    }

    /// How its threads meet, by so many threads.
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
        // Each thread of `process` waits for a process of its own, each of `pipe` talks to one; a pipeline of `shell` has
        // six.
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
            // Own work beside a counter or in a stage counts only where messages do not take longer.
            adds: !matches!(self, SharedCounter | Pipeline),
            streams: matches!(
                self,
                MemoryRead | MemoryWrite | StreamCopy | StreamScale | StreamAdd | StreamTriad
            ),
        }
    }

    /// The fewest threads that it makes sense with.
    pub fn fewest_threads(self) -> usize {
        match self {
            Ring | AllToAll | Pipeline => 2,
            _ => 1,
        }
    }
}

/// How the threads of a piece of work meet: what of a placement can matter to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behaviour {
    /// How many roles it has, which stand on the CPUs of a placement in turn; `None` where it may use all of them.
    pub roles: Option<usize>,
    /// Several threads or processes work at a time, as far as is known.
    pub several: bool,
    /// Who talks to whom.
    pub communication: Communication,
    /// They do work of their own, which takes longer beside a busy thread of the same core.
    pub computes: bool,
    /// That work comes on top of the messages; else the longer of the two counts.
    pub adds: bool,
    /// They stream through more memory than caches hold.
    pub streams: bool,
}

impl Behaviour {
    /// A command, of which nothing is known but how many threads were seen.
    pub fn of_command(several: bool) -> Behaviour {
        let (roles, communication) = (None, Communication::Nobody);
        Behaviour { roles, several, communication, computes: true, adds: true, streams: true }
    }
}

/// Who talks to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Communication {
    /// Nobody, or it is not known who.
    Nobody,
    /// Each role to the next and the last to the first, one after the other.
    Round,
    /// Each role to the next, all at the same time: the slowest link counts.
    Along,
    /// Any role to any other.
    All,
    /// Each role to each other, and the slowest role counts.
    Phases,
}

impl Communication {
    /// Whether it matters which role stands on which of the CPUs.
    pub fn has_order(self) -> bool {
        matches!(self, Communication::Round | Communication::Along)
    }

    /// The pairs of CPUs that something is said between, in lists of which the one that takes longest counts.
    pub fn communicating_pairs(self, roles: &[CpuId]) -> Vec<Vec<(CpuId, CpuId)>> {
        let n = roles.len();
        let next = |count: usize| (0..count).map(|role| (roles[role], roles[(role + 1) % n])).collect();
        let others = |role: usize| (0..n).filter(move |other| *other != role).map(move |other| (role, other));
        let on = |(a, b): (usize, usize)| (roles[a], roles[b]);
        match self {
            Communication::Nobody => Vec::new(),
            Communication::Round => vec![next(n)],
            Communication::Along => vec![next(n.saturating_sub(1))],
            Communication::All => {
                let pairs = (0..n).flat_map(others).filter(|(a, b)| a < b);
                vec![pairs.map(on).collect()]
            }
            Communication::Phases => (0..n).map(|role| others(role).map(on).collect()).collect(),
        }
    }
}

/// A kind of work and its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Workload {
    /// What is done.
    pub kind: WorkloadKind,
    /// Copies of `shell`, board of `n-queens`, locks of each thread of `mutex-array`, KiB of each thread of `memory-read` and
    /// `memory-write`; `None` for the usual size and where there is one size.
    pub size: Option<u32>,
}

/// Why a word names no workload: a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WorkloadError(String);

impl Workload {
    /// The work of a kind in its usual size.
    pub fn usual(kind: WorkloadKind) -> Workload {
        Workload { kind, size: kind.size().and_then(|(_, usual)| usual) }
    }

    /// How its threads meet, by so many threads. Buffers that fit into the cache of a core stream from no memory.
    pub fn behaviour(self, threads: usize) -> Behaviour {
        let usual = self.kind.behaviour(threads);
        Behaviour { streams: usual.streams && !self.fits_own_cache(), ..usual }
    }

    /// Whether the buffer of a thread fits into the cache that a core has for itself.
    pub fn fits_own_cache(self) -> bool {
        matches!(self.kind, MemoryRead | MemoryWrite) && self.memory_bytes() <= OWN_CACHE_BYTES
    }

    /// Locks of each thread of `mutex-array`, and the empty loops before each. sysbench's numbers are 50,000 and 10,000: the
    /// usual size is a tenth of both, so that a run takes a fraction of a second.
    pub fn mutex_rounds(self) -> [u64; 2] {
        let locks = u64::from(self.size.unwrap_or(5_000));
        [locks, locks / 5]
    }

    /// Bytes that each thread of `memory-read` and `memory-write` passes through: usually more than any cache that a core
    /// has for itself; 1 KiB is sysbench's block.
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
    fn words_name_workloads_and_print_as_they_are_read() {
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
    fn what_is_no_workload_says_what_there_is() {
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
