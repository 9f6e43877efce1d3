//! Where a run is kept, what only the user knows of it, and when doubts matter.

use std::path::PathBuf;

/// Where a run is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaveTarget {
    /// In a directory (`None`: the default one), under a tag.
    Store {
        /// `--store`.
        directory: Option<PathBuf>,
        /// `--name`.
        tag: Option<String>,
    },
    /// Nowhere.
    Nowhere,
}

/// What only the user knows of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Remarks {
    /// `--label`.
    pub label: Option<String>,
    /// `--note`.
    pub notes: Vec<(String, String)>,
}

/// When cells that cannot be trusted matter to the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// They are shown.
    Lenient,
    /// They make the command fail.
    Strict,
}
