//! Trials against what the machine says of them without noise.

use super::reader::Wrong;
use super::run::{Run, list};
use super::said::placed;
use coretalk_measure::probes::series_by_id;
use coretalk_measure::series::TrialOrder;
use coretalk_model::series::{Parameters, TrialSpec, Value as Parameter};
use coretalk_model::{CpuId, Picos};

/// Trials whose medians are not what the machine says without noise.
pub fn untrue(run: &Run) -> Vec<Wrong> {
    const SPAN_MS: u64 = 2;
    let mut wrong = Vec::new();
    // A machine that moves between states has no one truth.
    if run.machine.states().len() > 1 {
        return wrong;
    }
    for trial in list(&run.document["series"]) {
        let probe = trial["probe"].as_str().and_then(series_by_id);
        let view = trial["parameters"]["view"].as_str().unwrap_or_default();
        let median = trial["percentiles"]["50"].as_f64().filter(|_| trial["passes"].as_f64() >= Some(5.0));
        // Time lost is by chance, and how often a queue is hit before it is asleep too.
        let (Some(probe), Some(median), false) =
            (probe, median, trial["probe"] == "jitter" || view == "acquire")
        else {
            continue;
        };
        let mut parameters = Parameters::default();
        for (name, value) in
            trial["parameters"].as_object().into_iter().flatten().filter(|(name, _)| *name != "view")
        {
            let value = value
                .as_f64()
                .map_or_else(|| Parameter::from(value.as_str().unwrap_or_default()), Parameter::from);
            parameters.0.insert(name.clone(), value);
        }
        let placement =
            list(&trial["placement"]).iter().filter_map(|cpu| Some(CpuId(cpu.as_u64()? as u32))).collect();
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
        // A step of the counter, and noise of which the median of few events keeps some.
        if (median - truth).abs() > 0.15 * truth + 45.0 {
            wrong.push(Wrong {
                claim: "truth of trials",
                text: format!("{} {view} on {}", spec.label(), placed(trial)),
                why: format!("{truth:.1} ns in truth, not {median}"),
            });
        }
    }
    wrong
}
