//! [`Flag`], [`Flags`] and [`Grade`]: how far a number may be trusted, and why not further.

use std::fmt;

macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident = $bit:literal, $text:literal, $kind:ident;)*) => {
        /// One doubt about a number, or one remark that describes it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Flag { $($(#[$doc])* $name = $bit),* }

        impl Flag {
            /// Every flag, by bit.
            pub const ALL: &'static [Flag] = &[$(Flag::$name),*];

            /// The stable kebab-case name, listed in FORMAT.md.
            pub fn name(self) -> &'static str {
                match self { $(Flag::$name => $text),* }
            }

            /// Whether it casts doubt; the others describe and leave the grade alone.
            pub fn is_doubt(self) -> bool {
                match self { $(Flag::$name => flags!(@doubt $kind)),* }
            }
        }
    };
    (@doubt doubt) => { true };
    (@doubt remark) => { false };
}

// Bits are stored in run files: append, never renumber.
flags! {
    /// The scheduler took the CPU away during more than a tenth of the batches and a repeat did not help.
    Preempted = 0, "preempted", doubt;
    /// A worker was found on another CPU.
    Migrated = 1, "migrated", doubt;
    /// The hypervisor or interrupts took time.
    Steal = 2, "steal", doubt;
    /// The core clock moved by more than 2 % during the cell.
    Freq = 3, "freq", doubt;
    /// The sibling of a measured core was busy.
    SmtBusy = 4, "smt-busy", doubt;
    /// A CPU quota or heat stopped or slowed the run, or the core clock fell for good.
    Throttled = 5, "throttled", doubt;
    /// Passes that lie apart in time disagree beyond their noise.
    Drift = 6, "drift", doubt;
    /// The passes fall into several states of the machine.
    Multimodal = 7, "multimodal", doubt;
    /// The interval is wider than the precision asked for.
    WideCi = 8, "wide-ci", doubt;
    /// The value does not fit the other cells of its relation.
    ModelOutlier = 9, "model-outlier", doubt;
    /// Measured in parallel with a bias that the gate measured.
    ParBias = 10, "par-bias", doubt;
    /// The clock is too coarse for the batches.
    CoarseClock = 11, "coarse-clock", doubt;
    /// The counters of the CPUs are further apart than a message takes (`one-way` only).
    TscUnsync = 12, "tsc-unsync", doubt;
    /// The two homes of the lines differ by more than 5 %.
    HomeSpread = 13, "home-spread", remark;
    /// The two directions differ beyond their intervals (`one-way` only).
    Asym = 14, "asym", remark;
    /// The cell was measured again before it was believed.
    Remeasured = 15, "remeasured", remark;
    /// The coordinating thread slept on a measured CPU.
    CoordShared = 16, "coord-shared", remark;
    /// In some visit the two sides counted different numbers of hand-overs.
    Invalid = 17, "invalid", doubt;
    /// The host moved the virtual CPUs during the run.
    VcpuUnpinned = 18, "vcpu-unpinned", doubt;
    /// Updates were lost (contention probes).
    LostUpdates = 19, "lost-updates", doubt;
    /// Too few passes for an interval: the budget or an interruption ended the cell early.
    FewPasses = 20, "few-passes", doubt;
    /// Two threads that look instead of sleeping share a CPU and hand over once in a time slice: not a property of
    /// what they wait for.
    SharedSpin = 21, "shared-spin", remark;
    /// More was meant to be sent than passes: delays would say how long was measured.
    Saturated = 22, "saturated", doubt;
    /// Wait hints in a row on a guest: the hypervisor may have left the guest in between.
    PauseExits = 23, "pause-exits", remark;
}

/// A set of flags.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Flags(pub u32);

impl Flags {
    /// No flag.
    pub const NONE: Flags = Flags(0);

    /// Sets a flag.
    pub fn set(&mut self, flag: Flag) {
        self.0 |= 1 << flag as u32;
    }
    /// Clears a flag.
    pub fn clear(&mut self, flag: Flag) {
        self.0 &= !(1 << flag as u32);
    }
    /// The set with a flag more.
    #[must_use]
    pub fn with(mut self, flag: Flag) -> Flags {
        self.set(flag);
        self
    }
    /// Whether the flag is set.
    pub fn contains(self, flag: Flag) -> bool {
        self.0 >> flag as u32 & 1 == 1
    }
    /// Everything in either set.
    #[must_use]
    pub fn union(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
    /// Whether any flag casts doubt.
    pub fn has_doubt(self) -> bool {
        self.iter().any(Flag::is_doubt)
    }
    /// Whether no flag is set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// The flags by bit.
    pub fn iter(self) -> impl Iterator<Item = Flag> {
        Flag::ALL.iter().copied().filter(move |&flag| self.contains(flag))
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Flag::name)).finish()
    }
}

impl FromIterator<Flag> for Flags {
    fn from_iter<I: IntoIterator<Item = Flag>>(flags: I) -> Flags {
        flags.into_iter().fold(Flags::NONE, Flags::with)
    }
}

/// How far a cell may be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Grade {
    /// No doubt, interval at most ± 1 %.
    A,
    /// No doubt, interval at most ± 2 % or what was asked for.
    B,
    /// Doubt, confirmed by two independent re-measurements.
    C,
    /// Unresolved.
    D,
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Grade::A => "A",
            Grade::B => "B",
            Grade::C => "C",
            Grade::D => "D",
        })
    }
}

/// Why a number has [`Flag::WideCi`]; `width` is half its interval as a share of it.
pub(crate) fn too_wide(width: f64) -> String {
    match width {
        width if width < 0.0995 => format!("± {:.2} % is wider than asked for", width * 100.0),
        width if width < 1.0 => format!("± {:.1} % is wider than asked for", width * 100.0),
        _ => "the interval is wider than the value itself".to_owned(),
    }
}

/// Why a median has [`Flag::CoarseClock`].
pub(crate) fn too_coarse(width: f64) -> String {
    match width {
        width if width < 1.0 => format!(
            "± {:.1} %, for the clock reads in steps and a median is known to half of one",
            width * 100.0
        ),
        _ => "the clock reads in steps that are longer than the value itself".to_owned(),
    }
}

/// Why a number has [`Flag::Multimodal`].
pub(crate) fn changed_state(plateaus: usize) -> String {
    format!("the machine changed state: {plateaus} plateaus")
}

/// Why a number has [`Flag::FewPasses`].
pub(crate) fn too_few(passes: u32) -> String {
    if passes == 1 { "only 1 pass".to_owned() } else { format!("only {passes} passes") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_distinct_and_kebab_case() {
        let mut names: Vec<&str> = Flag::ALL.iter().map(|flag| flag.name()).collect();
        assert!(names.iter().all(|name| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Flag::ALL.len());
        assert!(Flag::ALL.iter().enumerate().all(|(bit, &flag)| flag as usize == bit));
    }

    #[test]
    fn remarks_leave_no_doubt() {
        assert!(!Flags::NONE.with(Flag::HomeSpread).with(Flag::CoordShared).has_doubt());
        assert!(Flags::NONE.with(Flag::HomeSpread).with(Flag::Drift).has_doubt());
    }
}
