//! Tables of many published matrices, where the data are present.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use coretalk_model::compare::of_import::of_import;
use coretalk_model::compare::{Levels, Side, overview};
use coretalk_model::formats::read_matrices;
use std::collections::BTreeMap;

/// What stands in each column of a table of some sides: their positions, and the medians of latencies.
fn columns_of(sides: &[Side]) -> BTreeMap<String, Vec<(usize, f64)>> {
    let with_levels: Vec<(&Side, Levels)> = sides.iter().map(|side| (side, Levels::of(side))).collect();
    let table = overview(&with_levels);
    let mut columns: BTreeMap<String, Vec<(usize, f64)>> = BTreeMap::new();
    for row in &table.rows {
        for (name, group) in table.groups.iter().zip(&row.medians) {
            if let Some(group) = group {
                columns.entry(name.clone()).or_default().push((row.side, group.median));
            }
        }
    }
    columns
}

#[test]
fn no_column_of_published_matrices_mixes_meanings() {
    let root = format!("{}/../../../shared/data/latency-matrices", env!("CARGO_MANIFEST_DIR"));
    let Ok(machines) = std::fs::read_dir(&root) else {
        println!("skipped: {root} is not there");
        return;
    };
    let mut paths: Vec<std::path::PathBuf> = machines
        .filter_map(|machine| Some(std::fs::read_dir(machine.ok()?.path()).ok()?.flatten()))
        .flatten()
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    let (names, sides): (Vec<String>, Vec<Side>) = paths
        .iter()
        .filter_map(|path| {
            let matrices = read_matrices(&std::fs::read(path).ok()?).ok()?;
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
        let who: Vec<&String> = rows.iter().map(|(side, _)| &names[*side]).collect();
        assert!(most <= 4.0 / 3.0 * least, "{column}: {least} to {most}: {who:?}");
        shared += usize::from(rows.len() > 1);
    }
    assert!(shared > 3, "{shared} columns are shared");
    let position = |machine: &str| names.iter().position(|name| name.contains(machine)).unwrap();
    let together = |left: &str, right: &str| {
        let (left, right) = (position(left), position(right));
        let holds = |rows: &[(usize, f64)], side: usize| rows.iter().any(|(known, _)| *known == side);
        columns.values().any(|rows| holds(rows, left) && holds(rows, right))
    };
    assert!(together("ryzen9-5950x", "ryzen9-5900x/"), "{columns:?}");
    // Threads of cores, and clusters of two cores at 60 ns; dies, and packages.
    assert!(!together("ryzen9-5950x", "nxp-lx2160a") && !together("i9-12900k", "core2quad"), "{columns:?}");
}
