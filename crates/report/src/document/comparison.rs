//! Comparisons of placements and of commands.

use super::{Ci, known, rounded};
use coretalk_model::place::{
    Binding, Difference, Failed, Open, PairVerdict, PlaceOutcome, PlacementComparison, Workload,
};
use coretalk_model::run::PlaceReport;
use coretalk_model::stats::Estimate;
use coretalk_model::{CommandEnd, CpuId, Flag};
use schemars::JsonSchema;
use serde::Serialize;

/// One metric of one workload on every placement, or of every arm.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ComparisonDoc {
    /// A workload such as `n-queens:14`, or `command`.
    workload: String,
    metric: String,
    /// Unit of the metric; empty if unknown.
    unit: &'static str,
    /// Better direction: `higher` or `lower`.
    better: &'static str,
    /// Placements, or arms of commands.
    placements: Vec<ArmDoc>,
    /// Name of the placement that is better than all others; null if there is none, or without a test.
    winner: Option<String>,
    /// `winner`, `same`, `cannot-tell`, `per-arm` for commands (see `pairs`), or `told` for metrics without a test.
    verdict: &'static str,
    /// Reason of `cannot-tell`; null otherwise.
    reason: Option<&'static str>,
    /// Minimum relevant difference in percent, within which the placements are `same`; null for other verdicts.
    within_percent: Option<f64>,
    /// Difference of the runner-up from the winner in percent; null without a winner.
    delta_percent: Option<f64>,
    /// Largest p-value of the winner's pairs; null without a winner.
    p_value: Option<f64>,
    pairs: Vec<PairDoc>,
}

/// Results of one placement.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ArmDoc {
    name: String,
    /// CPUs in thread order.
    cpus: Vec<u32>,
    /// CPU of each thread; null if threads are not bound individually: commands, workloads of processes, `none`.
    roles: Option<Vec<u32>>,
    /// `taskset` command that binds the whole process, its threads in any order; null if nothing is bound.
    taskset: Option<String>,
    /// Median of the runs, in `unit`; null without a value.
    median: Option<f64>,
    /// 95 % interval of the median; null below six runs.
    ci: Option<Ci>,
    /// Value of each run, in execution order.
    runs: Vec<f64>,
    /// Repetition of each run; runs of one repetition are adjacent in time and paired.
    repetitions: Vec<u32>,
    flags: Vec<&'static str>,
    /// Median core clock of the first CPU right after a run, in GHz.
    core_ghz: Option<f64>,
    /// Share of ready time without a CPU, in percent, as far as observed; null if the system does not report it.
    waited_percent: Option<f64>,
    /// Share of the time of its CPUs used by other programs, in percent; null if the system does not report it.
    others_percent: Option<f64>,
    /// Failed runs; null if none failed.
    failed: Option<FailedDoc>,
}

/// Details of failed runs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FailedDoc {
    /// Number of failed runs.
    runs: u32,
    /// Reason of the last failure.
    reason: String,
    /// Exit status of its command; null if it has none.
    exit_status: Option<i32>,
    /// Signal that ended its command; null if none did.
    signal: Option<i32>,
}

/// Difference of two placements.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PairDoc {
    a: String,
    b: String,
    /// `b / a − 1` in percent; null for values without a ratio.
    delta_percent: Option<f64>,
    /// 95 % interval in percent; null below six repetitions.
    ci: Option<Ci>,
    /// P-value, adjusted over all metrics and pairs of the workload, for commands also over the looks; null without a
    /// test.
    p_value: Option<f64>,
    /// How command `b` compares with `a`: `better`, `worse`, `same` or `cannot-tell`; absent for placements.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'static str>,
    /// Reason of `cannot-tell`; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

/// The arms and rounds of a comparison of commands.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VersusDoc {
    /// The arms; the first is the baseline.
    arms: Vec<CommandDoc>,
    /// Name of the arm that runs the baseline once more; null without one.
    control: Option<String>,
    rounds: RoundsDoc,
}

/// What an arm runs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CommandDoc {
    name: String,
    /// SHA-256 of the program, its arguments and its variables, each ended by a zero byte. The command itself may be
    /// private: it is in the run file, and in `run.command` with `--with-identity`.
    command_hash: String,
    /// Names of its additional environment variables; the values may be private.
    environment: Vec<String>,
    /// The CPUs that it runs on.
    cpus: Vec<u32>,
}

/// Rounds, each with one run of every arm.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RoundsDoc {
    /// Number of rounds that count.
    kept: u32,
    /// The other rounds.
    dropped: Vec<DroppedDoc>,
}

/// A round that does not count.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DroppedDoc {
    round: u32,
    /// `quota`, `steal`, `preempted` (by other programs) or `unfinished`.
    cause: &'static str,
    /// The disturbed arms.
    arms: Vec<String>,
}

impl VersusDoc {
    /// The arms and rounds of a comparison; `None` for placements.
    pub fn new(place: &PlaceReport) -> Option<VersusDoc> {
        let versus = place.settings.versus.as_ref()?;
        let placements = &place.settings.placements;
        let name = |arm: usize| placements[arm].name.clone();
        let arms = placements.iter().zip(&versus.arms).map(|(placement, command)| CommandDoc {
            name: placement.name.clone(),
            command_hash: command.hash.clone(),
            environment: command.environment.clone(),
            cpus: placement.cpus.iter().map(|cpu| cpu.0).collect(),
        });
        let dropped = place.result.rounds.dropped.iter().map(|dropped| DroppedDoc {
            round: dropped.round,
            cause: dropped.cause.name(),
            arms: dropped.arms.iter().map(|arm| name(*arm)).collect(),
        });
        Some(VersusDoc {
            arms: arms.collect(),
            control: versus.control.map(name),
            rounds: RoundsDoc { kept: place.result.rounds.kept, dropped: dropped.collect() },
        })
    }
}

const fn reason(open: Open) -> &'static str {
    match open {
        Open::NoValue => "no run has a value",
        Open::BelowZero => "values below zero have no ratio",
        Open::TooFewRuns => "too few runs for a test",
        Open::Disturbed => "disturbances can reverse or hide the difference",
        Open::Medians => "the medians contradict the paired runs",
        Open::Neither => "the runs are too noisy to call a winner or a tie",
        Open::Control => "the control differs from the baseline",
        Open::Noisy => "more than a third of the rounds were disturbed",
        Open::Uneven => "the disturbed rounds are not spread over the arms by chance",
    }
}

impl ComparisonDoc {
    /// All comparisons of a run.
    pub fn of_all(place: &PlaceReport) -> Vec<ComparisonDoc> {
        place.result.comparisons.iter().map(|comparison| ComparisonDoc::new(place, comparison)).collect()
    }

    fn new(place: &PlaceReport, comparison: &PlacementComparison) -> ComparisonDoc {
        let name = |arm: usize| comparison.arms[arm].placement.name.clone();
        let (verdict, winner, within, delta, p_value) = match &comparison.outcome {
            PlaceOutcome::Winner { winner, share, p_value, .. } => {
                ("winner", Some(name(*winner)), None, Some(share.point), Some(*p_value))
            }
            PlaceOutcome::Same { within } => ("same", None, Some(*within), None, None),
            PlaceOutcome::CannotTell => ("cannot-tell", None, None, None, None),
            PlaceOutcome::PerArm => ("per-arm", None, None, None, None),
            PlaceOutcome::NotTested => ("told", None, None, None, None),
        };
        let doubt = |arm: &str| {
            place.result.doubts.iter().find(|doubt| doubt.work == comparison.work && doubt.placement == arm)
        };
        let percent = |share: Option<f64>| share.map(|share| rounded(100.0 * share));
        let of_share = |share: Estimate| share.scaled(100.0);
        let threads = place.settings.threads;
        let kind = comparison.work.parse::<Workload>().ok().map(|workload| workload.kind);
        let roles = threads.and_then(|threads| kind?.behaviour(threads).roles);
        let ids = |cpus: &[CpuId]| cpus.iter().map(|cpu| cpu.0).collect::<Vec<u32>>();
        let arms = comparison.arms.iter().map(|arm| ArmDoc {
            name: arm.placement.name.clone(),
            cpus: ids(&arm.placement.cpus),
            roles: roles
                .filter(|_| arm.placement.binding == Binding::Bound)
                .map(|roles| ids(&arm.placement.roles(roles))),
            taskset: arm.placement.taskset(),
            median: arm.median.and_then(|median| exact(median.point)),
            ci: arm.interval().and_then(|[low, high]| Some([exact(low)?, exact(high)?])),
            runs: arm.runs.clone(),
            repetitions: arm.repetitions.clone(),
            flags: doubt(&arm.placement.name)
                .map_or(Vec::new(), |doubt| doubt.flags.iter().map(Flag::name).collect()),
            core_ghz: doubt(&arm.placement.name).and_then(|doubt| doubt.core_ghz).and_then(known),
            waited_percent: percent(doubt(&arm.placement.name).and_then(|doubt| doubt.waited)),
            others_percent: percent(doubt(&arm.placement.name).and_then(|doubt| doubt.others)),
            failed: doubt(&arm.placement.name).and_then(|doubt| doubt.failed.as_ref()).map(FailedDoc::new),
        });
        let is_per_arm = comparison.outcome == PlaceOutcome::PerArm;
        let verdict_of = |pair: &Difference| match pair.verdict {
            PairVerdict::Better => "better",
            PairVerdict::Worse => "worse",
            PairVerdict::Same => "same",
            PairVerdict::CannotTell | PairVerdict::Withheld(_) => "cannot-tell",
        };
        let pairs = comparison.pairs.iter().enumerate().map(|(number, pair)| PairDoc {
            a: name(pair.a),
            b: name(pair.b),
            delta_percent: pair.share.map(of_share).and_then(|share| known(share.point)),
            ci: pair.interval().and_then(|[low, high]| Some([known(100.0 * low)?, known(100.0 * high)?])),
            p_value: pair.p_value,
            verdict: is_per_arm.then(|| verdict_of(pair)),
            reason: comparison.open_pair(number).filter(|_| is_per_arm).map(reason),
        });
        ComparisonDoc {
            workload: comparison.work.clone(),
            metric: comparison.metric.name.to_string(),
            unit: comparison.metric.unit,
            better: comparison.metric.better.name(),
            placements: arms.collect(),
            winner,
            verdict,
            reason: comparison.open().map(reason),
            within_percent: percent(within),
            delta_percent: delta.and_then(|share| known(100.0 * share)),
            p_value,
            pairs: pairs.collect(),
        }
    }
}

impl FailedDoc {
    fn new(failed: &Failed) -> FailedDoc {
        let (exit_status, signal) = match failed.end {
            Some(CommandEnd::Status(status)) => (Some(status), None),
            Some(CommandEnd::Signal(signal)) => (None, Some(signal)),
            None => (None, None),
        };
        FailedDoc { runs: failed.runs, reason: failed.reason.clone(), exit_status, signal }
    }
}

/// All digits: rounding to 0.0001 would lose the digits of runs of a millisecond.
fn exact(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
