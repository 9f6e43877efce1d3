//! [`View`]: a matrix as the checks look at it.

use crate::formats::ImportedMatrix;
use crate::stats::{median, median_of_sorted};
use crate::{CpuId, Matrix};

/// A matrix as the checks look at it: one value for each pair, and what all of them are like.
pub(super) struct View<'a> {
    /// As read.
    pub matrix: &'a Matrix<Option<f64>>,
    /// Mean of both directions by row and column; NaN on the diagonal and where there is no value above 0.
    pub both: Vec<Vec<f64>>,
    /// Every value above 0, one for each pair, rising.
    pub sorted: Vec<f64>,
    /// Their median; NaN where there is none.
    pub median: f64,
}

impl<'a> View<'a> {
    pub fn new(imported: &'a ImportedMatrix) -> View<'a> {
        let matrix = &imported.matrix;
        let n = matrix.len();
        let value = |row: usize, column: usize| {
            let both = [matrix.get(row, column), matrix.get(column, row)];
            let known: Vec<f64> = both.into_iter().filter_map(|cell| *cell?).filter(|ns| *ns > 0.0).collect();
            if row == column || known.is_empty() {
                f64::NAN
            } else {
                known.iter().sum::<f64>() / known.len() as f64
            }
        };
        let both: Vec<Vec<f64>> =
            (0..n).map(|row| (0..n).map(|column| value(row, column)).collect()).collect();
        let mut sorted: Vec<f64> =
            (0..n).flat_map(|row| both[row][..row].iter().copied()).filter(|ns| ns.is_finite()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let median = median_of_sorted(&sorted).unwrap_or(f64::NAN);
        View { matrix, both, sorted, median }
    }

    pub fn len(&self) -> usize {
        self.both.len()
    }

    pub fn cpu(&self, position: usize) -> CpuId {
        self.matrix.cpus()[position]
    }

    pub fn pair(&self, a: usize, b: usize) -> [CpuId; 2] {
        [self.cpu(a.min(b)), self.cpu(a.max(b))]
    }

    /// Every pair with a value above 0.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        (0..self.len())
            .flat_map(|row| (0..row).map(move |column| (row, column)))
            .map(|(row, column)| (row, column, self.both[row][column]))
            .filter(|(_, _, ns)| ns.is_finite())
    }

    /// The values of a row, rising.
    pub fn row(&self, position: usize) -> Vec<f64> {
        let mut row: Vec<f64> = self.both[position].iter().copied().filter(|ns| ns.is_finite()).collect();
        row.sort_unstable_by(f64::total_cmp);
        row
    }

    /// The nearest CPU and its value.
    pub fn nearest(&self, position: usize) -> Option<(usize, f64)> {
        let row = self.both[position].iter().copied().enumerate().filter(|(_, ns)| ns.is_finite());
        row.min_by(|x, y| x.1.total_cmp(&y.1))
    }

    /// Medians of the rows; NaN for a row without a value.
    pub fn row_medians(&self) -> Vec<f64> {
        (0..self.len()).map(|row| median(&self.row(row)).unwrap_or(f64::NAN)).collect()
    }
}
