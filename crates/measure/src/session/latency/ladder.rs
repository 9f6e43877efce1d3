//! The ladder: representative pairs of each relation under every kernel, and as two well-known tools would print them.

use super::RunError;
use super::driver::{Driver, Flow};
use super::menu::{LADDER_TOOLS, ladder_kernels};
use super::pilot::representative_cells;
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
    let mut kernels = if driver.menu.tiny { Vec::new() } else { ladder_kernels() };
    kernels.extend(LADDER_TOOLS.iter().map(|&tool: &Tool| KernelId::imitating(tool)));
    driver.menu.prepare_other("ladder", &kernels, LINES);
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
