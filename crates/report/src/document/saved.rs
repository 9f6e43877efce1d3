//! The entries of `runs list`.

use super::Document;
use schemars::JsonSchema;
use serde::Serialize;

/// A saved run.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct SavedRunDoc {
    /// UUID v7, from the name of its file.
    pub id: String,
    /// Shortest suffix of the id that no other run of the store has.
    pub name: String,
    /// Start time, RFC 3339, UTC; null if the file cannot be read.
    pub started: Option<String>,
    /// Names given by the user.
    pub tags: Vec<String>,
    /// Command line without program name and private parts; empty for a bare quick look or an unreadable file.
    pub command: Vec<String>,
    /// Label, scenario or CPU model; null if unknown.
    pub machine: Option<String>,
    /// Number of measured CPUs; null if the file cannot be read.
    pub cpus: Option<usize>,
    /// Whether the run is complete and readable.
    pub state: SavedRunState,
    /// File size in bytes; null if the system does not report it.
    pub bytes: Option<u64>,
    /// Why the file cannot be read; null if it can.
    pub reason: Option<String>,
}

/// The state of a saved run.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SavedRunState {
    /// Every planned trial has a result, or the budget ended.
    Complete,
    /// Incomplete; it can be resumed.
    Partial,
    /// The file cannot be read.
    #[default]
    Unreadable,
}

impl<'a> Document<'a> {
    /// Creates the document of a list of saved runs.
    pub fn of_saved(saved: &'a [SavedRunDoc]) -> Document<'a> {
        Document { saved: Some(saved), ..Document::empty() }
    }
}
