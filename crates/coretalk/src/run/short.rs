//! [`ShortMeasurement`]: the pairs of a machine, measured for some seconds and not saved: what `topology` and `advise`
//! stand on.

use crate::RunSettings;
use crate::args::latency::LatencyArgs;
use crate::args::options::Global;
use crate::exit::Failure;
use crate::report::fmt::digits::duration;
use crate::resolve::machine;
use crate::resolve::map::{self, Measuring, Request};
use crate::run::signals;
use crate::run::watcher::{Watched, Watcher};
use coretalk_measure::session::latency::{self, ResumedState};
use coretalk_model::latency::LatencyResult;
use coretalk_model::{CpuId, CpuSet, Departure, Environment, Picos, Topology};

/// The pairs are measured at most so long: a structure shows long before every cell is narrow.
const BUDGET: Picos = Picos::from_ms(10_000);
/// The same above 64 CPUs.
const BUDGET_OF_MANY: Picos = Picos::from_ms(30_000);
const MANY: usize = 64;

/// A machine with what was measured of it in some seconds.
pub struct ShortMeasurement {
    /// What it says of itself.
    pub environment: Environment,
    /// What it reports.
    pub topology: Topology,
    /// The CPUs that were to be measured, in matrix order; empty where nothing can be.
    pub cpus: Vec<CpuId>,
    /// CPUs that it has and that are switched off.
    pub offline: CpuSet,
    /// CPUs that went away meanwhile.
    pub departed: Vec<Departure>,
    /// Machine time that this took.
    pub took: Picos,
    /// What was measured; a sentence without its end where nothing was.
    pub result: Result<LatencyResult, String>,
}

/// Measures this machine, or a simulated one, if it has at least so many CPUs. `command` is named when somebody ends it.
///
/// # Errors
/// What was typed makes no sense, the machine fails, or somebody wished to end.
pub fn measure(global: &Global, command: &str, fewest: usize) -> Result<ShortMeasurement, Failure> {
    let mut machine = machine::open(global.machine.as_ref(), 0)?;
    let defaults = LatencyArgs::default();
    let request = map::request(&*machine, global, Measuring::Latency(&defaults), 0);
    let mut unmeasured = ShortMeasurement {
        environment: machine.environment().clone(),
        topology: machine.topology().clone(),
        cpus: Vec::new(),
        offline: machine.allowance().offline.clone(),
        departed: Vec::new(),
        took: Picos::ZERO,
        result: Err(String::new()),
    };
    let request = match request {
        Ok(request) => request,
        // What is reported can be told where nothing can be measured.
        Err(Failure::Environment(reason)) => {
            unmeasured.result = Err(reason);
            return Ok(unmeasured);
        }
        Err(failure) => return Err(failure),
    };
    let Request { latency: Some(mut settings), options, .. } = request else {
        unmeasured.result = Err("one CPU has no pairs".into());
        return Ok(unmeasured);
    };
    if settings.cpus.len() < fewest {
        unmeasured.result = Err("groups can be found only among three CPUs or more".into());
        unmeasured.cpus = settings.cpus;
        return Ok(unmeasured);
    }
    settings.ladder = false;
    let most = if settings.cpus.len() > MANY { BUDGET_OF_MANY } else { BUDGET };
    settings.budget = settings.budget.min(most);
    let stop = signals::stop()?;
    let engaged = options.workers.as_ref().map_or(Ok(()), |workers| machine.engage(workers).map(|_| ()));
    if let Err(error) = engaged {
        unmeasured.result = Err(format!("failed to {error}"));
        return Ok(unmeasured);
    }
    let topology = machine.topology().clone();
    let began = machine.now();
    let watched = Watched::of(&topology, RunSettings { latency: Some(&settings), ..RunSettings::default() });
    let mut watcher = Watcher::new(&options.output, &topology, watched, 0, Vec::new(), &stop);
    let measured =
        latency::run(&mut *machine, &settings, ResumedState::default(), &mut (), &mut watcher, &stop);
    let departed = watcher.end()?;
    let (result, ended) = measured?;
    if ended == latency::Ended::Interrupted {
        return Err(Failure::Interrupted(format!("interrupted; `{command}` saves nothing")));
    }
    let took = machine.now().saturating_sub(began);
    let any = result.maps.iter().flat_map(|map| map.cells.iter()).any(|(_, _, cell)| cell.value().is_some());
    let result = if any {
        Ok(result)
    } else {
        // Slow pairs, such as those of virtual CPUs that take turns on one CPU, use the time up before the map begins.
        Err(format!("no pair was measured within {}", duration(settings.budget.secs())))
    };
    Ok(ShortMeasurement { cpus: settings.cpus, departed, took, result, topology, ..unmeasured })
}
