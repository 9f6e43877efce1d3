//! [`Columns`]: small aligned tables whose last column wraps.

use super::text::{columns, left, right, wrap};

/// How a column is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A table of text. The last column takes what is left of the width and wraps.
#[derive(Debug, Clone)]
pub struct Columns {
    align: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Columns {
    /// A table with a heading; an empty heading is left out.
    pub fn new(heading: &[(&str, Align)]) -> Columns {
        let mut rows = Vec::new();
        if heading.iter().any(|(title, _)| !title.is_empty()) {
            rows.push(heading.iter().map(|(title, _)| (*title).to_owned()).collect());
        }
        Columns { align: heading.iter().map(|(_, align)| *align).collect(), rows }
    }

    /// Adds a row; it has as many cells as the heading.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Whether every row stands in one line of this width.
    pub fn is_within(&self, width: usize) -> bool {
        let widths = (0..self.align.len())
            .map(|column| self.rows.iter().map(|row| row.get(column).map_or(0, |cell| columns(cell))).max());
        // One in from the edge, and none apart after the last.
        widths.map(|width| width.unwrap_or(0) + 2).sum::<usize>() < width + 2
    }

    /// Numbers that do not fit stand in blocks below each other, each with the first column.
    fn in_blocks(&self, widths: &[usize], width: usize) -> Vec<String> {
        let cell = |row: &[String], column: usize| {
            let text = row.get(column).map_or("", String::as_str);
            match self.align[column] {
                Align::Left => left(text, widths[column]),
                Align::Right => right(text, widths[column]),
            }
        };
        let mut lines = Vec::new();
        let mut from = 1;
        while from < widths.len() {
            let mut used = 1 + widths[0];
            let fits = widths[from..].iter().take_while(|column| {
                used += 2 + **column;
                used <= width
            });
            let end = from + fits.count().max(1);
            for row in &self.rows {
                let cells: Vec<String> =
                    [0].into_iter().chain(from..end).map(|column| cell(row, column)).collect();
                lines.push(format!(" {}", cells.join("  ")).trim_end().to_owned());
            }
            from = end;
        }
        lines
    }

    /// The lines, two columns apart and one in from the edge.
    pub fn lines(&self, width: usize) -> Vec<String> {
        let last = self.align.len().saturating_sub(1);
        let widths: Vec<usize> = (0..self.align.len())
            .map(|column| {
                self.rows.iter().map(|row| row.get(column).map_or(0, |cell| columns(cell))).max().unwrap_or(0)
            })
            .collect();
        let before: usize = 1 + widths[..last].iter().map(|width| width + 2).sum::<usize>();
        // Where the first columns leave too little, the last one stands below them.
        let below = before + widths.get(last).copied().unwrap_or(0).min(20) > width;
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
            if below {
                let line = line.trim_end();
                match columns(line) <= width {
                    true => lines.push(line.to_owned()),
                    false => lines.extend(wrap(line, width, 4)),
                }
                lines.extend(
                    wrap(text, width.saturating_sub(4), 0).into_iter().map(|part| format!("    {part}")),
                );
                continue;
            }
            let text = match self.align[last] {
                Align::Left => text.to_owned(),
                Align::Right => right(text, widths[last]),
            };
            if self.align[last] == Align::Right {
                line.push_str(&text);
                lines.push(line);
                continue;
            }
            let mut parts = wrap(&text, width - before, 0).into_iter();
            line.push_str(&parts.next().unwrap_or_default());
            lines.push(line.trim_end().to_owned());
            lines.extend(parts.map(|part| format!("{}{part}", " ".repeat(before))));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_do_not_fit_stand_in_blocks_with_their_names() {
        let heading =
            [("method", Align::Left), ("1", Align::Right), ("2", Align::Right), ("4", Align::Right)];
        let mut table = Columns::new(&heading);
        table.row(["mcs", "1 234 567", "2 345 678", "3 456 789"].map(str::to_owned).to_vec());
        let narrow = table.lines(32);
        assert_eq!(
            narrow,
            [
                " method          1          2",
                " mcs     1 234 567  2 345 678",
                " method          4",
                " mcs     3 456 789",
            ]
        );
        assert_eq!(table.lines(80).len(), 2);
    }
}
