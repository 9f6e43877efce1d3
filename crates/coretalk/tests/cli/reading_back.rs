//! `import` reads what `--as`, `export` and `import` write: the same pairs, and whether the machine was simulated.

use super::tool::{Said, Tool, assert_contains, list, words};
use serde_json::Value;
use std::collections::BTreeMap;
#[cfg(target_os = "linux")]
use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

const TOOLS: [&str; 6] =
    ["core-to-core-latency", "c2clat", "c2clat-w", "cpu-latency", "multichase", "coherency-latency"];
const FORMATS: [&str; 4] = ["csv", "c2c-csv", "markdown", "json"];
/// Siblings are i and i + 4; the topological order is 0, 4, 1, 5, …
const LATENCY: &str = "latency --machine sim:laptop-smt --seed 1 -q";

type Cells = BTreeMap<(u64, u64), f64>;

/// Returns the values of the first matrix of a document by pair, and whether it is marked as simulated.
fn cells(document: &Value) -> (Cells, bool) {
    cells_of(&document["matrices"][0])
}

fn cells_of(matrix: &Value) -> (Cells, bool) {
    let mut known = Cells::new();
    for cell in list(&matrix["cells"]) {
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

/// Half of the last digit of a format, for values of `tool` up to 99.
fn rounding(format: &str, tool: &str) -> f64 {
    match format {
        "text" => half_a_digit(tool),
        "markdown" => 0.051,
        _ => 1e-9,
    }
}

fn import(tool: &Tool, file: &str) -> Value {
    tool.document(&format!("import {file} --format json -q"))
}

#[test]
fn import_reads_the_output_of_as_and_export() {
    let tool = Tool::new();
    tool.out(&format!("{LATENCY} --name map --budget 1s"));
    for name in TOOLS {
        tool.out(&format!("{LATENCY} --as {name} --name {name} --budget 100s"));
    }
    for run in TOOLS.into_iter().chain(["map"]) {
        let (written, _) = cells(&tool.document(&format!("export {run}")));
        assert_eq!(written.len(), 56, "{run}: every pair was measured");
        for format in FORMATS.into_iter().chain(["text"]).filter(|format| (run, *format) != ("map", "text")) {
            for order in ["id", "topology"] {
                let what = format!("{run} {format} {order}");
                tool.out(&format!("export {run} --format {format} --order {order} -o file"));
                let (read, simulated) = cells(&import(&tool, "file"));
                assert_alike(&written, &read, rounding(format, run), &what);
                assert_eq!(simulated, format != "c2c-csv", "{what}");
                // Files that `import` writes are read back in the same way.
                for second in FORMATS {
                    tool.out(&format!("import file --format {second} -o again -q"));
                    let (again, _) = cells(&import(&tool, "again"));
                    assert_alike(&read, &again, rounding(second, run), &format!("{what}, then {second}"));
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
        let named = if number % 2 == 0 { [one, two] } else { [two, one] };
        let line = format!("{LATENCY} --as {},{}", named[0], named[1]);
        let counts = "--samples 3 --iterations 20000 --budget 100s --name two";
        tool.write("printed", tool.out(&format!("{line} {counts}")));
        tool.out("export two --format text --order id -o by-id");
        let written = tool.document("export two");
        for format in ["markdown", "json"] {
            tool.out(&format!("export two --format {format} -o {format}"));
        }
        for file in ["printed", "by-id", "markdown", "json"] {
            let read = import(&tool, file);
            assert_eq!(list(&read["matrices"]).len(), 2, "{line} {file}");
            for (index, name) in named.into_iter().enumerate() {
                let [(written, _), (read, simulated)] =
                    [&written, &read].map(|document| cells_of(&document["matrices"][index]));
                let step = half_a_digit(name).max(0.051);
                assert_alike(&written, &read, step, &format!("{name}, {line}, {file}"));
                assert!(simulated, "{name}, {line}");
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
        tool.out(&format!("latency --budget 2s --machine {machine} --seed 1 -q"));
        tool.out("export latest --format text -o screen");
        let lines = tool.out("export latest --format jsonl");
        tool.write("lines", &lines);
        tool.write("line", lines.lines().next().unwrap());
        for (file, sentence) in
            [("screen", "a screen of coretalk"), ("lines", "a line per trial"), ("line", "a line per trial")]
        {
            let Said { code, err, .. } = tool.call(&["import", file]);
            assert!(code == 4 && err.contains(sentence), "{machine} {file}: {err}");
        }
    }
    let run = tool.out("runs path latest");
    tool.refused(&["import", run.trim_end()], 4, "this is a run file");
}

#[test]
fn an_imitated_tool_with_given_counts_completes_unless_a_budget_ends_it() {
    let tool = Tool::new();
    let measured = |more: &str| {
        let line = "latency --machine sim:chiplet-16 --seed 1 -q --as core-to-core-latency 5000 300 --format c2c-csv";
        let Said { out, err, .. } = tool.done(&words(&format!("{line} {more}")));
        (out.split([',', '\n']).filter(|cell| !cell.is_empty()).count(), err)
    };
    let (count, err) = measured("");
    assert!(count == 120 && !err.contains("ended before"), "{err}");
    let (count, err) = measured("--budget 10s");
    let missing = 120 - count;
    assert!(missing > 0);
    assert_contains(
        &err,
        &[&format!("the budget ended before {missing} of 120 pairs were measured like core-to-core-latency")],
    );
}

#[test]
fn a_map_that_a_run_did_not_reach_is_named_and_the_others_are_read() {
    let tool = Tool::new();
    assert_contains(
        &tool.out(&format!("{LATENCY} --as multichase,coherency-latency --budget 10s")),
        &[
            "# ! the budget ended before any of 28 pairs was measured like coherency-latency",
            "of 28 pairs were measured like multichase",
        ],
    );
    let written = tool.document("export latest");
    for cell in list(&written["matrices"][1]["cells"]) {
        assert_eq!(cell["reason"], "the run ended before this pair was measured");
    }
    assert_eq!(written["run"]["budget_ended"], true);
    for format in ["text", "markdown", "json"] {
        tool.out(&format!("export latest --format {format} -o file"));
        let imported = tool.done(&["import", "file", "--format", "json"]);
        assert_contains(&imported.err, &["file: matrix 2 of 2 ("]);
        let read: Value = serde_json::from_str(&imported.out).unwrap();
        assert_eq!(list(&read["matrices"]).len(), 1, "{format}");
        assert_alike(&cells(&written).0, &cells(&read).0, rounding(format, "multichase"), format);
    }
}

#[test]
fn pairs_outside_the_request_are_not_missing() {
    let printed = Tool::new().out(&format!("{LATENCY} --no-save --as c2clat --pairs 0-1,2-3"));
    assert!(!printed.contains("# !"), "{printed}");
}

#[test]
fn an_imitated_tool_with_a_coarse_clock_is_marked() {
    let line = format!("{LATENCY} --no-save --as coherency-latency --samples 1 --iterations 5");
    let Said { code, err, .. } = Tool::new().call(&words(&line));
    assert!(code == 3 && err.contains("the clock of that tool is too coarse"), "{err}");
}

#[test]
fn an_export_has_the_requested_order_and_a_bare_matrix_is_by_id() {
    let tool = Tool::new();
    tool.out(&format!("{LATENCY} --budget 1s"));
    let export = |options: &str| tool.out(&format!("export latest --format {options}"));
    for (options, start, expected) in [
        ("csv", "cpu,", "0,4,1,5,2,6,3,7"),
        ("csv --order id", "cpu,", "0,1,2,3,4,5,6,7"),
        ("markdown --order id", "|   ns |", "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |"),
    ] {
        let table = export(options);
        let heading = table.lines().find_map(|line| line.strip_prefix(start)).unwrap();
        assert_eq!(words(heading), words(expected), "{options}");
    }
    let bare = export("c2c-csv");
    assert_eq!(bare, export("c2c-csv --order topology"));
    // Siblings 0 and 4 are close, CPUs 0 and 1 are not.
    let row: Vec<f64> =
        bare.lines().nth(4).unwrap().split(',').filter_map(|cell| cell.parse().ok()).collect();
    assert!(row[0] < 10.0 && row[1..].iter().all(|ns| *ns > 10.0), "{row:?}");
}

#[test]
fn exports_of_coretalk_are_recognised_and_keep_the_simulated_mark() {
    let tool = Tool::new();
    tool.out(&format!("{LATENCY} --budget 1s"));
    tool.out("export latest --format csv -o own.csv");
    for line in ["import own.csv", "topology --from own.csv"] {
        let screen = tool.out(line);
        assert_contains(&screen, &["SIMULATED laptop-smt", "4: 0,4 1,5 2,6 3,7"]);
        assert!(!screen.contains("another tool"), "{screen}");
    }
    assert_contains(&tool.out("advise -n 2 --from own.csv"), &["SIMULATED"]);
    assert_contains(&tool.out("import own.csv --format csv"), &["# simulated: true\n"]);
    // A converted file of another tool is not marked as coretalk's own.
    tool.write("theirs.csv", ",,\n5.5,,\n6.5,7.5,\n");
    tool.out("import theirs.csv --format csv -o converted.csv -q");
    assert_contains(&tool.out("import converted.csv"), &["Measured by another tool"]);
}

#[test]
fn one_bad_file_does_not_stop_the_others() {
    let tool = Tool::new();
    tool.write("good.csv", ",,\n5.5,,\n6.5,7.5,\n");
    tool.write("bad.csv", ",,\nfast,,\n6.5,7.5,\n");
    for command in ["import", "lint"] {
        let Said { code, out, err } = tool.call(&[command, "bad.csv", "good.csv", "missing.csv"]);
        assert_eq!(code, 4, "{command}: {err}");
        assert_contains(&out, &["good.csv"]);
        assert_contains(&err, &["bad.csv: failed to read line 2", "missing.csv"]);
        assert_eq!(tool.call(&[command, "bad.csv"]).code, 4);
    }
}

#[test]
fn an_imitated_tool_accepts_its_own_counts_and_prints_its_own_csv() {
    let tool = Tool::new();
    let as_tool = |more: &str| tool.out(&format!("{LATENCY} --no-save --as core-to-core-latency {more}"));
    let output = as_tool("500 30");
    assert_contains(&output, &["samples: 500\nNum samples: 30\n", "iterations per samples: 500"]);
    assert_contains(&as_tool("500"), &["Num samples: 300\n"]);
    assert_eq!(output, as_tool("--samples 30 --iterations 500"));
    let csv = as_tool("500 30 --format c2c-csv");
    assert_eq!(csv.lines().count(), 8);
    for (row, line) in csv.lines().enumerate() {
        let is_value: Vec<bool> = line.split(',').map(|cell| cell.parse::<f64>().is_ok()).collect();
        assert_eq!(is_value, (0..8).map(|column| column < row).collect::<Vec<_>>(), "{csv}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn names_of_files_need_not_be_utf8() {
    let tool = Tool::new();
    tool.out(&format!("{LATENCY} --budget 1s --name run"));
    tool.out("export run --format csv -o m.csv");
    let [matrix, run] = [&b"matrix-\xff.csv"[..], b"run-\xff.coretalk"].map(OsStr::from_bytes);
    std::fs::rename(tool.path().join("m.csv"), tool.path().join(matrix)).unwrap();
    std::fs::copy(tool.out("runs path run").trim_end(), tool.path().join(run)).unwrap();
    let prefixed = |prefix: &str, name: &OsStr| {
        OsStr::from_bytes(&[prefix.as_bytes(), name.as_bytes()].concat()).to_owned()
    };
    let done = |line: &str, files: &[&OsStr]| {
        let output = tool.command(&words(line)).args(files).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    for line in ["export", "runs show"] {
        done(line, &[run]);
    }
    let path = done("runs path", &[run]);
    assert!(path.strip_suffix(b"\n").unwrap().ends_with(run.as_bytes()), "{path:?}");
    for file in [matrix, run] {
        done("report -o page.html", &[file]);
        done("compare", &[file, file]);
        done("advise -n 2 --from", &[file]);
        done("topology --from", &[file]);
    }
    done("compare", &[&prefixed("a=", matrix), &prefixed("b=", matrix)]);
    done("topology --seed 1 --machine", &[&prefixed("sim:", matrix)]);
}
