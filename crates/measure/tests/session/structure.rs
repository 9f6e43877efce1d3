//! That cells which fit no group are measured again, where nothing is reported that they could fit.

use crate::vocabulary::{run, toml};
use coretalk_model::CpuSet;
use coretalk_model::infer::{infer, observations};

/// The same machines with every CPU told to be like every other.
fn groups_found(scenario: &str, bad_share: f64, seed: u64) -> Vec<Vec<CpuSet>> {
    let text = format!("based_on = '{scenario}'\nreported = 'nothing'\n[noise]\nbad_share = {bad_share}");
    let run = run(toml(&text), seed, |_| ());
    let structure = infer(&observations(&run.result.maps[0])).unwrap();
    structure.levels.into_iter().map(|level| level.groups).collect()
}

#[test]
fn disturbed_cells_hide_no_group_although_nothing_is_reported() {
    for scenario in ["chiplet-16", "laptop-smt", "chiplet-16-smt"] {
        let truth = groups_found(scenario, 0.0, 1);
        assert!(!truth.is_empty(), "{scenario}");
        for seed in 0..8 {
            assert_eq!(groups_found(scenario, 0.1, seed), truth, "{scenario}, seed {seed}");
        }
    }
}
