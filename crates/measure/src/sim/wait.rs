//! The pattern of a ping-pong on one word: each side waits for its turn in a way of its own.

use crate::pricing::Pricing;

/// What one way of waiting does, in events of the machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WaitCost {
    /// Line transfers of a hand-over to it.
    pub transfers: f64,
    /// Whether it looks without any wait in between, which pulls at the line.
    pub eager: bool,
    /// Wait hints between two looks.
    pub hints: f64,
    /// Plain system calls between two looks.
    pub calls: f64,
    /// Core cycles of a look and whatever else is between two.
    pub cycles: f64,
    /// Looks before it sleeps; endless for one that never does.
    pub polls: f64,
    /// Whether what it does between two looks ends when the line is written; the cycles are then those of leaving it.
    pub waits_for_line: bool,
}

/// One round trip, without noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trip {
    /// How long it takes.
    pub ns: f64,
    /// Whether each side slept.
    pub slept: [bool; 2],
    /// CPU time of each side.
    pub cpu_ns: [f64; 2],
    /// Looks that found nothing, of both sides.
    pub spins: f64,
}

/// A time slice of the scheduler, after which the other one of two roles gets the CPU.
pub const SLICE_NS: f64 = 3e6;

/// What one round trip takes: role 0 waits as `costs[0]`, role 1 as `costs[1]`.
pub fn price(stage: &dyn Pricing<'_>, costs: [&WaitCost; 2]) -> Trip {
    let mut slept = [false; 2];
    // Whether one sleeps depends on how long it waits, and that on whether the other one sleeps.
    for _ in 0..3 {
        let ns: f64 = [0, 1].map(|side| hop_ns(stage, costs[side], side, slept[side])).iter().sum();
        slept = [0, 1].map(|side| ns > looks_ns(stage, costs[side], side));
    }
    let hops = [0, 1].map(|side| hop_ns(stage, costs[side], side, slept[side]));
    let ns = hops[0] + hops[1];
    let calls_ns = stage.costs().syscall_ns;
    let cpu_ns = [0, 1].map(|side| {
        if stage.placement()[0] == stage.placement()[1] {
            // One CPU has no more than its time to give.
            return ns / 2.0;
        }
        // One that sleeps is paid for until then, for its way back, and for waking the other one.
        let woken_ns = stage.costs().wake_ns / 2.0 + 2.0 * calls_ns;
        let waking_ns = if slept[1 - side] { calls_ns + stage.costs().wake_ns / 3.0 } else { 0.0 };
        let awake_ns = looks_ns(stage, costs[side], side).min(ns);
        if slept[side] { (awake_ns + woken_ns + waking_ns).min(ns) } else { ns }
    });
    let spins = [0, 1].map(|side| {
        let looked_ns = looks_ns(stage, costs[side], side).min(ns);
        if costs[side].waits_for_line { 1.0 } else { looked_ns / poll_ns(stage, costs[side], side) }
    });
    Trip { ns, slept, cpu_ns, spins: spins[0] + spins[1] }
}

/// What one look and what comes after it take.
pub fn poll_ns(stage: &dyn Pricing<'_>, cost: &WaitCost, side: usize) -> f64 {
    cost.hints * stage.costs().hint_ns
        + cost.calls * stage.costs().syscall_ns
        + cost.cycles * stage.cycle_ns(stage.placement()[side])
}

/// What one call of its wait action takes, as `--cost` times it: everything before a sleep where it looks often; where
/// it sleeps at once, the system call that finds that it may not.
pub fn act_ns(stage: &dyn Pricing<'_>, cost: &WaitCost) -> f64 {
    match cost.polls {
        polls if polls.is_infinite() => poll_ns(stage, cost, 0),
        0.0 => poll_ns(stage, cost, 0) + stage.costs().syscall_ns,
        polls => polls * poll_ns(stage, cost, 0),
    }
}

/// How many times longer a sibling takes for its work while a thread waits: in proportion to the time that looks take
/// and what is between them does not.
pub fn slowdown(stage: &dyn Pricing<'_>, cost: &WaitCost) -> f64 {
    let [low, high] = stage.sibling_factor();
    let most = (low + high) / 2.0;
    let asleep = cost.polls.is_finite() || cost.waits_for_line;
    let busy_ns = 5.0 * stage.cycle_ns(stage.placement()[0]);
    let duty = if asleep { 0.0 } else { busy_ns / poll_ns(stage, cost, 0) };
    1.0 + (most - 1.0) * duty.min(1.0)
}

/// How long a side looks before it sleeps.
fn looks_ns(stage: &dyn Pricing<'_>, cost: &WaitCost, side: usize) -> f64 {
    if cost.polls.is_infinite() { f64::INFINITY } else { cost.polls * poll_ns(stage, cost, side) }
}

/// From one side's hand-over until the other, `side`, goes on.
fn hop_ns(stage: &dyn Pricing<'_>, cost: &WaitCost, side: usize, asleep: bool) -> f64 {
    let [to, from] = [stage.placement()[side], stage.placement()[1 - side]];
    let costs = stage.costs();
    if to == from {
        return if asleep || cost.calls > 0.0 { costs.switch_ns + 2.0 * costs.syscall_ns } else { SLICE_NS };
    }
    if asleep {
        // The word and the kernel's queue of it; the waker's call before, the waiter's return behind.
        let lines_ns = 2.0 * stage.transfer_ns(from, to);
        return lines_ns + 2.0 * costs.syscall_ns + costs.wake_ns + stage.idle_exit_ns(0.0);
    }
    let transfer_ns =
        if cost.eager { stage.eager_transfer_ns(from, to) } else { stage.transfer_ns(from, to) };
    let between_ns = poll_ns(stage, cost, side);
    // The line arrives at any moment of what is between two looks: on average half of it is left. What waits for the
    // line has just ended, and has to be left.
    let late_ns = match cost {
        WaitCost { waits_for_line: true, .. } => between_ns,
        WaitCost { eager: true, .. } => 0.0,
        _ => between_ns / 2.0,
    };
    cost.transfers * transfer_ns + late_ns
}

/// Performs one round trip with everything that the scenario adds, and says how long it took.
pub fn perform(stage: &mut dyn Pricing<'_>, trip: &Trip) -> f64 {
    let ns = stage.event(trip.ns);
    let held_ns = stage.pass(ns);
    for side in 0..2 {
        stage.spend(side, trip.cpu_ns[side] / trip.ns * ns, u32::from(trip.slept[side]));
    }
    ns + held_ns
}
