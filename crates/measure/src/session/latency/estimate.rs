//! [`plan`]: predicts what a run would measure and how long it takes. The basis is a short pilot and trials of some
//! rounds.

use super::driver::Driver;
use super::imitate::{self, imitation};
use super::map::remaining::share_open;
use super::map::{
    FEW, LATE_GAP, MAP_SHARE, PassTarget, gap, has_further_analyses, prepare, regime, rounds, surveys, target,
};
use super::{Ended, ResumedState, RunError, pilot};
use crate::machine::Machine;
use crate::schedule;
use crate::stop::Stop;
use coretalk_model::latency::analyse::Survey;
use coretalk_model::latency::{ChosenRegime, LatencySettings, Purpose, cell};
use coretalk_model::plan::LatencyPlan;
use coretalk_model::stats::{ANALYSES, Analysis, median};
use coretalk_model::{Hint, KernelId, Picos, Protocol, Relation};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a visit in the run file: raw ticks if they are kept, else a summary per span. On seven simulated machines
/// of 4 to 192 CPUs the prediction was 0.74 to 1.03 times the sizes, without second analyses and the gate.
const RAW_BYTES_PER_BATCH: f64 = 1.8;
const SUMMARY_BYTES_PER_SPAN: f64 = 22.0;
const ROW_BYTES: f64 = 56.0;
const EMPTY_FILE_BYTES: f64 = 100_000.0;

/// Predicts a [`run`](super::run), after a pilot on representative pairs whose data are discarded. Fails if the machine
/// cannot even run the pilot.
pub fn plan(
    machine: &mut dyn Machine,
    settings: &LatencySettings,
    stop: &Stop,
) -> Result<LatencyPlan, RunError> {
    let (mut sink, mut observer) = ((), ());
    let mut driver = Driver::new(machine, settings, ResumedState::default(), &mut sink, &mut observer, stop)?;
    let outline = if settings.imitate.is_empty() {
        if pilot::perform(&mut driver)? == Ended::Interrupted {
            return Err(RunError::Interrupted);
        }
        outline(&mut driver)?
    } else {
        imitated(&mut driver)?
    };
    if stop.is_raised() {
        return Err(RunError::Interrupted);
    }
    let mut relations: BTreeMap<Relation, u64> = BTreeMap::new();
    for &relation in &driver.relations {
        *relations.entry(relation).or_default() += 1;
    }
    let time = outline.machine_time.secs();
    let in_budget = if time > 0.0 { (settings.budget.secs() / time).min(1.0) } else { 1.0 };
    let visits = driver.pairs.len() as f64 * outline.expected_passes * in_budget;
    let per_visit = if settings.keep_raw || settings.cpus.len() <= super::visit_log::RAW_CPUS {
        ROW_BYTES + RAW_BYTES_PER_BATCH * outline.batches_per_visit
    } else {
        SUMMARY_BYTES_PER_SPAN * outline.spans_per_visit
    };
    let map_time = outline.machine_time.min(settings.budget);
    let tails = super::tails::machine_time(settings, driver.pairs.len(), settings.budget - map_time);
    let basis = match tails {
        Picos::ZERO => outline.basis,
        tails => format!("{}; {tails} of it for single round trips", outline.basis),
    };
    Ok(LatencyPlan {
        cells: driver.pairs.len() as u64,
        relations: relations.into_iter().collect(),
        passes: outline.passes,
        rounds_per_pass: outline.rounds_per_pass,
        parallel: outline.parallel,
        kernels: outline.kernels,
        machine_time: map_time + tails,
        basis,
        file_bytes: (EMPTY_FILE_BYTES + visits * per_visit) as u64,
    })
}

pub struct Outline {
    /// Minimum passes of every cell, and maximum passes of a wide cell.
    pub passes: [u32; 2],
    pub expected_passes: f64,
    pub rounds_per_pass: u64,
    pub parallel: u32,
    pub kernels: Vec<String>,
    pub spans_per_visit: f64,
    pub batches_per_visit: f64,
    pub machine_time: Picos,
    pub basis: String,
}

fn imitated(driver: &mut Driver<'_>) -> Result<Outline, RunError> {
    let tools = &driver.settings.imitate;
    let visits: usize = tools.iter().map(|&tool| imitate::directions(tool).len()).sum();
    let batches: u32 = tools
        .iter()
        .map(|&tool| imitation(driver, tool).visits * imitate::directions(tool).len() as u32)
        .sum();
    let kernels = tools.iter().map(|&tool| KernelId::imitating(tool).to_string()).collect();
    let whole = imitate::machine_time(driver)?;
    let budget = driver.settings.budget;
    let tried = format!("a part of each visit tried in {}", driver.run.elapsed());
    Ok(Outline {
        passes: [visits as u32; 2],
        expected_passes: visits as f64,
        rounds_per_pass: driver.pairs.len() as u64,
        parallel: 1,
        kernels,
        spans_per_visit: 1.0,
        batches_per_visit: f64::from(batches) / visits as f64,
        machine_time: whole.unwrap_or(budget).max(Picos(1)),
        basis: match whole {
            Some(whole) if whole <= budget => tried,
            Some(whole) => format!("{tried}; all pairs take {whole}"),
            None => format!("{tried}; all pairs take longer"),
        },
    })
}

/// Number of tried rounds of a parallel schedule. Five visits suffice for deviations from a median.
const TRIED_ROUNDS: usize = 40;
const TRIED_TIMES: u32 = 5;
/// Share of visits that timer ticks and spikes shift by over 2 % if each line is timed once: 4 in 10,000 on simulated
/// machines. This is too rare to show in the few cells of a serial pilot.
const RARE_SHARE: f64 = 4e-4;

/// Tries a few cells of each relation, and some parallel rounds if the run is parallel. Extrapolates to the run.
pub fn outline(driver: &mut Driver<'_>) -> Result<Outline, RunError> {
    let pilot_time = driver.run.elapsed();
    let target = target(driver);
    prepare(driver, target);
    let parallel = regime(driver, target);
    driver.choices.regime = Some(ChosenRegime { pairs: parallel, ..ChosenRegime::default() });
    let cells = driver.representatives.clone();
    let more_cells = sample_cells(driver);
    let tries = match target {
        PassTarget::Fixed(passes) if !has_further_analyses(driver.settings) => passes.min(2),
        _ => ANALYSES[0] as u32,
    };
    let mut sampled = BTreeMap::new();
    for pass in 0..tries {
        // The first try covers more cells, since durations differ between cells. A few cells suffice to show the noise.
        let tried = if pass == 0 { &more_cells } else { &cells };
        let rounds = schedule::serial(tried, driver.key(Purpose::Map, pass));
        driver.perform(Purpose::Map, pass, &rounds, &|plan, cell| plan.map(cell, 0))?;
        if pass == 0 {
            sampled = expected_by_relation(driver);
        }
    }
    let all: Vec<u32> = (0..driver.pairs.len() as u32).collect();
    let schedule = rounds(driver, &all, 0);
    let mut beyond = if driver.visit_plan.repeats_lines() { 0.0 } else { RARE_SHARE };
    let sweep_ns = if parallel > 1 {
        let tried = &schedule[..TRIED_ROUNDS.min(schedule.len())];
        let began = driver.run.now();
        for pass in tries..tries + TRIED_TIMES {
            driver.perform(Purpose::Map, pass, tried, &|plan, cell| plan.map(cell, 0))?;
        }
        beyond = share_beyond(driver, tried.iter().flatten());
        let once = (driver.run.now() - began).ns() / f64::from(TRIED_TIMES);
        once * schedule.len() as f64 / tried.len() as f64
    } else {
        driver.relations.iter().filter_map(|relation| sampled.get(relation)).sum()
    };
    let ladder_ns = super::ladder::try_a_pass(driver, &cells)?;
    let gap = gap(driver, target);
    let sweep = Picos::from_ns(sweep_ns).max(gap).ns();
    let (passes, expected_passes, map_time) = match target {
        PassTarget::Fixed(passes) => {
            // On a tiny machine these are the passes of the second analysis.
            let further = match has_further_analyses(driver.settings) {
                true => last_analysis(driver, &cells, REACH, sweep) as u32 - passes,
                false => 0,
            };
            let ladder_ns = super::ladder::share_of_a_pass_ns(ladder_ns, passes);
            let with_ladder = super::ladder::passes_beside(passes);
            let time = (sweep_ns + ladder_ns).max(gap.ns()) * f64::from(with_ladder)
                + sweep * f64::from(passes + further - with_ladder);
            ([passes, passes + further], f64::from(passes + further), time)
        }
        PassTarget::Analyses => {
            let share = share_open(driver, &cells, beyond);
            // If only one or two cells are expected to need a second analysis, it may not happen.
            let second_probability = 1.0 - (-share * driver.pairs.len() as f64).exp();
            let late_ns = sweep_ns * rest_share(driver, share, parallel, schedule.len());
            let [usual, last] = [REACH, WIDER_REACH].map(|reach| last_analysis(driver, &cells, reach, sweep));
            let further_passes = (usual - ANALYSES[0]) as f64;
            let second = if share * FEW as f64 <= 1.0 {
                // Ladder time is counted separately, so it is subtracted.
                let alone_ns = super::ladder::whole_ns(ladder_ns);
                (further_passes * (late_ns + ladder_ns / 2.0).max(LATE_GAP.ns()) - alone_ns).max(0.0)
            } else {
                further_passes * late_ns.max(gap.ns())
            };
            let some_ns = sweep_ns * rest_share(driver, SOME_WIDER, parallel, schedule.len());
            let further = (last - usual) as f64 * some_ns.max(gap.ns());
            let remeasured = second_probability * REMEASURED_SHARE * sweep_ns;
            let first = ANALYSES[0] as f64;
            let passes = [ANALYSES[0], last].map(|passes| passes as u32);
            (
                passes,
                first + share * further_passes,
                sweep * first + second_probability * second + further + remeasured,
            )
        }
    };
    // With a fixed number of passes the ladder is interleaved with them.
    let ladder_after =
        if matches!(target, PassTarget::Fixed(_)) { 0.0 } else { super::ladder::whole_ns(ladder_ns) };
    let other_ns = ladder_after + after_map_ns(driver, parallel);
    let orders: Vec<_> = (0..driver.pairs.len()).map(|cell| driver.visit_plan.map(cell, 0)).collect();
    let mean = |count: &dyn Fn(&[crate::machine::SpanOrder]) -> u64| {
        orders.iter().map(|orders| count(orders) as f64).sum::<f64>() / orders.len().max(1) as f64
    };
    let mut kernels: Vec<String> = orders[0].iter().map(|order| order.kernel.id.to_string()).collect();
    kernels.dedup();
    Ok(Outline {
        passes,
        expected_passes,
        rounds_per_pass: schedule.len() as u64,
        parallel,
        kernels,
        spans_per_visit: mean(&|orders| orders.len() as u64),
        batches_per_visit: mean(&|orders| orders.iter().map(|order| order.samples()).sum()),
        machine_time: pilot_time + Picos::from_ns(map_time + other_ns),
        basis: format!(
            "a pilot on {} {} that took {}",
            cells.len(),
            if cells.len() == 1 { "pair" } else { "pairs" },
            driver.run.elapsed()
        ),
    })
}

/// Cost of re-measurements relative to a sweep: one cell in a hundred, with eight visits each.
const REMEASURED_SHARE: f64 = 0.08;

/// Half width of intervals in standard errors of a mean. The order statistics at the second to sixth analysis take 3.3
/// to 4.3. Six medians of blocks take 3.9 (1.25 for a median, 1.27 deviations for the largest of six). The rest
/// accounts for scatter that few visits do not show.
const REACH: f64 = 5.5;
/// Share of cells with wider intervals, and their half width. A tenth of mesh-64 at ± 0.3 % has 3 or 4 further
/// analyses.
const SOME_WIDER: f64 = 0.1;
const WIDER_REACH: f64 = 1.8 * REACH;

/// Number of passes at the analysis that reaches the requested precision in cells like the tried ones, within the
/// budget.
fn last_analysis(driver: &Driver<'_>, cells: &[u32], reach: f64, pass_ns: f64) -> usize {
    let regime = driver.choices.regime.clone().unwrap_or_default();
    // A tiny machine chooses its hints only after the second analysis.
    let without_hint = |&protocol: &Protocol| {
        let kernel = KernelId::new(protocol, Hint::None);
        Survey::new(&driver.topology, driver.settings, &driver.log.record, &regime, &driver.pairs, &kernel)
    };
    let mut surveys = surveys(driver, &regime);
    if surveys.is_empty() {
        surveys.extend(
            driver.settings.protocols.iter().filter(|protocol| protocol.is_latency()).map(without_hint),
        );
    }
    let scales = |survey: &Survey<'_>| -> Vec<f64> {
        cells.iter().filter_map(|&cell| survey.pass_scale(cell as usize)).collect()
    };
    let typical = surveys.iter().filter_map(|survey| median(&scales(survey))).fold(0.0, f64::max);
    let mut passes = ANALYSES[1];
    if !has_further_analyses(driver.settings) {
        return passes;
    }
    let width = |passes: usize| reach * typical / (passes as f64).sqrt();
    let most = driver.settings.budget.ns() * MAP_SHARE / pass_ns.max(1.0);
    while width(passes) > driver.settings.precision && 2.0 * passes as f64 <= most {
        passes = Analysis::at(passes + 1, driver.settings.analyses).passes();
    }
    passes
}

/// Share of visits of tried cells that deviate from the cell's median by more than the requested precision. The visit
/// that is the median does not count.
fn share_beyond<'a>(driver: &Driver<'_>, cells: impl Iterator<Item = &'a u32>) -> f64 {
    let kernels = driver.choices.hints.iter().map(|(&protocol, chosen)| KernelId::new(protocol, chosen.hint));
    let Some(column) = kernels.filter_map(|kernel| driver.log.record.column(&kernel, 0)).next() else {
        return 0.0;
    };
    let mut residuals = Vec::new();
    for passes in cells.filter_map(|&cell| driver.log.record.passes(cell as usize)) {
        cell::pass_residuals(passes, column, 0, &mut residuals);
    }
    let beyond = residuals.iter().filter(|residual| residual.abs() > driver.settings.precision).count();
    let correction = f64::from(TRIED_TIMES) / f64::from(TRIED_TIMES - 1);
    correction * beyond as f64 / residuals.len().max(1) as f64
}

/// Time of a sweep over the open cells relative to a full sweep. If serial, it is their share. If parallel, the rounds
/// of the CPU with the most open cells decide (mean of a Poisson variable plus three deviations).
fn rest_share(driver: &Driver<'_>, share: f64, parallel: u32, rounds: usize) -> f64 {
    if parallel <= 1 {
        return share;
    }
    let cells_per_cpu = share * driver.settings.cpus.len() as f64;
    ((cells_per_cpu + 3.0 * cells_per_cpu.sqrt() + 1.0) / rounds.max(1) as f64).min(1.0)
}

/// Expected time after the map, without the ladder: the gate of a parallel run, and execution tests.
fn after_map_ns(driver: &Driver<'_>, parallel: u32) -> f64 {
    let alone = |cell: u32| driver.expect(Purpose::Map, &vec![cell]).unwrap_or(0.0);
    let gate = if parallel > 1 { super::gate::expected_ns(driver, &alone) } else { 0.0 };
    gate + super::execution::expected(driver).ns()
}

/// Cells of each relation that a prediction times once, for the mean.
const SAMPLED_PER_RELATION: usize = 48;

fn sample_cells(driver: &Driver<'_>) -> Vec<u32> {
    let mut chosen: BTreeSet<u32> = driver.representatives.iter().copied().collect();
    let mut by_relation: BTreeMap<Relation, Vec<u32>> = BTreeMap::new();
    for (cell, &relation) in (0..).zip(&driver.relations) {
        by_relation.entry(relation).or_default().push(cell);
    }
    for (relation, mut cells) in by_relation {
        driver.key(Purpose::Map, 0).with(relation.code()).with(11).shuffle(&mut cells);
        chosen.extend(cells.into_iter().take(SAMPLED_PER_RELATION));
    }
    chosen.into_iter().collect()
}

fn expected_by_relation(driver: &Driver<'_>) -> BTreeMap<Relation, f64> {
    let mut expected = BTreeMap::new();
    for (cell, &relation) in (0..).zip(&driver.relations) {
        if let std::collections::btree_map::Entry::Vacant(place) = expected.entry(relation)
            && let Some(ns) = driver.expect(Purpose::Map, &vec![cell])
        {
            place.insert(ns);
        }
    }
    expected
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scenario, SimMachine};
    use coretalk_model::CpuId;

    #[test]
    fn a_stopped_plan_is_interrupted() {
        let mut machine = SimMachine::open(Scenario::builtin("chiplet-16").unwrap(), 1);
        let settings = LatencySettings::for_cpus((0..4).map(CpuId).collect());
        let stop = Stop::new();
        stop.raise();
        let ended = plan(&mut machine, &settings, &stop);
        assert!(matches!(ended, Err(RunError::Interrupted)), "{ended:?}");
    }
}
