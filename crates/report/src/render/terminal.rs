//! Renders blocks as the lines of a terminal; only this module applies the width limit.

use crate::blocks::{Align, Block, Cell, Column, Table};
use crate::fmt::{self, sentence as written};
use crate::style::{ColorDepth, Style};
use crate::text::{columns, cut, flow, left, right, spaced};

/// A whole screen; every line ends with a line end.
pub fn screen(blocks: &[Block<'_>], style: &Style) -> String {
    lines(blocks, style).join("\n") + "\n"
}

/// The lines of these blocks, without repeated blank lines and without blank lines at the start and the end.
pub fn lines(blocks: &[Block<'_>], style: &Style) -> Vec<String> {
    let width = style.width;
    let lines_of = |(at, block): (usize, &Block<'_>)| match block {
        Block::Question(sentence) => wrap(&written(sentence), width, 2),
        Block::Headline(sentence) | Block::Answer(sentence) => {
            bold(wrap(&written(sentence), width, 2), style)
        }
        // A list of a thousand CPUs is cut.
        Block::Heading(sentence) => {
            wrap(&cut(&format!(" {}", written(sentence)), 3 * width.saturating_sub(4)), width, 1)
        }
        Block::Prose(sentence) => wrap(&format!(" {}", written(sentence)), width, 1),
        Block::Remark(sentence) => wrap(&format!(" {}", written(sentence)), width, 3),
        Block::Item(sentence) => wrap(&format!("  {}", written(sentence)), width, 4),
        Block::Doubt(sentence) => wrap(&format!(" ! {}", written(sentence)), width, 3),
        Block::Conclusion(sentence) => wrap(&format!(" → {}", written(sentence)), width, 2),
        Block::Title(parts) => {
            let parts: Vec<String> = parts.iter().map(written).collect();
            flow(parts.iter().map(String::as_str), " · ", width, 2)
        }
        Block::Parts(parts) => {
            let mut parts: Vec<String> = parts.iter().map(written).collect();
            if let Some(first) = parts.first_mut() {
                first.insert(0, ' ');
            }
            flow(parts.iter().map(String::as_str), " · ", width, 1)
        }
        Block::Fact(label, text) => {
            let is_continued = at > 0 && matches!(&blocks[at - 1], Block::Fact(before, _) if before == label);
            fact(if is_continued { "" } else { label }, &written(text), width)
        }
        Block::Command(name, line) => vec![format!("   {name}: {line}")],
        Block::Table(table) => table_lines(&table.within(width), width),
        Block::Wide(table, _) if columns_of(table, width).is_within(width) => table_lines(table, width),
        Block::Wide(_, narrow) => lines(narrow, style),
        Block::Drawing(draw) | Block::Sketch(draw) => draw(style).lines,
        Block::Gap => vec![String::new()],
    };
    spaced(blocks.iter().enumerate().flat_map(lines_of).collect())
}

fn bold(lines: Vec<String>, style: &Style) -> Vec<String> {
    match style.depth {
        ColorDepth::None => lines,
        _ => lines.into_iter().map(|line| format!("\x1b[1m{line}\x1b[0m")).collect(),
    }
}

const LABEL_WIDTH: usize = 10;

/// A label and its text. Continuation lines are indented, and parts separated by ` · ` are kept whole if possible.
fn fact(label: &str, text: &str, width: usize) -> Vec<String> {
    let room = width.saturating_sub(LABEL_WIDTH + 1).max(20);
    let mut lines: Vec<String> = Vec::new();
    for part in text.split(" · ") {
        match lines.last_mut() {
            Some(line) if columns(line) + 3 + columns(part) <= room => line.push_str(&format!(" · {part}")),
            _ => lines.extend(wrap(part, room, 0)),
        }
    }
    for (at, line) in lines.iter_mut().enumerate() {
        let label = if at == 0 { label } else { "" };
        *line = format!(" {}{line}", left(label, LABEL_WIDTH));
    }
    lines
}

fn table_lines(table: &Table, width: usize) -> Vec<String> {
    let legend = fmt::legend(table).map_or(Vec::new(), |legend| wrap(&format!(" {legend}"), width, 1));
    legend.into_iter().chain(columns_of(table, width).lines(width)).collect()
}

fn columns_of(table: &Table, width: usize) -> Columns {
    let titles: Vec<String> = table.columns.iter().map(|column| fmt::sentence(&column.title)).collect();
    let heading: Vec<(&str, Align)> =
        titles.iter().zip(&table.columns).map(|(title, column)| (title.as_str(), column.align)).collect();
    let mut columns = Columns::new(&heading);
    columns.name_columns = table.columns.iter().rposition(|column| column.is_name).map_or(0, |last| last + 1);
    columns.is_last_cut = table.columns.last().is_some_and(|column| column.is_cut);
    let last = table.columns.len().saturating_sub(1);
    for row in &table.rows {
        let text = |(at, (cell, column)): (usize, (&Cell, &Column))| match column.is_cut && at < last {
            true => cut(&cell_text(cell, column), width / 2),
            false => cell_text(cell, column),
        };
        columns.row(row.iter().zip(&table.columns).enumerate().map(text).collect());
    }
    columns
}

fn cell_text(cell: &Cell, column: &Column) -> String {
    let place = if column.is_marked { " " } else { "" };
    match cell {
        Cell::Value(_, Some(mark)) => format!("{}{mark}", fmt::cell(cell)),
        Cell::Blank => String::new(),
        _ => fmt::cell(cell) + place,
    }
}

/// Wraps words into lines of at most `width` columns; later lines are indented. A word longer than a line is broken.
fn wrap(text: &str, width: usize, indent: usize) -> Vec<String> {
    let words = text.trim_start();
    let (first, rest) = words.split_once(' ').unwrap_or((words, ""));
    if first.is_empty() {
        return Vec::new();
    }
    let first = format!("{}{first}", &text[..text.len() - words.len()]);
    let mut parts = vec![first];
    for word in rest.split(' ').filter(|word| !word.is_empty()) {
        match parts.last_mut() {
            Some(number) if goes_with(number, word) => number.push_str(&format!(" {word}")),
            _ => parts.push(word.to_owned()),
        }
    }
    flow(parts.iter().map(String::as_str), " ", width, indent)
}

/// Whether a word belongs to the number before it, as its unit or its next three digits.
fn goes_with(number: &str, word: &str) -> bool {
    let bare = word.trim_end_matches([',', ';', '.', ':', ')']);
    let is_unit = matches!(bare, "%" | "×" | "ns" | "µs" | "ms" | "s" | "min" | "k" | "M" | "G" | "M/s");
    let is_group = bare.len() == 3 && bare.bytes().all(|byte| byte.is_ascii_digit());
    number.ends_with(|c: char| c.is_ascii_digit()) && (is_unit || is_group)
}

/// A text table. The last column takes the remaining width and is wrapped or cut.
#[derive(Debug, Clone)]
struct Columns {
    align: Vec<Align>,
    /// The number of heading lines, which are the first rows.
    heading_lines: usize,
    /// The number of leading columns that identify a row; 0 stands for the leading columns of words.
    name_columns: usize,
    is_last_cut: bool,
    rows: Vec<Vec<String>>,
}

impl Columns {
    fn new(heading: &[(&str, Align)]) -> Columns {
        let mut rows = Vec::new();
        let lines = heading.iter().map(|(title, _)| title.lines().count()).max().unwrap_or(0);
        let line = |line: usize| move |title: &str| title.lines().nth(line).unwrap_or_default().to_owned();
        rows.extend((0..lines).map(|at| heading.iter().map(|(title, _)| line(at)(title)).collect()));
        let align = heading.iter().map(|(_, align)| *align).collect();
        Columns { align, heading_lines: lines, name_columns: 0, is_last_cut: false, rows }
    }

    fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    fn is_within(&self, width: usize) -> bool {
        let widths = (0..self.align.len())
            .map(|column| self.rows.iter().map(|row| row.get(column).map_or(0, |cell| columns(cell))).max());
        // One blank at the left edge, two between columns, and none after the last.
        widths.map(|width| width.unwrap_or(0) + 2).sum::<usize>() < width + 2
    }

    /// Splits columns that do not fit side by side into blocks. Each block repeats the columns that identify a row.
    fn in_blocks(&self, widths: &[usize], width: usize) -> Vec<String> {
        let cell = |row: &[String], column: usize| {
            let text = row.get(column).map_or("", String::as_str);
            match self.align[column] {
                Align::Left => left(text, widths[column]),
                Align::Right => right(text, widths[column]),
            }
        };
        let words = self.align.iter().take_while(|align| **align == Align::Left).count();
        let takes = |columns: usize| 1 + widths[..columns].iter().map(|width| width + 2).sum::<usize>();
        // If the words leave no room for numbers, the first column alone identifies the row.
        let names = match words {
            _ if self.name_columns > 0 && takes(self.name_columns) <= width * 3 / 4 => self.name_columns,
            words if words > 0 && takes(words) <= width / 2 => words,
            _ => 1,
        };
        let mut lines = Vec::new();
        let mut from = names;
        while from < widths.len() {
            let mut used = takes(names) - 2;
            let fits = widths[from..].iter().take_while(|column| {
                used += 2 + **column;
                used <= width
            });
            let end = from + fits.count().max(1);
            let is_filled =
                |row: &&Vec<String>| row[from..end.min(row.len())].iter().any(|cell| !cell.is_empty());
            for row in self.rows.iter().filter(is_filled) {
                let cells: Vec<String> =
                    (0..names).chain(from..end).map(|column| cell(row, column)).collect();
                lines.push(format!(" {}", cells.join("  ")).trim_end().to_owned());
            }
            from = end;
        }
        lines
    }

    fn is_empty(&self) -> bool {
        self.rows.len() <= self.heading_lines
    }

    fn last_cell(&self, text: &str, width: usize) -> Vec<String> {
        if self.is_last_cut { vec![cut(text, width)] } else { wrap(text, width, 0) }
    }

    /// The lines, with two blanks between columns and one at the left edge; empty for a heading without rows.
    fn lines(&self, width: usize) -> Vec<String> {
        if self.is_empty() {
            return Vec::new();
        }
        let last = self.align.len().saturating_sub(1);
        let widths: Vec<usize> = (0..self.align.len())
            .map(|column| {
                self.rows.iter().map(|row| row.get(column).map_or(0, |cell| columns(cell))).max().unwrap_or(0)
            })
            .collect();
        let indent: usize = 1 + widths[..last].iter().map(|width| width + 2).sum::<usize>();
        // If the first columns leave too little room, the last column goes below them.
        let is_below = indent + widths.get(last).copied().unwrap_or(0).min(20) > width;
        if !self.is_within(width) && self.align.last() == Some(&Align::Right) && last > 1 {
            return self.in_blocks(&widths, width);
        }
        let mut lines = Vec::new();
        for row in &self.rows {
            let mut line = String::from(" ");
            for (column, cell) in row.iter().enumerate().take(last) {
                let padded = match self.align[column] {
                    Align::Left => left(cell, widths[column]),
                    Align::Right => right(cell, widths[column]),
                };
                line.push_str(&padded);
                line.push_str("  ");
            }
            let text = row.get(last).map_or("", String::as_str);
            if is_below {
                let line = line.trim_end();
                match columns(line) <= width {
                    true => lines.push(line.to_owned()),
                    false => lines.extend(wrap(line, width, 4)),
                }
                let parts = self.last_cell(text, width.saturating_sub(4));
                lines.extend(parts.into_iter().map(|part| format!("    {part}")));
                continue;
            }
            let text = match self.align[last] {
                Align::Left => text.to_owned(),
                Align::Right => right(text, widths[last]),
            };
            if self.align[last] == Align::Right {
                line.push_str(&text);
                lines.push(line.trim_end().to_owned());
                continue;
            }
            let mut parts = self.last_cell(&text, width - indent).into_iter();
            line.push_str(&parts.next().unwrap_or_default());
            lines.push(line.trim_end().to_owned());
            lines.extend(parts.map(|part| format!("{}{part}", " ".repeat(indent))));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_lines_fit_and_lose_no_word() {
        let text = "one two three averyveryverylongword four 数数数 five";
        for width in 8..60 {
            let lines = wrap(text, width, 2);
            assert!(lines.iter().all(|line| columns(line) <= width), "{width}: {lines:?}");
            let unspaced: String = lines.concat().split(' ').collect();
            assert_eq!(unspaced, text.replace(' ', ""));
        }
    }

    #[test]
    fn a_number_keeps_its_unit_and_its_digits() {
        let wrapped = ["it takes", "1 300 ns, ±2 %", "or 0.20 × of", "it"];
        assert_eq!(wrap("it takes 1 300 ns, ±2 % or 0.20 × of it", 14, 0), wrapped);
        // Three digits after a word are not a group of a longer number, so they may move to the next line.
        assert_eq!(wrap("CPUs 0 and 100", 10, 0), ["CPUs 0 and", "100"]);
    }

    #[test]
    fn columns_that_do_not_fit_become_blocks_with_row_names() {
        let numbers = ["1", "2", "4"].map(|name| (name, Align::Right));
        let mut table = Columns::new(&[&[("method", Align::Left)][..], &numbers].concat());
        table.row(["mcs", "1 234 567", "2 345 678", "3 456 789"].map(str::to_owned).to_vec());
        let first = [" method          1          2", " mcs     1 234 567  2 345 678"];
        let second = [" method          4", " mcs     3 456 789"];
        assert_eq!(table.lines(32), [first, second].concat());
        assert_eq!(table.lines(80).len(), 2);
        table.name_columns = 2;
        let narrow = table.lines(36);
        assert_eq!(narrow[2..], [" method          1          4", " mcs     1 234 567  3 456 789"]);
    }

    #[test]
    fn a_table_without_rows_is_empty_and_no_line_ends_in_blanks() {
        let mut table = Columns::new(&[("method", Align::Left), ("ns", Align::Right)]);
        assert!(table.lines(80).is_empty());
        table.row(["mcs", "1.5 "].map(str::to_owned).to_vec());
        assert_eq!(table.lines(80), [" method    ns", " mcs     1.5"]);
    }
}
