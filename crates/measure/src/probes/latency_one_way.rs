//! `one-way`: the sender stamps its time into the line, and the receiver reads its own clock when it sees the stamp.
//! The latency is inseparable from the offset between the two clocks. So the numbers serve only for variation and
//! asymmetry.
//!
//! ```text
//! initiator  t1 ─ stamp in line ──╮                       ╭─ t4     out  = t2 − t1
//! responder                       ╰─ t2, t3 ─ in line ────╯         back = t4 − t3
//! ```
//!
//! Messages alternate between both directions. The sum of both times is a true round trip, without the offset. The
//! initiator records both times, since the responder sends `t2` with its message.
//!
//! - Under `Batches` a batch is `round_trips` trips, and its ticks are Σ (out + back) / 2. These are one-way messages
//!   without offset and without the responder's turnaround. Each message contains one clock read.
//! - Under `Events` each trip counts two events, one for each direction, as a [`OneWay`] packed into a number.

use super::ping_pong::{LEAD_IN, saturated, share};
use crate::counter;
use crate::kernel::{Cost, Kernel};
use crate::kernel_context::{Guard, Halt, KernelContext, Line, Recorder, count_event, wait_until};
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::wait::Busy;
use coretalk_model::KernelId;
pub use coretalk_model::latency::one_way::{Direction, OneWay};
use std::borrow::Cow;

/// The kernel of `one-way`. The initiator records both directions.
pub static ONE_WAY: Kernel = Kernel {
    id: KernelId(Cow::Borrowed("one-way")),
    roles: &[initiator, responder],
    cost: Cost::Stamp { transfers_per_message: 2.0 },
    lines_per_place: 1,
    symbol: "latency_one_way",
};

/// Sends a message and returns its time stamp. Word 0 counts messages, and word 1 holds the time of sending. Word 2
/// holds the time at which the previous message was seen.
#[inline(always)]
fn send(line: &Line, sequence: u64, seen: u64) -> u64 {
    let now = counter::stop();
    // Relaxed: the Release below publishes both, and the partner reads neither before it.
    line.words[2].store(seen, Relaxed);
    line.words[1].store(now, Relaxed);
    // Release pairs with the Acquire in `receive`: a receiver that sees the number sees the stamps. The partner writes
    // nothing before it has seen the number. Only this side writes the line until then.
    line.words[0].store(sequence, Release);
    now
}

#[inline(always)]
fn receive(line: &Line, sequence: u64, guard: &Guard<'_>) -> Result<u64, Halt> {
    // Acquire pairs with the Release in `send`.
    wait_until::<Busy>(guard, || line.words[0].load(Acquire) == sequence)?;
    Ok(counter::stop())
}

#[inline(always)]
fn trip(line: &Line, number: u64, guard: &Guard<'_>) -> Result<[i64; 2], Halt> {
    let sent = send(line, 2 * number + 1, 0);
    let back_seen = receive(line, 2 * number + 2, guard)?;
    guard.check_at(back_seen)?;
    // Relaxed: `receive` has acquired both.
    let (out_seen, back_sent) = (line.words[2].load(Relaxed), line.words[1].load(Relaxed));
    Ok([out_seen.wrapping_sub(sent) as i64, back_seen.wrapping_sub(back_sent) as i64])
}

fn initiator(context: &mut KernelContext<'_>) -> Result<(), Halt> {
    let (places, guard) = (context.lines.len(), context.guard);
    let mut lead_in = u64::from(context.warm_up) + LEAD_IN;
    for (index, line) in context.lines.iter().enumerate() {
        let mut number = 0;
        while number < lead_in {
            trip(line, number, guard)?;
            number += 1;
        }
        lead_in = LEAD_IN;
        match &mut context.recorder {
            Recorder::Batches { visits, round_trips, ticks } => {
                for visit in 0..*visits {
                    let mut sum = 0_i64;
                    for _ in 0..*round_trips {
                        let [out, back] = trip(line, number, guard)?;
                        number += 1;
                        // The clock offset is in both, with opposite signs.
                        sum = sum.wrapping_add(out).wrapping_add(back);
                    }
                    if let Some(slot) = ticks.get_mut(index * *visits as usize + visit as usize) {
                        // Negative only if a clock was set back. The maximum value marks the result as unusable.
                        *slot = saturated((sum / 2) as u64);
                    }
                }
            }
            Recorder::Events { round_trips, buckets, beyond } => {
                for _ in 0..share(*round_trips, places, index) {
                    let [out, back] = trip(line, number, guard)?;
                    number += 1;
                    count_event(buckets, beyond, OneWay { way: Direction::Out, ticks: out }.pack());
                    count_event(buckets, beyond, OneWay { way: Direction::Back, ticks: back }.pack());
                }
            }
        }
        // Every trip ends with the partner's message, so the line can be left without another wait.
        context.verified += number;
    }
    Ok(())
}

fn responder(context: &mut KernelContext<'_>) -> Result<(), Halt> {
    let (places, guard) = (context.lines.len(), context.guard);
    let mut lead_in = u64::from(context.warm_up) + LEAD_IN;
    for (index, line) in context.lines.iter().enumerate() {
        let timed = match &context.recorder {
            Recorder::Batches { visits, round_trips, .. } => u64::from(*visits) * u64::from(*round_trips),
            Recorder::Events { round_trips, .. } => share(*round_trips, places, index),
        };
        for number in 0..lead_in + timed {
            let seen = receive(line, 2 * number + 1, guard)?;
            send(line, 2 * number + 2, seen);
            context.verified += 1;
        }
        lead_in = LEAD_IN;
    }
    Ok(())
}
