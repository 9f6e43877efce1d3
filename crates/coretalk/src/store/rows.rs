//! Stored rows. They repeat the fields of the domain types, so that a change of such a type leaves the format
//! unchanged. A test compares the stored keys and values of settings with a list.

mod machine;
mod series;
mod settings;

pub(super) use machine::{
    read_environment, read_findings, read_topology, write_environment, write_findings, write_topology,
};
pub(super) use series::{
    Counted, read_pass, read_series_settings, write_pass, write_series_budget, write_series_settings,
};
pub(super) use settings::{read_settings, write_budget, write_settings};

use super::codec::MAX_PS;
use coretalk_model::{CpuId, CpuLoss, excerpt};
use rusqlite::Connection;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// Valid rates of counters in Hz. Other rates count as damage.
pub(super) const COUNTERS_HZ: RangeInclusive<f64> = 1e3..=1e12;

/// Writes one key with a JSON value per field of a row struct; leaves out null fields.
fn write_keys(db: &Connection, table: &str, fields: &impl serde::Serialize) -> rusqlite::Result<()> {
    let value = serde_json::to_value(fields)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    let mut insert = db.prepare(&format!("INSERT OR REPLACE INTO {table} (key, value) VALUES (?1, ?2)"))?;
    for (key, value) in value.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        insert.execute((key, value.to_string()))?;
    }
    Ok(())
}

/// Reads what [`write_keys`] wrote; ignores unknown keys.
fn read_keys<T: DeserializeOwned>(db: &Connection, table: &str) -> rusqlite::Result<T> {
    let mut select = db.prepare(&format!("SELECT key, value FROM {table}"))?;
    let mut fields = Map::new();
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (key, value): (String, String) = (row.get(0)?, row.get(1)?);
        let parsed = serde_json::from_str(&value);
        let parsed =
            parsed.map_err(|error| conversion(1, format!("{table} `{}`: {error}", excerpt(&key))))?;
        fields.insert(key, parsed);
    }
    serde_json::from_value(Value::Object(fields)).map_err(|error| conversion(1, format!("{table}: {error}")))
}

/// Reads the CPUs that the last segment lost, in order. CPUs lost earlier were measured since, or were lost again.
pub(super) fn read_departed(db: &Connection) -> rusqlite::Result<Vec<CpuLoss>> {
    let last: u32 = db.query_row("SELECT ifnull(max(segment), 0) FROM segments", [], |row| row.get(0))?;
    let mut select = db.prepare("SELECT key, value FROM decisions WHERE key LIKE 'departed:%'")?;
    let rows = select.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    let mut departed = Vec::new();
    for row in rows {
        let (key, value) = row?;
        departed.extend(CpuLoss::of_decision(&key, &value).filter(|(segment, _)| *segment == last));
    }
    departed.sort_by_key(|(_, departure)| (departure.after, departure.cpu));
    Ok(departed.into_iter().map(|(_, departure)| departure).collect())
}

/// Stores seeds as decimal text: many JSON readers round numbers above 2⁵³.
mod decimal {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// Borrows the text of a column. The error names the column.
fn text<'a>(row: &'a rusqlite::Row<'_>, column: usize) -> rusqlite::Result<&'a str> {
    let text = row.get_ref(column)?.as_str();
    text.or_else(|error| row.get::<_, String>(column).and(Err(error.into())))
}

fn blob<'a>(row: &'a rusqlite::Row<'_>, column: usize) -> rusqlite::Result<&'a [u8]> {
    let blob = row.get_ref(column)?.as_blob();
    blob.or_else(|error| row.get::<_, Vec<u8>>(column).and(Err(error.into())))
}

pub(super) fn json<T: DeserializeOwned>(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text = text(row, column)?;
    let name = row.as_ref().column_name(column).unwrap_or_default();
    serde_json::from_str(text).map_err(|error| conversion(column, format!("the column `{name}`: {error}")))
}

pub(super) fn time(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let value: i64 = row.get(column)?;
    let time = u64::try_from(value).ok().filter(|&time| time <= MAX_PS);
    time.ok_or_else(|| conversion(column, format!("{value} ps is no time of a run")))
}

/// Lower bound for numbers that must be positive.
const SMALLEST: f64 = 1e-9;

fn within<T: PartialOrd + Display>(what: &str, value: T, bounds: RangeInclusive<T>) -> rusqlite::Result<T> {
    if bounds.contains(&value) {
        Ok(value)
    } else {
        Err(conversion(0, format!("{what} is {value}, which is impossible")))
    }
}

pub(super) fn moment(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<String> {
    let text: String = row.get(column)?;
    match text.parse::<jiff::Timestamp>() {
        Ok(_) => Ok(text),
        Err(_) => Err(conversion(column, format!("`{}` is not a time in RFC 3339", excerpt(&text)))),
    }
}

/// Checks that no CPU is listed twice.
fn once(cpus: &[CpuId]) -> rusqlite::Result<()> {
    let mut seen = BTreeSet::new();
    match cpus.iter().find(|cpu| !seen.insert(**cpu)) {
        None => Ok(()),
        Some(cpu) => Err(conversion(1, format!("CPU {cpu} takes part twice"))),
    }
}

/// Maximum characters of an error text, because a JSON parser may repeat its whole input.
const MAX_ERROR_CHARS: usize = 80;

/// Makes an error for the damaged column at position `column`. `error` must name the column.
pub(super) fn conversion(column: usize, error: impl Display) -> rusqlite::Error {
    let mut message = error.to_string();
    if let Some((end, _)) = message.char_indices().nth(MAX_ERROR_CHARS) {
        message.truncate(end);
        message.push('…');
    }
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, message.into())
}

fn named<T: Copy>(all: &[T], name: impl Fn(T) -> &'static str, text: &str) -> rusqlite::Result<T> {
    all.iter()
        .copied()
        .find(|&one| name(one) == text)
        .ok_or_else(|| conversion(0, format!("this version does not know `{}`", excerpt(text))))
}
