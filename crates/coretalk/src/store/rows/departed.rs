//! CPUs that went away, which stand among the decisions of a run.

use coretalk_model::Departure;
use rusqlite::Connection;

/// Those of the last segment, in the order in which they were missed: what earlier ones missed was measured since, or is
/// missed again.
pub fn read_departed(db: &Connection) -> rusqlite::Result<Vec<Departure>> {
    let last: u32 = db.query_row("SELECT ifnull(max(segment), 0) FROM segments", [], |row| row.get(0))?;
    let mut select = db.prepare("SELECT key, value FROM decisions WHERE key LIKE 'departed:%'")?;
    let rows = select.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    let mut departed = Vec::new();
    for row in rows {
        let (key, value) = row?;
        departed.extend(Departure::of_decision(&key, &value).filter(|(segment, _)| *segment == last));
    }
    departed.sort_by_key(|(_, departure)| (departure.after, departure.cpu));
    Ok(departed.into_iter().map(|(_, departure)| departure).collect())
}
