//! The cost of a trial on a simulated machine.

use super::trials::Config;
use crate::pricing::SimContext;
use crate::probes::queue;
use crate::queues::catalogue::{Batches, SLIM_CALL_NS};
use crate::queues::limits::Delays;
use crate::queues::payload::Payload;
use crate::series::{TrialOrder, per_pass};
use crate::sim::slim::{self, SlimCosts, SlimFlow};
use crate::sim::stream::{self, Flow, Passed, Schedule, Timed, Waiting};
use crate::wait::WaitMode;
use coretalk_model::Flag;
use coretalk_model::TrialFailure;
use coretalk_model::queue::names;
use coretalk_model::series::Observed;

/// Time of polling before an end sleeps, in nanoseconds.
pub fn looks_ns(config: &Config, hint_ns: f64) -> f64 {
    config.kind.cost.looks_ns + f64::from(config.spins) * (hint_ns + 2.0)
}

/// Time to make and to read a message, in nanoseconds.
pub fn payload_ns(payload: Payload) -> [f64; 2] {
    match payload {
        Payload::U64 => [0.5, 0.5],
        Payload::Bytes(bytes) => [f64::from(bytes) / 16.0; 2],
        Payload::String => [35.0, 25.0],
    }
}

/// Minimum and maximum messages simulated one by one; the rest of the pass is extrapolated.
const SIMULATED: [u64; 2] = [200, 2_000];
/// Maximum simulated messages if a side has slept: a wake-up can permanently turn two concurrent sides into two that
/// wake each other, at a tenth of the throughput, so that earlier messages are not representative.
const SIMULATED_ASLEEP: u64 = 100_000;
/// The part of a pass over which the rate is computed, as on real threads.
const MIDDLE: [f64; 2] = [0.1, 0.9];
const LAPS: u64 = 3;
/// Maximum simulated messages of a pass at a fixed rate.
const MAX_PACED: u64 = 20_000;
pub const SLICE_NS: f64 = 3e6;

pub fn simulate(stage: &mut dyn SimContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
    let config = Config::of(order.spec)?;
    let [from, to] =
        [stage.placement()[0], stage.placement()[config.sides[0].min(stage.placement().len() - 1)]];
    let costs = stage.costs();
    let (price, transfer_ns) = (config.kind.cost, stage.transfer_ns(from, to));
    let waker_ns = costs.syscall_ns + costs.wake_ns / 3.0;
    let message_lines = config.payload.bytes() as f64 / 64.0;
    let message_ns = payload_ns(config.payload).map(|payload_ns| {
        payload_ns
            + price.own_ns
            + price.calls * costs.syscall_ns
            + (price.lines + message_lines) * transfer_ns
    });
    let once_ns = price.once_ns + price.once_lines * transfer_ns;
    let batch = config.batch.unwrap_or(1) as u64;
    // Whole batches are simulated as single steps. With single messages a drain costs its share once for all waiting
    // ones, each time it checks the queue.
    let (unit, by_itself, drain_ns) = match config.kind.batches {
        Batches::Both => (
            batch,
            message_ns.map(|message_ns| message_ns * batch as f64 - once_ns * (batch - 1) as f64),
            0.0,
        ),
        Batches::Drained if batch > 1 => (1, [message_ns[0], message_ns[1] - once_ns], once_ns),
        Batches::Drained | Batches::Received | Batches::None => (1, message_ns, 0.0),
    };
    // At a rate, a side that waits for the next message has been idle since the last one.
    let idle_ns = config.rate.map_or(0.0, |rate| 1e9 / rate * batch as f64);
    let wake_ns = costs.wake_ns + costs.idle_exit_ns(idle_ns) + costs.syscall_ns;
    let slim = price.slim.then_some(SlimFlow {
        capacity: config.capacity as u64,
        transfer_ns,
        message_lines,
        call_ns: SLIM_CALL_NS,
        hint_ns: costs.hint_ns,
        yield_ns: costs.syscall_ns,
        wake_ns,
        waker_ns,
    });
    let look_ns = if price.cached { transfer_ns } else { 0.0 };
    let flow = Flow {
        capacity: config.capacity as u64 / unit,
        one_cpu: from == to,
        waiting: match (config.kind.waits, &slim) {
            (WaitMode::Spin, _) => Waiting::Awake,
            (_, Some(slim)) if from == to => Waiting::Yielding { looks_ns: slim.unyielding_ns() },
            _ => Waiting::Asleep { looks_ns: looks_ns(&config, costs.hint_ns), wake_ns, waker_ns },
        },
        switch_ns: costs.switch_ns,
        slice_ns: SLICE_NS,
        sight_ns: transfer_ns,
        look_ns: [look_ns, look_ns + drain_ns],
    };
    let course = SimFlow {
        flow,
        slim: slim.filter(|_| from != to),
        // The step-by-step simulation prices calls and the message's line itself.
        by_itself: if slim.is_some() && from != to { payload_ns(config.payload) } else { by_itself },
        unit,
    };
    let span_ns = order.span.ns();
    let mut observed = Observed::default();
    if let Some(rate) = config.rate {
        let pacing = Pacing { every_ns: 1e9 / rate, batch, is_listed: config.batch.is_some() };
        paced(stage, &course, &pacing, span_ns, by_itself, &mut observed);
        if flow.one_cpu && config.kind.waits == WaitMode::Spin {
            observed.flags.set(Flag::SharedSpin);
        }
        return Ok(observed);
    }
    let most = match (flow.one_cpu, flow.waiting) {
        // Each lap takes two quanta, whatever the capacity.
        (true, Waiting::Awake) => Some(((span_ns / (2.0 * SLICE_NS)) as u64).clamp(1, LAPS) * flow.capacity),
        (true, _) => Some(SIMULATED[0].max(LAPS * flow.capacity)),
        (false, _) => None,
    };
    let requested = per_pass(order.options, "messages", 1).map(|messages| messages.max(1));
    let mut middle: [Option<Passed>; 2] = [None; 2];
    let mut more = |passed: &Passed| {
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
    let passed = course.run(stage, &mut more, &mut Schedule { due_ns: &|_| 0.0, each: &mut |_| () });
    let passed = Passed { messages: passed.messages * unit, ..passed };
    // Extrapolates to the length of the pass. A requested number is met exactly, unless the budget allows fewer.
    let fit = span_ns.max(passed.elapsed_ns) / passed.elapsed_ns;
    let times = requested.map_or(fit, |all| fit.min(all as f64 / passed.messages.max(1) as f64));
    let lasted_ns = passed.elapsed_ns * times;
    let held_ns = stage.pass(lasted_ns);
    let [from_there, to_there] = match middle {
        [Some(from), Some(to)] if !flow.one_cpu && to.messages > from.messages => {
            [from, to].map(|passed| Passed { messages: passed.messages * unit, ..passed })
        }
        _ => [Passed::default(), passed],
    };
    let per_ns =
        (to_there.messages - from_there.messages) as f64 / (to_there.elapsed_ns - from_there.elapsed_ns);
    observed.value(names::RATE, per_ns * 1e9 * lasted_ns / (lasted_ns + held_ns));
    note(stage, &config, &passed, times, &mut observed);
    if flow.one_cpu && config.kind.waits == WaitMode::Spin {
        observed.flags.set(Flag::SharedSpin);
    }
    Ok(observed)
}

struct SimFlow {
    flow: Flow,
    /// Step-by-step simulation for `semaphore-slim` between two CPUs.
    slim: Option<SlimFlow>,
    /// Cost of one unit (a message or a whole batch) for producer and consumer.
    by_itself: [f64; 2],
    unit: u64,
}

/// The due times of messages at a fixed rate.
struct Pacing {
    every_ns: f64,
    /// Messages per batch, which is sent when its last message is due.
    batch: u64,
    is_listed: bool,
}

impl SimFlow {
    fn run(
        &self,
        stage: &mut dyn SimContext<'_>,
        more: &mut dyn FnMut(&Passed) -> bool,
        schedule: &mut Schedule<'_>,
    ) -> Passed {
        let stage = std::cell::RefCell::new(stage);
        let mut work = |role: usize| stage.borrow_mut().event(self.by_itself[role]);
        match &self.slim {
            Some(slim) => {
                let mut factor = || stage.borrow_mut().event(1.0);
                slim::run_while(slim, more, &mut SlimCosts { work: &mut work, factor: &mut factor }, schedule)
            }
            None => stream::run_due(&self.flow, more, &mut work, schedule),
        }
    }
}

fn note(
    stage: &mut dyn SimContext<'_>,
    config: &Config,
    passed: &Passed,
    times: f64,
    observed: &mut Observed,
) {
    let count = |count: u64| (count as f64 * times) as u64;
    observed.count(names::MESSAGES, count(passed.messages));
    if config.kind.tells {
        observed.count(names::FULL, count(passed.full));
        observed.count(names::EMPTY, count(passed.empty));
    }
    for role in 0..2 {
        observed.count(names::CPU_NS[role], (passed.busy_ns[role] * times) as u64);
        observed.count(names::VOLUNTARY[role], count(passed.sleeps[role]));
        observed.count(names::INVOLUNTARY[role], count(passed.preempted[role]));
        stage.spend(role, passed.busy_ns[role] * times, count(passed.sleeps[role]) as u32);
    }
}

fn paced(
    stage: &mut dyn SimContext<'_>,
    course: &SimFlow,
    pacing: &Pacing,
    span_ns: f64,
    by_itself: [f64; 2],
    observed: &mut Observed,
) {
    let &Pacing { every_ns, batch, is_listed } = pacing;
    let unit = course.unit;
    // At least two whole batches, as on real threads.
    let asked = ((span_ns / every_ns) as u64).clamp(1, MAX_PACED);
    let messages = if batch > 1 { (asked / batch).max(2) * batch } else { asked };
    let steps = messages / unit;
    // A batch is due with its last message.
    let last_ns = (batch - 1) as f64 * every_ns;
    let flow = &course.flow;
    let mut timed: Vec<Timed> = Vec::with_capacity(steps as usize);
    let mut each = |step| timed.push(step);
    let is_sliced = flow.one_cpu && flow.waiting == Waiting::Awake;
    if is_sliced {
        stream::paced_by_slices(
            flow,
            every_ns * unit as f64,
            steps,
            &mut |role| stage.event(by_itself[role]),
            &mut each,
        );
    } else {
        let due_ns = |step: u64| (step * unit / batch * batch) as f64 * every_ns + last_ns;
        let mut schedule = Schedule { due_ns: &due_ns, each: &mut each };
        course.run(stage, &mut |passed| passed.messages < steps, &mut schedule);
    }
    let mut delays = Delays { of_batch: (batch > 1).then(Box::default), ..Delays::default() };
    let clock_ns = stage.clock_ns();
    // With quanta a step behaves as if due with its first message: all of them come later by this.
    let later_ns = if is_sliced { last_ns } else { 0.0 };
    // Messages of a batch are read one after the other.
    let apart_ns = by_itself[1] / unit as f64;
    let numbered = timed.iter().flat_map(|step| (0..unit).map(move |at| (step, at)));
    for (number, (step, at)) in (0u64..).zip(numbered) {
        let received_ns = step.received_ns + later_ns + at as f64 * apart_ns;
        let late = stage.ticks(received_ns - number as f64 * every_ns + clock_ns);
        delays.corrected.count(late);
        delays.uncorrected.count(stage.ticks(received_ns - later_ns - step.sent_ns + clock_ns));
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
    stage.pass(lasted_ns);
    let times = lasted_ns / last_ns.max(messages as f64 * every_ns);
    for (role, own_ns) in by_itself.into_iter().enumerate() {
        let (busy_ns, sleeps) = match flow.waiting {
            // Two polling sides share the time of their CPU, or have one each.
            Waiting::Awake if flow.one_cpu => (lasted_ns / 2.0, 0.0),
            Waiting::Awake => (lasted_ns, 0.0),
            // At a rate the consumer sleeps before each step; the producer spins until the next due time.
            _ if role == 0 => (lasted_ns - if flow.one_cpu { own_ns * steps as f64 } else { 0.0 }, 0.0),
            _ => (own_ns * steps as f64 * times, steps as f64 * times),
        };
        stage.spend(role, busy_ns.clamp(0.0, lasted_ns), sleeps as u32);
    }
    let reached = messages as f64 / last_ns.max(messages as f64 * every_ns) * 1e9;
    queue::observe(observed, stage.rate(), [1e9 / every_ns, reached], &delays, is_listed);
    observed.count(names::MESSAGES, messages);
}
