//! `coverage.rs` with fewer cells and bounds to match, in the time of a plain `cargo test`.

mod oracle;

use oracle::{Bounds, LAYOUTS, Row, SCENARIOS, check, table, tally};

/// Standard error of a coverage of 95 % over so many cells: 1.1 points.
const CELLS: u64 = 400;

#[test]
fn intervals_hold_the_truth_about_as_often_as_they_claim() {
    let rows: Vec<Row> =
        SCENARIOS.iter().flat_map(|s| LAYOUTS.iter().map(|layout| tally(s, layout, CELLS))).collect();
    println!("{}", table(&rows));
    // Three standard errors beyond the bounds of the acceptance test; the adaptive interval has them to spare, but
    // for the strongest drift.
    check(&rows, Bounds { fixed: 0.90..=0.99, adaptive: 0.91 });
}

#[test]
fn ignoring_drift_covers_too_little_and_the_test_sees_it() {
    let [_, short] = LAYOUTS;
    let drift = SCENARIOS.iter().find(|scenario| scenario.drift_sd > 0.03).unwrap();
    let row = tally(drift, &short, CELLS);
    for (passes, score) in &row.independent {
        assert!(score.coverage < 0.88, "{passes} passes taken as independent cover {}", score.coverage);
    }
}
