//! The cost of a trial on a simulated machine.

use super::trials::{Config, STAMPED_SHARE};
use crate::counters::catalogue::MethodKind;
use crate::pricing::SimContext;
use crate::series::TrialOrder;
use crate::sim::contend::{ContendCost, Contended, Sections, Turn, run};
use crate::tick_histogram::TickHistogram;
use coretalk_model::TrialFailure;
use coretalk_model::contend::names;
use coretalk_model::series::Observed;
use coretalk_model::{Flag, Histogram};
use std::collections::BTreeSet;

/// Operations simulated one by one; the rest of the pass is extrapolated.
const SIMULATED: u64 = 4_000;

/// The cost of one operation of a method in machine events.
///
/// Comments give the measurements on two CPUs of an AMD EPYC guest (3.7 GHz, a hop of 27.6 ns, nothing else running),
/// without sections: ns per operation with one thread, with two threads, and the length of runs of one thread
/// (docs/evidence.md, "Contention"). A hop is a read and a write of a line, so taking a line at once costs less than
/// one. The behaviour of more than two threads was not measured and is derived from the same numbers.
pub fn cost(method: MethodKind) -> ContendCost {
    // 1.95, 10.4; runs of 4.8: the owner continues while another's request is on its way.
    let line = ContendCost {
        transfers: 0.6,
        disturbed: 0.0,
        alone_cycles: 7.2,
        turn: Turn::Nearest(5),
        looks_ns: f64::INFINITY,
        release_calls: 0.0,
        keeps_out: false,
    };
    // tas: 2.77, 23.5; runs of 5.2. A waiting thread takes the line for every attempt.
    let spin = ContendCost { transfers: 0.7, disturbed: 0.23, alone_cycles: 10.2, keeps_out: true, ..line };
    // std-mutex: 4.8, 71; runs of 3.9. A waiting thread reads the word, so that the owner has to fetch it back.
    let sleep = ContendCost {
        transfers: 1.5,
        disturbed: 1.0,
        alone_cycles: 17.5,
        turn: Turn::Nearest(4),
        looks_ns: 1_000.0,
        ..spin
    };
    match method {
        MethodKind::FetchAdd => line,
        // 2.8, 26; runs of 2.2. Failed attempts take the line as well.
        MethodKind::CasLoop => {
            ContendCost { transfers: 0.75, alone_cycles: 10.3, turn: Turn::Nearest(2), ..line }
        }
        // 2.9, 19.7; runs of 10.
        MethodKind::CasBackoff => {
            ContendCost { transfers: 2.5, alone_cycles: 10.7, turn: Turn::Nearest(10), ..line }
        }
        // 5.2, 24.9; runs of 9.1. A waiting thread backs off and reads rarely.
        MethodKind::ParkingLotMutex => ContendCost {
            disturbed: 0.1,
            looks_ns: 1_500.0,
            alone_cycles: 19.2,
            turn: Turn::Nearest(9),
            ..sleep
        },
        // 4.5, 68; runs of 4.2.
        MethodKind::ReadersWriter => ContendCost { disturbed: 0.9, alone_cycles: 16.5, ..sleep },
        MethodKind::StdMutex => sleep,
        // 5.9, 37; runs of 15.5, and one sleep in 200,000 operations: the word changes before the kernel checks it.
        MethodKind::PthreadMutex => ContendCost {
            disturbed: 0.38,
            looks_ns: 500.0,
            alone_cycles: 21.5,
            turn: Turn::Nearest(15),
            ..sleep
        },
        MethodKind::Tas => spin,
        // 2.8, 22; runs of 5.1. A read, then an exchange.
        MethodKind::Ttas => ContendCost { transfers: 1.0, disturbed: 0.12, ..spin },
        // 2.8, 65; runs of 1. Both words are on one line.
        MethodKind::Ticket => ContendCost { transfers: 1.1, disturbed: 0.0, turn: Turn::Arrival, ..spin },
        // 4.7, 120; runs of 1. Accesses the tail of the queue and the node of the predecessor.
        MethodKind::Mcs => {
            ContendCost { transfers: 2.0, disturbed: 0.0, alone_cycles: 17.3, turn: Turn::Arrival, ..spin }
        }
        // 4.4, 29.5; runs of 3.4. 12 hints of about 10 ns and four yields of about 100 ns precede a sleep.
        MethodKind::FlagWait => ContendCost {
            transfers: 1.1,
            disturbed: 0.0,
            alone_cycles: 16.1,
            turn: Turn::Nearest(3),
            looks_ns: 500.0,
            ..sleep
        },
        // 241, 234; runs of 1.1, and no sleep: the flag is free again by the time the kernel checks it.
        MethodKind::FlagWaitAlways => ContendCost { looks_ns: 500.0, release_calls: 1.0, ..sleep },
        // 8.3, 52; runs of 1.7.
        MethodKind::Wide => {
            ContendCost { transfers: 1.3, alone_cycles: 30.5, turn: Turn::Nearest(2), ..line }
        }
        // 0.29, 0.31. No shared line: independent additions overlap.
        MethodKind::PerThread => ContendCost { transfers: 0.0, alone_cycles: 1.1, turn: Turn::Apart, ..line },
        // 0.27, 1.4. A store that has been waiting for its line overwrites what was stored meanwhile.
        MethodKind::Racy => {
            ContendCost { transfers: 0.5, alone_cycles: 1.0, turn: Turn::Nearest(32), ..line }
        }
    }
}

/// The sections of a method: without mutual exclusion all work is parallel.
pub fn sections(config: &Config) -> Sections {
    let [critical_ns, parallel_ns] = config.sections_ns;
    // Readers exclude no reader, so their critical section is parallel.
    let shared_ns = critical_ns * config.read_share;
    let [critical_ns, parallel_ns] = [critical_ns - shared_ns, parallel_ns + shared_ns];
    match config.method.locks {
        true => Sections { critical_ns, parallel_ns },
        false => Sections { critical_ns: 0.0, parallel_ns: critical_ns + parallel_ns },
    }
}

pub fn simulate(stage: &mut dyn SimContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
    let mut observed = Observed::default();
    let config = Config::of(order.spec)?;
    let (cost, sections) = (cost(config.method.kind), sections(&config));
    let span_ns = order.span.ns();
    let plain = run(stage, cost, sections, span_ns, SIMULATED, &mut |_, _| ());
    let mut tally = TickHistogram::new();
    let clock_ns = stage.clock_ns();
    run(stage, cost, sections, span_ns * STAMPED_SHARE, SIMULATED, &mut |stage, waited_ns| {
        let ticks = stage.ticks(waited_ns + clock_ns);
        tally.count(ticks);
    });
    let held_ns = stage.pass(span_ns.max(plain.elapsed_ns));
    let whole_ns = span_ns.max(plain.elapsed_ns) + held_ns;
    // Without contention, or with lost additions, there is no defined order.
    let ordered = cost.turn != Turn::Apart && config.method.kind != MethodKind::Racy;
    note(&mut observed, &plain, ordered, whole_ns / plain.elapsed_ns * (1.0 - held_ns / whole_ns), whole_ns);
    let mut acquire = Histogram::new();
    acquire.add(&tally.histogram(stage.rate()));
    observed.histogram(names::ACQUIRE, acquire);
    for (role, (&busy_ns, &sleeps)) in plain.busy_ns.iter().zip(&plain.sleeps).enumerate() {
        stage.spend(role, busy_ns, sleeps as u32);
    }
    let made = (observed.numbers.counts[names::OPERATIONS] as f64 * (1.0 - config.read_share)).round() as u64;
    let lost = match config.method.kind {
        // A thread that wants the line while another adds reads the value that is about to be replaced, so one of the
        // two additions is lost; of threads that read the same value all but one store in vain.
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
    let cpus = stage.placement();
    if cpus.iter().collect::<BTreeSet<_>>().len() < cpus.len() && config.spins() {
        observed.flags.set(Flag::SharedSpin);
    }
    Ok(observed)
}

fn note(observed: &mut Observed, plain: &Contended, ordered: bool, times: f64, whole_ns: f64) {
    let (made, threads) = (plain.total() as f64, plain.operations.len() as f64);
    let per_s = made * times / whole_ns * 1e9;
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
    observed.count(names::OPERATIONS, (made * times) as u64);
}
