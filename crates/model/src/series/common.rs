//! [`side_by_side`]: trials in one and the same state of the machine, so that they may be held against each other.

use super::{TrialResult, TrialState};
use crate::CpuId;
use crate::latency::ladder::is_of_state;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Some trials, each in the state of the machine in which most passes of all trials between its
/// [ends](super::TrialSpec::ends) were made; `None` for one that has no pass in it. Those of which no state is known stay
/// as they are. In a state that is not the largest of its own, a trial has values and medians, and no distributions or
/// counts.
pub fn side_by_side<'a>(trials: &[&'a TrialResult]) -> Vec<Option<Cow<'a, TrialResult>>> {
    let mut weights: BTreeMap<[CpuId; 2], Vec<(f64, f64)>> = BTreeMap::new();
    for trial in trials {
        let Some(ends) = trial.spec.ends() else { continue };
        let levels = weights.entry(ends).or_default();
        for (cas_ns, share) in states(trial) {
            for &ns in cas_ns {
                match levels.iter_mut().find(|(known, _)| is_of_state(ns, [*known; 2])) {
                    Some((_, weight)) => *weight += share,
                    None => levels.push((ns, share)),
                }
            }
        }
    }
    let common = |trial: &TrialResult| {
        let levels = weights.get(&trial.spec.ends()?)?;
        levels.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(ns, _)| *ns)
    };
    trials
        .iter()
        .map(|&trial| match common(trial) {
            Some(ns) => in_state(trial, ns),
            None => Some(Cow::Borrowed(trial)),
        })
        .collect()
}

/// What CAS took in each state of a trial, and its share.
fn states(trial: &TrialResult) -> Vec<(&[f64], f64)> {
    match &trial.states[..] {
        [] => vec![(&trial.cas_ns, 1.0)],
        states => states.iter().map(|state| (&state.cas_ns[..], state.share)).collect(),
    }
}

/// A trial in the state in which CAS takes so long.
fn in_state(trial: &TrialResult, cas_ns: f64) -> Option<Cow<'_, TrialResult>> {
    let fits = |levels: &[f64]| levels.iter().any(|&ns| is_of_state(ns, [cas_ns; 2]));
    if trial.cas_ns.is_empty() || fits(&trial.cas_ns) {
        return Some(Cow::Borrowed(trial));
    }
    let TrialState { values, medians_ns, cas_ns, .. } = trial.states.iter().find(|it| fits(&it.cas_ns))?;
    let (values, medians_ns, cas_ns) = (values.clone(), medians_ns.clone(), cas_ns.clone());
    let (flags, grade, passes) = (trial.flags, trial.grade, trial.passes);
    Some(Cow::Owned(TrialResult {
        passes,
        values,
        medians_ns,
        cas_ns,
        flags,
        grade,
        ..TrialResult::of(trial.spec.clone())
    }))
}

#[cfg(test)]
mod tests {
    use super::super::{Parameters, TrialSpec};
    use super::*;
    use crate::stats::Estimate;

    fn estimate(point: f64) -> Estimate {
        Estimate { point, low: point, high: point, confidence: 0.95, effective_n: 8.0 }
    }

    /// A trial with these states: share, value, CAS.
    fn trial(states: &[(f64, f64, f64)]) -> TrialResult {
        let spec = TrialSpec {
            probe: "wait".into(),
            parameters: Parameters::default(),
            placement: vec![CpuId(1), CpuId(0)],
        };
        let values = |value: f64| BTreeMap::from([("loop_ns".to_owned(), estimate(value))]);
        let state = |&(share, value, cas_ns): &(f64, f64, f64)| TrialState {
            share,
            passes: 8,
            value: estimate(value),
            values: values(value),
            medians_ns: BTreeMap::new(),
            cas_ns: vec![cas_ns],
        };
        TrialResult {
            values: values(states[0].1),
            cas_ns: vec![states[0].2],
            states: states.iter().map(state).filter(|_| states.len() > 1).collect(),
            ..TrialResult::of(spec)
        }
    }

    #[test]
    fn trials_are_held_against_each_other_in_one_state_or_not_at_all() {
        let trials = [
            trial(&[(0.6, 50.0, 25.0), (0.4, 240.0, 124.0)]),
            trial(&[(0.7, 260.0, 125.0), (0.3, 60.0, 25.2)]),
            trial(&[(1.0, 70.0, 25.1)]),
            trial(&[(1.0, 200.0, 124.0)]),
        ];
        let beside = |these: &[&TrialResult]| -> Vec<Option<f64>> {
            let point = |trial: Cow<'_, TrialResult>| trial.values["loop_ns"].point;
            side_by_side(these).into_iter().map(|trial| trial.map(point)).collect()
        };
        let [a, b, near, far] = &trials;
        assert_eq!(beside(&[a, b, near]), [Some(50.0), Some(60.0), Some(70.0)], "each where CAS takes 25 ns");
        assert_eq!(beside(&[a, b, far]), [Some(240.0), Some(260.0), Some(200.0)]);
        assert_eq!(beside(&[a, near, far]), [Some(50.0), Some(70.0), None], "it was never there");
    }

    #[test]
    fn trials_of_which_no_state_is_known_stay_as_they_are() {
        let mut old = trial(&[(1.0, 80.0, 25.0)]);
        old.cas_ns.clear();
        let far = trial(&[(1.0, 200.0, 124.0)]);
        assert!(side_by_side(&[&old, &far]).iter().all(Option::is_some));
    }
}
