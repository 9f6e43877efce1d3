//! The timed loops of one producer and one consumer that send and receive batches. Messages are still made, read and
//! checked one by one.
//!
//! A producer waits until the queue has room for its whole batch. A consumer takes at most a batch of the available
//! messages.

use super::ends::{
    Implementation, Leave, NoMessage, QueueParameters, Receiver, Refusal, SendRefused, Sender, Watch,
};
use super::exchange::{Consume, Count, NumberCheck, Produce, QueueRoles, RoleSettings, sum_below};
use super::limits::{Delays, Received, RoleLimits, Sent, Stamps};
use super::message::Message;
use super::paced::{Arrivals, Pace, SEQUENCE};
use crate::kernel_context::Halt;
use crate::tick_histogram::TickHistogram;
use std::sync::Arc;

/// Minimum number of batches sent at a rate, even beyond the time limit. Only whole batches are sent.
const MIN_PACED: u64 = 2;

/// Opens a queue of this kind for these messages, with one role on each side. Fails if there is no such queue or
/// several ends on one side were requested.
pub fn roles<S: Implementation, M: Message>(
    shape: &QueueParameters,
    settings: &RoleSettings,
) -> Result<QueueRoles, Refusal> {
    for (count, side) in [(settings.producers, "producer"), (settings.consumers, "consumer")] {
        if count > 1 {
            return Err(Refusal::OneOnly { side });
        }
    }
    let batch = settings.batch;
    if batch > shape.capacity {
        let reason = format!("a batch of {batch} waits in it as a whole");
        return Err(Refusal::Capacity { capacity: shape.capacity, reason });
    }
    let (sender, receiver) = S::open::<M>(shape)?;
    let (producer, consumer): (Produce, Consume) = match &settings.pace {
        Some(pace) => {
            let (pace, paced) = (Arc::clone(pace), Arc::clone(pace));
            (
                Box::new(move |limits| produce_paced::<M, _>(sender, limits, &pace, batch)),
                Box::new(move |limits| consume_paced::<M, _>(receiver, limits, &paced, batch)),
            )
        }
        None => (
            Box::new(move |limits| produce::<M, _>(sender, limits, batch)),
            Box::new(move |limits| consume::<M, _>(receiver, limits, batch)),
        ),
    };
    Ok(QueueRoles { producers: vec![producer], consumers: vec![consumer] })
}

/// Sends batches until the time is over or all messages are sent, then drops the sender. The last batch may be shorter.
#[inline(never)]
fn produce<M: Message, S: Sender<M>>(
    mut sender: S,
    limits: &RoleLimits<'_>,
    batch: usize,
) -> Result<Sent, Halt> {
    let watch = Watch { guard: limits.guard, until_ticks: limits.until_ticks };
    let mut stamps = Stamps::new(limits.apart_ticks);
    let (mut made, mut full) = (0, 0);
    'limits: while made < limits.messages {
        let now = (limits.guard.now_ticks)();
        limits.guard.check_at(now)?;
        if now > limits.until_ticks {
            break;
        }
        let next_stamp = stamps.take(made, now).min(limits.messages);
        while made < next_stamp {
            let count = usize::try_from(limits.messages - made).map_or(batch, |left| left.min(batch));
            match send(&mut sender, count, &|index| M::make(made + index as u64), &watch, &mut full) {
                Ok(sent) => made += sent as u64,
                Err(Leave::Over) => break 'limits,
                Err(Leave::Halted(halt)) => return Err(halt),
            }
        }
    }
    let stamps = stamps.finish(made, (limits.guard.now_ticks)());
    Ok(Sent { messages: made, full, sum: sum_below(made), stamps })
}

/// Sends a batch, or the part of it that the queue accepts at once.
#[inline(always)]
fn send<M, S: Sender<M>>(
    sender: &mut S,
    count: usize,
    make: &impl Fn(usize) -> M,
    watch: &Watch<'_>,
    full: &mut u64,
) -> Result<usize, Leave> {
    match sender.try_send_batch(count, make) {
        Ok(sent) => Ok(sent),
        Err(SendRefused::Full(())) => {
            *full += 1;
            sender.send_batch(count, make, watch)
        }
        Err(SendRefused::Closed) => Err(Leave::Halted(Halt::Partner)),
    }
}

#[inline(never)]
fn consume<M: Message, R: Receiver<M>>(
    mut receiver: R,
    limits: &RoleLimits<'_>,
    batch: usize,
) -> Result<Received, Halt> {
    let mut stamps = Stamps::new(limits.apart_ticks);
    let mut account = Count::default();
    let mut buffer = Vec::new();
    let (mut taken, mut empty, mut wrong) = (0, 0, 0);
    'limits: loop {
        let now = (limits.guard.now_ticks)();
        limits.guard.check_at(now)?;
        let next_stamp = stamps.take(taken, now);
        while taken < next_stamp {
            let mut each = |message: M| {
                let number = message.read();
                let in_order = account.note(taken, number.unwrap_or(u64::MAX));
                wrong += u64::from(number.is_none() || !in_order);
                taken += 1;
            };
            match receiver.try_receive_batch(batch, &mut buffer, &mut each) {
                Ok(_) => {}
                Err(NoMessage::Ever) => break 'limits,
                Err(NoMessage::Yet) => {
                    empty += 1;
                    if receiver.receive_batch(batch, &mut buffer, &mut each, limits.guard)? == 0 {
                        break 'limits;
                    }
                }
            }
        }
    }
    let stamps = stamps.finish(taken, (limits.guard.now_ticks)());
    let sum = account.sum(taken);
    Ok(Received { messages: taken, empty, sum, wrong, stamps, ..Received::default() })
}

/// Sends at a rate. Each message has a due time, and a batch is sent when its last message is due.
fn produce_paced<M: Message, S: Sender<M>>(
    mut sender: S,
    limits: &RoleLimits<'_>,
    pace: &Pace,
    batch: usize,
) -> Result<Sent, Halt> {
    let begun = pace.begin();
    let fewest = MIN_PACED * batch as u64;
    let least_ticks = pace.intended(begun, fewest);
    let watch = Watch { guard: limits.guard, until_ticks: limits.until_ticks.max(least_ticks) };
    let mut sent = Sent::default();
    let last_of = |messages: u64| messages + batch as u64 - 1;
    while last_of(sent.messages) < SEQUENCE && sent.messages < limits.messages {
        let now = pace.wait_until(pace.intended(begun, last_of(sent.messages)), limits.guard)?;
        if now > limits.until_ticks && sent.messages >= fewest {
            break;
        }
        let number = |sequence: u64| pace.number(now, begun, sequence);
        let mut sent_of_batch = 0;
        while sent_of_batch < batch {
            let from = sent.messages;
            let make = |index: usize| M::make(number(from + index as u64));
            let count = match send(&mut sender, batch - sent_of_batch, &make, &watch, &mut sent.full) {
                Ok(count) => count,
                Err(Leave::Over) => return Ok(sent),
                Err(Leave::Halted(halt)) => return Err(halt),
            };
            for sequence in from..from + count as u64 {
                sent.sum = sent.sum.wrapping_add(number(sequence));
            }
            sent.messages += count as u64;
            sent_of_batch += count;
        }
    }
    Ok(sent)
}

/// Receives until the queue is closed and empty. Records delays of all messages and of the ends of each batch.
fn consume_paced<M: Message, R: Receiver<M>>(
    mut receiver: R,
    limits: &RoleLimits<'_>,
    pace: &Pace,
    batch: usize,
) -> Result<Received, Halt> {
    let mut delays = Box::new(Delays::default());
    let mut ends: Box<[TickHistogram; 2]> = Box::default();
    let mut arrivals = Arrivals::new(limits, pace, &mut delays);
    let mut buffer = Vec::new();
    let mut empty = 0;
    loop {
        let mut outcome = Ok(());
        let mut each = |message: M| match arrivals.note(message) {
            Ok((sequence, late)) => {
                for (end, place) in ends.iter_mut().zip([0, batch as u64 - 1]) {
                    if sequence % batch as u64 == place {
                        end.count(late);
                    }
                }
            }
            Err(halt) => outcome = outcome.and(Err(halt)),
        };
        match receiver.try_receive_batch(batch, &mut buffer, &mut each) {
            Ok(_) => {}
            Err(NoMessage::Ever) => break,
            Err(NoMessage::Yet) => {
                empty += 1;
                if receiver.receive_batch(batch, &mut buffer, &mut each, limits.guard)? == 0 {
                    break;
                }
            }
        }
        outcome?;
    }
    let received = arrivals.finish();
    delays.of_batch = Some(ends);
    Ok(Received { empty, delays: Some(delays), ..received })
}

/// Loom test: in every interleaving of two threads no message is lost, doubled or reordered, a batch sent as a whole
/// becomes visible as a whole, and both ends finish.
#[cfg(all(test, loom))]
pub fn loom_duel_of_batches<S: Implementation, M: Message>(capacity: usize, batch: usize, messages: u64) {
    use crate::kernel_context::Guard;
    use crate::sync::AtomicU64;
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let (mut sender, mut receiver) = S::open::<M>(&QueueParameters { capacity, spins: 0 }).unwrap();
        let producer = loom::thread::spawn(move || {
            let halt = AtomicU64::new(0);
            let guard = Guard { halt: &halt, deadline_ticks: u64::MAX, now_ticks: || 0 };
            let watch = Watch { guard: &guard, until_ticks: u64::MAX };
            let mut made = 0;
            while made < messages {
                let count = batch.min((messages - made) as usize);
                let sent = send(&mut sender, count, &|index| M::make(made + index as u64), &watch, &mut 0);
                assert_eq!(sent, Ok(count));
                made += count as u64;
            }
        });
        let halt = AtomicU64::new(0);
        let guard = Guard { halt: &halt, deadline_ticks: u64::MAX, now_ticks: || 0 };
        let (mut taken, mut buffer) = (0, Vec::new());
        loop {
            let before = taken;
            let mut each = |message: M| {
                assert_eq!(message.read(), Some(taken));
                taken += 1;
            };
            if receiver.receive_batch(batch, &mut buffer, &mut each, &guard).unwrap() == 0 {
                break;
            }
            // Batches begin at multiples of their length, and none was partly visible.
            assert!(before % batch as u64 == 0 && (taken % batch as u64 == 0 || taken == messages));
        }
        assert_eq!(taken, messages);
        drop(receiver);
        producer.join().unwrap();
    });
}
