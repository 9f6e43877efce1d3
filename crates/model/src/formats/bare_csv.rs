//! Separated values: a bare square or triangle (core-to-core-latency, SoilRos), or one with CPU ids around it.

use std::borrow::Cow;

use super::cell::read_cell;
use super::delimited::Dialect;
use super::document::Document;
use super::label::{CpuLabels, is_whole, read_label};
use super::square::{Shape, Square};
use super::{FormatId, ImportError, ImportedMatrix, Labels, MAX_CPUS, Printed, Problem, Unit, Warning};

/// The first line from `index` on that is a row: neither blank (tabs are cells) nor a comment.
pub(super) fn next_row(document: &Document, index: usize) -> Option<usize> {
    (index..document.len()).find(|&index| {
        let line = document.line(index).trim_start_matches(' ');
        !line.is_empty() && !line.starts_with('#')
    })
}

/// Reads the rows of a file without any announcement.
///
/// # Errors
/// What the table gets wrong.
pub(super) fn read(document: &Document) -> Result<ImportedMatrix, ImportError> {
    let lines = rows(document, 0, document.len())?;
    let (square, labels) = read_square(document, &lines)?;
    let format = match labels {
        Labels::FromFile => FormatId::LabelledCsv,
        Labels::RowNumbers => FormatId::BareCsv,
    };
    let mut imported = square.finish(format, Unit::Ns, labels, Shape::Detect)?;
    imported.warnings.insert(0, Warning::UnitAssumed { unit: Unit::Ns });
    Ok(imported)
}

/// The rows between two lines, the second not included.
///
/// # Errors
/// [`Problem::TooManyCpus`].
pub(super) fn rows(document: &Document, from: usize, to: usize) -> Result<Vec<usize>, ImportError> {
    let mut lines = Vec::new();
    let mut next = from;
    while let Some(line) = next_row(document, next).filter(|&line| line < to) {
        // A header is one line more than there are CPUs.
        if lines.len() > MAX_CPUS {
            return Err(Problem::TooManyCpus.at_line(line));
        }
        lines.push(line);
        next = line + 1;
    }
    Ok(lines)
}

/// Reads these lines as a table, with ids if there are any.
///
/// # Errors
/// What the table gets wrong.
pub(super) fn read_square(document: &Document, lines: &[usize]) -> Result<(Square, Labels), ImportError> {
    if lines.is_empty() {
        return Err(Problem::NoValues.into());
    }
    let grid = Grid { document, lines, dialect: Dialect::detect(document, lines)? };
    let frame = Frame::of(&grid)?;
    let columns = grid.labels(&frame)?;
    let mut square = Square::new(&columns)?;
    let mut seen = CpuLabels::default();
    for (index, &line) in lines.iter().enumerate().skip(frame.header as usize) {
        let index = index - frame.header as usize;
        let mut row = index + frame.cells.first_row();
        for (field_index, field) in grid.fields(line).enumerate() {
            let fail = |problem: Problem| problem.at(line, field_index);
            let field = field.map_err(fail)?;
            if frame.row_labels && field_index == 0 {
                let cpu = read_label(&field).map_err(fail)?;
                seen.push(cpu).map_err(fail)?;
                row = columns.position(cpu).map_err(fail)?;
                continue;
            }
            let column = field_index - frame.row_labels as usize + frame.cells.first_column(index);
            let number = read_cell(&field, grid.dialect.mark).map_err(fail)?;
            // What lies beyond is the empty field after a separator at the end of the line.
            if column < columns.len() {
                square.set(row, column, number).map_err(fail)?;
            }
        }
    }
    let labelled = frame.header || frame.row_labels;
    Ok((square, if labelled { Labels::FromFile } else { Labels::RowNumbers }))
}

/// The lines of a table and how they are cut.
struct Grid<'a> {
    document: &'a Document<'a>,
    lines: &'a [usize],
    dialect: Dialect,
}

impl<'a> Grid<'a> {
    fn fields(&self, line: usize) -> impl Iterator<Item = Result<Cow<'a, str>, Problem>> + use<'a> {
        self.dialect.fields(self.document.line(line))
    }

    fn first_row(&self) -> Result<Vec<Cow<'a, str>>, ImportError> {
        let line = self.lines[0];
        let fields = self.fields(line).enumerate();
        fields.map(|(index, field)| field.map_err(|problem| problem.at(line, index))).collect()
    }

    fn first_column(&self) -> Result<Vec<Cow<'a, str>>, ImportError> {
        let first =
            |&line: &usize| self.fields(line).next().transpose().map_err(|problem| problem.at(line, 0));
        self.lines.iter().map(|line| first(line).map(Option::unwrap_or_default)).collect()
    }

    /// The CPU ids in the order of the columns.
    fn labels(&self, frame: &Frame) -> Result<CpuLabels, ImportError> {
        if !frame.header && !frame.row_labels {
            return Ok(CpuLabels::numbered(frame.cpus));
        }
        let mut labels = CpuLabels::default();
        if frame.header {
            let skipped = frame.row_labels as usize;
            for (index, field) in self.first_row()?.iter().enumerate().skip(skipped).take(frame.cpus) {
                let pushed = read_label(field).and_then(|cpu| labels.push(cpu));
                pushed.map_err(|problem| problem.at(self.lines[0], index))?;
            }
        } else {
            for (field, &line) in self.first_column()?.iter().zip(self.lines) {
                let pushed = read_label(field).and_then(|cpu| labels.push(cpu));
                pushed.map_err(|problem| problem.at(line, 0))?;
            }
        }
        Ok(labels)
    }

    /// Whether more of the cells that are neither border nor diagonal have decimals than have none.
    fn inner_has_decimals(&self) -> bool {
        let mut balance = 0i64;
        for (row, &line) in self.lines.iter().enumerate().skip(1) {
            for (_, field) in self.fields(line).enumerate().skip(1).filter(|&(column, _)| column != row) {
                match field.ok().and_then(|field| read_cell(&field, self.dialect.mark).ok().flatten()) {
                    Some(number) if number.printed == Printed::Decimals => balance += 1,
                    Some(_) => balance -= 1,
                    None => {}
                }
            }
        }
        balance > 0
    }
}

/// Where the cells of a table are.
struct Frame {
    cpus: usize,
    header: bool,
    row_labels: bool,
    cells: Cells,
}

/// Which cells a row has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cells {
    All,
    /// Row `i` ends at its diagonal; the first row of a triangle without diagonal is a blank line.
    Lower(Diagonal),
    /// Row `i` begins at its diagonal.
    Upper(Diagonal),
}

/// Whether the rows of a triangle hold their diagonal cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Diagonal {
    Written,
    LeftOut,
}

impl Cells {
    fn first_row(self) -> usize {
        (self == Cells::Lower(Diagonal::LeftOut)) as usize
    }

    fn first_column(self, row: usize) -> usize {
        match self {
            Cells::All | Cells::Lower(_) => 0,
            Cells::Upper(Diagonal::Written) => row,
            Cells::Upper(Diagonal::LeftOut) => row + 1,
        }
    }
}

/// What the form of a table is judged by.
struct Widths {
    widths: Vec<usize>,
    /// Whether every row ends in a blank field, or in what a diagonal may hold.
    ends_blank: bool,
    ends_in_diagonal: bool,
    starts_in_diagonal: bool,
}

impl Widths {
    fn of(grid: &Grid) -> Result<Widths, ImportError> {
        let mut all = Widths {
            widths: Vec::with_capacity(grid.lines.len()),
            ends_blank: true,
            ends_in_diagonal: true,
            starts_in_diagonal: true,
        };
        let is_diagonal = |field: &str| matches!(read_cell(field, grid.dialect.mark), Ok(cell) if cell.is_none_or(|cell| cell.value == 0.0));
        for &line in grid.lines {
            let (mut width, mut last) = (0, Cow::Borrowed(""));
            for (index, field) in grid.fields(line).enumerate() {
                last = field.map_err(|problem| problem.at(line, index))?;
                if index == 0 {
                    all.starts_in_diagonal &= is_diagonal(&last);
                }
                width = index + 1;
            }
            // Row label and separator at the end may add one each.
            if width > MAX_CPUS + 2 {
                return Err(Problem::TooManyCpus.at_line(line));
            }
            all.ends_blank &= last.is_empty();
            all.ends_in_diagonal &= is_diagonal(&last);
            all.widths.push(width);
        }
        Ok(all)
    }

    fn grow_from(&self, first: usize) -> bool {
        self.widths.iter().enumerate().all(|(index, &width)| width == index + first)
    }

    fn shrink_to_one(&self) -> bool {
        let rows = self.widths.len();
        self.widths.iter().enumerate().all(|(index, &width)| width == rows - index)
    }

    /// The width of most rows, and the first row that has another.
    fn odd_one_out(&self) -> Option<(usize, usize)> {
        let mut sorted = self.widths.clone();
        sorted.sort_unstable();
        let usual = sorted.chunk_by(|a, b| a == b).max_by_key(|same| same.len()).map_or(0, |same| same[0]);
        self.widths.iter().position(|&width| width != usual).map(|row| (usual, row))
    }
}

impl Frame {
    fn of(grid: &Grid) -> Result<Frame, ImportError> {
        let widths = Widths::of(grid)?;
        let rows = grid.lines.len();
        let bare = |cpus, cells| Ok(Frame { cpus, header: false, row_labels: false, cells });
        let diagonal = |written| if written { Diagonal::Written } else { Diagonal::LeftOut };
        let Some((usual, odd)) = widths.odd_one_out() else {
            return Frame::of_rectangle(grid, &widths);
        };
        let trailing = widths.ends_blank && widths.grow_from(2);
        if trailing || widths.grow_from(1) {
            let diagonal = diagonal(!trailing && widths.ends_in_diagonal);
            return bare(rows + (diagonal == Diagonal::LeftOut) as usize, Cells::Lower(diagonal));
        }
        if widths.shrink_to_one() {
            let diagonal = diagonal(widths.starts_in_diagonal);
            return bare(rows + (diagonal == Diagonal::LeftOut) as usize, Cells::Upper(diagonal));
        }
        Err(Problem::Ragged { cells: widths.widths[odd], expected: usual }.at_line(grid.lines[odd]))
    }

    fn of_rectangle(grid: &Grid, widths: &Widths) -> Result<Frame, ImportError> {
        let (rows, columns) = (grid.lines.len(), widths.widths[0]);
        let (top, left) = (grid.first_row()?, grid.first_column()?);
        let frame = |cpus: usize, header, row_labels| {
            if cpus > MAX_CPUS {
                return Err(Problem::TooManyCpus.into());
            }
            Ok(Frame { cpus, header, row_labels, cells: Cells::All })
        };
        if rows == columns {
            // `0,1,2,` above rows that end in a separator, too.
            let open = &top[..columns - 1];
            if widths.ends_blank && rows > 2 && (are_named(open) || are_counted(open)) {
                return frame(columns - 1, true, false);
            }
            return match is_framed(grid, &top, &left)? {
                true => frame(rows - 1, true, true),
                false => frame(rows, false, false),
            };
        }
        if columns == rows + 1 {
            if are_named(&left) || are_counted(&left) || (is_ascending(&left) && !widths.ends_blank) {
                return frame(rows, false, true);
            }
            if widths.ends_blank {
                return match is_framed(grid, &top[..rows], &left)? {
                    true => frame(rows - 1, true, true),
                    false => frame(rows, false, false),
                };
            }
        }
        if rows == columns + 1 && (are_named(&top) || are_counted(&top) || is_ascending(&top)) {
            return frame(columns, true, false);
        }
        Err(Problem::NotSquare { rows, columns }.into())
    }
}

/// Whether the first row and column of a square are CPU ids.
fn is_framed(grid: &Grid, top: &[Cow<str>], left: &[Cow<str>]) -> Result<bool, ImportError> {
    let corner = &top[0];
    let (top, left) = (&top[1..], &left[1..]);
    if are_named(top) || are_named(left) {
        return Ok(true);
    }
    match read_cell(corner, grid.dialect.mark) {
        // A word such as `cpu` in the corner.
        Err(Problem::NotANumber { .. }) => return Ok(true),
        Ok(None) if corner.is_empty() => {}
        _ => return Ok(false),
    }
    // One row and column of ids would leave one CPU.
    let whole = |border: &[Cow<str>]| border.iter().all(|text| is_whole(text));
    if top.len() < 2 || !whole(top) || !whole(left) {
        return Ok(false);
    }
    // Nobody is 0, 1, 2, … ns away from one after the other.
    if are_counted(top) || are_counted(left) {
        return Ok(true);
    }
    // A tool prints all its latencies alike, so whole numbers around decimals are ids; but three cells may be chance.
    if top.len() > 2 && grid.inner_has_decimals() {
        return Ok(true);
    }
    if top == left && is_ascending(top) {
        return Err(Problem::AmbiguousLabels.at_line(grid.lines[0]));
    }
    Ok(false)
}

/// `CPU 0`, `CPU 1`: ids that cannot be latencies.
fn are_named(border: &[Cow<str>]) -> bool {
    !border.is_empty() && border.iter().all(|text| !is_whole(text) && read_label(text).is_ok())
}

/// `0`, `1`, `2`.
fn are_counted(border: &[Cow<str>]) -> bool {
    border.len() > 1
        && border.iter().enumerate().all(|(index, text)| is_whole(text) && text.parse() == Ok(index))
}

fn is_ascending(border: &[Cow<str>]) -> bool {
    let ids: Option<Vec<u32>> =
        border.iter().map(|text| read_label(text).ok().filter(|_| is_whole(text)).map(|cpu| cpu.0)).collect();
    ids.is_some_and(|ids| ids.is_sorted_by(|a, b| a < b))
}
