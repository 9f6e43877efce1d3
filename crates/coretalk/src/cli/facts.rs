//! The commands that say something about the machine and the tool: doctor, topology, clock, probes, plan.

use super::args::{Global, PlanArgs, PlannedCommand, ProbesArgs, TopologyArgs};
use super::output::{self, Out};
use super::resolve::{self, Measuring};
use super::value::MachineWord;
use super::{import, machine, runs, signals};
use crate::exit::{ExitCode, Failure};
use crate::report;
use crate::report::clock::ClockView;
use crate::report::probes::ProbeRow;
use crate::store::StoreError;
use coretalk_measure::session::latency;
use coretalk_measure::{asm, probes};
use coretalk_model::formats::read_matrices;
use coretalk_model::{CpuId, Matrix, Topology};
use std::path::Path;

/// The most CPUs whose counters `clock` compares each with each: 120 pairs of a millisecond.
const MOST_COMPARED: usize = 16;

/// `doctor`.
///
/// # Errors
/// The machine cannot be opened, or the output cannot be written.
pub fn doctor(global: &Global) -> Result<ExitCode, Failure> {
    let findings = machine::open(global.machine.as_ref(), 0)?.examine();
    say(global, |width| report::doctor::doctor(&findings, width))
}

/// `topology`.
///
/// # Errors
/// As [`doctor`]; or what `--from` names cannot be read.
pub fn topology(global: &Global, args: &TopologyArgs) -> Result<ExitCode, Failure> {
    let topology = match &args.from {
        None => machine::open(global.machine.as_ref(), 0)?.topology().clone(),
        Some(from) => topology_from(global, from)?,
    };
    say(global, |width| report::topology::topology(&topology, width))
}

/// Of a run, or of a matrix file, which names its CPUs and nothing they share.
fn topology_from(global: &Global, from: &str) -> Result<Topology, Failure> {
    match runs::open(global, from) {
        Ok(file) => return Ok(file.topology()?),
        // A file that is no run may be a matrix.
        Err(Failure::Store(StoreError::Foreign { .. })) => {}
        Err(failure) => return Err(failure),
    }
    let matrices = read_matrices(&import::bytes(Path::new(from))?)
        .map_err(|error| Failure::Input(format!("{from}: failed to {error}")))?;
    let cpus = matrices.iter().flat_map(|imported| imported.matrix.cpus().iter().copied()).collect();
    Ok(Topology::flat(cpus))
}

/// `clock`.
///
/// # Errors
/// As [`doctor`].
pub fn clock(global: &Global) -> Result<ExitCode, Failure> {
    let view = match &global.machine {
        Some(MachineWord::Sim(_)) => {
            let machine = machine::open(global.machine.as_ref(), 0)?;
            ClockView { facts: machine.environment().clock.clone(), cost: Vec::new(), offsets: None }
        }
        _ => host_clock()?,
    };
    say(global, |width| report::clock::clock(&view, width))
}

#[cfg(target_os = "linux")]
fn host_clock() -> Result<ClockView, Failure> {
    use coretalk_measure::Machine;
    let mut host = machine::host()?;
    let stop = signals::stop()?;
    let allowed = host.allowance().mask.intersection(&host.allowance().cpuset);
    let order: Vec<CpuId> = host.topology().order(&allowed).into_iter().take(MOST_COMPARED).collect();
    let pairs: Vec<(CpuId, CpuId)> = (0..order.len())
        .flat_map(|high| (0..high).map(move |low| (low, high)))
        .map(|(a, b)| (order[a], order[b]))
        .collect();
    let clock = host.measure_offsets(&pairs, &stop).clone();
    let cost = clock.costs.iter().map(|(&ticks, &count)| (clock.rate.ns(ticks as f64), count)).collect();
    let offsets = Matrix::directed(order.clone(), |row, column| {
        let offset = clock.offset(order[column], order[row])?;
        let bounds = [offset.ticks - offset.bound_ticks, offset.ticks + offset.bound_ticks];
        Some(bounds.map(|ticks| clock.rate.ns(ticks)))
    });
    Ok(ClockView { facts: clock.facts(), cost, offsets: Some(offsets) })
}

#[cfg(not(target_os = "linux"))]
fn host_clock() -> Result<ClockView, Failure> {
    use coretalk_measure::Machine;
    let facts = machine::host()?.environment().clock.clone();
    Ok(ClockView { facts, cost: Vec::new(), offsets: None })
}

/// `probes`.
///
/// # Errors
/// There is no kernel of that name, or its code cannot be shown.
pub fn probes(global: &Global, args: &ProbesArgs) -> Result<ExitCode, Failure> {
    if let Some(name) = &args.asm {
        Out::open(global.output.as_deref())?.text(&code(name)?)?;
        return Ok(ExitCode::Done);
    }
    let rows: Vec<ProbeRow> = probes::REGISTRY
        .iter()
        .flat_map(|probe| {
            let spec = probe.spec();
            probe.kernels().iter().map(move |kernel| ProbeRow {
                id: kernel.id.to_string(),
                unit: spec.unit.to_owned(),
                question: format!("{}: {}", spec.id, spec.question),
            })
        })
        .collect();
    say(global, |width| report::probes::probes(&rows, width))
}

#[cfg(target_os = "linux")]
fn code(name: &str) -> Result<String, Failure> {
    let kernel = probes::kernel_by_id(name).ok_or_else(|| {
        let known: Vec<String> = probes::kernels().map(|kernel| kernel.id.to_string()).collect();
        Failure::Usage(format!("there is no kernel `{name}`; there are {}", known.join(", ")))
    })?;
    let blocks =
        asm::disassemble(kernel).map_err(|error| Failure::Environment(format!("failed to {error}")))?;
    Ok(blocks.iter().map(|block| format!("{}:\n{}\n\n", block.symbol, block.lines.join("\n"))).collect())
}

#[cfg(not(target_os = "linux"))]
fn code(_: &str) -> Result<String, Failure> {
    Err(Failure::Environment("machine code can be shown on Linux only".into()))
}

/// `plan`.
///
/// # Errors
/// As measuring itself would be refused.
pub fn plan(global: &Global, args: &PlanArgs) -> Result<ExitCode, Failure> {
    let measuring = match &args.of {
        None => Measuring::QuickLook,
        Some(PlannedCommand::Latency(args)) => Measuring::Latency(args),
    };
    let stop = signals::stop()?;
    let seed = global.seed.unwrap_or_else(machine::fresh_seed);
    let mut machine = machine::open(global.machine.as_ref(), seed)?;
    let request = resolve::request(&*machine, global, measuring, seed)?;
    machine.engage(&request.crew)?;
    let plan = latency::plan(&mut *machine, &request.settings, &stop)?;
    say(global, |width| report::plan::plan(&plan, machine.topology(), width))
}

fn say(global: &Global, view: impl FnOnce(usize) -> String) -> Result<ExitCode, Failure> {
    let output = global.output.as_deref();
    let text = view(output::width(output));
    Out::open(output)?.text(&text)?;
    Ok(ExitCode::Done)
}
