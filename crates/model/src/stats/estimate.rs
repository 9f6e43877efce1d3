//! [`Estimate`]: a number with its uncertainty.

use super::elementary::exp;
use super::location::median;

/// A point with its interval. `point`, `low` and `high` have the unit of the caller.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Estimate {
    /// The best single value.
    pub point: f64,
    /// Lower end of the interval, inclusive.
    pub low: f64,
    /// Upper end of the interval, inclusive.
    pub high: f64,
    /// Probability, 0 to 1, with which intervals of this method contain the truth.
    pub confidence: f64,
    /// Effective number of independent samples; never more than the number of samples.
    pub effective_n: f64,
}

/// An interval with at least this relative reach is not stated, because it only shows that nothing is known.
pub const WIDEST_STATED: f64 = 9.995;

impl Estimate {
    /// Half the width of the interval, in the unit of the point. Precision refers to the [reach](Estimate::reach).
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Medians of the points, of the lower ends and of the upper ends, with the lowest confidence; `None` if empty.
    pub fn typical(estimates: &[Estimate]) -> Option<Estimate> {
        let all = |end: fn(&Estimate) -> f64| estimates.iter().map(end).collect::<Vec<f64>>();
        let least = |values: Vec<f64>| values.into_iter().fold(f64::INFINITY, f64::min);
        Some(Estimate {
            point: median(&all(|it| it.point))?,
            low: median(&all(|it| it.low))?,
            high: median(&all(|it| it.high))?,
            confidence: least(all(|it| it.confidence)),
            effective_n: least(all(|it| it.effective_n)),
        })
    }

    /// Whether the interval contains the truth in 95 % of cases, unlike the range of a few passes.
    pub fn is_sure(&self) -> bool {
        self.confidence >= 0.95 - 1e-9
    }

    /// The longer side of the interval, in the unit of the point, so that "±" is true on both sides.
    pub fn reach(&self) -> f64 {
        (self.high - self.point).max(self.point - self.low)
    }

    /// The longer side of the interval as a share of the point: the number after "±". Infinite for a point of zero.
    ///
    /// ```
    /// # use coretalk_model::stats::Estimate;
    /// let hop_ns = Estimate { point: 40.0, low: 39.2, high: 40.4, confidence: 0.95, effective_n: 24.0 };
    /// assert!((hop_ns.relative_reach() - 0.02).abs() < 1e-12);
    /// ```
    pub fn relative_reach(&self) -> f64 {
        if self.point == 0.0 { f64::INFINITY } else { self.reach() / self.point.abs() }
    }

    /// The relative reach of the interval around a stated number. That number may differ from the point: it may be the
    /// median of all events, where the point is the median of passes. `None` for the range of a few passes, or a reach
    /// of ten times the number.
    pub fn stated_reach(&self, stated: f64) -> Option<f64> {
        let reach = Estimate { point: stated, ..*self }.relative_reach();
        Some(reach).filter(|reach| self.is_sure() && *reach < WIDEST_STATED)
    }

    /// Whether the two intervals share a value. Overlap does not prove equality: see `compare`.
    pub fn overlaps(&self, other: &Estimate) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    /// Whether the value is in the interval.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// The same estimate in another unit. A negative factor swaps the ends.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Estimate {
        let (a, b) = (self.low * factor, self.high * factor);
        Estimate { point: self.point * factor, low: a.min(b), high: a.max(b), ..*self }
    }

    /// The same estimate with an interval that extends at least `relative` of the point to both sides.
    #[must_use]
    pub fn widened_to(&self, relative: f64) -> Estimate {
        self.widened_by(self.point.abs() * relative)
    }

    /// The same estimate with an interval that extends at least `reach` to both sides, in the unit of the point.
    #[must_use]
    pub fn widened_by(&self, reach: f64) -> Estimate {
        Estimate { low: self.low.min(self.point - reach), high: self.high.max(self.point + reach), ..*self }
    }

    /// The quotient of two independent positive estimates, with the lower confidence of both.
    #[must_use]
    pub fn over(&self, other: &Estimate) -> Estimate {
        Estimate {
            point: self.point / other.point,
            low: self.low / other.high,
            high: self.high / other.low,
            confidence: self.confidence.min(other.confidence),
            effective_n: self.effective_n.min(other.effective_n),
        }
    }

    /// Extends a positive estimate to its value without a factor, given the interval of ln(factor).
    #[must_use]
    pub fn over_factor(&self, log_factor: &Estimate) -> Estimate {
        let [least, most] = [log_factor.high, log_factor.low].map(|log| 1.0 / exp(log));
        let (low, high) = (self.low * least, self.high * most);
        Estimate { low: low.min(self.point), high: high.max(self.point), ..*self }
    }

    /// The same estimate with its interval limited to the possible range of its quantity.
    #[must_use]
    pub fn within(&self, [least, most]: [f64; 2]) -> Estimate {
        Estimate { low: self.low.max(least), high: self.high.min(most), ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOP: Estimate = Estimate { point: 40.0, low: 38.0, high: 41.0, confidence: 0.95, effective_n: 8.0 };

    #[test]
    fn the_ends_belong_to_the_interval() {
        for (value, inside) in [(38.0, true), (41.0, true), (37.99, false), (41.01, false), (f64::NAN, false)]
        {
            assert_eq!(HOP.contains(value), inside, "{value}");
        }
    }

    #[test]
    fn intervals_that_touch_overlap() {
        let touching = Estimate { low: 41.0, high: 45.0, ..HOP };
        let apart = Estimate { low: 41.5, high: 45.0, ..HOP };
        assert!(HOP.overlaps(&touching) && touching.overlaps(&HOP));
        assert!(!HOP.overlaps(&apart) && !apart.overlaps(&HOP));
    }

    #[test]
    fn scaling_keeps_the_relative_width_and_the_order_of_the_ends() {
        for factor in [2.5, 1e-3, -1.0] {
            let scaled = HOP.scaled(factor);
            assert!((scaled.relative_reach() - HOP.relative_reach()).abs() < 1e-12);
            assert!(scaled.low <= scaled.point && scaled.point <= scaled.high);
        }
        assert_eq!(HOP.scaled(0.0).relative_reach(), f64::INFINITY);
    }

    #[test]
    fn a_width_without_bounds_is_unknown() {
        assert_eq!(HOP.stated_reach(40.0), Some(0.05));
        assert_eq!(HOP.stated_reach(50.0), Some(0.24), "the number stated lies outside");
        let torn = Estimate { point: 3_800.0, low: 10.0, high: 4_100.0, ..HOP };
        assert_eq!(torn.stated_reach(10.0), None);
        assert_eq!(Estimate { point: 0.0, ..HOP }.stated_reach(0.0), None);
        assert_eq!(Estimate { confidence: 0.5, ..HOP }.stated_reach(40.0), None, "a range of few passes");
    }

    #[test]
    fn widening_never_narrows() {
        let wide = HOP.widened_to(0.04);
        assert_eq!((wide.low, wide.high), (38.0, 41.6));
        assert_eq!(HOP.widened_to(0.0), HOP);
    }
}
