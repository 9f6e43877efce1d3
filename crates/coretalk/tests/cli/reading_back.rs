//! `import` reads what `--as`, `export` and `import` write: the same pairs, and whether the machine was simulated.

use super::tool::{Said, Tool};
use serde_json::Value;
use std::collections::BTreeMap;
#[cfg(target_os = "linux")]
use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

const TOOLS: [&str; 6] =
    ["core-to-core-latency", "c2clat", "c2clat-w", "cpu-latency", "multichase", "coherency-latency"];
const FORMATS: [&str; 4] = ["csv", "c2c-csv", "markdown", "json"];
/// Siblings are i and i + 4; the topological order is 0, 4, 1, 5, …
const MACHINE: [&str; 5] = ["--machine", "sim:laptop-smt", "--seed", "1", "-q"];

type Cells = BTreeMap<(u64, u64), f64>;

/// Returns the values of the first matrix of a document by pair, and whether it is marked as simulated.
fn cells(document: &Value) -> (Cells, bool) {
    cells_of(document, 0)
}

fn cells_of(document: &Value, index: usize) -> (Cells, bool) {
    let matrix = &document["matrices"][index];
    let mut known = Cells::new();
    for cell in matrix["cells"].as_array().unwrap() {
        let [from, to] = ["from", "to"].map(|end| cell[end].as_u64().unwrap());
        let Some(ns) = cell["median"].as_f64() else { continue };
        known.insert((from, to), ns);
        if matrix["symmetric"] == true {
            known.insert((to, from), ns);
        }
    }
    (known, matrix["parameters"]["simulated"] == "true")
}

#[track_caller]
fn assert_alike(written: &Cells, read: &Cells, step: f64, what: &str) {
    let pairs = |cells: &Cells| cells.keys().copied().collect::<Vec<_>>();
    assert_eq!(pairs(written), pairs(read), "{what}");
    for (pair, ns) in written {
        assert!((ns - read[pair]).abs() <= step, "{what}: {pair:?} is {ns} and read as {}", read[pair]);
    }
}

/// Half of the last digit that a tool prints, for values up to 99.
fn half_a_digit(tool: &str) -> f64 {
    match tool {
        "cpu-latency" | "coherency-latency" => 1e-4,
        "multichase" => 0.051,
        _ => 0.51,
    }
}

#[test]
fn import_reads_the_output_of_as_and_export() {
    let tool = Tool::new();
    tool.done(&[&["latency", "--name", "map", "--budget", "1s"], &MACHINE[..]].concat());
    for name in TOOLS {
        tool.done(&[&["latency", "--as", name, "--name", name, "--budget", "100s"], &MACHINE[..]].concat());
    }
    for run in TOOLS.into_iter().chain(["map"]) {
        let (written, _) = cells(&tool.json(&["export", run, "--format", "json"]));
        assert_eq!(written.len(), 56, "{run}: every pair was measured");
        for format in FORMATS.into_iter().chain(["text"]).filter(|format| (run, *format) != ("map", "text")) {
            for order in ["id", "topology"] {
                let what = format!("{run} {format} {order}");
                tool.done(&["export", run, "--format", format, "--order", order, "-o", "file"]);
                let (read, simulated) = cells(&tool.json(&["import", "file", "--format", "json", "-q"]));
                let step = match format {
                    "text" => half_a_digit(run),
                    "markdown" => 0.051,
                    _ => 1e-9,
                };
                assert_alike(&written, &read, step, &what);
                assert_eq!(simulated, format != "c2c-csv", "{what}");
                // Files that `import` writes are read back in the same way.
                for second in FORMATS {
                    tool.done(&["import", "file", "--format", second, "-o", "again", "-q"]);
                    let (read_again, _) = cells(&tool.json(&["import", "again", "--format", "json", "-q"]));
                    let step = if second == "markdown" { 0.051 } else { 1e-9 };
                    assert_alike(&read, &read_again, step, &format!("{what}, then {second}"));
                }
            }
        }
    }
}

#[test]
fn several_tools_in_one_output_come_back_in_their_order() {
    let tool = Tool::new();
    let pairs =
        TOOLS.iter().enumerate().flat_map(|(at, one)| TOOLS[at + 1..].iter().map(move |two| [one, two]));
    for (number, [one, two]) in pairs.enumerate() {
        let named = match number % 2 {
            0 => [one, two],
            _ => [two, one],
        };
        let list = format!("{},{}", named[0], named[1]);
        let counts = ["--samples", "3", "--iterations", "20000", "--budget", "100s", "--name", "two"];
        let printed = tool.done(&[&["latency", "--as", &list], &counts[..], &MACHINE[..]].concat()).out;
        tool.write("printed", &printed);
        tool.done(&["export", "two", "--format", "text", "--order", "id", "-o", "by-id"]);
        let written = tool.json(&["export", "two", "--format", "json"]);
        for format in ["markdown", "json"] {
            tool.done(&["export", "two", "--format", format, "-o", format]);
        }
        for file in ["printed", "by-id", "markdown", "json"] {
            let read = tool.json(&["import", file, "--format", "json", "-q"]);
            assert_eq!(read["matrices"].as_array().unwrap().len(), 2, "{list} {file}\n{printed}");
            for (index, name) in named.into_iter().enumerate() {
                let [(written, _), (read, simulated)] =
                    [&written, &read].map(|document| cells_of(document, index));
                let step = half_a_digit(name).max(0.051);
                assert_alike(&written, &read, step, &format!("{name} of {list}, {file}"));
                assert!(simulated, "{name} of {list}");
            }
        }
        for format in ["csv", "c2c-csv"] {
            let refused = tool.call(&["export", "two", "--format", format]);
            assert!(refused.code != 0 && !refused.err.contains("--protocol"), "{}", refused.err);
        }
    }
}

#[test]
fn unreadable_formats_are_refused_by_name() {
    let tool = Tool::new();
    // With and without SMT, because the screen groups the cells of siblings.
    for machine in ["sim:laptop-smt", "sim:mesh-64"] {
        tool.done(&["latency", "--budget", "2s", "--machine", machine, "--seed", "1", "-q"]);
        for (format, sentence) in [("text", "a screen of coretalk"), ("jsonl", "a line per trial")] {
            tool.done(&["export", "latest", "--format", format, "-o", "file"]);
            let Said { code, err, .. } = tool.call(&["import", "file"]);
            assert!(code == 4 && err.contains(sentence), "{machine} {format}: {err}");
        }
        let lines = tool.done(&["export", "latest", "--format", "jsonl"]).out;
        tool.write("line", lines.lines().next().unwrap());
        let Said { code, err, .. } = tool.call(&["import", "line"]);
        assert!(code == 4 && err.contains("a line per trial"), "{machine}: {err}");
    }
    let mut files = std::fs::read_dir(tool.path().join("runs")).unwrap().map(|entry| entry.unwrap().path());
    let run = files.find(|file| file.extension().is_some_and(|end| end == "coretalk")).unwrap();
    tool.refused(&["import", run.to_str().unwrap()], 4, "this is a run file");
}

#[test]
fn an_imitated_tool_with_given_counts_completes_unless_a_budget_ends_it() {
    let tool = Tool::new();
    let machine = ["latency", "--machine", "sim:chiplet-16", "--seed", "1", "-q"];
    let measure =
        [&machine[..], &["--as", "core-to-core-latency", "5000", "300", "--format", "c2c-csv"]].concat();
    let values = |output: &Said| output.out.split([',', '\n']).filter(|cell| !cell.is_empty()).count();
    let whole = tool.done(&measure);
    assert!(values(&whole) == 120 && !whole.err.contains("ended before"), "{}", whole.err);
    let short = tool.done(&[&measure[..], &["--budget", "10s"]].concat());
    let missing = 120 - values(&short);
    let notice =
        format!("the budget ended before {missing} of 120 pairs were measured like core-to-core-latency");
    assert!(missing > 0 && short.err.contains(&notice), "{}", short.err);
}

#[test]
fn a_map_that_a_run_did_not_reach_is_named_and_the_others_are_read() {
    let tool = Tool::new();
    let measure = ["latency", "--as", "multichase,coherency-latency", "--budget", "10s"];
    let printed = tool.done(&[&measure, &MACHINE[..]].concat()).out;
    assert!(
        printed.contains("# ! the budget ended before any of 28 pairs was measured like coherency-latency")
    );
    assert!(printed.contains("of 28 pairs were measured like multichase"), "{printed}");
    let written = tool.json(&["export", "latest", "--format", "json"]);
    let reasons = written["matrices"][1]["cells"].as_array().unwrap().iter().map(|cell| &cell["reason"]);
    assert!(reasons.into_iter().all(|reason| reason == "the run ended before this pair was measured"));
    assert_eq!(written["run"]["budget_ended"], true);
    for (format, step) in [("text", 0.051), ("markdown", 0.051), ("json", 1e-9)] {
        tool.done(&["export", "latest", "--format", format, "-o", "file"]);
        let Said { code, out, err } = tool.call(&["import", "file", "--format", "json"]);
        assert!(code == 0 && err.contains("file: matrix 2 of 2 ("), "{format}: {err}");
        let read: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(read["matrices"].as_array().unwrap().len(), 1, "{format}");
        assert_alike(&cells(&written).0, &cells(&read).0, step, format);
    }
}

#[test]
fn pairs_outside_the_request_are_not_missing() {
    let chosen = ["latency", "--no-save", "--as", "c2clat", "--pairs", "0-1,2-3"];
    let printed = Tool::new().done(&[&chosen, &MACHINE[..]].concat()).out;
    assert!(!printed.contains("# !"), "{printed}");
}

#[test]
fn an_imitated_tool_with_a_coarse_clock_is_marked() {
    let counts = ["latency", "--no-save", "--as", "coherency-latency", "--samples", "1", "--iterations", "5"];
    let Said { code, err, .. } = Tool::new().call(&[&counts, &MACHINE[..]].concat());
    assert!(code == 3 && err.contains("the clock of that tool is too coarse"), "{err}");
}

#[test]
fn an_export_has_the_requested_order_and_a_bare_matrix_is_by_id() {
    let tool = Tool::new();
    tool.done(&[&["latency", "--budget", "1s"], &MACHINE[..]].concat());
    let header = |words: &[&str], start: &str| {
        let out = tool.done(&[&["export", "latest"], words].concat()).out;
        out.lines().find_map(|line| line.strip_prefix(start).map(str::to_owned)).unwrap()
    };
    assert_eq!(header(&["--format", "csv"], "cpu,"), "0,4,1,5,2,6,3,7");
    assert_eq!(header(&["--format", "csv", "--order", "id"], "cpu,"), "0,1,2,3,4,5,6,7");
    let markdown = header(&["--format", "markdown", "--order", "id"], "|   ns |");
    assert!(markdown.split_whitespace().eq("0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |".split(' ')), "{markdown}");
    let bare =
        |order: &[&str]| tool.done(&[&["export", "latest", "--format", "c2c-csv"], order].concat()).out;
    assert_eq!(bare(&[]), bare(&["--order", "topology"]));
    // Siblings 0 and 4 are close, CPUs 0 and 1 are not.
    let row: Vec<f64> =
        bare(&[]).lines().nth(4).unwrap().split(',').filter_map(|cell| cell.parse().ok()).collect();
    assert!(row[0] < 10.0 && row[1..].iter().all(|ns| *ns > 10.0), "{row:?}");
}

#[test]
fn exports_of_coretalk_are_recognised_and_keep_the_simulated_mark() {
    let tool = Tool::new();
    tool.done(&[&["latency", "--budget", "1s"], &MACHINE[..]].concat());
    tool.done(&["export", "latest", "--format", "csv", "-o", "own.csv"]);
    let out = tool.done(&["import", "own.csv"]).out;
    assert!(out.contains("SIMULATED laptop-smt") && !out.contains("another tool"), "{out}");
    let described = tool.done(&["topology", "--from", "own.csv"]).out;
    assert!(
        out.contains("4: 0,4 1,5 2,6 3,7") && described.contains("4: 0,4 1,5 2,6 3,7"),
        "{out}{described}"
    );
    let advised = tool.done(&["advise", "-n", "2", "--from", "own.csv"]).out;
    assert!(
        described.contains("SIMULATED laptop-smt") && advised.contains("SIMULATED"),
        "{described}{advised}"
    );
    let csv = tool.done(&["import", "own.csv", "--format", "csv"]).out;
    assert!(csv.contains("# simulated: true\n"), "{csv}");
    // A converted file of another tool is not marked as coretalk's own.
    tool.write("theirs.csv", ",,\n5.5,,\n6.5,7.5,\n");
    tool.done(&["import", "theirs.csv", "--format", "csv", "-o", "converted.csv", "-q"]);
    assert!(tool.done(&["import", "converted.csv"]).out.contains("Measured by another tool"));
}

#[test]
fn one_bad_file_does_not_stop_the_others() {
    let tool = Tool::new();
    tool.write("good.csv", ",,\n5.5,,\n6.5,7.5,\n");
    tool.write("bad.csv", ",,\nfast,,\n6.5,7.5,\n");
    for command in ["import", "lint"] {
        let Said { code, out, err } = tool.call(&[command, "bad.csv", "good.csv", "missing.csv"]);
        assert_eq!(code, 4, "{command}: {err}");
        assert!(out.contains("good.csv"), "{command}: {out}");
        assert!(
            err.contains("bad.csv: failed to read line 2") && err.contains("missing.csv"),
            "{command}: {err}"
        );
        assert_eq!(tool.call(&[command, "bad.csv"]).code, 4);
    }
}

#[test]
fn an_imitated_tool_accepts_its_own_counts_and_prints_its_own_csv() {
    let tool = Tool::new();
    let as_tool = |words: &[&str]| {
        tool.call(&[&["latency", "--no-save", "--as", "core-to-core-latency"], words, &MACHINE[..]].concat())
    };
    let output = as_tool(&["500", "30"]).out;
    assert!(
        output.contains("samples: 500\nNum samples: 30\n") && output.contains("iterations per samples: 500"),
        "{output}"
    );
    assert!(as_tool(&["500"]).out.contains("Num samples: 300\n"));
    assert_eq!(as_tool(&["500", "30"]), as_tool(&["--samples", "30", "--iterations", "500"]));
    let csv = as_tool(&["500", "30", "--format", "c2c-csv"]).out;
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 8);
    let is_cell = |row: usize, column: usize| rows[row][column].parse::<f64>().is_ok();
    assert!(
        (0..8).all(|row| rows[row].len() == 8 && (0..8).all(|column| is_cell(row, column) == (column < row)))
    );
    let refused = tool.call(&[&["latency", "--as", "c2clat", "500"], &MACHINE[..]].concat());
    assert!(refused.code == 2 && refused.err.contains("--samples"), "{}", refused.err);
}

#[test]
#[cfg(target_os = "linux")]
fn names_of_files_need_not_be_utf8() {
    let tool = Tool::new();
    tool.done(&[&["latency", "--budget", "1s", "--name", "run"], &MACHINE[..]].concat());
    let matrix = OsStr::from_bytes(b"matrix-\xff.csv");
    let run = OsStr::from_bytes(b"run-\xff.coretalk");
    tool.done(&["export", "run", "--format", "csv", "-o", "m.csv"]);
    std::fs::rename(tool.path().join("m.csv"), tool.path().join(matrix)).unwrap();
    let saved = tool.done(&["runs", "path", "run"]).out;
    std::fs::copy(saved.trim_end(), tool.path().join(run)).unwrap();
    let prefixed = |prefix: &str, name: &OsStr| {
        OsStr::from_bytes(&[prefix.as_bytes(), name.as_bytes()].concat()).to_owned()
    };
    for words in [vec!["export"], vec!["runs", "show"], vec!["runs", "path"]] {
        let output = tool.command(&words).arg(run).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        let path = output.stdout.strip_suffix(b"\n").unwrap();
        assert!(words != ["runs", "path"] || path.ends_with(run.as_bytes()), "{path:?}");
    }
    for file in [matrix, run] {
        let calls = [
            (vec!["report", "-o", "page.html"], vec![file.to_owned()]),
            (vec!["compare"], vec![file.to_owned(), file.to_owned()]),
            (vec!["advise", "-n", "2", "--from"], vec![file.to_owned()]),
            (vec!["topology", "--from"], vec![file.to_owned()]),
        ];
        for (words, files) in calls {
            let output = tool.command(&words).args(files).output().unwrap();
            assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
    let named =
        tool.command(&["compare"]).args([prefixed("a=", matrix), prefixed("b=", matrix)]).output().unwrap();
    assert!(named.status.success(), "{}", String::from_utf8_lossy(&named.stderr));
    let machine = prefixed("sim:", matrix);
    let simulated = tool.command(&["topology", "--seed", "1", "--machine"]).arg(machine).output().unwrap();
    assert!(simulated.status.success(), "{}", String::from_utf8_lossy(&simulated.stderr));
}
