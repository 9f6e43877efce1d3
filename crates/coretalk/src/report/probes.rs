//! The view of `probes`: what can be measured.

use super::table::{Align, Columns};
use super::text::plain;

/// What a list says of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeRow {
    /// Its stable name.
    pub id: String,
    /// Unit of its result.
    pub unit: String,
    /// The question it answers.
    pub question: String,
}

/// The list in the order of the registry.
pub fn probes(rows: &[ProbeRow], width: usize) -> String {
    let mut table = Columns::new(&[("probe", Align::Left), ("unit", Align::Left), ("answers", Align::Left)]);
    for row in rows {
        table.row(vec![plain(&row.id), plain(&row.unit), plain(&row.question)]);
    }
    let mut lines = table.lines(width);
    lines.push(super::text::cut(" machine code of a timed loop: coretalk probes --asm NAME", width));
    lines.join("\n") + "\n"
}
