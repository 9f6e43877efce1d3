//! Acceptance on simulated machines with known truth: over ten thousand cells each, with printed results. Run by name
//! (`--ignored --nocapture acceptance::`, seconds to minutes); shorter versions are part of the usual tests.

use crate::vocabulary::{Run, builtin, changed, detection, dies, plan, run, run_briefly};
use coretalk_measure::Scenario;
use coretalk_model::latency::{Counts, Parallel, Purpose, Regime};
use coretalk_model::stats::median;
use coretalk_model::{Flag, Relation};
use std::collections::{BTreeMap, BTreeSet};

/// 144 cores on 18 dies: 10,296 cells.
fn large(noise: &str) -> Scenario {
    changed("chiplet-16", &format!("variation.line_sd = 0.08\n{}", dies(18, noise)))
}

const NOISES: [(&str, &str); 5] = [
    ("line sd 8 %, batch sd 3 %", "batch_sd = 0.03"),
    ("line sd 8 %, batch sd 6 %", "batch_sd = 0.06"),
    ("2 % spikes", "batch_sd = 0.03\nspike_share = 0.02"),
    ("AR(1) rho 0.9 at 3 %", "batch_sd = 0.03\nar_rho = 0.9\nar_sd = 0.03"),
    ("drift 1 % over 300 ms", "batch_sd = 0.03\ndrift_sd = 0.01\ndrift_ms = 300"),
];

/// Factor by which a run lengthens every transfer of a relation: timer ticks, the clock read of each batch, and the
/// mean of skewed noise. An endless run would include it, so intervals should too; more passes cannot remove it.
type Added = BTreeMap<Relation, f64>;

/// Estimates [`Added`] from a run with another seed: the median of measured ÷ true over the cells of each relation.
fn added(scenario: &Scenario, counts: Counts, precision: f64) -> Added {
    measure_with(scenario.clone(), 1011, counts, precision).relations()
}

/// Shares of cells whose interval contains the result of an endless run: in nanoseconds at nominal clocks, and in core
/// cycles, which are independent of clock drift; and the share that contains the bare truth in nanoseconds.
fn coverage(run: &Run, added: &Added) -> [f64; 3] {
    const NOMINAL_GHZ: f64 = 4.0;
    let values = run.values();
    let mut contained = [0usize; 3];
    for (pair, value) in &values {
        let bare_ns = run.true_ns(*pair, value);
        let endless_ns = bare_ns * added[&run.relation(*pair)];
        contained[0] += usize::from(value.latency_ns.contains(endless_ns));
        contained[1] += usize::from(value.cycles.get().unwrap().contains(endless_ns * NOMINAL_GHZ));
        contained[2] += usize::from(value.latency_ns.contains(bare_ns));
    }
    contained.map(|count| count as f64 / values.len() as f64)
}

fn half_width(run: &Run) -> f64 {
    let values = run.values().into_iter();
    let widths: Vec<f64> =
        values.map(|(_, value)| value.latency_ns.half_width() / value.latency_ns.point).collect();
    median(&widths).unwrap()
}

fn measure_with(scenario: Scenario, seed: u64, counts: Counts, precision: f64) -> Run {
    run_briefly(scenario, seed, |settings| {
        (settings.counts, settings.precision, settings.ladder) = (counts, precision, false);
    })
}

#[test]
#[ignore = "over ten thousand cells"]
fn printed_intervals_contain_the_truth_in_every_scenario() {
    let mut missed = Vec::new();
    for (name, noise) in NOISES {
        let fixed = Counts::Fixed { samples: 300, iterations: 1000 };
        for (kind, counts, precision) in [
            ("adaptive ± 2 %", Counts::Adaptive, 0.02),
            ("adaptive ± 1 %", Counts::Adaptive, 0.01),
            ("fixed 1000 × 300", fixed, 0.02),
        ] {
            let added = added(&large(noise), counts, precision);
            let run = measure_with(large(noise), 11, counts, precision);
            let (covered, width, cells) = (coverage(&run, &added), half_width(&run), run.values().len());
            let wide = run.count_flagged(Flag::WideCi);
            let most = added.values().map(|factor| factor - 1.0).fold(0.0, f64::max);
            println!(
                "{name}, {kind}: {cells} cells, {wide} wide; of ns, cycles and bare ns {covered:.4?} contain the truth; \
                 half-width {width:.4}, added at most {most:.4}"
            );
            // Adaptive intervals are wide enough for the added factor, so they must contain the bare truth too.
            let (bounds, of_interest, most_added) = match counts {
                Counts::Adaptive => (0.93..=1.0, &covered[..], precision / 2.0 + MAX_ADDED),
                Counts::Fixed { .. } => (0.93..=0.97, &covered[..2], MAX_ADDED),
            };
            if of_interest.iter().any(|covered| !bounds.contains(covered)) || cells < 10_000 {
                missed.push(format!("{name}, {kind}: {covered:?} of {cells}"));
            }
            if added.values().any(|factor| (factor - 1.0).abs() > most_added) {
                missed.push(format!("{name}, {kind}: the run adds {added:?}"));
            }
            if name == NOISES[0].0 && counts == Counts::Adaptive && width > 1.5 * precision {
                missed.push(format!("{name}, {kind}: median half-width {width}"));
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

/// Maximum effect of ticks and skewed noise on a transfer. The clock read of each batch adds at most half of the
/// requested precision where a run chooses the length of its batches.
const MAX_ADDED: f64 = 0.004;

#[test]
#[ignore = "over ten thousand cells"]
fn bad_cells_are_found_and_good_ones_are_left_alone() {
    for share in [0.003, 0.01] {
        let run = measure_with(large(&format!("bad_share = {share}")), 12, Counts::Adaptive, 0.02);
        let found = detection(&run);
        println!("{share} bad trials: recall {:.4}, precision {:.4}", found.recall, found.precision);
        assert!(found.recall >= 0.99 && found.precision >= 0.90, "{found:?}");
    }
}

#[test]
#[ignore = "over ten thousand cells"]
fn a_parallel_bias_of_two_percent_is_found_and_none_is_invented() {
    for (bias, bounds) in [(0.0, 0.0..=0.05), (0.02, 0.95..=1.0)] {
        let (mut verdicts, mut refused) = (0, 0);
        for seed in 0..20 {
            let noise = format!("parallel_bias = {}", bias / 31.0);
            let run = run_briefly(changed("chiplet-16", &dies(8, &noise)), seed, |settings| {
                (settings.parallel, settings.ladder) = (Parallel::AtMost(32), false);
            });
            let Regime::Parallel { pairs, gate } = &run.result.maps[0].regime else { panic!("serial") };
            verdicts += gate.len();
            refused += gate.iter().filter(|outcome| outcome.pairs < *pairs || !outcome.equivalent).count();
        }
        let share = refused as f64 / verdicts as f64;
        println!("bias of {bias} with 32 pairs: {share:.4} of {verdicts} verdicts refuse");
        assert!(bounds.contains(&share), "{bias}: {share}");
    }
}

#[test]
#[ignore = "over ten thousand cells"]
fn large_machines_are_measured_in_seconds_of_their_own_time() {
    for (name, precision, bound) in
        [("epyc-2s-192", 0.02, 5.0), ("epyc-2s-192", 0.01, 10.0), ("huge-1024", 0.02, 30.0)]
    {
        let run = run_briefly(builtin(name), 3, |settings| settings.precision = precision);
        println!("{name} ± {precision}: {:.2} s of {bound} s", run.took.secs());
        assert!(run.took.secs() <= bound);
    }
    let run = run(builtin("mesh-64"), 3, |_| ());
    let (pairs, mut measured) = (run.pairs().len(), BTreeSet::new());
    let first = run.kept.rounds.iter().filter(|round| round.purpose == Purpose::Map).find_map(|round| {
        measured.extend(round.trials.iter().map(|trial| trial.cell));
        (measured.len() == pairs).then_some(round.started + round.elapsed)
    });
    println!("first complete map of mesh-64 after {:.2} s", first.unwrap().secs());
    assert!(first.unwrap().secs() <= 1.0);
}

#[test]
#[ignore = "over ten thousand cells"]
fn plan_predicts_the_time_of_the_run() {
    let mut missed = Vec::new();
    for name in Scenario::names() {
        let mut ratios = Vec::new();
        for seed in if *name == "huge-1024" { 3..4 } else { 3..7 } {
            let planned = plan(builtin(name), seed, |_| ()).machine_time.secs();
            let took = run_briefly(builtin(name), seed, |_| ()).took.secs();
            let ratio = planned / took;
            println!("{name}, seed {seed}: {took:.2} s, {ratio:.3} of it planned");
            ratios.push(ratio);
        }
        // A plan cannot foresee the re-measurements that a machine with changing states needs.
        let usual = median(&ratios).unwrap();
        if (usual - 1.0).abs() > 0.10 || ratios.iter().any(|ratio| (ratio - 1.0).abs() > 0.25) {
            missed.push(format!("{name}: {ratios:.3?}"));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}
