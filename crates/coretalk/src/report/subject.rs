//! [`Subject`]: a run as reports see it: its document, the columns of its matrices, and how it is to be drawn.

use super::heat_map::HeatMap;
use super::palette::Scale;
use super::text::{plain, started};
use super::view::{MatrixView, View, bare, json_parameter};
use super::{By, Look, Order, words};
use crate::RunReport;
use crate::document::{Columns, Document, Identity};
use coretalk_model::latency::summary::Reading;
use coretalk_model::queue::names;
use coretalk_model::{CpuId, Matrix};

/// A title is one line, however long.
const ONE_LINE: usize = 100_000;

/// How pictures are drawn first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawing {
    /// Order of rows.
    pub order: Order,
    /// What a row is.
    pub by: By,
    /// What the colours span.
    pub scale: ScaleChoice,
}

/// What the colours of a map span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScaleChoice {
    /// The same range on every machine, so that pictures compare by eye.
    Fixed,
    /// From the least to the most of this map.
    Fit,
}

/// A run as reports see it.
#[derive(Debug)]
pub struct Subject<'a> {
    /// The run.
    pub report: &'a RunReport,
    /// What output calls it.
    pub name: &'a str,
    /// Whether private parts are shown.
    pub identity: Identity,
    /// Everything but cells.
    pub view: View,
    /// Its matrices.
    pub maps: Vec<Map>,
    /// The passes over the pairs of each map; empty where they are not at hand.
    pub passes: Vec<PairPasses>,
}

/// A matrix with what is needed to draw it.
#[derive(Debug)]
pub struct Map {
    /// What it is.
    pub about: MatrixView,
    /// The question in one line.
    pub question: String,
    /// Its cells.
    pub columns: Columns,
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

impl<'a> Subject<'a> {
    /// Makes ready what reports draw.
    ///
    /// # Errors
    /// Never for a document made from a run; a contradiction between the document and its reader.
    pub fn new(report: &'a RunReport, name: &'a str, identity: Identity) -> serde_json::Result<Subject<'a>> {
        let document = Document::from_report(report, identity);
        let columns: Vec<Columns> = document.matrices().iter().map(|matrix| matrix.columns()).collect();
        let view = View::of(serde_json::to_value(document.without_cells())?)?;
        let maps = view.matrices.iter().zip(columns).enumerate().map(|(index, (about, columns))| Map {
            question: question(report, index, about),
            about: about.clone(),
            columns,
        });
        Ok(Subject { report, name, identity, maps: maps.collect(), view, passes: Vec::new() })
    }

    /// What the machine is called: its label, the scenario, or its CPU.
    pub fn machine(&self) -> String {
        let environment = &self.report.environment;
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
        marks.extend(self.report.header.simulated.then_some("SIMULATED"));
        marks.extend((!self.report.header.complete).then_some("INCOMPLETE"));
        marks
    }

    /// Size, system and time in one line.
    pub fn about(&self) -> String {
        let (report, environment) = (self.report, &self.report.environment);
        let mut parts = Vec::new();
        if environment.label.is_some() && !report.header.simulated {
            parts.extend(environment.cpu_model.as_deref().map(plain));
        }
        parts.push(words::size(&report.topology));
        if !report.header.simulated {
            parts.push(match &environment.hypervisor {
                Some(hypervisor) => format!("guest of {}", plain(hypervisor)),
                None => "bare metal".into(),
            });
            parts.extend(environment.kernel.as_deref().map(plain));
        }
        parts.push(started(&report.header.started));
        parts.join(" · ")
    }

    /// Which run of which version: for the foot of a picture.
    pub fn origin(&self) -> String {
        let header = &self.report.header;
        format!("coretalk {} · run {} · seed {}", plain(&header.tool_version), plain(self.name), header.seed)
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
        report: &RunReport,
        drawing: Drawing,
    ) -> Vec<Vec<CpuId>> {
        let look = Look { order: drawing.order, by: drawing.by, ..Look::default() };
        HeatMap::new(readings, &report.topology, &look).rows().to_vec()
    }

    /// What the colours span.
    pub fn scale(&self, choice: ScaleChoice) -> Option<Scale> {
        let fixed = Scale::fixed(&self.about.unit).filter(|_| choice == ScaleChoice::Fixed);
        fixed.or_else(|| Scale::fitted(self.columns.median.iter().copied().flatten()))
    }

    /// A short name among the maps of its run: `cas+pause`, `queue, capacity 100, payload u64, queue rtrb`.
    pub fn label(&self) -> String {
        let about = &self.about;
        if about.probe == "latency" {
            return plain(&about.kernel);
        }
        // A queue stands among its parameters too.
        let named = about.parameters.values().any(|value| bare(value) == about.kernel);
        let kernel = (!named).then(|| about.kernel.clone());
        let parameters = about.parameters.iter().map(|(name, value)| json_parameter(name, value));
        let parts: Vec<String> = [about.probe.clone()].into_iter().chain(kernel).chain(parameters).collect();
        plain(&parts.join(", "))
    }
}

/// A square of what is drawn of each cell: a value, and whether it is in doubt.
pub fn readings_of(columns: &Columns, of: impl Fn(usize) -> Option<(f64, bool)>) -> Matrix<Option<Reading>> {
    let cpus: Vec<CpuId> = columns.cpus.iter().map(|&cpu| CpuId(cpu)).collect();
    let mut readings = match columns.symmetric {
        true => Matrix::symmetric(cpus, |_, _| None),
        false => Matrix::directed(cpus, |_, _| None),
    };
    for (cell, &[row, column]) in columns.places.iter().enumerate() {
        if let (Some((ns, doubtful)), Some(place)) =
            (of(cell), readings.get_mut(row as usize, column as usize))
        {
            *place = Some(Reading { ns, doubtful });
        }
    }
    readings
}

/// What a matrix shows: the words of the screen where it has some, else those of its document.
fn question(report: &RunReport, index: usize, about: &MatrixView) -> String {
    if about.protocol.is_some()
        && let Some(map) = report.result.maps.get(index)
    {
        return words::question(map, ONE_LINE).join(" ");
    }
    let quantity = about.quantity.replace('_', " ");
    let roles = if about.probe == names::PROBE { "; rows send, columns receive" } else { "" };
    format!(
        "{}: {}, {quantity} in {}, {}{roles}",
        about.probe,
        plain(&about.kernel),
        about.unit,
        about.regime
    )
}
