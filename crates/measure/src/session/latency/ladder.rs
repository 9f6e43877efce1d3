//! The ladder: representative pairs of each relation under every kernel, and as two well-known tools would print them.
//! Every visit begins and ends with CAS without pause, which shows the state of the machine during the visit.

use super::driver::Driver;
use super::visit_plan::{LADDER_TOOLS, ladder_kernels};
use super::{Ended, RunError};
use crate::session::PASS_GAP;
use coretalk_model::latency::Purpose;
use coretalk_model::stats::ANALYSES;
use coretalk_model::{Hint, KernelId, Picos, Protocol, Tool};

/// Lines of each span: one aligned run. A visit under nine kernels stays short.
const LINES: u32 = 16;
const PASSES: u32 = ANALYSES[0] as u32;

pub fn perform(driver: &mut Driver<'_>) -> Result<Ended, RunError> {
    if !driver.settings.ladder {
        return Ok(Ended::Complete);
    }
    driver.run.phase(Purpose::Ladder);
    prepare(driver);
    let cells = driver.representatives.clone();
    for pass in 0..PASSES {
        let due = driver.due(Purpose::Ladder, pass, &cells);
        if due.is_empty() {
            continue;
        }
        let time_left = remaining(driver).alone();
        driver.foresee(time_left);
        let began = driver.run.now();
        let ended = perform_pass(driver, pass, &due)?;
        if ended != Ended::Complete {
            return Ok(ended);
        }
        let spent = driver.run.now() - began;
        if spent < PASS_GAP && pass + 1 < PASSES {
            driver.pause(PASS_GAP - spent)?;
        }
    }
    Ok(Ended::Complete)
}

pub struct Remaining {
    passes: u32,
    pass: Picos,
}

impl Remaining {
    /// Time of the remaining passes without pauses between them.
    pub fn passes(&self) -> Picos {
        Picos(self.pass.0 * u64::from(self.passes))
    }

    /// Time of the remaining passes with pauses, without a map.
    pub fn alone(&self) -> Picos {
        Picos(self.pass.max(PASS_GAP).0 * u64::from(self.passes))
    }

    pub fn half_a_pass(&self) -> Picos {
        if self.passes == 0 { Picos::ZERO } else { Picos(self.pass.0 / 2) }
    }
}

/// The remaining work, estimated from the ladder's own passes. Before these exist, the pilot is the basis.
pub fn remaining(driver: &mut Driver<'_>) -> Remaining {
    if !driver.settings.ladder {
        return Remaining { passes: 0, pass: Picos::ZERO };
    }
    prepare(driver);
    let cells = driver.representatives.clone();
    let passes = (0..PASSES).filter(|&pass| !driver.due(Purpose::Ladder, pass, &cells).is_empty()).count();
    let visit = |&cell: &u32| {
        let known = driver.expect(Purpose::Ladder, &vec![cell]);
        known.unwrap_or_else(|| {
            driver.serial_ns(cell as usize, &driver.visit_plan.other("ladder", cell as usize))
        })
    };
    Remaining { passes: passes as u32, pass: Picos::from_ns(cells.iter().map(visit).sum()) }
}

/// Performs half pass number `half` of the ladder while the map would sleep. These passes are not repeated later.
pub fn half_a_pass(driver: &mut Driver<'_>, half: u32) -> Result<Ended, RunError> {
    let pass = half / 2;
    if !driver.settings.ladder || pass >= PASSES {
        return Ok(Ended::Complete);
    }
    prepare(driver);
    let cells = driver.representatives.clone();
    let mut due = driver.due(Purpose::Ladder, pass, &cells);
    if half.is_multiple_of(2) {
        due.truncate(cells.len().div_ceil(2).saturating_sub(cells.len() - due.len()));
    }
    perform_pass(driver, pass, &due)
}

/// Performs the ladder passes due after `made` of `total` map passes. They are spread, so that both see the same
/// states.
pub fn beside_the_map(driver: &mut Driver<'_>, made: u32, total: u32) -> Result<Ended, RunError> {
    if !driver.settings.ladder {
        return Ok(Ended::Complete);
    }
    prepare(driver);
    let cells = driver.representatives.clone();
    for pass in 0..PASSES * made.min(total) / total.max(1) {
        let due = driver.due(Purpose::Ladder, pass, &cells);
        let ended = if due.is_empty() { Ended::Complete } else { perform_pass(driver, pass, &due)? };
        if ended != Ended::Complete {
            return Ok(ended);
        }
    }
    Ok(Ended::Complete)
}

fn perform_pass(driver: &mut Driver<'_>, pass: u32, due: &[u32]) -> Result<Ended, RunError> {
    let rounds = crate::schedule::serial(due, driver.key(Purpose::Ladder, pass));
    driver.perform(Purpose::Ladder, pass, &rounds, &|plan, cell| plan.other("ladder", cell))
}

/// Adds every kernel to the visit plan. On a tiny machine the map has already timed our own kernels.
fn prepare(driver: &mut Driver<'_>) {
    let sentinel = KernelId::new(Protocol::Cas, Hint::None);
    let mut kernels = if driver.visit_plan.tiny { vec![sentinel.clone()] } else { ladder_kernels() };
    kernels.extend(LADDER_TOOLS.iter().map(|&tool: &Tool| KernelId::imitating(tool)));
    kernels.push(sentinel);
    driver.visit_plan.prepare_other("ladder", &kernels, LINES);
}

/// Nanoseconds of a pass of the ladder on some cells, by trying; 0 without a ladder. The map does not predict this
/// time.
pub fn try_a_pass(driver: &mut Driver<'_>, cells: &[u32]) -> Result<f64, RunError> {
    if !driver.settings.ladder {
        return Ok(0.0);
    }
    prepare(driver);
    let began = driver.run.now();
    perform_pass(driver, 0, cells)?;
    Ok((driver.run.now() - began).ns())
}

/// Number of map passes, out of `total`, after which [`beside_the_map`] performs a ladder pass.
pub fn passes_beside(total: u32) -> u32 {
    PASSES.min(total)
}

/// Nanoseconds that the ladder adds to each map pass of [`passes_beside`], for a ladder pass of `pass_ns`.
pub fn share_of_a_pass_ns(pass_ns: f64, total: u32) -> f64 {
    pass_ns * f64::from(PASSES) / f64::from(passes_beside(total).max(1))
}

/// Time of the whole ladder without a map, in nanoseconds, for a pass of `pass_ns`.
pub fn whole_ns(pass_ns: f64) -> f64 {
    if pass_ns > 0.0 { f64::from(PASSES) * pass_ns.max(PASS_GAP.ns()) } else { 0.0 }
}
