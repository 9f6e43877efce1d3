//! Prints the time per simulated sample, for batches and for single events, with one thread and with all.

use coretalk_measure::{
    Assignment, HomeChoice, Kernel, Machine, Round, Sampling, Scenario, SimMachine, SpanOrder, Spin, Stop,
    Walk, WorkerSettings,
};
use coretalk_model::CpuId;
use std::time::Instant;

static CAS: Kernel = Kernel::ping_pong(("cas", "cas"), &[], (1.0, Spin::Eager), 1);

fn main() {
    for name in Scenario::names() {
        for threads in [1, std::thread::available_parallelism().map_or(1, |n| n.get())] {
            let batches = ns_per_sample(name, threads, Sampling::Batches { visits: 8, round_trips: 16 });
            let events = ns_per_sample(name, threads, Sampling::Events { round_trips: 20_000 });
            println!("{name:16} {threads:2} threads: {batches:6.2} ns per batch, {events:6.2} ns per event");
        }
    }
}

fn ns_per_sample(name: &str, threads: usize, sampling: Sampling) -> f64 {
    let Some(scenario) = Scenario::builtin(name) else { return f64::NAN };
    let mut machine = SimMachine::open(scenario, 1).with_threads(threads);
    let cpus: Vec<CpuId> = machine.topology().cpus().iter().collect();
    if machine.engage(&WorkerSettings { cpus: cpus.clone(), ..WorkerSettings::default() }).is_err() {
        return f64::NAN;
    }
    let order = SpanOrder {
        kernel: &CAS,
        home: HomeChoice::OfRole(0),
        lines: 32,
        walk: Walk::FreshRuns,
        warm_up: 200,
        sampling,
    };
    let orders: std::sync::Arc<[SpanOrder]> = vec![order.clone()].into();
    let (mut samples, mut key) = (0, 0);
    let begin = Instant::now();
    while samples < 4_000_000 {
        let assignments: Vec<Assignment> = cpus
            .chunks_exact(2)
            .map(|pair| {
                key += 1;
                Assignment { placement: [pair[0], pair[1]], orders: orders.clone(), key }
            })
            .collect();
        samples += order.samples() * assignments.len() as u64;
        if machine.perform(&[Round { assignments }], &Stop::new()).is_err() {
            return f64::NAN;
        }
    }
    begin.elapsed().as_secs_f64() * 1e9 / samples as f64
}
