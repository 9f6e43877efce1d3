//! [`Config`]: the parameters of a trial of `spawn`, and the kinds of creations by name.

use crate::series::RequestError;
use coretalk_model::CpuSet;
use coretalk_model::series::TrialSpec;

/// What is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A thread with default attributes.
    Thread,
    /// A thread with a small stack.
    SmallStack,
    /// A thread whose attributes say where it runs.
    AttrPinned,
    /// A thread that pins itself before it does anything else.
    SelfPinned,
    /// Nothing: a thread that waits gets something to do.
    Pool,
    /// A process by fork.
    Fork,
    /// A process by posix_spawn.
    PosixSpawn,
    /// A process by fork and exec.
    ForkExec,
}

/// Every kind, in the order of reports.
pub const KINDS: [Kind; 8] = [
    Kind::Thread,
    Kind::SmallStack,
    Kind::AttrPinned,
    Kind::SelfPinned,
    Kind::Pool,
    Kind::Fork,
    Kind::PosixSpawn,
    Kind::ForkExec,
];

/// Memory that the process which creates processes holds beside what the tool itself takes, in MiB: what is copied, or
/// marked, by a fork grows with it.
pub const PARENT_MIB: f64 = 64.0;

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Thread => "thread",
            Kind::SmallStack => "thread-small-stack",
            Kind::AttrPinned => "thread-attr-pinned",
            Kind::SelfPinned => "thread-self-pinned",
            Kind::Pool => "pool",
            Kind::Fork => "fork",
            Kind::PosixSpawn => "posix-spawn",
            Kind::ForkExec => "fork-exec",
        }
    }

    /// What it does, in words.
    pub fn how(self) -> &'static str {
        match self {
            Kind::Thread => "pthread_create with default attributes; the affinity is inherited",
            Kind::SmallStack => "the same with a stack of 64 KiB",
            Kind::AttrPinned => {
                "pthread_create with an affinity attribute: the creator waits until it takes effect"
            }
            Kind::SelfPinned => {
                "pthread_create; the new thread counts as running once it has set its own affinity"
            }
            Kind::Pool => "no creation: a futex wakes a waiting thread, which reports when it is done",
            Kind::Fork => {
                "fork from a helper process with 64 MiB of touched memory beyond its own; the child exits at once"
            }
            Kind::PosixSpawn => {
                "posix_spawn from that helper, of a static 162-byte program that reads the counter"
            }
            Kind::ForkExec => "fork and execveat of the same program from that helper",
        }
    }

    /// Whether it makes a process.
    pub fn is_process(self) -> bool {
        matches!(self, Kind::Fork | Kind::PosixSpawn | Kind::ForkExec)
    }

    /// Whether it starts a program.
    pub fn execs(self) -> bool {
        matches!(self, Kind::PosixSpawn | Kind::ForkExec)
    }

    /// Whether it can be sent to a CPU; the others run where their creator may.
    pub fn is_placed(self) -> bool {
        matches!(self, Kind::AttrPinned | Kind::SelfPinned | Kind::Pool)
    }
}

/// The parameters of one trial, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// What is created.
    pub kind: Kind,
    /// The pause between two, in nanoseconds.
    pub pause_ns: f64,
    /// Where creator and created may run, where that is not one CPU.
    pub mask: Option<CpuSet>,
}

impl Config {
    /// Reads the parameters of a trial.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn of(spec: &TrialSpec) -> Result<Config, RequestError> {
        let text = |name| spec.parameters.text(name);
        let mask = text("mask").map(CpuSet::from_list).transpose()?;
        let pause_ns = spec.parameters.number("pause_ns").unwrap_or(0.0);
        Ok(Config { kind: kind(text("kind").unwrap_or_default())?, pause_ns, mask })
    }
}

/// The kind of a name.
///
/// # Errors
/// [`RequestError::Unknown`].
pub(crate) fn kind(name: &str) -> Result<Kind, RequestError> {
    let known = KINDS.into_iter().find(|kind| kind.name() == name);
    known.ok_or_else(|| RequestError::unknown("kind", name, &KINDS.map(Kind::name)))
}
