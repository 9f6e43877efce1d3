//! The load spins of `c2clat` and `coherency-latency`, with a guard that does not change their timing.
//!
//! The polling rate of a receiver decides how many loads are in flight when it loses the line. So it decides the
//! duration of a trip. Each poll is that of the tool (a load, a comparison and a backward branch) plus a countdown, in
//! one short loop. Unrolled polls that share a countdown match the tools less well (*measured*: docs/evidence.md,
//! "Other tools").

use crate::kernel_context::{Guard, Halt};
use crate::sync::AtomicU64;

#[cfg(all(target_arch = "x86_64", not(any(loom, miri))))]
#[inline(always)]
pub(super) fn spin_until(word: &AtomicU64, wanted: u64, guard: &Guard<'_>) -> Result<(), Halt> {
    loop {
        let mut left = crate::kernel_context::POLLS;
        // A load is an acquire on x86. Without `nomem` the compiler moves no access across.
        // SAFETY: each poll loads eight bytes from a borrowed atomic, and only two registers are written.
        unsafe {
            std::arch::asm!(
                ".p2align 4",
                "2:",
                "mov {seen}, qword ptr [{word}]",
                "cmp {seen}, {wanted}",
                "je 3f",
                "dec {left:e}",
                "jne 2b",
                "3:",
                seen = out(reg) _,
                word = in(reg) word.as_ptr(),
                wanted = in(reg) wanted,
                left = inout(reg) left,
                options(nostack)
            );
        }
        if left != 0 {
            return Ok(());
        }
        guard.check()?;
    }
}

/// Polls until `word` is `wanted`. The timing has not been compared with a bare loop on such a CPU.
#[cfg(not(all(target_arch = "x86_64", not(any(loom, miri)))))]
#[inline(always)]
pub(super) fn spin_until(word: &AtomicU64, wanted: u64, guard: &Guard<'_>) -> Result<(), Halt> {
    use crate::sync::Ordering::Acquire;
    // Acquire pairs with the Release with which the partner stores its number.
    crate::kernel_context::wait_until::<crate::wait::Busy>(guard, || word.load(Acquire) == wanted)
}

/// Polls as `c2clat` does, with words in the stack frame of the polling function. x86 CPUs handle loads relative to the
/// stack pointer specially, which takes longer here.
///
/// While this value lives, every signal that can be blocked is blocked for its thread. So no handler uses the memory
/// below the changed stack pointer as a stack. Signals to the process reach other threads.
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(any(loom, miri))))]
#[derive(Debug)]
pub(super) struct StackPointer {
    /// The previous signal mask in the kernel's format; `None` if it could not be changed.
    signals_before: Option<u64>,
    /// A mask belongs to a thread, so this type is not `Send`.
    _of_this_thread: std::marker::PhantomData<*const ()>,
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(any(loom, miri))))]
impl Default for StackPointer {
    fn default() -> StackPointer {
        let signals_before = set_signal_mask(u64::MAX);
        StackPointer { signals_before, _of_this_thread: std::marker::PhantomData }
    }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(any(loom, miri))))]
impl StackPointer {
    #[inline(always)]
    pub(super) fn spin_until(&self, word: &AtomicU64, wanted: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        if self.signals_before.is_none() {
            return spin_until(word, wanted, guard);
        }
        loop {
            let mut left = crate::kernel_context::POLLS;
            // SAFETY: as in `spin_until`, each poll loads eight bytes from a borrowed atomic, and only registers are
            // written. The stack pointer is restored before the end. Until then nothing uses it as a stack: the code
            // neither pushes nor calls, system code runs on stacks of its own, and every signal whose handler could run
            // on this thread is blocked as long as `self` lives. `self` cannot leave the thread, and nothing else
            // changes its signal mask.
            unsafe {
                std::arch::asm!(
                    "mov {stack}, rsp",
                    "lea rsp, [{word} - 128]",
                    ".p2align 4",
                    "2:",
                    "mov {seen}, qword ptr [rsp + 128]",
                    "cmp {seen}, {wanted}",
                    "je 3f",
                    "dec {left:e}",
                    "jne 2b",
                    "3:",
                    "mov rsp, {stack}",
                    stack = out(reg) _,
                    seen = out(reg) _,
                    word = in(reg) word.as_ptr(),
                    wanted = in(reg) wanted,
                    left = inout(reg) left,
                    options(nostack)
                );
            }
            if left != 0 {
                return Ok(());
            }
            guard.check()?;
        }
    }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(any(loom, miri))))]
impl Drop for StackPointer {
    fn drop(&mut self) {
        if let Some(signals_before) = self.signals_before {
            set_signal_mask(signals_before);
        }
    }
}

/// Blocks exactly these signals for this thread and returns the previous mask. This is a system call, since the
/// function of the C library leaves out two signals of its own.
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(any(loom, miri))))]
fn set_signal_mask(mask: u64) -> Option<u64> {
    let mut before = 0u64;
    // SAFETY: the kernel reads and writes one mask of eight bytes each. Both live through the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            std::ptr::from_ref(&mask),
            std::ptr::from_mut(&mut before),
            size_of::<u64>(),
        )
    };
    (result == 0).then_some(before)
}

/// Ordinary polling. The spin of `c2clat` is known only on x86-64.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(any(loom, miri)))))]
#[derive(Debug, Default)]
pub(super) struct StackPointer;

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(any(loom, miri)))))]
impl StackPointer {
    #[inline(always)]
    pub(super) fn spin_until(&self, word: &AtomicU64, wanted: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        spin_until(word, wanted, guard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_context::Line;

    fn line(value: u64) -> Line {
        let line = Line::default();
        line.words[0].store(value, crate::sync::Ordering::Relaxed);
        line
    }

    #[test]
    fn a_spin_ends_at_the_number_or_at_the_deadline() {
        let halt = AtomicU64::new(0);
        let guard = Guard { halt: &halt, deadline_ticks: 5, now_ticks: || 6 };
        assert_eq!(spin_until(&line(7).words[0], 7, &guard), Ok(()));
        assert_eq!(spin_until(&line(8).words[0], 7, &guard), Err(Halt::Deadline));
        let by_stack_pointer = StackPointer::default();
        assert_eq!(by_stack_pointer.spin_until(&line(7).words[0], 7, &guard), Ok(()));
        assert_eq!(by_stack_pointer.spin_until(&line(8).words[0], 7, &guard), Err(Halt::Deadline));
    }

    #[test]
    fn a_number_that_arrives_later_is_seen() {
        let (line, halt) = (line(0), AtomicU64::new(0));
        let guard = Guard { halt: &halt, deadline_ticks: u64::MAX, now_ticks: || 0 };
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| StackPointer::default().spin_until(&line.words[0], 1, &guard));
            std::thread::yield_now();
            line.words[0].store(1, crate::sync::Ordering::Release);
            assert_eq!(waiting.join().ok(), Some(Ok(())));
        });
    }

    #[cfg(all(target_arch = "x86_64", target_os = "linux", not(any(loom, miri))))]
    #[test]
    fn signals_are_blocked_meanwhile_and_restored_afterwards() {
        let only_usr1 = 1 << (libc::SIGUSR1 - 1);
        set_signal_mask(only_usr1).unwrap();
        let by_stack_pointer = StackPointer::default();
        let meanwhile = set_signal_mask(u64::MAX).unwrap();
        let never_blocked = 1 << (libc::SIGKILL - 1) | 1 << (libc::SIGSTOP - 1);
        assert_eq!(!meanwhile, never_blocked);
        drop(by_stack_pointer);
        assert_eq!(set_signal_mask(0), Some(only_usr1));
    }
}
