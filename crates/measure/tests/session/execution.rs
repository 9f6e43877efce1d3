//! That threads of one core are told from near cores by their work, whatever the system reports.

use crate::vocabulary::{Run, builtin, run, toml};
use coretalk_measure::{Machine, Scenario};
use coretalk_model::Relation;
use coretalk_model::infer::Findings;
use coretalk_model::latency::execution::{Execution, Reason, verdicts};
use coretalk_model::latency::{Counts, ExecutionTest};

fn said(run: &Run) -> Vec<(&ExecutionTest, Execution)> {
    let tests = &run.result.execution;
    tests.iter().zip(verdicts(tests)).collect()
}

#[test]
fn every_scenario_says_which_of_its_nearest_pairs_share_a_core() {
    for name in
        Scenario::names().iter().filter(|name| !["noisy-vm", "huge-1024", "epyc-2s-192"].contains(name))
    {
        let run = run(builtin(name), 5, |_| ());
        let said = said(&run);
        assert!(said.iter().any(|(test, _)| test.reason != Reason::Control), "{name} tested nobody");
        for (test, verdict) in said {
            let [a, b] = test.pair;
            let truth = match run.machine.topology().relation(a, b) {
                Relation::Smt => Execution::Shared,
                _ => Execution::Apart,
            };
            assert_eq!(verdict, truth, "{name}: {test:?}");
        }
    }
}

#[test]
fn threads_of_a_core_that_the_system_hides_are_found_and_name_their_level() {
    for scenario in ["laptop-smt", "chiplet-16-smt"] {
        let run = run(toml(&format!("based_on = '{scenario}'\nreported = 'nothing'")), 3, |_| ());
        let structure = Findings::of_run(&run.result, run.machine.topology()).unwrap().structure.unwrap();
        assert_eq!(structure.levels[0].name, "smt", "{scenario}");
        assert_eq!(structure.levels[0].execution, Some(Execution::Shared));
    }
    // Pairs of cores with a cache of their own look the same to latency.
    let pairs = "based_on = 'laptop-smt'\nreported = 'nothing'\n[noise]\nsibling_factor = [1.0, 1.0]";
    let run = run(toml(pairs), 3, |_| ());
    let structure = Findings::of_run(&run.result, run.machine.topology()).unwrap().structure.unwrap();
    assert_eq!(structure.levels[0].name, "group-1");
    assert_eq!(structure.levels[0].execution, Some(Execution::Apart));
}

#[test]
fn a_guest_whose_host_puts_both_cpus_onto_one_core_at_times_is_not_told_a_lie() {
    let text = "based_on = 'noisy-vm'\nreported = 'nothing'";
    let run = run(toml(text), 2, |_| ());
    for (test, verdict) in said(&run) {
        assert_ne!(verdict, Execution::Shared, "{test:?}");
    }
}

#[test]
fn a_run_of_fixed_counts_or_of_some_pairs_tests_nothing() {
    let fixed = run(builtin("chiplet-16"), 1, |settings| {
        settings.counts = Counts::Fixed { samples: 10, iterations: 10 };
    });
    assert!(fixed.result.execution.is_empty());
}
