//! The commands that say something about the machine and the tool: doctor, clock, probes. Each as text,
//! and as one document.

use crate::args::ProbesArgs;
use crate::args::options::Global;
use crate::args::value::MachineWord;
use crate::build_facts::build_facts;
use crate::clock::ClockView;
use crate::commands::shape::{Shape, hand_over, say, shape};
use crate::document::{AsmDoc, Document, ProbeDoc};
use crate::exit::{ExitCode, Failure};
use crate::report;
use crate::report::facts::ProbeRow;
use crate::resolve::machine;
use crate::run::out::Out;
use crate::run::signals;
use coretalk_measure::host::facts as of_measure;
use coretalk_measure::{Machine, SeriesProbe, asm, probes};
use coretalk_model::stats::Key;
use coretalk_model::{CpuId, Environment, Matrix, Picos};

/// The most CPUs whose counters `clock` compares each with each: 120 pairs of a millisecond.
const MOST_COMPARED: usize = 16;
/// How long they may take where nobody says.
const CLOCK_BUDGET: Picos = Picos::from_ms(10_000);

/// `doctor`.
///
/// # Errors
/// The machine cannot be opened, or the output cannot be written.
pub fn doctor(global: &Global) -> Result<ExitCode, Failure> {
    let shape = shape(global, "doctor")?;
    let mut machine = machine::open(global.machine.as_ref(), 0)?;
    let findings = machine.examine();
    match shape {
        Shape::Text => say(global, &report::facts::doctor(&findings)),
        Shape::Json(identity) => hand_over(global, &Document::of_machine(&*machine, &findings, identity)),
    }
}

/// `clock`.
///
/// # Errors
/// As [`doctor`].
pub fn clock(global: &Global) -> Result<ExitCode, Failure> {
    let shape = shape(global, "clock")?;
    let (view, environment) = match &global.machine {
        Some(MachineWord::Sim(_)) => {
            let machine = machine::open(global.machine.as_ref(), 0)?;
            let environment = machine.environment().clone();
            (
                ClockView { facts: environment.clock.clone(), cost: Vec::new(), offsets: None, left_out: 0 },
                environment,
            )
        }
        _ => host_clock(global.budget.unwrap_or(CLOCK_BUDGET))?,
    };
    match shape {
        Shape::Text => say(global, &report::facts::clock(&view)),
        Shape::Json(identity) => hand_over(global, &Document::of_clock(&environment, &view, identity)),
    }
}

#[cfg(target_os = "linux")]
fn host_clock(budget: Picos) -> Result<(ClockView, Environment), Failure> {
    let mut host = machine::host()?;
    let stop = signals::stop()?;
    let allowed = host.allowance().mask.intersection(&host.allowance().cpuset);
    let order: Vec<CpuId> = host.topology().order(&allowed).into_iter().take(MOST_COMPARED).collect();
    // The first CPU against each of the others tells all offsets; where time ends, the rest is a sample.
    let (first, mut others): (Vec<_>, Vec<_>) = (0..order.len())
        .flat_map(|high| (0..high).map(move |low| (low, high)))
        .partition(|(low, _)| *low == 0);
    Key::of(&[order.len() as u64]).shuffle(&mut others);
    let pairs: Vec<(CpuId, CpuId)> =
        first.into_iter().chain(others).map(|(a, b)| (order[a], order[b])).collect();
    let clock = host.measure_offsets(&pairs, budget.duration(), &stop).clone();
    let cost = clock.costs.iter().map(|(&ticks, &count)| (clock.rate.ns(ticks as f64), count)).collect();
    let offsets = Matrix::directed(order.clone(), |row, column| {
        let offset = clock.offset(order[column], order[row])?;
        let bounds = [offset.ticks - offset.bound_ticks, offset.ticks + offset.bound_ticks];
        Some(bounds.map(|ticks| clock.rate.ns(ticks)))
    });
    let view = ClockView {
        facts: clock.facts(),
        cost,
        offsets: Some(offsets),
        left_out: allowed.len() - order.len(),
    };
    Ok((view, host.environment().clone()))
}

#[cfg(not(target_os = "linux"))]
fn host_clock(_: Picos) -> Result<(ClockView, Environment), Failure> {
    let environment = machine::host()?.environment().clone();
    Ok((
        ClockView { facts: environment.clock.clone(), cost: Vec::new(), offsets: None, left_out: 0 },
        environment,
    ))
}

/// `--version -v`.
///
/// # Errors
/// It cannot be written.
pub fn build() -> Result<ExitCode, Failure> {
    let (compiler, libc) = (of_measure::compiler(), of_measure::libc_version());
    say(&Global::default(), &report::facts::build(&build_facts(), compiler.as_deref(), libc.as_deref()))
}

/// `probes`.
///
/// # Errors
/// There is no kernel of that name, or its code cannot be shown.
pub fn probes(global: &Global, args: &ProbesArgs) -> Result<ExitCode, Failure> {
    let shape = shape(global, "probes")?;
    let blocks = args.asm.as_deref().map(code).transpose()?;
    if let Shape::Json(_) = shape {
        return hand_over(global, &Document::of_probes(probe_docs(args.asm.as_deref(), blocks)));
    }
    if let Some(blocks) = blocks {
        let text = |block: &asm::AsmBlock| format!("{}:\n{}\n\n", block.symbol, block.lines.join("\n"));
        Out::open(global.output.as_deref())?.text(&blocks.iter().map(text).collect::<String>())?;
        return Ok(ExitCode::Done);
    }
    let row = |probe: &&dyn SeriesProbe| {
        let spec = probe.spec();
        ProbeRow {
            id: spec.id.to_owned(),
            question: spec.question.to_owned(),
            unit: spec.unit.to_owned(),
            kernels: probe.kernels().iter().map(|kernel| kernel.id.to_string()).collect(),
            variants: if probe.kernels().is_empty() { probe.variants() } else { Vec::new() },
        }
    };
    let rows: Vec<ProbeRow> = probes::REGISTRY.iter().map(row).collect();
    say(global, &report::facts::probes(&rows))
}

/// What stands before the strategy whose loop of `wait` is meant.
const WAIT: &str = "wait:";

/// What stands before the queue whose timed loops are meant.
const QUEUE: &str = "queue:";

/// Every kernel, or the one whose code was asked for, with it.
fn probe_docs(named: Option<&str>, blocks: Option<Vec<asm::AsmBlock>>) -> Vec<ProbeDoc> {
    let code = blocks.map(|blocks| blocks.into_iter().map(AsmDoc::of).collect::<Vec<_>>());
    let of_kernels = probes::REGISTRY.iter().flat_map(|probe| {
        let spec = probe.spec();
        probe.kernels().iter().map(move |kernel| (spec, kernel.id.to_string()))
    });
    // Loops that have a name and are no kernel of a map.
    let of_loops = named.and_then(|named| {
        let spec = match named {
            _ if named.starts_with(WAIT) => probes::wait::Wait.spec(),
            _ if named.starts_with(QUEUE) => probes::queue::Queue.spec(),
            _ => return None,
        };
        Some((spec, named.to_owned()))
    });
    of_kernels
        .chain(of_loops)
        .filter(|(_, kernel)| named.is_none_or(|named| named == kernel))
        .map(|(spec, kernel)| ProbeDoc {
            probe: spec.id.to_owned(),
            kernel,
            unit: spec.unit.to_owned(),
            question: spec.question.to_owned(),
            asm: code.clone(),
        })
        .collect()
}

#[cfg(target_os = "linux")]
fn code(name: &str) -> Result<Vec<asm::AsmBlock>, Failure> {
    if let Some(queue) = name.strip_prefix(QUEUE) {
        let (kind, _) = coretalk_measure::queues::catalogue::kind(queue)
            .map_err(|error| Failure::Usage(error.to_string()))?;
        return asm::disassemble_queue(kind)
            .map_err(|error| Failure::Environment(format!("failed to {error}")));
    }
    let shown = match (name.strip_prefix(WAIT), probes::kernel_by_id(name)) {
        (Some(strategy), _) => {
            let meant = coretalk_measure::strategies::catalogue::strategy_kind(strategy)
                .map_err(|error| Failure::Usage(error.to_string()))?;
            asm::disassemble_wait(meant).ok_or_else(|| {
                Failure::Environment(format!("`{strategy}` is a waiting strategy of another architecture"))
            })?
        }
        (None, Some(kernel)) => asm::disassemble(kernel),
        (None, None) => {
            let known: Vec<String> = probes::kernels().map(|kernel| kernel.id.to_string()).collect();
            return Err(Failure::Usage(format!(
                "unknown kernel `{name}`; known are {}, {WAIT}STRATEGY for waiting strategies ({WAIT}pause) and {QUEUE}NAME for queues ({QUEUE}spsc)",
                known.join(", ")
            )));
        }
    };
    shown.map_err(|error| Failure::Environment(format!("failed to {error}")))
}

#[cfg(not(target_os = "linux"))]
fn code(_: &str) -> Result<Vec<asm::AsmBlock>, Failure> {
    Err(Failure::Environment("machine code can be shown only on Linux".into()))
}
