//! Coverage of a cell's intervals, for each scenario separately.
//!
//! The simulation generates batches (lines × visits × passes, with new lines in every pass) and applies the summary and
//! intervals of a real cell. The true value, the mean line factor, is 1. With 10,000 cells
//! (`CORETALK_TEST_ACCEPTANCE=1`) it is the acceptance test; by default it has fewer cells and wider bounds.

use coretalk_model::stats::{
    ANALYSES, Analysis, CellPass, Decision, Estimate, Key, LineScratch, decide, drift, drift_interval,
    elementary, fixed_interval, median, passes_interval, processes_interval, summarize_lines,
};
use std::fmt::Write as _;
use std::thread;

/// The standard error of a coverage of 95 % over this many cells is 1.1 points.
const FEW_CELLS: u64 = 400;

fn is_acceptance() -> bool {
    std::env::var_os("CORETALK_TEST_ACCEPTANCE").is_some()
}

#[test]
fn intervals_cover_the_true_value_in_every_scenario() {
    let cells = if is_acceptance() { 10_000 } else { FEW_CELLS };
    let rows: Vec<Row> = thread::scope(|scope| {
        let start =
            |scenario| LAYOUTS.each_ref().map(|layout| scope.spawn(move || tally(scenario, layout, cells)));
        let started: Vec<_> = SCENARIOS.iter().flat_map(start).collect();
        started.into_iter().map(|row| row.join().unwrap()).collect()
    });
    println!("{}", table(&rows));
    // With few cells, the bounds are three standard errors wider; the adaptive interval has more reserve, except under
    // the strongest drift.
    let few = Bounds { fixed: 0.90..=0.99, adaptive: 0.91 };
    check(&rows, if is_acceptance() { Bounds { fixed: 0.93..=0.97, adaptive: 0.93 } } else { few });
}

#[test]
fn ignoring_drift_reduces_coverage_and_the_test_detects_it() {
    let [_, short] = LAYOUTS;
    let drift = SCENARIOS.iter().find(|scenario| scenario.drift_sd > 0.03).unwrap();
    let row = tally(drift, &short, FEW_CELLS);
    for (passes, tally) in FIXED.iter().zip(&row.independent) {
        assert!(tally.coverage() < 0.88, "{passes} passes taken as independent cover {}", tally.coverage());
    }
}

/// Compares one program with itself: its processes must hardly ever differ significantly.
#[test]
fn one_program_under_two_names_rarely_differs_significantly() {
    const PROCESSES: u64 = 5;
    let pairs = if is_acceptance() { 200_000 } else { 20_000 };
    for (analysis, passes) in [(Analysis::FIRST, 8), (Analysis::SECOND, 24)] {
        // Processes scatter by 10 %, passes of a process by 1 %.
        let interval = |key: Key| {
            let value = |pass: u64| {
                100.0 * (1.0 + 0.1 * key.normal(pass % PROCESSES)) * (1.0 + 0.01 * key.with(7).normal(pass))
            };
            let passes: Vec<_> = (0..passes).map(|pass| ((pass % PROCESSES) as u32, value(pass))).collect();
            processes_interval(&passes, analysis, 0.0).unwrap()
        };
        let differs = |pair: &u64| {
            !interval(Key::from_words(&[*pair, 0])).overlaps(&interval(Key::from_words(&[*pair, 1])))
        };
        let differing = (0..pairs).filter(differs).count() as f64 / pairs as f64;
        println!("{passes} passes of {PROCESSES} processes: {:.2} % differ", 100.0 * differing);
        assert!(differing > 0.0 && differing <= 0.005, "{differing}");
    }
}

/// Disturbances of batches, in addition to line factors with a standard deviation of 8 %.
struct Scenario {
    name: &'static str,
    /// Relative standard deviation of a batch.
    batch_sd: f64,
    /// Share of batches that are 1.3 to 4 times as long.
    spikes: f64,
    /// Standard deviation of a first-order autoregression with ρ = 0.9 over the batches of a pass.
    walk_sd: f64,
    /// Standard deviation of drift over the passes of a cell, with the measured correlation.
    drift_sd: f64,
    gap_s: f64,
}

const QUIET: Scenario =
    Scenario { name: "batch 3 %", batch_sd: 0.03, spikes: 0.0, walk_sd: 0.0, drift_sd: 0.0, gap_s: 0.06 };

const SCENARIOS: [Scenario; 8] = [
    QUIET,
    Scenario { name: "batch 6 %", batch_sd: 0.06, ..QUIET },
    Scenario { name: "spikes 3 %", spikes: 0.02, ..QUIET },
    Scenario { name: "spikes 6 %", batch_sd: 0.06, spikes: 0.02, ..QUIET },
    // Correlated within a pass; the passes are far apart in time.
    Scenario { name: "AR(1)", walk_sd: 0.03, gap_s: 5.0, ..QUIET },
    Scenario { name: "drift 2 %", drift_sd: 0.02, ..QUIET },
    // Weaker drift is hidden by the lines; stronger drift is detected.
    Scenario { name: "drift 1 %", drift_sd: 0.01, ..QUIET },
    Scenario { name: "drift 4 %", drift_sd: 0.04, ..QUIET },
];

struct Layout {
    lines: usize,
    visits: usize,
}

const LAYOUTS: [Layout; 2] = [Layout { lines: 64, visits: 3 }, Layout { lines: 32, visits: 1 }];

#[derive(Default)]
struct Row {
    name: String,
    /// By number of passes: the interval from the errors of the lines and the times of the passes.
    fixed: [Tally; 3],
    /// The same intervals, treating passes as independent.
    independent: [Tally; 3],
    /// Stopping at 8 or 24 passes with a floor of ± 2 %.
    adaptive: Tally,
    unfloored: Tally,
    passes: Vec<f64>,
    /// Stopping at 8, 24, 48 or 96 passes with a quarter of that half width, both as the request and as the floor.
    finer: Tally,
}

/// Requested half width, and the floor: no smaller half width is trusted.
const PRECISION: f64 = 0.02;
const TRUTH: f64 = 1.0;
const BATCH_TICKS: f64 = 100_000.0;
const FIXED: [usize; 3] = [8, 16, 24];
/// Number of analyses at the finer precision.
const FINER_ANALYSES: u32 = 4;

fn tally(scenario: &Scenario, layout: &Layout, cells: u64) -> Row {
    let factor = cholesky(Analysis::at(usize::MAX, FINER_ANALYSES).passes(), scenario.gap_s);
    let mut scratch = LineScratch::default();
    let name = format!("{}, {} x {}", scenario.name, layout.lines, layout.visits);
    let mut row = Row { name, ..Row::default() };
    for cell in 0..cells {
        let passes = simulate(scenario, layout, Key::from_words(&[2026, cell]), &factor, &mut scratch);
        let values: Vec<f64> = passes.iter().map(|pass| pass.value).collect();
        for (index, &n) in FIXED.iter().enumerate() {
            row.fixed[index].add(drift_interval(&passes[..n]));
            row.independent[index].add(fixed_interval(&values[..n]));
        }
        let usual = ANALYSES.len() as u32;
        let (interval, passes) = adapt(&values, PRECISION, PRECISION, usual);
        row.adaptive.add(interval);
        row.passes.push(passes as f64);
        row.unfloored.add(adapt(&values, PRECISION, 0.0, usual).0);
        row.finer.add(adapt(&values, PRECISION / 4.0, PRECISION / 4.0, FINER_ANALYSES).0);
    }
    row
}

fn adapt(values: &[f64], precision: f64, floor: f64, max_analyses: u32) -> (Option<Estimate>, usize) {
    let mut n = ANALYSES[0];
    loop {
        let interval = passes_interval(&values[..n], Analysis::at(n, max_analyses), 1.0, floor);
        let width = interval.map_or(f64::NAN, |interval| interval.half_width() / interval.point);
        if decide(n, width, precision, max_analyses) != Decision::More {
            return (interval, n);
        }
        n = Analysis::at(n + 1, max_analyses).passes();
    }
}

fn simulate(
    scenario: &Scenario,
    layout: &Layout,
    key: Key,
    factor: &[Vec<f64>],
    scratch: &mut LineScratch,
) -> Vec<CellPass> {
    let line_sd = elementary::ln(1.0 + 0.08f64 * 0.08).sqrt();
    let shocks: Vec<f64> = (0..factor.len() as u64).map(|i| key.with(9).normal(i)).collect();
    let mut ticks = vec![0; layout.lines * layout.visits];
    let drift = |row: &[f64]| -> f64 { row.iter().zip(&shocks).map(|(a, b)| a * b).sum() };
    let one_pass = |(pass, row): (usize, &Vec<f64>)| {
        let key = key.with(pass as u64);
        let (lines, batches, spikes, walk) = (key.with(1), key.with(2), key.with(3), key.with(4));
        let level = 1.0 + scenario.drift_sd * drift(row);
        let mut state = walk.normal(u64::MAX);
        let factors: Vec<f64> = (0..layout.lines as u64)
            .map(|line| elementary::exp(line_sd * lines.normal(line) - line_sd * line_sd / 2.0))
            .collect();
        // In time order: every line once, then every line again.
        for visit in 0..layout.visits {
            for line in 0..layout.lines {
                let counter = (visit * layout.lines + line) as u64;
                let mut batch = level * factors[line] * (1.0 + scenario.batch_sd * batches.normal(counter));
                if scenario.walk_sd > 0.0 {
                    batch *= 1.0 + scenario.walk_sd * state;
                    state = 0.9 * state + (1.0f64 - 0.81).sqrt() * walk.normal(counter);
                }
                if scenario.spikes > 0.0 && spikes.uniform(counter) < scenario.spikes {
                    batch *= 1.3 + 2.7 * spikes.with(1).uniform(counter);
                }
                ticks[line * layout.visits + visit] = (batch * BATCH_TICKS) as u32;
            }
        }
        let summary = summarize_lines(&ticks, layout.visits, scratch).expect("a pass has batches");
        CellPass {
            at_s: pass as f64 * scenario.gap_s,
            value: summary.location / BATCH_TICKS,
            line_error: summary.line_error.unwrap_or_default() / BATCH_TICKS,
        }
    };
    factor.iter().enumerate().map(one_pass).collect()
}

/// Lower triangle L with L·Lᵀ = the correlations of drift between `n` passes.
fn cholesky(n: usize, gap_s: f64) -> Vec<Vec<f64>> {
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for i in 0..n {
        let mut row = Vec::with_capacity(i + 1);
        for j in 0..=i {
            let covariance = drift::drift_correlation((i - j) as f64 * gap_s);
            let known: f64 = row.iter().zip(rows.get(j).unwrap_or(&row)).map(|(a, b)| a * b).sum();
            row.push(if i == j { (covariance - known).sqrt() } else { (covariance - known) / rows[j][j] });
        }
        rows.push(row);
    }
    rows
}

#[derive(Default)]
struct Tally {
    covered: u64,
    half_widths: Vec<f64>,
}

impl Tally {
    fn add(&mut self, interval: Option<Estimate>) {
        let interval = interval.expect("a cell has passes");
        self.covered += u64::from(interval.contains(TRUTH));
        self.half_widths.push(interval.half_width() / interval.point);
    }

    fn coverage(&self) -> f64 {
        self.covered as f64 / self.half_widths.len() as f64
    }

    fn half_width(&self) -> f64 {
        median(&self.half_widths).expect("a scenario has cells")
    }
}

struct Bounds {
    fixed: std::ops::RangeInclusive<f64>,
    adaptive: f64,
}

fn check(rows: &[Row], bounds: Bounds) {
    for Row { name, fixed, adaptive, unfloored, finer, .. } in rows {
        for (passes, coverage) in FIXED.iter().zip(fixed.iter().map(Tally::coverage)) {
            assert!(bounds.fixed.contains(&coverage), "{name}: {passes} passes cover {coverage}");
        }
        // Each further analysis spends a share of the error probability.
        for (what, tally) in [("adaptive", adaptive), ("the finer precision", finer)] {
            let coverage = tally.coverage();
            assert!(coverage >= bounds.adaptive, "{name}: {what} covers {coverage}");
        }
        if name.starts_with(QUIET.name) {
            let half_width = adaptive.half_width();
            assert!(half_width <= 1.5 * PRECISION, "{name}: half-width {half_width}");
            // In the quiet scenario the interval must cover without the floor.
            let coverage = unfloored.coverage();
            assert!(coverage >= bounds.adaptive, "{name}: {coverage} without a floor");
        }
    }
}

fn table(rows: &[Row]) -> String {
    let mut out = String::from(
        "coverage % / median half-width %    as independent            with lines and times      adaptive ± 2 %      no floor  ± 0.5 %\n\
         scenario, lines x visits          n = 8      16       24     n = 8      16       24     passes\n",
    );
    let show = |tally: &Tally| format!("{:4.1}/{:4.2}", 100.0 * tally.coverage(), 100.0 * tally.half_width());
    for row in rows {
        let _ = write!(out, "{:28}", row.name);
        for tally in row.independent.iter().chain(&row.fixed) {
            let _ = write!(out, " {}", show(tally));
        }
        let others = [&row.adaptive, &row.unfloored, &row.finer].map(show).join("  ");
        let _ = writeln!(out, "  {:>2}  {others}", median(&row.passes).unwrap_or_default());
    }
    out
}
