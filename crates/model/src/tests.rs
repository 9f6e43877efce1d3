//! Builders of estimates, trials and topologies for unit tests of several modules.

use crate::series::{Parameters, TrialSpec};
use crate::stats::Estimate;
use crate::{CpuId, Domain, Level, Topology};
use std::collections::BTreeMap;

/// An estimate with this interval, at 95 % over eight passes.
pub(crate) fn between(point: f64, low: f64, high: f64) -> Estimate {
    Estimate { point, low, high, confidence: 0.95, effective_n: 8.0 }
}

/// An estimate with this relative half width.
pub(crate) fn around(point: f64, share: f64) -> Estimate {
    between(point, point * (1.0 - share), point * (1.0 + share))
}

pub(crate) fn spec(probe: &str, parameters: Parameters, cpus: &[u32]) -> TrialSpec {
    TrialSpec { probe: probe.into(), parameters, placement: cpus.iter().copied().map(CpuId).collect() }
}

pub(crate) fn topology(cpus: &str, groups: &[(Level, &[&str])]) -> Topology {
    let domains = groups.iter().flat_map(|(level, lists)| {
        lists.iter().map(|list| Domain { level: *level, cpus: list.parse().unwrap(), os_id: None })
    });
    Topology::new(cpus.parse().unwrap(), domains.collect(), BTreeMap::new())
}
