//! Throughput of queues: a map for each capacity, rates by relation, what they cost, and what follows in words.

pub mod batches;
mod capacities;
mod maps;
pub mod sides;
pub mod sweep;

use super::best;
use super::fmt;
use super::ladder::relation_words;
use super::text::{capitalized, count, grouped, million, ns, percent, plain};
use super::trial_cells::PLAIN;
use super::trial_words::{relation_sentence, role_sentence};
use super::words;
use crate::blocks::value::{DisplayUnit, DisplayValue, Number, Source, Statistic};
use crate::blocks::{Block, Cell, Column, Table};
use crate::{RunReport, SeriesReport};
pub use capacities::not_drawn;
use capacities::over_capacities;
use coretalk_measure::probes::queue::REPRESENTATIVES;
use coretalk_model::latency::Regime;
use coretalk_model::quantity::Unranked;
use coretalk_model::queue::{
    Balance, QueueCell, QueueMatrix, ShapeRates, SwitchRate, both, matrices, names, rates, switch_rate,
    verification,
};
use coretalk_model::series::{Verdict, concurrency_margin};
use coretalk_model::stats::Estimate;
use coretalk_model::{Flag, Relation};
use std::collections::BTreeMap;

/// Everything about the matrices of a run; nothing where it has none.
pub(super) fn blocks<'a>(report: &'a RunReport, series: &'a SeriesReport) -> Vec<Block<'a>> {
    let matrices = matrices(&series.result);
    if matrices.is_empty() {
        return Vec::new();
    }
    let shapes = rates(&matrices, &report.topology);
    let together = match &series.result.regime {
        Regime::Serial => String::new(),
        Regime::Parallel { pairs, .. } => {
            format!(" Up to {} at the same time.", count(u64::from(*pairs), "pair"))
        }
    };
    let cells: Vec<_> = matrices.iter().flat_map(|matrix| &matrix.cells).collect();
    let cells: Vec<_> =
        cells.into_iter().filter_map(|cell| Some((cell.rate_of_pair()?, cell.trial.flags))).collect();
    let known: Vec<_> =
        cells.iter().filter(|(_, flags)| !flags.may_be_wrong() && flags.contains(Flag::WideCi)).collect();
    let wide: Vec<f64> = known.iter().map(|(rate, _)| rate.relative_reach()).collect();
    let mark = if cells.iter().any(|(_, flags)| flags.may_be_wrong()) { "; !: may be wrong" } else { "" };
    let sound = cells.iter().filter(|(_, flags)| !flags.may_be_wrong()).count() as u64;
    let caption = format!(
        "Million messages per second; row: CPU of the producer, column: CPU of the consumer, diagonal: both on one \
         CPU.{together} {}{mark}",
        capitalized(&words::widths(series.settings.precision, "", &wide, sound))
    );
    let mut blocks = vec![Block::drawing(move |style| maps::every_map(report, series, &caption, style))];
    // Several would fill screens; a page has a chart for each.
    if let [shape] = &shapes[..] {
        blocks.extend(over_capacities(shape, &report.topology));
    }
    blocks.extend(tables_of(report, series, &matrices, &shapes));
    blocks.push(Block::Gap);
    blocks.extend(conclusions(report, series, &matrices, &shapes));
    blocks
}

/// The column of payloads, which a terminal of less than this width leaves out where all are the same.
fn payload_column<'a>(mut payloads: impl Iterator<Item = &'a str>, roomy: usize) -> Column {
    let first = payloads.next();
    let differ = payloads.any(|payload| Some(payload) != first);
    Column::words("payload").from_width(if differ { 0 } else { roomy })
}

/// Rates by relation and what a message costs, for a page that draws the maps and says the words elsewhere; nothing where
/// the run has no matrices.
pub(super) fn tables<'a>(report: &'a RunReport, series: &'a SeriesReport) -> Vec<Block<'a>> {
    let matrices = matrices(&series.result);
    if matrices.is_empty() {
        return Vec::new();
    }
    tables_of(report, series, &matrices, &rates(&matrices, &report.topology))
}

fn tables_of<'a>(
    report: &RunReport,
    series: &'a SeriesReport,
    matrices: &[QueueMatrix<'_>],
    shapes: &[ShapeRates<'_>],
) -> Vec<Block<'a>> {
    let about = "By relation, a column for each capacity: median over the pairs, million messages per second; !: at least \
        one pair may be wrong.";
    let mut blocks =
        vec![Block::Prose(about.to_owned().into()), Block::Table(by_relation(report, shapes)), Block::Gap];
    blocks.extend(costs(report, matrices, shapes));
    // How busy CPUs were while a run of queues alone went on.
    if let Some(curve) = &series.result.load {
        blocks.extend([Block::Gap, Block::drawing(move |style| super::load::lines(curve, style))]);
    }
    blocks
}

/// What follows from the matrices of a run, in words; nothing where it has none.
pub(super) fn words(report: &RunReport, series: &SeriesReport) -> Vec<Block<'static>> {
    let matrices = matrices(&series.result);
    let shapes = rates(&matrices, &report.topology);
    conclusions(report, series, &matrices, &shapes)
}

fn conclusions(
    report: &RunReport,
    series: &SeriesReport,
    matrices: &[QueueMatrix<'_>],
    shapes: &[ShapeRates<'_>],
) -> Vec<Block<'static>> {
    let mut sentences = Vec::new();
    if shapes.iter().any(spins) {
        sentences.push(
            "s: both threads poll instead of sleeping and share one CPU, so they hand over once per time \
             slice: this measures the scheduler, not the pair."
                .to_owned(),
        );
    }
    if shapes.iter().flat_map(|shape| &shape.rows).flat_map(|(_, row)| row).any(|rate| rate.unclaimed) {
        sentences.push(
            "u: unclaimed; other threads of the runtime used more than half of the CPU time, so its speed is that of \
             the runtime and not of the pair."
                .to_owned(),
        );
    }
    sentences.extend(passed(matrices));
    sentences.extend(switch_rate(matrices).iter().map(switches));
    sentences.extend(shapes.iter().flat_map(|shape| balances(report, shape)));
    sentences.extend(winners(report, series));
    sentences.extend(left_out(shapes));
    let every = series.settings.cpus.len().pow(2);
    let sampled = matrices.iter().any(|matrix| matrix.cells.len() < every)
        && series.settings.options.text("pairs") != Some("listed");
    let checked = verification(matrices, &report.topology, REPRESENTATIVES).filter(|_| sampled);
    sentences.extend(checked.map(|checked| {
        format!(
            "Not every pair was measured. Of {} other cells drawn at random, {} differ from what their \
             relation predicts, so at most {} of all cells do (95 %).",
            grouped(checked.cells as i64),
            checked.beside,
            percent(checked.bound),
        )
    }));
    let margin = concurrency_margin(&series.settings);
    let regime = words::regime(&series.result.regime, margin, &report.topology);
    regime.into_iter().chain(sentences.into_iter().map(|text| Block::Prose(text.into()))).collect()
}

fn spins(shape: &ShapeRates<'_>) -> bool {
    shape.rows.iter().flat_map(|(_, row)| row).any(|rate| rate.shared_spin)
}

fn by_relation(report: &RunReport, shapes: &[ShapeRates<'_>]) -> Table {
    let mut capacities: Vec<u64> = Vec::new();
    for capacity in shapes.iter().flat_map(|shape| &shape.rows).map(|(capacity, _)| *capacity) {
        if !capacities.contains(&capacity) {
            capacities.push(capacity);
        }
    }
    let mut columns = ["queue", "payload", "relation"].map(Column::words).to_vec();
    columns.push(Column::numbers("pairs"));
    columns.extend(capacities.iter().map(|capacity| Column::numbers(grouped(*capacity as i64)).marked()));
    let mut table = Table::new(columns);
    for shape in shapes {
        for relation in relations(shape) {
            let cells = capacities.iter().map(|&capacity| {
                let Some(rate) = shape.at(capacity, relation) else { return Cell::Unknown };
                match rate.per_s {
                    Some(per_s) => {
                        let source = rate_source(shape, capacity, relation, Statistic::Percentile(0.5));
                        let number = Number::Point(per_s.point);
                        Cell::from(DisplayValue { number, unit: DisplayUnit::Millions, source })
                            .marked((rate.doubted > 0).then_some('!'))
                    }
                    None if rate.shared_spin => "s".into(),
                    None if rate.unclaimed => "u".into(),
                    None => Cell::Unknown,
                }
            });
            let rates =
                shape.rows.iter().flat_map(|(capacity, row)| row.iter().map(move |rate| (*capacity, rate)));
            let pairs = rates.clone().find(|(_, rate)| rate.relation == relation).map(|(capacity, rate)| {
                let source = rate_source(shape, capacity, relation, Statistic::Count);
                DisplayValue { number: Number::Count(rate.pairs as u64), unit: PLAIN, source }
            });
            let mut row: Vec<Cell> = vec![
                plain(shape.queue).into(),
                plain(shape.payload).into(),
                relation_sentence(relation, &report.topology).into(),
                Cell::number(pairs),
            ];
            row.extend(cells);
            table.row(row);
        }
    }
    table
}

fn rate_source(shape: &ShapeRates<'_>, capacity: u64, relation: Relation, statistic: Statistic) -> Source {
    let (queue, payload) = (shape.queue.to_owned(), shape.payload.to_owned());
    Source::Rates { queue, payload, capacity, relation, statistic }
}

fn relations(shape: &ShapeRates<'_>) -> Vec<Relation> {
    Relation::ALL
        .into_iter()
        .filter(|&of| shape.rows.iter().flat_map(|(_, row)| row).any(|rate| rate.relation == of))
        .collect()
}

/// What a message costs, on the first pair of each relation, at the capacity in the middle.
fn costs(report: &RunReport, matrices: &[QueueMatrix<'_>], shapes: &[ShapeRates<'_>]) -> Vec<Block<'static>> {
    let Some(middle) = shapes.first().and_then(|shape| shape.rows.get(shape.rows.len() / 2)).map(|row| row.0)
    else {
        return Vec::new();
    };
    let mut columns = ["queue", "payload", "CPUs"].map(Column::words).to_vec();
    columns.extend(
        ["CPU ns in", "out", "sleeps", "preempted", "full", "empty", "batch", "load"].map(Column::numbers),
    );
    let mut table = Table::new(columns);
    for matrix in matrices.iter().filter(|matrix| matrix.capacity == middle) {
        for relation in Relation::ALL {
            let of = |cell: &&QueueCell<'_>| {
                let [from, to] = cell.pair();
                report.topology.relation(from, to) == relation && cell.rate_of_pair().is_some()
            };
            let Some(cell) = matrix.cells.iter().find(of) else { continue };
            let number = |key, value: Option<f64>, unit: DisplayUnit| {
                let source = Source::Cell { trial: cell.trial.spec.id(), key };
                Cell::number(value.map(|value| DisplayValue { number: Number::Point(value), unit, source }))
            };
            // Something that happens for some of the messages.
            let rare = |key, share: Option<f64>| {
                let is_small = share.is_some_and(|share| share < 0.0995);
                number(key, share, DisplayUnit::Decimals(if is_small { 3 } else { 2 }))
            };
            let [producer, consumer] = cell.cpu_ns();
            table.row([
                plain(matrix.queue).into(),
                plain(matrix.payload).into(),
                role_sentence(&cell.pair()).into(),
                number("cpu_ns_per_message_producer", producer, PLAIN),
                number("cpu_ns_per_message_consumer", consumer, PLAIN),
                rare("voluntary_switches_per_message", both(cell.voluntary())),
                rare("involuntary_switches_per_message", both(cell.involuntary())),
                rare("full_ratio", cell.full_ratio()),
                rare("empty_ratio", cell.empty_ratio()),
                number("mean_batch", cell.mean_batch(), DisplayUnit::Decimals(0)),
                number("cpu_load", cell.cpu_load(), DisplayUnit::Decimals(1)),
            ]);
        }
    }
    let about = format!(
        "Cost of a message at capacity {}: CPU time to put it in and take it out; sleeps and involuntary \
         switches of its threads; how often the queue was full or empty; messages taken between two times the queue was empty; CPUs busy.",
        grouped(middle as i64)
    );
    if table.rows.is_empty() {
        return Vec::new();
    }
    vec![Block::Prose(about.into()), Block::Table(table)]
}

/// How many messages the results rest on.
fn passed(matrices: &[QueueMatrix<'_>]) -> Option<String> {
    let cells = matrices.iter().flat_map(|matrix| &matrix.cells);
    let counts: Vec<u64> = cells.filter_map(|cell| cell.trial.counts.get(names::MESSAGES).copied()).collect();
    let (least, most) = (*counts.iter().min()?, *counts.iter().max()?);
    let words = |count: u64| match count {
        0..1_000_000 => grouped(count as i64),
        _ => format!("{} M", million(count as f64)),
    };
    let all = counts.iter().fold(0, |sum: u64, count| sum.saturating_add(*count));
    Some(format!(
        "The results rest on {} messages, {} to {} in each cell.",
        words(all),
        words(least),
        words(most)
    ))
}

/// What the diagonal says about switches between threads: its rate at small capacities is theirs.
fn switches(rate: &SwitchRate<'_>) -> String {
    let [low, high] = [rate.per_s.low, rate.per_s.high].map(|per_s| ns(per_s / 1e3));
    // A few passes have a range, and no interval.
    let (within, least) = match rate.per_s.is_sure() {
        true => (format!(" ({low} to {high})"), rate.per_s.low),
        false => (String::new(), rate.per_s.point),
    };
    // An interval that reaches to none says nothing of what one takes.
    let each = match least > 0.0 {
        true => format!(", and at most {} per switch, queue included", micros(1.0 / least)),
        false => String::new(),
    };
    format!(
        "CPU {} switches between the two threads {} thousand times per second{within} with {}, {}, capacity {}: {} \
         switches per message{each}.",
        rate.cpu,
        ns(rate.per_s.point / 1e3),
        plain(rate.queue),
        plain(rate.payload),
        grouped(rate.capacity as i64),
        times(rate.per_message),
    )
}

/// Seconds in microseconds.
fn micros(seconds: f64) -> String {
    format!("{} µs", ns(seconds * 1e6))
}

/// One CPU against two, in words.
fn balances(report: &RunReport, shape: &ShapeRates<'_>) -> Vec<String> {
    let mut sentences = Vec::new();
    for relation in relations(shape).into_iter().filter(|&of| of != Relation::SameCpu) {
        let known: Vec<(u64, Estimate, Balance)> = shape
            .rows
            .iter()
            .filter_map(|(capacity, _)| {
                let (ratio, balance) = shape.balance(*capacity, relation)?;
                Some((*capacity, ratio, balance))
            })
            .collect();
        if known.is_empty() {
            continue;
        }
        let at = |wanted: Balance| {
            let of: Vec<String> = known
                .iter()
                .filter(|(_, _, balance)| *balance == wanted)
                .map(|(capacity, ..)| grouped(*capacity as i64))
                .collect();
            (!of.is_empty()).then(|| of.join(", "))
        };
        let ratio = |(capacity, ratio, _): &(u64, Estimate, Balance)| {
            ratio.stated_reach(ratio.point)?;
            let [point, low, high] = [ratio.point, ratio.low, ratio.high].map(times);
            Some(format!("{point} × ({low} to {high}) at {}", grouped(*capacity as i64)))
        };
        let ratios: Vec<String> = known.iter().filter_map(ratio).collect();
        let mut verdicts: Vec<String> = (!ratios.is_empty()).then(|| ratios.join(", ")).into_iter().collect();
        for (balance, words) in [
            (Balance::One, "one CPU is faster at capacity"),
            (Balance::Two, "two are faster at capacity"),
            (Balance::Unknown, "cannot tell at capacity"),
        ] {
            verdicts.extend(at(balance).map(|capacities| format!("{words} {capacities}")));
        }
        sentences.push(format!(
            "{}, {}, {}: two CPUs against one: {}.",
            plain(shape.queue),
            plain(shape.payload),
            relation_words(relation, &report.topology),
            verdicts.join("; "),
        ));
    }
    sentences
}

/// A ratio with two significant digits.
fn times(ratio: f64) -> String {
    match ratio {
        ratio if ratio < 0.0995 => format!("{ratio:.3}"),
        ratio if ratio < 0.995 => format!("{ratio:.2}"),
        ratio if ratio < 9.95 => format!("{ratio:.1}"),
        ratio => format!("{ratio:.0}"),
    }
}

/// How many cells nothing was compared with.
fn left_out(shapes: &[ShapeRates<'_>]) -> Option<String> {
    let rates = || shapes.iter().flat_map(|shape| &shape.rows).flat_map(|(_, row)| row);
    let elsewhere: usize = rates().map(|rate| rate.elsewhere).sum();
    let all: usize = rates().map(|rate| rate.pairs).sum();
    (elsewhere > 0).then(|| {
        format!(
            "{elsewhere} of {} are left out of this comparison: the machine was in a different state than \
             for most cells of the same pair.",
            count(all as u64, "cell")
        )
    })
}

/// The queue that passes most, for each payload and relation.
fn winners(report: &RunReport, series: &SeriesReport) -> Vec<String> {
    // By payload and relation: who wins, and at which capacities.
    let mut found: Vec<([String; 2], Winners)> = Vec::new();
    for ranking in best::under_every_condition(report, series, names::PROBE) {
        let has_rate = ranking.unranked.iter().any(|(_, why)| *why == Unranked::TooFewPasses);
        if ranking.quantity.id != names::RATE || ranking.subjects.is_empty() && !has_rate {
            continue;
        }
        let (spec, name) = (&ranking.trial.spec, |index: usize| plain(&ranking.subjects[index].name));
        let (&[from, to], Some(payload), Some(capacity)) =
            (&spec.placement[..], spec.parameters.text("payload"), spec.parameters.number("capacity"))
        else {
            continue;
        };
        let winner = match &ranking.verdict {
            Verdict::Single => continue,
            Verdict::Alike => "all alike".to_owned(),
            Verdict::CannotTell(_) => "cannot tell".to_owned(),
            Verdict::Ordered { like_best, .. } => {
                let alike = best::alike(&ranking, like_best);
                name(0) + &alike.map_or_else(String::new, |alike| format!(" {}", fmt::sentence(&alike)))
            }
        };
        let mark = if ranking.subjects.first().is_some_and(|first| first.may_be_wrong) { "!" } else { "" };
        let place = [plain(payload), relation_words(report.topology.relation(from, to), &report.topology)];
        value_of(value_of(&mut found, place), winner).insert(capacity as i64, mark);
    }
    let sentence = |([payload, relation], winners): ([String; 2], Winners)| {
        let at = |(capacity, mark): (&i64, &&str)| format!("{}{mark}", grouped(*capacity));
        let all =
            |at_capacities: BTreeMap<i64, &str>| at_capacities.iter().map(at).collect::<Vec<_>>().join(", ");
        let winners = winners.into_iter().map(|(winner, at)| format!("{winner} at {}", all(at)));
        format!("Fastest for {payload}, {relation}: {}.", winners.collect::<Vec<_>>().join("; "))
    };
    found.into_iter().map(sentence).collect()
}

/// Who passes most, and at which capacities, with a mark where the value may be wrong.
type Winners = Vec<(String, BTreeMap<i64, &'static str>)>;

/// The value of a key, which is added where it is new.
fn value_of<K: PartialEq, V: Default>(all: &mut Vec<(K, V)>, key: K) -> &mut V {
    let known = all.iter().position(|(known, _)| *known == key).unwrap_or(all.len());
    if known == all.len() {
        all.push((key, V::default()));
    }
    &mut all[known].1
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretalk_model::CpuId;
    use coretalk_model::stats::Estimate;

    #[test]
    fn what_a_switch_takes_is_said_only_where_the_interval_bounds_it() {
        let per_s = |low: f64| Estimate { point: 1e5, low, high: 3e5, confidence: 0.95, effective_n: 8.0 };
        let said = |low: f64| {
            let (queue, payload, cpu) = ("mutex", "u64", CpuId(0));
            switches(&SwitchRate { queue, payload, capacity: 10, cpu, per_message: 2.0, per_s: per_s(low) })
        };
        assert!(
            said(5e4).ends_with("2.0 switches per message, and at most 20.0 µs per switch, queue included.")
        );
        assert!(said(0.0).ends_with("2.0 switches per message."), "{}", said(0.0));
    }

    #[test]
    fn payloads_that_tell_rows_apart_are_shown_on_any_terminal() {
        let shown_from = |payloads: &[&str]| payload_column(payloads.iter().copied(), 110).least_width;
        assert_eq!(
            [shown_from(&["u64", "u64"]), shown_from(&["u64", "bytes:64"]), shown_from(&[])],
            [110, 0, 110]
        );
    }
}
