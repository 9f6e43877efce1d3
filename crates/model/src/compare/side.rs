//! [`Side`], [`Dataset`] and [`Reading`]: results in the form in which they are compared; [`Mismatch`]: what differs between
//! the conditions of two sides, and how grave that is.

use super::{Unmatched, seen};
use crate::latency::ExecutionTest;
use crate::quantity::Better;
use crate::stats::{Estimate, normal};
use crate::{CpuId, CpuSet, Level, Topology};
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
    /// Whether it states that its machine was simulated.
    pub is_simulated: bool,
    /// Whether a host may move its CPUs: what it shows at one time need not be what it shows at another.
    pub guest: bool,
    /// Results.
    pub datasets: Vec<Dataset>,
    /// Trials at a send rate that the queue did not keep in every pass, which therefore have no delay to be compared.
    pub saturated: usize,
}

/// Results of one kind in one unit: a matrix, or the same number of several series.
#[derive(Debug, Clone)]
pub struct Dataset {
    /// What is compared with what: equal names on both sides belong together (`latency cas`).
    pub name: String,
    /// Whether it is a matrix of latencies, in which groups of CPUs show.
    pub is_latency: bool,
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

impl Dataset {
    /// Whether a value can be divided by: above zero, and within what anything here can be. Ten picoseconds are less than
    /// a cycle of any core.
    pub fn has_ratio(&self, value: f64) -> bool {
        let least = if self.unit == "ns" { 0.01 } else { 1e-12 };
        (least..=1e18).contains(&value)
    }

    /// The values that have a ratio.
    pub(super) fn comparable(&self) -> impl Iterator<Item = (&ReadingKey, &Reading)> {
        self.readings.iter().filter(|(_, reading)| self.has_ratio(reading.value.point))
    }
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
    /// Simulated numbers and real ones are not of one world, and another C library is another program; everything
    /// else may be the very thing that is compared.
    fn weight(self) -> Weight {
        match self {
            Fact::Simulated | Fact::Libc => Weight::Refuses,
            _ => Weight::Warns,
        }
    }
}

named! {
    /// What a mismatch does to a comparison.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Weight {
        /// It is said: it may explain a difference.
        Warns = "warns",
        /// The numbers are of two different experiments: nothing is compared unless somebody insists.
        Refuses = "refuses",
        /// There is no sense in which the numbers could be compared.
        Forbids = "forbids",
    }
}

/// A condition in which two sides differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// What differs.
    pub what: String,
    /// What A says; `None` where it does not say.
    pub a: Option<String>,
    /// What B says.
    pub b: Option<String>,
    /// What that does.
    pub weight: Weight,
}

/// Everything known in which two sides differ, gravest first. What one side does not say is no mismatch, except whether
/// it was simulated where the other was.
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
            let held = |has: bool| Some(if has { name.clone() } else { "none".to_owned() });
            let left = unmatched.in_a.contains(name);
            found.push(mismatch("content", held(left).as_ref(), held(!left).as_ref(), Weight::Warns));
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

/// Everything that is reported of some CPUs, as text: equal texts, equal structure. The system's numbers of domains
/// may change with every boot and are left out.
pub(super) fn described(topology: &Topology, cpus: &CpuSet) -> String {
    let seen = topology.restricted(cpus);
    let levels = Level::ALL.into_iter().filter_map(|level| {
        let groups: Vec<String> = seen.level(level).iter().map(|domain| domain.cpus.to_string()).collect();
        (!groups.is_empty()).then(|| format!("{level} {}", groups.join(" ")))
    });
    let text = levels.collect::<Vec<_>>().join("; ");
    if text.is_empty() { "no levels".to_owned() } else { text }
}
