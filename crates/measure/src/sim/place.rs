//! Workloads on a simulated machine: the cost of their communication patterns on the CPUs of their roles.
//!
//! Roles are assigned to the CPUs of a placement in rotation. Roles on one CPU share its time. Two roles on one core
//! get [`SMT_SPEED`] of its speed each. Messages cost the line transfers of the pattern, at the true costs of the
//! scenario.

use super::rng::{hash, normal};
use super::sim_state::SimState;
use crate::events;
use crate::kernel::Spin;
use coretalk_model::place::{Workload, WorkloadKind};
use coretalk_model::series::Observed;
use coretalk_model::stats::elementary::exp;
use coretalk_model::{CpuId, CpuSet, Level, Picos};
use std::collections::BTreeMap;
use std::time::Duration;

/// Speed of a thread whose sibling works too, relative to a whole core. On a Ryzen 5 2600 six threads on three cores
/// reached 66 to 79 % of six threads on six cores (Dhrystone and 17 queens).
pub const SMT_SPEED: f64 = 0.7;
/// Run time of work that does not end by itself.
const SPAN: Picos = Picos::from_ms(250);
const RUN_SD: f64 = 0.003;
/// Work of a role between two barriers, on a whole core.
const PHASE_NS: f64 = 1_000.0;
/// Work on an item in a pipeline stage, and between two additions to a shared counter.
const STEP_NS: f64 = 50.0;
/// Independent work of a core per second: solutions or loops.
const INDEPENDENT_PER_S: f64 = 1e6;

const YIELDS: f64 = 1_000.0;
const LOOP_NS: f64 = 0.5;
/// Mutexes of `threads-yield`. One thread at a time holds a mutex.
const MUTEXES: usize = 8;
/// Memory bandwidths in MB/s: of a core; of a last-level cache if there are several (32 bytes per tick of a fabric at
/// 1.467 GHz: AMD, Zen 2); of eight channels of DDR4-3200.
const CORE_MB_S: f64 = 20_000.0;
const CACHE_MB_S: f64 = 47_000.0;
const NODE_MB_S: f64 = 204_800.0;

struct PlaceRoles<'a> {
    sim: &'a SimState,
    cpus: Vec<CpuId>,
    now: Option<Picos>,
}

/// The headline of a run without noise in the first state; `None` for work without a simulated pattern.
pub fn true_headline(sim: &SimState, workload: Workload, cpus: &[CpuId], threads: usize) -> Option<f64> {
    PlaceRoles::new(sim, workload.kind, cpus, threads, None).headline(workload)
}

pub fn perform(
    sim: &SimState,
    workload: Workload,
    cpus: &[CpuId],
    threads: usize,
    key: u64,
    now: Picos,
) -> Option<(Observed, Picos)> {
    let kind = workload.kind;
    let roles = PlaceRoles::new(sim, kind, cpus, threads, Some(now));
    let luck = exp(RUN_SD * normal(hash([sim.seed, key])));
    let headline = roles.headline(workload)? * luck;
    let mut observed = Observed::default();
    observed.value(&kind.metrics()[0].name, headline);
    let event = |ns: f64| Duration::from_secs_f64(ns * luck / 1e9);
    let elapsed = match kind {
        WorkloadKind::ThreadsYield => {
            let events = roles.yields().map(|ns| event(YIELDS * ns)).collect();
            events::numbers(events).into_iter().for_each(|(name, value)| observed.value(name, value));
            SPAN
        }
        // The run ends with its last thread.
        WorkloadKind::MutexArray => {
            let events: Vec<Duration> = roles.mutex_array(workload).map(event).collect();
            observed.value("events_per_s", events.len() as f64 / headline);
            events::numbers(events).into_iter().for_each(|(name, value)| observed.value(name, value));
            Picos::from_secs(headline)
        }
        _ => SPAN,
    };
    Some((observed, elapsed))
}

/// Whether work has a simulated cost. The costs of processes and files depend on the system.
pub fn has_pattern(kind: WorkloadKind) -> bool {
    !matches!(kind, WorkloadKind::Execl | WorkloadKind::Process | WorkloadKind::Shell)
}

impl<'a> PlaceRoles<'a> {
    fn new(
        sim: &'a SimState,
        kind: WorkloadKind,
        cpus: &[CpuId],
        threads: usize,
        now: Option<Picos>,
    ) -> PlaceRoles<'a> {
        let roles = kind.roles(threads).unwrap_or(threads);
        PlaceRoles { sim, cpus: cpus.iter().copied().cycle().take(roles).collect(), now }
    }

    /// The headline by which placements are compared: operations per second, or the total time.
    fn headline(&self, workload: Workload) -> Option<f64> {
        let kind = workload.kind;
        let count = self.cpus.len();
        if count < kind.fewest_threads() {
            return None;
        }
        let roles = 0..count;
        let neighbours = || roles.clone().map(|role| self.message_ns(role, (role + 1) % count));
        let slowest = |ns: &mut dyn Iterator<Item = f64>| ns.fold(0.0, f64::max);
        Some(match kind {
            WorkloadKind::NQueens | WorkloadKind::Integer => {
                roles.map(|role| self.speed(role)).sum::<f64>() * INDEPENDENT_PER_S
            }
            // Roles arrive in any order. The counter's line moves between them. The last role's line moves to all at
            // once.
            WorkloadKind::Barrier => {
                let work = slowest(&mut roles.clone().map(|role| PHASE_NS / self.speed(role)));
                let arrive = self.mean_of_pairs(|a, b| self.message_ns(a, b)) * (count - 1) as f64;
                let to_all = |last| {
                    slowest(
                        &mut (0..count).filter(|role| *role != last).map(|role| self.message_ns(last, role)),
                    )
                };
                let leave = roles.map(to_all).sum::<f64>() / count as f64;
                1e9 / (work + arrive + leave)
            }
            // One hop at a time.
            WorkloadKind::Ring => 1e9 * count as f64 / neighbours().sum::<f64>(),
            // Each role reads the lines of all others. The phase ends with the slowest.
            WorkloadKind::AllToAll => {
                let reads = |role| (0..count).filter(move |other| *other != role);
                let phase = slowest(
                    &mut roles.map(|role| reads(role).map(|other| self.message_ns(other, role)).sum::<f64>()),
                );
                1e9 * (count * (count - 1)) as f64 / phase
            }
            // The slowest stage decides, with its work, the line of the item and the line of the position.
            WorkloadKind::Pipeline => {
                let stage = |role: usize| {
                    let link = if role + 1 < count { 2.0 * self.message_ns(role, role + 1) } else { 0.0 };
                    STEP_NS / self.speed(role) + link
                };
                1e9 / slowest(&mut roles.map(stage))
            }
            // One contended line. It moves from any role to any other, unless their own work takes longer.
            WorkloadKind::SharedCounter => {
                let work_rate: f64 = roles.clone().map(|role| self.speed(role) / STEP_NS).sum();
                let line = self.mean_of_pairs(|a, b| self.message_ns(a, b));
                1e9 * if line > 0.0 { work_rate.min(1.0 / line) } else { work_rate }
            }
            // The scheduler keeps both processes of a pair on one CPU, with two calls and a switch each way.
            WorkloadKind::Pipe => {
                let costs = &self.sim.spec.costs;
                let loop_ns = 2.0 * (2.0 * costs.syscall_ns + costs.switch_ns);
                roles.map(|pair| self.speed(pair) * 1e9 / loop_ns).sum()
            }
            // Without contention if there are at least as many mutexes as threads.
            WorkloadKind::ThreadsYield => {
                let at_a_time = (MUTEXES as f64 / count as f64).min(1.0);
                self.yields().map(|ns| 1e9 / (YIELDS * ns)).sum::<f64>() * at_a_time
            }
            WorkloadKind::MutexArray => slowest(&mut self.mutex_array(workload)) / 1e9,
            WorkloadKind::MemoryRead | WorkloadKind::MemoryWrite if workload.fits_own_cache() => {
                roles.map(|role| self.speed(role)).sum::<f64>() * CORE_MB_S
            }
            // A written line is read first. So counted bytes are only a part of the traffic.
            WorkloadKind::MemoryRead => self.streamed_mb_s(),
            WorkloadKind::MemoryWrite => self.streamed_mb_s() / 2.0,
            WorkloadKind::StreamCopy | WorkloadKind::StreamScale => self.streamed_mb_s() * 16.0 / 24.0,
            WorkloadKind::StreamAdd | WorkloadKind::StreamTriad => self.streamed_mb_s() * 24.0 / 32.0,
            WorkloadKind::Execl | WorkloadKind::Process | WorkloadKind::Shell => return None,
        })
    }

    fn mean_of_pairs(&self, ns: impl Fn(usize, usize) -> f64) -> f64 {
        let count = self.cpus.len();
        let pairs = (0..count).flat_map(|a| (0..count).filter(move |b| *b != a).map(move |b| (a, b)));
        let sum: f64 = pairs.map(|(a, b)| ns(a, b)).sum();
        sum / (count * count.saturating_sub(1)).max(1) as f64
    }

    /// Time for each role of `threads-yield` to lock, yield and unlock: a line last held by any other role, a call, and
    /// the turns of all others on its CPU.
    fn yields(&self) -> impl Iterator<Item = f64> {
        let line = self.mean_of_pairs(|a, b| self.line_ns(a, b));
        let costs = &self.sim.spec.costs;
        (0..self.cpus.len()).map(move |role| {
            let turns = self.roles_on(self.cpus[role]) - 1.0;
            costs.syscall_ns / self.whole_speed(role) + turns * costs.switch_ns + line
        })
    }

    /// Nanoseconds of each role of `mutex-array`: loops, and per lock the line of a mutex last held by any other role.
    fn mutex_array(&self, workload: Workload) -> impl Iterator<Item = f64> {
        let line = self.mean_of_pairs(|a, b| self.line_ns(a, b));
        let [locks, loops] = workload.mutex_rounds().map(|number| number as f64);
        (0..self.cpus.len()).map(move |role| locks * (loops * LOOP_NS / self.speed(role) + line))
    }

    /// Bandwidth of all roles together. The cache and the node limit the bandwidth of each core.
    fn streamed_mb_s(&self) -> f64 {
        let topology = self.sim.true_costs.topology();
        let several = topology.level(Level::L3).len() > 1;
        let mut nodes: BTreeMap<Option<CpuId>, BTreeMap<Option<CpuId>, f64>> = BTreeMap::new();
        let mut cores = CpuSet::new();
        for (role, &cpu) in self.cpus.iter().enumerate() {
            // Two threads of a core stream no more than one thread.
            let Some(core) = topology.siblings(cpu).first().filter(|core| !cores.contains(*core)) else {
                continue;
            };
            cores.insert(core);
            let group = |level| topology.domain_of(cpu, level).and_then(|domain| domain.cpus.first());
            let cache = nodes.entry(group(Level::Node)).or_default().entry(group(Level::L3)).or_default();
            *cache += CORE_MB_S * self.clock(role);
        }
        let through = |mb_s: f64| if several { mb_s.min(CACHE_MB_S) } else { mb_s };
        let of_node = |caches: &BTreeMap<Option<CpuId>, f64>| {
            caches.values().copied().map(through).sum::<f64>().min(NODE_MB_S)
        };
        nodes.values().map(of_node).sum()
    }

    fn speed(&self, role: usize) -> f64 {
        self.whole_speed(role) / self.roles_on(self.cpus[role])
    }

    /// Speed of a role without other roles on its CPU, relative to a core of the fastest kind.
    fn whole_speed(&self, role: usize) -> f64 {
        let cpu = self.cpus[role];
        let siblings = self.sim.true_costs.topology().siblings(cpu);
        let has_busy_sibling = self.cpus.iter().any(|other| *other != cpu && siblings.contains(*other));
        self.clock(role) * if has_busy_sibling { SMT_SPEED } else { 1.0 }
    }

    fn roles_on(&self, cpu: CpuId) -> f64 {
        self.cpus.iter().filter(|other| **other == cpu).count() as f64
    }

    /// Clock of a role's core relative to the nominal clock of the fastest kind.
    fn clock(&self, role: usize) -> f64 {
        let cpu = self.cpus[role];
        // A core's clock is relative to the nominal value of its kind.
        let clocks = &self.sim.spec.core_clock;
        let kind = if self.sim.true_costs.is_fast(cpu) { 1.0 } else { clocks.slow_class_ghz / clocks.ghz };
        kind * self.now.map_or(1.0, |now| self.sim.clocks.relative(cpu, now))
    }

    /// Duration of a line transfer between the CPUs of two roles; 0 on the same CPU.
    fn line_ns(&self, from: usize, to: usize) -> f64 {
        if self.cpus[from] == self.cpus[to] { 0.0 } else { self.message_ns(from, to) }
    }

    fn message_ns(&self, from: usize, to: usize) -> f64 {
        let (from, to) = (self.cpus[from], self.cpus[to]);
        if from == to {
            return self.sim.spec.costs.switch_ns;
        }
        let state = self.now.map_or(0, |now| self.sim.states.at(now).state);
        let clock = self.now.map_or(1.0, |now| {
            let relative = |cpu| self.sim.clocks.relative(cpu, now);
            (relative(from) + relative(to)) / 2.0
        });
        self.sim.true_costs.transfer_ns(from, to, state, Spin::Hinted) / clock
    }
}
