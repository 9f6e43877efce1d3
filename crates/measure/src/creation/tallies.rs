//! [`Tallies`]: what the creations of one pass took.

use super::names;
use crate::tally::Tally;
use coretalk_model::TickRate;
use coretalk_model::series::Observed;
use coretalk_model::stats;

/// Differences between first statement and return that are kept for their median; later ones count in no median.
const MOST_KEPT: usize = 1 << 15;

/// What the creations of one pass took.
#[derive(Debug)]
pub struct Tallies {
    cost: Tally,
    latency: Tally,
    join: Tally,
    first: Tally,
    /// First statement minus return, in ticks with their sign.
    after_return: Vec<i64>,
    child_first: u64,
    samples: u64,
}

impl Default for Tallies {
    fn default() -> Tallies {
        Tallies::new()
    }
}

impl Tallies {
    /// Nothing counted; takes all memory that it will need.
    pub fn new() -> Tallies {
        Tallies {
            cost: Tally::new(),
            latency: Tally::new(),
            join: Tally::new(),
            first: Tally::new(),
            after_return: Vec::with_capacity(MOST_KEPT),
            child_first: 0,
            samples: 0,
        }
    }

    /// Counts one creation: before it, its return, the first statement of the new one, its end known.
    pub fn count(&mut self, [before, returned, began, ended]: [u64; 4]) {
        // The counters of two CPUs may lie apart by less than any creation takes.
        let latency = began.saturating_sub(before);
        self.samples += 1;
        if self.samples == 1 {
            self.first.count(latency);
            return;
        }
        self.cost.count(returned - before);
        self.latency.count(latency);
        self.join.count(ended - before);
        self.child_first += u64::from(began < returned);
        if self.after_return.len() < MOST_KEPT {
            self.after_return.push(began.wrapping_sub(returned) as i64);
        }
    }

    /// How many were counted, the first among them.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// What the pass says.
    pub fn observed(&self, rate: TickRate) -> Observed {
        let mut observed = Observed::default();
        for (name, tally) in [
            (names::COST, &self.cost),
            (names::LATENCY, &self.latency),
            (names::JOIN, &self.join),
            (names::FIRST, &self.first),
        ] {
            observed.histogram(name, tally.histogram(rate));
        }
        let after: Vec<f64> = self.after_return.iter().map(|&ticks| ticks as f64).collect();
        if let Some(median) = stats::median(&after) {
            observed.value(names::AFTER_RETURN_NS, median.signum() * rate.ns(median.abs()));
        }
        observed.count("samples", self.samples);
        observed.count(names::CHILD_FIRST, self.child_first);
        observed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_apart_and_the_sign_stays() {
        let mut tallies = Tallies::new();
        tallies.count([0, 900, 5_000, 9_000]);
        for began in [500, 600, 700] {
            tallies.count([100, 900, began, 2_000]);
        }
        let observed = tallies.observed(TickRate { hz: 1e9 });
        assert_eq!(observed.numbers.values[names::AFTER_RETURN_NS], -300.0);
        assert_eq!((observed.numbers.counts["samples"], observed.numbers.counts[names::CHILD_FIRST]), (4, 3));
        let median = |name: &str| observed.numbers.histograms[name].percentile_ns(0.5).unwrap();
        // A histogram keeps three digits.
        assert!((median(names::LATENCY) - 500.0).abs() < 1.0 && (median(names::COST) - 800.0).abs() < 1.0);
        assert_eq!(observed.numbers.histograms[names::FIRST].count(), 1);
    }
}
