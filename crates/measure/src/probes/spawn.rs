//! `spawn`: the cost of starting a thread or a process, and the time until it runs.

use crate::adapters::pass::AdapterPass;
use crate::adapters::protocol::{AdapterOperation, Events, MAX_OPERATIONS, RuntimeWork};
#[cfg(all(target_os = "linux", not(miri)))]
use crate::creation;
pub use crate::creation::{CreationConfig, KINDS, Kind, PARENT_MIB};
use crate::creation::{Tallies, kind};
use crate::pricing::SimContext;
use crate::series::{MIN_ROUNDS, RequestError, SeriesProbe, SeriesRequest, TrialOrder};
use crate::sim::spawn::perform;
use crate::stand_in::SimStandIn;
#[cfg(all(target_os = "linux", not(miri)))]
use crate::trial_context::TrialContext;
use coretalk_model::external::External;
use coretalk_model::probes::spawn::DECLARATION;
pub use coretalk_model::probes::spawn::names;
use coretalk_model::probes::{LegendEntry, ProbeDeclaration};
use coretalk_model::series::MASK;
use coretalk_model::series::{Observed, Parameters, TrialSpec};
use coretalk_model::{CpuId, CpuSet, Environment, TrialFailure};

/// The `spawn` probe.
#[derive(Debug, Clone, Copy)]
pub struct Spawn;

/// Default samples of a trial, as far as the budget allows.
pub const SAMPLES: f64 = 10_000.0;

/// Simulated stand-ins for threads of runtimes, which call `pthread_create`.
const STAND_INS: &[SimStandIn] = &[SimStandIn::new("cpp:jthread", "thread", 1.0)];

impl SeriesProbe for Spawn {
    fn declaration(&self) -> &'static ProbeDeclaration {
        &DECLARATION
    }

    fn trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        trials(request)
    }

    /// Creations with pauses, as in a program that rarely starts a thread.
    fn suite_trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        let mut trials = trials(request)?;
        trials.retain(|trial| trial.parameters.number("pause_ns") != Some(0.0));
        Ok(trials)
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn lacks(&self, spec: &TrialSpec) -> Option<String> {
        creation::lacks(CreationConfig::from_spec(spec).ok()?.kind)
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn perform(&self, context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
        // A plan of another version may hold unknown names.
        let config = CreationConfig::from_spec(order.spec)?;
        creation::perform(context, order, &config)
    }

    fn simulate(
        &self,
        sim: &mut dyn SimContext<'_>,
        order: &TrialOrder<'_>,
    ) -> Result<Observed, TrialFailure> {
        simulate(sim, order)
    }

    fn variants(&self) -> Vec<(String, String)> {
        let runtime_threads =
            ("RUNTIME:NAME".to_owned(), "a thread of a runtime in another language".to_owned());
        let native = KINDS.iter().map(|kind| (kind.name().to_owned(), kind.how().to_owned()));
        native.chain([runtime_threads]).collect()
    }

    fn runtime_work(&self, spec: &TrialSpec, _options: &Parameters) -> Result<RuntimeWork, RequestError> {
        let gap_ns = spec.parameters.number("pause_ns").unwrap_or(0.0) as u64;
        let operation = AdapterOperation::Spawn { gap_ns };
        Ok(RuntimeWork { operation, events: Events::Each, most: MAX_OPERATIONS })
    }

    fn runtime_result(&self, _spec: &TrialSpec, pass: &AdapterPass) -> Observed {
        let mut observed = pass.observed();
        for (name, events) in &pass.events_of {
            observed.histogram(name, events.clone());
        }
        observed.count(names::SAMPLES, pass.count);
        observed
    }

    fn stand_ins(&self) -> &'static [SimStandIn] {
        STAND_INS
    }

    fn legend(&self, trials: &[&TrialSpec], _environment: &Environment) -> Vec<LegendEntry> {
        let kinds = trials.iter().filter_map(|trial| Some(CreationConfig::from_spec(trial).ok()?.kind));
        kinds.map(|kind| (kind.name().to_owned(), kind.how(), None)).collect()
    }
}

/// Pauses between creations: none, and a pause in which a CPU enters an idle state.
pub const PAUSES_NS: [f64; 2] = [0.0, 1e6];

/// Kinds × pauses × placements: the creator's own CPU, each representative pair, and unbound.
pub fn trials(request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
    let every = KINDS.map(Kind::name).join(",");
    let listed = request.options.text("kind").unwrap_or(&every);
    let first = *request.cpus.first().ok_or(RequestError::NoCpu)?;
    let mask: CpuSet = request.cpus.iter().copied().collect();
    let mut trials: Vec<TrialSpec> = Vec::new();
    for name in listed.split(',') {
        let external = External::parse(name);
        let kind = if external.is_some() { None } else { Some(kind(name)?) };
        let mut places: Vec<(Vec<CpuId>, Option<String>)> = vec![(vec![first, first], None)];
        if kind.is_some_and(Kind::is_placed) {
            places.extend(request.pairs.iter().map(|pair| (pair.to_vec(), None)));
        } else if mask.len() > 1 {
            places.push((vec![first], Some(mask.to_string())));
        }
        for pause_ns in PAUSES_NS {
            for (placement, mask) in &places {
                let parameters = Parameters::default()
                    .with("kind", name)
                    .with("pause_ns", pause_ns)
                    .with_some(MASK, mask.clone())
                    .with_some("parent_mib", kind.is_some_and(Kind::is_process).then_some(PARENT_MIB));
                let trial =
                    TrialSpec { probe: DECLARATION.id.to_owned(), parameters, placement: placement.clone() };
                if trials.contains(&trial) {
                    return Err(RequestError::twice("--kind", name));
                }
                trials.push(trial);
            }
        }
    }
    Ok(trials)
}

/// Prices one pass.
pub fn simulate(sim: &mut dyn SimContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
    let config = CreationConfig::from_spec(order.spec)?;
    let cost = config.kind.cost();
    let idle_ns = config.pause_ns;
    let mut tallies = Tallies::new();
    while sim.elapsed() < order.span || tallies.samples() < MIN_ROUNDS {
        let event = perform(sim, &cost, idle_ns);
        let clock_ns = sim.clock_ns();
        let [returned, began, ended] =
            [event.cost_ns, event.latency_ns, event.join_ns].map(|ns| sim.ticks(ns + clock_ns));
        tallies.count([0, returned, began, ended.max(began)]);
    }
    let mut observed = tallies.observed(sim.rate());
    if config.kind.is_process() {
        observed.value(names::PARENT_MIB, PARENT_MIB);
    }
    Ok(observed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::creation::CreationConfig;
    use coretalk_model::Topology;

    fn trials_of(kinds: &str, cpus: &str) -> Result<Vec<TrialSpec>, RequestError> {
        let set = CpuSet::from_list(cpus).expect("a list");
        let topology = Topology::flat(set.clone());
        let cpus: Vec<CpuId> = set.iter().collect();
        let pairs: Vec<[CpuId; 2]> = cpus.get(1).map(|&to| [cpus[0], to]).into_iter().collect();
        let options = Parameters::default().with("kind", kinds);
        trials(&SeriesRequest { topology: &topology, cpus: &cpus, pairs: &pairs, options: &options })
    }

    #[test]
    fn placed_kinds_get_pairs_and_the_others_run_anywhere() {
        let places = |kind| {
            let trials = trials_of(kind, "0-1").unwrap();
            trials.iter().map(|trial| trial.placement.len()).collect::<Vec<_>>()
        };
        assert_eq!(places("pool"), [2, 2, 2, 2]);
        assert_eq!(places("fork"), [2, 1, 2, 1]);
        assert_eq!(places("cpp:jthread"), [2, 1, 2, 1], "it runs where its creator may");
        assert_eq!(trials_of("fork", "3").unwrap().len(), 2, "one CPU has no anywhere");
        let anywhere = &trials_of("thread", "0-1").unwrap()[1];
        assert_eq!(
            CreationConfig::from_spec(anywhere).unwrap().mask,
            Some(CpuSet::from_list("0-1").unwrap())
        );
    }

    #[test]
    fn invalid_kinds_are_refused_in_a_sentence() {
        let refusal = |kinds| trials_of(kinds, "0-1").unwrap_err().to_string();
        assert!(refusal("forks").ends_with("a similar name exists: `fork`"));
        assert_eq!(refusal("pool,pool"), "--kind lists pool twice; list it once");
    }
}
