//! Untrusted strings, such as names in a run file, cannot control a terminal in any output.

use super::tool::{Tool, words};
use coretalk_report::harmless::is_harmful;
use rusqlite::Connection;

/// Placeholder in user-chosen texts of a run, which the hostile text replaces.
const MARK: &str = "Chosen";
/// Text that would turn red, reverse its direction and set the terminal title.
const HOSTILE: &str = "\u{9b}31m\u{202e}evil\u{1b}]0;title\u{7}";

/// Replaces the placeholder in a run file by the hostile text, escaped in JSON; returns the number of changed values.
fn spoil(path: &str) -> usize {
    let db = Connection::open(path).unwrap();
    let names = |query: &str| -> Vec<String> {
        let mut query = db.prepare(query).unwrap();
        query.query_map((), |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let json = serde_json::to_string(HOSTILE).unwrap();
    let json = json.trim_matches('"');
    let mut spoiled = 0;
    // Not in other tables, which a reader cross-checks: ids of trials against their texts, settings against trials.
    for table in ["run", "environment", "findings", "tags", "segments", "maps"] {
        for column in names(&format!("SELECT name FROM pragma_table_info('{table}')")) {
            let is_text = format!("typeof(\"{column}\") = 'text' AND instr(\"{column}\", ?1) > 0");
            let change = format!(
                "UPDATE \"{table}\" SET \"{column}\" = replace(\"{column}\", ?1, \
                 iif(substr(\"{column}\", 1, 1) IN ('{{', '[', '\"'), ?2, ?3)) WHERE {is_text}"
            );
            spoiled += db.execute(&change, (MARK, json, HOSTILE)).unwrap();
        }
    }
    spoiled + db.execute("UPDATE cpus SET class = ?1 WHERE class IS NOT NULL", [HOSTILE]).unwrap()
}

#[test]
fn no_output_contains_terminal_control_characters() {
    let tool = Tool::new();
    tool.write("machine.toml", format!("based_on = \"hybrid\"\nname = \"{MARK}\"\n"));
    let mut spoiled = 0;
    for run in [
        "latency --machine sim:machine.toml --cpus 0-3 --seed 1",
        "queue --machine sim:machine.toml --cpus 0-3 --seed 1 --budget 3s",
        "place --placement Chosen=0 --placement b=0 --repeat 6 --budget 4s",
    ] {
        let work = if run.starts_with("place") { "-- true Chosen" } else { "" };
        tool.done(&words(&format!("{run} --label {MARK} --name {MARK} --note key={MARK} -q {work}")));
        let path = tool.done(&["runs", "path", "latest"]).out;
        spoiled += spoil(path.trim());
        let report = format!("report latest -o {}.html", words(run)[0]);
        for line in [
            "runs list",
            "runs show latest --color always",
            "export latest --format text",
            "export latest --format csv",
            "export latest --format c2c-csv",
            "export latest --format markdown",
            "export latest --format json --with-identity",
            "export latest --format jsonl",
            &report,
            "compare latest latest",
        ] {
            let shown = tool.call(&words(line));
            // Exit code 2: a run of placements has no matrix.
            assert!(shown.code == 0 || shown.code == 2, "{line}: {}", shown.err);
            let page = line.split_once(" -o ").map_or(String::new(), |(_, file)| tool.read(file));
            for text in [&shown.out, &shown.err, &page] {
                // Our own colour sequences are allowed; the hostile text contains none.
                let text = text.replace("\x1b[", "");
                let harmful: Vec<char> = text.chars().filter(|c| is_harmful(*c)).collect();
                assert!(harmful.is_empty() && !text.contains("\x1b]"), "{line}: {harmful:?}");
            }
        }
    }
    assert!(spoiled >= 12, "{spoiled} texts");
}
