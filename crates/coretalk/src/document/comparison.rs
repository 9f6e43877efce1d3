//! Placements against each other.

use super::{Ci, known, rounded};
use crate::PlaceReport;
use coretalk_model::place::{Binding, Comparison, Failed, Open, Outcome, Workload};
use coretalk_model::stats::Estimate;
use coretalk_model::{CommandEnd, CpuId, Flag};
use schemars::JsonSchema;
use serde::Serialize;

/// One metric of one piece of work on every placement.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ComparisonDoc {
    /// A workload such as `n-queens:14`, or `command`.
    workload: String,
    metric: String,
    /// Empty where it is not known.
    unit: &'static str,
    /// `higher` or `lower`.
    better: &'static str,
    placements: Vec<ArmDoc>,
    /// The name of the placement that is better than every other; null where there is none, or no test.
    winner: Option<String>,
    /// `winner`, `same`, `cannot-tell`, or `told` for metrics that are not tested.
    verdict: &'static str,
    /// Why it is `cannot-tell`.
    reason: Option<&'static str>,
    /// The smallest effect that matters, in percent: what `same` is within.
    within_percent: Option<f64>,
    /// The runner-up against the winner.
    delta_percent: Option<f64>,
    /// The largest of the winner's pairs.
    p_value: Option<f64>,
    pairs: Vec<PairDoc>,
}

/// One placement.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ArmDoc {
    name: String,
    /// In role order.
    cpus: Vec<u32>,
    /// The CPU of each thread; null where threads are not held one by one: commands, work made of processes, `none`.
    roles: Option<Vec<u32>>,
    /// Holds the process as a whole, its threads in any order; null where nothing is bound.
    taskset: Option<String>,
    median: Option<f64>,
    /// Null below six runs.
    ci: Option<Ci>,
    /// Every run, in the order made.
    runs: Vec<f64>,
    /// The repetition of each run: runs of one repetition are neighbours in time, and held against each other.
    repetitions: Vec<u32>,
    flags: Vec<&'static str>,
    /// Median core clock of the first CPU right after a run.
    core_ghz: Option<f64>,
    /// Of the time that its threads wanted to run, the part in which they had no CPU, as far as was seen; null where the
    /// system does not say.
    waited_percent: Option<f64>,
    /// Of the time of its CPUs, the part that other programs took; null where the system does not say.
    others_percent: Option<f64>,
    /// Runs that failed; null where none did.
    failed: Option<FailedDoc>,
}

/// What is known of runs that failed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FailedDoc {
    /// How many did.
    runs: u32,
    /// Why the last one did.
    reason: String,
    /// The exit status of the command; null where it had none.
    exit_status: Option<i32>,
    /// The signal that ended the command; null where none did.
    signal: Option<i32>,
}

/// Two placements against each other.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PairDoc {
    a: String,
    b: String,
    /// `b / a − 1` in percent; null where values have no ratio.
    delta_percent: Option<f64>,
    /// Null below six repetitions.
    ci: Option<Ci>,
    /// Adjusted over all metrics and pairs of the workload; null where there is no test.
    p_value: Option<f64>,
}

impl ComparisonDoc {
    /// Every comparison of a run.
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
                Open::Disturbed => "what disturbed the runs can reverse or hide the difference",
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

/// As it is: a run of a millisecond has no digits to spare.
fn exact(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
