//! Derives the result of a comparison from its runs, for the stopping rule of a session and for stored runs.

use super::comparison::{
    Arm, Difference, Metric, Open, PairVerdict, PlaceOutcome, PlaceResult, PlacementComparison,
    PlacementConditions, Role, Rounds, effect,
};
use super::conditions::{doubts, numbers};
use super::rounds::{self, DISTURBED_SHARE};
use super::settings::PlaceSettings;
use crate::quantity::Better;
use crate::series::SeriesRecord;
use crate::stats::compare::{Equivalence, paired_shift, verdict};
use crate::stats::multiple::holm;
use crate::stats::permutation::{fewest_pairs, signed_rank_p};
use crate::stats::{Estimate, elementary, interpolated_median_interval};
use std::collections::BTreeSet;

/// Family-wise error of all tests of one piece of work, so that no placement beats itself.
pub const ALPHA: f64 = 0.005;
const SAME_ALPHA: f64 = 0.05;
pub(super) const SHOWN_ALPHA: f64 = 0.05;
/// Replaces ln of a ratio with a zero. No ratio of two positive numbers is larger.
const BEYOND: f64 = 700.0;

/// Analyses all runs.
pub fn analyse_places(settings: &PlaceSettings, record: &SeriesRecord) -> PlaceResult {
    let mut result = PlaceResult {
        complete: record.complete,
        budget_ended: record.budget_ended,
        ..PlaceResult::default()
    };
    let kept = rounds::kept(settings, record);
    if settings.versus.is_some() {
        result.rounds = rounds::rounds(settings, record);
    }
    for work in 0..settings.works.len() {
        let doubts = doubts(settings, &kept, work);
        let mut comparisons = compare(settings, &kept, work);
        match &settings.versus {
            Some(_) => per_arm(settings, record, &result.rounds, &mut comparisons, &doubts),
            None => {
                for found in &mut comparisons {
                    withhold(settings.min_effect, found, &doubts);
                }
            }
        }
        result.comparisons.extend(comparisons);
        result.doubts.extend(doubts);
    }
    result
}

/// All verdicts are withheld if the control or the dropped rounds show that the machine cannot decide. Otherwise,
/// doubtful verdicts are withheld, and verdicts that depend on dropped rounds or on too few rounds.
fn per_arm(
    settings: &PlaceSettings,
    record: &SeriesRecord,
    rounds: &Rounds,
    comparisons: &mut [PlacementComparison],
    doubts: &[PlacementConditions],
) {
    let is_control = |pair: &Difference| settings.control() == Some(pair.b);
    let differs = |pair: &Difference| matches!(pair.verdict, PairVerdict::Better | PairVerdict::Worse);
    let control_differs =
        comparisons.iter().flat_map(|found| &found.pairs).any(|pair| is_control(pair) && differs(pair));
    let undropped = if rounds.is_uneven { compare(settings, record, 0) } else { Vec::new() };
    let least = least_repetitions(settings, 0) as usize;
    for (number, found) in comparisons.iter_mut().enumerate() {
        for index in 0..found.pairs.len() {
            let pair = &found.pairs[index];
            let made = found.arms[pair.a].runs.len().min(found.arms[pair.b].runs.len());
            let of_all = undropped.get(number).and_then(|found| found.pairs.get(index));
            let open = match () {
                () if (rounds.kept + rounds.disturbed()) < least as u32 => Some(Open::TooFewRuns),
                () if rounds.refusal().is_some() => rounds.refusal(),
                () if control_differs && !is_control(pair) => Some(Open::Control),
                // With the dropped rounds, the verdict would differ.
                () if differs(pair) && of_all.is_some_and(|all| all.verdict != pair.verdict) => {
                    Some(Open::Uneven)
                }
                () if pair.verdict == PairVerdict::CannotTell && made < least => Some(Open::TooFewRuns),
                () => doubtful(settings.min_effect, found, pair, doubts),
            };
            if let Some(open) = open {
                found.pairs[index].verdict = PairVerdict::Withheld(open);
            }
        }
    }
}

/// Number of runs that are still due on each of the placements `here`. 0 if there are enough repetitions for the
/// request and for tests at [`ALPHA`], and the requested precision is reached. More than 1 is an estimate: intervals
/// shrink with the square root of the number of runs.
pub fn repetitions_due(settings: &PlaceSettings, record: &SeriesRecord, work: usize, here: &[usize]) -> u32 {
    if settings.versus.is_some() {
        return rounds_due(settings, record, work, here);
    }
    let made = whole(settings, record, work, here).len() as u32;
    let most = most_repetitions(settings);
    if made >= most {
        return 0;
    }
    let headline = &settings.works[work].metrics[0];
    let is_here = |(a, b): &(usize, usize)| here.contains(a) && here.contains(b);
    let shifts = settings.pairs().into_iter().filter(is_here).filter_map(|(a, b)| {
        let ratios = log_ratios(&both(settings, record, work, [a, b], &headline.name))?;
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

/// An arm that lost a CPU makes every further round incomplete.
fn rounds_due(settings: &PlaceSettings, record: &SeriesRecord, work: usize, here: &[usize]) -> u32 {
    let kept = rounds::kept(settings, record);
    let made = whole(settings, &kept, work, here).len() as u32;
    let looks = looks(settings, work);
    let next = looks.iter().copied().find(|look| *look > made);
    if here.len() < settings.placements.len() || next.is_none() {
        return 0;
    }
    let until_next = next.map_or(0, |look| look - made);
    if !looks.contains(&made) {
        return until_next;
    }
    let result = analyse_places(settings, record);
    let Some(headline) = result.comparisons.iter().find(|found| found.work == settings.works[work].name)
    else {
        return 0;
    };
    let is_known = |(index, pair): (usize, &Difference)| {
        // A ratio to zero has no width.
        let is_narrow = |reach: f64| reach <= settings.precision || reach.is_infinite() || reach.is_nan();
        let is_narrow = pair.share.is_some_and(|share| is_narrow(share.reach()));
        match headline.open_pair(index) {
            None => is_narrow,
            // More rounds do not change these reasons.
            Some(open) => matches!(open, Open::NoValue | Open::BelowZero),
        }
    };
    let is_arm = |(_, pair): &(usize, &Difference)| settings.control() != Some(pair.b);
    if headline.pairs.iter().enumerate().filter(is_arm).all(is_known) { 0 } else { until_next }
}

/// Numbers of kept rounds after which a comparison of commands is analysed and may end: doubling from the smallest
/// number that allows a verdict. The end of the budget is an early look. Each resumption adds a look.
pub fn looks(settings: &PlaceSettings, work: usize) -> Vec<u32> {
    let least = least_repetitions(settings, work);
    let most = most_repetitions(settings);
    let doubling = std::iter::successors(Some(least), |look| look.checked_mul(2));
    let mut looks: Vec<u32> = doubling.take_while(|look| *look < most).take(LOOKS as usize - 1).collect();
    looks.push(most.max(least));
    looks
}

const LOOKS: u32 = 6;

/// The planned looks spend at most a share of 1/([`LOOKS`] + 1) each. The look of a resumption spends that share halved
/// once per resumption. The error of all looks thus stays below [`ALPHA`] for any dependence between them (Bonferroni,
/// as in group sequential tests: Jennison and Turnbull 2000, 2.1).
fn error_divisor(settings: &PlaceSettings, resumptions: u32) -> f64 {
    match settings.versus {
        Some(_) => f64::from(LOOKS + 1) * 2f64.powi(resumptions.min(1_000) as i32),
        None => 1.0,
    }
}

/// Minimum number of runs on each placement: the requested number, and enough for a verdict if an interval is possible.
pub fn least_repetitions(settings: &PlaceSettings, work: usize) -> u32 {
    match has_intervals(settings) {
        true => settings.repeat.max(verdict_repetitions(settings, work)),
        false => settings.repeat,
    }
}

/// Maximum number of runs on each placement.
pub fn most_repetitions(settings: &PlaceSettings) -> u32 {
    match settings.versus {
        _ if !has_intervals(settings) => settings.repeat,
        Some(_) => MAX_ROUNDS,
        None => MAX_REPETITIONS,
    }
}

/// Whether enough runs for a 95 % interval were requested.
pub fn has_intervals(settings: &PlaceSettings) -> bool {
    settings.repeat >= fewest_pairs(SHOWN_ALPHA)
}

/// Minimum number of runs on each placement for tests that can reach [`ALPHA`] after correction for their number.
pub fn verdict_repetitions(settings: &PlaceSettings, work: usize) -> u32 {
    let judged = settings.works[work].metrics.iter().filter(|metric| metric.role == Role::Judged).count();
    let is_control = |(_, arm): &(usize, usize)| settings.control() == Some(*arm);
    let tests = (judged * settings.pairs().iter().filter(|pair| !is_control(pair)).count()).max(1);
    fewest_pairs(ALPHA / tests as f64 / error_divisor(settings, 0))
}

/// With more runs, the interval is narrower than the drift of the machine from hour to hour.
const MAX_REPETITIONS: u32 = 200;
/// Commands are compared on the same CPUs, so that drift cancels. Differences of a percent need more rounds.
const MAX_ROUNDS: u32 = 400;

fn whole(settings: &PlaceSettings, record: &SeriesRecord, work: usize, here: &[usize]) -> BTreeSet<u32> {
    let of = |placement: usize| -> BTreeSet<u32> {
        let passes = record.passes(settings.trial(work, placement)).iter();
        passes.filter(|pass| pass.outcome.is_ok()).map(|pass| pass.pass).collect()
    };
    here.iter().map(|&placement| of(placement)).reduce(|all, of| &all & &of).unwrap_or_default()
}

fn lasting(settings: &PlaceSettings, record: &SeriesRecord, work: usize) -> Vec<usize> {
    let placements = 0..settings.placements.len();
    let runs = placements.map(|placement| record.outcomes(settings.trial(work, placement)).count());
    let runs: Vec<usize> = runs.collect();
    let most = runs.iter().copied().max().unwrap_or(0);
    (0..runs.len()).filter(|&placement| runs[placement] + 1 >= most).collect()
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

type Ratios = Option<Vec<f64>>;

/// Two zeros are equal, and a zero is farther from any other number than all ratios. The exact distance has no effect,
/// because tests use ranks and estimates use medians.
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

fn compare(settings: &PlaceSettings, record: &SeriesRecord, work: usize) -> Vec<PlacementComparison> {
    let metrics = &settings.works[work].metrics;
    let pairs = settings.pairs();
    let judged = || metrics.iter().filter(|metric| metric.role == Role::Judged);
    let tested: Vec<Vec<Ratios>> = judged()
        .map(|metric| {
            let ratios =
                pairs.iter().map(|&(a, b)| log_ratios(&both(settings, record, work, [a, b], &metric.name)));
            ratios.collect()
        })
        .collect();
    let p_values: Vec<Option<f64>> =
        tested.iter().flatten().map(|ratios| ratios.as_deref().and_then(signed_rank_p)).collect();
    let divisor = error_divisor(settings, record.last_segment());
    // Tests of the control decide nothing about the arms and have an error of their own.
    let is_control =
        |test: usize| settings.control().is_some_and(|control| pairs[test % pairs.len()].1 == control);
    let mut adjusted = vec![None; p_values.len()];
    for family in [true, false] {
        let tests = (0..p_values.len()).filter(|&test| is_control(test) == family);
        let known: Vec<(usize, f64)> = tests.filter_map(|test| Some((test, p_values[test]?))).collect();
        let raw: Vec<f64> = known.iter().map(|(_, p)| *p).collect();
        for ((test, _), p) in known.iter().zip(holm(&raw)) {
            adjusted[*test] = Some((p * divisor).min(1.0));
        }
    }
    let mut adjusted = adjusted.into_iter();
    let mut tested = tested.into_iter();
    let mut comparisons = Vec::with_capacity(metrics.len());
    for metric in metrics {
        let mut found = PlacementComparison {
            work: settings.works[work].name.clone(),
            metric: metric.clone(),
            arms: arms(settings, record, work, metric),
            pairs: Vec::new(),
            outcome: PlaceOutcome::NotTested,
            withheld: None,
        };
        if metric.role == Role::Optional && found.arms.iter().all(|arm| arm.runs.is_empty()) {
            continue;
        }
        if metric.role == Role::Judged {
            let ratios = tested.next().unwrap_or_default();
            let p_values: Vec<Option<f64>> = adjusted.by_ref().take(ratios.len()).collect();
            let criteria = Criteria {
                min_effect: settings.min_effect,
                same_alpha: SAME_ALPHA / divisor,
                better: metric.better,
                pairs: &pairs,
            };
            found.pairs = differences(&criteria, &ratios, &p_values);
            if !has_intervals(settings) {
                found.pairs.iter_mut().for_each(|pair| pair.verdict = PairVerdict::CannotTell);
            }
            found.outcome = match settings.versus {
                Some(_) => PlaceOutcome::PerArm,
                None => outcome(settings.min_effect, &found),
            };
        }
        comparisons.push(found);
    }
    comparisons
}

fn arms(settings: &PlaceSettings, record: &SeriesRecord, work: usize, metric: &Metric) -> Vec<Arm> {
    let whole = whole(settings, record, work, &lasting(settings, record, work));
    let arm = |(number, placement): (usize, &super::Placement)| {
        let counts = |repetition: &u32| whole.is_empty() || whole.contains(repetition);
        let found = numbers(record, settings.trial(work, number), &metric.name);
        let (repetitions, runs): (Vec<u32>, Vec<f64>) =
            found.into_iter().filter(|(repetition, _)| counts(repetition)).unzip();
        let median = interpolated_median_interval(&runs, SHOWN_ALPHA);
        Arm { placement: placement.clone(), median, runs, repetitions }
    };
    settings.placements.iter().enumerate().map(arm).collect()
}

struct Criteria<'a> {
    min_effect: f64,
    same_alpha: f64,
    better: Better,
    pairs: &'a [(usize, usize)],
}

fn differences(criteria: &Criteria<'_>, ratios: &[Ratios], p_values: &[Option<f64>]) -> Vec<Difference> {
    let difference = |(&(a, b), (ratios, &p_value)): (&(usize, usize), (&Ratios, &Option<f64>))| {
        let share = ratios.as_deref().and_then(|ratios| paired_shift(ratios, SHOWN_ALPHA)).map(as_share);
        let verdict = pair_verdict(criteria, ratios, share, p_value);
        Difference { a, b, share, p_value, verdict }
    };
    criteria.pairs.iter().zip(ratios.iter().zip(p_values)).map(difference).collect()
}

fn pair_verdict(
    criteria: &Criteria<'_>,
    ratios: &Ratios,
    share: Option<Estimate>,
    p_value: Option<f64>,
) -> PairVerdict {
    let differs = |share: &Estimate| {
        p_value.is_some_and(|p| p <= ALPHA)
            && effect(share.point) >= criteria.min_effect
            && share.point != 0.0
    };
    if let Some(share) = share.filter(differs) {
        return match (share.point > 0.0) == (criteria.better == Better::Higher) {
            true => PairVerdict::Better,
            false => PairVerdict::Worse,
        };
    }
    let margin = elementary::ln(1.0 + criteria.min_effect);
    // Two one-sided tests: an interval with twice their error.
    let shift = ratios.as_deref().and_then(|ratios| paired_shift(ratios, 2.0 * criteria.same_alpha));
    match shift.is_some_and(|shift| verdict(&shift, margin) == Equivalence::Equivalent) {
        true => PairVerdict::Same,
        false => PairVerdict::CannotTell,
    }
}

fn as_share(shift: Estimate) -> Estimate {
    let share = |ln: f64| match ln {
        ln if ln >= BEYOND / 4.0 => f64::INFINITY,
        ln if ln <= -BEYOND / 4.0 => -1.0,
        ln => elementary::exp(ln) - 1.0,
    };
    Estimate { point: share(shift.point), low: share(shift.low), high: share(shift.high), ..shift }
}

fn outcome(min_effect: f64, found: &PlacementComparison) -> PlaceOutcome {
    let count = found.arms.len();
    for winner in 0..count {
        let own = || found.pairs.iter().filter(|pair| pair.a == winner || pair.b == winner);
        let is_won = |pair: &Difference| match pair.verdict {
            PairVerdict::Better => pair.b == winner,
            PairVerdict::Worse => pair.a == winner,
            PairVerdict::Same | PairVerdict::CannotTell | PairVerdict::Withheld(_) => false,
        };
        if own().next().is_none() || !own().all(is_won) {
            continue;
        }
        let seen = own().filter_map(|pair| {
            let share = pair.share?;
            let other = if pair.a == winner { (pair.b, share) } else { (pair.a, reversed(share)) };
            Some((other, pair.p_value?))
        });
        let nearest =
            seen.clone().min_by(|((_, a), _), ((_, b), _)| effect(a.point).total_cmp(&effect(b.point)));
        let p_value = seen.map(|(_, p)| p).fold(0.0, f64::max);
        if let Some(((runner_up, share), _)) = nearest {
            return PlaceOutcome::Winner { winner, runner_up, share, p_value };
        }
    }
    let is_same = |pair: &Difference| pair.verdict == PairVerdict::Same;
    match !found.pairs.is_empty() && found.pairs.iter().all(is_same) {
        true => PlaceOutcome::Same { within: min_effect },
        false => PlaceOutcome::CannotTell,
    }
}

/// A disturbance could reverse the verdict (see [`PlacementConditions::foreign_share`]). Medians must differ in the
/// same direction, for placements by at least the smallest effect.
fn doubtful(
    min_effect: f64,
    found: &PlacementComparison,
    pair: &Difference,
    doubts: &[PlacementConditions],
) -> Option<Open> {
    let is_slowed = found.metric.is_slowed();
    let foreign =
        |arm: usize| doubts.get(arm).filter(|_| is_slowed).map_or(0.0, PlacementConditions::foreign_share);
    match pair.verdict {
        PairVerdict::Better | PairVerdict::Worse => {
            let [winner, loser] =
                if pair.verdict == PairVerdict::Better { [pair.b, pair.a] } else { [pair.a, pair.b] };
            let share = pair.share.map_or(0.0, |share| share.point);
            // On the same CPUs, both arms are disturbed alike in the kept rounds. Only an excess favours one arm.
            let is_per_arm = found.outcome == PlaceOutcome::PerArm;
            let is_alike =
                is_per_arm && found.arms[winner].placement.cpus == found.arms[loser].placement.cpus;
            let excess = foreign(loser) - if is_alike { foreign(winner) } else { 0.0 };
            let may_be_foreign = (1.0 + effect(share)) * (1.0 - excess.max(0.0)) < 1.0 + min_effect;
            // Zeros have no ratio and cannot contradict.
            let of_medians = found.of_medians(pair.a, pair.b);
            // Medians drift with the machine, so only their direction counts for commands.
            let is_small = |of| !is_per_arm && effect(of) < min_effect;
            let contradicts = of_medians.is_some_and(|of| of * share <= 0.0 || is_small(of));
            match () {
                () if may_be_foreign => Some(Open::Disturbed),
                () if contradicts => Some(Open::Medians),
                () => None,
            }
        }
        // Disturbances can hide a difference of times, but do not make unequal values equal.
        PairVerdict::Same if found.arms[pair.a].runs == found.arms[pair.b].runs => None,
        PairVerdict::Same => [pair.a, pair.b]
            .iter()
            .any(|&arm| foreign(arm) > DISTURBED_SHARE.max(min_effect))
            .then_some(Open::Disturbed),
        PairVerdict::CannotTell | PairVerdict::Withheld(_) => None,
    }
}

fn withhold(min_effect: f64, found: &mut PlacementComparison, doubts: &[PlacementConditions]) {
    let needed = |pair: &&Difference| match found.outcome {
        PlaceOutcome::Winner { winner, .. } => pair.a == winner || pair.b == winner,
        PlaceOutcome::Same { .. } => true,
        PlaceOutcome::CannotTell | PlaceOutcome::PerArm | PlaceOutcome::NotTested => false,
    };
    let needed = found.pairs.iter().filter(needed);
    let doubts: Vec<Open> = needed.filter_map(|pair| doubtful(min_effect, found, pair, doubts)).collect();
    if let Some(open) = doubts.iter().find(|open| **open == Open::Disturbed).or(doubts.first()) {
        (found.outcome, found.withheld) = (PlaceOutcome::CannotTell, Some(*open));
    }
}

fn reversed(share: Estimate) -> Estimate {
    let turned = |share: f64| 1.0 / (1.0 + share) - 1.0;
    Estimate { point: turned(share.point), low: turned(share.high), high: turned(share.low), ..share }
}
