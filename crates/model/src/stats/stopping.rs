//! Stopping rule of a cell: analyses at fixed numbers of passes, each with its share of the error.
//!
//! If a cell stops as soon as its interval is narrow, intervals cover the true value in 82 % instead of 95 % (measured
//! on one pair, 74 runs). Therefore the analyses are few and fixed beforehand, and each spends part of the 5 %.

use super::normal;
use std::f64::consts::PI;

/// Numbers of passes for analyses: 8 for every cell, 24 for wide cells. Larger budgets continue by doubling.
pub const ANALYSES: [usize; 2] = [8, 24];

/// Minimum number of passes for a 95 % interval of the median. The range of five contains it in 94 %.
pub const MIN_PASSES: usize = 6;

/// Upper bound of the number of analyses, beyond any budget. The last is at a million and a half passes.
pub const MAX_ANALYSES: u32 = 18;

/// An analysis of the passes so far, which determines the error that the interval may spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Analysis(u32);

impl Analysis {
    /// The analysis after [`ANALYSES`]`[0]` passes, or fewer if the budget ended before.
    pub const FIRST: Analysis = Analysis(0);
    /// The analysis after [`ANALYSES`]`[1]` passes, or fewer if the budget ended before.
    pub const SECOND: Analysis = Analysis(1);

    /// The analysis to which a number of passes belongs, out of at most `most`.
    ///
    /// ```
    /// # use coretalk_model::stats::Analysis;
    /// let [first, second] = [Analysis::FIRST, Analysis::SECOND];
    /// assert_eq!([8, 24, 120].map(|passes| Analysis::at(passes, 2)), [first, second, second]);
    /// assert_eq!(Analysis::at(120, 9).passes(), 192);
    /// ```
    pub fn at(passes: usize, most: u32) -> Analysis {
        let all = (0..most.clamp(1, MAX_ANALYSES)).map(Analysis);
        let last = Analysis(most.clamp(1, MAX_ANALYSES) - 1);
        all.into_iter().find(|analysis| analysis.passes() >= passes).unwrap_or(last)
    }

    /// Number of passes at this analysis.
    pub fn passes(self) -> usize {
        match self.0 {
            0 => ANALYSES[0],
            later => ANALYSES[1] << (later - 1),
        }
    }

    /// Whether a cell with this number of passes is analysed.
    pub fn is_due(passes: usize, most: u32) -> bool {
        Analysis::at(passes, most).passes() == passes
    }

    /// The error that this analysis may spend out of 5 %.
    pub fn alpha(self) -> f64 {
        spent_alpha(self.0 + 1)
    }

    /// Standard deviation of passes whose median is known to ± `width`: √(π/2) times that of the mean of normal values.
    pub fn scale_of(self, width: f64) -> f64 {
        let z = normal::quantile(1.0 - self.alpha() / 2.0);
        width * (self.passes() as f64).sqrt() / (z * (PI / 2.0).sqrt())
    }
}

/// Share of a total error of 5 % that analysis `k` = 1, 2, … may spend: 6·0.05/(π²k²), which sums to 0.05 (after the
/// α-spending of Lan and DeMets 1983; the series is Euler's). Analysis 0 spends nothing.
///
/// ```
/// # use coretalk_model::stats::spent_alpha;
/// assert!((spent_alpha(1) - 0.0304).abs() < 1e-4 && (spent_alpha(2) - 0.0076).abs() < 1e-4);
/// ```
pub fn spent_alpha(k: u32) -> f64 {
    if k == 0 { 0.0 } else { 6.0 * 0.05 / (PI * PI * f64::from(k) * f64::from(k)) }
}

/// The analysis, out of `most`, at which passes with relative deviation `scale` should reach a precision of ±
/// `requested`.
///
/// ```
/// # use coretalk_model::stats::{Analysis, expected_analysis};
/// // From ± 4 % after 24 passes to ± 2 % takes a little more than four times as many passes.
/// let scale = Analysis::SECOND.scale_of(0.04);
/// assert_eq!(expected_analysis(scale, 0.02, 9).passes(), 192);
/// assert_eq!(expected_analysis(scale, 0.02, 2).passes(), 24);
/// ```
pub fn expected_analysis(scale: f64, requested: f64, most: u32) -> Analysis {
    let last = Analysis::at(usize::MAX, most);
    let mut all = (0..last.0).map(Analysis);
    all.find(|analysis| scale / analysis.scale_of(1.0) <= requested).unwrap_or(last)
}

/// The next step for a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Finished, at an analysis, with the requested precision.
    Enough,
    /// Continue with passes up to the next analysis.
    More,
    /// Finished after the last analysis, but too wide. The cell must be flagged.
    Budget,
}

/// Decides after `passes` passes with an interval of this relative half width (0.02 is ± 2 %) and at most `most`
/// analyses. Between analyses the result is always [`Decision::More`], however narrow the interval is.
pub fn decide(passes: usize, relative_half_width: f64, requested: f64, most: u32) -> Decision {
    // An interval widened to a floor of the requested precision has that width up to rounding.
    let narrow = relative_half_width <= requested * (1.0 + 1e-9);
    let is_last = passes >= Analysis(most.clamp(1, MAX_ANALYSES) - 1).passes();
    match () {
        () if narrow && (is_last || Analysis::is_due(passes, most)) => Decision::Enough,
        () if is_last => Decision::Budget,
        () => Decision::More,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_analyses_together_spend_five_percent_and_no_more() {
        let spent: f64 = (0..100_000).map(spent_alpha).sum();
        assert!(spent < 0.05 && spent > 0.0499, "{spent}");
        assert!((spent_alpha(3) - 0.0034).abs() < 5e-5);
        let alphas = [8, 24, 25, 48, 49].map(|passes| Analysis::at(passes, MAX_ANALYSES).alpha());
        assert_eq!(alphas, [1, 2, 3, 3, 4].map(spent_alpha));
        // More passes than the last analysis requires spend the error of that analysis.
        assert_eq!(Analysis::at(120, 2).alpha(), spent_alpha(2));
    }

    #[test]
    fn a_narrow_interval_ends_a_cell_only_at_an_analysis() {
        for (passes, width, expected) in [
            (4, 0.001, Decision::More),
            (8, 0.02, Decision::Enough),
            (8, 0.0201, Decision::More),
            (9, 0.001, Decision::More),
            (23, 0.001, Decision::More),
            (24, 0.02, Decision::Enough),
            (24, 0.03, Decision::Budget),
            (24, f64::NAN, Decision::Budget),
            (30, 0.02, Decision::Enough),
        ] {
            assert_eq!(decide(passes, width, 0.02, 2), expected, "{passes} passes, {width}");
        }
        for (passes, width, expected) in [
            (24, 0.03, Decision::More),
            (24, 0.02, Decision::Enough),
            (30, 0.02, Decision::More),
            (48, 0.02, Decision::Enough),
            (96, 0.03, Decision::More),
        ] {
            assert_eq!(decide(passes, width, 0.02, MAX_ANALYSES), expected, "{passes} passes, {width}");
        }
    }
}
