//! What is meant by options about runtimes in other languages, and making ready what performs them.

use crate::args::runtime::RuntimeArgs;
use crate::args::value::{AdapterWord, HelpersWord, adapter};
use crate::exit::Failure;
use crate::resolve::adapters::{self, AdapterSettings};
use crate::resolve::output::{Verbosity, remark};
use coretalk_measure::adapters::Description;
use coretalk_measure::adapters::catalogue::{Catalogue, Recipe};
use coretalk_measure::adapters::runtimes::Shop;
use coretalk_measure::external::{External, FORKS, HELPERS, SAME, TYPED};
use coretalk_measure::{Machine, Stop, probes};
use coretalk_model::CpuSet;
use coretalk_model::series::{Parameters, TrialSpec};

/// What runtimes perform of some trials, each once.
fn externals(trials: &[TrialSpec]) -> Vec<External> {
    let of = |trial: &TrialSpec| probes::series_by_id(&trial.probe)?.external(trial);
    let mut found: Vec<External> = trials.iter().filter_map(of).collect();
    found.sort();
    found.dedup();
    found
}

/// Which CPUs this process may use.
fn allowed(machine: &dyn Machine) -> CpuSet {
    machine.allowance().mask.intersection(&machine.allowance().cpuset)
}

/// The options of a run with those about runtimes, and a sentence for each that has no effect on these trials.
///
/// # Errors
/// A CPU that is not allowed to this process.
pub fn options(
    args: &RuntimeArgs,
    machine: &dyn Machine,
    trials: &[TrialSpec],
    options: Parameters,
) -> Result<(Parameters, Vec<String>), Failure> {
    let RuntimeArgs { adapter, forks, helpers } = args;
    let externals = externals(trials);
    let is_simulated = machine.environment().simulated.is_some();
    let mut ignored = Vec::new();
    let mut has_effect = |option: &str, why_not: Option<&str>| {
        ignored.extend(why_not.map(|why| format!("{option} has no effect {why} and is ignored")));
        why_not.is_none()
    };
    let nowhere = externals.is_empty().then_some("where no runtime is measured (RUNTIME:NAME)");
    let simulated = is_simulated.then_some("on a simulated machine, which performs runtimes by itself");
    let forks = forks.filter(|_| has_effect("--forks", nowhere));
    let helpers = helpers.as_ref().filter(|_| has_effect("--helpers", nowhere.or(simulated)));
    if let Some(HelpersWord::On(cpus)) = helpers {
        let refused = cpus.difference(&allowed(machine));
        if !refused.is_empty() {
            return Err(Failure::Environment(format!(
                "--helpers: {} cannot be used by this process (allowed: {})",
                refused.named(),
                allowed(machine)
            )));
        }
    }
    let mut typed: Vec<String> = Vec::new();
    for word in adapter {
        let is_measured = externals.iter().any(|external| external.runtime == word.name);
        let unused = (!is_measured).then_some("where nothing of it is measured");
        let option = format!("--adapter {}", word.name);
        if has_effect(&option, nowhere.or(simulated).or(unused)) {
            typed.push(word.to_string());
        }
    }
    let helpers = helpers.map(|helpers| match helpers {
        HelpersWord::Same => SAME.to_owned(),
        HelpersWord::On(cpus) => cpus.to_string(),
    });
    let options = options
        .with_some(FORKS, forks.map(f64::from))
        .with_some(HELPERS, helpers)
        .with_some(TYPED, (!typed.is_empty()).then(|| typed.join("\n")));
    Ok((options, ignored))
}

/// Makes ready what performs the trials of runtimes among these: looks for each adapter, builds it where that has to be,
/// and asks it what it offers. Gives a sentence for each that cannot be had: its trials say so, too.
///
/// # Errors
/// A runtime without an adapter, a name that its adapter does not offer, or somebody wished to end.
pub fn prepare(
    machine: &mut dyn Machine,
    trials: &[TrialSpec],
    options: &Parameters,
    verbosity: Verbosity,
    stop: &Stop,
) -> Result<Vec<String>, Failure> {
    let externals = externals(trials);
    if externals.is_empty() || machine.environment().simulated.is_some() {
        return Ok(Vec::new());
    }
    let AdapterSettings { mut catalogue, users, cache } = adapters::settings()?;
    for line in options.text(TYPED).iter().flat_map(|lines| lines.lines()) {
        let AdapterWord { name, words } = adapter(line).map_err(Failure::Usage)?;
        catalogue
            .type_in(&name, &words)
            .map_err(|error| Failure::Usage(format!("--adapter {line}: failed to {error}")))?;
    }
    let shop = Shop { users: &users, cache: &cache };
    let mut building = |recipe: &Recipe| {
        remark(verbosity, Verbosity::Normal, &format!("building the adapter `{}`", recipe.name));
    };
    let mut notices = Vec::new();
    let mut runtimes: Vec<&str> = externals.iter().map(|external| external.runtime.as_str()).collect();
    runtimes.dedup();
    for runtime in runtimes {
        let recipe = catalogue.find(runtime).ok_or_else(|| no_adapter(runtime, &catalogue))?;
        match machine.prepare_runtime(recipe, &shop, &mut building, stop) {
            None => {}
            Some(Ok(offered)) => check(runtime, &offered.description, trials, options)?,
            Some(Err(lacking)) if lacking.is_interrupted() => {
                return Err(Failure::Interrupted("interrupted; nothing was measured".into()));
            }
            Some(Err(lacking)) => notices.push(format!("`{runtime}` cannot be measured: {lacking}")),
        }
    }
    let allowed = allowed(machine);
    if allowed.len() <= 2 && options.text(HELPERS).is_none() {
        notices.push(format!(
            "other threads of runtimes share the measured CPUs, because only {} can be used",
            allowed.named()
        ));
    }
    Ok(notices)
}

fn no_adapter(runtime: &str, catalogue: &Catalogue) -> Failure {
    let known: Vec<&str> = catalogue.recipes().iter().map(|recipe| recipe.name.as_str()).collect();
    Failure::Usage(format!(
        "there is no adapter `{runtime}` (known: {}); name its program with --adapter {runtime}=COMMAND",
        known.join(", ")
    ))
}

/// Whether a runtime offers what these trials ask of it.
fn check(
    runtime: &str,
    description: &Description,
    trials: &[TrialSpec],
    options: &Parameters,
) -> Result<(), Failure> {
    for trial in trials {
        let Some(probe) = probes::series_by_id(&trial.probe) else { continue };
        let Some(external) = probe.external(trial).filter(|external| external.runtime == runtime) else {
            continue;
        };
        // What no runtime can do is said of the trial.
        let Ok(asked) = probe.asked(trial, options) else { continue };
        let kind = asked.operation.kind();
        if description.find(kind, &external.name).is_some() {
            continue;
        }
        let offered: Vec<String> =
            description.of(kind).map(|offer| format!("{runtime}:{}", offer.name)).collect();
        let known = match offered.is_empty() {
            true => format!("it offers no {}", kind.noun()),
            false => format!("known are {}", offered.join(", ")),
        };
        return Err(Failure::Usage(format!(
            "`{external}` is no {} of {}: {known}",
            kind.noun(),
            description.runtime
        )));
    }
    Ok(())
}
