//! The map as pixels of half a character's height, or as glyphs that grow denser.

use super::axis::{Axis, bar_levels};
use super::{HeatMap, MapFormat, Style};
use crate::report::ColorDepth;
use crate::report::palette::{self, Scale, Steps};
use crate::report::text::{columns, flow, left, right, short_ns};
use coretalk_model::latency::summary::{Table, TableCell, table};
use coretalk_model::{CpuId, Level};

/// Beyond so many bars the picture is a fence; the colours show the groups then.
const MOST_BARS: usize = 8;

/// The lines, and how much of the map shares a pixel.
pub(super) fn draw(map: &HeatMap<'_>, style: &Style) -> (Vec<String>, MapFormat) {
    let gutter = map.rows.iter().flatten().map(|cpu| cpu.to_string().len()).max().unwrap_or(1).max(3) + 2;
    let (axis, each) = fitting(map, style.width.saturating_sub(gutter).max(4));
    match style.depth {
        ColorDepth::None => {
            let rows = if axis.parts.len() > 1 { 2 * each } else { each };
            (shaded(map, style, &axis, gutter), MapFormat::Pixels { rows, columns: each })
        }
        _ => (half_blocks(map, style, &axis, gutter), MapFormat::Pixels { rows: each, columns: each }),
    }
}

/// The finest axis that fits: as few rows in a pixel as the width allows, with bars of the finest level that still
/// leaves room. A pixel never reaches over the end of a group that is larger than itself.
fn fitting(map: &HeatMap<'_>, width: usize) -> (Axis, usize) {
    let levels = bar_levels(&map.rows, map.topology);
    for each in 1..=map.rows.len() {
        let keep = levels.iter().copied().flatten().find(|&level| largest(map, level) >= each);
        for &level in levels.iter().filter(|&&level| level.is_none() || level >= keep) {
            let axis = Axis::new(&map.rows, map.topology, each, keep, level);
            if axis.parts.len() + axis.bar_count() <= width && axis.bar_count() <= MOST_BARS {
                return (axis, each);
            }
        }
    }
    (Axis::new(&map.rows, map.topology, map.rows.len(), None, None), map.rows.len())
}

fn largest(map: &HeatMap<'_>, level: Level) -> usize {
    let rows = Axis::new(&map.rows, map.topology, 1, None, Some(level));
    rows.runs().iter().map(ExactSizeIterator::len).max().unwrap_or(0)
}

fn half_blocks(map: &HeatMap<'_>, style: &Style, axis: &Axis, gutter: usize) -> Vec<String> {
    let cells = table(map.readings, &axis.parts, &axis.parts);
    let Some(tones) = Tones::of(&cells, style.depth) else {
        return vec![format!("{}nothing measured yet", " ".repeat(gutter))];
    };
    let position = |cell: TableCell| cell.median_ns.map(|ns| tones.position(ns));
    let mut lines = vec![heading(axis, gutter)];
    for run in axis.runs() {
        if run.start > 0 {
            lines.push(bar(axis, gutter));
        }
        for upper in run.clone().step_by(2) {
            let mut line = label(&axis.parts[upper], gutter);
            for column in 0..axis.parts.len() {
                line.push_str(if axis.bars[column] { "│" } else { "" });
                let above = cells.get(upper, column);
                let below =
                    if upper + 1 < run.end { cells.get(upper + 1, column) } else { TableCell::default() };
                if position(above).is_none() && position(below).is_none() {
                    line.push_str(if above.missing + below.missing > 0 { "·" } else { " " });
                } else {
                    line.push_str(&palette::half_blocks(style.depth, position(above), position(below)));
                }
            }
            lines.push(line.trim_end().to_owned());
        }
    }
    lines.extend(tones.legend(map.unit, style, gutter));
    lines
}

/// How values become tones: evenly where there are many, by the gaps between the values where there are few.
enum Tones {
    Even(Scale),
    Few(Steps),
}

impl Tones {
    fn of(cells: &Table, depth: ColorDepth) -> Option<Tones> {
        let values = cells.iter().filter_map(|cell| cell.median_ns);
        match depth {
            ColorDepth::None | ColorDepth::Ansi16 => Steps::over(values).map(Tones::Few),
            ColorDepth::Ansi256 | ColorDepth::TrueColor => Scale::over(values).map(Tones::Even),
        }
    }

    fn position(&self, ns: f64) -> f64 {
        match self {
            Tones::Even(scale) => scale.position(ns),
            Tones::Few(steps) => steps.position(ns),
        }
    }

    fn legend(&self, unit: &str, style: &Style, gutter: usize) -> Vec<String> {
        let steps = match self {
            Tones::Even(scale) => return vec![even_legend(*scale, unit, style, gutter)],
            Tones::Few(steps) => steps,
        };
        let mut legend = vec![format!("{}{unit}:", " ".repeat(gutter))];
        for [low, high] in steps.ranges() {
            let position = steps.position(*low);
            let tone = match style.depth {
                ColorDepth::None => palette::shade(position).to_string(),
                depth => palette::on(depth, position, "  "),
            };
            let (low, high) = (short_ns(*low), short_ns(*high));
            legend.push(if low == high { format!("{tone} {low}") } else { format!("{tone} {low}–{high}") });
        }
        flow(legend.iter().map(String::as_str), "  ", style.width, gutter)
    }
}

fn even_legend(scale: Scale, unit: &str, style: &Style, gutter: usize) -> String {
    let (low, high) = (short_ns(scale.low), short_ns(scale.high));
    let around =
        gutter + columns(&low) + columns(&high) + " ".len() + columns(unit) + "  , logarithmic".len();
    let steps = style.width.saturating_sub(around).clamp(2, 24);
    let bar: String =
        (0..steps).map(|step| palette::on(style.depth, step as f64 / (steps - 1) as f64, " ")).collect();
    format!("{}{low} {bar} {high} {unit}, logarithmic", " ".repeat(gutter))
}

/// One glyph for two rows of pixels, so that the picture stays about square.
fn shaded(map: &HeatMap<'_>, style: &Style, axis: &Axis, gutter: usize) -> Vec<String> {
    let rows: Vec<Vec<CpuId>> = axis
        .runs()
        .into_iter()
        .flat_map(|run| axis.parts[run].chunks(2).map(<[Vec<CpuId>]>::concat).collect::<Vec<_>>())
        .collect();
    let cells = table(map.readings, &rows, &axis.parts);
    let Some(tones) = Tones::of(&cells, style.depth) else {
        return vec![format!("{}nothing measured yet", " ".repeat(gutter))];
    };
    let mut lines = vec![heading(axis, gutter)];
    let mut row = 0;
    for run in axis.runs() {
        if run.start > 0 {
            lines.push(bar(axis, gutter));
        }
        for _ in 0..run.len().div_ceil(2) {
            let mut line = label(&rows[row], gutter);
            for column in 0..axis.parts.len() {
                line.push_str(if axis.bars[column] { "│" } else { "" });
                let cell = cells.get(row, column);
                line.push(match cell.median_ns {
                    Some(ns) => palette::shade(tones.position(ns)),
                    None if cell.pairs > 0 => '·',
                    None => ' ',
                });
            }
            lines.push(line.trim_end().to_owned());
            row += 1;
        }
    }
    lines.extend(tones.legend(map.unit, style, gutter));
    lines
}

/// CPU ids over the first pixel of each group, as many as have room.
fn heading(axis: &Axis, gutter: usize) -> String {
    let mut heading = left(" CPU", gutter);
    let mut column = heading.chars().count();
    for (index, part) in axis.parts.iter().enumerate() {
        column += usize::from(axis.bars[index]);
        let used = heading.chars().count();
        if (index == 0 || axis.bars[index] || (axis.bar_count() == 0 && index % 16 == 0))
            && (used < column || index == 0 || used == gutter)
        {
            heading.push_str(&" ".repeat(column.saturating_sub(used)));
            heading.push_str(&part.first().map_or(String::new(), CpuId::to_string));
        }
        column += 1;
    }
    let width = gutter + axis.parts.len() + axis.bar_count();
    heading.chars().take(width.max(gutter)).collect()
}

fn label(part: &[CpuId], gutter: usize) -> String {
    let first = part.first().map_or(String::new(), CpuId::to_string);
    format!("{} ", right(&first, gutter - 1))
}

fn bar(axis: &Axis, gutter: usize) -> String {
    let mut bar = " ".repeat(gutter);
    for before in &axis.bars {
        bar.push_str(if *before { "┼" } else { "" });
        bar.push('─');
    }
    bar
}
