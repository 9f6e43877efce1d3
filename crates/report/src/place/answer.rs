//! The answer of a comparison of placements: the winner of the headline metric and its lead, or why it is unknown.

use super::numbers::{Numbered, given, unknown};
use super::versus::{self, BELOW_ZERO, DISTURBED, MEDIANS};
use crate::blocks::value::{Arg, DisplayUnit, DisplayValue, Number, Sentence, Source};
use coretalk_model::place::{PlaceOutcome, ShownPair, Unanswered, unanswered};
use coretalk_model::quantity::{Better, Unit};
use coretalk_model::run::PlaceReport;

impl Numbered<'_> {
    fn pair_sentence(&self, pair: &ShownPair, min_effect: f64) -> Sentence {
        match *pair {
            ShownPair::Beats { winner, loser } => Sentence::new("`{winner}` beats `{loser}`")
                .with("winner", self.name(winner))
                .with("loser", self.name(loser)),
            ShownPair::Differs { pair } => {
                let difference = &self.comparison.pairs[pair];
                let share = difference.share.map_or(0.0, |share| share.point);
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
                let share = DisplayValue::bare(Number::Point(share.abs()), self.of_pair(pair, false));
                let least = DisplayValue::bare(Number::Point(min_effect), Source::Option("min-effect"));
                Sentence::new(template)
                    .with("a", self.name(difference.a))
                    .with("b", self.name(difference.b))
                    .with("share", share.in_unit(Unit::Share))
                    .with("least", least.in_unit(Unit::Share))
            }
        }
    }
}

pub fn answer(place: &PlaceReport, headline: Numbered<'_>) -> Sentence {
    let comparison = headline.comparison;
    let metric = given(&comparison.metric.title);
    match &comparison.outcome {
        PlaceOutcome::Winner { winner, runner_up, share, p_value } => {
            let template = match (comparison.metric.better, share.point.is_finite()) {
                (Better::Higher, _) => "`{winner}` wins in {metric}: `{next}` has {share} less (p {p}).",
                (Better::Lower, true) => "`{winner}` wins in {metric}: `{next}` takes {share} more (p {p}).",
                (Better::Lower, false) => {
                    "`{winner}` wins in {metric}: `{next}` has {theirs} where `{winner}` has {mine} (p {p})."
                }
            };
            let source = headline
                .pair(*runner_up)
                .map_or_else(unknown, |pair| headline.of_pair(pair, runner_up < winner));
            let size = DisplayValue::bare(Number::Size(*share), source).in_unit(Unit::Share);
            let p = DisplayValue::bare(Number::Probability(*p_value), headline.source("p_value"));
            let median =
                |arm| headline.median(arm).map_or("some".into(), |it| Arg::from(it.in_unit(Unit::Number)));
            Sentence::new(template)
                .with("winner", headline.name(*winner))
                .with("metric", metric)
                .with("next", headline.name(*runner_up))
                .with("p", p.in_unit(Unit::Number))
                .with("share", size)
                .with("theirs", median(*runner_up))
                .with("mine", median(*winner))
        }
        PlaceOutcome::Same { within } => {
            let within = DisplayValue::bare(Number::Point(*within), headline.source("within_percent"));
            Sentence::new(
                "The placement does not matter here: none differs by more than {share} in {metric}.",
            )
            .with("share", within.in_unit(Unit::Share))
            .with("metric", metric)
        }
        PlaceOutcome::PerArm => versus::answer(place, headline),
        PlaceOutcome::CannotTell | PlaceOutcome::NotTested => {
            Sentence::new("Cannot tell which placement wins in {metric}: {why}.")
                .with("metric", metric)
                .with("why", why_unknown(place, headline))
        }
    }
}

fn why_unknown(place: &PlaceReport, numbers: Numbered<'_>) -> Sentence {
    match unanswered(&place.settings, numbers.comparison) {
        Some(Unanswered::BelowZero) => BELOW_ZERO.into(),
        Some(Unanswered::FewRuns { least, arm, is_asked }) => {
            let template = match is_asked {
                true => {
                    "{made} of the {least} runs {where} that a verdict needs, too few for an interval, as --repeat asks"
                }
                false => "{made} of the {least} runs {where} that a verdict needs",
            };
            let location = match arm {
                Some(arm) => Sentence::new("on `{placement}`").with("placement", numbers.name(arm)),
                None => Sentence::new("per placement"),
            };
            let least = DisplayValue {
                number: Number::Setting(least as f64),
                unit: DisplayUnit::Own(Unit::Number),
                source: Source::Parameter { trial: None, name: "least_repetitions".to_owned() },
            };
            Sentence::new(template)
                .with("made", numbers.runs(arm.unwrap_or(0)))
                .with("least", least)
                .with("where", location)
        }
        Some(Unanswered::Disturbed) => DISTURBED.into(),
        Some(Unanswered::Medians) => MEDIANS.into(),
        Some(Unanswered::Pairs(pairs)) if !pairs.is_empty() => {
            let shown =
                pairs.iter().map(|pair| numbers.pair_sentence(pair, place.settings.min_effect)).collect();
            let template = match numbers.comparison.arms.len() {
                0..=2 => "{pairs}",
                _ => "no placement beats every other, but {pairs}",
            };
            Sentence::new(template).with("pairs", Arg::Parts(shown, ", and "))
        }
        Some(Unanswered::Pairs(_)) | None => Sentence::new("too noisy to call a winner or a tie"),
    }
}
