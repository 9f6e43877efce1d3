//! [`Verdict`] and the rule behind it. [`Judged`]: a verdict before and after the correction for multiple tests.

use super::{Difference, Possible};
use crate::quantity::Better;
use crate::stats::{Estimate, normal};

named! {
    /// The outcome of a comparison.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Verdict {
        /// B is shown to be better than A.
        Faster = "faster",
        /// B is shown to be worse than A.
        Slower = "slower",
        /// The difference is shown to be smaller than the minimum effect.
        Same = "same",
        /// Neither a difference nor equality is shown.
        CannotTell = "cannot-tell",
    }
}

impl Verdict {
    /// Whether a difference is shown.
    pub fn is_different(self) -> bool {
        matches!(self, Verdict::Faster | Verdict::Slower)
    }
}

/// Minimum relevant relative effect (`--min-effect`): 0.03 is 3 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LeastEffect(pub f64);

impl LeastEffect {
    /// The default value.
    pub const DEFAULT: LeastEffect = LeastEffect(0.03);

    /// The largest of the requested share, the smallest visible difference and the smallest relevant difference.
    pub(super) fn margin(self, value: f64, resolution: f64, negligible: f64) -> Margin {
        let matters = (1.0 + self.0.max(negligible / value)).ln();
        let visible = (1.0 + resolution / value).ln();
        Margin { least: matters.max(visible), is_coarse: visible > TOO_COARSE * matters }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Margin {
    pub least: f64,
    /// Whether the resolution is so coarse that a shift within the margin does not show equality.
    pub is_coarse: bool,
}

/// Ratio of the smallest visible to the smallest relevant difference, above which equality cannot be shown.
const TOO_COARSE: f64 = 2.0;

/// The input of a verdict. All values are logarithms of B ÷ A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VerdictInput {
    /// The shift.
    pub shift: f64,
    /// Standard deviation of the shift.
    pub deviation: f64,
    /// Minimum relevant shift.
    pub margin: f64,
}

/// Two one-sided tests at 5 % (Schuirmann 1987).
pub(super) const EQUIVALENCE_Z: f64 = 1.644_853_626_951_472_7;

impl VerdictInput {
    /// A difference needs a small corrected p-value *and* a shift of at least the margin. Equality needs a 90 %
    /// interval of the shift inside the margin.
    pub(super) fn verdict(&self, adjusted_p: f64, level: f64, better: Better) -> Verdict {
        if adjusted_p <= level && self.shift.abs() >= self.margin {
            let lower = self.shift < 0.0;
            return if lower == (better == Better::Lower) { Verdict::Faster } else { Verdict::Slower };
        }
        if self.within() <= self.margin { Verdict::Same } else { Verdict::CannotTell }
    }

    /// The farther end of the 90 % interval, which bounds the difference.
    pub(super) fn within(&self) -> f64 {
        self.shift.abs() + EQUIVALENCE_Z * self.deviation
    }

    pub(super) fn may_be_below(&self) -> bool {
        self.shift - EQUIVALENCE_Z * self.deviation <= -self.margin
    }

    pub(super) fn may_be_above(&self) -> bool {
        self.shift + EQUIVALENCE_Z * self.deviation >= self.margin
    }

    pub(super) fn p_value(&self) -> f64 {
        if self.deviation > 0.0 {
            2.0 * normal::below(-self.shift.abs() / self.deviation)
        } else {
            f64::from(self.shift == 0.0)
        }
    }
}

const NO_ERROR_KNOWN: &str = "too few pairs, and none has an interval";
const MOVED: &str = "the machine changed state during a run";
const FLOATS: &str = "the host may have moved the guest's CPUs";
const COARSE: &str = "the resolution of the numbers is too coarse";
const WITH_ITS_LEVEL: &str = "it is not shown to differ from its level";
const IDENTICAL: &str = "identical numbers";

/// Plateaus are at least 15 % apart (ln 1.15 is 0.14). Larger shifts of a guest may come from a host that moves CPUs.
const PLATEAU: f64 = 0.14;

#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    pub a: f64,
    pub b: f64,
    /// ln(B ÷ A).
    pub shift: f64,
    /// Standard deviation of the shift; `None` if the error is unknown.
    pub deviation: Option<f64>,
    pub margin: Margin,
    pub moved: bool,
    pub guest: bool,
    pub identical: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Judged {
    case: Case,
    outcome: Option<VerdictInput>,
    reason: Option<&'static str>,
    q_value: f64,
    verdict: Verdict,
}

impl Judged {
    pub fn from_case(case: Case) -> Judged {
        let Case { shift, margin, .. } = case;
        let margin = margin.least;
        let outcome = case.deviation.map(|deviation| VerdictInput { shift, deviation, margin });
        let may_float = case.guest && shift.abs() > PLATEAU;
        let reason = match () {
            () if case.identical => None,
            () if case.moved => Some(MOVED),
            () if outcome.is_none() => Some(NO_ERROR_KNOWN),
            () => may_float.then_some(FLOATS),
        };
        Judged { case, outcome, reason, q_value: 1.0, verdict: Verdict::CannotTell }
    }

    pub fn p_value(&self) -> f64 {
        self.outcome.filter(|_| self.reason.is_none()).map_or(1.0, |outcome| outcome.p_value())
    }

    pub fn least(&self) -> f64 {
        self.case.margin.least
    }

    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    pub fn counts(&self) -> bool {
        self.outcome.as_ref().is_some_and(|outcome| outcome.shift.abs() >= outcome.margin)
    }

    /// Withdraws the difference of a pair that does not depart from its level, if the level has another verdict.
    pub fn defer_to(&mut self, level: Verdict) {
        if self.verdict.is_different() && self.verdict != level {
            (self.verdict, self.reason) = (Verdict::CannotTell, Some(WITH_ITS_LEVEL));
        }
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

    fn possible(&self, better: Better) -> Possible {
        let oriented = |below: bool, above: bool| match better {
            Better::Lower => Possible { faster: below, slower: above },
            Better::Higher => Possible { faster: above, slower: below },
        };
        match (self.verdict, &self.outcome, self.reason) {
            (Verdict::Faster, ..) => Possible { faster: true, slower: false },
            (Verdict::Slower, ..) => Possible { faster: false, slower: true },
            (Verdict::Same, ..) => Possible { faster: false, slower: false },
            (Verdict::CannotTell, Some(outcome), None) => {
                oriented(outcome.may_be_below(), outcome.may_be_above())
            }
            (Verdict::CannotTell, ..) => oriented(true, true),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_needs_both_proof_and_size() {
        let outcome = |shift, deviation| VerdictInput { shift, deviation, margin: 0.03 };
        for (shift, deviation, better, expected) in [
            (0.05, 0.01, Better::Lower, Verdict::Slower),
            (0.05, 0.01, Better::Higher, Verdict::Faster),
            (-0.05, 0.01, Better::Lower, Verdict::Faster),
            (0.02, 0.001, Better::Lower, Verdict::Same),
            (0.05, 0.04, Better::Lower, Verdict::CannotTell),
            (0.0, 0.04, Better::Lower, Verdict::CannotTell),
            (0.01, 0.01, Better::Lower, Verdict::Same),
        ] {
            let outcome = outcome(shift, deviation);
            let verdict = outcome.verdict(outcome.p_value(), 0.001, better);
            assert_eq!(verdict, expected, "{shift} ± {deviation}");
        }
    }

    #[test]
    fn the_margin_is_the_largest_of_share_resolution_and_relevance() {
        let least = LeastEffect(0.03);
        for (value, resolution, expected, is_coarse) in [
            (100.0, 0.0, 1.03_f64, false),
            (6.0, 0.0, 1.05, false),
            (50.0, 2.5, 1.05, false),
            (50.0, 5.0, 1.1, true),
        ] {
            let margin = least.margin(value, resolution, 0.3);
            assert!((margin.least - expected.ln()).abs() < 1e-12, "{margin:?}");
            assert_eq!(margin.is_coarse, is_coarse, "{margin:?}");
        }
    }

    #[test]
    fn without_error_the_p_value_is_zero_or_one() {
        let exact = |shift| VerdictInput { shift, deviation: 0.0, margin: 0.03 }.p_value();
        assert_eq!((exact(0.0), exact(0.1)), (1.0, 0.0));
    }
}
