//! [`ranking`]: the subjects of a probe (queues, locks, ways to wait), best first, as far as they were measured under one
//! condition and in one state of the machine. What is printed about "fastest" and "slowest" is decided here.

use super::{SeriesResult, SeriesSettings, TrialResult, Value, displayed_value, side_by_side};
use crate::quantity::{Better, InRanking, Parameter, Preferred, Quantity, Unit};
use crate::stats::Estimate;
use crate::{CpuId, Flag, Relation, Topology};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// What a probe found under one condition.
#[derive(Debug, Clone)]
pub struct Ranking<'a> {
    /// What is compared.
    pub quantity: &'static Quantity,
    /// Under which parameters and between which CPUs.
    pub condition: Condition<'a>,
    /// Subjects with an interval, best first.
    pub subjects: Vec<Subject<'a>>,
    /// Subjects that were measured under this condition and have no place in the order, as planned.
    pub unranked: Vec<(String, Unranked)>,
    /// What the order says.
    pub verdict: Verdict,
}

/// What all results of a ranking share.
#[derive(Debug, Clone)]
pub struct Condition<'a> {
    /// The parameters that differ among the trials of the probe, in the order of their declaration.
    pub parameters: Vec<(&'a str, &'a Value)>,
    /// Where the trials of the probe ran on different CPUs: those of the first trial under this condition. A pair stands
    /// for all pairs of its relation.
    pub placement: Option<&'a [CpuId]>,
}

/// What is ranked: one queue, one lock.
#[derive(Debug, Clone)]
pub struct Subject<'a> {
    /// Its name, with the parameters that only some subjects have; empty where the probe has one subject alone.
    pub name: String,
    /// Its result in the unit of the quantity: of several pairs that of the typical one.
    pub value: Estimate,
    /// Pairs, or other placements, that it is typical of.
    pub placements: usize,
    /// Whether a flag of any of its trials says that the value may be wrong by more than its interval.
    pub may_be_wrong: bool,
    /// The first of its trials under this condition.
    pub trial: &'a TrialResult,
}

/// Why a subject has no place in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unranked {
    /// No implementation can beat it, and none that is correct can use it.
    Bound,
    /// It computes a wrong answer, or did so here.
    WrongAnswer,
    /// Threads that poll shared a CPU: time slices were measured.
    TimeSlices,
    /// Its passes give no interval.
    TooFewPasses,
    /// It was only measured in another state of the machine.
    OtherState,
}

/// What the order of the subjects says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// One subject alone.
    Single,
    /// The intervals of all subjects overlap that of the first.
    Alike,
    /// The first is better than another.
    Ordered {
        /// Subjects whose intervals overlap that of the first.
        like_best: Vec<usize>,
        /// The last that differs from the first.
        worst: usize,
        /// Subjects whose intervals overlap that of the worst.
        like_worst: Vec<usize>,
    },
    /// These subjects have no interval, and their values do not exclude that one of them is the best.
    CannotTell(Vec<String>),
}

/// Ranks the subjects of a probe under the condition with most of them; among those with as many, the condition that
/// [`Preferred`] names for each parameter, between CPUs of the nearest relation other than threads of one core. `None`
/// where the probe has no number.
pub fn ranking<'a>(
    settings: &SeriesSettings,
    result: &'a SeriesResult,
    probe: &str,
    declared: &[Parameter],
    topology: &Topology,
) -> Option<Ranking<'a>> {
    let trials: Vec<&TrialResult> = result.trials.iter().filter(|trial| trial.spec.probe == probe).collect();
    let plan = Plan::of(&trials, declared, topology);
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut positions: BTreeMap<Key, usize> = BTreeMap::new();
    for &trial in &trials {
        let group = *positions.entry(plan.key(trial)).or_insert_with(|| {
            groups.push(Group { order: plan.order(trial), trials: Vec::new() });
            groups.len() - 1
        });
        groups[group].trials.push(trial);
    }
    let told = groups.into_iter().filter_map(|group| Some((group.quantity(settings, probe)?, group)));
    let (quantity, group) = told.min_by(|(one, first), (other, second)| {
        let most = |quantity: &Quantity, group: &Group<'_>| {
            let subjects =
                group.shown(settings, quantity).filter(|(trial, _)| excluded(&plan, trial).is_none());
            (
                quantity.unit != Unit::Ratio,
                subjects.map(|(trial, _)| plan.name(trial)).collect::<BTreeSet<_>>().len(),
            )
        };
        let by_preference = || {
            let pairs = first.order.iter().zip(&second.order);
            pairs.map(|(a, b)| a.total_cmp(b)).find(|it| it.is_ne()).unwrap_or(Ordering::Equal)
        };
        most(other, second).cmp(&most(one, first)).then_with(by_preference)
    })?;
    Some(ranked(settings, &plan, quantity, &group))
}

/// The order of the subjects of one condition.
fn ranked<'a>(
    settings: &SeriesSettings,
    plan: &Plan<'_>,
    quantity: &'static Quantity,
    group: &Group<'a>,
) -> Ranking<'a> {
    let mut results: Vec<Found<'a>> = Vec::new();
    let mut of = |name: String, trial: &'a TrialResult| match results.iter().position(|it| it.name == name) {
        Some(known) => known,
        None => {
            results.push(Found { name, trial, values: Vec::new(), may_be_wrong: false, reason: None });
            results.len() - 1
        }
    };
    // All in the state in which most passes of all of them were made.
    let in_state = side_by_side(&group.trials);
    let mut found = Vec::new();
    for (&trial, in_state) in group.trials.iter().zip(&in_state) {
        let Some((_, estimate)) = shown(settings, quantity, trial) else { continue };
        let value = match (excluded(plan, trial), in_state) {
            (Some(reason), _) => Err(reason),
            (None, None) => Err(Unranked::OtherState),
            (None, Some(of_state)) => {
                let estimate = shown(settings, quantity, of_state).map_or(estimate, |(_, estimate)| estimate);
                Ok((estimate, of_state.flags.may_be_wrong()))
            }
        };
        found.push((of(plan.name(trial), trial), value));
    }
    for (index, value) in found {
        match value {
            Ok((estimate, may_be_wrong)) => {
                results[index].values.push(estimate);
                results[index].may_be_wrong |= may_be_wrong;
            }
            Err(reason) => results[index].reason = Some(reason),
        }
    }
    let mut subjects = Vec::new();
    let (mut unranked, mut unsure) = (Vec::new(), Vec::new());
    for Found { name, trial, values, may_be_wrong, reason } in results {
        let sure: Vec<Estimate> = values.iter().copied().filter(Estimate::is_sure).collect();
        match (Estimate::typical(&sure), Estimate::typical(&values), reason) {
            (Some(value), ..) => {
                subjects.push(Subject { name, value, placements: sure.len(), may_be_wrong, trial });
            }
            (None, Some(value), _) => {
                unsure.push((name.clone(), value.point));
                unranked.push((name, Unranked::TooFewPasses));
            }
            (None, None, Some(reason)) => unranked.push((name, reason)),
            (None, None, None) => {}
        }
    }
    let sign = if quantity.better == Some(Better::Higher) { -1.0 } else { 1.0 };
    subjects.sort_by(|one, other| (sign * one.value.point).total_cmp(&(sign * other.value.point)));
    let verdict = verdict(&subjects, &unsure, sign);
    Ranking { quantity, condition: plan.condition(group.trials[0]), subjects, unranked, verdict }
}

fn verdict(subjects: &[Subject<'_>], unsure: &[(String, f64)], sign: f64) -> Verdict {
    let Some(first) = subjects.first() else {
        return Verdict::CannotTell(unsure.iter().map(|(name, _)| name.clone()).collect());
    };
    let far_end = if sign > 0.0 { first.value.high } else { first.value.low };
    let rivals: Vec<String> = unsure
        .iter()
        .filter(|(_, point)| sign * point <= sign * far_end)
        .map(|(name, _)| name.clone())
        .collect();
    if !rivals.is_empty() {
        return Verdict::CannotTell(rivals);
    }
    if subjects.len() == 1 {
        return Verdict::Single;
    }
    let alike = |one: usize| {
        let is_like =
            move |other: &usize| *other != one && subjects[one].value.overlaps(&subjects[*other].value);
        (0..subjects.len()).filter(is_like).collect::<Vec<_>>()
    };
    let like_best = alike(0);
    match (1..subjects.len()).rev().find(|index| !like_best.contains(index)) {
        Some(worst) => Verdict::Ordered { like_best, worst, like_worst: alike(worst) },
        None => Verdict::Alike,
    }
}

/// Why a trial is never ranked, whatever its value.
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
}

/// The number by which a trial is shown, where that is the quantity, with the interval over its passes.
fn shown(settings: &SeriesSettings, quantity: &Quantity, trial: &TrialResult) -> Option<(f64, Estimate)> {
    let name = displayed_value(settings, trial).filter(|name| *name == quantity.id)?;
    let point = trial.number_of(name)?;
    let of_passes = trial.medians_ns.get(name).or_else(|| trial.values.get(name))?;
    // The median of all events is not that of the medians of passes: the interval holds both.
    let (low, high) = (of_passes.low.min(point), of_passes.high.max(point));
    Some((point, Estimate { point, low, high, ..*of_passes }))
}

/// The results of a subject under one condition.
struct Found<'a> {
    name: String,
    trial: &'a TrialResult,
    values: Vec<Estimate>,
    may_be_wrong: bool,
    reason: Option<Unranked>,
}

/// The trials under one condition.
struct Group<'a> {
    /// The smaller, the sooner users ask for it; compared number by number.
    order: Vec<f64>,
    trials: Vec<&'a TrialResult>,
}

impl<'a> Group<'a> {
    /// The quantity by which most trials are shown. A ratio says less than what it is of.
    fn quantity(&self, settings: &SeriesSettings, probe: &str) -> Option<&'static Quantity> {
        let names = self.trials.iter().filter_map(|trial| displayed_value(settings, trial));
        let declared: Vec<&Quantity> = names.filter_map(|name| settings.quantities.of(probe, name)).collect();
        let count = |of: &Quantity| declared.iter().filter(|quantity| quantity.id == of.id).count();
        declared.iter().copied().max_by_key(|quantity| (quantity.unit != Unit::Ratio, count(quantity)))
    }

    fn shown(
        &self,
        settings: &SeriesSettings,
        quantity: &Quantity,
    ) -> impl Iterator<Item = (&'a TrialResult, f64)> {
        self.trials.iter().filter_map(|&trial| Some((trial, shown(settings, quantity, trial)?.0)))
    }
}

/// A condition as a key: the values of its parameters as text, and the place.
type Key = (Vec<Option<String>>, String);

/// What the trials of a probe differ in.
struct Plan<'p> {
    declared: &'p [Parameter],
    topology: &'p Topology,
    /// Parameters with several values, declared ones first.
    differing: Vec<String>,
    /// The values of each in the order of the plan.
    values: Vec<Vec<Option<Value>>>,
    is_moved: bool,
}

impl<'p> Plan<'p> {
    fn of(trials: &[&TrialResult], declared: &'p [Parameter], topology: &'p Topology) -> Plan<'p> {
        let named: BTreeSet<&str> =
            trials.iter().flat_map(|trial| trial.spec.parameters.iter()).map(|(name, _)| name).collect();
        let first = declared.iter().map(|parameter| parameter.id).filter(|id| named.contains(id));
        let others = named.iter().copied().filter(|name| declared.iter().all(|it| it.id != *name));
        let mut differing = Vec::new();
        let mut values = Vec::new();
        for name in first.chain(others) {
            let mut of: Vec<Option<Value>> = Vec::new();
            for trial in trials {
                let value = trial.spec.parameters.0.get(name);
                if !of.iter().any(|known| known.as_ref() == value) {
                    of.push(value.cloned());
                }
            }
            if of.len() > 1 {
                differing.push(name.to_owned());
                values.push(of);
            }
        }
        let place = |trial: &&&TrialResult| trial.spec.placement != trials[0].spec.placement;
        Plan { declared, topology, differing, values, is_moved: trials.iter().any(|trial| place(&trial)) }
    }

    fn in_ranking(&self, name: &str) -> InRanking {
        let declared = self.declared.iter().find(|parameter| parameter.id == name);
        declared.map_or(InRanking::Condition(Preferred::First), |parameter| parameter.in_ranking)
    }

    fn conditions(&self) -> impl Iterator<Item = (&str, &[Option<Value>], Preferred)> {
        self.differing.iter().zip(&self.values).filter_map(|(name, values)| match self.in_ranking(name) {
            InRanking::Condition(preferred) => Some((name.as_str(), &values[..], preferred)),
            InRanking::Subject { .. } | InRanking::OfSubject => None,
        })
    }

    /// What is ranked: empty where the trials differ in conditions alone.
    fn name(&self, trial: &TrialResult) -> String {
        let parts = self.differing.iter().filter_map(|name| {
            let value = trial.spec.parameters.0.get(name)?;
            match (self.in_ranking(name), self.declared.iter().find(|parameter| parameter.id == *name)) {
                (InRanking::Subject { .. }, _) => Some(value.to_string()),
                (InRanking::OfSubject, Some(parameter)) => {
                    self.has_several(parameter.id).then(|| format!("{} {value}", parameter.words))
                }
                _ => None,
            }
        });
        parts.collect::<Vec<_>>().join(", ")
    }

    /// Whether a parameter that some subjects lack has several values among those that have it.
    fn has_several(&self, id: &str) -> bool {
        let of = self.differing.iter().zip(&self.values).find(|(name, _)| *name == id);
        of.is_some_and(|(_, values)| values.iter().flatten().count() > 1)
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
        // Pairs by nearness; what threads of one core, or of one CPU, share is more than a cache line.
        let place = match trial.spec.placement[..] {
            [from, to] => match self.topology.relation(from, to) {
                relation @ (Relation::SameCpu | Relation::Smt) => {
                    100.0 - self.topology.nearness(relation) as f64
                }
                relation => self.topology.nearness(relation) as f64,
            },
            _ => 50.0,
        };
        let parameter = |(name, values, preferred): (&str, &[Option<Value>], Preferred)| {
            let value = trial.spec.parameters.0.get(name);
            let position =
                values.iter().position(|known| known.as_ref() == value).unwrap_or(values.len()) as f64;
            match (preferred, value) {
                (Preferred::Least, Some(Value::Number(number))) => *number,
                (Preferred::Most, Some(Value::Number(number))) => -number,
                (Preferred::Nearest(to), Some(Value::Number(number))) => (number / to).ln().abs(),
                (Preferred::Named(text), Some(Value::Text(named))) if text == named => -1.0,
                (Preferred::Named(_) | Preferred::First, _) => position,
                _ => f64::INFINITY,
            }
        };
        self.conditions().map(parameter).chain([place]).collect()
    }

    fn condition<'a>(&self, trial: &'a TrialResult) -> Condition<'a> {
        let differs = |(name, _): &(&str, &Value)| self.conditions().any(|(known, ..)| known == *name);
        Condition {
            parameters: trial.spec.parameters.iter().filter(differs).collect(),
            placement: self.is_moved.then_some(&trial.spec.placement[..]),
        }
    }
}

#[cfg(test)]
mod tests;
