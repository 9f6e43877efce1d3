//! `queue`: how many messages a second pass from one thread to another through a bounded queue.

mod pace;
#[cfg(all(target_os = "linux", not(miri)))]
mod perform;
mod price;
mod trials;

use crate::pricing::Pricing;
use crate::queues::catalogue::KINDS;
use crate::series::{Concurrent, Probe, ProbeSpec, RequestError, SeriesProbe, SeriesRequest, TrialOrder};
#[cfg(all(target_os = "linux", not(miri)))]
use crate::trial_context::TrialContext;
use coretalk_model::CpuId;
use coretalk_model::TrialFailure;
use coretalk_model::quantity::{Parameter, Quantity, Unit};
use coretalk_model::queue::names;
use coretalk_model::series::Observed;
use coretalk_model::series::TrialSpec;

pub use trials::{CAPACITIES, Config, MOST_CAPACITY, REPRESENTATIVES, VERIFIED};

/// How many messages a second pass from one thread to another through a bounded queue.
#[derive(Debug, Clone, Copy)]
pub struct Queue;

const SPEC: ProbeSpec = ProbeSpec {
    id: names::PROBE,
    title: "Throughput of a bounded queue",
    question: "how many messages per second pass from one thread to another through a bounded queue?",
    unit: "messages/s",
    quantity: "throughput",
};

const PARAMETERS: &[Parameter] = &[
    Parameter::new("queue", "queue").in_table("queue"),
    Parameter::new("capacity", "capacity").in_table("capacity"),
    Parameter::new("payload", "payload").in_table("payload"),
    Parameter::new("rate_per_s", "rate per s").unit(Unit::PerSecond("messages")),
    Parameter::new("producers", "producers"),
    Parameter::new("consumers", "consumers"),
];

/// Tables show trials that are no matrix: at a fixed rate, or with several producers or consumers.
const QUANTITIES: &[Quantity] = &[
    // At a rate: how late messages are, and not how many were asked for.
    Quantity::events(names::CORRECTED, "corrected").headline(0).in_table(),
    Quantity::events(names::UNCORRECTED, "uncorrected").in_table(),
    Quantity::rate(names::RATE, "messages/s", "messages").headline(1).in_table(),
    Quantity::count(names::MESSAGES, "messages"),
    Quantity::count(names::FULL, "full"),
    Quantity::count(names::EMPTY, "empty"),
    Quantity::count(names::CPU_NS[0], "producer cpu ns").unit(Unit::Ns),
    Quantity::count(names::CPU_NS[1], "consumer cpu ns").unit(Unit::Ns),
    Quantity::count(names::VOLUNTARY[0], "producer voluntary"),
    Quantity::count(names::VOLUNTARY[1], "consumer voluntary"),
    Quantity::count(names::INVOLUNTARY[0], "producer involuntary"),
    Quantity::count(names::INVOLUNTARY[1], "consumer involuntary"),
];

impl Probe for Queue {
    fn spec(&self) -> &ProbeSpec {
        &SPEC
    }

    fn series(&self) -> Option<&dyn SeriesProbe> {
        Some(self)
    }
}

impl SeriesProbe for Queue {
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

    fn concurrent(&self, spec: &TrialSpec) -> Concurrent {
        trials::concurrent(spec)
    }

    fn variants(&self) -> Vec<(String, String)> {
        KINDS.iter().map(|kind| (kind.id.to_owned(), kind.what.to_owned())).collect()
    }

    /// Only messages that are meant to be sent at some time are late.
    fn distributions(&self, spec: &TrialSpec) -> usize {
        if spec.parameters.number("rate_per_s").is_some() { 2 } else { 0 }
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
