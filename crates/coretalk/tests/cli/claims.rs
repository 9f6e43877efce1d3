//! What screens claim, held against what was measured.

use super::tool::Tool;
use serde_json::Value;

/// A machine of which other programs take a share.
fn shared_with(tool: &Tool, others: f64) -> String {
    let path = tool.path().join("shared.toml");
    std::fs::write(&path, format!("based_on = \"laptop-smt\"\n[failures]\nothers = {others}\n")).unwrap();
    format!("sim:{}", path.display())
}

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_disturbed_run_says_so_first_and_on_every_number() {
    let tool = Tool::new();
    let machine = shared_with(&tool, 0.98);
    for words in [&["latency", "--cpus", "0-2"][..], &["wake", "--cpus", "0,1", "--primitive", "semaphore"]] {
        let words = [words, &["--machine", &machine, "--seed", "1", "-q", "--name", words[0]]].concat();
        let live = tool.done(&words).out;
        let first = live.lines().next().unwrap_or_default();
        assert!(first.starts_with("disturbed: other programs took 98 % of the CPUs"), "{live}");
        let shown = tool.done(&["runs", "show", words[0]]).out;
        assert!(shown.starts_with("disturbed: other programs took 98 %"), "{shown}");
        let document = document(&tool.done(&["export", words[0], "--format", "json"]).out);
        assert_eq!(document["environment"]["others_share"], 0.98);
        let cells = document["matrices"].as_array().into_iter().flatten();
        let cells = cells.flat_map(|matrix| matrix["cells"].as_array().unwrap());
        let judged: Vec<&Value> = cells.chain(document["series"].as_array().unwrap()).collect();
        assert!(!judged.is_empty());
        for one in judged {
            assert!(one["flags"].to_string().contains("\"load\""), "{one}");
            assert!(["C", "D"].contains(&one["grade"].as_str().unwrap()), "{one}");
        }
    }
}

#[test]
fn a_little_company_is_no_disturbance() {
    let tool = Tool::new();
    let machine = shared_with(&tool, 0.02);
    let said =
        tool.done(&["latency", "--cpus", "0-2", "--machine", &machine, "--seed", "1", "--no-save"]).out;
    assert!(said.starts_with("SIMULATED") && !said.contains("disturbed"), "{said}");
}

#[test]
fn a_variation_is_not_spoken_of_as_speed() {
    let tool = Tool::new();
    let run = ["latency", "--protocol", "one-way", "--machine", "sim:chiplet-16", "--seed", "1", "--no-save"];
    let said = tool.done(&run).out;
    let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("time stamps from the own group vary less"), "{said}");
    assert!(!said.contains("faster") && !said.contains("240 of 240 pairs in doubt"), "{said}");
    assert!(flat.contains("±50 % at 95 %"), "{said}");
    // Two CPUs have two directions, and the least variation is 0 by its nature.
    let two = tool.done(&[&run[..], &["--cpus", "0,8"]].concat()).out;
    assert!(two.contains("2 pairs") && !two.contains("fastest batch"), "{two}");
    assert!(two.contains("each CPU has its own L3") && !two.contains("one group"), "{two}");
}
