//! Conditions and disturbances of the runs of one piece of work.

use super::comparison::{Failed, OFTEN, OTHERS, PlacementConditions, WAITED};
use super::rounds::is_disturbed;
use super::settings::PlaceSettings;
use crate::series::{PassOutcome, SeriesEntry, SeriesRecord};
use crate::stats::{Detector, median, quantile, split_states};
use crate::{Flag, Flags, Picos, TrialFailure};

/// In a shorter run, the start of the process takes more than a hundredth of the time.
const SHORT_S: f64 = 0.02;
const FREQUENCY_SHARE: f64 = 0.02;
const STOLEN_SHARE: f64 = 0.01;
/// A gap of a tenth splits runs into states of at least three runs each.
const STATES: Detector = Detector { ratio: 1.10, fewest: 3 };

pub(super) fn numbers(record: &SeriesRecord, trial: usize, name: &str) -> Vec<(u32, f64)> {
    let value = |pass: &SeriesEntry| {
        let outcome = pass.outcome.as_ref().ok()?;
        Some((pass.pass, *outcome.observed.numbers.values.get(name)?))
    };
    record.passes(trial).iter().filter_map(value).collect()
}

pub(super) fn doubts(
    settings: &PlaceSettings,
    record: &SeriesRecord,
    work: usize,
) -> Vec<PlacementConditions> {
    let clocks: Vec<Option<f64>> =
        (0..settings.placements.len()).map(|number| core_ghz(record, settings.trial(work, number))).collect();
    let known: Vec<f64> = clocks.iter().flatten().copied().collect();
    let (slowest, fastest) =
        known.iter().fold((f64::INFINITY, 0.0f64), |(low, high), &ghz| (low.min(ghz), high.max(ghz)));
    let of_placement = |(number, placement): (usize, &super::Placement)| {
        let trial = settings.trial(work, number);
        let passes = record.passes(trial);
        let outcomes: Vec<&PassOutcome> = record.outcomes(trial).collect();
        let runs_with = |name: &str| {
            outcomes
                .iter()
                .filter(|outcome| outcome.observed.numbers.counts.get(name).is_some_and(|n| *n > 0))
                .count() as u32
        };
        let failures: Vec<&TrialFailure> =
            passes.iter().filter_map(|pass| pass.outcome.as_ref().err()).collect();
        let tasks =
            outcomes.iter().filter_map(|outcome| outcome.observed.numbers.counts.get("tasks").copied()).max();
        let crowded = outcomes.iter().any(|outcome| outcome.coordinator_shared);
        let walls: Vec<f64> =
            numbers(record, trial, "wall_s").into_iter().map(|(_, wall_s)| wall_s).collect();
        let stolen = stolen_share(&outcomes, placement.cpus.len());
        let mut flags =
            outcomes.iter().fold(Flags::NONE, |flags, outcome| flags.union(outcome.observed.flags));
        // A quota makes threads wait for a CPU and slows the measured clock.
        let has_quota = outcomes.iter().any(|outcome| outcome.quota);
        if has_quota {
            flags.set(Flag::Quota);
        } else if clock_varies(record, trial) || fastest > slowest * (1.0 + FREQUENCY_SHARE) {
            flags.set(Flag::Freq);
        }
        if stolen.is_some_and(|share| share > STOLEN_SHARE) {
            flags.set(Flag::Steal);
        }
        let [waited, others] = waited_and_others(record, trial, placement.cpus.len());
        if !has_quota && is_disturbed(waited, others, tasks, placement.cpus.len()) {
            flags.set(Flag::Preempted);
        }
        let headline: Vec<f64> = numbers(record, trial, &settings.works[work].metrics[0].name)
            .into_iter()
            .map(|(_, value)| value)
            .filter(|value| *value > 0.0)
            .collect();
        if crowded {
            flags.set(Flag::CoordShared);
        }
        if split_states(&headline, STATES).len() > 1 {
            flags.set(Flag::Multimodal);
        }
        PlacementConditions {
            work: settings.works[work].name.clone(),
            placement: placement.name.clone(),
            runs: passes.len() as u32,
            failed: failures.last().map(|last| failed(failures.len() as u32, last)),
            core_ghz: clocks[number],
            left: runs_with("left"),
            narrowed: runs_with("narrowed"),
            orphans: runs_with("orphans"),
            tasks,
            crowded_s: median(&walls).filter(|wall_s| crowded && *wall_s < SHORT_S),
            stolen,
            waited,
            others,
            flags,
        }
    };
    settings.placements.iter().enumerate().map(of_placement).collect()
}

fn failed(runs: u32, last: &TrialFailure) -> Failed {
    let (end, stdout, stderr) = match last {
        TrialFailure::Command { end, stdout, stderr, .. } => (*end, stdout.clone(), stderr.clone()),
        _ => (None, String::new(), String::new()),
    };
    Failed { runs, reason: last.to_string(), end, stdout, stderr }
}

fn waited_and_others(record: &SeriesRecord, trial: usize, cpus: usize) -> [Option<f64>; 2] {
    let total = |name: &str| -> Option<f64> {
        let found = numbers(record, trial, name);
        (!found.is_empty()).then(|| found.iter().map(|(_, value)| value).sum())
    };
    let ran = total("user_s").zip(total("system_s")).map(|(user, system)| user + system);
    let share = |part: Option<f64>, whole: Option<f64>| {
        part.zip(whole).filter(|(_, whole)| *whole > 0.0).map(|(part, whole)| (part / whole).min(1.0))
    };
    let waited = total(WAITED);
    let wanted = waited.zip(ran).map(|(waited, ran)| waited + ran);
    let available = total("wall_s").map(|wall_s| wall_s * cpus as f64);
    [share(waited, wanted), share(total(OTHERS), available)]
}

fn clock_varies(record: &SeriesRecord, trial: usize) -> bool {
    let clocks = clocks(record, trial);
    let ends = quantile(&clocks, OFTEN).zip(quantile(&clocks, 1.0 - OFTEN));
    ends.is_some_and(|(low, high)| high > low * (1.0 + FREQUENCY_SHARE))
}

fn core_ghz(record: &SeriesRecord, trial: usize) -> Option<f64> {
    median(&clocks(record, trial))
}

fn clocks(record: &SeriesRecord, trial: usize) -> Vec<f64> {
    numbers(record, trial, "core_ghz").into_iter().map(|(_, ghz)| ghz).collect()
}

fn stolen_share(outcomes: &[&PassOutcome], cpus: usize) -> Option<f64> {
    let stolen: Option<f64> = outcomes.iter().map(|outcome| outcome.steal_ms.map(f64::from)).sum();
    let elapsed: Picos = outcomes.iter().fold(Picos::ZERO, |sum, outcome| sum + outcome.elapsed);
    let available_ms = elapsed.secs() * 1e3 * cpus as f64;
    stolen.filter(|_| available_ms > 0.0).map(|stolen| stolen / available_ms)
}
