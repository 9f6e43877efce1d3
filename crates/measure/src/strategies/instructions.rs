//! Machine instructions that wait, per architecture, behind safe names. Whether a CPU executes them, and whether they
//! wait, is found out by [`lack`], in a process of its own: they may be absent, forbidden or answered by a hypervisor
//! whatever CPUID says.

#[cfg_attr(all(target_arch = "x86_64", not(miri)), path = "instructions/x86_64.rs")]
#[cfg_attr(all(target_arch = "aarch64", not(miri)), path = "instructions/aarch64.rs")]
#[cfg_attr(
    any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))),
    path = "instructions/none.rs"
)]
mod imp;

pub use imp::full_fence;
#[cfg(all(target_arch = "aarch64", not(miri)))]
pub use imp::wait_for_event;
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub use imp::{monitorx, mwaitx, tpause, umonitor, umwait};

/// An instruction that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instruction {
    /// UMONITOR and UMWAIT (Intel since Tremont and Alder Lake, AMD since Zen 5 in part): `WAITPKG`.
    Umwait,
    /// TPAUSE: `WAITPKG`.
    Tpause,
    /// MONITORX and MWAITX (AMD since Excavator): `MONITORX`.
    Mwaitx,
    /// WFE (Arm).
    Wfe,
}

impl Instruction {
    /// What it is called, and the feature that it belongs to.
    pub fn names(self) -> [&'static str; 2] {
        match self {
            Instruction::Umwait => ["UMWAIT", "WAITPKG"],
            Instruction::Tpause => ["TPAUSE", "WAITPKG"],
            Instruction::Mwaitx => ["MWAITX", "MONITORX"],
            Instruction::Wfe => ["WFE", "Armv8"],
        }
    }

    /// Ticks of a wait when it is tried. What a hypervisor answers itself takes some µs (MWAITX 7 to 8 µs on a guest),
    /// and has to be told from a wait.
    #[cfg(all(target_os = "linux", not(miri)))]
    fn tried_ticks(self) -> u64 {
        match self {
            // Linux lets it last 100,000 cycles.
            Instruction::Umwait | Instruction::Tpause => 80_000,
            // A millisecond.
            Instruction::Mwaitx => 2_500_000,
            // It has no deadline and lasts until the next event, some µs at least; counters of Arm are slow.
            Instruction::Wfe => 50,
        }
    }
}

/// Why an instruction is of no use on the CPU of the caller, in a sentence that names its feature; `None` where it
/// waits. Tried in a process of its own, which an unknown instruction ends.
#[cfg(all(target_os = "linux", not(miri)))]
pub fn lack(instruction: Instruction) -> Option<String> {
    use crate::host::attempt::{Attempt, attempt};
    let [name, feature] = instruction.names();
    let Some(wait) = imp::trial(instruction) else {
        return Some(format!("this CPU lacks {feature}: {name} belongs to another architecture"));
    };
    let ticks = instruction.tried_ticks();
    match attempt(|| waits(wait, ticks)) {
        Attempt::Yes => None,
        Attempt::No => Some(format!(
            "{name} ({feature}) returns at once on this CPU: a hypervisor or a system limit prevents it from waiting"
        )),
        Attempt::Killed(signal) => Some(format!("this CPU lacks {feature} ({name} raises signal {signal})")),
        Attempt::Unknown => Some(format!("cannot test whether this CPU has {feature} ({name})")),
    }
}

/// How often it is tried, and how many of these must wait: an interrupt ends a wait too.
#[cfg(all(target_os = "linux", not(miri)))]
const TRIES: usize = 16;

/// Whether a wait lasts at least half as long as asked for, in the median of some tries.
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

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_of_another_architecture_is_lacking_and_every_answer_names_its_feature() {
        let all = [Instruction::Umwait, Instruction::Tpause, Instruction::Mwaitx, Instruction::Wfe];
        for instruction in all {
            if let Some(lack) = lack(instruction) {
                let [name, feature] = instruction.names();
                assert!(lack.contains(name) && lack.contains(feature), "{lack}");
            }
        }
        let foreign = if cfg!(target_arch = "aarch64") { Instruction::Umwait } else { Instruction::Wfe };
        assert!(lack(foreign).unwrap().contains("another architecture"));
    }
}
