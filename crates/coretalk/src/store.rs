//! Run files and the directory that holds them.
//!
//! One run is one SQLite file, valid from the moment it has a name: [`RunWriter`] makes it and is the session's sink,
//! [`RunFile`] opens it again, [`Directory`] is the folder of many, and [`find`] turns what a user types into one.
//! docs/format/run-file.md describes tables and encodings.
//!
//! ## One row per round
//!
//! The smallest thing that is measured, committed and resumed is a round: the trials that ran at the same time. A row
//! per round is therefore what a crash can lose, and it is all that reading needs: [`analyse`] groups visits by cell
//! in memory, whatever their order. A row per cell *and* pass would say the same at a price: on 1,024 CPUs it makes
//! 4.2 million rows of which every one repeats segment, purpose and pass, about 30 bytes of SQLite's own on 46 bytes
//! of content, and as many inserts inside commit slots that must be short. Serial rounds have one cell, so up to about
//! 64 CPUs there is no difference. People who open the file with `sqlite3` read the derived `cells` through a view per
//! matrix; those are written at the end, and never read back as truth.
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
mod writer;

#[cfg(test)]
mod tests;

pub use directory::{Directory, DirectorySources, Listed, ListedRun};
pub use error::{FailureClass, Operation, StoreError};
pub use names::Names;
pub use new_run::NewRun;
pub use reader::RawTicks;
pub use resume::{Conditions, ResumeError, ResumeRefusal, ResumedRun, compatible};
pub use run_file::{MAGIC, RunFile, Segment};
pub use schema::{APPLICATION_ID, VERSION};
pub use selector::{Found, find};
pub use writer::RunWriter;

/// The longest text or blob in a run file. A round of 512 pairs takes 24 kB, a distribution of single events less than
/// 10 MB; a damaged file cannot ask for more.
const BLOB_LIMIT_BYTES: i32 = 64 << 20;

/// The ending of run files.
pub const ENDING: &str = "coretalk";
