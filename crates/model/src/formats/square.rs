//! Cells by position, before it is known whether they form a triangle.

use super::field::{CpuLabels, Number};
use super::{FormatId, ImportedMatrix, Labels, Printed, Problem, Unit, Warning};
use crate::time::is_measurable;
use crate::{CpuId, Matrix};

/// A larger ratio of the directions of a typical pair triggers a warning. In files with both directions measured
/// (SoilRos, hydroo, jcurl) the median ratio is 1.00 to 1.07.
const ASYMMETRIC: f64 = 1.5;

/// An N × N table under construction. NaN marks unmeasured cells and needs half the memory of `Option<f64>`.
pub(super) struct Square {
    cpus: Vec<CpuId>,
    cells: Vec<f64>,
    printed: Printed,
    cut: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SquareShape {
    /// Triangles and equal halves are symmetric.
    Detect,
    Directed,
    Symmetric,
}

impl Square {
    pub(super) fn new(labels: &CpuLabels) -> Result<Square, Problem> {
        match labels.len() {
            0 => Err(Problem::NoValues),
            1 => Err(Problem::OneCpu),
            n => Ok(Square {
                cpus: labels.cpus().to_vec(),
                cells: vec![f64::NAN; n * n],
                printed: Printed::WholeNumbers,
                cut: false,
            }),
        }
    }

    pub(super) fn set(&mut self, row: usize, column: usize, number: Option<Number>) -> Result<(), Problem> {
        let Some(Number { value, printed }) = number.filter(|_| row != column) else { return Ok(()) };
        check(value)?;
        if printed == Printed::Decimals {
            self.printed = Printed::Decimals;
        }
        let n = self.cpus.len();
        self.cells[row * n + column] = value;
        Ok(())
    }

    /// Fills the missing row of the last CPU from its column, unless the two directions of other pairs differ.
    pub(super) fn complete_last_row(&mut self) {
        self.cut = true;
        let last = self.cpus.len() - 1;
        let has_both = |&(high, low): &(usize, usize)| self.is_set(high, low) && self.is_set(low, high);
        let pairs_with_both = self.pairs().filter(has_both);
        let differs = |(high, low)| self.at(high, low).to_bits() != self.at(low, high).to_bits();
        // A triangle has no second half.
        if pairs_with_both.clone().next().is_some() && !pairs_with_both.into_iter().any(differs) {
            for column in 0..last {
                self.cells[last * self.cpus.len() + column] = self.at(column, last);
            }
        }
    }

    pub(super) fn is_set(&self, row: usize, column: usize) -> bool {
        !self.at(row, column).is_nan()
    }

    /// The matrix with its warnings, in nanoseconds if the file states no unit. The caller checks whether all matrices
    /// of the file are empty. Fails with [`Problem::HalvesDiffer`] if a declared symmetry does not hold.
    pub(super) fn finish(
        self,
        format: FormatId,
        unit: Option<Unit>,
        labels: Labels,
        shape: SquareShape,
    ) -> Result<ImportedMatrix, Problem> {
        let below = Half::from_cells(self.pairs().map(|(high, low)| self.at(high, low)));
        let above = Half::from_cells(self.pairs().map(|(high, low)| self.at(low, high)));
        let differs =
            |&(high, low): &(usize, usize)| self.at(high, low).to_bits() != self.at(low, high).to_bits();
        // Zeros opposite to latencies fill up a triangle and are not measured.
        let only_below = above == Half::Unknown || (above == Half::Zeros && below == Half::Latencies);
        let only_above = below == Half::Unknown || (below == Half::Zeros && above == Half::Latencies);
        let has_both_halves = !only_below && !only_above;
        let matrix = match (shape, self.pairs().find(differs)) {
            (SquareShape::Symmetric, Some((high, low))) if has_both_halves => {
                return Err(Problem::HalvesDiffer { from: self.cpus[high], to: self.cpus[low] });
            }
            (SquareShape::Detect, Some(_)) if has_both_halves => self.directed(),
            (SquareShape::Directed, _) => self.directed(),
            _ if only_above => Matrix::symmetric(self.cpus.clone(), |row, column| self.latency(column, row)),
            _ => Matrix::symmetric(self.cpus.clone(), |row, column| self.latency(row, column)),
        };
        let assumed = unit.is_none().then_some(Warning::UnitAssumed { unit: Unit::Ns });
        let mut warnings: Vec<Warning> = assumed.into_iter().chain(warnings(&matrix)).collect();
        if self.cut {
            let rows = self.cpus.len() - 1;
            warnings.push(Warning::LastRow { rows, cpu: self.cpus[rows] });
        }
        let (title, metadata, unit) = (None, Vec::new(), unit.unwrap_or(Unit::Ns));
        let (printed, reported) = (self.printed, None);
        Ok(ImportedMatrix { format, title, matrix, unit, labels, printed, reported, metadata, warnings })
    }

    fn directed(&self) -> Matrix<Option<f64>> {
        Matrix::directed(self.cpus.clone(), |row, column| self.latency(row, column))
    }

    fn latency(&self, row: usize, column: usize) -> Option<f64> {
        self.is_set(row, column).then(|| self.at(row, column))
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        self.cells[row * self.cpus.len() + column]
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + Clone + use<> {
        let n = self.cpus.len();
        (0..n).flat_map(|high| (0..high).map(move |low| (high, low)))
    }
}

/// Fails with [`Problem::Negative`], [`Problem::Infinite`] or [`Problem::Impossible`].
pub(super) fn check(value: f64) -> Result<(), Problem> {
    match value {
        _ if value.is_infinite() => Err(Problem::Infinite),
        _ if value < 0.0 => Err(Problem::Negative { value }),
        _ if !is_measurable(value) => Err(Problem::Impossible { value }),
        _ => Ok(()),
    }
}

/// Largest number of CPUs without a minimum density. Beyond it, [`SPARSEST`] limits the memory for short files.
const SMALL: usize = 256;

const SPARSEST: usize = 16;

/// Checks that the cells in a file justify a table of this size. Fails with [`Problem::TooSparse`].
pub(super) fn check_density(cpus: usize, pairs: usize) -> Result<(), Problem> {
    match cpus > SMALL && cpus.saturating_mul(cpus) > SPARSEST * pairs {
        true => Err(Problem::TooSparse { pairs, cpus }),
        false => Ok(()),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    Unknown,
    /// Only zeros, without gaps.
    Zeros,
    Latencies,
}

impl Half {
    fn from_cells(cells: impl Iterator<Item = f64> + Clone) -> Half {
        if cells.clone().all(f64::is_nan) {
            return Half::Unknown;
        }
        if cells.clone().all(|cell| cell == 0.0) { Half::Zeros } else { Half::Latencies }
    }
}

fn warnings(matrix: &Matrix<Option<f64>>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let cpus = matrix.cpus();
    let cells = || matrix.iter().filter(|(row, column, _)| row != column);
    let count = |wanted: fn(Option<f64>) -> bool| {
        let mut found = cells().filter(|(_, _, cell)| wanted(**cell));
        let (row, column, _) = found.next()?;
        Some((1 + found.count(), [cpus[row], cpus[column]]))
    };
    if let Some((missing, first)) = count(|cell| cell.is_none()) {
        warnings.push(Warning::Missing { cells: missing, of: cells().count(), first });
    }
    if let Some((zero, first)) = count(|cell| cell == Some(0.0)) {
        warnings.push(Warning::Zero { cells: zero, first });
    }
    if let Some(ratio_p50) = ratio_of_directions(matrix).filter(|&ratio| ratio >= ASYMMETRIC) {
        warnings.push(Warning::Asymmetric { ratio_p50 });
    }
    warnings
}

fn ratio_of_directions(matrix: &Matrix<Option<f64>>) -> Option<f64> {
    if matrix.is_symmetric() {
        return None;
    }
    let value = |row, column| matrix.get(row, column).copied().flatten();
    let mut ratios: Vec<f64> = (0..matrix.len())
        .flat_map(|row| (0..row).map(move |column| (row, column)))
        .filter_map(|(row, column)| Some((value(row, column)?, value(column, row)?)))
        .filter(|&(one, other)| one > 0.0 && other > 0.0)
        .map(|(one, other)| one.max(other) / one.min(other))
        .collect();
    let middle = ratios.len() / 2;
    (!ratios.is_empty()).then(|| *ratios.select_nth_unstable_by(middle, f64::total_cmp).1)
}
