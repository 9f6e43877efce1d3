//! Selection of the wait hint: once per run, from visits that timed the kernel with and without it.

use super::{ChosenHint, HintChoice, LatencySettings, Purpose, Record};
use crate::stats;
use crate::{Hint, KernelId, Protocol};
use std::collections::BTreeMap;

/// Minimum gain for which a hint is chosen, because a hint changes the title of the map.
const MIN_GAIN: f64 = 1.05;

/// The hint for the map of a protocol: as requested, or the pause if it makes the hand-over of some cells 5 % faster
/// and of no cell 5 % slower. Each cell counts with the median ratio over visits. "No cell" is judged by the tenth
/// percentile over cells, so that one disturbed cell does not decide.
pub fn choose(settings: &LatencySettings, record: &Record, protocol: Protocol) -> ChosenHint {
    match settings.hint {
        _ if !protocol.spins() => {
            return ChosenHint { hint: Hint::None, reason: "this protocol does not spin".into() };
        }
        HintChoice::None => return ChosenHint { hint: Hint::None, reason: "requested".into() },
        HintChoice::Pause => return ChosenHint { hint: Hint::Pause, reason: "requested".into() },
        HintChoice::Auto => {}
    }
    let mut gains = gains(record, protocol);
    gains.sort_by(f64::total_cmp);
    let (Some(worst), Some(best)) =
        (stats::quantile_of_sorted(&gains, 0.1), stats::quantile_of_sorted(&gains, 0.9))
    else {
        return ChosenHint { hint: Hint::None, reason: "there was no pilot".into() };
    };
    let percent = |gain: f64| (gain - 1.0) * 100.0;
    if best >= MIN_GAIN && worst >= 1.0 / MIN_GAIN {
        ChosenHint { hint: Hint::Pause, reason: format!("a pause gains up to {:.0} %", percent(best)) }
    } else if best >= MIN_GAIN {
        let reason = format!("a pause gains {:.0} % on some pairs but loses on others", percent(best));
        ChosenHint { hint: Hint::None, reason }
    } else {
        ChosenHint { hint: Hint::None, reason: "a pause gains less than 5 %".into() }
    }
}

fn gains(record: &Record, protocol: Protocol) -> Vec<f64> {
    let [plain, pause] = [Hint::None, Hint::Pause].map(|hint| KernelId::new(protocol, hint));
    let mut ratios: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for entry in record.others(Purpose::Pilot).chain(record.others(Purpose::Ladder)) {
        let Ok(visit) = &entry.outcome else { continue };
        let location = |kernel: &KernelId| {
            visit.spans.iter().find(|span| span.kernel == *kernel).map(|span| f64::from(span.location_ns))
        };
        if let (Some(plain), Some(pause)) = (location(&plain), location(&pause)) {
            ratios.entry(entry.cell).or_default().push(plain / pause);
        }
    }
    if let (Some(plain), Some(pause)) = (record.column(&plain, 0), record.column(&pause, 0)) {
        let mut cell = 0;
        while let Some(passes) = record.passes(cell) {
            for pass in 0..passes.len() {
                let [plain, pause] = [plain, pause].map(|column| passes.location(pass, column));
                if let (Some(plain), Some(pause)) = (plain, pause) {
                    ratios.entry(cell as u32).or_default().push(f64::from(plain) / f64::from(pause));
                }
            }
            cell += 1;
        }
    }
    ratios.values().filter_map(|ratios| stats::median(ratios)).collect()
}
