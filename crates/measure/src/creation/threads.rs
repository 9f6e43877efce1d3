//! Creation of threads with the C library, one after another. For comparison, `pool` hands work to a waiting thread.

use super::{CreationConfig, CreationRefused, Kind, Tallies};
use crate::counter;
use crate::host::{affinity, futex};
use crate::kernel_context::Halt;
use crate::series::{MIN_ROUNDS, TrialOrder};
use crate::trial_context::{CachePadded, RoleContext, TrialContext};
use coretalk_model::series::Observed;
use coretalk_model::stats::Key;
use coretalk_model::{CpuSet, TrialFailure};
use std::ffi::c_void;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

/// Size of a small stack. The C library needs 16 KiB and room for its own data.
const SMALL_STACK: usize = 64 << 10;
/// Relative jitter of each pause. It prevents a fixed phase with periodic events.
const JITTER: f64 = 0.25;

/// Whether the C library has a thread attribute for the affinity.
pub const HAS_ATTRIBUTE: bool = cfg!(target_env = "gnu");

#[derive(Debug, Default)]
struct Child {
    pin_to: Option<CpuSet>,
    /// Time of the first statement; 0 before it.
    began: AtomicU64,
    errno: AtomicI32,
}

struct Attributes(libc::pthread_attr_t);

impl Attributes {
    fn new() -> Result<Attributes, CreationRefused> {
        // SAFETY: an all-zero attribute is memory that `pthread_attr_init` may write.
        let mut attributes: libc::pthread_attr_t = unsafe { std::mem::zeroed() };
        // SAFETY: the attribute is writable.
        checked(unsafe { libc::pthread_attr_init(&mut attributes) }, CreationRefused::Creation)?;
        Ok(Attributes(attributes))
    }

    fn set_small_stack(&mut self) -> Result<(), CreationRefused> {
        // SAFETY: the attribute is initialised.
        checked(
            unsafe { libc::pthread_attr_setstacksize(&mut self.0, SMALL_STACK) },
            CreationRefused::Creation,
        )
    }

    #[cfg(target_env = "gnu")]
    fn set_affinity(&mut self, cpus: &CpuSet) -> Result<(), CreationRefused> {
        let words = cpus.words();
        // SAFETY: the attribute is initialised. The mask is readable for the given length and is copied.
        let status = unsafe {
            libc::pthread_attr_setaffinity_np(&mut self.0, size_of_val(words), words.as_ptr().cast())
        };
        checked(status, CreationRefused::Pin)
    }

    #[cfg(not(target_env = "gnu"))]
    fn set_affinity(&mut self, _: &CpuSet) -> Result<(), CreationRefused> {
        Err(CreationRefused::Pin(libc::ENOSYS))
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: the attribute is initialised and not used again.
        unsafe { libc::pthread_attr_destroy(&mut self.0) };
    }
}

fn checked(status: i32, refused: impl Fn(i32) -> CreationRefused) -> Result<(), CreationRefused> {
    if status == 0 { Ok(()) } else { Err(refused(status)) }
}

extern "C" fn body(child: *mut c_void) -> *mut c_void {
    // SAFETY: the creator keeps the child's record until it has joined the thread. The record is shared by reference
    // only.
    let child = unsafe { &*child.cast::<Child>() };
    if let Some(cpus) = &child.pin_to
        && let Err(error) = affinity::set_mask(cpus)
    {
        child.errno.store(error.raw_os_error().unwrap_or(libc::EINVAL), Release);
    }
    // Release is not required, since the join orders this store before the read.
    child.began.store(counter::stop(), Release);
    std::ptr::null_mut()
}

pub fn perform(
    context: &TrialContext<'_>,
    order: &TrialOrder<'_>,
    config: &CreationConfig,
) -> Result<Observed, TrialFailure> {
    let rate = context.rate();
    let span_ticks = rate.ticks(order.span.ns()) as u64;
    let pause_ticks = rate.ticks(config.pause_ns);
    let key = Key::from_words(&[order.key]);
    let target: CpuSet = context.cpus().iter().rev().take(1).copied().collect();
    let run_role = |role: &RoleContext<'_>| -> Result<Option<Result<Tallies, CreationRefused>>, Halt> {
        let mut tallies = Tallies::new();
        role.wait_for_all()?;
        if role.number > 0 {
            // The CPU of role 1 is left to the new threads.
            return Ok(None);
        }
        let made = within(role, config, || {
            create_all(role, config, &target, &mut tallies, [span_ticks as f64, pause_ticks], key)
        })?;
        Ok(Some(made.map(|()| tallies)))
    };
    let outcomes = context.run(order.limit(), run_role, || ())?;
    finish(context, outcomes.into_iter().flatten().next())
}

/// Runs `task` with the creator on the CPUs of the trial's mask, and restores its affinity afterwards.
pub fn within<T>(
    role: &RoleContext<'_>,
    config: &CreationConfig,
    task: impl FnOnce() -> Result<Result<T, CreationRefused>, Halt>,
) -> Result<Result<T, CreationRefused>, Halt> {
    let Some(mask) = &config.mask else { return task() };
    role.unbound(mask, task).unwrap_or_else(|errno| Ok(Err(CreationRefused::Pin(errno))))
}

pub fn finish(
    context: &TrialContext<'_>,
    outcome: Option<Result<Tallies, CreationRefused>>,
) -> Result<Observed, TrialFailure> {
    let cpus = context.cpus();
    match outcome {
        Some(Ok(tallies)) => Ok(tallies.observed(context.rate())),
        // The last CPU is that of the pinned new threads, or of the creator if they have no separate CPU.
        Some(Err(refused)) => Err(refused.failure(cpus[cpus.len() - 1])),
        None => Err(TrialFailure::PartnerLost { cpu: cpus[0] }),
    }
}

pub fn pause(pause_ticks: f64, key: Key, round: u64) -> u64 {
    (pause_ticks * (1.0 + JITTER * (2.0 * key.uniform(round) - 1.0))) as u64
}

fn create_all(
    role: &RoleContext<'_>,
    config: &CreationConfig,
    target: &CpuSet,
    tallies: &mut Tallies,
    [span_ticks, pause_ticks]: [f64; 2],
    key: Key,
) -> Result<Result<(), CreationRefused>, Halt> {
    let mut attributes = match Attributes::new() {
        Ok(attributes) => attributes,
        Err(refused) => return Ok(Err(refused)),
    };
    let prepared = match config.kind {
        Kind::SmallStack => attributes.set_small_stack(),
        Kind::AttrPinned => attributes.set_affinity(target),
        _ => Ok(()),
    };
    if let Err(refused) = prepared {
        return Ok(Err(refused));
    }
    let pin_to = (config.kind == Kind::SelfPinned).then(|| target.clone());
    let mut child = Box::new(Child { pin_to, ..Child::default() });
    let end = counter::now_ticks() + span_ticks as u64;
    loop {
        *child.began.get_mut() = 0;
        let mut thread = std::mem::MaybeUninit::<libc::pthread_t>::uninit();
        let record: *const Child = &raw const *child;
        let before = counter::start();
        // SAFETY: handle and attributes are valid; the record lives until the thread has been joined below.
        let status = unsafe {
            libc::pthread_create(thread.as_mut_ptr(), &attributes.0, body, record.cast_mut().cast())
        };
        let returned = counter::stop();
        if status != 0 {
            // With an affinity attribute, EINVAL means that the CPU was refused.
            let is_pin = config.kind == Kind::AttrPinned && status == libc::EINVAL;
            return Ok(Err(if is_pin {
                CreationRefused::Pin(status)
            } else {
                CreationRefused::Creation(status)
            }));
        }
        // SAFETY: the successful creation has written the handle, which is joined once.
        let joined = unsafe { libc::pthread_join(thread.assume_init(), std::ptr::null_mut()) };
        let ended = counter::stop();
        let errno = child.errno.load(Acquire);
        if joined != 0 || errno != 0 {
            return Ok(Err(if joined != 0 {
                CreationRefused::Creation(joined)
            } else {
                CreationRefused::Pin(errno)
            }));
        }
        tallies.count([before, returned, child.began.load(Acquire), ended]);
        role.guard.check_at(ended)?;
        if ended > end && tallies.samples() >= MIN_ROUNDS {
            return Ok(Ok(()));
        }
        if pause_ticks > 0.0 {
            role.spin_for(pause(pause_ticks, key, tallies.samples()))?;
        }
    }
}

/// Task number that ends the worker.
const LAST: u32 = u32::MAX;

#[derive(Debug, Default)]
struct Mailbox {
    /// Number of the current task, on which the worker sleeps.
    task: CachePadded<AtomicU32>,
    /// Number of the last completed task, on which the creator sleeps.
    done: CachePadded<AtomicU32>,
    began: CachePadded<AtomicU64>,
}

impl Mailbox {
    fn await_change(role: &RoleContext<'_>, word: &AtomicU32, was: u32) -> Result<u32, Halt> {
        loop {
            // Acquire pairs with the Release of the thread that changed the word, and shows its earlier writes.
            let now = word.load(Acquire);
            if now != was {
                return Ok(now);
            }
            futex::wait(word, was, None);
            role.guard.check()?;
        }
    }

    fn publish(word: &AtomicU32, now: u32) {
        // Release pairs with the Acquire above.
        word.store(now, Release);
        futex::wake_one(word);
    }
}

/// Performs one pass. Role 0 hands over tasks, and role 1 performs them.
pub fn perform_by_pool(
    context: &TrialContext<'_>,
    order: &TrialOrder<'_>,
    config: &CreationConfig,
) -> Result<Observed, TrialFailure> {
    let mailbox = Mailbox::default();
    let rate = context.rate();
    let span_ticks = rate.ticks(order.span.ns()) as u64;
    let pause_ticks = rate.ticks(config.pause_ns);
    let key = Key::from_words(&[order.key]);
    let run_role = |role: &RoleContext<'_>| match role.number {
        0 => hand_over(role, &mailbox, span_ticks, pause_ticks, key).map(|tallies| Some(Ok(tallies))),
        _ => work(role, &mailbox).map(|()| None),
    };
    let unblock = || {
        futex::wake_all(&mailbox.task);
        futex::wake_all(&mailbox.done);
    };
    let outcomes = context.run(order.limit(), run_role, unblock)?;
    finish(context, outcomes.into_iter().flatten().next())
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
        Mailbox::publish(&mailbox.task, task);
        let returned = counter::stop();
        Mailbox::await_change(role, &mailbox.done, task - 1)?;
        let ended = counter::stop();
        tallies.count([before, returned, mailbox.began.load(Acquire), ended]);
        if ended > end && tallies.samples() >= MIN_ROUNDS {
            break;
        }
        if pause_ticks > 0.0 {
            role.spin_for(pause(pause_ticks, key, tallies.samples()))?;
        }
    }
    Mailbox::publish(&mailbox.task, LAST);
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
        Mailbox::publish(&mailbox.done, known);
    }
}
