//! `view` and `lint`: files of any tool as a table and a plot, a page or a picture, and doubtful values in matrices.

use super::tool::{Tool, flat, said};
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
    let tool = Tool::new();
    let mut shown = 0;
    for file in files(folder) {
        let output = tool.call(&["view", file.to_str().unwrap()]);
        assert_eq!(output.code, 0, "{}: {}", file.display(), output.err);
        assert!(output.out.contains("max") && output.out.contains('┴'), "{}: {}", file.display(), output.out);
        assert!(output.out.lines().all(|line| line.chars().count() <= 100), "{}", output.out);
        shown += 1;
    }
    assert!(shown >= 23, "{shown}");
}

#[test]
fn interval_logs_are_shown_or_refused_with_their_version() {
    let Some(folder) = data("other-histograms/hlog") else { return };
    let tool = Tool::new();
    for file in files(folder) {
        let name = file.file_name().unwrap().to_str().unwrap();
        let output = tool.call(&["view", file.to_str().unwrap()]);
        let version = ["V0", "V1"].into_iter().find(|version| name.contains(&format!("log{version}")));
        match version {
            Some(version) => {
                assert_eq!((output.code, output.err.lines().count()), (4, 1), "{name}: {}", output.err);
                assert!(
                    output.err.contains(&format!("encoded as {version}")) && output.err.contains("line 5"),
                    "{}",
                    output.err
                );
            }
            None => {
                assert_eq!(output.code, 0, "{name}: {}", output.err);
                // The file `bug…` has a line that ends in a space, and an empty interval.
                assert_eq!(
                    output.err.contains("nothing was counted"),
                    name.starts_with("bug"),
                    "{name}: {}",
                    output.err
                );
            }
        }
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
        let output = tool.call(&["view", folder.join(name).to_str().unwrap()]);
        assert_eq!(output.code, code, "{name}: {}", output.err);
        assert!(
            output.err.contains(part) && output.err.lines().count() == usize::from(!part.is_empty()),
            "{name}: {}",
            output.err
        );
    }
    let [plain, odd] =
        ["hgrm/pauseintrinsics/Kaveri-Pause.hgrm", "hostile/hgrm-ok-crlf-bom.hgrm"].map(|file| {
            let path = data(file).unwrap();
            let output = tool.done(&["view", path.to_str().unwrap()]).out;
            let rows = output.lines().filter(|line| line.contains(" %  "));
            rows.map(flat).collect::<Vec<_>>()
        });
    assert_eq!(plain, odd);
}

#[test]
fn exported_distributions_read_back_to_the_digit() {
    let tool = Tool::new();
    let words =
        ["wait", "--machine", "sim:chiplet-16", "--seed", "1", "--strategy", "pause,busy", "--cpus", "0,1"];
    tool.done(&[&words[..], &["-q", "--export-hgrm", "tables"]].concat());
    let file = tool.path().join("tables/wait-pause-0-1-trip.hgrm");
    let text = std::fs::read_to_string(&file).unwrap();
    let output =
        tool.done(&["view", "tables/wait-pause-0-1-trip.hgrm", "tables/wait-busy-0-1-trip.hgrm"]).out;
    let median = text.lines().find(|line| line.contains(" 0.500000000000 ")).unwrap();
    let median = median.split_whitespace().next().unwrap();
    let row = output.lines().find(|line| line.trim().starts_with("50 %")).unwrap();
    assert!(row.split_whitespace().any(|word| word == median), "{median} is not in {row}");
    assert!(output.contains("Values in ns") && output.contains(" * wait-pause-0-1-trip"), "{output}");
    let refused = tool.call(&["view", "missing.hgrm"]);
    assert_eq!((refused.code, refused.err.lines().count()), (4, 1), "{}", refused.err);
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
        let output = tool.call(&["view", "bad.hgrm"]);
        assert_eq!(
            (output.code, output.err.lines().count(), output.out.as_str()),
            (4, 1, ""),
            "{}",
            output.err
        );
        assert!(output.err.contains("line 5") && output.err.contains(wrong), "{}", output.err);
    }
}

#[test]
fn several_files_show_their_difference_at_each_percentile() {
    let tool = Tool::new();
    let table = |values: [f64; 3]| {
        let [low, middle, high] = values;
        format!(
            "Value(ms) Percentile TotalCount 1/(1-Percentile)\n{low:.2} 0.5 50 2.0\n{middle:.2} 0.9 90 10.0\n{high:.2} 1.0 100 inf\n"
        )
    };
    tool.write("a.hgrm", table([1.0, 2.0, 4.0]));
    tool.write("b.hgrm", table([1.5, 2.0, 3.0]));
    let viewed = tool.done(&["view", "a.hgrm", "b.hgrm"]).out;
    for row in [
        "50 % 1.00 1.50 +50.0 %",
        "90 % 2.00 2.00 0.0 %",
        "max 4.00 3.00 -25.0 %",
        "Values in ms",
        "%: difference from a.",
    ] {
        assert!(flat(&viewed).contains(row), "{row}: {viewed}");
    }
    assert_eq!(tool.done(&["compare", "a.hgrm", "b.hgrm"]).out, viewed);
    let named = tool.done(&["compare", "old=a.hgrm", "new=b.hgrm"]).out;
    for row in [" old new ", "50 % 1.00 1.50 +50.0 %", "%: difference from old."] {
        assert!(flat(&named).contains(row), "{row}: {named}");
    }
    let input = std::fs::File::open(tool.path().join("a.hgrm")).unwrap();
    let piped = said(tool.command(&["compare", "-", "b.hgrm"]).stdin(input).output().unwrap());
    assert!(flat(&piped.out).contains("50 % 1.00 1.50 +50.0 %"), "{piped:?}");
    tool.refused(&["compare", "a.hgrm", "b.hgrm", "--fail-on", "slower"], 2, "without intervals");
    tool.refused(&["compare", "a.hgrm", "b.hgrm", "--format", "json"], 2, "use text");
    // Values in different units are not compared.
    tool.write("c.hgrm", table([1.0, 2.0, 4.0]).replace("ms", "us"));
    let units = tool.done(&["view", "a.hgrm", "c.hgrm"]).out;
    assert!(!units.contains("+0.0 %") && flat(&units).contains("units may differ"), "{units}");
}

#[test]
fn the_unit_of_a_log_with_the_default_ratio_is_marked_as_assumed() {
    let tool = Tool::new();
    // Contains values in microseconds: 500 times 100, 400 times 200, 99 times 900, and once 500,223.
    let log = "0.000,1.000,0.500,HISTFAAAADJ4nJNpmSzMwMAgwAABzFCaEch0M9ixgMH+A0TgOOML9qOMC9i+ch1j3D6BkQkA0GcKjg==\n";
    tool.write("log.hlog", log);
    let screen = tool.done(&["view", "log.hlog"]).out;
    assert!(screen.contains("Values in ns, assumed"), "{screen}");
    assert!(flat(&screen).contains("99.9 % 900 max 500223") && !screen.contains('≤'), "{screen}");
    // With a table that states its unit, differences are shown, with a note about the assumed unit.
    tool.write(
        "own.hgrm",
        "#x; Value in ns\nValue Percentile TotalCount 1/(1-Percentile)\n\n50.0 0.5 1 2.0\n400.0 1.0 2\n",
    );
    let both = tool.done(&["compare", "own.hgrm", "log.hlog"]).out;
    assert!(both.contains("Values in ns, which is assumed of log"), "{both}");
    assert!(flat(&both).contains("50 % 50.0 100 +100.0 %"), "{both}");
    let empty = "Value Percentile TotalCount 1/(1-Percentile)\n\n0.000 1.000000 0 inf\n";
    tool.write("empty.hgrm", empty);
    let output = tool.done(&["view", "empty.hgrm"]);
    assert!(output.out.contains("no events") && !output.out.contains("max"), "{}", output.out);
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
    assert!(page.contains("script-src 'none'") && !page.contains("<script"), "{page}");
    assert!(
        page.contains("&lt;img src=x onerror=alert(1)&gt;&amp;&#39;") && !page.contains("<img"),
        "{page}"
    );
    assert!(page.contains("the file is truncated"), "{page}");
    // One row per file, as on the terminal; neither file has the 99th percentile.
    for part in ["<th scope=\"row\">one</th>", "<td>40.000</td>", "<td>9000.000</td>", "Value by percentile"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("99 %</th>"), "{page}");
    let directory = tool.path().display().to_string();
    assert!(!page.contains(&directory), "the directory of the files is private");

    tool.done(&["view", "one.hgrm", "-o", "one.svg"]);
    let svg = tool.read("one.svg");
    assert!(svg.starts_with("<svg") && svg.contains("one: value by percentile"), "{svg}");
    tool.done(&["view", "one.hgrm", "-o", "one.PNG"]);
    assert!(std::fs::read(tool.path().join("one.PNG")).unwrap().starts_with(b"\x89PNG"));
    tool.done(&["view", "one.hgrm", "-o", "one.txt"]);
    assert!(tool.read("one.txt").contains("9000.000"));
}

#[test]
fn an_empty_picture_is_refused_and_leaves_no_file() {
    let tool = Tool::new();
    let empty =
        "       Value     Percentile TotalCount 1/(1-Percentile)\n\n       0.000 1.000000000000          1\n";
    tool.write("zero.hgrm", empty);
    let output = tool.done(&["view", "zero.hgrm", "-o", "zero.svg"]);
    assert_eq!(output.err, "", "a single zero is a line");
    let missing = tool.call(&["view", "zero.hgrm", "none.hgrm", "-o", "none.html"]);
    assert_eq!((missing.code, missing.err.lines().count()), (4, 1), "{}", missing.err);
    assert!(!tool.path().join("none.html").exists());
}

#[test]
fn doubts_name_their_cells_and_fail_only_with_strict() {
    let tool = Tool::new();
    tool.write("clean.csv", ",,\n41.5,,\n40.2,40.9,\n");
    tool.write("zero.csv", ",,\n0.0,,\n51.7,53.3,\n");
    tool.write("broken.csv", "1,2,3\n4,5\n");
    let clean = tool.done(&["lint", "clean.csv", "--strict"]).out;
    assert!(clean.contains("nothing doubtful found"), "{clean}");
    let both = tool.done(&["lint", "clean.csv", "zero.csv"]).out;
    assert!(both.contains("impossible  CPUs 0 and 1: the value is exactly 0"), "{both}");
    let strict = tool.call(&["lint", "clean.csv", "zero.csv", "--strict"]);
    assert_eq!((strict.code, strict.out.as_str()), (1, both.as_str()));
    assert!(strict.err.contains("1 of 2 matrices are doubtful"), "{}", strict.err);
    let broken = tool.call(&["lint", "clean.csv", "broken.csv"]);
    assert_eq!(
        (broken.code, broken.out.as_str(), broken.err.lines().count()),
        (4, clean.as_str(), 1),
        "{}",
        broken.err
    );
    assert!(broken.err.contains("broken.csv: failed to read line 2"), "{}", broken.err);
}

/// Returns the first capture of a pattern, regardless of line breaks.
fn first_capture(text: &str, pattern: &str) -> Option<String> {
    let flat = flat(text);
    Some(regex::Regex::new(pattern).unwrap().captures(&flat)?[1].to_owned())
}

#[test]
fn lint_and_topology_name_the_same_doubts_of_every_published_matrix() {
    let root = format!("{}/../shared/data/latency-matrices", env!("CARGO_MANIFEST_DIR"));
    let Ok(machines) = std::fs::read_dir(&root) else {
        println!("skipped: {root} is absent");
        return;
    };
    let tool = Tool::new();
    let mut counts = [0; 3];
    for file in machines.flat_map(|machine| std::fs::read_dir(machine.unwrap().path()).unwrap()) {
        let file = file.unwrap().path();
        let name = file.to_str().unwrap();
        let [lint, topology] =
            [&["lint", name][..], &["topology", "--from", name]].map(|words| tool.done(words).out);
        let patterns = [
            (r" (\d{1,3}(?: \d{3})*) pairs? (?:do|does|is|are) (?:not fit|unlike)", 0),
            (r"the values are multiples of ([\d.]+)", 1),
        ];
        for (pattern, kind) in patterns {
            let found = [&lint, &topology].map(|text| first_capture(text, pattern));
            assert_eq!(found[0], found[1], "{name}: {lint}{topology}");
            counts[kind] += usize::from(found[0].is_some());
        }
        let scatter = first_capture(&lint, r"values vary by ([\d.]+) %");
        if scatter.is_some() {
            assert_eq!(
                scatter,
                first_capture(&topology, r"values scatter by ([\d.]+) %"),
                "{name}: {lint}{topology}"
            );
            counts[2] += 1;
        }
    }
    assert!(counts[0] > 20 && counts[1] > 3 && counts[2] > 2, "{counts:?}");
}
