//! Parking of the standard library.

use super::{Primitive, Rounds};
use crate::stage::{Guard, Halt};
use std::io;
use std::sync::OnceLock;
use std::thread::Thread;

/// A thread that parks until its round.
#[derive(Debug, Default)]
pub struct Park {
    sleeper: OnceLock<Thread>,
    rounds: Rounds,
}

impl Primitive for Park {
    type Held<'a> = ();

    fn new() -> io::Result<Park> {
        Ok(Park::default())
    }

    fn arm(&self) {}

    fn wait(&self, round: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        self.register(guard);
        while !self.rounds.has(round) {
            std::thread::park();
            if !self.rounds.has(round) {
                guard.check()?;
            }
        }
        Ok(())
    }

    fn register(&self, _: &Guard<'_>) {
        self.sleeper.get_or_init(std::thread::current);
    }

    fn wake(&self, (): (), round: u64) {
        self.rounds.set(round);
        self.unblock();
    }

    fn unblock(&self) {
        if let Some(sleeper) = self.sleeper.get() {
            sleeper.unpark();
        }
    }
}
