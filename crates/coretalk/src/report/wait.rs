//! Ways of waiting: percentiles of round trips in nanoseconds, what a trip costs, and from which wait on sleeping pays.

use super::style::Style;
use super::text::{cut, duration, grouped, ns, percent, plain, wrap};
use super::trial_maps::map;
use super::trial_words::{half_width, median_width, placement_words};
use crate::blocks::Align;
use crate::render::terminal::Columns;
use crate::{RunReport, SeriesReport};
use coretalk_measure::probes;
use coretalk_model::series::{TrialResult, alike};
use coretalk_model::wait::{Crossover, names};
use coretalk_model::{CpuId, Flag};

pub(super) use coretalk_model::wait::names::PROBE;

/// Percentiles of every table.
const SHARES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// Everything about the trials of `wait`.
pub(super) fn lines(
    report: &RunReport,
    series: &SeriesReport,
    trials: &[&TrialResult],
    style: &Style,
) -> Vec<String> {
    let width = style.width;
    let mut lines = Vec::new();
    let mut listed: Vec<&TrialResult> = Vec::new();
    for kind in alike(trials.iter().copied()) {
        match kind.is_map() {
            true => lines.extend(map(report, series, &kind, style)),
            false => listed.extend(kind.trials),
        }
    }
    for placement in placements(&listed) {
        let here: Vec<&TrialResult> =
            listed.iter().copied().filter(|trial| trial.spec.placement == placement).collect();
        lines.push(cut(&format!(" {}", placement_words(report, placement)), width));
        lines.extend(of_placement(&here, width));
        lines.push(String::new());
    }
    lines.extend(crossovers(report, series, width));
    lines.extend(legend(report, trials, width));
    lines
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

/// What was measured on some CPUs, by what was timed.
fn of_placement(trials: &[&TrialResult], width: usize) -> Vec<String> {
    let of = |mode: Option<&str>| -> Vec<&TrialResult> {
        trials.iter().copied().filter(|trial| trial.spec.parameters.text("mode") == mode).collect()
    };
    let mut lines = Vec::new();
    let singles: Vec<&TrialResult> = of(Some(names::CLOCK)).into_iter().chain(of(None)).collect();
    if !singles.is_empty() {
        lines.extend(percentiles(&singles, width));
    }
    let trips: Vec<&TrialResult> = of(None).into_iter().chain(of(Some(names::ALTERNATE))).collect();
    for trial in of(Some(names::ALTERNATE)) {
        lines.extend(side_by_side(trial, width));
    }
    if !trips.is_empty() {
        lines.extend(wrap(
            " What a trip costs, in ns: mean of the samples, of it the clock, the rest (net), and the whole loop; looks \
             in vain and CPU time of both sides; how often one slept, or lost its CPU.",
            width,
            1,
        ));
        lines.extend(costs(&trips, width));
    }
    let many = of(Some(names::NO_CLOCK));
    if !many.is_empty() {
        lines.extend(wrap(" Many trips between two reads of the clock:", width, 1));
        lines.extend(throughput(&many, width));
    }
    let calls = of(Some(names::COST));
    if !calls.is_empty() {
        lines.extend(wrap(
            " One call of what each strategy does between two looks, look included:",
            width,
            1,
        ));
        lines.extend(values(&calls, [(names::CALL_NS, "ns"), (names::CALL_CYCLES, "core cycles")], width));
    }
    let beside = of(Some(names::SIBLING));
    if !beside.is_empty() {
        lines.extend(wrap(
            " The first CPU waits, the second works beside it on the same core: its work takes so many times longer than \
             while the first one sleeps.",
            width,
            1,
        ));
        lines.extend(values(&beside, [(names::SLOWDOWN, "times")], width));
    }
    lines
}

/// `pause`, or `pause : futex` where the sides differ; with a mark where a hypervisor may interfere, or a doubt.
fn name(trial: &TrialResult) -> String {
    let text = |name: &str| trial.spec.parameters.text(name).map(plain);
    let strategy = text("strategy").unwrap_or_else(|| "clock".to_owned());
    let both = match text("partner") {
        Some(partner) => format!("{strategy} : {partner}"),
        // Its numbers are of both phases.
        None if trial.histogram(names::HINT).is_some() => format!("{strategy}, busy in turn"),
        None => strategy,
    };
    let doubt = if trial.flags.has_doubt() { " !" } else { "" };
    let guest = if trial.flags.contains(Flag::PauseExits) { " g" } else { "" };
    let slices = if trial.flags.contains(Flag::SharedSpin) { " s" } else { "" };
    format!("{both}{guest}{slices}{doubt}")
}

fn percentiles(trials: &[&TrialResult], width: usize) -> Vec<String> {
    let mut heading = vec![("ns, one clock read included", Align::Left), ("±", Align::Right)];
    heading.extend(SHARES.map(|(title, _)| (title, Align::Right)));
    heading.push(("max", Align::Right));
    let mut table = Columns::new(&heading);
    for trial in trials {
        let view = if trial.spec.parameters.text("mode").is_some() { names::CLOCK } else { names::TRIP };
        let histogram = trial.histogram(view);
        let at = |share: f64| histogram.and_then(|histogram| histogram.telling_percentile_ns(share));
        let mut row = vec![name(trial), median_width(trial, view)];
        row.extend(SHARES.map(|(_, share)| known(at(share))));
        row.push(known(at(1.0)));
        table.row(row);
    }
    table.lines(width)
}

fn known(value: Option<f64>) -> String {
    value.map_or("·".to_owned(), ns)
}

/// Both distributions of a strategy that alternates with polling at once.
fn side_by_side(trial: &TrialResult, width: usize) -> Vec<String> {
    let strategy = trial.spec.parameters.text("strategy").map(plain).unwrap_or_default();
    let mut table = Columns::new(&[
        ("ns, trips in turn", Align::Left),
        (&strategy, Align::Right),
        ("busy", Align::Right),
        ("difference", Align::Right),
    ]);
    let width_of = |view: &str| median_width(trial, view);
    table.row(vec!["± of p50".to_owned(), width_of(names::HINT), width_of(names::PLAIN), String::new()]);
    let views = [names::HINT, names::PLAIN].map(|view| trial.histogram(view));
    for (title, share) in SHARES.into_iter().chain([("max", 1.0)]) {
        let [hint, plain] =
            views.map(|view| view.and_then(|histogram| histogram.telling_percentile_ns(share)));
        let ratio = hint.zip(plain).map(|(hint, plain)| hint / plain - 1.0);
        let ratio = ratio.map_or("·".to_owned(), |ratio| {
            let words = percent(ratio);
            if ratio > 0.0 && words != percent(0.0) { format!("+{words}") } else { words }
        });
        table.row(vec![title.to_owned(), known(hint), known(plain), ratio]);
    }
    table.lines(width)
}

fn costs(trials: &[&TrialResult], width: usize) -> Vec<String> {
    let mut table = Columns::new(&[
        ("", Align::Left),
        ("trips", Align::Right),
        ("mean", Align::Right),
        ("clock", Align::Right),
        ("net", Align::Right),
        ("loop", Align::Right),
        ("looks", Align::Right),
        ("CPU ns", Align::Right),
        ("slept", Align::Right),
        ("lost", Align::Right),
    ]);
    for trial in trials {
        let value = |name: &str| trial.values.get(name).map(|value| value.point);
        table.row(vec![
            name(trial),
            many(trial.counts.get(names::SAMPLES).copied()),
            known(value(names::MEAN_NS)),
            known(value(names::CLOCK_NS)),
            known(value(names::NET_NS)),
            known(value(names::LOOP_NS)),
            short(value(names::SPINS)),
            known(value(names::CPU_NS)),
            short(value(names::SLEEPS)),
            short(value(names::TAKEN)),
        ]);
    }
    let mut lines = table.lines(width);
    lines.extend(energy(trials, width));
    let negative: u64 = trials.iter().filter_map(|trial| trial.counts.get(names::NEGATIVE)).sum();
    if negative > 0 {
        let text = format!(
            " {} samples lie below the cost of the clock: they are counted as they are, and net of it they are negative.",
            grouped(negative as i64)
        );
        lines.extend(wrap(&text, width, 1));
    }
    lines
}

fn throughput(trials: &[&TrialResult], width: usize) -> Vec<String> {
    let mut table = Columns::new(&[
        ("", Align::Left),
        ("trips", Align::Right),
        ("in", Align::Right),
        ("ns a trip", Align::Right),
        ("±", Align::Right),
        ("million/s", Align::Right),
        ("looks", Align::Right),
        ("CPU ns", Align::Right),
        ("slept", Align::Right),
    ]);
    for trial in trials {
        let value = |name: &str| trial.values.get(name).map(|value| value.point);
        let spent = trial.counts.get(names::DURATION_US).map(|us| duration(*us as f64 * 1e-6));
        table.row(vec![
            name(trial),
            many(trial.counts.get(names::SAMPLES).copied()),
            spent.unwrap_or_else(|| "·".to_owned()),
            known(value(names::LOOP_NS)),
            trial.values.get(names::LOOP_NS).map_or("·".to_owned(), half_width),
            short(value(names::TRIPS_PER_S).map(|per_s| per_s / 1e6)),
            short(value(names::SPINS)),
            known(value(names::CPU_NS)),
            short(value(names::SLEEPS)),
        ]);
    }
    table.lines(width).into_iter().chain(energy(trials, width)).collect()
}

/// Energy of a trip, where packages tell it.
fn energy(trials: &[&TrialResult], width: usize) -> Vec<String> {
    let told: Vec<String> = trials
        .iter()
        .filter_map(|trial| {
            let nj = trial.values.get(names::PACKAGE_NJ)?;
            Some(format!("{} {} ±{}", name(trial), ns(nj.point), half_width(nj)))
        })
        .collect();
    if told.is_empty() {
        return Vec::new();
    }
    let text =
        format!(" Energy of all packages during a trip, whatever else they did, in nJ: {}.", told.join(", "));
    wrap(&text, width, 1)
}

/// A row for each trial with some of its values.
fn values<const N: usize>(trials: &[&TrialResult], shown: [(&str, &str); N], width: usize) -> Vec<String> {
    let mut heading = vec![("", Align::Left)];
    for (_, title) in &shown {
        heading.extend([(*title, Align::Right), ("±", Align::Right)]);
    }
    let mut table = Columns::new(&heading);
    for trial in trials {
        let mut row = vec![name(trial)];
        for (name, _) in &shown {
            let value = trial.values.get(*name);
            row.push(known(value.map(|value| value.point)));
            row.push(value.map_or("·".to_owned(), half_width));
        }
        table.row(row);
    }
    table.lines(width)
}

/// A count with three significant digits: `26.4 M`.
fn many(count: Option<u64>) -> String {
    match count {
        None => "·".to_owned(),
        Some(count) if count < 10_000 => grouped(count as i64),
        Some(count) if count < 1_000_000 => format!("{} k", grouped(count as i64 / 1_000)),
        Some(count) => format!("{} M", ns(count as f64 / 1e6)),
    }
}

/// A small number with two digits behind the point; what is there and rounds to nothing says so.
fn short(value: Option<f64>) -> String {
    match value {
        None => "·".to_owned(),
        Some(0.0) => "0".to_owned(),
        Some(value) if value.abs() < 0.005 => "<0.01".to_owned(),
        Some(value) => ns(value),
    }
}

/// Up to which wait polling is cheaper, as `wait` found it.
pub(super) fn crossovers(report: &RunReport, series: &SeriesReport, width: usize) -> Vec<String> {
    let found = coretalk_model::wait::crossovers(&series.result);
    found.iter().flat_map(|found| crossover(report, found, width)).collect()
}

/// From which wait on sleeping is cheaper.
fn crossover(report: &RunReport, found: &Crossover, width: usize) -> Vec<String> {
    let range = |[point, low, high]: [f64; 3]| {
        format!("{} µs ({} to {})", ns(point / 1e3), ns(low / 1e3), ns(high / 1e3))
    };
    let later = match found.later_ns {
        [_, low, _] if low > 0.0 => format!("and the sleeper goes on {} later", range(found.later_ns)),
        [_, _, high] if high < 0.0 => "and the sleeper goes on no later".to_owned(),
        _ => "whether the sleeper goes on later cannot be told".to_owned(),
    };
    let text = format!(
        " {}: a sleep and the wake-up that ends it take {} of CPU time, {later} than with {}. A shorter wait is cheaper \
         spent looking; for a longer one sleeping is cheaper, where latency does not decide.",
        placement_words(report, &found.placement),
        range(found.spin_ns),
        plain(&found.spinning),
    );
    wrap(&text, width, 1)
}

/// What the names and marks mean.
fn legend(report: &RunReport, trials: &[&TrialResult], width: usize) -> Vec<String> {
    let specs: Vec<_> = trials.iter().map(|trial| &trial.spec).collect();
    let remarks = probes::series_by_id(PROBE).map_or(Vec::new(), |probe| probe.remarks(&specs));
    let mut lines: Vec<String> =
        remarks.iter().flat_map(|remark| wrap(&format!(" {}", plain(remark)), width, 3)).collect();
    let any = |flag: Flag| trials.iter().any(|trial| trial.flags.contains(flag));
    if any(Flag::PauseExits) {
        let text = " g: this is a guest, and a hypervisor may take a CPU away that executes many wait hints in a row.";
        lines.extend(wrap(text, width, 1));
    }
    if any(Flag::SharedSpin) {
        let text = " s: both threads look without giving their CPU away and share one CPU, so that they hand over once \
                    in a time slice: a property of the scheduler. Such trials end with their time.";
        lines.extend(wrap(text, width, 1));
    }
    let timed = trials.iter().any(|trial| trial.spec.parameters.text("mode").is_none());
    let beside = trials.iter().any(|trial| trial.spec.parameters.text("mode") == Some(names::SIBLING));
    if timed && !beside {
        let reported = report.topology.has_smt(report.topology.cpus());
        let text = if reported {
            " No two of these CPUs are threads of one core: what waiting takes from a sibling was not measured."
        } else {
            " This machine reports no two threads of one core: what waiting takes from a sibling cannot be told here."
        };
        lines.extend(wrap(text, width, 1));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretalk_model::series::{Parameters, TrialSpec};
    use coretalk_model::stats::Estimate;

    fn trial(strategy: &str, nj: Option<f64>) -> TrialResult {
        let estimate = |nj: f64| Estimate {
            point: nj,
            low: 0.9 * nj,
            high: 1.1 * nj,
            confidence: 0.95,
            effective_n: 8.0,
        };
        let spec = TrialSpec {
            probe: PROBE.into(),
            parameters: Parameters::default().with("strategy", strategy),
            placement: vec![CpuId(0), CpuId(1)],
        };
        TrialResult {
            passes: 8,
            values: nj.map(|nj| (names::PACKAGE_NJ.to_owned(), estimate(nj))).into_iter().collect(),
            ..TrialResult::of(spec)
        }
    }

    #[test]
    fn energy_is_told_where_packages_count_it() {
        let [busy, futex, unknown] = [("busy", Some(4_200.0)), ("futex", Some(90.0)), ("pause", None)]
            .map(|(name, nj)| trial(name, nj));
        let told = energy(&[&busy, &futex, &unknown], 200).concat();
        assert!(told.ends_with("in nJ: busy 4 200 ±10 %, futex 90.0 ±10 %."), "{told}");
        assert_eq!(energy(&[&unknown], 80), Vec::<String>::new());
    }
}
