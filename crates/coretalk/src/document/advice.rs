//! Where threads should run, what that is expected to cost, and how to say it to others.

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
    /// Who talks to whom; null for a graph from a file.
    pattern: Option<&'static str>,
    /// Pairs of threads that talk.
    talking_pairs: usize,
    /// `measurement`, `run` or `file`.
    from: &'static str,
    /// The CPUs that could be chosen.
    candidates: String,
    /// `latency`: some usual placement is shown to cost more; `structure`: nobody talks, threads are spread; `none`:
    /// nothing is recommended.
    ground: &'static str,
    /// Why nothing is recommended; null otherwise.
    reason: Option<String>,
    /// The CPU of each thread; null where nothing is recommended.
    cpus: Option<Vec<u32>>,
    unit: &'static str,
    /// Latency of a message by weight, half a round trip, under the best placement found; null where nobody talks.
    mean: Option<f64>,
    /// Between what it lies while every cell lies in its interval.
    bounds: Option<[f64; 2]>,
    /// Of the slowest pair that talks.
    worst: Option<f64>,
    /// Whether every placement was looked at.
    optimal: bool,
    /// No placement is better by more than this while every cell lies in its interval.
    at_most_better_percent: Option<f64>,
    baselines: Vec<BaselineDoc>,
    /// Doubts and conditions in words.
    remarks: Vec<String>,
    /// The placement in the words of those who can carry it out; empty where nothing is recommended.
    snippets: Vec<SnippetDoc>,
    /// What work did on it; null where that was not asked for.
    proof: Option<ProofDoc>,
}

/// What somebody would get without measuring.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BaselineDoc {
    /// `system-order`, `compact`, `spread` or `anywhere`.
    name: &'static str,
    /// The CPU of each thread; null for the mean over all placements.
    cpus: Option<Vec<u32>>,
    mean: Option<f64>,
    bounds: Option<[f64; 2]>,
    /// How much more it costs than the best placement found.
    excess_percent: Option<f64>,
    excess_bounds_percent: Option<[f64; 2]>,
    /// Whether it is shown to cost more, wherever in their intervals the cells lie.
    worse: bool,
}

/// A placement in somebody's words.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SnippetDoc {
    /// `taskset`, `systemd`, `container`, `openmp`, `gomp`, `slurm` or `libvirt`.
    name: &'static str,
    /// Whether each thread gets its own CPU; else all move among the CPUs.
    each_thread: bool,
    text: String,
}

impl AdviceDoc {
    /// What was found.
    pub fn of(view: &AdviceView) -> AdviceDoc {
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
            baselines: advice.iter().flat_map(|advice| &advice.baselines).map(BaselineDoc::of).collect(),
            remarks: view.remark_texts(),
            snippets: view.snippets().into_iter().map(SnippetDoc::of).collect(),
            proof: view.proof.as_ref().map(ProofDoc::of),
        }
    }
}

impl BaselineDoc {
    fn of(baseline: &Baseline) -> BaselineDoc {
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
    fn of(snippet: Snippet) -> SnippetDoc {
        SnippetDoc { name: snippet.name, each_thread: snippet.each, text: snippet.text }
    }
}

fn bounds(bracket: &Bracket, scale: f64) -> Option<[f64; 2]> {
    Some([known(scale * bracket.low)?, known(scale * bracket.high)?])
}

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
            ProofView::NotRun(_) => {
                ProofDoc { workload: None, reason: view.reason_text(), runs: 0, against: Vec::new() }
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
