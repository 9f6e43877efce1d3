//! The registry of probes, and every kernel by name.

pub mod broadcast;
pub mod contend;
pub mod execution;
pub mod gaps;
pub mod imitation;
pub mod jitter;
pub mod latency;
pub mod latency_one_way;
pub mod latency_turns;
pub mod latency_under_load;
pub mod latency_xfer;
pub mod ping_pong;
pub mod queue;
pub mod sharing;
pub mod spawn;
pub mod wait;
pub mod wake;

#[cfg(test)]
mod two_threads;

use crate::kernel::Kernel;
use crate::series::SeriesProbe;
use crate::stand_in::SimStandIn;
use coretalk_model::Environment;
use coretalk_model::probes::{Glossary, LegendEntry, StandIn};
use coretalk_model::series::TrialSpec;

/// Every probe, in report order.
pub const REGISTRY: &[&dyn SeriesProbe] = &[
    &latency::Latency,
    &wait::Wait,
    &wake::Wake,
    &queue::Queue,
    &spawn::Spawn,
    &contend::Contend,
    &sharing::Sharing,
    &broadcast::Broadcast,
    &jitter::Jitter,
];

/// Every kernel of every probe.
pub fn kernels() -> impl Iterator<Item = &'static Kernel> {
    REGISTRY.iter().flat_map(|probe| probe.kernels().iter().copied())
}

/// The kernel of this name.
///
/// ```
/// # use coretalk_measure::probes;
/// assert_eq!(probes::kernel_by_id("cas+pause").unwrap().lines_per_place, 1);
/// assert!(probes::kernel_by_id("cas+nap").is_none());
/// ```
pub fn kernel_by_id(id: &str) -> Option<&'static Kernel> {
    kernels().find(|kernel| kernel.id.as_str() == id)
}

/// Finds a probe by name.
pub fn series_by_id(id: &str) -> Option<&'static dyn SeriesProbe> {
    REGISTRY.iter().copied().find(|probe| probe.declaration().id == id)
}

/// Explanations of names in trials, for reports.
pub const GLOSSARY: Glossary = Glossary { legend, stand_in };

fn legend(trials: &[&TrialSpec], environment: &Environment) -> Vec<LegendEntry> {
    let probe = trials.first().and_then(|trial| series_by_id(&trial.probe));
    probe.map_or_else(Vec::new, |probe| probe.legend(trials, environment))
}

fn stand_in(trial: &TrialSpec) -> Option<StandIn> {
    let probe = series_by_id(&trial.probe)?;
    let SimStandIn { external, native, factor, .. } =
        *SimStandIn::find(probe.stand_ins(), &probe.external(trial)?)?;
    Some(StandIn { external, native, factor })
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretalk_model::{Hint, KernelId, Protocol, Tool, probes};
    use std::collections::BTreeSet;

    #[test]
    fn kernels_match_the_names_of_the_model() {
        let protocols = Protocol::ALL
            .into_iter()
            .flat_map(|protocol| [Hint::None, Hint::Pause].map(|hint| KernelId::new(protocol, hint)));
        // The ring is a step of the ladder and not a protocol of maps.
        let ring = latency_turns::RING_PAUSE.id.clone();
        let expected: BTreeSet<KernelId> =
            protocols.chain(Tool::ALL.into_iter().map(KernelId::imitating)).chain([ring]).collect();
        assert_eq!(kernels().map(|kernel| kernel.id.clone()).collect::<BTreeSet<_>>(), expected);
        assert_eq!(kernels().count(), expected.len(), "a name stands for two kernels");
    }

    #[test]
    fn every_declaration_has_its_probe_in_the_same_order() {
        let ids: Vec<&str> = REGISTRY.iter().map(|probe| probe.declaration().id).collect();
        assert_eq!(ids, probes::ALL.map(|declared| declared.id));
    }
}
