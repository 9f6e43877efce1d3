//! Runs all commands in shell blocks of the documents, on a simulated machine if they would measure this one.

use super::tool::{Tool, words};
use std::path::Path;

/// Commands that measure and accept a machine, CPUs and a budget.
const MEASURING: &str = "latency wait wake queue contend sharing broadcast spawn jitter suite advise doctor";

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
    let simulated = "--machine sim:chiplet-16-smt -q --budget 1s";
    for options in [
        "--cpus 0,1,8,16 --name before",
        "--cpus 0,1,8,16 --name after",
        "wait --cpus 0,8 --strategy pause,futex --export-hgrm . --name waits",
    ] {
        tool.done(&words(&format!("{options} {simulated}")));
    }
    for file in ["a.csv", "b.csv", "c.csv", "their-matrix.csv"] {
        tool.done(&["export", "before", "--format", "csv", "-o", file]);
    }
    for program in ["server", "bench"] {
        tool.write(program, "");
    }
    tool
}

#[test]
fn every_command_in_documents_runs() {
    let tool = with_files();
    let names = std::fs::read_dir(tool.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    let hgrm: Vec<String> = names.filter(|name| name.ends_with(".hgrm")).take(2).collect();
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
        let mut typed: Vec<String> = typed.collect();
        let command = typed.first().filter(|word| !word.starts_with('-')).cloned();
        let command = command.unwrap_or("latency".to_owned());
        // A simulated machine refuses to run a program, but only after resolving the other options.
        let runs_a_program = line.contains(" -- ") || command == "versus";
        let measures = words(MEASURING).contains(&command.as_str());
        // Enough for one value of any probe, because a run without values fails.
        let options: &[(&str, &str)] = match command.as_str() {
            _ if !measures || command == "doctor" => &[],
            "advise" => &[("--cpus", "0-7")],
            "jitter" => &[("--cpus", "0,1,8,16")],
            _ => &[("--cpus", "0,1,8,16"), ("--budget", "2s"), ("--seed", "1")],
        };
        let machine = (measures || runs_a_program).then_some(&("--machine", "sim:chiplet-16-smt"));
        for (option, value) in machine.into_iter().chain(options) {
            if !typed.iter().any(|word| word == option) {
                typed.splice(0..0, [option, value].map(|word| (*word).to_owned()));
            }
        }
        let output = tool.call(&typed.iter().map(String::as_str).collect::<Vec<_>>());
        let expected: &[i32] = match line {
            _ if runs_a_program => &[2],
            // A user's adapter, which does not exist here.
            _ if line.contains("adapters check") => &[4],
            _ if line.contains("--fail-on") => &[0, 1, 7],
            _ => &[0],
        };
        assert!(expected.contains(&output.code), "{line}: {typed:?}: {}", output.err);
        assert!(!runs_a_program || output.err.contains("cannot run a command"), "{line}: {}", output.err);
    }
    assert!(commands.len() > 40, "{} commands", commands.len());
}
