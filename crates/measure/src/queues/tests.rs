//! Tests every queue between real threads: no message is lost, doubled, reordered or left behind, and every run ends.

use super::catalogue::{Batches, KINDS, Kind, kind};
use super::ends::{Refusal, Shape};
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

struct Outcome {
    producers: Vec<Result<Sent, Halt>>,
    consumers: Vec<Result<Received, Halt>>,
}

/// Runs one trial at full speed; `stopped` aborts it at once.
fn run(
    kind: &Kind,
    payload: Payload,
    shape: Shape,
    sides: [usize; 2],
    messages: u64,
    span_ticks: u64,
    stopped: bool,
) -> Result<Outcome, Refusal> {
    let settings = RoleSettings { producers: sides[0], consumers: sides[1], ..RoleSettings::default() };
    run_with(kind, payload, shape, &settings, messages, span_ticks, stopped)
}

fn run_with(
    kind: &Kind,
    payload: Payload,
    shape: Shape,
    settings: &RoleSettings,
    messages: u64,
    span_ticks: u64,
    stopped: bool,
) -> Result<Outcome, Refusal> {
    let roles = kind.code.open(payload, &shape, settings)?;
    let halt = AtomicU64::new(0);
    let deadline_ticks = counter::now_ticks() + (1 << 35);
    let guard = Guard { halt: &halt, deadline_ticks, now_ticks: counter::now_ticks };
    let until_ticks = counter::now_ticks().saturating_add(span_ticks);
    let limits = RoleLimits { guard: &guard, until_ticks, messages, apart_ticks: 50_000 };
    let limits = &limits;
    Ok(std::thread::scope(|scope| {
        let producers: Vec<_> =
            roles.producers.into_iter().map(|role| scope.spawn(move || role(limits))).collect();
        let consumers: Vec<_> =
            roles.consumers.into_iter().map(|role| scope.spawn(move || role(limits))).collect();
        if stopped {
            guard.give_up(Halt::Stopped);
        }
        Outcome {
            producers: producers.into_iter().map(|thread| thread.join().expect("a role panicked")).collect(),
            consumers: consumers.into_iter().map(|thread| thread.join().expect("a role panicked")).collect(),
        }
    }))
}

/// The capacity nearest to the requested one that this kind of queue supports.
fn fitting(kind: &Kind, capacity: usize) -> usize {
    match kind.id {
        "pipe" => capacity.next_power_of_two(),
        // The minimum capacity of a socket depends on the kernel; 16 short messages fit everywhere.
        "socketpair" => capacity.max(16),
        _ => capacity,
    }
}

fn payloads() -> impl Strategy<Value = Payload> {
    prop_oneof![
        Just(Payload::U64),
        Just(Payload::Bytes(64)),
        Just(Payload::Bytes(256)),
        Just(Payload::String)
    ]
}

/// Limits messages for queues that spin: on a busy machine their ends share a CPU and alternate once per quantum.
fn bounded(kind: &Kind, messages: u64) -> u64 {
    if kind.waits == WaitMode::Spin { messages.min(200) } else { messages }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn every_queue_delivers_everything_in_order(
        capacity in 1usize..40, payload in payloads(), messages in 0u64..1_500,
    ) {
        for kind in KINDS {
            let shape = Shape { capacity: fitting(kind, capacity), spins: 10 };
            let messages = bounded(kind, messages);
            let outcome = run(kind, payload, shape, [1, 1], messages, 1 << 40, false).unwrap();
            let sent = outcome.producers[0].clone().unwrap();
            let received = outcome.consumers[0].as_ref().unwrap();
            prop_assert_eq!(sent.messages, messages, "{}", kind.id);
            prop_assert_eq!((received.messages, received.sum), (messages, sent.sum), "{}", kind.id);
            prop_assert_eq!(received.wrong, 0, "{} {:?} {}", kind.id, shape, payload);
            prop_assert_eq!(received.stamps.last().unwrap().count, messages);
            prop_assert!(kind.tells || (sent.full, received.empty) == (0, 0));
        }
    }

    #[test]
    fn every_queue_ends_at_its_time_and_keeps_what_was_sent(
        capacity in 1usize..40, payload in payloads(), span in 0u64..3_000_000,
    ) {
        for kind in KINDS {
            let shape = Shape { capacity: fitting(kind, capacity), spins: 10 };
            let outcome = run(kind, payload, shape, [1, 1], u64::MAX, span, false).unwrap();
            let sent = outcome.producers[0].clone().unwrap();
            let received = outcome.consumers[0].as_ref().unwrap();
            prop_assert_eq!((received.messages, received.sum), (sent.messages, sent.sum), "{}", kind.id);
            prop_assert_eq!(received.wrong, 0, "{}", kind.id);
        }
    }

    #[test]
    fn every_queue_stops_on_request(capacity in 1usize..40, payload in payloads()) {
        for kind in KINDS {
            let shape = Shape { capacity: fitting(kind, capacity), spins: 10 };
            let outcome = run(kind, payload, shape, [1, 1], u64::MAX, 1 << 40, true).unwrap();
            prop_assert!(outcome.producers[0].is_err(), "{}", kind.id);
            if let Ok(received) = &outcome.consumers[0] {
                prop_assert_eq!(received.wrong, 0, "{}: what came before was in order", kind.id);
            }
        }
    }

    #[test]
    fn batches_deliver_everything_in_order_and_stop_on_request(
        capacity in 2usize..40, batch in 2usize..40, payload in payloads(), messages in 0u64..1_500,
        stopped in proptest::bool::ANY,
    ) {
        for kind in KINDS.iter().filter(|kind| kind.batches != Batches::None) {
            let shape = Shape { capacity, spins: 0 };
            let settings = RoleSettings { batch: batch.min(capacity), ..RoleSettings::pair() };
            let messages = if stopped { u64::MAX } else { bounded(kind, messages) };
            let outcome = run_with(kind, payload, shape, &settings, messages, 1 << 40, stopped).unwrap();
            if stopped {
                prop_assert!(outcome.producers[0].is_err(), "{}", kind.id);
                prop_assert!(outcome.consumers[0].as_ref().map_or(0, |received| received.wrong) == 0, "{}", kind.id);
                continue;
            }
            let sent = outcome.producers[0].clone().unwrap();
            let received = outcome.consumers[0].as_ref().unwrap();
            prop_assert_eq!((sent.messages, received.messages), (messages, messages), "{}", kind.id);
            prop_assert_eq!((received.sum, received.wrong), (sent.sum, 0), "{}", kind.id);
        }
    }

    #[test]
    fn queues_with_several_ends_lose_nothing(
        capacity in 1usize..20, producers in 1usize..4, consumers in 1usize..4, messages in 0u64..300,
    ) {
        for kind in KINDS {
            let sides = [
                if kind.several[0] { producers } else { 1 },
                if kind.several[1] { consumers } else { 1 },
            ];
            let shape = Shape { capacity: fitting(kind, capacity), spins: 0 };
            let messages = bounded(kind, messages) / 4;
            let outcome = run(kind, Payload::String, shape, sides, messages, 1 << 40, false).unwrap();
            let sum = |sums: Vec<u64>| sums.into_iter().fold(0u64, u64::wrapping_add);
            let sent = sum(outcome.producers.iter().map(|sent| sent.as_ref().unwrap().sum).collect());
            let received: Vec<&Received> = outcome.consumers.iter().map(|result| result.as_ref().unwrap()).collect();
            prop_assert_eq!(sum(received.iter().map(|received| received.sum).collect()), sent, "{}", kind.id);
            let count: u64 = received.iter().map(|received| received.messages).sum();
            prop_assert_eq!(count, messages * sides[0] as u64, "{}", kind.id);
            prop_assert!(received.iter().all(|received| received.wrong == 0), "{}", kind.id);
        }
    }
}

#[test]
fn unsupported_and_oversized_batches_are_refused() {
    for kind in KINDS {
        let refused = |batch, capacity| {
            let settings = RoleSettings { batch, ..RoleSettings::pair() };
            kind.code.open(Payload::U64, &Shape { capacity, spins: 0 }, &settings).err()
        };
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
        let shape = Shape { capacity: 16, spins: 0 };
        // The time is over at once; the minimum of two batches is still sent.
        let outcome = run_with(kind, Payload::String, shape, &settings, 40, 0, false).unwrap();
        let (sent, received) = (outcome.producers[0].clone().unwrap(), outcome.consumers[0].clone().unwrap());
        assert!(sent.messages >= 10 && sent.messages % 5 == 0, "{}: {}", kind.id, sent.messages);
        assert_eq!(
            (received.messages, received.sum, received.wrong),
            (sent.messages, sent.sum, 0),
            "{}",
            kind.id
        );
        let delays = received.delays.unwrap();
        let ends = delays.of_batch.unwrap();
        assert_eq!(delays.corrected.len(), sent.messages);
        assert_eq!([ends[0].len(), ends[1].len()], [sent.messages / 5; 2]);
        // The first message of a batch waits for the four that follow.
        let least = |ticks: &crate::tick_histogram::TickHistogram| {
            ticks.histogram(coretalk_model::TickRate { hz: 1e9 }).percentile_ns(0.0)
        };
        assert!(least(&ends[0]) >= Some(0.95 * 80_000.0), "{}: {:?}", kind.id, least(&ends[0]));
    }
}

#[test]
fn a_second_end_is_refused_unless_supported() {
    let shape = Shape { capacity: 16, spins: 0 };
    for kind in KINDS {
        for (side, name) in ["producer", "consumer"].into_iter().enumerate() {
            let sides = [1 + usize::from(side == 0), 1 + usize::from(side == 1)];
            let settings =
                RoleSettings { producers: sides[0], consumers: sides[1], ..RoleSettings::default() };
            let opened = kind.code.open(Payload::U64, &shape, &settings);
            let refused = matches!(&opened, Err(Refusal::OneOnly { side }) if *side == name);
            assert_eq!(refused, !kind.several[side], "{}: {opened:?}", kind.id);
        }
    }
}

#[test]
fn capacities_are_exact_or_refused_with_a_reason() {
    for kind in KINDS {
        let refused = |capacity| {
            kind.code
                .open(Payload::U64, &Shape { capacity, spins: 0 }, &RoleSettings::pair())
                .err()
                .map(|error| error.to_string())
        };
        assert!(refused(0).is_some(), "{} took capacity 0", kind.id);
        assert!(refused(usize::MAX / 2).is_some(), "{} took the whole address space", kind.id);
        let one = refused(1);
        match kind.id {
            "socketpair" => assert!(one.unwrap().contains("at least"), "{}", kind.id),
            _ => assert_eq!(one, None, "{} cannot hold one message", kind.id),
        }
    }
    let pipe = kind("pipe").unwrap().0.code.open(
        Payload::U64,
        &Shape { capacity: 10, spins: 0 },
        &RoleSettings::pair(),
    );
    assert!(pipe.unwrap_err().to_string().ends_with("is a power of two"));
}

#[test]
fn names_and_payloads_are_parsed_or_refused_with_a_reason() {
    assert_eq!(kind("semaphore-spin:7").unwrap().1, 7);
    assert_eq!(kind("mutex").unwrap().0.id, "mutex");
    assert!(kind("semaphore-spin:0").unwrap_err().to_string().contains("from 1 to"));
    assert!(
        kind("nothing")
            .unwrap_err()
            .to_string()
            .starts_with("unknown queue `nothing`: known are semaphore, ")
    );
    assert!(kind("spcs").unwrap_err().to_string().contains("a similar name exists: `spsc`"));
    for text in ["u64", "bytes:64", "string"] {
        assert_eq!(Payload::parse(text).unwrap().to_string(), text);
    }
    assert_eq!(
        Payload::parse("bytes:63").unwrap_err().to_string(),
        "a message of `63` bytes: use 16, 64, 256, 1024"
    );
    assert!(Payload::parse("int").unwrap_err().to_string().starts_with("unknown payload `int`"));
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
        assert!(
            super::libraries::VERSIONS.contains(&(package, stated)),
            "{id} states version {stated} of {package}"
        );
    }
}

#[test]
fn every_queue_keeps_a_rate_and_records_each_delay() {
    for kind in KINDS {
        let shape = Shape { capacity: fitting(kind, 16), spins: 0 };
        let pace = Some(Arc::new(Pace::new(100_000.0, true)));
        let roles =
            kind.code.open(Payload::String, &shape, &RoleSettings { pace, ..RoleSettings::pair() }).unwrap();
        let halt = AtomicU64::new(0);
        let deadline_ticks = counter::now_ticks() + (1 << 35);
        let guard = Guard { halt: &halt, deadline_ticks, now_ticks: counter::now_ticks };
        let limits = RoleLimits { guard: &guard, until_ticks: u64::MAX, messages: 50, apart_ticks: 50_000 };
        let (sent, received) = std::thread::scope(|scope| {
            let producer = roles.producers.into_iter().next().unwrap();
            let consumer = roles.consumers.into_iter().next().unwrap();
            let producer = scope.spawn(|| producer(&limits).unwrap());
            let received = consumer(&limits).unwrap();
            (producer.join().unwrap(), received)
        });
        assert_eq!((sent.messages, received.messages, received.wrong), (50, 50, 0), "{}", kind.id);
        let delays = received.delays.unwrap();
        assert_eq!((delays.corrected.len(), delays.uncorrected.len()), (50, 50));
    }
}
