//! `jitter`: how quiet each CPU is.

mod account;
#[cfg(all(target_os = "linux", not(miri)))]
mod perform;
mod price;

use crate::pricing::Pricing;
use crate::series::{Probe, ProbeSpec, RequestError, SeriesProbe, SeriesRequest, TrialOrder};
#[cfg(all(target_os = "linux", not(miri)))]
use crate::trial_context::TrialContext;
use coretalk_model::TrialFailure;
use coretalk_model::jitter::names;
use coretalk_model::quantity::{Aggregate, Better, Parameter, Quantity, Unit};
use coretalk_model::series::Observed;
use coretalk_model::series::TrialSpec;

/// How quiet each CPU is.
#[derive(Debug, Clone, Copy)]
pub struct Jitter;

const SPEC: ProbeSpec = ProbeSpec {
    id: names::PROBE,
    title: "Quiet and noisy CPUs",
    question: "how much time does each CPU lose, to what, and how long is the longest gap?",
    unit: "ns",
    quantity: "gap",
};

/// Two looks at the counter that lie further apart than this are a gap. A look takes some 10 to 30 ns, a miss in the
/// cache 100; an interrupt takes a microsecond and more.
pub const GAP_NS: f64 = 500.0;
/// How long CPUs are watched where nothing was said.
pub const WATCHED_MS: f64 = 5_000.0;

/// What adds up over time is told by its mean. How long CPUs were watched, by which trials are judged, is no property of the
/// machine: they are shown by what was lost.
const QUANTITIES: &[Quantity] = &[
    Quantity::events(names::GAPS, "gaps").in_table(),
    of_lost_time(names::LOST, "lost").displayed().lost_time().in_table(),
    Quantity::count(names::WATCHED, "watched ms").unit(Unit::Ms).in_table(),
    of_lost_time(names::SWITCH, "switch share"),
    of_lost_time(names::QUOTA, "quota share"),
    of_lost_time(names::TICK, "tick share"),
    of_lost_time(names::INTERRUPT, "interrupt share"),
    of_lost_time(names::STEAL, "steal share"),
    of_lost_time(names::UNEXPLAINED, "unexplained share"),
    Quantity::rate(names::RATE, "gaps per s", "gaps")
        .better(Better::Lower)
        .aggregate(Aggregate::MeanOverPasses),
    Quantity::time(names::LOOK_NS, "look ns"),
    Quantity::value(names::WATCHED_SHARE, "watched share", Unit::Share).headline(0).within([0.0, 1.0]),
    Quantity::count(names::SAMPLES, "samples").unit(Unit::Ms),
];

const fn of_lost_time(id: &'static str, title: &'static str) -> Quantity {
    Quantity::value(id, title, Unit::Share)
        .within([0.0, 1.0])
        .better(Better::Lower)
        .aggregate(Aggregate::MeanOverPasses)
}

impl Probe for Jitter {
    fn spec(&self) -> &ProbeSpec {
        &SPEC
    }

    fn series(&self) -> Option<&dyn SeriesProbe> {
        Some(self)
    }
}

impl SeriesProbe for Jitter {
    fn trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        // All CPUs at the same time: what disturbs them is then seen by each as it happens to the whole machine.
        Ok(vec![TrialSpec {
            probe: SPEC.id.to_owned(),
            parameters: Default::default(),
            placement: request.cpus.to_vec(),
        }])
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
        Ok(price::simulate(stage, order))
    }

    /// Time is watched as long as was asked for: how rare its gaps are is the answer, and not what to be precise about.
    fn quantities(&self) -> &'static [Quantity] {
        QUANTITIES
    }

    fn ends_with_samples(&self) -> bool {
        true
    }

    fn watches_each_cpu(&self) -> bool {
        true
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[]
    }
}

/// Notes how long all CPUs were watched: the run ends when that is as long as was asked for.
fn note_span(observed: &mut Observed, watched_ns: f64, asked_ns: f64) {
    observed.count(names::SAMPLES, (watched_ns / 1e6).round() as u64);
    observed.value(names::WATCHED_SHARE, watched_ns / asked_ns);
}
