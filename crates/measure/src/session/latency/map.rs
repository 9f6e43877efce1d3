//! The map: passes over all cells, spread over time, until each interval is narrow enough or the budget ends.

pub mod remaining;

use super::driver::Driver;
use super::visit_plan::{self, candidates, ladder_kernels};
use super::{Ended, RunError};
use crate::schedule::{self, CellRound};
use crate::session::{PASS_GAP, WIDE_GAP, jittered, spread};
use coretalk_model::latency::analyse::Survey;
use coretalk_model::latency::cell::Scratch;
use coretalk_model::latency::{
    Choices, ChosenRegime, Counts, LatencySettings, Parallel, Purpose, Spacing, hint,
};
use coretalk_model::stats::{ANALYSES, Analysis, Decision, decide, expected_analysis};
use coretalk_model::{Hint, KernelId, Picos, Protocol, Relation};
use std::collections::{BTreeMap, BTreeSet};

/// Distance of passes over few late cells, if all others were narrow at the first analysis. Such a machine does not
/// drift. A stall in one of eight passes needs more passes, not distant ones.
pub const LATE_GAP: Picos = Picos::from_ms(30);
/// Divisor of the number of cells. At most this fraction counts as few.
pub const FEW: usize = 8;
/// Time of a serial map above which it is measured in parallel, if the gate allows.
const SERIAL_LIMIT: Picos = Picos::from_ms(15_000);
/// Share of the budget for the passes. The rest is for re-measurements and the ladder.
pub const MAP_SHARE: f64 = 0.8;

/// The number of passes of each cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassTarget {
    /// This number, whatever the result. Used for fixed counts and tiny machines.
    Fixed(u32),
    /// Analyses at 8 and 24 passes. Each further requested analysis is at twice as many passes as the previous one.
    Analyses,
}

pub fn perform(driver: &mut Driver<'_>) -> Result<Ended, RunError> {
    driver.run.phase(Purpose::Map);
    let target = target(driver);
    prepare(driver, target);
    let pairs = regime(driver, target);
    if driver.choices.regime.is_none() {
        driver.choices.regime = Some(ChosenRegime { pairs, ..ChosenRegime::default() });
        driver.decide()?;
    }
    let ended = sweep(driver, target, &|_| true)?;
    if driver.visit_plan.tiny {
        for &protocol in &driver.settings.protocols {
            let chosen = hint::choose(driver.settings, &driver.log.record, protocol);
            driver.choices.hints.insert(protocol, chosen);
        }
        driver.decide()?;
        if ended == Ended::Complete && has_further_analyses(driver.settings) {
            return sweep(driver, PassTarget::Analyses, &|_| true);
        }
    }
    Ok(ended)
}

/// Whether cells that are wide after the second analysis get further analyses.
pub fn has_further_analyses(settings: &LatencySettings) -> bool {
    settings.analyses > ANALYSES.len() as u32
        && (settings.counts, settings.spacing) == (Counts::Adaptive, Spacing::Brief)
}

pub fn target(driver: &Driver<'_>) -> PassTarget {
    match (driver.settings.counts, driver.settings.spacing) {
        (Counts::Fixed { samples, iterations }, _) => {
            PassTarget::Fixed(fixed_passes(driver, samples, iterations))
        }
        (Counts::Adaptive, Spacing::Watch) => {
            let share = driver.settings.budget.secs() * MAP_SHARE;
            PassTarget::Fixed((share / WIDE_GAP.secs()).clamp(ANALYSES[1] as f64, 120.0) as u32)
        }
        // All passes of the second analysis. Cells that are then wide get further analyses.
        (Counts::Adaptive, Spacing::Brief) if driver.visit_plan.tiny => PassTarget::Fixed(ANALYSES[1] as u32),
        (Counts::Adaptive, Spacing::Brief) => PassTarget::Analyses,
    }
}

/// Maximum visit of a fixed count. Budget, stop and commits are checked between visits.
const MAX_VISIT: Picos = Picos::from_ms(300);

/// Passes of a fixed count. Their number rises if visits would take too long.
fn fixed_passes(driver: &Driver<'_>, samples: u32, iterations: u32) -> u32 {
    let slowest = driver.relations.iter().filter_map(|&relation| driver.visit_plan.round_trip_ns(relation));
    let round_trip_ns = slowest.fold(0.0, f64::max);
    let all = f64::from(samples) * f64::from(iterations) * round_trip_ns;
    visit_plan::fixed_passes(samples, (all / MAX_VISIT.ns()).ceil().min(10_000.0) as u32)
}

/// Adds the map's kernels to the visit plan: the shown kernels, and CAS without pause, the only kernel that shows every
/// state of the machine. A tiny machine has the whole ladder.
pub fn prepare(driver: &mut Driver<'_>, target: PassTarget) {
    let shown: Vec<KernelId> = if driver.visit_plan.tiny {
        candidates(driver.settings)
    } else {
        let kernel_of = |&protocol: &Protocol| {
            let hint = driver.choices.hints.get(&protocol).map_or(Hint::None, |chosen| chosen.hint);
            (protocol != Protocol::OneWay).then(|| KernelId::new(protocol, hint))
        };
        driver.settings.protocols.iter().filter_map(kernel_of).collect()
    };
    let mut extra = vec![KernelId::new(Protocol::Cas, Hint::None)];
    if driver.visit_plan.tiny && driver.settings.ladder {
        extra.extend(ladder_kernels());
    }
    let mut seen = shown.clone();
    extra.retain(|kernel| {
        let new = !seen.contains(kernel);
        seen.push(kernel.clone());
        new
    });
    let passes = if let PassTarget::Fixed(passes) = target { passes } else { 1 };
    if !driver.visit_plan.tiny && driver.settings.counts == Counts::Adaptive {
        // Only the location of CAS shows states. Its spread over lines is dropped, which saves 50 MB for 1,024 CPUs.
        driver.log.record.keep_locations_of(&extra);
    }
    driver.visit_plan.prepare_map(&shown, &extra, passes);
}

pub fn regime(driver: &mut Driver<'_>, target: PassTarget) -> u32 {
    let most = (driver.settings.cpus.len() / 2).max(1) as u32;
    match driver.settings.parallel {
        Parallel::AtMost(pairs) => pairs.clamp(1, most),
        Parallel::Auto => {
            let passes = if let PassTarget::Fixed(passes) = target { passes } else { ANALYSES[0] as u32 };
            let serial: f64 = (0..driver.pairs.len()).map(|cell| visit_ns(driver, cell)).sum();
            let serial = Picos::from_ns(serial * f64::from(passes));
            let limit = SERIAL_LIMIT.min(Picos::from_secs(driver.settings.budget.secs() * MAP_SHARE));
            if serial <= limit {
                return 1;
            }
            if driver.run.machine.is_busy() == Some(true) {
                driver.run.notice(
                    "other programs keep the CPUs busy: measuring one pair at a time, which takes longer"
                        .into(),
                );
                return 1;
            }
            most
        }
    }
}

/// Expected time of a serial map visit, from the pilot's round trips and the overhead of its rounds.
pub fn visit_ns(driver: &Driver<'_>, cell: usize) -> f64 {
    driver.serial_ns(cell, &driver.visit_plan.map(cell, 0))
}

pub fn perform_until_done(
    driver: &mut Driver<'_>,
    includes: &dyn Fn(Relation) -> bool,
) -> Result<Ended, RunError> {
    let target = target(driver);
    sweep(driver, target, includes)
}

fn sweep(
    driver: &mut Driver<'_>,
    target: PassTarget,
    includes: &dyn Fn(Relation) -> bool,
) -> Result<Ended, RunError> {
    let deadline = driver.run.elapsed() + Picos::from_secs(driver.run.left().secs() * MAP_SHARE);
    loop {
        let mut open = find_open(driver, target, includes);
        // It takes long to judge the cells of a large machine and to schedule. So a stop is checked first.
        if driver.run.is_stopped() {
            return Ok(Ended::Interrupted);
        }
        if open.is_empty() {
            return Ok(Ended::Complete);
        }
        // An interrupted pass continues with the cells that it had not reached. These have one pass less.
        let pass = open.iter().map(|&cell| passes_made(driver, cell as usize)).min().unwrap_or(0);
        open.retain(|&cell| passes_made(driver, cell as usize) == pass);
        let number = pass_number(driver, pass);
        let rounds = rounds(driver, &open, number);
        update_progress(driver, &open, &rounds, target, deadline);
        if target == PassTarget::Analyses && !is_within_reach(driver, pass, &rounds, deadline) {
            return Ok(Ended::Budget);
        }
        let began = driver.run.now();
        let orders = |plan: &visit_plan::VisitPlan, cell: usize| plan.map(cell, pass);
        let ended = driver.perform(Purpose::Map, number, &rounds, &orders)?;
        if ended != Ended::Complete {
            return Ok(ended);
        }
        let mut gap = gap(driver, target);
        if target == PassTarget::Analyses
            && pass as usize >= ANALYSES[0]
            && open.len() * FEW <= driver.pairs.len()
        {
            // The ladder uses time in which the map would sleep.
            let ended = super::ladder::half_a_pass(driver, pass - ANALYSES[0] as u32)?;
            if ended != Ended::Complete {
                return Ok(ended);
            }
            gap = LATE_GAP;
        }
        if let PassTarget::Fixed(passes) = target {
            let ended = super::ladder::beside_the_map(driver, pass + 1, passes)?;
            if ended != Ended::Complete {
                return Ok(ended);
            }
        }
        pause_until_next_pass(driver, began, number, gap)?;
        if driver.run.is_stopped() {
            return Ok(Ended::Interrupted);
        }
        if driver.run.elapsed() > deadline {
            if driver.settings.spacing == Spacing::Watch {
                // Time limits the passes of a watch. A few missing passes do no harm.
                return Ok(Ended::Complete);
            }
            // Wide cells stay wide. The rest of the budget is for re-measurements and the ladder.
            let done = find_open(driver, target, includes).is_empty();
            return Ok(if done { Ended::Complete } else { Ended::Budget });
        }
    }
}

/// Whether the remaining time suffices for the next analysis. Checked only beyond the second analysis. Passes without a
/// following analysis would not narrow an interval, since each further analysis spends less of the error probability.
fn is_within_reach(driver: &Driver<'_>, made: u32, rounds: &[CellRound], until: Picos) -> bool {
    let made = made as usize;
    if made < ANALYSES[1] || !Analysis::is_due(made, driver.settings.analyses) {
        return true;
    }
    let sweep_ns: f64 = rounds.iter().filter_map(|round| driver.expect(Purpose::Map, round)).sum();
    let further = Analysis::at(made + 1, driver.settings.analyses).passes() - made;
    let pass = Picos::from_ns(sweep_ns).max(PASS_GAP);
    driver.run.elapsed() + Picos(pass.0 * further as u64) <= until
}

/// Minimum of the counting passes over the cells of these relations, without failed cells.
pub fn fewest_made(driver: &Driver<'_>, relations: &BTreeSet<Relation>) -> u32 {
    let cells = (0..driver.pairs.len())
        .filter(|&cell| relations.contains(&driver.relations[cell]) && !has_failed(driver, cell));
    cells.map(|cell| passes_made(driver, cell)).min().unwrap_or(0)
}

fn passes_made(driver: &Driver<'_>, cell: usize) -> u32 {
    let valid_from = valid_from(&driver.choices, driver.relations[cell]);
    let Some(passes) = driver.log.record.passes(cell) else { return 0 };
    if valid_from == 0 {
        // The passes are not read. That would be half a million memory accesses per pass.
        return passes.len() as u32;
    }
    passes.heads().filter(|head| head.pass >= valid_from).count() as u32
}

fn valid_from(choices: &Choices, relation: Relation) -> u32 {
    choices.regime.as_ref().and_then(|regime| regime.valid_from.get(&relation).copied()).unwrap_or(0)
}

/// The pass number in the run. It also rises when the gate restarts a relation.
fn pass_number(driver: &Driver<'_>, counted: u32) -> u32 {
    let regime = driver.choices.regime.as_ref();
    counted + regime.and_then(|regime| regime.valid_from.values().max().copied()).unwrap_or(0)
}

/// Cells that need a pass. A cell that failed too often is left out: a CPU is gone or a partner hangs.
fn find_open(driver: &mut Driver<'_>, target: PassTarget, includes: &dyn Fn(Relation) -> bool) -> Vec<u32> {
    if target != PassTarget::Analyses {
        return still_open(driver, target, includes);
    }
    analyse(driver);
    let open = still_open(driver, target, includes);
    if !open.is_empty() || !has_further_analyses(driver.settings) {
        return open;
    }
    // Passes now show their correlation better than when these cells were closed.
    driver.closed.fill(false);
    analyse(driver);
    still_open(driver, target, includes)
}

fn still_open(driver: &Driver<'_>, target: PassTarget, includes: &dyn Fn(Relation) -> bool) -> Vec<u32> {
    let most = match target {
        PassTarget::Fixed(passes) => passes,
        PassTarget::Analyses => Analysis::at(usize::MAX, driver.settings.analyses).passes() as u32,
    };
    let closed = |cell: usize| target == PassTarget::Analyses && driver.closed[cell];
    (0..driver.pairs.len())
        .filter(|&cell| {
            includes(driver.relations[cell])
                && !closed(cell)
                && !has_failed(driver, cell)
                && passes_made(driver, cell) < most
        })
        .map(|cell| cell as u32)
        .collect()
}

/// Closes the cells that are narrow enough at an analysis. Between analyses no cell is closed.
fn analyse(driver: &mut Driver<'_>) {
    driver.closed.resize(driver.pairs.len(), false);
    let due: Vec<usize> = (0..driver.pairs.len())
        .filter(|&cell| {
            !driver.closed[cell]
                && Analysis::is_due(passes_made(driver, cell) as usize, driver.settings.analyses)
        })
        .collect();
    if due.is_empty() || driver.run.is_stopped() {
        return;
    }
    let regime = driver.choices.regime.clone().unwrap_or_default();
    let surveys = surveys(driver, &regime);
    let requested = driver.settings.precision * (1.0 + 1e-9);
    let mut scratch = Scratch::default();
    let is_wide = |cell: usize, width: f64| {
        decide(passes_made(driver, cell) as usize, width, requested, driver.settings.analyses)
            != Decision::Enough
    };
    // The same width decides on the flag. So a cell closed as narrow is never printed as wide.
    let mut judge = |cell: usize| {
        let mut too_wide = surveys.iter().filter_map(|survey| {
            let width = survey.width_of(cell, requested, &mut scratch)?;
            is_wide(cell, width).then(|| expected_passes(driver, survey, cell, width))
        });
        (cell, too_wide.next())
    };
    let judged: Vec<(usize, Option<u32>)> =
        due.into_iter().take_while(|_| !driver.run.is_stopped()).map(&mut judge).collect();
    driver.expected_passes.resize(driver.pairs.len(), 0);
    for (cell, still) in judged {
        driver.closed[cell] = still.is_none();
        driver.expected_passes[cell] = still.unwrap_or(0);
    }
}

/// Number of passes at the analysis that is expected to find this wide cell narrow.
fn expected_passes(driver: &Driver<'_>, survey: &Survey<'_>, cell: usize, width: f64) -> u32 {
    let [made, most] = [passes_made(driver, cell), driver.settings.analyses];
    let analysis = Analysis::at(made as usize, most);
    // The interval of eight passes is their whole range. The scatter of all passes of the relation predicts better.
    let scale = match analysis {
        Analysis::FIRST => survey.pass_scale(cell).filter(|&scale| scale > 0.0),
        _ => None,
    };
    let scale = scale.unwrap_or_else(|| analysis.scale_of(width));
    expected_analysis(scale, driver.settings.precision, most).passes() as u32
}

pub fn surveys<'a>(driver: &'a Driver<'_>, regime: &'a ChosenRegime) -> Vec<Survey<'a>> {
    driver
        .choices
        .hints
        .iter()
        .filter(|(protocol, _)| **protocol != Protocol::OneWay)
        .map(|(&protocol, chosen)| {
            let kernel = KernelId::new(protocol, chosen.hint);
            Survey::new(&driver.topology, driver.settings, &driver.log.record, regime, &driver.pairs, &kernel)
        })
        .collect()
}

fn has_failed(driver: &Driver<'_>, cell: usize) -> bool {
    driver.log.has_failed_in_map(cell as u32)
}

pub fn rounds(driver: &Driver<'_>, open: &[u32], pass: u32) -> Vec<CellRound> {
    let key = driver.key(Purpose::Map, pass);
    let regime = driver.choices.regime.as_ref();
    let pairs = regime.map_or(1, |regime| regime.pairs);
    if pairs <= 1 {
        return schedule::serial(open, key);
    }
    // Relations with another number of concurrent pairs, set by the gate, get rounds of their own.
    let gate_widths: BTreeMap<Relation, u32> = regime
        .map(|regime| {
            regime.gate.iter().filter(|o| o.pairs != pairs).map(|o| (o.relation, o.pairs)).collect()
        })
        .unwrap_or_default();
    let (separate, together): (Vec<u32>, Vec<u32>) =
        open.iter().partition(|&&cell| gate_widths.contains_key(&driver.relations[cell as usize]));
    let mut rounds = schedule::parallel(&driver.topology, &driver.pairs, &together, pairs as usize, key);
    for (&relation, &width) in &gate_widths {
        let cells: Vec<u32> =
            separate.iter().copied().filter(|&cell| driver.relations[cell as usize] == relation).collect();
        let key = key.with(relation.code());
        rounds.extend(schedule::parallel(&driver.topology, &driver.pairs, &cells, width as usize, key));
    }
    rounds
}

fn pause_until_next_pass(
    driver: &mut Driver<'_>,
    began: Picos,
    pass: u32,
    gap: Picos,
) -> Result<(), RunError> {
    let due = began + jittered(gap, driver.key(Purpose::Map, pass));
    let now = driver.run.now();
    if now < due { driver.pause(due - now) } else { Ok(()) }
}

pub fn gap(driver: &Driver<'_>, target: PassTarget) -> Picos {
    match (driver.settings.spacing, target) {
        (Spacing::Watch, PassTarget::Fixed(passes)) => {
            spread(driver.settings.budget.secs() * MAP_SHARE, passes)
        }
        _ => PASS_GAP,
    }
}

fn update_progress(
    driver: &mut Driver<'_>,
    open: &[u32],
    rounds: &[CellRound],
    target: PassTarget,
    until: Picos,
) {
    let made = open.first().map_or(0, |&cell| passes_made(driver, cell as usize));
    let time_left = remaining::of_passes(driver, open, made, rounds, target, until);
    driver.foresee(time_left);
}
