//! The view of `runs list`.

use super::text::{bytes, plain, started, wrap};
use crate::blocks::Align;
use crate::render::terminal::Columns;

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
    pub standing: Standing,
    /// Size of the file in bytes.
    pub bytes: u64,
}

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Everything planned has an outcome.
    Complete,
    /// Can be resumed.
    Partial,
    /// The file cannot be read.
    Unreadable,
}

/// The list in the order given, newest first by custom.
pub fn runs(rows: &[RunRow], width: usize) -> String {
    if rows.is_empty() {
        return wrap("No runs here yet. `coretalk` makes one.", width, 0).join("\n") + "\n";
    }
    let mut table = Columns::new(&[
        ("run", Align::Left),
        ("started", Align::Left),
        ("CPUs", Align::Right),
        ("size", Align::Right),
        ("state", Align::Left),
        ("tags, command, machine", Align::Left),
    ]);
    for row in rows {
        let mut words: Vec<String> = row.tags.iter().map(|tag| format!("#{}", plain(tag))).collect();
        words.push(plain(&row.command));
        let what = format!("{} · {}", words.join(" "), plain(&row.machine));
        table.row(vec![
            plain(&row.id),
            started(&row.started),
            row.cpus.map_or("·".to_owned(), |cpus| cpus.to_string()),
            bytes(row.bytes),
            match row.standing {
                Standing::Complete => "complete",
                Standing::Partial => "partial",
                Standing::Unreadable => "unreadable",
            }
            .to_owned(),
            what,
        ]);
    }
    table.lines(width).join("\n") + "\n"
}
