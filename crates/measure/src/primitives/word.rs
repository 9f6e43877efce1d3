//! Primitives that sleep on a futex word. [`AtomicWait`] waits for a change of the word, as C++ atomics do.
//! `Semaphore`, also used by this crate's queues, waits for a permit; here it does not poll first.

use super::Primitive;
use super::waiters::{Waiters, poll_briefly};
use crate::host::futex;
use crate::kernel_context::{Guard, Halt};
use crate::queues::semaphore::Semaphore;
use std::io;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Release, SeqCst};

/// A word of four bytes that the waker sets (`SET`) or clears. Waiters are counted and poll before they sleep, as in
/// libstdc++ ([`Waiters`]). Only counted waiters are woken. With `ALWAYS` waiters sleep at once, and every notification
/// calls the kernel.
#[derive(Debug, Default)]
pub struct AtomicWait<const SET: bool, const ALWAYS: bool> {
    word: AtomicU32,
    waiters: Waiters,
}

impl<const SET: bool, const ALWAYS: bool> AtomicWait<SET, ALWAYS> {
    const GO: u32 = if SET { 1 } else { 0 };
    const STAY: u32 = 1 - Self::GO;

    fn is_released(&self) -> bool {
        // SeqCst, the default of C++, pairs with the store in `wake`, so the waker's earlier writes are visible. After
        // `enter` the waiter sees the store if the waker has not seen the count. The kernel reads the word once more
        // before it puts the waiter to sleep, after a barrier of its own.
        self.word.load(SeqCst) == Self::GO
    }
}

impl<const SET: bool, const ALWAYS: bool> Primitive for AtomicWait<SET, ALWAYS> {
    type Held<'a> = ();

    fn new() -> io::Result<Self> {
        Ok(AtomicWait { word: AtomicU32::new(Self::STAY), waiters: Waiters::default() })
    }

    fn arm(&self) {
        // The waiter has left the last round and waits for the announcement of the next. The Release of the
        // announcement publishes this store.
        self.word.store(Self::STAY, Release);
    }

    fn wait(&self, _: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        let _counted = (!ALWAYS).then(|| self.waiters.enter());
        while !(if ALWAYS { self.is_released() } else { poll_briefly(|| self.is_released()) }) {
            futex::wait(&self.word, Self::STAY, None);
            if !self.is_released() {
                guard.check()?;
            }
        }
        Ok(())
    }

    fn wake(&self, (): (), _: u64) {
        // If every notification calls the kernel, Release suffices: it pairs with the load in `is_released`, and the
        // call follows the store. Otherwise SeqCst: the count must not be read before the word is visible to a thread
        // that counts itself.
        self.word.store(Self::GO, if ALWAYS { Release } else { SeqCst });
        if ALWAYS || self.waiters.any() {
            futex::wake_one(&self.word);
        }
    }

    fn unblock(&self) {
        futex::wake_all(&self.word);
    }
}

impl Primitive for Semaphore {
    type Held<'a> = ();

    fn new() -> io::Result<Semaphore> {
        Ok(Semaphore::new(0, 0))
    }

    fn arm(&self) {}

    fn wait(&self, _: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        // `take` returns without a permit after 100 ms, five times the longest gap.
        while !self.take() {
            guard.check()?;
        }
        Ok(())
    }

    fn wake(&self, (): (), _: u64) {
        self.give();
    }

    fn unblock(&self) {
        // Sleepers check their guard every 100 ms.
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::AtomicU64;
    use std::sync::mpsc;
    use std::time::Duration;

    /// Number of kernel calls for ten notifications with `waiting` counted waiters.
    fn kernel_calls<const SET: bool, const ALWAYS: bool>(waiting: usize) -> u64 {
        let primitive = AtomicWait::<SET, ALWAYS>::new().unwrap();
        let _counted: Vec<_> = (0..waiting).map(|_| primitive.waiters.enter()).collect();
        let before = futex::wakes();
        for round in 1..=10 {
            primitive.arm();
            primitive.wake((), round);
        }
        futex::wakes() - before
    }

    #[test]
    fn notifications_call_the_kernel_only_for_waiters_or_always() {
        assert_eq!((kernel_calls::<true, false>(0), kernel_calls::<false, false>(0)), (0, 0));
        assert_eq!((kernel_calls::<true, false>(1), kernel_calls::<false, false>(2)), (10, 10));
        assert_eq!((kernel_calls::<true, true>(0), kernel_calls::<true, true>(1)), (10, 10));
    }

    /// Two threads notify each other in turn, sometimes after a pause in which the other has gone to sleep, sometimes
    /// at once. Only a notification ends a sleep, so a lost one blocks both threads until the test unblocks them.
    fn notify_in_turns<const ALWAYS: bool>() {
        const ROUNDS: u64 = 5_000;
        let words = [(); 2].map(|()| AtomicWait::<true, ALWAYS>::new().unwrap());
        let halt = AtomicU64::new(0);
        let guard = Guard { halt: &halt, deadline_ticks: u64::MAX, now_ticks: || 0 };
        let (words, guard) = (&words, &guard);
        let ended = std::thread::scope(|scope| {
            let (done, outcomes) = mpsc::channel();
            for role in 0..2 {
                let done = done.clone();
                scope.spawn(move || {
                    let [own_word, other_word] = [&words[role], &words[1 - role]];
                    let outcome = (1..=ROUNDS).try_for_each(|round| {
                        if role == 0 {
                            if round % 16 == 0 {
                                std::thread::sleep(Duration::from_micros(200));
                            }
                            other_word.wake((), round);
                        }
                        own_word.wait(round, guard)?;
                        own_word.arm();
                        if role == 1 {
                            other_word.wake((), round);
                        }
                        Ok::<(), Halt>(())
                    });
                    done.send(outcome).unwrap();
                });
            }
            drop(done);
            let ended = [(); 2].map(|()| outcomes.recv_timeout(Duration::from_secs(60)));
            if ended.iter().any(Result::is_err) {
                guard.give_up(Halt::Deadline);
                // Repeated, because a thread that is about to sleep misses a wake-up.
                while outcomes.recv_timeout(Duration::from_millis(10))
                    != Err(mpsc::RecvTimeoutError::Disconnected)
                {
                    words.iter().for_each(AtomicWait::unblock);
                }
            }
            ended
        });
        assert_eq!(ended, [Ok(Ok(())), Ok(Ok(()))], "a notification was lost");
    }

    #[test]
    fn no_notification_is_lost() {
        notify_in_turns::<false>();
        notify_in_turns::<true>();
    }
}
