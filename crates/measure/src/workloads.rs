//! Bundled workloads, each run in its own process. They compare placements without a program of the user. They follow
//! the descriptions of well-known suites, not their sources.
//!
//! Every workload verifies its result. A wrong result is an error without a number.

mod compute;
pub mod memory;
mod messages;
mod processes;
mod threads;

pub use processes::go_on as go_on_with_chain;

use crate::host::affinity::PinError;
use coretalk_model::place::{Workload, WorkloadKind};
use coretalk_model::{CpuId, CpuSet};
use std::io;
use std::time::Duration;

/// One run of a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Workload.
    pub workload: Workload,
    /// Number of threads.
    pub threads: usize,
    /// CPUs of the roles, used cyclically. Empty if the system places threads.
    pub cpus: Vec<CpuId>,
    /// Duration of workloads that run for a fixed time.
    pub span: Duration,
}

/// Results by metric name.
pub type Numbers = Vec<(&'static str, f64)>;

/// Subcommand that makes this program a stage of the `execl` chain, with its arguments.
pub const CHAIN: &str = "chain";

/// Runs a workload and returns its results. Fails if a result is wrong, or the system refused a thread, a process or
/// memory.
pub fn perform(job: &Job) -> Result<Numbers, WorkError> {
    use WorkloadKind as Kind;
    match job.workload.kind {
        Kind::Execl => processes::execl(job),
        Kind::Process => processes::create(job),
        Kind::Pipe => processes::pipe(job),
        Kind::Shell => processes::shell(job),
        Kind::NQueens => compute::queens(job),
        Kind::Integer => compute::integer(job),
        Kind::ThreadsYield => threads::threads_yield(job),
        Kind::MutexArray => threads::mutex_array(job),
        Kind::MemoryRead => memory::read(job),
        Kind::MemoryWrite => memory::write(job),
        Kind::StreamCopy | Kind::StreamScale | Kind::StreamAdd | Kind::StreamTriad => memory::stream(job),
        Kind::Barrier => messages::barrier(job),
        Kind::Ring => messages::ring(job),
        Kind::AllToAll => messages::all_to_all(job),
        Kind::Pipeline => messages::pipeline(job),
        Kind::SharedCounter => messages::shared_counter(job),
    }
}

/// Why a run has no result. Each message is a complete sentence.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the operands that the sentence of each variant names")]
pub enum WorkError {
    /// The system refused a program, a process, a pipe or a read of the affinity.
    #[error("{what}: {source}")]
    Refused { what: &'static str, source: io::Error },
    /// A stage of a chain cannot find its own executable.
    #[error(transparent)]
    NoProgram(io::Error),
    /// A thread could not be pinned.
    #[error("a thread of the workload could not be started: {0}")]
    NotPinned(PinError),
    /// A thread panicked.
    #[error("a thread of the workload exited at once")]
    ThreadEnded,
    /// A thread of a shell workload panicked.
    #[error("a thread exited at once")]
    ShellEnded,
    /// A stage of a chain has a wrong number of arguments.
    #[error("a stage of the chain takes two words")]
    StageWords,
    /// An argument of a stage is not a number.
    #[error("`{word}` is not a number")]
    NotANumber { word: String },
    /// A chain printed something other than a count.
    #[error("a chain printed `{printed}` instead of a count")]
    ChainPrinted { printed: String },
    /// A child did not exit as expected.
    #[error("a process did not exit as expected")]
    ProcessEnd,
    /// An echo differs from the sent number.
    #[error("{sent} came back as {echo}")]
    Echo { sent: u64, echo: u64 },
    /// The received number is not the next one.
    #[error("the other process found a counter out of step")]
    OutOfStep,
    /// A pipeline printed something other than a count.
    #[error("a pipeline printed `{printed}` instead of a count")]
    PipelinePrinted { printed: String },
    /// Pipelines counted different numbers of lines.
    #[error("a pipeline counted {count} lines, and another {expected}")]
    PipelineCount { count: u64, expected: u64 },
    /// The number of solutions is not known for this board.
    #[error("the answer is not known for a board of this size")]
    UnknownBoard,
    /// The number of solutions is wrong.
    #[error("{size} queens have {known} solutions, and {found} were found")]
    Solutions { size: u32, known: u64, found: u64 },
    /// The integer result is wrong.
    #[error("the integer mix gave {answer:#x} instead of {expected:#x}")]
    Mix { answer: u64, expected: u64 },
    /// Increments under locks were lost.
    #[error("{expected} locks were acquired, but the counters show {found}")]
    Locks { expected: u64, found: u64 },
    /// Increments of the shared counter were lost.
    #[error("the threads added {expected}, but the counter shows {found}")]
    Additions { expected: u64, found: u64 },
    /// Threads passed different numbers of barriers.
    #[error("the threads did not pass the same number of barriers")]
    Barriers,
    /// A token was lost or duplicated.
    #[error("the token and the threads disagree about the number of hops")]
    Hops,
    /// Threads completed different numbers of phases.
    #[error("the threads did not go through the same number of phases")]
    Phases,
    /// An item was reordered or changed.
    #[error("item {position} came out as {item}")]
    Item { position: u64, item: u64 },
    /// Items were lost.
    #[error("the stages did not see the same number of items")]
    Items,
    /// The read words differ from the written words.
    #[error("a buffer sums to {sum} instead of {expected}")]
    Sum { sum: u64, expected: u64 },
    /// Written words are missing.
    #[error("a buffer does not contain what was written")]
    Written,
    /// An array has a wrong value.
    #[error("an array contains {value} instead of {expected}")]
    Array { value: f64, expected: f64 },
    /// Too little memory for arrays larger than the caches.
    #[error(
        "three arrays of four times the last-level caches of {} take {needed_mib} MiB, and {free_mib} MiB of memory are \
         free",
        cpus.named()
    )]
    Memory { cpus: CpuSet, needed_mib: u64, free_mib: u64 },
    /// Too little memory. Other programs would have to give up theirs.
    #[error("the buffers of all threads: {0}")]
    Buffers(String),
}

impl WorkError {
    pub(super) fn refused(what: &'static str) -> impl Fn(io::Error) -> WorkError + Copy {
        move |source| WorkError::Refused { what, source }
    }
}
