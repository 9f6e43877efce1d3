//! `queue`: messages per second between threads through a bounded queue.

mod crowd;
#[cfg(all(target_os = "linux", not(miri)))]
mod perform;
mod price;
mod runtime;
mod sweep;
mod trials;
mod twins;

use crate::adapters::pass::Pass;
use crate::adapters::protocol::RuntimeWork;
use crate::pricing::Pricing;
use crate::queues::catalogue::KINDS;
use crate::queues::course::Delays;
use crate::series::{Concurrent, ProbeSpec, RequestError, SeriesProbe, SeriesRequest, TrialOrder};
#[cfg(all(target_os = "linux", not(miri)))]
use crate::trial_context::TrialContext;
use crate::twin::Twin;
use coretalk_model::quantity::{Aggregate, Better, Parameter, Preferred, Quantity, Unit};
use coretalk_model::queue::names;
use coretalk_model::runtime::names as of_runtimes;
use coretalk_model::series::{Observed, Parameters, TrialSpec};
use coretalk_model::{CpuId, Flag, Picos, TickRate, TrialFailure};
pub use trials::{CAPACITIES, Config, MAX_CAPACITY, REPRESENTATIVES, VERIFIED};

/// Messages per second between threads through a bounded queue.
#[derive(Debug, Clone, Copy)]
pub struct Queue;

const SPEC: ProbeSpec = ProbeSpec {
    id: names::PROBE,
    title: "Throughput of a bounded queue",
    question: "how many messages per second pass between threads through a bounded queue?",
    unit: "messages/s",
    quantity: "throughput",
};

const PARAMETERS: &[Parameter] = &[
    Parameter::new("queue", "queue").in_table("queue").ranked(),
    Parameter::new("capacity", "capacity").in_table("capacity").preferring(Preferred::Nearest(1000.0)),
    Parameter::new("payload", "payload").in_table("payload").preferring(Preferred::Named("u64")),
    Parameter::new("rate_per_s", "rate").unit(Unit::PerSecond("messages")),
    Parameter::new("producers", "producers"),
    Parameter::new("consumers", "consumers"),
    Parameter::new("batch", "batch").in_table("batch"),
];

/// Tables show trials that form no matrix: at a fixed rate, or with several producers or consumers.
const QUANTITIES: &[Quantity] = &[
    // At a fixed rate: the delay, not the requested rate.
    Quantity::events(names::CORRECTED, "corrected")
        .headline(0)
        .in_table()
        .meaning("time from when a message was due until it was received"),
    Quantity::events(names::UNCORRECTED, "uncorrected").in_table(),
    Quantity::events(names::OF_BATCH[0], "first of batch")
        .in_table()
        .meaning("as corrected, of the first message of each batch"),
    Quantity::events(names::OF_BATCH[1], "last of batch")
        .in_table()
        .meaning("as corrected, of the last message of each batch"),
    Quantity::rate(names::RATE, "messages/s", "messages").headline(1).in_table(),
    Quantity::value(names::FAIRNESS[0], "fair producers", Unit::Number)
        .within([0.0, 1.0])
        .better(Better::Higher)
        .in_table()
        .meaning("share of the producer with fewest messages ÷ an equal share"),
    Quantity::value(names::FAIRNESS[1], "fair consumers", Unit::Number)
        .within([0.0, 1.0])
        .better(Better::Higher)
        .in_table()
        .meaning("share of the consumer with fewest messages ÷ an equal share"),
    Quantity::value(names::SHARE, "share", Unit::Share).within([0.0, 1.0]).of_each_role(),
    Quantity::value(names::LARGEST[0], "producer share max", Unit::Share).within([0.0, 1.0]),
    Quantity::value(names::LARGEST[1], "consumer share max", Unit::Share).within([0.0, 1.0]),
    Quantity::count(names::KEPT, "passes kept").aggregate(Aggregate::SumOverStates),
    Quantity::count(names::MISSED, "passes missed").aggregate(Aggregate::SumOverStates),
    Quantity::count(names::MESSAGES, "messages"),
    Quantity::count(names::FULL, "full"),
    Quantity::count(names::EMPTY, "empty"),
    Quantity::count(names::CPU_NS[0], "producer cpu ns").unit(Unit::Ns),
    Quantity::count(names::CPU_NS[1], "consumer cpu ns").unit(Unit::Ns),
    Quantity::count(names::VOLUNTARY[0], "producer voluntary"),
    Quantity::count(names::VOLUNTARY[1], "consumer voluntary"),
    Quantity::count(names::INVOLUNTARY[0], "producer involuntary"),
    Quantity::count(names::INVOLUNTARY[1], "consumer involuntary"),
    Quantity::value(of_runtimes::OUTSIDE, "outside", Unit::Share)
        .within([0.0, 1.0])
        .aggregate(Aggregate::MeanOverPasses),
    Quantity::count(of_runtimes::COLLECTIONS, "collections"),
    Quantity::count(of_runtimes::TOTAL_NS, "total ns").unit(Unit::Ns),
];

impl SeriesProbe for Queue {
    fn spec(&self) -> &ProbeSpec {
        &SPEC
    }

    fn trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        trials::trials(request)
    }

    /// One pair of each relation, and both threads on one CPU.
    fn suite_trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        let one = request.cpus.first().map(|&cpu| [cpu; 2]);
        let pairs: Vec<[CpuId; 2]> = one.into_iter().chain(request.pairs.iter().copied()).collect();
        let options = request.options.clone().with("pairs", "listed");
        trials::trials(&SeriesRequest { pairs: &pairs, options: &options, ..*request })
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn lacks(&self, spec: &TrialSpec) -> Option<String> {
        perform::lacks(spec)
    }

    fn least_span(&self, spec: &TrialSpec) -> Picos {
        let rate_per_s = spec.parameters.number("rate_per_s");
        rate_per_s.map_or(Picos::ZERO, |rate_per_s| Picos::from_secs(MIN_SENT / rate_per_s))
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
        let config = Config::of(order.spec)?;
        match config.sides {
            [1, 1] => price::simulate(stage, order),
            _ => Ok(crowd::simulate(stage, &config, order)),
        }
    }

    fn concurrent(&self, spec: &TrialSpec) -> Concurrent {
        trials::concurrent(spec)
    }

    fn variants(&self) -> Vec<(String, String)> {
        let ours = KINDS.iter().map(|kind| (kind.id.to_owned(), kind.what.to_owned()));
        ours.chain([("RUNTIME:NAME".to_owned(), "a queue of a runtime in another language".to_owned())])
            .collect()
    }

    fn named_by(&self) -> Option<&'static str> {
        Some("queue")
    }

    fn runtime_work(&self, spec: &TrialSpec, options: &Parameters) -> Result<RuntimeWork, RequestError> {
        runtime::work(spec, options)
    }

    fn runtime_result(&self, spec: &TrialSpec, pass: &Pass) -> Observed {
        runtime::result(spec, pass)
    }

    fn twins(&self) -> &'static [Twin] {
        twins::TWINS
    }

    /// Only messages with a due time have delays.
    fn distributions(&self, spec: &TrialSpec) -> usize {
        let has = |name| spec.parameters.number(name).is_some();
        match (has("rate_per_s"), has("batch")) {
            (true, true) => 4,
            (true, false) => 2,
            (false, _) => 0,
        }
    }

    fn roles_of_a_pair(&self) -> &'static str {
        "from the intended send time of a message until it is received; the row produces, the column consumes"
    }

    fn quantities(&self) -> &'static [Quantity] {
        QUANTITIES
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }
}

/// Minimum share of due messages for a sustained rate; below, delays grow without limit and depend on the pass's
/// length.
const KEPT: f64 = 0.99;
/// Minimum messages of a pass at a fixed rate, to decide within a few percent whether the rate was sustained.
const MIN_SENT: f64 = 100.0;
/// Messages by which a sustained rate may be off: one at each end of the part of the pass over which it is computed.
const ENDS: f64 = 2.5;

/// Records the delays of a pass with a sustained rate; of a saturated one only the reached rate. `per_s` is the
/// requested and the reached rate; `in_batches` is set if batches were requested, even of one message.
pub fn observe(observed: &mut Observed, rate: TickRate, per_s: [f64; 2], delays: &Delays, in_batches: bool) {
    let [requested, reached] = per_s;
    observed.value(names::RATE, reached);
    let is_kept = reached >= KEPT * requested * (1.0 - ENDS / delays.corrected.len().max(1) as f64);
    observed.count(names::KEPT, u64::from(is_kept));
    observed.count(names::MISSED, u64::from(!is_kept));
    if !is_kept {
        observed.flags.set(Flag::Saturated);
        return;
    }
    observed.histogram(names::CORRECTED, delays.corrected.histogram(rate));
    observed.histogram(names::UNCORRECTED, delays.uncorrected.histogram(rate));
    if in_batches {
        for (end, name) in names::OF_BATCH.into_iter().enumerate() {
            // A batch of one message begins and ends with it.
            let tally = delays.of_batch.as_ref().map_or(&delays.corrected, |ends| &ends[end]);
            observed.histogram(name, tally.histogram(rate));
        }
    }
}

/// Records the shares of a side's ends (0 produces, 1 consumes) in the messages; `first` is the role of its first end.
pub fn observe_shares(observed: &mut Observed, side: usize, first: usize, shares: &[f64]) {
    for (role, share) in (first..).zip(shares) {
        observed.by_role.entry(role).or_default().value(names::SHARE, *share);
    }
    let [least, most] = shares
        .iter()
        .fold([f64::INFINITY, 0.0], |[least, most]: [f64; 2], share| [least.min(*share), most.max(*share)]);
    observed.value(names::FAIRNESS[side], least * shares.len() as f64);
    observed.value(names::LARGEST[side], most);
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn a_pair_that_cannot_keep_up_is_saturated_and_has_no_delay() {
        let mut delays = Delays::default();
        for _ in 0..10_000 {
            delays.corrected.count(500);
            delays.uncorrected.count(100);
        }
        let observe = |reached| {
            let mut observed = Observed::default();
            super::observe(&mut observed, TickRate { hz: 1e9 }, [1e6, reached], &delays, false);
            observed
        };
        let kept = observe(0.995e6);
        let median = kept.numbers.histograms[names::CORRECTED].percentile_ns(0.5);
        assert!(median.is_some_and(|median| (median - 500.0).abs() < 1.0), "{median:?}");
        assert!(!kept.flags.contains(Flag::Saturated));
        let saturated = observe(0.9e6);
        assert!(saturated.flags.contains(Flag::Saturated) && saturated.numbers.histograms.is_empty());
        assert_eq!(saturated.numbers.values[names::RATE], 0.9e6);
    }
}
