//! The screen of `runs list`.

use super::text::{plain, started};
use crate::blocks::value::{DisplayValue, Number, Sentence, Source, pointer};
use crate::blocks::{Block, Cell, Column, Table};
use crate::document::{SavedRunDoc, SavedRunState};
use coretalk_model::quantity::Unit;

const TO_THE_MINUTE: usize = 16;

/// The list in the given order, by default newest first. A run is one line, cut at the edge of a terminal.
pub fn blocks(saved: &[SavedRunDoc]) -> Vec<Block<'static>> {
    if saved.is_empty() {
        return vec![Block::Headline(Sentence::new("No runs here yet. `coretalk` makes one."))];
    }
    let row = |(at, run): (usize, &SavedRunDoc)| {
        let field = |name| Source::Field(pointer!("/saved/{at}/{name}"));
        let mut words: Vec<String> = run.tags.iter().map(|tag| format!("#{}", plain(tag))).collect();
        words.push(match &run.reason {
            Some(reason) => plain(reason),
            None => {
                let command = plain(&without_shown(&run.command).join(" "));
                let command = if command.is_empty() { "quick look" } else { &command };
                format!("{} · {command}", plain(run.machine.as_deref().unwrap_or("unknown machine")))
            }
        });
        let minute: String =
            started(run.started.as_deref().unwrap_or_default()).chars().take(TO_THE_MINUTE).collect();
        let state = match run.state {
            SavedRunState::Complete => "complete",
            SavedRunState::Partial => "partial",
            SavedRunState::Unreadable => "unreadable",
        };
        [
            Cell::name(&run.name),
            Cell::name(&minute),
            Cell::known(run.cpus.map(|cpus| DisplayValue::bare(Number::Count(cpus as u64), field("cpus")))),
            Cell::known(
                run.bytes.map(|bytes| {
                    DisplayValue::bare(Number::Count(bytes), field("bytes")).in_unit(Unit::Bytes)
                }),
            ),
            state.into(),
            Cell::name(&words.join(" ")),
        ]
    };
    let columns = [
        Column::words("run"),
        Column::words("started, UTC"),
        Column::numbers("CPUs"),
        Column::numbers("size").from_width(100),
        Column::words("state"),
        Column::words("tags, machine, command").cut(),
    ];
    vec![Block::Table(Table::new(columns).with(saved.iter().enumerate().map(row)))]
}

/// A command without the options whose values are shown as tag or machine.
fn without_shown(command: &[String]) -> Vec<&str> {
    const SHOWN: [&str; 2] = ["--machine", "--name"];
    let mut words = command.iter().map(String::as_str);
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        // Arguments after `--` belong to a program.
        if word == "--" {
            kept.push(word);
            kept.extend(words);
            break;
        }
        match word.split_once('=').map_or(word, |(option, _)| option) {
            option if !SHOWN.contains(&option) => kept.push(word),
            option if option == word => drop(words.next()),
            _ => {}
        }
    }
    kept
}
