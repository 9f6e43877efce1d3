//! Cost of the statistics that run once per cell or per batch: best of several rounds, in ns per call.
//! At 1,024 CPUs a cell is one of 523,776, and a pass summary one of four million.

use std::hint::black_box;
use std::time::Instant;

use coretalk_model::stats::{
    Analysis, Key, LineScratch, Pass, drift_interval, fixed_interval, median_in_place, passes_interval,
    summarize_lines,
};

fn main() {
    let key = Key::of(&[1]);
    let ticks: Vec<Vec<u32>> = (0..256)
        .map(|cell| (0..512).map(|i| (2000.0 * (1.0 + 0.08 * key.with(cell).normal(i))) as u32).collect())
        .collect();
    let mut scratch = LineScratch::default();
    let baseline = ns("sum of 64 batches", f64::NAN, |i| {
        black_box(ticks[i % 256][..64].iter().map(|&t| u64::from(t)).sum::<u64>());
    });
    for (lines, visits) in [(32, 1), (64, 1), (32, 2), (64, 3), (64, 8)] {
        ns(&format!("summarize {lines} lines x {visits}"), baseline, |i| {
            black_box(summarize_lines(&ticks[i % 256][..lines * visits], visits, &mut scratch));
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
    let timed: Vec<Pass> = passes[0]
        .iter()
        .enumerate()
        .map(|(i, &value)| Pass { at_s: i as f64 * 0.06, value, line_error: 0.2 })
        .collect();
    ns("drift_interval of 24", baseline, |_| {
        black_box(drift_interval(black_box(&timed)));
    });
    let thousand = |draw: fn(Key, u64) -> f64| {
        move |i: usize| {
            let key = Key::of(&[i as u64]);
            black_box((0..1000).map(|counter| draw(key, counter)).sum::<f64>());
        }
    };
    ns("1,000 uniform", baseline, thousand(Key::uniform));
    ns("1,000 normal", baseline, thousand(Key::normal));
    ns("1,000 exponential", baseline, thousand(Key::exponential));
}

/// Prints and returns the cost of one call; `baseline` is what the ratio refers to, NaN for none.
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
