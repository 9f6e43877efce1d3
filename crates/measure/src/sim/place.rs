//! Work on a simulated machine: what its pattern of interaction costs on the CPUs of its roles.
//!
//! Roles run on the CPUs of a placement in turn. Those that share a CPU share its time; two that share a core have
//! [`SMT_SPEED`] of it each. Messages cost the transfers of lines that the pattern states, at the truth of the scenario.

use super::rng::{hash, normal};
use super::world::World;
use crate::kernel::Spin;
use coretalk_model::place::{Workload, WorkloadKind};
use coretalk_model::stats::elementary::exp;
use coretalk_model::{CpuId, Picos};

/// What a thread has of a core whose other thread works too. Six threads on three cores of a Ryzen 5 2600 did 66 to 79 %
/// of what six did on six cores (Dhrystone and 17 queens).
pub const SMT_SPEED: f64 = 0.7;
/// How long work without an end of its own runs.
const SPAN: Picos = Picos::from_ms(250);
/// Spread of whole runs of one and the same work.
const RUN_SD: f64 = 0.003;
/// Work of a role between two barriers, on a whole core.
const PHASE_NS: f64 = 1_000.0;
/// Work on an item in a stage, and between two additions to a shared counter.
const STEP_NS: f64 = 50.0;
/// What a core does in a second of independent work: solutions, loops.
const INDEPENDENT_PER_S: f64 = 1e6;

/// The roles of a piece of work on their CPUs.
struct Roles<'a> {
    world: &'a World,
    cpus: Vec<CpuId>,
    now: Option<Picos>,
}

/// The headline of a run without noise in the first state; `None` for work that has no pattern here.
pub fn truth(world: &World, workload: Workload, cpus: &[CpuId], threads: usize) -> Option<f64> {
    Roles::of(world, cpus, threads, None).rate(workload.kind)
}

/// The headline of one run, and how long it took.
pub fn perform(
    world: &World,
    workload: Workload,
    cpus: &[CpuId],
    threads: usize,
    key: u64,
    now: Picos,
) -> Option<(f64, Picos)> {
    let rate = Roles::of(world, cpus, threads, Some(now)).rate(workload.kind)?;
    Some((rate * exp(RUN_SD * normal(hash([world.seed, key]))), SPAN))
}

/// Whether work has a pattern here.
pub fn has_pattern(kind: WorkloadKind) -> bool {
    use WorkloadKind::{AllToAll, Barrier, Integer, NQueens, Pipeline, Ring, SharedCounter};
    matches!(kind, NQueens | Integer | Barrier | Ring | AllToAll | Pipeline | SharedCounter)
}

impl<'a> Roles<'a> {
    fn of(world: &'a World, cpus: &[CpuId], threads: usize, now: Option<Picos>) -> Roles<'a> {
        Roles { world, cpus: cpus.iter().copied().cycle().take(threads).collect(), now }
    }

    fn rate(&self, kind: WorkloadKind) -> Option<f64> {
        let count = self.cpus.len();
        if count < kind.fewest_threads() {
            return None;
        }
        let roles = 0..count;
        let neighbours = || roles.clone().map(|role| self.message_ns(role, (role + 1) % count));
        let slowest = |ns: &mut dyn Iterator<Item = f64>| ns.fold(0.0, f64::max);
        Some(match kind {
            // Nobody waits for anybody.
            WorkloadKind::NQueens | WorkloadKind::Integer => {
                roles.map(|role| self.speed(role)).sum::<f64>() * INDEPENDENT_PER_S
            }
            // The counter's line goes from role to role; then the last one's word goes to all at once.
            WorkloadKind::Barrier => {
                let work = slowest(&mut roles.clone().map(|role| PHASE_NS / self.speed(role)));
                let arrive: f64 = (1..count).map(|role| self.message_ns(role - 1, role)).sum();
                let leave = slowest(&mut (1..count).map(|role| self.message_ns(count - 1, role - 1)));
                1e9 / (work + arrive + leave)
            }
            // One hop at a time.
            WorkloadKind::Ring => 1e9 * count as f64 / neighbours().sum::<f64>(),
            // Each role reads the line of each other; the phase ends with the slowest.
            WorkloadKind::AllToAll => {
                let reads = |role| (0..count).filter(move |other| *other != role);
                let phase = slowest(
                    &mut roles.map(|role| reads(role).map(|other| self.message_ns(other, role)).sum::<f64>()),
                );
                1e9 * (count * (count - 1)) as f64 / phase
            }
            // The slowest stage decides: its work, the line of the item, the line of the position.
            WorkloadKind::Pipeline => {
                let stage = |role: usize| {
                    let link = if role + 1 < count { 2.0 * self.message_ns(role, role + 1) } else { 0.0 };
                    STEP_NS / self.speed(role) + link
                };
                1e9 / slowest(&mut roles.map(stage))
            }
            // One line that everybody wants: it goes from any role to any other, unless their own work takes longer.
            WorkloadKind::SharedCounter => {
                let own: f64 = roles.clone().map(|role| self.speed(role) / STEP_NS).sum();
                let pairs =
                    roles.clone().flat_map(|a| (0..count).filter(move |b| *b != a).map(move |b| (a, b)));
                let moves: Vec<f64> = pairs.map(|(a, b)| self.message_ns(a, b)).collect();
                let line = moves.len() as f64 / moves.iter().sum::<f64>();
                1e9 * if moves.is_empty() { own } else { own.min(line) }
            }
            _ => return None,
        })
    }

    /// What a role has of a core of the fastest kind.
    fn speed(&self, role: usize) -> f64 {
        let cpu = self.cpus[role];
        let here = self.cpus.iter().filter(|other| **other == cpu).count() as f64;
        let siblings = self.world.truth.topology().siblings(cpu);
        let beside = self.cpus.iter().any(|other| *other != cpu && siblings.contains(*other));
        // The clock of a core is known against the nominal value of its kind.
        let clocks = &self.world.spec.core_clock;
        let kind = if self.world.truth.is_fast(cpu) { 1.0 } else { clocks.slow_class_ghz / clocks.ghz };
        let clock = self.now.map_or(1.0, |now| self.world.clocks.relative(cpu, now));
        kind * clock * if beside { SMT_SPEED } else { 1.0 } / here
    }

    /// What a message takes from role to role.
    fn message_ns(&self, from: usize, to: usize) -> f64 {
        let (from, to) = (self.cpus[from], self.cpus[to]);
        if from == to {
            return self.world.spec.costs.switch_ns;
        }
        let state = self.now.map_or(0, |now| self.world.states.at(now).state);
        let clock = self.now.map_or(1.0, |now| {
            let relative = |cpu| self.world.clocks.relative(cpu, now);
            (relative(from) + relative(to)) / 2.0
        });
        self.world.truth.transfer_ns(from, to, state, Spin::Hinted) / clock
    }
}
