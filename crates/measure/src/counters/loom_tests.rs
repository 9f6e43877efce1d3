//! Every lock of our own under the memory model: no order of two threads, or of three that sleep, loses an update.

use super::flag::{FlagLock, FlagLockAlways};
use super::guarded::{Guarded, Lock};
use super::mcs::McsLock;
use super::{Counter, Setup, Step};
use crate::primitives::spin::{TasLock, TicketLock};
use crate::stage::Guard;
use crate::sync::{Arc, AtomicU64};

/// Threads of which each adds so often; every order that loom explores must end with the exact sum.
fn exact<L: Lock + Send + 'static>(threads: usize, each: u64) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let counter = Arc::new(Guarded::<L>::new(&Setup { threads, read_share: 0.0 }));
        let run = move |thread: usize, counter: &Guarded<L>| {
            let halt = AtomicU64::new(0);
            let guard = Guard { halt: &halt, deadline_ticks: u64::MAX, now_ticks: || 0 };
            let mut handle = counter.handle(thread);
            for _ in 0..each {
                assert!(matches!(counter.step(&mut handle, &guard, || ()), Ok(Step::Added(_))));
            }
        };
        let others: Vec<_> = (1..threads)
            .map(|thread| {
                let counter = counter.clone();
                loom::thread::spawn(move || run(thread, &counter))
            })
            .collect();
        run(0, &counter);
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(counter.total(), threads as u64 * each);
    });
}

// Two threads that spin while a third could go on are beyond loom's scheduler, which gives the turn to and fro between
// the two: three threads only where they sleep.
#[test]
fn loom_mcs_loses_nothing() {
    exact::<McsLock>(2, 2);
    exact::<McsLock>(2, 3);
}

#[test]
fn loom_flag_loses_nothing_and_leaves_nobody_asleep() {
    exact::<FlagLock>(2, 2);
    exact::<FlagLockAlways>(2, 2);
    exact::<FlagLockAlways>(3, 1);
}

#[test]
fn loom_tas_loses_nothing() {
    exact::<TasLock<false>>(2, 2);
    exact::<TasLock<true>>(2, 2);
}

#[test]
fn loom_ticket_loses_nothing() {
    exact::<TicketLock>(2, 2);
}
