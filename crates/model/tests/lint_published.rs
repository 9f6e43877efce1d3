//! What `lint` says of the published matrices, held against what is known of them, where the data are present.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use coretalk_model::formats::read_matrices;
use coretalk_model::infer::{Observation, Shape, infer};
use coretalk_model::lint::{Doubt, Kind, lint};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What is known of files that are not clean: the words of the index of the data, or where it is silent what the
/// numbers themselves show beyond doubt (marked so).
const KNOWN: &[(&str, &[Kind])] = &[
    ("amd-epyc-7601-dual", &[Kind::TaintedHome, Kind::FirstCpu]),
    ("amd-epyc-7702-dual", &[Kind::TaintedHome]),
    ("amd-epyc-7r13-dual", &[Kind::TaintedHome]),
    ("amd-epyc-9454-dual", &[Kind::TaintedHome]),
    ("amd-epyc-9754-dual", &[Kind::TaintedHome]),
    ("amd-tr-1950x", &[Kind::TaintedHome]),
    ("amd-tr-3945wx", &[Kind::TaintedHome]),
    ("amd-tr-3990x", &[Kind::TaintedHome]),
    ("amd-ryzen5-2600", &[Kind::ClockComb]),
    ("amd-ryzen9-7950x", &[Kind::ClockComb]),
    ("intel-xeon-e5-2698v3-dual-windows", &[Kind::ClockComb, Kind::FirstCpu]),
    ("ibm-power9-8335gth-dual", &[Kind::Impossible, Kind::ClockComb]),
    ("intel-core2quad-q9550", &[Kind::Impossible]),
    ("amd-ryzen5-5500", &[Kind::Unpinned]),
    ("apple-m1-air-unpinned", &[Kind::Unpinned]),
    ("nviennot-readme-10cpu", &[Kind::Unpinned]),
    ("intel-core-i5-1135g7", &[Kind::OddCpu]),
    ("intel-core-i7-12700k-8p", &[Kind::OddCpu]),
    // By the numbers: 120 cells on seven values 6.67 ns apart.
    ("nxp-lx2160a", &[Kind::ClockComb]),
    // By the numbers: CPU 0 and its sibling 12.2 against 8.2 ns, and 13 against 7.4.
    ("intel-xeon-e5-2630v4-dual", &[Kind::FirstCpu]),
    ("intel-xeon-gold-6242-dual", &[Kind::FirstCpu]),
];

/// Files with both directions, in which small differences are real whether anybody named them or not.
fn is_directed(file: &Path) -> bool {
    let matrices = read_matrices(&fs::read(file).unwrap()).unwrap();
    !matrices[0].matrix.is_symmetric()
}

/// The data, where they are present.
fn data() -> Option<PathBuf> {
    let default = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let data = std::env::var_os("CORETALK_TEST_DATA").map_or_else(default, PathBuf::from);
    if !data.is_dir() {
        println!("skipped: no test data in {} (CORETALK_TEST_DATA names another folder)", data.display());
        return None;
    }
    Some(data)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let listed = |folder: &Path| -> Vec<PathBuf> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let mut files: Vec<PathBuf> =
        listed(&folder.join("latency-matrices")).iter().flat_map(|folder| listed(folder)).collect();
    files.sort();
    files
}

#[test]
fn doubts_about_published_matrices_are_those_that_are_known() {
    let Some(data) = data() else { return };
    println!("\n{:36} {:5} {:34} missed / beyond", "file", "known", "found");
    let (mut clean, mut wrong) = (0, Vec::new());
    for file in files(&data) {
        let name = file.parent().and_then(Path::file_name).unwrap().to_str().unwrap().to_owned();
        let found: BTreeSet<Kind> = read_matrices(&fs::read(&file).unwrap())
            .unwrap()
            .iter()
            .flat_map(|matrix| lint(matrix).into_iter().map(|doubt| doubt.kind()))
            .collect();
        let known = KNOWN.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, kinds)| kinds);
        let known: BTreeSet<Kind> = known.iter().copied().collect();
        let directed = is_directed(&file);
        // Which pairs fit is the inference's to say: `what_is_doubted_is_what_is_inferred`.
        let beyond: Vec<&Kind> = found
            .difference(&known)
            .filter(|kind| **kind != Kind::Unfit && !(directed && **kind == Kind::Asymmetry))
            .collect();
        let missed: Vec<&Kind> = known.difference(&found).collect();
        let words =
            |kinds: &BTreeSet<Kind>| kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
        println!("{name:36} {:5} {:34} {missed:?} / {beyond:?}", known.len(), words(&found));
        clean += usize::from(known.is_empty() && beyond.is_empty());
        if !missed.is_empty() || !beyond.is_empty() {
            wrong.push(format!("{name}: missed {missed:?}, beyond {beyond:?}"));
        }
    }
    println!("{clean} clean files without any doubt");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_is_doubted_and_what_is_inferred_do_not_contradict_each_other() {
    let Some(data) = data() else { return };
    let mut wrong = Vec::new();
    for file in files(&data) {
        for imported in read_matrices(&fs::read(&file).unwrap()).unwrap() {
            let Ok(structure) = infer(&imported.matrix.map(|cell| cell.map(Observation::bare))) else {
                continue;
            };
            let unpinned = lint(&imported).iter().any(|doubt| doubt.kind() == Kind::Unpinned);
            if unpinned && !structure.levels.is_empty() {
                wrong.push(format!("{}: not pinned, and groups", file.display()));
            }
            let unlike = structure.unfit().count();
            let pairs = imported.matrix.len() * (imported.matrix.len() - 1) / 2;
            if matches!(structure.shape, Shape::Uniform { .. }) && unlike * 10 > pairs {
                wrong.push(format!("{}: all pairs alike, and {unlike} of {pairs} unlike", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_is_doubted_is_what_is_inferred() {
    let Some(data) = data() else { return };
    for file in files(&data) {
        for imported in read_matrices(&fs::read(&file).unwrap()).unwrap() {
            let Ok(structure) = infer(&imported.matrix.map(|cell| cell.map(Observation::bare))) else {
                continue;
            };
            let inferred: Vec<_> = structure.unfit().map(|suspect| suspect.pair).collect();
            let doubts = lint(&imported);
            let unfit = doubts.iter().find(|doubt| doubt.kind() == Kind::Unfit);
            assert_eq!(unfit.map_or_else(Vec::new, Doubt::pairs), inferred, "{}", file.display());
            for doubt in &doubts {
                if let (Doubt::Unpinned { spread, .. }, Some(scatter)) = (doubt, structure.scatter()) {
                    assert!((spread - scatter).abs() < 1e-12, "{}: {spread} {scatter}", file.display());
                }
            }
        }
    }
}
