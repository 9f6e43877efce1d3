//! Details of trials in other language runtimes: spread between processes, rare pauses, and work of other threads.

use super::parameters::unbound;
use crate::blocks::value::{DisplayValue, Number, Sentence, Source, Statistic};
use crate::blocks::{Block, Cell, Column, Table};
use coretalk_model::external::forks;
use coretalk_model::probes::{self, StandIn};
use coretalk_model::quantity::{Better, Quantity, Unit};
use coretalk_model::run::{RunReport, SeriesReport};
use coretalk_model::runtime::names;
use coretalk_model::series::MASK;
use coretalk_model::series::{ParameterValue, TrialResult, TrialSpec, named_headline};
use coretalk_model::{CpuSet, Relation};

const MAX_ROWS: usize = 16;

pub(super) fn blocks(
    report: &RunReport,
    series: &SeriesReport,
    trials: &[&TrialResult],
) -> Vec<Block<'static>> {
    let measured: Vec<&TrialResult> =
        trials.iter().copied().filter(|trial| !trial.processes.is_empty()).collect();
    let mut blocks = Vec::new();
    if !measured.is_empty() {
        let mut shown: Vec<&TrialResult> = Vec::new();
        for trial in &measured {
            let alike = |other: &&TrialResult| {
                other.spec.parameters == trial.spec.parameters
                    && relation(report, other) == relation(report, trial)
            };
            if !shown.iter().any(alike) {
                shown.push(trial);
            }
        }
        let left_out = shown.len() < measured.len();
        let more = match shown.len().saturating_sub(MAX_ROWS) {
            0 => Sentence::new(""),
            more => Sentence::pluralized(" {number} more row{s} in the data.", DisplayValue::listed(more)),
        };
        shown.truncate(MAX_ROWS);
        blocks.push(Block::Gap);
        let shown_as = match headline_quantity(series, shown[0]) {
            Some(Quantity { unit: Unit::PerSecond(what), .. }) => {
                Sentence::new(" ({what} per second)").with("what", *what)
            }
            Some(quantity) => Sentence::new(" ({title})").with("title", quantity.title),
            None => Sentence::new(""),
        };
        let (has_overall, has_gc) = optional_columns(&shown);
        let overall = match has_overall {
            true => ", overall the same from all operations and all their time (rare pauses included)",
            false => "",
        };
        let gc = if has_gc { ", collections of garbage over all passes" } else { "" };
        let sentence = Sentence::new(
            "Runtimes{on}: how many processes took part, the slowest and the fastest of \
             them{shown_as}{overall}{gc}, and the share of the CPU time that threads other than the measured ones used.{more}",
        )
        .with("on", if left_out { ", on the first pair of each relation" } else { "" })
        .with("shown_as", shown_as)
        .with("overall", overall)
        .with("gc", gc)
        .with("more", more);
        blocks.push(Block::Prose(sentence));
        blocks.push(Block::Table(table(series, &shown)));
        let asked = forks(&series.settings.options) as usize;
        if measured.iter().any(|trial| trial.processes.len() < asked) {
            let sentence = Sentence::new(
                "Fewer processes took part than the {asked} that were asked for: each pass is made by one of them, and \
                 not every trial had so many passes. Ask for fewer with --forks, or for a longer --budget.",
            );
            let asked = DisplayValue::bare(Number::Count(asked as u64), Source::Option("forks"));
            blocks.push(Block::Remark(sentence.with("asked", asked)));
        }
        blocks.extend(report.environment.runtimes.iter().map(|(name, version)| {
            let sentence = Sentence::new("{name}: {version}").with_name("name", name);
            Block::Remark(sentence.with_name("version", version))
        }));
    }
    if report.environment.simulated.is_some() {
        blocks.extend(stand_ins(series, trials).into_iter().map(Block::Remark));
    }
    blocks
}

fn relation(report: &RunReport, trial: &TrialResult) -> Option<Relation> {
    match trial.spec.placement[..] {
        [from, to] => Some(report.topology.relation(from, to)),
        _ => None,
    }
}

fn headline_quantity(series: &SeriesReport, trial: &TrialResult) -> Option<&'static Quantity> {
    let TrialResult { spec, medians_ns, values, .. } = trial;
    let (name, _) = named_headline(&series.settings, &spec.probe, medians_ns, values)?;
    probes::quantity(&spec.probe, name)
}

fn table(series: &SeriesReport, trials: &[&TrialResult]) -> Table {
    let mut columns = ["", "CPUs"].map(Column::words).to_vec();
    columns.extend(["processes", "slowest", "fastest"].map(Column::numbers));
    let (has_overall, has_gc) = optional_columns(trials);
    columns.extend(
        [has_overall.then_some("overall"), has_gc.then_some("GC"), Some("elsewhere")]
            .into_iter()
            .flatten()
            .map(Column::numbers),
    );
    let asked = forks(&series.settings.options) as usize;
    let rows = trials.iter().map(|trial| {
        let TrialResult { spec, values, processes, .. } = trial;
        let quantity = headline_quantity(series, trial);
        let unit = quantity.map_or(Unit::Number, |quantity| quantity.unit);
        let [slowest, fastest] = ends(quantity, processes.iter().map(|process| process.value));
        // Values of single processes; no document contains them.
        let of_processes = |value| DisplayValue::bare(Number::Point(value), Source::Unrecorded).in_unit(unit);
        let shown = |value: Option<f64>| Cell::known(value.map(of_processes));
        let overall = trial.overall_ns().map(|ns| if let Unit::PerSecond(_) = unit { 1e9 / ns } else { ns });
        let overall = has_overall.then(|| shown(overall));
        let collections = has_gc.then(|| {
            Cell::known(trial.counts.get(names::COLLECTIONS).map(|&count| {
                let source = Source::of_trial(trial, names::COLLECTIONS, Statistic::Count);
                DisplayValue::bare(Number::Count(count), source)
            }))
        });
        let outside = values.get(names::OUTSIDE).map(|share| {
            let source = Source::of_trial(trial, names::OUTSIDE, Statistic::Estimate);
            DisplayValue::bare(Number::Point(share.point), source).in_unit(Unit::Share)
        });
        let outside = Cell::known(outside);
        let first = [
            label(trial).into(),
            cpus(spec).into(),
            process_count(processes.len(), asked).into(),
            shown(slowest),
            shown(fastest),
        ];
        first.into_iter().chain(overall).chain(collections).chain([outside]).collect::<Vec<_>>()
    });
    Table::new(columns).with(rows)
}

fn optional_columns(trials: &[&TrialResult]) -> (bool, bool) {
    let has_gc = |trial: &&TrialResult| trial.counts.contains_key(names::COLLECTIONS);
    (trials.iter().any(|trial| trial.overall_ns().is_some()), trials.iter().any(has_gc))
}

/// The CPUs of a trial: as a set for contention, where all threads are alike, else in role order.
fn cpus(spec: &TrialSpec) -> Sentence {
    if let Some(mask) = spec.mask() {
        return unbound(&spec.placement, mask);
    }
    match spec.parameters.number("threads").is_some() {
        true => Sentence::new("{cpus}").with("cpus", spec.placement.iter().copied().collect::<CpuSet>()),
        false => {
            let cpus = spec.placement.iter().map(|cpu| Sentence::new("{cpu}").with("cpu", *cpu));
            Sentence::joined(cpus, " → ")
        }
    }
}

fn process_count(processes: usize, asked: usize) -> Sentence {
    Sentence::new(if processes < asked { "{processes} of {asked}" } else { "{processes}" })
        .with("processes", DisplayValue::listed(processes))
        .with("asked", DisplayValue::bare(Number::Count(asked as u64), Source::Option("forks")))
}

fn label(trial: &TrialResult) -> Sentence {
    let declared = probes::parameters(&trial.spec.probe).iter();
    let values = declared.filter(|parameter| parameter.id != MASK).filter_map(|parameter| {
        Some(match trial.spec.parameters.0.get(parameter.id)? {
            ParameterValue::Number(number) => {
                let source =
                    Source::Parameter { trial: Some(trial.spec.id()), name: parameter.id.to_owned() };
                let unit = if parameter.unit == Unit::Ns { Unit::Ns } else { Unit::Number };
                let number = DisplayValue::bare(Number::Setting(*number), source).in_unit(unit);
                Sentence::new("{number}").with("number", number)
            }
            ParameterValue::Text(text) => Sentence::name(text),
        })
    });
    Sentence::joined(values, " ")
}

fn ends(quantity: Option<&Quantity>, values: impl Iterator<Item = f64> + Clone) -> [Option<f64>; 2] {
    let [least, most] = [values.clone().min_by(f64::total_cmp), values.max_by(f64::total_cmp)];
    match quantity.and_then(|quantity| quantity.better) {
        Some(Better::Higher) => [least, most],
        _ => [most, least],
    }
}

/// The native code in place of runtimes on a simulated machine. Its numbers are not those of the runtimes.
fn stand_ins(series: &SeriesReport, trials: &[&TrialResult]) -> Vec<Sentence> {
    let mut remarks: Vec<Sentence> = Vec::new();
    for StandIn { external, native, factor } in
        trials.iter().filter_map(|trial| (series.glossary.stand_in)(&trial.spec))
    {
        let template = match factor {
            1.0 => "{external}: simulated as {native}, as fast",
            _ => "{external}: simulated as {native}, {times} × as slow",
        };
        let remark = Sentence::new(template)
            .with("external", external)
            .with("native", native)
            .with("times", DisplayValue::bare(Number::Point(factor), Source::Method));
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
    }
    remarks
}
