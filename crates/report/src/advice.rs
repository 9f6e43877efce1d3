//! [`AdviceView`]: a recommended placement of threads, for screens and documents.

use crate::blocks::value::Sentence;
use crate::fmt;
use crate::snippets::{Snippet, snippets};
use coretalk_model::advise::{Advice, Ground, Pattern, Proof};
use coretalk_model::run::PlaceReport;
use coretalk_model::{CpuLoss, CpuSet};

/// Source of the latencies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Measured for this advice.
    Measurement,
    /// A saved run with its short name.
    Run(String),
    /// A file with its format.
    File(String, String),
}

/// A recommended placement with its conditions.
#[derive(Debug, Clone)]
pub struct AdviceView {
    /// Source of the latencies.
    pub origin: Origin,
    /// Scenario of a simulated machine.
    pub simulated: Option<String>,
    /// `ns` or `cycles`.
    pub unit: &'static str,
    /// Number of threads.
    pub threads: usize,
    /// Communication pattern; `None` for a graph from a file.
    pub pattern: Option<Pattern>,
    /// Number of communicating pairs of threads.
    pub talking: usize,
    /// CPUs that could be chosen.
    pub candidates: CpuSet,
    /// Number of CPUs in the source.
    pub known: usize,
    /// The placement, or why there is none.
    pub outcome: Result<Advice, Sentence>,
    /// CPUs lost during the measurement; they are not candidates.
    pub departed: Vec<CpuLoss>,
    /// Doubts and conditions as whole sentences.
    pub remarks: Vec<Sentence>,
    /// Result of the proof, if requested.
    pub proof: Option<ProofView>,
}

impl AdviceView {
    /// Returns the placement if there is a reason to recommend it.
    pub fn recommended(&self) -> Option<&Advice> {
        self.outcome.as_ref().ok().filter(|advice| advice.ground != Ground::Nothing)
    }

    /// Returns why nothing is recommended; `None` if something is.
    pub fn reason(&self) -> Option<Sentence> {
        match &self.outcome {
            Err(reason) => Some(reason.clone()),
            Ok(advice) if advice.ground != Ground::Nothing => None,
            Ok(_) if self.talking == 0 => {
                Some("no threads talk, and it is unknown what the CPUs share".into())
            }
            Ok(_) if self.candidates.len() == self.threads && self.threads <= 2 => {
                Some("only one placement is possible".into())
            }
            Ok(_) => Some("no placement of these threads is shown to be better than another".into()),
        }
    }

    /// Formats [`AdviceView::reason`] for documents.
    pub fn reason_text(&self) -> Option<String> {
        self.reason().as_ref().map(fmt::sentence)
    }

    /// Formats the remarks for documents.
    pub fn remark_texts(&self) -> Vec<String> {
        self.remarks.iter().map(fmt::sentence).collect()
    }

    /// Returns the runs of the proof.
    pub fn comparisons(&self) -> impl Iterator<Item = &PlaceReport> {
        self.proof.iter().filter_map(|proof| match proof {
            ProofView::Ran { place, .. } => Some(&**place),
            ProofView::NotRun(_) => None,
        })
    }

    /// Returns the snippets to copy; empty without a recommendation. Snippets that only select all CPUs are left out.
    pub fn snippets(&self) -> Vec<Snippet> {
        let all = self.recommended().map(|advice| snippets(&advice.cpus)).unwrap_or_default();
        all.into_iter().filter(|snippet| snippet.each || self.threads < self.known).collect()
    }
}

/// Outcome of a requested proof.
#[derive(Debug, Clone)]
pub enum ProofView {
    /// Nothing ran. The sentence is the reason, without a full stop.
    NotRun(Sentence),
    /// The work ran.
    Ran {
        /// Predictions and results.
        proof: Proof,
        /// The runs.
        place: Box<PlaceReport>,
    },
}

impl ProofView {
    /// Formats the reason why nothing ran, for documents; `None` if the work ran.
    pub fn reason_text(&self) -> Option<String> {
        match self {
            ProofView::NotRun(reason) => Some(fmt::sentence(reason)),
            ProofView::Ran { .. } => None,
        }
    }

    /// Returns the smallest number of runs of any placement; 0 if nothing ran.
    pub fn runs(&self) -> usize {
        match self {
            ProofView::NotRun(_) => 0,
            ProofView::Ran { place, .. } => {
                let arms = place.result.comparisons.first().into_iter().flat_map(|headline| &headline.arms);
                arms.map(|arm| arm.runs.len()).min().unwrap_or(0)
            }
        }
    }
}
