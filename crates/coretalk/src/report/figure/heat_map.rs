//! The heat map as a figure: squares while they are few, one raster beyond, with group bars, numbers and a legend.

use super::chart::{Axis, Kind};
use super::labels::Labels;
use super::{SMALL, chart};
use crate::report::palette::{self, Scale};
use crate::report::picture::{Anchor, Ink, Picture, Shape, Type, Weight, text_width};
use crate::report::subject::{Drawing, Map, ScaleChoice, Subject};
use crate::report::text::short_ns;
use coretalk_model::latency::summary::{Table, TableCell, table};

/// More rows than this are one raster.
const MOST_SQUARES: usize = 64;
/// Smaller squares hold no number.
const LEAST_FOR_NUMBERS: f64 = 21.0;
/// Height of a bar beside the groups of a level, and the gap to the next.
const BAR: f64 = 4.0;
const GAP: f64 = 3.0;
/// Grey of cells that were not measured, between the ends of the palette and unlike any of its colours.
const MISSING: Ink = Ink::Line;

/// The map with its axes and its legend. `side` is the length of the square of cells.
pub fn heat_map(subject: &Subject<'_>, map: &Map, drawing: Drawing, side: f64) -> Picture {
    let readings = map.readings();
    let rows = map.rows(&readings, subject.report, drawing);
    let cells = table(&readings, &rows, &rows);
    let scale = map.scale(drawing.scale).unwrap_or(Scale { low: 1.0, high: 10.0 });
    let cell = side / rows.len().max(1) as f64;
    let size = (cell * 0.4).clamp(9.0, 12.0);
    let labels = Labels::new(&rows, &subject.report.topology, cell, size);
    let bars = labels.groups.len() as f64 * (BAR + GAP);
    let (left, top) = (labels.width(size) + 8.0 + bars, size + 8.0 + bars);
    let mut picture = Picture::new(&map.question, left + side, top + side);
    hatched(&mut picture, &cells, rows.len(), [left, top], cell);
    squares(&mut picture, &cells, rows.len(), scale, [left, top], cell);
    axes(&mut picture, &labels, [left, top], cell, size);
    separators(&mut picture, &labels, [left, top], cell, side);
    if cell >= LEAST_FOR_NUMBERS {
        numbers(&mut picture, &cells, rows.len(), scale, [left, top], cell);
    }
    let missing = cells.iter().any(|cell| cell.median_ns.is_none() && cell.pairs > 0);
    let legend = legend(map, scale, drawing.scale, missing, side);
    let below = picture.height + 14.0;
    picture.place(legend, [left, below]);
    picture
}

fn squares(picture: &mut Picture, cells: &Table, n: usize, scale: Scale, [left, top]: [f64; 2], cell: f64) {
    let color = |of: TableCell| of.median_ns.map(|value| palette::rgb(scale.position(value)));
    if n > MOST_SQUARES {
        let place = [left, top, cell * n as f64, cell * n as f64];
        let squares = (0..n * n).map(|index| {
            let of = cells.get(index / n, index % n);
            // Nothing to measure is no gap: the hatch below must not show.
            color(of).or((of.pairs == 0).then_some([255, 255, 255]))
        });
        picture.shapes.push(Shape::Raster { place, columns: n, squares: squares.collect() });
        return;
    }
    for row in 0..n {
        for column in 0..n {
            if let Some(rgb) = color(cells.get(row, column)) {
                let place = [left + column as f64 * cell, top + row as f64 * cell, cell, cell];
                picture.rect(place, Ink::Rgb(rgb));
            }
        }
    }
}

/// Slanted lines where something was not measured: below a raster everywhere, which hides them elsewhere.
fn hatched(picture: &mut Picture, cells: &Table, n: usize, [left, top]: [f64; 2], cell: f64) {
    let mut hatch = |x: f64, y: f64, side: f64, step: f64| {
        let mut offset = step;
        while offset < 2.0 * side {
            let (from, to) = (offset.min(side), (offset - side).max(0.0));
            picture.line(vec![[x + to, y + from], [x + from, y + to]], MISSING, 1.0);
            offset += step;
        }
    };
    let is_missing = |of: TableCell| of.median_ns.is_none() && of.pairs > 0;
    if n > MOST_SQUARES {
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
    let style = Type::of(size).in_ink(Ink::Faint);
    let beside = left - labels.groups.len() as f64 * (BAR + GAP) - 5.0;
    let above = top - labels.groups.len() as f64 * (BAR + GAP) - 5.0;
    let mut free = f64::NEG_INFINITY;
    for (row, name) in &labels.names {
        let begin = *row as f64 * cell;
        let lonely = labels.names.get(1).is_none_or(|(second, _)| *second > 1);
        // A name that stands for the rows after it too stands at the first of them.
        let middle = if lonely { begin + (size / 2.0).max(cell / 2.0) } else { begin + cell / 2.0 };
        picture.text([beside, top + middle + size * 0.36], Anchor::End, style, name);
        let wide = text_width(name, size, Weight::Regular);
        let (x, anchor) = if lonely && wide > cell {
            (left + begin, Anchor::Start)
        } else {
            (left + begin + cell / 2.0, Anchor::Middle)
        };
        let starts = if anchor == Anchor::Start { x } else { x - wide / 2.0 };
        if starts > free {
            picture.text([x, above], anchor, style, name);
            free = starts + wide + 3.0;
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
        // The finest level of a large map would be a grid that hides it.
        let width = if level == 0 { 2.0 } else { 1.0 };
        if cell * groups.first().map_or(0.0, |group| group.len() as f64) < 12.0 {
            continue;
        }
        for group in groups.iter().skip(1) {
            let at = group.start as f64 * cell;
            picture.line(vec![[left, top + at], [left + side, top + at]], Ink::Paper, width);
            picture.line(vec![[left + at, top], [left + at, top + side]], Ink::Paper, width);
        }
    }
}

fn numbers(picture: &mut Picture, cells: &Table, n: usize, scale: Scale, [left, top]: [f64; 2], cell: f64) {
    let size = (cell * 0.36).clamp(8.5, 18.0);
    for row in 0..n {
        for column in 0..n {
            let of = cells.get(row, column);
            let Some(value) = of.median_ns else { continue };
            let text = format!("{}{}", short(value), if of.doubtful > 0 { "!" } else { "" });
            if text_width(&text, size, Weight::Regular) > cell - 2.0 {
                continue;
            }
            let dark = palette::wants_dark_text(scale.position(value));
            let ink = Ink::Rgb(if dark { [0, 0, 0] } else { [255, 255, 255] });
            let middle = [left + (column as f64 + 0.5) * cell, top + (row as f64 + 0.5) * cell + size * 0.36];
            picture.text(middle, Anchor::Middle, Type::of(size).in_ink(ink), text);
        }
    }
}

/// Large numbers, such as messages in a second, in thousands and millions.
fn short(value: f64) -> String {
    match value {
        value if value >= 999_500.0 => format!("{}M", short_ns(value / 1e6)),
        value if value >= 9_999.5 => format!("{}k", short_ns(value / 1e3)),
        value => short_ns(value),
    }
}

/// The colours with their values, the unit, and what a hatch means.
fn legend(map: &Map, scale: Scale, choice: ScaleChoice, missing: bool, width: f64) -> Picture {
    let mut picture = Picture::new("legend", width, 44.0);
    let length = width.min(360.0);
    let steps = 90;
    for step in 0..steps {
        let rgb = palette::rgb(f64::from(step) / f64::from(steps - 1));
        let wide = length / f64::from(steps);
        picture.rect([f64::from(step) * wide, 0.0, wide, 10.0], Ink::Rgb(rgb));
    }
    let axis = Axis { label: String::new(), ends: [scale.low, scale.high], kind: Kind::Log };
    let values = || map.columns.median.iter().copied().flatten();
    let beyond =
        [values().any(|value| value < scale.low * 0.999), values().any(|value| value > scale.high * 1.001)];
    let mut free = f64::NEG_INFINITY;
    for (value, text) in axis.ticks() {
        let half = text_width(&text, SMALL.size, Weight::Regular) / 2.0;
        let at = (axis.position(value) * length).clamp(half, length - half);
        if at - half > free {
            picture.line(vec![[at, 10.0], [at, 13.0]], Ink::Faint, 1.0);
            picture.text([at, 25.0], Anchor::Middle, SMALL.in_ink(Ink::Faint), text);
            free = at + half + 6.0;
        }
    }
    let fixed = choice == ScaleChoice::Fixed && Scale::fixed(&map.about.unit).is_some();
    let range = if fixed { "the same colours on every machine" } else { "colours fitted to this map" };
    let (low, high) = (chart::number(scale.low), chart::number(scale.high));
    let mut words = vec![format!("{}, logarithmic", map.about.unit), range.to_owned()];
    words.extend((!fixed).then(|| format!("{low} to {high}")));
    words.extend(beyond[0].then(|| format!("below {low}: the first")));
    words.extend(beyond[1].then(|| format!("above {high}: the last")));
    picture.text([0.0, 41.0], Anchor::Start, SMALL.in_ink(Ink::Faint), words.join("; "));
    if missing && width > length + 120.0 {
        let left = length + 24.0;
        for line in 0..4 {
            let x = left + f64::from(line) * 5.0;
            picture.line(vec![[x, 10.0], [x + 8.0, 0.0]], MISSING, 1.0);
        }
        picture.text([left + 32.0, 10.0], Anchor::Start, SMALL.in_ink(Ink::Faint), "not measured");
    }
    picture
}
