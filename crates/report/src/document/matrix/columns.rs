//! [`Columns`]: the cells of a matrix by field, for pictures and compact pages.

use super::{CellDoc, MatrixDoc, ci, known};
use crate::reasons::Worded;
use coretalk_model::series::TrialResult;
use coretalk_model::stats::Estimate;
use coretalk_model::{Flag, Flags};
use std::fmt::Write;

/// The displayed fields of the cells, one list each, in the order of the cells.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Columns {
    /// CPU numbers in matrix order.
    pub cpus: Vec<u32>,
    /// Whether a cell represents both directions.
    pub symmetric: bool,
    /// Row and column of each cell, as indices into `cpus`; in a symmetric matrix the row is the larger one.
    pub positions: Vec<[u32; 2]>,
    /// Values in the unit of the matrix; `None` if not measured.
    pub median: Vec<Option<f64>>,
    /// Whether the cell measured the scheduler quantum: a mark replaces its value.
    pub slices: Vec<bool>,
    /// 95 % intervals.
    pub interval: Vec<Option<[f64; 2]>>,
    /// Fastest batches.
    pub min: Vec<Option<f64>>,
    /// Latency with the cache lines on the worse NUMA node ÷ on the better one.
    pub home_penalty: Vec<Option<f64>>,
    /// p90 ÷ p10 over cache lines.
    pub line_spread: Vec<Option<f64>>,
    /// Number of passes.
    pub passes: Vec<u32>,
    /// Grades, `A` to `D`.
    pub grade: Vec<Option<char>>,
    /// Flags as bits, by index in [`Flag::ALL`].
    pub flags: Vec<u32>,
    /// Indices into `reasons`.
    pub reason: Vec<Option<u32>>,
    /// The distinct reasons.
    pub reasons: Vec<String>,
}

impl MatrixDoc<'_> {
    /// The cells by field.
    pub fn columns(&self) -> Columns {
        let mut columns =
            Columns { cpus: self.cpus.clone(), symmetric: self.symmetric, ..Columns::default() };
        let highest = self.cpus.iter().max().map_or(0, |&cpu| cpu as usize + 1);
        let mut position = vec![0_u32; highest];
        for (index, &cpu) in (0..).zip(&self.cpus) {
            position[cpu as usize] = index;
        }
        for cell in self.cells.iter() {
            let [from, to] = [cell.from, cell.to].map(|cpu| position[cpu as usize]);
            columns.positions.push(if self.symmetric { [to, from] } else { [from, to] });
            columns.push(&cell);
        }
        columns
    }
}

impl Columns {
    /// Number of cells with a value.
    pub fn measured(&self) -> usize {
        self.median.iter().flatten().count()
    }

    /// Number of cells without a measurement.
    pub fn missing(&self) -> usize {
        self.median.iter().zip(&self.slices).filter(|(median, slices)| median.is_none() && !**slices).count()
    }

    /// CPUs on which both roles ran. Their cells measured the scheduler quantum.
    pub fn on_slices(&self) -> impl Iterator<Item = u32> + '_ {
        let marked = self.positions.iter().zip(&self.slices).filter(|(_, slices)| **slices);
        marked.filter_map(|([row, _], _)| self.cpus.get(*row as usize).copied())
    }

    /// Whether a cell may be wrong by more than its interval.
    pub fn doubtful(&self, cell: usize) -> bool {
        Flags(self.flags[cell]).may_be_wrong()
    }

    /// Adds the cell of a trial, with a number in the unit of the map.
    pub fn push_trial(&mut self, position: [u32; 2], trial: &TrialResult, number: Option<Estimate>) {
        self.positions.push(position);
        self.push(&CellDoc {
            median: number.and_then(|number| known(number.point)),
            ci: number.as_ref().and_then(ci),
            passes: trial.passes,
            grade: trial.grade.map(|grade| grade.to_string()),
            flags: trial.flags.iter().map(Flag::name).collect(),
            reason: trial.reason.as_ref().map(|reason| reason.text().into()),
            ..CellDoc::default()
        });
    }

    fn push(&mut self, cell: &CellDoc<'_>) {
        self.slices.push(cell.slices);
        self.median.push(cell.median.filter(|_| !cell.slices));
        self.interval.push(cell.ci.filter(|_| !cell.slices));
        self.min.push(cell.min);
        self.home_penalty.push(cell.home_penalty);
        self.line_spread.push(cell.line_spread);
        self.passes.push(cell.passes);
        self.grade.push(cell.grade.as_ref().and_then(|grade| grade.chars().next()));
        let mut bits = 0;
        for &flag in &cell.flags {
            bits |= Flag::ALL.iter().position(|known| known.name() == flag).map_or(0, |bit| 1 << bit);
        }
        self.flags.push(bits);
        let reasons = &mut self.reasons;
        self.reason.push(cell.reason.as_deref().map(|reason| {
            match reasons.iter().position(|known| known == reason) {
                Some(at) => at as u32,
                None => {
                    reasons.push(reason.to_owned());
                    reasons.len() as u32 - 1
                }
            }
        }));
    }

    /// Writes the columns as JSON in whole hundredths, which takes a fifth of the bytes of the cells. The lower end of
    /// an interval and the fastest batch are distances from the median. The upper end is its distance minus the
    /// distance of the lower end, mostly 0. Columns with few distinct values have a letter per cell; long columns have
    /// base-32 digits. Empty columns are left out.
    pub fn write_json(&self, out: &mut String) {
        let hundredths = |value: f64| (value * 100.0).round() as i64;
        let below_median = |cell: usize, other: Option<f64>| {
            self.median[cell].zip(other).map(|(median, other)| hundredths(median) - hundredths(other))
        };
        let each =
            |value: &dyn Fn(usize) -> Option<i64>| (0..self.median.len()).map(value).collect::<Vec<_>>();
        out.push('{');
        let _ = write!(out, "\"cells\":{},\"measured\":{}", self.median.len(), self.measured());
        if let Some(at) = self.unusual_positions() {
            list(out, "at", &at);
        }
        list(out, "median", &each(&|cell| self.median[cell].map(hundredths)));
        let below = |cell: usize| below_median(cell, self.interval[cell].map(|[low, _]| low));
        let above = |cell: usize| {
            below_median(cell, self.interval[cell].map(|[_, high]| high)).map(|distance| -distance)
        };
        list(out, "below", &each(&below));
        list(out, "skew", &each(&|cell| above(cell).zip(below(cell)).map(|(above, below)| above - below)));
        list(out, "min_below", &each(&|cell| below_median(cell, self.min[cell])));
        list(out, "home_penalty", &each(&|cell| self.home_penalty[cell].map(hundredths)));
        list(out, "line_spread", &each(&|cell| self.line_spread[cell].map(hundredths)));
        coded(out, "passes", (0..self.passes.len()).map(|cell| i64::from(self.passes[cell])));
        coded(out, "flags", self.flags.iter().map(|&flags| i64::from(flags)));
        coded(
            out,
            "reason",
            self.reason.iter().map(|reason| reason.map_or(0, |reason| i64::from(reason) + 1)),
        );
        let grades: String = self.grade.iter().map(|grade| grade.unwrap_or(' ')).collect();
        let _ = write!(out, ",\"grades\":\"{grades}\"");
        let names = serde_json::json!(Flag::ALL.iter().map(|flag| flag.name()).collect::<Vec<_>>());
        let reasons = serde_json::json!(self.reasons);
        let _ = write!(out, ",\"flag_names\":{names},\"reasons\":{reasons}}}");
    }

    /// `None` for all positions below the diagonal, or all positions off the diagonal, row by row.
    fn unusual_positions(&self) -> Option<Vec<Option<i64>>> {
        let n = self.cpus.len() as u32;
        let rows = (0..n).flat_map(|row| (0..n).map(move |column| [row, column]));
        let usual: Vec<[u32; 2]> = match self.symmetric {
            true => rows.filter(|[row, column]| row > column).collect(),
            false => rows.filter(|[row, column]| row != column).collect(),
        };
        let index = |[row, column]: &[u32; 2]| Some(i64::from(*row) * i64::from(n) + i64::from(*column));
        (usual != self.positions).then(|| self.positions.iter().map(index).collect())
    }
}

/// Letters that encode values; the script of the page uses the same order.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Writes a column of whole numbers, where 0 is none. With few distinct numbers, each cell is a letter.
fn coded(out: &mut String, name: &str, values: impl Iterator<Item = i64> + Clone) {
    let mut different: Vec<i64> = Vec::new();
    for value in values.clone() {
        if !different.contains(&value) {
            different.push(value);
        }
        if different.len() > LETTERS.len() {
            return list(out, name, &values.map(Some).collect::<Vec<_>>());
        }
    }
    if different.iter().all(|&value| value == 0) {
        return;
    }
    let letter = |value: i64| {
        different.iter().position(|&known| known == value).map_or('A', |at| char::from(LETTERS[at]))
    };
    let letters: String = values.map(letter).collect();
    let _ = write!(out, ",\"{name}\":{{\"of\":{},\"letters\":\"{letters}\"}}", serde_json::json!(different));
}

/// Columns with fewer cells are readable lists of numbers.
const MIN_CELLS_FOR_DIGITS: usize = 4_096;

/// Base 32, lowest digit first; all digits except the last have 32 added. 0 is none; 1, 2, 3, 4, 5 are 0, -1, 1, -2, 2.
fn digits(out: &mut String, value: Option<i64>) {
    let mut rest = value.map_or(0, |value| (value << 1 ^ value >> 63) as u64 + 1);
    while rest >= 32 {
        out.push(char::from(LETTERS[32 + (rest % 32) as usize]));
        rest /= 32;
    }
    out.push(char::from(LETTERS[rest as usize]));
}

fn list(out: &mut String, name: &str, values: &[Option<i64>]) {
    // In these columns, 0 means none.
    let zero_is_none = ["skew", "passes", "flags", "reason"].contains(&name);
    if values.iter().all(|value| value.is_none() || zero_is_none && *value == Some(0)) {
        return;
    }
    if values.len() >= MIN_CELLS_FOR_DIGITS {
        let _ = write!(out, ",\"{name}\":{{\"digits\":\"");
        values.iter().for_each(|value| digits(out, *value));
        return out.push_str("\"}");
    }
    let _ = write!(out, ",\"{name}\":[");
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        match value {
            Some(value) => {
                let _ = write!(out, "{value}");
            }
            None => out.push_str("null"),
        }
    }
    out.push(']');
}
