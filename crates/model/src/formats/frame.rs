//! [`Grid`]: the lines of a table and their dialect. [`Frame`]: the position of its cells and CPU ids.

use super::delimited::Dialect;
use super::document::Document;
use super::field::{CpuLabels, DecimalMark, is_whole, read_cell, read_label};
use super::{ImportError, MAX_CPUS, Printed, Problem};
use std::borrow::Cow;

pub(super) struct Grid<'a> {
    pub document: &'a Document<'a>,
    pub lines: &'a [usize],
    pub dialect: Dialect,
}

impl<'a> Grid<'a> {
    pub(super) fn fields(
        &self,
        line: usize,
    ) -> impl Iterator<Item = Result<Cow<'a, str>, Problem>> + use<'a> {
        self.dialect.fields(self.document.line(line))
    }

    pub(super) fn first_row(&self) -> Result<Vec<Cow<'a, str>>, ImportError> {
        let line = self.lines[0];
        let fields = self.fields(line).enumerate();
        fields.map(|(index, field)| field.map_err(|problem| problem.at(line, index))).collect()
    }

    pub(super) fn first_column(&self) -> Result<Vec<Cow<'a, str>>, ImportError> {
        let first =
            |&line: &usize| self.fields(line).next().transpose().map_err(|problem| problem.at(line, 0));
        self.lines.iter().map(|line| first(line).map(Option::unwrap_or_default)).collect()
    }

    pub(super) fn has_diagonal(&self, down: usize, right: usize) -> bool {
        self.lines.iter().skip(down).enumerate().all(|(index, &line)| {
            let field = self.fields(line).nth(index + right);
            field.is_some_and(|field| field.is_ok_and(|field| is_no_latency(&field, self.dialect.mark)))
        })
    }

    pub(super) fn inner_has_decimals(&self) -> bool {
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

/// Whether a field may be on the diagonal: empty, a sign for unknown, or 0.
pub(super) fn is_no_latency(field: &str, mark: DecimalMark) -> bool {
    matches!(read_cell(field, mark), Ok(cell) if cell.is_none_or(|cell| cell.value == 0.0))
}

pub(super) struct Frame {
    pub cpus: usize,
    pub header: bool,
    /// Whether the first field of every line except the header is a CPU id.
    pub row_labels: bool,
    /// Whether the header has a field above the row labels.
    pub corner: bool,
    pub cells: Cells,
    /// Whether the row of the last CPU is missing, but not its column.
    pub cut: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cells {
    All,
    /// Row `i` ends at the diagonal. The first row of a triangle without diagonal is a blank line.
    Lower(Diagonal),
    /// Row `i` begins at the diagonal.
    Upper(Diagonal),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Diagonal {
    Written,
    LeftOut,
}

impl Cells {
    pub(super) fn first_row(self) -> usize {
        (self == Cells::Lower(Diagonal::LeftOut)) as usize
    }

    pub(super) fn first_column(self, row: usize) -> usize {
        match self {
            Cells::All | Cells::Lower(_) => 0,
            Cells::Upper(Diagonal::Written) => row,
            Cells::Upper(Diagonal::LeftOut) => row + 1,
        }
    }
}

struct Widths {
    widths: Vec<usize>,
    ends_blank: bool,
    ends_in_diagonal: bool,
    starts_in_diagonal: bool,
}

impl Widths {
    fn from_grid(grid: &Grid) -> Result<Widths, ImportError> {
        let mut all = Widths {
            widths: Vec::with_capacity(grid.lines.len()),
            ends_blank: true,
            ends_in_diagonal: true,
            starts_in_diagonal: true,
        };
        let is_diagonal = |field: &str| is_no_latency(field, grid.dialect.mark);
        for &line in grid.lines {
            let (mut width, mut last) = (0, Cow::Borrowed(""));
            for (index, field) in grid.fields(line).enumerate() {
                last = field.map_err(|problem| problem.at(line, index))?;
                if index == 0 {
                    all.starts_in_diagonal &= is_diagonal(&last);
                }
                width = index + 1;
            }
            // A row label and a trailing separator may add one field each.
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

    fn first_unusual_row(&self) -> Option<(usize, usize)> {
        let mut sorted = self.widths.clone();
        sorted.sort_unstable();
        let usual = sorted.chunk_by(|a, b| a == b).max_by_key(|same| same.len()).map_or(0, |same| same[0]);
        self.widths.iter().position(|&width| width != usual).map(|row| (usual, row))
    }
}

impl Frame {
    /// Derives the layout from widths, borders and diagonal. Fails if not square, or if borders may be latencies.
    pub(super) fn from_grid(grid: &Grid) -> Result<Frame, ImportError> {
        let widths = Widths::from_grid(grid)?;
        let rows = grid.lines.len();
        let bare = |cpus, cells| {
            Ok(Frame { cpus, header: false, row_labels: false, corner: false, cells, cut: false })
        };
        let diagonal = |written| if written { Diagonal::Written } else { Diagonal::LeftOut };
        let Some((usual, odd)) = widths.first_unusual_row() else {
            return Frame::of_rectangle(grid, &widths);
        };
        // `core0 core1` above rows that begin with an id, without a corner field.
        let cpus = widths.widths[0];
        if cpus + 1 == rows
            && widths.widths[1..].iter().all(|&width| width == rows)
            && are_ids(&grid.first_row()?)
        {
            return Ok(Frame {
                cpus,
                header: true,
                row_labels: true,
                corner: false,
                cells: Cells::All,
                cut: false,
            });
        }
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

    pub(super) fn labels(&self, grid: &Grid) -> Result<CpuLabels, ImportError> {
        if !self.header && !self.row_labels {
            return Ok(CpuLabels::numbered(self.cpus));
        }
        let mut labels = CpuLabels::default();
        if self.header {
            let skipped = self.corner as usize;
            for (index, field) in grid.first_row()?.iter().enumerate().skip(skipped).take(self.cpus) {
                let pushed = read_label(field).and_then(|cpu| labels.push(cpu));
                pushed.map_err(|problem| problem.at(grid.lines[0], index))?;
            }
        } else {
            for (field, &line) in grid.first_column()?.iter().zip(grid.lines) {
                let pushed = read_label(field).and_then(|cpu| labels.push(cpu));
                pushed.map_err(|problem| problem.at(line, 0))?;
            }
        }
        Ok(labels)
    }

    fn of_rectangle(grid: &Grid, widths: &Widths) -> Result<Frame, ImportError> {
        let (rows, columns) = (grid.lines.len(), widths.widths[0]);
        let (top, left) = (grid.first_row()?, grid.first_column()?);
        let frame = |cpus: usize, header, row_labels| {
            if cpus > MAX_CPUS {
                return Err(Problem::TooManyCpus.into());
            }
            let corner = header && row_labels;
            Ok(Frame { cpus, header, row_labels, corner, cells: Cells::All, cut: false })
        };
        if rows == columns {
            // `0,1,2,` above rows with a trailing separator.
            let ids = &top[..columns - 1];
            if widths.ends_blank && rows > 2 && (are_named(ids) || are_counted(ids)) {
                return frame(columns - 1, true, false);
            }
            return match is_framed(grid, &top, &left)? {
                true => frame(rows - 1, true, true),
                false => frame(rows, false, false),
            };
        }
        if columns == rows + 1 {
            if are_named(&left) || are_counted(&left) || (is_ascending(&left) && grid.has_diagonal(0, 1)) {
                return frame(rows, false, true);
            }
            if widths.ends_blank {
                return match is_framed(grid, &top[..rows], &left)? {
                    true => frame(rows - 1, true, true),
                    false => frame(rows, false, false),
                };
            }
            // The file lacks its last row. The diagonal shows that the other rows are in place.
            if rows > 2 && grid.has_diagonal(0, 0) {
                return Ok(Frame { cut: true, ..frame(columns, false, false)? });
            }
        }
        if rows == columns + 1
            && (are_named(&top) || are_counted(&top) || (is_ascending(&top) && grid.has_diagonal(1, 0)))
        {
            return frame(columns, true, false);
        }
        Err(Problem::NotSquare { rows, columns }.into())
    }
}

fn is_framed(grid: &Grid, top: &[Cow<str>], left: &[Cow<str>]) -> Result<bool, ImportError> {
    let corner = &top[0];
    let (top, left) = (&top[1..], &left[1..]);
    if are_named(top) || are_named(left) {
        return Ok(true);
    }
    match read_cell(corner, grid.dialect.mark) {
        Err(Problem::NotANumber { .. }) => return Ok(true),
        Ok(None) if corner.is_empty() => {}
        _ => return Ok(false),
    }
    // A table of 2 × 2 fields with a row and a column of ids would have only one CPU.
    let whole = |border: &[Cow<str>]| border.iter().all(|text| is_whole(text));
    if top.len() < 2 || !whole(top) || !whole(left) {
        return Ok(false);
    }
    // Latencies are never 0, 1, 2 and so on in sequence.
    if are_counted(top) || are_counted(left) {
        return Ok(true);
    }
    // A tool prints all latencies alike, so three or more whole numbers around decimals are ids.
    if top.len() > 2 && grid.inner_has_decimals() {
        return Ok(true);
    }
    if top == left && is_ascending(top) {
        return Err(Problem::AmbiguousLabels.at_line(grid.lines[0]));
    }
    Ok(false)
}

fn are_ids(border: &[Cow<str>]) -> bool {
    border.len() > 1 && border.iter().all(|text| read_label(text).is_ok())
}

fn are_named(border: &[Cow<str>]) -> bool {
    !border.is_empty() && border.iter().all(|text| !is_whole(text) && read_label(text).is_ok())
}

fn are_counted(border: &[Cow<str>]) -> bool {
    border.len() > 1
        && border.iter().enumerate().all(|(index, text)| is_whole(text) && text.parse() == Ok(index))
}

fn is_ascending(border: &[Cow<str>]) -> bool {
    let ids: Option<Vec<u32>> =
        border.iter().map(|text| read_label(text).ok().filter(|_| is_whole(text)).map(|cpu| cpu.0)).collect();
    ids.is_some_and(|ids| ids.is_sorted_by(|a, b| a < b))
}
