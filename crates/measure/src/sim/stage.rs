//! [`SimPass`]: a series trial's view of a simulated machine, with prices, noise and virtual time.

use super::external::{self, Simulated};
use super::rng::{Stream, exp, hash, normal};
use super::sim_state::SimState;
use super::stalls::Stalls;
use crate::kernel::Spin;
use crate::pricing::{Costs, HeldAs, SimContext};
use crate::series::TrialOrder;
use coretalk_model::environment::DISTURBED_SHARE;
use coretalk_model::series::{Observed, PassOutcome, RoleEvidence};
use coretalk_model::{CpuId, Picos, TickRate, Topology, TrialFailure};

/// A series trial on a simulated machine. Random values depend on the run's seed, the order's key and the placement.
#[derive(Debug)]
pub struct SimPass<'a> {
    sim: &'a SimState,
    placement: &'a [CpuId],
    started: Picos,
    elapsed_ns: f64,
    stalls: Stalls<'a>,
    stream: Stream,
    noisy: bool,
    crowd: f64,
    awake: bool,
    roles: Vec<RoleEvidence>,
}

/// Performs one pass of one of `active` concurrent trials. Returns its duration even if it failed.
pub fn perform(
    sim: &SimState,
    order: &TrialOrder<'_>,
    now: Picos,
    active: usize,
) -> (Result<PassOutcome, TrialFailure>, Picos) {
    let placement = &order.spec.placement;
    let mut stage = SimPass::begin(sim, order, now, active);
    if let Some(failure) = sim.failure(placement, now) {
        let elapsed = match failure {
            TrialFailure::TimedOut { limit } => limit,
            _ => stage.elapsed(),
        };
        return (Err(failure), elapsed);
    }
    let observed = stage.simulate(order);
    let elapsed = stage.elapsed();
    if let Some(cpu) = sim.lost_cpu(placement, now + elapsed) {
        return (Err(TrialFailure::CpuLost { cpu }), elapsed);
    }
    let evidence = stage.stalls.evidence();
    let ghz = |cpu: CpuId| {
        let probe = |at| sim.clocks.probed_ghz(cpu, sim.true_costs.is_fast(cpu), at);
        Some([probe(now), probe(now + elapsed)])
    };
    let mut roles = stage.roles;
    for (role, &cpu) in roles.iter_mut().zip(placement) {
        role.core_ghz = ghz(cpu);
    }
    if let Some(first) = roles.first_mut() {
        first.involuntary = evidence.involuntary_switches.zip(first.involuntary).map(|(a, b)| a + b);
    }
    let outcome = observed.map(|observed| PassOutcome {
        started: now,
        elapsed,
        observed,
        roles,
        steal_ms: evidence.steal_ms,
        coordinator_shared: false,
        concurrent: active.saturating_sub(1) as u32,
        others_busy: sim.spec.failures.others > DISTURBED_SHARE,
        quota: evidence.quota || sim.is_stopped_between(now, now + elapsed),
        sentinel_ns: None,
        process: order.probe.external(order.spec).map(|_| order.process),
    });
    (outcome, elapsed)
}

impl<'a> SimPass<'a> {
    fn begin(sim: &'a SimState, order: &'a TrialOrder<'_>, now: Picos, active: usize) -> SimPass<'a> {
        let placement = order.spec.placement.as_slice();
        let id = order.spec.id().0;
        let key = hash([sim.seed, order.key, id]);
        let spec = &sim.spec;
        let stalls = Stalls::of_trial(&spec.stalls, spec.failures.clock_step, key, placement, now);
        let elapsed_ns = spec.costs.rendezvous_us * 1e3;
        let quiet = RoleEvidence {
            cpu_ns: Some(0),
            voluntary: Some(0),
            involuntary: Some(0),
            ..RoleEvidence::default()
        };
        let roles = vec![quiet; placement.len()];
        SimPass {
            sim,
            placement,
            started: now,
            elapsed_ns,
            stalls,
            stream: Stream::from_key(key),
            noisy: true,
            crowd: 1.0 + spec.noise.parallel_bias * active.saturating_sub(1) as f64,
            awake: false,
            roles,
        }
    }

    pub(super) fn bare(sim: &'a SimState, placement: &'a [CpuId]) -> SimPass<'a> {
        SimPass {
            sim,
            placement,
            started: Picos::ZERO,
            elapsed_ns: 0.0,
            stalls: Stalls::of_trial(&[], None, 0, placement, Picos::ZERO),
            stream: Stream::from_key(0),
            noisy: false,
            crowd: 1.0,
            awake: false,
            roles: vec![RoleEvidence::default(); placement.len()],
        }
    }

    fn transfer_of(&self, from: CpuId, to: CpuId, spin: Spin) -> f64 {
        if from == to {
            return 0.0;
        }
        let now = self.now();
        let state = if self.noisy { self.sim.states.at(now).state } else { 0 };
        let clock = if self.noisy {
            let relative = |cpu| self.sim.clocks.relative(cpu, now);
            (relative(from) + relative(to)) / 2.0
        } else {
            1.0
        };
        self.crowd * self.sim.true_costs.transfer_ns(from, to, state, spin) / clock
    }

    /// Prices a trial of this program or of a runtime. The error says why the pass has no result.
    pub fn simulate(&mut self, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
        let seed = self.noisy.then_some(self.sim.seed);
        let Simulated { observed, factor } = external::simulate(self, seed, order)?;
        for role in &mut self.roles {
            role.cpu_ns = role.cpu_ns.map(|ns| (ns as f64 * factor) as u64);
        }
        Ok(observed)
    }

    fn now(&self) -> Picos {
        self.started + self.elapsed()
    }
}

impl<'a> SimContext<'a> for SimPass<'a> {
    fn placement(&self) -> &'a [CpuId] {
        self.placement
    }

    fn topology(&self) -> &'a Topology {
        self.sim.true_costs.topology()
    }

    fn rate(&self) -> TickRate {
        self.sim.counter.rate()
    }

    fn clock_ns(&self) -> f64 {
        self.sim.counter.cost_ns
    }

    fn costs(&self) -> &'a Costs {
        &self.sim.spec.costs
    }

    fn keep_awake(&mut self) {
        self.awake = true;
    }

    fn idle_exit_ns(&self, idle_ns: f64) -> f64 {
        if self.awake { 0.0 } else { self.sim.spec.costs.idle_exit_ns(idle_ns) }
    }

    fn transfer_ns(&self, from: CpuId, to: CpuId) -> f64 {
        self.transfer_of(from, to, Spin::Hinted)
    }

    fn eager_transfer_ns(&self, from: CpuId, to: CpuId) -> f64 {
        self.transfer_of(from, to, Spin::Eager)
    }

    fn sibling_factor(&self) -> [f64; 2] {
        self.sim.spec.noise.sibling_factor
    }

    fn shares_core(&self) -> bool {
        let states = &self.sim.spec.states;
        let state = self.noisy.then(|| self.sim.states.at(self.now()).state);
        let onto_one = state.and_then(|state| states.get(state)).is_some_and(|state| state.one_core);
        let Some((first, others)) = self.placement.split_first() else { return false };
        onto_one || others.iter().all(|&other| self.topology().are_siblings(*first, other))
    }

    fn parallel_bias(&self) -> f64 {
        self.sim.spec.noise.parallel_bias
    }

    fn is_guest(&self) -> bool {
        self.sim.spec.hypervisor.is_some()
    }

    fn cycle_ns(&self, cpu: CpuId) -> f64 {
        let clock = &self.sim.spec.core_clock;
        1.0 / if self.sim.true_costs.is_fast(cpu) { clock.ghz } else { clock.slow_class_ghz }
    }

    fn event(&mut self, ns: f64) -> f64 {
        if !self.noisy {
            return ns;
        }
        let noise = &self.sim.spec.noise;
        let mut event = ns * exp(noise.event_sd * normal(self.stream.bits()));
        if self.stream.unit() < noise.spike_share {
            event *= self.stream.between(noise.spike_factor);
        }
        event
    }

    fn batch(&mut self, ns: f64) -> f64 {
        const EVENTS: u32 = 64;
        (0..EVENTS).map(|_| self.event(ns)).sum::<f64>() / f64::from(EVENTS)
    }

    fn unit(&mut self) -> f64 {
        self.stream.unit()
    }

    fn pass(&mut self, ns: f64) -> f64 {
        self.elapsed_ns += ns;
        if self.stalls.next_ns() > self.elapsed_ns {
            return 0.0;
        }
        let stalled_ns = self.stalls.take(self.elapsed_ns).ns;
        self.elapsed_ns += stalled_ns;
        stalled_ns
    }

    fn holds(&mut self, cpu: CpuId, span_ns: f64) -> Vec<(f64, HeldAs)> {
        let key = self.stream.bits();
        let mut stalls = Stalls::of_trial(&self.sim.spec.stalls, None, key, &[cpu], self.now());
        stalls.each(span_ns)
    }

    fn spend(&mut self, role: usize, cpu_ns: f64, voluntary: u32) {
        if let Some(role) = self.roles.get_mut(role) {
            role.cpu_ns = role.cpu_ns.map(|spent| spent + cpu_ns as u64);
            role.voluntary = role.voluntary.map(|count| count + voluntary);
        }
    }

    fn ticks(&mut self, ns: f64) -> u64 {
        let phase = self.stream.unit();
        self.sim.counter.ticks(ns, phase).max(0) as u64
    }

    fn elapsed(&self) -> Picos {
        Picos::from_ns(self.elapsed_ns)
    }
}
