//! The pattern of a wake-up: one role sleeps until another wakes it.

use crate::pricing::SimContext;
use coretalk_model::wake::RanOn;
use coretalk_model::{CpuId, CpuSet};

/// The cost of one wake-up through a primitive in machine events.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WakeCost {
    /// Line transfers between the waker's first instruction and the waiter's return.
    pub transfers: f64,
    /// The waker's system calls before the waiter can run.
    pub waker_calls: f64,
    /// System calls from which the waiter has to return.
    pub waiter_calls: f64,
    /// Nanoseconds of polling before a sleep. An earlier wake-up is a hot hand-off. Infinite if the waiter never
    /// sleeps.
    pub spins_ns: f64,
    /// Core cycles of arming and waking without a waiter.
    pub alone_cycles: f64,
    /// System calls of arming and waking without a waiter.
    pub alone_calls: f64,
}

/// Durations of one wake-up, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WakeEvent {
    /// Time from the waker's first instruction to the waiter's first instruction.
    pub wake_ns: f64,
    /// Delay of the waker.
    pub waker_ns: f64,
    /// Whether the waiter had slept.
    pub slept: bool,
}

/// Expected durations of one wake-up without noise after a wait of `gap_ns`, with the CPUs of the waker and the waiter.
pub fn expected_event(
    stage: &dyn SimContext<'_>,
    cost: &WakeCost,
    gap_ns: f64,
    [waker, waiter]: [CpuId; 2],
) -> WakeEvent {
    let costs = stage.costs();
    let lines_ns = cost.transfers * stage.transfer_ns(waker, waiter);
    let calls_ns = cost.waker_calls * costs.syscall_ns;
    if waker == waiter {
        // The waiter gets the CPU when the waker yields it or is preempted by the waiter.
        let wake_ns = calls_ns + costs.switch_ns + cost.waiter_calls * costs.syscall_ns;
        return WakeEvent { wake_ns, waker_ns: calls_ns, slept: cost.spins_ns.is_finite() };
    }
    if gap_ns < cost.spins_ns {
        return WakeEvent { wake_ns: lines_ns, waker_ns: lines_ns / 2.0, slept: false };
    }
    let back_ns = costs.wake_ns + stage.idle_exit_ns(gap_ns - cost.spins_ns);
    let wake_ns = lines_ns + calls_ns + back_ns + cost.waiter_calls * costs.syscall_ns;
    // The waker finds the sleeper, enqueues it and sends an interrupt. This is about a third of the scheduler's work.
    WakeEvent { wake_ns, waker_ns: calls_ns + costs.wake_ns / 3.0, slept: true }
}

/// Duration of arming and waking on one CPU without a waiter. Nothing leaves the core.
pub fn alone_ns(stage: &dyn SimContext<'_>, cost: &WakeCost) -> f64 {
    cost.alone_cycles * stage.cycle_ns(stage.placement()[0]) + cost.alone_calls * stage.costs().syscall_ns
}

/// Prices a notification of all roles but the first, without noise: time until the first waiter continues, until the
/// last, and the waker's own time. The waker wakes one after the other, and each takes the mutex in turn.
pub fn price_all(stage: &dyn SimContext<'_>, cost: &WakeCost, gap_ns: f64) -> [f64; 3] {
    let waker = stage.placement()[0];
    let costs = stage.costs();
    let waiters = &stage.placement()[1..];
    let step_ns = costs.wake_ns / 3.0;
    let back_ns = costs.wake_ns + stage.idle_exit_ns(gap_ns) + cost.waiter_calls * costs.syscall_ns;
    let calls_ns = cost.waker_calls * costs.syscall_ns;
    let each = waiters.iter().enumerate().map(|(index, &waiter)| {
        calls_ns + index as f64 * step_ns + back_ns + cost.transfers * stage.transfer_ns(waker, waiter)
    });
    let (first, last) = each.fold((f64::INFINITY, 0.0f64), |(first, last), ns| (first.min(ns), last.max(ns)));
    [first, last, calls_ns + waiters.len() as f64 * step_ns]
}

/// Weights of the positions, relative to the waker, at which a woken thread runs. The waker does not move.
pub const PLACES: [(RanOn, f64); 4] =
    [(RanOn::SameCpu, 1.0), (RanOn::Sibling, 2.0), (RanOn::SameL3, 4.0), (RanOn::Elsewhere, 3.0)];

/// The CPU on which a woken thread runs: a position drawn by [`PLACES`], then one of its CPUs with equal probability.
pub fn placed(stage: &mut dyn SimContext<'_>, mask: &CpuSet, waker: CpuId) -> CpuId {
    let topology = stage.topology();
    let cpus_at = |place: RanOn| -> Vec<CpuId> {
        mask.iter().filter(|&cpu| RanOn::from_cpus(topology, waker, cpu) == place).collect()
    };
    let places = PLACES.map(|(place, weight)| (cpus_at(place), weight));
    let occupied = || places.iter().filter(|(cpus, _)| !cpus.is_empty());
    let mut ticket = stage.unit() * occupied().map(|(_, weight)| weight).sum::<f64>();
    let drawn = occupied().find(|(_, weight)| {
        ticket -= weight;
        ticket < 0.0
    });
    let Some((cpus, _)) = drawn.or(occupied().next_back()) else { return waker };
    cpus[((stage.unit() * cpus.len() as f64) as usize).min(cpus.len() - 1)]
}

/// Performs one wake-up between two CPUs with the scenario's noise.
pub fn perform(stage: &mut dyn SimContext<'_>, cost: &WakeCost, gap_ns: f64, pair: [CpuId; 2]) -> WakeEvent {
    let stalled_ns = stage.pass(gap_ns);
    let bare = expected_event(stage, cost, gap_ns + stalled_ns, pair);
    let wake_ns = stage.event(bare.wake_ns);
    let stalled_ns = stage.pass(wake_ns);
    let waker_ns = stage.event(bare.waker_ns);
    stage.spend(0, gap_ns + waker_ns, 0);
    stage.spend(1, if bare.slept { wake_ns / 2.0 } else { gap_ns + wake_ns }, u32::from(bare.slept));
    WakeEvent { wake_ns: wake_ns + stalled_ns, waker_ns, slept: bare.slept }
}
