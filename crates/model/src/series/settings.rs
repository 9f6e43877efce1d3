//! [`SeriesSettings`]: resolved settings of a run of series. [`TrialSpec`]: the unit of scheduling and comparing.

use super::Headline;
use crate::quantity::Quantities;
use crate::{CpuId, CpuSet, Picos};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

const RUN: &str = "run";
const PARALLEL: &str = "parallel";
/// Option with the adapters of the command line: one `NAME=COMMAND` per line.
pub const ADAPTERS: &str = "adapters";
/// Parameter with the allowed CPUs of trials whose roles are not bound to one CPU each.
pub const MASK: &str = "mask";

/// Resolved settings of a run of series. The trials are fixed before the measurement starts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SeriesSettings {
    /// The requested probes, in the order of reports.
    pub probes: Vec<String>,
    /// CPUs that take part, in matrix order.
    pub cpus: Vec<CpuId>,
    /// Options of the probes that are not parameters of trials (`samples`). Each probe reads its own options.
    pub options: Parameters,
    /// The trials, in the order of reports.
    pub trials: Vec<TrialSpec>,
    /// Headlines. A trial is judged by the first of these that it has, otherwise by its widest estimate.
    pub headlines: Vec<Headline>,
    /// The quantities that the probes declare. Files store only their names.
    pub quantities: Quantities,
    /// Requested half width of the intervals, as a share.
    pub precision: f64,
    /// Upper bound of machine time.
    pub budget: Picos,
    /// The seed of every random choice.
    pub seed: u64,
}

/// Why a run has trials of several probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gathering {
    /// The quick look: a map, the ladder columns from trials, and the jitter of CPUs.
    QuickLook,
    /// `suite`: everything.
    Suite,
}

impl Gathering {
    /// The entry for [`SeriesSettings::options`].
    pub fn options(self) -> Parameters {
        Parameters::default().with(
            RUN,
            match self {
                Gathering::QuickLook => "quick-look",
                Gathering::Suite => "suite",
            },
        )
    }
}

impl Parameters {
    /// Limits the number of pairs measured at the same time; `None` leaves the number to the run.
    #[must_use]
    pub fn with_parallel(self, pairs: Option<u32>) -> Parameters {
        self.with_some(PARALLEL, pairs.map(f64::from))
    }

    /// The options that distinguish experiments: neither harmless concurrency nor private commands of adapters.
    pub fn of_experiment(&self) -> impl Iterator<Item = (&str, &ParameterValue)> {
        self.iter().filter(|(name, _)| ![PARALLEL, ADAPTERS].contains(name))
    }
}

impl SeriesSettings {
    /// Maximum number of pairs measured at the same time; `None` leaves the number to the run.
    pub fn parallel(&self) -> Option<u32> {
        self.options.number(PARALLEL).map(|pairs| pairs as u32)
    }

    /// Why the run has trials of several probes; `None` for a single probe.
    pub fn gathering(&self) -> Option<Gathering> {
        match self.options.text(RUN)? {
            "suite" => Some(Gathering::Suite),
            _ => Some(Gathering::QuickLook),
        }
    }
}

/// A parameter of a trial.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(untagged))]
pub enum ParameterValue {
    /// A number, in the unit at the end of the name.
    Number(f64),
    /// A name.
    Text(String),
}

impl fmt::Display for ParameterValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterValue::Number(number) => write!(f, "{number}"),
            ParameterValue::Text(text) => f.write_str(text),
        }
    }
}

impl From<&str> for ParameterValue {
    fn from(text: &str) -> ParameterValue {
        ParameterValue::Text(text.to_owned())
    }
}

impl From<String> for ParameterValue {
    fn from(text: String) -> ParameterValue {
        ParameterValue::Text(text)
    }
}

impl From<f64> for ParameterValue {
    fn from(number: f64) -> ParameterValue {
        ParameterValue::Number(number)
    }
}

/// Parameters by name: words joined by `_`, with the unit last (`gap_ns`), and kebab-case choices (`std-mutex`).
///
/// ```
/// # use coretalk_model::series::Parameters;
/// let parameters = Parameters::default().with("primitive", "pipe").with("gap_ns", 20e3);
/// assert_eq!((parameters.text("primitive"), parameters.number("gap_ns")), (Some("pipe"), Some(20e3)));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Parameters(pub BTreeMap<String, ParameterValue>);

impl Parameters {
    /// Adds or replaces a parameter.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<ParameterValue>) -> Parameters {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// Adds or replaces a parameter if there is a value.
    #[must_use]
    pub fn with_some(self, name: &str, value: Option<impl Into<ParameterValue>>) -> Parameters {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// The text value of a parameter.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.0.get(name)? {
            ParameterValue::Text(text) => Some(text),
            ParameterValue::Number(_) => None,
        }
    }

    /// The numeric value of a parameter.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.0.get(name)? {
            ParameterValue::Number(number) => Some(*number),
            ParameterValue::Text(_) => None,
        }
    }

    /// All parameters, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ParameterValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

/// Probe, parameters and placement of a trial. Equal in every pass, segment and run that requests the trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialSpec {
    /// The probe (`wake`).
    pub probe: String,
    /// Parameters of the trial.
    pub parameters: Parameters,
    /// The CPU of each role, in role order. Roles that share a CPU repeat it.
    pub placement: Vec<CpuId>,
}

/// A hash of the contents of a [`TrialSpec`], which is the same in every version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrialId(pub u64);

impl fmt::Display for TrialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl TrialSpec {
    /// The id: FNV-1a (64 bits) of `coretalk.trial/1`, probe, parameters and CPUs, with a zero byte after each.
    pub fn id(&self) -> TrialId {
        let mut hash = Fnv::new();
        hash.word("coretalk.trial/1");
        hash.word(&self.probe);
        for (name, value) in self.parameters.iter() {
            hash.word(name);
            hash.word(&value.to_string());
        }
        for cpu in &self.placement {
            hash.word(&cpu.0.to_string());
        }
        TrialId(hash.0)
    }

    /// The parameters in one line: `primitive=pipe gap_ns=20000`.
    pub fn label(&self) -> String {
        let parts: Vec<String> =
            self.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        parts.join(" ")
    }

    /// The CPUs on which the unbound roles may run; `None` if the roles are bound.
    pub fn mask(&self) -> Option<CpuSet> {
        self.parameters.text(MASK).and_then(|list| CpuSet::from_list(list).ok())
    }

    /// The CPUs that show the state of the machine during the trial, ascending; empty for one CPU. Each CPU is measured
    /// with the next. At most eight are selected, because the mean over a longer chain would hide one far pair.
    pub fn watched(&self) -> Vec<CpuId> {
        const MAX_WATCHED: usize = 8;
        let cpus: BTreeSet<CpuId> = self.placement.iter().copied().collect();
        let cpus: Vec<CpuId> = cpus.into_iter().collect();
        match cpus.len() {
            0 | 1 => Vec::new(),
            2..=MAX_WATCHED => cpus,
            many => (0..MAX_WATCHED).map(|at| cpus[at * (many - 1) / (MAX_WATCHED - 1)]).collect(),
        }
    }

    /// The CPUs in one word: `0-1`; `3` for one CPU, empty for none.
    pub fn cpu_list(&self) -> String {
        self.placement.iter().map(ToString::to_string).collect::<Vec<_>>().join("-")
    }
}

/// FNV-1a (Fowler, Noll, Vo) with 64 bits.
struct Fnv(u64);

impl Fnv {
    fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    fn word(&mut self, word: &str) {
        for &byte in word.as_bytes().iter().chain(&[0]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> TrialSpec {
        let parameters = Parameters::default().with("primitive", "pipe").with("gap_ns", 20_000.0);
        crate::tests::spec("wake", parameters, &[0, 1])
    }

    #[test]
    fn ids_are_pinned_and_distinguish_all_specs() {
        assert_eq!(spec().id().to_string(), "0772df0237585f9a");
        let mut others = vec![spec(); 4];
        others[0].probe = "wait".into();
        others[1].placement.reverse();
        others[2].parameters = spec().parameters.with("gap_ns", 20_001.0);
        others[3].placement = vec![CpuId(1)];
        assert!(others.iter().all(|other| other.id() != spec().id()));
        assert_eq!(spec().label().as_str(), "gap_ns=20000 primitive=pipe");
        assert_eq!(spec().cpu_list().as_str(), "0-1");
    }

    #[test]
    fn watched_cpus_are_distinct_and_at_least_two() {
        let watched = |cpus: &[u32]| {
            let placement = cpus.iter().map(|&cpu| CpuId(cpu)).collect();
            TrialSpec { placement, ..spec() }.watched().iter().map(|cpu| cpu.0).collect::<Vec<_>>()
        };
        assert_eq!([watched(&[5, 1, 3, 1]), watched(&[1, 0])], [vec![1, 3, 5], vec![0, 1]]);
        assert!(watched(&[2, 2]).is_empty() && watched(&[]).is_empty());
        let of_many = watched(&(0..64).collect::<Vec<u32>>());
        assert_eq!((of_many.len(), of_many[0], of_many[7]), (8, 0, 63));
    }
}
