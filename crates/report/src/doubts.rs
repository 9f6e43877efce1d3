//! Untrustworthy trials, grouped by reason.

use super::fmt;
use super::parameters::{cpu_words, in_role_order, parameters, unbound};
use crate::blocks::Block;
use crate::blocks::value::{DisplayUnit, DisplayValue, Number, Sentence, Source};
use crate::reasons::of_trial;
use coretalk_model::Reason;
use coretalk_model::quantity::Unit;
use coretalk_model::run::SeriesReport;
use coretalk_model::series::MASK;
use coretalk_model::series::TrialResult;
use coretalk_model::stats::WIDEST_STATED;

const MAX_REASONS: usize = 4;

pub(super) fn of_trials(series: &SeriesReport) -> Vec<Block<'static>> {
    let trials = &series.result.trials;
    let precision = Number::Point(series.settings.precision);
    let precision = DisplayValue::bare(precision, Source::Option("precision")).in_unit(Unit::Share);
    let mut reasons: Vec<(ReasonGroup, Vec<&TrialResult>)> = Vec::new();
    for trial in trials.iter().filter(|trial| trial.flags.has_doubt() || trial.grade.is_none()) {
        let group = ReasonGroup::from_trial(trial);
        match reasons.iter_mut().find(|(known, _)| *known == group) {
            Some((_, doubted)) => doubted.push(trial),
            None => reasons.push((group, vec![trial])),
        }
    }
    // Reasons with the most trials come first.
    reasons.sort_by_key(|(_, doubted)| std::cmp::Reverse(doubted.len()));
    let shown = reasons.iter().take(MAX_REASONS).map(|(group, doubted)| {
        let first = doubted.first().map_or(Sentence::new(""), |trial| named(trial));
        let several = |template| {
            Sentence::new(template)
                .with("many", DisplayValue::listed(doubted.len()))
                .with(
                    "all",
                    Sentence::counted(
                        trials.len() as u64,
                        Source::Trials { probe: None, changed: false },
                        ["result", "results"],
                    ),
                )
                .with("first", first.clone())
        };
        match (group, doubted.len()) {
            (_, 1) => {
                Sentence::new("{first}: {reason}").with("first", first).with("reason", reason(doubted[0]))
            }
            (ReasonGroup::Words(_), _) => {
                several("{many} of {all}: {reason}; first: {first}").with("reason", reason(doubted[0]))
            }
            _ => several("{many} of {all} missed ±{precision}{steps} (worst {worst}); first: {first}")
                .with("precision", precision.clone())
                .with(
                    "steps",
                    if *group == ReasonGroup::Coarse { ", for which the clock is too coarse" } else { "" },
                )
                .with("worst", worst(doubted)),
        }
    });
    let more: usize = reasons.iter().skip(MAX_REASONS).map(|(_, doubted)| doubted.len()).sum();
    let more = (more > 0).then(|| {
        let template = "{number} more doubtful result{s}; see `flags` and `reason` in the data";
        Sentence::pluralized(template, DisplayValue::listed(more))
    });
    shown.chain(more).map(Block::Doubt).collect()
}

/// A reason without its numbers, so that trials with the same problem are grouped.
#[derive(Debug, PartialEq)]
enum ReasonGroup {
    Wide,
    Coarse,
    Words(String),
}

impl ReasonGroup {
    fn from_trial(trial: &TrialResult) -> ReasonGroup {
        match trial.reason {
            Some(Reason::Wide(_)) => ReasonGroup::Wide,
            Some(Reason::Steps(_)) => ReasonGroup::Coarse,
            _ => ReasonGroup::Words(fmt::sentence(&reason(trial))),
        }
    }
}

fn reason(trial: &TrialResult) -> Sentence {
    of_trial(trial).unwrap_or("no reason is known".into())
}

/// The widest half interval of these trials, with enough decimals that 2.04 % does not read as 2 %.
fn worst(doubted: &[&TrialResult]) -> Sentence {
    let width = |trial: &&TrialResult| match trial.reason {
        Some(Reason::Wide(width) | Reason::Steps(width)) => Some((width, trial.spec.id())),
        _ => None,
    };
    let widest = doubted.iter().filter_map(width).max_by(|one, other| one.0.total_cmp(&other.0));
    let Some((widest, trial)) = widest.filter(|(widest, _)| *widest < WIDEST_STATED) else {
        return Sentence::new("too wide to state");
    };
    let decimals = match 100.0 * widest {
        percent if percent < 9.95 => 2,
        percent if percent < 99.95 => 1,
        _ => 0,
    };
    let widest = DisplayValue {
        number: Number::Point(100.0 * widest),
        unit: DisplayUnit::Decimals(decimals),
        source: Source::of_any(trial, "/reason"),
    };
    Sentence::new("±{widest} %").with("widest", widest)
}

const MAX_NAMED: usize = 4;

pub(super) fn named(trial: &TrialResult) -> Sentence {
    let placement = &trial.spec.placement;
    let place = match (trial.spec.mask(), &placement[..]) {
        (Some(mask), _) => Some(unbound(placement, mask)),
        (None, []) => None,
        (None, many) if many.len() > MAX_NAMED => {
            Some(Sentence::new("CPUs {cpus}-…").with("cpus", in_role_order(&many[..MAX_NAMED], "-")))
        }
        (None, some) => Some(cpu_words(some)),
    };
    let probe = Sentence::name(&trial.spec.probe);
    let is_shown = trial.spec.parameters.iter().any(|(name, _)| name != MASK);
    let parameters = is_shown.then(|| parameters(&trial.spec));
    Sentence::joined([Some(probe), parameters, place].into_iter().flatten(), ", ")
}
