//! [`Style`]: how a screen is to be drawn: width, colours, order of the map.

use super::ColorDepth;

/// How a screen is to be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns that a line may take.
    pub width: usize,
    /// Colours that may be used.
    pub depth: ColorDepth,
    /// Order of the map.
    pub order: Order,
    /// What a row of the map is.
    pub by: By,
}

impl Default for Style {
    /// 100 columns without colour, in the reported order, by core.
    fn default() -> Style {
        Style { width: 100, depth: ColorDepth::None, order: Order::Topology, by: By::Core }
    }
}

impl Style {
    /// So many columns without colour.
    pub fn of_width(width: usize) -> Style {
        Style { width, ..Style::default() }
    }
}

/// Order of rows and columns (`--order`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By CPU id.
    Id,
    /// By the reported structure, so that neighbours share most.
    Topology,
    /// By the values: a chain of nearest neighbours.
    Measured,
}

/// What a row of the map is (`--by`). Machines without SMT look the same both ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// A core; its cell is the median over the pairs of threads.
    Core,
    /// A hardware thread.
    Thread,
}
