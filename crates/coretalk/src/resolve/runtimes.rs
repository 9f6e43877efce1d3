//! Options about runtimes of other languages. Also prepares their adapters.

#[cfg(target_os = "linux")]
mod prepared;

use crate::args::options::Global;
use crate::args::runtime::RuntimeArgs;
use crate::args::value::HelpersWord;
use crate::exit::Failure;
use crate::resolve::cpus::selected;
use crate::resolve::output::Verbosity;
use coretalk_measure::{Machine, Stop, probes};
use coretalk_model::external::{External, FORKS, HELPERS, SAME};
use coretalk_model::series::{ADAPTERS, Parameters, TrialSpec};
use coretalk_model::{CpuSet, Picos};

/// Returns the work for external runtimes, without duplicates.
fn externals(trials: &[TrialSpec]) -> Vec<External> {
    let external = |trial: &TrialSpec| probes::series_by_id(&trial.probe)?.external(trial);
    let mut found: Vec<External> = trials.iter().filter_map(external).collect();
    found.sort();
    found.dedup();
    found
}

fn allowed(machine: &dyn Machine) -> CpuSet {
    machine.allowance().mask.intersection(&machine.allowance().cpuset)
}

/// Adds the runtime options to the options of a run. Also returns a sentence for each option without effect on these
/// trials. Fails if this process may not use a CPU, or if two adapters have the same name.
pub fn options(
    args: &RuntimeArgs,
    machine: &mut dyn Machine,
    global: &Global,
    trials: &[TrialSpec],
    options: Parameters,
) -> Result<(Parameters, Vec<String>), Failure> {
    let RuntimeArgs { adapter, forks, helpers } = args;
    let externals = externals(trials);
    let is_simulated = machine.environment().simulated.is_some();
    let mut ignored = Vec::new();
    let mut keep_or_note = |option: &str, why_not: Option<&str>| {
        ignored.extend(why_not.map(|why| format!("{option} has no effect {why} and is ignored")));
        why_not.is_none()
    };
    let if_no_runtime = externals.is_empty().then_some("where no runtime is measured (RUNTIME:NAME)");
    let if_simulated = is_simulated.then_some("on a simulated machine");
    let forks = forks.filter(|_| keep_or_note("--forks", if_no_runtime));
    let helpers = helpers.as_ref().filter(|_| keep_or_note("--helpers", if_no_runtime.or(if_simulated)));
    let helpers = match helpers {
        None => None,
        Some(HelpersWord::Same) => Some(SAME.to_owned()),
        Some(HelpersWord::On(selection)) => {
            let cpus: CpuSet = selected(machine, global, "--helpers", selection, None)?.into_iter().collect();
            let refused = cpus.difference(&allowed(machine));
            if !refused.is_empty() {
                return Err(Failure::Environment(format!(
                    "--helpers: {} cannot be used by this process (allowed: {})",
                    refused.named(),
                    allowed(machine)
                )));
            }
            Some(cpus.to_string())
        }
    };
    let mut typed: Vec<String> = Vec::new();
    for (index, word) in adapter.iter().enumerate() {
        if adapter[..index].iter().any(|earlier| earlier.name == word.name) {
            let name = &word.name;
            return Err(Failure::Usage(format!(
                "--adapter: `{name}` is listed twice; name one program for `{name}:…`"
            )));
        }
        let is_measured = externals.iter().any(|external| external.runtime == word.name);
        let if_unused = (!is_measured).then_some("where nothing of it is measured");
        let option = format!("--adapter {}", word.name);
        if keep_or_note(&option, if_no_runtime.or(if_simulated).or(if_unused)) {
            typed.push(word.to_string());
        }
    }
    let options = options
        .with_some(FORKS, forks.map(f64::from))
        .with_some(HELPERS, helpers)
        .with_some(ADAPTERS, (!typed.is_empty()).then(|| typed.join("\n")));
    Ok((options, ignored))
}

/// Prepares the adapters for these trials: finds them, builds them if necessary, and asks what they offer. Building
/// does not count towards the budget. Returns a sentence for each unavailable adapter, whose trials then fail. Fails
/// for a runtime without an adapter, for a name that its adapter does not offer, or after an interruption.
pub fn prepare(
    machine: &mut dyn Machine,
    trials: &[TrialSpec],
    options: &Parameters,
    budget: Picos,
    verbosity: Verbosity,
    stop: &Stop,
) -> Result<Vec<String>, Failure> {
    if externals(trials).is_empty() || machine.environment().simulated.is_some() {
        return Ok(Vec::new());
    }
    #[cfg(target_os = "linux")]
    return prepared::prepare(machine, trials, options, budget, verbosity, stop);
    // Other systems cannot bind threads, so only simulated machines measure anything there.
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (options, budget, verbosity, stop);
        Ok(Vec::new())
    }
}
