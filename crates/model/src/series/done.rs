//! When a trial has passes enough: whether it is done, and how far its passes so far scatter.

use super::aggregates::{Speaker::Whole, alike, medians, of_part, values};
use super::evidence::{hangs_on_slices, without_slices};
use super::headline::{headline, headline_of_pass};
use super::states::{SentinelWatch, split};
use super::{ConcurrencyGate, Counted, PassOutcome, SeriesRecord, SeriesSettings};
use crate::stats::{ANALYSES, Analysis, Decision, Estimate, MIN_PASSES, decide, median};

/// Whether a trial has enough passes, at one of the two analyses (8 and 24 passes): its headline is as narrow as asked
/// for, or more passes would not help. Concurrent passes count where the gate lets them, and those of the largest state.
pub fn is_done(
    settings: &SeriesSettings,
    gate: &ConcurrencyGate,
    watch: &SentinelWatch,
    record: &SeriesRecord,
    trial: usize,
) -> bool {
    let Counted { passes, bias } = gate.counted(record, trial);
    if bias.is_some() {
        return false;
    }
    if passes.len() >= ANALYSES[1] {
        return true;
    }
    // Nothing is decided before an analysis, nor between two.
    if passes.len() < ANALYSES[0] {
        return false;
    }
    // What hangs on time slices gets no narrower, and is no property of what was asked about.
    if hangs_on_slices(&passes) {
        return true;
    }
    if !Analysis::is_due(passes.len(), ANALYSES.len() as u32) {
        return false;
    }
    // Where the machine moved, the rest is made until its largest state has an interval.
    let Some(width) = width(settings, watch, trial, &passes) else { return false };
    decide(passes.len(), width, settings.precision, ANALYSES.len() as u32) != Decision::More
}

/// How far the interval of a trial's headline reaches over the passes of its first analysis, as a share of it:
/// how far passes of that length scatter. `None` before it, and where the largest state has no interval.
pub fn first_width(
    settings: &SeriesSettings,
    gate: &ConcurrencyGate,
    watch: &SentinelWatch,
    record: &SeriesRecord,
    trial: usize,
) -> Option<f64> {
    width(settings, watch, trial, gate.counted(record, trial).passes.get(..ANALYSES[0])?)
}

/// Whether a trial cannot be done at its first analysis, whatever its other passes say: those so far lie further apart
/// than asked for, and the interval of eight passes is their whole range.
pub fn is_wide_already(settings: &SeriesSettings, record: &SeriesRecord, trial: usize) -> bool {
    let Some(spec) = settings.trials.get(trial) else { return false };
    let values: Vec<f64> =
        record.outcomes(trial).filter_map(|pass| headline_of_pass(settings, &spec.probe, pass)).collect();
    let [low, high] = values
        .iter()
        .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], &value| [low.min(value), high.max(value)]);
    median(&values).is_some_and(|median| (high - median).max(median - low) > settings.precision * median)
}

/// How far the interval of the headline over these passes reaches, relative, of the largest state; `None` where that has none.
fn width(
    settings: &SeriesSettings,
    watch: &SentinelWatch,
    trial: usize,
    passes: &[&PassOutcome],
) -> Option<f64> {
    let spec = settings.trials.get(trial)?;
    let passes = without_slices(passes);
    let parts = split(settings, watch, spec, &passes, &alike(&passes));
    let main = of_part(&passes, &parts[0]);
    if main.len() < MIN_PASSES {
        return None;
    }
    let (medians, values) = (medians(settings, &main, Whole), values(settings, &spec.probe, &main, Whole));
    Some(headline(settings, &spec.probe, &medians, &values).map_or(0.0, Estimate::relative_reach))
}
