//! [`PassTable`]: the results of all passes of the map, of all cells, in a few large arrays.

use crate::stats::{Analysis, MAX_ANALYSES};
use crate::{Flags, Picos, TrialFailure};
use std::collections::BTreeMap;

/// The results of all passes of the map.
///
/// A map of 1,024 CPUs has half a million cells with eight passes or more. Separate lists for each cell would take a
/// million allocations, 60 MB for their pointers alone, and a cache miss on each access.
#[derive(Debug, Clone, Default)]
pub(super) struct PassTable {
    cells: Vec<Rows>,
    heads: Vec<StoredHead>,
    /// The rounds of the passes; one round visits 512 pairs.
    rounds: Vec<Round>,
    columns: Vec<ColumnRef>,
    /// Values of the columns stored completely, row by row.
    values: Vec<Stored>,
    width: usize,
    /// Locations of the columns stored without their other values, row by row.
    locations: Vec<f32>,
    locations_width: usize,
    /// Parallel to `values`; empty if all are unknown, as for adaptive counts, which saves 4 of 18 bytes 8 million
    /// times.
    line_errors: Vec<f32>,
    /// Batches kept and dropped, if they are too many for [`Stored`], by index in `values`.
    many: BTreeMap<usize, [u32; 2]>,
    /// Distinct sets of flags, indexed by [`StoredHead`].
    flags: Vec<Flags>,
    /// Flags of rows beyond the number of indexed sets.
    rare_flags: BTreeMap<usize, Flags>,
    failures: BTreeMap<usize, TrialFailure>,
    failed: BTreeMap<usize, Failed>,
}

/// Numbers of failed visits of a cell, without those with an external cause: an interruption, or a lost CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Failed {
    /// All failed visits.
    pub all: u32,
    /// Visits with a wrong result.
    pub wrong: u32,
}

#[derive(Debug, Clone, Copy)]
enum ColumnRef {
    Whole(usize),
    Location(usize),
}

/// Consecutive rows of the table that belong to one cell, pass by pass.
#[derive(Debug, Clone, Copy, Default)]
struct Rows {
    first: u32,
    used: u32,
    capacity: u32,
}

/// The passes of the map over one cell, in the order of the run.
#[derive(Debug, Clone, Copy)]
pub struct CellPasses<'a> {
    table: &'a PassTable,
    rows: Rows,
    /// Why the last visit failed; `None` if it succeeded.
    pub failure: Option<&'a TrialFailure>,
    /// Numbers of failed visits, including those before the last pass.
    pub failed: Failed,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Round {
    pass: u32,
    segment: u32,
    started: Picos,
}

/// A [`PassHead`] as stored: 9 bytes, four million times on a machine with 1,024 CPUs.
#[derive(Debug, Clone, Copy)]
#[repr(C, packed)]
struct StoredHead {
    round: u32,
    core_ghz: f32,
    /// Index into the flags of the table, or [`StoredHead::RARE`]: a run has few distinct sets.
    flags: u8,
}

/// The time and conditions of a pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PassHead {
    /// Pass number.
    pub pass: u32,
    /// Segment of the run.
    pub segment: u32,
    /// Start time, on the time line of the segment.
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
    /// p90 ÷ p10 over lines; NaN if there were too few.
    pub line_spread: f32,
    /// Number of batches kept.
    pub kept: u32,
    /// Number of batches dropped.
    pub dropped: u32,
}

/// A [`ColumnValue`] as stored: 14 bytes, eight million times on a machine with 1,024 CPUs.
#[derive(Debug, Clone, Copy)]
#[repr(C, packed(2))]
struct Stored {
    location_ns: f32,
    floor_ns: f32,
    line_spread: f32,
    /// Batches kept and dropped, or [`Stored::MANY`].
    batches: [u8; 2],
}

impl Stored {
    const NONE: Stored =
        Stored { location_ns: f32::NAN, floor_ns: f32::NAN, line_spread: f32::NAN, batches: [0, 0] };

    /// Marks counts that are stored separately: adaptive counts are below 255, fixed counts may be larger.
    const MANY: [u8; 2] = [u8::MAX; 2];

    fn known(self) -> Option<Stored> {
        { self.location_ns }.is_finite().then_some(self)
    }
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
        let table = self.table;
        self.rows.range().map(move |row| table.head(row))
    }

    /// The time and conditions of one pass, by index.
    ///
    /// # Panics
    /// If the index is out of range.
    pub fn head(&self, pass: usize) -> PassHead {
        assert!(pass < self.len(), "pass {pass} of {}", self.len());
        self.table.head(self.rows.first as usize + pass)
    }

    /// The result of a pass (by index) in a column; `None` without a value. Some columns have only a location.
    pub fn column(&self, pass: usize, column: usize) -> Option<ColumnValue> {
        let table = self.table;
        let row = self.row(pass)?;
        let at = match *table.columns.get(column)? {
            ColumnRef::Whole(place) => row * table.width + place,
            ColumnRef::Location(_) => {
                let location_ns = self.location(pass, column)?;
                return Some(ColumnValue { location_ns, ..ColumnValue::UNKNOWN });
            }
        };
        let value = table.values[at].known()?;
        let [kept, dropped] = match value.batches {
            Stored::MANY => table.many.get(&at).copied().unwrap_or_default(),
            few => few.map(u32::from),
        };
        Some(ColumnValue {
            location_ns: value.location_ns,
            line_error_ns: table.line_errors.get(at).copied().unwrap_or(f32::NAN),
            floor_ns: value.floor_ns,
            line_spread: value.line_spread,
            kept,
            dropped,
        })
    }

    /// Half round trip of a pass (by index) in a column, in nanoseconds; `None` without a value.
    pub fn location(&self, pass: usize, column: usize) -> Option<f32> {
        let (table, row) = (self.table, self.row(pass)?);
        match *table.columns.get(column)? {
            ColumnRef::Whole(place) => Some(table.values[row * table.width + place].known()?.location_ns),
            ColumnRef::Location(place) => {
                let location_ns = table.locations[row * table.locations_width + place];
                location_ns.is_finite().then_some(location_ns)
            }
        }
    }

    fn row(&self, pass: usize) -> Option<usize> {
        (pass < self.len()).then_some(self.rows.first as usize + pass)
    }
}

impl Rows {
    fn range(&self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.used) as usize
    }
}

impl PassTable {
    /// The results of a cell; `None` beyond the last cell with results.
    pub fn cell(&self, cell: usize) -> Option<CellPasses<'_>> {
        Some(CellPasses {
            table: self,
            rows: *self.cells.get(cell)?,
            failure: if self.failures.is_empty() { None } else { self.failures.get(&cell) },
            failed: if self.failed.is_empty() {
                Failed::default()
            } else {
                self.failed.get(&cell).copied().unwrap_or_default()
            },
        })
    }

    fn head(&self, row: usize) -> PassHead {
        let StoredHead { round, core_ghz, flags } = self.heads[row];
        let Round { pass, segment, started } = self.rounds[round as usize];
        let flags = match flags {
            StoredHead::RARE => self.rare_flags.get(&row).copied().unwrap_or(Flags::NONE),
            index => self.flags[usize::from(index)],
        };
        PassHead { pass, segment, started, core_ghz, flags }
    }

    fn flags_index(&mut self, flags: Flags, row: usize) -> u8 {
        if let Some(index) = self.flags.iter().position(|&known| known == flags) {
            return index as u8;
        }
        if self.flags.len() == usize::from(StoredHead::RARE) {
            self.rare_flags.insert(row, flags);
            return StoredHead::RARE;
        }
        self.flags.push(flags);
        self.flags.len() as u8 - 1
    }

    /// Adds a column that is stored completely or with its location only, usually in the first round.
    pub fn add_column(&mut self, whole: bool) {
        let rows = self.heads.len();
        if !whole {
            widen(&mut self.locations, rows, self.locations_width, f32::NAN);
            self.columns.push(ColumnRef::Location(self.locations_width));
            self.locations_width += 1;
            return;
        }
        let old = self.width;
        widen(&mut self.values, rows, old, Stored::NONE);
        if !self.line_errors.is_empty() {
            widen(&mut self.line_errors, rows, old, f32::NAN);
        }
        let many = std::mem::take(&mut self.many).into_iter();
        self.many = many.map(|(at, counts)| (at / old * (old + 1) + at % old, counts)).collect();
        self.columns.push(ColumnRef::Whole(old));
        self.width = old + 1;
    }

    /// Records a failed visit.
    pub fn fail(&mut self, cell: usize, failure: &TrialFailure) {
        self.ensure_cell(cell);
        self.failures.insert(cell, failure.clone());
        if !failure.came_from_outside() {
            let failed = self.failed.entry(cell).or_default();
            failed.all += 1;
            failed.wrong += u32::from(failure.is_wrong());
        }
    }

    /// Forgets the matching failures of all cells.
    pub fn forget(&mut self, which: impl Fn(&TrialFailure) -> bool) {
        self.failures.retain(|_, failure| !which(failure));
    }

    /// Adds a pass without values to a cell, and returns its row. Clears the last failure but not its count.
    pub fn begin(&mut self, cell: usize, head: PassHead) -> usize {
        self.ensure_cell(cell);
        if !self.failures.is_empty() {
            self.failures.remove(&cell);
        }
        if self.cells[cell].used == self.cells[cell].capacity {
            self.make_room(cell);
        }
        let PassHead { pass, segment, started, core_ghz, flags } = head;
        let round = Round { pass, segment, started };
        if self.rounds.last() != Some(&round) {
            self.rounds.push(round);
        }
        let rows = &mut self.cells[cell];
        let row = (rows.first + rows.used) as usize;
        rows.used += 1;
        let flags = self.flags_index(flags, row);
        self.heads[row] = StoredHead { round: self.rounds.len() as u32 - 1, core_ghz, flags };
        row
    }

    /// Sets the value of a column in a row.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn set(&mut self, row: usize, column: usize, value: ColumnValue) {
        let place = match self.columns[column] {
            ColumnRef::Whole(place) => place,
            ColumnRef::Location(place) => {
                self.locations[row * self.locations_width + place] = value.location_ns;
                return;
            }
        };
        let at = row * self.width + place;
        if value.line_error_ns.is_finite() && self.line_errors.is_empty() {
            self.line_errors.resize(self.values.len(), f32::NAN);
        }
        if let Some(line_error_ns) = self.line_errors.get_mut(at) {
            *line_error_ns = value.line_error_ns;
        }
        let few = [value.kept, value.dropped].map(|count| u8::try_from(count).unwrap_or(u8::MAX));
        let batches = if few.contains(&u8::MAX) {
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

    /// Whether there are no results.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    fn ensure_cell(&mut self, cell: usize) {
        if self.cells.len() <= cell {
            self.cells.resize(cell + 1, Rows::default());
        }
    }

    /// Adds rows for the first analysis of a cell and its neighbours: cells are measured in random order but judged one
    /// after the other, and adjacent rows cost fewer cache misses.
    fn begin_block(&mut self, cell: usize) {
        let capacity = Analysis::FIRST.passes();
        let block = cell / BLOCK * BLOCK..(cell / BLOCK * BLOCK + BLOCK).min(self.cells.len());
        let mut rows = self.heads.len();
        for empty in self.cells[block].iter_mut().filter(|rows| rows.capacity == 0) {
            *empty = Rows { first: rows as u32, used: 0, capacity: capacity as u32 };
            rows += capacity;
        }
        self.resize(rows);
    }

    fn resize(&mut self, rows: usize) {
        self.heads.resize(rows, StoredHead::NONE);
        self.values.resize(rows * self.width, Stored::NONE);
        self.locations.resize(rows * self.locations_width, f32::NAN);
        if !self.line_errors.is_empty() {
            self.line_errors.resize(self.values.len(), f32::NAN);
        }
    }

    /// Gives a cell rows for its next analysis. Few cells need more than the first ones, so old rows are not reused.
    fn make_room(&mut self, cell: usize) {
        let Rows { first, used, capacity } = self.cells[cell];
        if capacity == 0 {
            return self.begin_block(cell);
        }
        let capacity = Analysis::at(used as usize + 1, MAX_ANALYSES).passes().max(used as usize + 1);
        let (from, to, end) = (first as usize, self.heads.len(), (first + used) as usize);
        self.heads.extend_from_within(from..end);
        self.values.extend_from_within(from * self.width..end * self.width);
        self.locations.extend_from_within(from * self.locations_width..end * self.locations_width);
        if !self.line_errors.is_empty() {
            self.line_errors.extend_from_within(from * self.width..end * self.width);
        }
        self.resize(to + capacity);
        for row in if self.rare_flags.is_empty() { from..from } else { from..end } {
            if let Some(flags) = self.rare_flags.remove(&row) {
                self.rare_flags.insert(to + row - from, flags);
            }
        }
        for column in 0..if self.many.is_empty() { 0 } else { (end - from) * self.width } {
            if let Some(counts) = self.many.remove(&(from * self.width + column)) {
                self.many.insert(to * self.width + column, counts);
            }
        }
        self.cells[cell] = Rows { first: to as u32, used, capacity: capacity as u32 };
    }
}

fn widen<T: Copy>(values: &mut Vec<T>, rows: usize, width: usize, none: T) {
    let mut wider = vec![none; rows * (width + 1)];
    for row in 0..if width > 0 { rows } else { 0 } {
        wider[row * (width + 1)..][..width].copy_from_slice(&values[row * width..][..width]);
    }
    *values = wider;
}

/// Number of cells whose first rows are adjacent.
const BLOCK: usize = 64;

impl StoredHead {
    const NONE: StoredHead = StoredHead { round: 0, core_ghz: f32::NAN, flags: 0 };

    const RARE: u8 = u8::MAX;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CpuId;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn value(location_ns: f32, line_error_ns: f32, [kept, dropped]: [u32; 2]) -> ColumnValue {
        ColumnValue { location_ns, line_error_ns, floor_ns: 1.0, line_spread: 1.1, kept, dropped }
    }

    const HEAD: PassHead =
        PassHead { pass: 0, segment: 0, started: Picos::ZERO, core_ghz: 4.0, flags: Flags::NONE };

    /// Small counts, as in adaptive passes, and the largest possible ones.
    const BATCHES: [[u32; 2]; 5] = [[32, 0], [0xfe, 3], [0xff, 0], [7, 0xff], [u32::MAX, u32::MAX]];

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

    proptest! {
        /// Cells in any order, columns that appear late and are stored in either way, line errors in some visits,
        /// counts of any size, and more sets of flags than there are indices.
        #[test]
        fn every_cell_keeps_its_passes(
            visits in proptest::collection::vec((0usize..5, 0usize..4, any::<bool>(), 0usize..5), 0..400),
            whole in any::<[bool; 4]>(),
        ) {
            let mut table = PassTable::default();
            let mut expected: BTreeMap<usize, Vec<(usize, ColumnValue)>> = BTreeMap::new();
            for (index, (cell, column, has_error, batches)) in visits.into_iter().enumerate() {
                let flags = Flags(index as u32);
                let head = PassHead { pass: index as u32 / 3, core_ghz: index as f32, flags, ..HEAD };
                let row = table.begin(cell, head);
                while table.columns.len() <= column {
                    table.add_column(whole[table.columns.len()]);
                }
                let line_error_ns = if has_error { 0.5 } else { f32::NAN };
                let value = value(index as f32, line_error_ns, BATCHES[batches]);
                table.set(row, column, value);
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
                            prop_assert_eq!(found.line_error_ns.to_bits(), value.line_error_ns.to_bits());
                            prop_assert_eq!([found.kept, found.dropped], [value.kept, value.dropped]);
                        }
                    }
                }
            }
        }
    }
}
