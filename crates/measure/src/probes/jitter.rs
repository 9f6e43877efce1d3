//! `jitter`: how quiet each CPU is.

#[cfg(not(loom))]
mod account;
#[cfg(all(target_os = "linux", not(any(loom, miri))))]
mod perform;
#[cfg(not(loom))]
mod price;

#[cfg(not(loom))]
use crate::pricing::Pricing;
#[cfg(not(loom))]
use crate::series::TrialOrder;
use crate::series::{Column, Probe, ProbeSpec, SeriesProbe, SeriesRequest};
#[cfg(all(target_os = "linux", not(any(loom, miri))))]
use crate::trial_context::TrialContext;
#[cfg(not(loom))]
use coretalk_model::TrialFailure;
use coretalk_model::jitter::names;
#[cfg(not(loom))]
use coretalk_model::series::Observed;
use coretalk_model::series::TrialSpec;

/// How quiet each CPU is.
#[derive(Debug, Clone, Copy)]
pub struct Jitter;

const SPEC: ProbeSpec = ProbeSpec {
    id: names::PROBE,
    title: "Quiet and noisy CPUs",
    question: "how much of its time does each CPU lose, to what, and for how long at most?",
    unit: "ns",
    quantity: "gap",
};

/// Two looks at the counter that lie further apart than this are a gap. A look takes some 10 to 30 ns, a miss in the
/// cache 100; an interrupt takes a microsecond and more.
pub const GAP_NS: f64 = 500.0;
/// How long CPUs are watched where nothing was said.
pub const WATCHED_MS: f64 = 5_000.0;

const COLUMNS: &[Column] = &[
    Column::Percentiles(names::GAPS, "gaps"),
    Column::Value(names::LOST, "lost"),
    Column::Count(names::WATCHED, "watched ms"),
];

impl Probe for Jitter {
    fn spec(&self) -> &ProbeSpec {
        &SPEC
    }

    fn series(&self) -> Option<&dyn SeriesProbe> {
        Some(self)
    }
}

impl SeriesProbe for Jitter {
    fn trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, String> {
        // All CPUs at the same time: what disturbs them is then seen by each as it happens to the whole machine.
        Ok(vec![TrialSpec {
            probe: SPEC.id.to_owned(),
            parameters: Default::default(),
            placement: request.cpus.to_vec(),
        }])
    }

    #[cfg(all(target_os = "linux", not(any(loom, miri))))]
    fn perform(&self, context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
        perform::perform(context, order)
    }

    #[cfg(not(loom))]
    fn simulate(
        &self,
        stage: &mut dyn Pricing<'_>,
        order: &TrialOrder<'_>,
    ) -> Result<Observed, TrialFailure> {
        Ok(price::simulate(stage, order))
    }

    /// Time is watched as long as was asked for: how rare its gaps are is the answer, and not what to be precise about.
    fn headlines(&self) -> &'static [&'static str] {
        &[names::WATCHED_SHARE]
    }

    fn ends_with_samples(&self) -> bool {
        true
    }

    fn watches_each_cpu(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

/// Notes how long all CPUs were watched: the run ends when that is as long as was asked for.
#[cfg(not(loom))]
fn note_span(observed: &mut Observed, watched_ns: f64, asked_ns: f64) {
    observed.count(names::SAMPLES, (watched_ns / 1e6).round() as u64);
    observed.value(names::WATCHED_SHARE, watched_ns / asked_ns);
}
