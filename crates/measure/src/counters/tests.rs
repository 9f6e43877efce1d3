//! Every counter between real threads: exact where it says so, and it ends.

use super::atomic::{CasLoop, FetchAdd, PerThread};
use super::flag::{FlagLock, FlagLockAlways};
use super::guarded::Guarded;
use super::mcs::McsLock;
use super::{Counter, Draws, Setup, Step};
use crate::primitives::spin::{TasLock, TicketLock};
use crate::stage::{Guard, Halt};
use crate::sync::AtomicU64;

const THREADS: usize = 3;
const EACH: u64 = if cfg!(miri) { 20 } else { 2_000 };

fn guarded(halt: &AtomicU64) -> Guard<'_> {
    Guard { halt, deadline_ticks: u64::MAX, now_ticks: || 0 }
}

/// What stands in memory after every thread added its share, each number having been handed out once.
fn exact<C: Counter>(read_share: f64) {
    let counter = C::new(&Setup { threads: THREADS, read_share });
    let halt = AtomicU64::new(0);
    let guard = guarded(&halt);
    let run = |thread: usize| {
        let mut handle = counter.handle(thread);
        let steps = (0..EACH).map(|_| counter.step(&mut handle, &guard, || ()).expect("nobody stops"));
        steps.filter(|step| *step != Step::Looked).collect::<Vec<_>>()
    };
    let steps: Vec<Step> = std::thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || run(thread))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no thread panics")).collect()
    });
    assert_eq!(counter.total(), steps.len() as u64, "{}", std::any::type_name::<C>());
    assert!(counter.is_sound(), "{}", std::any::type_name::<C>());
    let mut held: Vec<u64> = steps
        .iter()
        .filter_map(|step| match step {
            Step::Added(before) => Some(*before),
            _ => None,
        })
        .collect();
    held.sort_unstable();
    assert!(held.iter().enumerate().all(|(index, &before)| index as u64 == before));
}

#[test]
fn every_number_is_handed_out_once() {
    exact::<FetchAdd>(0.0);
    exact::<CasLoop<false>>(0.0);
    exact::<CasLoop<true>>(0.0);
    exact::<PerThread>(0.0);
    exact::<Guarded<TasLock<false>>>(0.0);
    exact::<Guarded<TasLock<true>>>(0.0);
    exact::<Guarded<TicketLock>>(0.0);
    exact::<Guarded<McsLock>>(0.0);
    exact::<Guarded<FlagLock>>(0.0);
    exact::<Guarded<FlagLockAlways>>(0.0);
    exact::<super::wide::LockedWide>(0.0);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if super::wide::is_native() {
        exact::<super::wide::Wide>(0.0);
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
#[test]
fn locks_of_the_libraries_lose_nothing_either() {
    use super::sleeping::{ReadersWriter, Sleeping};
    use crate::primitives::{mutex::StdMutex, parking_lot::LotMutex, pthread::PlainMutex};
    exact::<Guarded<Sleeping<StdMutex>>>(0.0);
    exact::<Guarded<Sleeping<LotMutex>>>(0.0);
    exact::<Guarded<PlainMutex>>(0.0);
    exact::<ReadersWriter>(0.5);
}

#[cfg(all(target_os = "linux", not(miri)))]
#[test]
fn a_lock_and_its_number_lie_on_one_line() {
    use super::sleeping::Sleeping;
    use crate::primitives::{mutex::StdMutex, parking_lot::LotMutex, pthread::PlainMutex};
    let sizes = [
        size_of::<Guarded<TasLock<false>>>(),
        size_of::<Guarded<TicketLock>>(),
        size_of::<Guarded<McsLock>>(),
        size_of::<Guarded<FlagLock>>(),
        size_of::<Guarded<FlagLockAlways>>(),
        size_of::<Guarded<Sleeping<StdMutex>>>(),
        size_of::<Guarded<Sleeping<LotMutex>>>(),
        size_of::<Guarded<PlainMutex>>(),
        size_of::<super::wide::LockedWide>(),
    ];
    assert!(sizes.iter().all(|&size| size <= 64), "{sizes:?}");
}

#[cfg(all(target_os = "linux", not(miri)))]
#[test]
fn a_release_that_nobody_waits_for_calls_no_kernel_unless_it_always_does() {
    fn calls<L: super::guarded::Lock>() -> u64 {
        let lock = L::new(1);
        let halt = AtomicU64::new(0);
        let guard = guarded(&halt);
        let before = crate::host::futex::wakes();
        for _ in 0..10 {
            drop(lock.lock(&mut lock.handle(0), &guard).unwrap());
        }
        crate::host::futex::wakes() - before
    }
    assert_eq!((calls::<FlagLock>(), calls::<FlagLockAlways>()), (0, 10));
}

#[test]
fn whoever_waits_leaves_when_told_to() {
    fn left<L: super::guarded::Lock>() {
        let lock = L::new(2);
        let halt = AtomicU64::new(0);
        let guard = guarded(&halt);
        let held = lock.lock(&mut lock.handle(0), &guard).unwrap();
        guard.give_up(Halt::Stopped);
        assert_eq!(lock.lock(&mut lock.handle(1), &guard).err(), Some(Halt::Stopped));
        drop(held);
    }
    left::<TasLock<false>>();
    left::<TasLock<true>>();
    left::<TicketLock>();
    left::<McsLock>();
    left::<FlagLock>();
    left::<FlagLockAlways>();
}

#[test]
fn reads_come_in_their_share() {
    let reads = |share: f64| {
        let mut draws = Draws::new(3, share);
        (0..10_000).filter(|_| draws.reads()).count()
    };
    assert!((8_800..9_200).contains(&reads(0.9)), "{}", reads(0.9));
    assert_eq!((reads(1.0), reads(0.0)), (10_000, 0));
}
