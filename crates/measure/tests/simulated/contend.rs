//! Methods of `contend` on simulated machines: the costs of waiting, sleeping and unfairness.

use crate::trials::{line_ns, open, open_toml, options, pass, trials};
use coretalk_measure::SimMachine;
use coretalk_measure::counters::catalogue::{METHODS, method_by_id};
use coretalk_measure::probes::contend::{ContendConfig, sections};
use coretalk_measure::sim::contend::{Turn, run};
use coretalk_model::contend::names;
use coretalk_model::series::{Parameters, TrialSpec};
use coretalk_model::{CpuId, Flag};

pub fn all_methods() -> String {
    METHODS.iter().map(|method| method.id).collect::<Vec<_>>().join(",")
}

fn first_trial(machine: &SimMachine, options: Parameters) -> TrialSpec {
    trials(machine, "contend", &options).remove(0)
}

#[test]
fn simulated_contention_matches_the_stated_cost() {
    let machine = open("chiplet-16");
    let truth = |method: &str, threads: &str, sections_ns: [f64; 2]| {
        let options = options("").with("method", method).with("threads", threads);
        let options = options.with("critical_ns", sections_ns[0]).with("parallel_ns", sections_ns[1]);
        let spec = first_trial(&machine, options);
        let config = ContendConfig::from_spec(&spec).unwrap();
        let mut stage = machine.bare_stage(&spec.placement);
        let all = run(&mut stage, config.method.cost, sections(&config), 1e9, 4_000, &mut |_, _| ());
        (all.elapsed_ns / all.total() as f64, all)
    };
    // Alone: the operation and both sections.
    let cost = |method: &str| method_by_id(method).unwrap().cost;
    let alone = cost("mcs").alone_cycles / 4.0;
    assert!((truth("mcs", "1", [50.0, 500.0]).0 / (alone + 550.0) - 1.0).abs() < 0.01);
    // Saturated: the transfers and the critical section; parallel work is hidden.
    let line = line_ns(&machine, [CpuId(0), CpuId(1)]);
    let found = truth("ticket", "8", [50.0, 0.0]).0;
    let expected = cost("ticket").alone_cycles / 4.0 + 50.0 + cost("ticket").transfers * line;
    assert!((found / expected - 1.0).abs() < 0.05, "{found} of {expected}");
    // Without sharing eight threads are eight times as fast as one.
    assert_eq!(cost("per-thread").turn, Turn::Apart);
    let [one, eight] = ["1", "8"].map(|threads| truth("per-thread", threads, [0.0, 100.0]).0);
    assert!((one / eight - 8.0).abs() < 0.1, "{one} {eight}");
    // In order of arrival all threads get equally many turns; a sleeping mutex does sleep.
    let (_, fair) = truth("ticket", "8", [0.0, 0.0]);
    assert!(fair.operations.iter().max().unwrap() - fair.operations.iter().min().unwrap() <= 1);
    assert!(truth("pthread-mutex", "8", [500.0, 0.0]).1.sleeps.iter().sum::<u64>() > 0);
}

#[test]
fn spinning_threads_that_share_a_cpu_wait_for_quanta() {
    let mut machine = open("chiplet-16");
    let mut wall_ns = |words: &str| {
        let spec = first_trial(&machine, options(words));
        let observed = pass(&mut machine, &spec, 50, 1);
        (observed.numbers.values[names::WALL_NS], observed.flags)
    };
    let (alone, _) = wall_ns("method=ticket threads=16");
    let (crowded, flags) = wall_ns("method=ticket threads=32");
    assert!(crowded > 100.0 * alone, "{alone} and {crowded}");
    assert!(flags.contains(Flag::SharedSpin));
    let (sleeping, flags) = wall_ns("method=std-mutex threads=32");
    assert!(sleeping < crowded / 10.0 && !flags.contains(Flag::SharedSpin));
}

/// One pass without sections: nanoseconds per operation and thread, run length, fairness.
fn pass_without_sections(machine: &mut SimMachine, method: &str, threads: &str, arrange: &str) -> [f64; 3] {
    let options = options("").with("method", method).with("threads", threads).with("arrange", arrange);
    let options = options.with("critical_ns", 0.0).with("parallel_ns", 0.0);
    let spec = first_trial(machine, options);
    let values = pass(machine, &spec, 20, 1).numbers.values;
    [names::THREAD_NS, names::RUN_LENGTH, names::JAIN].map(|name| values[name])
}

#[test]
fn one_and_two_threads_cost_what_was_measured() {
    // The measured guest and hop, without methods that call the kernel: the scenario sets the cost of their calls.
    let mut machine = open_toml("based_on = 'laptop-smt'\nlatency_ns.l3 = 27.6\ncore_clock.ghz = 3.67");
    for (method, alone_ns, together_ns, runs) in [
        ("fetch-add", 1.95, 10.4, 4.5..6.4),
        ("cas-loop", 2.8, 26.0, 2.0..3.1),
        ("cas-backoff", 2.9, 19.7, 9.9..10.4),
        ("atomic-16", 8.3, 52.0, 1.4..2.1),
        ("tas", 2.8, 23.5, 4.9..5.4),
        ("ttas", 2.8, 22.0, 4.9..5.4),
        ("ticket", 2.8, 65.0, 1.0..1.1),
        ("mcs", 4.7, 120.0, 1.0..1.1),
        ("std-mutex", 4.8, 71.0, 3.6..4.2),
        ("parking-lot-mutex", 5.2, 24.9, 8.8..9.9),
        ("pthread-mutex", 5.9, 36.8, 14.9..16.9),
        ("rwlock", 4.5, 67.5, 3.9..4.5),
        ("flag-wait", 4.4, 29.5, 2.1..5.1),
    ] {
        let [one_ns, ..] = pass_without_sections(&mut machine, method, "1", "compact-core");
        let [two_ns, run_length, jain] = pass_without_sections(&mut machine, method, "2", "compact-core");
        for (found, expected) in [(one_ns, alone_ns), (two_ns, together_ns)] {
            assert!((found / expected - 1.0f64).abs() < 0.2, "{method}: {found} for {expected}");
        }
        assert!(runs.contains(&run_length) && jain > 0.98, "{method}: runs of {run_length}, Jain {jain}");
    }
}

#[test]
fn no_thread_starves_at_any_distance() {
    for scenario in ["chiplet-16", "epyc-2s-192"] {
        let mut machine = open(scenario);
        for method in ["fetch-add", "cas-loop", "std-mutex", "tas", "ttas"] {
            for arrange in ["compact-core", "scatter-l3"] {
                let [.., jain] = pass_without_sections(&mut machine, method, "8", arrange);
                assert!(jain > 0.5, "{scenario} {method} {arrange}: Jain {jain}");
            }
        }
    }
}
