//! Comparisons of placements.

use super::{Ci, known, rounded};
use coretalk_model::place::{Binding, Comparison, Failed, Open, Outcome, Workload};
use coretalk_model::run::PlaceReport;
use coretalk_model::stats::Estimate;
use coretalk_model::{CommandEnd, CpuId, Flag};
use schemars::JsonSchema;
use serde::Serialize;

/// One metric of one workload on every placement.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ComparisonDoc {
    /// A workload such as `n-queens:14`, or `command`.
    workload: String,
    metric: String,
    /// Unit of the metric; empty if unknown.
    unit: &'static str,
    /// Better direction: `higher` or `lower`.
    better: &'static str,
    placements: Vec<ArmDoc>,
    /// Name of the placement that is better than all others; null if there is none, or without a test.
    winner: Option<String>,
    /// `winner`, `same`, `cannot-tell`, or `told` for metrics without a test.
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
    /// P-value, adjusted over all metrics and pairs of the workload; null without a test.
    p_value: Option<f64>,
}

impl ComparisonDoc {
    /// All comparisons of a run.
    pub fn of_all(place: &PlaceReport) -> Vec<ComparisonDoc> {
        place.result.comparisons.iter().map(|comparison| ComparisonDoc::of(place, comparison)).collect()
    }

    fn of(place: &PlaceReport, comparison: &Comparison) -> ComparisonDoc {
        let name = |arm: usize| comparison.arms[arm].placement.name.clone();
        let (verdict, winner, within, delta, p_value) = match &comparison.outcome {
            Outcome::Winner { winner, share, p_value, .. } => {
                ("winner", Some(name(*winner)), None, Some(share.point), Some(*p_value))
            }
            Outcome::Same { within } => ("same", None, Some(*within), None, None),
            Outcome::CannotTell => ("cannot-tell", None, None, None, None),
            Outcome::NotTested => ("told", None, None, None, None),
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
            failed: doubt(&arm.placement.name).and_then(|doubt| doubt.failed.as_ref()).map(FailedDoc::of),
        });
        let pairs = comparison.pairs.iter().map(|pair| PairDoc {
            a: name(pair.a),
            b: name(pair.b),
            delta_percent: pair.share.map(of_share).and_then(|share| known(share.point)),
            ci: pair.interval().and_then(|[low, high]| Some([known(100.0 * low)?, known(100.0 * high)?])),
            p_value: pair.p_value,
        });
        ComparisonDoc {
            workload: comparison.work.clone(),
            metric: comparison.metric.name.to_string(),
            unit: comparison.metric.unit,
            better: comparison.metric.better.name(),
            placements: arms.collect(),
            winner,
            verdict,
            reason: comparison.open().map(|open| match open {
                Open::NoValue => "no run has a value",
                Open::BelowZero => "values below zero have no ratio",
                Open::TooFewRuns => "too few runs for a test",
                Open::Disturbed => "disturbances can reverse or hide the difference",
                Open::Medians => "the medians contradict the paired runs",
                Open::Neither => "the runs are too noisy to call a winner or a tie",
            }),
            within_percent: percent(within),
            delta_percent: delta.and_then(|share| known(100.0 * share)),
            p_value,
            pairs: pairs.collect(),
        }
    }
}

impl FailedDoc {
    fn of(failed: &Failed) -> FailedDoc {
        let (exit_status, signal) = match failed.end {
            Some(CommandEnd::Status(status)) => (Some(status), None),
            Some(CommandEnd::Signal(signal)) => (None, Some(signal)),
            None => (None, None),
        };
        FailedDoc { runs: failed.runs, reason: failed.reason.clone(), exit_status, signal }
    }
}

/// The value without rounding: rounding to 0.0001 would lose digits of runs of a millisecond.
fn exact(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
