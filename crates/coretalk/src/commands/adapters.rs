//! `adapters`: lists and checks adapters for runtimes of other languages.

mod screen;

use crate::args::adapters::{AdaptersArgs, AdaptersCommand, CheckArgs};
use crate::args::options::Global;
use crate::commands::shape::say;
use crate::exit::{ExitCode, Failure};
use crate::resolve::cpus::Chosen;
use crate::resolve::output::{self, Verbosity, print_notice};
use crate::resolve::{adapters, machine};
use crate::run::signals;
use coretalk_measure::Machine;
use coretalk_measure::adapters::builder::AdapterBuilder;
use coretalk_measure::adapters::catalogue::AdapterSpec;
use coretalk_measure::adapters::conformance::{self, CheckSettings};
use coretalk_measure::adapters::found;
use coretalk_measure::adapters::pins::Helpers;
use coretalk_measure::adapters::process::{PATIENCE, StartSettings};
use coretalk_measure::adapters::{Adapter, AdapterError, Offer, Payload};
use coretalk_measure::host::command::watchdog::Watchdog;
use coretalk_model::{CpuId, CpuSet};
use coretalk_report::fmt;
use std::path::Path;
use std::time::Duration;

/// Duration of a checked pass: long compared with reading a request.
const SPAN: Duration = Duration::from_millis(50);
/// Time limit of a pass. Two spinning threads on one busy CPU take seconds.
const LIMIT: Duration = Duration::from_secs(30);
/// Time for each operation to reach a steady state. Just-in-time compilers nearly always finish within a second.
const WARM_UP: Duration = Duration::from_secs(3);

pub fn execute(global: &Global, args: &AdaptersArgs) -> Result<ExitCode, Failure> {
    match &args.command {
        None => list(global),
        Some(AdaptersCommand::Check(args)) => check(global, args),
    }
}

/// Builds missing adapters, and lists what each adapter offers.
fn list(global: &Global) -> Result<ExitCode, Failure> {
    let settings = adapters::settings()?;
    let prepared = prepare(global)?;
    let stop = signals::stop()?;
    let builder = AdapterBuilder {
        cache: &settings.cache,
        users: Some(&settings.users),
        allowed: &prepared.settings.allowed,
        watchdog: prepared.watchdog.as_ref(),
        patience: Duration::MAX,
    };
    let verbosity = output::options(global).verbosity;
    let mut building = |spec: &AdapterSpec| {
        print_notice(verbosity, Verbosity::Normal, &format!("building the adapter `{}`", spec.name));
    };
    let found = found::find_all(&settings.catalogue, &builder, &prepared.settings, &mut building, &stop);
    if stop.is_raised() {
        return Err(Failure::Interrupted("interrupted; adapters that were built are kept".into()));
    }
    say(global, &screen::list(&found, &settings.users, &settings.cache))
}

struct Preparation {
    settings: StartSettings,
    watchdog: Option<Watchdog>,
    chosen: Chosen,
}

fn prepare(global: &Global) -> Result<Preparation, Failure> {
    let mut machine = machine::host()?;
    let chosen = Chosen::for_machine(&mut machine, global)?;
    let allowed = machine.allowance().mask.intersection(&machine.allowance().cpuset);
    let watchdog = Watchdog::start();
    let guard = watchdog.as_ref().map(|watchdog| {
        let (name, value) = watchdog.mark();
        (name.to_owned(), value.to_owned())
    });
    Ok(Preparation { settings: StartSettings { allowed, guard }, watchdog, chosen })
}

fn check(global: &Global, args: &CheckArgs) -> Result<ExitCode, Failure> {
    let prepared = prepare(global)?;
    let cpus = two_of(&prepared.settings.allowed, prepared.chosen.cpus.as_ref())?;
    let stop = signals::stop()?;
    let name = Path::new(&args.words[0]).file_name().unwrap_or(&args.words[0]);
    let name = name.to_string_lossy().into_owned();
    let adapter = Adapter { name, command: args.words.clone(), environment: Vec::new() };
    let settings = CheckSettings {
        start: prepared.settings,
        helpers: Helpers::Apart,
        cpus,
        span: SPAN,
        limit: LIMIT,
        warm_up: WARM_UP,
        patience: PATIENCE,
    };
    let verbosity = output::options(global).verbosity;
    let mut announce = |offer: &Offer, payload: Option<Payload>| {
        let thing = screen::thing(offer.kind, &offer.name, payload);
        print_notice(verbosity, Verbosity::Normal, &format!("checking: {}", fmt::sentence(&thing)));
    };
    let found =
        conformance::check(&adapter, &settings, &mut announce, &stop).map_err(|error| match error {
            AdapterError::Interrupted => {
                Failure::Interrupted("interrupted; `adapters check` saves nothing".into())
            }
            error => Failure::Input(format!("`{}` is no adapter: {error}", adapter.name)),
        })?;
    say(global, &screen::conformance(&adapter.name, cpus, &found))?;
    Ok(if found.breaches().is_empty() { ExitCode::Done } else { ExitCode::Found })
}

/// Returns the CPUs of the two roles: the first two chosen CPUs, or a single CPU twice.
fn two_of(allowed: &CpuSet, wanted: Option<&CpuSet>) -> Result<[CpuId; 2], Failure> {
    let chosen = wanted.unwrap_or(allowed);
    let refused = chosen.difference(allowed);
    if !refused.is_empty() {
        let verb = if refused.len() == 1 { "is" } else { "are" };
        return Err(Failure::Environment(format!(
            "{} {verb} not allowed to this process (allowed: {allowed})",
            refused.named()
        )));
    }
    let mut cpus = chosen.iter();
    match (cpus.next(), cpus.next()) {
        (Some(first), second) => Ok([first, second.unwrap_or(first)]),
        (None, _) => Err(Failure::Environment("there is no CPU that this process may use".into())),
    }
}
