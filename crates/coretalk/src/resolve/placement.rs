//! Resolves `place`: checks that CPUs may be used, that placements are possible and that programs exist.

use crate::args::options::Global;
use crate::args::place::{ComparedRuns, PlaceArgs};
use crate::exit::Failure;
use crate::resolve::cpus::{Chosen, cpus_and_pairs, online, selected};
use coretalk_measure::{CommandLine, Machine, Work};
use coretalk_model::place::{
    BUDGET, MIN_EFFECT, Metric, PRECISION, PlaceSettings, Placement, PlacementName, Preset, REPEAT,
    WorkSettings, Workload, derive,
};
use coretalk_model::quantity::Better;
use coretalk_model::{CpuId, CpuSet, Level, Topology};
use coretalk_report::fmt::digits::count;
use std::ffi::OsStr;
use std::path::Path;

/// Resolves the options of `place` on a machine. Fails for fewer than two placements, for an impossible placement, for
/// a repeated name, or for a program that does not exist.
pub fn resolve(
    machine: &mut dyn Machine,
    global: &Global,
    args: &PlaceArgs,
    seed: u64,
) -> Result<(PlaceSettings, Vec<Work>), Failure> {
    let (works, compared) = works(args)?;
    if let Some(refusal) = works.iter().find_map(|work| machine.refuses(work)) {
        return Err(Failure::Usage(refusal));
    }
    let wanted = Chosen::for_machine(machine, global)?;
    let (chosen, _) = cpus_and_pairs(machine, &wanted, None, 1)?;
    let (names, threads) = placements_and_threads(args, &machine.topology().restricted(&chosen))?;
    // Presets with the same CPUs run once, under both names. Listed placements with the same CPUs stay separate.
    let mut derived: Vec<bool> = Vec::new();
    let mut placements: Vec<Placement> = Vec::new();
    for (number, asked) in names.iter().enumerate() {
        if names[..number].iter().any(|known| known.name() == asked.name()) {
            return Err(Failure::Usage(format!("--placement lists {} twice; list it once", asked.name())));
        }
        let placement = match asked {
            PlacementName::Preset(preset) => {
                derive(*preset, &machine.topology().restricted(&chosen), threads).map_err(|reason| {
                    Failure::Environment(format!(
                        "placement {preset} is not possible here: {reason}; choose another, or list CPUs with --placement NAME=CPUS"
                    ))
                })?
            }
            PlacementName::Listed { name, cpus } => {
                let among = wanted.cpus.is_some().then_some(&chosen);
                let what = format!("placement {name}");
                let cpus = selected(machine, global, &what, cpus, among)?;
                listed(machine, &wanted, &chosen, [&what, name], cpus)?
            }
        };
        let is_derived = matches!(asked, PlacementName::Preset(_));
        let mut mergeable =
            placements.iter_mut().zip(&derived).filter(|(_, was_derived)| is_derived && **was_derived);
        match mergeable.find(|(earlier, _)| is_same(args, earlier, &placement)) {
            Some((earlier, _)) => earlier.name = Preset::joined(&earlier.name, &placement.name),
            None => {
                placements.push(placement);
                derived.push(is_derived);
            }
        }
    }
    if let [only] = placements.as_slice() {
        return Err(Failure::Environment(format!(
            "placements {} use the same CPUs here ({}), so there is nothing to compare; choose others, or list CPUs with --placement NAME=CPUS",
            names.iter().map(PlacementName::name).collect::<Vec<_>>().join(" and "),
            only.set()
        )));
    }
    if args.threads.is_some()
        && args.workload.is_empty()
        && names.iter().all(|asked| matches!(asked, PlacementName::Listed { .. }))
    {
        return Err(Failure::Usage(
            "--threads has no effect on placements that list their CPUs, nor on a command, which starts its own threads; drop it"
                .into(),
        ));
    }
    let settings = PlaceSettings {
        works: compared,
        threads: (!args.workload.is_empty()).then(|| work_threads(args, &names, &placements, threads)),
        placements,
        versus: None,
        repeat: args.repeat.unwrap_or(REPEAT),
        min_effect: args.runs.min_effect.unwrap_or(MIN_EFFECT),
        precision: global.precision.unwrap_or(PRECISION),
        budget: global.budget.unwrap_or(BUDGET),
        seed,
    };
    let too_few =
        |work: &&Workload| settings.threads.is_some_and(|threads| threads < work.kind.fewest_threads());
    if let Some(work) = args.workload.iter().find(too_few) {
        return Err(Failure::Usage(format!(
            "workload {work} needs {} threads; set --threads",
            work.kind.fewest_threads()
        )));
    }
    Ok((settings, works))
}

/// Pairs of placements that differ in L3 caches and SMT, in one of them, or in core kind. The first possible pair is
/// used.
const USUAL: [[Preset; 2]; 4] = [
    [Preset::AcrossL3, Preset::SmtPacked],
    [Preset::AcrossL3, Preset::OneL3],
    [Preset::OnePerCore, Preset::SmtPacked],
    [Preset::PCores, Preset::ECores],
];

/// Returns the placements and the number of threads, both as requested or by default. The default number is the
/// largest, up to a limit, that fits all placements. `topology` is restricted to the chosen CPUs.
fn placements_and_threads(
    args: &PlaceArgs,
    topology: &Topology,
) -> Result<(Vec<PlacementName>, usize), Failure> {
    const EXAMPLE: &str =
        "give at least two with --placement, for example --placement one=0 --placement two=0-1";
    let usual = usual_threads(topology);
    let counts: Vec<usize> =
        args.threads.map_or_else(|| (1..=usual).rev().collect(), |asked| vec![asked as usize]);
    let most = counts[0];
    match args.placement.as_slice() {
        [] => {
            let is_possible = |&(pair, threads): &([Preset; 2], usize)| {
                let cpus =
                    pair.map(|preset| derive(preset, topology, threads).map(|placement| placement.set()));
                matches!(cpus, [Ok(first), Ok(second)] if first != second)
            };
            let tries = USUAL.into_iter().flat_map(|pair| counts.iter().map(move |&threads| (pair, threads)));
            let (pair, threads) = tries.into_iter().find(is_possible).ok_or_else(|| {
                Failure::Usage(format!(
                    "a comparison needs two placements, and this machine allows none of the usual pairs{}: {}; {}{EXAMPLE}",
                    args.threads
                        .map(|_| format!(" for {}", count(most as u64, "thread")))
                        .unwrap_or_default(),
                    why_none(topology, most),
                    if args.threads.is_some() { "change --threads, or " } else { "" },
                ))
            })?;
            Ok((pair.map(PlacementName::Preset).to_vec(), threads))
        }
        [_] => Err(Failure::Usage(format!("a comparison needs two placements; {EXAMPLE}"))),
        names => {
            let fits_all = |&threads: &usize| {
                names.iter().all(|name| match name {
                    PlacementName::Preset(preset) => derive(*preset, topology, threads).is_ok(),
                    PlacementName::Listed { .. } => true,
                })
            };
            Ok((names.to_vec(), counts.iter().copied().find(fits_all).unwrap_or(most)))
        }
    }
}

fn why_none(topology: &Topology, threads: usize) -> String {
    let mut presets: Vec<Preset> = USUAL.into_iter().flatten().collect();
    presets.sort();
    presets.dedup();
    let lacks = |preset: Preset| Some(format!("no {preset} ({})", derive(preset, topology, threads).err()?));
    presets.into_iter().filter_map(lacks).collect::<Vec<_>>().join(", ")
}

/// Whether two placements are the same. A command needs the same CPUs; workloads also need the same order.
fn is_same(args: &PlaceArgs, known: &Placement, other: &Placement) -> bool {
    let same = match args.workload.is_empty() {
        true => known.set() == other.set(),
        false => known.cpus == other.cpus,
    };
    same && known.binding == other.binding
}

fn works(args: &PlaceArgs) -> Result<(Vec<Work>, Vec<WorkSettings>), Failure> {
    if args.workload.is_empty() {
        let (user_metrics, line) = command(args)?;
        return Ok((vec![Work::Command(line)], vec![WorkSettings::of_command(user_metrics)]));
    }
    for (number, workload) in args.workload.iter().enumerate() {
        if args.workload[..number].contains(workload) {
            return Err(Failure::Usage(format!("--workload lists {workload} twice; list it once")));
        }
    }
    let compared = args.workload.iter().copied().map(WorkSettings::of_workload).collect();
    Ok((args.workload.iter().copied().map(Work::Workload).collect(), compared))
}

/// Returns the number of threads of workloads: the requested number, the number for named placements, or the length of
/// the longest CPU list. All placements have the same number, because they do the same work.
fn work_threads(
    args: &PlaceArgs,
    names: &[PlacementName],
    placements: &[Placement],
    threads_of_named: usize,
) -> usize {
    let listed = |asked: &PlacementName| matches!(asked, PlacementName::Listed { .. });
    match args.threads.is_none() && names.iter().all(listed) {
        true => placements.iter().map(|placement| placement.cpus.len()).max().unwrap_or(1),
        false => threads_of_named,
    }
}

/// Returns the default number of threads, for which placements differ: the CPUs of the smallest of several L3 caches
/// (at most the number of cores), the number of cores with SMT, or half of the CPUs.
fn usual_threads(topology: &Topology) -> usize {
    let all = topology.cpus();
    let caches = topology.level(Level::L3);
    let smallest = caches.iter().map(|cache| cache.cpus.len()).min().unwrap_or(0);
    let cores = topology.one_per_core(all).len();
    match () {
        () if caches.len() > 1 => smallest.min(cores),
        () if cores < all.len() => cores,
        () => all.len().div_ceil(2),
    }
}

/// Checks CPUs and returns the placement on them. `what` names the placement in messages. Fails if a CPU does not
/// exist, is not allowed or is not chosen.
pub fn listed(
    machine: &dyn Machine,
    wanted: &Chosen,
    chosen: &CpuSet,
    [what, name]: [&str; 2],
    cpus: Vec<CpuId>,
) -> Result<Placement, Failure> {
    online(machine, &cpus.iter().copied().collect())?;
    let missing = |among: &CpuSet| cpus.iter().copied().find(|cpu| !among.contains(*cpu));
    let existing = machine.topology().cpus();
    if let Some(cpu) = missing(existing) {
        return Err(Failure::Usage(format!(
            "{what} lists CPU {cpu}, which does not exist: this machine has {}",
            existing.named()
        )));
    }
    let allowed = &machine.allowance().cpuset;
    if let Some(cpu) = missing(allowed) {
        return Err(Failure::Environment(format!(
            "{what} lists CPU {cpu}, which exists but is not allowed: the cpuset of this process contains {}",
            allowed.named()
        )));
    }
    if let (Some(cpu), true) = (missing(chosen), wanted.cpus.is_some()) {
        return Err(Failure::Usage(format!("{what} lists CPU {cpu}, which --cpus {chosen} excludes")));
    }
    Ok(Placement::bound(name, cpus))
}

fn command(args: &PlaceArgs) -> Result<(Vec<Metric>, CommandLine), Failure> {
    let Some((program, arguments)) = args.command.split_first() else {
        return Err(Failure::Usage(
            "there is nothing to run; add --workload, or a command after `--`".into(),
        ));
    };
    find_program(program)?;
    let user_metrics = metrics(&args.runs)?;
    let line = CommandLine {
        program: program.clone(),
        arguments: arguments.to_vec(),
        environment: Vec::new(),
        metrics: args.runs.metric.clone(),
        timeout: args.runs.timeout,
    };
    Ok((user_metrics, line))
}

/// Returns the metrics that the user defines. Fails if a name is defined twice or not at all.
pub fn metrics(args: &ComparedRuns) -> Result<Vec<Metric>, Failure> {
    for (number, (name, _)) in args.metric.iter().enumerate() {
        if args.metric[..number].iter().any(|(known, _)| known == name) {
            return Err(Failure::Usage(format!("--metric defines {name} twice; define it once")));
        }
    }
    for name in &args.higher_is_better {
        if !args.metric.iter().any(|(known, _)| known == name) {
            return Err(Failure::Usage(format!(
                "--higher-is-better names {name}, which no --metric defines; for every built-in metric \
                 lower is better"
            )));
        }
    }
    let better = |name: &String| {
        if args.higher_is_better.contains(name) { Better::Higher } else { Better::Lower }
    };
    Ok(args.metric.iter().map(|(name, _)| Metric::own(name, better(name))).collect())
}

/// Checks that a program exists. This happens before a run file is created.
pub fn find_program(program: &OsStr) -> Result<(), Failure> {
    let shown = program.to_string_lossy();
    if shown.contains('/') {
        return match std::fs::metadata(Path::new(program)) {
            Ok(found) if found.is_dir() => {
                Err(Failure::Usage(format!("`{shown}` is a directory, not a program")))
            }
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::Usage(format!("cannot run `{shown}`: {error}"))),
        };
    }
    // Default of the system, if the variable is unset.
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let found = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    match found && !program.is_empty() {
        true => Ok(()),
        false => Err(Failure::Usage(format!("`{shown}` is not in PATH; give its path, or install it"))),
    }
}
