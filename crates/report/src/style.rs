//! [`Style`]: width, colours and map order of a screen.

/// The appearance of a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns of a line.
    pub width: usize,
    /// Colours that may be used.
    pub depth: ColorDepth,
    /// Order of the rows of maps.
    pub order: Order,
    /// What a row of a map stands for.
    pub by: By,
}

impl Default for Style {
    fn default() -> Style {
        Style { width: 100, depth: ColorDepth::None, order: Order::Topology, by: By::Core }
    }
}

impl Style {
    /// A style of this number of columns, without colours.
    pub fn of_width(width: usize) -> Style {
        Style { width, ..Style::default() }
    }
}

/// The colours that may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColorDepth {
    /// No escape sequences.
    None,
    /// The sixteen named colours.
    Ansi16,
    /// The 6 × 6 × 6 cube and the grey ramp.
    Ansi256,
    /// 24 bits.
    TrueColor,
}

/// Order of rows and columns (`--order`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By CPU id.
    Id,
    /// By the reported structure: CPUs that share most are neighbours.
    Topology,
    /// By the values: a chain of nearest neighbours.
    Measured,
}

/// What a row of a map stands for (`--by`). Without SMT, both values have the same effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// A core; its cell is the median over the pairs of threads.
    Core,
    /// A hardware thread.
    Thread,
}
