//! How long inference takes and how much memory it needs, for 256, 512 and 1,024 CPUs with three planted levels:
//!
//! `cargo bench -p coretalk-model --bench infer`

use coretalk_model::infer::{Observation, infer, repeatability};
use coretalk_model::stats::Key;
use coretalk_model::{CpuId, Matrix};
use std::time::Instant;

/// Repetitions of the repeatability check on each of two threads.
const REPETITIONS: u64 = 10;

fn main() {
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
                    (0..REPETITIONS)
                        .filter(|&trial| {
                            repeatability(observed, structure, Key::of(&[thread, trial]))
                                .is_ok_and(|same| same.iter().all(|&same| same))
                        })
                        .count()
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

/// Cores of 8 CPUs, dies of 4 clusters, sockets of 8 dies, numbered at random, with 5 % noise and intervals of 2 %.
fn planted(cpus: u32) -> Matrix<Option<Observation>> {
    let mut position: Vec<u32> = (0..cpus).collect();
    Key::of(&[1]).shuffle(&mut position);
    Matrix::symmetric((0..cpus).map(CpuId).collect(), |row, column| {
        let (a, b) = (position[row], position[column]);
        let ns = [(8, 20.0), (32, 60.0), (256, 120.0)].iter().find(|(size, _)| a / size == b / size);
        let noise = 1.0 + 0.05 * Key::of(&[2]).normal((row * cpus as usize + column) as u64);
        Some(Observation { value: noise * ns.map_or(300.0, |level| level.1), half_width: 0.02 })
    })
}

/// Largest resident size so far, where the system says.
fn peak_mb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}
