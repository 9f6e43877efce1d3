//! Builders of estimates, trials and topologies for unit tests of several modules.

use crate::infer::Observation;
use crate::series::{Parameters, PassOutcome, SeriesEntry, SeriesRecord, TrialSpec};
use crate::stats::Estimate;
use crate::{CpuId, Domain, Histogram, Level, Matrix, Topology};
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

/// A record of these passes over the first trial.
pub(crate) fn record(outcomes: impl IntoIterator<Item = PassOutcome>) -> SeriesRecord {
    let mut record = SeriesRecord::new();
    for (pass, outcome) in (0..).zip(outcomes) {
        record.push(SeriesEntry { segment: 0, pass, trial: 0, outcome: Ok(outcome) });
    }
    record
}

pub(crate) fn histogram(events: &[(f64, u64)]) -> Histogram {
    let mut histogram = Histogram::new();
    events.iter().for_each(|&(ns, count)| histogram.record_ns(ns, count));
    histogram
}

/// A symmetric matrix without intervals; `ns` gets the row and the lower column.
pub(crate) fn observed(cpus: u32, mut ns: impl FnMut(usize, usize) -> f64) -> Matrix<Option<Observation>> {
    let cpus = (0..cpus).map(CpuId).collect();
    Matrix::symmetric(cpus, |row, column| Some(Observation::bare(ns(row, column))))
}

/// The latency of the smallest group that holds both CPUs, or `rest`; groups have consecutive CPUs.
pub(crate) fn nested(sizes: &[(usize, f64)], rest: f64, row: usize, column: usize) -> f64 {
    sizes.iter().find(|(size, _)| row / size == column / size).map_or(rest, |(_, ns)| *ns)
}

pub(crate) fn topology(cpus: &str, groups: &[(Level, &[&str])]) -> Topology {
    let domains = groups.iter().flat_map(|(level, lists)| {
        lists.iter().map(|list| Domain { level: *level, cpus: list.parse().unwrap(), os_id: None })
    });
    Topology::new(cpus.parse().unwrap(), domains.collect(), BTreeMap::new())
}
