//! [`Grid`]: the lines of a table and how they are cut.

use std::borrow::Cow;

use super::cell::{DecimalMark, read_cell};
use super::delimited::Dialect;
use super::document::Document;
use super::{ImportError, Printed, Problem};

/// The lines of a table and how they are cut.
pub(super) struct Grid<'a> {
    pub document: &'a Document<'a>,
    pub lines: &'a [usize],
    pub dialect: Dialect,
}

impl<'a> Grid<'a> {
    /// The fields of a line of the document.
    pub(super) fn fields(
        &self,
        line: usize,
    ) -> impl Iterator<Item = Result<Cow<'a, str>, Problem>> + use<'a> {
        self.dialect.fields(self.document.line(line))
    }

    /// The fields of the first line.
    ///
    /// # Errors
    /// [`Problem::Quote`].
    pub(super) fn first_row(&self) -> Result<Vec<Cow<'a, str>>, ImportError> {
        let line = self.lines[0];
        let fields = self.fields(line).enumerate();
        fields.map(|(index, field)| field.map_err(|problem| problem.at(line, index))).collect()
    }

    /// The first field of every line.
    ///
    /// # Errors
    /// [`Problem::Quote`].
    pub(super) fn first_column(&self) -> Result<Vec<Cow<'a, str>>, ImportError> {
        let first =
            |&line: &usize| self.fields(line).next().transpose().map_err(|problem| problem.at(line, 0));
        self.lines.iter().map(|line| first(line).map(Option::unwrap_or_default)).collect()
    }

    /// Whether the diagonal that starts this many rows down and columns right holds no latency.
    pub(super) fn has_diagonal(&self, down: usize, right: usize) -> bool {
        self.lines.iter().skip(down).enumerate().all(|(index, &line)| {
            let field = self.fields(line).nth(index + right);
            field.is_some_and(|field| field.is_ok_and(|field| is_no_latency(&field, self.dialect.mark)))
        })
    }

    /// Whether more of the cells that are neither border nor diagonal have decimals than have none.
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

/// What a diagonal may hold: nothing, a sign for unknown, or 0.
pub(super) fn is_no_latency(field: &str, mark: DecimalMark) -> bool {
    matches!(read_cell(field, mark), Ok(cell) if cell.is_none_or(|cell| cell.value == 0.0))
}
