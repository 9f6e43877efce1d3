//! Trials that cannot be trusted, reason by reason.

use super::parameters::{parameters, unbound};
use super::text::{count, percent, plain};
use crate::SeriesReport;
use crate::blocks::Block;
use coretalk_measure::series::mask_of;
use coretalk_model::series::{About, TrialResult};
use coretalk_model::stats::WIDEST_STATED;

/// Reasons that are told one by one; more are counted.
const MOST_REASONS: usize = 4;

/// Trials that cannot be trusted, by their reason.
pub(super) fn of_trials(series: &SeriesReport) -> Vec<Block<'static>> {
    let trials = &series.result.trials;
    let precision = percent(series.settings.precision);
    let mut reasons: Vec<(Alike<'_>, Vec<&TrialResult>)> = Vec::new();
    for trial in trials.iter().filter(|trial| trial.flags.has_doubt() || trial.grade.is_none()) {
        let alike = Alike::of(trial);
        match reasons.iter_mut().find(|(known, _)| *known == alike) {
            Some((_, doubted)) => doubted.push(trial),
            None => reasons.push((alike, vec![trial])),
        }
    }
    // What concerns most comes first; the order of the trials decides between equals.
    reasons.sort_by_key(|(_, doubted)| std::cmp::Reverse(doubted.len()));
    let told = reasons.iter().take(MOST_REASONS).map(|(alike, doubted)| {
        let first = doubted.first().map(|trial| named(trial)).unwrap_or_default();
        let all = count(trials.len() as u64, "result");
        match (alike, doubted.len()) {
            (_, 1) => format!("{first}: {}", plain(&alike.reason(doubted))),
            (Alike::Words(reason), many) => format!("{many} of {all}: {}; first: {first}", plain(reason)),
            (_, many) => {
                let steps = if *alike == Alike::Coarse { ", for which the clock is too coarse" } else { "" };
                format!(
                    "{many} of {all} missed ±{precision}{steps} (worst {}); first: {first}",
                    worst(doubted)
                )
            }
        }
    });
    let more: usize = reasons.iter().skip(MOST_REASONS).map(|(_, doubted)| doubted.len()).sum();
    let more = (more > 0).then(|| count(more as u64, "more doubtful result"));
    let more = more.map(|more| format!("{more}; see `flags` and `reason` in the data"));
    told.chain(more).map(|text| Block::Doubt(text.into())).collect()
}

/// Reasons that are one doubt, whatever their numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Alike<'a> {
    Wide,
    Coarse,
    Words(&'a str),
}

impl<'a> Alike<'a> {
    fn of(trial: &'a TrialResult) -> Alike<'a> {
        let Some(reason) = &trial.reason else { return Alike::Words("no reason is known") };
        match reason.about {
            About::Width(_) => Alike::Wide,
            About::Steps(_) => Alike::Coarse,
            About::NotReached | About::Words => Alike::Words(reason.as_str()),
        }
    }

    /// The sentence about one of them.
    fn reason(self, doubted: &[&TrialResult]) -> String {
        match self {
            Alike::Words(words) => words.to_owned(),
            _ => doubted[0].reason.as_ref().map(ToString::to_string).unwrap_or_default(),
        }
    }
}

/// The widest half interval of them.
fn worst(doubted: &[&TrialResult]) -> String {
    let widths = doubted.iter().filter_map(|trial| match trial.reason.as_ref()?.about {
        About::Width(width) | About::Steps(width) => Some(width),
        About::NotReached | About::Words => None,
    });
    let widest = widths.fold(0.0, f64::max);
    let percent = 100.0 * widest;
    // 2.04 % is not 2 %.
    match percent {
        _ if widest >= WIDEST_STATED => "too wide to state".to_owned(),
        percent if percent < 9.95 => format!("±{percent:.2} %"),
        percent if percent < 99.95 => format!("±{percent:.1} %"),
        percent => format!("±{percent:.0} %"),
    }
}

/// CPUs that are named in a sentence about a trial.
const MOST_NAMED: usize = 4;

/// A trial in a sentence: `wait, strategy busy, CPUs 0-1`.
pub(super) fn named(trial: &TrialResult) -> String {
    let cpus = match (mask_of(&trial.spec), trial.spec.placement.len()) {
        (Some(mask), _) => unbound(&trial.spec.placement, mask),
        (None, 0) => String::new(),
        (None, 1) => format!("CPU {}", trial.spec.cpu_list()),
        (None, many) if many > MOST_NAMED => {
            let first: Vec<String> =
                trial.spec.placement[..MOST_NAMED].iter().map(ToString::to_string).collect();
            format!("CPUs {}-…", first.join("-"))
        }
        _ => format!("CPUs {}", trial.spec.cpu_list()),
    };
    let parts = [plain(&trial.spec.probe), plain(&parameters(&trial.spec)), cpus];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}
