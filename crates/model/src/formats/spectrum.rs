//! [`Spectrum`]: a distribution as some file holds it, by percentiles.

/// One row: up to this value lie so many.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpectrumRow {
    /// In the unit of the file.
    pub value: f64,
    /// The share of all, 0 to 1, that lies at or below it.
    pub share: f64,
    /// How many that are.
    pub count: u64,
}

/// A distribution as some file holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct Spectrum {
    /// What tells it from others of the same file; nothing where it is the only one.
    pub name: Option<String>,
    /// The unit of values, where the file says it.
    pub unit: Option<String>,
    /// Decimals of values, as the file writes them.
    pub digits: usize,
    /// Rows upwards; the last one has the share 1 unless the file is cut.
    pub rows: Vec<SpectrumRow>,
    /// The mean, where the file says it.
    pub mean: Option<f64>,
    /// The standard deviation, where the file says it.
    pub deviation: Option<f64>,
    /// What is odd about it.
    pub warnings: Vec<String>,
}

/// A percentile as rows tell it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Percentile {
    /// This value.
    Exact(f64),
    /// At most this value: the row before ends below the share.
    AtMost(f64),
}

impl Spectrum {
    /// How many values were counted.
    pub fn total(&self) -> u64 {
        self.rows.last().map_or(0, |row| row.count)
    }

    /// The value that a share of all lies at or below; nothing where the file ends before it, or has too few values for
    /// it to mean something.
    pub fn percentile(&self, share: f64) -> Option<Percentile> {
        let total = self.total() as f64;
        if share < 1.0 && total * (1.0 - share) < 1.0 - 1e-9 {
            return None;
        }
        // A hair is taken off, so that a share that was printed with twelve decimals is met.
        let at = self.rows.iter().position(|row| row.share >= share - 1e-12)?;
        let row = self.rows[at];
        let before = at.checked_sub(1).map(|before| self.rows[before]);
        // Rows that repeat a value say that everything between them lies there.
        let exact =
            (row.share - share).abs() < 1e-9 || before.is_some_and(|before| before.value == row.value);
        Some(if exact { Percentile::Exact(row.value) } else { Percentile::AtMost(row.value) })
    }
}
