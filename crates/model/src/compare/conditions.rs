//! [`Mismatch`]: what differs between the conditions of two sides, and how grave that is.

use super::dataset::pair_up;
use super::{Side, seen};
use crate::{CpuSet, Level, Topology};

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
            (Some(said), None) | (None, Some(said)) if fact == Fact::Simulated && said == "yes" => {
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
        for (what, x, y) in [("quantity", &left.quantity, &right.quantity), ("unit", &left.unit, &right.unit)]
        {
            if x != y {
                let weight = if what == "unit" { Weight::Forbids } else { Weight::Refuses };
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
