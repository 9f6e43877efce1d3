//! Contention: a table for each pair of sections, what stands behind one of its columns, and whether the counts were
//! exact.

use super::table::{Align, Columns};
use super::text::{count, duration, grouped, ns, percent, plain, wrap};
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
pub(super) fn lines(probe: &dyn SeriesProbe, result: &SeriesResult, width: usize) -> Vec<String> {
    let tables = tables(result);
    let mut lines = wrap(
        " ns that a thread spends on one operation: wall time × threads / operations. s: threads share CPUs and look \
         instead of sleeping, so that time slices are what is measured; !: a doubt.",
        width,
        1,
    );
    for table in &tables {
        lines.push(String::new());
        lines.extend(wrap(&title(table), width, 1));
        lines.extend(by_threads(table).lines(width));
        lines.extend(detail(table, width));
    }
    lines.push(String::new());
    let trials: Vec<&TrialResult> =
        result.trials.iter().filter(|trial| trial.spec.probe == names::PROBE).collect();
    lines.extend(counts(&trials, width));
    let specs: Vec<_> = trials.iter().map(|trial| &trial.spec).collect();
    for remark in probe.remarks(&specs) {
        lines.extend(wrap(&format!(" {}", plain(&remark)), width, 3));
    }
    lines
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
    format!(" {sections}; {}: threads take CPUs {}", plain(table.arrange), cpus.join(" "))
}

fn span(ns: f64) -> String {
    if ns == 0.0 { "nothing".to_owned() } else { duration(ns * 1e-9) }
}

fn by_threads(table: &MethodTable<'_>) -> Columns {
    let titles: Vec<String> = table.threads.iter().map(|&threads| count(threads as u64, "thread")).collect();
    // The word once is enough.
    let titles: Vec<String> = titles
        .into_iter()
        .enumerate()
        .map(|(index, title)| if index == 0 { title } else { title.replace(" threads", "") })
        .collect();
    let mut heading = vec![("method", Align::Left)];
    heading.extend(titles.iter().map(|title| (title.as_str(), Align::Right)));
    let mut columns = Columns::new(&heading);
    for &method in &table.methods {
        let mut row = vec![plain(method)];
        row.extend(table.threads.iter().map(|&threads| cell(table.at(method, threads))));
        columns.row(row);
    }
    columns
}

fn cell(trial: Option<&TrialResult>) -> String {
    let Some(trial) = trial else { return "· ".to_owned() };
    let mark = match trial {
        _ if trial.flags.contains(Flag::Invalid) => return "INVALID".to_owned(),
        _ if trial.flags.has_doubt() => '!',
        _ if trial.flags.contains(Flag::SharedSpin) => 's',
        _ => ' ',
    };
    value(trial, names::THREAD_NS).map_or("· ".to_owned(), |value| format!("{}{mark}", ns(value)))
}

fn value(trial: &TrialResult, name: &str) -> Option<f64> {
    trial.values.get(name).map(|estimate| estimate.point)
}

/// What stands behind the column of the most threads that have a CPU each.
fn detail(table: &MethodTable<'_>, width: usize) -> Vec<String> {
    let Some(threads) = table.full() else { return Vec::new() };
    let roomy = width >= ROOMY;
    let mut heading = vec![("", Align::Left), ("M ops/s", Align::Right)];
    if roomy {
        heading.push(("wall ns", Align::Right));
    }
    heading.extend([("Jain", Align::Right), ("1 ms", Align::Right), ("least", Align::Right)]);
    if roomy {
        heading.push(("most", Align::Right));
    }
    heading.extend([
        ("run", Align::Right),
        ("p50", Align::Right),
        ("p99", Align::Right),
        ("max µs", Align::Right),
    ]);
    if roomy {
        heading.extend([("CPU ns", Align::Right), ("sleeps", Align::Right)]);
    }
    let mut columns = Columns::new(&heading);
    for &method in &table.methods {
        let Some(trial) = table.at(method, threads).filter(|trial| trial.passes > 0) else { continue };
        let number = |name, show: &dyn Fn(f64) -> String| value(trial, name).map_or("·".to_owned(), show);
        let acquire = |share| {
            let ns =
                trial.histogram(names::ACQUIRE).and_then(|histogram| histogram.telling_percentile_ns(share));
            ns.map(|ns| if share < 1.0 { super::text::ns(ns) } else { super::text::ns(ns / 1e3) })
        };
        let unknown = || "·".to_owned();
        let mut row = vec![plain(method), number(names::RATE, &|per_s| ns(per_s / 1e6))];
        if roomy {
            row.push(number(names::WALL_NS, &ns));
        }
        row.push(number(names::JAIN, &|index| format!("{index:.3}")));
        row.push(number(names::JAIN_1MS, &|index| format!("{index:.3}")));
        row.push(number(names::SHARE_MIN, &percent));
        if roomy {
            row.push(number(names::SHARE_MAX, &percent));
        }
        row.push(number(names::RUN_LENGTH, &|length| format!("{length:.1}")));
        row.extend([0.5, 0.99, 1.0].map(|share| acquire(share).unwrap_or_else(unknown)));
        if roomy {
            row.push(number(names::CPU_NS, &ns));
            row.push(number(names::VOLUNTARY, &rare));
        }
        columns.row(row);
    }
    let rows = columns.lines(width);
    if rows.is_empty() {
        return rows;
    }
    let text = format!(
        " With {}: all operations; fairness after Jain over the pass and in windows of 1 ms (1 is even); the share of the \
         slowest thread{}; additions in a row by one thread; ns until a thread is in, a clock read among them{}.",
        count(threads as u64, "thread"),
        if roomy { " and of the fastest" } else { "" },
        if roomy { "; CPU time and sleeps of an operation" } else { "" },
    );
    wrap(&text, width, 1).into_iter().chain(rows).collect()
}

/// Something that happens for some of the operations.
fn rare(share: f64) -> String {
    match share {
        0.0 => "0".to_owned(),
        share if share < 0.0005 => "<0.001".to_owned(),
        share => format!("{share:.3}"),
    }
}

/// Whether memory holds what the threads added.
fn counts(trials: &[&TrialResult], width: usize) -> Vec<String> {
    let exactness = exactness(trials.iter().copied());
    let mut lines = Vec::new();
    for trial in exactness.wrong.iter().take(MOST_WRONG) {
        let method = plain(trial.spec.parameters.text("method").unwrap_or_default());
        let section = |name: &str| span(trial.spec.parameters.number(name).unwrap_or(0.0));
        let threads = format!(
            "{} ({} inside, {} outside)",
            count(trial.spec.placement.len() as u64, "thread"),
            section("critical_ns"),
            section("parallel_ns")
        );
        let text = match (trial.flags.contains(Flag::Invalid), lost(trial)) {
            (false, Some([lost, made])) => format!(
                " {method} with {threads} lost {} of {} additions ({}): the wrong answer.",
                grouped(lost as i64),
                grouped(made as i64),
                percent(lost as f64 / made.max(1) as f64),
            ),
            (_, Some([lost, made])) => format!(
                " INVALID: {method} with {threads}: {} additions were made, and memory holds {}.",
                grouped(made as i64),
                grouped(made.saturating_sub(lost) as i64),
            ),
            (_, None) => format!(" INVALID: {method} with {threads}: memory does not hold what was added."),
        };
        lines.extend(wrap(&text, width, 1));
    }
    if exactness.wrong.len() > MOST_WRONG {
        let more = count((exactness.wrong.len() - MOST_WRONG) as u64, "more count");
        lines.extend(wrap(&format!(" {more} wrong; see `flags` in the data."), width, 1));
    }
    let which = if exactness.wrong.is_empty() { "Every count" } else { "Every other count" };
    if exactness.exact > 0 {
        let text = format!(" {which} was exact: {} additions, all there.", grouped(exactness.exact as i64));
        lines.extend(wrap(&text, width, 1));
    }
    if let Some(overlap) = least_overlap(trials.iter().copied()) {
        let text = format!(
            " Threads that have a CPU each were measured together for at least {} of their time.",
            percent(overlap)
        );
        lines.extend(wrap(&text, width, 1));
    }
    lines
}
