//! [`HeatMap`]: a square picture of who reaches whom how soon, as wide as the terminal allows.
//!
//! Numbers on coloured ground while they fit the width; beyond, half-block pixels; without colour, glyphs that grow
//! denser with the latency. Bars stand where a reported group ends.

mod axis;
mod numbers;
mod pixels;

pub use axis::{Axis, bar_levels, groups, ordered};

use super::ladder::distance_words;
use super::{By, Style};
use coretalk_model::latency::summary::{Reading, Table};
use coretalk_model::{CpuId, Matrix, Relation, Topology};

/// A picture of the readings of one map, complete or still being measured.
#[derive(Debug)]
pub struct HeatMap<'a> {
    readings: &'a Matrix<Option<Reading>>,
    topology: &'a Topology,
    rows: Vec<Vec<CpuId>>,
    threads_per_core: usize,
    /// Of the readings.
    unit: &'a str,
}

/// How a picture was drawn, for the words around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MapFormat {
    /// A number for each cell.
    Numbers,
    /// A pixel or a character for several rows and columns of the map.
    Parts {
        /// `pixel` or `character`.
        what: &'static str,
        /// Most rows of the map in one.
        rows: usize,
        /// Most columns of the map in one.
        columns: usize,
    },
}

/// What stands on the diagonal of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Diagonal {
    /// Nothing, or pairs of two CPUs: what stands elsewhere too.
    Pairs,
    /// Both roles on the CPU of the row.
    Own,
    /// Both roles on one CPU of the row, and apart from that two CPUs of it.
    Both,
}

impl Diagonal {
    /// That of a square of these rows.
    pub fn of(cells: &Table, rows: &[Vec<CpuId>]) -> Diagonal {
        let own = |(at, row): (usize, &Vec<CpuId>)| row.len() == 1 && cells.get(at, at).pairs > 0;
        match cells.has_own() {
            true => Diagonal::Both,
            false if rows.iter().enumerate().any(own) => Diagonal::Own,
            false => Diagonal::Pairs,
        }
    }
}

/// What both roles on one CPU are called, and two CPUs of a core.
pub fn names_of_diagonal(topology: &Topology) -> [String; 2] {
    [Relation::SameCpu, Relation::Smt].map(|relation| distance_words(relation, topology))
}

impl<'a> HeatMap<'a> {
    /// Arranges the map as the style asks.
    pub fn new(readings: &'a Matrix<Option<Reading>>, topology: &'a Topology, style: &Style) -> HeatMap<'a> {
        let order = ordered(readings, topology, style.order);
        let rows = match style.by {
            By::Core => axis::cores(&order, topology),
            By::Thread => order.iter().map(|&cpu| vec![cpu]).collect(),
        };
        let threads_per_core = rows.iter().map(Vec::len).max().unwrap_or(0);
        HeatMap { readings, topology, rows, threads_per_core, unit: "ns" }
    }

    /// The same with readings in another unit than nanoseconds.
    #[must_use]
    pub fn in_unit(self, unit: &'a str) -> HeatMap<'a> {
        HeatMap { unit, ..self }
    }

    /// The rows: CPUs, or cores with their CPUs.
    pub fn rows(&self) -> &[Vec<CpuId>] {
        &self.rows
    }

    /// Most threads in a row: above 1 where rows are cores with SMT.
    pub fn threads_per_core(&self) -> usize {
        self.threads_per_core
    }

    /// The picture line by line, none wider than the style allows, and how it was drawn.
    pub fn draw(&self, style: &Style) -> (Vec<String>, MapFormat) {
        if let Some(lines) = numbers::draw(self, style) {
            return (lines, MapFormat::Numbers);
        }
        pixels::draw(self, style)
    }
}
