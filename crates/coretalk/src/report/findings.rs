//! A [`Finding`] in one sentence: the first line of a screen and the lead of a page.

use super::{best, idle_gaps, jitter, padding, queue};
use crate::blocks::value::Sentence;
use crate::{RunReport, SeriesReport};
use coretalk_measure::probes;
use coretalk_model::findings::{Finding, finding};

/// What the trials of a probe show.
pub(super) fn of_probe<'a>(report: &RunReport, series: &'a SeriesReport, probe: &str) -> Option<Finding<'a>> {
    let declared = probes::series_by_id(probe).map_or(&[][..], |probe| probe.parameters());
    finding(&series.settings, &series.result, probe, declared, &report.topology)
}

/// The same in one sentence; `None` where it takes a table.
pub(super) fn sentence(report: &RunReport, finding: &Finding<'_>) -> Option<Sentence> {
    match finding {
        Finding::Ranked(ranking) => Some(best::sentence(report, ranking)),
        Finding::Padding(groups) => Some(padding::sentence(&report.topology, groups)),
        Finding::IdleGaps(gaps) => Some(idle_gaps::sentence(&report.topology, gaps)),
        Finding::RateLimits(sweeps) => Some(queue::sweep::answer(report, sweeps)),
        Finding::Batches(curves) => queue::batches::answer(report, curves),
        Finding::Noise(cpus, noise) => jitter::sentence(cpus, noise),
    }
}
