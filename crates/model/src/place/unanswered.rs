//! Why a comparison of placements has neither a winner nor a tie.

use super::analyse::{ALPHA, has_intervals, least_repetitions, verdict_repetitions};
use super::comparison::{Open, PlaceOutcome, PlacementComparison, effect};
use super::settings::PlaceSettings;
use crate::quantity::Better;

/// Why a comparison has no answer. Arms and pairs are positions in the comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unanswered {
    /// Values below zero have no ratio.
    BelowZero,
    /// Fewer runs than a verdict needs.
    FewRuns {
        /// Number of runs that a verdict needs.
        least: usize,
        /// The arm with the fewest runs; `None` if all have the same number.
        arm: Option<usize>,
        /// Whether `--repeat` requests too few runs.
        is_asked: bool,
    },
    /// A disturbance may explain or hide a difference.
    Disturbed,
    /// The medians contradict the paired runs.
    Medians,
    /// No arm beats all others. Holds the pairs with a significant difference; empty if the runs are too noisy.
    Pairs(Vec<ShownPair>),
}

/// A pair of arms whose difference is significant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownPair {
    /// One arm is better by at least the smallest effect.
    Beats {
        /// The better arm.
        winner: usize,
        /// The other arm.
        loser: usize,
    },
    /// The difference may be smaller than the smallest effect.
    Differs {
        /// The pair.
        pair: usize,
    },
}

/// Why a comparison has no answer; `None` with an answer.
pub fn unanswered(settings: &PlaceSettings, comparison: &PlacementComparison) -> Option<Unanswered> {
    if matches!(comparison.outcome, PlaceOutcome::Winner { .. } | PlaceOutcome::Same { .. }) {
        return None;
    }
    if comparison.open() == Some(Open::BelowZero) {
        return Some(Unanswered::BelowZero);
    }
    Some(few_runs(settings, comparison).unwrap_or_else(|| match comparison.open() {
        Some(Open::Disturbed) => Unanswered::Disturbed,
        Some(Open::Medians) => Unanswered::Medians,
        _ => Unanswered::Pairs(shown_pairs(comparison, settings.min_effect)),
    }))
}

fn few_runs(settings: &PlaceSettings, comparison: &PlacementComparison) -> Option<Unanswered> {
    let runs = |arm: usize| comparison.arms[arm].runs.len();
    let fewest = (0..comparison.arms.len()).min_by_key(|arm| runs(*arm))?;
    let made = runs(fewest);
    let work = settings.works.iter().position(|work| work.name == comparison.work)?;
    let least = least_repetitions(settings, work).max(verdict_repetitions(settings, work)) as usize;
    let differs = (0..comparison.arms.len()).any(|arm| runs(arm) != made);
    let is_asked = made == settings.repeat as usize && !has_intervals(settings);
    (made < least).then(|| Unanswered::FewRuns { least, arm: differs.then_some(fewest), is_asked })
}

fn shown_pairs(comparison: &PlacementComparison, min_effect: f64) -> Vec<ShownPair> {
    let shown = comparison.pairs.iter().enumerate().filter_map(|(number, pair)| {
        let share = pair.share.filter(|_| pair.p_value.is_some_and(|p| p <= ALPHA))?.point;
        Some(match effect(share) >= min_effect {
            true if (share > 0.0) == (comparison.metric.better == Better::Higher) => {
                ShownPair::Beats { winner: pair.b, loser: pair.a }
            }
            true => ShownPair::Beats { winner: pair.a, loser: pair.b },
            false => ShownPair::Differs { pair: number },
        })
    });
    shown.collect()
}
