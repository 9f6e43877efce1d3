//! Resolves the options of latency maps: checks that every CPU may be used, and fills in the defaults.

use crate::args::MapCommand;
use crate::args::latency::LatencyArgs;
use crate::args::options::Global;
use crate::args::value::{AutoOr, PairsWord};
use crate::args::words::{HintWord, OrderWord};
use crate::exit::Failure;
use crate::resolve::cpus::{Chosen, cpus_and_pairs, parallel, two_cpus_each};
use crate::resolve::task::Task;
use crate::resolve::trials::possible;
use coretalk_measure::probes::imitation::Imitation;
use coretalk_measure::{Machine, suite};
use coretalk_model::latency::{Counts, HintChoice, HomeSetting, LatencySettings, PairChoice, Spacing, Tails};
use coretalk_model::series::{Gathering, SeriesSettings};
use coretalk_model::stats::{ANALYSES, MAX_ANALYSES};
use coretalk_model::{CpuId, Home, Level, Picos, Protocol, Tool, Topology};

/// Default half width.
const PRECISION: f64 = LatencySettings::PRECISION;
/// Default rate for the correction of tails.
const TAIL_RATE_PER_S: f64 = 10_000.0;

/// Resolves a command that measures a map. Also returns notices about omitted trials. Fails for a CPU that does not
/// exist or is not allowed, for too few CPUs, or for contradictory options.
pub fn resolve(
    machine: &mut dyn Machine,
    global: &Global,
    command: MapCommand<'_>,
    seed: u64,
) -> Result<(Task, Vec<String>), Failure> {
    let chosen = Chosen::for_machine(machine, global)?;
    let mut settings = settings(machine, global, &chosen, command, seed)?;
    let (series, notices) = gather_trials(machine, command, &mut settings)?;
    let latency = has_pairs(&settings).then_some(settings);
    Ok((Task::Probes { latency, series }, notices))
}

/// Returns the trials of a run of several probes, and divides the budget between these trials and the map.
fn gather_trials(
    machine: &dyn Machine,
    command: MapCommand<'_>,
    settings: &mut LatencySettings,
) -> Result<(Option<SeriesSettings>, Vec<String>), Failure> {
    let (topology, cpus) = (machine.topology(), &settings.cpus);
    let (gathering, gathered) = match command {
        MapCommand::Latency(_) => return Ok((None, Vec::new())),
        MapCommand::QuickLook => (Gathering::QuickLook, suite::quick_look(topology, cpus)),
        MapCommand::Suite => (Gathering::Suite, suite::everything(topology, cpus)),
    };
    let gathered = gathered.map_err(|error| Failure::Internal(error.to_string()))?;
    let (trials, notices) = possible(machine, gathered.trials)?;
    let [map_budget, trials_budget] = match gathering {
        Gathering::QuickLook => suite::shares_of_quick_look(settings.budget),
        Gathering::Suite if !has_pairs(settings) => [settings.budget; 2],
        Gathering::Suite => {
            let (map_alone, _) =
                budget(MapCommand::Latency(&LatencyArgs::default()), settings.cpus.len(), false);
            suite::shares_of_suite(settings.budget, map_alone, gathered.probes.len())
        }
    };
    let series = SeriesSettings {
        probes: gathered.probes,
        headlines: gathered.headlines,
        quantities: coretalk_model::probes::quantities(),
        options: gathering.options(),
        trials,
        precision: settings.precision,
        budget: trials_budget,
        seed: settings.seed,
        cpus: settings.cpus.clone(),
    };
    settings.budget = map_budget;
    Ok((Some(series), notices))
}

fn has_pairs(settings: &LatencySettings) -> bool {
    settings.cpus.len() > 1
}

fn settings(
    machine: &dyn Machine,
    global: &Global,
    chosen: &Chosen,
    command: MapCommand<'_>,
    seed: u64,
) -> Result<LatencySettings, Failure> {
    let defaults = LatencyArgs::default();
    let args = match command {
        MapCommand::QuickLook | MapCommand::Suite => &defaults,
        MapCommand::Latency(args) => args,
    };
    let topology = machine.topology();
    // Quick look and suite also run on one CPU, and show what can be measured there.
    let fewest = if matches!(command, MapCommand::Latency(_)) { 2 } else { 1 };
    two_cpus_each(args.pairs.as_ref(), "a latency")?;
    refuse_both_directions(args.pairs.as_ref())?;
    let (cpus, pairs) = cpus_and_pairs(machine, chosen, args.pairs.as_ref(), fewest)?;
    let cpus = match global.order {
        Some(OrderWord::Id) => cpus.iter().collect(),
        _ => topology.order(&cpus),
    };
    let pairs = match pairs {
        PairChoice::Listed(listed) => PairChoice::Listed(in_order(&cpus, listed)),
        other => other,
    };
    let protocols = if args.protocol.is_empty() && args.imitate.is_empty() {
        vec![Protocol::Cas]
    } else {
        args.protocol.clone()
    };
    refuse_duplicates("--protocol", &protocols)?;
    refuse_duplicates("--as", &args.imitate)?;
    if args.hint.is_some() && !protocols.iter().any(|protocol| protocol.spins()) {
        return Err(Failure::Usage(format!(
            "--hint has no effect on {}: only protocols that spin use a wait hint; drop it",
            names(&protocols)
        )));
    }
    let counts = counts(args)?;
    let guest = machine.environment().hypervisor.is_some();
    let (budget, spacing) = budget(command, cpus.len(), guest);
    let budget =
        if args.imitate.is_empty() { budget } else { budget.max(imitation_time(&counts, cpus.len())) };
    Ok(LatencySettings {
        pairs,
        protocols,
        hint: match args.hint {
            None | Some(HintWord::Auto) => HintChoice::Auto,
            Some(HintWord::None) => HintChoice::None,
            Some(HintWord::Pause) => HintChoice::Pause,
        },
        home: home(topology, args.home)?,
        lines: args.lines,
        parallel: parallel(args.parallel, cpus.len())?,
        precision: global.precision.unwrap_or(PRECISION),
        analyses: analyses(global, command),
        budget: global.budget.unwrap_or(budget),
        spacing,
        seed,
        tails: args.tails.then(|| Tails { rate_per_s: args.rate.unwrap_or(TAIL_RATE_PER_S) }),
        imitate: args.imitate.clone(),
        ladder: args.imitate.is_empty() && counts == Counts::Adaptive,
        counts,
        keep_raw: global.keep_raw,
        cpus,
    })
}

/// Refuses a pair listed in both directions, because latency has no direction.
fn refuse_both_directions(pairs: Option<&PairsWord>) -> Result<(), Failure> {
    let Some(PairsWord::Listed(listed)) = pairs else { return Ok(()) };
    let is_reversed = |index: usize, [a, b]: [CpuId; 2]| listed[..index].contains(&[b, a]);
    match listed.iter().enumerate().find(|&(index, &pair)| is_reversed(index, pair)) {
        Some((_, [a, b])) => Err(Failure::Usage(format!(
            "--pairs lists {b}-{a} and {a}-{b}: latency has no direction; drop one of them"
        ))),
        None => Ok(()),
    }
}

/// Orders pairs as the plan does: the first CPU in matrix order is the initiator.
fn in_order(cpus: &[CpuId], listed: Vec<[CpuId; 2]>) -> Vec<[CpuId; 2]> {
    let position = |cpu: CpuId| cpus.iter().position(|&known| known == cpu);
    listed.into_iter().map(|[a, b]| if position(a) <= position(b) { [a, b] } else { [b, a] }).collect()
}

fn counts(args: &LatencyArgs) -> Result<Counts, Failure> {
    match (args.samples, args.iterations, &args.tool_counts[..]) {
        (Some(samples), Some(iterations), _) => Ok(Counts::Fixed { samples, iterations }),
        (_, _, &[iterations, ref samples @ ..]) if args.imitate == [Tool::CoreToCoreLatency] => {
            let usual = Imitation::for_tool(Tool::CoreToCoreLatency).visits;
            Ok(Counts::Fixed { samples: samples.first().copied().unwrap_or(usual), iterations })
        }
        (_, _, []) => Ok(Counts::Adaptive),
        _ => Err(Failure::Usage(format!(
            "only core-to-core-latency takes its counts without options; use --samples and --iterations with {}",
            names(&args.imitate)
        ))),
    }
}

fn home(topology: &Topology, typed: Option<AutoOr>) -> Result<HomeSetting, Failure> {
    let Some(AutoOr::Number(node)) = typed else { return Ok(HomeSetting::Auto) };
    let mut nodes: Vec<u32> = topology.level(Level::Node).iter().filter_map(|node| node.os_id).collect();
    if nodes.is_empty() {
        nodes.push(0);
    }
    if nodes.contains(&node) {
        return Ok(HomeSetting::Node(Home(node)));
    }
    let known: Vec<String> = nodes.iter().map(u32::to_string).collect();
    Err(Failure::Usage(format!(
        "--home {node}: this machine has no such NUMA node (it has {}); choose among them, or `auto`",
        known.join(", ")
    )))
}

/// Returns the default budget of machine time and the spacing of passes (README.md, "Limits").
fn budget(command: MapCommand<'_>, cpus: usize, guest: bool) -> (Picos, Spacing) {
    let seconds = |seconds: u64| Picos::from_ms(seconds * 1000);
    match command {
        // The plateaus of a guest take time to appear.
        MapCommand::QuickLook if guest && cpus <= 64 => (seconds(30), Spacing::Watch),
        MapCommand::QuickLook if cpus <= 64 => (seconds(10), Spacing::Brief),
        MapCommand::QuickLook => (seconds(60), Spacing::Brief),
        MapCommand::Suite => (seconds(300), Spacing::Brief),
        MapCommand::Latency(_) if cpus <= 16 => (seconds(10), Spacing::Brief),
        MapCommand::Latency(_) => (seconds(60), Spacing::Brief),
    }
}

/// Returns an upper bound for the time of an imitated tool from the counts of the user. Such a tool has no budget.
fn imitation_time(counts: &Counts, cpus: usize) -> Picos {
    let Counts::Fixed { samples, iterations } = *counts else { return Picos(0) };
    let pairs = cpus * cpus.saturating_sub(1) / 2;
    Picos::from_secs(pairs as f64 * f64::from(samples) * f64::from(iterations) * SLOW_ROUND_TRIP_S)
}

/// Round trip between CPUs of a disturbed guest. Quiet machines take 0.03 to 0.5 µs.
const SLOW_ROUND_TRIP_S: f64 = 2e-6;

/// Returns the number of analyses of a cell with a wide interval: the maximum if the user gave a precision or a budget,
/// else the default. The budget of a suite does not count, because it is for all probes.
fn analyses(global: &Global, command: MapCommand<'_>) -> u32 {
    let has_budget = global.budget.is_some() && !matches!(command, MapCommand::Suite);
    if global.precision.is_some() || has_budget { MAX_ANALYSES } else { ANALYSES.len() as u32 }
}

fn refuse_duplicates<T: PartialEq + std::fmt::Display>(option: &str, values: &[T]) -> Result<(), Failure> {
    for (index, value) in values.iter().enumerate() {
        if values[..index].contains(value) {
            return Err(Failure::Usage(format!("{option} lists {value} twice; list it once")));
        }
    }
    Ok(())
}

fn names<T: std::fmt::Display>(values: &[T]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
