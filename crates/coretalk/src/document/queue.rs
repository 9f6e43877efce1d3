//! What a cell of a queue has beside its throughput.

use super::significant;
use coretalk_model::queue::{QueueCell, both};
use schemars::JsonSchema;
use serde::Serialize;

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
