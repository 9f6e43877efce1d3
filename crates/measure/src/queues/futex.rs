//! [`Futex`]: a word that threads sleep on.

use crate::sync::AtomicU32;

/// A word that threads sleep on until another thread has changed it and wakes them.
#[derive(Debug, Default)]
pub struct Futex {
    /// The word.
    pub word: AtomicU32,
    #[cfg(any(loom, miri, not(target_os = "linux")))]
    bed: model::Bed,
}

impl Futex {
    /// A futex with this value.
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
    /// Sleeps while the word is `expected`, until woken, for at most a [guard interval](super::ends::GUARD_INTERVAL). May return early.
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

/// The same operations with a mutex and a condition variable, as in the kernel: loom finds lost wake-ups, and Miri
/// runs.
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
        /// Sleeps while the word is `expected`, until woken, for at most a [guard interval](super::super::ends::GUARD_INTERVAL) (without
        /// limit in loom, which has no time). May return early.
        pub fn wait(&self, expected: u32) {
            let Ok(lock) = self.bed.lock.lock() else { return };
            // Relaxed: a thread that changed the word wakes under the same lock, which orders the two.
            if self.word.load(Relaxed) == expected {
                drop(self.bed.woken.wait_timeout(lock, super::super::ends::GUARD_INTERVAL));
            }
        }

        /// Wakes one sleeping thread, if any.
        pub fn wake_one(&self) {
            let _lock = self.bed.lock.lock();
            self.bed.woken.notify_one();
        }

        /// Wakes all sleeping threads.
        pub fn wake_all(&self) {
            let _lock = self.bed.lock.lock();
            self.bed.woken.notify_all();
        }
    }
}
