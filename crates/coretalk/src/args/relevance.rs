//! Which global options concern which command: an option without effect is refused, and left out of help.

use clap::{ArgMatches, Command, parser::ValueSource};

/// Options that choose what is measured and how.
const MEASURED: &[&str] = &["cpus", "smt", "machine", "seed", "precision", "budget", "nice", "rt"];
/// The same of a look at how quiet CPUs are.
const JITTERED: &[&str] = &["cpus", "smt", "machine", "seed", "nice", "rt"];
/// Options that concern where a new run is kept and what is known of it.
const KEPT: &[&str] = &["strict", "resume", "store", "no_save", "name", "keep_raw", "label", "note"];
/// The same of a run of series, which has no raw ticks.
const KEPT_SERIES: &[&str] = &["strict", "resume", "store", "no_save", "name", "label", "note"];
/// Options that concern what is written of a matrix.
const SHOWN: &[&str] = &["format", "output", "order", "by", "color"];
/// Files written beside the result.
const EXPORTED: &[&str] = &["export_csv", "export_c2c_csv", "export_markdown", "export_json", "export_jsonl"];
/// Options of commands that say something about a machine: as text or as one document.
const FACTS: &[&str] = &["format", "output", "with_identity"];
/// Files written beside the result of a run of series.
const EXPORTED_SERIES: &[&str] =
    &["export_csv", "export_markdown", "export_json", "export_jsonl", "export_hgrm"];
/// Files written beside the result of a comparison.
const EXPORTED_PLACE: &[&str] = &["export_markdown", "export_json", "export_jsonl", "export_hyperfine_json"];
/// Options that choose where and how long a comparison runs; what runs chooses its priority itself.
const MEASURED_PLACE: &[&str] = &["cpus", "smt", "machine", "seed", "precision", "budget"];
/// A comparison keeps numbers and no raw ticks.
const KEPT_PLACE: &[&str] = &["store", "no_save", "name", "resume", "label", "note"];
/// Options that concern private facts and remarks.
const SAID: &[&str] = &["with_identity", "quiet", "verbose"];

/// The ids of the global options that concern a command, named by its path (`runs list`; empty for the quick look).
pub fn concerning(path: &str) -> Vec<&'static str> {
    let parts: &[&[&'static str]] = match path {
        "" | "latency" => &[MEASURED, KEPT, SHOWN, EXPORTED, SAID],
        "suite" => &[MEASURED, KEPT, SHOWN, EXPORTED, &["export_hgrm"], SAID],
        "plan suite" => &[MEASURED, &["order", "output"]],
        "spawn" | "sharing" | "broadcast" => {
            &[MEASURED, KEPT_SERIES, &["format", "output", "order"], EXPORTED_SERIES, SAID]
        }
        "wake" => &[MEASURED, KEPT_SERIES, SHOWN, EXPORTED_SERIES, SAID],
        "wait" => &[MEASURED, KEPT_SERIES, &["format", "output", "order", "color"], EXPORTED_SERIES, SAID],
        "queue" => &[MEASURED, KEPT_SERIES, &["format", "output", "order", "color"], EXPORTED_SERIES, SAID],
        // Threads take CPUs in an arrangement of their own, and nothing is drawn in colour.
        "contend" => &[MEASURED, KEPT_SERIES, &["format", "output"], EXPORTED_SERIES, SAID],
        // How long is said by --for, and a rare gap has no precision.
        "jitter" => &[JITTERED, KEPT_SERIES, &["format", "output", "order"], EXPORTED_SERIES, SAID],
        "plan jitter" => &[JITTERED, &["order", "output"]],
        "plan contend" => &[MEASURED, &["output"]],
        "plan wait" | "plan wake" | "plan queue" | "plan spawn" | "plan sharing" | "plan broadcast" => {
            &[MEASURED, &["order", "output"]]
        }
        "plan place" => &[MEASURED_PLACE, &["output"]],
        "place" => &[MEASURED_PLACE, KEPT_PLACE, &["format", "output"], EXPORTED_PLACE, SAID],
        "plan" | "plan latency" => &[MEASURED, FACTS, &["keep_raw"]],
        "runs" | "runs list" | "runs names" => &[&["store", "output"]],
        "runs show" => &[SHOWN, &["store", "with_identity", "quiet"]],
        "runs path" => &[&["store", "output", "quiet"]],
        "runs tag" | "runs rm" => &[&["store", "quiet"]],
        "export" => &[&["store", "format", "output", "with_identity", "quiet"]],
        "report" => &[&["store", "output", "order", "by", "with_identity", "quiet"]],
        "import" => &[&["format", "output", "order", "color", "quiet"]],
        "view" => &[&["output", "quiet"]],
        "lint" => &[&["strict", "output", "quiet"]],
        "compare" => &[&["store", "format", "output", "with_identity", "quiet"]],
        "doctor" => &[FACTS, &["machine"]],
        "clock" => &[FACTS, &["machine", "budget"]],
        "advise" => &[FACTS, &["cpus", "smt", "machine", "seed", "budget", "store", "quiet"]],
        "topology" => &[FACTS, &["machine", "store", "quiet"]],
        "probes" => &[&["format", "output"]],
        "completions" | "man" => &[&["output"]],
        _ => &[],
    };
    parts.concat()
}

/// The definitions with every global option hidden where it has no effect.
pub fn hide_irrelevant(cli: Command) -> Command {
    let globals: Vec<clap::Arg> = cli.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    let names: Vec<String> = cli.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    names.into_iter().fold(cli, |cli, name| {
        let path = name.clone();
        cli.mut_subcommand(name, |sub| hide_below(sub, &path, &globals))
    })
}

fn hide_below(mut command: Command, path: &str, globals: &[clap::Arg]) -> Command {
    let concerns = concerning(path);
    for global in globals {
        let irrelevant = !concerns.contains(&global.get_id().as_str());
        command = command.arg(global.clone().hide(irrelevant));
    }
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| {
        let path = format!("{path} {name}");
        command.mut_subcommand(name, |sub| hide_below(sub, &path, globals))
    })
}

/// The path of the command that was typed, and its own matches.
pub fn leaf(matches: &ArgMatches) -> (String, &ArgMatches) {
    let (mut path, mut leaf) = (Vec::new(), matches);
    while let Some((name, below)) = leaf.subcommand() {
        path.push(name);
        leaf = below;
    }
    (path.join(" "), leaf)
}

/// The ids of the options that were typed, global ones among them.
pub fn typed(leaf: &ArgMatches) -> Vec<String> {
    let typed = |id: &&str| leaf.value_source(id) == Some(ValueSource::CommandLine);
    leaf.ids().map(clap::Id::as_str).filter(typed).map(str::to_owned).collect()
}

/// The first option that was typed and does not concern the command.
pub fn without_effect(cli: &Command, path: &str, typed: &[String]) -> Option<String> {
    let concerns = concerning(path);
    typed.iter().find(|id| is_global(cli, id) && !concerns.contains(&id.as_str())).map(|id| flag(id))
}

/// Whether an option is accepted before and after every command.
pub fn is_global(cli: &Command, id: &str) -> bool {
    cli.get_arguments().any(|arg| arg.is_global_set() && arg.get_id() == id)
}

/// Two global options that exclude each other, as they are defined: clap looks at those before the command and at those
/// after it, and not at both together.
pub fn excluding_each_other(cli: &Command, typed: &[String]) -> Option<[String; 2]> {
    let is_typed = |arg: &&clap::Arg| typed.iter().any(|id| arg.get_id() == id.as_str());
    let excluded = |arg: &clap::Arg| cli.get_arg_conflicts_with(arg).into_iter().find(is_typed);
    let mut options = cli.get_arguments().filter(|arg| arg.is_global_set()).filter(is_typed);
    options.find_map(|arg| Some([arg.to_string(), excluded(arg)?.to_string()]))
}

/// Global options of a map, and what asks for trials in its place.
const OF_A_MAP: [&str; 3] = ["keep_raw", "by", "color"];
const TRIALS: [&str; 2] = ["gap", "load"];

/// An option of a map that was typed for trials in its place, and the option that asks for them. clap refuses the two
/// only where both stand behind the command.
pub fn of_no_map(path: &str, typed: &[String]) -> Option<[String; 2]> {
    let first = |ids: &[&str]| typed.iter().find(|id| ids.contains(&id.as_str())).map(|id| flag(id));
    let is_latency = ["latency", "plan latency"].contains(&path);
    is_latency.then(|| Some([first(&OF_A_MAP)?, first(&TRIALS)?])).flatten()
}

/// `--no-save` from `no_save`; the option that is called differently on the command line is known here.
pub fn flag(id: &str) -> String {
    format!("--{}", if id == "imitate" { "as" } else { id }.replace('_', "-"))
}
