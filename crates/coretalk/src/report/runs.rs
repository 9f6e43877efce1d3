//! The view of `runs list`.

use super::text::{bytes, plain, started};
use crate::blocks::{Block, Cell, Column, Table};
use crate::document::{SavedRunDoc, SavedRunState};

/// The list in the order given, newest first by custom.
pub fn blocks(saved: &[SavedRunDoc]) -> Vec<Block<'static>> {
    if saved.is_empty() {
        return vec![Block::Headline("No runs here yet. `coretalk` makes one.".to_owned())];
    }
    let row = |run: &SavedRunDoc| {
        let mut words: Vec<String> = run.tags.iter().map(|tag| format!("#{}", plain(tag))).collect();
        words.push(match &run.reason {
            Some(reason) => plain(reason),
            None if run.command.is_empty() => "quick look".to_owned(),
            None => plain(&run.command.join(" ")),
        });
        let state = match run.state {
            SavedRunState::Complete => "complete",
            SavedRunState::Partial => "partial",
            SavedRunState::Unreadable => "unreadable",
        };
        let machine = run.machine.as_deref().unwrap_or("unknown machine");
        [
            plain(&run.name).into(),
            started(run.started.as_deref().unwrap_or_default()).into(),
            Cell::known(run.cpus.map(|cpus| cpus.to_string())),
            Cell::known(run.bytes.map(bytes)),
            state.into(),
            format!("{} · {}", words.join(" "), plain(machine)).into(),
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
    vec![Block::Table(Table::new(columns).with(saved.iter().map(row)))]
}
