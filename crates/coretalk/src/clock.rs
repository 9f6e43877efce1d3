//! [`ClockView`]: what was found out about the clock, for screens and documents.

use coretalk_model::{ClockFacts, Departure, Matrix};

/// What was found out about the clock.
#[derive(Debug, Clone, PartialEq)]
pub struct ClockView {
    /// The facts that every run records.
    pub facts: ClockFacts,
    /// Cost of a start-stop pair of reads: nanoseconds and how often, by rising cost.
    pub cost: Vec<(f64, u64)>,
    /// Bounds of what the counter of the row's CPU shows more than that of the column's, in nanoseconds, low and
    /// high; `None` for pairs that were not compared.
    pub offsets: Option<Matrix<Option<[f64; 2]>>>,
    /// CPUs that went away while they were compared.
    pub departed: Vec<Departure>,
    /// Further CPUs, which were not compared.
    pub left_out: usize,
}

impl ClockView {
    /// The facts alone, where no CPUs were compared.
    pub fn of_facts(facts: ClockFacts) -> ClockView {
        ClockView { facts, cost: Vec::new(), offsets: None, departed: Vec::new(), left_out: 0 }
    }
}
