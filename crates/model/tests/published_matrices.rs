//! Every published matrix and every hostile sample in the shared test data, where that is present.

use std::fs;
use std::path::PathBuf;

use coretalk_model::formats::{ImportError, ImportedMatrix, Printed, Problem, Unit, Warning, read_matrices};
use serde_json::Value;

/// The folder of the data, which the project does not carry.
fn data(test: &str) -> Option<PathBuf> {
    let default = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("CORETALK_TEST_DATA").map_or_else(default, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    println!(
        "skipped: {test}: no test data in {} (CORETALK_TEST_DATA names another folder)",
        folder.display()
    );
    None
}

/// One latency per pair, as the ground truth counts them: the mean of both directions where there are two.
fn per_pair(imported: &ImportedMatrix) -> Vec<f64> {
    let matrix = &imported.matrix;
    let value = |row, column| matrix.get(row, column).copied().flatten();
    let mut pairs = Vec::new();
    for row in 0..matrix.len() {
        for column in 0..row {
            match (value(row, column), value(column, row)) {
                (Some(one), Some(other)) => pairs.push((one + other) / 2.0),
                (one, other) => pairs.extend(one.or(other)),
            }
        }
    }
    pairs.sort_by(f64::total_cmp);
    pairs
}

fn median(sorted: &[f64]) -> f64 {
    (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0
}

#[test]
fn every_published_matrix_is_read_as_the_ground_truth_says() {
    let Some(folder) = data("the published matrices") else { return };
    let truth: Value = serde_json::from_slice(&fs::read(folder.join("ground-truth.json")).unwrap()).unwrap();
    let mut read = 0;
    for (file, expected) in truth.as_object().unwrap() {
        let matrices = read_matrices(&fs::read(folder.join(file)).unwrap());
        let imported = &matrices.unwrap_or_else(|error| panic!("{file}: failed to {error}"))[0];
        let formats: &[&str] = match expected["format"].as_str().unwrap() {
            "A" | "A-crlf" | "B" => &["bare-csv"],
            "A-text" => &["core-to-core-report"],
            "C" => &["mctop"],
            "D" => &["pivot"],
            "D-long" => &["aggregates"],
            "E" => &["fixed-width"],
            "F" => &["ipc-json"],
            "G" | "G-sub" => &["c2clat"],
            other => panic!("{file}: unknown format {other}"),
        };
        assert!(formats.contains(&imported.format.as_str()), "{file}: read as {}", imported.format);
        let unit = if expected["unit"] == "cycles" { Unit::Cycles } else { Unit::Ns };
        assert_eq!(imported.unit, unit, "{file}");
        assert_eq!(imported.matrix.len() as u64, expected["cpus"].as_u64().unwrap(), "{file}");
        let full = expected["matrix"] == "full, asymmetric";
        assert_eq!(imported.matrix.is_symmetric(), !full, "{file}: {}", expected["matrix"]);
        let missing = expected["evidence"]["missing_pairs"].as_u64().unwrap_or(0);
        let said = imported.warnings.iter().any(|warning| matches!(warning, Warning::Missing { .. }));
        assert_eq!(said, missing > 0, "{file}: {missing} missing pairs, {:?}", imported.warnings);
        let asymmetric = |warning: &Warning| matches!(warning, Warning::Asymmetric { .. });
        assert!(!imported.warnings.iter().any(asymmetric), "{file}: {:?}", imported.warnings);
        let pairs = per_pair(imported);
        let found = [pairs[0], median(&pairs), pairs[pairs.len() - 1]];
        for (found, expected) in found.into_iter().zip(expected["min_median_max"].as_array().unwrap()) {
            let expected = expected.as_f64().unwrap();
            assert!((found - expected).abs() <= 0.051, "{file}: {found} instead of {expected}");
        }
        read += 1;
    }
    assert_eq!(read, 84);
}

/// What a hostile sample has to give.
enum Outcome {
    /// The matrix of the other samples, with nothing to say but that the unit is assumed.
    Accepted,
    /// A matrix with this doubt.
    Doubted(fn(&Warning) -> bool),
    /// A refusal with this line, column and problem.
    Refused(Option<usize>, Option<usize>, fn(&Problem) -> bool),
}

#[test]
fn every_hostile_matrix_gets_its_outcome() {
    use Outcome::{Accepted, Doubted, Refused};
    let Some(folder) = data("the hostile samples") else { return };
    let folder = folder.join("hostile");
    let table: &[(&str, Outcome)] = &[
        ("ok-bom-crlf.csv", Accepted),
        ("ok-cr-only.csv", Accepted),
        ("ok-no-final-newline.csv", Accepted),
        ("ok-blank-rows.csv", Accepted),
        ("ok-semicolon-comma-decimal.csv", Accepted),
        ("ok-tab.tsv", Accepted),
        ("ok-header-rowlabels.csv", Accepted),
        ("ok-quoted.csv", Accepted),
        ("ok-x-diagonal.csv", Accepted),
        ("ok-nan-diagonal.csv", Accepted),
        ("ok-zero-diagonal.csv", Accepted),
        ("ok-upper-triangle.csv", Accepted),
        ("ok-short-rows-triangle.csv", Accepted),
        ("ok-spaces.csv", Accepted),
        ("ok-scientific.csv", Accepted),
        ("ok-comments.csv", Accepted),
        ("ok-utf16le.csv", Accepted),
        (
            "bad-ragged.csv",
            Refused(Some(5), None, |p| matches!(p, Problem::Ragged { cells: 6, expected: 8 })),
        ),
        ("bad-extra-column.csv", Refused(Some(4), None, |p| matches!(p, Problem::Ragged { cells: 9, .. }))),
        (
            "bad-not-square.csv",
            Refused(None, None, |p| matches!(p, Problem::NotSquare { rows: 5, columns: 8 })),
        ),
        ("bad-negative.csv", Refused(Some(3), Some(6), |p| matches!(p, Problem::Negative { .. }))),
        ("bad-inf.csv", Refused(Some(3), Some(6), |p| matches!(p, Problem::Infinite))),
        ("bad-nan-cell.csv", Doubted(|w| matches!(w, Warning::Missing { cells: 1, of: 28, .. }))),
        ("bad-text-cell.csv", Refused(Some(7), Some(2), |p| matches!(p, Problem::NotANumber { .. }))),
        ("bad-empty.csv", Refused(None, None, |p| matches!(p, Problem::Empty))),
        ("bad-only-commas.csv", Refused(None, None, |p| matches!(p, Problem::NoValues))),
        ("bad-one-cell.csv", Refused(None, None, |p| matches!(p, Problem::Blank))),
        ("bad-binary.csv", Refused(Some(2), None, |p| matches!(p, Problem::NotText { .. }))),
        ("bad-html.csv", Refused(None, None, |p| matches!(p, Problem::Markup))),
        ("bad-thousands-sep.csv", Refused(Some(1), Some(2), |p| matches!(p, Problem::Thousands { .. }))),
        ("bad-asymmetric.csv", Doubted(|w| matches!(w, Warning::Asymmetric { .. }))),
        (
            "bad-duplicate-labels.csv",
            Refused(Some(1), Some(4), |p| matches!(p, Problem::DuplicateCpu { .. })),
        ),
    ];
    let usual = read_matrices(&fs::read(folder.join("ok-tab.tsv")).unwrap()).unwrap().remove(0);
    for (file, expected) in table {
        match (expected, read_matrices(&fs::read(folder.join(file)).unwrap())) {
            (Accepted, Ok(matrices)) => {
                let [one] = &matrices[..] else { panic!("{file}: {} matrices", matrices.len()) };
                assert_eq!(one.warnings, [Warning::UnitAssumed { unit: Unit::Ns }], "{file}");
                assert_eq!(one.printed, Printed::Decimals, "{file}");
                assert_eq!(one.matrix.cpus(), usual.matrix.cpus(), "{file}");
                assert!(one.matrix.is_symmetric(), "{file}");
                for (found, expected) in per_pair(one).into_iter().zip(per_pair(&usual)) {
                    assert!((found - expected).abs() < 0.001, "{file}: {found} instead of {expected}");
                }
            }
            (Doubted(doubt), Ok(matrices)) => {
                assert!(matrices[0].warnings.iter().any(doubt), "{file}: {:?}", matrices[0].warnings);
            }
            (Refused(line, column, problem), Err(error)) => {
                assert!(problem(&error.problem), "{file}: failed to {error}");
                assert_eq!((error.line, error.column), (*line, *column), "{file}: failed to {error}");
            }
            (_, outcome) => panic!("{file}: {outcome:?}"),
        }
    }
    let outlier = read_matrices(&fs::read(folder.join("bad-huge-outlier.csv")).unwrap()).unwrap();
    assert_eq!(per_pair(&outlier[0]).last(), Some(&1e9));
    let matrices = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let is_matrix =
        |path: &PathBuf| path.extension().is_some_and(|ending| ending == "csv" || ending == "tsv");
    assert_eq!(matrices.filter(is_matrix).count(), table.len() + 1, "a sample is not in the table");
}

#[test]
fn published_histograms_are_refused_as_histograms() {
    let Some(folder) = data("the published histograms") else { return };
    for file in [
        "hgrm/pauseintrinsics/Kaveri-Pause.hgrm",
        "hgrm/hdrhistogram-googlecharts/example1.txt",
        "hgrm/wrk2/README.md",
        "other-histograms/hlog/jHiccup-2.0.7S.logV2.hlog",
        "other-histograms/hlog/jHiccup-2.0.1.logV0.hlog",
    ] {
        let outcome = read_matrices(&fs::read(folder.join(file)).unwrap());
        let Err(ImportError { problem: Problem::Histogram, .. }) = outcome else {
            panic!("{file}: {outcome:?}");
        };
    }
}
