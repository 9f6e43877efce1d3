//! Commands that measure a map: the quick look, `latency`, and `suite`.

use crate::args::parse::Invocation;
use crate::exit::{ExitCode, Failure};
use crate::resolve::machine;
use crate::resolve::map::{self, Measuring, Request};
use crate::resolve::output::{Verbosity, remark};
use crate::resolve::run_options::RunOptions;
use crate::run::measure::{RunPlan, perform};
use crate::run::outputs::{Measured, Outputs};
use crate::run::segment::Opening;
use crate::run::{resume, signals};
use coretalk_measure::room::{Bound, Room};
use coretalk_measure::session::latency;
use coretalk_measure::{Machine, Stop, WorkerSettings};
use coretalk_model::latency::{LatencySettings, cells};
use coretalk_report::fmt::digits::duration;

pub fn execute(invocation: &Invocation, measuring: Measuring<'_>) -> Result<ExitCode, Failure> {
    let global = &invocation.cli.global;
    let stop = signals::stop()?;
    if let Some(run) = &global.resume {
        return resume::execute(invocation, measuring, run, &stop);
    }
    let (mut machine, seed) = machine::open_seeded(global)?;
    let Request { latency, series, notices, options } = map::request(&mut *machine, global, measuring, seed)?;
    if let Some(settings) = latency.as_ref().filter(|_| global.budget.is_some()) {
        enough_time(&mut *machine, settings, &options, &stop)?;
    }
    enough_memory(latency.as_ref().map_or(0, |settings| cells(machine.topology(), settings).len()))?;
    let outputs = Outputs::open(&options.output, Measured::of(measuring, series.as_ref()), &stop)?;
    for notice in &notices {
        remark(options.output.verbosity, Verbosity::Normal, notice);
    }
    let plan = RunPlan::fresh(latency, series);
    let opening = Opening { invocation, options: &options, settings: plan.settings(), stop: &stop };
    let segment = opening.open(&mut *machine)?;
    perform(&mut *machine, segment, plan, outputs, &options, &stop)
}

/// Refuses a budget that is too short for one pair as an imitated tool measures it.
fn enough_time(
    machine: &mut dyn Machine,
    settings: &LatencySettings,
    options: &RunOptions,
    stop: &Stop,
) -> Result<(), Failure> {
    let (Some(tool), Some(workers)) = (settings.imitate.first(), &options.workers) else { return Ok(()) };
    machine.engage(workers)?;
    let budget = duration(settings.budget.secs());
    let least = latency::least_time(machine, settings, stop);
    // Releases the workers and the affinity mask, because examining the machine must see their original state.
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

/// Memory of a run per pair: 570 MB at 523,776 pairs, most of it for passes and derived results.
const BYTES_PER_PAIR: u64 = 1_100;

/// Further address space: code, stacks, and the 64 MB regions that glibc reserves for each of a few threads.
const RESERVED_BYTES: u64 = 300 << 20;

/// Minimum number of pairs for the memory check: smaller runs need no more than any program.
const MANY_PAIRS: usize = 50_000;

/// Refuses a run that would exhaust the memory: Rust aborts a program when an allocation fails.
fn enough_memory(pairs: usize) -> Result<(), Failure> {
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
