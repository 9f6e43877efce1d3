//! [`Pool`]: several processes of one adapter, which perform passes in turn.
//!
//! Each process of a runtime settles at a speed of its own (three of Java's: 80, 109 and 125 ns a message), so that passes
//! of one process say how that one settled, and no more.

use super::Adapter;
use super::description::Description;
use super::error::AdapterError;
use super::pace::{Pace, Warmth};
use super::pass::Pass;
use super::pins::Helpers;
use super::process::{PATIENCE, Process, START, StartSettings, describe};
use super::protocol::{Events, Kind, MAX_OPERATIONS, Operation, Payload, Request};
use crate::stop::Stop;
use coretalk_model::{CpuId, CpuSet, Flag};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Processes where nothing else is asked for.
pub const FORKS: usize = 5;
/// How long a process may take to settle, of each thing that it performs, before its passes carry a flag instead.
pub const WARM_UP: Duration = Duration::from_secs(5);
/// The passes of a warm-up.
const WARM_SPAN: Duration = Duration::from_millis(40);
/// Before wake-ups and creations of a warm-up the gap is at most so long: 20,000 of them would take minutes else.
const WARM_GAP_NS: u64 = 20_000;
/// Queues of a warm-up have at least so many places, if they may: both threads on one CPU take long over few.
const WARM_CAPACITY: u64 = 1_000;

/// How a pool is made.
#[derive(Debug, Clone)]
pub struct PoolSettings {
    /// How many processes.
    pub forks: usize,
    /// How each is started.
    pub start: StartSettings,
    /// Where their other threads run.
    pub helpers: Helpers,
    /// How long each may take to settle, of each thing that it performs.
    pub warm_up: Duration,
}

/// Several processes of one adapter.
pub struct Pool {
    adapter: Adapter,
    settings: PoolSettings,
    description: Description,
    forks: Vec<Option<Fork>>,
    turns: BTreeMap<Key, usize>,
}

/// One process, and what is known of it.
struct Fork {
    process: Process,
    paces: BTreeMap<Key, Pace>,
    warmths: BTreeMap<Code, Warm>,
}

/// How far a process has come with something.
#[derive(Default)]
struct Warm {
    warmth: Warmth,
    /// Whether it had its time.
    was_tried: bool,
}

/// What takes equally long.
type Key = (String, Operation, Events, Vec<CpuId>);
/// What a runtime compiles once.
type Code = (String, Kind, Option<Payload>, Events);

impl Pool {
    /// Asks an adapter what it offers. Its processes start when they are first needed, in the thread that needs them, and
    /// end with that thread, or with the pool.
    ///
    /// # Errors
    /// [`AdapterError`]: it cannot be started, or cannot be understood.
    pub fn start(adapter: &Adapter, settings: PoolSettings, stop: &Stop) -> Result<Pool, AdapterError> {
        Ok(Pool::of(adapter, describe(adapter, &settings.start, START, stop)?, settings))
    }

    /// The same of an adapter that has said what it offers.
    pub fn of(adapter: &Adapter, description: Description, settings: PoolSettings) -> Pool {
        let forks = (0..settings.forks.max(1)).map(|_| None).collect();
        Pool { adapter: adapter.clone(), settings, description, forks, turns: BTreeMap::new() }
    }

    /// What the adapter offers.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Performs one pass, by the process whose turn it is: as many operations as take about `span`, at most those of the
    /// request. What a process does for the first time it does until it has settled, for [`PoolSettings::warm_up`] at most,
    /// and with few operations first; passes of one that has not settled carry [`Flag::Cold`].
    ///
    /// # Errors
    /// [`AdapterError`]. The process is replaced when its turn comes again, unless it refused.
    pub fn perform(&mut self, request: &Request, span: Duration, stop: &Stop) -> Result<Pass, AdapterError> {
        let warm_up = self.warm_request(request)?;
        let turn = self.turns.entry(key(request)).or_default();
        let index = *turn % self.forks.len();
        *turn += 1;
        self.with(index, |fork, settings| {
            fork.warm_up(&warm_up, settings, stop)?;
            fork.perform(request, span, settings, stop)
        })
    }

    /// Lets every process settle that is to perform this, so that no pass has to wait for it.
    ///
    /// # Errors
    /// [`AdapterError`] of the first that fails; those after it are not tried.
    pub fn warm_up(&mut self, request: &Request, stop: &Stop) -> Result<(), AdapterError> {
        let warm_up = self.warm_request(request)?;
        (0..self.forks.len())
            .try_for_each(|index| self.with(index, |fork, settings| fork.warm_up(&warm_up, settings, stop)))
    }

    fn warm_request(&self, request: &Request) -> Result<Request, AdapterError> {
        let kind = request.operation.kind();
        let Some(offer) = self.description.find(kind, &request.name) else {
            return Err(AdapterError::NotOffered { what: format!("{} `{}`", kind.word(), request.name) });
        };
        Ok(warm_request(request, *offer.capacities.end(), &self.settings.start.allowed))
    }

    /// Has a process do something, which is started where it is not there. Only one that did it, or refused to, is kept.
    fn with<T>(
        &mut self,
        index: usize,
        task: impl FnOnce(&mut Fork, &PoolSettings) -> Result<T, AdapterError>,
    ) -> Result<T, AdapterError> {
        let mut fork = match self.forks[index].take() {
            Some(fork) => fork,
            None => Fork {
                process: Process::start(&self.adapter, index, &self.settings.start)?,
                paces: BTreeMap::new(),
                warmths: BTreeMap::new(),
            },
        };
        let done = task(&mut fork, &self.settings);
        if matches!(done, Ok(_) | Err(AdapterError::Refused { .. })) {
            self.forks[index] = Some(fork);
        }
        done
    }

    /// CPU time of all processes that are there, in nanoseconds, as far as the system says.
    pub fn used_ns(&self) -> u64 {
        self.forks.iter().flatten().map(|fork| fork.process.used_ns()).sum()
    }

    /// Closes the input of every process and expects them to end by themselves.
    ///
    /// # Errors
    /// The first that did not; nothing is left of any.
    pub fn close(&mut self) -> Result<(), AdapterError> {
        let closed: Vec<_> =
            self.forks.iter_mut().filter_map(Option::take).map(|fork| fork.process.close(PATIENCE)).collect();
        closed.into_iter().collect()
    }
}

impl Fork {
    fn warm_up(
        &mut self,
        request: &Request,
        settings: &PoolSettings,
        stop: &Stop,
    ) -> Result<(), AdapterError> {
        let warm = self.warmths.entry(code(request)).or_default();
        if std::mem::replace(&mut warm.was_tried, true) {
            return Ok(());
        }
        let until = Instant::now() + settings.warm_up;
        while !self.has_settled(request) && Instant::now() < until {
            // The last pass ends with the time.
            let left = until.saturating_duration_since(Instant::now());
            self.once(request, WARM_SPAN.min(left), settings, stop)?;
        }
        Ok(())
    }

    fn has_settled(&self, request: &Request) -> bool {
        self.warmths.get(&code(request)).is_some_and(|warm| warm.warmth.has_settled())
    }

    fn perform(
        &mut self,
        request: &Request,
        span: Duration,
        settings: &PoolSettings,
        stop: &Stop,
    ) -> Result<Pass, AdapterError> {
        loop {
            let (mut pass, counts) = self.once(request, span, settings, stop)?;
            if counts {
                if !self.has_settled(request) {
                    pass.flags.set(Flag::Cold);
                }
                return Ok(pass);
            }
        }
    }

    /// One pass, and whether it was long enough to count.
    fn once(
        &mut self,
        request: &Request,
        span: Duration,
        settings: &PoolSettings,
        stop: &Stop,
    ) -> Result<(Pass, bool), AdapterError> {
        let most = request.count.min(MAX_OPERATIONS);
        let pace = self.paces.entry(key(request)).or_default();
        let asked = pace.sized(&Request { count: most, ..request.clone() }, span);
        let helpers = settings.helpers.during(&settings.start.allowed, &request.cpus);
        let pass = self.process.pass(&asked, &helpers, stop)?;
        let counts = pace.note(&pass, span, most);
        let warm = self.warmths.entry(code(request)).or_default();
        warm.warmth.note(&pass, request.operation.kind(), request.shares_a_cpu());
        Ok((pass, counts))
    }
}

fn key(request: &Request) -> Key {
    (request.name.clone(), request.operation, request.events, request.cpus.clone())
}

fn code(request: &Request) -> Code {
    let payload = match request.operation {
        Operation::Queue { payload, .. } => Some(payload),
        _ => None,
    };
    (request.name.clone(), request.operation.kind(), payload, request.events)
}

/// What warms up the code of a request: the same where it takes least time.
pub(super) fn warm_request(request: &Request, most_capacity: u64, allowed: &CpuSet) -> Request {
    let operation = match request.operation {
        Operation::Queue { capacity, payload } => {
            Operation::Queue { capacity: capacity.max(WARM_CAPACITY.min(most_capacity)), payload }
        }
        Operation::Wait
        | Operation::Alternate
        | Operation::Cost
        | Operation::Clock
        | Operation::Contend { .. } => request.operation,
        Operation::Wake { gap_ns } => Operation::Wake { gap_ns: gap_ns.min(WARM_GAP_NS) },
        Operation::Spawn { gap_ns } => Operation::Spawn { gap_ns: gap_ns.min(WARM_GAP_NS) },
    };
    let cpus = match request.cpus[..] {
        [first, second] if first == second => {
            vec![first, allowed.iter().find(|cpu| *cpu != first).unwrap_or(second)]
        }
        _ => request.cpus.clone(),
    };
    Request { operation, cpus, count: MAX_OPERATIONS, ..request.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warm_up_runs_where_it_takes_least() {
        let request = |operation| Request {
            name: "x".into(),
            operation,
            events: Events::Together,
            count: 9,
            seed: 1,
            cpus: vec![CpuId(1), CpuId(1)],
            limit: Duration::from_secs(1),
        };
        let allowed = CpuSet::from_iter([CpuId(0), CpuId(1)]);
        let queue = |capacity| request(Operation::Queue { capacity, payload: Payload::U64 });
        let warm = warm_request(&queue(1), 64, &allowed);
        assert_eq!(warm.operation, Operation::Queue { capacity: 64, payload: Payload::U64 });
        assert_eq!((warm.cpus, warm.count), (vec![CpuId(1), CpuId(0)], MAX_OPERATIONS));
        assert_eq!(warm_request(&queue(5_000), 9_000, &allowed).operation, queue(5_000).operation);
        let wake = request(Operation::Wake { gap_ns: 20_000_000 });
        assert_eq!(warm_request(&wake, 1, &allowed).operation, Operation::Wake { gap_ns: 20_000 });
        let spawn = request(Operation::Spawn { gap_ns: 1_000_000 });
        assert_eq!(warm_request(&spawn, 1, &allowed).operation, Operation::Spawn { gap_ns: 20_000 });
        let alone = CpuSet::from_iter([CpuId(1)]);
        assert_eq!(warm_request(&wake, 1, &alone).cpus, [CpuId(1); 2]);
    }
}
