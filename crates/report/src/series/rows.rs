//! Tables of trials: one row for each distribution, in units that keep its digits.

use crate::blocks::value::{DisplayUnit, DisplayValue, Number, Sentence, Source, Statistic};
use crate::blocks::{Block, Cell, Column, Table};
use crate::trial_cells::{self, median_width};
use crate::trial_words::{placement_sentence, trial_place};
use coretalk_model::idle_gaps::names as under_load;
use coretalk_model::probes::ProbeDeclaration;
use coretalk_model::probes::broadcast::names as broadcast;
use coretalk_model::quantity::{Aggregate, Parameter, Quantity};
use coretalk_model::run::RunReport;
use coretalk_model::series::{ParameterValue, SeriesSettings, TimeUnit, TrialResult, displayed_value};
use coretalk_model::{CpuId, Histogram};

const WIDE_TERMINAL: usize = 90;
const TAIL: [(&str, f64); 4] = [("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)];

/// Busy neighbours and readers are left out: parameters describe them.
fn group(trial: &TrialResult) -> &[CpuId] {
    let has = |name: &str| trial.spec.parameters.0.contains_key(name);
    let shared = match () {
        () if has(under_load::LOAD) => 2,
        () if has(broadcast::READERS) => 1,
        () => usize::MAX,
    };
    let placement = &trial.spec.placement;
    &placement[..placement.len().min(shared)]
}

/// One row for each distribution of each measured trial; the first also has the values and counts of the trial. Trials
/// on the same CPUs share a table. Unmeasured trials are counted below.
pub(super) fn tables(
    report: &RunReport,
    settings: &SeriesSettings,
    probe: &ProbeDeclaration,
    trials: &[&TrialResult],
) -> Vec<Block<'static>> {
    let trials: Vec<&TrialResult> = trials.iter().copied().filter(|trial| !trial.is_not_reached()).collect();
    let mut placements: Vec<&[CpuId]> = Vec::new();
    for trial in &trials {
        if !placements.contains(&group(trial)) {
            placements.push(group(trial));
        }
    }
    let mut blocks = Vec::new();
    for placement in placements {
        let here = trials.iter().copied().filter(|trial| group(trial) == placement);
        let longest = here.clone().map(|trial| trial.spec.placement.as_slice()).max_by_key(|cpus| cpus.len());
        let title = match (placement, longest) {
            ([writer], Some([_, readers @ ..])) if !readers.is_empty() => {
                let cpus = if readers.len() == 1 { "reader is CPU" } else { "readers are the first of CPUs" };
                Sentence::new("CPU {writer} writes; {cpus} {readers}")
                    .with("writer", *writer)
                    .with("cpus", cpus)
                    .with("readers", readers.to_vec())
            }
            _ => match here.clone().next() {
                Some(trial) if trial.spec.mask().is_some() => {
                    trial_place(&report.topology, trial).capitalized()
                }
                _ => placement_sentence(&report.topology, placement),
            },
        };
        blocks.push(Block::Heading(title));
        for (index, (time_unit, alike)) in by_unit(here, &trials).into_iter().enumerate() {
            blocks.extend((index > 0).then_some(Block::Gap));
            blocks.push(Block::Table(table(settings, probe, &alike, time_unit)));
        }
    }
    blocks
}

fn table(
    settings: &SeriesSettings,
    probe: &ProbeDeclaration,
    trials: &[&TrialResult],
    time_unit: TimeUnit,
) -> Table {
    let is_shown =
        |quantity: &&Quantity| quantity.in_table && trials.iter().any(|trial| has_value(trial, quantity));
    let mut columns: Vec<&Quantity> = probe.quantities.iter().filter(is_shown).collect();
    let displayed: Vec<&str> = trials.iter().filter_map(|trial| displayed_value(settings, trial)).collect();
    columns.sort_by_key(|quantity| {
        displayed.iter().position(|known| *known == quantity.id).unwrap_or(usize::MAX)
    });
    let (views, numbers): (Vec<&Quantity>, Vec<&Quantity>) =
        columns.into_iter().partition(|quantity| quantity.aggregate == Aggregate::Events);
    let numbers_first = numbers.iter().any(|quantity| displayed.contains(&quantity.id));
    let has_views = !views.is_empty();
    let has = |name: &str| trials.iter().any(|trial| trial.spec.parameters.0.contains_key(name));
    let parameters = probe.parameters.iter().filter(|parameter| has(parameter.id));
    let parameters: Vec<(&Parameter, &str)> =
        parameters.filter_map(|parameter| Some((parameter, parameter.title?))).collect();
    let mut columns: Vec<Column> = parameters.iter().map(|(_, title)| Column::words(*title)).collect();
    let mut of_views = Vec::new();
    if has_views {
        of_views.push(Column::words(time_unit.name));
        of_views.extend(["events", "mean", "p50", "±"].map(Column::numbers));
        of_views.extend(TAIL.map(|(title, share)| match share {
            0.9 => Column::numbers(title).from_width(WIDE_TERMINAL),
            _ => Column::numbers(title),
        }));
    }
    let of_numbers = numbers.iter().map(|quantity| Column::numbers(quantity.title));
    columns.extend(ordered(numbers_first, of_views, of_numbers.collect()));
    let mut table = Table::new(columns);
    for trial in trials {
        let views: Vec<&Quantity> =
            views.iter().copied().filter(|quantity| trial.histogram(quantity.id).is_some()).collect();
        for index in 0..views.len().max(1) {
            let is_first = index == 0;
            let on_first_row = |cell: Cell| if is_first { cell } else { Cell::Blank };
            let mut row: Vec<Cell> = parameters
                .iter()
                .map(|(parameter, _)| on_first_row(parameter_cell(trial, parameter)))
                .collect();
            let of_views = match has_views {
                true => view_cells(trial, views.get(index).copied(), time_unit),
                false => Vec::new(),
            };
            let of_numbers = numbers.iter().map(|quantity| on_first_row(number(trial, quantity)));
            row.extend(ordered(numbers_first, of_views, of_numbers.collect()));
            table.row(row);
        }
    }
    table
}

fn ordered<T>(numbers_first: bool, of_views: Vec<T>, of_numbers: Vec<T>) -> impl Iterator<Item = T> {
    let [first, second] = if numbers_first { [of_numbers, of_views] } else { [of_views, of_numbers] };
    first.into_iter().chain(second)
}

fn has_value(trial: &TrialResult, quantity: &Quantity) -> bool {
    match quantity.aggregate {
        Aggregate::Events => trial.histogram(quantity.id).is_some(),
        Aggregate::Sum | Aggregate::SumOverStates => trial.counts.contains_key(quantity.id),
        _ => trial.values.contains_key(quantity.id),
    }
}

fn parameter_cell(trial: &TrialResult, parameter: &Parameter) -> Cell {
    match trial.spec.parameters.0.get(parameter.id) {
        None => Cell::Unknown,
        Some(value) if parameter.id == under_load::WHERE => {
            let neighbours = trial.spec.placement.len().saturating_sub(2);
            Sentence::pluralized("{where}, {number} CPU{s}", DisplayValue::listed(neighbours))
                .with_name("where", &value.to_string())
                .into()
        }
        Some(ParameterValue::Text(text)) => Cell::name(text),
        Some(ParameterValue::Number(_)) => trial_cells::setting(trial, parameter.id, parameter.unit),
    }
}

pub(super) fn times_beside(trial: &TrialResult, all: &[&TrialResult]) -> TimeUnit {
    let alike = all.iter().filter(|other| other.medians_ns.keys().eq(trial.medians_ns.keys()));
    TimeUnit::for_values(alike.flat_map(|other| other.medians_ns.values()).map(|median| median.point))
}

/// Trials with the same distributions share a unit: in the unit of a wake-up, a handoff of 50 ns would lose its digits.
/// A trial without times joins the trials before it.
fn by_unit<'a>(
    here: impl Iterator<Item = &'a TrialResult>,
    all: &[&TrialResult],
) -> Vec<(TimeUnit, Vec<&'a TrialResult>)> {
    let mut tables: Vec<(TimeUnit, Vec<&TrialResult>)> = Vec::new();
    let mut before: Vec<&TrialResult> = Vec::new();
    let mut latest = 0;
    for trial in here {
        if trial.medians_ns.is_empty() {
            match tables.get_mut(latest) {
                Some((_, rows)) => rows.push(trial),
                None => before.push(trial),
            }
            continue;
        }
        let time_unit = times_beside(trial, all);
        latest = tables.iter().position(|(known, _)| *known == time_unit).unwrap_or(tables.len());
        match tables.get_mut(latest) {
            Some((_, rows)) => rows.push(trial),
            None => {
                tables.push((time_unit, std::mem::take(&mut before).into_iter().chain([trial]).collect()))
            }
        }
    }
    if tables.is_empty() { vec![(TimeUnit::for_values(std::iter::empty()), before)] } else { tables }
}

fn view_cells(trial: &TrialResult, view: Option<&Quantity>, time_unit: TimeUnit) -> Vec<Cell> {
    let Some(Quantity { id: name, title, .. }) = view else { return vec![Cell::Unknown; 5 + TAIL.len()] };
    let empty = Histogram::new();
    let histogram = trial.histogram(name).unwrap_or(&empty);
    let value = |number: Number, statistic: Statistic| DisplayValue {
        number,
        unit: DisplayUnit::OfColumn(time_unit.ns),
        source: Source::of_trial(trial, name, statistic),
    };
    let time = |ns: Option<f64>, statistic| Cell::number(ns.map(|ns| value(Number::Point(ns), statistic)));
    let percentile =
        |share: f64| time(histogram.supported_percentile_ns(share), Statistic::Percentile(share));
    let events = value(Number::Count(histogram.count()), Statistic::Count);
    let median = time(histogram.percentile_ns(0.5), Statistic::Percentile(0.5));
    let mut cells = vec![(*title).into(), events.into(), time(histogram.mean_ns(), Statistic::Mean), median];
    cells.push(median_width(trial, name));
    cells.extend(TAIL.map(|(_, share)| percentile(share)));
    cells
}

fn number(trial: &TrialResult, quantity: &Quantity) -> Cell {
    let (number, statistic) = match quantity.aggregate {
        Aggregate::Sum | Aggregate::SumOverStates => {
            (trial.counts.get(quantity.id).map(|count| Number::Count(*count)), Statistic::Count)
        }
        _ => (trial.values.get(quantity.id).map(|value| Number::Estimate(*value)), Statistic::Estimate),
    };
    trial_cells::number(trial, quantity.id, statistic, number, trial_cells::PLAIN)
}
