//! [`Work`]: the work of a comparison, and the order of one run.

use coretalk_model::place::{Placement, Workload};
use coretalk_model::{CpuSet, Picos};
use regex::bytes::Regex;
use std::collections::BTreeMap;
use std::ffi::OsString;

/// A command of the user.
#[derive(Debug, Clone, Default)]
pub struct CommandLine {
    /// The program as typed.
    pub program: OsString,
    /// Arguments of the program.
    pub arguments: Vec<OsString>,
    /// Additional environment variables.
    pub environment: Vec<(String, String)>,
    /// Metrics to parse from the output: the last participating group of a match, or the whole match.
    pub metrics: Vec<(String, Regex)>,
    /// Time limit of a run.
    pub timeout: Option<Picos>,
}

/// A command or workload whose runs are compared.
#[derive(Debug, Clone)]
pub enum Work {
    /// A command of the user.
    Command(CommandLine),
    /// A built-in workload.
    Workload(Workload),
}

/// An order to run a piece of work once.
#[derive(Debug, Clone, Copy)]
pub struct WorkOrder<'a> {
    /// The work.
    pub work: &'a Work,
    /// The placement.
    pub placement: &'a Placement,
    /// The CPUs of all compared placements. The monitor runs in the same place for each.
    pub around: &'a CpuSet,
    /// Number of threads, if the work does not set it itself.
    pub threads: usize,
    /// Time limit of the run.
    pub limit: Picos,
    /// Key of every random choice.
    pub key: u64,
    /// Length of an environment variable without a meaning. It moves the stack of a command.
    pub padding: usize,
}

/// The time at which a comparison runs an untimed command, on any CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hook {
    /// Once before the first run.
    Prepare,
    /// Before every run.
    Between,
    /// Once after the last run, even of an interrupted or failed comparison.
    Cleanup,
}

/// The commands around the runs of a comparison.
pub type Hooks = BTreeMap<Hook, CommandLine>;

impl CommandLine {
    /// Name for messages: the program without its folder.
    pub fn name(&self) -> String {
        let program = std::path::Path::new(&self.program);
        program.file_name().unwrap_or(&self.program).to_string_lossy().into_owned()
    }
}
