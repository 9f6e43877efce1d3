//! What a trial costs on a simulated machine.

use super::trials::Config;
use crate::counters::catalogue::MethodKind;
use crate::pricing::Pricing;
use crate::series::TrialOrder;
use crate::sim::contend::{ContendCost, Contended, Sections, Turn, run};
use crate::tally::Tally;
use coretalk_model::TrialFailure;
use coretalk_model::contend::names;
use coretalk_model::series::Observed;
use coretalk_model::{Flag, Histogram};
use std::collections::BTreeSet;

/// Operations of a pass that are simulated one by one; what follows is more of the same.
const SIMULATED: u64 = 4_000;
/// Of a pass, the share that times how long it takes to get in.
const STAMPED_SHARE: f64 = 0.25;

/// What one operation of a method does, in events of the machine.
///
/// Beside each stands what was measured on two CPUs of an AMD EPYC guest (3.7 GHz, a hop of 27.6 ns, nothing else running),
/// without sections: nanoseconds an operation of a thread alone, with two threads, and operations of a thread in a row
/// (docs/evidence.md, "Contention"). A hop is a read and a write of a line, so that taking a line at once is less than one.
/// What more than two threads do was not seen on hardware: it follows from the same numbers.
pub fn cost(method: MethodKind) -> ContendCost {
    // 1.95, 10.4; runs of 4.8: the owner goes on while another's request is on its way.
    let line = ContendCost {
        transfers: 0.6,
        disturbed: 0.0,
        alone_cycles: 7.2,
        turn: Turn::Nearest(5),
        looks_ns: f64::INFINITY,
        release_calls: 0.0,
        keeps_out: false,
    };
    // Of tas. 2.77, 23.5; runs of 5.2. Who waits takes the line for every attempt.
    let spin = ContendCost { transfers: 0.7, disturbed: 0.23, alone_cycles: 10.2, keeps_out: true, ..line };
    // Of std-mutex. 4.8, 71; runs of 3.9. Who waits reads the word, so that the owner has to fetch it back.
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
        // 2.8, 26; runs of 2.2. Attempts that fail take the line as well.
        MethodKind::CasLoop => {
            ContendCost { transfers: 0.75, alone_cycles: 10.3, turn: Turn::Nearest(2), ..line }
        }
        // 2.9, 19.7; runs of 10.
        MethodKind::CasBackoff => {
            ContendCost { transfers: 2.5, alone_cycles: 10.7, turn: Turn::Nearest(10), ..line }
        }
        // 5.2, 24.9; runs of 9.1. Who waits backs off, and reads seldom.
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
        // 5.9, 37; runs of 15.5, and one sleep in 200,000 operations: the word has changed by the time the kernel looks.
        MethodKind::PthreadMutex => ContendCost {
            disturbed: 0.38,
            looks_ns: 500.0,
            alone_cycles: 21.5,
            turn: Turn::Nearest(15),
            ..sleep
        },
        MethodKind::Tas => spin,
        // 2.8, 22; runs of 5.1. Read, then exchanged.
        MethodKind::Ttas => ContendCost { transfers: 1.0, disturbed: 0.12, ..spin },
        // 2.8, 65; runs of 1. Both words lie on one line.
        MethodKind::Ticket => ContendCost { transfers: 1.1, disturbed: 0.0, turn: Turn::Arrival, ..spin },
        // 4.7, 120; runs of 1. The end of the queue, and the node of the one before.
        MethodKind::Mcs => {
            ContendCost { transfers: 2.0, disturbed: 0.0, alone_cycles: 17.3, turn: Turn::Arrival, ..spin }
        }
        // 4.4, 29.5; runs of 3.4. 12 hints of some 10 ns and four yields of some 100 come before a sleep.
        MethodKind::FlagWait => ContendCost {
            transfers: 1.1,
            disturbed: 0.0,
            alone_cycles: 16.1,
            turn: Turn::Nearest(3),
            looks_ns: 500.0,
            ..sleep
        },
        // 241, 234; runs of 1.1, and no sleep: the kernel is called when the flag is free again.
        MethodKind::FlagWaitAlways => ContendCost { looks_ns: 500.0, release_calls: 1.0, ..sleep },
        // 8.3, 52; runs of 1.7.
        MethodKind::Wide => {
            ContendCost { transfers: 1.3, alone_cycles: 30.5, turn: Turn::Nearest(2), ..line }
        }
        // 0.29, 0.31. Not a line to wait for: it travels with nothing else, and its additions overlap.
        MethodKind::PerThread => ContendCost { transfers: 0.0, alone_cycles: 1.1, turn: Turn::Apart, ..line },
        // 0.27, 1.4. A store that has been waiting for its line overwrites what was stored meanwhile.
        MethodKind::Racy => {
            ContendCost { transfers: 0.5, alone_cycles: 1.0, turn: Turn::Nearest(32), ..line }
        }
    }
}

/// The sections as a method has them: one that keeps nobody out does all of its work beside the others.
pub fn sections(config: &Config) -> Sections {
    let [critical_ns, parallel_ns] = config.sections_ns;
    // Readers keep no reader out: what they do inside is done beside each other.
    let shared_ns = critical_ns * config.read_share;
    let [critical_ns, parallel_ns] = [critical_ns - shared_ns, parallel_ns + shared_ns];
    match config.method.locks {
        true => Sections { critical_ns, parallel_ns },
        false => Sections { critical_ns: 0.0, parallel_ns: critical_ns + parallel_ns },
    }
}

/// Prices one pass.
pub fn simulate(stage: &mut dyn Pricing<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
    let mut observed = Observed::default();
    let config = Config::of(order.spec)?;
    let (cost, sections) = (cost(config.method.kind), sections(&config));
    let span_ns = order.span.ns();
    let plain = run(stage, cost, sections, span_ns, SIMULATED, &mut |_, _| ());
    let mut tally = Tally::new();
    let clock_ns = stage.clock_ns();
    run(stage, cost, sections, span_ns * STAMPED_SHARE, SIMULATED, &mut |stage, waited_ns| {
        let ticks = stage.ticks(waited_ns + clock_ns);
        tally.count(ticks);
    });
    let held_ns = stage.pass(span_ns.max(plain.elapsed_ns));
    let whole_ns = span_ns.max(plain.elapsed_ns) + held_ns;
    // Where nobody waits for anybody, and where additions are lost, there is no order to speak of.
    let ordered = cost.turn != Turn::Apart && config.method.kind != MethodKind::Racy;
    note(&mut observed, &plain, ordered, whole_ns / plain.elapsed_ns * (1.0 - held_ns / whole_ns), whole_ns);
    let mut acquire = Histogram::new();
    acquire.add(&tally.histogram(stage.rate()));
    observed.histogram(names::ACQUIRE, acquire);
    for (role, (&busy_ns, &sleeps)) in plain.busy_ns.iter().zip(&plain.sleeps).enumerate() {
        stage.spend(role, busy_ns, sleeps as u32);
    }
    // Those that only read add nothing.
    let made = (observed.numbers.counts[names::OPERATIONS] as f64 * (1.0 - config.read_share)).round() as u64;
    let lost = match config.method.kind {
        // Who wants the line while another adds reads what that one is about to replace, so that one of the two additions
        // is lost; of threads that read the same value all but one store in vain.
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

/// What follows from the simulated operations, `times` of which fill the pass.
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
