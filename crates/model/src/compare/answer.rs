//! [`Answer`]: the overall result of a comparison, the same for all output formats.

use super::{Comparison, DatasetComparison, Difference, LevelDifference, ReadingKey, Side, Verdict};
use crate::CpuId;
use std::collections::BTreeSet;

const MAX_NAMED: usize = 6;

/// The result of a comparison of two sides over all its datasets.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// No value of one side is known to correspond to a value of the other.
    NothingCorresponds,
    /// Every level is shown to differ by less than the minimum effect.
    Alike,
    /// Differences, worse results first, followed by undecided levels.
    Differs(Vec<Shown>),
}

/// Levels with the same verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// The verdict; never [`Verdict::Same`].
    pub verdict: Verdict,
    /// The word for B, see [`DatasetComparison::called`]; `None` if undecided.
    pub called: Option<&'static str>,
    /// The levels, ordered by dataset.
    pub levels: Vec<ShownLevel>,
    /// Total number of levels of all datasets, whatever their verdict.
    pub of: usize,
}

/// A level with a verdict, or a whole dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownLevel {
    /// Index of the dataset.
    pub dataset: usize,
    /// Index of the level; `None` for all pairs together, which changed alike.
    pub level: Option<usize>,
}

impl ShownLevel {
    /// The difference; `None` if the indices are out of range or the dataset has no common difference.
    pub fn difference(self, comparison: &Comparison) -> Option<&Difference> {
        let dataset = comparison.datasets.get(self.dataset)?;
        match self.level {
            Some(level) => dataset.levels.get(level).map(|level| &level.difference),
            None => dataset.together.as_ref(),
        }
    }
}

impl Shown {
    /// Whether there are few enough levels to list each.
    pub fn is_listed(&self) -> bool {
        self.levels.len() <= MAX_NAMED
    }

    /// The levels with the smallest and the largest shift. A shown difference is compared by absolute value.
    pub fn extremes(&self, comparison: &Comparison) -> Option<[ShownLevel; 2]> {
        let size = |level: &&ShownLevel| {
            let shift = level.difference(comparison).map_or(0.0, |difference| difference.shift.point.ln_1p());
            if self.verdict.is_different() { shift.abs() } else { shift }
        };
        let least = self.levels.iter().min_by(|x, y| size(x).total_cmp(&size(y)))?;
        let most = self.levels.iter().max_by(|x, y| size(x).total_cmp(&size(y)))?;
        Some([*least, *most])
    }
}

impl Comparison {
    /// The overall result.
    pub fn answer(&self) -> Answer {
        if self.datasets.iter().all(|dataset| dataset.levels.is_empty()) {
            return Answer::NothingCorresponds;
        }
        let total = self.datasets.iter().map(|dataset| dataset.levels.len()).sum();
        let mut shown = Vec::new();
        for (verdict, at) in [(Verdict::Slower, 0), (Verdict::Faster, 1)] {
            let words: BTreeSet<&str> = self.datasets.iter().map(|dataset| dataset.called()[at]).collect();
            for word in words {
                let levels = self.levels_with(verdict, |dataset| dataset.called()[at] == word);
                shown.push(Shown { verdict, called: Some(word), levels, of: total });
            }
        }
        let verdict = Verdict::CannotTell;
        shown.push(Shown { verdict, called: None, levels: self.levels_with(verdict, |_| true), of: total });
        shown.retain(|shown| !shown.levels.is_empty());
        if shown.is_empty() { Answer::Alike } else { Answer::Differs(shown) }
    }

    fn levels_with(
        &self,
        verdict: Verdict,
        is_included: impl Fn(&DatasetComparison) -> bool,
    ) -> Vec<ShownLevel> {
        let mut found = Vec::new();
        for (number, dataset) in self.datasets.iter().enumerate().filter(|(_, dataset)| is_included(dataset))
        {
            let is_shown = |level: &LevelDifference| level.difference.verdict == verdict;
            // A uniform change of all levels is reported once.
            let is_whole = verdict.is_different()
                && dataset.levels.iter().all(is_shown)
                && !dataset.cells.iter().any(|cell| cell.departs && matches!(cell.key, ReadingKey::Pair(_)));
            if dataset.together.as_ref().is_some_and(|together| is_whole && together.verdict == verdict) {
                found.push(ShownLevel { dataset: number, level: None });
                continue;
            }
            let levels = dataset.levels.iter().enumerate().filter(|(_, level)| is_shown(level));
            found.extend(levels.map(|(level, _)| ShownLevel { dataset: number, level: Some(level) }));
        }
        found
    }
}

/// Why no value of one side is compared with a value of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disjoint {
    /// The sides have no CPUs or placements in common.
    Cpus,
    /// The measurements on common CPUs have different parameters.
    Parameters,
}

impl Disjoint {
    /// Determines the reason for two sides without a common value.
    pub fn between(a: &Side, b: &Side) -> Disjoint {
        let placements = |side: &Side| -> BTreeSet<Vec<CpuId>> {
            let keys = side.datasets.iter().flat_map(|dataset| dataset.readings.keys());
            keys.map(|key| key.cpus().collect()).collect()
        };
        match placements(a).is_disjoint(&placements(b)) {
            true => Disjoint::Cpus,
            false => Disjoint::Parameters,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Unmatched;
    use super::super::comparison::tests::{dataset, level};
    use super::*;
    use crate::quantity::Better;

    fn comparison(levels: &[(Verdict, f64)]) -> Comparison {
        let levels =
            levels.iter().map(|&(verdict, shift)| level(verdict, [10.0, 10.0 * (1.0 + shift)], None));
        let datasets = vec![dataset("trip", Better::Lower, levels.collect())];
        Comparison { datasets, unmatched: Unmatched::default(), saturated: [0, 0] }
    }

    #[test]
    fn worse_levels_come_first_and_many_are_given_by_their_ends() {
        use Verdict::{CannotTell, Faster, Same, Slower};
        assert_eq!(comparison(&[]).answer(), Answer::NothingCorresponds);
        assert_eq!(comparison(&[(Same, 0.01)]).answer(), Answer::Alike);
        let mut levels = vec![(CannotTell, 0.02), (Faster, -0.5)];
        levels.extend((1..=7).map(|step| (Slower, 0.1 * f64::from(step))));
        let found = comparison(&levels);
        let Answer::Differs(shown) = found.answer() else { panic!("{:?}", found.answer()) };
        let verdicts = shown.iter().map(|shown| (shown.verdict, shown.called, shown.levels.len()));
        let expected = [(Slower, Some("slower"), 7), (Faster, Some("faster"), 1), (CannotTell, None, 1)];
        assert_eq!(verdicts.collect::<Vec<_>>(), expected);
        assert_eq!((shown[0].of, shown[0].is_listed(), shown[1].is_listed()), (9, false, true));
        let ends = shown[0].extremes(&found).unwrap().map(|level| level.level);
        assert_eq!(ends, [Some(2), Some(8)], "of 10 % and 70 %");
    }
}
