//! [`SeriesProbe`]: a question to the machine, answered by trials over any number of CPUs and, in a map, by kernels.
//!
//! The machine calls the probe, so a new probe needs no change in the machine. A host gives the probe a
//! [`TrialContext`] of pinned threads. A simulated machine gives it a [`SimContext`] that prices the actions of its
//! roles.

use crate::adapters::pass::AdapterPass;
use crate::adapters::protocol::RuntimeWork;
use crate::kernel::Kernel;
use crate::pricing::SimContext;
use crate::stand_in::SimStandIn;
#[cfg(all(target_os = "linux", not(miri)))]
use crate::trial_context::TrialContext;
use coretalk_model::cpu::CpuSetError;
use coretalk_model::external::External;
use coretalk_model::probes::{LegendEntry, ProbeDeclaration};
use coretalk_model::quantity::{Aggregate, Quantity};
use coretalk_model::series::{Observed, Parameters, TrialSpec};
use coretalk_model::stats::ANALYSES;
use coretalk_model::{CpuId, CpuSet, Environment, Picos, Topology, TrialFailure};
use std::borrow::Cow;
use strsim::osa_distance;

/// A question to the machine. A probe lists its trials, performs one pass of a trial on real threads, and prices the
/// same pass on a simulated machine. [`REGISTRY`](crate::probes::REGISTRY) lists all probes.
pub trait SeriesProbe: Sync {
    /// The texts, parameters and quantities of the probe.
    fn declaration(&self) -> &'static ProbeDeclaration;

    /// Kernels that answer the question in a map, in report order. Empty for a probe of trials alone.
    fn kernels(&self) -> &[&'static Kernel] {
        &[]
    }

    /// Lists the trials of a request, in report order. Fails if a name is unknown or a number is out of range.
    fn trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError>;

    /// Lists the trials that represent this probe in a suite. They are few enough to share its budget.
    fn suite_trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        self.trials(request)
    }

    /// The feature (such as `WAITPKG`) that this machine lacks for a trial, found by trying; `None` if nothing is
    /// missing.
    fn lacks(&self, _spec: &TrialSpec) -> Option<String> {
        None
    }

    /// The feature that a simulated machine lacks for a trial.
    fn lacks_simulated(&self, _spec: &TrialSpec, _arch: crate::pricing::Arch) -> Option<String> {
        None
    }

    /// What a runtime has to perform for a trial; `None` if this program performs the trial itself.
    fn external(&self, spec: &TrialSpec) -> Option<External> {
        External::parse(spec.parameters.text(self.declaration().named_by?)?)
    }

    /// Builds the work order of a runtime for a trial, or returns the reason why no runtime can perform it.
    fn runtime_work(&self, spec: &TrialSpec, _options: &Parameters) -> Result<RuntimeWork, RequestError> {
        Err(RequestError::Unfit(format!("no runtime can perform {}", spec.label()).into()))
    }

    /// Converts a runtime's pass into the result of a trial.
    fn runtime_result(&self, _spec: &TrialSpec, pass: &AdapterPass) -> Observed {
        pass.observed()
    }

    /// Simulated stand-ins for runtimes.
    fn stand_ins(&self) -> &'static [SimStandIn] {
        &[]
    }

    /// Minimum duration of a pass of a trial, such as one wake-up after a long idle gap.
    fn least_span(&self, _spec: &TrialSpec) -> Picos {
        Picos::ZERO
    }

    /// Maximum number of distributions of a trial.
    fn distributions(&self, _spec: &TrialSpec) -> usize {
        let events = |quantity: &&Quantity| quantity.in_table && quantity.aggregate == Aggregate::Events;
        self.declaration().quantities.iter().filter(events).count()
    }

    /// Performs one pass on this machine.
    #[cfg(all(target_os = "linux", not(miri)))]
    fn perform(&self, context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure>;

    /// Prices one pass on a simulated machine.
    fn simulate(
        &self,
        sim: &mut dyn SimContext<'_>,
        order: &TrialOrder<'_>,
    ) -> Result<Observed, TrialFailure>;

    /// Whether a trial ends with the requested samples, at any interval width. In this case, the requested number of
    /// samples is an observation time.
    fn ends_with_samples(&self) -> bool {
        false
    }

    /// The CPUs that a trial needs: those of its roles and those of its mask.
    fn cpus(&self, spec: &TrialSpec) -> Vec<CpuId> {
        let mask = spec.mask();
        let others = mask.iter().flat_map(CpuSet::iter).filter(|cpu| !spec.placement.contains(cpu));
        spec.placement.iter().copied().chain(others).collect()
    }

    /// Whether each role describes only its own CPU. A trial then continues after the loss of a CPU.
    fn watches_each_cpu(&self) -> bool {
        false
    }

    /// Whether a trial may run while others run on other cores.
    fn concurrent(&self, _spec: &TrialSpec) -> Concurrent {
        Concurrent::Never
    }

    /// Names that the probe's command accepts, with descriptions.
    fn variants(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Explains names in these trials, measured in this environment, for the legend of a table.
    fn legend(&self, _trials: &[&TrialSpec], _environment: &Environment) -> Vec<LegendEntry> {
        Vec::new()
    }
}

/// Names of the distributions and values that may decide whether a trial is precise, by priority. The first name in the
/// list that a trial has is the one that counts.
///
/// ```
/// # use coretalk_measure::{probes::queue::Queue, series::headlines};
/// assert_eq!(headlines(&Queue), ["corrected", "messages_per_s"]);
/// ```
pub fn headlines(probe: &dyn SeriesProbe) -> Vec<&'static str> {
    let ranked =
        probe.declaration().quantities.iter().filter_map(|quantity| Some((quantity.headline?, quantity.id)));
    let mut ranked: Vec<(u8, &str)> = ranked.collect();
    ranked.sort_unstable();
    ranked.into_iter().map(|(_, id)| id).collect()
}

/// Whether a trial may run while others run on other cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concurrent {
    /// Never. The trial runs alone.
    Never,
    /// Only if concurrency is proven not to change the result, by trials of the same relation made alone and
    /// concurrently.
    IfProven,
    /// Always. Two polling roles share a CPU, so the results measure the quantum and are not used.
    Always,
}

/// A request for trials of a probe.
#[derive(Debug, Clone, Copy)]
pub struct SeriesRequest<'a> {
    /// The reported topology.
    pub topology: &'a Topology,
    /// Participating CPUs in matrix order.
    pub cpus: &'a [CpuId],
    /// Ordered pairs of CPUs, initiator first, for probes with two roles.
    pub pairs: &'a [[CpuId; 2]],
    /// Options of the probe, defaults omitted.
    pub options: &'a Parameters,
}

/// An order to perform one pass of one trial.
#[derive(Clone, Copy)]
pub struct TrialOrder<'a> {
    /// The probe.
    pub probe: &'static dyn SeriesProbe,
    /// The trial.
    pub spec: &'a TrialSpec,
    /// Options of the run, defaults omitted.
    pub options: &'a Parameters,
    /// Approximate machine time of the pass. The probe derives its counts from it.
    pub span: Picos,
    /// Key of every random choice.
    pub key: u64,
    /// Number of the runtime's process that performs the pass, from 0.
    pub process: u32,
}

/// Extra time of a pass before it is given up. Spinning roles on one CPU hand off once per quantum, and a host may
/// deschedule CPUs for long.
pub const PATIENCE: Picos = Picos::from_ms(5_000);

/// Minimum rounds of a pass. The first round is cold: it is counted separately or not at all.
pub const MIN_ROUNDS: u64 = 3;

impl TrialOrder<'_> {
    /// Time after which the pass is given up.
    pub fn limit(&self) -> Picos {
        self.span + PATIENCE
    }
}

/// Samples or messages, rounded up, that one part of a pass contributes to a requested number. A pass has `parts` equal
/// parts. The number is spread over the minimum number of passes of a trial.
pub fn per_pass(options: &Parameters, name: &str, parts: usize) -> Option<u64> {
    options.number(name).map(|all| (all / ANALYSES[0] as f64 / parts as f64).ceil() as u64)
}

impl std::fmt::Debug for TrialOrder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let probe = self.probe.declaration().id;
        f.debug_struct("TrialOrder")
            .field("probe", &probe)
            .field("spec", self.spec)
            .field("span", &self.span)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// One ordered pair for each relation among some CPUs, the first in matrix order.
pub fn representative_pairs(topology: &Topology, cpus: &[CpuId]) -> Vec<[CpuId; 2]> {
    let mut found: Vec<(coretalk_model::Relation, [CpuId; 2])> = Vec::new();
    for (index, &to) in cpus.iter().enumerate() {
        for &from in &cpus[..index] {
            let relation = topology.relation(from, to);
            if !found.iter().any(|(known, _)| *known == relation) {
                found.push((relation, [from, to]));
            }
        }
    }
    found.sort_by_key(|(relation, _)| *relation);
    found.into_iter().map(|(_, pair)| pair).collect()
}

/// The reason, as a whole sentence, why a request or one of its trials is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// An unknown name.
    #[error("unknown {what} `{typed}` (known: {known}){}", similar(*nearest))]
    Unknown {
        /// The category of the name.
        what: &'static str,
        /// The name as typed.
        typed: String,
        /// The known names.
        known: String,
        /// The nearest known name.
        nearest: Option<&'static str>,
    },
    /// An unknown queue.
    #[error("unknown queue `{typed}`{}", match nearest { None => format!(": known are {known}"), near => similar(*near) })]
    NoQueue {
        /// The name as typed.
        typed: String,
        /// The known queues.
        known: String,
        /// The nearest known queue.
        nearest: Option<&'static str>,
    },
    /// A request for a runtime that only this program can perform.
    #[error("`{0}` belongs to the runtime `{runtime}`, and a runtime performs only queues (`queue --queue`), ways of waiting \
        (`wait --strategy`), wake-ups (`wake --primitive`), methods of contention (`contend --method`) and kinds of threads \
        (`spawn --kind`)", runtime = .0.runtime)]
    External(External),
    /// A value outside the allowed range or set.
    #[error("{what}: {allowed}")]
    OutOfRange {
        /// The rejected value.
        what: String,
        /// The allowed values.
        allowed: String,
    },
    /// An item listed twice.
    #[error("{option} lists {item} twice; list it once")]
    Twice {
        /// The option that lists it.
        option: &'static str,
        /// The item.
        item: String,
    },
    /// An unreadable list of CPUs.
    #[error(transparent)]
    Cpus(#[from] CpuSetError),
    /// No CPU to measure on.
    #[error("there is no CPU to measure on")]
    NoCpu,
    /// An invalid combination, described by the probe.
    #[error("{0}")]
    Unfit(Cow<'static, str>),
}

impl RequestError {
    /// Builds the error for a name that is none of `names`.
    pub(crate) fn unknown(what: &'static str, typed: &str, names: &[&'static str]) -> RequestError {
        if let Some(external) = External::parse(typed) {
            return RequestError::External(external);
        }
        let (typed, nearest) = (typed.to_owned(), nearest(typed, names));
        RequestError::Unknown { what, typed, known: names.join(", "), nearest }
    }

    /// Suggests the item of a runtime that has the unknown name. For example, `jthread` suggests `cpp:jthread`, and not
    /// the similar name `thread`.
    #[must_use]
    pub fn or_of(mut self, stand_ins: &[SimStandIn]) -> RequestError {
        if let RequestError::Unknown { typed, nearest, .. } | RequestError::NoQueue { typed, nearest, .. } =
            &mut self
        {
            let named = |name: &&str| name.split_once(':').is_some_and(|(_, item)| item == typed);
            // `mutex` means `std-mutex` rather than `go:mutex`.
            if !nearest.is_some_and(|near| near.split('-').any(|word| word == typed)) {
                *nearest = stand_ins.iter().map(|stand_in| stand_in.external).find(named).or(*nearest);
            }
        }
        self
    }

    /// Builds the error for an item that an option lists twice.
    pub(crate) fn twice(option: &'static str, item: impl ToString) -> RequestError {
        RequestError::Twice { option, item: item.to_string() }
    }

    /// Builds the error for a value outside the allowed ones.
    pub(crate) fn out_of_range(what: impl Into<String>, allowed: impl Into<String>) -> RequestError {
        RequestError::OutOfRange { what: what.into(), allowed: allowed.into() }
    }
}

impl From<RequestError> for TrialFailure {
    fn from(error: RequestError) -> TrialFailure {
        TrialFailure::from_reason(error.to_string())
    }
}

fn similar(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |near| format!("; a similar name exists: `{near}`"))
}

/// The known name nearest to a typed name, ignoring case. The first choice is the name at the smallest edit distance,
/// if that is small. The second is the name most similar in length that contains the typed text or is contained in it.
/// The third is a name with a word close to the typed text.
///
/// ```
/// # use coretalk_measure::series::nearest;
/// assert_eq!(nearest("eventfs", &["pipe", "eventfd"]), Some("eventfd"));
/// assert_eq!(nearest("PIPE", &["pipe", "eventfd"]), Some("pipe"));
/// assert_eq!(nearest("mutex", &["pipe", "std-mutex", "parking-lot-mutex"]), Some("std-mutex"));
/// assert_eq!(nearest("mcs-lock", &["mcs", "ttas"]), Some("mcs"));
/// assert_eq!(nearest("spcs", &["pipe", "spsc"]), Some("spsc"));
/// assert_eq!(nearest("mutx", &["pipe", "std-mutex", "parking-lot-mutex"]), Some("std-mutex"));
/// assert_eq!(nearest("smoke", &["pipe", "eventfd"]), None);
/// ```
pub fn nearest(typed: &str, names: &[&'static str]) -> Option<&'static str> {
    let typed = typed.to_lowercase();
    let max_distance = typed.chars().count().max(3) / 3;
    let near = names.iter().map(|name| (osa_distance(&typed, name), *name)).min()?;
    if near.0 <= max_distance {
        return Some(near.1);
    }
    let overlaps = |name: &&&'static str| {
        typed.len().min(name.len()) >= MIN_SHARED && (name.contains(&typed) || typed.contains(**name))
    };
    let overlapping = names.iter().filter(overlaps).min_by_key(|name| name.len().abs_diff(typed.len()));
    let word_distance = |name: &&'static str| {
        let words = name.split('-').filter(|word| word.len() >= MIN_SHARED);
        words.map(|word| osa_distance(&typed, word)).min().filter(|&distance| distance <= max_distance)
    };
    let by_word = || names.iter().filter_map(|name| Some((word_distance(name)?, name.len(), *name))).min();
    overlapping.copied().or_else(|| by_word().map(|(.., name)| name))
}

/// Minimum number of shared letters. Shorter sequences occur in many names by chance.
const MIN_SHARED: usize = 3;
