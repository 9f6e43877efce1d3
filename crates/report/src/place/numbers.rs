//! [`Numbered`]: a comparison and its index in the document, for the sources of its numbers.

use crate::blocks::Cell;
use crate::blocks::value::{
    DisplayUnit, DisplayValue, Number, Operation, PlainText, Sentence, Source, pointer,
};
use coretalk_model::place::{PlaceOutcome, PlaceSettings, PlacementComparison, PlacementConditions};
use coretalk_model::quantity::Unit;
use coretalk_model::run::PlaceReport;
use coretalk_model::stats::Estimate;

/// A comparison and its index among all comparisons of a run.
#[derive(Debug, Clone, Copy)]
pub struct Numbered<'a> {
    /// The comparison.
    pub comparison: &'a PlacementComparison,
    index: usize,
}

pub(super) fn given(name: &str) -> PlainText {
    PlainText::untrusted(name)
}

pub fn noun(settings: &PlaceSettings) -> &'static str {
    if settings.versus.is_some() { "arm" } else { "placement" }
}

/// The name of a placement in a sentence, quoted because `none` and `one` would read as words.
pub(super) fn quoted(name: &str) -> Sentence {
    Sentence::new("`{name}`").with("name", given(name))
}

impl<'a> Numbered<'a> {
    /// All comparisons of a run.
    pub fn all(comparisons: &'a [PlacementComparison]) -> impl Iterator<Item = Numbered<'a>> {
        comparisons.iter().enumerate().map(|(index, comparison)| Numbered { comparison, index })
    }

    /// A field of the comparison, by its JSON pointer within it.
    pub fn source(&self, field: &str) -> Source {
        Source::Field(pointer!("/comparisons/{}/{field}", self.index))
    }

    /// A field of a placement.
    pub fn of_arm(&self, arm: usize, field: &str) -> Source {
        self.source(&pointer!("placements/{arm}/{field}"))
    }

    /// The name of a placement.
    pub fn name(&self, arm: usize) -> PlainText {
        given(&self.comparison.arms[arm].placement.name)
    }

    /// The number of runs of a placement.
    pub fn runs(&self, arm: usize) -> DisplayValue {
        let runs = self.comparison.arms[arm].runs.len();
        DisplayValue::bare(Number::Count(runs as u64), self.of_arm(arm, "runs"))
    }

    /// The median of a placement, with four digits.
    pub fn median(&self, arm: usize) -> Option<DisplayValue> {
        let number = Number::Point(self.comparison.arms[arm].median?.point);
        Some(DisplayValue { number, unit: DisplayUnit::Figure, source: self.of_arm(arm, "median") })
    }

    /// The interval of the median of a placement.
    pub fn interval(&self, arm: usize) -> Option<DisplayValue> {
        let results = &self.comparison.arms[arm];
        let number = Number::Ends(results.median.filter(|_| results.interval().is_some())?);
        Some(DisplayValue { number, unit: DisplayUnit::Figure, source: self.of_arm(arm, "median") })
    }

    /// The reference of differences in the table: the winner or, without a winner, the first placement.
    pub fn reference(&self) -> usize {
        match self.comparison.outcome {
            PlaceOutcome::Winner { winner, .. } => winner,
            PlaceOutcome::Same { .. }
            | PlaceOutcome::CannotTell
            | PlaceOutcome::PerArm
            | PlaceOutcome::NotTested => 0,
        }
    }

    /// The index of the pair of a placement and the reference.
    pub fn pair(&self, arm: usize) -> Option<usize> {
        let reference = self.reference();
        let ends = (reference.min(arm), reference.max(arm));
        self.comparison.pairs.iter().position(|pair| (pair.a, pair.b) == ends && reference != arm)
    }

    /// The relative difference of the second placement of a pair from the first, or reversed.
    pub fn of_pair(&self, pair: usize, is_reversed: bool) -> Source {
        let source = self.source(&pointer!("pairs/{pair}/delta_percent"));
        if is_reversed { Operation::Reversed.on([source]) } else { source }
    }

    /// The difference of a placement from the reference with half its interval: `-26 % ±2 %`. With too few runs for an
    /// interval, the difference of the medians: `-26 %`. `None` without a value.
    pub fn difference(&self, arm: usize) -> Option<Sentence> {
        let index = self.pair(arm)?;
        let pair = &self.comparison.pairs[index];
        let is_reversed = arm < self.reference();
        let Some(share) = pair.share.filter(|_| pair.interval().is_some()) else {
            return Some(Sentence::new("{share}").with("share", self.of_medians(arm)?));
        };
        let reversed = |share: f64| 1.0 / (1.0 + share) - 1.0;
        let share = match is_reversed {
            false => share,
            true => {
                let (low, high) = (reversed(share.high), reversed(share.low));
                Estimate { point: reversed(share.point), low, high, ..share }
            }
        };
        let part = |number| DisplayValue::bare(number, self.of_pair(index, is_reversed)).in_unit(Unit::Share);
        // A ratio to zero is infinite, and its interval has no meaning.
        let template = if share.reach().is_finite() { "{share} ±{reach}" } else { "{share}" };
        let sentence = Sentence::new(template).with("share", part(Number::Relative(share.point)));
        Some(sentence.with("reach", part(Number::Reach(share))))
    }

    /// The p-value of a placement compared with the reference.
    pub fn p_value(&self, arm: usize) -> Cell {
        let Some(index) = self.pair(arm) else { return Cell::Blank };
        let source = self.source(&pointer!("pairs/{index}/p_value"));
        let p = self.comparison.pairs[index].p_value;
        p.map_or(Cell::Blank, |p| DisplayValue::bare(Number::Probability(p), source).into())
    }

    /// The relative difference between the medians of a placement and the reference.
    pub fn of_medians(&self, arm: usize) -> Option<DisplayValue> {
        let reference = self.reference();
        let share = self.comparison.of_medians(reference, arm)?;
        let source = Operation::Ratio.on([arm, reference].map(|arm| self.of_arm(arm, "median")));
        Some(DisplayValue::bare(Number::Relative(share), source).in_unit(Unit::Share))
    }
}

/// The field of the placement that a doubt is about, in the first comparison of the piece of work.
pub(super) fn of_doubt(place: &PlaceReport, doubt: &PlacementConditions, field: &str) -> Source {
    let of_work =
        Numbered::all(&place.result.comparisons).find(|numbered| numbered.comparison.work == doubt.work);
    let arm = |numbered: &Numbered<'_>| {
        numbered.comparison.arms.iter().position(|arm| arm.placement.name == doubt.placement)
    };
    of_work.and_then(|numbered| Some(numbered.of_arm(arm(&numbered)?, field))).unwrap_or_else(unknown)
}

/// The source of a number whose comparison is missing. No document has this field, so tests that recompute it fail.
pub(super) fn unknown() -> Source {
    Source::Field("/comparisons/unknown".to_owned())
}
