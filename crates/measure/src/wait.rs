//! [`WaitAction`]: what a receive loop executes between two looks at a line, chosen at compile time.

/// What to execute between two looks. Types without values, so that each choice is compiled into a loop of its own
/// and costs nothing where it does nothing.
pub trait WaitAction {
    /// How many wait hints that is, at 10 to 140 core cycles each.
    const HINTS: u32;

    /// Waits a moment, or not at all.
    fn wait();
}

/// Looks again at once.
#[derive(Debug, Clone, Copy)]
pub struct Busy;

/// One wait hint: PAUSE on x86, ISB on aarch64.
///
/// YIELD would be the hint that the Arm manual names, but cores without hardware threads execute it as a NOP, so that
/// it could not be told from [`Busy`]; ISB drains the pipeline, as PAUSE does. The standard library made the same
/// choice for `spin_loop` (rust-lang/rust pull request 84725), which is what stands here.
#[derive(Debug, Clone, Copy)]
pub struct Pause;

/// `N` wait hints in a row.
#[derive(Debug, Clone, Copy)]
pub struct Pauses<const N: u32>;

impl WaitAction for Busy {
    const HINTS: u32 = 0;

    #[inline(always)]
    fn wait() {
        // Loom runs one thread at a time and has to be told that only another one can make progress.
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
