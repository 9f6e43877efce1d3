//! [`SeriesProbe`]: a question to the machine, with the kernels that answer it in a map, and with trials that place roles on
//! any number of CPUs and say several things at once.
//!
//! The machine asks the probe, so that a new family touches neither side: on the host it gets a [`TrialContext`] of
//! pinned threads, on a simulated machine a [`Pricing`] that prices what its roles do.

use crate::adapters::pass::Pass;
use crate::adapters::protocol::RuntimeWork;
use crate::external::External;
use crate::kernel::Kernel;
use crate::pricing::Pricing;
#[cfg(all(target_os = "linux", not(miri)))]
use crate::trial_context::TrialContext;
use crate::twin::Twin;
use coretalk_model::cpu::CpuSetError;
use coretalk_model::quantity::{Aggregate, Parameter, Quantity};
use coretalk_model::series::{Observed, Parameters, TrialSpec};
use coretalk_model::{CpuId, CpuSet, Picos, Topology, TrialFailure};
use std::borrow::Cow;

/// What a probe asks, in words; help, lists and documents derive from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeSpec {
    /// Stable name, as in documents and on the command line.
    pub id: &'static str,
    /// Heading of its page in `docs/probes`.
    pub title: &'static str,
    /// The question it answers, as a person would ask it.
    pub question: &'static str,
    /// Unit of its numbers.
    pub unit: &'static str,
    /// What its numbers are, as in documents.
    pub quantity: &'static str,
}

/// A question to the machine, answered by trials: it lists them, performs one pass of one on threads of this machine, and
/// says what the same pass costs on a simulated one. One file each under `probes/`, listed in
/// [`REGISTRY`](crate::probes::REGISTRY).
pub trait SeriesProbe: Sync {
    /// What is asked.
    fn spec(&self) -> &ProbeSpec;

    /// Every piece of code that can be timed to answer it in a map, in the order of reports; a probe of trials alone has
    /// none.
    fn kernels(&self) -> &[&'static Kernel] {
        &[]
    }

    /// Lists the trials of a request, in the order of reports.
    ///
    /// # Errors
    /// What makes no sense: an unknown name (with the nearest one), a number out of range.
    fn trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError>;

    /// The trials that speak for this probe in a run over all probes: no more than share its budget well.
    ///
    /// # Errors
    /// As [`trials`](SeriesProbe::trials).
    fn suite_trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        self.trials(request)
    }

    /// What this machine lacks for a trial (`WAITPKG`), found out by trying and not by asking; `None` where nothing.
    fn lacks(&self, _spec: &TrialSpec) -> Option<String> {
        None
    }

    /// The same of a simulated machine.
    fn lacks_simulated(&self, _spec: &TrialSpec, _arch: crate::pricing::Arch) -> Option<String> {
        None
    }

    /// The parameter of its trials that names what is measured, where runtimes in other languages may perform it too.
    fn named_by(&self) -> Option<&'static str> {
        None
    }

    /// What a runtime has to perform for a trial; `None` for what this program performs itself.
    fn external(&self, spec: &TrialSpec) -> Option<External> {
        External::parse(spec.parameters.text(self.named_by()?)?)
    }

    /// What a runtime has to do for a trial.
    ///
    /// # Errors
    /// Why no runtime can perform it.
    fn runtime_work(&self, spec: &TrialSpec, _options: &Parameters) -> Result<RuntimeWork, RequestError> {
        Err(RequestError::Unfit(format!("no runtime can perform {}", spec.label()).into()))
    }

    /// What a pass of a runtime found out for a trial.
    fn runtime_result(&self, _spec: &TrialSpec, pass: &Pass) -> Observed {
        pass.observed()
    }

    /// What stands on simulated machines for what runtimes perform.
    fn twins(&self) -> &'static [Twin] {
        &[]
    }

    /// Names of its quantities that no runtime tells.
    fn unknown_of_runtimes(&self) -> &'static [&'static str] {
        &[]
    }

    /// How long a pass of a trial takes at least, however little it is given: one after long idle gaps.
    fn least_span(&self, _spec: &TrialSpec) -> Picos {
        Picos::ZERO
    }

    /// How many distributions a trial can have.
    fn distributions(&self, _spec: &TrialSpec) -> usize {
        let events = |quantity: &&Quantity| quantity.in_table && quantity.aggregate == Aggregate::Events;
        self.quantities().iter().filter(events).count()
    }

    /// Performs one pass on this machine.
    ///
    /// # Errors
    /// [`TrialFailure`] says why the pass has nothing to say.
    #[cfg(all(target_os = "linux", not(miri)))]
    fn perform(&self, context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure>;

    /// Prices one pass on a simulated machine.
    ///
    /// # Errors
    /// As [`perform`](SeriesProbe::perform).
    fn simulate(&self, stage: &mut dyn Pricing<'_>, order: &TrialOrder<'_>)
    -> Result<Observed, TrialFailure>;

    /// What it says, number by number: unit, direction, aggregation and place in tables of each. Columns of tables stand in
    /// this order.
    fn quantities(&self) -> &'static [Quantity];

    /// The parameters that its trials differ in, the columns of tables first.
    fn parameters(&self) -> &'static [Parameter];

    /// Whether a trial is over as soon as it has the samples asked for, however wide its interval: where how long was
    /// looked is what was asked.
    fn ends_with_samples(&self) -> bool {
        false
    }

    /// What the two CPUs of a pair do, for the legend of a map: rows are its first, columns its second.
    fn roles_of_a_pair(&self) -> &'static str {
        "rows: first CPU of the pair"
    }

    /// The CPUs that a trial needs: those of its roles, and those of its mask where it has one.
    fn cpus(&self, spec: &TrialSpec) -> Vec<CpuId> {
        let mask = mask_of(spec);
        let others = mask.iter().flat_map(CpuSet::iter).filter(|cpu| !spec.placement.contains(cpu));
        spec.placement.iter().copied().chain(others).collect()
    }

    /// Whether its roles say something of their CPUs each for itself, so that a trial goes on where one of them goes away.
    fn watches_each_cpu(&self) -> bool {
        false
    }

    /// Whether a trial may be made while others are made on other cores.
    fn concurrent(&self, _spec: &TrialSpec) -> Concurrent {
        Concurrent::Never
    }

    /// What it can measure, by the names that its command takes, and what each does; empty where it takes no names.
    fn variants(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// What the names in some trials mean, for the legend of a table.
    fn remarks(&self, _trials: &[&TrialSpec]) -> Vec<Remark> {
        Vec::new()
    }
}

/// A name in a table, empty of the whole table; a template of what it means; the number of the name that fills it.
pub type Remark = (String, &'static str, Option<u32>);

/// Names of distributions and values by which trials of a probe are judged precise: the first of these that a trial has.
///
/// ```
/// # use coretalk_measure::{probes::queue::Queue, series::headlines};
/// assert_eq!(headlines(&Queue), ["corrected", "messages_per_s"]);
/// ```
pub fn headlines(probe: &dyn SeriesProbe) -> Vec<&'static str> {
    let ranked = probe.quantities().iter().filter_map(|quantity| Some((quantity.headline?, quantity.id)));
    let mut ranked: Vec<(u8, &str)> = ranked.collect();
    ranked.sort_unstable();
    ranked.into_iter().map(|(_, id)| id).collect()
}

/// Whether a trial may be made while others are made on other cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concurrent {
    /// Only alone.
    Never,
    /// Where trials of its relation, made both ways, prove that it changes nothing.
    IfProven,
    /// In any case: no number of it is believed.
    Always,
}

/// What is asked of a probe.
#[derive(Debug, Clone, Copy)]
pub struct SeriesRequest<'a> {
    /// Which CPUs share what.
    pub topology: &'a Topology,
    /// CPUs that take part, in matrix order.
    pub cpus: &'a [CpuId],
    /// Ordered pairs of CPUs, for probes of two roles: initiator first.
    pub pairs: &'a [[CpuId; 2]],
    /// What its own options say, defaults left out.
    pub options: &'a Parameters,
}

/// The parameter of trials whose roles are not bound to one CPU each: the CPUs on which they may run.
pub const MASK: &str = "mask";

/// The CPUs on which the roles of a trial may run, where they are not bound to one each.
pub fn mask_of(spec: &TrialSpec) -> Option<CpuSet> {
    spec.parameters.text(MASK).and_then(|list| CpuSet::from_list(list).ok())
}

/// One pass of one trial, to be performed.
#[derive(Clone, Copy)]
pub struct TrialOrder<'a> {
    /// Who performs it.
    pub probe: &'static dyn SeriesProbe,
    /// What.
    pub spec: &'a TrialSpec,
    /// What the options of the run say, defaults left out.
    pub options: &'a Parameters,
    /// The machine time that the pass should take, about: the probe chooses its counts by it.
    pub span: Picos,
    /// Keys every random choice inside.
    pub key: u64,
    /// Which of its processes performs it, from 0, where a runtime does.
    pub process: u32,
}

impl std::fmt::Debug for TrialOrder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let probe = self.probe.spec().id;
        f.debug_struct("TrialOrder")
            .field("probe", &probe)
            .field("spec", self.spec)
            .field("span", &self.span)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// The ordered pairs that stand for every relation among some CPUs: the first in matrix order of each.
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

/// Why a request, or a trial of one, makes no sense: a whole sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// A name that stands for nothing.
    #[error("unknown {what} `{typed}` (known: {known}){}", similar(*nearest))]
    Unknown {
        /// What it was taken for.
        what: &'static str,
        /// The name.
        typed: String,
        /// Those that stand for something.
        known: String,
        /// The one that was perhaps meant.
        nearest: Option<&'static str>,
    },
    /// A name that no queue has.
    #[error("unknown queue `{typed}`{}", match nearest { None => format!(": known are {known}"), near => similar(*near) })]
    NoQueue {
        /// The name.
        typed: String,
        /// Those that queues have.
        known: String,
        /// The one that was perhaps meant.
        nearest: Option<&'static str>,
    },
    /// What a runtime would have to perform, where none is asked.
    #[error("`{0}` is of the runtime `{runtime}`, and a runtime performs only queues (`queue --queue`), ways of waiting \
        (`wait --strategy`), wake-ups (`wake --primitive`) and methods of contention (`contend --method`)", runtime = .0.runtime)]
    External(External),
    /// A number, or one of few values, that is none of those allowed.
    #[error("{what}: {allowed}")]
    OutOfRange {
        /// What was asked for.
        what: String,
        /// What can be asked for.
        allowed: String,
    },
    /// One thing is asked for twice.
    #[error("{option} lists {item} twice; list it once")]
    Twice {
        /// The option that lists it.
        option: &'static str,
        /// What it lists.
        item: String,
    },
    /// A list of CPUs that cannot be read.
    #[error(transparent)]
    Cpus(#[from] CpuSetError),
    /// There is no CPU.
    #[error("there is no CPU to measure on")]
    NoCpu,
    /// Things that do not go together, as the probe says it that knows why.
    #[error("{0}")]
    Unfit(Cow<'static, str>),
}

impl RequestError {
    /// None of these names is the one that was typed.
    pub(crate) fn unknown(what: &'static str, typed: &str, names: &[&'static str]) -> RequestError {
        if let Some(external) = External::parse(typed) {
            return RequestError::External(external);
        }
        let (typed, nearest) = (typed.to_owned(), nearest(typed, names));
        RequestError::Unknown { what, typed, known: names.join(", "), nearest }
    }

    /// An option lists something twice.
    pub(crate) fn twice(option: &'static str, item: impl ToString) -> RequestError {
        RequestError::Twice { option, item: item.to_string() }
    }

    /// What was asked for, and what can be.
    pub(crate) fn out_of_range(what: impl Into<String>, allowed: impl Into<String>) -> RequestError {
        RequestError::OutOfRange { what: what.into(), allowed: allowed.into() }
    }
}

/// A trial that makes no sense says why instead of a number.
impl From<RequestError> for TrialFailure {
    fn from(error: RequestError) -> TrialFailure {
        TrialFailure::of(error.to_string())
    }
}

fn similar(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |near| format!("; a similar name exists: `{near}`"))
}

/// The name that was perhaps meant: the one that fewest letters differ from, if these are few; else the one that shares
/// most with what was typed, if one holds the other; else one with a word that is nearly what was typed. Case makes no
/// difference.
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
    let few = typed.chars().count().max(3) / 3;
    let near = names.iter().map(|name| (distance(&typed, name), *name)).min()?;
    if near.0 <= few {
        return Some(near.1);
    }
    let holds = |name: &&&'static str| {
        typed.len().min(name.len()) >= MIN_SHARED && (name.contains(&typed) || typed.contains(**name))
    };
    let held = names.iter().filter(holds).min_by_key(|name| name.len().abs_diff(typed.len()));
    let of_a_word = |name: &&'static str| {
        let words = name.split('-').filter(|word| word.len() >= MIN_SHARED);
        words.map(|word| distance(&typed, word)).min().filter(|&distance| distance <= few)
    };
    let in_a_word = || names.iter().filter_map(|name| Some((of_a_word(name)?, name.len(), *name))).min();
    held.copied().or_else(|| in_a_word().map(|(.., name)| name))
}

/// Fewer letters are part of many a name by chance.
const MIN_SHARED: usize = 3;

/// Letters to insert, delete or replace, or neighbours to exchange (Damerau 1964): the slips of typing.
fn distance(a: &str, b: &str) -> usize {
    let [a, b] = [a, b].map(|text| text.chars().collect::<Vec<char>>());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut next = vec![i];
        for j in 1..=b.len() {
            let replaced = row[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let least = replaced.min(row[j] + 1).min(next[j - 1] + 1);
            let exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            next.push(if exchanged { least.min(before[j - 2] + 1) } else { least });
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}
