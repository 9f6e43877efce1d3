//! Output generated from the option definitions: help, completions, manual.

use super::tool::{Tool, words};

/// Returns the completions that bash offers for a line; `None` without bash.
fn offered(tool: &Tool, script: &str, line: &str) -> Option<Vec<String>> {
    // readline also splits words at `:` and `=`. A completion function gets the last part and the previous one.
    let mut words: Vec<String> = vec![String::new()];
    for letter in line.chars() {
        match letter {
            ' ' => words.push(String::new()),
            ':' | '=' => words.extend([letter.to_string(), String::new()]),
            _ => words.last_mut().unwrap().push(letter),
        }
    }
    let index = words.len() - 1;
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let program = tool.command(&[]).get_program().to_string_lossy().into_owned();
    let request = format!(
        "{script}\nCOMP_WORDS=({}); COMP_CWORD={index}; COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}\n\
         _coretalk_words '{program}' {} {}; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        quoted.join(" ").replacen("'coretalk'", &format!("'{program}'"), 1),
        quoted[index],
        quoted[index - 1],
    );
    let mut bash = std::process::Command::new("bash");
    bash.args(["--norc", "-c", &request])
        .current_dir(tool.path())
        .env("CORETALK_STORE", tool.path().join("runs"));
    let output = bash.output().ok()?;
    assert!(output.stderr.is_empty(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap().split_whitespace().map(str::to_owned).collect())
}

#[test]
fn bash_completes_names_machines_and_runs() {
    let tool = Tool::new();
    for tag in ["before", "a$(touch${IFS}harm)"] {
        tool.done(&words(&format!("latency --machine sim:laptop-smt --seed 1 -q --name {tag}")));
    }
    let script = tool.done(&["completions", "bash"]).out;
    for (line, all, none) in [
        ("coretalk queue --queue se", &["semaphore", "semaphore-slim", "sem-t"][..], &["spsc"][..]),
        ("coretalk queue --queue spsc,rt", &["spsc,rtrb"], &["rtrb"]),
        ("coretalk wake --primitive p", &["park", "pipe"], &["tas"]),
        ("coretalk plan wait --strategy p", &["pause"], &["pause:N"]),
        ("coretalk contend --method m", &["mcs"], &["tas"]),
        ("coretalk spawn --kind f", &["fork", "fork-exec"], &["thread"]),
        ("coretalk place --workload b", &["barrier"], &["ring"]),
        ("coretalk latency --cpus p", &["p-cores", "package:0"], &["e-cores"]),
        ("coretalk wait --helpers 0-3,i", &["0-3,isolated"], &["0-3,node:0"]),
        ("coretalk latency --as c", &["c2clat", "core-to-core-latency"], &["multichase"]),
        ("coretalk latency --machine s", &["sim:chiplet-16"], &["host"]),
        (
            "coretalk latency --machine sim:ch",
            &["chiplet-16", "chiplet-16-smt"],
            &["hybrid", "sim:chiplet-16"],
        ),
        ("coretalk latency --machine=sim:h", &["hybrid", "huge-1024"], &["chiplet-16"]),
        ("coretalk runs show ", &["latest", "before"], &["a$(touch${IFS}harm)", "--store"]),
        ("coretalk report b", &["before"], &["latest"]),
        ("coretalk compare latest b", &["before"], &["latest"]),
        ("coretalk export l", &["latest"], &["before"]),
        ("coretalk --resume l", &["latest"], &["before"]),
        ("coretalk runs ", &["list", "show"], &["names"]),
        ("coretalk w", &["wait", "wake"], &["work"]),
    ] {
        let Some(offered) = offered(&tool, &script, line) else {
            return println!("skipped: there is no bash here");
        };
        let has = |name: &&str| offered.iter().any(|word| word == name);
        assert!(all.iter().all(has) && !none.iter().any(has), "{line}: {offered:?}");
    }
    assert!(!tool.path().join("harm").exists(), "a tag was executed");
}

#[test]
fn completions_of_each_shell_offer_the_names() {
    let tool = Tool::new();
    for (shell, part) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef coretalk"),
        ("zsh", "RUN:_coretalk_runs'"),
        ("zsh", "_coretalk_runs() {"),
        ("zsh", "semaphore-slim sem-t"),
        ("zsh", "sim\\:laptop-smt"),
        ("fish", "complete -c coretalk"),
        ("fish", "-l resume"),
        ("fish", "seen_subcommand_from show\" -a \"(coretalk runs names 2>/dev/null)\""),
        ("fish", "semaphore-slim\\t''"),
        ("fish", "sim:laptop-smt"),
        ("powershell", ""),
    ] {
        let script = tool.done(&["completions", shell]).out;
        assert!(script.contains(part) && script.contains("latency"), "{shell}: {part}");
        assert!(!script.contains("CORETALK-RUNS") && !script.contains("Run a workload once"), "{shell}");
    }
}

#[test]
fn the_manual_names_every_option_and_exit_code_and_omits_internal_commands() {
    let page = Tool::new().done(&["man"]).out;
    for part in [r"\-\-export\-c2c\-csv", r"\-\-as LIST", ".SH EXIT STATUS", "\n70\n", "CORETALK_STORE"] {
        assert!(page.contains(part), "{part}");
    }
    let commands: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix(".SH COMMAND ")).collect();
    assert!(commands.contains(&"PLACE") && commands.contains(&"RUNS SHOW"), "{commands:?}");
    assert!(!commands.contains(&"WORK"), "{commands:?}");
}

#[test]
fn help_texts_match_their_snapshots() {
    let tool = Tool::new();
    let commands = "latency,wait,wake,queue,place,versus,runs,runs show,export,report,import,compare,lint,view,\
                    topology,advise,probes,plan,clock,quiet,selftest,adapters,adapters check,doctor,suite";
    for command in std::iter::once("").chain(commands.split(',')) {
        let typed = [&words(command)[..], &["--help"]].concat();
        insta::assert_snapshot!(format!("help {command}").trim().replace(' ', "-"), tool.done(&typed).out);
    }
}

/// Creates the inputs of the examples: two runs, matrices and percentile tables of other tools, a graph and a program.
fn with_files() -> Tool {
    let tool = Tool::new();
    let simulated = "--machine sim:laptop-smt --cpus 0-5 -q";
    for options in ["--seed 1 --name baseline", "--seed 2 --name newer"] {
        tool.done(&words(&format!("latency {simulated} {options}")));
    }
    for (run, file) in [("latest", "other.csv"), ("baseline", "another.csv")] {
        tool.done(&["export", run, "--format", "c2c-csv", "-o", file]);
    }
    let options = "--pairs 0-2 --strategy busy,pause --no-save --export-hgrm . --seed 3";
    tool.done(&words(&format!("wait {simulated} {options}")));
    for (from, to) in [("busy", "tails"), ("pause", "other")] {
        let from = tool.path().join(format!("wait-{from}-0-2-trip.hgrm"));
        std::fs::rename(from, tool.path().join(format!("{to}.hgrm"))).unwrap();
    }
    tool.write("threads.txt", "0 1 1\n1 2 1\n");
    tool.write("server", "");
    tool
}

/// Commands that measure all their variants until the budget ends.
const LONG: [&str; 5] = ["suite", "queue", "contend", "wake", "spawn"];

#[test]
fn every_example_in_help_runs() {
    let commands = Tool::new().done(&["--help"]).out;
    let names = commands.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = names.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    let mut tried = 0;
    let files = with_files();
    for name in std::iter::once("").chain(names.filter(|name| *name != "help")) {
        // Examples write and delete files, so each command gets a copy.
        let tool = files.copy();
        let help = tool.done(&[&words(name)[..], &["--help"]].concat()).out;
        let examples: Vec<&str> = help.lines().skip_while(|line| *line != "Examples:").skip(1).collect();
        // `man` has only two uses: print the manual, or write it to a file.
        assert!(examples.len() >= if name == "man" { 2 } else { 3 }, "{name}: {examples:?}");
        for example in examples {
            assert!(example.len() <= 100, "wider than a terminal: {example}");
            let (line, _) = example.split_once(" # ").unwrap();
            let mut words = words(line).split_off(1);
            assert!(name.is_empty() || words.first() == Some(&name), "not an example of `{name}`: {line}");
            if ["selftest", "adapters"].contains(&name) {
                // These measure this machine for half a minute and have their own tests.
                continue;
            }
            let end = words.iter().position(|word| *word == "--").unwrap_or(words.len());
            let is_long = words.first().is_some_and(|word| LONG.contains(word));
            for (option, value, is_needed) in [
                ("--machine", "sim:laptop-smt", !line.contains(" --from ")),
                // A short budget is enough to check the words.
                ("--budget", "300ms", is_long && !words.contains(&"--budget")),
                ("--seed", "1", is_long && !words.contains(&"--seed")),
            ] {
                if is_needed {
                    words.splice(end..end, [option, value]);
                }
            }
            let output = tool.call(&words);
            let expected: &[i32] = match line {
                _ if line.contains(" -- ") || name == "versus" => &[2],
                _ if line.contains("--fail-on") => &[0, 1, 7],
                // A stripped program has no assembly listing.
                _ if line.contains("--asm") => &[0, 3],
                _ => &[0],
            };
            assert!(expected.contains(&output.code), "{line}: {}", output.err);
            let is_refused_program = output.err.contains("cannot run a command");
            assert!(output.code != 2 || is_refused_program, "{line}: {}", output.err);
            tried += 1;
        }
    }
    assert!(tried > 70, "{tried}");
}
