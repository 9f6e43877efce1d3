//! [`judge`]: grade and reason of a trial. [`half_step_of`]: clock resolution of a median.

use super::headline::{headline, named_headline, value_of_pass};
use super::{PassOutcome, SeriesRecord, SeriesSettings, TrialResult, TrialState, displayed_value};
use crate::quantity::Quantities;
use crate::stats::{Estimate, MIN_PASSES};
use crate::{Flag, Grade, Histogram, Reason, TrialFailure, grade};
use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::iter;

#[derive(Debug, Clone, Copy)]
struct Widths {
    of_passes: f64,
    whole: f64,
}

/// Widens estimates that derive from medians of events by the resolution of the clock.
pub(super) fn widen(
    settings: &SeriesSettings,
    probe: &str,
    histograms: &BTreeMap<String, Histogram>,
    medians_ns: &mut BTreeMap<String, Estimate>,
    values: &mut BTreeMap<String, Estimate>,
) {
    for (name, estimate) in medians_ns.iter_mut().chain(values) {
        if let Some(half_ns) =
            half_step_of(&settings.quantities, probe, name, |source| histograms.get(source))
        {
            *estimate = estimate.widened_by(half_ns);
        }
    }
}

fn widen_result_and_states(settings: &SeriesSettings, result: &mut TrialResult) {
    let (probe, histograms) = (&result.spec.probe, &result.histograms);
    widen(settings, probe, histograms, &mut result.medians_ns, &mut result.values);
    for TrialState { medians_ns, values, value, .. } in &mut result.states {
        widen(settings, probe, histograms, medians_ns, values);
        if let Some((_, judged)) = named_headline(settings, probe, medians_ns, values) {
            *value = *judged;
        }
    }
}

/// Extends the headlines to the values without concurrency, given the interval of ln(concurrent ÷ alone).
pub(super) fn remove_bias(settings: &SeriesSettings, log_ratio: &Estimate, result: &mut TrialResult) {
    let probe = &result.spec.probe;
    let states = result.states.iter_mut().map(|state| (&mut state.medians_ns, &mut state.values));
    for (medians_ns, values) in iter::once((&mut result.medians_ns, &mut result.values)).chain(states) {
        let Some(name) = named_headline(settings, probe, medians_ns, values).map(|(name, _)| name.to_owned())
        else {
            continue;
        };
        if let Some(judged) = medians_ns.get_mut(&name).or(values.get_mut(&name)) {
            *judged = judged.over_factor(log_ratio);
        }
    }
}

/// Widens estimates by the resolution of the clock, and sets flags, grade and reason. `counted_passes` is the number of
/// passes in the largest state. Medians are over `passes`, a subset.
pub(super) fn judge(
    settings: &SeriesSettings,
    record: &SeriesRecord,
    index: usize,
    passes: &[&PassOutcome],
    counted_passes: u32,
    result: &mut TrialResult,
) {
    let of_passes = width(settings, result);
    widen_result_and_states(settings, result);
    let widths = of_passes.zip(width(settings, result)).map(|(of_passes, whole)| Widths { of_passes, whole });
    let failure = record.failure(index);
    if result.passes == 0 {
        result.reason = Some(match failure {
            Some(failure) => Reason::failed(None, failure),
            None => Reason::NotReached,
        });
        return;
    }
    let failures: Vec<&TrialFailure> = record.failures(index).collect();
    if !failures.is_empty() {
        result.flags.set(Flag::FailedPasses);
    }
    if failures.iter().any(|failure| failure.is_wrong()) {
        result.flags.set(Flag::Invalid);
    }
    if result.processes.len() == 1 {
        result.flags.set(Flag::OneProcess);
    }
    let is_wide = |width: f64| width > settings.precision * (1.0 + 1e-9);
    if (counted_passes as usize) < MIN_PASSES {
        result.flags.set(Flag::FewPasses);
    } else if widths.is_some_and(|widths| is_wide(widths.whole)) && !result.flags.contains(Flag::SharedSpin) {
        result.flags.set(Flag::WideCi);
    }
    // The clock is the cause if the scatter of passes alone is within the precision.
    let is_coarse = widths.is_some_and(|widths| is_wide(widths.whole) && !is_wide(widths.of_passes));
    let Some(Widths { whole: width, .. }) = widths else {
        let reason = match result.flags.contains(Flag::Saturated) {
            true => saturated(record, index),
            false => "no event could be counted".into(),
        };
        (result.grade, result.reason) = (Some(Grade::D), Some(reason));
        return;
    };
    // The grade describes the displayed number, which may be less precise than the headline (a share of rare gaps).
    let displayed = displayed_value(settings, result).and_then(|name| result.values.get(name));
    let (width, flags) =
        match displayed.map(Estimate::relative_reach).filter(|of_displayed| *of_displayed > width) {
            Some(of_displayed) if is_wide(of_displayed) => (of_displayed, result.flags.with(Flag::WideCi)),
            Some(of_displayed) => (of_displayed, result.flags),
            None => (width, result.flags),
        };
    result.grade = Some(Grade::decide(flags, width, || is_repeated(settings, passes, result)));
    // A number lost to saturation takes precedence over doubts. Failures take precedence over external disturbances.
    result.reason = match most_informative(&failures) {
        _ if flags.contains(Flag::Saturated) => Some(saturated(record, index)),
        Some(failure) => {
            let all = failures.len() + record.outcomes(index).count();
            Some(Reason::failed(Some([failures.len(), all].map(|passes| passes as u32)), failure))
        }
        None => flags.gravest().map(|flag| match flag {
            Flag::WideCi if is_coarse => Reason::Steps(width),
            _ => words(flag, result, counted_passes, width),
        }),
    };
}

fn saturated(record: &SeriesRecord, index: usize) -> Reason {
    match record.outcomes(index).all(|pass| pass.observed.flags.contains(Flag::Saturated)) {
        true => "no pass kept the send rate: no latency".into(),
        false => "some passes did not keep the send rate".into(),
    }
}

fn most_informative<'a>(failures: &[&'a TrialFailure]) -> Option<&'a TrialFailure> {
    failures.iter().find(|failure| failure.is_wrong()).or(failures.last()).copied()
}

fn is_repeated(settings: &SeriesSettings, passes: &[&PassOutcome], result: &TrialResult) -> bool {
    let judged = named_headline(settings, &result.spec.probe, &result.medians_ns, &result.values);
    judged.is_some_and(|(name, number)| {
        let values: Vec<f64> = passes.iter().filter_map(|pass| value_of_pass(pass, name)).collect();
        grade::repeats(&values, number.point)
    })
}

fn width(settings: &SeriesSettings, result: &TrialResult) -> Option<f64> {
    let judged = headline(settings, &result.spec.probe, &result.medians_ns, &result.values);
    judged.map(Estimate::relative_reach)
}

fn words(flag: Flag, result: &TrialResult, counted_passes: u32, width: f64) -> Reason {
    match flag {
        Flag::Preempted => "the scheduler preempted a thread".into(),
        Flag::Migrated => "a thread was found on another CPU".into(),
        Flag::Steal => "the hypervisor or interrupts took CPU time".into(),
        Flag::Quota => "the CPU quota stopped the process".into(),
        Flag::Load => "other programs used the CPUs during the measurement".into(),
        Flag::WideCi => Reason::Wide(width),
        Flag::Multimodal => Reason::States(result.states.len()),
        Flag::FewPasses => Reason::FewPasses(counted_passes),
        Flag::ParBias => "measured in parallel, which may change values of this relation".into(),
        Flag::TscUnsync => "the CPUs' counters differ by more than this takes".into(),
        Flag::Invalid => "the threads disagreed about what was done".into(),
        Flag::LostUpdates => "updates were lost".into(),
        Flag::FailedPasses => "passes that handed over at the end of time slices are left out".into(),
        Flag::Cold => "the runtime had not warmed up".into(),
        Flag::WorkedElsewhere => "other threads of the runtime used more than a tenth of the CPU time".into(),
        Flag::Unclaimed => "other threads of the runtime used more than half of the CPU time".into(),
        Flag::OneProcess => "one process of the runtime alone: others may be faster or slower".into(),
        other => other.name().into(),
    }
}

/// A fine clock hardly repeats a value, unless all readings agree to a thousandth. Then neighbouring values also occur.
const MIN_STEP_COUNT: u64 = 8;
/// Minimum count of the neighbouring value, relative to the count of the median. Fewer are strays between two steps.
const MIN_NEIGHBOUR_SHARE: f64 = 0.01;

/// Effect of half a clock step on the number `name` of a probe, in nanoseconds. The number is a median of events, or a
/// value declared to derive from one. `None` without steps or a distribution.
pub(super) fn half_step_of<H: Borrow<Histogram>>(
    quantities: &Quantities,
    probe: &str,
    name: &str,
    distribution: impl Fn(&str) -> Option<H>,
) -> Option<f64> {
    let of_median = quantities.get(probe, name).and_then(|quantity| quantity.of_median);
    let (source, factor) = of_median.unwrap_or((name, 1.0));
    Some(half_step_ns(distribution(source)?.borrow())? * factor)
}

/// Half the distance from the median to the nearest other frequent value, in nanoseconds; `None` without steps.
///
/// Valid for differences of two readings, if events begin anywhere between two steps. A duration of k + f steps reads k
/// + 1 with probability f and k otherwise, so the median is the nearer of the two.
fn half_step_ns(histogram: &Histogram) -> Option<f64> {
    let middle = histogram.count().div_ceil(2);
    let counts: Vec<(u64, u64)> = histogram.iter().collect();
    let mut seen = 0u64;
    let at = counts.iter().position(|&(_, count)| {
        seen = seen.saturating_add(count);
        seen >= middle
    })?;
    let (median, count) = counts[at];
    if count < MIN_STEP_COUNT {
        return None;
    }
    let is_frequent = |(_, other): &&(u64, u64)| *other as f64 >= MIN_NEIGHBOUR_SHARE * count as f64;
    let below = counts[..at].iter().rev().find(is_frequent).map(|(units, _)| median - units);
    let above = counts[at + 1..].iter().find(is_frequent).map(|(units, _)| units - median);
    let step = below.into_iter().chain(above).min()?;
    Some(step as f64 * Histogram::UNIT_PS as f64 / 1e3 / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CpuId;
    use crate::series::{Parameters, ProcessResult, SeriesEntry};
    use crate::tests::{between, histogram, spec};

    fn settings() -> SeriesSettings {
        SeriesSettings {
            trials: vec![spec("wake", Parameters::default(), &[0, 1])],
            headlines: vec!["wake/waker_ns".into()],
            precision: 0.02,
            ..SeriesSettings::default()
        }
    }

    fn result(value: Estimate) -> TrialResult {
        let values = [("waker_ns".to_owned(), value)].into();
        TrialResult { passes: 8, values, ..TrialResult::empty(settings().trials.remove(0)) }
    }

    fn judged(failures: &[TrialFailure], processes: usize) -> TrialResult {
        let mut record = crate::tests::record(vec![PassOutcome::default(); 8]);
        for failure in failures.iter().cloned() {
            record.push(SeriesEntry { segment: 0, pass: 0, trial: 0, outcome: Err(failure) });
        }
        let mut result = result(between(100.0, 99.5, 100.5));
        result.processes = vec![ProcessResult { passes: 8, value: 100.0 }; processes];
        judge(&settings(), &record, 0, &[], 8, &mut result);
        result
    }

    #[test]
    fn the_width_is_the_larger_side_of_the_interval() {
        let skewed = result(between(100.0, 98.9, 102.5));
        assert_eq!(width(&settings(), &skewed), Some(0.025), "half of both sides would be ± 1.8 %");
    }

    #[test]
    fn failed_passes_are_reported_with_the_number_of_all_passes() {
        let ended = TrialFailure::from_reason("it ended with 7");
        let crashed = judged(&[TrialFailure::Damaged, ended.clone()], 0);
        assert!(crashed.flags.contains(Flag::FailedPasses) && crashed.flags.contains(Flag::Invalid));
        let wrong = Reason::failed(Some([2, 10]), &TrialFailure::Damaged);
        assert_eq!((crashed.reason, crashed.grade), (Some(wrong), Some(Grade::D)));
        let failed = judged(std::slice::from_ref(&ended), 0);
        assert!(failed.flags.contains(Flag::FailedPasses) && !failed.flags.contains(Flag::Invalid));
        assert_eq!(failed.reason, Some(Reason::failed(Some([1, 9]), &ended)));
        let lost = TrialFailure::CpuLost { cpu: CpuId(1) };
        assert!(judged(&[TrialFailure::Interrupted, lost], 0).flags.is_empty());
    }

    #[test]
    fn a_single_process_of_a_runtime_is_flagged() {
        let is_alone = |processes| judged(&[], processes).flags.contains(Flag::OneProcess);
        assert_eq!([0, 1, 2].map(is_alone), [false, true, false]);
    }

    #[test]
    fn stray_values_do_not_hide_steps_of_a_coarse_clock() {
        let coarse = histogram(&[(41.67, 30), (83.33, 60), (125.0, 10), (130.0, 1)]);
        let half = half_step_ns(&coarse).unwrap();
        assert!((half - 20.83).abs() < 0.1, "{half}");
        let with_stray = histogram(&[(120.0, 4_000), (124.0, 20), (130.0, 5_000), (140.0, 900)]);
        assert!((half_step_ns(&with_stray).unwrap() - 5.0).abs() < 0.1);
    }

    #[test]
    fn few_events_of_a_fine_clock_are_no_steps() {
        let sparse: Vec<(f64, u64)> = (0..20).map(|at| (20_000.0 + 1_100.0 * f64::from(at), 1)).collect();
        assert_eq!(half_step_ns(&histogram(&sparse)), None);
        assert_eq!(half_step_ns(&histogram(&[(60.0, 1_000)])), None, "one value alone shows no step");
        assert_eq!(half_step_ns(&Histogram::new()), None);
    }

    #[test]
    fn neighbouring_values_mean_a_fine_clock() {
        let fine: Vec<(f64, u64)> = (0..5).map(|at| (60.0 + 0.1 * f64::from(at), 100)).collect();
        assert!(half_step_ns(&histogram(&fine)).unwrap() < 0.06);
    }
}
