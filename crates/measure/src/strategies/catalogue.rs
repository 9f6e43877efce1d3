//! [`Meant`]: the strategies by name, and what each does, in words and in events of the machine.

use super::instructions::Instruction;
use crate::series::nearest;
#[cfg(not(loom))]
use crate::sim::wait::WaitCost;
use std::fmt;

/// Hints between two looks, and looks before a sleep, are at most this.
const MOST: u32 = 1_000_000;

/// A strategy by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meant {
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

/// The strategy of a name.
///
/// # Errors
/// One sentence that says what is known, and what was perhaps meant.
///
/// ```
/// # use coretalk_measure::strategies::catalogue::{Meant, meant};
/// assert_eq!(meant("pause:8"), Ok(Meant::Pauses(8)));
/// assert!(meant("pauze").unwrap_err().ends_with("a similar name exists: `pause`"));
/// ```
pub fn meant(name: &str) -> Result<Meant, String> {
    if let Some((of, number)) = name.split_once(':')
        && ["pause", "spin-futex"].contains(&of)
    {
        let number = number.parse().ok().filter(|number| (1..=MOST).contains(number));
        let number = number.ok_or_else(|| format!("`{name}`: N of {of}:N is a number from 1 to {MOST}"))?;
        return Ok(if of == "pause" { Meant::Pauses(number) } else { Meant::SpinFutex(number) });
    }
    Ok(match name {
        "busy" => Meant::Busy,
        "pause" => Meant::Pause,
        "fence" => Meant::Fence,
        "yield" => Meant::Yield,
        "futex" => Meant::Futex,
        "backoff" => Meant::Backoff,
        "umwait" => Meant::Umwait,
        "tpause" => Meant::Tpause,
        "mwaitx" => Meant::Mwaitx,
        "wfe" => Meant::Wfe,
        _ => {
            let near = nearest(name, &NAMES);
            let near = near.map_or(String::new(), |near| format!("; a similar name exists: `{near}`"));
            return Err(format!("there is no strategy `{name}` (there are {}){near}", NAMES.join(", ")));
        }
    })
}

/// Every strategy by its name, and what it does; N stands for a number.
pub fn every() -> Vec<(String, String)> {
    let with = |name: &str, number: u32| meant(&name.replace('N', &number.to_string()));
    let told = |name: &str| {
        let of_one = with(name, MOST).ok()?.mechanism();
        Some((name.to_owned(), of_one.replace(&MOST.to_string(), "N")))
    };
    NAMES.into_iter().filter_map(told).collect()
}

impl fmt::Display for Meant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Meant::Busy => f.write_str("busy"),
            Meant::Pause => f.write_str("pause"),
            Meant::Pauses(hints) => write!(f, "pause:{hints}"),
            Meant::Fence => f.write_str("fence"),
            Meant::Yield => f.write_str("yield"),
            Meant::SpinFutex(looks) => write!(f, "spin-futex:{looks}"),
            Meant::Futex => f.write_str("futex"),
            Meant::Backoff => f.write_str("backoff"),
            Meant::Umwait => f.write_str("umwait"),
            Meant::Tpause => f.write_str("tpause"),
            Meant::Mwaitx => f.write_str("mwaitx"),
            Meant::Wfe => f.write_str("wfe"),
        }
    }
}

impl Meant {
    /// Whether its partner has to wake it.
    pub fn sleeps(self) -> bool {
        matches!(self, Meant::SpinFutex(_) | Meant::Futex | Meant::Backoff)
    }

    /// Whether it never gives its CPU away: on a CPU that both roles share it hands over once in a time slice.
    pub fn keeps_cpu(self) -> bool {
        !self.sleeps() && self != Meant::Yield
    }

    /// Whether it executes wait hints in a row: a hypervisor may leave the guest then.
    pub fn hints(self) -> bool {
        matches!(self, Meant::Pause | Meant::Pauses(_) | Meant::SpinFutex(_) | Meant::Backoff)
    }

    /// The instruction that a CPU may lack.
    pub fn instruction(self) -> Option<Instruction> {
        match self {
            Meant::Umwait => Some(Instruction::Umwait),
            Meant::Tpause => Some(Instruction::Tpause),
            Meant::Mwaitx => Some(Instruction::Mwaitx),
            Meant::Wfe => Some(Instruction::Wfe),
            _ => None,
        }
    }

    /// What it does, in words.
    pub fn mechanism(self) -> String {
        match self {
            Meant::Busy => "looks again at once".into(),
            Meant::Pause => "one wait hint (PAUSE, on Arm ISB) between two looks".into(),
            Meant::Pauses(hints) => format!("{hints} wait hints between two looks"),
            Meant::Fence => "a full memory fence between two looks".into(),
            Meant::Yield => "gives its CPU away between two looks (sched_yield)".into(),
            Meant::SpinFutex(looks) => {
                format!("up to {looks} looks with a hint after each, then sleeps on a futex")
            }
            Meant::Futex => "looks once, then sleeps on a futex until it is woken".into(),
            Meant::Backoff => {
                "8 looks each with 1, 2, 4 … 64 hints, 16 with a yield, then sleeps on a futex".into()
            }
            Meant::Umwait => {
                "UMONITOR and UMWAIT (C0.1) until the line is written, 100,000 ticks at most".into()
            }
            Meant::Tpause => "TPAUSE (C0.1) of 200 ticks between two looks".into(),
            Meant::Mwaitx => "MONITORX and MWAITX until the line is written, 100,000 ticks at most".into(),
            Meant::Wfe => "LDAXR and WFE until the line is written or an event comes".into(),
        }
    }

    /// What it does, in events of the machine: what a simulated machine prices.
    #[cfg(not(loom))]
    pub fn cost(self) -> WaitCost {
        // A look that finds nothing is served by the own cache: a load, a comparison, a branch.
        let hinted = WaitCost {
            transfers: 1.0,
            eager: false,
            hints: 0.0,
            calls: 0.0,
            cycles: 5.0,
            looks: f64::INFINITY,
            waits_for_line: false,
        };
        match self {
            Meant::Busy => WaitCost { eager: true, ..hinted },
            Meant::Pause => WaitCost { hints: 1.0, ..hinted },
            Meant::Pauses(hints) => WaitCost { hints: f64::from(hints), ..hinted },
            // MFENCE takes 33 to 75 cycles on x86 since Haswell and Zen (Fog, "Instruction tables").
            Meant::Fence => WaitCost { cycles: 55.0, ..hinted },
            // Through the scheduler, which finds nobody else: two plain calls.
            Meant::Yield => WaitCost { calls: 2.0, ..hinted },
            // The word, and the kernel's queue of it.
            Meant::SpinFutex(looks) => {
                WaitCost { transfers: 1.0, hints: 1.0, looks: f64::from(looks), ..hinted }
            }
            Meant::Futex => WaitCost { looks: 0.0, ..hinted },
            // 8 × (1 + 2 + … + 64) hints, and 16 yields: more looks than a trip takes on any machine.
            Meant::Backoff => WaitCost { hints: 127.0 / 7.0, looks: 56.0, ..hinted },
            Meant::Tpause => WaitCost { cycles: 300.0, ..hinted },
            // Leaving C0.1 or C1 takes about 100 ns; the line arrives meanwhile.
            Meant::Umwait | Meant::Mwaitx | Meant::Wfe => {
                WaitCost { cycles: 400.0, waits_for_line: true, ..hinted }
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_name_stands_for_a_strategy_and_reads_back() {
        for name in NAMES {
            let name = name.replace('N', "7");
            assert_eq!(meant(&name).unwrap().to_string(), name);
        }
        for name in ["pause:0", "pause:x", "spin-futex", "spin-futex:", "busy:3", "", "pause:1000001"] {
            assert!(meant(name).is_err(), "{name}");
        }
    }
}
