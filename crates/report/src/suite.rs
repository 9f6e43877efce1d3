//! A run of all probes: a short table and a finding in one sentence for each probe.

use super::best::bare_title;
use super::parameters::explanation;
use super::trial_cells::{PERCENT, PLAIN};
use super::trial_words::{question, relation_sentence};
use super::wait::crossovers;
use super::{findings, jitter, plateaus, queue};
use crate::blocks::value::{Arg, DisplayUnit, DisplayValue, Number, Sentence, Source, Statistic};
use crate::blocks::{Block, Cell, Column, Table};
use crate::reasons::of_trial;
use coretalk_model::probes;
use coretalk_model::quantity::{Aggregate, Quantity, Unit};
use coretalk_model::queue::QueueCell;
use coretalk_model::run::{RunReport, SeriesReport};
use coretalk_model::series::MASK;
use coretalk_model::series::{self, ParameterValue, TrialResult};
use coretalk_model::stats::Estimate;
use coretalk_model::{Flag, Flags};

/// Half width from which a third digit has no meaning.
const MIN_COARSE_WIDTH: f64 = 0.05;
const MAX_ROWS: usize = 24;
const NOT_IN_ROWS: [&str; 5] = ["threads", "arrange", "payload", "parent_mib", MASK];

pub(super) fn blocks(report: &RunReport, series: &SeriesReport) -> Vec<Block<'static>> {
    let common = common_flags(&series.result.trials);
    let mut blocks = vec![Block::Gap, Block::Prose(legend(series, &common))];
    for name in &series.settings.probes {
        let Some(probe) = probes::declaration(name) else { continue };
        let trials: Vec<&TrialResult> =
            series.result.trials.iter().filter(|trial| trial.spec.probe == *name).collect();
        blocks.extend([Block::Gap, question(probe)]);
        if *name == coretalk_model::jitter::names::PROBE {
            blocks.extend(jitter::in_short(&trials));
            continue;
        }
        let finding = findings::of_probe(report, series, name);
        blocks.extend(finding.and_then(|found| findings::sentence(report, &found)).map(Block::Answer));
        blocks.extend(probe_table(report, series, &trials, &common));
        blocks.extend(plateaus::blocks(series, &trials));
        // The blocks of queues explain this themselves.
        if *name != coretalk_model::queue::names::PROBE
            && trials.iter().any(|trial| measures_time_slices(trial))
        {
            let text = "s: threads share a CPU and poll instead of sleeping: this measures time slices.";
            blocks.push(Block::Prose(Sentence::new(text)));
        }
        if *name == coretalk_model::wait::names::PROBE {
            blocks.extend(crossovers(report, series));
        }
        if *name == coretalk_model::queue::names::PROBE {
            blocks.extend(queue::words(report, series));
        }
    }
    blocks
}

#[derive(Clone, Copy)]
struct DisplayedValue<'a> {
    value: f64,
    quantity: &'static Quantity,
    estimate: Option<&'a Estimate>,
    trial: &'a TrialResult,
}

impl DisplayedValue<'_> {
    fn width(&self) -> Option<f64> {
        self.estimate?.stated_reach(self.value)
    }

    /// The value with the digits that its interval permits, a wide interval, and any reason not to use the value.
    fn cell(&self, precision: f64, common: &[Flag]) -> Sentence {
        let (width, trial) = (self.width(), self.trial);
        let source = match QueueCell::holds(trial) {
            true => Source::of_any(trial.spec.id(), "/median"),
            false => {
                let is_events = self.quantity.aggregate == Aggregate::Events;
                let median = if is_events { Statistic::Percentile(0.5) } else { Statistic::Estimate };
                Source::of_trial(trial, self.quantity.id, median)
            }
        };
        let number = match width {
            Some(width) if width >= MIN_COARSE_WIDTH => Number::Coarse(self.value),
            _ => Number::Point(self.value),
        };
        let (template, unit) = match self.quantity.unit {
            Unit::Ns => ("{value}{interval}{mark}", DisplayUnit::Own(Unit::Ns)),
            Unit::Ratio => ("× {value}{interval}{mark}", DisplayUnit::InSentence(Unit::Ratio)),
            _ => ("{value} M/s{interval}{mark}", DisplayUnit::Millions),
        };
        let interval = match (width, self.estimate) {
            (Some(width), _) if width <= precision * (1.0 + 1e-9) => Sentence::new(""),
            (_, None) => Sentence::new(" ±?"),
            (_, Some(estimate)) => {
                let number = Number::HalfWidth { of: *estimate, stated: self.value };
                let source = match &source {
                    Source::OfTrial { .. } => source.clone(),
                    _ => Source::of_trial(trial, self.quantity.id, Statistic::Estimate),
                };
                Sentence::new(" ±{width}").with("width", DisplayValue { number, unit: PERCENT, source })
            }
        };
        let mark = match marked_flag(trial, common) {
            _ if measures_time_slices(trial) => Sentence::new(" s"),
            Some(flag) => Sentence::new(" ! {flag}").with("flag", flag.name()),
            None => Sentence::new(""),
        };
        Sentence::new(template)
            .with("value", DisplayValue { number, unit, source })
            .with("interval", interval)
            .with("mark", mark)
    }
}

fn marked_flag(trial: &TrialResult, common: &[Flag]) -> Option<Flag> {
    trial
        .flags
        .iter()
        .filter(|flag| flag.may_be_wrong() && !common.contains(flag))
        .collect::<Flags>()
        .gravest()
}

/// Flags of most trials. They are not marked, because nearly all values would have the mark.
fn common_flags(trials: &[TrialResult]) -> Vec<Flag> {
    let many =
        |flag: &Flag| 2 * trials.iter().filter(|trial| trial.flags.contains(*flag)).count() > trials.len();
    Flag::ALL.iter().copied().filter(|flag| flag.may_be_wrong() && many(flag)).collect()
}

fn legend(series: &SeriesReport, common: &[Flag]) -> Sentence {
    let number = Number::Point(series.settings.precision);
    let width = DisplayValue { number, unit: PERCENT, source: Source::Option("precision") };
    let sentence = Sentence::new(
        "Intervals are ±{width} at 95 % unless shown (±?: too few passes); ! marks a value that should not be used, with the \
         reason.",
    );
    let mut sentences = vec![sentence.with("width", width)];
    for flag in common {
        let flagged = series.result.trials.iter().filter(|trial| trial.flags.contains(*flag));
        let reason = flagged.clone().find(|trial| trial.flags.gravest() == Some(*flag));
        let reason = reason.and_then(of_trial).unwrap_or(flag.name().into());
        let unmarked = Sentence::new("Not marked because most values share it: {reason} ({of} of {all}).");
        sentences.push(
            unmarked
                .with("reason", reason)
                .with("of", DisplayValue::listed(flagged.count()))
                .with("all", DisplayValue::listed(series.result.trials.len())),
        );
    }
    Sentence::new("{sentences}").with("sentences", Arg::Parts(sentences, " "))
}

fn probe_table(
    report: &RunReport,
    series: &SeriesReport,
    trials: &[&TrialResult],
    common: &[Flag],
) -> Vec<Block<'static>> {
    // Only the full table of `wait` shows the slowdown of the SMT sibling by waiting, which is a ratio.
    let is_ratio = |trial: &&&TrialResult| trial.spec.parameters.text("mode") == Some("sibling");
    let (mut rows, mut placements): (Vec<Sentence>, Vec<Sentence>) = Default::default();
    let mut cells: Vec<(Sentence, Sentence, &TrialResult)> = Vec::new();
    for trial in trials.iter().filter(|trial| !is_ratio(trial)) {
        let (row, placement) = (label(trial), placement_label(report, trial));
        if !rows.contains(&row) {
            rows.push(row.clone());
        }
        if !placements.contains(&placement) {
            placements.push(placement.clone());
        }
        cells.push((row, placement, trial));
    }
    let displayed = |row: &Sentence, placement: &Sentence| {
        let (_, _, trial) =
            cells.iter().find(|(of_row, of_placement, _)| of_row == row && of_placement == placement)?;
        let name = series::displayed_value(&series.settings, trial)?;
        let quantity = series.settings.quantities.get(&trial.spec.probe, name)?;
        let estimate = trial.medians_ns.get(name).or_else(|| trial.values.get(name));
        Some(DisplayedValue { value: trial.number_of(name)?, quantity, estimate, trial })
    };
    let titles = placements.iter().cloned().map(Column::numbers);
    let mut table = Table::new([Column::words("")].into_iter().chain(titles).collect::<Vec<_>>());
    for row in rows.iter().take(MAX_ROWS) {
        let cell = |placement: &Sentence| match displayed(row, placement) {
            Some(DisplayedValue { trial, .. })
                if measures_time_slices(trial) && trial.spec.probe == coretalk_model::queue::names::PROBE =>
            {
                "s".into()
            }
            Some(displayed) => displayed.cell(series.settings.precision, common).into(),
            None => Cell::Unknown,
        };
        table.row([row.clone().into()].into_iter().chain(placements.iter().map(cell)).collect::<Vec<_>>());
    }
    let displayed_values =
        rows.iter().flat_map(|row| placements.iter().filter_map(|placement| displayed(row, placement)));
    let what = quantities(displayed_values);
    let mut blocks = vec![Block::Prose(what), Block::Table(table)];
    if rows.len() > MAX_ROWS {
        let more = DisplayValue::listed(rows.len() - MAX_ROWS);
        blocks.push(Block::Prose(Sentence::pluralized("{number} more row{s} in the data", more)));
    }
    blocks
}

/// The quantities of the numbers in a table. The one with most rows comes first; the others are listed with their rows.
fn quantities<'a>(displayed_values: impl Iterator<Item = DisplayedValue<'a>>) -> Sentence {
    let mut kinds: Vec<(&Quantity, Vec<Sentence>)> = Vec::new();
    for displayed in displayed_values {
        let row = first_word(displayed.trial);
        match kinds.iter_mut().find(|(quantity, _)| quantity.id == displayed.quantity.id) {
            Some((_, rows)) if rows.contains(&row) => {}
            Some((_, rows)) => rows.push(row),
            None => kinds.push((displayed.quantity, vec![row])),
        }
    }
    kinds.sort_by_key(|(_, rows)| std::cmp::Reverse(rows.len()));
    let parts = kinds.into_iter().enumerate().map(|(index, (quantity, rows))| {
        let explained = explanation(quantity);
        Sentence::new(if index == 0 { "{words}{median}" } else { "{rows}: {words}{median}" })
            .with("rows", Sentence::joined(rows, ", "))
            .with("words", explained.unwrap_or_else(|| bare_title(quantity)))
            .with("median", if quantity.aggregate == Aggregate::Events { ", median" } else { "" })
    });
    Sentence::joined(parts, "; ")
}

fn measures_time_slices(trial: &TrialResult) -> bool {
    trial.flags.contains(Flag::SharedSpin)
}

fn label(trial: &TrialResult) -> Sentence {
    let is_text = |value: &ParameterValue| matches!(value, ParameterValue::Text(_));
    let parts = [parameters(trial, is_text), parameters(trial, |value| !is_text(value))].concat();
    Sentence::new("{parts}").with("parts", Arg::Parts(parts, ", "))
}

fn first_word(trial: &TrialResult) -> Sentence {
    let first = parameters(trial, |value| matches!(value, ParameterValue::Text(_))).into_iter().next();
    first.unwrap_or_else(|| label(trial))
}

fn parameters(trial: &TrialResult, which: impl Fn(&ParameterValue) -> bool) -> Vec<Sentence> {
    let shown =
        trial.spec.parameters.iter().filter(|(name, value)| !NOT_IN_ROWS.contains(name) && which(value));
    shown
        .map(|(name, value)| {
            let source = Source::Parameter { trial: None, name: name.to_owned() };
            let (template, unit) = match (name, value) {
                (_, ParameterValue::Text(text)) => return Sentence::name(text),
                ("pause_ns", _) => ("{value} apart", Unit::Ns),
                ("distance_bytes", _) => ("{value} bytes apart", Unit::Number),
                ("readers", ParameterValue::Number(1.0)) => ("{value} reader", Unit::Number),
                ("readers", _) => ("{value} readers", Unit::Number),
                ("critical_ns", _) => ("{value} inside", Unit::Ns),
                ("parallel_ns", _) => ("{value} outside", Unit::Ns),
                _ => return super::parameters::sentence(name, value, source),
            };
            let number = Number::Setting(trial.spec.parameters.number(name).unwrap_or_default());
            Sentence::new(template)
                .with("value", DisplayValue { number, unit: DisplayUnit::Own(unit), source })
        })
        .collect()
}

fn placement_label(report: &RunReport, trial: &TrialResult) -> Sentence {
    let relation = |from, to| relation_sentence(report.topology.relation(from, to), &report.topology);
    if let Some(threads) = trial.spec.parameters.number("threads") {
        let number = Number::Count(threads as u64);
        let source = Source::Parameter { trial: None, name: "threads".to_owned() };
        return Sentence::pluralized("{number} thread{s}", DisplayValue { number, unit: PLAIN, source });
    }
    // With many readers, the rows identify them.
    if trial.spec.parameters.number("readers").is_some() {
        return "last reader".into();
    }
    if let Some(cpus) = trial.spec.mask() {
        return Sentence::new("on {cpus}").with("cpus", cpus);
    }
    let pair_and_neighbours = trial.spec.parameters.text("load").is_some();
    match trial.spec.placement.as_slice() {
        [from, to, ..] if pair_and_neighbours => relation(*from, *to),
        [from, to] => relation(*from, *to),
        [] => "anywhere".into(),
        [_] => "same CPU".into(),
        more => Sentence::pluralized("{number} CPU{s}", DisplayValue::listed(more.len())),
    }
}
