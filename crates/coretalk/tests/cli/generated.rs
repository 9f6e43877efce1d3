//! What is generated from the definitions: help, completions, manual.

use super::tool::Tool;

#[test]
fn completions_exist_for_every_shell() {
    let tool = Tool::new();
    for (shell, part) in
        [("bash", "complete -F"), ("zsh", "#compdef coretalk"), ("fish", "complete -c coretalk")]
    {
        let script = tool.done(&["completions", shell]).out;
        assert!(script.contains(part) && script.contains("latency"), "{shell}");
    }
}

#[test]
fn the_manual_names_every_option_and_exit_code() {
    let page = Tool::new().done(&["man"]).out;
    for part in [r"\-\-export\-c2c\-csv", r"\-\-as LIST", ".SH EXIT STATUS", "\n70\n", "CORETALK_STORE"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn the_manual_leaves_out_what_the_tool_starts_itself() {
    let page = Tool::new().done(&["man"]).out;
    let commands: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix(".SH COMMAND ")).collect();
    assert!(commands.contains(&"PLACE") && commands.contains(&"RUNS SHOW"), "{commands:?}");
    assert!(!commands.contains(&"WORK"), "{commands:?}");
}

#[test]
fn help_texts_stay_as_they_are() {
    let tool = Tool::new();
    for words in [
        "",
        "latency",
        "wait",
        "wake",
        "queue",
        "place",
        "runs",
        "runs show",
        "export",
        "report",
        "import",
        "compare",
        "lint",
        "view",
        "topology",
        "advise",
        "probes",
        "plan",
        "clock",
    ] {
        let mut typed: Vec<&str> = words.split_whitespace().collect();
        typed.push("--help");
        insta::assert_snapshot!(format!("help {words}").trim().replace(' ', "-"), tool.done(&typed).out);
    }
}
