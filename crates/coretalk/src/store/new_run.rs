//! [`NewRun`]: the data of a run before its first round, and the creation of its file.

use super::error::{Operation, StoreError, io_error, sqlite_error};
use super::run_file::journal;
use super::schema::{self, APPLICATION_ID, MIGRATIONS};
use super::{BLOB_LIMIT_BYTES, ENDING, rows};
use coretalk_model::latency::Purpose;
use coretalk_model::place::PlaceSettings;
use coretalk_model::run::{RunHeader, RunSettings};
use coretalk_model::{CpuSet, DoctorFinding, Environment, Topology};
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Data of a run before its first round.
#[derive(Debug, Clone, Copy)]
pub struct NewRun<'a> {
    /// Names and state. A new file does not store `complete`, `segments` and `departed`.
    pub header: &'a RunHeader,
    /// Environment of the measurement.
    pub environment: &'a Environment,
    /// Findings of `doctor`.
    pub findings: &'a [DoctorFinding],
    /// Reported topology.
    pub topology: &'a Topology,
    /// Settings of the measurements.
    pub settings: RunSettings<'a>,
    /// CPUs that the process may use.
    pub allowed: &'a CpuSet,
}

pub fn file_of(directory: &Path, id: &str) -> PathBuf {
    directory.join(format!("{id}.{ENDING}"))
}

/// Creates the file of a new run under a temporary name, and renames the file after writing its first rows.
pub fn create_file(
    directory: &Path,
    path: &Path,
    run: &NewRun<'_>,
    plan_fingerprint: (u32, u32),
) -> Result<(), StoreError> {
    sweep(directory);
    let new = temporary(directory, &run.header.id);
    write_new(&new, run, plan_fingerprint)
        .and_then(|()| rename_synced(&new, path))
        .inspect_err(|_| discard(&new))
}

/// Moves a run file to its destination: copies it under a temporary name, and renames the complete copy.
pub fn move_to(local: &Path, destination: &Path) -> Result<(), StoreError> {
    let directory = destination.parent().unwrap_or(Path::new("."));
    let id = destination.file_stem().unwrap_or_default().to_string_lossy();
    let new = temporary(directory, &id);
    let copied = fs::copy(local, &new)
        .and_then(|_| File::open(&new)?.sync_all())
        .map_err(io_error(Operation::Write, &new))
        .and_then(|()| rename_synced(&new, destination));
    copied.inspect_err(|_| discard(&new))?;
    let _ = fs::remove_file(local);
    let _ = local.parent().map(fs::remove_dir);
    Ok(())
}

fn write_new(path: &Path, run: &NewRun<'_>, plan_fingerprint: (u32, u32)) -> Result<(), StoreError> {
    let error = sqlite_error(Operation::Create, path);
    // Created here because SQLite would hide the system's reason for a failure.
    File::create_new(path).map_err(io_error(Operation::Create, path))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut db = Connection::open_with_flags(path, flags).map_err(error.clone())?;
    write_first_rows(&mut db, run, plan_fingerprint).map_err(error.clone())?;
    db.close().map_err(|(_, reason)| error(reason))
}

fn write_first_rows(
    db: &mut Connection,
    run: &NewRun<'_>,
    (pairs, checksum): (u32, u32),
) -> rusqlite::Result<()> {
    db.set_limit(Limit::SQLITE_LIMIT_LENGTH, BLOB_LIMIT_BYTES)?;
    db.execute_batch("PRAGMA synchronous = FULL")?;
    let transaction = db.transaction_with_behavior(TransactionBehavior::Exclusive)?;
    transaction.execute_batch(&format!("PRAGMA application_id = {APPLICATION_ID}"))?;
    for migration in MIGRATIONS {
        transaction.execute_batch(migration)?;
    }
    transaction.execute_batch(&format!("PRAGMA user_version = {}", schema::VERSION))?;
    let header = run.header;
    transaction.execute(
        "INSERT INTO run (id, started, kind, command, seed, simulated, complete, tool_version, allowed, cells,
                          cells_check)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, ?8, ?9, ?10)",
        (
            &header.id,
            &header.started,
            match (run.settings.latency, run.settings.has_trials()) {
                (None, _) => "series",
                (Some(_), true) => "both",
                (Some(_), false) => "latency",
            },
            serde_json::Value::from(header.command.clone()).to_string(),
            header.seed.to_string(),
            header.simulated,
            &header.tool_version,
            run.allowed.to_string(),
            pairs,
            checksum,
        ),
    )?;
    for (code, purpose) in Purpose::ALL.iter().enumerate() {
        transaction.execute("INSERT INTO purposes VALUES (?1, ?2)", (code as u32, purpose.name()))?;
    }
    rows::write_environment(&transaction, run.environment)?;
    rows::write_findings(&transaction, run.findings)?;
    rows::write_topology(&transaction, run.topology)?;
    // A comparison is stored as a series. Each trial is one workload or command on one placement.
    let placed = run.settings.place.map(PlaceSettings::to_series);
    let series = run.settings.series.or(placed.as_ref());
    rows::write_settings(&transaction, run.settings.latency, series)?;
    if let Some(series) = series {
        rows::write_series_settings(&transaction, series)?;
    }
    for tag in &header.tags {
        transaction.execute("INSERT OR IGNORE INTO tags VALUES (?1, ?2)", (tag, &header.started))?;
    }
    transaction.execute(
        "INSERT INTO segments (segment, started, clock_hz, step_ns) VALUES (0, ?1, ?2, ?3)",
        (&header.started, run.environment.clock.hz, run.environment.clock.step_ns),
    )?;
    transaction.commit()
}

/// Returns a name that listings skip.
fn temporary(directory: &Path, id: &str) -> PathBuf {
    directory.join(format!(".{id}.{ENDING}-new"))
}

/// Removes incomplete files that are older than an hour. Creation takes a moment, so a crash left them.
fn sweep(directory: &Path) {
    const MAX_AGE: Duration = Duration::from_secs(3600);
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_incomplete = name.starts_with('.') && name.ends_with(&format!(".{ENDING}-new"));
        let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
        if is_incomplete && age().is_some_and(|age| age > MAX_AGE) {
            discard(&entry.path());
        }
    }
}

/// Renames a complete file. After a crash, the file has one of the two names and is never partly written.
fn rename_synced(new: &Path, path: &Path) -> Result<(), StoreError> {
    fs::rename(new, path).map_err(io_error(Operation::Create, path))?;
    // Makes the new name durable. Systems that cannot sync a directory order renames by themselves.
    if let Some(Ok(directory)) = path.parent().map(File::open) {
        let _ = directory.sync_all();
    }
    Ok(())
}

fn discard(new: &Path) {
    let _ = fs::remove_file(new);
    let _ = fs::remove_file(journal(new));
}
