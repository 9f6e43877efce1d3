//! Run files in which one value of a row is replaced by another of its kind, with correct checksums.

use super::Output;
use super::random::Random;
use crate::cli::tool::Tool;
use coretalk::store::RunFile;
use coretalk_report::Style;
use coretalk_report::document::Identity;
use coretalk_report::export::{Export, Format, export, hgrm_files};
use coretalk_report::html::page;
use coretalk_report::input::{Drawing, ReportInput, ScaleChoice};
use coretalk_report::{By, Order};
use rusqlite::types::{FromSql, Value as Sql};
use rusqlite::{Connection, Row, params_from_iter};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::OnceLock;

/// Original runs: a map with histograms, an imitated tool with raw ticks, trials with counts, and trials with
/// histograms.
const RUNS: [&[&str]; 4] = [
    &["latency", "--machine", "sim:chiplet-16", "--cpus", "0-3", "--tails", "--budget", "2s"],
    &["latency", "--machine", "sim:laptop-smt", "--cpus", "0,1", "--as", "c2clat", "--budget", "2s"],
    &["queue", "--machine", "sim:chiplet-16", "--cpus", "0,1", "--budget", "2s"],
    &["wake", "--machine", "sim:chiplet-16", "--cpus", "0,1", "--budget", "2s"],
];

fn originals() -> &'static Vec<Vec<u8>> {
    static ORIGINALS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    ORIGINALS.get_or_init(|| {
        let tool = Tool::new();
        let make_run = |words: &&[&str]| {
            tool.done(&[words, &["--seed", "1", "-q"][..]].concat());
            let path = tool.done(&["runs", "path", "latest"]).out;
            std::fs::read(path.trim_end()).unwrap()
        };
        RUNS.iter().map(make_run).collect()
    })
}

/// CRC-32 as in docs/format/run-file.md.
fn crc(parts: &[&[u8]]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !parts.iter().flat_map(|part| part.iter()).fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

pub fn make(random: &mut Random) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    std::fs::write(&path, random.of_slice(originals())).unwrap();
    let db = Connection::open(&path).unwrap();
    db.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN").unwrap();
    for _ in 0..1 + random.below(3) {
        change(&db, random);
    }
    seal(&db);
    db.execute_batch("COMMIT").unwrap();
    drop(db);
    std::fs::read(&path).unwrap()
}

fn column<T: FromSql>(db: &Connection, query: &str) -> Vec<T> {
    let mut query = db.prepare(query).unwrap();
    query.query_map((), |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// Changes one value of a row, deletes the row, or duplicates it.
fn change(db: &Connection, random: &mut Random) {
    let tables: Vec<String> = column(
        db,
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name",
    );
    // Half of the changes go to the tables with measurements, which are most of a file.
    let table = match random.one_in(2) {
        true => random.of_slice(&tables).as_str(),
        false => *random.of_slice(&["rounds", "passes", "trials", "settings", "raw", "segments"]),
    };
    let rows = column::<i64>(db, &format!("SELECT count(*) FROM {table}"))[0] as usize;
    if rows == 0 {
        return;
    }
    let names =
        |order: &str| column::<String>(db, &format!("SELECT name FROM pragma_table_info('{table}') {order}"));
    let (columns, key) = (names("ORDER BY cid"), names("WHERE pk > 0"));
    let list = columns.join(", ");
    let query = format!("SELECT {list} FROM {table} ORDER BY 1, 2 LIMIT 1 OFFSET {}", random.below(rows));
    let values = |row: &Row<'_>| (0..columns.len()).map(|at| row.get(at)).collect();
    let row: Vec<Sql> = db.query_row(&query, (), values).unwrap();
    let mut changed = row.clone();
    let at = random.below(columns.len());
    changed[at] = value(random, &row[at]);
    if !random.one_in(8) {
        let same = columns.iter().map(|name| format!("{name} IS ?")).collect::<Vec<_>>().join(" AND ");
        // Deletes all equal rows, of which some tables have several.
        let _ = db.execute(&format!("DELETE FROM {table} WHERE {same}"), params_from_iter(&row));
    } else if let Some(number) = columns.iter().position(|name| key.contains(name)) {
        changed[number] = value(random, &row[number]);
    }
    let placeholders = vec!["?"; columns.len()].join(", ");
    let insert = format!("INSERT INTO {table} ({list}) VALUES ({placeholders})");
    // Errors are ignored: the schema refuses some values.
    if !random.one_in(16) {
        let _ = db.execute(&insert, params_from_iter(&changed));
    }
}

/// Returns another value, nearly always of the same kind.
fn value(random: &mut Random, before: &Sql) -> Sql {
    match before {
        _ if random.one_in(24) => match random.below(4) {
            0 => Sql::Null,
            1 => Sql::Integer(random.integer(1)),
            2 => Sql::Real(random.float()),
            _ => Sql::Text(random.extreme().to_owned()),
        },
        Sql::Null => Sql::Integer(random.integer(0)),
        Sql::Integer(number) => Sql::Integer(random.integer(*number)),
        Sql::Real(_) => Sql::Real(random.float()),
        Sql::Text(text) => Sql::Text(match serde_json::from_str(text) {
            Ok(mut value) => {
                change_json(random, &mut value);
                value.to_string()
            }
            Err(_) => random.change(text),
        }),
        Sql::Blob(bytes) => Sql::Blob(change_bytes(random, bytes)),
    }
}

fn change_json(random: &mut Random, whole: &mut Value) {
    fn count(value: &Value) -> usize {
        1 + match value {
            Value::Array(list) => list.iter().map(count).sum(),
            Value::Object(map) => map.values().map(count).sum(),
            _ => 0,
        }
    }
    fn nth<'a>(value: &'a mut Value, skipped: &mut usize) -> Option<&'a mut Value> {
        if *skipped == 0 {
            return Some(value);
        }
        *skipped -= 1;
        match value {
            Value::Array(list) => list.iter_mut().find_map(|value| nth(value, skipped)),
            Value::Object(map) => map.values_mut().find_map(|value| nth(value, skipped)),
            _ => None,
        }
    }
    let mut at = random.below(count(whole));
    let Some(value) = nth(whole, &mut at) else { return };
    match value {
        Value::Array(list) if !list.is_empty() => {
            let (one, times) = (list[random.below(list.len())].clone(), random.below(200));
            match random.below(3) {
                0 => list.clear(),
                1 => list.truncate(1),
                _ => list.extend(std::iter::repeat_n(one, times)),
            }
        }
        Value::Object(map) if !map.is_empty() => {
            let key = map.keys().nth(random.below(map.len())).cloned().unwrap();
            map.remove(&key);
        }
        Value::String(text) => *text = random.change(text),
        Value::Bool(flag) => *flag = !*flag,
        other => {
            let (number, float) = (random.integer(other.as_i64().unwrap_or(0)), random.float());
            let values = [json!(number), json!(u64::MAX), json!(float), json!("x"), json!(null)];
            *other = random.of_slice(&values).clone();
        }
    }
}

/// Removes, inserts or changes bytes and varints of a blob; keeps its version.
fn change_bytes(random: &mut Random, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + random.below(3) {
        let Some(end) = bytes.len().checked_sub(5).filter(|end| *end > 0) else { return bytes };
        let at = 1 + random.below(end);
        let mut varint = vec![0xff; random.below(9)];
        varint.push(*random.of_slice(&[0, 1, 0x7f]));
        match random.below(6) {
            0 => drop(bytes.remove(at)),
            1 => bytes.truncate(at),
            2 => drop(bytes.splice(at..at, varint)),
            3 => drop(bytes.splice(at..(at + varint.len()).min(bytes.len()), varint)),
            4 => bytes[at] ^= 1 << random.below(8),
            _ => bytes[at] = *random.of_slice(&[0, 1, 2, 0x3f, 0x7f, 0x80, 0xff]),
        }
    }
    bytes
}

fn seal(db: &Connection) {
    let crc_of_text = |text: String| crc(&[text.as_bytes()]);
    let sealed = |blob: Vec<u8>, key: &[u8]| {
        let contents = &blob[..blob.len().saturating_sub(4)];
        Sql::Blob([contents, &crc(&[key, contents]).to_le_bytes()].concat())
    };
    let update_each = |query: &str, update: &str, new: &dyn Fn(&Row<'_>) -> rusqlite::Result<Sql>| {
        let mut query = db.prepare(query).unwrap();
        // Skips values that are not blobs, because they have no checksum.
        let rows = query.query_map((), |row| Ok((row.get(0)?, new(row)?))).unwrap().filter_map(Result::ok);
        for (number, value) in rows.collect::<Vec<(i64, Sql)>>() {
            db.execute(&format!("UPDATE {update} = ?2"), rusqlite::params![value, number]).unwrap();
        }
    };
    let seal_round = |row: &Row<'_>| {
        let [segment, purpose, pass, started, elapsed] = integers(row)?.map(i64::to_le_bytes);
        let key = [&segment[..4], &purpose[..1], &pass[..4], &started, &elapsed].concat();
        Ok(sealed(row.get(6)?, &key))
    };
    const ROUND: &str = "SELECT round, segment, purpose, pass, started, elapsed";
    let trials = format!("{ROUND}, trials FROM rounds");
    update_each(&trials, "rounds SET trials = ?1 WHERE round", &seal_round);
    let raw = format!("{ROUND}, recordings FROM rounds JOIN raw USING (round)");
    update_each(&raw, "raw SET recordings = ?1 WHERE round", &seal_round);
    let seal_pass = |row: &Row<'_>| {
        let numbers = integers(row)?.map(i64::to_le_bytes).concat();
        let key = [numbers, crc_of_text(row.get(6)?).to_le_bytes().into()].concat();
        Ok(sealed(row.get(7)?, &key))
    };
    let passes = "SELECT number, segment, pass, trial, started, elapsed, said, histograms FROM passes";
    update_each(passes, "passes SET histograms = ?1 WHERE number", &seal_pass);
    let seal_shape = |row: &Row<'_>| Ok(Sql::Integer(crc_of_text(row.get(1)?).into()));
    update_each("SELECT shape, spans FROM shapes", "shapes SET spans_check = ?1 WHERE shape", &seal_shape);
}

/// The integers in columns 1 to 5.
fn integers(row: &Row<'_>) -> rusqlite::Result<[i64; 5]> {
    Ok([row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?])
}

/// Reads a run file and formats it in every format.
pub fn read(path: &Path, bytes: &[u8]) -> Output {
    std::fs::write(path, bytes).unwrap();
    let file = RunFile::open(path)?;
    let report = file.report()?;
    let request = Export {
        report: &report,
        trials: Some(&file),
        protocol: None,
        probe: None,
        identity: Identity::Hidden,
        name: "k3f9",
        style: Style::default(),
        order: None,
        ladder: true,
    };
    let mut out = Vec::new();
    for format in [Format::Text, Format::Json, Format::Jsonl, Format::Csv, Format::Markdown] {
        // Errors are ignored: not every format can hold every run.
        let _ = export(format, &request, &mut out);
    }
    let tables: usize = hgrm_files(&report).into_iter().map(|(_, text)| text.len()).sum();
    let drawing = Drawing { order: Order::Topology, by: By::Core, scale: ScaleChoice::Fixed, cdf: None };
    let input = ReportInput::new(&report, "k3f9", Identity::Hidden);
    Ok(out.len() + tables + page(&[input], drawing).map_or(0, |page| page.len()))
}
