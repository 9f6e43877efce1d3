//! Another tool's kernel, placement and counts on every pair, once, as that tool does.

use super::RunError;
use super::driver::{Driver, Flow};
use crate::probes::imitation::Imitation;
use coretalk_model::latency::Purpose;

pub fn perform(driver: &mut Driver<'_>) -> Result<Flow, RunError> {
    driver.phase(Purpose::Imitation);
    for (pass, &tool) in (0..).zip(&driver.settings.imitate) {
        let orders = std::sync::Arc::from([Imitation::of(tool).order()]);
        let measured: std::collections::BTreeSet<u32> = driver
            .ledger
            .record
            .others(Purpose::Imitation)
            .filter(|entry| entry.pass == pass)
            .map(|entry| entry.cell)
            .collect();
        let cells: Vec<u32> = (0..driver.pairs.len() as u32)
            .filter(|cell| !measured.contains(cell) && !driver.ledger.has_failed(*cell))
            .collect();
        // In the order of the list and one after another: the tools do not shuffle.
        let rounds: Vec<Vec<u32>> = cells.into_iter().map(|cell| vec![cell]).collect();
        let flow =
            driver.perform(Purpose::Imitation, pass, &rounds, &|_, _| std::sync::Arc::clone(&orders))?;
        if flow != Flow::On {
            return Ok(flow);
        }
    }
    Ok(Flow::On)
}
