//! [`Work`]: what a placement is compared by, and how one run of it is ordered.

use coretalk_model::place::{Placement, Workload};
use coretalk_model::{CpuSet, Picos};
use regex::bytes::Regex;
use std::ffi::OsString;

/// A command of a user's own.
#[derive(Debug, Clone)]
pub struct CommandLine {
    /// The program, as typed.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Numbers to be read from what it prints: the group of the last match that took part, or the whole match.
    pub metrics: Vec<(String, Regex)>,
    /// When a run is given up.
    pub timeout: Option<Picos>,
}

/// What is run.
#[derive(Debug, Clone)]
pub enum Work {
    /// A command of a user's own.
    Command(CommandLine),
    /// Work that the tool brings along.
    Workload(Workload),
}

/// One run of a piece of work.
#[derive(Debug, Clone, Copy)]
pub struct WorkOrder<'a> {
    /// What is run.
    pub work: &'a Work,
    /// Where.
    pub placement: &'a Placement,
    /// The CPUs of all placements that it is compared on: whoever watches sits in the same place for each of them.
    pub around: &'a CpuSet,
    /// By how many threads, where that is not the work's own affair.
    pub threads: usize,
    /// When the run is given up.
    pub limit: Picos,
    /// Keys every random choice inside.
    pub key: u64,
}

impl CommandLine {
    /// What it is called in sentences: the name of the program without its folder.
    pub fn name(&self) -> String {
        let program = std::path::Path::new(&self.program);
        program.file_name().unwrap_or(&self.program).to_string_lossy().into_owned()
    }
}
