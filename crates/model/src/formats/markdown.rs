//! A matrix as a Markdown table, for documents and issues.

use std::fmt::Write as _;

use super::Unit;
use super::coretalk_csv::latency;
use crate::Matrix;

/// Prints a table with CPU ids on both axes and one decimal; unknown cells and the diagonal are empty. A symmetric
/// matrix is printed as a full square, so that each row holds all latencies of its CPU.
///
/// ```
/// # use coretalk_model::{CpuId, Matrix, formats::{Unit, write_markdown}};
/// let matrix = Matrix::symmetric(vec![CpuId(0), CpuId(4)], |_, _| Some(52.46));
/// assert_eq!(
///     write_markdown(&matrix, Unit::Ns),
///     "|   ns |    0 |    4 |\n|-----:|-----:|-----:|\n|    0 |      | 52.5 |\n|    4 | 52.5 |      |\n"
/// );
/// ```
pub fn write_markdown(matrix: &Matrix<Option<f64>>, unit: Unit) -> String {
    let n = matrix.len();
    let cell =
        |row, column| latency(matrix, row, column).map_or(String::new(), |value| format!("{value:.1}"));
    let widest = (0..n).flat_map(|row| (0..n).map(move |column| (row, column)));
    let widths = widest.map(|(row, column)| cell(row, column).len());
    let labels = matrix.cpus().iter().map(|cpu| cpu.to_string().len());
    let width = widths.chain(labels).chain([unit.to_string().len()]).max().unwrap_or_default();
    // Writing to a string cannot fail.
    let mut table = String::new();
    let _ = write!(table, "| {:>width$} |", unit.to_string());
    for cpu in matrix.cpus() {
        let _ = write!(table, " {:>width$} |", cpu.0);
    }
    table.push_str("\n|");
    for _ in 0..=n {
        let _ = write!(table, "{:-<dashes$}:|", "", dashes = width + 1);
    }
    table.push('\n');
    for (row, cpu) in matrix.cpus().iter().enumerate() {
        let _ = write!(table, "| {:>width$} |", cpu.0);
        for column in 0..n {
            let _ = write!(table, " {:>width$} |", cell(row, column));
        }
        table.push('\n');
    }
    table
}
