//! The published matrices with what is known of their machines.

use super::score::{TrueLevel, Truth};
use coretalk_model::formats::read_matrices;
use coretalk_model::infer::Observation;
use coretalk_model::{CpuId, CpuSet, Matrix};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

pub struct Published {
    pub name: String,
    pub observed: Matrix<Option<Observation>>,
    pub truth: Truth,
}

/// Every published matrix; `None` where the data is absent, which is said.
pub fn all(test: &str) -> Option<Vec<Published>> {
    let default = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("CORETALK_TEST_DATA").map_or_else(default, PathBuf::from);
    if !folder.is_dir() {
        println!(
            "skipped: {test}: no test data in {} (CORETALK_TEST_DATA names another folder)",
            folder.display()
        );
        return None;
    }
    let truth: Value = serde_json::from_slice(&fs::read(folder.join("ground-truth.json")).unwrap()).unwrap();
    let one = |(file, truth): (&String, &Value)| {
        let imported = read_matrices(&fs::read(folder.join(file)).unwrap()).unwrap().remove(0);
        let observed = imported.matrix.map(|cell| cell.map(Observation::bare));
        let truth = read_truth(truth, observed.cpus());
        Published { name: file.trim_start_matches("latency-matrices/").to_owned(), observed, truth }
    };
    Some(truth.as_object().unwrap().iter().map(one).collect())
}

/// Ground truth counts rows of the file, whatever its labels.
fn read_truth(value: &Value, cpus: &[CpuId]) -> Truth {
    let named = [
        ("smt_pairs", "smt"),
        ("smt_groups", "smt_groups"),
        ("clusters", "clusters"),
        ("nodes", "nodes"),
        ("sockets", "sockets"),
    ];
    let mut levels = Vec::new();
    for (name, signal) in named {
        let Some(groups) = value[name].as_array() else { continue };
        let group = |group: &Value| -> CpuSet {
            group.as_array().unwrap().iter().map(|row| cpus[row.as_u64().unwrap() as usize]).collect()
        };
        let mut groups: Vec<CpuSet> = groups.iter().map(group).collect();
        groups.retain(|group| group.len() > 1);
        // One group of everybody, or none of two, divides nothing.
        if groups.first().is_some_and(|first| first.len() < cpus.len()) {
            levels.push(TrueLevel { name, groups, clear: value["signal"][signal] == "clear" });
        }
    }
    let without_structure = value["signal"].as_object().is_none_or(|signal| signal.is_empty());
    Truth { levels, without_structure }
}
