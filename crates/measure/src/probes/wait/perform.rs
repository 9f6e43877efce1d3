//! One pass of a trial on threads of this machine.

use super::exchange::{self, Clock, FollowerCounts, LeaderCounts, Plan};
use super::trials::{Mode, WaitTrial};
use super::{flags, tasks};
use crate::counter;
use crate::kernel_context::Halt;
use crate::power::PackageEnergy;
use crate::series::{TrialOrder, per_pass};
use crate::strategies::Turn;
use crate::strategies::catalogue::{StrategyKind, StrategyTask};
use crate::strategies::spinning::{Busy, Spinning};
use crate::strategies::{Alternating, Strategy};
use crate::tick_histogram::TickHistogram;
use crate::trial_context::{RoleContext, TrialContext};
use coretalk_model::series::Observed;
use coretalk_model::stats::Key;
use coretalk_model::wait::names;
use coretalk_model::{Flag, Picos, TrialFailure};
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// Number of lines to draw from: 64 page frames.
const LINES: usize = 4096;
/// Lines used per pass. The address of a line changes its cost by a third (docs/evidence.md, "Machine and effects").
const LINES_PER_PASS: usize = 16;
/// Warm-up of a pass. Short passes have a warm-up of a tenth.
const WARM_UP: Picos = Picos::from_ms(5);
/// Minimum duration of trips timed together. A clock read is below a thousandth of it.
const BATCH_NS: f64 = 50_000.0;
/// Minimum span for energy. Its counters advance once a millisecond.
const ENERGY_NS: f64 = 20e6;
/// Pairs of clock reads. Their median is the cost of the clock in a pass.
const CLOCK_READS: usize = 255;

pub fn perform(context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
    let unknown = || TrialFailure::from_reason("this architecture does not have the strategy");
    let trial = WaitTrial::from_spec(order.spec)?;
    let shared = context.cpus().iter().collect::<BTreeSet<_>>().len() < context.cpus().len();
    let mut observed = match (trial.mode, trial.sides) {
        (Mode::Clock, _) => tasks::clock(context, order)?,
        (Mode::Cost, [Some(strategy), _]) => {
            strategy.run(tasks::Calls { context, order }).ok_or_else(unknown)??
        }
        (Mode::Sibling, [Some(strategy), _]) => {
            strategy.run(tasks::SiblingTask { context, order }).ok_or_else(unknown)??
        }
        (_, [Some(first), Some(second)]) => trips(context, order, trial.mode, [first, second], shared)?,
        _ => return Err(unknown()),
    };
    observed.flags = observed.flags.union(flags(&trial, shared, context.is_guest()));
    Ok(observed)
}

struct Lead<'a> {
    lines: &'a [&'a Turn],
    role: &'a RoleContext<'a>,
    plan: &'a Plan,
    tallies: &'a mut [TickHistogram],
    wakes: bool,
    alternates: bool,
}

impl StrategyTask for Lead<'_> {
    type Output = Result<LeaderCounts, Halt>;

    fn with<S: Strategy>(self, strategy: S) -> Result<LeaderCounts, Halt> {
        let Lead { lines, role, plan, tallies, wakes, alternates } = self;
        let guard = role.guard;
        let alternating = Alternating { even: strategy, odd: Spinning(Busy) };
        match (alternates, wakes) {
            (false, false) => exchange::lead::<_, false>(strategy, lines, guard, plan, tallies),
            (false, true) => exchange::lead::<_, true>(strategy, lines, guard, plan, tallies),
            (true, false) => exchange::lead::<_, false>(alternating, lines, guard, plan, tallies),
            (true, true) => exchange::lead::<_, true>(alternating, lines, guard, plan, tallies),
        }
    }
}

struct Follow<'a> {
    lines: &'a [&'a Turn],
    role: &'a RoleContext<'a>,
    wakes: bool,
    alternates: bool,
}

impl StrategyTask for Follow<'_> {
    type Output = Result<FollowerCounts, Halt>;

    fn with<S: Strategy>(self, strategy: S) -> Result<FollowerCounts, Halt> {
        let Follow { lines, role, wakes, alternates } = self;
        let alternating = Alternating { even: strategy, odd: Spinning(Busy) };
        match (alternates, wakes) {
            (false, false) => exchange::follow::<_, false>(strategy, lines, role.guard),
            (false, true) => exchange::follow::<_, true>(strategy, lines, role.guard),
            (true, false) => exchange::follow::<_, false>(alternating, lines, role.guard),
            (true, true) => exchange::follow::<_, true>(alternating, lines, role.guard),
        }
    }
}

/// Addresses of both sides' loops for a strategy; `None` for a strategy of another architecture.
pub fn loops(strategy: StrategyKind) -> Option<[usize; 2]> {
    struct Loops {
        wakes: bool,
    }
    impl StrategyTask for Loops {
        type Output = [usize; 2];
        fn with<S: Strategy>(self, _: S) -> [usize; 2] {
            let loops = match self.wakes {
                true => [exchange::lead::<S, true> as *const (), exchange::follow::<S, true> as *const ()],
                false => [exchange::lead::<S, false> as *const (), exchange::follow::<S, false> as *const ()],
            };
            loops.map(|at| at as usize)
        }
    }
    strategy.run(Loops { wakes: strategy.sleeps() })
}

struct WaitObservation {
    leader: Option<(LeaderCounts, Vec<TickHistogram>, u64)>,
    follower: Option<FollowerCounts>,
    cpu_ns: Option<u64>,
    switches: Option<[u32; 2]>,
}

fn trips(
    context: &TrialContext<'_>,
    order: &TrialOrder<'_>,
    mode: Mode,
    sides: [StrategyKind; 2],
    shared: bool,
) -> Result<Observed, TrialFailure> {
    let lines: OnceLock<Box<[Turn]>> = OnceLock::new();
    let line_count = if shared { 1 } else { LINES_PER_PASS };
    let rate = context.rate();
    let ticks = |span: Picos| rate.ticks(span.ns()) as u64;
    let warm_up = WARM_UP.min(Picos(order.span.0 / 10));
    let requested = per_pass(order.options, "samples", line_count);
    let plan = Plan {
        line_ticks: ticks(order.span.saturating_sub(warm_up)) / line_count as u64,
        warm_up_ticks: if requested.is_some() { 0 } else { ticks(warm_up) },
        trips: requested.unwrap_or(u64::MAX / 2).max(1),
        clock: if mode == Mode::NoClock { Clock::Outside } else { Clock::Inside },
        batch_ticks: rate.ticks(BATCH_NS) as u64,
    };
    // A loop that is timed as a whole counts no single trips, so its histogram stays empty.
    let tally_count = if mode == Mode::Alternate { 2 } else { 1 };
    let chosen = drawn_lines(order.key, line_count);
    let run_role = |role: &RoleContext<'_>| -> Result<WaitObservation, Halt> {
        // The first role touches the memory first. So the memory is on the NUMA node of that role.
        let mut tallies: Vec<TickHistogram> = Vec::new();
        let mut clock_ticks = 0;
        if role.number == 0 {
            lines.get_or_init(|| (0..LINES).map(|_| Turn::new()).collect());
            tallies = (0..tally_count).map(|_| TickHistogram::new()).collect();
            clock_ticks = clock_cost();
        }
        role.wait_for_all()?;
        let all = lines.get().ok_or(Halt::Partner)?;
        let lines: Vec<&Turn> = chosen.iter().map(|&line| &all[line]).collect();
        let (cpu_ns, switches) = (role.cpu_ns(), role.switches());
        let (mut leader, mut follower) = (None, None);
        let alternates = mode == Mode::Alternate;
        let wakes = sides[1 - role.number].sleeps();
        if role.number == 0 {
            let lead = Lead { lines: &lines, role, plan: &plan, tallies: &mut tallies, wakes, alternates };
            leader = Some(sides[0].run(lead).ok_or(Halt::Partner)??);
        } else {
            let follow = Follow { lines: &lines, role, wakes, alternates };
            follower = Some(sides[1].run(follow).ok_or(Halt::Partner)??);
        }
        let since = |before: Option<[u32; 2]>, after: Option<[u32; 2]>| {
            before.zip(after).map(|(before, after)| [after[0] - before[0], after[1] - before[1]])
        };
        Ok(WaitObservation {
            leader: leader.map(|leader| (leader, tallies, clock_ticks)),
            follower,
            cpu_ns: cpu_ns.zip(role.cpu_ns()).map(|(before, after)| after.saturating_sub(before)),
            switches: since(switches, role.switches()),
        })
    };
    let (energy, began) = (PackageEnergy::now(), counter::now_ticks());
    // No `unblock` is needed: sleeping roles check their guard every 100 ms.
    let mut observations = context.run(order.limit(), run_role, || ())?.into_iter();
    let elapsed_ns = rate.ns((counter::now_ticks() - began) as f64);
    let joules = PackageEnergy::now().joules_since(&energy).filter(|_| elapsed_ns >= ENERGY_NS);
    let (Some(first), Some(second)) = (observations.next(), observations.next()) else {
        return Err(TrialFailure::PartnerLost { cpu: context.cpus()[0] });
    };
    let mut observed = observe(context, mode, first, second);
    if let Some((joules, loop_ns)) = joules.zip(observed.numbers.values.get(names::LOOP_NS).copied()) {
        // Power over the whole pass, with thread starts and ends, times the duration of a trip.
        observed.value(names::PACKAGE_NJ, joules * 1e9 / elapsed_ns * loop_ns);
    }
    Ok(observed)
}

fn drawn_lines(key: u64, line_count: usize) -> Vec<usize> {
    let mut lines: Vec<usize> = (0..LINES).collect();
    Key::from_words(&[key]).shuffle(&mut lines);
    lines.truncate(line_count);
    lines
}

fn clock_cost() -> u64 {
    let mut pairs = [0; CLOCK_READS];
    for pair in &mut pairs {
        let began = counter::start();
        *pair = counter::stop() - began;
    }
    pairs.sort_unstable();
    pairs[CLOCK_READS / 2]
}

fn observe(
    context: &TrialContext<'_>,
    mode: Mode,
    first: WaitObservation,
    second: WaitObservation,
) -> Observed {
    let rate = context.rate();
    let mut observed = Observed::default();
    let (Some((leader, tallies, clock_ticks)), Some(follower)) = (first.leader, second.follower) else {
        return observed;
    };
    let (trips, all_trips) = (leader.trips as f64, leader.all_trips as f64);
    let loop_ns = rate.ns(leader.ticks as f64 / trips);
    observed.value(names::LOOP_NS, loop_ns);
    observed.count(names::SAMPLES, leader.trips);
    if mode == Mode::NoClock {
        observed.value(names::TRIPS_PER_S, 1e9 / loop_ns);
        observed.count(names::DURATION_US, (rate.ns(leader.ticks as f64) / 1e3) as u64);
    } else {
        let histogram_names: &[&str] =
            if mode == Mode::Alternate { &[names::HINT, names::PLAIN] } else { &[names::TRIP] };
        let mut every = TickHistogram::new();
        for (name, tally) in histogram_names.iter().zip(&tallies) {
            observed.histogram(name, tally.histogram(rate));
            every.add(tally);
        }
        let clock_ns = rate.ns(clock_ticks as f64);
        observed.value(names::CLOCK_NS, clock_ns);
        if let Some(mean_ns) = every.mean_ns(rate) {
            observed.value(names::MEAN_NS, mean_ns);
            observed.value(names::NET_NS, mean_ns - clock_ns);
        }
        observed.count(names::NEGATIVE, every.count_below(clock_ticks));
    }
    // Each round trip has two waits. The last poll of a wait succeeds and is not a spin.
    let polls = (leader.polls + follower.polls) as f64;
    observed.value(names::SPINS, polls / all_trips - 2.0);
    if let Some((a, b)) = first.cpu_ns.zip(second.cpu_ns) {
        observed.value(names::CPU_NS, (a + b) as f64 / all_trips);
    }
    if let Some((a, b)) = first.switches.zip(second.switches) {
        observed.value(names::SLEEPS, f64::from(a[0] + b[0]) / all_trips);
        observed.value(names::TAKEN, f64::from(a[1] + b[1]) / all_trips);
    }
    if follower.verified != leader.all_trips {
        observed.flags.set(Flag::Invalid);
    }
    observed
}
