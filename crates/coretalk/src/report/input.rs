//! [`ReportInput`]: a run or an imported file as reports see it: its document, the columns of its matrices, and how it is to
//! be drawn.

use super::heat_map::HeatMap;
use super::imported::ImportedFile;
use super::palette::Scale;
use super::parameters::{parameter, telling};
use super::text::{plain, started};
use super::trial_maps::{map_words, maps, number_of_map};
use super::{By, Order, Style, words};
use crate::document::{Columns, Document, Identity, MatrixDoc, SeriesDoc};
use crate::{RunReport, SeriesReport};
use coretalk_model::compare::Side;
use coretalk_model::compare::of_latency;
use coretalk_model::infer::Findings;
use coretalk_model::latency::summary::Reading;
use coretalk_model::latency::{self, LadderRow, LatencyMap, StateWatch};
use coretalk_model::queue::names;
use coretalk_model::series::{Alike, Parameters, TrialResult, Value};
use coretalk_model::{CpuId, Matrix, Topology};
use std::borrow::Cow;

/// How pictures are drawn first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawing {
    /// Order of rows.
    pub order: Order,
    /// What a row is.
    pub by: By,
    /// What the colours span.
    pub scale: ScaleChoice,
    /// Axis of time of distributions as plain CDFs; `None` is percentiles on an axis of nines. A page has both.
    pub cdf: Option<TimeAxis>,
}

/// How an axis of time divides its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeAxis {
    /// Equal ratios.
    Log,
    /// Equal differences.
    Linear,
}

/// What the colours of a map span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScaleChoice {
    /// The same range on every machine, so that pictures compare by eye.
    Fixed,
    /// From the least to the most of this map.
    Fit,
}

/// Where numbers come from.
#[derive(Debug, Clone, Copy)]
enum Origin<'a> {
    /// Measured by coretalk.
    Run(&'a RunReport),
    /// By another tool.
    File(&'a ImportedFile),
}

/// A run or an imported file as reports see it.
#[derive(Debug)]
pub struct ReportInput<'a> {
    origin: Origin<'a>,
    /// What output calls it.
    pub name: &'a str,
    /// Whether private parts are shown.
    pub identity: Identity,
    /// Its document but for the cells, which its maps hold.
    pub outline: Document<'a>,
    /// Its matrices.
    pub maps: Vec<Map>,
    /// The passes over the pairs of each map; empty where they are not at hand.
    pub passes: Vec<PairPasses>,
}

/// A matrix with what is needed to draw it.
#[derive(Debug, Default)]
pub struct Map {
    /// Who made it.
    pub probe: String,
    /// The code; empty where parameters say everything.
    pub kernel: String,
    /// What tells it from others of its probe.
    pub parameters: Parameters,
    /// What a cell is.
    pub quantity: String,
    /// Its unit.
    pub unit: String,
    /// The question in one line.
    pub question: String,
    /// Its cells.
    pub columns: Columns,
    /// Its index among the matrices of the document; `None` of pairs that stand among its series.
    pub index: Option<usize>,
}

/// The passes over one pair.
#[derive(Debug, Clone, PartialEq)]
pub struct PairPasses {
    /// Which map.
    pub map: usize,
    /// Which cell of it.
    pub cell: usize,
    /// Seconds and values in time order.
    pub values: Vec<(f64, f64)>,
}

impl<'a> ReportInput<'a> {
    /// Makes ready what reports draw.
    pub fn new(report: &'a RunReport, name: &'a str, identity: Identity) -> ReportInput<'a> {
        ReportInput::of(Origin::Run(report), name, identity)
    }

    /// The same for a file of another tool.
    pub fn of_file(file: &'a ImportedFile, identity: Identity) -> ReportInput<'a> {
        ReportInput::of(Origin::File(file), file.name(), identity)
    }

    fn of(origin: Origin<'a>, name: &'a str, identity: Identity) -> ReportInput<'a> {
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
        let maps = maps.chain(origin.maps_of_series()).collect();
        ReportInput { origin, name, identity, maps, outline: document.without_cells(), passes: Vec::new() }
    }

    /// The run; `None` of a file of another tool.
    pub fn run(&self) -> Option<&'a RunReport> {
        match self.origin {
            Origin::Run(report) => Some(report),
            Origin::File(_) => None,
        }
    }

    /// The file of another tool; `None` of a run.
    pub fn file(&self) -> Option<&'a ImportedFile> {
        match self.origin {
            Origin::Run(_) => None,
            Origin::File(file) => Some(file),
        }
    }

    /// What is known of the structure of the machine.
    pub fn topology(&self) -> &'a Topology {
        match self.origin {
            Origin::Run(report) => &report.topology,
            Origin::File(file) => file.topology(),
        }
    }

    /// What maps are arranged by: the reported structure, or the groups that the values of a file show.
    pub fn arranged(&self) -> &'a Topology {
        match self.origin {
            Origin::Run(report) => &report.topology,
            Origin::File(file) => file.groups(),
        }
    }

    /// The latency maps that were measured.
    pub fn latencies(&self) -> &'a [LatencyMap] {
        self.run().map_or(&[], RunReport::maps)
    }

    /// Every step on representative pairs.
    pub fn ladder(&self) -> &'a [LadderRow] {
        self.run().and_then(RunReport::latencies).map_or(&[], |result| &result.ladder)
    }

    /// What the machine did while it was watched.
    pub fn watch(&self) -> Option<&'a StateWatch> {
        self.run()?.watch()
    }

    /// The structure that its values show, and their unit; `None` where it has no map of several CPUs.
    pub fn findings(&self) -> Option<(Cow<'a, Findings>, &'static str)> {
        match self.origin {
            Origin::Run(report) => {
                Some((Cow::Owned(Findings::of_run(report.latencies()?, &report.topology)?), "ns"))
            }
            Origin::File(file) => Some((Cow::Borrowed(file.findings()?), file.unit())),
        }
    }

    /// Whether the machine is simulated, as far as is known.
    pub fn is_simulated(&self) -> bool {
        self.run().is_some_and(|report| report.header.simulated)
    }

    /// Whether everything that was planned was measured; what a file lacks shows in its map.
    pub fn is_complete(&self) -> bool {
        self.run().is_none_or(|report| report.header.complete)
    }

    /// Its whole document.
    pub fn document(&self) -> Document<'a> {
        self.origin.document(self.identity)
    }

    /// Its latencies in the form in which they are compared.
    pub fn side(&self) -> Side {
        match self.origin {
            Origin::Run(report) => report.latency.as_ref().map_or_else(Side::default, |latency| {
                of_latency(&report.environment, &report.topology, &latency.settings, &latency.result)
            }),
            Origin::File(file) => file.side(),
        }
    }

    /// The names of its series, as its tables have them: what was chosen (`pause`, `gap 1 ms`), then CPUs in role order
    /// (`0-8`). Maps of pairs have them too.
    pub fn series_names(&self) -> Vec<String> {
        let of_series = self.outline.series.iter().flat_map(names_of_series);
        let of_maps = self.maps.iter().flat_map(names_of_map);
        let (cpus, chosen): (Vec<_>, Vec<_>) = of_series.chain(of_maps).partition(|(of, _)| of == PLACEMENT);
        let mut names: Vec<String> = Vec::new();
        for (_, name) in chosen.into_iter().chain(cpus) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Leaves those series and maps to be drawn that have one of these names for everything that they name.
    pub fn keep_series(&mut self, names: &[String]) {
        let all = || {
            let of_series = self.outline.series.iter().flat_map(names_of_series);
            of_series.chain(self.maps.iter().flat_map(names_of_map))
        };
        let named: Vec<String> = all().filter(|(_, name)| names.contains(name)).map(|(of, _)| of).collect();
        let is_kept = |own: Vec<(String, String)>| {
            named.iter().all(|of| own.iter().any(|(known, name)| known == of && names.contains(name)))
        };
        self.outline.series.retain(|one| is_kept(names_of_series(one)));
        self.maps.retain(|map| is_kept(names_of_map(map)));
    }

    /// What the machine is called: its label, the scenario, or its CPU; of a file its name.
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

    /// What must not be overlooked: simulated, incomplete.
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
        let mut parts: Vec<String> = words::disturbance(environment).into_iter().collect();
        if environment.label.is_some() && !report.header.simulated {
            parts.extend(environment.cpu_model.as_deref().map(plain));
        }
        parts.push(words::size(&report.topology));
        if !report.header.simulated {
            parts.push(words::virtualization(environment));
            parts.extend(environment.atomics.map(words::atomics).map(str::to_owned));
            parts.extend(environment.kernel.as_deref().map(plain));
        }
        parts.push(started(&report.header.started));
        parts.join(" · ")
    }

    /// Which run of which version: for the foot of a picture.
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

impl<'a> Origin<'a> {
    fn document(self, identity: Identity) -> Document<'a> {
        match self {
            Origin::Run(report) => Document::from_report(report, identity),
            Origin::File(file) => file.document(),
        }
    }

    /// Trials over many pairs, as the screen shows them too.
    fn maps_of_series(self) -> Vec<Map> {
        let series = match self {
            Origin::Run(report) => report.series.as_ref(),
            Origin::File(_) => None,
        };
        series.iter().flat_map(|series| maps(series).into_iter().map(|kind| map_of(series, &kind))).collect()
    }

    fn question(self, index: usize, matrix: &MatrixDoc<'_>) -> String {
        match self {
            Origin::Run(report) => question(report, index, matrix),
            Origin::File(file) => file.question(index),
        }
    }
}

impl Map {
    /// Values with their doubts, as pictures take them.
    pub fn readings(&self) -> Matrix<Option<Reading>> {
        readings_of(&self.columns, |cell| Some((self.columns.median[cell]?, self.columns.doubtful(cell))))
    }

    /// The rows of a picture of it: CPUs, or cores with their CPUs.
    pub fn rows(
        &self,
        readings: &Matrix<Option<Reading>>,
        topology: &Topology,
        drawing: Drawing,
    ) -> Vec<Vec<CpuId>> {
        let style = Style { order: drawing.order, by: drawing.by, ..Style::default() };
        HeatMap::new(readings, topology, &style).rows().to_vec()
    }

    /// What the colours span.
    pub fn scale(&self, choice: ScaleChoice) -> Option<Scale> {
        let fixed = Scale::fixed(&self.unit).filter(|_| choice == ScaleChoice::Fixed);
        fixed.or_else(|| Scale::fitted(self.columns.median.iter().copied().flatten()))
    }

    /// A short name among the maps of its run: `cas+pause`, `queue, capacity 100, payload u64, queue rtrb`.
    pub fn label(&self) -> String {
        if self.probe == latency::PROBE && !self.kernel.is_empty() {
            return plain(&self.kernel);
        }
        // A queue stands among its parameters too.
        let named = self.kernel.is_empty()
            || self
                .parameters
                .iter()
                .any(|(_, value)| matches!(value, Value::Text(text) if *text == self.kernel));
        let kernel = (!named).then(|| self.kernel.clone());
        let parameters = self.parameters.iter().map(|(name, value)| parameter(name, value));
        let parts: Vec<String> = [self.probe.clone()].into_iter().chain(kernel).chain(parameters).collect();
        plain(&parts.join(", "))
    }
}

/// What the CPUs of a series stand under among its parameters.
const PLACEMENT: &str = "placement";

/// What a series is called in tables, parameter by parameter.
fn names_of_series(one: &SeriesDoc) -> Vec<(String, String)> {
    let cpus = one.placement.iter().map(u32::to_string).collect::<Vec<_>>().join("-");
    let chosen =
        one.parameters.iter().map(|(name, value)| (name.clone(), plain(&telling(name, &value.into()))));
    chosen.chain((!cpus.is_empty()).then(|| (PLACEMENT.to_owned(), cpus))).collect()
}

/// What a map is called, parameter by parameter.
fn names_of_map(map: &Map) -> Vec<(String, String)> {
    // What else a map of latencies has describes it, and was not chosen.
    let is_latency = map.probe == latency::PROBE && map.index.is_some();
    let kernel = (!map.kernel.is_empty()).then(|| ("kernel".to_owned(), plain(&map.kernel)));
    let chosen = map
        .parameters
        .iter()
        .filter(|_| !is_latency)
        .map(|(name, value)| (name.to_string(), plain(&telling(name, value))));
    chosen.chain(kernel).collect()
}

/// The headlines of trials over many pairs as a map.
fn map_of(series: &SeriesReport, kind: &Alike<'_>) -> Map {
    let (spec, unit) = (&kind.trials[0].spec, kind.unit(&series.settings));
    let position =
        |cpu: CpuId| series.settings.cpus.iter().position(|known| *known == cpu).map(|at| at as u32);
    let mut columns =
        Columns { cpus: series.settings.cpus.iter().map(|cpu| cpu.0).collect(), ..Columns::default() };
    for trial in kind.with_value() {
        let [from, to] = spec_pair(trial).map(|pair| pair.map(position)).unwrap_or_default();
        if let (Some(from), Some(to)) = (from, to) {
            columns.push_trial([from, to], trial, number_of_map(series, &unit, trial));
        }
    }
    Map {
        probe: spec.probe.clone(),
        kernel: String::new(),
        parameters: spec.parameters.clone(),
        quantity: kind.displayed_value(&series.settings).unwrap_or_default().to_owned(),
        unit: unit.name,
        question: format!("{}: {}", plain(&spec.probe), map_words(series, kind)),
        columns,
        index: None,
    }
}

fn spec_pair(trial: &TrialResult) -> Option<[CpuId; 2]> {
    trial.spec.placement.as_slice().try_into().ok()
}

/// A square of what is drawn of each cell: a value, and whether it is in doubt.
pub fn readings_of(columns: &Columns, of: impl Fn(usize) -> Option<(f64, bool)>) -> Matrix<Option<Reading>> {
    let cpus: Vec<CpuId> = columns.cpus.iter().map(|&cpu| CpuId(cpu)).collect();
    let mut readings = match columns.symmetric {
        true => Matrix::symmetric(cpus, |_, _| None),
        false => Matrix::directed(cpus, |_, _| None),
    };
    for (cell, &[row, column]) in columns.positions.iter().enumerate() {
        if let (Some((ns, doubtful)), Some(slot)) =
            (of(cell), readings.get_mut(row as usize, column as usize))
        {
            *slot = Some(Reading { ns, doubtful });
        }
    }
    readings
}

/// What a matrix shows: the words of the screen where it has some, else those of its document.
fn question(report: &RunReport, index: usize, matrix: &MatrixDoc<'_>) -> String {
    if matrix.protocol.is_some()
        && let Some(map) = report.maps().get(index)
    {
        return words::question(map);
    }
    let quantity = matrix.quantity.replace('_', " ");
    let roles = if matrix.probe == names::PROBE { "; rows send, columns receive" } else { "" };
    format!(
        "{}: {}, {quantity} in {}, {}{roles}",
        matrix.probe,
        plain(&matrix.kernel),
        matrix.unit,
        matrix.regime.unwrap_or_default()
    )
}
