//! `wait` on simulated machines: modes, sides with different strategies, text and data, and refusals.

use super::tool::{Tool, flat};
use serde_json::Value;

const WAIT: [&str; 7] = ["wait", "--machine", "sim:chiplet-16", "--seed", "1", "--precision", "5%"];

fn wait<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&WAIT[..], more].concat()
}

#[test]
fn two_threads_may_share_a_cpu() {
    let tool = Tool::new();
    for words in [&["wait", "--strategy", "yield,futex"][..], &["wake", "--primitive", "semaphore"]] {
        let more = ["--pairs", "0-0", "--machine", "sim:chiplet-16", "--seed", "1", "-q", "--no-save"];
        let output = tool.done(&[words, &more, &["--budget", "2s", "--format", "json"]].concat());
        let document: serde_json::Value = serde_json::from_str(&output.out).unwrap();
        let series = document["series"].as_array().unwrap();
        assert!(!series.is_empty() && series.iter().all(|one| one["placement"] == serde_json::json!([0, 0])));
    }
}

#[test]
fn values_are_raw_and_net_and_the_advice_follows_from_them() {
    let tool = Tool::new();
    let words = wait(&["--strategy", "pause,futex", "--format", "json", "-q", "--name", "first"]);
    let document = tool.json(&words);
    assert_eq!(tool.json(&["export", "first", "--format", "json"]), document);
    let series = document["series"].as_array().unwrap();
    assert_eq!(series.len(), 4, "two strategies on two relations");
    let values = &series[0]["values"];
    let number = |name: &str| values[name].as_f64().unwrap();
    assert!((number("net_ns") - (number("mean_ns") - number("clock_ns"))).abs() < 0.1, "{values}");
    assert!(number("loop_ns") > number("mean_ns") + number("clock_ns"), "{values}");
    assert!(number("spins_per_trip") > 0.0, "{values}");
    assert_eq!(series[0]["parameters"]["strategy"], "pause");
    let advice = document["advice"].as_array().unwrap();
    assert_eq!(advice.len(), 2, "one for each pair");
    for advice in advice {
        let spin_ns = advice["spin_ns"].as_f64().unwrap();
        let ends = [&advice["ci"][0], &advice["ci"][1]].map(|end| end.as_f64().unwrap());
        assert_eq!((&advice["kind"], &advice["strategy"]), (&"spin".into(), &"pause".into()));
        assert!(ends[0] <= spin_ns && spin_ns <= ends[1] && spin_ns > 500.0, "{advice}");
    }
}

#[test]
fn alternating_gives_two_phases_side_by_side() {
    let tool = Tool::new();
    let document = tool.json(&wait(&["--alternate", "--cpus", "0,1", "--format", "json", "-q"]));
    let phases: Vec<&Value> =
        document["series"].as_array().unwrap().iter().map(|series| &series["parameters"]["phase"]).collect();
    assert_eq!(phases, ["hint", "plain"]);
    let screen = tool.done(&wait(&["--alternate", "--cpus", "0,1", "-q"])).out;
    assert!(screen.contains("difference") && screen.contains("p99.9"), "{screen}");
}

#[test]
fn every_mode_has_its_table_and_fits_the_screen() {
    let tool = Tool::new();
    for (words, parts) in [
        (
            &[][..],
            &[
                "one clock read included",
                "slept or was preempted",
                "Shorter waits are cheaper with polling",
                "no two threads of one core",
            ][..],
        ),
        (&["--no-clock"], &["million/s", "ns a trip"]),
        (&["--cost"], &["core cycles", "between polls"]),
        (&["--asym", "pause:futex"], &["pause : futex"]),
        (&["--cpus", "3", "--strategy", "busy,yield"], &["they hand over once per time slice", "busy s"]),
        (&["--strategy", "pause", "--pairs", "all", "--cpus", "0-4"], &["the row times the trips"]),
    ] {
        let screen = tool.done(&wait(&[words, &["-q", "--no-save"]].concat())).out;
        for part in parts {
            let flat = flat(&screen);
            assert!(flat.contains(part), "{words:?}: {part} is not in\n{screen}");
        }
        assert!(screen.lines().all(|line| line.chars().count() <= 100), "{words:?}\n{screen}");
    }
}

#[test]
fn work_of_a_sibling_during_a_wait_is_measured_if_there_is_one() {
    let words = ["wait", "--machine", "sim:chiplet-16-smt", "--seed", "1", "--strategy", "busy,pause", "-q"];
    let screen = Tool::new().done(&words).out;
    let screen = flat(&screen);
    assert!(
        screen.contains("its time while the first CPU sleeps") && !screen.contains("no two threads"),
        "{screen}"
    );
}

#[test]
fn one_distribution_goes_to_standard_output_and_several_do_not() {
    let tool = Tool::new();
    let one = wait(&["--strategy", "pause", "--cpus", "0,1", "--format", "hgrm", "-q"]);
    let table = tool.done(&one).out;
    assert!(table.contains("Value     Percentile TotalCount 1/(1-Percentile)"), "{table}");
    let refused = tool.call(&wait(&["--strategy", "pause,busy", "--cpus", "0,1", "--format", "hgrm"]));
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("-o DIR"), "{}", refused.err);
}

#[test]
fn unsupported_strategies_are_omitted_from_a_list_and_refused_alone() {
    let tool = Tool::new();
    tool.refused(&wait(&["--strategy", "wfe", "-q"]), 3, "Armv8 (WFE)");
    let among = tool.done(&wait(&["--strategy", "wfe,pause", "--no-save"]));
    assert!(among.err.contains("`wfe` cannot be measured") && among.err.contains("skipped"), "{}", among.err);
}
