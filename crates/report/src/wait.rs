//! Ways of waiting: percentiles of round trips in ns, the cost of a trip, and the wait from which sleeping is cheaper.

use super::trial_cells::{self, MICROS, PLAIN, count, median_width, percentile, value, width};
use super::trial_maps::map;
use super::trial_words::{legend_of_trials, placement_sentence};
use crate::blocks::value::{
    Arg, DisplayUnit, DisplayValue, Number, Operation, Sentence, Source, Statistic, pointer,
};
use crate::blocks::{Block, Cell, Column, Table};
use coretalk_model::run::{RunReport, SeriesReport};
use coretalk_model::series::{TrialResult, alike};
use coretalk_model::wait::{Crossover, names};
use coretalk_model::{CpuId, Flag};

pub(super) use coretalk_model::wait::names::PROBE;

const SHARES: [(&str, f64); 5] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)];

pub(super) fn blocks<'a>(
    report: &'a RunReport,
    series: &'a SeriesReport,
    trials: &[&'a TrialResult],
) -> Vec<Block<'a>> {
    let mut blocks = Vec::new();
    let mut listed: Vec<&TrialResult> = Vec::new();
    for kind in alike(trials.iter().copied()) {
        match kind.is_map() {
            true => blocks.extend(map(report, series, &kind)),
            false => listed.extend(kind.trials),
        }
    }
    for placement in placements(&listed) {
        let here: Vec<&TrialResult> =
            listed.iter().copied().filter(|trial| trial.spec.placement == placement).collect();
        blocks.push(Block::Heading(placement_sentence(&report.topology, placement)));
        blocks.extend(placement_blocks(&here));
        blocks.push(Block::Gap);
    }
    blocks.extend(crossovers(report, series));
    blocks.extend(legend(report, series, trials));
    blocks
}

fn placements<'a>(trials: &[&'a TrialResult]) -> Vec<&'a [CpuId]> {
    let mut placements: Vec<&[CpuId]> = Vec::new();
    for trial in trials {
        if !placements.contains(&trial.spec.placement.as_slice()) {
            placements.push(&trial.spec.placement);
        }
    }
    placements
}

fn placement_blocks(trials: &[&TrialResult]) -> Vec<Block<'static>> {
    let in_mode = |mode: Option<&str>| -> Vec<&TrialResult> {
        trials.iter().copied().filter(|trial| trial.spec.parameters.text("mode") == mode).collect()
    };
    let prose = |text: &'static str| Block::Prose(Sentence::new(text));
    let mut blocks = Vec::new();
    let singles: Vec<&TrialResult> = in_mode(Some(names::CLOCK)).into_iter().chain(in_mode(None)).collect();
    if !singles.is_empty() {
        blocks.push(Block::Table(percentiles(&singles)));
    }
    let trips: Vec<&TrialResult> = in_mode(None).into_iter().chain(in_mode(Some(names::ALTERNATE))).collect();
    blocks.extend(in_mode(Some(names::ALTERNATE)).into_iter().map(|trial| Block::Table(side_by_side(trial))));
    if !trips.is_empty() {
        blocks.push(prose(
            "Cost of a trip in ns: mean of the samples, the clock's part of it, the rest (net), and the whole \
             loop; failed polls and CPU time of both sides; how often one slept or was preempted.",
        ));
        blocks.extend(costs(&trips));
    }
    let many = in_mode(Some(names::NO_CLOCK));
    if !many.is_empty() {
        blocks.extend([prose("Many trips between two reads of the clock:"), Block::Table(throughput(&many))]);
        blocks.extend(energy(&many));
    }
    let calls = in_mode(Some(names::COST));
    if !calls.is_empty() {
        blocks.extend([
            prose("One call of what each strategy does between polls:"),
            Block::Table(values(&calls, [(names::CALL_NS, "ns"), (names::CALL_CYCLES, "core cycles")])),
        ]);
    }
    let siblings = in_mode(Some(names::SIBLING));
    if !siblings.is_empty() {
        blocks.extend([
            prose(
                "The first CPU waits while the second works on the same core: time of that work ÷ its time \
                 while the first CPU sleeps.",
            ),
            Block::Table(values(&siblings, [(names::SLOWDOWN, "times")])),
        ]);
    }
    blocks
}

/// The name of a row: `pause`, or `pause : futex` if the sides differ; marks show doubts and hypervisor effects.
fn name(trial: &TrialResult) -> Sentence {
    let text = |name: &str| trial.spec.parameters.text(name);
    let sides = match text("partner") {
        Some(partner) => Sentence::new("{strategy} : {partner}").with_name("partner", partner),
        // The values cover both phases.
        None if trial.histogram(names::HINT).is_some() => Sentence::new("{strategy}, alternating with busy"),
        None => Sentence::new("{strategy}"),
    };
    Sentence::new("{both}{guest}{slices}{doubt}")
        .with("both", sides.with_name("strategy", text("strategy").unwrap_or("clock")))
        .with("guest", if trial.flags.contains(Flag::PauseExits) { " g" } else { "" })
        .with("slices", if trial.flags.contains(Flag::SharedSpin) { " s" } else { "" })
        .with("doubt", if trial.flags.may_be_wrong() { " !" } else { "" })
}

fn percentiles(trials: &[&TrialResult]) -> Table {
    let mut columns = vec![Column::words("ns, one clock read included"), Column::numbers("±")];
    columns.extend(SHARES.map(|(title, _)| Column::numbers(title)));
    let rows = trials.iter().map(|trial| {
        let view = if trial.spec.parameters.text("mode").is_some() { names::CLOCK } else { names::TRIP };
        let mut row: Vec<Cell> = vec![name(trial).into(), median_width(trial, view)];
        row.extend(SHARES.map(|(_, share)| percentile(trial, view, share, PLAIN)));
        row
    });
    Table::new(columns).with(rows)
}

fn side_by_side(trial: &TrialResult) -> Table {
    let strategy = trial.spec.parameters.text("strategy").unwrap_or_default();
    let columns = [
        Column::words("ns, alternating trips"),
        Column::numbers(Sentence::name(strategy)),
        Column::numbers("busy"),
        Column::numbers("difference"),
    ];
    let views = [names::HINT, names::PLAIN];
    let [hint_cell, plain_cell] = views.map(|view| median_width(trial, view));
    let mut table = Table::new(columns).with([["± of p50".into(), hint_cell, plain_cell, Cell::Blank]]);
    for (title, share) in SHARES {
        let [hint, plain] = views.map(|view| trial.histogram(view)?.supported_percentile_ns(share));
        let [hint_cell, plain_cell] = views.map(|view| percentile(trial, view, share, PLAIN));
        let sources = views.map(|view| Source::of_trial(trial, view, Statistic::Percentile(share)));
        let difference = hint.zip(plain).map(|(hint, plain)| DisplayValue {
            number: Number::Relative(hint / plain - 1.0),
            unit: PLAIN,
            source: Operation::Ratio.on(sources),
        });
        table.row([title.into(), hint_cell, plain_cell, Cell::number(difference)]);
    }
    table
}

fn costs(trials: &[&TrialResult]) -> Vec<Block<'static>> {
    let titles = ["trips", "mean", "clock", "net", "loop", "polls", "CPU ns", "slept", "preempted"];
    let columns: Vec<Column> = [Column::words("")].into_iter().chain(titles.map(Column::numbers)).collect();
    let rows = trials.iter().map(|trial| {
        let known = |quantity| value(trial, quantity, PLAIN);
        [
            name(trial).into(),
            count(trial, names::SAMPLES, DisplayUnit::Letter),
            known(names::MEAN_NS),
            known(names::CLOCK_NS),
            known(names::NET_NS),
            known(names::LOOP_NS),
            small_number(trial, names::SPINS),
            known(names::CPU_NS),
            small_number(trial, names::SLEEPS),
            small_number(trial, names::TAKEN),
        ]
    });
    let mut blocks = vec![Block::Table(Table::new(columns).with(rows))];
    blocks.extend(energy(trials));
    let negative: u64 = trials.iter().filter_map(|trial| trial.counts.get(names::NEGATIVE)).sum();
    if negative > 0 {
        let of_trial = |trial: &&TrialResult| {
            let has = trial.counts.contains_key(names::NEGATIVE);
            has.then(|| Source::of_trial(trial, names::NEGATIVE, Statistic::Count))
        };
        let source = Operation::Sum.on(trials.iter().filter_map(of_trial).collect::<Vec<_>>());
        blocks.push(Block::Prose(
            Sentence::new(
                "{negative} samples are below the cost of the clock: they are kept, and are negative once it is subtracted.",
            )
            .with("negative", DisplayValue { number: Number::Count(negative), unit: PLAIN, source }),
        ));
    }
    blocks
}

fn throughput(trials: &[&TrialResult]) -> Table {
    let titles = ["trips", "in", "ns a trip", "±", "million/s", "polls", "CPU ns", "slept"];
    let columns: Vec<Column> = [Column::words("")].into_iter().chain(titles.map(Column::numbers)).collect();
    let rows = trials.iter().map(|trial| {
        [
            name(trial).into(),
            count(trial, names::SAMPLES, DisplayUnit::Letter),
            count(trial, names::DURATION_US, DisplayUnit::Duration(1e-6)),
            value(trial, names::LOOP_NS, PLAIN),
            width(trial, names::LOOP_NS),
            value(trial, names::TRIPS_PER_S, DisplayUnit::Millions),
            small_number(trial, names::SPINS),
            value(trial, names::CPU_NS, PLAIN),
            small_number(trial, names::SLEEPS),
        ]
    });
    Table::new(columns).with(rows)
}

fn energy(trials: &[&TrialResult]) -> Option<Block<'static>> {
    let energy_of = |trial: &&TrialResult| {
        let number = Number::Estimate(*trial.values.get(names::PACKAGE_NJ)?);
        let nj = trial_cells::display_value(trial, names::PACKAGE_NJ, Statistic::Estimate, number, PLAIN);
        Some(Sentence::new("{name} {nj}").with("name", name(trial)).with("nj", nj))
    };
    let energies: Vec<Sentence> = trials.iter().filter_map(energy_of).collect();
    (!energies.is_empty()).then(|| {
        let sentence =
            Sentence::new("Energy of all packages per trip, other activity included, in nJ: {energies}.");
        Block::Prose(sentence.with("energies", Arg::Parts(energies, ", ")))
    })
}

fn values<const N: usize>(trials: &[&TrialResult], shown: [(&'static str, &'static str); N]) -> Table {
    let mut columns = vec![Column::words("")];
    columns.extend(shown.iter().flat_map(|(_, title)| [*title, "±"].map(Column::numbers)));
    let rows = trials.iter().map(|trial| {
        let mut row: Vec<Cell> = vec![name(trial).into()];
        row.extend(shown.iter().flat_map(|(name, _)| [value(trial, name, PLAIN), width(trial, name)]));
        row
    });
    Table::new(columns).with(rows)
}

/// A number; below 0.005 it is shown as `<0.01`, so that only zero is shown as zero.
fn small_number(trial: &TrialResult, quantity: &'static str) -> Cell {
    let is_small = trial.values.get(quantity).is_some_and(|value| value.point.abs() < 0.005);
    value(trial, quantity, if is_small { DisplayUnit::Decimals(2) } else { PLAIN })
}

pub(super) fn crossovers(report: &RunReport, series: &SeriesReport) -> Vec<Block<'static>> {
    let found = coretalk_model::wait::crossovers(&series.result);
    let note =
        "Shorter waits are cheaper with polling, longer ones with sleeping, if latency does not matter.";
    let note = (!found.is_empty()).then(|| Sentence::new(note));
    found
        .iter()
        .enumerate()
        .map(|(at, found)| crossover(report, at, found))
        .chain(note)
        .map(Block::Prose)
        .collect()
}

fn crossover(report: &RunReport, at: usize, found: &Crossover) -> Sentence {
    let range = |keys: [&'static str; 2], [point, low, high]: [f64; 3]| {
        let micros = |ns, field: String| DisplayValue {
            unit: MICROS,
            ..DisplayValue::field(pointer!("/advice/{at}/{field}"), Number::Point(ns))
        };
        Sentence::new("{point} µs ({low} to {high})")
            .with("point", micros(point, keys[0].to_owned()))
            .with("low", micros(low, pointer!("{}/0", keys[1])))
            .with("high", micros(high, pointer!("{}/1", keys[1])))
    };
    let later = match found.later_ns {
        [_, low, _] if low > 0.0 => Sentence::new("resumes {later} later")
            .with("later", range(["later_ns", "later_ci"], found.later_ns)),
        [_, _, high] if high < 0.0 => Sentence::new("resumes no later"),
        _ => Sentence::new("may or may not resume later"),
    };
    Sentence::new(
        "{placement}: a sleep and its wake-up take {spin} of CPU time, and the sleeper {later} than with {spinning}.",
    )
    .with("placement", placement_sentence(&report.topology, &found.placement))
    .with("spin", range(["spin_ns", "ci"], found.spin_ns))
    .with("later", later)
    .with_name("spinning", &found.spinning)
}

fn legend(report: &RunReport, series: &SeriesReport, trials: &[&TrialResult]) -> Vec<Block<'static>> {
    let mut blocks = legend_of_trials(report, series, trials);
    let mut prose = |text: &'static str| blocks.push(Block::Prose(Sentence::new(text)));
    let any_has_flag = |flag: Flag| trials.iter().any(|trial| trial.flags.contains(flag));
    if any_has_flag(Flag::PauseExits) {
        prose("g: in a guest, the hypervisor may deschedule a CPU that executes many wait hints in a row.");
    }
    if any_has_flag(Flag::SharedSpin) {
        prose(
            "s: both threads poll without yielding and share one CPU, so they hand over once per time \
             slice: this measures the scheduler. Such trials end after a fixed time.",
        );
    }
    let timed = trials.iter().any(|trial| trial.spec.parameters.text("mode").is_none());
    let has_sibling = trials.iter().any(|trial| trial.spec.parameters.text("mode") == Some(names::SIBLING));
    if timed && !has_sibling {
        let reported = report.topology.has_smt(report.topology.cpus());
        prose(if reported {
            "No two of these CPUs are threads of one core: what waiting costs a sibling was not measured."
        } else {
            "This machine reports no two threads of one core: what waiting costs a sibling cannot be \
             measured."
        });
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::super::fmt;
    use super::*;
    use coretalk_model::series::{Parameters, TrialSpec};
    use coretalk_model::stats::Estimate;

    fn trial(strategy: &str, nj: Option<f64>) -> TrialResult {
        let estimate = |point: f64| {
            let (low, high) = (0.9 * point, 1.1 * point);
            Estimate { point, low, high, confidence: 0.95, effective_n: 8.0 }
        };
        let spec = TrialSpec {
            probe: PROBE.into(),
            parameters: Parameters::default().with("strategy", strategy),
            placement: vec![CpuId(0), CpuId(1)],
        };
        TrialResult {
            passes: 8,
            values: nj.map(|nj| (names::PACKAGE_NJ.to_owned(), estimate(nj))).into_iter().collect(),
            ..TrialResult::empty(spec)
        }
    }

    #[test]
    fn energy_is_shown_if_packages_report_it() {
        let [busy, futex, unknown] = [("busy", Some(4_200.0)), ("futex", Some(90.0)), ("pause", None)]
            .map(|(name, nj)| trial(name, nj));
        let Some(Block::Prose(sentence)) = energy(&[&busy, &futex, &unknown]) else { panic!("no prose") };
        let text = fmt::sentence(&sentence);
        assert!(text.ends_with("in nJ: busy 4 200 ±10 %, futex 90.0 ±10 %."), "{text}");
        assert!(energy(&[&unknown]).is_none());
    }
}
