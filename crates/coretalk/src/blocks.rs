//! [`Block`]: a part of what a person reads, whatever it is shown on.
//!
//! A result becomes blocks once; [`crate::render`] turns them into the lines of a terminal and into HTML, so that the
//! two say the same. Nothing that makes a block knows how wide it will be.

mod source;
pub mod value;

use crate::report::style::Style;
use value::{DisplayValue, Sentence};

/// What draws with characters, none of its lines wider than the style allows.
type Draw<'a> = Box<dyn Fn(&Style) -> Drawing + 'a>;

/// Lines of characters, and the numbers in them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Drawing {
    /// From top to bottom.
    pub lines: Vec<String>,
    /// The sentences among its lines.
    pub said: Vec<Sentence>,
    /// Its other numbers.
    pub numbers: Vec<DrawnNumber>,
    /// The symbol of the unit of those without one of their own.
    pub unit: String,
}

/// A number in a [`Drawing`].
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnNumber {
    /// The number.
    pub value: DisplayValue,
    /// Whether a mark behind it says that it may be wrong.
    pub doubtful: bool,
}

impl From<Vec<String>> for Drawing {
    fn from(lines: Vec<String>) -> Drawing {
        Drawing { lines, ..Drawing::default() }
    }
}

/// A part of a screen or a page.
pub enum Block<'a> {
    /// What was measured: facts in few words each.
    Title(Vec<Sentence>),
    /// The question that the blocks below answer.
    Question(Sentence),
    /// The first line of a screen about one thing.
    Headline(Sentence),
    /// The first line of a screen with results: a finding.
    Answer(Sentence),
    /// The name of the blocks below.
    Heading(Sentence),
    /// Sentences.
    Prose(Sentence),
    /// Sentences that explain the block above.
    Remark(Sentence),
    /// An item of a list below a sentence.
    Item(Sentence),
    /// A reason not to trust something.
    Doubt(Sentence),
    /// What follows from the block above.
    Conclusion(Sentence),
    /// Facts in few words each, on one line where they fit.
    Parts(Vec<Sentence>),
    /// A short label and its text. Several in a row are one list.
    Fact(&'static str, Sentence),
    /// A name and a line to copy, which is never broken.
    Command(String, String),
    /// Rows and columns.
    Table(Table),
    /// Rows and columns, and what replaces them where a terminal is too narrow.
    Wide(Table, Vec<Block<'a>>),
    /// A drawing of characters.
    Drawing(Draw<'a>),
    /// A drawing of characters that a page replaces by a picture with a script.
    Sketch(Draw<'a>),
    /// A blank line on a terminal. Several are one.
    Gap,
}

impl<'a> Block<'a> {
    /// Its typed numbers; those of a drawing depend on its style: [`Drawing::numbers`].
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

    /// Its sentences, in a table from the titles to the last row.
    pub fn sentences(&self) -> Vec<&Sentence> {
        match self {
            Block::Title(all) | Block::Parts(all) => all.iter().collect(),
            Block::Question(said)
            | Block::Headline(said)
            | Block::Answer(said)
            | Block::Heading(said)
            | Block::Prose(said)
            | Block::Remark(said)
            | Block::Item(said)
            | Block::Doubt(said)
            | Block::Conclusion(said)
            | Block::Fact(_, said) => vec![said],
            Block::Table(table) | Block::Wide(table, _) => {
                let words = table.columns.iter().map(|column| &column.title).chain(&table.about);
                let cells = table.rows.iter().flatten().filter_map(|cell| match cell {
                    Cell::Sentence(said) => Some(said),
                    _ => None,
                });
                words.chain(cells).collect()
            }
            Block::Command(..) | Block::Drawing(_) | Block::Sketch(_) | Block::Gap => Vec::new(),
        }
    }

    /// A drawing of characters.
    pub fn drawing<D: Into<Drawing>>(draw: impl Fn(&Style) -> D + 'a) -> Block<'a> {
        Block::Drawing(Box::new(move |style| draw(style).into()))
    }

    /// A drawing that a page replaces.
    pub fn sketch<D: Into<Drawing>>(draw: impl Fn(&Style) -> D + 'a) -> Block<'a> {
        Block::Sketch(Box::new(move |style| draw(style).into()))
    }
}

/// How a column is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A column of a [`Table`].
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// What stands above it, on one line or several.
    pub title: Sentence,
    /// How its cells are aligned.
    pub align: Align,
    /// Narrower terminals leave it out.
    pub least_width: usize,
    /// Whether each cell keeps a place for a mark behind its value.
    pub is_marked: bool,
    /// Whether cells are cut: at half of a terminal, those of the last column at its edge.
    pub is_cut: bool,
    /// Whether it tells rows apart with the columns before it: a table that is divided repeats it.
    pub is_name: bool,
    /// What it means, as a part of the legend; empty where its title says it.
    pub meaning: &'static str,
    /// Whether its meaning continues that of the column before it.
    pub is_continued: bool,
}

impl Column {
    /// A column of words.
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

    /// A column of numbers.
    pub fn numbers(title: impl Into<Sentence>) -> Column {
        Column { align: Align::Right, ..Column::words(title) }
    }

    /// The same, left out where a terminal has fewer columns of characters than this.
    pub fn from_width(self, least_width: usize) -> Column {
        Column { least_width, ..self }
    }

    /// The same with a place for a mark behind each value.
    pub fn marked(self) -> Column {
        Column { is_marked: true, ..self }
    }

    /// The same with cells cut instead of wrapped.
    pub fn cut(self) -> Column {
        Column { is_cut: true, ..self }
    }

    /// The same as a part of what tells rows apart.
    pub fn naming(self) -> Column {
        Column { is_name: true, ..self }
    }

    /// The same, explained in the legend of its table together with the column before it.
    pub fn continuing(self, meaning: &'static str) -> Column {
        Column { meaning, is_continued: true, ..self }
    }

    /// The same, explained in the legend of its table.
    pub fn meaning(self, meaning: &'static str) -> Column {
        Column { meaning, ..self }
    }
}

/// A cell of a [`Table`].
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A number, with a mark that says something about it, such as a doubt.
    Value(DisplayValue, Option<char>),
    /// Words with typed numbers.
    Sentence(Sentence),
    /// A value that is not known.
    Unknown,
    /// Nothing: what stands above holds here too, or there is nothing to say.
    Blank,
}

impl Cell {
    /// Its typed numbers.
    pub fn values(&self) -> Vec<&DisplayValue> {
        match self {
            Cell::Value(value, _) => vec![value],
            Cell::Sentence(said) => said.values(),
            _ => Vec::new(),
        }
    }

    /// What is known of a value.
    pub fn known(value: Option<impl Into<Cell>>) -> Cell {
        value.map_or(Cell::Unknown, Into::into)
    }

    /// A number, or that it is not known.
    pub fn number(value: Option<DisplayValue>) -> Cell {
        Cell::known(value)
    }

    /// A name from outside.
    pub fn name(name: &str) -> Cell {
        Sentence::name(name).into()
    }

    /// The same with a mark behind its number.
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
    fn from(said: Sentence) -> Cell {
        Cell::Sentence(said)
    }
}

impl From<&'static str> for Cell {
    fn from(literal: &'static str) -> Cell {
        Cell::Sentence(literal.into())
    }
}

/// Rows of cells below the titles of their columns.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// From left to right.
    pub columns: Vec<Column>,
    /// As many cells each as there are columns.
    pub rows: Vec<Vec<Cell>>,
    /// How its legend begins; empty without one.
    pub about: Option<Sentence>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: impl Into<Vec<Column>>) -> Table {
        Table { columns: columns.into(), ..Table::default() }
    }

    /// The same with a legend: this, and what the columns mean.
    pub fn about(self, about: impl Into<Sentence>) -> Table {
        Table { about: Some(about.into()), ..self }
    }

    /// The same with these rows below what it has.
    pub fn with(mut self, rows: impl IntoIterator<Item = impl Into<Vec<Cell>>>) -> Table {
        rows.into_iter().for_each(|row| self.row(row));
        self
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl Into<Vec<Cell>>) {
        self.rows.push(cells.into());
    }

    /// Its typed numbers, each with the column that it stands in.
    pub fn values(&self) -> Vec<(&Column, &DisplayValue)> {
        let cells = self.rows.iter().flat_map(|row| self.columns.iter().zip(row));
        cells.flat_map(|(column, cell)| cell.values().into_iter().map(move |value| (column, value))).collect()
    }

    /// Without the columns that a terminal of this width leaves out.
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
    use crate::report::fmt;

    #[test]
    fn a_narrow_table_and_its_legend_leave_out_the_same_columns() {
        let mut table = Table::new([
            Column::words("method"),
            Column::numbers("least").meaning("the share of the slowest thread"),
            Column::numbers("most").from_width(100).continuing("of the fastest"),
            Column::numbers("run").meaning("additions in a row"),
        ])
        .about("With 4 threads");
        assert_eq!(fmt::legend(&table), None, "nothing is said of a table without rows");
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
