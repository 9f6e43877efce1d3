//! Round trips of matrices through writers and readers, and readers on arbitrary bytes.

use super::matrix_formats::{SAMPLES, one};
use coretalk_model::formats::{FormatId, Unit, read_matrices, write_c2c_csv, write_csv, write_markdown};
use coretalk_model::{CpuId, Matrix};
use proptest::prelude::*;

fn latency() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![
        8 => (0.01f64..2000.0).prop_map(Some),
        1 => (0u32..500).prop_map(|whole| Some(f64::from(whole))),
        1 => prop_oneof![Just(0.01), Just(1e11), Just(0.1 + 0.2)].prop_map(Some),
        1 => prop_oneof![Just(None), Just(Some(0.0))],
    ]
}

fn matrix() -> impl Strategy<Value = Matrix<Option<f64>>> {
    (proptest::collection::btree_set(0u32..5000, 2..9), any::<bool>()).prop_flat_map(|(ids, symmetric)| {
        let cpus: Vec<CpuId> = ids.into_iter().map(CpuId).collect();
        let n = cpus.len();
        proptest::collection::vec(latency(), n * n).prop_map(move |mut cells| {
            cells[n] = cells[n].or(Some(52.5));
            let cell = |row: usize, column: usize| cells[row * n + column].filter(|_| row != column);
            if symmetric {
                Matrix::symmetric(cpus.clone(), cell)
            } else {
                Matrix::directed(cpus.clone(), cell)
            }
        })
    })
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(any::<char>(), 0..12).prop_map(String::from_iter)
}

/// Cells of core-to-core-latency contain `±`, which is two bytes and one column.
#[test]
fn a_missing_cell_does_not_shift_the_others() {
    let rows = [
        "           0       1       2       3       4",
        "      0",
        "      1   22±0 ",
        "      2   23±0    24±0 ",
        "      3   21±0    26±0    25±0 ",
        "      4   20±0    27±0            28±0 ",
    ];
    let report = format!("1) CAS latency on a single shared cache line\n\n{}\n", rows.join("\n"));
    let matrix = read_matrices(report.as_bytes()).unwrap().remove(0).matrix;
    let value = |row, column| *matrix.get(row, column).unwrap();
    assert_eq!([value(4, 1), value(4, 2), value(4, 3)], [Some(27.0), None, Some(28.0)]);
}

proptest! {
    #[test]
    fn csv_reads_back_exactly(matrix in matrix(), metadata in proptest::collection::vec((text(), text()), 0..4)) {
        let imported = one(write_csv(&matrix, Unit::Cycles, &metadata).as_bytes());
        prop_assert_eq!(imported.format, FormatId::CoretalkCsv);
        prop_assert_eq!(imported.matrix, matrix);
        prop_assert_eq!(imported.metadata, metadata);
        prop_assert_eq!(imported.unit, Unit::Cycles);
    }

    #[test]
    fn c2c_csv_reads_back_exactly_except_for_the_ids(matrix in matrix()) {
        let imported = one(write_c2c_csv(&matrix).as_bytes());
        prop_assert_eq!(imported.format, FormatId::BareCsv);
        prop_assert_eq!(imported.matrix.len(), matrix.len());
        let n = matrix.len();
        let half = |upper: bool| {
            let cells = (0..n).flat_map(|row| (0..n).map(move |column| (row, column)));
            let cells = cells.filter(move |(row, column)| row != column && (row < column) == upper);
            cells.map(|(row, column)| matrix.get(row, column).copied().flatten())
        };
        let zeros = |upper| half(upper).all(|cell| cell == Some(0.0));
        // Other tools fill the unmeasured half with zeros.
        let filled = |upper: bool| zeros(upper) && !zeros(!upper) && half(!upper).any(|cell| cell.is_some());
        for row in 0..n {
            for column in 0..n {
                // A directed matrix with equal halves, or with only one known half, may be read as symmetric.
                if matrix.get(row, column).copied().flatten().is_some() {
                    let source = if filled(row < column) { (column, row) } else { (row, column) };
                    prop_assert_eq!(imported.matrix.get(row, column), matrix.get(source.0, source.1));
                }
            }
        }
    }

    #[test]
    fn markdown_has_a_row_and_a_column_per_cpu(matrix in matrix()) {
        let table = write_markdown(&matrix, Unit::Ns);
        prop_assert_eq!(table.lines().count(), matrix.len() + 2);
        prop_assert!(table.lines().all(|line| line.matches('|').count() == matrix.len() + 2));
    }

    #[test]
    fn arbitrary_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = read_matrices(&bytes);
    }

    #[test]
    fn arbitrary_tables_are_read_or_refused(text in "[0-9 ,;\t\n.x\"#CPU-]{0,200}") {
        if let Ok(matrices) = read_matrices(text.as_bytes()) {
            for imported in matrices {
                prop_assert!(imported.matrix.len() >= 2);
                prop_assert!(imported.matrix.iter().all(|(row, column, cell)| row != column || cell.is_none()));
            }
        }
    }

    #[test]
    fn damaged_files_are_read_or_refused(
        sample in 0..SAMPLES.len(),
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), 0usize..6, any::<u8>()), 1..6),
    ) {
        let mut bytes = SAMPLES[sample].1.to_vec();
        for (at, remove, insert) in cuts {
            let at = at.index(bytes.len() + 1);
            let end = (at + remove).min(bytes.len());
            bytes.splice(at..end, (remove % 2 == 0).then_some(insert));
        }
        match read_matrices(&bytes) {
            Ok(matrices) => prop_assert!(!matrices.is_empty()),
            Err(error) => prop_assert!(!error.to_string().contains('\n'), "{}", error),
        }
    }
}
