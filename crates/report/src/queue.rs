//! Throughput of queues: a map for each capacity, rates by relation, costs, and conclusions in words.

pub mod batches;
mod capacities;
mod maps;
pub mod sides;
pub mod sweep;

use super::best;
use super::trial_cells::{MICROS, PLAIN};
use super::trial_words::{relation_sentence, role_sentence};
use super::words;
use crate::blocks::value::{
    Arg, DisplayUnit, DisplayValue, MapSource, Number, Operation, Sentence, Source, Statistic, pointer,
};
use crate::blocks::{Block, Cell, Column, Table};
pub use capacities::not_drawn;
use capacities::over_capacities;
use coretalk_model::latency::Regime;
use coretalk_model::quantity::Unit;
use coretalk_model::queue::{
    Balance, QueueCell, QueueMatrix, REPRESENTATIVES, ShapeRates, SwitchRate, both, matrices, names, rates,
    switch_rate, verification,
};
use coretalk_model::run::{RunReport, SeriesReport};
use coretalk_model::series::{RankingVerdict, concurrency_margin};
use coretalk_model::stats::Estimate;
use coretalk_model::{Flag, Relation};
use std::collections::BTreeMap;
use sweep::chosen_count;

pub(super) fn blocks<'a>(report: &'a RunReport, series: &'a SeriesReport) -> Vec<Block<'a>> {
    let matrices = matrices(&series.result);
    if matrices.is_empty() {
        return Vec::new();
    }
    let shapes = rates(&matrices, &report.topology);
    let at_once = match &series.result.regime {
        Regime::Serial => Sentence::new(""),
        Regime::Parallel { pairs, .. } => words::pairs_at_once(" Up to {pairs} at the same time.", *pairs),
    };
    let cells: Vec<_> = matrices.iter().flat_map(|matrix| &matrix.cells).collect();
    let cells: Vec<_> =
        cells.into_iter().filter_map(|cell| Some((cell.rate_of_pair()?, cell.trial.flags))).collect();
    let wide_cells: Vec<_> =
        cells.iter().filter(|(_, flags)| !flags.may_be_wrong() && flags.contains(Flag::WideCi)).collect();
    let wide: Vec<f64> = wide_cells.iter().map(|(rate, _)| rate.relative_reach()).collect();
    let mark = if cells.iter().any(|(_, flags)| flags.may_be_wrong()) { "; !: may be wrong" } else { "" };
    let sound = cells.iter().filter(|(_, flags)| !flags.may_be_wrong()).count() as u64;
    let precision = Number::Point(series.settings.precision);
    let precision = DisplayValue::bare(precision, Source::Option("precision")).in_unit(Unit::Share);
    let widths = words::widths(precision, "", &wide, sound, MapSource::Queues);
    let caption = Sentence::new(
        "Million messages per second; row: CPU of the producer, column: CPU of the consumer, diagonal: both on one \
         CPU.{together} {widths}{mark}",
    );
    let caption = caption.with("together", at_once).with("widths", widths.capitalized()).with("mark", mark);
    let mut blocks = vec![Block::drawing(move |style| maps::every_map(report, series, &caption, style))];
    // Several plots would fill several screens. An HTML page has a chart for each queue.
    if let [shape] = &shapes[..] {
        blocks.extend(over_capacities(shape, &report.topology));
    }
    blocks.extend(tables_of(report, series, &matrices, &shapes));
    blocks.push(Block::Gap);
    blocks.extend(conclusions(report, series, &matrices, &shapes));
    blocks
}

/// The column of payloads. A terminal narrower than `min_width` omits it if all payloads are equal.
fn payload_column<'a>(mut payloads: impl Iterator<Item = &'a str>, min_width: usize) -> Column {
    let first = payloads.next();
    let differ = payloads.any(|payload| Some(payload) != first);
    Column::words("payload").from_width(if differ { 0 } else { min_width })
}

/// Rates by relation and the costs of a message, for a page with the maps elsewhere; empty without matrices.
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
        vec![Block::Prose(Sentence::new(about)), Block::Table(by_relation(report, shapes)), Block::Gap];
    blocks.extend(costs(report, matrices, shapes));
    if let Some(curve) = &series.result.load {
        blocks.extend([Block::Gap, Block::drawing(move |style| super::load::drawing(curve, style))]);
    }
    blocks
}

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
        sentences.push(Sentence::new(
            "s: both threads poll instead of sleeping and share one CPU, so they hand over once per time \
             slice: this measures the scheduler, not the pair.",
        ));
    }
    if shapes.iter().flat_map(|shape| &shape.rows).flat_map(|(_, row)| row).any(|rate| rate.unclaimed) {
        sentences.push(Sentence::new(
            "u: unclaimed; other threads of the runtime used more than half of the CPU time, so its speed is that of \
             the runtime and not of the pair.",
        ));
    }
    sentences.extend(message_counts(matrices));
    sentences.extend(switch_rate(matrices).iter().map(switch_sentence));
    sentences.extend(shapes.iter().flat_map(|shape| balances(report, shape)));
    sentences.extend(winners(report, series));
    sentences.extend(left_out(shapes));
    let all_cells = series.settings.cpus.len().pow(2);
    let sampled = matrices.iter().any(|matrix| matrix.cells.len() < all_cells)
        && series.settings.options.text("pairs") != Some("listed");
    let checked = verification(matrices, &report.topology, REPRESENTATIVES).filter(|_| sampled);
    sentences.extend(checked.map(|checked| {
        let bound = DisplayValue::bare(Number::Point(checked.bound), Source::Method).in_unit(Unit::Share);
        Sentence::new(
            "Not every pair was measured. Of {cells} other cells drawn at random, {beside} differ from what their \
             relation predicts, so at most {bound} of all cells do (95 %).",
        )
        .with("cells", DisplayValue::listed(checked.cells))
        .with("beside", DisplayValue::listed(checked.outside))
        .with("bound", bound)
    }));
    let margin = concurrency_margin(&series.settings);
    let first = report.maps().len() + report.imitated().len();
    let regime = words::regime(&series.result.regime, first, margin, &report.topology);
    regime.into_iter().chain(sentences.into_iter().map(Block::Prose)).collect()
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
    columns.extend(capacities.iter().map(|capacity| Column::numbers(capacity_alone(*capacity)).marked()));
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
                Cell::name(shape.queue),
                Cell::name(shape.payload),
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
    let map = MapSource::Queue { queue, payload, capacity };
    Source::Pairs { map, relation, classes: None, statistic }
}

fn relations(shape: &ShapeRates<'_>) -> Vec<Relation> {
    Relation::ALL
        .into_iter()
        .filter(|&relation| shape.rows.iter().flat_map(|(_, row)| row).any(|rate| rate.relation == relation))
        .collect()
}

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
            let is_in_relation = |cell: &&QueueCell<'_>| {
                let [from, to] = cell.pair();
                report.topology.relation(from, to) == relation && cell.rate_of_pair().is_some()
            };
            let Some(cell) = matrix.cells.iter().find(is_in_relation) else { continue };
            let number = |key, value: Option<f64>, unit: DisplayUnit| {
                let source = Source::of_any(cell.trial.spec.id(), pointer!("/{key}"));
                Cell::number(value.map(|value| DisplayValue { number: Number::Point(value), unit, source }))
            };
            let ratio_cell = |key, share: Option<f64>| {
                let is_small = share.is_some_and(|share| share < 0.0995);
                number(key, share, DisplayUnit::Decimals(if is_small { 3 } else { 2 }))
            };
            let [producer, consumer] = cell.cpu_ns();
            table.row([
                Cell::name(matrix.queue),
                Cell::name(matrix.payload),
                role_sentence(&cell.pair()).into(),
                number("cpu_ns_per_message_producer", producer, PLAIN),
                number("cpu_ns_per_message_consumer", consumer, PLAIN),
                ratio_cell("voluntary_switches_per_message", both(cell.voluntary())),
                ratio_cell("involuntary_switches_per_message", both(cell.involuntary())),
                ratio_cell("full_ratio", cell.full_ratio()),
                ratio_cell("empty_ratio", cell.empty_ratio()),
                number("mean_batch", cell.mean_batch(), DisplayUnit::Decimals(0)),
                number("cpu_load", cell.cpu_load(), DisplayUnit::Decimals(1)),
            ]);
        }
    }
    let about = Sentence::new(
        "Cost of a message at capacity {capacity}: CPU time to put it in and take it out; sleeps and involuntary \
         switches of its threads; how often the queue was full or empty; messages taken between two times the queue was empty; CPUs busy.",
    )
    .with("capacity", chosen_count(middle, "capacity"));
    if table.rows.is_empty() {
        return Vec::new();
    }
    vec![Block::Prose(about), Block::Table(table)]
}

fn message_counts(matrices: &[QueueMatrix<'_>]) -> Option<Sentence> {
    let cells = matrices.iter().flat_map(|matrix| &matrix.cells);
    let of_cell = |cell: &QueueCell<'_>| {
        let source = Source::of_any(cell.trial.spec.id(), "/n");
        Some((*cell.trial.counts.get(names::MESSAGES)?, source))
    };
    let counts: Vec<(u64, Source)> = cells.filter_map(of_cell).collect();
    let (least, most) = (counts.iter().min_by_key(|it| it.0)?, counts.iter().max_by_key(|it| it.0)?);
    let messages = |(count, source): &(u64, Source)| {
        let unit = if *count < 1_000_000 { PLAIN } else { DisplayUnit::Letter };
        DisplayValue { number: Number::Count(*count), unit, source: source.clone() }
    };
    let all = counts.iter().fold(0, |sum: u64, (count, _)| sum.saturating_add(*count));
    let sources: Vec<Source> = counts.iter().map(|(_, source)| source.clone()).collect();
    Some(
        Sentence::new("The results rest on {all} messages, {least} to {most} in each cell.")
            .with("all", messages(&(all, Operation::Sum.on(sources))))
            .with("least", messages(least))
            .with("most", messages(most)),
    )
}

/// What the diagonal shows about thread switches. They determine the rate on one CPU at small capacities.
fn switch_sentence(rate: &SwitchRate<'_>) -> Sentence {
    let of_cell = |field| Source::of_any(rate.trial, field);
    let per_message = of_cell("/switches_per_message");
    let thousands = |per_s: f64, messages: Source| DisplayValue {
        number: Number::Point(per_s),
        unit: DisplayUnit::OfColumn(1e3),
        source: Operation::Product.on([messages, per_message.clone()]),
    };
    // A few passes have a range but no interval.
    let is_sure = rate.per_s.is_sure();
    let within = match is_sure {
        true => Sentence::new(" ({low} to {high})")
            .with("low", thousands(rate.per_s.low, of_cell("/ci/0")))
            .with("high", thousands(rate.per_s.high, of_cell("/ci/1"))),
        false => Sentence::new(""),
    };
    let least = match is_sure {
        true => thousands(rate.per_s.low, of_cell("/ci/0")),
        false => thousands(rate.per_s.point, of_cell("/median")),
    };
    // If the interval includes zero, the time of a switch has no upper bound.
    let each = match least.number {
        Number::Point(per_s) if per_s > 0.0 => {
            let most = DisplayValue {
                number: Number::Point(1e9 / per_s),
                unit: MICROS,
                source: Operation::Ratio.on([Source::Constant(1e9), least.source]),
            };
            Sentence::new(", and at most {most} µs per switch, queue included").with("most", most)
        }
        _ => Sentence::new(""),
    };
    Sentence::new(
        "CPU {cpu} switches between the two threads {rate} thousand times per second{within} with {queue}, {payload}, \
         capacity {capacity}: {per_message} switches per message{each}.",
    )
    .with("cpu", rate.cpu)
    .with("rate", thousands(rate.per_s.point, of_cell("/median")))
    .with("within", within)
    .with_name("queue", rate.queue)
    .with_name("payload", rate.payload)
    .with("capacity", chosen_count(rate.capacity, "capacity"))
    .with("per_message", times(rate.per_message, per_message))
    .with("each", each)
}

fn balances(report: &RunReport, shape: &ShapeRates<'_>) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    for relation in relations(shape).into_iter().filter(|&relation| relation != Relation::SameCpu) {
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
        let capacities_with = |wanted: Balance, template: &'static str| {
            let matching = known.iter().filter(|(_, _, balance)| *balance == wanted);
            let matching: Vec<Sentence> = matching.map(|(capacity, ..)| capacity_alone(*capacity)).collect();
            (!matching.is_empty())
                .then(|| Sentence::new(template).with("capacities", Arg::Parts(matching, ", ")))
        };
        let ratio = |(capacity, ratio, _): &(u64, Estimate, Balance)| {
            ratio.stated_reach(ratio.point)?;
            let number = |number, [two, one]: [Statistic; 2]| {
                let source = |(relation, statistic)| rate_source(shape, *capacity, relation, statistic);
                times(number, Operation::Ratio.on([(relation, two), (Relation::SameCpu, one)].map(source)))
            };
            let [low, median, high] = [Statistic::Low, Statistic::Percentile(0.5), Statistic::High];
            Some(
                Sentence::new("{point} × ({low} to {high}) at {capacity}")
                    .with("point", number(ratio.point, [median, median]))
                    .with("low", number(ratio.low, [low, high]))
                    .with("high", number(ratio.high, [high, low]))
                    .with("capacity", chosen_count(*capacity, "capacity")),
            )
        };
        let ratios: Vec<Sentence> = known.iter().filter_map(ratio).collect();
        let ratios =
            (!ratios.is_empty()).then(|| Sentence::new("{ratios}").with("ratios", Arg::Parts(ratios, ", ")));
        let verdicts = [
            (Balance::One, "one CPU is faster at capacity {capacities}"),
            (Balance::Two, "two are faster at capacity {capacities}"),
            (Balance::Unknown, "cannot tell at capacity {capacities}"),
        ];
        let verdicts = ratios
            .into_iter()
            .chain(verdicts.into_iter().filter_map(|(balance, words)| capacities_with(balance, words)));
        sentences.push(
            Sentence::new("{queue}, {payload}, {relation}: two CPUs against one: {verdicts}.")
                .with_name("queue", shape.queue)
                .with_name("payload", shape.payload)
                .with("relation", relation_sentence(relation, &report.topology))
                .with("verdicts", Arg::Parts(verdicts.collect(), "; ")),
        );
    }
    sentences
}

fn capacity_alone(capacity: u64) -> Sentence {
    Sentence::new("{capacity}").with("capacity", chosen_count(capacity, "capacity"))
}

fn times(ratio: f64, source: Source) -> DisplayValue {
    let decimals = match ratio {
        ratio if ratio < 0.0995 => 3,
        ratio if ratio < 0.995 => 2,
        ratio if ratio < 9.95 => 1,
        _ => 0,
    };
    DisplayValue { number: Number::Point(ratio), unit: DisplayUnit::Decimals(decimals), source }
}

fn left_out(shapes: &[ShapeRates<'_>]) -> Option<Sentence> {
    let rates = || shapes.iter().flat_map(|shape| &shape.rows).flat_map(|(_, row)| row);
    let elsewhere: usize = rates().map(|rate| rate.elsewhere).sum();
    let all = rates().map(|rate| rate.pairs).sum();
    (elsewhere > 0).then(|| {
        Sentence::pluralized(
            "{elsewhere} of {number} cell{s} are left out of this comparison: the machine was in a different state than \
             for most cells of the same pair.",
            DisplayValue::listed(all),
        )
        .with("elsewhere", DisplayValue::listed(elsewhere))
    })
}

fn winners(report: &RunReport, series: &SeriesReport) -> Vec<Sentence> {
    let mut found: Vec<((String, Relation), Winners)> = Vec::new();
    for ranking in best::under_every_condition(report, series, names::PROBE) {
        let has_rate = ranking.unranked.iter().any(|(_, why)| why.is_unsure());
        if ranking.quantity.id != names::RATE || ranking.subjects.is_empty() && !has_rate {
            continue;
        }
        let spec = &ranking.trial.spec;
        let (&[from, to], Some(payload), Some(capacity)) =
            (&spec.placement[..], spec.parameters.text("payload"), spec.parameters.number("capacity"))
        else {
            continue;
        };
        let winner = match &ranking.verdict {
            RankingVerdict::Single => continue,
            RankingVerdict::Alike => Sentence::new("all alike"),
            RankingVerdict::CannotTell(_) => Sentence::new("cannot tell"),
            RankingVerdict::Ordered { like_best, .. } => match best::alike(&ranking, like_best) {
                Some(alike) => Sentence::new("{name} {alike}").with("alike", alike),
                None => Sentence::new("{name}"),
            }
            .with_name("name", &ranking.subjects[0].name),
        };
        let mark = if ranking.subjects.first().is_some_and(|first| first.may_be_wrong) { "!" } else { "" };
        let place = (payload.to_owned(), report.topology.relation(from, to));
        entry_or_default(entry_or_default(&mut found, place), winner).insert(capacity as u64, mark);
    }
    let sentence = |((payload, relation), winners): ((String, Relation), Winners)| {
        let marked = |(capacity, mark): (u64, &'static str)| {
            let capacity = chosen_count(capacity, "capacity");
            Sentence::new("{capacity}{mark}").with("capacity", capacity).with("mark", mark)
        };
        let winner = |(winner, capacities): (Sentence, BTreeMap<u64, &'static str>)| {
            let all = Arg::Parts(capacities.into_iter().map(marked).collect(), ", ");
            Sentence::new("{winner} at {all}").with("winner", winner).with("all", all)
        };
        Sentence::new("Fastest for {payload}, {relation}: {winners}.")
            .with_name("payload", &payload)
            .with("relation", relation_sentence(relation, &report.topology))
            .with("winners", Arg::Parts(winners.into_iter().map(winner).collect(), "; "))
    };
    found.into_iter().map(sentence).collect()
}

/// Winners and the capacities at which they win, each with a mark if the value may be wrong.
type Winners = Vec<(Sentence, BTreeMap<u64, &'static str>)>;

fn entry_or_default<K: PartialEq, V: Default>(all: &mut Vec<(K, V)>, key: K) -> &mut V {
    let known = all.iter().position(|(known, _)| *known == key).unwrap_or(all.len());
    if known == all.len() {
        all.push((key, V::default()));
    }
    &mut all[known].1
}

#[cfg(test)]
mod tests {
    use super::super::fmt;
    use super::*;
    use coretalk_model::CpuId;
    use coretalk_model::series::TrialId;
    use coretalk_model::stats::Estimate;

    #[test]
    fn switch_time_is_stated_only_if_the_interval_bounds_it() {
        for (low, end) in [
            (5e4, "2.0 switches per message, and at most 20.0 µs per switch, queue included."),
            (0.0, "2.0 switches per message."),
        ] {
            let text = fmt::sentence(&switch_sentence(&SwitchRate {
                queue: "mutex",
                payload: "u64",
                capacity: 10,
                cpu: CpuId(0),
                trial: TrialId(0),
                per_message: 2.0,
                per_s: Estimate { point: 1e5, low, high: 3e5, confidence: 0.95, effective_n: 8.0 },
            }));
            assert!(text.ends_with(end), "{text}");
        }
    }

    #[test]
    fn payloads_that_distinguish_rows_are_always_shown() {
        let shown_from = |payloads: &[&str]| payload_column(payloads.iter().copied(), 110).least_width;
        assert_eq!([&["u64", "u64"][..], &["u64", "bytes:64"], &[]].map(shown_from), [110, 0, 110]);
    }
}
