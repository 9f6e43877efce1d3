//! Queues with batches of several sizes: what each passes, and at a rate how late the ends of a batch are.

use super::sides::mark;
use super::{million, payload_column, times};
use crate::RunReport;
use crate::blocks::{Block, Cell, Column, Table};
use crate::report::fmt::half_width;
use crate::report::text::{grouped, ns, plain};
use crate::report::trial_words::{cpus_words, median_width, placement_words};
use coretalk_model::queue::{BatchCurve, BatchStep, names};
use coretalk_model::series::TimeUnit;

/// From this width on a terminal shows everything.
const ROOMY: usize = 110;
/// From this width on it shows the delay of all messages beside that of the ends of a batch.
const BROAD: usize = 96;
/// Curves whose best batch is said in words; of more the table tells.
const MOST_SAID: usize = 8;
/// Curves that the sentence at the beginning of a screen names; of more it says nothing.
const MOST_IN_ANSWER: usize = 3;

/// A table of what passes, one of delays at a rate, and which batch passes most; nothing without batches.
pub(in crate::report) fn blocks(report: &RunReport, curves: &[BatchCurve<'_>]) -> Vec<Block<'static>> {
    let mut blocks = Vec::new();
    let (paced, free): (Vec<_>, Vec<_>) = curves.iter().partition(|curve| curve.rate_per_s.is_some());
    if !free.is_empty() {
        blocks.push(Block::Prose(
            "Million messages per second by batch: messages that the producer sends, and the consumer receives, at once. \
             Gain: how many times as many as with the smallest batch, with the range that both intervals allow. s: threads \
             share a CPU and poll instead of sleeping, which measures time slices; !: may be wrong."
                .to_owned(),
        ));
        blocks.extend([Block::Gap, Block::Table(rates(report, &free)), Block::Gap]);
        let best = free.iter().filter_map(|curve| gain_words(report, curve));
        blocks.extend(best.take(MOST_SAID).map(Block::Conclusion));
    }
    if !paced.is_empty() {
        blocks.push(Block::Prose(
            "Messages are due one by one at the rate, and a batch is sent when its last message is due. Delay of all \
             messages, where there is room, and of the first and the last of each batch, from when it was due until it was \
             received. !: may be wrong (an interval that is too wide is that of all)."
                .to_owned(),
        ));
        blocks.extend([Block::Gap, Block::Table(delays(&paced)), Block::Gap]);
    }
    blocks
}

/// Which batch passes most through each queue, in one sentence; `None` where they are sent at a rate, or are too many.
pub(in crate::report) fn answer(report: &RunReport, curves: &[BatchCurve<'_>]) -> Option<String> {
    if curves.len() > MOST_IN_ANSWER || curves.iter().any(|curve| curve.rate_per_s.is_some()) {
        return None;
    }
    let said = curves.iter().map(|curve| {
        let name = if curves.len() > 1 { title(report, curve) } else { plain(curve.queue) };
        match gain(curve) {
            Some(gain) => format!("{name}: {gain}"),
            None if curve.steps.iter().any(|step| curve.gain(step).is_some_and(|gain| gain.is_sure())) => {
                format!("{name}: larger batches are not shown to pass more")
            }
            None => format!("{name}: cannot tell which batch passes most"),
        }
    });
    Some(said.collect::<Vec<_>>().join("; "))
}

/// `spsc, u64, capacity 1 000; CPUs 0 → 1, same L3`.
pub fn title(report: &RunReport, curve: &BatchCurve<'_>) -> String {
    let capacity = grouped(curve.capacity as i64);
    let placed = placement_words(report, curve.placement);
    format!("{}, {}, capacity {capacity}; {placed}", plain(curve.queue), plain(curve.payload))
}

fn gain_words(report: &RunReport, curve: &BatchCurve<'_>) -> Option<String> {
    Some(format!("{}: {}.", title(report, curve), gain(curve)?))
}

/// The batch that is shown to gain most, and how much; `None` where no larger batch is shown to gain anything.
fn gain(curve: &BatchCurve<'_>) -> Option<String> {
    let (batch, gain) = curve.best()?;
    let smallest = curve.steps.first()?.batch;
    let than = if smallest == 1 { "single messages".to_owned() } else { format!("batches of {smallest}") };
    Some(format!(
        "batches of {} pass {} × as many as {than} ({} to {}), the largest gain that is sure",
        grouped(batch as i64),
        ratio(gain.point),
        ratio(gain.low),
        ratio(gain.high),
    ))
}

/// A gain, with two decimals up to ten times: one of a few percent is one, too.
fn ratio(gain: f64) -> String {
    if gain < 9.995 { format!("{gain:.2}") } else { times(gain) }
}

/// What tells a row from those of other curves.
fn whose(curves: &[&BatchCurve<'_>]) -> Vec<Column> {
    vec![
        Column::words("queue"),
        payload_column(curves.iter().map(|curve| curve.payload), ROOMY),
        Column::numbers("capacity"),
        Column::words("CPUs"),
        Column::numbers("batch").naming(),
    ]
}

fn of_whom(placed: String, curve: &BatchCurve<'_>, step: &BatchStep<'_>) -> Vec<Cell> {
    vec![
        plain(curve.queue).into(),
        plain(curve.payload).into(),
        grouped(curve.capacity as i64).into(),
        placed.into(),
        grouped(step.batch as i64).into(),
    ]
}

fn rates(report: &RunReport, curves: &[&BatchCurve<'_>]) -> Table {
    let mut columns = whose(curves);
    columns.extend([
        Column::numbers("messages").marked(),
        Column::numbers("±"),
        Column::numbers("gain").meaning("messages ÷ those with the smallest batch"),
    ]);
    let rows = curves.iter().flat_map(|curve| curve.steps.iter().map(move |step| (curve, step)));
    Table::new(columns).with(rows.map(|(curve, step)| {
        let rate = step.trial.values.get(names::RATE);
        let gain = curve.gain(step).map(|gain| match gain.is_sure() {
            true => format!("{} × ({} to {})", ratio(gain.point), ratio(gain.low), ratio(gain.high)),
            false => format!("{} × (no interval)", ratio(gain.point)),
        });
        let is_first = curve.steps.first().is_some_and(|first| first.batch == step.batch);
        let mut row = of_whom(cpus_words(report, curve.placement), curve, step);
        row.extend([
            rate.map_or(Cell::Unknown, |rate| Cell::Marked(million(rate.point), mark(step.trial))),
            Cell::known(rate.map(half_width)),
            if is_first { Cell::Blank } else { Cell::known(gain) },
        ]);
        row
    }))
}

fn delays(curves: &[&BatchCurve<'_>]) -> Table {
    let steps = || curves.iter().flat_map(|curve| curve.steps.iter().map(move |step| (curve, step)));
    let at = |step: &BatchStep<'_>, name: &str, share: f64| {
        step.trial.histogram(name).and_then(|of| of.telling_percentile_ns(share))
    };
    let medians = steps().flat_map(|(_, step)| names::OF_BATCH.map(|name| at(step, name, 0.5)));
    let unit = TimeUnit::of(medians.flatten());
    let mut columns = whose(curves);
    columns.extend([
        Column::numbers(format!("all p50 {}", unit.name)).marked().from_width(BROAD),
        Column::numbers("±").from_width(BROAD),
    ]);
    for end in ["first", "last"] {
        columns.extend([
            Column::numbers(format!("{end} p50 {}", unit.name)).marked(),
            Column::numbers("±"),
            Column::numbers("p99").marked(),
        ]);
    }
    columns.push(Column::numbers("reached").from_width(ROOMY).meaning("million messages per second"));
    Table::new(columns).with(steps().map(|(curve, step)| {
        // More words leave no room for the times.
        let cpus: Vec<String> = curve.placement.iter().map(ToString::to_string).collect();
        let mut row = of_whom(cpus.join(" → "), curve, step);
        let time = |name: &str, share: f64| {
            let known = at(step, name, share);
            known.map_or(Cell::Unknown, |value| Cell::Marked(ns(value / unit.ns), mark(step.trial)))
        };
        let median = |name: &'static str| {
            let width = at(step, name, 0.5).map(|_| median_width(step.trial, name));
            [time(name, 0.5), width.unwrap_or(Cell::Unknown)]
        };
        // What grade and doubts are of.
        row.extend(median(names::CORRECTED));
        for name in names::OF_BATCH {
            row.extend(median(name));
            row.push(time(name, 0.99));
        }
        row.push(Cell::known(step.trial.values.get(names::RATE).map(|rate| million(rate.point))));
        row
    }))
}
