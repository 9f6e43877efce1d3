//! Lengths of passes, from the remaining budget and the trials that need passes; and the expected length of the run.

use super::plan::{MAX_PASS, MESSAGES, MIN_PASS, late_span};
use super::{Driver, MAX_FAILURES};
use coretalk_model::Picos;
use coretalk_model::series::{Gathering, first_width, is_wide_already};
use coretalk_model::stats::ANALYSES;
use std::collections::BTreeMap;

/// Factor on the mean length that suffices in the second analysis. Half of the trials scatter more than the mean.
const WITH_MARGIN: f64 = 1.15;

impl Driver<'_> {
    /// Length of a probe's passes in a sweep.
    pub(super) fn span(
        &self,
        open: &[usize],
        fewest: u32,
        mean_concurrency: f64,
    ) -> impl Fn(&str) -> Picos + use<> {
        let left = self.run.left();
        let spans = self.shares.of.keys().map(|probe| {
            let first = self.shares.first(probe);
            let span = if fewest as usize >= ANALYSES[0] {
                self.late_span(open, probe, left, self.owed(open, ANALYSES[1]) / mean_concurrency)
            } else if open.iter().any(|&trial| self.is_repeated_alone(trial)) {
                // The first analysis is repeated without concurrency. If time permits, its passes have serial length.
                late_span(first, left, self.owed(open, ANALYSES[0])).min(self.shares.alone(probe))
            } else {
                first
            };
            (probe.clone(), span)
        });
        let spans: BTreeMap<String, Picos> = spans.collect();
        move |probe| spans.get(probe).copied().unwrap_or(MIN_PASS)
    }

    fn late_span(&self, open: &[usize], probe: &str, left: Picos, owed: f64) -> Picos {
        let first = self.shares.first(probe);
        late_span(first, left, owed).min(self.sufficient(open, first))
    }

    /// Maximum useful length of passes of the second analysis with concurrency. An interval narrows with the square
    /// root of the time. The scatter of a trial's first passes is largely random, so it is averaged over trials with
    /// the same parameters. The largest average counts.
    fn sufficient(&self, open: &[usize], first: Picos) -> Picos {
        if !self.concurrency.is_any() {
            return MAX_PASS;
        }
        let mut times: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for &trial in open {
            let width = first_width(self.settings, &self.gate, &self.watch, &self.record, trial);
            let times_longer = width.map_or(f64::INFINITY, |width| (width / self.settings.precision).powi(2));
            times.entry(self.settings.trials[trial].label()).or_default().push(times_longer);
        }
        let mean = |times: &Vec<f64>| times.iter().sum::<f64>() / times.len() as f64;
        let most = times.values().map(mean).fold(1.0, f64::max) * WITH_MARGIN;
        Picos::from_secs((first.secs() * most).min(MAX_PASS.secs()))
    }

    /// Time for a pass of a requested number of messages: the remaining time ÷ the trials with at most `passes` passes.
    pub(super) fn share_of(&self, left: Picos, passes: u32) -> Picos {
        let trials = 0..self.settings.trials.len();
        let waiting = trials
            .filter(|&trial| self.failures[trial] < MAX_FAILURES && self.passes_made(trial) <= passes)
            .count();
        Picos(left.0 / waiting.max(1) as u64).max(MIN_PASS)
    }

    fn owed(&self, open: &[usize], passes: usize) -> f64 {
        open.iter().map(|&trial| passes.saturating_sub(self.counted_passes(trial) as usize)).sum::<usize>()
            as f64
    }

    pub(super) fn expected(&self) -> Picos {
        let elapsed = self.run.elapsed();
        if let Some(wanted) = self.settings.options.number("samples") {
            let trials = 0..self.settings.trials.len();
            let left = trials.fold(Picos::ZERO, |sum, trial| sum + self.until_sampled(trial, wanted));
            return elapsed + Picos::from_secs(left.secs() / self.mean_concurrency);
        }
        // Only earlier passes show how long a pass with `--messages` takes.
        let counted = self.settings.options.number(MESSAGES).is_some();
        let made: Vec<f64> = (0..self.settings.trials.len())
            .filter(|_| counted)
            .filter_map(|trial| Some(self.record.outcomes(trial).last()?.elapsed.secs()))
            .collect();
        let typical =
            (!made.is_empty()).then(|| Picos::from_secs(made.iter().sum::<f64>() / made.len() as f64));
        let (mut left, mut late) = (Picos::ZERO, Vec::new());
        for trial in (0..self.settings.trials.len()).filter(|&trial| self.is_open(trial)) {
            let made = self.counted_passes(trial) as usize;
            let known = self.record.outcomes(trial).last().map(|pass| pass.elapsed);
            let spec = &self.settings.trials[trial];
            let pass = known
                .or(typical)
                .unwrap_or(self.shares.first(&spec.probe).max(self.probes[trial].least_span(spec)));
            let due = if made > ANALYSES[0] { ANALYSES[1] } else { ANALYSES[0] };
            left += Picos(pass.0 * due.saturating_sub(made) as u64);
            let is_late = made == ANALYSES[0]
                || made < ANALYSES[0] && is_wide_already(self.settings, &self.record, trial);
            if is_late && !counted && self.settings.gathering() != Some(Gathering::QuickLook) {
                late.push(trial);
            }
        }
        // Passes of the second analysis are longer, and begin after the first analysis.
        let left_after_first_s =
            (self.settings.budget.secs() - elapsed.secs() - left.secs() / self.mean_concurrency).max(0.0);
        let passes = (ANALYSES[1] - ANALYSES[0]) as u64;
        let owed = (late.len() as u64 * passes) as f64 / self.mean_concurrency;
        let span = |probe: &String| self.late_span(&late, probe, Picos::from_secs(left_after_first_s), owed);
        let spans: BTreeMap<&String, Picos> =
            self.shares.of.keys().filter(|_| !late.is_empty()).map(|probe| (probe, span(probe))).collect();
        for &trial in &late {
            let spec = &self.settings.trials[trial];
            let pass = spans[&spec.probe].max(self.probes[trial].least_span(spec));
            left += Picos(pass.0 * passes);
        }
        elapsed + Picos::from_secs(left.secs() / self.mean_concurrency)
    }

    /// Time until a trial has this many samples, at its rate so far. Before its first pass it is a share of the budget.
    fn until_sampled(&self, trial: usize, wanted: f64) -> Picos {
        if !self.is_open(trial) {
            return Picos::ZERO;
        }
        let (mut samples, mut took) = (0, Picos::ZERO);
        for pass in self.record.outcomes(trial).filter(|pass| self.covers(trial, pass)) {
            samples += pass.observed.numbers.counts.get("samples").copied().unwrap_or(0);
            took += pass.elapsed;
        }
        match samples {
            0 => Picos(self.settings.budget.0 / self.settings.trials.len() as u64) - took,
            samples => {
                // No trial ends before its first analysis.
                let least = ANALYSES[0] as f64 / f64::from(self.passes_made(trial)) - 1.0;
                Picos::from_secs(took.secs() * (wanted / samples as f64 - 1.0).max(least).max(0.0))
            }
        }
    }
}
