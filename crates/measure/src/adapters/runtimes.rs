//! [`Runtimes`]: what performs the trials of a machine that runtimes in other languages perform: an adapter of each, asked
//! once what it offers, and a pool of its processes, which start when they are first needed.

use super::catalogue::Recipe;
use super::description::lack_of_queue;
use super::error::AdapterError;
use super::found::{Lacking, Offered, find};
use super::pass::Pass;
use super::pins::Helpers;
use super::pool::{Pool, PoolSettings, WARM_UP};
use super::process::StartSettings;
use super::protocol::{Kind, Operation, Request, RuntimeWork};
use super::workshop::Workshop;
use crate::external::{External, HELPERS, SAME, forks};
use crate::host::command::watchdog::Watchdog;
use crate::series::{SeriesProbe, TrialOrder, mask_of};
use crate::stop::Stop;
use coretalk_model::series::{Parameters, TrialSpec};
use coretalk_model::{CpuSet, Picos, TrialFailure};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

/// A pass may take so much longer than asked before it is given up, as for what this program performs itself.
const PATIENCE: Duration = Duration::from_secs(5);
/// A pass takes at least so long: reading a request is then a small part of the work.
const MIN_SPAN: Duration = Duration::from_millis(10);
/// What has never worked has half of the time that is left, and as much as this at least.
const MIN_PATIENCE: Duration = Duration::from_millis(250);
/// What has never worked is not tried again after so many failures: each may take as long as a pass at most.
const FAILURES: u32 = 2;
/// What has not ended a first pass within so long hangs; of less nothing can be said but that there was no time.
const HANGS: Duration = Duration::from_secs(1);
/// However little time there is to settle in.
const MIN_WARM_UP: Duration = Duration::from_millis(20);

/// Where adapters come from, where they are built, and how long they are waited for.
#[derive(Debug, Clone, Copy)]
pub struct Shop<'a> {
    /// The folder of the user's list.
    pub users: &'a Path,
    /// Where they are built.
    pub cache: &'a Path,
    /// How long each may take to print its version, and then to say what it offers, where that is less than
    /// [`VERSION_LIMIT`](super::workshop::VERSION_LIMIT) and [`START`](super::process::START).
    pub patience: Duration,
}

/// What an adapter offers, or why it cannot be had.
pub type Prepared = Result<Offered, Lacking>;

/// The runtimes of a machine.
#[derive(Default)]
pub struct Runtimes {
    known: BTreeMap<String, Prepared>,
    pools: BTreeMap<String, Pool>,
    allowed: CpuSet,
    /// Who ends what is left of them, should this process be killed: asked for with the first.
    watchdog: Option<Option<Watchdog>>,
    /// How each thing has gone so far, by runtime and name.
    records: BTreeMap<(String, Kind, String), TrackRecord>,
    /// How long each process may take to settle, of each thing that it performs.
    warm_up: Option<Duration>,
}

/// What has to settle before it is measured.
struct Settling {
    /// What is performed, with a request for it.
    things: Vec<(External, Request)>,
    /// Processes of each.
    forks: u32,
    /// How long each of them may take for each thing, …
    each: Duration,
    /// … and all together.
    all: Duration,
}

/// How something has gone so far.
enum TrackRecord {
    /// It worked at least once.
    Works,
    /// It has only failed: how often, and why the last time.
    Fails(u32, TrialFailure),
}

impl std::fmt::Debug for Runtimes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtimes").field("known", &self.known).finish_non_exhaustive()
    }
}

impl Runtimes {
    /// Looks for what an adapter needs, builds it where that has to be, and asks it what it offers; once.
    pub fn prepare(
        &mut self,
        recipe: &Recipe,
        shop: &Shop<'_>,
        allowed: &CpuSet,
        building: &mut dyn FnMut(&Recipe),
        stop: &Stop,
    ) -> &Prepared {
        self.allowed = allowed.clone();
        let watchdog = self.watchdog.get_or_insert_with(Watchdog::start).as_ref();
        let workshop = Workshop {
            cache: shop.cache,
            users: Some(shop.users),
            allowed: &self.allowed,
            watchdog,
            patience: shop.patience,
        };
        let start = StartSettings { allowed: allowed.clone(), guard: watchdog.map(guard) };
        let prepare = || find(recipe, &workshop, &start, building, stop);
        self.known.entry(recipe.name.clone()).or_insert_with(prepare)
    }

    /// Why a trial makes no sense for what performs it; `None` where it does, and where that is not known.
    pub fn lacks(&self, external: &External, probe: &dyn SeriesProbe, spec: &TrialSpec) -> Option<String> {
        let work = match probe.runtime_work(spec, &Parameters::default()) {
            Ok(work) => work,
            Err(error) => return Some(error.to_string()),
        };
        let Operation::Queue { capacity, payload } = work.operation else { return None };
        let offered = self.known.get(&external.runtime)?.as_ref().ok()?;
        let offer = offered.description.find(Kind::Queue, &external.name)?;
        lack_of_queue(&external.to_string(), &offer.payloads, &offer.capacities, payload, capacity)
    }

    /// How long each process may take to settle, of each thing that some trials ask of it; nothing where they ask nothing.
    fn settling(&self, orders: &[TrialOrder<'_>], most: Duration) -> Option<Settling> {
        // What is compiled once is the same whatever its capacity and CPUs; a large queue settles in the least time.
        let mut things: BTreeMap<_, (External, Request)> = BTreeMap::new();
        for order in orders {
            let Some(external) = order.probe.external(order.spec) else { continue };
            let Ok((_, request)) = request(&external, order) else { continue };
            let payload = match request.operation {
                Operation::Queue { payload, .. } => Some(payload),
                _ => None,
            };
            if self.known.get(&external.runtime).is_some_and(Result::is_ok) {
                let key = (external.clone(), request.operation.kind(), payload, request.events);
                things.entry(key).or_insert((external, request));
            }
        }
        let forks = forks(orders.first()?.options);
        let times = forks * things.len() as u32;
        let each = most.checked_div(times)?.clamp(MIN_WARM_UP, WARM_UP);
        Some(Settling { things: things.into_values().collect(), forks, each, all: each * times })
    }

    /// How long [`warm_up`](Runtimes::warm_up) takes at most.
    pub fn longest_warm_up(&self, orders: &[TrialOrder<'_>], most: Duration) -> Duration {
        self.settling(orders, most).map_or(Duration::ZERO, |settling| settling.all)
    }

    /// Lets processes settle that perform some trials, each for its part of `most`. What fails says so in its passes.
    pub fn warm_up(
        &mut self,
        orders: &[TrialOrder<'_>],
        most: Duration,
        told: &mut dyn FnMut(String),
        stop: &Stop,
    ) {
        let Some(Settling { things, forks, each, all }) = self.settling(orders, most) else { return };
        self.warm_up = Some(each);
        told(sentence(&things, forks, all));
        let Some(options) = orders.first().map(|order| order.options) else { return };
        // Starting processes, and ending their last passes, takes no more than settling.
        let stop = &stop.until(Instant::now() + 2 * most);
        for (external, request) in things {
            if stop.is_raised() {
                return;
            }
            let Ok(pool) = self.pool(&external, options) else { continue };
            let settled = pool.warm_up(&request, stop);
            // What has failed says so when it is asked for a pass.
            let _ = self.note(&external, request.operation.kind(), settled);
        }
    }

    /// Performs one pass of a trial. What has never worked may take half of what is `left` of a run.
    ///
    /// # Errors
    /// [`TrialFailure`]: why there is none.
    pub fn perform(
        &mut self,
        external: &External,
        order: &TrialOrder<'_>,
        left: Duration,
        stop: &Stop,
    ) -> Result<Pass, TrialFailure> {
        let (span, request) = request(external, order)?;
        let kind = request.operation.kind();
        if let Some(reason) = self.given_up(external, kind) {
            return Err(reason.clone());
        }
        let limit = match self.record(external, kind) {
            Some(TrackRecord::Works) => left,
            // A process that is new settles first.
            Some(TrackRecord::Fails(..)) | None => {
                (left / 2).max(MIN_PATIENCE + self.warm_up.unwrap_or_default())
            }
        };
        let until = Instant::now().checked_add(limit).map_or_else(|| stop.clone(), |at| stop.until(at));
        let pass = self.pool(external, order.options)?.perform(&request, span, &until);
        let is_late = matches!(pass, Err(AdapterError::Interrupted)) && !stop.is_raised();
        self.note(external, kind, if is_late { late(limit) } else { pass })
    }

    /// CPU time of all processes that are there, in nanoseconds, as far as the system says.
    pub fn used_ns(&self) -> u64 {
        self.pools.values().map(Pool::used_ns).sum()
    }

    /// Why something is not tried any more.
    fn given_up(&self, external: &External, kind: Kind) -> Option<&TrialFailure> {
        match self.record(external, kind)? {
            TrackRecord::Fails(FAILURES.., reason) => Some(reason),
            TrackRecord::Fails(..) | TrackRecord::Works => None,
        }
    }

    fn record(&self, external: &External, kind: Kind) -> Option<&TrackRecord> {
        self.records.get(&(external.runtime.clone(), kind, external.name.clone()))
    }

    /// Notes how something has gone. A refusal is about what was asked: another capacity may do.
    fn note<T>(
        &mut self,
        external: &External,
        kind: Kind,
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
                // Who was waited for once is not waited for again: that may take the time of all others.
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

    /// The processes of a runtime, as the options of a run have them.
    fn pool(&mut self, external: &External, options: &Parameters) -> Result<&mut Pool, TrialFailure> {
        let runtime = &external.runtime;
        let offered = match self.known.get(runtime) {
            Some(Ok(offered)) => offered,
            Some(Err(lacking)) => return Err(lacking.failure()),
            None => return Err(TrialFailure::of(format!("there is no adapter `{runtime}`"))),
        };
        let (allowed, watchdog) = (&self.allowed, &self.watchdog);
        let warm_up = self.warm_up.unwrap_or(WARM_UP);
        Ok(self.pools.entry(runtime.clone()).or_insert_with(|| {
            let guard = watchdog.iter().flatten().next().map(guard);
            let start = StartSettings { allowed: allowed.clone(), guard };
            let settings =
                PoolSettings { forks: forks(options) as usize, start, helpers: helpers(options), warm_up };
            Pool::of(&offered.ready.adapter, offered.description.clone(), settings)
        }))
    }
}

/// The reason of a first pass that did not end within its part of what was left of a budget.
fn late(limit: Duration) -> Result<Pass, AdapterError> {
    let limit = Duration::from_millis(limit.as_millis() as u64);
    Err(match limit < HANGS {
        true => AdapterError::NoTime,
        false => AdapterError::Hung { limit, awaited: "its first pass" },
    })
}

/// What settles, how many processes start for it, and how long it may take.
fn sentence(things: &[(External, Request)], forks: u32, all: Duration) -> String {
    let names: BTreeSet<String> = things.iter().map(|(external, _)| external.to_string()).collect();
    let runtimes: BTreeSet<&str> = things.iter().map(|(external, _)| external.runtime.as_str()).collect();
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

/// Where the other threads of runtimes go.
fn helpers(options: &Parameters) -> Helpers {
    match options.text(HELPERS) {
        None => Helpers::Apart,
        Some(SAME) => Helpers::Measured,
        // What cannot be read was refused when it was typed.
        Some(list) => CpuSet::from_list(list).map_or(Helpers::Apart, Helpers::On),
    }
}

/// What is asked for a pass of a trial, and how long it should take.
fn request(external: &External, order: &TrialOrder<'_>) -> Result<(Duration, Request), TrialFailure> {
    let RuntimeWork { operation, events, most } = order.probe.runtime_work(order.spec, order.options)?;
    let (mut cpus, roles) = (order.spec.placement.clone(), operation.roles());
    match operation {
        // The second place is that of the threads that are created, which run where their creator may.
        Operation::Spawn { .. } => match mask_of(order.spec) {
            Some(mask) => cpus = mask.iter().collect(),
            None => cpus.truncate(roles),
        },
        _ if cpus.len() != roles => {
            let sentence = format!("`{external}` is performed by {roles} threads, and not by {}", cpus.len());
            return Err(TrialFailure::of(sentence));
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
    use super::*;
    use coretalk_model::CpuId;

    #[test]
    fn who_settles_first_and_how_many_start_for_it_is_one_sentence() {
        let said = |names: &[&str], forks: u32| {
            let request = |name: &&str| {
                let request = Request {
                    name: "q".into(),
                    operation: Operation::Wait,
                    events: crate::adapters::Events::Each,
                    count: 1,
                    seed: 1,
                    cpus: vec![CpuId(0), CpuId(1)],
                    limit: Duration::from_secs(1),
                };
                (External::parse(name).unwrap(), request)
            };
            sentence(&names.iter().map(request).collect::<Vec<_>>(), forks, Duration::from_secs(1))
        };
        assert_eq!(
            said(&["ev:q"], 1),
            "ev:q settles first: a process starts, and has at most 1.00 s for that once it runs"
        );
        assert_eq!(
            said(&["ev:q", "java:park", "ev:r"], 40),
            "ev:q, ev:r, java:park settle first: 80 processes start, and have at most 1.00 s in all for that once they run"
        );
    }

    #[test]
    fn what_has_never_worked_is_given_up_and_a_refusal_is_not_held_against_it() {
        let (external, kind) = (External::parse("java:queue").unwrap(), Kind::Queue);
        let refused = || Err::<(), _>(AdapterError::Refused { text: "capacity 7 is no power of two".into() });
        let wrong = |asked| Err::<(), _>(AdapterError::WrongCount { asked, said: 1 });
        let mut runtimes = Runtimes::default();
        for _ in 0..9 {
            assert!(runtimes.note(&external, kind, refused()).is_err());
        }
        let reason =
            |asked| TrialFailure::of(format!("it counted 1 operations where {asked} were asked for"));
        assert_eq!(runtimes.note(&external, kind, wrong(2)), Err(reason(2)));
        assert_eq!(runtimes.given_up(&external, kind), None);
        assert!(runtimes.note(&external, kind, wrong(3)).is_err());
        assert_eq!(runtimes.given_up(&external, kind), Some(&reason(3)));
        assert_eq!(runtimes.given_up(&external, Kind::Wake), None, "another thing of that name");

        let mut runtimes = Runtimes::default();
        let hung = AdapterError::Hung { limit: Duration::from_secs(5), awaited: "a line" };
        let said = runtimes.note(&external, kind, Err::<(), _>(hung)).unwrap_err().to_string();
        assert!(said.contains("while a line was awaited"), "{said}");
        assert!(runtimes.given_up(&external, kind).is_some(), "once is enough");

        let mut runtimes = Runtimes::default();
        assert!(matches!(late(HANGS), Err(AdapterError::Hung { .. })));
        let late = late(HANGS - Duration::from_millis(1)).map(drop);
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
