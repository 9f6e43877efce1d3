//! Runtimes on a simulated machine: native stand-ins with a slowdown factor, in processes of individual speed.

use super::rng::{exp, hash, normal};
use crate::adapters::{AdapterOperation, RuntimeWork};
use crate::pricing::{Arch, SimContext};
use crate::series::{SeriesProbe, TrialOrder};
use crate::stand_in::SimStandIn;
use coretalk_model::external::External;
use coretalk_model::quantity::{Quantity, Unit};
use coretalk_model::runtime::names;
use coretalk_model::series::{Numbers, Observed, Parameters, TrialSpec};
use coretalk_model::{Histogram, Picos, TrialFailure};

/// Spread of the processes of one runtime, as a standard deviation of logarithms. The value is assumed. With it five
/// processes have an interval of about ± 1 % or ± 2 %. Three processes of a Java program took 80, 109 and 125 ns.
const PROCESS_SD: f64 = 0.006;
const COLLECTION_NS: f64 = 250_000.0;
const PROCESSES: u64 = 0xF0;

pub struct Simulated {
    pub observed: Observed,
    /// Factor on all durations that the probe prices, also on the roles' CPU time.
    pub factor: f64,
}

/// Prices one pass of a runtime or of this program. `seed` is the seed of the run; `None` means without noise.
pub fn simulate(
    stage: &mut dyn SimContext<'_>,
    seed: Option<u64>,
    order: &TrialOrder<'_>,
) -> Result<Simulated, TrialFailure> {
    let Some(external) = order.probe.external(order.spec) else {
        return Ok(Simulated { observed: order.probe.simulate(stage, order)?, factor: 1.0 });
    };
    let stand_ins = order.probe.stand_ins();
    let stand_in = SimStandIn::find(stand_ins, &external)
        .ok_or_else(|| TrialFailure::from_reason(SimStandIn::lack(stand_ins, &external)))?;
    let factor = stand_in.factor * seed.map_or(1.0, |seed| process_factor(seed, &external, order.process));
    let began = stage.elapsed();
    let native = native(order.probe, order.spec, stand_in);
    // A slower runtime does proportionally less in a span.
    let span = Picos::from_ns(order.span.ns() / factor);
    let observed = order.probe.simulate(stage, &TrialOrder { spec: &native, span, ..*order })?;
    let took_ns = (stage.elapsed() - began).ns();
    stage.pass((took_ns * (factor - 1.0)).max(0.0));
    let timed_ns = took_ns * factor;
    let collections = (timed_ns / 1e9 * stand_in.collections_per_s + stage.unit()).floor();
    let stopped_ns = collections * COLLECTION_NS;
    stage.pass(stopped_ns);
    let mut observed = slower(order.probe, observed, factor, timed_ns / (timed_ns + stopped_ns));
    for name in order.probe.declaration().not_reported_by_runtimes {
        observed.numbers.values.remove(*name);
        observed.numbers.histograms.remove(*name);
        observed.numbers.counts.remove(*name);
    }
    observed.value(names::OUTSIDE, stage.event(stand_in.outside).clamp(0.0, 1.0));
    observed.count(names::COLLECTIONS, collections as u64);
    if quantity(order.probe, names::TOTAL_NS).is_some() {
        observed.count(names::TOTAL_NS, (timed_ns + stopped_ns) as u64);
    }
    Ok(Simulated { observed, factor })
}

/// The feature, as a sentence, that the machine lacks for a trial of a runtime or of this program.
pub fn lack(probe: &dyn SeriesProbe, spec: &TrialSpec, arch: Arch) -> Option<String> {
    let Some(external) = probe.external(spec) else { return probe.lacks_simulated(spec, arch) };
    let Some(stand_in) = SimStandIn::find(probe.stand_ins(), &external) else {
        return Some(SimStandIn::lack(probe.stand_ins(), &external));
    };
    let lack = match probe.runtime_work(spec, &Parameters::default()) {
        Err(error) => Some(error.to_string()),
        Ok(RuntimeWork { operation: AdapterOperation::Queue { capacity, payload }, .. }) => {
            stand_in.lack_of_queue(payload, capacity)
        }
        Ok(RuntimeWork { operation, .. }) => stand_in.lack_of_kind(operation.kind()),
    };
    lack.or_else(|| probe.lacks_simulated(&native(probe, spec, stand_in), arch))
}

fn native(probe: &dyn SeriesProbe, spec: &TrialSpec, stand_in: &SimStandIn) -> TrialSpec {
    let name = probe.declaration().named_by.unwrap_or_default();
    TrialSpec { parameters: spec.parameters.clone().with(name, stand_in.native), ..spec.clone() }
}

/// Relative slowness of a runtime's process, by the seed of the run. It is the same in every pass.
fn process_factor(seed: u64, external: &External, process: u32) -> f64 {
    let runtime_key = external.runtime.bytes().fold(PROCESSES, |key, byte| hash([key, u64::from(byte)]));
    exp(PROCESS_SD * normal(hash([seed, runtime_key, u64::from(process)])))
}

fn quantity(probe: &dyn SeriesProbe, name: &str) -> Option<&'static Quantity> {
    probe.declaration().quantities.iter().find(|quantity| quantity.id == name)
}

/// Slows a result down by a factor. Counts stay. Garbage collections reduce rates to the share `running`.
fn slower(probe: &dyn SeriesProbe, observed: Observed, factor: f64, running: f64) -> Observed {
    let Observed { numbers, by_role, flags } = observed;
    let is_time = |name: &str| {
        quantity(probe, name)
            .is_some_and(|it| matches!(it.unit, Unit::Ns | Unit::Us | Unit::Ms | Unit::Cycles))
    };
    let is_rate = |name: &str| quantity(probe, name).is_some_and(|it| matches!(it.unit, Unit::PerSecond(_)));
    let slowed = |numbers: Numbers| Numbers {
        values: numbers
            .values
            .into_iter()
            .map(|(name, value)| {
                let times = match (is_time(&name), is_rate(&name)) {
                    (true, _) => factor,
                    (_, true) => running / factor,
                    _ => 1.0,
                };
                (name, value * times)
            })
            .collect(),
        histograms: numbers
            .histograms
            .into_iter()
            .map(|(name, durations)| (name, stretched(&durations, factor)))
            .collect(),
        counts: numbers
            .counts
            .into_iter()
            .map(|(name, count)| match is_time(&name) {
                true => (name, (count as f64 * factor) as u64),
                false => (name, count),
            })
            .collect(),
    };
    let by_role = by_role.into_iter().map(|(role, numbers)| (role, slowed(numbers))).collect();
    Observed { numbers: slowed(numbers), by_role, flags }
}

fn stretched(histogram: &Histogram, factor: f64) -> Histogram {
    let mut longer = Histogram::new();
    for (units, count) in histogram.iter() {
        longer.record((units as f64 * factor).round() as u64, count);
    }
    longer
}
