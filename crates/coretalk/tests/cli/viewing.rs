//! `view` and `lint`: files of any tool as a table and a plot, a page or a picture, and doubtful values in matrices.

use super::tool::{Said, Tool, assert_contains, assert_fits, flat, said, words};
use std::path::PathBuf;

/// Returns the path of published data, if it is available.
fn data(relative: &str) -> Option<PathBuf> {
    let fallback = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let path = std::env::var_os("CORETALK_TEST_DATA").map_or(fallback, PathBuf::from).join(relative);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} is not here", path.display());
    None
}

fn files(folder: PathBuf) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(path)) } else { found.push(path) }
    }
    found.sort();
    found
}

#[test]
fn every_published_percentile_file_is_shown() {
    let Some(folder) = data("hgrm") else { return };
    let (tool, files) = (Tool::new(), files(folder));
    for file in &files {
        let screen = tool.done(&["view", file.to_str().unwrap()]).out;
        assert_contains(&screen, &["max", "┴"]);
        assert_fits(&screen);
    }
    assert!(files.len() >= 23, "{files:?}");
}

#[test]
fn interval_logs_are_shown_or_refused_with_their_version() {
    let Some(folder) = data("other-histograms/hlog") else { return };
    let tool = Tool::new();
    for file in files(folder) {
        let name = file.file_name().unwrap().to_str().unwrap();
        let words = ["view", file.to_str().unwrap()];
        if let Some(version) = ["V0", "V1"].iter().find(|version| name.contains(&format!("log{version}"))) {
            assert_contains(&tool.refusal(&words, 4), &[&format!("encoded as {version}"), "line 5"]);
            continue;
        }
        let output = tool.done(&words);
        // The file `bug…` has a line that ends in a space, and an empty interval.
        let is_empty = output.err.contains("nothing was counted");
        assert_eq!(is_empty, name.starts_with("bug"), "{name}: {}", output.err);
        if name.starts_with("tagged") {
            // The file has the same intervals with and without a tag.
            let counts = output.out.lines().find(|line| line.trim().starts_with("count")).unwrap();
            let counts: Vec<&str> = counts.split("  ").filter(|part| !part.trim().is_empty()).collect();
            assert_eq!(counts.len(), 3, "{}", output.out);
            assert_eq!(counts[1].trim(), counts[2].trim());
        }
    }
}

#[test]
fn hostile_files_are_shown_or_refused_with_a_reason() {
    let Some(folder) = data("hostile") else { return };
    let tool = Tool::new();
    for (name, code, part) in [
        ("hgrm-ok-crlf-bom.hgrm", 0, ""),
        ("hgrm-ok-comma-decimal.hgrm", 0, "decimal mark is a comma"),
        ("hgrm-bad-truncated.hgrm", 0, "the file is truncated"),
        ("hgrm-bad-decreasing.hgrm", 4, "must not decrease"),
        ("hgrm-bad-count-mismatch.hgrm", 0, "the line below the table 12"),
        ("bad-empty.csv", 4, "the file is empty"),
        ("bad-binary.csv", 4, "not text"),
        ("bad-html.csv", 4, "no percentile table"),
        ("bad-ragged.csv", 4, "no percentile table"),
    ] {
        let Said { code: actual, err, .. } = tool.call(&["view", folder.join(name).to_str().unwrap()]);
        assert_eq!((actual, err.lines().count()), (code, usize::from(!part.is_empty())), "{name}: {err}");
        assert!(err.contains(part), "{name}: {err}");
    }
    let [plain, odd] =
        ["hgrm/pauseintrinsics/Kaveri-Pause.hgrm", "hostile/hgrm-ok-crlf-bom.hgrm"].map(|file| {
            let output = tool.done(&["view", data(file).unwrap().to_str().unwrap()]).out;
            output.lines().filter(|line| line.contains(" %  ")).map(flat).collect::<Vec<_>>()
        });
    assert_eq!(plain, odd);
}

#[test]
fn exported_distributions_read_back_to_the_digit() {
    let tool = Tool::new();
    tool.out(
        "wait --machine sim:chiplet-16 --seed 1 --strategy pause,busy --cpus 0,1 -q --export-hgrm tables",
    );
    let text = tool.read("tables/wait-pause-0-1-trip.hgrm");
    let output = tool.out("view tables/wait-pause-0-1-trip.hgrm tables/wait-busy-0-1-trip.hgrm");
    let median = words(text.lines().find(|line| line.contains(" 0.500000000000 ")).unwrap())[0];
    let row = output.lines().find(|line| line.trim().starts_with("50 %")).unwrap();
    assert!(words(row).contains(&median), "{median} is not in {row}");
    assert_contains(&output, &["Values in ns", " * wait-pause-0-1-trip"]);
    tool.refusal(&["view", "missing.hgrm"], 4);
    let none = tool.call(&["view", "tables/wait-pause-0-1-trip.hgrm", "tables"]);
    assert_eq!((none.code, none.out.as_str()), (4, ""), "{}", none.err);
}

/// A truncated percentile table of another tool, without a unit.
const CUT: &str = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n\
                   \x20      1.000 0.000000000000          1           1.00\n\
                   \x20     40.000 0.500000000000         50           2.00\n\
                   \x20   9000.000 0.900000000000         90          10.00\n";

#[test]
fn an_unreadable_row_is_an_error_with_its_location() {
    let tool = Tool::new();
    for (row, wrong) in [
        ("x 0.6 60 2.5", "its value `x` is not a number"),
        ("50.000 0.6", "it has 2 fields, expected 3 or 4"),
        ("50.000 0.6 60 2.5 7", "it has 5 fields, expected 3 or 4"),
    ] {
        let at = CUT.find("    9000").unwrap();
        tool.write("bad.hgrm", [&CUT[..at], row, "\n", &CUT[at..]].concat());
        assert_contains(&tool.refusal(&["view", "bad.hgrm"], 4), &["line 5", wrong]);
    }
}

#[test]
fn several_files_show_their_difference_at_each_percentile() {
    let tool = Tool::new();
    let table = |[low, middle, high]: [f64; 3]| {
        let rows = format!("{low:.2} 0.5 50 2.0\n{middle:.2} 0.9 90 10.0\n{high:.2} 1.0 100 inf\n");
        format!("Value(ms) Percentile TotalCount 1/(1-Percentile)\n{rows}")
    };
    tool.write("a.hgrm", table([1.0, 2.0, 4.0]));
    tool.write("b.hgrm", table([1.5, 2.0, 3.0]));
    let viewed = tool.out("view a.hgrm b.hgrm");
    assert_contains(
        &flat(&viewed),
        &[
            "50 % 1.00 1.50 +50.0 %",
            "90 % 2.00 2.00 0.0 %",
            "max 4.00 3.00 -25.0 %",
            "Values in ms",
            "%: difference from a.",
        ],
    );
    assert_eq!(tool.out("compare a.hgrm b.hgrm"), viewed);
    let named = flat(&tool.out("compare old=a.hgrm new=b.hgrm"));
    assert_contains(&named, &[" old new ", "50 % 1.00 1.50 +50.0 %", "%: difference from old."]);
    let input = std::fs::File::open(tool.path().join("a.hgrm")).unwrap();
    let piped = said(tool.command(&["compare", "-", "b.hgrm"]).stdin(input).output().unwrap());
    assert_contains(&flat(&piped.out), &["50 % 1.00 1.50 +50.0 %"]);
    tool.refused(&words("compare a.hgrm b.hgrm --fail-on slower"), 2, "without intervals");
    tool.refused(&words("compare a.hgrm b.hgrm --format json"), 2, "use text");
    // Values in different units are not compared.
    tool.write("c.hgrm", table([1.0, 2.0, 4.0]).replace("ms", "us"));
    let units = flat(&tool.out("view a.hgrm c.hgrm"));
    assert!(!units.contains("+0.0 %") && units.contains("units may differ"), "{units}");
}

#[test]
fn the_unit_of_a_log_with_the_default_ratio_is_marked_as_assumed() {
    let tool = Tool::new();
    // Contains values in microseconds: 500 times 100, 400 times 200, 99 times 900, and once 500,223.
    let log = "0.000,1.000,0.500,HISTFAAAADJ4nJNpmSzMwMAgwAABzFCaEch0M9ixgMH+A0TgOOML9qOMC9i+ch1j3D6BkQkA0GcKjg==\n";
    tool.write("log.hlog", log);
    let screen = flat(&tool.out("view log.hlog"));
    assert_contains(&screen, &["Values in ns, assumed", "99.9 % 900 max 500223"]);
    assert!(!screen.contains('≤'), "{screen}");
    // With a table that states its unit, differences are shown, with a note about the assumed unit.
    let heading = "Value Percentile TotalCount 1/(1-Percentile)\n\n";
    tool.write("own.hgrm", format!("#x; Value in ns\n{heading}50.0 0.5 1 2.0\n400.0 1.0 2\n"));
    let screen = flat(&tool.out("compare own.hgrm log.hlog"));
    assert_contains(&screen, &["Values in ns, which is assumed of log", "50 % 50.0 100 +100.0 %"]);
    tool.write("empty.hgrm", format!("{heading}0.000 1.000000 0 inf\n"));
    let empty = tool.out("view empty.hgrm");
    assert!(empty.contains("no events") && !empty.contains("max"), "{empty}");
}

#[test]
fn files_become_a_page_that_needs_no_script_and_pictures() {
    let tool = Tool::new();
    let evil = "<img src=x onerror=alert(1)>&'.hgrm";
    for name in ["one.hgrm", evil] {
        tool.write(name, CUT);
    }
    let output = tool.done(&["view", "one.hgrm", evil, "-o", "page.html"]);
    assert_eq!((output.out.as_str(), output.err.lines().count()), ("", 2), "both are cut: {}", output.err);
    let page = tool.read("page.html");
    // One row per file, as on the terminal; neither file has the 99th percentile.
    assert_contains(
        &page,
        &[
            "script-src 'none'",
            "&lt;img src=x onerror=alert(1)&gt;&amp;&#39;",
            "the file is truncated",
            "<th scope=\"row\">one</th>",
            "<td>40.000</td>",
            "<td>9000.000</td>",
            "Value by percentile",
        ],
    );
    let directory = tool.path().display().to_string();
    for absent in ["<script", "<img", "99 %</th>", &directory] {
        assert!(!page.contains(absent), "{absent}: {page}");
    }
    for name in ["one.svg", "one.PNG", "one.txt"] {
        tool.done(&["view", "one.hgrm", "-o", name]);
    }
    let svg = tool.read("one.svg");
    assert!(svg.starts_with("<svg") && svg.contains("one: value by percentile"), "{svg}");
    assert!(std::fs::read(tool.path().join("one.PNG")).unwrap().starts_with(b"\x89PNG"));
    assert_contains(&tool.read("one.txt"), &["9000.000"]);
}

#[test]
fn an_empty_picture_is_refused_and_leaves_no_file() {
    let tool = Tool::new();
    let empty =
        "       Value     Percentile TotalCount 1/(1-Percentile)\n\n       0.000 1.000000000000          1\n";
    tool.write("zero.hgrm", empty);
    let output = tool.done(&["view", "zero.hgrm", "-o", "zero.svg"]);
    assert_eq!(output.err, "", "a single zero is a line");
    tool.refusal(&words("view zero.hgrm none.hgrm -o none.html"), 4);
    assert!(!tool.path().join("none.html").exists());
}

#[test]
fn doubts_name_their_cells_and_fail_only_with_strict() {
    let tool = Tool::new();
    tool.write("clean.csv", ",,\n41.5,,\n40.2,40.9,\n");
    tool.write("zero.csv", ",,\n0.0,,\n51.7,53.3,\n");
    tool.write("broken.csv", "1,2,3\n4,5\n");
    let clean = tool.out("lint clean.csv --strict");
    assert_contains(&clean, &["nothing doubtful found"]);
    let both = tool.out("lint clean.csv zero.csv");
    assert_contains(&both, &["impossible  CPUs 0 and 1: the value is exactly 0"]);
    let strict = tool.call(&words("lint clean.csv zero.csv --strict"));
    assert_eq!((strict.code, strict.out), (1, both));
    assert_contains(&strict.err, &["1 of 2 matrices are doubtful"]);
    let broken = tool.call(&words("lint clean.csv broken.csv"));
    assert_eq!((broken.code, broken.out, broken.err.lines().count()), (4, clean, 1), "{}", broken.err);
    assert_contains(&broken.err, &["broken.csv: failed to read line 2"]);
}

/// Returns the first capture of a pattern, regardless of line breaks.
fn first_capture(text: &str, pattern: &str) -> Option<String> {
    let flat = flat(text);
    Some(regex::Regex::new(pattern).unwrap().captures(&flat)?[1].to_owned())
}

#[test]
fn lint_and_topology_name_the_same_doubts_of_every_published_matrix() {
    let Some(folder) = data("latency-matrices") else { return };
    let tool = Tool::new();
    let mut counts = [0; 3];
    for file in files(folder) {
        let name = file.to_str().unwrap();
        let [lint, topology] =
            [&["lint", name][..], &["topology", "--from", name]].map(|words| tool.done(words).out);
        let unfit = r" (\d{1,3}(?: \d{3})*) pairs? (?:do|does|is|are) (?:not fit|unlike)";
        let step = r"the values are multiples of ([\d.]+)";
        let [vary, scatter] = [r"values vary by ([\d.]+) %", r"values scatter by ([\d.]+) %"];
        for (kind, [of_lint, of_topology]) in [[unfit; 2], [step; 2], [vary, scatter]].iter().enumerate() {
            let found = first_capture(&lint, of_lint);
            // Only `topology` always names the scatter.
            if found.is_some() || kind < 2 {
                assert_eq!(found, first_capture(&topology, of_topology), "{name}: {lint}{topology}");
            }
            counts[kind] += usize::from(found.is_some());
        }
    }
    assert!(counts[0] > 20 && counts[1] > 3 && counts[2] > 2, "{counts:?}");
}
