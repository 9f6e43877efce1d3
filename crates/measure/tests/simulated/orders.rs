//! Orders and ratios of simulated queues and locks, which must hold for any way of pricing a pass.

use crate::trials::{all_cpus, open, options, pass, settings_of, trials};
use coretalk_measure::probes;
use coretalk_measure::series::SeriesRequest;
use coretalk_measure::{Machine, SimMachine};
use coretalk_model::CpuId;
use coretalk_model::contend::names as contend;
use coretalk_model::queue::names;
use coretalk_model::series::{Observed, Parameters};

/// Cells of a table whose expected values differ by more than this factor must have the expected order.
const DISTINCT: f64 = 1.2;

/// Compares a table of found values with the expected ones: each within `factor`, and all in the expected order.
fn assert_table<const N: usize>(rows: &[(String, [f64; N])], found: &[[f64; N]], factor: f64) {
    let mut wrong = Vec::new();
    for ((label, expected), found) in rows.iter().zip(found) {
        println!("{label}: {found:.4?}, expected {expected:?}");
        let is_off = |(found, expected): (&f64, &f64)| (found / expected).ln().abs() > factor.ln();
        if found.iter().zip(expected).any(is_off) {
            wrong.push(format!("{label}: {found:.4?}, expected {expected:?} within {factor}"));
        }
    }
    let cells = |values: Vec<[f64; N]>| values.into_iter().flatten().collect::<Vec<_>>();
    let (expected, found) = (cells(rows.iter().map(|row| row.1).collect()), cells(found.to_vec()));
    for (lower, low) in expected.iter().enumerate() {
        for (higher, _) in expected.iter().enumerate().filter(|(_, high)| **high > DISTINCT * low) {
            if found[higher] <= found[lower] {
                let name = |cell: usize| format!("{} [{}]", rows[cell / N].0, cell % N);
                wrong.push(format!("{} is not above {}", name(higher), name(lower)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// One CPU, two CPUs of an L3, and two of different L3.
const PAIRS: [[CpuId; 2]; 3] = [[CpuId(0), CpuId(0)], [CpuId(0), CpuId(1)], [CpuId(0), CpuId(8)]];

/// A pass of `queue` of this many milliseconds on each pair.
fn queue_passes(
    machine: &mut SimMachine,
    options: &Parameters,
    pairs: &[[CpuId; 2]],
    ms: u64,
) -> Vec<Observed> {
    let (cpus, options) = (all_cpus(machine), options.clone().with("pairs", "listed"));
    let request = SeriesRequest { topology: machine.topology(), cpus: &cpus, pairs, options: &options };
    let trials = probes::series_by_id("queue").unwrap().trials(&request).unwrap();
    trials.iter().map(|spec| pass(machine, spec, ms, 1)).collect()
}

#[test]
fn queues_have_their_order_at_every_capacity_and_relation() {
    let mut machine = open("chiplet-16");
    let rows = [
        ("semaphore-slim", "1", [0.149, 2.86, 0.816]),
        ("semaphore-slim", "10", [1.44, 7.65, 1.75]),
        ("semaphore-slim", "100", [10.9, 7.68, 1.74]),
        ("semaphore-slim", "1000", [31.3, 7.63, 1.75]),
        ("semaphore-slim", "10000", [38.6, 7.68, 1.75]),
        ("semaphore", "1", [0.449, 0.249, 0.249]),
        ("semaphore", "10", [4.07, 2.48, 2.78]),
        ("semaphore", "1000", [36.4, 30.2, 9.13]),
        ("semaphore-spin", "1", [0.119, 29.6, 8.88]),
        ("semaphore-spin", "1000", [29.8, 30.2, 9.12]),
        ("spsc", "1", [0.000167, 42.0, 10.1]),
        ("spsc", "10", [0.00167, 103.0, 29.5]),
        ("spsc", "1000", [0.167, 163.0, 64.7]),
        ("array-queue", "1", [0.000167, 31.5, 9.05]),
        ("array-queue", "1000", [0.167, 32.1, 9.28]),
        ("mutex", "1", [0.235, 19.6, 6.12]),
        ("mutex", "1000", [21.9, 19.9, 6.21]),
        ("pipe", "1", [0.367, 0.249, 0.249]),
        ("pipe", "1000", [1.89, 3.51, 2.77]),
    ];
    let found = rows.map(|(queue, capacity, _)| {
        let options = options("").with("queue", queue).with("capacity", capacity);
        let found = queue_passes(&mut machine, &options, &PAIRS, 20);
        std::array::from_fn(|pair| found[pair].numbers.values[names::RATE] / 1e6)
    });
    let named = rows.map(|(queue, capacity, expected)| (format!("{queue} {capacity}"), expected));
    assert_table(&named, &found, 1.3);
}

#[test]
fn several_ends_have_their_rates_shares_and_sleeps() {
    // Million messages/s on the first 8 CPUs of an L3, on 4 CPUs of two L3, and on 2 CPUs that several ends share.
    let sets = [[0, 1, 2, 3, 4, 5, 6, 7].as_slice(), &[0, 8, 1, 9], &[0, 1]];
    let mut machine = open("chiplet-16");
    let rows = [
        ("array-queue", "1000", [2, 1], [32.8, 11.7, 47.0]),
        ("array-queue", "1000", [1, 2], [32.3, 9.38, 22.8]),
        ("array-queue", "1000", [2, 2], [53.8, 11.7, 50.3]),
        ("array-queue", "1000", [4, 4], [54.8, 11.7, 66.1]),
        ("array-queue", "1", [2, 2], [13.9, 4.84, 27.8]),
        ("mutex", "1000", [2, 1], [17.1, 5.66, 17.5]),
        ("mutex", "1000", [4, 4], [18.3, 7.38, 31.2]),
        ("mutex", "1", [2, 2], [18.3, 6.47, 29.0]),
        ("crossbeam", "1000", [1, 4], [32.4, 7.84, 17.7]),
        ("crossbeam", "1000", [4, 4], [54.9, 11.7, 65.7]),
        ("pipe", "1000", [4, 1], [3.51, 1.74, 1.25]),
        ("pipe", "1000", [2, 2], [6.97, 5.7, 3.7]),
    ];
    let found = rows.map(|(queue, capacity, ends, _)| {
        let options = options("").with("queue", queue).with("capacity", capacity);
        let options = options.with("producers", ends[0] as f64).with("consumers", ends[1] as f64);
        sets.map(|cpus| {
            let cpus = cpus.iter().copied().map(CpuId).collect();
            let settings = settings_of(&machine, "queue", (cpus, &[]), options.clone(), 0.05, 1);
            let values = pass(&mut machine, &settings.trials[0], 20, 1).numbers.values;
            for name in names::FAIRNESS {
                let fairness = values.get(name).copied().unwrap_or(1.0);
                assert!((0.5..=1.0).contains(&fairness), "{queue} {ends:?}: {name} {fairness}");
            }
            values[names::RATE] / 1e6
        })
    });
    let named =
        rows.map(|(queue, capacity, ends, expected)| (format!("{queue} {capacity} {ends:?}"), expected));
    assert_table(&named, &found, 1.3);
}

#[test]
fn delays_are_flat_below_the_knee_rise_near_it_and_queues_fall_behind_beyond() {
    let mut machine = open("chiplet-16");
    // A side that sleeps before each message hides most of the queueing delay.
    for (queue, rise) in
        [("spsc", 1.2), ("array-queue", 1.2), ("semaphore", 1.0), ("semaphore-slim", 1.2), ("mutex", 1.2)]
    {
        for pair in &PAIRS[1..] {
            let options = options("capacity=1000").with("queue", queue);
            let most = queue_passes(&mut machine, &options, &[*pair], 20)[0].numbers.values[names::RATE];
            let mut at_share = |share: f64| {
                let options = options.clone().with("rate_per_s", share * most);
                let observed = queue_passes(&mut machine, &options, &[*pair], 20).remove(0);
                let corrected = observed.numbers.histograms.get(names::CORRECTED);
                let delay = |percentile| corrected.and_then(|all| all.percentile_ns(percentile));
                let kept = observed.numbers.counts[names::KEPT] == 1;
                (kept, [0.5, 0.99].map(|percentile| delay(percentile).unwrap_or(f64::INFINITY)))
            };
            let [low, half, near, beyond] = [0.2, 0.5, 0.97, 1.3].map(&mut at_share);
            println!("{queue} {pair:?} of {most:.0}: {low:?} {half:?} {near:?} {beyond:?}");
            assert!(low.0 && half.0 && !beyond.0, "{queue} {pair:?}: {low:?} {half:?} {beyond:?}");
            assert!(half.1[0] < 2.5 * low.1[0], "{queue} {pair:?}: {low:?} {half:?}");
            assert!(!near.0 || near.1[1] > rise * half.1[1], "{queue} {pair:?}: {half:?} {near:?}");
        }
    }
}

#[test]
fn spinning_roles_that_share_a_cpu_hand_over_once_in_a_quantum() {
    let mut machine = open("chiplet-16");
    // A quantum is 3 ms, so a queue passes its capacity once in 6 ms.
    for (capacity, per_s) in [("1", 1.0 / 6e-3), ("100", 100.0 / 6e-3), ("10000", 1e4 / 6e-3)] {
        let options = options("queue=spsc,array-queue").with("capacity", capacity);
        for observed in queue_passes(&mut machine, &options, &PAIRS[..1], 20) {
            let found = observed.numbers.values[names::RATE];
            assert!((found / per_s - 1.0).abs() < 0.02, "{capacity}: {found} for {per_s}");
            let switches = names::INVOLUNTARY.map(|name| observed.numbers.counts[name]);
            assert!(switches.iter().all(|count| (2..=4).contains(count)), "{capacity}: {switches:?}");
        }
    }
    // At a rate, a message that is due in the producer's quantum waits for the end of that quantum; one that is due in
    // the consumer's quantum waits for the ends of both.
    let options = options("queue=spsc capacity=1000").with("rate_per_s", 1e4);
    let observed = queue_passes(&mut machine, &options, &PAIRS[..1], 2_000).remove(0);
    let corrected = &observed.numbers.histograms[names::CORRECTED];
    let [median, tail] = [0.5, 0.99].map(|percentile| corrected.percentile_ns(percentile).unwrap() / 1e6);
    assert!((2.8..3.2).contains(&median) && (5.7..6.2).contains(&tail), "{median} and {tail} ms");
}

#[test]
fn locks_have_their_order_by_threads_and_relation() {
    let mut machine = open("epyc-2s-192");
    let rows = [
        ("fetch-add", [1.82, 4.65, 4.6, 1.83, 15.0, 14.4]),
        ("cas-loop", [2.61, 11.4, 11.3, 2.6, 43.4, 42.2]),
        ("tas", [2.58, 10.2, 10.0, 2.59, 37.9, 36.2]),
        ("ttas", [2.59, 9.53, 9.36, 2.58, 34.6, 33.5]),
        ("ticket", [2.58, 28.4, 28.0, 2.57, 122.0, 119.0]),
        ("mcs", [4.36, 51.0, 50.6, 4.38, 223.0, 217.0]),
        ("std-mutex", [4.41, 30.7, 30.4, 4.41, 128.0, 57.8]),
        ("parking-lot-mutex", [4.85, 10.9, 10.9, 4.84, 32.6, 32.8]),
        ("pthread-mutex", [5.44, 16.1, 14.6, 5.44, 9.88, 8.83]),
        ("per-thread", [0.278, 0.139, 0.0349, 0.279, 0.139, 0.0348]),
    ];
    // Nanoseconds per operation with 1, 2 and 8 threads, close to each other and far apart.
    let found = rows.map(|(method, _)| {
        let mut values = Vec::new();
        for arrange in ["compact-core", "scatter-l3"] {
            let options = options("threads=1,2,8").with("method", method).with("arrange", arrange);
            let options = options.with("critical_ns", 0.0).with("parallel_ns", 0.0);
            let all = trials(&machine, "contend", &options).into_iter();
            values.extend(all.map(|spec| pass(&mut machine, &spec, 20, 1).numbers.values[contend::WALL_NS]));
        }
        std::array::from_fn(|at| values[at])
    });
    assert_table(&rows.map(|(method, expected)| (method.to_owned(), expected)), &found, 1.3);
}
