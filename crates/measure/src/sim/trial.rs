//! One trial on the simulated machine: from an assignment to a recording.

use super::clock::{CoreClocks, Counter};
use super::noise::{BatchNoise, Contamination};
use super::rng::{Stream, hash, unit, wander};
use super::scenario::Spec;
use super::stalls::Stalls;
use super::states::StateLine;
use super::truth::{SLICES, Truth};
use super::{chase, pingpong, stamp};
use crate::kernel::{Cost, Kernel, Spin};
use crate::machine::{Assignment, HomeChoice, Sampling, SpanOrder, Walk};
use crate::stop::Stop;
use coretalk_model::{CpuId, CpuSet, Home, Picos, Recording, Samples, Span, TrialFailure};
use std::collections::BTreeMap;

/// How long a neighbour stays busy.
const SIBLING_PS: u64 = 50_000_000_000;
/// How often clocks, states and drift are looked at inside a trial: they move over milliseconds.
const LOOK_NS: f64 = 250_000.0;
/// Single events up to this many ticks are counted in a table.
const TABLE: usize = 1 << 16;

/// Everything that trials read and none changes.
#[derive(Debug)]
pub struct World {
    pub spec: Spec,
    pub seed: u64,
    pub truth: Truth,
    pub states: StateLine,
    pub clocks: CoreClocks,
    pub counter: Counter,
    pub crew: CpuSet,
}

/// What became of a trial.
#[derive(Debug)]
pub struct Performed {
    pub outcome: Result<Recording, TrialFailure>,
    pub elapsed: Picos,
}

impl World {
    /// Performs one of `active` trials that begin at the same time.
    pub fn perform(&self, assignment: &Assignment, started: Picos, active: usize, stop: &Stop) -> Performed {
        let rendezvous = Picos::from_ns(self.spec.costs.rendezvous_us * 1e3);
        if let Some(failure) = self.failure(&assignment.placement, started) {
            let elapsed = match failure {
                TrialFailure::TimedOut { limit } => limit,
                _ => rendezvous,
            };
            return Performed { outcome: Err(failure), elapsed };
        }
        let mut trial = Trial::begin(self, assignment, started, active);
        let outcome = trial.spans(assignment, stop);
        let elapsed = Picos::from_ns(trial.elapsed_ns);
        let placement = &assignment.placement;
        let gone = self.lost_cpu(placement, started + elapsed);
        let outcome = match gone {
            Some(cpu) => Err(TrialFailure::CpuLost { cpu }),
            None => outcome.map(|spans| {
                let ghz = |cpu: CpuId, at| self.clocks.probed_ghz(cpu, self.truth.is_fast(cpu), at);
                let core_ghz = placement
                    .iter()
                    .map(|&cpu| Some([ghz(cpu, started), ghz(cpu, started + elapsed)]))
                    .collect();
                let mut disturbance = trial.stalls.evidence();
                disturbance.sibling_busy = trial.sibling_busy;
                Recording { started, elapsed, spans, core_ghz, disturbance }
            }),
        };
        Performed { outcome, elapsed }
    }

    /// One operation at nominal clocks and without noise, in ns, on the mean line.
    pub fn operation_ns(&self, from: CpuId, to: CpuId, kernel: &Kernel, home: Home, state: usize) -> f64 {
        let transfer =
            |spin| self.truth.transfer_ns(from, to, state, spin) * self.truth.home_factor(from, to, home);
        match kernel.cost {
            Cost::PingPong { transfers_per_hop, spin, extra_hints_per_hop } => pingpong::round_trip_ns(
                transfer(spin),
                transfers_per_hop,
                extra_hints_per_hop,
                self.spec.costs.hint_ns,
            ),
            Cost::Chase { transfers_per_read } => chase::read_ns(transfer(Spin::Hinted), transfers_per_read),
            Cost::Stamp { transfers_per_message } => stamp::message_ns(
                transfer(Spin::Hinted),
                transfers_per_message,
                self.truth.direction(from, to),
            ),
        }
    }

    /// The key of everything that passes in a trial.
    pub fn key(&self, assignment: &Assignment) -> u64 {
        let cpus = assignment.placement.iter().fold(0, |state, cpu| hash([state, u64::from(cpu.0)]));
        hash([self.seed, assignment.key, cpus])
    }

    /// What spoils a trial with these spans this once.
    pub fn contamination(&self, assignment: &Assignment) -> Option<Contamination> {
        let runs = assignment.orders.iter().map(|order| lines(order).div_ceil(16)).min().unwrap_or(1);
        Contamination::of_trial(&self.spec.noise, self.key(assignment), runs)
    }

    /// The home of the lines of a span.
    pub fn home(&self, choice: HomeChoice, placement: &[CpuId]) -> Option<Home> {
        match choice {
            HomeChoice::Node(home) => self.truth.has_node(home).then_some(home),
            HomeChoice::OfRole(role) => placement.get(role).map(|&cpu| self.truth.node_of(cpu)),
        }
    }

    fn failure(&self, placement: &[CpuId], started: Picos) -> Option<TrialFailure> {
        const EINVAL: i32 = 22;
        let failures = &self.spec.failures;
        let among = |set: &CpuSet| placement.iter().copied().find(|&cpu| set.contains(cpu));
        if let Some(cpu) = placement.iter().copied().find(|&cpu| !self.crew.contains(cpu)) {
            return Some(TrialFailure::NotPinned { cpu, errno: EINVAL });
        }
        if let Some(cpu) = self.lost_cpu(placement, started) {
            return Some(TrialFailure::CpuLost { cpu });
        }
        if let Some(cpu) = among(&failures.die) {
            return Some(TrialFailure::PartnerLost { cpu });
        }
        if among(&failures.hang).is_some() {
            return Some(TrialFailure::TimedOut { limit: Picos::from_ms(u64::from(failures.hang_limit_ms)) });
        }
        among(&failures.miscount).map(|_| TrialFailure::Unverified { sent: 1000, received: 999 })
    }

    fn lost_cpu(&self, placement: &[CpuId], at: Picos) -> Option<CpuId> {
        let lose = self.spec.failures.lose_cpu_at?;
        let cpu = CpuId(lose.cpu);
        (placement.contains(&cpu) && at >= Picos::from_ms(u64::from(lose.at_ms))).then_some(cpu)
    }
}

/// Lines of a span, not places.
fn lines(order: &SpanOrder) -> u32 {
    order.lines.saturating_mul(order.kernel.lines_per_place)
}

/// A trial while it runs.
struct Trial<'a> {
    world: &'a World,
    key: u64,
    from: CpuId,
    to: CpuId,
    started: Picos,
    /// Since the trial began.
    elapsed_ns: f64,
    stalls: Stalls<'a>,
    contamination: Option<Contamination>,
    /// What the other pairs of the round do to this one.
    crowd: f64,
    state: usize,
    /// Clocks, drift and neighbours together: how many times slower than nominal.
    slowness: f64,
    /// When state and slowness have to be looked at again.
    look_ns: f64,
    sibling_busy: bool,
}

impl<'a> Trial<'a> {
    fn begin(world: &'a World, assignment: &Assignment, started: Picos, active: usize) -> Trial<'a> {
        let spec = &world.spec;
        let key = world.key(assignment);
        let stalls =
            Stalls::of_trial(&spec.stalls, spec.failures.clock_step, key, &assignment.placement, started);
        let mut trial = Trial {
            world,
            key,
            from: assignment.placement[0],
            to: assignment.placement[1],
            started,
            elapsed_ns: (spec.costs.rendezvous_us + spec.costs.probes_us / 2.0) * 1e3,
            stalls,
            contamination: world.contamination(assignment),
            crowd: 1.0 + spec.noise.parallel_bias * active.saturating_sub(1) as f64,
            state: 0,
            slowness: 1.0,
            look_ns: 0.0,
            sibling_busy: false,
        };
        trial.look();
        trial
    }

    fn spans(&mut self, assignment: &Assignment, stop: &Stop) -> Result<Vec<Span>, TrialFailure> {
        let spans = assignment.orders.iter().enumerate();
        let spans = spans.map(|(index, order)| self.span(index, order, assignment, stop)).collect();
        self.elapsed_ns += self.world.spec.costs.probes_us / 2.0 * 1e3;
        spans
    }

    fn span(
        &mut self,
        index: usize,
        order: &SpanOrder,
        assignment: &Assignment,
        stop: &Stop,
    ) -> Result<Span, TrialFailure> {
        let home = self.world.home(order.home, &assignment.placement).unwrap_or_default();
        let key = hash([self.key, index as u64]);
        self.elapsed_ns += f64::from(lines(order)) * self.world.spec.costs.line_ns;
        let mut ground = Ground::new(self, order, home, key);
        let warm_up = f64::from(order.warm_up) * ground.operation_ns(self, 0);
        self.elapsed_ns += warm_up;
        // What struck before the first sample took time and is in no sample.
        if self.stalls.struck(self.elapsed_ns) {
            self.hold_up();
        }
        let (round_trips, samples) = match order.sampling {
            Sampling::Batches { visits, round_trips } => {
                (round_trips, self.batches(&mut ground, order.lines, visits, round_trips, stop)?)
            }
            Sampling::Events { round_trips } => {
                (1, self.events(&mut ground, order.lines, round_trips, stop)?)
            }
        };
        Ok(Span { kernel: order.kernel.id.clone(), home, round_trips, samples })
    }

    fn batches(
        &mut self,
        ground: &mut Ground<'_>,
        places: u32,
        visits: u32,
        round_trips: u32,
        stop: &Stop,
    ) -> Result<Samples, TrialFailure> {
        let (counter, noise) = (self.world.counter, &self.world.spec.noise);
        let mut noise = BatchNoise::new(noise, noise.batch_sd, ground.key);
        let trips = f64::from(round_trips);
        // Room for what a sane order needs; a wild one grows step by step and can be stopped.
        let room = (u64::from(places) * u64::from(visits)).min(1 << 20) as usize;
        let mut ticks = Vec::with_capacity(room);
        for place in 0..places {
            if stop.is_raised() {
                return Err(TrialFailure::Interrupted);
            }
            let mut batch_ns = trips * ground.operation_ns(self, place);
            let ahead_ns = trips * ground.ahead_ns + counter.cost_ns;
            let mut stream = ground.stream(place);
            for _ in 0..visits {
                let bits = stream.bits();
                let mut ns = batch_ns * noise.factor(bits) + ahead_ns;
                self.elapsed_ns += ns - trips * ground.ahead_ns;
                if self.stalls.struck(self.elapsed_ns) {
                    ns += self.hold_up();
                }
                if self.elapsed_ns >= self.look_ns {
                    batch_ns = trips * ground.operation_ns(self, place);
                }
                ticks.push(word(counter.ticks(ns, phase(bits))));
            }
        }
        Ok(Samples::Batches { visits, ticks })
    }

    fn events(
        &mut self,
        ground: &mut Ground<'_>,
        places: u32,
        round_trips: u64,
        stop: &Stop,
    ) -> Result<Samples, TrialFailure> {
        let (counter, noise) = (self.world.counter, &self.world.spec.noise);
        let mut noise = BatchNoise::new(noise, noise.event_sd, ground.key);
        let mut table = vec![0u64; TABLE];
        let mut beyond: BTreeMap<u64, u64> = BTreeMap::new();
        let ahead_ns = ground.ahead_ns + counter.cost_ns;
        for place in 0..places {
            let share =
                |place: u32| (u128::from(round_trips) * u128::from(place) / u128::from(places)) as u64;
            let mut operation_ns = ground.operation_ns(self, place);
            let mut stream = ground.stream(place);
            for event in share(place)..share(place + 1) {
                if event % 65_536 == 0 && stop.is_raised() {
                    return Err(TrialFailure::Interrupted);
                }
                let bits = stream.bits();
                let mut ns = operation_ns * noise.factor(bits) + ahead_ns;
                self.elapsed_ns += ns - ground.ahead_ns;
                if self.stalls.struck(self.elapsed_ns) {
                    ns += self.hold_up();
                }
                if self.elapsed_ns >= self.look_ns {
                    operation_ns = ground.operation_ns(self, place);
                }
                let ticks = counter.ticks(ns, phase(bits));
                match table.get_mut(usize::try_from(ticks).unwrap_or(usize::MAX)) {
                    Some(count) => *count += 1,
                    // A receiver whose clock lags sees the difference wrap, as a counter's does.
                    None => *beyond.entry(ticks as u64).or_default() += 1,
                }
            }
        }
        let seen = table.into_iter().enumerate().filter(|&(_, count)| count > 0);
        let counts = seen.map(|(ticks, count)| (ticks as u64, count)).chain(beyond).collect();
        Ok(Samples::Counts { counts })
    }

    /// What a stall adds to the sample in which it falls.
    #[cold]
    fn hold_up(&mut self) -> f64 {
        let held = self.stalls.take(self.elapsed_ns);
        self.elapsed_ns += held.ns;
        held.ns + held.jump_ns
    }

    /// Looks at everything that moves with time.
    fn look(&mut self) {
        let (world, noise) = (self.world, &self.world.spec.noise);
        let now = self.started + Picos::from_ns(self.elapsed_ns);
        let stretch = world.states.at(now);
        self.state = stretch.state;
        self.look_ns = (self.elapsed_ns + LOOK_NS).min((stretch.until - self.started).ns());
        let clocks = world.clocks.relative(self.from, now) + world.clocks.relative(self.to, now);
        self.slowness = self.crowd * 2.0 / clocks;
        if noise.drift_sd > 0.0 {
            let pair = u64::from(self.from.0.min(self.to.0)) << 32 | u64::from(self.from.0.max(self.to.0));
            let period = Picos::from_ns(noise.drift_ms * 1e6).0;
            self.slowness *= 1.0 + noise.drift_sd * wander(hash([world.seed, 0xD21F7, pair]), now.0, period);
        }
        if noise.sibling_share > 0.0 {
            for cpu in [self.from, self.to] {
                let core = world.truth.topology().siblings(cpu).first().unwrap_or(cpu);
                let bits = hash([world.seed, 0x51B, u64::from(core.0), now.0 / SIBLING_PS]);
                if unit(bits) < noise.sibling_share {
                    self.slowness *= Stream::of(bits).between(noise.sibling_factor);
                    self.sibling_busy = true;
                }
            }
        }
    }
}

/// Which bits say where between two steps of the counter a sample began: others than the noise uses, by one more
/// multiplication.
#[inline]
fn phase(bits: u64) -> f64 {
    unit(bits.wrapping_mul(0xD6E8_FEB8_6659_FD93))
}

/// A tick count as it is recorded: too long is the longest, a negative difference wraps.
#[inline]
fn word(ticks: i64) -> u32 {
    if ticks > i64::from(u32::MAX) { u32::MAX } else { ticks as u32 }
}

/// The lines under a span and what an operation on them takes.
struct Ground<'a> {
    order: &'a SpanOrder,
    home: Home,
    key: u64,
    /// State for which the following two hold.
    state: Option<usize>,
    nominal_ns: f64,
    slices: [f64; SLICES],
    /// What the recording role's counter is ahead, for stamps.
    ahead_ns: f64,
    /// The line of a span that stays in one place.
    one_place: u64,
}

impl<'a> Ground<'a> {
    fn new(trial: &Trial<'_>, order: &'a SpanOrder, home: Home, key: u64) -> Ground<'a> {
        let truth = &trial.world.truth;
        let ahead_ns = match order.kernel.cost {
            Cost::Stamp { .. } => truth.offset_ns(trial.to) - truth.offset_ns(trial.from),
            _ => 0.0,
        };
        let one_place = hash([trial.world.seed, 0x91ACE, u64::from(home.0)]);
        Ground { order, home, key, state: None, nominal_ns: 0.0, slices: [1.0; SLICES], ahead_ns, one_place }
    }

    /// One operation on a place, now.
    fn operation_ns(&mut self, trial: &mut Trial<'_>, place: u32) -> f64 {
        if trial.elapsed_ns >= trial.look_ns {
            trial.look();
        }
        let world = trial.world;
        if self.state != Some(trial.state) {
            self.state = Some(trial.state);
            self.nominal_ns =
                world.operation_ns(trial.from, trial.to, self.order.kernel, self.home, trial.state);
            let scale = world.spec.states.get(trial.state).map_or(1.0, |state| state.line_scale);
            self.slices = world.truth.slices(trial.from, trial.to, self.home, scale);
        }
        let per_place = self.order.kernel.lines_per_place.max(1);
        let first = place * per_place;
        let bad = trial.contamination.map_or(1.0, |bad| bad.on_line(first));
        let sum: f64 = (first..first + per_place).map(|line| self.slices[self.slice(line)]).sum();
        self.nominal_ns * trial.slowness * bad * sum / f64::from(per_place)
    }

    /// The slice of a line: each aligned run of 16 lies in a page frame of its own, whose higher address bits permute
    /// the slices by exclusive or (McCalpin, TR-2021-03).
    fn slice(&self, line: u32) -> usize {
        let (run, within) = (u64::from(line) / SLICES as u64, line as usize % SLICES);
        let frame = match self.order.walk {
            Walk::FreshRuns => hash([self.key, 0xF2A3E, run]),
            Walk::OnePlace => self.one_place ^ within as u64,
        };
        (frame as usize ^ within) % SLICES
    }

    fn stream(&self, place: u32) -> Stream {
        Stream::of(hash([self.key, u64::from(place)]))
    }
}
