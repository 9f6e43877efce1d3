//! The view of `runs list`.

use super::text::{bytes, plain, started};
use crate::blocks::{Block, Cell, Column, Table};

/// What a list says of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// Shortest unique prefix of the id.
    pub id: String,
    /// RFC 3339, UTC.
    pub started: String,
    /// Names given by the user.
    pub tags: Vec<String>,
    /// Command line without private parts.
    pub command: String,
    /// Label, CPU model or scenario.
    pub machine: String,
    /// CPUs measured; `None` where that cannot be read.
    pub cpus: Option<usize>,
    /// How it stands.
    pub status: RunStatus,
    /// Size of the file in bytes.
    pub bytes: u64,
}

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStatus {
    /// Everything planned has an outcome.
    Complete,
    /// Can be resumed.
    Partial,
    /// The file cannot be read.
    Unreadable,
}

/// The list in the order given, newest first by custom.
pub fn blocks(rows: &[RunRow]) -> Vec<Block<'static>> {
    if rows.is_empty() {
        return vec![Block::Headline("No runs here yet. `coretalk` makes one.".to_owned())];
    }
    let row = |row: &RunRow| {
        let mut words: Vec<String> = row.tags.iter().map(|tag| format!("#{}", plain(tag))).collect();
        words.push(plain(&row.command));
        let status = match row.status {
            RunStatus::Complete => "complete",
            RunStatus::Partial => "partial",
            RunStatus::Unreadable => "unreadable",
        };
        [
            plain(&row.id).into(),
            started(&row.started).into(),
            Cell::known(row.cpus.map(|cpus| cpus.to_string())),
            bytes(row.bytes).into(),
            status.into(),
            format!("{} · {}", words.join(" "), plain(&row.machine)).into(),
        ]
    };
    let columns = [
        Column::words("run"),
        Column::words("started"),
        Column::numbers("CPUs"),
        Column::numbers("size"),
        Column::words("state"),
        Column::words("tags, command, machine"),
    ];
    vec![Block::Table(Table::new(columns).with(rows.iter().map(row)))]
}
