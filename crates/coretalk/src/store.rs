//! Run files and the directory that holds them.
//!
//! A run is one SQLite file, which gets its final name once it is valid. [`RunWriter`] creates the file and is the sink
//! of the session. [`RunFile`] opens it for reading. [`Directory`] is the folder of run files. [`find`] resolves what a
//! user types to a file. docs/format/run-file.md describes tables and encodings.
//!
//! ## One row per round
//!
//! A round is the set of trials that ran at the same time. Rounds are measured, committed and resumed as a whole, so a
//! crash loses only uncommitted rounds. [`analyse`] groups visits by cell in memory, in any order. A row per cell and
//! pass would cost more: 4.2 million inserts on 1,024 CPUs, and about 30 bytes of SQLite overhead per 46 bytes of
//! content. Up to about 64 CPUs, each round has one cell, so both layouts are equal.
//!
//! [`analyse`]: coretalk_model::latency::analyse()

mod cells;
mod codec;
mod directory;
mod error;
mod names;
mod new_run;
mod reader;
mod resume;
mod rows;
mod run_file;
mod schema;
mod selector;
pub mod stamp;
mod writer;

#[cfg(test)]
mod tests;

pub use directory::{Directory, DirectorySources, Listed, ListedRun};
pub use error::{FailureClass, Operation, StoreError};
pub use names::Names;
pub use new_run::NewRun;
pub use reader::RawTicks;
pub use resume::{Conditions, ResumeError, ResumeRefusal, ResumedRun, compatible};
pub use run_file::{RunFile, Segment, is_run_file};
pub use schema::{APPLICATION_ID, VERSION};
pub use selector::{SelectedRun, find};
pub use writer::RunWriter;

/// Maximum length of a text or blob in a run file; bounds what a damaged file can request. A round of 512 pairs takes
/// 24 kB, and a histogram of single events less than 10 MB.
const BLOB_LIMIT_BYTES: i32 = 64 << 20;

/// File name extension of run files.
pub const ENDING: &str = "coretalk";
