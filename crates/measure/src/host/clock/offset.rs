//! [`Offset`]: difference between the counters of two CPUs, from a ping-pong of time stamps.

use crate::counter;
use crate::host::affinity::{self, Hold};
use coretalk_model::{CpuId, CpuLoss, CpuSet, LossReason, Picos};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// Exchanges per pair. They take about a millisecond inside a package.
const EXCHANGES: u64 = 5_000;
/// Exchanges that suffice when a pair's time is over. If each takes a quantum, more would not find a faster exchange.
const ENOUGH: u64 = 50;
const NO_MORE: u64 = u64::MAX;

/// Time limits of a pair.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Time after which fifty exchanges suffice.
    pub share: Instant,
    /// Time at which the exchange ends.
    pub end: Instant,
}

impl Limits {
    /// Limits of the next of `pairs` pairs. The pairs share the time until `end` equally.
    pub fn of_next(pairs: usize, now: Instant, end: Instant) -> Limits {
        let left = end.saturating_duration_since(now);
        Limits { share: now + left / u32::try_from(pairs.max(1)).unwrap_or(u32::MAX), end }
    }
}

/// Difference between the counters of two CPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offset {
    /// The CPU that asked.
    pub from: CpuId,
    /// The CPU that answered.
    pub to: CpuId,
    /// Counter of `to` minus counter of `from` at the same moment, in ticks. The fastest exchange gives the estimate.
    pub ticks: f64,
    /// Error bound in ticks: half of the fastest round trip. Callers add the step of the counter.
    pub bound_ticks: f64,
    /// Fastest round trip in ticks.
    pub round_trip_ticks: u64,
    /// Number of stamps lower than a stamp that their CPU had already read. It is 0 for synchronous clocks. Otherwise
    /// time goes backwards for threads that migrate.
    pub warps: u64,
}

impl Offset {
    /// The offset with exchanged CPUs.
    pub fn reversed(self) -> Offset {
        Offset { from: self.to, to: self.from, ticks: -self.ticks, ..self }
    }
}

/// Why the offset of a pair is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoOffset {
    /// This CPU refused a thread.
    Refused(CpuId),
    /// One of the CPUs did not answer in time.
    Silent,
}

/// Tracks CPUs that go offline while pairs are measured.
#[derive(Debug, Default)]
pub struct CpuTracker {
    accepted: CpuSet,
    departed: Vec<CpuLoss>,
}

impl CpuTracker {
    /// Whether one of these CPUs is absent. Asks the system only about CPUs not yet found absent.
    pub fn misses(
        &mut self,
        cpus: &[CpuId],
        after: Picos,
        absence: &dyn Fn(CpuId) -> Option<LossReason>,
    ) -> bool {
        for &cpu in cpus.iter().filter(|&&cpu| !self.is_gone(cpu)).collect::<Vec<_>>() {
            self.departed.extend(absence(cpu).map(|why| CpuLoss { cpu, after, why }));
        }
        cpus.iter().any(|&cpu| self.is_gone(cpu))
    }

    /// Records the result of a pair. A CPU that refuses a thread after it accepted one was offline, even if it is
    /// listed again.
    pub fn note(
        &mut self,
        pair: [CpuId; 2],
        measured: &Result<Offset, NoOffset>,
        after: Picos,
        absence: &dyn Fn(CpuId) -> Option<LossReason>,
    ) {
        match *measured {
            Ok(_) => self.accepted = self.accepted.union(&pair.into_iter().collect()),
            Err(NoOffset::Refused(cpu)) => {
                let was_away = Some(LossReason::Offline).filter(|_| self.accepted.contains(cpu));
                let why = absence(cpu).or(was_away).unwrap_or(LossReason::PinRefused);
                self.departed.push(CpuLoss { cpu, after, why });
            }
            Err(NoOffset::Silent) => {}
        }
    }

    fn is_gone(&self, cpu: CpuId) -> bool {
        self.departed.iter().any(|departure| departure.cpu == cpu)
    }

    /// CPUs that went offline.
    pub fn end(self) -> Vec<CpuLoss> {
        self.departed
    }
}

/// Measures the offset between two CPUs with two temporary threads. A thread of real-time priority may occupy a CPU.
/// Then the temporary thread is released from that CPU and ends.
pub fn measure(from: CpuId, to: CpuId, limits: Limits) -> Result<Offset, NoOffset> {
    let exchange = Arc::new(Exchange::default());
    // Both threads are pinned before the first question, so neither waits after a refusal.
    let (ready, in_place) = mpsc::channel();
    let (begin, go) = mpsc::channel();
    let (found, offset) = mpsc::channel();
    let time_until = |end: Instant| end.saturating_duration_since(Instant::now());
    // A thread that does not run must not use up the time of other pairs.
    let pin_deadline = limits.end.min(limits.share + GRACE);
    let answering = Arc::clone(&exchange);
    let holds: [Arc<Hold>; 2] = Default::default();
    let [answer_hold, ask_hold] = holds.clone();
    let answer = move || {
        answer_hold.begin();
        // If the other thread is gone, it needs no answer.
        let _ = ready.send(affinity::pin_current_thread(to).is_ok());
        if go.recv() == Ok(true) {
            answering.answer(limits);
        }
        answer_hold.end();
    };
    let ask = move || {
        ask_hold.begin();
        let agreed = match affinity::pin_current_thread(from) {
            Err(_) => Err(NoOffset::Refused(from)),
            Ok(()) => match in_place.recv_timeout(time_until(pin_deadline)) {
                Ok(true) => Ok(()),
                Ok(false) => Err(NoOffset::Refused(to)),
                Err(_) => Err(NoOffset::Silent),
            },
        };
        let _ = begin.send(agreed.is_ok());
        let asked = agreed.and_then(|()| exchange.initiate(from, to, limits).ok_or(NoOffset::Silent));
        let _ = found.send(asked);
        ask_hold.end();
    };
    // If a thread cannot be created, its channel ends are dropped and the other thread leaves.
    let begun = [Box::new(answer) as Box<dyn FnOnce() + Send>, Box::new(ask)]
        .into_iter()
        .all(|role| std::thread::Builder::new().spawn(role).is_ok());
    let measured = match begun {
        true => offset.recv_timeout(time_until(limits.end) + GRACE).unwrap_or(Err(NoOffset::Silent)),
        false => Err(NoOffset::Silent),
    };
    if measured == Err(NoOffset::Silent) {
        holds.iter().zip([to, from]).for_each(|(hold, cpu)| hold.release(cpu));
    }
    measured
}

/// Time beyond its limit that a thread may take to start, or to report failure.
const GRACE: Duration = Duration::from_millis(500);

/// Question and answer of two threads, on separate cache lines.
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
    /// Initiating side, to be run on `from`, with [`answer`](Exchange::answer) on `to`. `None` without a timely answer.
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
            // The answer was stamped after the question was seen. `received` was stamped after the answer was seen.
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

    /// Answering side; returns the number of answers.
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
        // Release on the number publishes the stamp. A thread that has seen the number (Acquire) reads this stamp.
        self.stamp.store(stamp, Relaxed);
        self.number.store(number, Release);
    }

    /// The stamp with this number; `None` at the end of the exchange or after the deadline.
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

/// `θ̂ = t₂ − (t₁ + t₃) / 2`. Differences keep the digits of large counts.
fn midpoint_offset(sent: u64, answered: u64, received: u64) -> f64 {
    let there = answered.wrapping_sub(sent) as i64 as f64;
    let around = received.wrapping_sub(sent) as i64 as f64;
    there - around / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_computed_from_the_midpoint() {
        assert_eq!(midpoint_offset(1000, 1050, 1100), 0.0);
        assert_eq!(midpoint_offset(1000, 550, 1100), -500.0);
        assert_eq!(midpoint_offset(u64::MAX - 10, 1_000_089, 89), 1_000_050.0);
    }

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
    fn a_cpu_that_goes_offline_between_pairs_is_named_even_where_it_is_back_at_once() {
        let at = Picos::from_ms;
        let (from, to) = (CpuId(0), CpuId(1));
        let offset = Ok(Offset { from, to, ticks: 0.0, bound_ticks: 1.0, round_trip_ticks: 2, warps: 0 });
        let there = |_: CpuId| None;
        let two_is_off = |cpu: CpuId| (cpu == CpuId(2)).then_some(LossReason::Offline);
        let mut tracker = CpuTracker::default();
        assert!(!tracker.misses(&[CpuId(0), CpuId(2)], at(1), &there));
        tracker.note([CpuId(0), CpuId(2)], &offset, at(2), &there);
        assert!(tracker.misses(&[CpuId(1), CpuId(2)], at(3), &two_is_off));
        // Present again, but still counted as gone, and listed once.
        assert!(tracker.misses(&[CpuId(0), CpuId(2)], at(4), &there));
        assert_eq!(tracker.end(), [CpuLoss { cpu: CpuId(2), after: at(3), why: LossReason::Offline }]);
        // If a listed CPU refuses a thread, it was offline if it had accepted one before; otherwise it only refused.
        for (accepted, why) in [(true, LossReason::Offline), (false, LossReason::PinRefused)] {
            let mut tracker = CpuTracker::default();
            if accepted {
                tracker.note([CpuId(0), CpuId(2)], &offset, at(2), &there);
            }
            tracker.note([CpuId(1), CpuId(2)], &Err(NoOffset::Refused(CpuId(2))), at(5), &there);
            assert_eq!(tracker.end(), [CpuLoss { cpu: CpuId(2), after: at(5), why }]);
        }
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
