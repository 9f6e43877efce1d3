//! [`Word`]: a word that two threads change in turn. The asker changes it to odd values, the answerer to even ones.

use crate::kernel_context::Halt;
use crate::sync::AtomicU64;
use crate::sync::Ordering::{AcqRel, Acquire};
use crate::trial_context::CachePadded;
use crate::trial_context::RoleContext;

const END: u64 = u64::MAX;

#[derive(Debug, Default)]
pub struct Word(CachePadded<AtomicU64>);

impl Word {
    /// Changes the word from turn `from` to turn `to`. Returns whether it was at `from`.
    #[inline]
    pub fn turn(&self, from: u64, to: u64) -> bool {
        // AcqRel as in the kernel of the map: a thread that sees the turn sees the writes before it. A failure
        // acquires, so that an unsuccessful poll is the same transaction.
        self.0.compare_exchange(from, to, AcqRel, Acquire).is_ok()
    }

    /// Whether a turn has come. The test exchanges equal values, which is the same transaction as a hand-off.
    #[inline]
    pub fn is_at(&self, turn: u64) -> bool {
        self.turn(turn, turn)
    }

    pub fn end(&self, turn: u64) -> bool {
        self.turn(turn, END)
    }

    /// Answers a turn if it has come; `None` if it has not.
    #[inline]
    fn reply(&self, turn: u64) -> Option<Reply> {
        // AcqRel pairs with the asker's exchange. A failure acquires, so the end is seen with everything before it.
        match self.0.compare_exchange(turn, turn + 1, AcqRel, Acquire) {
            Ok(_) => Some(Reply::Given),
            Err(END) => Some(Reply::Over),
            Err(_) => None,
        }
    }

    /// Answers odd turns until the end, or returns the reason to leave early.
    pub fn answer(&self, role: &RoleContext<'_>) -> Result<(), Halt> {
        let mut turn = 1;
        loop {
            let mut reply = None;
            role.wait_until(|| {
                reply = self.reply(turn);
                reply.is_some()
            })?;
            if reply == Some(Reply::Over) {
                return Ok(());
            }
            turn += 2;
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reply {
    Given,
    Over,
}

#[cfg(all(test, loom))]
mod loomed {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    /// Data that a turn carries: the thread that has the turn may write it.
    #[derive(Debug, Default)]
    struct Shared {
        word: Word,
        carried: UnsafeCell<u64>,
    }

    // SAFETY: only the thread that has the turn touches `carried`; loom reports a violation.
    unsafe impl Sync for Shared {}

    impl Shared {
        fn add(&self) {
            self.carried.with_mut(|carried| {
                // SAFETY: the turn is ours.
                unsafe { *carried += 1 }
            });
        }
    }

    #[test]
    fn loom_turns_carry_what_was_written_before_them_and_the_end_is_seen() {
        loom::model(|| {
            let shared = Arc::new(Shared::default());
            let theirs = Arc::clone(&shared);
            let answering = loom::thread::spawn(move || {
                let mut turn = 1;
                loop {
                    // The poll is also the answer, so the published data is written only after the next poll.
                    match theirs.word.reply(turn) {
                        Some(Reply::Given) => turn += 2,
                        Some(Reply::Over) => break,
                        None => loom::thread::yield_now(),
                    }
                }
                theirs.add();
                turn
            });
            let rounds = 2;
            for round in 0..rounds {
                shared.add();
                assert!(shared.word.turn(2 * round, 2 * round + 1), "the turn is ours");
                while !shared.word.is_at(2 * round + 2) {
                    loom::thread::yield_now();
                }
            }
            shared.add();
            assert!(shared.word.end(2 * rounds), "the turn came back");
            assert_eq!(answering.join().unwrap(), 2 * rounds + 1, "every turn was answered");
            shared.carried.with(|carried| {
                // SAFETY: the other thread has ended.
                assert_eq!(unsafe { *carried }, rounds + 2, "nothing carried was lost");
            });
        });
    }
}
