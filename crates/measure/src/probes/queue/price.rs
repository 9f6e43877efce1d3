//! The cost of a trial on a simulated machine.

use super::crowd::Crowd;
use super::trials::QueueConfig;
use crate::pricing::{Costs, QUANTUM_NS, SimContext};
use crate::probes::queue;
use crate::queues::catalogue::Batches;
use crate::queues::limits::Delays;
use crate::queues::payload::Payload;
use crate::series::{TrialOrder, per_pass};
use crate::sim::slim;
use crate::sim::stream::{Flow, Passed, Schedule, Timed, Waiting, run};
use crate::wait::WaitMode;
use coretalk_model::Flag;
use coretalk_model::TrialFailure;
use coretalk_model::queue::names;
use coretalk_model::series::Observed;
use std::collections::BTreeSet;

fn spin_limit_ns(config: &QueueConfig, costs: &Costs) -> f64 {
    match config.kind.cost.slim {
        true => slim::spin_limit_ns(costs),
        false => config.kind.cost.spin_limit_ns + f64::from(config.spins) * (costs.hint_ns + 2.0),
    }
}

fn payload_ns(payload: Payload) -> [f64; 2] {
    match payload {
        Payload::U64 => [0.5, 0.5],
        Payload::Bytes(bytes) => [f64::from(bytes) / 16.0; 2],
        Payload::String => [35.0, 25.0],
    }
}

/// Minimum and maximum messages simulated one by one. The rest of the pass is extrapolated.
const SIMULATED: [u64; 2] = [200, 2_000];
/// Maximum simulated messages if a side has slept. After a wake-up, two concurrent sides may begin to wake each other,
/// at a tenth of the throughput. Earlier messages are then not representative.
const SIMULATED_ASLEEP: u64 = 100_000;
/// The part of a pass over which the rate is computed, as on real threads.
const MIDDLE: [f64; 2] = [0.1, 0.9];
const LAPS: u64 = 3;
const MAX_PACED: u64 = 20_000;

pub fn simulate(sim: &mut dyn SimContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
    let config = QueueConfig::from_spec(order.spec)?;
    let (cpus, costs) = (sim.placement(), sim.costs());
    let [from, to] = [cpus[0], cpus[config.sides[0].min(cpus.len() - 1)]];
    let (price, transfer_ns) = (config.kind.cost, sim.transfer_ns(from, to));
    let message_lines = config.payload.bytes() as f64 / 64.0;
    let own_ns = payload_ns(config.payload).map(|payload_ns| {
        payload_ns + price.own_ns + price.calls * costs.syscall_ns + message_lines * transfer_ns
    });
    let crowd = Crowd::new(sim, &config, own_ns);
    let (is_pair, is_slim) = (config.sides == [1, 1], price.slim && from != to);
    // A permit of `semaphore-slim` is available when the other side's calls are over. It is found after half a pause. A
    // slot needs two permits per message.
    let sight_ns = if is_slim { crowd.side_ns[0] + slim::rest_ns(costs, 1) / 2.0 } else { transfer_ns };
    let lap_ns = if is_slim { 2.0 * sight_ns / config.capacity as f64 } else { 0.0 };
    let message_ns = crowd.side_ns.map(|side_ns| side_ns.max(lap_ns));
    let once_ns = price.once_ns + price.once_lines * transfer_ns;
    let batch = config.batch.unwrap_or(1) as u64;
    // Whole batches are simulated as single steps. With single messages a drain pays its fixed cost once for all
    // waiting messages, each time it checks the queue.
    let (unit, step_ns, drain_ns) = match config.kind.batches {
        Batches::Both => (
            batch,
            message_ns.map(|message_ns| message_ns * batch as f64 - once_ns * (batch - 1) as f64),
            0.0,
        ),
        Batches::Drained if batch > 1 => (1, [message_ns[0], message_ns[1] - once_ns], once_ns),
        Batches::Drained | Batches::Received | Batches::None => (1, message_ns, 0.0),
    };
    // At a fixed rate, a side that waits for the next message has been idle since the last one.
    let idle_ns = config.rate.map_or(0.0, |rate| 1e9 / rate * batch as f64);
    let refresh_ns = if price.cached { transfer_ns } else { 0.0 };
    let one_cpu = is_pair && from == to;
    let flow = Flow {
        capacity: config.capacity as u64 / unit,
        one_cpu,
        waiting: match config.kind.waits {
            WaitMode::Spin => Waiting::Awake,
            // Several ends under one lock wait only for the lock.
            _ if price.one_lock && !is_pair => Waiting::Awake,
            _ if price.slim && one_cpu => Waiting::Yielding { spin_limit_ns: slim::unyielding_ns(costs) },
            _ => Waiting::Asleep {
                spin_limit_ns: spin_limit_ns(&config, costs),
                wake_ns: costs.wake_ns + costs.idle_exit_ns(idle_ns) + costs.syscall_ns,
                waker_ns: costs.syscall_ns + costs.wake_ns / 3.0,
            },
        },
        switch_ns: costs.switch_ns,
        slice_ns: QUANTUM_NS,
        sight_ns,
        refresh_ns: [refresh_ns, refresh_ns + drain_ns],
    };
    let mut observed = Observed::default();
    if config.kind.waits == WaitMode::Spin && cpus.iter().collect::<BTreeSet<_>>().len() < cpus.len() {
        observed.flags.set(Flag::SharedSpin);
    }
    let steps = SimulatedSteps { flow, step_ns, unit };
    match config.rate {
        Some(rate) => {
            let pacing = Pacing { every_ns: 1e9 / rate, batch, in_batches: config.batch.is_some() };
            paced(sim, &steps, &pacing, order.span.ns(), &mut observed);
        }
        None => at_full_speed(sim, order, &steps, &config, &crowd, &mut observed),
    }
    Ok(observed)
}

/// The simulated steps of a trial. A step is one message or a whole batch.
struct SimulatedSteps {
    flow: Flow,
    /// Cost of a step for producer and consumer.
    step_ns: [f64; 2],
    unit: u64,
}

fn at_full_speed(
    sim: &mut dyn SimContext<'_>,
    order: &TrialOrder<'_>,
    &SimulatedSteps { flow, step_ns, unit }: &SimulatedSteps,
    config: &QueueConfig,
    crowd: &Crowd,
    observed: &mut Observed,
) {
    let span_ns = order.span.ns();
    let most = match (flow.one_cpu, flow.waiting) {
        // Each lap takes two quanta, whatever the capacity.
        (true, Waiting::Awake) => {
            Some(((span_ns / (2.0 * QUANTUM_NS)) as u64).clamp(1, LAPS) * flow.capacity)
        }
        (true, _) => Some(SIMULATED[0].max(LAPS * flow.capacity)),
        (false, _) => None,
    };
    let requested = per_pass(order.options, "messages", 1).map(|messages| messages.max(1));
    let mut middle: [Option<Passed>; 2] = [None; 2];
    let mut has_more = |passed: &Passed| {
        if requested.is_some_and(|requested| passed.messages * unit >= requested) {
            return false;
        }
        for (mark, share) in middle.iter_mut().zip(MIDDLE) {
            if mark.is_none() && passed.elapsed_ns >= share * span_ns {
                *mark = Some(*passed);
            }
        }
        match most {
            Some(most) => passed.messages < most,
            None => {
                let most = if passed.sleeps == [0, 0] { SIMULATED[1] } else { SIMULATED_ASLEEP };
                passed.messages < SIMULATED[0] || (passed.messages < most && passed.elapsed_ns < span_ns)
            }
        }
    };
    let mut work = |role: usize| sim.event(step_ns[role]);
    let passed = run(&flow, &mut has_more, &mut work, &mut Schedule { due_ns: &|_| 0.0, each: &mut |_| () });
    let passed = Passed { messages: passed.messages * unit, ..passed };
    // The result is extrapolated to the length of the pass. A requested count is met, unless the budget allows fewer.
    let fit = span_ns.max(passed.elapsed_ns) / passed.elapsed_ns;
    let scale = requested.map_or(fit, |all| fit.min(all as f64 / passed.messages.max(1) as f64));
    let lasted_ns = passed.elapsed_ns * scale;
    let held_ns = sim.pass(lasted_ns);
    let [begin, end] = match middle {
        [Some(from), Some(to)] if !flow.one_cpu && to.messages > from.messages => {
            [from, to].map(|passed| Passed { messages: passed.messages * unit, ..passed })
        }
        _ => [Passed::default(), passed],
    };
    let per_ns = (end.messages - begin.messages) as f64 / (end.elapsed_ns - begin.elapsed_ns);
    observed.value(names::RATE, per_ns * 1e9 * lasted_ns / (lasted_ns + held_ns));
    record(sim, config, crowd, &passed, scale, observed);
}

struct Pacing {
    every_ns: f64,
    /// Messages per batch. A batch is sent when its last message is due.
    batch: u64,
    in_batches: bool,
}

fn record(
    sim: &mut dyn SimContext<'_>,
    config: &QueueConfig,
    crowd: &Crowd,
    passed: &Passed,
    scale: f64,
    observed: &mut Observed,
) {
    let count = |count: u64| (count as f64 * scale) as u64;
    observed.count(names::MESSAGES, count(passed.messages));
    if config.kind.tells {
        observed.count(names::FULL, count(passed.full));
        observed.count(names::EMPTY, count(passed.empty));
    }
    let lasted_ns = passed.elapsed_ns * scale;
    for (side, range) in crowd.sides.iter().enumerate() {
        let waits = [passed.full, passed.empty][side] * 2 > passed.messages;
        let mut shares = crowd.shares(side, waits);
        if shares.len() > 1 {
            // Equal ends share almost equally.
            let drawn: Vec<f64> = shares.iter().map(|share| sim.batch(*share)).collect();
            shares = drawn.iter().map(|share| share / drawn.iter().sum::<f64>()).collect();
            queue::observe_shares(observed, side, range.start, &shares);
        }
        let (mut side_ns, mut slices) = (0.0, 0);
        for (end, share) in range.clone().zip(shares) {
            // Ends that act as one are busy together. No CPU works longer than the pass.
            let sharing = crowd.sharing[end];
            let busy_ns =
                (passed.busy_ns[side] * scale * range.len() as f64 * share).min(lasted_ns / sharing);
            sim.spend(end, busy_ns, (passed.sleeps[side] as f64 * scale * share) as u32);
            side_ns += busy_ns;
            slices += if sharing > 1.0 { (lasted_ns / QUANTUM_NS / sharing) as u64 } else { 0 };
        }
        observed.count(names::CPU_NS[side], side_ns as u64);
        observed.count(names::VOLUNTARY[side], count(passed.sleeps[side]));
        observed.count(names::INVOLUNTARY[side], count(passed.preempted[side]) + slices);
    }
}

fn paced(
    sim: &mut dyn SimContext<'_>,
    &SimulatedSteps { flow, step_ns, unit }: &SimulatedSteps,
    &Pacing { every_ns, batch, in_batches }: &Pacing,
    span_ns: f64,
    observed: &mut Observed,
) {
    // At least two whole batches, as on real threads.
    let asked = ((span_ns / every_ns) as u64).clamp(1, MAX_PACED);
    let messages = if batch > 1 { (asked / batch).max(2) * batch } else { asked };
    let steps = messages / unit;
    // A batch is due with its last message.
    let last_ns = (batch - 1) as f64 * every_ns;
    let due_ns = |step: u64| (step * unit / batch * batch) as f64 * every_ns + last_ns;
    let mut timed: Vec<Timed> = Vec::with_capacity(steps as usize);
    let mut schedule = Schedule { due_ns: &due_ns, each: &mut |step| timed.push(step) };
    let mut work = |role: usize| sim.event(step_ns[role]);
    run(&flow, &mut |passed| passed.messages < steps, &mut work, &mut schedule);
    let mut delays = Delays { of_batch: (batch > 1).then(Box::default), ..Delays::default() };
    let clock_ns = sim.clock_ns();
    // Messages of a batch are read one after the other.
    let apart_ns = step_ns[1] / unit as f64;
    let numbered = timed.iter().flat_map(|step| (0..unit).map(move |at| (step, at)));
    for (number, (step, at)) in (0u64..).zip(numbered) {
        let received_ns = step.received_ns + at as f64 * apart_ns;
        let late = sim.ticks(received_ns - number as f64 * every_ns + clock_ns);
        delays.corrected.count(late);
        delays.uncorrected.count(sim.ticks(received_ns - step.sent_ns + clock_ns));
        if let Some(ends) = &mut delays.of_batch {
            for (end, place) in ends.iter_mut().zip([0, batch - 1]) {
                if number % batch == place {
                    end.count(late);
                }
            }
        }
    }
    let last_ns = timed.last().map_or(every_ns, |step| step.received_ns);
    let lasted_ns = span_ns.max(last_ns);
    sim.pass(lasted_ns);
    let scale = lasted_ns / last_ns.max(messages as f64 * every_ns);
    for (role, own_ns) in step_ns.into_iter().enumerate() {
        let (busy_ns, sleeps) = match flow.waiting {
            // Two polling sides share the time of their CPU, or have a CPU each.
            Waiting::Awake if flow.one_cpu => (lasted_ns / 2.0, 0.0),
            Waiting::Awake => (lasted_ns, 0.0),
            // At a fixed rate the consumer sleeps before each step. The producer spins until the next due time.
            _ if role == 0 => (lasted_ns - if flow.one_cpu { own_ns * steps as f64 } else { 0.0 }, 0.0),
            _ => (own_ns * steps as f64 * scale, steps as f64 * scale),
        };
        sim.spend(role, busy_ns.clamp(0.0, lasted_ns), sleeps as u32);
    }
    let reached = messages as f64 / last_ns.max(messages as f64 * every_ns) * 1e9;
    queue::observe(observed, sim.rate(), [1e9 / every_ns, reached], &delays, in_batches);
    observed.count(names::MESSAGES, messages);
}
