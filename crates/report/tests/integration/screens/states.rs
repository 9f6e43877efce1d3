//! Screens of a machine that changed its state during the measurement, and their conclusions.

use super::{at, screen};
use crate::samples;
use coretalk_model::latency::StateWatch;
use coretalk_model::run::RunReport;
use coretalk_model::{Level, Topology};
use std::collections::BTreeMap;

#[test]
fn a_pair_that_changed_level_has_no_single_number() {
    let text = screen(&samples::floating_guest(), &at(160));
    assert!(
        text.contains("ns between CPUs 0 and 1 most of the time, up to 116 otherwise: plan for 116"),
        "{text}"
    );
    assert!(
        text.contains("cannot tell how they are connected") && text.contains("state B contradicts it"),
        "{text}"
    );
}

#[test]
fn a_map_of_a_machine_that_changed_state_says_so() {
    let mut report = samples::laptop();
    report.latency.as_mut().unwrap().result.watch = samples::floating_guest().latency.unwrap().result.watch;
    report.latency.as_mut().unwrap().result.watch.as_mut().unwrap().cells_changed = 0.12;
    let text = screen(&report, &at(100));
    assert!(text.contains("3 of 28 pairs changed during") && text.contains("116 ┤"), "{text}");
}

#[test]
fn usually_uniform_maps_say_so_first() {
    let watch = samples::floating_guest().latency.unwrap().result.watch;
    let headline = |mut report: RunReport| {
        report.latency.as_mut().unwrap().result.watch = watch.clone();
        report.latency.as_mut().unwrap().result.watch.as_mut().unwrap().cells_changed = 0.8;
        let text = screen(&report, &at(200));
        text.lines().nth(1).unwrap_or_default().to_owned()
    };
    let one_cache = vec![samples::domain(Level::L3, 0..8, 0)];
    let topology = Topology::new("0-7".parse().unwrap(), one_cache, BTreeMap::new());
    let report = |ns: fn(u32, u32) -> f64| samples::report(topology.clone(), vec![samples::map(8, ns)], None);
    assert_eq!(
        headline(report(|_, _| 22.6)),
        "Usually 23 ns between any two CPUs. CPUs 0 and 1: 22.6 ns most of the time, up to 116 otherwise: plan for 116"
    );
    let no_single_number = "No single number. CPUs 0 and 1: ";
    assert!(
        headline(report(|a, b| if a + b == 13 && a.abs_diff(b) == 1 { 45.0 } else { 22.6 }))
            .starts_with(no_single_number)
    );
    assert!(headline(samples::desktop()).starts_with(no_single_number));
}

#[test]
fn where_cells_changed_state_nothing_is_concluded_about_groups() {
    let watch = samples::floating_guest().latency.unwrap().result.watch;
    for (name, mut report) in
        [("laptop", samples::laptop()), ("mesh", samples::mesh()), ("desktop", samples::desktop())]
    {
        report.latency.as_mut().unwrap().result.watch = watch.clone();
        report.latency.as_mut().unwrap().result.watch.as_mut().unwrap().cells_changed = 0.12;
        let text = screen(&report, &at(160));
        let says = "the states differ by 5.1 ×. The system reports one L3 for CPUs 0 and 1, and state B contradicts it";
        assert_eq!(text.matches("how they are connected").count(), 1, "{name}:\n{text}");
        assert!(text.contains(says), "{name}:\n{text}");
        for verdict in ["no groups", "as reported", "faster inside", "by value alone"] {
            assert!(!text.contains(verdict), "{name}: {verdict}\n{text}");
        }
    }
    // A ratio this small contradicts no reported L3.
    let mut report = samples::laptop();
    report.latency.as_mut().unwrap().result.watch = watch;
    let states = &mut report.latency.as_mut().unwrap().result.watch.as_mut().unwrap().states;
    states[1].kernels[0].1 = samples::estimate(30.0, 0.02);
    let text = screen(&report, &at(160));
    assert!(text.contains("cannot tell how they are connected: the states differ by 1.3 ×"), "{text}");
}

#[test]
fn a_few_pairs_that_changed_level_leave_the_groups_as_they_are() {
    let mut report = samples::epyc();
    report.latency.as_mut().unwrap().result.watch = samples::floating_guest().latency.unwrap().result.watch;
    report.latency.as_mut().unwrap().result.watch.as_mut().unwrap().cells_changed = 26.0 / 18_336.0;
    let text = screen(&report, &at(160));
    assert!(text.contains("26 of 18 336 pairs changed for a while"), "{text}");
    assert!(text.contains("the latencies alone show the same packages, nodes and L3"), "{text}");
    assert!(!text.contains("how they are connected"), "{text}");
    assert!(!text.contains("┤"), "{text}");
}

#[test]
fn a_state_as_fast_as_siblings_does_not_let_the_other_contradict_one_l3() {
    let level = |watch: &mut StateWatch, state: usize, cas: f64| {
        for (_, latency) in &mut watch.states[state].kernels {
            *latency = samples::estimate(cas, 0.02);
        }
    };
    let mut report = samples::floating_guest();
    let watch = report.latency.as_mut().unwrap().result.watch.as_mut().unwrap();
    // As between two cores of one L3, then as between siblings of one core: the ratio contradicts nothing.
    level(watch, 0, 35.0);
    level(watch, 1, 13.0);
    let text = screen(&report, &at(160));
    assert!(text.contains("cannot tell how they are connected: the states differ by 2.7 ×"), "{text}");
    assert!(!text.contains("contradicts"), "{text}");
}

#[test]
fn a_slowdown_of_one_kernel_is_not_called_a_move() {
    let mut report = samples::floating_guest();
    let watch = report.latency.as_mut().unwrap().result.watch.as_mut().unwrap();
    watch.states[1].kernels[1].1 = watch.states[0].kernels[1].1;
    let text = screen(&report, &at(160));
    assert!(text.contains("changed twice, but only for 1 of 2 kinds of exchange"), "{text}");
    assert!(!text.contains("contradicts") && !text.contains("moves vCPUs"), "{text}");
}
