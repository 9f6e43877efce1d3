//! Rounds of a comparison of commands. A disturbed round is dropped as a whole.
//!
//! Disturbances alone decide whether a round is dropped, never its values. A round with one disturbed run is dropped
//! for all arms, so that the kept rounds remain paired. If one arm attracts the disturbances, its kept runs may be
//! faster than usual. Then no verdict is given.

use super::comparison::{DropCause, DroppedRound, OTHERS, Rounds, WAITED};
use super::settings::PlaceSettings;
use crate::series::{PassOutcome, SeriesEntry, SeriesRecord};
use std::collections::BTreeSet;

/// The rounds of the only piece of work of a comparison of commands. An unfinished last round is not counted.
pub(super) fn rounds(settings: &PlaceSettings, record: &SeriesRecord) -> Rounds {
    let arms: Vec<usize> = (0..settings.placements.len()).collect();
    let entries =
        || arms.iter().flat_map(|&arm| record.passes(settings.trial(0, arm)).iter().map(move |e| (arm, e)));
    let numbers: BTreeSet<u32> = entries().map(|(_, entry)| entry.pass).collect();
    let mut rounds = Rounds::default();
    for &round in &numbers {
        let runs: Vec<(usize, &SeriesEntry)> = entries().filter(|(_, entry)| entry.pass == round).collect();
        let found: Vec<(usize, DropCause)> = runs
            .iter()
            .filter_map(|&(arm, entry)| {
                let outcome = entry.outcome.as_ref().ok()?;
                Some((arm, cause(outcome, settings.placements[arm].cpus.len())?))
            })
            .collect();
        let succeeded = runs.iter().filter(|(_, entry)| entry.outcome.is_ok()).count();
        let is_last = numbers.last() == Some(&round);
        match found.first() {
            Some(&(_, cause)) => {
                let arms = found.iter().map(|(arm, _)| *arm).collect();
                rounds.dropped.push(DroppedRound { round, cause, arms });
            }
            None if succeeded == arms.len() => rounds.kept += 1,
            None if is_last => {}
            None => {
                rounds.dropped.push(DroppedRound { round, cause: DropCause::Unfinished, arms: Vec::new() });
            }
        }
    }
    rounds.is_uneven = is_uneven(settings, record, &rounds.dropped);
    rounds
}

/// The record without dropped rounds. A comparison of placements drops none.
pub(super) fn kept(settings: &PlaceSettings, record: &SeriesRecord) -> SeriesRecord {
    if settings.versus.is_none() {
        return record.clone();
    }
    let dropped: BTreeSet<u32> = rounds(settings, record).dropped.iter().map(|round| round.round).collect();
    record.filtered(|entry| entry.outcome.is_err() || !dropped.contains(&entry.pass))
}

/// Maximum undisturbed share of stolen time, or of both waiting and use by others. Observation takes up to 0.01.
pub(super) const DISTURBED_SHARE: f64 = 0.05;
/// Resolution of the stolen time that Linux reports (`USER_HZ`).
const TICK_S: f64 = 0.01;

/// The disturbance of a run according to reports of the system, not to its values.
fn cause(outcome: &PassOutcome, cpus: usize) -> Option<DropCause> {
    let value = |name: &str| outcome.observed.numbers.values.get(name).copied();
    let available_s = value("wall_s").unwrap_or(0.0) * cpus as f64;
    let share = |part: Option<f64>, of: f64| part.filter(|_| of > 0.0).map(|part| part / of);
    // A lower bound of the stolen time, because the first tick may have begun before the run.
    let stolen = share(outcome.steal_ms.map(|ms| (f64::from(ms) / 1e3 - TICK_S).max(0.0)), available_s);
    let ran = value("user_s").zip(value("system_s")).map_or(0.0, |(user, system)| user + system);
    let waited = share(value(WAITED), value(WAITED).unwrap_or(0.0) + ran);
    let others = share(value(OTHERS), available_s);
    let tasks = outcome.observed.numbers.counts.get("tasks").copied();
    match () {
        () if outcome.quota => Some(DropCause::Quota),
        () if stolen.is_some_and(|share| share > DISTURBED_SHARE) => Some(DropCause::Steal),
        () if is_disturbed(waited, others, tasks, cpus) => Some(DropCause::Preempted),
        () => None,
    }
}

/// Waiting alone is no disturbance, because threads may wait for each other. Use by others alone is none, because other
/// programs may use idle time. Together they are. If the use by others is unknown, waiting counts unless the threads
/// may have waited for each other.
pub(super) fn is_disturbed(
    waited: Option<f64>,
    others: Option<f64>,
    tasks: Option<u64>,
    cpus: usize,
) -> bool {
    let much = |share: f64| share > DISTURBED_SHARE;
    match (waited, others) {
        (Some(waited), Some(others)) => much(waited) && much(others),
        (Some(waited), None) => much(waited) && tasks.is_some_and(|tasks| tasks <= cpus as u64),
        (None, _) => false,
    }
}

const UNEVEN_ALPHA: f64 = 0.01;

/// Whether some arm was disturbed more often than by its share of the time (exact binomial test, Bonferroni over arms).
fn is_uneven(settings: &PlaceSettings, record: &SeriesRecord, dropped: &[DroppedRound]) -> bool {
    let arms = settings.placements.len();
    let times: Vec<f64> = (0..arms)
        .map(|arm| record.outcomes(settings.trial(0, arm)).map(|outcome| outcome.elapsed.secs()).sum())
        .collect();
    let all: f64 = times.iter().sum();
    let disturbed = |arm: usize| dropped.iter().filter(|round| round.arms.contains(&arm)).count();
    let total: usize = (0..arms).map(disturbed).sum();
    (0..arms).any(|arm| {
        let share = if all > 0.0 { times[arm] / all } else { 1.0 / arms as f64 };
        at_least(disturbed(arm), total, share) <= UNEVEN_ALPHA / arms as f64
    })
}

fn at_least(number: usize, of: usize, p: f64) -> f64 {
    let mut probabilities = vec![1.0];
    for trial in 0..of {
        probabilities.push(0.0);
        for successes in (0..=trial + 1).rev() {
            let one_less = if successes > 0 { probabilities[successes - 1] } else { 0.0 };
            probabilities[successes] = probabilities[successes] * (1.0 - p) + one_less * p;
        }
    }
    probabilities[number.min(of)..].iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binomial_tail_is_exact() {
        assert!((at_least(0, 10, 0.3) - 1.0).abs() < 1e-15);
        assert!((at_least(10, 10, 0.5) - 1.0 / 1024.0).abs() < 1e-15);
        assert!((at_least(2, 3, 0.5) - 0.5).abs() < 1e-15);
    }
}
