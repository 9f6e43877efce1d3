//! [`value_steps`]: values in a few classes, for a picture with a few shades.

use crate::stats::gaps::{GapRule, value_groups};

/// A class that spans less than this ratio is not divided: its parts would show noise.
const NARROWEST: f64 = 1.1;

/// At most `most` classes of the positive values, as least and greatest value of each, ascending, none empty. Values
/// that a wide gap separates ([`GapRule::LATENCY_NS`]) share no class while there are enough of them; beyond, the
/// classes that lie nearest by ratio are joined. Classes to spare divide the widest into equal ratios, so that a
/// machine without gaps still shows its slope.
///
/// ```
/// # use coretalk_model::latency::summary::value_steps;
/// let levels = [20.0, 20.5, 60.0, 118.0, 121.0, 300.0];
/// let steps = value_steps(levels.into_iter(), 5);
/// assert_eq!(steps, [[20.0, 20.5], [60.0, 60.0], [118.0, 121.0], [300.0, 300.0]]);
/// ```
pub fn value_steps(values: impl Iterator<Item = f64>, most: usize) -> Vec<[f64; 2]> {
    let mut sorted: Vec<f64> = values.filter(|value| value.is_finite() && *value > 0.0).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut groups: Vec<[f64; 2]> =
        value_groups(&sorted, GapRule::LATENCY_NS).iter().map(|group| [group.min, group.max]).collect();
    while groups.len() > most.max(1) {
        let gap = |index: &usize| groups[index + 1][0] / groups[*index][1];
        let Some(nearest) = (0..groups.len() - 1).min_by(|a, b| gap(a).total_cmp(&gap(b))) else { break };
        groups[nearest][1] = groups.remove(nearest + 1)[1];
    }
    let mut parts = vec![1usize; groups.len()];
    while parts.iter().sum::<usize>() < most {
        let ratio = |index: &usize| (groups[*index][1] / groups[*index][0]).powf(1.0 / parts[*index] as f64);
        let Some(widest) = (0..groups.len()).max_by(|a, b| ratio(a).total_cmp(&ratio(b))) else { break };
        if ratio(&widest) < NARROWEST {
            break;
        }
        parts[widest] += 1;
    }
    groups.iter().zip(parts).flat_map(|(&group, parts)| divided(&sorted, group, parts)).collect()
}

/// A group in parts of equal ratio, each with the values that it really holds.
fn divided(sorted: &[f64], [low, high]: [f64; 2], parts: usize) -> Vec<[f64; 2]> {
    let part = |value: f64| {
        let share = (value / low).ln() / (high / low).ln();
        if share.is_finite() { ((share * parts as f64) as usize).min(parts - 1) } else { 0 }
    };
    let from = sorted.partition_point(|&value| value < low);
    let to = sorted.partition_point(|&value| value <= high);
    sorted[from..to]
        .chunk_by(|&a, &b| part(a) == part(b))
        .filter_map(|chunk| Some([*chunk.first()?, *chunk.last()?]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn levels_beyond_the_shades_join_with_their_nearest() {
        let levels = [6.0, 20.0, 60.0, 70.0, 120.0, 300.0];
        let steps = value_steps(levels.into_iter(), 5);
        assert_eq!(steps, [[6.0, 6.0], [20.0, 20.0], [60.0, 70.0], [120.0, 120.0], [300.0, 300.0]]);
    }

    #[test]
    fn a_slope_without_gaps_gets_every_shade() {
        let slope = |from: u32, to: u32| (from..to).map(|tenths| f64::from(tenths) / 10.0);
        assert_eq!(value_steps(slope(300, 600), 5).len(), 5);
        // Parts of a tenth or less would show noise.
        assert_eq!(value_steps(slope(300, 330), 5).len(), 1);
    }

    #[test]
    fn nothing_has_no_steps() {
        assert!(value_steps([f64::NAN, 0.0, -1.0].into_iter(), 5).is_empty());
    }

    proptest! {
        #[test]
        fn every_value_lies_in_one_step(values in proptest::collection::vec(1.0f64..500.0, 1..80), most in 1usize..7) {
            let steps = value_steps(values.iter().copied(), most);
            prop_assert!(steps.len() <= most);
            prop_assert!(steps.windows(2).all(|pair| pair[0][1] < pair[1][0]), "{:?}", steps);
            for value in values {
                prop_assert!(steps.iter().any(|step| step[0] <= value && value <= step[1]));
            }
        }
    }
}
