//! The ladder: representative pairs of each relation under every kernel, and as two well-known tools would print them.

use super::RunError;
use super::driver::{Driver, Flow};
use super::menu::{LADDER_TOOLS, ladder_kernels};
use super::pilot::representative_cells;
use crate::kernel::Cost;
use crate::machine::SpanOrder;
use coretalk_model::latency::Purpose;
use coretalk_model::stats::LOOKS;
use coretalk_model::{KernelId, Picos, Tool};

const GAP: Picos = Picos::from_ms(60);
/// Lines of each span: one aligned run, so that a visit under nine kernels stays short.
const LINES: u32 = 16;

pub fn perform(driver: &mut Driver<'_>) -> Result<Flow, RunError> {
    if !driver.settings.ladder {
        return Ok(Flow::On);
    }
    driver.phase(Purpose::Ladder);
    prepare(driver);
    let cells = representative_cells(driver);
    for pass in 0..LOOKS[0] as u32 {
        let due = driver.due(Purpose::Ladder, pass, &cells);
        if due.is_empty() {
            continue;
        }
        let rounds = crate::schedule::serial(&due, driver.key(Purpose::Ladder, pass));
        let began = driver.machine.now();
        let flow =
            driver.perform(Purpose::Ladder, pass, &rounds, &|menu, cell| menu.other("ladder", cell))?;
        if flow != Flow::On {
            return Ok(flow);
        }
        let spent = driver.machine.now() - began;
        if spent < GAP && pass + 1 < LOOKS[0] as u32 {
            driver.pause(GAP - spent)?;
        }
    }
    Ok(Flow::On)
}

/// Puts every kernel on the menu; a tiny machine has timed our own beside its map.
fn prepare(driver: &mut Driver<'_>) {
    let mut kernels = if driver.menu.tiny { Vec::new() } else { ladder_kernels() };
    kernels.extend(LADDER_TOOLS.iter().map(|&tool: &Tool| KernelId::imitating(tool)));
    driver.menu.prepare_other("ladder", &kernels, LINES);
}

/// Expected time of the whole ladder on some cells, in nanoseconds.
pub fn expected_ns(driver: &mut Driver<'_>, cells: &[u32]) -> f64 {
    if !driver.settings.ladder {
        return 0.0;
    }
    prepare(driver);
    let visit = |&cell: &u32| {
        let round_trip_ns = driver.menu.round_trip_ns(driver.relations[cell as usize]).unwrap_or(200.0);
        let orders = driver.menu.other("ladder", cell as usize);
        let transfers = |order: &SpanOrder| match order.kernel.cost {
            Cost::PingPong { transfers_per_hop, .. } => transfers_per_hop,
            Cost::Chase { transfers_per_read: one_way } | Cost::Stamp { transfers_per_message: one_way } => {
                one_way / 2.0
            }
        };
        let trips: f64 = orders.iter().map(|order| order.round_trips() as f64 * transfers(order)).sum();
        super::map::overhead_ns(driver, cell as usize) + trips * round_trip_ns
    };
    let sweep: f64 = cells.iter().map(visit).sum();
    LOOKS[0] as f64 * sweep.max(GAP.ns())
}
