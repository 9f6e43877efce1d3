//! One trial on the simulated machine: from an assignment to a recording.

mod line_costs;

use self::line_costs::LineCosts;
use super::clock::CpuClock;
use super::noise::{BatchNoise, Contamination};
use super::rng::{Stream, Wander, hash, one_by_one, unit};
use super::sim_state::{SimState, lines};
use super::stalls::Stalls;
use crate::machine::{Assignment, Sampling, SpanOrder};
use crate::sim::true_costs::{CpuPair, SLICES};
use crate::stop::Stop;
use coretalk_model::environment::DISTURBED_SHARE;
use coretalk_model::latency::one_way::{Direction, OneWay};
use coretalk_model::{Home, Picos, Recording, Samples, Span, TrialFailure};
use std::collections::BTreeMap;

const SIBLING_PS: u64 = 50_000_000_000;
/// Interval at which clocks, states and drift are updated inside a trial. They change over milliseconds.
const UPDATE_NS: f64 = 250_000.0;
/// Single events up to this many ticks are counted in a table.
const TABLE: usize = 1 << 16;

#[derive(Debug)]
pub struct Performed {
    pub outcome: Result<Recording, TrialFailure>,
    pub elapsed: Picos,
}

/// Performs one of `active` concurrent trials. `spare` is reused memory, since a map of 1,024 CPUs has four million
/// recordings.
pub fn perform(
    sim: &SimState,
    assignment: &Assignment,
    started: Picos,
    active: usize,
    stop: &Stop,
    spare: Option<Recording>,
) -> Performed {
    let rendezvous = Picos::from_ns(sim.spec.costs.rendezvous_us * 1e3);
    if let Some(failure) = sim.failure(&assignment.placement, started) {
        let elapsed = match failure {
            TrialFailure::TimedOut { limit } => limit,
            _ => rendezvous,
        };
        return Performed { outcome: Err(failure), elapsed };
    }
    let (spans, mut core_ghz) = spare.map(|spare| (spare.spans, spare.core_ghz)).unwrap_or_default();
    let mut trial = SimTrial::begin(sim, assignment, started, active);
    let outcome = trial.spans(assignment, stop, spans);
    let elapsed = Picos::from_ns(trial.elapsed_ns);
    let placement = &assignment.placement;
    let lost = sim.lost_cpu(placement, started + elapsed);
    let outcome = match lost {
        Some(cpu) => Err(TrialFailure::CpuLost { cpu }),
        None => outcome.map(|spans| {
            core_ghz.clear();
            core_ghz.extend(placement.iter().zip(&mut trial.clocks).map(|(&cpu, clock)| {
                let is_fast = sim.true_costs.is_fast(cpu);
                Some([started, started + elapsed].map(|at| clock.probed_ghz(is_fast, at)))
            }));
            let mut disturbance = trial.stalls.evidence();
            disturbance.sibling_busy = trial.sibling_busy;
            disturbance.others_busy = sim.spec.failures.others > DISTURBED_SHARE;
            Recording { started, elapsed, spans, core_ghz, disturbance }
        }),
    };
    Performed { outcome, elapsed }
}

pub struct SimTrial<'a> {
    pub sim: &'a SimState,
    key: u64,
    pub pair: CpuPair,
    started: Picos,
    pub elapsed_ns: f64,
    pub stalls: Stalls<'a>,
    pub contamination: Option<Contamination>,
    crowd: f64,
    pub state: usize,
    /// Combined slowdown by clocks, drift and neighbours, relative to nominal.
    pub slowness: f64,
    pub update_ns: f64,
    pub sibling_busy: bool,
    clocks: [CpuClock<'a>; 2],
    drift: Option<Wander>,
    /// The last used slice factors by home and state. Spans of several kernels share a home.
    slices: [Option<(Home, usize, [f64; SLICES])>; 2],
}

impl<'a> SimTrial<'a> {
    fn begin(sim: &'a SimState, assignment: &Assignment, started: Picos, active: usize) -> SimTrial<'a> {
        let spec = &sim.spec;
        let key = sim.key(assignment);
        let stalls =
            Stalls::of_trial(&spec.stalls, spec.failures.clock_step, key, &assignment.placement, started);
        let [from, to] = [assignment.placement[0], assignment.placement[1]];
        let drift = (spec.noise.drift_sd > 0.0).then(|| {
            let pair = u64::from(from.0.min(to.0)) << 32 | u64::from(from.0.max(to.0));
            let period = Picos::from_ns(spec.noise.drift_ms * 1e6).0;
            Wander::new(hash([sim.seed, 0xD21F7, pair]), period)
        });
        let mut trial = SimTrial {
            sim,
            key,
            pair: sim.true_costs.pair(from, to),
            started,
            elapsed_ns: (spec.costs.rendezvous_us + spec.costs.probes_us / 2.0) * 1e3,
            stalls,
            contamination: sim.contamination(assignment),
            crowd: 1.0 + spec.noise.parallel_bias * active.saturating_sub(1) as f64,
            state: 0,
            slowness: 1.0,
            update_ns: 0.0,
            sibling_busy: false,
            clocks: [from, to].map(|cpu| sim.clocks.clock(cpu)),
            drift,
            slices: [None; 2],
        };
        trial.update();
        trial
    }

    /// `spans` is reused memory of another trial.
    fn spans(
        &mut self,
        assignment: &Assignment,
        stop: &Stop,
        mut spans: Vec<Span>,
    ) -> Result<Vec<Span>, TrialFailure> {
        spans.truncate(assignment.orders.len());
        spans.reserve_exact(assignment.orders.len() - spans.len());
        let made = assignment.orders.iter().enumerate().try_for_each(|(index, order)| {
            let ticks = match spans.get_mut(index).map(|spare| &mut spare.samples) {
                Some(Samples::Batches { ticks, .. }) => std::mem::take(ticks),
                _ => Vec::new(),
            };
            let span = self.span(index, order, assignment, stop, ticks)?;
            match spans.get_mut(index) {
                Some(place) => *place = span,
                None => spans.push(span),
            }
            Ok(())
        });
        self.elapsed_ns += self.sim.spec.costs.probes_us / 2.0 * 1e3;
        made.map(|()| spans)
    }

    fn span(
        &mut self,
        index: usize,
        order: &SpanOrder,
        assignment: &Assignment,
        stop: &Stop,
        ticks: Vec<u32>,
    ) -> Result<Span, TrialFailure> {
        let home = self.sim.home(order.home, &assignment.placement).unwrap_or_default();
        let key = hash([self.key, index as u64]);
        self.elapsed_ns += f64::from(lines(order)) * self.sim.spec.costs.line_ns;
        let mut line_costs = LineCosts::new(self, order, home, key);
        let warm_up = f64::from(order.warm_up) * line_costs.operation_ns(self, 0);
        self.elapsed_ns += warm_up;
        // Stalls before the first sample take time, but belong to no sample.
        self.hold_up();
        let (round_trips, samples) = match order.sampling {
            Sampling::Batches { visits, round_trips } => {
                (round_trips, self.batches(&mut line_costs, order.lines, visits, round_trips, stop, ticks)?)
            }
            Sampling::Events { round_trips } => {
                (1, self.events(&mut line_costs, order.lines, round_trips, stop)?)
            }
        };
        Ok(Span { kernel: order.kernel.id.clone(), home, round_trips, samples })
    }

    fn batches(
        &mut self,
        line_costs: &mut LineCosts<'_>,
        places: u32,
        visits: u32,
        round_trips: u32,
        stop: &Stop,
        mut ticks: Vec<u32>,
    ) -> Result<Samples, TrialFailure> {
        let (counter, noise) = (self.sim.counter, &self.sim.spec.noise);
        let mut noise = BatchNoise::new(noise, noise.batch_sd, line_costs.key);
        let trips = f64::from(round_trips);
        // Capacity for a usual order. The memory of an extreme order grows step by step, which a stop can interrupt.
        let room = (u64::from(places) * u64::from(visits)).min(1 << 20) as usize;
        ticks.clear();
        ticks.reserve(room);
        if visits == 1 && line_costs.per_place == 1 && noise.is_independent() {
            for first in (0..places).step_by(SLICES) {
                if stop.is_raised() {
                    return Err(TrialFailure::Interrupted);
                }
                let lines = SLICES.min((places - first) as usize);
                ticks.extend_from_slice(&self.run(line_costs, &noise, first, lines, trips)[..lines]);
            }
            return Ok(Samples::Batches { visits, ticks });
        }
        for place in 0..places {
            if stop.is_raised() {
                return Err(TrialFailure::Interrupted);
            }
            let mut batch_ns = trips * line_costs.operation_ns(self, place);
            // A batch of stamps goes back and forth, which cancels the clock offset.
            let ahead_ns = counter.cost_ns;
            let mut stream = line_costs.stream(place);
            let (mut elapsed_ns, mut horizon_ns) = (self.elapsed_ns, self.horizon_ns());
            for _ in 0..visits {
                let bits = stream.bits();
                let mut ns = batch_ns * noise.factor(bits);
                elapsed_ns += ns + counter.cost_ns;
                ns += ahead_ns;
                if elapsed_ns >= horizon_ns {
                    self.elapsed_ns = elapsed_ns;
                    ns += self.hold_up();
                    batch_ns = trips * line_costs.operation_ns(self, place);
                    (elapsed_ns, horizon_ns) = (self.elapsed_ns, self.horizon_ns());
                }
                ticks.push(word(counter.ticks(ns, phase(bits))));
            }
            self.elapsed_ns = elapsed_ns;
        }
        Ok(Samples::Batches { visits, ticks })
    }

    /// One batch on each line of an aligned run, or on a part of it. Returns the ticks of each.
    ///
    /// Values that do not depend on time are computed for all samples together. Only the rest, little more than a sum,
    /// is computed one by one. This halves the time of the 300 million samples of a map of 1,024 CPUs.
    fn run(
        &mut self,
        line_costs: &mut LineCosts<'_>,
        noise: &BatchNoise,
        first: u32,
        lines: usize,
        trips: f64,
    ) -> [u32; SLICES] {
        let counter = self.sim.counter;
        // Loops over arrays. The closures of `array::from_fn` are called one by one.
        let (mut bits, mut phase_bits) = ([0; SLICES], [0; SLICES]);
        for ((place, bits), phase_bits) in (first..).zip(&mut bits).zip(&mut phase_bits) {
            *bits = line_costs.stream(place).bits();
            *phase_bits = other_bits(*bits);
            one_by_one();
        }
        let factors = noise.factors(&bits);
        let mut phases = [0.0; SLICES];
        for (phase, &bits) in phases.iter_mut().zip(&phase_bits) {
            *phase = unit(bits);
        }
        let mut all_ns = [0.0; SLICES];
        let mut line = 0;
        while line < lines {
            let place = first + line as u32;
            line_costs.operation_ns(self, place);
            let mut batches = line_costs.run_ns(self, first);
            for (batch, factor) in batches.iter_mut().zip(&factors) {
                *batch = trips * *batch * factor + counter.cost_ns;
            }
            all_ns[line..lines].copy_from_slice(&batches[line..lines]);
            let horizon_ns = self.horizon_ns();
            let (mut end_ns, mut latest_ns) = (self.elapsed_ns, self.elapsed_ns);
            for ns in &batches[line..lines] {
                end_ns += ns;
                latest_ns = latest_ns.max(end_ns);
            }
            // No update or stall falls into most runs.
            if latest_ns < horizon_ns {
                self.elapsed_ns = end_ns;
                break;
            }
            let Some(struck) = (line..lines).find(|&line| {
                self.elapsed_ns += batches[line];
                self.elapsed_ns >= horizon_ns
            }) else {
                break;
            };
            all_ns[struck] += self.hold_up();
            line_costs.operation_ns(self, first + struck as u32);
            line = struck + 1;
        }
        counter.all_ticks(&all_ns, &phases).unwrap_or_else(|| {
            let mut ticks = [0; SLICES];
            for ((ticks, &ns), &phase) in ticks.iter_mut().zip(&all_ns).zip(&phases) {
                *ticks = word(counter.ticks(ns, phase));
            }
            ticks
        })
    }

    fn events(
        &mut self,
        line_costs: &mut LineCosts<'_>,
        places: u32,
        round_trips: u64,
        stop: &Stop,
    ) -> Result<Samples, TrialFailure> {
        let (counter, noise) = (self.sim.counter, &self.sim.spec.noise);
        let mut noise = BatchNoise::new(noise, noise.event_sd, line_costs.key);
        let (mut table, mut used) = (vec![0u64; TABLE], 0);
        let mut beyond: BTreeMap<u64, u64> = BTreeMap::new();
        // Stamps record both directions of a trip. Each direction includes the clock offset.
        let ways = if line_costs.is_stamped() { 2 } else { 1 };
        let round_trips = round_trips * ways;
        for place in 0..places {
            let share =
                |place: u32| (u128::from(round_trips) * u128::from(place) / u128::from(places)) as u64;
            let mut operation_ns = line_costs.operation_ns(self, place);
            let mut stream = line_costs.stream(place);
            let (mut elapsed_ns, mut horizon_ns) = (self.elapsed_ns, self.horizon_ns());
            for event in share(place)..share(place + 1) {
                if event % 65_536 == 0 && stop.is_raised() {
                    return Err(TrialFailure::Interrupted);
                }
                let bits = stream.bits();
                let mut ns = operation_ns * noise.factor(bits);
                elapsed_ns += ns + counter.cost_ns;
                let back = ways == 2 && event % 2 == 1;
                ns += counter.cost_ns + if back { -line_costs.ahead_ns } else { line_costs.ahead_ns };
                if elapsed_ns >= horizon_ns {
                    self.elapsed_ns = elapsed_ns;
                    ns += self.hold_up();
                    operation_ns = line_costs.operation_ns(self, place);
                    (elapsed_ns, horizon_ns) = (self.elapsed_ns, self.horizon_ns());
                }
                let ticks = counter.ticks(ns, phase(bits));
                let code = match ways {
                    1 => ticks as u64,
                    _ => OneWay { way: if back { Direction::Back } else { Direction::Out }, ticks }.pack(),
                };
                let index = usize::try_from(code).unwrap_or(usize::MAX);
                match table.get_mut(index) {
                    Some(count) => {
                        *count += 1;
                        used = used.max(index + 1);
                    }
                    None => *beyond.entry(code).or_default() += 1,
                }
            }
            self.elapsed_ns = elapsed_ns;
        }
        table.truncate(used);
        let counted = table.into_iter().enumerate().filter(|&(_, count)| count > 0);
        let counts = counted.map(|(ticks, count)| (ticks as u64, count)).chain(beyond).collect();
        Ok(Samples::Counts { counts })
    }

    /// Time of the next update or stall. Almost every sample needs only one comparison.
    fn horizon_ns(&self) -> f64 {
        self.update_ns.min(self.stalls.next_ns())
    }

    #[cold]
    fn hold_up(&mut self) -> f64 {
        if self.elapsed_ns < self.stalls.next_ns() {
            return 0.0;
        }
        let stall = self.stalls.take(self.elapsed_ns);
        self.elapsed_ns += stall.ns;
        stall.ns + stall.jump_ns
    }

    #[cold]
    pub fn update(&mut self) {
        let (sim, noise) = (self.sim, &self.sim.spec.noise);
        let now = self.started + Picos::from_ns(self.elapsed_ns);
        let stretch = sim.states.at(now);
        self.state = stretch.state;
        self.update_ns = (self.elapsed_ns + UPDATE_NS).min((stretch.until - self.started).ns());
        let [from, to] = &mut self.clocks;
        self.slowness = self.crowd * 2.0 / (from.relative(now) + to.relative(now));
        if let Some(drift) = &mut self.drift {
            self.slowness *= 1.0 + noise.drift_sd * drift.at(now.0);
        }
        if noise.sibling_share > 0.0 {
            for cpu in self.pair.cpus {
                let core = sim.true_costs.topology().siblings(cpu).first().unwrap_or(cpu);
                let bits = hash([sim.seed, 0x51B, u64::from(core.0), now.0 / SIBLING_PS]);
                if unit(bits) < noise.sibling_share {
                    self.slowness *= Stream::from_key(bits).between(noise.sibling_factor);
                    self.sibling_busy = true;
                }
            }
        }
    }
}

#[inline]
fn phase(bits: u64) -> f64 {
    unit(other_bits(bits))
}

/// Random bits that the noise does not use, made from those that it uses.
#[inline]
fn other_bits(bits: u64) -> u64 {
    bits.wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

/// A tick count as recorded. It saturates at the maximum, and wraps if negative.
#[inline]
fn word(ticks: i64) -> u32 {
    if ticks > i64::from(u32::MAX) { u32::MAX } else { ticks as u32 }
}
