//! [`Content`]: the values in the squares of a heat map, and the meaning of its colours.

use crate::heat_map::{Diagonal, names_of_diagonal};
use crate::input::{Map, ScaleChoice};
use crate::palette::{Colors, Scale};
use coretalk_model::latency::summary::SummaryTable;
use coretalk_model::{CpuId, Topology};

pub struct Content<'a> {
    pub title: &'a str,
    pub rows: Vec<Vec<CpuId>>,
    pub cells: SummaryTable,
    /// Values that define the colours; `None` for those of `cells`.
    pub paint: Option<SummaryTable>,
    pub colors: Colors,
    /// CPUs with a mark instead of a value, because only time slices were measured.
    pub slices: Vec<CpuId>,
    pub legend: String,
}

impl Content<'_> {
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn painted(&self) -> &SummaryTable {
        self.paint.as_ref().unwrap_or(&self.cells)
    }

    /// One value, or two halves: the upper half shows one CPU, the lower half two CPUs of its core.
    pub fn parts(&self, row: usize, column: usize) -> Vec<Part> {
        let (cell, paint) = (self.cells.get(row, column), self.painted().get(row, column));
        let known = |value: Option<f64>, paint: Option<f64>, doubtful| {
            let (value, paint) = value.zip(paint)?;
            Some(Part { value, paint, doubtful, begin: 0.0, height: 1.0 })
        };
        if self.is_marked(row, column) {
            let pair = known(cell.median_ns, paint.median_ns, cell.doubtful);
            return pair.map(|part| Part { begin: 0.5, height: 0.5, ..part }).into_iter().collect();
        }
        let Some(own) = cell.own else {
            return known(cell.median_ns, paint.median_ns, cell.doubtful).into_iter().collect();
        };
        let upper = known(Some(own.median_ns), paint.own.map(|own| own.median_ns), own.doubtful);
        let lower = known(cell.median_ns, paint.median_ns, cell.doubtful);
        let halves = [(upper, 0.0), (lower, 0.5)].into_iter();
        halves.filter_map(|(part, begin)| Some(Part { begin, height: 0.5, ..part? })).collect()
    }

    /// Whether a mark replaces the value of a square or of its upper half, because only time slices were measured.
    pub fn is_marked(&self, row: usize, column: usize) -> bool {
        row == column && self.rows[row].iter().any(|cpu| self.slices.contains(cpu))
    }

    /// The meaning of the diagonal; `None` if it shows pairs of CPUs.
    pub fn diagonal(&self, topology: &Topology) -> Option<String> {
        let [own, pair] = names_of_diagonal(topology);
        let is_halved = |row: usize| self.rows[row].len() > 1 && self.is_marked(row, row);
        let diagonal = match (0..self.len()).any(is_halved) {
            true => Diagonal::Both,
            false => Diagonal::from_table(&self.cells, &self.rows),
        };
        match diagonal {
            Diagonal::Pairs => None,
            Diagonal::Own => Some(format!("diagonal: {own}")),
            Diagonal::Both => Some(format!("diagonal: {own} (upper half), {pair} (lower half)")),
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Part {
    pub value: f64,
    pub paint: f64,
    pub doubtful: u32,
    /// Top and height, as shares of the height of a square.
    pub begin: f64,
    pub height: f64,
}

#[derive(Debug, Clone, Copy)]
pub struct Painted {
    pub scale: Scale,
    /// The maps that share the scale; `None` for a scale fitted to the map.
    pub same: Option<&'static str>,
}

impl Painted {
    pub fn paint(map: &Map, choice: ScaleChoice) -> Painted {
        let scale = map.scale(choice).unwrap_or(Scale { low: 1.0, high: 10.0 });
        let is_fixed = choice == ScaleChoice::Fixed && Scale::fixed(&map.unit).is_some();
        Painted { scale, same: is_fixed.then_some("same colour scale on every machine") }
    }
}
