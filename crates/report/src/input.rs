//! [`ReportInput`]: a run or an imported file, prepared for reports.

mod map;

pub use self::map::{Map, PairPasses, readings_of};

use self::map::map_of;
use super::fmt;
use super::imported::ImportedFile;
use super::parameters::parameter_text;
use super::picture::SeriesName;
use super::text::{plain, started};
use super::trial_maps::maps;
use super::{By, Order, words};
use crate::document::{Columns, Document, Identity, MatrixDoc, SeriesDoc};
use coretalk_model::Topology;
use coretalk_model::compare::Side;
use coretalk_model::compare::of_latency;
use coretalk_model::infer::Findings;
use coretalk_model::latency::{LadderRow, LatencyMap, StateWatch};
use coretalk_model::queue::names;
use coretalk_model::run::RunReport;
use std::borrow::Cow;

/// Maximum number of CPUs for which a report contains the passes of every pair. Larger reports contain selected pairs.
pub const EVERY_PAIR_UP_TO: usize = 64;

/// The initial appearance of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawing {
    /// Order of rows.
    pub order: Order,
    /// What a row stands for.
    pub by: By,
    /// The range of the colours.
    pub scale: ScaleChoice,
    /// Time axis of distributions drawn as CDFs; `None` draws percentiles on a nines axis. A page shows both.
    pub cdf: Option<TimeAxis>,
}

/// The scale of a time axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeAxis {
    /// Equal distances are equal ratios.
    Log,
    /// Equal distances are equal differences.
    Linear,
}

/// The range of the colours of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScaleChoice {
    /// The same range on every machine, so that pictures can be compared by eye.
    Fixed,
    /// From the minimum to the maximum of this map.
    Fit,
}

#[derive(Debug, Clone, Copy)]
enum Origin<'a> {
    Run(&'a RunReport),
    File(&'a ImportedFile),
}

/// A run or an imported file, prepared for reports.
#[derive(Debug)]
pub struct ReportInput<'a> {
    origin: Origin<'a>,
    /// Name in the output.
    pub name: &'a str,
    /// Whether private parts are shown.
    pub identity: Identity,
    /// Document; without cells if the document is [too large](ReportInput::is_exact) for a page.
    pub outline: Document<'a>,
    /// Matrices of the document.
    pub maps: Vec<Map>,
    /// The passes of the pairs of each map; empty if they are not available.
    pub passes: Vec<PairPasses>,
    /// Names of the chosen series; empty if all series are drawn.
    pub chosen: Vec<String>,
}

impl<'a> ReportInput<'a> {
    /// Prepares a run.
    pub fn new(report: &'a RunReport, name: &'a str, identity: Identity) -> ReportInput<'a> {
        ReportInput::from_origin(Origin::Run(report), name, identity)
    }

    /// Prepares a file of another tool.
    pub fn of_file(file: &'a ImportedFile, identity: Identity) -> ReportInput<'a> {
        ReportInput::from_origin(Origin::File(file), file.name(), identity)
    }

    fn from_origin(origin: Origin<'a>, name: &'a str, identity: Identity) -> ReportInput<'a> {
        let document = origin.document(identity);
        let columns: Vec<Columns> = document.matrices().iter().map(|matrix| matrix.columns()).collect();
        let maps =
            document.matrices().iter().zip(columns).enumerate().map(|(index, (matrix, columns))| Map {
                probe: matrix.probe.to_owned(),
                kernel: matrix.kernel.clone(),
                parameters: matrix.parameters(),
                quantity: matrix.quantity.to_owned(),
                unit: matrix.unit.to_owned(),
                question: origin.question(index, matrix),
                columns,
                index: Some(index),
            });
        let maps: Vec<Map> = maps.chain(origin.maps_of_series()).collect();
        let outline = if are_exact(&maps) { document } else { document.without_cells() };
        ReportInput { origin, name, identity, maps, outline, passes: Vec::new(), chosen: Vec::new() }
    }

    /// The run; `None` for a file of another tool.
    pub fn run(&self) -> Option<&'a RunReport> {
        match self.origin {
            Origin::Run(report) => Some(report),
            Origin::File(_) => None,
        }
    }

    /// The file of another tool; `None` for a run.
    pub fn file(&self) -> Option<&'a ImportedFile> {
        match self.origin {
            Origin::Run(_) => None,
            Origin::File(file) => Some(file),
        }
    }

    /// The known structure of the machine.
    pub fn topology(&self) -> &'a Topology {
        match self.origin {
            Origin::Run(report) => &report.topology,
            Origin::File(file) => file.topology(),
        }
    }

    /// The topology that orders the rows of maps: the reported one, or for a file the groups that its values show.
    pub fn arranged(&self) -> &'a Topology {
        match self.origin {
            Origin::Run(report) => &report.topology,
            Origin::File(file) => file.groups(),
        }
    }

    /// The measured latency maps.
    pub fn latencies(&self) -> &'a [LatencyMap] {
        self.run().map_or(&[], RunReport::maps)
    }

    /// The ladder: every step on representative pairs.
    pub fn ladder(&self) -> &'a [LadderRow] {
        self.run().and_then(RunReport::latencies).map_or(&[], |result| &result.ladder)
    }

    /// The states of the machine while it was watched.
    pub fn watch(&self) -> Option<&'a StateWatch> {
        self.run()?.watch()
    }

    /// The structure that the values show, and their unit; `None` without a map of several CPUs.
    pub fn findings(&self) -> Option<(Cow<'a, Findings>, &'static str)> {
        match self.origin {
            Origin::Run(report) => {
                Some((Cow::Owned(Findings::of_run(report.latencies()?, &report.topology)?), "ns"))
            }
            Origin::File(file) => Some((Cow::Borrowed(file.findings()?), file.unit())),
        }
    }

    /// Whether the machine is known to be simulated.
    pub fn is_simulated(&self) -> bool {
        self.run().is_some_and(|report| report.header.simulated)
    }

    /// Whether all planned trials were measured; true for a file, because its map shows the gaps.
    pub fn is_complete(&self) -> bool {
        self.run().is_none_or(|report| report.header.complete)
    }

    /// Whether a page contains the whole document. In larger documents, columns rounded to 0.01 ns replace the cells.
    pub fn is_exact(&self) -> bool {
        are_exact(&self.maps)
    }

    /// The latencies as a side of a comparison.
    pub fn side(&self) -> Side {
        match self.origin {
            Origin::Run(report) => report.latency.as_ref().map_or_else(Side::default, |latency| {
                of_latency(&report.environment, &report.topology, &latency.settings, &latency.result)
            }),
            Origin::File(file) => file.side(),
        }
    }

    /// Names of series and pair maps in tables: parameters (`pause`, `gap 1 ms`), then CPUs in role order (`0-8`).
    pub fn series_names(&self) -> Vec<String> {
        let of_series = self.outline.series.iter().flat_map(name_of_series);
        let of_maps = self.maps.iter().flat_map(Map::name);
        let (cpus, parameters): (Vec<_>, Vec<_>) =
            of_series.chain(of_maps).partition(|(parameter, _)| parameter == PLACEMENT);
        let mut names: Vec<String> = Vec::new();
        for (_, name) in parameters.into_iter().chain(cpus) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Keeps matching series and maps. In each parameter that has values in `names`, the value must be one of them.
    pub fn keep_series(&mut self, names: &[String]) {
        let all = || {
            let of_series = self.outline.series.iter().flat_map(name_of_series);
            of_series.chain(self.maps.iter().flat_map(Map::name))
        };
        let named: Vec<String> =
            all().filter(|(_, name)| names.contains(name)).map(|(parameter, _)| parameter).collect();
        let is_kept = |series: SeriesName| {
            named.iter().all(|parameter| {
                series.iter().any(|(known, name)| known == parameter && names.contains(name))
            })
        };
        self.outline.series.retain(|one| is_kept(name_of_series(one)));
        self.maps.retain(|map| is_kept(map.name()));
        self.chosen = names.to_vec();
    }

    /// The chosen names that match this series.
    pub fn chosen_by(&self, name: &SeriesName) -> Vec<&String> {
        self.chosen.iter().filter(|chosen| name.iter().any(|(_, words)| words == *chosen)).collect()
    }

    /// The name of the machine: its label, the scenario, or its CPU; for a file the file name.
    pub fn machine(&self) -> String {
        let environment = match self.origin {
            Origin::Run(report) => &report.environment,
            Origin::File(file) => return plain(file.name()),
        };
        if let Some(label) = &environment.label {
            return plain(label);
        }
        match (&environment.simulated, &environment.cpu_model) {
            (Some(scenario), _) => plain(scenario),
            (None, Some(model)) => plain(model),
            (None, None) => "unknown CPU".into(),
        }
    }

    /// Warning marks: simulated, incomplete, imported.
    pub fn marks(&self) -> Vec<&'static str> {
        let mut marks = Vec::new();
        marks.extend(self.is_simulated().then_some("SIMULATED"));
        marks.extend((!self.is_complete()).then_some("INCOMPLETE"));
        marks.extend(self.file().map(|_| "IMPORTED"));
        marks
    }

    /// Size, system and time in one line.
    pub fn about(&self) -> String {
        let (report, environment) = match self.origin {
            Origin::Run(report) => (report, &report.environment),
            Origin::File(file) => return file.about(),
        };
        let mut parts: Vec<String> = words::disturbance(environment).iter().map(fmt::sentence).collect();
        if environment.label.is_some() && !report.header.simulated {
            parts.extend(environment.cpu_model.as_deref().map(plain));
        }
        parts.push(super::fmt::sentence(&words::size(&report.topology)));
        if !report.header.simulated {
            parts.push(fmt::sentence(&words::virtualization(environment)));
            parts.extend(environment.atomics.map(words::atomics).map(str::to_owned));
            parts.extend(environment.kernel.as_deref().map(plain));
        }
        parts.push(started(&report.header.started));
        parts.join(" · ")
    }

    /// The run and version, for the foot of a picture.
    pub fn origin(&self) -> String {
        match self.origin {
            Origin::Run(RunReport { header, .. }) => format!(
                "coretalk {} · run {} · seed {}",
                plain(&header.tool_version),
                plain(self.name),
                header.seed
            ),
            Origin::File(_) => {
                format!("drawn by coretalk {}, measured by another tool", env!("CARGO_PKG_VERSION"))
            }
        }
    }
}

fn are_exact(maps: &[Map]) -> bool {
    maps.iter().all(|map| map.columns.cpus.len() <= EVERY_PAIR_UP_TO)
}

impl<'a> Origin<'a> {
    fn document(self, identity: Identity) -> Document<'a> {
        match self {
            Origin::Run(report) => Document::from_report(report, identity),
            Origin::File(file) => file.document(),
        }
    }

    fn maps_of_series(self) -> Vec<Map> {
        let series = match self {
            Origin::Run(report) => report.series.as_ref(),
            Origin::File(_) => None,
        };
        series.iter().flat_map(|series| maps(series).into_iter().map(|kind| map_of(series, &kind))).collect()
    }

    fn question(self, index: usize, matrix: &MatrixDoc<'_>) -> String {
        match self {
            Origin::Run(report) => matrix_title(report, index, matrix),
            Origin::File(file) => file.question(index),
        }
    }
}

const PLACEMENT: &str = "placement";

/// The name of a series in tables.
pub fn name_of_series(one: &SeriesDoc) -> SeriesName {
    let cpus = one.placement.iter().map(u32::to_string).collect::<Vec<_>>().join("-");
    let parameters = one
        .parameters
        .iter()
        .map(|(name, value)| (name.as_ref().to_owned(), plain(&parameter_text(name, &value.into()))));
    parameters.chain((!cpus.is_empty()).then(|| (PLACEMENT.to_owned(), cpus))).collect()
}

fn matrix_title(report: &RunReport, index: usize, matrix: &MatrixDoc<'_>) -> String {
    if matrix.protocol.is_some()
        && let Some(map) = report.maps().get(index)
    {
        return fmt::sentence(&words::question(map));
    }
    let quantity = matrix.quantity.replace('_', " ");
    let roles = if matrix.probe == names::PROBE { "; rows send, columns receive" } else { "" };
    let queue_parameters = ["payload", "capacity"].into_iter().filter(|_| matrix.probe == names::PROBE);
    let parameters = matrix.parameters();
    let queue_parameters =
        queue_parameters.filter_map(|name| Some(plain(&parameter_text(name, parameters.0.get(name)?))));
    let what: Vec<String> = std::iter::once(plain(&matrix.kernel)).chain(queue_parameters).collect();
    format!(
        "{}: {}, {quantity} in {}, {}{roles}",
        matrix.probe,
        what.join(", "),
        matrix.unit,
        matrix.regime.unwrap_or_default()
    )
}
