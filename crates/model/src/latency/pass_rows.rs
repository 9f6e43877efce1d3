use std::ops::Range;

/// The rows of a [`PassTable`](super::passes::PassTable), one for each pass of a cell: a head, then the columns. All
/// numbers of a row are adjacent bytes, usually in one cache line.
#[derive(Debug, Clone)]
pub(super) struct PassRows {
    bytes: Vec<u8>,
    layout: Layout,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Whole,
    Location,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct StoredHead {
    pub round: usize,
    /// Mean core clock of both CPUs in GHz; NaN if unknown.
    pub core_ghz: f32,
    pub flags: u8,
}

/// The result of a pass in a column; NaN throughout if unset.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoredValue {
    pub location_ns: f32,
    pub floor_ns: f32,
    pub line_spread: f32,
    pub batches: u8,
    pub line_error_ns: f32,
}

#[derive(Debug, Clone, Default)]
struct Layout {
    row_bytes: usize,
    columns: Vec<Column>,
    /// Whether whole columns have line errors. Adaptive counts need none, which saves 4 bytes.
    has_errors: bool,
    has_many_rounds: bool,
}

#[derive(Debug, Clone, Copy)]
struct Column {
    kind: ColumnKind,
    offset: usize,
}

pub(super) const MAX_FEW_ROUNDS: usize = 1 << 16;

/// The value of unset bytes: four of them are NaN.
const UNSET: u8 = u8::MAX;

const CORE_GHZ: usize = 0;
const FLAGS: usize = 4;
const ROUND: usize = 5;
// A column of locations has only the first field.
const LOCATION: usize = 0;
const FLOOR: usize = 4;
const LINE_SPREAD: usize = 8;
const BATCHES: usize = 12;
const LINE_ERROR: usize = 13;

impl Layout {
    fn place(mut self) -> Layout {
        self.row_bytes = ROUND + if self.has_many_rounds { 4 } else { 2 };
        for column in &mut self.columns {
            column.offset = self.row_bytes;
            self.row_bytes += match column.kind {
                ColumnKind::Location => FLOOR,
                ColumnKind::Whole if self.has_errors => LINE_ERROR + 4,
                ColumnKind::Whole => LINE_ERROR,
            };
        }
        self
    }
}

impl Default for PassRows {
    fn default() -> PassRows {
        PassRows { bytes: Vec::new(), layout: Layout::default().place() }
    }
}

impl PassRows {
    pub fn len(&self) -> usize {
        self.bytes.len() / self.layout.row_bytes
    }

    pub fn kind(&self, column: usize) -> Option<ColumnKind> {
        self.layout.columns.get(column).map(|column| column.kind)
    }

    pub fn add_column(&mut self, kind: ColumnKind) {
        let mut layout = self.layout.clone();
        layout.columns.push(Column { kind, offset: 0 });
        self.arrange(layout);
    }

    pub fn resize(&mut self, rows: usize) {
        self.bytes.resize(rows * self.layout.row_bytes, UNSET);
    }

    pub fn extend_from_within(&mut self, rows: Range<usize>) {
        let row_bytes = self.layout.row_bytes;
        self.bytes.extend_from_within(rows.start * row_bytes..rows.end * row_bytes);
    }

    pub fn head(&self, row: usize) -> StoredHead {
        let at = row * self.layout.row_bytes;
        let round = match self.layout.has_many_rounds {
            true => u32::from_ne_bytes(self.array(at + ROUND)) as usize,
            false => u16::from_ne_bytes(self.array(at + ROUND)).into(),
        };
        StoredHead { round, core_ghz: self.float(at + CORE_GHZ), flags: self.bytes[at + FLAGS] }
    }

    pub fn set_head(&mut self, row: usize, head: StoredHead) {
        if head.round >= MAX_FEW_ROUNDS && !self.layout.has_many_rounds {
            self.arrange(Layout { has_many_rounds: true, ..self.layout.clone() });
        }
        let at = row * self.layout.row_bytes;
        self.set_float(at + CORE_GHZ, head.core_ghz);
        self.bytes[at + FLAGS] = head.flags;
        match self.layout.has_many_rounds {
            true => self.set_array(at + ROUND, (head.round as u32).to_ne_bytes()),
            false => self.set_array(at + ROUND, (head.round as u16).to_ne_bytes()),
        }
    }

    pub fn location_ns(&self, row: usize, column: usize) -> f32 {
        self.float(self.offset(row, column) + LOCATION)
    }

    pub fn set_location_ns(&mut self, row: usize, column: usize, location_ns: f32) {
        self.set_float(self.offset(row, column) + LOCATION, location_ns);
    }

    pub fn value(&self, row: usize, column: usize) -> StoredValue {
        let at = self.offset(row, column);
        StoredValue {
            location_ns: self.float(at + LOCATION),
            floor_ns: self.float(at + FLOOR),
            line_spread: self.float(at + LINE_SPREAD),
            batches: self.bytes[at + BATCHES],
            line_error_ns: if self.layout.has_errors { self.float(at + LINE_ERROR) } else { f32::NAN },
        }
    }

    pub fn set_value(&mut self, row: usize, column: usize, value: StoredValue) {
        if value.line_error_ns.is_finite() && !self.layout.has_errors {
            self.arrange(Layout { has_errors: true, ..self.layout.clone() });
        }
        let at = self.offset(row, column);
        self.set_float(at + LOCATION, value.location_ns);
        self.set_float(at + FLOOR, value.floor_ns);
        self.set_float(at + LINE_SPREAD, value.line_spread);
        self.bytes[at + BATCHES] = value.batches;
        if self.layout.has_errors {
            self.set_float(at + LINE_ERROR, value.line_error_ns);
        }
    }

    /// Moves all rows to a layout with the same columns, or more. Happens a few times in a run.
    fn arrange(&mut self, layout: Layout) {
        let mut new = PassRows { bytes: Vec::new(), layout: layout.place() };
        new.resize(self.len());
        for row in 0..self.len() {
            new.set_head(row, self.head(row));
            for (column, old) in self.layout.columns.iter().enumerate() {
                match old.kind {
                    ColumnKind::Whole => new.set_value(row, column, self.value(row, column)),
                    ColumnKind::Location => new.set_location_ns(row, column, self.location_ns(row, column)),
                }
            }
        }
        *self = new;
    }

    fn offset(&self, row: usize, column: usize) -> usize {
        row * self.layout.row_bytes + self.layout.columns[column].offset
    }

    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut array = [0; N];
        array.copy_from_slice(&self.bytes[at..][..N]);
        array
    }

    fn set_array<const N: usize>(&mut self, at: usize, array: [u8; N]) {
        self.bytes[at..][..N].copy_from_slice(&array);
    }

    fn float(&self, at: usize) -> f32 {
        f32::from_ne_bytes(self.array(at))
    }

    fn set_float(&mut self, at: usize, float: f32) {
        self.set_array(at, float.to_ne_bytes());
    }
}
