//! [`Grade`]: confidence in a number, by one rule for cells and trials.

use crate::flags::{Effect, Flags};
use crate::stats::median;
use std::fmt;

/// Confidence in a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Grade {
    /// No doubt, interval at most ± 1 %.
    A,
    /// No doubt, interval within the requested precision.
    B,
    /// In doubt but usable: two halves of the measurement agree, or the interval covers the doubt.
    C,
    /// Unresolved.
    D,
}

/// Largest relative half width of grade A, whatever precision was requested.
const NARROW: f64 = 0.01;
/// Largest relative half width at which a doubtful number is known to a factor of two.
const FACTOR_OF_TWO: f64 = 0.5;
/// Largest logarithmic difference of repeated measurements: five deviations of a quiet pass of 64 lines.
const ALIKE: f64 = 0.05;

impl Grade {
    /// The grade of a number from its flags and relative half width. The [`Effect`] of each flag counts; `repeats`
    /// tells whether two independent measurements agree with it, see [`repeats`].
    ///
    /// ```
    /// use coretalk_model::{Flag, Flags, Grade};
    ///
    /// let moved = Flags::NONE.with(Flag::Freq);
    /// assert_eq!(Grade::of(moved, 0.008, || false), Grade::A, "what a clock does shows in the interval");
    /// let stolen = moved.with(Flag::Steal);
    /// assert_eq!(Grade::of(stolen, 0.008, || false), Grade::D);
    /// assert_eq!(Grade::of(stolen, 0.008, || true), Grade::C);
    /// ```
    pub fn of(flags: Flags, width: f64, repeats: impl FnOnce() -> bool) -> Grade {
        let has = |effect: Effect| flags.iter().any(|flag| flag.effect() == effect);
        let unbounded = has(Effect::Void) || (has(Effect::Shift) && !repeats());
        let doubted = has(Effect::Shift) || has(Effect::Width);
        match doubted {
            _ if unbounded => Grade::D,
            true if width <= FACTOR_OF_TWO => Grade::C,
            true => Grade::D,
            false if width <= NARROW => Grade::A,
            false => Grade::B,
        }
    }
}

/// Whether both halves of the measurements, in the order of execution, agree with a number within 5 %.
pub fn repeats(values: &[f64], number: f64) -> bool {
    let (first, second) = values.split_at(values.len() / 2);
    let agrees = |half: &[f64]| median(half).is_some_and(|median| (median / number).ln().abs() < ALIKE);
    agrees(first) && agrees(second)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Flag;

    fn of(flags: &[Flag], width: f64, repeats: bool) -> Grade {
        Grade::of(flags.iter().copied().collect(), width, || repeats)
    }

    #[test]
    fn a_remark_takes_nothing_away() {
        for &flag in Flag::ALL.iter().filter(|flag| !flag.is_doubt()) {
            assert_eq!(
                (of(&[flag], 0.01, false), of(&[flag], 0.02, false)),
                (Grade::A, Grade::B),
                "{flag:?}"
            );
        }
        // The interval covers a clock that changed, but not one that throttling lowered in all passes.
        assert!(!Flag::Freq.is_doubt() && Flag::Throttled.is_doubt());
    }

    #[test]
    fn what_may_have_shifted_a_number_is_outweighed_by_its_repetition() {
        for flag in [Flag::Steal, Flag::Load, Flag::ModelOutlier] {
            assert_eq!((of(&[flag], 0.01, false), of(&[flag], 0.01, true)), (Grade::D, Grade::C), "{flag:?}");
        }
        assert_eq!(of(&[Flag::Steal, Flag::WideCi], 0.6, true), Grade::D, "not known to a factor of two");
    }

    #[test]
    fn a_wide_interval_says_itself_how_far_the_number_goes() {
        assert_eq!((of(&[Flag::WideCi], 0.03, false), of(&[Flag::WideCi], 0.5, true)), (Grade::C, Grade::C));
        assert_eq!(of(&[Flag::WideCi], 38.0, true), Grade::D);
        assert_eq!(of(&[Flag::WideCi], f64::INFINITY, true), Grade::D);
    }

    #[test]
    fn no_repetition_helps_a_number_of_something_else() {
        for flag in [Flag::Invalid, Flag::LostUpdates, Flag::Migrated, Flag::TscUnsync, Flag::FewPasses] {
            assert_eq!(of(&[flag], 0.001, true), Grade::D, "{flag:?}");
        }
    }

    #[test]
    fn both_halves_have_to_agree() {
        assert!(repeats(&[10.0, 10.2, 9.9, 10.1], 10.0));
        assert!(!repeats(&[10.0, 10.0, 12.0, 12.0], 10.0), "only the first");
        assert!(!repeats(&[], 10.0) && !repeats(&[10.0], 10.0), "one is no repetition");
        assert!(!repeats(&[-1.0, 1.0], 0.0), "nothing is near zero by a share");
    }
}
