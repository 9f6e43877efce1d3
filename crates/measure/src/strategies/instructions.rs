//! Instructions that wait, per architecture. They may be absent, forbidden or intercepted by a hypervisor, whatever
//! CPUID reports. So [`lack`] tries them in a separate process.

pub use imp::full_fence;
#[cfg(all(target_arch = "aarch64", not(miri)))]
pub use imp::wait_for_event;
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub use imp::{monitorx, mwaitx, tpause, umonitor, umwait};

/// An instruction that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instruction {
    /// UMONITOR and UMWAIT (Intel since Tremont and Alder Lake, AMD since Zen 5 in part). The CPU feature is `WAITPKG`.
    Umwait,
    /// TPAUSE. The CPU feature is `WAITPKG`.
    Tpause,
    /// MONITORX and MWAITX (AMD since Excavator). The CPU feature is `MONITORX`.
    Mwaitx,
    /// WFE (Arm).
    Wfe,
}

impl Instruction {
    /// The name, and the CPU feature that contains the instruction.
    pub fn names(self) -> [&'static str; 2] {
        match self {
            Instruction::Umwait => ["UMWAIT", "WAITPKG"],
            Instruction::Tpause => ["TPAUSE", "WAITPKG"],
            Instruction::Mwaitx => ["MWAITX", "MONITORX"],
            Instruction::Wfe => ["WFE", "Armv8"],
        }
    }

    /// Duration of a trial wait in ticks. It is longer than an interception by a hypervisor (MWAITX takes 7 to 8 µs on
    /// a guest).
    #[cfg(all(target_os = "linux", not(miri)))]
    fn trial_ticks(self) -> u64 {
        match self {
            // Linux limits both to 100,000 cycles.
            Instruction::Umwait | Instruction::Tpause => 80_000,
            Instruction::Mwaitx => 2_500_000,
            // WFE has no deadline and lasts until the next event, some µs at least. Arm counters are slow.
            Instruction::Wfe => 50,
        }
    }
}

/// Why an instruction is unusable on the CPU of the caller, in a sentence with its feature; `None` if it waits. The
/// trial is in a separate process, since an unknown instruction kills the process.
#[cfg(all(target_os = "linux", not(miri)))]
pub fn lack(instruction: Instruction) -> Option<String> {
    use crate::host::attempt::{Attempt, attempt};
    let [name, feature] = instruction.names();
    let Some(wait) = imp::trial(instruction) else {
        return Some(format!("this CPU lacks {feature}: {name} belongs to another architecture"));
    };
    let ticks = instruction.trial_ticks();
    match attempt(|| waits(wait, ticks)) {
        Attempt::Yes => None,
        Attempt::No => Some(format!(
            "{name} ({feature}) returns at once on this CPU: a hypervisor or a system limit prevents it from waiting"
        )),
        Attempt::Killed(signal) => Some(format!("this CPU lacks {feature} ({name} raises signal {signal})")),
        Attempt::Unknown => Some(format!("cannot test whether this CPU has {feature} ({name})")),
    }
}

/// Number of trials. Most must wait, since interrupts also end a wait.
#[cfg(all(target_os = "linux", not(miri)))]
const TRIES: usize = 16;

#[cfg(all(target_os = "linux", not(miri)))]
fn waits(wait: fn(u64), ticks: u64) -> bool {
    use crate::counter;
    let long = (0..TRIES).filter(|_| {
        let began = counter::now_ticks();
        wait(ticks);
        counter::now_ticks() - began >= ticks / 2
    });
    long.count() > TRIES / 2
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod imp {
    use super::Instruction;
    use std::arch::asm;

    /// The function that tries an instruction. It waits for the given ticks on a line that is never written.
    pub(super) fn trial(instruction: Instruction) -> Option<fn(u64)> {
        match instruction {
            Instruction::Umwait => Some(|ticks| {
                let line = Line([0; 16]);
                umonitor(line.0.as_ptr());
                umwait(crate::counter::now_ticks() + ticks);
            }),
            Instruction::Tpause => Some(|ticks| tpause(crate::counter::now_ticks() + ticks)),
            Instruction::Mwaitx => Some(|ticks| {
                let line = Line([0; 16]);
                monitorx(line.0.as_ptr());
                mwaitx(ticks as u32);
            }),
            Instruction::Wfe => None,
        }
    }

    /// A line of its own, since other data on the stack are written.
    #[repr(align(64))]
    struct Line([u32; 16]);

    /// MFENCE. Newer compilers implement std's fence as a locked instruction on the stack, at a quarter of the cost.
    #[inline(always)]
    pub fn full_fence() {
        // SAFETY: MFENCE is part of every x86-64 and changes no register and no memory.
        unsafe { asm!("mfence", options(nostack, preserves_flags)) }
    }

    /// Monitors the line of an address (Intel SDM 2B, "UMONITOR").
    #[inline(always)]
    pub fn umonitor(address: *const u32) {
        // SAFETY: UMONITOR reads and changes no memory. A CPU without it raises a signal, so callers first try it in a
        // separate process.
        unsafe { asm!("umonitor {}", in(reg) address, options(nostack, preserves_flags)) }
    }

    /// Waits in C0.1 (bit 0 of the register) until the monitored line is written or the counter reaches the deadline.
    #[inline(always)]
    pub fn umwait(deadline_ticks: u64) {
        let (low, high) = (deadline_ticks as u32, (deadline_ticks >> 32) as u32);
        // SAFETY: as in `umonitor`. UMWAIT changes flags, which are not declared as preserved.
        unsafe { asm!("umwait {:e}", in(reg) 1, in("eax") low, in("edx") high, options(nostack)) }
    }

    /// Waits in C0.1 until the counter reaches the deadline.
    #[inline(always)]
    pub fn tpause(deadline_ticks: u64) {
        let (low, high) = (deadline_ticks as u32, (deadline_ticks >> 32) as u32);
        // SAFETY: as in `umwait`.
        unsafe { asm!("tpause {:e}", in(reg) 1, in("eax") low, in("edx") high, options(nostack)) }
    }

    /// Monitors the line of an address (AMD APM 3, "MONITORX").
    #[inline(always)]
    pub fn monitorx(address: *const u32) {
        // SAFETY: as in `umonitor`. No extension and no hint is requested.
        unsafe {
            asm!("monitorx", in("rax") address, in("ecx") 0, in("edx") 0, options(nostack, preserves_flags))
        }
    }

    /// Waits in C1 until the monitored line is written or `ticks` have passed. Bit 1 of ECX enables the timer in EBX.
    /// Bits 4 to 7 of EAX are 0 for C1 (0xF would be C0).
    #[inline(always)]
    pub fn mwaitx(ticks: u32) {
        // SAFETY: as in `umonitor`. The compiler reserves RBX, so RBX is exchanged before and after.
        unsafe {
            asm!(
                "xchg {ticks}, rbx",
                "mwaitx",
                "xchg {ticks}, rbx",
                ticks = inout(reg) u64::from(ticks) => _,
                in("eax") 0,
                in("ecx") 2,
                options(nostack, preserves_flags)
            );
        }
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
mod imp {
    use super::Instruction;
    use std::arch::asm;

    #[cfg_attr(
        not(target_os = "linux"),
        allow(dead_code, reason = "tried in a process of its own, on Linux alone")
    )]
    pub(super) fn trial(instruction: Instruction) -> Option<fn(u64)> {
        match instruction {
            // The first wait ends at once if an event was pending. The median does not.
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

    /// Waits until the word is written or another event occurs. Returns at once if the word already differs from
    /// `word`. A store to an address monitored by an exclusive load is an event (Arm ARM, "Wait for Event").
    #[inline(always)]
    pub fn wait_for_event(address: *const u32, word: u32) {
        // SAFETY: callers pass the address of a live word. It is read and never written.
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
}

/// No waiting instructions, for other architectures and tools that execute no machine instructions.
#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod imp {
    use crate::sync::{Ordering, fence};

    /// The fence of the standard library, or of loom.
    pub fn full_fence() {
        fence(Ordering::SeqCst);
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn foreign_instructions_are_lacking_and_every_reason_names_the_feature() {
        for instruction in [Instruction::Umwait, Instruction::Tpause, Instruction::Mwaitx, Instruction::Wfe] {
            if let Some(lack) = lack(instruction) {
                let [name, feature] = instruction.names();
                assert!(lack.contains(name) && lack.contains(feature), "{lack}");
            }
        }
        let foreign = if cfg!(target_arch = "aarch64") { Instruction::Umwait } else { Instruction::Wfe };
        assert!(lack(foreign).unwrap().contains("another architecture"));
    }
}
