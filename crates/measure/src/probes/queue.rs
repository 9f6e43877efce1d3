//! `queue`: messages per second between threads through a bounded queue.

mod crowd;
#[cfg(all(target_os = "linux", not(miri)))]
mod perform;
mod price;
mod runtime;
mod sweep;
mod trials;
mod twins;

use crate::adapters::pass::Pass;
use crate::adapters::protocol::RuntimeWork;
use crate::pricing::SimContext;
use crate::queues::catalogue::KINDS;
use crate::queues::limits::Delays;
use crate::series::{Concurrent, RequestError, SeriesProbe, SeriesRequest, TrialOrder};
#[cfg(all(target_os = "linux", not(miri)))]
use crate::trial_context::TrialContext;
use crate::twin::SimStandIn;
use coretalk_model::probes::{ProbeDeclaration, queue::DECLARATION};
use coretalk_model::queue::names;
use coretalk_model::series::{Observed, Parameters, TrialSpec};
use coretalk_model::{CpuId, Flag, Picos, TickRate, TrialFailure};
pub use trials::{CAPACITIES, Config, MAX_CAPACITY, VERIFIED};

/// Messages per second between threads through a bounded queue.
#[derive(Debug, Clone, Copy)]
pub struct Queue;

impl SeriesProbe for Queue {
    fn declaration(&self) -> &'static ProbeDeclaration {
        &DECLARATION
    }

    fn trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        trials::trials(request)
    }

    /// One pair of each relation, and both threads on one CPU.
    fn suite_trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        let one = request.cpus.first().map(|&cpu| [cpu; 2]);
        let pairs: Vec<[CpuId; 2]> = one.into_iter().chain(request.pairs.iter().copied()).collect();
        let options = request.options.clone().with("pairs", "listed");
        trials::trials(&SeriesRequest { pairs: &pairs, options: &options, ..*request })
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn lacks(&self, spec: &TrialSpec) -> Option<String> {
        perform::lacks(spec)
    }

    fn least_span(&self, spec: &TrialSpec) -> Picos {
        let rate_per_s = spec.parameters.number("rate_per_s");
        rate_per_s.map_or(Picos::ZERO, |rate_per_s| Picos::from_secs(MIN_SENT / rate_per_s))
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn perform(&self, context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
        perform::perform(context, order)
    }

    fn simulate(
        &self,
        stage: &mut dyn SimContext<'_>,
        order: &TrialOrder<'_>,
    ) -> Result<Observed, TrialFailure> {
        let config = Config::of(order.spec)?;
        match config.sides {
            [1, 1] => price::simulate(stage, order),
            _ => Ok(crowd::simulate(stage, &config, order)),
        }
    }

    fn concurrent(&self, spec: &TrialSpec) -> Concurrent {
        trials::concurrent(spec)
    }

    fn variants(&self) -> Vec<(String, String)> {
        let ours = KINDS.iter().map(|kind| (kind.id.to_owned(), kind.what.to_owned()));
        ours.chain([("RUNTIME:NAME".to_owned(), "a queue of a runtime in another language".to_owned())])
            .collect()
    }

    fn runtime_work(&self, spec: &TrialSpec, options: &Parameters) -> Result<RuntimeWork, RequestError> {
        runtime::work(spec, options)
    }

    fn runtime_result(&self, spec: &TrialSpec, pass: &Pass) -> Observed {
        runtime::result(spec, pass)
    }

    fn twins(&self) -> &'static [SimStandIn] {
        twins::TWINS
    }

    /// Only messages with a due time have delays.
    fn distributions(&self, spec: &TrialSpec) -> usize {
        let has = |name| spec.parameters.number(name).is_some();
        match (has("rate_per_s"), has("batch")) {
            (true, true) => 4,
            (true, false) => 2,
            (false, _) => 0,
        }
    }
}

/// Minimum share of due messages for a sustained rate; below, delays grow without limit and depend on the pass's
/// length.
const KEPT: f64 = 0.99;
/// Minimum messages of a pass at a fixed rate, to decide within a few percent whether the rate was sustained.
const MIN_SENT: f64 = 100.0;
/// Messages by which a sustained rate may be off: one at each end of the part of the pass over which it is computed.
const ENDS: f64 = 2.5;

/// Records the delays of a pass with a sustained rate; of a saturated one only the reached rate. `per_s` is the
/// requested and the reached rate; `in_batches` is set if batches were requested, even of one message.
pub fn observe(observed: &mut Observed, rate: TickRate, per_s: [f64; 2], delays: &Delays, in_batches: bool) {
    let [requested, reached] = per_s;
    observed.value(names::RATE, reached);
    let is_kept = reached >= KEPT * requested * (1.0 - ENDS / delays.corrected.len().max(1) as f64);
    observed.count(names::KEPT, u64::from(is_kept));
    observed.count(names::MISSED, u64::from(!is_kept));
    if !is_kept {
        observed.flags.set(Flag::Saturated);
        return;
    }
    observed.histogram(names::CORRECTED, delays.corrected.histogram(rate));
    observed.histogram(names::UNCORRECTED, delays.uncorrected.histogram(rate));
    if in_batches {
        for (end, name) in names::OF_BATCH.into_iter().enumerate() {
            // A batch of one message begins and ends with it.
            let tally = delays.of_batch.as_ref().map_or(&delays.corrected, |ends| &ends[end]);
            observed.histogram(name, tally.histogram(rate));
        }
    }
}

/// Records the shares of a side's ends (0 produces, 1 consumes) in the messages; `first` is the role of its first end.
pub fn observe_shares(observed: &mut Observed, side: usize, first: usize, shares: &[f64]) {
    for (role, share) in (first..).zip(shares) {
        observed.by_role.entry(role).or_default().value(names::SHARE, *share);
    }
    let [least, most] = shares
        .iter()
        .fold([f64::INFINITY, 0.0], |[least, most]: [f64; 2], share| [least.min(*share), most.max(*share)]);
    observed.value(names::FAIRNESS[side], least * shares.len() as f64);
    observed.value(names::LARGEST[side], most);
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn a_pair_that_cannot_keep_up_is_saturated_and_has_no_delay() {
        let mut delays = Delays::default();
        for _ in 0..10_000 {
            delays.corrected.count(500);
            delays.uncorrected.count(100);
        }
        let observe = |reached| {
            let mut observed = Observed::default();
            super::observe(&mut observed, TickRate { hz: 1e9 }, [1e6, reached], &delays, false);
            observed
        };
        let kept = observe(0.995e6);
        let median = kept.numbers.histograms[names::CORRECTED].percentile_ns(0.5);
        assert!(median.is_some_and(|median| (median - 500.0).abs() < 1.0), "{median:?}");
        assert!(!kept.flags.contains(Flag::Saturated));
        let saturated = observe(0.9e6);
        assert!(saturated.flags.contains(Flag::Saturated) && saturated.numbers.histograms.is_empty());
        assert_eq!(saturated.numbers.values[names::RATE], 0.9e6);
    }
}
