//! Stopping rule of trials, and the scatter of their first passes.

use super::aggregates::{PassScope::Whole, median_passes, medians, of_part, values};
use super::evidence::{waits_for_quanta, without_slices};
use super::headline::{headline, headline_of_pass};
use super::states::{SentinelWatch, split};
use super::{ConcurrencyGate, CountedPasses, PassOutcome, SeriesRecord, SeriesSettings};
use crate::stats::{ANALYSES, Analysis, Decision, Estimate, MIN_PASSES, decide, median};

/// Whether a trial has enough passes, decided only at the two analyses (8 and 24 passes). The headline is as narrow as
/// requested, or more passes would not help. Only accepted passes in the largest state count.
pub fn is_done(
    settings: &SeriesSettings,
    gate: &ConcurrencyGate,
    watch: &SentinelWatch,
    record: &SeriesRecord,
    trial: usize,
) -> bool {
    let CountedPasses { passes, bias } = gate.counted(record, trial);
    if bias.is_some() {
        return false;
    }
    if passes.len() >= ANALYSES[1] {
        return true;
    }
    if passes.len() < ANALYSES[0] {
        return false;
    }
    // More passes do not narrow the scheduler quantum, which is no property of the measured subject.
    if waits_for_quanta(&passes) {
        return true;
    }
    if !Analysis::is_due(passes.len(), ANALYSES.len() as u32) {
        return false;
    }
    let Some(width) = width(settings, watch, trial, &passes) else { return false };
    decide(passes.len(), width, settings.precision, ANALYSES.len() as u32) != Decision::More
}

/// Relative half width of the headline over the passes of the first analysis, if the largest state has an interval.
pub fn first_width(
    settings: &SeriesSettings,
    gate: &ConcurrencyGate,
    watch: &SentinelWatch,
    record: &SeriesRecord,
    trial: usize,
) -> Option<f64> {
    width(settings, watch, trial, gate.counted(record, trial).passes.get(..ANALYSES[0])?)
}

/// Whether the passes so far already scatter by more than the requested precision. The interval of eight passes is
/// their whole range, so the trial cannot be done at its first analysis.
pub fn is_wide_already(settings: &SeriesSettings, record: &SeriesRecord, trial: usize) -> bool {
    let Some(spec) = settings.trials.get(trial) else { return false };
    let values: Vec<f64> =
        record.outcomes(trial).filter_map(|pass| headline_of_pass(settings, &spec.probe, pass)).collect();
    let [low, high] = values
        .iter()
        .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], &value| [low.min(value), high.max(value)]);
    median(&values).is_some_and(|median| (high - median).max(median - low) > settings.precision * median)
}

fn width(
    settings: &SeriesSettings,
    watch: &SentinelWatch,
    trial: usize,
    passes: &[&PassOutcome],
) -> Option<f64> {
    let spec = settings.trials.get(trial)?;
    let passes = without_slices(passes);
    let parts = split(settings, watch, spec, &passes, &median_passes(&passes));
    let main = of_part(&passes, &parts[0]);
    if main.len() < MIN_PASSES {
        return None;
    }
    let (medians, values) = (medians(settings, &main, Whole), values(settings, &spec.probe, &main, Whole));
    Some(headline(settings, &spec.probe, &medians, &values).map_or(0.0, Estimate::relative_reach))
}
