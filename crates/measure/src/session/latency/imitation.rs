//! Another tool's kernel, placement and counts on every pair, once or once from each side, as that tool does.

use super::driver::Driver;
use super::{Ended, RunError};
use crate::probes::imitation::Imitation;
use coretalk_model::latency::Purpose;
use std::sync::Arc;

pub fn perform(driver: &mut Driver<'_>) -> Result<Ended, RunError> {
    driver.run.phase(Purpose::Imitation);
    let all: Vec<u32> = (0..driver.pairs.len() as u32).collect();
    for (pass, &tool) in (0..).zip(&driver.settings.imitate) {
        let orders = Arc::from([Imitation::of(tool).order()]);
        let directions: &[Purpose] = match tool.measures_both_directions() {
            false => &[Purpose::Imitation],
            true => &[Purpose::Imitation, Purpose::ImitationBack],
        };
        // In the order of the list and one after another: the tools do not shuffle. Where a budget ends, pairs are missing
        // and not one direction of all.
        let mut due: Vec<(u32, Purpose)> = Vec::new();
        for &purpose in directions {
            due.extend(driver.due(purpose, pass, &all).into_iter().map(|cell| (cell, purpose)));
        }
        due.sort_by_key(|&(cell, _)| cell);
        for same in due.chunk_by(|one, next| one.1 == next.1) {
            let rounds: Vec<Vec<u32>> = same.iter().map(|&(cell, _)| vec![cell]).collect();
            let ended = driver.perform(same[0].1, pass, &rounds, &|_, _| Arc::clone(&orders))?;
            if ended != Ended::Complete {
                return Ok(ended);
            }
        }
    }
    Ok(Ended::Complete)
}
