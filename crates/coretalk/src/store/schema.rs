//! Schema of run files and its numbered migrations. docs/format/run-file.md describes the tables.

use coretalk_model::excerpt;
use rusqlite::Connection;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

/// "CTLK" in the header of every run file; identifies run files to `file` and coretalk.
pub const APPLICATION_ID: i32 = 0x4354_4C4B;

/// Migrations from version `n - 1` to `n`; the first creates a new file. **Append, never edit**: files of every version
/// exist. Tables are not STRICT, because SQLite 3.26, which is still in use, cannot open STRICT tables.
pub(super) const MIGRATIONS: &[&str] = &[V1, V2, V3, V4];

/// Schema version that this tool writes.
pub const VERSION: u32 = MIGRATIONS.len() as u32;

const V1: &str = r#"
CREATE TABLE run (
    id           TEXT    NOT NULL,
    started      TEXT    NOT NULL,
    kind         TEXT    NOT NULL,
    command      TEXT    NOT NULL,
    seed         TEXT    NOT NULL,
    simulated    INTEGER NOT NULL,
    complete     INTEGER NOT NULL,
    tool_version TEXT    NOT NULL,
    allowed      TEXT    NOT NULL,
    cells        INTEGER NOT NULL,
    cells_check  INTEGER NOT NULL
);
CREATE TABLE environment (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE findings (
    finding INTEGER PRIMARY KEY, id TEXT NOT NULL, verdict TEXT NOT NULL, text TEXT NOT NULL, fix TEXT
);
CREATE TABLE cpus (cpu INTEGER PRIMARY KEY, class_rank INTEGER, class TEXT);
CREATE TABLE domains (domain INTEGER PRIMARY KEY, level TEXT NOT NULL, cpus TEXT NOT NULL, os_id INTEGER);
CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE segments (
    segment  INTEGER PRIMARY KEY,
    started  TEXT NOT NULL,
    clock_hz REAL NOT NULL,
    ended    TEXT
);
CREATE TABLE decisions (key TEXT PRIMARY KEY, value TEXT NOT NULL, segment INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE tags (tag TEXT PRIMARY KEY, created TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE purposes (purpose INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE shapes (shape INTEGER PRIMARY KEY, spans TEXT NOT NULL, spans_check INTEGER NOT NULL);
CREATE TABLE rounds (
    round   INTEGER PRIMARY KEY,
    segment INTEGER NOT NULL,
    purpose INTEGER NOT NULL,
    pass    INTEGER NOT NULL,
    started INTEGER NOT NULL,
    elapsed INTEGER NOT NULL,
    trials  BLOB    NOT NULL
);
CREATE TABLE raw (round INTEGER PRIMARY KEY, recordings BLOB NOT NULL);
CREATE TABLE maps (
    map         INTEGER PRIMARY KEY,
    protocol    TEXT NOT NULL,
    kernel      TEXT NOT NULL,
    hint_reason TEXT NOT NULL,
    regime      TEXT NOT NULL
);
CREATE TABLE cells (
    map              INTEGER NOT NULL,
    from_cpu         INTEGER NOT NULL,
    to_cpu           INTEGER NOT NULL,
    median_ps        INTEGER,
    low_ps           INTEGER,
    high_ps          INTEGER,
    millicycles      INTEGER,
    millicycles_low  INTEGER,
    millicycles_high INTEGER,
    core_mhz         INTEGER,
    min_ps           INTEGER,
    n                INTEGER,
    dropped          INTEGER,
    passes           INTEGER,
    home             INTEGER,
    home_penalty_pm  INTEGER,
    line_spread_pm   INTEGER,
    grade            TEXT,
    flags            TEXT,
    reason           TEXT
);
CREATE VIEW latency AS SELECT
    protocol, kernel, regime, from_cpu, to_cpu,
    median_ps / 1e3 AS median_ns, low_ps / 1e3 AS low_ns, high_ps / 1e3 AS high_ns,
    millicycles / 1e3 AS cycles, millicycles_low / 1e3 AS cycles_low, millicycles_high / 1e3 AS cycles_high,
    core_mhz / 1e3 AS core_ghz, min_ps / 1e3 AS min_ns, n, dropped, passes, home,
    home_penalty_pm / 1e3 AS home_penalty, line_spread_pm / 1e3 AS line_spread, grade, flags, reason
    FROM cells JOIN maps USING (map);
CREATE VIEW matrix_cas     AS SELECT * FROM latency WHERE protocol = 'cas';
CREATE VIEW matrix_store   AS SELECT * FROM latency WHERE protocol = 'store';
CREATE VIEW matrix_msg     AS SELECT * FROM latency WHERE protocol = 'msg';
CREATE VIEW matrix_xfer    AS SELECT * FROM latency WHERE protocol = 'xfer';
CREATE VIEW matrix_one_way AS SELECT * FROM latency WHERE protocol = 'one-way';
CREATE VIEW progress AS
    SELECT segment, name AS purpose, pass, count(*) AS rounds, sum(elapsed) / 1e12 AS seconds
    FROM rounds JOIN purposes USING (purpose) GROUP BY segment, purpose, pass;
"#;

/// Adds series: the results of every probe except the latency map.
const V2: &str = r#"
CREATE TABLE series_settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE trials (
    trial      INTEGER PRIMARY KEY,
    id         TEXT NOT NULL,
    probe      TEXT NOT NULL,
    parameters TEXT NOT NULL,
    placement  TEXT NOT NULL
);
CREATE TABLE passes (
    number     INTEGER PRIMARY KEY,
    segment    INTEGER NOT NULL,
    pass       INTEGER NOT NULL,
    trial      INTEGER NOT NULL,
    started    INTEGER NOT NULL,
    elapsed    INTEGER NOT NULL,
    said       TEXT    NOT NULL,
    histograms BLOB    NOT NULL
);
CREATE VIEW series AS SELECT
    probe, parameters, placement, segment, pass, started / 1e12 AS started_s, elapsed / 1e12 AS elapsed_s, said
    FROM passes JOIN trials USING (trial);
"#;

/// Adds the clock step, from which the reader computes summaries of raw ticks.
const V3: &str = "ALTER TABLE segments ADD COLUMN step_ns REAL;";

/// Adds reported facts that are not groups of CPUs. Files may also have a topology level unknown to older versions.
const V4: &str = "CREATE TABLE beside (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;";

/// Migrates a file to the newest version in one transaction. The caller has checked that the file is not newer.
pub(super) fn migrate(connection: &mut Connection, migrations: &[&str]) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    // Read inside the transaction, because another process may have migrated the file meanwhile.
    let version: u32 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    for migration in migrations.iter().skip(version as usize) {
        transaction.execute_batch(migration)?;
    }
    transaction.execute_batch(&format!("PRAGMA user_version = {}", migrations.len()))?;
    transaction.commit()
}

/// Schema objects by name, each with its kind and SQL text (`None` for an index that SQLite made).
type Objects = BTreeMap<String, (String, Option<String>)>;

/// Finds a difference between the schema of a file and that of its version. `only` limits the check to one object.
///
/// Unknown objects are dangerous. A trigger can change measurements. A view or virtual table can compute without end.
pub(super) fn contradiction(
    db: &Connection,
    version: u32,
    only: Option<&str>,
) -> rusqlite::Result<Option<String>> {
    let expected = objects_of(version)?;
    let mut seen = BTreeSet::new();
    let mut select = db.prepare("SELECT name, type, sql FROM sqlite_schema WHERE ?1 IS NULL OR name = ?1")?;
    let mut rows = select.query([only])?;
    while let Some(row) = rows.next()? {
        let (name, object) = object(row)?;
        let found = || format!("{} `{}`", excerpt(&object.0), excerpt(&name));
        match expected.get_key_value(&name) {
            None => return Ok(Some(format!("it has the {}, which no run file has", found()))),
            Some((_, known)) if *known != object => {
                return Ok(Some(format!("its {} is not defined as in a run file", found())));
            }
            Some((name, _)) => seen.insert(name),
        };
    }
    let is_requested = |name: &String| only.is_none_or(|only| only == name);
    let missing = expected.iter().find(|(name, _)| is_requested(name) && !seen.contains(name));
    Ok(missing.map(|(name, (kind, _))| format!("its {kind} `{name}` is missing")))
}

fn object(row: &rusqlite::Row<'_>) -> rusqlite::Result<(String, (String, Option<String>))> {
    Ok((row.get(0)?, (row.get(1)?, row.get(2)?)))
}

/// Returns the schema of a version, as SQLite stores it after the migrations.
fn objects_of(version: u32) -> rusqlite::Result<&'static Objects> {
    static SCHEMAS: [OnceLock<Objects>; MIGRATIONS.len() + 1] =
        [const { OnceLock::new() }; MIGRATIONS.len() + 1];
    let schema = &SCHEMAS[version as usize];
    if let Some(known) = schema.get() {
        return Ok(known);
    }
    let mut db = Connection::open_in_memory()?;
    migrate(&mut db, &MIGRATIONS[..version as usize])?;
    let mut select = db.prepare("SELECT name, type, sql FROM sqlite_schema")?;
    let objects = select.query_map([], object)?.collect::<rusqlite::Result<Objects>>()?;
    Ok(schema.get_or_init(|| objects))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(connection: &Connection) -> u32 {
        connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn migrations_extend_older_files_and_keep_their_data() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, MIGRATIONS).unwrap();
        connection.execute("INSERT INTO tags VALUES ('kept', 'then')", []).unwrap();
        let later = [MIGRATIONS, &["ALTER TABLE tags ADD COLUMN by TEXT"]].concat();
        migrate(&mut connection, &later).unwrap();
        assert_eq!(version(&connection), VERSION + 1);
        let tag: (String, Option<String>) = connection
            .query_row("SELECT tag, by FROM tags", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        assert_eq!(tag, ("kept".into(), None));
        migrate(&mut connection, &later).unwrap();
        assert_eq!(version(&connection), VERSION + 1);
    }

    #[test]
    fn a_failed_migration_leaves_the_file_unchanged() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, MIGRATIONS).unwrap();
        let broken = [MIGRATIONS, &["CREATE TABLE more (x)", "CREATE TABLE run (x)"]].concat();
        assert!(migrate(&mut connection, &broken).is_err());
        assert_eq!(version(&connection), VERSION);
        assert!(connection.query_row("SELECT * FROM more", [], |_| Ok(())).is_err());
    }

    #[test]
    fn every_protocol_has_its_view() {
        for protocol in coretalk_model::Protocol::ALL {
            let view = format!("CREATE VIEW matrix_{} ", protocol.name().replace('-', "_"));
            assert!(V1.contains(&view) && V1.contains(&format!("'{protocol}'")), "{protocol}");
        }
    }
}
