//! [`Map`]: a matrix of a run or a file, and the data for drawing it.

use super::{Drawing, ScaleChoice};
use crate::document::Columns;
use crate::fmt;
use crate::heat_map;
use crate::palette::Scale;
use crate::parameters::{parameter, parameter_text};
use crate::picture::SeriesName;
use crate::text::plain;
use crate::trial_maps::{map_words, number_of_map};
use coretalk_model::latency;
use coretalk_model::latency::summary::PairReading;
use coretalk_model::run::SeriesReport;
use coretalk_model::series::{Alike, ParameterValue, Parameters, TrialResult};
use coretalk_model::{CpuId, Matrix, Topology};

/// A matrix and the data for drawing it.
#[derive(Debug, Default)]
pub struct Map {
    /// The probe that measured the map.
    pub probe: String,
    /// The kernel; empty if the parameters identify the map.
    pub kernel: String,
    /// The parameters that distinguish the map from others of its probe.
    pub parameters: Parameters,
    /// The quantity of a cell.
    pub quantity: String,
    /// The unit of a cell.
    pub unit: String,
    /// The title, in one line.
    pub question: String,
    /// The cells by field.
    pub columns: Columns,
    /// The index among the matrices of the document; `None` for a map of trials.
    pub index: Option<usize>,
}

/// The passes of one pair.
#[derive(Debug, Clone, PartialEq)]
pub struct PairPasses {
    /// The index of the map.
    pub map: usize,
    /// The index of the cell in the map.
    pub cell: usize,
    /// Seconds and values in time order.
    pub values: Vec<(f64, f64)>,
}

impl Map {
    /// Values with their doubts, for pictures.
    pub fn readings(&self) -> Matrix<Option<PairReading>> {
        readings_of(&self.columns, |cell| Some((self.columns.median[cell]?, self.columns.doubtful(cell))))
    }

    /// The rows of the picture: CPUs, or cores with their CPUs.
    pub fn rows(
        &self,
        readings: &Matrix<Option<PairReading>>,
        topology: &Topology,
        drawing: Drawing,
    ) -> Vec<Vec<CpuId>> {
        heat_map::rows(readings, topology, drawing.order, drawing.by)
    }

    /// The range of the colours.
    pub fn scale(&self, choice: ScaleChoice) -> Option<Scale> {
        let fixed = Scale::fixed(&self.unit).filter(|_| choice == ScaleChoice::Fixed);
        fixed.or_else(|| Scale::fitted(self.columns.median.iter().copied().flatten()))
    }

    /// A short name that is unique in its run: `cas+pause`, `queue, capacity 100, payload u64, queue rtrb`.
    pub fn label(&self) -> String {
        if self.probe == latency::PROBE && !self.kernel.is_empty() {
            return plain(&self.kernel);
        }
        // The parameters may already contain the name of a queue.
        let is_named = self.kernel.is_empty()
            || self
                .parameters
                .iter()
                .any(|(_, value)| matches!(value, ParameterValue::Text(text) if *text == self.kernel));
        let kernel = (!is_named).then(|| self.kernel.clone());
        let parameters = self.parameters.iter().map(|(name, value)| fmt::sentence(&parameter(name, value)));
        let parts: Vec<String> = [self.probe.clone()].into_iter().chain(kernel).chain(parameters).collect();
        plain(&parts.join(", "))
    }

    /// The name in tables.
    pub fn name(&self) -> SeriesName {
        // The other parameters of a latency map describe the map and are left out.
        let is_latency = self.probe == latency::PROBE && self.index.is_some();
        let kernel = (!self.kernel.is_empty()).then(|| ("kernel".to_owned(), plain(&self.kernel)));
        let parameters = self
            .parameters
            .iter()
            .filter(|_| !is_latency)
            .map(|(name, value)| (name.to_string(), plain(&parameter_text(name, value))));
        parameters.chain(kernel).collect()
    }
}

pub(super) fn map_of(series: &SeriesReport, kind: &Alike<'_>) -> Map {
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
        question: format!("{}: {}", plain(&spec.probe), fmt::sentence(&map_words(series, kind))),
        columns,
        index: None,
    }
}

fn spec_pair(trial: &TrialResult) -> Option<[CpuId; 2]> {
    trial.spec.placement.as_slice().try_into().ok()
}

/// A square with the drawn value of each cell, and whether the value is doubtful.
pub fn readings_of(
    columns: &Columns,
    value_of: impl Fn(usize) -> Option<(f64, bool)>,
) -> Matrix<Option<PairReading>> {
    let cpus: Vec<CpuId> = columns.cpus.iter().map(|&cpu| CpuId(cpu)).collect();
    let mut readings = match columns.symmetric {
        true => Matrix::symmetric(cpus, |_, _| None),
        false => Matrix::directed(cpus, |_, _| None),
    };
    for (cell, &[row, column]) in columns.positions.iter().enumerate() {
        if let (Some((ns, doubtful)), Some(reading)) =
            (value_of(cell), readings.get_mut(row as usize, column as usize))
        {
            *reading = Some(PairReading { ns, doubtful });
        }
    }
    readings
}
