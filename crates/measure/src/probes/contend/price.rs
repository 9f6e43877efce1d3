//! The cost of a trial on a simulated machine.

use super::trials::{ContendConfig, STAMPED_SHARE};
use crate::counters::catalogue::MethodKind;
use crate::pricing::SimContext;
use crate::series::TrialOrder;
use crate::sim::contend::{Contended, Sections, Turn, run};
use crate::tick_histogram::TickHistogram;
use coretalk_model::TrialFailure;
use coretalk_model::contend::names;
use coretalk_model::series::Observed;
use coretalk_model::{Flag, Histogram};
use std::collections::BTreeSet;

/// Operations simulated one by one. The rest of the pass is extrapolated.
const SIMULATED: u64 = 4_000;

/// The sections of a method. Without mutual exclusion all work is parallel.
pub fn sections(config: &ContendConfig) -> Sections {
    let [critical_ns, parallel_ns] = config.sections_ns;
    // Readers exclude no reader, so their critical section is parallel.
    let shared_ns = critical_ns * config.read_share;
    let [critical_ns, parallel_ns] = [critical_ns - shared_ns, parallel_ns + shared_ns];
    match config.method.locks {
        true => Sections { critical_ns, parallel_ns },
        false => Sections { critical_ns: 0.0, parallel_ns: critical_ns + parallel_ns },
    }
}

pub fn simulate(sim: &mut dyn SimContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
    let mut observed = Observed::default();
    let config = ContendConfig::from_spec(order.spec)?;
    let (cost, sections) = (config.method.cost, sections(&config));
    let span_ns = order.span.ns();
    let plain = run(sim, cost, sections, span_ns, SIMULATED, &mut |_, _| ());
    let mut tally = TickHistogram::new();
    let clock_ns = sim.clock_ns();
    run(sim, cost, sections, span_ns * STAMPED_SHARE, SIMULATED, &mut |sim, waited_ns| {
        let ticks = sim.ticks(waited_ns + clock_ns);
        tally.count(ticks);
    });
    let held_ns = sim.pass(span_ns.max(plain.elapsed_ns));
    let whole_ns = span_ns.max(plain.elapsed_ns) + held_ns;
    // Without contention, or if additions are lost, the order is undefined.
    let ordered = cost.turn != Turn::Apart && config.method.kind != MethodKind::Racy;
    record(
        &mut observed,
        &plain,
        ordered,
        whole_ns / plain.elapsed_ns * (1.0 - held_ns / whole_ns),
        whole_ns,
    );
    let mut acquire = Histogram::new();
    acquire.add(&tally.histogram(sim.rate()));
    observed.histogram(names::ACQUIRE, acquire);
    for (role, (&busy_ns, &sleeps)) in plain.busy_ns.iter().zip(&plain.sleeps).enumerate() {
        sim.spend(role, busy_ns, sleeps as u32);
    }
    let made = (observed.numbers.counts[names::OPERATIONS] as f64 * (1.0 - config.read_share)).round() as u64;
    let lost = match config.method.kind {
        // A thread that reads while another adds gets the value that is about to be replaced. One of the two additions
        // is then lost. Of threads that read the same value, only one store counts.
        MethodKind::Racy if plain.operations.len() > 1 => {
            let threads = plain.operations.len() as u64;
            (made * plain.crossed / plain.total().max(1)).min(made * (threads - 1) / threads)
        }
        _ => 0,
    };
    observed.count(names::EXPECTED, made);
    observed.count(names::FINAL, made - lost);
    if lost > 0 {
        observed.flags.set(Flag::LostUpdates);
    }
    let cpus = sim.placement();
    if cpus.iter().collect::<BTreeSet<_>>().len() < cpus.len() && config.spins() {
        observed.flags.set(Flag::SharedSpin);
    }
    Ok(observed)
}

fn record(observed: &mut Observed, plain: &Contended, ordered: bool, scale: f64, whole_ns: f64) {
    let (made, threads) = (plain.total() as f64, plain.operations.len() as f64);
    let per_s = made * scale / whole_ns * 1e9;
    observed.value(names::RATE, per_s);
    observed.value(names::WALL_NS, 1e9 / per_s);
    observed.value(names::THREAD_NS, threads * 1e9 / per_s);
    let shares = plain.operations.iter().map(|&count| count as f64 / made);
    let [least, most] = [shares.clone().fold(f64::INFINITY, f64::min), shares.clone().fold(0.0, f64::max)];
    observed.value(names::SHARE_MIN, least);
    observed.value(names::SHARE_MAX, most);
    observed.value(names::SLOWEST, least * per_s);
    observed.value(names::JAIN, 1.0 / (threads * shares.map(|share| share * share).sum::<f64>()));
    if ordered {
        observed.value(names::RUN_LENGTH, made / plain.runs.max(1) as f64);
    }
    observed.value(names::OVERLAP, 1.0);
    observed.value(names::CPU_NS, plain.busy_ns.iter().sum::<f64>() / made);
    observed.value(names::VOLUNTARY, plain.sleeps.iter().sum::<u64>() as f64 / made);
    observed.count(names::OPERATIONS, (made * scale) as u64);
}
