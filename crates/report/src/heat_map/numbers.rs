//! The map as numbers on a coloured background.

use super::axis::{Axis, bar_levels};
use super::{By, HeatMap, Style, names_of_diagonal};
use crate::blocks::value::Sentence;
use crate::blocks::{Block, Drawing, DrawnNumber};
use crate::fmt;
use crate::palette::{self, Scale};
use crate::render::terminal;
use crate::text::{columns, left, right};
use coretalk_model::CpuId;
use coretalk_model::latency::summary::{SummaryTable, table};

pub(super) const MAX_ROWS: usize = 48;

pub(super) fn draw(map: &HeatMap<'_>, style: &Style) -> Option<Drawing> {
    if map.rows.len() > MAX_ROWS {
        return None;
    }
    let cells = table(&map.map.readings, &map.rows, &map.rows);
    let by_core = map.threads_per_core() > 1;
    let labels = labels(&map.rows, by_core);
    let gutter =
        labels.iter().map(|(row, _)| columns(row)).max().unwrap_or(0).max(if by_core { 9 } else { 4 }) + 1;
    let positions = (0..map.rows.len()).flat_map(|row| (0..map.rows.len()).map(move |column| [row, column]));
    let value_width = positions.map(|at| columns(&text(map, &cells, at))).max().unwrap_or(1);
    let head_width = labels.iter().map(|(_, head)| columns(head)).max().unwrap_or(1);
    // A column for the mark separates the cells. If the width permits, there is also a blank for readability.
    let min_cell_width = value_width.max(head_width + 1);
    let (axis, cell_width) = bar_levels(&map.rows, map.map.topology).into_iter().find_map(|level| {
        let axis = Axis::of_rows(&map.rows, map.map.topology, level);
        let needed = |cell_width: usize| {
            let own_columns = if cells.has_own() { own_width(map, cell_width) } else { 0 };
            gutter + axis.parts.len() * cell_width + 2 * axis.bar_count() + own_columns
        };
        let cell_width =
            [min_cell_width + 1, min_cell_width].into_iter().find(|&wide| needed(wide) <= style.width)?;
        Some((axis, cell_width))
    })?;
    let lines = lines(map, style, &cells, &axis, &labels, gutter, cell_width);
    let positions = (0..map.rows.len()).flat_map(|row| (0..map.rows.len()).map(move |column| [row, column]));
    let numbers = positions.flat_map(|at| map.shown(&cells, at)).flatten().collect();
    Some(Drawing { lines, numbers, ..Drawing::default() })
}

fn lines(
    map: &HeatMap<'_>,
    style: &Style,
    cells: &SummaryTable,
    axis: &Axis,
    labels: &[(String, String)],
    gutter: usize,
    cell_width: usize,
) -> Vec<String> {
    let scale = Scale::over(cells.values());
    let colored = |value: Option<f64>, padded: &str| match value.zip(scale) {
        Some((value, scale)) => palette::on(style.depth, scale.position(value), padded),
        None => padded.to_owned(),
    };
    let [own_name, pair_name] = names_of_diagonal(map.map.topology);
    let title = match (map.threads_per_core() > 1, style.by) {
        (true, By::Core) => "core CPUs",
        _ => " CPU",
    };
    let mut head = left(title, gutter);
    for (index, (_, label)) in labels.iter().enumerate() {
        head.push_str(if axis.bars[index] { " │" } else { "" });
        // The heading is aligned with the digits, not with the mark after them.
        head.push_str(&right(label, cell_width - 1));
        head.push(' ');
    }
    if cells.has_own() {
        head.push_str(&format!(" ┃{}", right(&own_name, own_width(map, cell_width) - 3)));
    }
    let mut lines = vec![head.trim_end().to_owned()];
    for (row, (label, _)) in labels.iter().enumerate() {
        if axis.bars[row] {
            lines.push(bar(axis, gutter, cell_width));
        }
        let mut line = left(label, gutter);
        for column in 0..labels.len() {
            line.push_str(if axis.bars[column] { " │" } else { "" });
            let text = text(map, cells, [row, column]);
            line.push_str(&colored(cells.get(row, column).median_ns, &right(&text, cell_width)));
        }
        if let [_, Some(own)] = map.shown(cells, [row, row]) {
            let padded = right(&with_mark(&own), own_width(map, cell_width) - 2);
            let median = cells.get(row, row).own.map(|own| own.median_ns);
            line.push_str(&format!(" ┃{}", colored(median, &padded)));
        }
        lines.push(line.trim_end().to_owned());
    }
    if cells.has_own() {
        let sentence = Sentence::new("Right of ┃: {own}; diagonal: {pair}.");
        let sentence = sentence.with_name("own", &own_name).with_name("pair", &pair_name);
        lines.extend(terminal::lines(&[Block::Prose(sentence)], style));
    }
    lines
}

fn own_width(map: &HeatMap<'_>, cell_width: usize) -> usize {
    let [name, _] = names_of_diagonal(map.map.topology);
    3 + columns(&name).max(cell_width - 1)
}

fn bar(axis: &Axis, gutter: usize, cell_width: usize) -> String {
    let mut bar = " ".repeat(gutter);
    for before in &axis.bars {
        bar.push_str(if *before { "─┼" } else { "" });
        bar.push_str(&"─".repeat(cell_width));
    }
    bar
}

fn text(map: &HeatMap<'_>, cells: &SummaryTable, at @ [row, column]: [usize; 2]) -> String {
    match map.shown(cells, at) {
        [Some(shown), _] => with_mark(&shown),
        _ if cells.get(row, column).pairs > 0 => "· ".to_owned(),
        _ => "  ".to_owned(),
    }
}

fn with_mark(shown: &DrawnNumber) -> String {
    fmt::value(&shown.value) + if shown.doubtful { "!" } else { " " }
}

/// A core is named by its lowest CPU: a running number would be mistaken for a CPU.
fn labels(rows: &[Vec<CpuId>], by_core: bool) -> Vec<(String, String)> {
    if !by_core {
        return rows.iter().map(|row| row[0].to_string()).map(|id| (format!("{id:>4}"), id)).collect();
    }
    rows.iter()
        .map(|row| {
            let core = row.iter().min().map_or(String::new(), CpuId::to_string);
            let cpus: Vec<String> = row.iter().map(CpuId::to_string).collect();
            (format!("{core:>4} {}", cpus.join(",")), core)
        })
        .collect()
}
