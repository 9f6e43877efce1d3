//! The commands that measure a map: the quick look, `latency`, and `suite`.

use super::args::FormatWord;
use super::meant::{settings_of_map, settings_of_trials};
use super::output::{self, Out};
use super::parse::Invocation;
use super::resolve::{self, Measuring, Strictness, Talk, Wish};
use super::sitting::{Closed, Opening, Sitting, Ways};
use super::watcher::{Watcher, line_outputs};
use super::{machine, resume, signals};
use crate::exit::{ExitCode, Failure};
use crate::export::Export;
use crate::report::text::{count, duration};
use crate::report::{Saved, Screen, screen};
use crate::{RunReport, SeriesReport};
use coretalk_measure::room::{Bound, Room};
use coretalk_measure::session::Sink;
use coretalk_measure::session::latency::{self, Ended, Past, RunError};
use coretalk_measure::session::series::{self, Earlier, SeriesPast};
use coretalk_measure::{Machine, Stop};
use coretalk_model::latency::{
    Cell, Choices, Imitated, LatencyMap, LatencyResult, LatencySettings, analyse, cells,
};
use coretalk_model::series::{Gathering, SeriesResult, SeriesSettings, analyse_series};
use coretalk_model::{CpuId, Grade, TickRate};
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
    enough_memory(cells(machine.topology(), &request.settings).len())?;
    let mut outputs = outputs(measuring, &request.wish, request.series.as_ref(), &stop)?;
    for notice in &request.notices {
        output::remark(request.wish.talk, Talk::Normal, notice);
    }
    let opening = Opening {
        invocation,
        crew: &request.crew,
        keeping: &request.keeping,
        remarks: &request.remarks,
        settings: &request.settings,
        series: request.series.as_ref(),
        talk: request.wish.talk,
        stop: &stop,
    };
    let sitting = opening.open(&mut *machine)?;
    let whole = Whole {
        settings: request.settings,
        past: Past::default(),
        series: request.series.map(|series| (series, SeriesPast::default())),
    };
    let ways = Ways { wish: &request.wish, strictness: request.strictness, stop: &stop };
    sit(&mut *machine, sitting, whole, &mut *outputs, ways)
}

/// Where results go: a suite has distributions, which a directory can hold, and a map has none.
///
/// # Errors
/// A file cannot be written, or a format cannot hold what is about to be measured.
pub fn outputs(
    measuring: Measuring<'_>,
    wish: &Wish,
    series: Option<&SeriesSettings>,
    stop: &Stop,
) -> Result<Box<dyn Results>, Failure> {
    if let (Measuring::Suite, Some(series)) = (measuring, series) {
        return Ok(Box::new(super::series::Outputs::open(wish, series, stop)?));
    }
    if wish.format == FormatWord::Hgrm {
        return Err(Failure::Usage(
            "`hgrm` holds a distribution, and this measures a map; after a run with --tails: `coretalk export latest \
             --format hgrm -o DIR`"
                .into(),
        ));
    }
    if wish.format == FormatWord::HyperfineJson {
        return Err(Failure::Usage(
            "`hyperfine-json` holds comparisons of a command, and this measures a map; use json, csv or markdown".into(),
        ));
    }
    Ok(Box::new(Outputs::open(wish, stop)?))
}

/// Where results go, opened before anything is measured.
pub trait Results {
    /// The outputs that get a line for each trial as it completes.
    fn lines(&mut self, wish: &Wish) -> Vec<&mut Out>;

    /// Writes what came out, but for what was streamed. `name` is what output calls the run.
    ///
    /// # Errors
    /// An output cannot be written, or its format cannot hold the run.
    fn write(&mut self, report: &RunReport, name: Option<&str>, wish: &Wish) -> Result<(), Failure>;
}

/// Everything that a run with a map measures, and what earlier sittings said of it.
pub struct Whole {
    /// What is asked of the map.
    pub settings: LatencySettings,
    /// What was said of it.
    pub past: Past,
    /// The trials beside it, and what was said of them.
    pub series: Option<(SeriesSettings, SeriesPast)>,
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
    pub fn open(wish: &Wish, stop: &Stop) -> Result<Outputs, Failure> {
        resolve::in_files_of_their_own(wish)?;
        let result = Out::open_unless(wish.output.as_deref(), Some(stop))?;
        let open =
            |(format, path): &(FormatWord, PathBuf)| Ok((*format, Out::open_unless(Some(path), Some(stop))?));
        let exports = wish.exports.iter().map(open).collect::<Result<_, Failure>>()?;
        Ok(Outputs { result, exports })
    }
}

impl Results for Outputs {
    fn lines(&mut self, wish: &Wish) -> Vec<&mut Out> {
        line_outputs(wish, &mut self.result, &mut self.exports)
    }

    fn write(&mut self, report: &RunReport, name: Option<&str>, wish: &Wish) -> Result<(), Failure> {
        write(report, name, wish, self)
    }
}

/// Performs a sitting and writes what came out.
///
/// # Errors
/// [`Failure`]; what was measured until then is saved.
pub fn sit(
    machine: &mut dyn Machine,
    mut sitting: Sitting,
    whole: Whole,
    outputs: &mut dyn Results,
    Ways { wish, strictness, stop }: Ways<'_>,
) -> Result<ExitCode, Failure> {
    announce(machine, &whole, wish, sitting.path.as_deref());
    let Whole { settings, past, series } = whole;
    let lines = outputs.lines(wish);
    let trials = series.as_ref().map_or(&[][..], |(series, _)| &series.trials);
    let mut watcher =
        Watcher::new(wish, &sitting.topology, &settings, past.segments, lines, stop).of_trials(trials);
    let measured = measured(machine, &settings, past, &series, &mut sitting, &mut watcher, stop);
    let told = watcher.end();
    let (closed, (result, of_trials)) = sitting.close(measured, told, wish.talk)?;
    let Closed { mut header, mut environment, findings, topology, end } = closed;
    environment.note_surroundings(machine.environment());
    header.complete = result.complete && of_trials.as_ref().is_none_or(|result| result.complete);
    let series = series.zip(of_trials).map(|((settings, _), result)| SeriesReport { settings, result });
    let mut report =
        RunReport { header, environment, findings, topology, settings, result, series, place: None };
    report.complete_the_ladder();
    end.write(stop, |name| outputs.write(&report, name, wish))?;
    if let Some(reason) = nothing_measured(&report) {
        return Err(Failure::Environment(format!(
            "no pair gave a value: {reason}; `coretalk doctor` looks for the cause"
        )));
    }
    Ok(trust(&report, strictness))
}

/// Why nothing was measured by a run that ended by itself; `None` where something was, or where the budget ended: that is
/// said, and a longer one helps.
fn nothing_measured(report: &RunReport) -> Option<String> {
    let result = &report.result;
    let trials = report.series.iter().flat_map(|series| &series.result.trials);
    let ended_by_itself = result.complete || !report.header.departed.is_empty();
    if !ended_by_itself || result.budget_ended || trials.into_iter().any(|trial| trial.passes > 0) {
        return None;
    }
    let pairs = cells(&report.topology, &report.settings);
    let of_tool = |imitated: &Imitated| imitated.cells.iter().any(|(_, _, cell)| cell.is_ok());
    if pairs.is_empty() || result.imitated.iter().any(of_tool) {
        return None;
    }
    let mut reasons: Vec<String> = Vec::new();
    for map in &result.maps {
        for &[a, b] in &pairs {
            let place = |cpu| map.cells.position(cpu);
            match place(b).zip(place(a)).and_then(|(row, column)| map.cells.get(row, column)) {
                Some(Cell::Missing { reason }) => reasons.push(reason.clone()),
                Some(_) => return None,
                None => {}
            }
        }
    }
    // What happened to some pair says more than that others were not reached.
    let told = reasons.iter().find(|reason| !reason.contains("before this pair was reached"));
    let usual = || "no pair answered".to_owned();
    Some(told.or(reasons.first()).cloned().unwrap_or_else(usual))
}

type Both = (LatencyResult, Option<SeriesResult>);

/// The map first, where one is asked for, then the trials beside it.
fn measured(
    machine: &mut dyn Machine,
    settings: &LatencySettings,
    past: Past,
    series: &Option<(SeriesSettings, SeriesPast)>,
    sitting: &mut Sitting,
    watcher: &mut Watcher<'_>,
    stop: &Stop,
) -> Result<(Both, Ended), RunError> {
    let began = machine.now();
    let (map, mut ended) = if settings.ask_for_nothing() {
        (LatencyResult { complete: true, ..LatencyResult::default() }, Ended::Complete)
    } else if series.is_some() && is_settled(&past) {
        // Trials were left, and no time is to be spent on the map again; its tables are derived anew.
        let rate = TickRate { hz: sitting.environment.clock.hz };
        let map = analyse(&sitting.topology, settings, rate, &past.record);
        sitting.sink.finish(&map)?;
        (map, Ended::Complete)
    } else {
        latency::run(machine, settings, past, &mut sitting.sink, watcher, stop)?
    };
    let Some((series, past)) = series else { return Ok(((map, None), ended)) };
    if ended == Ended::Interrupted {
        let trials = analyse_series(machine.topology(), series, &past.record);
        return Ok(((map, Some(trials)), ended));
    }
    let earlier = Some(Earlier { began, departed: watcher.departed().to_vec() });
    let past = SeriesPast { earlier, ..past.clone() };
    let (trials, ended_trials) = series::run(machine, series, past, &mut sitting.sink, watcher, stop)?;
    if ended_trials != Ended::Complete {
        ended = ended_trials;
    }
    Ok(((map, Some(trials)), ended))
}

/// Whether a map of earlier sittings needs nothing more.
fn is_settled(past: &Past) -> bool {
    let choices = Choices::of(&past.record);
    choices.complete && !choices.budget_ended
}

fn announce(machine: &dyn Machine, whole: &Whole, wish: &Wish, path: Option<&Path>) {
    let Whole { settings, series, .. } = whole;
    let mut text = match settings.ask_for_nothing() {
        true => "one CPU has no pair, so that there is no map; measuring".to_owned(),
        false => format!("measuring {} CPUs for at most {}", settings.cpus.len(), settings.budget),
    };
    if let Some((series, _)) = series {
        let plan = series::plan(machine, series);
        let join = if settings.ask_for_nothing() { "" } else { ", then" };
        let [least, most] = plan.machine_time.map(|time| duration(time.secs()));
        let time = if least == most { format!("about {most}") } else { format!("{least} to {most}") };
        let trials = count(plan.trials as u64, "trial");
        text.push_str(&format!("{join} {trials} of {} for {time}", series.probes.join(", ")));
    }
    output::remark(wish.talk, Talk::Normal, &format!("{text}, seed {}", settings.seed));
    if let Some(path) = path {
        output::remark(wish.talk, Talk::Verbose, &format!("writing {}", path.display()));
    }
    output::remark(wish.talk, Talk::Verbose, &settings_of_map(settings));
    if let Some((series, _)) = series {
        output::remark(wish.talk, Talk::Verbose, &settings_of_trials(series));
    }
}

fn write(report: &RunReport, name: Option<&str>, wish: &Wish, outputs: &mut Outputs) -> Result<(), Failure> {
    let look = output::look(wish);
    let identity = output::identity_of(wish.identity);
    let what = Export {
        report,
        file: None,
        protocol: None,
        probe: None,
        identity,
        name: name.unwrap_or("unsaved"),
        look,
    };
    // JSON lines were written while the trials were made.
    for (format, out) in outputs.exports.iter_mut().filter(|(format, _)| *format != FormatWord::Jsonl) {
        output::write_run(out, *format, &what)?;
    }
    match wish.format {
        FormatWord::Jsonl => Ok(()),
        FormatWord::Text if report.result.imitated.is_empty() => {
            let saved = name.map_or(Saved::Not, Saved::As);
            outputs.result.text(&screen::of(report, Screen::Measured(saved), &look))
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
        let cell = |[a, b]: [CpuId; 2]| imitated.cells.get(place(b)?, place(a)?)?.as_ref().ok();
        pairs.iter().filter(|&&pair| cell(pair).is_none()).count()
    };
    // What stands beside a quick look is no promise of it.
    let suite = report.series.iter().filter(|series| series.settings.gathering() == Some(Gathering::Suite));
    let trials = suite.flat_map(|series| &series.result.trials);
    report.result.maps.iter().map(of_map).sum::<usize>()
        + report.result.imitated.iter().map(of_tool).sum::<usize>()
        + trials.filter(|trial| trial.grade.is_none_or(|grade| grade >= Grade::C)).count()
}
