//! [`Measure`]: a resolved measurement.

use crate::args::Subject;
use crate::args::options::Global;
use crate::exit::Failure;
use crate::resolve::run_options::RunOptions;
use crate::resolve::task::Task;
use crate::resolve::{map, placement, trials, versus};
use coretalk_measure::{Hooks, Machine, Stop};
use coretalk_model::Topology;

/// A resolved measurement: every name is known, and every default is filled in.
#[derive(Debug, Clone)]
pub struct Measure {
    /// What is measured.
    pub task: Task,
    /// Notices before the run: omitted trials and options without effect.
    pub notices: Vec<String>,
    /// All other options.
    pub options: RunOptions,
}

impl Measure {
    /// Resolves a command. Fails for a CPU that does not exist or is not allowed, for too few CPUs, for an unknown
    /// name, or for contradictory options.
    pub fn resolve(
        machine: &mut dyn Machine,
        global: &Global,
        subject: Subject<'_>,
        seed: u64,
        stop: &Stop,
    ) -> Result<Measure, Failure> {
        let (task, notices) = match subject {
            Subject::Map(command) => map::resolve(machine, global, command, seed)?,
            Subject::Trials(args) => trials::resolve(machine, global, args, seed, stop)?,
            Subject::Placements(args) => {
                let (settings, works) = placement::resolve(machine, global, args, seed)?;
                (Task::Comparison { settings, works, hooks: Hooks::new(), fail_on: None }, Vec::new())
            }
            Subject::Commands(args) => versus::resolve(machine, global, args, seed, None, stop)?,
        };
        Ok(Measure::new(global, task, notices, machine.topology()))
    }

    /// Combines a task with the options of its run.
    pub fn new(global: &Global, task: Task, notices: Vec<String>, topology: &Topology) -> Measure {
        let options = RunOptions::from_global(global, task.workers(topology));
        Measure { task, notices, options }
    }
}
