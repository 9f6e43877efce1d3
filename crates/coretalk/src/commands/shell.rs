//! `completions` and `man`, generated from the definitions of options, the names of probes, and the saved runs.

use crate::args::CompletionsArgs;
use crate::args::options::Global;
use crate::args::parse::definitions;
use crate::exit::{ExitCode, Failure};
use crate::run::out::Out;
use clap::Command;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;
use coretalk_measure::probes::latency_under_load::Load;
use coretalk_measure::probes::{self, contend};
use coretalk_measure::sim::Scenario;
use coretalk_model::place::{Preset, WorkloadKind};
use coretalk_model::{CpuSelection, Level};
use std::fmt::Write;

pub fn man(global: &Global) -> Result<ExitCode, Failure> {
    Out::open(global.output.as_deref())?.text(&manual())?;
    Ok(ExitCode::Done)
}

/// Formats one manual page: the program, each command with its own options, environment and exit status.
fn manual() -> String {
    let definitions = definitions();
    let page = clap_mangen::Man::new(definitions.clone());
    let mut bytes = Vec::new();
    // Writing to memory cannot fail.
    let _ = page.render(&mut bytes);
    let mut roff = String::from_utf8_lossy(&bytes).into_owned();
    for command in definitions.get_subcommands().filter(|command| !command.is_hide_set()) {
        describe(command, command.get_name(), &mut roff);
    }
    roff.push_str(".SH ENVIRONMENT\n");
    for (name, meaning) in [
        ("CORETALK_STORE", "directory for run files, unless --store is given"),
        ("NO_COLOR", "turns colour off, whatever its value"),
        ("COLUMNS", "width of tables and heat maps"),
    ] {
        let _ = writeln!(roff, ".TP\n{name}\n{}", escaped(meaning));
    }
    roff.push_str(".SH EXIT STATUS\n");
    for (code, meaning) in ExitCode::ALL {
        let _ = writeln!(roff, ".TP\n{}\n{}", code as u8, escaped(meaning));
    }
    roff
}

fn describe(command: &clap::Command, path: &str, roff: &mut String) {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let _ = writeln!(roff, ".SH COMMAND {}\n{}", escaped(&path.to_uppercase()), escaped(&about));
    for argument in command.get_arguments().filter(|argument| !argument.is_global_set()) {
        if matches!(argument.get_id().as_str(), "help" | "version") || argument.is_hide_set() {
            continue;
        }
        let value = argument.get_value_names().unwrap_or_default().join(" ");
        let name = argument.get_long().map_or(value.clone(), |long| format!("--{long} {value}"));
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(roff, ".TP\n{}\n{}", escaped(name.trim()), escaped(&help));
    }
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        describe(subcommand, &format!("{path} {}", subcommand.get_name()), roff);
    }
}

fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

/// Placeholder in generated scripts for the names of runs, which are found at completion time.
const RUNS: &str = "CORETALK-RUNS";

/// Commands whose first argument is a run. `BELOW_RUNS` are such subcommands of `runs`.
const WITH_RUN: [&str; 3] = ["export", "report", "compare"];
const BELOW_RUNS: [&str; 4] = ["show", "tag", "rm", "path"];

pub fn completions(global: &Global, args: &CompletionsArgs) -> Result<ExitCode, Failure> {
    Out::open(global.output.as_deref())?.text(&script(args.shell))?;
    Ok(ExitCode::Done)
}

fn script(shell: Shell) -> String {
    let mut generated = Vec::new();
    clap_complete::generate(shell, &mut with_names(&definitions(), shell), "coretalk", &mut generated);
    let generated = String::from_utf8_lossy(&generated);
    match shell {
        Shell::Bash => {
            let list_runs = r#"$("$1" runs names 2>/dev/null)"#;
            let script = generated
                .replace(RUNS, list_runs)
                .replace("complete -F _coretalk ", "complete -F _coretalk_words ");
            let machines = machines().collect::<Vec<_>>().join(" ");
            BASH.replace("MACHINES", &machines) + &script
        }
        Shell::Zsh => generated.replace(&format!("({RUNS})"), "_coretalk_runs").replacen(
            "#compdef coretalk\n",
            &format!("#compdef coretalk\n{ZSH}"),
            1,
        ),
        Shell::Fish => {
            let list_runs = "(coretalk runs names 2>/dev/null)";
            let script = generated.replace(&format!("-f -a \"{RUNS}\\t''\""), &format!("-a \"{list_runs}\""));
            let of_runs = BELOW_RUNS.map(|subcommand| {
                format!("__fish_coretalk_using_subcommand runs; and __fish_seen_subcommand_from {subcommand}")
            });
            let conditions = WITH_RUN.map(|command| format!("__fish_coretalk_using_subcommand {command}"));
            let line = |when| format!("complete -c coretalk -n \"{when}\" -a \"{list_runs}\"\n");
            script + &conditions.into_iter().chain(of_runs).map(line).collect::<String>()
        }
        _ => generated.into_owned(),
    }
}

/// Works around readline, which splits words at `:` and `=` but does not split comma-separated lists.
const BASH: &str = r#"_coretalk_words() {
    local line="${COMP_LINE:0:COMP_POINT}"
    local word="${line##*[[:space:]=]}"
    if [[ "${word}" == sim:* && "${COMP_WORDBREAKS}" == *:* ]]; then
        COMPREPLY=( $(compgen -W "MACHINES" -- "${word#sim:}") $(compgen -f -- "${word#sim:}") )
    elif [[ "$2" == *,* && "$3" == --* ]]; then
        local head="${2%,*},"
        _coretalk "$1" "${2##*,}" "$3"
        COMPREPLY=( "${COMPREPLY[@]/#/${head}}" )
    else
        _coretalk "$@"
        # Options are offered once a dash is typed, where there is anything else.
        local words=() one
        for one in "${COMPREPLY[@]}"; do [[ "${one}" == -* ]] || words+=( "${one}" ); done
        [[ "$2" == -* || ${#words[@]} -eq 0 ]] || COMPREPLY=( "${words[@]}" )
    fi
}

"#;

const ZSH: &str = r#"
_coretalk_runs() {
    local -a runs
    runs=(${(f)"$(_call_program runs coretalk runs names 2>/dev/null)"})
    _alternative 'runs:run:compadd -a runs' 'files:file:_files'
}
"#;

/// Adds all known names to the definitions and removes hidden commands.
fn with_names(command: &Command, shell: Shell) -> Command {
    let name = command.get_name().to_owned();
    let with_known_values = |argument: &clap::Arg| {
        let names = names(&name, argument.get_id().as_str(), shell);
        match names {
            Some(names) => argument.clone().value_parser(PossibleValuesParser::new(names)),
            None => argument.clone(),
        }
    };
    let shown = command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set());
    let mut copy = Command::new(name.clone())
        .disable_help_subcommand(command.is_disable_help_subcommand_set())
        .args(command.get_arguments().map(with_known_values))
        .groups(command.get_groups().cloned())
        .subcommands(shown.map(|subcommand| with_names(subcommand, shell)));
    if let Some(about) = command.get_about() {
        copy = copy.about(about.clone());
    }
    if let Some(version) = command.get_version() {
        copy = copy.version(version.to_owned());
    }
    copy
}

/// Returns the values of an argument whose definition does not list them.
fn names(command: &str, argument: &str, shell: Shell) -> Option<Vec<String>> {
    let asks_for_runs = matches!(shell, Shell::Bash | Shell::Zsh | Shell::Fish);
    let owned = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    match (command, argument) {
        (_, "machine") => {
            let simulated = machines().map(|name| format!("sim:{name}"));
            Some(["host".to_owned()].into_iter().chain(simulated).collect())
        }
        (_, "cpus" | "avoid" | "helpers") => {
            let groups = Level::ALL.map(|level| format!("{level}:0")).into_iter();
            Some(groups.chain(CpuSelection::NAMES.map(str::to_owned)).collect())
        }
        ("place", "workload") => owned(&WorkloadKind::ALL.map(WorkloadKind::name)),
        ("place", "placement") => owned(&Preset::ALL.map(Preset::name)),
        ("latency", "load") => owned(&Load::ALL.map(Load::name)),
        ("contend", "arrange") => owned(&contend::ARRANGEMENTS),
        (_, "resume" | "run" | "runs" | "sides" | "from" | "jitter") if asks_for_runs => {
            Some(vec![RUNS.to_owned()])
        }
        _ => {
            // The first parameter of a probe names its variants.
            let probe = probes::series_by_id(command)?;
            probe.declaration().parameters.first().filter(|parameter| parameter.id == argument)?;
            let variants = probe.variants().into_iter().map(|(name, _)| name);
            // A pattern such as `pause:N` cannot be completed.
            let words: Vec<String> = variants.filter(|name| !name.contains(char::is_uppercase)).collect();
            (!words.is_empty()).then_some(words)
        }
    }
}

fn machines() -> impl Iterator<Item = &'static str> {
    Scenario::names().iter().copied()
}
