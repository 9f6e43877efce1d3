//! [`AdviceView`]: where threads should run, for screens and documents.

use crate::PlaceReport;
use crate::blocks::value::Sentence;
use crate::report::fmt;
use crate::snippets::{Snippet, snippets};
use coretalk_model::advise::{Advice, Ground, Pattern, Proof};
use coretalk_model::{CpuSet, Departure};

/// Where the latencies come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Measured just now.
    Measurement,
    /// A saved run, by its short name.
    Run(String),
    /// A file and its format.
    File(String, String),
}

/// An advice with its conditions.
#[derive(Debug, Clone)]
pub struct AdviceView {
    /// Where the latencies come from.
    pub origin: Origin,
    /// The scenario of a simulated machine.
    pub simulated: Option<String>,
    /// `ns` or `cycles`.
    pub unit: &'static str,
    /// How many threads there are.
    pub threads: usize,
    /// Which threads talk; `None` for a graph from a file.
    pub pattern: Option<Pattern>,
    /// Pairs of threads that talk.
    pub talking: usize,
    /// The CPUs that could be chosen.
    pub candidates: CpuSet,
    /// How many CPUs the source knows.
    pub known: usize,
    /// The placement, or why there is none.
    pub outcome: Result<Advice, Sentence>,
    /// CPUs that went away while it was measured: no candidates.
    pub departed: Vec<Departure>,
    /// Doubts and conditions, whole sentences.
    pub remarks: Vec<Sentence>,
    /// What work did on it, where that was asked for.
    pub proof: Option<ProofView>,
}

impl AdviceView {
    /// The placement, where there is ground to recommend it.
    pub fn recommended(&self) -> Option<&Advice> {
        self.outcome.as_ref().ok().filter(|advice| advice.ground != Ground::Nothing)
    }

    /// Why nothing is recommended; `None` where something is.
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

    /// [`AdviceView::reason`] as a document has it.
    pub fn reason_text(&self) -> Option<String> {
        self.reason().as_ref().map(fmt::sentence)
    }

    /// The remarks as a document has them.
    pub fn remark_texts(&self) -> Vec<String> {
        self.remarks.iter().map(fmt::sentence).collect()
    }

    /// The runs of a proof.
    pub fn comparisons(&self) -> impl Iterator<Item = &PlaceReport> {
        self.proof.iter().filter_map(|proof| match proof {
            ProofView::Ran { place, .. } => Some(&**place),
            ProofView::NotRun(_) => None,
        })
    }

    /// What can be typed: nothing without a ground, and nothing that only says "all CPUs".
    pub fn snippets(&self) -> Vec<Snippet> {
        let all = self.recommended().map(|advice| snippets(&advice.cpus)).unwrap_or_default();
        all.into_iter().filter(|snippet| snippet.each || self.threads < self.known).collect()
    }
}

/// What became of a proof that was asked for.
#[derive(Debug, Clone)]
pub enum ProofView {
    /// Nothing ran; why, without a full stop.
    NotRun(Sentence),
    /// The work ran.
    Ran {
        /// What was predicted against what came out.
        proof: Proof,
        /// The runs.
        place: Box<PlaceReport>,
    },
}

impl ProofView {
    /// Why nothing ran, as a document has it; `None` where the work ran.
    pub fn reason_text(&self) -> Option<String> {
        match self {
            ProofView::NotRun(reason) => Some(fmt::sentence(reason)),
            ProofView::Ran { .. } => None,
        }
    }

    /// The fewest runs that a placement has; 0 where nothing ran.
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
