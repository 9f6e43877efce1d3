//! A [`Finding`] in one sentence: the first line of a screen and the lead of a page.

use super::{best, idle_gaps, jitter, padding, queue};
use crate::blocks::value::Sentence;
use coretalk_model::findings::{self, Finding, ProbeFinding};
use coretalk_model::probes;
use coretalk_model::run::{RunReport, SeriesReport};

pub(super) fn of_probe<'a>(
    report: &RunReport,
    series: &'a SeriesReport,
    probe: &str,
) -> Option<ProbeFinding<'a>> {
    findings::of_probe(&series.settings, &series.result, probe, probes::parameters(probe), &report.topology)
}

pub(super) fn sentence(report: &RunReport, found: &ProbeFinding<'_>) -> Option<Sentence> {
    let sentence = match &found.finding {
        Finding::Ranked(ranking) => best::sentence(report, ranking),
        Finding::Padding(groups) => padding::sentence(&report.topology, groups),
        Finding::IdleGaps(gaps) => idle_gaps::sentence(&report.topology, gaps),
        Finding::RateLimits(sweeps) => queue::sweep::answer(report, sweeps),
        Finding::Batches(curves) => queue::batches::answer(report, curves)?,
        Finding::Noise(cpus, noise) => jitter::sentence(cpus, noise)?,
    };
    Some(match found.has_levels {
        true => Sentence::new("{found}; at the most frequent of several levels").with("found", sentence),
        false => sentence,
    })
}
