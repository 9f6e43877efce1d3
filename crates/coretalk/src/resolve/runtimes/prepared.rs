//! Preparation of the adapters of a run.

use super::{allowed, externals};
use crate::args::value::{AdapterWord, adapter};
use crate::exit::Failure;
use crate::resolve::adapters::{self, AdapterSettings};
use crate::resolve::output::{Verbosity, print_notice};
use coretalk_measure::adapters::Description;
use coretalk_measure::adapters::catalogue::{AdapterSpec, Catalogue};
use coretalk_measure::adapters::runtimes::Preparation;
use coretalk_measure::{Machine, Stop, probes};
use coretalk_model::Picos;
use coretalk_model::external::HELPERS;
use coretalk_model::series::{ADAPTERS, Parameters, TrialSpec};
use std::time::Duration;

/// Implements [`prepare`](super::prepare).
pub(super) fn prepare(
    machine: &mut dyn Machine,
    trials: &[TrialSpec],
    options: &Parameters,
    budget: Picos,
    verbosity: Verbosity,
    stop: &Stop,
) -> Result<Vec<String>, Failure> {
    let externals = externals(trials);
    let AdapterSettings { mut catalogue, users, cache } = adapters::settings()?;
    for line in options.text(ADAPTERS).iter().flat_map(|lines| lines.lines()) {
        let AdapterWord { name, words } = adapter(line).map_err(Failure::Usage)?;
        catalogue
            .type_in(&name, &words)
            .map_err(|error| Failure::Usage(format!("--adapter {line}: failed to {error}")))?;
    }
    let mut building = |spec: &AdapterSpec| {
        print_notice(verbosity, Verbosity::Normal, &format!("building the adapter `{}`", spec.name));
    };
    let (mut notices, mut is_any_ready) = (Vec::new(), false);
    let mut runtimes: Vec<&str> = externals.iter().map(|external| external.runtime.as_str()).collect();
    runtimes.dedup();
    for runtime in runtimes {
        let spec = catalogue.find(runtime).ok_or_else(|| no_adapter(runtime, &catalogue))?;
        // A quarter of the remaining budget: an adapter that does not answer leaves time for the others.
        let patience =
            Duration::from_millis(Picos((budget - machine.preparing()).0 / 4).duration().as_millis() as u64);
        let preparation = Preparation { users: &users, cache: &cache, patience };
        match machine.prepare_runtime(spec, &preparation, &mut building, stop) {
            None => {}
            Some(Ok(offered)) => {
                check(runtime, &offered.description, trials, options)?;
                is_any_ready = true;
            }
            Some(Err(reason)) if reason.is_interrupted() => {
                return Err(Failure::Interrupted("interrupted; nothing was measured".into()));
            }
            Some(Err(reason)) => notices.push(format!("`{runtime}` cannot be measured: {reason}")),
        }
    }
    let allowed = allowed(machine);
    if is_any_ready && allowed.len() <= 2 && options.text(HELPERS).is_none() {
        notices.push(format!(
            "other threads of runtimes share the measured CPUs, because only {} can be used",
            allowed.named()
        ));
    }
    Ok(notices)
}

fn no_adapter(runtime: &str, catalogue: &Catalogue) -> Failure {
    let known: Vec<&str> = catalogue.specs().iter().map(|spec| spec.name.as_str()).collect();
    Failure::Usage(format!(
        "there is no adapter `{runtime}` (known: {}); name its program with --adapter {runtime}=COMMAND",
        known.join(", ")
    ))
}

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
        // Work that no runtime can do is reported with its trial.
        let Ok(work) = probe.runtime_work(trial, options) else { continue };
        let kind = work.operation.kind();
        if description.find(kind, &external.name).is_some() {
            continue;
        }
        let offered: Vec<String> =
            description.offers(kind).map(|offer| format!("{runtime}:{}", offer.name)).collect();
        let known = match offered.is_empty() {
            true => format!("it offers no {}", kind.noun()),
            false => format!("known are {}", offered.join(", ")),
        };
        return Err(Failure::Usage(format!("`{external}` {} {}: {known}", kind.lack(), description.runtime)));
    }
    Ok(())
}
