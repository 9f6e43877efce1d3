//! [`RunWriter`]: a run file being written, and the sink of a session.

use super::cells::write_cells;
use super::codec::{Shapes, checksum, encode_recordings, encode_trials};
use super::error::{Operation, StoreError, io_error, sqlite_error};
use super::new_run::{NewRun, create_file, file_of, move_to};
use super::reader::RoundKey;
use super::rows;
use super::run_file::{RunFile, connect, fingerprint, plan_of};
use super::selector::check_tag;
use super::stamp::now;
use coretalk_measure::Stop;
use coretalk_measure::session::sink::PartEnd;
use coretalk_measure::session::{Commit, Decision, Kept, Sink, SinkError};
use coretalk_model::latency::{Counts, LatencyResult, Purpose, RecordedRound, Reducer, Scale};
use coretalk_model::{ClockFacts, Home, KernelId, Picos, TickRate};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Maximum time that a commit waits for a process that reads the file. The session measures nothing meanwhile.
const BUSY_LIMIT: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy)]
pub(super) struct Budgets {
    pub map: Picos,
    pub trials: Picos,
}

impl Budgets {
    /// Divides a new total budget in proportion to the old ones.
    pub fn shared(whole: Picos, map: Option<Picos>, trials: Option<Picos>) -> Budgets {
        let Some((map, trials)) = map.zip(trials) else { return Budgets { map: whole, trials: whole } };
        let share = map.secs() / (map + trials).secs().max(1e-9);
        let map = Picos::from_secs(whole.secs() * share).min(whole);
        Budgets { map, trials: whole - map }
    }
}

/// End of a map that was not requested.
pub(super) const NO_MAP: PartEnd = PartEnd { complete: true, budget_ended: false };

/// A run file being written.
#[derive(Debug)]
pub struct RunWriter {
    path: PathBuf,
    /// Final path, if it differs from `path`.
    destination: Option<PathBuf>,
    pub(super) db: Connection,
    shapes: Shapes,
    segment: u32,
    clock: Scale,
    counts: Counts,
    /// How the map ended, if trials follow the map. Otherwise the end of the map ends the run.
    pub(super) map_of_both: Option<PartEnd>,
    /// Once raised, the run ends early, without derived tables.
    stop: Stop,
    /// Whether the last commit already recorded the interruption of the segment.
    interrupted: bool,
}

impl RunWriter {
    /// Creates the file of a new run in a directory. One transaction writes the file under a temporary name, and a
    /// rename follows, so a file under its final name is always valid. After an error, no files are left.
    ///
    /// If the file system does not support locks, the run is written to a local temporary folder and moved at the end.
    /// [`notice`](RunWriter::notice) tells the user.
    pub fn create(directory: &Path, run: &NewRun<'_>) -> Result<RunWriter, StoreError> {
        fs::create_dir_all(directory).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => {
                StoreError::NoFolder { operation: Operation::Create, path: directory.to_owned() }
            }
            _ => io_error(Operation::Create, directory)(error),
        })?;
        run.header.tags.iter().try_for_each(|tag| check_tag(directory, tag))?;
        match RunWriter::create_in(directory, None, run) {
            Err(StoreError::NoLocks { .. } | StoreError::Busy { .. }) => {
                RunWriter::create_apart(directory, run)
            }
            other => other,
        }
    }

    /// Writes the run to a temporary folder and moves it at the end.
    pub(super) fn create_apart(directory: &Path, run: &NewRun<'_>) -> Result<RunWriter, StoreError> {
        let local = std::env::temp_dir().join(format!("coretalk-{}", run.header.id));
        fs::create_dir_all(&local).map_err(io_error(Operation::Create, &local))?;
        RunWriter::create_in(&local, Some(file_of(directory, &run.header.id)), run)
            .inspect_err(|_| drop(fs::remove_dir(&local)))
    }

    fn create_in(
        directory: &Path,
        destination: Option<PathBuf>,
        run: &NewRun<'_>,
    ) -> Result<RunWriter, StoreError> {
        let path = file_of(directory, &run.header.id);
        let plan = plan_of(&path, run.topology, run.settings)?;
        if path.exists() {
            let reason = ErrorKind::AlreadyExists.into();
            return Err(StoreError::Io { operation: Operation::Create, path, reason });
        }
        create_file(directory, &path, run, fingerprint(&plan))?;
        let clock = scale(&run.environment.clock);
        let counts = run.settings.latency.map_or(Counts::Adaptive, |settings| settings.counts);
        let mut writer = RunWriter::on(path, destination, Shapes::default(), 0, clock, counts)?;
        writer.map_of_both = run.settings.has_trials().then_some(NO_MAP);
        Ok(writer)
    }

    pub(super) fn on(
        path: PathBuf,
        destination: Option<PathBuf>,
        shapes: Shapes,
        segment: u32,
        clock: Scale,
        counts: Counts,
    ) -> Result<RunWriter, StoreError> {
        let db = connect(&path, None)?;
        db.busy_timeout(BUSY_LIMIT)
            .and_then(|()| db.execute_batch("PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = FULL;"))
            // The first access takes a lock, which detects a file system without locks.
            .and_then(|()| db.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())))
            .map_err(sqlite_error(Operation::Write, &path))?;
        let (map_of_both, stop) = (None, Stop::new());
        Ok(RunWriter {
            path,
            destination,
            db,
            shapes,
            segment,
            clock,
            counts,
            map_of_both,
            stop,
            interrupted: false,
        })
    }

    /// Sets the flag that ends a run early. A raised flag skips derived tables, which can be computed from the rounds.
    pub fn set_stop(&mut self, stop: &Stop) {
        self.stop = stop.clone();
    }

    /// Returns the final path of the run; until `close`, the file may be elsewhere.
    pub fn path(&self) -> &Path {
        self.destination.as_deref().unwrap_or(&self.path)
    }

    /// Returns a note for the user if the run is first written to a temporary folder.
    pub fn notice(&self) -> Option<String> {
        let destination = self.destination.as_ref()?;
        Some(format!(
            "the file system of {} refuses locks: the run is written to {} and moved there at the end",
            destination.display(),
            self.path.display()
        ))
    }

    /// Removes the journal, moves the file to its destination if needed, and returns the final path.
    /// [`StoreError::NotMoved`] names the path where the run remains.
    pub fn close(mut self) -> Result<PathBuf, StoreError> {
        self.remove_journal();
        let Some(destination) = self.destination.take() else { return Ok(self.path.clone()) };
        move_to(&self.path, &destination).map_err(|reason| StoreError::NotMoved {
            local: self.path.clone(),
            destination: destination.clone(),
            reason: Box::new(reason),
        })?;
        Ok(destination)
    }

    /// Begins the segment, with its own time line. Clears the derived tables, which are written anew at the end.
    pub(super) fn begin_segment(
        &mut self,
        clock: &ClockFacts,
        budgets: Option<Budgets>,
    ) -> Result<(), StoreError> {
        let segment = self.segment;
        self.write(|db| {
            db.execute(
                "INSERT INTO segments (segment, started, clock_hz, step_ns) VALUES (?1, ?2, ?3, ?4)",
                (segment, now(), clock.hz, clock.step_ns),
            )?;
            db.execute_batch("DELETE FROM cells; DELETE FROM maps; UPDATE run SET complete = 0;")?;
            let Some(Budgets { map, trials }) = budgets else { return Ok(()) };
            rows::write_budget(db, map)?;
            rows::write_series_budget(db, trials)
        })
    }

    /// Runs one transaction, after checking that no other process has begun a newer segment.
    fn write(
        &mut self,
        rows: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        let segment = self.segment;
        let last = (|| {
            let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let last: Option<u32> = transaction
                .prepare_cached("SELECT max(segment) FROM segments")?
                .query_row([], |row| row.get(0))?;
            if last.is_none_or(|last| last <= segment) {
                rows(&transaction)?;
                transaction.commit()?;
            }
            Ok(last)
        })()
        .map_err(sqlite_error(Operation::Write, &self.path))?;
        match last {
            Some(last) if last > segment => Err(StoreError::Overtaken { path: self.path.clone() }),
            _ => Ok(()),
        }
    }

    fn write_commit(&mut self, commit: &Commit) -> Result<(), StoreError> {
        let mut shapes = std::mem::take(&mut self.shapes);
        let mut reducer = Reducer::new(self.clock, self.counts);
        let segment = self.segment;
        // After a request to stop, this commit is probably the last, so it also records the end of the segment. Another
        // transaction would wait for the disk and delay the exit. A later commit or end overwrites this end.
        let interrupted = self.stop.is_raised();
        let written = self.write(|db| {
            if interrupted {
                write_interrupted(db, segment)?;
            }
            for round in &commit.rounds {
                write_round(db, segment, round, &mut shapes, &mut reducer)?;
            }
            commit.passes.iter().try_for_each(|entry| rows::write_pass(db, entry))?;
            let mut insert =
                db.prepare_cached("INSERT INTO shapes (shape, spans, spans_check) VALUES (?1, ?2, ?3)")?;
            for (number, shape) in shapes.fresh() {
                let span = |(kernel, home): &(KernelId, Home)| serde_json::json!([kernel.as_str(), home.0]);
                let spans = serde_json::Value::from_iter(shape.iter().map(span)).to_string();
                insert.execute((number, &spans, checksum(&[spans.as_bytes()])))?;
            }
            Ok(())
        });
        match written {
            Ok(()) => {
                self.interrupted = interrupted;
                shapes.keep_fresh();
            }
            Err(_) => shapes.drop_fresh(),
        }
        self.shapes = shapes;
        written
    }

    /// Removes the journal by leaving the mode that keeps it. A failure leaves an empty journal.
    fn remove_journal(&self) {
        let _ = self.db.pragma_update(None, "journal_mode", "DELETE");
    }
}

impl Sink for RunWriter {
    fn commit(&mut self, commit: &Commit) -> Result<(), SinkError> {
        self.write_commit(commit).map_err(sink_error)
    }

    fn decide(&mut self, decision: &Decision) -> Result<(), SinkError> {
        let segment = self.segment;
        self.write(|db| {
            db.execute(
                "INSERT OR REPLACE INTO decisions (key, value, segment) VALUES (?1, ?2, ?3)",
                (&decision.key, &decision.value, segment),
            )
            .map(drop)
        })
        .map_err(sink_error)
    }

    fn finish(&mut self, result: &LatencyResult) -> Result<(), SinkError> {
        let (segment, stop) = (self.segment, self.stop.clone());
        if let Some(end) = &mut self.map_of_both {
            *end = PartEnd { complete: result.complete, budget_ended: result.budget_ended };
            return self.write(|db| write_cells(db, result, &stop)).map_err(sink_error);
        }
        self.write(|db| {
            write_cells(db, result, &stop)?;
            write_end(db, segment, result.complete, result.budget_ended)
        })
        .map_err(sink_error)?;
        self.remove_journal();
        Ok(())
    }

    fn finish_trials(&mut self, end: PartEnd) -> Result<(), SinkError> {
        let segment = self.segment;
        let map = self.map_of_both.unwrap_or(NO_MAP);
        let complete = end.complete && map.complete;
        let budget_ended = end.budget_ended || map.budget_ended;
        self.write(|db| write_end(db, segment, complete, budget_ended)).map_err(sink_error)?;
        self.remove_journal();
        Ok(())
    }

    /// Leaves the derived tables empty, as a kill does. The rounds can refill them, which takes seconds for large
    /// machines.
    fn interrupt(&mut self) -> Result<Kept, SinkError> {
        let segment = self.segment;
        if !self.interrupted {
            self.write(|db| write_interrupted(db, segment)).map_err(sink_error)?;
        }
        self.remove_journal();
        Ok(Kept::Everything)
    }
}

fn write_interrupted(db: &Connection, segment: u32) -> rusqlite::Result<()> {
    db.execute("UPDATE segments SET ended = 'interrupted' WHERE segment = ?1", [segment]).map(drop)
}

fn write_end(db: &Connection, segment: u32, complete: bool, budget_ended: bool) -> rusqlite::Result<()> {
    // An ended budget has priority, even if a lost CPU makes the run incomplete.
    let ended = match (complete, budget_ended) {
        (_, true) => "budget",
        (true, false) => "complete",
        (false, false) => "interrupted",
    };
    db.execute("UPDATE run SET complete = ?1", [complete])?;
    db.execute("UPDATE segments SET ended = ?1 WHERE segment = ?2", (ended, segment)).map(drop)
}

/// Removes the journal when an error drops the writer.
impl Drop for RunWriter {
    fn drop(&mut self) {
        self.remove_journal();
        if let Some(destination) = self.destination.take() {
            // The result is ignored; callers that need it call `close`.
            let _ = move_to(&self.path, &destination);
        }
    }
}

fn sink_error(error: StoreError) -> SinkError {
    SinkError(Box::new(error))
}

fn write_round(
    db: &Connection,
    segment: u32,
    round: &RecordedRound,
    shapes: &mut Shapes,
    reducer: &mut Reducer,
) -> rusqlite::Result<()> {
    let key = RoundKey {
        segment,
        purpose: Purpose::ALL.iter().position(|&known| known == round.purpose).unwrap_or_default() as u8,
        pass: round.pass,
        started: round.started.0,
        elapsed: round.elapsed.0,
    };
    let context = key.bytes();
    let (trials, separate) = encode_trials(&round.trials, round.started, shapes, reducer, &context);
    db.prepare_cached(
        "INSERT INTO rounds (segment, purpose, pass, started, elapsed, trials) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute((key.segment, key.purpose, key.pass, key.started as i64, key.elapsed as i64, trials))?;
    if let Some(recordings) = encode_recordings(&separate, round.started, shapes, &context) {
        let number = db.last_insert_rowid();
        db.prepare_cached("INSERT INTO raw (round, recordings) VALUES (?1, ?2)")?
            .execute((number, recordings))?;
    }
    Ok(())
}

pub(super) fn scale(clock: &ClockFacts) -> Scale {
    Scale { rate: TickRate { hz: clock.hz }, step_ns: clock.step_ns }
}

impl RunFile {
    pub(super) fn into_writer(
        self,
        segment: u32,
        clock: Scale,
        counts: Counts,
    ) -> Result<RunWriter, StoreError> {
        let shapes = self.shapes()?;
        let RunFile { path, db } = self;
        drop(db);
        RunWriter::on(path, None, shapes, segment, clock, counts)
    }
}
