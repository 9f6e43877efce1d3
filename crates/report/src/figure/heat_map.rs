//! The heat map as a figure: squares or, if they are too many, one raster, with group bars, numbers and a legend.

mod content;
mod legend;

use self::content::{Content, Painted, Part};
use self::legend::{colors_beside, legend, legend_words};
use super::labels::Labels;
use crate::difference::{DifferenceMap, PALE};
use crate::fmt::digits::{count, signed_whole, with_letter};
use crate::heat_map as rows;
use crate::input::{Drawing, Map, ReportInput, ScaleChoice, readings_of};
use crate::palette::{Colors, Scale};
use crate::picture::{Anchor, Ink, Picture, Shape, Type, Weight, text_width};
use crate::scope::level_words;
use coretalk_model::latency::summary::{PairReading, SummaryTable, TableCell, table};
use coretalk_model::{CpuId, Level, Matrix};

/// Maximum number of rows drawn as squares; more rows become one raster.
const MAX_SQUARES: usize = 64;
/// Maximum number of rows of a small picture; more are combined into groups.
const MAX_ROWS: usize = 100;
const MAX_GROUPS: usize = 64;
const MIN_SEPARATED_GROUP: f64 = 18.0;
/// Smallest cell with a number. In a map of few rows, smaller cells have numbers, too.
const MIN_FOR_NUMBERS: f64 = 21.0;
const MIN_FOR_SMALL_NUMBERS: f64 = 12.0;
/// Smallest font size of a number in a cell: 9 pixels in a picture file.
const MIN_TYPE: f64 = 4.5;
const MAX_ROWS_WITH_SMALL_NUMBERS: usize = 16;
const BAR: f64 = 4.0;
const GAP: f64 = 3.0;
const EDGE: f64 = 10.0;
/// Meaning of the mark that replaces the value of a cell.
pub const SLICES: &str = "two threads poll on one CPU: this measures time slices";
/// Grey of cells that were not measured; the palette does not contain it.
const MISSING: Ink = Ink::Line;

/// The map with its axes and its legend; `side` is the side length of the square of cells.
pub fn heat_map(input: &ReportInput<'_>, map: &Map, drawing: Drawing, side: f64) -> Picture {
    let readings = map.readings();
    let rows = map.rows(&readings, input.arranged(), drawing);
    let shows = vec![map.name()];
    Picture {
        shows,
        ..drawn(input, &content(map, &readings, rows, Painted::paint(map, drawing.scale)), side)
    }
}

/// The map as one of several on a page: no raster, and many rows combined into groups. `shared` is the colour scale of
/// all maps; `None` is a scale of its own.
pub fn heat_map_of_several(
    input: &ReportInput<'_>,
    map: &Map,
    drawing: Drawing,
    side: f64,
    shared: Option<Scale>,
) -> Picture {
    let readings = map.readings();
    let (rows, grouped) = grouped(map.rows(&readings, input.arranged(), drawing), input, MAX_SQUARES);
    let shared = shared.map(|scale| Painted { scale, same: Some("same colour scale in these maps") });
    let painted = shared.unwrap_or_else(|| Painted::paint(map, drawing.scale));
    let mut content = content(map, &readings, rows, painted);
    content.legend = [Some(content.legend), grouped].into_iter().flatten().collect::<Vec<_>>().join("; ");
    drawn(input, &content, side)
}

/// A map for a small picture: without legend text, and with many rows combined into groups.
pub struct SmallMap {
    /// The map and its colour scale.
    pub picture: Picture,
    /// The colours of the values.
    pub colors: Colors,
    /// Notes on the map: the grouping of rows, then unit and colours.
    pub words: Vec<String>,
}

/// The map with its axes in a given height.
pub fn small_map(input: &ReportInput<'_>, map: &Map, drawing: Drawing, height: f64) -> SmallMap {
    let (readings, topology) = (map.readings(), input.arranged());
    let (rows, grouped) = grouped(map.rows(&readings, topology, drawing), input, MAX_ROWS);
    let content = content(map, &readings, rows, Painted::paint(map, drawing.scale));
    let size = (height / content.len().max(1) as f64 * 0.4).clamp(9.0, 12.0);
    let bars = Labels::new(&content.rows, topology, height, size).groups.len() as f64 * (BAR + GAP);
    let side = height - size - 8.0 - bars;
    let (mut picture, corner) = square(input, &content, side);
    picture.shows = vec![map.name()];
    colors_beside(&mut picture, &content.colors, &map.unit, [corner[0] + side + 12.0, corner[1]], side);
    let legend = [Some(content.legend.clone()), content.diagonal(topology)];
    SmallMap {
        picture,
        colors: content.colors,
        words: grouped.into_iter().chain(legend.into_iter().flatten()).collect(),
    }
}

/// Combines more than `most` rows: by a reported level or, if that leaves too many, by equal numbers of neighbours.
fn grouped(rows: Vec<Vec<CpuId>>, input: &ReportInput<'_>, most: usize) -> (Vec<Vec<CpuId>>, Option<String>) {
    if rows.len() <= most {
        return (rows, None);
    }
    let (all, topology) = (rows.len(), input.arranged());
    let as_reported = topology.levels().into_iter().filter(|level| *level > Level::Core).find_map(|level| {
        let parts: Vec<Vec<CpuId>> = rows::groups(&rows, topology, level).map(<[_]>::concat).collect();
        (2..=MAX_GROUPS).contains(&parts.len()).then_some((parts, level))
    });
    let cpus = count(rows.iter().map(Vec::len).sum::<usize>() as u64, "CPU");
    let (parts, what) = match as_reported {
        Some((parts, _)) if input.file().is_some() => (parts, "groups".to_owned()),
        Some((parts, level)) => (parts, level_words(level, 2).to_owned()),
        None => {
            let group_size = all.div_ceil(MAX_GROUPS);
            let parts = rows::Axis::new(&rows, topology, [all, group_size], None).parts;
            (parts, format!("groups of up to {group_size} neighbours"))
        }
    };
    let words = format!(
        "{cpus} in {} {what}; each square is the median of the pairs between two of them",
        parts.len()
    );
    (parts, Some(words))
}

fn content<'a>(
    map: &'a Map,
    readings: &Matrix<Option<PairReading>>,
    rows: Vec<Vec<CpuId>>,
    painted: Painted,
) -> Content<'a> {
    Content {
        title: &map.question,
        cells: table(readings, &rows, &rows),
        rows,
        paint: None,
        colors: Colors::Level(painted.scale),
        slices: map.columns.on_slices().map(CpuId).collect(),
        legend: legend_words(map, painted),
    }
}

/// The difference of two maps, in the rows of the first.
pub fn difference_map(
    a: &ReportInput<'_>,
    difference: &DifferenceMap<'_>,
    drawing: Drawing,
    side: f64,
) -> Picture {
    let rows = difference.of.rows(&difference.of.readings(), a.arranged(), drawing);
    let table_of = |value: &dyn Fn(usize) -> Option<f64>| {
        table(&readings_of(&difference.columns, |cell| value(cell).map(|ns| (ns, false))), &rows, &rows)
    };
    let value = |cell: usize| difference.columns.median[cell];
    let [low, high] = Colors::DIFFERENCE.ends();
    let painted = |cell: usize| {
        value(cell).map(|shift| if difference.shown[cell] { shift } else { PALE * shift.clamp(low, high) })
    };
    let (cells, paint) = (table_of(&value), table_of(&painted));
    let (colors, range) = match drawing.scale {
        ScaleChoice::Fixed => (Colors::DIFFERENCE, "same colour scale on every machine"),
        ScaleChoice::Fit => (
            Colors::of_differences(difference.columns.median.iter().copied().flatten()),
            "fitted to this map",
        ),
    };
    let legend = format!("difference in percent; {range}; pale: no proven difference");
    let content = Content {
        title: &difference.question,
        rows,
        cells,
        paint: Some(paint),
        colors,
        slices: Vec::new(),
        legend,
    };
    drawn(a, &content, side)
}

fn drawn(input: &ReportInput<'_>, content: &Content<'_>, side: f64) -> Picture {
    let (mut picture, [left, _]) = square(input, content, side);
    let diagonal = content.diagonal(input.topology());
    let words = [Some(content.legend.clone()), diagonal].into_iter().flatten().collect::<Vec<_>>().join("; ");
    let legend = legend(content, &words, side);
    let below = picture.height + 14.0;
    picture.insert(legend, [left, below]);
    picture
}

fn square(input: &ReportInput<'_>, content: &Content<'_>, side: f64) -> (Picture, [f64; 2]) {
    let cell = side / content.len().max(1) as f64;
    let size = (cell * 0.4).clamp(9.0, 12.0);
    let labels = Labels::new(&content.rows, input.arranged(), cell, size);
    let bars = labels.groups.len() as f64 * (BAR + GAP);
    let (left, top) = (labels.width(size) + 8.0 + bars, size + 8.0 + bars);
    let mut picture = Picture::new(content.title, left + side + EDGE, top + side);
    hatched(&mut picture, &content.cells, content.len(), [left, top], cell);
    squares(&mut picture, content, [left, top], cell);
    axes(&mut picture, &labels, [left, top], cell, size);
    separators(&mut picture, &labels, [left, top], cell, side);
    let is_small = content.len() <= MAX_ROWS_WITH_SMALL_NUMBERS && cell >= MIN_FOR_SMALL_NUMBERS;
    if cell >= MIN_FOR_NUMBERS || is_small {
        numbers(&mut picture, content, [left, top], cell);
    }
    (picture, [left, top])
}

fn squares(picture: &mut Picture, content: &Content<'_>, [left, top]: [f64; 2], cell: f64) {
    let n = content.len();
    let square = |picture: &mut Picture, row: usize, column: usize| {
        for part in content.parts(row, column) {
            let (x, y) = (left + column as f64 * cell, top + (row as f64 + part.begin) * cell);
            picture.rect([x, y, cell, part.height * cell], Ink::Rgb(content.colors.rgb(part.paint)));
        }
    };
    if n <= MAX_SQUARES {
        (0..n * n).for_each(|index| square(picture, index / n, index % n));
        return;
    }
    let is_halved = |row: usize| content.cells.get(row, row).own.is_some() || content.is_marked(row, row);
    let halved: Vec<usize> = (0..n).filter(|&row| is_halved(row)).collect();
    let area = [left, top, cell * n as f64, cell * n as f64];
    let squares = (0..n * n).map(|index| {
        let (row, column) = (index / n, index % n);
        // Cells with nothing to measure are not missing: they cover the hatching.
        let shown = content.cells.get(row, column);
        let is_marked = content.is_marked(row, column);
        let whole =
            content.painted().get(row, column).median_ns.filter(|_| shown.own.is_none() && !is_marked);
        let color = whole.map(|value| content.colors.rgb(value));
        color.or((shown.pairs == 0 || is_marked).then_some([255, 255, 255]))
    });
    picture.shapes.push(Shape::Raster { area, columns: n, squares: squares.collect() });
    for row in halved {
        square(picture, row, row);
    }
}

/// A raster is hatched as a whole; its measured cells cover the lines.
fn hatched(picture: &mut Picture, cells: &SummaryTable, n: usize, [left, top]: [f64; 2], cell: f64) {
    let mut hatch = |x: f64, y: f64, side: f64, step: f64| {
        let mut offset = step;
        while offset < 2.0 * side {
            let (from, to) = (offset.min(side), (offset - side).max(0.0));
            picture.line(vec![[x + to, y + from], [x + from, y + to]], MISSING, 1.0);
            offset += step;
        }
    };
    let is_missing = |value: TableCell| value.median_ns.is_none() && value.pairs > 0;
    if n > MAX_SQUARES {
        if cells.iter().any(|cell| is_missing(*cell)) {
            hatch(left, top, cell * n as f64, 6.0);
        }
        return;
    }
    for row in 0..n {
        for column in 0..n {
            if is_missing(cells.get(row, column)) {
                hatch(left + column as f64 * cell, top + row as f64 * cell, cell, 5.0);
            }
        }
    }
}

fn axes(picture: &mut Picture, labels: &Labels, [left, top]: [f64; 2], cell: f64, size: f64) {
    let style = Type::with_size(size).in_ink(Ink::Faint);
    let names_end = left - labels.groups.len() as f64 * (BAR + GAP) - 5.0;
    let above = top - labels.groups.len() as f64 * (BAR + GAP) - 5.0;
    let mut free = f64::NEG_INFINITY;
    for (row, name) in &labels.names {
        let begin = *row as f64 * cell;
        let is_alone = labels.names.get(1).is_none_or(|(second, _)| *second > 1);
        let middle = if is_alone { begin + (size / 2.0).max(cell / 2.0) } else { begin + cell / 2.0 };
        picture.text([names_end, top + middle + size * 0.36], Anchor::End, style, name);
        let wide = text_width(name, size, Weight::Regular);
        let (x, anchor) = if is_alone && wide > cell {
            (left + begin, Anchor::Start)
        } else {
            (left + begin + cell / 2.0, Anchor::Middle)
        };
        let starts = if anchor == Anchor::Start { x } else { x - wide / 2.0 };
        if starts > free {
            picture.text([x, above], anchor, style, name);
            free = starts + wide + 2.0;
        }
    }
    for (level, groups) in labels.groups.iter().enumerate() {
        let away = (labels.groups.len() - level) as f64 * (BAR + GAP);
        for (index, group) in groups.iter().enumerate() {
            let ink = if index % 2 == 0 { Ink::Faint } else { Ink::Line };
            let (begin, length) = (group.start as f64 * cell + 0.5, group.len() as f64 * cell - 1.0);
            picture.rect([left - away, top + begin, BAR, length], ink);
            picture.rect([left + begin, top - away, length, BAR], ink);
        }
    }
}

fn separators(picture: &mut Picture, labels: &Labels, [left, top]: [f64; 2], cell: f64, side: f64) {
    for (level, groups) in labels.groups.iter().enumerate() {
        // Lines at the finest level would be a grid that hides a large map.
        let width = if level == 0 { 2.0 } else { 1.0 };
        if cell * groups.first().map_or(0.0, |group| group.len() as f64) < MIN_SEPARATED_GROUP {
            continue;
        }
        for group in groups.iter().skip(1) {
            let at = group.start as f64 * cell;
            picture.line(vec![[left, top + at], [left + side, top + at]], Ink::Paper, width);
            picture.line(vec![[left + at, top], [left + at, top + side]], Ink::Paper, width);
        }
    }
}

fn numbers(picture: &mut Picture, content: &Content<'_>, [left, top]: [f64; 2], cell: f64) {
    let n = content.len();
    let text_of = |value: f64, doubtful: u32| {
        let number = match content.colors {
            Colors::Level(_) => with_letter(value),
            Colors::Difference { .. } => signed_whole(value),
        };
        format!("{number}{}", if doubtful > 0 { "!" } else { "" })
    };
    let mut size = (cell * 0.36).clamp(8.5, 18.0);
    if cell < MIN_FOR_NUMBERS {
        // All cells have numbers, or none: with numbers in half of the cells, slow pairs would not be visible.
        let parts = (0..n * n).flat_map(|at| content.parts(at / n, at % n));
        let widths = parts.map(|part| text_width(&text_of(part.value, part.doubtful), 1.0, Weight::Regular));
        size = (cell * 0.5).min((cell - 2.0) / widths.fold(0.0, f64::max));
    }
    for row in (0..n).filter(|&row| content.is_marked(row, row)) {
        let height = if content.rows[row].len() > 1 { 0.5 } else { 1.0 };
        let size = size.min(cell * height * 0.72);
        let middle = top + (row as f64 + height / 2.0) * cell + size * 0.36;
        let at = [left + (row as f64 + 0.5) * cell, middle];
        picture.text(at, Anchor::Middle, Type::with_size(size).in_ink(Ink::Faint), "s");
    }
    for row in 0..n {
        for column in 0..n {
            for Part { value, paint, doubtful, begin, height } in content.parts(row, column) {
                let text = text_of(value, doubtful);
                let size = size.min(cell * height * 0.72);
                let is_wide = text_width(&text, size, Weight::Regular) > cell - 2.0 + 1e-6;
                if is_wide || size < MIN_TYPE {
                    continue;
                }
                let dark = content.colors.wants_dark_text(paint);
                let ink = Ink::Rgb(if dark { [0, 0, 0] } else { [255, 255, 255] });
                let middle = top + (row as f64 + begin + height / 2.0) * cell + size * 0.36;
                let at = [left + (column as f64 + 0.5) * cell, middle];
                picture.text(at, Anchor::Middle, Type::with_size(size).in_ink(ink), text);
            }
        }
    }
}
