//! Aggregates over passes: medians with their intervals, sums, and merged distributions.

use super::states::StatePart;
use super::{Numbers, PassOutcome, SeriesSettings, TrialResult};
use crate::Histogram;
use crate::latency::cell::FLOOR;
use crate::quantity::Aggregate;
use crate::stats::{
    ANALYSES, Analysis, Estimate, mean_interval, median, passes_interval, processes_interval, share_interval,
};
use PassScope::{Role, Whole};
use std::collections::BTreeMap;

const MUCH_LONGER: f64 = 1.5;

#[derive(Debug, Clone, Copy)]
pub(super) enum PassScope {
    Whole,
    Role(usize),
}

impl PassScope {
    fn numbers(self, pass: &PassOutcome) -> Option<&Numbers> {
        match self {
            Whole => Some(&pass.observed.numbers),
            Role(role) => pass.observed.by_role.get(&role),
        }
    }
}

/// Fills an empty result from `passes`. Medians are over `median_passes`, a subset.
pub(super) fn fill(
    settings: &SeriesSettings,
    passes: &[&PassOutcome],
    median_passes: &[&PassOutcome],
    scope: PassScope,
    result: &mut TrialResult,
) {
    let mut histograms: BTreeMap<&String, Vec<&Histogram>> = BTreeMap::new();
    for numbers in passes.iter().filter_map(|pass| scope.numbers(pass)) {
        for (name, histogram) in &numbers.histograms {
            histograms.entry(name).or_default().push(histogram);
        }
        for (name, count) in &numbers.counts {
            let sum = result.counts.entry(name.clone()).or_default();
            *sum = sum.saturating_add(*count);
        }
    }
    let sum = |(name, parts): (&String, Vec<&Histogram>)| (name.clone(), parts.into_iter().sum());
    result.histograms = histograms.into_iter().map(sum).collect();
    let mut values = values(settings, &result.spec.probe, median_passes, scope);
    for quantity in settings.quantities.of_probe(&result.spec.probe) {
        let Aggregate::MedianOverEvents(events) = quantity.aggregate else { continue };
        if let Some(value) = values.get_mut(quantity.id)
            && let Some(point) = pooled(passes, scope, quantity.id, events)
        {
            *value = Estimate { point, low: value.low.min(point), high: value.high.max(point), ..*value };
        }
    }
    (result.values, result.medians_ns) = (values, medians(settings, median_passes, scope));
}

/// Short passes scatter more. If the passes of the second analysis are much longer, only these count. This causes no
/// bias: the first passes only decided whether there is a second analysis.
pub(super) fn median_passes(passes: &[&PassOutcome]) -> Vec<usize> {
    let all: Vec<usize> = (0..passes.len()).collect();
    second_analysis(passes, &all).to_vec()
}

pub(super) fn of_part<'a>(all: &[&'a PassOutcome], part: &StatePart) -> Vec<&'a PassOutcome> {
    second_analysis(all, &part.passes).iter().map(|&pass| all[pass]).collect()
}

fn second_analysis<'a>(all: &[&PassOutcome], positions: &'a [usize]) -> &'a [usize] {
    let (first, second) = positions.split_at(positions.partition_point(|&pass| pass < ANALYSES[0]));
    let typical =
        |passes: &[usize]| median(&passes.iter().map(|&pass| all[pass].elapsed.ns()).collect::<Vec<_>>());
    match (typical(first), typical(second)) {
        (Some(short), Some(long)) if second.len() >= ANALYSES[0] && long >= MUCH_LONGER * short => second,
        _ => positions,
    }
}

pub(super) fn count_over_states(settings: &SeriesSettings, all: &[&PassOutcome], result: &mut TrialResult) {
    for quantity in settings.quantities.of_probe(&result.spec.probe) {
        let of_pass = |pass: &&PassOutcome| pass.observed.numbers.counts.get(quantity.id).copied();
        if quantity.aggregate == Aggregate::SumOverStates
            && let Some(sum) = all.iter().filter_map(of_pass).reduce(u64::saturating_add)
        {
            result.counts.insert(quantity.id.to_owned(), sum);
        }
    }
}

fn by_name<'a>(
    passes: &[&'a PassOutcome],
    numbers_of: impl Fn(&'a PassOutcome) -> Vec<(&'a String, f64)>,
) -> BTreeMap<String, Vec<ProcessValue>> {
    let mut all: BTreeMap<String, Vec<ProcessValue>> = BTreeMap::new();
    for pass in passes {
        for (name, value) in numbers_of(pass) {
            let reported = ProcessValue { process: pass.process, value };
            match all.get_mut(name) {
                Some(values) => values.push(reported),
                None => _ = all.insert(name.clone(), vec![reported]),
            }
        }
    }
    all
}

#[derive(Debug, Clone, Copy)]
struct ProcessValue {
    process: Option<u32>,
    value: f64,
}

pub(super) fn medians(
    settings: &SeriesSettings,
    passes: &[&PassOutcome],
    scope: PassScope,
) -> BTreeMap<String, Estimate> {
    let of_pass = |pass| {
        let histograms = scope.numbers(pass).into_iter().flat_map(|numbers| &numbers.histograms);
        histograms.filter_map(|(name, histogram)| Some((name, histogram.percentile_ns(0.5)?))).collect()
    };
    estimates(&by_name(passes, of_pass), settings.precision, Resolution::Bucket)
}

pub(super) fn values(
    settings: &SeriesSettings,
    probe: &str,
    passes: &[&PassOutcome],
    scope: PassScope,
) -> BTreeMap<String, Estimate> {
    let of_pass = |pass| {
        let values = scope.numbers(pass).into_iter().flat_map(|numbers| &numbers.values);
        values.map(|(name, value)| (name, *value)).collect()
    };
    let reported = by_name(passes, of_pass);
    let mut values = estimates(&reported, settings.precision, Resolution::Exact);
    for (name, estimate) in &mut values {
        let Some(quantity) = settings.quantities.get(probe, name) else { continue };
        let interval = match quantity.aggregate {
            Aggregate::MeanOverPasses => Some(mean_interval as fn(&[f64]) -> Option<Estimate>),
            Aggregate::ShareOverPasses => Some(share_interval as _),
            _ => None,
        };
        if let Some(interval) = interval {
            let values: Vec<f64> = reported[name].iter().map(|reported| reported.value).collect();
            *estimate = interval(&values).unwrap_or(*estimate);
        }
        // A point outside its declared range is kept as measured.
        if let Some(range) = quantity.range.filter(|[least, most]| (*least..=*most).contains(&estimate.point))
        {
            *estimate = estimate.within(range);
        }
    }
    values
}

/// Approximates the median over all events by the median of the medians of passes, weighted by their numbers of events.
fn pooled(passes: &[&PassOutcome], scope: PassScope, name: &str, events: &str) -> Option<f64> {
    let mut weighted: Vec<(f64, u64)> = passes
        .iter()
        .filter_map(|pass| scope.numbers(pass))
        .filter_map(|numbers| Some((*numbers.values.get(name)?, *numbers.counts.get(events)?)))
        .collect();
    weighted.sort_by(|a, b| a.0.total_cmp(&b.0));
    // `u128`, because a file can hold any counts.
    let total: u128 = weighted.iter().map(|&(_, events)| u128::from(events)).sum();
    let mut seen = 0;
    weighted.iter().find_map(|&(value, events)| {
        seen += u128::from(events);
        (2 * seen >= total).then_some(value)
    })
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Resolution {
    /// Exact values. If all are equal, such as a ratio of 0, the interval needs no minimum width.
    Exact,
    /// Values from histogram buckets. Even if all are in one bucket, they are uncertain by its width.
    Bucket,
}

fn estimates(
    reported: &BTreeMap<String, Vec<ProcessValue>>,
    precision: f64,
    resolution: Resolution,
) -> BTreeMap<String, Estimate> {
    reported
        .iter()
        .filter_map(|(name, reported)| Some((name.clone(), estimate(reported, precision, resolution)?)))
        .collect()
}

/// The median over passes as in the latency map (docs/method.md, "From ticks to a cell"), or the mean over processes.
fn estimate(reported: &[ProcessValue], precision: f64, resolution: Resolution) -> Option<Estimate> {
    let values: Vec<f64> = reported.iter().map(|reported| reported.value).collect();
    let is_constant = values.windows(2).all(|pair| pair[0] == pair[1]);
    let has_floor = !is_constant || resolution == Resolution::Bucket && values.len() > 1;
    let floor = if has_floor { FLOOR.min(precision) } else { 0.0 };
    let analysis = Analysis::at(values.len(), ANALYSES.len() as u32);
    match reported
        .iter()
        .map(|reported| Some((reported.process?, reported.value)))
        .collect::<Option<Vec<_>>>()
    {
        Some(by_process) => processes_interval(&by_process, analysis, floor),
        None => passes_interval(&values, analysis, 1.0, floor),
    }
}
