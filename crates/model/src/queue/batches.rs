//! [`BatchCurve`]: one queue between the same CPUs with batches of several sizes.

use super::names;
use crate::CpuId;
use crate::series::{SeriesResult, TrialResult, side_by_side};
use crate::stats::Estimate;
use std::borrow::Cow;

/// Gains are printed with two decimals, and an interval that starts at 1.00 does not prove a gain.
const MIN_GAIN: f64 = 1.01;

/// One size of batch.
#[derive(Debug, Clone)]
pub struct BatchStep<'a> {
    /// Messages sent and received at once.
    pub batch: u64,
    /// The result.
    pub trial: &'a TrialResult,
    in_common_state: Option<Cow<'a, TrialResult>>,
}

/// One queue between the same CPUs with one or more batch sizes.
#[derive(Debug, Clone)]
pub struct BatchCurve<'a> {
    /// Name of the queue.
    pub queue: &'a str,
    /// Type of the messages.
    pub payload: &'a str,
    /// Capacity in messages.
    pub capacity: u64,
    /// Requested messages per second; `None` for the maximum rate.
    pub rate_per_s: Option<f64>,
    /// Producer and consumer.
    pub placement: &'a [CpuId],
    /// The batch sizes, ascending.
    pub steps: Vec<BatchStep<'a>>,
}

/// Gain of larger batches.
#[derive(Debug, Clone, Copy)]
pub enum BatchGain<'c, 'a> {
    /// The size with the largest significant gain over the smallest size.
    Best(&'c BatchStep<'a>, Estimate),
    /// No size has a significant gain.
    NotShown,
    /// No gain has an interval.
    Unknown,
}

/// The curves of a run, in the order of the plan.
pub fn batch_curves(result: &SeriesResult) -> Vec<BatchCurve<'_>> {
    let mut found: Vec<BatchCurve<'_>> = Vec::new();
    for trial in result.trials.iter().filter(|trial| trial.spec.probe == names::PROBE) {
        let parameters = &trial.spec.parameters;
        let (queue, payload) = (parameters.text("queue"), parameters.text("payload"));
        let numbers = (parameters.number("capacity"), parameters.number("batch"));
        let (Some(queue), Some(payload), (Some(capacity), Some(batch))) = (queue, payload, numbers) else {
            continue;
        };
        let (placement, rate_per_s) = (trial.spec.placement.as_slice(), parameters.number("rate_per_s"));
        let key = (queue, payload, capacity as u64, rate_per_s, placement);
        let step = BatchStep { batch: batch as u64, trial, in_common_state: None };
        match found.iter_mut().find(|curve| curve.key() == key) {
            Some(curve) => curve.steps.push(step),
            None => {
                let (queue, payload, capacity, ..) = key;
                let steps = vec![step];
                found.push(BatchCurve { queue, payload, capacity, rate_per_s, placement, steps });
            }
        }
    }
    for curve in &mut found {
        curve.steps.sort_by_key(|step| step.batch);
        let trials: Vec<&TrialResult> = curve.steps.iter().map(|step| step.trial).collect();
        for (step, in_state) in curve.steps.iter_mut().zip(side_by_side(&trials)) {
            step.in_common_state = in_state;
        }
    }
    found
}

impl<'a> BatchCurve<'a> {
    fn key(&self) -> (&'a str, &'a str, u64, Option<f64>, &'a [CpuId]) {
        (self.queue, self.payload, self.capacity, self.rate_per_s, self.placement)
    }

    /// Whether a trial belongs to the curve.
    pub fn holds(&self, trial: &TrialResult) -> bool {
        self.steps.iter().any(|step| std::ptr::eq(step.trial, trial))
    }

    /// Throughput relative to the smallest batch. The interval contains all quotients of the two intervals. `None` if
    /// the two were not measured in one state, or if two polling threads share a CPU.
    pub fn gain(&self, step: &BatchStep<'_>) -> Option<Estimate> {
        let first = self.steps.first()?;
        if first.batch == step.batch {
            return None;
        }
        let [one, other] = [first.rate_in_common_state()?, step.rate_in_common_state()?];
        Some(Estimate {
            point: other.point / one.point,
            low: other.low / one.high,
            high: other.high / one.low,
            confidence: one.confidence.min(other.confidence),
            effective_n: one.effective_n.min(other.effective_n),
        })
    }

    /// Gain of larger batches over the smallest.
    pub fn best_gain(&self) -> BatchGain<'_, 'a> {
        let gains = self.steps.iter().filter_map(|step| Some((step, self.gain(step)?)));
        let with_interval: Vec<(&BatchStep<'_>, Estimate)> =
            gains.filter(|(_, gain)| gain.is_sure()).collect();
        let significant = with_interval.iter().filter(|(_, gain)| gain.low >= MIN_GAIN);
        match significant.max_by(|a, b| a.1.point.total_cmp(&b.1.point)) {
            Some((step, gain)) => BatchGain::Best(step, *gain),
            None if with_interval.is_empty() => BatchGain::Unknown,
            None => BatchGain::NotShown,
        }
    }

    /// The size with the largest significant gain, and that gain.
    pub fn best(&self) -> Option<(u64, Estimate)> {
        match self.best_gain() {
            BatchGain::Best(step, gain) => Some((step.batch, gain)),
            BatchGain::NotShown | BatchGain::Unknown => None,
        }
    }
}

impl BatchStep<'_> {
    fn rate_in_common_state(&self) -> Option<&Estimate> {
        let trial = self.in_common_state.as_deref()?;
        let rate = trial.values.get(names::RATE)?;
        (!trial.flags.contains(crate::Flag::SharedSpin) && rate.low > 0.0).then_some(rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Parameters;
    use crate::tests::{between, spec};

    fn trial(queue: &str, batch: Option<f64>, [low, point, high]: [f64; 3]) -> TrialResult {
        let parameters =
            Parameters::default().with("queue", queue).with("payload", "u64").with("capacity", 100.0);
        TrialResult {
            values: [(names::RATE.to_owned(), between(point, low, high))].into(),
            ..TrialResult::empty(spec(names::PROBE, parameters.with_some("batch", batch), &[0, 1]))
        }
    }

    fn curves_of(trials: Vec<TrialResult>, check: impl Fn(&[BatchCurve<'_>], &SeriesResult)) {
        let result = SeriesResult { trials, ..SeriesResult::default() };
        check(&batch_curves(&result), &result);
    }

    #[test]
    fn sizes_of_one_queue_are_one_curve_and_the_gain_spans_both_intervals() {
        let trials = vec![
            trial("spsc", Some(64.0), [27e6, 30e6, 33e6]),
            trial("spsc", Some(1.0), [9e6, 10e6, 11e6]),
            trial("spsc", None, [1e6; 3]),
            trial("slots", Some(8.0), [1e6; 3]),
        ];
        curves_of(trials, |curves, result| {
            assert_eq!(curves.len(), 2);
            let batches: Vec<u64> = curves[0].steps.iter().map(|step| step.batch).collect();
            assert_eq!(batches, [1, 64]);
            assert!(curves[0].holds(&result.trials[0]) && !curves[0].holds(&result.trials[2]));
            let (batch, gain) = curves[0].best().unwrap();
            assert_eq!((batch, gain.point), (64, 3.0));
            assert!((gain.low - 27.0 / 11.0).abs() < 1e-9 && (gain.high - 33.0 / 9.0).abs() < 1e-9);
            assert_eq!(curves[1].best(), None, "one size alone gains nothing");
        });
    }

    #[test]
    fn only_a_significant_gain_is_the_best() {
        for (steps, best) in [
            (&[(1.0, [9e6, 10e6, 11e6]), (8.0, [10e6, 12e6, 14e6])][..], None),
            (&[(1.0, [9e6, 10e6, 11e6]), (8.0, [19e6, 20e6, 21e6]), (64.0, [5e6, 30e6, 60e6])], Some(8)),
        ] {
            let trials = steps.iter().map(|&(batch, value)| trial("spsc", Some(batch), value)).collect();
            curves_of(trials, |curves, _| assert_eq!(curves[0].best().map(|(batch, _)| batch), best));
        }
    }
}
