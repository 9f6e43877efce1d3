//! Tables of many sides: what may share a column, of made-up machines and of published ones where the data are present.

use super::{dataset, file, side, threads_in, threes};

use coretalk_model::compare::of_import::of_import;
use coretalk_model::compare::{Levels, Side, overview};
use coretalk_model::formats::read_matrices;
use coretalk_model::{Domain, Level, Topology};
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

#[test]
fn columns_of_a_table_hold_what_is_alike() {
    let sides = [
        file(12, 1, |cpu| cpu, threes),
        file(24, 2, |cpu| cpu, threads_in(12)),
        file(16, 3, |cpu| cpu, |a, b| if a / 2 == b / 2 { 7.5 } else { 19.0 }),
        file(8, 4, |cpu| cpu, |_, _| 50.0),
    ];
    let tables: Vec<(&Side, Levels)> = sides.iter().map(|side| (side, Levels::of(side))).collect();
    let table = overview(&tables);
    // Nothing tells any two of these to be the same thing.
    let columns = "all groups-of-2-kind-2 groups-of-2-kind-3 larger-groups-1-kind-1 larger-groups-1-kind-2";
    let columns = format!("{columns} across-kind-1 across-kind-2 across-kind-3");
    assert_eq!(table.groups.join(" "), columns);
    let shown: Vec<Vec<String>> = table
        .rows
        .iter()
        .map(|row| {
            row.medians.iter().map(|group| group.as_ref().map_or("–".into(), |group| group.level.clone()))
        })
        .map(Iterator::collect)
        .collect();
    assert_eq!(shown[0], ["–", "–", "–", "group-1", "–", "across", "–", "–"]);
    assert_eq!(shown[1], ["–", "group-1", "–", "–", "group-2", "–", "across", "–"]);
    assert_eq!(shown[2], ["–", "–", "group-1", "–", "–", "–", "–", "across"]);
    assert_eq!(shown[3], ["all", "–", "–", "–", "–", "–", "–", "–"]);
    assert_eq!(table.rows[0].medians[3].as_ref().unwrap().sizes, [3; 4]);
}

#[test]
fn machines_of_one_kind_share_columns_where_their_times_are_plausible() {
    // Clusters of two cores lie like cores of two threads, and take eight times as long.
    let clusters = |a: u32, b: u32| 8.0 * threads_in(12)(a, b);
    let sides = [
        file(24, 1, |cpu| cpu, threads_in(12)),
        file(32, 2, |cpu| cpu, threads_in(16)),
        file(24, 3, |cpu| cpu, clusters),
    ];
    let columns = columns_of(&sides);
    let of = |name: &str| -> Vec<usize> { columns[name].iter().map(|(side, _)| *side).collect() };
    for level in ["groups-of-2", "larger-groups-1", "across"] {
        assert_eq!(of(&format!("{level}-kind-1")), [0, 1], "{columns:?}");
        assert_eq!(of(&format!("{level}-kind-2")), [2], "{columns:?}");
    }
    // Of one kind alone there is nothing to tell apart.
    let names: Vec<String> = columns_of(&sides[..2]).into_keys().collect();
    assert_eq!(names, ["across", "groups-of-2", "larger-groups-1"]);
}

#[test]
fn relations_share_a_column_where_both_reports_mean_the_same() {
    let domain = |level: Level, list: &str| Domain { level, cpus: list.parse().unwrap(), os_id: None };
    let all: coretalk_model::CpuSet = "0-15".parse().unwrap();
    let package = |list: &str| domain(Level::Package, list);
    let caches = vec![domain(Level::L3, "0-7"), domain(Level::L3, "8-15")];
    let packages = vec![package("0-7"), package("8-15")];
    let of = |domains: Vec<Domain>| Side {
        topology: Some(Topology::new(all.clone(), domains, BTreeMap::new())),
        ..side(dataset(1, |_, _| 1.0))
    };
    // Pairs of the whole machine leave an L3 in one; in the next nobody says who shares one.
    let columns = columns_of(&[of(caches.clone()), of(packages), of(caches)]);
    let of =
        |name: &str| columns.get(name).map(|rows| rows.iter().map(|(side, _)| *side).collect::<Vec<_>>());
    assert_eq!(of("l3"), Some(vec![0, 2]), "{columns:?}");
    assert_eq!(of("machine-kind-1"), Some(vec![0, 2]), "{columns:?}");
    assert_eq!(of("machine-kind-2"), Some(vec![1]), "{columns:?}");
}
