//! `selftest` on this machine: ends in time and performs all checks; most verdicts depend on the machine.

use super::tool::{Tool, list};
use serde_json::Value;
use std::time::{Duration, Instant};

#[test]
#[ignore = "takes half a minute if CORETALK_TEST_BINARY is a release build"]
fn every_selftest_check_runs_within_a_minute() {
    let tool = Tool::new();
    let began = Instant::now();
    let call = tool.call(&["selftest", "-q", "-o", "selftest.json"]);
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    let document: Value = serde_json::from_str(&tool.read("selftest.json")).unwrap();
    assert_eq!(document["schema"], "coretalk.selftest/1");
    let checks = list(&document["checks"]);
    let ids: Vec<&Value> = checks.iter().map(|check| &check["id"]).collect();
    assert_eq!(ids, ["pins", "clock", "counts", "kernels", "same", "delay", "store"]);
    // These do not depend on the speed or load of the machine.
    for id in ["pins", "counts", "store"] {
        let check = checks.iter().find(|check| check["id"] == id).unwrap();
        assert_ne!(check["verdict"], "fail", "{check}");
    }
    let expected = match document["verdict"].as_str().unwrap() {
        "ok" => 0,
        "fail" => 1,
        "cannot-tell" => 7,
        other => panic!("{other}"),
    };
    assert_eq!(call.code, expected, "{}", call.out);
    let passed = checks.iter().filter(|check| check["verdict"] == "ok").count();
    assert_eq!(call.out.lines().filter(|line| line.contains("PASS")).count(), passed);
    assert!(document["environment"]["host"].is_null(), "it is made to be shown to others");
}
