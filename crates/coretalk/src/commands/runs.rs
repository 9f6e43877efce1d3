//! The `runs` commands.

use crate::args::RunsCommand;
use crate::args::options::Global;
use crate::args::words::FormatWord;
use crate::commands::shape::say;
use crate::document::without_private_parts;
use crate::exit::{ExitCode, Failure};
use crate::report::runs::{RunRow, RunStatus, blocks};
use crate::run::out::Out;
use crate::run::saved::{Chosen, directory, locate, open, read, write};
use crate::store::{Directory, Listed, ListedRun};

/// `runs …`.
///
/// # Errors
/// There is no such run, or the store fails.
pub fn act(global: &Global, command: &RunsCommand) -> Result<ExitCode, Failure> {
    match command {
        RunsCommand::List => list(global)?,
        RunsCommand::Show { run, ladder } => {
            let saved = read(global, run)?;
            let chosen = Chosen { ladder: *ladder, ..Chosen::default() };
            write(global, &saved, global.format.unwrap_or(FormatWord::Text), chosen)?;
        }
        RunsCommand::Names => names(global)?,
        RunsCommand::Tag { run, tag } => open(global, run)?.tag(tag)?,
        RunsCommand::Rm { run } => Directory::remove(&locate(global, run)?)?,
        RunsCommand::Path { run } => {
            let path = locate(global, run)?;
            // The bytes of the name, which need not be text.
            let line = [path.as_os_str().as_encoded_bytes(), b"\n"].concat();
            Out::open(global.output.as_deref())?.bytes(&line)?;
        }
    }
    Ok(ExitCode::Done)
}

fn list(global: &Global) -> Result<(), Failure> {
    let listed = directory(global.store.as_ref())?.list()?;
    let rows: Vec<RunRow> = listed.iter().map(row).collect();
    say(global, &blocks(&rows)).map(|_| ())
}

/// What runs can be called by, newest first: `latest`, tags, and the shortest end of an id. A shell expands what completion
/// offers, so that a tag with a space or a dollar sign is left out: it has to be typed.
fn names(global: &Global) -> Result<(), Failure> {
    let listed = directory(global.store.as_ref())?.list()?;
    let latest = listed.first().map(|_| "latest".to_owned());
    let of_run = |run: &Listed| {
        let tags = run.run.iter().flat_map(|run| run.header.tags.clone());
        tags.chain([run.name.clone()]).collect::<Vec<_>>()
    };
    let is_word = |name: &String| name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
    let names = latest.into_iter().chain(listed.iter().flat_map(of_run)).filter(is_word);
    let lines: String = names.map(|name| name + "\n").collect();
    Out::open(global.output.as_deref())?.text(&lines)
}

fn row(listed: &Listed) -> RunRow {
    let bytes = std::fs::metadata(&listed.path).map_or(0, |metadata| metadata.len());
    let id = listed.name.clone();
    match &listed.run {
        Ok(ListedRun { header, environment, cpus }) => {
            let simulated = || environment.simulated.as_ref().map(|name| format!("sim:{name}"));
            let machine =
                environment.label.clone().or_else(simulated).or_else(|| environment.cpu_model.clone());
            RunRow {
                id,
                started: header.started.clone(),
                tags: header.tags.clone(),
                command: if header.command.is_empty() {
                    "quick look".into()
                } else {
                    without_private_parts(&header.command).join(" ")
                },
                machine: machine.unwrap_or_else(|| "unknown machine".into()),
                cpus: Some(*cpus),
                status: if header.complete { RunStatus::Complete } else { RunStatus::Partial },
                bytes,
            }
        }
        Err(error) => RunRow {
            id,
            started: String::new(),
            tags: Vec::new(),
            command: format!("failed to {error}"),
            machine: "unknown machine".into(),
            cpus: None,
            status: RunStatus::Unreadable,
            bytes,
        },
    }
}
