//! [`IdleGaps`]: latency of a message after idle gaps of several lengths.

use crate::quantity::Quantity;
use crate::series::{SeriesSettings, TrialResult, displayed_value, place_order, shown, side_by_side};
use crate::stats::Estimate;
use crate::{CpuId, Topology};
use std::collections::BTreeMap;

/// Names in trials of `latency` after idle gaps and under load.
pub mod names {
    /// The idle gap before a message, in nanoseconds.
    pub const GAP_NS: &str = "gap_ns";
    /// How the receiver waits: [`LOOKS`] or the name of a primitive.
    pub const RECEIVER: &str = "receiver";
    /// The receiver polls continuously.
    pub const LOOKS: &str = "looks";
    /// The receiver sleeps on a semaphore over a futex.
    pub const SLEEPS: &str = "semaphore";
    /// Whether CPUs may enter idle states: [`KEPT_OUT`], or absent for the policy of the system.
    pub const IDLE_STATES: &str = "idle_states";
    /// No CPU enters an idle state with exit latency.
    pub const KEPT_OUT: &str = "kept-out";
    /// Load on neighbouring CPUs.
    pub const LOAD: &str = "load";
    /// Location of the neighbouring CPUs.
    pub const WHERE: &str = "neighbours";
    /// Single round trips after an idle gap, including the cost of the clock.
    pub const ROUND_TRIP: &str = "round-trip";
    /// Half of the median of [`ROUND_TRIP`] without the cost of the clock; may be negative.
    pub const HALF_NET_NS: &str = "half_net_ns";
    /// Half a round trip with idle neighbours.
    pub const IDLE_NS: &str = "idle_ns";
    /// Half a round trip with busy neighbours.
    pub const LOADED_NS: &str = "loaded_ns";
    /// Ratio of [`LOADED_NS`] to [`IDLE_NS`], pass by pass.
    pub const RATIO: &str = "ratio";
}

/// Latency of a message after each gap, by kind of receiver.
#[derive(Debug, Clone, PartialEq)]
pub struct IdleGaps<'a> {
    /// The probe.
    pub probe: &'a str,
    /// The CPUs of the first evaluated trial, as an example of their relation; `None` if all trials ran on these CPUs.
    pub placement: Option<&'a [CpuId]>,
    /// Receivers, in the order of the plan.
    pub receivers: Vec<ReceiverGaps<'a>>,
}

/// One kind of receiver.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceiverGaps<'a> {
    /// [`names::LOOKS`], or the name of a primitive.
    pub receiver: &'a str,
    /// Whether CPUs may enter idle states: see [`names::IDLE_STATES`].
    pub idle_states: Option<&'a str>,
    /// The displayed quantity.
    pub quantity: &'static Quantity,
    /// Gaps with an interval, ascending.
    pub steps: Vec<GapStep<'a>>,
    /// Gaps without an interval in nanoseconds, ascending.
    pub unknown_ns: Vec<f64>,
}

/// Latency after one gap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GapStep<'a> {
    /// The gap.
    pub gap_ns: f64,
    /// The result of the typical pair.
    pub value: Estimate,
    /// Number of pairs.
    pub placements: usize,
    /// The first trial of the typical pair.
    pub trial: &'a TrialResult,
}

/// The latencies after gaps, between CPUs of the nearest relation with an interval. SMT siblings come last. `None` if
/// no receiver was measured after at least two gaps.
pub fn idle_gaps<'a>(
    settings: &SeriesSettings,
    trials: &[&'a TrialResult],
    topology: &Topology,
) -> Option<IdleGaps<'a>> {
    let probe = trials.first()?.spec.probe.as_str();
    let with_gap = || trials.iter().copied().filter(|trial| gap_ns(trial).is_some());
    let mut places: Vec<(f64, &[CpuId])> = Vec::new();
    for trial in with_gap() {
        let placement = trial.spec.placement.as_slice();
        let order = place_order(topology, placement);
        if places.iter().all(|(known, _)| *known != order) {
            places.push((order, placement));
        }
    }
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    let places_differ = trials.iter().any(|trial| trial.spec.placement != trials[0].spec.placement);
    let gaps_at = |&(order, placement): &(f64, &'a [CpuId])| {
        let mut kinds: Vec<(Kind<'_>, Vec<&TrialResult>)> = Vec::new();
        for trial in with_gap().filter(|trial| place_order(topology, &trial.spec.placement) == order) {
            let text = |name| trial.spec.parameters.text(name);
            let Some(receiver) = text(names::RECEIVER) else { continue };
            let kind = (receiver, text(names::IDLE_STATES));
            match kinds.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, trials_of_kind)) => trials_of_kind.push(trial),
                None => kinds.push((kind, vec![trial])),
            }
        }
        let receivers =
            kinds.into_iter().filter_map(|(kind, trials)| ReceiverGaps::new(settings, kind, &trials));
        IdleGaps { probe, placement: places_differ.then_some(placement), receivers: receivers.collect() }
    };
    let found: Vec<IdleGaps<'_>> =
        places.iter().map(gaps_at).filter(|gaps| !gaps.receivers.is_empty()).collect();
    let has_steps = |gaps: &IdleGaps<'_>| gaps.receivers.iter().any(|receiver| !receiver.steps.is_empty());
    let known = found.iter().position(has_steps);
    found.into_iter().nth(known.unwrap_or(0))
}

type Kind<'a> = (&'a str, Option<&'a str>);

fn gap_ns(trial: &TrialResult) -> Option<f64> {
    trial.spec.parameters.number(names::GAP_NS)
}

impl<'a> ReceiverGaps<'a> {
    fn new(
        settings: &SeriesSettings,
        (receiver, idle_states): Kind<'a>,
        trials: &[&'a TrialResult],
    ) -> Option<ReceiverGaps<'a>> {
        let named = |trial: &&TrialResult| {
            settings.quantities.get(&trial.spec.probe, displayed_value(settings, trial)?)
        };
        let quantity = trials.iter().find_map(named)?;
        let mut gaps: Vec<f64> = trials.iter().filter_map(|trial| gap_ns(trial)).collect();
        gaps.sort_by(f64::total_cmp);
        gaps.dedup();
        let in_state = side_by_side(trials);
        type OfGap<'a> = BTreeMap<&'a [CpuId], (&'a TrialResult, Estimate)>;
        let of_gap = |gap: f64| -> OfGap<'a> {
            let with_gap = trials.iter().zip(&in_state).filter(|(trial, _)| gap_ns(trial) == Some(gap));
            with_gap
                .filter_map(|(trial, state)| {
                    let value = shown(settings, quantity, state.as_deref()?).filter(Estimate::is_sure)?;
                    Some((trial.spec.placement.as_slice(), (*trial, value)))
                })
                .collect()
        };
        let found: Vec<(f64, OfGap<'a>)> = gaps.iter().map(|&gap| (gap, of_gap(gap))).collect();
        let pairs: Vec<&[CpuId]> = found
            .iter()
            .find(|(_, by_pair)| !by_pair.is_empty())
            .map_or_else(Vec::new, |(_, by_pair)| by_pair.keys().copied().collect());
        let (mut steps, mut unknown_ns) = (Vec::new(), Vec::new());
        for (gap_ns, by_pair) in found {
            let all: Option<Vec<_>> = pairs.iter().map(|pair| by_pair.get(pair).copied()).collect();
            let all = all.unwrap_or_default();
            let values: Vec<Estimate> = all.iter().map(|(_, value)| *value).collect();
            match (Estimate::typical(&values), all.first()) {
                (Some(value), Some((trial, _))) => {
                    steps.push(GapStep { gap_ns, value, placements: all.len(), trial });
                }
                _ => unknown_ns.push(gap_ns),
            }
        }
        (gaps.len() > 1).then_some(ReceiverGaps { receiver, idle_states, quantity, steps, unknown_ns })
    }

    /// The step with the narrowest interval, if all intervals share a value; `None` for fewer than two steps.
    pub fn alike(&self) -> Option<&GapStep<'a>> {
        let low = self.steps.iter().map(|step| step.value.low).fold(f64::NEG_INFINITY, f64::max);
        let high = self.steps.iter().map(|step| step.value.high).fold(f64::INFINITY, f64::min);
        let reach = |step: &GapStep<'_>| step.value.relative_reach();
        let narrowest = self.steps.iter().min_by(|a, b| reach(a).total_cmp(&reach(b)));
        narrowest.filter(|_| self.steps.len() > 1 && low <= high)
    }

    /// The shortest gap, the longest gap and the gap with the highest latency, ascending.
    pub fn ends(&self) -> Vec<&GapStep<'a>> {
        let slowest = self.steps.iter().max_by(|a, b| a.value.point.total_cmp(&b.value.point));
        let mut ends: Vec<&GapStep<'_>> =
            self.steps.iter().take(1).chain(slowest).chain(self.steps.last()).collect();
        ends.dedup_by_key(|step| step.gap_ns.to_bits());
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::Quantities;
    use crate::series::Parameters;
    use crate::tests::{around, spec};

    const PROBE: &str = "latency";
    static QUANTITIES: [Quantity; 1] = [Quantity::time(names::HALF_NET_NS, "half, net ns").headline(0)];

    fn trial(gap_ns: f64, cpu: u32, point: Option<f64>) -> TrialResult {
        let parameters =
            Parameters::default().with(names::GAP_NS, gap_ns).with(names::RECEIVER, names::LOOKS);
        let value = point.map(|point| (names::HALF_NET_NS.to_owned(), around(point, 0.02)));
        let values = value.into_iter().collect();
        TrialResult { values, ..TrialResult::empty(spec(PROBE, parameters, &[0, cpu])) }
    }

    fn with_idle_gaps(trials: &[TrialResult], check: impl Fn(Option<IdleGaps<'_>>)) {
        let settings = SeriesSettings {
            headlines: vec![names::HALF_NET_NS.into()],
            quantities: Quantities::new([(PROBE, &QUANTITIES[..])]),
            ..SeriesSettings::default()
        };
        let topology = Topology::flat("0-3".parse().unwrap());
        check(idle_gaps(&settings, &trials.iter().collect::<Vec<_>>(), &topology));
    }

    #[test]
    fn gaps_are_alike_where_all_intervals_have_a_value_in_common() {
        let trials = [trial(1e6, 1, Some(18.1)), trial(1e3, 1, Some(18.0)), trial(1e9, 1, None)];
        with_idle_gaps(&trials, |found| {
            let found = found.unwrap();
            let [receiver] = &found.receivers[..] else { panic!("{found:?}") };
            assert_eq!((receiver.steps.len(), &receiver.unknown_ns[..]), (2, &[1e9][..]));
            assert!(found.placement.is_none() && receiver.alike().is_some());
        });
        let apart = [trial(1e3, 1, Some(18.0)), trial(1e6, 1, Some(30.0)), trial(1e9, 1, Some(20.0))];
        with_idle_gaps(&apart, |found| {
            let receiver = &found.unwrap().receivers[0];
            let ends: Vec<f64> = receiver.ends().iter().map(|step| step.gap_ns).collect();
            assert_eq!((receiver.alike().is_none(), ends), (true, vec![1e3, 1e6, 1e9]));
        });
        with_idle_gaps(&[trial(1e3, 1, Some(18.0))], |found| assert_eq!(found, None));
    }

    #[test]
    fn gaps_are_compared_between_the_same_pairs() {
        let trials = [
            trial(1e3, 1, Some(18.0)),
            trial(1e3, 2, Some(20.0)),
            trial(1e6, 1, Some(18.0)),
            trial(1e9, 1, Some(18.0)),
            trial(1e9, 2, Some(22.0)),
        ];
        with_idle_gaps(&trials, |found| {
            let found = found.unwrap();
            let [receiver] = &found.receivers[..] else { panic!("{found:?}") };
            let steps: Vec<(f64, f64)> =
                receiver.steps.iter().map(|step| (step.gap_ns, step.value.point)).collect();
            assert_eq!((steps, &receiver.unknown_ns[..]), (vec![(1e3, 19.0), (1e9, 20.0)], &[1e6][..]));
        });
    }
}
