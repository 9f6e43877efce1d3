//! States of the machine during the passes of trials.

use super::headline::named_headline_of_passes;
use super::judge::half_step_of;
use super::{PassOutcome, SeriesRecord, SeriesSettings, TrialSpec};
use crate::stats::{Detector, mean, median, median_in_place, split_states};
use crate::{CpuId, Flag, Histogram};
use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

const BY_VALUE: Detector = Detector { fewest: 3, ..Detector::OTHERS };
/// Rarer values are disturbances, not states.
const VALUE_STATE_DIVISOR: usize = 6;
const CAS_STATE_DIVISOR: usize = 64;
/// Minimum distance between states that only values show, in standard deviations of their passes. Trials scatter more
/// than maps. In simulation (4,000 each), eight log-normal passes of one state with 30 % scatter are split in 0.8 % of
/// the cases, and 24 never. With two passes per side and deviations from medians, eight were split in 10 %.
const MIN_DEVIATIONS: f64 = 4.5;
const MIN_FACTOR: f64 = 1.15;
const MAX_OVERLAP: f64 = 0.1;

/// States of the machine by latency of CAS without pause, per set of CPUs, over all trials of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SentinelWatch {
    sets: BTreeMap<Vec<CpuId>, Vec<Level>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Level {
    low: f64,
    median: f64,
    high: f64,
}

impl SentinelWatch {
    /// Detects the states over all passes of a run.
    pub fn from_record(settings: &SeriesSettings, record: &SeriesRecord) -> SentinelWatch {
        let mut values: BTreeMap<Vec<CpuId>, Vec<f64>> = BTreeMap::new();
        for (trial, spec) in settings.trials.iter().enumerate() {
            let visits = record.outcomes(trial).filter_map(|pass| pass.sentinel_ns).flatten();
            values.entry(spec.watched()).or_default().extend(visits.map(f64::from));
        }
        let levels = |values: Vec<f64>| {
            let fewest = Detector::CAS.fewest.max(values.len() / CAS_STATE_DIVISOR);
            let states = split_states(&values, Detector { fewest, ..Detector::CAS }).into_iter();
            states
                .filter_map(|state| {
                    Level::from_values(state.passes.iter().map(|&visit| values[visit]).collect())
                })
                .collect()
        };
        SentinelWatch { sets: values.into_iter().map(|(cpus, values)| (cpus, levels(values))).collect() }
    }

    fn levels(&self, spec: &TrialSpec) -> &[Level] {
        self.sets.get(&spec.watched()).map_or(&[], Vec::as_slice)
    }
}

impl Level {
    fn from_values(mut values: Vec<f64>) -> Option<Level> {
        let median = median_in_place(&mut values)?;
        let (low, high) = (
            values.iter().copied().fold(f64::INFINITY, f64::min),
            values.iter().copied().fold(0.0, f64::max),
        );
        Some(Level { low, median, high })
    }

    fn around(levels: &[Level], pass: &PassOutcome) -> Option<[usize; 2]> {
        let at = |ns: f32| levels.iter().position(|level| (level.low..=level.high).contains(&f64::from(ns)));
        let [before, after] = pass.sentinel_ns?;
        Some([at(before)?, at(after)?])
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct StatePart {
    pub passes: Vec<usize>,
    /// Median CAS latency without pause between the CPUs of the trial, in nanoseconds, ascending. One for each machine
    /// state that the values of the trial do not separate.
    pub cas_ns: Vec<f64>,
}

/// Splits the passes of a trial by state, the largest state first. A pass during which the state changed is in no part.
/// `median_passes` are the positions of the passes used for medians.
///
/// The CAS latency splits first, and states that do not affect this trial are joined. Each part is then split at gaps
/// of the values. A host that stops polling before it halts a CPU affects values, but not CAS.
pub fn split(
    settings: &SeriesSettings,
    watch: &SentinelWatch,
    spec: &TrialSpec,
    passes: &[&PassOutcome],
    median_passes: &[usize],
) -> Vec<StatePart> {
    let levels = watch.levels(spec);
    let around: Vec<Option<[usize; 2]>> = passes.iter().map(|pass| Level::around(levels, pass)).collect();
    let whole = || {
        let states: BTreeSet<usize> = around.iter().flatten().flatten().copied().collect();
        let cas_ns = states.into_iter().map(|state| levels[state].median).collect();
        vec![StatePart { passes: (0..passes.len()).collect(), cas_ns }]
    };
    // Lost time comes from rare events, which form clusters that are not states of the machine.
    if settings.quantities.measures_lost_time(&spec.probe) {
        return whole();
    }
    let Some((name, values)) = named_headline_of_passes(settings, &spec.probe, passes) else {
        return whole();
    };
    let value = |pass: usize| values[pass].unwrap_or(f64::NAN);
    let has_value = |pass: &usize| value(*pass) > 0.0;
    let machine = by_machine(&around, |pass| has_value(&pass), &value);
    let parts: Vec<StatePart> = if levels.len() < 2 || machine.is_empty() {
        let cas_ns = levels.first().map(|level| level.median).into_iter().collect();
        vec![StatePart { passes: (0..passes.len()).filter(has_value).collect(), cas_ns }]
    } else {
        let part = |(states, passes): (Vec<usize>, Vec<usize>)| StatePart {
            passes,
            cas_ns: states.into_iter().map(|state| levels[state].median).collect(),
        };
        machine.into_iter().map(part).collect()
    };
    let step_ns = LazyCell::new(|| step(settings, &spec.probe, name, passes));
    // The timing of quanta, and the order in which threads of one CPU sleep and wake, form clusters that are no states:
    // 384 threads behind one mutex on 192 simulated CPUs took 4.1 or 10.3 µs each.
    let cpus: BTreeSet<CpuId> = spec.placement.iter().copied().collect();
    let has_own_clusters = cpus.len() < spec.placement.len()
        || passes.iter().any(|pass| pass.observed.flags.contains(Flag::SharedSpin));
    // The speeds at which processes of a runtime settle are not states of the machine either.
    let has_own_clusters = has_own_clusters || passes.iter().any(|pass| pass.process.is_some());
    let mut parts: Vec<StatePart> = parts
        .into_iter()
        .flat_map(|StatePart { passes, cas_ns }| {
            let divided = if has_own_clusters {
                vec![passes]
            } else {
                by_value(passes, median_passes, &value, &step_ns)
            };
            divided.into_iter().map(move |passes| StatePart { passes, cas_ns: cas_ns.clone() })
        })
        .collect();
    if parts.len() < 2 {
        return whole();
    }
    parts.sort_by(|a, b| b.passes.len().cmp(&a.passes.len()).then(a.passes.cmp(&b.passes)));
    parts
}

fn by_machine(
    around: &[Option<[usize; 2]>],
    has_value: impl Fn(usize) -> bool,
    value: &impl Fn(usize) -> f64,
) -> Vec<(Vec<usize>, Vec<usize>)> {
    let mut steady: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (pass, states) in around.iter().enumerate().filter(|(pass, _)| has_value(*pass)) {
        if let Some([before, after]) = states
            && before == after
        {
            steady.entry(*before).or_default().push(pass);
        }
    }
    let mut parts = joined(steady.into_iter().map(|(state, passes)| (vec![state], passes)).collect(), value);
    for (states, passes) in &mut parts {
        states.sort_unstable();
        let inside = |pass: &usize| {
            around[*pass].is_some_and(|around| around.iter().all(|state| states.contains(state)))
        };
        *passes = (0..around.len()).filter(|pass| has_value(*pass) && inside(pass)).collect();
    }
    parts
}

fn joined(
    mut parts: Vec<(Vec<usize>, Vec<usize>)>,
    value: &impl Fn(usize) -> f64,
) -> Vec<(Vec<usize>, Vec<usize>)> {
    let median_of = |part: &[usize]| {
        median(&part.iter().map(|&pass| value(pass)).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    };
    let are_alike = |low: &[usize], high: &[usize]| {
        let crossed = low.iter().flat_map(|&a| high.iter().map(move |&b| (a, b)));
        let crossed = crossed.filter(|&(a, b)| value(a) >= value(b)).count();
        median_of(high) / median_of(low) <= MIN_FACTOR
            || crossed as f64 > MAX_OVERLAP * (low.len() * high.len()) as f64
    };
    loop {
        parts.sort_by(|a, b| median_of(&a.1).total_cmp(&median_of(&b.1)));
        let Some(at) = (1..parts.len()).find(|&at| are_alike(&parts[at - 1].1, &parts[at].1)) else {
            return parts;
        };
        let (states, passes) = parts.remove(at);
        parts[at - 1].0.extend(states);
        parts[at - 1].1.extend(passes);
    }
}

fn by_value(
    part: Vec<usize>,
    median_passes: &[usize],
    value: &impl Fn(usize) -> f64,
    step_ns: &impl Deref<Target = f64>,
) -> Vec<Vec<usize>> {
    // Passes of other lengths scatter differently. They are assigned to states, but do not define them.
    let defining: Vec<usize> = part.iter().copied().filter(|pass| median_passes.contains(pass)).collect();
    let values: Vec<f64> = defining.iter().map(|&pass| value(pass)).collect();
    let fewest = BY_VALUE.fewest.max(defining.len().div_ceil(VALUE_STATE_DIVISOR));
    let states = split_states(&values, Detector { fewest, ..BY_VALUE });
    let mut states: Vec<Vec<f64>> = states
        .into_iter()
        .map(|state| state.passes.iter().map(|&index| values[index]).collect::<Vec<f64>>())
        .collect();
    let top = |state: &[f64]| state.iter().copied().fold(0.0, f64::max);
    let bottom = |state: &[f64]| state.iter().copied().fold(f64::INFINITY, f64::min);
    loop {
        let score = |at: usize| {
            let (low, high) = (&states[at - 1], &states[at]);
            if bottom(high) - top(low) <= 1.5 * **step_ns {
                return 0.0;
            }
            (bottom(high) / top(low)).ln() / deviation(low, high)
        };
        let least = (1..states.len()).map(|at| (at, score(at))).min_by(|a, b| a.1.total_cmp(&b.1));
        match least {
            Some((at, score)) if score < MIN_DEVIATIONS => {
                let upper = states.remove(at);
                states[at - 1].extend(upper);
            }
            _ => break,
        }
    }
    if states.len() < 2 {
        return vec![part];
    }
    let edges: Vec<f64> =
        (1..states.len()).map(|at| (top(&states[at - 1]) * bottom(&states[at])).sqrt()).collect();
    let mut divided = vec![Vec::new(); states.len()];
    for pass in part {
        divided[edges.partition_point(|edge| *edge < value(pass))].push(pass);
    }
    divided
}

fn deviation(low: &[f64], high: &[f64]) -> f64 {
    let squares = |state: &[f64]| {
        let logs: Vec<f64> = state.iter().map(|value| value.ln()).collect();
        let mean_log = mean(&logs).unwrap_or(f64::NAN);
        logs.iter().map(|log| (log - mean_log).powi(2)).sum::<f64>()
    };
    let freedom = (low.len() + high.len()).saturating_sub(2).max(1) as f64;
    ((squares(low) + squares(high)) / freedom).sqrt().max(1e-9)
}

fn step(settings: &SeriesSettings, probe: &str, name: &str, passes: &[&PassOutcome]) -> f64 {
    let distribution = |name: &str| -> Option<Histogram> {
        Some(passes.iter().filter_map(|pass| pass.observed.numbers.histograms.get(name)).sum())
    };
    half_step_of(&settings.quantities, probe, name, distribution).map_or(0.0, |half| 2.0 * half)
}

#[cfg(test)]
mod tests {
    use super::super::{
        ConcurrencyGate, Parameters, SeriesEntry, SeriesResult, TrialResult, analyse_series, is_done,
    };
    use super::*;
    use crate::quantity::{Aggregate, Quantities, Quantity};
    use crate::stats::Key;
    use crate::tests::{histogram, spec};
    use crate::{CpuSet, Picos, Reason, Topology};

    fn settings(probe: &'static str, trials: usize) -> SeriesSettings {
        let trial = |index: usize| spec(probe, Parameters::default().with("number", index as f64), &[1, 0]);
        SeriesSettings {
            trials: (0..trials).map(trial).collect(),
            headlines: vec!["loop_ns".into()],
            precision: 0.02,
            quantities: Quantities::new([(probe, ENDED)]),
            ..SeriesSettings::default()
        }
    }

    const ENDED: &[Quantity] = &[Quantity::count("ended", "").aggregate(Aggregate::SumOverStates)];

    /// A value, and the CAS latencies before and after it.
    type TestPass = (f64, Option<[f32; 2]>);

    fn result(settings: &SeriesSettings, passes: &[Vec<TestPass>]) -> SeriesResult {
        analyse_series(&Topology::flat(CpuSet::new()), settings, &record(passes))
    }

    fn record(passes: &[Vec<TestPass>]) -> SeriesRecord {
        let mut record = SeriesRecord::new();
        for (trial, passes) in passes.iter().enumerate() {
            for (pass, &(value, sentinel_ns)) in passes.iter().enumerate() {
                let mut outcome =
                    PassOutcome { elapsed: Picos::from_ms(10), sentinel_ns, ..PassOutcome::default() };
                outcome.observed.value("loop_ns", value);
                outcome.observed.count("trips", 5);
                outcome.observed.count("ended", 1);
                outcome.observed.histogram("trip", histogram(&[(value, 10)]));
                let (pass, trial) = (pass as u32, trial as u32);
                record.push(SeriesEntry { segment: 0, pass, trial, outcome: Ok(outcome) });
            }
        }
        record
    }

    /// Passes by state: count, value, CAS latency.
    fn states(groups: &[(usize, f64, f64)], noise: f64, key: u64) -> Vec<TestPass> {
        let key = Key::from_words(&[key]);
        let each = groups.iter().flat_map(|&(count, value, cas)| std::iter::repeat_n((value, cas), count));
        let noisy = |at: usize, level: f64, noise: f64| level * (1.0 + noise * key.normal(at as u64));
        each.enumerate()
            .map(|(at, (value, cas))| {
                let cas = [2 * at, 2 * at + 1].map(|visit| noisy(1_000 + visit, cas, 0.02) as f32);
                (noisy(at, value, noise), Some(cas))
            })
            .collect()
    }

    fn found(trial: &TrialResult) -> Vec<(u32, u64)> {
        trial.states.iter().map(|state| (state.passes, state.value.point.round() as u64)).collect()
    }

    #[test]
    fn results_are_of_the_largest_state_only() {
        let settings = settings("wait", 1);
        let passes =
            states(&[(4, 50.0, 25.0), (9, 240.0, 124.0), (4, 50.0, 25.0), (7, 240.0, 124.0)], 0.02, 1);
        let trial = &result(&settings, &[passes]).trials[0];
        assert!(matches!(found(trial)[..], [(16, 238..=242), (8, 49..=51)]), "{:?}", trial.states);
        let value = trial.values["loop_ns"];
        assert!(value.low > 220.0 && value.high < 260.0, "{value:?}");
        // 16 passes of 10 events and 5 trips each; `ended` counts all 24 passes.
        assert_eq!((trial.histograms["trip"].count(), trial.counts["trips"], trial.passes), (160, 80, 24));
        assert_eq!(trial.counts["ended"], 24);
        assert!(trial.flags.contains(Flag::Multimodal));
        assert_eq!(trial.reason, Some(Reason::States(2)));
        assert!(trial.cas_ns.len() == 1 && (trial.cas_ns[0] / 124.0 - 1.0).abs() < 0.05);
    }

    #[test]
    fn a_single_pass_in_another_state_is_detected_from_other_trials() {
        let settings = settings("wait", 2);
        let one = states(&[(7, 50.0, 25.0), (1, 240.0, 124.0)], 0.02, 2);
        let other = states(&[(5, 80.0, 25.0), (3, 300.0, 124.0)], 0.02, 3);
        let result = result(&settings, &[one, other]);
        let trial = &result.trials[0];
        assert!(matches!(found(trial)[..], [(7, 49..=51), (1, _)]), "{:?}", trial.states);
        assert!(trial.values["loop_ns"].high < 60.0);
        assert!(!trial.states[1].value.is_sure(), "one pass has no interval");
    }

    #[test]
    fn states_without_effect_are_joined_and_passes_during_a_change_are_left_out() {
        let settings = settings("wait", 2);
        let unmoved = states(&[(4, 27_000.0, 25.0), (4, 27_100.0, 124.0)], 0.03, 4);
        let mut moved = states(&[(4, 50.0, 25.0), (4, 240.0, 124.0)], 0.02, 5);
        moved.push((140.0, Some([25.0, 124.0])));
        let result = result(&settings, &[unmoved, moved]);
        let [unmoved, moved] = &result.trials[..] else { panic!("{result:?}") };
        assert!(unmoved.states.is_empty() && !unmoved.flags.contains(Flag::Multimodal));
        assert_eq!(unmoved.cas_ns.len(), 2, "it is from both");
        assert_eq!(found(moved).iter().map(|state| state.0).collect::<Vec<_>>(), [4, 4]);
    }

    #[test]
    fn without_cas_a_wide_gap_separates_states_and_noise_does_not() {
        let settings = settings("wait", 1);
        let without = |passes: Vec<TestPass>| -> TrialResult {
            let passes = passes.into_iter().map(|(value, _)| (value, None)).collect();
            result(&settings, &[passes]).trials.remove(0)
        };
        let apart = without(states(&[(5, 50.0, 25.0), (3, 350.0, 25.0)], 0.05, 6));
        assert!(matches!(found(&apart)[..], [(5, 45..=55), (3, _)]), "{:?}", apart.states);
        let alarms = (0..400).filter(|&key| {
            let noise = if key % 2 == 0 { 0.05 } else { 0.3 };
            !without(states(&[(8, 100.0, 25.0)], noise, 100 + key)).states.is_empty()
        });
        let alarms = alarms.count();
        assert!(alarms <= 4, "{alarms} of 400: a hundredth at most");
        let stalled = without([vec![(400.0, None)], states(&[(7, 50.0, 25.0)], 0.02, 7)].concat());
        assert!(stalled.states.is_empty(), "one pass is no state");
    }

    #[test]
    fn the_order_of_threads_on_one_cpu_is_not_a_machine_state() {
        let mut settings = settings("contend", 1);
        let apart = [states(&[(6, 4.1, 25.0), (18, 10.3, 25.0)], 0.01, 21)];
        assert_eq!(found(&result(&settings, &apart).trials[0]).len(), 2);
        settings.trials[0].placement = vec![CpuId(0), CpuId(1), CpuId(0), CpuId(1)];
        assert!(result(&settings, &apart).trials[0].states.is_empty());
    }

    #[test]
    fn clock_steps_of_medians_are_not_states() {
        let mut settings = settings("latency", 1);
        settings.headlines = vec!["half_net_ns".into()];
        const DECLARED: &[Quantity] = &[Quantity::time("half_net_ns", "").of_median("round-trip", 0.5)];
        settings.quantities = Quantities::new([("latency", DECLARED)]);
        // Round trips of 83 and 125 ns on a 24 MHz clock, minus 28 ns for reading it; half of it changes in half steps.
        let passes = |steps: fn(usize) -> f64| {
            let outcomes = (0..24).map(|pass| {
                let mut outcome = PassOutcome { elapsed: Picos::from_ms(10), ..PassOutcome::default() };
                let median = steps(pass) * 41.67;
                outcome.observed.value("half_net_ns", (median - 28.0) / 2.0);
                let trips = histogram(&[(median, 10), (median + 41.67, 3), (median - 41.67, 3)]);
                outcome.observed.histogram("round-trip", trips);
                outcome
            });
            let record = crate::tests::record(outcomes);
            analyse_series(&Topology::flat(CpuSet::new()), &settings, &record).trials.remove(0)
        };
        let adjacent = passes(|pass| if pass % 3 == 0 { 3.0 } else { 2.0 });
        assert!(adjacent.states.is_empty() && !adjacent.flags.contains(Flag::Multimodal), "{adjacent:?}");
        let apart = passes(|pass| if pass % 3 == 0 { 9.0 } else { 2.0 });
        assert_eq!(found(&apart).len(), 2, "{:?}", apart.states);
    }

    #[test]
    fn a_trial_with_two_states_gets_passes_until_the_largest_has_an_interval() {
        let settings = settings("wait", 1);
        let done = |groups: &[(usize, f64, f64)]| {
            let record = record(&[states(groups, 0.001, 9)]);
            let watch = SentinelWatch::from_record(&settings, &record);
            is_done(&settings, &ConcurrencyGate::default(), &watch, &record, 0)
        };
        assert!(done(&[(8, 50.0, 25.0)]) && !done(&[(5, 50.0, 25.0), (3, 240.0, 124.0)]));
        assert!(done(&[(6, 50.0, 25.0), (2, 240.0, 124.0)]), "six passes have one");
    }

    #[test]
    fn lost_time_is_not_split_into_states() {
        const DECLARED: &[Quantity] = &[Quantity::time("loop_ns", "").lost_time()];
        let mut settings = settings("jitter", 1);
        settings.quantities = Quantities::new([("jitter", DECLARED)]);
        let passes = states(&[(4, 50.0, 25.0), (4, 500.0, 25.0)], 0.02, 8);
        assert!(result(&settings, &[passes]).trials[0].states.is_empty());
    }
}
