//! Runs all commands in shell blocks of the documents, on a simulated machine if they would measure this one.

use super::tool::Tool;
use std::path::Path;

/// Commands that measure and accept a machine, CPUs and a budget.
const MEASURING: [&str; 12] = [
    "latency",
    "wait",
    "wake",
    "queue",
    "contend",
    "sharing",
    "broadcast",
    "spawn",
    "jitter",
    "suite",
    "advise",
    "doctor",
];

/// Extracts the lines of all shell blocks that call the tool, without their comments.
fn commands() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    for folder in ["docs", "docs/format", "docs/probes"] {
        let entries = std::fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        paths.extend(entries.filter(|path| path.extension().is_some_and(|end| end == "md")));
    }
    let mut commands = Vec::new();
    for text in paths.iter().map(|path| std::fs::read_to_string(path).unwrap()) {
        let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
        let lines =
            blocks.flat_map(str::lines).map(|line| line.split(" #").next().unwrap().trim_end().to_owned());
        commands.extend(lines.filter(|line| line == "coretalk" || line.starts_with("coretalk ")));
    }
    commands
}

/// Creates the runs, matrices and histograms that the commands name.
fn with_files() -> Tool {
    let tool = Tool::new();
    let simulated = ["--machine", "sim:chiplet-16-smt", "-q", "--budget", "1s", "--name"];
    for name in ["before", "after"] {
        tool.done(&[&["--cpus", "0,1,8,16"][..], &simulated, &[name]].concat());
    }
    for file in ["a.csv", "b.csv", "c.csv", "their-matrix.csv"] {
        tool.done(&["export", "before", "--format", "csv", "-o", file]);
    }
    let words = ["wait", "--cpus", "0,8", "--strategy", "pause,futex", "--export-hgrm", "."];
    tool.done(&[&words[..], &simulated, &["waits"]].concat());
    tool
}

#[test]
fn every_command_in_documents_runs() {
    let tool = with_files();
    let hgrm = std::fs::read_dir(tool.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let hgrm: Vec<String> = hgrm.filter(|name| name.ends_with(".hgrm")).take(2).collect();
    let commands = commands();
    for line in &commands {
        // Quoted text is one word.
        let unquoted = line.split('\'').enumerate().map(|(at, part)| match at % 2 {
            1 => part.replace(' ', "_"),
            _ => part.to_owned(),
        });
        let unquoted: String = unquoted.collect();
        let typed = unquoted.split_whitespace().skip(1).flat_map(|word| match word {
            "*.hgrm" => hgrm.clone(),
            "a.hgrm" => hgrm[..1].to_vec(),
            "b.hgrm" => hgrm[1..].to_vec(),
            word => vec![word.to_owned()],
        });
        let mut words: Vec<String> = typed.collect();
        let command =
            words.first().filter(|word| !word.starts_with('-')).cloned().unwrap_or("latency".to_owned());
        let mut add = |option: &str, value: &str| {
            if !words.iter().any(|word| word == option) {
                words.splice(0..0, [option, value].map(str::to_owned));
            }
        };
        if MEASURING.contains(&command.as_str()) {
            add("--machine", "sim:chiplet-16-smt");
            match command.as_str() {
                "doctor" => {}
                "advise" => add("--cpus", "0-7"),
                "jitter" => add("--cpus", "0,1,8,16"),
                // Enough for one value of any probe, because a run without values fails.
                _ => [("--cpus", "0,1,8,16"), ("--budget", "2s"), ("--seed", "1")]
                    .into_iter()
                    .for_each(|(option, value)| add(option, value)),
            }
        }
        // A simulated machine refuses to run a program, but only after resolving the other options.
        let runs_a_program = line.contains(" -- ") || command == "versus";
        if runs_a_program {
            std::fs::write(tool.path().join("server"), "").unwrap();
            std::fs::write(tool.path().join("bench"), "").unwrap();
            add("--machine", "sim:chiplet-16-smt");
        }
        let output = tool.call(&words.iter().map(String::as_str).collect::<Vec<_>>());
        let expected: &[i32] = match line {
            _ if runs_a_program => &[2],
            // A user's adapter, which does not exist here.
            _ if line.contains("adapters check") => &[4],
            _ if line.contains("--fail-on") => &[0, 1, 7],
            _ => &[0],
        };
        assert!(expected.contains(&output.code), "{line}: {words:?}: {}", output.err);
        assert!(!runs_a_program || output.err.contains("cannot run a command"), "{line}: {}", output.err);
    }
    assert!(commands.len() > 40, "{} commands", commands.len());
}
