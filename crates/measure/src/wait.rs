//! [`WaitAction`]: the action of a receive loop between two polls of a line. [`WaitMode`]: how a thread waits.

/// How a thread waits for another thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitMode {
    /// The thread does not wait.
    Never,
    /// The thread polls. Two threads on one CPU hand off once per quantum.
    Spin,
    /// The thread gives up its CPU, at once or after some polls.
    Block,
}

/// The action between two polls. The compiler builds a loop for each action.
pub trait WaitAction {
    /// Number of wait hints, of 10 to 140 core cycles each.
    const HINTS: u32;

    /// Executes the action.
    fn wait();
}

/// No action.
#[derive(Debug, Clone, Copy)]
pub struct Busy;

/// One wait hint: PAUSE on x86, ISB on aarch64, as `spin_loop` of the standard library. The hint in the Arm manual is
/// YIELD, but cores without hardware threads execute YIELD as a NOP, which would equal [`Busy`]. ISB drains the
/// pipeline, as PAUSE does (rust-lang/rust pull request 84725).
#[derive(Debug, Clone, Copy)]
pub struct Pause;

/// `N` wait hints in a row.
#[derive(Debug, Clone, Copy)]
pub struct Pauses<const N: u32>;

impl WaitAction for Busy {
    const HINTS: u32 = 0;

    #[inline(always)]
    fn wait() {
        // Loom runs one thread at a time, and must be told that only another thread can make progress.
        #[cfg(loom)]
        loom::thread::yield_now();
    }
}

impl WaitAction for Pause {
    const HINTS: u32 = 1;

    #[inline(always)]
    fn wait() {
        crate::sync::spin_loop();
    }
}

impl<const N: u32> WaitAction for Pauses<N> {
    const HINTS: u32 = N;

    #[inline(always)]
    fn wait() {
        for _ in 0..N {
            Pause::wait();
        }
    }
}
