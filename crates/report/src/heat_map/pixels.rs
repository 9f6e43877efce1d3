//! The map as half-block pixels, or as glyphs that grow denser.

use super::axis::{Axis, bar_levels, largest};
use super::{HeatMap, MapFormat, Style};
use crate::ColorDepth;
use crate::fmt::digits::short_ns;
use crate::palette::{self, Scale, Steps};
use crate::text::{columns, flow, left, right};
use coretalk_model::latency::summary::{SummaryTable, TableCell, table};
use coretalk_model::{CpuId, Level};

/// Maximum number of bars of a picture. With more groups, only colours show them.
const MAX_BARS: usize = 8;

pub(super) fn draw(map: &HeatMap<'_>, style: &Style) -> (Vec<String>, MapFormat) {
    let gutter = map.rows.iter().flatten().map(|cpu| cpu.to_string().len()).max().unwrap_or(1).max(3) + 2;
    let (axis, rows_per_pixel, level) = fitting(map, style.width.saturating_sub(gutter).max(4));
    match style.depth {
        ColorDepth::None => {
            // A glyph is twice as high as wide, so it covers twice as many rows as columns.
            let rows = Axis::new(&map.rows, map.map.topology, [rows_per_pixel, 2 * rows_per_pixel], level);
            let format = MapFormat::Parts { what: "character", rows: rows.most, columns: axis.most };
            (shaded(map, style, &rows, &axis, gutter), format)
        }
        _ => {
            let format = MapFormat::Parts { what: "pixel", rows: axis.most, columns: axis.most };
            (half_blocks(map, style, &axis, gutter), format)
        }
    }
}

/// The finest axis that fits, the rows per pixel, and the finest level whose bars have room.
fn fitting(map: &HeatMap<'_>, width: usize) -> (Axis, usize, Option<Level>) {
    let levels = bar_levels(&map.rows, map.map.topology);
    for rows_per_pixel in 1..map.rows.len() {
        // Several smaller groups would share a pixel.
        let is_hidden = |level: &Option<Level>| {
            level.is_some_and(|level| largest(&map.rows, map.map.topology, level) < rows_per_pixel)
        };
        for &level in levels.iter().skip_while(|level| is_hidden(level)) {
            let axis = Axis::new(&map.rows, map.map.topology, [rows_per_pixel, rows_per_pixel], level);
            if axis.parts.len() + axis.bar_count() <= width && axis.bar_count() <= MAX_BARS {
                return (axis, rows_per_pixel, level);
            }
        }
    }
    let all = map.rows.len();
    (Axis::new(&map.rows, map.map.topology, [all, all], None), all, None)
}

fn half_blocks(map: &HeatMap<'_>, style: &Style, axis: &Axis, gutter: usize) -> Vec<String> {
    let cells = table(&map.map.readings, &axis.parts, &axis.parts);
    let Some(tones) = Tones::from_table(&cells, style.depth) else {
        return vec![format!("{}nothing measured yet", " ".repeat(gutter))];
    };
    let position = |cell: TableCell| cell.middle_ns.map(|ns| tones.position(ns));
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
    lines.extend(tones.legend(&map.map.unit.name, style, gutter));
    lines
}

/// The conversion of values to tones: evenly for many tones, at the gaps between values for few.
enum Tones {
    Even(Scale),
    Few(Steps),
}

impl Tones {
    fn from_table(cells: &SummaryTable, depth: ColorDepth) -> Option<Tones> {
        let values = cells.iter().filter_map(|cell| cell.middle_ns);
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

fn shaded(map: &HeatMap<'_>, style: &Style, rows: &Axis, axis: &Axis, gutter: usize) -> Vec<String> {
    let cells = table(&map.map.readings, &rows.parts, &axis.parts);
    let Some(tones) = Tones::from_table(&cells, style.depth) else {
        return vec![format!("{}nothing measured yet", " ".repeat(gutter))];
    };
    let mut lines = vec![heading(axis, gutter)];
    for (row, part) in rows.parts.iter().enumerate() {
        if rows.bars[row] {
            lines.push(bar(axis, gutter));
        }
        let mut line = label(part, gutter);
        for column in 0..axis.parts.len() {
            line.push_str(if axis.bars[column] { "│" } else { "" });
            let cell = cells.get(row, column);
            line.push(match cell.middle_ns {
                Some(ns) => palette::shade(tones.position(ns)),
                None if cell.pairs > 0 => '·',
                None => ' ',
            });
        }
        lines.push(line.trim_end().to_owned());
    }
    lines.extend(tones.legend(&map.map.unit.name, style, gutter));
    lines
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::value::MapSource;
    use crate::heat_map::PairMap;
    use coretalk_model::latency::summary::PairReading;
    use coretalk_model::topology::Domain;
    use coretalk_model::{Matrix, Topology};
    use std::borrow::Cow;

    /// Groups of 8 CPUs: a pair takes 20 to 21 ns within a group, and 100 to 101 ns across groups.
    #[test]
    fn a_map_of_glyphs_shows_values_of_pairs_at_every_width() {
        let ns = |row: usize, column: usize| {
            let level = if row / 8 == column / 8 { 20.0 } else { 100.0 };
            level + (row * 7 + column * 7) as f64 % 10.0 / 10.0
        };
        let cpus: Vec<CpuId> = (0..96).map(CpuId).collect();
        let reading = |row, column| Some(PairReading { ns: ns(row, column), doubtful: false });
        let readings = Matrix::symmetric(cpus.clone(), reading);
        let group =
            |of: &[CpuId]| Domain { level: Level::L3, cpus: of.iter().copied().collect(), os_id: None };
        let domains = cpus.chunks(8).map(group).collect();
        let topology = Topology::new(cpus.iter().copied().collect(), domains, Default::default());
        let source = MapSource::Kernel("cas".to_owned());
        for width in 24..120 {
            let style = Style { width, depth: ColorDepth::None, ..Style::default() };
            let (drawing, format) =
                PairMap::new(Cow::Borrowed(&readings), &topology, source.clone()).draw(&style);
            let text = drawing.lines.join(" ");
            let (_, legend) = text.rsplit_once("ns:").unwrap_or_else(|| panic!("{width}: {format:?}"));
            for number in legend.split([' ', '–']).filter_map(|word| word.parse::<f64>().ok()) {
                assert!([20.0, 21.0, 100.0, 101.0].contains(&number), "{width}: {legend}");
            }
            let MapFormat::Parts { rows, columns, .. } = format else { panic!("{width}: {format:?}") };
            // Latencies within a group have a glyph of their own as long as a character holds at most one group.
            assert_eq!(legend.contains("20"), rows.max(columns) <= 8, "{width}: {format:?} {legend}");
        }
    }
}
