//! Trials that were in several states of the machine: their plateaus side by side.

use super::doubts::named;
use super::text::{count, ns, percent, plain};
use crate::SeriesReport;
use crate::blocks::Block;
use coretalk_model::quantity::Unit;
use coretalk_model::series::{self, TrialResult, TrialState};
use coretalk_model::stats::Estimate;

/// Trials whose plateaus are told one by one; more are counted.
const MOST_LISTED: usize = 6;

/// An item for each of the trials that changed state most, and how many there are besides.
pub(super) fn blocks(series: &SeriesReport, trials: &[&TrialResult]) -> Vec<Block<'static>> {
    // A trial that no number is shown of, such as a queue that cannot keep up with a rate, has no levels to tell.
    let shown = |trial| Some((trial, series::displayed_value(&series.settings, trial)?));
    let changed = trials.iter().copied().filter(|trial| !trial.states.is_empty());
    let mut changed: Vec<(&TrialResult, &str)> = changed.filter_map(shown).collect();
    if changed.is_empty() {
        return Vec::new();
    }
    let many = count(trials.len() as u64, "trial");
    let text = format!(
        "The machine changed state: {} of {many} have several levels. The tables show the most frequent \
         one, never an average.",
        changed.len()
    );
    let mut blocks = vec![Block::Prose(text.into())];
    changed.sort_by(|(a, _), (b, _)| contrast(b).total_cmp(&contrast(a)));
    // By the number that the table shows.
    for &(trial, name) in changed.iter().take(MOST_LISTED) {
        let declared = series.settings.quantities.of(&trial.spec.probe, name);
        let unit = declared.map_or(Unit::Ns, |quantity| quantity.unit);
        let value = |state: &TrialState| {
            state.medians_ns.get(name).or_else(|| state.values.get(name)).copied().unwrap_or(state.value)
        };
        let states: Vec<String> = trial
            .states
            .iter()
            .map(|state| {
                format!("{} of the passes {}", percent(state.share), value_words(unit, &value(state)))
            })
            .collect();
        blocks.push(Block::Item(format!("{}: {}", named(trial), states.join(", ")).into()));
    }
    if changed.len() > MOST_LISTED {
        let more = count((changed.len() - MOST_LISTED) as u64, "more trial");
        blocks.push(Block::Item(format!("{more} with several levels; see `states` in the data").into()));
    }
    blocks
}

/// How far the plateaus of a trial lie apart.
fn contrast(trial: &TrialResult) -> f64 {
    let points = || trial.states.iter().map(|state| state.value.point);
    points().fold(0.0, f64::max) / points().fold(f64::INFINITY, f64::min)
}

/// `27.3 µs ± 0.4`; of a rate `1.24 M/s ± 0.02`; of anything else the bare number.
fn value_words(unit: Unit, value: &Estimate) -> String {
    let (scale, unit) = match unit {
        Unit::PerSecond(_) => (1e6, " M/s"),
        Unit::Ratio => (1.0, " times"),
        _ if value.point < 1e3 => (1.0, " ns"),
        _ if value.point < 1e6 => (1e3, " µs"),
        _ => (1e6, " ms"),
    };
    let reach = if value.is_sure() { format!(" ± {}", ns(value.reach() / scale)) } else { String::new() };
    plain(&format!("{}{unit}{reach}", ns(value.point / scale)))
}
