//! [`StateContrast`]: the ratio between the states of a machine, and which reported relations it contradicts.

use crate::latency::{StateWatch, WatchedState};
use crate::stats::{Detector, Estimate};
use crate::{KernelId, LadderStep, Protocol, Relation};

/// The ratio between machine states under the kernel of the headline or, if this ratio is too small to show the states,
/// the largest ratio of any kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StateContrast {
    /// Index of the slowest state.
    pub slowest: usize,
    /// Index of the fastest state.
    pub fastest: usize,
    /// Slowest ÷ fastest.
    pub ratio: f64,
    /// Whether the kernel of the headline shows the ratio.
    pub of_headline: bool,
    /// Number of kernels timed in both states.
    pub kernels: usize,
    /// Number of kernels that the slowest state slows down. Another placement of the CPUs slows all kernels. Other
    /// programs that take a CPU briefly slow only the kernel being timed.
    pub slowed: usize,
}

/// Compares the slowest state with the fastest; `None` for a single state.
pub fn state_contrast(watch: &StateWatch) -> Option<StateContrast> {
    let extremes = |kernel: &KernelId| -> Option<(usize, usize, f64)> {
        let of_kernel =
            |state: &WatchedState| Some(state.kernels.iter().find(|(known, _)| known == kernel)?.1.point);
        let levels: Vec<(usize, f64)> = watch
            .states
            .iter()
            .enumerate()
            .filter_map(|(index, state)| Some((index, of_kernel(state)?)))
            .collect();
        let &(slowest, most) = levels.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let &(fastest, least) = levels.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
        (slowest != fastest).then_some((slowest, fastest, most / least))
    };
    let kernels = &watch.states.first()?.kernels;
    let headline = extremes(&kernels.first()?.0);
    let of_headline = headline.is_some_and(|(.., ratio)| ratio > Detector::CAS.ratio);
    let widest = kernels.iter().filter_map(|(kernel, _)| extremes(kernel)).max_by(|a, b| a.2.total_cmp(&b.2));
    let (slowest, fastest, ratio) = if of_headline { headline } else { widest.or(headline) }?;
    let (kernels, slowed) = count_slowed(&watch.states[slowest], &watch.states[fastest]);
    Some(StateContrast { slowest, fastest, ratio, of_headline, kernels, slowed })
}

/// Maximum ratio between pairs of cores of one cache: at most 2.6 on published maps of one kind of core (no siblings).
const WITHIN_ONE_CACHE: f64 = 3.0;

/// Siblings take up to 20 ns on published maps. Any other core is many times slower, even in the same cache.
const MAYBE_SIBLINGS_NS: f64 = 20.0;

/// Maximum latency of threads of one core in nanoseconds: 31 on the slowest published map.
const SLOWEST_SIBLINGS_NS: f64 = 35.0;

/// Minimum share of the passes for a state to count. Other programs may cause briefer states.
const MIN_STATE_SHARE: f64 = 0.05;

/// Index of the slowest state that is incompatible with the reported relation, given the other states; `None` if the
/// numbers do not decide. Only CAS counts, whose times are known from many machines. The state must last, slow every
/// kernel, and have intervals entirely beyond the limits.
pub fn contradicting_state(watch: &StateWatch, reported: Relation) -> Option<usize> {
    let cas = |state: &WatchedState| -> Option<Estimate> {
        let cas = LadderStep::Protocol(Protocol::Cas);
        let (_, latency) = state.kernels.iter().find(|(kernel, _)| kernel.step() == cas)?;
        latency.is_sure().then_some(*latency)
    };
    let rules_out = |state: &WatchedState, latency: &Estimate| {
        let others = watch.states.iter().filter_map(|other| Some((other, cas(other)?)));
        match reported {
            Relation::SameCpu | Relation::Smt => {
                let is_slower = |(other, _)| is_slower_throughout(state, other);
                latency.low > SLOWEST_SIBLINGS_NS && others.into_iter().any(is_slower)
            }
            Relation::L2 | Relation::Cluster | Relation::L3 => others.into_iter().any(|(other, near)| {
                near.low >= MAYBE_SIBLINGS_NS
                    && latency.low > WITHIN_ONE_CACHE * near.high
                    && is_slower_throughout(state, other)
            }),
            _ => false,
        }
    };
    let mut found: Option<(usize, f64)> = None;
    let lasting = |(_, state): &(usize, &WatchedState)| state.share >= MIN_STATE_SHARE;
    for (index, state) in watch.states.iter().enumerate().filter(lasting) {
        let Some(latency) = cas(state).filter(|latency| rules_out(state, latency)) else { continue };
        if found.is_none_or(|(_, slowest)| latency.point > slowest) {
            found = Some((index, latency.point));
        }
    }
    found.map(|(index, _)| index)
}

fn is_slower_throughout(state: &WatchedState, other: &WatchedState) -> bool {
    let (kernels, slowed) = count_slowed(state, other);
    kernels > 0 && slowed == kernels
}

fn count_slowed(state: &WatchedState, other: &WatchedState) -> (usize, usize) {
    let ratios = state.kernels.iter().filter_map(|(kernel, here)| {
        let (_, there) = other.kernels.iter().find(|(known, _)| known == kernel)?;
        Some(here.point / there.point)
    });
    ratios.fold((0, 0), |(all, slowed), ratio| (all + 1, slowed + usize::from(ratio > Detector::CAS.ratio)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Picos;
    use crate::tests::around;

    fn watch(states: &[&[(&'static str, f64)]]) -> StateWatch {
        let state = |kernels: &&[(&'static str, f64)]| WatchedState {
            share: 1.0 / states.len() as f64,
            visits: 1,
            longest: Picos::from_ms(500),
            kernels: kernels.iter().map(|&(name, ns)| (KernelId(name.into()), around(ns, 0.02))).collect(),
        };
        StateWatch {
            watched: Picos::from_ms(1000),
            pair: None,
            states: states.iter().map(state).collect(),
            line: Vec::new(),
            cells_changed: 1.0,
        }
    }

    #[test]
    fn states_within_one_relation_contradict_nothing() {
        let near = &[("cas+pause", 35.0), ("cas", 36.0)][..];
        let sibling = &[("cas+pause", 13.0), ("cas", 12.0)][..];
        let far = &[("cas+pause", 116.0), ("cas", 128.0)][..];
        for (states, reported, expected) in [
            // Only the ratio is known: near may be the reported cache, and sibling another placement.
            (&[near, sibling][..], Relation::L3, None),
            (&[near, far], Relation::L3, Some(1)),
            (&[sibling, far], Relation::L3, None),
            (&[far, sibling, near], Relation::Cluster, Some(0)),
            (&[sibling, far], Relation::Smt, Some(1)),
            (&[near, far], Relation::Package, None),
            (&[near], Relation::L3, None),
        ] {
            assert_eq!(contradicting_state(&watch(states), reported), expected, "{reported:?} {states:?}");
        }
    }

    #[test]
    fn a_brief_state_contradicts_nothing() {
        let mut watch = watch(&[&[("cas", 36.0)], &[("cas", 128.0)]]);
        assert_eq!(contradicting_state(&watch, Relation::L3), Some(1));
        (watch.states[0].share, watch.states[1].share) = (0.984, 0.016);
        assert_eq!(contradicting_state(&watch, Relation::L3), None);
    }

    #[test]
    fn states_hidden_from_the_headline_use_the_largest_ratio() {
        let watch = watch(&[&[("cas+pause", 23.4), ("cas", 25.1)], &[("cas+pause", 23.3), ("cas", 15.2)]]);
        let contrast = state_contrast(&watch).unwrap();
        assert!(!contrast.of_headline && (contrast.ratio - 25.1 / 15.2).abs() < 1e-12, "{contrast:?}");
    }

    #[test]
    fn a_slowdown_of_one_kernel_is_no_other_placement() {
        let calm = &[("cas", 30.0), ("cas+pause", 29.0), ("store", 60.0)][..];
        let disturbed = &[("cas", 1153.0), ("cas+pause", 113.0), ("store", 61.0)][..];
        let watch = watch(&[calm, disturbed]);
        assert_eq!(contradicting_state(&watch, Relation::L3), None);
        let contrast = state_contrast(&watch).unwrap();
        assert_eq!((contrast.slowest, contrast.kernels, contrast.slowed), (1, 3, 2));
    }

    #[test]
    fn limits_of_cas_do_not_apply_to_other_kernels() {
        let watch = watch(&[&[("store", 30.0)], &[("store", 150.0)]]);
        assert_eq!(contradicting_state(&watch, Relation::L3), None);
        assert!((state_contrast(&watch).unwrap().ratio - 5.0).abs() < 1e-12);
    }
}
