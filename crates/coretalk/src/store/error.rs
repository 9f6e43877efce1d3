//! [`StoreError`]: errors of run files. Each message is one sentence with the file, the problem and the remedy.

use coretalk_model::excerpt;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Exit code class of a store error (docs/format/json.md, "Exit codes").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureClass {
    /// The requested run does not exist or is ambiguous: exit code 2.
    Usage,
    /// The run needs another machine: exit code 3.
    Environment,
    /// A file is missing, foreign or damaged: exit code 4.
    Input,
    /// The store itself failed: exit code 6.
    Store,
}

/// Operation on a run file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Open the file.
    Open,
    /// Read the file.
    Read,
    /// Write to the file.
    Write,
    /// Create the file or the directory.
    Create,
    /// List the directory.
    List,
    /// Migrate the file to the current schema.
    Migrate,
    /// Tag the run.
    Tag,
    /// Remove the file.
    Remove,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operation::Open => "open",
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Create => "create",
            Operation::List => "list",
            Operation::Migrate => "migrate",
            Operation::Tag => "tag",
            Operation::Remove => "remove",
        })
    }
}

/// Error of a run file or its directory.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file does not exist.
    #[error("open {path}: no such file")]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file is not a run file.
    #[error("open {path} as a run file: {what}; `coretalk import` reads matrices of other tools")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What the file seems to be.
        what: &'static str,
    },
    /// The end of the file is missing.
    #[error("open {path}: it is truncated ({found} of {expected} bytes); copy it again from its source")]
    Truncated {
        /// The file.
        path: PathBuf,
        /// File size in bytes according to the header.
        expected: u64,
        /// Actual file size in bytes.
        found: u64,
    },
    /// The contents contradict themselves.
    #[error("read {path}: it is damaged ({what}); none of it can be trusted")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A newer version of the tool wrote the file.
    #[error(
        "open {path}: it has schema version {found}, but this coretalk reads up to {known}; use the coretalk that wrote it, or a newer one"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Schema version of the file.
        found: u32,
        /// Newest version that this tool knows.
        known: u32,
    },
    /// The version that wrote the run numbered the pairs differently.
    #[error(
        "read {path}: coretalk {wrote} numbered its pairs differently from this version; export it with that version"
    )]
    OtherPlan {
        /// The file.
        path: PathBuf,
        /// Version that wrote the run.
        wrote: String,
    },
    /// The file needs a migration but is not writable.
    #[error(
        "migrate {path} from schema version {found} to {known}: it cannot be written here; copy it to a writable directory and use the copy"
    )]
    OldAndReadOnly {
        /// The file.
        path: PathBuf,
        /// Schema version of the file.
        found: u32,
        /// Version after the migration.
        known: u32,
    },
    /// A crash left an unfinished write, and the read-only directory prevents the rollback.
    #[error(
        "read {path}: a write to it was interrupted, which cannot be rolled back in a read-only directory; \
         copy it together with its -journal file to a writable directory and use the copy"
    )]
    NeedsRollback {
        /// The file.
        path: PathBuf,
    },
    /// The system did not write all bytes.
    #[error(
        "{operation} {path}: the system did not write all bytes: a file size limit (ulimit -f) or a failing disk; choose another directory with --store DIR"
    )]
    NotWritten {
        /// Failed operation.
        operation: Operation,
        /// The file.
        path: PathBuf,
    },
    /// The disk is full.
    #[error(
        "{operation} {path}: the disk is full; free some space, or choose another directory with --store DIR"
    )]
    Full {
        /// Failed operation.
        operation: Operation,
        /// The file.
        path: PathBuf,
    },
    /// The file is not writable.
    #[error(
        "{operation} {path}: it cannot be written (read-only or no permission); choose another directory with --store DIR, or measure with --no-save"
    )]
    NotWritable {
        /// Failed operation.
        operation: Operation,
        /// The file.
        path: PathBuf,
    },
    /// A path that should be a directory is not one.
    #[error(
        "{operation} {path}: a file is in the way of the directory for runs; choose another directory with --store DIR"
    )]
    NoFolder {
        /// Failed operation.
        operation: Operation,
        /// The path, or a path below it.
        path: PathBuf,
    },
    /// The file is not readable.
    #[error("{operation} {path}: permission denied")]
    NotReadable {
        /// Failed operation.
        operation: Operation,
        /// The file.
        path: PathBuf,
    },
    /// Another process has locked the file.
    #[error("{operation} {path}: another coretalk is using it; wait until it has finished")]
    Busy {
        /// Failed operation.
        operation: Operation,
        /// The file.
        path: PathBuf,
    },
    /// Another process has the file open, to measure or to read.
    #[error(
        "{operation} {path}: process {process} has it open; end that first, or wait until it has finished"
    )]
    InUse {
        /// Failed operation.
        operation: Operation,
        /// The file.
        path: PathBuf,
        /// Id of the process.
        process: u32,
    },
    /// The file system does not support locks.
    #[error("{operation} {path}: its file system refuses locks; use --store DIR with a local directory")]
    NoLocks {
        /// Failed operation.
        operation: Operation,
        /// The file.
        path: PathBuf,
    },
    /// Another process has resumed the same run.
    #[error(
        "write {path}: another coretalk has resumed this run in the meantime; measurements made here since \
         then are not saved"
    )]
    Overtaken {
        /// The file.
        path: PathBuf,
    },
    /// The run exceeds a limit of the file format.
    #[error("write {path}: {what} exceeds the limit of a run file ({limit})")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// What exceeds the limit.
        what: String,
        /// The limit.
        limit: u64,
    },
    /// The run file could not be moved from a temporary directory to its destination.
    #[error("move {local} to {destination}: {reason}; the run stays in {local}")]
    NotMoved {
        /// Current path.
        local: PathBuf,
        /// Intended path.
        destination: PathBuf,
        /// Why the move failed.
        reason: Box<StoreError>,
    },
    /// The operating system reported an error.
    #[error("{operation} {path}: {reason}")]
    Io {
        /// Failed operation.
        operation: Operation,
        /// The file.
        path: PathBuf,
        /// Error of the system.
        reason: io::Error,
    },
    /// SQLite reported an error.
    #[error("{operation} {path}: {}", sqlite_words(.reason))]
    Sqlite {
        /// Failed operation.
        operation: Operation,
        /// The file.
        path: PathBuf,
        /// Error of SQLite.
        reason: rusqlite::Error,
    },
    /// No run matches.
    #[error("find the run `{selector}`: {why}")]
    UnknownRun {
        /// Selector as typed.
        selector: String,
        /// Hint at the existing runs.
        why: String,
    },
    /// Several runs match.
    #[error("find the run `{selector}`: {} runs match ({}); type more of the ID", .fitting.len(), .fitting.join(", "))]
    AmbiguousRun {
        /// Selector as typed.
        selector: String,
        /// Ids of the matching runs.
        fitting: Vec<String>,
    },
    /// The tag is not allowed.
    #[error("tag a run `{tag}`: {why}")]
    BadTag {
        /// Tag as typed.
        tag: String,
        /// Reason.
        why: &'static str,
    },
    /// No directory for runs is known.
    #[error(
        "find a directory for runs: {why}; set one with --store DIR or the environment variable CORETALK_STORE"
    )]
    NoPlace {
        /// Reason.
        why: String,
    },
}

impl StoreError {
    /// Returns the class that decides the exit code.
    pub fn class(&self) -> FailureClass {
        use StoreError as E;
        match self {
            E::UnknownRun { .. } | E::AmbiguousRun { .. } | E::BadTag { .. } => FailureClass::Usage,
            E::Missing { .. }
            | E::Foreign { .. }
            | E::Truncated { .. }
            | E::Damaged { .. }
            | E::OtherPlan { .. }
            | E::NotReadable { .. } => FailureClass::Input,
            E::Newer { .. }
            | E::OldAndReadOnly { .. }
            | E::NeedsRollback { .. }
            | E::Full { .. }
            | E::NotWritten { .. }
            | E::NotWritable { .. }
            | E::NoFolder { .. }
            | E::Busy { .. }
            | E::InUse { .. }
            | E::NoLocks { .. }
            | E::Overtaken { .. }
            | E::TooLarge { .. }
            | E::NotMoved { .. }
            | E::Io { .. }
            | E::Sqlite { .. }
            | E::NoPlace { .. } => FailureClass::Store,
        }
    }
}

pub(super) fn io_error(operation: Operation, path: &Path) -> impl Fn(io::Error) -> StoreError {
    let path = path.to_owned();
    move |reason| {
        let path = path.clone();
        match reason.kind() {
            io::ErrorKind::NotFound if operation == Operation::Open => StoreError::Missing { path },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                StoreError::Full { operation, path }
            }
            io::ErrorKind::NotADirectory if matches!(operation, Operation::Create | Operation::List) => {
                StoreError::NoFolder { operation, path }
            }
            io::ErrorKind::ReadOnlyFilesystem => StoreError::NotWritable { operation, path },
            io::ErrorKind::PermissionDenied
                if matches!(operation, Operation::Open | Operation::Read | Operation::List) =>
            {
                StoreError::NotReadable { operation, path }
            }
            io::ErrorKind::PermissionDenied => StoreError::NotWritable { operation, path },
            _ => StoreError::Io { operation, path, reason },
        }
    }
}

pub(super) fn sqlite_error(
    operation: Operation,
    path: &Path,
) -> impl Fn(rusqlite::Error) -> StoreError + Clone + use<> {
    let path = path.to_owned();
    move |reason| classify(operation, path.clone(), reason)
}

fn sqlite_words(reason: &rusqlite::Error) -> String {
    match reason {
        rusqlite::Error::SqliteFailure(code, Some(message)) => format!("{message}: {code}"),
        other => other.to_string(),
    }
}

fn classify(operation: Operation, path: PathBuf, reason: rusqlite::Error) -> StoreError {
    use rusqlite::ErrorCode as Code;
    let damaged = |path, what: String| StoreError::Damaged { path, what };
    let (code, extended) = match &reason {
        rusqlite::Error::SqliteFailure(error, _) => (error.code, error.extended_code),
        // A column of the wrong type: the file contradicts its schema.
        rusqlite::Error::FromSqlConversionFailure(_, _, what) => return damaged(path, what.to_string()),
        rusqlite::Error::IntegralValueOutOfRange(_, number) => {
            return damaged(path, format!("a number is {number}, which is impossible"));
        }
        rusqlite::Error::InvalidColumnType(_, name, kind) => {
            return damaged(path, format!("the column `{}` has a value of type {kind}", excerpt(name)));
        }
        rusqlite::Error::QueryReturnedNoRows => return damaged(path, "a row is missing".into()),
        rusqlite::Error::Utf8Error(..) | rusqlite::Error::SqlInputError { .. } => {
            return damaged(path, reason.to_string());
        }
        _ => return StoreError::Sqlite { operation, path, reason },
    };
    match code {
        Code::DiskFull => StoreError::Full { operation, path },
        Code::SystemIoFailure if extended == rusqlite::ffi::SQLITE_IOERR_WRITE => {
            StoreError::NotWritten { operation, path }
        }
        Code::ReadOnly if operation == Operation::Read => StoreError::NeedsRollback { path },
        Code::ReadOnly => StoreError::NotWritable { operation, path },
        Code::PermissionDenied if operation == Operation::Read => StoreError::NotReadable { operation, path },
        Code::PermissionDenied => StoreError::NotWritable { operation, path },
        Code::DatabaseBusy | Code::DatabaseLocked => StoreError::Busy { operation, path },
        Code::TooBig if operation == Operation::Write => {
            StoreError::TooLarge { path, what: "one round".into(), limit: super::BLOB_LIMIT_BYTES as u64 }
        }
        Code::DatabaseCorrupt | Code::NotADatabase | Code::TooBig => damaged(path, reason.to_string()),
        Code::FileLockingProtocolFailed => StoreError::NoLocks { operation, path },
        Code::SystemIoFailure if LOCK_FAILURES.contains(&extended) => StoreError::NoLocks { operation, path },
        Code::SystemIoFailure if extended == rusqlite::ffi::SQLITE_IOERR_SHORT_READ => {
            damaged(path, "its end is missing".into())
        }
        // A table or column is missing, or the schema does not parse.
        Code::Unknown if operation == Operation::Read => damaged(path, reason.to_string()),
        _ => StoreError::Sqlite { operation, path, reason },
    }
}

/// Extended codes for a file system without locks. Network file systems without a lock server answer ENOTSUP.
const LOCK_FAILURES: [i32; 4] = [
    rusqlite::ffi::SQLITE_IOERR_LOCK,
    rusqlite::ffi::SQLITE_IOERR_RDLOCK,
    rusqlite::ffi::SQLITE_IOERR_UNLOCK,
    rusqlite::ffi::SQLITE_IOERR_CHECKRESERVEDLOCK,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlite_errors_become_a_class_and_a_remedy() {
        use rusqlite::ffi;
        for (code, class, word) in [
            (ffi::SQLITE_FULL, FailureClass::Store, "full"),
            (ffi::SQLITE_READONLY, FailureClass::Store, "--store"),
            (ffi::SQLITE_READONLY_DIRECTORY, FailureClass::Store, "--store"),
            (ffi::SQLITE_BUSY, FailureClass::Store, "another coretalk"),
            (ffi::SQLITE_IOERR_LOCK, FailureClass::Store, "refuses locks"),
            (ffi::SQLITE_CORRUPT, FailureClass::Input, "damaged"),
            (ffi::SQLITE_NOTADB, FailureClass::Input, "damaged"),
            (ffi::SQLITE_IOERR_WRITE, FailureClass::Store, "ulimit -f"),
            (ffi::SQLITE_IOERR_FSYNC, FailureClass::Store, "I/O"),
        ] {
            let source = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            let error = sqlite_error(Operation::Write, Path::new("a.coretalk"))(source);
            assert_eq!(error.class(), class, "{error}");
            assert!(error.to_string().contains(word) && error.to_string().contains("a.coretalk"), "{error}");
        }
    }
}
