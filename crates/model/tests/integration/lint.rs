//! Artificial matrices with one defect each, which must be found with its cells; clean matrices without findings; and,
//! if the data is present, findings in published matrices compared with the known defects of these matrices.

use super::{data, matrix_files};
use coretalk_model::formats::{ImportedMatrix, Unit, read_matrices, write_c2c_csv, write_csv};
use coretalk_model::infer::{
    Observation, Structure, Suspect, SuspectReason, ValueShape, infer, infer_of_step,
};
use coretalk_model::lint::{Kind, LintFinding, lint, step_of};
use coretalk_model::stats::Key;
use coretalk_model::{CpuId, Matrix};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn file(n: u32, ns: impl Fn(u32, u32) -> f64) -> ImportedMatrix {
    sparse(n, |a, b| Some(ns(a, b)))
}

fn sparse(n: u32, ns: impl Fn(u32, u32) -> Option<f64>) -> ImportedMatrix {
    let cpus = (0..n).map(CpuId).collect();
    let matrix = Matrix::symmetric(cpus, |row, column| ns(row as u32, column as u32));
    read_matrices(write_c2c_csv(&matrix).as_bytes()).unwrap().remove(0)
}

fn directed(n: u32, ns: impl Fn(u32, u32) -> f64) -> ImportedMatrix {
    let cpus = (0..n).map(CpuId).collect();
    let matrix = Matrix::directed(cpus, |row, column| (row != column).then(|| ns(row as u32, column as u32)));
    let text = write_csv::<&str, &str>(&matrix, Unit::Ns, &[]);
    read_matrices(text.as_bytes()).unwrap().remove(0)
}

fn inferred(matrix: &ImportedMatrix) -> Structure {
    infer(matrix.matrix.map(|cell| cell.map(Observation::bare))).unwrap()
}

fn noise(seed: u64, a: u32, b: u32) -> f64 {
    1.0 + 0.01 * Key::from_words(&[seed, u64::from(a)]).normal(u64::from(b))
}

/// Two sockets of two clusters of four cores with two threads each, siblings i and i + 16.
fn server(a: u32, b: u32) -> f64 {
    let nested = [(1, 8.0), (4, 24.0), (8, 105.0)];
    let shared = nested.iter().find(|(cores, _)| a % 16 / cores == b % 16 / cores);
    shared.map_or(200.0, |(_, ns)| *ns) * noise(1, a, b)
}

fn kinds(matrix: &ImportedMatrix) -> Vec<Kind> {
    lint(matrix).iter().map(LintFinding::kind).collect()
}

#[test]
fn machines_of_many_kinds_are_clean() {
    let flat = |a, b| 40.0 * noise(2, a, b);
    let mesh = |a: u32, b: u32| {
        let apart = (a % 6).abs_diff(b % 6) + (a / 6).abs_diff(b / 6);
        (30.0 + 3.0 * f64::from(apart)) * noise(3, a, b)
    };
    let hybrid = |a: u32, b: u32| {
        let fast = |cpu: u32| cpu < 16;
        let level = match (fast(a), fast(b)) {
            (true, true) if a / 2 == b / 2 => 5.0,
            (true, true) => 34.0,
            (false, false) => 50.0,
            _ => 44.0,
        };
        level * noise(4, a, b)
    };
    // Two cores of one kind and six of another; and levels at equal distances.
    let clusters = |a: u32, b: u32| if (a < 2) == (b < 2) { 20.0 } else { 110.0 } * noise(9, a, b);
    let even = |a: u32, b: u32| {
        let shared = (0..3).find(|level| a >> (level + 1) == b >> (level + 1)).unwrap_or(3);
        20.0 * f64::from(shared + 1) * noise(10, a, b)
    };
    for (name, matrix) in [
        ("two clusters", file(8, clusters)),
        ("even levels", file(16, even)),
        ("server", file(32, server)),
        ("flat", file(16, flat)),
        ("mesh", file(36, mesh)),
        ("hybrid", file(32, hybrid)),
        ("two CPUs", file(2, flat)),
        ("three CPUs", file(3, flat)),
    ] {
        assert_eq!(lint(&matrix), [], "{name}");
    }
}

/// Findings other than `Unfit`: a pair with another defect may not fit its group either, and `topology` reports that.
fn doubts_of(matrix: &ImportedMatrix) -> Vec<LintFinding> {
    lint(matrix).into_iter().filter(|doubt| !matches!(doubt, LintFinding::Unfit { .. })).collect()
}

#[test]
fn impossible_and_missing_cells_are_named() {
    let matrix = file(32, |a, b| match (a, b) {
        (5, 2) => 0.0,
        (7, 3) => 0.4,
        (9, 1) => 1e9,
        _ => server(a, b),
    });
    let doubts = doubts_of(&matrix);
    let pair = |a, b| vec![[CpuId(a), CpuId(b)]];
    assert_eq!(doubts[0], LintFinding::Zero { cells: pair(2, 5) });
    assert!(matches!(&doubts[1], LintFinding::TooFast { cells, .. } if *cells == pair(3, 7)), "{doubts:?}");
    assert!(matches!(&doubts[2], LintFinding::TooSlow { cells, .. } if *cells == pair(1, 9)), "{doubts:?}");
    assert_eq!(doubts.len(), 3, "{doubts:?}");
    let holes = sparse(4, |row, _| (row != 2).then_some(40.0));
    assert!(matches!(&doubts_of(&holes)[..], [LintFinding::Missing { cells, of: 6 }] if cells.len() == 2));
}

/// The step of a clock comb, which must be the only finding.
fn clock_step(matrix: &ImportedMatrix) -> f64 {
    let doubts = doubts_of(matrix);
    let [LintFinding::ClockComb { step, .. }] = doubts[..] else { panic!("{doubts:?}") };
    step
}

fn copied(matrix: &ImportedMatrix) -> (Vec<[CpuId; 2]>, Vec<[CpuId; 2]>) {
    let doubts = lint(matrix);
    let copied = doubts.iter().find(|doubt| doubt.kind() == Kind::Copied);
    let Some(LintFinding::Copied { cells, of }) = copied else { panic!("{doubts:?}") };
    (cells.clone(), of.clone())
}

#[test]
fn a_coarse_clock_leaves_a_comb() {
    let matrix = file(32, |a, b| (server(a, b) / 5.2).round() * 5.2);
    assert!((clock_step(&matrix) - 5.2).abs() < 0.1);
}

#[test]
fn few_distinct_values_are_a_clock_comb_and_one_disturbed_cell_is_not() {
    let coarse = |a: u32, b: u32| {
        if a == b + 8 {
            10.4
        } else {
            [15.6, 20.8][Key::from_words(&[13, u64::from(a)]).below(u64::from(b), 2) as usize]
        }
    };
    assert!((clock_step(&file(16, coarse)) - 5.2).abs() < 1e-9);
    let disturbed = file(24, |a, b| match (a, b) {
        (23, 1) => 850.0,
        _ if a == b + 12 => 7.5 * noise(11, a, b),
        _ if a % 12 / 3 == b % 12 / 3 => 35.0 * noise(11, a, b),
        _ => 85.0 * noise(11, a, b),
    });
    assert_eq!(doubts_of(&disturbed), []);
}

#[test]
fn evenly_spaced_levels_and_a_slow_cpu_are_not_a_clock_comb() {
    for slow in [|ns: f64| ns + 20.0, |ns| ns + 70.0, |ns| 3.0 * ns, |_| 90.0] {
        for across in [30.0, 40.0, 60.0] {
            let clean = |a: u32, b: u32| if a / 4 == b / 4 { 20.0 } else { across };
            let odd = |a: u32, b: u32| if a == 5 || b == 5 { slow(clean(a, b)) } else { clean(a, b) };
            let found = kinds(&file(12, |a, b| odd(a, b) * noise(5, a, b)));
            assert!(!found.contains(&Kind::ClockComb), "{across} {}: {found:?}", slow(20.0));
        }
    }
}

#[test]
fn one_step_of_a_coarse_clock_is_not_a_level() {
    // Neighbours are 10 % nearer, which the clock shows as one step or none.
    let coarse = file(16, |a, b| {
        let level = if a / 2 == b / 2 { 15.6 } else { 20.8 };
        level + 5.2 * f64::from(u32::from((a * 7 + b * 3) % 11 == 0))
    });
    let observed = coarse.matrix.map(|cell| cell.map(Observation::bare));
    assert_eq!(infer(&observed).unwrap().levels.len(), 1);
    let stepped = infer_of_step(&observed, 5.2).unwrap();
    assert_eq!(stepped.levels, [], "{:?}", stepped.shape);
    // At half the step size, the difference is two steps, so the level is kept.
    assert_eq!(infer_of_step(&observed, 2.6).unwrap().levels.len(), 1);
}

#[test]
fn copied_columns_and_blocks_are_named() {
    let as_3 = |cpu: u32, other: u32| if cpu == 5 && other != 3 { 3 } else { cpu };
    let column = file(16, |a, b| server(as_3(a, b).max(as_3(b, a)), as_3(a, b).min(as_3(b, a))));
    let (cells, originals) = copied(&column);
    assert!(cells.len() == 14 && cells.iter().all(|pair| pair.contains(&CpuId(5))), "{cells:?}");
    assert!(originals.iter().all(|pair| pair.contains(&CpuId(3))), "{originals:?}");
    let block = file(16, |a, b| {
        let copied = if a >= 8 && b >= 8 { 8 } else { 0 };
        100.0 * noise(12, a - copied, b - copied)
    });
    let doubts = lint(&block);
    let [LintFinding::Copied { cells, .. }] = &doubts[..] else { panic!("{doubts:?}") };
    assert!(cells.len() == 28 && cells.iter().flatten().all(|cpu| cpu.0 >= 8), "{cells:?}");
}

#[test]
fn a_copy_in_one_direction_of_a_file_with_both_is_named() {
    let measured = |row: u32, column: u32| server(row.max(column), row.min(column)) * noise(15, row, column);
    assert_eq!(kinds(&directed(16, measured)), []);
    // Row 5 copies row 3, but column 5 does not copy column 3.
    let (cells, originals) = copied(&directed(16, |row, column| {
        if row == 5 && column != 3 { measured(3, column) } else { measured(row, column) }
    }));
    assert_eq!(cells.len(), 14);
    let mut both = cells.iter().zip(&originals);
    let is_copy = |a: &[CpuId; 2], b: &[CpuId; 2]| a.contains(&CpuId(5)) && b.contains(&CpuId(3));
    assert!(both.all(|(cell, of)| is_copy(cell, of) || is_copy(of, cell)), "{cells:?} {originals:?}");
}

#[test]
fn fast_cells_of_a_published_machine_hide_no_level_and_are_listed() {
    let Some(data) = data("the planted fast cells") else { return };
    let folder = data.join("../faults/files");
    if !folder.exists() {
        println!("skipped: the planted fast cells are absent");
        return;
    }
    for (name, levels) in [
        ("23.csv", &[(12, 2), (2, 12)][..]),
        ("8358-16fast-0.csv", &[(2, 32)]),
        ("8358-16fast-3.csv", &[(2, 32)]),
    ] {
        let imported = read_matrices(&fs::read(folder.join(name)).unwrap()).unwrap().remove(0);
        let structure = inferred(&imported);
        let found = structure.levels.iter().map(|level| (level.groups.len(), level.groups[0].len()));
        assert_eq!(found.collect::<Vec<_>>(), levels, "{name}");
        let doubts = lint(&imported);
        let unfit = doubts.iter().find(|doubt| doubt.kind() == Kind::Unfit);
        assert_eq!(unfit.map(|doubt| doubt.pairs().len()), Some(16), "{name}: {doubts:?}");
        assert!(structure.unfit().all(|suspect| suspect.ratio.is_some_and(|ratio| ratio < 0.55)), "{name}");
    }
}

#[test]
fn single_clock_steps_in_published_files_are_not_findings() {
    let Some(data) = data("the coarse files") else { return };
    for name in ["81.csv", "110.csv"] {
        let Ok(bytes) = fs::read(data.join("../faults/files").join(name)) else {
            println!("skipped: the coarse files are absent");
            return;
        };
        let imported = read_matrices(&bytes).unwrap().remove(0);
        assert_eq!(kinds(&imported), [Kind::ClockComb], "{name}");
    }
}

#[test]
fn pairs_that_contradict_each_other_are_doubtful() {
    // SMT siblings of four cores, with near pairs from the first core to the second and from there to the third.
    let chained = |a: u32, b: u32| {
        let is_near = a / 2 == b / 2 || (b, a) == (0, 2) || (b, a) == (3, 4);
        noise(14, a, b) * if is_near { 20.0 } else { 60.0 }
    };
    let doubts = lint(&file(8, chained));
    assert!(doubts.contains(&LintFinding::Contradictory { pairs: 3 }), "{doubts:?}");
}

#[test]
fn a_line_homed_in_one_socket_taints_the_other() {
    let tainted = |a: u32, b: u32| {
        let is_second = |cpu: u32| cpu % 16 >= 8;
        let is_same_cluster = (a % 16) / 4 == (b % 16) / 4;
        let is_tainted = is_second(a) && is_second(b) && !is_same_cluster;
        if is_tainted { 200.0 * noise(5, a, b) } else { server(a, b) }
    };
    let doubts = lint(&file(32, tainted));
    let [LintFinding::TaintedHome { clean, tainted, far }] = &doubts[..] else { panic!("{doubts:?}") };
    assert_eq!((clean.to_string().as_str(), tainted.to_string().as_str()), ("0-7,16-23", "8-15,24-31"));
    assert!((far[0] - 105.0).abs() < 5.0 && (far[1] - 200.0).abs() < 8.0 && (far[2] - 200.0).abs() < 5.0);
}

#[test]
fn different_directions_are_found_and_rounding_is_not() {
    let single = doubts_of(&directed(8, |row, column| if (row, column) == (2, 6) { 90.0 } else { 40.0 }));
    let [LintFinding::Asymmetry { cells, .. }] = &single[..] else { panic!("{single:?}") };
    assert_eq!(cells[..], [[CpuId(2), CpuId(6)]]);
    let halves = directed(8, |row, column| if row < column { 120.0 } else { 40.0 });
    assert_eq!(kinds(&halves), [Kind::Asymmetry]);
    let whole = directed(8, |row, column| 40.0 + f64::from((row * 3 + column) % 2));
    assert_eq!(kinds(&whole), []);
}

#[test]
fn unpinned_threads_show_no_structure() {
    // The core of each thread is drawn again for every pair.
    let wandering = |a: u32, b: u32| {
        let key = Key::from_words(&[6, u64::from(a)]);
        let [x, y] = [1, 2].map(|which| key.with(which).below(u64::from(b), 6));
        let level = if x == y { 11.0 } else { 19.0 + 2.0 * key.uniform(u64::from(b)) };
        level * noise(7, a, b)
    };
    let doubts = lint(&file(12, wandering));
    let is_open =
        |doubt: &LintFinding| matches!(doubt, LintFinding::Unpinned { open, .. } if !open.is_empty());
    assert!(doubts.iter().any(is_open), "{doubts:?}");
}

#[test]
fn threads_of_visible_groups_are_not_reported_as_unpinned() {
    // Siblings at 7 ns among cells that scatter so much that most fast ones fit no group.
    let siblings = file(16, |a, b| if a == b + 8 { 7.0 } else { 30.0 * noise(40, a, b).powi(25) });
    assert_eq!(inferred(&siblings).levels[0].groups.len(), 8);
    assert!(!kinds(&siblings).contains(&Kind::Unpinned));
}

#[test]
fn pairs_reported_as_uniform_have_few_outliers() {
    for share in [0.0, 0.03, 0.08, 0.15, 0.3] {
        let slow = |a: u32, b: u32| Key::from_words(&[41, u64::from(a)]).uniform(u64::from(b)) < share;
        let cells = file(40, |a, b| if slow(a, b) { 60.0 } else { 40.0 } * noise(42, a, b));
        let structure = inferred(&cells);
        let is_unlike = |suspect: &&Suspect| suspect.doubt == SuspectReason::Outlier;
        let unlike = structure.suspects.iter().filter(is_unlike).count();
        match structure.shape {
            ValueShape::Uniform { .. } => assert!(unlike * 10 <= 780, "{share}: {unlike} of 780"),
            _ => assert!(share > 0.05, "{share}: {:?}", structure.shape),
        }
    }
}

#[test]
fn the_first_cpu_and_a_disturbed_cpu_are_found() {
    let doubts = doubts_of(&file(32, |a, b| if (b, a) == (0, 16) { 20.0 } else { server(a, b) }));
    let [LintFinding::FirstCpu { pair, .. }] = doubts[..] else { panic!("{doubts:?}") };
    assert_eq!(pair, [CpuId(0), CpuId(16)]);
    let disturbed = |a: u32, b: u32| if a == 6 || b == 6 { 300.0 } else { 110.0 * noise(8, a, b) };
    let doubts = doubts_of(&file(8, disturbed));
    let [LintFinding::OddCpu { cpus, .. }] = &doubts[..] else { panic!("{doubts:?}") };
    assert_eq!(cpus.to_string(), "6");
}

#[test]
fn one_cell_does_not_make_a_cpu_odd() {
    // A cluster of two and one of six, with one cell missing or disturbed.
    let cell = |a: u32, b: u32| if (a < 2) == (b < 2) { 20.0 } else { 110.0 } * noise(9, a, b);
    for at in [(1, 0), (2, 0), (7, 2), (5, 4)] {
        for ns in [None, Some(7.0), Some(60.0)] {
            let imported = sparse(8, |a, b| if (a, b) == at { ns } else { Some(cell(a, b)) });
            assert!(!kinds(&imported).contains(&Kind::OddCpu), "{at:?} {ns:?}");
        }
    }
    // Groups of five and four: a single cell decides whether the median of a row is a near or a far pair.
    let halves = file(9, |a, b| match (a, b) {
        (4, 3) => 60.0,
        _ if (a < 5) == (b < 5) => 20.0,
        _ => 60.0,
    });
    assert!(!kinds(&halves).contains(&Kind::OddCpu), "{:?}", lint(&halves));
}

/// Files with known defects, stated in the index of the data or evident from the numbers (marked so).
const KNOWN: &[(&str, &[Kind])] = &[
    ("amd-epyc-7601-dual", &[Kind::TaintedHome, Kind::FirstCpu]),
    ("amd-epyc-7702-dual amd-epyc-7r13-dual amd-epyc-9454-dual amd-epyc-9754-dual", &[Kind::TaintedHome]),
    ("amd-tr-1950x amd-tr-3945wx amd-tr-3990x", &[Kind::TaintedHome]),
    ("amd-ryzen5-2600 amd-ryzen9-7950x", &[Kind::ClockComb]),
    ("intel-xeon-e5-2698v3-dual-windows", &[Kind::ClockComb, Kind::FirstCpu]),
    ("ibm-power9-8335gth-dual", &[Kind::Impossible, Kind::ClockComb]),
    ("intel-core2quad-q9550", &[Kind::Impossible]),
    ("amd-ryzen5-5500 apple-m1-air-unpinned nviennot-readme-10cpu", &[Kind::Unpinned]),
    ("intel-core-i5-1135g7 intel-core-i7-12700k-8p", &[Kind::OddCpu]),
    // Evident from the numbers: 120 cells have seven values, 6.67 ns apart.
    ("nxp-lx2160a", &[Kind::ClockComb]),
    // Evident from the numbers: CPU 0 and its sibling have 12.2 instead of 8.2 ns, and 13 instead of 7.4.
    ("intel-xeon-e5-2630v4-dual intel-xeon-gold-6242-dual", &[Kind::FirstCpu]),
];

#[test]
fn findings_in_published_matrices_are_the_known_defects() {
    let Some(data) = data("the published matrices") else { return };
    let (mut clean, mut wrong) = (0, Vec::new());
    for file in matrix_files(&data) {
        let name = file.parent().and_then(Path::file_name).unwrap().to_str().unwrap().to_owned();
        let matrices = read_matrices(&fs::read(&file).unwrap()).unwrap();
        let found: BTreeSet<Kind> = matrices.iter().flat_map(kinds).collect();
        let listed = KNOWN.iter().filter(|(names, _)| names.split(' ').any(|known| known == name));
        let known: BTreeSet<Kind> = listed.flat_map(|(_, kinds)| kinds.iter().copied()).collect();
        // With both directions, small differences are real even if the index does not mention them.
        let directed = !matrices[0].matrix.is_symmetric();
        // Unfit pairs are covered by `unfit_pairs_are_those_of_the_inference`.
        let unexpected: Vec<&Kind> = found
            .difference(&known)
            .filter(|kind| **kind != Kind::Unfit && !(directed && **kind == Kind::Asymmetry))
            .collect();
        let missed: Vec<&Kind> = known.difference(&found).collect();
        clean += usize::from(known.is_empty() && unexpected.is_empty());
        if !missed.is_empty() || !unexpected.is_empty() {
            wrong.push(format!("{name}: missed {missed:?}, unexpected {unexpected:?}"));
        }
    }
    println!("{clean} clean files without any doubt");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn unfit_pairs_are_those_of_the_inference() {
    let Some(data) = data("the published matrices") else { return };
    for file in matrix_files(&data) {
        let name = file.display();
        for imported in read_matrices(&fs::read(&file).unwrap()).unwrap() {
            let doubts = lint(&imported);
            let observed = imported.matrix.map(|cell| cell.map(Observation::bare));
            let Ok(structure) = infer_of_step(&observed, step_of(&doubts).unwrap_or(0.0)) else { continue };
            let inferred: Vec<_> = structure.unfit().map(|suspect| suspect.pair).collect();
            let unfit = doubts.iter().find(|doubt| doubt.kind() == Kind::Unfit);
            assert_eq!(unfit.map_or_else(Vec::new, LintFinding::pairs), inferred, "{name}");
            for doubt in &doubts {
                let LintFinding::Unpinned { spread, .. } = doubt else { continue };
                assert!(structure.levels.is_empty(), "{name}: not pinned, and groups");
                let scatter = structure.scatter().unwrap_or(*spread);
                assert!((spread - scatter).abs() < 1e-12, "{name}: {spread} {scatter}");
            }
            let pairs = imported.matrix.len() * (imported.matrix.len() - 1) / 2;
            let is_uniform = matches!(structure.shape, ValueShape::Uniform { .. });
            assert!(!is_uniform || inferred.len() * 10 <= pairs, "{name}: all pairs alike, and {inferred:?}");
        }
    }
}
