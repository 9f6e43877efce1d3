//! A pipe: one byte for each round.

use super::{Primitive, Rounds};
use crate::stage::{Guard, Halt};
use std::io::{self, PipeReader, PipeWriter, Read, Write};

/// Both ends of a pipe.
#[derive(Debug)]
pub struct Pipe {
    read: PipeReader,
    write: PipeWriter,
    rounds: Rounds,
}

impl Primitive for Pipe {
    type Held<'a> = ();

    fn new() -> io::Result<Pipe> {
        let (read, write) = io::pipe()?;
        Ok(Pipe { read, write, rounds: Rounds::default() })
    }

    fn arm(&self) {}

    fn wait(&self, round: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        loop {
            // An interrupted read is looked into like the byte that `unblock` writes.
            let _ = (&self.read).read(&mut [0]);
            if self.rounds.has(round) {
                return Ok(());
            }
            guard.check()?;
        }
    }

    fn wake(&self, (): (), round: u64) {
        self.rounds.set(round);
        self.unblock();
    }

    fn unblock(&self) {
        // Fails only where the pipe is full, and then nobody sleeps on it.
        let _ = (&self.write).write(&[1]);
    }
}
