//! Throughput of bounded queues: the matrices of a run, and summaries for reports.

mod batches;
pub mod names;
mod sides;
mod summary;
mod sweep;

pub use batches::{BatchCurve, BatchGain, BatchStep, batch_curves};
pub use sides::{SideGrid, side_grids};
pub use summary::{Balance, RelationRate, ShapeRates, Verification, rates, verification};
pub use sweep::{Kept, Knee, RateLimit, Step, Sweep, sweeps};

use crate::series::{SeriesResult, TrialId, TrialResult};
use crate::stats::Estimate;
use crate::{CpuId, Flag};

/// Number of representative pairs per relation if not all pairs are measured.
pub const REPRESENTATIVES: usize = 12;

/// One ordered pair of CPUs with one queue.
#[derive(Debug, Clone, Copy)]
pub struct QueueCell<'a> {
    /// The result.
    pub trial: &'a TrialResult,
}

/// One queue with one payload and one capacity, between all measured pairs.
#[derive(Debug, Clone)]
pub struct QueueMatrix<'a> {
    /// Name of the queue.
    pub queue: &'a str,
    /// Type of the messages.
    pub payload: &'a str,
    /// Capacity in messages.
    pub capacity: u64,
    /// The cells, in the order of the plan.
    pub cells: Vec<QueueCell<'a>>,
}

/// The matrices of a run, in the order of the plan, from trials without fixed rate, batches or several endpoints.
pub fn matrices(result: &SeriesResult) -> Vec<QueueMatrix<'_>> {
    let mut found: Vec<QueueMatrix<'_>> = Vec::new();
    for trial in result.trials.iter().filter(|trial| is_cell(trial)) {
        let parameters = &trial.spec.parameters;
        let (queue, payload) = (parameters.text("queue"), parameters.text("payload"));
        let (Some(queue), Some(payload), Some(capacity)) = (queue, payload, parameters.number("capacity"))
        else {
            continue;
        };
        let capacity = capacity as u64;
        let same = |matrix: &QueueMatrix<'_>| {
            (matrix.queue, matrix.payload, matrix.capacity) == (queue, payload, capacity)
        };
        if !found.last().is_some_and(same) {
            found.push(QueueMatrix { queue, payload, capacity, cells: Vec::new() });
        }
        if let Some(matrix) = found.last_mut() {
            matrix.cells.push(QueueCell { trial });
        }
    }
    found
}

fn is_cell(trial: &TrialResult) -> bool {
    let parameters = &trial.spec.parameters;
    trial.spec.probe == names::PROBE
        && trial.spec.placement.len() == 2
        && ["rate_per_s", "producers", "consumers", "batch"]
            .iter()
            .all(|name| parameters.number(name).is_none())
}

impl<'a> QueueMatrix<'a> {
    /// The cell of a producer and a consumer, if it was measured.
    pub fn get(&self, from: CpuId, to: CpuId) -> Option<&QueueCell<'a>> {
        self.cells.iter().find(|cell| cell.pair() == [from, to])
    }
}

impl<'a> QueueCell<'a> {
    /// Whether a trial belongs to a matrix instead of the series.
    pub fn holds(trial: &TrialResult) -> bool {
        is_cell(trial)
    }

    /// Producer and consumer.
    pub fn pair(&self) -> [CpuId; 2] {
        [self.trial.spec.placement[0], self.trial.spec.placement[1]]
    }

    /// Messages per second.
    pub fn rate(&self) -> Option<&'a Estimate> {
        self.trial.values.get(names::RATE)
    }

    /// Messages per second, unless two polling threads share a CPU, which measures the scheduler quantum.
    pub fn rate_of_pair(&self) -> Option<&'a Estimate> {
        self.rate().filter(|_| !self.trial.flags.contains(Flag::SharedSpin))
    }

    /// Like `rate_of_pair`, unless other threads of a runtime did most of the work.
    pub fn claimed_rate(&self) -> Option<&'a Estimate> {
        self.rate_of_pair().filter(|_| !self.trial.flags.contains(Flag::Unclaimed))
    }

    /// CPU time of producer and consumer per message, in nanoseconds.
    pub fn cpu_ns(&self) -> [Option<f64>; 2] {
        names::CPU_NS.map(|name| self.per_message(name))
    }

    /// Voluntary context switches of producer and consumer per message.
    pub fn voluntary(&self) -> [Option<f64>; 2] {
        names::VOLUNTARY.map(|name| self.per_message(name))
    }

    /// Involuntary context switches of producer and consumer per message.
    pub fn involuntary(&self) -> [Option<f64>; 2] {
        names::INVOLUNTARY.map(|name| self.per_message(name))
    }

    /// Share of messages for which the producer found the queue full.
    pub fn full_ratio(&self) -> Option<f64> {
        self.per_message(names::FULL)
    }

    /// Share of messages for which the consumer found the queue empty.
    pub fn empty_ratio(&self) -> Option<f64> {
        self.per_message(names::EMPTY)
    }

    /// Mean number of messages between two times that the consumer found the queue empty.
    pub fn mean_batch(&self) -> Option<f64> {
        let messages = self.count(names::MESSAGES)?;
        let empty = self.count(names::EMPTY)?;
        Some(messages / empty.max(1.0))
    }

    /// Number of CPUs that both threads kept busy, including their start and end.
    pub fn cpu_load(&self) -> Option<f64> {
        both([0, 1].map(|role| self.trial.busy.get(role).copied().flatten()))
    }

    fn count(&self, name: &str) -> Option<f64> {
        self.trial.counts.get(name).map(|count| *count as f64)
    }

    fn per_message(&self, name: &str) -> Option<f64> {
        let messages = self.count(names::MESSAGES).filter(|messages| *messages > 0.0)?;
        Some(self.count(name)? / messages)
    }
}

/// The sum of both sides; `None` if one is unknown.
pub fn both([producer, consumer]: [Option<f64>; 2]) -> Option<f64> {
    Some(producer? + consumer?)
}

/// Rate of context switches between two threads on one CPU.
#[derive(Debug, Clone, PartialEq)]
pub struct SwitchRate<'a> {
    /// The queue with the highest rate.
    pub queue: &'a str,
    /// Type of the messages.
    pub payload: &'a str,
    /// Capacity in messages.
    pub capacity: u64,
    /// The CPU of both threads.
    pub cpu: CpuId,
    /// The trial with this rate.
    pub trial: TrialId,
    /// Switches per message.
    pub per_message: f64,
    /// Switches per second, with the interval of the message rate. A switch takes at most the inverse.
    pub per_s: Estimate,
}

/// The highest switch rate of a queue on one CPU: messages per second × switches per message. `None` if no two sleeping
/// threads shared a CPU, or if the system does not count switches.
pub fn switch_rate<'a>(matrices: &[QueueMatrix<'a>]) -> Option<SwitchRate<'a>> {
    let of_matrix = |matrix: &QueueMatrix<'a>| -> Vec<SwitchRate<'a>> {
        let (queue, payload, capacity) = (matrix.queue, matrix.payload, matrix.capacity);
        let diagonal = matrix.cells.iter().filter(|cell| cell.pair()[0] == cell.pair()[1]);
        diagonal
            .filter_map(|cell| {
                let per_message = both([both(cell.voluntary()), both(cell.involuntary())])?;
                let rate = cell.claimed_rate()?;
                let per_s = rate.scaled(per_message);
                let (cpu, trial) = (cell.pair()[0], cell.trial.spec.id());
                Some(SwitchRate { queue, payload, capacity, cpu, trial, per_message, per_s })
            })
            .collect()
    };
    let all = matrices.iter().flat_map(of_matrix).filter(|rate| rate.per_s.point > 0.0);
    all.max_by(|a, b| a.per_s.point.total_cmp(&b.per_s.point))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Flags;
    use crate::tests::{around, spec};

    /// `switches`: voluntary ones of the producer and of the consumer, then involuntary ones.
    fn trial(pair: [u32; 2], per_s: f64, switches: [u64; 4], flags: Flags) -> TrialResult {
        let kinds = [names::VOLUNTARY, names::INVOLUNTARY].concat();
        let counts = kinds.into_iter().zip(switches).chain([(names::MESSAGES, 100)]);
        TrialResult {
            passes: 8,
            values: [(names::RATE.to_owned(), around(per_s, 0.1))].into(),
            counts: counts.map(|(name, count)| (name.to_owned(), count)).collect(),
            flags,
            ..TrialResult::empty(spec(names::PROBE, Default::default(), &pair))
        }
    }

    #[test]
    fn the_diagonal_of_a_sleeping_queue_gives_the_switch_rate() {
        let polls = Flags::NONE.with(Flag::SharedSpin);
        let trials = [
            trial([0, 1], 9e6, [100, 100, 0, 0], Flags::NONE),
            trial([0, 0], 200e3, [80, 90, 20, 10], Flags::NONE),
            trial([1, 1], 180e3, [100, 100, 0, 0], Flags::NONE),
            trial([1, 1], 9e6, [100, 100, 0, 0], polls),
        ];
        let cells = trials.iter().map(|trial| QueueCell { trial }).collect();
        let matrix = QueueMatrix { queue: "semaphore", payload: "u64", capacity: 1, cells };
        let found = switch_rate(std::slice::from_ref(&matrix)).unwrap();
        assert_eq!((found.cpu, found.capacity, found.per_message), (CpuId(0), 1, 2.0));
        // Neither of two CPUs nor of time slices.
        assert_eq!((found.per_s.point, found.per_s.low.round()), (400e3, 360e3));
        let apart = QueueMatrix { cells: matrix.cells[..1].to_vec(), ..matrix };
        assert_eq!(switch_rate(&[apart]), None);
    }
}
