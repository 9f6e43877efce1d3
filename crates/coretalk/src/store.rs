//! Run files and the directory that holds them.
//!
//! A run is one SQLite file, written under a temporary name and renamed once it is valid. [`RunWriter`] creates it and
//! is the sink of the session, [`RunFile`] opens it for reading, [`Directory`] is the folder of run files, and [`find`]
//! resolves what a user types to a file. docs/format/run-file.md describes tables and encodings.
//!
//! ## One row per round
//!
//! A round, the trials that ran at the same time, is the unit of measuring, committing and resuming, so a crash loses
//! at most the rounds that were not committed yet. Reading needs no finer rows: [`analyse`] groups visits by cell in
//! memory, in any order. A row per cell *and* pass would hold the same data at a higher price: on 1,024 CPUs
//! 4.2 million inserts inside commits that must be short, and in each row the same segment, purpose and pass, and
//! about 30 bytes of SQLite overhead per 46 bytes of content. Up to about 64 CPUs rounds are serial and have one cell,
//! so there is no difference. People who open the file with `sqlite3` read the derived table `cells` through one view
//! per matrix; the table is written at the end and never read back.
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

/// Maximum length of a text or blob in a run file, which bounds what a damaged file can request. A round of 512 pairs
/// takes 24 kB, a histogram of single events less than 10 MB.
const BLOB_LIMIT_BYTES: i32 = 64 << 20;

/// File name extension of run files.
pub const ENDING: &str = "coretalk";
