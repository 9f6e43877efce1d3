//! Text maps of queues: the throughput between each two CPUs.

use crate::blocks::value::{DisplayUnit, DisplayValue, Number, Sentence, Source};
use crate::blocks::{Block, Drawing, DrawnNumber};
use crate::fmt;
use crate::fmt::digits::grouped;
use crate::palette::{self, Scale};
use crate::render::terminal;
use crate::style::Style;
use crate::text::{columns, plain, right};
use coretalk_model::queue::{QueueCell, QueueMatrix, matrices, rates};
use coretalk_model::run::{RunReport, SeriesReport};
use coretalk_model::{CpuId, Flag};

const MAX_ROWS: usize = 32;
const MIN_FILLED_SHARE: f64 = 0.5;

pub(super) fn every_map(
    report: &RunReport,
    series: &SeriesReport,
    caption: &Sentence,
    style: &Style,
) -> Drawing {
    let maps = by_queue(report, series, style);
    if maps.lines.is_empty() {
        return maps;
    }
    let above = terminal::lines(&[Block::Prose(caption.clone())], style);
    let lines = above.into_iter().chain([String::new()]).chain(maps.lines).collect();
    Drawing { lines, said: vec![caption.clone()], ..maps }
}

fn by_queue(report: &RunReport, series: &SeriesReport, style: &Style) -> Drawing {
    let matrices = matrices(&series.result);
    let shapes = rates(&matrices, &report.topology);
    if shapes.iter().all(|shape| shape.rows.len() == 1) {
        let title = |matrix: &QueueMatrix<'_>| format!("{}, {}", matrix.queue, matrix.payload);
        return maps(&matrices.iter().collect::<Vec<_>>(), &series.settings.cpus, style, title);
    }
    let mut all = Drawing::default();
    for shape in &shapes {
        let is_of_shape =
            |matrix: &&QueueMatrix<'_>| (matrix.queue, matrix.payload) == (shape.queue, shape.payload);
        let shape_matrices: Vec<&QueueMatrix<'_>> = matrices.iter().filter(is_of_shape).collect();
        let title = |matrix: &QueueMatrix<'_>| format!("capacity {}", grouped(matrix.capacity as i64));
        let maps = maps(&shape_matrices, &series.settings.cpus, style, title);
        if !maps.lines.is_empty() {
            all.lines.push(format!(" {}, {}", plain(shape.queue), plain(shape.payload)));
        }
        all.lines.extend(maps.lines);
        all.numbers.extend(maps.numbers);
        all.unit = maps.unit;
    }
    all
}

/// Maps side by side as far as they fit; empty if they would be too large or mostly empty.
fn maps(
    matrices: &[&QueueMatrix<'_>],
    cpus: &[CpuId],
    style: &Style,
    title: impl Fn(&QueueMatrix<'_>) -> String,
) -> Drawing {
    let cells: usize = matrices.iter().map(|matrix| matrix.cells.len()).sum();
    let all = matrices.len() * cpus.len() * cpus.len();
    if cpus.len() > MAX_ROWS || (cells as f64) < MIN_FILLED_SHARE * all as f64 {
        return Drawing::default();
    }
    // One scale for all maps, in nanoseconds per message, so that fast cells have the same colours as in a latency map.
    let all_cells = matrices.iter().flat_map(|matrix| &matrix.cells);
    let scale = Scale::over(all_cells.clone().filter_map(|cell| Some(1e9 / cell.rate_of_pair()?.point)));
    let widest = all_cells.map(|cell| columns(&text(Some(cell)))).max().unwrap_or(1);
    let titles: Vec<String> = matrices.iter().map(|matrix| plain(&title(matrix))).collect();
    // A column for the mark separates the cells. If the width permits, there is also a blank for readability.
    let needed = |cell_width: usize| 5 + cpus.len() * cell_width;
    let Some(cell_width) = [widest + 1, widest].into_iter().find(|&wide| needed(wide) <= style.width) else {
        let columns = DisplayValue::bare(Number::Count(needed(widest) as u64), Source::Method);
        let sentence = Sentence::new("(the maps need {columns} columns)").with("columns", columns);
        let lines = terminal::lines(&[Block::Prose(sentence)], style).into_iter();
        return lines.chain([String::new()]).collect::<Vec<_>>().into();
    };
    let block_width = needed(cell_width);
    let step = titles.iter().map(|title| columns(title) + 2).max().unwrap_or(0).max(block_width) + 2;
    let blocks: Vec<Vec<String>> = matrices
        .iter()
        .zip(&titles)
        .map(|(matrix, title)| block(matrix, title, cpus, cell_width, scale, style))
        .collect();
    let mut lines = Vec::new();
    for row in blocks.chunks((style.width / step).max(1)) {
        for line in 0..row[0].len() {
            let parts: Vec<String> = row
                .iter()
                .map(|block| {
                    // Colour codes have no width, so only the visible text is padded.
                    let visible = columns(&crate::text::strip(&block[line]));
                    format!("{}{}", block[line], " ".repeat(step.saturating_sub(visible)))
                })
                .collect();
            lines.push(parts.concat().trim_end().to_owned());
        }
        lines.push(String::new());
    }
    let shown = matrices.iter().flat_map(|matrix| &matrix.cells).filter_map(|cell| {
        let is_shown = cpus.contains(&cell.pair()[0]) && cpus.contains(&cell.pair()[1]);
        let doubtful = cell.trial.flags.may_be_wrong();
        is_shown.then(|| Some(DrawnNumber { value: value(cell)?, doubtful })).flatten()
    });
    Drawing { lines, numbers: shown.collect(), unit: "messages per second".to_owned(), ..Drawing::default() }
}

fn block(
    matrix: &QueueMatrix<'_>,
    title: &str,
    cpus: &[CpuId],
    cell_width: usize,
    scale: Option<Scale>,
    style: &Style,
) -> Vec<String> {
    let mut head = " CPU ".to_owned();
    for cpu in cpus {
        head.push_str(&format!("{} ", right(&cpu.to_string(), cell_width - 1)));
    }
    let mut lines = vec![format!("  {title}"), head];
    for &from in cpus {
        // Cells may lack a leading blank. This blank separates the first value from the name of the row.
        let mut line = right(&from.to_string(), 4) + " ";
        for &to in cpus {
            let cell = matrix.get(from, to);
            let padded = right(&text(cell), cell_width);
            let rate = cell.and_then(QueueCell::rate_of_pair);
            match (rate, scale) {
                (Some(rate), Some(scale)) => {
                    let position = scale.position(1e9 / rate.point);
                    line.push_str(&palette::on(style.depth, position, &padded));
                }
                _ => line.push_str(&padded),
            }
        }
        lines.push(line);
    }
    lines
}

fn text(cell: Option<&QueueCell<'_>>) -> String {
    let Some(cell) = cell else { return "  ".to_owned() };
    if cell.trial.flags.contains(Flag::SharedSpin) {
        return "s ".to_owned();
    }
    let mark = if cell.trial.flags.may_be_wrong() { '!' } else { ' ' };
    value(cell).map_or("· ".to_owned(), |value| format!("{}{mark}", fmt::value(&value)))
}

fn value(cell: &QueueCell<'_>) -> Option<DisplayValue> {
    let number = Number::Point(cell.rate().filter(|_| !cell.trial.flags.contains(Flag::SharedSpin))?.point);
    let source = Source::of_any(cell.trial.spec.id(), "/median");
    Some(DisplayValue { number, unit: DisplayUnit::Millions, source })
}
