//! [`Table`]: a map seen through groups of CPUs: threads, cores, or the tiles of a picture.

use crate::latency::{Cell, LatencyMap};
use crate::stats::median_in_place;
use crate::{CpuId, Matrix};

/// What a picture shows of one pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// Half round trip in nanoseconds.
    pub ns: f64,
    /// Whether some flag casts doubt on it.
    pub doubtful: bool,
}

/// The readings of a map; `None` where a cell was not measured.
pub fn readings(map: &LatencyMap) -> Matrix<Option<Reading>> {
    map.cells.map(|cell| match cell {
        Cell::Measured(value) => {
            Some(Reading { ns: value.latency_ns.point, doubtful: value.flags.has_doubt() })
        }
        Cell::Missing { .. } => None,
    })
}

/// A rectangle of groups: rows and columns are lists of CPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    columns: usize,
    cells: Vec<TableCell>,
}

/// All pairs of one CPU of the row and another of the column.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TableCell {
    /// Median over the measured pairs in nanoseconds; `None` where none was measured.
    pub median_ns: Option<f64>,
    /// Pairs of two different CPUs; none on the diagonal of single CPUs.
    pub pairs: u32,
    /// Pairs that were not measured.
    pub missing: u32,
    /// Measured pairs with a doubt.
    pub doubtful: u32,
}

impl Table {
    /// The cell at a position; empty outside.
    pub fn get(&self, row: usize, column: usize) -> TableCell {
        if column >= self.columns {
            return TableCell::default();
        }
        self.cells.get(row * self.columns + column).copied().unwrap_or_default()
    }

    /// Every cell, row by row.
    pub fn iter(&self) -> impl Iterator<Item = &TableCell> {
        self.cells.iter()
    }
}

/// Sees readings through groups of CPUs. CPUs that the matrix does not know count as not measured. A pair within one
/// group counts once. A CPU with itself counts where the matrix holds a value for it and the CPU is a group alone.
pub fn table(readings: &Matrix<Option<Reading>>, rows: &[Vec<CpuId>], columns: &[Vec<CpuId>]) -> Table {
    let position = positions(readings.cpus());
    let place = |cpu: &CpuId| position.get(cpu.index()).copied().flatten();
    let rows: Vec<Vec<Option<usize>>> = rows.iter().map(|row| row.iter().map(place).collect()).collect();
    let columns: Vec<Vec<Option<usize>>> =
        columns.iter().map(|column| column.iter().map(place).collect()).collect();
    let mut values = Vec::new();
    let mut cells = Vec::with_capacity(rows.len() * columns.len());
    for row in &rows {
        for column in &columns {
            cells.push(cell(readings, row, column, &mut values));
        }
    }
    Table { columns: columns.len(), cells }
}

fn cell(
    readings: &Matrix<Option<Reading>>,
    row: &[Option<usize>],
    column: &[Option<usize>],
    values: &mut Vec<f64>,
) -> TableCell {
    values.clear();
    let mut cell = TableCell::default();
    let once = readings.is_symmetric() && row == column;
    for (index, from) in row.iter().enumerate() {
        let skip = if once { index + 1 } else { 0 };
        for to in column.iter().skip(skip) {
            // Both threads on one CPU: a question of its own, and none of a row of several.
            let is_asked = || {
                let own = from.zip(*to).and_then(|(from, to)| readings.get(from, to).copied().flatten());
                row.len() == 1 && column.len() == 1 && own.is_some()
            };
            if from == to && !is_asked() {
                continue;
            }
            cell.pairs += 1;
            match from.zip(*to).and_then(|(from, to)| *readings.get(from, to)?) {
                Some(reading) => {
                    values.push(reading.ns);
                    cell.doubtful += u32::from(reading.doubtful);
                }
                None => cell.missing += 1,
            }
        }
    }
    cell.median_ns = median_in_place(values);
    cell
}

/// Position in the matrix by CPU id.
pub(super) fn positions(cpus: &[CpuId]) -> Vec<Option<usize>> {
    let mut positions = vec![None; cpus.iter().map(|cpu| cpu.index() + 1).max().unwrap_or(0)];
    for (position, cpu) in cpus.iter().enumerate() {
        positions[cpu.index()] = Some(position);
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square() -> Matrix<Option<Reading>> {
        let cpus = [0, 4, 1, 5].map(CpuId).to_vec();
        Matrix::symmetric(cpus, |row, column| {
            (row != 3 || column != 2)
                .then_some(Reading { ns: (10 * row + column) as f64, doubtful: row == 3 })
        })
    }

    #[test]
    fn a_core_is_seen_through_the_pairs_of_its_threads() {
        let cores = [vec![CpuId(0), CpuId(4)], vec![CpuId(1), CpuId(5)]];
        let table = table(&square(), &cores, &cores);
        let across = table.get(0, 1);
        assert_eq!((across.pairs, across.median_ns, across.doubtful), (4, Some(25.5), 2)); // 20 21 30 31
        assert_eq!(table.get(1, 0), across);
        assert_eq!(table.get(0, 0), TableCell { median_ns: Some(10.0), pairs: 1, missing: 0, doubtful: 0 });
        assert_eq!(table.get(1, 1), TableCell { median_ns: None, pairs: 1, missing: 1, doubtful: 0 });
    }

    #[test]
    fn a_value_of_a_cpu_with_itself_shows_where_rows_are_cpus() {
        let cpus: Vec<CpuId> = [0, 4].map(CpuId).to_vec();
        let directed = Matrix::directed(cpus.clone(), |row, column| {
            (row != 1 || column != 1)
                .then_some(Reading { ns: (10 * row + column) as f64 + 1.0, doubtful: false })
        });
        let single: Vec<Vec<CpuId>> = cpus.iter().map(|&cpu| vec![cpu]).collect();
        let threads = table(&directed, &single, &single);
        assert_eq!((threads.get(0, 0).pairs, threads.get(0, 0).median_ns), (1, Some(1.0)));
        assert_eq!(threads.get(1, 1), TableCell::default());
        let core = [cpus];
        assert_eq!(table(&directed, &core, &core).get(0, 0).pairs, 2);
    }

    #[test]
    fn a_single_cpu_has_no_pair_with_itself_and_an_unknown_one_is_missing() {
        let single = [vec![CpuId(4)], vec![CpuId(99)]];
        let table = table(&square(), &single, &single);
        assert_eq!(table.get(0, 0), TableCell::default());
        assert_eq!(table.get(0, 1).missing, 1);
        assert_eq!(table.get(7, 7), TableCell::default());
    }
}
