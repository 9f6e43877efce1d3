use super::placement::Placement;
use crate::quantity::Better;
use crate::stats::Estimate;
use crate::{CommandEnd, Flag, Flags};
use std::borrow::Cow;

/// One metric of one piece of work on every placement.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacementComparison {
    /// The workload (`n-queens:14`), or `command`.
    pub work: String,
    /// The compared metric.
    pub metric: Metric,
    /// The arms, in the requested order of placements.
    pub arms: Vec<Arm>,
    /// All pairs of placements, in the requested order; empty for metrics that are not tested.
    pub pairs: Vec<Difference>,
    /// The conclusion.
    pub outcome: PlaceOutcome,
    /// Why a conclusion of the tests is withheld.
    pub withheld: Option<Open>,
}

impl PlacementComparison {
    /// Relative difference of two medians, `b / a − 1`, as in the table; `None` without a ratio. In contrast,
    /// [`Difference::share`] is the median over repetitions of the ratios of paired runs.
    pub fn of_medians(&self, a: usize, b: usize) -> Option<f64> {
        let [a, b] =
            [a, b].map(|arm| self.arms.get(arm).and_then(|arm| arm.median).map(|median| median.point));
        a.zip(b).filter(|(a, b)| *a > 0.0 && *b >= 0.0).map(|(a, b)| b / a - 1.0)
    }

    /// Whether the difference of the medians is outside the interval of the paired difference.
    pub fn differs_from_medians(&self, pair: &Difference) -> bool {
        let of_medians = self.of_medians(pair.a, pair.b);
        pair.interval().zip(of_medians).is_some_and(|([low, high], share)| share < low || share > high)
    }

    /// Why the comparison is open; `None` with a conclusion.
    pub fn open(&self) -> Option<Open> {
        match self.outcome {
            PlaceOutcome::Winner { .. }
            | PlaceOutcome::Same { .. }
            | PlaceOutcome::PerArm
            | PlaceOutcome::NotTested => None,
            PlaceOutcome::CannotTell if self.withheld.is_some() => self.withheld,
            PlaceOutcome::CannotTell => {
                let all: Vec<usize> = (0..self.arms.len()).collect();
                Some(self.open_between(&all, &self.pairs))
            }
        }
    }

    /// Why the pair with this index is open; `None` with a conclusion.
    pub fn open_pair(&self, pair: usize) -> Option<Open> {
        let pair = &self.pairs[pair];
        match pair.verdict {
            PairVerdict::Better | PairVerdict::Worse | PairVerdict::Same => None,
            PairVerdict::Withheld(open) => Some(open),
            PairVerdict::CannotTell => Some(self.open_between(&[pair.a, pair.b], std::slice::from_ref(pair))),
        }
    }

    fn open_between(&self, arms: &[usize], pairs: &[Difference]) -> Open {
        let some_run =
            |is: fn(f64) -> bool| arms.iter().any(|&arm| self.arms[arm].runs.iter().any(|&run| is(run)));
        let has_no_test = |pair: &Difference| pair.p_value.is_none() || pair.interval().is_none();
        match () {
            () if !some_run(|_| true) => Open::NoValue,
            () if some_run(|run| run < 0.0) => Open::BelowZero,
            () if pairs.iter().all(has_no_test) => Open::TooFewRuns,
            () => Open::Neither,
        }
    }
}

/// Why a comparison has no conclusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// No run has a value.
    NoValue,
    /// Some values are below zero and have no ratio.
    BelowZero,
    /// Too few runs for a test.
    TooFewRuns,
    /// The runs show neither a winner nor equality.
    Neither,
    /// A disturbance may explain the difference.
    Disturbed,
    /// The medians contradict the paired runs.
    Medians,
    /// The control differs from the baseline, although both are the same command.
    Control,
    /// More than a third of the rounds were dropped.
    Noisy,
    /// One arm was disturbed in the dropped rounds more often than chance explains.
    Uneven,
}

/// One placement of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    /// The placement.
    pub placement: Placement,
    /// Median of the runs with its 95 % interval; `None` if no run has a value.
    pub median: Option<Estimate>,
    /// The runs of all repetitions that are complete on all placements, in the order of execution.
    pub runs: Vec<f64>,
    /// The repetition of each run. Runs of one repetition are paired.
    pub repetitions: Vec<u32>,
}

impl Arm {
    /// The 95 % interval of the median. `None` below six runs, whose full range covers the median with less confidence.
    pub fn interval(&self) -> Option<[f64; 2]> {
        sure_interval(self.median.as_ref())
    }
}

/// Difference of two placements, from repetitions that both have.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Position of the reference placement.
    pub a: usize,
    /// Position of the other placement.
    pub b: usize,
    /// `b / a − 1` with its 95 % interval; infinite if only `a` is zero, `None` without a ratio (values below zero).
    pub share: Option<Estimate>,
    /// P-value of the exact permutation test; `None` without a test. Adjusted over all metrics and pairs of the work
    /// (Holm) and over the looks of a comparison of commands (Bonferroni).
    pub p_value: Option<f64>,
    /// How `b` compares with `a`.
    pub verdict: PairVerdict,
}

/// How the second arm of a pair compares with the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairVerdict {
    /// Better by at least the smallest effect.
    Better,
    /// Worse by at least the smallest effect.
    Worse,
    /// Different by less than the smallest effect.
    Same,
    /// The runs show neither a difference nor equality.
    CannotTell,
    /// The runs show a difference or equality, but the verdict is withheld for this reason.
    Withheld(Open),
}

impl Difference {
    /// The 95 % interval of the share. `None` below six repetitions, whose full range covers it with less confidence.
    pub fn interval(&self) -> Option<[f64; 2]> {
        sure_interval(self.share.as_ref())
    }
}

fn sure_interval(estimate: Option<&Estimate>) -> Option<[f64; 2]> {
    estimate.filter(|it| it.is_sure()).map(|it| [it.low, it.high])
}

/// Excess of the larger value over the smaller, from `one / other − 1`, whatever the order and direction.
///
/// ```
/// # use coretalk_model::place::effect;
/// assert_eq!((effect(0.5), effect(1.0 / 1.5 - 1.0)), (0.5, 0.5));
/// ```
pub fn effect(share: f64) -> f64 {
    let ratio = 1.0 + share;
    ratio.max(1.0 / ratio) - 1.0
}

/// Conclusion of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub enum PlaceOutcome {
    /// One placement is better than every other by at least the smallest effect.
    Winner {
        /// Position of the winner.
        winner: usize,
        /// Position of the next best.
        runner_up: usize,
        /// Shift of the next best against the winner: `runner-up / winner − 1`.
        share: Estimate,
        /// The largest p-value of the pairs of the winner.
        p_value: f64,
    },
    /// All pairs of placements differ by less than this share.
    Same {
        /// The smallest effect.
        within: f64,
    },
    /// Neither a winner nor equality is shown.
    CannotTell,
    /// Each arm has its own verdict against the baseline.
    PerArm,
    /// The metric is reported, but not tested.
    NotTested,
}

/// The result of a run of comparisons.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlaceResult {
    /// Comparisons by work in the requested order, each with the headline metric first.
    pub comparisons: Vec<PlacementComparison>,
    /// Conditions by work and placement, in the requested order.
    pub doubts: Vec<PlacementConditions>,
    /// Rounds of a comparison of commands.
    pub rounds: Rounds,
    /// Whether all planned runs were made, or the budget ended.
    pub complete: bool,
    /// Whether the budget ended before the intervals reached the precision.
    pub budget_ended: bool,
}

/// The rounds of a comparison of commands. Each round has one run of every arm.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rounds {
    /// Number of rounds that count.
    pub kept: u32,
    /// The dropped rounds, in the order of execution.
    pub dropped: Vec<DroppedRound>,
    /// Whether one arm was disturbed more often than chance explains.
    pub is_uneven: bool,
}

/// A round that does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedRound {
    /// Number of the round.
    pub round: u32,
    /// The cause in the first disturbed arm.
    pub cause: DropCause,
    /// The disturbed arms.
    pub arms: Vec<usize>,
}

named! {
    /// Why a round was dropped.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum DropCause {
        /// The quota of the control group throttled a run.
        Quota = "quota",
        /// The hypervisor or interrupts took CPU time.
        Steal = "steal",
        /// Other programs took CPU time from threads that were ready to run.
        Preempted = "preempted",
        /// A run is missing, because of an interruption or the loss of a CPU.
        Unfinished = "unfinished",
    }
}

impl Rounds {
    /// Why no verdict is possible, whatever the kept rounds show; `None` if a verdict is possible.
    pub fn refusal(&self) -> Option<Open> {
        (2 * self.disturbed() > self.kept).then_some(Open::Noisy)
    }

    /// Number of rounds that were dropped for a disturbance.
    pub fn disturbed(&self) -> u32 {
        self.dropped.iter().filter(|round| round.cause != DropCause::Unfinished).count() as u32
    }
}

/// Conditions and disturbances of the runs of one piece of work on one placement.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacementConditions {
    /// The work.
    pub work: String,
    /// The placement.
    pub placement: String,
    /// Number of runs, including failed ones.
    pub runs: u32,
    /// Runs that failed.
    pub failed: Option<Failed>,
    /// Median core clock of the first CPU over the runs, in GHz.
    pub core_ghz: Option<f64>,
    /// Number of runs in which the work ran outside its CPUs.
    pub left: u32,
    /// Number of runs in which a thread restricted its own affinity.
    pub narrowed: u32,
    /// Number of runs that left processes behind, which were killed.
    pub orphans: u32,
    /// Largest number of threads observed at a time in a run, over all processes; `None` if not observed.
    pub tasks: Option<u64>,
    /// Median wall time in seconds, if the observer shared a CPU with the work and short runs were affected.
    pub crowded_s: Option<f64>,
    /// Share of the CPU time taken by the hypervisor or interrupts.
    pub stolen: Option<f64>,
    /// Share of the ready time of the threads without a CPU; `None` if the system does not report it.
    pub waited: Option<f64>,
    /// Share of the CPU time used by other programs; `None` if the system does not report it.
    pub others: Option<f64>,
    /// Flags of the runs.
    pub flags: Flags,
}

impl PlacementConditions {
    /// Whether something other than the placement may have affected the runs. Different clocks (`Flag::Freq`) are a
    /// property of the placements.
    pub fn is_disturbed(&self) -> bool {
        let disturbances = [Flag::Quota, Flag::Preempted, Flag::Steal, Flag::Multimodal];
        disturbances.into_iter().any(|flag| self.flags.contains(flag))
            || self.left > 0
            || self.failed.is_some()
            || self.crowded_s.is_some()
    }

    /// Largest share of the run time that other programs or the host may have taken. 1 if a quota throttled the runs,
    /// or if the work left its CPUs in more than a fifth of the runs.
    pub fn foreign_share(&self) -> f64 {
        let flagged_share =
            |flag, share: Option<f64>| if self.flags.contains(flag) { share.unwrap_or(1.0) } else { 0.0 };
        if self.flags.contains(Flag::Quota) || f64::from(self.left) > OFTEN * f64::from(self.runs) {
            return 1.0;
        }
        flagged_share(Flag::Preempted, self.waited).max(flagged_share(Flag::Steal, self.stolen)).min(1.0)
    }
}

/// Share of disturbed runs that a median tolerates: one of six, two of ten.
pub(super) const OFTEN: f64 = 0.2;

/// Details of failed runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// Number of failed runs.
    pub runs: u32,
    /// Reason of the last failure.
    pub reason: String,
    /// How the command ended; `None` if it did not end by itself.
    pub end: Option<CommandEnd>,
    /// Standard output, shortened to beginning and end.
    pub stdout: String,
    /// Standard error, shortened likewise.
    pub stderr: String,
}

/// Whether a metric is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Tested. The metric can have a winner.
    Judged,
    /// Explains other metrics. It is not tested and takes no share of the error.
    Descriptive,
    /// As descriptive, but left out if the machine does not count it.
    Optional,
}

/// One compared number of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    /// Name in values and documents, with the unit last if known.
    pub name: Cow<'static, str>,
    /// Heading of the rows in tables, with the unit last.
    pub title: Cow<'static, str>,
    /// Unit; empty if unknown (metrics defined by the user).
    pub unit: &'static str,
    /// Direction of improvement.
    pub better: Better,
    /// Whether the metric is tested.
    pub role: Role,
}

pub(super) const fn known(
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    better: Better,
    role: Role,
) -> Metric {
    Metric { name: Cow::Borrowed(name), title: Cow::Borrowed(title), unit, better, role }
}

/// Metrics of every command, the headline first.
pub const COMMAND_METRICS: [Metric; 10] = [
    known("wall_s", "wall s", "s", Better::Lower, Role::Judged),
    known("user_s", "user s", "s", Better::Lower, Role::Judged),
    known("system_s", "system s", "s", Better::Lower, Role::Judged),
    known("peak_memory_mb", "peak memory MB", "MB", Better::Lower, Role::Judged),
    known("switches", "switches", "", Better::Lower, Role::Descriptive),
    known("migrations", "migrations", "", Better::Lower, Role::Descriptive),
    known("instructions", "instructions", "", Better::Lower, Role::Optional),
    known("cycles", "cycles", "", Better::Lower, Role::Optional),
    known("cache_misses", "cache misses", "", Better::Lower, Role::Optional),
    known("branch_misses", "branch misses", "", Better::Lower, Role::Optional),
];

/// Values of a run that are not metrics: core clock, seconds that threads waited, CPU seconds used by others.
pub(super) const BESIDE: [&str; 3] = ["core_ghz", WAITED, OTHERS];
/// Seconds that threads of the work were ready without a CPU, as far as observed.
pub const WAITED: &str = "waited_s";
/// Seconds that other programs ran on the CPUs of the placement.
pub const OTHERS: &str = "others_s";

impl Metric {
    /// A metric that the user extracts from the output of a command.
    pub fn own(name: &str, better: Better) -> Metric {
        let title = Cow::Owned(name.to_owned());
        Metric { name: Cow::Owned(name.to_owned()), title, unit: "", better, role: Role::Judged }
    }

    /// Whether the metric is a time, for which less is faster.
    pub fn is_time(&self) -> bool {
        self.unit == "s"
    }

    /// Whether lost time makes the metric worse. CPU time and memory are counted for the work alone and do not suffer.
    pub fn is_slowed(&self) -> bool {
        !["user_s", "system_s", "peak_memory_mb"].contains(&&*self.name)
    }

    /// Why a name is not allowed for a metric of the user; `None` if it is allowed.
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
    fn metric_names_are_validated() {
        assert!(Metric::refusal("events/s").is_some());
        assert!(Metric::refusal("").is_some() && Metric::refusal("wall_s").unwrap().contains("is built in"));
        assert!(Metric::refusal("core_ghz").is_some());
        assert_eq!(Metric::refusal("events_per_s"), None);
    }
}
