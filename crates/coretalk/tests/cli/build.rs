//! Build facts in `--version -v` and in documents.

use super::tool::Tool;
use serde_json::Value;

#[test]
fn the_verbose_version_and_the_document_describe_the_same_build() {
    let tool = Tool::new();
    let output = tool.done(&["--version", "-v"]).out;
    let version = format!("coretalk {}", env!("CARGO_PKG_VERSION"));
    assert_eq!(output.lines().next().map(str::trim), Some(version.as_str()));
    assert_eq!(tool.done(&["-vV"]).out, output);
    let environment = &tool.json(&["doctor", "--format", "json"])["environment"];
    let build = &environment["build_facts"];
    let text = |fact: &Value| fact.as_str().unwrap_or("unknown").to_owned();
    let line = |name: &str| {
        output.lines().find_map(|line| line.trim_start().strip_prefix(name)).unwrap_or_default().trim()
    };
    for (name, fact) in [("target", "target"), ("commit", "commit"), ("SQLite", "sqlite")] {
        assert_eq!(line(name), text(&build[fact]), "{output}");
    }
    assert!(line("target").starts_with(std::env::consts::ARCH), "{output}");
    assert!(line("SQLite").starts_with("3."), "{output}");
    assert_eq!(line("compiler"), text(&environment["compiler"]));
    let (linked, profile) = (line("linked"), line("profile"));
    assert!(linked.starts_with(&text(&build["linking"])), "{output}");
    assert!(linked.contains(&text(&environment["libc"])), "{output}");
    assert!(profile.starts_with(&text(&build["profile"])), "{output}");
    assert!(profile.ends_with(&text(&build["opt_level"])), "{output}");
    let features: Vec<&str> =
        build["features"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(line("features"), features.join(" "));
    let day = build["lock_date"].as_str().map(|day| format!("of {day}"));
    assert_eq!(line("lock file"), day.unwrap_or_else(|| "unknown".into()));
}

#[test]
fn documents_of_simulated_machines_have_no_build_facts() {
    let document = Tool::new().json(&["doctor", "--machine", "sim:laptop-smt", "--format", "json"]);
    let environment = &document["environment"];
    assert!(environment["build_facts"].is_null() && environment["compiler"].is_null(), "{environment}");
}
