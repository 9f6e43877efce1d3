//! Distributions of single round trips: raw, and for messages at a steady rate.

use super::{Choices, LatencySettings, Purpose, Record, TailSeries};
use crate::{CpuId, Hint, KernelId, Picos, Protocol, Samples, Span, TickRate};
use std::collections::BTreeMap;

/// One series for each kept recording of single events.
pub fn tails(
    settings: &LatencySettings,
    rate: TickRate,
    record: &Record,
    choices: &Choices,
    pairs: &[[CpuId; 2]],
) -> Vec<TailSeries> {
    let Some(requested) = settings.tails else { return Vec::new() };
    let mut series: Vec<TailSeries> = Vec::new();
    for kept in record.kept(Purpose::Tails) {
        let of_round_trips = |span: &&Span| span.kernel != KernelId::new(Protocol::OneWay, Hint::None);
        for span in kept.recording.spans.iter().filter(of_round_trips) {
            let Samples::Counts { counts } = &span.samples else { continue };
            // Samples are round trips in ticks. These are half round trips in picoseconds.
            let halves: Vec<(u64, u64)> = counts
                .iter()
                .map(|&(ticks, count)| ((rate.ns(ticks as f64) * 500.0).round() as u64, count))
                .collect();
            let placement = pairs[kept.cell as usize];
            let clock_ns = choices.clock_ns.unwrap_or(0.0);
            let at = match series
                .iter()
                .position(|known| known.placement == placement && known.kernel == span.kernel)
            {
                Some(at) => at,
                None => {
                    series.push(TailSeries {
                        placement,
                        kernel: span.kernel.clone(),
                        raw: Vec::new(),
                        clock_ns,
                        at_rate: Vec::new(),
                        rate_per_s: requested.rate_per_s,
                        observed: Picos::ZERO,
                        negative_net: 0,
                    });
                    series.len() - 1
                }
            };
            let tail = &mut series[at];
            tail.raw = merge(&tail.raw, &halves);
            tail.observed += Picos::from_ns(counts.iter().map(|&(t, n)| rate.ns(t as f64) * n as f64).sum());
        }
    }
    for tail in &mut series {
        // The clock is read once in each round trip, so half of its cost is in each half.
        let clock_ps = (tail.clock_ns * 500.0) as u64;
        tail.negative_net = tail.raw.iter().filter(|(ps, _)| *ps < clock_ps).map(|(_, count)| count).sum();
        tail.at_rate = seen_at_rate(&tail.raw, requested.rate_per_s);
    }
    series
}

fn merge(a: &[(u64, u64)], b: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut all: BTreeMap<u64, u64> = BTreeMap::new();
    for &(value, count) in a.iter().chain(b) {
        let sum: &mut u64 = all.entry(value).or_default();
        *sum = sum.saturating_add(count);
    }
    all.into_iter().collect()
}

/// The latencies of messages sent at a steady rate, after Tene's correction for coordinated omission. During a round
/// trip of time T, messages due at intervals of 1/rate wait for its end. Their latencies are T, T − 1/rate, T − 2/rate
/// and so on. A round trip of at most 1/rate counts as time × rate messages, which is at most one. Values are in
/// picoseconds.
pub fn seen_at_rate(raw_ps: &[(u64, u64)], rate_per_s: f64) -> Vec<(u64, u64)> {
    let interval_ps = 1e12 / rate_per_s;
    let mut latencies: BTreeMap<u64, f64> = BTreeMap::new();
    for &(half_ps, count) in raw_ps {
        // The pair is busy for the whole round trip, but the values are half round trips. So a due message counts with
        // half of its wait.
        let busy_ps = 2.0 * half_ps as f64;
        let due = busy_ps / interval_ps * count as f64;
        if busy_ps <= interval_ps {
            *latencies.entry(half_ps).or_default() += due;
            continue;
        }
        let messages = (busy_ps / interval_ps).floor() as u64;
        // A stall of an hour at a billion messages a second must not be listed message by message.
        let step = messages.div_ceil(MAX_ENTRIES).max(1);
        let mut index = 0;
        while index < messages {
            let waited = busy_ps - index as f64 * interval_ps;
            *latencies.entry((waited / 2.0).round() as u64).or_default() +=
                step.min(messages - index) as f64 * count as f64;
            index = index.saturating_add(step);
        }
    }
    latencies
        .into_iter()
        .map(|(ps, messages)| (ps, messages.round() as u64))
        .filter(|&(_, n)| n > 0)
        .collect()
}

const MAX_ENTRIES: u64 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_of_four_ms_is_one_trip_but_hits_one_message_in_250_of_that_second() {
        // 25 million round trips of 40 ns fill a second; one of them takes 4 ms (2 ms a half).
        let raw = [(20_000, 24_900_000), (2_000_000_000, 1)];
        let seen = seen_at_rate(&raw, 100_000.0);
        let slow: u64 = seen.iter().filter(|(ps, _)| *ps > 1_000_000).map(|(_, n)| n).sum();
        let all: u64 = seen.iter().map(|(_, n)| n).sum();
        assert_eq!(slow, 400);
        assert!((all as f64 / slow as f64 - 250.0).abs() < 2.0, "{slow} of {all}");
    }

    #[test]
    fn a_long_stall_at_a_high_rate_stays_a_short_list() {
        let seen = seen_at_rate(&[(1_800_000_000_000_000, 1)], 1e9);
        assert!(seen.len() <= 1_001);
        assert_eq!(seen.iter().map(|(_, n)| n).sum::<u64>(), 3_600_000_000_000);
    }
}
