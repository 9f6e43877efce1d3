//! [`RunFile`]: a run file opened for reading. Its checks report damage instead of returning wrong values.

use super::BLOB_LIMIT_BYTES;
use super::codec::checksum;
use super::error::{Operation, StoreError, io_error, sqlite_error};
use super::rows;
use super::schema::{self, APPLICATION_ID, MIGRATIONS, VERSION};
use coretalk_model::latency::{LatencySettings, PairChoice, cells};
use coretalk_model::run::{RunHeader, RunSettings};
use coretalk_model::{CpuId, CpuSet, DoctorFinding, Environment, Topology};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Maximum CPUs in one run; the largest Linux kernels support 8,192. Bounds the list of pairs (33.5 million).
pub(super) const MAX_CPUS: usize = 8192;

/// First bytes of every SQLite file.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Maximum wait for another process that is writing a commit.
const BUSY_LIMIT: Duration = Duration::from_secs(10);

/// A run file opened for reading. Every method that reads fails if the file is damaged or unreadable.
#[derive(Debug)]
pub struct RunFile {
    pub(super) path: PathBuf,
    pub(super) db: Connection,
}

/// One segment of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// Start time, RFC 3339 in UTC.
    pub started: String,
    /// Ticks per second of its clock.
    pub clock_hz: f64,
    /// Smallest visible step of its clock in nanoseconds, if known.
    pub step_ns: Option<f64>,
    /// `complete`, `budget` or `interrupted`; `None` during the measurement and after a crash.
    pub ended: Option<String>,
}

impl RunFile {
    /// Opens a run file, rolls back an unfinished write, and migrates an older file to the newest schema. Fails if this
    /// is not a readable run file. Neither changes a foreign file nor creates a journal for it.
    pub fn open(path: &Path) -> Result<RunFile, StoreError> {
        let (mut file, found) = RunFile::open_and_read(path, |file| file.check_schema(None))?;
        file.read(|db| db.execute_batch("COMMIT"))?;
        if found < VERSION {
            file.migrate(found)?;
        }
        Ok(file)
    }

    /// Reads one table that every version has. Leaves the other tables unchecked.
    pub(super) fn peek<T>(
        path: &Path,
        table: &str,
        from: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let read = |file: &RunFile| {
            file.check_schema(Some(table))?;
            file.read(&from)
        };
        RunFile::open_and_read(path, read).map(|(_, read)| read)
    }

    /// Opens the file and runs `read` in a transaction that stays open. The first read rolls back a write that a crash
    /// interrupted. One transaction takes the locks once, and sees no half-done migration by another process.
    fn open_and_read<T>(
        path: &Path,
        read: impl Fn(&RunFile) -> Result<T, StoreError>,
    ) -> Result<(RunFile, T), StoreError> {
        inspect(path)?;
        let open_with_locks = |locks| {
            let file = RunFile { path: path.to_owned(), db: connect(path, locks)? };
            file.read(|db| db.execute_batch("BEGIN"))?;
            let read = read(&file)?;
            Ok((file, read))
        };
        match open_with_locks(None) {
            Err(StoreError::NoLocks { .. }) => open_with_locks(Some("unix-none")),
            other => other,
        }
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the names and state of the run.
    pub fn header(&self) -> Result<RunHeader, StoreError> {
        self.read(|db| {
            let mut tags = db.prepare("SELECT tag FROM tags ORDER BY created, tag")?;
            let tags = tags.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            let departed = rows::read_departed(db)?;
            db.query_row(
                "SELECT id, started, command, seed, simulated, complete, tool_version,
                        (SELECT count(*) FROM segments)
                 FROM run",
                [],
                |row| {
                    let seed: String = row.get(3)?;
                    Ok(RunHeader {
                        id: row.get(0)?,
                        started: rows::moment(row, 1)?,
                        command: rows::json(row, 2)?,
                        seed: seed
                            .parse()
                            .map_err(|_| rows::conversion(3, "the column `seed` is not a whole number"))?,
                        simulated: row.get(4)?,
                        complete: row.get(5)?,
                        departed,
                        tags,
                        segments: row.get(7)?,
                        tool_version: row.get(6)?,
                    })
                },
            )
        })
    }

    /// Reads the environment of the measurement.
    pub fn environment(&self) -> Result<Environment, StoreError> {
        self.read(rows::read_environment)
    }

    /// Reads the findings of `doctor` before the run.
    pub fn findings(&self) -> Result<Vec<DoctorFinding>, StoreError> {
        self.read(rows::read_findings)
    }

    /// Reads the topology that the machine reported.
    pub fn topology(&self) -> Result<Topology, StoreError> {
        self.read(rows::read_topology)
    }

    /// Reads the latency settings, with the budget of the last segment; `None` for a run without a latency map.
    pub fn settings(&self) -> Result<Option<LatencySettings>, StoreError> {
        let settings = self.read(rows::read_settings)?;
        match settings.as_ref().map_or(0, |settings| settings.cpus.len()) {
            cpus if cpus > MAX_CPUS => Err(self.damaged(format!("{cpus} CPUs in one run"))),
            _ => Ok(settings),
        }
    }

    /// Reads the requested CPUs, in matrix order.
    pub fn cpus(&self) -> Result<Vec<CpuId>, StoreError> {
        match self.settings()? {
            Some(settings) => Ok(settings.cpus),
            None => Ok(self.series_settings()?.map_or_else(Vec::new, |settings| settings.cpus)),
        }
    }

    /// Reads the CPUs that the process was allowed to use.
    pub fn allowed(&self) -> Result<CpuSet, StoreError> {
        self.read(|db| {
            let list: String = db.query_row("SELECT allowed FROM run", [], |row| row.get(0))?;
            list.parse().map_err(|error| rows::conversion(0, format!("the column `allowed`: {error}")))
        })
    }

    /// Reads the segments in order.
    pub fn segments(&self) -> Result<Vec<Segment>, StoreError> {
        self.read(|db| {
            let mut select =
                db.prepare("SELECT started, clock_hz, step_ns, ended FROM segments ORDER BY segment")?;
            let segments = select.query_map([], |row| {
                let clock_hz: f64 = row.get(1)?;
                if !rows::COUNTERS_HZ.contains(&clock_hz) {
                    return Err(rows::conversion(1, format!("no counter runs at {clock_hz} Hz")));
                }
                let step_ns: Option<f64> = row.get(2)?;
                if let Some(step) = step_ns.filter(|step| !(0.0..=1e9).contains(step)) {
                    return Err(rows::conversion(2, format!("no counter has steps of {step} ns")));
                }
                Ok(Segment { started: rows::moment(row, 0)?, clock_hz, step_ns, ended: row.get(3)? })
            })?;
            segments.collect()
        })
    }

    /// Reads the decisions made during the run: key and JSON.
    pub fn decisions(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.read(|db| {
            let mut select = db.prepare("SELECT key, value FROM decisions ORDER BY key")?;
            let decisions = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            decisions.collect()
        })
    }

    /// Counts the rounds without reading them; zero for a run that ended before its first commit.
    pub fn rounds(&self) -> Result<u64, StoreError> {
        self.read(|db| {
            db.query_row("SELECT count(*) FROM rounds", [], |row| row.get::<_, u32>(0)).map(u64::from)
        })
    }

    /// Returns the pairs by cell number. Fails if the version that measured numbered them differently, because visits
    /// would be shown for the wrong pairs.
    pub(super) fn plan(
        &self,
        topology: &Topology,
        settings: Option<&LatencySettings>,
    ) -> Result<Vec<[CpuId; 2]>, StoreError> {
        let (count, check, wrote): (u32, u32, String) = self.read(|db| {
            db.query_row("SELECT cells, cells_check, tool_version FROM run", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
        })?;
        let plan = settings.map_or_else(Vec::new, |settings| cells(topology, settings));
        if (count, check) == fingerprint(&plan) {
            Ok(plan)
        } else {
            Err(StoreError::OtherPlan { path: self.path.clone(), wrote })
        }
    }

    pub(super) fn read<T>(
        &self,
        from: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        from(&self.db).map_err(sqlite_error(Operation::Read, &self.path))
    }

    pub(super) fn damaged(&self, what: impl Into<String>) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), what: what.into() }
    }

    fn migrate(&mut self, found: u32) -> Result<(), StoreError> {
        schema::migrate(&mut self.db, MIGRATIONS).map_err(|error| {
            match sqlite_error(Operation::Migrate, &self.path)(error) {
                StoreError::NotWritable { path, .. } => {
                    StoreError::OldAndReadOnly { path, found, known: VERSION }
                }
                other => other,
            }
        })
    }

    /// Compares the schema with the expected one: all objects, or only the one named. Returns the schema version.
    fn check_schema(&self, only: Option<&str>) -> Result<u32, StoreError> {
        // The version is read first, because that read needs no schema.
        let version = self.read(|db| db.query_row("PRAGMA user_version", [], |row| row.get(0)))?;
        if version > VERSION {
            return Err(StoreError::Newer { path: self.path.clone(), found: version, known: VERSION });
        }
        match self.read(|db| schema::contradiction(db, version, only))? {
            Some(what) => Err(self.damaged(what)),
            None => Ok(version),
        }
    }
}

/// Returns the number of pairs and a checksum of their order.
pub(super) fn fingerprint(plan: &[[CpuId; 2]]) -> (u32, u32) {
    let bytes: Vec<u8> = plan.iter().flatten().flat_map(|cpu| cpu.0.to_le_bytes()).collect();
    (plan.len() as u32, checksum(&[&bytes]))
}

/// Returns the pairs of a new run, if a file can hold them.
pub(super) fn plan_of(
    path: &Path,
    topology: &Topology,
    settings: RunSettings<'_>,
) -> Result<Vec<[CpuId; 2]>, StoreError> {
    let too_large = |what: String, limit| Err(StoreError::TooLarge { path: path.to_owned(), what, limit });
    let of_latency = settings.latency.map(|settings| settings.cpus.len());
    let cpus = of_latency.or(settings.series.map(|series| series.cpus.len())).unwrap_or_default();
    if cpus > MAX_CPUS {
        return too_large(format!("a run over {cpus} CPUs"), MAX_CPUS as u64);
    }
    let Some(settings) = settings.latency else { return Ok(Vec::new()) };
    match &settings.pairs {
        PairChoice::Listed(pairs) if pairs.len() > u32::MAX as usize => {
            too_large(format!("a list of {} pairs", pairs.len()), u64::from(u32::MAX))
        }
        _ => Ok(cells(topology, settings)),
    }
}

/// Opens an existing file in SQLite, with protection against hostile contents. Reads nothing and takes no lock.
pub(super) fn connect(path: &Path, locks: Option<&str>) -> Result<Connection, StoreError> {
    let error = sqlite_error(Operation::Read, path);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = match locks {
        None => Connection::open_with_flags(path, flags),
        Some(vfs) => Connection::open_with_flags_and_vfs(path, flags, vfs),
    }
    .map_err(error.clone())?;
    harden(&db).map_err(error)?;
    Ok(db)
}

fn harden(db: &Connection) -> rusqlite::Result<()> {
    db.busy_timeout(BUSY_LIMIT)?;
    db.set_limit(Limit::SQLITE_LIMIT_LENGTH, BLOB_LIMIT_BYTES)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    db.execute_batch("PRAGMA cell_size_check = ON")
}

/// Checks the first bytes before SQLite does. This identifies a foreign file without creating anything.
pub(super) fn inspect(path: &Path) -> Result<(), StoreError> {
    // During a commit, the first page may state a larger size than the file has yet.
    for _ in 0..2 {
        match inspect_once(path) {
            Err(StoreError::Truncated { .. }) => std::thread::sleep(Duration::from_millis(1)),
            other => return other,
        }
    }
    inspect_once(path)
}

fn inspect_once(path: &Path) -> Result<(), StoreError> {
    let (head, length) = head(path)?;
    check_head(path, &head, length)?;
    let number = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let page = match u16::from_be_bytes([head[16], head[17]]) {
        1 => 65536,
        bytes => u64::from(bytes),
    };
    let expected = page * u64::from(number(28));
    // The rollback of a journal repairs the truncation.
    if length < expected && !has_journal(path) {
        return Err(StoreError::Truncated { path: path.to_owned(), expected, found: length });
    }
    Ok(())
}

/// Reads the header of a SQLite file. Its format is frozen (sqlite.org/fileformat.html, "The Database Header").
fn head(path: &Path) -> Result<([u8; 100], u64), StoreError> {
    let metadata = std::fs::metadata(path).map_err(io_error(Operation::Open, path))?;
    let foreign = |what| StoreError::Foreign { path: path.to_owned(), what };
    if !metadata.is_file() {
        return Err(foreign("it is not a regular file"));
    }
    let mut file = File::open(path).map_err(io_error(Operation::Open, path))?;
    let mut head = [0; 100];
    let mut filled = 0;
    while filled < head.len() {
        match file.read(&mut head[filled..]).map_err(io_error(Operation::Read, path))? {
            0 => break,
            bytes => filled += bytes,
        }
    }
    Ok((head, metadata.len()))
}

/// Whether a file that begins with these bytes is a run file.
pub fn is_run_file(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) && bytes.get(68..72) == Some(&APPLICATION_ID.to_be_bytes()[..])
}

fn check_head(path: &Path, head: &[u8; 100], length: u64) -> Result<(), StoreError> {
    let foreign = |what| Err(StoreError::Foreign { path: path.to_owned(), what });
    let number = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    if length == 0 {
        return foreign("it is empty");
    }
    if !head.starts_with(MAGIC) {
        return foreign("not an SQLite file");
    }
    if length < head.len() as u64 {
        return Err(StoreError::Truncated { path: path.to_owned(), expected: 512, found: length });
    }
    if number(68) as i32 != APPLICATION_ID {
        return foreign("an SQLite file of another program");
    }
    match number(60) {
        0 => foreign("an empty run file"),
        found if found > VERSION => Err(StoreError::Newer { path: path.to_owned(), found, known: VERSION }),
        _ => Ok(()),
    }
}

fn has_journal(path: &Path) -> bool {
    std::fs::metadata(journal(path)).is_ok_and(|metadata| metadata.len() > 0)
}

pub(super) fn journal(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-journal");
    name.into()
}
