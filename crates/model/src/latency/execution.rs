//! [`ExecutionTest`]: whether two CPUs share execution units, as the threads of one core do.
//!
//! Latency alone does not separate threads of a core from neighbouring cores: on one published matrix siblings read 17
//! to 20 ns and neighbours 17 to 26. But a thread that saturates a unit of its core runs at half the rate when the
//! other thread of the core does the same.

use crate::CpuId;
use crate::stats::{MIN_PASSES, exact_median_interval, median_in_place};

/// An execution unit of a core, shared by its threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExecutionUnit {
    /// Integer multiplication, pipelined. A core has one to four multipliers, and one thread can keep them busy.
    Multiplier,
    /// Floating-point division, not fully pipelined. A core has one or two dividers.
    Divider,
}

impl ExecutionUnit {
    /// All units, in the order of [`ExecutionPass::kept`].
    pub const ALL: [ExecutionUnit; 2] = [ExecutionUnit::Multiplier, ExecutionUnit::Divider];

    /// The stable name used in values.
    pub fn name(self) -> &'static str {
        match self {
            ExecutionUnit::Multiplier => "multiplier",
            ExecutionUnit::Divider => "divider",
        }
    }
}

/// Why a pair was tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum TestReason {
    /// No other pair of these CPUs has a lower latency.
    Closest,
    /// The system reports that the two CPUs are threads of one core.
    Reported,
    /// No pair has a higher latency. If these CPUs seem to share a core, the test does not work on this machine.
    Control,
}

impl TestReason {
    /// The stable name used in run files and JSON.
    pub fn name(self) -> &'static str {
        match self {
            TestReason::Closest => "closest",
            TestReason::Reported => "reported",
            TestReason::Control => "control",
        }
    }
}

/// The result of one pass of a test.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct ExecutionPass {
    /// Rate of work while both CPUs work ÷ rate while the other sleeps: by unit, then by CPU of the pair.
    pub kept: [[f64; 2]; ExecutionUnit::ALL.len()],
}

/// The measurements that show whether two CPUs share execution units.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ExecutionTest {
    /// The two CPUs.
    pub pair: [CpuId; 2],
    /// Why the pair was tested.
    pub reason: TestReason,
    /// Results of the passes, in time order.
    pub passes: Vec<ExecutionPass>,
}

/// The verdict of an [`ExecutionTest`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Execution {
    /// The CPUs share units: threads of one core.
    Shared,
    /// The CPUs share no units: two cores.
    Apart,
    /// The measurements show neither.
    Unclear(Unclear),
}

/// Why the verdict is unclear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unclear {
    /// Too few passes for an interval.
    TooFew {
        /// Number of passes.
        passes: usize,
    },
    /// The CPUs shared units in some passes and none in others, as when a host moves virtual CPUs.
    Changing {
        /// Number of passes with shared units.
        shared: usize,
        /// Number of passes without shared units.
        apart: usize,
    },
    /// The slowdown is more than clocks cause and less than a shared unit would cause.
    Between,
    /// The control pair, which is farthest apart, seems to share units. Something else slows down two CPUs.
    ControlShares,
}

/// Two threads of a core get half each, or more if a single thread does not saturate the unit.
const SHARED_BELOW: f64 = 0.7;
/// Minimum kept rate for separate cores. Two busy cores clock a few percent lower, a busy machine 10 to 25 %.
const APART_ABOVE: f64 = 0.8;
const MIN_CONTRADICTING: usize = 3;

impl ExecutionTest {
    /// The share of its rate that a CPU of the pair keeps while the other works, for one unit. Medians over passes,
    /// first for the CPU that keeps more. `None` without passes.
    pub fn kept(&self, unit: ExecutionUnit) -> Option<[f64; 2]> {
        let median = |select: fn(f64, f64) -> f64| {
            median_in_place(&mut self.of_unit(unit, select).collect::<Vec<_>>())
        };
        Some([median(f64::max)?, median(f64::min)?])
    }

    fn of_unit(&self, unit: ExecutionUnit, select: fn(f64, f64) -> f64) -> impl Iterator<Item = f64> {
        self.passes.iter().map(move |pass| pass.kept[unit as usize]).map(move |[a, b]| select(a, b))
    }

    /// The verdict from the intervals of medians over passes. Shared if *both* CPUs keep less than 0.7 on some unit,
    /// apart if both keep more than 0.8 on every unit. A shared unit never slows down only one CPU.
    pub fn verdict(&self) -> Execution {
        let passes = self.passes.len();
        if passes < MIN_PASSES {
            return Execution::Unclear(Unclear::TooFew { passes });
        }
        let interval =
            |unit, select| exact_median_interval(&self.of_unit(unit, select).collect::<Vec<_>>(), 0.05);
        let shares =
            |unit: &ExecutionUnit| interval(*unit, f64::max).is_some_and(|most| most.high < SHARED_BELOW);
        let is_apart =
            |unit: &ExecutionUnit| interval(*unit, f64::min).is_some_and(|least| least.low > APART_ABOVE);
        let changing = self.changes();
        if let Some(unclear) = changing {
            Execution::Unclear(unclear)
        } else if ExecutionUnit::ALL.iter().any(shares) {
            Execution::Shared
        } else if ExecutionUnit::ALL.iter().all(is_apart) {
            Execution::Apart
        } else {
            Execution::Unclear(Unclear::Between)
        }
    }

    fn changes(&self) -> Option<Unclear> {
        let count =
            |holds: &dyn Fn(&ExecutionPass) -> bool| self.passes.iter().filter(|pass| holds(pass)).count();
        let shared = count(&|pass| pass.kept.iter().any(|kept| kept.iter().all(|kept| *kept < SHARED_BELOW)));
        let apart = count(&|pass| pass.kept.iter().flatten().all(|kept| *kept > APART_ABOVE));
        (shared >= MIN_CONTRADICTING && apart >= MIN_CONTRADICTING)
            .then_some(Unclear::Changing { shared, apart })
    }
}

/// The verdicts of all tests of a run, in order. If the control seems to share units, sharing is unclear for all.
pub fn verdicts(tests: &[ExecutionTest]) -> Vec<Execution> {
    let is_control = |test: &&ExecutionTest| test.reason == TestReason::Control;
    let control_shares =
        tests.iter().filter(is_control).any(|control| control.verdict() == Execution::Shared);
    let verdict_of = |test: &ExecutionTest| match test.verdict() {
        Execution::Shared if control_shares => Execution::Unclear(Unclear::ControlShares),
        verdict => verdict,
    };
    tests.iter().map(verdict_of).collect()
}

impl Execution {
    /// The stable name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Execution::Shared => "shared",
            Execution::Apart => "apart",
            Execution::Unclear(_) => "unclear",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(reason: TestReason, kept: &[[[f64; 2]; 2]]) -> ExecutionTest {
        let passes = kept.iter().map(|&kept| ExecutionPass { kept }).collect();
        ExecutionTest { pair: [CpuId(0), CpuId(1)], reason, passes }
    }

    const SHARED: [[f64; 2]; 2] = [[0.55, 0.58], [0.5, 0.5]];
    const APART: [[f64; 2]; 2] = [[0.99, 1.0], [0.98, 1.01]];

    fn verdict_of(kept: &[[[f64; 2]; 2]]) -> Execution {
        test(TestReason::Closest, kept).verdict()
    }

    #[test]
    fn a_shared_unit_halves_the_rate_of_both_and_cores_are_independent() {
        assert_eq!(verdict_of(&[SHARED; 12]), Execution::Shared);
        assert_eq!(verdict_of(&[APART; 12]), Execution::Apart);
        // Separate integer units and one divider for two threads, as in modules of the Bulldozer family: shared.
        assert_eq!(verdict_of(&[[[1.0, 1.0], [0.5, 0.5]]; 12]), Execution::Shared);
        assert_eq!(
            test(TestReason::Closest, &[SHARED; 3]).kept(ExecutionUnit::Multiplier),
            Some([0.58, 0.55])
        );
    }

    #[test]
    fn inconclusive_tests_are_unclear() {
        let mixed = |apart, shared| [vec![APART; apart], vec![SHARED; shared]].concat();
        for (kept, reason) in [
            (mixed(0, 5), Unclear::TooFew { passes: 5 }),
            // Only one CPU is slow: it was delayed, or the host runs both in turn on one of its CPUs.
            (vec![[[0.4, 1.0]; 2]; 12], Unclear::Between),
            (vec![[[0.75, 0.76]; 2]; 12], Unclear::Between),
            (mixed(8, 4), Unclear::Changing { shared: 4, apart: 8 }),
        ] {
            assert_eq!(verdict_of(&kept), Execution::Unclear(reason));
        }
        assert_eq!(verdict_of(&mixed(10, 2)), Execution::Apart);
    }

    #[test]
    fn a_control_that_shares_makes_all_pairs_unclear() {
        let verdicts_with = |control| {
            verdicts(&[test(TestReason::Closest, &[SHARED; 12]), test(TestReason::Control, &[control; 12])])
        };
        assert_eq!(verdicts_with(SHARED), [Execution::Unclear(Unclear::ControlShares); 2]);
        assert_eq!(verdicts_with(APART), [Execution::Shared, Execution::Apart]);
    }
}
