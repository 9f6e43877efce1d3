//! What was predicted of placements against what work did on them.

use super::super::{Ci, ci, known};
use super::bounds;
use crate::advice::ProofView;
use coretalk_model::advise::Against;
use schemars::JsonSchema;
use serde::Serialize;

/// The proof of an advice; its runs stand in `comparisons`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProofDoc {
    /// The work that ran; null where none did.
    workload: Option<&'static str>,
    /// Why nothing ran; null otherwise.
    reason: Option<String>,
    /// Runs that each placement has at least.
    runs: usize,
    /// The advised placement against each other one.
    against: Vec<AgainstDoc>,
}

/// The advised placement against another one.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgainstDoc {
    /// What the other placement is called: `system-order`, `compact`, `spread`, and several of them where they are one.
    names: Vec<&'static str>,
    /// Its CPU of each thread.
    cpus: Vec<u32>,
    /// How many times as fast the work was expected to run on the advised placement.
    predicted: Option<f64>,
    /// Between what that lies while every cell lies in its interval.
    predicted_bounds: Option<[f64; 2]>,
    /// How many times as fast it ran; null where too few runs were made.
    measured: Option<f64>,
    ci: Option<Ci>,
    /// Of the test that there is no difference, corrected for all placements.
    p_value: Option<f64>,
    /// `as-predicted`, `less`, `more`, `absent`, `contradicted` or `cannot-tell`.
    verdict: &'static str,
}

impl ProofDoc {
    /// What became of a proof.
    pub fn of(view: &ProofView) -> ProofDoc {
        match view {
            ProofView::NotRun(reason) => {
                ProofDoc { workload: None, reason: Some(reason.clone()), runs: 0, against: Vec::new() }
            }
            ProofView::Ran { proof, .. } => ProofDoc {
                workload: Some(proof.work.name()),
                reason: None,
                runs: view.runs(),
                against: proof.held.iter().map(AgainstDoc::of).collect(),
            },
        }
    }
}

impl AgainstDoc {
    fn of(against: &Against) -> AgainstDoc {
        AgainstDoc {
            names: against.arm.names.clone(),
            cpus: against.arm.cpus.iter().map(|cpu| cpu.0).collect(),
            predicted: known(against.arm.predicted.point),
            predicted_bounds: bounds(&against.arm.predicted, 1.0),
            measured: against.measured.and_then(|measured| known(measured.point)),
            ci: against.measured.as_ref().and_then(ci),
            p_value: against.p_value,
            verdict: against.verdict.name(),
        }
    }
}
