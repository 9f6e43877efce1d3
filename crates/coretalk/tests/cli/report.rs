//! `report`: pages and pictures of runs and files, and refusals before any work.

use super::tool::{Tool, assert_contains, between, flat, list, number, words};
use serde_json::{Value, json};

fn measure(tool: &Tool, more: &str) {
    tool.out(&format!("latency --machine sim:laptop-smt --seed 1 --budget 1s -q {more}"));
}

/// Returns the data from which the script of a page draws.
fn view(page: &str) -> Value {
    serde_json::from_str(between(page, "id=\"view\">", "</script>")).unwrap()
}

/// Returns the texts of a picture in drawing order.
fn texts(svg: &str) -> Vec<String> {
    let texts = svg.split("<text").skip(1).filter_map(|rest| rest.split_once('>')?.1.split_once('<'));
    texts.map(|(text, _)| text.to_owned()).collect()
}

/// Draws a picture with these options; returns its texts.
fn drawn(tool: &Tool, options: &[&str]) -> String {
    texts(&tool.report(options, "z.svg")).join(" ")
}

#[test]
fn the_file_extension_selects_page_or_picture() {
    let tool = Tool::new();
    measure(&tool, "--name a");
    measure(&tool, "--name b --cpus 0-3");
    for (file, start) in [("z.html", &b"<!doctype html>"[..]), ("z.svg", b"<svg "), ("Z.PNG", b"\x89PNG")] {
        for runs in ["a", "a b", "a b a"] {
            let output = tool.done(&words(&format!("report {runs} -o {file}")));
            assert_eq!((output.out.as_str(), output.err.as_str()), ("", ""));
            assert!(std::fs::read(tool.path().join(file)).unwrap().starts_with(start), "{file}");
        }
    }
}

#[test]
fn the_page_contains_the_exported_data() {
    let tool = Tool::new();
    measure(&tool, "");
    let page = tool.report(&["latest"], "z.html");
    let block = between(&page, "id=\"data-0\">", "</script>");
    assert_eq!(block, tool.out("export latest --format json").replace('<', "\\u003c"));
    let view = view(&page);
    let passes = list(&view["runs"][0]["maps"][0]["passes"]);
    assert_eq!(passes.len(), 28, "every pair brings its passes");
    assert!(passes.iter().all(|pair| list(&pair[2]).len() >= 8));
}

#[test]
fn invalid_report_commands_are_refused_before_the_work() {
    let tool = Tool::new();
    measure(&tool, "");
    for (line, code, parts) in [
        ("report latest", 2, &["-o report.html"][..]),
        ("report latest -o z.pdf", 2, &["z.pdf", ".html, .svg or .png"]),
        ("report latest -o none/z.html", 6, &["none/z.html"]),
        ("report nobody -o z.html", 2, &["nobody"]),
        ("report -o z.html", 2, &["RUN"]),
    ] {
        assert_contains(&tool.refusal(&words(line), code), parts);
        assert!(!tool.path().join("z.html").exists(), "`{line}` leaves an empty file");
    }
}

#[test]
fn drawing_options_change_the_page() {
    let tool = Tool::new();
    measure(&tool, "");
    for file in ["z.html", "z.svg"] {
        let page = |more: &str| tool.report(&words(&format!("latest {more}")), file);
        let (plain, by_thread) = (page(""), page("--by thread"));
        // By default, colours span the shown values.
        assert_ne!(page("--scale fixed"), plain, "{file}");
        assert_ne!(by_thread, plain, "{file}");
        // Siblings are adjacent in the reported order, but not in the order of ids.
        assert_ne!(page("--by thread --order id"), by_thread, "{file}");
    }
}

#[test]
fn one_cpu_and_smt_siblings_have_separate_numbers_everywhere() {
    let tool = Tool::new();
    let screen = tool.out(
        "queue --machine sim:laptop-smt --cpus 0-2,4-6 --seed 1 --queue semaphore --capacity 1 --budget 10s \
         --precision 5% -q --name square",
    );
    assert!(screen.contains("diagonal: both"), "{screen}");
    let document = tool.document("export square");
    let median = |[from, to]: [u32; 2]| {
        let mut cells = list(&document["matrices"][0]["cells"]).iter();
        number(&cells.find(|cell| cell["from"] == from && cell["to"] == to).unwrap()["median"])
    };
    let words = texts(&tool.report(&["square"], "z.svg"));
    for core in 0..3 {
        let same_cpu = (median([core; 2]) + median([core + 4; 2])) / 2.0;
        let siblings = (median([core, core + 4]) + median([core + 4, core])) / 2.0;
        assert!(same_cpu.max(siblings) > 1.2 * same_cpu.min(siblings), "{same_cpu} and {siblings}");
        for value in [same_cpu, siblings] {
            let value = format!("{:.0}k", value / 1e3);
            assert!(words.contains(&value), "{value} of core {core}: {words:?}");
        }
    }
    let two_labels = "diagonal: both on one CPU (upper half), threads of a core (lower half)";
    assert_contains(&words.join(" "), &[two_labels]);
    // With CPUs as rows, every number has its own cell, and the diagonal has its label.
    let by_thread = drawn(&tool, &["square", "--by", "thread"]);
    assert!(
        !by_thread.contains(two_labels) && by_thread.contains("diagonal: both on one CPU"),
        "{by_thread}"
    );
    let view = view(&tool.report(&["square"], "z.html"));
    assert_eq!(view["runs"][0]["alone"], json!(["both on one CPU", "threads of a core"]));
}

#[test]
fn pictures_show_the_headline_quantity() {
    let tool = Tool::new();
    for (command, headline, titles) in [
        ("wake --cpus 0,1", "slept", &["wake: slept, median by gap", "wake, slept: percentiles"][..]),
        (
            "contend --threads 1,2,4 --method mcs,ttas",
            "ns_per_op_thread",
            &[
                "contend: thread ns by threads",
                "critical 50 ns, parallel 500 ns",
                "critical 0 ns, parallel 0 ns",
            ],
        ),
        ("sharing --cpus 0,1", "shared_ns", &["sharing: ns both by"]),
        ("broadcast", "last", &["broadcast: last, median by readers"]),
        ("jitter --for 200ms", "lost_share", &["jitter: lost"]),
        ("spawn --kind thread,pool", "latency", &["spawn: percentiles"]),
        ("wait --strategy busy,pause --cpus 0,1", "trip", &["wait, trip: percentiles"]),
        ("latency --gap 1us,10us,100us --cpus 0,1", "half_net_ns", &["half, net ns by gap"]),
        ("latency --load none,compute --pairs 0-1", "ratio", &["latency: ratio"]),
    ] {
        let limits = if command.starts_with("jitter") { "" } else { "--precision 10% --budget 5s" };
        tool.out(&format!("{command} --machine sim:chiplet-16 --seed 1 -q --name run {limits}"));
        let document = tool.document("export run");
        let series = list(&document["series"]);
        assert!(series.iter().any(|one| one["headline"] == headline), "{command}: {}", series[0]);
        // A picture shows one figure, a page shows all.
        assert_contains(&drawn(&tool, &["run"]), &titles[..1]);
        let page = tool.report(&["run"], "z.html");
        for title in titles {
            assert!(page.contains(title), "{title} of `{command}`");
        }
        let (title, _) = titles[0].split_once(" by ").unwrap_or((titles[0], ""));
        let first = page.split("<figure>").nth(1).unwrap();
        assert!(first.contains(title), "`{command}`: the first figure of the page is not {title}");
    }
}

#[test]
fn the_picture_of_a_map_repeats_the_answer_of_the_first_screen() {
    let tool = Tool::new();
    for machine in ["chiplet-16-smt", "hybrid", "mesh-64"] {
        let screen = flat(&tool.out(&format!("latency --machine sim:{machine} --seed 1 --budget 2s -q")));
        let svg = tool.report(&["latest"], "z.svg");
        let title = between(&svg, "<title>", "</title>");
        let answer = title.strip_prefix(&format!("SIMULATED {machine}: ")).unwrap();
        assert!(answer.contains(" ns ") && screen.contains(answer), "{answer} in {screen}");
        let large: Vec<&str> =
            svg.split("font-size=\"26\"").skip(1).map(|rest| between(rest, ">", "<")).collect();
        assert_eq!(large.len(), 3, "{large:?}");
        assert!(large.iter().all(|number| answer.contains(number)), "{large:?} of {answer}");
        assert!(screen.contains("UTC") || texts(&svg).join(" ").contains(" UTC"), "the date");
    }
}

/// Returns the lower triangle, without headings, of a matrix of eight CPUs.
fn matrix(value: impl Fn(u32, u32) -> f64) -> String {
    let cell = |row, column| if column < row { value(row, column).to_string() } else { String::new() };
    (0..8).map(|row| (0..8).map(|column| cell(row, column)).collect::<Vec<_>>().join(",") + "\n").collect()
}

/// A matrix of groups of `size` CPUs: 20 ns inside, 90 ns across.
fn matrix_of_groups(size: u32) -> String {
    matrix(|row, column| match row / size == column / size {
        true => 20.0 + f64::from((row + column) % 3),
        false => 90.0 + f64::from((row * column) % 5),
    })
}

#[test]
fn files_of_other_tools_are_drawn_and_marked_with_their_origin() {
    let tool = Tool::new();
    measure(&tool, "");
    for (name, size) in [("secret-a.csv", 4), ("secret-b.csv", 2), ("<b>.csv", 4)] {
        tool.write(name, matrix_of_groups(size));
    }
    let page = |line: &str| {
        let output = tool.done(&words(&format!("report -o z.html {line}")));
        (tool.read("z.html"), output.err)
    };
    let (one, err) = page("secret-a.csv");
    assert!(err.contains("--with-identity shows their names"), "{err}");
    assert_contains(
        &one,
        &["IMPORTED", "matrix 1", "coretalk checked none of it", "0-3&emsp;4-7", "measured by another tool"],
    );
    let visible = one.split("<script").next().unwrap();
    for part in ["How to reproduce it", "bare metal", "Machine and environment", "seed"] {
        assert!(!visible.contains(part), "{part}");
    }
    assert!(!one.contains("secret"));
    let (named, err) = page("<b>.csv secret-b.csv --with-identity");
    assert!(!err.contains("file names are private"), "{err}");
    assert!(named.contains("secret-b.csv and") || named.contains(" and secret-b.csv"));
    assert!(named.contains("&lt;b&gt;.csv") && !named.contains("<b>.csv"));
    assert!(named.contains("id=\"difference\""), "two files are compared");
    let (mixed, _) = page("latest secret-a.csv secret-b.csv -q");
    assert_contains(
        &mixed,
        &["3 runs and files side by side", "tools measure different", "group-1", "Files of other tools"],
    );
    tool.out("report secret-a.csv latest secret-b.csv -o z.png -q");
    let drawn = tool.report(&words("secret-a.csv latest secret-b.csv -q"), "z.svg");
    assert_contains(&drawn, &["IMPORTED", "measured by another tool"]);
    tool.write("junk.csv", "a,b\nc");
    tool.refusal(&words("report junk.csv -o none.html"), 4);
    assert!(!tool.path().join("none.html").exists());
}

#[test]
fn files_have_their_given_names_and_are_ordered_by_groups() {
    let tool = Tool::new();
    measure(&tool, "--name run=1");
    // Even and odd CPUs form the groups, so group members are not adjacent by number.
    let by_parity = matrix(|row, column| {
        let base = if row % 2 == column % 2 { 20.0 } else { 90.0 };
        base + f64::from((row * 3 + column) % 4) / 4.0
    });
    for name in ["a.csv", "x=y.csv", "b.csv"] {
        tool.write(name, &by_parity);
    }
    let output = tool.done(&["report", "5950X=a.csv", "zen 2=x=y.csv", "-o", "z.html"]);
    assert!(output.out.is_empty() && !output.err.contains("numbered"), "{}", output.err);
    let page = tool.read("z.html");
    assert!(page.contains("<h1>5950X and zen 2</h1>") && !page.contains("a.csv"), "{}", &page[..2000]);
    let run = &view(&page)["runs"][0];
    assert_eq!(run["maps"][0]["orders"]["reported"], json!([0, 2, 4, 6, 1, 3, 5, 7]));
    let [zero, one, two, three] = ["0", "1", "2", "3"].map(|cpu| &run["levels"][0]["of"][cpu]);
    assert!(zero == two && one == three && zero != one, "{}", run["levels"][0]);
    // A path or a tag that contains `=` stays whole.
    let words = texts(&tool.report(&["x=y.csv", "-q"], "z.svg"));
    let position = |name: &str| words.iter().position(|word| word == name).unwrap();
    assert!(position("2") < position("1") && position("6") < position("1"), "by groups: {words:?}");
    assert!(words.join(" ").contains("inside a group of 4"), "{words:?}");
    tool.out("report run=1 -o z.svg -q");
    let text = tool.out("compare before=a.csv after=b.csv");
    assert!(text.contains("before") && text.contains("after") && !text.contains("a.csv"), "{text}");
    let document = tool.document("compare before=a.csv after=b.csv --format json");
    assert_eq!(document["compared"]["a"]["name"], "before", "{document}");
    tool.refused(&["compare", "x=a.csv", "x=b.csv"], 2, "coretalk: two files are named `x`\n");
    let page = tool.report(&["<b>=a.csv"], "z.html");
    assert!(page.contains("<h1>&lt;b&gt;</h1>") && !page.contains("<b>"));
}

#[test]
fn invalid_names_of_files_are_refused_without_their_control_characters() {
    let tool = Tool::new();
    measure(&tool, "");
    for name in ["a.csv", "b.csv"] {
        tool.write(name, matrix_of_groups(4));
    }
    let long = format!("{}=a.csv", "n".repeat(61));
    for (word, code, part) in [
        ("=a.csv", 2, "1 to 60 printable characters"),
        (" x=a.csv", 2, "no space at either end"),
        ("e\u{202e}vil=a.csv", 2, "1 to 60 printable characters"),
        ("e\u{1b}[2J=a.csv", 2, "1 to 60 printable characters"),
        (&long, 2, "1 to 60 printable characters"),
        ("name=", 2, "needs a file after it"),
        ("name=latest", 2, "is a run"),
        ("name=none.csv", 4, "none.csv"),
    ] {
        for words in [&["report", word, "-o", "n.html"][..], &["compare", word, "b.csv"]] {
            let message = tool.refusal(words, code);
            assert!(message.contains(part) && !message.contains(['\u{1b}', '\u{202e}']), "{message}");
        }
    }
}

fn waits() -> Tool {
    let tool = Tool::new();
    tool.out(
        "wait --machine sim:chiplet-16 --seed 1 --strategy busy,pause,futex --budget 4s -q --name waits",
    );
    tool
}

#[test]
fn a_picture_draws_the_series_that_are_chosen() {
    let tool = waits();
    assert_contains(&drawn(&tool, &["waits"]), &["busy", "pause", "futex"]);
    let some = drawn(&tool, &["waits", "--series", "pause,futex"]);
    assert!(some.contains("pause") && some.contains("futex") && !some.contains("busy"), "{some}");
    // Names of two parameters select their intersection.
    let one = drawn(&tool, &["waits", "--series", "pause,0-8"]);
    assert!(one.contains("strategy pause, CPUs 0 → 8") && !one.contains("0 → 1"), "{one}");
    for (series, file, parts) in [
        ("pauze", "n.svg", &["`pauze`", "pause", "busy", "futex", "0-8"][..]),
        ("", "n.svg", &["``", "pause"]),
        ("pause", "n.html", &["a page shows all"]),
    ] {
        assert_contains(&tool.refusal(&["report", "waits", "--series", series, "-o", file], 2), parts);
        assert!(!tool.path().join(file).exists());
    }
    tool.out(
        "wake --machine sim:chiplet-16 --cpus 0-3 --pairs all --seed 1 -q --primitive semaphore,eventfd \
         --budget 4s --name maps",
    );
    assert_contains(&drawn(&tool, &["maps"]), &["primitive semaphore"]);
    assert_contains(&drawn(&tool, &["maps", "--series", "eventfd"]), &["primitive eventfd"]);
}

#[test]
fn every_chosen_series_is_drawn_or_refused_with_the_reason() {
    let tool = Tool::new();
    tool.out(
        "wake --machine sim:chiplet-16-smt --seed 1 --primitive ttas,semaphore,pipe --budget 6s -q --name wakes",
    );
    let wakes = ["wakes", "--cdf", "log", "--series", "ttas,pipe,gap 20 µs,gap 1 ms,0-1"];
    let picture = drawn(&tool, &wakes);
    assert_contains(&picture, &["gap 20 µs, ttas", "gap 1 ms, ttas", "gap 20 µs, pipe", "gap 1 ms, pipe"]);
    for (series, parts) in [
        ("ttas,gap 20 ms,0-1", &["ttas, gap 20 ms, 0-1", " events, and a curve needs 20"][..]),
        (
            "ttas,pipe,semaphore,gap 20 µs,gap 1 ms,0-1,0-8",
            &[
                "ttas, gap 1 ms",
                "pipe, gap 1 ms",
                "semaphore, gap 1 ms",
                "does not fit into the chart of the others",
            ],
        ),
    ] {
        for (scale, file) in [("log", "n.svg"), ("linear", "n.png")] {
            let words = ["report", "wakes", "--series", series, "--cdf", scale, "-o", file];
            assert_contains(&tool.refusal(&words, 2), parts);
            assert!(!tool.path().join(file).exists());
        }
    }
}

#[test]
fn distributions_are_drawn_as_percentiles_or_cdfs() {
    let tool = waits();
    assert!(drawn(&tool, &["waits"]).contains("percentiles of single events"));
    for (scale, axis) in [("log", "ns, logarithmic"), ("linear", "ns, up to the 99th percentile")] {
        let words = drawn(&tool, &["waits", "--cdf", scale]);
        assert_contains(&words, &["wait, trip: cumulative share of single events", axis]);
        assert!(!words.contains("percentiles"), "{words}");
    }
    let page = tool.report(&["waits"], "z.html");
    let position = |what: &str| page.find(&format!("aria-label=\"wait, trip: {what}")).unwrap();
    let cumulative = position("cumulative share of single events");
    assert!(position("percentiles of single events") < cumulative);
    assert!(cumulative < page.find("<summary>The same with time on a linear axis</summary>").unwrap());
    measure(&tool, "--name map");
    for (line, part) in [
        ("report map -o n.svg --cdf log", "run "),
        ("report waits -o n.html --cdf log", "a page shows both forms"),
    ] {
        tool.refused(&words(line), 2, part);
        assert!(!tool.path().join("n.svg").exists());
    }
}

#[test]
fn primitives_that_sleep_and_spin_and_both_ends_of_a_creation_are_curves_of_one_chart() {
    let tool = Tool::new();
    let curves = |command: &str| {
        tool.out(&format!("{command} --machine sim:chiplet-16 --seed 1 -q --budget 4s --name run"));
        let output = tool.done(&words("report run --cdf log -o z.svg"));
        (texts(&tool.read("z.svg")), output.err)
    };
    let (words, notice) = curves("wake --primitive ttas,semaphore,std-mutex");
    assert!(words.iter().any(|word| word.starts_with("wake: cumulative share")), "{words:?}");
    for name in ["ttas, hot", "semaphore, slept", "std-mutex, slept"] {
        assert!(words.iter().any(|word| word == name), "{name}: {words:?}");
    }
    assert!(notice.contains("not in this chart: 0-1, gap 1 ms, gap 20 ms; --series NAME"), "{notice}");
    // The curves are two places of one kind, or two kinds at one place.
    for (kinds, named) in [("thread", &[][..]), ("cpp:jthread,thread", &["cpp:jthread", "thread"])] {
        let (words, _) = curves(&format!("spawn --kind {kinds}"));
        assert!(words.iter().any(|word| word.starts_with("spawn: cumulative share")), "{words:?}");
        let count = |view: &str| words.iter().filter(|word| word.ends_with(view)).count();
        assert_eq!((count("cost"), count("latency"), count("join")), (2, 2, 0), "{words:?}");
        assert!(named.iter().all(|kind| words.contains(&format!("{kind}, cost"))), "{words:?}");
    }
}

#[test]
fn wake_ups_between_all_pairs_are_a_map_for_each_kind_in_the_same_colours() {
    let tool = Tool::new();
    let page = |command: &str| {
        let options =
            "--machine sim:chiplet-16 --cpus 0-3,8-9 --pairs all --seed 1 -q --budget 6s --name pairs";
        tool.out(&format!("{command} {options}"));
        tool.report(&["pairs"], "z.html")
    };
    let kinds = "<section id=\"kinds\"";
    for (command, parts) in [
        (
            "wake --primitive semaphore,eventfd",
            &["wake between all pairs", ">primitive semaphore<", ">primitive eventfd<"][..],
        ),
        // Spinning takes nanoseconds, sleeping takes microseconds.
        ("wait --strategy busy,pause,futex", &["µs, logarithmic; colours"]),
    ] {
        let page = page(command);
        let section = between(&page, kinds, "</section>");
        let counts = ["<figure>", "same colour scale in these"].map(|part| section.matches(part).count());
        assert_eq!(counts, [2, 4], "{command}");
        assert_contains(section, parts);
        if command.starts_with("wake") {
            assert_contains(&drawn(&tool, &["pairs"]), &["one of 2 maps of this run", "across L3"]);
        }
    }
    // A single kind is already shown by the map above.
    assert!(!page("wake --primitive semaphore").contains(kinds));
}

#[test]
fn figures_of_a_page_are_shapes_on_large_machines_too() {
    let tool = Tool::new();
    tool.out(
        "wake --machine sim:epyc-2s-192 --cpus 0-69 --pairs all --seed 1 -q --primitive tas,ttas --budget 15s \
         --precision 20% --name large",
    );
    let page = tool.report(&["large"], "z.html");
    let figures = between(&page, "<section id=\"kinds\"", "</section>");
    // The content security policy of a page forbids images.
    assert!(!page.contains("<image") && figures.contains("70 CPUs in "), "{}", &figures[..500]);
}
