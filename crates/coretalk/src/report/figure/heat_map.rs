//! The heat map as a figure: squares while they are few, one raster beyond, with group bars, numbers and a legend.

use super::chart::{Axis, Kind, OTHER_FONT};
use super::labels::Labels;
use super::{SMALL, chart};
use crate::report::difference::{DifferenceMap, PALE};
use crate::report::heat_map::{self as rows, Diagonal, names_of_diagonal};
use crate::report::input::{Drawing, Map, ReportInput, ScaleChoice, readings_of};
use crate::report::ladder::level_words;
use crate::report::palette::{Colors, Scale};
use crate::report::picture::{Anchor, Ink, Picture, Shape, Type, Weight, text_width};
use crate::report::text::{count, ns, short_ns};
use coretalk_model::latency::summary::{Reading, Table, TableCell, table};
use coretalk_model::{CpuId, Level, Matrix, Topology};

/// More rows than this are one raster.
const MOST_SQUARES: usize = 64;
/// More rows than this are groups in a small picture, of at most so many.
const MOST_ROWS: usize = 100;
const MOST_GROUPS: usize = 64;
/// Steps of the colours in a legend.
const STEPS: u32 = 90;
/// Groups of fewer units are not set apart by lines.
const LEAST_APART: f64 = 18.0;
/// Smaller squares hold no number.
const LEAST_FOR_NUMBERS: f64 = 21.0;
/// Height of a bar beside the groups of a level, and the gap to the next.
const BAR: f64 = 4.0;
const GAP: f64 = 3.0;
/// What words may stand over at the right: fonts are wider here and narrower there.
const EDGE: f64 = 10.0;
/// From one line of words below the colours to the next.
const LEGEND_LINE: f64 = 14.0;
/// What the mark of a cell says in whose place no value can stand.
pub const SLICES: &str = "two threads poll on one CPU: this measures time slices";
/// Grey of cells that were not measured, between the ends of the palette and unlike any of its colours.
const MISSING: Ink = Ink::Line;

/// What is drawn: the numbers, the values that colour them, and what is said beside the colours.
struct Content<'a> {
    title: &'a str,
    rows: Vec<Vec<CpuId>>,
    cells: Table,
    /// Values that give the colours, where they are not those of `cells`.
    paint: Option<Table>,
    colors: Colors,
    /// CPUs on which time slices are what was measured: a mark stands in the place of a value.
    slices: Vec<CpuId>,
    /// The line below the colours.
    legend: String,
}

impl Content<'_> {
    fn len(&self) -> usize {
        self.rows.len()
    }

    /// The values that colour squares.
    fn painted(&self) -> &Table {
        self.paint.as_ref().unwrap_or(&self.cells)
    }

    /// What a square shows: one value, or in its upper half what one CPU gives and in its lower half what two CPUs of
    /// its core give.
    fn parts(&self, row: usize, column: usize) -> Vec<Part> {
        let (cell, paint) = (self.cells.get(row, column), self.painted().get(row, column));
        let known = |value: Option<f64>, paint: Option<f64>, doubtful| {
            let (value, paint) = value.zip(paint)?;
            Some(Part { value, paint, doubtful, begin: 0.0, height: 1.0 })
        };
        if self.is_marked(row, column) {
            let pair = known(cell.median_ns, paint.median_ns, cell.doubtful);
            return pair.map(|part| Part { begin: 0.5, height: 0.5, ..part }).into_iter().collect();
        }
        let Some(own) = cell.own else {
            return known(cell.median_ns, paint.median_ns, cell.doubtful).into_iter().collect();
        };
        let upper = known(Some(own.median_ns), paint.own.map(|own| own.median_ns), own.doubtful);
        let lower = known(cell.median_ns, paint.median_ns, cell.doubtful);
        let halves = [(upper, 0.0), (lower, 0.5)].into_iter();
        halves.filter_map(|(part, begin)| Some(Part { begin, height: 0.5, ..part? })).collect()
    }

    /// Whether a mark stands in a square, or in its upper half, because time slices are what was measured there.
    fn is_marked(&self, row: usize, column: usize) -> bool {
        row == column && self.rows[row].iter().any(|cpu| self.slices.contains(cpu))
    }

    /// What the colours of the diagonal are of, where they are not of pairs of CPUs.
    fn diagonal(&self, topology: &Topology) -> Option<String> {
        let [own, pair] = names_of_diagonal(topology);
        let is_halved = |row: usize| self.rows[row].len() > 1 && self.is_marked(row, row);
        let diagonal = match (0..self.len()).any(is_halved) {
            true => Diagonal::Both,
            false => Diagonal::of(&self.cells, &self.rows),
        };
        match diagonal {
            Diagonal::Pairs => None,
            Diagonal::Own => Some(format!("diagonal: {own}")),
            Diagonal::Both => Some(format!("diagonal: {own} (upper half), {pair} (lower half)")),
        }
    }
}

/// A value in a square, or in half of it.
#[derive(Debug, Clone, Copy)]
struct Part {
    value: f64,
    /// What colours it.
    paint: f64,
    doubtful: u32,
    /// Where it begins and how high it is, in heights of a square.
    begin: f64,
    height: f64,
}

/// The map with its axes and its legend. `side` is the length of the square of cells.
pub fn heat_map(input: &ReportInput<'_>, map: &Map, drawing: Drawing, side: f64) -> Picture {
    let readings = map.readings();
    let rows = map.rows(&readings, input.arranged(), drawing);
    drawn(input, &content(map, &readings, rows, Painted::of(map, drawing.scale)), side)
}

/// The map as one of several on a page, which shows no raster: in colours that they share, or in its own, and its rows in
/// groups where they are many.
pub fn heat_map_of_several(
    input: &ReportInput<'_>,
    map: &Map,
    drawing: Drawing,
    side: f64,
    shared: Option<Scale>,
) -> Picture {
    let readings = map.readings();
    let (rows, grouped) = grouped(map.rows(&readings, input.arranged(), drawing), input, MOST_SQUARES);
    let shared = shared.map(|scale| Painted { scale, same: Some("same colour scale in these maps") });
    let painted = shared.unwrap_or_else(|| Painted::of(map, drawing.scale));
    let mut content = content(map, &readings, rows, painted);
    content.legend = [Some(content.legend), grouped].into_iter().flatten().collect::<Vec<_>>().join("; ");
    drawn(input, &content, side)
}

/// What the colours of a map span.
#[derive(Debug, Clone, Copy)]
struct Painted {
    scale: Scale,
    /// Where the same colours are found; `None` where they are fitted to the map.
    same: Option<&'static str>,
}

impl Painted {
    fn of(map: &Map, choice: ScaleChoice) -> Painted {
        let scale = map.scale(choice).unwrap_or(Scale { low: 1.0, high: 10.0 });
        let is_fixed = choice == ScaleChoice::Fixed && Scale::fixed(&map.unit).is_some();
        Painted { scale, same: is_fixed.then_some("same colour scale on every machine") }
    }
}

/// A map for a small picture: without the words below it, and its rows in groups where they are many.
pub struct SmallMap {
    /// The map with the colours beside it.
    pub picture: Picture,
    /// What its values are coloured by.
    pub colors: Colors,
    /// What is to be said of it: how rows are grouped, then unit and colours.
    pub words: Vec<String>,
}

/// The map in a height that axes share with it.
pub fn small_map(input: &ReportInput<'_>, map: &Map, drawing: Drawing, height: f64) -> SmallMap {
    let (readings, topology) = (map.readings(), input.arranged());
    let (rows, grouped) = grouped(map.rows(&readings, topology, drawing), input, MOST_ROWS);
    let content = content(map, &readings, rows, Painted::of(map, drawing.scale));
    let size = (height / content.len().max(1) as f64 * 0.4).clamp(9.0, 12.0);
    let bars = Labels::new(&content.rows, topology, height, size).groups.len() as f64 * (BAR + GAP);
    let side = height - size - 8.0 - bars;
    let (mut picture, corner) = square(input, &content, side);
    colors_beside(&mut picture, &content.colors, &map.unit, [corner[0] + side + 12.0, corner[1]], side);
    let legend = [Some(content.legend.clone()), content.diagonal(topology)];
    SmallMap {
        picture,
        colors: content.colors,
        words: grouped.into_iter().chain(legend.into_iter().flatten()).collect(),
    }
}

/// Rows in groups where they are more than so many, and how they are grouped: as reported where that leaves
/// few enough, else as many beside each other as it takes.
fn grouped(rows: Vec<Vec<CpuId>>, input: &ReportInput<'_>, most: usize) -> (Vec<Vec<CpuId>>, Option<String>) {
    if rows.len() <= most {
        return (rows, None);
    }
    let (all, topology) = (rows.len(), input.arranged());
    let as_reported = topology.levels().into_iter().filter(|level| *level > Level::Core).find_map(|level| {
        let parts = rows::Axis::new(&rows, topology, all, Some(level), None).parts;
        (2..=MOST_GROUPS).contains(&parts.len()).then_some((parts, level))
    });
    let cpus = count(rows.iter().map(Vec::len).sum::<usize>() as u64, "CPU");
    let (parts, what) = match as_reported {
        Some((parts, _)) if input.file().is_some() => (parts, "groups".to_owned()),
        Some((parts, level)) => (parts, level_words(level, 2).to_owned()),
        None => {
            let each = all.div_ceil(MOST_GROUPS);
            let parts = rows::Axis::new(&rows, topology, each, None, None).parts;
            (parts, format!("groups of up to {each} neighbours"))
        }
    };
    let words = format!(
        "{cpus} in {} {what}; each square is the median of the pairs between two of them",
        parts.len()
    );
    (parts, Some(words))
}

/// The colours from bottom to top, with their values.
fn colors_beside(picture: &mut Picture, colors: &Colors, unit: &str, [left, top]: [f64; 2], height: f64) {
    let kind = if matches!(colors, Colors::Level(_)) { Kind::Log } else { Kind::Linear };
    let axis = Axis { label: String::new(), ends: colors.ends(), kind };
    let high = height / f64::from(STEPS);
    for (step, value) in along(&axis) {
        let y = top + height - (f64::from(step) + 1.0) * high;
        picture.rect([left, y, 10.0, high], Ink::Rgb(colors.rgb(value)));
    }
    let faint = SMALL.in_ink(Ink::Faint);
    let mut free = f64::INFINITY;
    let mut right = left + text_width(unit, SMALL.size, Weight::Regular).max(10.0);
    for (value, text) in axis.ticks() {
        let y = top + height * (1.0 - axis.position(value));
        if y < free {
            picture.line(vec![[left + 10.0, y], [left + 13.0, y]], Ink::Faint, 1.0);
            right = right.max(left + 16.0 + text_width(&text, SMALL.size, Weight::Regular));
            picture.text([left + 16.0, (y + 4.0).clamp(top + 8.0, top + height)], Anchor::Start, faint, text);
            free = y - 15.0;
        }
    }
    picture.text([left, top - 7.0], Anchor::Start, faint, unit);
    picture.width = picture.width.max(right);
}

/// What is drawn of a map in these rows.
fn content<'a>(
    map: &'a Map,
    readings: &Matrix<Option<Reading>>,
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
    let of = |value: &dyn Fn(usize) -> Option<f64>| {
        table(&readings_of(&difference.columns, |cell| value(cell).map(|ns| (ns, false))), &rows, &rows)
    };
    let value = |cell: usize| difference.columns.median[cell];
    // What is not shown is pale however large it is.
    let [low, high] = Colors::DIFFERENCE.ends();
    let painted = |cell: usize| {
        value(cell).map(|shift| if difference.shown[cell] { shift } else { PALE * shift.clamp(low, high) })
    };
    let (cells, paint) = (of(&value), of(&painted));
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

/// The square of cells with its axes, and its corner.
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
    if cell >= LEAST_FOR_NUMBERS {
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
    if n <= MOST_SQUARES {
        (0..n * n).for_each(|index| square(picture, index / n, index % n));
        return;
    }
    let is_halved = |row: usize| content.cells.get(row, row).own.is_some() || content.is_marked(row, row);
    let halved: Vec<usize> = (0..n).filter(|&row| is_halved(row)).collect();
    let area = [left, top, cell * n as f64, cell * n as f64];
    let squares = (0..n * n).map(|index| {
        let (row, column) = (index / n, index % n);
        // Nothing to measure is no gap: the hatch below must not show.
        let of = content.cells.get(row, column);
        let is_marked = content.is_marked(row, column);
        let whole = content.painted().get(row, column).median_ns.filter(|_| of.own.is_none() && !is_marked);
        let color = whole.map(|value| content.colors.rgb(value));
        color.or((of.pairs == 0 || is_marked).then_some([255, 255, 255]))
    });
    picture.shapes.push(Shape::Raster { area, columns: n, squares: squares.collect() });
    for row in halved {
        square(picture, row, row);
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
        if cell * groups.first().map_or(0.0, |group| group.len() as f64) < LEAST_APART {
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
    let size = (cell * 0.36).clamp(8.5, 18.0);
    for row in (0..n).filter(|&row| content.is_marked(row, row)) {
        let height = if content.rows[row].len() > 1 { 0.5 } else { 1.0 };
        let size = size.min(cell * height * 0.72);
        let middle = top + (row as f64 + height / 2.0) * cell + size * 0.36;
        let at = [left + (row as f64 + 0.5) * cell, middle];
        picture.text(at, Anchor::Middle, Type::of(size).in_ink(Ink::Faint), "s");
    }
    for row in 0..n {
        for column in 0..n {
            for Part { value, paint, doubtful, begin, height } in content.parts(row, column) {
                let number = match content.colors {
                    Colors::Level(_) => short(value),
                    Colors::Difference { .. } if value.abs() < 0.5 => "0".to_owned(),
                    Colors::Difference { .. } => format!("{value:+.0}"),
                };
                let text = format!("{number}{}", if doubtful > 0 { "!" } else { "" });
                // Half a square holds smaller letters.
                let size = size.min(cell * height * 0.72);
                if text_width(&text, size, Weight::Regular) > cell - 2.0 {
                    continue;
                }
                let dark = content.colors.wants_dark_text(paint);
                let ink = Ink::Rgb(if dark { [0, 0, 0] } else { [255, 255, 255] });
                let middle = top + (row as f64 + begin + height / 2.0) * cell + size * 0.36;
                let at = [left + (column as f64 + 0.5) * cell, middle];
                picture.text(at, Anchor::Middle, Type::of(size).in_ink(ink), text);
            }
        }
    }
}

/// Large numbers, such as messages in a second, in thousands and millions.
pub(super) fn short(value: f64) -> String {
    match value {
        value if value >= 999_500.0 => format!("{}M", short_ns(value / 1e6)),
        value if value >= 9_999.5 => format!("{}k", short_ns(value / 1e3)),
        value => short_ns(value),
    }
}

/// The colours with their values, the unit, and what a hatch means.
fn legend(content: &Content<'_>, words: &str, width: f64) -> Picture {
    let words = super::wrapped(words, (width - EDGE) / OTHER_FONT, SMALL);
    let mut picture = Picture::new("legend", width, 44.0 + LEGEND_LINE * (words.len() as f64 - 1.0).max(0.0));
    let length = width.min(360.0);
    let kind = match content.colors {
        Colors::Level(_) => Kind::Log,
        Colors::Difference { .. } => Kind::Linear,
    };
    let axis = Axis { label: String::new(), ends: content.colors.ends(), kind };
    let wide = length / f64::from(STEPS);
    for (step, value) in along(&axis) {
        picture.rect([f64::from(step) * wide, 0.0, wide, 10.0], Ink::Rgb(content.colors.rgb(value)));
    }
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
    for (line, text) in words.into_iter().enumerate() {
        let below = 41.0 + LEGEND_LINE * line as f64;
        picture.text([0.0, below], Anchor::Start, SMALL.in_ink(Ink::Faint), text);
    }
    let missing = content.cells.iter().any(|cell| cell.median_ns.is_none() && cell.pairs > 0);
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

/// Steps of a legend of colours, with the value of each.
fn along(axis: &Axis) -> impl Iterator<Item = (u32, f64)> {
    let ([low, high], kind) = (axis.ends, axis.kind);
    (0..STEPS).map(move |step| {
        let share = f64::from(step) / f64::from(STEPS - 1);
        let value = match kind {
            Kind::Log => low * (high / low).powf(share),
            Kind::Linear | Kind::Nines => low + (high - low) * share,
        };
        (step, value)
    })
}

/// The unit, what the colours span, and whether values lie beyond.
fn legend_words(map: &Map, Painted { scale, same }: Painted) -> String {
    let values = || map.columns.median.iter().copied().flatten();
    let beyond =
        [values().any(|value| value < scale.low * 0.999), values().any(|value| value > scale.high * 1.001)];
    let is_wider = values().all(|value| value < scale.high * 0.999);
    let range = match (same, is_wider) {
        (Some(same), _) => same,
        (None, true) => {
            "colours from the minimum of this map to 1.5 times that, so that noise does not fill the scale"
        }
        (None, false) => "colours fitted to this map",
    };
    let number = |value: f64| if value < 1e5 { ns(value) } else { chart::number(value) };
    let (low, high) = (number(scale.low), number(scale.high));
    let mut words = vec![format!("{}, logarithmic", map.unit), range.to_owned()];
    words.extend(same.is_none().then(|| format!("{} to {}", number(scale.low), number(scale.high))));
    words.extend(map.columns.slices.contains(&true).then(|| format!("s: {SLICES}")));
    words.extend(beyond[0].then(|| format!("below {low}: the first colour")));
    words.extend(beyond[1].then(|| format!("above {high}: the last colour")));
    words.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Columns;

    #[test]
    fn words_below_a_map_say_where_colours_reach_further_than_its_values() {
        let words = |values: [f64; 2]| {
            let columns = Columns { median: values.map(Some).to_vec(), ..Columns::default() };
            let map = Map { columns, ..Map::default() };
            legend_words(&map, Painted::of(&map, ScaleChoice::Fit))
        };
        assert!(
            words([2.0, 2.2]).contains("to 1.5 times that") && words([2.0, 2.2]).contains("2.00 to 3.00")
        );
        assert!(words([2.0, 20.0]).contains("fitted to this map; 2.00 to 20.0"), "{}", words([2.0, 20.0]));
    }
}
