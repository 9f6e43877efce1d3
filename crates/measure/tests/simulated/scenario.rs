//! Scenarios: valid files, rejected files, and names.

use crate::machine::{CAS, order, perform, round, trial};
use crate::vocabulary::{builtin, open, toml};
use coretalk_measure::{Machine, Sampling, Scenario, SpanOrder};
use coretalk_model::CpuId;
use proptest::prelude::*;

#[test]
fn every_builtin_survives_being_written_and_read() {
    for name in Scenario::names() {
        let scenario = builtin(name);
        assert_eq!(toml(&scenario.to_toml()), scenario, "{name}");
    }
}

#[test]
fn bad_scenarios_are_refused_with_line_key_and_reason() {
    let tree = "structure = { kind = 'tree', levels = [{ level = 'core', count = 4 }] }\n";
    let mesh = |size: &str| format!("structure = {{ kind = 'mesh', {size}, near_ns = 30, far_ns = 60 }}");
    for (text, words) in [
        ("".to_owned(), &["structure", "0 CPUs"][..]),
        ("name = 'x".to_owned(), &["line 1"]),
        ("\n[noise]\nbatch_ds = 0.1".to_owned(), &["line 3", "batch_ds", "batch_sd"]),
        ("based_on = 'cray-1'".to_owned(), &["cray-1", "chiplet-16"]),
        ("based_on = 'chiplet-16'\n[noise]\nbatch_sd = 7".to_owned(), &["line 3", "noise.batch_sd", "7", "0.2"]),
        ("based_on = 'chiplet-16'\n[noise]\nbatch_sd = nan".to_owned(), &["line 3", "noise.batch_sd", "NaN"]),
        ("based_on = 'chiplet-16'\n[latency_ns]\nl3 = -1".to_owned(), &["line 3", "latency_ns.l3", "-1"]),
        ("based_on = 'chiplet-16'\n[latency_ns]\nl3 = inf".to_owned(), &["line 3", "latency_ns.l3", "inf"]),
        ("based_on = 'chiplet-16'\n[latency_ns]\nl9 = 1".to_owned(), &["line 3", "l9"]),
        ("based_on = 'chiplet-16'\n[noise]\nspike_factor = [4, 1]".to_owned(), &["line 3", "lower bound"]),
        ("based_on = 'chiplet-16'\nhardware_seed = -1".to_owned(), &["line 2", "-1"]),
        ("based_on = 'chiplet-16'\nhardware_seed = 'x'".to_owned(), &["line 2", "string"]),
        ("based_on = 'chiplet-16'\n[failures]\nhang = '77'".to_owned(), &["line 3", "failures.hang", "77"]),
        ("based_on = 'chiplet-16'\n[failures]\nhang = '7-4'".to_owned(), &["line 3", "7-4"]),
        ("based_on = 'chiplet-16'\n[allowance]\ncpuset = ''".to_owned(), &["allowance.cpuset", "empty"]),
        ("based_on = 'noisy-vm'\nstates = []\n[[stalls]]\nname = 'x'\nper_second = 9000\nus = [1, 900]\nrhythm = 'random'\nseen_as = 'nothing'".to_owned(), &["stalls", "0.25"]),
        (tree.to_owned(), &["latency_ns.machine", "missing"]),
        (mesh("width = 65536, height = 65536"), &["4294967296 CPUs", "4096"]),
        (mesh("width = 1, height = 1"), &["1 CPUs"]),
        ("structure = { kind = 'hybrid', fast_cores = 1, modules = 4000000000, cores_per_module = 0, mixed_ns = 4 }".to_owned(), &["cores_per_module"]),
        ("structure = { kind = 'tree', levels = [{ level = 'l3', count = 4 }] }".to_owned(), &["structure.levels", "outside in"]),
        ("latency_ns = { l3 = 20 }\nstructure = { kind = 'tree', levels = [{ level = 'core', count = 2 }, { level = 'l3', count = 2 }], threads_per_core = 2 }".to_owned(), &["latency_ns.smt", "missing"]),
        ("latency_ns = { l3 = 20, node = 50 }\nstructure = { kind = 'groups', cpus = '0-3', groups = [{ level = 'l3', cpus = '0-1' }, { level = 'node', cpus = '1-3' }] }".to_owned(), &["latency_ns.machine", "missing"]),
        ("structure = { kind = 'groups', cpus = '0-3', groups = [{ level = 'l3', cpus = '2-5' }] }".to_owned(), &["structure.groups", "lists 4,5 in a l3", "0-3"]),
        ("structure = { kind = 'groups', cpus = '0-3', groups = [{ level = 'l3', cpus = '0-1' }, { level = 'node', cpus = '0-3' }, { level = 'l3', cpus = '1-3' }] }".to_owned(), &["structure.groups", "lists 1 in two groups of level l3"]),
        ("structure = { kind = 'matrix', cpus = [0, 0], half_round_trip_ns = [] }".to_owned(), &["twice"]),
        ("structure = { kind = 'matrix', cpus = [0, 1], half_round_trip_ns = [[1]] }".to_owned(), &["2 rows"]),
        ("structure = { kind = 'torus' }".to_owned(), &["line 1", "torus"]),
        ("based_on = 'noisy-vm'\n[[states]]\nname = 'a'\nweight = 1\ndwell_ms = 5".to_owned(), &["states", "one entry"]),
    ] {
        let error = Scenario::from_toml(&text).err().unwrap_or_else(|| panic!("accepted: {text}")).to_string();
        for word in words {
            assert!(error.contains(word), "`{error}` does not name `{word}`, for:\n{text}");
        }
        assert!(!error.contains('\n'), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_edit_of_a_scenario_makes_it_explode(at in 0usize..2000, inserted in "[-0-9.e'\\[\\]=,a-z]{1,4}") {
        let mut text = builtin("noisy-vm").to_toml();
        let at = (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap();
        text.insert_str(at, &inserted);
        if let Ok(scenario) = Scenario::from_toml(&text) {
            let mut machine = open(scenario, 1);
            let short = SpanOrder { sampling: Sampling::Batches { visits: 2, round_trips: 4 }, ..order(&CAS) };
            let cpus: Vec<CpuId> = machine.topology().cpus().iter().take(2).collect();
            perform(&mut machine, &[round(vec![trial(cpus[0].0, cpus[1].0, 1, vec![short])])]);
        }
    }
}

#[test]
fn changed_scenarios_are_named_after_their_content() {
    let name = |text: &str| Scenario::from_toml(text).unwrap().name().to_owned();
    assert_eq!(name("based_on = 'chiplet-16'"), "chiplet-16");
    let noisy = name("based_on = 'chiplet-16'\n[noise]\nbatch_sd = 0.06");
    assert!(noisy.starts_with("chiplet-16-"), "{noisy}");
    assert_eq!(noisy, name("# the same\nbased_on = 'chiplet-16'\nnoise.batch_sd = 0.06"));
    assert_ne!(noisy, name("based_on = 'chiplet-16'\n[noise]\nbatch_sd = 0.07"));
    assert_eq!(name("based_on = 'chiplet-16'\n[failures]\nstop_at_ms = 300"), "chiplet-16");
    assert_eq!(name("based_on = 'chiplet-16'\nname = 'mine'\n[noise]\nbatch_sd = 0.06"), "mine");
}

const DOCUMENT: &str = include_str!("../../../../docs/scenarios.md");

/// The examples of docs/scenarios.md.
fn documented_examples() -> Vec<String> {
    let blocks = DOCUMENT.split("```toml\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap_or_default().to_owned()).collect()
}

/// The possible keys of a table, from the error for an unknown key.
fn possible_keys(table: &str) -> Vec<String> {
    let refused = Scenario::from_toml(&format!("{table}\nno_such_key = 1\n")).unwrap_err().to_string();
    let names = refused.split('`').skip(3).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    assert!(!names.is_empty(), "{table}: {refused}");
    names
}

#[test]
fn every_key_of_a_scenario_occurs_in_a_valid_example() {
    let examples = documented_examples();
    assert!(examples.len() > 5);
    for name in Scenario::names() {
        assert!(DOCUMENT.contains(&format!("`{name}`")), "docs/scenarios.md does not list `{name}`");
    }
    for example in &examples {
        toml(example);
    }
    let stall =
        "[[stalls]]\nname = 'x'\nper_second = 1.0\nus = [1.0, 1.0]\nrhythm = 'random'\nseen_as = 'steal'";
    let state = "[[states]]\nname = 'x'\nweight = 1.0\ndwell_ms = 1.0";
    let tables = "[variation] [homes] [counter] [core_clock] [costs] [noise] [allowance] [failures] [[failures.departures]] \
                  [failures.clock_step] [core_clock.held_back]";
    let all = examples.concat();
    for table in tables.split(' ').chain(["", stall, state]) {
        for key in possible_keys(table) {
            let is_there = all.lines().any(|line| {
                let line = line.trim_start_matches(['[', ' ']);
                let (before, after) = line.split_once(&key).unwrap_or(("-", ""));
                (before.is_empty() || before.ends_with([' ', '{', '.'])) && after.starts_with([' ', ']', '.'])
            });
            assert!(is_there, "docs/scenarios.md has no example of `{key}` in `{table}`");
        }
    }
}
