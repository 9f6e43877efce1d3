//! [`Finding`]: the conclusion from the trials of a probe, for screens, pages and `findings` of the JSON.

use crate::Topology;
use crate::idle_gaps::{IdleGaps, idle_gaps};
use crate::jitter::{Noise, Quietness, by_quietness, noise};
use crate::quantity::Parameter;
use crate::queue::{BatchCurve, Sweep, batch_curves, sweeps};
use crate::series::{Ranking, RankingVerdict, SeriesResult, SeriesSettings, TrialResult, ranking};
use crate::sharing::{PaddingGroup, padding};

/// The conclusion from the trials of one probe, and whether the machine changed state.
#[derive(Debug, Clone)]
pub struct ProbeFinding<'a> {
    /// The conclusion.
    pub finding: Finding<'a>,
    /// Whether a trial has several states. The finding describes the most frequent state.
    pub has_levels: bool,
}

/// The conclusion from the trials of one probe.
#[derive(Debug, Clone)]
pub enum Finding<'a> {
    /// The subjects of the probe, best first.
    Ranked(Ranking<'a>),
    /// Necessary distance between the data of two writing threads, the largest first.
    Padding(Vec<PaddingGroup<'a>>),
    /// Latency of a message after idle gaps of several lengths.
    IdleGaps(IdleGaps<'a>),
    /// The highest [rate](Sweep::limit) of each queue.
    RateLimits(Vec<Sweep<'a>>),
    /// The [gain](BatchCurve::best_gain) of each queue from larger batches.
    Batches(Vec<BatchCurve<'a>>),
    /// CPUs by lost time, least first, and the conclusion.
    Noise(Vec<Quietness>, Noise),
}

/// The finding of each probe of a run, in the order of the probes. `declared` returns the parameters of a probe.
pub fn findings<'a>(
    settings: &SeriesSettings,
    result: &'a SeriesResult,
    topology: &Topology,
    declared: impl Fn(&str) -> &'static [Parameter],
) -> Vec<ProbeFinding<'a>> {
    let of_probe = |probe: &String| of_probe(settings, result, probe, declared(probe), topology);
    settings.probes.iter().filter_map(of_probe).collect()
}

/// The finding of one probe; `None` if its trials have neither a value nor a reason for its absence.
pub fn of_probe<'a>(
    settings: &SeriesSettings,
    result: &'a SeriesResult,
    probe: &str,
    declared: &[Parameter],
    topology: &Topology,
) -> Option<ProbeFinding<'a>> {
    let mut trials = result.trials.iter().filter(|trial| trial.spec.probe == probe);
    let has_levels = trials.any(|trial| trial.states.len() > 1);
    let finding = finding(settings, result, probe, declared, topology)?;
    Some(ProbeFinding { finding, has_levels })
}

fn finding<'a>(
    settings: &SeriesSettings,
    result: &'a SeriesResult,
    probe: &str,
    declared: &[Parameter],
    topology: &Topology,
) -> Option<Finding<'a>> {
    let is_of_probe = |trial: &TrialResult| trial.spec.probe == probe;
    let trials: Vec<&TrialResult> = result.trials.iter().filter(|trial| is_of_probe(trial)).collect();
    let quietness = by_quietness(trials.iter().copied());
    if !quietness.is_empty() {
        let noise = noise(&quietness);
        return Some(Finding::Noise(quietness, noise));
    }
    let padding = padding(&trials, topology);
    if !padding.is_empty() {
        return Some(Finding::Padding(padding));
    }
    if let Some(gaps) = idle_gaps(settings, &trials, topology) {
        return Some(Finding::IdleGaps(gaps));
    }
    let mut curves = batch_curves(result);
    curves.retain(|curve| curve.steps.iter().any(|step| is_of_probe(step.trial)));
    if curves.iter().any(|curve| curve.steps.len() > 1) {
        curves.retain(|curve| curve.rate_per_s.is_none());
        return (!curves.is_empty()).then_some(Finding::Batches(curves));
    }
    let mut sweeps = sweeps(result);
    sweeps.retain(|sweep| sweep.steps.iter().any(|step| is_of_probe(step.trial)));
    if !sweeps.is_empty() {
        return Some(Finding::RateLimits(sweeps));
    }
    let ranking = ranking(settings, result, probe, declared, topology)?;
    let is_empty = ranking.subjects.is_empty() && ranking.unranked.is_empty();
    let shows_nothing = is_empty && matches!(ranking.verdict, RankingVerdict::CannotTell(_));
    (!shows_nothing).then_some(Finding::Ranked(ranking))
}
