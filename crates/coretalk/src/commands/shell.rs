//! `man`: the manual, from the definitions.

use crate::args::options::Global;
use crate::args::parse::definitions;
use crate::exit::{ExitCode, Failure};
use crate::run::out::Out;
use std::fmt::Write;

/// `man`.
///
/// # Errors
/// The output cannot be written.
pub fn man(global: &Global) -> Result<ExitCode, Failure> {
    Out::open(global.output.as_deref())?.text(&manual())?;
    Ok(ExitCode::Done)
}

/// One page: the program, each command with its own options, environment and exit status.
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
        ("CORETALK_STORE", "directory of run files, where --store is not given"),
        ("NO_COLOR", "no colour, whatever its value"),
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

/// Arguments that belong to the command alone; those that every command has stand above.
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
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        describe(below, &format!("{path} {}", below.get_name()), roff);
    }
}

/// Text that roff does not read as a request.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
