//! The cost of a trial with several producers or consumers on a simulated machine.

use super::price::{SLICE_NS, looks_ns, payload_ns};
use super::trials::Config;
use crate::pricing::SimContext;
use crate::probes::queue;
use crate::series::{TrialOrder, per_pass};
use crate::sim::ends::{self, Crowd};
use crate::wait::WaitMode;
use coretalk_model::Flag;
use coretalk_model::queue::names;
use coretalk_model::series::Observed;

/// Messages simulated one by one per end; the rest of the pass is extrapolated.
const SIMULATED: u64 = 2_000;
/// Maximum simulated messages of all ends together, since each step scans all ends.
const SIMULATED_IN_ALL: u64 = 100_000;

pub fn simulate(stage: &mut dyn SimContext<'_>, config: &Config, order: &TrialOrder<'_>) -> Observed {
    let (kind, price) = (config.kind, config.kind.cost);
    let cpus = stage.placement();
    let (sides, costs) = (config.sides, stage.costs());
    // Threads on one CPU share its time.
    let sharing: Vec<f64> =
        cpus.iter().map(|cpu| cpus.iter().filter(|other| *other == cpu).count() as f64).collect();
    let transfer_ns: Vec<Vec<f64>> =
        cpus.iter().map(|&from| cpus.iter().map(|&to| stage.transfer_ns(from, to)).collect()).collect();
    let across_ns = transfer_ns[0][sides[0]];
    let line_ns = config.payload.bytes() as f64 / 64.0 * across_ns;
    let own_ns = payload_ns(config.payload)
        .map(|payload_ns| payload_ns + price.own_ns + price.calls * costs.syscall_ns + line_ns);
    // An end that follows itself on its side shares only with the other side.
    let turn_ns = |_: usize, before: usize, end: usize| {
        price.lines * if before == end { across_ns } else { transfer_ns[before][end] }
    };
    let sleep_ns = match kind.waits {
        WaitMode::Spin => [f64::INFINITY, 0.0, 0.0],
        _ => [
            looks_ns(config, costs.hint_ns),
            costs.wake_ns + costs.syscall_ns,
            costs.syscall_ns + costs.wake_ns / 3.0,
        ],
    };
    let crowd = Crowd {
        sides,
        capacity: config.capacity as u64,
        turn_ns: &turn_ns,
        one_lock: price.one_lock,
        sight_ns: across_ns,
        sleep_ns,
    };
    let span_ns = order.span.ns();
    let requested = per_pass(order.options, "messages", 1).map(|messages| messages.max(1));
    let most = requested.unwrap_or(u64::MAX).min((SIMULATED * cpus.len() as u64).min(SIMULATED_IN_ALL));
    let mut work = |end: usize| {
        let mean_ns = own_ns[usize::from(end >= sides[0])] * sharing[end];
        stage.event(mean_ns)
    };
    let out = ends::run(&crowd, span_ns, most, &mut work);
    let taken = out.taken(&crowd);
    let fit = span_ns.max(out.elapsed_ns) / out.elapsed_ns.max(1.0);
    let times = requested.map_or(fit, |all| fit.min(all as f64 / taken.max(1) as f64));
    let lasted_ns = out.elapsed_ns * times;
    let held_ns = stage.pass(lasted_ns);
    let mut observed = Observed::default();
    observed.value(names::RATE, taken as f64 / out.elapsed_ns * 1e9 * lasted_ns / (lasted_ns + held_ns));
    let count = |count: u64| (count as f64 * times) as u64;
    observed.count(names::MESSAGES, count(taken));
    if kind.tells {
        observed.count(names::FULL, count(out.waits[0]));
        observed.count(names::EMPTY, count(out.waits[1]));
    }
    for (side, own) in [0..sides[0], sides[0]..cpus.len()].into_iter().enumerate() {
        let messages: u64 = out.messages[own.clone()].iter().sum();
        let shares: Vec<f64> =
            out.messages[own.clone()].iter().map(|own| *own as f64 / messages.max(1) as f64).collect();
        if shares.len() > 1 {
            queue::observe_shares(&mut observed, side, own.start, &shares);
        }
        // No CPU works longer than the pass.
        let busy = |end: usize| (out.busy_ns[end] * times).min(lasted_ns / sharing[end]);
        observed.count(names::CPU_NS[side], own.clone().map(busy).sum::<f64>() as u64);
        observed.count(names::VOLUNTARY[side], count(out.sleeps[own.clone()].iter().sum()));
        let slices =
            |end: usize| if sharing[end] > 1.0 { (lasted_ns / SLICE_NS / sharing[end]) as u64 } else { 0 };
        observed.count(names::INVOLUNTARY[side], own.clone().map(slices).sum());
        for end in own {
            stage.spend(end, busy(end), count(out.sleeps[end]) as u32);
        }
    }
    if sharing.iter().any(|of| *of > 1.0) && kind.waits == WaitMode::Spin {
        observed.flags.set(Flag::SharedSpin);
    }
    observed
}
