//! Counters without a lock: an atomic operation, a loop around one, per-thread counters, a data race, and 16 bytes. The
//! 16-byte counter uses one instruction on x86-64, and a lock elsewhere.

use super::{Counter, Setup, Step};
use crate::kernel_context::{Guard, Halt, wait_until};
use crate::primitives::spin::TasLock;
use crate::sync::AtomicU64;
use crate::sync::Ordering::Relaxed;
use crate::trial_context::CachePadded;
use crate::wait::{Busy, Pause, WaitAction};

// Every order in this file is Relaxed. The number publishes no other data, and each addition is one atomic operation.
// The final reader has joined all threads.

/// Maximum spin hints between two attempts. Their number doubles after each failure, as Anderson (1990) proposes.
const MAX_HINTS: u32 = 64;

/// One atomic addition.
#[derive(Debug)]
pub struct FetchAdd(AtomicU64);

/// Compare-exchange until it succeeds, with exponential backoff (`BACKOFF`) or without pauses.
#[derive(Debug)]
pub struct CasLoop<const BACKOFF: bool>(AtomicU64);

/// One counter per thread, summed at the end. It shows the cost without sharing.
#[derive(Debug)]
pub struct PerThread(Box<[CachePadded<AtomicU64>]>);

/// A load and a store, which lose concurrent updates. The result is wrong, but the behaviour is defined.
#[derive(Debug)]
pub struct Racy(AtomicU64);

impl Counter for FetchAdd {
    type Handle<'a> = ();

    fn new(_: &Setup) -> FetchAdd {
        FetchAdd(AtomicU64::new(0))
    }

    fn handle(&self, _: usize) {}

    #[inline(always)]
    fn step(&self, (): &mut (), _: &Guard<'_>, inside: impl FnOnce()) -> Result<Step, Halt> {
        let before = self.0.fetch_add(1, Relaxed);
        inside();
        Ok(Step::Added(before))
    }

    fn total(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl<const BACKOFF: bool> Counter for CasLoop<BACKOFF> {
    type Handle<'a> = ();

    fn new(_: &Setup) -> Self {
        CasLoop(AtomicU64::new(0))
    }

    fn handle(&self, _: usize) {}

    #[inline(always)]
    fn step(&self, (): &mut (), guard: &Guard<'_>, inside: impl FnOnce()) -> Result<Step, Halt> {
        let mut seen = self.0.load(Relaxed);
        let mut hints = 1;
        wait_until::<Busy>(guard, || match self.0.compare_exchange_weak(seen, seen + 1, Relaxed, Relaxed) {
            Ok(_) => true,
            Err(now) => {
                seen = now;
                if BACKOFF {
                    for _ in 0..hints {
                        Pause::wait();
                    }
                    hints = (hints * 2).min(MAX_HINTS);
                    seen = self.0.load(Relaxed);
                }
                false
            }
        })?;
        inside();
        Ok(Step::Added(seen))
    }

    fn total(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl Counter for PerThread {
    type Handle<'a> = &'a AtomicU64;

    fn new(setup: &Setup) -> PerThread {
        PerThread((0..setup.threads).map(|_| CachePadded(AtomicU64::new(0))).collect())
    }

    fn handle(&self, thread: usize) -> &AtomicU64 {
        &self.0[thread]
    }

    #[inline(always)]
    fn step<'a>(
        &'a self,
        counter: &mut &'a AtomicU64,
        _: &Guard<'_>,
        inside: impl FnOnce(),
    ) -> Result<Step, Halt> {
        // Only this thread writes this counter, so a load and a store lose nothing.
        counter.store(counter.load(Relaxed) + 1, Relaxed);
        inside();
        Ok(Step::AddedSomewhere)
    }

    fn total(&self) -> u64 {
        self.0.iter().map(|counter| counter.load(Relaxed)).sum()
    }
}

impl Counter for Racy {
    type Handle<'a> = ();

    fn new(_: &Setup) -> Racy {
        Racy(AtomicU64::new(0))
    }

    fn handle(&self, _: usize) {}

    #[inline(always)]
    fn step(&self, (): &mut (), _: &Guard<'_>, inside: impl FnOnce()) -> Result<Step, Halt> {
        self.0.store(self.0.load(Relaxed) + 1, Relaxed);
        inside();
        Ok(Step::AddedSomewhere)
    }

    fn total(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// An increment of both halves. It reveals an operation that writes only one half.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const ONE: u128 = 1 << 64 | 1;

/// Whether this CPU has a compare-exchange of 16 bytes (CMPXCHG16B). Rust offers none for aarch64.
pub fn is_native() -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    return std::arch::is_x86_feature_detected!("cmpxchg16b");
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    false
}

/// 16 bytes with compare-exchange until it succeeds.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[derive(Debug)]
#[repr(align(16))]
pub struct Wide(std::cell::UnsafeCell<u128>);

// SAFETY: only the atomic instruction in `exchange` accesses the bytes.
#[cfg(all(target_arch = "x86_64", not(miri)))]
unsafe impl Sync for Wide {}

#[cfg(all(target_arch = "x86_64", not(miri)))]
impl Wide {
    #[inline(always)]
    fn exchange(&self, old: u128, new: u128) -> u128 {
        let (low, high): (u64, u64);
        // In assembly, since compiled code for CPUs without the instruction would call a library. The compiler reserves
        // RBX, so the code exchanges and restores it.
        // SAFETY: the address is aligned to 16 bytes, and only this instruction accesses the bytes there. The type is
        // used only where `is_native` holds. RBX is restored at the end.
        unsafe {
            std::arch::asm!(
                "xchg {new_low}, rbx",
                "lock cmpxchg16b [rdi]",
                "mov rbx, {new_low}",
                new_low = inout(reg) new as u64 => _,
                in("rcx") (new >> 64) as u64,
                in("rdi") self.0.get(),
                inout("rax") old as u64 => low,
                inout("rdx") (old >> 64) as u64 => high,
                options(nostack)
            );
        }
        u128::from(high) << 64 | u128::from(low)
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
impl Counter for Wide {
    type Handle<'a> = ();

    fn new(_: &Setup) -> Wide {
        Wide(std::cell::UnsafeCell::new(0))
    }

    fn handle(&self, _: usize) {}

    #[inline(always)]
    fn step(&self, (): &mut (), guard: &Guard<'_>, inside: impl FnOnce()) -> Result<Step, Halt> {
        // No 16-byte load is guaranteed to be atomic. So the first compare-exchange reads the value.
        let mut seen = self.exchange(0, 0);
        crate::kernel_context::wait_until::<crate::wait::Busy>(guard, || {
            let now = self.exchange(seen, seen.wrapping_add(ONE));
            let done = now == seen;
            seen = now;
            done
        })?;
        inside();
        Ok(Step::Added(seen as u64))
    }

    fn total(&self) -> u64 {
        self.exchange(0, 0) as u64
    }

    fn is_sound(&self) -> bool {
        let whole = self.exchange(0, 0);
        whole >> 64 == u128::from(whole as u64)
    }
}

/// Two words under a test-and-test-and-set lock, where no 16-byte compare-exchange is available. The word of the lock
/// and both halves are on one line, which the holder of the lock writes.
#[derive(Debug)]
pub struct LockedWide {
    lock: TasLock<true>,
    halves: [AtomicU64; 2],
}

impl Counter for LockedWide {
    type Handle<'a> = ();

    fn new(_: &Setup) -> LockedWide {
        LockedWide { lock: TasLock::default(), halves: [AtomicU64::new(0), AtomicU64::new(0)] }
    }

    fn handle(&self, _: usize) {}

    #[inline(always)]
    fn step(&self, (): &mut (), guard: &Guard<'_>, inside: impl FnOnce()) -> Result<Step, Halt> {
        let held = self.lock.lock(guard)?;
        // Relaxed: the lock excludes other threads and orders everything.
        let before = self.halves[0].load(Relaxed);
        for half in &self.halves {
            half.store(half.load(Relaxed) + 1, Relaxed);
        }
        drop(held);
        inside();
        Ok(Step::Added(before))
    }

    fn total(&self) -> u64 {
        self.halves[0].load(Relaxed)
    }

    fn is_sound(&self) -> bool {
        self.halves[1].load(Relaxed) == self.total()
    }
}
