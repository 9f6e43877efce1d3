//! [`ClockView`]: facts about the clock, for screens and documents.

use coretalk_model::{ClockFacts, CpuLoss, Matrix};

/// Facts about the clock and comparisons of its counters.
#[derive(Debug, Clone, PartialEq)]
pub struct ClockView {
    /// Facts that every run records.
    pub facts: ClockFacts,
    /// Costs of a pair of start and stop reads in nanoseconds, ascending, with their counts.
    pub cost: Vec<(f64, u64)>,
    /// Bounds of the counter of the row CPU minus that of the column CPU, in nanoseconds; `None` if not compared.
    pub offsets: Option<Matrix<Option<[f64; 2]>>>,
    /// CPUs lost during the comparison.
    pub departed: Vec<CpuLoss>,
    /// Number of CPUs that were not compared.
    pub left_out: usize,
}

impl ClockView {
    /// Creates the view without a comparison of CPUs.
    pub fn of_facts(facts: ClockFacts) -> ClockView {
        ClockView { facts, cost: Vec::new(), offsets: None, departed: Vec::new(), left_out: 0 }
    }
}
