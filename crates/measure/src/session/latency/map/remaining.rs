//! Remaining machine time of a map, estimated from its passes, for the progress display only.

use super::{FEW, LATE_GAP, PassTarget, gap, surveys, visit_ns};
use crate::schedule::CellRound;
use crate::session::latency::driver::Driver;
use crate::session::latency::ladder;
use coretalk_model::Picos;
use coretalk_model::latency::Purpose;
use coretalk_model::stats::{self, ANALYSES, Analysis, normal};

/// Maximum cells to judge for the estimate. Larger maps would take too long.
const MAX_JUDGED: usize = 4_096;
/// Number of passes whose scatter predicts the number of wide cells.
const PREDICTING_PASSES: u32 = 4;

/// Time of the passes over these open cells and of the ladder, after `made` counting passes. The current pass is in
/// `rounds`. No pass begins after `until`.
pub fn of_passes(
    driver: &mut Driver<'_>,
    open: &[u32],
    made: u32,
    rounds: &[CellRound],
    target: PassTarget,
    until: Picos,
) -> Picos {
    // Before the first pass of the map, the pilot's round trips predict the time.
    let piloted =
        |round: &CellRound| round.iter().map(|&cell| visit_ns(driver, cell as usize)).fold(0.0, f64::max);
    let of_round = |round: &CellRound| driver.expect(Purpose::Map, round).unwrap_or_else(|| piloted(round));
    let sweep = Picos::from_ns(rounds.iter().map(of_round).sum());
    let gap = gap(driver, target);
    let ladder = ladder::remaining(driver);
    let [first, second] = ANALYSES.map(|passes| passes as u32);
    // The ladder is interleaved with a map of fixed passes. It fills the pauses of a map that repeats few cells.
    let is_few = |share: f64| share * (open.len() * FEW) as f64 <= driver.pairs.len() as f64;
    let of_share = |share: f64| {
        let sweep = Picos::from_secs(sweep.secs() * share);
        match is_few(share) {
            true => (sweep + ladder.half_a_pass()).max(LATE_GAP),
            false => sweep.max(gap),
        }
    };
    let ladder_after = |share: f64| if share > 0.0 && is_few(share) { Picos::ZERO } else { ladder.alone() };
    let (passes, after) = match target {
        PassTarget::Fixed(passes) => {
            let passes_left = passes.saturating_sub(made).max(1);
            let ladder_share = Picos(ladder.passes().0 / u64::from(passes_left));
            (times((sweep + ladder_share).max(gap), passes_left), Picos::ZERO)
        }
        PassTarget::Analyses if made < first => {
            let share = if made < PREDICTING_PASSES { 0.0 } else { share_wide(driver) };
            let share = if share * (driver.pairs.len() as f64) < 0.5 { 0.0 } else { share };
            let second_time = if share > 0.0 { times(of_share(share), second - first) } else { Picos::ZERO };
            (times(sweep.max(gap), first - made) + second_time, ladder_after(share))
        }
        PassTarget::Analyses => (until_narrow(driver, open, made, of_share, until), ladder_after(1.0)),
    };
    passes.min(until - driver.run.elapsed()) + after
}

/// Time of the passes until open cells are narrow, predicted by their widths at the last analysis. `of_share` returns
/// the time of a pass over a share of them. Ends at the last analysis before `until`, as the map does.
fn until_narrow(
    driver: &Driver<'_>,
    open: &[u32],
    made: u32,
    of_share: impl Fn(f64) -> Picos,
    until: Picos,
) -> Picos {
    let most = driver.settings.analyses;
    let (mut reached, mut total) = (made, Picos::ZERO);
    loop {
        let next = Analysis::at(reached as usize + 1, most).passes() as u32;
        let expected =
            |cell: &&u32| driver.expected_passes.get(**cell as usize).is_some_and(|&passes| passes > reached);
        let share = match reached == made {
            true => 1.0,
            false => open.iter().filter(expected).count() as f64 / open.len() as f64,
        };
        let step = times(of_share(share), next.saturating_sub(reached));
        let is_begun = !Analysis::is_due(reached as usize, most) || reached < ANALYSES[1] as u32;
        if share == 0.0 || next <= reached || !is_begun && driver.run.elapsed() + total + step > until {
            return total;
        }
        total += step;
        reached = next;
    }
}

fn times(pass: Picos, passes: u32) -> Picos {
    Picos(pass.0.saturating_mul(u64::from(passes)))
}

fn share_wide(driver: &Driver<'_>) -> f64 {
    match driver.pairs.len() {
        ..=MAX_JUDGED => share_open(driver, &driver.representatives.clone(), 0.0),
        _ => 0.0,
    }
}

/// Share of all cells that will need the second analysis, from the noise of the tried cells. A cell stays open if one
/// of its eight passes deviates by more than the requested precision, with probability 1 − (1 − p)⁸. `known_beyond` is
/// another estimate of p. Normal noise gives a lower bound.
pub fn share_open(driver: &Driver<'_>, cells: &[u32], known_beyond: f64) -> f64 {
    let regime = driver.choices.regime.clone().unwrap_or_default();
    let surveys = surveys(driver, &regime);
    let shares = surveys.iter().map(|survey| {
        let by_cell = cells.iter().filter_map(|&cell| survey.pass_scale(cell as usize)).map(|scale| {
            let beyond = normal::below(-driver.settings.precision / scale.max(1e-6)) * 2.0;
            let beyond = beyond.max(known_beyond);
            1.0 - (1.0 - beyond).powi(ANALYSES[0] as i32)
        });
        let shares: Vec<f64> = by_cell.collect();
        stats::mean(&shares).unwrap_or(1.0)
    });
    shares.fold(0.0, f64::max)
}
