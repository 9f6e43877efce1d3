//! The trials of a request for queues, and the parameters of one trial.

use super::sweep;
use crate::queues::catalogue::{Batches, KINDS, QueueKind, kind};
use crate::queues::exchange::MAX_PRODUCERS;
use crate::queues::payload::Payload;
use crate::series::{Concurrent, RequestError, SeriesRequest};
use crate::wait::WaitMode;
use coretalk_model::external::External;
use coretalk_model::series::{Parameters, TrialSpec};
use coretalk_model::stats::Key;
use coretalk_model::{CpuId, Relation};

const QUEUES: &str = "semaphore-slim,semaphore,spsc";
const QUEUES_IN_BATCHES: &str = "spsc,slots";
const QUEUES_WITH_SEVERAL_ENDS: &str = "mutex,array-queue,crossbeam";
/// Default capacities.
pub const CAPACITIES: &str = "1,10,100,1000,10000";
/// Default capacity at a fixed rate, in a sweep of rates and for batches. Most batches fit. A queue that sustains a
/// rate holds few messages, whatever its capacity.
const CAPACITY_AT_RATE_OR_IN_BATCHES: &str = "1000";
/// Maximum time in seconds to fill a batch at a fixed rate. A pass then holds several batches.
const MAX_FILLING_S: f64 = 0.1;
/// Minimum rate in messages per second. A pass needs a hundred messages, which take ten seconds at this rate.
const MIN_RATE: f64 = 10.0;
/// Maximum capacity. The counters of our semaphores limit it.
pub const MAX_CAPACITY: u64 = crate::queues::bounded::MAX_PERMITS as u64;
/// Number of additional random pairs. They test whether the representatives are typical. If none of 60 is an outlier,
/// at most one pair in twenty is, at 95 % confidence (the rule of three: 3 / 60).
pub const VERIFIED: usize = 60;
/// Maximum trials: a minute at the shortest pass. All pairs of 16 CPUs with the default options are 3,840 trials.
const MAX_TRIALS: usize = 4_000;

/// The parsed parameters of one trial.
#[derive(Debug, Clone, Copy)]
pub struct QueueConfig {
    /// The queue.
    pub kind: &'static QueueKind,
    /// Polls of an end before it sleeps.
    pub spins: u32,
    /// Type of the messages.
    pub payload: Payload,
    /// Capacity in messages.
    pub capacity: usize,
    /// Numbers of producers and consumers.
    pub sides: [usize; 2],
    /// Fixed rate in messages per second; `None` for full speed.
    pub rate: Option<f64>,
    /// Messages per batch, if batches were requested.
    pub batch: Option<usize>,
}

impl QueueConfig {
    /// Approximate memory of a full queue. Each message has an extra word, as in most queues.
    pub fn bytes(&self) -> u64 {
        self.capacity as u64 * (self.payload.bytes() as u64 + size_of::<u64>() as u64)
    }

    /// Parses the parameters of a trial. Fails with the first invalid parameter.
    pub fn from_spec(spec: &TrialSpec) -> Result<QueueConfig, RequestError> {
        let parameters = &spec.parameters;
        let (kind, spins) = kind(parameters.text("queue").unwrap_or_default())?;
        let count = |name| parameters.number(name).unwrap_or(1.0) as usize;
        let sides = [count("producers"), count("consumers")];
        Ok(QueueConfig {
            kind,
            spins,
            payload: Payload::parse(parameters.text("payload").unwrap_or("u64"))?,
            capacity: parameters.number("capacity").unwrap_or(1.0) as usize,
            sides,
            rate: parameters.number("rate_per_s"),
            batch: parameters.number("batch").map(|batch| batch as usize),
        })
    }
}

/// Whether a trial may run while others do. Only pairs at full speed may; trials with batches are too few to need it.
pub fn concurrent(spec: &TrialSpec) -> Concurrent {
    let Ok(config) = QueueConfig::from_spec(spec) else { return Concurrent::Never };
    let is_pair = config.sides == [1, 1] && spec.parameters.number("producers").is_none();
    if !is_pair || config.rate.is_some() || config.batch.is_some() {
        return Concurrent::Never;
    }
    match *spec.placement {
        // Two threads that poll on one CPU measure the quantum, so their rate is not compared.
        [from, to] if from == to && config.kind.waits == WaitMode::Spin => Concurrent::Always,
        [_, _] => Concurrent::IfProven,
        _ => Concurrent::Never,
    }
}

pub fn trials(request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
    let options = request.options;
    let list = |name: &str, default: &'static str| -> Vec<String> {
        options.text(name).unwrap_or(default).split(',').map(|item| item.trim().to_owned()).collect()
    };
    let batches = options.text("batch").map(batches).transpose()?;
    let sides = [counts_of_side("producers", options)?, counts_of_side("consumers", options)?];
    let has_several = sides.iter().flatten().any(|count| *count > 1);
    let queues = match batches {
        Some(_) => QUEUES_IN_BATCHES,
        None if has_several => QUEUES_WITH_SEVERAL_ENDS,
        None => QUEUES,
    };
    let kinds = list("queue", queues)
        .into_iter()
        .map(|name| match External::parse(&name) {
            Some(_) => Ok((name, None)),
            None => kind(&name).map(|(kind, _)| (name, Some(kind))),
        })
        .collect::<Result<Vec<_>, _>>()?;
    let sweep = options.text("rate_sweep").map(sweep::rates).transpose()?;
    let rates: Vec<Option<f64>> = match &sweep {
        Some(rates) => rates.iter().copied().map(Some).collect(),
        None => vec![options.number("rate_per_s")],
    };
    if let Some(rate) = rates.iter().flatten().find(|rate| **rate < MIN_RATE) {
        let option = if sweep.is_some() { "--rate-sweep" } else { "--rate" };
        let allowed = format!(
            "at least {MIN_RATE}/s, as a pass needs a hundred messages to tell whether a rate is kept"
        );
        return Err(RequestError::out_of_range(format!("{option}: {rate}/s"), allowed));
    }
    let default = if has_rate_or_batch(options) { CAPACITY_AT_RATE_OR_IN_BATCHES } else { CAPACITIES };
    let capacities =
        list("capacity", default).iter().map(|text| capacity(text)).collect::<Result<Vec<_>, _>>()?;
    let payloads =
        list("payload", "u64").iter().map(|text| Payload::parse(text)).collect::<Result<Vec<_>, _>>()?;
    for (name, kind) in &kinds {
        let Some(kind) = kind else {
            external_fits(name, options, &sides)?;
            continue;
        };
        for (index, side) in ["producer", "consumer"].into_iter().enumerate() {
            if sides[index].iter().any(|count| *count > 1) && !kind.several[index] {
                let able = KINDS.iter().filter(|kind| kind.several[index]).map(|kind| kind.id);
                let sentence = format!(
                    "queue `{name}` allows only one {side}; leave it out or use one {side}; queues with several are {}",
                    able.collect::<Vec<_>>().join(", ")
                );
                return Err(RequestError::Unfit(sentence.into()));
            }
        }
    }
    if let Some(batches) = &batches {
        let named = || kinds.iter().filter_map(|(name, kind)| Some((name.as_str(), (*kind)?)));
        batches_fit(batches, named(), &capacities, options.number("rate_per_s"))?;
    }
    // One producer and one consumer are measured as a map of CPU pairs, unless several counts are listed.
    let is_pairs = sides.iter().all(|counts| counts[..] == [1]);
    let mut shapes = Vec::new();
    for (name, _) in &kinds {
        for payload in &payloads {
            for &capacity in &capacities {
                let shape = Parameters::default()
                    .with("queue", name.as_str())
                    .with("payload", payload.to_string())
                    .with("capacity", capacity as f64);
                if is_pairs {
                    let at_rate = |rate: &Option<f64>| shape.clone().with_some("rate_per_s", *rate);
                    let with_batch = |batch: &u64| at_rate(&rates[0]).with("batch", *batch as f64);
                    match &batches {
                        Some(batches) => shapes.extend(batches.iter().map(with_batch)),
                        None => shapes.extend(rates.iter().map(at_rate)),
                    }
                    continue;
                }
                for &producers in &sides[0] {
                    let shape = shape.clone().with("producers", producers as f64);
                    let with_consumers =
                        |consumers: &usize| shape.clone().with("consumers", *consumers as f64);
                    shapes.extend(sides[1].iter().map(with_consumers));
                }
            }
        }
    }
    if let Some(twice) = shapes.iter().enumerate().find(|(index, shape)| shapes[..*index].contains(shape)) {
        let sentence = format!("the same queue is listed twice ({})", label(twice.1));
        return Err(RequestError::Unfit(sentence.into()));
    }
    let placements = if is_pairs { placements(request, shapes.len()) } else { Vec::new() };
    let placement_of = |shape: &Parameters| -> Vec<CpuId> {
        let count = |name| shape.number(name).unwrap_or(1.0) as usize;
        // One placement. Roles take the CPUs in order, and share them if there are too few.
        request.cpus.iter().copied().cycle().take(count("producers") + count("consumers")).collect()
    };
    let trial = |shape: &Parameters, placement: &Vec<CpuId>| TrialSpec {
        probe: "queue".to_owned(),
        parameters: shape.clone(),
        placement: placement.clone(),
    };
    if !is_pairs {
        return Ok(shapes.iter().map(|shape| trial(shape, &placement_of(shape))).collect());
    }
    Ok(shapes.iter().flat_map(|shape| placements.iter().map(|cpus| trial(shape, cpus))).collect())
}

fn counts_of_side(side: &'static str, options: &Parameters) -> Result<Vec<usize>, RequestError> {
    let listed = options.text(side).map(|list| list.split(',').map(str::trim).collect::<Vec<_>>());
    let Some(listed) = listed else { return Ok(vec![options.number(side).unwrap_or(1.0) as usize]) };
    let option = if side == "producers" { "--producers" } else { "--consumers" };
    if let Some((_, twice)) = listed.iter().enumerate().find(|(index, item)| listed[..*index].contains(item))
    {
        return Err(RequestError::twice(option, twice));
    }
    let count = |text: &&str| {
        let count = text.parse().ok().filter(|count| (1..MAX_PRODUCERS).contains(count));
        count.ok_or_else(|| {
            RequestError::out_of_range(format!("{option} {text}"), "a queue can have 1 to 255")
        })
    };
    listed.iter().map(count).collect()
}

fn batches(list: &str) -> Result<Vec<u64>, RequestError> {
    let listed: Vec<&str> = list.split(',').map(str::trim).collect();
    if let Some((_, twice)) = listed.iter().enumerate().find(|(index, item)| listed[..*index].contains(item))
    {
        return Err(RequestError::twice("--batch", twice));
    }
    let count = |text: &&str| {
        let count = text.parse().ok().filter(|count| (1..=MAX_CAPACITY).contains(count));
        let allowed = || format!("a batch is a whole number of messages, 1 to {MAX_CAPACITY}");
        count.ok_or_else(|| RequestError::out_of_range(format!("--batch {text}"), allowed()))
    };
    listed.iter().map(count).collect()
}

fn batches_fit<'a>(
    batches: &[u64],
    kinds: impl Iterator<Item = (&'a str, &'static QueueKind)>,
    capacities: &[u64],
    rate_per_s: Option<f64>,
) -> Result<(), RequestError> {
    let unfit = |sentence: String| Err(RequestError::Unfit(sentence.into()));
    let most = batches.iter().copied().max().unwrap_or(1);
    let several = batches.iter().filter(|batch| **batch > 1).count();
    for (name, kind) in kinds {
        match kind.batches {
            Batches::None if most > 1 => {
                let known = KINDS.iter().filter(|kind| kind.batches != Batches::None);
                let known: Vec<&str> = known.map(|kind| kind.id).collect();
                return unfit(format!(
                    "queue `{name}` has no batches; leave it out or use --batch 1; queues with batches are {}",
                    known.join(", ")
                ));
            }
            Batches::Drained if several > 1 => {
                return unfit(format!(
                    "queue `{name}` takes out all messages that wait, whatever the batch; leave it out or use one number \
                     above 1 in --batch"
                ));
            }
            _ => {}
        }
    }
    if let Some(least) = capacities.iter().find(|capacity| **capacity < most) {
        let smaller =
            if *least == 1 { "--batch 1".to_owned() } else { format!("batches of at most {least} messages") };
        return unfit(format!(
            "--batch {most} does not fit into a queue of --capacity {least}; use {smaller} or a larger --capacity"
        ));
    }
    match rate_per_s.map(|rate| most as f64 / rate) {
        Some(seconds) if most > 1 && seconds > MAX_FILLING_S => unfit(format!(
            "--batch {most} takes {seconds:.1} s to fill at this --rate; use a rate of at least {}/s or smaller batches",
            (most as f64 / MAX_FILLING_S).ceil()
        )),
        _ => Ok(()),
    }
}

/// Checks that a runtime's queue can be measured: one producer, one consumer, full speed.
fn external_fits(name: &str, options: &Parameters, sides: &[Vec<usize>; 2]) -> Result<(), RequestError> {
    let unfit = |sentence: String| Err(RequestError::Unfit(sentence.into()));
    for (parameter, option) in [("rate_per_s", "--rate"), ("rate_sweep", "--rate-sweep")] {
        if options.0.contains_key(parameter) {
            return unfit(format!(
                "`{name}` is a queue of a runtime, which sends at no fixed rate; drop {option} or leave it out"
            ));
        }
    }
    if options.0.contains_key("batch") {
        return unfit(format!(
            "`{name}` is a queue of a runtime, which sends one message at a time; drop --batch or leave it out"
        ));
    }
    if sides.iter().flatten().any(|count| *count != 1) {
        return unfit(format!(
            "`{name}` is a queue of a runtime, which has one producer and one consumer; leave it out"
        ));
    }
    Ok(())
}

fn label(shape: &Parameters) -> String {
    let spec = TrialSpec { probe: String::new(), parameters: shape.clone(), placement: Vec::new() };
    spec.label()
}

fn capacity(text: &str) -> Result<u64, RequestError> {
    let capacity = text.parse::<u64>().ok().filter(|capacity| (1..=MAX_CAPACITY).contains(capacity));
    let allowed = || format!("a queue can hold 1 to {MAX_CAPACITY} messages");
    capacity.ok_or_else(|| RequestError::out_of_range(format!("a capacity of `{text}`"), allowed()))
}

fn placements(request: &SeriesRequest<'_>, shapes: usize) -> Vec<Vec<CpuId>> {
    let cpus = request.cpus;
    let placed = |pairs: &[[CpuId; 2]]| pairs.iter().map(|pair| pair.to_vec()).collect();
    match request.options.text("pairs") {
        Some("listed") => placed(request.pairs),
        Some("representatives") => placed(&sample(request)),
        Some(_) => placed(&all_pairs(cpus)),
        // One pair for each relation. A single CPU takes both roles.
        None if has_rate_or_batch(request.options) => match (request.pairs, cpus) {
            ([], [cpu, ..]) => vec![vec![*cpu; 2]],
            (pairs, _) => placed(pairs),
        },
        None if cpus.len() * cpus.len() * shapes > MAX_TRIALS => placed(&sample(request)),
        None => placed(&all_pairs(cpus)),
    }
}

/// Whether a rate or batches are requested. One pair then represents each relation.
fn has_rate_or_batch(options: &Parameters) -> bool {
    ["rate_per_s", "rate_sweep", "batch"].iter().any(|name| options.0.contains_key(*name))
}

fn all_pairs(cpus: &[CpuId]) -> Vec<[CpuId; 2]> {
    cpus.iter().flat_map(|&from| cpus.iter().map(move |&to| [from, to])).collect()
}

/// Representative pairs of each relation, then random ones of the remaining pairs.
fn sample(request: &SeriesRequest<'_>) -> Vec<[CpuId; 2]> {
    let mut pairs = all_pairs(request.cpus);
    // The same pairs in every run on a machine, so that runs can be compared and resumed.
    Key::from_words(&[pairs.len() as u64]).shuffle(&mut pairs);
    let relation = |[from, to]: [CpuId; 2]| -> Relation { request.topology.relation(from, to) };
    let mut taken: Vec<(Relation, usize)> = Vec::new();
    let (mut chosen, mut others) = (Vec::new(), Vec::new());
    for pair in pairs {
        let pair_relation = relation(pair);
        let index = taken.iter().position(|(known, _)| *known == pair_relation).unwrap_or_else(|| {
            taken.push((pair_relation, 0));
            taken.len() - 1
        });
        if taken[index].1 < coretalk_model::queue::REPRESENTATIVES {
            taken[index].1 += 1;
            chosen.push(pair);
        } else if others.len() < VERIFIED {
            others.push(pair);
        }
    }
    chosen.extend(others);
    chosen
}
