//! Work that the tool brings along, each in one process of its own: what a placement is compared by where nobody has a
//! program at hand. Written from descriptions of what the well-known suites do, not from their sources.
//!
//! Every workload checks its own answer; a run whose answer is wrong ends with an error and no number.

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
    /// What is done.
    pub workload: Workload,
    /// By how many threads.
    pub threads: usize,
    /// The CPU of each role in turn; empty where the system places threads.
    pub cpus: Vec<CpuId>,
    /// How long, for work without an end of its own.
    pub span: Duration,
}

/// Numbers by name, as the workload's metrics call them.
pub type Numbers = Vec<(&'static str, f64)>;

/// The word that makes this program a stage of the `execl` chain, with what it is handed.
pub const CHAIN: &str = "chain";

/// Does the work and says what came out.
///
/// # Errors
/// [`WorkError`]: an answer is wrong, or the system refused a thread, a process or memory.
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

/// Why a run has no number: an answer is wrong, or the system refused something. A whole sentence.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the operands that the sentence of each variant names")]
pub enum WorkError {
    /// The system refused a program, a process, a pipe or a look at the CPUs.
    #[error("{what}: {source}")]
    Refused { what: &'static str, source: io::Error },
    /// A stage of a chain cannot find the program that it replaces.
    #[error(transparent)]
    NoProgram(io::Error),
    /// A thread is not on its CPU.
    #[error("a thread of the workload could not be started: {0}")]
    NotPinned(PinError),
    /// A thread panicked.
    #[error("a thread of the workload exited at once")]
    ThreadEnded,
    /// A thread beside a shell panicked.
    #[error("a thread exited at once")]
    ShellEnded,
    /// A stage of a chain was called in another way.
    #[error("a stage of the chain takes two words")]
    StageWords,
    /// A word of a stage is none.
    #[error("`{word}` is not a number")]
    NotANumber { word: String },
    /// What a chain printed.
    #[error("a chain printed `{printed}` instead of a count")]
    ChainPrinted { printed: String },
    /// A child ended otherwise than by its last call.
    #[error("a process did not exit as expected")]
    ProcessEnd,
    /// An echo is not what was sent.
    #[error("{sent} came back as {echo}")]
    Echo { sent: u64, echo: u64 },
    /// What was sent is not the next number.
    #[error("the other process found a counter out of step")]
    OutOfStep,
    /// What a pipeline printed.
    #[error("a pipeline printed `{printed}` instead of a count")]
    PipelinePrinted { printed: String },
    /// Pipelines over one text differ.
    #[error("a pipeline counted {count} lines, and another {expected}")]
    PipelineCount { count: u64, expected: u64 },
    /// Nobody has published so many queens.
    #[error("the answer is not known for a board of this size")]
    UnknownBoard,
    /// Not all solutions, or too many.
    #[error("{size} queens have {known} solutions, and {found} were found")]
    Solutions { size: u32, known: u64, found: u64 },
    /// Arithmetic gave something else than before.
    #[error("the integer mix gave {answer:#x} instead of {expected:#x}")]
    Mix { answer: u64, expected: u64 },
    /// Additions under locks were lost.
    #[error("{expected} locks were acquired, but the counters show {found}")]
    Locks { expected: u64, found: u64 },
    /// Additions to one counter were lost.
    #[error("the threads added {expected}, but the counter shows {found}")]
    Additions { expected: u64, found: u64 },
    /// Threads stood at different barriers.
    #[error("the threads did not pass the same number of barriers")]
    Barriers,
    /// A token was lost or doubled.
    #[error("the token and the threads disagree about the number of hops")]
    Hops,
    /// Threads were in different phases.
    #[error("the threads did not go through the same number of phases")]
    Phases,
    /// An item was overtaken or changed.
    #[error("item {position} came out as {item}")]
    Item { position: u64, item: u64 },
    /// Items were lost.
    #[error("the stages did not see the same number of items")]
    Items,
    /// Words that were read are not those written.
    #[error("a buffer sums to {sum} instead of {expected}")]
    Sum { sum: u64, expected: u64 },
    /// Words that were written are not there.
    #[error("a buffer does not contain what was written")]
    Written,
    /// An array is not what the kernel makes of it.
    #[error("an array contains {value} instead of {expected}")]
    Array { value: f64, expected: f64 },
    /// Smaller arrays would measure caches.
    #[error(
        "three arrays of four times the last-level caches of {} take {needed_mib} MiB, and {free_mib} MiB of memory are \
         free",
        cpus.named()
    )]
    Memory { cpus: CpuSet, needed_mib: u64, free_mib: u64 },
    /// Other programs would have to give memory up.
    #[error("the buffers of all threads: {0}")]
    Buffers(String),
}

impl WorkError {
    /// What the system refused, from its error.
    pub(super) fn refused(what: &'static str) -> impl Fn(io::Error) -> WorkError + Copy {
        move |source| WorkError::Refused { what, source }
    }
}
