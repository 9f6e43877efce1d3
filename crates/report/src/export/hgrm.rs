//! `hgrm`: percentile tables of HdrHistogram, one per distribution.

use super::{Export, ExportError};
use crate::document::histogram_of;
use coretalk_model::Histogram;
use coretalk_model::formats::hgrm::{HgrmStyle, write_hgrm};
use coretalk_model::latency::{self, TailSeries};
use coretalk_model::run::RunReport;
use coretalk_model::series::{Parameters, TrialSpec};
use std::io::Write;

pub(super) fn write(what: &Export<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    match hgrm_files(what.report).as_slice() {
        [] => Err(ExportError::NoSeries),
        [(_, text)] => Ok(out.write_all(text.as_bytes())?),
        files => Err(ExportError::SeveralSeries { count: files.len() }),
    }
}

/// The file name and the text of each non-empty distribution of a run, in the order of the plan.
pub fn hgrm_files(report: &RunReport) -> Vec<(String, String)> {
    let tails = report.latency.iter().flat_map(|latency| &latency.result.tails).flat_map(|tails| {
        let spec = spec_of(tails);
        [("closed-loop", &tails.raw), ("at-rate", &tails.at_rate)]
            .map(|(view, counts)| (hgrm_name(&spec, view), table(report, &spec, view, &histogram_of(counts))))
    });
    let trials = report.series.iter().flat_map(|series| &series.result.trials);
    let of_trials = trials.flat_map(|trial| {
        let nonempty = trial.histograms.iter().filter(|(_, histogram)| !histogram.is_empty());
        nonempty.map(|(view, histogram)| {
            (hgrm_name(&trial.spec, view), table(report, &trial.spec, view, histogram))
        })
    });
    tails.chain(of_trials).collect()
}

fn spec_of(tails: &TailSeries) -> TrialSpec {
    TrialSpec {
        probe: latency::PROBE.to_owned(),
        parameters: Parameters::default().with("kernel", tails.kernel.to_string()),
        placement: tails.placement.to_vec(),
    }
}

/// The file name `wake-semaphore-20000-0-1-slept.hgrm`; `_` replaces characters that a file system could interpret.
pub fn hgrm_name(spec: &TrialSpec, view: &str) -> String {
    let mut parts = vec![spec.probe.clone()];
    parts.extend(spec.parameters.iter().map(|(_, value)| value.to_string()));
    parts.extend([spec.cpu_list(), view.to_owned()]);
    let name: String = parts
        .iter()
        .filter(|part| !part.is_empty())
        .map(|part| part.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '.', "_"))
        .collect::<Vec<_>>()
        .join("-");
    format!("{name}.hgrm")
}

fn table(report: &RunReport, spec: &TrialSpec, view: &str, histogram: &Histogram) -> String {
    let heading = [
        format!("coretalk {} run {}", report.header.tool_version, report.header.id),
        format!("{} {} on CPUs {}, {view}; Value in ns", spec.probe, spec.label(), spec.cpu_list()),
    ];
    let heading: Vec<String> =
        heading.into_iter().chain(report.header.simulated.then(|| "simulated".to_owned())).collect();
    write_hgrm(histogram, &HgrmStyle::default(), &heading)
}
