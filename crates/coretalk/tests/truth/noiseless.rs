//! Checks of trials and matrices against the simulated machine without noise.

use super::maps::{OFF, cells, nearest};
use super::run::{Run, cpus, list, pairs};
use super::sources::parameters_with;
use coretalk_measure::probes::{kernel_by_id, series_by_id};
use coretalk_measure::series::TrialOrder;
use coretalk_model::series::{Parameters, TrialSpec};
use coretalk_model::{CpuId, Picos};
use serde_json::Value;

/// Cells of matrices that differ from the latency of every state of the machine.
fn untrue_cells(run: &Run) -> Vec<String> {
    let is_latency = |matrix: &&Value| {
        matrix["probe"] == "latency"
            && !matrix["protocol"].is_null()
            && matrix["quantity"] != "one_way_variation"
    };
    let of_matrix = |matrix: &Value| {
        let kernel = matrix["kernel"].as_str().unwrap_or_default().to_owned();
        cells(matrix).into_iter().filter_map(move |(from, to, ns)| {
            let truth = nearest(&run.true_ns(&kernel, from, to), ns);
            let is_off = (ns / truth - 1.0).abs() > OFF;
            is_off.then(|| format!("{kernel} between CPUs {from} and {to}: truly {truth:.1} ns, not {ns}"))
        })
    };
    list(&run.document["matrices"]).iter().filter(is_latency).flat_map(of_matrix).collect()
}

/// Rows of the ladder outside the range of the latencies of their pairs.
fn untrue_rows(run: &Run) -> Vec<String> {
    let untrue = |row: &Value| {
        let (kernel, ns) = (row["kernel"].as_str()?, row["median"].as_f64()?);
        kernel_by_id(kernel)?;
        let is_of = |[a, b]: &[CpuId; 2]| {
            let kinds = [*a, *b].map(|cpu| run.class(cpu));
            let is_kind = |kind: &Value| kinds.iter().any(|known| kind == known);
            let is_same = kinds[0] == kinds[1] || row["classes"][0] != row["classes"][1];
            run.reported.relation(*a, *b).name() == row["relation"]
                && (row["classes"].is_null() || is_same && list(&row["classes"]).iter().all(is_kind))
        };
        let of_row = pairs(&run.measured()).into_iter().filter(is_of);
        let truth: Vec<f64> = of_row.flat_map(|[a, b]| run.true_ns(kernel, a.0, b.0)).collect();
        let [least, most] = [f64::min, f64::max].map(|end| truth.iter().copied().reduce(end));
        // The code of other tools has another statistic and other cache lines.
        let bound = 1.0 + if kernel.starts_with("as:") { 0.6 } else { OFF + 0.04 };
        let is_near = ns * bound >= least? && ns <= bound * most?;
        (!is_near).then(|| format!("{kernel}, {}: truly {least:?} to {most:?} ns, not {ns}", row["relation"]))
    };
    list(&run.document["ladder"]).iter().filter_map(untrue).collect()
}

/// Cells with several states on pairs with one. In a large matrix a few pairs have two visits with the same disturbance.
fn untrue_states(run: &Run) -> Vec<String> {
    let cells = || list(&run.document["matrices"]).iter().flat_map(|matrix| list(&matrix["cells"]));
    let is_wrong = |cell: &&Value| {
        let cpu = |name: &str| CpuId(cell[name].as_u64().unwrap_or(0) as u32);
        list(&cell["states"]).len() > 1 && !run.moves(cpu("from"), cpu("to"))
    };
    let wrong: Vec<&Value> = cells().filter(is_wrong).collect();
    let is_chance = wrong.len() as f64 <= 0.001 * cells().count() as f64;
    let untrue = |cell: &Value| {
        format!("CPUs {} and {} have one level in truth, not several", cell["from"], cell["to"])
    };
    wrong.into_iter().filter(|_| !is_chance).map(untrue).collect()
}

/// Cells, rows of the ladder, states and medians of trials that differ from the machine without noise.
pub fn untrue(run: &Run) -> Vec<String> {
    const SPAN_MS: u64 = 2;
    let mut wrong = [untrue_cells(run), untrue_rows(run), untrue_states(run)].concat();
    // A machine with several states has no single true median.
    if run.machine.states().len() > 1 {
        return wrong;
    }
    for trial in list(&run.document["series"]) {
        let probe = trial["probe"].as_str().and_then(series_by_id);
        let view = trial["parameters"]["view"].as_str().unwrap_or_default();
        let median = trial["percentiles"]["50"].as_f64().filter(|_| trial["passes"].as_f64() >= Some(5.0));
        // Lost time is random, and so is how often a lock is acquired before a sleep.
        let (Some(probe), Some(median), false) =
            (probe, median, trial["probe"] == "jitter" || view == "acquire")
        else {
            continue;
        };
        let parameters = parameters_with(trial, |name| name != "view");
        let placement = cpus(&trial["placement"]);
        let spec = TrialSpec { probe: probe.spec().id.to_owned(), parameters, placement };
        let order = TrialOrder {
            probe,
            spec: &spec,
            options: &Parameters::default(),
            span: Picos::from_ms(SPAN_MS),
            key: 1,
            process: 0,
        };
        let observed = run.machine.bare_stage(&spec.placement).simulate(&order);
        let truth =
            observed.ok().and_then(|observed| observed.numbers.histograms.get(view)?.percentile_ns(0.5));
        let Some(truth) = truth else { continue };
        // A step of the counter, and the noise of a median of few events.
        if (median - truth).abs() > 0.15 * truth + 45.0 {
            let placed = &trial["placement"];
            wrong.push(format!("{} {view} on {placed}: truly {truth:.1} ns, not {median}", spec.label()));
        }
    }
    wrong
}
