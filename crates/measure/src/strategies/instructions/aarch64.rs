//! WFE.

use super::Instruction;
use std::arch::asm;

/// How to try one.
pub(super) fn trial(instruction: Instruction) -> Option<fn(u64)> {
    match instruction {
        // The first wait ends at once where an event was pending; the median of some tries does not.
        Instruction::Wfe => Some(|_| {
            let line = 0u32;
            wait_for_event(&raw const line, 0);
        }),
        Instruction::Umwait | Instruction::Tpause | Instruction::Mwaitx => None,
    }
}

/// DMB ISH.
#[inline(always)]
pub fn full_fence() {
    // SAFETY: a barrier changes no register and no memory.
    unsafe { asm!("dmb ish", options(nostack, preserves_flags)) }
}

/// Waits until the word is written, or for the next event; not at all where it differs from `word` already (Arm ARM,
/// "Wait for Event": a store to an address that an exclusive load watches is an event).
#[inline(always)]
pub fn wait_for_event(address: *const u32, word: u32) {
    // SAFETY: callers pass the address of a word that lives; it is read and never written.
    unsafe {
        asm!(
            "ldaxr {found:w}, [{address}]",
            "cmp {found:w}, {word:w}",
            "b.ne 2f",
            "wfe",
            "2:",
            "clrex",
            found = out(reg) _,
            address = in(reg) address,
            word = in(reg) word,
            options(nostack)
        );
    }
}
