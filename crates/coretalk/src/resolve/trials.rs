//! Resolves commands that measure series.

use crate::args::options::Global;
use crate::args::series::SeriesArgs;
use crate::args::value::PairsWord;
use crate::args::words::OrderWord;
use crate::exit::Failure;
use crate::resolve::cpus::{Chosen, cpus_and_pairs, parallel, two_cpus_each};
use crate::resolve::task::Task;
use crate::resolve::{output, runtimes};
use coretalk_measure::series::{SeriesRequest, headlines, representative_pairs};
use coretalk_measure::session::series::least_span;
use coretalk_measure::{Machine, Stop, probes};
use coretalk_model::latency::{PairChoice, Parallel};
use coretalk_model::series::{Headline, SeriesSettings, TrialSpec};
use coretalk_model::stats::ANALYSES;
use coretalk_model::{CpuId, Picos};
use coretalk_report::fmt::digits::duration;

/// Default half width.
const PRECISION: f64 = 0.02;

/// Resolves the arguments of a command that measures series. Also returns notices about omitted trials and options
/// without effect. Fails for CPUs that are missing, forbidden or too few, for unknown names, or for missing CPU
/// features.
pub fn resolve(
    machine: &mut dyn Machine,
    global: &Global,
    args: &dyn SeriesArgs,
    seed: u64,
    stop: &Stop,
) -> Result<(Task, Vec<String>), Failure> {
    let topology = &machine.topology().clone();
    if !args.may_share_a_cpu() {
        two_cpus_each(args.pairs(), &format!("`{}`", args.probe()))?;
    }
    let is_on_one_cpu = |pair: &[CpuId; 2]| pair[0] == pair[1];
    let fewest = match args.pairs() {
        Some(PairsWord::Listed(listed)) if listed.iter().any(is_on_one_cpu) => 1,
        _ => args.fewest_cpus(),
    };
    let chosen = &Chosen::for_machine(machine, global)?;
    let (cpus, choice) = cpus_and_pairs(machine, chosen, args.pairs(), fewest)?;
    // `--pairs` restricts the measured pairs. CPUs outside them carry the load.
    let cpus = match args.has_neighbours() {
        true => cpus_and_pairs(machine, chosen, None, fewest)?.0,
        false => cpus,
    };
    let cpus: Vec<CpuId> = match global.order {
        Some(OrderWord::Id) => cpus.iter().collect(),
        _ => topology.order(&cpus),
    };
    let pairs = match (choice, args.pairs()) {
        (PairChoice::Listed(listed), _) => listed,
        (PairChoice::Siblings, _) => {
            ordered_pairs(&cpus).filter(|[a, b]| topology.are_siblings(*a, *b)).collect()
        }
        (PairChoice::All, Some(_)) => ordered_pairs(&cpus).collect(),
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
        .map_err(|error| Failure::Usage(error.or_of(probe.stand_ins()).to_string()))?;
    let (options, mut notices) = match args.runtime() {
        Some(args) => runtimes::options(args, machine, global, &trials, options)?,
        None => (options, Vec::new()),
    };
    let verbosity = output::options(global).verbosity;
    // The budget is checked before runtimes are built, which may take minutes, and again for the remaining trials.
    global.budget.map_or(Ok(()), |budget| refuse_short_budget(&trials, budget))?;
    let preparation_budget = global.budget.unwrap_or(args.budget());
    notices.extend(runtimes::prepare(machine, &trials, &options, preparation_budget, verbosity, stop)?);
    let (trials, skipped) = possible(machine, trials)?;
    notices.extend(skipped);
    let budget = args.budget() + extra_budget_for_long_passes(&trials);
    let settings = SeriesSettings {
        probes: vec![args.probe().to_owned()],
        headlines: headlines(probe).into_iter().map(Headline::from).collect(),
        quantities: coretalk_model::probes::quantities(),
        options,
        trials,
        precision: global.precision.unwrap_or(PRECISION),
        budget: global.budget.unwrap_or(budget),
        seed,
        cpus,
    };
    refuse_short_budget(&settings.trials, settings.budget)?;
    Ok((Task::Probes { latency: None, series: Some(settings) }, notices))
}

/// Refuses a budget that is shorter than the shortest pass of any trial.
fn refuse_short_budget(trials: &[TrialSpec], budget: Picos) -> Result<(), Failure> {
    let least = trials.iter().map(least_span).min().unwrap_or_default();
    if least <= budget {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "--budget {} is too short: one pass of a trial takes {}; set it to {} or more",
        duration(budget.secs()),
        duration(least.secs()),
        // This budget suffices for a first analysis.
        duration((least.secs() * ANALYSES[0] as f64).ceil())
    )))
}

fn ordered_pairs(cpus: &[CpuId]) -> impl Iterator<Item = [CpuId; 2]> + '_ {
    let pairs = cpus.iter().flat_map(|&from| cpus.iter().map(move |&to| [from, to]));
    pairs.filter(|[from, to]| from != to)
}

/// Selects the trials that this machine can perform. Returns a sentence for each reason to omit others.
pub fn possible(
    machine: &dyn Machine,
    trials: Vec<TrialSpec>,
) -> Result<(Vec<TrialSpec>, Vec<String>), Failure> {
    let mut lacks: Vec<String> = Vec::new();
    let mut kept: Vec<TrialSpec> = Vec::with_capacity(trials.len());
    // The check may take a second for a large queue. Consecutive trials that differ only in their CPUs share one check.
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

/// Returns the extension of the default budget for trials with long passes, enough for a first analysis; at most 90 s.
fn extra_budget_for_long_passes(trials: &[TrialSpec]) -> Picos {
    const LONG: Picos = Picos::from_ms(250);
    const MAX: Picos = Picos::from_ms(90_000);
    let long = trials.iter().map(least_span).filter(|span| *span > LONG);
    Picos(long.map(|span| span.0 * ANALYSES[0] as u64).sum::<u64>()).min(MAX)
}
