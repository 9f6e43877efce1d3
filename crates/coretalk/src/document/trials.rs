//! What follows from trials beside their numbers: how long to look before sleeping, how busy CPUs were, what a cell of a
//! queue has beside its throughput.

use super::{Ci, known, significant};
use crate::RunReport;
use coretalk_model::queue::{QueueCell, both};
use coretalk_model::series::LoadCurve;
use coretalk_model::wait::{Crossover, crossovers};
use schemars::JsonSchema;
use serde::Serialize;

/// How long to look before sleeping.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SpinDoc {
    /// `spin`.
    kind: &'static str,
    /// CPUs in role order.
    placement: Vec<u32>,
    /// A wait below this is cheaper spent looking: the CPU time of a sleep and of the wake-up that ends it, in
    /// nanoseconds.
    spin_ns: Option<f64>,
    /// Its interval.
    ci: Option<Ci>,
    /// The best way of looking there.
    strategy: String,
    /// By how much later a sleeper goes on, in nanoseconds; may be negative.
    later_ns: Option<f64>,
    /// Its interval.
    later_ci: Option<Ci>,
}

/// Everything that follows from a run.
pub(super) fn spins(report: &RunReport) -> Vec<SpinDoc> {
    let result = report.series.as_ref().map(|series| &series.result);
    result.into_iter().flat_map(crossovers).map(SpinDoc::of).collect()
}

impl SpinDoc {
    fn of(found: Crossover) -> SpinDoc {
        let interval = |[_, low, high]: [f64; 3]| Some([known(low)?, known(high)?]);
        SpinDoc {
            kind: "spin",
            placement: found.placement.iter().map(|cpu| cpu.0).collect(),
            spin_ns: known(found.spin_ns[0]),
            ci: interval(found.spin_ns),
            strategy: found.spinning,
            later_ns: known(found.later_ns[0]),
            later_ci: interval(found.later_ns),
        }
    }
}

/// CPU time of measured threads over the run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LoadDoc {
    /// How long a step is. Segments follow each other without what lay between them.
    step_s: f64,
    /// Those that took part, by number.
    cpus: Vec<CpuLoadDoc>,
}

/// One CPU.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CpuLoadDoc {
    cpu: u32,
    /// Share of each step; null where the system does not tell.
    load: Vec<Option<f64>>,
}

impl LoadDoc {
    pub(super) fn of(curve: &LoadCurve) -> LoadDoc {
        let cpus = curve.cpus.iter().map(|(cpu, shares)| CpuLoadDoc {
            cpu: cpu.0,
            load: shares.iter().map(|share| share.and_then(known)).collect(),
        });
        LoadDoc { step_s: curve.step.secs(), cpus: cpus.collect() }
    }
}

/// For each message; sums over both sides where no side is named. Null where the system or the queue does not tell.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QueueCellDoc {
    /// CPU time in nanoseconds.
    cpu_ns_per_message: Option<f64>,
    cpu_ns_per_message_producer: Option<f64>,
    cpu_ns_per_message_consumer: Option<f64>,
    /// Context switches.
    switches_per_message: Option<f64>,
    switches_per_message_producer: Option<f64>,
    switches_per_message_consumer: Option<f64>,
    /// The thread gave its CPU away.
    voluntary_switches_per_message: Option<f64>,
    /// Its CPU was taken from it.
    involuntary_switches_per_message: Option<f64>,
    /// Share of messages for which the producer found the queue full.
    full_ratio: Option<f64>,
    /// Share of messages for which the consumer found it empty.
    empty_ratio: Option<f64>,
    /// Messages taken from one time that the queue was found empty to the next.
    mean_batch: Option<f64>,
    /// CPUs kept busy by both sides together.
    cpu_load: Option<f64>,
}

impl QueueCellDoc {
    pub(super) fn of(cell: &QueueCell<'_>) -> QueueCellDoc {
        let number = |value: Option<f64>| value.and_then(significant);
        let (cpu_ns, voluntary, involuntary) = (cell.cpu_ns(), cell.voluntary(), cell.involuntary());
        let switches = [0, 1].map(|side| both([voluntary[side], involuntary[side]]));
        QueueCellDoc {
            cpu_ns_per_message: number(both(cpu_ns)),
            cpu_ns_per_message_producer: number(cpu_ns[0]),
            cpu_ns_per_message_consumer: number(cpu_ns[1]),
            switches_per_message: number(both(switches)),
            switches_per_message_producer: number(switches[0]),
            switches_per_message_consumer: number(switches[1]),
            voluntary_switches_per_message: number(both(voluntary)),
            involuntary_switches_per_message: number(both(involuntary)),
            full_ratio: number(cell.full_ratio()),
            empty_ratio: number(cell.empty_ratio()),
            mean_batch: number(cell.mean_batch()),
            cpu_load: number(cell.cpu_load()),
        }
    }
}
