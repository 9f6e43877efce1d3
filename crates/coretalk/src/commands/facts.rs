//! Commands about the machine and the tool: `doctor`, `clock`, `probes` and `--version -v`.

use crate::args::ProbesArgs;
use crate::args::options::Global;
use crate::args::value::MachineWord;
use crate::build_facts::build_facts;
use crate::commands::shape::{Shape, hand_over, say, shape};
use crate::exit::{ExitCode, Failure};
use crate::resolve::machine;
use crate::run::out::Out;
#[cfg(target_os = "linux")]
use crate::run::signals;
#[cfg(target_os = "linux")]
use coretalk_measure::asm;
use coretalk_measure::asm_block::AsmBlock;
use coretalk_measure::host::{HostMachine, facts as measure_facts};
#[cfg(target_os = "linux")]
use coretalk_measure::series::RequestError;
use coretalk_measure::{Machine, SeriesProbe, probes};
#[cfg(target_os = "linux")]
use coretalk_model::{CpuId, Matrix, stats::Key};
use coretalk_model::{Environment, Picos};
use coretalk_report as report;
use coretalk_report::clock::ClockView;
use coretalk_report::document::{AsmDoc, Document, ProbeDoc};
use coretalk_report::facts::ProbeRow;
#[cfg(target_os = "linux")]
use std::time::Instant;

/// Maximum CPUs whose counters `clock` compares in pairs: 120 pairs, a millisecond each.
#[cfg(target_os = "linux")]
const MAX_COMPARED: usize = 16;
const CLOCK_BUDGET: Picos = Picos::from_ms(10_000);

pub fn doctor(global: &Global) -> Result<ExitCode, Failure> {
    let shape = shape(global, "doctor")?;
    let mut machine = match machine::open(global.machine.as_ref(), 0) {
        // `doctor` reports why the machine cannot be opened. Only the JSON document needs an open machine.
        Err(Failure::Machine(error)) if error.is_of_host() && matches!(shape, Shape::Text) => {
            say(global, &report::facts::doctor(&HostMachine::examine_closed(&error)))?;
            return Err(error.into());
        }
        opened => opened?,
    };
    let allowed = machine.allowance().cpuset.clone();
    let findings = machine.examine(&allowed, None);
    match shape {
        Shape::Text => say(global, &report::facts::doctor(&findings)),
        Shape::Json(identity) => hand_over(
            global,
            &Document::of_machine(machine.topology(), machine.environment(), &findings, identity),
        ),
    }
}

pub fn clock(global: &Global) -> Result<ExitCode, Failure> {
    let shape = shape(global, "clock")?;
    let (view, environment) = match &global.machine {
        Some(MachineWord::Sim(_)) => {
            let machine = machine::open(global.machine.as_ref(), 0)?;
            let environment = machine.environment().clone();
            (ClockView::of_facts(environment.clock.clone()), environment)
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
    let end = Instant::now() + budget.duration();
    let mut host = machine::host()?;
    let stop = signals::stop()?;
    let allowed = host.allowance().mask.intersection(&host.allowance().cpuset);
    let order: Vec<CpuId> = host.topology().order(&allowed).into_iter().take(MAX_COMPARED).collect();
    // Pairs with the first CPU yield all offsets and come first. The others are shuffled, so a timeout leaves a sample.
    let (first, mut others): (Vec<_>, Vec<_>) = (0..order.len())
        .flat_map(|high| (0..high).map(move |low| (low, high)))
        .partition(|(low, _)| *low == 0);
    Key::from_words(&[order.len() as u64]).shuffle(&mut others);
    let pairs: Vec<(CpuId, CpuId)> =
        first.into_iter().chain(others).map(|(a, b)| (order[a], order[b])).collect();
    let clock = host.measure_offsets(&pairs, end, &stop).clone();
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
        departed: clock.departed,
        left_out: allowed.len() - order.len(),
    };
    Ok((view, host.environment().clone()))
}

#[cfg(not(target_os = "linux"))]
fn host_clock(_: Picos) -> Result<(ClockView, Environment), Failure> {
    let environment = machine::host()?.environment().clone();
    Ok((ClockView::of_facts(environment.clock.clone()), environment))
}

pub fn build() -> Result<ExitCode, Failure> {
    let (compiler, libc) = (measure_facts::compiler(), measure_facts::libc_version());
    say(&Global::default(), &report::facts::build(&build_facts(), compiler.as_deref(), libc.as_deref()))
}

pub fn probes(global: &Global, args: &ProbesArgs) -> Result<ExitCode, Failure> {
    let shape = shape(global, "probes")?;
    let blocks = args.asm.as_deref().map(code).transpose()?;
    if let Shape::Json(_) = shape {
        return hand_over(global, &Document::of_probes(probe_docs(args.asm.as_deref(), blocks)));
    }
    if let Some(blocks) = blocks {
        let text = |block: &AsmBlock| format!("{}:\n{}\n\n", block.symbol, block.lines.join("\n"));
        Out::open(global.output.as_deref())?.text(&blocks.iter().map(text).collect::<String>())?;
        return Ok(ExitCode::Done);
    }
    let row = |probe: &&dyn SeriesProbe| {
        let spec = probe.declaration();
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

/// Prefixes of probes with named timed loops, as in `queue:spsc`. The second text is the help for the name.
const LOOPS: [(&str, &str); 4] = [
    ("wait:", "STRATEGY for waiting strategies (wait:pause)"),
    ("queue:", "NAME for queues (queue:spsc)"),
    ("contend:", "METHOD for methods (contend:fetch-add)"),
    ("wake:", "NAME for primitives (wake:park)"),
];

/// Lists all kernels, or only the named kernel with its assembly.
fn probe_docs(named: Option<&str>, blocks: Option<Vec<AsmBlock>>) -> Vec<ProbeDoc> {
    let doc = |block: AsmBlock| AsmDoc::new(block.symbol, block.lines);
    let code = blocks.map(|blocks| blocks.into_iter().map(doc).collect::<Vec<_>>());
    let of_kernels = probes::REGISTRY.iter().flat_map(|probe| {
        let spec = probe.declaration();
        probe.kernels().iter().map(move |kernel| (spec, kernel.id.to_string()))
    });
    let of_loops = named.and_then(|named| {
        let (prefix, _) = LOOPS.iter().find(|(prefix, _)| named.starts_with(prefix))?;
        Some((probes::series_by_id(prefix.trim_end_matches(':'))?.declaration(), named.to_owned()))
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
fn code(name: &str) -> Result<Vec<AsmBlock>, Failure> {
    use coretalk_measure::{counters, queues, strategies};
    let usage = |error: RequestError| Failure::Usage(error.to_string());
    let shown = match name.split_at(name.find(':').map_or(0, |colon| colon + 1)) {
        ("queue:", queue) => asm::disassemble_queue(queues::catalogue::kind(queue).map_err(usage)?.0),
        ("contend:", method) => {
            asm::disassemble_contend(counters::catalogue::method_by_id(method).map_err(usage)?)
        }
        ("wake:", primitive) => {
            asm::disassemble_wake(primitive, probes::wake::variant(primitive).map_err(usage)?)
        }
        ("wait:", strategy) => {
            let meant = strategies::catalogue::strategy_kind(strategy).map_err(usage)?;
            asm::disassemble_wait(meant).ok_or_else(|| {
                Failure::Environment(format!("`{strategy}` is a waiting strategy of another architecture"))
            })?
        }
        _ => asm::disassemble(probes::kernel_by_id(name).ok_or_else(|| unknown_kernel(name))?),
    };
    shown.map_err(|error| Failure::Environment(format!("failed to {error}")))
}

#[cfg(target_os = "linux")]
fn unknown_kernel(name: &str) -> Failure {
    let kernels: Vec<String> = probes::kernels().map(|kernel| kernel.id.to_string()).collect();
    let loops = LOOPS.map(|(probe, what)| format!("{probe}{what}"));
    let loops = loops.join(", ");
    Failure::Usage(format!("unknown kernel `{name}`; known are {}, {loops}", kernels.join(", ")))
}

#[cfg(not(target_os = "linux"))]
fn code(_: &str) -> Result<Vec<AsmBlock>, Failure> {
    Err(Failure::Environment("machine code can be shown only on Linux".into()))
}
