//! [`SimState`]: a simulated machine as its trials see it, the state that it is in at each time among it.

use super::clock::{CoreClocks, Counter};
use super::noise::Contamination;
use super::rng::hash;
use super::spec::{Away, Evidence, Spec, Stall};
use super::states::StateLine;
use super::true_costs::TrueCosts;
use crate::kernel::{Cost, Kernel, Spin};
use crate::machine::{Assignment, HomeChoice, SpanOrder};
use coretalk_model::environment::Throttled;
use coretalk_model::{Absence, CpuId, CpuSet, Home, Picos, TrialFailure};

/// Everything that trials read and none changes.
#[derive(Debug)]
pub struct SimState {
    pub spec: Spec,
    pub seed: u64,
    pub true_costs: TrueCosts,
    pub states: StateLine,
    pub clocks: CoreClocks,
    pub counter: Counter,
    pub workers: CpuSet,
}

impl SimState {
    /// One operation at nominal clocks and without noise, in ns, on the mean line.
    pub fn operation_ns(&self, from: CpuId, to: CpuId, kernel: &Kernel, home: Home, state: usize) -> f64 {
        let transfer = |spin| {
            self.true_costs.transfer_ns(from, to, state, spin) * self.true_costs.home_factor(from, to, home)
        };
        match kernel.cost {
            // A round trip is two hops, each so many transfers of the line and so many wait hints that overlap with
            // nothing.
            Cost::PingPong { transfers_per_hop, spin, extra_hints_per_hop } => {
                let hints_ns = extra_hints_per_hop * self.spec.costs.hint_ns;
                2.0 * (transfers_per_hop * transfer(spin) + hints_ns)
            }
            // One dependent read of what the other role dirtied. Nobody waits for the other, so no spin slows it down.
            Cost::Chase { transfers_per_read } => transfer(Spin::Hinted) * transfers_per_read,
            // One message in one direction.
            Cost::Stamp { transfers_per_message } => {
                transfer(Spin::Hinted) * transfers_per_message * self.true_costs.direction(from, to)
            }
        }
    }

    /// The key of everything that passes in a trial.
    pub fn key(&self, assignment: &Assignment) -> u64 {
        let cpus = assignment.placement.iter().fold(0, |state, cpu| hash([state, u64::from(cpu.0)]));
        hash([self.seed, assignment.key, cpus])
    }

    /// What spoils a trial with these spans this once.
    pub fn contamination(&self, assignment: &Assignment) -> Option<Contamination> {
        let runs = assignment.orders.iter().map(|order| lines(order).div_ceil(16)).min().unwrap_or(1);
        Contamination::of_trial(&self.spec.noise, self.key(assignment), runs)
    }

    /// The home of the lines of a span.
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

    /// Whether a quota stops the process within a span of time: of series, whose single stops are not followed.
    pub fn is_stopped_between(&self, from: Picos, until: Picos) -> bool {
        self.throttled(until).times > self.throttled(from).times
    }

    /// What a quota did up to a time.
    pub fn throttled(&self, until: Picos) -> Throttled {
        let of = |stall: &Stall| {
            let begins = stall.from_ms.map_or(Picos::ZERO, |ms| Picos::from_ms(u64::from(ms)));
            let times = (until.saturating_sub(begins).secs() * stall.per_second) as u64;
            let each_us = (stall.us[0] + stall.us[1]) / 2.0;
            Throttled {
                times,
                seconds: Some(times as f64 * each_us / 1e6 * self.workers.len() as f64),
                from_s: (times > 0).then(|| begins.secs()),
            }
        };
        let quotas = self.spec.stalls.iter().filter(|stall| stall.seen_as == Evidence::Quota).map(of);
        quotas.fold(Throttled { seconds: Some(0.0), ..Throttled::default() }, Throttled::and)
    }

    /// Why a CPU is away at a time.
    pub fn away(&self, cpu: CpuId, at: Picos) -> Option<Absence> {
        let ms = |ms: u32| Picos::from_ms(u64::from(ms));
        let is_away = |away: &&Away| {
            away.cpu == cpu && at >= ms(away.at_ms) && away.back_ms.is_none_or(|back| at < ms(back))
        };
        self.spec.failures.departures.iter().find(is_away).map(|away| away.why)
    }

    /// The first of these CPUs that is away at the beginning of a span or leaves in it, and when.
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

/// Lines of a span, not places.
pub fn lines(order: &SpanOrder) -> u32 {
    order.lines.saturating_mul(order.kernel.lines_per_place)
}
