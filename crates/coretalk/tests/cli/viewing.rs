//! `view` and `lint`: files of any tool as a table and a plot, a page or a picture, and doubtful values in matrices.

use super::tool::{Tool, flat, said};
use std::path::PathBuf;

/// Returns the path of published data, if it is available.
fn data(below: &str) -> Option<PathBuf> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let path = std::env::var_os("CORETALK_TEST_DATA").map_or(beside, PathBuf::from).join(below);
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
        let said = tool.call(&["view", file.to_str().unwrap()]);
        assert_eq!(said.code, 0, "{}: {}", file.display(), said.err);
        assert!(said.out.contains("max") && said.out.contains('┴'), "{}: {}", file.display(), said.out);
        assert!(said.out.lines().all(|line| line.chars().count() <= 100), "{}", said.out);
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
        let said = tool.call(&["view", file.to_str().unwrap()]);
        let version = ["V0", "V1"].into_iter().find(|version| name.contains(&format!("log{version}")));
        match version {
            Some(version) => {
                assert_eq!((said.code, said.err.lines().count()), (4, 1), "{name}: {}", said.err);
                assert!(
                    said.err.contains(&format!("encoded as {version}")) && said.err.contains("line 5"),
                    "{}",
                    said.err
                );
            }
            None => {
                assert_eq!(said.code, 0, "{name}: {}", said.err);
                // The file `bug…` has a line that ends in a space, and its interval is empty.
                assert_eq!(
                    said.err.contains("nothing was counted"),
                    name.starts_with("bug"),
                    "{name}: {}",
                    said.err
                );
            }
        }
        if name.starts_with("tagged") {
            // The same intervals with and without a tag.
            let counts = said.out.lines().find(|line| line.trim().starts_with("count")).unwrap();
            let counts: Vec<&str> = counts.split("  ").filter(|part| !part.trim().is_empty()).collect();
            assert_eq!(counts.len(), 3, "{}", said.out);
            assert_eq!(counts[1].trim(), counts[2].trim());
        }
    }
}

#[test]
fn hostile_files_do_what_is_expected_of_them() {
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
        let said = tool.call(&["view", folder.join(name).to_str().unwrap()]);
        assert_eq!(said.code, code, "{name}: {}", said.err);
        assert!(
            said.err.contains(part) && said.err.lines().count() == usize::from(!part.is_empty()),
            "{name}: {}",
            said.err
        );
    }
    let [plain, odd] =
        ["hgrm/pauseintrinsics/Kaveri-Pause.hgrm", "hostile/hgrm-ok-crlf-bom.hgrm"].map(|file| {
            let path = data(file).unwrap();
            let said = tool.done(&["view", path.to_str().unwrap()]).out;
            let rows = said.lines().filter(|line| line.contains(" %  "));
            rows.map(flat).collect::<Vec<_>>()
        });
    assert_eq!(plain, odd);
}

#[test]
fn what_was_measured_here_reads_back_to_the_digit() {
    let tool = Tool::new();
    let words =
        ["wait", "--machine", "sim:chiplet-16", "--seed", "1", "--strategy", "pause,busy", "--cpus", "0,1"];
    tool.done(&[&words[..], &["-q", "--export-hgrm", "tables"]].concat());
    let file = tool.path().join("tables/wait-pause-0-1-trip.hgrm");
    let text = std::fs::read_to_string(&file).unwrap();
    let said = tool.done(&["view", "tables/wait-pause-0-1-trip.hgrm", "tables/wait-busy-0-1-trip.hgrm"]).out;
    let median = text.lines().find(|line| line.contains(" 0.500000000000 ")).unwrap();
    let median = median.split_whitespace().next().unwrap();
    let row = said.lines().find(|line| line.trim().starts_with("50 %")).unwrap();
    assert!(row.split_whitespace().any(|word| word == median), "{median} is not in {row}");
    assert!(said.contains("Values in ns") && said.contains(" * wait-pause-0-1-trip"), "{said}");
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
fn a_row_that_cannot_be_read_is_named_and_not_left_out() {
    let tool = Tool::new();
    for (row, wrong) in [
        ("x 0.6 60 2.5", "its value `x` is not a number"),
        ("50.000 0.6", "it has 2 fields, expected 3 or 4"),
        ("50.000 0.6 60 2.5 7", "it has 5 fields, expected 3 or 4"),
    ] {
        let at = CUT.find("    9000").unwrap();
        tool.write("bad.hgrm", [&CUT[..at], row, "\n", &CUT[at..]].concat());
        let said = tool.call(&["view", "bad.hgrm"]);
        assert_eq!((said.code, said.err.lines().count(), said.out.as_str()), (4, 1, ""), "{}", said.err);
        assert!(said.err.contains("line 5") && said.err.contains(wrong), "{}", said.err);
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
fn a_log_divided_by_the_default_ratio_is_only_assumed_to_hold_nanoseconds() {
    let tool = Tool::new();
    // Values in microseconds: 500 of 100, 400 of 200, 99 of 900, and one of 500,223.
    let log = "0.000,1.000,0.500,HISTFAAAADJ4nJNpmSzMwMAgwAABzFCaEch0M9ixgMH+A0TgOOML9qOMC9i+ch1j3D6BkQkA0GcKjg==\n";
    tool.write("log.hlog", log);
    let screen = tool.done(&["view", "log.hlog"]).out;
    assert!(screen.contains("Values in ns, assumed"), "{screen}");
    assert!(flat(&screen).contains("99.9 % 900 max 500223") && !screen.contains('≤'), "{screen}");
    // Next to a table with an explicit unit: differences, and a note about the file with an assumed unit.
    tool.write(
        "own.hgrm",
        "#x; Value in ns\nValue Percentile TotalCount 1/(1-Percentile)\n\n50.0 0.5 1 2.0\n400.0 1.0 2\n",
    );
    let both = tool.done(&["compare", "own.hgrm", "log.hlog"]).out;
    assert!(both.contains("Values in ns, which is assumed of log"), "{both}");
    assert!(flat(&both).contains("50 % 50.0 100 +100.0 %"), "{both}");
    let empty = "Value Percentile TotalCount 1/(1-Percentile)\n\n0.000 1.000000 0 inf\n";
    tool.write("empty.hgrm", empty);
    let said = tool.done(&["view", "empty.hgrm"]);
    assert!(said.out.contains("no events") && !said.out.contains("max"), "{}", said.out);
}

#[test]
fn files_become_a_page_that_needs_no_script_and_pictures() {
    let tool = Tool::new();
    let evil = "<img src=x onerror=alert(1)>&'.hgrm";
    for name in ["one.hgrm", evil] {
        tool.write(name, CUT);
    }
    let said = tool.done(&["view", "one.hgrm", evil, "-o", "page.html"]);
    assert_eq!((said.out.as_str(), said.err.lines().count()), ("", 2), "both are cut: {}", said.err);
    let page = tool.read("page.html");
    assert!(page.contains("script-src 'none'") && !page.contains("<script"), "{page}");
    assert!(
        page.contains("&lt;img src=x onerror=alert(1)&gt;&amp;&#39;") && !page.contains("<img"),
        "{page}"
    );
    assert!(page.contains("the file is truncated"), "{page}");
    // One row per file, as on the terminal; neither has the 99th percentile.
    for part in ["<th scope=\"row\">one</th>", "<td>40.000</td>", "<td>9000.000</td>", "Value by percentile"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("99 %</th>"), "{page}");
    let directory = tool.path().display().to_string();
    assert!(!page.contains(&directory), "where the files are is nobody's business");

    tool.done(&["view", "one.hgrm", "-o", "one.svg"]);
    let svg = tool.read("one.svg");
    assert!(svg.starts_with("<svg") && svg.contains("one: value by percentile"), "{svg}");
    tool.done(&["view", "one.hgrm", "-o", "one.PNG"]);
    assert!(std::fs::read(tool.path().join("one.PNG")).unwrap().starts_with(b"\x89PNG"));
    tool.done(&["view", "one.hgrm", "-o", "one.txt"]);
    assert!(tool.read("one.txt").contains("9000.000"));
}

#[test]
fn a_picture_of_nothing_is_refused_and_leaves_no_file() {
    let tool = Tool::new();
    let empty =
        "       Value     Percentile TotalCount 1/(1-Percentile)\n\n       0.000 1.000000000000          1\n";
    tool.write("zero.hgrm", empty);
    let said = tool.done(&["view", "zero.hgrm", "-o", "zero.svg"]);
    assert_eq!(said.err, "", "a single zero is a line");
    let missing = tool.call(&["view", "zero.hgrm", "none.hgrm", "-o", "none.html"]);
    assert_eq!((missing.code, missing.err.lines().count()), (4, 1), "{}", missing.err);
    assert!(!tool.path().join("none.html").exists());
}

#[test]
fn doubts_are_said_with_their_cells_and_only_strictness_makes_them_a_failure() {
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
fn part(text: &str, pattern: &str) -> Option<String> {
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
    let mut told = [0; 3];
    for file in machines.flat_map(|machine| std::fs::read_dir(machine.unwrap().path()).unwrap()) {
        let file = file.unwrap().path();
        let name = file.to_str().unwrap();
        let [lint, topology] =
            [&["lint", name][..], &["topology", "--from", name]].map(|words| tool.done(words).out);
        let of = [
            (r" (\d{1,3}(?: \d{3})*) pairs? (?:do|does|is|are) (?:not fit|unlike)", 0),
            (r"the values are multiples of ([\d.]+)", 1),
        ];
        for (pattern, kind) in of {
            let said = [&lint, &topology].map(|text| part(text, pattern));
            assert_eq!(said[0], said[1], "{name}: {lint}{topology}");
            told[kind] += usize::from(said[0].is_some());
        }
        let scatter = part(&lint, r"values vary by ([\d.]+) %");
        if scatter.is_some() {
            assert_eq!(scatter, part(&topology, r"values scatter by ([\d.]+) %"), "{name}: {lint}{topology}");
            told[2] += 1;
        }
    }
    assert!(told[0] > 20 && told[1] > 3 && told[2] > 2, "{told:?}");
}
