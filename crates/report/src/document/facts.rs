//! Documents about the machine, the tool or imported matrices. They have no run: `run` is null.

use super::matrix::{Plain, PlainMatrix};
use super::{
    AdviceDoc, AdviceEntry, ComparisonDoc, DepartedDoc, Document, EnvironmentDoc, Identity, MatrixDoc,
    SeriesDoc, StructureView, TopologyDoc, known,
};
use crate::advice::AdviceView;
use crate::clock::ClockView;
use coretalk_model::formats::ImportedMatrix;
use coretalk_model::plan::LatencyPlan;
use coretalk_model::{CpuId, DoctorFinding, Environment, Topology};
use schemars::JsonSchema;
use serde::Serialize;

/// One kernel that can be measured.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProbeDoc {
    /// The probe of the kernel.
    pub probe: String,
    /// Stable name of the kernel.
    pub kernel: String,
    /// Unit of the result.
    pub unit: String,
    /// Question that the probe answers.
    pub question: String,
    /// Machine code of the timed loop; null unless requested.
    pub asm: Option<Vec<AsmDoc>>,
}

/// A function of a timed loop.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AsmDoc {
    symbol: String,
    /// One instruction each, with its offset in hexadecimal.
    lines: Vec<String>,
}

/// A planned measurement.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PlanDoc {
    /// Number of pairs of the map.
    pairs: u64,
    /// Number of pairs by relation.
    relations: Vec<PlannedPairsDoc>,
    /// Minimum passes of every pair, and maximum passes of a pair with a wide interval.
    passes: [u32; 2],
    rounds_per_pass: u64,
    /// Number of concurrent pairs.
    parallel: u32,
    kernels: Vec<String>,
    /// Expected machine time in seconds.
    machine_time_s: f64,
    /// Basis of the prediction, as text.
    basis: String,
    /// Expected size of the run file.
    file_bytes: u64,
}

/// Number of pairs of one relation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PlannedPairsDoc {
    relation: &'static str,
    pairs: u64,
}

impl AsmDoc {
    /// Creates the document of a function from its symbol and its instructions.
    pub fn new(symbol: String, lines: Vec<String>) -> AsmDoc {
        AsmDoc { symbol, lines }
    }
}

impl<'a> Document<'a> {
    /// Creates the document of a machine, with the findings of `doctor` if it ran.
    pub fn of_machine(
        topology: &Topology,
        environment: &Environment,
        findings: &[DoctorFinding],
        identity: Identity,
    ) -> Document<'a> {
        let cpus = topology.order(topology.cpus());
        Document {
            environment: Some(EnvironmentDoc::new(environment, findings, identity)),
            topology: Some(TopologyDoc::new(topology, &cpus)),
            ..Document::empty()
        }
    }

    /// Creates the document of the structure of a machine, run or file; a file has no environment.
    pub fn of_topology(
        view: &StructureView<'_>,
        environment: Option<&Environment>,
        identity: Identity,
    ) -> Document<'a> {
        Document {
            environment: environment.map(|environment| EnvironmentDoc::new(environment, &[], identity)),
            topology: Some(TopologyDoc::of_view(view)),
            departed: DepartedDoc::all(view.departed),
            ..Document::empty()
        }
    }

    /// Creates the document of an advice, with the environment of its machine or run.
    pub fn of_advice(
        view: &AdviceView,
        environment: Option<&Environment>,
        identity: Identity,
    ) -> Document<'a> {
        Document {
            environment: environment.map(|environment| EnvironmentDoc::new(environment, &[], identity)),
            comparisons: view.comparisons().flat_map(ComparisonDoc::of_all).collect(),
            advice: vec![AdviceEntry::Placement(Box::new(AdviceDoc::new(view)))],
            departed: DepartedDoc::all(&view.departed),
            ..Document::empty()
        }
    }

    /// Creates the document of the clock: facts, the cost of a read as a series, and offsets of CPUs as a matrix.
    pub fn of_clock(environment: &Environment, view: &ClockView, identity: Identity) -> Document<'a> {
        let environment = Environment { clock: view.facts.clone(), ..environment.clone() };
        let bounds = |[low, high]: [f64; 2]| Plain { value: (low + high) / 2.0, bounds: Some([low, high]) };
        let offsets = view.offsets.as_ref().map(|offsets| {
            let cells = offsets.map(|cell| cell.map(bounds));
            MatrixDoc::plain(PlainMatrix {
                probe: "clock",
                kernel: view.facts.source.clone(),
                quantity: "clock_offset",
                unit: "ns",
                parameters: Vec::new(),
                cells,
            })
        });
        Document {
            environment: Some(EnvironmentDoc::new(&environment, &[], identity)),
            series: SeriesDoc::of_clock(view).into_iter().collect(),
            matrices: offsets.into_iter().collect(),
            departed: DepartedDoc::all(&view.departed),
            ..Document::empty()
        }
    }

    /// Creates the document of the available kernels.
    pub fn of_probes(probes: Vec<ProbeDoc>) -> Document<'a> {
        Document { probes, ..Document::empty() }
    }

    /// Creates the document of a planned measurement.
    pub fn of_plan(
        plan: &LatencyPlan,
        topology: &Topology,
        environment: &Environment,
        cpus: &[CpuId],
        identity: Identity,
    ) -> Document<'a> {
        let relations = plan.relations.iter();
        let planned = PlanDoc {
            pairs: plan.cells,
            relations: relations
                .map(|&(relation, pairs)| PlannedPairsDoc { relation: relation.name(), pairs })
                .collect(),
            passes: plan.passes,
            rounds_per_pass: plan.rounds_per_pass,
            parallel: plan.parallel,
            kernels: plan.kernels.clone(),
            machine_time_s: plan.machine_time.secs(),
            basis: plan.basis.clone(),
            file_bytes: plan.file_bytes,
        };
        Document {
            environment: Some(EnvironmentDoc::new(environment, &[], identity)),
            topology: Some(TopologyDoc::new(topology, cpus)),
            plan: Some(planned),
            ..Document::empty()
        }
    }

    /// Creates the document of imported matrices: values as in the file, without intervals.
    pub fn of_imported<'m>(imported: impl Iterator<Item = &'m ImportedMatrix>) -> Document<'a> {
        let matrix = |imported: &ImportedMatrix| {
            let mut parameters = vec![("format", imported.format.to_string())];
            parameters.extend(imported.title.iter().map(|title| ("title", title.clone())));
            if let Some(machine) = imported.simulated() {
                parameters.extend([("simulated", "true".to_owned()), ("machine", machine.to_owned())]);
            }
            MatrixDoc::plain(PlainMatrix {
                probe: "imported",
                kernel: "unknown".into(),
                quantity: "as_printed",
                unit: imported.unit.name(),
                parameters,
                cells: imported.matrix.map(|cell| cell.map(|value| Plain { value, bounds: None })),
            })
        };
        Document { matrices: imported.map(matrix).collect(), ..Document::empty() }
    }

    /// Adds the structure inferred from the latencies.
    pub fn with_structure(self, view: &StructureView<'_>) -> Document<'a> {
        Document { topology: Some(TopologyDoc::of_view(view)), ..self }
    }
}

impl SeriesDoc<'_> {
    fn of_clock(view: &ClockView) -> Option<Self> {
        let counts: Vec<(u64, u64)> =
            view.cost.iter().map(|&(ns, count)| ((ns * 1e3).round().max(0.0) as u64, count)).collect();
        let values =
            [("cost_ns", view.facts.cost_ns), ("step_ns", view.facts.step_ns), ("hz", Some(view.facts.hz))];
        let values = values.map(|(name, value)| (name, value.and_then(known)));
        let parameters = [("source", view.facts.source.clone())];
        (!counts.is_empty())
            .then(|| SeriesDoc::events("clock", parameters.into(), Vec::new(), &counts, values.into()))
    }
}
