//! `c2c-csv`: the bare matrix as core-to-core-latency writes it, for tools and archives that expect that.

use std::fmt::Write as _;

use super::coretalk_csv::latency;
use crate::Matrix;

/// Prints N rows of N fields without any ids: the strict lower triangle of a symmetric matrix, everything but the
/// diagonal of a directed one, with all digits. Unknown cells are empty.
///
/// ```
/// # use coretalk_model::{CpuId, Matrix, formats::write_c2c_csv};
/// let matrix = Matrix::symmetric(vec![CpuId(0), CpuId(4)], |_, _| Some(52.5));
/// assert_eq!(write_c2c_csv(&matrix), ",\n52.5,\n");
/// ```
pub fn write_c2c_csv(matrix: &Matrix<Option<f64>>) -> String {
    let mut csv = String::new();
    for row in 0..matrix.len() {
        for column in 0..matrix.len() {
            if column > 0 {
                csv.push(',');
            }
            if matrix.is_symmetric() && column > row {
                continue;
            }
            if let Some(latency) = latency(matrix, row, column) {
                // Writing to a string cannot fail.
                let _ = write!(csv, "{latency}");
            }
        }
        csv.push('\n');
    }
    csv
}
