//! Contention: a table for each pair of sections, what stands behind one of its columns, and whether the counts were
//! exact.

use super::text::{count, duration, grouped, percent, plain};
use super::trial_cells::{MICROS, PERCENT, PLAIN, percentile, value};
use super::trial_words::remarks;
use crate::blocks::value::DisplayUnit;
use crate::blocks::{Block, Cell, Column, Table};
use coretalk_measure::series::SeriesProbe;
use coretalk_model::Flag;
use coretalk_model::contend::{MethodTable, exactness, least_overlap, lost, names, tables};
use coretalk_model::series::{SeriesResult, TrialResult};

/// From this width on the second table has every column.
const ROOMY: usize = 100;
/// CPUs of an arrangement that are listed.
const MOST_CPUS: usize = 8;
/// Wrong counts that are told one by one.
const MOST_WRONG: usize = 4;

/// Everything about the contention of a run.
pub(super) fn blocks(probe: &dyn SeriesProbe, result: &SeriesResult) -> Vec<Block<'static>> {
    let mut blocks = vec![Block::Prose(
        "ns per operation and thread: wall time × threads / operations. s: threads share CPUs and poll instead of \
         sleeping, which measures time slices; !: may be wrong."
            .to_owned().into(),
    )];
    for table in &tables(result) {
        blocks.extend([Block::Gap, Block::Heading(title(table).into()), Block::Table(by_threads(table))]);
        blocks.extend(detail(table).map(Block::Table));
    }
    blocks.push(Block::Gap);
    let trials: Vec<&TrialResult> =
        result.trials.iter().filter(|trial| trial.spec.probe == names::PROBE).collect();
    blocks.extend(counts(&trials).into_iter().map(|text| Block::Prose(text.into())));
    blocks.extend(remarks(probe, &trials));
    blocks
}

fn title(table: &MethodTable<'_>) -> String {
    let sections = match table.sections_ns {
        [0.0, 0.0] => "No work inside or outside".to_owned(),
        [inside, outside] => format!("{} inside, {} outside", span(inside), span(outside)),
    };
    let mut cpus: Vec<String> = table.cpus().iter().take(MOST_CPUS).map(ToString::to_string).collect();
    if table.cpus().len() > MOST_CPUS {
        cpus.push("…".to_owned());
    }
    format!("{sections}; {}: threads on CPUs {}", plain(table.arrange), cpus.join(" "))
}

fn span(ns: f64) -> String {
    if ns == 0.0 { "nothing".to_owned() } else { duration(ns * 1e-9) }
}

fn by_threads(of: &MethodTable<'_>) -> Table {
    let titles = of.threads.iter().enumerate().map(|(index, &threads)| match index {
        0 => count(threads as u64, "thread"),
        // The word once is enough.
        _ => grouped(threads as i64),
    });
    let columns = [Column::words("method")].into_iter().chain(titles.map(|it| Column::numbers(it).marked()));
    let rows = of.methods.iter().map(|&method| {
        let cells = of.threads.iter().map(|&threads| cell(of.at(method, threads)));
        [plain(method).into()].into_iter().chain(cells).collect::<Vec<_>>()
    });
    Table::new(columns.collect::<Vec<_>>()).with(rows)
}

fn cell(trial: Option<&TrialResult>) -> Cell {
    let Some(trial) = trial else { return Cell::Unknown };
    let mark = match trial {
        _ if trial.flags.contains(Flag::Invalid) => return "INVALID".into(),
        _ if trial.flags.may_be_wrong() => Some('!'),
        _ => trial.flags.contains(Flag::SharedSpin).then_some('s'),
    };
    value(trial, names::THREAD_NS, PLAIN).marked(mark)
}

/// What stands behind the column of the most threads that have a CPU each.
fn detail(of: &MethodTable<'_>) -> Option<Table> {
    let threads = of.full()?;
    let columns = [
        Column::words(""),
        Column::numbers("M ops/s").meaning("operations of all threads"),
        Column::numbers("wall ns").from_width(ROOMY),
        Column::numbers("Jain")
            .meaning("Jain's fairness index over the pass and in windows of 1 ms (1 is perfectly fair)"),
        Column::numbers("1 ms"),
        Column::numbers("slowest").meaning("share of the slowest thread"),
        Column::numbers("fastest").from_width(ROOMY).continuing("of the fastest"),
        Column::numbers("run").meaning("additions in a row by one thread"),
        Column::numbers("p50").meaning("ns to acquire, one clock read included"),
        Column::numbers("p99"),
        Column::numbers("max µs"),
        Column::numbers("CPU ns").from_width(ROOMY).meaning("CPU time and sleeps per operation"),
        Column::numbers("sleeps").from_width(ROOMY),
    ];
    let measured =
        of.methods.iter().filter_map(|&method| of.at(method, threads).map(|trial| (method, trial)));
    let rows = measured.filter(|(_, trial)| trial.passes > 0).map(|(method, trial)| {
        [
            plain(method).into(),
            value(trial, names::RATE, DisplayUnit::Millions),
            value(trial, names::WALL_NS, PLAIN),
            value(trial, names::JAIN, DisplayUnit::Decimals(3)),
            value(trial, names::JAIN_1MS, DisplayUnit::Decimals(3)),
            value(trial, names::SHARE_MIN, PERCENT),
            value(trial, names::SHARE_MAX, PERCENT),
            value(trial, names::RUN_LENGTH, DisplayUnit::Decimals(1)),
            percentile(trial, names::ACQUIRE, 0.5, PLAIN),
            percentile(trial, names::ACQUIRE, 0.99, PLAIN),
            percentile(trial, names::ACQUIRE, 1.0, MICROS),
            value(trial, names::CPU_NS, PLAIN),
            value(trial, names::VOLUNTARY, DisplayUnit::Decimals(3)),
        ]
    });
    Some(Table::new(columns).about(format!("With {}", count(threads as u64, "thread"))).with(rows))
}

/// Whether memory holds what the threads added.
fn counts(trials: &[&TrialResult]) -> Vec<String> {
    let exactness = exactness(trials.iter().copied());
    let mut sentences = Vec::new();
    for trial in exactness.wrong.iter().take(MOST_WRONG) {
        let method = plain(trial.spec.parameters.text("method").unwrap_or_default());
        let section = |name: &str| span(trial.spec.parameters.number(name).unwrap_or(0.0));
        let threads = format!(
            "{} ({} inside, {} outside)",
            count(trial.spec.placement.len() as u64, "thread"),
            section("critical_ns"),
            section("parallel_ns")
        );
        sentences.push(match (trial.flags.contains(Flag::Invalid), lost(trial)) {
            (false, Some([lost, made])) => format!(
                "{method} with {threads} lost {} of {} additions ({}): its result is wrong.",
                grouped(lost as i64),
                grouped(made as i64),
                percent(lost as f64 / made.max(1) as f64),
            ),
            (_, Some([lost, made])) => format!(
                "INVALID: {method} with {threads}: {} additions were made, but the counter shows {}.",
                grouped(made as i64),
                grouped(made.saturating_sub(lost) as i64),
            ),
            (_, None) => {
                format!("INVALID: {method} with {threads}: the counter does not show what was added.")
            }
        });
    }
    if exactness.wrong.len() > MOST_WRONG {
        let more = count((exactness.wrong.len() - MOST_WRONG) as u64, "more count");
        sentences.push(format!("{more} wrong; see `flags` in the data."));
    }
    let which = if exactness.wrong.is_empty() { "Every count" } else { "Every other count" };
    if exactness.exact > 0 {
        let additions = grouped(exactness.exact as i64);
        sentences.push(format!("{which} was exact: none of {additions} additions was lost."));
    }
    if let Some(overlap) = least_overlap(trials.iter().copied()) {
        let overlap = percent(overlap);
        sentences.push(format!(
            "Threads on CPUs of their own ran at the same time for at least {overlap} of \
                                the measured time."
        ));
    }
    sentences
}
