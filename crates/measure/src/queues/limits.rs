//! [`RoleLimits`]: limits of the roles around a queue. [`Stamps`]: progress without a clock read per message.

use crate::kernel_context::Guard;
use crate::tick_histogram::TickHistogram;

/// The limits of a role.
#[derive(Debug, Clone, Copy)]
pub struct RoleLimits<'a> {
    /// Bounds every wait.
    pub guard: &'a Guard<'a>,
    /// Counter value at which producers end.
    pub until_ticks: u64,
    /// Maximum messages of each producer.
    pub messages: u64,
    /// Ticks between stamps.
    pub apart_ticks: u64,
}

/// The result of a producer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sent {
    /// Sent messages.
    pub messages: u64,
    /// Number of times that the queue was full.
    pub full: u64,
    /// Sum of all sent numbers.
    pub sum: u64,
    /// Progress over time; empty at a fixed rate.
    pub stamps: Vec<Stamp>,
}

/// The result of a consumer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Received {
    /// Received messages.
    pub messages: u64,
    /// Number of times that the queue was empty.
    pub empty: u64,
    /// Sum of all received numbers.
    pub sum: u64,
    /// Messages that were damaged or out of order.
    pub wrong: u64,
    /// Progress over time.
    pub stamps: Vec<Stamp>,
    /// Delays of messages at a fixed rate.
    pub delays: Option<Box<Delays>>,
}

/// Delays of messages as the consumer counts them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Delays {
    /// From the due time of a message.
    pub corrected: TickHistogram,
    /// From the actual sending.
    pub uncorrected: TickHistogram,
    /// Corrected delays of the first and the last message of each batch, if messages are sent in batches.
    pub of_batch: Option<Box<[TickHistogram; 2]>>,
}

/// Progress of a loop at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Messages so far.
    pub count: u64,
    /// Counter value.
    pub ticks: u64,
}

/// Takes stamps about equally far apart in time: doubles or halves the messages in between. Allocates only initially.
#[derive(Debug)]
pub struct Stamps {
    kept: Vec<Stamp>,
    step: u64,
    apart_ticks: u64,
    last_ticks: u64,
}

/// Capacity for stamps. When it is used up, every second stamp is dropped.
const MAX_STAMPS: usize = 4096;
/// Maximum messages between stamps. A loop whose clock is stuck still checks its guard.
const MAX_STEP: u64 = 1 << 20;

impl Stamps {
    /// Creates stamps about this many ticks apart.
    pub fn new(apart_ticks: u64) -> Stamps {
        Stamps {
            kept: Vec::with_capacity(MAX_STAMPS),
            step: 1,
            apart_ticks: apart_ticks.max(1),
            last_ticks: 0,
        }
    }

    /// Records a stamp. Returns the count at which the next stamp is due.
    pub fn take(&mut self, count: u64, ticks: u64) -> u64 {
        if self.kept.len() == MAX_STAMPS {
            let mut index = 0;
            self.kept.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.apart_ticks *= 2;
        }
        if !self.kept.is_empty() {
            let passed = ticks.saturating_sub(self.last_ticks);
            if passed < self.apart_ticks {
                self.step = (self.step * 2).min(MAX_STEP);
            } else if passed > 4 * self.apart_ticks {
                self.step = (self.step / 2).max(1);
            }
        }
        self.last_ticks = ticks;
        self.kept.push(Stamp { count, ticks });
        count + self.step
    }

    /// Adds a final stamp and returns all.
    pub fn finish(mut self, count: u64, ticks: u64) -> Vec<Stamp> {
        self.take(count, ticks);
        self.kept
    }
}

/// Messages per tick of several loops, over the middle 80 % of their common time, without starts and ends; `None` if
/// there is too little data.
pub fn rate(loops: &[Vec<Stamp>]) -> Option<f64> {
    let [from, to] = middle(loops)?;
    let messages: f64 = loops.iter().map(|stamps| count_at(stamps, to) - count_at(stamps, from)).sum();
    (messages > 0.0).then(|| messages / (to - from))
}

/// Share of each loop in the messages of the middle 80 % of their common time; `None` if there is too little data.
pub fn shares(loops: &[Vec<Stamp>]) -> Option<Vec<f64>> {
    let [from, to] = middle(loops)?;
    let messages = loops.iter().map(|stamps| count_at(stamps, to) - count_at(stamps, from));
    let messages: Vec<f64> = messages.collect();
    let all: f64 = messages.iter().sum();
    (all > 0.0).then(|| messages.iter().map(|messages| messages / all).collect())
}

fn middle(loops: &[Vec<Stamp>]) -> Option<[f64; 2]> {
    let begun = loops.iter().map(|stamps| Some(stamps.first()?.ticks)).max()??;
    let ended = loops.iter().map(|stamps| Some(stamps.last()?.ticks)).min()??;
    let span = ended.checked_sub(begun).filter(|span| *span > 0)? as f64;
    Some([0.1, 0.9].map(|share| begun as f64 + share * span))
}

fn count_at(stamps: &[Stamp], ticks: f64) -> f64 {
    let after = stamps.partition_point(|stamp| (stamp.ticks as f64) < ticks);
    let (Some(last), Some(next)) = (after.checked_sub(1).map(|before| stamps[before]), stamps.get(after))
    else {
        return stamps.get(after).or(stamps.last()).map_or(0.0, |stamp| stamp.count as f64);
    };
    let share = (ticks - last.ticks as f64) / (next.ticks - last.ticks) as f64;
    last.count as f64 + share * (next.count - last.count) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stamps of a loop that takes `ticks_per_message`.
    fn run(ticks_per_message: u64, messages: u64, begin: u64) -> Vec<Stamp> {
        let mut stamps = Stamps::new(1_000);
        let mut next = 0;
        for count in 0..messages {
            if count == next {
                next = stamps.take(count, begin + count * ticks_per_message);
            }
        }
        stamps.finish(messages, begin + messages * ticks_per_message)
    }

    #[test]
    fn stamps_have_the_requested_distance_at_any_message_rate() {
        for ticks in [1, 7, 300, 5_000] {
            let stamps = run(ticks, 3_000_000 / ticks, 0);
            let apart = 3_000_000 / stamps.len() as u64;
            assert!((900..4_000.max(2 * ticks)).contains(&apart), "{ticks} ticks a message: {apart} apart");
        }
        let long = run(300, 1_000_000, 0);
        assert!(long.len() <= MAX_STAMPS && long.len() > MAX_STAMPS / 4, "{} stamps", long.len());
    }

    #[test]
    fn rates_add_up_over_the_common_time() {
        let close = |rate: Option<f64>, expected: f64| {
            let rate = rate.unwrap();
            assert!((rate / expected - 1.0).abs() < 0.01, "{rate} for {expected}");
        };
        close(rate(&[run(10, 50_000, 0)]), 0.1);
        close(rate(&[run(10, 50_000, 0), run(40, 20_000, 100_000)]), 0.125);
        assert_eq!(rate(&[vec![Stamp { count: 0, ticks: 5 }]]), None);
        assert_eq!(rate(&[]), None);
        assert_eq!(rate(&[run(10, 100, 0), run(10, 100, 1 << 40)]), None, "never at the same time");
    }

    #[test]
    fn shares_cover_the_common_time_and_a_stuck_loop_has_none() {
        let found = shares(&[run(10, 50_000, 0), run(30, 10_000, 100_000)]).unwrap();
        assert!((found[0] - 0.75).abs() < 0.01 && (found[1] - 0.25).abs() < 0.01, "{found:?}");
        let stuck = vec![Stamp { count: 0, ticks: 0 }, Stamp { count: 0, ticks: 500_000 }];
        assert_eq!(shares(&[run(10, 50_000, 0), stuck]).unwrap()[1], 0.0);
        assert_eq!(shares(&[run(10, 100, 0), run(10, 100, 1 << 40)]), None, "never at the same time");
    }

    #[test]
    fn a_slow_start_and_a_slow_end_are_left_out() {
        let mut stamps = vec![Stamp { count: 0, ticks: 0 }];
        for step in 1..=100u64 {
            stamps.push(Stamp { count: step * 100, ticks: 10_000 + step * 1_000 });
        }
        stamps.push(Stamp { count: 10_000, ticks: 120_000 });
        let rate = rate(&[stamps]).unwrap();
        assert!((rate / 0.1 - 1.0).abs() < 0.001, "{rate}");
    }
}
