//! Values of trials as cells with their sources; unknown if the trial lacks the value.

use crate::blocks::Cell;
use crate::blocks::value::{DisplayUnit, DisplayValue, Number, Source, Statistic};
use coretalk_model::quantity::Unit;
use coretalk_model::series::TrialResult;

pub(super) const PLAIN: DisplayUnit = DisplayUnit::OfColumn(1.0);
pub(super) const MICROS: DisplayUnit = DisplayUnit::OfColumn(1e3);
pub(super) const PERCENT: DisplayUnit = DisplayUnit::Own(Unit::Share);

pub(super) fn value(trial: &TrialResult, quantity: &'static str, unit: DisplayUnit) -> Cell {
    let point = trial.values.get(quantity).map(|value| Number::Point(value.point));
    number(trial, quantity, Statistic::Estimate, point, unit)
}

pub(super) fn width(trial: &TrialResult, quantity: &'static str) -> Cell {
    let width = trial
        .values
        .get(quantity)
        .map(|estimate| Number::HalfWidth { of: *estimate, stated: estimate.point });
    number(trial, quantity, Statistic::Estimate, width, PERCENT)
}

/// A percentile; unknown if the distribution has too few events.
pub(super) fn percentile(trial: &TrialResult, quantity: &'static str, share: f64, unit: DisplayUnit) -> Cell {
    let known = trial.histogram(quantity).and_then(|histogram| histogram.supported_percentile_ns(share));
    number(trial, quantity, Statistic::Percentile(share), known.map(Number::Point), unit)
}

pub(super) fn count(trial: &TrialResult, quantity: &'static str, unit: DisplayUnit) -> Cell {
    let count = trial.counts.get(quantity).map(|count| Number::Count(*count));
    number(trial, quantity, Statistic::Count, count, unit)
}

/// Half the width of the interval of a median, relative to the median of all events of its distribution.
pub(super) fn median_width(trial: &TrialResult, quantity: &'static str) -> Cell {
    let stated = trial.histogram(quantity).and_then(|histogram| histogram.percentile_ns(0.5));
    let known = trial.medians_ns.get(quantity).zip(stated);
    let width = known.map(|(median, stated)| Number::HalfWidth { of: *median, stated });
    number(trial, quantity, Statistic::Estimate, width, PERCENT)
}

pub(super) fn number(
    trial: &TrialResult,
    quantity: &'static str,
    statistic: Statistic,
    number: Option<Number>,
    unit: DisplayUnit,
) -> Cell {
    Cell::number(number.map(|number| display_value(trial, quantity, statistic, number, unit)))
}

pub(super) fn display_value(
    trial: &TrialResult,
    quantity: &'static str,
    statistic: Statistic,
    number: Number,
    unit: DisplayUnit,
) -> DisplayValue {
    DisplayValue { number, unit, source: Source::of_trial(trial, quantity, statistic) }
}

pub(super) fn chosen(trial: &TrialResult, name: &str) -> Cell {
    let number = trial.spec.parameters.number(name).map(|number| Number::Count(number as u64));
    let source = Source::Parameter { trial: Some(trial.spec.id()), name: name.to_owned() };
    Cell::number(number.map(|number| DisplayValue { number, unit: PLAIN, source }))
}

pub(super) fn setting(trial: &TrialResult, name: &str, unit: Unit) -> Cell {
    let number = trial.spec.parameters.number(name).map(Number::Setting);
    let source = Source::Parameter { trial: Some(trial.spec.id()), name: name.to_owned() };
    Cell::number(number.map(|number| DisplayValue { number, unit: DisplayUnit::Own(unit), source }))
}
