//! [`ShortMeasurement`]: measures all pairs for a few seconds without saving them. `topology` and `advise` use it.

use crate::args::latency::LatencyArgs;
use crate::args::options::Global;
use crate::args::{MapCommand, Subject};
use crate::exit::Failure;
use crate::resolve::machine;
use crate::resolve::measure::Measure;
use crate::resolve::task::Task;
use crate::run::signals;
use crate::run::watcher::{Watched, Watcher};
use coretalk_measure::session::latency::{self, ResumedState};
use coretalk_model::latency::LatencyResult;
use coretalk_model::run::RunSettings;
use coretalk_model::{CpuId, CpuLoss, CpuSet, Environment, Picos, Topology};
use coretalk_report::fmt::digits::duration;

/// Budget of machine time. The structure is visible long before every cell is precise.
const BUDGET: Picos = Picos::from_ms(10_000);
/// Budget above `MANY` CPUs.
const BUDGET_OF_MANY: Picos = Picos::from_ms(30_000);
const MANY: usize = 64;

/// A machine and a few seconds of measurements.
pub struct ShortMeasurement {
    /// Environment of the measurement.
    pub environment: Environment,
    /// Topology as reported.
    pub topology: Topology,
    /// Requested CPUs in matrix order; empty if the machine cannot measure.
    pub cpus: Vec<CpuId>,
    /// Offline CPUs of the machine.
    pub offline: CpuSet,
    /// CPUs lost during the measurement.
    pub departed: Vec<CpuLoss>,
    /// Machine time spent.
    pub took: Picos,
    /// Measured latencies, or why there are none, without a full stop.
    pub result: Result<LatencyResult, String>,
}

/// Measures this or a simulated machine if it has at least `fewest` CPUs. The message of an interruption names
/// `command`. Fails for impossible options, a failed machine or an interruption.
pub fn measure(global: &Global, command: &str, fewest: usize) -> Result<ShortMeasurement, Failure> {
    let mut machine = machine::open(global.machine.as_ref(), 0)?;
    let defaults = LatencyArgs::default();
    let subject = Subject::Map(MapCommand::Latency(&defaults));
    let stop = signals::stop()?;
    let request = Measure::resolve(&mut *machine, global, subject, 0, &stop);
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
        // The reported topology is useful even without measurements.
        Err(Failure::Environment(reason)) => {
            unmeasured.result = Err(reason);
            return Ok(unmeasured);
        }
        Err(failure) => return Err(failure),
    };
    let Measure { task: Task::Probes { latency: Some(mut settings), .. }, options, .. } = request else {
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
    let engaged = options.workers.as_ref().map_or(Ok(()), |workers| machine.engage(workers).map(|_| ()));
    if let Err(error) = engaged {
        unmeasured.result = Err(format!("failed to {error}"));
        return Ok(unmeasured);
    }
    let topology = machine.topology().clone();
    let began = machine.now();
    let watched = Watched::new(&topology, RunSettings { latency: Some(&settings), ..RunSettings::default() });
    let mut watcher = Watcher::new(&options.output, &topology, watched, 0, Vec::new(), &stop);
    let measured =
        latency::run(&mut *machine, &settings, ResumedState::default(), &mut (), &mut watcher, &stop);
    let departed = watcher.end()?;
    let (result, ended) = measured?;
    if ended == latency::Ended::Interrupted {
        return Err(Failure::Interrupted(format!("interrupted; `{command}` saves nothing")));
    }
    let took = machine.now().saturating_sub(began);
    let has_values =
        result.maps.iter().flat_map(|map| map.cells.iter()).any(|(_, _, cell)| cell.value().is_some());
    let result = if has_values {
        Ok(result)
    } else {
        // Slow pairs, such as virtual CPUs that share one CPU, use up the time before the map begins.
        Err(format!("no pair was measured within {}", duration(settings.budget.secs())))
    };
    Ok(ShortMeasurement { cpus: settings.cpus, departed, took, result, topology, ..unmeasured })
}
