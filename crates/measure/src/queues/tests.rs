//! Tests every queue between real threads: no message is lost, doubled, reordered or left behind, and every run ends.

use super::catalogue::{Batches, KINDS, QueueKind, kind};
use super::ends::{QueueParameters, Refusal};
use super::exchange::RoleSettings;
use super::limits::{Received, RoleLimits, Sent};
use super::paced::Pace;
use super::payload::Payload;
use crate::counter;
use crate::kernel_context::{Guard, Halt};
use crate::sync::AtomicU64;
use crate::wait::WaitMode;
use proptest::prelude::*;
use std::sync::Arc;

type Outcome = (Vec<Result<Sent, Halt>>, Vec<Result<Received, Halt>>);

/// One trial; `stopped` aborts it at once.
struct Trial {
    payload: Payload,
    capacity: usize,
    spins: u32,
    settings: RoleSettings,
    messages: u64,
    span_ticks: u64,
    stopped: bool,
}

impl Trial {
    /// A trial of one producer and one consumer that sends this many messages at full speed.
    fn of_pair(payload: Payload, capacity: usize, messages: u64) -> Trial {
        let settings = RoleSettings::pair();
        Trial { payload, capacity, spins: 0, settings, messages, span_ticks: 1 << 40, stopped: false }
    }

    fn run(&self, kind: &QueueKind) -> Outcome {
        let shape = QueueParameters { capacity: fitting(kind, self.capacity), spins: self.spins };
        let roles = kind.code.open(self.payload, &shape, &self.settings).expect("a queue");
        let halt = AtomicU64::new(0);
        let deadline_ticks = counter::now_ticks() + (1 << 35);
        let guard = Guard { halt: &halt, deadline_ticks, now_ticks: counter::now_ticks };
        let until_ticks = counter::now_ticks().saturating_add(self.span_ticks);
        let limits = &RoleLimits { guard: &guard, until_ticks, messages: self.messages, apart_ticks: 50_000 };
        std::thread::scope(|scope| {
            let producers: Vec<_> =
                roles.producers.into_iter().map(|role| scope.spawn(move || role(limits))).collect();
            let consumers: Vec<_> =
                roles.consumers.into_iter().map(|role| scope.spawn(move || role(limits))).collect();
            if self.stopped {
                guard.give_up(Halt::Stopped);
            }
            (
                producers.into_iter().map(|thread| thread.join().expect("a role panicked")).collect(),
                consumers.into_iter().map(|thread| thread.join().expect("a role panicked")).collect(),
            )
        })
    }

    /// Runs the trial to its end and checks that everything sent was received in order.
    fn complete(&self, kind: &QueueKind) -> (Sent, Received) {
        let (mut producers, mut consumers) = self.run(kind);
        let sent = producers.remove(0).expect("nobody stops");
        let received = consumers.remove(0).expect("nobody stops");
        let [expected, found] = [(sent.messages, sent.sum), (received.messages, received.sum)];
        assert_eq!((found, received.wrong), (expected, 0), "{}, {}", kind.id, self.payload);
        (sent, received)
    }

    /// Runs the trial, which is stopped, and checks that messages received before the stop were in order.
    fn stop(&self, kind: &QueueKind) {
        let (producers, consumers) = self.run(kind);
        assert!(producers[0].is_err(), "{}", kind.id);
        assert_eq!(consumers[0].as_ref().map_or(0, |received| received.wrong), 0, "{}", kind.id);
    }
}

fn open(kind: &QueueKind, capacity: usize, settings: &RoleSettings) -> Result<(), Refusal> {
    kind.code.open(Payload::U64, &QueueParameters { capacity, spins: 0 }, settings).map(drop)
}

/// The capacity nearest to the requested one that this kind of queue supports.
fn fitting(kind: &QueueKind, capacity: usize) -> usize {
    match kind.id {
        "pipe" => capacity.next_power_of_two(),
        // The minimum capacity of a socket depends on the kernel; 16 short messages fit everywhere.
        "socketpair" => capacity.max(16),
        _ => capacity,
    }
}

fn payloads() -> impl Strategy<Value = Payload> {
    prop::sample::select(vec![Payload::U64, Payload::Bytes(64), Payload::Bytes(256), Payload::String])
}

/// Limits messages for queues that spin: on a busy machine their ends share a CPU and alternate once per quantum.
fn bounded(kind: &QueueKind, messages: u64) -> u64 {
    if kind.waits == WaitMode::Spin { messages.min(200) } else { messages }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn every_queue_delivers_everything_in_order(
        capacity in 1usize..40, payload in payloads(), messages in 0u64..1_500,
    ) {
        for kind in KINDS {
            let messages = bounded(kind, messages);
            let trial = Trial { spins: 10, ..Trial::of_pair(payload, capacity, messages) };
            let (sent, received) = trial.complete(kind);
            prop_assert_eq!(sent.messages, messages, "{}", kind.id);
            prop_assert_eq!(received.stamps.last().unwrap().count, messages);
            prop_assert!(kind.tells || (sent.full, received.empty) == (0, 0));
        }
    }

    #[test]
    fn every_queue_ends_at_its_time_and_keeps_what_was_sent(
        capacity in 1usize..40, payload in payloads(), span_ticks in 0u64..3_000_000,
    ) {
        for kind in KINDS {
            Trial { spins: 10, span_ticks, ..Trial::of_pair(payload, capacity, u64::MAX) }.complete(kind);
        }
    }

    #[test]
    fn every_queue_stops_on_request(capacity in 1usize..40, payload in payloads()) {
        for kind in KINDS {
            Trial { spins: 10, stopped: true, ..Trial::of_pair(payload, capacity, u64::MAX) }.stop(kind);
        }
    }

    #[test]
    fn batches_deliver_everything_in_order_and_stop_on_request(
        capacity in 2usize..40, batch in 2usize..40, payload in payloads(), messages in 0u64..1_500,
        stopped in proptest::bool::ANY,
    ) {
        for kind in KINDS.iter().filter(|kind| kind.batches != Batches::None) {
            let settings = RoleSettings { batch: batch.min(capacity), ..RoleSettings::pair() };
            let messages = if stopped { u64::MAX } else { bounded(kind, messages) };
            let trial = Trial { settings, stopped, ..Trial::of_pair(payload, capacity, messages) };
            if stopped {
                trial.stop(kind);
            } else {
                prop_assert_eq!(trial.complete(kind).0.messages, messages, "{}", kind.id);
            }
        }
    }

    #[test]
    fn queues_with_several_ends_lose_nothing(
        capacity in 1usize..20, producers in 1usize..4, consumers in 1usize..4, messages in 0u64..300,
    ) {
        for kind in KINDS {
            let producers = if kind.several[0] { producers } else { 1 };
            let consumers = if kind.several[1] { consumers } else { 1 };
            let settings = RoleSettings { producers, consumers, ..RoleSettings::default() };
            let messages = bounded(kind, messages) / 4;
            let trial = Trial { settings, ..Trial::of_pair(Payload::String, capacity, messages) };
            let (mut sent, mut received) = ((0, 0u64), (0, 0u64));
            let (of_producers, of_consumers) = trial.run(kind);
            for one in of_producers.into_iter().map(Result::unwrap) {
                sent = (sent.0 + one.messages, sent.1.wrapping_add(one.sum));
            }
            for one in of_consumers.into_iter().map(Result::unwrap) {
                prop_assert_eq!(one.wrong, 0, "{}", kind.id);
                received = (received.0 + one.messages, received.1.wrapping_add(one.sum));
            }
            prop_assert_eq!(received, sent, "{}", kind.id);
            prop_assert_eq!(received.0, messages * producers as u64, "{}", kind.id);
        }
    }
}

#[test]
fn unsupported_and_oversized_batches_are_refused() {
    for kind in KINDS {
        let refused =
            |batch, capacity| open(kind, capacity, &RoleSettings { batch, ..RoleSettings::pair() }).err();
        let has_none = matches!(refused(2, 16), Some(Refusal::NoBatches));
        assert_eq!(has_none, kind.batches == Batches::None, "{}", kind.id);
        if !has_none {
            assert!(matches!(refused(17, 16), Some(Refusal::Capacity { .. })), "{}", kind.id);
        }
    }
}

#[test]
fn batches_at_a_rate_are_whole_and_record_the_delays_of_their_ends() {
    for kind in KINDS.iter().filter(|kind| kind.batches != Batches::None) {
        let pace = Some(Arc::new(Pace::new(20_000.0, true)));
        let settings = RoleSettings { pace, batch: 5, ..RoleSettings::pair() };
        // The time is over at once; the minimum of two batches is still sent.
        let trial = Trial { settings, span_ticks: 0, ..Trial::of_pair(Payload::String, 16, 40) };
        let (sent, received) = trial.complete(kind);
        assert!(sent.messages >= 10 && sent.messages % 5 == 0, "{}: {}", kind.id, sent.messages);
        let delays = received.delays.unwrap();
        let ends = delays.of_batch.unwrap();
        assert_eq!(delays.corrected.len(), sent.messages);
        assert_eq!([ends[0].len(), ends[1].len()], [sent.messages / 5; 2]);
        // The first message of a batch waits for the four that follow.
        let least_ns = ends[0].histogram(coretalk_model::TickRate { hz: 1e9 }).percentile_ns(0.0);
        assert!(least_ns >= Some(0.95 * 80_000.0), "{}: {least_ns:?}", kind.id);
    }
}

#[test]
fn a_second_end_is_refused_unless_supported() {
    for kind in KINDS {
        for (side, name, settings) in [
            (0, "producer", RoleSettings { producers: 2, ..RoleSettings::pair() }),
            (1, "consumer", RoleSettings { consumers: 2, ..RoleSettings::pair() }),
        ] {
            let opened = open(kind, 16, &settings);
            let refused = matches!(&opened, Err(Refusal::OneOnly { side }) if *side == name);
            assert_eq!(refused, !kind.several[side], "{}: {opened:?}", kind.id);
        }
    }
}

#[test]
fn capacities_are_exact_or_refused_with_a_reason() {
    for kind in KINDS {
        let refused =
            |capacity| open(kind, capacity, &RoleSettings::pair()).err().map(|error| error.to_string());
        assert!(refused(0).is_some(), "{} took capacity 0", kind.id);
        assert!(refused(usize::MAX / 2).is_some(), "{} took the whole address space", kind.id);
        let one = refused(1);
        match kind.id {
            "socketpair" => assert!(one.unwrap().contains("at least"), "{}", kind.id),
            _ => assert_eq!(one, None, "{} cannot hold one message", kind.id),
        }
    }
    let pipe = open(kind("pipe").unwrap().0, 10, &RoleSettings::pair());
    assert!(pipe.unwrap_err().to_string().ends_with("is a power of two"));
}

#[test]
fn names_and_payloads_are_parsed_or_refused_with_a_reason() {
    assert_eq!(kind("semaphore-spin:7").unwrap().1, 7);
    assert_eq!(kind("mutex").unwrap().0.id, "mutex");
    for (name, reason) in [
        ("semaphore-spin:0", "from 1 to"),
        ("nothing", "unknown queue `nothing`: known are semaphore, "),
        ("spcs", "a similar name exists: `spsc`"),
    ] {
        let error = kind(name).unwrap_err().to_string();
        assert!(error.contains(reason), "{name}: {error}");
    }
    for text in ["u64", "bytes:64", "string"] {
        assert_eq!(Payload::parse(text).unwrap().to_string(), text);
    }
    for (text, reason) in
        [("bytes:63", "a message of `63` bytes: use 16, 64, 256, 1024"), ("int", "unknown payload `int`")]
    {
        let error = Payload::parse(text).unwrap_err().to_string();
        assert!(error == reason || text == "int" && error.starts_with(reason), "{text}: {error}");
    }
}

#[test]
fn versions_are_those_of_the_lock_file() {
    let lock = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock")).unwrap();
    for (name, version) in super::libraries::VERSIONS {
        let entry = format!("name = \"{name}\"\nversion = \"{version}\"\n");
        assert!(lock.contains(&entry), "{name} is not {version} in Cargo.lock");
    }
    for (id, package) in [
        ("array-queue", "crossbeam-queue"),
        ("crossbeam", "crossbeam-channel"),
        ("rtrb", "rtrb"),
        ("flume", "flume"),
        ("kanal", "kanal"),
    ] {
        let stated = kind(id).unwrap().0.version.unwrap();
        let known = super::libraries::VERSIONS.contains(&(package, stated));
        assert!(known, "{id} states version {stated} of {package}");
    }
}

#[test]
fn every_queue_keeps_a_rate_and_records_each_delay() {
    for kind in KINDS {
        let pace = Some(Arc::new(Pace::new(100_000.0, true)));
        let settings = RoleSettings { pace, ..RoleSettings::pair() };
        let trial = Trial { settings, ..Trial::of_pair(Payload::String, 16, 50) };
        let (sent, received) = trial.complete(kind);
        assert_eq!(sent.messages, 50, "{}", kind.id);
        let delays = received.delays.unwrap();
        assert_eq!((delays.corrected.len(), delays.uncorrected.len()), (50, 50));
    }
}
