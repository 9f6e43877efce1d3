//! Derived tables `maps` and `cells`, for people who open a run file with `sqlite3`. Coretalk never reads them back.
//!
//! Values are whole thousandths (picoseconds, MHz, per mille), which the views divide. SQLite stores such an integer in
//! two to four bytes and a float in eight. On 1,024 CPUs, integers save a tenth of the file.

use coretalk_measure::Stop;
use coretalk_model::Flag;
use coretalk_model::latency::{CellValue, LatencyResult, PairOutcome};
use coretalk_report::reasons::Worded;
use rusqlite::{Connection, Statement, ffi, params};

/// Replaces the derived rows of a run. Fails once `stop` is raised, because half a million rows take a second.
pub(super) fn write_cells(db: &Connection, result: &LatencyResult, stop: &Stop) -> rusqlite::Result<()> {
    db.execute_batch("DELETE FROM cells; DELETE FROM maps;")?;
    let mut map_row = db.prepare(
        "INSERT INTO maps (map, protocol, kernel, hint_reason, regime) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    let mut cell_row = db.prepare(
        "INSERT INTO cells (map, from_cpu, to_cpu, median_ps, low_ps, high_ps, millicycles, millicycles_low,
                            millicycles_high, core_mhz, min_ps, n, dropped, passes, home, home_penalty_pm,
                            line_spread_pm, grade, flags, reason)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)",
    )?;
    for (number, map) in result.maps.iter().enumerate() {
        map_row.execute((
            number as u32,
            map.protocol.name(),
            map.kernel.as_str(),
            &map.hint_reason,
            map.regime.name(),
        ))?;
        let cpus = map.cells.cpus();
        for (row, column, cell) in map.cells.iter() {
            if stop.is_raised() {
                let interrupted = ffi::Error::new(ffi::SQLITE_INTERRUPT);
                return Err(rusqlite::Error::SqliteFailure(interrupted, None));
            }
            // A symmetric map stores each pair once, with row > column.
            let (from, to) = if map.cells.is_symmetric() { (column, row) } else { (row, column) };
            let key = [number as u32, cpus[from].0, cpus[to].0];
            match cell {
                PairOutcome::Measured(value) => write_value(&mut cell_row, key, value)?,
                PairOutcome::Missing { reason } => {
                    // Cells on the diagonal of a directed map are not pairs.
                    if from != to {
                        write_missing(&mut cell_row, key, &reason.text())?;
                    }
                }
            }
        }
    }
    Ok(())
}

fn write_value(
    row: &mut Statement<'_>,
    [map, from, to]: [u32; 3],
    value: &CellValue,
) -> rusqlite::Result<()> {
    let cycles = value.cycles.get();
    let flags: Vec<&str> = value.flags.iter().map(Flag::name).collect();
    row.execute(params![
        map,
        from,
        to,
        thousandths(value.latency_ns.point),
        thousandths(value.latency_ns.low),
        thousandths(value.latency_ns.high),
        cycles.and_then(|cycles| thousandths(cycles.point)),
        cycles.and_then(|cycles| thousandths(cycles.low)),
        cycles.and_then(|cycles| thousandths(cycles.high)),
        value.core_ghz.get().and_then(thousandths),
        thousandths(value.min_ns),
        value.batches as i64,
        value.dropped as i64,
        value.passes,
        value.home.0,
        value.home_penalty.get().and_then(thousandths),
        value.line_spread.get().and_then(thousandths),
        value.grade.to_string(),
        flags.join(","),
        value.reason().map(|reason| reason.text()),
    ])
    .map(drop)
}

fn thousandths(value: f64) -> Option<i64> {
    value.is_finite().then(|| (value * 1e3).round() as i64)
}

fn write_missing(row: &mut Statement<'_>, [map, from, to]: [u32; 3], reason: &str) -> rusqlite::Result<()> {
    let unknown = None::<i64>;
    row.execute(params![
        map, from, to, unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown,
        unknown, unknown, unknown, unknown, unknown, unknown, unknown, reason
    ])
    .map(drop)
}
