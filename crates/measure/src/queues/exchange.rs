//! The timed loops. Producers send messages; consumers receive and check them.
//!
//! The compiler builds the loops for each queue and each message type. So between two messages they only call the
//! queue. Counts are kept in registers. The clock is read about every 20 µs.

use super::ends::{
    Implementation, Leave, NoMessage, QueueParameters, Receiver, Refusal, SendRefused, Sender, Watch,
};
use super::limits::Delays;
use super::limits::Stamps;
use super::limits::{Received, RoleLimits, Sent};
use super::message::Message;
use super::paced::{self, Pace};
use crate::kernel_context::Halt;
use std::sync::Arc;

/// Position of the bits that identify a message's producer. The order of each producer is checked separately.
const LANE_SHIFT: u32 = 56;
/// Maximum number of producers.
pub const MAX_PRODUCERS: usize = 1 << (u64::BITS - LANE_SHIFT);

/// A producer ready to start.
pub type Produce = Box<dyn FnOnce(&RoleLimits<'_>) -> Result<Sent, Halt> + Send>;
/// A consumer ready to start.
pub type Consume = Box<dyn FnOnce(&RoleLimits<'_>) -> Result<Received, Halt> + Send>;

/// The roles around one queue.
pub struct QueueRoles {
    /// The producers.
    pub producers: Vec<Produce>,
    /// The consumers.
    pub consumers: Vec<Consume>,
}

impl std::fmt::Debug for QueueRoles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Roles({} → {})", self.producers.len(), self.consumers.len())
    }
}

/// The number of ends on each side of a queue, their rate and their batches.
#[derive(Debug, Clone, Default)]
pub struct RoleSettings {
    /// Number of producers.
    pub producers: usize,
    /// Number of consumers.
    pub consumers: usize,
    /// Fixed rate from one producer to one consumer; `None` for full speed.
    pub pace: Option<Arc<Pace>>,
    /// Messages per batch; 0 and 1 mean single messages.
    pub batch: usize,
}

impl RoleSettings {
    /// One producer and one consumer at full speed.
    pub fn pair() -> RoleSettings {
        RoleSettings { producers: 1, consumers: 1, ..RoleSettings::default() }
    }
}

/// Opens a queue of this kind for these messages, with its roles. Fails if there is no such queue, or several ends were
/// requested on a side that allows only one.
pub fn roles<S: Implementation, M: Message>(
    shape: &QueueParameters,
    settings: &RoleSettings,
) -> Result<QueueRoles, Refusal> {
    let (sender, receiver) = S::open::<M>(shape)?;
    if let Some(pace) = &settings.pace {
        let (pace, paced) = (Arc::clone(pace), Arc::clone(pace));
        let producer: Produce = Box::new(move |limits| paced::produce::<M, _>(sender, limits, &pace));
        let mut delays = Box::new(Delays::default());
        let consumer: Consume = Box::new(move |limits| {
            let mut received = paced::consume::<M, _>(receiver, limits, &paced, &mut delays)?;
            received.delays = Some(delays);
            Ok(received)
        });
        return Ok(QueueRoles { producers: vec![producer], consumers: vec![consumer] });
    }
    let RoleSettings { producers, consumers, .. } = *settings;
    let mut senders = vec![sender];
    while senders.len() < producers {
        senders.push(senders[0].another().ok_or(Refusal::OneOnly { side: "producer" })?);
    }
    let mut receivers = vec![receiver];
    while receivers.len() < consumers {
        receivers.push(receivers[0].another().ok_or(Refusal::OneOnly { side: "consumer" })?);
    }
    let sender_count = senders.len();
    let producers = (0u64..)
        .zip(senders)
        .map(|(lane, sender)| -> Produce { Box::new(move |limits| produce::<M, _>(sender, limits, lane)) });
    let order = match (sender_count, consumers) {
        (1, 1) => ArrivalOrder::Counted,
        (_, 1) => ArrivalOrder::ByProducer,
        _ => ArrivalOrder::Rising,
    };
    let consumers = receivers
        .into_iter()
        .map(|receiver| -> Consume { Box::new(move |limits| consume::<M, _>(receiver, limits, order)) });
    Ok(QueueRoles { producers: producers.collect(), consumers: consumers.collect() })
}

/// Sends until the time is over or all messages are sent, then drops the sender. Fails with the reason to leave early.
#[inline(never)]
pub fn produce<M: Message, S: Sender<M>>(
    mut sender: S,
    limits: &RoleLimits<'_>,
    lane: u64,
) -> Result<Sent, Halt> {
    let watch = Watch { guard: limits.guard, until_ticks: limits.until_ticks };
    let mut stamps = Stamps::new(limits.apart_ticks);
    let base = lane << LANE_SHIFT;
    let (mut made, mut full) = (0, 0);
    'limits: while made < limits.messages {
        let now = (limits.guard.now_ticks)();
        limits.guard.check_at(now)?;
        if now > limits.until_ticks {
            break;
        }
        let next_stamp = stamps.take(made, now).min(limits.messages);
        while made < next_stamp {
            match sender.try_send(M::make(base | made)) {
                Ok(()) => {}
                Err(SendRefused::Full(message)) => {
                    full += 1;
                    match sender.send(message, &watch) {
                        Ok(()) => {}
                        Err(Leave::Over) => break 'limits,
                        Err(Leave::Halted(halt)) => return Err(halt),
                    }
                }
                Err(SendRefused::Closed) => return Err(Halt::Partner),
            }
            made += 1;
        }
    }
    let stamps = stamps.finish(made, (limits.guard.now_ticks)());
    Ok(Sent { messages: made, full, sum: base.wrapping_mul(made).wrapping_add(sum_below(made)), stamps })
}

/// Addresses of the producer's and the consumer's loop for numbers at full speed.
pub fn loops<S: Implementation>() -> [usize; 2] {
    let produce = produce::<u64, S::Sender<u64>> as fn(_, &RoleLimits<'_>, _) -> _;
    let consume = take_all::<u64, S::Receiver<u64>, Count> as fn(_, &RoleLimits<'_>, _) -> _;
    [produce as usize, consume as usize]
}

/// The sum 0 + 1 + … + (count − 1), wrapping at 64 bits: the expected sum of messages sent in order.
pub(super) fn sum_below(count: u64) -> u64 {
    let (even, odd) =
        if count.is_multiple_of(2) { (count, count.wrapping_sub(1)) } else { (count - 1, count) };
    (even / 2).wrapping_mul(odd)
}

/// The order in which messages must arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrivalOrder {
    /// One producer and one consumer: every message arrives in sequence.
    Counted,
    /// One consumer receives every message of each producer in sequence.
    ByProducer,
    /// Several consumers receive some messages of each producer, in rising order.
    Rising,
}

/// Checks received numbers against the expected ones.
pub(super) trait NumberCheck: Send {
    /// Records a number after `before` others. Returns whether it is in order.
    fn note(&mut self, before: u64, number: u64) -> bool;

    fn sum(&self, count: u64) -> u64;
}

/// With one producer and one consumer, the expected number is the count, kept in a register, and the sum is known. A
/// table in memory would cost a fast ring a tenth of its throughput.
#[derive(Default)]
pub(super) struct Count {
    off: u64,
}

impl NumberCheck for Count {
    #[inline(always)]
    fn note(&mut self, before: u64, number: u64) -> bool {
        if number == before {
            return true;
        }
        self.off = self.off.wrapping_add(number.wrapping_sub(before));
        false
    }

    fn sum(&self, count: u64) -> u64 {
        sum_below(count).wrapping_add(self.off)
    }
}

/// The next expected number of each producer.
struct ExpectedNumbers {
    next: Box<[u64; MAX_PRODUCERS]>,
    order: ArrivalOrder,
    sum: u64,
}

impl NumberCheck for ExpectedNumbers {
    #[inline]
    fn note(&mut self, _: u64, number: u64) -> bool {
        let next = &mut self.next[(number >> LANE_SHIFT) as usize];
        let count = number & !LANE_MASK;
        let in_order = if self.order == ArrivalOrder::Rising { count >= *next } else { count == *next };
        *next = count + 1;
        self.sum = self.sum.wrapping_add(number);
        in_order
    }

    fn sum(&self, _: u64) -> u64 {
        self.sum
    }
}

/// Receives until the queue is closed and empty. Fails with the reason to leave early.
pub fn consume<M: Message, R: Receiver<M>>(
    receiver: R,
    limits: &RoleLimits<'_>,
    order: ArrivalOrder,
) -> Result<Received, Halt> {
    match order {
        ArrivalOrder::Counted => take_all(receiver, limits, Count::default()),
        _ => {
            take_all(receiver, limits, ExpectedNumbers { next: Box::new([0; MAX_PRODUCERS]), order, sum: 0 })
        }
    }
}

#[inline(never)]
fn take_all<M: Message, R: Receiver<M>, A: NumberCheck>(
    mut receiver: R,
    limits: &RoleLimits<'_>,
    mut account: A,
) -> Result<Received, Halt> {
    let mut stamps = Stamps::new(limits.apart_ticks);
    let (mut taken, mut empty, mut wrong) = (0, 0, 0);
    'limits: loop {
        let now = (limits.guard.now_ticks)();
        limits.guard.check_at(now)?;
        let next_stamp = stamps.take(taken, now);
        while taken < next_stamp {
            let message = match receiver.try_receive() {
                Ok(message) => message,
                Err(NoMessage::Ever) => break 'limits,
                Err(NoMessage::Yet) => {
                    empty += 1;
                    match receiver.receive(limits.guard)? {
                        Some(message) => message,
                        None => break 'limits,
                    }
                }
            };
            let number = message.read();
            let in_order = account.note(taken, number.unwrap_or(u64::MAX));
            wrong += u64::from(number.is_none() || !in_order);
            taken += 1;
        }
    }
    let stamps = stamps.finish(taken, (limits.guard.now_ticks)());
    let sum = account.sum(taken);
    Ok(Received { messages: taken, empty, sum, wrong, stamps, ..Received::default() })
}

const LANE_MASK: u64 = !0 << LANE_SHIFT;

/// Loom test with two threads: in every interleaving no message is lost, doubled or reordered, and both ends finish.
#[cfg(all(test, loom))]
pub fn loom_duel<S: Implementation, M: Message>(capacity: usize, messages: u64) {
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
            for number in 0..messages {
                if let Err(SendRefused::Full(message)) = sender.try_send(M::make(number)) {
                    sender.send(message, &watch).unwrap();
                }
            }
        });
        let halt = AtomicU64::new(0);
        let guard = Guard { halt: &halt, deadline_ticks: u64::MAX, now_ticks: || 0 };
        for number in 0..messages {
            let message = receiver.receive(&guard).unwrap();
            assert_eq!(message.and_then(M::read), Some(number));
        }
        assert!(receiver.receive(&guard).unwrap().is_none());
        drop(receiver);
        producer.join().unwrap();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_sum_numbers_in_any_order() {
        let table = || ExpectedNumbers {
            next: Box::new([0; MAX_PRODUCERS]),
            order: ArrivalOrder::ByProducer,
            sum: 0,
        };
        for numbers in [vec![], vec![0], vec![0, 1, 2, 3], vec![0, 2, 1], vec![1, 0, u64::MAX, 3], vec![5; 9]]
        {
            let (mut count, mut table) = (Count::default(), table());
            let in_order: Vec<bool> =
                (0u64..).zip(&numbers).map(|(before, &number)| count.note(before, number)).collect();
            for (before, &number) in (0u64..).zip(&numbers) {
                table.note(before, number);
            }
            let sum = numbers.iter().fold(0u64, |sum, &number| sum.wrapping_add(number));
            let made = numbers.len() as u64;
            assert_eq!((count.sum(made), table.sum(made)), (sum, sum), "{numbers:?}");
            let expected = (0u64..).zip(&numbers).map(|(before, &number)| before == number);
            assert_eq!(in_order, expected.collect::<Vec<_>>(), "{numbers:?}");
        }
        assert_eq!(sum_below(1 << 40), (1u64 << 39).wrapping_mul((1 << 40) - 1));
    }
}
