//! Comparisons between trials for reports. [`Alike`] groups trials that differ only in their CPUs.

use super::{SeriesSettings, TimeUnit, TrialResult, TrialState, displayed_value};
use crate::latency::ladder::is_of_state;
use crate::quantity::Unit;
use crate::stats::{Estimate, median};
use crate::{CpuId, Flag, Histogram, Relation, Topology};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The estimate by which a trial is judged, to which `--precision` applies, if any.
pub fn headline<'a>(settings: &'a SeriesSettings, trial: &'a TrialResult) -> Option<&'a Estimate> {
    super::headline::headline(settings, &trial.spec.probe, &trial.medians_ns, &trial.values)
}

/// The median headline over the pairs of each relation for two-role trials, and the number of pairs.
pub fn by_relation(
    settings: &SeriesSettings,
    topology: &Topology,
    trials: &[&TrialResult],
) -> Vec<(Relation, f64, usize)> {
    let mut points: BTreeMap<Relation, Vec<f64>> = BTreeMap::new();
    for trial in trials {
        if let ([from, to], Some(headline)) = (trial.spec.placement.as_slice(), headline(settings, trial)) {
            points.entry(topology.relation(*from, *to)).or_default().push(headline.point);
        }
    }
    let medians = points.into_iter();
    medians.filter_map(|(relation, points)| Some((relation, median(&points)?, points.len()))).collect()
}

/// One mode of a distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mode {
    /// Median in nanoseconds.
    pub median_ns: f64,
    /// Share of all events.
    pub share: f64,
}

/// Bins per factor of two. Each bin is 19 % wide, more than the noise of a quiet wake-up.
const BINS_PER_OCTAVE: f64 = 4.0;
const MIN_SHARE: f64 = 0.1;
const MAX_VALLEY: f64 = 0.5;
const MIN_EVENTS: u64 = 200;

/// The modes of a distribution by rising time; empty if there are too few events.
///
/// A logarithmic histogram, smoothed over three bins, is cut at the deepest valley as long as both parts are modes.
pub fn modes(histogram: &Histogram) -> Vec<Mode> {
    let total = histogram.count();
    if total < MIN_EVENTS {
        return Vec::new();
    }
    let step = |units: u64| ((units.max(1) as f64).log2() * BINS_PER_OCTAVE) as usize;
    let low = histogram.iter().next().map_or(0, |(units, _)| step(units));
    let bins: Vec<usize> = histogram.iter().map(|(units, _)| step(units) - low).collect();
    // Floating-point sums, because counts from files could overflow.
    let mut raw = vec![0.0; bins.last().map_or(0, |bin| bin + 1)];
    for (bin, (_, count)) in bins.iter().zip(histogram.iter()) {
        raw[*bin] += count as f64;
    }
    let smooth: Vec<f64> = (0..raw.len())
        .map(|at| {
            let window = &raw[at.saturating_sub(1)..(at + 2).min(raw.len())];
            window.iter().sum::<f64>() / 3.0
        })
        .collect();
    let mut edges = vec![0, raw.len()];
    cut_at_valleys(&raw, &smooth, 0, raw.len(), MIN_SHARE * total as f64, &mut edges);
    edges.sort_unstable();
    edges
        .windows(2)
        .filter_map(|edge| {
            let mut mode = Histogram::new();
            for (bin, (units, count)) in bins.iter().zip(histogram.iter()) {
                if (edge[0]..edge[1]).contains(bin) {
                    mode.record(units, count);
                }
            }
            let share = mode.count() as f64 / total as f64;
            Some(Mode { median_ns: mode.percentile_ns(0.5)?, share })
        })
        .collect()
}

fn cut_at_valleys(raw: &[f64], smooth: &[f64], from: usize, to: usize, least: f64, edges: &mut Vec<usize>) {
    let top = |range: &[f64]| range.iter().copied().fold(0.0, f64::max);
    let mass = |range: &[f64]| range.iter().sum::<f64>();
    let deepest = (from + 1..to)
        .filter(|&at| mass(&raw[from..at]) >= least && mass(&raw[at..to]) >= least)
        .map(|at| (smooth[at] / top(&smooth[from..at]).min(top(&smooth[at..to])).max(f64::MIN_POSITIVE), at))
        .min_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((depth, at)) = deepest
        && depth <= MAX_VALLEY
    {
        edges.push(at);
        cut_at_valleys(raw, smooth, from, at, least, edges);
        cut_at_valleys(raw, smooth, at, to, least, edges);
    }
}

const MAX_LISTED: usize = 8;

/// Trials of one probe with the same parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Alike<'a> {
    /// The trials, in the order of the plan.
    pub trials: Vec<&'a TrialResult>,
}

/// Unit of the numbers in a map.
#[derive(Debug, Clone, PartialEq)]
pub struct MapUnit {
    /// Symbol; empty for a ratio.
    pub name: String,
    /// Divisor of the numbers.
    pub divisor: f64,
}

/// Groups trials by probe and parameters, in the order of first appearance.
pub fn alike<'a>(trials: impl IntoIterator<Item = &'a TrialResult>) -> Vec<Alike<'a>> {
    let mut kinds: Vec<Alike<'a>> = Vec::new();
    for trial in trials {
        let same = |kind: &&mut Alike<'_>| {
            let spec = &kind.trials[0].spec;
            spec.probe == trial.spec.probe && spec.parameters == trial.spec.parameters
        };
        match kinds.iter_mut().find(same) {
            Some(kind) => kind.trials.push(trial),
            None => kinds.push(Alike { trials: vec![trial] }),
        }
    }
    kinds
}

impl<'a> Alike<'a> {
    /// Whether there are enough pairs for a map.
    pub fn is_map(&self) -> bool {
        self.trials.iter().filter(|trial| trial.spec.placement.len() == 2).count() > MAX_LISTED
    }

    /// Trials with a value. A pair that cannot keep up with the requested rate has no known delay.
    pub fn with_value(&self) -> impl Iterator<Item = &'a TrialResult> + '_ {
        self.trials.iter().copied().filter(|trial| !trial.flags.contains(Flag::Saturated))
    }

    /// The name of the displayed distribution or value.
    pub fn displayed_value(&self, settings: &'a SeriesSettings) -> Option<&'a str> {
        self.with_value().find_map(|trial| displayed_value(settings, trial))
    }

    /// The headlines of trials that display times.
    pub fn medians_ns(&self, settings: &'a SeriesSettings) -> impl Iterator<Item = f64> + '_ {
        self.with_value().filter_map(|trial| Some(headline(settings, trial)?.point))
    }

    /// The unit of the headlines. For times, the unit in which the smallest headline keeps its digits.
    pub fn unit(&self, settings: &'a SeriesSettings) -> MapUnit {
        let unit = |name: &str| {
            let declared =
                self.trials.first().and_then(|trial| settings.quantities.get(&trial.spec.probe, name));
            declared.map_or(Unit::Number, |quantity| quantity.unit)
        };
        let is_time = |name: &str| {
            self.trials.iter().any(|trial| trial.medians_ns.contains_key(name)) || unit(name) == Unit::Ns
        };
        if let Some(name) = self.displayed_value(settings).filter(|name| !is_time(name)) {
            return MapUnit { name: unit(name).symbol().into_owned(), divisor: 1.0 };
        }
        let TimeUnit { name, ns } = TimeUnit::for_values(self.medians_ns(settings));
        MapUnit { name: name.to_owned(), divisor: ns }
    }
}

/// Each trial in the machine state with most passes of all given trials on the same
/// [watched](super::TrialSpec::watched) CPUs, if it has such passes. Trials of unknown state are unchanged. A state
/// other than the largest has values and medians, but no distributions or counts.
pub fn side_by_side<'a>(trials: &[&'a TrialResult]) -> Vec<Option<Cow<'a, TrialResult>>> {
    let mut weights: BTreeMap<Vec<CpuId>, Vec<(f64, f64)>> = BTreeMap::new();
    for trial in trials {
        let levels = weights.entry(trial.spec.watched()).or_default();
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
        let levels = weights.get(&trial.spec.watched())?;
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

fn states(trial: &TrialResult) -> Vec<(&[f64], f64)> {
    match &trial.states[..] {
        [] => vec![(&trial.cas_ns, 1.0)],
        states => states.iter().map(|state| (&state.cas_ns[..], state.share)).collect(),
    }
}

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
        ..TrialResult::empty(trial.spec.clone())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Parameters;
    use crate::stats::Key;
    use crate::tests::{around, between, spec};

    fn events_around(centres: &[(f64, u64)]) -> Histogram {
        let mut histogram = Histogram::new();
        for (index, &(centre, count)) in centres.iter().enumerate() {
            let key = Key::from_words(&[index as u64]);
            for event in 0..count {
                histogram.record_ns(centre * (1.0 + 0.06 * key.normal(event)), 1);
            }
        }
        histogram
    }

    #[test]
    fn two_modes_are_separated_and_one_is_not_divided() {
        let one = modes(&events_around(&[(12_000.0, 3_000)]));
        assert_eq!(one.len(), 1, "{one:?}");
        let two = modes(&events_around(&[(12_000.0, 3_000), (48_000.0, 1_000)]));
        assert_eq!(two.len(), 2, "{two:?}");
        assert!((two[0].share - 0.75).abs() < 0.02, "{two:?}");
        assert!((two[1].median_ns / 48_000.0 - 1.0).abs() < 0.03, "{two:?}");
    }

    #[test]
    fn a_tail_is_no_mode_and_few_events_have_no_modes() {
        assert_eq!(modes(&events_around(&[(12_000.0, 3_000), (90_000.0, 100)])).len(), 1);
        assert_eq!(modes(&events_around(&[(12_000.0, 90), (90_000.0, 90)])), []);
    }

    fn trials(parameter: &str, pairs: u32, name: &str, point: f64) -> Vec<TrialResult> {
        let one = |pair: u32| {
            let parameters = Parameters::default().with("primitive", parameter);
            let mut trial = TrialResult::empty(spec("wake", parameters, &[0, pair + 1]));
            let estimates = if name == "slept" { &mut trial.medians_ns } else { &mut trial.values };
            estimates.insert(name.to_owned(), between(point + f64::from(pair), point, point));
            trial
        };
        (0..pairs).map(one).collect()
    }

    #[test]
    fn many_pairs_are_a_map_in_the_unit_of_the_smallest() {
        let settings = SeriesSettings::default();
        let mut all = trials("tas", 9, "slept", 40.0);
        all.extend(trials("pipe", 8, "slept", 20e3));
        all.extend(trials("ratio", 9, "ratio", 1.0));
        let kinds = alike(&all);
        let found: Vec<(usize, bool, String)> =
            kinds.iter().map(|kind| (kind.trials.len(), kind.is_map(), kind.unit(&settings).name)).collect();
        let expected = [(9, true, "ns"), (8, false, "µs"), (9, true, "")];
        assert_eq!(found, expected.map(|(trials, map, unit)| (trials, map, unit.to_owned())));
        all[0].flags.set(Flag::Saturated);
        assert_eq!(alike(&all)[0].with_value().count(), 8);
    }

    fn trial(states: &[(f64, f64, f64)]) -> TrialResult {
        let values = |value: f64| BTreeMap::from([("loop_ns".to_owned(), around(value, 0.0))]);
        let state = |&(share, value, cas_ns): &(f64, f64, f64)| TrialState {
            share,
            passes: 8,
            value: around(value, 0.0),
            values: values(value),
            medians_ns: BTreeMap::new(),
            cas_ns: vec![cas_ns],
        };
        TrialResult {
            values: values(states[0].1),
            cas_ns: vec![states[0].2],
            states: states.iter().map(state).filter(|_| states.len() > 1).collect(),
            ..TrialResult::empty(spec("wait", Parameters::default(), &[1, 0]))
        }
    }

    #[test]
    fn trials_are_compared_in_one_state_or_not_at_all() {
        let trials = [
            trial(&[(0.6, 50.0, 25.0), (0.4, 240.0, 124.0)]),
            trial(&[(0.7, 260.0, 125.0), (0.3, 60.0, 25.2)]),
            trial(&[(1.0, 70.0, 25.1)]),
            trial(&[(1.0, 200.0, 124.0)]),
        ];
        let points = |these: &[&TrialResult]| -> Vec<Option<f64>> {
            let point = |trial: Cow<'_, TrialResult>| trial.values["loop_ns"].point;
            side_by_side(these).into_iter().map(|trial| trial.map(point)).collect()
        };
        let [a, b, near, far] = &trials;
        assert_eq!(points(&[a, b, near]), [Some(50.0), Some(60.0), Some(70.0)], "each where CAS takes 25 ns");
        assert_eq!(points(&[a, b, far]), [Some(240.0), Some(260.0), Some(200.0)]);
        assert_eq!(points(&[a, near, far]), [Some(50.0), Some(70.0), None], "it was never there");
    }

    #[test]
    fn trials_of_unknown_state_are_unchanged() {
        let mut old = trial(&[(1.0, 80.0, 25.0)]);
        old.cas_ns.clear();
        let far = trial(&[(1.0, 200.0, 124.0)]);
        assert!(side_by_side(&[&old, &far]).iter().all(Option::is_some));
    }
}
