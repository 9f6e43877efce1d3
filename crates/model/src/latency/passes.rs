use super::interned::Interned;
use super::pass_rows::{ColumnKind, PassRows, StoredHead, StoredValue};
use crate::stats::{Analysis, MAX_ANALYSES};
use crate::{Flags, Picos, TrialFailure};
use std::collections::BTreeMap;
use std::ops::Range;

/// The results of all passes of the map, of all cells, in one table.
///
/// A map of 1,024 CPUs has half a million cells with eight passes or more, visited in random order. Separate lists
/// would take a million allocations, 60 MB for their pointers alone, and a cache miss on each access.
#[derive(Debug, Clone, Default)]
pub(super) struct PassTable {
    cells: Vec<Rows>,
    rows: PassRows,
    rounds: Vec<PassRound>,
    flags: Interned<[u32; 2], Flags>,
    batches: Interned<[u32; 3], [u32; 2]>,
    failures: BTreeMap<usize, TrialFailure>,
    failed: BTreeMap<usize, Failed>,
}

/// Numbers of failed visits of a cell, without failures with an external cause: an interruption, or a lost CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Failed {
    pub all: u32,
    pub wrong: u32,
}

#[derive(Debug, Clone, Copy)]
struct Rows {
    first: u32,
    used: u32,
}

/// The passes of the map over one cell, in the order of the run.
#[derive(Debug, Clone, Copy)]
pub struct CellPasses<'a> {
    table: &'a PassTable,
    cell: u32,
    rows: Rows,
    /// Why the last visit failed; `None` after success.
    pub failure: Option<&'a TrialFailure>,
    /// Numbers of failed visits, including those before the last pass.
    pub failed: Failed,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct PassRound {
    pass: u32,
    segment: u32,
    started: Picos,
}

/// The time and conditions of a pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PassHead {
    /// Pass number.
    pub pass: u32,
    /// Segment of the run.
    pub segment: u32,
    /// Start time within the segment.
    pub started: Picos,
    /// Mean core clock of both CPUs in GHz; NaN if unknown.
    pub core_ghz: f32,
    /// Flags set in this pass.
    pub flags: Flags,
}

/// The result of one pass in one column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ColumnValue {
    /// Half round trip in nanoseconds; NaN if the column was not measured in this pass.
    pub location_ns: f32,
    /// Standard error of the location from the spread over lines, in nanoseconds; NaN if unknown.
    pub line_error_ns: f32,
    /// Fastest batch, half round trip in nanoseconds.
    pub floor_ns: f32,
    /// p90 ÷ p10 over lines; NaN with too few lines.
    pub line_spread: f32,
    /// Number of batches kept.
    pub kept: u32,
    /// Number of batches dropped.
    pub dropped: u32,
}

impl ColumnValue {
    const UNKNOWN: ColumnValue = ColumnValue {
        location_ns: f32::NAN,
        line_error_ns: f32::NAN,
        floor_ns: f32::NAN,
        line_spread: f32::NAN,
        kept: 0,
        dropped: 0,
    };
}

impl<'a> CellPasses<'a> {
    /// Number of passes.
    pub fn len(&self) -> usize {
        self.rows.used as usize
    }

    /// Whether there are no passes.
    pub fn is_empty(&self) -> bool {
        self.rows.used == 0
    }

    /// The time and conditions of each pass.
    pub fn heads(&self) -> impl ExactSizeIterator<Item = PassHead> + use<'a> {
        let passes = *self;
        (0..self.len()).map(move |pass| passes.head(pass))
    }

    /// The time and conditions of one pass, by index.
    ///
    /// # Panics
    /// If the index is out of range.
    pub fn head(&self, pass: usize) -> PassHead {
        assert!(pass < self.len(), "pass {pass} of {}", self.len());
        self.table.head(self.rows.first as usize + pass, [self.cell, pass as u32])
    }

    /// The result of a pass (by index) in a column; `None` without a value. Some columns have only a location.
    pub fn column(&self, pass: usize, column: usize) -> Option<ColumnValue> {
        let location_ns = self.location(pass, column)?;
        let (rows, row) = (&self.table.rows, self.rows.first as usize + pass);
        if rows.kind(column) == Some(ColumnKind::Location) {
            return Some(ColumnValue { location_ns, ..ColumnValue::UNKNOWN });
        }
        let StoredValue { floor_ns, line_spread, batches, line_error_ns, .. } = rows.value(row, column);
        let place = || [self.cell, pass as u32, column as u32];
        let [kept, dropped] = self.table.batches.get(batches, place);
        Some(ColumnValue { location_ns, line_error_ns, floor_ns, line_spread, kept, dropped })
    }

    /// Half round trip of a pass (by index) in a column, in nanoseconds; `None` without a value.
    pub fn location(&self, pass: usize, column: usize) -> Option<f32> {
        let rows = &self.table.rows;
        if pass >= self.len() || rows.kind(column).is_none() {
            return None;
        }
        let location_ns = rows.location_ns(self.rows.first as usize + pass, column);
        location_ns.is_finite().then_some(location_ns)
    }
}

impl Rows {
    const NO_ROW: u32 = u32::MAX;
    const NONE: Rows = Rows { first: Rows::NO_ROW, used: 0 };

    fn range(self) -> Range<usize> {
        self.first as usize..(self.first + self.used) as usize
    }

    fn capacity(used: usize) -> usize {
        Analysis::at(used, MAX_ANALYSES).passes().max(used)
    }

    fn is_full(self) -> bool {
        let used = self.used as usize;
        self.first == Rows::NO_ROW || used == Rows::capacity(used)
    }
}

impl PassTable {
    pub fn cell(&self, cell: usize) -> Option<CellPasses<'_>> {
        Some(CellPasses {
            table: self,
            cell: cell as u32,
            rows: *self.cells.get(cell)?,
            failure: if self.failures.is_empty() { None } else { self.failures.get(&cell) },
            failed: if self.failed.is_empty() {
                Failed::default()
            } else {
                self.failed.get(&cell).copied().unwrap_or_default()
            },
        })
    }

    fn head(&self, row: usize, place: [u32; 2]) -> PassHead {
        let StoredHead { round, core_ghz, flags } = self.rows.head(row);
        let PassRound { pass, segment, started } = self.rounds[round];
        PassHead { pass, segment, started, core_ghz, flags: self.flags.get(flags, || place) }
    }

    pub fn add_column(&mut self, kind: ColumnKind) {
        self.rows.add_column(kind);
    }

    pub fn fail(&mut self, cell: usize, failure: &TrialFailure) {
        self.ensure_cell(cell);
        self.failures.insert(cell, failure.clone());
        if !failure.came_from_outside() {
            let failed = self.failed.entry(cell).or_default();
            failed.all += 1;
            failed.wrong += u32::from(failure.is_wrong());
        }
    }

    pub fn forget(&mut self, which: impl Fn(&TrialFailure) -> bool) {
        self.failures.retain(|_, failure| !which(failure));
    }

    /// Adds a pass without values to a cell, and returns its row. Clears the last failure but not its count.
    pub fn begin(&mut self, cell: usize, head: PassHead) -> usize {
        self.ensure_cell(cell);
        if !self.failures.is_empty() {
            self.failures.remove(&cell);
        }
        if self.cells[cell].is_full() {
            self.make_room(cell);
        }
        let PassHead { pass, segment, started, core_ghz, flags } = head;
        let round = PassRound { pass, segment, started };
        if self.rounds.last() != Some(&round) {
            self.rounds.push(round);
        }
        let rows = &mut self.cells[cell];
        let (row, index) = ((rows.first + rows.used) as usize, rows.used);
        rows.used += 1;
        let flags = self.flags.index(flags, || [cell as u32, index]);
        self.rows.set_head(row, StoredHead { round: self.rounds.len() - 1, core_ghz, flags });
        row
    }

    /// Sets the value of a column in a row of a cell.
    ///
    /// # Panics
    /// If there is no such column, or if the rows of the cell have moved since.
    pub fn set(&mut self, cell: usize, row: usize, column: usize, value: ColumnValue) {
        if self.rows.kind(column) == Some(ColumnKind::Location) {
            return self.rows.set_location_ns(row, column, value.location_ns);
        }
        let place = || [cell as u32, row as u32 - self.cells[cell].first, column as u32];
        let batches = self.batches.index([value.kept, value.dropped], place);
        let ColumnValue { location_ns, line_error_ns, floor_ns, line_spread, .. } = value;
        let value = StoredValue { location_ns, floor_ns, line_spread, batches, line_error_ns };
        self.rows.set_value(row, column, value);
    }

    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    fn ensure_cell(&mut self, cell: usize) {
        if self.cells.len() <= cell {
            self.cells.resize(cell + 1, Rows::NONE);
        }
    }

    /// Cells are measured in random order but judged one after the other, so adjacent rows cost fewer cache misses.
    fn begin_block(&mut self, cell: usize) {
        let block = cell / BLOCK * BLOCK..(cell / BLOCK * BLOCK + BLOCK).min(self.cells.len());
        let mut rows = self.rows.len();
        for empty in self.cells[block].iter_mut().filter(|rows| rows.first == Rows::NO_ROW) {
            *empty = Rows { first: rows as u32, used: 0 };
            rows += Rows::capacity(1);
        }
        self.rows.resize(rows);
    }

    /// Few cells need more than their first rows, so old rows are not reused.
    fn make_room(&mut self, cell: usize) {
        let rows = self.cells[cell];
        if rows.first == Rows::NO_ROW {
            return self.begin_block(cell);
        }
        let (first, used) = (self.rows.len(), rows.used as usize);
        self.rows.extend_from_within(rows.range());
        self.rows.resize(first + Rows::capacity(used + 1));
        self.cells[cell].first = first as u32;
    }
}

const BLOCK: usize = 64;

#[cfg(test)]
mod tests {
    use super::super::pass_rows::MAX_FEW_ROUNDS;
    use super::*;
    use crate::CpuId;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn value(location_ns: f32, line_error_ns: f32, [kept, dropped]: [u32; 2]) -> ColumnValue {
        ColumnValue { location_ns, line_error_ns, floor_ns: 1.0, line_spread: 1.1, kept, dropped }
    }

    const HEAD: PassHead =
        PassHead { pass: 0, segment: 0, started: Picos::ZERO, core_ghz: 4.0, flags: Flags::NONE };

    /// Small counts, as in adaptive passes, and the largest possible one.
    const DROPPED: [u32; 5] = [0, 1, 3, 0x100, u32::MAX];

    #[test]
    fn a_failure_is_cleared_by_the_next_visit_but_stays_counted() {
        let mut table = PassTable::default();
        table.fail(2, &TrialFailure::Interrupted);
        assert_eq!(table.cell(2).unwrap().failure, Some(&TrialFailure::Interrupted));
        assert!(table.cell(1).unwrap().is_empty() && table.cell(3).is_none());
        table.fail(2, &TrialFailure::CpuLost { cpu: CpuId(1) });
        table.fail(2, &TrialFailure::Damaged);
        table.fail(2, &TrialFailure::from_reason("no thread"));
        table.begin(2, HEAD);
        let cell = table.cell(2).unwrap();
        assert_eq!((cell.failure, cell.failed), (None, Failed { all: 2, wrong: 1 }));
        assert_eq!(table.cell(1).unwrap().failed, Failed::default());
    }

    #[test]
    fn rounds_beyond_the_short_index_are_kept() {
        let mut table = PassTable::default();
        table.add_column(ColumnKind::Location);
        let rounds = MAX_FEW_ROUNDS as u32 + 9;
        for pass in 0..rounds {
            let row = table.begin(pass as usize % 2, PassHead { pass, ..HEAD });
            table.set(pass as usize % 2, row, 0, value(pass as f32, f32::NAN, [1, 0]));
        }
        let passes = [0, 1].map(|cell| table.cell(cell).unwrap());
        for pass in (0..rounds).step_by(997).chain([rounds - 1]) {
            let (cell, index) = (passes[pass as usize % 2], pass as usize / 2);
            assert_eq!((cell.head(index).pass, cell.location(index, 0)), (pass, Some(pass as f32)));
        }
    }

    proptest! {
        /// Cells in any order, columns that appear late and are stored in either way, line errors in some visits,
        /// counts of any size, and more sets of flags and counts than there are indices.
        #[test]
        fn every_cell_keeps_its_passes(
            visits in proptest::collection::vec((0usize..5, 0usize..4, any::<bool>(), 0usize..5), 0..400),
            whole in any::<[bool; 4]>(),
        ) {
            let (mut table, mut columns) = (PassTable::default(), 0);
            let mut expected: BTreeMap<usize, Vec<(usize, ColumnValue)>> = BTreeMap::new();
            for (index, (cell, column, has_error, batches)) in visits.into_iter().enumerate() {
                let flags = Flags(index as u32);
                let head = PassHead { pass: index as u32 / 3, core_ghz: index as f32, flags, ..HEAD };
                let row = table.begin(cell, head);
                for &is_whole in whole.iter().take(column + 1).skip(columns) {
                    table.add_column(if is_whole { ColumnKind::Whole } else { ColumnKind::Location });
                }
                columns = columns.max(column + 1);
                let line_error_ns = if has_error { 0.5 } else { f32::NAN };
                let value = value(index as f32, line_error_ns, [index as u32, DROPPED[batches]]);
                table.set(cell, row, column, value);
                expected.entry(cell).or_default().push((column, value));
            }
            for (cell, expected) in expected {
                let passes = table.cell(cell).unwrap();
                prop_assert_eq!(passes.len(), expected.len());
                for (pass, (column, value)) in expected.into_iter().enumerate() {
                    let head = passes.head(pass);
                    prop_assert_eq!((head.core_ghz, head.pass), (value.location_ns, value.location_ns as u32 / 3));
                    prop_assert_eq!(head.flags, Flags(value.location_ns as u32));
                    for other in 0..5 {
                        let found = passes.column(pass, other);
                        prop_assert_eq!(found.is_some(), other == column);
                        prop_assert_eq!(passes.location(pass, other), found.map(|found| found.location_ns));
                        if let Some(found) = found {
                            prop_assert_eq!(found.location_ns, value.location_ns);
                            if !whole[column] {
                                continue;
                            }
                            prop_assert_eq!(found.line_error_ns.is_nan(), value.line_error_ns.is_nan());
                            prop_assert!(value.line_error_ns.is_nan() || found.line_error_ns == value.line_error_ns);
                            prop_assert_eq!([found.kept, found.dropped], [value.kept, value.dropped]);
                        }
                    }
                }
            }
        }
    }
}
