//! The spin of plain loads that `c2clat` and `coherency-latency` wait with, which a guard must not be felt in.
//!
//! How fast a receiver looks decides how many loads are on their way when the line is taken from it, and with that what a
//! trip takes. A countdown beside each look makes the spin of `wait_until` read 0.68 times the bare loop of
//! `coherency-latency` and 0.95 times that of `c2clat`; looks laid out one behind the other, two of which fit into a
//! cycle, 1.00 and 1.12. Here each look ends in a taken branch to the next, as in the bare loop, and `POLLS_PER_TURN` of
//! them share one countdown. The best number of them differs between the two loops: of 16, 64 and 256 the nearest one is
//! taken for each (*measured*: `--example bare_tools`, AMD EPYC guest; why they differ was not found out).

use crate::stage::{Guard, Halt};
use crate::sync::AtomicU64;

/// Looks until `word` is `wanted`.
///
/// # Errors
/// The reason why the wait was given up.
#[cfg(all(target_arch = "x86_64", not(any(loom, miri))))]
#[inline(always)]
pub(super) fn spin_until<const POLLS_PER_TURN: u32>(
    word: &AtomicU64,
    wanted: u64,
    guard: &Guard<'_>,
) -> Result<(), Halt> {
    loop {
        let mut turns = crate::stage::POLLS / POLLS_PER_TURN;
        // A load is an acquire on x86, and without `nomem` the compiler moves no access across.
        // SAFETY: each look is a load of eight bytes from an atomic that is borrowed; nothing is written but two registers.
        unsafe {
            std::arch::asm!(
                "2:",
                ".rept {polls}",
                "mov {seen}, qword ptr [{word}]",
                "cmp {seen}, {wanted}",
                "jne 3f",
                "jmp 4f",
                "3:",
                ".endr",
                "dec {turns:e}",
                "jne 2b",
                "4:",
                polls = const POLLS_PER_TURN,
                seen = out(reg) _,
                word = in(reg) word.as_ptr(),
                wanted = in(reg) wanted,
                turns = inout(reg) turns,
                options(nostack)
            );
        }
        if turns != 0 {
            return Ok(());
        }
        guard.check()?;
    }
}

/// Looks until `word` is `wanted`. Never held against a bare loop on such a CPU.
///
/// # Errors
/// The reason why the wait was given up.
#[cfg(not(all(target_arch = "x86_64", not(any(loom, miri)))))]
#[inline(always)]
pub(super) fn spin_until<const POLLS_PER_TURN: u32>(
    word: &AtomicU64,
    wanted: u64,
    guard: &Guard<'_>,
) -> Result<(), Halt> {
    use crate::sync::Ordering::Acquire;
    // Acquire pairs with the Release with which the partner stores its number.
    crate::stage::wait_until::<crate::wait::Busy>(guard, || word.load(Acquire) == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::Line;

    fn line(value: u64) -> Line {
        let line = Line::default();
        line.words[0].store(value, crate::sync::Ordering::Relaxed);
        line
    }

    #[test]
    fn it_ends_where_the_number_stands_and_where_none_will_come() {
        let halt = AtomicU64::new(0);
        let guard = Guard { halt: &halt, deadline_ticks: 5, now_ticks: || 6 };
        assert_eq!(spin_until::<16>(&line(7).words[0], 7, &guard), Ok(()));
        assert_eq!(spin_until::<16>(&line(8).words[0], 7, &guard), Err(Halt::Deadline));
    }

    #[test]
    fn a_number_that_arrives_later_is_seen() {
        let (line, halt) = (line(0), AtomicU64::new(0));
        let guard = Guard { halt: &halt, deadline_ticks: u64::MAX, now_ticks: || 0 };
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| spin_until::<16>(&line.words[0], 1, &guard));
            std::thread::yield_now();
            line.words[0].store(1, crate::sync::Ordering::Release);
            assert_eq!(waiting.join().ok(), Some(Ok(())));
        });
    }
}
