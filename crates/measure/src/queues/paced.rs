//! The timed loops at a fixed rate. Every message has a due time that does not depend on the progress of earlier
//! messages. Its corrected delay counts from that time.
//!
//! A loop that waits for one message before it sends the next samples least when the queue is slowest (coordinated
//! omission). The uncorrected delay, from the actual sending, is reported for comparison.

use super::ends::{Leave, NoMessage, Receiver, SendRefused, Sender, Watch};
use super::limits::Stamps;
use super::limits::{Delays, Received, RoleLimits, Sent};
use super::message::Message;
use crate::counter;
use crate::kernel_context::{Guard, Halt};
use crate::sync::AtomicU64;
use crate::sync::Ordering::Relaxed;
use crate::wait::{Pause, WaitAction};

/// A fixed rate and its start.
#[derive(Debug)]
pub struct Pace {
    /// Ticks between messages.
    pub every_ticks: f64,
    /// Due time of the first message. It is written once, before that message is sent.
    begun: AtomicU64,
    /// Whether both ends share a CPU. A waiting end must then yield.
    pub shared: bool,
}

/// Position of a message's lateness when it was sent. The bits below are its sequence number.
const LATE_SHIFT: u32 = 32;
pub(super) const SEQUENCE: u64 = (1 << LATE_SHIFT) - 1;
/// Ticks from the start of the loop to the first due time.
const LEAD_TICKS: u64 = 50_000;

impl Pace {
    /// A rate of one message every `every_ticks`.
    pub fn new(every_ticks: f64, shared: bool) -> Pace {
        Pace { every_ticks, begun: AtomicU64::new(0), shared }
    }

    pub(super) fn begin(&self) -> u64 {
        let begun = counter::now_ticks() + LEAD_TICKS;
        // Relaxed: the first message orders this store before the consumer's load.
        self.begun.store(begun, Relaxed);
        begun
    }

    pub(super) fn intended(&self, begun: u64, sequence: u64) -> u64 {
        begun + (sequence as f64 * self.every_ticks) as u64
    }

    pub(super) fn wait_until(&self, intended: u64, guard: &Guard<'_>) -> Result<u64, Halt> {
        let mut now = counter::now_ticks();
        while now < intended {
            if self.shared {
                std::thread::yield_now();
            } else {
                Pause::wait();
            }
            now = counter::now_ticks();
            guard.check_at(now)?;
        }
        Ok(now)
    }

    /// Encodes the sequence number and the lateness of the message that is sent now.
    pub(super) fn number(&self, now: u64, begun: u64, sequence: u64) -> u64 {
        let late = now.saturating_sub(self.intended(begun, sequence)).min(u64::from(u32::MAX));
        late << LATE_SHIFT | sequence
    }
}

/// Sends at the rate until the time is over, then drops the sender. Fails with the reason to leave early.
pub fn produce<M: Message, S: Sender<M>>(
    mut sender: S,
    limits: &RoleLimits<'_>,
    pace: &Pace,
) -> Result<Sent, Halt> {
    let watch = Watch { guard: limits.guard, until_ticks: limits.until_ticks };
    let begun = pace.begin();
    let mut sent = Sent::default();
    while sent.messages < limits.messages.min(SEQUENCE) {
        let now = pace.wait_until(pace.intended(begun, sent.messages), limits.guard)?;
        if now > limits.until_ticks {
            break;
        }
        limits.guard.check_at(now)?;
        let number = pace.number(now, begun, sent.messages);
        match sender.try_send(M::make(number)) {
            Ok(()) => {}
            Err(SendRefused::Full(message)) => {
                sent.full += 1;
                match sender.send(message, &watch) {
                    Ok(()) => {}
                    Err(Leave::Over) => break,
                    Err(Leave::Halted(halt)) => return Err(halt),
                }
            }
            Err(SendRefused::Closed) => return Err(Halt::Partner),
        }
        sent.sum = sent.sum.wrapping_add(number);
        sent.messages += 1;
    }
    Ok(sent)
}

/// Receives until the queue is closed and empty, and records the delay of each message. Fails with the reason to leave
/// early.
pub fn consume<M: Message, R: Receiver<M>>(
    mut receiver: R,
    limits: &RoleLimits<'_>,
    pace: &Pace,
    delays: &mut Delays,
) -> Result<Received, Halt> {
    let mut arrivals = Arrivals::new(limits, pace, delays);
    loop {
        let message = match receiver.try_receive() {
            Ok(message) => message,
            Err(NoMessage::Ever) => break,
            Err(NoMessage::Yet) => {
                arrivals.received.empty += 1;
                match receiver.receive(limits.guard)? {
                    Some(message) => message,
                    None => break,
                }
            }
        };
        arrivals.note(message)?;
    }
    Ok(arrivals.finish())
}

pub(super) struct Arrivals<'a> {
    limits: &'a RoleLimits<'a>,
    pace: &'a Pace,
    delays: &'a mut Delays,
    pub(super) received: Received,
    stamps: Stamps,
    next_stamp: u64,
}

impl<'a> Arrivals<'a> {
    pub(super) fn new(limits: &'a RoleLimits<'a>, pace: &'a Pace, delays: &'a mut Delays) -> Self {
        let stamps = Stamps::new(limits.apart_ticks);
        Arrivals { limits, pace, delays, received: Received::default(), stamps, next_stamp: 0 }
    }

    /// Reads a message and records its arrival. Returns its sequence number and its delay since the due time, in ticks.
    #[inline(always)]
    pub(super) fn note<M: Message>(&mut self, message: M) -> Result<(u64, u64), Halt> {
        let received = &mut self.received;
        let number = message.read();
        let now = counter::stop();
        if received.messages == self.next_stamp {
            self.limits.guard.check_at(now)?;
            self.next_stamp = self.stamps.take(received.messages, now);
        }
        let value = number.unwrap_or(u64::MAX);
        let sequence = value & SEQUENCE;
        received.wrong += u64::from(number.is_none() || sequence != received.messages);
        // Relaxed: the message orders this load. Counters of two CPUs may differ slightly; negative delays count as 0.
        let intended = self.pace.intended(self.pace.begun.load(Relaxed), sequence);
        let late = now.saturating_sub(intended);
        self.delays.corrected.count(late);
        self.delays.uncorrected.count(now.saturating_sub(intended + (value >> LATE_SHIFT)));
        received.sum = received.sum.wrapping_add(value);
        received.messages += 1;
        Ok((sequence, late))
    }

    pub(super) fn finish(mut self) -> Received {
        self.received.stamps = self.stamps.finish(self.received.messages, counter::now_ticks());
        self.received
    }
}
