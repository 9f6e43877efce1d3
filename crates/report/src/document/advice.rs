//! Recommended placements: expected cost, proof, and snippets for other tools.

use super::{Ci, ci, known};
use crate::advice::{AdviceView, Origin, ProofView};
use crate::snippets::Snippet;
use coretalk_model::advise::{Advice, Against, Baseline, Bracket, Ground, Pattern};
use schemars::JsonSchema;
use serde::Serialize;

/// A recommended placement, or why there is none.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AdviceDoc {
    threads: usize,
    /// Communication pattern; null for a graph from a file.
    pattern: Option<&'static str>,
    /// Number of pairs of threads that communicate.
    talking_pairs: usize,
    /// Source of the latencies: `measurement`, `run` or `file`.
    from: &'static str,
    /// CPUs that could be chosen, as a CPU list.
    candidates: String,
    /// Basis of the recommendation. `latency`: some usual placement is shown to cost more; `structure`: threads do not
    /// communicate and are spread; `none`: no recommendation.
    ground: &'static str,
    /// Why there is no recommendation; null otherwise.
    reason: Option<String>,
    /// CPU of each thread; null without a recommendation.
    cpus: Option<Vec<u32>>,
    unit: &'static str,
    /// Weighted mean latency of a message (half a round trip) under the best placement; null without communication.
    mean: Option<f64>,
    /// Bounds of `mean` while every cell is within its interval.
    bounds: Option<[f64; 2]>,
    /// Latency of the slowest communicating pair; null without communication.
    worst: Option<f64>,
    /// Whether every placement was examined.
    optimal: bool,
    /// Bound on the gain by any placement in percent, for cells within their intervals; null if unknown or too wide.
    at_most_better_percent: Option<f64>,
    /// Usual placements for comparison.
    baselines: Vec<BaselineDoc>,
    /// Doubts and conditions, as sentences.
    remarks: Vec<String>,
    /// The placement as settings of other tools; empty without a recommendation.
    snippets: Vec<SnippetDoc>,
    /// Result of the proof; null if not requested.
    proof: Option<ProofDoc>,
}

/// A usual placement made without measuring.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BaselineDoc {
    /// `system-order`, `compact`, `spread` or `anywhere`.
    name: &'static str,
    /// CPU of each thread; null for the mean over all placements.
    cpus: Option<Vec<u32>>,
    /// Weighted mean latency; null without communication.
    mean: Option<f64>,
    /// Bounds of `mean` while every cell is within its interval.
    bounds: Option<[f64; 2]>,
    /// Excess cost over the best placement found, in percent.
    excess_percent: Option<f64>,
    /// Bounds of `excess_percent` while every cell is within its interval.
    excess_bounds_percent: Option<[f64; 2]>,
    /// Whether it is shown to cost more, for all values of the cells within their intervals.
    worse: bool,
}

/// A placement as settings of another tool.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SnippetDoc {
    /// `taskset`, `systemd`, `container`, `openmp`, `gomp`, `slurm` or `libvirt`.
    name: &'static str,
    /// Whether each thread has its own CPU; otherwise all threads move among the CPUs.
    each_thread: bool,
    text: String,
}

impl AdviceDoc {
    /// Converts the view of an advice.
    pub fn new(view: &AdviceView) -> AdviceDoc {
        let advice = view.outcome.as_ref().ok();
        let ids = |advice: &Advice| advice.cpus.iter().map(|cpu| cpu.0).collect();
        let recommended = view.recommended();
        AdviceDoc {
            threads: view.threads,
            pattern: view.pattern.map(Pattern::name),
            talking_pairs: view.talking,
            from: match view.origin {
                Origin::Measurement => "measurement",
                Origin::Run(_) => "run",
                Origin::File(..) => "file",
            },
            candidates: view.candidates.to_string(),
            ground: advice.map_or(Ground::Nothing, |advice| advice.ground).name(),
            reason: view.reason_text(),
            cpus: recommended.map(ids),
            unit: view.unit,
            mean: advice.and_then(|advice| known(advice.mean?.point)),
            bounds: advice.and_then(|advice| bounds(&advice.mean?, 1.0)),
            worst: advice.and_then(|advice| known(advice.worst?)),
            optimal: advice.is_some_and(|advice| advice.optimal),
            at_most_better_percent: advice.and_then(|advice| known(100.0 * advice.slack?)),
            baselines: advice.iter().flat_map(|advice| &advice.baselines).map(BaselineDoc::new).collect(),
            remarks: view.remark_texts(),
            snippets: view.snippets().into_iter().map(SnippetDoc::new).collect(),
            proof: view.proof.as_ref().map(ProofDoc::new),
        }
    }
}

impl BaselineDoc {
    fn new(baseline: &Baseline) -> BaselineDoc {
        let ids: Vec<u32> = baseline.cpus.iter().map(|cpu| cpu.0).collect();
        BaselineDoc {
            name: baseline.name,
            cpus: (!ids.is_empty()).then_some(ids),
            mean: baseline.mean.and_then(|mean| known(mean.point)),
            bounds: baseline.mean.and_then(|mean| bounds(&mean, 1.0)),
            excess_percent: baseline.excess.and_then(|excess| known(100.0 * excess.point)),
            excess_bounds_percent: baseline.excess.and_then(|excess| bounds(&excess, 100.0)),
            worse: baseline.is_worse(),
        }
    }
}

impl SnippetDoc {
    fn new(snippet: Snippet) -> SnippetDoc {
        SnippetDoc { name: snippet.name, each_thread: snippet.each, text: snippet.text }
    }
}

fn bounds(bracket: &Bracket, scale: f64) -> Option<[f64; 2]> {
    Some([known(scale * bracket.low)?, known(scale * bracket.high)?])
}

/// Check of an advice by experiment; its runs are in `comparisons`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProofDoc {
    /// The executed workload; null if none ran.
    workload: Option<&'static str>,
    /// Why no workload ran; null otherwise.
    reason: Option<String>,
    /// Minimum number of runs per placement.
    runs: usize,
    /// Comparisons of the advised placement with the others.
    against: Vec<AgainstDoc>,
}

/// Comparison of the advised placement with another one.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgainstDoc {
    /// Names of the other placement: `system-order`, `compact`, `spread`; several if they are identical.
    names: Vec<&'static str>,
    /// CPU of each thread under the other placement.
    cpus: Vec<u32>,
    /// Predicted speed on the advised placement relative to the other one.
    predicted: Option<f64>,
    /// Bounds of `predicted` while every cell is within its interval.
    predicted_bounds: Option<[f64; 2]>,
    /// Measured speed on the advised placement relative to the other one; null with too few runs.
    measured: Option<f64>,
    /// 95 % interval of `measured`.
    ci: Option<Ci>,
    /// P-value of "no difference", corrected for the number of placements.
    p_value: Option<f64>,
    /// Verdict on the prediction: `as-predicted`, `less`, `more`, `absent`, `contradicted` or `cannot-tell`.
    verdict: &'static str,
}

impl ProofDoc {
    /// Converts the view of a proof.
    pub fn new(view: &ProofView) -> ProofDoc {
        match view {
            ProofView::NotRun(_) => {
                ProofDoc { workload: None, reason: view.reason_text(), runs: 0, against: Vec::new() }
            }
            ProofView::Ran { proof, .. } => ProofDoc {
                workload: Some(proof.work.name()),
                reason: None,
                runs: view.runs(),
                against: proof.held.iter().map(AgainstDoc::new).collect(),
            },
        }
    }
}

impl AgainstDoc {
    fn new(against: &Against) -> AgainstDoc {
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
