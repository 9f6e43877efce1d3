//! [`Block`]: a part of the output for people, independent of the medium.
//!
//! [`crate::render`] turns blocks into terminal lines or HTML. Code that creates blocks does not know the output width.

mod source;
pub mod value;

use crate::style::Style;
use value::{DisplayValue, Sentence};

/// Function that draws with characters. The lines must fit the width of the style.
type Draw<'a> = Box<dyn Fn(&Style) -> Drawing + 'a>;

/// Lines of characters, with their numbers as typed values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Drawing {
    /// Lines from top to bottom.
    pub lines: Vec<String>,
    /// Sentences in the lines.
    pub said: Vec<Sentence>,
    /// Further numbers in the lines.
    pub numbers: Vec<DrawnNumber>,
    /// Unit symbol of numbers without a unit of their own.
    pub unit: String,
}

/// A number in a [`Drawing`].
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnNumber {
    /// The number.
    pub value: DisplayValue,
    /// Whether a mark shows that the number may be wrong.
    pub doubtful: bool,
}

impl From<Vec<String>> for Drawing {
    fn from(lines: Vec<String>) -> Drawing {
        Drawing { lines, ..Drawing::default() }
    }
}

/// A part of a screen or a page.
pub enum Block<'a> {
    /// Facts about the measurement, a few words each.
    Title(Vec<Sentence>),
    /// Question that the following blocks answer.
    Question(Sentence),
    /// First line of a screen about one subject.
    Headline(Sentence),
    /// First line of a screen with results: a finding.
    Answer(Sentence),
    /// Heading of the following blocks.
    Heading(Sentence),
    /// Sentences.
    Prose(Sentence),
    /// Sentences that explain the preceding block.
    Remark(Sentence),
    /// List item.
    Item(Sentence),
    /// Reason not to trust a result.
    Doubt(Sentence),
    /// Conclusion from the preceding block.
    Conclusion(Sentence),
    /// Facts of a few words each, on one line if they fit.
    Parts(Vec<Sentence>),
    /// A short label and its text. Consecutive facts form a list.
    Fact(&'static str, Sentence),
    /// A name and a line to copy, which is never wrapped.
    Command(String, String),
    /// Rows and columns.
    Table(Table),
    /// Rows and columns, and their replacement on narrow terminals.
    Wide(Table, Vec<Block<'a>>),
    /// Drawing of characters.
    Drawing(Draw<'a>),
    /// Drawing of characters that an HTML page replaces by a scripted picture.
    Sketch(Draw<'a>),
    /// Blank line on a terminal. Consecutive gaps are merged.
    Gap,
}

impl<'a> Block<'a> {
    /// Returns the typed numbers. For drawings, whose numbers depend on the style, see [`Drawing::numbers`].
    pub fn values(&self) -> Vec<&DisplayValue> {
        match self {
            Block::Table(table) | Block::Wide(table, _) => {
                let words = table.columns.iter().map(|column| &column.title).chain(&table.about);
                let cells = table.rows.iter().flatten().flat_map(Cell::values);
                words.flat_map(Sentence::values).chain(cells).collect()
            }
            _ => self.sentences().into_iter().flat_map(Sentence::values).collect(),
        }
    }

    /// Returns the sentences; for a table, from the titles to the last row.
    pub fn sentences(&self) -> Vec<&Sentence> {
        match self {
            Block::Title(all) | Block::Parts(all) => all.iter().collect(),
            Block::Question(sentence)
            | Block::Headline(sentence)
            | Block::Answer(sentence)
            | Block::Heading(sentence)
            | Block::Prose(sentence)
            | Block::Remark(sentence)
            | Block::Item(sentence)
            | Block::Doubt(sentence)
            | Block::Conclusion(sentence)
            | Block::Fact(_, sentence) => vec![sentence],
            Block::Table(table) | Block::Wide(table, _) => {
                let words = table.columns.iter().map(|column| &column.title).chain(&table.about);
                let cells = table.rows.iter().flatten().filter_map(|cell| match cell {
                    Cell::Sentence(sentence) => Some(sentence),
                    _ => None,
                });
                words.chain(cells).collect()
            }
            Block::Command(..) | Block::Drawing(_) | Block::Sketch(_) | Block::Gap => Vec::new(),
        }
    }

    /// Creates a drawing of characters.
    pub fn drawing<D: Into<Drawing>>(draw: impl Fn(&Style) -> D + 'a) -> Block<'a> {
        Block::Drawing(Box::new(move |style| draw(style).into()))
    }

    /// Creates a drawing that an HTML page replaces.
    pub fn sketch<D: Into<Drawing>>(draw: impl Fn(&Style) -> D + 'a) -> Block<'a> {
        Block::Sketch(Box::new(move |style| draw(style).into()))
    }
}

/// Alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// For words.
    Left,
    /// For numbers.
    Right,
}

/// A column of a [`Table`].
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Title, on one or several lines.
    pub title: Sentence,
    /// Alignment of the cells.
    pub align: Align,
    /// Minimum terminal width for showing the column.
    pub least_width: usize,
    /// Whether each cell reserves a character for a mark after its value.
    pub is_marked: bool,
    /// Whether cells are truncated: in the last column at the edge of the terminal, else at half of its width.
    pub is_cut: bool,
    /// Whether the columns up to this one identify the row. Each part of a split table repeats them.
    pub is_name: bool,
    /// Meaning for the legend; empty if the title suffices.
    pub meaning: &'static str,
    /// Whether the meaning continues the meaning of the previous column.
    pub is_continued: bool,
}

impl Column {
    /// Creates a column of words.
    pub fn words(title: impl Into<Sentence>) -> Column {
        let title = title.into();
        let align = Align::Left;
        Column {
            title,
            align,
            least_width: 0,
            is_marked: false,
            is_cut: false,
            is_name: false,
            meaning: "",
            is_continued: false,
        }
    }

    /// Creates a column of numbers.
    pub fn numbers(title: impl Into<Sentence>) -> Column {
        Column { align: Align::Right, ..Column::words(title) }
    }

    /// Hides the column on terminals with fewer characters per line than this.
    pub fn from_width(self, least_width: usize) -> Column {
        Column { least_width, ..self }
    }

    /// Reserves a character for a mark after each value.
    pub fn marked(self) -> Column {
        Column { is_marked: true, ..self }
    }

    /// Truncates cells instead of wrapping them.
    pub fn cut(self) -> Column {
        Column { is_cut: true, ..self }
    }

    /// Makes the column identify the row.
    pub fn naming(self) -> Column {
        Column { is_name: true, ..self }
    }

    /// Sets a meaning that continues the meaning of the previous column.
    pub fn continuing(self, meaning: &'static str) -> Column {
        Column { meaning, is_continued: true, ..self }
    }

    /// Sets the meaning in the legend.
    pub fn meaning(self, meaning: &'static str) -> Column {
        Column { meaning, ..self }
    }
}

/// A cell of a [`Table`].
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A number, with an optional mark such as a doubt.
    Value(DisplayValue, Option<char>),
    /// A sentence with typed numbers.
    Sentence(Sentence),
    /// An unknown value.
    Unknown,
    /// An empty cell: the same value as above, or no value.
    Blank,
}

impl Cell {
    /// Returns the typed numbers.
    pub fn values(&self) -> Vec<&DisplayValue> {
        match self {
            Cell::Value(value, _) => vec![value],
            Cell::Sentence(sentence) => sentence.values(),
            _ => Vec::new(),
        }
    }

    /// Converts an optional value; `None` becomes unknown.
    pub fn known(value: Option<impl Into<Cell>>) -> Cell {
        value.map_or(Cell::Unknown, Into::into)
    }

    /// Converts an optional number; `None` becomes unknown.
    pub fn number(value: Option<DisplayValue>) -> Cell {
        Cell::known(value)
    }

    /// Creates a cell with a name from outside the program.
    pub fn name(name: &str) -> Cell {
        Sentence::name(name).into()
    }

    /// Adds a mark to the number.
    pub fn marked(self, mark: Option<char>) -> Cell {
        match self {
            Cell::Value(value, _) => Cell::Value(value, mark),
            other => other,
        }
    }
}

impl From<DisplayValue> for Cell {
    fn from(value: DisplayValue) -> Cell {
        Cell::Value(value, None)
    }
}

impl From<Sentence> for Cell {
    fn from(sentence: Sentence) -> Cell {
        Cell::Sentence(sentence)
    }
}

impl From<&'static str> for Cell {
    fn from(literal: &'static str) -> Cell {
        Cell::Sentence(literal.into())
    }
}

/// A table of cells.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// Columns from left to right.
    pub columns: Vec<Column>,
    /// Rows with one cell per column.
    pub rows: Vec<Vec<Cell>>,
    /// Beginning of the legend, if any.
    pub about: Option<Sentence>,
}

impl Table {
    /// Creates a table without rows.
    pub fn new(columns: impl Into<Vec<Column>>) -> Table {
        Table { columns: columns.into(), ..Table::default() }
    }

    /// Adds a legend: `about`, and the meanings of the columns.
    pub fn about(self, about: impl Into<Sentence>) -> Table {
        Table { about: Some(about.into()), ..self }
    }

    /// Appends rows.
    pub fn with(mut self, rows: impl IntoIterator<Item = impl Into<Vec<Cell>>>) -> Table {
        rows.into_iter().for_each(|row| self.row(row));
        self
    }

    /// Appends a row.
    pub fn row(&mut self, cells: impl Into<Vec<Cell>>) {
        self.rows.push(cells.into());
    }

    /// Returns the typed numbers with their columns.
    pub fn values(&self) -> Vec<(&Column, &DisplayValue)> {
        let cells = self.rows.iter().flat_map(|row| self.columns.iter().zip(row));
        cells.flat_map(|(column, cell)| cell.values().into_iter().map(move |value| (column, value))).collect()
    }

    /// Removes the columns that a terminal of this width hides.
    pub fn within(&self, width: usize) -> Table {
        let kept: Vec<bool> = self.columns.iter().map(|column| column.least_width <= width).collect();
        let row = |row: &Vec<Cell>| {
            row.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(cell, _)| cell.clone()).collect()
        };
        Table {
            columns: self
                .columns
                .iter()
                .zip(&kept)
                .filter(|(_, kept)| **kept)
                .map(|(it, _)| it.clone())
                .collect(),
            rows: self.rows.iter().map(row).collect(),
            about: self.about.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fmt;

    #[test]
    fn a_narrow_table_and_its_legend_leave_out_the_same_columns() {
        let mut table = Table::new([
            Column::words("method"),
            Column::numbers("least").meaning("the share of the slowest thread"),
            Column::numbers("most").from_width(100).continuing("of the fastest"),
            Column::numbers("run").meaning("additions in a row"),
        ])
        .about("With 4 threads");
        assert_eq!(fmt::legend(&table), None, "a table without rows has no legend");
        table.row(["mcs", "2 %", "3 %", "1.0"].map(Cell::from));
        let legend =
            "With 4 threads: the share of the slowest thread and of the fastest; additions in a row.";
        assert_eq!(fmt::legend(&table.within(100)).as_deref(), Some(legend));
        let narrow = table.within(99);
        let legend = "With 4 threads: the share of the slowest thread; additions in a row.";
        assert_eq!(fmt::legend(&narrow).as_deref(), Some(legend));
        assert_eq!(narrow.rows, [["mcs", "2 %", "1.0"].map(Cell::from)]);
    }
}
