//! Queues with several batch sizes: the throughput of each size and, at a fixed rate, the delay at the ends of a batch.

use super::payload_column;
use super::sides::mark;
use super::sweep::{chosen_count, titled};
use crate::blocks::value::{Arg, DisplayUnit, DisplayValue, Number, Operation, Sentence, Source, Statistic};
use crate::blocks::{Block, Cell, Column, Table};
use crate::trial_cells::{chosen, median_width, percentile, value, width};
use crate::trial_words::{cpus_sentence, role_sentence};
use coretalk_model::quantity::Unit;
use coretalk_model::queue::{BatchCurve, BatchGain, BatchStep, names};
use coretalk_model::run::RunReport;
use coretalk_model::series::TimeUnit;
use coretalk_model::stats::Estimate;

const WIDE_TERMINAL: usize = 110;
const MEDIUM_TERMINAL: usize = 96;
const MAX_PRINTED: usize = 8;
/// Maximum number of curves that the sentence at the top of a screen names; with more curves there is no sentence.
const MAX_IN_ANSWER: usize = 3;

/// A table of throughput, a table of delays at a rate, and the best batches; empty without batches.
pub(crate) fn blocks(report: &RunReport, curves: &[BatchCurve<'_>]) -> Vec<Block<'static>> {
    let mut blocks = Vec::new();
    let (paced, free): (Vec<_>, Vec<_>) = curves.iter().partition(|curve| curve.rate_per_s.is_some());
    if !free.is_empty() {
        blocks.push(Block::Prose(
            "Million messages per second by batch: messages that the producer sends, and the consumer receives, at once. \
             Gain: how many times as many as with the smallest batch, with the range that both intervals allow. s: threads \
             share a CPU and poll instead of sleeping, which measures time slices; !: may be wrong."
                .into(),
        ));
        blocks.extend([Block::Gap, Block::Table(rates(report, &free)), Block::Gap]);
        let best = free.iter().filter_map(|curve| best_sentence(report, curve));
        blocks.extend(best.take(MAX_PRINTED).map(Block::Conclusion));
    }
    if !paced.is_empty() {
        blocks.push(Block::Prose(
            "Messages are due one by one at the rate, and a batch is sent when its last message is due. Delay of all \
             messages, where there is room, and of the first and the last of each batch, from when it was due until it was \
             received. !: may be wrong (an interval that is too wide is that of all)."
                .into(),
        ));
        blocks.extend([Block::Gap, Block::Table(delays(&paced)), Block::Gap]);
    }
    blocks
}

/// The gain of each queue by larger batches, in one sentence; `None` if there are too many curves.
pub(crate) fn answer(report: &RunReport, curves: &[BatchCurve<'_>]) -> Option<Sentence> {
    let gain_of = |curve: &BatchCurve<'_>| {
        let name = match curves {
            [_] => Sentence::name(curve.queue),
            _ => title(report, curve),
        };
        let gain = match curve.best_gain() {
            BatchGain::Best(step, gain) => gain_sentence(curve, step, gain),
            BatchGain::NotShown => Sentence::new("larger batches are not shown to pass more"),
            BatchGain::Unknown => Sentence::new("cannot tell which batch passes most"),
        };
        Sentence::new("{name}: {gain}").with("name", name).with("gain", gain)
    };
    let gains = curves.iter().map(gain_of).collect();
    (curves.len() <= MAX_IN_ANSWER).then(|| Sentence::new("{gains}").with("gains", Arg::Parts(gains, "; ")))
}

fn title(report: &RunReport, curve: &BatchCurve<'_>) -> Sentence {
    titled(report, curve.queue, curve.payload, curve.capacity, curve.placement)
}

fn best_sentence(report: &RunReport, curve: &BatchCurve<'_>) -> Option<Sentence> {
    let BatchGain::Best(step, gain) = curve.best_gain() else { return None };
    Some(
        Sentence::new("{title}: {gain}.")
            .with("title", title(report, curve))
            .with("gain", gain_sentence(curve, step, gain)),
    )
}

fn gain_sentence(curve: &BatchCurve<'_>, step: &BatchStep<'_>, gain: Estimate) -> Sentence {
    let smallest = &curve.steps[0];
    let reference = match smallest.batch {
        1 => Sentence::new("single messages"),
        batch => Sentence::new("batches of {batch}").with("batch", chosen_count(batch, "batch")),
    };
    let sentence = Sentence::new(
        "batches of {batch} pass {gain} × as many as {than} ({low} to {high}), the largest gain that is sure",
    );
    let sentence = sentence.with("batch", chosen_count(step.batch, "batch")).with("than", reference);
    with_gain(sentence, curve, step, gain, |_| DisplayUnit::InSentence(Unit::Ratio))
}

fn with_gain(
    sentence: Sentence,
    curve: &BatchCurve<'_>,
    step: &BatchStep<'_>,
    gain: Estimate,
    unit: impl Fn(f64) -> DisplayUnit,
) -> Sentence {
    let [trial, smallest] = [step, &curve.steps[0]].map(|step| step.trial.spec.id());
    let rate = |trial, statistic| Source::Trial { trial, quantity: names::RATE, statistic, placements: 1 };
    let ratio = |number, of, over| DisplayValue {
        number: Number::Point(number),
        unit: unit(number),
        source: Operation::Ratio.on([rate(trial, of), rate(smallest, over)]),
    };
    sentence
        .with("gain", ratio(gain.point, Statistic::Estimate, Statistic::Estimate))
        .with("low", ratio(gain.low, Statistic::Low, Statistic::High))
        .with("high", ratio(gain.high, Statistic::High, Statistic::Low))
}

fn identity_columns(curves: &[&BatchCurve<'_>]) -> Vec<Column> {
    vec![
        Column::words("queue"),
        payload_column(curves.iter().map(|curve| curve.payload), WIDE_TERMINAL),
        Column::numbers("capacity"),
        Column::words("CPUs"),
        Column::numbers("batch").naming(),
    ]
}

fn identity_cells(placed: Sentence, curve: &BatchCurve<'_>, step: &BatchStep<'_>) -> Vec<Cell> {
    vec![
        Cell::name(curve.queue),
        Cell::name(curve.payload),
        chosen(step.trial, "capacity"),
        placed.into(),
        chosen(step.trial, "batch"),
    ]
}

fn rates(report: &RunReport, curves: &[&BatchCurve<'_>]) -> Table {
    let mut columns = identity_columns(curves);
    columns.extend([
        Column::numbers("messages").marked(),
        Column::numbers("±"),
        Column::numbers("gain").meaning("messages ÷ those with the smallest batch"),
    ]);
    let rows = curves.iter().flat_map(|curve| curve.steps.iter().map(move |step| (curve, step)));
    Table::new(columns).with(rows.map(|(curve, step)| {
        // Two decimals, because gains of a few percent count too.
        let decimals = |gain: f64| DisplayUnit::Decimals(if gain < 9.995 { 2 } else { 0 });
        let gain = curve.gain(step).map_or(Cell::Unknown, |gain| {
            let sentence = Sentence::new(match gain.is_sure() {
                true => "{gain} × ({low} to {high})",
                false => "{gain} × (no interval)",
            });
            with_gain(sentence, curve, step, gain, decimals).into()
        });
        let is_first = curve.steps.first().is_some_and(|first| first.batch == step.batch);
        let mut row = identity_cells(cpus_sentence(&report.topology, curve.placement), curve, step);
        row.extend([
            value(step.trial, names::RATE, DisplayUnit::Millions).marked(mark(step.trial)),
            width(step.trial, names::RATE),
            if is_first { Cell::Blank } else { gain },
        ]);
        row
    }))
}

fn delays(curves: &[&BatchCurve<'_>]) -> Table {
    let steps = || curves.iter().flat_map(|curve| curve.steps.iter().map(move |step| (curve, step)));
    let percentile_at = |step: &BatchStep<'_>, name: &str, share: f64| {
        step.trial.histogram(name).and_then(|histogram| histogram.supported_percentile_ns(share))
    };
    let medians = steps().flat_map(|(_, step)| names::OF_BATCH.map(|name| percentile_at(step, name, 0.5)));
    let unit = TimeUnit::for_values(medians.flatten());
    let p50 = |title: &'static str| Sentence::new(title).with("unit", unit.name);
    let mut columns = identity_columns(curves);
    columns.extend([
        Column::numbers(p50("all p50 {unit}")).marked().from_width(MEDIUM_TERMINAL),
        Column::numbers("±").from_width(MEDIUM_TERMINAL),
    ]);
    for end in ["first p50 {unit}", "last p50 {unit}"] {
        columns.extend([
            Column::numbers(p50(end)).marked(),
            Column::numbers("±"),
            Column::numbers("p99").marked(),
        ]);
    }
    columns.push(Column::numbers("reached").from_width(WIDE_TERMINAL).meaning("million messages per second"));
    Table::new(columns).with(steps().map(|(curve, step)| {
        let mut row = identity_cells(role_sentence(curve.placement), curve, step);
        let time = |name: &'static str, share: f64| {
            percentile(step.trial, name, share, DisplayUnit::OfColumn(unit.ns)).marked(mark(step.trial))
        };
        let median = |name: &'static str| {
            let width = percentile_at(step, name, 0.5).map(|_| median_width(step.trial, name));
            [time(name, 0.5), width.unwrap_or(Cell::Unknown)]
        };
        // Grade and doubts refer to this distribution.
        row.extend(median(names::CORRECTED));
        for name in names::OF_BATCH {
            row.extend(median(name));
            row.push(time(name, 0.99));
        }
        row.push(value(step.trial, names::RATE, DisplayUnit::Millions));
        row
    }))
}
