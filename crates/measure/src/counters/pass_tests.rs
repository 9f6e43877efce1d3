//! Passes of `contend` with counters that are right and one that is not.

use super::atomic::FetchAdd;
use super::guarded::Guarded;
use super::mcs::McsLock;
use super::{Counter, Setup, Step};
use crate::counters::catalogue::method_by_id;
use crate::counters::guarded::Lock;
use crate::host::affinity;
use crate::host::executor::HostExecutor;
use crate::host::priority::Priority;
use crate::probes::contend::{Config, Pass};
use crate::stage::Guard;
use crate::stage::Halt;
use crate::stop::Stop;
use crate::sync::AtomicU64;
use crate::sync::Ordering::Relaxed;
use crate::trial_context::TrialContext;
use coretalk_model::contend::names;
use coretalk_model::series::Observed;
use coretalk_model::{CpuId, Flags, TickRate};
use coretalk_model::{Flag, Picos};

/// A lock that keeps nobody out: two threads are inside together, and both have read the number before either
/// writes it.
struct Broken;

impl Lock for Broken {
    type Handle<'a> = ();
    type Held<'a> = ();
    fn new(_: usize) -> Broken {
        Broken
    }
    fn handle(&self, _: usize) {}
    fn lock(&self, (): &mut (), _: &Guard<'_>) -> Result<(), Halt> {
        Ok(())
    }
}

/// The same as [`Guarded`], held up between the load and the store, so that every schedule loses updates.
struct Slow(Broken, AtomicU64);

impl Counter for Slow {
    type Handle<'a> = ();
    fn new(setup: &Setup) -> Slow {
        Slow(Broken::new(setup.threads), AtomicU64::new(0))
    }
    fn handle(&self, _: usize) {}
    fn step(&self, (): &mut (), guard: &Guard<'_>, inside: impl FnOnce()) -> Result<Step, Halt> {
        self.0.lock(&mut (), guard)?;
        inside();
        let before = self.1.load(Relaxed);
        std::thread::sleep(std::time::Duration::from_micros(50));
        self.1.store(before + 1, Relaxed);
        Ok(Step::Added(before))
    }
    fn total(&self) -> u64 {
        self.1.load(Relaxed)
    }
}

fn pass<C: Counter>(method: &str, threads: usize) -> Observed {
    let stop = Stop::new();
    let executor = HostExecutor { rate: TickRate { hz: 1e9 }, priority: Priority::Inherited, stop: &stop };
    let here: Vec<CpuId> = affinity::current_mask().expect("a mask").iter().take(2).collect();
    let cpus: Vec<CpuId> = here.iter().copied().cycle().take(threads).collect();
    let context = TrialContext::new(&executor, &cpus, executor.rate, 0.0);
    let config =
        Config { method: method_by_id(method).expect("a method"), sections_ns: [0.0, 0.0], read_share: 0.0 };
    Pass { context: &context, config, span: Picos::from_ms(20) }.of::<C>().expect("a pass")
}

#[test]
fn a_broken_lock_is_invalid() {
    let observed = pass::<Slow>("tas", 2);
    assert!(observed.flags.contains(Flag::Invalid), "{:?}", observed.numbers.counts);
    assert!(observed.numbers.counts[names::FINAL] < observed.numbers.counts[names::EXPECTED]);
}

#[test]
fn a_lock_that_holds_is_exact_and_says_everything() {
    let observed = pass::<Guarded<McsLock>>("mcs", 2);
    assert_eq!(observed.numbers.counts[names::FINAL], observed.numbers.counts[names::EXPECTED]);
    assert!(!observed.flags.contains(Flag::Invalid));
    assert!(observed.numbers.histograms[names::ACQUIRE].count() > 0);
    for name in [names::WALL_NS, names::JAIN, names::RUN_LENGTH, names::CPU_NS] {
        assert!(observed.numbers.values[name] > 0.0, "{name}");
    }
    assert!(observed.numbers.values[names::JAIN] <= 1.0 + 1e-9);
    // Nothing makes a busy system run two threads within the same milliseconds: windows that share no time are said to.
    assert!((0.0..=1.0).contains(&observed.numbers.values[names::OVERLAP]));
}

#[test]
fn one_thread_is_alone() {
    let observed = pass::<FetchAdd>("fetch-add", 1);
    assert_eq!(observed.flags, Flags::NONE);
    assert_eq!((observed.numbers.values[names::JAIN], observed.numbers.values[names::OVERLAP]), (1.0, 1.0));
}
