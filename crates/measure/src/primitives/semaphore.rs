//! Our semaphore over a futex as a primitive: the one that queues are made of, which here sleeps at once.

use super::Primitive;
use crate::queues::semaphore::Semaphore;
use crate::stage::{Guard, Halt};
use std::io;

impl Primitive for Semaphore {
    type Held<'a> = ();

    fn new() -> io::Result<Semaphore> {
        Ok(Semaphore::new(0, 0))
    }

    fn arm(&self) {}

    fn wait(&self, _: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        // It returns without a permit after a nap of 100 ms, five times the longest gap.
        while !self.take() {
            guard.check()?;
        }
        Ok(())
    }

    fn wake(&self, (): (), _: u64) {
        self.give();
    }

    fn unblock(&self) {
        // Whoever sleeps looks at its guard after a nap.
    }
}
