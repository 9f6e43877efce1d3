//! [`Futex`]: a number that threads sleep on.

use crate::sync::AtomicU32;

/// A number that threads sleep on until somebody has changed it and wakes them.
#[derive(Debug, Default)]
pub struct Futex {
    /// The number.
    pub word: AtomicU32,
    #[cfg(any(loom, miri, not(target_os = "linux")))]
    bed: model::Bed,
}

impl Futex {
    /// Holding this number.
    pub fn new(value: u32) -> Futex {
        Futex {
            word: AtomicU32::new(value),
            #[cfg(any(loom, miri, not(target_os = "linux")))]
            bed: model::Bed::default(),
        }
    }
}

#[cfg(all(target_os = "linux", not(any(loom, miri))))]
impl Futex {
    /// Sleeps while the number is `expected`, until woken, for a [nap](super::ends::NAP) at most. May return early.
    pub fn wait(&self, expected: u32) {
        crate::host::futex::wait(&self.word, expected, Some(super::ends::NAP));
    }

    /// Wakes one thread that sleeps, if any does.
    pub fn wake_one(&self) {
        crate::host::futex::wake_one(&self.word);
    }

    /// Wakes every thread that sleeps.
    pub fn wake_all(&self) {
        crate::host::futex::wake_all(&self.word);
    }
}

/// The same out of a mutex and a condition variable, which is what the kernel's is: loom then finds every wake-up that
/// can be lost, and Miri runs it.
#[cfg(any(loom, miri, not(target_os = "linux")))]
mod model {
    use super::Futex;
    use crate::sync::Ordering::Relaxed;
    use crate::sync::{Condvar, Mutex};

    #[derive(Debug, Default)]
    pub struct Bed {
        lock: Mutex<()>,
        woken: Condvar,
    }

    impl Futex {
        /// Sleeps while the number is `expected`, until woken, for a [nap](super::super::ends::NAP) at most, but for loom,
        /// which knows no time. May return early.
        pub fn wait(&self, expected: u32) {
            let Ok(lock) = self.bed.lock.lock() else { return };
            // Relaxed: whoever changed the number wakes under the same lock, which orders the two.
            if self.word.load(Relaxed) == expected {
                drop(self.bed.woken.wait_timeout(lock, super::super::ends::NAP));
            }
        }

        /// Wakes one thread that sleeps, if any does.
        pub fn wake_one(&self) {
            let _lock = self.bed.lock.lock();
            self.bed.woken.notify_one();
        }

        /// Wakes every thread that sleeps.
        pub fn wake_all(&self) {
            let _lock = self.bed.lock.lock();
            self.bed.woken.notify_all();
        }
    }
}
