//! Cost of the statistics that run once per cell or per batch, best of several rounds, in ns per call (1,024 CPUs have
//! 523,776 cells and four million pass summaries), and time and memory of inference for 256, 512 and 1,024 CPUs with
//! three planted levels.
//!
//! `cargo bench -p coretalk-model`

use coretalk_model::infer::{Observation, infer, repeatability};
use coretalk_model::stats::{
    Analysis, CellPass, Key, LineScratch, drift_interval, fixed_interval, median_in_place, passes_interval,
    summarize_lines,
};
use coretalk_model::{CpuId, Matrix};
use std::hint::black_box;
use std::time::Instant;

fn main() {
    statistics();
    inference();
}

fn statistics() {
    let key = Key::from_words(&[1]);
    let ticks: Vec<Vec<u32>> = (0..256)
        .map(|cell| (0..512).map(|i| (2000.0 * (1.0 + 0.08 * key.with(cell).normal(i))) as u32).collect())
        .collect();
    let (mut with_errors, mut without) = (LineScratch::default(), LineScratch::without_errors());
    let baseline = ns("sum of 64 batches", f64::NAN, |i| {
        black_box(ticks[i % 256][..64].iter().map(|&t| u64::from(t)).sum::<u64>());
    });
    for (lines, visits) in [(32, 1), (64, 1), (32, 2), (64, 3), (64, 8)] {
        ns(&format!("summarize {lines} lines x {visits}"), baseline, |i| {
            black_box(summarize_lines(&ticks[i % 256][..lines * visits], visits, &mut with_errors));
        });
    }
    for lines in [16, 32, 64] {
        ns(&format!("summarize {lines} lines x 1 without error"), baseline, |i| {
            black_box(summarize_lines(&ticks[i % 256][..lines], 1, &mut without));
        });
    }
    let passes: Vec<Vec<f64>> =
        (0..256).map(|cell| (0..24).map(|i| 22.0 + key.with(cell).normal(i)).collect()).collect();
    let mut work = [0.0; 24];
    ns("median of 24, in place", baseline, |i| {
        work.copy_from_slice(&passes[i % 256]);
        black_box(median_in_place(&mut work));
    });
    for n in [8, 24] {
        ns(&format!("passes_interval of {n}"), baseline, |i| {
            black_box(passes_interval(&passes[i % 256][..n], Analysis::at(n, 2), 1.0, 0.02));
        });
        ns(&format!("fixed_interval of {n}"), baseline, |i| {
            black_box(fixed_interval(&passes[i % 256][..n]));
        });
    }
    let timed: Vec<CellPass> = passes[0]
        .iter()
        .enumerate()
        .map(|(i, &value)| CellPass { at_s: i as f64 * 0.06, value, line_error: 0.2 })
        .collect();
    ns("drift_interval of 24", baseline, |_| {
        black_box(drift_interval(black_box(&timed)));
    });
    let thousand = |draw: fn(Key, u64) -> f64| {
        move |i: usize| {
            let key = Key::from_words(&[i as u64]);
            black_box((0..1000).map(|counter| draw(key, counter)).sum::<f64>());
        }
    };
    ns("1,000 uniform", baseline, thousand(Key::uniform));
    ns("1,000 normal", baseline, thousand(Key::normal));
    ns("1,000 exponential", baseline, thousand(Key::exponential));
}

/// Prints and returns the cost of one call; `baseline` is the denominator of the printed ratio, NaN for none.
fn ns(name: &str, baseline: f64, mut call: impl FnMut(usize)) -> f64 {
    const CALLS: usize = 2_000;
    let round = |_| {
        let start = Instant::now();
        (0..CALLS).for_each(&mut call);
        start.elapsed().as_secs_f64() * 1e9 / CALLS as f64
    };
    let best = (0..20).map(round).fold(f64::INFINITY, f64::min);
    match baseline.is_nan() {
        true => println!("{name:28} {best:9.1} ns"),
        false => println!("{name:28} {best:9.1} ns  {:7.1} x", best / baseline),
    }
    best
}

/// Repetitions of the repeatability check on each of two threads.
const REPETITIONS: u64 = 10;

fn inference() {
    for cpus in [256u32, 512, 1024] {
        let observed = planted(cpus);
        let began = Instant::now();
        let structure = infer(&observed).expect("a complete matrix is accepted");
        let once = began.elapsed();
        let began = Instant::now();
        let same = std::thread::scope(|scope| {
            let half = |thread: u64| {
                let (observed, structure) = (&observed, &structure);
                scope.spawn(move || {
                    let keys = (0..REPETITIONS).map(|trial| Key::from_words(&[thread, trial]));
                    let outcomes = repeatability(observed, structure, keys).unwrap_or_default();
                    outcomes.iter().filter(|levels| levels.iter().all(|&same| same)).count()
                })
            };
            let threads = [half(0), half(1)];
            threads.into_iter().map(|thread| thread.join().unwrap_or(0)).sum::<usize>()
        });
        let groups: Vec<usize> = structure.levels.iter().map(|level| level.groups.len()).collect();
        println!(
            "{cpus:5} CPUs: {:6.1} ms, groups {groups:?}, {} suspects; {same} of {} repetitions the same in {:.2} s; \
             peak memory {} MB",
            once.as_secs_f64() * 1e3,
            structure.suspects.len(),
            2 * REPETITIONS,
            began.elapsed().as_secs_f64(),
            peak_mb().map_or("?".into(), |mb| mb.to_string()),
        );
    }
}

/// Clusters of 8 CPUs, dies of 4 clusters, sockets of 8 dies, numbered at random, with 5 % noise and intervals of ±2 %.
fn planted(cpus: u32) -> Matrix<Option<Observation>> {
    let mut position: Vec<u32> = (0..cpus).collect();
    Key::from_words(&[1]).shuffle(&mut position);
    Matrix::symmetric((0..cpus).map(CpuId).collect(), |row, column| {
        let (a, b) = (position[row], position[column]);
        let ns = [(8, 20.0), (32, 60.0), (256, 120.0)].iter().find(|(size, _)| a / size == b / size);
        let noise = 1.0 + 0.05 * Key::from_words(&[2]).normal((row * cpus as usize + column) as u64);
        Some(Observation { value: noise * ns.map_or(300.0, |level| level.1), half_width: 0.02 })
    })
}

fn peak_mb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}
