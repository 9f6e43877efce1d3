//! One pass of a trial on threads of this machine.

use super::trials::QueueConfig;
use crate::adapters::pass::{are_quantum_ends, slept_too_rarely};
use crate::kernel_context::Halt;
use crate::probes::queue;
use crate::queues::ends::{QueueParameters, Refusal};
use crate::queues::exchange::{Consume, Produce, QueueRoles, RoleSettings};
use crate::queues::limits;
use crate::queues::limits::{Received, RoleLimits, Sent};
use crate::queues::paced::Pace;
use crate::room::Room;
use crate::series::{TrialOrder, per_pass};
use crate::trial_context::{RoleContext, TrialContext};
use crate::wait::WaitMode;
use coretalk_model::queue::names;
use coretalk_model::series::{Observed, TrialSpec};
use coretalk_model::{Flag, Picos, TrialFailure};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Time between stamps. A read of the counter takes less than a thousandth of it.
const APART_NS: f64 = 20_000.0;
const START: Picos = Picos::from_us(300);

/// The reason why the queue is unavailable here, found by opening it.
pub fn lacks(spec: &TrialSpec) -> Option<String> {
    let config = QueueConfig::from_spec(spec).ok()?;
    let name = spec.parameters.text("queue").unwrap_or_default();
    if let Some(room) = Room::of_this_process().filter(|_| config.bytes() >= LARGE_BYTES)
        && config.bytes() > room.bytes / 2
    {
        return Some(too_large(name, &config, room.bytes));
    }
    let refusal = open(&config, None).err()?;
    Some(refused(spec, &config, &refusal))
}

fn refused(spec: &TrialSpec, config: &QueueConfig, refusal: &Refusal) -> String {
    format!("`{}` with {}: {refusal}", spec.parameters.text("queue").unwrap_or_default(), config.payload)
}

/// Size below which memory is not checked.
const LARGE_BYTES: u64 = 64 << 20;

/// The reason why a queue is too large. Half of the free memory is left for this process and the machine.
fn too_large(name: &str, config: &QueueConfig, free_bytes: u64) -> String {
    let mb = |bytes: u64| bytes.div_ceil(1_000_000);
    format!(
        "`{name}` with {} at capacity {} takes about {} MB, and half of the free memory is {} MB; choose a smaller --capacity or --payload",
        config.payload,
        config.capacity,
        mb(config.bytes()),
        mb(free_bytes / 2)
    )
}

fn open(config: &QueueConfig, pace: Option<Arc<Pace>>) -> Result<QueueRoles, Refusal> {
    let shape = QueueParameters { capacity: config.capacity, spins: config.spins };
    let [producers, consumers] = config.sides;
    let batch = config.batch.unwrap_or(1);
    let settings = RoleSettings { producers, consumers, pace, batch };
    config.kind.code.open(config.payload, &shape, &settings)
}

enum QueueObservation {
    Sent(Sent, Spent),
    Received(Box<Received>, Spent),
}

#[derive(Default)]
struct Spent {
    cpu_ns: Option<u64>,
    switches: Option<[u32; 2]>,
}

enum PendingRole {
    Produces(Produce),
    Consumes(Consume),
}

pub fn perform(context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
    // The queue could be opened before the run. If the system refuses it now, the error says why.
    let config = QueueConfig::from_spec(order.spec)?;
    let ticks = |span: Picos| context.rate().ticks(span.ns());
    let shared = context.cpus().iter().collect::<BTreeSet<_>>().len() < context.cpus().len();
    let pace = config.rate.map(|rate| Arc::new(Pace::new(context.rate().ticks(1e9 / rate), shared)));
    let roles = open(&config, pace)
        .map_err(|refusal| TrialFailure::from_reason(refused(order.spec, &config, &refusal)))?;
    let pending = roles.producers.into_iter().map(PendingRole::Produces);
    let pending = pending.chain(roles.consumers.into_iter().map(PendingRole::Consumes));
    let pending: Vec<Mutex<Option<PendingRole>>> = pending.map(|role| Mutex::new(Some(role))).collect();
    let plan = Plan {
        span_ticks: ticks(order.span.saturating_sub(START)) as u64,
        messages: per_pass(order.options, "messages", config.sides[0]).unwrap_or(u64::MAX),
        apart_ticks: context.rate().ticks(APART_NS) as u64,
    };
    let observations =
        context.run(order.limit(), |role| run_role(role, &pending[role.number], &plan), || ())?;
    observed(context, &config, observations, shared)
}

struct Plan {
    span_ticks: u64,
    messages: u64,
    apart_ticks: u64,
}

fn run_role(
    role: &RoleContext<'_>,
    pending: &Mutex<Option<PendingRole>>,
    plan: &Plan,
) -> Result<Option<QueueObservation>, Halt> {
    let Some(pending) = pending.lock().unwrap_or_else(PoisonError::into_inner).take() else {
        return Ok(None);
    };
    role.wait_for_all()?;
    let (cpu_ns, switches) = (role.cpu_ns(), role.switches());
    let limits = RoleLimits {
        guard: role.guard,
        until_ticks: (role.guard.now_ticks)().saturating_add(plan.span_ticks),
        messages: plan.messages,
        apart_ticks: plan.apart_ticks,
    };
    let spent = || Spent {
        cpu_ns: cpu_ns.zip(role.cpu_ns()).map(|(before, after)| after.saturating_sub(before)),
        switches: switches
            .zip(role.switches())
            .map(|(before, after)| [0, 1].map(|kind| after[kind].saturating_sub(before[kind]))),
    };
    Ok(Some(match pending {
        PendingRole::Produces(produce) => {
            let sent = produce(&limits)?;
            QueueObservation::Sent(sent, spent())
        }
        PendingRole::Consumes(consume) => {
            let received = consume(&limits)?;
            QueueObservation::Received(Box::new(received), spent())
        }
    }))
}

/// Combines the results of both sides, after a check that no message was lost.
fn observed(
    context: &TrialContext<'_>,
    config: &QueueConfig,
    observations: Vec<Option<QueueObservation>>,
    shared: bool,
) -> Result<Observed, TrialFailure> {
    let mut observed = Observed::default();
    let (mut sent, mut received) = (Sent::default(), Received::default());
    let (mut producing, mut consuming) = (Vec::new(), Vec::new());
    let mut spent: [Vec<Spent>; 2] = Default::default();
    for observation in observations.into_iter().flatten() {
        match observation {
            QueueObservation::Sent(one, role_spent) => {
                sent.messages += one.messages;
                sent.full += one.full;
                sent.sum = sent.sum.wrapping_add(one.sum);
                producing.push(one.stamps);
                spent[0].push(role_spent);
            }
            QueueObservation::Received(one, role_spent) => {
                received.messages += one.messages;
                received.empty += one.empty;
                received.sum = received.sum.wrapping_add(one.sum);
                received.wrong += one.wrong;
                received.delays = one.delays.or(received.delays);
                consuming.push(one.stamps);
                spent[1].push(role_spent);
            }
        }
    }
    if sent.messages != received.messages {
        return Err(TrialFailure::Unverified { sent: sent.messages, received: received.messages });
    }
    if received.wrong > 0 || sent.sum != received.sum {
        observed.flags.set(Flag::Invalid);
    }
    let per_s = limits::rate(&consuming).map(|per_tick| per_tick * context.rate().hz);
    match (config.rate, &received.delays, per_s) {
        (Some(requested), Some(delays), Some(per_s)) => {
            let in_batches = config.batch.is_some();
            queue::observe(&mut observed, context.rate(), [requested, per_s], delays, in_batches);
        }
        (_, _, Some(per_s)) => observed.value(names::RATE, per_s),
        _ => {}
    }
    for (side, loops) in [&producing, &consuming].into_iter().enumerate() {
        if let Some(shares) = limits::shares(loops).filter(|shares| shares.len() > 1) {
            let first = side * config.sides[0];
            queue::observe_shares(&mut observed, side, first, &shares);
        }
    }
    observed.count(names::MESSAGES, received.messages);
    if config.kind.tells {
        observed.count(names::FULL, sent.full);
        observed.count(names::EMPTY, received.empty);
    }
    for (side, spent) in spent.iter().enumerate() {
        record_spent(&mut observed, side, spent);
    }
    let lasted_ns = per_s.map_or(u64::MAX, |per_s| (received.messages as f64 / per_s * 1e9) as u64);
    if shared && waits_for_quanta(config, switches(&observed), received.messages, lasted_ns) {
        observed.flags.set(Flag::SharedSpin);
    }
    Ok(observed)
}

/// Whether the sides handed off only at the ends of quanta. The system's counts of context switches decide this. The
/// kind of queue decides without counts, or with several threads on a side, of which one may always be able to
/// continue.
fn waits_for_quanta(config: &QueueConfig, switches: Option<[u64; 2]>, messages: u64, lasted_ns: u64) -> bool {
    let (polls, capacity) = (config.kind.waits == WaitMode::Spin, config.capacity as u64);
    match switches.filter(|_| config.sides == [1, 1]) {
        // A polling thread may sleep on a page fault, and other programs may preempt it.
        Some([voluntary, _]) if polls => voluntary.saturating_mul(capacity) < messages,
        Some([voluntary, involuntary]) => {
            slept_too_rarely(voluntary, messages, capacity) && are_quantum_ends(involuntary, lasted_ns)
        }
        None => polls,
    }
}

fn switches(observed: &Observed) -> Option<[u64; 2]> {
    let sum = |names: [&str; 2]| -> Option<u64> {
        names.iter().map(|name| observed.numbers.counts.get(*name)).sum()
    };
    Some([sum(names::VOLUNTARY)?, sum(names::INVOLUNTARY)?])
}

fn record_spent(observed: &mut Observed, side: usize, spent: &[Spent]) {
    let cpu_ns: Option<u64> = spent.iter().map(|spent| spent.cpu_ns).sum();
    if let Some(cpu_ns) = cpu_ns {
        observed.count(names::CPU_NS[side], cpu_ns);
    }
    let switches = |kind: usize| -> Option<u64> {
        spent.iter().map(|spent| spent.switches.map(|switches| u64::from(switches[kind]))).sum()
    };
    if let (Some(voluntary), Some(involuntary)) = (switches(0), switches(1)) {
        observed.count(names::VOLUNTARY[side], voluntary);
        observed.count(names::INVOLUNTARY[side], involuntary);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probes::queue::Queue;
    use crate::trial_context::{Executor, RoleOrder};
    use coretalk_model::series::{Parameters, RoleEvidence};
    use coretalk_model::{CpuId, CpuSet, TickRate};

    struct NoThreads;

    impl Executor for NoThreads {
        fn current_cpu(&self) -> Option<CpuId> {
            None
        }

        fn set_mask(&self, _cpus: &CpuSet) -> Result<(), i32> {
            Ok(())
        }

        fn run(&self, _: &RoleOrder<'_>) -> Result<Vec<RoleEvidence>, TrialFailure> {
            unreachable!("there is no queue to run with")
        }

        fn switches(&self) -> Option<[u32; 2]> {
            None
        }

        fn cpu_ns(&self) -> Option<u64> {
            None
        }
    }

    fn spec(queue: &str, payload: &str, capacity: f64) -> TrialSpec {
        let parameters = Parameters::default().with("queue", queue).with("payload", payload);
        let parameters = parameters.with("capacity", capacity);
        TrialSpec { probe: "queue".into(), parameters, placement: vec![CpuId(0), CpuId(1)] }
    }

    fn failure(queue: &str, capacity: f64) -> String {
        let spec = spec(queue, "u64", capacity);
        let (options, span) = (Parameters::default(), Picos::from_ms(1));
        let order = TrialOrder { probe: &Queue, spec: &spec, options: &options, span, key: 0, process: 0 };
        let context = TrialContext::new(&NoThreads, &spec.placement, TickRate { hz: 1e9 }, 0.0);
        perform(&context, &order).unwrap_err().to_string()
    }

    #[test]
    fn switch_counts_or_else_the_kind_show_whether_a_queue_waits_for_quanta() {
        let hangs = |queue: &str, capacity: f64, switches| {
            let spec = TrialSpec { placement: vec![CpuId(0); 2], ..spec(queue, "u64", capacity) };
            waits_for_quanta(&QueueConfig::from_spec(&spec).unwrap(), switches, 200_000, 50_000_000)
        };
        for (queue, capacity, switches, expected) in [
            ("semaphore", 10_000.0, Some([10, 25]), false),
            ("semaphore-slim", 1.0, Some([0, 5_000]), false), // it yields
            ("semaphore-slim", 10_000.0, Some([0, 16]), true), // it never slept
            ("semaphore-slim", 10_000.0, None, false),
            ("spsc", 1_000.0, Some([0, 16]), true),
            ("spsc", 1_000.0, Some([1, 400]), true), // others preempted it
            ("spsc", 1_000.0, None, true),
        ] {
            assert_eq!(hangs(queue, capacity, switches), expected, "{queue} {capacity} {switches:?}");
        }
    }

    #[test]
    fn the_failure_of_a_pass_contains_the_reason_of_the_refusal() {
        let message = failure("semaphore", 0.0);
        assert!(message.starts_with("`semaphore` with u64: a queue of exactly 0 messages"), "{message}");
        assert!(message.ends_with("its semaphores count 1 to 4194302"), "{message}");
        let message = failure("semaphor", 1.0);
        assert!(message.contains("semaphor"), "{message}");
    }

    #[test]
    fn a_queue_larger_than_memory_is_refused_before_it_is_made() {
        let config = QueueConfig::from_spec(&spec("semaphore", "bytes:1024", 4_194_302.0)).unwrap();
        assert_eq!(config.bytes(), 4_194_302 * 1_032);
        let message = too_large("semaphore", &config, 2_000_000_000);
        assert!(message.contains("takes about 4329 MB") && message.contains("is 1000 MB"), "{message}");
        assert!(message.contains("smaller --capacity"), "{message}");
    }
}
