//! `spawn`: what it costs to start a thread or a process, and how long until it runs.

mod catalogue;
mod price;

#[cfg(all(target_os = "linux", not(miri)))]
use crate::creation;
use crate::pricing::Pricing;
use crate::series::{Probe, ProbeSpec, RequestError, SeriesProbe, SeriesRequest, TrialOrder};
#[cfg(all(target_os = "linux", not(miri)))]
use crate::trial_context::TrialContext;
use coretalk_model::TrialFailure;
use coretalk_model::quantity::{Aggregate, Parameter, Quantity, Unit};
use coretalk_model::series::Observed;
use coretalk_model::series::TrialSpec;
use coretalk_model::{CpuId, CpuSet};

pub use crate::creation::{Config, KINDS, Kind, PARENT_MIB, names};
pub use catalogue::PAUSES_NS;
pub use price::cost;

/// What it costs to start a thread or a process, and how long until it runs.
#[derive(Debug, Clone, Copy)]
pub struct Spawn;

const SPEC: ProbeSpec = ProbeSpec {
    id: "spawn",
    title: "Creation of threads and processes",
    question: "what does it cost to start a thread or a process, and how long until it runs?",
    unit: "ns",
    quantity: "creation",
};

/// Samples of a trial where nothing was asked, as far as the budget allows.
pub const SAMPLES: f64 = 10_000.0;

const PARAMETERS: &[Parameter] = &[
    Parameter::new("kind", "kind").in_table("kind"),
    Parameter::new("pause_ns", "pause").unit(Unit::Ns).in_table("pause"),
    Parameter::new("mask", "mask"),
    Parameter::new("parent_mib", "parent mib").unit(Unit::Mebibytes),
];

const QUANTITIES: &[Quantity] = &[
    Quantity::events(names::COST, "cost").in_table(),
    Quantity::events(names::LATENCY, "latency")
        .headline(0)
        .in_table()
        .meaning("time until the first statement runs"),
    Quantity::events(names::JOIN, "join").in_table(),
    // A difference with a sign, which no histogram holds.
    Quantity::value(names::AFTER_RETURN_NS, "C−B ns", Unit::Ns)
        .aggregate(Aggregate::MedianOverEvents("samples"))
        .in_table(),
    Quantity::events(names::FIRST, "first"),
    Quantity::value(names::PARENT_MIB, "parent rss mib", Unit::Mebibytes),
    Quantity::count(names::CHILD_FIRST, "child first"),
    Quantity::count("samples", "samples"),
];

impl Probe for Spawn {
    fn spec(&self) -> &ProbeSpec {
        &SPEC
    }

    fn series(&self) -> Option<&dyn SeriesProbe> {
        Some(self)
    }
}

impl SeriesProbe for Spawn {
    fn trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        catalogue::trials(request)
    }

    /// Paced: what a program pays that starts one now and then.
    fn suite_trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        let mut trials = catalogue::trials(request)?;
        trials.retain(|trial| trial.parameters.number("pause_ns") != Some(0.0));
        Ok(trials)
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn lacks(&self, spec: &TrialSpec) -> Option<String> {
        creation::lacks(Config::of(spec).ok()?.kind)
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn perform(&self, context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
        // A plan of another version may hold names that this one does not know.
        let config = Config::of(order.spec)?;
        creation::perform(context, order, &config)
    }

    fn simulate(
        &self,
        stage: &mut dyn Pricing<'_>,
        order: &TrialOrder<'_>,
    ) -> Result<Observed, TrialFailure> {
        price::simulate(stage, order)
    }

    fn variants(&self) -> Vec<(String, String)> {
        KINDS.iter().map(|kind| (kind.name().to_owned(), kind.how().to_owned())).collect()
    }

    fn quantities(&self) -> &'static [Quantity] {
        QUANTITIES
    }

    fn remarks(&self, trials: &[&TrialSpec]) -> Vec<String> {
        let mut remarks = Vec::new();
        for kind in trials.iter().filter_map(|trial| Some(Config::of(trial).ok()?.kind)) {
            let remark = format!("{}: {}", kind.name(), kind.how());
            if !remarks.contains(&remark) {
                remarks.push(remark);
            }
        }
        remarks
    }

    fn cpus(&self, spec: &TrialSpec) -> Vec<CpuId> {
        let mask = spec.parameters.text("mask").and_then(|list| CpuSet::from_list(list).ok());
        let others = mask.iter().flat_map(CpuSet::iter).filter(|cpu| !spec.placement.contains(cpu));
        spec.placement.iter().copied().chain(others).collect()
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }
}
