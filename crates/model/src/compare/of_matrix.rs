//! Conversion of matrices to a [`Side`]: latency runs, files of other tools, and coretalk's `csv`.

use super::{Dataset, Fact, LogEstimate, ReadingKey, Series, Side, SideReading};
use crate::environment::Virtualization;
use crate::formats::{ImportedMatrix, Printed, Unit};
use crate::latency::summary::counts_total;
use crate::latency::{
    Counts, HomeSetting, LatencyMap, LatencyResult, LatencySettings, PairOutcome, TailSeries,
};
use crate::lint::clock_step;
use crate::quantity::Better;
use crate::stats::{Estimate, median_ranks};
use crate::{Environment, KernelId, Protocol, Topology};
use std::collections::BTreeMap;

/// Differences below 0.3 ns are irrelevant, because the instructions of a program around a transfer vary by more.
pub(super) const NEGLIGIBLE_NS: f64 = 0.3;
const VISIBLE_STEPS: f64 = 3.0;
/// Minimum relative error of the median of single events. Counts do not show the variation between runs.
pub(super) const SERIES_FLOOR: f64 = 0.02;

/// Converts a latency run: one dataset for each map, one for each imitated tool, and one for the tails.
pub fn of_latency(
    environment: &Environment,
    topology: &Topology,
    settings: &LatencySettings,
    result: &LatencyResult,
) -> Side {
    let mut datasets: Vec<Dataset> =
        result.maps.iter().map(|map| of_map(map, environment, settings)).collect();
    for imitated in &result.imitated {
        let readings = imitated.cells.iter().filter_map(|(row, column, cell)| {
            let cpus = imitated.cells.cpus();
            let key = ReadingKey::unordered(cpus[row], cpus[column]);
            let reading = SideReading {
                value: LogEstimate::bare(cell.as_ref().ok()?.value_ns),
                cycles: None,
                steady: true,
            };
            (row != column).then_some((key, reading))
        });
        datasets.push(Dataset {
            traits: vec![("kernel", KernelId::imitating(imitated.tool).to_string())],
            readings: readings.collect(),
            ..in_ns(format!("latency as {}", imitated.tool), "as_printed")
        });
    }
    if !result.tails.is_empty() {
        datasets.push(Dataset {
            traits: vec![("home", home(settings))],
            readings: result.tails.iter().filter_map(of_tails).collect(),
            ..in_ns("latency tails".to_owned(), "half_round_trip")
        });
    }
    Side { execution: result.execution.clone(), ..of_run(environment, topology, datasets) }
}

pub(super) fn of_run(environment: &Environment, topology: &Topology, datasets: Vec<Dataset>) -> Side {
    Side {
        facts: facts(environment),
        is_simulated: environment.simulated.is_some(),
        topology: Some(topology.clone()),
        execution: Vec::new(),
        guest: environment.hypervisor.is_some(),
        datasets,
        saturated: 0,
    }
}

fn yes_or_no(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

fn facts(environment: &Environment) -> BTreeMap<Fact, String> {
    let hypervisor = match environment.virtualization() {
        Virtualization::Guest(name) | Virtualization::Emulated(name) => Some(name.to_owned()),
        Virtualization::BareMetal => Some("none".to_owned()),
        Virtualization::Unknown => None,
    };
    let known = [
        (Fact::Simulated, Some(yes_or_no(environment.simulated.is_some()).to_owned())),
        (Fact::Libc, environment.libc.clone()),
        (Fact::CpuModel, environment.cpu_model.clone()),
        (Fact::Microcode, environment.microcode.clone()),
        (Fact::Firmware, environment.firmware.clone()),
        (Fact::System, environment.kernel.clone()),
        (Fact::Hypervisor, hypervisor),
        (Fact::Governor, environment.governor.clone()),
        (Fact::Boost, environment.boost.map(|on| if on { "on" } else { "off" }.to_owned())),
        (Fact::Page, environment.page_bytes.map(|bytes| bytes.to_string())),
        (Fact::Tool, Some(environment.tool_version.clone()).filter(|version| !version.is_empty())),
    ];
    known.into_iter().filter_map(|(fact, text)| Some((fact, text?))).collect()
}

fn in_ns(name: String, quantity: &str) -> Dataset {
    Dataset {
        subject: name.clone(),
        name,
        is_latency: true,
        quantity: quantity.to_owned(),
        unit: "ns".to_owned(),
        better: Better::Lower,
        traits: Vec::new(),
        resolution: 0.0,
        negligible: NEGLIGIBLE_NS,
        readings: BTreeMap::new(),
    }
}

fn home(settings: &LatencySettings) -> String {
    match settings.home {
        HomeSetting::Auto => "auto".to_owned(),
        HomeSetting::Node(node) => format!("node {}", node.0),
    }
}

fn of_map(map: &LatencyMap, environment: &Environment, settings: &LatencySettings) -> Dataset {
    let quantity = match map.protocol {
        Protocol::Cas | Protocol::Store | Protocol::Msg => "half_round_trip",
        Protocol::Xfer => "read",
        Protocol::OneWay => "one_way_variation",
    };
    let (counts, resolution) = match settings.counts {
        // Adaptive batches last 200 clock steps or more. Three steps are less than the minimum effect.
        Counts::Adaptive => ("adaptive".to_owned(), 0.0),
        Counts::Fixed { samples, iterations } => {
            let step_ns = environment.clock.step_ns.unwrap_or(0.0);
            let resolution = VISIBLE_STEPS * step_ns / (2.0 * f64::from(iterations));
            (format!("{samples} of {iterations}"), resolution)
        }
    };
    let cpus = map.cells.cpus();
    let symmetric = map.cells.is_symmetric();
    let readings =
        map.cells.iter().filter(|(row, column, _)| row != column).filter_map(|(row, column, cell)| {
            let PairOutcome::Measured(value) = cell else { return None };
            let pair = [cpus[row], cpus[column]];
            let key =
                if symmetric { ReadingKey::unordered(pair[0], pair[1]) } else { ReadingKey::Pair(pair) };
            let reading = SideReading {
                value: LogEstimate::from_estimate(&value.latency_ns),
                cycles: value.cycles.get().as_ref().map(LogEstimate::from_estimate),
                steady: value.states().len() < 2,
            };
            Some((key, reading))
        });
    Dataset {
        traits: vec![
            ("kernel", map.kernel.to_string()),
            ("regime", map.regime.name().to_owned()),
            ("home", home(settings)),
            ("lines", settings.lines.map_or_else(|| "auto".to_owned(), |lines| lines.to_string())),
            ("counts", counts),
        ],
        resolution,
        readings: readings.collect(),
        ..in_ns(format!("latency {}", map.protocol), quantity)
    }
}

fn of_tails(tails: &TailSeries) -> Option<(ReadingKey, SideReading)> {
    let n = counts_total(&tails.raw);
    let (low, high) = median_ranks(n as usize, 0.05)?;
    let value_at = |rank: usize| {
        let mut passed = 0;
        tails.raw.iter().find_map(|&(ps, count)| {
            passed += count;
            (passed >= rank as u64).then_some(ps as f64 / 1e3)
        })
    };
    let point = value_at(n.div_ceil(2) as usize)?;
    let estimate = Estimate {
        point,
        low: value_at(low)?,
        high: value_at(high)?,
        confidence: 0.95,
        effective_n: n as f64,
    };
    let [from, to] = tails.placement;
    let series = Series {
        name: format!("p50 {from}→{to} {}", tails.kernel),
        label: format!("p50 {}", tails.kernel),
        cpus: tails.placement.to_vec(),
    };
    let reading = SideReading {
        value: LogEstimate::from_estimate(&estimate.widened_to(SERIES_FLOOR)),
        cycles: None,
        steady: true,
    };
    Some((ReadingKey::Series(series), reading))
}

/// A tiny change may move a printed value by a whole step.
const VISIBLE_PRINTED_STEPS: f64 = 1.5;

/// Converts the matrices of one file.
pub fn of_import(matrices: &[ImportedMatrix]) -> Side {
    let datasets = matrices.iter().map(|matrix| dataset(matrix, matrices.len())).collect();
    let first_fact = |key: &str| matrices.first().and_then(|matrix| matrix.fact(key));
    let simulated = first_fact("simulated").map(|text| text == "true");
    let facts = [
        (Fact::Simulated, simulated.map(yes_or_no)),
        (Fact::CpuModel, first_fact("cpu")),
        (Fact::System, first_fact("os")),
        (Fact::Hypervisor, first_fact("hypervisor")),
    ];
    Side {
        facts: facts.into_iter().filter_map(|(fact, text)| Some((fact, text?.to_owned()))).collect(),
        is_simulated: simulated == Some(true),
        topology: None,
        execution: Vec::new(),
        guest: first_fact("hypervisor").is_some(),
        datasets,
        saturated: 0,
    }
}

fn dataset(imported: &ImportedMatrix, matrix_count: usize) -> Dataset {
    let matrix = &imported.matrix;
    let cpus = matrix.cpus();
    let mut readings: BTreeMap<ReadingKey, SideReading> = BTreeMap::new();
    for row in 0..matrix.len() {
        for column in 0..row {
            // A file does not state its directions. Runs have one value for both directions.
            let both = [matrix.get(row, column), matrix.get(column, row)];
            let known: Vec<f64> = both.into_iter().filter_map(|cell| *cell?).collect();
            if known.is_empty() {
                continue;
            }
            let mean = known.iter().sum::<f64>() / known.len() as f64;
            let reading = SideReading { value: LogEstimate::bare(mean), cycles: None, steady: true };
            readings.insert(ReadingKey::unordered(cpus[row], cpus[column]), reading);
        }
    }
    let printed_step = match imported.printed {
        Printed::WholeNumbers => 1.0,
        Printed::Decimals => clock_step(imported).unwrap_or(0.0),
    };
    let name = match (imported.fact("protocol"), &imported.title) {
        (Some(protocol), _) => format!("latency {protocol}"),
        (None, Some(title)) if matrix_count > 1 => format!("latency, {title}"),
        (None, _) => "latency".to_owned(),
    };
    let traits =
        ["kernel", "regime"].into_iter().filter_map(|key| Some((key, imported.fact(key)?.to_owned())));
    Dataset {
        subject: name.clone(),
        name,
        is_latency: true,
        quantity: "half_round_trip".to_owned(),
        unit: imported.unit.to_string(),
        better: Better::Lower,
        traits: traits.collect(),
        resolution: VISIBLE_PRINTED_STEPS * printed_step,
        negligible: if imported.unit == Unit::Ns { NEGLIGIBLE_NS } else { 0.0 },
        readings,
    }
}
