//! Work that the tool brings along, each in one process of its own: what a placement is compared by where nobody has a
//! program at hand. Written from descriptions of what the well-known suites do, not from their sources.
//!
//! Every workload checks its own answer; a run whose answer is wrong ends with an error and no number.

pub mod caches;
mod error;
mod integer;
mod memory;
mod messages;
mod mutexes;
mod processes;
mod queens;
mod stream;
mod threads;

pub use error::WorkError;

use coretalk_model::CpuId;
use coretalk_model::place::{Workload, WorkloadKind};
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
        Kind::NQueens => queens::run(job),
        Kind::Integer => integer::run(job),
        Kind::ThreadsYield => mutexes::threads_yield(job),
        Kind::MutexArray => mutexes::mutex_array(job),
        Kind::MemoryRead => memory::read(job),
        Kind::MemoryWrite => memory::write(job),
        Kind::StreamCopy | Kind::StreamScale | Kind::StreamAdd | Kind::StreamTriad => stream::run(job),
        Kind::Barrier => messages::barrier(job),
        Kind::Ring => messages::ring(job),
        Kind::AllToAll => messages::all_to_all(job),
        Kind::Pipeline => messages::pipeline(job),
        Kind::SharedCounter => messages::shared_counter(job),
    }
}

pub use processes::go_on as go_on_with_chain;
