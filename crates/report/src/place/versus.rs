//! The words of a comparison of commands: each arm compared with the baseline, and the rounds that count.

use super::numbers::{Numbered, given};
use crate::blocks::value::{DisplayUnit, DisplayValue, Number, Sentence, Source, pointer};
use crate::blocks::{Block, Cell};
use crate::text::plain;
use coretalk_model::place::{
    ALPHA, Arm, DropCause, Metric, Open, PairVerdict, PlaceSettings, Rounds, effect, least_repetitions,
    most_repetitions,
};
use coretalk_model::quantity::Unit;
use coretalk_model::run::PlaceReport;

// Reasons why a comparison of placements or commands is open.
pub(super) const BELOW_ZERO: &str = "it has values below zero, which cannot be compared by ratio";
pub(super) const DISTURBED: &str = "what other programs, the host or a quota took from the runs may be all that they differ \
    by, or hide that they differ";
pub(super) const MEDIANS: &str = "the medians contradict the runs that were made side by side";

fn word(metric: &Metric, is_better: bool) -> &'static str {
    match (metric.is_time(), is_better) {
        (true, true) => "faster",
        (true, false) => "slower",
        (false, true) => "better",
        (false, false) => "worse",
    }
}

pub(super) fn answer(place: &PlaceReport, headline: Numbered<'_>) -> Sentence {
    let pairs = &headline.comparison.pairs;
    let arms = (0..pairs.len()).filter(|pair| Some(pairs[*pair].b) != place.settings.control());
    Sentence::joined(arms.map(|pair| pair_sentence(place, headline, pair)), " ")
}

fn pair_sentence(place: &PlaceReport, headline: Numbered<'_>, index: usize) -> Sentence {
    let pair = &headline.comparison.pairs[index];
    let metric = &headline.comparison.metric;
    let template = match pair.verdict {
        PairVerdict::Better | PairVerdict::Worse => {
            "`{arm}` is {word} than `{baseline}`: {difference} in {metric} (p {p})."
        }
        PairVerdict::Same => "`{arm}` and `{baseline}` are the same within ±{within} in {metric}.",
        PairVerdict::CannotTell | PairVerdict::Withheld(_) => {
            "Cannot tell whether `{arm}` or `{baseline}` is {word} in {metric}: {why}."
        }
    };
    Sentence::new(template)
        .with("arm", headline.name(pair.b))
        .with("baseline", headline.name(pair.a))
        .with("word", word(metric, pair.verdict != PairVerdict::Worse))
        .with("metric", given(&metric.title))
        .with("difference", headline.difference(pair.b).unwrap_or_else(|| "unknown".into()))
        .with("p", p_value(headline, index))
        .with("within", min_effect(&place.settings))
        .with("why", why_open(place, headline, index))
}

fn p_value(headline: Numbered<'_>, pair: usize) -> DisplayValue {
    let p = headline.comparison.pairs[pair].p_value.unwrap_or(1.0);
    let source = headline.source(&pointer!("pairs/{pair}/p_value"));
    DisplayValue::bare(Number::Probability(p), source).in_unit(Unit::Number)
}

fn min_effect(settings: &PlaceSettings) -> DisplayValue {
    DisplayValue::bare(Number::Point(settings.min_effect), Source::Option("min-effect")).in_unit(Unit::Share)
}

fn why_open(place: &PlaceReport, headline: Numbered<'_>, index: usize) -> Sentence {
    let pair = &headline.comparison.pairs[index];
    let Some(open) = headline.comparison.open_pair(index) else { return "".into() };
    let difference = |arm| headline.difference(arm).unwrap_or_else(|| "unknown".into());
    match open {
        Open::NoValue => "no round is complete".into(),
        Open::BelowZero => BELOW_ZERO.into(),
        Open::TooFewRuns => {
            let least = DisplayValue {
                number: Number::Setting(f64::from(least_repetitions(&place.settings, 0))),
                unit: DisplayUnit::Own(Unit::Number),
                source: Source::Parameter { trial: None, name: "least_repetitions".to_owned() },
            };
            Sentence::new("{made} of the {least} rounds that a verdict needs")
                .with("made", headline.runs(pair.b))
                .with("least", least)
        }
        Open::Disturbed => DISTURBED.into(),
        Open::Medians => MEDIANS.into(),
        Open::Neither => {
            let template = match pair.p_value {
                Some(p) if p > ALPHA => {
                    "the difference of {difference} may be chance (p {p}, where at most {alpha} is needed)"
                }
                _ => "the difference of {difference} may or may not exceed ±{within}",
            };
            Sentence::new(template)
                .with("difference", difference(pair.b))
                .with("p", p_value(headline, index))
                .with(
                    "alpha",
                    DisplayValue::bare(Number::Probability(ALPHA), Source::Method).in_unit(Unit::Number),
                )
                .with("within", min_effect(&place.settings))
        }
        Open::Control => {
            let control = place.settings.control().unwrap_or(pair.b);
            Sentence::new(
                "`{control}`, which runs the command of `{baseline}` once more, differs from it in some metric (here \
                 {difference}), so the machine did not treat all arms alike",
            )
            .with("control", headline.name(control))
            .with("baseline", headline.name(pair.a))
            .with("difference", difference(control))
        }
        Open::Noisy => {
            let rounds = &place.result.rounds;
            let disturbed = rounds.disturbed() as usize;
            Sentence::new(
                "{dropped} of {rounds} rounds were disturbed; stop other programs, or choose other CPUs with --cpus",
            )
            .with("dropped", DisplayValue::listed(disturbed))
            .with("rounds", DisplayValue::listed(disturbed + rounds.kept as usize))
        }
        Open::Uneven => {
            "the disturbances hit one arm more often than chance allows, and with the dropped rounds the \
            verdict is another one"
                .into()
        }
    }
}

pub(super) fn verdict(place: &PlaceReport, numbered: Numbered<'_>, arm: usize) -> Cell {
    let Some(index) = numbered.pair(arm).filter(|_| arm > 0) else { return "baseline".into() };
    match numbered.comparison.pairs[index].verdict {
        PairVerdict::Better => word(&numbered.comparison.metric, true).into(),
        PairVerdict::Worse => word(&numbered.comparison.metric, false).into(),
        PairVerdict::Same => {
            Sentence::new("same within ±{within}").with("within", min_effect(&place.settings)).into()
        }
        PairVerdict::CannotTell | PairVerdict::Withheld(_) => match numbered.comparison.open_pair(index) {
            Some(Open::NoValue) => "unknown".into(),
            Some(Open::BelowZero) => "not tested: below zero".into(),
            _ => "cannot tell".into(),
        },
    }
}

pub(super) fn rounds(place: &PlaceReport, headline: Numbered<'_>) -> Vec<Block<'static>> {
    let rounds = &place.result.rounds;
    let mut blocks = Vec::new();
    if !rounds.dropped.is_empty() {
        let counted = DropCause::ALL.into_iter().filter_map(|cause| {
            let count = rounds.dropped.iter().filter(|round| round.cause == cause).count();
            let counted = Sentence::new("{count} {cause}").with("count", DisplayValue::listed(count));
            (count > 0).then(|| counted.with("cause", in_words(cause)))
        });
        let template = "{number} round{s} dropped as a whole: {causes}.";
        let sentence = Sentence::pluralized(template, DisplayValue::listed(rounds.dropped.len()));
        blocks.push(Block::Prose(sentence.with("causes", Sentence::joined(counted, ", "))));
    }
    let baseline = &headline.comparison.arms[0];
    let names = || headline.comparison.arms.iter().skip(1).map(|arm| plain(&arm.placement.name));
    let widest = names().map(|name| name.chars().count()).max().unwrap_or(0);
    let mut strips = Vec::new();
    for (arm, name) in headline.comparison.arms.iter().skip(1).zip(names()) {
        let strip: Vec<char> = strip(place, rounds, baseline, arm).unwrap_or_default().chars().collect();
        let label = " ".repeat(widest - name.chars().count()) + &name;
        let lines =
            strip.chunks(STRIP_WIDTH).map(|line| Block::Command(label.clone(), line.iter().collect()));
        strips.extend(lines);
    }
    if !strips.is_empty() {
        let legend = "The rounds in order, each relative to the baseline: + more and - less by at least the smallest effect, = \
            neither, ? no ratio, x dropped.";
        blocks.push(Block::Gap);
        blocks.extend(strips);
        blocks.push(Block::Remark(legend.into()));
    }
    if rounds.kept >= most_repetitions(&place.settings) {
        let most = DisplayValue::listed(rounds.kept as usize);
        blocks.push(Block::Prose(Sentence::pluralized(
            "It ended after {number} round{s}, the most that are made.",
            most,
        )));
    }
    blocks
}

/// Characters per line of the strip, so that it fits a phone.
const STRIP_WIDTH: usize = 40;

const fn in_words(cause: DropCause) -> &'static str {
    match cause {
        DropCause::Quota => "throttled by the CPU quota",
        DropCause::Steal => "slowed by the host or by interrupts",
        DropCause::Preempted => "slowed by other programs",
        DropCause::Unfinished => "not finished",
    }
}

/// A character per round; `None` without a round.
fn strip(place: &PlaceReport, rounds: &Rounds, baseline: &Arm, arm: &Arm) -> Option<String> {
    let value = |arm: &Arm, round: u32| {
        arm.repetitions.iter().position(|known| *known == round).map(|index| arm.runs[index])
    };
    let dropped = || rounds.dropped.iter().map(|dropped| dropped.round);
    let character = |round: u32| {
        if dropped().any(|known| known == round) {
            return Some('x');
        }
        let (before, after) = value(baseline, round).zip(value(arm, round))?;
        let share = after / before - 1.0;
        Some(match () {
            () if share.is_finite() && effect(share) < place.settings.min_effect => '=',
            () if share > 0.0 => '+',
            () if share < 0.0 => '-',
            () => '?',
        })
    };
    let last = dropped().chain(arm.repetitions.iter().copied()).max()?;
    let strip: String = (0..=last).filter_map(character).collect();
    (!strip.is_empty()).then_some(strip)
}
