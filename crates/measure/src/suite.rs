//! Selects the trials of runs with several probes: those of `suite`, and those that the quick look adds to its map.

use crate::probes::{self, jitter::Jitter, wake};
use crate::series::{RequestError, SeriesProbe, SeriesRequest, headlines, representative_pairs};
use coretalk_model::latency::Kinds;
use coretalk_model::probes::wake::LADDER_GAP_NS;
use coretalk_model::series::{Gathering, Headline, RUNGS, TrialSpec};
use coretalk_model::{CpuId, Picos, Relation, Topology};
use std::collections::BTreeMap;

/// Trials of several probes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Gathered {
    /// The probes, in the order of reports.
    pub probes: Vec<String>,
    /// Headlines of the trials, for [`SeriesSettings::headlines`](coretalk_model::series::SeriesSettings::headlines).
    pub headlines: Vec<Headline>,
    /// The trials.
    pub trials: Vec<TrialSpec>,
}

impl Gathered {
    fn add(&mut self, probe: &dyn SeriesProbe, trials: Vec<TrialSpec>) {
        let id = probe.declaration().id;
        self.probes.push(id.to_owned());
        let of_probe = |name: &str| Headline { probe: Some(id.to_owned()), name: name.to_owned() };
        self.headlines.extend(headlines(probe).into_iter().map(of_probe));
        self.trials.extend(trials);
    }
}

const PAIRS_PER_RUNG: usize = 3;
/// Maximum pairs in the whole ladder. Each pair gets several wake-ups per pass.
const MAX_LADDER_PAIRS: usize = 12;

/// The trials that the quick look adds to its map: the trial columns of the ladder ([`RUNGS`]) and the jitter of each
/// CPU. Wake-ups follow an idle gap, which outlasts the polling of idle loops. Fails if a probe does not know a name of
/// [`RUNGS`].
pub fn quick_look(topology: &Topology, cpus: &[CpuId]) -> Result<Gathered, RequestError> {
    let mut gathered = Gathered::default();
    let pairs = pairs_of_the_ladder(topology, cpus);
    let names =
        RUNGS.iter().filter(|rung| rung.probe == wake::Wake.declaration().id).map(|rung| rung.parameter);
    let names: Vec<&str> = names.map(|(_, primitive)| primitive).collect();
    let options = Gathering::QuickLook.options().with("primitive", names.join(","));
    let mut trials = Vec::new();
    for pair in &pairs {
        let request = SeriesRequest { topology, cpus, pairs: std::slice::from_ref(pair), options: &options };
        trials.extend(wake::Wake.trials(&request)?);
    }
    trials.retain(|trial| trial.parameters.number("gap_ns") == Some(LADDER_GAP_NS));
    gathered.add(&wake::Wake, trials);
    let request = SeriesRequest { topology, cpus, pairs: &pairs, options: &options };
    gathered.add(&Jitter, Jitter.trials(&request)?);
    Ok(gathered)
}

/// The first pairs, in matrix order, of each rung of the ladder. A rung is a relation with the kinds of its cores.
fn pairs_of_the_ladder(topology: &Topology, cpus: &[CpuId]) -> Vec<[CpuId; 2]> {
    let mut rungs: BTreeMap<(Relation, Option<Kinds>), Vec<[CpuId; 2]>> = BTreeMap::new();
    for (index, &to) in cpus.iter().enumerate() {
        for &from in &cpus[..index] {
            let pair = [from, to];
            let pairs = rungs.entry((topology.relation(from, to), Kinds::new(topology, pair))).or_default();
            if pairs.len() < PAIRS_PER_RUNG {
                pairs.push(pair);
            }
        }
    }
    let each = (MAX_LADDER_PAIRS / rungs.len().max(1)).max(1);
    rungs.into_values().flat_map(|pairs| pairs.into_iter().take(each)).collect()
}

/// The trials that represent each probe of the registry in a suite. Fails if a probe rejects the request.
pub fn everything(topology: &Topology, cpus: &[CpuId]) -> Result<Gathered, RequestError> {
    let mut gathered = Gathered::default();
    let (pairs, options) = (representative_pairs(topology, cpus), Gathering::Suite.options());
    let request = SeriesRequest { topology, cpus, pairs: &pairs, options: &options };
    for &probe in probes::REGISTRY {
        let trials = probe.suite_trials(&request)?;
        if !trials.is_empty() {
            gathered.add(probe, trials);
        }
    }
    Ok(gathered)
}

/// Maximum time of the trials that a quick look adds to its map.
const MAX_ADDED_TIME: Picos = Picos::from_ms(2_400);
/// Divisor of a short budget that limits the time of these trials.
const ADDED_TIME_DIVISOR: u64 = 5;

/// Splits the budget of a quick look between the map and the added trials.
pub fn shares_of_quick_look(budget: Picos) -> [Picos; 2] {
    let added = Picos(budget.0 / ADDED_TIME_DIVISOR).min(MAX_ADDED_TIME);
    [budget - added, added]
}

/// Splits the budget of a suite. The map gets as much as each probe, but no more than it would get alone.
pub fn shares_of_suite(budget: Picos, map_alone: Picos, probes: usize) -> [Picos; 2] {
    let map = Picos(budget.0 / (probes as u64 + 1)).min(map_alone);
    [map, budget - map]
}
