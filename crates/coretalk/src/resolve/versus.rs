//! Resolves `versus`: checks that programs exist and names are known, and gives every arm its CPUs.

use crate::args::options::Global;
use crate::args::versus::{ArmWord, VersusArgs, is_for_shells, variable_hint};
use crate::exit::Failure;
use crate::resolve::cpus::{Chosen, cpus_and_pairs, selected};
use crate::resolve::output::{self, Verbosity, print_notice};
use crate::resolve::placement::{find_program, listed, metrics};
use crate::resolve::task::Task;
use coretalk_measure::session::place::run_free;
use coretalk_measure::{CommandLine, Hook, Hooks, Machine, Stop, Work};
use coretalk_model::place::{
    ArmCommand, BUDGET, CONTROL, MIN_EFFECT, PRECISION, PlaceSettings, Placement, REPEAT, VersusSettings,
    WorkSettings,
};
use coretalk_model::{CpuId, CpuSelection, CpuSet, Picos};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::ErrorKind;

/// Maximum number of arms. More arms would need too many rounds for the test of each against the baseline.
const MAX_ARMS: usize = 16;

/// Resolves the options of `versus` on a machine. `resumed` are the settings of a run to resume; its CPUs are kept.
/// Fails for fewer than two commands, a repeated or unknown name, a missing program, or impossible CPUs.
pub fn resolve(
    machine: &mut dyn Machine,
    global: &Global,
    args: &VersusArgs,
    seed: u64,
    resumed: Option<&PlaceSettings>,
    stop: &Stop,
) -> Result<(Task, Vec<String>), Failure> {
    if let Some(refusal) = machine.refuses(&Work::Command(CommandLine::default())) {
        return Err(Failure::Usage(refusal));
    }
    let names = names(args)?;
    let user_metrics = metrics(&args.runs)?;
    let mut arms: Vec<Arm> = args
        .arms
        .iter()
        .zip(names)
        .map(|(word, name)| Arm::from_word(args, word, name))
        .collect::<Result<_, _>>()?;
    let mut notices = Vec::new();
    if let Some(error) = machine.lacks_counters() {
        let why = match error.kind() {
            ErrorKind::PermissionDenied => "the system forbids it (kernel.perf_event_paranoid)".to_owned(),
            ErrorKind::NotFound | ErrorKind::Unsupported => "the machine has no counters for them".to_owned(),
            _ => error.to_string(),
        };
        notices.push(format!("instructions, cycles, cache and branch misses are not counted: {why}"));
    }
    notices.extend(arms.iter().filter(|_| !args.shell).filter_map(Arm::shell_notice));
    match resumed {
        Some(resumed) => place_again(machine, &mut arms, resumed)?,
        None => place(machine, global, args, &mut arms, &mut notices, stop)?,
    }
    let control = (!args.no_control).then_some(1);
    if let Some(position) = control {
        let baseline = arms[0].clone();
        let placement = Placement { name: CONTROL.to_owned(), ..baseline.placement.clone() };
        arms.insert(position, Arm { name: CONTROL.to_owned(), placement, ..baseline });
    }
    let settings = PlaceSettings {
        works: vec![WorkSettings::of_command(user_metrics)],
        placements: arms.iter().map(|arm| arm.placement.clone()).collect(),
        versus: Some(VersusSettings { arms: arms.iter().map(Arm::command).collect(), control }),
        threads: None,
        repeat: REPEAT,
        min_effect: args.runs.min_effect.unwrap_or(MIN_EFFECT),
        precision: global.precision.unwrap_or(PRECISION),
        budget: global.budget.unwrap_or(BUDGET),
        seed,
    };
    let works = arms.into_iter().map(|arm| Work::Command(arm.line)).collect();
    Ok((Task::Comparison { settings, works, hooks: hooks(args), fail_on: args.fail_on }, notices))
}

/// Chooses the CPUs of every arm.
fn place(
    machine: &mut dyn Machine,
    global: &Global,
    args: &VersusArgs,
    arms: &mut [Arm],
    notices: &mut Vec<String>,
    stop: &Stop,
) -> Result<(), Failure> {
    let wanted = Chosen::for_machine(machine, global)?;
    let (chosen, _) = cpus_and_pairs(machine, &wanted, None, 1)?;
    let selection_of =
        |name: &str| args.on.iter().find(|(arm, _)| arm == name).map(|(_, selection)| selection);
    let common = match arms.iter().any(|arm| selection_of(&arm.name).is_none()) {
        true if wanted.cpus.is_none() && wanted.smt.is_none() => {
            quiet_cpus(machine, global, args, &arms[0], &chosen, notices, stop)?
        }
        _ => chosen.iter().collect(),
    };
    for arm in arms {
        arm.placement = match selection_of(&arm.name) {
            Some(selection) => {
                let what = format!("arm {}", arm.name);
                let among = wanted.cpus.is_some().then_some(&chosen);
                let cpus = selected(machine, global, &what, selection, among)?;
                listed(machine, &wanted, &chosen, [&what, &arm.name], cpus)?
            }
            None => Placement::bound(&*arm.name, common.clone()),
        };
    }
    Ok(())
}

/// Gives every arm its CPUs of the resumed run. They must still exist.
fn place_again(machine: &mut dyn Machine, arms: &mut [Arm], resumed: &PlaceSettings) -> Result<(), Failure> {
    let wanted = Chosen { cpus: None, smt: None };
    for arm in arms {
        let known = resumed.placements.iter().find(|placement| placement.name == arm.name);
        let cpus = known.map_or_else(Vec::new, |placement| placement.cpus.clone());
        let what = format!("arm {}", arm.name);
        arm.placement = listed(machine, &wanted, &CpuSet::default(), [&what, &arm.name], cpus)?;
    }
    Ok(())
}

/// Returns as many quiet CPUs as a first run of the baseline keeps busy.
fn quiet_cpus(
    machine: &mut dyn Machine,
    global: &Global,
    args: &VersusArgs,
    baseline: &Arm,
    chosen: &CpuSet,
    notices: &mut Vec<String>,
    stop: &Stop,
) -> Result<Vec<CpuId>, Failure> {
    let early_hooks = [("--prepare", &args.prepare), ("--between", &args.between)];
    if let Some((option, _)) = early_hooks.into_iter().find(|(_, command)| command.is_some()) {
        return Err(Failure::Usage(format!(
            "{option} needs --cpus, because the CPUs are otherwise chosen by a run of {} before it; add for example --cpus quiet:1",
            baseline.name
        )));
    }
    let verbosity = output::options(global).verbosity;
    let text = format!("running {} once to see how many CPUs it keeps busy", baseline.name);
    print_notice(verbosity, Verbosity::Normal, &text);
    let limit = global.budget.unwrap_or(BUDGET);
    let busy = busy_cpus(machine, &baseline.line, chosen, limit, stop)?;
    let number = busy.unwrap_or(1).clamp(1, chosen.len());
    let selection = format!("quiet:{number}");
    let parsed = CpuSelection::parse(&selection).map_err(|error| Failure::Internal(error.to_string()))?;
    let cpus = selected(machine, global, &selection, &parsed, None)?;
    let set: CpuSet = cpus.iter().copied().collect();
    let why = match busy {
        Some(_) => "as many as that run kept busy",
        None => "since that run did not succeed within the budget",
    };
    notices.push(format!("running on {} ({selection}, {why}); --cpus chooses others", set.named()));
    Ok(cpus)
}

/// One command to compare.
#[derive(Debug, Clone)]
struct Arm {
    name: String,
    line: CommandLine,
    /// Unset until all arms are known.
    placement: Placement,
}

impl Arm {
    /// Notice that a word with a meaning for shells, such as `|`, is passed to the program.
    fn shell_notice(&self) -> Option<String> {
        let mut words = self.line.arguments.iter().map(|word| word.to_string_lossy());
        let word = words.find(|word| is_for_shells(word))?;
        let name = &self.name;
        Some(format!(
            "arm {name}: `{word}` is passed to the program as it is; with --shell, sh runs the command"
        ))
    }

    fn from_word(args: &VersusArgs, word: &ArmWord, name: String) -> Result<Arm, Failure> {
        let words = match args.shell {
            true => vec!["sh".to_owned(), "-c".to_owned(), word.command.clone()],
            false => shlex::split(&word.command).ok_or_else(|| {
                Failure::Usage(format!(
                    "arm {name}: the command `{}` has an unclosed quote; close it, or run it with --shell",
                    word.command
                ))
            })?,
        };
        if words.is_empty() {
            return Err(Failure::Usage(format!("arm {name}: the command `{}` is empty", word.command)));
        }
        let mut words = words.into_iter().map(OsString::from);
        let program = words.next().unwrap_or_default();
        // The command of --prepare may create the program.
        if args.prepare.is_none() {
            let next_is_program = words.clone().next().is_some_and(|next| find_program(&next).is_ok());
            let hint = variable_hint(word, &name).filter(|_| next_is_program).unwrap_or_default();
            find_program(&program)
                .map_err(|failure| Failure::Usage(format!("arm {name}: {failure}{hint}")))?;
        }
        let variables = args.env.iter().filter(|(arm, ..)| *arm == name);
        let line = CommandLine {
            program,
            arguments: words.collect(),
            environment: variables.map(|(_, key, value)| (key.clone(), value.clone())).collect(),
            metrics: args.runs.metric.clone(),
            timeout: args.runs.timeout,
        };
        Ok(Arm { placement: Placement::bound(&*name, Vec::new()), name, line })
    }

    fn command(&self) -> ArmCommand {
        let mut hash = Sha256::new();
        for word in std::iter::once(&self.line.program).chain(&self.line.arguments) {
            hash.update(word.as_encoded_bytes());
            hash.update([0]);
        }
        for (key, value) in &self.line.environment {
            hash.update(format!("{key}={value}\0"));
        }
        let hash = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let environment = self.line.environment.iter().map(|(key, _)| key.clone()).collect();
        ArmCommand { hash, environment }
    }
}

/// Returns the names of the arms. Unnamed arms are `a`, `b` and so on.
fn names(args: &VersusArgs) -> Result<Vec<String>, Failure> {
    if args.arms.len() > MAX_ARMS {
        return Err(Failure::Usage(format!(
            "versus compares at most {MAX_ARMS} commands, and {} are given; leave some out",
            args.arms.len()
        )));
    }
    let letter = |number: usize| char::from(b'a' + number as u8).to_string();
    let named = args.arms.iter().enumerate();
    let names: Vec<String> =
        named.map(|(number, arm)| arm.name.clone().unwrap_or_else(|| letter(number))).collect();
    for (number, name) in names.iter().enumerate() {
        if names[..number].contains(name) {
            return Err(Failure::Usage(format!(
                "two arms have the name {name}; give each its own: NAME=COMMAND"
            )));
        }
        if name == CONTROL && !args.no_control {
            return Err(Failure::Usage(format!(
                "the name {CONTROL} is taken by the second run of the baseline; choose another name, or drop it with --no-control"
            )));
        }
    }
    let of_env = args.env.iter().map(|(name, ..)| ("--env", name));
    for (option, name) in of_env.chain(args.on.iter().map(|(name, _)| ("--on", name))) {
        if !names.contains(name) {
            return Err(Failure::Usage(format!(
                "{option} names the arm {name}, which does not exist; the arms are {}",
                names.join(", ")
            )));
        }
    }
    let variables = args.env.iter().map(|(arm, key, _)| (arm, key));
    if let Some((name, key)) = repeated(variables) {
        return Err(Failure::Usage(format!("--env sets {key} of the arm {name} twice; set it once")));
    }
    if let Some(name) = repeated(args.on.iter().map(|(name, _)| name)) {
        return Err(Failure::Usage(format!("--on lists CPUs for the arm {name} twice; list them once")));
    }
    Ok(names)
}

fn repeated<T: Ord + Copy>(all: impl Iterator<Item = T>) -> Option<T> {
    let mut known = BTreeSet::new();
    all.into_iter().find(|one| !known.insert(*one))
}

fn hooks(args: &VersusArgs) -> Hooks {
    let line = |text: &String| CommandLine {
        program: "sh".into(),
        arguments: vec!["-c".into(), text.into()],
        ..CommandLine::default()
    };
    let given =
        [(Hook::Prepare, &args.prepare), (Hook::Between, &args.between), (Hook::Cleanup, &args.cleanup)];
    given.into_iter().filter_map(|(hook, text)| Some((hook, line(text.as_ref()?)))).collect()
}

/// Returns how many CPUs a run of a command keeps busy: its CPU time divided by its wall time, rounded up. `None` if
/// the run fails; the comparison then reports the failure.
fn busy_cpus(
    machine: &mut dyn Machine,
    line: &CommandLine,
    chosen: &CpuSet,
    limit: Picos,
    stop: &Stop,
) -> Result<Option<usize>, Failure> {
    let outcome = run_free(machine, line, chosen, limit, stop);
    if stop.is_raised() {
        return Err(Failure::Interrupted(
            "interrupted before the comparison began; nothing was saved".into(),
        ));
    }
    let value = |name: &str| outcome.as_ref().ok()?.observed.numbers.values.get(name).copied();
    let used = || Some((value("user_s")? + value("system_s")?) / value("wall_s").filter(|wall| *wall > 0.0)?);
    // A small excess over a whole number comes from starting and ending.
    Ok(used().map(|used| (used - 0.1).ceil().max(1.0) as usize))
}
