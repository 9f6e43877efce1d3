//! Whether two CPUs share the units that execute, as the threads of one core do: what work of one takes from work of
//! the other. No probe that anybody asks for: a latency run tests the pairs that its map shows to be nearest.

#[cfg(all(target_os = "linux", not(miri)))]
mod perform;

use crate::pricing::Pricing;
use crate::series::{Probe, ProbeSpec, RequestError, SeriesProbe, SeriesRequest, TrialOrder};
#[cfg(all(target_os = "linux", not(miri)))]
use crate::trial_context::TrialContext;
use coretalk_model::CpuId;
use coretalk_model::TrialFailure;
use coretalk_model::latency::execution::{ExecutionPass, Unit};
use coretalk_model::quantity::{Better, Parameter, Quantity};
use coretalk_model::series::{Observed, Parameters, TrialSpec};

/// Whether two CPUs share the units that execute.
#[derive(Debug, Clone, Copy)]
pub struct Execution;

const SPEC: ProbeSpec = ProbeSpec {
    id: "execution",
    title: "Shared execution",
    question: "do two CPUs share execution units, as SMT siblings do?",
    unit: "ratio",
    quantity: "kept",
};

const QUANTITIES: &[Quantity] = &[
    kept("multiplier_kept_0", "multiplier kept 0"),
    kept("multiplier_kept_1", "multiplier kept 1"),
    kept("divider_kept_0", "divider kept 0"),
    kept("divider_kept_1", "divider kept 1"),
];

const fn kept(id: &'static str, title: &'static str) -> Quantity {
    Quantity::value(id, title, coretalk_model::quantity::Unit::Ratio).better(Better::Higher)
}

/// What says how much of its rate a role keeps on a unit.
fn name(unit: Unit, role: usize) -> String {
    format!("{}_kept_{role}", unit.name())
}

/// The trial that tests a pair.
pub fn trial(pair: [CpuId; 2]) -> TrialSpec {
    TrialSpec { probe: SPEC.id.to_owned(), parameters: Parameters::default(), placement: pair.to_vec() }
}

/// What a pass said; `None` where a rate is missing.
pub fn pass_of(observed: &Observed) -> Option<ExecutionPass> {
    let mut kept = [[0.0; 2]; Unit::ALL.len()];
    for unit in Unit::ALL {
        for (role, kept) in kept[unit as usize].iter_mut().enumerate() {
            // Thousandths: finer than any two passes agree, and a decision stays short.
            *kept = (observed.numbers.values.get(&name(unit, role))? * 1e3).round() / 1e3;
        }
    }
    Some(ExecutionPass { kept })
}

impl Probe for Execution {
    fn spec(&self) -> &ProbeSpec {
        &SPEC
    }

    fn series(&self) -> Option<&dyn SeriesProbe> {
        Some(self)
    }
}

impl SeriesProbe for Execution {
    fn trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        Ok(request.pairs.iter().copied().map(trial).collect())
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn perform(&self, context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
        perform::perform(context, order)
    }

    /// Threads of one core keep what the scenario says of busy siblings at their worst, since both work all the time.
    fn simulate(
        &self,
        stage: &mut dyn Pricing<'_>,
        order: &TrialOrder<'_>,
    ) -> Result<Observed, TrialFailure> {
        let [_, worst] = stage.sibling_factor();
        let slowdown = if stage.shares_core() { worst } else { 1.0 };
        let mut observed = Observed::default();
        for unit in Unit::ALL {
            for role in 0..2 {
                let [alone, both] = [stage.batch(1.0), stage.batch(slowdown)];
                observed.value(&name(unit, role), alone / both);
            }
        }
        stage.pass(order.span.ns());
        for role in 0..2 {
            stage.spend(role, order.span.ns() * 2.0 / 3.0, 0);
        }
        Ok(observed)
    }

    fn quantities(&self) -> &'static [Quantity] {
        QUANTITIES
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[]
    }
}
