//! [`SwitchRate`]: how often one CPU changes from one thread to the other while messages pass on it.

use super::{QueueMatrix, both};
use crate::CpuId;
use crate::stats::Estimate;

/// What the diagonal says about switches between threads.
#[derive(Debug, Clone, PartialEq)]
pub struct SwitchRate<'a> {
    /// The queue that made most of them.
    pub queue: &'a str,
    /// What travelled.
    pub payload: &'a str,
    /// Messages that it held.
    pub capacity: u64,
    /// Which CPU.
    pub cpu: CpuId,
    /// Switches for each message.
    pub per_message: f64,
    /// Switches a second, with the interval of the messages. Each takes at most the time from one to the next: what the
    /// queue does is in it.
    pub per_s: Estimate,
}

/// The most that a queue on one CPU made the system switch; `None` where no two threads that sleep shared one, or the
/// system counts no switches. Method: messages a second × switches of both threads for each message.
pub fn switch_rate<'a>(matrices: &[QueueMatrix<'a>]) -> Option<SwitchRate<'a>> {
    let of_matrix = |matrix: &QueueMatrix<'a>| -> Vec<SwitchRate<'a>> {
        let (queue, payload, capacity) = (matrix.queue, matrix.payload, matrix.capacity);
        let diagonal = matrix.cells.iter().filter(|cell| cell.pair()[0] == cell.pair()[1]);
        diagonal
            .filter_map(|cell| {
                let per_message = both([both(cell.voluntary()), both(cell.involuntary())])?;
                let rate = cell.rate_of_pair()?;
                let per_s = rate.scaled(per_message);
                let cpu = cell.pair()[0];
                Some(SwitchRate { queue, payload, capacity, cpu, per_message, per_s })
            })
            .collect()
    };
    let all = matrices.iter().flat_map(of_matrix).filter(|rate| rate.per_s.point > 0.0);
    all.max_by(|a, b| a.per_s.point.total_cmp(&b.per_s.point))
}

#[cfg(test)]
mod tests {
    use super::super::{QueueCell, names};
    use super::*;
    use crate::series::{TrialResult, TrialSpec};
    use crate::{Flag, Flags};

    fn trial(pair: [u32; 2], per_s: f64, switches: [u64; 4], flags: Flags) -> TrialResult {
        let (low, high) = (0.9 * per_s, 1.1 * per_s);
        let spread = Estimate { point: per_s, low, high, confidence: 0.95, effective_n: 8.0 };
        let [given, got, taken, lost] = switches;
        let counts = [
            (names::MESSAGES, 100),
            (names::VOLUNTARY[0], given),
            (names::VOLUNTARY[1], got),
            (names::INVOLUNTARY[0], taken),
            (names::INVOLUNTARY[1], lost),
        ];
        let spec = TrialSpec {
            probe: names::PROBE.into(),
            parameters: Default::default(),
            placement: pair.map(CpuId).to_vec(),
        };
        TrialResult {
            passes: 8,
            values: [(names::RATE.to_owned(), spread)].into(),
            counts: counts.map(|(name, count)| (name.to_owned(), count)).into(),
            flags,
            ..TrialResult::of(spec)
        }
    }

    #[test]
    fn the_diagonal_of_a_queue_that_sleeps_tells_it() {
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
        assert_eq!(
            (found.per_s.point, found.per_s.low.round()),
            (400e3, 360e3),
            "not of two CPUs, not of slices"
        );

        let apart = QueueMatrix { cells: matrix.cells[..1].to_vec(), ..matrix };
        assert_eq!(switch_rate(&[apart]), None);
    }
}
