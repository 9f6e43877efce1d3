//! Tests on the shared data, if present: readers on every published matrix and hostile sample, published percentile
//! tables rebuilt from their counts byte for byte, and comparisons of published machines.

use super::alignment::{columns_of, compared, held, none_differs, pairing};
use super::matrix_formats::is_problem;
use super::{data, matrix_files};
use coretalk_model::CpuId;
use coretalk_model::compare::{Alignment, Likeness, Obstacle, Pairing, ReadingKey, Side, Verdict, of_import};
use coretalk_model::formats::hgrm::{HgrmCount, HgrmStyle, write_counts};
use coretalk_model::formats::{ImportError, ImportedMatrix, Printed, Problem, Unit, Warning, read_matrices};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn read(folder: &Path, file: &str) -> Result<Vec<ImportedMatrix>, ImportError> {
    read_matrices(&fs::read(folder.join(file)).unwrap())
}

/// One latency per pair, as in the ground truth: the mean if there are two directions.
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
    let mut files = 0;
    for (file, expected) in truth.as_object().unwrap() {
        let imported = &read(&folder, file).unwrap_or_else(|error| panic!("{file}: failed to {error}"))[0];
        let format = match expected["format"].as_str().unwrap() {
            "A" | "A-crlf" | "B" => "bare-csv",
            "A-text" => "core-to-core-report",
            "C" => "mctop",
            "D" => "pivot",
            "D-long" => "aggregates",
            "E" => "fixed-width",
            "F" => "ipc-json",
            "G" | "G-sub" => "c2clat",
            other => panic!("{file}: unknown format {other}"),
        };
        assert_eq!(imported.format.name(), format, "{file}");
        let unit = if expected["unit"] == "cycles" { Unit::Cycles } else { Unit::Ns };
        assert_eq!(imported.unit, unit, "{file}");
        assert_eq!(imported.matrix.len() as u64, expected["cpus"].as_u64().unwrap(), "{file}");
        let full = expected["matrix"] == "full, asymmetric";
        assert_eq!(imported.matrix.is_symmetric(), !full, "{file}: {}", expected["matrix"]);
        let missing = expected["evidence"]["missing_pairs"].as_u64().unwrap_or(0);
        let is_warned = imported.warnings.iter().any(|warning| matches!(warning, Warning::Missing { .. }));
        assert_eq!(is_warned, missing > 0, "{file}: {missing} missing pairs, {:?}", imported.warnings);
        let asymmetric = |warning: &Warning| matches!(warning, Warning::Asymmetric { .. });
        assert!(!imported.warnings.iter().any(asymmetric), "{file}: {:?}", imported.warnings);
        let pairs = per_pair(imported);
        let found = [pairs[0], median(&pairs), pairs[pairs.len() - 1]];
        for (found, expected) in found.into_iter().zip(expected["min_median_max"].as_array().unwrap()) {
            let expected = expected.as_f64().unwrap();
            assert!((found - expected).abs() <= 0.051, "{file}: {found} instead of {expected}");
        }
        files += 1;
    }
    assert_eq!(files, 84);
}

enum Outcome {
    Accepted,
    Doubted(fn(&Warning) -> bool),
    /// An error with this line, column and problem.
    Refused(Option<usize>, Option<usize>, &'static str),
}

#[test]
fn every_hostile_matrix_has_the_expected_outcome() {
    use Outcome::{Accepted, Doubted, Refused};
    let Some(folder) = data("the hostile samples") else { return };
    let folder = folder.join("hostile");
    let accepted = "ok-bom-crlf.csv ok-cr-only.csv ok-no-final-newline.csv ok-blank-rows.csv \
        ok-semicolon-comma-decimal.csv ok-tab.tsv ok-header-rowlabels.csv ok-quoted.csv \
        ok-x-diagonal.csv ok-nan-diagonal.csv ok-zero-diagonal.csv ok-upper-triangle.csv \
        ok-short-rows-triangle.csv ok-spaces.csv ok-scientific.csv ok-comments.csv ok-utf16le.csv";
    let accepted = accepted.split(' ').map(|file| (file, Accepted));
    let others = [
        ("bad-ragged.csv", Refused(Some(5), None, "Ragged { cells: 6, expected: 8 }")),
        ("bad-extra-column.csv", Refused(Some(4), None, "Ragged { cells: 9, expected: 8 }")),
        ("bad-not-square.csv", Refused(None, None, "NotSquare { rows: 5, columns: 8 }")),
        ("bad-negative.csv", Refused(Some(3), Some(6), "Negative")),
        ("bad-inf.csv", Refused(Some(3), Some(6), "Infinite")),
        ("bad-nan-cell.csv", Doubted(|w| matches!(w, Warning::Missing { cells: 1, of: 28, .. }))),
        ("bad-text-cell.csv", Refused(Some(7), Some(2), "NotANumber")),
        ("bad-empty.csv", Refused(None, None, "Empty")),
        ("bad-only-commas.csv", Refused(None, None, "NoValues")),
        ("bad-one-cell.csv", Refused(None, None, "Blank")),
        ("bad-binary.csv", Refused(Some(2), None, "NotText")),
        ("bad-html.csv", Refused(None, None, "Markup")),
        ("bad-thousands-sep.csv", Refused(Some(1), Some(2), "Thousands")),
        ("bad-asymmetric.csv", Doubted(|w| matches!(w, Warning::Asymmetric { .. }))),
        ("bad-duplicate-labels.csv", Refused(Some(1), Some(4), "DuplicateCpu")),
    ];
    let table: Vec<(&str, Outcome)> = accepted.chain(others).collect();
    let reference = read(&folder, "ok-tab.tsv").unwrap().remove(0);
    for (file, expected) in &table {
        match (expected, read(&folder, file)) {
            (Accepted, Ok(matrices)) => {
                let [one] = &matrices[..] else { panic!("{file}: {} matrices", matrices.len()) };
                let states_unit = *file == "ok-comments.csv";
                let assumed = (!states_unit).then_some(Warning::UnitAssumed { unit: Unit::Ns });
                assert_eq!(one.warnings, Vec::from_iter(assumed), "{file}");
                assert_eq!(one.printed, Printed::Decimals, "{file}");
                assert_eq!(one.matrix.cpus(), reference.matrix.cpus(), "{file}");
                assert!(one.matrix.is_symmetric(), "{file}");
                for (found, expected) in per_pair(one).into_iter().zip(per_pair(&reference)) {
                    assert!((found - expected).abs() < 0.001, "{file}: {found} instead of {expected}");
                }
            }
            (Doubted(doubt), Ok(matrices)) => {
                assert!(matrices[0].warnings.iter().any(doubt), "{file}: {:?}", matrices[0].warnings);
            }
            (Refused(line, column, problem), Err(error)) => {
                assert!(is_problem(&error, problem), "{file}: failed to {error}");
                assert_eq!((error.line, error.column), (*line, *column), "{file}: failed to {error}");
            }
            (_, outcome) => panic!("{file}: {outcome:?}"),
        }
    }
    let outlier = read(&folder, "bad-huge-outlier.csv").unwrap();
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
        assert_eq!(read(&folder, file).unwrap_err().problem, Problem::Histogram, "{file}");
    }
}

/// The rows of a percentile table: value as printed, cumulative count, and the whole line.
fn rows(text: &str) -> Vec<(&str, u64, &str)> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let (value, level, count) = (words.next()?, words.next()?, words.next()?);
            let _: (f64, f64) = (value.parse().ok()?, level.parse().ok()?);
            Some((value, count.parse().ok()?, line))
        })
        .collect()
}

#[test]
fn published_tables_are_reproduced_byte_for_byte() {
    let Some(folder) = data("the published percentile tables") else { return };
    let mut compared = 0;
    for name in ["BusySpin", "GetTimestamp", "Pause", "SpinWait"] {
        let path = folder.join(format!("hgrm/pauseintrinsics/Kaveri-{name}.hgrm"));
        let text = fs::read_to_string(&path).unwrap();
        let rows = rows(&text);
        let mut counts: Vec<HgrmCount> = Vec::new();
        let mut counted = 0;
        for &(value, cumulative, _) in &rows {
            if cumulative > counted {
                let highest: f64 = value.parse().unwrap();
                counts.push(HgrmCount { highest, middle: highest, count: cumulative - counted });
                counted = cumulative;
            }
        }
        let style = HgrmStyle { digits: 2, ticks: 5, scale: 1.0, buckets: [35, 256] };
        let written = write_counts(&counts, &style, &[]);
        let mine: Vec<&str> = self::rows(&written).into_iter().map(|row| row.2).collect();
        let theirs: Vec<&str> = rows.iter().map(|row| row.2.trim_end_matches('\r')).collect();
        assert_eq!(mine, theirs, "{name}");
        let footer = |text: &str, start: &str| {
            text.lines().find(|line| line.starts_with(start)).map(|line| line.trim_end().to_owned())
        };
        for start in ["#[Max", "#[Buckets"] {
            assert_eq!(footer(&written, start), footer(&text, start), "{name}");
        }
        compared += rows.len();
    }
    assert!(compared > 300, "{compared} rows");
}

fn side(folder: &Path, path: &str) -> Side {
    of_import(&read(&folder.join("latency-matrices"), path).unwrap())
}

fn doubtful_levels(alignment: &Alignment) -> Vec<&str> {
    alignment.doubts().iter().map(|doubt| doubt.level.as_str()).collect()
}

#[test]
fn published_machines_get_the_expected_pairing() {
    let Some(folder) = data("the published matrices") else { return };
    use Pairing::{Levels, Nothing, Pairs};
    let other_groups = Nothing(Obstacle::Groups);
    let (zen_2, zen_3) = ("amd-ryzen9-3900x/alloybronya.csv", "amd-ryzen9-5900x/smarkwell.csv");
    let (laptop, cache) = ("amd-ryzen7-5800u/gmelikov.csv", "amd-ryzen7-5800x3d/keantoken.csv");
    let bergamo = "amd-epyc-9754/entropy-enthalpy.csv";
    let arm = ["ampere-altra-q80-30/zeroping-numa-off.csv", "aws-graviton2/aws-c6gd-metal-by-nviennot.csv"];
    for (a, b, expected) in [
        (zen_2, zen_3, &other_groups),
        (zen_3, "amd-ryzen9-5950x/nephyrin.csv", &Levels(Likeness::Kind)),
        (laptop, cache, &Levels(Likeness::Renumbered)),
        (laptop, "amd-ryzen9-5900hx/r4nd0m1z3r.csv", &Pairs),
        // Groups of four and of eight cores, numbered consecutively: most pairs are near in both, or far in both.
        ("amd-epyc-7702-dual/herver.csv", bergamo, &other_groups),
        ("amd-ryzen9-7950x/nviennot-crlf.csv", "amd-ryzen9-7950x/zamadatix.csv", &Pairs),
        ("amd-tr-3990x/shisoft.csv", bergamo, &other_groups),
        (cache, "intel-core-i9-12900k/bizude.csv", &other_groups),
        (arm[0], arm[1], &other_groups),
    ] {
        let (left, right) = (side(&folder, a), side(&folder, b));
        assert_eq!(pairing(&left, &right), *expected, "{a} {b}");
        assert_eq!(pairing(&right, &left), *expected, "{b} {a}");
        let (_, levels, _) = held(&left, &left);
        assert!(levels.iter().all(|(_, verdict)| *verdict == Verdict::Same), "{a}");
    }
}

#[test]
fn levels_that_differ_between_published_machines_are_not_compared() {
    let Some(folder) = data("the published matrices") else { return };
    // Six cores with two threads and four with one, against eight with two.
    let [hybrid, even] = ["intel-core-i5-12600k/tombyrer.csv", "intel-core-i9-9900k/nviennot.csv"]
        .map(|path| side(&folder, path));
    for (left, right) in [(&hybrid, &even), (&even, &hybrid)] {
        assert!(matches!(pairing(left, right), Pairing::Nothing(_)));
    }
    // Two generations of one design that differ by half, but only between SMT siblings.
    let [zen_3, zen_4] =
        ["amd-ryzen9-5950x/nephyrin.csv", "amd-ryzen9-7950x/zamadatix.csv"].map(|path| side(&folder, path));
    let (alignment, levels, _) = held(&zen_3, &zen_4);
    assert_eq!(doubtful_levels(&alignment), ["group-1"]);
    assert_eq!(levels.iter().map(|(level, _)| level.as_str()).collect::<Vec<_>>(), ["group-2", "across"]);
    assert_eq!(compared(&zen_3, &zen_4, &alignment).alone.len(), 2);
}

fn planted(names: [&str; 2]) -> Option<[Side; 2]> {
    let folder = data("the planted changes")?.join("../faults/files");
    if !folder.exists() {
        eprintln!("skipped: the planted changes are absent");
        return None;
    }
    Some(names.map(|name| of_import(&read(&folder, name).unwrap())))
}

#[test]
fn a_uniform_change_of_a_published_machine_gets_one_verdict() {
    let Some([a, b]) = planted(["0-base.csv", "0-all+5.csv"]) else { return };
    let dataset = compared(&a, &b, &Alignment::between(&a, &b));
    let together = dataset.together.as_ref().unwrap();
    assert_eq!(together.verdict, Verdict::Slower);
    assert!(together.shift.contains(0.05) && together.reach().unwrap() < 0.035, "{together:?}");
    assert!(dataset.levels.iter().all(|level| level.difference.verdict == Verdict::Slower));
    assert_eq!(dataset.cells.iter().filter(|cell| cell.departs).count(), 0);
}

#[test]
fn disturbed_cells_do_not_prevent_pairing_by_cpu_number() {
    let Some([a, b]) = planted(["1950x-a.csv", "1950x-b.csv"]) else { return };
    for (a, b) in [(&a, &b), (&b, &a)] {
        let (alignment, levels, _) = held(a, b);
        assert_eq!((alignment.pairing(), levels.len()), (&Pairing::Pairs, 3));
        assert!(none_differs(&levels), "{levels:?}");
        let dataset = compared(a, b, &alignment);
        let level = dataset.levels.iter().position(|level| level.level == "group-1").unwrap();
        let departing = dataset.cells.iter().filter(|cell| cell.level == level && cell.departs);
        let expected = [[0, 16], [8, 24]].map(|[a, b]| ReadingKey::unordered(CpuId(a), CpuId(b)));
        assert_eq!(departing.map(|cell| cell.key.clone()).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn levels_of_published_machines_that_only_look_alike_are_not_compared() {
    let Some(folder) = data("the published matrices") else { return };
    for (a, b, level) in [
        // SMT siblings against cores of a cluster.
        ("amd-ryzen7-5800u/gmelikov.csv", "nxp-lx2160a/kassane.csv", "across"),
        ("intel-core-i3-2120t/jcurl-cas.txt", "intel-core2quad-q9550/yowanvista.csv", "group-1"),
        // Caches of a package against packages.
        ("amd-ryzen9-5950x/nephyrin.csv", "intel-xeon-e5-2690-dual/nviennot.csv", "group-2"),
        ("amd-ryzen7-2700x/demindiro.csv", "intel-xeon-e5-2690-dual/nviennot.csv", "group-2"),
        // Dies against packages.
        ("hisilicon-kunpeng-920-6426/concyclics.csv", "intel-xeon-8358-dual/leavelet.csv", "group-1"),
    ] {
        let (left, right) = (side(&folder, a), side(&folder, b));
        for (left, right) in [(&left, &right), (&right, &left)] {
            let (alignment, levels, _) = held(left, right);
            let doubts = doubtful_levels(&alignment);
            assert_eq!(doubts.first(), Some(&level), "{a} {b}");
            assert!(levels.iter().all(|(name, _)| !doubts.contains(&name.as_str())), "{a} {b}: {levels:?}");
        }
    }
}

#[test]
fn no_column_of_published_matrices_mixes_meanings() {
    let Some(folder) = data("the published matrices") else { return };
    let (names, sides): (Vec<String>, Vec<Side>) = matrix_files(&folder)
        .iter()
        .filter_map(|path| {
            let matrices = read_matrices(&fs::read(path).ok()?).ok()?;
            Some((path.to_string_lossy().into_owned(), of_import(&matrices)))
        })
        .unzip();
    assert!(sides.len() > 50, "{} matrices", sides.len());
    let columns = columns_of(&sides);
    let mut shared = 0;
    for (column, rows) in columns.iter().filter(|(column, _)| column.contains("-kind-")) {
        let medians = rows.iter().map(|(_, median)| *median);
        let (least, most) =
            medians.fold((f64::MAX, 0.0_f64), |(least, most), ns| (least.min(ns), most.max(ns)));
        let machines: Vec<&String> = rows.iter().map(|(side, _)| &names[*side]).collect();
        assert!(most <= 4.0 / 3.0 * least, "{column}: {least} to {most}: {machines:?}");
        shared += usize::from(rows.len() > 1);
    }
    assert!(shared > 3, "{shared} columns are shared");
    let position = |machine: &str| names.iter().position(|name| name.contains(machine)).unwrap();
    let together = |left: &str, right: &str| {
        let (left, right) = (position(left), position(right));
        let contains = |rows: &[(usize, f64)], side: usize| rows.iter().any(|(known, _)| *known == side);
        columns.values().any(|rows| contains(rows, left) && contains(rows, right))
    };
    assert!(together("ryzen9-5950x", "ryzen9-5900x/"), "{columns:?}");
    // SMT siblings against clusters of two cores at 60 ns; dies against packages.
    assert!(!together("ryzen9-5950x", "nxp-lx2160a") && !together("i9-12900k", "core2quad"), "{columns:?}");
}
