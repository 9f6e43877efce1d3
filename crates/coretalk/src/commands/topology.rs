//! `topology`: shows and compares the reported and the inferred structure of a machine.

use crate::args::TopologyArgs;
use crate::args::options::Global;
use crate::commands::shape::{Shape, hand_over, say, shape};
use crate::exit::{ExitCode, Failure};
use crate::resolve::files;
use crate::run::{saved, short};
use crate::store::StoreError;
use coretalk_measure::host::HostMachine;
use coretalk_model::formats::{is_xml, read_hwloc, read_matrices};
use coretalk_model::infer::{Findings, Observation, OtherCpus, observations};
use coretalk_model::latency::{ExecutionTest, LatencyResult};
use coretalk_model::lint::{LintFinding, lint, step_of};
use coretalk_model::{CpuId, CpuLoss, CpuSet, Environment, Matrix, Topology};
use coretalk_report as report;
use coretalk_report::blocks::Block;
use coretalk_report::blocks::value::{DisplayValue, Number, Sentence};
use coretalk_report::document::{Document, StructureView};
use std::ffi::OsStr;
use std::path::Path;

/// Repetitions of the inference. Each repetition moves every value within its interval.
const REPETITIONS: u64 = 10;
/// Repetitions above 512 CPUs, where each repetition takes 0.2 s.
const REPETITIONS_OF_MANY: u64 = 5;

#[derive(Default)]
struct StructureInput {
    /// Heading for a file that is not a run.
    title: Option<Sentence>,
    /// Topology of the source; `None` for a matrix file.
    reported: Option<Topology>,
    /// Other CPUs of the reported topology, which prevent a comparison.
    others: Option<OtherCpus>,
    offline: Option<CpuSet>,
    departed: Vec<CpuLoss>,
    environment: Option<Environment>,
    simulated: Option<String>,
    cpus: Vec<CpuId>,
    unit: &'static str,
    findings: Option<Findings>,
    note: Option<String>,
    execution: Vec<ExecutionTest>,
    doubts: Vec<LintFinding>,
}

impl StructureInput {
    /// Returns the reported topology if it can be compared with the latencies.
    fn compared(&self) -> Option<&Topology> {
        self.reported.as_ref().filter(|_| self.others.is_none())
    }
}

pub fn execute(global: &Global, args: &TopologyArgs) -> Result<ExitCode, Failure> {
    let shape = shape(global, "topology")?;
    match shape {
        Shape::Text => with_blocks(global, args, |blocks| say(global, blocks))?,
        Shape::Json(identity) => {
            let input = structure_input(global, args)?;
            let view = StructureView {
                reported: input.reported.as_ref(),
                offline: input.offline.as_ref(),
                departed: &input.departed,
                cpus: &input.cpus,
                unit: input.unit,
                findings: input.findings.as_ref(),
                reason: input.note.as_deref(),
                execution: &input.execution,
                doubts: &input.doubts,
            };
            hand_over(global, &Document::of_topology(&view, input.environment.as_ref(), identity))
        }
    }
}

pub(super) fn with_blocks<R>(
    global: &Global,
    args: &TopologyArgs,
    show: impl FnOnce(&[Block<'_>]) -> R,
) -> Result<R, Failure> {
    Ok(show(&blocks(&structure_input(global, args)?)))
}

fn structure_input(global: &Global, args: &TopologyArgs) -> Result<StructureInput, Failure> {
    let reported = args.reported.as_deref().map(hwloc).transpose()?;
    match &args.from {
        None => of_machine(global, reported),
        Some(from) => of_source(global, from, reported),
    }
}

pub(super) fn hwloc(path: &Path) -> Result<Topology, Failure> {
    read_hwloc(&files::read(path)?)
        .map_err(|error| Failure::Input(format!("{}: failed to {error}", path.display())))
}

fn of_machine(global: &Global, reported: Option<Topology>) -> Result<StructureInput, Failure> {
    let measured = match short::measure(global, "topology", 2) {
        // The reported structure is useful even without measurements.
        Err(Failure::Machine(error)) if error.is_of_host() => {
            let (host, allowance) = HostMachine::reported()?;
            let reported = reported.unwrap_or(host);
            return Ok(StructureInput {
                cpus: reported.order(reported.cpus()),
                offline: Some(allowance.offline),
                reported: Some(reported),
                unit: "ns",
                note: Some(format!("failed to {error}")),
                ..StructureInput::default()
            });
        }
        measured => measured?,
    };
    let machine_cpus: Vec<CpuId> = measured.topology.cpus().iter().collect();
    let reported = reported.unwrap_or(measured.topology);
    let input = StructureInput {
        cpus: reported.order(reported.cpus()),
        others: OtherCpus::between(&reported, &machine_cpus),
        offline: Some(measured.offline),
        departed: measured.departed,
        reported: Some(reported),
        simulated: measured.environment.simulated.clone(),
        environment: Some(measured.environment),
        unit: "ns",
        ..StructureInput::default()
    };
    match measured.result {
        Ok(result) => Ok(with_latencies(StructureInput { cpus: measured.cpus, ..input }, Some(&result))),
        Err(note) => Ok(StructureInput { note: Some(note), ..input }),
    }
}

fn with_latencies(mut input: StructureInput, result: Option<&LatencyResult>) -> StructureInput {
    let Some((result, map)) = result.and_then(|result| Some((result, result.round_trips()?))) else {
        input.note = Some("this run has no round trips".into());
        return input;
    };
    input.execution = result.execution.clone();
    let observed = observations(map);
    let flat = Topology::flat(map.cells.cpus().iter().copied().collect());
    input.findings = Findings::of_run(result, input.compared().unwrap_or(&flat))
        .map(|findings| graded(findings, &observed));
    if input.findings.is_none() {
        input.note = Some("groups can be found only among three CPUs or more".into());
    }
    input
}

fn graded(findings: Findings, observed: &Matrix<Option<Observation>>) -> Findings {
    let many = observed.len() > 512;
    findings.graded(observed, if many { REPETITIONS_OF_MANY } else { REPETITIONS })
}

/// Reads a run, a matrix file, or XML of hwloc.
fn of_source(global: &Global, from: &OsStr, reported: Option<Topology>) -> Result<StructureInput, Failure> {
    match saved::open(global, from) {
        Ok(file) => {
            let report = file.report()?;
            let cpus = report.cpus();
            let run_cpus: Vec<CpuId> = report.topology.cpus().iter().collect();
            let input = StructureInput {
                others: reported.as_ref().and_then(|reported| OtherCpus::between(reported, &run_cpus)),
                reported: Some(reported.unwrap_or(report.topology)),
                simulated: report.environment.simulated.clone(),
                environment: Some(report.environment),
                cpus,
                unit: "ns",
                ..StructureInput::default()
            };
            return Ok(with_latencies(input, report.latency.as_ref().map(|latency| &latency.result)));
        }
        // A file that is not a run may be a matrix.
        Err(Failure::Store(StoreError::Foreign { .. })) => {}
        Err(failure) => return Err(failure),
    }
    let bytes = files::bytes(Path::new(from))?;
    let from: &str = &from.to_string_lossy();
    if is_xml(&bytes) && read_matrices(&bytes).is_err() {
        let topology =
            read_hwloc(&bytes).map_err(|error| Failure::Input(format!("{from}: failed to {error}")))?;
        return Ok(StructureInput {
            title: Some(Sentence::new("{file} · hwloc").with_name("file", from)),
            cpus: topology.order(topology.cpus()),
            reported: Some(topology),
            unit: "ns",
            note: Some("the file contains no latencies".into()),
            ..StructureInput::default()
        });
    }
    let Some(imported) = files::matrices_of(&bytes, from)?.into_iter().next() else {
        return Err(Failure::Input(format!("{from}: the file contains no matrix")));
    };
    let cpus = imported.matrix.cpus().to_vec();
    let unit = imported.unit.name();
    let doubts = lint(&imported);
    let number = DisplayValue::field("/topology/cpus", Number::Count(cpus.len() as u64));
    let title = Sentence::new("{file} · {format} · {number} CPUs · {unit}")
        .with_name("file", from)
        .with("format", imported.format.name())
        .with("number", number)
        .with("unit", unit);
    let observed = imported.matrix.map(|cell| cell.map(Observation::bare));
    let input = StructureInput {
        title: Some(title),
        others: reported.as_ref().and_then(|reported| OtherCpus::between(reported, &cpus)),
        simulated: imported.simulated().map(str::to_owned),
        reported: reported.or(imported.reported),
        cpus,
        unit,
        ..StructureInput::default()
    };
    let flat = Topology::flat(input.cpus.iter().copied().collect());
    let step = step_of(&doubts);
    let findings = Findings::of_stepped_matrix(&observed, input.compared().unwrap_or(&flat), step);
    Ok(StructureInput { findings: Some(graded(findings, &observed)), doubts, ..input })
}

fn blocks(input: &StructureInput) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    if let Some(simulated) = input.simulated.as_deref() {
        let sentence = Sentence::new("SIMULATED {name}: this says nothing about hardware");
        blocks.push(Block::Headline(sentence.with_name("name", simulated)));
    }
    let emulation = input.environment.as_ref().and_then(report::words::emulation);
    blocks.extend(emulation.map(Block::Doubt));
    blocks.extend(input.title.clone().map(Block::Headline));
    match &input.reported {
        Some(reported) => blocks.extend(report::topology::blocks(reported)),
        None => blocks.push(Block::Prose(
            "The file does not show what its CPUs share; --reported FILE.xml compares its latencies with hwloc XML."
                .into(),
        )),
    }
    if let Some(offline) = input.offline.as_ref().filter(|offline| !offline.is_empty()) {
        let sentence = Sentence::new("Offline: {cpus}.").with("cpus", report::lists::cpus(offline));
        blocks.push(Block::Prose(sentence));
    }
    blocks.extend(report::saved::departures(input.departed.iter().enumerate(), ""));
    blocks.push(Block::Gap);
    if let Some(findings) = &input.findings {
        blocks.extend(report::structure::blocks(findings, input.unit));
    }
    blocks.extend(input.others.as_ref().map(report::topology::other_cpus));
    blocks.extend(report::lint::remarks(&input.doubts, input.unit));
    let note = |note: &String| Sentence::new("No groups from latencies: {note}.").with_name("note", note);
    blocks.extend(input.note.as_ref().map(note).map(Block::Prose));
    blocks.extend(report::execution::sentences(&input.execution, input.compared()));
    blocks
}
