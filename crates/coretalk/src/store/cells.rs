//! The derived tables `maps` and `cells`: for people who open a run file with `sqlite3`. Never read back.

use coretalk_model::Flag;
use coretalk_model::latency::{Cell, CellValue, LatencyResult};
use rusqlite::{Connection, Statement, params};

/// Writes what follows from a run, in place of what followed before.
pub(super) fn write_cells(db: &Connection, result: &LatencyResult) -> rusqlite::Result<()> {
    db.execute_batch("DELETE FROM cells; DELETE FROM maps;")?;
    let mut map_row = db.prepare(
        "INSERT INTO maps (map, protocol, kernel, hint_reason, regime) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    let mut cell_row = db.prepare(
        "INSERT INTO cells (map, from_cpu, to_cpu, median_ns, low_ns, high_ns, cycles, cycles_low, cycles_high,
                            core_ghz, min_ns, n, dropped, passes, home, home_penalty, line_spread, grade, flags,
                            reason)
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
            // A symmetric map keeps the cell of a pair where the row stands after the column.
            let (from, to) = if map.cells.is_symmetric() { (column, row) } else { (row, column) };
            let place = [number as u32, cpus[from].0, cpus[to].0];
            match cell {
                Cell::Measured(value) => write_value(&mut cell_row, place, value)?,
                Cell::Missing { reason } => {
                    // On the diagonal of a directed map there is nothing to miss.
                    if from != to {
                        write_missing(&mut cell_row, place, reason)?;
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
    let cycles = value.cycles.as_ref();
    let flags: Vec<&str> = value.flags.iter().map(Flag::name).collect();
    row.execute(params![
        map,
        from,
        to,
        value.latency_ns.point,
        value.latency_ns.low,
        value.latency_ns.high,
        cycles.map(|cycles| cycles.point),
        cycles.map(|cycles| cycles.low),
        cycles.map(|cycles| cycles.high),
        value.core_ghz,
        value.min_ns,
        value.batches as i64,
        value.dropped as i64,
        value.passes,
        value.home.0,
        value.home_penalty,
        value.line_spread,
        value.grade.to_string(),
        flags.join(","),
        value.reason,
    ])
    .map(drop)
}

fn write_missing(row: &mut Statement<'_>, [map, from, to]: [u32; 3], reason: &str) -> rusqlite::Result<()> {
    let unknown = None::<f64>;
    row.execute(params![
        map, from, to, unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown,
        unknown, unknown, unknown, unknown, unknown, unknown, unknown, reason
    ])
    .map(drop)
}
