//! [`Pool`]: several processes of one adapter, which perform passes in turn. The passes of one process are not
//! representative: three Java processes settled at 80, 109 and 125 ns per message.

use super::Adapter;
use super::description::Description;
use super::error::AdapterError;
use super::pace::{Pace, Warmth};
use super::pass::AdapterPass;
use super::pins::Helpers;
use super::process::{PATIENCE, Process, START, StartSettings, describe};
use super::protocol::{AdapterOperation, Events, MAX_OPERATIONS, OperationKind, Payload, Request};
use crate::stop::Stop;
use coretalk_model::{CpuId, CpuSet, Flag};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Default number of processes.
pub const FORKS: usize = 5;
/// Maximum warm-up of a process for each item that it performs. Passes of an item that is not settled carry a flag.
pub const WARM_UP: Duration = Duration::from_secs(5);
const WARM_SPAN: Duration = Duration::from_millis(40);
/// Maximum gap before wake-ups and creations during warm-up. Warm-up needs 20,000 of them.
const WARM_GAP_NS: u64 = 20_000;
/// Minimum capacity of queues during warm-up, if allowed. Small queues are slow when both threads share a CPU.
const WARM_CAPACITY: u64 = 1_000;

/// Settings of a pool.
#[derive(Debug, Clone)]
pub struct PoolSettings {
    /// Number of processes.
    pub forks: usize,
    /// How each process is started.
    pub start: StartSettings,
    /// CPUs of the other threads of these processes.
    pub helpers: Helpers,
    /// Maximum warm-up of each process for each item that it performs.
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

struct Fork {
    process: Process,
    paces: BTreeMap<Key, Pace>,
    warmths: BTreeMap<Code, WarmUpState>,
}

#[derive(Default)]
struct WarmUpState {
    warmth: Warmth,
    was_tried: bool,
}

/// Requests with an equal key take equally long.
type Key = (String, AdapterOperation, Events, Vec<CpuId>);
/// Requests with equal code share compiled code.
type Code = (String, OperationKind, Option<Payload>, Events);

impl Pool {
    /// Asks an adapter for its description. Each process starts on first use. It ends with the thread that used it
    /// first, or with the pool.
    pub fn start(adapter: &Adapter, settings: PoolSettings, stop: &Stop) -> Result<Pool, AdapterError> {
        Ok(Pool::new(adapter, describe(adapter, &settings.start, START, stop)?, settings))
    }

    /// Creates the pool from a known description.
    pub fn new(adapter: &Adapter, description: Description, settings: PoolSettings) -> Pool {
        let forks = (0..settings.forks.max(1)).map(|_| None).collect();
        Pool { adapter: adapter.clone(), settings, description, forks, turns: BTreeMap::new() }
    }

    /// The adapter's description.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Performs one pass in the process whose turn it is. The pass takes about `span`, with at most the operations of
    /// the request. A process first warms up each new item, for at most [`PoolSettings::warm_up`], with few operations
    /// at the beginning. Passes before it has settled carry [`Flag::Cold`].
    ///
    /// After an error the next turn starts a new process, unless the adapter refused.
    pub fn perform(
        &mut self,
        request: &Request,
        span: Duration,
        stop: &Stop,
    ) -> Result<AdapterPass, AdapterError> {
        let warm_up = self.warm_request(request)?;
        let turn = self.turns.entry(key(request)).or_default();
        let index = *turn % self.forks.len();
        *turn += 1;
        self.with_process(index, |fork, settings| {
            fork.warm_up(&warm_up, settings, stop)?;
            fork.perform(request, span, settings, stop)
        })
    }

    /// Warms up every process for the request, so that no later pass has to. After the first failure, later processes
    /// are not tried.
    pub fn warm_up(&mut self, request: &Request, stop: &Stop) -> Result<(), AdapterError> {
        let warm_up = self.warm_request(request)?;
        (0..self.forks.len()).try_for_each(|index| {
            self.with_process(index, |fork, settings| fork.warm_up(&warm_up, settings, stop))
        })
    }

    fn warm_request(&self, request: &Request) -> Result<Request, AdapterError> {
        let kind = request.operation.kind();
        let Some(offer) = self.description.find(kind, &request.name) else {
            return Err(AdapterError::NotOffered { what: format!("{} `{}`", kind.word(), request.name) });
        };
        Ok(warm_request(request, *offer.capacities.end(), &self.settings.start.allowed))
    }

    /// Runs `task` in a process, which is started if necessary. Any error except a refusal ends the process.
    fn with_process<T>(
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

    /// CPU time of all running processes in nanoseconds, as far as the system reports it.
    pub fn used_ns(&self) -> u64 {
        self.forks.iter().flatten().map(|fork| fork.process.used_ns()).sum()
    }

    /// Closes the input of every process and waits until each has ended. Fails if a process did not end by itself. All
    /// processes are gone afterwards.
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
    ) -> Result<AdapterPass, AdapterError> {
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

    /// Performs one pass. Also returns whether it was long enough to count.
    fn once(
        &mut self,
        request: &Request,
        span: Duration,
        settings: &PoolSettings,
        stop: &Stop,
    ) -> Result<(AdapterPass, bool), AdapterError> {
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
        AdapterOperation::Queue { payload, .. } => Some(payload),
        _ => None,
    };
    (request.name.clone(), request.operation.kind(), payload, request.events)
}

/// The request that warms up the same code in the least time.
pub(super) fn warm_request(request: &Request, most_capacity: u64, allowed: &CpuSet) -> Request {
    let operation = match request.operation {
        AdapterOperation::Queue { capacity, payload } => {
            AdapterOperation::Queue { capacity: capacity.max(WARM_CAPACITY.min(most_capacity)), payload }
        }
        AdapterOperation::Wait
        | AdapterOperation::Alternate
        | AdapterOperation::Cost
        | AdapterOperation::Clock
        | AdapterOperation::Contend { .. } => request.operation,
        AdapterOperation::Wake { gap_ns } => AdapterOperation::Wake { gap_ns: gap_ns.min(WARM_GAP_NS) },
        AdapterOperation::Spawn { gap_ns } => AdapterOperation::Spawn { gap_ns: gap_ns.min(WARM_GAP_NS) },
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
    use super::super::protocol::tests::request;
    use super::*;

    #[test]
    fn a_warm_up_request_takes_the_least_time() {
        let request = |operation| Request { operation, cpus: vec![CpuId(1); 2], ..request(9) };
        let allowed = CpuSet::from_iter([CpuId(0), CpuId(1)]);
        let queue = |capacity| request(AdapterOperation::Queue { capacity, payload: Payload::U64 });
        let warm = warm_request(&queue(1), 64, &allowed);
        assert_eq!(warm.operation, AdapterOperation::Queue { capacity: 64, payload: Payload::U64 });
        assert_eq!((warm.cpus, warm.count), (vec![CpuId(1), CpuId(0)], MAX_OPERATIONS));
        assert_eq!(warm_request(&queue(5_000), 9_000, &allowed).operation, queue(5_000).operation);
        let wake = request(AdapterOperation::Wake { gap_ns: 20_000_000 });
        assert_eq!(warm_request(&wake, 1, &allowed).operation, AdapterOperation::Wake { gap_ns: 20_000 });
        let spawn = request(AdapterOperation::Spawn { gap_ns: 1_000_000 });
        assert_eq!(warm_request(&spawn, 1, &allowed).operation, AdapterOperation::Spawn { gap_ns: 20_000 });
        let alone = CpuSet::from_iter([CpuId(1)]);
        assert_eq!(warm_request(&wake, 1, &alone).cpus, [CpuId(1); 2]);
    }
}
