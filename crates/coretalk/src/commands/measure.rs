//! Commands that measure.

use crate::args::Subject;
use crate::args::parse::Invocation;
use crate::exit::{ExitCode, Failure};
use crate::resolve::machine;
use crate::resolve::measure::Measure;
use crate::resolve::output::{Verbosity, print_notice};
use crate::resolve::run_options::RunOptions;
use crate::resolve::task::Task;
use crate::run::outputs::{Outputs, refuse_formats};
use crate::run::placement::Comparison;
use crate::run::resume::ResumableRun;
use crate::run::segment::{Past, Segment};
use crate::run::{measure, signals};
use coretalk_measure::room::{Bound, Room};
use coretalk_measure::session::latency;
use coretalk_measure::{Machine, Stop, WorkerSettings};
use coretalk_model::latency::{LatencySettings, cells};
use coretalk_report::fmt::digits::duration;

pub fn execute(invocation: &Invocation, subject: Subject<'_>) -> Result<ExitCode, Failure> {
    let global = &invocation.cli.global;
    let stop = signals::stop()?;
    if let Some(run) = &global.resume {
        let resumable = ResumableRun::open(invocation, subject, run)?;
        let mut machine = resumable.machine(global)?;
        if let Some(code) = resumable.show_if_complete(global)? {
            return Ok(code);
        }
        let measure = resumable.measure(&mut *machine, global, &stop)?;
        refuse_formats(&measure.options.output, measure.task.settings())?;
        return run_to_end(&mut *machine, measure, Start::Resumed(resumable), &stop);
    }
    let (mut machine, seed) = machine::open_seeded(global)?;
    let measure = Measure::resolve(&mut *machine, global, subject, seed, &stop)?;
    refuse_formats(&measure.options.output, measure.task.settings())?;
    if let Task::Probes { latency: Some(settings), .. } = &measure.task {
        if global.budget.is_some() {
            refuse_short_budget(&mut *machine, settings, &measure.options, &stop)?;
        }
        refuse_lack_of_memory(cells(machine.topology(), settings).len())?;
    }
    run_to_end(&mut *machine, measure, Start::Fresh(invocation), &stop)
}

#[allow(clippy::large_enum_variant, reason = "there is one per run")]
enum Start<'a> {
    Fresh(&'a Invocation),
    Resumed(ResumableRun),
}

fn run_to_end(
    machine: &mut dyn Machine,
    measure: Measure,
    start: Start<'_>,
    stop: &Stop,
) -> Result<ExitCode, Failure> {
    let Measure { task, notices, options } = measure;
    let outputs = Outputs::open(&options.output, stop)?;
    for notice in &notices {
        print_notice(options.output.verbosity, Verbosity::Normal, notice);
    }
    let (segment, task, past) = match start {
        Start::Fresh(invocation) => {
            let segment = Segment::open(machine, invocation, &options, task.settings(), stop)?;
            (segment, task, Past::default())
        }
        Start::Resumed(resumable) => resumable.go_on(machine, &options, task, stop)?,
    };
    match task {
        Task::Probes { latency, series } => {
            measure::perform(machine, segment, (latency, series), past, outputs, &options, stop)
        }
        Task::Comparison { settings, works, hooks, fail_on } => {
            let comparison = Comparison { settings, works, hooks, fail_on };
            comparison.perform(machine, segment, past.series, outputs, &options.output, stop)
        }
    }
}

/// Refuses a budget that is too short to measure one pair as an imitated tool does.
fn refuse_short_budget(
    machine: &mut dyn Machine,
    settings: &LatencySettings,
    options: &RunOptions,
    stop: &Stop,
) -> Result<(), Failure> {
    let (Some(tool), Some(workers)) = (settings.imitate.first(), &options.workers) else { return Ok(()) };
    machine.engage(workers)?;
    let budget = duration(settings.budget.secs());
    let least = latency::least_time(machine, settings, stop);
    // Ends the workers and restores the affinity mask, because `examine` must see the machine in its original state.
    machine.engage(&WorkerSettings::default())?;
    match least? {
        Some(least) if least <= settings.budget => Ok(()),
        Some(least) => Err(Failure::Usage(format!(
            "--budget {budget} is too short: {tool} takes {0} for one pair here; set --budget to {0} or more",
            duration(least.secs().ceil())
        ))),
        None => Err(Failure::Usage(format!(
            "--budget {budget} is too short: a part of what {tool} does with one pair takes longer here; choose a longer one"
        ))),
    }
}

/// Memory of a run per pair. A run took 570 MB at 523,776 pairs, mostly for passes and derived results.
const BYTES_PER_PAIR: u64 = 1_100;

/// Further address space: code, stacks, and 64 MB regions that glibc reserves for each of a few threads.
const RESERVED_BYTES: u64 = 300 << 20;

/// Minimum number of pairs for the memory check. Smaller runs need no more memory than any program.
const MANY_PAIRS: usize = 50_000;

/// Refuses a run that would exhaust the memory, because Rust aborts a program when an allocation fails.
fn refuse_lack_of_memory(pairs: usize) -> Result<(), Failure> {
    let Some(room) = Room::of_this_process().filter(|_| pairs >= MANY_PAIRS) else { return Ok(()) };
    let needed = pairs as u64 * BYTES_PER_PAIR;
    let (needed, has, help) = match room.bound {
        Bound::AddressSpace => {
            (needed + RESERVED_BYTES, "the address space limit leaves", "raise it (ulimit -v)")
        }
        Bound::Available => (needed, "this machine has", "stop other programs"),
    };
    if room.bytes >= needed {
        return Ok(());
    }
    let mb = |bytes: u64| bytes.div_ceil(1_000_000);
    Err(Failure::Environment(format!(
        "{pairs} pairs need about {} MB of memory, and {has} {}; {help}, or choose fewer CPUs with --cpus",
        mb(needed),
        mb(room.bytes)
    )))
}
