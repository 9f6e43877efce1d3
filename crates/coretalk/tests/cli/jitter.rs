//! `jitter` on simulated machines: screen, document, refusals.

use super::tool::Tool;
use serde_json::Value;

const JITTER: [&str; 5] = ["jitter", "--machine", "sim:noisy-vm", "--seed", "1"];

fn jitter<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&JITTER[..], more].concat()
}

#[test]
fn every_cpu_is_a_series_with_its_causes_and_reads_back_as_it_was() {
    let tool = Tool::new();
    let live = tool.done(&jitter(&["--format", "json", "-q", "--name", "first"]));
    assert_eq!(tool.done(&["export", "first", "--format", "json"]).out, live.out);
    let document: Value = serde_json::from_str(&live.out).unwrap();
    let series = document["series"].as_array().unwrap();
    assert_eq!(series.len(), 4);
    for (cpu, one) in series.iter().enumerate() {
        assert_eq!(
            (&one["placement"], &one["parameters"]["view"]),
            (&serde_json::json!([cpu]), &"gaps".into())
        );
        assert!(
            one["values"]["lost_share"].as_f64().unwrap() > 0.0 && one["count"].as_u64() > Some(0),
            "{one}"
        );
        assert!(one["counts"]["watched_ms"].as_u64() >= Some(5_000), "five seconds are watched: {one}");
    }
}

#[test]
fn the_screen_has_a_row_for_each_cpu_and_fits() {
    let tool = Tool::new();
    let screen = tool.done(&jitter(&["-q", "--no-save", "--for", "2s"])).out;
    assert!(screen.contains("unexplained") && screen.contains("longest"), "{screen}");
    assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
    let large = ["jitter", "--machine", "sim:epyc-2s-192", "--seed", "1", "--for", "1s", "-q", "--no-save"];
    let screen = tool.done(&large).out;
    assert!(screen.contains("160 CPUs in between: see the data"), "{screen}");
}

#[test]
fn the_page_has_the_table_of_the_screen() {
    let tool = Tool::new();
    let screen = tool.done(&jitter(&["-q", "--name", "seen", "--for", "1s"])).out;
    tool.done(&["report", "seen", "-o", "page.html", "-q"]);
    let page = std::fs::read_to_string(tool.path().join("page.html")).unwrap();
    let rows = screen.lines().filter(|line| line.trim_start().starts_with(['0', '1', '2', '3']));
    let rows: Vec<&str> = rows.filter(|line| line.contains('%')).collect();
    assert_eq!(rows.len(), 4, "{screen}");
    for row in rows {
        let cells: Vec<&str> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        let row = format!("<th scope=\"row\" class=\"number\">{}", cells.join("</td><td>"));
        let row = row.replacen("</td>", "</th>", 1).replace("<0", "&lt;0");
        assert!(page.contains(&row), "the page lacks `{row}`");
    }
}

#[test]
fn a_longer_look_is_another_one_and_what_makes_no_sense_is_refused() {
    let tool = Tool::new();
    let watched = |span: &str| {
        let said = tool.done(&jitter(&["--for", span, "--format", "json", "-q", "--no-save"])).out;
        let document: Value = serde_json::from_str(&said).unwrap();
        document["series"][0]["counts"]["samples"].as_u64().unwrap()
    };
    let [short, long] = ["1s", "3s"].map(watched);
    assert!((1_000..1_700).contains(&short) && (3_000..3_400).contains(&long), "{short} and {long}");
    for (words, code, part) in
        [(&["--for", "0s"][..], 2, "--for"), (&["--cpus", "99"], 2, "CPU 99 does not exist")]
    {
        let said = tool.call(&[&["jitter", "--machine", "sim:noisy-vm", "-q"], words].concat());
        assert_eq!(said.code, code, "{words:?}: {}", said.err);
        assert!(said.err.contains(part) && said.err.lines().count() == 1, "{words:?}: {}", said.err);
    }
}
