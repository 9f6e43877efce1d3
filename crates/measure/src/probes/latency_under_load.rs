//! Trials of the latency probe: the same hand-over after an idle gap (`--gap`), and while neighbours are busy
//! (`--load`).

#[cfg(all(target_os = "linux", not(miri)))]
mod gap;
#[cfg(all(target_os = "linux", not(miri)))]
mod load;
#[cfg(all(target_os = "linux", not(miri)))]
mod neighbour;
mod price;
mod trials;
#[cfg(all(target_os = "linux", not(miri)))]
mod word;

use super::latency::Latency;
use super::wake;
#[cfg(all(target_os = "linux", not(miri)))]
use crate::awake::{self, Awake};
use crate::pricing::Pricing;
use crate::series::{RequestError, SeriesProbe, SeriesRequest, TrialOrder};
#[cfg(all(target_os = "linux", not(miri)))]
use crate::trial_context::TrialContext;
use coretalk_model::Picos;
use coretalk_model::TrialFailure;
use coretalk_model::quantity::{Better, Parameter, Quantity, Unit};
use coretalk_model::series::Observed;
use coretalk_model::series::TrialSpec;

pub use price::price_load;
pub use trials::{Load, NeighbourCpus, decades, gaps};

/// Names of what trials are and say.
pub mod names {
    /// The idle gap before a message, in nanoseconds.
    pub const GAP_NS: &str = "gap_ns";
    /// How the receiver waits: [`LOOKS`] or the name of a primitive.
    pub const RECEIVER: &str = "receiver";
    /// It looks all the time.
    pub const LOOKS: &str = "looks";
    /// It sleeps, in a semaphore over a futex.
    pub const SLEEPS: &str = "semaphore";
    /// Whether CPUs may enter idle states: as the system decides where this is absent, or [`KEPT_OUT`].
    pub const IDLE_STATES: &str = "idle_states";
    /// No CPU enters an idle state that takes time to leave.
    pub const KEPT_OUT: &str = "kept-out";
    /// What neighbours do.
    pub const LOAD: &str = "load";
    /// Where they are.
    pub const WHERE: &str = "neighbours";
    /// Single round trips after an idle gap, the clock's cost in each.
    pub const ROUND_TRIP: &str = "round-trip";
    /// Half of their median less the clock's cost; negative where that is more.
    pub const HALF_NET_NS: &str = "half_net_ns";
    /// Half a round trip while neighbours do nothing, …
    pub const IDLE_NS: &str = "idle_ns";
    /// … while they are busy, …
    pub const LOADED_NS: &str = "loaded_ns";
    /// … and how many times as long the latter takes, pass by pass.
    pub const RATIO: &str = "ratio";
}

const PARAMETERS: &[Parameter] = &[
    Parameter::new(names::GAP_NS, "gap").unit(Unit::Ns).in_table("after"),
    Parameter::new(names::RECEIVER, "receiver").in_table("receiver"),
    Parameter::new(names::IDLE_STATES, "idle states").in_table("idle states"),
    Parameter::new(names::LOAD, "load").in_table("load"),
    Parameter::new(names::WHERE, "neighbours").in_table("neighbours"),
];

/// A receiver that sleeps says what [`wake`] says.
const QUANTITIES: &[Quantity] = &[
    Quantity::events(names::ROUND_TRIP, "round trip").in_table(),
    Quantity::events(wake::names::SLEPT, "wake-up").headline(2).in_table(),
    Quantity::time(names::HALF_NET_NS, "half, net ns")
        .of_median(names::ROUND_TRIP, 0.5)
        .headline(1)
        .in_table()
        .meaning("half a round trip, minus half a clock read"),
    Quantity::time(names::IDLE_NS, "idle ns").in_table(),
    Quantity::time(names::LOADED_NS, "loaded ns").in_table(),
    Quantity::value(names::RATIO, "ratio", Unit::Ratio)
        .better(Better::Lower)
        .headline(0)
        .in_table()
        .meaning("loaded time over idle time"),
    Quantity::events(wake::names::HOT, "hot").headline(3),
    Quantity::events(wake::names::WAKER, "waker"),
    Quantity::events(wake::names::FIRST, "first"),
    Quantity::time("clock_ns", "clock ns"),
    Quantity::value("hot_share", "hot share", Unit::Share).within([0.0, 1.0]),
    Quantity::time("slept_mean_ns", "slept mean ns"),
    Quantity::count("samples", "samples"),
    Quantity::count("negative", "negative"),
];

impl SeriesProbe for Latency {
    fn trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        trials::trials(request)
    }

    /// Three idle gaps, and whatever neighbours can be had, on one pair of each relation.
    fn suite_trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        trials::suite_trials(request)
    }

    /// A pass holds so many idle gaps at least, however long they are.
    fn least_span(&self, spec: &TrialSpec) -> Picos {
        spec.parameters.number(names::GAP_NS).map_or(Picos::ZERO, |gap_ns| Picos::from_ns(3.0 * gap_ns))
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn lacks(&self, spec: &TrialSpec) -> Option<String> {
        if !keeps_awake(spec) {
            return None;
        }
        let error = Awake::hold().err()?;
        Some(format!("--keep-awake cannot be measured: {}", awake::refusal(&error)))
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn perform(&self, context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
        let _awake = if keeps_awake(order.spec) {
            Some(Awake::hold().map_err(|error| TrialFailure::of(awake::refusal(&error)))?)
        } else {
            None
        };
        match (Load::of(order.spec), sleeps(order.spec)) {
            (Some(load), _) => load::perform(load, context, order),
            (None, true) => wake::perform(names::SLEEPS, context, order),
            (None, false) => gap::perform(context, order),
        }
    }

    fn simulate(
        &self,
        stage: &mut dyn Pricing<'_>,
        order: &TrialOrder<'_>,
    ) -> Result<Observed, TrialFailure> {
        if keeps_awake(order.spec) {
            stage.keep_awake();
        }
        Ok(match (Load::of(order.spec), sleeps(order.spec)) {
            (Some(load), _) => price::load(load, stage, order),
            (None, true) => wake::simulate(names::SLEEPS, stage, order)?,
            (None, false) => price::gap(stage, order),
        })
    }

    fn quantities(&self) -> &'static [Quantity] {
        QUANTITIES
    }

    fn remarks(&self, trials: &[&TrialSpec]) -> Vec<String> {
        let mut remarks = Vec::new();
        if trials.iter().any(|trial| trial.parameters.text(names::RECEIVER) == Some(names::LOOKS)) {
            remarks.push(
                "looks: both sides stay awake and poll; compare-exchange with 1 pause; half the median round trip of a pass without the cost of the clock, median over passes"
                    .to_owned(),
            );
        }
        if trials.iter().any(|trial| sleeps(trial)) {
            remarks.push(
                "semaphore: the receiver sleeps on a futex; time until it runs again, proven sleeps only"
                    .to_owned(),
            );
        }
        if trials.iter().any(|trial| keeps_awake(trial)) {
            remarks.push(
                "kept-out: idle states that take time to leave are disabled, so only scheduler and interrupt costs remain; `·`: as the system decides"
                    .to_owned(),
            );
        }
        if trials.iter().any(|trial| Load::of(trial).is_some()) {
            remarks.push(
                "idle and loaded alternate within each pass; the interval of the ratio is over passes"
                    .to_owned(),
            );
        }
        remarks
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }
}

fn keeps_awake(spec: &TrialSpec) -> bool {
    spec.parameters.text(names::IDLE_STATES).is_some()
}

fn sleeps(spec: &TrialSpec) -> bool {
    spec.parameters.text(names::RECEIVER) == Some(names::SLEEPS)
}
