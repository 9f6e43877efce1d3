//! `runs`: commands for saved runs.

use crate::args::RunsCommand;
use crate::args::options::Global;
use crate::commands::shape::{Shape, hand_over, say, shape};
use crate::exit::{ExitCode, Failure};
use crate::run::out::Out;
use crate::run::saved::{Chosen, directory, locate, open, read, write};
use crate::store::{Directory, Listed, ListedRun};
use coretalk_report::document::{Document, SavedRunDoc, SavedRunState, without_private_parts};
use coretalk_report::export::Format;
use coretalk_report::runs::blocks;

pub fn execute(global: &Global, command: &RunsCommand) -> Result<ExitCode, Failure> {
    match command {
        RunsCommand::List => return list(global),
        RunsCommand::Show { run, ladder } => {
            let saved = read(global, run)?;
            let chosen = Chosen { ladder: *ladder, ..Chosen::default() };
            write(global, &saved, global.format.unwrap_or(Format::Text), chosen)?;
        }
        RunsCommand::Names => names(global)?,
        RunsCommand::Tag { run, tag } => open(global, run)?.tag(tag)?,
        RunsCommand::Rm { run } => Directory::remove(&locate(global, run)?)?,
        RunsCommand::Path { run } => {
            let path = locate(global, run)?;
            // Raw bytes, because a path may contain invalid UTF-8.
            let line = [path.as_os_str().as_encoded_bytes(), b"\n"].concat();
            Out::open(global.output.as_deref())?.bytes(&line)?;
        }
    }
    Ok(ExitCode::Done)
}

fn list(global: &Global) -> Result<ExitCode, Failure> {
    let shape = shape(global, "runs list")?;
    let listed = directory(global.store.as_ref())?.list()?;
    let saved: Vec<SavedRunDoc> = listed.iter().map(saved_run).collect();
    match shape {
        Shape::Text => say(global, &blocks(&saved)),
        Shape::Json(_) => hand_over(global, &Document::of_saved(&saved)),
    }
}

/// Prints the selectors of runs for completion, newest first: `latest`, tags, and short names. Omits tags with special
/// characters such as a space or a dollar sign, because the shell expands the offered words.
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

fn saved_run(listed: &Listed) -> SavedRunDoc {
    let base = SavedRunDoc {
        id: listed.id.clone(),
        name: listed.name.clone(),
        bytes: std::fs::metadata(&listed.path).ok().map(|metadata| metadata.len()),
        ..SavedRunDoc::default()
    };
    match &listed.run {
        Ok(ListedRun { header, environment, cpus }) => SavedRunDoc {
            started: Some(header.started.clone()),
            tags: header.tags.clone(),
            command: without_private_parts(&header.command),
            machine: environment
                .label
                .clone()
                .or_else(|| environment.simulated.as_ref().map(|name| format!("sim:{name}")))
                .or_else(|| environment.cpu_model.clone()),
            cpus: Some(*cpus),
            state: if header.complete { SavedRunState::Complete } else { SavedRunState::Partial },
            ..base
        },
        Err(error) => SavedRunDoc { reason: Some(format!("failed to {error}")), ..base },
    }
}
