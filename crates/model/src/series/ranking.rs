//! [`ranking`]: ranks the subjects of a probe (queues, locks, ways to wait) measured under one condition and in one
//! state of the machine. Every "fastest" and "slowest" in reports comes from this module.

use super::{ParameterValue, SeriesResult, SeriesSettings, TrialResult, displayed_value, side_by_side};
use crate::quantity::{Better, InRanking, Parameter, Preferred, Quantity, Unit, Unranked};
use crate::stats::{Estimate, WIDEST_STATED};
use crate::{CpuId, Flag, Relation, Topology};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// The ranking of a probe under one condition.
#[derive(Debug, Clone)]
pub struct Ranking<'a> {
    /// The compared quantity.
    pub quantity: &'static Quantity,
    /// Parameters and CPUs.
    pub condition: Condition<'a>,
    /// The first trial under this condition.
    pub trial: &'a TrialResult,
    /// Subjects with an interval, best first.
    pub subjects: Vec<Subject<'a>>,
    /// Subjects without a rank that were measured under this condition, with the reason.
    pub unranked: Vec<(String, Unranked)>,
    /// The conclusion from the order.
    pub verdict: RankingVerdict,
}

/// The parameters and CPUs common to all results of a ranking.
#[derive(Debug, Clone)]
pub struct Condition<'a> {
    /// The parameters that differ among the trials of the probe, in the order of their declaration.
    pub parameters: Vec<(&'a str, &'a ParameterValue)>,
    /// The CPUs of the first trial under this condition, as an example; `None` if all trials ran on these CPUs.
    pub placement: Option<&'a [CpuId]>,
}

/// A ranked subject, such as one queue or one lock.
#[derive(Debug, Clone)]
pub struct Subject<'a> {
    /// Name, with the parameters that only some subjects have; empty if the probe has only one subject.
    pub name: String,
    /// Result in the unit of the quantity; of several pairs, the typical pair.
    pub value: Estimate,
    /// Number of pairs, or other placements, behind the value.
    pub placements: usize,
    /// Whether, for at least half of the placements, the value has a flag for errors beyond its interval.
    pub may_be_wrong: bool,
    /// The first trial of the subject under this condition.
    pub trial: &'a TrialResult,
}

/// The conclusion from the order of the subjects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RankingVerdict {
    /// There is only one subject.
    Single,
    /// All intervals have a point in common.
    Alike,
    /// The first subject is better than at least one other.
    Ordered {
        /// Subjects whose intervals overlap that of the first.
        like_best: Vec<usize>,
        /// The last subject, if it is clearly worse than the first and no subject without an interval may be worse.
        worst: Option<usize>,
        /// Subjects whose intervals overlap that of the worst.
        like_worst: Vec<usize>,
    },
    /// Each of these subjects may be the best; empty if no subject has a value.
    CannotTell(Vec<String>),
}

/// Ranks the subjects of a probe under one condition: the values named by [`Preferred`], and CPUs of the nearest
/// relation except SMT siblings. No other condition has more than twice as many ranked subjects.
pub fn ranking<'a>(
    settings: &SeriesSettings,
    result: &'a SeriesResult,
    probe: &str,
    declared: &[Parameter],
    topology: &Topology,
) -> Option<Ranking<'a>> {
    let all = Candidates::new(settings, result, probe, declared, topology);
    let most = all.candidates.iter().map(|candidate| (!candidate.is_ratio(), candidate.subjects)).max()?.1;
    let rank = |candidate: &Candidate<'_>| (candidate.is_ratio(), 2 * candidate.subjects < most);
    let chosen = all
        .candidates
        .iter()
        .min_by(|one, other| rank(one).cmp(&rank(other)).then_with(|| one.cmp_priority(other)))?;
    Some(ranked(settings, &all.plan, chosen))
}

/// Ranks the subjects under every condition, starting with the most requested conditions.
pub fn rankings<'a>(
    settings: &SeriesSettings,
    result: &'a SeriesResult,
    probe: &str,
    declared: &[Parameter],
    topology: &Topology,
) -> Vec<Ranking<'a>> {
    let mut all = Candidates::new(settings, result, probe, declared, topology);
    all.candidates.sort_by(Candidate::cmp_priority);
    all.candidates.iter().map(|candidate| ranked(settings, &all.plan, candidate)).collect()
}

struct Candidates<'a, 'p> {
    plan: Plan<'p>,
    candidates: Vec<Candidate<'a>>,
}

impl<'a, 'p> Candidates<'a, 'p> {
    fn new(
        settings: &SeriesSettings,
        result: &'a SeriesResult,
        probe: &str,
        declared: &'p [Parameter],
        topology: &'p Topology,
    ) -> Candidates<'a, 'p> {
        let trials: Vec<&TrialResult> =
            result.trials.iter().filter(|trial| trial.spec.probe == probe).collect();
        let plan = Plan::new(&trials, declared, topology);
        let mut groups: Vec<(Vec<f64>, Vec<&TrialResult>)> = Vec::new();
        let mut positions: BTreeMap<Key, usize> = BTreeMap::new();
        for &trial in &trials {
            let group = *positions.entry(plan.key(trial)).or_insert_with(|| {
                groups.push((plan.order(trial), Vec::new()));
                groups.len() - 1
            });
            groups[group].1.push(trial);
        }
        let candidate = |(order, trials): (Vec<f64>, Vec<&'a TrialResult>)| {
            let quantity = quantity_of(settings, probe, &trials)?;
            let can_be_ranked = |trial: &&&TrialResult| {
                excluded(&plan, trial).is_none() && shown(settings, quantity, trial).is_some()
            };
            let names: BTreeSet<String> =
                trials.iter().filter(can_be_ranked).map(|trial| plan.name(trial)).collect();
            Some(Candidate { quantity, order, subjects: names.len(), trials })
        };
        let candidates = groups.into_iter().filter_map(candidate).collect();
        Candidates { plan, candidates }
    }
}

fn ranked<'a>(settings: &SeriesSettings, plan: &Plan<'_>, chosen: &Candidate<'a>) -> Ranking<'a> {
    let mut found: Vec<SubjectTrials<'a>> = Vec::new();
    let mut positions: BTreeMap<String, usize> = BTreeMap::new();
    let in_state = side_by_side(&chosen.trials);
    for (&trial, in_state) in chosen.trials.iter().zip(&in_state) {
        let name = plan.name(trial);
        let index = *positions.entry(name.clone()).or_insert_with(|| {
            found.push(SubjectTrials {
                name,
                trial,
                values: BTreeMap::new(),
                unsure: None,
                reasons: BTreeSet::new(),
            });
            found.len() - 1
        });
        let entry = &mut found[index];
        let excluded = excluded(plan, trial);
        let has_number = shown(settings, chosen.quantity, trial).is_some();
        let value_in_state = in_state.as_deref().and_then(|trial| shown(settings, chosen.quantity, trial));
        match (excluded, has_number, value_in_state) {
            (Some(reason), ..) => _ = entry.reasons.insert(reason),
            (None, false, _) => {
                let is_shown = displayed_value(settings, trial).is_some();
                let reason = if is_shown { Unranked::OtherQuantity } else { Unranked::NoResult };
                entry.reasons.insert(reason);
            }
            (None, true, None) => _ = entry.reasons.insert(Unranked::Elsewhere),
            // An interval that is too wide to be stated overlaps everything and proves nothing.
            (None, true, Some(value))
                if value.is_sure() && value.point != 0.0 && value.relative_reach() >= WIDEST_STATED =>
            {
                entry.reasons.insert(Unranked::WideInterval);
                entry.unsure = Some(value);
            }
            (None, true, Some(value)) if value.is_sure() => {
                let value = (value, trial.flags.may_be_wrong());
                entry.values.insert(trial.spec.placement.as_slice(), value);
            }
            (None, true, Some(value)) => {
                entry.reasons.insert(Unranked::TooFewPasses);
                entry.unsure = Some(value);
            }
        }
    }
    // A single wrong answer disqualifies a subject.
    let is_wrong = |subject: &SubjectTrials<'_>| subject.reasons.contains(&Unranked::WrongAnswer);
    found.iter_mut().filter(|subject| is_wrong(subject)).for_each(|subject| subject.values.clear());
    let common = common_placements(&mut found);
    let mut subjects = Vec::new();
    let (mut unranked, mut unsure) = (Vec::new(), Vec::new());
    for SubjectTrials { name, trial, values, unsure: without_interval, reasons } in found {
        let compared: Vec<&(Estimate, bool)> =
            values.iter().filter(|(place, _)| common.contains(**place)).map(|(_, value)| value).collect();
        let estimates: Vec<Estimate> = compared.iter().map(|(value, _)| *value).collect();
        let wrong = compared.iter().filter(|(_, may_be_wrong)| *may_be_wrong).count();
        match (Estimate::typical(&estimates), reasons.first()) {
            (Some(value), _) => subjects.push(Subject {
                name,
                value,
                placements: compared.len(),
                // Errors in less than half of the pairs do not move the typical pair.
                may_be_wrong: 2 * wrong >= compared.len(),
                trial,
            }),
            (None, Some(reason)) => {
                unsure.extend(
                    without_interval.filter(|_| reason.is_unsure()).map(|estimate| (name.clone(), estimate)),
                );
                unranked.push((name, *reason));
            }
            (None, None) => {}
        }
    }
    let sign = if chosen.quantity.better == Some(Better::Higher) { -1.0 } else { 1.0 };
    subjects.sort_by(|one, other| (sign * one.value.point).total_cmp(&(sign * other.value.point)));
    let verdict = verdict(&subjects, &unsure, sign);
    let trial = chosen.trials[0];
    Ranking {
        quantity: chosen.quantity,
        condition: plan.condition(trial),
        trial,
        subjects,
        unranked,
        verdict,
    }
}

fn common_placements(found: &mut [SubjectTrials<'_>]) -> BTreeSet<Vec<CpuId>> {
    loop {
        let with_values = found.iter().filter(|subject| !subject.values.is_empty());
        let sets = with_values
            .map(|subject| subject.values.keys().map(|place| place.to_vec()).collect::<BTreeSet<_>>());
        let common =
            sets.reduce(|one, other| one.intersection(&other).cloned().collect()).unwrap_or_default();
        let fewest = found
            .iter_mut()
            .filter(|subject| !subject.values.is_empty())
            .min_by_key(|subject| subject.values.len());
        match fewest {
            Some(fewest) if common.is_empty() => {
                fewest.values.clear();
                fewest.reasons.insert(Unranked::Elsewhere);
            }
            _ => return common,
        }
    }
}

/// `sign` is -1 if higher is better. `unsure` has the subjects without a stated interval.
fn verdict(subjects: &[Subject<'_>], unsure: &[(String, Estimate)], sign: f64) -> RankingVerdict {
    let best_end = |value: &Estimate| (sign * value.low).min(sign * value.high);
    let worst_end = |value: &Estimate| (sign * value.low).max(sign * value.high);
    let Some(first) = subjects.first() else {
        return RankingVerdict::CannotTell(unsure.iter().map(|(name, _)| name.clone()).collect());
    };
    let may_be_best = |value: &Estimate| best_end(value) <= worst_end(&first.value);
    if unsure.iter().any(|(_, value)| may_be_best(value)) {
        let sure = subjects.iter().map(|subject| (&subject.name, &subject.value));
        let rivals = sure.chain(unsure.iter().map(|(name, value)| (name, value)));
        return RankingVerdict::CannotTell(
            rivals.filter(|(_, value)| may_be_best(value)).map(|(name, _)| name.clone()).collect(),
        );
    }
    if subjects.len() == 1 {
        return RankingVerdict::Single;
    }
    let overlapping = |one: usize| {
        let is_like =
            move |other: &usize| *other != one && subjects[one].value.overlaps(&subjects[*other].value);
        (0..subjects.len()).filter(is_like).collect::<Vec<_>>()
    };
    let like_best = overlapping(0);
    let last = subjects.len() - 1;
    if like_best.len() == last {
        let low = subjects.iter().map(|subject| subject.value.low).fold(f64::NEG_INFINITY, f64::max);
        let high = subjects.iter().map(|subject| subject.value.high).fold(f64::INFINITY, f64::min);
        return match low <= high {
            true => RankingVerdict::Alike,
            false => {
                RankingVerdict::CannotTell(subjects.iter().map(|subject| subject.name.clone()).collect())
            }
        };
    }
    let may_be_worse = |(_, value): &(String, Estimate)| worst_end(value) >= best_end(&subjects[last].value);
    let worst = (!like_best.contains(&last) && !unsure.iter().any(may_be_worse)).then_some(last);
    RankingVerdict::Ordered { like_best, worst, like_worst: worst.map_or_else(Vec::new, overlapping) }
}

fn excluded(plan: &Plan<'_>, trial: &TrialResult) -> Option<Unranked> {
    let declared = plan.declared.iter().find_map(|parameter| match parameter.in_ranking {
        InRanking::Subject { never } => {
            let name = trial.spec.parameters.text(parameter.id)?;
            never.iter().find(|(known, _)| *known == name).map(|(_, reason)| *reason)
        }
        _ => None,
    });
    let has = |flag| trial.flags.contains(flag);
    declared
        .or((has(Flag::Invalid) || has(Flag::LostUpdates)).then_some(Unranked::WrongAnswer))
        .or(has(Flag::SharedSpin).then_some(Unranked::TimeSlices))
        .or(has(Flag::Unclaimed).then_some(Unranked::Unclaimed))
}

/// The displayed number of a trial if it is this quantity, with the interval over its passes.
pub(crate) fn shown(settings: &SeriesSettings, quantity: &Quantity, trial: &TrialResult) -> Option<Estimate> {
    let name = displayed_value(settings, trial).filter(|name| *name == quantity.id)?;
    let point = trial.number_of(name)?;
    let of_passes = trial.medians_ns.get(name).or_else(|| trial.values.get(name))?;
    // The median of all events differs from the median of the medians of passes. The interval covers both.
    let (low, high) = (of_passes.low.min(point), of_passes.high.max(point));
    Some(Estimate { point, low, high, ..*of_passes })
}

/// A ratio is selected only if there is no other.
fn quantity_of(settings: &SeriesSettings, probe: &str, trials: &[&TrialResult]) -> Option<&'static Quantity> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in trials.iter().filter_map(|trial| displayed_value(settings, trial)) {
        *counts.entry(name).or_default() += 1;
    }
    let declared =
        counts.iter().filter_map(|(name, count)| Some((settings.quantities.get(probe, name)?, count)));
    declared
        .max_by_key(|(quantity, count)| (quantity.unit != Unit::Ratio, **count))
        .map(|(quantity, _)| quantity)
}

struct SubjectTrials<'a> {
    name: String,
    trial: &'a TrialResult,
    values: BTreeMap<&'a [CpuId], (Estimate, bool)>,
    unsure: Option<Estimate>,
    reasons: BTreeSet<Unranked>,
}

struct Candidate<'a> {
    quantity: &'static Quantity,
    order: Vec<f64>,
    subjects: usize,
    trials: Vec<&'a TrialResult>,
}

/// Sort key: nearer pairs first. SMT siblings and roles on one CPU come last: they share more than a cache line.
pub(crate) fn place_order(topology: &Topology, placement: &[CpuId]) -> f64 {
    match *placement {
        [from, to] => match topology.relation(from, to) {
            relation @ (Relation::SameCpu | Relation::Smt) => 100.0 - topology.nearness(relation) as f64,
            relation => topology.nearness(relation) as f64,
        },
        _ => 50.0,
    }
}

impl Candidate<'_> {
    fn is_ratio(&self) -> bool {
        self.quantity.unit == Unit::Ratio
    }

    fn cmp_priority(&self, other: &Self) -> Ordering {
        let mut pairs = self.order.iter().zip(&other.order);
        pairs.find_map(|(a, b)| Some(a.total_cmp(b)).filter(|it| it.is_ne())).unwrap_or(Ordering::Equal)
    }
}

type Key = (Vec<Option<String>>, String);

struct Plan<'p> {
    declared: &'p [Parameter],
    topology: &'p Topology,
    differing: Vec<String>,
    values: Vec<Vec<Option<ParameterValue>>>,
    placements_differ: bool,
}

impl<'p> Plan<'p> {
    fn new(trials: &[&TrialResult], declared: &'p [Parameter], topology: &'p Topology) -> Plan<'p> {
        let named: BTreeSet<&str> =
            trials.iter().flat_map(|trial| trial.spec.parameters.iter()).map(|(name, _)| name).collect();
        let first = declared.iter().map(|parameter| parameter.id).filter(|id| named.contains(id));
        let others = named.iter().copied().filter(|name| declared.iter().all(|it| it.id != *name));
        let mut differing = Vec::new();
        let mut values = Vec::new();
        for name in first.chain(others) {
            let mut distinct: Vec<Option<ParameterValue>> = Vec::new();
            for trial in trials {
                let value = trial.spec.parameters.0.get(name);
                if !distinct.iter().any(|known| known.as_ref() == value) {
                    distinct.push(value.cloned());
                }
            }
            if distinct.len() > 1 {
                differing.push(name.to_owned());
                values.push(distinct);
            }
        }
        let is_elsewhere = |trial: &&&TrialResult| trial.spec.placement != trials[0].spec.placement;
        Plan {
            declared,
            topology,
            differing,
            values,
            placements_differ: trials.iter().any(|trial| is_elsewhere(&trial)),
        }
    }

    fn in_ranking(&self, name: &str) -> InRanking {
        let declared = self.declared.iter().find(|parameter| parameter.id == name);
        declared.map_or(InRanking::Condition(Preferred::First), |parameter| parameter.in_ranking)
    }

    fn conditions(&self) -> impl Iterator<Item = (&str, &[Option<ParameterValue>], Preferred)> {
        self.differing.iter().zip(&self.values).filter_map(|(name, values)| match self.in_ranking(name) {
            InRanking::Condition(preferred) => Some((name.as_str(), &values[..], preferred)),
            InRanking::Subject { .. } | InRanking::OfSubject => None,
        })
    }

    fn name(&self, trial: &TrialResult) -> String {
        let parts = self.differing.iter().zip(&self.values).filter_map(|(name, values)| {
            let value = trial.spec.parameters.0.get(name)?;
            match self.in_ranking(name) {
                InRanking::Subject { .. } => Some(value.to_string()),
                InRanking::OfSubject if values.iter().flatten().count() > 1 => {
                    Some(format!("{name} {value}"))
                }
                _ => None,
            }
        });
        parts.collect::<Vec<_>>().join(" : ")
    }

    fn key(&self, trial: &TrialResult) -> Key {
        let values =
            self.conditions().map(|(name, ..)| trial.spec.parameters.0.get(name).map(ToString::to_string));
        let place = match trial.spec.placement[..] {
            [from, to] => self.topology.relation(from, to).name().to_owned(),
            _ => format!("{:?}", trial.spec.placement),
        };
        (values.collect(), place)
    }

    fn order(&self, trial: &TrialResult) -> Vec<f64> {
        let place = place_order(self.topology, &trial.spec.placement);
        let parameter = |(name, values, preferred): (&str, &[Option<ParameterValue>], Preferred)| {
            let value = trial.spec.parameters.0.get(name);
            let position =
                values.iter().position(|known| known.as_ref() == value).unwrap_or(values.len()) as f64;
            match (preferred, value) {
                (Preferred::Least, Some(ParameterValue::Number(number))) => *number,
                (Preferred::Most, Some(ParameterValue::Number(number))) => -number,
                (Preferred::Nearest(to), Some(ParameterValue::Number(number))) => (number / to).ln().abs(),
                (Preferred::Named(text), Some(ParameterValue::Text(named))) if text == named => -1.0,
                (Preferred::Named(_) | Preferred::First, _) => position,
                _ => f64::INFINITY,
            }
        };
        self.conditions().map(parameter).chain([place]).collect()
    }

    fn condition<'a>(&self, trial: &'a TrialResult) -> Condition<'a> {
        let differs =
            |(name, _): &(&str, &ParameterValue)| self.conditions().any(|(known, ..)| known == *name);
        Condition {
            parameters: trial.spec.parameters.iter().filter(differs).collect(),
            placement: self.placements_differ.then_some(&trial.spec.placement[..]),
        }
    }
}

#[cfg(test)]
mod tests;
