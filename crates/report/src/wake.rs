//! Wake-ups of unbound threads: where the waiter ran relative to the waker.

use super::parameters::parameter_sentence;
use crate::blocks::value::{DisplayValue, Number, Sentence, Source, Statistic};
use crate::blocks::{Block, Cell, Column, Table};
use coretalk_model::quantity::Unit;
use coretalk_model::series::MASK;
use coretalk_model::series::TrialResult;
use coretalk_model::wake::RanOn;

pub(super) fn places(trials: &[&TrialResult]) -> Vec<Block<'static>> {
    let unbound: Vec<&&TrialResult> = trials.iter().filter(|trial| trial.spec.mask().is_some()).collect();
    let known = |place: &RanOn| unbound.iter().any(|trial| trial.values.contains_key(place.share()));
    let places: Vec<RanOn> = RanOn::ALL.into_iter().filter(known).collect();
    if places.is_empty() {
        return Vec::new();
    }
    let mut columns = vec![Column::words("wake-ups")];
    columns.extend(places.iter().map(|place| Column::numbers(place.title())));
    let rows = unbound.iter().map(|trial| {
        let parameters = trial.spec.parameters.iter().filter(|(name, _)| *name != MASK);
        let words = parameters.map(|(name, value)| parameter_sentence(name, value));
        let share = |place: &RanOn| {
            Cell::number(trial.values.get(place.share()).map(|share| {
                let source = Source::of_trial(trial, place.share(), Statistic::Estimate);
                DisplayValue::bare(Number::WithEnds(*share), source).in_unit(Unit::Share)
            }))
        };
        let name = Cell::from(Sentence::joined(words, ", "));
        std::iter::once(name).chain(places.iter().map(share)).collect::<Vec<_>>()
    });
    let intro = "Where the waiter ran relative to the waker when it resumed: shares of the wake-ups with the 95 % interval \
                over passes.";
    vec![
        Block::Gap,
        Block::Prose(Sentence::new(intro)),
        Block::Table(Table::new(columns).with(rows)),
        Block::Gap,
    ]
}
