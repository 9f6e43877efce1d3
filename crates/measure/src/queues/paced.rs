//! The timed loops at a fixed rate: every message has a time at which it is meant to be sent, whatever became of those
//! before, and the time until it is received counts from there.
//!
//! A loop that sends the next message when the last one has gone through asks least when the queue is slowest
//! (coordinated omission); the delay that it sees from the actual sending stands beside the corrected one.

use super::course::Stamps;
use super::course::{Course, Delays, Received, Sent};
use super::ends::{Leave, NoMessage, Receiver, Refused, Sender, Watch};
use super::message::Message;
use crate::counter;
use crate::stage::{Guard, Halt};
use crate::sync::AtomicU64;
use crate::sync::Ordering::Relaxed;
use crate::wait::{Pause, WaitAction};

/// A rate, and when it began.
#[derive(Debug)]
pub struct Pace {
    /// Ticks from one message to the next.
    pub every_ticks: f64,
    /// When the first message was meant to be sent; written once, before it.
    begun: AtomicU64,
    /// Whether both ends share a CPU, so that waiting must give it away.
    pub shared: bool,
}

/// The number of a message is its sequence below this bit, and how late it was sent above.
const LATE_SHIFT: u32 = 32;
pub(super) const SEQUENCE: u64 = (1 << LATE_SHIFT) - 1;
/// From the begin of the loop to the first message.
const LEAD_TICKS: u64 = 50_000;

impl Pace {
    /// One message every so many ticks.
    pub fn new(every_ticks: f64, shared: bool) -> Pace {
        Pace { every_ticks, begun: AtomicU64::new(0), shared }
    }

    /// Begins now, or a little later: when the first message is meant to be sent.
    pub(super) fn begin(&self) -> u64 {
        let begun = counter::now_ticks() + LEAD_TICKS;
        // Relaxed: the first message orders it before the consumer's load.
        self.begun.store(begun, Relaxed);
        begun
    }

    pub(super) fn intended(&self, begun: u64, sequence: u64) -> u64 {
        begun + (sequence as f64 * self.every_ticks) as u64
    }

    /// Waits until then, and says when it is.
    ///
    /// # Errors
    /// The reason to leave.
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

    /// The number of a message that is sent now.
    pub(super) fn number(&self, now: u64, begun: u64, sequence: u64) -> u64 {
        let late = now.saturating_sub(self.intended(begun, sequence)).min(u64::from(u32::MAX));
        late << LATE_SHIFT | sequence
    }
}

/// Sends at the pace until the time is up; then lets its end go.
///
/// # Errors
/// The reason to leave early.
pub fn produce<M: Message, S: Sender<M>>(
    mut sender: S,
    course: &Course<'_>,
    pace: &Pace,
) -> Result<Sent, Halt> {
    let watch = Watch { guard: course.guard, until_ticks: course.until_ticks };
    let begun = pace.begin();
    let mut sent = Sent::default();
    while sent.messages < course.messages.min(SEQUENCE) {
        let now = pace.wait_until(pace.intended(begun, sent.messages), course.guard)?;
        if now > course.until_ticks {
            break;
        }
        course.guard.check_at(now)?;
        let number = pace.number(now, begun, sent.messages);
        match sender.try_send(M::make(number)) {
            Ok(()) => {}
            Err(Refused::Full(message)) => {
                sent.full += 1;
                match sender.send(message, &watch) {
                    Ok(()) => {}
                    Err(Leave::Over) => break,
                    Err(Leave::Halted(halt)) => return Err(halt),
                }
            }
            Err(Refused::Closed) => return Err(Halt::Partner),
        }
        sent.sum = sent.sum.wrapping_add(number);
        sent.messages += 1;
    }
    Ok(sent)
}

/// Receives until nothing will come any more, and counts how long each message took.
///
/// # Errors
/// The reason to leave early.
pub fn consume<M: Message, R: Receiver<M>>(
    mut receiver: R,
    course: &Course<'_>,
    pace: &Pace,
    delays: &mut Delays,
) -> Result<Received, Halt> {
    let mut arrivals = Arrivals::new(course, pace, delays);
    loop {
        let message = match receiver.try_receive() {
            Ok(message) => message,
            Err(NoMessage::Ever) => break,
            Err(NoMessage::Yet) => {
                arrivals.received.empty += 1;
                match receiver.receive(course.guard)? {
                    Some(message) => message,
                    None => break,
                }
            }
        };
        arrivals.note(message)?;
    }
    Ok(arrivals.finish())
}

/// Messages as they arrive, and how long each took.
pub(super) struct Arrivals<'a> {
    course: &'a Course<'a>,
    pace: &'a Pace,
    delays: &'a mut Delays,
    pub(super) received: Received,
    stamps: Stamps,
    next_stamp: u64,
}

impl<'a> Arrivals<'a> {
    pub(super) fn new(course: &'a Course<'a>, pace: &'a Pace, delays: &'a mut Delays) -> Self {
        let stamps = Stamps::new(course.apart_ticks);
        Arrivals { course, pace, delays, received: Received::default(), stamps, next_stamp: 0 }
    }

    /// Reads a message and notes when that was. Gives its place among all, and how long it took since it was due, in ticks.
    ///
    /// # Errors
    /// The reason to leave.
    #[inline(always)]
    pub(super) fn note<M: Message>(&mut self, message: M) -> Result<(u64, u64), Halt> {
        let received = &mut self.received;
        let number = message.read();
        let now = counter::stop();
        if received.messages == self.next_stamp {
            self.course.guard.check_at(now)?;
            self.next_stamp = self.stamps.take(received.messages, now);
        }
        let value = number.unwrap_or(u64::MAX);
        let sequence = value & SEQUENCE;
        received.wrong += u64::from(number.is_none() || sequence != received.messages);
        // Relaxed: the message orders it. Counters of two CPUs may lie a little apart: nothing came before it went.
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
