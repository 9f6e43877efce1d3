//! The ends of a queue on a simulated machine. Several ends of a side act as one that is as fast as all together.

use super::trials::QueueConfig;
use crate::pricing::SimContext;
use std::ops::Range;

/// If a side's time per message is within this factor of its ends' joint time, only its ends limit the side.
const ALIKE: f64 = 1.02;

/// The ends of a trial, producers first.
pub struct Crowd {
    pub sides: [Range<usize>; 2],
    /// Number of ends on the CPU of each end. It is 1 for a pair, which takes turns on a shared CPU.
    pub sharing: Vec<f64>,
    /// Time of each side per message, without waits for the other side.
    pub side_ns: [f64; 2],
    /// Time of each end per message, without waits.
    alone_ns: Vec<f64>,
}

impl Crowd {
    /// Prices the ends of a trial. `own_ns` is the own work of a producer and of a consumer per message.
    ///
    /// An end works in parallel with the others, then takes a turn in which the lines of its side move. A side passes
    /// at most one message per turn, or per two turns under one lock. A message occupies its slot for two turns and two
    /// transfers.
    pub fn new(sim: &dyn SimContext<'_>, config: &QueueConfig, own_ns: [f64; 2]) -> Crowd {
        let (cpus, ends) = (sim.placement(), sim.placement().len());
        let producers = config.sides[0].min(ends - 1);
        let sides = [0..producers, producers..ends];
        let is_pair = ends == 2;
        let on_cpu = |end: usize| cpus.iter().filter(|cpu| **cpu == cpus[end]).count() as f64;
        let sharing: Vec<f64> = (0..ends).map(|end| if is_pair { 1.0 } else { on_cpu(end) }).collect();
        let mean_turn_ns = |pairs: Vec<(usize, usize)>| {
            let lines_ns = pairs.iter().map(|&(before, end)| sim.transfer_ns(cpus[before], cpus[end]));
            config.kind.cost.lines * lines_ns.sum::<f64>() / pairs.len() as f64
        };
        let is_locked = config.kind.cost.one_lock && !is_pair;
        let turns_ns = if is_locked {
            // Under one lock the two turns of each message alternate between the sides.
            let [producer_ends, consumer_ends] = &sides;
            let pairs =
                producer_ends.clone().flat_map(|one| consumer_ends.clone().map(move |other| (one, other)));
            [mean_turn_ns(pairs.collect()); 2]
        } else {
            sides.each_ref().map(|range| match range.len() {
                // A single end shares the lines with the other side.
                1 => mean_turn_ns(vec![(0, producers)]),
                count => {
                    let next = |end: usize| range.start + (end + 1 - range.start) % count;
                    mean_turn_ns(range.clone().map(|end| (end, next(end))).collect())
                }
            })
        };
        let side = |end: usize| usize::from(end >= producers);
        let alone_ns: Vec<f64> =
            (0..ends).map(|end| own_ns[side(end)] * sharing[end] + turns_ns[side(end)]).collect();
        let both_ns = turns_ns[0] + turns_ns[1];
        let lap_ns = (both_ns + 2.0 * sim.transfer_ns(cpus[0], cpus[producers])) / config.capacity as f64;
        let side_ns = [0, 1].map(|side| {
            let together_ns = together_ns(&alone_ns[sides[side].clone()]);
            match (is_pair, is_locked) {
                (true, _) => together_ns,
                (_, true) => together_ns.max(both_ns),
                _ => together_ns.max(turns_ns[side]).max(lap_ns),
            }
        });
        Crowd { sides, sharing, side_ns, alone_ns }
    }

    /// Shares of the ends of a side in its messages. They are equal if the ends wait for their turns or for the other
    /// side.
    pub fn shares(&self, side: usize, waits: bool) -> Vec<f64> {
        let alone_ns = &self.alone_ns[self.sides[side].clone()];
        let together_ns = together_ns(alone_ns);
        let is_free = !waits && self.side_ns[side] < ALIKE * together_ns;
        alone_ns
            .iter()
            .map(|ns| if is_free { together_ns / ns } else { 1.0 / alone_ns.len() as f64 })
            .collect()
    }
}

fn together_ns(alone_ns: &[f64]) -> f64 {
    1.0 / alone_ns.iter().map(|ns| 1.0 / ns).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_share_messages_by_their_own_pace_unless_they_wait() {
        let crowd = |side_ns| Crowd {
            sides: [0..2, 2..3],
            sharing: vec![1.0; 3],
            side_ns: [side_ns, 1.0],
            alone_ns: vec![10.0, 30.0, 1.0],
        };
        assert_eq!(crowd(7.5).shares(0, false), [0.75, 0.25]);
        assert_eq!(crowd(7.5).shares(0, true), [0.5, 0.5], "for the other side");
        assert_eq!(crowd(20.0).shares(0, false), [0.5, 0.5], "for their turns");
    }
}
