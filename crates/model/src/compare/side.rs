use super::{Unmatched, seen};
use crate::latency::ExecutionTest;
use crate::quantity::Better;
use crate::stats::{Estimate, normal};
use crate::{CpuId, CpuSet, Level, Topology};
use std::collections::BTreeMap;

/// One side of a comparison: a run or a file.
#[derive(Debug, Clone, Default)]
pub struct Side {
    /// The stated conditions of the measurement.
    pub facts: BTreeMap<Fact, String>,
    /// The topology that the system reports; `None` for a file.
    pub topology: Option<Topology>,
    /// Results of the tests for execution units that pairs of CPUs share.
    pub execution: Vec<ExecutionTest>,
    /// Whether the side states that its machine was simulated.
    pub is_simulated: bool,
    /// Whether a host may move the virtual CPUs, which changes results over time.
    pub guest: bool,
    /// Results.
    pub datasets: Vec<Dataset>,
    /// Number of trials without a comparable delay: in some pass the queue did not keep up with the send rate.
    pub saturated: usize,
}

/// Results of one kind in one unit: a matrix, or the same value of several series.
#[derive(Debug, Clone)]
pub struct Dataset {
    /// Name that identifies the dataset on both sides (`latency cas`).
    pub name: String,
    /// What was measured, without the quantity (`queue capacity=10`).
    pub subject: String,
    /// Whether the dataset is a matrix of latencies, from which groups of CPUs can be inferred.
    pub is_latency: bool,
    /// The quantity, such as `half_round_trip`.
    pub quantity: String,
    /// Unit of the values.
    pub unit: String,
    /// Which direction is better.
    pub better: Better,
    /// Kernel, regime and parameters of the measurement, as names and values. Other values are another experiment.
    pub traits: Vec<(&'static str, String)>,
    /// Smallest visible difference, in `unit`: the step of the clock or of the printed numbers.
    pub resolution: f64,
    /// Smallest relevant difference, in `unit`.
    pub negligible: f64,
    /// The values, by subject.
    pub readings: BTreeMap<ReadingKey, SideReading>,
}

impl Dataset {
    /// Whether the value can be part of a ratio: above zero and measurable. No core has a cycle of 10 ps or less.
    pub fn has_ratio(&self, value: f64) -> bool {
        let least = if self.unit == "ns" { 0.01 } else { 1e-12 };
        (least..=1e18).contains(&value)
    }

    pub(super) fn comparable(&self) -> impl Iterator<Item = (&ReadingKey, &SideReading)> {
        self.readings.iter().filter(|(_, reading)| self.has_ratio(reading.value.point))
    }
}

pub(super) fn pair_up<'a>(a: &'a Side, b: &'a Side) -> (Vec<(&'a Dataset, &'a Dataset)>, Unmatched) {
    let by_name =
        |dataset: &'a Dataset| Some((dataset, b.datasets.iter().find(|other| other.name == dataset.name)?));
    let mut pairs: Vec<(&Dataset, &Dataset)> = a.datasets.iter().filter_map(by_name).collect();
    if let ([], [left], [right]) = (pairs.as_slice(), a.datasets.as_slice(), b.datasets.as_slice()) {
        pairs.push((left, right));
    }
    let unpaired_names = |datasets: &[Dataset]| {
        let paired = |dataset: &Dataset| {
            pairs.iter().any(|(left, right)| std::ptr::eq(*left, dataset) || std::ptr::eq(*right, dataset))
        };
        datasets.iter().filter(|dataset| !paired(dataset)).map(|dataset| dataset.name.clone()).collect()
    };
    let unmatched = Unmatched { in_a: unpaired_names(&a.datasets), in_b: unpaired_names(&b.datasets) };
    (pairs, unmatched)
}

/// The subject of a reading.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReadingKey {
    /// Two CPUs, initiator first; the lower id first in a symmetric matrix.
    Pair([CpuId; 2]),
    /// A series.
    Series(Series),
}

/// The subject of a reading outside of matrices.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Series {
    /// Full name: `kind=mutex 0-1`.
    pub name: String,
    /// Name without the CPUs: `kind=mutex`.
    pub label: String,
    /// The CPUs that took part, in the order of their roles; empty if they were not chosen.
    pub cpus: Vec<CpuId>,
}

impl ReadingKey {
    /// Two CPUs of a symmetric matrix.
    pub fn unordered(a: CpuId, b: CpuId) -> ReadingKey {
        ReadingKey::Pair([a.min(b), a.max(b)])
    }

    /// The CPUs of the subject.
    pub fn cpus(&self) -> impl Iterator<Item = CpuId> {
        let cpus: &[CpuId] = match self {
            ReadingKey::Pair(pair) => pair,
            ReadingKey::Series(series) => &series.cpus,
        };
        cpus.iter().copied()
    }
}

/// A value and its error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogEstimate {
    /// The value in the unit of the dataset, or in core cycles.
    pub point: f64,
    /// Standard deviation of the logarithm, where 0.01 is about 1 %; `None` if unknown.
    pub deviation: Option<f64>,
}

impl LogEstimate {
    /// Converts an estimate. The deviation is half the width of the interval on the logarithmic scale, divided by the
    /// normal quantile of the confidence. It is `None` for an unbounded interval or a confidence below 0.5.
    pub fn from_estimate(estimate: &Estimate) -> LogEstimate {
        let Estimate { point, low, high, confidence, .. } = *estimate;
        let usable = low > 0.0 && high.is_finite() && (0.5..1.0).contains(&confidence);
        let deviation =
            usable.then(|| (high / low).ln() / 2.0 / normal::quantile(f64::midpoint(confidence, 1.0)));
        LogEstimate { point, deviation }
    }

    /// A value with an unknown error.
    pub fn bare(point: f64) -> LogEstimate {
        LogEstimate { point, deviation: None }
    }
}

/// One result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SideReading {
    /// The value as read.
    pub value: LogEstimate,
    /// The value in core cycles, independent of the clock frequency; `None` if the core clock is unknown.
    pub cycles: Option<LogEstimate>,
    /// Whether the value was stable. One of several plateaus predicts little about another run.
    pub steady: bool,
}

named! {
    /// A condition that a side may state.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Fact {
        /// Whether the machine was simulated: `yes` or `no`.
        Simulated = "simulated",
        /// C library and version.
        Libc = "libc",
        /// Brand string of the CPU, or name of the scenario.
        CpuModel = "CPU model",
        /// Microcode revision.
        Microcode = "microcode",
        /// Firmware.
        Firmware = "firmware",
        /// Operating system kernel.
        System = "operating system",
        /// Hypervisor, or `none`.
        Hypervisor = "hypervisor",
        /// Frequency governor.
        Governor = "governor",
        /// Boost: `on` or `off`.
        Boost = "boost",
        /// Page size obtained, in bytes.
        Page = "page size",
        /// Version of the tool that measured.
        Tool = "tool version",
    }
}

impl Fact {
    /// Simulated and real numbers are incomparable, as are results of different C libraries. Other mismatches warn.
    fn weight(self) -> Weight {
        match self {
            Fact::Simulated | Fact::Libc => Weight::Refuses,
            _ => Weight::Warns,
        }
    }
}

named! {
    /// The effect of a mismatch on a comparison.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Weight {
        /// A warning, because the mismatch may explain a difference.
        Warns = "warns",
        /// The numbers come from different experiments. They are compared only if the user requests it.
        Refuses = "refuses",
        /// The numbers cannot be compared meaningfully.
        Forbids = "forbids",
    }
}

/// A condition in which two sides differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Name of the condition.
    pub what: String,
    /// Value on side A; `None` if not stated.
    pub a: Option<String>,
    /// Value on side B; `None` if not stated.
    pub b: Option<String>,
    /// Effect on the comparison.
    pub weight: Weight,
}

/// All known mismatches of two sides, gravest first. A condition stated by one side is none, except simulation.
pub fn mismatches(a: &Side, b: &Side) -> Vec<Mismatch> {
    let mut found = Vec::new();
    let facts = a.facts.keys().chain(b.facts.keys().filter(|fact| !a.facts.contains_key(fact)));
    for &fact in facts {
        match (a.facts.get(&fact), b.facts.get(&fact)) {
            (Some(left), Some(right)) if left != right => {
                found.push(mismatch(fact.name(), Some(left), Some(right), fact.weight()));
            }
            _ if fact == Fact::Simulated && a.is_simulated != b.is_simulated => {
                let (left, right) = (a.facts.get(&fact), b.facts.get(&fact));
                found.push(mismatch(fact.name(), left, right, Weight::Warns));
            }
            _ => {}
        }
    }
    let (pairs, unmatched) = pair_up(a, b);
    if pairs.is_empty() {
        let names = |side: &Side| {
            Some(side.datasets.iter().map(|dataset| dataset.name.as_str()).collect::<Vec<_>>().join(", "))
        };
        let (left, right) = (names(a), names(b));
        found.push(mismatch("protocol", left.as_ref(), right.as_ref(), Weight::Forbids));
    }
    for name in unmatched.in_a.iter().chain(&unmatched.in_b) {
        if !pairs.is_empty() {
            let content_of = |has: bool| Some(if has { name.clone() } else { "none".to_owned() });
            let left = unmatched.in_a.contains(name);
            found.push(mismatch(
                "content",
                content_of(left).as_ref(),
                content_of(!left).as_ref(),
                Weight::Warns,
            ));
        }
    }
    for (left, right) in pairs {
        if left.name != right.name {
            found.push(mismatch("protocol", Some(&left.name), Some(&right.name), Weight::Refuses));
        }
        for (what, x, y, weight) in [
            ("quantity", &left.quantity, &right.quantity, Weight::Refuses),
            ("unit", &left.unit, &right.unit, Weight::Forbids),
        ] {
            if x != y {
                found.push(mismatch(what, Some(x), Some(y), weight));
            }
        }
        for (name, x) in &left.traits {
            let other = right.traits.iter().find(|(known, _)| known == name);
            if let Some((_, y)) = other.filter(|(_, y)| y != x) {
                found.push(mismatch(&format!("{name} of {}", left.name), Some(x), Some(y), Weight::Refuses));
            }
        }
    }
    if let (Some(left), Some(right)) = (&a.topology, &b.topology) {
        let common: CpuSet = (&seen::cpus(a) & &seen::cpus(b)).into_iter().collect();
        let (left, right) = (described(left, &common), described(right, &common));
        if left != right {
            found.push(mismatch("topology", Some(&left), Some(&right), Weight::Refuses));
        }
    }
    found.dedup();
    found.sort_by_key(|mismatch| std::cmp::Reverse(mismatch.weight));
    found
}

fn mismatch(what: &str, a: Option<&String>, b: Option<&String>, weight: Weight) -> Mismatch {
    Mismatch { what: what.to_owned(), a: a.cloned(), b: b.cloned(), weight }
}

/// The reported structure of some CPUs as text for comparison, without domain numbers, which a boot may change.
pub(super) fn described(topology: &Topology, cpus: &CpuSet) -> String {
    let seen = topology.restricted(cpus);
    let levels = Level::ALL.into_iter().filter_map(|level| {
        let groups: Vec<String> = seen.level(level).iter().map(|domain| domain.cpus.to_string()).collect();
        (!groups.is_empty()).then(|| format!("{level} {}", groups.join(" ")))
    });
    let text = levels.collect::<Vec<_>>().join("; ");
    if text.is_empty() { "no levels".to_owned() } else { text }
}
