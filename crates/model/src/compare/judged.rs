//! [`Judged`]: numbers before the correction for many tests, and the verdict after it.

use super::effect::{Margin, Outcome};
use super::{Difference, Possible, Verdict};
use crate::quantity::Better;
use crate::stats::Estimate;

/// Neither does the spread between pairs tell, nor do they carry intervals.
const NO_ERROR_KNOWN: &str = "too few pairs, and none has an interval";
/// The machine changed its state in most pairs.
const MOVED: &str = "the machine changed state during a run";
/// A guest's CPUs may be moved by the host.
const FLOATS: &str = "the host may have moved the guest's CPUs";
/// Steps of a clock, or of what was printed, hide what counts.
const COARSE: &str = "the resolution of the numbers is too coarse";
/// What needs no interval.
const IDENTICAL: &str = "identical numbers";

/// Plateaus lie at least 15 % apart: what moves a guest's level by more may be the host moving its CPUs.
const PLATEAU: f64 = 0.14;

/// What is known of a level or a cell: medians as read, and the shift in the basis of the dataset.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    pub a: f64,
    pub b: f64,
    /// ln(B ÷ A).
    pub shift: f64,
    /// Its deviation, where anything is known of the error.
    pub deviation: Option<f64>,
    /// The least shift that counts.
    pub margin: Margin,
    /// Whether what speaks changed its state during a run.
    pub moved: bool,
    /// Whether a side is a guest.
    pub guest: bool,
    /// Whether both sides say the very same.
    pub identical: bool,
}

/// Numbers before the correction, and the verdict after it.
#[derive(Debug, Clone)]
pub(super) struct Judged {
    case: Case,
    /// `None` where nothing is known of the error.
    outcome: Option<Outcome>,
    reason: Option<&'static str>,
    q_value: f64,
    verdict: Verdict,
}

impl Judged {
    pub fn of(case: Case) -> Judged {
        let Case { shift, margin, .. } = case;
        let margin = margin.least;
        let outcome = case.deviation.map(|deviation| Outcome { shift, deviation, margin });
        let floats = case.guest && shift.abs() > PLATEAU;
        let reason = match () {
            () if case.identical => None,
            () if case.moved => Some(MOVED),
            () if outcome.is_none() => Some(NO_ERROR_KNOWN),
            () => floats.then_some(FLOATS),
        };
        Judged { case, outcome, reason, q_value: 1.0, verdict: Verdict::CannotTell }
    }

    pub fn p_value(&self) -> f64 {
        self.outcome.filter(|_| self.reason.is_none()).map_or(1.0, |outcome| outcome.p_value())
    }

    pub fn conclude(&mut self, adjusted: f64, error: f64, better: Better) {
        self.q_value = adjusted;
        self.verdict = match (&self.outcome, self.reason) {
            (Some(outcome), None) => outcome.verdict(adjusted, error, better),
            _ => Verdict::CannotTell,
        };
        match (self.verdict, self.case.identical) {
            (Verdict::Same, false) if self.case.margin.is_coarse => {
                (self.verdict, self.reason) = (Verdict::CannotTell, Some(COARSE));
            }
            (Verdict::Same, true) if !self.case.margin.is_coarse => {}
            (_, true) => (self.verdict, self.reason) = (Verdict::Same, Some(IDENTICAL)),
            _ => {}
        }
    }

    /// What has not been shown to be otherwise, by the one-sided tests that show equality.
    fn possible(&self, better: Better) -> Possible {
        let of = |below: bool, above: bool| match better {
            Better::Lower => Possible { faster: below, slower: above },
            Better::Higher => Possible { faster: above, slower: below },
        };
        match (self.verdict, &self.outcome, self.reason) {
            (Verdict::Faster, ..) => Possible { faster: true, slower: false },
            (Verdict::Slower, ..) => Possible { faster: false, slower: true },
            (Verdict::Same, ..) => Possible { faster: false, slower: false },
            (Verdict::CannotTell, Some(outcome), None) => of(outcome.may_be_below(), outcome.may_be_above()),
            (Verdict::CannotTell, ..) => of(true, true),
        }
    }

    pub fn difference(self, better: Better) -> Difference {
        let ratio = |log: f64| log.exp() - 1.0;
        let deviation = self.outcome.map_or(f64::INFINITY, |outcome| outcome.deviation);
        let shift = Estimate {
            point: ratio(self.case.shift),
            low: ratio(self.case.shift - 1.96 * deviation),
            high: ratio(self.case.shift + 1.96 * deviation),
            confidence: if self.outcome.is_some() { 0.95 } else { 0.0 },
            effective_n: 1.0,
        };
        Difference {
            a: self.case.a,
            b: self.case.b,
            shift,
            q_value: self.q_value,
            verdict: self.verdict,
            within: self.outcome.map(|outcome| ratio(outcome.within())),
            least: ratio(self.case.margin.least),
            reason: self.reason,
            possible: self.possible(better),
        }
    }
}
