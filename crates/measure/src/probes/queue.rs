//! `queue`: messages per second between threads through a bounded queue.

mod crowd;
#[cfg(all(target_os = "linux", not(miri)))]
mod perform;
mod price;
mod runtime;
mod stand_ins;
mod sweep;
mod trials;

use crate::adapters::pass::AdapterPass;
use crate::adapters::protocol::RuntimeWork;
use crate::pricing::SimContext;
use crate::queues::catalogue::KINDS;
use crate::queues::limits::Delays;
use crate::series::{Concurrent, RequestError, SeriesProbe, SeriesRequest, TrialOrder};
use crate::stand_in::SimStandIn;
#[cfg(all(target_os = "linux", not(miri)))]
use crate::trial_context::TrialContext;
use coretalk_model::probes::{ProbeDeclaration, queue::DECLARATION};
use coretalk_model::queue::names;
use coretalk_model::series::{Observed, Parameters, TrialSpec};
use coretalk_model::{CpuId, Flag, Picos, TickRate, TrialFailure};
pub use trials::{CAPACITIES, MAX_CAPACITY, QueueConfig, VERIFIED};

/// The `queue` probe.
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
        sim: &mut dyn SimContext<'_>,
        order: &TrialOrder<'_>,
    ) -> Result<Observed, TrialFailure> {
        price::simulate(sim, order)
    }

    fn concurrent(&self, spec: &TrialSpec) -> Concurrent {
        trials::concurrent(spec)
    }

    fn variants(&self) -> Vec<(String, String)> {
        let native = KINDS.iter().map(|kind| (kind.id.to_owned(), kind.what.to_owned()));
        native
            .chain([("RUNTIME:NAME".to_owned(), "a queue of a runtime in another language".to_owned())])
            .collect()
    }

    fn runtime_work(&self, spec: &TrialSpec, options: &Parameters) -> Result<RuntimeWork, RequestError> {
        runtime::work(spec, options)
    }

    fn runtime_result(&self, spec: &TrialSpec, pass: &AdapterPass) -> Observed {
        runtime::result(spec, pass)
    }

    fn stand_ins(&self) -> &'static [SimStandIn] {
        stand_ins::STAND_INS
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

/// Minimum share of the requested rate that counts as sustained. Below it, delays grow without limit and depend on the
/// length of the pass.
const MIN_KEPT_SHARE: f64 = 0.99;
/// Minimum messages of a pass at a fixed rate. They decide within a few percent whether the rate was sustained.
const MIN_SENT: f64 = 100.0;
/// Messages of a whole pass by which its rate may be off. The middle 80 % may be off by one message at each end, which
/// gives 2 / 0.8.
const RATE_ERROR_MESSAGES: f64 = 2.5;

/// Records the reached rate of a pass, and its delays if the requested rate was sustained. `per_s` is the requested and
/// the reached rate. `in_batches` is set if batches were requested, even of one message.
pub fn observe(observed: &mut Observed, rate: TickRate, per_s: [f64; 2], delays: &Delays, in_batches: bool) {
    let [requested, reached] = per_s;
    observed.value(names::RATE, reached);
    let is_kept = reached
        >= MIN_KEPT_SHARE * requested * (1.0 - RATE_ERROR_MESSAGES / delays.corrected.len().max(1) as f64);
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
            // A batch of one message begins and ends with the same message.
            let tally = delays.of_batch.as_ref().map_or(&delays.corrected, |ends| &ends[end]);
            observed.histogram(name, tally.histogram(rate));
        }
    }
}

/// Records each thread's share of a side's messages (0: producers, 1: consumers). `first` is the role of the first
/// thread.
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
