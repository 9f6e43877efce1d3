//! [`StrategyKind`]: a row per strategy, with its name, code, description and simulated cost.

use super::instructions::Instruction;
#[cfg(all(target_os = "linux", not(miri), target_arch = "aarch64"))]
use super::monitor::Wfe;
#[cfg(all(target_os = "linux", not(miri), target_arch = "x86_64"))]
use super::monitor::{Mwaitx, Tpause, Umwait};
#[cfg(all(target_os = "linux", not(miri)))]
use super::{
    Strategy,
    sleeping::{Backoff, SpinFutex},
    spinning::{Busy, Fence, Pause, Pauses, Spinning, Yield},
};
use crate::series::RequestError;
use crate::sim::wait::WaitCost;
use std::fmt;

/// Maximum of the number N in a name: hints between polls, or polls before a sleep.
const MAX_NUMBER: u32 = 1_000_000;

/// A strategy by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StrategyKind {
    id: StrategyId,
    /// The number N of the name; 0 without a number.
    number: u32,
}

struct Row {
    id: StrategyId,
    name: &'static str,
    how: &'static str,
    /// The instruction that a CPU may lack, if there is one.
    instructions: &'static [Instruction],
    cost: fn(u32) -> WaitCost,
}

/// Generic code for a strategy that is named at run time.
#[cfg(all(target_os = "linux", not(miri)))]
pub trait StrategyTask {
    /// Result of the task.
    type Output;

    /// Runs the task with this strategy.
    fn with<S: Strategy>(self, strategy: S) -> Self::Output;
}

/// A row has an id, the code of the strategy for the number N of its name, the name, an instruction that a CPU may
/// lack, the description, and the costs that differ from `POLL`.
macro_rules! strategies {
    ($($(#[$arch:meta])? $id:ident($number:pat => $code:expr) $name:literal $([$instruction:ident])? $how:literal
        $({ $($cost:tt)+ })?;)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        enum StrategyId {
            $($id,)+
        }

        const ROWS: &[Row] = &[$(Row {
            id: StrategyId::$id,
            name: $name,
            how: $how,
            instructions: &[$(Instruction::$instruction)?],
            cost: |$number| WaitCost { $($($cost)+,)? ..POLL },
        },)+];

        impl StrategyKind {
            /// Runs a task with the strategy; `None` for a strategy of another architecture. The compiler builds
            /// separate loops for each strategy.
            #[cfg(all(target_os = "linux", not(miri)))]
            pub fn run<T: StrategyTask>(self, task: T) -> Option<T::Output> {
                match self.id {
                    $($(#[$arch])? StrategyId::$id => {
                        let $number = self.number;
                        Some(task.with($code))
                    })+
                    _ => None,
                }
            }
        }
    };
}

/// An unsuccessful poll is a load from the CPU's own cache, a comparison and a branch.
const POLL: WaitCost = WaitCost {
    transfers: 1.0,
    eager: false,
    hints: 0.0,
    calls: 0.0,
    cycles: 5.0,
    polls: f64::INFINITY,
    waits_for_line: false,
};

// The costs cover the time until the sleep. All strategies have the same cost of a sleep.
strategies! {
    Busy(_ => Spinning(Busy)) "busy" "polls again at once" { eager: true };
    Pause(_ => Spinning(Pause)) "pause" "one wait hint (PAUSE, ISB on Arm) between polls" { hints: 1.0 };
    Pauses(hints => Spinning(Pauses(hints))) "pause:N" "{number} wait hints between polls"
        { hints: f64::from(hints) };
    // MFENCE takes 33 to 75 cycles on x86 since Haswell and Zen (Fog, "Instruction tables").
    Fence(_ => Spinning(Fence)) "fence" "a full memory fence between polls" { cycles: 55.0 };
    // A call in which the scheduler finds no other thread costs as much as two plain calls.
    Yield(_ => Spinning(Yield)) "yield" "yields its CPU between polls (sched_yield)" { calls: 2.0 };
    SpinFutex(polls => SpinFutex(polls)) "spin-futex:N"
        "up to {number} polls with a hint after each, then sleeps on a futex"
        { hints: 1.0, polls: f64::from(polls) };
    Futex(_ => SpinFutex(0)) "futex" "polls once, then sleeps on a futex until woken" { polls: 0.0 };
    // 8 polls each with 1, 2, 4 … 64 hints. The 16 yields after them are left out, since no trip lasts that long.
    Backoff(_ => Backoff) "backoff"
        "8 polls each with 1, 2, 4 … 64 hints, 16 with a yield, then sleeps on a futex"
        { hints: 127.0 / 7.0, polls: 56.0 };
    // It takes about 100 ns to leave C0.1 or C1. The line arrives meanwhile.
    #[cfg(target_arch = "x86_64")]
    Umwait(_ => Spinning(Umwait)) "umwait" [Umwait]
        "UMONITOR and UMWAIT (C0.1) until the line is written, 100,000 ticks at most"
        { cycles: 400.0, waits_for_line: true };
    #[cfg(target_arch = "x86_64")]
    Tpause(_ => Spinning(Tpause)) "tpause" [Tpause] "TPAUSE (C0.1) of 200 ticks between polls"
        { cycles: 300.0 };
    #[cfg(target_arch = "x86_64")]
    Mwaitx(_ => Spinning(Mwaitx)) "mwaitx" [Mwaitx]
        "MONITORX and MWAITX until the line is written, 100,000 ticks at most"
        { cycles: 400.0, waits_for_line: true };
    #[cfg(target_arch = "aarch64")]
    Wfe(_ => Spinning(Wfe)) "wfe" [Wfe] "LDAXR and WFE until the line is written or an event arrives"
        { cycles: 400.0, waits_for_line: true };
}

/// Finds a strategy by its name. Fails for an unknown name or a number out of range.
///
/// ```
/// # use coretalk_measure::strategies::catalogue::strategy_kind;
/// assert_eq!(strategy_kind("pause:8").unwrap().to_string(), "pause:8");
/// assert!(strategy_kind("pauze").unwrap_err().to_string().ends_with("a similar name exists: `pause`"));
/// ```
pub fn strategy_kind(name: &str) -> Result<StrategyKind, RequestError> {
    if let Some((base, number)) = name.split_once(':')
        && let Some(row) = ROWS.iter().find(|row| row.name.strip_suffix(":N") == Some(base))
    {
        let number = number.parse().ok().filter(|number| (1..=MAX_NUMBER).contains(number));
        let number = number.ok_or_else(|| {
            let allowed = format!("N of {base}:N is a number from 1 to {MAX_NUMBER}");
            RequestError::out_of_range(format!("`{name}`"), allowed)
        })?;
        return Ok(StrategyKind { id: row.id, number });
    }
    match ROWS.iter().find(|row| row.name == name) {
        Some(row) => Ok(StrategyKind { id: row.id, number: 0 }),
        None => {
            let names: Vec<&'static str> = ROWS.iter().map(|row| row.name).collect();
            Err(RequestError::unknown("strategy", name, &names))
        }
    }
}

/// Names and descriptions of all strategies. N stands for a number.
pub fn every() -> Vec<(String, String)> {
    ROWS.iter().map(|row| (row.name.to_owned(), row.how.replace("{number}", "N"))).collect()
}

impl fmt::Display for StrategyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row().name.strip_suffix('N') {
            Some(name) => write!(f, "{name}{}", self.number),
            None => f.write_str(self.row().name),
        }
    }
}

impl StrategyKind {
    /// The strategy `busy`.
    pub const BUSY: StrategyKind = StrategyKind { id: StrategyId::Busy, number: 0 };

    fn row(self) -> &'static Row {
        &ROWS[self.id as usize]
    }

    /// Whether the strategy may sleep. Its partner then has to wake it.
    pub fn sleeps(self) -> bool {
        self.cost().polls.is_finite()
    }

    /// Whether the strategy never yields its CPU. Roles that share a CPU then hand over once per quantum.
    pub fn keeps_cpu(self) -> bool {
        !self.sleeps() && self.cost().calls == 0.0
    }

    /// Whether the strategy executes many wait hints. A guest may exit to its hypervisor at such hints.
    pub fn hints(self) -> bool {
        self.cost().hints > 0.0
    }

    /// Instruction that a CPU may lack.
    pub fn instruction(self) -> Option<Instruction> {
        self.row().instructions.first().copied()
    }

    /// Description: a template, and the number that fills it.
    pub fn mechanism(self) -> (&'static str, Option<u32>) {
        (self.row().how, self.row().name.ends_with('N').then_some(self.number))
    }

    /// Cost in machine events, for simulated machines.
    pub fn cost(self) -> WaitCost {
        (self.row().cost)(self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_parsed_and_printed_back() {
        for row in ROWS {
            let name = row.name.replace('N', "7");
            assert_eq!(strategy_kind(&name).unwrap().to_string(), name);
        }
        for name in
            ["pause:0", "pause:x", "pause:N", "spin-futex", "spin-futex:", "busy:3", "", "pause:1000001"]
        {
            assert!(strategy_kind(name).is_err(), "{name}");
        }
    }
}
