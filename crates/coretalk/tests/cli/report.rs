//! `report`: pages and pictures of runs and files, and refusals before any work.

use super::tool::Tool;

fn measure(tool: &Tool, words: &[&str]) {
    let common = ["latency", "--machine", "sim:laptop-smt", "--seed", "1", "--budget", "1s", "-q"];
    tool.done(&[&common[..], words].concat());
}

#[test]
fn the_file_extension_selects_page_or_picture() {
    let tool = Tool::new();
    measure(&tool, &["--name", "a"]);
    measure(&tool, &["--name", "b", "--cpus", "0-3"]);
    for (file, start) in [("z.html", &b"<!doctype html>"[..]), ("z.svg", b"<svg "), ("Z.PNG", b"\x89PNG")] {
        for runs in [&["a"][..], &["a", "b"], &["a", "b", "a"]] {
            let output = tool.done(&[&["report"], runs, &["-o", file]].concat());
            assert_eq!((output.out.as_str(), output.err.as_str()), ("", ""));
            assert!(std::fs::read(tool.path().join(file)).unwrap().starts_with(start), "{file}");
        }
    }
}

#[test]
fn the_page_contains_the_exported_data() {
    let tool = Tool::new();
    measure(&tool, &[]);
    tool.done(&["report", "latest", "-o", "z.html"]);
    let page = std::fs::read_to_string(tool.path().join("z.html")).unwrap();
    let block = page.split("id=\"data-0\">").nth(1).unwrap().split("</script>").next().unwrap();
    assert_eq!(block, tool.done(&["export", "latest", "--format", "json"]).out.replace('<', "\\u003c"));
    let view = page.split("id=\"view\">").nth(1).unwrap().split("</script>").next().unwrap();
    let view: serde_json::Value = serde_json::from_str(view).unwrap();
    let passes = view["runs"][0]["maps"][0]["passes"].as_array().unwrap();
    assert_eq!(passes.len(), 28, "every pair brings its passes");
    assert!(passes.iter().all(|pair| pair[2].as_array().unwrap().len() >= 8));
}

#[test]
fn invalid_report_commands_are_refused_before_the_work() {
    let tool = Tool::new();
    measure(&tool, &[]);
    for (words, code, parts) in [
        (&["report", "latest"][..], 2, &["-o report.html"][..]),
        (&["report", "latest", "-o", "z.pdf"], 2, &["z.pdf", ".html, .svg or .png"]),
        (&["report", "latest", "-o", "none/z.html"], 6, &["none/z.html"]),
        (&["report", "nobody", "-o", "z.html"], 2, &["nobody"]),
        (&["report", "-o", "z.html"], 2, &["RUN"]),
    ] {
        let output = tool.call(words);
        assert_eq!((output.code, output.err.lines().count()), (code, 1), "{words:?}: {}", output.err);
        for part in parts {
            assert!(output.err.contains(part), "{words:?}: {}", output.err);
        }
        assert!(!tool.path().join("z.html").exists(), "{words:?} leaves an empty file");
    }
}

#[test]
fn drawing_options_change_the_page() {
    let tool = Tool::new();
    measure(&tool, &[]);
    let page = |words: &[&str], file: &str| {
        tool.done(&[&["report", "latest", "-o", file], words].concat());
        std::fs::read(tool.path().join(file)).unwrap()
    };
    for file in ["z.html", "z.svg"] {
        let plain = page(&[], file);
        // By default, colours span the shown values.
        for words in [["--scale", "fixed"], ["--by", "thread"]] {
            assert_ne!(page(&words, file), plain, "{file} {words:?}");
        }
        // Siblings are adjacent in the reported order, but not in the order of ids.
        let reported = page(&["--by", "thread"], file);
        assert_ne!(page(&["--by", "thread", "--order", "id"], file), reported, "{file}");
    }
}

/// Returns the texts of a picture in drawing order.
fn words_of(svg: &str) -> Vec<String> {
    let texts = svg.split("<text").skip(1).filter_map(|rest| rest.split_once('>')?.1.split_once('<'));
    texts.map(|(text, _)| text.to_owned()).collect()
}

#[test]
fn one_cpu_and_smt_siblings_have_separate_numbers_everywhere() {
    let tool = Tool::new();
    let queue =
        ["queue", "--machine", "sim:laptop-smt", "--cpus", "0-2,4-6", "--seed", "1", "--queue", "semaphore"];
    let rest = ["--capacity", "1", "--budget", "10s", "--precision", "5%", "-q", "--name", "square"];
    let screen = tool.done(&[&queue[..], &rest].concat()).out;
    assert!(screen.contains("diagonal: both"), "{screen}");
    let document: serde_json::Value =
        serde_json::from_str(&tool.done(&["export", "square", "--format", "json"]).out).unwrap();
    let cells = document["matrices"][0]["cells"].as_array().unwrap();
    let rate = |pairs: [[u32; 2]; 2]| {
        let median = |[from, to]: [u32; 2]| {
            let cell = cells.iter().find(|cell| cell["from"] == from && cell["to"] == to).unwrap();
            cell["median"].as_f64().unwrap()
        };
        (median(pairs[0]) + median(pairs[1])) / 2.0
    };
    let thousands = |value: f64| format!("{:.0}k", value / 1e3);
    tool.done(&["report", "square", "-o", "z.svg"]);
    let words = words_of(&std::fs::read_to_string(tool.path().join("z.svg")).unwrap());
    for core in 0..3 {
        let (same_cpu, siblings) =
            (rate([[core; 2], [core + 4; 2]]), rate([[core, core + 4], [core + 4, core]]));
        assert!(
            same_cpu > 1.2 * siblings || siblings > 1.2 * same_cpu,
            "they differ: {same_cpu} and {siblings}"
        );
        for value in [same_cpu, siblings] {
            assert!(words.contains(&thousands(value)), "{} of core {core}: {words:?}", thousands(value));
        }
    }
    let has_diagonal_label = |words: &[String]| {
        words.join(" ").contains("diagonal: both on one CPU (upper half), threads of a core (lower half)")
    };
    assert!(has_diagonal_label(&words), "{words:?}");
    // With CPUs as rows, every number has its own cell, and the diagonal has its label.
    tool.done(&["report", "square", "-o", "z.svg", "--by", "thread"]);
    let words = words_of(&std::fs::read_to_string(tool.path().join("z.svg")).unwrap());
    assert!(
        !has_diagonal_label(&words) && words.join(" ").contains("diagonal: both on one CPU"),
        "{words:?}"
    );
    tool.done(&["report", "square", "-o", "z.html"]);
    let page = std::fs::read_to_string(tool.path().join("z.html")).unwrap();
    let view = page.split("id=\"view\">").nth(1).unwrap().split("</script>").next().unwrap();
    let view: serde_json::Value = serde_json::from_str(view).unwrap();
    assert_eq!(view["runs"][0]["alone"], serde_json::json!(["both on one CPU", "threads of a core"]));
}

#[test]
fn pictures_show_the_headline_quantity() {
    let tool = Tool::new();
    let whole: [(&[&str], &str, &[&str]); 9] = [
        (&["wake", "--cpus", "0,1"], "slept", &["wake: slept, median by gap", "wake, slept: percentiles"]),
        (
            &["contend", "--threads", "1,2,4", "--method", "mcs,ttas"],
            "ns_per_op_thread",
            &[
                "contend: thread ns by threads",
                "critical 50 ns, parallel 500 ns",
                "critical 0 ns, parallel 0 ns",
            ],
        ),
        (&["sharing", "--cpus", "0,1"], "shared_ns", &["sharing: ns both by"]),
        (&["broadcast"], "last", &["broadcast: last, median by readers"]),
        (&["jitter", "--for", "200ms"], "lost_share", &["jitter: lost"]),
        (&["spawn", "--kind", "thread,pool"], "latency", &["spawn: percentiles"]),
        (&["wait", "--strategy", "busy,pause", "--cpus", "0,1"], "trip", &["wait, trip: percentiles"]),
        (&["latency", "--gap", "1us,10us,100us", "--cpus", "0,1"], "half_net_ns", &["half, net ns by gap"]),
        (&["latency", "--load", "none,compute", "--pairs", "0-1"], "ratio", &["latency: ratio"]),
    ];
    for (words, headline, titles) in whole {
        let machine =
            ["--machine", "sim:chiplet-16", "--seed", "1", "-q", "--name", "run", "--precision", "10%"];
        let budget: &[&str] = if words[0] == "jitter" { &[] } else { &["--budget", "5s"] };
        let machine: &[&str] = if words[0] == "jitter" { &machine[..7] } else { &machine };
        tool.done(&[words, machine, budget].concat());
        let document: serde_json::Value =
            serde_json::from_str(&tool.done(&["export", "run", "--format", "json"]).out).unwrap();
        let series = document["series"].as_array().unwrap();
        assert!(series.iter().any(|one| one["headline"] == headline), "{words:?}: {}", series[0]);
        tool.done(&["report", "run", "-o", "z.svg"]);
        let drawn = words_of(&std::fs::read_to_string(tool.path().join("z.svg")).unwrap());
        tool.done(&["report", "run", "-o", "z.html"]);
        let page = std::fs::read_to_string(tool.path().join("z.html")).unwrap();
        // A picture shows one figure, a page shows all.
        let drawn = drawn.join(" ");
        assert!(drawn.contains(titles[0]), "{} of {words:?}: {drawn}", titles[0]);
        for title in titles {
            assert!(page.contains(title), "{title} of {words:?}");
        }
        let (title, _) = titles[0].split_once(" by ").unwrap_or((titles[0], ""));
        let first = page.split("<figure>").nth(1).unwrap();
        assert!(first.contains(title), "{words:?}: the first figure of the page is not {title}");
    }
}

#[test]
fn the_picture_of_a_map_repeats_the_answer_of_the_first_screen() {
    let tool = Tool::new();
    for machine in ["chiplet-16-smt", "hybrid", "mesh-64"] {
        let words =
            ["latency", "--machine", &format!("sim:{machine}"), "--seed", "1", "--budget", "2s", "-q"];
        let screen = tool.done(&words).out;
        tool.done(&["report", "latest", "-o", "z.svg"]);
        let svg = std::fs::read_to_string(tool.path().join("z.svg")).unwrap();
        let title = svg.split("<title>").nth(1).unwrap().split("</title>").next().unwrap();
        let answer = title.strip_prefix(&format!("SIMULATED {machine}: ")).unwrap();
        let screen = screen.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(answer.contains(" ns ") && screen.contains(answer), "{answer} in {screen}");
        let large: Vec<&str> = svg
            .split("font-size=\"26\"")
            .skip(1)
            .map(|rest| rest.split_once('>').unwrap().1.split_once('<').unwrap().0)
            .collect();
        assert_eq!(large.len(), 3, "{large:?}");
        assert!(large.iter().all(|number| answer.contains(number)), "{large:?} of {answer}");
        let has_date = screen.contains("UTC") || words_of(&svg).join(" ").contains(" UTC");
        assert!(has_date, "the date");
    }
}

/// A matrix of eight CPUs in groups of `size`: 20 ns inside, 90 ns across.
fn matrix_of(size: u32) -> String {
    let cell = |row: u32, column: u32| match column < row {
        true if row / size == column / size => format!("{:.1}", 20.0 + f64::from((row + column) % 3)),
        true => format!("{:.1}", 90.0 + f64::from((row * column) % 5)),
        false => String::new(),
    };
    (0..8).map(|row| (0..8).map(|column| cell(row, column)).collect::<Vec<_>>().join(",") + "\n").collect()
}

#[test]
fn files_of_other_tools_are_drawn_and_marked_with_their_origin() {
    let tool = Tool::new();
    measure(&tool, &[]);
    for (name, size) in [("secret-a.csv", 4), ("secret-b.csv", 2), ("<b>.csv", 4)] {
        std::fs::write(tool.path().join(name), matrix_of(size)).unwrap();
    }
    let page = |words: &[&str]| {
        let output = tool.done(&[&["report", "-o", "z.html"], words].concat());
        (std::fs::read_to_string(tool.path().join("z.html")).unwrap(), output.err)
    };
    let (one, err) = page(&["secret-a.csv"]);
    assert!(err.contains("--with-identity shows their names"), "{err}");
    for part in
        ["IMPORTED", "matrix 1", "coretalk checked none of it", "0-3&emsp;4-7", "measured by another tool"]
    {
        assert!(one.contains(part), "{part}");
    }
    for part in ["secret", "How to reproduce it", "bare metal", "Machine and environment", "seed"] {
        let visible = one.split("<script").next().unwrap();
        assert!(!visible.contains(part), "{part}");
    }
    assert!(!one.contains("secret"));
    let (named, err) = page(&["<b>.csv", "secret-b.csv", "--with-identity"]);
    assert!(!err.contains("file names are private"), "{err}");
    assert!(named.contains("secret-b.csv and") || named.contains(" and secret-b.csv"));
    assert!(named.contains("&lt;b&gt;.csv") && !named.contains("<b>.csv"));
    assert!(named.contains("id=\"difference\""), "two files are compared");
    let (mixed, _) = page(&["latest", "secret-a.csv", "secret-b.csv", "-q"]);
    for part in
        ["3 runs and files side by side", "tools measure different", "group-1", "Files of other tools"]
    {
        assert!(mixed.contains(part), "{part}");
    }
    for file in ["z.svg", "z.png"] {
        tool.done(&["report", "secret-a.csv", "latest", "secret-b.csv", "-o", file, "-q"]);
    }
    let drawn = std::fs::read_to_string(tool.path().join("z.svg")).unwrap();
    assert!(drawn.contains("IMPORTED") && drawn.contains("measured by another tool"));
    std::fs::write(tool.path().join("junk.csv"), "a,b\nc").unwrap();
    let refused = tool.call(&["report", "junk.csv", "-o", "none.html"]);
    assert_eq!((refused.code, refused.err.lines().count()), (4, 1), "{}", refused.err);
    assert!(!tool.path().join("none.html").exists());
}

#[test]
fn files_have_their_given_names_and_are_ordered_by_groups() {
    let tool = Tool::new();
    measure(&tool, &["--name", "run=1"]);
    // Even and odd CPUs form the groups, so group members are not adjacent by number.
    let cell = |row: u32, column: u32| if row % 2 == column % 2 { 20.0 } else { 90.0 } + f64::from((row * 3 + column) % 4) / 4.0;
    let row = |row: u32| {
        (0..8)
            .map(|column| if column < row { cell(row, column).to_string() } else { String::new() })
            .collect::<Vec<_>>()
            .join(",")
            + "\n"
    };
    let matrix: String = (0..8).map(row).collect();
    for name in ["a.csv", "x=y.csv", "b.csv"] {
        std::fs::write(tool.path().join(name), &matrix).unwrap();
    }
    let output = tool.done(&["report", "5950X=a.csv", "zen 2=x=y.csv", "-o", "z.html"]);
    assert!(output.out.is_empty() && !output.err.contains("numbered"), "{}", output.err);
    let page = std::fs::read_to_string(tool.path().join("z.html")).unwrap();
    assert!(page.contains("<h1>5950X and zen 2</h1>") && !page.contains("a.csv"), "{}", &page[..2000]);
    let view = page.split("id=\"view\">").nth(1).unwrap().split("</script>").next().unwrap();
    let view: serde_json::Value = serde_json::from_str(view).unwrap();
    let run = &view["runs"][0];
    assert_eq!(run["maps"][0]["orders"]["reported"], serde_json::json!([0, 2, 4, 6, 1, 3, 5, 7]));
    let groups = &run["levels"][0]["of"];
    assert!(
        groups["0"] == groups["2"] && groups["1"] == groups["3"] && groups["0"] != groups["1"],
        "{groups}"
    );
    // A path or a tag that contains `=` stays whole.
    tool.done(&["report", "x=y.csv", "-o", "z.svg", "-q"]);
    let drawn = std::fs::read_to_string(tool.path().join("z.svg")).unwrap();
    let words = words_of(&drawn);
    let position = |name: &str| words.iter().position(|word| word == name).unwrap();
    assert!(
        position("2") < position("1") && position("6") < position("1"),
        "rows stand by groups: {words:?}"
    );
    assert!(words.join(" ").contains("inside a group of 4"), "{words:?}");
    tool.done(&["report", "run=1", "-o", "z.svg", "-q"]);
    let text = tool.done(&["compare", "before=a.csv", "after=b.csv"]).out;
    assert!(text.contains("before") && text.contains("after") && !text.contains("a.csv"), "{text}");
    let json = tool.done(&["compare", "before=a.csv", "after=b.csv", "--format", "json"]).out;
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(document["compared"]["a"]["name"], "before", "{json}");
    let long = format!("{}=a.csv", "n".repeat(61));
    for (word, code, part) in [
        ("=a.csv", 2, "1 to 60 printable characters"),
        (" x=a.csv", 2, "no space at either end"),
        ("e\u{202e}vil=a.csv", 2, "1 to 60 printable characters"),
        ("e\u{1b}[2J=a.csv", 2, "1 to 60 printable characters"),
        (long.as_str(), 2, "1 to 60 printable characters"),
        ("name=", 2, "needs a file after it"),
        ("name=latest", 2, "is a run"),
        ("name=none.csv", 4, "none.csv"),
    ] {
        for words in [&["report", word, "-o", "n.html"][..], &["compare", word, "b.csv"]] {
            let output = tool.call(words);
            assert_eq!((output.code, output.err.lines().count()), (code, 1), "{words:?}: {}", output.err);
            assert!(
                output.err.contains(part) && !output.err.contains(['\u{1b}', '\u{202e}']),
                "{words:?}: {}",
                output.err
            );
        }
    }
    let twice = tool.call(&["compare", "x=a.csv", "x=b.csv"]);
    assert_eq!((twice.code, twice.err.trim()), (2, "coretalk: two files are named `x`"));
    tool.done(&["report", "<b>=a.csv", "-o", "z.html"]);
    let page = std::fs::read_to_string(tool.path().join("z.html")).unwrap();
    assert!(page.contains("<h1>&lt;b&gt;</h1>") && !page.contains("<b>"));
}

/// Draws a run of waits with these options; returns the texts of the picture.
fn words_of_waits(tool: &Tool, options: &[&str]) -> String {
    tool.done(&[&["report", "waits", "-o", "z.svg"], options].concat());
    words_of(&std::fs::read_to_string(tool.path().join("z.svg")).unwrap()).join(" ")
}

fn waits() -> Tool {
    let tool = Tool::new();
    let words = ["wait", "--machine", "sim:chiplet-16", "--seed", "1", "--strategy", "busy,pause,futex"];
    tool.done(&[&words[..], &["--budget", "4s", "-q", "--name", "waits"]].concat());
    tool
}

#[test]
fn a_picture_draws_the_series_that_are_chosen() {
    let tool = waits();
    let drawn = |options: &[&str]| words_of_waits(&tool, options);
    let all = drawn(&[]);
    assert!(["busy", "pause", "futex"].iter().all(|name| all.contains(name)), "{all}");
    let some = drawn(&["--series", "pause,futex"]);
    assert!(some.contains("pause") && some.contains("futex"), "{some}");
    assert!(!some.contains("busy"), "{some}");
    // Names of two parameters select their intersection.
    let one = drawn(&["--series", "pause,0-8"]);
    assert!(one.contains("strategy pause, CPUs 0 → 8") && !one.contains("0 → 1"), "{one}");
    for (words, parts) in [
        (&["--series", "pauze", "-o", "n.svg"][..], &["`pauze`", "pause", "busy", "futex", "0-8"][..]),
        (&["--series", "", "-o", "n.svg"], &["``", "pause"]),
        (&["--series", "pause", "-o", "n.html"], &["a page shows all"]),
    ] {
        let output = tool.call(&[&["report", "waits"], words].concat());
        assert_eq!((output.code, output.err.lines().count()), (2, 1), "{words:?}: {}", output.err);
        assert!(parts.iter().all(|part| output.err.contains(part)), "{words:?}: {}", output.err);
        assert!(!tool.path().join("n.svg").exists());
    }
    // Every chosen series is drawn, or refused with the reason.
    let words =
        ["wake", "--machine", "sim:chiplet-16-smt", "--seed", "1", "--primitive", "ttas,semaphore,pipe"];
    tool.done(&[&words[..], &["--budget", "6s", "-q", "--name", "wakes"]].concat());
    let chosen = ["report", "wakes", "--cdf", "log", "--series", "ttas,pipe,gap 20 µs,gap 1 ms,0-1"];
    tool.done(&[&chosen[..], &["-o", "z.svg"]].concat());
    let gaps = words_of(&std::fs::read_to_string(tool.path().join("z.svg")).unwrap()).join(" ");
    for name in
        ["ttas", "pipe"].iter().flat_map(|name| ["20 µs", "1 ms"].map(|gap| format!("gap {gap}, {name}")))
    {
        assert!(gaps.contains(&name), "{name}: {gaps}");
    }
    for (series, refused, reason) in [
        ("ttas,gap 20 ms,0-1", vec!["ttas, gap 20 ms, 0-1"], " events, and a curve needs 20"),
        (
            "ttas,pipe,semaphore,gap 20 µs,gap 1 ms,0-1,0-8",
            ["ttas", "pipe", "semaphore"]
                .map(|name| format!("{name}, gap 1 ms"))
                .iter()
                .map(String::as_str)
                .collect(),
            "does not fit into the chart of the others",
        ),
    ] {
        for options in [&["--cdf", "log", "-o", "n.svg"][..], &["--cdf", "linear", "-o", "n.png"]] {
            let output = tool.call(&[&["report", "wakes", "--series", series], options].concat());
            assert_eq!((output.code, output.err.lines().count()), (2, 1), "{}", output.err);
            assert!(refused.iter().all(|name| output.err.contains(name)), "{refused:?}: {}", output.err);
            assert!(output.err.contains(reason) && !tool.path().join(options[3]).exists(), "{}", output.err);
        }
    }
    let words =
        ["wake", "--machine", "sim:chiplet-16", "--cpus", "0-3", "--pairs", "all", "--seed", "1", "-q"];
    tool.done(
        &[&words[..], &["--primitive", "semaphore,eventfd", "--budget", "4s", "--name", "waits"]].concat(),
    );
    let (first, second) = (drawn(&[]), drawn(&["--series", "eventfd"]));
    assert!(
        first.contains("primitive semaphore") && second.contains("primitive eventfd"),
        "{first}\n{second}"
    );
}

#[test]
fn distributions_are_drawn_as_percentiles_or_cdfs() {
    let tool = waits();
    let drawn = |options: &[&str]| words_of_waits(&tool, options);
    assert!(drawn(&[]).contains("percentiles of single events"));
    let (log, linear) = (drawn(&["--cdf", "log"]), drawn(&["--cdf", "linear"]));
    for words in [&log, &linear] {
        assert!(words.contains("wait, trip: cumulative share of single events"), "{words}");
        assert!(!words.contains("percentiles"), "{words}");
    }
    assert!(log.contains("ns, logarithmic") && linear.contains("ns, up to the 99th percentile"), "{linear}");
    tool.done(&["report", "waits", "-o", "z.html"]);
    let page = std::fs::read_to_string(tool.path().join("z.html")).unwrap();
    let position = |what: &str| page.find(&format!("aria-label=\"wait, trip: {what}")).unwrap();
    let linear = page.find("<summary>The same with time on a linear axis</summary>").unwrap();
    assert!(
        position("percentiles of single events") < position("cumulative share of single events")
            && position("cumulative") < linear
    );
    measure(&tool, &["--name", "map"]);
    for (words, part) in [
        (["report", "map", "-o", "n.svg"], "run "),
        (["report", "waits", "-o", "n.html"], "a page shows both forms"),
    ] {
        let output = tool.call(&[&words[..], &["--cdf", "log"]].concat());
        assert_eq!((output.code, output.err.lines().count()), (2, 1), "{}", output.err);
        assert!(output.err.contains(part) && !tool.path().join("n.svg").exists(), "{}", output.err);
    }
}

#[test]
fn primitives_that_sleep_and_spin_and_both_ends_of_a_creation_are_curves_of_one_chart() {
    let tool = Tool::new();
    let machine = ["--machine", "sim:chiplet-16", "--seed", "1", "-q", "--budget", "4s", "--name", "waits"];
    let drawn = |command: &[&str]| {
        tool.done(&[command, &machine].concat());
        let output = tool.done(&["report", "waits", "--cdf", "log", "-o", "z.svg"]).err;
        (words_of(&std::fs::read_to_string(tool.path().join("z.svg")).unwrap()), output)
    };
    let (words, output) = drawn(&["wake", "--primitive", "ttas,semaphore,std-mutex"]);
    assert!(words.iter().any(|word| word.starts_with("wake: cumulative share")), "{words:?}");
    for name in ["ttas, hot", "semaphore, slept", "std-mutex, slept"] {
        assert!(words.iter().any(|word| word == name), "{name}: {words:?}");
    }
    assert!(output.contains("not in this chart: 0-1, gap 1 ms, gap 20 ms; --series NAME"), "{output}");
    // The curves are two places of one kind, or two kinds at one place.
    for (kinds, named) in [("thread", &[][..]), ("cpp:jthread,thread", &["cpp:jthread", "thread"])] {
        let (words, _) = drawn(&["spawn", "--kind", kinds]);
        assert!(words.iter().any(|word| word.starts_with("spawn: cumulative share")), "{words:?}");
        let count = |view: &str| words.iter().filter(|word| word.ends_with(view)).count();
        assert_eq!((count("cost"), count("latency"), count("join")), (2, 2, 0), "{words:?}");
        assert!(named.iter().all(|kind| words.contains(&format!("{kind}, cost"))), "{words:?}");
    }
}

#[test]
fn wake_ups_between_all_pairs_are_a_map_for_each_kind_in_the_same_colours() {
    let tool = Tool::new();
    let words = ["--machine", "sim:chiplet-16", "--cpus", "0-3,8-9", "--pairs", "all", "--seed", "1", "-q"];
    let pairs = |command: &[&str]| {
        tool.done(&[command, &words, &["--budget", "6s", "--name", "pairs"]].concat());
        tool.done(&["report", "pairs", "-o", "z.html"]);
        let page = std::fs::read_to_string(tool.path().join("z.html")).unwrap();
        let section = page
            .split("<section id=\"kinds\"")
            .nth(1)
            .map(|rest| rest.split("</section>").next().unwrap().to_owned());
        tool.done(&["report", "pairs", "-o", "z.svg"]);
        (section, words_of(&std::fs::read_to_string(tool.path().join("z.svg")).unwrap()).join(" "))
    };
    let (section, drawn) = pairs(&["wake", "--primitive", "semaphore,eventfd"]);
    let section = section.unwrap();
    assert_eq!(
        (section.matches("<figure>").count(), section.matches("same colour scale in these").count()),
        (2, 4)
    );
    for part in ["wake between all pairs", ">primitive semaphore<", ">primitive eventfd<"] {
        assert!(section.contains(part), "{part}");
    }
    assert!(drawn.contains("one of 2 maps of this run") && drawn.contains("across L3"), "{drawn}");
    // Spinning takes nanoseconds, sleeping takes microseconds.
    let (section, _) = pairs(&["wait", "--strategy", "busy,pause,futex"]);
    let section = section.unwrap();
    assert_eq!(
        (section.matches("<figure>").count(), section.matches("same colour scale in these").count()),
        (2, 4)
    );
    assert!(section.contains("µs, logarithmic; colours"), "those of other units have colours of their own");
    // A single kind is already shown by the map above.
    assert_eq!(pairs(&["wake", "--primitive", "semaphore"]).0, None);
}

#[test]
fn figures_of_a_page_are_shapes_on_large_machines_too() {
    let tool = Tool::new();
    let words =
        ["wake", "--machine", "sim:epyc-2s-192", "--cpus", "0-69", "--pairs", "all", "--seed", "1", "-q"];
    tool.done(
        &[
            &words[..],
            &["--primitive", "tas,ttas", "--budget", "15s", "--precision", "20%", "--name", "large"],
        ]
        .concat(),
    );
    tool.done(&["report", "large", "-o", "z.html"]);
    let page = std::fs::read_to_string(tool.path().join("z.html")).unwrap();
    let figures = page.split("<section id=\"kinds\"").nth(1).unwrap().split("</section>").next().unwrap();
    // The content security policy of a page forbids images.
    assert!(!page.contains("<image") && figures.contains("70 CPUs in "), "{}", &figures[..500]);
}
