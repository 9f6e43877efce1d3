//! [`PassTable`]: what the passes of the map said, of all cells in a few large arrays.

use crate::stats::{Analysis, MOST_ANALYSES};
use crate::{Flags, Picos, TrialFailure};
use std::collections::BTreeMap;

/// Everything that the passes of the map said.
///
/// A map of 1,024 CPUs has half a million cells with eight passes and more. Lists of their own for each of them would
/// be a million small pieces of memory, 60 MB for their ends alone, and a wait for memory wherever one is looked at.
#[derive(Debug, Clone, Default)]
pub(super) struct PassTable {
    /// Where the rows of each cell are.
    cells: Vec<Rows>,
    heads: Vec<PassHead>,
    /// Row by row, `width` each.
    values: Vec<Stored>,
    /// Beside `values`; empty where none is known, as for adaptive counts: 4 of 20 bytes, 12 million times.
    line_errors: Vec<f32>,
    /// Batches kept and dropped, of the values that have too many for [`Stored`], by position in `values`.
    many: BTreeMap<usize, [u32; 2]>,
    /// The run's columns.
    width: usize,
    /// Cells whose last visit gave nothing.
    failures: BTreeMap<usize, TrialFailure>,
    /// Visits of a cell whose two sides counted different numbers of hand-overs.
    unverified: BTreeMap<usize, u32>,
}

/// Neighbouring rows of the table that belong to one cell, pass by pass.
#[derive(Debug, Clone, Copy, Default)]
struct Rows {
    first: u32,
    made: u32,
    room: u32,
}

/// The passes of the map over one cell, in the order of the run.
#[derive(Debug, Clone, Copy)]
pub struct CellPasses<'a> {
    /// One for each pass.
    pub passes: &'a [PassHead],
    /// Pass by pass, as many as `width` each; see [`CellPasses::column`].
    values: &'a [Stored],
    /// Beside `values`, or empty.
    line_errors: &'a [f32],
    /// Of the whole table.
    many: &'a BTreeMap<usize, [u32; 2]>,
    /// Position of `values` in the table.
    first: usize,
    width: usize,
    /// Why the last visit gave nothing, if it did.
    pub failure: Option<&'a TrialFailure>,
    /// Visits whose two sides counted different numbers of hand-overs.
    pub unverified: u32,
}

/// When and under what a pass was made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PassHead {
    /// Pass number.
    pub pass: u32,
    /// Segment of the run.
    pub segment: u32,
    /// When it began, on the time line of the segment.
    pub started: Picos,
    /// Mean core clock of both CPUs in GHz; not a number where unknown.
    pub core_ghz: f32,
    /// Evidence.
    pub flags: Flags,
}

/// What one pass said in one column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ColumnValue {
    /// Half round trip in nanoseconds; not a number where the column was not measured in this pass.
    pub location_ns: f32,
    /// Standard error of the location from the spread over lines, in nanoseconds; not a number where unknown.
    pub line_error_ns: f32,
    /// Fastest batch, half round trip in nanoseconds.
    pub floor_ns: f32,
    /// p90 ÷ p10 over lines; not a number where there were too few.
    pub line_spread: f32,
    /// Batches kept.
    pub kept: u32,
    /// Batches dropped.
    pub dropped: u32,
}

/// A [`ColumnValue`] as it is kept: 16 bytes, 12 million times on a machine with 1,024 CPUs.
#[derive(Debug, Clone, Copy)]
struct Stored {
    location_ns: f32,
    floor_ns: f32,
    line_spread: f32,
    /// Batches kept and dropped, or [`Stored::MANY`].
    batches: [u16; 2],
}

impl Stored {
    const NONE: Stored =
        Stored { location_ns: f32::NAN, floor_ns: f32::NAN, line_spread: f32::NAN, batches: [0, 0] };

    /// Stands for counts that are kept apart: those of an adaptive pass are below a thousand, those of a fixed count
    /// are what was asked for.
    const MANY: [u16; 2] = [u16::MAX; 2];
}

impl CellPasses<'_> {
    /// What a pass (by position in `passes`) said in a column; `None` where it said nothing.
    pub fn column(&self, pass: usize, column: usize) -> Option<ColumnValue> {
        if column >= self.width {
            return None;
        }
        let at = pass * self.width + column;
        let value = self.values.get(at).filter(|value| value.location_ns.is_finite())?;
        let [kept, dropped] = match value.batches {
            Stored::MANY => self.many.get(&(self.first + at)).copied().unwrap_or_default(),
            few => few.map(u32::from),
        };
        Some(ColumnValue {
            location_ns: value.location_ns,
            line_error_ns: self.line_errors.get(at).copied().unwrap_or(f32::NAN),
            floor_ns: value.floor_ns,
            line_spread: value.line_spread,
            kept,
            dropped,
        })
    }
}

impl PassTable {
    /// What was said of a cell; `None` for one beyond all that something was said about.
    pub fn cell(&self, cell: usize) -> Option<CellPasses<'_>> {
        let rows = self.cells.get(cell)?;
        let (first, end) = (rows.first as usize, (rows.first + rows.made) as usize);
        let values = first * self.width..end * self.width;
        Some(CellPasses {
            passes: &self.heads[first..end],
            line_errors: self.line_errors.get(values.clone()).unwrap_or(&[]),
            many: &self.many,
            first: values.start,
            values: &self.values[values],
            width: self.width,
            failure: if self.failures.is_empty() { None } else { self.failures.get(&cell) },
            unverified: if self.unverified.is_empty() {
                0
            } else {
                self.unverified.get(&cell).copied().unwrap_or(0)
            },
        })
    }

    /// Notes that a visit gave nothing.
    pub fn fail(&mut self, cell: usize, failure: &TrialFailure) {
        self.reach(cell);
        self.failures.insert(cell, failure.clone());
        if matches!(failure, TrialFailure::Unverified { .. }) {
            *self.unverified.entry(cell).or_default() += 1;
        }
    }

    /// Forgets such failures of all cells.
    pub fn forget(&mut self, which: impl Fn(&TrialFailure) -> bool) {
        self.failures.retain(|_, failure| !which(failure));
    }

    /// Adds a pass over a cell that says nothing yet, and gives its row. Whatever was wrong with the cell is over.
    pub fn begin(&mut self, cell: usize, head: PassHead) -> usize {
        self.reach(cell);
        if !self.failures.is_empty() {
            self.failures.remove(&cell);
        }
        if self.cells[cell].made == self.cells[cell].room {
            self.make_room(cell);
        }
        let rows = &mut self.cells[cell];
        let row = (rows.first + rows.made) as usize;
        rows.made += 1;
        self.heads[row] = head;
        row
    }

    /// Says something in a column of a row.
    pub fn set(&mut self, row: usize, column: usize, value: ColumnValue) {
        if column >= self.width {
            self.widen(column + 1);
        }
        let at = row * self.width + column;
        if value.line_error_ns.is_finite() && self.line_errors.is_empty() {
            self.line_errors.resize(self.values.len(), f32::NAN);
        }
        if let Some(line_error_ns) = self.line_errors.get_mut(at) {
            *line_error_ns = value.line_error_ns;
        }
        let few = [value.kept, value.dropped].map(|count| u16::try_from(count).unwrap_or(u16::MAX));
        let batches = if few.contains(&u16::MAX) {
            self.many.insert(at, [value.kept, value.dropped]);
            Stored::MANY
        } else {
            few
        };
        self.values[at] = Stored {
            location_ns: value.location_ns,
            floor_ns: value.floor_ns,
            line_spread: value.line_spread,
            batches,
        };
    }

    /// Whether nothing was said yet.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    fn reach(&mut self, cell: usize) {
        if self.cells.len() <= cell {
            self.cells.resize(cell + 1, Rows::default());
        }
    }

    /// Moves a cell to where it has rows for its next analysis. Few cells need a second one, so what they leave behind
    /// is not worth the trouble of being used again.
    fn make_room(&mut self, cell: usize) {
        let Rows { first, made, .. } = self.cells[cell];
        let room = Analysis::at(made as usize + 1, MOST_ANALYSES).passes().max(made as usize + 1);
        let (from, to, end) = (first as usize, self.heads.len(), (first + made) as usize);
        self.heads.extend_from_within(from..end);
        self.heads.resize(to + room, PassHead::NONE);
        self.values.extend_from_within(from * self.width..end * self.width);
        self.values.resize((to + room) * self.width, Stored::NONE);
        if !self.line_errors.is_empty() {
            self.line_errors.extend_from_within(from * self.width..end * self.width);
            self.line_errors.resize(self.values.len(), f32::NAN);
        }
        for column in 0..if self.many.is_empty() { 0 } else { (end - from) * self.width } {
            if let Some(counts) = self.many.remove(&(from * self.width + column)) {
                self.many.insert(to * self.width + column, counts);
            }
        }
        self.cells[cell] = Rows { first: to as u32, made, room: room as u32 };
    }

    /// Makes room for as many columns. Rare beyond the first round: a run times the same kernels in each.
    fn widen(&mut self, width: usize) {
        let old = self.width;
        let wider = |row: usize| (row * old..(row + 1) * old, row * width);
        let mut values = vec![Stored::NONE; self.heads.len() * width];
        for (from, to) in (0..self.heads.len()).map(wider) {
            values[to..to + old].copy_from_slice(&self.values[from]);
        }
        if !self.line_errors.is_empty() {
            let mut line_errors = vec![f32::NAN; values.len()];
            for (from, to) in (0..self.heads.len()).map(wider) {
                line_errors[to..to + old].copy_from_slice(&self.line_errors[from]);
            }
            self.line_errors = line_errors;
        }
        let many = std::mem::take(&mut self.many).into_iter();
        self.many = many.map(|(at, counts)| (at / old * width + at % old, counts)).collect();
        (self.values, self.width) = (values, width);
    }
}

impl PassHead {
    /// Of a row that no pass has filled yet.
    const NONE: PassHead =
        PassHead { pass: 0, segment: 0, started: Picos::ZERO, core_ghz: f32::NAN, flags: Flags::NONE };
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn value(location_ns: f32, line_error_ns: f32, [kept, dropped]: [u32; 2]) -> ColumnValue {
        ColumnValue { location_ns, line_error_ns, floor_ns: 1.0, line_spread: 1.1, kept, dropped }
    }

    /// Few, as adaptive passes have, and as many as can be asked for.
    const BATCHES: [[u32; 2]; 5] = [[32, 0], [0xfffe, 3], [0xffff, 0], [7, 0xffff], [u32::MAX, u32::MAX]];

    #[test]
    fn a_failure_lasts_until_the_next_visit() {
        let mut table = PassTable::default();
        table.fail(2, &TrialFailure::Interrupted);
        assert_eq!(table.cell(2).unwrap().failure, Some(&TrialFailure::Interrupted));
        assert!(table.cell(1).unwrap().passes.is_empty() && table.cell(3).is_none());
        table.begin(2, PassHead::NONE);
        assert_eq!(table.cell(2).unwrap().failure, None);
    }

    proptest! {
        /// Cells in any order, columns that appear late, line errors that some visits have, and counts of any size.
        #[test]
        fn every_cell_keeps_what_was_said_of_it(
            visits in proptest::collection::vec((0usize..5, 0usize..4, any::<bool>(), 0usize..5), 0..200),
        ) {
            let mut table = PassTable::default();
            let mut said: BTreeMap<usize, Vec<(usize, ColumnValue)>> = BTreeMap::new();
            for (index, (cell, column, has_error, batches)) in visits.into_iter().enumerate() {
                let row = table.begin(cell, PassHead { pass: index as u32, ..PassHead::NONE });
                let line_error_ns = if has_error { 0.5 } else { f32::NAN };
                let value = value(index as f32, line_error_ns, BATCHES[batches]);
                table.set(row, column, value);
                said.entry(cell).or_default().push((column, value));
            }
            for (cell, said) in said {
                let passes = table.cell(cell).unwrap();
                prop_assert_eq!(passes.passes.len(), said.len());
                for (pass, (column, value)) in said.into_iter().enumerate() {
                    prop_assert_eq!(passes.passes[pass].pass as f32, value.location_ns);
                    for other in 0..5 {
                        let found = passes.column(pass, other);
                        prop_assert_eq!(found.is_some(), other == column);
                        if let Some(found) = found {
                            prop_assert_eq!(found.location_ns, value.location_ns);
                            prop_assert_eq!(found.line_error_ns.to_bits(), value.line_error_ns.to_bits());
                            prop_assert_eq!([found.kept, found.dropped], [value.kept, value.dropped]);
                        }
                    }
                }
            }
        }
    }
}
