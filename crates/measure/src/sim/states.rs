//! [`StateLine`]: which state the machine is in at a time.

use super::rng::{Stream, hash};
use super::spec::State;
use coretalk_model::Picos;
use std::sync::Mutex;

/// A stretch of time in one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    pub state: usize,
    pub until: Picos,
}

/// The states of a machine along its time: a chain of stretches that depends on the seed alone, made as far as
/// somebody looked.
#[derive(Debug)]
pub struct StateLine {
    states: Vec<State>,
    key: u64,
    known: Mutex<Vec<Stretch>>,
}

impl StateLine {
    pub fn new(states: Vec<State>, seed: u64) -> StateLine {
        StateLine { states, key: hash([seed, 0x57A7E]), known: Mutex::new(Vec::new()) }
    }

    /// The stretch that holds this time.
    pub fn at(&self, time: Picos) -> Stretch {
        if self.states.is_empty() {
            return Stretch { state: 0, until: Picos(u64::MAX) };
        }
        // A poisoned lock still guards a whole chain: stretches are appended one by one.
        let mut known = self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        while known.last().is_none_or(|last| last.until <= time) {
            let next = self.next(known.len(), known.last().copied());
            known.push(next);
        }
        known[known.partition_point(|stretch| stretch.until <= time)]
    }

    fn next(&self, index: usize, last: Option<Stretch>) -> Stretch {
        let mut stream = Stream::of(hash([self.key, index as u64]));
        let (state, from) = match last {
            None => (0, Picos::ZERO),
            Some(last) => (self.successor(last.state, stream.unit()), last.until),
        };
        let mean = self.states[state].dwell_ms * 1e6;
        // At least a twentieth of the mean: endlessly many stretches of no length would never end.
        let dwell = stream.exponential(mean).max(mean / 20.0);
        Stretch { state, until: from + Picos::from_ns(dwell) }
    }

    fn successor(&self, from: usize, chance: f64) -> usize {
        let others = || (0..self.states.len()).filter(move |&state| state != from);
        let total: f64 = others().map(|state| self.states[state].weight).sum();
        let mut left = chance * total;
        let hit = others().find(|&state| {
            left -= self.states[state].weight;
            left < 0.0
        });
        hit.or_else(|| others().next_back()).unwrap_or(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(seed: u64) -> StateLine {
        let states = ["near", "far", "sibling"].map(|name| State {
            name: name.to_owned(),
            weight: 1.0,
            dwell_ms: 50.0,
            line_scale: 1.0,
            latency_ns: Default::default(),
            eager_ns: Default::default(),
            one_core: false,
        });
        StateLine::new(states.to_vec(), seed)
    }

    #[test]
    fn the_state_at_a_time_does_not_depend_on_when_it_is_asked() {
        let (forward, backward) = (line(3), line(3));
        let times: Vec<Picos> = (0..400).map(|step| Picos::from_ms(7 * step)).collect();
        let mut ahead: Vec<Stretch> = times.iter().map(|&time| forward.at(time)).collect();
        ahead.reverse();
        let back: Vec<Stretch> = times.iter().rev().map(|&time| backward.at(time)).collect();
        assert_eq!(ahead, back);
        assert!((0..3).all(|state| back.iter().any(|stretch| stretch.state == state)));
    }
}
