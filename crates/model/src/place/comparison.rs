//! [`Comparison`]: one metric of one piece of work on every placement; [`Metric`]: one number of a run that placements are
//! compared by.

use super::placement::Placement;
use crate::quantity::Better;
use crate::stats::Estimate;
use crate::{CommandEnd, Flag, Flags};
use std::borrow::Cow;

/// One metric of one piece of work on every placement.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The workload (`n-queens:14`), or `command`.
    pub work: String,
    /// What is compared.
    pub metric: Metric,
    /// One for each placement, in the order asked.
    pub arms: Vec<Arm>,
    /// Every two placements, in the order asked; empty for metrics that are told only.
    pub pairs: Vec<Difference>,
    /// What follows.
    pub outcome: Outcome,
    /// What keeps the tests from deciding although they would.
    pub withheld: Option<Open>,
}

impl Comparison {
    /// By how much the medians of two placements differ, `b / a − 1`, as the table shows them; `None` where they have no
    /// ratio. [`Difference::share`] is the middle of the ratios of runs of one repetition instead.
    pub fn of_medians(&self, a: usize, b: usize) -> Option<f64> {
        let [a, b] =
            [a, b].map(|arm| self.arms.get(arm).and_then(|arm| arm.median).map(|median| median.point));
        a.zip(b).filter(|(a, b)| *a > 0.0 && *b >= 0.0).map(|(a, b)| b / a - 1.0)
    }

    /// Whether the medians of a pair lie apart by what the interval of its difference does not hold.
    pub fn is_off_medians(&self, pair: &Difference) -> bool {
        let of_medians = self.of_medians(pair.a, pair.b);
        pair.interval().zip(of_medians).is_some_and(|([low, high], of)| of < low || of > high)
    }

    /// Why it is open; `None` where it is not.
    pub fn open(&self) -> Option<Open> {
        let some_run = |is: fn(f64) -> bool| self.arms.iter().any(|arm| arm.runs.iter().any(|&run| is(run)));
        match self.outcome {
            Outcome::Winner { .. } | Outcome::Same { .. } | Outcome::NotTested => None,
            Outcome::CannotTell if self.withheld.is_some() => self.withheld,
            Outcome::CannotTell if !some_run(|_| true) => Some(Open::NoValue),
            Outcome::CannotTell if some_run(|run| run < 0.0) => Some(Open::BelowZero),
            Outcome::CannotTell
                if self.pairs.iter().all(|pair| pair.p_value.is_none() || pair.interval().is_none()) =>
            {
                Some(Open::TooFewRuns)
            }
            Outcome::CannotTell => Some(Open::Neither),
        }
    }
}

/// Why a comparison is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// No run has a value.
    NoValue,
    /// Some are below zero, and placements are compared by ratios.
    BelowZero,
    /// No test can be made of so few.
    TooFewRuns,
    /// The runs show neither a winner nor equality.
    Neither,
    /// What took time from the runs may be all that they differ by.
    Disturbed,
    /// The medians of the placements do not differ as the runs of a repetition do.
    Medians,
}

/// One placement of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    /// Where the work ran.
    pub placement: Placement,
    /// The median of the runs with its 95 % interval; `None` where no run had the number.
    pub median: Option<Estimate>,
    /// Every run of a repetition that all placements have, in the order made.
    pub runs: Vec<f64>,
    /// The repetition of each run: runs of one repetition are held against each other.
    pub repetitions: Vec<u32>,
}

impl Arm {
    /// The 95 % interval of the median; `None` below six runs, whose whole range is less sure than that.
    pub fn interval(&self) -> Option<[f64; 2]> {
        sure(self.median.as_ref())
    }
}

/// Two placements against each other, from repetitions that both have.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Position of the one that the other is held against.
    pub a: usize,
    /// Position of the other.
    pub b: usize,
    /// `b / a − 1` with its 95 % interval; infinite where `a` is zero and `b` is not, `None` where values have no ratio
    /// (below zero).
    pub share: Option<Estimate>,
    /// Of the exact permutation test, adjusted (Holm) over all metrics and pairs of the work; `None` where there is no
    /// test.
    pub p_value: Option<f64>,
}

impl Difference {
    /// The 95 % interval of the share; `None` below six repetitions, whose whole range is less sure than that.
    pub fn interval(&self) -> Option<[f64; 2]> {
        sure(self.share.as_ref())
    }
}

fn sure(estimate: Option<&Estimate>) -> Option<[f64; 2]> {
    estimate.filter(|it| it.is_sure()).map(|it| [it.low, it.high])
}

/// How much the larger of two is more than the smaller, from `one / other − 1`: the same whichever of them is the other,
/// and whichever way is better.
///
/// ```
/// # use coretalk_model::place::effect;
/// assert_eq!((effect(0.5), effect(1.0 / 1.5 - 1.0)), (0.5, 0.5));
/// ```
pub fn effect(share: f64) -> f64 {
    let ratio = 1.0 + share;
    ratio.max(1.0 / ratio) - 1.0
}

/// What follows from a comparison.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// One placement is better than every other by at least the smallest effect that matters.
    Winner {
        /// Position of the winner.
        winner: usize,
        /// Position of the next best.
        runner_up: usize,
        /// The next best against the winner: `runner-up / winner − 1`.
        share: Estimate,
        /// The largest p-value of the pairs of the winner.
        p_value: f64,
    },
    /// Every two placements are shown to differ by less than this share.
    Same {
        /// The smallest effect that matters.
        within: f64,
    },
    /// Neither.
    CannotTell,
    /// The metric is given and not tested.
    NotTested,
}

/// Everything that a run of comparisons found out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlaceResult {
    /// By work in the order asked, the headline metric first.
    pub comparisons: Vec<Comparison>,
    /// Doubts, by work and placement in the order asked.
    pub doubts: Vec<Doubt>,
    /// Every run that was planned was made, or the budget ended.
    pub complete: bool,
    /// The budget ended before the intervals were as narrow as asked.
    pub budget_ended: bool,
}

/// What went on beside the runs of one piece of work on one placement.
#[derive(Debug, Clone, PartialEq)]
pub struct Doubt {
    /// The work.
    pub work: String,
    /// The placement.
    pub placement: String,
    /// Runs made, failed ones among them.
    pub runs: u32,
    /// Runs that failed.
    pub failed: Option<Failed>,
    /// Median core clock of its first CPU over the runs, in GHz.
    pub core_ghz: Option<f64>,
    /// Runs in which the work ran outside its CPUs.
    pub left: u32,
    /// Runs in which some thread bound itself more tightly.
    pub narrowed: u32,
    /// Runs that left processes behind, which were ended.
    pub orphans: u32,
    /// The most threads that were seen at a time in some run, of all processes; `None` where nobody looked.
    pub tasks: Option<u64>,
    /// Median wall time in seconds where whoever watches had to start runs from a CPU of the work, and they are so short
    /// that this is part of what they are.
    pub crowded_s: Option<f64>,
    /// Share of the time of its CPUs that the hypervisor or interrupts took.
    pub stolen: Option<f64>,
    /// Share of the time that its threads wanted to run in which they had no CPU, as far as was seen; `None` where the
    /// system does not say.
    pub waited: Option<f64>,
    /// Share of the time of its CPUs that went to other programs; `None` where the system does not say.
    pub others: Option<f64>,
    /// Doubts and remarks.
    pub flags: Flags,
}

impl Doubt {
    /// Whether something other than the placement may have changed the numbers of its runs. Clocks that differ between
    /// placements are a part of what placements are.
    pub fn is_disturbed(&self) -> bool {
        let disturbances = [Flag::Quota, Flag::Preempted, Flag::Steal, Flag::Multimodal];
        disturbances.into_iter().any(|flag| self.flags.contains(flag))
            || self.left > 0
            || self.failed.is_some()
            || self.crowded_s.is_some()
    }

    /// The largest share of the time of its runs that may not have been its own: what its threads waited for a CPU that
    /// others had, and what the host took. All of it where a quota stopped them, which has no bound, or where the work left
    /// its CPUs in one run of five.
    pub fn foreign_share(&self) -> f64 {
        let known =
            |flag, share: Option<f64>| if self.flags.contains(flag) { share.unwrap_or(1.0) } else { 0.0 };
        if self.flags.contains(Flag::Quota) || f64::from(self.left) > OFTEN * f64::from(self.runs) {
            return 1.0;
        }
        known(Flag::Preempted, self.waited).max(known(Flag::Steal, self.stolen)).min(1.0)
    }
}

/// Runs that are disturbed now and then are what medians are for: of six to ten, one at either end says nothing.
pub(super) const OFTEN: f64 = 0.2;

/// What is known of runs that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// How many did.
    pub runs: u32,
    /// Why the last one did.
    pub reason: String,
    /// How the command of that one ended; `None` where it did not end by itself.
    pub end: Option<CommandEnd>,
    /// What that one wrote to standard output, cut to its beginning and end.
    pub stdout: String,
    /// What it wrote to standard error, cut in the same way.
    pub stderr: String,
}

/// Whether a metric decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It is tested, and can have a winner.
    Judged,
    /// It explains the others: neither a test nor a winner, and no share of the error that the tests may make.
    Descriptive,
}

/// One number of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    /// Its name in values and documents, the unit last where it is known.
    pub name: Cow<'static, str>,
    /// Heading of its rows in tables, the unit last.
    pub title: Cow<'static, str>,
    /// Its unit; empty where it is not known (numbers of a user's own).
    pub unit: &'static str,
    /// Which way is better.
    pub better: Better,
    /// Whether it decides.
    pub role: Role,
}

/// A metric that is known by name.
pub(super) const fn known(
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    better: Better,
    role: Role,
) -> Metric {
    Metric { name: Cow::Borrowed(name), title: Cow::Borrowed(title), unit, better, role }
}

/// What every run of a command has, the headline first.
pub const COMMAND_METRICS: [Metric; 6] = [
    known("wall_s", "wall s", "s", Better::Lower, Role::Judged),
    known("user_s", "user s", "s", Better::Lower, Role::Judged),
    known("system_s", "system s", "s", Better::Lower, Role::Judged),
    known("peak_memory_mb", "peak memory MB", "MB", Better::Lower, Role::Judged),
    known("switches", "switches", "", Better::Lower, Role::Descriptive),
    known("migrations", "migrations", "", Better::Lower, Role::Descriptive),
];

/// What stands among the values of a run and is no metric: the clock of the core, seconds that threads waited for a CPU,
/// and seconds of its CPUs that went to other programs.
pub(super) const BESIDE: [&str; 3] = ["core_ghz", WAITED, OTHERS];
/// Seconds that threads of the work were ready and had no CPU, as far as was seen.
pub const WAITED: &str = "waited_s";
/// Seconds that other programs ran on the CPUs of the placement.
pub const OTHERS: &str = "others_s";

impl Metric {
    /// A number that a user reads from the output of a command.
    pub fn own(name: &str, better: Better) -> Metric {
        let title = Cow::Owned(name.to_owned());
        Metric { name: Cow::Owned(name.to_owned()), title, unit: "", better, role: Role::Judged }
    }

    /// Whether it takes longer, or is less of a rate, where something takes time from the runs: time on a CPU and memory
    /// are counted for the work alone.
    pub fn is_slowed(&self) -> bool {
        !["user_s", "system_s", "peak_memory_mb"].contains(&&*self.name)
    }

    /// What is wrong with a name that a user gives to a number; `None` where nothing.
    pub fn refusal(name: &str) -> Option<String> {
        let fits = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        if name.is_empty() || !name.chars().all(fits) {
            return Some(format!(
                "`{name}` is not a valid metric name: use letters, digits, `_`, `.` and `-`"
            ));
        }
        let taken = COMMAND_METRICS.iter().any(|metric| metric.name == name) || BESIDE.contains(&name);
        taken.then(|| format!("the metric `{name}` is built in; choose another name"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ones_own_are_plain_and_free() {
        assert!(Metric::refusal("events/s").is_some());
        assert!(Metric::refusal("").is_some() && Metric::refusal("wall_s").unwrap().contains("is built in"));
        assert!(Metric::refusal("core_ghz").is_some());
        assert_eq!(Metric::refusal("events_per_s"), None);
    }
}
