//! What a trial costs on a simulated machine.

use super::trials::Config;
use crate::pricing::Pricing;
use crate::probes::queue;
use crate::queues::catalogue::{Payload, QueueKind, Waits};
use crate::queues::course::Delays;
use crate::series::TrialOrder;
use crate::sim::slim::{self, SlimCosts, SlimFlow};
use crate::sim::stream::{self, Flow, Passed, Schedule, Timed, Waiting};
use coretalk_model::Flag;
use coretalk_model::TrialFailure;
use coretalk_model::queue::names;
use coretalk_model::series::Observed;
use coretalk_model::stats::ANALYSES;

/// What a queue does for each message, in events of the machine. About what a desktop part of 4 GHz needs; the tool
/// holds none of it against reality, it only has to be of the right kind.
pub struct Price {
    /// Instructions of producer and consumer.
    pub own_ns: f64,
    /// Line transfers that each side waits for with every message (a lock, a semaphore).
    pub lines: f64,
    /// System calls of each side with every message.
    pub calls: f64,
    /// Whether it looks at the other side's index only when what it knows has run out.
    cached: bool,
    /// How long it looks before it sleeps.
    pub looks_ns: f64,
}

/// Instructions of `Wait` or `Release` of `semaphore-slim` with all lines at hand: the lock is taken and given back. A
/// message, four calls of which nobody waits for any, took 25 ns on one CPU of an AMD EPYC guest (3.2 GHz, capacity 10,000).
const SLIM_CALL_NS: f64 = 6.0;

pub fn price(config: &Config, hint_ns: f64) -> Price {
    let plain = Price { own_ns: 12.0, lines: 1.0, calls: 0.0, cached: false, looks_ns: 0.0 };
    match config.kind.queue {
        QueueKind::SemaphoreSpin => Price { looks_ns: f64::from(config.spins) * (hint_ns + 2.0), ..plain },
        // Two calls; their lines are not waited for in one go, but one by one where two CPUs run it.
        QueueKind::SemaphoreSlim => Price { own_ns: 2.0 * SLIM_CALL_NS, lines: 0.0, ..plain },
        QueueKind::Mutex => Price { own_ns: 20.0, lines: 1.5, looks_ns: 1_000.0, ..plain },
        QueueKind::Spsc | QueueKind::Rtrb => Price { own_ns: 3.0, lines: 0.0, cached: true, ..plain },
        // No index to look at: what travels are the lines of the messages. 2.3 ns a message were measured at 1,024 places
        // (docs/queues.md).
        QueueKind::Slots => Price { own_ns: 2.0, lines: 0.0, ..plain },
        QueueKind::SyncChannel | QueueKind::Crossbeam => Price { own_ns: 10.0, looks_ns: 3_000.0, ..plain },
        QueueKind::ArrayQueue => Price { own_ns: 10.0, ..plain },
        QueueKind::Flume | QueueKind::Kanal => Price { own_ns: 25.0, lines: 1.5, looks_ns: 2_000.0, ..plain },
        QueueKind::Pipe | QueueKind::Socketpair => Price { own_ns: 150.0, calls: 1.0, ..plain },
        QueueKind::Eventfd => Price { own_ns: 40.0, calls: 2.0, ..plain },
        QueueKind::Semaphore | QueueKind::SemT => plain,
    }
}

/// Work on the message itself, made and read, in nanoseconds.
pub fn payload_ns(payload: Payload) -> [f64; 2] {
    match payload {
        Payload::U64 => [0.5, 0.5],
        Payload::Bytes(bytes) => [f64::from(bytes) / 16.0; 2],
        Payload::String => [35.0, 25.0],
    }
}

/// Messages of a pass that are simulated one by one, at least and at most; what follows is more of the same.
const SIMULATED: [u64; 2] = [200, 2_000];
/// The most where a side has slept: a wake-up can turn two sides that ran beside each other into two that wake each
/// other for good, at a tenth of the pace, so that what follows is not more of the same.
const SIMULATED_ASLEEP: u64 = 100_000;
/// The part of a pass that its rate is taken over, as on real threads.
const MIDDLE: [f64; 2] = [0.1, 0.9];
/// Laps of a full queue that a shared CPU is watched for.
const LAPS: u64 = 3;
/// Messages of a pass at a fixed rate that are simulated.
const MOST_PACED: u64 = 20_000;
/// A time slice.
pub const SLICE_NS: f64 = 3e6;

/// Prices one pass.
pub fn simulate(stage: &mut dyn Pricing<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
    let config = Config::of(order.spec)?;
    let [from, to] =
        [stage.placement()[0], stage.placement()[config.sides[0].min(stage.placement().len() - 1)]];
    let costs = stage.costs();
    let (price, transfer_ns) = (price(&config, costs.hint_ns), stage.transfer_ns(from, to));
    let waker_ns = costs.syscall_ns + costs.wake_ns / 3.0;
    // The line of a message travels with all messages on it.
    let message_lines = config.payload.bytes() as f64 / 64.0;
    let by_itself = payload_ns(config.payload).map(|payload_ns| {
        payload_ns
            + price.own_ns
            + price.calls * costs.syscall_ns
            + (price.lines + message_lines) * transfer_ns
    });
    // A side that waits for the next message of a rate has been idle for as long.
    let idle_ns = config.rate.map_or(0.0, |rate| 1e9 / rate);
    let wake_ns = costs.wake_ns + costs.idle_exit_ns(idle_ns) + costs.syscall_ns;
    let slim = (config.kind.queue == QueueKind::SemaphoreSlim).then_some(SlimFlow {
        capacity: config.capacity as u64,
        transfer_ns,
        message_lines,
        call_ns: SLIM_CALL_NS,
        hint_ns: costs.hint_ns,
        yield_ns: costs.syscall_ns,
        wake_ns,
        waker_ns,
    });
    let flow = Flow {
        capacity: config.capacity as u64,
        one_cpu: from == to,
        waiting: match (config.kind.waits, &slim) {
            (Waits::Awake, _) => Waiting::Awake,
            (Waits::Asleep, Some(slim)) if from == to => Waiting::Yielding { looks_ns: slim.unyielding_ns() },
            (Waits::Asleep, _) => Waiting::Asleep { looks_ns: price.looks_ns, wake_ns, waker_ns },
        },
        switch_ns: costs.switch_ns,
        slice_ns: SLICE_NS,
        sight_ns: transfer_ns,
        look_ns: if price.cached { transfer_ns } else { 0.0 },
    };
    let course = Course {
        flow,
        slim: slim.filter(|_| from != to),
        // The calls and the lines of the message are steps of their own there.
        by_itself: if slim.is_some() && from != to { payload_ns(config.payload) } else { by_itself },
    };
    let span_ns = order.span.ns();
    let mut observed = Observed::default();
    if let Some(rate) = config.rate {
        paced(stage, &course, rate, span_ns, by_itself, &mut observed);
        if flow.one_cpu && config.kind.waits == Waits::Awake {
            observed.flags.set(Flag::SharedSpin);
        }
        return Ok(observed);
    }
    let most = match (flow.one_cpu, flow.waiting) {
        // Each lap takes two time slices, whatever it holds.
        (true, Waiting::Awake) => Some(((span_ns / (2.0 * SLICE_NS)) as u64).clamp(1, LAPS) * flow.capacity),
        (true, _) => Some(SIMULATED[0].max(LAPS * flow.capacity)),
        (false, _) => None,
    };
    // What was asked for is spread over the passes that every trial gets.
    let requested =
        order.options.number("messages").map(|all| (all / ANALYSES[0] as f64).ceil().max(1.0) as u64);
    let mut middle: [Option<Passed>; 2] = [None; 2];
    let mut more = |passed: &Passed| {
        if requested.is_some_and(|requested| passed.messages >= requested) {
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
    // As many more of the same as fit into the pass; where a number was asked for, exactly that many, whatever the
    // quotient of times rounds to, or as many as fit into what is left of the budget.
    let fit = span_ns.max(passed.elapsed_ns) / passed.elapsed_ns;
    let times = requested.map_or(fit, |all| fit.min(all as f64 / passed.messages.max(1) as f64));
    let lasted_ns = passed.elapsed_ns * times;
    let held_ns = stage.pass(lasted_ns);
    let [from_there, to_there] = match middle {
        [Some(from), Some(to)] if !flow.one_cpu && to.messages > from.messages => [from, to],
        _ => [Passed::default(), passed],
    };
    let per_ns =
        (to_there.messages - from_there.messages) as f64 / (to_there.elapsed_ns - from_there.elapsed_ns);
    // What held a CPU up comes on top.
    observed.value(names::RATE, per_ns * 1e9 * lasted_ns / (lasted_ns + held_ns));
    note(stage, &config, &passed, times, &mut observed);
    if flow.one_cpu && config.kind.waits == Waits::Awake {
        observed.flags.set(Flag::SharedSpin);
    }
    Ok(observed)
}

/// How the messages of a pass go.
struct Course {
    flow: Flow,
    /// Step by step, for the queue that is simulated so between two CPUs.
    slim: Option<SlimFlow>,
    /// What a message costs its producer and its consumer by itself.
    by_itself: [f64; 2],
}

impl Course {
    fn run(
        &self,
        stage: &mut dyn Pricing<'_>,
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

fn note(stage: &mut dyn Pricing<'_>, config: &Config, passed: &Passed, times: f64, observed: &mut Observed) {
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

/// At a fixed rate: every message has a time at which it is meant to be sent.
fn paced(
    stage: &mut dyn Pricing<'_>,
    course: &Course,
    rate: f64,
    span_ns: f64,
    by_itself: [f64; 2],
    observed: &mut Observed,
) {
    let every_ns = 1e9 / rate;
    let messages = ((span_ns / every_ns) as u64).clamp(1, MOST_PACED);
    let flow = &course.flow;
    let mut timed: Vec<Timed> = Vec::with_capacity(messages as usize);
    let mut each = |message| timed.push(message);
    if flow.one_cpu && flow.waiting == Waiting::Awake {
        stream::paced_by_slices(
            flow,
            every_ns,
            messages,
            &mut |role| stage.event(by_itself[role]),
            &mut each,
        );
    } else {
        let due_ns = |number: u64| number as f64 * every_ns;
        let mut schedule = Schedule { due_ns: &due_ns, each: &mut each };
        course.run(stage, &mut |passed| passed.messages < messages, &mut schedule);
    }
    let mut delays = Delays::default();
    let clock_ns = stage.clock_ns();
    for message in &timed {
        delays.corrected.count(stage.ticks(message.received_ns - message.intended_ns + clock_ns));
        delays.uncorrected.count(stage.ticks(message.received_ns - message.sent_ns + clock_ns));
    }
    let last_ns = timed.last().map_or(every_ns, |message| message.received_ns);
    let lasted_ns = span_ns.max(last_ns);
    stage.pass(lasted_ns);
    let times = lasted_ns / last_ns.max(messages as f64 * every_ns);
    for (role, own_ns) in by_itself.into_iter().enumerate() {
        let (busy_ns, sleeps) = match flow.waiting {
            // Two that look share the time of their CPU, or have one each.
            Waiting::Awake if flow.one_cpu => (lasted_ns / 2.0, 0.0),
            Waiting::Awake => (lasted_ns, 0.0),
            // The consumer of a rate sleeps before each message; the producer waits awake for the time of the next.
            _ if role == 0 => (lasted_ns - if flow.one_cpu { own_ns * messages as f64 } else { 0.0 }, 0.0),
            _ => (own_ns * messages as f64 * times, messages as f64 * times),
        };
        stage.spend(role, busy_ns.clamp(0.0, lasted_ns), sleeps as u32);
    }
    let reached = messages as f64 / last_ns.max(messages as f64 * every_ns) * 1e9;
    queue::observe(observed, stage.rate(), [rate, reached], &delays);
    observed.count(names::MESSAGES, messages);
}
