//! Derives the result of a comparison from its runs, both for the stopping rule of a session and for stored runs.

use super::comparison::{
    Arm, Comparison, Difference, Failed, Metric, OFTEN, OTHERS, Open, Outcome, PlaceResult,
    PlacementConditions, Role, WAITED, effect,
};
use super::settings::PlaceSettings;
use crate::quantity::Better;
use crate::series::{PassOutcome, SeriesRecord};
use crate::stats::compare::{Equivalence, paired_shift, verdict};
use crate::stats::multiple::holm;
use crate::stats::permutation::{fewest_pairs, signed_rank_p};
use crate::stats::{
    Detector, Estimate, elementary, interpolated_median_interval, median, quantile, split_states,
};
use crate::{Flag, Flags, Picos, TrialFailure};
use std::collections::BTreeSet;

/// Family-wise error of all tests of one piece of work. It keeps a placement from beating itself, which the smallest
/// effect alone does not prevent with few runs.
pub const ALPHA: f64 = 0.005;
/// Significance level of displayed intervals (95 %).
pub(super) const SHOWN_ALPHA: f64 = 0.05;
/// Stands for ln of a ratio with a zero: beyond that of any two positive numbers.
const BEYOND: f64 = 700.0;
/// Runs shorter than this consist of their start to more than a hundredth.
const SHORT_S: f64 = 0.02;
/// Relative difference of core clocks, within or between placements, that is flagged.
const FREQUENCY_SHARE: f64 = 0.02;
const STOLEN_SHARE: f64 = 0.01;
/// Waiting share of ready threads, and share of the CPUs used by others, that are flagged if both exceed this. The
/// system counts CPU time in hundredths of a second, and observing takes a hundredth.
const DISTURBED_SHARE: f64 = 0.05;
/// A gap of a tenth splits runs into states of at least three runs each.
const STATES: Detector = Detector { ratio: 1.10, fewest: 3 };

/// Analyses all runs.
pub fn analyse_places(settings: &PlaceSettings, record: &SeriesRecord) -> PlaceResult {
    let mut result = PlaceResult {
        complete: record.complete,
        budget_ended: record.budget_ended,
        ..PlaceResult::default()
    };
    for work in 0..settings.works.len() {
        let doubts = doubts(settings, record, work);
        let comparisons = compare(settings, record, work).into_iter();
        result.comparisons.extend(comparisons.map(|found| withheld(settings.min_effect, found, &doubts)));
        result.doubts.extend(doubts);
    }
    result
}

/// How many more times a piece of work should run on each placement of `here`, those that can still be run; 0 once it
/// has the requested repetitions, enough for its tests to reach [`ALPHA`], and every difference of its headline has the
/// requested precision. More than 1 is an estimate: intervals shrink with the square root of the number of runs.
pub fn repetitions_due(settings: &PlaceSettings, record: &SeriesRecord, work: usize, here: &[usize]) -> u32 {
    let made = whole(settings, record, work, here).len() as u32;
    let most = most_repetitions(settings);
    if made >= most {
        return 0;
    }
    let headline = &settings.works[work].metrics[0];
    let shifts = pairs(here.len()).filter_map(|(a, b)| {
        let ratios = log_ratios(&both(settings, record, work, [here[a], here[b]], &headline.name))?;
        paired_shift(&ratios, SHOWN_ALPHA)
    });
    let widest = shifts.map(|shift| shift.reach()).fold(0.0, f64::max);
    let least = least_repetitions(settings, work).saturating_sub(made);
    if widest <= settings.precision {
        return least;
    }
    let needed = (f64::from(made) * (widest / settings.precision).powi(2)).ceil() as u32;
    needed.min(most).saturating_sub(made).max(least).max(1)
}

/// Minimum number of runs on each placement: those requested, and enough for a verdict unless fewer were requested than
/// any interval needs.
pub fn least_repetitions(settings: &PlaceSettings, work: usize) -> u32 {
    match has_intervals(settings) {
        true => settings.repeat.max(verdict_repetitions(settings, work)),
        false => settings.repeat,
    }
}

/// Maximum number of runs on each placement.
pub fn most_repetitions(settings: &PlaceSettings) -> u32 {
    if has_intervals(settings) { MAX_REPETITIONS } else { settings.repeat }
}

/// Whether enough runs for a 95 % interval were requested.
pub fn has_intervals(settings: &PlaceSettings) -> bool {
    settings.repeat >= fewest_pairs(SHOWN_ALPHA)
}

/// Minimum number of runs on each placement for tests that can reach [`ALPHA`] after correction for their number.
pub fn verdict_repetitions(settings: &PlaceSettings, work: usize) -> u32 {
    let judged = settings.works[work].metrics.iter().filter(|metric| metric.role == Role::Judged).count();
    let count = settings.placements.len();
    let tests = (judged * count * count.saturating_sub(1) / 2).max(1);
    fewest_pairs(ALPHA / tests as f64)
}

/// With more runs, the interval is narrower than the drift of the machine from hour to hour.
const MAX_REPETITIONS: u32 = 200;

/// Repetitions that are complete on all of some placements.
fn whole(settings: &PlaceSettings, record: &SeriesRecord, work: usize, here: &[usize]) -> BTreeSet<u32> {
    let of = |placement: usize| -> BTreeSet<u32> {
        let passes = record.passes(settings.trial(work, placement)).iter();
        passes.filter(|pass| pass.outcome.is_ok()).map(|pass| pass.pass).collect()
    };
    here.iter().map(|&placement| of(placement)).reduce(|all, of| &all & &of).unwrap_or_default()
}

/// Placements that ran to the end: after an interruption one repetition may be missing, after the loss of a CPU more.
fn lasting(settings: &PlaceSettings, record: &SeriesRecord, work: usize) -> Vec<usize> {
    let placements = 0..settings.placements.len();
    let runs = placements.map(|placement| record.outcomes(settings.trial(work, placement)).count());
    let runs: Vec<usize> = runs.collect();
    let most = runs.iter().copied().max().unwrap_or(0);
    (0..runs.len()).filter(|&placement| runs[placement] + 1 >= most).collect()
}

fn pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |a| (a + 1..count).map(move |b| (a, b)))
}

fn numbers(record: &SeriesRecord, trial: usize, name: &str) -> Vec<(u32, f64)> {
    let of = |pass: &crate::series::SeriesEntry| {
        let outcome = pass.outcome.as_ref().ok()?;
        Some((pass.pass, *outcome.observed.numbers.values.get(name)?))
    };
    record.passes(trial).iter().filter_map(of).collect()
}

fn both(
    settings: &PlaceSettings,
    record: &SeriesRecord,
    work: usize,
    [a, b]: [usize; 2],
    name: &str,
) -> Vec<[f64; 2]> {
    let [first, second] = [a, b].map(|placement| numbers(record, settings.trial(work, placement), name));
    let partner = |repetition| second.iter().find(|(other, _)| *other == repetition).map(|(_, value)| *value);
    first.iter().filter_map(|&(repetition, value)| Some([value, partner(repetition)?])).collect()
}

/// ln(b / a) of each repetition; `None` if a value has no ratio, or there is none.
type Ratios = Option<Vec<f64>>;

/// Zeros are valid: two are equal, and one is farther from any other number than all ratios. The exact distance does
/// not matter, because tests use ranks and estimates use medians.
fn log_ratios(both: &[[f64; 2]]) -> Ratios {
    let ratio = |&[a, b]: &[f64; 2]| match (a, b) {
        (0.0, 0.0) => Some(0.0),
        (0.0, b) if b > 0.0 => Some(BEYOND),
        (a, 0.0) if a > 0.0 => Some(-BEYOND),
        (a, b) if a > 0.0 && b > 0.0 => {
            let ratio = b / a;
            let ln =
                if ratio.is_normal() { elementary::ln(ratio) } else { elementary::ln(b) - elementary::ln(a) };
            Some(ln.clamp(-BEYOND, BEYOND))
        }
        _ => None,
    };
    let ratios: Ratios = both.iter().map(ratio).collect();
    ratios.filter(|ratios| !ratios.is_empty())
}

fn compare(settings: &PlaceSettings, record: &SeriesRecord, work: usize) -> Vec<Comparison> {
    let metrics = &settings.works[work].metrics;
    let count = settings.placements.len();
    let judged = || metrics.iter().filter(|metric| metric.role == Role::Judged);
    let tested: Vec<Vec<Ratios>> = judged()
        .map(|metric| {
            pairs(count)
                .map(|(a, b)| log_ratios(&both(settings, record, work, [a, b], &metric.name)))
                .collect()
        })
        .collect();
    let p_values: Vec<Option<f64>> =
        tested.iter().flatten().map(|ratios| ratios.as_deref().and_then(signed_rank_p)).collect();
    // Only tests that are possible share the error.
    let known: Vec<f64> = p_values.iter().flatten().copied().collect();
    let mut adjusted = holm(&known).into_iter();
    let mut adjusted = p_values.iter().map(|p| p.and_then(|_| adjusted.next()));
    let mut tested = tested.into_iter();
    let mut comparisons = Vec::with_capacity(metrics.len());
    for metric in metrics {
        let arms = arms(settings, record, work, metric);
        let (differences, outcome) = match metric.role {
            Role::Descriptive => (Vec::new(), Outcome::NotTested),
            Role::Judged => {
                let ratios = tested.next().unwrap_or_default();
                let p_values: Vec<Option<f64>> = adjusted.by_ref().take(ratios.len()).collect();
                let differences = differences(count, &ratios, &p_values);
                let outcome = match has_intervals(settings) {
                    true => outcome(settings.min_effect, metric.better, count, &differences, &ratios),
                    false => Outcome::CannotTell,
                };
                (differences, outcome)
            }
        };
        let work = settings.works[work].name.clone();
        let metric = metric.clone();
        comparisons.push(Comparison { work, metric, arms, pairs: differences, outcome, withheld: None });
    }
    comparisons
}

fn arms(settings: &PlaceSettings, record: &SeriesRecord, work: usize, metric: &Metric) -> Vec<Arm> {
    let whole = whole(settings, record, work, &lasting(settings, record, work));
    let arm = |(number, placement): (usize, &super::Placement)| {
        // Incomplete repetitions count as long as there is no complete one.
        let counts = |repetition: &u32| whole.is_empty() || whole.contains(repetition);
        let found = numbers(record, settings.trial(work, number), &metric.name);
        let (repetitions, runs): (Vec<u32>, Vec<f64>) =
            found.into_iter().filter(|(repetition, _)| counts(repetition)).unzip();
        let median = interpolated_median_interval(&runs, SHOWN_ALPHA);
        Arm { placement: placement.clone(), median, runs, repetitions }
    };
    settings.placements.iter().enumerate().map(arm).collect()
}

fn differences(count: usize, ratios: &[Ratios], p_values: &[Option<f64>]) -> Vec<Difference> {
    let difference = |((a, b), (ratios, &p_value)): ((usize, usize), (&Ratios, &Option<f64>))| {
        let share = ratios.as_deref().and_then(|ratios| paired_shift(ratios, SHOWN_ALPHA)).map(as_share);
        Difference { a, b, share, p_value }
    };
    pairs(count).zip(ratios.iter().zip(p_values)).map(difference).collect()
}

fn as_share(shift: Estimate) -> Estimate {
    // The mean of two repetitions, one with a zero, is half of `BEYOND`.
    let share = |ln: f64| match ln {
        ln if ln >= BEYOND / 4.0 => f64::INFINITY,
        ln if ln <= -BEYOND / 4.0 => -1.0,
        ln => elementary::exp(ln) - 1.0,
    };
    Estimate { point: share(shift.point), low: share(shift.low), high: share(shift.high), ..shift }
}

fn outcome(
    min_effect: f64,
    better: Better,
    count: usize,
    differences: &[Difference],
    ratios: &[Ratios],
) -> Outcome {
    let seen = |one: usize, other: usize| -> Option<(Estimate, f64)> {
        let found = differences.iter().find(|d| (d.a, d.b) == (one.min(other), one.max(other)))?;
        let share = found.share?;
        Some((if found.a == one { share } else { reversed(share) }, found.p_value?))
    };
    let loses = |(share, p_value): &(Estimate, f64)| {
        let behind = match better {
            Better::Higher => share.point < 0.0,
            Better::Lower => share.point > 0.0,
        };
        behind && *p_value <= ALPHA && effect(share.point) >= min_effect
    };
    for winner in 0..count {
        let others: Vec<usize> = (0..count).filter(|&other| other != winner).collect();
        let seen: Option<Vec<(Estimate, f64)>> = others.iter().map(|&other| seen(winner, other)).collect();
        let Some(seen) = seen.filter(|seen| seen.iter().all(loses)) else { continue };
        let nearest =
            (0..seen.len()).min_by(|&a, &b| effect(seen[a].0.point).total_cmp(&effect(seen[b].0.point)));
        let Some(nearest) = nearest else { continue };
        let p_value = seen.iter().map(|(_, p)| *p).fold(0.0, f64::max);
        return Outcome::Winner { winner, runner_up: others[nearest], share: seen[nearest].0, p_value };
    }
    let margin = elementary::ln(1.0 + min_effect);
    // Two one-sided tests at half the usual error each: 90 % intervals.
    let same = |ratios: &Ratios| {
        ratios
            .as_deref()
            .and_then(|ratios| paired_shift(ratios, 0.1))
            .is_some_and(|shift| verdict(&shift, margin) == Equivalence::Equivalent)
    };
    if !ratios.is_empty() && ratios.iter().all(same) {
        Outcome::Same { within: min_effect }
    } else {
        Outcome::CannotTell
    }
}

/// Withholds a verdict that a disturbance could reverse: a placement might be faster by up to [`PlacementConditions::foreign_share`]
/// without it. A winner also needs medians that differ in the same direction, by at least the smallest effect.
fn withheld(min_effect: f64, found: Comparison, doubts: &[PlacementConditions]) -> Comparison {
    let is_slowed = found.metric.is_slowed();
    let foreign =
        |arm: usize| doubts.get(arm).filter(|_| is_slowed).map_or(0.0, PlacementConditions::foreign_share);
    let open = match found.outcome {
        Outcome::Winner { winner, .. } => {
            let others = || found.pairs.iter().filter(|pair| pair.a == winner || pair.b == winner);
            let loser = |pair: &Difference| if pair.a == winner { pair.b } else { pair.a };
            let may_be_foreign = others().any(|pair| {
                let apart = pair.share.map_or(0.0, |share| effect(share.point));
                (1.0 + apart) * (1.0 - foreign(loser(pair))) < 1.0 + min_effect
            });
            // Zeros have no ratio and cannot contradict.
            let contradicts = |pair: &Difference| {
                let share = pair.share.map_or(0.0, |share| share.point);
                let of_medians = found.of_medians(pair.a, pair.b);
                of_medians.is_some_and(|of| of * share <= 0.0 || effect(of) < min_effect)
            };
            match () {
                () if may_be_foreign => Some(Open::Disturbed),
                () if others().any(contradicts) => Some(Open::Medians),
                () => None,
            }
        }
        // Disturbances can hide a difference of times, but do not make unequal values equal.
        Outcome::Same { .. } if found.arms.windows(2).all(|arms| arms[0].runs == arms[1].runs) => None,
        Outcome::Same { within } => (0..found.arms.len())
            .any(|arm| foreign(arm) > DISTURBED_SHARE.max(within))
            .then_some(Open::Disturbed),
        Outcome::CannotTell | Outcome::NotTested => None,
    };
    match open {
        Some(_) => Comparison { outcome: Outcome::CannotTell, withheld: open, ..found },
        None => found,
    }
}

fn reversed(share: Estimate) -> Estimate {
    let turned = |share: f64| 1.0 / (1.0 + share) - 1.0;
    Estimate { point: turned(share.point), low: turned(share.high), high: turned(share.low), ..share }
}

fn doubts(settings: &PlaceSettings, record: &SeriesRecord, work: usize) -> Vec<PlacementConditions> {
    let clocks: Vec<Option<f64>> =
        (0..settings.placements.len()).map(|number| core_ghz(record, settings.trial(work, number))).collect();
    let known: Vec<f64> = clocks.iter().flatten().copied().collect();
    let (slowest, fastest) =
        known.iter().fold((f64::INFINITY, 0.0f64), |(low, high), &ghz| (low.min(ghz), high.max(ghz)));
    let doubt = |(number, placement): (usize, &super::Placement)| {
        let trial = settings.trial(work, number);
        let passes = record.passes(trial);
        let outcomes: Vec<&PassOutcome> = record.outcomes(trial).collect();
        let with = |name: &str| {
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
        let stolen = stolen(&outcomes, placement.cpus.len());
        let mut flags =
            outcomes.iter().fold(Flags::NONE, |flags, outcome| flags.union(outcome.observed.flags));
        // A quota makes threads wait for a CPU and slows the measured clock.
        let has_quota = outcomes.iter().any(|outcome| outcome.quota);
        if has_quota {
            flags.set(Flag::Quota);
        } else if moved(record, trial) || fastest > slowest * (1.0 + FREQUENCY_SHARE) {
            flags.set(Flag::Freq);
        }
        if stolen.is_some_and(|share| share > STOLEN_SHARE) {
            flags.set(Flag::Steal);
        }
        let [waited, others] = disturbance(record, trial, placement.cpus.len());
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
            left: with("left"),
            narrowed: with("narrowed"),
            orphans: with("orphans"),
            tasks,
            crowded_s: median(&walls).filter(|wall_s| crowded && *wall_s < SHORT_S),
            stolen,
            waited,
            others,
            flags,
        }
    };
    settings.placements.iter().enumerate().map(doubt).collect()
}

fn failed(runs: u32, last: &TrialFailure) -> Failed {
    let (end, stdout, stderr) = match last {
        TrialFailure::Command { end, stdout, stderr, .. } => (*end, stdout.clone(), stderr.clone()),
        _ => (None, String::new(), String::new()),
    };
    Failed { runs, reason: last.to_string(), end, stdout, stderr }
}

/// Over all runs: the share of ready time that threads waited for a CPU, and the share of the CPUs used by others.
fn disturbance(record: &SeriesRecord, trial: usize, cpus: usize) -> [Option<f64>; 2] {
    let total = |name: &str| -> Option<f64> {
        let found = numbers(record, trial, name);
        (!found.is_empty()).then(|| found.iter().map(|(_, value)| value).sum())
    };
    let ran = total("user_s").zip(total("system_s")).map(|(user, system)| user + system);
    let share = |part: Option<f64>, of: Option<f64>| {
        part.zip(of).filter(|(_, of)| *of > 0.0).map(|(part, of)| (part / of).min(1.0))
    };
    let waited = total(WAITED);
    let wanted = waited.zip(ran).map(|(waited, ran)| waited + ran);
    let available = total("wall_s").map(|wall_s| wall_s * cpus as f64);
    [share(waited, wanted), share(total(OTHERS), available)]
}

/// Threads may wait for each other, and other programs may use only idle time: a disturbance needs both. If the use by
/// others is unknown, waiting counts when the threads cannot have waited for each other.
fn is_disturbed(waited: Option<f64>, others: Option<f64>, tasks: Option<u64>, cpus: usize) -> bool {
    let much = |share: f64| share > DISTURBED_SHARE;
    match (waited, others) {
        (Some(waited), Some(others)) => much(waited) && much(others),
        (Some(waited), None) => much(waited) && tasks.is_some_and(|tasks| tasks <= cpus as u64),
        (None, _) => false,
    }
}

/// Whether the 20th and the 80th percentile of the runs' core clocks differ.
fn moved(record: &SeriesRecord, trial: usize) -> bool {
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

fn stolen(outcomes: &[&PassOutcome], cpus: usize) -> Option<f64> {
    let stolen: Option<f64> = outcomes.iter().map(|outcome| outcome.steal_ms.map(f64::from)).sum();
    let elapsed: Picos = outcomes.iter().fold(Picos::ZERO, |sum, outcome| sum + outcome.elapsed);
    let available_ms = elapsed.secs() * 1e3 * cpus as f64;
    stolen.filter(|_| available_ms > 0.0).map(|stolen| stolen / available_ms)
}
