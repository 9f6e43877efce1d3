//! The pattern of a creation: a role creates another, which runs and ends while the creator waits.

use crate::pricing::SimContext;

/// The cost of one creation in machine events.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpawnCost {
    /// System calls of the creator until the creation returns.
    pub calls: f64,
    /// Core cycles of the creator until the creation returns.
    pub cycles: f64,
    /// Share of these cycles after which the created role can run.
    pub ready: f64,
    /// Core cycles of the created role before its first statement.
    pub begin_cycles: f64,
    /// Core cycles of the end of the created role, without system calls.
    pub end_cycles: f64,
}

/// Durations of one creation, in nanoseconds since its start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpawnEvent {
    /// Until the creator continues.
    pub cost_ns: f64,
    /// Until the first statement of the created role.
    pub latency_ns: f64,
    /// Until the creator knows that the created role has ended.
    pub join_ns: f64,
}

/// Expected durations of one creation without noise. The CPU of the created role was idle for `idle_ns`. It is the CPU
/// of role 1, or another CPU of the creator's kind.
pub fn expected_event(stage: &dyn SimContext<'_>, cost: &SpawnCost, idle_ns: f64) -> SpawnEvent {
    let placement = stage.placement();
    let (creator, created) = (placement[0], placement.get(1).copied());
    let costs = stage.costs();
    let cycle_ns = stage.cycle_ns(creator);
    let cost_ns = cost.calls * costs.syscall_ns + cost.cycles * cycle_ns;
    let begin_ns = cost.begin_cycles * stage.cycle_ns(created.unwrap_or(creator));
    let end_ns = cost.end_cycles * stage.cycle_ns(created.unwrap_or(creator)) + 2.0 * costs.syscall_ns;
    if created == Some(creator) {
        // The created role gets the CPU when the creator begins to wait.
        let latency_ns = cost_ns + costs.switch_ns + begin_ns;
        return SpawnEvent { cost_ns, latency_ns, join_ns: latency_ns + end_ns + costs.switch_ns };
    }
    let lines_ns = created.map_or(0.0, |created| 4.0 * stage.transfer_ns(creator, created));
    let start_ns = costs.wake_ns + stage.idle_exit_ns(idle_ns) + lines_ns;
    let latency_ns = cost.ready * cost_ns + start_ns + begin_ns;
    let ended_ns = latency_ns + end_ns;
    // The creator sleeps until the created role ends, and has to be woken.
    let join_ns = ended_ns.max(cost_ns) + costs.wake_ns + stage.idle_exit_ns(0.0);
    SpawnEvent { cost_ns, latency_ns, join_ns }
}

/// Performs one creation with the scenario's noise.
pub fn perform(stage: &mut dyn SimContext<'_>, cost: &SpawnCost, idle_ns: f64) -> SpawnEvent {
    stage.pass(idle_ns);
    let bare = expected_event(stage, cost, idle_ns);
    let [cost_ns, latency_ns, join_ns] =
        [bare.cost_ns, bare.latency_ns, bare.join_ns].map(|ns| stage.event(ns));
    let stalled_ns = stage.pass(join_ns.max(latency_ns));
    stage.spend(0, cost_ns, 1);
    SpawnEvent { cost_ns, latency_ns, join_ns: join_ns.max(latency_ns) + stalled_ns }
}
