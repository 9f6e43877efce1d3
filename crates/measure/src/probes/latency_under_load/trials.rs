//! The trials of a request for idle gaps or loads.

use super::names;
use crate::probes::gaps::gaps;
use crate::series::{RequestError, SeriesRequest};
use coretalk_model::series::{Parameters, TrialSpec};
use coretalk_model::{CpuId, CpuSet, Level, Topology};

/// Idle gaps of a suite. After them idle loops still poll, have stopped polling, or are in deep idle states.
const BRIEF_GAPS_NS: &str = "1000,100000,10000000";

/// The work of neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// Nothing. This is the control for the ratio.
    Nothing,
    /// Dependent multiplications without memory accesses.
    Compute,
    /// Reads and writes of arrays of four times the last-level cache.
    Stream,
    /// Ping-pong on a line of their own between two neighbours.
    PingPong,
}

/// Placement of the neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeighbourCpus {
    /// On the siblings of the pair.
    Siblings,
    /// In the last-level cache domain of the pair's first CPU.
    L3,
    /// On any selected CPU.
    All,
}

impl Load {
    /// Every load, in report order.
    pub const ALL: [Load; 4] = [Load::Nothing, Load::Compute, Load::Stream, Load::PingPong];

    /// The parameter value.
    pub fn name(self) -> &'static str {
        match self {
            Load::Nothing => "none",
            Load::Compute => "compute",
            Load::Stream => "stream",
            Load::PingPong => "pingpong",
        }
    }

    /// The load of a trial; `None` for a trial with an idle gap.
    pub fn from_spec(spec: &TrialSpec) -> Option<Load> {
        let name = spec.parameters.text(names::LOAD)?;
        Load::ALL.into_iter().find(|load| load.name() == name)
    }
}

impl NeighbourCpus {
    const ALL: [NeighbourCpus; 3] = [NeighbourCpus::Siblings, NeighbourCpus::L3, NeighbourCpus::All];

    fn name(self) -> &'static str {
        match self {
            NeighbourCpus::Siblings => "siblings",
            NeighbourCpus::L3 => "same-l3",
            NeighbourCpus::All => "all-cpus",
        }
    }

    fn cpus(self, topology: &Topology, cpus: &[CpuId], [a, b]: [CpuId; 2]) -> Vec<CpuId> {
        let others = cpus.iter().copied().filter(|cpu| ![a, b].contains(cpu));
        let domain_at = |level: Level| -> CpuSet {
            let domains = topology.level(level);
            let domain = domains.iter().find(|domain| domain.cpus.contains(a));
            domain.map(|domain| domain.cpus.clone()).unwrap_or_default()
        };
        match self {
            NeighbourCpus::Siblings => others
                .filter(|&cpu| topology.siblings(a).contains(cpu) || topology.siblings(b).contains(cpu))
                .collect(),
            NeighbourCpus::L3 => {
                let l3 = domain_at(Level::L3);
                others.filter(|&cpu| l3.contains(cpu)).collect()
            }
            NeighbourCpus::All => others.collect(),
        }
    }
}

/// Idle gaps × receivers × pairs, then loads × neighbour placements × pairs.
pub fn trials(request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
    let mut trials = Vec::new();
    let spec = |parameters: Parameters, placement: Vec<CpuId>| TrialSpec {
        probe: "latency".to_owned(),
        parameters,
        placement,
    };
    for pair in request.pairs {
        let gaps = gaps(request.options.text(names::GAP_NS))?;
        let mut after_each = |receiver: &str, idle_states: Option<&str>| {
            for &gap_ns in &gaps {
                let parameters =
                    Parameters::default().with(names::GAP_NS, gap_ns).with(names::RECEIVER, receiver);
                trials.push(spec(parameters.with_some(names::IDLE_STATES, idle_states), pair.to_vec()));
            }
        };
        after_each(names::LOOKS, None);
        after_each(names::SLEEPS, None);
        // A polling receiver is never idle. Only a sleeper's CPU has idle states to avoid.
        if request.options.text(names::IDLE_STATES).is_some() {
            after_each(names::SLEEPS, Some(names::KEPT_OUT));
        }
    }
    let Some(listed) = request.options.text(names::LOAD) else { return Ok(trials) };
    let loads = loads(listed)?;
    let mut placed: Vec<Load> = Vec::new();
    let busy: Vec<Load> = loads.iter().copied().filter(|&load| load != Load::Nothing).collect();
    for &pair in request.pairs {
        if busy.len() < loads.len() {
            let parameters = Parameters::default().with(names::LOAD, Load::Nothing.name());
            trials.push(spec(parameters, pair.to_vec()));
        }
        let mut known: Vec<Vec<CpuId>> = Vec::new();
        for neighbours_on in NeighbourCpus::ALL {
            let neighbours = neighbours_on.cpus(request.topology, request.cpus, pair);
            // A larger domain without additional CPUs is the same experiment.
            if neighbours.is_empty() || known.contains(&neighbours) {
                continue;
            }
            let fits = |load: &Load| *load != Load::PingPong || neighbours.len() > 1;
            for &load in busy.iter().filter(|load| fits(load)) {
                let parameters = Parameters::default()
                    .with(names::LOAD, load.name())
                    .with(names::WHERE, neighbours_on.name());
                trials.push(spec(parameters, pair.iter().chain(&neighbours).copied().collect()));
                placed.push(load);
            }
            known.push(neighbours);
        }
    }
    // An explicitly requested load is measured or refused, but never silently dropped.
    let unplaced: Vec<&str> =
        busy.iter().filter(|load| !placed.contains(load)).map(|load| load.name()).collect();
    if !unplaced.is_empty() {
        let sentence = format!(
            "--load keeps CPUs other than the pair busy, and too few are selected for {} (`pingpong` needs two, others one); select more CPUs, or leave that out",
            unplaced.join(", ")
        );
        return Err(RequestError::Unfit(sentence.into()));
    }
    Ok(trials)
}

/// The trials of a suite. Without neighbours there are no loads.
pub fn suite_trials(request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
    let options = request.options.clone().with(names::GAP_NS, BRIEF_GAPS_NS);
    let loaded = options.clone().with(names::LOAD, "compute,stream");
    let first = request.pairs.first();
    let has_neighbours = first.is_some_and(|&pair| {
        NeighbourCpus::ALL
            .iter()
            .any(|neighbours_on| !neighbours_on.cpus(request.topology, request.cpus, pair).is_empty())
    });
    trials(&SeriesRequest { options: if has_neighbours { &loaded } else { &options }, ..*request })
}

fn loads(listed: &str) -> Result<Vec<Load>, RequestError> {
    let mut loads = Vec::new();
    for name in listed.split(',').map(str::trim) {
        let known = Load::ALL.into_iter().find(|load| load.name() == name);
        let load = known.ok_or_else(|| RequestError::unknown("load", name, &Load::ALL.map(Load::name)))?;
        if loads.contains(&load) {
            return Err(RequestError::twice("--load", name));
        }
        loads.push(load);
    }
    Ok(loads)
}
