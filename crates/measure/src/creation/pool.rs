//! `pool`: what a hand-off to a thread that waits takes, for contrast.

use super::threads::{FEWEST, PATIENCE, finish, pause};
use super::{Config, Tallies};
use crate::counter;
use crate::host::futex;
use crate::series::TrialOrder;
use crate::stage::Halt;
use crate::trial_context::{Apart, RoleContext, TrialContext};
use coretalk_model::TrialFailure;
use coretalk_model::series::Observed;
use coretalk_model::stats::Key;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// The task after which the worker leaves.
const LAST: u32 = u32::MAX;

/// What creator and worker tell each other.
#[derive(Debug, Default)]
struct Mailbox {
    /// The number of the task that is to be done; the worker sleeps on it.
    task: Apart<AtomicU32>,
    /// The number of the task that is done; the creator sleeps on it.
    done: Apart<AtomicU32>,
    /// When the worker began.
    began: Apart<AtomicU64>,
}

impl Mailbox {
    /// Sleeps until a word is no longer what it was.
    fn await_change(role: &RoleContext<'_>, word: &AtomicU32, was: u32) -> Result<u32, Halt> {
        loop {
            // Acquire pairs with the Release of whoever changed it: what was done before, we see.
            let now = word.load(Acquire);
            if now != was {
                return Ok(now);
            }
            futex::wait(word, was, None);
            role.guard.check()?;
        }
    }

    fn tell(word: &AtomicU32, now: u32) {
        // Release pairs with the Acquire above.
        word.store(now, Release);
        futex::wake_one(word);
    }
}

/// Performs one pass: role 0 hands over, role 1 works.
pub fn perform(
    context: &TrialContext<'_>,
    order: &TrialOrder<'_>,
    config: &Config,
) -> Result<Observed, TrialFailure> {
    let mailbox = Mailbox::default();
    let rate = context.rate();
    let span_ticks = rate.ticks(order.span.ns()) as u64;
    let pause_ticks = rate.ticks(config.pause_ns);
    let key = Key::of(&[order.key]);
    let run_role = |role: &RoleContext<'_>| match role.number {
        0 => hand_over(role, &mailbox, span_ticks, pause_ticks, key).map(|tallies| Some(Ok(tallies))),
        _ => work(role, &mailbox).map(|()| None),
    };
    let unblock = || {
        futex::wake_all(&mailbox.task);
        futex::wake_all(&mailbox.done);
    };
    let said = context.run(order.span + PATIENCE, run_role, unblock)?;
    finish(context, said.into_iter().flatten().next())
}

fn hand_over(
    role: &RoleContext<'_>,
    mailbox: &Mailbox,
    span_ticks: u64,
    pause_ticks: f64,
    key: Key,
) -> Result<Tallies, Halt> {
    let mut tallies = Tallies::new();
    role.wait_for_all()?;
    let end = counter::now_ticks() + span_ticks;
    for task in 1..LAST {
        let before = counter::start();
        Mailbox::tell(&mailbox.task, task);
        let returned = counter::stop();
        Mailbox::await_change(role, &mailbox.done, task - 1)?;
        let ended = counter::stop();
        tallies.count([before, returned, mailbox.began.load(Acquire), ended]);
        if ended > end && tallies.samples() >= FEWEST {
            break;
        }
        if pause_ticks > 0.0 {
            role.spin_for(pause(pause_ticks, key, tallies.samples()))?;
        }
    }
    Mailbox::tell(&mailbox.task, LAST);
    Ok(tallies)
}

fn work(role: &RoleContext<'_>, mailbox: &Mailbox) -> Result<(), Halt> {
    role.wait_for_all()?;
    let mut known = 0;
    loop {
        known = Mailbox::await_change(role, &mailbox.task, known)?;
        if known == LAST {
            return Ok(());
        }
        mailbox.began.store(counter::stop(), Release);
        Mailbox::tell(&mailbox.done, known);
    }
}
