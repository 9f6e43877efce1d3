//! The commands that measure: the quick look and `latency`.

use super::args::FormatWord;
use super::output::{self, Out};
use super::parse::Invocation;
use super::resolve::{self, Measuring, Strictness, Talk, Wish};
use super::sitting::{Closed, Opening, Sitting, Ways};
use super::watcher::{Watcher, line_outputs};
use super::{machine, resume, signals};
use crate::RunReport;
use crate::exit::{ExitCode, Failure};
use crate::export::Export;
use crate::report::{Saved, Screen, latency_screen};
use coretalk_measure::Machine;
use coretalk_measure::host::room::{Bound, Room};
use coretalk_measure::session::latency::{self, Past};
use coretalk_model::latency::{Imitated, LatencyMap, LatencySettings, cells};
use coretalk_model::{CpuId, Grade};
use std::path::{Path, PathBuf};

/// Measures, or goes on with a run.
///
/// # Errors
/// [`Failure`]; what was measured until then is saved.
pub fn act(invocation: &Invocation, measuring: Measuring<'_>) -> Result<ExitCode, Failure> {
    let global = &invocation.cli.global;
    let stop = signals::stop()?;
    if let Some(run) = &global.resume {
        return resume::act(invocation, measuring, run, &stop);
    }
    let seed = global.seed.unwrap_or_else(machine::fresh_seed);
    let mut machine = machine::open(global.machine.as_ref(), seed)?;
    let request = resolve::request(&*machine, global, measuring, seed)?;
    if request.wish.format == FormatWord::Hgrm {
        return Err(Failure::Usage(
            "`hgrm` holds a distribution, and this measures a map; after a run with --tails: `coretalk export latest \
             --format hgrm -o DIR`"
                .into(),
        ));
    }
    enough_memory(cells(machine.topology(), &request.settings).len())?;
    let outputs = Outputs::open(&request.wish)?;
    let opening = Opening {
        invocation,
        crew: &request.crew,
        keeping: &request.keeping,
        remarks: &request.remarks,
        settings: &request.settings,
        series: None,
        talk: request.wish.talk,
        stop: &stop,
    };
    let sitting = opening.open(&mut *machine)?;
    let (settings, past) = (request.settings, Past::default());
    let ways = Ways { wish: &request.wish, strictness: request.strictness, stop: &stop };
    sit(&mut *machine, sitting, settings, past, outputs, ways)
}

/// Memory of a run for each pair: 570 MB at 523,776 pairs, most of it the passes and what follows from them.
const BYTES_PER_PAIR: u64 = 1_100;
/// Address space beyond that: code, stacks, and the regions of 64 MB that glibc reserves for each of a few threads.
const RESERVED_BYTES: u64 = 300 << 20;
/// Below so many pairs a run takes what every program takes.
const MANY_PAIRS: usize = 50_000;

/// Says before a long run begins that its memory would not suffice: Rust ends a program that gets none.
fn enough_memory(pairs: usize) -> Result<(), Failure> {
    let Some(room) = Room::of_this_process().filter(|_| pairs >= MANY_PAIRS) else { return Ok(()) };
    let needed = pairs as u64 * BYTES_PER_PAIR;
    let (needed, has, help) = match room.bound {
        Bound::AddressSpace => {
            (needed + RESERVED_BYTES, "the limit of the address space leaves", "raise it (ulimit -v)")
        }
        Bound::Available => (needed, "this machine has", "end other programs"),
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

/// Where the results go, opened before anything is measured.
pub struct Outputs {
    pub(super) result: Out,
    pub(super) exports: Vec<(FormatWord, Out)>,
}

impl Outputs {
    /// Opens them.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn open(wish: &Wish) -> Result<Outputs, Failure> {
        let result = Out::open(wish.output.as_deref())?;
        let open = |(format, path): &(FormatWord, PathBuf)| Ok((*format, Out::open(Some(path))?));
        let exports = wish.exports.iter().map(open).collect::<Result<_, Failure>>()?;
        Ok(Outputs { result, exports })
    }
}

/// Performs a sitting and writes what came out.
///
/// # Errors
/// [`Failure`]; what was measured until then is saved.
pub fn sit(
    machine: &mut dyn Machine,
    mut sitting: Sitting,
    settings: LatencySettings,
    past: Past,
    mut outputs: Outputs,
    Ways { wish, strictness, stop }: Ways<'_>,
) -> Result<ExitCode, Failure> {
    announce(&settings, wish, sitting.path.as_deref());
    let lines = line_outputs(wish, &mut outputs.result, &mut outputs.exports);
    let mut watcher = Watcher::new(wish, &sitting.topology, &settings, past.segments, lines, stop);
    let measured = latency::run(machine, &settings, past, &mut sitting.sink, &mut watcher, stop);
    let told = watcher.end();
    let (closed, result) = sitting.close(measured, told, wish.talk)?;
    let Closed { mut header, environment, findings, topology, end } = closed;
    header.complete = result.complete;
    let report =
        RunReport { header, environment, findings, topology, settings, result, series: None, place: None };
    end.write(stop, |name| write(&report, name, wish, &mut outputs))?;
    Ok(trust(&report, strictness))
}

fn announce(settings: &LatencySettings, wish: &Wish, path: Option<&Path>) {
    let text = format!(
        "measuring {} CPUs for at most {}, seed {}",
        settings.cpus.len(),
        settings.budget,
        settings.seed
    );
    output::remark(wish.talk, Talk::Normal, &text);
    if let Some(path) = path {
        output::remark(wish.talk, Talk::Verbose, &format!("writing {}", path.display()));
    }
    output::remark(wish.talk, Talk::Verbose, &format!("settings: {settings:?}"));
}

fn write(report: &RunReport, name: Option<&str>, wish: &Wish, outputs: &mut Outputs) -> Result<(), Failure> {
    let look = output::look(wish);
    let identity = output::identity_of(wish.identity);
    let what = Export { report, file: None, protocol: None, identity, name: name.unwrap_or("unsaved"), look };
    // JSON lines were written while the trials were made.
    for (format, out) in outputs.exports.iter_mut().filter(|(format, _)| *format != FormatWord::Jsonl) {
        output::write_run(out, *format, &what)?;
    }
    match wish.format {
        FormatWord::Jsonl => Ok(()),
        FormatWord::Text if report.result.imitated.is_empty() => {
            let saved = name.map_or(Saved::Not, Saved::As);
            outputs.result.text(&latency_screen(report, Screen::Measured(saved), &look))
        }
        format => output::write_run(&mut outputs.result, format, &what),
    }
}

/// Whether every cell that was asked for can be trusted, where that matters.
fn trust(report: &RunReport, strictness: Strictness) -> ExitCode {
    if strictness == Strictness::Lenient {
        return ExitCode::Done;
    }
    let doubted = doubted(report);
    if doubted == 0 {
        return ExitCode::Done;
    }
    let text = format!(
        "{doubted} cells cannot be trusted (grade C or D, or not measured), which --strict makes a failure"
    );
    output::remark(Talk::Normal, Talk::Normal, &text);
    ExitCode::Found
}

fn doubted(report: &RunReport) -> usize {
    let pairs = cells(&report.topology, &report.settings);
    let of_map = |map: &LatencyMap| {
        let place = |cpu| map.cells.position(cpu);
        let cell = |[a, b]: [CpuId; 2]| map.cells.get(place(b)?, place(a)?)?.value();
        pairs.iter().filter(|&&pair| cell(pair).is_none_or(|value| value.grade >= Grade::C)).count()
    };
    let of_tool = |imitated: &Imitated| {
        let place = |cpu| imitated.cells.position(cpu);
        let cell = |[a, b]: [CpuId; 2]| *imitated.cells.get(place(b)?, place(a)?)?;
        pairs.iter().filter(|&&pair| cell(pair).is_none()).count()
    };
    report.result.maps.iter().map(of_map).sum::<usize>()
        + report.result.imitated.iter().map(of_tool).sum::<usize>()
}
