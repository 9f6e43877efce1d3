//! [`Runtimes`]: performs trials in other languages, with a pool of processes per adapter. Pools start on first use.

use super::builder::AdapterBuilder;
use super::catalogue::AdapterSpec;
use super::description::lack_of_queue;
use super::error::AdapterError;
use super::found::{Lacking, Offered, find};
use super::pass::AdapterPass;
use super::pins::Helpers;
use super::pool::{Pool, PoolSettings, WARM_UP};
use super::process::StartSettings;
use super::protocol::{AdapterOperation, OperationKind, Request, RuntimeWork};
use crate::host::command::watchdog::Watchdog;
use crate::series::{SeriesProbe, TrialOrder};
use crate::stop::Stop;
use coretalk_model::external::{External, HELPERS, SAME, forks};
use coretalk_model::series::{Parameters, TrialSpec};
use coretalk_model::{CpuSet, Picos, TrialFailure};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

/// Time by which a pass may exceed its requested span, as for native probes.
const PATIENCE: Duration = Duration::from_secs(5);
/// Minimum span of a pass. It keeps the cost of reading a request small.
const MIN_SPAN: Duration = Duration::from_millis(10);
/// Minimum time for a pass of an item that has never worked. Otherwise such an item gets half of the remaining time.
const MIN_PATIENCE: Duration = Duration::from_millis(250);
/// Number of failures after which an item that has never worked is given up. Each may cost the time of a whole pass.
const FAILURES: u32 = 2;
/// Minimum limit for counting a first pass as hung. If a shorter limit is exceeded, the budget was too short.
const MIN_HANG: Duration = Duration::from_secs(1);
const MIN_WARM_UP: Duration = Duration::from_millis(20);

/// Folders and time limit for building adapters.
#[derive(Debug, Clone, Copy)]
pub struct Preparation<'a> {
    /// Folder with the user's list of adapters.
    pub users: &'a Path,
    /// Build folder.
    pub cache: &'a Path,
    /// Time limit for printing the version, and for printing the description. The limits
    /// [`VERSION_LIMIT`](super::builder::VERSION_LIMIT) and [`START`](super::process::START) apply if they are shorter.
    pub patience: Duration,
}

/// The offer of an adapter, or why it is unavailable.
pub type PreparedAdapter = Result<Offered, Lacking>;

/// The runtimes of a machine.
#[derive(Default)]
pub struct Runtimes {
    known: BTreeMap<String, PreparedAdapter>,
    pools: BTreeMap<String, Pool>,
    allowed: CpuSet,
    /// Kills leftover processes if this process is killed. It starts with the first adapter.
    watchdog: Option<Option<Watchdog>>,
    records: BTreeMap<(String, OperationKind, String), TrackRecord>,
    /// Maximum warm-up of each process for each item that it performs.
    warm_up: Option<Duration>,
}

struct WarmUpPlan {
    items: Vec<(External, Request)>,
    forks: u32,
    each: Duration,
    total: Duration,
}

enum TrackRecord {
    Works,
    /// Number of failures without a success, and the last reason.
    Fails(u32, TrialFailure),
}

impl std::fmt::Debug for Runtimes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtimes").field("known", &self.known).finish_non_exhaustive()
    }
}

impl Runtimes {
    /// Checks the requirements of an adapter, builds it if necessary and asks for its offer. Later calls reuse the
    /// result.
    pub fn prepare(
        &mut self,
        spec: &AdapterSpec,
        preparation: &Preparation<'_>,
        allowed: &CpuSet,
        building: &mut dyn FnMut(&AdapterSpec),
        stop: &Stop,
    ) -> &PreparedAdapter {
        self.allowed = allowed.clone();
        let watchdog = self.watchdog.get_or_insert_with(Watchdog::start).as_ref();
        let builder = AdapterBuilder {
            cache: preparation.cache,
            users: Some(preparation.users),
            allowed: &self.allowed,
            watchdog,
            patience: preparation.patience,
        };
        let start = StartSettings { allowed: allowed.clone(), guard: watchdog.map(guard) };
        let prepare = || find(spec, &builder, &start, building, stop);
        self.known.entry(spec.name.clone()).or_insert_with(prepare)
    }

    /// Why the adapter cannot perform a trial; `None` if it can or if its offer is unknown.
    pub fn lacks(&self, external: &External, probe: &dyn SeriesProbe, spec: &TrialSpec) -> Option<String> {
        let work = match probe.runtime_work(spec, &Parameters::default()) {
            Ok(work) => work,
            Err(error) => return Some(error.to_string()),
        };
        let AdapterOperation::Queue { capacity, payload } = work.operation else { return None };
        let offered = self.known.get(&external.runtime)?.as_ref().ok()?;
        let offer = offered.description.find(OperationKind::Queue, &external.name)?;
        lack_of_queue(&external.to_string(), &offer.payloads, &offer.capacities, payload, capacity)
    }

    /// Plans the warm-up of all items that the trials request from adapters, in about `most`; `None` if there are no
    /// items.
    fn warm_up_plan(&self, orders: &[TrialOrder<'_>], most: Duration) -> Option<WarmUpPlan> {
        // Compiled code does not depend on capacity or CPUs. So one request warms up an item for all of them.
        let mut items: BTreeMap<_, (External, Request)> = BTreeMap::new();
        for order in orders {
            let Some(external) = order.probe.external(order.spec) else { continue };
            let Ok((_, request)) = request(&external, order) else { continue };
            let payload = match request.operation {
                AdapterOperation::Queue { payload, .. } => Some(payload),
                _ => None,
            };
            if self.known.get(&external.runtime).is_some_and(Result::is_ok) {
                let key = (external.clone(), request.operation.kind(), payload, request.events);
                items.entry(key).or_insert((external, request));
            }
        }
        let forks = forks(orders.first()?.options);
        let times = forks * items.len() as u32;
        let each = most.checked_div(times)?.clamp(MIN_WARM_UP, WARM_UP);
        Some(WarmUpPlan { items: items.into_values().collect(), forks, each, total: each * times })
    }

    /// Maximum duration of [`warm_up`](Runtimes::warm_up).
    pub fn longest_warm_up(&self, orders: &[TrialOrder<'_>], most: Duration) -> Duration {
        self.warm_up_plan(orders, most).map_or(Duration::ZERO, |plan| plan.total)
    }

    /// Warms up the processes for the trials. Each trial gets its share of `most`. Later passes report failures.
    pub fn warm_up(
        &mut self,
        orders: &[TrialOrder<'_>],
        most: Duration,
        notify: &mut dyn FnMut(String),
        stop: &Stop,
    ) {
        let Some(WarmUpPlan { items, forks, each, total }) = self.warm_up_plan(orders, most) else { return };
        self.warm_up = Some(each);
        notify(sentence(&items, forks, total));
        let Some(options) = orders.first().map(|order| order.options) else { return };
        // The start of the processes and the end of their last passes take no longer than the warm-up itself.
        let stop = &stop.until(Instant::now() + 2 * most);
        for (external, request) in items {
            if stop.is_raised() {
                return;
            }
            let Ok(pool) = self.pool(&external, options) else { continue };
            let settled = pool.warm_up(&request, stop);
            let _ = self.note(&external, request.operation.kind(), settled);
        }
    }

    /// Performs one pass of a trial. An item that has never worked may take half of the time `left` in the run.
    pub fn perform(
        &mut self,
        external: &External,
        order: &TrialOrder<'_>,
        left: Duration,
        stop: &Stop,
    ) -> Result<AdapterPass, TrialFailure> {
        let (span, request) = request(external, order)?;
        let kind = request.operation.kind();
        if let Some(reason) = self.given_up(external, kind) {
            return Err(reason.clone());
        }
        let limit = match self.record(external, kind) {
            Some(TrackRecord::Works) => left,
            // A new process warms up first.
            Some(TrackRecord::Fails(..)) | None => {
                (left / 2).max(MIN_PATIENCE + self.warm_up.unwrap_or_default())
            }
        };
        let until = Instant::now().checked_add(limit).map_or_else(|| stop.clone(), |at| stop.until(at));
        let pass = self.pool(external, order.options)?.perform(&request, span, &until);
        let is_late = matches!(pass, Err(AdapterError::Interrupted)) && !stop.is_raised();
        self.note(external, kind, if is_late { late(limit) } else { pass })
    }

    /// CPU time of all running processes in nanoseconds, as far as the system reports it.
    pub fn used_ns(&self) -> u64 {
        self.pools.values().map(Pool::used_ns).sum()
    }

    fn given_up(&self, external: &External, kind: OperationKind) -> Option<&TrialFailure> {
        match self.record(external, kind)? {
            TrackRecord::Fails(FAILURES.., reason) => Some(reason),
            TrackRecord::Fails(..) | TrackRecord::Works => None,
        }
    }

    fn record(&self, external: &External, kind: OperationKind) -> Option<&TrackRecord> {
        self.records.get(&(external.runtime.clone(), kind, external.name.clone()))
    }

    /// Records the outcome of an item. A refusal may depend on the capacity, so it does not count as a failure.
    fn note<T>(
        &mut self,
        external: &External,
        kind: OperationKind,
        done: Result<T, AdapterError>,
    ) -> Result<T, TrialFailure> {
        let record = self.records.entry((external.runtime.clone(), kind, external.name.clone()));
        match done {
            Ok(done) => {
                *record.or_insert(TrackRecord::Works) = TrackRecord::Works;
                Ok(done)
            }
            Err(error @ (AdapterError::Interrupted | AdapterError::Refused { .. })) => Err(error.into()),
            Err(error) => {
                // Given up after one timeout. A second timeout could use up the time of all other trials.
                let hung = matches!(error, AdapterError::Hung { .. } | AdapterError::NoTime);
                let reason = TrialFailure::from(error);
                if let TrackRecord::Fails(times, last) =
                    record.or_insert(TrackRecord::Fails(0, reason.clone()))
                {
                    (*times, *last) = (*times + if hung { FAILURES } else { 1 }, reason.clone());
                }
                Err(reason)
            }
        }
    }

    /// The pool of a runtime. The first use creates it with the options of the run.
    fn pool(&mut self, external: &External, options: &Parameters) -> Result<&mut Pool, TrialFailure> {
        let runtime = &external.runtime;
        let offered = match self.known.get(runtime) {
            Some(Ok(offered)) => offered,
            Some(Err(lacking)) => return Err(lacking.failure()),
            None => return Err(TrialFailure::from_reason(format!("there is no adapter `{runtime}`"))),
        };
        let (allowed, watchdog) = (&self.allowed, &self.watchdog);
        let warm_up = self.warm_up.unwrap_or(WARM_UP);
        Ok(self.pools.entry(runtime.clone()).or_insert_with(|| {
            let guard = watchdog.iter().flatten().next().map(guard);
            let start = StartSettings { allowed: allowed.clone(), guard };
            let settings =
                PoolSettings { forks: forks(options) as usize, start, helpers: helpers(options), warm_up };
            Pool::new(&offered.ready.adapter, offered.description.clone(), settings)
        }))
    }
}

/// Error of a first pass that exceeded its share of the remaining budget.
fn late(limit: Duration) -> Result<AdapterPass, AdapterError> {
    let limit = Duration::from_millis(limit.as_millis() as u64);
    Err(match limit < MIN_HANG {
        true => AdapterError::NoTime,
        false => AdapterError::Hung { limit, awaited: "its first pass" },
    })
}

fn sentence(items: &[(External, Request)], forks: u32, all: Duration) -> String {
    let names: BTreeSet<String> = items.iter().map(|(external, _)| external.to_string()).collect();
    let runtimes: BTreeSet<&str> = items.iter().map(|(external, _)| external.runtime.as_str()).collect();
    let verb = if names.len() == 1 { "settles" } else { "settle" };
    let names = Vec::from_iter(names).join(", ");
    let all = Picos::from_secs(all.as_secs_f64());
    match forks * runtimes.len() as u32 {
        1 => format!("{names} {verb} first: a process starts, and has at most {all} for that once it runs"),
        starts => format!(
            "{names} {verb} first: {starts} processes start, and have at most {all} in all for that once they run"
        ),
    }
}

fn guard(watchdog: &Watchdog) -> (String, String) {
    let (name, value) = watchdog.mark();
    (name.to_owned(), value.to_owned())
}

fn helpers(options: &Parameters) -> Helpers {
    match options.text(HELPERS) {
        None => Helpers::Apart,
        Some(SAME) => Helpers::Measured,
        // Invalid lists were already rejected with the options.
        Some(list) => CpuSet::from_list(list).map_or(Helpers::Apart, Helpers::On),
    }
}

fn request(external: &External, order: &TrialOrder<'_>) -> Result<(Duration, Request), TrialFailure> {
    let RuntimeWork { operation, events, most } = order.probe.runtime_work(order.spec, order.options)?;
    let (mut cpus, roles) = (order.spec.placement.clone(), operation.roles());
    match operation {
        // The created threads may run wherever their creator may. They need no CPU of their own.
        AdapterOperation::Spawn { .. } => match order.spec.mask() {
            Some(mask) => cpus = mask.iter().collect(),
            None => cpus.truncate(roles),
        },
        _ if cpus.len() != roles => {
            let sentence = format!("`{external}` is performed by {roles} threads, and not by {}", cpus.len());
            return Err(TrialFailure::from_reason(sentence));
        }
        _ => {}
    }
    let span = order.span.duration().max(MIN_SPAN);
    let request = Request {
        name: external.name.clone(),
        operation,
        events,
        count: most,
        seed: order.key as u32,
        cpus,
        limit: span + PATIENCE,
    };
    Ok((span, request))
}

#[cfg(test)]
mod tests {
    use super::super::protocol::tests::request;
    use super::*;

    #[test]
    fn the_warm_up_is_announced_in_one_sentence() {
        let announcement = |names: &[&str], forks: u32| {
            let wait = Request { operation: AdapterOperation::Wait, ..request(1) };
            let request = |name: &&str| (External::parse(name).unwrap(), wait.clone());
            sentence(&names.iter().map(request).collect::<Vec<_>>(), forks, Duration::from_secs(1))
        };
        let one = "ev:q settles first: a process starts, and has at most 1.00 s for that once it runs";
        assert_eq!(announcement(&["ev:q"], 1), one);
        let several = "ev:q, ev:r, java:park settle first: 80 processes start, \
                       and have at most 1.00 s in all for that once they run";
        assert_eq!(announcement(&["ev:q", "java:park", "ev:r"], 40), several);
    }

    #[test]
    fn items_that_never_worked_are_given_up_and_refusals_do_not_count() {
        let (external, kind) = (External::parse("java:queue").unwrap(), OperationKind::Queue);
        let refused = || Err::<(), _>(AdapterError::Refused { text: "capacity 7 is no power of two".into() });
        let wrong = |asked| Err::<(), _>(AdapterError::WrongCount { asked, said: 1 });
        let mut runtimes = Runtimes::default();
        for _ in 0..9 {
            assert!(runtimes.note(&external, kind, refused()).is_err());
        }
        let reason = |asked| {
            TrialFailure::from_reason(format!("it counted 1 operations where {asked} were asked for"))
        };
        assert_eq!(runtimes.note(&external, kind, wrong(2)), Err(reason(2)));
        assert_eq!(runtimes.given_up(&external, kind), None);
        assert!(runtimes.note(&external, kind, wrong(3)).is_err());
        assert_eq!(runtimes.given_up(&external, kind), Some(&reason(3)));
        assert_eq!(runtimes.given_up(&external, OperationKind::Wake), None, "another thing of that name");

        let mut runtimes = Runtimes::default();
        let hung = AdapterError::Hung { limit: Duration::from_secs(5), awaited: "a line" };
        let error = runtimes.note(&external, kind, Err::<(), _>(hung)).unwrap_err().to_string();
        assert!(error.contains("while a line was awaited"), "{error}");
        assert!(runtimes.given_up(&external, kind).is_some(), "once is enough");

        let mut runtimes = Runtimes::default();
        assert!(matches!(late(MIN_HANG), Err(AdapterError::Hung { .. })));
        let late = late(MIN_HANG - Duration::from_millis(1)).map(drop);
        assert_eq!(runtimes.note(&external, kind, late), Err(TrialFailure::Interrupted));
        let given_up = runtimes.given_up(&external, kind);
        assert_eq!(given_up, Some(&TrialFailure::Interrupted), "what is left of the budget is for others");

        let mut runtimes = Runtimes::default();
        assert_eq!(runtimes.note(&external, kind, Ok(7)), Ok(7));
        for _ in 0..9 {
            assert!(runtimes.note(&external, kind, wrong(2)).is_err());
        }
        assert_eq!(runtimes.given_up(&external, kind), None, "it may be the CPUs");
    }
}
