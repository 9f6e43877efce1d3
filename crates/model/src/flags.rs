//! [`Flag`] and [`Flags`]: doubts about a number and remarks on it.

use crate::stats::{Estimate, MIN_PASSES, median_in_place};
use std::fmt;

macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident = $bit:literal, $text:literal, $kind:ident;)*) => {
        /// A doubt about a number, or a remark that describes it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Flag { $($(#[$doc])* $name = $bit),* }

        impl Flag {
            /// Every flag, by bit.
            pub const ALL: &'static [Flag] = &[$(Flag::$name),*];

            /// The stable kebab-case name, listed in docs/format/json.md.
            pub fn name(self) -> &'static str {
                match self { $(Flag::$name => $text),* }
            }

            /// Effect of the flag on the number.
            pub fn effect(self) -> Effect {
                match self { $(Flag::$name => Effect::$kind),* }
            }
        }
    };
}

named! {
    /// Effect of a flag on a number. The [`Grade`](crate::Grade) depends on nothing else of a flag.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Effect {
        /// No error beyond the interval.
        Remark = "remark",
        /// The interval is wider than requested, or holds only for the most frequent state.
        Width = "width",
        /// The error may exceed the interval, because all samples may be affected alike.
        Shift = "shift",
        /// The number may measure something else, or its interval is unknown.
        Void = "void",
    }
}

impl Flag {
    /// Whether the flag casts doubt on the number. Other flags do not affect the grade.
    pub fn is_doubt(self) -> bool {
        self.effect() != Effect::Remark
    }

    /// Whether the error may exceed the interval. Such numbers are marked with `!`.
    pub fn may_be_wrong(self) -> bool {
        matches!(self.effect(), Effect::Shift | Effect::Void)
    }

    /// Heat lasts longer than the pass that reports it, and a coarse clock affects all small values.
    fn is_momentary(self) -> bool {
        matches!(self, Flag::Preempted | Flag::Steal | Flag::SmtBusy | Flag::Load | Flag::Quota)
    }
}

// Bits are stored in run files. Append new flags; never renumber.
flags! {
    /// The scheduler preempted a thread in more than a tenth of the batches, even after repetitions.
    Preempted = 0, "preempted", Shift;
    /// A worker was found on another CPU.
    Migrated = 1, "migrated", Void;
    /// The hypervisor or interrupts took CPU time.
    Steal = 2, "steal", Shift;
    /// The core clock changed by more than 2 % during the cell. The interval covers this; core cycles are unaffected.
    Freq = 3, "freq", Remark;
    /// The sibling of a measured core was busy.
    SmtBusy = 4, "smt-busy", Shift;
    /// Heat slowed a CPU, or the core clock fell permanently.
    Throttled = 5, "throttled", Shift;
    /// Passes at different times disagree beyond their noise.
    Drift = 6, "drift", Shift;
    /// The passes fall into several states of the machine.
    Multimodal = 7, "multimodal", Width;
    /// The interval is wider than the requested precision.
    WideCi = 8, "wide-ci", Width;
    /// The value does not fit the other cells of its relation.
    ModelOutlier = 9, "model-outlier", Shift;
    /// Measured in parallel. The gate measured a bias.
    ParBias = 10, "par-bias", Shift;
    /// The clock is too coarse for the batches of a cell. All batches may have the same error of a fraction of a step.
    CoarseClock = 11, "coarse-clock", Shift;
    /// The counters of the CPUs differ by more than the time of a message (`one-way` only).
    TscUnsync = 12, "tsc-unsync", Void;
    /// The values for the two home nodes of the lines differ by more than 5 %.
    HomeSpread = 13, "home-spread", Remark;
    /// The two directions differ beyond their intervals (`one-way` only).
    Asym = 14, "asym", Remark;
    /// The cell was measured again for confirmation.
    Remeasured = 15, "remeasured", Remark;
    /// The coordinating thread slept on a measured CPU.
    CoordShared = 16, "coord-shared", Remark;
    /// In some visit the two sides counted different numbers of hand-overs.
    Invalid = 17, "invalid", Void;
    /// The host moved the virtual CPUs during the run. Obsolete: `multimodal` replaces it.
    VcpuUnpinned = 18, "vcpu-unpinned", Shift;
    /// Updates were lost (contention probes).
    LostUpdates = 19, "lost-updates", Void;
    /// Too few passes for an interval: the budget or an interruption ended the cell early.
    FewPasses = 20, "few-passes", Void;
    /// Two polling threads share a CPU and hand over once per scheduler quantum, which is no property of the subject.
    SharedSpin = 21, "shared-spin", Remark;
    /// The requested rate exceeds the reachable rate. Delays would grow with the duration of the measurement.
    Saturated = 22, "saturated", Void;
    /// Repeated wait hints on a guest may have caused exits to the hypervisor.
    PauseExits = 23, "pause-exits", Remark;
    /// Other programs used more than a tenth of the CPUs during the measurement.
    Load = 24, "load", Shift;
    /// The CPU quota of the control group throttled the process during the measurement.
    Quota = 25, "quota", Shift;
    /// The runtime of an adapter had not warmed up: passes became faster, or were too short to decide.
    Cold = 26, "cold", Shift;
    /// Threads outside of the measured CPUs used more than a tenth of the CPU time of an adapter.
    WorkedElsewhere = 27, "worked-elsewhere", Shift;
    /// Threads outside of the measured CPUs used more than half of the CPU time of an adapter.
    Unclaimed = 28, "unclaimed", Void;
    /// Some passes failed. The number comes from the other passes.
    FailedPasses = 29, "failed-passes", Shift;
    /// One process of a runtime made all passes. Other processes settle at other speeds.
    OneProcess = 30, "one-process", Shift;
    /// The home node had no free memory left, so lines may be on another node.
    Home = 31, "home", Remark;
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
    /// The set with one more flag.
    #[must_use]
    pub fn with(mut self, flag: Flag) -> Flags {
        self.set(flag);
        self
    }
    /// Whether the flag is set.
    pub fn contains(self, flag: Flag) -> bool {
        self.0 >> flag as u32 & 1 == 1
    }
    /// The union of both sets.
    #[must_use]
    pub fn union(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
    /// Whether any flag casts doubt.
    pub fn has_doubt(self) -> bool {
        self.iter().any(Flag::is_doubt)
    }
    /// Whether the error may exceed the interval.
    pub fn may_be_wrong(self) -> bool {
        self.iter().any(Flag::may_be_wrong)
    }
    /// The gravest doubt; among equals, the flag with the lowest bit.
    pub fn gravest(self) -> Option<Flag> {
        self.iter().filter(|flag| flag.is_doubt()).min_by_key(|flag| std::cmp::Reverse(flag.effect()))
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

/// A number has a flag if more than this share of its passes have the flag.
pub const TAINTED_SHARE: f64 = 0.10;

/// Returns the flags of a number from the flags and values of its passes. `free` is scratch memory.
///
/// Momentary disturbances are omitted under two conditions: at least [`MIN_PASSES`] passes are undisturbed, and their
/// median is within the `interval` of all passes. This is common for stolen time, which the kernel counts in steps of
/// 10 ms, more than a visit of 2 ms. On a guest of 16 CPUs, 4,431 of 9,120 visits had such a step. Their median was
/// 89.4 ns, that of the others 89.3 ns.
pub fn of_passes<P>(
    passes: impl Iterator<Item = (Flags, P)> + Clone,
    value: impl Fn(P) -> Option<f64>,
    interval: Option<&Estimate>,
    free: &mut Vec<f64>,
) -> Flags {
    let present = passes.clone().fold(Flags::NONE, |all, (flags, _)| all.union(flags));
    let tainted = |&flag: &Flag| {
        let carriers = passes.clone().filter(|(flags, _)| flags.contains(flag)).count();
        carriers as f64 > TAINTED_SHARE * passes.clone().count() as f64
    };
    let tainted: Flags = present.iter().filter(tainted).collect();
    if !tainted.iter().any(Flag::is_momentary) {
        return tainted;
    }
    let is_free = |flags: Flags| !flags.iter().any(Flag::is_momentary);
    free.clear();
    free.extend(passes.filter(|(flags, _)| is_free(*flags)).filter_map(|(_, pass)| value(pass)));
    let agrees = free.len() >= MIN_PASSES
        && median_in_place(free).is_some_and(|median| {
            interval.is_some_and(|bounds| (bounds.low..=bounds.high).contains(&median))
        });
    tainted.iter().filter(|flag| !(agrees && flag.is_momentary())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::around;

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
    fn the_gravest_doubt_has_the_strongest_effect() {
        let doubts = Flags::NONE.with(Flag::Freq).with(Flag::WideCi);
        assert_eq!((Flags::NONE.gravest(), doubts.gravest()), (None, Some(Flag::WideCi)));
        for gravest in [Flag::VcpuUnpinned, Flag::Invalid] {
            assert_eq!(doubts.with(gravest).with(Flag::Multimodal).gravest(), Some(gravest));
        }
    }

    #[test]
    fn doubts_that_the_interval_covers_are_not_marked() {
        let known = [Flag::WideCi, Flag::Multimodal].into_iter().collect::<Flags>();
        assert!(known.has_doubt() && !known.may_be_wrong());
        for flag in [Flag::Load, Flag::Throttled, Flag::Preempted, Flag::FewPasses] {
            assert!(known.with(flag).may_be_wrong(), "{flag:?}");
        }
    }

    #[test]
    fn disturbances_without_effect_are_omitted() {
        let interval = around(100.0, 0.02);
        let is_flagged = |free: usize, free_ns: f64, flag: Flag| {
            let disturbed = (0..8).map(|_| (Flags::NONE.with(flag), Some(100.0)));
            let passes = disturbed.chain((0..free).map(|_| (Flags::NONE, Some(free_ns))));
            of_passes(passes, |value| value, Some(&interval), &mut Vec::new()).contains(flag)
        };
        assert!(!is_flagged(6, 101.9, Flag::Steal));
        assert!(is_flagged(6, 95.0, Flag::Steal), "the other passes contradict the interval");
        assert!(is_flagged(5, 100.0, Flag::Steal), "too few other passes");
        // A remark, a void number, and two conditions of more than the flagged passes.
        for flag in [Flag::Freq, Flag::Migrated, Flag::CoarseClock, Flag::Throttled] {
            assert!(is_flagged(6, 100.0, flag), "{flag:?}");
        }
        assert!(!is_flagged(80, 95.0, Flag::Load), "less than a tenth of the passes");
        let flags = [Flag::Steal, Flag::Load].repeat(6);
        let alternating = flags.into_iter().map(|flag| (Flags::NONE.with(flag), Some(100.0)));
        let flags = of_passes(alternating, |value| value, Some(&interval), &mut Vec::new());
        assert!(flags.contains(Flag::Steal) && flags.contains(Flag::Load), "no pass was undisturbed");
    }

    #[test]
    fn remarks_are_no_doubts() {
        assert!(!Flags::NONE.with(Flag::HomeSpread).with(Flag::CoordShared).has_doubt());
        assert!(Flags::NONE.with(Flag::HomeSpread).with(Flag::Drift).has_doubt());
    }
}
