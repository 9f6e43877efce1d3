//! Numbers behind the words of a report: trials against each other.

use super::{SeriesSettings, TrialResult};
use crate::stats::{Estimate, median};
use crate::{Histogram, Relation, Topology};
use std::collections::BTreeMap;

/// The estimate that a trial is judged by, as `--precision` means it; `None` where it has nothing.
pub fn headline<'a>(settings: &'a SeriesSettings, trial: &'a TrialResult) -> Option<&'a Estimate> {
    super::headline::headline(settings, &trial.spec.probe, &trial.medians_ns, &trial.values)
}

/// What two-role trials of one kind say of each relation: the median over pairs of their headlines, and how many pairs.
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

/// One of several modes that a distribution falls into.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mode {
    /// Its median in nanoseconds.
    pub median_ns: f64,
    /// Its share of all events.
    pub share: f64,
}

/// Steps in each power of two in which modes are looked for: 19 %, wider than the noise of a quiet wake-up.
const STEPS: f64 = 4.0;
/// A mode holds at least this share.
const LEAST_SHARE: f64 = 0.1;
/// Between two modes lies a valley of at most this part of the lower one.
const VALLEY: f64 = 0.5;
/// Fewer events than this make no mode.
const FEWEST_EVENTS: u64 = 200;

/// The modes of a distribution by rising time; one where it has one, none where there are too few events to tell.
///
/// Counts on a logarithmic scale, smoothed over three steps, are cut at the deepest valley as long as both sides are
/// modes.
pub fn modes(histogram: &Histogram) -> Vec<Mode> {
    let total = histogram.count();
    if total < FEWEST_EVENTS {
        return Vec::new();
    }
    let step = |units: u64| ((units.max(1) as f64).log2() * STEPS) as usize;
    let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
    for (units, count) in histogram.iter() {
        *counts.entry(step(units)).or_default() += count;
    }
    let (Some((&low, _)), Some((&high, _))) = (counts.first_key_value(), counts.last_key_value()) else {
        return Vec::new();
    };
    let raw: Vec<u64> = (low..=high).map(|step| counts.get(&step).copied().unwrap_or(0)).collect();
    let smooth: Vec<f64> = (0..raw.len())
        .map(|at| {
            let window = &raw[at.saturating_sub(1)..(at + 2).min(raw.len())];
            window.iter().sum::<u64>() as f64 / 3.0
        })
        .collect();
    let mut edges = vec![0, raw.len()];
    cut(&raw, &smooth, 0, raw.len(), LEAST_SHARE * total as f64, &mut edges);
    edges.sort_unstable();
    edges
        .windows(2)
        .filter_map(|edge| {
            let mut mode = Histogram::new();
            for (units, count) in
                histogram.iter().filter(|(units, _)| (edge[0]..edge[1]).contains(&(step(*units) - low)))
            {
                mode.record(units, count);
            }
            let share = mode.count() as f64 / total as f64;
            Some(Mode { median_ns: mode.percentile_ns(0.5)?, share })
        })
        .collect()
}

/// Cuts a stretch at its deepest valley, and what is left and right of it again.
fn cut(raw: &[u64], smooth: &[f64], from: usize, to: usize, least: f64, edges: &mut Vec<usize>) {
    let top = |range: &[f64]| range.iter().copied().fold(0.0, f64::max);
    let mass = |range: &[u64]| range.iter().sum::<u64>() as f64;
    let deepest = (from + 1..to)
        .filter(|&at| mass(&raw[from..at]) >= least && mass(&raw[at..to]) >= least)
        .map(|at| (smooth[at] / top(&smooth[from..at]).min(top(&smooth[at..to])).max(f64::MIN_POSITIVE), at))
        .min_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((depth, at)) = deepest
        && depth <= VALLEY
    {
        edges.push(at);
        cut(raw, smooth, from, at, least, edges);
        cut(raw, smooth, at, to, least, edges);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Key;

    fn around(centres: &[(f64, u64)]) -> Histogram {
        let mut histogram = Histogram::new();
        for (index, &(centre, count)) in centres.iter().enumerate() {
            let key = Key::of(&[index as u64]);
            for event in 0..count {
                histogram.record_ns(centre * (1.0 + 0.06 * key.normal(event)), 1);
            }
        }
        histogram
    }

    #[test]
    fn two_modes_are_told_apart_and_one_stays_one() {
        let one = modes(&around(&[(12_000.0, 3_000)]));
        assert_eq!(one.len(), 1, "{one:?}");
        let two = modes(&around(&[(12_000.0, 3_000), (48_000.0, 1_000)]));
        assert_eq!(two.len(), 2, "{two:?}");
        assert!(
            (two[0].share - 0.75).abs() < 0.02 && (two[1].median_ns / 48_000.0 - 1.0).abs() < 0.03,
            "{two:?}"
        );
    }

    #[test]
    fn a_tail_is_no_heap_and_few_events_say_nothing() {
        assert_eq!(modes(&around(&[(12_000.0, 3_000), (90_000.0, 100)])).len(), 1);
        assert_eq!(modes(&around(&[(12_000.0, 90), (90_000.0, 90)])), []);
    }
}
