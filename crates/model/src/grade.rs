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

/// Largest relative half width of grade A, whatever the requested precision.
const NARROW: f64 = 0.01;
/// Largest relative half width at which a doubtful number is known to a factor of two.
const FACTOR_OF_TWO: f64 = 0.5;
/// Largest logarithmic difference of agreeing measurements: five standard deviations of a quiet pass of 64 cache lines.
const ALIKE: f64 = 0.05;

impl Grade {
    /// The grade of a number from the [`Effect`] of its flags and its relative half width. `repeats` returns whether
    /// two independent measurements agree with the number, see [`repeats`].
    ///
    /// ```
    /// use coretalk_model::{Flag, Flags, Grade};
    ///
    /// let moved = Flags::NONE.with(Flag::Freq);
    /// assert_eq!(Grade::decide(moved, 0.008, || false), Grade::A, "a changed clock frequency is covered by the interval");
    /// let stolen = moved.with(Flag::Steal);
    /// assert_eq!(Grade::decide(stolen, 0.008, || false), Grade::D);
    /// assert_eq!(Grade::decide(stolen, 0.008, || true), Grade::C);
    /// ```
    pub fn decide(flags: Flags, width: f64, repeats: impl FnOnce() -> bool) -> Grade {
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

    fn grade_of(flags: &[Flag], width: f64, repeats: bool) -> Grade {
        Grade::decide(flags.iter().copied().collect(), width, || repeats)
    }

    #[test]
    fn remarks_do_not_lower_the_grade() {
        for &flag in Flag::ALL.iter().filter(|flag| !flag.is_doubt()) {
            let grades = [0.01, 0.02].map(|width| grade_of(&[flag], width, false));
            assert_eq!(grades, [Grade::A, Grade::B], "{flag:?}");
        }
        // The interval covers a clock that changed, but not one that throttling lowered in all passes.
        assert!(!Flag::Freq.is_doubt() && Flag::Throttled.is_doubt());
    }

    #[test]
    fn repetition_outweighs_a_possible_shift() {
        for flag in [Flag::Steal, Flag::Load, Flag::ModelOutlier] {
            let grades = [false, true].map(|repeats| grade_of(&[flag], 0.01, repeats));
            assert_eq!(grades, [Grade::D, Grade::C], "{flag:?}");
        }
        // The value is not known to a factor of two.
        assert_eq!(grade_of(&[Flag::Steal, Flag::WideCi], 0.6, true), Grade::D);
    }

    #[test]
    fn wide_intervals_have_grade_c_up_to_a_factor_of_two() {
        let widths = [(0.03, false), (0.5, true), (38.0, true), (f64::INFINITY, true)];
        let grades = widths.map(|(width, repeats)| grade_of(&[Flag::WideCi], width, repeats));
        assert_eq!(grades, [Grade::C, Grade::C, Grade::D, Grade::D]);
    }

    #[test]
    fn repetition_does_not_help_void_numbers() {
        for flag in [Flag::Invalid, Flag::LostUpdates, Flag::Migrated, Flag::TscUnsync, Flag::FewPasses] {
            assert_eq!(grade_of(&[flag], 0.001, true), Grade::D, "{flag:?}");
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
