//! Results derived from trials: recommended polling times, CPU load, and additional values of queue cells.

use super::{Ci, ValueDoc, ci, known, significant};
use coretalk_model::queue::{BatchCurve, QueueCell, Sweep, both};
use coretalk_model::run::RunReport;
use coretalk_model::series::LoadCurve;
use coretalk_model::wait::{Crossover, crossovers};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Recommended polling time before sleeping.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SpinDoc {
    /// `spin`.
    kind: &'static str,
    /// CPUs in role order.
    placement: Vec<u32>,
    /// CPU time of a sleep and its wake-up in nanoseconds: shorter waits should poll.
    spin_ns: Option<f64>,
    /// 95 % interval of `spin_ns`.
    ci: Option<Ci>,
    /// Fastest strategy on these CPUs that neither sleeps nor yields.
    strategy: String,
    /// Additional latency of sleeping over polling, in nanoseconds; may be negative.
    later_ns: Option<f64>,
    /// 95 % interval of `later_ns`.
    later_ci: Option<Ci>,
}

pub(super) fn spins(report: &RunReport) -> Vec<SpinDoc> {
    let result = report.series.as_ref().map(|series| &series.result);
    result.into_iter().flat_map(crossovers).map(SpinDoc::new).collect()
}

impl SpinDoc {
    fn new(found: Crossover) -> SpinDoc {
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

/// Highest rate that a queue sustains, from a sweep of rates.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KneeDoc {
    /// `queue`, `payload` and `capacity`.
    parameters: BTreeMap<String, ValueDoc<'static>>,
    /// Producer and consumer.
    placement: Vec<u32>,
    /// Number of measured rates.
    rates: u64,
    /// Highest rate that a majority of passes sustained (95 % confidence), below every rate at which half or more of the
    /// passes fell behind; null if there is none.
    keeps_per_s: Option<f64>,
    /// Lowest rate that a majority of passes failed to sustain (95 % confidence), above every rate that a majority
    /// sustained; null if there is none.
    fails_per_s: Option<f64>,
    /// Minimum p99 of corrected delays over rates at which no pass fell behind, in nanoseconds; null if unknown.
    p99_least_ns: Option<f64>,
    /// Highest rate up to which p99 is at most twice the minimum and no pass falls behind, starting at the rate of the
    /// minimum; null if unknown.
    p99_within_double_per_s: Option<f64>,
    /// Lowest rate from which p99 is always above twice the minimum, or most passes fall behind; null if there is none.
    p99_doubled_per_s: Option<f64>,
}

impl KneeDoc {
    pub(super) fn new(sweep: &Sweep<'_>) -> KneeDoc {
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

/// Gain of a queue from larger batches, from `queue --batch` without a rate.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BatchesDoc {
    /// `queue`, `payload` and `capacity`.
    parameters: BTreeMap<String, ValueDoc<'static>>,
    /// Producer and consumer.
    placement: Vec<u32>,
    /// Smallest batch size, the reference of the gains.
    smallest: u64,
    /// Gains of the other sizes, ascending.
    gains: Vec<GainDoc>,
    /// Size with the highest throughput among those shown to be faster than the smallest; null if there is none.
    best: Option<u64>,
}

/// Gain of one batch size.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GainDoc {
    /// Number of messages sent and received at once.
    batch: u64,
    /// Throughput ÷ that of the smallest size; null if machine states differ, or if both threads poll on one CPU.
    gain: Option<f64>,
    /// Range of the quotients of all values in the two 95 % intervals; its confidence exceeds 95 %; null if an interval is
    /// missing.
    ci: Option<Ci>,
}

impl BatchesDoc {
    /// `None` with fewer than two batch sizes.
    pub(super) fn new(curve: &BatchCurve<'_>) -> Option<BatchesDoc> {
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

pub(super) fn of_a_queue(queue: &str, payload: &str, capacity: u64) -> BTreeMap<String, ValueDoc<'static>> {
    let text = |text: &str| ValueDoc::Text(text.to_owned().into());
    let capacity = ValueDoc::Number(capacity as f64);
    [("queue", text(queue)), ("payload", text(payload)), ("capacity", capacity)]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
}

/// CPU time of the measured threads over the run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LoadDoc {
    /// Length of a step in seconds. The time between segments is left out.
    step_s: f64,
    /// CPUs that took part, by number.
    cpus: Vec<CpuLoadDoc>,
}

/// Load of one CPU.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CpuLoadDoc {
    cpu: u32,
    /// Share of each step, 0 to 1; null if the system does not report it.
    load: Vec<Option<f64>>,
}

impl LoadDoc {
    pub(super) fn new(curve: &LoadCurve) -> LoadDoc {
        let cpus = curve.cpus.iter().map(|(cpu, shares)| CpuLoadDoc {
            cpu: cpu.0,
            load: shares.iter().map(|share| share.and_then(known)).collect(),
        });
        LoadDoc { step_s: curve.step.secs(), cpus: cpus.collect() }
    }
}

/// Values per message; sums over both sides unless a side is named. Null if not reported.
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
    /// Context switches because the thread waited.
    voluntary_switches_per_message: Option<f64>,
    /// Context switches because the scheduler took the CPU.
    involuntary_switches_per_message: Option<f64>,
    /// Share of messages for which the producer found the queue full.
    full_ratio: Option<f64>,
    /// Share of messages for which the consumer found the queue empty.
    empty_ratio: Option<f64>,
    /// Mean number of messages received between two times that the queue was empty.
    mean_batch: Option<f64>,
    /// Number of CPUs that both sides together keep busy.
    cpu_load: Option<f64>,
}

impl QueueCellDoc {
    pub(super) fn new(cell: &QueueCell<'_>) -> QueueCellDoc {
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
