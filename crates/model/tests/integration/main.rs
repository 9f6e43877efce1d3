//! Integration tests on artificial machines with known structure and on published data.
#![allow(clippy::unwrap_used, reason = "a failing helper fails its test")]

mod advise;
mod alignment;
mod compare;
mod lint;
mod matrix_formats;
mod place;
mod published;
mod versus;
mod written_matrices;

use coretalk_model::{Domain, Level, Topology};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn topology(cpus: &str, groups: &[(Level, &[&str])]) -> Topology {
    let domains = groups.iter().flat_map(|(level, lists)| {
        lists.iter().map(|list| Domain { level: *level, cpus: list.parse().unwrap(), os_id: None })
    });
    Topology::new(cpus.parse().unwrap(), domains.collect(), BTreeMap::new())
}

/// The folder of the shared data, which is not part of the project; `None`, with a message, if absent.
fn data(test: &str) -> Option<PathBuf> {
    let default = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("CORETALK_TEST_DATA").map_or_else(default, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    let folder = folder.display();
    println!("skipped: {test}: no test data in {folder} (CORETALK_TEST_DATA names another folder)");
    None
}

fn matrix_files(data: &Path) -> Vec<PathBuf> {
    let listed = |folder: &Path| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        listed(&data.join("latency-matrices")).flat_map(|folder| listed(&folder)).collect();
    files.sort();
    files
}
