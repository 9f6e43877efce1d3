//! [`PairMap`]: a text picture of the latency between each pair of CPUs, as wide as the terminal allows.
//!
//! Cells are numbers on a coloured background if they fit, else half-block pixels. Without colours, denser glyphs show
//! higher latencies. Bars mark the ends of reported groups.

mod axis;
mod numbers;
mod pixels;

pub use axis::{Axis, bar_levels, groups, ordered, rows};

use super::scope::distance_words;
use super::{By, Style};
use crate::blocks::value::{DisplayUnit, DisplayValue, MapSource, Number, Source};
use crate::blocks::{Drawing, DrawnNumber};
use coretalk_model::latency::summary::{PairReading, SummaryTable};
use coretalk_model::series::MapUnit;
use coretalk_model::{CpuId, Matrix, Relation, Topology};
use std::borrow::Cow;

/// The readings of a complete or unfinished map.
#[derive(Debug)]
pub struct PairMap<'a> {
    readings: Cow<'a, Matrix<Option<PairReading>>>,
    topology: &'a Topology,
    source: MapSource,
    unit: MapUnit,
}

#[derive(Debug)]
struct HeatMap<'a> {
    map: &'a PairMap<'a>,
    rows: Vec<Vec<CpuId>>,
}

/// How a picture was drawn, for the text around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MapFormat {
    /// One number for each cell.
    Numbers,
    /// One pixel or character for several rows and columns of the map.
    Parts {
        /// `pixel` or `character`.
        what: &'static str,
        /// Maximum number of rows of the map per pixel or character.
        rows: usize,
        /// Maximum number of columns of the map per pixel or character.
        columns: usize,
    },
}

/// The content of the diagonal of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Diagonal {
    /// Nothing, or pairs of two CPUs, as in other cells.
    Pairs,
    /// Both roles on the CPU of the row.
    Own,
    /// Both roles on one CPU of the row and, separately, on two CPUs of the row.
    Both,
}

impl Diagonal {
    /// The content of the diagonal of a square with these rows.
    pub fn from_table(cells: &SummaryTable, rows: &[Vec<CpuId>]) -> Diagonal {
        let is_own = |(at, row): (usize, &Vec<CpuId>)| row.len() == 1 && cells.get(at, at).pairs > 0;
        match cells.has_own() {
            true => Diagonal::Both,
            false if rows.iter().enumerate().any(is_own) => Diagonal::Own,
            false => Diagonal::Pairs,
        }
    }
}

/// Names for both roles on one CPU, and for two CPUs of a core.
pub fn names_of_diagonal(topology: &Topology) -> [String; 2] {
    [Relation::SameCpu, Relation::Smt].map(|relation| distance_words(relation, topology))
}

impl<'a> PairMap<'a> {
    /// A map in nanoseconds.
    pub fn new(
        readings: Cow<'a, Matrix<Option<PairReading>>>,
        topology: &'a Topology,
        source: MapSource,
    ) -> PairMap<'a> {
        PairMap { readings, topology, source, unit: MapUnit { name: "ns".to_owned(), divisor: 1.0 } }
    }

    /// The same map with readings in another unit.
    #[must_use]
    pub fn in_unit(self, unit: MapUnit) -> PairMap<'a> {
        PairMap { unit, ..self }
    }

    fn arranged(&self, style: &Style) -> HeatMap<'_> {
        HeatMap { map: self, rows: rows(&self.readings, self.topology, style.order, style.by) }
    }

    /// Maximum number of threads in a row; above 1 if rows are cores with SMT.
    pub fn threads_per_core(&self, style: &Style) -> usize {
        self.arranged(style).threads_per_core()
    }

    /// The picture, with no line wider than the style allows, and how it was drawn.
    pub fn draw(&self, style: &Style) -> (Drawing, MapFormat) {
        let arranged = self.arranged(style);
        let (drawing, format) = match numbers::draw(&arranged, style) {
            Some(drawing) => (drawing, MapFormat::Numbers),
            None => {
                let (lines, format) = pixels::draw(&arranged, style);
                (lines.into(), format)
            }
        };
        (Drawing { unit: self.unit.name.clone(), ..drawing }, format)
    }
}

impl HeatMap<'_> {
    fn threads_per_core(&self) -> usize {
        self.rows.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// The numbers of a cell: for two CPUs and, if separate, for both roles on one CPU.
    fn shown(&self, cells: &SummaryTable, [row, column]: [usize; 2]) -> [Option<DrawnNumber>; 2] {
        let cell = cells.get(row, column);
        let divisor = self.map.unit.divisor;
        let shown = |number: f64, doubtful: u32, own| DrawnNumber {
            value: DisplayValue {
                number: Number::Short(number * divisor),
                unit: DisplayUnit::OfColumn(divisor),
                source: Source::Cell {
                    map: self.map.source.clone(),
                    row: self.rows[row].clone(),
                    column: self.rows[column].clone(),
                    own,
                },
            },
            doubtful: doubtful > 0,
        };
        [
            cell.median_ns.map(|number| shown(number, cell.doubtful, false)),
            cell.own.map(|own| shown(own.median_ns, own.doubtful, true)),
        ]
    }
}
