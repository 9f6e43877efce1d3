//! What is meant by a command that measures series.

use crate::args::options::Global;
use crate::args::series::SeriesArgs;
use crate::args::value::PairsWord;
use crate::args::words::OrderWord;
use crate::exit::Failure;
use crate::report::fmt::digits::duration;
use crate::resolve::cpus::{cpus_and_pairs, parallel, two_cpus_each};
use crate::resolve::run_options::RunOptions;
use crate::resolve::{output, runtimes};
use coretalk_measure::series::{SeriesRequest, headlines, representative_pairs};
use coretalk_measure::session::series::least_span;
use coretalk_measure::{Machine, Stop, probes};
use coretalk_model::latency::{PairChoice, Parallel};
use coretalk_model::series::{Headline, SeriesSettings, TrialSpec};
use coretalk_model::stats::ANALYSES;
use coretalk_model::{CpuId, Picos, Topology};

/// The half-width asked for where nothing was said.
const PRECISION: f64 = 0.02;

/// What is meant by a command that measures series.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesRequested {
    /// What to measure.
    pub settings: SeriesSettings,
    /// What the user should know before it begins: trials that this machine cannot perform.
    pub notices: Vec<String>,
    /// Everything else.
    pub options: RunOptions,
}

/// What is meant by the arguments of a command that measures series, on a machine.
///
/// # Errors
/// [`Failure`]: a CPU that does not exist or is not allowed, too few of them, an unknown name, a feature that the CPU
/// lacks where nothing else was asked for.
pub fn request(
    machine: &mut dyn Machine,
    global: &Global,
    args: &dyn SeriesArgs,
    seed: u64,
    stop: &Stop,
) -> Result<SeriesRequested, Failure> {
    let topology = &machine.topology().clone();
    if !args.may_share_a_cpu() {
        two_cpus_each(args.pairs(), &format!("`{}`", args.probe()))?;
    }
    let on_one = |pair: &[CpuId; 2]| pair[0] == pair[1];
    let fewest = match args.pairs() {
        Some(PairsWord::Listed(listed)) if listed.iter().any(on_one) => 1,
        _ => args.fewest_cpus(),
    };
    let (cpus, choice) = cpus_and_pairs(machine, global, args.pairs(), fewest)?;
    // Pairs choose who is measured, and not who else is there.
    let cpus = match args.has_neighbours() {
        true => cpus_and_pairs(machine, global, None, fewest)?.0,
        false => cpus,
    };
    let cpus: Vec<CpuId> = match global.order {
        Some(OrderWord::Id) => cpus.iter().collect(),
        _ => topology.order(&cpus),
    };
    let pairs = match (choice, args.pairs()) {
        (PairChoice::Listed(listed), _) => listed,
        (PairChoice::Siblings, _) => ordered(&cpus).filter(|[a, b]| topology.are_siblings(*a, *b)).collect(),
        (PairChoice::All, Some(_)) => ordered(&cpus).collect(),
        (PairChoice::All | PairChoice::Representatives, _) => representative_pairs(topology, &cpus),
    };
    let probe = probes::series_by_id(args.probe())
        .ok_or_else(|| Failure::Internal(format!("there is no probe {}", args.probe())))?;
    let options = match parallel(args.parallel(), cpus.len())? {
        Parallel::Auto => args.options(),
        Parallel::AtMost(pairs) => args.options().with_parallel(Some(pairs)),
    };
    let trials = probe
        .trials(&SeriesRequest { topology, cpus: &cpus, pairs: &pairs, options: &options })
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let (options, mut notices) = match args.runtime() {
        Some(args) => runtimes::options(args, machine, &trials, options)?,
        None => (options, Vec::new()),
    };
    let verbosity = output::options(global).verbosity;
    // Before runtimes are built, for what may take minutes; and again of what is left then.
    global.budget.map_or(Ok(()), |budget| enough_time(&trials, budget))?;
    let preparing = global.budget.unwrap_or(args.budget());
    notices.extend(runtimes::prepare(machine, &trials, &options, preparing, verbosity, stop)?);
    let (trials, skipped) = possible(machine, trials)?;
    notices.extend(skipped);
    let budget = args.budget() + of_long_passes(&trials);
    let settings = SeriesSettings {
        probes: vec![args.probe().to_owned()],
        headlines: headlines(probe).into_iter().map(Headline::from).collect(),
        quantities: probes::quantities(),
        options,
        trials,
        precision: global.precision.unwrap_or(PRECISION),
        budget: global.budget.unwrap_or(budget),
        seed,
        cpus,
    };
    enough_time(&settings.trials, settings.budget)?;
    let options = RunOptions::of(global, Some(workers(&settings, topology)));
    Ok(SeriesRequested { settings, notices, options })
}

/// Says before a run begins that its budget is below what one pass of any of its trials takes.
fn enough_time(trials: &[TrialSpec], budget: Picos) -> Result<(), Failure> {
    let least = trials.iter().map(least_span).min().unwrap_or_default();
    if least <= budget {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "--budget {} is too short: one pass of a trial takes {}; set it to {} or more",
        duration(budget.secs()),
        duration(least.secs()),
        // A first analysis.
        duration((least.secs() * ANALYSES[0] as f64).ceil())
    )))
}

/// The CPUs that trials run on: those that take no part need no thread.
pub fn workers(settings: &SeriesSettings, topology: &Topology) -> Vec<CpuId> {
    let used = settings.trials.iter().flat_map(|trial| trial.placement.iter().copied()).collect();
    topology.order(&used)
}

fn ordered(cpus: &[CpuId]) -> impl Iterator<Item = [CpuId; 2]> + '_ {
    let pairs = cpus.iter().flat_map(|&from| cpus.iter().map(move |&to| [from, to]));
    pairs.filter(|[from, to]| from != to)
}

/// The trials that this machine can perform, and a sentence for those that it cannot.
///
/// # Errors
/// It can perform none of them.
pub fn possible(
    machine: &dyn Machine,
    trials: Vec<TrialSpec>,
) -> Result<(Vec<TrialSpec>, Vec<String>), Failure> {
    let mut lacks: Vec<String> = Vec::new();
    let mut kept: Vec<TrialSpec> = Vec::with_capacity(trials.len());
    // What a trial lacks is found out by trying, which may take a second for a large queue: once for those that differ in
    // their CPUs alone.
    let mut tried: Option<(TrialSpec, Option<String>)> = None;
    for trial in trials {
        let probe = probes::series_by_id(&trial.probe);
        let same = |known: &TrialSpec| {
            (&known.probe, &known.parameters, known.placement.len())
                == (&trial.probe, &trial.parameters, trial.placement.len())
        };
        let lack = match tried.take().filter(|(known, _)| same(known)) {
            Some((_, lack)) => lack,
            None => probe.and_then(|probe| machine.lacks(probe, &trial)),
        };
        tried = Some((trial.clone(), lack.clone()));
        match lack {
            None => kept.push(trial),
            Some(lack) if lacks.contains(&lack) => {}
            Some(lack) => lacks.push(lack),
        }
    }
    if kept.is_empty() && !lacks.is_empty() {
        return Err(Failure::Environment(lacks.swap_remove(0)));
    }
    Ok((kept, lacks.iter().map(|lack| format!("{lack}; skipped")).collect()))
}

/// What trials with long passes add to a budget that nobody chose: their first analysis, and no more than a person
/// waits for.
fn of_long_passes(trials: &[TrialSpec]) -> Picos {
    const LONG: Picos = Picos::from_ms(250);
    const MOST: Picos = Picos::from_ms(90_000);
    let long = trials.iter().map(least_span).filter(|span| *span > LONG);
    Picos(long.map(|span| span.0 * ANALYSES[0] as u64).sum::<u64>()).min(MOST)
}
