//! [`StrategyKind`]: strategies by name, with their description and simulated cost.

use super::instructions::Instruction;
use crate::series::RequestError;
use crate::sim::wait::WaitCost;
use std::fmt;

/// Maximum of the number N in a name: hints between polls, or polls before a sleep.
const MOST: u32 = 1_000_000;

/// A strategy by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StrategyKind {
    /// `busy`
    Busy,
    /// `pause`
    Pause,
    /// `pause:N`
    Pauses(u32),
    /// `fence`
    Fence,
    /// `yield`
    Yield,
    /// `spin-futex:N`
    SpinFutex(u32),
    /// `futex`
    Futex,
    /// `backoff`
    Backoff,
    /// `umwait`
    Umwait,
    /// `tpause`
    Tpause,
    /// `mwaitx`
    Mwaitx,
    /// `wfe`
    Wfe,
}

const NAMES: [&str; 12] = [
    "busy",
    "pause",
    "pause:N",
    "fence",
    "yield",
    "spin-futex:N",
    "futex",
    "backoff",
    "umwait",
    "tpause",
    "mwaitx",
    "wfe",
];

/// Finds a strategy by its name.
///
/// # Errors
/// [`RequestError`] for an unknown name or a number out of range.
///
/// ```
/// # use coretalk_measure::strategies::catalogue::{StrategyKind, strategy_kind};
/// assert_eq!(strategy_kind("pause:8"), Ok(StrategyKind::Pauses(8)));
/// assert!(strategy_kind("pauze").unwrap_err().to_string().ends_with("a similar name exists: `pause`"));
/// ```
pub fn strategy_kind(name: &str) -> Result<StrategyKind, RequestError> {
    if let Some((of, number)) = name.split_once(':')
        && ["pause", "spin-futex"].contains(&of)
    {
        let number = number.parse().ok().filter(|number| (1..=MOST).contains(number));
        let number = number.ok_or_else(|| {
            let allowed = format!("N of {of}:N is a number from 1 to {MOST}");
            RequestError::out_of_range(format!("`{name}`"), allowed)
        })?;
        return Ok(if of == "pause" {
            StrategyKind::Pauses(number)
        } else {
            StrategyKind::SpinFutex(number)
        });
    }
    Ok(match name {
        "busy" => StrategyKind::Busy,
        "pause" => StrategyKind::Pause,
        "fence" => StrategyKind::Fence,
        "yield" => StrategyKind::Yield,
        "futex" => StrategyKind::Futex,
        "backoff" => StrategyKind::Backoff,
        "umwait" => StrategyKind::Umwait,
        "tpause" => StrategyKind::Tpause,
        "mwaitx" => StrategyKind::Mwaitx,
        "wfe" => StrategyKind::Wfe,
        _ => return Err(RequestError::unknown("strategy", name, &NAMES)),
    })
}

/// Names and descriptions of all strategies; N stands for a number.
pub fn every() -> Vec<(String, String)> {
    let with = |name: &str, number: u32| strategy_kind(&name.replace('N', &number.to_string()));
    let told = |name: &str| {
        let (words, _) = with(name, MOST).ok()?.mechanism();
        Some((name.to_owned(), words.replace("{number}", "N")))
    };
    NAMES.into_iter().filter_map(told).collect()
}

impl fmt::Display for StrategyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StrategyKind::Busy => f.write_str("busy"),
            StrategyKind::Pause => f.write_str("pause"),
            StrategyKind::Pauses(hints) => write!(f, "pause:{hints}"),
            StrategyKind::Fence => f.write_str("fence"),
            StrategyKind::Yield => f.write_str("yield"),
            StrategyKind::SpinFutex(polls) => write!(f, "spin-futex:{polls}"),
            StrategyKind::Futex => f.write_str("futex"),
            StrategyKind::Backoff => f.write_str("backoff"),
            StrategyKind::Umwait => f.write_str("umwait"),
            StrategyKind::Tpause => f.write_str("tpause"),
            StrategyKind::Mwaitx => f.write_str("mwaitx"),
            StrategyKind::Wfe => f.write_str("wfe"),
        }
    }
}

impl StrategyKind {
    /// Whether its partner has to wake it.
    pub fn sleeps(self) -> bool {
        matches!(self, StrategyKind::SpinFutex(_) | StrategyKind::Futex | StrategyKind::Backoff)
    }

    /// Whether it never yields its CPU: if both roles share a CPU, it hands over once per scheduler quantum.
    pub fn keeps_cpu(self) -> bool {
        !self.sleeps() && self != StrategyKind::Yield
    }

    /// Whether it executes many wait hints, at which a guest may exit to its hypervisor.
    pub fn hints(self) -> bool {
        matches!(
            self,
            StrategyKind::Pause
                | StrategyKind::Pauses(_)
                | StrategyKind::SpinFutex(_)
                | StrategyKind::Backoff
        )
    }

    /// Instruction that a CPU may lack.
    pub fn instruction(self) -> Option<Instruction> {
        match self {
            StrategyKind::Umwait => Some(Instruction::Umwait),
            StrategyKind::Tpause => Some(Instruction::Tpause),
            StrategyKind::Mwaitx => Some(Instruction::Mwaitx),
            StrategyKind::Wfe => Some(Instruction::Wfe),
            _ => None,
        }
    }

    /// Description: a template, and the number that fills it.
    pub fn mechanism(self) -> (&'static str, Option<u32>) {
        let words = match self {
            StrategyKind::Busy => "polls again at once",
            StrategyKind::Pause => "one wait hint (PAUSE, ISB on Arm) between polls",
            StrategyKind::Pauses(hints) => return ("{number} wait hints between polls", Some(hints)),
            StrategyKind::Fence => "a full memory fence between polls",
            StrategyKind::Yield => "yields its CPU between polls (sched_yield)",
            StrategyKind::SpinFutex(polls) => {
                return ("up to {number} polls with a hint after each, then sleeps on a futex", Some(polls));
            }
            StrategyKind::Futex => "polls once, then sleeps on a futex until woken",
            StrategyKind::Backoff => {
                "8 polls each with 1, 2, 4 … 64 hints, 16 with a yield, then sleeps on a futex"
            }
            StrategyKind::Umwait => {
                "UMONITOR and UMWAIT (C0.1) until the line is written, 100,000 ticks at most"
            }
            StrategyKind::Tpause => "TPAUSE (C0.1) of 200 ticks between polls",
            StrategyKind::Mwaitx => "MONITORX and MWAITX until the line is written, 100,000 ticks at most",
            StrategyKind::Wfe => "LDAXR and WFE until the line is written or an event arrives",
        };
        (words, None)
    }

    /// Cost in machine events, for simulated machines.
    pub fn cost(self) -> WaitCost {
        // An unsuccessful poll is a load from the CPU's own cache, a comparison and a branch.
        let hinted = WaitCost {
            transfers: 1.0,
            eager: false,
            hints: 0.0,
            calls: 0.0,
            cycles: 5.0,
            polls: f64::INFINITY,
            waits_for_line: false,
        };
        match self {
            StrategyKind::Busy => WaitCost { eager: true, ..hinted },
            StrategyKind::Pause => WaitCost { hints: 1.0, ..hinted },
            StrategyKind::Pauses(hints) => WaitCost { hints: f64::from(hints), ..hinted },
            // MFENCE takes 33 to 75 cycles on x86 since Haswell and Zen (Fog, "Instruction tables").
            StrategyKind::Fence => WaitCost { cycles: 55.0, ..hinted },
            // A call in which the scheduler finds no other thread costs as much as two plain calls.
            StrategyKind::Yield => WaitCost { calls: 2.0, ..hinted },
            // Costs until it sleeps; those of the sleep are the same for all strategies.
            StrategyKind::SpinFutex(polls) => {
                WaitCost { transfers: 1.0, hints: 1.0, polls: f64::from(polls), ..hinted }
            }
            StrategyKind::Futex => WaitCost { polls: 0.0, ..hinted },
            // 8 polls each with 1, 2, 4 … 64 hints. The 16 yields after them are left out: no trip lasts that long.
            StrategyKind::Backoff => WaitCost { hints: 127.0 / 7.0, polls: 56.0, ..hinted },
            StrategyKind::Tpause => WaitCost { cycles: 300.0, ..hinted },
            // Leaving C0.1 or C1 takes about 100 ns; the line arrives meanwhile.
            StrategyKind::Umwait | StrategyKind::Mwaitx | StrategyKind::Wfe => {
                WaitCost { cycles: 400.0, waits_for_line: true, ..hinted }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_stands_for_a_strategy_and_reads_back() {
        for name in NAMES {
            let name = name.replace('N', "7");
            assert_eq!(strategy_kind(&name).unwrap().to_string(), name);
        }
        for name in ["pause:0", "pause:x", "spin-futex", "spin-futex:", "busy:3", "", "pause:1000001"] {
            assert!(strategy_kind(name).is_err(), "{name}");
        }
    }
}
