//! [`Known`]: input data of a placement, from a measurement, a run or a file.

use crate::args::options::Global;
use crate::exit::Failure;
use crate::resolve::cpus::resolved;
use crate::resolve::source::Source;
use crate::run::short;
use coretalk_model::infer::{Observation, Refusal, levels_changed, observations};
use coretalk_model::latency::{ExecutionTest, LatencyResult};
use coretalk_model::lint::{LintFinding, lint};
use coretalk_model::selection::SelectionFacts;
use coretalk_model::{CpuId, CpuLoss, CpuSelection, CpuSet, Environment, Matrix, Picos, Topology};
use coretalk_report::advice::Origin;

pub(super) struct Known {
    /// CPUs of `--cpus`.
    pub(super) asked: Option<CpuSet>,
    /// CPUs of `--avoid`.
    pub(super) avoid: CpuSet,
    /// Topology that resolves names of CPUs.
    names: Topology,
    pub(super) origin: Origin,
    pub(super) simulated: Option<String>,
    pub(super) unit: &'static str,
    pub(super) reported: Option<Topology>,
    pub(super) observed: Matrix<Option<Observation>>,
    pub(super) execution: Vec<ExecutionTest>,
    pub(super) doubts: Vec<LintFinding>,
    /// Set if the machine changed during the measurement.
    pub(super) moved: Option<Refusal>,
    pub(super) departed: Vec<CpuLoss>,
    pub(super) spent: Picos,
}

impl Known {
    pub(super) fn of_machine(
        global: &Global,
        reported: Option<Topology>,
    ) -> Result<(Known, Option<Environment>), Failure> {
        let measured = short::measure(global, "advise", 2)?;
        let result = measured.result.map_err(Failure::Environment)?;
        let names = measured.topology;
        let reported = reported.unwrap_or_else(|| names.clone());
        let known =
            Known::of_result(Origin::Measurement, Some(&result), &measured.environment, names, reported)?;
        // Threads cannot be placed on offline CPUs, even if these CPUs were measured before.
        let online = |cpu: &CpuId| measured.departed.iter().all(|departure| departure.cpu != *cpu);
        let online: Vec<CpuId> = known.observed.cpus().iter().copied().filter(online).collect();
        let known = Known {
            asked: global.cpus.is_some().then(|| measured.cpus.into_iter().collect()),
            observed: known.observed.in_order(&online),
            departed: measured.departed,
            spent: measured.took,
            ..known
        };
        Ok((known, Some(measured.environment)))
    }

    pub(super) fn of_source(
        global: &Global,
        source: Source,
        reported: Option<Topology>,
    ) -> Result<(Known, Option<Environment>), Failure> {
        let name = source.name();
        let (mut known, environment) = match source {
            Source::Run(report, _) => {
                let names = report.topology;
                let reported = reported.unwrap_or_else(|| names.clone());
                let result = report.latency.as_ref().map(|latency| &latency.result);
                let known =
                    Known::of_result(Origin::Run(name), result, &report.environment, names, reported)?;
                (known, Some(report.environment))
            }
            Source::File(matrices, path) => {
                let Some(imported) = matrices.into_iter().next() else {
                    return Err(Failure::Input(format!("{}: the file contains no matrix", path.text)));
                };
                let unit = imported.unit.name();
                let doubts = lint(&imported);
                let flat = || Topology::flat(imported.matrix.cpus().iter().copied().collect());
                let known = Known {
                    asked: None,
                    avoid: CpuSet::new(),
                    names: imported.reported.clone().or_else(|| reported.clone()).unwrap_or_else(flat),
                    doubts,
                    execution: Vec::new(),
                    origin: Origin::File(name, imported.format.name().to_owned()),
                    simulated: imported.simulated().map(str::to_owned),
                    unit,
                    reported: reported.or(imported.reported),
                    observed: imported.matrix.map(|cell| cell.map(Observation::bare)),
                    moved: None,
                    departed: Vec::new(),
                    spent: Picos::ZERO,
                };
                (known, None)
            }
        };
        let resolve = |cpus| known.selected("--cpus", cpus, environment.as_ref());
        known.asked = global.cpus.as_ref().map(resolve).transpose()?;
        Ok((known, environment))
    }

    /// Resolves a selection among the CPUs with latencies.
    pub(super) fn selected(
        &self,
        option: &str,
        selection: &CpuSelection,
        environment: Option<&Environment>,
    ) -> Result<CpuSet, Failure> {
        if selection.needs_use() {
            return Err(Failure::Usage(format!(
                "{option}: `quiet:N` is only for --cpus of CPUs that are measured now; list the CPUs, which `coretalk quiet -n N` prints"
            )));
        }
        let departed = self.departed.iter().map(|departure| departure.cpu);
        let cpus: CpuSet = self.observed.cpus().iter().copied().chain(departed).collect();
        let isolated = environment.map_or_else(CpuSet::new, |environment| environment.isolated.clone());
        let facts = SelectionFacts {
            topology: &self.names,
            allowed: &cpus,
            usual: &cpus,
            isolated: &isolated,
            cpu_use: None,
        };
        Ok(resolved(option, selection, &facts)?.cpus.into_iter().collect())
    }

    fn of_result(
        origin: Origin,
        result: Option<&LatencyResult>,
        environment: &Environment,
        names: Topology,
        reported: Topology,
    ) -> Result<Known, Failure> {
        let Some((result, map)) = result.and_then(|result| Some((result, result.round_trips()?))) else {
            return Err(Failure::Usage(
                "this run has no round trips, and advice needs them; `coretalk latency` measures them".into(),
            ));
        };
        let watch = result.watch.as_ref().filter(|watch| levels_changed(watch));
        Ok(Known {
            asked: None,
            avoid: CpuSet::new(),
            names,
            execution: result.execution.clone(),
            doubts: Vec::new(),
            origin,
            simulated: environment.simulated.clone(),
            unit: "ns",
            reported: Some(reported),
            observed: observations(map),
            departed: Vec::new(),
            moved: watch.map(|watch| Refusal::Moved { cells: watch.cells_changed }),
            spent: Picos::ZERO,
        })
    }
}
