//! All counters between real threads: exactness and termination.

use super::atomic::{CasLoop, FetchAdd, PerThread};
use super::flag::{FlagLock, FlagLockAlways};
use super::guarded::Guarded;
use super::mcs::McsLock;
use super::{Counter, Draws, Setup, Step};
use crate::kernel_context::{Guard, Halt};
use crate::primitives::spin::{TasLock, TicketLock};
use crate::sync::AtomicU64;

const THREADS: usize = 3;
const EACH: u64 = if cfg!(miri) { 20 } else { 2_000 };

fn guarded(halt: &AtomicU64) -> Guard<'_> {
    Guard { halt, deadline_ticks: u64::MAX, now_ticks: || 0 }
}

/// Checks the total after all threads have added, and that each value was handed out once.
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
    let name = std::any::type_name::<C>();
    assert_eq!(counter.total(), steps.len() as u64, "{name}");
    assert!(counter.is_sound(), "{name}");
    let before = |step: &Step| if let Step::Added(before) = step { Some(*before) } else { None };
    let mut previous: Vec<u64> = steps.iter().filter_map(before).collect();
    previous.sort_unstable();
    assert!(previous.iter().enumerate().all(|(index, &before)| index as u64 == before));
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
    exact::<super::atomic::LockedWide>(0.0);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if super::atomic::is_native() {
        exact::<super::atomic::Wide>(0.0);
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
#[test]
fn library_locks_lose_no_updates() {
    use super::sleeping::{ReadersWriter, Sleeping};
    use crate::primitives::{parking_lot::LotMutex, standard::StdMutex, system::PlainMutex};
    exact::<Guarded<Sleeping<StdMutex>>>(0.0);
    exact::<Guarded<Sleeping<LotMutex>>>(0.0);
    exact::<Guarded<PlainMutex>>(0.0);
    exact::<ReadersWriter>(0.5);
}

#[cfg(all(target_os = "linux", not(miri)))]
#[test]
fn a_lock_and_its_number_share_a_line() {
    use super::sleeping::Sleeping;
    use crate::primitives::{parking_lot::LotMutex, standard::StdMutex, system::PlainMutex};
    let sizes = [
        size_of::<Guarded<TasLock<false>>>(),
        size_of::<Guarded<TicketLock>>(),
        size_of::<Guarded<McsLock>>(),
        size_of::<Guarded<FlagLock>>(),
        size_of::<Guarded<FlagLockAlways>>(),
        size_of::<Guarded<Sleeping<StdMutex>>>(),
        size_of::<Guarded<Sleeping<LotMutex>>>(),
        size_of::<Guarded<PlainMutex>>(),
        size_of::<super::atomic::LockedWide>(),
    ];
    assert!(sizes.iter().all(|&size| size <= 64), "{sizes:?}");
}

#[cfg(all(target_os = "linux", not(miri)))]
#[test]
fn only_flag_wait_always_calls_the_kernel_without_waiters() {
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
fn waiting_threads_leave_when_told_to() {
    fn leaves<L: super::guarded::Lock>() {
        let lock = L::new(2);
        let halt = AtomicU64::new(0);
        let guard = guarded(&halt);
        let held = lock.lock(&mut lock.handle(0), &guard).unwrap();
        guard.give_up(Halt::Stopped);
        assert_eq!(lock.lock(&mut lock.handle(1), &guard).err(), Some(Halt::Stopped));
        drop(held);
    }
    leaves::<TasLock<false>>();
    leaves::<TasLock<true>>();
    leaves::<TicketLock>();
    leaves::<McsLock>();
    leaves::<FlagLock>();
    leaves::<FlagLockAlways>();
}

#[test]
fn reads_have_the_requested_share() {
    let reads = |share: f64| {
        let mut draws = Draws::new(3, share);
        (0..10_000).filter(|_| draws.reads()).count()
    };
    assert!((8_800..9_200).contains(&reads(0.9)), "{}", reads(0.9));
    assert_eq!((reads(1.0), reads(0.0)), (10_000, 0));
}

/// Passes of `contend` with correct counters and an incorrect one.
#[cfg(all(target_os = "linux", not(miri)))]
mod passes {
    use super::*;
    use crate::counters::catalogue::method_by_id;
    use crate::host::affinity;
    use crate::host::executor::HostExecutor;
    use crate::host::priority::Priority;
    use crate::probes::contend::{ContendConfig, ContendPass};
    use crate::stop::Stop;
    use crate::sync::Ordering::Relaxed;
    use crate::trial_context::TrialContext;
    use coretalk_model::contend::names;
    use coretalk_model::series::Observed;
    use coretalk_model::{CpuId, Flag, Flags, Picos, TickRate};

    /// A counter behind a lock without effect: two threads are inside together. The delay between load and store makes
    /// every schedule lose updates.
    struct Broken(AtomicU64);

    impl Counter for Broken {
        type Handle<'a> = ();
        fn new(_: &Setup) -> Broken {
            Broken(AtomicU64::new(0))
        }
        fn handle(&self, _: usize) {}
        fn step(&self, (): &mut (), _: &Guard<'_>, inside: impl FnOnce()) -> Result<Step, Halt> {
            inside();
            let before = self.0.load(Relaxed);
            std::thread::sleep(std::time::Duration::from_micros(50));
            self.0.store(before + 1, Relaxed);
            Ok(Step::Added(before))
        }
        fn total(&self) -> u64 {
            self.0.load(Relaxed)
        }
    }

    fn pass<C: Counter>(method: &str, threads: usize) -> Observed {
        let stop = Stop::new();
        let executor =
            HostExecutor { rate: TickRate { hz: 1e9 }, priority: Priority::Inherited, stop: &stop };
        let here: Vec<CpuId> = affinity::current_mask().expect("a mask").iter().take(2).collect();
        let cpus: Vec<CpuId> = here.into_iter().cycle().take(threads).collect();
        let context = TrialContext::new(&executor, &cpus, executor.rate, 0.0);
        let method = method_by_id(method).expect("a method");
        let config = ContendConfig { method, sections_ns: [0.0, 0.0], read_share: 0.0 };
        ContendPass { context: &context, config, span: Picos::from_ms(20) }.perform::<C>().expect("a pass")
    }

    #[test]
    fn a_broken_lock_is_invalid() {
        let Observed { flags, numbers, .. } = pass::<Broken>("tas", 2);
        assert!(flags.contains(Flag::Invalid), "{:?}", numbers.counts);
        assert!(numbers.counts[names::FINAL] < numbers.counts[names::EXPECTED]);
    }

    #[test]
    fn a_correct_lock_is_exact_and_has_every_result() {
        let Observed { flags, numbers, .. } = pass::<Guarded<McsLock>>("mcs", 2);
        assert_eq!(numbers.counts[names::FINAL], numbers.counts[names::EXPECTED]);
        assert!(!flags.contains(Flag::Invalid));
        assert!(numbers.histograms[names::ACQUIRE].count() > 0);
        for name in [names::WALL_NS, names::JAIN, names::RUN_LENGTH, names::CPU_NS] {
            assert!(numbers.values[name] > 0.0, "{name}");
        }
        assert!(numbers.values[names::JAIN] <= 1.0 + 1e-9);
        // A busy system may not run two threads within the same milliseconds, so the overlap may be 0.
        assert!((0.0..=1.0).contains(&numbers.values[names::OVERLAP]));
    }

    #[test]
    fn a_single_thread_has_perfect_fairness_and_overlap() {
        let Observed { flags, numbers, .. } = pass::<FetchAdd>("fetch-add", 1);
        assert_eq!(flags, Flags::NONE);
        assert_eq!([names::JAIN, names::OVERLAP].map(|name| numbers.values[name]), [1.0, 1.0]);
    }
}
