//! Contention: a table for each pair of sections, details of one column, and whether the counts were exact.

use super::trial_cells::{self, MICROS, PERCENT, PLAIN, percentile, value};
use super::trial_words::legend_of_trials;
use crate::blocks::value::{DisplayUnit, DisplayValue, Number, Operation, Sentence, Source, Statistic};
use crate::blocks::{Block, Cell, Column, Table};
use coretalk_model::Flag;
use coretalk_model::contend::{MethodTable, exactness, least_overlap, lost, names, tables};
use coretalk_model::quantity::Unit;
use coretalk_model::run::{RunReport, SeriesReport};
use coretalk_model::series::TrialResult;

const ROOMY: usize = 100;
const MAX_CPUS: usize = 8;
const MAX_WRONG: usize = 4;

pub(super) fn blocks(report: &RunReport, series: &SeriesReport) -> Vec<Block<'static>> {
    let result = &series.result;
    let mut blocks = vec![Block::Prose(
        "ns per operation and thread: wall time × threads / operations. s: threads share CPUs and poll instead of \
         sleeping, which measures time slices; !: may be wrong."
            .into(),
    )];
    for table in &tables(result) {
        blocks.extend([Block::Gap, Block::Heading(title(table)), Block::Table(by_threads(table))]);
        blocks.extend(detail(table).map(Block::Table));
    }
    blocks.push(Block::Gap);
    let trials: Vec<&TrialResult> =
        result.trials.iter().filter(|trial| trial.spec.probe == names::PROBE).collect();
    blocks.extend(counts(&trials).into_iter().map(Block::Prose));
    blocks.extend(legend_of_trials(report, series, &trials));
    blocks
}

fn title(table: &MethodTable<'_>) -> Sentence {
    let sections = match table.sections_ns {
        [0.0, 0.0] => Sentence::new("No work inside or outside"),
        sections => sections_sentence(sections),
    };
    let cpus = table.cpus();
    Sentence::new(match cpus.len() > MAX_CPUS {
        true => "{sections}; {arrange}: threads on CPUs {cpus} …",
        false => "{sections}; {arrange}: threads on CPUs {cpus}",
    })
    .with("sections", sections)
    .with_name("arrange", table.arrange)
    .with("cpus", cpus[..cpus.len().min(MAX_CPUS)].to_vec())
}

fn sections_sentence([inside, outside]: [f64; 2]) -> Sentence {
    let span = |name: &str, ns: f64| match ns {
        0.0 => Sentence::new("nothing"),
        _ => Sentence::new("{span}").with("span", parameter_value(name, Number::Setting(ns), Unit::Ns)),
    };
    Sentence::new("{inside} inside, {outside} outside")
        .with("inside", span("critical_ns", inside))
        .with("outside", span("parallel_ns", outside))
}

fn threads_sentence(template: &'static str, threads: usize) -> Sentence {
    Sentence::pluralized(template, parameter_value("threads", Number::Count(threads as u64), Unit::Number))
}

fn parameter_value(name: &str, number: Number, unit: Unit) -> DisplayValue {
    let source = Source::Parameter { trial: None, name: name.to_owned() };
    DisplayValue { number, unit: DisplayUnit::Own(unit), source }
}

fn by_threads(table: &MethodTable<'_>) -> Table {
    let titles = table.threads.iter().enumerate().map(|(index, &threads)| match index {
        0 => threads_sentence("{number} thread{s}", threads),
        _ => threads_sentence("{number}", threads),
    });
    let columns = [Column::words("method")].into_iter().chain(titles.map(|it| Column::numbers(it).marked()));
    let rows = table.methods.iter().map(|&method| {
        let cells = table.threads.iter().map(|&threads| cell(table.at(method, threads)));
        [Cell::name(method)].into_iter().chain(cells).collect::<Vec<_>>()
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

/// Details of the column with the most threads that have a CPU each.
fn detail(table: &MethodTable<'_>) -> Option<Table> {
    let threads = table.full()?;
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
        table.methods.iter().filter_map(|&method| table.at(method, threads).map(|trial| (method, trial)));
    let rows = measured.filter(|(_, trial)| trial.passes > 0).map(|(method, trial)| {
        [
            Cell::name(method),
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
    Some(Table::new(columns).about(threads_sentence("With {number} thread{s}", threads)).with(rows))
}

/// Whether each counter has the sum that the threads added.
fn counts(trials: &[&TrialResult]) -> Vec<Sentence> {
    let exactness = exactness(trials.iter().copied());
    let mut sentences = Vec::new();
    for trial in exactness.wrong.iter().take(MAX_WRONG) {
        let parameters = &trial.spec.parameters;
        let section = |name: &str| parameters.number(name).unwrap_or(0.0);
        let [made, shown] =
            [names::EXPECTED, names::FINAL].map(|name| Source::of_trial(trial, name, Statistic::Count));
        let number = |number, unit, source| DisplayValue { number, unit, source };
        let additions = |count, source| number(Number::Count(count), PLAIN, source);
        let lost_source = Operation::Less.on([made.clone(), shown.clone()]);
        let sentence = match (trial.flags.contains(Flag::Invalid), lost(trial)) {
            (false, Some([lost, all])) => {
                let share = Number::Point(lost as f64 / all.max(1) as f64);
                let of_all = Operation::Ratio.on([lost_source.clone(), made.clone()]);
                Sentence::new(
                    "{method} with {threads} ({sections}) lost {lost} of {made} additions ({share}): its result is wrong.",
                )
                .with("lost", additions(lost, lost_source))
                .with("made", additions(all, made))
                .with("share", number(share, PERCENT, of_all))
            }
            (_, Some([lost, all])) => Sentence::new(
                "INVALID: {method} with {threads} ({sections}): {made} additions were made, but the counter shows {shown}.",
            )
            .with("made", additions(all, made))
            .with("shown", additions(all.saturating_sub(lost), shown)),
            (_, None) => Sentence::new(
                "INVALID: {method} with {threads} ({sections}): the counter does not show what was added.",
            ),
        };
        sentences.push(
            sentence
                .with_name("method", parameters.text("method").unwrap_or_default())
                .with("threads", threads_sentence("{number} thread{s}", trial.spec.placement.len()))
                .with("sections", sections_sentence(["critical_ns", "parallel_ns"].map(section))),
        );
    }
    if exactness.wrong.len() > MAX_WRONG {
        let more = DisplayValue::listed(exactness.wrong.len() - MAX_WRONG);
        sentences.push(Sentence::pluralized("{number} more count{s} wrong; see `flags` in the data.", more));
    }
    if exactness.exact > 0 {
        let is_exact =
            |trial: &&&TrialResult| !exactness.wrong.iter().any(|wrong| std::ptr::eq(*wrong, **trial));
        let of_trial = |trial: &&TrialResult| {
            let has = trial.counts.contains_key(names::EXPECTED);
            has.then(|| Source::of_trial(trial, names::EXPECTED, Statistic::Count))
        };
        let source =
            Operation::Sum.on(trials.iter().filter(is_exact).filter_map(of_trial).collect::<Vec<_>>());
        sentences.push(
            Sentence::new(match exactness.wrong.is_empty() {
                true => "Every count was exact: none of {additions} additions was lost.",
                false => "Every other count was exact: none of {additions} additions was lost.",
            })
            .with("additions", DisplayValue { number: Number::Count(exactness.exact), unit: PLAIN, source }),
        );
    }
    if let Some((trial, overlap)) = least_overlap(trials.iter().copied()) {
        let overlap = trial_cells::display_value(
            trial,
            names::OVERLAP,
            Statistic::Estimate,
            Number::Point(overlap),
            PERCENT,
        );
        sentences.push(
            Sentence::new(
                "Threads on CPUs of their own ran at the same time for at least {overlap} of the measured time.",
            )
            .with("overlap", overlap),
        );
    }
    sentences
}
