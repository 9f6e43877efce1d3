//! `contend`: the cost of changing one number from many threads.

#[cfg(all(target_os = "linux", not(miri)))]
mod observation;
#[cfg(all(target_os = "linux", not(miri)))]
mod perform;
mod price;
#[cfg(all(target_os = "linux", not(miri)))]
mod runtime;
mod trials;
mod twins;

#[cfg(all(target_os = "linux", not(miri)))]
use crate::adapters::pass::Pass as RuntimePass;
use crate::adapters::protocol::{Events, MAX_OPERATIONS, Operation, RuntimeWork};
use crate::counters::catalogue::{METHODS, Method, MethodKind, REPLACED_WIDE};
use crate::pricing::Pricing;
use crate::series::{ProbeSpec, Remark, RequestError, SeriesProbe, SeriesRequest, TrialOrder};
#[cfg(all(target_os = "linux", not(miri)))]
use crate::trial_context::TrialContext;
use crate::twin::Twin;
use coretalk_model::TrialFailure;
use coretalk_model::contend::names;
use coretalk_model::quantity::{
    Aggregate, Better, InRanking, Parameter, Preferred, Quantity, Unit, Unranked,
};
use coretalk_model::runtime::names as of_runtimes;
use coretalk_model::series::{Observed, Parameters, TrialSpec};

#[cfg(all(target_os = "linux", not(miri)))]
pub use perform::{Pass, loops};
pub use price::{cost, sections};
pub use trials::{ARRANGEMENTS, Config, MAX_SECTION_NS, MAX_THREADS, SECTIONS_NS, thread_counts};

/// The cost of changing one number from many threads.
#[derive(Debug, Clone, Copy)]
pub struct Contend;

const SPEC: ProbeSpec = ProbeSpec {
    id: names::PROBE,
    title: "Contention on one counter",
    question: "what does it cost when many threads update one counter?",
    unit: "ns",
    quantity: "contention",
};

/// Methods without a rank: a counter per thread is a bound for every lock, and a data race loses updates.
const NEVER_RANKED: &[(&str, Unranked)] = &[("per-thread", Unranked::Bound), ("racy", Unranked::WrongAnswer)];

const PARAMETERS: &[Parameter] = &[
    Parameter::new("method", "method")
        .in_table("method")
        .in_ranking(InRanking::Subject { never: NEVER_RANKED }),
    Parameter::new("threads", "threads").in_table("threads").preferring(Preferred::Most),
    Parameter::new("arrange", "arrange"),
    Parameter::new("critical_ns", "critical").unit(Unit::Ns),
    Parameter::new("parallel_ns", "parallel").unit(Unit::Ns),
    Parameter::new("read_share", "read share").unit(Unit::Share).in_ranking(InRanking::OfSubject),
];

/// Trials are judged by wall time ÷ operations of all threads, which falls with the number of threads even under
/// contention; tables also show the time per operation of one thread, which does not.
const QUANTITIES: &[Quantity] = &[
    Quantity::events(names::ACQUIRE, "acquire").in_table(),
    Quantity::time(names::THREAD_NS, "thread ns")
        .displayed()
        .in_table()
        .meaning("time per operation and thread")
        .formula("wall time × threads / operations"),
    Quantity::time(names::WALL_NS, "wall ns").headline(0).in_table(),
    Quantity::rate(names::RATE, "ops per s", "ops"),
    Quantity::rate(names::SLOWEST, "slowest ops per s", "ops"),
    Quantity::value(names::JAIN, "jain", Unit::Number).within([0.0, 1.0]).better(Better::Higher),
    Quantity::value(names::JAIN_1MS, "jain 1ms", Unit::Number).within([0.0, 1.0]).better(Better::Higher),
    Quantity::value(names::SHARE_MIN, "share min", Unit::Share).within([0.0, 1.0]),
    Quantity::value(names::SHARE_MAX, "share max", Unit::Share).within([0.0, 1.0]),
    Quantity::value(names::RUN_LENGTH, "run length", Unit::Number),
    Quantity::value(names::OVERLAP, "overlap", Unit::Share).within([0.0, 1.0]),
    Quantity::time(names::CPU_NS, "cpu ns per op"),
    Quantity::value(names::VOLUNTARY, "voluntary switches per op", Unit::Number),
    Quantity::value(names::INVOLUNTARY, "involuntary switches per op", Unit::Number),
    Quantity::count(names::FINAL, "final count").compared(),
    Quantity::count(names::EXPECTED, "expected count").compared(),
    Quantity::count(names::OPERATIONS, "operations"),
    Quantity::value(of_runtimes::OUTSIDE, "outside", Unit::Share)
        .within([0.0, 1.0])
        .aggregate(Aggregate::MeanOverPasses),
    Quantity::count(of_runtimes::COLLECTIONS, "collections"),
];

impl SeriesProbe for Contend {
    fn spec(&self) -> &ProbeSpec {
        &SPEC
    }

    fn trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        trials::trials(request)
    }

    /// One thread, two, one per CPU, and two per CPU.
    fn suite_trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        let all = request.cpus.len().min(trials::MAX_THREADS as usize / 2);
        let mut counts = vec![1, 2, all, 2 * all];
        counts.sort_unstable();
        counts.dedup();
        let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
        let options = request.options.clone().with("threads", counts.join(","));
        trials::trials(&SeriesRequest { options: &options, ..*request })
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn lacks(&self, spec: &TrialSpec) -> Option<String> {
        perform::lacks(spec)
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn perform(&self, context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
        perform::perform(context, order)
    }

    fn simulate(
        &self,
        stage: &mut dyn Pricing<'_>,
        order: &TrialOrder<'_>,
    ) -> Result<Observed, TrialFailure> {
        price::simulate(stage, order)
    }

    fn variants(&self) -> Vec<(String, String)> {
        let of_runtimes = ("RUNTIME:NAME".to_owned(), "a method of a runtime in another language".to_owned());
        let ours = METHODS.iter().map(|method| (method.id.to_owned(), method.how.to_owned()));
        ours.chain([of_runtimes]).collect()
    }

    fn named_by(&self) -> Option<&'static str> {
        Some("method")
    }

    fn runtime_work(&self, spec: &TrialSpec, _options: &Parameters) -> Result<RuntimeWork, RequestError> {
        let operation = Operation::Contend { threads: spec.placement.len() };
        Ok(RuntimeWork { operation, events: Events::Together, most: MAX_OPERATIONS })
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn runtime_result(&self, _spec: &TrialSpec, pass: &RuntimePass) -> Observed {
        runtime::result(pass)
    }

    /// Runtimes do not report acquisition times, the order of additions, or additions per millisecond.
    fn unknown_of_runtimes(&self) -> &'static [&'static str] {
        &[names::ACQUIRE, names::RUN_LENGTH, names::JAIN_1MS]
    }

    fn twins(&self) -> &'static [Twin] {
        twins::TWINS
    }

    fn distributions(&self, spec: &TrialSpec) -> usize {
        usize::from(self.external(spec).is_none())
    }

    fn quantities(&self) -> &'static [Quantity] {
        QUANTITIES
    }

    fn remarks(&self, trials: &[&TrialSpec]) -> Vec<Remark> {
        let methods = trials.iter().filter_map(|trial| Some(Config::of(trial).ok()?.method));
        let remark = |method: &Method| {
            let is_replaced = method.kind == MethodKind::Wide && !crate::counters::atomic::is_native();
            (method.id.to_owned(), if is_replaced { REPLACED_WIDE } else { method.how }, None)
        };
        methods.map(remark).collect()
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }
}
