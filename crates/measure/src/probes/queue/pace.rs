//! What is said of a pass at a fixed rate.

use crate::queues::course::Delays;
use coretalk_model::queue::names;
use coretalk_model::series::Observed;
use coretalk_model::{Flag, TickRate};

/// A pair that passes less than this share of the messages that were meant to be sent is saturated: its delays grow
/// without end, and say how long the pass was.
const KEPT: f64 = 0.99;

/// Notes the delays of a pass whose rate was kept; of one that could not keep up only how many messages passed.
/// `per_s` is what was asked for, and what was reached.
pub fn observe(observed: &mut Observed, rate: TickRate, per_s: [f64; 2], delays: &Delays) {
    let [requested, reached] = per_s;
    observed.value(names::RATE, reached);
    if reached < KEPT * requested {
        observed.flags.set(Flag::Saturated);
        return;
    }
    observed.histogram(names::CORRECTED, delays.corrected.histogram(rate));
    observed.histogram(names::UNCORRECTED, delays.uncorrected.histogram(rate));
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn a_pair_that_cannot_keep_up_is_saturated_and_has_no_delay() {
        let mut delays = Delays::default();
        delays.corrected.count(500);
        delays.uncorrected.count(100);
        let observe = |reached| {
            let mut observed = Observed::default();
            super::observe(&mut observed, TickRate { hz: 1e9 }, [1e6, reached], &delays);
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
