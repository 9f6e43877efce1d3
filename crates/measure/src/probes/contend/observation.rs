//! The observations of the threads of one pass, and the results of the pass.

use super::trials::ContendConfig;
use crate::counters::catalogue::MethodKind;
use crate::tick_histogram::TickHistogram;
use coretalk_model::contend::names;
use coretalk_model::series::Observed;
use coretalk_model::{Flag, Histogram, TickRate};

#[derive(Debug, Default)]
pub struct ContendObservation {
    /// Additions from start to end, with those before and after the window.
    pub added: u64,
    /// Uninterrupted runs of additions by this thread, from start to end.
    pub runs: u64,
    pub ordered: bool,
    /// Operations in the window, including reads.
    pub operations: u64,
    pub window: [u64; 2],
    /// Operations in each millisecond of the window.
    pub parts: Vec<u32>,
    pub cpu_ns: Option<u64>,
    pub switches: Option<[u32; 2]>,
    pub acquire: Option<TickHistogram>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    pub total: u64,
    pub sound: bool,
}

/// Records the results of the phase without a clock in its loop.
pub fn rates(observed: &mut Observed, observations: &[ContendObservation], rate: TickRate) {
    let secs = |one: &ContendObservation| rate.ns((one.window[1] - one.window[0]) as f64) / 1e9;
    let each: Vec<f64> = observations.iter().map(|one| one.operations as f64 / secs(one)).collect();
    let (all, threads) = (each.iter().sum::<f64>(), observations.len() as f64);
    observed.value(names::RATE, all);
    observed.value(names::WALL_NS, 1e9 / all);
    observed.value(names::THREAD_NS, 1e9 * threads / all);
    let [slowest, fastest] =
        [each.iter().copied().fold(f64::INFINITY, f64::min), each.iter().copied().fold(0.0, f64::max)];
    observed.value(names::SLOWEST, slowest);
    observed.value(names::SHARE_MIN, slowest / all);
    observed.value(names::SHARE_MAX, fastest / all);
    observed.value(names::JAIN, jain(each.iter().copied()));
    // The last part of a window is incomplete.
    let complete_parts = observations.iter().map(|one| one.parts.len().saturating_sub(1)).min().unwrap_or(0);
    let parts =
        (0..complete_parts).map(|part| jain(observations.iter().map(|one| f64::from(one.parts[part]))));
    let parts: Vec<f64> = parts.filter(|jain| jain.is_finite()).collect();
    observed.value(names::JAIN_1MS, parts.iter().sum::<f64>() / parts.len() as f64);
    if observations.iter().all(|one| one.ordered) {
        let added: u64 = observations.iter().map(|one| one.added).sum();
        let runs: u64 = observations.iter().map(|one| one.runs).sum();
        observed.value(names::RUN_LENGTH, added as f64 / runs as f64);
    }
    observed.value(names::OVERLAP, overlap(observations));
    let operations: u64 = observations.iter().map(|one| one.operations).sum();
    observed.count(names::OPERATIONS, operations);
    let per_op = |count: u64| count as f64 / operations as f64;
    let cpu_ns: Option<u64> = observations.iter().map(|one| one.cpu_ns).sum();
    if let Some(cpu_ns) = cpu_ns {
        observed.value(names::CPU_NS, per_op(cpu_ns));
    }
    for (kind, name) in [names::VOLUNTARY, names::INVOLUNTARY].into_iter().enumerate() {
        let switches: Option<u64> =
            observations.iter().map(|one| one.switches.map(|switches| u64::from(switches[kind]))).sum();
        if let Some(switches) = switches {
            observed.value(name, per_op(switches));
        }
    }
}

/// Records acquisition times from the phase that times them.
pub fn acquired(observed: &mut Observed, observations: &[ContendObservation], rate: TickRate) {
    let mut all = Histogram::new();
    for tally in observations.iter().filter_map(|one| one.acquire.as_ref()) {
        all.add(&tally.histogram(rate));
    }
    observed.histogram(names::ACQUIRE, all);
}

/// Compares memory with the additions that the threads counted, over both phases of a pass.
pub fn verify(observed: &mut Observed, config: &ContendConfig, phases: &[(&[ContendObservation], Memory)]) {
    let made: u64 = phases.iter().flat_map(|(observations, _)| *observations).map(|one| one.added).sum();
    let found: u64 = phases.iter().map(|(_, memory)| memory.total).sum();
    observed.count(names::EXPECTED, made);
    observed.count(names::FINAL, found);
    let exact = phases.iter().all(|(observations, memory)| {
        memory.sound && memory.total == observations.iter().map(|one| one.added).sum::<u64>()
    });
    if !exact {
        observed.flags.set(if config.method.kind == MethodKind::Racy {
            Flag::LostUpdates
        } else {
            Flag::Invalid
        });
    }
}

/// Fairness index of Jain, Chiu and Hawe (1984): 1 for equal shares, 1/n if one thread has all.
fn jain(each: impl Iterator<Item = f64> + Clone) -> f64 {
    let (sum, squares, threads) = each.fold((0.0, 0.0, 0.0), |(sum, squares, threads), rate| {
        (sum + rate, squares + rate * rate, threads + 1.0)
    });
    sum * sum / (threads * squares)
}

fn overlap(observations: &[ContendObservation]) -> f64 {
    let begins = observations.iter().map(|one| one.window[0]);
    let ends = observations.iter().map(|one| one.window[1]);
    let span = |from: Option<u64>, to: Option<u64>| match (from, to) {
        (Some(from), Some(to)) => to.saturating_sub(from) as f64,
        _ => 0.0,
    };
    span(begins.clone().max(), ends.clone().min()) / span(begins.min(), ends.max())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::catalogue::method_by_id;

    fn observation(operations: u64, window: [u64; 2], parts: &[u32]) -> ContendObservation {
        let (added, runs, parts) = (operations, operations / 2, parts.to_vec());
        ContendObservation {
            added,
            runs,
            ordered: true,
            operations,
            window,
            parts,
            ..ContendObservation::default()
        }
    }

    #[test]
    fn both_times_fairness_and_overlap_follow_from_the_counts() {
        let mut observed = Observed::default();
        let both = [
            observation(3_000, [0, 1_000_000], &[3, 0, 9]),
            observation(1_000, [100_000, 1_100_000], &[1, 4, 9]),
        ];
        rates(&mut observed, &both, TickRate { hz: 1e9 });
        for (name, value) in [
            (names::WALL_NS, 250.0),
            (names::THREAD_NS, 500.0),
            (names::SHARE_MIN, 0.25),
            (names::JAIN, 0.8),
            (names::JAIN_1MS, (0.8 + 0.5) / 2.0),
            (names::OVERLAP, 0.9 / 1.1),
            (names::RUN_LENGTH, 2.0),
        ] {
            let found = observed.numbers.values[name];
            assert!((found / value - 1.0).abs() < 1e-9, "{name}: {found}");
        }
        assert!(!observed.numbers.values.contains_key(names::CPU_NS), "unknown is left out");
    }

    #[test]
    fn wrong_totals_are_invalid_or_lost_updates_of_racy() {
        let flags = |method: &str, total: u64, sound: bool| {
            let config = ContendConfig {
                method: method_by_id(method).unwrap(),
                sections_ns: [0.0; 2],
                read_share: 0.0,
            };
            let mut observed = Observed::default();
            let threads = [observation(7, [0, 10], &[]), observation(5, [0, 10], &[])];
            verify(&mut observed, &config, &[(&threads, Memory { total, sound })]);
            (observed.flags, observed.numbers.counts[names::EXPECTED], observed.numbers.counts[names::FINAL])
        };
        use coretalk_model::Flags;
        assert_eq!(flags("mcs", 12, true), (Flags::NONE, 12, 12));
        assert_eq!(flags("mcs", 11, true).0, Flags::NONE.with(Flag::Invalid));
        assert_eq!(flags("rwlock", 12, false).0, Flags::NONE.with(Flag::Invalid));
        assert_eq!(flags("racy", 9, true).0, Flags::NONE.with(Flag::LostUpdates));
    }
}
