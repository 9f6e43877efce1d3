//! States of a machine that changes during the measurement. Plateaus are reported separately, never averaged.
//!
//! A host that moves virtual CPUs puts the passes of one run on two or three plateaus, with a wide gap in the sorted
//! values. Measured with CAS without pause, 24 passes per window: no false alarm in 276 windows of one state; 61 of 61
//! mixtures with the sibling state and 8 of 8 with the far state found. CAS with a pause shows only 3 % of the sibling
//! mixtures, so the input should include CAS without pause.

/// Criteria for a change of state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Detector {
    /// Minimum ratio between neighbouring sorted values that separates two states.
    pub ratio: f64,
    /// Minimum number of passes in a state. Fewer passes are outliers of the neighbouring state.
    pub fewest: usize,
}

impl Detector {
    /// Criteria for passes of CAS without pause, with the error rates above.
    pub const CAS: Detector = Detector { ratio: 1.15, fewest: 2 };

    /// Criteria for all other kernels. With a ratio max/min of 1.3, load/store with a pause raised 25 % false alarms.
    pub const OTHERS: Detector = Detector { ratio: 1.30, ..Detector::CAS };
}

/// One state and its passes.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// Indices of the passes, ascending.
    pub passes: Vec<usize>,
    /// Share of all passes, 0 to 1.
    pub share: f64,
    /// Number of episodes: runs of passes without a pass in another state between them.
    pub visits: usize,
    /// Mean length of an episode, in passes.
    pub dwell_passes: f64,
}

/// Splits passes in time order by the values of one kernel, into states in ascending order of their values. A series
/// without a change is one state. An empty series has no state.
///
/// ```
/// # use coretalk_model::stats::{split_states, Detector};
/// let states = split_states(&[25.0, 25.3, 15.0, 14.8, 25.1, 25.2], Detector::CAS);
/// assert_eq!(states[0].passes, [2, 3]);
/// assert_eq!((states[1].passes.len(), states[1].visits, states[1].dwell_passes), (4, 2, 2.0));
/// ```
pub fn split_states(values: &[f64], detector: Detector) -> Vec<State> {
    split_states_jointly(&[(values, detector)])
}

/// Whether these passes are certainly one state, as in almost all cells. Much cheaper than sorting.
pub fn holds_still(values: &[f64], detector: Detector) -> bool {
    let extend = |(low, high): (f64, f64), &value: &f64| (low.min(value), high.max(value));
    let (low, high) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), extend);
    // No ratio of neighbours exceeds that of the extremes, even when rounded. NaN values yield `false`.
    low > 0.0 && high / low <= detector.ratio
}

/// Splits passes by several kernels timed in each of them. The kernel with the widest gap, relative to the ratio of its
/// detector, divides first. Each part is examined again. States are in ascending order of the first kernel whose gap
/// separates them. A pass beyond the end of the shortest series is ignored.
pub fn split_states_jointly(kernels: &[(&[f64], Detector)]) -> Vec<State> {
    let count = kernels.iter().map(|(values, _)| values.len()).min().unwrap_or(0);
    let mut parts = Vec::new();
    divide(kernels, (0..count).collect(), &mut parts);
    let mut label = vec![0; count];
    for (state, part) in parts.iter().enumerate() {
        for &pass in part {
            label[pass] = state;
        }
    }
    let starts =
        |state| (0..count).filter(|&i| label[i] == state && (i == 0 || label[i - 1] != state)).count();
    let describe = |(state, mut passes): (usize, Vec<usize>)| {
        passes.sort_unstable();
        let (visits, size) = (starts(state), passes.len() as f64);
        State { share: size / count as f64, visits, dwell_passes: size / visits as f64, passes }
    };
    parts.into_iter().enumerate().map(describe).collect()
}

/// Appends the states of `part` in ascending order. Recursion ends because each division leaves two smaller parts.
fn divide(kernels: &[(&[f64], Detector)], part: Vec<usize>, states: &mut Vec<Vec<usize>>) {
    let widest = kernels
        .iter()
        .filter_map(|kernel| widest_gap(*kernel, &part))
        .max_by(|a, b| a.excess.total_cmp(&b.excess));
    match widest {
        Some(Gap { below, above, .. }) => {
            divide(kernels, below, states);
            divide(kernels, above, states);
        }
        None if part.is_empty() => {}
        None => states.push(part),
    }
}

struct Gap {
    excess: f64,
    below: Vec<usize>,
    above: Vec<usize>,
}

fn widest_gap((values, detector): (&[f64], Detector), part: &[usize]) -> Option<Gap> {
    let fewest = detector.fewest.max(1);
    let mut sorted = part.to_vec();
    sorted.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let ratio = |at: usize| values[sorted[at]] / values[sorted[at - 1]];
    let at = (fewest..(sorted.len() + 1).saturating_sub(fewest))
        .filter(|&at| values[sorted[at - 1]] > 0.0 && ratio(at) > detector.ratio)
        .max_by(|&a, &b| ratio(a).total_cmp(&ratio(b)))?;
    let excess = ratio(at) / detector.ratio;
    let above = sorted.split_off(at);
    Some(Gap { excess, below: sorted, above })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Key;
    use proptest::prelude::*;

    fn plateaus(key: Key, levels: &[(f64, usize)], noise: f64) -> Vec<f64> {
        let each = levels.iter().flat_map(|&(level, passes)| std::iter::repeat_n(level, passes));
        each.enumerate().map(|(i, level)| level * (1.0 + noise * key.normal(i as u64))).collect()
    }

    #[test]
    fn quiet_noise_raises_hardly_an_alarm() {
        for (passes, noise, trials) in [(24, 0.03, 20_000), (8, 0.03, 20_000), (24, 0.05, 5_000)] {
            let is_alarm = |&trial: &u64| {
                let values = plateaus(Key::from_words(&[1, trial]), &[(25.0, passes)], noise);
                split_states(&values, Detector::CAS).len() > 1
            };
            let alarms = (0..trials).filter(is_alarm).count();
            assert!((alarms as f64) < 0.01 * trials as f64, "{passes} passes, {noise}: {alarms} of {trials}");
        }
    }

    #[test]
    fn the_three_measured_states_are_separated() {
        // CAS without pause: near 25.1, sibling 15, far 124 ns.
        for trial in 0..500 {
            let levels = [(25.1, 9), (15.0, 3), (25.1, 6), (124.0, 4), (15.0, 2)];
            let states = split_states(&plateaus(Key::from_words(&[2, trial]), &levels, 0.03), Detector::CAS);
            let found: Vec<(usize, usize)> = states.iter().map(|s| (s.passes.len(), s.visits)).collect();
            assert_eq!(found, [(5, 2), (15, 2), (4, 1)], "trial {trial}");
            assert_eq!(states[0].passes, [9, 10, 11, 22, 23]);
            assert!((states[1].share - 0.625).abs() < 1e-12 && states[1].dwell_passes == 7.5);
        }
    }

    #[test]
    fn a_single_stalled_pass_is_no_state() {
        let mut values = plateaus(Key::from_words(&[3]), &[(25.0, 12)], 0.01);
        values[5] = 4000.0;
        assert_eq!(split_states(&values, Detector::CAS).len(), 1);
        values[9] = 4100.0;
        assert_eq!(split_states(&values, Detector::CAS)[1].passes, [5, 9]);
    }

    #[test]
    fn a_state_that_only_one_kernel_shows_is_found_from_several() {
        let with_pause = plateaus(Key::from_words(&[4]), &[(22.8, 8), (21.6, 4)], 0.01);
        let without = plateaus(Key::from_words(&[5]), &[(25.1, 8), (15.0, 4)], 0.01);
        assert_eq!(split_states(&with_pause, Detector::CAS).len(), 1);
        let joint = split_states_jointly(&[(&with_pause, Detector::CAS), (&without, Detector::CAS)]);
        assert_eq!(joint.iter().map(|state| state.passes.len()).collect::<Vec<_>>(), [4, 8]);
    }

    #[test]
    fn empty_tiny_and_non_positive_series_are_defined() {
        assert!(split_states(&[], Detector::CAS).is_empty());
        assert!(split_states_jointly(&[]).is_empty());
        for values in [&[1.0][..], &[1.0, 9.0], &[1.0, 9.0, 9.0], &[0.0, 0.0, 1.0, 1.0], &[f64::NAN; 6]] {
            let states = split_states(values, Detector::CAS);
            assert_eq!(states.len(), 1, "{values:?}");
            assert_eq!((states[0].share, states[0].visits), (1.0, 1));
        }
    }

    proptest! {
        #[test]
        fn steady_series_are_one_state(
            values in proptest::collection::vec(20.0f64..30.0, 1..40), ratio in 1.0f64..1.6,
        ) {
            let detector = Detector { ratio, fewest: 1 };
            if holds_still(&values, detector) {
                prop_assert_eq!(split_states(&values, detector).len(), 1);
            }
        }

        #[test]
        fn every_pass_lies_in_exactly_one_state(
            values in proptest::collection::vec(1.0f64..300.0, 0..40), fewest in 0usize..4, ratio in 1.0f64..2.0,
        ) {
            let states = split_states(&values, Detector { ratio, fewest });
            let mut all: Vec<usize> = states.iter().flat_map(|state| state.passes.clone()).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..values.len()).collect::<Vec<_>>());
            prop_assert!(states.len() <= 1 || states.iter().all(|state| state.passes.len() >= fewest));
            prop_assert!(values.is_empty() || (states.iter().map(|s| s.share).sum::<f64>() - 1.0).abs() < 1e-9);
        }
    }
}
