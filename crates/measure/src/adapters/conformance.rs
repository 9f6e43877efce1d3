//! [`check`]: tests every offer of an adapter against `docs/adapters.md`.

use super::Adapter;
use super::checks::ALL_ELSEWHERE;
use super::description::{Description, Offer};
use super::error::AdapterError;
use super::pace::{Pace, Warmth};
use super::pass::{AdapterPass, Note};
use super::pins::Helpers;
use super::pool::warm_request;
use super::process::{Process, START, StartSettings, describe};
use super::protocol::{AdapterOperation, Events, MAX_OPERATIONS, OperationKind, Payload, Request};
use crate::stop::Stop;
use coretalk_model::CpuId;
use coretalk_model::stats::median;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Settings of the check.
#[derive(Debug, Clone)]
pub struct CheckSettings {
    /// How the processes of the adapter are started.
    pub start: StartSettings,
    /// CPUs of the other threads of these processes.
    pub helpers: Helpers,
    /// CPUs of the two roles.
    pub cpus: [CpuId; 2],
    /// Span of a judged pass.
    pub span: Duration,
    /// Time limit of a pass.
    pub limit: Duration,
    /// Maximum warm-up of each item.
    pub warm_up: Duration,
    /// Time that the adapter may take to end.
    pub patience: Duration,
}

/// Result of the check.
#[derive(Debug)]
pub struct Conformance {
    /// What the adapter offers.
    pub description: Description,
    /// Time to start, describe and end.
    pub start: Duration,
    /// Results of each offer with each payload.
    pub things: Vec<Thing>,
    /// Answer of the adapter to requests that no adapter can fulfil.
    pub refusal: Result<(), AdapterError>,
    /// How the adapter ended.
    pub end: Result<(), AdapterError>,
}

/// One offer of an adapter with one payload.
#[derive(Debug)]
pub struct Thing {
    /// Kind.
    pub kind: OperationKind,
    /// Name.
    pub name: String,
    /// Payload of a queue; `None` for other kinds.
    pub payload: Option<Payload>,
    /// Measured passes, or the fault.
    pub found: Result<ConformingPasses, AdapterError>,
}

/// Passes of an offer that conforms.
#[derive(Debug)]
pub struct ConformingPasses {
    /// Passes per capacity; `None` for offers without capacity.
    pub passes: Vec<(Option<u64>, Vec<AdapterPass>)>,
    /// Operations performed during warm-up.
    pub operations: u64,
    /// Whether the offer settled within the warm-up.
    pub has_settled: bool,
}

/// Numbers of operations to test: small ones, and one more than the table of numbers holds.
const COUNTS: [u64; 3] = [1, 2, 1_025];
/// Numbers of operations for roles that share a CPU. Spinning took 74 ms per operation there.
const SHARED: [u64; 2] = [1, 8];
/// Judged passes per capacity. The range of five holds the true median with 94 % confidence.
const PASSES: usize = 5;
/// Tested queue capacities, clamped to the offered range.
const CAPACITIES: [u64; 3] = [1, 10, 1_000];
const GAP_NS: u64 = 20_000;
const CONTEND: AdapterOperation = AdapterOperation::Contend { threads: 2 };
const SPAWN: AdapterOperation = AdapterOperation::Spawn { gap_ns: 0 };

impl Conformance {
    /// All faults, each with its offer if there is one.
    pub fn breaches(&self) -> Vec<(Option<&Thing>, &AdapterError)> {
        let things = self.things.iter();
        let things = things.filter_map(|thing| Some((Some(thing), thing.found.as_ref().err()?)));
        let others = [&self.refusal, &self.end].into_iter().filter_map(|part| part.as_ref().err());
        things.chain(others.map(|error| (None, error))).collect()
    }

    /// Notes of the adapter, one for each name.
    pub fn notes(&self) -> Vec<&Note> {
        let mut names = BTreeSet::new();
        let found = self.things.iter().filter_map(|thing| thing.found.as_ref().ok());
        let passes = found.flat_map(|found| &found.passes).flat_map(|(_, passes)| passes);
        let notes = passes.flat_map(|pass| &pass.notes);
        notes.filter(|note| names.insert(&note.name)).collect()
    }
}

/// Median of a value over the passes that have it.
pub fn median_of(passes: &[AdapterPass], value: impl Fn(&AdapterPass) -> Option<f64>) -> Option<f64> {
    median(&passes.iter().filter_map(value).collect::<Vec<f64>>())
}

/// Requests everything that an adapter offers, and calls `notify` before each item. Fails only if the adapter cannot be
/// started or described, or if the user interrupts. The result holds all other faults.
pub fn check(
    adapter: &Adapter,
    settings: &CheckSettings,
    notify: &mut dyn FnMut(&Offer, Option<Payload>),
    stop: &Stop,
) -> Result<Conformance, AdapterError> {
    let begun = Instant::now();
    let description = describe(adapter, &settings.start, START, stop)?;
    let start = begun.elapsed();
    let mut inspector = Inspector { adapter, settings, stop, process: None, seed: 1 };
    let mut things = Vec::new();
    for offer in &description.offers {
        let payloads: Vec<Option<Payload>> = match offer.kind {
            OperationKind::Queue => offer.payloads.iter().copied().map(Some).collect(),
            _ => vec![None],
        };
        for payload in payloads {
            notify(offer, payload);
            let found = inspector.inspect(offer, payload);
            if matches!(found, Err(AdapterError::Interrupted)) {
                return Err(AdapterError::Interrupted);
            }
            if found.is_err() {
                inspector.process = None;
            }
            things.push(Thing { kind: offer.kind, name: offer.name.clone(), payload, found });
        }
    }
    let refusal = match inspector.check_refusals(&description) {
        Err(AdapterError::Interrupted) => return Err(AdapterError::Interrupted),
        refusal => refusal,
    };
    let end = inspector.process.take().map_or(Ok(()), |process| process.close(settings.patience));
    Ok(Conformance { description, start, things, refusal, end })
}

struct Inspector<'a> {
    adapter: &'a Adapter,
    settings: &'a CheckSettings,
    stop: &'a Stop,
    process: Option<Process>,
    seed: u32,
}

fn operation_of(kind: OperationKind) -> AdapterOperation {
    match kind {
        OperationKind::Alternate => AdapterOperation::Alternate,
        OperationKind::Cost => AdapterOperation::Cost,
        OperationKind::Clock => AdapterOperation::Clock,
        OperationKind::Wake => AdapterOperation::Wake { gap_ns: GAP_NS },
        OperationKind::Contend => CONTEND,
        OperationKind::Spawn => SPAWN,
        OperationKind::Queue | OperationKind::Wait => AdapterOperation::Wait,
    }
}

impl Inspector<'_> {
    fn inspect(&mut self, offer: &Offer, payload: Option<Payload>) -> Result<ConformingPasses, AdapterError> {
        let (least, most) = (*offer.capacities.start(), *offer.capacities.end());
        let capacities: BTreeSet<Option<u64>> = match payload {
            Some(_) => CAPACITIES.map(|capacity| Some(capacity.clamp(least, most))).into(),
            None => [None].into(),
        };
        let events = match offer.kind {
            OperationKind::Queue | OperationKind::Cost | OperationKind::Contend => vec![Events::Together],
            OperationKind::Wait => vec![Events::Each, Events::Together],
            OperationKind::Alternate | OperationKind::Clock | OperationKind::Wake | OperationKind::Spawn => {
                vec![Events::Each]
            }
        };
        let request = |capacity: Option<u64>, events: Events| Request {
            name: offer.name.clone(),
            operation: match (offer.kind, payload) {
                (OperationKind::Queue, Some(payload)) => {
                    AdapterOperation::Queue { capacity: capacity.unwrap_or(least), payload }
                }
                (kind, _) => operation_of(kind),
            },
            events,
            count: MAX_OPERATIONS,
            seed: 0,
            cpus: self.settings.cpus[..operation_of(offer.kind).roles()].to_vec(),
            limit: self.settings.limit,
        };
        let first = capacities.first().copied().flatten();
        let mut plan: Vec<Request> = Vec::new();
        for &events in &events {
            let one = request(first, events);
            plan.extend(COUNTS.map(|count| Request { count, ..one.clone() }));
            if let [cpu, _] = one.cpus[..] {
                plan.extend(SHARED.map(|count| Request { count, cpus: vec![cpu; 2], ..one.clone() }));
            }
            if offer.kind == OperationKind::Spawn {
                let (cpus, operation) =
                    (self.settings.cpus.to_vec(), AdapterOperation::Spawn { gap_ns: GAP_NS });
                plan.push(Request { count: COUNTS[1], operation, cpus, ..one.clone() });
            }
        }
        let last = events.last().copied().unwrap_or(Events::Together);
        let judged: Vec<(Option<u64>, Request)> =
            capacities.into_iter().map(|capacity| (capacity, request(capacity, last))).collect();
        for request in plan {
            self.pass(request)?;
        }
        let mut warmth = Warmth::default();
        let warm = warm_request(&judged[0].1, most, &self.settings.start.allowed);
        let (mut pace, until) = (Pace::default(), Instant::now() + self.settings.warm_up);
        while !warmth.has_settled() && Instant::now() < until {
            let pass = self.paced(&warm, &mut pace)?.0;
            warmth.note(&pass, offer.kind, false);
        }
        let mut passes = Vec::new();
        for (capacity, request) in judged {
            let mut pace = Pace::default();
            let mut judged = Vec::new();
            while judged.len() < PASSES {
                let (pass, is_long_enough) = self.paced(&request, &mut pace)?;
                judged.extend(is_long_enough.then_some(pass));
            }
            check_roles_worked(&judged)?;
            passes.push((capacity, judged));
        }
        Ok(ConformingPasses { passes, operations: warmth.operations(), has_settled: warmth.has_settled() })
    }

    /// Performs one pass of about the requested span, or a pilot. Also returns whether the pass was long enough.
    fn paced(&mut self, request: &Request, pace: &mut Pace) -> Result<(AdapterPass, bool), AdapterError> {
        let span = self.settings.span;
        let pass = self.pass(pace.sized(request, span))?;
        let is_long_enough = pace.note(&pass, span, request.count);
        Ok((pass, is_long_enough))
    }

    /// Performs a pass with a fresh seed, so that a memorised answer is wrong.
    fn pass(&mut self, request: Request) -> Result<AdapterPass, AdapterError> {
        self.seed = self.seed.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        let request = Request { seed: self.seed, ..request };
        let helpers = self.settings.helpers.during(&self.settings.start.allowed, &request.cpus);
        let process = match &mut self.process {
            Some(process) => process,
            none => none.insert(Process::start(self.adapter, 0, &self.settings.start)?),
        };
        process.pass(&request, &helpers, self.stop)
    }

    /// Requests an unknown name of each kind, then a known one. The adapter must continue after a refusal.
    fn check_refusals(&mut self, description: &Description) -> Result<(), AdapterError> {
        let Some(known) = description.offers.first() else { return Ok(()) };
        let request = |name: &str, operation: AdapterOperation| Request {
            name: name.to_owned(),
            operation,
            events: match operation.kind() {
                OperationKind::Queue | OperationKind::Wait | OperationKind::Cost | OperationKind::Contend => {
                    Events::Together
                }
                OperationKind::Alternate
                | OperationKind::Clock
                | OperationKind::Wake
                | OperationKind::Spawn => Events::Each,
            },
            count: 1,
            seed: 0,
            cpus: self.settings.cpus[..operation.roles()].to_vec(),
            limit: self.settings.limit,
        };
        let unknown = format!("{}-that-is-not-there", known.name);
        let queue = AdapterOperation::Queue { capacity: 1, payload: Payload::U64 };
        for operation in
            [queue, AdapterOperation::Wake { gap_ns: GAP_NS }, AdapterOperation::Wait, CONTEND, SPAWN]
        {
            if operation.kind().version() > description.version {
                continue;
            }
            let request = request(&unknown, operation);
            let why = match self.pass(request.clone()) {
                Err(AdapterError::Refused { .. }) => continue,
                Err(AdapterError::Interrupted) => return Err(AdapterError::Interrupted),
                Err(error) => error,
                Ok(_) => AdapterError::NotRefused,
            };
            return Err(AdapterError::Unknown { request: request.to_string(), why: Box::new(why) });
        }
        let operation = match known.kind {
            OperationKind::Queue => {
                let payload = known.payloads.first().copied().unwrap_or(Payload::U64);
                AdapterOperation::Queue { capacity: *known.capacities.start(), payload }
            }
            kind => operation_of(kind),
        };
        self.pass(request(&known.name, operation)).map(drop)
    }
}

/// Checks that the roles of a settled runtime did the work. The pass with the median share outside the roles decides.
fn check_roles_worked(passes: &[AdapterPass]) -> Result<(), AdapterError> {
    let mut shares: Vec<(f64, f64)> = passes.iter().filter_map(|pass| pass.outside.zip(pass.late)).collect();
    shares.sort_by(|a, b| a.0.total_cmp(&b.0));
    match shares.get(shares.len() / 2) {
        Some(&(outside, late)) if outside > ALL_ELSEWHERE && late > outside / 2.0 => {
            Err(AdapterError::LateThreads { share: late })
        }
        Some(&(outside, _)) if outside > ALL_ELSEWHERE => {
            Err(AdapterError::WorkedElsewhere { share: outside })
        }
        _ => Ok(()),
    }
}
