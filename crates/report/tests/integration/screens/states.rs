//! Screens of a machine that changed its state during the measurement, and their conclusions.

use super::{at, screen};
use crate::samples;
use coretalk_model::Level;
use coretalk_model::latency::StateWatch;
use coretalk_model::run::RunReport;

/// Gives a run the states of the floating guest, which this share of its cells changed.
fn changed(mut report: RunReport, cells_changed: f64) -> RunReport {
    let watch = samples::floating_guest().latency.unwrap().result.watch.unwrap();
    samples::result(&mut report).watch = Some(StateWatch { cells_changed, ..watch });
    report
}

fn watch(report: &mut RunReport) -> &mut StateWatch {
    samples::result(report).watch.as_mut().unwrap()
}

#[test]
fn a_map_of_a_machine_that_changed_state_says_so() {
    let text = screen(&changed(samples::laptop(), 0.12), &at(100));
    assert!(text.contains("3 of 28 pairs changed during") && text.contains("116 ┤"), "{text}");
}

#[test]
fn usually_uniform_maps_say_so_first() {
    let headline = |report| screen(&changed(report, 0.8), &at(200)).lines().nth(1).unwrap().to_owned();
    let topology = samples::topology(8, &[samples::blocks(Level::L3, 8, 8)]);
    let report = |ns: fn(u32, u32) -> f64| samples::report(topology.clone(), vec![samples::map(8, ns)], None);
    assert_eq!(
        headline(report(|_, _| 22.6)),
        "Usually 23 ns between any two CPUs. CPUs 0 and 1: 22.6 ns most of the time, up to 116 otherwise: plan for 116"
    );
    let one_slow_pair = report(|a, b| if a + b == 13 && a.abs_diff(b) == 1 { 45.0 } else { 22.6 });
    for text in [headline(one_slow_pair), headline(samples::desktop())] {
        assert!(text.starts_with("No single number. CPUs 0 and 1: "), "{text}");
    }
}

#[test]
fn where_cells_changed_state_nothing_is_concluded_about_groups() {
    for (name, report) in
        [("laptop", samples::laptop()), ("mesh", samples::mesh()), ("desktop", samples::desktop())]
    {
        let text = screen(&changed(report, 0.12), &at(160));
        let says = "the states differ by 5.1 ×. The system reports one L3 for CPUs 0 and 1, and state B contradicts it";
        assert_eq!(text.matches("how they are connected").count(), 1, "{name}:\n{text}");
        assert!(text.contains(says), "{name}:\n{text}");
        for verdict in ["no groups", "as reported", "faster inside", "by value alone"] {
            assert!(!text.contains(verdict), "{name}: {verdict}\n{text}");
        }
    }
    // A ratio this small contradicts no reported L3.
    let mut report = changed(samples::laptop(), 1.0);
    watch(&mut report).states[1].kernels[0].1 = samples::estimate(30.0, 0.02);
    let text = screen(&report, &at(160));
    assert!(text.contains("cannot tell how they are connected: the states differ by 1.3 ×"), "{text}");
}

#[test]
fn a_few_pairs_that_changed_level_leave_the_groups_as_they_are() {
    let text = screen(&changed(samples::epyc(), 26.0 / 18_336.0), &at(160));
    assert!(text.contains("26 of 18 336 pairs changed for a while"), "{text}");
    assert!(text.contains("the latencies alone show the same packages, nodes and L3"), "{text}");
    assert!(!text.contains("how they are connected") && !text.contains("┤"), "{text}");
}

#[test]
fn a_state_as_fast_as_siblings_does_not_let_the_other_contradict_one_l3() {
    let mut report = samples::floating_guest();
    // As between two cores of one L3, then as between siblings of one core: the ratio contradicts nothing.
    for (state, ns) in watch(&mut report).states.iter_mut().zip([35.0, 13.0]) {
        state.kernels.iter_mut().for_each(|(_, latency)| *latency = samples::estimate(ns, 0.02));
    }
    let text = screen(&report, &at(160));
    assert!(text.contains("cannot tell how they are connected: the states differ by 2.7 ×"), "{text}");
    assert!(!text.contains("contradicts"), "{text}");
}

#[test]
fn a_slowdown_of_one_kernel_is_not_called_a_move() {
    let mut report = samples::floating_guest();
    let states = &mut watch(&mut report).states;
    states[1].kernels[1].1 = states[0].kernels[1].1;
    let text = screen(&report, &at(160));
    assert!(text.contains("changed twice, but only for 1 of 2 kinds of exchange"), "{text}");
    assert!(!text.contains("contradicts") && !text.contains("moves vCPUs"), "{text}");
}
