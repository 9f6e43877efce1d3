//! The barrier of the standard library, for two.

use super::Primitive;
use crate::stage::{Guard, Halt};
use std::io;
use std::sync::Barrier;

/// A barrier at which the waiter arrives first.
#[derive(Debug)]
pub struct StdBarrier(Barrier);

impl Primitive for StdBarrier {
    type Held<'a> = ();

    fn new() -> io::Result<StdBarrier> {
        Ok(StdBarrier(Barrier::new(2)))
    }

    fn arm(&self) {}

    fn wait(&self, _: u64, _: &Guard<'_>) -> Result<(), Halt> {
        // Whoever has announced a round is let go by the waker even where the pass is given up, so this ends.
        self.0.wait();
        Ok(())
    }

    fn wake(&self, (): (), _: u64) {
        self.0.wait();
    }

    fn unblock(&self) {}
}
