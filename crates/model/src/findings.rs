//! [`Finding`]: what the trials of a probe show, decided once. The first line of a screen, the lead of a page and the key
//! `findings` of a document are made from it.

use crate::Topology;
use crate::idle_gaps::{IdleGaps, idle_gaps};
use crate::jitter::{Noise, Quietness, by_quietness, noise};
use crate::quantity::Parameter;
use crate::queue::{BatchCurve, Sweep, batch_curves, sweeps};
use crate::series::{Ranking, SeriesResult, SeriesSettings, TrialResult, Verdict, ranking};
use crate::sharing::{PaddingGroup, padding};

/// What the trials of one probe show, and whether the machine held still meanwhile.
#[derive(Debug, Clone)]
pub struct ProbeFinding<'a> {
    /// What they show.
    pub finding: Finding<'a>,
    /// Whether passes of some trial lie at several levels, of which the finding is about the most frequent one.
    pub has_levels: bool,
}

/// What the trials of one probe show.
#[derive(Debug, Clone)]
pub enum Finding<'a> {
    /// The subjects of the probe, best first.
    Ranked(Ranking<'a>),
    /// How far apart two threads have to write, the largest distance first.
    Padding(Vec<PaddingGroup<'a>>),
    /// What a message takes after idle gaps of several lengths.
    IdleGaps(IdleGaps<'a>),
    /// The [limit](Sweep::limit) of each queue along rising rates.
    RateLimits(Vec<Sweep<'a>>),
    /// What each queue [gains](BatchCurve::best_gain) by larger batches.
    Batches(Vec<BatchCurve<'a>>),
    /// Which CPUs lose time: all of them, the quietest first, and what follows.
    Noise(Vec<Quietness>, Noise),
}

/// What each probe of a run shows, in the order of the probes. `declared` has the parameters of a probe.
pub fn findings<'a>(
    settings: &SeriesSettings,
    result: &'a SeriesResult,
    topology: &Topology,
    declared: impl Fn(&str) -> &'static [Parameter],
) -> Vec<ProbeFinding<'a>> {
    let of_probe = |probe: &String| of_probe(settings, result, probe, declared(probe), topology);
    settings.probes.iter().filter_map(of_probe).collect()
}

/// What the trials of one probe show; `None` where they have neither a value nor a reason why there is none.
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
        // At a rate delays are compared, which have no gain.
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
    let shows_nothing = is_empty && matches!(ranking.verdict, Verdict::CannotTell(_));
    (!shows_nothing).then_some(Finding::Ranked(ranking))
}
