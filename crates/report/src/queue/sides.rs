//! A queue with several numbers of producers and consumers: a map of its throughput, and a table of fairness.

use super::sweep::chosen_count;
use crate::blocks::value::{Arg, DisplayUnit, DisplayValue, Number, Sentence, Source, Statistic, pointer};
use crate::blocks::{Block, Cell, Column, Drawing, DrawnNumber, Table};
use crate::fmt;
use crate::palette::{self, Scale};
use crate::style::Style;
use crate::text::{columns, right};
use crate::trial_cells::{self, PERCENT};
use crate::trial_words::sides_sentence;
use coretalk_model::Flag;
use coretalk_model::queue::{SideGrid, names};
use coretalk_model::series::TrialResult;
use std::ops::Range;

const MEDIUM_TERMINAL: usize = 96;
const WIDE_TERMINAL: usize = 130;
const MAX_SHARES: usize = 8;

/// A map and a table for each queue with several producers or consumers, and one table of the other queues.
pub(crate) fn blocks(grids: Vec<SideGrid<'_>>) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    if !grids.is_empty() {
        blocks.push(Block::Prose(
            "Million messages per second by numbers of producers and consumers. Fair: messages of the one that had fewest \
             ÷ an equal share (1: all had as many). Where there is room: share of the one that had most, and of each of up to \
             eight (JSON has all). Each is a median over passes by itself, so that shares need not add up. s: threads share CPUs and poll instead of sleeping, which measures time slices; !: may be wrong."
                .into(),
        ));
    }
    let (grids, single): (Vec<_>, Vec<_>) = grids.into_iter().partition(SideGrid::has_several);
    if !single.is_empty() {
        let placed = single.iter().flat_map(|grid| &grid.trials).find_map(|trial| sides_sentence(trial));
        blocks.push(Block::Gap);
        blocks.extend(placed.map(Block::Heading));
        blocks.push(Block::Table(table(&single, true)));
    }
    for grid in grids {
        let table = table(std::slice::from_ref(&grid), false);
        blocks.extend([Block::Gap, Block::Heading(title(&grid)), Block::Table(table), Block::Gap]);
        blocks.push(Block::drawing(move |style| map(&grid, style)));
    }
    blocks
}

/// A title: `mutex, u64, capacity 100`.
pub fn title(grid: &SideGrid<'_>) -> Sentence {
    Sentence::new("{queue}, {payload}, capacity {capacity}")
        .with_name("queue", grid.queue)
        .with_name("payload", grid.payload)
        .with("capacity", chosen_count(grid.capacity, "capacity"))
}

/// One row per combination of producers and consumers, named by these numbers or, if `by_queue`, by the queue.
fn table(grids: &[SideGrid<'_>], by_queue: bool) -> Table {
    let side_columns = |fair: &'static str| {
        [
            Column::numbers(fair),
            Column::numbers("largest").from_width(MEDIUM_TERMINAL),
            Column::numbers("shares %").from_width(WIDE_TERMINAL),
        ]
    };
    let mut columns = match by_queue {
        true => vec![
            Column::words("queue"),
            super::payload_column(grids.iter().map(|grid| grid.payload), MEDIUM_TERMINAL),
            Column::numbers("capacity").naming(),
        ],
        false => vec![Column::numbers("producers"), Column::numbers("consumers").naming()],
    };
    columns.extend([Column::numbers("messages").marked(), Column::numbers("±")]);
    columns.extend(side_columns("fair producers").into_iter().chain(side_columns("fair consumers")));
    let mut table = Table::new(columns);
    let combinations = |grid: &SideGrid<'_>| {
        let [producers, consumers] = grid.sides.clone();
        producers.into_iter().flat_map(move |p| consumers.clone().into_iter().map(move |c| [p, c]))
    };
    let rows = grids.iter().flat_map(|grid| combinations(grid).map(move |ends| (grid, ends)));
    for (grid, [producers, consumers]) in rows {
        let Some(trial) = grid.at([producers, consumers]) else { continue };
        let mut row: Vec<Cell> = match by_queue {
            true => {
                vec![Cell::name(grid.queue), Cell::name(grid.payload), trial_cells::chosen(trial, "capacity")]
            }
            false => vec![trial_cells::chosen(trial, "producers"), trial_cells::chosen(trial, "consumers")],
        };
        row.extend([
            trial_cells::value(trial, names::RATE, DisplayUnit::Millions).marked(mark(trial)),
            trial_cells::width(trial, names::RATE),
        ]);
        for (side, ends) in [producers, consumers].into_iter().enumerate() {
            let if_several = |cell: Cell| if ends > 1 { cell } else { Cell::Blank };
            // The half width is absolute: a share of zero has no relative width.
            let (name, decimals) = (names::FAIRNESS[side], DisplayUnit::Decimals(2));
            let estimate = trial.values.get(name).map(|estimate| Number::Estimate(*estimate));
            row.push(if_several(trial_cells::number(trial, name, Statistic::Estimate, estimate, decimals)));
            row.push(if_several(trial_cells::value(trial, names::LARGEST[side], PERCENT)));
            let first = side * producers as usize;
            let is_listed = ends as usize <= MAX_SHARES;
            row.push(match is_listed {
                true => {
                    if_several(shares(trial, first..first + ends as usize).map_or(Cell::Unknown, Cell::from))
                }
                false => Cell::Blank,
            });
        }
        table.row(row);
    }
    table
}

fn shares(trial: &TrialResult, roles: Range<usize>) -> Option<Sentence> {
    let share = |role: usize| {
        let share = trial.of_roles.get(role)?.get(names::SHARE)?.point;
        let source = Source::of_any(trial.spec.id(), pointer!("/of_roles/{role}/values/{}", names::SHARE));
        let number = Number::Point(share);
        Some(
            Sentence::new("{share}")
                .with("share", DisplayValue { number, unit: DisplayUnit::Percents, source }),
        )
    };
    let shares = roles.map(share).collect::<Option<Vec<_>>>()?;
    Some(Sentence::new("{shares}").with("shares", Arg::Parts(shares, " ")))
}

/// The mark after a number.
pub fn mark(trial: &TrialResult) -> Option<char> {
    match trial.flags.contains(Flag::SharedSpin) {
        true => Some('s'),
        false => trial.flags.may_be_wrong().then_some('!'),
    }
}

/// Colours by the time of a message, as in maps of pairs, so that fast cells look the same.
pub fn scale(grid: &SideGrid<'_>) -> Option<Scale> {
    let rates = grid.trials.iter().filter_map(|trial| trial.values.get(names::RATE));
    Scale::over(rates.map(|rate| 1e9 / rate.point))
}

fn map(grid: &SideGrid<'_>, style: &Style) -> Drawing {
    let [producers, consumers] = &grid.sides;
    let rate = |ends| grid.at(ends).and_then(|trial| Some((trial, trial.values.get(names::RATE)?.point)));
    let value = |trial, rate| {
        trial_cells::display_value(
            trial,
            names::RATE,
            Statistic::Estimate,
            Number::Point(rate),
            DisplayUnit::Millions,
        )
    };
    let text = |ends| {
        rate(ends).map_or("· ".to_owned(), |(trial, rate)| {
            format!("{}{}", fmt::value(&value(trial, rate)), mark(trial).unwrap_or(' '))
        })
    };
    let all_ends = || producers.iter().flat_map(|p| consumers.iter().map(move |c| [*p, *c]));
    let width = all_ends().map(|ends| columns(&text(ends))).max().unwrap_or(2).max(4) + 1;
    let name = "producers ↓ consumers →";
    let head: String = consumers.iter().map(|count| right(&count.to_string(), width - 1) + " ").collect();
    let mut lines = vec![format!(" {name} {head}").trim_end().to_owned()];
    let scale = scale(grid);
    for count in producers {
        let mut line = format!(" {} ", right(&count.to_string(), columns(name)));
        for other in consumers {
            let padded = right(&text([*count, *other]), width);
            match (rate([*count, *other]), scale) {
                (Some((_, rate)), Some(scale)) => {
                    line.push_str(&palette::on(style.depth, scale.position(1e9 / rate), &padded));
                }
                _ => line.push_str(&padded),
            }
        }
        lines.push(line.trim_end().to_owned());
    }
    let drawn = |(trial, rate)| DrawnNumber { value: value(trial, rate), doubtful: mark(trial).is_some() };
    let numbers = all_ends().filter_map(rate).map(drawn).collect();
    Drawing { lines, numbers, unit: "messages per second".to_owned(), ..Drawing::default() }
}
