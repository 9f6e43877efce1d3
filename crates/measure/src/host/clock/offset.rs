//! [`Offset`]: how far the counters of two CPUs lie apart, from a ping-pong of stamps.

use crate::counter;
use crate::host::affinity;
use coretalk_model::CpuId;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// Stamps exchanged per pair: about a millisecond inside a package.
const EXCHANGES: u64 = 5_000;
/// Those that are enough where a pair has used up its share of the time: the fastest of them is what counts, and where each
/// takes a time slice of the system the others are no faster.
const ENOUGH: u64 = 50;
/// The number of a question that asks for no answer: nothing more is asked.
const NO_MORE: u64 = u64::MAX;

/// How long a pair may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// From then on fifty exchanges are enough.
    pub share: Instant,
    /// From then on nothing more is asked, and nobody waits any longer.
    pub end: Instant,
}

impl Limits {
    /// The limits of the next of so many pairs, which share the time until `end` alike.
    pub fn of_next(pairs: usize, now: Instant, end: Instant) -> Limits {
        let left = end.saturating_duration_since(now);
        Limits { share: now + left / u32::try_from(pairs.max(1)).unwrap_or(u32::MAX), end }
    }
}

/// The counter of one CPU against that of another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offset {
    /// The CPU that asked.
    pub from: CpuId,
    /// The CPU that answered.
    pub to: CpuId,
    /// Counter of `to` minus counter of `from` at the same moment, in ticks: the estimate of the fastest exchange.
    pub ticks: f64,
    /// The truth lies within this many ticks of it: half of the fastest round trip, to which whoever knows the step of the
    /// counter adds it.
    pub bound_ticks: f64,
    /// The fastest round trip, in ticks.
    pub round_trip_ticks: u64,
    /// How often a stamp was smaller than one that had been written and seen before it: 0 on a synchronous clock,
    /// and any other number proves a step back when threads move from CPU to CPU.
    pub warps: u64,
}

impl Offset {
    /// The same offset seen from the other CPU.
    pub fn reversed(self) -> Offset {
        Offset { from: self.to, to: self.from, ticks: -self.ticks, ..self }
    }
}

/// Measures the offset between two CPUs with two threads of its own; `None` where one of them refuses a thread or does
/// not answer by the end. A thread whose CPU does not run it, since one of real-time priority keeps that, is left behind:
/// it ends once it runs.
pub fn measure(from: CpuId, to: CpuId, limits: Limits) -> Option<Offset> {
    let exchange = Arc::new(Exchange::default());
    // Both are in place before the first question, so that a refusal leaves nobody waiting.
    let (ready, in_place) = mpsc::channel();
    let (begin, go) = mpsc::channel();
    let (found, offset) = mpsc::channel();
    let until = |end: Instant| end.saturating_duration_since(Instant::now());
    // One that does not run must not use up the time of the other pairs.
    let placed = limits.end.min(limits.share + GRACE);
    let answering = Arc::clone(&exchange);
    let answer = move || {
        // The other side may be gone, and then so is the need for an answer.
        let _ = ready.send(affinity::pin_current_thread(to).is_ok());
        if go.recv() == Ok(true) {
            answering.answer(limits);
        }
    };
    let ask = move || {
        let agreed =
            affinity::pin_current_thread(from).is_ok() && in_place.recv_timeout(until(placed)) == Ok(true);
        let _ = begin.send(agreed);
        let _ = found.send(if agreed { exchange.initiate(from, to, limits) } else { None });
    };
    // Where one thread cannot be had its ends of the channels are gone, and the other leaves.
    std::thread::Builder::new().spawn(answer).ok()?;
    std::thread::Builder::new().spawn(ask).ok()?;
    offset.recv_timeout(until(limits.end) + GRACE).ok().flatten()
}

/// How much longer than its limit a thread may take to begin, or to say that it has found nothing.
const GRACE: Duration = Duration::from_millis(500);

/// What two threads pass back and forth, on lines of their own.
#[derive(Debug, Default)]
pub struct Exchange {
    question: StampLine,
    answer: StampLine,
}

#[derive(Debug, Default)]
#[repr(align(256))]
struct StampLine {
    number: AtomicU64,
    stamp: AtomicU64,
}

impl Exchange {
    /// The initiating side, to be run on `from`, at the same time as [`answer`](Exchange::answer) on `to`. `None` where
    /// the other side has not answered once in time.
    pub fn initiate(&self, from: CpuId, to: CpuId, limits: Limits) -> Option<Offset> {
        let mut best: Option<(u64, f64)> = None;
        let mut warps = 0;
        for number in 1..=EXCHANGES {
            let now = Instant::now();
            if now >= limits.end || number > ENOUGH && now >= limits.share {
                break;
            }
            let sent = counter::start();
            self.question.put(number, sent);
            let Some(answered) = self.answer.take(number, limits) else { break };
            let received = counter::stop();
            // The answer was stamped after the question was seen, and this stamp after the answer was seen.
            warps += u64::from(answered < sent) + u64::from(received < answered);
            let round_trip = received.saturating_sub(sent);
            if best.is_none_or(|(least, _)| round_trip < least) {
                best = Some((round_trip, midpoint_offset(sent, answered, received)));
            }
        }
        self.question.put(NO_MORE, 0);
        let (round_trip_ticks, ticks) = best?;
        Some(Offset { from, to, ticks, bound_ticks: round_trip_ticks as f64 / 2.0, round_trip_ticks, warps })
    }

    /// The answering side; gives how many questions it has answered until nothing more was asked.
    pub fn answer(&self, limits: Limits) -> u64 {
        let mut answered = 0;
        while self.question.take(answered + 1, limits).is_some() {
            answered += 1;
            self.answer.put(answered, counter::start());
        }
        answered
    }
}

impl StampLine {
    fn put(&self, number: u64, stamp: u64) {
        // Release on the number publishes the stamp: who has seen the number (Acquire) reads this stamp.
        self.stamp.store(stamp, Relaxed);
        self.number.store(number, Release);
    }

    /// The stamp of this number; `None` where there will be none, or not in time.
    fn take(&self, number: u64, limits: Limits) -> Option<u64> {
        loop {
            for _ in 0..1 << 16 {
                let seen = self.number.load(Acquire);
                if seen == number {
                    return Some(self.stamp.load(Relaxed));
                }
                if seen == NO_MORE {
                    return None;
                }
                std::hint::spin_loop();
            }
            if Instant::now() >= limits.end {
                return None;
            }
        }
    }
}

/// `θ̂ = t₂ − (t₁ + t₃) / 2`, in differences so that large counts lose no digits.
fn midpoint_offset(sent: u64, answered: u64, received: u64) -> f64 {
    let there = answered.wrapping_sub(sent) as i64 as f64;
    let around = received.wrapping_sub(sent) as i64 as f64;
    there - around / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_what_the_midpoint_says() {
        assert_eq!(midpoint_offset(1000, 1050, 1100), 0.0);
        assert_eq!(midpoint_offset(1000, 550, 1100), -500.0);
        assert_eq!(midpoint_offset(u64::MAX - 10, 1_000_089, 89), 1_000_050.0);
    }

    /// What both sides of an exchange between two threads say.
    fn exchanged(limits: Limits) -> (Option<Offset>, u64) {
        let exchange = Exchange::default();
        std::thread::scope(|scope| {
            let answering = scope.spawn(|| exchange.answer(limits));
            let offset = exchange.initiate(CpuId(0), CpuId(1), limits);
            (offset, answering.join().unwrap())
        })
    }

    #[test]
    fn two_threads_agree_on_an_offset() {
        let far = Instant::now() + Duration::from_secs(600);
        let (offset, answered) = exchanged(Limits { share: far, end: far });
        let offset = offset.unwrap();
        assert_eq!(offset.bound_ticks, offset.round_trip_ticks as f64 / 2.0);
        assert_eq!(offset.reversed().reversed(), offset);
        assert_eq!(answered, EXCHANGES);
    }

    #[test]
    fn a_pair_whose_share_is_used_up_ends_with_few_exchanges_and_one_whose_time_is_over_at_once() {
        let now = Instant::now();
        let (offset, answered) = exchanged(Limits { share: now, end: now + Duration::from_secs(600) });
        assert!(offset.is_some());
        assert_eq!(answered, ENOUGH);
        assert_eq!(exchanged(Limits { share: now, end: now }), (None, 0));
    }

    #[test]
    fn pairs_share_the_time_that_is_left() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let of_next = |pairs, left| Limits::of_next(pairs, now, now + left).share - now;
        assert_eq!(of_next(4, second), second / 4);
        assert_eq!(of_next(1, second), second);
        assert_eq!(Limits::of_next(3, now + second, now).share, now + second, "the time is over");
    }
}
