//! [`SummaryTable`]: a map aggregated by groups of CPUs: threads, cores, or the tiles of a picture.

use crate::latency::{LatencyMap, PairOutcome};
use crate::stats::median_in_place;
use crate::{CpuId, Matrix};

/// The displayed value of one pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairReading {
    /// Half round trip in ns, or messages/s.
    pub ns: f64,
    /// Whether the reading has a flag of doubt.
    pub doubtful: bool,
}

/// The readings of a map; `None` for cells that were not measured.
pub fn readings(map: &LatencyMap) -> Matrix<Option<PairReading>> {
    map.cells.map(|cell| match cell {
        PairOutcome::Measured(value) => {
            Some(PairReading { ns: value.latency_ns.point, doubtful: value.flags.may_be_wrong() })
        }
        PairOutcome::Missing { .. } => None,
    })
}

/// A table whose rows and columns are groups of CPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct SummaryTable {
    columns: usize,
    cells: Vec<TableCell>,
}

/// Summary of the pairs of a CPU of the row and another CPU of the column. Groups of several CPUs have values of a CPU
/// with itself in [`own`](TableCell::own).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TableCell {
    /// Median over the measured pairs in the unit of the readings; `None` without measured pairs.
    pub median_ns: Option<f64>,
    /// Lower median over the measured pairs: the value of a pair, never a mean of two; `None` without measured pairs.
    pub middle_ns: Option<f64>,
    /// Number of pairs of different CPUs. For a single CPU with itself 1 if measured, otherwise 0.
    pub pairs: u32,
    /// Number of pairs that were not measured.
    pub missing: u32,
    /// Number of measured pairs with a doubt.
    pub doubtful: u32,
    /// CPUs with themselves (both roles on one CPU), for a group of several; `None` if not measured.
    pub own: Option<OwnCell>,
}

/// Both roles on one CPU, for the CPUs common to row and column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OwnCell {
    /// Median over these CPUs in the unit of the readings.
    pub median_ns: f64,
    /// Number of measured CPUs.
    pub cpus: u32,
    /// Number of measured CPUs with a doubt.
    pub doubtful: u32,
}

impl SummaryTable {
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

    /// Every displayed value: medians over pairs, and medians of CPUs with themselves.
    pub fn values(&self) -> impl Iterator<Item = f64> {
        self.iter().flat_map(|cell| cell.median_ns.into_iter().chain(cell.own.map(|own| own.median_ns)))
    }

    /// Whether a cell has values of CPUs with themselves in addition to values of pairs.
    pub fn has_own(&self) -> bool {
        self.iter().any(|cell| cell.own.is_some())
    }
}

/// Aggregates readings by groups of CPUs. CPUs outside the matrix count as not measured. A pair within one group counts
/// once. A group keeps values of a CPU with itself apart: the mean of 449 k messages a second on one CPU and 249 k
/// between threads of a core would describe nothing on the machine.
pub fn table(
    readings: &Matrix<Option<PairReading>>,
    rows: &[Vec<CpuId>],
    columns: &[Vec<CpuId>],
) -> SummaryTable {
    let position = positions(readings.cpus());
    let at = |cpu: &CpuId| position.get(cpu.index()).copied().flatten();
    let rows: Vec<Vec<Option<usize>>> = rows.iter().map(|row| row.iter().map(at).collect()).collect();
    let columns: Vec<Vec<Option<usize>>> =
        columns.iter().map(|column| column.iter().map(at).collect()).collect();
    let mut values = Vec::new();
    let mut cells = Vec::with_capacity(rows.len() * columns.len());
    for row in &rows {
        for column in &columns {
            cells.push(cell(readings, row, column, &mut values));
        }
    }
    SummaryTable { columns: columns.len(), cells }
}

fn cell(
    readings: &Matrix<Option<PairReading>>,
    row: &[Option<usize>],
    column: &[Option<usize>],
    values: &mut Vec<f64>,
) -> TableCell {
    values.clear();
    let mut own = Vec::new();
    let mut own_doubtful = 0;
    let mut cell = TableCell::default();
    let alone = row.len() == 1 && column.len() == 1;
    let skip_mirrored = readings.is_symmetric() && row == column;
    for (index, from) in row.iter().enumerate() {
        let skip = if skip_mirrored { index + 1 } else { 0 };
        for to in column.iter().skip(skip) {
            let reading = from.zip(*to).and_then(|(from, to)| *readings.get(from, to)?);
            if from == to && !(alone && reading.is_some()) {
                own.extend(reading.map(|reading| reading.ns));
                own_doubtful += u32::from(reading.is_some_and(|reading| reading.doubtful));
                continue;
            }
            cell.pairs += 1;
            match reading {
                Some(reading) => {
                    values.push(reading.ns);
                    cell.doubtful += u32::from(reading.doubtful);
                }
                None => cell.missing += 1,
            }
        }
    }
    cell.median_ns = median_in_place(values);
    let middle = values.len().saturating_sub(1) / 2;
    cell.middle_ns = cell.median_ns.map(|_| *values.select_nth_unstable_by(middle, f64::total_cmp).1);
    let cpus = own.len() as u32;
    cell.own = median_in_place(&mut own).map(|median_ns| OwnCell { median_ns, cpus, doubtful: own_doubtful });
    cell
}

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

    fn square() -> Matrix<Option<PairReading>> {
        Matrix::symmetric([0, 4, 1, 5].map(CpuId).to_vec(), |row, column| {
            let reading = PairReading { ns: (10 * row + column) as f64, doubtful: row == 3 };
            (row != 3 || column != 2).then_some(reading)
        })
    }

    fn cores() -> [Vec<CpuId>; 2] {
        [[0, 4], [1, 5]].map(|threads| threads.map(CpuId).to_vec())
    }

    #[test]
    fn a_cell_of_cores_summarizes_the_pairs_of_their_threads() {
        let table = table(&square(), &cores(), &cores());
        let across = table.get(0, 1);
        assert_eq!((across.pairs, across.median_ns, across.doubtful), (4, Some(25.5), 2)); // 20 21 30 31
        assert_eq!(across.middle_ns, Some(21.0));
        assert_eq!(table.get(1, 0), across);
        let alone =
            TableCell { median_ns: Some(10.0), middle_ns: Some(10.0), pairs: 1, ..TableCell::default() };
        assert_eq!(table.get(0, 0), alone);
        assert_eq!(table.get(1, 1), TableCell { pairs: 1, missing: 1, ..TableCell::default() });
    }

    #[test]
    fn a_cpu_with_itself_is_an_ordinary_cell_if_rows_are_single_cpus() {
        let cpus = [0, 4].map(CpuId);
        let directed = Matrix::directed(cpus.to_vec(), |row, column| {
            let reading = PairReading { ns: (10 * row + column) as f64 + 1.0, doubtful: false };
            (row != 1 || column != 1).then_some(reading)
        });
        let single = cpus.map(|cpu| vec![cpu]);
        let threads = table(&directed, &single, &single);
        assert_eq!((threads.get(0, 0).pairs, threads.get(0, 0).median_ns), (1, Some(1.0)));
        assert_eq!(threads.get(1, 1), TableCell::default());
    }

    #[test]
    fn a_cpu_with_itself_and_threads_of_a_core_are_two_numbers() {
        let directed = Matrix::directed([0, 4, 1, 5].map(CpuId).to_vec(), |row, column| {
            let ns = match (row == column, row / 2 == column / 2) {
                (true, _) => 449.0,
                (_, true) => 249.0,
                _ => 90.0,
            };
            Some(PairReading { ns, doubtful: row == column && row < 2 })
        });
        let table = table(&directed, &cores(), &cores());
        let own = |doubtful| Some(OwnCell { median_ns: 449.0, cpus: 2, doubtful });
        let (median_ns, middle_ns) = (Some(249.0), Some(249.0));
        let threads = TableCell { median_ns, middle_ns, pairs: 2, own: own(2), ..TableCell::default() };
        assert_eq!(table.get(0, 0), threads);
        assert_eq!(table.get(1, 1), TableCell { own: own(0), ..threads });
        assert_eq!((table.get(0, 1).median_ns, table.get(0, 1).own), (Some(90.0), None));
        let mut values: Vec<f64> = table.values().collect();
        values.sort_by(f64::total_cmp);
        assert_eq!(values, [90.0, 90.0, 249.0, 249.0, 449.0, 449.0]);
        assert!(table.has_own());
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
