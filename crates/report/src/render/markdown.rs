//! Renders tables as Markdown, for pull requests and forums.

use crate::blocks::{Align, Cell, Table};
use crate::fmt;

/// The table, with a line end after each row.
pub fn table(table: &Table) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let rule = table.columns.iter().map(|column| match column.align {
        Align::Left => "---|",
        Align::Right => "---:|",
    });
    let heading = line(table.columns.iter().map(|column| escaped(&fmt::sentence(&column.title))).collect());
    let rows = table.rows.iter().map(|row| line(row.iter().map(text).collect()));
    format!("{heading}|{}\n{}", rule.collect::<String>(), rows.collect::<String>())
}

fn text(cell: &Cell) -> String {
    match cell {
        Cell::Value(_, Some(mark)) => escaped(&format!("{}{mark}", fmt::cell(cell))),
        _ => escaped(&fmt::cell(cell)),
    }
}

/// Escapes text so that it neither ends its cell nor starts an HTML element.
pub fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}
