//! Trials with several states of the machine: the level of each state.

use super::doubts::named;
use super::trial_cells::PERCENT;
use crate::blocks::Block;
use crate::blocks::value::{Arg, DisplayUnit, DisplayValue, Number, Sentence, Source, pointer};
use coretalk_model::quantity::Unit;
use coretalk_model::queue::QueueCell;
use coretalk_model::run::SeriesReport;
use coretalk_model::series::{self, TrialResult, TrialState};
use coretalk_model::stats::Estimate;

const MAX_LISTED: usize = 6;

/// One item for each of the trials with the largest changes, and the number of other trials.
pub(super) fn blocks(series: &SeriesReport, trials: &[&TrialResult]) -> Vec<Block<'static>> {
    // A trial without a displayed value, such as a queue that does not sustain a rate, has no levels.
    let shown = |trial| Some((trial, series::displayed_value(&series.settings, trial)?));
    let changed = trials.iter().copied().filter(|trial| !trial.states.is_empty());
    let mut changed: Vec<(&TrialResult, &str)> = changed.filter_map(shown).collect();
    if changed.is_empty() {
        return Vec::new();
    }
    let sentence = Sentence::pluralized(
        "The machine changed state: {changed} of {number} trial{s} have several levels. The tables show the most frequent \
         one, never an average.",
        trials_of(trials, trials.len(), false),
    );
    let mut blocks = vec![Block::Prose(sentence.with("changed", trials_of(trials, changed.len(), true)))];
    changed.sort_by(|(a, _), (b, _)| contrast(b).total_cmp(&contrast(a)));
    for &(trial, name) in changed.iter().take(MAX_LISTED) {
        let declared = series.settings.quantities.get(&trial.spec.probe, name);
        let unit = declared.map_or(Unit::Ns, |quantity| quantity.unit);
        let value = |state: &TrialState| {
            state.medians_ns.get(name).or_else(|| state.values.get(name)).copied().unwrap_or(state.value)
        };
        let field = |state: &TrialState| match state.values.contains_key(name) {
            true if !state.medians_ns.contains_key(name) && !QueueCell::holds(trial) => {
                pointer!("values/{name}")
            }
            _ => "median".to_owned(),
        };
        let states = trial.states.iter().enumerate().map(|(index, state)| {
            let source = |field: &str| {
                let view = state.medians_ns.contains_key(name).then(|| name.to_owned());
                let field = pointer!("/states/{index}/{field}");
                Source::OfTrial { trial: trial.spec.id(), view, field }
            };
            let share = Number::Point(state.share);
            Sentence::new("{share} of the passes {value}")
                .with("share", DisplayValue { number: share, unit: PERCENT, source: source("share") })
                .with("value", value_sentence(unit, value(state), source(&field(state))))
        });
        let sentence = Sentence::new("{trial}: {states}").with("trial", named(trial));
        blocks.push(Block::Item(sentence.with("states", Arg::Parts(states.collect(), ", "))));
    }
    if changed.len() > MAX_LISTED {
        let more = DisplayValue::listed(changed.len() - MAX_LISTED);
        let template = "{number} more trial{s} with several levels; see `states` in the data";
        blocks.push(Block::Item(Sentence::pluralized(template, more)));
    }
    blocks
}

fn trials_of(trials: &[&TrialResult], number: usize, changed: bool) -> DisplayValue {
    let probe = trials.first().map(|trial| trial.spec.probe.clone());
    DisplayValue { source: Source::Trials { probe, changed }, ..DisplayValue::listed(number) }
}

fn contrast(trial: &TrialResult) -> f64 {
    let points = || trial.states.iter().map(|state| state.value.point);
    points().fold(0.0, f64::max) / points().fold(f64::INFINITY, f64::min)
}

fn value_sentence(unit: Unit, value: Estimate, source: Source) -> Sentence {
    let (template, unit, scale) = match unit {
        Unit::PerSecond(_) => ("{value} M/s{reach}", DisplayUnit::Millions, 1e6),
        Unit::Ratio => ("{value} times{reach}", DisplayUnit::InSentence(unit), 1.0),
        Unit::Ns if value.point >= 1e6 => ("{value}{reach}", DisplayUnit::Own(unit), 1e6),
        Unit::Ns if value.point >= 1e3 => ("{value}{reach}", DisplayUnit::Own(unit), 1e3),
        _ => ("{value}{reach}", DisplayUnit::Own(unit), 1.0),
    };
    let number = |number, unit| DisplayValue { number, unit, source: source.clone() };
    let reach = match value.is_sure() {
        true => Sentence::new(" ± {reach}")
            .with("reach", number(Number::Reach(value), DisplayUnit::OfColumn(scale))),
        false => Sentence::new(""),
    };
    Sentence::new(template).with("value", number(Number::Point(value.point), unit)).with("reach", reach)
}
