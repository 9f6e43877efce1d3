//! `Engine`: prepares a [`Batch`] of rounds, sleeps while the batch runs, and collects the results.

use super::arena::{Arena, Draws, LineRequest, UsedRuns};
use super::batch::Batch;
use super::clock::sources;
use super::evidence::{Throttles, cpu_times};
use super::facts::CpuTimes;
use super::root::SystemRoot;
use super::trial::{HostTrial, Prepared, TrialConditions};
use super::workers::Workers;
use crate::kernel_context::Halt;
use crate::machine::{Assignment, HomeChoice, MachineError, Round, RoundOutcome, SpanOrder};
use crate::stop::Stop;
use coretalk_model::{CpuId, CpuSet, Home, Picos, TickRate, Topology, TrialFailure};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Poll interval where the coordinating thread shares a CPU with workers.
const RARE_POLL_INTERVAL: Duration = Duration::from_millis(40);
/// Duration of a round after which the engine searches for lost CPUs. Threads of a lost CPU share another CPU, where
/// each handoff takes a quantum. Every round of the batch would then last until its time limit.
const LONG_ROUND: Picos = Picos::from_ms(100);
/// Time that a role may take to leave when told to. Afterwards its thread counts as lost.
const GRACE: Picos = Picos::from_ms(1500);
/// Time that a thread may take to be scheduled and report that it is idle.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum delay before a span. It keeps periodic interrupts of 1 and 4 ms from always hitting the same part of a pass.
const PHASE_NS: f64 = 20_000.0;
/// Busy share of an SMT sibling during a batch above which it does more than kernel housekeeping.
const BUSY_SIBLING: f64 = 0.05;

#[derive(Debug)]
pub struct Engine<'a> {
    pub workers: &'a Workers,
    pub arena: &'a Arena,
    pub topology: &'a Topology,
    pub rate: TickRate,
    pub opened: Picos,
    pub coordinator_shared: bool,
}

impl Engine<'_> {
    /// Performs rounds. Returns fewer outcomes than rounds if `stop` was raised. Fails with [`MachineError::Memory`] if
    /// a round needs more lines than available.
    pub fn perform(&self, rounds: &[Round], stop: &Stop) -> Result<Vec<RoundOutcome>, MachineError> {
        let mut outcomes = Vec::with_capacity(rounds.len());
        while outcomes.len() < rounds.len() && !stop.is_raised() {
            let rest = &rounds[outcomes.len()..];
            let trials: Result<Vec<_>, _> = rest.iter().map(|round| self.prepare(round)).collect();
            let batch = Arc::new(Batch::new(trials?, stop.clone()));
            let cpus: CpuSet = batch.cpus().collect();
            let (root, before) = (SystemRoot::live(), cpu_times());
            let throttles = Throttles::read(&root, &cpus);
            let begun = sources::monotonic();
            // A lost thread ends the batch with its round. The remaining rounds run without it.
            let completed = self.run(&batch, stop);
            let spent = before.and_then(|before| Some(cpu_times()?.since(&before)));
            let elapsed = sources::monotonic().saturating_sub(begun);
            let throttled = Throttles::read(&root, &cpus).since(&throttles);
            let evidence = BatchEvidence { engine: self, spent, elapsed, throttled };
            outcomes.extend((0..completed).map(|round| evidence.outcome(batch.trials(round), begun)));
        }
        // Interrupted rounds are incomplete.
        let interrupted = |round: &RoundOutcome| round.trials.contains(&Err(TrialFailure::Interrupted));
        outcomes.truncate(outcomes.iter().position(interrupted).unwrap_or(outcomes.len()));
        Ok(outcomes)
    }

    /// Maximum number of runs that a round needs at once, by node.
    pub fn wanted_runs(rounds: &[Round], topology: &Topology) -> BTreeMap<u32, usize> {
        let mut most = BTreeMap::new();
        for round in rounds {
            let mut in_round: BTreeMap<u32, usize> = BTreeMap::new();
            for (pair, assignment) in round.assignments.iter().enumerate() {
                for order in assignment.orders.iter() {
                    let wanted = wanted(order, pair, &assignment.placement, topology);
                    *in_round.entry(wanted.node).or_default() += wanted.runs();
                }
            }
            for (node, runs) in in_round {
                let known = most.entry(node).or_insert(0);
                *known = runs.max(*known);
            }
        }
        most
    }

    fn prepare(&self, round: &Round) -> Result<Vec<Result<HostTrial, TrialFailure>>, MachineError> {
        let (mut used, mut busy) = (UsedRuns::default(), CpuSet::new());
        let mut trials = Vec::with_capacity(round.assignments.len());
        for (pair, assignment) in round.assignments.iter().enumerate() {
            trials.push(match self.refusal(assignment, &mut busy) {
                Some(failure) => Err(failure),
                None => Ok(self.trial(pair, assignment, &mut used)?),
            });
        }
        Ok(trials)
    }

    fn refusal(&self, assignment: &Assignment, busy: &mut CpuSet) -> Option<TrialFailure> {
        for (role, &cpu) in assignment.placement.iter().enumerate() {
            let refused = |errno| Some(TrialFailure::NotPinned { cpu, errno });
            let Some(worker) = self.workers.worker(cpu) else { return refused(libc::EINVAL) };
            if assignment.orders.iter().any(|order| role >= order.kernel.roles.len()) {
                return refused(libc::EINVAL);
            }
            if !worker.is_idle() {
                // The worker was lost in an earlier round and has not returned.
                return Some(TrialFailure::PartnerLost { cpu });
            }
            if !busy.insert(cpu) {
                return refused(libc::EBUSY);
            }
        }
        None
    }

    fn trial(
        &self,
        pair: usize,
        assignment: &Assignment,
        used: &mut UsedRuns,
    ) -> Result<HostTrial, MachineError> {
        let mut spans = Vec::with_capacity(assignment.orders.len());
        for (index, order) in assignment.orders.iter().enumerate() {
            let mut draws = Draws::new(assignment.key, index as u64);
            let wanted = wanted(order, pair, &assignment.placement, self.topology);
            let places = self.arena.draw(wanted, &mut draws, used).ok_or_else(|| MachineError::Memory {
                node: wanted.node,
                reason: "the pairs of one round need more memory than is free".to_owned(),
            })?;
            let phase_ns = draws.bits() as f64 / u64::MAX as f64 * PHASE_NS;
            let on_node = |&cpu: &CpuId| self.topology.node_of(cpu).unwrap_or(0) == wanted.node;
            let home_role = match order.home {
                HomeChoice::OfRole(role) => role.min(assignment.placement.len() - 1),
                HomeChoice::Node(_) => assignment.placement.iter().position(on_node).unwrap_or(0),
            };
            spans.push(Prepared {
                order: order.clone(),
                home: Home(wanted.node),
                home_role,
                places,
                phase_ns,
            });
        }
        Ok(HostTrial::new(assignment.placement.to_vec(), spans, self.rate))
    }

    fn run(&self, batch: &Arc<Batch>, stop: &Stop) -> usize {
        for cpu in batch.cpus() {
            let worker_batch = Arc::clone(batch);
            if let Some(worker) = self.workers.worker(cpu) {
                // Cannot fail: these workers are idle, and only this thread gives them tasks.
                let _ = worker.give(Box::new(move || worker_batch.take_part(cpu)));
            }
        }
        batch.begin();
        let interval = if self.coordinator_shared { RARE_POLL_INTERVAL } else { POLL_INTERVAL };
        let mut stop_sent = false;
        while !batch.is_over() {
            batch.sleep(interval);
            if stop.is_raised() && !stop_sent {
                batch.give_up(Halt::Stopped);
                stop_sent = true;
            }
            if batch.elapsed().is_some_and(|elapsed| elapsed > LONG_ROUND) {
                let lost = |cpu: &CpuId| self.workers.worker(*cpu).is_some_and(|worker| !worker.is_bound());
                batch.cpus().filter(lost).for_each(|cpu| batch.give_up_cpu(cpu, Halt::Partner));
            }
            let Some(overdue) = batch.overdue() else { continue };
            // Waiting roles have noticed the deadline. Only roles that never began are left.
            let round = batch.completed();
            batch.give_up_round(round, Halt::Deadline);
            if overdue > GRACE {
                batch.end();
                let stuck = batch.absent(round);
                self.wait_until_idle(batch.cpus().filter(|&cpu| !stuck.contains(cpu)));
                return if stop_sent { round } else { round + 1 };
            }
        }
        self.wait_until_idle(batch.cpus());
        batch.completed()
    }

    fn wait_until_idle(&self, cpus: impl Iterator<Item = CpuId>) {
        for worker in cpus.filter_map(|cpu| self.workers.worker(cpu)) {
            worker.wait_idle(PATIENCE);
        }
    }
}

struct BatchEvidence<'a> {
    engine: &'a Engine<'a>,
    spent: Option<CpuTimes>,
    elapsed: Picos,
    throttled: CpuSet,
}

impl BatchEvidence<'_> {
    fn outcome(&self, trials: &[Result<HostTrial, TrialFailure>], begun: Picos) -> RoundOutcome {
        let times: Vec<(Picos, Picos)> = trials.iter().flatten().filter_map(HostTrial::times).collect();
        let started = times.iter().map(|time| time.0).min().unwrap_or(begun);
        let ended = times.iter().map(|time| time.1).max().unwrap_or(started);
        let opened = self.engine.opened;
        let trials = trials
            .iter()
            .map(|trial| {
                let trial = trial.as_ref().map_err(Clone::clone)?;
                let mut recording = trial.outcome(self.conditions(trial))?;
                recording.started = recording.started.saturating_sub(opened);
                Ok(recording)
            })
            .collect();
        RoundOutcome {
            started: started.saturating_sub(opened),
            elapsed: ended.saturating_sub(started),
            trials,
        }
    }

    /// Losses of a batch are distributed over its trials by their duration, since system counters are too coarse for
    /// one trial. The value of a trial is exact only if the sum is zero.
    fn conditions(&self, trial: &HostTrial) -> TrialConditions {
        let share = trial.times().map_or(0.0, |(started, ended)| {
            ended.saturating_sub(started).secs() / self.elapsed.max(Picos(1)).secs()
        });
        let cpus: CpuSet = trial.placement().iter().copied().collect();
        let in_batch = self.spent.as_ref().and_then(|spent| spent.stolen_ms(&cpus));
        TrialConditions {
            lost_ms: in_batch.map(|ms| (ms * share) as f32),
            coordinator_shared: self.engine.coordinator_shared,
            sibling_busy: trial.placement().iter().any(|&cpu| self.has_busy_sibling(cpu)),
            throttled: !cpus.intersection(&self.throttled).is_empty(),
        }
    }

    /// Whether a sibling without a worker was busy. Siblings with a worker run other rounds.
    fn has_busy_sibling(&self, cpu: CpuId) -> bool {
        let outside = self.engine.topology.siblings(cpu).difference(&self.engine.workers.cpus());
        let Some(spent) = &self.spent else { return false };
        outside.iter().any(|sibling| {
            spent.busy_fraction(&CpuSet::from_iter([sibling])).is_some_and(|busy| busy > BUSY_SIBLING)
        })
    }
}

fn wanted(order: &SpanOrder, pair: usize, placement: &[CpuId], topology: &Topology) -> LineRequest {
    let node = match order.home {
        HomeChoice::Node(home) => home.0,
        HomeChoice::OfRole(role) => {
            placement.get(role).or(placement.last()).and_then(|&cpu| topology.node_of(cpu)).unwrap_or(0)
        }
    };
    let places = match order.walk {
        crate::machine::Walk::FreshRuns => order.lines as usize,
        // A single place. Each line of the order is one visit.
        crate::machine::Walk::OnePlace => 1,
    };
    LineRequest {
        node,
        pair,
        places,
        lines_per_place: order.kernel.lines_per_place as usize,
        walk: order.walk,
    }
}

/// Nodes of some CPUs; node 0 if the machine reports none.
pub fn nodes_of(cpus: &[CpuId], topology: &Topology) -> BTreeSet<u32> {
    cpus.iter().map(|&cpu| topology.node_of(cpu).unwrap_or(0)).collect()
}
