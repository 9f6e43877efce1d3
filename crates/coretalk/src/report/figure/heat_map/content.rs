//! [`Content`]: what a heat map shows in each of its squares, and what its colours are of.

use crate::report::heat_map::{Diagonal, names_of_diagonal};
use crate::report::input::{Map, ScaleChoice};
use crate::report::palette::{Colors, Scale};
use coretalk_model::latency::summary::Table;
use coretalk_model::{CpuId, Topology};

/// What is drawn: the numbers, the values that colour them, and what is said beside the colours.
pub struct Content<'a> {
    pub title: &'a str,
    pub rows: Vec<Vec<CpuId>>,
    pub cells: Table,
    /// Values that give the colours, where they are not those of `cells`.
    pub paint: Option<Table>,
    pub colors: Colors,
    /// CPUs on which time slices are what was measured: a mark stands in the place of a value.
    pub slices: Vec<CpuId>,
    /// The line below the colours.
    pub legend: String,
}

impl Content<'_> {
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The values that colour squares.
    pub fn painted(&self) -> &Table {
        self.paint.as_ref().unwrap_or(&self.cells)
    }

    /// What a square shows: one value, or in its upper half what one CPU gives and in its lower half what two CPUs of
    /// its core give.
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

    /// Whether a mark stands in a square, or in its upper half, because time slices are what was measured there.
    pub fn is_marked(&self, row: usize, column: usize) -> bool {
        row == column && self.rows[row].iter().any(|cpu| self.slices.contains(cpu))
    }

    /// What the colours of the diagonal are of, where they are not of pairs of CPUs.
    pub fn diagonal(&self, topology: &Topology) -> Option<String> {
        let [own, pair] = names_of_diagonal(topology);
        let is_halved = |row: usize| self.rows[row].len() > 1 && self.is_marked(row, row);
        let diagonal = match (0..self.len()).any(is_halved) {
            true => Diagonal::Both,
            false => Diagonal::of(&self.cells, &self.rows),
        };
        match diagonal {
            Diagonal::Pairs => None,
            Diagonal::Own => Some(format!("diagonal: {own}")),
            Diagonal::Both => Some(format!("diagonal: {own} (upper half), {pair} (lower half)")),
        }
    }
}

/// A value in a square, or in half of it.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    pub value: f64,
    /// What colours it.
    pub paint: f64,
    pub doubtful: u32,
    /// Where it begins and how high it is, in heights of a square.
    pub begin: f64,
    pub height: f64,
}

/// What the colours of a map span.
#[derive(Debug, Clone, Copy)]
pub struct Painted {
    pub scale: Scale,
    /// Where the same colours are found; `None` where they are fitted to the map.
    pub same: Option<&'static str>,
}

impl Painted {
    pub fn of(map: &Map, choice: ScaleChoice) -> Painted {
        let scale = map.scale(choice).unwrap_or(Scale { low: 1.0, high: 10.0 });
        let is_fixed = choice == ScaleChoice::Fixed && Scale::fixed(&map.unit).is_some();
        Painted { scale, same: is_fixed.then_some("same colour scale on every machine") }
    }
}
