//! `wake`: how long until a thread that waits in a primitive runs again.

mod catalogue;
#[cfg(all(target_os = "linux", not(any(loom, miri))))]
mod exchange;

#[cfg(all(target_os = "linux", not(any(loom, miri))))]
use crate::ensemble::Ensemble;
use crate::kernel::Kernel;
use crate::probe::{Probe, ProbeSpec};
#[cfg(not(loom))]
use crate::series::TrialOrder;
use crate::series::{Column, SeriesProbe, SeriesRequest};
#[cfg(not(loom))]
use crate::sim::{SimStage, wake};
#[cfg(not(loom))]
use crate::tally::Tally;
#[cfg(not(loom))]
use coretalk_model::TrialFailure;
#[cfg(not(loom))]
use coretalk_model::series::Observed;
use coretalk_model::series::TrialSpec;

#[cfg(not(loom))]
pub use catalogue::cost;
pub use catalogue::{NAMES, mechanism};

/// How long until a thread that waits in a primitive runs again.
#[derive(Debug, Clone, Copy)]
pub struct Wake;

const SPEC: ProbeSpec = ProbeSpec {
    id: "wake",
    title: "Wake-up of a waiting thread",
    question: "how long until a thread that waits in a primitive runs again?",
    unit: "ns",
    quantity: "wake_up",
};

/// How long the waiter waits before it is woken, in nanoseconds. Idle loops that poll hide what a longer wait costs:
/// a guest may poll 200 µs before it gives its CPU back (KVM's `halt_poll_ns`).
pub const GAPS_NS: [f64; 3] = [20e3, 1e6, 20e6];
/// Each gap is up to so much shorter or longer, so that nothing periodic falls into step.
const GAP_JITTER: f64 = 0.25;
/// Samples of a trial where nothing was asked, as far as the budget allows.
pub const SAMPLES: f64 = 50_000.0;

/// Distributions of a trial.
mod names {
    /// The waiter had slept, and it is proven.
    pub const SLEPT: &str = "slept";
    /// It had not, or it cannot be proven.
    pub const HOT: &str = "hot";
    /// What the waker was kept from going on.
    pub const WAKER: &str = "waker";
    /// The first wake-up of each pass: cold.
    pub const FIRST: &str = "first";
}

const COLUMNS: &[Column] = &[
    Column::Parameter("primitive", "primitive"),
    Column::Parameter("gap_ns", "after"),
    Column::Percentiles(names::SLEPT, "slept"),
    Column::Percentiles(names::HOT, "hot"),
    Column::Percentiles(names::WAKER, "waker"),
];

impl Probe for Wake {
    fn spec(&self) -> &ProbeSpec {
        &SPEC
    }

    fn kernels(&self) -> &[&'static Kernel] {
        &[]
    }

    fn series(&self) -> Option<&dyn SeriesProbe> {
        Some(self)
    }
}

impl SeriesProbe for Wake {
    fn trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, String> {
        catalogue::trials(request)
    }

    #[cfg(all(target_os = "linux", not(any(loom, miri))))]
    fn perform(&self, ensemble: &Ensemble<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
        let name = order.spec.parameters.text("primitive").unwrap_or_default();
        Ok(exchange::perform(name, ensemble, order)?.observed(ensemble.rate()))
    }

    #[cfg(not(loom))]
    fn simulate(&self, stage: &mut SimStage<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
        let cost = catalogue::cost(order.spec.parameters.text("primitive").unwrap_or_default());
        let gap_ns = order.spec.parameters.number("gap_ns").unwrap_or(GAPS_NS[0]);
        let mut tallies = Tallies::default();
        let mut first = true;
        while stage.elapsed() < order.span {
            let gap_ns = gap_ns * (1.0 + GAP_JITTER * (2.0 * stage.unit() - 1.0));
            let event = wake::perform(stage, &cost, gap_ns);
            let clock_ns = stage.clock_ns();
            let wake = stage.ticks(event.wake_ns + clock_ns);
            let waker = stage.ticks(event.waker_ns + clock_ns);
            tallies.count(wake, waker, event.slept, std::mem::take(&mut first));
        }
        Ok(tallies.observed(stage.rate()))
    }

    fn headlines(&self) -> &'static [&'static str] {
        &[names::SLEPT, names::HOT]
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

/// What both roles counted in one pass.
#[cfg(not(loom))]
#[derive(Debug, Default)]
struct Tallies {
    slept: Tally,
    hot: Tally,
    waker: Tally,
    first: Tally,
    /// Wake-ups that seem to have come before they were sent: the counters of the CPUs lie apart.
    negative: u64,
}

#[cfg(not(loom))]
impl Tallies {
    fn count(&mut self, wake_ticks: u64, waker_ticks: u64, slept: bool, first: bool) {
        self.waker.count(waker_ticks);
        match (first, slept) {
            (true, _) => self.first.count(wake_ticks),
            (_, true) => self.slept.count(wake_ticks),
            (_, false) => self.hot.count(wake_ticks),
        }
    }

    fn observed(&self, rate: coretalk_model::TickRate) -> Observed {
        let mut observed = Observed::default();
        observed.histogram(names::SLEPT, self.slept.histogram(rate));
        observed.histogram(names::HOT, self.hot.histogram(rate));
        observed.histogram(names::WAKER, self.waker.histogram(rate));
        observed.histogram(names::FIRST, self.first.histogram(rate));
        let judged = self.slept.len() + self.hot.len();
        observed.count("samples", judged);
        observed.count("negative", self.negative);
        if judged > 0 {
            observed.value("hot_share", self.hot.len() as f64 / judged as f64);
        }
        if let Some(mean) = self.slept.mean_ns(rate) {
            observed.value("slept_mean_ns", mean);
        }
        observed
    }
}
