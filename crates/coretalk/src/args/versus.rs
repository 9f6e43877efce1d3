//! [`VersusArgs`]: the options of `versus` as typed.

use super::place::ComparedRuns;
use super::value;
use super::words::FailOnWord;
use clap::{Arg, Args};
use coretalk_model::CpuSelection;

/// Options of `versus`.
#[derive(Debug, Clone, Default, Args)]
pub struct VersusArgs {
    /// At least two commands to compare, each in one word; the first is the baseline. They are split as by a shell, but run without a shell
    #[arg(required_unless_present = "resume", num_args = 2.., value_name = "[NAME=]COMMAND", value_parser = arm)]
    pub arms: Vec<ArmWord>,
    /// Environment variable of one arm; repeatable
    #[arg(long, value_name = "ARM:KEY=VALUE", value_parser = variable_of_arm)]
    pub env: Vec<(String, String, String)>,
    /// CPUs of one arm, as for --cpus (default: those of --cpus, or as many quiet CPUs as the baseline keeps busy)
    #[arg(long, value_name = "ARM:CPUS", value_parser = cpus_of_arm)]
    pub on: Vec<(String, CpuSelection)>,
    /// Run each command with `sh -c`
    #[arg(long)]
    pub shell: bool,
    /// Omit the control, a second arm with the baseline: a difference between the two shows that noise is too high
    #[arg(long)]
    pub no_control: bool,
    /// Command for `sh -c` before the first run; not timed
    #[arg(long, value_name = "COMMAND")]
    pub prepare: Option<String>,
    /// Command for `sh -c` before every run; not timed
    #[arg(long, value_name = "COMMAND")]
    pub between: Option<String>,
    /// Command for `sh -c` after the last run, also of an interrupted comparison; not timed
    #[arg(long, value_name = "COMMAND")]
    pub cleanup: Option<String>,
    /// Exit with 1 if an arm is `slower`, `faster`, or one of the two (`any`) in the main metric; with 7 if the data are inconclusive
    #[arg(long, value_name = "WHAT")]
    pub fail_on: Option<FailOnWord>,
    /// Options for the runs and the comparison.
    #[command(flatten)]
    pub runs: ComparedRuns,
}

/// The help of `--cpus`.
pub fn cpus(option: Arg) -> Arg {
    option.help("CPUs of all arms (default: as many quiet ones as a first run of the baseline keeps busy); `l3:0`, `core:3`, `quiet:2` and others as for `latency`")
}

/// The help of `--budget`.
pub fn budget(option: Arg) -> Arg {
    option.help("Time limit, including the commands around the runs, for example 10s or 2m (default: 60s)")
}

/// A command with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArmWord {
    /// The name, if given.
    pub name: Option<String>,
    /// The command.
    pub command: String,
}

/// Splits `NAME=COMMAND`. Text before `=` that is not a name belongs to the command.
fn arm(text: &str) -> Result<ArmWord, String> {
    let named = text.split_once('=').filter(|(name, _)| is_name(name));
    let (name, command) = named.map_or((None, text), |(name, command)| (Some(name.to_owned()), command));
    if command.trim().is_empty() {
        return Err("the command is empty; expected for example `new=./server --bench`".into());
    }
    let looks_like_variable = |name: &String| {
        std::env::var_os(name).is_some() || (has_variable_spelling(name) && name.contains('_'))
    };
    if let Some(name) = name.as_ref().filter(|name| looks_like_variable(name)) {
        return Err(format!(
            "`{name}` looks like an environment variable, not like the name of an arm; set variables with --env ARM:{name}=VALUE"
        ));
    }
    Ok(ArmWord { name, command: command.to_owned() })
}

fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
}

/// Explains how to set a variable, for a word that begins with a setting: `A=1 ./server` or `new=A=1 ./server`.
pub fn variable_hint(word: &ArmWord, arm: &str) -> Option<String> {
    let (first, _) = word.command.split_once(' ')?;
    match (first.split_once('='), &word.name) {
        (Some((key, _)), _) if !key.is_empty() && has_variable_spelling(key) => {
            Some(format!(" (to set a variable, use --env {arm}:{first})"))
        }
        (None, Some(name)) => Some(format!(" (to set a variable, use --env ARM:{name}=VALUE)")),
        _ => None,
    }
}

/// Whether shells interpret a word, for example `|`.
pub fn is_for_shells(word: &str) -> bool {
    ["|", "||", "&", "&&", ";", "2>"].contains(&word) || word.starts_with(['>', '<', '$', '`'])
}

fn has_variable_spelling(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

fn variable_of_arm(text: &str) -> Result<(String, String, String), String> {
    let parts = text.split_once(':').and_then(|(arm, entry)| Some((arm, entry.split_once('=')?)));
    let Some((arm, (key, value))) = parts.filter(|(arm, (key, _))| is_name(arm) && !key.is_empty()) else {
        return Err("expected ARM:KEY=VALUE, for example `new:THREADS=2`".into());
    };
    if key.contains(char::is_whitespace) || text.contains('\0') {
        return Err(format!("`{key}` is not a valid name of a variable; expected ARM:KEY=VALUE"));
    }
    Ok((arm.to_owned(), key.to_owned(), value.to_owned()))
}

fn cpus_of_arm(text: &str) -> Result<(String, CpuSelection), String> {
    let Some((arm, cpus)) = text.split_once(':').filter(|(arm, _)| is_name(arm)) else {
        return Err("expected ARM:CPUS, for example `new:0,2` or `new:l3:0`".into());
    };
    let cpus = value::cpus(cpus).map_err(|error| format!("arm {arm}: {error}"))?;
    Ok((arm.to_owned(), cpus))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_word_before_an_equals_sign() {
        let split = |text: &str| arm(text).map(|arm| (arm.name, arm.command));
        assert_eq!(split("new=./a --x=1"), Ok((Some("new".into()), "./a --x=1".into())));
        assert_eq!(split("./a --x=1"), Ok((None, "./a --x=1".into())));
        assert_eq!(split("A=./a"), Ok((Some("A".into()), "./a".into())));
        for variable in ["LC_ALL=C ./a", "PATH=/bin ls"] {
            assert!(split(variable).unwrap_err().contains("--env"), "{variable}");
        }
        assert!(split("new= ").is_err() && split("").is_err());
    }

    #[test]
    fn env_and_on_values_begin_with_an_arm() {
        assert_eq!(variable_of_arm("new:A=b:c=d"), Ok(("new".into(), "A".into(), "b:c=d".into())));
        assert!(variable_of_arm("A=b").is_err() && variable_of_arm("new:=b").is_err());
        assert!(variable_of_arm("new:A b=c").unwrap_err().contains("not a valid name"));
        assert_eq!(cpus_of_arm("new:l3:0").unwrap().0, "new");
        assert!(cpus_of_arm("new").is_err() && cpus_of_arm("new:x").unwrap_err().contains("arm new"));
    }
}
