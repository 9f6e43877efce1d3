//! How often the intervals of a cell hold the truth, per scenario and none averaged away.
//!
//! The simulation works at the level of batches: lines × visits × passes, fresh lines in every pass, through the same
//! summary and the same intervals as a real cell. Truth is the mean line factor, 1. In release, over 10,000 cells
//! (`--features acceptance --test coverage`), it is the acceptance test; `tests/coverage_reduced.rs` runs the same
//! with 400 cells.

mod oracle;

use oracle::{Bounds, LAYOUTS, Row, SCENARIOS, check, table, tally};

const CELLS: u64 = 10_000;

#[test]
fn intervals_hold_the_truth_in_every_scenario() {
    let rows: Vec<Row> =
        SCENARIOS.iter().flat_map(|s| LAYOUTS.iter().map(|layout| tally(s, layout, CELLS))).collect();
    println!("{}", table(&rows));
    check(&rows, Bounds { fixed: 0.93..=0.97, adaptive: 0.93 });
}
