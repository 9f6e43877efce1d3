//! [`Futex`]: a word that threads sleep on.

use crate::sync::AtomicU32;

/// A word on which threads sleep until another thread changes it and wakes them.
#[derive(Debug, Default)]
pub struct Futex {
    /// The word.
    pub word: AtomicU32,
    #[cfg(any(loom, miri, not(target_os = "linux")))]
    sleepers: model::Sleepers,
}

impl Futex {
    /// A futex with this value.
    pub fn new(value: u32) -> Futex {
        Futex {
            word: AtomicU32::new(value),
            #[cfg(any(loom, miri, not(target_os = "linux")))]
            sleepers: model::Sleepers::default(),
        }
    }
}

#[cfg(all(target_os = "linux", not(any(loom, miri))))]
impl Futex {
    /// Sleeps while the word is `expected`, until woken, at most for a [guard interval](super::ends::GUARD_INTERVAL).
    /// May return early.
    pub fn wait(&self, expected: u32) {
        crate::host::futex::wait(&self.word, expected, Some(super::ends::GUARD_INTERVAL));
    }

    /// Wakes one sleeping thread, if any.
    pub fn wake_one(&self) {
        crate::host::futex::wake_one(&self.word);
    }

    /// Wakes all sleeping threads.
    pub fn wake_all(&self) {
        crate::host::futex::wake_all(&self.word);
    }
}

/// The same operations with a condition variable, for loom, Miri and systems other than Linux. A lock guards the
/// comparison, as in the kernel, so loom finds lost wake-ups.
#[cfg(any(loom, miri, not(target_os = "linux")))]
mod model {
    use super::Futex;
    use crate::sync::Ordering::Relaxed;
    use crate::sync::{Condvar, Mutex};

    #[derive(Debug, Default)]
    pub struct Sleepers {
        lock: Mutex<()>,
        woken: Condvar,
    }

    impl Futex {
        /// Sleeps while the word is `expected`, until woken, at most for a [guard
        /// interval](super::super::ends::GUARD_INTERVAL). May return early. Loom has no time and no limit.
        pub fn wait(&self, expected: u32) {
            let Ok(lock) = self.sleepers.lock.lock() else { return };
            // Relaxed: the word changes before the waker locks. So this load sees it, or the wait precedes the wake-up.
            if self.word.load(Relaxed) == expected {
                drop(self.sleepers.woken.wait_timeout(lock, super::super::ends::GUARD_INTERVAL));
            }
        }

        /// Wakes one sleeping thread, if any.
        pub fn wake_one(&self) {
            let _lock = self.sleepers.lock.lock();
            self.sleepers.woken.notify_one();
        }

        /// Wakes all sleeping threads.
        pub fn wake_all(&self) {
            let _lock = self.sleepers.lock.lock();
            self.sleepers.woken.notify_all();
        }
    }
}
