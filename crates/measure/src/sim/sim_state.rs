//! [`SimState`]: a simulated machine as its trials see it. [`StateLine`]: its states over time.

use super::clock::{CoreClocks, SimCounter};
use super::noise::Contamination;
use super::rng::{Stream, hash};
use super::spec::{Away, Spec, Stall, StallEvidence, StateSpec};
use super::true_costs::{CpuPair, TrueCosts};
use crate::kernel::{Cost, Kernel, Spin};
use crate::machine::{Assignment, HomeChoice, SpanOrder};
use coretalk_model::environment::Throttled;
use coretalk_model::{CpuId, CpuSet, Home, LossReason, Picos, TrialFailure};
use std::sync::Mutex;

#[derive(Debug)]
pub struct SimState {
    pub spec: Spec,
    pub seed: u64,
    pub true_costs: TrueCosts,
    pub states: StateLine,
    pub clocks: CoreClocks,
    pub counter: SimCounter,
    pub workers: CpuSet,
}

impl SimState {
    /// Duration of one operation on the mean line in ns, at nominal clocks and without noise.
    pub fn operation_ns(&self, pair: &CpuPair, kernel: &Kernel, home: Home, state: usize) -> f64 {
        let [from, to] = pair.cpus;
        let transfer = |spin| {
            self.true_costs.transfer_ns_of(pair, state, spin) * self.true_costs.home_factor(from, to, home)
        };
        match kernel.cost {
            // A round trip is two hops, each with line transfers and the wait hints that do not overlap with them.
            Cost::PingPong { transfers_per_hop, spin, extra_hints_per_hop } => {
                let hints_ns = extra_hints_per_hop * self.spec.costs.hint_ns;
                2.0 * (transfers_per_hop * transfer(spin) + hints_ns)
            }
            // One dependent read of a line that the other role dirtied. No spinning role slows it down.
            Cost::Chase { transfers_per_read } => transfer(Spin::Hinted) * transfers_per_read,
            Cost::Stamp { transfers_per_message } => {
                transfer(Spin::Hinted) * transfers_per_message * self.true_costs.direction(from, to)
            }
        }
    }

    pub fn key(&self, assignment: &Assignment) -> u64 {
        let cpus = assignment.placement.iter().fold(0, |state, cpu| hash([state, u64::from(cpu.0)]));
        hash([self.seed, assignment.key, cpus])
    }

    pub fn contamination(&self, assignment: &Assignment) -> Option<Contamination> {
        if self.spec.noise.bad_share == 0.0 {
            return None;
        }
        let runs = assignment.orders.iter().map(|order| lines(order).div_ceil(16)).min().unwrap_or(1);
        Contamination::of_trial(&self.spec.noise, self.key(assignment), runs)
    }

    pub fn home(&self, choice: HomeChoice, placement: &[CpuId]) -> Option<Home> {
        match choice {
            HomeChoice::Node(home) => self.true_costs.has_node(home).then_some(home),
            HomeChoice::OfRole(role) => placement.get(role).map(|&cpu| self.true_costs.node_of(cpu)),
        }
    }

    pub fn failure(&self, placement: &[CpuId], started: Picos) -> Option<TrialFailure> {
        const EINVAL: i32 = 22;
        let failures = &self.spec.failures;
        let among = |set: &CpuSet| placement.iter().copied().find(|&cpu| set.contains(cpu));
        if let Some(cpu) = placement.iter().copied().find(|&cpu| !self.workers.contains(cpu)) {
            return Some(TrialFailure::NotPinned { cpu, errno: EINVAL });
        }
        if let Some(cpu) = self.lost_cpu(placement, started) {
            return Some(TrialFailure::CpuLost { cpu });
        }
        if let Some(cpu) = among(&failures.die) {
            return Some(TrialFailure::PartnerLost { cpu });
        }
        if among(&failures.hang).is_some() {
            return Some(TrialFailure::TimedOut { limit: Picos::from_ms(u64::from(failures.hang_limit_ms)) });
        }
        let until = failures.miscount_until_ms.map(|ms| Picos::from_ms(u64::from(ms)));
        let miscounts = among(&failures.miscount).filter(|_| until.is_none_or(|until| started < until));
        miscounts.map(|_| TrialFailure::Unverified { sent: 1000, received: 999 })
    }

    pub fn lost_cpu(&self, placement: &[CpuId], at: Picos) -> Option<CpuId> {
        placement.iter().copied().find(|&cpu| self.away(cpu, at).is_some())
    }

    /// Whether a quota stops the process within a span. For series, which do not simulate single stops.
    pub fn is_stopped_between(&self, from: Picos, until: Picos) -> bool {
        self.throttled(until).times > self.throttled(from).times
    }

    pub fn throttled(&self, until: Picos) -> Throttled {
        let throttled_by = |stall: &Stall| {
            let begins = stall.from_ms.map_or(Picos::ZERO, |ms| Picos::from_ms(u64::from(ms)));
            let times = (until.saturating_sub(begins).secs() * stall.per_second) as u64;
            let each_us = (stall.us[0] + stall.us[1]) / 2.0;
            Throttled {
                times,
                seconds: Some(times as f64 * each_us / 1e6 * self.workers.len() as f64),
                from_s: (times > 0).then(|| begins.secs()),
            }
        };
        let quotas =
            self.spec.stalls.iter().filter(|stall| stall.seen_as == StallEvidence::Quota).map(throttled_by);
        quotas.fold(Throttled { seconds: Some(0.0), ..Throttled::default() }, Throttled::and)
    }

    pub fn away(&self, cpu: CpuId, at: Picos) -> Option<LossReason> {
        let ms = |ms: u32| Picos::from_ms(u64::from(ms));
        let is_away = |away: &&Away| {
            away.cpu == cpu && at >= ms(away.at_ms) && away.back_ms.is_none_or(|back| at < ms(back))
        };
        self.spec.failures.departures.iter().find(is_away).map(|away| away.why)
    }

    /// The first of these CPUs that is absent at the start of a span or is lost in it, with the time.
    pub fn first_away(&self, cpus: &[CpuId], from: Picos, until: Picos) -> Option<(CpuId, Picos)> {
        let at_once = cpus.iter().map(|&cpu| (cpu, from)).find(|&(cpu, from)| self.away(cpu, from).is_some());
        let leaves = |away: &Away| (away.cpu, Picos::from_ms(u64::from(away.at_ms)));
        let later = self.spec.failures.departures.iter().map(leaves);
        at_once.or_else(|| {
            later
                .filter(|(cpu, at)| cpus.contains(cpu) && (from..until).contains(at))
                .min_by_key(|(_, at)| *at)
        })
    }
}

pub fn lines(order: &SpanOrder) -> u32 {
    order.lines.saturating_mul(order.kernel.lines_per_place)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    pub state: usize,
    pub until: Picos,
}

/// The states of a machine over time. The chain of stretches depends on the seed alone and is extended on demand.
#[derive(Debug)]
pub struct StateLine {
    states: Vec<StateSpec>,
    key: u64,
    known: Mutex<Vec<Stretch>>,
}

impl StateLine {
    pub fn new(states: Vec<StateSpec>, seed: u64) -> StateLine {
        StateLine { states, key: hash([seed, 0x57A7E]), known: Mutex::new(Vec::new()) }
    }

    pub fn at(&self, time: Picos) -> Stretch {
        if self.states.is_empty() {
            return Stretch { state: 0, until: Picos(u64::MAX) };
        }
        // The chain in a poisoned lock is still valid, since stretches are appended one by one.
        let mut known = self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        while known.last().is_none_or(|last| last.until <= time) {
            let next = self.next(known.len(), known.last().copied());
            known.push(next);
        }
        known[known.partition_point(|stretch| stretch.until <= time)]
    }

    fn next(&self, index: usize, last: Option<Stretch>) -> Stretch {
        let mut stream = Stream::from_key(hash([self.key, index as u64]));
        let (state, from) = match last {
            None => (0, Picos::ZERO),
            Some(last) => (self.successor(last.state, stream.unit()), last.until),
        };
        let mean = self.states[state].dwell_ms * 1e6;
        // At least a twentieth of the mean, so that the chain always advances.
        let dwell = stream.exponential(mean).max(mean / 20.0);
        Stretch { state, until: from + Picos::from_ns(dwell) }
    }

    fn successor(&self, from: usize, chance: f64) -> usize {
        let others = || (0..self.states.len()).filter(move |&state| state != from);
        let total: f64 = others().map(|state| self.states[state].weight).sum();
        let mut ticket = chance * total;
        let hit = others().find(|&state| {
            ticket -= self.states[state].weight;
            ticket < 0.0
        });
        hit.or_else(|| others().next_back()).unwrap_or(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(seed: u64) -> StateLine {
        let states = ["near", "far", "sibling"].map(|name| StateSpec {
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
    fn the_state_at_a_time_does_not_depend_on_the_order_of_queries() {
        let (forward, backward) = (line(3), line(3));
        let times: Vec<Picos> = (0..400).map(|step| Picos::from_ms(7 * step)).collect();
        let mut ahead: Vec<Stretch> = times.iter().map(|&time| forward.at(time)).collect();
        ahead.reverse();
        let back: Vec<Stretch> = times.iter().rev().map(|&time| backward.at(time)).collect();
        assert_eq!(ahead, back);
        assert!((0..3).all(|state| back.iter().any(|stretch| stretch.state == state)));
    }
}
