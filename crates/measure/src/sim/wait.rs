//! The pattern of a ping-pong on one word, where each side has its own wait strategy.

use crate::pricing::{QUANTUM_NS, SimContext};

/// The cost of a wait strategy in machine events.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WaitCost {
    /// Line transfers of a hand-off to the waiting side.
    pub transfers: f64,
    /// Whether the strategy polls without a wait hint, which disturbs the line's owner.
    pub eager: bool,
    /// Wait hints per poll.
    pub hints: f64,
    /// Empty system calls per poll.
    pub calls: f64,
    /// Core cycles per poll, with the code between polls.
    pub cycles: f64,
    /// Polls before a sleep. Infinite if the strategy never sleeps.
    pub polls: f64,
    /// Whether a wait ends when the line is written. The cycles are then those of the exit.
    pub waits_for_line: bool,
}

/// One round trip, without noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trip {
    /// Duration.
    pub ns: f64,
    /// Whether each side slept.
    pub slept: [bool; 2],
    /// CPU time of each side.
    pub cpu_ns: [f64; 2],
    /// Unsuccessful polls of both sides.
    pub spins: f64,
}

/// Expected durations of one round trip. Role 0 waits with `costs[0]`, role 1 with `costs[1]`.
pub fn expected_trip(stage: &dyn SimContext<'_>, costs: [&WaitCost; 2]) -> Trip {
    let mut slept = [false; 2];
    // A side sleeps if its wait is long. The length of the wait depends on whether the other side sleeps.
    for _ in 0..3 {
        let ns: f64 = [0, 1].map(|side| hop_ns(stage, costs[side], side, slept[side])).iter().sum();
        slept = [0, 1].map(|side| ns > spin_limit_ns(stage, costs[side], side));
    }
    let hops = [0, 1].map(|side| hop_ns(stage, costs[side], side, slept[side]));
    let ns = hops[0] + hops[1];
    let calls_ns = stage.costs().syscall_ns;
    let cpu_ns = [0, 1].map(|side| {
        if stage.placement()[0] == stage.placement()[1] {
            // Two sides on one CPU share its time.
            return ns / 2.0;
        }
        // A sleeper is charged for its polls, its own wake-up and the wake-up of the other side.
        let woken_ns = stage.costs().wake_ns / 2.0 + 2.0 * calls_ns;
        let waking_ns = if slept[1 - side] { calls_ns + stage.costs().wake_ns / 3.0 } else { 0.0 };
        let awake_ns = spin_limit_ns(stage, costs[side], side).min(ns);
        if slept[side] { (awake_ns + woken_ns + waking_ns).min(ns) } else { ns }
    });
    let spins = [0, 1].map(|side| {
        let spun_ns = spin_limit_ns(stage, costs[side], side).min(ns);
        if costs[side].waits_for_line { 1.0 } else { spun_ns / poll_ns(stage, costs[side], side) }
    });
    Trip { ns, slept, cpu_ns, spins: spins[0] + spins[1] }
}

/// Duration of one poll, with the code between polls.
pub fn poll_ns(stage: &dyn SimContext<'_>, cost: &WaitCost, side: usize) -> f64 {
    cost.hints * stage.costs().hint_ns
        + cost.calls * stage.costs().syscall_ns
        + cost.cycles * stage.cycle_ns(stage.placement()[side])
}

/// Duration of one call of the wait action, as `--cost` times it. This is one poll if the strategy never sleeps,
/// otherwise all polls before a sleep. Without such polls it is one poll and a system call that returns without
/// sleeping.
pub fn act_ns(stage: &dyn SimContext<'_>, cost: &WaitCost) -> f64 {
    match cost.polls {
        polls if polls.is_infinite() => poll_ns(stage, cost, 0),
        0.0 => poll_ns(stage, cost, 0) + stage.costs().syscall_ns,
        polls => polls * poll_ns(stage, cost, 0),
    }
}

/// Slowdown of a sibling by a waiting thread. It is in proportion to the share of time spent on polls instead of
/// pauses.
pub fn slowdown(stage: &dyn SimContext<'_>, cost: &WaitCost) -> f64 {
    let [low, high] = stage.sibling_factor();
    let most = (low + high) / 2.0;
    let asleep = cost.polls.is_finite() || cost.waits_for_line;
    let busy_ns = 5.0 * stage.cycle_ns(stage.placement()[0]);
    let duty = if asleep { 0.0 } else { busy_ns / poll_ns(stage, cost, 0) };
    1.0 + (most - 1.0) * duty.min(1.0)
}

fn spin_limit_ns(stage: &dyn SimContext<'_>, cost: &WaitCost, side: usize) -> f64 {
    if cost.polls.is_infinite() { f64::INFINITY } else { cost.polls * poll_ns(stage, cost, side) }
}

/// Time from one side's hand-off until the other, `side`, continues.
fn hop_ns(stage: &dyn SimContext<'_>, cost: &WaitCost, side: usize, asleep: bool) -> f64 {
    let [to, from] = [stage.placement()[side], stage.placement()[1 - side]];
    let costs = stage.costs();
    if to == from {
        return if asleep || cost.calls > 0.0 {
            costs.switch_ns + 2.0 * costs.syscall_ns
        } else {
            QUANTUM_NS
        };
    }
    if asleep {
        // Two transfers: of the word and of the kernel's queue for the word. Two calls: the waker's before the wake-up,
        // and the waiter's return after it.
        let lines_ns = 2.0 * stage.transfer_ns(from, to);
        return lines_ns + 2.0 * costs.syscall_ns + costs.wake_ns + stage.idle_exit_ns(0.0);
    }
    let transfer_ns =
        if cost.eager { stage.eager_transfer_ns(from, to) } else { stage.transfer_ns(from, to) };
    let between_ns = poll_ns(stage, cost, side);
    // The line arrives at a random moment between two polls. On average half of the interval between them remains. A
    // strategy that waits for the line only has to exit its wait.
    let late_ns = match cost {
        WaitCost { waits_for_line: true, .. } => between_ns,
        WaitCost { eager: true, .. } => 0.0,
        _ => between_ns / 2.0,
    };
    cost.transfers * transfer_ns + late_ns
}

/// Performs one round trip with the scenario's noise. Returns its duration.
pub fn perform(stage: &mut dyn SimContext<'_>, trip: &Trip) -> f64 {
    let ns = stage.event(trip.ns);
    let stalled_ns = stage.pass(ns);
    for side in 0..2 {
        stage.spend(side, trip.cpu_ns[side] / trip.ns * ns, u32::from(trip.slept[side]));
    }
    ns + stalled_ns
}
