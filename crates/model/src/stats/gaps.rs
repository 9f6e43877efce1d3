//! Grouping by value: sorted values are split where a wide gap separates neighbours.
//!
//! The groups use no knowledge of CPUs, and must be labelled "by value only". This is the first step of mctop
//! (Chatzopoulos, Guerraoui, Harris, Trigonakis 2017), with limits for both ratio and distance. 10 % alone would split
//! the noise of 5 ns values, and 5 ns alone the noise of 500 ns values.

use super::Estimate;
use super::location::median_of_sorted;

/// The rule that separates two groups: a gap larger than both limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GapRule {
    /// Limit as a share of the value below the gap.
    pub relative: f64,
    /// Limit in the unit of the values.
    pub absolute: f64,
}

impl GapRule {
    /// The rule for latencies in nanoseconds: 10 % and 5 ns.
    pub const LATENCY_NS: GapRule = GapRule { relative: 0.10, absolute: 5.0 };
}

/// Neighbouring values without a wide gap between them, in the unit of the values.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ValueGroup {
    /// Smallest value.
    pub min: f64,
    /// Median.
    pub median: f64,
    /// Largest value.
    pub max: f64,
    /// Number of values.
    pub count: usize,
}

/// Groups the values, ascending. Values that are not finite belong to no group.
///
/// ```
/// # use coretalk_model::stats::gaps::{value_groups, GapRule};
/// let groups = value_groups(&[24.0, 101.0, 22.5, 98.0, 23.0], GapRule::LATENCY_NS);
/// assert_eq!(groups.iter().map(|group| group.count).collect::<Vec<_>>(), [3, 2]);
/// ```
pub fn value_groups(values: &[f64], rule: GapRule) -> Vec<ValueGroup> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
        .chunk_by(|low, high| high - low <= rule.absolute.max(rule.relative * low.abs()))
        .filter_map(group)
        .collect()
}

/// The groups of points that their intervals confirm. At a gap, the interval of a sure value below ends before that of
/// a sure value above begins.
pub fn shown_groups(values: &[Estimate], rule: GapRule) -> Vec<ValueGroup> {
    let mut sorted: Vec<&Estimate> = values.iter().filter(|value| value.point.is_finite()).collect();
    sorted.sort_unstable_by(|a, b| a.point.total_cmp(&b.point));
    let is_confirmed = |low: &[&Estimate], high: &[&Estimate]| {
        let sure_ends = |values: &[&Estimate], end: fn(&Estimate) -> f64| -> Vec<f64> {
            values.iter().filter(|value| value.is_sure()).map(|value| end(value)).collect()
        };
        let ends = sure_ends(low, |value| value.high).into_iter().min_by(f64::total_cmp);
        let begins = sure_ends(high, |value| value.low).into_iter().max_by(f64::total_cmp);
        ends.zip(begins).is_some_and(|(ends, begins)| ends < begins)
    };
    let mut rest = &sorted[..];
    let mut parts: Vec<&[&Estimate]> = Vec::new();
    for points in value_groups(&sorted.iter().map(|value| value.point).collect::<Vec<f64>>(), rule) {
        let (part, after) = rest.split_at(points.count);
        rest = after;
        match parts.last_mut() {
            Some(last) if !is_confirmed(last, part) => {
                let begin = sorted.len() - after.len() - part.len() - last.len();
                *last = &sorted[begin..sorted.len() - after.len()];
            }
            _ => parts.push(part),
        }
    }
    let points = |part: &[&Estimate]| part.iter().map(|value| value.point).collect::<Vec<f64>>();
    parts.into_iter().filter_map(|part| group(&points(part))).collect()
}

fn group(sorted: &[f64]) -> Option<ValueGroup> {
    let (&min, &max) = (sorted.first()?, sorted.last()?);
    Some(ValueGroup { min, median: median_of_sorted(sorted)?, max, count: sorted.len() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::between;
    use proptest::prelude::*;

    fn counts(values: &[f64]) -> Vec<usize> {
        value_groups(values, GapRule::LATENCY_NS).iter().map(|group| group.count).collect()
    }

    #[test]
    fn a_gap_must_be_wide_in_both_ways() {
        for (values, expected) in [
            (&[6.0, 10.9][..], &[2][..]),            // 82 %, but under 5 ns
            (&[6.0, 11.5], &[1, 1]),                 // 5.5 ns
            (&[200.0, 219.0], &[2]),                 // 19 ns, but under 10 %
            (&[200.0, 221.0], &[1, 1]),              // both
            (&[50.0, 55.0], &[2]),                   // exactly the rule is not more than it
            (&[20.0, 24.0, 28.0, 32.0, 36.0], &[5]), // a slope is one group
            (&[], &[]),
            (&[f64::NAN, 7.0, f64::INFINITY], &[1]),
        ] {
            assert_eq!(counts(values), expected, "{values:?}");
        }
    }

    #[test]
    fn overlapping_or_unknown_intervals_show_no_gap() {
        let value = |point: f64, reach: f64| between(point, point - reach, point + reach);
        let unsure = |point: f64| Estimate { confidence: 0.5, ..value(point, 0.0) };
        let group = |min, median, max, count| ValueGroup { min, median, max, count };
        let [forty, sixty, both] =
            [group(40.0, 40.0, 40.0, 1), group(60.0, 60.0, 60.0, 1), group(40.0, 50.0, 60.0, 2)];
        let one_narrow_each = vec![value(40.0, 1.0), value(44.0, 30.0), value(62.0, 40.0), value(64.0, 1.0)];
        // A gap that is not shown joins its sides alone, and the next is judged by all of them.
        let joined = vec![
            value(10.0, 1.0),
            value(40.0, 1.0),
            unsure(60.0),
            unsure(90.0),
            value(120.0, 1.0),
            value(150.0, 40.0),
        ];
        for (values, expected) in [
            (vec![], vec![]),
            (vec![value(f64::NAN, 0.0), value(7.0, 1.0)], vec![group(7.0, 7.0, 7.0, 1)]),
            (vec![value(60.0, 1.0), value(40.0, 1.0)], vec![forty, sixty]),
            (vec![value(40.0, 12.0), value(60.0, 9.0)], vec![both]),
            // Intervals that touch show no gap.
            (vec![value(40.0, 10.0), value(60.0, 10.0)], vec![both]),
            (vec![value(40.0, 10.0), value(60.0, 9.5)], vec![forty, sixty]),
            (vec![value(40.0, 1.0), unsure(60.0)], vec![both]),
            (one_narrow_each, vec![group(40.0, 42.0, 44.0, 2), group(62.0, 63.0, 64.0, 2)]),
            (
                joined,
                vec![group(10.0, 10.0, 10.0, 1), group(40.0, 60.0, 90.0, 3), group(120.0, 135.0, 150.0, 2)],
            ),
        ] {
            assert_eq!(shown_groups(&values, GapRule::LATENCY_NS), expected, "{values:?}");
        }
    }

    #[test]
    fn the_levels_of_a_two_socket_machine_come_apart() {
        let level = |(ns, count)| (0..count).map(move |i| ns * (1.0 + 0.002 * f64::from(i)));
        let levels = [(7.8, 6), (24.0, 9), (105.0, 12), (198.0, 20)];
        let values: Vec<f64> = levels.into_iter().flat_map(level).collect();
        let groups = value_groups(&values, GapRule::LATENCY_NS);
        assert_eq!(groups.iter().map(|group| group.count).collect::<Vec<_>>(), [6, 9, 12, 20]);
        assert!(groups.iter().all(|group| group.min <= group.median && group.median <= group.max));
    }

    proptest! {
        #[test]
        fn groups_ascend_hold_every_value_and_ignore_order(values in proptest::collection::vec(1.0f64..500.0, 0..60)) {
            let groups = value_groups(&values, GapRule::LATENCY_NS);
            prop_assert_eq!(groups.iter().map(|group| group.count).sum::<usize>(), values.len());
            prop_assert!(groups.windows(2).all(|pair| pair[1].min - pair[0].max > 5.0));
            let reversed: Vec<f64> = values.iter().rev().copied().collect();
            prop_assert_eq!(value_groups(&reversed, GapRule::LATENCY_NS), groups);
        }
    }
}
