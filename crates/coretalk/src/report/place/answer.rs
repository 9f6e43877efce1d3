//! The answer of a comparison of placements: which one wins the headline metric and by how much, or why nobody can tell.

use crate::PlaceReport;
use crate::blocks::value::{
    Arg, ComparisonPart, DisplayUnit, DisplayValue, Number, PlainText, Sentence, Source,
};
use coretalk_model::place::{Comparison, Outcome, ShownPair, Unanswered, unanswered};
use coretalk_model::quantity::{Better, Unit};
use coretalk_model::stats::Estimate;

/// The numbers and names of one comparison.
struct Numbers<'a> {
    comparison: &'a Comparison,
    index: usize,
}

impl Numbers<'_> {
    fn value(&self, part: ComparisonPart, key: &'static str, number: Number, unit: Unit) -> DisplayValue {
        let source = Source::Comparison { index: self.index, part, key };
        DisplayValue { number, unit: DisplayUnit::Own(unit), source }
    }

    fn of_whole(&self, key: &'static str, number: Number, unit: Unit) -> DisplayValue {
        self.value(ComparisonPart::Whole, key, number, unit)
    }

    fn name(&self, arm: usize) -> PlainText {
        given(&self.comparison.arms[arm].placement.name)
    }

    fn median(&self, arm: usize) -> Arg {
        match self.comparison.arms[arm].median {
            Some(median) => {
                let number = Number::Point(median.point);
                self.value(ComparisonPart::Placement(arm), "median", number, Unit::Number).into()
            }
            None => "some".into(),
        }
    }

    fn pair(&self, pair: &ShownPair, min_effect: f64) -> Sentence {
        match *pair {
            ShownPair::Beats { winner, loser } => Sentence::new("`{winner}` beats `{loser}`")
                .with("winner", self.name(winner))
                .with("loser", self.name(loser)),
            ShownPair::Differs { pair } => {
                let of = &self.comparison.pairs[pair];
                let share = of.share.map_or(0.0, |share| share.point);
                let template = match (self.comparison.metric.better, share > 0.0) {
                    (Better::Higher, true) => {
                        "`{b}` has {share} more than `{a}`, which may or may not exceed ±{least}"
                    }
                    (Better::Higher, false) => {
                        "`{b}` has {share} less than `{a}`, which may or may not exceed ±{least}"
                    }
                    (Better::Lower, true) => {
                        "`{b}` takes {share} more than `{a}`, which may or may not exceed ±{least}"
                    }
                    (Better::Lower, false) => {
                        "`{b}` takes {share} less than `{a}`, which may or may not exceed ±{least}"
                    }
                };
                // The number of the table: the latter of the two against the former.
                let part = ComparisonPart::Pair(pair);
                let share = self.value(part, "delta_percent", Number::Point(share.abs()), Unit::Share);
                Sentence::new(template)
                    .with("a", self.name(of.a))
                    .with("b", self.name(of.b))
                    .with("share", share)
                    .with("least", setting("min_effect", Number::Point(min_effect), Unit::Share))
            }
        }
    }
}

/// A name that a user may have given.
pub(super) fn given(name: &str) -> PlainText {
    PlainText::untrusted(name)
}

fn setting(name: &'static str, number: Number, unit: Unit) -> DisplayValue {
    DisplayValue {
        number,
        unit: DisplayUnit::Own(unit),
        source: Source::Parameter { trial: None, name: name.to_owned() },
    }
}

/// Which placement wins the headline metric of a piece of work, by how much, or why that is unknown.
pub fn answer(place: &PlaceReport, headline: &Comparison) -> Sentence {
    let index = place.result.comparisons.iter().position(|comparison| std::ptr::eq(comparison, headline));
    let numbers = Numbers { comparison: headline, index: index.unwrap_or(0) };
    let metric = given(&headline.metric.title);
    match &headline.outcome {
        Outcome::Winner { winner, runner_up, share, p_value } => {
            let template = match (headline.metric.better, share.point.is_finite()) {
                (Better::Higher, _) => "`{winner}` wins in {metric}: `{next}` has {share} less (p {p}).",
                (Better::Lower, true) => "`{winner}` wins in {metric}: `{next}` takes {share} more (p {p}).",
                (Better::Lower, false) => {
                    "`{winner}` wins in {metric}: `{next}` has {theirs} where `{winner}` has {mine} (p {p})."
                }
            };
            let Estimate { point, low, high, .. } = *share;
            let size = if point < 0.0 {
                Estimate { point: -point, low: -high, high: -low, ..*share }
            } else {
                *share
            };
            Sentence::new(template)
                .with("winner", numbers.name(*winner))
                .with("metric", metric)
                .with("next", numbers.name(*runner_up))
                .with("p", numbers.of_whole("p_value", Number::Probability(*p_value), Unit::Number))
                .with("share", numbers.of_whole("delta_percent", Number::Size(size), Unit::Share))
                .with("theirs", numbers.median(*runner_up))
                .with("mine", numbers.median(*winner))
        }
        Outcome::Same { within } => Sentence::new(
            "The placement does not matter here: none differs by more than {share} in {metric}.",
        )
        .with("share", numbers.of_whole("within_percent", Number::Point(*within), Unit::Share))
        .with("metric", metric),
        Outcome::CannotTell | Outcome::NotTested => {
            Sentence::new("Cannot tell which placement wins in {metric}: {why}.")
                .with("metric", metric)
                .with("why", why_unknown(place, &numbers))
        }
    }
}

fn why_unknown(place: &PlaceReport, numbers: &Numbers<'_>) -> Sentence {
    match unanswered(&place.settings, numbers.comparison) {
        Some(Unanswered::BelowZero) => {
            Sentence::new("it has values below zero, which cannot be compared by ratio")
        }
        Some(Unanswered::FewRuns { made, least, arm, is_asked }) => {
            let template = match is_asked {
                true => {
                    "{made} of the {least} runs {where} that a verdict needs, too few for an interval, as --repeat asks"
                }
                false => "{made} of the {least} runs {where} that a verdict needs",
            };
            let on = match arm {
                Some(arm) => Sentence::new("on `{placement}`").with("placement", numbers.name(arm)),
                None => Sentence::new("per placement"),
            };
            Sentence::new(template)
                .with("made", DisplayValue::listed(made))
                .with("least", setting("least_repetitions", Number::Setting(least as f64), Unit::Number))
                .with("where", on)
        }
        Some(Unanswered::Disturbed) => Sentence::new(
            "what other programs, the host or a quota took from the runs may be all that they differ by, or hide that \
             they differ",
        ),
        Some(Unanswered::Medians) => {
            Sentence::new("the medians contradict the runs that were made side by side")
        }
        Some(Unanswered::Pairs(pairs)) if !pairs.is_empty() => {
            let shown = pairs.iter().map(|pair| numbers.pair(pair, place.settings.min_effect)).collect();
            let template = match numbers.comparison.arms.len() {
                0..=2 => "{pairs}",
                _ => "no placement beats every other, but {pairs}",
            };
            Sentence::new(template).with("pairs", Arg::Parts(shown, ", and "))
        }
        Some(Unanswered::Pairs(_)) | None => Sentence::new("too noisy to call a winner or a tie"),
    }
}
