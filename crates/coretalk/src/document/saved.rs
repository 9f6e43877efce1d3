//! Saved runs as `runs list` lists them.

use super::{Document, without_private_parts};
use crate::store::{Listed, ListedRun};
use schemars::JsonSchema;
use serde::Serialize;

/// A saved run.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct SavedRunDoc {
    /// UUID v7, from the name of its file.
    pub id: String,
    /// The shortest end of the id that no other run of the store has.
    pub name: String,
    /// RFC 3339, UTC; null where the file cannot be read.
    pub started: Option<String>,
    /// Names given by the user.
    pub tags: Vec<String>,
    /// The command line without program name and private parts; empty for a quick look without options, and where the
    /// file cannot be read.
    pub command: Vec<String>,
    /// Label, scenario or CPU model; null where unknown.
    pub machine: Option<String>,
    /// CPUs measured; null where the file cannot be read.
    pub cpus: Option<usize>,
    /// Whether it can be read, and is complete.
    pub state: SavedRunState,
    /// Size of the file; null where the system does not tell.
    pub bytes: Option<u64>,
    /// Why the file cannot be read; null where it can.
    pub reason: Option<String>,
}

/// The state of a saved run.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SavedRunState {
    /// Everything planned has an outcome.
    Complete,
    /// Can be resumed.
    Partial,
    /// The file cannot be read.
    #[default]
    Unreadable,
}

impl SavedRunDoc {
    /// An entry of the list of a store.
    pub fn of(listed: &Listed) -> SavedRunDoc {
        let unreadable = SavedRunDoc {
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
                ..unreadable
            },
            Err(error) => SavedRunDoc { reason: Some(format!("failed to {error}")), ..unreadable },
        }
    }
}

impl<'a> Document<'a> {
    /// The document of a list of saved runs.
    pub fn of_saved(saved: &'a [SavedRunDoc]) -> Document<'a> {
        Document { saved: Some(saved), ..Document::empty() }
    }
}
