//! [`Departure`]: a CPU that went away while a run went on.

use crate::{CpuId, Picos, TrialFailure};
use std::fmt;

/// Why no thread can be held on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Absence {
    /// The kernel has switched it off, or the hypervisor has unplugged it.
    Offline,
    /// The control group of this process no longer holds it.
    Cpuset,
    /// It is online and allowed, and threads are not held on it.
    PinRefused,
}

impl Absence {
    /// All of them.
    pub const ALL: [Absence; 3] = [Absence::Offline, Absence::Cpuset, Absence::PinRefused];

    /// As run files and JSON name it.
    pub const fn name(self) -> &'static str {
        match self {
            Absence::Offline => "offline",
            Absence::Cpuset => "cpuset",
            Absence::PinRefused => "pin-refused",
        }
    }
}

/// A CPU that went away while a run went on: the run goes on without it and is partial.
///
/// ```
/// use coretalk_model::{Absence, CpuId, Departure, Picos};
///
/// let departure = Departure { cpu: CpuId(3), after: Picos::from_ms(3_100), why: Absence::Offline };
/// assert_eq!(departure.to_string(), "CPU 3 went offline after 3.1 s");
/// let (key, value) = departure.to_decision(0);
/// assert_eq!(Departure::of_decision(&key, &value), Some((0, departure)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// The CPU.
    pub cpu: CpuId,
    /// When it was missed, since this part of the run began; half a second late at most.
    pub after: Picos,
    /// What the system says of it.
    pub why: Absence,
}

/// What Linux says where a thread cannot be held on a CPU.
const EINVAL: i32 = 22;
/// What a run file calls departures among its decisions; the number of the segment and of the CPU follow.
const KEY: &str = "departed";

impl Departure {
    /// Why what needs the CPU has nothing to say.
    pub fn failure(&self) -> TrialFailure {
        let cpu = self.cpu;
        match self.why {
            Absence::PinRefused => TrialFailure::NotPinned { cpu, errno: EINVAL },
            // Whoever named it was allowed to: it went between the reading of the machine and now.
            Absence::Offline | Absence::Cpuset => TrialFailure::CpuLost { cpu },
        }
    }

    /// As a run file keeps it: a key, and a value in JSON.
    pub fn to_decision(&self, segment: u32) -> (String, String) {
        let key = format!("{KEY}:{segment}:{}", self.cpu);
        (key, format!(r#"{{"after_ps":{},"why":"{}"}}"#, self.after.0, self.why.name()))
    }

    /// The same read back, with the number of its segment; `None` for other decisions.
    pub fn of_decision(key: &str, value: &str) -> Option<(u32, Departure)> {
        let (segment, cpu) = key.strip_prefix(KEY)?.strip_prefix(':')?.split_once(':')?;
        let value: serde_json::Value = serde_json::from_str(value).ok()?;
        let why = value.get("why")?.as_str()?;
        let why = Absence::ALL.into_iter().find(|absence| absence.name() == why)?;
        let after = Picos(value.get("after_ps")?.as_u64()?);
        Some((segment.parse().ok()?, Departure { cpu: CpuId(cpu.parse().ok()?), after, why }))
    }
}

/// Earlier than this a CPU was missed before anything was measured.
const AT_ONCE: Picos = Picos::from_ms(50);

impl fmt::Display for Departure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Departure { cpu, after, why } = self;
        if *after < AT_ONCE {
            return match why {
                Absence::Offline => write!(f, "CPU {cpu} is offline"),
                Absence::Cpuset => write!(f, "CPU {cpu} is not in the cpuset of this process"),
                Absence::PinRefused => write!(f, "CPU {cpu} refuses pinned threads"),
            };
        }
        let what = match why {
            Absence::Offline => "went offline",
            Absence::Cpuset => "was removed from the cpuset",
            Absence::PinRefused => "lost its thread, which could not be pinned again",
        };
        write!(f, "CPU {cpu} {what} after {:.1} s", after.secs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_survives_a_run_file_and_nothing_else_is_taken_for_one() {
        for why in Absence::ALL {
            let departure = Departure { cpu: CpuId(12), after: Picos::from_ms(700), why };
            let (key, value) = departure.to_decision(4);
            assert_eq!(Departure::of_decision(&key, &value), Some((4, departure)));
        }
        for (key, value) in [
            ("departed:1", "{}"),
            ("departed:0:1", "null"),
            ("departed:0:1", r#"{"after_ps":1,"why":"eaten"}"#),
            ("hint:cas", r#"{"after_ps":1,"why":"offline"}"#),
        ] {
            assert_eq!(Departure::of_decision(key, value), None, "{key} {value}");
        }
    }

    #[test]
    fn only_a_cpu_that_refused_a_pin_is_said_to_have() {
        for after in [Picos::ZERO, Picos::from_ms(2_000)] {
            let failure = |why| Departure { cpu: CpuId(3), after, why }.failure().to_string();
            assert_eq!(failure(Absence::Offline), "CPU 3 was taken away during the run");
            assert_eq!(failure(Absence::Cpuset), failure(Absence::Offline));
            assert_eq!(failure(Absence::PinRefused), "a thread could not be pinned to CPU 3 (errno 22)");
        }
    }

    #[test]
    fn a_cpu_that_was_never_there_did_not_go_away() {
        let at = |ms| Departure { cpu: CpuId(2), after: Picos::from_ms(ms), why: Absence::PinRefused };
        assert_eq!(at(0).to_string(), "CPU 2 refuses pinned threads");
        assert_eq!(at(400).to_string(), "CPU 2 lost its thread, which could not be pinned again after 0.4 s");
    }
}
