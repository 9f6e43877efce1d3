//! [`HeatMap`]: a square picture of who reaches whom how soon, as wide as the terminal allows.
//!
//! Numbers on coloured ground while they fit the width; beyond, half-block pixels; without colour, glyphs that grow
//! denser with the latency. Bars stand where a reported group ends.

mod axis;
mod numbers;
mod pixels;

pub use axis::{Axis, bar_levels, ordered};

use super::{By, Look};
use coretalk_model::latency::summary::Reading;
use coretalk_model::{CpuId, Matrix, Topology};

/// A picture of the readings of one map, complete or still being measured.
#[derive(Debug)]
pub struct HeatMap<'a> {
    readings: &'a Matrix<Option<Reading>>,
    topology: &'a Topology,
    rows: Vec<Vec<CpuId>>,
    threads_per_core: usize,
}

/// How a picture was drawn, for the words around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Drawn {
    /// A number for each cell.
    Numbers,
    /// A pixel, or a glyph, for several rows and columns of the map.
    Pixels {
        /// Most rows of the map in a pixel.
        rows: usize,
        /// Most columns of the map in a pixel.
        columns: usize,
    },
}

impl<'a> HeatMap<'a> {
    /// Arranges the map as the look asks.
    pub fn new(readings: &'a Matrix<Option<Reading>>, topology: &'a Topology, look: &Look) -> HeatMap<'a> {
        let order = ordered(readings, topology, look.order);
        let rows = match look.by {
            By::Core => axis::cores(&order, topology),
            By::Thread => order.iter().map(|&cpu| vec![cpu]).collect(),
        };
        let threads_per_core = rows.iter().map(Vec::len).max().unwrap_or(0);
        HeatMap { readings, topology, rows, threads_per_core }
    }

    /// The rows: CPUs, or cores with their CPUs.
    pub fn rows(&self) -> &[Vec<CpuId>] {
        &self.rows
    }

    /// Most threads in a row: above 1 where rows are cores with SMT.
    pub fn threads_per_core(&self) -> usize {
        self.threads_per_core
    }

    /// The picture line by line, none wider than the look, and how it was drawn.
    pub fn draw(&self, look: &Look) -> (Vec<String>, Drawn) {
        if let Some(lines) = numbers::draw(self, look) {
            return (lines, Drawn::Numbers);
        }
        pixels::draw(self, look)
    }
}
