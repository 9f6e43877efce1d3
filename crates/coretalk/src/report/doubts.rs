//! Trials that cannot be trusted, reason by reason.

use super::text::{count, plain, wrap};
use super::view::parameters;
use coretalk_model::series::TrialResult;

/// Reasons that are told one by one; more are counted.
const MOST_REASONS: usize = 4;

/// Trials that cannot be trusted, by their reason.
pub(super) fn of_trials(trials: &[TrialResult], width: usize) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&TrialResult>)> = Vec::new();
    for trial in trials.iter().filter(|trial| trial.flags.has_doubt() || trial.grade.is_none()) {
        let reason = trial.reason.as_deref().unwrap_or("no reason is known");
        // However wide: one doubt.
        let reason = if width_of(reason).is_some() { TOO_WIDE } else { reason };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, doubted)) => doubted.push(trial),
            None => reasons.push((reason, vec![trial])),
        }
    }
    // What concerns most comes first; the order of the trials decides between equals.
    reasons.sort_by_key(|(_, doubted)| std::cmp::Reverse(doubted.len()));
    let mut lines = Vec::new();
    for (reason, doubted) in reasons.iter().take(MOST_REASONS) {
        let first = doubted.first().map(|trial| named(trial)).unwrap_or_default();
        let widths: Vec<f64> = doubted
            .iter()
            .filter_map(|trial| width_of(trial.reason.as_deref().unwrap_or_default()))
            .collect();
        let reason = &match (*reason, doubted.len()) {
            (TOO_WIDE, 1) => format!("± {:.1} %{TOO_WIDE}", widths.iter().copied().fold(0.0, f64::max)),
            (TOO_WIDE, _) => format!("± up to {:.1} %{TOO_WIDE}", widths.iter().copied().fold(0.0, f64::max)),
            (reason, _) => reason.to_owned(),
        };
        let text = match doubted.len() {
            1 => format!(" ! {first}: {}", plain(reason)),
            many => {
                format!(
                    " ! {many} of {}: {}; first {first}",
                    count(trials.len() as u64, "trial"),
                    plain(reason)
                )
            }
        };
        lines.extend(wrap(&text, width, 3));
    }
    let more: usize = reasons.iter().skip(MOST_REASONS).map(|(_, doubted)| doubted.len()).sum();
    if more > 0 {
        let more = count(more as u64, "more trial");
        lines.extend(wrap(
            &format!(" ! {more} with a doubt; see `flags` and `reason` in the data"),
            width,
            3,
        ));
    }
    lines
}

/// How the reason ends that an interval is wider than it should be; its width stands before.
const TOO_WIDE: &str = " is wider than asked for";

/// Half the interval in percent, where its width is the reason.
fn width_of(reason: &str) -> Option<f64> {
    reason.strip_suffix(TOO_WIDE)?.strip_prefix("± ")?.strip_suffix(" %")?.parse().ok()
}

/// CPUs that are named in a sentence about a trial.
const MOST_NAMED: usize = 4;

/// A trial in a sentence: `wait, strategy busy, CPUs 0-1`.
fn named(trial: &TrialResult) -> String {
    let places = match trial.spec.placement.len() {
        0 => String::new(),
        1 => format!("CPU {}", trial.spec.places()),
        many if many > MOST_NAMED => {
            let first: Vec<String> =
                trial.spec.placement[..MOST_NAMED].iter().map(ToString::to_string).collect();
            format!("CPUs {}-…", first.join("-"))
        }
        _ => format!("CPUs {}", trial.spec.places()),
    };
    let parts = [plain(&trial.spec.probe), plain(&parameters(&trial.spec)), places];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}
