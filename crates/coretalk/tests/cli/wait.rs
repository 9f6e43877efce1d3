//! `wait` on simulated machines: modes, sides with different strategies, text and data, and refusals.

use super::tool::{Tool, assert_contains, assert_fits, flat, list, number, words};
use serde_json::{Value, json};

const WAIT: &str = "wait --machine sim:chiplet-16 --seed 1 --precision 5% -q";

#[test]
fn two_threads_may_share_a_cpu() {
    let tool = Tool::new();
    for command in ["wait --strategy yield,futex", "wake --primitive semaphore"] {
        let options = "--pairs 0-0 --machine sim:chiplet-16 --seed 1 -q --no-save --budget 2s --format json";
        let document = tool.document(&format!("{command} {options}"));
        let series = list(&document["series"]);
        assert!(!series.is_empty() && series.iter().all(|one| one["placement"] == json!([0, 0])));
    }
}

#[test]
fn values_are_raw_and_net_and_the_advice_follows_from_them() {
    let tool = Tool::new();
    let document = tool.document(&format!("{WAIT} --strategy pause,futex --format json --name first"));
    assert_eq!(tool.document("export first"), document);
    let series = list(&document["series"]);
    assert_eq!(series.len(), 4, "two strategies on two relations");
    let values = &series[0]["values"];
    let [net, mean, clock, whole, spins] =
        ["net_ns", "mean_ns", "clock_ns", "loop_ns", "spins_per_trip"].map(|name| number(&values[name]));
    assert!((net - (mean - clock)).abs() < 0.1 && whole > mean + clock && spins > 0.0, "{values}");
    assert_eq!(series[0]["parameters"]["strategy"], "pause");
    let advice = list(&document["advice"]);
    assert_eq!(advice.len(), 2, "one for each pair");
    for advice in advice {
        let [low, spin_ns, high] = [&advice["ci"][0], &advice["spin_ns"], &advice["ci"][1]].map(number);
        assert_eq!(["kind", "strategy"].map(|key| &advice[key]), ["spin", "pause"]);
        assert!(low <= spin_ns && spin_ns <= high && spin_ns > 500.0, "{advice}");
    }
}

#[test]
fn alternating_gives_two_phases_side_by_side() {
    let tool = Tool::new();
    let line = format!("{WAIT} --alternate --cpus 0,1");
    let document = tool.document(&format!("{line} --format json"));
    let series = list(&document["series"]).iter();
    let phases: Vec<&Value> = series.map(|one| &one["parameters"]["phase"]).collect();
    assert_eq!(phases, ["hint", "plain"]);
    assert_contains(&tool.out(&line), &["difference", "p99.9"]);
}

#[test]
fn every_mode_has_its_table_and_fits_the_screen() {
    let tool = Tool::new();
    for (options, parts) in [
        (
            "",
            &[
                "one clock read included",
                "slept or was preempted",
                "Shorter waits are cheaper with polling",
                "no two threads of one core",
            ][..],
        ),
        ("--no-clock", &["million/s", "ns a trip"]),
        ("--cost", &["core cycles", "between polls"]),
        ("--asym pause:futex", &["pause : futex"]),
        ("--cpus 3 --strategy busy,yield", &["they hand over once per time slice", "busy s"]),
        ("--strategy pause --pairs all --cpus 0-4", &["the row times the trips"]),
    ] {
        let screen = tool.out(&format!("{WAIT} --no-save {options}"));
        assert_contains(&flat(&screen), parts);
        assert_fits(&screen);
    }
}

#[test]
fn work_of_a_sibling_during_a_wait_is_measured_if_there_is_one() {
    let line = "wait --machine sim:chiplet-16-smt --seed 1 --strategy busy,pause -q";
    let screen = flat(&Tool::new().out(line));
    assert_contains(&screen, &["its time while the first CPU sleeps"]);
    assert!(!screen.contains("no two threads"), "{screen}");
}

#[test]
fn one_distribution_goes_to_standard_output_and_several_do_not() {
    let tool = Tool::new();
    let line = format!("{WAIT} --cpus 0,1 --format hgrm --strategy pause");
    assert_contains(&tool.out(&line), &["Value     Percentile TotalCount 1/(1-Percentile)"]);
    tool.refused(&words(&format!("{line},busy")), 2, "-o DIR");
}

#[test]
fn unsupported_strategies_are_omitted_from_a_list_and_refused_alone() {
    let tool = Tool::new();
    tool.refused(&words(&format!("{WAIT} --strategy wfe")), 3, "Armv8 (WFE)");
    let among = tool.done(&words("wait --machine sim:chiplet-16 --seed 1 --strategy wfe,pause --no-save"));
    assert_contains(&among.err, &["`wfe` cannot be measured", "skipped"]);
}
