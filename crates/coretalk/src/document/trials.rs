//! What follows from trials beside their numbers: how long to look before sleeping, how busy CPUs were, what a cell of a
//! queue has beside its throughput.

use super::{Ci, ValueDoc, ci, known, significant};
use crate::RunReport;
use coretalk_model::queue::{BatchCurve, QueueCell, Sweep, both};
use coretalk_model::series::LoadCurve;
use coretalk_model::wait::{Crossover, crossovers};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

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

/// Up to which rate a queue keeps up, of a sweep of rates.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KneeDoc {
    /// `queue`, `payload` and `capacity`.
    parameters: BTreeMap<String, ValueDoc<'static>>,
    /// Producer and consumer.
    placement: Vec<u32>,
    /// How many rates were tried.
    rates: u64,
    /// The highest rate that most passes kept (at 95 %) below all that most did not; null where there is none.
    keeps_per_s: Option<f64>,
    /// The lowest rate that most passes did not keep (at 95 %) above all that most did; null where there is none.
    fails_per_s: Option<f64>,
    /// The smallest p99 of corrected delays of a rate at which no pass fell behind, in nanoseconds.
    p99_least_ns: Option<f64>,
    /// From the rate of that p99 to this one every rate has at most twice that p99, and no pass of them fell behind.
    p99_within_double_per_s: Option<f64>,
    /// From this rate on every rate has more than twice that p99, or is not kept, so that none is known.
    p99_doubled_per_s: Option<f64>,
}

impl KneeDoc {
    pub(super) fn of(sweep: &Sweep<'_>) -> KneeDoc {
        let (knee, doubling) = (sweep.knee(), sweep.doubling());
        KneeDoc {
            parameters: of_a_queue(sweep.queue, sweep.payload, sweep.capacity),
            placement: sweep.placement.iter().map(|cpu| cpu.0).collect(),
            rates: sweep.steps.len() as u64,
            keeps_per_s: knee.holds_at.and_then(known),
            fails_per_s: knee.ends_by.and_then(known),
            p99_least_ns: sweep.least_p99().and_then(|(_, least)| known(least)),
            p99_within_double_per_s: doubling.holds_at.and_then(known),
            p99_doubled_per_s: doubling.ends_by.and_then(known),
        }
    }
}

/// What a queue gains by larger batches, of `queue --batch` without a rate.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BatchesDoc {
    /// `queue`, `payload` and `capacity`.
    parameters: BTreeMap<String, ValueDoc<'static>>,
    /// Producer and consumer.
    placement: Vec<u32>,
    /// The smallest size, which the others are held against.
    smallest: u64,
    /// Every other size, rising.
    gains: Vec<GainDoc>,
    /// The size that passes most of those that are shown to pass more than the smallest; null where none is.
    best: Option<u64>,
}

/// What one size of batches gains.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GainDoc {
    /// Messages that are sent, and received, at once.
    batch: u64,
    /// Messages per second ÷ those with the smallest size; null where the two were not measured in one state, or two
    /// threads that poll share a CPU.
    gain: Option<f64>,
    /// Its interval: every quotient of two values of both intervals, which is wider than 95 % need; null where those do not
    /// hold at 95 %.
    ci: Option<Ci>,
}

impl BatchesDoc {
    /// Of a curve without a rate; `None` where it has fewer than two sizes.
    pub(super) fn of(curve: &BatchCurve<'_>) -> Option<BatchesDoc> {
        let (first, others) = curve.steps.split_first().filter(|(_, others)| !others.is_empty())?;
        let gain = |step| {
            let gain = curve.gain(step);
            GainDoc {
                batch: step.batch,
                gain: gain.as_ref().and_then(|gain| significant(gain.point)),
                ci: gain.as_ref().and_then(ci),
            }
        };
        Some(BatchesDoc {
            parameters: of_a_queue(curve.queue, curve.payload, curve.capacity),
            placement: curve.placement.iter().map(|cpu| cpu.0).collect(),
            smallest: first.batch,
            gains: others.iter().map(gain).collect(),
            best: curve.best().map(|(batch, _)| batch),
        })
    }
}

/// What tells a queue from others of a run.
pub(super) fn of_a_queue(queue: &str, payload: &str, capacity: u64) -> BTreeMap<String, ValueDoc<'static>> {
    let text = |text: &str| ValueDoc::Text(text.to_owned().into());
    let capacity = ValueDoc::Number(capacity as f64);
    [("queue", text(queue)), ("payload", text(payload)), ("capacity", capacity)]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
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
