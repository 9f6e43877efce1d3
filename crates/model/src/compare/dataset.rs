//! [`Side`], [`Dataset`] and [`Reading`]: results in the form in which they are compared.

use super::{Fact, Unmatched};
use crate::latency::ExecutionTest;
use crate::quantity::Better;
use crate::stats::{Estimate, normal};
use crate::{CpuId, Topology};
use std::collections::BTreeMap;

/// One of the things compared: a run or a file.
#[derive(Debug, Clone, Default)]
pub struct Side {
    /// What it was measured under, as far as it says.
    pub facts: BTreeMap<Fact, String>,
    /// What the system reported; `None` for a file.
    pub topology: Option<Topology>,
    /// Whether pairs of its CPUs share the units that execute, as far as that was tested.
    pub execution: Vec<ExecutionTest>,
    /// Whether a host may move its CPUs: what it shows at one time need not be what it shows at another.
    pub guest: bool,
    /// Results.
    pub datasets: Vec<Dataset>,
}

/// Results of one kind in one unit: a matrix, or the same number of several series.
#[derive(Debug, Clone)]
pub struct Dataset {
    /// What is compared with what: equal names on both sides belong together (`latency cas`).
    pub name: String,
    /// The quantity, such as `half_round_trip`.
    pub quantity: String,
    /// Unit of the values.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// How it was measured, name and value: kernel, regime, parameters. Other values are another experiment.
    pub traits: Vec<(&'static str, String)>,
    /// Differences below this cannot be seen, in `unit`: steps of the clock or of what was printed.
    pub resolution: f64,
    /// Differences below this matter to nobody, in `unit`.
    pub negligible: f64,
    /// The values, by subject.
    pub readings: BTreeMap<ReadingKey, Reading>,
}

/// Datasets that belong together, and the names of those that stand alone.
pub(super) fn pair_up<'a>(a: &'a Side, b: &'a Side) -> (Vec<(&'a Dataset, &'a Dataset)>, Unmatched) {
    let by_name =
        |dataset: &'a Dataset| Some((dataset, b.datasets.iter().find(|other| other.name == dataset.name)?));
    let mut pairs: Vec<(&Dataset, &Dataset)> = a.datasets.iter().filter_map(by_name).collect();
    if let ([], [left], [right]) = (pairs.as_slice(), a.datasets.as_slice(), b.datasets.as_slice()) {
        pairs.push((left, right));
    }
    let alone = |datasets: &[Dataset]| {
        let paired = |dataset: &Dataset| {
            pairs.iter().any(|(left, right)| std::ptr::eq(*left, dataset) || std::ptr::eq(*right, dataset))
        };
        datasets.iter().filter(|dataset| !paired(dataset)).map(|dataset| dataset.name.clone()).collect()
    };
    let unmatched = Unmatched { in_a: alone(&a.datasets), in_b: alone(&b.datasets) };
    (pairs, unmatched)
}

/// What a reading speaks about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReadingKey {
    /// Two CPUs, initiator first; of a symmetric matrix the lower id first.
    Pair([CpuId; 2]),
    /// A number of a series.
    Series(Series),
}

/// What a number of a series is of.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Series {
    /// Its whole name: `kind=mutex 0-1`.
    pub name: String,
    /// What it is whatever CPUs took part: `kind=mutex`.
    pub label: String,
    /// The CPUs that took part, in the order of their roles; empty where that is nobody's choice.
    pub cpus: Vec<CpuId>,
}

impl ReadingKey {
    /// Two CPUs of a symmetric matrix.
    pub fn unordered(a: CpuId, b: CpuId) -> ReadingKey {
        ReadingKey::Pair([a.min(b), a.max(b)])
    }

    /// The CPUs that it speaks of.
    pub fn cpus(&self) -> impl Iterator<Item = CpuId> {
        let cpus: &[CpuId] = match self {
            ReadingKey::Pair(pair) => pair,
            ReadingKey::Series(series) => &series.cpus,
        };
        cpus.iter().copied()
    }
}

/// A value with what is known of its error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Value {
    /// In the unit of the dataset, or core cycles.
    pub point: f64,
    /// Standard deviation of its logarithm, 0.01 is about 1 %; `None` where nothing is known of it.
    pub deviation: Option<f64>,
}

impl Value {
    /// What an interval says of the error: half its width between logarithms, as so many standard deviations as its
    /// confidence stands for. An interval that is endless, or holds less than half, says nothing.
    pub fn of(estimate: &Estimate) -> Value {
        let Estimate { point, low, high, confidence, .. } = *estimate;
        let usable = low > 0.0 && high.is_finite() && (0.5..1.0).contains(&confidence);
        let deviation =
            usable.then(|| (high / low).ln() / 2.0 / normal::quantile(f64::midpoint(confidence, 1.0)));
        Value { point, deviation }
    }

    /// A value of which nothing more is known.
    pub fn bare(point: f64) -> Value {
        Value { point, deviation: None }
    }
}

/// One result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// As read.
    pub value: Value,
    /// The same in core cycles, where the core clock was measured: what outlasts a change of the clock.
    pub cycles: Option<Value>,
    /// Whether it held still: a reading that is one of several plateaus says little about another run.
    pub steady: bool,
}
